//! Events: what has happened, as the core knows it and as the schema of management has it.

use super::encoding::{record, record_enum};
use super::management::Requester;
use crate::qmf::acl;
use crate::qmf::broker as schema;
use crate::qmf::event::Event as Told;
use crate::wire::{Map, Text};

/// Something that management tells whoever listens.
#[derive(Clone, Debug, PartialEq, Hash)]
pub enum Event {
    /// A client has connected.
    ClientConnect {
        /// Who.
        requester: Requester,
        /// What it says of itself.
        properties: Map,
    },
    /// A client's connection has ended.
    ClientDisconnect {
        /// Who.
        requester: Requester,
        /// What it said of itself.
        properties: Map,
    },
    /// A queue was made.
    QueueDeclare {
        /// By whom.
        requester: Requester,
        /// Its name.
        queue: Text,
        /// Whether it is durable.
        is_durable: bool,
        /// Whether it was asked for exclusive access.
        is_exclusive: bool,
        /// Whether it goes by itself.
        is_auto_delete: bool,
        /// Its alternate exchange; empty for none.
        alternate: Text,
        /// Its arguments.
        arguments: Map,
    },
    /// A queue is gone.
    QueueDelete {
        /// By whom; nobody, when it went by itself.
        requester: Requester,
        /// Its name.
        queue: Text,
    },
    /// An exchange was made.
    ExchangeDeclare {
        /// By whom.
        requester: Requester,
        /// Its name.
        exchange: Text,
        /// Its type.
        kind: Text,
        /// Its alternate exchange; empty for none.
        alternate: Text,
        /// Whether it is durable.
        is_durable: bool,
        /// Whether it goes with its last binding.
        is_auto_delete: bool,
        /// Its arguments.
        arguments: Map,
    },
    /// An exchange is gone.
    ExchangeDelete {
        /// By whom; nobody, when it went with its last binding.
        requester: Requester,
        /// Its name.
        exchange: Text,
    },
    /// A queue was bound.
    Bind {
        /// By whom.
        requester: Requester,
        /// The exchange.
        exchange: Text,
        /// The queue.
        queue: Text,
        /// The key.
        key: Text,
        /// The binding's arguments.
        arguments: Map,
    },
    /// A binding was taken away.
    Unbind {
        /// By whom.
        requester: Requester,
        /// The exchange.
        exchange: Text,
        /// The queue.
        queue: Text,
        /// The key.
        key: Text,
    },
    /// A session has subscribed to a queue.
    Subscribe {
        /// Who.
        requester: Requester,
        /// The queue.
        queue: Text,
        /// The subscription's name.
        destination: Text,
        /// Whether it has the queue for itself.
        is_exclusive: bool,
        /// As subscribed.
        arguments: Map,
    },
    /// A session has cancelled a subscription.
    Unsubscribe {
        /// Who.
        requester: Requester,
        /// The subscription's name.
        destination: Text,
    },
    /// A queue has grown to a line that an alert was asked for.
    ThresholdUp {
        /// The queue.
        queue: Text,
        /// Messages in it.
        depth: u64,
        /// Octets in it.
        bytes: u64,
        /// Whether its arguments are those of former brokers, whose tools listen to another event.
        is_plain: bool,
    },
    /// A queue was redirected to another.
    Redirect {
        /// The queue.
        source: Text,
        /// The other.
        target: Text,
    },
    /// That was cancelled.
    RedirectCancelled {
        /// The queue.
        source: Text,
        /// The other.
        target: Text,
    },
    /// A link to another broker is there.
    LinkUp {
        /// Where that is: host and port.
        remote: Text,
    },
    /// A link is there no more.
    LinkDown {
        /// Where the other broker is.
        remote: Text,
    },
    /// A queue has sunk to its lower line.
    ThresholdDown {
        /// The queue.
        queue: Text,
        /// Messages in it.
        depth: u64,
        /// Octets in it.
        bytes: u64,
    },
    /// A client could not prove who it is.
    ClientConnectFail {
        /// Who it said it is, if it came to that, and its connection.
        requester: Requester,
        /// What was wrong.
        reason: Text,
        /// What it says of itself.
        properties: Map,
    },
    /// A rule that is to be told of has allowed something.
    Allow(Act),
    /// A rule that is to be told of has denied something.
    Deny(Act),
    /// A user was not let in: for a rule about hosts, or for a limit.
    ConnectionDeny {
        /// The user.
        user: Text,
        /// The client's address, without its port.
        host: Text,
    },
    /// A queue was not made: its user has as many as may be.
    QueueQuotaDeny {
        /// The user.
        user: Text,
        /// The queue.
        queue: Text,
    },
    /// A member has read its ACL file.
    FileLoaded,
    /// A member has read its ACL file and did not take it.
    FileLoadFailed {
        /// What is wrong.
        reason: Text,
    },
}

