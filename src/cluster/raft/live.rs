//! A member at work in a process: its journal has a thread, its messages go to whoever carries them,
//! and the time is told by whoever calls.
//!
//! ```text
//!   drivers -> propose, take, close \                       / outgoing -> one carrier a member
//!   sockets -> received              >  Member, one lock   <
//!   sequencer's task -> tick        /  ^ job, finished      \ effects -> outboxes
//!   a thread -> work_beside ---------- /
//!   the journal's thread -> bell ---> wakes the sequencer's task
//! ```
//!
//! What is proposed and what comes is noted under the lock, and the bell is rung; the sequencer's task
//! does then all that has become possible at once: a burst of proposals is one message to each
//! follower. Nothing here waits.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

use super::committed::Farewell;
use super::member::{Member, Now, Settings};
use super::ordered::{Change, Envelope};
use super::snapshots::Job;
use crate::broker::ids::{ConnectionNumber, MemberId};
use crate::broker::{Command, Core, Effect};
use crate::cluster::entry_log::{self, Configuration, EntryLog};
use crate::cluster::machine::Machine;
use crate::cluster::outbox::{Outboxes, Woken};
use crate::cluster::paging::{self, Paged, Paging};
use crate::cluster::{Group, Millis, Outstanding, limits, proposal};
use crate::store;

/// See the module.
pub struct Live<M = Core> {
    id: MemberId,
    group: u64,
    wall_at_zero: u64,
    proposal_bytes: usize,
    /// Commands of a proposal, as the core last said.
    commands_max: AtomicUsize,
    state: Mutex<State<M>>,
    bell: Arc<Bell>,
    /// Work that is to be done without the lock.
    job: Mutex<Option<Job<M>>>,
    has_job: Condvar,
    /// Whether the journal has no room.
    is_full: AtomicBool,
    /// Whether there is room for bodies neither in memory nor in the pages.
    is_memory_full: AtomicBool,
    /// Whether no leader was heard of for so long that nobody is served.
    is_cut_off: AtomicBool,
    /// Whether nothing went onto the full disk for so long that nobody is served.
    is_stuck: AtomicBool,
    /// Connections that were opened.
    served: AtomicU64,
    /// Why this member cannot go on.
    failure: OnceLock<String>,
}

struct State<M> {
    member: Member<M>,
    /// What keeps the messages within the memory.
    paging: Option<Paging>,
    /// To whom messages are carried.
    carriers: BTreeMap<MemberId, Carrier>,
    /// Carriers there ever were.
    carried: u64,
    /// Since when no leader is known.
    leaderless_since: Option<Millis>,
    /// Up to where the disk has the log, and since when it takes no more of it for want of room.
    stuck_since: Option<(u64, Millis)>,
    /// What members said at their end, since this was last asked.
    farewells: Vec<Farewell>,
    /// Up to which snapshot segments were given back.
    given_back: u64,
    sent: Vec<(MemberId, Vec<u8>)>,
}

/// Messages on their way to one member.
struct Carrier {
    number: u64,
    queue: VecDeque<Vec<u8>>,
    bytes: usize,
    waker: Option<Waker>,
}

/// The right to carry messages to a member, until it is given to another or back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outgoing {
    /// The member.
    pub to: MemberId,
    number: u64,
}

/// Wakes the sequencer's task, once until it looks.
#[derive(Default)]
struct Bell {
    is_rung: AtomicBool,
    task: Mutex<Option<Waker>>,
}

impl Bell {
    fn ring(&self) {
        if !self.is_rung.swap(true, Ordering::AcqRel)
            && let Some(task) = &*self.task.lock()
        {
            task.wake_by_ref();
        }
    }
}

