//! One member's machine, disk and clocks.

use std::collections::VecDeque;
use std::sync::Arc;

use super::super::Settings;
use super::super::member::{Member, Now};
use super::super::snapshots::Job;
use super::clocks::Clocks;
use super::network::{Network, Tally};
use crate::broker::Command;
use crate::broker::ids::{ConnectionNumber, MemberId};
use crate::broker::plant::as_version;
use crate::cluster::entry_log::{self, Configuration, EntryLog, Plant as LogPlant};
use crate::cluster::lockstep::dice::Dice;
use crate::cluster::machine::Machine;
use crate::cluster::{Millis, limits};
use crate::store::simulated::{Call, Failure};
use crate::store::{Disk, SimulatedDisk, Turn, Writer};

/// Calls of a disk after which at most the power goes, where it goes in the middle of writing.
const CALLS_BEFORE_POWER_CUT: u64 = 6;

/// See the module.
pub(super) struct Node<M> {
    pub settings: Settings,
    pub disk: SimulatedDisk,
    /// Who counted when it ended, if its disk says so; None if it has not ended or its disk may not.
    ended_with: Option<Configuration>,
    /// None while it is down.
    pub member: Option<Member<M>>,
    writer: Option<Writer>,
    /// When what was appended is on the disk.
    pub writes_at: Option<Millis>,
    pub paused_until: Millis,
    pub clocks: Clocks,
    /// Something came or was done that it has not looked at.
    pub is_touched: bool,
    /// Its disk was told to refuse something.
    is_hurt: bool,
    /// Its disk was told to lie.
    is_deceived: bool,
    /// A bit of its disk was flipped.
    is_flipped: bool,
    /// Its disk holds no journal that can be gone on with: another member must take its place.
    pub is_spoiled: bool,
    /// It was taken out of the group, and nobody is in its place.
    pub is_absent: bool,
    /// It is to be taken out.
    pub is_leaving: bool,
    /// Whether the next start is one of the newer version, and whether it runs.
    pub is_next: bool,
    pub runs_next: bool,
    /// How long a sync takes at least until when: a slow disk.
    pub slow: (u64, Millis),
    /// What clients proposed, until it runs.
    pub waiting: VecDeque<(ConnectionNumber, Vec<Command>)>,
    /// Connections that close when it runs.
    pub closing: Vec<ConnectionNumber>,
    /// Up to which entry segments were given back.
    given_back: u64,
    /// Whether the disk has less room than it might need; and whether that was felt.
    is_narrow: bool,
    was_full: bool,
    /// Whether what waits to be written had no room when it was last tried.
    pub is_full: bool,
    /// The lie that its disk was told to tell and that is not counted yet.
    lie: Option<Failure>,
    /// What is done beside, and when it is done.
    job: Option<(Millis, Job<M>)>,
}

/// Opens a log on a simulated disk.
pub(super) fn open(
    disk: &SimulatedDisk,
    options: &entry_log::Options,
    store_id: u64,
) -> Result<(EntryLog, Writer), String> {
    let opened = EntryLog::open_without_thread(Arc::new(disk.clone()), options, store_id);
    let ((log, _), writer) = opened.map_err(|error| error.to_string())?;
    Ok((log, writer))
}

impl<M: Machine> Node<M> {
    pub fn new(settings: Settings, disk: SimulatedDisk) -> Node<M> {
        Node {
            settings,
            disk,
            ended_with: None,
            member: None,
            writer: None,
            writes_at: None,
            paused_until: Millis(0),
            clocks: Clocks::new(Millis(0), 0, 0),
            is_touched: false,
            is_hurt: false,
            is_deceived: false,
            is_flipped: false,
            is_spoiled: false,
            is_absent: false,
            is_leaving: false,
            is_next: false,
            runs_next: false,
            slow: (0, Millis(0)),
            waiting: VecDeque::new(),
            closing: Vec::new(),
            given_back: 0,
            is_narrow: false,
            was_full: false,
            is_full: false,
            lie: None,
            job: None,
        }
    }

    pub fn start(
        &mut self,
        options: &entry_log::Options,
        fresh: &dyn Fn() -> M,
        at: Now,
        seed: u64,
    ) -> Result<(), String> {
        let MemberId(id) = self.settings.member;
        let (log, writer) = open(&self.disk, options, id)?;
        self.settings.seed = seed;
        self.runs_next = self.is_next;
        let settings = self.settings;
        let opened = as_version(self.runs_next, || Member::open(log, settings, fresh, at));
        self.member = Some(opened?);
        self.writer = Some(writer);
        self.is_touched = true;
        // All of it was read.
        self.disk.forget_lie();
        (self.is_deceived, self.is_flipped) = (false, false);
        Ok(())
    }

