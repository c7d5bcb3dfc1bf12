//! A raft group in one process, for tests: its members on a simulated network with simulated disks
//! and clocks, which one seed decides. Everything happens in calls of [`Group`] and of the faults below, so
//! that the same seed and the same calls give the same run.

mod clocks;
mod faults;
mod network;
mod node;
mod state;
mod versions;

use std::collections::VecDeque;
use std::sync::Arc;
use std::task::Waker;

use parking_lot::Mutex;

use self::network::Network;
pub use self::network::{Faults, Tally};
use self::node::Node;
use self::state::State;
use self::versions::Upgrade;
use super::committed::Observed;
use super::member::form;
use super::{Plant, Settings};
use crate::broker::ids::{ConnectionNumber, MemberId};
use crate::broker::{Command, Core, Effect};
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
        form(&mut log, settings.voter(), &ids, begin, wall)?;
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
        upgrade: Upgrade::default(),
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

    /// Whether the member is out of the group.
    pub fn is_absent(&self) -> bool {
        self.state.lock().nodes[self.place].is_absent
    }

    /// Whether the member's disk holds nothing that can be gone on with.
    pub fn is_spoiled(&self) -> bool {
        self.state.lock().nodes[self.place].is_spoiled
    }

    /// Whether the member's disk was told to refuse something, or has too little room.
    pub fn is_hurt(&self) -> bool {
        self.state.lock().nodes[self.place].may_fail()
    }

    /// Whether a disk may be lost: all others count, all know who counts whatever becomes of them, and
    /// none of their disks is in doubt.
    pub fn may_lose(&self) -> bool {
        let state = self.state.lock();
        let members = state.nodes.iter().filter_map(|node| node.member.as_ref());
        let leads: Vec<_> = members.filter(|member| member.is_leading()).collect();
        let is_sound = |node: &Node<M>| {
            let is_there = !node.is_absent && !node.is_leaving && !node.is_spoiled;
            let kept = node.kept_configuration().filter(|_| is_there);
            let knows = kept.is_some_and(|kept| {
                let counts = kept.voters.contains(&node.settings.member.0);
                counts && leads.iter().all(|leader| leader.configuration() == kept)
            });
            knows && !node.is_doubtful()
        };
        !leads.is_empty() && state.changes.is_empty() && state.nodes.iter().all(is_sound)
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

    fn look(&self, look: &mut dyn FnMut(&Core)) {
        if let Some(member) = &self.state.lock().nodes[self.place].member {
            look(member.machine().core());
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
