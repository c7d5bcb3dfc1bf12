//! Conditions on what is there already. Whether a user may delete a queue can depend on what the queue
//! is, and that only the core knows when the command's turn comes; so the proposer says with the
//! command what is allowed of what, and every member decides alike.

use super::encoding::{record, record_enum};
use super::event::Act;
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
    pub otherwise: Ruling,
}
record!(Guard { clauses, otherwise });

/// A condition.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Clause {
    /// What must be, all of it.
    pub wanted: Vec<(Aspect, Text)>,
    /// What is decided when it is.
    pub ruling: Ruling,
}
record!(Clause { wanted, ruling });

/// What is decided, and whether who serves the client says so in its log and in an event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Ruling {
    /// It is not done.
    #[default]
    Deny,
    /// It is done.
    Allow,
    /// It is not done, and that is told.
    DenyTold,
    /// It is done, and that is told.
    AllowTold,
}
// The first two are as the truth values that once stood in their place.
record_enum!(Ruling {
    0 = Deny,
    1 = Allow,
    2 = DenyTold,
    3 = AllowTold,
});

impl Ruling {
    /// What is decided, told or not.
    pub const fn new(is_allowed: bool, is_told: bool) -> Ruling {
        match (is_allowed, is_told) {
            (false, false) => Ruling::Deny,
            (true, false) => Ruling::Allow,
            (false, true) => Ruling::DenyTold,
            (true, true) => Ruling::AllowTold,
        }
    }

    /// Whether it is done.
    pub const fn is_allowed(self) -> bool {
        matches!(self, Ruling::Allow | Ruling::AllowTold)
    }

    /// Whether that is told.
    pub const fn is_told(self) -> bool {
        matches!(self, Ruling::DenyTold | Ruling::AllowTold)
    }
}

/// What was decided of a command, where that is to be told.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Ruled {
    /// Who wanted what.
    pub act: Act,
    /// Whether it was done.
    pub is_allowed: bool,
}

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
    /// What is decided of the command for what has these aspects. An aspect that is not there meets
    /// nothing.
    pub fn ruling(&self, aspects: &[(Aspect, &str)]) -> Ruling {
        let is_met = |(wanted, text): &(Aspect, Text)| {
            aspects
                .iter()
                .any(|(aspect, value)| aspect == wanted && is_matched(text, value))
        };
        self.clauses
            .iter()
            .find(|clause| clause.wanted.iter().all(is_met))
            .map_or(self.otherwise, |clause| clause.ruling)
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
