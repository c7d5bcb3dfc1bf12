//! One connection: its socket, its protocol, its adapter, its seat in the group.
//!
//! # When reading pauses
//!
//! A socket is read only while its input can be worked on. It is not read
//! - while the group has as many batches of this connection as it may hold and has not applied them
//!   (`Outstanding::is_held`), or has yet to answer an attach or detach: both clear without the peer;
//! - while the peer has left more than `UNREAD_ANSWER_BYTES_MAX` of answers unread. Answers are what
//!   its own commands asked for. This pause clears only when the peer reads, so it has an end: a
//!   peer that takes no octet for `UNREAD_MILLISECONDS` is cut off. A client that is slow is slowed;
//!   one that waits for us to read before it reads does not wait for ever; neither costs memory.
//!
//! Deliveries never pause reading. They are bounded by headroom, and a consumer that has stopped
//! reading them can still accept, release and cancel, which is what frees its messages.

mod aside;
mod bodies;
mod login;
mod trace;

use std::future::{Future, poll_fn};
use std::io::{self, ErrorKind, IoSlice};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Poll, Waker};
use std::time::Duration;

use bytes::{Buf, BytesMut};
use parking_lot::Mutex;
use tokio::net::{TcpStream, UnixStream};
use tokio::time::Sleep;

use self::bodies::fetch_bodies;
use self::login::Proof;
use super::clock::{self, Clock};
use super::doorbell::Doorbell;
use super::happenings::Happenings;
use super::limits;
use super::peers::steward::KnownHosts;
use super::registry::Registry;
use super::rights::{self, Rights};
use super::socket::{Carriage, Socket, Stream};
use super::strangers::{Stranger, Strangers};
use super::traffic::Counts;
use super::turns::Turns;
use crate::adapter::{Adapter, DtxTimeouts};
use crate::broker::ids::{ConnectionKey, ConnectionNumber};
use crate::broker::management::Traffic;
use crate::broker::{ConnectionRecord, Effect};
use crate::cluster::{Group, Outstanding};
use crate::federation::{Intake, Outgoing};
use crate::protocol::{BrokerConfig, Connection, Event};
use crate::security::acl::Admitted;
use crate::security::sasl::{Exchange, Failures, Sasl};
use crate::security::tls::Tls;
use crate::wire::{CloseCode, Map, Text};

/// What all connections share.
#[derive(Debug)]
pub struct Shared {
    /// The clock.
    pub clock: Clock,
    /// Who is connected.
    pub registry: Registry,
    /// How connections begin.
    pub config: BrokerConfig,
    /// Who may do what.
    pub rights: Rights,
    /// How users prove who they are.
    pub sasl: Arc<Sasl>,
    /// Who could not.
    pub failures: Arc<Mutex<Failures>>,
    /// Whose turn it is to have a password hashed: [`limits::HASHING_SHARE`].
    pub turns: Arc<Turns>,
    /// Whether nobody is let in over a connection that others can read.
    pub requires_encryption: bool,
    /// TLS, where it is configured.
    pub tls: Option<Arc<Tls>>,
    /// Connections at one moment; 0 is no limit.
    pub connections_max: u32,
    /// Whether small frames are sent at once.
    pub is_nodelay: bool,
    /// How long work in branches of distributed transactions may take.
    pub dtx_timeouts: DtxTimeouts,
    /// Where clients find the members of this broker's cluster.
    pub known_hosts: KnownHosts,
    /// Seconds for which a session may outlive its connection, if its client asks for it.
    pub session_timeout_max: u32,
    /// Whether messages that come in get the time of their coming.
    pub is_stamping: AtomicBool,
    /// What has happened that an agent is to have told.
    pub happenings: Arc<Happenings>,
    /// What those hold that are not open.
    pub strangers: Arc<Strangers>,
}

impl Shared {
    /// From now on messages that come in get the time of their coming, or do not.
    pub fn set_stamping(&self, is_stamping: bool) {
        self.is_stamping.store(is_stamping, Ordering::Relaxed);
    }
}

