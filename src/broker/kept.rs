//! What a session with a timeout keeps, so that its client can go on with it after a lost connection:
//! the broker's commands that the client may not have, and when the session ends if nobody comes.
//!
//! A delivery is kept as the place of its message. The message stays acquired in its queue until the
//! client has it, whatever the accept mode, so nothing is held twice and a message that leaves its queue
//! meanwhile is not sent again: `session.gap` says that its number stays empty.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::blocks::Blocks;
use super::effect::Tag;
use super::encoding::{Decoder, Encoder, EncodingError, Record, record, record_enum};
use super::ids::{GroupTime, QueueRef, SessionId};
use super::limits;
use crate::wire::{CommandId, RejectCode, SequenceSet, Struct32, Text};

/// A command of the broker that its client may not have.
#[derive(Clone, Debug, Hash)]
pub enum Outgoing {
    /// A message for a subscription.
    Delivery {
        /// What a transfer says of its subscription.
        tag: Arc<Tag>,
        /// The queue.
        queue: QueueRef,
        /// The message's place there.
        position: u64,
        /// Whether it had been delivered before.
        redelivered: bool,
        /// Whether the transfer carries the sync bit.
        sync: bool,
    },
    /// `execution.result`.
    Result {
        /// The command that is answered.
        command: CommandId,
        /// The answer.
        value: Box<Struct32>,
    },
    /// `message.accept`.
    Accept {
        /// The client's transfers.
        transfers: SequenceSet,
    },
    /// `message.reject`, of transfers that went nowhere.
    Reject {
        /// The client's transfers.
        transfers: SequenceSet,
        /// Why.
        code: RejectCode,
    },
}
record_enum!(Outgoing {
    0 = Delivery { tag, queue, position, redelivered, sync },
    1 = Result { command, value },
    2 = Accept { transfers },
    3 = Reject { transfers, code },
});

impl Outgoing {
    /// Octets that it takes beside what is in queues anyway.
    fn bytes(&self) -> u64 {
        let own = match self {
            Outgoing::Delivery { .. } => return 0,
            Outgoing::Result { value, .. } => value.bytes.len(),
            Outgoing::Accept { transfers } | Outgoing::Reject { transfers, .. } => {
                size_of_val(transfers.ranges())
            }
        };
        own as u64 + limits::KEPT_COMMAND_BYTES
    }
}

impl Record for Struct32 {
    fn encode(&self, to: &mut Encoder) {
        self.code.encode(to);
        to.sized(&self.bytes);
    }
    fn decode(from: &mut Decoder<'_>) -> Result<Self, EncodingError> {
        let code = u16::decode(from)?;
        let bytes = from.sized("an answer")?.to_vec();
        Ok(Struct32 { code, bytes })
    }
}

/// How far a session is in going on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Replay {
    /// The client has been sent all there is.
    Done,
    /// Nobody has said what it expects: the session has no transport, or its client has just come.
    Awaited,
    /// Commands from this count on are still to be sent again.
    From(u64),
}
record_enum!(Replay {
    0 = Done,
    1 = Awaited,
    2 = From(count),
});

/// See the module.
#[derive(Clone, Debug, Hash)]
pub struct Kept {
    /// Seconds for which it waits without a connection. 0: it does not, and what is kept is only sent to
    /// its end.
    pub timeout: u32,
    /// When it ends; None while it has a connection.
    pub deadline: Option<GroupTime>,
    /// The broker's commands by count. Those before the first are known to be received.
    pub outgoing: Blocks<Outgoing>,
    /// The count of the first command that could be sent again.
    pub first: u64,
    /// Octets of what is kept.
    pub bytes: u64,
    /// How far it is in going on.
    pub replay: Replay,
    /// Whether more of it is to be sent in a later entry, which is among the core's work.
    pub is_replay_queued: bool,
}
record!(Kept {
    timeout,
    deadline,
    outgoing,
    first,
    bytes,
    replay,
    is_replay_queued,
});

impl Kept {
    /// For a session whose next command is that of this count.
    pub fn new(timeout: u32, next: u64) -> Kept {
        Kept {
            timeout,
            deadline: None,
            outgoing: Blocks::starting_at(next),
            first: next,
            bytes: 0,
            replay: Replay::Done,
            is_replay_queued: false,
        }
    }

    /// Whether a command can be told at once. If not it is told when those before it have been.
    pub fn is_live(&self) -> bool {
        self.replay == Replay::Done && self.deadline.is_none()
    }

    /// Whether its client has to say what it has before more messages come.
    pub fn is_full(&self) -> bool {
        self.outgoing.len() >= limits::KEPT_COMMANDS_PER_SESSION_MAX
    }

    /// Keeps a command. True when it is to be told at once.
    pub fn note(&mut self, count: u64, outgoing: Outgoing) -> bool {
        self.bytes += outgoing.bytes();
        self.outgoing.push_at(count, outgoing);
        self.is_live()
    }

    /// All commands before `count` are known to be received: transports keep the order.
    pub fn received_before(&mut self, count: u64) {
        while let Some(position) = self.outgoing.next_at(0).filter(|first| *first < count) {
            let gone = self.outgoing.remove(position);
            self.bytes -= gone.map_or(0, |gone| gone.bytes());
        }
        self.first = self.first.max(count);
    }
}

/// The sessions that wait without a connection.
#[derive(Clone, Debug, Default, Hash)]
pub struct Detached {
    /// When each ends.
    deadlines: BTreeSet<(GroupTime, SessionId)>,
    /// How many each user has.
    users: BTreeMap<Text, u64>,
}
record!(Detached { deadlines, users });

impl Detached {
    /// Whether one more of a user can be kept.
    pub fn has_room_for(&self, user: &Text) -> bool {
        let of_user = self.users.get(user).copied().unwrap_or(0);
        self.deadlines.len() < limits::DETACHED_SESSIONS_MAX
            && of_user < limits::DETACHED_SESSIONS_PER_USER_MAX
    }

    /// A session waits.
    pub fn insert(&mut self, deadline: GroupTime, session: SessionId, user: &Text) {
        if self.deadlines.insert((deadline, session)) {
            *self.users.entry(user.clone()).or_default() += 1;
        }
    }

    /// It does no longer.
    pub fn remove(&mut self, deadline: GroupTime, session: SessionId, user: &Text) {
        if !self.deadlines.remove(&(deadline, session)) {
            return;
        }
        if let Some(of_user) = self.users.get_mut(user) {
            *of_user -= 1;
            if *of_user == 0 {
                self.users.remove(user);
            }
        }
    }

    /// The next end.
    pub fn deadline(&self) -> GroupTime {
        let first = self.deadlines.first();
        first.map_or(GroupTime::NEVER, |(deadline, _)| *deadline)
    }

    /// A session whose time has come.
    pub fn due(&self, now: GroupTime) -> Option<SessionId> {
        let (deadline, session) = self.deadlines.first()?;
        (*deadline <= now).then_some(*session)
    }

    /// How many wait.
    pub fn len(&self) -> usize {
        self.deadlines.len()
    }

    /// Whether none does.
    pub fn is_empty(&self) -> bool {
        self.deadlines.is_empty()
    }
}
