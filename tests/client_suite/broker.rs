//! A broker of a few lines: queues by name, one reader each, completions only when asked, as
//! qpidd does. It serves one connection after the other, each on a task of its own.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use ferrymq::client::{Client, Error, Options, Session};
use ferrymq::protocol::{Body, BrokerConfig, Connection, Content, Event, Pieces, Time};
use ferrymq::wire::url::Url;
use ferrymq::wire::{
    AcceptMode, CloseCode, Command, CommandId, Control, CreditUnit, DetachCode, ErrorCode,
    ExecutionException, ExecutionResult, FlowMode, MessageAccept, MessageTransfer,
    QueueQueryResult, SequenceSet, SessionCompleted, Struct32, Text, header,
};
use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpListener;

/// What the broker does that good ones do not.
#[derive(Clone, Debug, Default)]
pub struct Manners {
    pub mechanisms: Vec<Text>,
    pub challenges: bool,
    pub known_hosts: Vec<Text>,
    /// Never completes anything.
    pub lazy: bool,
    /// Delivers without credit.
    pub pushy: bool,
    /// Closes the connection on the first command.
    pub closes: bool,
}

/// Header and body segment of a message.
pub type Stored = (Option<Bytes>, Option<Body>);

/// What the broker has seen.
#[derive(Debug, Default)]
pub struct Seen {
    pub queues: BTreeMap<Text, VecDeque<Stored>>,
    pub commands: Vec<Command>,
    pub accepted: SequenceSet,
    pub released: SequenceSet,
    pub completed: SequenceSet,
    pub users: Vec<Text>,
    pub connections: usize,
    pub unread_max: i64,
}

pub type Shared = Arc<Mutex<Seen>>;

struct Reader {
    queue: Text,
    accept_mode: AcceptMode,
    window: bool,
    credit: u32,
}

/// One session of one connection.
#[derive(Default)]
struct Line {
    readers: BTreeMap<Text, Reader>,
    sent: BTreeMap<u32, Text>,
    next: CommandId,
    done: SequenceSet,
}

/// Serves one stream until it ends.
pub async fn serve(stream: impl AsyncRead + AsyncWrite, manners: Manners, seen: Shared) {
    let (mut reader, mut writer) = tokio::io::split(stream);
    seen.lock().connections += 1;
    let mechanisms = match manners.mechanisms.is_empty() {
        true => vec!["ANONYMOUS".into(), "PLAIN".into()],
        false => manners.mechanisms.clone(),
    };
    let config = BrokerConfig {
        mechanisms,
        ..BrokerConfig::default()
    };
    let mut serving = Serving {
        end: Connection::broker(config, Time(0)),
        lines: BTreeMap::new(),
        manners,
        seen,
    };
    let mut buffer = BytesMut::with_capacity(65_536);
    loop {
        while let Some(event) = serving.end.poll_event() {
            serving.event(event);
        }
        while !serving.end.output().is_empty() {
            if writer.write_buf(serving.end.output()).await.is_err() {
                return;
            }
        }
        if serving.end.should_close_socket() {
            let _ = writer.shutdown().await;
            return;
        }
        buffer.reserve(65_536);
        match reader.read_buf(&mut buffer).await {
            Ok(0) | Err(_) => return,
            Ok(_) => serving.end.handle_input(Time(0), &mut buffer),
        }
    }
}

struct Serving {
    end: Connection,
    lines: BTreeMap<u16, Line>,
    manners: Manners,
    seen: Shared,
}

