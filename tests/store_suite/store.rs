//! A journal on a simulated disk, and what came out of it when it was opened.

use std::sync::Arc;

use ferrymq::store::{
    Journal, OpenError, Options, Part, Place, Plant, Recovery, SimulatedDisk, Turn, Writer,
};

/// The id of all new stores.
pub const STORE_ID: u64 = 0x0057_07e1_d000_0001;

/// Small segments, so that there are many.
pub fn options(plant: Plant) -> Options {
    Options {
        segment_bytes: 4096,
        plant,
        ..Options::default()
    }
}

/// A record that was handed over.
#[derive(Clone, Debug)]
pub struct Recovered {
    pub kind: u8,
    pub place: Place,
    pub payload: Vec<u8>,
}

/// An open journal that is driven by the test.
pub struct Store {
    pub journal: Journal,
    pub writer: Writer,
    pub recovery: Recovery,
    /// What was in it.
    pub records: Vec<Recovered>,
}

impl Store {
    /// Opens what is on the disk.
    pub fn open(disk: &SimulatedDisk) -> Result<Store, OpenError> {
        Store::open_with(disk, &options(Plant::None)).1
    }

    /// The same, with the records that were handed over even if opening failed.
    pub fn open_with(
        disk: &SimulatedDisk,
        options: &Options,
    ) -> (Vec<Recovered>, Result<Store, OpenError>) {
        let mut records = Vec::new();
        let disk = Arc::new(disk.clone());
        let opened = Journal::open_without_thread(disk, options, STORE_ID, &mut |at, payload| {
            records.push(Recovered {
                kind: at.kind,
                place: at.place,
                payload: payload.to_vec(),
            });
            Ok(())
        });
        let store = opened.map(|(journal, writer, recovery)| Store {
            journal,
            writer,
            recovery,
            records: records.clone(),
        });
        (records, store)
    }

    /// Opens a new one.
    pub fn new(disk: &SimulatedDisk) -> Store {
        let store = Store::open(disk).expect("the disk is sound");
        assert!(store.recovery.is_new);
        store
    }

    /// Appends a record.
    pub fn append(&self, payload: &[u8]) -> Place {
        let parts = [Part::Octets(payload)];
        self.journal.append(1, &parts).expect("it is not too large")
    }

    /// Works until there is nothing to do.
    pub fn settle(&mut self) -> Turn {
        loop {
            match self.writer.turn() {
                Turn::Worked => {}
                turn => return turn,
            }
        }
    }

    /// The payloads of what was in it.
    pub fn payloads(&self) -> Vec<Vec<u8>> {
        self.records
            .iter()
            .map(|record| record.payload.clone())
            .collect()
    }
}
