//! The task's side of sessions: who waits for what.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use tokio::sync::{mpsc, oneshot};

use crate::wire::{CommandId, SequenceSet, Struct32, Text};

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
    /// Incomplete commands from `first` on; `None` where nobody waits.
    waiting: VecDeque<Option<Waiting>>,
    first: CommandId,
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
            waiting: VecDeque::new(),
            first: CommandId(0),
            sinks: BTreeMap::new(),
        }
    }

    /// The command `id`, the one after the last, is sent.
    pub(super) fn sent(&mut self, waiting: Option<Waiting>) {
        self.waiting.push_back(waiting);
    }

    fn slot(&mut self, id: CommandId) -> Option<&mut Option<Waiting>> {
        let at = usize::try_from(self.first.distance_to(id)).ok()?;
        self.waiting.get_mut(at)
    }

    /// A command's result came.
    pub(super) fn result(&mut self, id: CommandId, value: Option<Struct32>) {
        if let Some(Some(waiting)) = self.slot(id) {
            waiting.result = value;
        }
    }

    /// Commands are completed: ids that were sent, each told once.
    pub(super) fn completed(&mut self, commands: &SequenceSet) {
        for id in commands.ids() {
            if let Some(waiting) = self.slot(id).and_then(Option::take) {
                // Whoever gave up on it does not want to know.
                let _ = waiting.reply.send(Ok(waiting.result));
            }
        }
        while let Some(None) = self.waiting.front() {
            self.waiting.pop_front();
            self.first = self.first.next();
        }
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
        for waiting in self.waiting.into_iter().flatten() {
            let _ = waiting.reply.send(Err(error.clone()));
        }
    }
}
