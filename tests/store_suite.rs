//! The journal on a simulated disk: what survives what.
//!
//! `FERRYMQ_SEED` is the first seed, else it is made from the commit; `FERRYMQ_CRASH_IMAGES` makes so many crash images: with 1 the
//! run of that seed is repeated alone.

#[allow(dead_code)]
#[path = "runner/seed.rs"]
mod seed;
#[path = "wire_support/seeded.rs"]
#[allow(dead_code)]
mod seeded;

#[path = "store_suite/crashes.rs"]
mod crashes;
#[path = "store_suite/faults.rs"]
mod faults;
#[path = "store_suite/removal.rs"]
mod removal;
#[path = "store_suite/repairs.rs"]
mod repairs;
#[path = "store_suite/rot.rs"]
mod rot;
#[path = "store_suite/store.rs"]
mod store;
#[path = "store_suite/tails.rs"]
mod tails;
#[path = "store_suite/world.rs"]
mod world;
