//! The other members of a cluster, over sockets.
//!
//! ```text
//!   listening: one port, a task a connection --- received ---> Live
//!   dialing: a task an address ----------------- outgoing ---- Live
//!   forming: until there is a group               steward: who takes part, what the log says of it
//! ```
//!
//! Each member dials every other, and sends on what it dialled: a connection a pair and direction. What
//! comes on a connection was sent in that order; what is lost with one, raft sends again.
//!
//! How two members meet is in [`meeting`], who belongs in [`secure`] and [`certificates`], how a group begins in
//! [`forming`], how a newcomer comes to take part in [`steward`], what is said of members that reach each
//! other in one direction only in [`reach`].

pub mod book;
pub mod certificates;
pub mod dialing;
pub mod forming;
pub mod frames;
pub mod listening;
pub mod meeting;
pub mod reach;
pub mod secure;
pub mod steward;
pub mod words;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::Notify;

use self::book::Book;
use self::reach::Reach;
use self::secure::Security;
use self::words::{Greeting, Hello, Refusal, Store};
use super::clock::Clock;
use super::cluster_options::{Address, ClusterOptions};
use super::limits;
use crate::broker::ids::MemberId;
use crate::broker::level::{Level, Levels, LevelsOf};
use crate::cluster::Group;
use crate::cluster::Millis;
use crate::cluster::entry_log::{EntryLog, Voter};
use crate::cluster::limits::MEMBERS_MAX;
use crate::cluster::raft::{Live, Plant};
use crate::store::Journal;
use crate::wire::Text;

/// What all tasks that deal with other members share.
pub struct Plane {
    clock: Clock,
    member: MemberId,
    life: u64,
    options: ClusterOptions,
    /// Where others find this member.
    address: Text,
    security: Security,
    state: Mutex<State>,
    /// Rung when a peer says that there is a group.
    told: Notify,
    /// Rung when this member takes part no more, or must not begin to.
    out: Notify,
    /// What is done wrongly on purpose.
    plant: Plant,
}

struct State {
    phase: Phase,
    /// A group that peers belong to.
    told: Option<u64>,
    book: Book,
    newcomers: BTreeMap<MemberId, Newcomer>,
    urls: BTreeMap<MemberId, Text>,
    levels: LevelsOf,
    /// Addresses at which this member found itself.
    own: BTreeSet<Address>,
    refusals: Refusals,
    reach: Reach,
    /// Why this member takes part no more, or must not begin to.
    out: Option<Refusal>,
}

enum Phase {
    /// There is no group: the log is empty.
    Unformed(Box<EntryLog>),
    /// The log is about to be that of a group; until then it counts as this.
    Between(Store),
    /// It takes part in a group, or asks to.
    Live(Arc<Live>),
}

/// Who asks to take part.
#[derive(Clone, Debug)]
struct Newcomer {
    address: Text,
    asked_at: Millis,
}

/// Refusals of one second.
#[derive(Default)]
struct Refusals {
    second: u64,
    logged: u32,
    unlogged: u64,
}

/// A promise on its way to the disk.
pub struct Promise {
    journal: Arc<Journal>,
    position: u64,
}

impl Promise {
    /// Waits until it is on the disk. False: it never will be.
    pub async fn kept(self) -> bool {
        wait_for_sync(&self.journal, self.position).await
    }
}

/// Waits until a journal is on the disk up to a position. False: its disk refuses.
async fn wait_for_sync(journal: &Journal, position: u64) -> bool {
    while journal.synced() < position {
        if matches!(journal.state(), crate::store::State::Failed(_)) {
            return false;
        }
        tokio::time::sleep(limits::SYNC_LOOK).await;
    }
    true
}

