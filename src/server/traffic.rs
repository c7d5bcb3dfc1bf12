//! What a connection's sockets count: written by its driver, read by management.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::broker::management::Traffic;

/// A connection's counts. Each is right by itself; together they may be of two moments.
#[derive(Debug, Default)]
pub struct Counts {
    frames_in: AtomicU64,
    frames_out: AtomicU64,
    bytes_in: AtomicU64,
    bytes_out: AtomicU64,
    messages_in: AtomicU64,
    messages_out: AtomicU64,
}

impl Counts {
    /// They are so high now. The driver alone says so.
    pub fn store(&self, traffic: &Traffic) {
        let store = |count: &AtomicU64, value| count.store(value, Ordering::Relaxed);
        store(&self.frames_in, traffic.frames_in);
        store(&self.frames_out, traffic.frames_out);
        store(&self.bytes_in, traffic.bytes_in);
        store(&self.bytes_out, traffic.bytes_out);
        store(&self.messages_in, traffic.messages_in);
        store(&self.messages_out, traffic.messages_out);
    }

    /// How high they are.
    pub fn read(&self) -> Traffic {
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        Traffic {
            frames_in: read(&self.frames_in),
            frames_out: read(&self.frames_out),
            bytes_in: read(&self.bytes_in),
            bytes_out: read(&self.bytes_out),
            messages_in: read(&self.messages_in),
            messages_out: read(&self.messages_out),
        }
    }
}
