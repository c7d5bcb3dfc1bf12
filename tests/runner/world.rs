//! All clients, and what is checked of what they are told.

use std::collections::BTreeMap;
use std::task::Waker;

use ferrymq::broker::ids::ChannelKey;
use ferrymq::broker::limits::BATCH_COMMANDS_MAX;
use ferrymq::broker::{Command, ConnectionRecord, Effect, Request};
use ferrymq::cluster::limits::PROPOSED_BATCHES_MAX;
use ferrymq::cluster::lockstep::dice::Dice;
use ferrymq::cluster::{Group, Millis};
use ferrymq::wire::{CommandId, ErrorCode};

use super::cluster::Cluster;
use super::connection::Connection;
use super::kinds::{self, lane};
use super::ledger::{Ledger, NOBODY};
use super::session::{Doing, Ending, Session};
use super::topology::uid_of;
use super::trace::Trace;

/// Messages of headroom that a connection begins with.
const HEADROOM_MESSAGES: u32 = 40;

/// Octets of headroom that a connection begins with.
const HEADROOM_BYTES: u64 = 6000;

/// Rounds without anything new after which everything is at rest, and rounds in which it must be.
const QUIET_ROUNDS: u32 = 30;
const ROUNDS_MAX: u32 = 20_000;

/// A channel of a connection.
pub type At = (usize, u16);

/// See the module.
pub struct World<C> {
    /// Decides what clients do.
    pub dice: Dice,
    /// Time, as members' clocks show it.
    pub now: Millis,
    /// All connections that there ever were.
    pub connections: Vec<Connection>,
    /// What became of messages.
    pub ledger: Ledger,
    /// What happened.
    pub trace: Trace,
    /// Commands sent.
    pub commands: u64,
    /// Exceptions received.
    pub exceptions: u64,
    /// Sessions there ever were.
    pub serials: u64,
    /// Messages there ever were.
    pub uids: u64,
    /// Sessions that have lost their connections.
    pub waiting: Vec<Session>,
    /// How often a session went on, how many were lost, and commands that were sent again.
    pub resumed: u64,
    pub lost: u64,
    pub replayed: u64,
    /// How many times more than usual is sent at once.
    pub depth: u64,
    /// Queues of other kinds that there are.
    pub kinds: Vec<&'static str>,
    /// The group.
    pub cluster: C,
}

impl<C: Cluster> World<C> {
    /// Nobody is connected yet.
    pub fn new(cluster: C, seed: u64, depth: u64) -> World<C> {
        World {
            dice: Dice::new(seed ^ 0xC11E_2475),
            now: Millis(1000),
            connections: Vec::new(),
            ledger: Ledger::default(),
            trace: Trace::new(),
            commands: 0,
            exceptions: 0,
            serials: 0,
            uids: 0,
            waiting: Vec::new(),
            resumed: 0,
            lost: 0,
            replayed: 0,
            depth,
            kinds: Vec::new(),
            cluster,
        }
    }

    /// The same with queues of other kinds, as the seed chooses.
    pub fn with_kinds(mut self, seed: u64) -> World<C> {
        self.kinds = kinds::chosen(seed);
        self
    }

    /// The group.
    pub fn cluster(&self) -> &C {
        &self.cluster
    }

    fn seat(&self, connection: usize) -> &dyn Group {
        self.cluster.seat(self.connections[connection].seat)
    }

    /// Opens a connection on a seat.
    pub fn connect(&mut self, seat: usize) -> usize {
        let number = self.cluster.seat(seat).open(Waker::noop().clone());
        let messages = HEADROOM_MESSAGES * self.depth as u32;
        let bytes = HEADROOM_BYTES * self.depth;
        let record = ConnectionRecord {
            peer: "runner".into(),
            user: "guest".into(),
            headroom_messages: messages,
            headroom_bytes: bytes,
            ..Default::default()
        };
        let mut connection = Connection::new(seat, number, messages, bytes);
        connection.batch.push(Command::ConnectionOpen {
            connection: number,
            record: Box::new(record),
        });
        self.connections.push(connection);
        let place = self.connections.len() - 1;
        self.trace.line(format_args!("{place}: opens on {seat}"));
        place
    }