/// What a rule has decided of.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Act {
    /// Who.
    pub user: Text,
    /// Does what, in the words of ACL files.
    pub action: Text,
    /// To what kind of thing.
    pub object: Text,
    /// Its name.
    pub name: Text,
}
record!(Act {
    user,
    action,
    object,
    name
});

record_enum!(Event {
    0 = ClientConnect { requester, properties },
    1 = ClientDisconnect { requester, properties },
    2 = QueueDeclare { requester, queue, is_durable, is_exclusive, is_auto_delete, alternate, arguments },
    3 = QueueDelete { requester, queue },
    4 = ExchangeDeclare { requester, exchange, kind, alternate, is_durable, is_auto_delete, arguments },
    5 = ExchangeDelete { requester, exchange },
    6 = Bind { requester, exchange, queue, key, arguments },
    7 = Unbind { requester, exchange, queue, key },
    8 = Subscribe { requester, queue, destination, is_exclusive, arguments },
    9 = Unsubscribe { requester, destination },
    10 = ThresholdUp { queue, depth, bytes, is_plain },
    11 = Redirect { source, target },
    12 = RedirectCancelled { source, target },
    13 = ThresholdDown { queue, depth, bytes },
    14 = ClientConnectFail { requester, reason, properties },
    15 = Allow(act),
    16 = Deny(act),
    17 = ConnectionDeny { user, host },
    18 = QueueQuotaDeny { user, queue },
    19 = FileLoaded,
    20 = FileLoadFailed { reason },
    21 = LinkUp { remote },
    22 = LinkDown { remote },
});

/// What became of a name.
const CREATED: &str = "created";

impl Event {
    /// As the schema has it: one event, or two for an alert that tools of former brokers listen to as
    /// well.
    pub fn into_told(self) -> Vec<Told> {
        match self {
            Event::ThresholdUp { .. } | Event::ThresholdDown { .. } => of_line(self),
            Event::Redirect { .. } | Event::RedirectCancelled { .. } => of_redirect(self),
            Event::LinkUp { remote } => vec![schema::BrokerLinkUp { rhost: remote }.into_event()],
            Event::LinkDown { remote } => {
                vec![schema::BrokerLinkDown { rhost: remote }.into_event()]
            }
            Event::ClientConnect { .. }
            | Event::ClientDisconnect { .. }
            | Event::ClientConnectFail { .. } => of_client(self),
            Event::Allow(_)
            | Event::Deny(_)
            | Event::ConnectionDeny { .. }
            | Event::QueueQuotaDeny { .. }
            | Event::FileLoaded
            | Event::FileLoadFailed { .. } => of_rights(self),
            Event::QueueDeclare { .. } | Event::QueueDelete { .. } => of_queue(self),
            Event::ExchangeDeclare { .. } | Event::ExchangeDelete { .. } => of_exchange(self),
            Event::Bind { .. } | Event::Unbind { .. } => of_binding(self),
            Event::Subscribe { .. } | Event::Unsubscribe { .. } => of_subscription(self),
        }
    }
}

fn of_line(happened: Event) -> Vec<Told> {
    match happened {
        Event::ThresholdUp {
            queue,
            depth,
            bytes,
            is_plain,
        } => {
            let crossed = schema::QueueThresholdCrossedUpward {
                q_name: queue.clone(),
                msg_depth: depth,
                byte_depth: bytes,
            };
            let exceeded = schema::QueueThresholdExceeded {
                q_name: queue,
                msg_depth: depth,
                byte_depth: bytes,
            };
            let exceeded = is_plain.then(|| exceeded.into_event());
            [crossed.into_event()].into_iter().chain(exceeded).collect()
        }
        Event::ThresholdDown {
            queue,
            depth,
            bytes,
        } => {
            let crossed = schema::QueueThresholdCrossedDownward {
                q_name: queue,
                msg_depth: depth,
                byte_depth: bytes,
            };
            vec![crossed.into_event()]
        }
        _ => Vec::new(),
    }
}

fn of_redirect(happened: Event) -> Vec<Told> {
    let event = match happened {
        Event::Redirect { source, target } => schema::QueueRedirect {
            q_name: source,
            q_target: target,
        }
        .into_event(),
        Event::RedirectCancelled { source, target } => schema::QueueRedirectCancelled {
            q_name: source,
            q_target: target,
        }
        .into_event(),
        _ => return Vec::new(),
    };
    vec![event]
}

