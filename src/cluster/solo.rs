//! The group of one: order of arrival, applied in place, nothing encoded.
//!
//! One lock holds the core and the outboxes together, so that a batch costs one locking and its
//! effects stand in their outboxes when `propose` returns. Buffers are swapped, not allocated.
//!
//! With a journal, what a batch decided that must survive is appended to it under the same lock, and
//! the effects of such a batch are held in the outboxes until the journal has synced it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::task::Waker;

use parking_lot::Mutex;

use super::clock::GroupClock;
use super::fact_log::{FactLog, Plant};
use super::outbox::{Outboxes, Woken};
use super::paging::{self, Paged, Paging};
use super::proposal;
use super::{Group, Millis, Outstanding, limits};
use crate::broker::ids::{ConnectionKey, ConnectionNumber, GroupTime, MemberId, ShardId};
use crate::broker::{Applied, Batch, Command, Core, Effect, Fact, Options, Origin, Out, plant};
use crate::store::{self, Journal};
use crate::wire::CommandId;

/// A broker that stands alone.
#[derive(Debug)]
pub struct Solo {
    member: MemberId,
    state: Mutex<State>,
    /// Whether the journal has no room for more than what makes room.
    is_full: AtomicBool,
    /// Whether there is no room for any message.
    is_memory_full: AtomicBool,
    /// Why this broker cannot go on.
    failure: OnceLock<String>,
    /// The journal, if there is one.
    journal: OnceLock<Arc<Journal>>,
}

#[derive(Debug)]
pub(super) struct State {
    pub(super) core: Core,
    pub(super) log: Option<FactLog>,
    pub(super) paging: Option<Paging>,
    clock: GroupClock,
    epoch: u64,
    seq: u64,
    pub(super) outboxes: Outboxes,
    out: Out,
    commands: Vec<Command>,
    /// Who calls `tick`, while it sleeps: it is woken once.
    sequencer: Option<Waker>,
    is_sequencer_awake: bool,
    /// Until when it sleeps.
    sleeps_until: GroupTime,
}

impl Solo {
    /// The group of a new broker. `now` is when group time begins.
    pub fn new(member: MemberId, options: Options, now: Millis) -> Solo {
        let core = Core::new(ShardId::default(), Options::default()).at_most_level();
        Solo::continued(member, 1, core, options, now)
    }

    /// The group of a broker that goes on with `core`. `epoch` is higher than any the member has
    /// had before. The options are set by a command, the first of the group.
    pub fn continued(
        member: MemberId,
        epoch: u64,
        core: Core,
        options: Options,
        now: Millis,
    ) -> Solo {
        let mut state = State {
            clock: GroupClock::continued(core.time(), now),
            core,
            log: None,
            paging: None,
            epoch,
            seq: 0,
            outboxes: Outboxes::default(),
            out: Out::default(),
            commands: Vec::new(),
            sequencer: None,
            is_sequencer_awake: false,
            sleeps_until: GroupTime(0),
        };
        let mut commands = vec![Command::Configure(Box::new(options))];
        state.apply(now, Origin::Sequencer, &mut commands);
        state.out.effects.clear();
        Solo {
            member,
            state: Mutex::new(state),
            is_full: AtomicBool::new(false),
            is_memory_full: AtomicBool::new(false),
            failure: OnceLock::new(),
            journal: OnceLock::new(),
        }
    }

    /// The group of a broker with a journal: `core` is what [`FactLog::open`] made of it, and `now`
    /// the time that it was opened with: what reading it took is time that has passed.
    pub fn with_log(
        member: MemberId,
        epoch: u64,
        (log, core): (FactLog, Core),
        options: Options,
        now: Millis,
    ) -> Arc<Solo> {
        let journal = log.journal().clone();
        let solo = Solo::continued(member, epoch, core, options, now);
        {
            let mut state = solo.state.lock();
            state.out.wants_facts = true;
            state.log = Some(log);
        }
        // It was empty until now.
        let _ = solo.journal.set(journal.clone());
        let solo = Arc::new(solo);
        let told = Arc::downgrade(&solo);
        journal.set_waker(Arc::new(move || Solo::journal_moved(&told)));
        solo
    }

