//! When a queue goes by itself.

use crate::broker::arguments::{self, number_of_32_bits};
use crate::broker::encoding::{record, record_enum};
use crate::broker::ids::GroupTime;
use crate::wire::{Map, Value};

/// `qpid.lifetime-policy`: what must hold for an auto-delete queue to go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum LifetimePolicy {
    /// Nobody owns it and nobody subscribes to it.
    #[default]
    Unused,
    /// The same, and it is empty.
    UnusedAndEmpty,
    /// The session that had it for itself has ended, whoever subscribes; or nobody uses it.
    OnClose,
}
record_enum!(LifetimePolicy { 0 = Unused, 1 = UnusedAndEmpty, 2 = OnClose });

/// See the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Lifetime {
    /// What must hold.
    pub policy: LifetimePolicy,
    /// `qpid.auto_delete_timeout`, as milliseconds for which it must have held.
    pub delay: u64,
    /// When it goes, if it is not used before; [`GroupTime::NEVER`] while it is used.
    pub due: GroupTime,
}
record!(Lifetime { policy, delay, due });

impl Default for Lifetime {
    fn default() -> Self {
        Lifetime {
            policy: LifetimePolicy::default(),
            delay: 0,
            due: GroupTime::NEVER,
        }
    }
}

impl Lifetime {
    /// Of a queue with these arguments. As in qpidd an unknown policy counts for nothing.
    ///
    /// # Errors
    /// The timeout is no number.
    pub fn of(arguments: &Map) -> Result<Lifetime, String> {
        let seconds = number_of_32_bits(arguments, arguments::AUTO_DELETE_TIMEOUT)?.unwrap_or(0);
        Ok(Lifetime {
            policy: match named(arguments) {
                Some("delete-if-unused-and-empty") => LifetimePolicy::UnusedAndEmpty,
                Some("delete-on-close") => LifetimePolicy::OnClose,
                _ => LifetimePolicy::Unused,
            },
            delay: u64::from(seconds) * 1000,
            due: GroupTime::NEVER,
        })
    }

    /// Whether the arguments say that the queue goes by itself, or that it does not.
    pub fn is_auto_delete(self, arguments: &Map) -> Option<bool> {
        match named(arguments) {
            Some("manual") => Some(false),
            Some("delete-if-unused" | "delete-if-unused-and-empty" | "delete-on-close") => {
                Some(true)
            }
            _ => (self.delay > 0).then_some(true),
        }
    }
}

fn named(arguments: &Map) -> Option<&str> {
    arguments
        .get(arguments::LIFETIME_POLICY)
        .and_then(Value::as_str)
}
