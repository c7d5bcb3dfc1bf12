//! Who takes part: the leader lets newcomers in, and replaces a member whose disk was lost by the one
//! that has come back at its address. All members say in the log what has changed.

use std::collections::BTreeSet;
use std::sync::Arc;

use parking_lot::RwLock;

use super::reach::{OneWay, Reminder};
use super::words::Refusal;
use super::{Newcomer, Plane, State};
use crate::broker::ids::MemberId;
use crate::broker::level::{self, Level, Levels, LevelsOf};
use crate::broker::{Command, Options};
use crate::cluster::Group;
use crate::cluster::entry_log::Configuration;
use crate::cluster::raft::{Change, Live, View};
use crate::management::model::{Member, Membership};
use crate::server::limits;
use crate::server::log::notice;

/// Who the members are and where clients find them, as clients and tools are told.
pub type KnownHosts = Arc<RwLock<Membership>>;

/// What the steward has said.
#[derive(Default)]
struct Said {
    configuration: Configuration,
    leader: Option<(MemberId, u64)>,
    /// While it hears of no leader: when that is said next.
    no_quorum: Option<Reminder>,
    one_way: OneWay,
    /// The term in which it has ordered what its options say.
    configured_in: u64,
    /// Whether this member has taken part.
    has_taken_part: bool,
    /// The level at which the group ran.
    level: Option<Level>,
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
        plane.note_configuration(&live, &view, &said.configuration);
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
            plane.take_out(&live, &view);
            plane.tell_members(&live, &view);
            plane.tell_levels(&live, &view);
        }
        said.tell_level(&live);
        let takes_part = parts(&view.configuration).contains(&plane.member);
        if said.has_taken_part && !takes_part {
            plane.note_out(Refusal::Left);
        }
        said.has_taken_part = takes_part;
        *known_hosts.write() = plane.membership(live.group(), &view);
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
            "Member {:016x} ends; the state at entry {} has digest {:016x}",
            farewell.member.0,
            farewell.index,
            farewell.digest
        );
    }
}

/// All who take part.
pub(super) fn parts(configuration: &Configuration) -> BTreeSet<MemberId> {
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
    pub fn takes_part(&self, live: &Live) -> bool {
        let view = live.view(self.clock.millis());
        parts(&view.configuration).contains(&self.member)
    }

    /// Whether a member took part once and does no more.
    pub(super) fn has_left(&self, member: MemberId) -> bool {
        self.state.lock().book.has_left(member)
    }

    fn note_configuration(&self, live: &Live, view: &View, before: &Configuration) {
        // What became of members while this one was away it has of the order.
        let mut left = Vec::new();
        live.look(&mut |core| left.extend(core.members().left()));
        let mut state = self.state.lock();
        left.iter().for_each(|member| state.book.note_left(*member));
        drop(state);
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

    /// This member and the others that take part.
    fn membership(&self, group: u64, view: &View) -> Membership {
        let state = self.state.lock();
        let is_voter = |id: &u64| view.configuration.voters.contains(id);
        let own = Member {
            id: self.member.0,
            url: self.options.cluster_url.as_deref().unwrap_or("").into(),
            is_voter: is_voter(&self.member.0),
        };
        let parts = parts(&view.configuration);
        let others = parts.iter().filter(|member| **member != self.member);
        let others = others.map(|member| Member {
            id: member.0,
            url: state.urls.get(member).cloned().unwrap_or_default(),
            is_voter: is_voter(&member.0),
        });
        Membership {
            name: self.options.cluster_name.as_str().into(),
            group,
            own: self.member.0,
            leader: view.leader.map(|leader| leader.0),
            members: std::iter::once(own).chain(others).collect(),
        }
    }

    /// As the leader, says who the members are, and where clients find those that are not silent, when
    /// that has changed.
    fn tell_members(&self, live: &Live, view: &View) {
        let membership = self.membership(live.group(), view);
        let members = membership.members.iter();
        let heard = members.filter(|member| !view.silent.contains(&MemberId(member.id)));
        let mut heard: Vec<_> = heard.filter(|member| !member.url.is_empty()).collect();
        heard.sort_by_key(|member| member.id);
        let urls: Vec<_> = heard.iter().map(|member| member.url.clone()).collect();
        let parts: Vec<_> = parts(&view.configuration).into_iter().collect();
        let mut is_known = false;
        live.look(&mut |core| {
            is_known = core.failover_urls() == urls && core.members().parts() == parts;
        });
        if !is_known {
            // False: it is tried again with the next look.
            let _ = live.order(self.clock.millis(), Command::Members { parts, urls });
        }
    }

    /// As the leader, says which levels the members know, when that has changed. What a member said that
    /// this one has not met stays so.
    fn tell_levels(&self, live: &Live, view: &View) {
        let parts = parts(&view.configuration);
        let mut said = LevelsOf::new();
        let mut are_known = false;
        live.look(&mut |core| {
            said = core.members().levels().clone();
            are_known = parts.iter().eq(core.members().parts());
        });
        let mut met = self.state.lock().levels.clone();
        met.entry(self.member).or_insert_with(Levels::known);
        let news = level::news(&said, &met, &parts);
        // What is said of a member before the order knows it is forgotten.
        if let Some(levels) = news.filter(|_| are_known) {
            // False: it is tried again with the next look.
            let _ = live.order(self.clock.millis(), Command::Levels(levels));
        }
    }

    /// As the leader, makes the next change that is needed for a member that was taken out. If it is this
    /// one it hands leadership on, and that leader does it.
    fn take_out(&self, live: &Live, view: &View) {
        let mut leaving = Vec::new();
        live.look(&mut |core| leaving = core.members().leaving().to_vec());
        let parts = parts(&view.configuration);
        let Some(member) = leaving.into_iter().find(|member| parts.contains(member)) else {
            return;
        };
        if live.change(self.clock.millis(), Change::Leave(member)) {
            notice!(
                "Cluster",
                "Member {:016x} is taken out, as management asked",
                member.0
            );
        }
    }

    /// Those that ask to take part and do not, oldest ids first. Who took part once does no more: one that
    /// was taken out asks until it knows.
    fn newcomers(&self, view: &View) -> Vec<(MemberId, Newcomer)> {
        let now = self.clock.millis();
        let parts = parts(&view.configuration);
        let mut state = self.state.lock();
        let State {
            newcomers, book, ..
        } = &mut *state;
        newcomers.retain(|member, newcomer| {
            let is_fresh = now.0.saturating_sub(newcomer.asked_at.0) <= limits::JOIN_MILLISECONDS;
            is_fresh && !parts.contains(member) && !book.has_left(*member)
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
                        "Member {:016x} at {address} has come back as {:016x}, with an empty store: it is \
                         replaced",
                        former.0,
                        newcomer.0
                    ),
                    _ => notice!("Cluster", "Member {:016x} at {address} joins", newcomer.0),
                }
            }
            return;
        }
    }
}

