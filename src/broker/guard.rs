//! Conditions on what is there already. Whether a user may delete a queue can depend on what the queue
//! is, and that only the core knows when the command's turn comes; so the proposer says with the
//! command what is allowed of what, and every member decides alike.

use super::encoding::{record, record_enum};
use crate::wire::{ExchangeDelete, QueueDeclare, QueueDelete, Text};

/// Behind the text of a refusal for a quota.
pub const BY_QUOTA: &str = " (queues of one user)";

/// Behind the text of a refusal for what is there.
pub const BY_CONDITION: &str = " (for what it is)";

/// A command with conditions.
#[derive(Clone, Debug, PartialEq)]
pub enum Guarded {
    /// `queue.declare`. A queue is made only while its user has made fewer than so many that are
    /// there.
    QueueDeclare {
        /// What is declared.
        declare: QueueDeclare,
        /// Queues of the user.
        quota: u32,
    },
    /// `queue.delete`.
    QueueDelete {
        /// What is deleted.
        delete: QueueDelete,
        /// Of what that is allowed.
        guard: Guard,
    },
    /// `exchange.delete`.
    ExchangeDelete {
        /// What is deleted.
        delete: ExchangeDelete,
        /// Of what that is allowed.
        guard: Guard,
    },
}
record_enum!(Guarded {
    0 = QueueDeclare { declare, quota },
    1 = QueueDelete { delete, guard },
    2 = ExchangeDelete { delete, guard },
});

/// Conditions in order: the first that holds decides.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Guard {
    /// The conditions.
    pub clauses: Vec<Clause>,
    /// What is decided when none holds.
    pub otherwise: bool,
}
record!(Guard { clauses, otherwise });

/// A condition.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Clause {
    /// What must be, all of it.
    pub wanted: Vec<(Aspect, Text)>,
    /// What is decided when it is.
    pub is_allowed: bool,
}
record!(Clause { wanted, is_allowed });

/// What is asked of a queue or an exchange. What is wanted of it is a text; one that ends with `*` stands
/// for all that begin so.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Aspect {
    /// `true` or `false`.
    Durable,
    /// `true` or `false`: whether a session has it for itself.
    Exclusive,
    /// `true` or `false`.
    AutoDelete,
    /// What it does when it is full: `reject`, `ring` or `self-destruct`.
    PolicyType,
    /// The name of its alternate exchange; empty for none.
    Alternate,
    /// The type of an exchange.
    Type,
}
record_enum!(Aspect {
    0 = Durable,
    1 = Exclusive,
    2 = AutoDelete,
    3 = PolicyType,
    4 = Alternate,
    5 = Type,
});

impl Guard {
    /// Whether the command is allowed of what has these aspects. An aspect that is not there meets
    /// nothing.
    pub fn allows(&self, aspects: &[(Aspect, &str)]) -> bool {
        let is_met = |(wanted, text): &(Aspect, Text)| {
            aspects
                .iter()
                .any(|(aspect, value)| aspect == wanted && is_matched(text, value))
        };
        self.clauses
            .iter()
            .find(|clause| clause.wanted.iter().all(is_met))
            .map_or(self.otherwise, |clause| clause.is_allowed)
    }
}

fn is_matched(wanted: &str, value: &str) -> bool {
    match wanted.strip_suffix('*') {
        Some(start) => value.starts_with(start),
        None => wanted == value,
    }
}

/// A truth value as rules have it.
pub fn truth(is_so: bool) -> &'static str {
    match is_so {
        true => "true",
        false => "false",
    }
}
