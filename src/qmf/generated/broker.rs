//! Package `org.apache.qpid.broker`.

// Generated from spec/management.spec by spec/generator/management. Not to be edited:
// UPDATE=1 cargo test --test spec_staleness

use crate::qmf::datum::{Arguments, Datum, Samples, Watermarks};
use crate::qmf::event::Event;
use crate::qmf::object::{ObjectName, Values};
use crate::qmf::schema::{
    Access, Argument, Class, EventClass, Method, Package, Property, Severity, Statistic, Type,
};
use crate::wire::{Map, Text};

/// The package.
pub static PACKAGE: Package = Package {
    name: "org.apache.qpid.broker",
    classes: &[
        &SYSTEM,
        &MEMORY,
        &BROKER,
        &AGENT,
        &VHOST,
        &QUEUE,
        &EXCHANGE,
        &BINDING,
        &SUBSCRIPTION,
        &CONNECTION,
        &LINK,
        &BRIDGE,
        &SESSION,
        &INCOMING,
        &OUTGOING,
        &DOMAIN,
        &TOPIC,
        &QUEUE_POLICY,
        &TOPIC_POLICY,
        &MANAGEMENT_SETUP_STATE,
    ],
    events: &[
        &CLIENT_CONNECT_EVENT,
        &CLIENT_CONNECT_FAIL_EVENT,
        &CLIENT_DISCONNECT_EVENT,
        &BROKER_LINK_UP_EVENT,
        &BROKER_LINK_DOWN_EVENT,
        &QUEUE_DECLARE_EVENT,
        &QUEUE_DELETE_EVENT,
        &EXCHANGE_DECLARE_EVENT,
        &EXCHANGE_DELETE_EVENT,
        &BIND_EVENT,
        &UNBIND_EVENT,
        &SUBSCRIBE_EVENT,
        &UNSUBSCRIBE_EVENT,
        &QUEUE_THRESHOLD_CROSSED_UPWARD_EVENT,
        &QUEUE_THRESHOLD_CROSSED_DOWNWARD_EVENT,
        &QUEUE_THRESHOLD_EXCEEDED_EVENT,
        &QUEUE_REDIRECT_EVENT,
        &QUEUE_REDIRECT_CANCELLED_EVENT,
    ],
};

/// Class `system`.
pub static SYSTEM: Class = Class {
    package: "org.apache.qpid.broker",
    name: "system",
    hash: [
        0x62, 0x12, 0x7e, 0x7b, 0x5a, 0x4c, 0x22, 0x69, 0xed, 0x26, 0x6e, 0x99, 0xaf, 0x9c, 0x6d,
        0x92,
    ],
    properties: &[
        Property::new("systemId", Type::Uuid, Access::ReadCreate).index(),
        Property::new("osName", Type::ShortText, Access::ReadOnly).about("Operating system"),
        Property::new("nodeName", Type::ShortText, Access::ReadOnly).about("Host name"),
        Property::new("release", Type::ShortText, Access::ReadOnly),
        Property::new("version", Type::ShortText, Access::ReadOnly),
        Property::new("machine", Type::ShortText, Access::ReadOnly),
    ],
    statistics: &[],
    methods: &[],
};

/// What there is to say of an object of class `system`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct System {
    /// `systemId`, uuid.
    pub system_id: [u8; 16],
    /// `osName`, sstr. Operating system.
    pub os_name: Text,
    /// `nodeName`, sstr. Host name.
    pub node_name: Text,
    /// `release`, sstr.
    pub release: Text,
    /// `version`, sstr.
    pub version: Text,
    /// `machine`, sstr.
    pub machine: Text,
}

impl System {
    /// The same as values of the schema.
    pub fn into_values(self) -> Values {
        Values {
            class: &SYSTEM,
            properties: vec![
                Some(Datum::Uuid(self.system_id)),
                Some(Datum::ShortText(self.os_name)),
                Some(Datum::ShortText(self.node_name)),
                Some(Datum::ShortText(self.release)),
                Some(Datum::ShortText(self.version)),
                Some(Datum::ShortText(self.machine)),
            ],
            statistics: vec![],
        }
    }
}

/// Class `memory`.
pub static MEMORY: Class = Class {
    package: "org.apache.qpid.broker",
    name: "memory",
    hash: [
        0xd1, 0x79, 0x96, 0x71, 0x3a, 0x8d, 0x24, 0x98, 0xab, 0x9d, 0x5e, 0x72, 0x09, 0xec, 0xa0,
        0xcf,
    ],
    properties: &[
        Property::new("name", Type::ShortText, Access::ReadCreate).index(),
        Property::new("malloc_arena", Type::U64, Access::ReadOnly)
            .optional()
            .unit("octet"),
        Property::new("malloc_ordblks", Type::U64, Access::ReadOnly).optional(),
        Property::new("malloc_hblks", Type::U64, Access::ReadOnly).optional(),
        Property::new("malloc_hblkhd", Type::U64, Access::ReadOnly)
            .optional()
            .unit("octet"),
        Property::new("malloc_uordblks", Type::U64, Access::ReadOnly)
            .optional()
            .unit("octet"),
        Property::new("malloc_fordblks", Type::U64, Access::ReadOnly)
            .optional()
            .unit("octet"),
        Property::new("malloc_keepcost", Type::U64, Access::ReadOnly)
            .optional()
            .unit("octet"),
    ],
    statistics: &[],
    methods: &[],
};

/// What there is to say of an object of class `memory`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Memory {
    /// `name`, sstr.
    pub name: Text,
    /// `malloc_arena`, uint64.
    pub malloc_arena: Option<u64>,
    /// `malloc_ordblks`, uint64.
    pub malloc_ordblks: Option<u64>,
    /// `malloc_hblks`, uint64.
    pub malloc_hblks: Option<u64>,
    /// `malloc_hblkhd`, uint64.
    pub malloc_hblkhd: Option<u64>,
    /// `malloc_uordblks`, uint64.
    pub malloc_uordblks: Option<u64>,
    /// `malloc_fordblks`, uint64.
    pub malloc_fordblks: Option<u64>,
    /// `malloc_keepcost`, uint64.
    pub malloc_keepcost: Option<u64>,
}

impl Memory {
    /// The same as values of the schema.
    pub fn into_values(self) -> Values {
        Values {
            class: &MEMORY,
            properties: vec![
                Some(Datum::ShortText(self.name)),
                self.malloc_arena.map(Datum::U64),
                self.malloc_ordblks.map(Datum::U64),
                self.malloc_hblks.map(Datum::U64),
                self.malloc_hblkhd.map(Datum::U64),
                self.malloc_uordblks.map(Datum::U64),
                self.malloc_fordblks.map(Datum::U64),
                self.malloc_keepcost.map(Datum::U64),
            ],
            statistics: vec![],
        }
    }
}

/// Class `broker`.
pub static BROKER: Class = Class {
    package: "org.apache.qpid.broker",
    name: "broker",
    hash: [
        0xd9, 0x64, 0x6d, 0x87, 0x5e, 0x7f, 0x87, 0xe9, 0x28, 0x33, 0x99, 0x9f, 0xc6, 0xb4, 0x6a,
        0xa9,
    ],
    properties: &[
        Property::new("name", Type::ShortText, Access::ReadCreate).index(),
        Property::new("systemRef", Type::Reference, Access::ReadOnly)
            .refers_to("org.apache.qpid.broker", "system"),
        Property::new("port", Type::U16, Access::ReadOnly).about("Port of the first listener"),
        Property::new("workerThreads", Type::U16, Access::ReadOnly)
            .about("Threads that serve connections"),
        Property::new("maxConns", Type::U16, Access::ReadOnly).about("Connections at most"),
        Property::new("connBacklog", Type::U16, Access::ReadOnly)
            .about("Connections that wait to be accepted, at most"),
        Property::new("stagingThreshold", Type::U32, Access::ReadOnly).about("Always 0"),
        Property::new("mgmtPublish", Type::Bool, Access::ReadOnly)
            .about("Whether data is sent unasked"),
        Property::new("mgmtPubInterval", Type::U16, Access::ReadWrite)
            .min(1)
            .unit("second")
            .about("Between data sent unasked"),
        Property::new("version", Type::ShortText, Access::ReadOnly),
        Property::new("dataDir", Type::LongText, Access::ReadOnly)
            .optional()
            .about("Where what is durable lies"),
    ],
    statistics: &[
        Statistic::new("uptime", Type::DeltaTime),
        Statistic::new("queueCount", Type::U64).unit("queue"),
        Statistic::new("msgTotalEnqueues", Type::U64).unit("message"),
        Statistic::new("msgTotalDequeues", Type::U64).unit("message"),
        Statistic::new("byteTotalEnqueues", Type::U64).unit("octet"),
        Statistic::new("byteTotalDequeues", Type::U64).unit("octet"),
        Statistic::new("msgDepth", Type::U64).unit("message"),
        Statistic::new("byteDepth", Type::U64).unit("octet"),
        Statistic::new("msgPersistEnqueues", Type::U64).unit("message"),
        Statistic::new("msgPersistDequeues", Type::U64).unit("message"),
        Statistic::new("bytePersistEnqueues", Type::U64).unit("octet"),
        Statistic::new("bytePersistDequeues", Type::U64).unit("octet"),
        Statistic::new("msgTxnEnqueues", Type::U64).unit("message"),
        Statistic::new("msgTxnDequeues", Type::U64).unit("message"),
        Statistic::new("byteTxnEnqueues", Type::U64).unit("octet"),
        Statistic::new("byteTxnDequeues", Type::U64).unit("octet"),
        Statistic::new("msgFtdEnqueues", Type::U64)
            .unit("message")
            .about("Always 0"),
        Statistic::new("msgFtdDequeues", Type::U64)
            .unit("message")
            .about("Always 0"),
        Statistic::new("byteFtdEnqueues", Type::U64)
            .unit("octet")
            .about("Always 0"),
        Statistic::new("byteFtdDequeues", Type::U64)
            .unit("octet")
            .about("Always 0"),
        Statistic::new("msgFtdDepth", Type::U64)
            .unit("message")
            .about("Always 0"),
        Statistic::new("byteFtdDepth", Type::U64)
            .unit("octet")
            .about("Always 0"),
        Statistic::new("releases", Type::U64).unit("message"),
        Statistic::new("acquires", Type::U64).unit("message"),
        Statistic::new("discardsNoRoute", Type::U64).unit("message"),
        Statistic::new("discardsTtl", Type::U64).unit("message"),
        Statistic::new("discardsRing", Type::U64).unit("message"),
        Statistic::new("discardsLvq", Type::U64).unit("message"),
        Statistic::new("discardsOverflow", Type::U64).unit("message"),
        Statistic::new("discardsSubscriber", Type::U64).unit("message"),
        Statistic::new("discardsPurge", Type::U64).unit("message"),
        Statistic::new("reroutes", Type::U64).unit("message"),
        Statistic::new("abandoned", Type::U64).unit("message"),
        Statistic::new("abandonedViaAlt", Type::U64).unit("message"),
    ],
    methods: &[
        Method {
            name: "echo",
            about: Some("Answers with what it was given"),
            arguments: &[
                Argument::both("sequence", Type::U32),
                Argument::both("body", Type::LongText),
            ],
        },
        Method {
            name: "connect",
            about: Some("Makes a link to a broker"),
            arguments: &[
                Argument::given("host", Type::ShortText),
                Argument::given("port", Type::U32),
                Argument::given("durable", Type::Bool),
                Argument::given("authMechanism", Type::ShortText),
                Argument::given("username", Type::ShortText),
                Argument::given("password", Type::ShortText),
                Argument::given("transport", Type::ShortText),
            ],
        },
        Method {
            name: "queueMoveMessages",
            about: Some("Moves messages to another queue, all for qty 0"),
            arguments: &[
                Argument::given("srcQueue", Type::ShortText),
                Argument::given("destQueue", Type::ShortText),
                Argument::given("qty", Type::U32),
                Argument::given("filter", Type::Map),
            ],
        },
        Method {
            name: "setLogLevel",
            about: None,
            arguments: &[Argument::given("level", Type::ShortText)],
        },
        Method {
            name: "getLogLevel",
            about: None,
            arguments: &[Argument::answered("level", Type::ShortText)],
        },
        Method {
            name: "getTimestampConfig",
            about: None,
            arguments: &[Argument::answered("receive", Type::Bool)],
        },
        Method {
            name: "setTimestampConfig",
            about: Some("Whether arrivals get a timestamp"),
            arguments: &[Argument::given("receive", Type::Bool)],
        },
        Method {
            name: "create",
            about: None,
            arguments: &[
                Argument::given("type", Type::ShortText),
                Argument::given("name", Type::ShortText),
                Argument::given("properties", Type::Map),
                Argument::given("strict", Type::Bool),
            ],
        },
        Method {
            name: "delete",
            about: None,
            arguments: &[
                Argument::given("type", Type::ShortText),
                Argument::given("name", Type::ShortText),
                Argument::given("options", Type::Map),
            ],
        },
        Method {
            name: "query",
            about: None,
            arguments: &[
                Argument::given("type", Type::ShortText),
                Argument::given("name", Type::ShortText),
                Argument::answered("results", Type::Map),
            ],
        },
        Method {
            name: "getLogHiresTimestamp",
            about: None,
            arguments: &[Argument::answered("logHires", Type::Bool)],
        },
        Method {
            name: "setLogHiresTimestamp",
            about: None,
            arguments: &[Argument::given("logHires", Type::Bool)],
        },
        Method {
            name: "queueRedirect",
            about: Some("Sends what comes for one queue to another; an empty target ends it"),
            arguments: &[
                Argument::given("sourceQueue", Type::ShortText),
                Argument::given("targetQueue", Type::ShortText),
            ],
        },
        Method {
            name: "shutdown",
            about: None,
            arguments: &[],
        },
    ],
};

