//! A session of a client.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};

use crate::wire::{
    Command, ExecutionSync, MessageAccept, MessageReject, MessageRelease, MessageSubscribe,
    MessageTransfer, SequenceSet, Struct, Struct32, TxCommit, TxRollback, TxSelect,
};

use super::error::Error;
use super::limits;
use super::message::Message;
use super::request::{Completion, Content, Outgoing, Request, Shared, Waiting};
use super::subscription::{Flow, Subscription};

/// A session: a line of commands that are done in order. Cheap to clone; clones are the same
/// session. When a command fails the session ends, and everything later on it fails with the
/// same exception.
#[derive(Clone)]
pub struct Session {
    pub(super) shared: Arc<Shared>,
    pub(super) requests: mpsc::Sender<Request>,
}

impl Session {
    /// The session's name.
    pub fn name(&self) -> &[u8] {
        &self.shared.name
    }

    /// For how long the broker keeps the session when its connection is lost; 0 is not at all. The
    /// broker may take it back.
    pub fn timeout(&self) -> Duration {
        Duration::from_secs(self.shared.timeout.load(Ordering::Relaxed).into())
    }

    /// Sends a command without waiting for its completion, which the returned future brings.
    /// Waits while too many commands of the session are incomplete, or the socket is behind.
    ///
    /// # Errors
    /// The session has ended.
    pub async fn command(
        &self,
        command: Command,
        message: Option<&Message>,
    ) -> Result<Completion, Error> {
        let content = match message {
            Some(message) => (Some(message.header()), Some(message.body.clone())),
            None => (None, None),
        };
        self.send(command, content, false).await
    }

    /// Sends a command and waits for its completion; its result, if it has one.
    ///
    /// # Errors
    /// The command failed, or the session or connection ended before its completion.
    pub async fn call(&self, command: Command) -> Result<Option<Struct32>, Error> {
        self.send(command, (None, None), true).await?.await
    }

    /// Sends a query and waits for its result.
    ///
    /// # Errors
    /// As for [`call`](Session::call); also when the result is missing or cannot be read.
    pub async fn query<T: Struct>(&self, command: Command) -> Result<T, Error> {
        let result = self.call(command).await?.ok_or(Error::NoResult)?;
        Ok(result.parse()?)
    }

    /// Publishes to an exchange (`""` routes by queue name) in explicit accept mode, and does
    /// not wait for the completion.
    ///
    /// # Errors
    /// The session has ended.
    pub async fn publish(&self, exchange: &str, message: &Message) -> Result<Completion, Error> {
        let transfer = MessageTransfer {
            destination: exchange.into(),
            ..MessageTransfer::default()
        };
        self.command(Command::MessageTransfer(transfer), Some(message))
            .await
    }

    /// Sends a transfer whose header and body are passed on as they are, as links do; `None`
    /// leaves the segment out.
    ///
    /// # Errors
    /// The session has ended.
    pub async fn forward(
        &self,
        transfer: MessageTransfer,
        header: Option<Vec<u8>>,
        body: Option<crate::protocol::Body>,
    ) -> Result<Completion, Error> {
        self.send(Command::MessageTransfer(transfer), (header, body), false)
            .await
    }

    /// Waits until every command sent before on this session is completed.
    ///
    /// # Errors
    /// One of them failed, or the session or connection ended.
    pub async fn sync(&self) -> Result<(), Error> {
        self.call(Command::ExecutionSync(ExecutionSync {}))
            .await
            .map(drop)
    }

    /// Subscribes. Deliveries come to the returned subscription, which gives credit as `flow`
    /// says. An empty destination is taken to be the queue's name.
    ///
    /// # Errors
    /// The broker refused, or the session or connection ended.
    pub async fn subscribe(
        &self,
        mut subscribe: MessageSubscribe,
        flow: Flow,
    ) -> Result<Subscription, Error> {
        if subscribe.destination.is_empty() {
            subscribe.destination = subscribe.queue.clone();
        }
        let (sink, deliveries) = mpsc::channel(flow.room());
        let subscription = Subscription::new(self.clone(), &subscribe, deliveries, flow);
        let session = self.shared.clone();
        let destination = subscribe.destination.clone();
        self.request(Request::Sink {
            session,
            destination,
            sink,
        })
        .await?;
        self.call(Command::MessageSubscribe(subscribe)).await?;
        subscription.start().await?;
        Ok(subscription)
    }