    /// The process ends; the disk is as it was seen.
    pub fn end(&mut self) {
        let ended = self.member.take();
        let was_up = ended.is_some();
        if let Some(member) = ended {
            self.ended_with = member.kept_configuration();
        }
        self.writer = None;
        self.writes_at = None;
        self.paused_until = Millis(0);
        self.waiting.clear();
        self.closing.clear();
        self.given_back = 0;
        self.job = None;
        self.is_full = false;
        // A lie about the last thing written cannot be told from what a power cut leaves: nobody
        // could do more than give up such a disk. The others show.
        match self.disk.lie_is_told().filter(|_| was_up) {
            Some(is_told) => self.is_spoiled |= !is_told,
            None => self.is_deceived &= !was_up,
        }
        self.mend();
    }

    /// The power goes, now and then in the middle of writing.
    pub fn crash(&mut self, dice: &mut Dice, tally: &mut Tally) {
        if let Some(writer) = self.writer.as_mut().filter(|_| self.writes_at.is_some()) {
            self.disk
                .power_off_after(dice.below(CALLS_BEFORE_POWER_CUT));
            while writer.turn() == Turn::Worked {}
        }
        let left = self.disk.crash(dice.roll());
        self.note_lies(tally);
        self.end();
        self.disk = left;
        self.widen();
        tally.torn += self.disk.left().torn;
        tally.unsynced += self.disk.left().lost;
    }

    /// It stops in order, and then a bit of its disk is flipped.
    pub fn rot(&mut self, dice: &mut Dice) {
        if let Some(mut writer) = self.writer.take() {
            writer.finish();
        }
        self.end();
        let names = self.disk.list().unwrap_or_default();
        let bits = |name: &String| self.disk.contents(name).map_or(0, |c| c.len() as u64) * 8;
        let mut bit = dice.below(names.iter().map(bits).sum());
        for name in &names {
            if bit < bits(name) {
                let flipped = self.disk.flip(name, bit);
                self.is_flipped |= flipped.is_ok();
                return;
            }
            bit -= bits(name);
        }
    }

    /// One of the next writes or syncs fails.
    pub fn hurt(&mut self, calls: u64) {
        let call = match calls.is_multiple_of(2) {
            true => Call::Sync,
            false => Call::Write,
        };
        self.disk.fail(call, calls, Failure::Error);
        self.is_hurt = true;
    }

    /// One of the next reads fails.
    pub fn hurt_reading(&mut self, calls: u64) {
        self.disk.fail(Call::Read, calls, Failure::Error);
        self.is_hurt = true;
    }

    /// One of the next writes goes nowhere, or further on.
    pub fn deceive(&mut self, calls: u64, lie: Failure) {
        self.disk.fail(Call::Write, calls, lie);
        self.is_deceived = true;
        self.lie = Some(lie);
    }

    /// There is so much room left, and no more.
    pub fn narrow(&mut self, bytes: u64) {
        self.disk.set_capacity(self.disk.used_bytes() + bytes);
        (self.is_narrow, self.was_full) = (true, false);
    }

    /// There is room again.
    pub fn widen(&mut self) {
        if std::mem::take(&mut self.is_narrow) {
            self.disk.set_capacity(u64::MAX);
        }
    }

    pub fn mend(&mut self) {
        self.disk.heal();
        self.is_hurt = false;
    }

    /// Whether it is not known that its journal is whole.
    pub fn is_doubtful(&self) -> bool {
        self.is_deceived || self.is_flipped
    }

    /// Who counts, as far as its disk says so.
    pub fn kept_configuration(&self) -> Option<Configuration> {
        match &self.member {
            Some(member) => member.kept_configuration(),
            None => self.ended_with.clone(),
        }
    }

    /// Whether it may fail, its disk being what it is.
    pub fn may_fail(&self) -> bool {
        self.is_hurt || self.is_doubtful() || self.is_narrow
    }