/// What there is to say of an object of class `broker`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Broker {
    /// `name`, sstr.
    pub name: Text,
    /// `systemRef`, objId.
    pub system_ref: ObjectName,
    /// `port`, uint16. Port of the first listener.
    pub port: u16,
    /// `workerThreads`, uint16. Threads that serve connections.
    pub worker_threads: u16,
    /// `maxConns`, uint16. Connections at most.
    pub max_conns: u16,
    /// `connBacklog`, uint16. Connections that wait to be accepted, at most.
    pub conn_backlog: u16,
    /// `stagingThreshold`, uint32. Always 0.
    pub staging_threshold: u32,
    /// `mgmtPublish`, bool. Whether data is sent unasked.
    pub mgmt_publish: bool,
    /// `mgmtPubInterval`, uint16. Between data sent unasked.
    pub mgmt_pub_interval: u16,
    /// `version`, sstr.
    pub version: Text,
    /// `dataDir`, lstr. Where what is durable lies.
    pub data_dir: Option<Text>,
    /// `uptime`, deltaTime.
    pub uptime: u64,
    /// `queueCount`, count64.
    pub queue_count: u64,
    /// `msgTotalEnqueues`, count64.
    pub msg_total_enqueues: u64,
    /// `msgTotalDequeues`, count64.
    pub msg_total_dequeues: u64,
    /// `byteTotalEnqueues`, count64.
    pub byte_total_enqueues: u64,
    /// `byteTotalDequeues`, count64.
    pub byte_total_dequeues: u64,
    /// `msgDepth`, count64.
    pub msg_depth: u64,
    /// `byteDepth`, count64.
    pub byte_depth: u64,
    /// `msgPersistEnqueues`, count64.
    pub msg_persist_enqueues: u64,
    /// `msgPersistDequeues`, count64.
    pub msg_persist_dequeues: u64,
    /// `bytePersistEnqueues`, count64.
    pub byte_persist_enqueues: u64,
    /// `bytePersistDequeues`, count64.
    pub byte_persist_dequeues: u64,
    /// `msgTxnEnqueues`, count64.
    pub msg_txn_enqueues: u64,
    /// `msgTxnDequeues`, count64.
    pub msg_txn_dequeues: u64,
    /// `byteTxnEnqueues`, count64.
    pub byte_txn_enqueues: u64,
    /// `byteTxnDequeues`, count64.
    pub byte_txn_dequeues: u64,
    /// `msgFtdEnqueues`, count64. Always 0.
    pub msg_ftd_enqueues: u64,
    /// `msgFtdDequeues`, count64. Always 0.
    pub msg_ftd_dequeues: u64,
    /// `byteFtdEnqueues`, count64. Always 0.
    pub byte_ftd_enqueues: u64,
    /// `byteFtdDequeues`, count64. Always 0.
    pub byte_ftd_dequeues: u64,
    /// `msgFtdDepth`, count64. Always 0.
    pub msg_ftd_depth: u64,
    /// `byteFtdDepth`, count64. Always 0.
    pub byte_ftd_depth: u64,
    /// `releases`, count64.
    pub releases: u64,
    /// `acquires`, count64.
    pub acquires: u64,
    /// `discardsNoRoute`, count64.
    pub discards_no_route: u64,
    /// `discardsTtl`, count64.
    pub discards_ttl: u64,
    /// `discardsRing`, count64.
    pub discards_ring: u64,
    /// `discardsLvq`, count64.
    pub discards_lvq: u64,
    /// `discardsOverflow`, count64.
    pub discards_overflow: u64,
    /// `discardsSubscriber`, count64.
    pub discards_subscriber: u64,
    /// `discardsPurge`, count64.
    pub discards_purge: u64,
    /// `reroutes`, count64.
    pub reroutes: u64,
    /// `abandoned`, count64.
    pub abandoned: u64,
    /// `abandonedViaAlt`, count64.
    pub abandoned_via_alt: u64,
}

impl Broker {
    /// The same as values of the schema.
    pub fn into_values(self) -> Values {
        Values {
            class: &BROKER,
            properties: vec![
                Some(Datum::ShortText(self.name)),
                Some(Datum::Reference(self.system_ref)),
                Some(Datum::U16(self.port)),
                Some(Datum::U16(self.worker_threads)),
                Some(Datum::U16(self.max_conns)),
                Some(Datum::U16(self.conn_backlog)),
                Some(Datum::U32(self.staging_threshold)),
                Some(Datum::Bool(self.mgmt_publish)),
                Some(Datum::U16(self.mgmt_pub_interval)),
                Some(Datum::ShortText(self.version)),
                self.data_dir.map(Datum::LongText),
            ],
            statistics: vec![
                Datum::DeltaTime(self.uptime),
                Datum::U64(self.queue_count),
                Datum::U64(self.msg_total_enqueues),
                Datum::U64(self.msg_total_dequeues),
                Datum::U64(self.byte_total_enqueues),
                Datum::U64(self.byte_total_dequeues),
                Datum::U64(self.msg_depth),
                Datum::U64(self.byte_depth),
                Datum::U64(self.msg_persist_enqueues),
                Datum::U64(self.msg_persist_dequeues),
                Datum::U64(self.byte_persist_enqueues),
                Datum::U64(self.byte_persist_dequeues),
                Datum::U64(self.msg_txn_enqueues),
                Datum::U64(self.msg_txn_dequeues),
                Datum::U64(self.byte_txn_enqueues),
                Datum::U64(self.byte_txn_dequeues),
                Datum::U64(self.msg_ftd_enqueues),
                Datum::U64(self.msg_ftd_dequeues),
                Datum::U64(self.byte_ftd_enqueues),
                Datum::U64(self.byte_ftd_dequeues),
                Datum::U64(self.msg_ftd_depth),
                Datum::U64(self.byte_ftd_depth),
                Datum::U64(self.releases),
                Datum::U64(self.acquires),
                Datum::U64(self.discards_no_route),
                Datum::U64(self.discards_ttl),
                Datum::U64(self.discards_ring),
                Datum::U64(self.discards_lvq),
                Datum::U64(self.discards_overflow),
                Datum::U64(self.discards_subscriber),
                Datum::U64(self.discards_purge),
                Datum::U64(self.reroutes),
                Datum::U64(self.abandoned),
                Datum::U64(self.abandoned_via_alt),
            ],
        }
    }
}

/// A method of class `broker` with its arguments.
#[derive(Clone, Debug, PartialEq)]
pub enum BrokerMethod {
    /// `echo`. Answers with what it was given.
    Echo {
        /// `sequence`, uint32.
        sequence: u32,
        /// `body`, lstr.
        body: Text,
    },
    /// `connect`. Makes a link to a broker.
    Connect {
        /// `host`, sstr.
        host: Text,
        /// `port`, uint32.
        port: u32,
        /// `durable`, bool.
        durable: bool,
        /// `authMechanism`, sstr.
        auth_mechanism: Text,
        /// `username`, sstr.
        username: Text,
        /// `password`, sstr.
        password: Text,
        /// `transport`, sstr.
        transport: Text,
    },
    /// `queueMoveMessages`. Moves messages to another queue, all for qty 0.
    QueueMoveMessages {
        /// `srcQueue`, sstr.
        src_queue: Text,
        /// `destQueue`, sstr.
        dest_queue: Text,
        /// `qty`, uint32.
        qty: u32,
        /// `filter`, map.
        filter: Map,
    },
    /// `setLogLevel`.
    SetLogLevel {
        /// `level`, sstr.
        level: Text,
    },
    /// `getLogLevel`.
    GetLogLevel,
    /// `getTimestampConfig`.
    GetTimestampConfig,
    /// `setTimestampConfig`. Whether arrivals get a timestamp.
    SetTimestampConfig {
        /// `receive`, bool.
        receive: bool,
    },
    /// `create`.
    Create {
        /// `type`, sstr.
        r#type: Text,
        /// `name`, sstr.
        name: Text,
        /// `properties`, map.
        properties: Map,
        /// `strict`, bool.
        strict: bool,
    },
    /// `delete`.
    Delete {
        /// `type`, sstr.
        r#type: Text,
        /// `name`, sstr.
        name: Text,
        /// `options`, map.
        options: Map,
    },
    /// `query`.
    Query {
        /// `type`, sstr.
        r#type: Text,
        /// `name`, sstr.
        name: Text,
    },
    /// `getLogHiresTimestamp`.
    GetLogHiresTimestamp,
    /// `setLogHiresTimestamp`.
    SetLogHiresTimestamp {
        /// `logHires`, bool.
        log_hires: bool,
    },
    /// `queueRedirect`. Sends what comes for one queue to another; an empty target ends it.
    QueueRedirect {
        /// `sourceQueue`, sstr.
        source_queue: Text,
        /// `targetQueue`, sstr.
        target_queue: Text,
    },
    /// `shutdown`.
    Shutdown,
}

impl BrokerMethod {
    /// The method at `index` of the schema; None unless the arguments are of its types.
    pub(crate) fn from_arguments(index: usize, arguments: &mut Arguments) -> Option<Self> {
        Some(match index {
            0 => Self::Echo {
                sequence: arguments.take()?,
                body: arguments.take()?,
            },
            1 => Self::Connect {
                host: arguments.take()?,
                port: arguments.take()?,
                durable: arguments.take()?,
                auth_mechanism: arguments.take()?,
                username: arguments.take()?,
                password: arguments.take()?,
                transport: arguments.take()?,
            },
            2 => Self::QueueMoveMessages {
                src_queue: arguments.take()?,
                dest_queue: arguments.take()?,
                qty: arguments.take()?,
                filter: arguments.take()?,
            },
            3 => Self::SetLogLevel {
                level: arguments.take()?,
            },
            4 => Self::GetLogLevel,
            5 => Self::GetTimestampConfig,
            6 => Self::SetTimestampConfig {
                receive: arguments.take()?,
            },
            7 => Self::Create {
                r#type: arguments.take()?,
                name: arguments.take()?,
                properties: arguments.take()?,
                strict: arguments.take()?,
            },
            8 => Self::Delete {
                r#type: arguments.take()?,
                name: arguments.take()?,
                options: arguments.take()?,
            },
            9 => Self::Query {
                r#type: arguments.take()?,
                name: arguments.take()?,
            },
            10 => Self::GetLogHiresTimestamp,
            11 => Self::SetLogHiresTimestamp {
                log_hires: arguments.take()?,
            },
            12 => Self::QueueRedirect {
                source_queue: arguments.take()?,
                target_queue: arguments.take()?,
            },
            13 => Self::Shutdown,
            _ => return None,
        })
    }

    /// What `echo` answers.
    pub fn echo_answer(sequence: u32, body: Text) -> Vec<Datum> {
        vec![Datum::U32(sequence), Datum::LongText(body)]
    }

    /// What `getLogLevel` answers.
    pub fn get_log_level_answer(level: Text) -> Vec<Datum> {
        vec![Datum::ShortText(level)]
    }

    /// What `getTimestampConfig` answers.
    pub fn get_timestamp_config_answer(receive: bool) -> Vec<Datum> {
        vec![Datum::Bool(receive)]
    }

    /// What `query` answers.
    pub fn query_answer(results: Map) -> Vec<Datum> {
        vec![Datum::Map(results)]
    }

    /// What `getLogHiresTimestamp` answers.
    pub fn get_log_hires_timestamp_answer(log_hires: bool) -> Vec<Datum> {
        vec![Datum::Bool(log_hires)]
    }
}

/// Class `agent`.
pub static AGENT: Class = Class {
    package: "org.apache.qpid.broker",
    name: "agent",
    hash: [
        0xab, 0xcc, 0x94, 0x13, 0xb0, 0x65, 0xc0, 0x48, 0x68, 0xc3, 0x4b, 0x70, 0xf0, 0x89, 0x0a,
        0xcc,
    ],
    properties: &[
        Property::new("connectionRef", Type::Reference, Access::ReadOnly)
            .index()
            .refers_to("org.apache.qpid.broker", "connection"),
        Property::new("label", Type::ShortText, Access::ReadOnly),
        Property::new("registeredTo", Type::Reference, Access::ReadOnly)
            .refers_to("org.apache.qpid.broker", "broker"),
        Property::new("systemId", Type::Uuid, Access::ReadOnly),
        Property::new("brokerBank", Type::U32, Access::ReadOnly),
        Property::new("agentBank", Type::U32, Access::ReadOnly),
    ],
    statistics: &[],
    methods: &[],
};

