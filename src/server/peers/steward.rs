//! Who takes part: the leader lets newcomers in, and replaces a member whose disk was lost by the one
//! that has come back at its address. All members say in the log what has changed.

use std::collections::BTreeSet;
use std::sync::Arc;

use parking_lot::RwLock;

use super::{Newcomer, Plane};
use crate::broker::ids::MemberId;
use crate::broker::{Command, Options};
use crate::cluster::entry_log::Configuration;
use crate::cluster::raft::{Change, Live, View};
use crate::server::limits;
use crate::server::log::notice;
use crate::wire::Text;

/// Where clients find the members, as they are told.
pub type KnownHosts = Arc<RwLock<Vec<Text>>>;

/// What the steward has said.
#[derive(Default)]
struct Said {
    configuration: Configuration,
    leader: Option<(MemberId, u64)>,
    has_no_quorum: bool,
    /// The term in which it has ordered what its options say.
    configured_in: u64,
}

/// Looks after who takes part, until this is dropped.
pub async fn run(
    plane: Arc<Plane>,
    live: Arc<Live>,
    (known_hosts, core_options): (KnownHosts, Options),
) {
    let mut said = Said::default();
    loop {
        let view = live.view(plane.clock.millis());
        plane.note_configuration(&view, &said.configuration);
        said.tell(&plane, &live, &view);
        if view.is_leading {
            // Whatever its predecessors were told: what is said at a start holds from then on.
            if said.configured_in != view.term {
                let options = Command::Configure(Box::new(core_options.clone()));
                if live.order(plane.clock.millis(), options) {
                    said.configured_in = view.term;
                }
            }
            plane.let_in(&live, &view);
        }
        *known_hosts.write() = plane.known_hosts(&view);
        tell_farewells(&live);
        if let Err(error) = plane.state.lock().book.save() {
            tracing::warn!(target: "Cluster", "where members are found cannot be kept: {error}");
        }
        tokio::time::sleep(limits::STEWARD_INTERVAL).await;
    }
}

/// Says what members said at their ends.
pub fn tell_farewells(live: &Live) {
    for farewell in live.farewells() {
        notice!(
            "Cluster",
            "Member {:x} ends; the state at entry {} has digest {:016x}",
            farewell.member.0,
            farewell.index,
            farewell.digest
        );
    }
}

fn parts(configuration: &Configuration) -> BTreeSet<MemberId> {
    let Configuration {
        voters,
        learners,
        voters_outgoing,
        ..
    } = configuration;
    let all = voters.iter().chain(learners).chain(voters_outgoing);
    all.copied().map(MemberId).collect()
}

impl Plane {
    /// Whether this member takes part, as far as it knows.
    pub(super) fn takes_part(&self, live: &Live) -> bool {
        let view = live.view(self.clock.millis());
        parts(&view.configuration).contains(&self.member)
    }

    /// Whether a member took part once and does no more.
    pub(super) fn has_left(&self, member: MemberId) -> bool {
        self.state.lock().book.has_left(member)
    }

    fn note_configuration(&self, view: &View, before: &Configuration) {
        if view.configuration == *before {
            return;
        }
        let (now, before) = (parts(&view.configuration), parts(before));
        let mut state = self.state.lock();
        now.iter().for_each(|member| state.book.note_part(*member));
        before
            .difference(&now)
            .for_each(|member| state.book.note_left(*member));
    }

    /// URLs of this member and of those that take part.
    fn known_hosts(&self, view: &View) -> Vec<Text> {
        let state = self.state.lock();
        let own = self.options.cluster_url.as_deref().map(Text::from);
        let parts = parts(&view.configuration);
        let others = parts.iter().filter_map(|member| state.urls.get(member));
        let others = others.filter(|url| !url.is_empty()).cloned();
        own.into_iter().chain(others).collect()
    }

    /// Those that ask to take part and do not, oldest ids first.
    fn newcomers(&self, view: &View) -> Vec<(MemberId, Newcomer)> {
        let now = self.clock.millis();
        let parts = parts(&view.configuration);
        let mut state = self.state.lock();
        state.newcomers.retain(|member, newcomer| {
            let is_fresh = now.0.saturating_sub(newcomer.asked_at.0) <= limits::JOIN_MILLISECONDS;
            is_fresh && !parts.contains(member)
        });
        let newcomers = state.newcomers.iter();
        newcomers
            .map(|(member, newcomer)| (*member, newcomer.clone()))
            .collect()
    }