/// The driver of one connection.
pub struct Driver {
    shared: Arc<Shared>,
    group: Arc<dyn Group>,
    socket: Socket,
    peer: Text,
    /// The peer's address.
    host: IpAddr,
    task: Waker,
    protocol: Connection,
    input: BytesMut,
    /// How much the next read asks for.
    read_bytes: usize,
    /// Once it is known how the peer comes.
    exchange: Option<Exchange>,
    /// What the peer has said in it, until it is its turn.
    proof: Option<Proof>,
    /// What the peer says of itself.
    client_properties: Map,
    /// Who the peer is, once that is known.
    user: Option<Text>,
    /// How it proves who it is.
    mechanism: Text,
    /// Octets that have come and gone.
    bytes: (u64, u64),
    /// Until it is open.
    stranger: Option<Stranger>,
    open: Option<Open>,
    /// The connection of a link of this process that this one stands for.
    outgoing: Option<Outgoing>,
    /// What the link's bridges publish.
    intake: Option<Intake>,
    sleep: Option<Pin<Box<Sleep>>>,
    /// When `sleep` wakes, in milliseconds. It may be early, never late.
    sleeps_until: u64,
    /// Heartbeat interval in milliseconds, 0 for none.
    heartbeat: u64,
    /// When octets were last moved, in milliseconds, if buffers are kept since.
    moved_at: Option<u64>,
    /// Since when, in milliseconds, the socket has taken none of the octets that wait.
    stalled_since: Option<u64>,
    /// The socket is of no more use.
    is_dead: bool,
}

/// Counts to the limits of connections for as long as it lives.
struct Counted {
    shared: Arc<Shared>,
    _admitted: Admitted,
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.shared.registry.leave();
    }
}

/// What a connection has once it is open.
struct Open {
    _counted: Option<Counted>,
    seat: Seat,
    adapter: Adapter,
    bell: Arc<Doorbell>,
    counts: Arc<Counts>,
    effects: Vec<Effect>,
    outstanding: Outstanding,
}

/// A connection's place in the group. It is given up when this is dropped, also when the driver's
/// task is ended from outside. A driver that panics may do so inside the group: its place is given
/// up by whoever sees the panic.
struct Seat {
    group: Arc<dyn Group>,
    clock: Clock,
    number: ConnectionNumber,
}

impl Drop for Seat {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.group.close(self.clock.millis(), self.number);
        }
    }
}

/// What a round of work has led to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Round {
    /// There may be more to do at once.
    More,
    /// Something has to happen first.
    Wait,
    /// The connection has ended.
    Over,
}

/// Drives a peer's connection until it ends. Cancelling is safe: the socket just closes.
pub async fn run(
    (stream, carriage): (TcpStream, Carriage),
    peer: SocketAddr,
    group: Arc<dyn Group>,
    shared: Arc<Shared>,
) {
    drive(
        (Stream::Tcp(stream), carriage),
        (peer, None, None),
        group,
        shared,
    )
    .await;
}

/// Drives the connection of a link of this process to its own broker until it ends. What comes by way of
/// `intake` is done as what comes by the stream.
pub async fn run_own(
    stream: UnixStream,
    (outgoing, intake): (Outgoing, Intake),
    group: Arc<dyn Group>,
    shared: Arc<Shared>,
) {
    let carried = (Stream::Pipe(stream), Carriage::Plain);
    let nowhere = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let own = (nowhere, Some(outgoing), Some(intake));
    drive(carried, own, group, shared).await;
}

async fn drive(
    (stream, carriage): (Stream, Carriage),
    (peer, outgoing, intake): (SocketAddr, Option<Outgoing>, Option<Intake>),
    group: Arc<dyn Group>,
    shared: Arc<Shared>,
) {
    let task = poll_fn(|context| Poll::Ready(context.waker().clone())).await;
    if let Some(intake) = &intake {
        intake.set_driver(task.clone());
    }
    if let Err(error) = stream.set_nodelay(shared.is_nodelay) {
        tracing::debug!(target: "Network", "{peer}: TCP_NODELAY: {error}");
    }
    let protocol = Connection::broker(shared.config.clone(), shared.clock.time());
    let peer = SocketAddr::new(peer.ip().to_canonical(), peer.port());
    shared.registry.insert(tokio::task::id(), peer);
    let socket = match Socket::new(stream, &carriage) {
        Ok(socket) => socket,
        Err(error) => {
            tracing::error!(target: "Security", "{peer}: TLS cannot begin: {error}");
            return;
        }
    };
    let shown = outgoing.as_ref().map(|outgoing| outgoing.remote.clone());
    let driver = Driver {
        group,
        socket,
        peer: shown.unwrap_or_else(|| Text::from(peer.to_string())),
        host: peer.ip(),
        task,
        protocol,
        input: BytesMut::new(),
        read_bytes: limits::READ_BYTES_MIN,
        exchange: None,
        proof: None,
        client_properties: Map::new(),
        user: None,
        mechanism: Text::default(),
        bytes: (0, 0),
        stranger: Some(Strangers::one(&shared.strangers)),
        open: None,
        outgoing,
        intake,
        sleep: None,
        sleeps_until: u64::MAX,
        heartbeat: 0,
        moved_at: None,
        stalled_since: None,
        is_dead: false,
        shared,
    };
    driver.drive().await;
}

