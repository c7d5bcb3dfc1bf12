//! Publishing at the broker that a link belongs to, without octets in between.
//!
//! The link's connection to its own broker has a driver that turns frames into commands of the core. What
//! bridges publish there joins behind the frames: an [`Inlet`] is a session of that connection whose
//! commands come as [`Order`]s. So a message is taken apart once, as with any client, and not put together
//! and taken apart again; everything that a client's message has to obey it obeys all the same.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::task::Waker;
use std::vec;

use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::client::{Delivery, Error};
use crate::wire::{CommandId, DetachCode, SequenceSet, Text};

/// Channels from here on are those of inlets: a link's connection to its own broker agrees on fewer.
pub const CHANNEL_FIRST: u16 = 0x8000;

/// What a bridge wants done in a session of its own.
#[derive(Debug)]
enum Order {
    /// The session is to be there.
    Attach {
        /// Its channel.
        channel: u16,
        /// Its name.
        name: Text,
    },
    /// Messages are to be published, and it is to be told when they are.
    Publish {
        /// The session's channel.
        channel: u16,
        /// The number of the first of them in the session: they come without gaps, from 0.
        first: CommandId,
        /// To the exchange that their transfers name.
        messages: vec::IntoIter<Delivery>,
    },
    /// The session is not needed any more.
    Detach {
        /// Its channel.
        channel: u16,
    },
}

/// One command of what a bridge wants done.
#[derive(Debug)]
pub enum Step {
    /// As [`Order::Attach`].
    Attach {
        /// The session's channel.
        channel: u16,
        /// Its name.
        name: Text,
    },
    /// A message is to be published.
    Publish {
        /// The session's channel.
        channel: u16,
        /// The message's number in the session.
        id: CommandId,
        /// Whether completions are to be told behind it.
        sync: bool,
        /// To the exchange that its transfer names.
        message: Delivery,
    },
    /// As [`Order::Detach`].
    Detach {
        /// The session's channel.
        channel: u16,
    },
}

/// What has become of a session.
#[derive(Debug, Default)]
struct Slot {
    is_attached: bool,
    /// Done, and not looked at by its inlet.
    completed: SequenceSet,
    /// Why it has ended.
    ended: Option<Error>,
    /// Nobody needs it any more.
    is_left: bool,
    changed: Arc<Notify>,
}

#[derive(Debug, Default)]
struct State {
    orders: VecDeque<Order>,
    /// Who takes them.
    driver: Option<Waker>,
    slots: BTreeMap<u16, Slot>,
    /// The driver has ended.
    is_over: bool,
}

impl State {
    fn order(&mut self, orders: impl IntoIterator<Item = Order>) {
        let was_empty = self.orders.is_empty();
        self.orders.extend(orders);
        if was_empty && let Some(driver) = &self.driver {
            driver.wake_by_ref();
        }
    }
}

/// The way for bridges of one link to sessions of its connection to its own broker.
#[derive(Clone, Debug, Default)]
pub struct Inlets(Arc<Mutex<State>>);

/// The other end of [`Inlets`], in the hands of the connection's driver. When it is dropped all sessions
/// have ended.
#[derive(Debug)]
pub struct Intake {
    state: Arc<Mutex<State>>,
    /// Orders that are taken.
    orders: VecDeque<Order>,
}

/// Both ends.
pub fn inlets() -> (Inlets, Intake) {
    let inlets = Inlets::default();
    let intake = Intake {
        state: inlets.0.clone(),
        orders: VecDeque::new(),
    };
    (inlets, intake)
}

/// The connection has ended.
fn gone() -> Error {
    Error::Detached(DetachCode::NOT_ATTACHED)
}

impl Inlets {
    /// A session of this name.
    ///
    /// # Errors
    /// The name is taken ([`Error::Detached`]), or the connection has ended.
    pub async fn attach(&self, name: &str) -> Result<Inlet, Error> {
        let mut inlet = {
            let mut state = self.0.lock();
            if state.is_over {
                return Err(gone());
            }
            let is_free = |channel: &u16| !state.slots.contains_key(channel);
            let Some(channel) = (CHANNEL_FIRST..=u16::MAX).find(is_free) else {
                return Err(Error::NoChannel);
            };
            let slot = Slot::default();
            let changed = slot.changed.clone();
            state.slots.insert(channel, slot);
            let name = name.into();
            state.order([Order::Attach { channel, name }]);
            Inlet {
                state: self.0.clone(),
                channel,
                changed,
                first: CommandId::default(),
                next: CommandId::default(),
                published: VecDeque::new(),
                completed: SequenceSet::new(),
            }
        };
        while !inlet.look(|slot| slot.is_attached)? {
            inlet.changed.notified().await;
        }
        Ok(inlet)
    }
}

/// A session at the link's own broker, in which one bridge publishes. It ends when this is dropped.
#[derive(Debug)]
pub struct Inlet {
    state: Arc<Mutex<State>>,
    channel: u16,
    changed: Arc<Notify>,
    /// The number here of the first message that is not known to be taken.
    first: CommandId,
    /// Of the next message.
    next: CommandId,
    /// The numbers at their source of those that are not known to be taken, in order.
    published: VecDeque<CommandId>,
    /// Known to be taken, and not in turn yet.
    completed: SequenceSet,
}