impl Serving {
    fn event(&mut self, event: Event) {
        match event {
            Event::StartOk {
                mechanism,
                response,
                ..
            } => {
                self.seen.lock().users.push(mechanism.clone());
                let right = response.as_deref() == Some(b"\0guest\0guest");
                match (mechanism.as_str(), right, self.manners.challenges) {
                    (_, _, true) => self.end.secure(b"?".to_vec()),
                    // Whoever it is, it lets everybody in.
                    ("SCRAM-SHA-256", ..) => self.end.authenticated(),
                    ("ANONYMOUS", ..) | ("PLAIN", true, _) => self.end.authenticated(),
                    _ => self
                        .end
                        .close(CloseCode::CONNECTION_FORCED, "Authentication failed"),
                }
            }
            Event::SecureOk { .. } => self.end.authenticated(),
            Event::Open { .. } => self.end.open_ok(&self.manners.known_hosts),
            Event::Attach { channel, name, .. } if name == b"busy" => {
                self.end.detached(channel, DetachCode::SESSION_BUSY);
            }
            Event::Attach { channel, .. } => {
                self.end.attached(channel);
                self.lines.insert(channel, Line::default());
            }
            Event::Detach { channel, .. } => {
                self.lines.remove(&channel);
                self.end.detached(channel, DetachCode::NORMAL);
            }
            Event::Completed {
                channel, commands, ..
            } => self.completed(channel, &commands),
            Event::Command {
                channel,
                id,
                sync,
                command,
                header,
                body,
            } => {
                self.command(channel, id, sync, command, header, body);
            }
            _ => {}
        }
    }

    fn command(
        &mut self,
        channel: u16,
        id: CommandId,
        sync: bool,
        command: Command,
        header: Option<Bytes>,
        body: Option<Body>,
    ) {
        if self.manners.closes {
            self.end
                .close(CloseCode::CONNECTION_FORCED, "Closed by Management Request");
            return;
        }
        self.seen.lock().commands.push(command.clone());
        let refused = match command {
            Command::MessageTransfer(transfer) => {
                self.transfer(channel, id, &transfer, header, body)
            }
            Command::QueueQuery(query) => self.query(channel, id, query.queue),
            command => self.credit(channel, command),
        };
        match refused {
            Some(code) => self.fail(channel, id, code),
            None => {
                self.done(channel, id, sync);
                self.deliver(channel);
            }
        }
    }

    /// Sends a command of the broker.
    fn say(&mut self, channel: u16, command: &Command) {
        if let Some(line) = self.lines.get_mut(&channel) {
            self.end
                .send_command(channel, line.next, command, false, None);
            line.next = line.next.next();
        }
    }

    fn transfer(
        &mut self,
        channel: u16,
        id: CommandId,
        transfer: &MessageTransfer,
        header: Option<Bytes>,
        body: Option<Body>,
    ) -> Option<ErrorCode> {
        if transfer.destination == "nowhere" {
            return Some(ErrorCode::NOT_FOUND);
        }
        let parts = header::split(header.as_deref().unwrap_or_default()).unwrap();
        let key = parts
            .delivery
            .unwrap_or_default()
            .routing_key
            .unwrap_or_default();
        self.seen
            .lock()
            .queues
            .entry(key)
            .or_default()
            .push_back((header, body));
        let accept = MessageAccept {
            transfers: SequenceSet::of(id),
        };
        self.say(channel, &Command::MessageAccept(accept));
        None
    }

    fn query(&mut self, channel: u16, id: CommandId, queue: Text) -> Option<ErrorCode> {
        let count = self.seen.lock().queues.get(&queue).map_or(0, VecDeque::len);
        let message_count = count as u32;
        let result = QueueQueryResult {
            queue,
            message_count,
            ..Default::default()
        };
        let value = Some(Struct32::of(&result));
        self.say(
            channel,
            &Command::ExecutionResult(ExecutionResult {
                command_id: id,
                value,
            }),
        );
        None
    }

    /// Subscriptions, credit and settlement.
    fn credit(&mut self, channel: u16, command: Command) -> Option<ErrorCode> {
        let line = self.lines.get_mut(&channel)?;
        match command {
            Command::MessageSubscribe(subscribe) => {
                if subscribe.queue == "missing" {
                    return Some(ErrorCode::NOT_FOUND);
                }
                let (queue, accept_mode) = (subscribe.queue, subscribe.accept_mode);
                let reader = Reader {
                    queue,
                    accept_mode,
                    window: true,
                    credit: 0,
                };
                line.readers.insert(subscribe.destination, reader);
            }
            Command::MessageSetFlowMode(mode) => {
                if let Some(reader) = line.readers.get_mut(&mode.destination) {
                    reader.window = mode.flow_mode == FlowMode::WINDOW;
                }
            }
            Command::MessageFlow(flow) if flow.unit == CreditUnit::MESSAGE => {
                if let Some(reader) = line.readers.get_mut(&flow.destination) {
                    reader.credit += flow.value.unwrap_or(0);
                }
            }
            Command::MessageCancel(cancel) => {
                line.readers.remove(&cancel.destination);
            }
            Command::MessageAccept(accept) => {
                self.seen.lock().accepted.union(&accept.transfers);
            }
            Command::MessageRelease(release) => {
                self.seen.lock().released.union(&release.transfers);
            }
            Command::TxCommit(_) => return Some(ErrorCode::COMMAND_INVALID),
            _ => {}
        }
        None
    }

