//! Members in one process that are kept honest: for tests.
//!
//! Each member has a machine of its own and decodes every entry on its own. Between them lies a
//! network from a seed: proposals are delayed, lost, doubled and overtaken, entries come to members
//! at different times, and the sequencer changes, whereupon what was on its way to the old one is
//! lost. Every so many entries the digests of all members are compared, and one machine is replaced
//! by what its own snapshot gives. Nothing here has a thread or a clock: everything happens in calls
//! of `propose` and `tick`, so that the same seed and the same calls give the same run.
//!
//! Members may keep every entry on disks of their own, and come back from those: see [`start`]. An
//! entry is acknowledged then when it is on the disks of a majority.

mod compare;
pub mod dice;
mod disks;
pub mod faults;
mod member;
mod member_log;
mod network;
pub mod start;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Waker;

use parking_lot::Mutex;

use self::compare::Comparison;
use self::dice::Dice;
use self::disks::{Disks, Superseded};
use self::faults::{Faults, Tally};
use self::member::{Entry, Member, Told};
use self::member_log::MemberLog;
use self::network::{Flight, Network, Proposal, earlier};
use super::clock::GroupClock;
use super::entry_log;
use super::machine::Machine;
use super::outbox::Woken;
use super::{Group, Millis, Outstanding, limits, proposal};
use crate::broker::ids::{ConnectionNumber, GroupTime, MemberId, ShardId};
use crate::broker::{Batch, Command, Core, Effect, Options, Origin};
use crate::store;

/// How a lockstep group runs.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Decides everything that is not in the calls.
    pub seed: u64,
    /// Entries between two comparisons; more when the state is large, and `u64::MAX` for none but at
    /// the end.
    pub compare_every: u64,
    /// Octets of a proposal, beside its last command, and of a part of a large message:
    /// [`limits::PROPOSAL_BYTES`], but in tests.
    pub proposal_bytes: usize,
    /// What goes wrong.
    pub faults: Faults,
}

impl Settings {
    /// As for a test suite.
    pub fn usual(seed: u64) -> Settings {
        Settings {
            seed,
            compare_every: 50,
            proposal_bytes: limits::PROPOSAL_BYTES,
            faults: Faults::USUAL,
        }
    }
}

/// A member's seat in a lockstep group.
pub struct Seat<M> {
    state: Arc<Mutex<State<M>>>,
    place: usize,
    member: MemberId,
    /// Whether a journal has no room.
    is_full: Arc<AtomicBool>,
}

/// Makes a group of new cores and gives its seats. The options are set by the first entry.
pub fn seats(members: usize, options: Options, settings: Settings, now: Millis) -> Vec<Seat<Core>> {
    let core = |_| Core::new(ShardId::default(), Options::default()).at_most_level();
    let seats = seats_of((0..members).map(core).collect(), settings, now);
    if let Some(seat) = seats.first() {
        seat.order(now, Command::Configure(Box::new(options)));
    }
    seats
}

/// Makes a group of machines, all in the same state, and gives its seats.
pub fn seats_of<M: Machine>(machines: Vec<M>, settings: Settings, now: Millis) -> Vec<Seat<M>> {
    let base = machines.first().map_or(GroupTime(0), Machine::time);
    let numbered = machines.into_iter().enumerate();
    let members = numbered.map(|(place, machine)| Member::new(id(place), machine));
    group_of(members.collect(), None, (base, now), settings)
}

/// The id of the member at a place.
fn id(place: usize) -> MemberId {
    MemberId(place as u64 + 1)
}

/// Makes a group of members, all in the same state. `base` is group time at `now`.
fn group_of<M: Machine>(
    members: Vec<Member<M>>,
    disks: Option<Disks>,
    (base, now): (GroupTime, Millis),
    settings: Settings,
) -> Vec<Seat<M>> {
    let (count, seed) = (members.len(), settings.seed);
    tracing::info!("lockstep: {count} members, seed={seed}");
    let index = members.first().map_or(0, |member| member.machine.index());
    let network = Network::new(Dice::new(settings.seed), settings.faults);
    let is_full = disks.as_ref().map(|disks| disks.is_full.clone());
    let is_full = is_full.unwrap_or_default();
    let state = Arc::new(Mutex::new(State {
        seed: settings.seed,
        proposal_bytes: settings.proposal_bytes,
        now,
        clock: GroupClock::continued(base, now),
        index,
        sequencer: 0,
        term: 1,
        latest: vec![(0, 0); count],
        comparison: Comparison::new(settings.compare_every, index, count),
        members,
        network,
        disks,
        tally: Tally::default(),
        failure: None,
        is_finished: false,
    }));
    let seat = |place| Seat {
        state: state.clone(),
        place,
        member: id(place),
        is_full: is_full.clone(),
    };
    (0..count).map(seat).collect()
}

