//! Sessions that go on over a lost connection, as their clients know them: what is to be sent again, what
//! was received of the broker, and who comes back where.

use std::collections::BTreeMap;

use ferrymq::broker::{Command, Effect, Request};
use ferrymq::wire::{CommandId, DetachCode, SequenceSet};

use super::cluster::Cluster;
use super::session::{Ending, Session};
use super::world::{At, World};

/// Seconds at most that a client asks for.
const TIMEOUT_MAX: u64 = 4;

/// Milliseconds after which a session that nobody comes back to has ended, though clocks differ.
const OVER_MS: u64 = 1500 * TIMEOUT_MAX;

/// Milliseconds that pass at once while that is waited for.
const PACE_MS: u64 = 20;

/// Of a thousand sessions that lose their connection, so many are never gone on with.
const GIVEN_UP: u32 = 200;

/// Of a thousand steps with sessions that wait, so many bring one of them back.
const COMES_BACK: u32 = 200;

/// How sessions are called that ask for a timeout.
pub const RESUMABLE: &str = "kept ";

/// How far a session is with its transport.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// It is used like any other.
    Live,
    /// It has asked to go on, or has nothing to ask on.
    Away,
    /// It was told what the broker expects, and has sent that again.
    Sent,
}

/// What a client keeps to go on with a session.
#[derive(Debug)]
pub struct Resumable {
    /// Its name.
    pub name: String,
    /// Seconds that it was granted; 0 before.
    pub timeout: u32,
    stage: Stage,
    /// Commands that are not completed, and whether their completion is asked for.
    sent: BTreeMap<u32, (bool, Request)>,
    /// The broker has said to have all commands before this one.
    received: u32,
    /// Deliveries that were said to have come.
    reported: SequenceSet,
    /// Whether numbers of the broker's have stayed empty: what an answer would have said is not known.
    pub has_gap: bool,
}

impl Resumable {
    /// Of a session that was just asked for.
    pub fn new(name: &str) -> Resumable {
        Resumable {
            name: name.to_owned(),
            timeout: 0,
            stage: Stage::Live,
            sent: BTreeMap::new(),
            received: 0,
            reported: SequenceSet::new(),
            has_gap: false,
        }
    }

    /// Whether commands may be sent: before it has its timeout it is not used.
    pub fn is_usable(&self) -> bool {
        self.stage == Stage::Live && self.timeout > 0
    }

    /// A command is sent.
    pub fn sends(&mut self, id: CommandId, sync: bool, request: &Request) {
        self.sent.insert(id.0, (sync, request.clone()));
    }

    /// The broker has said to have commands, and whether it has done them.
    pub fn received(&mut self, commands: &SequenceSet, is_done: bool) {
        if let Some(last) = commands.last() {
            self.received = self.received.max(last.0 + 1);
        }
        if is_done {
            let is_open = |id: &u32| !commands.contains(CommandId(*id));
            self.sent.retain(|id, _| is_open(id));
        }
    }

    /// Deliveries are said to have come.
    pub fn reports(&mut self, commands: &SequenceSet) {
        self.reported.union(commands);
    }
}

impl Session {
    /// Whether it has lost its transport and is not used yet.
    pub fn is_resuming(&self) -> bool {
        let stage = self.resumable.as_ref().map(|kept| kept.stage);
        stage.is_some_and(|stage| stage != Stage::Live)
    }

    /// Whether it outlives its connection.
    fn is_kept(&self) -> bool {
        self.resumable.as_ref().is_some_and(|kept| kept.timeout > 0)
    }

    /// What the broker has not got of it, which is sent again. Nothing that it once confirmed is.
    fn again(&mut self, commands: &SequenceSet) -> Result<Vec<(CommandId, bool, Request)>, String> {
        let next = self.next;
        let Some(kept) = self.resumable.as_mut() else {
            return Err("nobody asked for what is expected".to_owned());
        };
        let Some(first) = commands.first() else {
            return Err("is not known, though it goes on".to_owned());
        };
        if first.0 > next.0 {
            return Err(format!("{first} is expected, and {next} is next"));
        }
        if first.0 < kept.received {
            let received = kept.received;
            return Err(format!(
                "{first} is expected again, though all before {received} were confirmed"
            ));
        }
        kept.stage = Stage::Sent;
        let again = kept.sent.range(first.0..);
        let all = again.map(|(id, (sync, request))| (CommandId(*id), *sync, request.clone()));
        Ok(all.collect())
    }
}

impl<C: Cluster> World<C> {
    /// Asks for a session that is to outlive its connection.
    pub fn attach_resumable(&mut self, connection: usize) -> u16 {
        let name = format!("{RESUMABLE}{}", self.serials);
        let channel = self.attach(connection, &name, false);
        let timeout = 1 + self.dice.below(TIMEOUT_MAX) as u32;
        self.say((connection, channel), |at, _| Command::GrantTimeout {
            at,
            timeout,
        });
        channel
    }

    /// A session has lost its transport. It waits to be gone on with, unless it was to end with it, or its
    /// client ends, too.
    pub fn left(&mut self, mut session: Session, may_give_up: bool) {
        let is_over = may_give_up && self.dice.chance(GIVEN_UP);
        let Some(kept) = session.resumable.as_mut().filter(|kept| kept.timeout > 0) else {
            return session.end(Ending::Unknown, &mut self.ledger);
        };
        if is_over {
            return session.end(Ending::Unknown, &mut self.ledger);
        }
        kept.stage = Stage::Away;
        (session.is_attached, session.is_detaching) = (false, false);
        self.waiting.push(session);
    }

