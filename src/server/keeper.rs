//! The thread that keeps memory and disk within their bounds.

use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Weak};
use std::thread::{self, JoinHandle};

use super::clock::Clock;
use super::limits;
use crate::cluster::Group;
use crate::cluster::solo::Solo;
use crate::cluster::{compaction, paging};

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
            let mut turns = 0;
            while let Err(RecvTimeoutError::Timeout) = stopped.recv_timeout(limits::PAGING_INTERVAL)
            {
                turns = (turns + 1) % limits::PAGINGS_PER_COMPACTION;
                if !keep(&solo, clock, turns == 0) {
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
    let mut kept = paging::round(&solo).map(|_| ());
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