struct State<M> {
    seed: u64,
    now: Millis,
    clock: GroupClock,
    /// The last entry ordered.
    index: u64,
    sequencer: usize,
    term: u64,
    /// Octets of a proposal.
    proposal_bytes: usize,
    members: Vec<Member<M>>,
    network: Network,
    /// What the members keep on their disks.
    disks: Option<Disks>,
    /// By member: epoch and number of the latest proposal that has arrived for the first time.
    latest: Vec<(u64, u64)>,
    comparison: Comparison,
    tally: Tally,
    failure: Option<String>,
    is_finished: bool,
}

impl<M: Machine> State<M> {
    fn advance(&mut self, now: Millis) {
        self.now = self.now.max(now);
    }

    fn fail(&mut self, problem: String, woken: &mut Woken) {
        let text = format!("lockstep: {problem}, seed={}", self.seed);
        tracing::error!("{text}");
        self.failure.get_or_insert(text);
        for member in &self.members {
            member.outboxes.wake_all(woken);
            if let Some((waker, _)) = &member.sequencer {
                woken.push(waker.clone());
            }
        }
    }

    /// Gives commands the next place in the order and sends them to all members.
    fn order(&mut self, origin: Origin, commands: Vec<Command>) {
        self.index += 1;
        self.tally.entries += 1;
        self.tally.commands += commands.len() as u64;
        self.tally.continuations += u64::from(commands == [Command::Continue]);
        let batch = Batch {
            shard: ShardId::default(),
            index: self.index,
            time: self.clock.time(self.now),
            origin,
            commands,
        };
        let entry = Entry {
            index: self.index,
            bytes: member::encode(&batch),
            is_compared: self.comparison.is_due_at(self.index),
        };
        let Network { dice, faults, .. } = &mut self.network;
        for member in &mut self.members {
            let last = member.inbox.back().map_or(self.now, |(comes, _)| *comes);
            let comes = last.max(Millis(self.now.0 + faults.delay(dice)));
            member.inbox.push_back((comes, entry.clone()));
        }
        if self
            .network
            .dice
            .chance(self.network.faults.sequencer_changes)
        {
            self.change_sequencer();
        }
    }

    /// Another member becomes the sequencer. It knows at once; the others learn it later.
    fn change_sequencer(&mut self) {
        if self.members.len() < 2 {
            return;
        }
        let (old, count) = (self.sequencer, self.members.len());
        self.sequencer = self.network.other(old, count);
        self.term += 1;
        self.tally.sequencer_changes += 1;
        self.clock = GroupClock::continued(self.clock.time(self.now), self.now);
        let (sequencer, term) = (self.sequencer, self.term);
        self.believe(sequencer, sequencer, term);
        for to in (0..count).filter(|to| *to != sequencer) {
            let news = Flight::News {
                to,
                term,
                sequencer,
            };
            self.network.send(self.now, news);
        }
    }

    /// A member learns who the sequencer is, and sends what may have been lost with the old one.
    fn believe(&mut self, place: usize, sequencer: usize, term: u64) {
        let member = &mut self.members[place];
        if term > member.believes.1 {
            member.believes = (sequencer, term);
            member.ticked = None;
            self.resend(place, 0);
        }
    }

    /// Sends a member's proposals again, from a number on.
    fn resend(&mut self, place: usize, from: u64) {
        let member = &mut self.members[place];
        member.waits_since = self.now;
        let (_, term) = member.believes;
        let again = member.pending.iter().filter(|pending| pending.seq >= from);
        for pending in again.take(limits::RESENT_BATCHES_MAX) {
            self.tally.resendings += 1;
            let proposal = Proposal {
                from: place,
                term,
                seq: Some(pending.seq),
                is_first: false,
                bytes: pending.bytes.clone(),
            };
            self.network.propose(self.now, proposal, &mut self.tally);
        }
    }

