//! Options of queue-state replication, by qpidd's names.

use clap::Args;

use super::options::yes_or_no;
use crate::broker::replication::EventsTo;

/// Where events of queues go, for a copy of these queues at another broker.
#[derive(Args, Clone, Debug)]
pub struct ReplicationOptions {
    /// Queue into which events of other queues go, for a link to take them to another broker
    #[arg(
        long,
        env = "QPID_REPLICATION_QUEUE",
        value_name = "QUEUE",
        default_value = ""
    )]
    pub replication_queue: String,

    /// Whether that queue is made, not durable, if it is not there
    #[arg(long, env = "QPID_CREATE_REPLICATION_QUEUE", value_name = "yes|no", default_value = "no",
          value_parser = yes_or_no, num_args = 0..=1, default_missing_value = "yes",
          action = clap::ArgAction::Set)]
    pub create_replication_queue: bool,

    /// Exchange through which events go instead; made, not durable, if it is not there
    #[arg(
        long,
        env = "QPID_REPLICATION_EXCHANGE_NAME",
        value_name = "EXCHANGE",
        default_value = ""
    )]
    pub replication_exchange_name: String,

    /// Its type then: direct, topic, fanout or headers
    #[arg(
        long,
        env = "QPID_REPLICATION_EXCHANGE_TYPE",
        value_name = "TYPE",
        default_value = "direct"
    )]
    pub replication_exchange_type: String,

    /// What the log calls the replication of queues
    #[arg(
        long,
        env = "QPID_REPLICATION_LISTENER_NAME",
        value_name = "NAME",
        default_value = "replicator"
    )]
    pub replication_listener_name: String,
}

impl ReplicationOptions {
    /// What of them is state of the core. As in qpidd the queue does not count where there is an exchange.
    pub fn events_to(&self) -> EventsTo {
        let is_by_exchange = !self.replication_exchange_name.is_empty();
        EventsTo {
            queue: match is_by_exchange {
                true => "".into(),
                false => self.replication_queue.as_str().into(),
            },
            makes_queue: self.create_replication_queue && !is_by_exchange,
            exchange: self.replication_exchange_name.as_str().into(),
            exchange_type: self.replication_exchange_type.as_str().into(),
        }
    }

    /// Whether a queue is named that does not count.
    pub fn names_queue_in_vain(&self) -> bool {
        !self.replication_queue.is_empty() && !self.replication_exchange_name.is_empty()
    }
}
