//! Members of two versions of the broker: this one, and one that knows a level more.
//!
//! A member is upgraded, and goes back, by stopping it and starting another version on its disk. Whoever
//! leads says in the order what levels the members know, as the steward of a broker does with what
//! members say when they meet. In the end an operator has the level raised, once all run the newer version;
//! from then on none goes back.

use std::collections::BTreeSet;
use std::task::Waker;

use super::state::State;
use super::{Node, Seat};
use crate::broker::ids::MemberId;
use crate::broker::level::{self, Level, Levels, LevelsOf};
use crate::broker::management::{Action, AgentCommand, Requester, Versions, WallTime};
use crate::broker::plant::as_version;
use crate::broker::{Command, Core};
use crate::cluster::Millis;
use crate::cluster::machine::Machine;

/// Milliseconds between two looks whether what members know is in the order, and whether the level is
/// raised.
const LOOK_MS: u64 = 100;

/// What there is to say of versions.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Upgrade {
    /// The operator wants the level raised: nobody goes back any more.
    pub is_final: bool,
    looks_at: Millis,
}

impl<M: Machine> Seat<M> {
    /// The next start of the member is one of the other version. False, and nothing is changed, when it
    /// would go back and nobody may any more; or before it is in the order that all are of the older one: a
    /// group whose members are all of the newer one begins at its level.
    pub fn change_version(&self) -> bool {
        let mut state = self.state.lock();
        let has_begun = |node: &Node<M>| {
            let member = node.member.as_ref();
            member.is_some_and(|member| !member.machine().core().members().levels().is_empty())
        };
        let has_begun = state.nodes.iter().any(has_begun);
        let is_final = state.upgrade.is_final;
        let node = &mut state.nodes[self.place];
        if !has_begun || is_final && node.is_next {
            return false;
        }
        node.is_next = !node.is_next;
        let is_next = node.is_next;
        let tally = &mut state.network.tally;
        match is_next {
            true => tally.upgrades += 1,
            false => tally.downgrades += 1,
        }
        true
    }

    /// Whether the member's next start is one of the newer version.
    pub fn is_next_version(&self) -> bool {
        self.state.lock().nodes[self.place].is_next
    }

    /// From now on nobody goes back to the older version, and the level is raised once all are up and run
    /// the newer one. False: that was so already.
    pub fn finalise(&self) -> bool {
        let mut state = self.state.lock();
        !std::mem::replace(&mut state.upgrade.is_final, true)
    }
}

impl<M: Machine> State<M> {
    /// As the steward of whoever leads, says who the members are and what levels they know, and as the
    /// operator has the level raised, when it is time for that.
    pub fn look_at_versions(&mut self) {
        if self.now < self.upgrade.looks_at {
            return;
        }
        self.upgrade.looks_at = Millis(self.now.0 + LOOK_MS);
        let leads = |node: &Node<M>| {
            let member = node.member.as_ref();
            member.is_some_and(|member| member.is_leading()) && node.paused_until <= self.now
        };
        let Some(leader) = self.nodes.iter().position(leads) else {
            return;
        };
        let met = self.met_by(leader);
        let is_next = |node: &Node<M>| node.is_absent || node.runs_next && node.member.is_some();
        let is_raising = self.upgrade.is_final && self.nodes.iter().all(is_next);
        let node = &mut self.nodes[leader];
        let at = node.clocks.now(self.now, self.setup.wall_at_zero);
        let Some(member) = node.member.as_mut() else {
            return;
        };
        let configuration = member.configuration();
        let parts = configuration.voters.into_iter();
        let parts = parts.chain(configuration.learners).map(MemberId);
        let parts: BTreeSet<MemberId> = parts.collect();
        let command = as_version(node.runs_next, || {
            news(member.machine().core(), &parts, &met)
        });
        if let Some(command) = command {
            member.order_command(at, command);
        } else if is_raising && member.machine().core().level() == Level::FIRST {
            let connection = member.outboxes.open(Waker::noop().clone());
            let commands = as_version(true, || raise(connection));
            member.propose(at, connection, &commands);
            member.outboxes.close(connection);
            self.network.tally.raises += 1;
        }
        node.is_touched = true;
    }

    /// What those members know that one hears, which is among them.
    fn met_by(&self, place: usize) -> LevelsOf {
        let is_heard = |other: usize| {
            let is_up = self.nodes[other].member.is_some();
            is_up && !self.network.is_cut(other, place) && !self.network.is_cut(place, other)
        };
        let nodes = self.nodes.iter().enumerate();
        nodes
            .filter(|(other, _)| is_heard(*other))
            .map(|(_, node)| {
                let known = as_version(node.runs_next, Levels::known);
                (node.settings.member, known)
            })
            .collect()
    }
}

/// What the order does not know yet of members: who they are first, then what they know.
fn news(core: &Core, parts: &BTreeSet<MemberId>, met: &LevelsOf) -> Option<Command> {
    if !parts.iter().eq(core.members().parts()) {
        let parts = parts.iter().copied().collect();
        let urls = Vec::new();
        return Some(Command::Members { parts, urls });
    }
    level::news(core.members().levels(), met, parts).map(Command::Levels)
}

/// An agent that does nothing but to have the level raised. What becomes of it is seen in the core.
fn raise(connection: crate::broker::ids::ConnectionNumber) -> Vec<Command> {
    let open = AgentCommand::Open {
        name: "operator".into(),
        versions: Versions::default(),
        now: WallTime(0),
        run: 1,
    };
    let act = AgentCommand::Act {
        number: 1,
        requester: Requester::default(),
        action: Box::new(Action::Raise(Level::most())),
    };
    let of_agent = |command| Command::Agent {
        connection,
        command: Box::new(command),
    };
    vec![
        Command::ConnectionOpen {
            connection,
            record: Box::default(),
        },
        of_agent(open),
        of_agent(act),
        Command::ConnectionEnd { connection },
    ]
}