    /// Completes silently; tells when asked.
    fn done(&mut self, channel: u16, id: CommandId, sync: bool) {
        let Some(line) = self.lines.get_mut(&channel) else {
            return;
        };
        line.done.insert(id);
        if sync && !self.manners.lazy {
            let commands = Some(line.done.clone());
            let completed = SessionCompleted {
                commands,
                timely_reply: false,
            };
            self.end
                .send_control(channel, &Control::SessionCompleted(completed));
        }
    }

    fn fail(&mut self, channel: u16, id: CommandId, error_code: ErrorCode) {
        let exception = ExecutionException {
            error_code,
            command_id: Some(id),
            description: Some("failed for the test".into()),
            ..Default::default()
        };
        let next = self
            .lines
            .get(&channel)
            .map_or(CommandId(0), |line| line.next);
        self.lines.remove(&channel);
        self.end.fail_session(channel, next, exception);
    }

    fn completed(&mut self, channel: u16, commands: &SequenceSet) {
        let Some(line) = self.lines.get_mut(&channel) else {
            return;
        };
        let Some(last) = line.sent.keys().next_back().copied() else {
            return;
        };
        for id in commands.clipped(CommandId(0), CommandId(last)).ids() {
            if let Some(destination) = line.sent.remove(&id.0) {
                self.seen.lock().completed.insert(id);
                if let Some(reader) = line.readers.get_mut(&destination)
                    && reader.window
                {
                    reader.credit += 1;
                }
            }
        }
        self.deliver(channel);
    }

    fn deliver(&mut self, channel: u16) {
        let Some(line) = self.lines.get_mut(&channel) else {
            return;
        };
        for (destination, reader) in &mut line.readers {
            while reader.credit > 0 || self.manners.pushy {
                let message = {
                    let mut seen = self.seen.lock();
                    let queue = seen.queues.entry(reader.queue.clone()).or_default();
                    queue.pop_front()
                };
                let Some((header, body)) = message else {
                    break;
                };
                reader.credit = reader.credit.saturating_sub(1);
                let transfer = MessageTransfer {
                    destination: destination.clone(),
                    accept_mode: Some(reader.accept_mode),
                    ..MessageTransfer::default()
                };
                let content = Content {
                    header: header.as_deref(),
                    body: body.as_deref().map(Pieces::Shared),
                };
                let transfer = Command::MessageTransfer(transfer);
                self.end
                    .send_command(channel, line.next, &transfer, false, Some(content));
                line.sent.insert(line.next.0, destination.clone());
                line.next = line.next.next();
                let mut seen = self.seen.lock();
                seen.unread_max = seen.unread_max.max(line.sent.len() as i64);
            }
        }
    }
}

/// A client joined to a broker of its own by a pipe.
pub async fn joined(manners: Manners) -> (Client, Shared) {
    let seen = Shared::default();
    let (near, far) = tokio::io::duplex(64 * 1024);
    tokio::spawn(serve(far, manners, seen.clone()));
    (Client::over(near, &Options::default()).await.unwrap(), seen)
}

/// The same, with a session.
pub async fn attached(manners: Manners) -> (Session, Shared) {
    let (client, seen) = joined(manners).await;
    (client.session("s").await.unwrap(), seen)
}

/// A broker that listens; its port.
pub async fn listening(manners: Manners) -> (u16, Shared) {
    let seen = Shared::default();
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let known = seen.clone();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(serve(stream, manners.clone(), known.clone()));
        }
    });
    (port, seen)
}

pub async fn connect(url: &str) -> Result<Client, Error> {
    Client::connect(&Url::parse(url).unwrap(), &Options::default()).await
}
