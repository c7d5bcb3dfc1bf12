//! A raft group in one process, for tests: its members on a simulated network with simulated disks
//! and clocks, which one seed decides. Everything happens in calls of [`Group`] and of the faults below, so
//! that the same seed and the same calls give the same run.

mod network;
mod node;

use std::collections::VecDeque;
use std::sync::Arc;
use std::task::Waker;

use parking_lot::Mutex;

pub use self::network::{Faults, Tally};
use self::network::{Flight, Network};
use self::node::Node;
use super::member::{Observed, form};
use super::ordered::Change;
use super::{Plant, Settings};
use crate::broker::ids::{ConnectionNumber, MemberId};
use crate::broker::{Command, Effect};
use crate::cluster::entry_log::{self, EntryLog};
use crate::cluster::lockstep::dice::Dice;
use crate::cluster::machine::Machine;
use crate::cluster::outbox::Woken;
use crate::cluster::{Group, Millis, Outstanding, limits};
use crate::store::SimulatedDisk;

/// How a group runs.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Decides everything that is not in the calls.
    pub seed: u64,
    /// How many members.
    pub members: usize,
    /// What goes wrong on the network and on disks.
    pub faults: Faults,
    /// How long the leader hears nothing of a member before that one's sessions end.
    pub down_after_ms: u64,
    /// Octets of the newest entries that each member keeps in memory.
    pub recent_bytes: usize,
    /// Octets of a proposal and of a part of a large message.
    pub proposal_bytes: usize,
    /// Of the members' logs.
    pub log: entry_log::Options,
    /// The wall-clock time at `Millis(0)`.
    pub wall_at_zero: u64,
    /// What members do wrongly on purpose.
    #[doc(hidden)]
    pub plant: Plant,
}

/// A member's seat.
pub struct Seat<M> {
    state: Arc<Mutex<State<M>>>,
    place: usize,
}

/// An entry applied, and where.
pub type Seen = (MemberId, Observed);

struct State<M> {
    setup: Setup,
    dice: Dice,
    now: Millis,
    fresh: Box<dyn Fn() -> M + Send>,
    nodes: Vec<Node<M>>,
    network: Network,
    /// Members there ever were.
    ids: u64,
    /// Changes of who takes part, until they are made.
    changes: VecDeque<Change>,
    seen: Vec<Seen>,
    /// Who was elected in which term.
    elected: Vec<(u64, MemberId)>,
    failure: Option<String>,
}

/// Forms a group of machines that `fresh` makes, all in the same state, and gives its seats. The
/// `commands` are in its first entry.
///
/// # Errors
/// A member cannot start.
pub fn seats<M: Machine>(
    setup: Setup,
    fresh: impl Fn() -> M + Send + 'static,
    commands: &[Command],
    now: Millis,
) -> Result<Vec<Seat<M>>, String> {
    let mut dice = Dice::new(setup.seed);
    let ids: Vec<MemberId> = (1..=setup.members as u64).map(MemberId).collect();
    let mut nodes = Vec::new();
    for id in &ids {
        let settings = Settings {
            group: setup.seed | 1,
            member: *id,
            seed: dice.roll(),
            down_after_ms: setup.down_after_ms,
            resend_after_ms: limits::RESEND_AFTER_MS,
            recent_bytes: setup.recent_bytes,
            proposal_bytes: setup.proposal_bytes,
            is_observed: true,
            plant: setup.plant,
        };
        let disk = SimulatedDisk::new(dice.roll());
        let wall = setup.wall_at_zero + now.0;
        let (mut log, mut writer) = node::open(&disk, &setup.log, id.0)?;
        let begin = (fresh(), commands.to_vec());
        form(&mut log, &settings, &ids, begin, wall)?;
        writer.finish();
        drop(log);
        nodes.push(Node::new(settings, disk));
    }
    let network = Network::new(dice.roll(), setup.faults, nodes.len());
    let mut state = State {
        dice,
        now,
        fresh: Box::new(fresh),
        ids: setup.members as u64,
        nodes,
        network,
        changes: VecDeque::new(),
        seen: Vec::new(),
        elected: Vec::new(),
        failure: None,
        setup,
    };
    for place in 0..state.nodes.len() {
        state.start(place)?;
    }
    let state = Arc::new(Mutex::new(state));
    let seat = |place| Seat {
        state: state.clone(),
        place,
    };
    Ok((0..ids.len()).map(seat).collect())
}

