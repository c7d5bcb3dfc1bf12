//! Three members in lockstep, each with a disk.

use std::sync::Arc;
use std::task::Waker;

use ferrymq::broker::ids::{ChannelKey, ConnectionNumber};
use ferrymq::broker::{Command, ConnectionRecord, Core, Effect, Options, Request};
use ferrymq::cluster::entry_log::{self, Plant};
use ferrymq::cluster::lockstep::faults::Faults;
use ferrymq::cluster::lockstep::start::{StartError, Started, Storage, seats_on_disks};
use ferrymq::cluster::lockstep::{Seat, Settings};
use ferrymq::cluster::{Group, Millis};
use ferrymq::store::{self, Disk, SimulatedDisk};
use ferrymq::wire::CommandId;

/// The wall-clock time at `Millis(0)`.
pub const WALL_AT_ZERO: u64 = 1_700_000_000_000;

/// Octets of a piece of a snapshot.
pub const PIECE_BYTES: usize = 8 * 1024;

/// Small segments and small snapshots, so that there are many.
pub fn log_options(plant: Plant) -> entry_log::Options {
    entry_log::Options {
        journal: store::Options {
            segment_bytes: 16 * 1024,
            ..store::Options::default()
        },
        snapshot_after_bytes: 40 * 1024,
        snapshot_piece_bytes: PIECE_BYTES,
        plant,
    }
}

/// The disks of three members.
#[derive(Clone)]
pub struct Disks(pub Vec<SimulatedDisk>);

impl Disks {
    pub fn new(seed: u64) -> Disks {
        Disks((0..3).map(|n| SimulatedDisk::new(seed + n)).collect())
    }

    /// What a power cut leaves of them.
    pub fn crash(&self, mut seed: impl FnMut() -> u64) -> Disks {
        Disks(self.0.iter().map(|disk| disk.crash(seed())).collect())
    }

    pub fn storage(&self, plant: Plant) -> Storage {
        let disk = |disk: &SimulatedDisk| Arc::new(disk.clone()) as Arc<dyn Disk>;
        Storage {
            disks: self.0.iter().map(disk).collect(),
            log: log_options(plant),
            random: 0xfe44_7000,
            wall_at_zero: WALL_AT_ZERO,
            has_threads: false,
        }
    }

    /// Starts the group.
    pub fn start(
        &self,
        plant: Plant,
        settings: Settings,
        now: Millis,
    ) -> Result<Started<Core>, StartError> {
        let options = Options {
            queue_purge_interval: 400,
            ..Options::default()
        };
        seats_on_disks(&self.storage(plant), options, settings, now)
    }

    /// Starts the group without any fault.
    pub fn start_soundly(&self, now: Millis) -> Vec<Seat<Core>> {
        let started = self.start(Plant::None, quiet(), now);
        started.expect("the disks are sound").0
    }
}

/// Nothing goes wrong.
pub fn quiet() -> Settings {
    Settings {
        faults: Faults::NONE,
        ..Settings::usual(1)
    }
}

/// A connection with one session on channel 0.
pub struct Client<'a> {
    seat: &'a dyn Group,
    number: ConnectionNumber,
    next: CommandId,
}

impl<'a> Client<'a> {
    pub fn new(seat: &'a dyn Group, now: u64) -> Client<'a> {
        let number = seat.open(Waker::noop().clone());
        let record = ConnectionRecord {
            user: "guest".into(),
            headroom_messages: 1_000_000,
            headroom_bytes: 1 << 40,
            ..Default::default()
        };
        let client = Client {
            seat,
            number,
            next: CommandId(0),
        };
        let open = Command::ConnectionOpen {
            connection: number,
            record: Box::new(record),
        };
        let attach = Command::Attach {
            at: client.at(),
            name: format!("{:?} {number:?}", seat.member()).into_bytes(),
            force: false,
        };
        client.propose(now, vec![open, attach]);
        client
    }

    fn at(&self) -> ChannelKey {
        ChannelKey {
            connection: self.number,
            channel: 0,
        }
    }

    fn propose(&self, now: u64, mut commands: Vec<Command>) {
        self.seat.propose(Millis(now), self.number, &mut commands);
    }

    /// Asks something, and gives the number of the command.
    pub fn ask(&mut self, now: u64, request: Request) -> CommandId {
        let id = self.next;
        self.next = id.next();
        let command = Command::Session {
            at: self.at(),
            id,
            sync: true,
            request,
        };
        self.propose(now, vec![command]);
        id
    }

    /// What the client was told since it last looked.
    pub fn told(&self) -> Vec<Effect> {
        let mut effects = Vec::new();
        self.seat.take(self.number, &mut effects);
        effects
    }

    /// Whether the client is told now that a command is completed.
    pub fn is_told_of(&self, id: CommandId) -> bool {
        let told = self.told();
        told.iter().any(|effect| match effect {
            Effect::Completed { commands, .. } => commands.contains(id),
            _ => false,
        })
    }
}

/// Digest and index of a member's core.
pub fn state(seat: &Seat<Core>) -> (u64, u64) {
    seat.read(|core| (core.digest(), core.index()))
}
