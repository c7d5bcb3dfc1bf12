//! A member: raft, its log, its machine, and what waits for its connections.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use raft::StateRole;
use raft::prelude::{Config, Entry, Message, MessageType, RawNode};

use super::committed::{Farewell, Observed};
use super::lead::Lead;
use super::ordered::{Content, Envelope, in_bounded};
use super::proposals::Proposals;
use super::snapshots::Snapshots;
use super::storage::{self, Storage};
use super::{Plant, codec};
use crate::broker::ids::{MemberId, ShardId};
use crate::broker::{Batch, Command, Origin, Out};
use crate::cluster::entry_log::{Configuration, EntryLog, RaftBase, RaftState, Voter};
use crate::cluster::lockstep::dice::Dice;
use crate::cluster::machine::Machine;
use crate::cluster::outbox::{Outboxes, Woken};
use crate::cluster::{Millis, limits};
use crate::store;

/// What a member's clocks show.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Now {
    /// The monotonic one.
    pub clock: Millis,
    /// The wall clock: milliseconds since 1970. It counts after a full stop only.
    pub wall: u64,
}

/// Who a member is and how it takes part.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// The group: random, drawn when it was formed.
    pub group: u64,
    /// The member: random, drawn with its log, not 0.
    pub member: MemberId,
    /// Decides when it stands for election.
    pub seed: u64,
    /// How long the leader hears nothing of a member before that member's sessions end.
    pub down_after_ms: u64,
    /// How long a proposal waits before it is sent again, in milliseconds, and up to sixteen times as
    /// long when nothing comes of that: [`limits::RAFT_RESEND_AFTER_MS`], but in tests.
    pub resend_after_ms: u64,
    /// Octets of the newest entries that are kept in memory for others:
    /// [`limits::RAFT_RECENT_BYTES`], but in tests.
    pub recent_bytes: usize,
    /// Octets of a proposal, beside its last command, and of a part of a large message:
    /// [`limits::PROPOSAL_BYTES`], but in tests.
    pub proposal_bytes: usize,
    /// Whether what it applies is noted, for [`Member::observed`].
    pub is_observed: bool,
    /// What is done wrongly on purpose, to test the tests.
    #[doc(hidden)]
    pub plant: Plant,
}

/// What waits until the log is synced to a position.
struct Unsynced {
    position: u64,
    number: u64,
    messages: Vec<Message>,
}

/// See the module `raft`. Whoever drives it calls [`Member::step`] with what comes,
/// [`Member::tick`] in time, and then [`Member::work`], which gives what is to be sent.
pub struct Member<M> {
    pub(super) settings: Settings,
    pub(super) raw: RawNode<Storage>,
    pub(super) machine: M,
    pub(super) now: Now,
    ticked_at: Millis,
    pub(super) ticks: u64,
    pub(super) snapshots: Snapshots<M>,
    unsynced: VecDeque<Unsynced>,
    /// Committed entries that are not applied yet.
    pub(super) unapplied: VecDeque<Entry>,
    pub(super) outgoing: Vec<(MemberId, Vec<u8>)>,
    pub(super) promised: RaftState,
    /// The position of the log behind the record that says that the newest change of members it has
    /// applied is in the order.
    pub(super) change_kept_at: u64,
    pub(super) lead: Option<Lead>,
    /// Members whose processes are gone, as far as whoever connects to them can tell; until something is
    /// heard of them.
    pub(super) gone: BTreeSet<u64>,
    /// When it last handed the leadership on because its disk was full, in ticks.
    pub(super) handed_over_at: u64,
    /// By member: when it was sent a snapshot, or last asked for a piece of it, in ticks.
    pub(super) sent_snapshots: BTreeMap<u64, u64>,
    /// Whether it has known a leader since it started.
    pub(super) has_followed: bool,
    pub(super) proposals: Proposals,
    pub(super) outboxes: Outboxes,
    pub(super) out: Out,
    pub(super) woken: Woken,
    pub(super) observed: Vec<Observed>,
    /// There is more to do at once than one call does.
    has_more: bool,
    /// How many messages may have come into queues when it looks at its clock again.
    pub(super) applies_until: u64,
    /// Entries it has applied in this life.
    pub(super) applied: u64,
    /// It has said that it ends.
    pub(super) is_leaving: bool,
    /// Members that said so, in the order, since this was last looked at.
    pub(super) farewells: Vec<Farewell>,
    pub(super) failure: Option<String>,
}

fn silent() -> slog::Logger {
    slog::Logger::root(slog::Discard, slog::o!())
}

