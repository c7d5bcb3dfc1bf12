//! The words of an ACL file: what is done, to what, with which properties, and what is decided.

use std::fmt;

/// Defines an enum whose values have names in ACL files and in management.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$of:meta])* $value:ident = $text:literal),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name {
            $($(#[$of])* $value),*
        }

        impl $name {
            /// All of them, in the order of qpidd.
            pub const ALL: [$name; [$($text),*].len()] = [$($name::$value),*];

            /// Its name.
            pub const fn name(self) -> &'static str {
                match self {
                    $($name::$value => $text),*
                }
            }

            /// Which one has this name: case counts.
            pub fn named(name: &str) -> Option<$name> {
                $name::ALL.into_iter().find(|word| word.name() == name)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.name())
            }
        }
    };
}

words! {
    /// What a user wants to do.
    Action {
        /// Look at it.
        Access = "access",
        /// Bind a queue to it.
        Bind = "bind",
        /// Subscribe to it.
        Consume = "consume",
        /// Make it.
        Create = "create",
        /// Delete it.
        Delete = "delete",
        /// Move messages out of it.
        Move = "move",
        /// Publish to it.
        Publish = "publish",
        /// Throw its messages away.
        Purge = "purge",
        /// Let it be published to another.
        Redirect = "redirect",
        /// Give its messages to an exchange.
        Reroute = "reroute",
        /// Unbind a queue from it.
        Unbind = "unbind",
        /// Change a setting of it.
        Update = "update",
    }
}

words! {
    /// What it is done to.
    Object {
        /// The broker itself.
        Broker = "broker",
        /// A connection.
        Connection = "connection",
        /// An exchange.
        Exchange = "exchange",
        /// A link of another broker.
        Link = "link",
        /// A method of management.
        Method = "method",
        /// A query of management.
        Query = "query",
        /// A queue.
        Queue = "queue",
    }
}

words! {
    /// What is known of one act beside the name of its object.
    Property {
        /// The name, which is given by itself and not as a property.
        Name = "name",
        /// Whether it outlives the broker's process.
        Durable = "durable",
        /// Whose it is; nothing the broker does says so.
        Owner = "owner",
        /// A routing or binding key.
        RoutingKey = "routingkey",
        /// Whether it goes when it is no longer used.
        AutoDelete = "autodelete",
        /// Whether it is for one session.
        Exclusive = "exclusive",
        /// The type of an exchange.
        Type = "type",
        /// The alternate exchange.
        Alternate = "alternate",
        /// A queue, where the object is another thing.
        QueueName = "queuename",
        /// An exchange, where the object is another thing.
        ExchangeName = "exchangename",
        /// The package of a method's class.
        SchemaPackage = "schemapackage",
        /// The class of a method or a query.
        SchemaClass = "schemaclass",
        /// What a full queue does.
        PolicyType = "policytype",
        /// Whether a queue is asked to page.
        Paging = "paging",
        /// The address of a client.
        Host = "host",
        /// Pages that a paged queue keeps loaded.
        MaxPages = "maxpages",
        /// Pages of the system in a page of a paged queue.
        MaxPageFactor = "maxpagefactor",
        /// Octets that a queue holds at most.
        MaxQueueSize = "maxqueuesize",
        /// Messages that a queue holds at most.
        MaxQueueCount = "maxqueuecount",
        /// Pages of a journal's file.
        MaxFileSize = "maxfilesize",
        /// Files of a journal.
        MaxFileCount = "maxfilecount",
    }
}

words! {
    /// What is decided, and whether it is told in the log.
    Decision {
        /// It may be done.
        Allow = "allow",
        /// It may be done, and the log says so.
        AllowLog = "allow-log",
        /// It may not be done.
        Deny = "deny",
        /// It may not be done, and the log says so.
        DenyLog = "deny-log",
    }
}

/// Which side of a number a rule limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Bound {
    /// The number is at least this.
    Lower,
    /// The number is at most this.
    Upper,
}

/// What a rule may ask of a property. Those that are numbers have a lower and an upper limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RuleProperty {
    of: Property,
    bound: Option<Bound>,
}

