//! What clients do, at random from a seed.

use ferrymq::broker::limits::WORK_PER_ENTRY_MAX;
use ferrymq::broker::{Command, Request};
use ferrymq::wire::{
    self, AcceptMode, AcquireMode, CommandId, CreditUnit, FlowMode, Map, SequenceSet, Value,
};

use super::cluster::Cluster;
use super::ledger::{End, Key, TakenRef};
use super::session::{Doing, Session, Transaction};
use super::subscription::Subscription;
use super::topology::{DEAD, QUEUES, RED, ROUTES, VOLATILE, dead_of, declarations, message, route};
use super::world::{At, World};

/// Connections open at once, and sessions on one.
const CONNECTIONS: usize = 8;
const SESSIONS: usize = 3;

/// How long a message lives that does not live for ever, in milliseconds.
const TTL: u64 = 150;

/// Of a thousand steps with a queue, so many are with one of another kind, if there are any.
const OF_A_KIND: u32 = 350;

impl<C: Cluster> World<C> {
    /// Makes what is there all the time.
    pub fn prepare(&mut self) -> Result<(), String> {
        let connection = self.connect(0);
        let channel = self.attach(connection, "prepare", false);
        self.rest()?;
        for request in declarations(&self.kinds) {
            self.command((connection, channel), false, request, Doing::Other);
        }
        self.command((connection, channel), true, Request::Sync, Doing::Other);
        self.rest()?;
        let session = &self.connections[connection].sessions.get(&channel);
        if !session.is_some_and(|session| session.doings.is_empty()) {
            return Err("the queues could not be made".to_owned());
        }
        self.close(connection);
        Ok(())
    }

    /// Somebody sends much and takes much, and is gone: what is given back then is too much for one
    /// entry.
    pub fn too_much(&mut self) -> Result<(), String> {
        let connection = self.connect(0);
        let at = (connection, self.attach(connection, "too much", false));
        self.rest()?;
        for _ in 0..2 * WORK_PER_ENTRY_MAX {
            self.publish(at, "", "plain", AcceptMode::NONE);
        }
        let name = self.subscribe(at, "plain", true, true, false);
        self.flow(at, &name, u32::MAX, u32::MAX);
        self.rest()?;
        self.close(connection);
        Ok(())
    }

    /// Somebody does something, and up to `pace` milliseconds pass.
    pub fn step(&mut self, pace: u64) -> Result<(), String> {
        match self.dice.below(1000) {
            0..30 => self.someone_connects(),
            30..70 => self.someone_attaches(),
            70..300 => self.someone_publishes(),
            300..360 => self.someone_subscribes(),
            360..460 => self.someone_grants(),
            460..490 => self.someone_halts(),
            490..700 => self.someone_settles(),
            700..780 => self.someone_reports(),
            780..800 => self.someone_acquires(),
            800..830 => self.someone_transacts(),
            830..880 => self.someone_branches(),
            880..910 => self.someone_declares(),
            910..940 => self.someone_asks(),
            940..950 => self.someone_fails(),
            950..960 => self.someone_detaches(),
            960..964 => self.someone_closes(),
            964..965 => self.a_member_restarts(),
            965..972 => self.someone_moves(),
            _ => {}
        }
        self.someone_comes_back();
        for connection in self.open_connections() {
            if self.dice.chance(300) {
                self.flush(connection);
            }
            if self.dice.chance(400) {
                self.look(connection)?;
            }
            if self.dice.chance(300) {
                self.returns_headroom(connection);
            }
        }
        let passed = self.dice.below(pace + 1);
        self.tick(passed);
        self.together()
    }

    pub fn someone(&mut self) -> Option<At> {
        let mut usable = Vec::new();
        for connection in self.open_connections() {
            let sessions = self.connections[connection].sessions.iter();
            let here = sessions.filter(|(_, session)| session.is_usable());
            usable.extend(here.map(|(channel, _)| (connection, *channel)));
        }
        self.dice.pick(&usable).copied()
    }

    pub fn session(&mut self, (connection, channel): At) -> &mut Session {
        let sessions = &mut self.connections[connection].sessions;
        sessions.get_mut(&channel).expect("someone has a session")
    }