impl Plane {
    /// Of a member whose log has been opened.
    ///
    /// # Errors
    /// The options do not fit, or the files that they name.
    pub fn new(
        options: &ClusterOptions,
        (member, life): (MemberId, u64),
        log: EntryLog,
        (directory, clock): (&Path, Clock),
    ) -> Result<Plane, String> {
        let security = Security::new(options)?;
        let listen = options.cluster_listen.as_ref();
        let listen = listen.ok_or("--cluster-listen is missing")?;
        if security.is_open() {
            refuse_open(options, listen)?;
        }
        Ok(Plane {
            clock,
            member,
            life,
            options: options.clone(),
            address: Text::from(listen.to_string().as_str()),
            security,
            state: Mutex::new(State {
                phase: Phase::Unformed(Box::new(log)),
                told: None,
                book: Book::open(directory),
                newcomers: BTreeMap::new(),
                urls: BTreeMap::new(),
                levels: LevelsOf::new(),
                own: BTreeSet::new(),
                refusals: Refusals::default(),
                reach: Reach::default(),
                out: None,
            }),
            told: Notify::new(),
            out: Notify::new(),
            plant: Plant::None,
        })
    }

    /// The same with a fault that is planted on purpose.
    pub fn with_plant(self, plant: Plant) -> Plane {
        Plane { plant, ..self }
    }

    /// This member takes part no more, or must not begin to, as it has seen or was told.
    fn note_out(&self, why: Refusal) {
        self.state.lock().out.get_or_insert(why);
        self.out.notify_one();
    }

    /// Waits until this member takes part no more, or must not begin to; gives why.
    pub async fn out(&self) -> Refusal {
        loop {
            if let Some(why) = self.state.lock().out.clone() {
                return why;
            }
            self.out.notified().await;
        }
    }

    /// Who this member is.
    pub fn member(&self) -> MemberId {
        self.member
    }

    /// How members are talked to.
    pub fn security(&self) -> &Security {
        &self.security
    }

    /// This member's seat, once there is a group.
    pub fn live(&self) -> Option<Arc<Live>> {
        match &self.state.lock().phase {
            Phase::Live(live) => Some(live.clone()),
            Phase::Unformed(_) | Phase::Between(_) => None,
        }
    }

    /// This member's first words.
    pub fn greeting(&self) -> Greeting {
        Greeting::new(self.member, self.life)
    }

    /// What this member belongs to.
    pub fn hello(&self) -> Hello {
        let url = self.options.cluster_url.as_deref().unwrap_or_default();
        Hello {
            cluster: Text::from(self.options.cluster_name.as_str()),
            store: self.state.lock().store(),
            address: self.address.clone(),
            url: Text::from(url),
            levels: Levels::known(),
        }
    }

    /// The level at which the group runs, where there is one.
    fn level(&self) -> Option<Level> {
        let mut level = None;
        Group::look(&*self.live()?, &mut |core| level = Some(core.level()));
        level
    }

    /// What speaks against a member that belongs by what it proved.
    pub fn objection(&self, peer: MemberId, hello: &Hello) -> Option<Refusal> {
        let ours = &self.options.cluster_name;
        if hello.cluster.as_str() != ours {
            return Some(Refusal::Cluster {
                theirs: hello.cluster.clone(),
                ours: Text::from(ours.as_str()),
            });
        }
        if let Some(ours) = self.level().filter(|level| !hello.levels.holds(*level)) {
            let (theirs, ours) = (hello.levels, ours.number());
            return Some(Refusal::Level { theirs, ours });
        }
        let state = self.state.lock();
        let group = |store| match store {
            Store::Empty => None,
            Store::Promised(group) | Store::Of(group) => Some(group),
        };
        let (theirs, ours) = (hello.store, state.store());
        let is_formed = [theirs, ours]
            .iter()
            .any(|store| matches!(store, Store::Of(_)));
        match (group(theirs), group(ours)) {
            (Some(theirs), Some(ours)) if is_formed && theirs != ours => {
                Some(Refusal::Group { theirs, ours })
            }
            _ if state.book.has_left(peer) => Some(Refusal::Left),
            _ => None,
        }
    }