impl<M: Machine> State<M> {
    fn start(&mut self, place: usize) -> Result<(), String> {
        let (setup, dice) = (&self.setup, &mut self.dice);
        let node = &mut self.nodes[place];
        // A life has a monotonic clock of its own, and what its wall clock shows is anything.
        node.clock_ahead = dice.below(1_000_000);
        let at = node.now(self.now, setup.wall_at_zero);
        let started = node.start(&setup.log, &*self.fresh, at, dice.roll());
        started.map_err(|why| format!("member {} does not start: {why}", place + 1))
    }

    fn fail(&mut self, why: String) {
        self.failure.get_or_insert(why);
    }

    /// Lets everything happen that is due, and gives when the next thing is.
    fn pump(&mut self, woken: &mut Vec<Woken>) -> Option<Millis> {
        let mut left = limits::LOCKSTEP_STEPS_MAX;
        while self.failure.is_none() && left > 0 {
            let mut is_quiet = true;
            if let Some(flight) = self.network.arrived(self.now) {
                self.arrive(flight);
                is_quiet = false;
            }
            for place in 0..self.nodes.len() {
                is_quiet &= !self.run(place, woken);
            }
            if is_quiet {
                break;
            }
            left -= 1;
        }
        self.make_changes();
        let next = self.nodes.iter().filter_map(|node| node.next(self.now));
        let next = next.chain(self.network.next()).min();
        next.filter(|_| self.failure.is_none())
    }

    fn arrive(&mut self, flight: Flight) {
        let node = &mut self.nodes[flight.to];
        if node.paused_until > self.now {
            let until = node.paused_until;
            self.network.put_off(flight, until);
            return;
        }
        let at = node.now(self.now, self.setup.wall_at_zero);
        let Some(member) = &mut node.member else {
            return;
        };
        node.is_touched = true;
        if member.step(at, &flight.octets).is_err() {
            self.network.tally.refused += 1;
        }
    }

    /// Lets a member do what is due. False when nothing is.
    fn run(&mut self, place: usize, woken: &mut Vec<Woken>) -> bool {
        let node = &mut self.nodes[place];
        let at = node.now(self.now, self.setup.wall_at_zero);
        if !node.is_due(self.now) {
            return false;
        }
        let mut sent = Vec::new();
        let sync_ms = self.network.sync_ms(place);
        let done = node.run(self.now, at, sync_ms, &mut sent);
        let Some(member) = &mut node.member else {
            return false;
        };
        woken.push(member.woken());
        let id = member.id();
        let observed = member.observed();
        self.seen.extend(observed.into_iter().map(|one| (id, one)));
        if member.is_elected() && self.elected.last() != Some(&(member.term(), id)) {
            self.elected.push((member.term(), id));
        }
        if let Err(why) = done {
            let is_hurt = node.is_hurt;
            node.end();
            self.network.tally.failures += 1;
            if !is_hurt {
                self.fail(format!("member {}: {why}", place + 1));
            }
        }
        for (to, octets) in sent {
            let is_it = |node: &Node<M>| node.settings.member == to;
            if let Some(to) = self.nodes.iter().position(is_it) {
                self.network.send(self.now, place, to, octets);
            }
        }
        true
    }

    /// Asks whoever leads for the next change of who takes part.
    fn make_changes(&mut self) {
        let Some(change) = self.changes.front().copied() else {
            return;
        };
        let wall = self.setup.wall_at_zero;
        for node in &mut self.nodes {
            let at = node.now(self.now, wall);
            let Some(member) = node.member.as_mut().filter(|member| member.is_leading()) else {
                continue;
            };
            let now = member.configuration();
            let takes_part =
                |id: MemberId| now.voters.contains(&id.0) || now.learners.contains(&id.0);
            let is_made = match change {
                Change::Join(id) | Change::Promote(id) => takes_part(id),
                Change::Leave(id) => !takes_part(id),
            };
            if is_made {
                self.changes.pop_front();
                self.network.tally.changes += 1;
            } else if node.paused_until <= self.now && member.change(at, change) {
                node.is_touched = true;
            }
            return;
        }
    }

    /// Whether all are up, count, agree who leads and have applied the same.
    fn is_whole(&self) -> bool {
        let members: Vec<_> = self
            .nodes
            .iter()
            .filter_map(|n| n.member.as_ref())
            .collect();
        let first = members.first();
        let index = first.map_or(0, |member| member.machine().index());
        let counts = |id: MemberId| {
            let all = members.iter();
            all.clone()
                .all(|m| m.configuration().voters.contains(&id.0))
        };
        members.len() == self.nodes.len()
            && self.changes.is_empty()
            && members.iter().filter(|member| member.is_leading()).count() == 1
            && members
                .iter()
                .all(|m| counts(m.id()) && m.machine().index() == index)
    }
}