    /// Whether there is something to do.
    pub fn is_due(&self, now: Millis) -> bool {
        let Some(member) = &self.member else {
            return false;
        };
        let is_tick_due = member.next() <= self.clocks.clock(now);
        let is_write_due = self.writes_at.is_some_and(|at| at <= now);
        let is_asked = self.is_touched || !self.waiting.is_empty();
        let is_job_done = self.job.as_ref().is_some_and(|(at, _)| *at <= now);
        self.paused_until <= now && (is_tick_due || is_write_due || is_asked || is_job_done)
    }

    /// When something is to do.
    pub fn next(&self, now: Millis) -> Option<Millis> {
        let member = self.member.as_ref()?;
        if self.is_touched || !self.waiting.is_empty() {
            return Some(self.paused_until.max(now));
        }
        let tick = self.clocks.when(member.next());
        let next = self.writes_at.map_or(tick, |at| at.min(tick));
        let next = self.job.as_ref().map_or(next, |(at, _)| next.min(*at));
        Some(next.max(self.paused_until))
    }

    /// Does what is due.
    ///
    /// # Errors
    /// It cannot go on.
    pub fn run(
        &mut self,
        at: (Millis, Now),
        options: &entry_log::Options,
        sent: &mut Vec<(MemberId, Vec<u8>)>,
    ) -> Result<(), String> {
        as_version(self.runs_next, || self.run_version(at, options, sent))
    }

    fn run_version(
        &mut self,
        (now, at): (Millis, Now),
        options: &entry_log::Options,
        sent: &mut Vec<(MemberId, Vec<u8>)>,
    ) -> Result<(), String> {
        let Some(member) = &mut self.member else {
            return Ok(());
        };
        self.is_touched = false;
        while let Some((connection, commands)) = self.waiting.pop_front() {
            member.propose(at, connection, &commands);
        }
        for connection in self.closing.drain(..) {
            member.outboxes.close(connection);
        }
        if self.writes_at.is_some_and(|at| at <= now) {
            self.writes_at = None;
            if let Some(writer) = &mut self.writer {
                let mut turn = Turn::Worked;
                while turn == Turn::Worked {
                    turn = writer.turn();
                }
                self.is_full = turn == Turn::Full;
            }
        }
        if member.next() <= at.clock {
            member.tick(at);
        }
        if let Some((_, job)) = self.job.take_if(|(at, _)| *at <= now) {
            member.finish(at, job.run());
        }
        member.work(at, sent);
        if let Some(why) = member.failure() {
            return Err(why);
        }
        let (index, plant) = (member.log().snapshot_index(), options.plant);
        let is_synced = || member.log().is_snapshot_synced();
        if index > self.given_back && (is_synced() || plant == LogPlant::SnapshotNotSynced) {
            self.given_back = index;
            let segments = member.log().superseded();
            entry_log::give_back(member.log().journal(), &segments)?;
            let log = member.log_mut();
            segments.iter().for_each(|segment| log.forget(*segment));
        }
        Ok(())
    }

    /// Says when what waits to be written is on the disk, and when what is done beside is done; each
    /// takes as long as a sync of `network`'s.
    pub fn plan(&mut self, now: Millis, network: &mut Network) {
        let Some(member) = &mut self.member else {
            return;
        };
        let (slow_ms, until) = self.slow;
        let least = match self.is_full {
            true => limits::FULL_LOOKS_MS,
            false if until > now => slow_ms,
            false => 0,
        };
        let mut done_at = || Millis(now.0 + network.sync_ms().max(least));
        let is_unsynced = member.log().journal().synced() < member.log().end();
        if self.writes_at.is_none() && is_unsynced {
            self.writes_at = Some(done_at());
        }
        if let Some(job) = member.job() {
            self.job = Some((done_at(), job));
        }
    }

    /// Counts what its disk did wrongly since it was last asked.
    pub fn note_lies(&mut self, tally: &mut Tally) {
        if self.is_narrow && !self.was_full && self.disk.refusals() > 0 {
            self.was_full = true;
            tally.full += 1;
        }
        if self.lie.is_some() && self.disk.lie_is_told().is_some() {
            match self.lie.take() {
                Some(Failure::Misdirected(_)) => tally.misdirected_writes += 1,
                _ => tally.lost_writes += 1,
            }
        }
    }

    /// How it stands, in words.
    pub fn standing(&self) -> String {
        let id = self.settings.member.0;
        match &self.member {
            None if self.is_absent => format!("{id} has left"),
            None => format!("{id} is down"),
            Some(member) => format!(
                "{id}: {}, {:?}, {:?}",
                member.standing(),
                member.log(),
                member.configuration()
            ),
        }
    }
}