/// What there is to say of an object of class `agent`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Agent {
    /// `connectionRef`, objId.
    pub connection_ref: ObjectName,
    /// `label`, sstr.
    pub label: Text,
    /// `registeredTo`, objId.
    pub registered_to: ObjectName,
    /// `systemId`, uuid.
    pub system_id: [u8; 16],
    /// `brokerBank`, uint32.
    pub broker_bank: u32,
    /// `agentBank`, uint32.
    pub agent_bank: u32,
}

impl Agent {
    /// The same as values of the schema.
    pub fn into_values(self) -> Values {
        Values {
            class: &AGENT,
            properties: vec![
                Some(Datum::Reference(self.connection_ref)),
                Some(Datum::ShortText(self.label)),
                Some(Datum::Reference(self.registered_to)),
                Some(Datum::Uuid(self.system_id)),
                Some(Datum::U32(self.broker_bank)),
                Some(Datum::U32(self.agent_bank)),
            ],
            statistics: vec![],
        }
    }
}

/// Class `vhost`.
pub static VHOST: Class = Class {
    package: "org.apache.qpid.broker",
    name: "vhost",
    hash: [
        0x3c, 0x48, 0xcb, 0x72, 0xd3, 0x93, 0xe6, 0x37, 0xa8, 0x0c, 0x98, 0xbf, 0x84, 0xcb, 0xbe,
        0xb7,
    ],
    properties: &[
        Property::new("brokerRef", Type::Reference, Access::ReadCreate)
            .index()
            .refers_to("org.apache.qpid.broker", "broker"),
        Property::new("name", Type::ShortText, Access::ReadCreate).index(),
        Property::new("federationTag", Type::ShortText, Access::ReadOnly),
    ],
    statistics: &[],
    methods: &[],
};

/// What there is to say of an object of class `vhost`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Vhost {
    /// `brokerRef`, objId.
    pub broker_ref: ObjectName,
    /// `name`, sstr.
    pub name: Text,
    /// `federationTag`, sstr.
    pub federation_tag: Text,
}

impl Vhost {
    /// The same as values of the schema.
    pub fn into_values(self) -> Values {
        Values {
            class: &VHOST,
            properties: vec![
                Some(Datum::Reference(self.broker_ref)),
                Some(Datum::ShortText(self.name)),
                Some(Datum::ShortText(self.federation_tag)),
            ],
            statistics: vec![],
        }
    }
}

/// Class `queue`.
pub static QUEUE: Class = Class {
    package: "org.apache.qpid.broker",
    name: "queue",
    hash: [
        0xaa, 0x64, 0x07, 0x67, 0x2e, 0x9c, 0xcd, 0x2e, 0xea, 0x4d, 0xd3, 0x4a, 0x38, 0xd9, 0x80,
        0xac,
    ],
    properties: &[
        Property::new("vhostRef", Type::Reference, Access::ReadCreate)
            .index()
            .refers_to("org.apache.qpid.broker", "vhost"),
        Property::new("name", Type::ShortText, Access::ReadCreate).index(),
        Property::new("durable", Type::Bool, Access::ReadCreate),
        Property::new("autoDelete", Type::Bool, Access::ReadCreate),
        Property::new("exclusive", Type::Bool, Access::ReadOnly),
        Property::new("arguments", Type::Map, Access::ReadOnly),
        Property::new("altExchange", Type::Reference, Access::ReadOnly)
            .optional()
            .refers_to("org.apache.qpid.broker", "exchange"),
    ],
    statistics: &[
        Statistic::new("msgTotalEnqueues", Type::U64).unit("message"),
        Statistic::new("msgTotalDequeues", Type::U64).unit("message"),
        Statistic::new("msgTxnEnqueues", Type::U64).unit("message"),
        Statistic::new("msgTxnDequeues", Type::U64).unit("message"),
        Statistic::new("msgPersistEnqueues", Type::U64).unit("message"),
        Statistic::new("msgPersistDequeues", Type::U64).unit("message"),
        Statistic::new("msgDepth", Type::U64).unit("message"),
        Statistic::new("byteDepth", Type::U64).unit("octet"),
        Statistic::new("byteTotalEnqueues", Type::U64).unit("octet"),
        Statistic::new("byteTotalDequeues", Type::U64).unit("octet"),
        Statistic::new("byteTxnEnqueues", Type::U64).unit("octet"),
        Statistic::new("byteTxnDequeues", Type::U64).unit("octet"),
        Statistic::new("bytePersistEnqueues", Type::U64).unit("octet"),
        Statistic::new("bytePersistDequeues", Type::U64).unit("octet"),
        Statistic::new("msgFtdEnqueues", Type::U64)
            .unit("message")
            .about("Always 0"),
        Statistic::new("msgFtdDequeues", Type::U64)
            .unit("message")
            .about("Always 0"),
        Statistic::new("byteFtdEnqueues", Type::U64)
            .unit("octet")
            .about("Always 0"),
        Statistic::new("byteFtdDequeues", Type::U64)
            .unit("octet")
            .about("Always 0"),
        Statistic::new("msgFtdDepth", Type::U64)
            .unit("message")
            .about("Always 0"),
        Statistic::new("byteFtdDepth", Type::U64)
            .unit("octet")
            .about("Always 0"),
        Statistic::new("releases", Type::U64).unit("message"),
        Statistic::new("acquires", Type::U64).unit("message"),
        Statistic::new("discardsTtl", Type::U64).unit("message"),
        Statistic::new("discardsRing", Type::U64).unit("message"),
        Statistic::new("discardsLvq", Type::U64).unit("message"),
        Statistic::new("discardsOverflow", Type::U64).unit("message"),
        Statistic::new("discardsSubscriber", Type::U64).unit("message"),
        Statistic::new("discardsPurge", Type::U64).unit("message"),
        Statistic::new("reroutes", Type::U64).unit("message"),
        Statistic::new("consumerCount", Type::U32).unit("consumer"),
        Statistic::new("consumerCountHigh", Type::U32).unit("consumer"),
        Statistic::new("consumerCountLow", Type::U32).unit("consumer"),
        Statistic::new("bindingCount", Type::U32).unit("binding"),
        Statistic::new("bindingCountHigh", Type::U32).unit("binding"),
        Statistic::new("bindingCountLow", Type::U32).unit("binding"),
        Statistic::new("unackedMessages", Type::U32).unit("message"),
        Statistic::new("unackedMessagesHigh", Type::U32).unit("message"),
        Statistic::new("unackedMessagesLow", Type::U32).unit("message"),
        Statistic::new("messageLatencySamples", Type::DeltaTime)
            .in_values("messageLatencyCount")
            .unit("nanosecond")
            .about("Always 0"),
        Statistic::new("messageLatencyMin", Type::DeltaTime)
            .unit("nanosecond")
            .about("Always 0"),
        Statistic::new("messageLatencyMax", Type::DeltaTime)
            .unit("nanosecond")
            .about("Always 0"),
        Statistic::new("messageLatencyAverage", Type::DeltaTime)
            .in_values("messageLatencyAvg")
            .unit("nanosecond")
            .about("Always 0"),
        Statistic::new("flowStopped", Type::Bool).about("Whether publishers wait"),
        Statistic::new("flowStoppedCount", Type::U32),
        Statistic::new("redirectPeer", Type::ShortText),
        Statistic::new("redirectSource", Type::Bool),
        Statistic::new("creator", Type::ShortText).about("User who declared it"),
    ],
    methods: &[
        Method {
            name: "purge",
            about: Some("Discards messages, all for request 0"),
            arguments: &[
                Argument::given("request", Type::U32),
                Argument::given("filter", Type::Map),
            ],
        },
        Method {
            name: "reroute",
            about: Some("Publishes messages again to an exchange, all for request 0"),
            arguments: &[
                Argument::given("request", Type::U32),
                Argument::given("useAltExchange", Type::Bool),
                Argument::given("exchange", Type::ShortText),
                Argument::given("filter", Type::Map),
            ],
        },
    ],
};

/// What there is to say of an object of class `queue`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Queue {
    /// `vhostRef`, objId.
    pub vhost_ref: ObjectName,
    /// `name`, sstr.
    pub name: Text,
    /// `durable`, bool.
    pub durable: bool,
    /// `autoDelete`, bool.
    pub auto_delete: bool,
    /// `exclusive`, bool.
    pub exclusive: bool,
    /// `arguments`, map.
    pub arguments: Map,
    /// `altExchange`, objId.
    pub alt_exchange: Option<ObjectName>,
    /// `msgTotalEnqueues`, count64.
    pub msg_total_enqueues: u64,
    /// `msgTotalDequeues`, count64.
    pub msg_total_dequeues: u64,
    /// `msgTxnEnqueues`, count64.
    pub msg_txn_enqueues: u64,
    /// `msgTxnDequeues`, count64.
    pub msg_txn_dequeues: u64,
    /// `msgPersistEnqueues`, count64.
    pub msg_persist_enqueues: u64,
    /// `msgPersistDequeues`, count64.
    pub msg_persist_dequeues: u64,
    /// `msgDepth`, count64.
    pub msg_depth: u64,
    /// `byteDepth`, count64.
    pub byte_depth: u64,
    /// `byteTotalEnqueues`, count64.
    pub byte_total_enqueues: u64,
    /// `byteTotalDequeues`, count64.
    pub byte_total_dequeues: u64,
    /// `byteTxnEnqueues`, count64.
    pub byte_txn_enqueues: u64,
    /// `byteTxnDequeues`, count64.
    pub byte_txn_dequeues: u64,
    /// `bytePersistEnqueues`, count64.
    pub byte_persist_enqueues: u64,
    /// `bytePersistDequeues`, count64.
    pub byte_persist_dequeues: u64,
    /// `msgFtdEnqueues`, count64. Always 0.
    pub msg_ftd_enqueues: u64,
    /// `msgFtdDequeues`, count64. Always 0.
    pub msg_ftd_dequeues: u64,
    /// `byteFtdEnqueues`, count64. Always 0.
    pub byte_ftd_enqueues: u64,
    /// `byteFtdDequeues`, count64. Always 0.
    pub byte_ftd_dequeues: u64,
    /// `msgFtdDepth`, count64. Always 0.
    pub msg_ftd_depth: u64,
    /// `byteFtdDepth`, count64. Always 0.
    pub byte_ftd_depth: u64,
    /// `releases`, count64.
    pub releases: u64,
    /// `acquires`, count64.
    pub acquires: u64,
    /// `discardsTtl`, count64.
    pub discards_ttl: u64,
    /// `discardsRing`, count64.
    pub discards_ring: u64,
    /// `discardsLvq`, count64.
    pub discards_lvq: u64,
    /// `discardsOverflow`, count64.
    pub discards_overflow: u64,
    /// `discardsSubscriber`, count64.
    pub discards_subscriber: u64,
    /// `discardsPurge`, count64.
    pub discards_purge: u64,
    /// `reroutes`, count64.
    pub reroutes: u64,
    /// `consumerCount`, hilo32.
    pub consumer_count: Watermarks,
    /// `bindingCount`, hilo32.
    pub binding_count: Watermarks,
    /// `unackedMessages`, hilo32.
    pub unacked_messages: Watermarks,
    /// `messageLatency`, mmaTime. Always 0.
    pub message_latency: Samples,
    /// `flowStopped`, bool. Whether publishers wait.
    pub flow_stopped: bool,
    /// `flowStoppedCount`, count32.
    pub flow_stopped_count: u32,
    /// `redirectPeer`, sstr.
    pub redirect_peer: Text,
    /// `redirectSource`, bool.
    pub redirect_source: bool,
    /// `creator`, sstr. User who declared it.
    pub creator: Text,
}