/// How a member stands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct View {
    /// Who leads, as far as it knows.
    pub leader: Option<MemberId>,
    /// Whether it gives the order itself.
    pub is_leading: bool,
    /// Its term.
    pub term: u64,
    /// Who counts and who learns.
    pub configuration: Configuration,
    /// The last entry that it has applied.
    pub index: u64,
    /// Whether it has caught up with the order as it was when this member started.
    pub has_begun: bool,
    /// Of those who take part, the ones that its leader has not heard of for as long as it takes to end
    /// their sessions. Only while it leads.
    pub silent: Vec<MemberId>,
    /// For how many milliseconds it has known no leader.
    pub leaderless_ms: u64,
}

impl<M: Machine> Live<M> {
    /// Starts a member from its log, whose journal has a thread. `fresh` is its machine until it gets
    /// a state; `now` and `wall` (milliseconds since 1970) are the same moment.
    ///
    /// # Errors
    /// The log is another's, or does not give a state.
    pub fn start(
        log: EntryLog,
        settings: Settings,
        fresh: impl FnOnce() -> M,
        (now, wall): (Millis, u64),
    ) -> Result<Arc<Live<M>>, String> {
        let journal = log.journal().clone();
        let clocks = Now { clock: now, wall };
        let member = Member::open(log, settings, fresh, clocks)?;
        let live = Live {
            id: settings.member,
            group: settings.group,
            wall_at_zero: wall.saturating_sub(now.0),
            proposal_bytes: settings.proposal_bytes,
            commands_max: AtomicUsize::new(member.machine().commands_max()),
            state: Mutex::new(State {
                member,
                paging: None,
                carriers: BTreeMap::new(),
                carried: 0,
                leaderless_since: None,
                stuck_since: None,
                farewells: Vec::new(),
                given_back: 0,
                sent: Vec::new(),
            }),
            bell: Arc::default(),
            job: Mutex::new(None),
            has_job: Condvar::new(),
            is_full: AtomicBool::new(false),
            is_memory_full: AtomicBool::new(false),
            is_cut_off: AtomicBool::new(false),
            is_stuck: AtomicBool::new(false),
            served: AtomicU64::new(0),
            failure: OnceLock::new(),
        };
        let bell = live.bell.clone();
        journal.set_waker(Arc::new(move || bell.ring()));
        Ok(Arc::new(live))
    }

    /// The group.
    pub fn group(&self) -> u64 {
        self.group
    }

    fn now(&self, now: Millis) -> Now {
        Now {
            clock: now,
            wall: self.wall_at_zero.saturating_add(now.0),
        }
    }

    /// Looks into the machine, with the lock held: only for what is short.
    pub fn read<R>(&self, look: impl FnOnce(&M) -> R) -> R {
        look(self.state.lock().member.machine())
    }

    /// How it stands.
    pub fn view(&self, now: Millis) -> View {
        let state = self.state.lock();
        let member = &state.member;
        let leader = member.raw.raft.leader_id;
        let since = state.leaderless_since;
        View {
            leader: (leader != 0).then_some(MemberId(leader)),
            is_leading: member.is_leading(),
            term: member.term(),
            configuration: member.configuration(),
            index: member.machine().index(),
            has_begun: member.has_begun(),
            silent: member.silent(),
            leaderless_ms: since.map_or(0, |since| now.0.saturating_sub(since.0)),
        }
    }

    /// Asks for a change of who takes part. False: it does not lead, or another change is on its way.
    pub fn change(&self, now: Millis, change: Change) -> bool {
        let is_asked = self.state.lock().member.change(self.now(now), change);
        self.bell.ring();
        is_asked
    }

    /// Orders a command of the sequencer's. False: it does not lead, or has too much on its way.
    pub fn order(&self, now: Millis, command: Command) -> bool {
        let now = self.now(now);
        let is_ordered = self.state.lock().member.order_command(now, command);
        self.bell.ring();
        is_ordered
    }

    /// Nobody listens where a member was: see [`Member::note_gone`].
    pub fn note_gone(&self, member: MemberId) {
        self.state.lock().member.note_gone(member);
    }

