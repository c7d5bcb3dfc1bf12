//! Package `org.apache.qpid.acl`.

// Generated from spec/management.spec by spec/generator/management. Not to be edited:
// UPDATE=1 cargo test --test spec_staleness

use crate::qmf::datum::{Arguments, Datum};
use crate::qmf::event::Event;
use crate::qmf::object::{ObjectName, Values};
use crate::qmf::schema::{
    Access, Argument, Class, EventClass, Method, Package, Property, Severity, Statistic, Type,
};
use crate::wire::{Map, Text};

/// The package.
pub static PACKAGE: Package = Package {
    name: "org.apache.qpid.acl",
    classes: &[&ACL],
    events: &[
        &ALLOW_EVENT,
        &DENY_EVENT,
        &CONNECTION_DENY_EVENT,
        &QUEUE_QUOTA_DENY_EVENT,
        &FILE_LOADED_EVENT,
        &FILE_LOAD_FAILED_EVENT,
    ],
};

/// Class `acl`.
pub static ACL: Class = Class {
    package: "org.apache.qpid.acl",
    name: "acl",
    hash: [
        0x40, 0xdc, 0xfc, 0x38, 0xf4, 0xf3, 0xff, 0x7d, 0x03, 0x1a, 0x18, 0xd9, 0x11, 0xcf, 0xff,
        0xea,
    ],
    properties: &[
        Property::new("brokerRef", Type::Reference, Access::ReadOnly)
            .index()
            .refers_to("org.apache.qpid.broker", "broker"),
        Property::new("policyFile", Type::LongText, Access::ReadOnly),
        Property::new("enforcingAcl", Type::Bool, Access::ReadOnly),
        Property::new("transferAcl", Type::Bool, Access::ReadOnly)
            .about("Whether publishing is checked"),
        Property::new("lastAclLoad", Type::AbsTime, Access::ReadOnly),
        Property::new("maxConnections", Type::U16, Access::ReadOnly),
        Property::new("maxConnectionsPerIp", Type::U16, Access::ReadOnly),
        Property::new("maxConnectionsPerUser", Type::U16, Access::ReadOnly),
        Property::new("maxQueuesPerUser", Type::U16, Access::ReadOnly),
    ],
    statistics: &[
        Statistic::new("aclDenyCount", Type::U64).unit("request"),
        Statistic::new("connectionDenyCount", Type::U64).unit("connection"),
        Statistic::new("queueQuotaDenyCount", Type::U64).unit("queue"),
    ],
    methods: &[
        Method {
            name: "reloadACLFile",
            about: None,
            arguments: &[],
        },
        Method {
            name: "Lookup",
            about: Some("What the rules say of an action"),
            arguments: &[
                Argument::given("userId", Type::LongText),
                Argument::given("action", Type::LongText),
                Argument::given("object", Type::LongText),
                Argument::given("objectName", Type::LongText),
                Argument::given("propertyMap", Type::Map),
                Argument::answered("result", Type::LongText),
            ],
        },
        Method {
            name: "LookupPublish",
            about: Some("What the rules say of publishing"),
            arguments: &[
                Argument::given("userId", Type::LongText),
                Argument::given("exchangeName", Type::LongText),
                Argument::given("routingKey", Type::LongText),
                Argument::answered("result", Type::LongText),
            ],
        },
    ],
};

/// What there is to say of an object of class `acl`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Acl {
    /// `brokerRef`, objId.
    pub broker_ref: ObjectName,
    /// `policyFile`, lstr.
    pub policy_file: Text,
    /// `enforcingAcl`, bool.
    pub enforcing_acl: bool,
    /// `transferAcl`, bool. Whether publishing is checked.
    pub transfer_acl: bool,
    /// `lastAclLoad`, absTime.
    pub last_acl_load: i64,
    /// `maxConnections`, uint16.
    pub max_connections: u16,
    /// `maxConnectionsPerIp`, uint16.
    pub max_connections_per_ip: u16,
    /// `maxConnectionsPerUser`, uint16.
    pub max_connections_per_user: u16,
    /// `maxQueuesPerUser`, uint16.
    pub max_queues_per_user: u16,
    /// `aclDenyCount`, count64.
    pub acl_deny_count: u64,
    /// `connectionDenyCount`, count64.
    pub connection_deny_count: u64,
    /// `queueQuotaDenyCount`, count64.
    pub queue_quota_deny_count: u64,
}