    fn arrive(&mut self, flight: Flight, woken: &mut Woken) {
        let proposal = match flight {
            Flight::News {
                to,
                term,
                sequencer,
            } => return self.believe(to, sequencer, term),
            Flight::Proposal(proposal) => proposal,
        };
        if proposal.term != self.term {
            match proposal.seq {
                Some(_) => self.tally.drops += 1,
                None => self.tally.stale_ticks += 1,
            }
            return;
        }
        if let Some(seq) = proposal.seq.filter(|_| proposal.is_first) {
            let latest = &mut self.latest[proposal.from];
            let this = (self.members[proposal.from].epoch, seq);
            self.tally.reorderings += u64::from(this < *latest);
            *latest = this.max(*latest);
        }
        match member::decode::<(Origin, Vec<Command>)>(&proposal.bytes) {
            Ok((origin, commands)) => self.order(origin, commands),
            Err(error) => self.fail(format!("a proposal cannot be read: {error}"), woken),
        }
    }

    /// Applies the next entry that has come to a member. False when none has.
    fn apply_next(&mut self, place: usize, woken: &mut Woken) -> bool {
        let (now, wall) = (self.now, self.wall());
        let member = &mut self.members[place];
        let has_come = |(comes, _): &mut (Millis, Entry)| *comes <= now;
        let Some((_, entry)) = member.inbox.pop_front_if(has_come) else {
            return false;
        };
        let waits_since = member.waits_since;
        match member.apply((now, wall), &entry, woken) {
            Err(problem) => self.fail(problem, woken),
            Ok(Told::Nothing) => {}
            Ok(Told::Gap(expected)) => {
                // Those behind the missing one tell of the same gap: one answer is enough.
                if now.0 >= waits_since.0 + limits::GAP_ANSWERED_MS {
                    self.resend(place, expected);
                }
            }
        }
        self.appended(place);
        if entry.is_compared {
            self.compare(place, entry.index, woken);
        }
        true
    }

    fn compare(&mut self, place: usize, index: u64, woken: &mut Woken) {
        let is_turn = self.comparison.is_turn(index, place);
        let member = &mut self.members[place];
        let digests = member.digests();
        let mut result = self
            .comparison
            .reached(index, place, digests, &mut self.tally);
        if result.is_ok() && is_turn {
            let compared = &mut self.comparison;
            result = compared.replace(&mut member.machine, member.id, index, &mut self.tally);
        }
        if let Err(problem) = result {
            self.fail(problem, woken);
        }
    }

    /// What a member sends by itself: its proposals again when it has waited for long, and ticks
    /// while it believes to be the sequencer.
    fn act(&mut self, place: usize) {
        let now = self.now;
        let member = &mut self.members[place];
        if member.resends_at().is_some_and(|at| at <= now) {
            member.patience = (member.patience * 2).min(limits::RESEND_AFTER_MS_MAX);
            self.resend(place, 0);
        }
        let is_sequencer = self.members[place].believes.0 == place;
        if !is_sequencer || self.clock_ticks_at(place).is_none_or(|at| at > now) {
            return;
        }
        let member = &mut self.members[place];
        let command = match member.machine.wants().deadline <= self.clock.time(now) {
            true => Command::Tick,
            false => Command::Continue,
        };
        member.ticked = Some(now);
        let proposal = Proposal {
            from: place,
            term: member.believes.1,
            seq: None,
            is_first: true,
            bytes: proposal::encode(Origin::Sequencer, &[command]).into(),
        };
        self.network.propose(now, proposal, &mut self.tally);
    }

    /// When a member that believes to be the sequencer sends its next tick.
    fn clock_ticks_at(&self, place: usize) -> Option<Millis> {
        let member = &self.members[place];
        if let Some(ticked) = member.ticked {
            return Some(Millis(ticked.0 + limits::RESEND_AFTER_MS));
        }
        let wants = member.machine.wants();
        match wants.work {
            true => Some(self.now),
            false => self.clock.when(wants.deadline),
        }
    }

    /// Lets everything happen that is due. Gives when the next thing is: not after now when there
    /// was too much for one call.
    fn pump(&mut self, woken: &mut Woken) -> Option<Millis> {
        let mut left = limits::LOCKSTEP_STEPS_MAX;
        while self.failure.is_none() && left > 0 {
            let mut is_quiet = true;
            if let Some(flight) = self.network.arrived(self.now) {
                self.arrive(flight, woken);
                is_quiet = false;
            }
            for place in 0..self.members.len() {
                if self.failure.is_none() && self.apply_next(place, woken) {
                    is_quiet = false;
                }
                if self.write(place) {
                    is_quiet = false;
                }
                self.act(place);
            }
            if is_quiet && !self.is_due() {
                break;
            }
            left -= 1;
        }
        self.settle(woken);
        match self.failure {
            Some(_) => None,
            None => self.next(),
        }
    }

