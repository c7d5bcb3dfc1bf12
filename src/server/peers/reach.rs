//! Between which members there are connections, and what the log says of those between which there is
//! one in one direction only: each member sends on what it dialled, so such a pair understands each other
//! no better than one that is cut off, and looks as if all were well.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::Plane;
use super::meeting::Failure;
use super::steward::parts;
use crate::broker::ids::MemberId;
use crate::cluster::Millis;
use crate::cluster::raft::{Live, View};
use crate::server::cluster_options::Address;
use crate::server::limits;

/// What this member knows of connections beside its own to others.
#[derive(Default)]
pub struct Reach {
    /// Why the last attempt to reach an address failed, of those that are tried.
    failed: BTreeMap<Address, String>,
    /// The connections that members have made to this one. A member of which there is none has no place.
    made: BTreeMap<MemberId, Vec<Arc<Made>>>,
}

/// A connection that a member has made to this one.
struct Made {
    /// In which life of its process.
    life: u64,
    /// When the last was heard on it, in milliseconds.
    heard_at: AtomicU64,
}

/// When something that lasts is said again: more and more rarely.
#[derive(Clone, Copy, Debug)]
pub struct Reminder {
    due: Millis,
    pause: u64,
}

impl Reminder {
    /// For something that is first said after so many milliseconds.
    pub fn after(now: Millis, milliseconds: u64) -> Reminder {
        Reminder {
            due: Millis(now.0 + milliseconds),
            pause: limits::REMINDED_AFTER_MS,
        }
    }

    /// Whether it is to be said now; then it is next due later.
    pub fn is_due(&mut self, now: Millis) -> bool {
        let is_due = now >= self.due;
        if is_due {
            self.due = Millis(now.0 + self.pause);
            self.pause = (2 * self.pause).min(limits::REMINDED_AFTER_MS_MAX);
        }
        is_due
    }
}

/// A connection that a member has made, until this goes.
pub struct Hearing {
    plane: Arc<Plane>,
    peer: MemberId,
    made: Arc<Made>,
}

impl Hearing {
    /// Something was heard on it.
    pub fn note(&self) {
        let now = self.plane.clock.millis().0;
        self.made.heard_at.store(now, Ordering::Relaxed);
    }
}

impl Drop for Hearing {
    fn drop(&mut self) {
        let made = &mut self.plane.state.lock().reach.made;
        let Some(of_peer) = made.get_mut(&self.peer) else {
            return;
        };
        of_peer.retain(|one| !Arc::ptr_eq(one, &self.made));
        if of_peer.is_empty() {
            made.remove(&self.peer);
        }
    }
}

/// Where the connections between this member and another are missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Missing {
    /// The other one reaches this member and is not reached.
    There,
    /// The other one is reached and does not reach this member.
    Back,
}

/// Members to which connections are missing in one direction, since when, and when that is said next.
#[derive(Default)]
pub struct OneWay(BTreeMap<MemberId, (Missing, Reminder)>);

impl OneWay {
    /// Says what is missing for long.
    pub fn tell(&mut self, plane: &Plane, live: &Live, view: &View) {
        let now = plane.clock.millis();
        let missing = plane.one_way(live, view);
        self.0
            .retain(|member, (way, _)| missing.get(member) == Some(way));
        for (member, way) in missing {
            let first = || (way, Reminder::after(now, limits::ONE_WAY_TOLD_AFTER_MS));
            let (_, reminder) = self.0.entry(member).or_insert_with(first);
            if reminder.is_due(now) {
                let words = plane.words_of_one_way(member, way, view);
                tracing::warn!(target: "Cluster", "{words}");
            }
        }
    }
}

impl Plane {
    /// An attempt to reach an address has failed.
    pub(super) fn note_failed(&self, address: &Address, why: &Failure) {
        let failed = &mut self.state.lock().reach.failed;
        failed.insert(address.clone(), why.to_string());
    }

    /// An address was reached, or is not tried any more.
    pub(super) fn forget_failed(&self, address: &Address) {
        self.state.lock().reach.failed.remove(address);
    }

    /// A member has made a connection to this one, in a life of its process.
    pub(super) fn hears(self: &Arc<Self>, peer: MemberId, life: u64) -> Hearing {
        let made = Arc::new(Made {
            life,
            heard_at: AtomicU64::new(self.clock.millis().0),
        });
        let mut state = self.state.lock();
        let of_peer = state.reach.made.entry(peer).or_default();
        of_peer.push(made.clone());
        drop(state);
        Hearing {
            plane: self.clone(),
            peer,
            made,
        }
    }