impl Acl {
    /// The same as values of the schema.
    pub fn into_values(self) -> Values {
        Values {
            class: &ACL,
            properties: vec![
                Some(Datum::Reference(self.broker_ref)),
                Some(Datum::LongText(self.policy_file)),
                Some(Datum::Bool(self.enforcing_acl)),
                Some(Datum::Bool(self.transfer_acl)),
                Some(Datum::AbsTime(self.last_acl_load)),
                Some(Datum::U16(self.max_connections)),
                Some(Datum::U16(self.max_connections_per_ip)),
                Some(Datum::U16(self.max_connections_per_user)),
                Some(Datum::U16(self.max_queues_per_user)),
            ],
            statistics: vec![
                Datum::U64(self.acl_deny_count),
                Datum::U64(self.connection_deny_count),
                Datum::U64(self.queue_quota_deny_count),
            ],
        }
    }
}

/// A method of class `acl` with its arguments.
#[derive(Clone, Debug, PartialEq)]
pub enum AclMethod {
    /// `reloadACLFile`.
    ReloadAclFile,
    /// `Lookup`. What the rules say of an action.
    Lookup {
        /// `userId`, lstr.
        user_id: Text,
        /// `action`, lstr.
        action: Text,
        /// `object`, lstr.
        object: Text,
        /// `objectName`, lstr.
        object_name: Text,
        /// `propertyMap`, map.
        property_map: Map,
    },
    /// `LookupPublish`. What the rules say of publishing.
    LookupPublish {
        /// `userId`, lstr.
        user_id: Text,
        /// `exchangeName`, lstr.
        exchange_name: Text,
        /// `routingKey`, lstr.
        routing_key: Text,
    },
}

impl AclMethod {
    /// The method at `index` of the schema; None unless the arguments are of its types.
    pub(crate) fn from_arguments(index: usize, arguments: &mut Arguments) -> Option<Self> {
        Some(match index {
            0 => Self::ReloadAclFile,
            1 => Self::Lookup {
                user_id: arguments.take()?,
                action: arguments.take()?,
                object: arguments.take()?,
                object_name: arguments.take()?,
                property_map: arguments.take()?,
            },
            2 => Self::LookupPublish {
                user_id: arguments.take()?,
                exchange_name: arguments.take()?,
                routing_key: arguments.take()?,
            },
            _ => return None,
        })
    }

    /// What `Lookup` answers.
    pub fn lookup_answer(result: Text) -> Vec<Datum> {
        vec![Datum::LongText(result)]
    }

    /// What `LookupPublish` answers.
    pub fn lookup_publish_answer(result: Text) -> Vec<Datum> {
        vec![Datum::LongText(result)]
    }
}

/// Event `allow`.
pub static ALLOW_EVENT: EventClass = EventClass {
    package: "org.apache.qpid.acl",
    name: "allow",
    hash: [
        0x7d, 0xe2, 0x55, 0x52, 0xb7, 0x92, 0xc2, 0x9a, 0x43, 0x17, 0x3d, 0x72, 0xe7, 0x7a, 0xe6,
        0x03,
    ],
    severity: Severity::Informational,
    arguments: &[
        Argument::given("userId", Type::ShortText),
        Argument::given("action", Type::ShortText),
        Argument::given("objectType", Type::ShortText),
        Argument::given("objectName", Type::ShortText),
        Argument::given("arguments", Type::Map),
    ],
};

/// What there is to say of an event `allow`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Allow {
    /// `userId`, sstr.
    pub user_id: Text,
    /// `action`, sstr.
    pub action: Text,
    /// `objectType`, sstr.
    pub object_type: Text,
    /// `objectName`, sstr.
    pub object_name: Text,
    /// `arguments`, map.
    pub arguments: Map,
}

impl Allow {
    /// The same as an event.
    pub fn into_event(self) -> Event {
        Event {
            class: &ALLOW_EVENT,
            arguments: vec![
                Datum::ShortText(self.user_id),
                Datum::ShortText(self.action),
                Datum::ShortText(self.object_type),
                Datum::ShortText(self.object_name),
                Datum::Map(self.arguments),
            ],
        }
    }
}

/// Event `deny`.
pub static DENY_EVENT: EventClass = EventClass {
    package: "org.apache.qpid.acl",
    name: "deny",
    hash: [
        0xf2, 0x55, 0x19, 0x31, 0x1d, 0x0e, 0xcd, 0x47, 0x5f, 0x96, 0xc3, 0x1a, 0xc2, 0x4e, 0x7c,
        0xe8,
    ],
    severity: Severity::Notice,
    arguments: &[
        Argument::given("userId", Type::ShortText),
        Argument::given("action", Type::ShortText),
        Argument::given("objectType", Type::ShortText),
        Argument::given("objectName", Type::ShortText),
        Argument::given("arguments", Type::Map),
    ],
};

/// What there is to say of an event `deny`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Deny {
    /// `userId`, sstr.
    pub user_id: Text,
    /// `action`, sstr.
    pub action: Text,
    /// `objectType`, sstr.
    pub object_type: Text,
    /// `objectName`, sstr.
    pub object_name: Text,
    /// `arguments`, map.
    pub arguments: Map,
}

