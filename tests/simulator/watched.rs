//! A machine that notes what happens in it, for the checkers that look at the order itself: what is
//! told to whom there, no client sees as a whole.
//!
//! A run has its thread for itself, and the thread's notes. Members apply the same, so what the first
//! one does at an index is enough.

use std::cell::RefCell;

use ferrymq::broker::encoding::EncodingError;
use ferrymq::broker::ids::{ChannelKey, ConnectionKey, ConnectionNumber, GroupTime, MemberId};
use ferrymq::broker::snapshot::{Frozen, Thawing};
use ferrymq::broker::{Applied, Batch, Command, Effect, Origin, Out, Request, Wants};
use ferrymq::cluster::machine::Machine;
use ferrymq::wire::{AcceptMode, AcquireMode, SequenceSet};

use super::topology::uid_of;

/// What was asked in an entry, as far as checkers want to know.
#[derive(Clone, Debug)]
pub enum Asked {
    /// A queue is subscribed to under a name.
    Subscribe(ChannelKey, String, String),
    /// Deliveries are accepted, released or rejected.
    Settle(ChannelKey, SequenceSet),
    /// Messages that were browsed are taken.
    Acquire(ChannelKey, SequenceSet),
    /// A session is to be attached by a name, whoever has it.
    Force(ChannelKey, Vec<u8>),
    /// A session ends.
    Detach(ChannelKey),
    /// A connection ends.
    End(ConnectionNumber),
    /// All connections of a member end.
    Down(MemberId),
}

/// What came out of it.
#[derive(Clone, Debug)]
pub enum Told {
    /// A session is attached by a name.
    Attached(u16, Vec<u8>),
    /// A session is not, or no longer.
    Ended(u16),
    /// A message is delivered.
    Delivered(Delivered),
}

/// A delivery.
#[derive(Clone, Debug)]
pub struct Delivered {
    pub channel: u16,
    pub id: u32,
    pub destination: String,
    pub uid: u64,
    pub is_acquiring: bool,
    pub is_explicit: bool,
    pub is_redelivered: bool,
}

/// An entry, as the first member that applied it saw it.
#[derive(Clone, Debug)]
pub struct Happened {
    pub index: u64,
    /// Whose it is, and in which epoch; None for the sequencer's.
    pub origin: Option<(MemberId, u64)>,
    pub asked: Vec<Asked>,
    pub told: Vec<(ConnectionKey, Told)>,
}

#[derive(Default)]
struct Notes {
    last: u64,
    happened: Vec<Happened>,
}

thread_local! {
    static NOTES: RefCell<Notes> = RefCell::default();
}

/// Forgets what another run has left.
pub fn begin() {
    NOTES.take();
}

/// What has happened since this was last asked.
pub fn happened() -> Vec<Happened> {
    NOTES.with_borrow_mut(|notes| std::mem::take(&mut notes.happened))
}

/// See the module.
pub struct Watched<M>(pub M);

fn asked(command: &Command) -> Option<Asked> {
    Some(match command {
        Command::Session { at, request, .. } => match request {
            Request::Subscribe(subscribe) => {
                let (queue, name) = (&subscribe.queue, &subscribe.destination);
                Asked::Subscribe(*at, name.to_string(), queue.to_string())
            }
            Request::Accept { transfers }
            | Request::Release { transfers, .. }
            | Request::Reject { transfers } => Asked::Settle(*at, transfers.clone()),
            Request::Acquire { transfers } => Asked::Acquire(*at, transfers.clone()),
            _ => return None,
        },
        Command::Attach {
            at,
            name,
            force: true,
        } => Asked::Force(*at, name.clone()),
        Command::Detach { at } => Asked::Detach(*at),
        Command::ConnectionEnd { connection } => Asked::End(*connection),
        Command::MemberDown { member, .. } => Asked::Down(*member),
        _ => return None,
    })
}

fn told(effect: &Effect) -> Option<Told> {
    Some(match effect {
        Effect::Attached { channel, name, .. } => Told::Attached(*channel, name.to_vec()),
        Effect::Detached { channel, .. } | Effect::Exception { channel, .. } => {
            Told::Ended(*channel)
        }
        Effect::Deliver(delivery) => Told::Delivered(Delivered {
            channel: delivery.channel,
            id: delivery.id.0,
            destination: delivery.subscription.destination.to_string(),
            uid: uid_of(&delivery.message)?,
            is_acquiring: delivery.subscription.acquire_mode == AcquireMode::PRE_ACQUIRED,
            is_explicit: delivery.subscription.accept_mode == AcceptMode::EXPLICIT,
            is_redelivered: delivery.redelivered,
        }),
        _ => return None,
    })
}

impl<M: Machine> Machine for Watched<M> {
    fn apply(&mut self, batch: &mut Batch, out: &mut Out) -> Applied {
        let index = batch.index;
        let is_first = NOTES.with_borrow(|notes| index > notes.last);
        if !is_first {
            return self.0.apply(batch, out);
        }
        let origin = match batch.origin {
            Origin::Member { id, epoch, .. } => Some((id, epoch)),
            Origin::Port { .. } | Origin::Sequencer => None,
        };
        let mut all: Vec<Asked> = batch.commands.iter().filter_map(asked).collect();
        let before = out.effects.len();
        let applied = self.0.apply(batch, out);
        if applied != Applied::Done {
            all.clear();
        }
        let effects = out.effects[before..].iter();
        let told = effects.filter_map(|(key, effect)| Some((*key, told(effect)?)));
        let happened = Happened {
            index,
            origin,
            asked: all,
            told: told.collect(),
        };
        NOTES.with_borrow_mut(|notes| {
            notes.last = index;
            notes.happened.push(happened);
        });
        applied
    }

    fn wants(&self) -> Wants {
        self.0.wants()
    }

    fn index(&self) -> u64 {
        self.0.index()
    }

    fn commands_max(&self) -> usize {
        self.0.commands_max()
    }

    fn enqueue_count(&self) -> u64 {
        self.0.enqueue_count()
    }

    fn time(&self) -> GroupTime {
        self.0.time()
    }

    fn last_seq(&self, member: MemberId, epoch: u64) -> u64 {
        self.0.last_seq(member, epoch)
    }

    fn last_epoch(&self, member: MemberId) -> u64 {
        self.0.last_epoch(member)
    }

    fn digest(&self) -> u64 {
        self.0.digest()
    }

    fn freeze(&self) -> Frozen {
        self.0.freeze()
    }

    fn thaw(thawing: Thawing) -> Result<Self, EncodingError> {
        Ok(Watched(M::thaw(thawing)?))
    }
}