/// Writes the beginning of a group into a new log: all of its members begin so. It is there when
/// the log is synced to its end.
///
/// # Errors
/// The log cannot be written.
pub fn form<M: Machine>(
    log: &mut EntryLog,
    voter: Voter,
    members: &[MemberId],
    (mut machine, commands): (M, Vec<Command>),
    wall: u64,
) -> Result<(), String> {
    let mut batch = Batch {
        shard: ShardId::default(),
        index: machine.index() + 1,
        time: machine.time(),
        origin: Origin::Sequencer,
        commands,
    };
    machine.apply(&mut batch, &mut Out::default());
    let configuration = Configuration {
        voters: members.iter().map(|member| member.0).collect(),
        ..Configuration::default()
    };
    let (index, term) = (machine.index(), 1);
    log.vote(voter)?;
    log.promise(RaftState {
        term,
        ..RaftState::default()
    })?;
    log.raft_base_follows(RaftBase {
        index,
        term,
        configuration,
    })?;
    log.install(wall, index, machine.freeze())
}

/// Why a member ends that a leader has heard acknowledge more than its log has: only what is on the disk
/// is acknowledged, and until now it counted for that.
fn has_gone_back(acknowledged: u64, last: u64) -> String {
    format!(
        "this member has acknowledged entry {acknowledged} and its log ends at entry {last}: its data \
         directory is an older copy, or the disk has lost what was written. With the directory removed \
         it can join as a new member"
    )
}

impl Settings {
    /// Whose log the member's is.
    pub fn voter(&self) -> Voter {
        Voter {
            group: self.group,
            member: self.member,
        }
    }
}

fn config(settings: &Settings, applied: u64) -> Config {
    Config {
        id: settings.member.0,
        election_tick: limits::RAFT_ELECTION_TICKS,
        heartbeat_tick: limits::RAFT_HEARTBEAT_TICKS,
        min_election_tick: limits::RAFT_ELECTION_TICKS,
        max_election_tick: 2 * limits::RAFT_ELECTION_TICKS + 1,
        applied,
        max_size_per_msg: limits::RAFT_APPEND_BYTES,
        max_inflight_msgs: limits::RAFT_INFLIGHT_MAX,
        max_uncommitted_size: limits::RAFT_UNCOMMITTED_BYTES_MAX,
        max_committed_size_per_ready: limits::RAFT_APPLIED_BYTES_MAX,
        check_quorum: true,
        pre_vote: true,
        batch_append: true,
        ..Config::default()
    }
}

impl<M: Machine> Member<M> {
    /// Starts a member from its log. An empty one is that of a newcomer, which gets its state when
    /// the group has let it join; `fresh` is its machine until then.
    ///
    /// # Errors
    /// The log is another's, or does not give a state.
    pub fn open(
        log: EntryLog,
        settings: Settings,
        fresh: impl FnOnce() -> M,
        now: Now,
    ) -> Result<Member<M>, String> {
        if let Some(found) = log.voter()
            && found != settings.voter()
        {
            let Voter { group, member } = found;
            return Err(format!(
                "this is the journal of member {:x} in group {group:x}",
                member.0
            ));
        }
        let machine = storage::begin(&log)?.unwrap_or_else(fresh);
        let (promised, applied) = (log.raft_state().unwrap_or_default(), log.snapshot_index());
        let raw = RawNode::new(
            &config(&settings, applied),
            Storage::new(log, settings.recent_bytes),
            &silent(),
        );
        let raw = raw.map_err(|error| format!("raft does not start: {error}"))?;
        let mut member = Member {
            settings,
            raw,
            machine,
            now,
            ticked_at: now.clock,
            ticks: 0,
            unsynced: VecDeque::new(),
            unapplied: VecDeque::new(),
            outgoing: Vec::new(),
            promised,
            change_kept_at: 0,
            lead: None,
            gone: BTreeSet::new(),
            handed_over_at: 0,
            sent_snapshots: BTreeMap::new(),
            snapshots: Snapshots::default(),
            has_followed: false,
            proposals: Proposals::default(),
            outboxes: Outboxes::default(),
            out: Out::default(),
            woken: Woken::default(),
            observed: Vec::new(),
            has_more: false,
            applies_until: 0,
            applied: 0,
            is_leaving: false,
            farewells: Vec::new(),
            failure: None,
        };
        member.renew();
        member.draw_timeout();
        Ok(member)
    }

    /// Who it is.
    pub fn id(&self) -> MemberId {
        self.settings.member
    }

    /// Its machine.
    pub fn machine(&self) -> &M {
        &self.machine
    }

    /// Its log.
    pub fn log(&self) -> &EntryLog {
        &self.raw.store().log
    }

