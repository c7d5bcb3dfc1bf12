//! Octets that nobody should send, to a broker in a process of its own: before the login in place of each
//! step of the handshake, in open sessions as damaged frames, at the port where members meet, and to a link
//! from whoever it leads to. Each is answered as AMQP has it or closed, and whoever keeps to the rules
//! meanwhile notices nothing of it.
//!
//! `FERRYMQ_MALFORMED=5000` sends so many to each of the four places, `FERRYMQ_MALFORMED_FRAMES=5000000`
//! so many frames at least in sessions. What fails says its seed, and `FERRYMQ_MALFORMED_SEED=n` sends that
//! one alone.

#[path = "server_malformed/answers.rs"]
mod answers;
#[path = "server_malformed/cases.rs"]
mod cases;
#[allow(dead_code, reason = "it is another suite's, too")]
#[path = "server_management/console.rs"]
mod console;
mod durable_support;
#[path = "server_malformed/frames.rs"]
mod frames;
#[path = "server_malformed/handshake.rs"]
mod handshake;
#[path = "server_malformed/impostor.rs"]
mod impostor;
#[path = "server_malformed/links.rs"]
mod links;
#[path = "server_malformed/meeting.rs"]
mod meeting;
#[allow(dead_code)]
#[path = "server_raft/members.rs"]
mod members;
#[allow(dead_code, reason = "it is another suite's, too")]
#[path = "server_federation/net.rs"]
mod net;
#[path = "server_malformed/scene.rs"]
mod scene;
mod server_support;
#[path = "server_malformed/sessions.rs"]
mod sessions;
mod wire_support;

use std::ops::Range;

use durable_support::number;

/// Inputs at each place, unless `FERRYMQ_MALFORMED` says how many.
const INPUTS: u64 = 250;

/// The seeds of inputs.
fn seeds() -> Range<u64> {
    match number("FERRYMQ_MALFORMED_SEED", u64::MAX) {
        u64::MAX => 0..number("FERRYMQ_MALFORMED", INPUTS),
        seed => seed..seed + 1,
    }
}