    /// A member was met, and nothing spoke against it.
    fn note_met(&self, peer: MemberId, hello: &Hello) {
        let mut state = self.state.lock();
        state.book.note(peer, &hello.address);
        if state.urls.len() < 2 * MEMBERS_MAX || state.urls.contains_key(&peer) {
            state.urls.insert(peer, hello.url.clone());
            state.levels.insert(peer, hello.levels);
        }
        if let (Store::Of(group), Phase::Unformed(_)) = (hello.store, &state.phase) {
            state.told = Some(group);
            self.told.notify_one();
        }
    }

    /// Promises, in an empty store, to be of that group and no other.
    ///
    /// # Errors
    /// It is promised to another already, or has a group.
    pub fn promise(&self, group: u64) -> Result<Promise, Refusal> {
        let mut state = self.state.lock();
        let Phase::Unformed(log) = &mut state.phase else {
            return Err(Refusal::HasGroup);
        };
        if let Some(Voter { group: other, .. }) = log.voter()
            && other != group
        {
            return Err(Refusal::OtherPromise { group: other });
        }
        let member = self.member;
        if let Err(why) = log.vote(Voter { group, member }) {
            tracing::error!(target: "Cluster", "{why}");
        }
        Ok(Promise {
            journal: log.journal().clone(),
            position: log.end(),
        })
    }

    /// A member asks to take part.
    fn note_newcomer(&self, peer: MemberId, address: Text) {
        let mut state = self.state.lock();
        let asked_at = self.clock.millis();
        if state.newcomers.len() < MEMBERS_MAX || state.newcomers.contains_key(&peer) {
            let newcomer = Newcomer { address, asked_at };
            state.newcomers.insert(peer, newcomer);
        }
    }

    /// This member answered itself at an address.
    fn note_own(&self, address: &Address) {
        self.state.lock().own.insert(address.clone());
    }

    /// Whether an address is this member's own, as far as it knows.
    fn is_own(&self, address: &Address) -> bool {
        self.options.cluster_listen.as_ref() == Some(address)
            || self.state.lock().own.contains(address)
    }

    /// Logs why a peer was not listened to: some a second, and how many more there were.
    fn log_refusal(&self, peer: &dyn std::fmt::Display, why: &meeting::Failure) {
        let second = self.clock.millis().0 / 1000;
        let mut unlogged = 0;
        {
            let refusals = &mut self.state.lock().refusals;
            if refusals.second != second {
                unlogged = refusals.unlogged;
                *refusals = Refusals {
                    second,
                    ..Refusals::default()
                };
            }
            if refusals.logged == limits::REFUSALS_LOGGED_PER_SECOND {
                refusals.unlogged += 1;
                return;
            }
            refusals.logged += 1;
        }
        if unlogged > 0 {
            tracing::warn!(target: "Cluster", "{unlogged} more peers were not listened to");
        }
        tracing::warn!(target: "Cluster", "{peer} at --cluster-listen: {why}");
    }
}

impl State {
    fn store(&self) -> Store {
        match &self.phase {
            Phase::Unformed(log) => match log.voter() {
                Some(voter) => Store::Promised(voter.group),
                None => Store::Empty,
            },
            Phase::Between(store) => *store,
            Phase::Live(live) => Store::Of(live.group()),
        }
    }
}

/// In the clear only loopback is talked to: others could be anybody.
fn refuse_open(options: &ClusterOptions, listen: &Address) -> Result<(), String> {
    for address in options.cluster_peers.iter().chain([listen]) {
        if !secure::is_loopback(&address.resolve()?) {
            return Err(format!(
                "{address} is not on loopback: members elsewhere are talked to only with \
                 --cluster-key-file, or with --cluster-tls-cert, --cluster-tls-key and \
                 --cluster-tls-ca"
            ));
        }
    }
    tracing::warn!(
        target: "Security",
        "Members are not asked whether they belong: everybody on this machine can be one \
         (--cluster-key-file FILE asks)"
    );
    Ok(())
}
