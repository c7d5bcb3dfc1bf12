//! All members of a simulated group, and what happens among them.

use std::collections::VecDeque;

use super::super::ordered::Change;
use super::network::{Flight, Network};
use super::node::Node;
use super::versions::Upgrade;
use super::{Seen, Setup, clocks::Clocks};
use crate::broker::ids::MemberId;
use crate::broker::plant::as_version;
use crate::cluster::lockstep::dice::Dice;
use crate::cluster::machine::Machine;
use crate::cluster::outbox::Woken;
use crate::cluster::{Millis, limits};
use crate::store::SimulatedDisk;

/// See the module.
pub(super) struct State<M> {
    pub setup: Setup,
    pub dice: Dice,
    pub now: Millis,
    pub fresh: Box<dyn Fn() -> M + Send>,
    pub nodes: Vec<Node<M>>,
    pub network: Network,
    /// Members there ever were.
    pub ids: u64,
    /// Changes of who takes part, until they are made.
    pub changes: VecDeque<Change>,
    pub seen: Vec<Seen>,
    /// What there is to say of versions.
    pub upgrade: Upgrade,
    /// Who was elected in which term.
    pub elected: Vec<(u64, MemberId)>,
    pub failure: Option<String>,
}

impl<M: Machine> State<M> {
    pub fn start(&mut self, place: usize) -> Result<(), String> {
        let (setup, dice) = (&self.setup, &mut self.dice);
        let node = &mut self.nodes[place];
        // A life has a monotonic clock of its own, and what its wall clock shows is anything.
        let base = dice.below(1_000_000);
        node.clocks = Clocks::new(self.now, base, node.clocks.wall_off_ms);
        let at = node.clocks.now(self.now, setup.wall_at_zero);
        let started = node.start(&setup.log, &*self.fresh, at, dice.roll());
        started.map_err(|why| format!("member {} does not start: {why}", place + 1))
    }

    /// Starts a member whose disk may be in any state. One that cannot be read is tried again; one
    /// that is damaged says so, and is given up.
    pub fn start_again(&mut self, place: usize) {
        let node = &self.nodes[place];
        if node.member.is_some() || node.is_absent || node.is_spoiled {
            return;
        }
        let Err(why) = self.start(place) else { return };
        let node = &mut self.nodes[place];
        if node.is_doubtful() && why.contains("journal") {
            self.network.tally.damaged += 1;
            node.is_spoiled = true;
        } else if node.may_fail() {
            self.network.tally.unreadable += 1;
            node.mend();
        } else {
            self.fail(why);
        }
    }

    /// Another member, with an empty disk, comes to a place, and is to join.
    pub fn newcomer(&mut self, place: usize) {
        self.ids += 1;
        let id = MemberId(self.ids);
        let disk = SimulatedDisk::new(self.dice.roll());
        let old = &self.nodes[place];
        let settings = super::Settings {
            member: id,
            ..old.settings
        };
        let is_next = old.is_next || self.upgrade.is_final;
        self.nodes[place] = Node::new(settings, disk);
        self.nodes[place].is_next = is_next;
        self.changes.push_back(Change::Join(id));
        if let Err(why) = self.start(place) {
            self.fail(why);
        }
    }

    pub fn fail(&mut self, why: String) {
        self.failure.get_or_insert(why);
    }

    /// Lets everything happen that is due, and gives when the next thing is.
    pub fn pump(&mut self, woken: &mut Vec<Woken>) -> Option<Millis> {
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
        self.look_at_versions();
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
        if node.member.is_some() && self.deliver(flight.to, &flight.octets).is_err() {
            self.network.tally.refused += 1;
        }
    }

    /// Gives a member octets that came to it.
    pub fn deliver(&mut self, place: usize, octets: &[u8]) -> Result<(), String> {
        let node = &mut self.nodes[place];
        let at = node.clocks.now(self.now, self.setup.wall_at_zero);
        let member = node.member.as_mut().ok_or("the member is down")?;
        node.is_touched = true;
        as_version(node.runs_next, || member.step(at, octets))
    }

    /// Lets a member do what is due. False when nothing is.
    fn run(&mut self, place: usize, woken: &mut Vec<Woken>) -> bool {
        let node = &mut self.nodes[place];
        let at = node.clocks.now(self.now, self.setup.wall_at_zero);
        if !node.is_due(self.now) {
            return false;
        }
        let mut sent = Vec::new();
        let done = node.run((self.now, at), &self.setup.log, &mut sent);
        node.note_lies(&mut self.network.tally);
        node.plan(self.now, &mut self.network);
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
            let may_fail = node.may_fail();
            node.end();
            self.network.tally.failures += 1;
            if !may_fail {
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
            let at = node.clocks.now(self.now, wall);
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
                self.has_left(change);
                return;
            } else if node.paused_until <= self.now && member.change(at, change) {
                node.is_touched = true;
            }
            return;
        }
    }

    /// A member that was taken out of the group ends.
    fn has_left(&mut self, change: Change) {
        let Change::Leave(id) = change else { return };
        let is_it = |node: &&mut Node<M>| node.settings.member == id && node.is_leaving;
        if let Some(node) = self.nodes.iter_mut().find(is_it) {
            node.end();
            (node.is_leaving, node.is_absent) = (false, true);
            self.network.tally.leaves += 1;
        }
    }

    /// Whether all are up, count, agree who leads and have applied the same.
    pub fn is_whole(&self) -> bool {
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
        let absent = self.nodes.iter().filter(|node| node.is_absent).count();
        members.len() + absent == self.nodes.len()
            && self.changes.is_empty()
            && members.iter().filter(|member| member.is_leading()).count() == 1
            && members
                .iter()
                .all(|m| counts(m.id()) && m.machine().index() == index)
    }
}