impl<M: Machine> Seat<M> {
    fn call<R>(&self, now: Millis, act: impl FnOnce(&mut State<M>) -> R) -> R {
        let mut woken = Vec::new();
        let mut state = self.state.lock();
        state.now = state.now.max(now);
        let result = act(&mut state);
        state.pump(&mut woken);
        drop(state);
        woken.into_iter().for_each(Woken::wake);
        result
    }

    /// The power goes: the member is gone, and its disk is one of those that can be left.
    pub fn crash(&self, now: Millis) {
        self.call(now, |state| {
            let seed = state.dice.roll();
            state.network.tally.crashes += 1;
            state.nodes[self.place].crash(seed);
        });
    }

    /// The member starts again from its disk. Its wall clock is off by so much.
    pub fn start(&self, now: Millis, wall_off_ms: i64) {
        self.call(now, |state| {
            state.nodes[self.place].wall_off_ms = wall_off_ms;
            if state.nodes[self.place].member.is_none()
                && let Err(why) = state.start(self.place)
            {
                state.fail(why);
            }
        });
    }

    /// The disk is lost: a new member takes its place, on an empty one. It joins as a learner.
    pub fn wipe(&self, now: Millis) {
        self.call(now, |state| {
            state.ids += 1;
            let (id, old) = (MemberId(state.ids), state.nodes[self.place].settings.member);
            let disk = SimulatedDisk::new(state.dice.roll());
            let settings = Settings {
                member: id,
                ..state.nodes[self.place].settings
            };
            state.nodes[self.place] = Node::new(settings, disk);
            state.network.tally.losses += 1;
            state.changes.extend([Change::Leave(old), Change::Join(id)]);
            if let Err(why) = state.start(self.place) {
                state.fail(why);
            }
        });
    }

    /// The member does nothing for a time.
    pub fn pause(&self, now: Millis, milliseconds: u64) {
        self.call(now, |state| {
            state.network.tally.pauses += 1;
            state.nodes[self.place].paused_until = Millis(state.now.0 + milliseconds);
        });
    }

    /// Nothing that this member sends comes to another, from now on, or all comes again.
    pub fn cut(&self, now: Millis, to: usize, is_cut: bool) {
        self.call(now, |state| state.network.cut(self.place, to, is_cut));
    }

    /// The n-th sync or write of the member's disk from now on fails; it is as good as new when the
    /// member has ended.
    pub fn hurt_disk(&self, now: Millis, calls: u64) {
        self.call(now, |state| state.nodes[self.place].hurt(calls));
    }

    /// The member's disk refuses nothing any more.
    pub fn mend_disk(&self, now: Millis) {
        self.call(now, |state| state.nodes[self.place].mend());
    }

    /// Sets what goes wrong on the network and on the disks.
    pub fn set_faults(&self, now: Millis, faults: Faults) {
        self.call(now, |state| state.network.faults = faults);
    }

    /// Who has the seat now.
    pub fn id(&self) -> MemberId {
        self.state.lock().nodes[self.place].settings.member
    }

    /// Whether the member is up.
    pub fn is_up(&self) -> bool {
        self.state.lock().nodes[self.place].member.is_some()
    }

    /// Whether the member gives the order, as far as it knows.
    pub fn is_leading(&self) -> bool {
        let state = self.state.lock();
        let member = state.nodes[self.place].member.as_ref();
        member.is_some_and(|member| member.is_leading())
    }

    /// Whether a disk may be lost: no other is being replaced.
    pub fn may_lose(&self) -> bool {
        let state = self.state.lock();
        let members = state.nodes.iter().filter_map(|node| node.member.as_ref());
        let counts = |id: MemberId| {
            let mut leads = members.clone().filter(|member| member.is_leading());
            leads.all(|member| member.configuration().voters.contains(&id.0))
        };
        let is_led = members.clone().any(|member| member.is_leading());
        let mut nodes = state.nodes.iter();
        is_led && state.changes.is_empty() && nodes.all(|node| counts(node.settings.member))
    }

    /// Whether all are up, count, agree who leads and have applied the same.
    pub fn is_whole(&self) -> bool {
        self.state.lock().is_whole()
    }