    /// As the leader, makes the next change that a newcomer needs: one at a time.
    fn let_in(&self, live: &Live, view: &View) {
        for (newcomer, Newcomer { address, .. }) in self.newcomers(view) {
            let former = {
                let state = self.state.lock();
                let mut parts = parts(&view.configuration).into_iter();
                parts.find(|member| {
                    *member != self.member && state.book.address(*member) == Some(&address)
                })
            };
            let change = match former {
                // It may be that somebody gives a wrong address: who is heard of keeps its place.
                Some(former) if !view.silent.contains(&former) => continue,
                Some(former) => Change::Leave(former),
                None => Change::Join(newcomer),
            };
            if live.change(self.clock.millis(), change) {
                match change {
                    Change::Leave(former) => tracing::warn!(
                        target: "Cluster",
                        "Member {:x} at {address} has come back as {:x}, with an empty store: it is \
                         replaced",
                        former.0,
                        newcomer.0
                    ),
                    _ => notice!("Cluster", "Member {:x} at {address} joins", newcomer.0),
                }
            }
            return;
        }
    }
}

impl Said {
    fn tell(&mut self, plane: &Plane, live: &Live, view: &View) {
        if view.configuration != self.configuration {
            let Configuration {
                voters, learners, ..
            } = &view.configuration;
            notice!(
                "Cluster",
                "Members: {}; learning: {}",
                ids(voters.iter().copied()),
                ids(learners.iter().copied())
            );
            self.configuration = view.configuration.clone();
        }
        let leader = view.leader.map(|leader| (leader, view.term));
        if leader.is_some() && leader != self.leader {
            let own = match view.leader == Some(plane.member) {
                true => " (this member)",
                false => "",
            };
            let leader = ids(view.leader.iter().map(|leader| leader.0));
            notice!(
                "Cluster",
                "Member {leader}{own} leads in term {}",
                view.term
            );
            self.leader = leader_of(view);
        }
        let has_no_quorum = view.leaderless_ms >= crate::cluster::limits::RAFT_NO_QUORUM_MS / 2;
        if has_no_quorum && !self.has_no_quorum {
            tell_of_no_quorum(plane, live, view);
        }
        self.has_no_quorum = has_no_quorum;
    }
}

fn leader_of(view: &View) -> Option<(MemberId, u64)> {
    view.leader.map(|leader| (leader, view.term))
}

fn ids(ids: impl Iterator<Item = u64>) -> String {
    let texts: Vec<String> = ids.map(|id| format!("{id:x}")).collect();
    match texts.is_empty() {
        true => "none".to_owned(),
        false => texts.join(", "),
    }
}

/// Says who is missing, and whose disks were lost.
fn tell_of_no_quorum(plane: &Plane, live: &Live, view: &View) {
    let carried = live.carried();
    let voters = &view.configuration.voters;
    if voters.is_empty() {
        tracing::warn!(
            target: "Cluster",
            "This member is not let in yet: the members of group {:x} still wait for the one whose place \
             it takes (--cluster-down-after), have no quorum, or it cannot reach the one that leads",
            live.group()
        );
        return;
    }
    let is_missing = |id: &u64| *id != plane.member.0 && !carried.contains(&MemberId(*id));
    let missing: Vec<String> = voters
        .iter()
        .copied()
        .filter(is_missing)
        .map(|id| match plane.state.lock().book.address(MemberId(id)) {
            Some(address) => format!("{id:x} at {address}"),
            None => format!("{id:x}"),
        })
        .collect();
    let newcomers: Vec<String> = plane
        .newcomers(view)
        .iter()
        .map(|(member, newcomer)| format!("{:x} at {}", member.0, newcomer.address))
        .collect();
    let why = match missing.is_empty() {
        true => "all are connected and none leads: they are slow, or about to elect one".to_owned(),
        false => format!("these are missing: {}", missing.join(", ")),
    };
    tracing::error!(
        target: "Cluster",
        "No quorum: of {} members {why}. Nothing goes on without a majority, and nobody begins again \
         with an empty state",
        voters.len()
    );
    if !newcomers.is_empty() {
        tracing::error!(
            target: "Cluster",
            "With empty stores are here: {}. If the missing ones were at their places, what they had is \
             lost: without a majority of the old members nobody knows what was confirmed",
            newcomers.join(", ")
        );
    }
}