    /// Its log, to forget segments that were given back.
    pub fn log_mut(&mut self) -> &mut EntryLog {
        &mut self.raw.mut_store().log
    }

    /// Its term.
    pub fn term(&self) -> u64 {
        self.raw.raft.term
    }

    /// Whether it has been elected in its term, whatever has become of that since.
    pub fn is_elected(&self) -> bool {
        self.raw.raft.state == StateRole::Leader
    }

    /// Whether it gives the order.
    pub fn is_leading(&self) -> bool {
        self.lead.is_some()
    }

    /// Who counts and who learns, as far as it knows.
    pub fn configuration(&self) -> Configuration {
        codec::configuration_of(&self.raw.raft.prs().conf().to_conf_state())
    }

    /// Who counts and who learns, as far as it would know that if it started again from its disk. None
    /// while the newest change that it has applied is not on its disk as one that is in the order.
    pub fn kept_configuration(&self) -> Option<Configuration> {
        let is_kept = self.log().journal().synced() >= self.change_kept_at;
        is_kept.then(|| self.configuration())
    }

    /// How raft stands, in words.
    pub fn standing(&self) -> String {
        let (raft, log) = (&self.raw.raft, &self.raw.raft.raft_log);
        format!(
            "{:?} of {} in term {}, waits for {} syncs, committed {}, persisted {}, applied {}, last {}",
            raft.state,
            raft.leader_id,
            raft.term,
            self.unsynced.len(),
            log.committed,
            log.persisted,
            log.applied,
            log.last_index()
        )
    }

    /// Why it cannot go on.
    pub fn failure(&self) -> Option<String> {
        let read = || self.raw.store().failure();
        let own = self.failure.clone().or_else(read);
        own.or_else(|| self.log().failure())
    }

    /// Whether its disk has no room. All publishes of its own clients are refused then, before they are
    /// proposed: every entry goes onto the disk. What makes room goes on.
    pub fn is_full(&self) -> bool {
        matches!(self.log().journal().state(), store::State::Full(_))
    }

    /// What it has applied since this was last asked.
    pub fn observed(&mut self) -> Vec<Observed> {
        std::mem::take(&mut self.observed)
    }

    /// Those to be woken, with no lock held.
    pub fn woken(&mut self) -> Woken {
        std::mem::take(&mut self.woken)
    }

    /// Notes that it cannot go on.
    pub(super) fn fail(&mut self, why: String) {
        self.failure.get_or_insert(why);
        self.outboxes.wake_all(&mut self.woken);
    }

    pub(super) fn try_to(&mut self, result: Result<(), String>) {
        if let Err(why) = result {
            self.fail(why);
        }
    }

    /// Takes what another member sent. What is not for it, or makes no sense, is not heeded: the error
    /// says why.
    pub fn step(&mut self, now: Now, octets: &[u8]) -> Result<(), String> {
        let envelope = Envelope::decode(octets).map_err(|error| error.to_string())?;
        self.take_envelope(now, envelope)
    }

    /// The same with what was read already.
    pub(super) fn take_envelope(&mut self, now: Now, envelope: Envelope) -> Result<(), String> {
        self.now = now;
        if (envelope.group, envelope.to) != (self.settings.group, self.id()) {
            return Err("a message for somebody else".to_owned());
        }
        self.gone.remove(&envelope.from.0);
        if let Some(lead) = &mut self.lead {
            lead.heard.insert(envelope.from.0, self.ticks);
        }
        match envelope.content {
            Content::Raft(message) => self.step_raft(*message)?,
            Content::Offer(offer) => self.offered(envelope.from, offer)?,
            Content::Wanted(wanted) => self.wanted(envelope.from, wanted),
            Content::Piece {
                index,
                piece,
                octets,
            } => {
                self.came(envelope.from, index, piece, octets)?;
            }
            Content::Proposal(octets) => {
                self.order(&octets);
            }
        }
        self.draw_timeout();
        Ok(())
    }

    /// Where a member was nobody listens: its process is gone, and its clients go elsewhere at once. Its
    /// sessions end as soon as nothing is heard of it either, and not after the time that a silent member
    /// is given.
    pub fn note_gone(&mut self, member: MemberId) {
        self.gone.insert(member.0);
    }