    /// Somebody whose session waits comes back with it, on whichever connection.
    pub fn someone_comes_back(&mut self) {
        if self.waiting.is_empty() || !self.dice.chance(COMES_BACK) {
            return;
        }
        let open = self.open_connections();
        let Some(connection) = self.dice.pick(&open).copied() else {
            return;
        };
        let n = self.dice.below(self.waiting.len() as u64) as usize;
        let (session, force) = (self.waiting.swap_remove(n), self.dice.chance(500));
        self.attach_again(connection, session, force);
    }

    /// Somebody's connection seems to be lost, and is not: they come back elsewhere by force, while the
    /// member still has the session on the old one.
    pub fn someone_moves(&mut self) {
        let mut all = Vec::new();
        for connection in self.open_connections() {
            let sessions = self.connections[connection].sessions.iter();
            let kept = sessions.filter(|(_, session)| session.is_usable() && session.is_kept());
            all.extend(kept.map(|(channel, _)| (connection, *channel)));
        }
        let open = self.open_connections();
        let (Some((from, channel)), Some(to)) = (
            self.dice.pick(&all).copied(),
            self.dice.pick(&open).copied(),
        ) else {
            return;
        };
        let old = &mut self.connections[from];
        let Some(session) = old.sessions.remove(&channel) else {
            return;
        };
        old.moved.insert(channel);
        self.trace.line(format_args!("{from}.{channel}: moves"));
        self.left(session, false);
        if let Some(session) = self.waiting.pop() {
            self.attach_again(to, session, true);
        }
    }

    /// Asks to go on with a session.
    fn attach_again(&mut self, connection: usize, session: Session, force: bool) {
        let name = session.resumable.as_ref().map(|kept| kept.name.clone());
        let name = name.unwrap_or_default();
        let open = &mut self.connections[connection];
        let channel = open.free_channel();
        open.sessions.insert(channel, session);
        let at = open.at(channel);
        let line = format_args!("{connection}.{channel}: goes on with {name} {force}");
        self.trace.line(line);
        let name = name.into_bytes();
        self.push(connection, Command::Attach { at, name, force });
    }

    /// What a session that lost its transport is told of that. True: nothing more is to be done.
    pub fn told_of_transport(&mut self, at: At, effect: &Effect) -> Result<bool, String> {
        let (connection, channel) = at;
        let open = &mut self.connections[connection];
        if open.moved.contains(&channel) {
            if matches!(effect, Effect::Detached { .. } | Effect::Exception { .. }) {
                open.moved.remove(&channel);
            }
            return Ok(true);
        }
        let Some(session) = open.sessions.get_mut(&channel) else {
            return Err(format!("no session on channel {channel}"));
        };
        match effect {
            Effect::Attached { resumed: None, .. } if session.is_resuming() => self.starts_anew(at),
            Effect::Expected { commands, .. } if session.is_resuming() => {
                for (id, sync, request) in session.again(commands)? {
                    self.replayed += 1;
                    let at = self.connections[connection].at(channel);
                    let again = Command::Session {
                        at,
                        id,
                        sync,
                        request,
                    };
                    self.push(connection, again);
                }
            }
            Effect::Flush { is_resumed, .. } => self.answers(at, *is_resumed)?,
            Effect::Detached { code, .. } if session.is_kept() => {
                let is_known = matches!(*code, DetachCode::NORMAL | DetachCode::SESSION_BUSY);
                if !is_known {
                    return Err(format!("cannot go on, though it has its timeout: {code:?}"));
                }
                // It is taken elsewhere, or was left on purpose; or the member that had it is not known
                // to be gone.
                if let Some(session) = open.sessions.remove(&channel) {
                    self.left(session, false);
                }
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// The session had ended, and another of its name has begun: its client wants none.
    fn starts_anew(&mut self, (connection, channel): At) {
        self.lost += 1;
        self.serials += 1;
        let mut fresh = Session::new(self.serials, "");
        (fresh.is_attached, fresh.is_detaching) = (true, true);
        let open = &mut self.connections[connection];
        let old = open.sessions.insert(channel, fresh);
        if let Some(mut old) = old {
            old.end(Ending::Unknown, &mut self.ledger);
        }
        self.say((connection, channel), |at, _| Command::Detach { at });
    }

    /// The broker asks what there is of its commands.
    fn answers(&mut self, (connection, channel): At, is_resumed: bool) -> Result<(), String> {
        let open = &mut self.connections[connection];
        let at = open.at(channel);
        let found = open.sessions.get_mut(&channel);
        let outgoing = found.as_ref().map_or(0, |session| session.outgoing());
        let Some(kept) = found.and_then(|session| session.resumable.as_mut()) else {
            return Err("nobody has to say what it has".to_owned());
        };
        let commands = kept.reported.clone();
        if is_resumed {
            if kept.stage != Stage::Sent {
                return Err("goes on and is not told what is expected".to_owned());
            }
            kept.stage = Stage::Live;
            self.resumed += 1;
            let commands = SequenceSet::of(CommandId(outgoing));
            self.push(connection, Command::Expected { at, commands });
        }
        self.push(connection, Command::Completed { at, commands });
        Ok(())
    }

    /// All sessions that wait are gone on with, where they are still there.
    pub fn all_come_back(&mut self) -> Result<(), String> {
        if self.waiting.is_empty() {
            return Ok(());
        }
        let connection = self.connect(0);
        for session in std::mem::take(&mut self.waiting) {
            self.attach_again(connection, session, true);
        }
        self.rest()
    }

    /// Time passes until every session that nobody goes on with has ended.
    pub fn all_run_out(&mut self) -> Result<(), String> {
        for mut session in std::mem::take(&mut self.waiting) {
            session.end(Ending::Unknown, &mut self.ledger);
        }
        let until = self.now.0 + OVER_MS;
        while self.now.0 < until {
            self.tick(PACE_MS);
            self.look_at_all()?;
            self.together()?;
        }
        Ok(())
    }
}