    /// How each member stands, in words.
    pub fn standing(&self) -> String {
        let state = self.state.lock();
        let nodes = state.nodes.iter().map(Node::standing);
        format!(
            "{:?}, to be made: {:?}",
            nodes.collect::<Vec<_>>(),
            state.changes
        )
    }

    /// What members have applied, and who was elected in which term, since this was last asked.
    pub fn seen(&self) -> (Vec<Seen>, Vec<(u64, MemberId)>) {
        let mut state = self.state.lock();
        let seen = std::mem::take(&mut state.seen);
        (seen, std::mem::take(&mut state.elected))
    }

    /// Digest and index of the member's machine.
    pub fn digest(&self) -> Option<(u64, u64)> {
        let state = self.state.lock();
        let machine = state.nodes[self.place].member.as_ref()?.machine();
        Some((machine.index(), machine.digest()))
    }

    /// Looks at the member's log.
    pub fn read_log<R>(&self, look: impl FnOnce(&EntryLog) -> R) -> Option<R> {
        let state = self.state.lock();
        let member = state.nodes[self.place].member.as_ref()?;
        Some(look(member.log()))
    }

    /// What has gone wrong so far.
    pub fn tally(&self) -> Tally {
        self.state.lock().network.tally
    }
}

impl<M: Machine> Group for Seat<M> {
    fn member(&self) -> MemberId {
        self.id()
    }

    fn open(&self, waker: Waker) -> ConnectionNumber {
        let mut state = self.state.lock();
        match &mut state.nodes[self.place].member {
            Some(member) => member.outboxes.open(waker),
            None => ConnectionNumber(0),
        }
    }

    fn propose(&self, now: Millis, connection: ConnectionNumber, commands: &mut Vec<Command>) {
        let commands = std::mem::take(commands);
        if !commands.is_empty() {
            self.call(now, |state| {
                let node = &mut state.nodes[self.place];
                node.waiting.push_back((connection, commands));
            });
        }
    }

    fn take(&self, connection: ConnectionNumber, effects: &mut Vec<Effect>) -> Outstanding {
        let mut state = self.state.lock();
        let now = state.now;
        let node = &mut state.nodes[self.place];
        let waiting = node
            .waiting
            .iter()
            .filter(|(of, _)| *of == connection)
            .count();
        if node.paused_until > now
            && let Some(member) = &node.member
        {
            let outstanding = member.outboxes.outstanding(connection);
            return Outstanding {
                proposed: outstanding.proposed + waiting,
                is_ended: false,
                ..outstanding
            };
        }
        let taken = match &mut node.member {
            Some(member) => member.outboxes.take(connection, effects),
            None => Outstanding {
                is_ended: true,
                ..Outstanding::default()
            },
        };
        Outstanding {
            proposed: taken.proposed + waiting,
            ..taken
        }
    }

    fn close(&self, now: Millis, connection: ConnectionNumber) {
        self.propose(
            now,
            connection,
            &mut vec![Command::ConnectionEnd { connection }],
        );
        self.call(now, |state| {
            let node = &mut state.nodes[self.place];
            if node.paused_until > state.now {
                node.closing.push(connection);
            } else if let Some(member) = &mut node.member {
                member.outboxes.close(connection);
            }
        });
    }

    fn tick(&self, now: Millis) -> Option<Millis> {
        let mut woken = Vec::new();
        let mut state = self.state.lock();
        state.now = state.now.max(now);
        let next = state.pump(&mut woken);
        drop(state);
        woken.into_iter().for_each(Woken::wake);
        next
    }

    fn set_sequencer_waker(&self, waker: Waker) {
        // Whoever drives a simulated group calls `tick` as its time passes.
        drop(waker);
    }

    fn is_full(&self) -> bool {
        let state = self.state.lock();
        let member = state.nodes[self.place].member.as_ref();
        member.is_some_and(|member| member.is_full())
    }

    fn is_memory_full(&self) -> bool {
        self.is_full()
    }

    fn fail(&self, why: String) {
        self.state.lock().fail(why);
    }

    fn failure(&self) -> Option<String> {
        self.state.lock().failure.clone()
    }

    fn finish(&self, _: Millis) -> Result<Option<String>, String> {
        let state = self.state.lock();
        let line = format!("raft: {:?} seed={}", state.network.tally, state.setup.seed);
        state.failure.clone().map_or(Ok(Some(line)), Err)
    }
}