    /// The journal has synced more, or stands otherwise than before. Called by its writer.
    fn journal_moved(solo: &Weak<Solo>) {
        let Some(solo) = solo.upgrade() else { return };
        let mut woken = Woken::default();
        let mut guard = solo.state.lock();
        let state = &mut *guard;
        let Some(log) = &state.log else { return };
        let journal = log.journal();
        state.outboxes.synced(journal.synced(), &mut woken);
        let is_full = matches!(journal.state(), store::State::Full(_));
        if solo.is_full.swap(is_full, Ordering::Relaxed) != is_full {
            tell_of_room(&journal.state());
        }
        if let Some(why) = log.failure() {
            state.fail(&solo.failure, why, &mut woken);
        }
        drop(guard);
        woken.wake();
    }

    /// Lets bodies leave the memory from now on, by [`super::paging::round`].
    pub fn page_with(&self, paging: Paging) {
        self.state.lock().paging = Some(paging);
    }

    /// The journal, if there is one.
    pub fn journal(&self) -> Option<Arc<Journal>> {
        self.journal.get().cloned()
    }

    /// Does something with the lock held: only what is short.
    pub(super) fn with_state<R>(&self, act: impl FnOnce(&mut State) -> R) -> R {
        act(&mut self.state.lock())
    }

    /// Looks into the core, with the lock held: only for what is short.
    pub fn read<R>(&self, look: impl FnOnce(&Core) -> R) -> R {
        look(&self.state.lock().core)
    }

    /// Does as if the process had ended and started anew with the same core: all connections are
    /// gone and those of the former epoch can propose nothing more.
    pub fn restart(&self, now: Millis) {
        let mut woken = Woken::default();
        let mut state = self.state.lock();
        state.outboxes.wake_all(&mut woken);
        state.outboxes.close_all();
        let down = Command::MemberDown {
            member: self.member,
            epoch: state.epoch,
        };
        (state.epoch, state.seq) = (state.epoch + 1, 0);
        state.settle(
            now,
            self.member,
            Origin::Sequencer,
            &mut vec![down],
            &mut woken,
        );
        drop(state);
        woken.wake();
    }

    /// Applies what a connection proposes; of one that has no outbox, nothing.
    fn propose_as_member(
        &self,
        now: Millis,
        connection: ConnectionNumber,
        commands: &mut Vec<Command>,
        prepare: impl FnOnce(&mut State),
    ) {
        let mut woken = Woken::default();
        let mut state = self.state.lock();
        if !state.outboxes.is_open(connection) {
            commands.clear();
            return;
        }
        prepare(&mut state);
        let mut position = 0;
        loop {
            let count = proposal::batch_len(commands, state.core.commands_max());
            let rest = commands.split_off(count);
            state.seq += 1;
            let origin = Origin::Member {
                id: self.member,
                epoch: state.epoch,
                seq: state.seq,
            };
            position = state
                .settle(now, self.member, origin, commands, &mut woken)
                .max(position);
            if rest.is_empty() {
                break;
            }
            *commands = rest;
        }
        state.outboxes.applied_unsynced(connection, position);
        if position == u64::MAX
            && let Some(why) = state.log.as_ref().and_then(FactLog::failure)
        {
            state.fail(&self.failure, why, &mut woken);
        }
        drop(state);
        woken.wake();
    }
}

impl State {
    /// Gives commands the next place in the order and applies them.
    fn apply(&mut self, now: Millis, origin: Origin, commands: &mut Vec<Command>) {
        let mut batch = Batch {
            shard: ShardId::default(),
            index: self.core.index() + 1,
            time: self.clock.time(now),
            origin,
            commands: std::mem::take(commands),
        };
        let applied = self.core.apply(&mut batch, &mut self.out);
        assert_eq!(
            applied,
            Applied::Done,
            "nothing is lost or doubled in place"
        );
        *commands = batch.commands;
    }