fn of_client(happened: Event) -> Vec<Told> {
    let event = match happened {
        Event::ClientConnect {
            requester,
            properties,
        } => schema::ClientConnect {
            rhost: requester.address,
            user: requester.user,
            properties,
        }
        .into_event(),
        Event::ClientDisconnect {
            requester,
            properties,
        } => schema::ClientDisconnect {
            rhost: requester.address,
            user: requester.user,
            properties,
        }
        .into_event(),
        Event::ClientConnectFail {
            requester,
            reason,
            properties,
        } => schema::ClientConnectFail {
            rhost: requester.address,
            user: requester.user,
            reason,
            properties,
        }
        .into_event(),
        _ => return Vec::new(),
    };
    vec![event]
}

fn of_queue(happened: Event) -> Vec<Told> {
    let event = match happened {
        Event::QueueDeclare {
            requester,
            queue,
            is_durable,
            is_exclusive,
            is_auto_delete,
            alternate,
            arguments,
        } => schema::QueueDeclare {
            rhost: requester.address,
            user: requester.user,
            q_name: queue,
            durable: is_durable,
            excl: is_exclusive,
            auto_del: is_auto_delete,
            alt_ex: alternate,
            args: arguments,
            disp: CREATED.into(),
        }
        .into_event(),
        Event::QueueDelete { requester, queue } => schema::QueueDelete {
            rhost: requester.address,
            user: requester.user,
            q_name: queue,
        }
        .into_event(),
        _ => return Vec::new(),
    };
    vec![event]
}

fn of_exchange(happened: Event) -> Vec<Told> {
    let event = match happened {
        Event::ExchangeDeclare {
            requester,
            exchange,
            kind,
            alternate,
            is_durable,
            is_auto_delete,
            arguments,
        } => schema::ExchangeDeclare {
            rhost: requester.address,
            user: requester.user,
            ex_name: exchange,
            ex_type: kind,
            alt_ex: alternate,
            durable: is_durable,
            auto_del: is_auto_delete,
            args: arguments,
            disp: CREATED.into(),
        }
        .into_event(),
        Event::ExchangeDelete {
            requester,
            exchange,
        } => schema::ExchangeDelete {
            rhost: requester.address,
            user: requester.user,
            ex_name: exchange,
        }
        .into_event(),
        _ => return Vec::new(),
    };
    vec![event]
}

fn of_binding(happened: Event) -> Vec<Told> {
    let event = match happened {
        Event::Bind {
            requester,
            exchange,
            queue,
            key,
            arguments,
        } => schema::Bind {
            rhost: requester.address,
            user: requester.user,
            ex_name: exchange,
            q_name: queue,
            key,
            args: arguments,
        }
        .into_event(),
        Event::Unbind {
            requester,
            exchange,
            queue,
            key,
        } => schema::Unbind {
            rhost: requester.address,
            user: requester.user,
            ex_name: exchange,
            q_name: queue,
            key,
        }
        .into_event(),
        _ => return Vec::new(),
    };
    vec![event]
}

fn of_subscription(happened: Event) -> Vec<Told> {
    let event = match happened {
        Event::Subscribe {
            requester,
            queue,
            destination,
            is_exclusive,
            arguments,
        } => schema::Subscribe {
            rhost: requester.address,
            user: requester.user,
            q_name: queue,
            dest: destination,
            excl: is_exclusive,
            args: arguments,
        }
        .into_event(),
        Event::Unsubscribe {
            requester,
            destination,
        } => schema::Unsubscribe {
            rhost: requester.address,
            user: requester.user,
            dest: destination,
        }
        .into_event(),
        _ => return Vec::new(),
    };
    vec![event]
}

/// As qpidd, without arguments, and without a user where a file was read.
fn of_rights(happened: Event) -> Vec<Told> {
    let event = match happened {
        Event::Allow(act) => acl::Allow {
            user_id: act.user,
            action: act.action,
            object_type: act.object,
            object_name: act.name,
            arguments: Map::new(),
        }
        .into_event(),
        Event::Deny(act) => acl::Deny {
            user_id: act.user,
            action: act.action,
            object_type: act.object,
            object_name: act.name,
            arguments: Map::new(),
        }
        .into_event(),
        Event::ConnectionDeny { user, host } => acl::ConnectionDeny {
            user_id: user,
            client_addr: host,
        }
        .into_event(),
        Event::QueueQuotaDeny { user, queue } => acl::QueueQuotaDeny {
            user_id: user,
            queue_name: queue,
        }
        .into_event(),
        Event::FileLoaded => acl::FileLoaded {
            user_id: Text::default(),
        }
        .into_event(),
        Event::FileLoadFailed { reason } => acl::FileLoadFailed {
            user_id: Text::default(),
            reason,
        }
        .into_event(),
        _ => return Vec::new(),
    };
    vec![event]
}