    /// What would make the crate panic and can be seen by what is known here, is refused.
    pub(super) fn step_raft(&mut self, message: Message) -> Result<(), String> {
        let log = &self.raw.raft.raft_log;
        let (last, is_of_term) = (log.last_index(), message.term == self.raw.raft.term);
        match message.get_msg_type() {
            MessageType::MsgHeartbeat if message.commit > last => {
                let acknowledged = message.commit;
                if message.term >= self.raw.raft.term {
                    self.fail(has_gone_back(acknowledged, last));
                }
                return Err(format!("a commit of {acknowledged} and the log has {last}"));
            }
            MessageType::MsgTimeoutNow if self.is_installing() => {
                return Err("it cannot lead before it has a state".to_owned());
            }
            MessageType::MsgAppendResponse
                if is_of_term && !message.reject && message.index > last =>
            {
                return Err(format!("an answer to entry {} of {last}", message.index));
            }
            MessageType::MsgAppend if message.term >= self.raw.raft.term => {
                let committed = log.committed;
                let known = message.get_entries().iter();
                for entry in known.take_while(|entry| entry.index <= committed) {
                    if log
                        .term(entry.index)
                        .is_ok_and(|t| t != 0 && t != entry.term)
                    {
                        let why = format!("entry {} is another than in the order", entry.index);
                        self.fail(why.clone());
                        return Err(why);
                    }
                }
            }
            _ => {}
        }
        self.raw.step(message).map_err(|error| error.to_string())
    }

    /// Lets time pass: as many ticks as are due, and after a pause only so many that what has come
    /// meanwhile is looked at before anything is made of a silence.
    pub fn tick(&mut self, now: Now) {
        self.now = now;
        let mut left = limits::RAFT_TICKS_AT_ONCE;
        while self.ticked_at.0 + limits::RAFT_TICK_MS <= now.clock.0 {
            self.ticked_at.0 += limits::RAFT_TICK_MS;
            if left == 0 {
                self.ticked_at = now.clock;
                break;
            }
            left -= 1;
            self.ticks += 1;
            // Alone it would be elected at once, before its disk has what its log has.
            let is_alone = self.raw.raft.prs().conf().voters().ids().len() == 1;
            if (!is_alone || self.unsynced.is_empty()) && !self.is_installing() {
                self.raw.tick();
            }
            self.draw_timeout();
        }
        self.note_role();
        self.send_snapshots_again();
        self.tick_snapshots();
        self.act_as_leader();
        self.hand_over_when_full();
        self.resend_in_time();
    }

    /// Whether it took a state that is not on its disk yet: until then it does not stand for election.
    fn is_installing(&self) -> bool {
        self.raw.raft.raft_log.applied < self.log().snapshot_index()
    }

    /// When [`Member::tick`] is to be called next.
    pub fn next(&self) -> Millis {
        if self.has_more {
            return self.now.clock;
        }
        let tick = Millis(self.ticked_at.0 + limits::RAFT_TICK_MS);
        let resend = self.resends_at().unwrap_or(tick);
        tick.min(resend).min(self.leader_acts_at().unwrap_or(tick))
    }

    /// The crate draws its timeouts from the thread's randomness, whenever it likes: each is replaced
    /// by one that seed and term give, so that it does not matter when it did.
    fn draw_timeout(&mut self) {
        let term = self.raw.raft.term;
        let mut dice = Dice::new(self.settings.seed ^ term.wrapping_mul(0x9E37_79B9));
        let more = 1 + dice.below(limits::RAFT_ELECTION_TICKS as u64) as usize;
        let raft = &mut self.raw.raft;
        raft.set_randomized_election_timeout(limits::RAFT_ELECTION_TICKS + more);
        self.note_role();
    }

    pub(super) fn note_role(&mut self) {
        let term = self.raw.raft.term;
        let leads = self.is_elected();
        self.lead.take_if(|lead| !leads || lead.term != term);
        let leader = self.raw.raft.leader_id;
        self.has_followed |= leader != 0 && leader != self.id().0;
    }

    /// Does what has become possible, and gives what is to be sent. `sent` is added to.
    pub fn work(&mut self, now: Now, sent: &mut Vec<(MemberId, Vec<u8>)>) {
        self.now = now;
        self.has_more = false;
        self.applies_until = self.machine.enqueue_count() + limits::RAFT_APPLIED_ENQUEUES;
        let mut left = limits::RAFT_ROUNDS_PER_WORK;
        while self.failure().is_none() {
            self.note_synced();
            self.apply_committed();
            if !self.unapplied.is_empty() {
                self.has_more = true;
                break;
            }
            if !self.raw.has_ready() {
                break;
            }
            if left == 0 {
                self.has_more = true;
                break;
            }
            left -= 1;
            self.take_ready();
            self.draw_timeout();
        }
        self.take_snapshot();
        self.act_as_leader();
        if self.raw.has_ready() && self.failure().is_none() {
            self.take_ready();
            self.has_more |= !self.unapplied.is_empty();
        }
        self.send_to_new_leader();
        sent.append(&mut self.outgoing);
    }