    /// Notes that this broker cannot go on, and wakes who looks.
    fn fail(&mut self, failure: &OnceLock<String>, why: String, woken: &mut Woken) {
        // The first reason is the one to be told.
        let _ = failure.set(why);
        if let Some(sequencer) = &self.sequencer {
            woken.push(sequencer.clone());
        }
    }

    /// Appends what the batch decided to the journal. The position that it has to be synced to before
    /// anything of the batch is seen; 0 when there is nothing to wait for.
    fn log(&mut self, now: Millis) -> u64 {
        let planted = self.log.as_ref().map_or(Plant::None, FactLog::plant);
        if !self.out.facts.is_empty() {
            let mut facts = std::mem::take(&mut self.out.facts);
            if plant::is_planted(plant::Plant::BatchInTwoRecords) {
                let second = facts.split_off(facts.len() / 2);
                self.write(now, std::mem::replace(&mut facts, second));
            }
            let end = self.write(now, facts).unwrap_or(0);
            return match planted {
                Plant::EffectsNotHeld if end != u64::MAX => 0,
                _ => end,
            };
        }
        match &self.log {
            Some(log) if self.out.rests_on_facts && planted != Plant::RestsNotHeld => log.end(),
            _ => 0,
        }
    }

    /// Appends facts to the journal, if there is one, and gives the position to which it has to be
    /// synced. The record says what group time it is now: a start later counts on from it.
    pub(super) fn write(&mut self, now: Millis, facts: Vec<Fact>) -> Option<u64> {
        let log = self.log.as_mut()?;
        let time = self.clock.time(now);
        // A later one, when somebody with a later `now` has come before.
        let now = self.clock.when(time).unwrap_or(now);
        Some(log.write((now, time), &mut self.core, facts))
    }

    /// Applies, puts the effects into the outboxes, and finds out whom to wake. Gives the position to
    /// which the journal has to be synced.
    fn settle(
        &mut self,
        now: Millis,
        member: MemberId,
        origin: Origin,
        commands: &mut Vec<Command>,
        woken: &mut Woken,
    ) -> u64 {
        self.apply(now, origin, commands);
        let position = self.log(now);
        self.outboxes
            .distribute(member, &mut self.out, position, woken);
        let wants = self.core.wants();
        let is_early = wants.work || wants.deadline < self.sleeps_until;
        if is_early
            && !self.is_sequencer_awake
            && let Some(sequencer) = &self.sequencer
        {
            self.is_sequencer_awake = true;
            woken.push(sequencer.clone());
        }
        position
    }

    /// Applies one entry of the sequencer, if one is due. Gives when the next is.
    fn step(&mut self, now: Millis, member: MemberId, woken: &mut Woken) -> Option<Millis> {
        self.is_sequencer_awake = true;
        let wants = self.core.wants();
        let due = match (wants.work, wants.deadline <= self.clock.time(now)) {
            (_, true) => Some(Command::Tick),
            (true, false) => Some(Command::Continue),
            (false, false) => None,
        };
        if let Some(command) = due {
            let mut commands = std::mem::take(&mut self.commands);
            commands.push(command);
            self.settle(now, member, Origin::Sequencer, &mut commands, woken);
            self.commands = commands;
        }
        let wants = self.core.wants();
        if wants.work || wants.deadline <= self.clock.time(now) {
            return Some(now);
        }
        self.is_sequencer_awake = false;
        self.sleeps_until = wants.deadline;
        self.clock.when(wants.deadline)
    }
}

fn tell_of_room(state: &store::State) {
    match state {
        store::State::Full(why) => tracing::error!(
            target: "Store",
            "No room for the journal: {why}. Persistent messages are refused until there is some"
        ),
        _ => tracing::warn!(target: "Store", "There is room for the journal again"),
    }
}

