//! The thread that gives back the journal's room.

use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Weak};
use std::thread::{self, JoinHandle};

use super::clock::Clock;
use super::limits;
use crate::cluster::Group;
use crate::cluster::compaction;
use crate::cluster::solo::Solo;

/// The thread, until this is dropped.
#[derive(Debug)]
pub struct Keeper {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Keeper {
    /// Starts it.
    ///
    /// # Errors
    /// The system gives no thread.
    pub fn start(solo: &Arc<Solo>, clock: Clock) -> Result<Keeper, String> {
        let (stop, stopped) = mpsc::channel::<()>();
        let solo = Arc::downgrade(solo);
        let thread = thread::Builder::new().name("journal-keeper".to_owned());
        let thread = thread.spawn(move || {
            while let Err(RecvTimeoutError::Timeout) =
                stopped.recv_timeout(limits::COMPACTION_INTERVAL)
            {
                if !compact(&solo, clock) {
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

/// Gives back what can be given back. False when there is nothing to be done any more.
fn compact(solo: &Weak<Solo>, clock: Clock) -> bool {
    let Some(solo) = solo.upgrade() else {
        return false;
    };
    loop {
        match compaction::round(&solo, || clock.millis()) {
            Ok(0) => return true,
            Ok(segments) => {
                tracing::debug!(target: "Store", "{segments} segments of the journal given back");
            }
            Err(why) => {
                solo.fail(why);
                return false;
            }
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
