//! Who an agent is, and the exchanges and routing keys by which agents and consoles meet.

use super::schema::{Class, EventClass};
use crate::wire::{Text, UuidText};

/// Where agents of version 2 tell what happened. `qpid-config` and `qpid-stat` wait for answers here.
pub const QMF_TOPIC: &str = "qmf.default.topic";

/// Where everything of version 1 goes to but answers.
pub const QPID_MANAGEMENT: &str = "qpid.management";

/// Where consoles of version 1 wait for answers, whatever exchange they name.
pub const AMQ_DIRECT: &str = "amq.direct";

/// The routing key that stands for the agent of the broker at hand.
pub const BROKER_KEY: &str = "broker";

/// What `qmf.console` takes the broker's own agent by.
const VENDOR: &str = "apache.org";
const PRODUCT: &str = "qpidd";

/// Who the agent is: the broker that it belongs to, and which start of it this is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The broker's identity, kept over restarts.
    pub broker: [u8; 16],
    /// Counts the broker's starts, from 1 to 4095 and over again, as it has 12 bits in version 1.
    pub epoch: u16,
    /// What tells the object numbers of this agent from those of others of its name, in version 1: the
    /// epoch, unless agents of several members have one name.
    pub numbering: u16,
    instance: String,
    called: AgentName,
}

/// What an agent is called: vendor, product and instance, with colons between.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentName {
    name: Text,
    /// As three words of a routing key.
    key: String,
}

impl AgentName {
    /// An agent of this name.
    pub fn new(name: Text) -> AgentName {
        let words: Vec<String> = name.splitn(3, ':').map(key).collect();
        AgentName {
            key: words.join("."),
            name,
        }
    }

    /// The name.
    pub fn name(&self) -> &Text {
        &self.name
    }

    /// The routing key of an event, version 2.
    pub fn event_key(&self, class: &EventClass) -> String {
        let (package, name) = (key(class.package), key(class.name));
        let severity = class.severity.word();
        format!("agent.ind.event.{package}.{name}.{severity}.{}", self.key)
    }
}

impl Identity {
    /// Of the broker with this identity. Of `epoch`, 12 bits count; 0 becomes 1.
    pub fn new(broker: [u8; 16], epoch: u16) -> Self {
        let instance = UuidText(&broker).to_string();
        let epoch = in_12_bits(epoch);
        Identity {
            broker,
            epoch,
            numbering: epoch,
            called: AgentName::new(format!("{VENDOR}:{PRODUCT}:{instance}").into()),
            instance,
        }
    }

    /// Of one of several agents that have one name and one epoch, and each its own numbers of objects. Of
    /// `numbering`, 12 bits count; 0 becomes 1.
    pub fn of_several(broker: [u8; 16], epoch: u16, numbering: u16) -> Self {
        Identity {
            numbering: in_12_bits(numbering),
            ..Identity::new(broker, epoch)
        }
    }

    /// The agent's name, under which it can be asked: vendor, product and instance.
    pub fn name(&self) -> &Text {
        self.called.name()
    }

    /// What it is called.
    pub fn called(&self) -> &AgentName {
        &self.called
    }

    /// Whose agent it is.
    pub fn vendor(&self) -> &'static str {
        VENDOR
    }

    /// What it is an agent of.
    pub fn product(&self) -> &'static str {
        PRODUCT
    }

    /// Which of them: the broker's identity as text.
    pub fn instance(&self) -> &str {
        &self.instance
    }

    /// The routing key of a heartbeat of version 2.
    pub fn heartbeat_key(&self) -> String {
        format!("agent.ind.heartbeat.{}", self.called.key)
    }

    /// The routing key of objects of `class`, version 2.
    pub fn data_key(&self, class: &Class) -> String {
        let (package, name) = (key(class.package), key(class.name));
        format!("agent.ind.data.{package}.{name}.{}", self.called.key)
    }
}

/// A name as one word of a routing key.
fn key(name: &str) -> String {
    name.replace('.', "_")
}
/// What has room in version 1.
fn in_12_bits(number: u16) -> u16 {
    (number & 0xfff).max(1)
}