    /// Takes a message that a member sent.
    ///
    /// # Errors
    /// It is none of that member's: whoever sends such is not to be listened to. One that makes no
    /// sense at this moment is not heeded, which is no error.
    pub fn received(&self, now: Millis, from: MemberId, octets: &[u8]) -> Result<(), String> {
        let envelope = Envelope::decode(octets).map_err(|error| error.to_string())?;
        if envelope.from != from {
            return Err(format!(
                "a message of {:x} by {:x}",
                envelope.from.0, from.0
            ));
        }
        let taken = {
            let mut state = self.state.lock();
            state.member.take_envelope(self.now(now), envelope)
        };
        if let Err(why) = taken {
            tracing::debug!(target: "Cluster", "a message of member {:x} is not heeded: {why}", from.0);
        }
        self.bell.ring();
        Ok(())
    }

    /// Somebody carries messages to a member from now on, until [`Live::carry_no_more`]. None: somebody
    /// does already.
    pub fn carry(&self, to: MemberId) -> Option<Outgoing> {
        let mut state = self.state.lock();
        if state.carriers.contains_key(&to) {
            return None;
        }
        state.carried += 1;
        let number = state.carried;
        let carrier = Carrier {
            number,
            queue: VecDeque::new(),
            bytes: 0,
            waker: None,
        };
        state.carriers.insert(to, carrier);
        // The first that it hears of its leader is what it has acknowledged. Entries that came before
        // would mend a log that has gone back, and nobody would know.
        state.member.raw.ping();
        drop(state);
        self.bell.ring();
        Some(Outgoing { to, number })
    }

    /// What is to be carried, added to `messages`; pending when there is nothing. False: this carrier
    /// carries no more.
    pub fn poll_outgoing(
        &self,
        outgoing: Outgoing,
        messages: &mut Vec<Vec<u8>>,
        context: &mut Context<'_>,
    ) -> Poll<bool> {
        let mut state = self.state.lock();
        let found = state.carriers.get_mut(&outgoing.to);
        let Some(carrier) = found.filter(|carrier| carrier.number == outgoing.number) else {
            return Poll::Ready(false);
        };
        if carrier.queue.is_empty() {
            carrier.waker = Some(context.waker().clone());
            return Poll::Pending;
        }
        carrier.bytes = 0;
        messages.extend(carrier.queue.drain(..));
        Poll::Ready(true)
    }

    /// A carrier has ended, and what it had may be lost.
    pub fn carry_no_more(&self, outgoing: Outgoing) {
        let mut state = self.state.lock();
        let found = state.carriers.get(&outgoing.to);
        if found.is_some_and(|carrier| carrier.number == outgoing.number) {
            state.carriers.remove(&outgoing.to);
            state.member.raw.report_unreachable(outgoing.to.0);
        }
        drop(state);
        self.bell.ring();
    }

    /// To whom messages are carried.
    pub fn carried(&self) -> Vec<MemberId> {
        self.state.lock().carriers.keys().copied().collect()
    }

    /// Says in the order that this member ends. It is to take part until [`Live::has_left`].
    pub fn say_farewell(&self, now: Millis) {
        self.state.lock().member.say_farewell(self.now(now));
        self.bell.ring();
    }

    /// Whether the order has what was said at the end.
    pub fn has_left(&self) -> bool {
        let state = self.state.lock();
        let member = &state.member;
        member.is_leaving && member.has_said_farewell()
    }

    /// Hands leadership on, if it leads. True while it still does and there is somebody to take it.
    pub fn hand_over(&self, now: Millis) -> bool {
        let is_leading = self.state.lock().member.hand_over(self.now(now));
        self.bell.ring();
        is_leading
    }

    /// What members said when they ended, since this was last asked.
    pub fn farewells(&self) -> Vec<Farewell> {
        std::mem::take(&mut self.state.lock().farewells)
    }

