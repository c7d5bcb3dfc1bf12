//! How a group begins. A member whose store holds nothing looks at all listed addresses, again and
//! again, until one of two things is so:
//!
//! - Somebody there has a group. Then this member asks to take part in it, as a newcomer.
//! - As many as are needed (`--cluster-size`, else all that are listed) are there, and the stores of all
//!   of them are empty. Then the one with the smallest id forms the group.
//!
//! ```text
//!   first                                   each other
//!     draws a group, promises itself to it
//!     Form(group) ------------------------>   promises itself to it, on its disk
//!         <------------------------ Promised
//!     writes the beginning: the members are those that promised
//!     Hello: of the group  --------------->   takes part; it gets the state from the leader
//! ```
//!
//! A promise is kept over a crash and is good for one group: whoever looks at whom, two groups never
//! count the same member. The first can crash at any point: before the beginning is whole on its disk
//! it begins again with the same group, and after that it has the group. The others have said nothing
//! but their promise, so that it does no harm that they have nothing of the beginning: they vote, and
//! count for entries once these are on their disks.
//!
//! When a member's disk was lost it has an empty store and another id. Others that have the group tell
//! it so, and it joins. When a majority was lost, nobody can let it join and nobody begins again: the
//! one that is left says that it has a group, which keeps the others from forming one.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::frames::Kind;
use super::meeting::{self, Failure, Met, say};
use super::words::{self, Refusal, Store};
use super::{Phase, Plane, wait_for_sync};
use crate::broker::ids::{MemberId, ShardId};
use crate::broker::{Command, Core, Options};
use crate::cluster::entry_log::EntryLog;
use crate::cluster::raft::{self, Live, Settings};
use crate::server::clock::{random, wall_milliseconds};
use crate::server::limits;
use crate::server::log::notice;

/// Who was found at the listed addresses in one look.
#[derive(Default)]
struct Found {
    /// Empty stores, this member's among them: None for its own.
    empty: BTreeMap<MemberId, Option<Met>>,
    /// What stands in the way, by address.
    missing: Vec<String>,
    /// How many of those listed have a group.
    grouped: usize,
}

/// Waits until there is a group, or forms one, and takes part in it.
///
/// # Errors
/// This member cannot go on.
pub async fn run(plane: &Arc<Plane>, core_options: &Options) -> Result<Arc<Live>, String> {
    let mut told = String::new();
    loop {
        if let Some(group) = plane.told_of() {
            return plane.begin(group).await;
        }
        let found = look(plane).await;
        if plane.told_of().is_some() {
            continue;
        }
        let obstacle = match obstacle(plane, &found) {
            Some(why) => why,
            None => match form(plane, found, core_options).await? {
                Ok(live) => return Ok(live),
                Err(why) => why,
            },
        };
        if obstacle != told {
            notice!("Cluster", "Nothing is formed yet: {obstacle}");
            told = obstacle;
        }
        // A peer that says that it has a group ends the wait.
        let _ = timeout(limits::FORMING_INTERVAL, plane.told.notified()).await;
    }
}

/// Looks at all that is listed.
async fn look(plane: &Arc<Plane>) -> Found {
    let mut looks = JoinSet::new();
    for address in &plane.options.cluster_peers {
        let (plane, address) = (plane.clone(), address.clone());
        looks.spawn(async move {
            let met = meeting::dial(&plane, &address).await;
            (address, met)
        });
    }
    let mut found = Found::default();
    while let Some(joined) = looks.join_next().await {
        let Ok((address, met)) = joined else { continue };
        match met {
            Ok(met) => match met.hello.store {
                Store::Of(_) => found.grouped += 1,
                Store::Empty | Store::Promised(_) => {
                    found.empty.insert(met.peer, Some(met));
                }
            },
            Err(Failure::Refuses(Refusal::Itself)) => {
                plane.note_own(&address);
                found.empty.insert(plane.member(), None);
            }
            Err(_) if plane.is_own(&address) => {
                found.empty.insert(plane.member(), None);
            }
            Err(why) => found.missing.push(format!("{address}: {why}")),
        }
    }
    found.missing.sort();
    found
}

/// Why this member does not form a group.
fn obstacle(plane: &Plane, found: &Found) -> Option<String> {
    let needed = plane.options.forming_min();
    let empty = found.empty.len();
    if found.grouped > 0 {
        return Some("others have one, of which this member is not".to_owned());
    }
    // Each that lists only the others would wait for another one to form the group.
    if !found.empty.contains_key(&plane.member()) {
        return Some(format!(
            "this member found itself at none of --cluster-peers, which lists all members, this one too \
             (--cluster-listen {}){}",
            plane.address,
            in_brackets(&found.missing)
        ));
    }
    if empty < needed {
        let missing = in_brackets(&found.missing);
        return Some(format!(
            "{empty} members with empty stores are there of {needed} that have to be{missing}"
        ));
    }
    let first = found.empty.keys().next().copied();
    (first != Some(plane.member())).then(|| {
        let first = first.unwrap_or_default().0;
        format!("member {first:016x} is to form it, having the smallest id")
    })
}

