//! After the login, in open sessions: frames of clients that do what clients do, some of them damaged.

use ferrymq::wire::{
    self, AcceptMode, Command, CommandId, Control, CreditUnit, SequenceSet, header,
};

use crate::answers::Answer;
use crate::cases::{self, Case, Missed};
use crate::durable_support::{Directory, number};
use crate::frames::{
    any_command, any_item, command_frame, damage_header, damage_payload, disorder, opening_frame,
};
use crate::scene::{Scene, WARMING, say};
use crate::seeds;
use crate::server_support::{Broker, Client, control_frame, frame, opening};
use crate::wire_support::description;
use crate::wire_support::generator::model::Description;
use crate::wire_support::seeded::Seeded;

/// Sessions of one connection.
const CHANNELS: u16 = 3;

/// Things that the sessions of one connection do.
const ACTS: usize = 80;

/// What may be made is gone with its session, so that nothing gathers.
const RULES: &str = "acl deny all create exchange\nacl allow all create queue exclusive=true\n\
    acl deny all create queue\nacl allow all all\n";

/// One session, as its client sees it.
struct Talk {
    channel: u16,
    queue: String,
}

impl Talk {
    /// Attaches, and makes a queue that ends with the session.
    fn begin(seed: u64, channel: u16) -> (Talk, Vec<Vec<u8>>) {
        let queue = format!("malformed {seed} {channel}");
        let attach = Control::SessionAttach(wire::SessionAttach {
            name: queue.clone().into_bytes(),
            force: false,
        });
        let point = Control::SessionCommandPoint(wire::SessionCommandPoint::default());
        let declare = Command::QueueDeclare(wire::QueueDeclare {
            queue: queue.as_str().into(),
            exclusive: true,
            auto_delete: true,
            ..Default::default()
        });
        let frames = vec![
            control_frame(channel, &attach),
            control_frame(channel, &point),
            command_frame(channel, &declare),
        ];
        (Talk { channel, queue }, frames)
    }

    /// What a client may do next.
    fn act(&self, description: &Description, seeded: &mut Seeded) -> Vec<Vec<u8>> {
        let one = |command: Command| vec![command_frame(self.channel, &command)];
        let set = SequenceSet::from_range(CommandId(0), CommandId(seeded.below(20) as u32));
        match seeded.below(40) {
            0 => vec![any_command(description, seeded, self.channel)],
            1..=4 => self.subscribe(seeded),
            5..=20 => self.publish(seeded),
            21..=24 => one(Command::MessageAccept(wire::MessageAccept {
                transfers: set,
            })),
            25..=28 => one(Command::ExecutionSync(wire::ExecutionSync {})),
            29..=32 => one(Command::QueueQuery(wire::QueueQuery {
                queue: self.queue.as_str().into(),
            })),
            _ => {
                let completed = Control::SessionCompleted(wire::SessionCompleted {
                    commands: Some(set),
                    timely_reply: seeded.once_in(2),
                });
                vec![control_frame(self.channel, &completed)]
            }
        }
    }

    fn subscribe(&self, seeded: &mut Seeded) -> Vec<Vec<u8>> {
        let destination = format!("d{}", seeded.below(3));
        let subscribe = Command::MessageSubscribe(wire::MessageSubscribe {
            queue: self.queue.as_str().into(),
            destination: destination.as_str().into(),
            accept_mode: AcceptMode::EXPLICIT,
            ..Default::default()
        });
        let flow = |unit, value| {
            Command::MessageFlow(wire::MessageFlow {
                destination: destination.as_str().into(),
                unit,
                value: Some(value),
            })
        };
        let commands = [
            subscribe,
            flow(CreditUnit::MESSAGE, 5),
            flow(CreditUnit::BYTE, u32::MAX),
        ];
        commands
            .map(|command| command_frame(self.channel, &command))
            .into()
    }

    /// A message to its queue: a header, and a body in some frames or none.
    fn publish(&self, seeded: &mut Seeded) -> Vec<Vec<u8>> {
        let transfer = Command::MessageTransfer(wire::MessageTransfer::default());
        let delivery = wire::DeliveryProperties {
            routing_key: Some(self.queue.as_str().into()),
            ..Default::default()
        };
        let mut octets = Vec::new();
        header::encode(&Some(delivery), &[], &mut octets);
        let parts = seeded.below(4);
        let flags = if parts == 0 { 0x07 } else { 0x03 };
        let mut frames = vec![
            opening_frame(self.channel, &transfer),
            frame(flags, 2, 1, self.channel, &octets),
        ];
        for part in 0..parts {
            let (first, last) = (part == 0, part + 1 == parts);
            let flags = 0x04 | u8::from(first) << 1 | u8::from(last);
            frames.push(frame(flags, 3, 1, self.channel, &seeded.bytes(60)));
        }
        frames
    }
}

