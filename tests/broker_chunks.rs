//! The map in shared chunks against a plain one.

#[path = "wire_support/seeded.rs"]
#[allow(dead_code)]
mod seeded;

use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};

use ferrymq::broker::chunks::Chunks;
use ferrymq::broker::digest::Digest;
use ferrymq::broker::encoding::{Decoder, Encoder, Record};
use seeded::Seeded;

fn items(chunks: &Chunks<u64, u64>) -> Vec<(u64, u64)> {
    chunks.iter().copied().collect()
}

fn digest(chunks: &Chunks<u64, u64>) -> u64 {
    let mut hasher = Digest::default();
    chunks.hash(&mut hasher);
    hasher.finish()
}

#[test]
fn chunks_are_what_a_plain_map_is() {
    for seed in 0..20 {
        let mut seeded = Seeded::new(seed);
        let (mut chunks, mut plain) = (Chunks::default(), BTreeMap::new());
        let mut clones: Vec<(Chunks<u64, u64>, BTreeMap<u64, u64>)> = Vec::new();
        for step in 0..5000 {
            let key = seeded.below(1500) as u64;
            match seeded.below(8) {
                0..=3 => assert_eq!(chunks.insert(key, step), plain.insert(key, step)),
                4..=6 => assert_eq!(chunks.remove(&key), plain.remove(&key)),
                _ => assert_eq!(chunks.get(&key), plain.get(&key)),
            }
            assert_eq!(
                chunks.first().copied(),
                plain.first_key_value().map(|(k, v)| (*k, *v))
            );
            assert_eq!(chunks.len(), plain.len() as u64);
            if step % 1000 == 0 {
                clones.push((chunks.clone(), plain.clone()));
            }
        }
        clones.push((chunks, plain));
        // What came later is not in a clone.
        for (chunks, plain) in clones {
            assert_eq!(items(&chunks), plain.into_iter().collect::<Vec<_>>());
        }
    }
}

#[test]
fn keys_that_rise_and_leave_in_front_leave_nothing_behind() {
    let mut chunks = Chunks::default();
    for key in 0..100_000_u64 {
        chunks.insert(key, key);
        if key >= 10 {
            assert_eq!(chunks.remove(&(key - 10)), Some(key - 10));
        }
    }
    assert_eq!(
        (chunks.len(), chunks.first()),
        (10, Some(&(99_990, 99_990)))
    );
}

#[test]
fn retain_keeps_what_it_is_told_to() {
    let mut chunks = Chunks::default();
    for key in 0..1000_u64 {
        chunks.insert(key, key % 3);
    }
    chunks.retain(|key, value| *value == 0 && *key < 500);
    assert_eq!(chunks.len(), 167);
    assert!(chunks.iter().all(|(key, value)| key % 3 == *value));
}

#[test]
fn what_chunks_hold_counts_and_not_how_they_came_to_hold_it() {
    let (mut rising, mut falling) = (Chunks::default(), Chunks::default());
    for key in 0..1000_u64 {
        rising.insert(key, 0);
        falling.insert(999 - key, 0);
    }
    assert_eq!(rising, falling);
    assert_eq!(digest(&rising), digest(&falling));
    let mut bytes = Encoder::default();
    falling.encode(&mut bytes);
    let read = Chunks::<u64, u64>::decode(&mut Decoder::new(&bytes.bytes)).expect("it was written");
    assert_eq!(read, rising);
    rising.remove(&5);
    assert_ne!(digest(&rising), digest(&falling));
}

#[test]
fn keys_that_do_not_rise_are_no_chunks() {
    for keys in [[1_u64, 1], [2, 1]] {
        let mut bytes = Encoder::default();
        2_u64.encode(&mut bytes);
        for key in keys {
            (key, 0_u64).encode(&mut bytes);
        }
        assert!(Chunks::<u64, u64>::decode(&mut Decoder::new(&bytes.bytes)).is_err());
    }
    let mut bytes = Encoder::default();
    u64::MAX.encode(&mut bytes);
    assert!(Chunks::<u64, u64>::decode(&mut Decoder::new(&bytes.bytes)).is_err());
}
