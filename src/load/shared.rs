//! What all lanes of a run share.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed, Ordering::SeqCst};
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use parking_lot::Mutex;
use tokio::sync::{Semaphore, watch};

use super::error::Error;
use super::flight::Flight;
use super::limits::{DIALS_MAX, LATENCY_MAX};
use super::plan::Plan;

/// How far a run has come. Lanes wait for the next step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Phase {
    /// Connections are opened.
    Opening,
    /// Messages flow.
    Running,
    /// Consumers that never read go away, so that the others get what they hold.
    Draining,
    /// Everything has arrived: consumers settle and close.
    Closing,
}

/// Octets and system calls of all lanes.
#[derive(Debug, Default)]
pub(super) struct Traffic {
    pub(super) bytes_out: AtomicU64,
    pub(super) writes: AtomicU64,
    pub(super) bytes_in: AtomicU64,
    pub(super) reads: AtomicU64,
}

/// A run.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) plan: Plan,
    pub(super) flight: Flight,
    pub(super) traffic: Traffic,
    /// Held while a connection is being opened.
    pub(super) dials: Semaphore,
    phase: watch::Sender<Phase>,
    clock: Instant,
    /// Nanoseconds of the run's clock.
    started: AtomicU64,
    /// Messages due before this are not recorded, in nanoseconds of the run's clock.
    recorded_from: AtomicU64,
    ready: AtomicUsize,
    failure: Mutex<Option<Error>>,
    latencies: Mutex<Histogram<u64>>,
}

impl Shared {
    pub(super) fn new(plan: Plan, flight: Flight) -> Shared {
        Shared {
            plan,
            flight,
            traffic: Traffic::default(),
            dials: Semaphore::new(DIALS_MAX),
            phase: watch::Sender::new(Phase::Opening),
            clock: Instant::now(),
            started: AtomicU64::new(0),
            recorded_from: AtomicU64::new(u64::MAX),
            ready: AtomicUsize::new(0),
            failure: Mutex::new(None),
            latencies: Mutex::new(histogram()),
        }
    }

    /// Nanoseconds of the run's clock.
    pub(super) fn now(&self) -> u64 {
        u64::try_from(self.clock.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    /// When messages began to flow.
    pub(super) fn started(&self) -> u64 {
        self.started.load(SeqCst)
    }

    /// Goes on to the next step.
    pub(super) fn enter(&self, phase: Phase) {
        if phase == Phase::Running {
            self.started.store(self.now(), SeqCst);
        }
        self.phase.send_replace(phase);
    }

    /// For a lane that waits for the next step.
    pub(super) fn phases(&self) -> watch::Receiver<Phase> {
        self.phase.subscribe()
    }

    /// A lane is open.
    pub(super) fn lane_is_ready(&self) {
        self.ready.fetch_add(1, SeqCst);
    }

    /// Lanes that are open.
    pub(super) fn ready(&self) -> usize {
        self.ready.load(SeqCst)
    }

    /// A lane has failed; the first failure stays.
    pub(super) fn fail(&self, error: Error) {
        self.failure.lock().get_or_insert(error);
        self.flight.finish();
    }

    /// Why the run has failed, if it has.
    pub(super) fn take_failure(&self) -> Option<Error> {
        self.failure.lock().take()
    }

    /// The warm-up is over: latencies count from messages that are due now.
    pub(super) fn record(&self) {
        self.recorded_from.store(self.now(), SeqCst);
    }

    /// Whether the latency of a message due then counts.
    pub(super) fn is_recorded(&self, due: u64) -> bool {
        due >= self.recorded_from.load(Relaxed)
    }

    /// Adds what a consumer has recorded.
    pub(super) fn add_latencies(&self, recorded: &Histogram<u64>) {
        // Both have the same bounds, so that nothing is refused.
        let _ = self.latencies.lock().add(recorded);
    }

    /// Latencies of all consumers, in nanoseconds.
    pub(super) fn latencies(&self) -> Histogram<u64> {
        self.latencies.lock().clone()
    }
}

/// An empty histogram of nanoseconds, with three digits.
pub(super) fn histogram() -> Histogram<u64> {
    let most = u64::try_from(LATENCY_MAX.as_nanos()).unwrap_or(u64::MAX);
    let least = u64::try_from(Duration::from_micros(1).as_nanos()).unwrap_or(1);
    Histogram::new_with_bounds(least, most, 3).expect("the bounds are sound constants")
}