impl Driver {
    async fn drive(mut self) {
        let mut rounds = 0;
        loop {
            match self.round() {
                Round::Over => break,
                Round::Wait => {
                    rounds = 0;
                    self.say_counts();
                    match self.is_proving() {
                        true => self.prove().await,
                        false => self.wait().await,
                    }
                }
                Round::More => {
                    rounds += 1;
                    if rounds == limits::ROUNDS_PER_TURN {
                        rounds = 0;
                        self.say_counts();
                        // Others may read as much before this goes on.
                        self.bound_stranger();
                        tokio::task::yield_now().await;
                    }
                }
            }
        }
        self.open = None;
        if !self.is_dead {
            linger(&mut self.socket).await;
        }
    }

    /// Lets management know what was counted.
    fn say_counts(&self) {
        let Some(open) = &self.open else {
            return;
        };
        let (frames_in, frames_out) = self.protocol.frames();
        let (messages_in, messages_out) = open.adapter.messages();
        open.counts.store(&Traffic {
            frames_in,
            frames_out,
            bytes_in: self.bytes.0,
            bytes_out: self.bytes.1,
            messages_in,
            messages_out,
        });
    }

    /// Does once all that can be done: deadlines, effects, events, writing, reading.
    fn round(&mut self) -> Round {
        self.handle_deadlines();
        if self.open.as_ref().is_some_and(|open| open.bell.take()) {
            self.take_effects();
        }
        let is_left = self.work();
        self.bound_stranger();
        // Before it is written: who has an answer may ask through another connection what was counted.
        self.say_counts();
        let mut is_moving = self.write() || is_left;
        if self.return_headroom() {
            is_moving = true;
        }
        if self.is_dead || self.protocol.should_close_socket() {
            // What was found out last is still to be logged.
            self.work();
            return Round::Over;
        }
        is_moving |= !is_left && self.may_read() && self.read();
        match is_moving {
            true => Round::More,
            false => Round::Wait,
        }
    }

    /// Turns what has been read into commands, proposes them, and writes what comes of it, a few
    /// batches at a time. True when there is more to do at once.
    fn work(&mut self) -> bool {
        for _ in 0..limits::BATCHES_PER_ROUND {
            self.note_room();
            while !self.is_held() && !self.is_batch_full() {
                let event = self.protocol.poll_event();
                match event.or_else(|| self.poll_order()) {
                    Some(event) => self.handle_event(event),
                    None => break,
                }
            }
            if !self.propose() || self.is_held() {
                return false;
            }
        }
        true
    }

    /// Hears what room there is for messages, once for a batch: what is in it takes its room when it is
    /// proposed. Nothing is published before the attach behind an open is answered, so an open
    /// connection always knows.
    fn note_room(&mut self) {
        if let Some(open) = &mut self.open {
            let group = &self.group;
            open.adapter
                .set_full(group.is_full(), group.is_memory_full());
            open.adapter.set_room(group.room());
            let is_stamping = self.shared.is_stamping.load(Ordering::Relaxed);
            let now = || clock::wall_milliseconds() / 1000;
            open.adapter.stamp_with(is_stamping.then(now));
        }
    }

    fn is_batch_full(&self) -> bool {
        self.open
            .as_ref()
            .is_some_and(|open| open.adapter.is_full())
    }

    /// Whether the next event has to wait for the group, for the peer to read its answers, or for its turn
    /// to prove who it is.
    fn is_held(&self) -> bool {
        let Some(open) = &self.open else {
            return self.is_proving();
        };
        !self.protocol.is_closed()
            && (open.adapter.is_pending() || open.adapter.is_unread() || open.outstanding.is_held())
    }

    /// Proposes the batch, if there is one, and takes the effects that are there already.
    fn propose(&mut self) -> bool {
        let Some(open) = &mut self.open else {
            return false;
        };
        let batch = open.adapter.batch();
        if batch.is_empty() {
            return false;
        }
        let now = self.shared.clock.millis();
        self.group.propose(now, open.seat.number, batch);
        open.bell.take();
        self.take_effects();
        true
    }