impl Said {
    /// Says at which level the broker runs, when that has changed.
    fn tell_level(&mut self, live: &Live) {
        let mut level = None;
        live.look(&mut |core| level = Some(core.level()));
        if level == self.level {
            return;
        }
        if let (Some(level), Some(_)) = (level, self.level) {
            notice!("Cluster", "The cluster runs at level {level} from now on");
        }
        self.level = level;
    }

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
        self.one_way.tell(plane, live, view);
        if view.leaderless_ms < crate::cluster::limits::RAFT_NO_QUORUM_MS / 2 {
            self.no_quorum = None;
            return;
        }
        let now = plane.clock.millis();
        let reminder = self.no_quorum.get_or_insert(Reminder::after(now, 0));
        if reminder.is_due(now) {
            tell_of_no_quorum(plane, live, view);
        }
    }
}

fn leader_of(view: &View) -> Option<(MemberId, u64)> {
    view.leader.map(|leader| (leader, view.term))
}

fn ids(ids: impl Iterator<Item = u64>) -> String {
    let texts: Vec<String> = ids.map(|id| format!("{id:016x}")).collect();
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
            "This member is not let in yet: the members of group {:016x} still wait for the one whose place \
             it takes (--cluster-down-after), have no quorum, or it does not reach the one that leads, \
             which alone lets members in ({}; --cluster-peers lists all members)",
            live.group(),
            plane.words_of_reach(live)
        );
        return;
    }
    let is_missing = |id: &u64| *id != plane.member.0 && !carried.contains(&MemberId(*id));
    let missing: Vec<String> = voters
        .iter()
        .copied()
        .filter(is_missing)
        .map(|id| plane.named(MemberId(id)))
        .collect();
    let deaf = carried.iter().filter(|member| !plane.is_heard(**member));
    let deaf: Vec<String> = deaf.map(|member| plane.named(*member)).collect();
    let newcomers: Vec<String> = plane
        .newcomers(view)
        .iter()
        .map(|(member, newcomer)| format!("{:016x} at {}", member.0, newcomer.address))
        .collect();
    let why = match (missing.is_empty(), deaf.is_empty()) {
        (true, true) => {
            "all are connected and none leads: they are slow, or about to elect one".to_owned()
        }
        (true, false) => format!(
            "these make no connection to this one, so that it does not hear whom they follow: {}",
            deaf.join(", ")
        ),
        (false, _) => format!("these are missing: {}", missing.join(", ")),
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
             lost: without a majority of the old members nobody knows what was confirmed (ferrymq journal \
             begin-anew tells what can be done with what is left)",
            newcomers.join(", ")
        );
    }
}