    /// Asks for a session on a free channel.
    pub fn attach(&mut self, connection: usize, name: &str, force: bool) -> u16 {
        let open = &mut self.connections[connection];
        let channel = open.free_channel();
        self.serials += 1;
        let session = Session::new(self.serials, name);
        open.sessions.insert(channel, session);
        let at = open.at(channel);
        let line = format_args!("{connection}.{channel}: attaches {name} {force}");
        self.trace.line(line);
        let name = name.as_bytes().to_vec();
        self.push(connection, Command::Attach { at, name, force });
        channel
    }

    /// Sends a command of a session.
    pub fn command(
        &mut self,
        (connection, channel): At,
        sync: bool,
        request: Request,
        doing: Doing,
    ) {
        let open = &mut self.connections[connection];
        let at = open.at(channel);
        let Some(session) = open.sessions.get_mut(&channel) else {
            return;
        };
        let id = session.number(doing);
        if let Some(kept) = &mut session.resumable {
            kept.sends(id, sync, &request);
        }
        let line = format_args!("{connection}.{channel}: {id} {}", summary(&request));
        self.trace.line(line);
        let command = Command::Session {
            at,
            id,
            sync,
            request,
        };
        self.push(connection, command);
    }

    /// Sends anything else of a session.
    pub fn say(
        &mut self,
        (connection, channel): At,
        command: impl FnOnce(ChannelKey, &mut Session) -> Command,
    ) {
        let open = &mut self.connections[connection];
        let at = open.at(channel);
        let Some(session) = open.sessions.get_mut(&channel) else {
            return;
        };
        session.place += 1;
        let command = command(at, session);
        self.trace
            .line(format_args!("{connection}.{channel}: {command:?}"));
        self.push(connection, command);
    }

    /// Puts a command into what a connection proposes next.
    pub fn push(&mut self, connection: usize, command: Command) {
        self.connections[connection].batch.push(command);
        if self.connections[connection].batch.len() >= BATCH_COMMANDS_MAX {
            self.flush(connection);
        }
    }

    /// Proposes what a connection has gathered, if it may.
    pub fn flush(&mut self, connection: usize) {
        let open = &mut self.connections[connection];
        if open.batch.is_empty() || open.proposed >= PROPOSED_BATCHES_MAX {
            return;
        }
        let number = open.number;
        let mut batch = std::mem::take(&mut open.batch);
        let rest = batch.split_off(batch.len().min(BATCH_COMMANDS_MAX));
        self.commands += batch.len() as u64;
        open.proposed += 1;
        self.seat(connection).propose(self.now, number, &mut batch);
        self.connections[connection].batch = rest;
    }

    /// What a connection has received has gone on to its client.
    pub fn returns_headroom(&mut self, connection: usize) {
        let open = &mut self.connections[connection];
        let (messages, bytes) = open.returned();
        if messages > 0 {
            open.batch.push(Command::Headroom {
                connection: open.number,
                messages,
                bytes,
            });
        }
    }

    /// Closes a connection without a word.
    pub fn close(&mut self, connection: usize) {
        self.trace.line(format_args!("{connection}: closes"));
        let number = self.connections[connection].number;
        self.seat(connection).close(self.now, number);
        self.gone(connection);
    }

    /// A connection is there no more, and nobody is told.
    pub fn gone(&mut self, connection: usize) {
        let open = &mut self.connections[connection];
        open.is_open = false;
        open.batch.clear();
        open.moved.clear();
        for (_, session) in std::mem::take(&mut open.sessions) {
            self.left(session, true);
        }
    }