    fn take_effects(&mut self) {
        let Some(open) = &mut self.open else {
            return;
        };
        open.outstanding = self.group.take(open.seat.number, &mut open.effects);
        if !open.effects.is_empty() {
            if let Err(why) = fetch_bodies(&*self.group, open) {
                // Nothing more is known to be right: this broker ends.
                self.group.fail(why);
                open.effects.clear();
                self.is_dead = true;
                return;
            }
            if let Some(intake) = &mut self.intake {
                aside::tell(intake, &mut open.adapter, &mut open.effects);
            }
            open.adapter
                .handle_effects(&mut self.protocol, &mut open.effects);
        }
        if open.outstanding.is_ended {
            self.end_by_group();
        }
    }

    /// The group has ended the connection's sessions: the client is to come again, or to try another
    /// member.
    fn end_by_group(&mut self) {
        match self.group.unserved() {
            _ if self.protocol.is_closed() => {}
            Some(why) => self.protocol.close(CloseCode::CONNECTION_FORCED, why),
            None => self.is_dead = true,
        }
    }

    fn return_headroom(&mut self) -> bool {
        let is_due = self
            .open
            .as_mut()
            .is_some_and(|open| open.adapter.return_headroom());
        is_due && self.propose()
    }

    fn handle_event(&mut self, event: Event) {
        trace::event(&self.peer, &event);
        match event {
            Event::StartOk {
                mechanism,
                response,
                client_properties,
                ..
            } if self.outgoing.is_none() => {
                self.client_properties = client_properties;
                self.mechanism = mechanism.clone();
                self.proof = Some(Proof::Start(mechanism, response));
            }
            Event::StartOk {
                client_properties, ..
            } => self.let_own_in(client_properties),
            Event::SecureOk { response } => {
                self.proof = Some(Proof::Response(response));
            }
            Event::TuneOk(tuned) => self.heartbeat = u64::from(tuned.heartbeat) * 1000,
            Event::Open { .. } => self.open(),
            Event::Closed { code, text, by } => {
                trace::closed((&self.peer, self.open.is_some()), code, &text, by);
            }
            event => {
                if let Some(open) = &mut self.open {
                    open.adapter.handle_event(&mut self.protocol, event);
                }
            }
        }
    }

    /// Takes a seat in the group and lets the peer in. Only now does it count to the limit of
    /// connections: peers that stall before this keep nobody out.
    fn open(&mut self) {
        let Some(user) = self.user.take() else {
            // 0-10 has no way here but through start-ok.
            let text = "Not authenticated!";
            return self.protocol.close(CloseCode::CONNECTION_FORCED, text);
        };
        if let Some(why) = self.group.unserved() {
            return self.protocol.close(CloseCode::CONNECTION_FORCED, why);
        }
        let is_own = self.outgoing.is_some();
        let is_link = !is_own && rights::is_link(&self.client_properties);
        if is_link && let Err(why) = self.shared.rights.check_link(&user) {
            return self.protocol.close(CloseCode::CONNECTION_FORCED, &why);
        }
        let Some(counted) = self.admit(&user) else {
            let denied = "User connection denied by configured limit";
            return self.protocol.close(CloseCode::CONNECTION_FORCED, denied);
        };
        let user_rights = match is_own {
            true => None,
            false => self.shared.rights.of(&user, is_link),
        };
        let record = ConnectionRecord {
            peer: self.peer.clone(),
            user,
            client_properties: std::mem::take(&mut self.client_properties),
            ..ConnectionRecord::default()
        };
        let bell = Doorbell::new(self.task.clone());
        let number = self.group.open(Waker::from(bell.clone()));
        let seat = Seat {
            group: self.group.clone(),
            clock: self.shared.clock,
            number,
        };
        let member = self.group.member();
        let key = ConnectionKey { member, number };
        let counts = self.shared.registry.opened(tokio::task::id(), key);
        tracing::debug!(target: "Network", "{}: open as {:?}", self.peer, record.user);
        let mut adapter = Adapter::new(number, record);
        adapter.show(self.details(is_link));
        if let Some(user_rights) = user_rights {
            adapter.set_rights(Box::new(user_rights));
        }
        adapter.set_dtx_timeouts(self.shared.dtx_timeouts);
        self.stranger = None;
        self.open = Some(Open {
            _counted: counted,
            seat,
            adapter: adapter.with_timeout_max(self.shared.session_timeout_max),
            bell,
            counts,
            effects: Vec::new(),
            outstanding: Outstanding::default(),
        });
        let known_hosts = self.known_hosts();
        self.protocol.open_ok(&known_hosts);
    }