    /// Whether a member that is met in one life of its process speaks to this one in another, too: two
    /// processes have its store. Who has just ended is not taken for that, and what it sent last may still
    /// be unread: only what is heard from now on counts, or the end of what was there.
    pub(super) async fn lives_twice(&self, peer: MemberId, life: u64) -> bool {
        let before = self.clock.millis().0;
        loop {
            let now = self.clock.millis().0;
            let heard_at = self.heard_in_another_life(peer, life);
            match heard_at {
                None => return false,
                Some(at) if at > before + limits::COPY_HEARD_AFTER_MS => return true,
                Some(_) if now > before + limits::COPY_HEARD_MS_MAX => return false,
                Some(_) => tokio::time::sleep(limits::READY_LOOK).await,
            }
        }
    }

    /// When a member was last heard on a connection that it made in another life than this one.
    fn heard_in_another_life(&self, peer: MemberId, life: u64) -> Option<u64> {
        let state = self.state.lock();
        let of_peer = state.reach.made.get(&peer)?.iter();
        let others = of_peer.filter(|made| made.life != life);
        others
            .map(|made| made.heard_at.load(Ordering::Relaxed))
            .max()
    }

    fn one_way(&self, live: &Live, view: &View) -> BTreeMap<MemberId, Missing> {
        let carried = live.carried();
        let made = &self.state.lock().reach.made;
        let others = parts(&view.configuration).into_iter();
        let others = others.filter(|member| *member != self.member);
        let way = |member| match (carried.contains(&member), made.contains_key(&member)) {
            (false, true) => Some((member, Missing::There)),
            (true, false) => Some((member, Missing::Back)),
            _ => None,
        };
        others.filter_map(way).collect()
    }

    fn words_of_one_way(&self, member: MemberId, way: Missing, view: &View) -> String {
        let there = self.named(member);
        let own = &self.address;
        let (mut words, counsel) = match way {
            Missing::There => (
                format!(
                    "Member {there} connects to this one, and is not reached from here: what this member \
                     says does not come to it"
                ),
                "Its --cluster-listen is no address that is reached from here, or something between lets \
                 connections through in one direction only"
                    .to_owned(),
            ),
            Missing::Back => (
                format!(
                    "Member {there} is reached, and makes no connection to this one: what it says does not \
                     come here"
                ),
                format!(
                    "--cluster-listen {own} of this member is no address that is reached from there, or \
                     something between lets connections through in one direction only; the log of that \
                     member says why"
                ),
            ),
        };
        if view.leader == Some(member) {
            words += ". It leads: what clients of this member ask is not done until then";
        }
        format!("{words}. {counsel}")
    }

    /// A member with its address, and why it is not reached there, as far as that is known.
    pub(super) fn named(&self, member: MemberId) -> String {
        let state = self.state.lock();
        let mut text = format!("{:016x}", member.0);
        if let Some(address) = state.book.address(member) {
            // Writing to a string does not fail.
            let _ = write!(text, " at {address}");
            let address = Address::parse(address.as_str());
            if let Some(why) = address.and_then(|address| state.reach.failed.get(&address)) {
                let _ = write!(text, " ({why})");
            }
        }
        text
    }

    /// The members that this one is connected to, and the addresses at which it reached none, in words.
    pub(super) fn words_of_reach(&self, live: &Live) -> String {
        let carried = live.carried();
        let reached: Vec<String> = carried.iter().map(|member| self.named(*member)).collect();
        let state = self.state.lock();
        let failed = state.reach.failed.iter();
        let failed: Vec<String> = failed
            .map(|(address, why)| format!("{address} ({why})"))
            .collect();
        let or_none = |texts: Vec<String>| match texts.is_empty() {
            true => "none".to_owned(),
            false => texts.join(", "),
        };
        format!(
            "connected to {}; not reached: {}",
            or_none(reached),
            or_none(failed)
        )
    }

    /// Whether a member has made a connection to this one.
    pub(super) fn is_heard(&self, member: MemberId) -> bool {
        self.state.lock().reach.made.contains_key(&member)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lasts_is_said_more_and_more_rarely_and_never_for_the_last_time() {
        let mut reminder = Reminder::after(Millis(100), 50);
        let said = (0..20_000_000_u64).step_by(1000);
        let said: Vec<u64> = said.filter(|now| reminder.is_due(Millis(*now))).collect();
        let pauses: Vec<u64> = said.windows(2).map(|two| two[1] - two[0]).collect();
        assert_eq!(said[0], 1000);
        assert_eq!(pauses[..3], [5000, 10_000, 20_000]);
        assert!(pauses.is_sorted());
        assert_eq!(pauses.last(), Some(&limits::REMINDED_AFTER_MS_MAX));
    }
}
