//! Three members in lockstep, each with a disk.

use std::sync::Arc;

use ferrymq::broker::{Core, Options};
use ferrymq::cluster::Millis;
use ferrymq::cluster::entry_log::{self, Plant};
use ferrymq::cluster::lockstep::faults::Faults;
use ferrymq::cluster::lockstep::start::{StartError, Started, Storage, seats_on_disks};
use ferrymq::cluster::lockstep::{Seat, Settings};
use ferrymq::store::{self, Disk, SimulatedDisk};

/// The wall-clock time at `Millis(0)`.
pub const WALL_AT_ZERO: u64 = 1_700_000_000_000;

/// Small segments and small snapshots, so that there are many.
pub fn log_options(plant: Plant) -> entry_log::Options {
    entry_log::Options {
        journal: store::Options {
            segment_bytes: 16 * 1024,
            ..store::Options::default()
        },
        snapshot_after_bytes: 40 * 1024,
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
