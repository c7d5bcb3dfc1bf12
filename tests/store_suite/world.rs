//! A store with its users, over several lives of the broker, and what must be in it.
//!
//! From one seed: appends of all sizes, turns of the writer, removals of segments, reads, restarts,
//! the broker killed, failed calls, a full disk, the power cut at any call. After each life the store is opened
//! and compared with the ledger.

use std::collections::BTreeSet;

use bytes::Bytes;
use ferrymq::store::simulated::{Call, Failure};
use ferrymq::store::{OpenError, Part, Plant, RemoveError, SimulatedDisk, State, Turn};

use crate::seeded::Seeded;
use crate::store::{Recovered, Store, options};

/// A record of the ledger.
#[derive(Clone)]
struct Entry {
    kind: u8,
    segment: u64,
    end: u64,
    payload: Vec<u8>,
}

/// What must be in the store.
#[derive(Clone, Default)]
struct Ledger {
    entries: Vec<Entry>,
    /// What the journal said to be on the disk.
    synced: u64,
    /// Segments whose removal was not said to be done.
    in_doubt: BTreeSet<u64>,
}

impl Ledger {
    /// Compares what was recovered: all that was synced, in order, unaltered, and of the rest a
    /// beginning. It is the ledger then.
    fn compare(&mut self, records: &[Recovered]) -> Result<(), String> {
        let present: BTreeSet<u64> = records.iter().map(|r| r.place.segment().number()).collect();
        let is_expected = |entry: &&Entry| {
            !self.in_doubt.contains(&entry.segment) || present.contains(&entry.segment)
        };
        let expected: Vec<&Entry> = self.entries.iter().filter(is_expected).collect();
        if records.len() > expected.len() {
            return Err(format!("{} records of {}", records.len(), expected.len()));
        }
        for (n, (record, entry)) in records.iter().zip(&expected).enumerate() {
            let place = &record.place;
            let same = record.kind == entry.kind && record.payload == entry.payload;
            if !same || place.end() != entry.end || place.segment().number() != entry.segment {
                return Err(format!(
                    "record {n} at {place:?} is another than was appended"
                ));
            }
        }
        let lost = &expected[records.len()..];
        if let Some(entry) = lost.iter().find(|entry| entry.end <= self.synced) {
            let (end, synced) = (entry.end, self.synced);
            return Err(format!(
                "lost: the record that ends at {end}, synced to {synced}"
            ));
        }
        self.entries = expected[..records.len()]
            .iter()
            .map(|entry| (*entry).clone())
            .collect();
        self.in_doubt.clear();
        Ok(())
    }
}

/// How a life of the broker goes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sizes {
    All,
    /// All records of one size: an old one lies where a new one ends.
    Same(usize),
}

/// A run.
pub struct World {
    random: Seeded,
    plant: Plant,
    sizes: Sizes,
    ledger: Ledger,
    serial: u64,
    /// Crash images opened.
    pub images: usize,
}

impl World {
    pub fn new(seed: u64, plant: Plant) -> World {
        let mut random = Seeded::new(seed);
        let sizes = match random.below(3) {
            0 => Sizes::Same(random.below(30)),
            _ => Sizes::All,
        };
        World {
            random,
            plant,
            sizes,
            ledger: Ledger::default(),
            serial: 0,
            images: 0,
        }
    }

    /// Some lives, each with its end, and the store compared after each.
    pub fn run(&mut self) -> Result<(), String> {
        let mut disk = SimulatedDisk::new(self.random.u64());
        for _ in 0..4 {
            self.live(&disk)?;
            if self.random.once_in(4) {
                // The machine stays up: what was written is there, synced or not.
                continue;
            }
            // Several of the things that can be left; the last is gone on with.
            for _ in 0..3 {
                let image = disk.crash(self.random.u64());
                self.images += 1;
                let kept = image.crash(0);
                let mut ledger = self.ledger.clone();
                let store = self.open(&image)?.expect("nothing goes wrong with it");
                ledger.compare(&store.records)?;
                disk = kept;
            }
        }
        Ok(())
    }

    /// Opens the store. Nothing when a call failed as planned.
    fn open(&mut self, disk: &SimulatedDisk) -> Result<Option<Store>, String> {
        let mut options = options(self.plant);
        if self.random.once_in(8) {
            options.segment_bytes = 8192;
        }
        match Store::open_with(disk, &options).1 {
            Ok(store) => Ok(Some(store)),
            Err(OpenError::Disk { .. }) => Ok(None),
            Err(error) => Err(format!("cannot be opened: {error}")),
        }
    }