impl Queue {
    /// The same as values of the schema.
    pub fn into_values(self) -> Values {
        Values {
            class: &QUEUE,
            properties: vec![
                Some(Datum::Reference(self.vhost_ref)),
                Some(Datum::ShortText(self.name)),
                Some(Datum::Bool(self.durable)),
                Some(Datum::Bool(self.auto_delete)),
                Some(Datum::Bool(self.exclusive)),
                Some(Datum::Map(self.arguments)),
                self.alt_exchange.map(Datum::Reference),
            ],
            statistics: vec![
                Datum::U64(self.msg_total_enqueues),
                Datum::U64(self.msg_total_dequeues),
                Datum::U64(self.msg_txn_enqueues),
                Datum::U64(self.msg_txn_dequeues),
                Datum::U64(self.msg_persist_enqueues),
                Datum::U64(self.msg_persist_dequeues),
                Datum::U64(self.msg_depth),
                Datum::U64(self.byte_depth),
                Datum::U64(self.byte_total_enqueues),
                Datum::U64(self.byte_total_dequeues),
                Datum::U64(self.byte_txn_enqueues),
                Datum::U64(self.byte_txn_dequeues),
                Datum::U64(self.byte_persist_enqueues),
                Datum::U64(self.byte_persist_dequeues),
                Datum::U64(self.msg_ftd_enqueues),
                Datum::U64(self.msg_ftd_dequeues),
                Datum::U64(self.byte_ftd_enqueues),
                Datum::U64(self.byte_ftd_dequeues),
                Datum::U64(self.msg_ftd_depth),
                Datum::U64(self.byte_ftd_depth),
                Datum::U64(self.releases),
                Datum::U64(self.acquires),
                Datum::U64(self.discards_ttl),
                Datum::U64(self.discards_ring),
                Datum::U64(self.discards_lvq),
                Datum::U64(self.discards_overflow),
                Datum::U64(self.discards_subscriber),
                Datum::U64(self.discards_purge),
                Datum::U64(self.reroutes),
                Datum::U32(self.consumer_count.value),
                Datum::U32(self.consumer_count.high),
                Datum::U32(self.consumer_count.low),
                Datum::U32(self.binding_count.value),
                Datum::U32(self.binding_count.high),
                Datum::U32(self.binding_count.low),
                Datum::U32(self.unacked_messages.value),
                Datum::U32(self.unacked_messages.high),
                Datum::U32(self.unacked_messages.low),
                Datum::DeltaTime(self.message_latency.count),
                Datum::DeltaTime(self.message_latency.min),
                Datum::DeltaTime(self.message_latency.max),
                Datum::DeltaTime(self.message_latency.average),
                Datum::Bool(self.flow_stopped),
                Datum::U32(self.flow_stopped_count),
                Datum::ShortText(self.redirect_peer),
                Datum::Bool(self.redirect_source),
                Datum::ShortText(self.creator),
            ],
        }
    }
}

/// A method of class `queue` with its arguments.
#[derive(Clone, Debug, PartialEq)]
pub enum QueueMethod {
    /// `purge`. Discards messages, all for request 0.
    Purge {
        /// `request`, uint32.
        request: u32,
        /// `filter`, map.
        filter: Map,
    },
    /// `reroute`. Publishes messages again to an exchange, all for request 0.
    Reroute {
        /// `request`, uint32.
        request: u32,
        /// `useAltExchange`, bool.
        use_alt_exchange: bool,
        /// `exchange`, sstr.
        exchange: Text,
        /// `filter`, map.
        filter: Map,
    },
}

impl QueueMethod {
    /// The method at `index` of the schema; None unless the arguments are of its types.
    pub(crate) fn from_arguments(index: usize, arguments: &mut Arguments) -> Option<Self> {
        Some(match index {
            0 => Self::Purge {
                request: arguments.take()?,
                filter: arguments.take()?,
            },
            1 => Self::Reroute {
                request: arguments.take()?,
                use_alt_exchange: arguments.take()?,
                exchange: arguments.take()?,
                filter: arguments.take()?,
            },
            _ => return None,
        })
    }
}

/// Class `exchange`.
pub static EXCHANGE: Class = Class {
    package: "org.apache.qpid.broker",
    name: "exchange",
    hash: [
        0x51, 0xca, 0x40, 0x75, 0xf5, 0x17, 0x2e, 0x92, 0x66, 0xeb, 0xe4, 0x58, 0x3c, 0x33, 0xf2,
        0x25,
    ],
    properties: &[
        Property::new("vhostRef", Type::Reference, Access::ReadCreate)
            .index()
            .refers_to("org.apache.qpid.broker", "vhost"),
        Property::new("name", Type::ShortText, Access::ReadCreate).index(),
        Property::new("type", Type::ShortText, Access::ReadOnly),
        Property::new("durable", Type::Bool, Access::ReadOnly),
        Property::new("autoDelete", Type::Bool, Access::ReadOnly),
        Property::new("altExchange", Type::Reference, Access::ReadOnly)
            .optional()
            .refers_to("org.apache.qpid.broker", "exchange"),
        Property::new("arguments", Type::Map, Access::ReadOnly),
    ],
    statistics: &[
        Statistic::new("producerCount", Type::U32).about("Always 0"),
        Statistic::new("producerCountHigh", Type::U32).about("Always 0"),
        Statistic::new("producerCountLow", Type::U32).about("Always 0"),
        Statistic::new("bindingCount", Type::U32),
        Statistic::new("bindingCountHigh", Type::U32),
        Statistic::new("bindingCountLow", Type::U32),
        Statistic::new("msgReceives", Type::U64),
        Statistic::new("msgDrops", Type::U64),
        Statistic::new("msgRoutes", Type::U64),
        Statistic::new("byteReceives", Type::U64),
        Statistic::new("byteDrops", Type::U64),
        Statistic::new("byteRoutes", Type::U64),
    ],
    methods: &[],
};

/// What there is to say of an object of class `exchange`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Exchange {
    /// `vhostRef`, objId.
    pub vhost_ref: ObjectName,
    /// `name`, sstr.
    pub name: Text,
    /// `type`, sstr.
    pub r#type: Text,
    /// `durable`, bool.
    pub durable: bool,
    /// `autoDelete`, bool.
    pub auto_delete: bool,
    /// `altExchange`, objId.
    pub alt_exchange: Option<ObjectName>,
    /// `arguments`, map.
    pub arguments: Map,
    /// `producerCount`, hilo32. Always 0.
    pub producer_count: Watermarks,
    /// `bindingCount`, hilo32.
    pub binding_count: Watermarks,
    /// `msgReceives`, count64.
    pub msg_receives: u64,
    /// `msgDrops`, count64.
    pub msg_drops: u64,
    /// `msgRoutes`, count64.
    pub msg_routes: u64,
    /// `byteReceives`, count64.
    pub byte_receives: u64,
    /// `byteDrops`, count64.
    pub byte_drops: u64,
    /// `byteRoutes`, count64.
    pub byte_routes: u64,
}

impl Exchange {
    /// The same as values of the schema.
    pub fn into_values(self) -> Values {
        Values {
            class: &EXCHANGE,
            properties: vec![
                Some(Datum::Reference(self.vhost_ref)),
                Some(Datum::ShortText(self.name)),
                Some(Datum::ShortText(self.r#type)),
                Some(Datum::Bool(self.durable)),
                Some(Datum::Bool(self.auto_delete)),
                self.alt_exchange.map(Datum::Reference),
                Some(Datum::Map(self.arguments)),
            ],
            statistics: vec![
                Datum::U32(self.producer_count.value),
                Datum::U32(self.producer_count.high),
                Datum::U32(self.producer_count.low),
                Datum::U32(self.binding_count.value),
                Datum::U32(self.binding_count.high),
                Datum::U32(self.binding_count.low),
                Datum::U64(self.msg_receives),
                Datum::U64(self.msg_drops),
                Datum::U64(self.msg_routes),
                Datum::U64(self.byte_receives),
                Datum::U64(self.byte_drops),
                Datum::U64(self.byte_routes),
            ],
        }
    }
}

/// Class `binding`.
pub static BINDING: Class = Class {
    package: "org.apache.qpid.broker",
    name: "binding",
    hash: [
        0x7f, 0xa3, 0x0c, 0x2a, 0x81, 0x71, 0xbc, 0x83, 0x62, 0xce, 0x39, 0xc0, 0x08, 0x67, 0xae,
        0xe7,
    ],
    properties: &[
        Property::new("exchangeRef", Type::Reference, Access::ReadCreate)
            .index()
            .refers_to("org.apache.qpid.broker", "exchange"),
        Property::new("queueRef", Type::Reference, Access::ReadCreate)
            .index()
            .refers_to("org.apache.qpid.broker", "queue"),
        Property::new("bindingKey", Type::LongText, Access::ReadCreate).index(),
        Property::new("arguments", Type::Map, Access::ReadCreate),
        Property::new("origin", Type::ShortText, Access::ReadOnly).optional(),
    ],
    statistics: &[Statistic::new("msgMatched", Type::U64)],
    methods: &[],
};

/// What there is to say of an object of class `binding`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Binding {
    /// `exchangeRef`, objId.
    pub exchange_ref: ObjectName,
    /// `queueRef`, objId.
    pub queue_ref: ObjectName,
    /// `bindingKey`, lstr.
    pub binding_key: Text,
    /// `arguments`, map.
    pub arguments: Map,
    /// `origin`, sstr.
    pub origin: Option<Text>,
    /// `msgMatched`, count64.
    pub msg_matched: u64,
}

impl Binding {
    /// The same as values of the schema.
    pub fn into_values(self) -> Values {
        Values {
            class: &BINDING,
            properties: vec![
                Some(Datum::Reference(self.exchange_ref)),
                Some(Datum::Reference(self.queue_ref)),
                Some(Datum::LongText(self.binding_key)),
                Some(Datum::Map(self.arguments)),
                self.origin.map(Datum::ShortText),
            ],
            statistics: vec![Datum::U64(self.msg_matched)],
        }
    }
}

/// Class `subscription`.
pub static SUBSCRIPTION: Class = Class {
    package: "org.apache.qpid.broker",
    name: "subscription",
    hash: [
        0xbc, 0x5a, 0xab, 0xa5, 0x6b, 0x0f, 0x58, 0xa7, 0x3b, 0x40, 0xb3, 0x5e, 0x6e, 0x5c, 0x81,
        0xec,
    ],
    properties: &[
        Property::new("sessionRef", Type::Reference, Access::ReadCreate)
            .index()
            .refers_to("org.apache.qpid.broker", "session"),
        Property::new("queueRef", Type::Reference, Access::ReadCreate)
            .index()
            .refers_to("org.apache.qpid.broker", "queue"),
        Property::new("name", Type::ShortText, Access::ReadCreate).index(),
        Property::new("browsing", Type::Bool, Access::ReadCreate),
        Property::new("acknowledged", Type::Bool, Access::ReadCreate),
        Property::new("exclusive", Type::Bool, Access::ReadCreate),
        Property::new("creditMode", Type::ShortText, Access::ReadOnly).about("WINDOW or CREDIT"),
        Property::new("arguments", Type::Map, Access::ReadCreate),
    ],
    statistics: &[Statistic::new("delivered", Type::U64).unit("message")],
    methods: &[],
};

/// What there is to say of an object of class `subscription`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Subscription {
    /// `sessionRef`, objId.
    pub session_ref: ObjectName,
    /// `queueRef`, objId.
    pub queue_ref: ObjectName,
    /// `name`, sstr.
    pub name: Text,
    /// `browsing`, bool.
    pub browsing: bool,
    /// `acknowledged`, bool.
    pub acknowledged: bool,
    /// `exclusive`, bool.
    pub exclusive: bool,
    /// `creditMode`, sstr. WINDOW or CREDIT.
    pub credit_mode: Text,
    /// `arguments`, map.
    pub arguments: Map,
    /// `delivered`, count64.
    pub delivered: u64,
}

impl Subscription {
    /// The same as values of the schema.
    pub fn into_values(self) -> Values {
        Values {
            class: &SUBSCRIPTION,
            properties: vec![
                Some(Datum::Reference(self.session_ref)),
                Some(Datum::Reference(self.queue_ref)),
                Some(Datum::ShortText(self.name)),
                Some(Datum::Bool(self.browsing)),
                Some(Datum::Bool(self.acknowledged)),
                Some(Datum::Bool(self.exclusive)),
                Some(Datum::ShortText(self.credit_mode)),
                Some(Datum::Map(self.arguments)),
            ],
            statistics: vec![Datum::U64(self.delivered)],
        }
    }
}

/// Class `connection`.
pub static CONNECTION: Class = Class {
    package: "org.apache.qpid.broker",
    name: "connection",
    hash: [
        0x2e, 0xb7, 0x6a, 0x11, 0xeb, 0x1d, 0x62, 0x8b, 0x68, 0x1d, 0x4e, 0xa1, 0xc7, 0x07, 0x5d,
        0xb5,
    ],
    properties: &[
        Property::new("vhostRef", Type::Reference, Access::ReadCreate)
            .index()
            .refers_to("org.apache.qpid.broker", "vhost"),
        Property::new("address", Type::ShortText, Access::ReadCreate).index(),
        Property::new("incoming", Type::Bool, Access::ReadCreate),
        Property::new("SystemConnection", Type::Bool, Access::ReadCreate),
        Property::new("userProxyAuth", Type::Bool, Access::ReadOnly),
        Property::new("federationLink", Type::Bool, Access::ReadOnly),
        Property::new("authIdentity", Type::ShortText, Access::ReadOnly),
        Property::new("remoteProcessName", Type::LongText, Access::ReadOnly).optional(),
        Property::new("remotePid", Type::U32, Access::ReadOnly).optional(),
        Property::new("remoteParentPid", Type::U32, Access::ReadOnly).optional(),
        Property::new("shadow", Type::Bool, Access::ReadOnly)
            .about("Whether another member serves it"),
        Property::new("saslMechanism", Type::ShortText, Access::ReadOnly),
        Property::new("saslSsf", Type::U16, Access::ReadOnly),
        Property::new("remoteProperties", Type::Map, Access::ReadOnly),
        Property::new("protocol", Type::ShortText, Access::ReadCreate),
    ],
    statistics: &[
        Statistic::new("closing", Type::Bool),
        Statistic::new("framesFromClient", Type::U64),
        Statistic::new("framesToClient", Type::U64),
        Statistic::new("bytesFromClient", Type::U64),
        Statistic::new("bytesToClient", Type::U64),
        Statistic::new("msgsFromClient", Type::U64),
        Statistic::new("msgsToClient", Type::U64),
    ],
    methods: &[Method {
        name: "close",
        about: None,
        arguments: &[],
    }],
};