    /// Removes the segments that nobody needs any more. Waits for the disk.
    ///
    /// # Errors
    /// The disk refuses: this member cannot go on.
    pub fn give_back(&self) -> Result<(), String> {
        let (journal, segments, index) = {
            let state = self.state.lock();
            let log = state.member.log();
            let index = log.snapshot_index();
            if index <= state.given_back || !log.is_snapshot_synced() {
                return Ok(());
            }
            (log.journal().clone(), log.superseded(), index)
        };
        entry_log::give_back(&journal, &segments)?;
        let mut state = self.state.lock();
        state.given_back = index;
        let log = state.member.log_mut();
        segments.iter().for_each(|segment| log.forget(*segment));
        Ok(())
    }

    /// Does the next work that needs no lock, if there is some before `patience` is over. For a thread
    /// that calls again and again.
    pub fn work_beside(&self, now: impl Fn() -> Millis, patience: Duration) {
        let job = {
            let mut job = self.job.lock();
            if job.is_none() {
                self.has_job.wait_for(&mut job, patience);
            }
            job.take()
        };
        let Some(job) = job else { return };
        let done = job.run();
        self.state.lock().member.finish(self.now(now()), done);
        self.bell.ring();
    }

    /// Hears of the journal whether there is room.
    fn note_room(&self, state: &State<M>) {
        let journal = state.member.log().journal().state();
        let is_full = matches!(journal, store::State::Full(_));
        if self.is_full.swap(is_full, Ordering::Relaxed) != is_full {
            match journal {
                store::State::Full(why) => tracing::error!(
                    target: "Store",
                    "No room for the journal: {why}. Messages are refused until there is some"
                ),
                _ => tracing::warn!(target: "Store", "There is room for the journal again"),
            }
        }
    }

    /// Ends all connections when the disk has had no room for anything for long. Neither is what others
    /// order applied then, nor are they answered, so that they take this member for down.
    fn note_stuck(&self, state: &mut State<M>, now: Millis) {
        let log = state.member.log();
        let synced = log.journal().synced();
        if !self.is_full.load(Ordering::Relaxed) || synced == log.end() {
            state.stuck_since = None;
            if self.is_stuck.swap(false, Ordering::Relaxed) {
                tracing::warn!(target: "Store", "What waited is on the disk: clients are served");
            }
            return;
        }
        let (_, since) = match state.stuck_since {
            Some(stuck) if stuck.0 == synced => stuck,
            _ => *state.stuck_since.insert((synced, now)),
        };
        let is_long = now.0 >= since.0 + limits::RAFT_STUCK_MS;
        if is_long && !self.is_stuck.swap(true, Ordering::Relaxed) {
            tracing::error!(
                target: "Store",
                "Nothing went onto the disk for {} ms: clients are sent away until there is room",
                now.0 - since.0
            );
            state.member.renew();
        }
    }

    /// Ends all connections when no leader was heard of for long.
    fn note_leader(&self, state: &mut State<M>, now: Millis) {
        if state.member.raw.raft.leader_id != 0 {
            state.leaderless_since = None;
            if self.is_cut_off.swap(false, Ordering::Relaxed) {
                tracing::warn!(target: "Cluster", "There is a quorum again: clients are served");
            }
            return;
        }
        let since = *state.leaderless_since.get_or_insert(now);
        let is_long = now.0 >= since.0 + limits::RAFT_NO_QUORUM_MS;
        if is_long && !self.is_cut_off.swap(true, Ordering::Relaxed) {
            tracing::error!(
                target: "Cluster",
                "No quorum for {} ms: nothing is confirmed and clients are sent away until there is one",
                now.0 - since.0
            );
            state.member.renew();
        }
    }
}

impl Live {
    /// Lets bodies leave the memory from now on, by [`crate::cluster::paging::round`].
    pub fn page_with(&self, paging: Paging) {
        self.state.lock().paging = Some(paging);
    }
}

/// A body is no part of what members compare, so each pages as it needs to.
impl Paged for Live {
    fn with_paging<R>(
        &self,
        act: impl FnOnce(&mut Paging, &mut Core, &Outboxes) -> R,
    ) -> Option<R> {
        let state = &mut *self.state.lock();
        let Member {
            machine, outboxes, ..
        } = &mut state.member;
        let paging = state.paging.as_mut()?;
        Some(act(paging, machine, outboxes))
    }

