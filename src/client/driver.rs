//! The task of a connection: it alone touches the socket and the state machine.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use bytes::BytesMut;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::{Notify, mpsc, oneshot, watch};
use tokio::time::{Instant, sleep_until};

use crate::protocol::{ClosedBy, Connection, Content, Event, Pieces, Time, Tuned};
use crate::wire::{
    AcceptMode, CloseCode, Command, CommandId, DetachCode, ExecutionSync, Map, MessageRelease,
    SequenceSet, Text,
};

use super::error::Error;
use super::limits;
use super::message::Delivery;
use super::options::Sasl;
use super::request::{Outgoing, Request, Shared};
use super::resuming::{Dialer, Lost};
use super::sessions::{Delivered, Entry, Sent};

/// What is known of the broker once the connection is open.
#[derive(Clone, Debug, Default)]
pub(super) struct Opened {
    pub(super) server_properties: Map,
    pub(super) mechanism: Text,
    pub(super) known_hosts: Vec<Text>,
    pub(super) tuned: Tuned,
}

/// Who waits for the connection to open.
pub(super) type Opening = oneshot::Sender<Result<Opened, Error>>;

pub(super) struct Driver {
    pub(super) connection: Connection,
    started: Instant,
    sasl: Sasl,
    pub(super) requests: mpsc::Receiver<Request>,
    opening: Option<Opening>,
    opened: Opened,
    pub(super) sessions: BTreeMap<u16, Entry>,
    /// Channels of sessions that were lost: what the broker has attached there instead is being detached,
    /// and until it has said so nobody else can have them.
    pub(super) leaving: BTreeSet<u16>,
    wake: Arc<Notify>,
    /// A subscription wants the broker told what was taken.
    woken: bool,
    /// Why the connection ended, for everybody.
    closed: watch::Sender<Option<Error>>,
    /// Where a broker is looked for when the connection is lost.
    pub(super) dialer: Option<Dialer>,
    /// While it is.
    pub(super) lost: Option<Lost>,
    /// What became of the socket.
    socket_error: Option<Error>,
    /// The connection is closed on purpose.
    pub(super) is_closing: bool,
}

impl Driver {
    pub(super) fn new(
        connection: impl FnOnce(Time) -> Connection,
        sasl: Sasl,
        requests: mpsc::Receiver<Request>,
        opening: Opening,
        closed: watch::Sender<Option<Error>>,
        dialer: Option<Dialer>,
    ) -> Driver {
        Driver {
            connection: connection(Time(0)),
            started: Instant::now(),
            sasl,
            requests,
            opening: Some(opening),
            opened: Opened::default(),
            sessions: BTreeMap::new(),
            leaving: BTreeSet::new(),
            wake: Arc::new(Notify::new()),
            woken: false,
            closed,
            dialer,
            lost: None,
            socket_error: None,
            is_closing: false,
        }
    }