/// What there is to say of an object of class `connection`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Connection {
    /// `vhostRef`, objId.
    pub vhost_ref: ObjectName,
    /// `address`, sstr.
    pub address: Text,
    /// `incoming`, bool.
    pub incoming: bool,
    /// `SystemConnection`, bool.
    pub system_connection: bool,
    /// `userProxyAuth`, bool.
    pub user_proxy_auth: bool,
    /// `federationLink`, bool.
    pub federation_link: bool,
    /// `authIdentity`, sstr.
    pub auth_identity: Text,
    /// `remoteProcessName`, lstr.
    pub remote_process_name: Option<Text>,
    /// `remotePid`, uint32.
    pub remote_pid: Option<u32>,
    /// `remoteParentPid`, uint32.
    pub remote_parent_pid: Option<u32>,
    /// `shadow`, bool. Whether another member serves it.
    pub shadow: bool,
    /// `saslMechanism`, sstr.
    pub sasl_mechanism: Text,
    /// `saslSsf`, uint16.
    pub sasl_ssf: u16,
    /// `remoteProperties`, map.
    pub remote_properties: Map,
    /// `protocol`, sstr.
    pub protocol: Text,
    /// `closing`, bool.
    pub closing: bool,
    /// `framesFromClient`, count64.
    pub frames_from_client: u64,
    /// `framesToClient`, count64.
    pub frames_to_client: u64,
    /// `bytesFromClient`, count64.
    pub bytes_from_client: u64,
    /// `bytesToClient`, count64.
    pub bytes_to_client: u64,
    /// `msgsFromClient`, count64.
    pub msgs_from_client: u64,
    /// `msgsToClient`, count64.
    pub msgs_to_client: u64,
}

impl Connection {
    /// The same as values of the schema.
    pub fn into_values(self) -> Values {
        Values {
            class: &CONNECTION,
            properties: vec![
                Some(Datum::Reference(self.vhost_ref)),
                Some(Datum::ShortText(self.address)),
                Some(Datum::Bool(self.incoming)),
                Some(Datum::Bool(self.system_connection)),
                Some(Datum::Bool(self.user_proxy_auth)),
                Some(Datum::Bool(self.federation_link)),
                Some(Datum::ShortText(self.auth_identity)),
                self.remote_process_name.map(Datum::LongText),
                self.remote_pid.map(Datum::U32),
                self.remote_parent_pid.map(Datum::U32),
                Some(Datum::Bool(self.shadow)),
                Some(Datum::ShortText(self.sasl_mechanism)),
                Some(Datum::U16(self.sasl_ssf)),
                Some(Datum::Map(self.remote_properties)),
                Some(Datum::ShortText(self.protocol)),
            ],
            statistics: vec![
                Datum::Bool(self.closing),
                Datum::U64(self.frames_from_client),
                Datum::U64(self.frames_to_client),
                Datum::U64(self.bytes_from_client),
                Datum::U64(self.bytes_to_client),
                Datum::U64(self.msgs_from_client),
                Datum::U64(self.msgs_to_client),
            ],
        }
    }
}

/// A method of class `connection` with its arguments.
#[derive(Clone, Debug, PartialEq)]
pub enum ConnectionMethod {
    /// `close`.
    Close,
}

impl ConnectionMethod {
    /// The method at `index` of the schema; None unless the arguments are of its types.
    pub(crate) fn from_arguments(index: usize, _arguments: &mut Arguments) -> Option<Self> {
        Some(match index {
            0 => Self::Close,
            _ => return None,
        })
    }
}

/// Class `link`.
pub static LINK: Class = Class {
    package: "org.apache.qpid.broker",
    name: "link",
    hash: [
        0xc9, 0xff, 0x9b, 0xfe, 0xe7, 0x28, 0x0c, 0xe6, 0x1f, 0x4c, 0x7a, 0xc9, 0x69, 0x1c, 0xbd,
        0x2d,
    ],
    properties: &[
        Property::new("vhostRef", Type::Reference, Access::ReadCreate)
            .index()
            .refers_to("org.apache.qpid.broker", "vhost"),
        Property::new("name", Type::ShortText, Access::ReadCreate).index(),
        Property::new("host", Type::ShortText, Access::ReadOnly),
        Property::new("port", Type::U16, Access::ReadOnly),
        Property::new("transport", Type::ShortText, Access::ReadOnly),
        Property::new("durable", Type::Bool, Access::ReadCreate),
        Property::new("connectionRef", Type::Reference, Access::ReadOnly)
            .refers_to("org.apache.qpid.broker", "connection"),
    ],
    statistics: &[
        Statistic::new("state", Type::ShortText),
        Statistic::new("lastError", Type::LongText),
    ],
    methods: &[
        Method {
            name: "close",
            about: None,
            arguments: &[],
        },
        Method {
            name: "bridge",
            about: None,
            arguments: &[
                Argument::given("durable", Type::Bool),
                Argument::given("src", Type::ShortText),
                Argument::given("dest", Type::ShortText),
                Argument::given("key", Type::LongText),
                Argument::given("tag", Type::ShortText),
                Argument::given("excludes", Type::ShortText),
                Argument::given("srcIsQueue", Type::Bool),
                Argument::given("srcIsLocal", Type::Bool),
                Argument::given("dynamic", Type::Bool),
                Argument::given("sync", Type::U16),
                Argument::given("credit", Type::U32).default("0xFFFFFFFF"),
            ],
        },
    ],
};

/// What there is to say of an object of class `link`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Link {
    /// `vhostRef`, objId.
    pub vhost_ref: ObjectName,
    /// `name`, sstr.
    pub name: Text,
    /// `host`, sstr.
    pub host: Text,
    /// `port`, uint16.
    pub port: u16,
    /// `transport`, sstr.
    pub transport: Text,
    /// `durable`, bool.
    pub durable: bool,
    /// `connectionRef`, objId.
    pub connection_ref: ObjectName,
    /// `state`, sstr.
    pub state: Text,
    /// `lastError`, lstr.
    pub last_error: Text,
}

impl Link {
    /// The same as values of the schema.
    pub fn into_values(self) -> Values {
        Values {
            class: &LINK,
            properties: vec![
                Some(Datum::Reference(self.vhost_ref)),
                Some(Datum::ShortText(self.name)),
                Some(Datum::ShortText(self.host)),
                Some(Datum::U16(self.port)),
                Some(Datum::ShortText(self.transport)),
                Some(Datum::Bool(self.durable)),
                Some(Datum::Reference(self.connection_ref)),
            ],
            statistics: vec![
                Datum::ShortText(self.state),
                Datum::LongText(self.last_error),
            ],
        }
    }
}

/// A method of class `link` with its arguments.
#[derive(Clone, Debug, PartialEq)]
pub enum LinkMethod {
    /// `close`.
    Close,
    /// `bridge`.
    Bridge {
        /// `durable`, bool.
        durable: bool,
        /// `src`, sstr.
        src: Text,
        /// `dest`, sstr.
        dest: Text,
        /// `key`, lstr.
        key: Text,
        /// `tag`, sstr.
        tag: Text,
        /// `excludes`, sstr.
        excludes: Text,
        /// `srcIsQueue`, bool.
        src_is_queue: bool,
        /// `srcIsLocal`, bool.
        src_is_local: bool,
        /// `dynamic`, bool.
        dynamic: bool,
        /// `sync`, uint16.
        sync: u16,
        /// `credit`, uint32.
        credit: u32,
    },
}

impl LinkMethod {
    /// The method at `index` of the schema; None unless the arguments are of its types.
    pub(crate) fn from_arguments(index: usize, arguments: &mut Arguments) -> Option<Self> {
        Some(match index {
            0 => Self::Close,
            1 => Self::Bridge {
                durable: arguments.take()?,
                src: arguments.take()?,
                dest: arguments.take()?,
                key: arguments.take()?,
                tag: arguments.take()?,
                excludes: arguments.take()?,
                src_is_queue: arguments.take()?,
                src_is_local: arguments.take()?,
                dynamic: arguments.take()?,
                sync: arguments.take()?,
                credit: arguments.take()?,
            },
            _ => return None,
        })
    }
}

/// Class `bridge`.
pub static BRIDGE: Class = Class {
    package: "org.apache.qpid.broker",
    name: "bridge",
    hash: [
        0xcb, 0x28, 0x80, 0x81, 0xfe, 0xaa, 0xcc, 0x23, 0x65, 0x6a, 0x5b, 0x75, 0x95, 0xbb, 0x13,
        0x83,
    ],
    properties: &[
        Property::new("linkRef", Type::Reference, Access::ReadCreate)
            .index()
            .refers_to("org.apache.qpid.broker", "link"),
        Property::new("name", Type::ShortText, Access::ReadCreate).index(),
        Property::new("channelId", Type::U16, Access::ReadOnly),
        Property::new("durable", Type::Bool, Access::ReadCreate),
        Property::new("src", Type::ShortText, Access::ReadCreate),
        Property::new("dest", Type::ShortText, Access::ReadCreate),
        Property::new("key", Type::LongText, Access::ReadCreate),
        Property::new("srcIsQueue", Type::Bool, Access::ReadCreate),
        Property::new("srcIsLocal", Type::Bool, Access::ReadCreate),
        Property::new("tag", Type::ShortText, Access::ReadCreate),
        Property::new("excludes", Type::ShortText, Access::ReadCreate),
        Property::new("dynamic", Type::Bool, Access::ReadCreate),
        Property::new("sync", Type::U16, Access::ReadCreate),
        Property::new("credit", Type::U32, Access::ReadCreate),
    ],
    statistics: &[],
    methods: &[Method {
        name: "close",
        about: None,
        arguments: &[],
    }],
};

/// What there is to say of an object of class `bridge`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bridge {
    /// `linkRef`, objId.
    pub link_ref: ObjectName,
    /// `name`, sstr.
    pub name: Text,
    /// `channelId`, uint16.
    pub channel_id: u16,
    /// `durable`, bool.
    pub durable: bool,
    /// `src`, sstr.
    pub src: Text,
    /// `dest`, sstr.
    pub dest: Text,
    /// `key`, lstr.
    pub key: Text,
    /// `srcIsQueue`, bool.
    pub src_is_queue: bool,
    /// `srcIsLocal`, bool.
    pub src_is_local: bool,
    /// `tag`, sstr.
    pub tag: Text,
    /// `excludes`, sstr.
    pub excludes: Text,
    /// `dynamic`, bool.
    pub dynamic: bool,
    /// `sync`, uint16.
    pub sync: u16,
    /// `credit`, uint32.
    pub credit: u32,
}

impl Bridge {
    /// The same as values of the schema.
    pub fn into_values(self) -> Values {
        Values {
            class: &BRIDGE,
            properties: vec![
                Some(Datum::Reference(self.link_ref)),
                Some(Datum::ShortText(self.name)),
                Some(Datum::U16(self.channel_id)),
                Some(Datum::Bool(self.durable)),
                Some(Datum::ShortText(self.src)),
                Some(Datum::ShortText(self.dest)),
                Some(Datum::LongText(self.key)),
                Some(Datum::Bool(self.src_is_queue)),
                Some(Datum::Bool(self.src_is_local)),
                Some(Datum::ShortText(self.tag)),
                Some(Datum::ShortText(self.excludes)),
                Some(Datum::Bool(self.dynamic)),
                Some(Datum::U16(self.sync)),
                Some(Datum::U32(self.credit)),
            ],
            statistics: vec![],
        }
    }
}

/// A method of class `bridge` with its arguments.
#[derive(Clone, Debug, PartialEq)]
pub enum BridgeMethod {
    /// `close`.
    Close,
}

impl BridgeMethod {
    /// The method at `index` of the schema; None unless the arguments are of its types.
    pub(crate) fn from_arguments(index: usize, _arguments: &mut Arguments) -> Option<Self> {
        Some(match index {
            0 => Self::Close,
            _ => return None,
        })
    }
}