    fn is_due(&self) -> bool {
        self.next().is_some_and(|next| next <= self.now)
    }

    /// When something happens next.
    fn next(&self) -> Option<Millis> {
        let ticks = self.clock_ticks();
        earlier(self.next_but_ticks(), ticks)
    }

    fn clock_ticks(&self) -> Option<Millis> {
        let places = 0..self.members.len();
        let sequencers = places.filter(|place| self.members[*place].believes.0 == *place);
        sequencers
            .map(|place| self.clock_ticks_at(place))
            .fold(None, earlier)
    }

    fn next_but_ticks(&self) -> Option<Millis> {
        let mut next = self.network.next();
        for member in &self.members {
            next = earlier(next, member.inbox.front().map(|(comes, _)| *comes));
            next = earlier(next, member.resends_at());
            next = earlier(next, member.log.as_ref().and_then(MemberLog::writes_at));
        }
        next
    }

    /// Wakes one of those who call `tick` when none of them would call in time.
    fn wake_sequencer(&mut self, next: Option<Millis>, woken: &mut Woken) {
        let Some(next) = next else { return };
        let calls = |member: &Member<M>| member.sequencer.as_ref().and_then(|(_, at)| *at);
        if self.members.iter().filter_map(calls).any(|at| at <= next) {
            return;
        }
        let sleeping = self.members.iter_mut().find_map(|m| m.sequencer.as_mut());
        if let Some((waker, at)) = sleeping {
            *at = Some(next);
            woken.push(waker.clone());
        }
    }

    /// Whether nothing is on its way and no work is left.
    fn is_idle(&self) -> bool {
        self.next_but_ticks().is_none() && !self.members.iter().any(|m| m.machine.wants().work)
    }

    /// Lets everything come to its end, with nothing going wrong any more, and compares.
    fn drain(&mut self, woken: &mut Woken) {
        self.network.faults = Faults::NONE;
        let mut left = limits::DRAIN_STEPS_MAX;
        while self.failure.is_none() && !self.is_idle() {
            let next = self.pump(woken);
            self.now = self.now.max(next.unwrap_or(self.now));
            left -= 1;
            if left == 0 {
                self.fail("the members do not come to rest".to_owned(), woken);
            }
        }
        if self.failure.is_none() {
            let all = self.members.iter().map(Member::digests).collect();
            if let Err(problem) = compare::equal(self.index, all, &mut self.tally) {
                self.fail(problem, woken);
            }
        }
    }
}

impl<M: Machine> Seat<M> {
    /// What has gone wrong on the way and what has been compared so far.
    pub fn tally(&self) -> Tally {
        self.state.lock().tally
    }

    /// Looks at the member's machine.
    pub fn read<R>(&self, look: impl FnOnce(&M) -> R) -> R {
        look(&self.state.lock().members[self.place].machine)
    }

    /// Lets the sequencer order a command of its own.
    pub fn order(&self, now: Millis, command: Command) {
        self.call(now, |state, _| {
            state.order(Origin::Sequencer, vec![command])
        });
    }

    /// Does as if the member's process had ended and started anew from its snapshot, or from its log if
    /// it has one: what it has proposed may be lost, its connections are gone, the sequencer says that
    /// it was down.
    pub fn restart(&self, now: Millis) {
        self.call(now, |state, woken| {
            if state.sequencer == self.place {
                state.change_sequencer();
            }
            let member = &mut state.members[self.place];
            member.outboxes.wake_all(woken);
            member.outboxes.close_all();
            member.pending.clear();
            let (id, epoch) = (member.id, member.epoch);
            (member.epoch, member.seq) = (epoch + 1, 0);
            let down = Command::MemberDown { member: id, epoch };
            let index = member.machine.index();
            let machine = &mut member.machine;
            let replaced = match &member.log {
                Some(log) => compare::replay(machine, &log.log, id, &mut state.tally),
                None => state
                    .comparison
                    .replace(machine, id, index, &mut state.tally),
            };
            if let Err(problem) = replaced {
                state.fail(problem, woken);
            }
            state.order(Origin::Sequencer, vec![down]);
        });
    }

    /// Does something and what is due then, and wakes whom it concerns when the lock is free.
    fn call<R>(&self, now: Millis, act: impl FnOnce(&mut State<M>, &mut Woken) -> R) -> R {
        let mut woken = Woken::default();
        let mut state = self.state.lock();
        state.advance(now);
        let result = act(&mut state, &mut woken);
        let next = state.pump(&mut woken);
        state.wake_sequencer(next, &mut woken);
        drop(state);
        woken.wake();
        result
    }

