//! Package `org.apache.qpid.ha`.

// Generated from spec/management.spec by spec/generator/management. Not to be edited:
// UPDATE=1 cargo test --test spec_staleness

use crate::qmf::datum::{Arguments, Datum};
use crate::qmf::event::Event;
use crate::qmf::object::Values;
use crate::qmf::schema::{
    Access, Argument, Class, EventClass, Method, Package, Property, Severity, Type,
};
use crate::wire::{Text, Value};

/// The package.
pub static PACKAGE: Package = Package {
    name: "org.apache.qpid.ha",
    classes: &[&HABROKER],
    events: &[&MEMBERS_UPDATE_EVENT],
};

/// Class `habroker`.
pub static HABROKER: Class = Class {
    package: "org.apache.qpid.ha",
    name: "habroker",
    hash: [
        0x3b, 0x0d, 0x1a, 0xaa, 0x8f, 0x1f, 0x96, 0x17, 0x9b, 0x40, 0x6f, 0xa7, 0xb9, 0xc0, 0x63,
        0x2d,
    ],
    properties: &[
        Property::new("name", Type::ShortText, Access::ReadCreate).index(),
        Property::new("status", Type::ShortText, Access::ReadOnly),
        Property::new("brokersUrl", Type::ShortText, Access::ReadOnly),
        Property::new("publicUrl", Type::ShortText, Access::ReadOnly),
        Property::new("replicateDefault", Type::ShortText, Access::ReadOnly),
        Property::new("members", Type::List, Access::ReadOnly),
        Property::new("systemId", Type::Uuid, Access::ReadOnly),
    ],
    statistics: &[],
    methods: &[
        Method {
            name: "promote",
            about: None,
            arguments: &[],
        },
        Method {
            name: "setBrokersUrl",
            about: None,
            arguments: &[Argument::given("url", Type::ShortText)],
        },
        Method {
            name: "setPublicUrl",
            about: None,
            arguments: &[Argument::given("url", Type::ShortText)],
        },
        Method {
            name: "replicate",
            about: None,
            arguments: &[
                Argument::given("broker", Type::ShortText),
                Argument::given("queue", Type::ShortText),
            ],
        },
    ],
};

/// What there is to say of an object of class `habroker`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Habroker {
    /// `name`, sstr.
    pub name: Text,
    /// `status`, sstr.
    pub status: Text,
    /// `brokersUrl`, sstr.
    pub brokers_url: Text,
    /// `publicUrl`, sstr.
    pub public_url: Text,
    /// `replicateDefault`, sstr.
    pub replicate_default: Text,
    /// `members`, list.
    pub members: Vec<Value>,
    /// `systemId`, uuid.
    pub system_id: [u8; 16],
}

impl Habroker {
    /// The same as values of the schema.
    pub fn into_values(self) -> Values {
        Values {
            class: &HABROKER,
            properties: vec![
                Some(Datum::ShortText(self.name)),
                Some(Datum::ShortText(self.status)),
                Some(Datum::ShortText(self.brokers_url)),
                Some(Datum::ShortText(self.public_url)),
                Some(Datum::ShortText(self.replicate_default)),
                Some(Datum::List(self.members)),
                Some(Datum::Uuid(self.system_id)),
            ],
            statistics: vec![],
        }
    }
}

/// A method of class `habroker` with its arguments.
#[derive(Clone, Debug, PartialEq)]
pub enum HabrokerMethod {
    /// `promote`.
    Promote,
    /// `setBrokersUrl`.
    SetBrokersUrl {
        /// `url`, sstr.
        url: Text,
    },
    /// `setPublicUrl`.
    SetPublicUrl {
        /// `url`, sstr.
        url: Text,
    },
    /// `replicate`.
    Replicate {
        /// `broker`, sstr.
        broker: Text,
        /// `queue`, sstr.
        queue: Text,
    },
}

impl HabrokerMethod {
    /// The method at `index` of the schema; None unless the arguments are of its types.
    pub(crate) fn from_arguments(index: usize, arguments: &mut Arguments) -> Option<Self> {
        Some(match index {
            0 => Self::Promote,
            1 => Self::SetBrokersUrl {
                url: arguments.take()?,
            },
            2 => Self::SetPublicUrl {
                url: arguments.take()?,
            },
            3 => Self::Replicate {
                broker: arguments.take()?,
                queue: arguments.take()?,
            },
            _ => return None,
        })
    }
}

/// Event `membersUpdate`.
pub static MEMBERS_UPDATE_EVENT: EventClass = EventClass {
    package: "org.apache.qpid.ha",
    name: "membersUpdate",
    hash: [
        0xc6, 0xe0, 0xfa, 0x26, 0x4e, 0xf8, 0x04, 0xda, 0xe5, 0xd3, 0xa4, 0x9e, 0x71, 0x86, 0x10,
        0x35,
    ],
    severity: Severity::Informational,
    arguments: &[Argument::given("members", Type::List)],
};

/// What there is to say of an event `membersUpdate`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MembersUpdate {
    /// `members`, list.
    pub members: Vec<Value>,
}

impl MembersUpdate {
    /// The same as an event.
    pub fn into_event(self) -> Event {
        Event {
            class: &MEMBERS_UPDATE_EVENT,
            arguments: vec![Datum::List(self.members)],
        }
    }
}
