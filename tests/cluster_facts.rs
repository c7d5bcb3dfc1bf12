//! A broker that stands alone, on a disk that can lose what was not synced: seeded runs of several
//! lives, everything on one thread, and what clients saw holds over all of them.
//!
//! `images` has the tests, `run` the lives and what clients do in them, `broker` one life's broker
//! with its disks, `client` a connection, and `ledger` what must be there, from what clients saw.
//! `scenes` are cases that random runs hardly meet.

#[path = "facts/broker.rs"]
mod broker;
#[path = "facts/client.rs"]
mod client;
#[path = "facts/content.rs"]
mod content;
#[path = "facts/images.rs"]
mod images;
#[path = "facts/ledger.rs"]
mod ledger;
#[path = "facts/run.rs"]
mod run;
#[path = "facts/scenes.rs"]
mod scenes;
#[allow(dead_code)]
#[path = "runner/seed.rs"]
mod seed;
