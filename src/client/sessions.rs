//! The task's side of sessions: who waits for what.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use tokio::sync::{mpsc, oneshot};

use crate::protocol::{Body, Suspended};
use crate::wire::{Command, CommandId, SequenceSet, Struct32, Text};

use super::error::Error;
use super::message::Delivery;
use super::request::{Shared, Waiting};

/// Where a delivery went.
pub(super) enum Delivered {
    ToSink,
    /// Nobody reads this destination.
    Nowhere(Delivery),
    /// The broker sent more than its credit.
    Overrun,
}

/// A command that was sent, to be sent again.
pub(super) struct Sent {
    pub(super) command: Command,
    pub(super) header: Option<Vec<u8>>,
    pub(super) body: Option<Body>,
    pub(super) sync: bool,
}

/// A command that is not completed.
#[derive(Default)]
struct Slot {
    /// Who waits for it.
    waiting: Option<Waiting>,
    /// What is sent again, of a session with a timeout.
    sent: Option<Box<Sent>>,
}

/// One session of the connection.
pub(super) struct Entry {
    pub(super) shared: Arc<Shared>,
    /// The asker of an attach that is not answered.
    pub(super) attaching: Option<oneshot::Sender<Result<Arc<Shared>, Error>>>,
    /// The asker of a detach.
    pub(super) detaching: Option<oneshot::Sender<()>>,
    /// Why it is about to be detached, when a command failed.
    pub(super) exception: Option<Error>,
    /// Commands sent since the last one that reports all before it.
    pub(super) unsynced: bool,
    /// Incomplete commands from `first` on; empty where nobody waits and nothing is sent again.
    slots: VecDeque<Slot>,
    first: CommandId,
    /// Seconds that were asked for.
    pub(super) asked: u32,
    /// Seconds for which it outlives its connection.
    pub(super) timeout: u32,
    /// What is left of it between two connections.
    pub(super) suspended: Option<Suspended>,
    /// The connection was lost, and what was sent is not sent again yet.
    pub(super) is_resuming: bool,
    sinks: BTreeMap<Text, mpsc::Sender<Delivery>>,
}

impl Entry {
    pub(super) fn new(
        shared: Arc<Shared>,
        attaching: oneshot::Sender<Result<Arc<Shared>, Error>>,
    ) -> Entry {
        Entry {
            shared,
            attaching: Some(attaching),
            detaching: None,
            exception: None,
            unsynced: false,
            slots: VecDeque::new(),
            first: CommandId(0),
            asked: 0,
            timeout: 0,
            suspended: None,
            is_resuming: false,
            sinks: BTreeMap::new(),
        }
    }

    /// The command after the last is sent. Of a session without a timeout it is not kept.
    pub(super) fn sent(&mut self, waiting: Option<Waiting>, sent: impl FnOnce() -> Sent) {
        let sent = (self.timeout > 0).then(|| Box::new(sent()));
        self.slots.push_back(Slot { waiting, sent });
    }

    fn slot(&mut self, id: CommandId) -> Option<&mut Slot> {
        let at = usize::try_from(self.first.distance_to(id)).ok()?;
        self.slots.get_mut(at)
    }

    /// A command's result came.
    pub(super) fn result(&mut self, id: CommandId, value: Option<Struct32>) {
        if let Some(waiting) = self.slot(id).and_then(|slot| slot.waiting.as_mut()) {
            waiting.result = value;
        }
    }

    /// Commands are completed: ids that were sent, each told once.
    pub(super) fn completed(&mut self, commands: &SequenceSet) {
        for id in commands.ids() {
            let slot = self.slot(id).map(std::mem::take).unwrap_or_default();
            if let Some(waiting) = slot.waiting {
                // Whoever gave up on it does not want to know.
                let _ = waiting.reply.send(Ok(waiting.result));
            }
        }
        self.forget_completed();
    }

    fn forget_completed(&mut self) {
        let is_over = |slot: &mut Slot| slot.waiting.is_none() && slot.sent.is_none();
        while self.slots.pop_front_if(is_over).is_some() {
            self.first = self.first.next();
        }
    }

    /// The session outlives its connection for so many seconds; 0 is not at all.
    pub(super) fn granted(&mut self, timeout: u32) {
        self.timeout = timeout;
        self.shared.timeout.store(timeout, Ordering::Relaxed);
        if timeout == 0 {
            for slot in &mut self.slots {
                slot.sent = None;
            }
            self.forget_completed();
        }
    }

    /// It is attached, and has the timeout that it gets: who asked for it is told.
    pub(super) fn note_attached(&mut self) {
        if let Some(attaching) = self.attaching.take() {
            let _ = attaching.send(Ok(self.shared.clone()));
        }
    }

    /// Whether it goes on when its connection is lost now.
    pub(super) fn is_resumable(&self) -> bool {
        let is_settled = self.attaching.is_none() && self.detaching.is_none();
        self.timeout > 0 && is_settled && self.exception.is_none()
    }

    /// What is to be sent again when the broker expects these commands, with their ids; None when it
    /// knows of no session, or of another.
    pub(super) fn again(
        &self,
        expected: &SequenceSet,
    ) -> Option<impl Iterator<Item = (CommandId, &Sent)>> {
        let at = usize::try_from(self.first.distance_to(expected.first()?)).ok()?;
        if at > self.slots.len() {
            return None;
        }
        let first = self.first;
        let all = self.slots.iter().enumerate().skip(at);
        Some(all.filter_map(move |(n, slot)| {
            let id = CommandId(first.0.wrapping_add(n as u32));
            Some((id, slot.sent.as_deref()?))
        }))
    }

    pub(super) fn open_sink(&mut self, destination: Text, sink: mpsc::Sender<Delivery>) {
        self.sinks.insert(destination, sink);
    }

    /// Hands a delivery to its subscription.
    pub(super) fn deliver(&mut self, delivery: Delivery) -> Delivered {
        let destination = &delivery.transfer.destination;
        let Some(sink) = self.sinks.get(destination) else {
            return Delivered::Nowhere(delivery);
        };
        match sink.try_send(delivery) {
            Ok(()) => Delivered::ToSink,
            Err(mpsc::error::TrySendError::Full(_)) => Delivered::Overrun,
            Err(mpsc::error::TrySendError::Closed(delivery)) => {
                self.sinks.remove(&delivery.transfer.destination);
                Delivered::Nowhere(delivery)
            }
        }
    }

    /// The session is gone: everybody who waits is told why.
    pub(super) fn end(mut self, error: &Error) {
        let error = self.exception.take().unwrap_or_else(|| error.clone());
        self.shared.end(error.clone());
        if let Some(attaching) = self.attaching.take() {
            let _ = attaching.send(Err(error.clone()));
        }
        if let Some(detaching) = self.detaching.take() {
            let _ = detaching.send(());
        }
        for waiting in self.slots.into_iter().filter_map(|slot| slot.waiting) {
            let _ = waiting.reply.send(Err(error.clone()));
        }
    }
}