impl Inlet {
    /// Publishes messages, at most 2^31, to the exchanges that their transfers name, in order.
    ///
    /// # Errors
    /// The session has ended.
    pub fn publish(&mut self, messages: Vec<Delivery>) -> Result<(), Error> {
        self.look(|_| ())?;
        let numbers = messages.iter().map(|message| message.id);
        self.published.extend(numbers);
        let first = self.next;
        let count = u32::try_from(messages.len()).unwrap_or(u32::MAX);
        self.next = first.plus(count);
        self.state.lock().order([Order::Publish {
            channel: self.channel,
            first,
            messages: messages.into_iter(),
        }]);
        Ok(())
    }

    /// Whether all messages are known to be taken.
    pub fn is_done(&self) -> bool {
        self.published.is_empty()
    }

    /// Waits until more are known to be taken. Safe to give up on.
    ///
    /// # Errors
    /// The session has ended.
    pub async fn wait(&mut self) -> Result<(), Error> {
        while self.look(|slot| slot.completed.is_empty())? {
            self.changed.notified().await;
        }
        Ok(())
    }

    /// The numbers at their source of those that have been taken since this was last asked, in order.
    ///
    /// # Errors
    /// The session has ended.
    pub fn taken(&mut self, taken: &mut Vec<CommandId>) -> Result<(), Error> {
        let told = self.look(|slot| std::mem::take(&mut slot.completed))?;
        self.completed.union(&told);
        let (first, mut last) = (self.first, None);
        while self.completed.contains(self.first)
            && let Some(source) = self.published.pop_front()
        {
            taken.push(source);
            last = Some(self.first);
            self.first = self.first.next();
        }
        if let Some(last) = last {
            self.completed.remove_range(first, last);
        }
        Ok(())
    }

    /// Looks at what has become of the session.
    fn look<T>(&mut self, look: impl FnOnce(&mut Slot) -> T) -> Result<T, Error> {
        let mut state = self.state.lock();
        if state.is_over {
            return Err(gone());
        }
        let slot = state.slots.get_mut(&self.channel).ok_or_else(gone)?;
        match &slot.ended {
            Some(why) => Err(why.clone()),
            None => Ok(look(slot)),
        }
    }
}

impl Drop for Inlet {
    fn drop(&mut self) {
        let channel = self.channel;
        let mut state = self.state.lock();
        let Some(slot) = state.slots.get_mut(&channel) else {
            return;
        };
        slot.is_left = true;
        if slot.ended.is_some() {
            state.slots.remove(&channel);
        } else {
            state.order([Order::Detach { channel }]);
        }
    }
}

impl Intake {
    /// Has a task woken when there are orders.
    pub fn set_driver(&self, driver: Waker) {
        self.state.lock().driver = Some(driver);
    }

    /// Whether there are orders.
    pub fn has_orders(&self) -> bool {
        !self.orders.is_empty() || !self.state.lock().orders.is_empty()
    }

    /// What is to be done next.
    pub fn poll(&mut self) -> Option<Step> {
        loop {
            if self.orders.is_empty() {
                std::mem::swap(&mut self.state.lock().orders, &mut self.orders);
            }
            if let Order::Publish {
                channel,
                first,
                messages,
            } = self.orders.front_mut()?
                && let Some(message) = messages.next()
            {
                let id = *first;
                *first = id.next();
                return Some(Step::Publish {
                    channel: *channel,
                    id,
                    sync: messages.len() == 0,
                    message,
                });
            }
            match self.orders.pop_front()? {
                Order::Attach { channel, name } => return Some(Step::Attach { channel, name }),
                Order::Detach { channel } => return Some(Step::Detach { channel }),
                Order::Publish { .. } => {}
            }
        }
    }

    /// A session is there.
    pub fn attached(&self, channel: u16) {
        self.change(channel, |slot| slot.is_attached = true);
    }

    /// Messages are taken.
    pub fn completed(&self, channel: u16, commands: &SequenceSet) {
        self.change(channel, |slot| _ = slot.completed.union(commands));
    }

    /// A session has ended. What else was to be done in it comes to nothing.
    pub fn ended(&mut self, channel: u16, why: Error) {
        let is_others = |order: &Order| match order {
            Order::Attach { channel: at, .. }
            | Order::Publish { channel: at, .. }
            | Order::Detach { channel: at } => *at != channel,
        };
        self.orders.retain(is_others);
        self.state.lock().orders.retain(is_others);
        self.change(channel, |slot| _ = slot.ended.get_or_insert(why));
    }

    fn change(&self, channel: u16, change: impl FnOnce(&mut Slot)) {
        let mut state = self.state.lock();
        let Some(slot) = state.slots.get_mut(&channel) else {
            return;
        };
        change(slot);
        slot.changed.notify_one();
        if slot.is_left && slot.ended.is_some() {
            state.slots.remove(&channel);
        }
    }
}

impl Drop for Intake {
    fn drop(&mut self) {
        let mut state = self.state.lock();
        state.is_over = true;
        state.orders.clear();
        for slot in state.slots.values() {
            slot.changed.notify_one();
        }
    }
}