    /// A member ends and starts anew: all its connections are gone.
    pub fn restart(&mut self, seat: usize) {
        self.trace.line(format_args!("member {seat} starts anew"));
        self.cluster.restart(self.now, seat);
        for connection in 0..self.connections.len() {
            let open = &self.connections[connection];
            if open.is_open && open.seat == seat {
                self.gone(connection);
            }
        }
    }

    /// Lets time pass on all seats. Gives when something happens next.
    pub fn tick(&mut self, milliseconds: u64) -> Option<Millis> {
        let before = self.now;
        self.now = Millis(before.0 + milliseconds);
        self.cluster.pass(before, self.now)
    }

    /// Whether the members are still together.
    pub fn together(&self) -> Result<(), String> {
        self.cluster.seat(0).failure().map_or(Ok(()), Err)
    }

    /// Looks into a connection's outbox and checks what is there. Gives how much that was.
    pub fn look(&mut self, connection: usize) -> Result<usize, String> {
        let mut effects = Vec::new();
        let number = self.connections[connection].number;
        let outstanding = self.seat(connection).take(number, &mut effects);
        self.connections[connection].proposed = outstanding.proposed;
        if outstanding.proposed > PROPOSED_BATCHES_MAX {
            return Err(format!("{} batches are proposed", outstanding.proposed));
        }
        let count = effects.len();
        for effect in effects {
            self.trace
                .line(format_args!("{connection}: <- {}", told(&effect)));
            let told = |text| format!("connection {connection}: {text}, told {}", told(&effect));
            self.effect(connection, &effect).map_err(told)?;
        }
        if outstanding.is_ended {
            self.trace.line(format_args!("{connection}: was ended"));
            self.gone(connection);
        }
        Ok(count)
    }

    fn effect(&mut self, connection: usize, effect: &Effect) -> Result<(), String> {
        let channel = channel_of(effect);
        let open = &mut self.connections[connection];
        if let Effect::Deliver(delivery) = effect {
            open.received(delivery.message.size())?;
        }
        if self.told_of_transport((connection, channel), effect)? {
            return Ok(());
        }
        let open = &mut self.connections[connection];
        let Some(session) = open.sessions.get_mut(&channel) else {
            return Err(format!("no session on channel {channel}"));
        };
        session.effect(effect, &mut self.ledger)?;
        let ending = match effect {
            Effect::Exception {
                command, refusal, ..
            } => {
                self.exceptions += 1;
                let is_nobodys_fault = refusal.code == ErrorCode::RESOURCE_DELETED;
                match is_nobodys_fault && (refusal.class, refusal.command) == (0, 0) {
                    true => Ending::Unknown,
                    false => Ending::Failed(*command),
                }
            }
            Effect::Detached { .. } if !session.is_attached => Ending::Failed(CommandId(0)),
            Effect::Detached { .. } if session.is_detaching && !session.is_shared => {
                Ending::Orderly
            }
            Effect::Detached { .. } => Ending::Unknown,
            _ => return Ok(()),
        };
        session.end(ending, &mut self.ledger);
        open.sessions.remove(&channel);
        Ok(())
    }

    /// Places of all connections that are open.
    pub fn open_connections(&self) -> Vec<usize> {
        let numbered = self.connections.iter().enumerate();
        let open = numbered.filter(|(_, connection)| connection.is_open);
        open.map(|(place, _)| place).collect()
    }

    /// Looks at all connections, and lets all that they have received go on.
    pub fn look_at_all(&mut self) -> Result<usize, String> {
        let mut count = 0;
        for connection in self.open_connections() {
            self.returns_headroom(connection);
            self.flush(connection);
            count += self.look(connection)?;
        }
        Ok(count)
    }

    /// Lets everything come to rest.
    pub fn rest(&mut self) -> Result<(), String> {
        let mut quiet = 0;
        for _ in 0..ROUNDS_MAX {
            let seen = self.look_at_all()?;
            self.together()?;
            let next = self.tick(0);
            let open = self.connections.iter().filter(|c| c.is_open);
            let is_waiting = open.clone().any(|c| c.proposed > 0 || !c.batch.is_empty());
            quiet = match seen > 0 || is_waiting || next.is_some_and(|at| at <= self.now) {
                true => 0,
                false => quiet + 1,
            };
            if quiet > QUIET_ROUNDS {
                return Ok(());
            }
            self.tick(1);
        }
        Err("does not come to rest".to_owned())
    }