/// What stands in the way, if anything does, to be put behind a reason.
fn in_brackets(missing: &[String]) -> String {
    match missing {
        [] => String::new(),
        missing => format!(" ({})", missing.join("; ")),
    }
}

/// Forms the group, if all that were found promise to be of it.
async fn form(
    plane: &Plane,
    found: Found,
    core_options: &Options,
) -> Result<Result<Arc<Live>, String>, String> {
    let group = match plane.hello().store {
        Store::Promised(group) | Store::Of(group) => group,
        Store::Empty => random().max(1),
    };
    let own = plane.promise(group).map_err(|why| why.to_string())?;
    if !own.kept().await {
        return Err("the journal has failed".to_owned());
    }
    let members: Vec<MemberId> = found.empty.keys().copied().collect();
    for (peer, met) in found.empty {
        let Some(mut met) = met else { continue };
        let asked = timeout(limits::PEER_MEETING, ask(&mut met, group)).await;
        let silent = || Failure::Broken("it does not answer".to_owned());
        if let Err(why) = asked.unwrap_or_else(|_| Err(silent())) {
            return Ok(Err(format!(
                "member {:016x} promises nothing: {why}",
                peer.0
            )));
        }
    }
    let options = Command::Configure(Box::new(core_options.clone()));
    let live = plane.form(group, &members, vec![options]).await?;
    notice!(
        "Cluster",
        "Formed group {group:016x} of {} members",
        members.len()
    );
    Ok(Ok(live))
}

async fn ask(met: &mut Met, group: u64) -> Result<(), Failure> {
    let stream = &mut met.secured.stream;
    say(stream, Kind::Form, &words::octets(&group)).await?;
    let answer: Option<(Kind, Bytes)> = met.frames.next(stream).await?;
    match answer {
        Some((Kind::Promised, octets)) if words::whole::<u64>(&octets) == Ok(group) => Ok(()),
        Some((Kind::Refused, octets)) => Err(Failure::told(&octets)),
        other => Err(Failure::Strange(format!("it answers {other:?}"))),
    }
}

impl Plane {
    /// A group that others have told of, and that this member is not kept from.
    fn told_of(&self) -> Option<u64> {
        self.state.lock().told
    }

    /// How this member takes part in a group.
    fn settings(&self, group: u64) -> Settings {
        Settings {
            group,
            member: self.member,
            seed: random(),
            down_after_ms: self.options.cluster_down_after,
            resend_after_ms: crate::cluster::limits::RAFT_RESEND_AFTER_MS,
            recent_bytes: crate::cluster::limits::RAFT_RECENT_BYTES,
            proposal_bytes: crate::cluster::limits::PROPOSAL_BYTES,
            is_observed: false,
            plant: self.plant,
        }
    }

    fn take_log(&self, counts_as: Store) -> Result<EntryLog, String> {
        let mut state = self.state.lock();
        match std::mem::replace(&mut state.phase, Phase::Between(counts_as)) {
            Phase::Unformed(log) => Ok(*log),
            other => {
                state.phase = other;
                Err("this member has a group already".to_owned())
            }
        }
    }

    async fn form(
        &self,
        group: u64,
        members: &[MemberId],
        commands: Vec<Command>,
    ) -> Result<Arc<Live>, String> {
        let mut log = self.take_log(Store::Promised(group))?;
        let settings = self.settings(group);
        let wall = wall_milliseconds();
        let begin = (fresh(), commands);
        raft::form(&mut log, settings.voter(), members, begin, wall)?;
        if !wait_for_sync(log.journal(), log.end()).await {
            return Err("the journal has failed".to_owned());
        }
        self.start(log, settings)
    }

    /// Takes part in a group that others have, or that this member has had.
    async fn begin(&self, group: u64) -> Result<Arc<Live>, String> {
        let log = self.take_log(Store::Of(group))?;
        notice!("Cluster", "Takes part, or asks to, in group {group:016x}");
        self.start(log, self.settings(group))
    }

    /// Goes on in the group whose state the store has. None: it has none.
    ///
    /// # Errors
    /// The log does not give a state.
    pub fn resume(&self) -> Result<Option<Arc<Live>>, String> {
        let group = match &self.state.lock().phase {
            Phase::Unformed(log) if !log.is_empty() => log.voter().map(|voter| voter.group),
            _ => None,
        };
        let Some(group) = group else { return Ok(None) };
        let log = self.take_log(Store::Of(group))?;
        notice!("Cluster", "Goes on in group {group:016x}");
        self.start(log, self.settings(group)).map(Some)
    }

    fn start(&self, log: EntryLog, settings: Settings) -> Result<Arc<Live>, String> {
        let now = (self.clock.millis(), wall_milliseconds());
        let live = Live::start(log, settings, fresh, now)?;
        self.state.lock().phase = Phase::Live(live.clone());
        Ok(live)
    }
}

fn fresh() -> Core {
    Core::new(ShardId::default(), Options::default())
}