    /// One life of the broker.
    fn live(&mut self, disk: &SimulatedDisk) -> Result<(), String> {
        disk.heal();
        disk.set_reads_short(self.random.once_in(8));
        let is_confined = self.random.once_in(6);
        let segments = 1 + self.random.below(8) as u64;
        disk.set_capacity(if is_confined {
            8192 + segments * 4096
        } else {
            u64::MAX
        });
        match self.random.below(4) {
            0 => {
                let call = *self
                    .random
                    .pick(&[Call::Sync, Call::Sync, Call::Write, Call::Create]);
                let n = 1 + self.random.below(40) as u64;
                disk.fail(call, n, Failure::Error);
            }
            1 => {}
            _ => disk.power_off_after(self.random.below(150) as u64),
        }
        let Some(mut store) = self.open(disk)? else {
            return Ok(());
        };
        self.ledger.compare(&store.records)?;
        self.ledger.synced = store.journal.synced();
        for _ in 0..self.random.below(200) {
            self.step(&mut store)?;
            let synced = store.journal.synced();
            if synced < self.ledger.synced {
                return Err("the watermark went back".to_owned());
            }
            self.ledger.synced = synced;
        }
        if self.random.once_in(4) {
            store.writer.finish();
            self.ledger.synced = store.journal.synced();
        }
        Ok(())
    }

    fn step(&mut self, store: &mut Store) -> Result<(), String> {
        match self.random.below(10) {
            0..5 => self.append(store),
            5..8 => {
                let turn = store.writer.turn();
                let is_failed = matches!(store.journal.state(), State::Failed(_));
                if is_failed != (turn == Turn::Failed) {
                    return Err(format!("{turn:?} and {}", store.journal.state()));
                }
            }
            8 => return self.read(store),
            _ => self.remove(store),
        }
        Ok(())
    }

    fn payload(&mut self) -> Vec<u8> {
        let length = match self.sizes {
            Sizes::Same(length) => length,
            Sizes::All => match self.random.below(20) {
                0 => 4096 + self.random.below(10_000),
                1 => 2000 + self.random.below(2096),
                2..8 => self.random.below(600),
                _ => self.random.below(40),
            },
        };
        self.serial += 1;
        let mut payload = self.serial.to_be_bytes().to_vec();
        payload.resize(length, self.serial as u8);
        payload
    }

    fn append(&mut self, store: &Store) {
        let payload = self.payload();
        let kind = self.random.below(0xf0) as u8;
        let cut = self.random.below(payload.len() + 1);
        let (head, tail) = payload.split_at(cut);
        let tail = Bytes::copy_from_slice(tail);
        let parts = [Part::Octets(head), Part::Shared(&tail)];
        let place = store
            .journal
            .append(kind, &parts)
            .expect("it is not too large");
        self.ledger.entries.push(Entry {
            kind,
            segment: place.segment().number(),
            end: place.end(),
            payload,
        });
    }

    /// Reads a record that was recovered or, written or not, one of now.
    fn read(&mut self, store: &Store) -> Result<(), String> {
        if store.records.is_empty() {
            return Ok(());
        }
        let record = self.random.pick(&store.records);
        match store.journal.read_record(&record.place) {
            Ok(payload) if payload == record.payload => Ok(()),
            Ok(_) => Err(format!("{:?} reads otherwise than before", record.place)),
            // Removed, or a planned fault.
            Err(_) => Ok(()),
        }
    }

    /// Removes the oldest segment, or any that can be, or some.
    fn remove(&mut self, store: &Store) {
        let segments = store.journal.segments();
        let sealed: Vec<u64> = segments
            .iter()
            .filter(|s| s.is_sealed)
            .map(|s| s.number)
            .collect();
        if sealed.is_empty() {
            return;
        }
        let numbers: Vec<u64> = match self.random.below(3) {
            0 => vec![sealed[0]],
            1 => vec![*self.random.pick(&sealed)],
            _ => sealed
                .into_iter()
                .filter(|_| self.random.once_in(2))
                .collect(),
        };
        self.ledger.in_doubt.extend(&numbers);
        match store.journal.remove_segments(&numbers) {
            Ok(()) => {
                self.ledger
                    .entries
                    .retain(|entry| !numbers.contains(&entry.segment));
                self.ledger
                    .in_doubt
                    .retain(|number| !numbers.contains(number));
            }
            Err(RemoveError::Disk(_)) => {}
            Err(error) => panic!("{error}"),
        }
    }
}
