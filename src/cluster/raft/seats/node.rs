//! One member's machine, disk and clocks.

use std::collections::VecDeque;
use std::sync::Arc;

use super::super::Settings;
use super::super::member::{Member, Now};
use super::super::snapshots::Job;
use crate::broker::Command;
use crate::broker::ids::{ConnectionNumber, MemberId};
use crate::cluster::Millis;
use crate::cluster::entry_log::{self, EntryLog};
use crate::cluster::machine::Machine;
use crate::store::simulated::{Call, Failure};
use crate::store::{SimulatedDisk, Turn, Writer};

/// See the module.
pub(super) struct Node<M> {
    pub settings: Settings,
    disk: SimulatedDisk,
    /// None while it is down.
    pub member: Option<Member<M>>,
    writer: Option<Writer>,
    /// When what was appended is on the disk.
    writes_at: Option<Millis>,
    pub paused_until: Millis,
    /// By how much its monotonic clock differs from the simulation's time, in milliseconds.
    pub clock_ahead: u64,
    /// By how much its wall clock is wrong, in milliseconds.
    pub wall_off_ms: i64,
    /// Something came or was done that it has not looked at.
    pub is_touched: bool,
    /// Its disk was told to refuse something.
    pub is_hurt: bool,
    /// What clients proposed, until it runs.
    pub waiting: VecDeque<(ConnectionNumber, Vec<Command>)>,
    /// Connections that close when it runs.
    pub closing: Vec<ConnectionNumber>,
    /// Up to which entry segments were given back.
    given_back: u64,
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
            member: None,
            writer: None,
            writes_at: None,
            paused_until: Millis(0),
            clock_ahead: 0,
            wall_off_ms: 0,
            is_touched: false,
            is_hurt: false,
            waiting: VecDeque::new(),
            closing: Vec::new(),
            given_back: 0,
            job: None,
        }
    }

    /// What its clocks show.
    pub fn now(&self, now: Millis, wall_at_zero: u64) -> Now {
        let wall = wall_at_zero + now.0;
        Now {
            clock: Millis(now.0 + self.clock_ahead),
            wall: wall.saturating_add_signed(self.wall_off_ms),
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
        self.member = Some(Member::open(log, self.settings, fresh, at)?);
        self.writer = Some(writer);
        self.is_touched = true;
        Ok(())
    }

    /// The process ends; the disk is as it was seen.
    pub fn end(&mut self) {
        self.member = None;
        self.writer = None;
        self.writes_at = None;
        self.paused_until = Millis(0);
        self.waiting.clear();
        self.closing.clear();
        self.given_back = 0;
        self.job = None;
        self.mend();
    }

    /// The power goes.
    pub fn crash(&mut self, seed: u64) {
        let left = self.disk.crash(seed);
        self.end();
        self.disk = left;
    }

    pub fn hurt(&mut self, calls: u64) {
        let call = match calls.is_multiple_of(2) {
            true => Call::Sync,
            false => Call::Write,
        };
        self.disk.fail(call, calls, Failure::Error);
        self.is_hurt = true;
    }

    pub fn mend(&mut self) {
        self.disk.heal();
        self.is_hurt = false;
    }

    /// Whether there is something to do.
    pub fn is_due(&self, now: Millis) -> bool {
        let Some(member) = &self.member else {
            return false;
        };
        let is_tick_due = member.next().0 <= now.0 + self.clock_ahead;
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
        let tick = Millis(member.next().0.saturating_sub(self.clock_ahead));
        let next = self.writes_at.map_or(tick, |at| at.min(tick));
        let next = self.job.as_ref().map_or(next, |(at, _)| next.min(*at));
        Some(next.max(self.paused_until))
    }

    /// Does what is due. What it appends is on the disk `sync_ms` later.
    ///
    /// # Errors
    /// It cannot go on.
    pub fn run(
        &mut self,
        now: Millis,
        at: Now,
        sync_ms: u64,
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
                while writer.turn() == Turn::Worked {}
            }
        }
        if member.next() <= at.clock {
            member.tick(at);
        }
        if let Some((_, job)) = self.job.take_if(|(at, _)| *at <= now) {
            member.finish(at, job.run());
        }
        member.work(at, sent);
        if let Some(job) = member.job() {
            self.job = Some((Millis(now.0 + sync_ms), job));
        }
        let journal = member.log().journal();
        if journal.synced() < member.log().end() {
            self.writes_at.get_or_insert(Millis(now.0 + sync_ms));
        }
        if let Some(why) = member.failure() {
            return Err(why);
        }
        let index = member.log().snapshot_index();
        if index > self.given_back && member.log().is_snapshot_synced() {
            self.given_back = index;
            let segments = member.log().superseded();
            entry_log::give_back(member.log().journal(), &segments)?;
            let log = member.log_mut();
            segments.iter().for_each(|segment| log.forget(*segment));
        }
        Ok(())
    }

    /// How it stands, in words.
    pub fn standing(&self) -> String {
        let id = self.settings.member.0;
        match &self.member {
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