    /// Where clients find the members that are there; all, while the group has not agreed on who is.
    fn known_hosts(&self) -> Vec<Text> {
        let mut agreed = Vec::new();
        self.group
            .look(&mut |core| agreed = core.failover_urls().to_vec());
        let mut urls = self.shared.known_hosts.read().urls();
        if !agreed.is_empty() {
            // This member's own stays in front.
            urls.retain(|url| agreed.contains(url));
            agreed.retain(|url| !urls.contains(url));
            urls.extend(agreed);
        }
        urls
    }
}

/// Input and output.
impl Driver {
    fn may_read(&self) -> bool {
        self.protocol.wants_input() && !self.is_held()
    }

    /// Reads what the socket has, once. False when it has nothing.
    fn read(&mut self) -> bool {
        self.protocol.make_room(&mut self.input, self.read_bytes);
        match self.socket.try_read_buf(&mut self.input) {
            Ok(0) => self.protocol.handle_end_of_input(),
            Ok(octets) => {
                if octets >= self.read_bytes {
                    self.read_bytes = (self.read_bytes * 2).min(limits::READ_BYTES_MAX);
                } else if octets < self.read_bytes / 4 {
                    self.read_bytes = (self.read_bytes / 2).max(limits::READ_BYTES_MIN);
                }
                self.bytes.0 += octets as u64;
                let now = self.shared.clock.time();
                self.moved_at = Some(now.0);
                if self.exchange.is_none() && self.open.is_none() {
                    self.offer();
                }
                self.protocol.handle_input(now, &mut self.input);
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => return false,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => self.lose(&error),
        }
        true
    }

    /// Writes what the socket takes. True when something is left to write that it would take.
    fn write(&mut self) -> bool {
        let mut written = 0;
        if self.socket.wants_write() && !self.flush_tls() {
            return false;
        }
        while written < limits::WRITE_BYTES_PER_TURN {
            let output = self.protocol.output();
            if output.is_empty() {
                break;
            }
            let mut slices = [IoSlice::new(&[]); limits::WRITE_SLICES_MAX];
            let filled = output.chunks_vectored(&mut slices);
            let filled = slices.get(..filled).unwrap_or_default();
            match self.socket.try_write_vectored(filled) {
                Ok(octets) => {
                    output.advance(octets);
                    self.bytes.1 += octets as u64;
                    self.moved_at = Some(self.shared.clock.millis().0);
                    if let Some(open) = &mut self.open {
                        open.adapter.drained(octets);
                    }
                    written += octets;
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    self.note_stall(written > 0);
                    return false;
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => {
                    self.lose(&error);
                    self.is_dead = true;
                    return false;
                }
            }
        }
        self.stalled_since = None;
        !self.protocol.output().is_empty()
    }

    /// Writes what TLS has to say; false when the socket does not take all of it.
    fn flush_tls(&mut self) -> bool {
        match self.socket.flush() {
            Ok(()) => true,
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                self.note_stall(false);
                false
            }
            Err(error) => {
                self.lose(&error);
                self.is_dead = true;
                false
            }
        }
    }

    fn note_stall(&mut self, has_moved: bool) {
        if has_moved || self.stalled_since.is_none() {
            self.stalled_since = Some(self.shared.clock.millis().0);
        }
    }

    fn lose(&mut self, error: &io::Error) {
        self.shared.tell_loss(self.host, &self.peer, error);
        self.protocol.handle_end_of_input();
    }

    /// When the buffers of a connection on which nothing moves are let go, in milliseconds.
    fn idle_deadline(&mut self) -> Option<u64> {
        let moved_at = self.moved_at?;
        let spare = self.input.capacity() + self.protocol.output().idle_room();
        let is_holding = spare > limits::READ_BYTES_MIN;
        is_holding.then(|| moved_at.saturating_add(limits::IDLE_MILLISECONDS))
    }

    /// Lets buffers go, once until octets move again: the next look at the socket takes room anew,
    /// which is no reason to let it go anew.
    fn release_buffers(&mut self) {
        self.input = BytesMut::new();
        self.read_bytes = limits::READ_BYTES_MIN;
        self.protocol.output().release();
        self.moved_at = None;
    }

    /// When the socket has taken nothing for too long, in milliseconds.
    fn stall_deadline(&self) -> Option<u64> {
        let since = self.stalled_since?;
        let patience = if self.protocol.is_closed() {
            limits::LAST_WORDS_MILLISECONDS
        } else if self
            .open
            .as_ref()
            .is_some_and(|open| open.adapter.is_unread())
        {
            limits::UNREAD_MILLISECONDS
        } else if self.heartbeat > 0 {
            2 * self.heartbeat + limits::WRITE_STALL_MILLISECONDS
        } else {
            return None;
        };
        Some(since.saturating_add(patience))
    }

    fn handle_deadlines(&mut self) {
        let now = self.shared.clock.time();
        if self.protocol.poll_timeout().is_some_and(|at| at <= now) {
            if self.is_held() {
                // It is not the peer that is silent: nobody listens.
                self.protocol.handle_input(now, &mut BytesMut::new());
            }
            self.protocol.handle_timeout(now);
        }
        if self.idle_deadline().is_some_and(|at| at <= now.0) {
            tracing::trace!(target: "Network", "{}: idle, its buffers are let go", self.peer);
            self.release_buffers();
        }
        if self.stall_deadline().is_some_and(|at| at <= now.0) {
            if !self.protocol.is_closed() {
                tracing::warn!(
                    target: "Network",
                    "{}: cut off, the client takes nothing of {} octets that wait for it",
                    self.peer,
                    self.protocol.output().len()
                );
            }
            self.is_dead = true;
        }
    }

    /// Waits for the socket, for a deadline, or for the group.
    async fn wait(&mut self) {
        if self.open.is_none() {
            // Nobody knows yet who this is.
            self.release_buffers();
        }
        let is_timed = self.arm();
        let may_write = !self.protocol.output().is_empty() || self.socket.wants_write();
        let may_read = self.may_read();
        // While this is held, who ends that rings the bell.
        let intake = self.intake.as_ref().filter(|_| self.may_take_orders());
        let bell = self.open.as_ref().map(|open| &*open.bell);
        if bell.is_some_and(|bell| !bell.sleep()) {
            return;
        }
        let (stream, sleep) = (&self.socket, &mut self.sleep);
        poll_fn(|context| {
            let is_rung = bell.is_some_and(Doorbell::is_rung);
            let is_readable = may_read && stream.poll_read_ready(context).is_ready();
            let is_writable = may_write && stream.poll_write_ready(context).is_ready();
            let is_late = is_timed
                && sleep
                    .as_mut()
                    .is_some_and(|sleep| sleep.as_mut().poll(context).is_ready());
            let is_ordered = intake.is_some_and(Intake::has_orders);
            match is_rung || is_readable || is_writable || is_late || is_ordered {
                true => Poll::Ready(()),
                false => Poll::Pending,
            }
        })
        .await;
        if let Some(bell) = bell {
            bell.awake();
        }
    }

    /// Sets the alarm for the next deadline; false when there is none. Deadlines mostly move away:
    /// the alarm stays where it is then, and is set anew when it has gone off.
    fn arm(&mut self) -> bool {
        let protocol = self.protocol.poll_timeout().map(|at| at.0);
        let (stall, idle) = (self.stall_deadline(), self.idle_deadline());
        let all = protocol.into_iter().chain(stall).chain(idle);
        let Some(deadline) = all.min() else {
            return false;
        };
        let at = self.shared.clock.instant(deadline);
        match &mut self.sleep {
            None => self.sleep = Some(Box::pin(tokio::time::sleep_until(at))),
            Some(sleep) if deadline < self.sleeps_until || sleep.is_elapsed() => {
                sleep.as_mut().reset(at);
            }
            Some(_) => return true,
        }
        self.sleeps_until = deadline;
        true
    }
}

/// Ends our half of a connection and drops what the peer still sends, for a moment: were the socket
/// closed with octets unread, the kernel would tell the peer to forget our last ones.
async fn linger(socket: &mut Socket) {
    let patience = Duration::from_millis(limits::LINGER_MILLISECONDS);
    // Over when it is over: a peer that goes on is told by the kernel.
    let _ = tokio::time::timeout(patience, socket.linger(limits::LINGER_BYTES_MAX)).await;
}