    fn set_memory_full(&self, is_full: bool) {
        if self.is_memory_full.swap(is_full, Ordering::Relaxed) != is_full {
            paging::tell_of_memory(is_full);
        }
    }
}

impl<M> State<M> {
    /// Gives messages to their carriers; those that nobody carries, or that are too many, are lost.
    fn hand_out(&mut self, woken: &mut Woken) {
        for (to, octets) in self.sent.drain(..) {
            let Some(carrier) = self.carriers.get_mut(&to) else {
                continue;
            };
            let bytes = carrier.bytes + octets.len();
            if bytes > limits::RAFT_OUTGOING_BYTES_MAX && !carrier.queue.is_empty() {
                continue;
            }
            carrier.bytes = bytes;
            carrier.queue.push_back(octets);
            if let Some(waker) = carrier.waker.take() {
                woken.push(waker);
            }
        }
    }
}

impl<M: Machine> Group for Live<M> {
    fn member(&self) -> MemberId {
        self.id
    }

    fn open(&self, waker: Waker) -> ConnectionNumber {
        self.served.fetch_add(1, Ordering::Relaxed);
        self.open_agent(waker)
    }

    fn open_agent(&self, waker: Waker) -> ConnectionNumber {
        self.state.lock().member.outboxes.open(waker)
    }

    fn propose(&self, now: Millis, connection: ConnectionNumber, commands: &mut Vec<Command>) {
        if commands.is_empty() {
            return;
        }
        let now = self.now(now);
        let most = (
            self.proposal_bytes,
            self.commands_max.load(Ordering::Relaxed),
        );
        let batches = proposal::cut(connection, commands, most);
        commands.clear();
        let mut state = self.state.lock();
        state.member.propose_batches(now, connection, &batches);
        drop(state);
        self.bell.ring();
    }

    fn look(&self, look: &mut dyn FnMut(&Core)) {
        look(self.state.lock().member.machine().core());
    }

    fn take(&self, connection: ConnectionNumber, effects: &mut Vec<Effect>) -> Outstanding {
        let mut state = self.state.lock();
        let taken = state.member.outboxes.take(connection, effects);
        let is_pressed = state.paging.as_ref().is_some_and(Paging::is_pressed);
        Outstanding {
            // It clears when bodies have left the memory; then all are woken.
            is_member_held: taken.is_member_held || is_pressed,
            ..taken
        }
    }

    fn close(&self, now: Millis, connection: ConnectionNumber) {
        let now = self.now(now);
        let mut state = self.state.lock();
        let member = &mut state.member;
        member.propose(now, connection, &[Command::ConnectionEnd { connection }]);
        member.outboxes.close(connection);
        drop(state);
        self.bell.ring();
    }

    fn tick(&self, now: Millis) -> Option<Millis> {
        // What is rung from here on is looked at in another call.
        self.bell.is_rung.store(false, Ordering::Release);
        let mut woken = Woken::default();
        let mut guard = self.state.lock();
        let state = &mut *guard;
        let clocks = self.now(now);
        if state.member.next() <= now {
            state.member.tick(clocks);
        }
        state.member.work(clocks, &mut state.sent);
        let commands_max = state.member.machine().commands_max();
        self.commands_max.store(commands_max, Ordering::Relaxed);
        state.hand_out(&mut woken);
        state.farewells.append(&mut state.member.farewells);
        self.note_room(state);
        self.note_stuck(state, now);
        self.note_leader(state, now);
        let of_member = state.member.woken();
        if let Some(why) = state.member.failure() {
            // The first reason is the one to be told.
            let _ = self.failure.set(why);
        }
        let next = state.member.next();
        let job = state.member.job();
        drop(guard);
        if job.is_some() {
            *self.job.lock() = job;
            self.has_job.notify_one();
        }
        of_member.wake();
        woken.wake();
        Some(next)
    }