    fn someone_connects(&mut self) {
        if self.open_connections().len() < CONNECTIONS {
            let seat = self.dice.below(self.cluster().len() as u64) as usize;
            self.connect(seat);
        }
    }

    fn someone_attaches(&mut self) {
        let open = self.open_connections();
        let Some(connection) = self.dice.pick(&open).copied() else {
            return;
        };
        if self.connections[connection].sessions.len() < SESSIONS {
            if self.dice.chance(300) {
                self.attach_resumable(connection);
                return;
            }
            // Some names are wanted by several.
            let (name, force) = match self.dice.chance(400) {
                true => (
                    format!("shared {}", self.dice.below(5)),
                    self.dice.chance(500),
                ),
                false => (format!("own {}", self.serials), false),
            };
            self.attach(connection, &name, force);
        }
    }

    fn someone_publishes(&mut self) {
        let Some(at) = self.someone() else { return };
        let (exchange, key) = match self.a_kind() {
            Some(queue) => ("", queue.to_owned()),
            None if self.dice.chance(150) => ("", self.volatile_queue()),
            None => {
                let (exchange, key, _) = *self.dice.pick(&ROUTES).expect("there are some");
                (exchange, key.to_owned())
            }
        };
        let accept_mode = match self.dice.chance(500) {
            true => AcceptMode::EXPLICIT,
            false => AcceptMode::NONE,
        };
        for _ in 0..=self.dice.below(12 * self.depth) {
            self.publish(at, exchange, &key, accept_mode);
        }
    }

    /// A session publishes a message.
    pub fn publish(&mut self, at: At, exchange: &str, key: &str, accept_mode: AcceptMode) {
        let ttl = self.dice.chance(100).then_some(TTL);
        let padding = self.dice.below(200) as usize;
        self.uids += 1;
        let uid = self.uids;
        // The broker's time lies behind the clients': by then it is surely over.
        let expires = ttl.map(|ttl| self.now.0 + ttl);
        let queues = route(exchange, key);
        let keys: Vec<Key> = queues.into_iter().map(|queue| (queue, uid)).collect();
        let session = self.session(at);
        session.sent += 1;
        let in_branch = session.branch.as_ref().and_then(|branch| branch.publisher);
        let publisher = (in_branch.unwrap_or(session.serial), session.sent);
        if accept_mode == AcceptMode::EXPLICIT {
            session.to_be_accepted.insert(session.next);
        }
        let doing = match session.work() {
            Some(transaction) => {
                transaction.publishes.extend(keys.iter().cloned());
                self.ledger.sent_in_work.insert(uid);
                Doing::Other
            }
            None => Doing::Publish(keys.clone()),
        };
        for key in keys {
            self.ledger.sent(key, publisher, expires);
        }
        let request = Request::Transfer {
            destination: exchange.into(),
            accept_mode,
            message: message(uid, exchange, key, ttl, padding).into(),
        };
        let sync = self.dice.chance(100);
        self.command(at, sync, request, doing);
    }