    /// Takes all that comes to a connection that is subscribed to queues by their names, and nothing
    /// else happening: what was left there. In their places, messages of one publisher are in order
    /// whether they have been delivered before or not.
    pub fn fetch(&mut self, connection: usize) -> Result<(), String> {
        let mut last = BTreeMap::new();
        let mut quiet = 0;
        while quiet <= QUIET_ROUNDS {
            self.flush(connection);
            let mut effects = Vec::new();
            let number = self.connections[connection].number;
            let outstanding = self.seat(connection).take(number, &mut effects);
            self.connections[connection].proposed = outstanding.proposed;
            quiet = match effects.is_empty() && outstanding.proposed == 0 {
                true => quiet + 1,
                false => 0,
            };
            for effect in effects {
                self.trace.line(format_args!("left: {}", told(&effect)));
                let Effect::Deliver(delivery) = effect else {
                    continue;
                };
                self.connections[connection].received(delivery.message.size())?;
                let uid = uid_of(&delivery.message).ok_or("a message of somebody else")?;
                let key = (delivery.subscription.destination.to_string(), uid);
                self.ledger.left(&key, delivery.redelivered)?;
                let Some((publisher, place)) = self.ledger.item(&key).map(|item| item.publisher)
                else {
                    continue;
                };
                let lane = lane(&key.0, key.1);
                let before = last.insert((key.0.clone(), publisher, lane), place);
                if publisher != NOBODY && before.is_some_and(|before| before >= place) {
                    return Err(format!(
                        "{key:?} is left out of its place, after {before:?}"
                    ));
                }
            }
            self.returns_headroom(connection);
            self.tick(1);
        }
        Ok(())
    }

    /// What the group says at its end.
    pub fn finish(&mut self) -> Result<String, String> {
        let ends = (0..self.cluster.len()).map(|place| self.cluster.seat(place).finish(self.now));
        let texts: Result<Vec<_>, String> = ends.collect();
        let first = texts?.into_iter().next().flatten();
        Ok(first.unwrap_or_default())
    }
}

/// The channel that an effect is for.
fn channel_of(effect: &Effect) -> u16 {
    match effect {
        Effect::Attached { channel, .. }
        | Effect::Detached { channel, .. }
        | Effect::Result { channel, .. }
        | Effect::Accept { channel, .. }
        | Effect::Exception { channel, .. }
        | Effect::Completed { channel, .. }
        | Effect::Confirmed { channel, .. }
        | Effect::Reject { channel, .. }
        | Effect::Timeout { channel, .. }
        | Effect::Flush { channel, .. }
        | Effect::Gap { channel, .. }
        | Effect::Expected { channel, .. } => *channel,
        Effect::Deliver(delivery) => delivery.channel,
        Effect::Agent(_) | Effect::Ruled(_) | Effect::Close { .. } => 0,
        Effect::Again(again) => again.channel,
    }
}

fn summary(request: &Request) -> String {
    match request {
        Request::Transfer {
            destination,
            message,
            ..
        } => {
            let uid = uid_of(message);
            format!(
                "transfer {uid:?} to {destination:?} {:?}",
                message.routing_key
            )
        }
        _ => format!("{request:?}"),
    }
}

fn told(effect: &Effect) -> String {
    match effect {
        Effect::Deliver(delivery) => format!(
            "{}: {} {} for {}, {} octets, redelivered={} ttl={:?}",
            delivery.channel,
            delivery.id,
            uid_of(&delivery.message).unwrap_or_default(),
            delivery.subscription.destination,
            delivery.message.size(),
            delivery.redelivered,
            delivery.ttl,
        ),
        _ => format!("{effect:?}"),
    }
}