    fn set_sequencer_waker(&self, waker: Waker) {
        *self.bell.task.lock() = Some(waker);
    }

    fn is_full(&self) -> bool {
        self.is_full.load(Ordering::Relaxed)
    }

    /// Every entry goes onto the disk.
    fn is_memory_full(&self) -> bool {
        self.is_full() || self.is_memory_full.load(Ordering::Relaxed)
    }

    fn unserved(&self) -> Option<&'static str> {
        let of = |is: &AtomicBool, text| is.load(Ordering::Relaxed).then_some(text);
        let no_quorum = "no quorum: this member hears of too few others of its cluster";
        let no_room = "no room: this member of its cluster has a full disk";
        of(&self.is_cut_off, no_quorum).or_else(|| of(&self.is_stuck, no_room))
    }

    fn fail(&self, why: String) {
        // The first reason is the one to be told.
        let _ = self.failure.set(why);
        self.bell.ring();
    }

    fn failure(&self) -> Option<String> {
        self.failure.get().cloned()
    }

    fn finish(&self, _: Millis) -> Result<Option<String>, String> {
        let (line, journal) = {
            let state = self.state.lock();
            let machine = state.member.machine();
            let line = format!(
                "raft: member {:x} served {} connections and applied {} entries; entry {} has digest {:016x}",
                self.id.0,
                self.served.load(Ordering::Relaxed),
                state.member.applied,
                machine.index(),
                machine.digest()
            );
            (line, state.member.log().journal().clone())
        };
        match journal.close() {
            store::State::Failed(why) => Err(format!("the journal has failed: {why}")),
            store::State::Full(_) | store::State::Ok => Ok(Some(line)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::form;
    use super::super::node::settings;
    use super::*;
    use crate::store::SimulatedDisk;

    /// A member alone, whose disk has a thread, and its time.
    struct Alone {
        live: Arc<Live>,
        disk: SimulatedDisk,
        now: Millis,
    }

    impl Alone {
        fn new() -> Alone {
            let disk = SimulatedDisk::new(1);
            let mut options = entry_log::Options::default();
            options.journal.segment_bytes = 64 * 1024;
            let opened = EntryLog::open(Arc::new(disk.clone()), &options, 1);
            let (mut log, _) = opened.expect("it is new");
            let settings = settings(1);
            let fresh = || Core::new(Default::default(), Default::default());
            let begin = (fresh(), vec![Command::Tick; 40]);
            form(&mut log, settings.voter(), &[MemberId(1)], begin, 0).expect("it is new");
            let live = Live::start(log, settings, fresh, (Millis(0), 0)).expect("it is sound");
            Alone {
                live,
                disk,
                now: Millis(0),
            }
        }

        /// Lets time pass until something holds, and the disk do what it can meanwhile.
        fn until(&mut self, what: &str, holds: impl Fn(&Live) -> bool) {
            for _ in 0..20_000 {
                if holds(&self.live) {
                    return;
                }
                self.now.0 += limits::RAFT_TICK_MS;
                self.live.tick(self.now);
                std::thread::sleep(Duration::from_millis(1));
            }
            panic!("waited in vain until {what}");
        }
    }

    #[test]
    fn clients_are_sent_away_while_a_full_disk_takes_nothing() {
        let mut alone = Alone::new();
        alone.until("it has begun", |live| live.view(Millis(0)).has_begun);
        alone.disk.set_capacity(0);
        let connection = alone.live.open(Waker::noop().clone());
        for _ in 0..2000 {
            let mut end = vec![Command::ConnectionEnd { connection }; 20];
            alone.live.propose(alone.now, connection, &mut end);
        }
        assert_eq!(alone.live.unserved(), None);
        alone.until("they are", |live| {
            live.unserved()
                .is_some_and(|why| why.starts_with("no room"))
        });
        alone.disk.set_capacity(u64::MAX);
        alone.until("they are served", |live| live.unserved().is_none());
        assert_eq!(alone.live.failure(), None);
    }
}