/// All that one connection says, and how many frames that is.
fn input(description: &Description, seed: u64) -> (Vec<u8>, u64) {
    let mut seeded = Seeded::new(seed);
    let mut talks = Vec::new();
    let mut frames = Vec::new();
    for channel in 0..CHANNELS {
        let (talk, begun) = Talk::begin(seed, channel);
        talks.push(talk);
        frames.extend(begun);
    }
    let begun = frames.len();
    for _ in 0..ACTS {
        let talk = &talks[seeded.below(talks.len())];
        frames.extend(talk.act(description, &mut seeded));
    }
    // Damage to a frame's header ends a connection, most other damage a session.
    let is_framing = seeded.once_in(3);
    for _ in 0..=seeded.below(4) {
        let at = begun + seeded.below(frames.len() - begun);
        match seeded.below(4) {
            0 if is_framing => damage_header(&mut seeded, &mut frames[at]),
            0 | 1 => damage_payload(&mut seeded, &mut frames[at]),
            2 => disorder(&mut seeded, &mut frames, at),
            _ => frames[at] = any_item(description, &mut seeded, seed as u16 % (CHANNELS + 1)),
        }
    }
    let count = frames.len() as u64;
    let mut all = [opening(), frames.concat()].concat();
    if seeded.once_in(20) {
        all.truncate(all.len() - 1 - seeded.below(100));
    }
    (all, count)
}

/// The sessions were there, and what came is AMQP.
fn judge(what: &str, octets: &[u8]) -> Answer {
    let answer = Answer::read(octets).unwrap_or_else(|why| panic!("{what}: {why}"));
    assert!(answer.is_open, "{what}: {answer:?}");
    answer
}

/// What was sent, and what became of it.
#[derive(Default)]
struct Sent {
    frames: u64,
    closed: u64,
    failed: u64,
    detached: u64,
    answers: u64,
}

fn send(scene: &mut Scene, seeds: impl Iterator<Item = u64>, frames_min: u64) -> Sent {
    let description = description();
    let address = scene.broker.address();
    let mut sent = Sent::default();
    let mut seeds = seeds.peekable();
    let mut next = 0;
    while seeds.peek().is_some() || sent.frames < frames_min {
        let seed = seeds.next().unwrap_or(next);
        next = seed + 1;
        let (said, frames) = input(&description, seed);
        let answer = judge(&format!("seed {seed}"), &say(address, 0, &said));
        scene.sent();
        sent.frames += frames;
        sent.closed += answer.closed.len() as u64;
        sent.failed += answer.failed.len() as u64;
        sent.detached += answer.detached.len() as u64;
        sent.answers += answer.frames;
    }
    sent
}

fn send_cases(scene: &mut Scene) {
    let address = scene.broker.address();
    let mut missed = Missed::default();
    for Case { name, said, wanted } in cases::in_session() {
        let (_, begun) = Talk::begin(0, 0);
        let said = [opening(), begun.concat(), said].concat();
        let answer = judge(name, &say(address, 0, &said));
        missed.note(name, wanted, &answer);
        scene.sent();
    }
    for Case { name, said, wanted } in cases::without_session() {
        let said = [opening(), said].concat();
        let answer = judge(name, &say(address, 0, &said));
        missed.note(name, wanted, &answer);
        scene.sent();
    }
    missed.judge();
}

#[test]
fn whatever_is_said_in_sessions_is_answered_or_closed_and_leaves_nothing() {
    let directory = Directory::new();
    let rules = directory.path().join("broker.acl");
    std::fs::write(&rules, RULES).expect("a file");
    let broker = Broker::start(&["--acl-file", rules.to_str().expect("it is UTF-8")]);
    let witness = Client::open(broker.address());
    let mut scene = Scene::new(broker, witness);
    send_cases(&mut scene);
    send(&mut scene, WARMING, 0);
    scene.begin();
    send_cases(&mut scene);
    let sent = send(&mut scene, seeds(), number("FERRYMQ_MALFORMED_FRAMES", 0));
    let Sent {
        frames,
        closed,
        failed,
        detached,
        answers,
    } = sent;
    let told = scene.end("malformed in sessions");
    println!(
        "\n{told}, {frames} frames: {closed} connections closed, {failed} sessions failed, {detached} detached, \
         {answers} frames of answers"
    );
    // Damage is found, and much is not damaged.
    assert!(
        closed > 0 && failed > closed && answers > failed,
        "{failed}"
    );
}
