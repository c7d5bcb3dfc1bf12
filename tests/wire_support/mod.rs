//! What the tests of the wire room share: a seeded source of numbers, and bytes made from the
//! description by other code than the generated one.
#![allow(dead_code, reason = "each test uses a part of this, none the renderer")]

#[path = "../../spec/generator/mod.rs"]
pub mod generator;
pub mod random_bytes;
pub mod seeded;

use std::fs;
use std::path::Path;

use generator::model::Description;

/// The description of the protocol.
pub fn description() -> Description {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let text = fs::read_to_string(root.join("spec/amqp-0-10.spec")).unwrap();
    generator::parse::description(&text).unwrap()
}