/// Class `session`.
pub static SESSION: Class = Class {
    package: "org.apache.qpid.broker",
    name: "session",
    hash: [
        0x8e, 0x3b, 0x71, 0x7b, 0xd6, 0xb0, 0x18, 0x2e, 0xea, 0xc7, 0xc1, 0xb8, 0x9b, 0x27, 0xae,
        0x7d,
    ],
    properties: &[
        Property::new("vhostRef", Type::Reference, Access::ReadCreate)
            .index()
            .refers_to("org.apache.qpid.broker", "vhost"),
        Property::new("name", Type::ShortText, Access::ReadCreate).index(),
        Property::new("fullName", Type::LongText, Access::ReadOnly).optional(),
        Property::new("channelId", Type::U16, Access::ReadOnly),
        Property::new("connectionRef", Type::Reference, Access::ReadOnly)
            .refers_to("org.apache.qpid.broker", "connection"),
        Property::new("detachedLifespan", Type::U32, Access::ReadOnly).unit("second"),
        Property::new("attached", Type::Bool, Access::ReadOnly),
        Property::new("expireTime", Type::AbsTime, Access::ReadOnly).optional(),
        Property::new("maxClientRate", Type::U32, Access::ReadOnly)
            .optional()
            .unit("msgs/sec"),
    ],
    statistics: &[
        Statistic::new("unackedMessages", Type::U64).unit("message"),
        Statistic::new("TxnStarts", Type::U64).unit("transaction"),
        Statistic::new("TxnCommits", Type::U64).unit("transaction"),
        Statistic::new("TxnRejects", Type::U64).unit("transaction"),
        Statistic::new("TxnCount", Type::U32).unit("transaction"),
        Statistic::new("clientCredit", Type::U32).unit("message"),
        Statistic::new("framesOutstanding", Type::U32),
    ],
    methods: &[
        Method {
            name: "solicitAck",
            about: None,
            arguments: &[],
        },
        Method {
            name: "detach",
            about: None,
            arguments: &[],
        },
        Method {
            name: "resetLifespan",
            about: None,
            arguments: &[],
        },
        Method {
            name: "close",
            about: None,
            arguments: &[],
        },
    ],
};

/// What there is to say of an object of class `session`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Session {
    /// `vhostRef`, objId.
    pub vhost_ref: ObjectName,
    /// `name`, sstr.
    pub name: Text,
    /// `fullName`, lstr.
    pub full_name: Option<Text>,
    /// `channelId`, uint16.
    pub channel_id: u16,
    /// `connectionRef`, objId.
    pub connection_ref: ObjectName,
    /// `detachedLifespan`, uint32.
    pub detached_lifespan: u32,
    /// `attached`, bool.
    pub attached: bool,
    /// `expireTime`, absTime.
    pub expire_time: Option<i64>,
    /// `maxClientRate`, uint32.
    pub max_client_rate: Option<u32>,
    /// `unackedMessages`, uint64.
    pub unacked_messages: u64,
    /// `TxnStarts`, count64.
    pub txn_starts: u64,
    /// `TxnCommits`, count64.
    pub txn_commits: u64,
    /// `TxnRejects`, count64.
    pub txn_rejects: u64,
    /// `TxnCount`, count32.
    pub txn_count: u32,
    /// `clientCredit`, count32.
    pub client_credit: u32,
    /// `framesOutstanding`, count32.
    pub frames_outstanding: u32,
}

impl Session {
    /// The same as values of the schema.
    pub fn into_values(self) -> Values {
        Values {
            class: &SESSION,
            properties: vec![
                Some(Datum::Reference(self.vhost_ref)),
                Some(Datum::ShortText(self.name)),
                self.full_name.map(Datum::LongText),
                Some(Datum::U16(self.channel_id)),
                Some(Datum::Reference(self.connection_ref)),
                Some(Datum::U32(self.detached_lifespan)),
                Some(Datum::Bool(self.attached)),
                self.expire_time.map(Datum::AbsTime),
                self.max_client_rate.map(Datum::U32),
            ],
            statistics: vec![
                Datum::U64(self.unacked_messages),
                Datum::U64(self.txn_starts),
                Datum::U64(self.txn_commits),
                Datum::U64(self.txn_rejects),
                Datum::U32(self.txn_count),
                Datum::U32(self.client_credit),
                Datum::U32(self.frames_outstanding),
            ],
        }
    }
}

/// A method of class `session` with its arguments.
#[derive(Clone, Debug, PartialEq)]
pub enum SessionMethod {
    /// `solicitAck`.
    SolicitAck,
    /// `detach`.
    Detach,
    /// `resetLifespan`.
    ResetLifespan,
    /// `close`.
    Close,
}

impl SessionMethod {
    /// The method at `index` of the schema; None unless the arguments are of its types.
    pub(crate) fn from_arguments(index: usize, _arguments: &mut Arguments) -> Option<Self> {
        Some(match index {
            0 => Self::SolicitAck,
            1 => Self::Detach,
            2 => Self::ResetLifespan,
            3 => Self::Close,
            _ => return None,
        })
    }
}

/// Class `incoming`.
pub static INCOMING: Class = Class {
    package: "org.apache.qpid.broker",
    name: "incoming",
    hash: [
        0xc4, 0x3b, 0x89, 0xe4, 0x7c, 0x8e, 0x0f, 0x31, 0xc7, 0x09, 0xa7, 0x03, 0x52, 0x6c, 0x86,
        0xab,
    ],
    properties: &[
        Property::new("sessionRef", Type::Reference, Access::ReadOnly)
            .refers_to("org.apache.qpid.broker", "session"),
        Property::new("containerid", Type::ShortText, Access::ReadCreate).index(),
        Property::new("name", Type::ShortText, Access::ReadCreate).index(),
        Property::new("source", Type::ShortText, Access::ReadOnly),
        Property::new("target", Type::ShortText, Access::ReadOnly),
        Property::new("domain", Type::ShortText, Access::ReadOnly),
    ],
    statistics: &[Statistic::new("transfers", Type::U64)],
    methods: &[],
};

/// What there is to say of an object of class `incoming`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Incoming {
    /// `sessionRef`, objId.
    pub session_ref: ObjectName,
    /// `containerid`, sstr.
    pub containerid: Text,
    /// `name`, sstr.
    pub name: Text,
    /// `source`, sstr.
    pub source: Text,
    /// `target`, sstr.
    pub target: Text,
    /// `domain`, sstr.
    pub domain: Text,
    /// `transfers`, count64.
    pub transfers: u64,
}

impl Incoming {
    /// The same as values of the schema.
    pub fn into_values(self) -> Values {
        Values {
            class: &INCOMING,
            properties: vec![
                Some(Datum::Reference(self.session_ref)),
                Some(Datum::ShortText(self.containerid)),
                Some(Datum::ShortText(self.name)),
                Some(Datum::ShortText(self.source)),
                Some(Datum::ShortText(self.target)),
                Some(Datum::ShortText(self.domain)),
            ],
            statistics: vec![Datum::U64(self.transfers)],
        }
    }
}

/// Class `outgoing`.
pub static OUTGOING: Class = Class {
    package: "org.apache.qpid.broker",
    name: "outgoing",
    hash: [
        0x6e, 0xd9, 0x63, 0x1c, 0xcc, 0xc2, 0xee, 0x83, 0xe9, 0x3f, 0xff, 0xf8, 0xc9, 0x5f, 0xb9,
        0x53,
    ],
    properties: &[
        Property::new("sessionRef", Type::Reference, Access::ReadOnly)
            .refers_to("org.apache.qpid.broker", "session"),
        Property::new("containerid", Type::ShortText, Access::ReadCreate).index(),
        Property::new("name", Type::ShortText, Access::ReadCreate).index(),
        Property::new("source", Type::ShortText, Access::ReadOnly),
        Property::new("target", Type::ShortText, Access::ReadOnly),
        Property::new("domain", Type::ShortText, Access::ReadOnly),
    ],
    statistics: &[Statistic::new("transfers", Type::U64)],
    methods: &[],
};

/// What there is to say of an object of class `outgoing`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outgoing {
    /// `sessionRef`, objId.
    pub session_ref: ObjectName,
    /// `containerid`, sstr.
    pub containerid: Text,
    /// `name`, sstr.
    pub name: Text,
    /// `source`, sstr.
    pub source: Text,
    /// `target`, sstr.
    pub target: Text,
    /// `domain`, sstr.
    pub domain: Text,
    /// `transfers`, count64.
    pub transfers: u64,
}

impl Outgoing {
    /// The same as values of the schema.
    pub fn into_values(self) -> Values {
        Values {
            class: &OUTGOING,
            properties: vec![
                Some(Datum::Reference(self.session_ref)),
                Some(Datum::ShortText(self.containerid)),
                Some(Datum::ShortText(self.name)),
                Some(Datum::ShortText(self.source)),
                Some(Datum::ShortText(self.target)),
                Some(Datum::ShortText(self.domain)),
            ],
            statistics: vec![Datum::U64(self.transfers)],
        }
    }
}

/// Class `domain`.
pub static DOMAIN: Class = Class {
    package: "org.apache.qpid.broker",
    name: "domain",
    hash: [
        0x6e, 0xc1, 0x0a, 0x91, 0x09, 0xd0, 0xcd, 0xbf, 0x9d, 0x9d, 0xe3, 0xe3, 0x23, 0x03, 0x1c,
        0x17,
    ],
    properties: &[
        Property::new("name", Type::ShortText, Access::ReadCreate).index(),
        Property::new("durable", Type::Bool, Access::ReadCreate),
        Property::new("url", Type::ShortText, Access::ReadOnly),
        Property::new("mechanisms", Type::ShortText, Access::ReadOnly),
        Property::new("username", Type::ShortText, Access::ReadOnly),
        Property::new("password", Type::ShortText, Access::ReadOnly),
    ],
    statistics: &[],
    methods: &[],
};

/// What there is to say of an object of class `domain`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Domain {
    /// `name`, sstr.
    pub name: Text,
    /// `durable`, bool.
    pub durable: bool,
    /// `url`, sstr.
    pub url: Text,
    /// `mechanisms`, sstr.
    pub mechanisms: Text,
    /// `username`, sstr.
    pub username: Text,
    /// `password`, sstr.
    pub password: Text,
}

impl Domain {
    /// The same as values of the schema.
    pub fn into_values(self) -> Values {
        Values {
            class: &DOMAIN,
            properties: vec![
                Some(Datum::ShortText(self.name)),
                Some(Datum::Bool(self.durable)),
                Some(Datum::ShortText(self.url)),
                Some(Datum::ShortText(self.mechanisms)),
                Some(Datum::ShortText(self.username)),
                Some(Datum::ShortText(self.password)),
            ],
            statistics: vec![],
        }
    }
}

/// Class `topic`.
pub static TOPIC: Class = Class {
    package: "org.apache.qpid.broker",
    name: "topic",
    hash: [
        0xfd, 0xc1, 0x55, 0x1b, 0xf3, 0x6b, 0x75, 0x6f, 0x76, 0x6e, 0x28, 0x72, 0xcb, 0x3c, 0xff,
        0xf7,
    ],
    properties: &[
        Property::new("name", Type::ShortText, Access::ReadCreate).index(),
        Property::new("exchangeRef", Type::Reference, Access::ReadOnly)
            .refers_to("org.apache.qpid.broker", "exchange"),
        Property::new("durable", Type::Bool, Access::ReadCreate),
        Property::new("properties", Type::Map, Access::ReadOnly),
    ],
    statistics: &[],
    methods: &[],
};

/// What there is to say of an object of class `topic`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Topic {
    /// `name`, sstr.
    pub name: Text,
    /// `exchangeRef`, objId.
    pub exchange_ref: ObjectName,
    /// `durable`, bool.
    pub durable: bool,
    /// `properties`, map.
    pub properties: Map,
}

impl Topic {
    /// The same as values of the schema.
    pub fn into_values(self) -> Values {
        Values {
            class: &TOPIC,
            properties: vec![
                Some(Datum::ShortText(self.name)),
                Some(Datum::Reference(self.exchange_ref)),
                Some(Datum::Bool(self.durable)),
                Some(Datum::Map(self.properties)),
            ],
            statistics: vec![],
        }
    }
}

/// Class `queuePolicy`.
pub static QUEUE_POLICY: Class = Class {
    package: "org.apache.qpid.broker",
    name: "queuePolicy",
    hash: [
        0x7b, 0xd1, 0x1b, 0xe7, 0x0d, 0x6b, 0x88, 0xea, 0x06, 0x6f, 0x0c, 0x4f, 0xf5, 0xc8, 0x0b,
        0x52,
    ],
    properties: &[
        Property::new("name", Type::ShortText, Access::ReadCreate).index(),
        Property::new("properties", Type::Map, Access::ReadOnly),
    ],
    statistics: &[],
    methods: &[],
};

/// What there is to say of an object of class `queuePolicy`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct QueuePolicy {
    /// `name`, sstr.
    pub name: Text,
    /// `properties`, map.
    pub properties: Map,
}

impl QueuePolicy {
    /// The same as values of the schema.
    pub fn into_values(self) -> Values {
        Values {
            class: &QUEUE_POLICY,
            properties: vec![
                Some(Datum::ShortText(self.name)),
                Some(Datum::Map(self.properties)),
            ],
            statistics: vec![],
        }
    }
}

/// Class `topicPolicy`.
pub static TOPIC_POLICY: Class = Class {
    package: "org.apache.qpid.broker",
    name: "topicPolicy",
    hash: [
        0x1c, 0x91, 0x17, 0x78, 0xb0, 0x50, 0xd2, 0xea, 0x14, 0x0e, 0x8f, 0x80, 0x7e, 0x7f, 0xc5,
        0xc3,
    ],
    properties: &[
        Property::new("name", Type::ShortText, Access::ReadCreate).index(),
        Property::new("properties", Type::Map, Access::ReadOnly),
    ],
    statistics: &[],
    methods: &[],
};