impl Paged for Solo {
    fn with_paging<R>(
        &self,
        act: impl FnOnce(&mut Paging, &mut Core, &Outboxes) -> R,
    ) -> Option<R> {
        let state = &mut *self.state.lock();
        let paging = state.paging.as_mut()?;
        Some(act(paging, &mut state.core, &state.outboxes))
    }

    fn set_memory_full(&self, is_full: bool) {
        if self.is_memory_full.swap(is_full, Ordering::Relaxed) != is_full {
            paging::tell_of_memory(is_full);
        }
    }
}

impl Group for Solo {
    fn member(&self) -> MemberId {
        self.member
    }

    fn open(&self, waker: Waker) -> ConnectionNumber {
        self.state.lock().outboxes.open(waker)
    }

    fn propose(&self, now: Millis, connection: ConnectionNumber, commands: &mut Vec<Command>) {
        if !commands.is_empty() {
            self.propose_as_member(now, connection, commands, |_| {});
        }
    }

    fn look(&self, look: &mut dyn FnMut(&Core)) {
        look(&self.state.lock().core);
    }

    fn take(&self, connection: ConnectionNumber, effects: &mut Vec<Effect>) -> Outstanding {
        let mut state = self.state.lock();
        let mut outstanding = state.outboxes.take(connection, effects);
        if state.paging.as_ref().is_some_and(Paging::is_pressed) {
            // It clears when bodies have left the memory; then all are woken.
            outstanding.proposed = limits::PROPOSED_BATCHES_MAX;
        }
        outstanding
    }

    fn close(&self, now: Millis, connection: ConnectionNumber) {
        let mut end = vec![Command::ConnectionEnd { connection }];
        self.propose_as_member(now, connection, &mut end, |state| {
            state.outboxes.close(connection);
        });
    }

    fn tick(&self, now: Millis) -> Option<Millis> {
        let mut next = None;
        for _ in 0..limits::CONTINUES_PER_TICK_MAX {
            let mut woken = Woken::default();
            next = self.state.lock().step(now, self.member, &mut woken);
            woken.wake();
            if next.is_none_or(|next| next > now) {
                break;
            }
        }
        next
    }

    fn set_sequencer_waker(&self, waker: Waker) {
        self.state.lock().sequencer = Some(waker);
    }

    fn is_full(&self) -> bool {
        self.is_full.load(Ordering::Relaxed) && !plant::is_planted(plant::Plant::FullIgnored)
    }

    fn room(&self) -> u64 {
        let journal = self.journal.get();
        let room = journal.map_or(u64::MAX, |journal| journal.room());
        match plant::is_planted(plant::Plant::FullIgnored) {
            true => u64::MAX,
            false => room,
        }
    }

    fn is_memory_full(&self) -> bool {
        self.is_memory_full.load(Ordering::Relaxed)
    }

    fn is_alone(&self) -> bool {
        true
    }

    fn whence(
        &self,
        connection: ConnectionNumber,
        channel: u16,
        delivery: CommandId,
    ) -> Option<String> {
        let key = ConnectionKey {
            member: self.member,
            number: connection,
        };
        self.state.lock().core.whence(key, channel, delivery)
    }

    fn fail(&self, why: String) {
        let mut woken = Woken::default();
        self.state.lock().fail(&self.failure, why, &mut woken);
        woken.wake();
    }

    fn failure(&self) -> Option<String> {
        let failure = self.failure.get().cloned();
        failure.filter(|_| !plant::is_planted(plant::Plant::FailureIgnored))
    }

    fn finish(&self, _: Millis) -> Result<Option<String>, String> {
        match self.journal().map(|journal| journal.close()) {
            Some(store::State::Failed(why)) => Err(format!("the journal has failed: {why}")),
            Some(store::State::Full(_) | store::State::Ok) | None => Ok(None),
        }
    }
}
