//! A machine that notes what happens in it, for the checkers that look at the order itself: what is
//! told to whom there, no client sees as a whole.
//!
//! A run has its thread for itself, and the thread's notes. Members apply the same, so what the first
//! one does at an index is enough.

use std::cell::RefCell;

use ferrymq::broker::encoding::EncodingError;
use ferrymq::broker::ids::{ChannelKey, ConnectionKey, ConnectionNumber, GroupTime, MemberId};
use ferrymq::broker::snapshot::{Frozen, Thawing};
use ferrymq::broker::{Applied, Batch, Command, Core, Effect, Origin, Out, Request, Wants};
use ferrymq::cluster::machine::Machine;
use ferrymq::wire::{AcceptMode, AcquireMode, SequenceSet};

use super::kinds::kind;
use super::topology::uid_of;

/// What is subscribed to.
#[derive(Clone, Debug)]
pub struct Subscribed {
    pub queue: String,
    pub is_red: bool,
}

/// What was asked in an entry, as far as checkers want to know.
#[derive(Clone, Debug)]
pub enum Asked {
    /// A message is to come into a queue of another kind than plain.
    Publish(u64),
    /// A queue is subscribed to under a name, and perhaps for red messages only.
    Subscribe(ChannelKey, String, Subscribed),
    /// Deliveries are accepted, released or rejected.
    Settle(ChannelKey, SequenceSet),
    /// Messages that were browsed are taken.
    Acquire(ChannelKey, SequenceSet),
    /// A session is to be attached by a name, whoever has it if it is forced.
    Attach {
        at: ChannelKey,
        name: Vec<u8>,
        is_forced: bool,
    },
    /// A session ends.
    Detach(ChannelKey),
    /// A connection ends.
    End(ConnectionNumber),
    /// All connections of a member end, of the epochs up to one.
    Down(MemberId, u64),
    /// A session is to outlive its connection for so many seconds.
    Grant(ChannelKey, u32),
    /// What is due by the entry's time happens.
    Tick,
}

/// What came out of it.
#[derive(Clone, Debug)]
pub enum Told {
    /// A session is attached by a name, and whether it goes on.
    Attached(u16, Vec<u8>, bool),
    /// A session is not attached, or no longer.
    Detached(u16),
    /// A session of a name has failed, which may have been without a connection: its queue was deleted.
    Failed(u16, Vec<u8>),
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
    /// Group time.
    pub time: GroupTime,
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
                let subscribed = Subscribed {
                    queue: subscribe.queue.to_string(),
                    is_red: subscribe.arguments.is_some(),
                };
                Asked::Subscribe(*at, subscribe.destination.to_string(), subscribed)
            }
            Request::Transfer {
                destination,
                message,
                ..
            } if destination.is_empty() => {
                kind(&message.routing_key)?;
                Asked::Publish(uid_of(message)?)
            }
            Request::Accept { transfers }
            | Request::Release { transfers, .. }
            | Request::Reject { transfers } => Asked::Settle(*at, transfers.clone()),
            Request::Acquire { transfers } => Asked::Acquire(*at, transfers.clone()),
            _ => return None,
        },
        Command::Attach { at, name, force } => Asked::Attach {
            at: *at,
            name: name.clone(),
            is_forced: *force,
        },
        Command::Detach { at } => Asked::Detach(*at),
        Command::GrantTimeout { at, timeout } => Asked::Grant(*at, *timeout),
        Command::Tick => Asked::Tick,
        Command::ConnectionEnd { connection } => Asked::End(*connection),
        Command::MemberDown { member, epoch } => Asked::Down(*member, *epoch),
        _ => return None,
    })
}

fn told(effect: &Effect) -> Option<Told> {
    Some(match effect {
        Effect::Attached {
            channel,
            name,
            resumed,
        } => Told::Attached(*channel, name.to_vec(), resumed.is_some()),
        Effect::Detached { channel, .. } => Told::Detached(*channel),
        Effect::Exception { channel, name, .. } => Told::Failed(*channel, name.to_vec()),
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
        let mut origin = match batch.origin {
            Origin::Member { id, epoch, .. } => Some((id, epoch)),
            Origin::Port { .. } | Origin::Sequencer => None,
        };
        let mut all: Vec<Asked> = batch.commands.iter().filter_map(asked).collect();
        let before = out.effects.len();
        let applied = self.0.apply(batch, out);
        if applied != Applied::Done {
            all.clear();
        }
        if applied == Applied::Stale {
            origin = None;
        }
        let effects = out.effects[before..].iter();
        let told = effects.filter_map(|(key, effect)| Some((*key, told(effect)?)));
        let happened = Happened {
            index,
            time: batch.time,
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

    fn core(&self) -> &Core {
        self.0.core()
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