    /// One of the queues of other kinds, now and then, where there are any.
    fn a_kind(&mut self) -> Option<&'static str> {
        let is_meant = !self.kinds.is_empty() && self.dice.chance(OF_A_KIND);
        self.dice.pick(&self.kinds).copied().filter(|_| is_meant)
    }

    fn volatile_queue(&mut self) -> String {
        format!("{VOLATILE}{}", self.dice.below(6))
    }

    fn someone_subscribes(&mut self) {
        let Some(at) = self.someone() else { return };
        let queue = match self.a_kind() {
            Some(queue) => queue.to_owned(),
            None if self.dice.chance(200) => self.volatile_queue(),
            None => {
                let (queue, ..) = *self.dice.pick(&QUEUES).expect("there are some");
                queue.to_owned()
            }
        };
        let is_acquiring = !self.dice.chance(200);
        // Without accept a message may go down with a connection: only where none is promised.
        let is_explicit = queue != "loose" || self.dice.chance(300);
        let is_red = self.dice.chance(150);
        let name = self.subscribe(at, &queue, is_acquiring, is_explicit, is_red);
        self.grant(at, &name);
    }

    /// Subscribes to a queue and gives the subscription's name.
    pub fn subscribe(
        &mut self,
        at: At,
        queue: &str,
        is_acquiring: bool,
        is_explicit: bool,
        is_red: bool,
    ) -> String {
        let destination = format!("s{}", self.session(at).place);
        let arguments = is_red.then(|| {
            let pair = ("x-apache-selector", Value::Str16(RED.into()));
            Map::from_iter([pair])
        });
        let subscribe = wire::MessageSubscribe {
            queue: queue.into(),
            destination: destination.clone().into(),
            accept_mode: if is_explicit {
                AcceptMode::EXPLICIT
            } else {
                AcceptMode::NONE
            },
            acquire_mode: if is_acquiring {
                AcquireMode::PRE_ACQUIRED
            } else {
                AcquireMode::NOT_ACQUIRED
            },
            arguments,
            ..Default::default()
        };
        let subscription = Subscription::new(queue, is_acquiring, is_explicit, is_red);
        let subscriptions = &mut self.session(at).subscriptions;
        subscriptions.insert(destination.clone(), subscription);
        let request = Request::Subscribe(Box::new(subscribe));
        self.command(at, false, request, Doing::Other);
        destination
    }

    fn a_subscription(&mut self, at: At) -> Option<String> {
        let subscriptions = self.session(at).subscriptions.iter();
        let live = subscriptions.filter(|(_, subscription)| !subscription.is_leaving);
        let names: Vec<String> = live.map(|(name, _)| name.clone()).collect();
        self.dice.pick(&names).cloned()
    }

    fn someone_grants(&mut self) {
        let Some(at) = self.someone() else { return };
        if let Some(destination) = self.a_subscription(at) {
            self.grant(at, &destination);
        }
    }

    fn grant(&mut self, at: At, destination: &str) {
        let messages = match self.dice.chance(150) {
            true => u32::MAX,
            false => self.dice.below(20 * self.depth) as u32,
        };
        let bytes = match self.dice.chance(600) {
            true => u32::MAX,
            false => self.dice.below(3000 * self.depth) as u32,
        };
        self.flow(at, destination, messages, bytes);
    }

    /// A session grants credit.
    pub fn flow(&mut self, at: At, destination: &str, messages: u32, bytes: u32) {
        for (unit, value) in [(CreditUnit::MESSAGE, messages), (CreditUnit::BYTE, bytes)] {
            let session = self.session(at);
            let place = session.place;
            let Some(subscription) = session.subscriptions.get_mut(destination) else {
                return;
            };
            match unit == CreditUnit::MESSAGE {
                true => subscription.flow(place, Some(value), None),
                false => subscription.flow(place, None, Some(value)),
            }
            let request = Request::Flow {
                destination: destination.into(),
                unit,
                value,
            };
            self.command(at, false, request, Doing::Other);
        }
    }

    fn someone_halts(&mut self) {
        let Some(at) = self.someone() else { return };
        let Some(name) = self.a_subscription(at) else {
            return;
        };
        let session = self.session(at);
        let place = session.place;
        let is_window = session
            .subscriptions
            .get(&name)
            .is_some_and(|s| s.is_window);
        let destination = name.clone().into();
        let halt = Doing::Halt(name.clone(), place, is_window);
        let (request, doing) = match self.dice.below(5) {
            0 => (Request::Stop { destination }, halt),
            1 => (Request::FlushSubscription { destination }, halt),
            2 => (Request::Cancel { destination }, Doing::Cancel(name.clone())),
            mode => {
                let is_window = mode == 3;
                if let Some(found) = self.session(at).subscriptions.get_mut(&name) {
                    found.is_window = is_window;
                    found.mode_place = place;
                }
                let flow_mode = match is_window {
                    true => FlowMode::WINDOW,
                    false => FlowMode::CREDIT,
                };
                let request = Request::SetFlowMode {
                    destination,
                    flow_mode,
                };
                (request, Doing::Other)
            }
        };
        let is_cancel = matches!(doing, Doing::Cancel(_));
        self.command(at, true, request, doing);
        // What is sent for it after this would be an error.
        if is_cancel {
            self.cancelled(at, &name);
        }
    }

    fn someone_settles(&mut self) {
        let Some(at) = self.someone() else { return };
        let share = 200 + self.dice.below(800) as u32;
        let ids: Vec<u32> = self.session(at).held.keys().copied().collect();
        let chosen: Vec<u32> = ids
            .into_iter()
            .filter(|_| self.dice.chance(share))
            .collect();
        let mut transfers = SequenceSet::new();
        for id in &chosen {
            transfers.insert(CommandId(*id));
        }
        if self.dice.chance(50) {
            // Numbers that were never given: they are ignored.
            transfers.insert_range(CommandId(1_000_000), CommandId(2_000_000_000));
        }
        let session = self.session(at);
        let taken: Vec<(u32, TakenRef)> = chosen
            .iter()
            .filter_map(|id| Some((*id, session.held.remove(id)?)))
            .collect();
        let only: Vec<TakenRef> = taken.iter().map(|(_, taken)| taken.clone()).collect();
        let sync = self.dice.chance(200);
        let (request, doing) = match self.dice.below(10) {
            0..6 => match self.session(at).work() {
                Some(transaction) => {
                    transaction.accepts.extend(taken);
                    (Request::Accept { transfers }, Doing::Other)
                }
                None => {
                    let is_certain = false;
                    self.ledger.ends(&only, End::Settled { is_certain });
                    (Request::Accept { transfers }, Doing::Accept(only))
                }
            },
            6..9 => self.gives_back(transfers, only),
            _ => return self.rejects(at, taken),
        };
        self.command(at, sync, request, doing);
    }

    fn gives_back(&mut self, transfers: SequenceSet, taken: Vec<TakenRef>) -> (Request, Doing) {
        let set_redelivered = self.dice.chance(500);
        let released = End::Released {
            is_flagged: set_redelivered,
            is_certain: false,
        };
        self.ledger.ends(&taken, released);
        let request = Request::Release {
            transfers,
            set_redelivered,
        };
        (request, Doing::Release(taken, set_redelivered))
    }

    /// Rejects what it was given, a command for each queue that rejected messages go to.
    fn rejects(&mut self, at: At, taken: Vec<(u32, TakenRef)>) {
        for dead in [None, Some(DEAD)] {
            let from = |(_, ((queue, _), _)): &&(u32, TakenRef)| dead_of(queue) == dead;
            let these: Vec<_> = taken.iter().filter(from).cloned().collect();
            let mut transfers = SequenceSet::new();
            for (id, _) in &these {
                transfers.insert(CommandId(*id));
            }
            let only: Vec<TakenRef> = these.into_iter().map(|(_, taken)| taken).collect();
            let is_certain = false;
            self.ledger.ends(&only, End::Rejected { is_certain });
            if let Some(dead) = dead {
                let open = super::ledger::Certainty::Open;
                self.ledger.rejected_into(dead, &only, open);
            }
            let doing = Doing::Reject(only, dead);
            self.command(at, true, Request::Reject { transfers }, doing);
        }
    }

    fn someone_reports(&mut self) {
        let Some(at) = self.someone() else { return };
        let session = self.session(at);
        let place = session.place;
        let mut commands = SequenceSet::new();
        for (id, destination, bytes) in std::mem::take(&mut session.unreported) {
            commands.insert(CommandId(id));
            if let Some(subscription) = session.subscriptions.get_mut(&destination) {
                subscription.completed(place, bytes);
            }
        }
        let outgoing = session.outgoing();
        if let Some(kept) = &mut session.resumable {
            kept.reports(&commands);
        }
        let is_kept = session.resumable.is_some();
        self.say(at, |at, _| Command::Completed { at, commands });
        if is_kept && outgoing > 0 && self.dice.chance(300) {
            let commands = SequenceSet::from_range(CommandId(0), CommandId(outgoing - 1));
            self.say(at, |at, _| Command::Confirmed { at, commands });
        }
    }

    fn someone_acquires(&mut self) {
        let Some(at) = self.someone() else { return };
        let browsed: Vec<u32> = self.session(at).browsed.keys().copied().collect();
        let mut transfers = SequenceSet::new();
        for id in browsed.iter().filter(|_| self.dice.chance(500)) {
            transfers.insert(CommandId(*id));
        }
        let request = Request::Acquire { transfers };
        self.command(at, true, request, Doing::Other);
    }

    fn someone_transacts(&mut self) {
        let Some(at) = self.someone() else { return };
        let session = self.session(at);
        if session.branch.is_some() {
            return;
        }
        let Some(transaction) = session.transaction.as_mut().map(std::mem::take) else {
            session.transaction = Some(Transaction::default());
            return self.command(at, false, Request::TxSelect, Doing::Other);
        };
        if self.dice.chance(300) {
            let doing = Doing::Rollback(transaction);
            return self.command(at, true, Request::TxRollback, doing);
        }
        let taken: Vec<TakenRef> = transaction.accepts.iter().map(|(_, t)| t.clone()).collect();
        let is_certain = false;
        self.ledger.ends(&taken, End::Settled { is_certain });
        self.command(at, true, Request::TxCommit, Doing::Commit(transaction));
    }

    fn someone_declares(&mut self) {
        let Some(at) = self.someone() else { return };
        let queue = self.volatile_queue();
        let request = match self.dice.below(8) {
            0 => Request::QueueDelete(Box::new(wire::QueueDelete {
                queue: queue.into(),
                ..Default::default()
            })),
            1 => Request::QueuePurge(Box::new(wire::QueuePurge {
                queue: "loose".into(),
            })),
            kind => Request::QueueDeclare(Box::new(wire::QueueDeclare {
                queue: queue.into(),
                auto_delete: kind == 2 || kind == 3,
                exclusive: kind == 3,
                ..Default::default()
            })),
        };
        self.command(at, false, request, Doing::Other);
    }

    fn someone_asks(&mut self) {
        let Some(at) = self.someone() else { return };
        let (queue, ..) = *self.dice.pick(&QUEUES).expect("there are some");
        match self.dice.below(4) {
            0 => {
                let query = wire::QueueQuery {
                    queue: queue.into(),
                };
                let request = Request::QueueQuery(Box::new(query));
                self.command(at, true, request, Doing::Other);
            }
            1 => self.command(at, true, Request::Sync, Doing::Other),
            2 => {
                let next = self.session(at).next;
                let up_to = CommandId(next.0.saturating_sub(20));
                let commands = SequenceSet::from_range(CommandId(0), up_to);
                let doings = &self.session(at).doings;
                // A client cannot know of what it was not told.
                if doings.keys().next().is_none_or(|first| *first > up_to.0) {
                    self.say(at, |at, _| Command::KnownCompleted { at, commands });
                }
            }
            _ => self.say(at, |at, _| Command::SessionFlush {
                at,
                expected: true,
                confirmed: true,
                completed: true,
            }),
        }
    }

    fn someone_fails(&mut self) {
        let Some(at) = self.someone() else { return };
        let request = match self.dice.chance(500) {
            true => Request::Cancel {
                destination: "never subscribed".into(),
            },
            false => Request::ExchangeDelete(Box::new(wire::ExchangeDelete {
                exchange: "amq.topic".into(),
                if_unused: false,
            })),
        };
        self.command(at, false, request, Doing::Other);
    }

    fn someone_detaches(&mut self) {
        let Some(at) = self.someone() else { return };
        // One with a timeout is only left, unless its client gives that back before.
        if self.session(at).resumable.is_some() && self.dice.chance(500) {
            let timeout = 0;
            self.say(at, |at, _| Command::GrantTimeout { at, timeout });
        }
        self.session(at).is_detaching = true;
        self.say(at, |at, _| Command::Detach { at });
    }

    fn someone_closes(&mut self) {
        let open = self.open_connections();
        if let Some(connection) = self.dice.pick(&open).copied() {
            self.close(connection);
        }
    }

    fn a_member_restarts(&mut self) {
        let seat = self.dice.below(self.cluster().len() as u64) as usize;
        self.restart(seat);
    }

    fn cancelled(&mut self, at: At, destination: &str) {
        if let Some(found) = self.session(at).subscriptions.get_mut(destination) {
            found.is_leaving = true;
        }
    }
}
