//! One member with a simulated disk and its time in the hands of a test.

use std::sync::Arc;

use super::member::{Member, Now, form};
use super::{Plant, Settings};
use crate::broker::ids::MemberId;
use crate::broker::{Command, Core};
use crate::cluster::entry_log::{EntryLog, Options};
use crate::cluster::{Millis, limits};
use crate::store::{self, SimulatedDisk, Turn, Writer};

/// Octets that may wait for the disk.
pub const BUFFER_BYTES: usize = 64 * 1024;

/// A member, what writes its log, and its time.
pub struct Node {
    pub member: Member<Core>,
    pub disk: SimulatedDisk,
    pub now: Now,
    writer: Writer,
}

fn fresh() -> Core {
    Core::new(Default::default(), Default::default())
}

/// Those of a member in a group of its own.
pub fn settings(id: u64) -> Settings {
    Settings {
        group: 7,
        member: MemberId(id),
        seed: id,
        down_after_ms: 60_000,
        resend_after_ms: limits::RESEND_AFTER_MS,
        recent_bytes: 0,
        proposal_bytes: limits::PROPOSAL_BYTES,
        is_observed: false,
        plant: Plant::None,
    }
}

impl Node {
    /// A member whose group is it alone.
    pub fn formed(id: u64) -> Node {
        Node::formed_by(id, vec![Command::Tick; 40])
    }

    /// The same, and these commands are the group's first.
    pub fn formed_by(id: u64, commands: Vec<Command>) -> Node {
        Node::new(id, SimulatedDisk::new(id), Some(commands))
    }

    /// A newcomer.
    pub fn newcomer(id: u64) -> Node {
        Node::new(id, SimulatedDisk::new(id), None)
    }

    /// The member on the same disk, started again.
    pub fn again(self) -> Node {
        let Node { member, disk, .. } = self;
        Node::new(member.id().0, disk, None)
    }

    fn new(id: u64, disk: SimulatedDisk, form_by: Option<Vec<Command>>) -> Node {
        let options = Options {
            journal: store::Options {
                segment_bytes: 64 * 1024,
                buffer_bytes_max: BUFFER_BYTES,
                ..store::Options::default()
            },
            snapshot_piece_bytes: 64,
            ..Options::default()
        };
        let opened = EntryLog::open_without_thread(Arc::new(disk.clone()), &options, id);
        let ((mut log, _), mut writer) = opened.expect("it is sound");
        let settings = settings(id);
        let now = Now::default();
        if let Some(commands) = form_by {
            let begin = (fresh(), commands);
            let formed = form(&mut log, settings.voter(), &[MemberId(id)], begin, 0);
            formed.expect("it is new");
        }
        writer.finish();
        let member = Member::open(log, settings, fresh, now).expect("it is sound");
        Node {
            member,
            disk,
            now,
            writer,
        }
    }

    /// Writes what waits for the disk, as far as there is room.
    pub fn write(&mut self) {
        while self.writer.turn() == Turn::Worked {}
    }

    /// Does all that is due but for the disk, and gives what is sent.
    pub fn work(&mut self) -> Vec<Vec<u8>> {
        let mut sent = Vec::new();
        self.member.work(self.now, &mut sent);
        assert_eq!(self.member.failure(), None);
        sent.into_iter().map(|(_, octets)| octets).collect()
    }

    /// Does all that is due, and gives what is sent.
    pub fn run(&mut self) -> Vec<Vec<u8>> {
        let mut sent = self.work();
        self.write();
        while let Some(job) = self.member.job() {
            self.member.finish(self.now, job.run());
            sent.extend(self.work());
            self.write();
        }
        sent.extend(self.work());
        sent
    }

    /// A tick passes.
    pub fn later(&mut self) {
        self.now.clock = Millis(self.now.clock.0 + limits::RAFT_TICK_MS);
        self.member.tick(self.now);
    }

    /// Becomes the leader of its group of one.
    pub fn lead(&mut self) {
        while !self.member.is_leading() {
            self.later();
            self.run();
        }
    }
}
