//! What handles ask of the connection's task.

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::AtomicU32;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};

use parking_lot::Mutex;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, mpsc, oneshot};

use crate::protocol::Body;
use crate::wire::{Command, DetachCode, SequenceSet, Struct32, Text};

use super::error::Error;
use super::limits;
use super::message::Delivery;

/// How a command ended: its result, if it has one.
pub(super) type Outcome = Result<Option<Struct32>, Error>;

/// Something to do, in the order of asking.
pub(super) enum Request {
    /// Attach a session to a free channel.
    Attach {
        name: Vec<u8>,
        /// Seconds for which it is to outlive its connection.
        timeout: u32,
        reply: oneshot::Sender<Result<Arc<Shared>, Error>>,
    },
    /// Send a command.
    Command(Box<Outgoing>),
    /// Give the transfers with this destination to this sink.
    Sink {
        session: Arc<Shared>,
        destination: Text,
        sink: mpsc::Sender<Delivery>,
    },
    /// Detach a session.
    Detach {
        session: Arc<Shared>,
        reply: oneshot::Sender<()>,
    },
    /// Close the connection.
    Close,
}

/// A command to send.
pub(super) struct Outgoing {
    pub(super) session: Arc<Shared>,
    pub(super) command: Command,
    pub(super) header: Option<Vec<u8>>,
    pub(super) body: Option<Body>,
    pub(super) sync: bool,
    pub(super) waiting: Waiting,
}

/// Somebody who waits for a command.
pub(super) struct Waiting {
    pub(super) reply: oneshot::Sender<Outcome>,
    pub(super) result: Option<Struct32>,
    /// The command's share of what may be incomplete.
    pub(super) _permit: OwnedSemaphorePermit,
}

/// What the handles of a session and the task both know of it.
pub(super) struct Shared {
    pub(super) name: Vec<u8>,
    pub(super) channel: u16,
    /// Why it ended, once it has.
    ended: OnceLock<Error>,
    pub(super) permits: Arc<Semaphore>,
    /// Transfers that the application has taken and the broker has not been told of.
    pub(super) taken: Mutex<SequenceSet>,
    /// Wakes the task to look at `taken`.
    wake: Arc<Notify>,
    /// Seconds for which the session outlives its connection.
    pub(super) timeout: AtomicU32,
}

impl Shared {
    pub(super) fn new(name: Vec<u8>, channel: u16, wake: Arc<Notify>) -> Shared {
        Shared {
            name,
            channel,
            ended: OnceLock::new(),
            permits: Arc::new(Semaphore::new(limits::INCOMPLETE_MAX)),
            taken: Mutex::new(SequenceSet::new()),
            wake,
            timeout: AtomicU32::new(0),
        }
    }

    /// The session has ended; the first reason stays.
    pub(super) fn end(&self, error: Error) {
        self.ended.get_or_init(|| error);
        self.permits.close();
    }

    /// Why the session ended; not attached, when it is not known to have.
    pub(super) fn ended(&self) -> Error {
        self.ended
            .get()
            .cloned()
            .unwrap_or(Error::Detached(DetachCode::NOT_ATTACHED))
    }

    pub(super) fn wake(&self) {
        self.wake.notify_one();
    }
}

/// The completion of a command that has been sent: a future of its result, if it has one.
///
/// It need not be awaited: the command is completed all the same.
pub struct Completion {
    pub(super) outcome: oneshot::Receiver<Outcome>,
    pub(super) session: Arc<Shared>,
}

impl Future for Completion {
    type Output = Result<Option<Struct32>, Error>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.outcome)
            .poll(context)
            .map(|outcome| outcome.unwrap_or_else(|_| Err(self.session.ended())))
    }
}

/// Content of a command in transit to the task.
pub(super) type Content = (Option<Vec<u8>>, Option<Body>);