impl Deny {
    /// The same as an event.
    pub fn into_event(self) -> Event {
        Event {
            class: &DENY_EVENT,
            arguments: vec![
                Datum::ShortText(self.user_id),
                Datum::ShortText(self.action),
                Datum::ShortText(self.object_type),
                Datum::ShortText(self.object_name),
                Datum::Map(self.arguments),
            ],
        }
    }
}

/// Event `connectionDeny`.
pub static CONNECTION_DENY_EVENT: EventClass = EventClass {
    package: "org.apache.qpid.acl",
    name: "connectionDeny",
    hash: [
        0x89, 0x26, 0x3d, 0x16, 0x65, 0xc9, 0x02, 0x7e, 0x78, 0x56, 0x68, 0x2b, 0x58, 0x84, 0xed,
        0x7f,
    ],
    severity: Severity::Notice,
    arguments: &[
        Argument::given("userId", Type::ShortText),
        Argument::given("clientAddr", Type::ShortText),
    ],
};

/// What there is to say of an event `connectionDeny`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ConnectionDeny {
    /// `userId`, sstr.
    pub user_id: Text,
    /// `clientAddr`, sstr.
    pub client_addr: Text,
}

impl ConnectionDeny {
    /// The same as an event.
    pub fn into_event(self) -> Event {
        Event {
            class: &CONNECTION_DENY_EVENT,
            arguments: vec![
                Datum::ShortText(self.user_id),
                Datum::ShortText(self.client_addr),
            ],
        }
    }
}

/// Event `queueQuotaDeny`.
pub static QUEUE_QUOTA_DENY_EVENT: EventClass = EventClass {
    package: "org.apache.qpid.acl",
    name: "queueQuotaDeny",
    hash: [
        0xb2, 0x5d, 0xc9, 0x53, 0x72, 0xd4, 0x91, 0xc5, 0xba, 0xc2, 0x7d, 0x5b, 0xa3, 0xff, 0x4e,
        0xd2,
    ],
    severity: Severity::Notice,
    arguments: &[
        Argument::given("userId", Type::ShortText),
        Argument::given("queueName", Type::ShortText),
    ],
};

/// What there is to say of an event `queueQuotaDeny`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct QueueQuotaDeny {
    /// `userId`, sstr.
    pub user_id: Text,
    /// `queueName`, sstr.
    pub queue_name: Text,
}

impl QueueQuotaDeny {
    /// The same as an event.
    pub fn into_event(self) -> Event {
        Event {
            class: &QUEUE_QUOTA_DENY_EVENT,
            arguments: vec![
                Datum::ShortText(self.user_id),
                Datum::ShortText(self.queue_name),
            ],
        }
    }
}

/// Event `fileLoaded`.
pub static FILE_LOADED_EVENT: EventClass = EventClass {
    package: "org.apache.qpid.acl",
    name: "fileLoaded",
    hash: [
        0x0b, 0xee, 0x5a, 0x3a, 0x23, 0x44, 0xd8, 0x4d, 0x3d, 0xe6, 0x74, 0x79, 0xc0, 0xec, 0x3e,
        0x11,
    ],
    severity: Severity::Informational,
    arguments: &[Argument::given("userId", Type::ShortText)],
};

/// What there is to say of an event `fileLoaded`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FileLoaded {
    /// `userId`, sstr.
    pub user_id: Text,
}

impl FileLoaded {
    /// The same as an event.
    pub fn into_event(self) -> Event {
        Event {
            class: &FILE_LOADED_EVENT,
            arguments: vec![Datum::ShortText(self.user_id)],
        }
    }
}

/// Event `fileLoadFailed`.
pub static FILE_LOAD_FAILED_EVENT: EventClass = EventClass {
    package: "org.apache.qpid.acl",
    name: "fileLoadFailed",
    hash: [
        0xfe, 0x03, 0xc3, 0x52, 0xf2, 0x1d, 0xf0, 0xb2, 0x2c, 0xc2, 0x34, 0xaf, 0xb0, 0x87, 0x92,
        0xda,
    ],
    severity: Severity::Error,
    arguments: &[
        Argument::given("userId", Type::ShortText),
        Argument::given("reason", Type::LongText),
    ],
};

/// What there is to say of an event `fileLoadFailed`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FileLoadFailed {
    /// `userId`, sstr.
    pub user_id: Text,
    /// `reason`, lstr.
    pub reason: Text,
}

impl FileLoadFailed {
    /// The same as an event.
    pub fn into_event(self) -> Event {
        Event {
            class: &FILE_LOAD_FAILED_EVENT,
            arguments: vec![Datum::ShortText(self.user_id), Datum::LongText(self.reason)],
        }
    }
}