/// What there is to say of an object of class `topicPolicy`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TopicPolicy {
    /// `name`, sstr.
    pub name: Text,
    /// `properties`, map.
    pub properties: Map,
}

impl TopicPolicy {
    /// The same as values of the schema.
    pub fn into_values(self) -> Values {
        Values {
            class: &TOPIC_POLICY,
            properties: vec![
                Some(Datum::ShortText(self.name)),
                Some(Datum::Map(self.properties)),
            ],
            statistics: vec![],
        }
    }
}

/// Class `managementSetupState`.
pub static MANAGEMENT_SETUP_STATE: Class = Class {
    package: "org.apache.qpid.broker",
    name: "managementSetupState",
    hash: [
        0xe0, 0xe5, 0x69, 0x40, 0x0c, 0x10, 0x84, 0x03, 0x0e, 0xf3, 0x3e, 0xcf, 0x72, 0x25, 0xc5,
        0x18,
    ],
    properties: &[
        Property::new("objectNum", Type::U64, Access::ReadOnly),
        Property::new("bootSequence", Type::U16, Access::ReadOnly),
    ],
    statistics: &[],
    methods: &[],
};

/// What there is to say of an object of class `managementSetupState`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ManagementSetupState {
    /// `objectNum`, uint64.
    pub object_num: u64,
    /// `bootSequence`, uint16.
    pub boot_sequence: u16,
}

impl ManagementSetupState {
    /// The same as values of the schema.
    pub fn into_values(self) -> Values {
        Values {
            class: &MANAGEMENT_SETUP_STATE,
            properties: vec![
                Some(Datum::U64(self.object_num)),
                Some(Datum::U16(self.boot_sequence)),
            ],
            statistics: vec![],
        }
    }
}

/// Event `clientConnect`.
pub static CLIENT_CONNECT_EVENT: EventClass = EventClass {
    package: "org.apache.qpid.broker",
    name: "clientConnect",
    hash: [
        0xcd, 0xfa, 0xc7, 0x8c, 0xf3, 0xdb, 0x5a, 0xd7, 0x79, 0x74, 0x7b, 0x18, 0xae, 0x7e, 0xf4,
        0x04,
    ],
    severity: Severity::Informational,
    arguments: &[
        Argument::given("rhost", Type::ShortText),
        Argument::given("user", Type::ShortText),
        Argument::given("properties", Type::Map),
    ],
};

/// What there is to say of an event `clientConnect`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ClientConnect {
    /// `rhost`, sstr.
    pub rhost: Text,
    /// `user`, sstr.
    pub user: Text,
    /// `properties`, map.
    pub properties: Map,
}

impl ClientConnect {
    /// The same as an event.
    pub fn into_event(self) -> Event {
        Event {
            class: &CLIENT_CONNECT_EVENT,
            arguments: vec![
                Datum::ShortText(self.rhost),
                Datum::ShortText(self.user),
                Datum::Map(self.properties),
            ],
        }
    }
}

/// Event `clientConnectFail`.
pub static CLIENT_CONNECT_FAIL_EVENT: EventClass = EventClass {
    package: "org.apache.qpid.broker",
    name: "clientConnectFail",
    hash: [
        0x7e, 0x36, 0x0e, 0xab, 0x54, 0x13, 0x7d, 0x23, 0x0e, 0x11, 0xa2, 0xd4, 0x28, 0x85, 0x00,
        0xb9,
    ],
    severity: Severity::Warning,
    arguments: &[
        Argument::given("rhost", Type::ShortText),
        Argument::given("user", Type::ShortText),
        Argument::given("reason", Type::LongText),
        Argument::given("properties", Type::Map),
    ],
};

/// What there is to say of an event `clientConnectFail`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ClientConnectFail {
    /// `rhost`, sstr.
    pub rhost: Text,
    /// `user`, sstr.
    pub user: Text,
    /// `reason`, lstr.
    pub reason: Text,
    /// `properties`, map.
    pub properties: Map,
}

impl ClientConnectFail {
    /// The same as an event.
    pub fn into_event(self) -> Event {
        Event {
            class: &CLIENT_CONNECT_FAIL_EVENT,
            arguments: vec![
                Datum::ShortText(self.rhost),
                Datum::ShortText(self.user),
                Datum::LongText(self.reason),
                Datum::Map(self.properties),
            ],
        }
    }
}

/// Event `clientDisconnect`.
pub static CLIENT_DISCONNECT_EVENT: EventClass = EventClass {
    package: "org.apache.qpid.broker",
    name: "clientDisconnect",
    hash: [
        0xfd, 0x66, 0x57, 0x4e, 0xb4, 0xc2, 0x84, 0x58, 0x62, 0xe9, 0x95, 0x79, 0x36, 0x87, 0xd2,
        0x51,
    ],
    severity: Severity::Informational,
    arguments: &[
        Argument::given("rhost", Type::ShortText),
        Argument::given("user", Type::ShortText),
        Argument::given("properties", Type::Map),
    ],
};

/// What there is to say of an event `clientDisconnect`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ClientDisconnect {
    /// `rhost`, sstr.
    pub rhost: Text,
    /// `user`, sstr.
    pub user: Text,
    /// `properties`, map.
    pub properties: Map,
}

impl ClientDisconnect {
    /// The same as an event.
    pub fn into_event(self) -> Event {
        Event {
            class: &CLIENT_DISCONNECT_EVENT,
            arguments: vec![
                Datum::ShortText(self.rhost),
                Datum::ShortText(self.user),
                Datum::Map(self.properties),
            ],
        }
    }
}

/// Event `brokerLinkUp`.
pub static BROKER_LINK_UP_EVENT: EventClass = EventClass {
    package: "org.apache.qpid.broker",
    name: "brokerLinkUp",
    hash: [
        0x19, 0x50, 0x59, 0x1d, 0x9f, 0xfa, 0x9f, 0x74, 0xac, 0x30, 0x7b, 0x6d, 0x0d, 0xfe, 0xc7,
        0x16,
    ],
    severity: Severity::Informational,
    arguments: &[Argument::given("rhost", Type::ShortText)],
};

/// What there is to say of an event `brokerLinkUp`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BrokerLinkUp {
    /// `rhost`, sstr.
    pub rhost: Text,
}

impl BrokerLinkUp {
    /// The same as an event.
    pub fn into_event(self) -> Event {
        Event {
            class: &BROKER_LINK_UP_EVENT,
            arguments: vec![Datum::ShortText(self.rhost)],
        }
    }
}

/// Event `brokerLinkDown`.
pub static BROKER_LINK_DOWN_EVENT: EventClass = EventClass {
    package: "org.apache.qpid.broker",
    name: "brokerLinkDown",
    hash: [
        0xbe, 0xd7, 0x9d, 0x13, 0x96, 0x79, 0xf3, 0xdb, 0x2e, 0x64, 0x36, 0x13, 0x30, 0x94, 0x5b,
        0xc9,
    ],
    severity: Severity::Warning,
    arguments: &[Argument::given("rhost", Type::ShortText)],
};

/// What there is to say of an event `brokerLinkDown`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BrokerLinkDown {
    /// `rhost`, sstr.
    pub rhost: Text,
}

impl BrokerLinkDown {
    /// The same as an event.
    pub fn into_event(self) -> Event {
        Event {
            class: &BROKER_LINK_DOWN_EVENT,
            arguments: vec![Datum::ShortText(self.rhost)],
        }
    }
}

/// Event `queueDeclare`.
pub static QUEUE_DECLARE_EVENT: EventClass = EventClass {
    package: "org.apache.qpid.broker",
    name: "queueDeclare",
    hash: [
        0xe1, 0x1d, 0x86, 0x77, 0xef, 0xe1, 0x93, 0x95, 0x0b, 0x11, 0x79, 0xd2, 0x66, 0xca, 0x86,
        0xd0,
    ],
    severity: Severity::Informational,
    arguments: &[
        Argument::given("rhost", Type::ShortText),
        Argument::given("user", Type::ShortText),
        Argument::given("qName", Type::ShortText),
        Argument::given("durable", Type::Bool),
        Argument::given("excl", Type::Bool),
        Argument::given("autoDel", Type::Bool),
        Argument::given("altEx", Type::ShortText),
        Argument::given("args", Type::Map),
        Argument::given("disp", Type::ShortText),
    ],
};

/// What there is to say of an event `queueDeclare`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct QueueDeclare {
    /// `rhost`, sstr.
    pub rhost: Text,
    /// `user`, sstr.
    pub user: Text,
    /// `qName`, sstr.
    pub q_name: Text,
    /// `durable`, bool.
    pub durable: bool,
    /// `excl`, bool.
    pub excl: bool,
    /// `autoDel`, bool.
    pub auto_del: bool,
    /// `altEx`, sstr.
    pub alt_ex: Text,
    /// `args`, map.
    pub args: Map,
    /// `disp`, sstr.
    pub disp: Text,
}

impl QueueDeclare {
    /// The same as an event.
    pub fn into_event(self) -> Event {
        Event {
            class: &QUEUE_DECLARE_EVENT,
            arguments: vec![
                Datum::ShortText(self.rhost),
                Datum::ShortText(self.user),
                Datum::ShortText(self.q_name),
                Datum::Bool(self.durable),
                Datum::Bool(self.excl),
                Datum::Bool(self.auto_del),
                Datum::ShortText(self.alt_ex),
                Datum::Map(self.args),
                Datum::ShortText(self.disp),
            ],
        }
    }
}

/// Event `queueDelete`.
pub static QUEUE_DELETE_EVENT: EventClass = EventClass {
    package: "org.apache.qpid.broker",
    name: "queueDelete",
    hash: [
        0xd3, 0x29, 0x69, 0x7d, 0x42, 0xe6, 0xe6, 0xfd, 0x11, 0x43, 0xf2, 0x7d, 0xa3, 0x17, 0x5e,
        0x50,
    ],
    severity: Severity::Informational,
    arguments: &[
        Argument::given("rhost", Type::ShortText),
        Argument::given("user", Type::ShortText),
        Argument::given("qName", Type::ShortText),
    ],
};

/// What there is to say of an event `queueDelete`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct QueueDelete {
    /// `rhost`, sstr.
    pub rhost: Text,
    /// `user`, sstr.
    pub user: Text,
    /// `qName`, sstr.
    pub q_name: Text,
}

impl QueueDelete {
    /// The same as an event.
    pub fn into_event(self) -> Event {
        Event {
            class: &QUEUE_DELETE_EVENT,
            arguments: vec![
                Datum::ShortText(self.rhost),
                Datum::ShortText(self.user),
                Datum::ShortText(self.q_name),
            ],
        }
    }
}

/// Event `exchangeDeclare`.
pub static EXCHANGE_DECLARE_EVENT: EventClass = EventClass {
    package: "org.apache.qpid.broker",
    name: "exchangeDeclare",
    hash: [
        0xe3, 0x1a, 0xfb, 0x30, 0x68, 0xc6, 0xde, 0x67, 0x1d, 0xd6, 0xcc, 0x54, 0xe2, 0x82, 0x2f,
        0xaf,
    ],
    severity: Severity::Informational,
    arguments: &[
        Argument::given("rhost", Type::ShortText),
        Argument::given("user", Type::ShortText),
        Argument::given("exName", Type::ShortText),
        Argument::given("exType", Type::ShortText),
        Argument::given("altEx", Type::ShortText),
        Argument::given("durable", Type::Bool),
        Argument::given("autoDel", Type::Bool),
        Argument::given("args", Type::Map),
        Argument::given("disp", Type::ShortText),
    ],
};

/// What there is to say of an event `exchangeDeclare`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ExchangeDeclare {
    /// `rhost`, sstr.
    pub rhost: Text,
    /// `user`, sstr.
    pub user: Text,
    /// `exName`, sstr.
    pub ex_name: Text,
    /// `exType`, sstr.
    pub ex_type: Text,
    /// `altEx`, sstr.
    pub alt_ex: Text,
    /// `durable`, bool.
    pub durable: bool,
    /// `autoDel`, bool.
    pub auto_del: bool,
    /// `args`, map.
    pub args: Map,
    /// `disp`, sstr.
    pub disp: Text,
}

impl ExchangeDeclare {
    /// The same as an event.
    pub fn into_event(self) -> Event {
        Event {
            class: &EXCHANGE_DECLARE_EVENT,
            arguments: vec![
                Datum::ShortText(self.rhost),
                Datum::ShortText(self.user),
                Datum::ShortText(self.ex_name),
                Datum::ShortText(self.ex_type),
                Datum::ShortText(self.alt_ex),
                Datum::Bool(self.durable),
                Datum::Bool(self.auto_del),
                Datum::Map(self.args),
                Datum::ShortText(self.disp),
            ],
        }
    }
}

/// Event `exchangeDelete`.
pub static EXCHANGE_DELETE_EVENT: EventClass = EventClass {
    package: "org.apache.qpid.broker",
    name: "exchangeDelete",
    hash: [
        0xb2, 0x7f, 0x31, 0x21, 0xca, 0xfb, 0x70, 0x05, 0x1e, 0x81, 0x9b, 0xe8, 0xd0, 0xdd, 0x0e,
        0x08,
    ],
    severity: Severity::Informational,
    arguments: &[
        Argument::given("rhost", Type::ShortText),
        Argument::given("user", Type::ShortText),
        Argument::given("exName", Type::ShortText),
    ],
};

