//! The members of the group: those that take part in the cluster, and those that the core knows by their
//! agents and connections.

use std::collections::BTreeMap;

use super::cluster::Membership;
use crate::broker::Core;
use crate::broker::ids::MemberId;
use crate::broker::level::Levels;

/// A member.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Node {
    /// Who.
    pub id: MemberId,
    /// Whether its agent is there.
    pub has_agent: bool,
    /// Whether its agent tells what is told once.
    pub is_first: bool,
    /// Whether it is being taken out of the cluster.
    pub is_leaving: bool,
    /// Connections of its clients.
    pub connections: u64,
    /// The levels that its version knows, if it has said so.
    pub levels: Option<Levels>,
}

/// All of them, in order.
pub fn members(core: &Core, membership: &Membership) -> Vec<Node> {
    let mut found: BTreeMap<MemberId, Node> = BTreeMap::new();
    for member in &membership.members {
        found.insert(MemberId(member.id), Node::default());
    }
    for (member, levels) in core.members().levels() {
        found.entry(*member).or_default().levels = Some(*levels);
    }
    for member in core.members().leaving() {
        found.entry(*member).or_default().is_leaving = true;
    }
    let first = core.first_agent();
    for agent in core.agent_keys() {
        let member = found.entry(agent.member).or_default();
        member.has_agent = true;
        member.is_first = first == Some(agent);
    }
    for (key, _) in core.connections_behind(None) {
        found.entry(key.member).or_default().connections += 1;
    }
    for (id, member) in &mut found {
        member.id = *id;
    }
    found.into_values().collect()
}