    /// Removes segments: it waits for the disk, which a group that is there for tests may.
    fn give_back(&self, superseded: Vec<Superseded>) {
        for (place, journal, segments) in superseded {
            let given = entry_log::give_back(&journal, &segments);
            let mut woken = Woken::default();
            let mut state = self.state.lock();
            if let Err(problem) = given {
                state.fail(format!("member {}: {problem}", place + 1), &mut woken);
            } else if let Some(log) = &mut state.members[place].log {
                segments.iter().for_each(|segment| log.log.forget(*segment));
            }
            drop(state);
            woken.wake();
        }
    }

    fn propose_as_member(&self, now: Millis, connection: ConnectionNumber, commands: &[Command]) {
        self.call(now, |state, _| {
            let member = &mut state.members[self.place];
            if state.failure.is_some() || !member.outboxes.is_open(connection) {
                return;
            }
            let most = (state.proposal_bytes, member.machine.commands_max());
            let count = member.number(state.now, connection, (commands, most));
            let (_, term) = member.believes;
            let first = member.pending.len() - count;
            for pending in member.pending.range(first..) {
                let proposal = Proposal {
                    from: self.place,
                    term,
                    seq: Some(pending.seq),
                    is_first: true,
                    bytes: pending.bytes.clone(),
                };
                state.network.propose(state.now, proposal, &mut state.tally);
            }
        });
    }
}

impl<M: Machine> Group for Seat<M> {
    fn member(&self) -> MemberId {
        self.member
    }

    fn open(&self, waker: Waker) -> ConnectionNumber {
        self.state.lock().members[self.place].outboxes.open(waker)
    }

    fn propose(&self, now: Millis, connection: ConnectionNumber, commands: &mut Vec<Command>) {
        if !commands.is_empty() {
            self.propose_as_member(now, connection, commands);
            commands.clear();
        }
    }

    fn look(&self, look: &mut dyn FnMut(&Core)) {
        look(self.state.lock().members[self.place].machine.core());
    }

    fn take(&self, connection: ConnectionNumber, effects: &mut Vec<Effect>) -> Outstanding {
        let mut state = self.state.lock();
        state.members[self.place].outboxes.take(connection, effects)
    }

    fn close(&self, now: Millis, connection: ConnectionNumber) {
        self.propose_as_member(now, connection, &[Command::ConnectionEnd { connection }]);
        self.state.lock().members[self.place]
            .outboxes
            .close(connection);
    }

    fn tick(&self, now: Millis) -> Option<Millis> {
        let mut woken = Woken::default();
        let mut state = self.state.lock();
        state.advance(now);
        let next = state.pump(&mut woken);
        if let Some((_, at)) = &mut state.members[self.place].sequencer {
            *at = next;
        }
        let superseded = state.superseded();
        drop(state);
        woken.wake();
        self.give_back(superseded);
        next
    }

    fn set_sequencer_waker(&self, waker: Waker) {
        self.state.lock().members[self.place].sequencer = Some((waker, None));
    }

    fn is_full(&self) -> bool {
        self.is_full.load(Ordering::Relaxed)
    }

    /// Every entry goes onto the disks.
    fn is_memory_full(&self) -> bool {
        self.is_full()
    }

    fn fail(&self, why: String) {
        let mut woken = Woken::default();
        self.state.lock().fail(why, &mut woken);
        woken.wake();
    }

    fn failure(&self) -> Option<String> {
        self.state.lock().failure.clone()
    }

    fn finish(&self, now: Millis) -> Result<Option<String>, String> {
        let mut woken = Woken::default();
        let mut state = self.state.lock();
        state.advance(now);
        let is_first = !std::mem::replace(&mut state.is_finished, true);
        if is_first {
            state.drain(&mut woken);
        }
        // One line is enough for all seats.
        let line = is_first.then(|| state.tally.line(state.seed));
        let mut journals = Vec::new();
        for log in state.members.iter_mut().filter_map(|m| m.log.as_mut()) {
            log.finish();
            journals.push(log.log.journal().clone());
        }
        let result = state.failure.clone().map_or(Ok(line), Err);
        drop(state);
        woken.wake();
        for (place, journal) in journals.iter().enumerate() {
            if let store::State::Failed(why) = journal.close() {
                let member = place + 1;
                return Err(format!("member {member}: the journal has failed: {why}"));
            }
        }
        result
    }
}