    /// Goes on with what waited for the disk.
    fn note_synced(&mut self) {
        let synced = match self.settings.plant {
            Plant::SentUnsynced => u64::MAX,
            _ => self.log().journal().synced(),
        };
        let mut number = None;
        while let Some(mut done) = self.unsynced.pop_front_if(|at| at.position <= synced) {
            number = Some(done.number);
            self.send(std::mem::take(&mut done.messages));
        }
        if let Some(number) = number {
            self.raw.on_persist_ready(number);
            let log = &self.raw.raft.raft_log;
            let (installed, applied) = (self.machine.index(), log.applied);
            if applied < installed && installed <= log.persisted.min(log.committed) {
                self.raw.advance_apply_to(installed);
            }
        }
    }

    fn send(&mut self, messages: Vec<Message>) {
        let bytes_max = limits::RAFT_APPEND_BYTES as usize;
        let messages = messages.into_iter();
        for message in messages.flat_map(|message| in_bounded(message, bytes_max)) {
            if message.get_msg_type() == MessageType::MsgSnapshot {
                self.offer(message);
                continue;
            }
            let envelope = Envelope {
                group: self.settings.group,
                from: self.id(),
                to: MemberId(message.to),
                content: Content::Raft(Box::new(message)),
            };
            match envelope.encode() {
                Some(octets) => self.outgoing.push((envelope.to, octets)),
                None => self.fail(format!("raft sends what does not travel: {envelope:?}")),
            }
        }
    }

    fn take_ready(&mut self) {
        let mut ready = self.raw.ready();
        let messages = ready.take_messages();
        self.send(messages);
        if !ready.snapshot().is_empty() {
            let installed = self.install(codec::base_of(ready.snapshot()));
            self.try_to(installed);
        }
        let entries = ready.take_entries();
        let appended = self.raw.mut_store().append(&entries);
        self.try_to(appended);
        if let Some(hard) = ready.hs() {
            (self.promised.term, self.promised.vote) = (hard.term, hard.vote);
            self.promised.commit = hard.commit;
        }
        let mut position = self.unsynced.back().map_or(0, |last| last.position);
        if ready.must_sync() {
            self.promise();
            position = self.log().end();
        }
        self.unsynced.push_back(Unsynced {
            position,
            number: ready.number(),
            messages: ready.take_persisted_messages(),
        });
        let committed = ready.take_committed_entries();
        self.raw.advance_append_async(ready);
        self.unapplied.extend(committed);
        self.apply_committed();
    }

    pub(super) fn promise(&mut self) {
        let promised = match self.settings.plant {
            Plant::VoteForgotten => RaftState {
                term: 1,
                vote: 0,
                ..self.promised
            },
            _ => self.promised,
        };
        let written = self.log_mut().promise(promised);
        self.try_to(written);
    }

    /// Starts a new epoch: the connections of the former one are gone. It is no lower than the wall
    /// clock, so that a log that is older than it should be does not give one that was used: what this
    /// member proposes would be taken for what it proposed then.
    pub(super) fn renew(&mut self) {
        self.outboxes.wake_all(&mut self.woken);
        self.outboxes.close_all();
        // Who was taken out has no epoch left: whatever it proposes is of a closed one.
        let known = match self.is_out() {
            true => 0,
            false => self.machine.last_epoch(self.id()),
        };
        let highest = self.promised.epoch.max(known);
        self.promised.epoch = match self.settings.plant {
            Plant::EpochKept => highest.max(1),
            _ => highest.saturating_add(1).max(self.now.wall),
        };
        self.promise();
        let (epoch, synced_at) = (self.promised.epoch, self.log().end());
        let patience = self.settings.resend_after_ms;
        self.proposals
            .begin(self.now.clock, epoch, (synced_at, patience));
        self.number_own(&[]);
    }

    /// Says in the order that this member ends: its sessions are over then.
    pub(super) fn say_farewell(&mut self, now: Now) {
        self.now = now;
        self.is_leaving = true;
        let (member, epoch) = (self.id(), self.promised.epoch);
        self.number_own(&[Command::MemberDown { member, epoch }]);
        self.send_on();
    }

    /// Whether what it said at its end was applied.
    pub(super) fn has_said_farewell(&self) -> bool {
        self.proposals.is_empty()
    }

    /// Whether the order has what it says first in its epoch: then it has caught up with that, and
    /// there is a leader.
    pub(super) fn has_begun(&self) -> bool {
        self.machine.last_seq(self.id(), self.promised.epoch) > 0
    }
}
