//! A simulated raft group as the runner's clients see it.

use ferrymq::broker::ids::ShardId;
use ferrymq::broker::{Command, Core, Options};
use ferrymq::cluster::entry_log;
use ferrymq::cluster::machine::Machine;
use ferrymq::cluster::raft::Plant;
use ferrymq::cluster::raft::seats::{Faults, Seat, Setup, seats};
use ferrymq::cluster::{Group, Millis};
use ferrymq::store;

use super::cluster::Cluster;
use super::watched::{self, Watched};

/// The wall-clock time at `Millis(0)`.
const WALL_AT_ZERO: u64 = 1_700_000_000_000;

/// What is due at one millisecond, and makes more due at the same, is left to the next after so many
/// rounds.
const ROUNDS_PER_MILLISECOND: u32 = 100;

/// When every run begins.
pub const BEGIN: Millis = Millis(1000);

impl<M: Machine> Cluster for Vec<Seat<M>> {
    fn len(&self) -> usize {
        Vec::len(self)
    }

    fn seat(&self, place: usize) -> &dyn Group {
        &self[place]
    }

    fn restart(&self, now: Millis, place: usize) {
        self[place].crash(now);
        self[place].start(now, 0);
    }

    /// All that is due on the way happens at its own time.
    fn pass(&self, before: Millis, now: Millis) -> Option<Millis> {
        let (mut at, mut left) = (before, ROUNDS_PER_MILLISECOND);
        loop {
            let next = self[0].tick(at);
            left -= 1;
            match next {
                Some(next) if next <= at && left > 0 => continue,
                Some(next) if next < now => at = Millis(next.0.max(at.0 + 1).min(now.0)),
                _ if at < now => at = now,
                _ => return next,
            }
            left = ROUNDS_PER_MILLISECOND;
        }
    }

    fn faults(&self) -> String {
        format!("{:?}", self[0].tally())
    }
}

/// A group with small segments and small snapshots, so that there are many.
pub fn setup(seed: u64, members: usize, faults: Faults) -> Setup {
    Setup {
        seed,
        members,
        faults,
        down_after_ms: 1500,
        recent_bytes: [0, 8 * 1024, 64 * 1024, 8 * 1024 * 1024][(seed % 4) as usize],
        // Most messages are small, some are larger: they go in parts, here and there.
        proposal_bytes: [128, 250, 4096, 4096][(seed / 4 % 4) as usize],
        log: entry_log::Options {
            journal: store::Options {
                segment_bytes: 32 * 1024,
                ..store::Options::default()
            },
            snapshot_after_bytes: 48 * 1024,
            snapshot_piece_bytes: 1024,
            ..entry_log::Options::default()
        },
        wall_at_zero: WALL_AT_ZERO,
        plant: Plant::None,
    }
}

/// The first command of a group.
pub fn configure() -> Command {
    Command::Configure(Box::new(Options {
        queue_purge_interval: 400,
        ..Options::default()
    }))
}

/// A group of cores.
pub fn cores(setup: Setup) -> Vec<Seat<Watched<Core>>> {
    group_of(setup, || Core::new(ShardId::default(), Options::default()))
}

/// A group of machines that are watched.
pub fn group_of<M: Machine>(
    setup: Setup,
    fresh: impl Fn() -> M + Send + 'static,
) -> Vec<Seat<Watched<M>>> {
    watched::begin();
    let fresh = move || Watched(fresh());
    seats(setup, fresh, &[configure()], BEGIN).expect("new disks are sound")
}
