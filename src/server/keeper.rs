//! The thread that keeps memory and disk within their bounds.

use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Weak};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::clock::Clock;
use super::limits;
use crate::cluster::Group;
use crate::cluster::raft::Live;
use crate::cluster::solo::Solo;
use crate::cluster::{compaction, paging};

/// The thread, until this is dropped.
#[derive(Debug)]
pub struct Keeper {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Keeper {
    /// Starts that of a broker that stands alone.
    ///
    /// # Errors
    /// The system gives no thread.
    pub fn of_solo(solo: &Arc<Solo>, clock: Clock) -> Result<Keeper, String> {
        let solo = Arc::downgrade(solo);
        let mut turns = 0;
        Keeper::start("journal-keeper", limits::PAGING_INTERVAL, move || {
            turns = (turns + 1) % limits::PAGINGS_PER_COMPACTION;
            keep(&solo, clock, turns == 0)
        })
    }

    /// Starts that of a member of a cluster.
    ///
    /// # Errors
    /// The system gives no thread.
    pub fn of_live(live: &Arc<Live>) -> Result<Keeper, String> {
        let live = Arc::downgrade(live);
        Keeper::start("journal-keeper", limits::PAGING_INTERVAL, move || {
            let Some(live) = live.upgrade() else {
                return false;
            };
            match paging::round(&*live).and_then(|_| live.give_back()) {
                Ok(()) => true,
                Err(why) => {
                    live.fail(why);
                    false
                }
            }
        })
    }

    /// Starts the one that does for a member of a cluster what takes long: snapshots are encoded and
    /// decoded there.
    ///
    /// # Errors
    /// The system gives no thread.
    pub fn beside_live(live: &Arc<Live>, clock: Clock) -> Result<Keeper, String> {
        let live = Arc::downgrade(live);
        Keeper::start("snapshots", Duration::ZERO, move || {
            let Some(live) = live.upgrade() else {
                return false;
            };
            live.work_beside(|| clock.millis(), limits::PAGING_INTERVAL);
            true
        })
    }

    /// Does `work` again and again with a pause between, until it says that there will be no more.
    fn start(
        name: &str,
        pause: Duration,
        mut work: impl FnMut() -> bool + Send + 'static,
    ) -> Result<Keeper, String> {
        let (stop, stopped) = mpsc::channel::<()>();
        let thread = thread::Builder::new().name(name.to_owned());
        let thread = thread.spawn(move || {
            while let Err(RecvTimeoutError::Timeout) = stopped.recv_timeout(pause) {
                if !work() {
                    return;
                }
            }
        });
        let thread = thread.map_err(|error| format!("cannot start a thread: {error}"))?;
        Ok(Keeper {
            stop: Some(stop),
            thread: Some(thread),
        })
    }
}

/// Does what is to be done. False when there will be nothing any more.
fn keep(solo: &Weak<Solo>, clock: Clock, is_compacting: bool) -> bool {
    let Some(solo) = solo.upgrade() else {
        return false;
    };
    let mut kept = paging::round(&*solo).map(|_| ());
    for _ in 0..limits::COMPACTIONS_PER_LOOK {
        if !is_compacting || kept.is_err() {
            break;
        }
        match compaction::round(&solo, || clock.millis()) {
            Ok(0) => break,
            Ok(segments) => {
                tracing::debug!(target: "Store", "{segments} segments of the journal given back");
            }
            Err(why) => kept = Err(why),
        }
    }
    match kept {
        Ok(()) => true,
        Err(why) => {
            solo.fail(why);
            false
        }
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            // A panic there was told on standard error.
            let _ = thread.join();
        }
    }
}