/// What limits of numbers are called in files.
const LIMITS: [(&str, Property, Bound); 12] = {
    use Bound::{Lower, Upper};
    use Property as P;
    [
        ("queuemaxsizelowerlimit", P::MaxQueueSize, Lower),
        ("queuemaxsizeupperlimit", P::MaxQueueSize, Upper),
        ("queuemaxcountlowerlimit", P::MaxQueueCount, Lower),
        ("queuemaxcountupperlimit", P::MaxQueueCount, Upper),
        ("filemaxsizelowerlimit", P::MaxFileSize, Lower),
        ("filemaxsizeupperlimit", P::MaxFileSize, Upper),
        ("filemaxcountlowerlimit", P::MaxFileCount, Lower),
        ("filemaxcountupperlimit", P::MaxFileCount, Upper),
        ("pageslowerlimit", P::MaxPages, Lower),
        ("pagesupperlimit", P::MaxPages, Upper),
        ("pagefactorlowerlimit", P::MaxPageFactor, Lower),
        ("pagefactorupperlimit", P::MaxPageFactor, Upper),
    ]
};

impl RuleProperty {
    /// The name of the object.
    pub const NAME: RuleProperty = RuleProperty {
        of: Property::Name,
        bound: None,
    };

    /// The address of a client.
    pub const HOST: RuleProperty = RuleProperty {
        of: Property::Host,
        bound: None,
    };

    /// All of them: properties that are no numbers, and both limits of those that are.
    pub fn all() -> impl Iterator<Item = RuleProperty> {
        let is_number = |of: &Property| LIMITS.iter().any(|(_, number, _)| number == of);
        let whole = Property::ALL.into_iter().filter(move |of| !is_number(of));
        let whole = whole.map(|of| RuleProperty { of, bound: None });
        whole.chain(LIMITS.iter().map(|(_, of, bound)| RuleProperty {
            of: *of,
            bound: Some(*bound),
        }))
    }

    /// Its name in a file.
    pub fn name(self) -> &'static str {
        let is_it = |(_, of, bound): &&(&str, Property, Bound)| {
            (*of, Some(*bound)) == (self.of, self.bound)
        };
        let limit = LIMITS.iter().find(is_it);
        limit.map_or(self.of.name(), |(name, _, _)| name)
    }

    /// The one that has this name in a file: two limits had other names once, which still count.
    pub fn in_file(name: &str) -> Option<RuleProperty> {
        let name = match name {
            "maxqueuesize" => "queuemaxsizeupperlimit",
            "maxqueuecount" => "queuemaxcountupperlimit",
            name => name,
        };
        RuleProperty::all().find(|property| property.name() == name)
    }

    /// The property of an act that it speaks of, and the side that it limits if that is a number.
    pub const fn of(self) -> (Property, Option<Bound>) {
        (self.of, self.bound)
    }
}

impl fmt::Display for RuleProperty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Decision {
    /// Whether it may be done.
    pub const fn is_allowed(self) -> bool {
        matches!(self, Decision::Allow | Decision::AllowLog)
    }

    /// Whether the log is to say so.
    pub const fn is_logged(self) -> bool {
        matches!(self, Decision::AllowLog | Decision::DenyLog)
    }

    /// What becomes of it when a number passes a limit: what was allowed is denied.
    pub const fn beyond_a_limit(self) -> Decision {
        match self {
            Decision::Allow | Decision::Deny => Decision::Deny,
            Decision::AllowLog | Decision::DenyLog => Decision::DenyLog,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_as_many_words_as_in_qpidd() {
        assert_eq!((Action::ALL.len(), Object::ALL.len()), (12, 7));
        assert_eq!((Property::ALL.len(), RuleProperty::all().count()), (21, 27));
        for property in RuleProperty::all() {
            assert_eq!(RuleProperty::in_file(property.name()), Some(property));
        }
        let upper = |of| (of, Some(Bound::Upper));
        let old = RuleProperty::in_file("maxqueuesize").map(RuleProperty::of);
        assert_eq!(old, Some(upper(Property::MaxQueueSize)));
        let old = RuleProperty::in_file("maxqueuecount").map(RuleProperty::of);
        assert_eq!(old, Some(upper(Property::MaxQueueCount)));
        assert_eq!(RuleProperty::in_file("maxpages"), None);
        assert_eq!(Action::named("Create"), None);
    }
}
