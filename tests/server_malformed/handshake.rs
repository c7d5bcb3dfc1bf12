//! Before the login, on a broker where everybody logs in.

use ferrymq::security::sasl::scram::{ClientSide, Hash};
use ferrymq::wire::{self, Control, Map, protocol_header};

use crate::answers::Answer;
use crate::cases::{self, Case, Missed};
use crate::durable_support::Directory;
use crate::frames::{any_item, damage_header, damage_payload, first_channel};
use crate::scene::{Scene, WARMING, say};
use crate::seeds;
use crate::server_support::{Broker, Client, add_user};
use crate::wire_support::description;
use crate::wire_support::generator::model::Description;
use crate::wire_support::seeded::Seeded;

const MECHANISMS: [&str; 6] = [
    "SCRAM-SHA-256",
    "SCRAM-SHA-1",
    "CRAM-MD5",
    "DIGEST-MD5",
    "PLAIN",
    "EXTERNAL",
];

fn start_ok(seeded: &mut Seeded) -> Vec<u8> {
    let mechanism = *seeded.pick(&MECHANISMS);
    let (_, first) = ClientSide::new(Hash::Sha256, "ann", b"guessed");
    let response = match mechanism {
        "PLAIN" => b"\0ann\0guessed".to_vec(),
        _ if seeded.once_in(8) => seeded.bytes(5000),
        _ => first.into_bytes(),
    };
    first_channel(&Control::ConnectionStartOk(wire::ConnectionStartOk {
        client_properties: Some([("qpid.client_pid", 7_u32)].into_iter().collect::<Map>()),
        mechanism: mechanism.into(),
        response: (!seeded.once_in(4)).then_some(response),
        locale: "en_US".into(),
    }))
}

/// All that a client says, each step by itself.
fn steps(seeded: &mut Seeded) -> Vec<Vec<u8>> {
    let controls = [
        Control::ConnectionSecureOk(wire::ConnectionSecureOk {
            response: seeded.bytes(100),
        }),
        Control::ConnectionTuneOk(wire::ConnectionTuneOk {
            channel_max: 100,
            max_frame_size: Some(65_535),
            heartbeat: Some(0),
        }),
        Control::ConnectionOpen(wire::ConnectionOpen::default()),
        Control::SessionAttach(wire::SessionAttach {
            name: b"early".to_vec(),
            force: true,
        }),
    ];
    let mut steps = vec![protocol_header::BYTES.to_vec(), start_ok(seeded)];
    steps.extend(controls.iter().map(first_channel));
    steps
}

/// A handshake of which a step is another, or in another order.
fn input(description: &Description, seeded: &mut Seeded) -> Vec<u8> {
    let mut steps = steps(seeded);
    let at = seeded.below(steps.len());
    match seeded.below(7) {
        0 => damage_header(seeded, &mut steps[at]),
        1 | 2 => damage_payload(seeded, &mut steps[at]),
        3 => {
            let channel = *seeded.pick(&[0, 0, 0, 5]);
            steps[at] = any_item(description, seeded, channel);
        }
        4 => {
            let other = seeded.below(steps.len());
            steps.swap(at, other);
        }
        5 => steps[at] = seeded.bytes(300),
        _ => seeded.damage(&mut steps[at]),
    }
    let mut all = steps.concat();
    if seeded.once_in(10) {
        all.truncate(seeded.below(all.len()));
    }
    all
}

/// Nobody is in who has not logged in, whatever he said.
fn judge(what: &str, octets: &[u8]) -> Answer {
    let answer = Answer::read(octets).unwrap_or_else(|why| panic!("{what}: {why}"));
    assert!(
        !answer.is_open && answer.attached == 0,
        "{what}: {answer:?}"
    );
    answer
}

fn send(scene: &mut Scene, seeds: impl Iterator<Item = u64>) {
    let description = description();
    let address = scene.broker.address();
    for seed in seeds {
        let said = input(&description, &mut Seeded::new(seed));
        judge(&format!("seed {seed}"), &say(address, seed, &said));
        scene.sent();
    }
}

fn send_cases(scene: &mut Scene) {
    let address = scene.broker.address();
    let mut missed = Missed::default();
    for (n, Case { name, said, wanted }) in (0..).zip(cases::before_login()) {
        let answer = judge(name, &say(address, n, &said));
        missed.note(name, wanted, &answer);
        scene.sent();
    }
    missed.judge();
}

#[test]
fn whatever_is_said_before_the_login_is_answered_or_closed_and_gets_nobody_in() {
    let directory = Directory::new();
    let users = directory.path().join("users");
    let users = users.to_str().expect("it is UTF-8");
    add_user(["--users-file", users], "ann", "password");
    let mechanisms = MECHANISMS.join(",");
    let broker = Broker::start(&["--users-file", users, "--sasl-mechanisms", &mechanisms]);
    let witness = Client::open_as(broker.address(), "ann", Map::new());
    let witness = witness.unwrap_or_else(|closed| panic!("{closed:?}"));
    let mut scene = Scene::new(broker, witness);
    send_cases(&mut scene);
    send(&mut scene, WARMING);
    scene.begin();
    send_cases(&mut scene);
    send(&mut scene, seeds());
    println!("\n{}", scene.end("malformed before the login"));
}