/// What there is to say of an event `exchangeDelete`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ExchangeDelete {
    /// `rhost`, sstr.
    pub rhost: Text,
    /// `user`, sstr.
    pub user: Text,
    /// `exName`, sstr.
    pub ex_name: Text,
}

impl ExchangeDelete {
    /// The same as an event.
    pub fn into_event(self) -> Event {
        Event {
            class: &EXCHANGE_DELETE_EVENT,
            arguments: vec![
                Datum::ShortText(self.rhost),
                Datum::ShortText(self.user),
                Datum::ShortText(self.ex_name),
            ],
        }
    }
}

/// Event `bind`.
pub static BIND_EVENT: EventClass = EventClass {
    package: "org.apache.qpid.broker",
    name: "bind",
    hash: [
        0x29, 0x57, 0x2d, 0x99, 0x82, 0xd2, 0x7a, 0x2f, 0x22, 0xe0, 0x7d, 0x58, 0x96, 0xf0, 0xb7,
        0xc7,
    ],
    severity: Severity::Informational,
    arguments: &[
        Argument::given("rhost", Type::ShortText),
        Argument::given("user", Type::ShortText),
        Argument::given("exName", Type::ShortText),
        Argument::given("qName", Type::ShortText),
        Argument::given("key", Type::LongText),
        Argument::given("args", Type::Map),
    ],
};

/// What there is to say of an event `bind`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bind {
    /// `rhost`, sstr.
    pub rhost: Text,
    /// `user`, sstr.
    pub user: Text,
    /// `exName`, sstr.
    pub ex_name: Text,
    /// `qName`, sstr.
    pub q_name: Text,
    /// `key`, lstr.
    pub key: Text,
    /// `args`, map.
    pub args: Map,
}

impl Bind {
    /// The same as an event.
    pub fn into_event(self) -> Event {
        Event {
            class: &BIND_EVENT,
            arguments: vec![
                Datum::ShortText(self.rhost),
                Datum::ShortText(self.user),
                Datum::ShortText(self.ex_name),
                Datum::ShortText(self.q_name),
                Datum::LongText(self.key),
                Datum::Map(self.args),
            ],
        }
    }
}

/// Event `unbind`.
pub static UNBIND_EVENT: EventClass = EventClass {
    package: "org.apache.qpid.broker",
    name: "unbind",
    hash: [
        0x9b, 0x17, 0x88, 0x29, 0xc5, 0x89, 0x86, 0x79, 0xe4, 0x46, 0x5b, 0x4c, 0x87, 0xbb, 0xe4,
        0x47,
    ],
    severity: Severity::Informational,
    arguments: &[
        Argument::given("rhost", Type::ShortText),
        Argument::given("user", Type::ShortText),
        Argument::given("exName", Type::ShortText),
        Argument::given("qName", Type::ShortText),
        Argument::given("key", Type::LongText),
    ],
};

/// What there is to say of an event `unbind`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Unbind {
    /// `rhost`, sstr.
    pub rhost: Text,
    /// `user`, sstr.
    pub user: Text,
    /// `exName`, sstr.
    pub ex_name: Text,
    /// `qName`, sstr.
    pub q_name: Text,
    /// `key`, lstr.
    pub key: Text,
}

impl Unbind {
    /// The same as an event.
    pub fn into_event(self) -> Event {
        Event {
            class: &UNBIND_EVENT,
            arguments: vec![
                Datum::ShortText(self.rhost),
                Datum::ShortText(self.user),
                Datum::ShortText(self.ex_name),
                Datum::ShortText(self.q_name),
                Datum::LongText(self.key),
            ],
        }
    }
}

/// Event `subscribe`.
pub static SUBSCRIBE_EVENT: EventClass = EventClass {
    package: "org.apache.qpid.broker",
    name: "subscribe",
    hash: [
        0x91, 0xb0, 0xa6, 0x30, 0xc6, 0xfe, 0x77, 0x56, 0x0f, 0xcd, 0x80, 0xda, 0xbe, 0x4d, 0x59,
        0x3c,
    ],
    severity: Severity::Informational,
    arguments: &[
        Argument::given("rhost", Type::ShortText),
        Argument::given("user", Type::ShortText),
        Argument::given("qName", Type::ShortText),
        Argument::given("dest", Type::ShortText),
        Argument::given("excl", Type::Bool),
        Argument::given("args", Type::Map),
    ],
};

/// What there is to say of an event `subscribe`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Subscribe {
    /// `rhost`, sstr.
    pub rhost: Text,
    /// `user`, sstr.
    pub user: Text,
    /// `qName`, sstr.
    pub q_name: Text,
    /// `dest`, sstr.
    pub dest: Text,
    /// `excl`, bool.
    pub excl: bool,
    /// `args`, map.
    pub args: Map,
}

impl Subscribe {
    /// The same as an event.
    pub fn into_event(self) -> Event {
        Event {
            class: &SUBSCRIBE_EVENT,
            arguments: vec![
                Datum::ShortText(self.rhost),
                Datum::ShortText(self.user),
                Datum::ShortText(self.q_name),
                Datum::ShortText(self.dest),
                Datum::Bool(self.excl),
                Datum::Map(self.args),
            ],
        }
    }
}

/// Event `unsubscribe`.
pub static UNSUBSCRIBE_EVENT: EventClass = EventClass {
    package: "org.apache.qpid.broker",
    name: "unsubscribe",
    hash: [
        0x2d, 0xd7, 0x2e, 0xa0, 0x03, 0x57, 0x61, 0xc9, 0x1a, 0x5c, 0xc8, 0xd6, 0x34, 0x95, 0x3f,
        0x68,
    ],
    severity: Severity::Informational,
    arguments: &[
        Argument::given("rhost", Type::ShortText),
        Argument::given("user", Type::ShortText),
        Argument::given("dest", Type::ShortText),
    ],
};

/// What there is to say of an event `unsubscribe`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Unsubscribe {
    /// `rhost`, sstr.
    pub rhost: Text,
    /// `user`, sstr.
    pub user: Text,
    /// `dest`, sstr.
    pub dest: Text,
}

impl Unsubscribe {
    /// The same as an event.
    pub fn into_event(self) -> Event {
        Event {
            class: &UNSUBSCRIBE_EVENT,
            arguments: vec![
                Datum::ShortText(self.rhost),
                Datum::ShortText(self.user),
                Datum::ShortText(self.dest),
            ],
        }
    }
}

/// Event `queueThresholdCrossedUpward`.
pub static QUEUE_THRESHOLD_CROSSED_UPWARD_EVENT: EventClass = EventClass {
    package: "org.apache.qpid.broker",
    name: "queueThresholdCrossedUpward",
    hash: [
        0x39, 0xcd, 0xe7, 0x64, 0x91, 0xc0, 0x9f, 0xbe, 0x5c, 0x16, 0xb2, 0x4d, 0x7b, 0x93, 0xdf,
        0x20,
    ],
    severity: Severity::Informational,
    arguments: &[
        Argument::given("qName", Type::ShortText),
        Argument::given("msgDepth", Type::U64),
        Argument::given("byteDepth", Type::U64),
    ],
};

/// What there is to say of an event `queueThresholdCrossedUpward`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct QueueThresholdCrossedUpward {
    /// `qName`, sstr.
    pub q_name: Text,
    /// `msgDepth`, count64.
    pub msg_depth: u64,
    /// `byteDepth`, count64.
    pub byte_depth: u64,
}

impl QueueThresholdCrossedUpward {
    /// The same as an event.
    pub fn into_event(self) -> Event {
        Event {
            class: &QUEUE_THRESHOLD_CROSSED_UPWARD_EVENT,
            arguments: vec![
                Datum::ShortText(self.q_name),
                Datum::U64(self.msg_depth),
                Datum::U64(self.byte_depth),
            ],
        }
    }
}

/// Event `queueThresholdCrossedDownward`.
pub static QUEUE_THRESHOLD_CROSSED_DOWNWARD_EVENT: EventClass = EventClass {
    package: "org.apache.qpid.broker",
    name: "queueThresholdCrossedDownward",
    hash: [
        0xf0, 0xb4, 0x9c, 0x8c, 0xa1, 0xe7, 0x16, 0x0c, 0x51, 0x00, 0x15, 0x72, 0xc0, 0xc6, 0x45,
        0x74,
    ],
    severity: Severity::Informational,
    arguments: &[
        Argument::given("qName", Type::ShortText),
        Argument::given("msgDepth", Type::U64),
        Argument::given("byteDepth", Type::U64),
    ],
};

/// What there is to say of an event `queueThresholdCrossedDownward`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct QueueThresholdCrossedDownward {
    /// `qName`, sstr.
    pub q_name: Text,
    /// `msgDepth`, count64.
    pub msg_depth: u64,
    /// `byteDepth`, count64.
    pub byte_depth: u64,
}

impl QueueThresholdCrossedDownward {
    /// The same as an event.
    pub fn into_event(self) -> Event {
        Event {
            class: &QUEUE_THRESHOLD_CROSSED_DOWNWARD_EVENT,
            arguments: vec![
                Datum::ShortText(self.q_name),
                Datum::U64(self.msg_depth),
                Datum::U64(self.byte_depth),
            ],
        }
    }
}

/// Event `queueThresholdExceeded`.
pub static QUEUE_THRESHOLD_EXCEEDED_EVENT: EventClass = EventClass {
    package: "org.apache.qpid.broker",
    name: "queueThresholdExceeded",
    hash: [
        0x18, 0xc2, 0x39, 0xfa, 0x3c, 0xfb, 0x8e, 0xed, 0x11, 0xfb, 0xcf, 0x25, 0x3c, 0xc6, 0x80,
        0xda,
    ],
    severity: Severity::Warning,
    arguments: &[
        Argument::given("qName", Type::ShortText),
        Argument::given("msgDepth", Type::U64),
        Argument::given("byteDepth", Type::U64),
    ],
};

/// What there is to say of an event `queueThresholdExceeded`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct QueueThresholdExceeded {
    /// `qName`, sstr.
    pub q_name: Text,
    /// `msgDepth`, count64.
    pub msg_depth: u64,
    /// `byteDepth`, count64.
    pub byte_depth: u64,
}

impl QueueThresholdExceeded {
    /// The same as an event.
    pub fn into_event(self) -> Event {
        Event {
            class: &QUEUE_THRESHOLD_EXCEEDED_EVENT,
            arguments: vec![
                Datum::ShortText(self.q_name),
                Datum::U64(self.msg_depth),
                Datum::U64(self.byte_depth),
            ],
        }
    }
}

/// Event `queueRedirect`.
pub static QUEUE_REDIRECT_EVENT: EventClass = EventClass {
    package: "org.apache.qpid.broker",
    name: "queueRedirect",
    hash: [
        0xac, 0x6f, 0x9f, 0xcb, 0xc8, 0xdc, 0x76, 0xfd, 0x14, 0x6e, 0x88, 0x4c, 0xf4, 0x93, 0x48,
        0xfd,
    ],
    severity: Severity::Informational,
    arguments: &[
        Argument::given("qName", Type::ShortText),
        Argument::given("qTarget", Type::ShortText),
    ],
};

/// What there is to say of an event `queueRedirect`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct QueueRedirect {
    /// `qName`, sstr.
    pub q_name: Text,
    /// `qTarget`, sstr.
    pub q_target: Text,
}

impl QueueRedirect {
    /// The same as an event.
    pub fn into_event(self) -> Event {
        Event {
            class: &QUEUE_REDIRECT_EVENT,
            arguments: vec![
                Datum::ShortText(self.q_name),
                Datum::ShortText(self.q_target),
            ],
        }
    }
}

/// Event `queueRedirectCancelled`.
pub static QUEUE_REDIRECT_CANCELLED_EVENT: EventClass = EventClass {
    package: "org.apache.qpid.broker",
    name: "queueRedirectCancelled",
    hash: [
        0xac, 0x65, 0xc3, 0x16, 0x08, 0x65, 0xf3, 0xf0, 0x16, 0x59, 0x14, 0x7a, 0x6e, 0xd6, 0xa9,
        0x3a,
    ],
    severity: Severity::Informational,
    arguments: &[
        Argument::given("qName", Type::ShortText),
        Argument::given("qTarget", Type::ShortText),
    ],
};

/// What there is to say of an event `queueRedirectCancelled`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct QueueRedirectCancelled {
    /// `qName`, sstr.
    pub q_name: Text,
    /// `qTarget`, sstr.
    pub q_target: Text,
}

impl QueueRedirectCancelled {
    /// The same as an event.
    pub fn into_event(self) -> Event {
        Event {
            class: &QUEUE_REDIRECT_CANCELLED_EVENT,
            arguments: vec![
                Datum::ShortText(self.q_name),
                Datum::ShortText(self.q_target),
            ],
        }
    }
}
