//! The options that `apply` reads. They are state of the core, set by a command, so that members
//! with other configuration files do not part ways.

use super::encoding::record;
use super::limits::PERCENT_MAX;
use super::replication::EventsTo;
use crate::wire::Text;
use crate::wire::limits::STR8_BYTES_MAX;

/// Options of the core; the names are qpidd's.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Options {
    /// `default-queue-limit`: octets a queue holds unless it is declared otherwise; 0 is no limit.
    pub default_queue_limit: u64,
    /// `queue-purge-interval`: milliseconds between two searches for expired messages; 0 is never.
    pub queue_purge_interval: u64,
    /// What queues have that say nothing of it.
    pub of_queues: QueueDefaults,
    /// Where events of queues go, to be replicated elsewhere.
    pub events_to: EventsTo,
}
record!(Options {
    default_queue_limit,
    queue_purge_interval
} since 3 {
    of_queues = QueueDefaults::default(),
    events_to = EventsTo::default(),
});

impl Default for Options {
    fn default() -> Self {
        Options {
            default_queue_limit: 100 * 1024 * 1024,
            queue_purge_interval: 600_000,
            of_queues: QueueDefaults::default(),
            events_to: EventsTo::default(),
        }
    }
}

/// What queues have that say nothing of it. A queue keeps what was so when it was declared, until the
/// broker starts anew.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct QueueDefaults {
    /// `default-flow-stop-threshold`: percent of a queue's limit where publishers are held back; 0 is
    /// nowhere.
    pub flow_stop_percent: u8,
    /// `default-flow-resume-threshold`: percent of a queue's limit where they go on; 0 is where they
    /// stopped.
    pub flow_resume_percent: u8,
    /// `default-event-threshold-ratio`: percent of a queue's limit where an alert is due; 0 is nowhere.
    pub alert_percent: u8,
    /// `default-message-group`: the group of messages that name none.
    pub message_group: Text,
}
record!(QueueDefaults {
    flow_stop_percent,
    flow_resume_percent,
    alert_percent,
    message_group
} if percents_are_sound(flow_stop_percent, flow_resume_percent, alert_percent)
    && Text::len(&message_group) <= STR8_BYTES_MAX, else "defaults of queues");

/// Whether these are percents, and one goes on where one stopped or below.
fn percents_are_sound(stop: u8, resume: u8, alert: u8) -> bool {
    resume <= stop && [stop, alert].iter().all(|percent| *percent <= PERCENT_MAX)
}

impl QueueDefaults {
    /// Why these cannot be; None when they can.
    pub fn fault(&self) -> Option<String> {
        let (stop, resume) = (self.flow_stop_percent, self.flow_resume_percent);
        if resume > stop {
            return Some(format!(
                "default-flow-resume-threshold={resume} is above default-flow-stop-threshold={stop}"
            ));
        }
        if !percents_are_sound(stop, resume, self.alert_percent) {
            return Some("a threshold is above 100 percent".into());
        }
        (self.message_group.len() > STR8_BYTES_MAX)
            .then(|| format!("default-message-group is longer than {STR8_BYTES_MAX} octets"))
    }
}

impl Default for QueueDefaults {
    fn default() -> Self {
        QueueDefaults {
            flow_stop_percent: 80,
            flow_resume_percent: 70,
            alert_percent: 80,
            message_group: DEFAULT_GROUP.into(),
        }
    }
}

/// The group of messages that name none, unless an operator says otherwise.
pub const DEFAULT_GROUP: &str = "qpid.no-group";

/// Options as logs of former versions have them: others stay as they are.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FirstOptions {
    /// See [`Options::default_queue_limit`].
    pub default_queue_limit: u64,
    /// See [`Options::queue_purge_interval`].
    pub queue_purge_interval: u64,
}
record!(FirstOptions {
    default_queue_limit,
    queue_purge_interval
});

impl FirstOptions {
    /// What comes of them, where there were such options.
    pub fn over(&self, before: &Options) -> Options {
        Options {
            default_queue_limit: self.default_queue_limit,
            queue_purge_interval: self.queue_purge_interval,
            ..before.clone()
        }
    }
}

/// Options as logs of a version have them that replicated nothing: others stay as they are.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SecondOptions {
    /// See [`Options::default_queue_limit`].
    pub default_queue_limit: u64,
    /// See [`Options::queue_purge_interval`].
    pub queue_purge_interval: u64,
    /// See [`Options::of_queues`].
    pub of_queues: QueueDefaults,
}
record!(SecondOptions {
    default_queue_limit,
    queue_purge_interval,
    of_queues
});

impl SecondOptions {
    /// What comes of them, where there were such options.
    pub fn over(&self, before: &Options) -> Options {
        Options {
            default_queue_limit: self.default_queue_limit,
            queue_purge_interval: self.queue_purge_interval,
            of_queues: self.of_queues.clone(),
            ..before.clone()
        }
    }
}
