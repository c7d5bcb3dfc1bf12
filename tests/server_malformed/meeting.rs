//! At the port where members of a cluster meet: words of members, damaged; and words of anybody else.

use bytes::BytesMut;
use ferrymq::broker::ids::MemberId;
use ferrymq::broker::level::Levels;
use ferrymq::server::peers::frames::{Kind, put, take};
use ferrymq::server::peers::words::{self, Greeting, Hello, Refusal, Store};

use crate::cases;
use crate::members::Members;
use crate::scene::{Scene, WARMING, say};
use crate::seeds;
use crate::server_support::{Client, opening};
use crate::wire_support::seeded::Seeded;

/// Octets of a frame that a member says to who has proved nothing.
const WORDS_MAX: usize = 4096;

/// A member of a cluster of another name says these: whole, they are refused.
fn hello(seeded: &mut Seeded) -> Hello {
    Hello {
        cluster: "elsewhere".into(),
        store: *seeded.pick(&[Store::Empty, Store::Promised(1), Store::Of(2)]),
        address: "127.0.0.1:1".into(),
        url: "".into(),
        levels: Levels::known(),
    }
}

fn input(seeded: &mut Seeded) -> Vec<u8> {
    if seeded.once_in(12) {
        // Somebody who takes it for another port.
        let cases = cases::before_login();
        return match seeded.below(3) {
            0 => opening(),
            1 => [
                &[22, 3, 1, 2, 0, 1, 0, 1, 252, 3, 3][..],
                &seeded.bytes(505),
            ]
            .concat(),
            _ => cases[seeded.below(cases.len())].said.clone(),
        };
    }
    let mut words = Vec::new();
    let ours = words::octets(&Greeting::new(MemberId(seeded.u64()), seeded.u64()));
    put(Kind::Greeting, &ours, &mut words);
    let proof = seeded.bytes(40);
    put(Kind::Proof, &proof, &mut words);
    put(Kind::Hello, &words::octets(&hello(seeded)), &mut words);
    let (kind, more) = (
        *seeded.pick(&[
            Kind::Message,
            Kind::Promised,
            Kind::Ping,
            Kind::Pong,
            Kind::Refused,
        ]),
        seeded.bytes(300),
    );
    put(kind, &more, &mut words);
    match seeded.below(6) {
        0 => words.truncate(seeded.below(words.len())),
        1 => {
            // The length of one of the first.
            let length = *seeded.pick(&[0, 1, u32::MAX, 1 << 24, 4097]);
            words[..4].copy_from_slice(&length.to_be_bytes());
        }
        2 => {
            let at = seeded.below(words.len());
            let garbage = seeded.bytes(200);
            words.splice(at.., garbage);
        }
        3 => words.drain(..4 + 1 + ours.len()).for_each(drop),
        _ => seeded.damage(&mut words),
    }
    words
}

/// What a member says to who is none: its greeting, and why it does not listen.
fn judge(seed: u64, octets: &[u8]) -> u64 {
    let mut come = BytesMut::from(octets);
    let mut refused = 0;
    loop {
        match take(&mut come, WORDS_MAX) {
            Ok(Some((Kind::Refused, why))) => {
                words::whole::<Refusal>(&why)
                    .unwrap_or_else(|error| panic!("seed {seed}: {error:?}"));
                refused += 1;
            }
            Ok(Some((Kind::Greeting | Kind::Proof | Kind::Hello, _))) => {}
            Ok(None) if come.is_empty() => return refused,
            other => panic!("seed {seed}: {other:?} and {come:?}"),
        }
    }
}

fn send(scene: &mut Scene, port: u16, seeds: impl Iterator<Item = u64>) -> u64 {
    let mut refused = 0;
    for seed in seeds {
        let said = input(&mut Seeded::new(seed));
        let address = ([127, 0, 0, 1], port).into();
        refused += judge(seed, &say(address, 0, &said));
        scene.sent();
    }
    refused
}

#[test]
fn whatever_is_said_where_members_meet_is_refused_or_closed_and_lets_nobody_join() {
    let members = Members::new(1, &[]);
    let broker = members.start(0);
    let witness = Client::open(broker.address());
    let mut scene = Scene::new(broker, witness);
    send(&mut scene, members.ports[0], WARMING);
    scene.begin();
    let refused = send(&mut scene, members.ports[0], seeds());
    let joined = scene.broker.log().iter().any(|line| line.contains("joins"));
    assert!(!joined, "somebody was let in");
    println!(
        "\n{}, {refused} told why",
        scene.end("malformed where members meet")
    );
}