    /// Accepts transfers: the broker may forget them. The completion says that it has.
    ///
    /// # Errors
    /// The session has ended.
    pub async fn accept(&self, transfers: SequenceSet) -> Result<Completion, Error> {
        self.send(
            Command::MessageAccept(MessageAccept { transfers }),
            (None, None),
            false,
        )
        .await
    }

    /// Gives transfers back to their queue.
    ///
    /// # Errors
    /// The session has ended.
    pub async fn release(
        &self,
        transfers: SequenceSet,
        set_redelivered: bool,
    ) -> Result<Completion, Error> {
        let release = Command::MessageRelease(MessageRelease {
            transfers,
            set_redelivered,
        });
        self.send(release, (None, None), false).await
    }

    /// Rejects transfers: the broker routes them to the alternate exchange or drops them.
    ///
    /// # Errors
    /// The session has ended.
    pub async fn reject(&self, transfers: SequenceSet) -> Result<Completion, Error> {
        let reject = MessageReject {
            transfers,
            ..MessageReject::default()
        };
        self.send(Command::MessageReject(reject), (None, None), false)
            .await
    }

    /// Makes the session transactional.
    ///
    /// # Errors
    /// As for [`call`](Session::call).
    pub async fn tx_select(&self) -> Result<(), Error> {
        self.call(Command::TxSelect(TxSelect {})).await.map(drop)
    }

    /// Commits the transaction; the next one begins.
    ///
    /// # Errors
    /// As for [`call`](Session::call).
    pub async fn tx_commit(&self) -> Result<(), Error> {
        self.call(Command::TxCommit(TxCommit {})).await.map(drop)
    }

    /// Rolls the transaction back; the next one begins.
    ///
    /// # Errors
    /// As for [`call`](Session::call).
    pub async fn tx_rollback(&self) -> Result<(), Error> {
        self.call(Command::TxRollback(TxRollback {}))
            .await
            .map(drop)
    }

    /// Detaches, when everything sent before is completed.
    ///
    /// # Errors
    /// The session had ended before, or the connection has.
    pub async fn detach(self) -> Result<(), Error> {
        self.sync().await?;
        let (reply, detached) = oneshot::channel();
        self.request(Request::Detach {
            session: self.shared.clone(),
            reply,
        })
        .await?;
        detached.await.map_err(|_| self.shared.ended())
    }

    /// Sends a command; `sync` asks for its completion at once.
    pub(super) async fn send(
        &self,
        command: Command,
        content: Content,
        sync: bool,
    ) -> Result<Completion, Error> {
        let permits = self.shared.permits.clone();
        let permit = permits
            .acquire_owned()
            .await
            .map_err(|_| self.shared.ended())?;
        let (reply, outcome) = oneshot::channel();
        let (header, body) = content;
        let session = self.shared.clone();
        let waiting = Waiting {
            reply,
            result: None,
            _permit: permit,
        };
        let outgoing = Outgoing {
            session,
            command,
            header,
            body,
            sync,
            waiting,
        };
        self.request(Request::Command(Box::new(outgoing))).await?;
        Ok(Completion {
            outcome,
            session: self.shared.clone(),
        })
    }

    async fn request(&self, request: Request) -> Result<(), Error> {
        self.requests
            .send(request)
            .await
            .map_err(|_| self.shared.ended())
    }

    /// Takes note that the application is done with transfers; the broker is told soon.
    pub(super) fn done(&self, ids: &SequenceSet) {
        self.shared.taken.lock().union(ids);
        self.shared.wake();
    }

    /// Takes note that the application has a transfer; the broker is told soon when `now`.
    pub(super) fn taken(&self, id: crate::wire::CommandId, now: bool) {
        let many = {
            let mut taken = self.shared.taken.lock();
            taken.insert(id);
            taken.ranges().len() > limits::TAKEN_RANGES_MAX
        };
        if now || many {
            self.shared.wake();
        }
    }
}