    pub(super) fn now(&self) -> Time {
        Time(u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX))
    }

    /// Runs until the connection has ended and everything is written, and none is to take its place.
    pub(super) async fn run(mut self, stream: impl AsyncRead + AsyncWrite) {
        self.serve(stream).await;
        while let Some(stream) = self.dial_again().await {
            self.serve(stream).await;
        }
    }

    /// Runs until a connection has ended and everything is written.
    async fn serve(&mut self, stream: impl AsyncRead + AsyncWrite) {
        let (mut reader, mut writer) = tokio::io::split(stream);
        let mut buffer = BytesMut::new();
        let mut batch = Vec::with_capacity(limits::REQUESTS_BATCH);
        let mut handles = true;
        loop {
            self.settle();
            if self.connection.should_close_socket() {
                break;
            }
            let due = self.connection.poll_timeout();
            let deadline = self.started + Duration::from_millis(due.map_or(0, |time| time.0));
            let reads = self.connection.wants_input();
            let writes = !self.connection.output().is_empty();
            let has_room = self.connection.output().len() < limits::OUTPUT_BYTES_MAX;
            // While sessions are being resumed what was sent before goes first.
            let takes = handles && has_room && !self.is_resuming();
            let attempt_until = self.lost.as_ref().and_then(|lost| lost.attempt_until);
            if buffer.capacity() < limits::READ_BYTES / 2 {
                buffer.reserve(limits::READ_BYTES);
            }
            tokio::select! {
                read = reader.read_buf(&mut buffer), if reads => match read {
                    Ok(0) => self.connection.handle_end_of_input(),
                    Ok(_) => {
                        let now = self.now();
                        self.connection.handle_input(now, &mut buffer);
                    }
                    Err(error) => self.lost(error.into()),
                },
                written = writer.write_buf(self.connection.output()), if writes => {
                    if let Err(error) = written {
                        self.lost(error.into());
                    }
                }
                taken = self.requests.recv_many(&mut batch, limits::REQUESTS_BATCH), if takes => {
                    if taken == 0 {
                        handles = false;
                        self.close();
                    }
                    for request in batch.drain(..) {
                        self.request(request);
                    }
                    self.sync_sessions();
                }
                () = self.wake.notified() => self.woken = true,
                () = sleep_until(attempt_until.unwrap_or(self.started)), if attempt_until.is_some() => {
                    self.lost(Error::TimedOut);
                }
                () = sleep_until(deadline), if due.is_some() => {
                    let now = self.now();
                    self.connection.handle_timeout(now);
                }
            }
        }
        // The peer may have gone first; there is nobody to tell.
        let _ = writer.shutdown().await;
    }

    /// The socket failed.
    fn lost(&mut self, error: Error) {
        self.socket_error = Some(error);
        self.connection.handle_end_of_input();
    }

    /// Closes the connection, which was asked for.
    fn close(&mut self) {
        self.is_closing = true;
        self.give_up_timeouts();
        self.connection.close(CloseCode::NORMAL, "");
    }

    /// Takes in what has happened, until nothing more does.
    fn settle(&mut self) {
        while let Some(event) = self.connection.poll_event() {
            self.event(event);
        }
        for (channel, entry) in &mut self.sessions {
            if entry.suspended.is_some() {
                continue;
            }
            let taken = std::mem::take(&mut *entry.shared.taken.lock());
            if !taken.is_empty() {
                self.connection.complete(*channel, &taken);
            }
            if self.woken {
                self.connection.send_completed(*channel);
            }
        }
        self.woken = false;
    }

    fn event(&mut self, event: Event) {
        match event {
            Event::Start {
                server_properties,
                mechanisms,
                locales,
            } => {
                self.start(server_properties, &mechanisms, &locales);
            }
            Event::Secure { challenge } => {
                match self.sasl.response(&self.opened.mechanism, &challenge) {
                    Some(response) => self.connection.secure_ok(response),
                    None => self
                        .connection
                        .close(CloseCode::CONNECTION_FORCED, "no response"),
                }
            }
            Event::Tuned(_) if !self.sasl.is_broker_proved() => {
                self.end(&Error::NotProved);
                self.connection
                    .close(CloseCode::CONNECTION_FORCED, "no proof");
            }
            Event::Tuned(tuned) => self.opened.tuned = tuned,
            Event::OpenOk { known_hosts } => {
                if let Some(dialer) = &mut self.dialer {
                    dialer.learn(&known_hosts);
                }
                self.opened.known_hosts = known_hosts;
                if self.is_resuming() {
                    self.attach_again();
                }
                if let Some(opening) = self.opening.take() {
                    let _ = opening.send(Ok(self.opened.clone()));
                }
            }
            Event::Redirect { .. } if self.is_resuming() => {}
            Event::Redirect { host, .. } => self.end(&Error::Redirected { host }),
            Event::Closed { code, text, by } => {
                let closed = Error::Closed { code, text, by };
                let error = self.socket_error.take().unwrap_or(closed);
                self.connection_ended(error, (code, by));
            }
            event => self.session_event(event),
        }
    }

    fn session_event(&mut self, event: Event) {
        match event {
            Event::Attached { channel, .. } => self.attached(channel),
            Event::Timeout { channel, timeout } => {
                if let Some(entry) = self.sessions.get_mut(&channel) {
                    entry.granted(timeout.unwrap_or(u32::MAX));
                    entry.note_attached();
                }
            }
            Event::Expected { channel, commands } => self.expected(channel, &commands),
            Event::Detached { channel, code, .. } => {
                if self.leaving.remove(&channel) {
                    return;
                }
                if let Some(entry) = self.sessions.remove(&channel) {
                    entry.end(&Error::Detached(code));
                }
                self.note_resumed();
            }
            Event::Exception { channel, exception } => {
                if let Some(entry) = self.sessions.get_mut(&channel) {
                    entry.exception = Some(Error::Exception(Box::new(exception)));
                }
            }
            Event::Completed {
                channel, commands, ..
            } => {
                if let Some(entry) = self.sessions.get_mut(&channel) {
                    entry.completed(&commands);
                }
            }
            Event::Result {
                channel,
                command_id,
                value,
            } => {
                if let Some(entry) = self.sessions.get_mut(&channel) {
                    entry.result(command_id, value);
                }
            }
            Event::Command {
                channel,
                id,
                command: Command::MessageTransfer(transfer),
                header,
                body,
                ..
            } => self.deliver(
                channel,
                Delivery {
                    id,
                    transfer,
                    header,
                    body,
                },
            ),
            // The broker's accepts and what it confirms change nothing here.
            _ => {}
        }
    }

    fn start(&mut self, server_properties: Map, mechanisms: &[Text], locales: &[Text]) {
        self.opened.server_properties = server_properties;
        match self.sasl.choose(mechanisms) {
            Ok((mechanism, response)) => {
                let locale = locales.first().map_or("en_US", Text::as_str);
                self.connection.start_ok(&mechanism, Some(response), locale);
                self.opened.mechanism = mechanism;
            }
            Err(error) => {
                if !self.is_resuming() {
                    self.end(&error);
                }
                self.connection
                    .close(CloseCode::CONNECTION_FORCED, "no usable mechanism");
            }
        }
    }

    fn deliver(&mut self, channel: u16, delivery: Delivery) {
        let Some(entry) = self.sessions.get_mut(&channel) else {
            return;
        };
        match entry.deliver(delivery) {
            Delivered::ToSink => {}
            Delivered::Nowhere(delivery) => {
                // The subscription is being cancelled: what it has not seen goes back.
                let transfers = SequenceSet::of(delivery.id);
                self.connection.complete(channel, &transfers);
                if delivery.transfer.accept_mode == Some(AcceptMode::EXPLICIT) {
                    let release = MessageRelease {
                        transfers,
                        set_redelivered: false,
                    };
                    self.send_own(channel, &Command::MessageRelease(release));
                }
            }
            Delivered::Overrun => {
                self.connection
                    .close(CloseCode::FRAMING_ERROR, "more messages than credit");
            }
        }
    }

    fn request(&mut self, request: Request) {
        match request {
            Request::Attach {
                name,
                timeout,
                reply,
            } => self.attach(name, timeout, reply),
            Request::Command(outgoing) => self.command(*outgoing),
            Request::Sink {
                session,
                destination,
                sink,
            } => {
                if let Some(entry) = self.entry(&session) {
                    entry.open_sink(destination, sink);
                }
            }
            Request::Detach { session, reply } => {
                let channel = session.channel;
                if let Some(entry) = self.entry(&session) {
                    entry.detaching = Some(reply);
                    let is_kept = entry.timeout > 0;
                    self.settle();
                    if is_kept {
                        // The broker is not to keep it.
                        self.request_timeout(channel, 0);
                    }
                    self.connection.send_completed(channel);
                    self.connection.detach(channel);
                }
            }
            Request::Close => self.close(),
        }
    }

    /// The entry of a session, unless it has ended and its channel is another's.
    fn entry(&mut self, session: &Arc<Shared>) -> Option<&mut Entry> {
        let entry = self.sessions.get_mut(&session.channel)?;
        Arc::ptr_eq(&entry.shared, session).then_some(entry)
    }

    /// The broker has attached a session; one that is to have a timeout asks for it now.
    fn attached(&mut self, channel: u16) {
        let Some(entry) = self.sessions.get_mut(&channel) else {
            return;
        };
        match entry.asked {
            0 => entry.note_attached(),
            asked if entry.attaching.is_some() => self.request_timeout(channel, asked),
            _ => {}
        }
    }

    fn attach(
        &mut self,
        name: Vec<u8>,
        timeout: u32,
        reply: oneshot::Sender<Result<Arc<Shared>, Error>>,
    ) {
        if let Some(error) = self.closed.borrow().clone() {
            let _ = reply.send(Err(error));
            return;
        }
        let is_free = |at: &u16| !self.sessions.contains_key(at) && !self.leaving.contains(at);
        let free = (0..=self.opened.tuned.channel_max).find(is_free);
        let Some(channel) = free else {
            let _ = reply.send(Err(Error::NoChannel));
            return;
        };
        self.connection.attach(channel, name.clone(), false);
        let shared = Arc::new(Shared::new(name, channel, self.wake.clone()));
        let mut entry = Entry::new(shared, reply);
        entry.asked = timeout;
        self.sessions.insert(channel, entry);
    }

    fn command(&mut self, outgoing: Outgoing) {
        let Outgoing {
            session,
            command,
            header,
            body,
            sync,
            waiting,
        } = outgoing;
        let channel = session.channel;
        let live = self
            .entry(&session)
            .is_some_and(|entry| entry.exception.is_none());
        let content = (header.is_some() || body.is_some()).then_some(Content {
            header: header.as_deref(),
            body: body.as_deref().map(Pieces::Shared),
        });
        let sent = match live {
            true => self.connection.send(channel, &command, sync, content),
            false => None,
        };
        match (sent, self.sessions.get_mut(&channel)) {
            (Some(_), Some(entry)) => {
                // A command that must be reported says so itself; those before it may be done
                // later than it is.
                entry.unsynced |= !sync;
                if matches!(command, Command::ExecutionSync(_)) {
                    entry.unsynced = false;
                }
                entry.sent(Some(waiting), || Sent {
                    command,
                    header,
                    body,
                    sync,
                });
            }
            (_, entry) => {
                let failed = entry
                    .filter(|entry| Arc::ptr_eq(&entry.shared, &session))
                    .and_then(|entry| entry.exception.clone());
                let _ = waiting
                    .reply
                    .send(Err(failed.unwrap_or_else(|| session.ended())));
            }
        }
    }

    /// Sends a command that nobody waits for.
    fn send_own(&mut self, channel: u16, command: &Command) -> Option<CommandId> {
        let entry = self.sessions.get_mut(&channel)?;
        // What is sent while the session is being resumed goes with what is sent again.
        let id = match entry.is_resuming {
            true => self.connection.take_id(channel)?,
            false => self.connection.send(channel, command, true, None)?,
        };
        entry.sent(None, || Sent {
            command: command.clone(),
            header: None,
            body: None,
            sync: true,
        });
        Some(id)
    }

    /// Brokers report completions only when asked: asks once for a batch of commands.
    pub(super) fn sync_sessions(&mut self) {
        let mut unsynced = Vec::new();
        for (channel, entry) in &mut self.sessions {
            if std::mem::take(&mut entry.unsynced) {
                unsynced.push(*channel);
            }
        }
        for channel in unsynced {
            self.send_own(channel, &Command::ExecutionSync(ExecutionSync {}));
        }
    }

    /// The connection has ended; the first reason stays.
    pub(super) fn end(&mut self, error: &Error) {
        self.closed.send_if_modified(|closed| {
            let first = closed.is_none();
            if first {
                *closed = Some(error.clone());
            }
            first
        });
        if let Some(opening) = self.opening.take() {
            let _ = opening.send(Err(error.clone()));
        }
        for (_, entry) in std::mem::take(&mut self.sessions) {
            entry.end(error);
        }
    }
}

impl Drop for Driver {
    /// The runtime may stop the task at any point: nobody is left waiting.
    fn drop(&mut self) {
        let error = Error::Closed {
            code: CloseCode::CONNECTION_FORCED,
            text: "the connection's task has ended".into(),
            by: ClosedBy::Us,
        };
        self.end(&error);
        // The first reason is the one to be told.
        let error = self.closed.borrow().clone().unwrap_or(error);
        let detached = Error::Detached(DetachCode::NOT_ATTACHED);
        self.requests.close();
        while let Ok(request) = self.requests.try_recv() {
            match request {
                Request::Attach { reply, .. } => {
                    let _ = reply.send(Err(error.clone()));
                }
                Request::Command(outgoing) => outgoing.session.end(detached.clone()),
                Request::Sink { .. } | Request::Detach { .. } | Request::Close => {}
            }
        }
    }
}
