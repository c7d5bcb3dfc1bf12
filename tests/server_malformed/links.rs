//! Where a link leads to: a peer that lets it in as brokers do, and says one of its words as no broker should.

use std::collections::BTreeMap;
use std::net::TcpStream;

use ferrymq::broker::limits::LINK_ERROR_BYTES_MAX;
use ferrymq::client::{Flow, Message, Session, Subscription};
use ferrymq::wire::{
    self, AcceptMode, Array, CloseCode, Command, Control, Map, MessageSubscribe, QueueDeclare,
    QueueQueryResult, Value, protocol_header,
};
use tokio::runtime::Runtime;

use crate::console;
use crate::frames::{any_item, damage_header, damage_payload, first_channel};
use crate::impostor::{Impostor, Part};
use crate::net::{EXCHANGE, Node, text};
use crate::scene::{Host, Scene, WARMING};
use crate::seeds;
use crate::server_support::{Broker, Client, frame, one_entry};
use crate::wire_support::description;
use crate::wire_support::generator::model::Description;
use crate::wire_support::seeded::Seeded;

/// Words of a broker to a link, of which one is another: the last ones are frames of messages.
const WORDS: usize = 45;

/// Messages in the queue at the other end. They are never accepted, and come again each time.
const MESSAGES: usize = 20;

/// Inputs between two looks at the other link, and at how many messages there are.
const LOOKED_EVERY: u64 = 20;

/// What a link says of a peer that has ended the connection, where it has found nothing wrong.
const ENDED: &str = "the peer closed the socket";

/// Numbers of the words that have a place of their own.
const HEADER: usize = 0;
const START: usize = 1;
const TUNE: usize = 2;
const OPEN_OK: usize = 3;
const ATTACHED: usize = 4;

/// The broker whose links these are, the one that its good link leads to, and the one behind the impostor.
struct Net {
    runtime: Runtime,
    scene: Scene<Node>,
    good: Node,
    behind: Node,
    impostor: Impostor,
    /// What comes over the good link.
    kept: Subscription,
    /// Errors of the link, without numbers, and how often each was told.
    told: BTreeMap<String, u64>,
    inputs: u64,
}

/// A link of this name to a port, and a route on it from a queue, acknowledged after so many.
async fn route(here: &mut Node, link: &str, port: u16, (queue, sync): (&str, u32)) {
    here.link(link, port).await;
    let properties = [
        ("src", text(queue)),
        ("dest", text(EXCHANGE)),
        ("srcIsQueue", Value::Bool(true)),
        ("sync", Value::U32(sync)),
    ];
    here.bridge(link, &properties).await;
}

/// A queue that holds few messages, the last ones.
async fn ring(session: &Session, queue: &str) {
    let mut arguments: Map = [("qpid.policy_type", "ring")].into_iter().collect();
    arguments.insert("qpid.max_count", MESSAGES as u32);
    let declare = QueueDeclare {
        queue: queue.into(),
        arguments: Some(arguments),
        ..QueueDeclare::default()
    };
    let declared = session.call(Command::QueueDeclare(declare)).await;
    declared.expect("a queue");
}

/// What comes to a queue, which it leaves.
async fn taking(session: &Session, queue: &str) -> Subscription {
    let subscribe = MessageSubscribe {
        queue: queue.into(),
        accept_mode: AcceptMode::NONE,
        ..MessageSubscribe::default()
    };
    let subscribed = session.subscribe(subscribe, Flow::Window(1000)).await;
    subscribed.expect("the queue is there")
}

impl Host for Node {
    fn broker(&mut self) -> &mut Broker {
        &mut self.broker
    }
}

impl Net {
    fn new() -> Net {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .expect("a runtime");
        let broker = Broker::start(&["--link-maintenance-interval", "1ms"]);
        let witness = Client::open(broker.address());
        let (here, good, behind, kept) = runtime.block_on(async {
            let mut here = Node::of(broker, "here").await;
            let (good, behind) = (Node::start("good").await, Node::start("behind").await);
            here.queue("kept", "steady").await;
            ring(here.session(), "come").await;
            console::bind(here.session(), EXCHANGE, "come", "from").await;
            console::declare(good.session(), "steady").await;
            console::declare(behind.session(), "from").await;
            route(&mut here, "good", good.port(), ("steady", 1)).await;
            here.link_is("good", "Operational").await;
            let kept = taking(here.session(), "kept").await;
            (here, good, behind, kept)
        });
        let impostor = Impostor::before(behind.broker.address());
        Net {
            runtime,
            scene: Scene::new(here, witness),
            good,
            behind,
            impostor,
            kept,
            told: BTreeMap::new(),
            inputs: 0,
        }
    }

    /// The link that leads to the impostor; gives its first connection.
    fn link(&mut self) -> TcpStream {
        let port = self.impostor.port();
        let here = &mut self.scene.broker;
        let made = route(here, "bad", port, ("from", 10 * MESSAGES as u32));
        self.runtime.block_on(made);
        self.impostor.accept()
    }

    /// Takes it away again; nothing of it stays.
    fn unlink(&mut self, last: TcpStream) {
        let here = &mut self.scene.broker;
        self.runtime.block_on(async {
            let deleted = here
                .broker_call("delete", ("link", "bad"), Map::new())
                .await;
            deleted.expect("it was there");
        });
        drop(last);
    }

    /// Speaks with the link once, and waits until it comes again; gives its next connection, and what it says
    /// that was wrong.
    fn speak(
        &mut self,
        link: TcpStream,
        part: Part,
        change: impl FnOnce(Option<Vec<u8>>) -> Vec<u8>,
    ) -> (TcpStream, String) {
        if self.inputs.is_multiple_of(LOOKED_EVERY) {
            self.look();
        }
        self.inputs += 1;
        self.impostor.speak(link, part, change);
        let again = self.impostor.accept();
        let here = &mut self.scene.broker;
        let error = self.runtime.block_on(here.of_link("bad", "lastError"));
        self.scene.sent();
        let kind: String = error
            .chars()
            .filter(|c| !c.is_ascii_digit())
            .take(60)
            .collect();
        *self.told.entry(kind).or_default() += 1;
        (again, error)
    }

    /// Says nothing wrong once: links whose peers let them in come again soon.
    fn let_in(&mut self, link: TcpStream) -> TcpStream {
        let part = Part {
            at: OPEN_OK,
            comes: true,
            ends: false,
        };
        self.impostor.speak(link, part, Option::unwrap_or_default);
        self.impostor.accept()
    }

    /// The good link carries, and there is something for the other.
    fn look(&mut self) {
        let (good, behind, kept) = (&self.good, &self.behind, &mut self.kept);
        let here = &mut self.scene.broker;
        self.runtime.block_on(async {
            good.publish("", "steady", "well").await;
            let found = console::next(kept).await;
            assert_eq!(found.body_bytes(), b"well"[..]);
            assert_eq!(here.of_link("good", "state").await, "Operational");
            let query = wire::QueueQuery {
                queue: "from".into(),
            };
            let query = Command::QueueQuery(query);
            let found = behind.session().query::<QueueQueryResult>(query).await;
            let count = found.expect("it is there").message_count as usize;
            for n in count..MESSAGES {
                let body = "x".repeat(n * n * 20);
                let message = Message::new(body).routing_key("from");
                let sent = behind.session().publish("", &message).await;
                sent.expect("the session is there").await.expect("taken");
            }
        });
    }

    /// Nothing is wrong any more: the link is there, and brings what comes.
    fn heal(&mut self, link: TcpStream) -> TcpStream {
        let behind = &self.behind;
        let here = &mut self.scene.broker;
        let impostor = &self.impostor;
        std::thread::scope(|scope| {
            let passing = scope.spawn(|| impostor.pass(link));
            self.runtime.block_on(async {
                here.link_is("bad", "Operational").await;
                let mut come = taking(here.session(), "come").await;
                behind.publish("", "from", "healed").await;
                while console::next(&mut come).await.body_bytes() != b"healed"[..] {}
                assert_eq!(here.of_link("bad", "lastError").await, "");
            });
            impostor.cut();
            passing.join().expect("passed");
        });
        impostor.accept()
    }

    /// The good link has never been lost, and nothing is left of the inputs. Gives what they came to, in
    /// words.
    fn end(mut self) -> String {
        self.look();
        let log = self.scene.broker.broker.log();
        let lost = |link: &str| {
            let is_lost = |line: &&String| line.contains(&format!("link {link} to"));
            log.iter().filter(is_lost).count()
        };
        assert_eq!(lost("good"), 0);
        assert!(lost("bad") > 0, "a loss is in the log");
        let told = self.told.len();
        let scene = self.scene.end("malformed where links lead to");
        format!("{scene}, {told} kinds of errors told")
    }
}

/// What a word becomes, or what is said by itself.
fn changed(description: &Description, seeded: &mut Seeded, word: Option<Vec<u8>>) -> Vec<u8> {
    let channel = *seeded.pick(&[0, 0, 0, 1, 1, 2, 5]);
    let Some(mut word) = word else {
        return match seeded.below(3) {
            0 => seeded.bytes(300),
            _ => any_item(description, seeded, channel),
        };
    };
    match seeded.below(9) {
        0 | 1 => damage_header(seeded, &mut word),
        2 | 3 => damage_payload(seeded, &mut word),
        4 => word = any_item(description, seeded, channel),
        5 => word.extend(any_item(description, seeded, channel)),
        6 => word = seeded.bytes(300),
        7 => word.extend(word.clone()),
        _ => seeded.damage(&mut word),
    }
    word
}

fn send(net: &mut Net, mut link: TcpStream, seeds: impl Iterator<Item = u64>) -> TcpStream {
    let description = description();
    for seed in seeds {
        let mut seeded = Seeded::new(seed);
        let part = Part {
            at: seeded.below(WORDS),
            comes: false,
            ends: false,
        };
        let change = |word| changed(&description, &mut seeded, word);
        let (again, error) = net.speak(link, part, change);
        let is_in_words = !error.is_empty() && !error.contains(char::is_control);
        assert!(
            is_in_words && error.len() <= LINK_ERROR_BYTES_MAX,
            "seed {seed}: {error:?}"
        );
        link = again;
    }
    link
}

/// A word, what takes its place, and what is to be in what the link says of it.
type Case = (&'static str, usize, Vec<u8>, &'static str);

fn start(properties: &[u8], mechanisms: &[&str]) -> Vec<u8> {
    let start = wire::ConnectionStart {
        server_properties: None,
        mechanisms: Array::of_str16(mechanisms.iter().copied()),
        locales: Array::of_str16(["en_US"]),
    };
    let mut octets = first_channel(&Control::ConnectionStart(start));
    if !properties.is_empty() {
        // They are the first field.
        octets[14] |= 1;
        octets.splice(16..16, properties.iter().copied());
        let size = octets.len() as u16;
        octets[2..4].copy_from_slice(&size.to_be_bytes());
    }
    octets
}

fn close(code: CloseCode, text: &str) -> Vec<u8> {
    first_channel(&Control::ConnectionClose(wire::ConnectionClose {
        reply_code: code,
        reply_text: Some(text.into()),
    }))
}

fn tune(max_frame_size: Option<u16>) -> Vec<u8> {
    first_channel(&Control::ConnectionTune(wire::ConnectionTune {
        channel_max: Some(100),
        max_frame_size,
        ..Default::default()
    }))
}

fn redirect() -> Control {
    Control::ConnectionRedirect(wire::ConnectionRedirect {
        host: "no address: at all".into(),
        known_hosts: None,
    })
}

fn detached() -> Vec<u8> {
    first_channel(&Control::SessionDetached(wire::SessionDetached {
        name: b"nobody".to_vec(),
        code: wire::DetachCode(9),
    }))
}

fn body() -> Vec<u8> {
    frame(0x0f, 3, 1, 0, b"a body")
}

/// In place of what comes first.
fn instead_of_a_header() -> Vec<Case> {
    let http = b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec();
    let older = b"AMQP\x00\x00\x09\x01".to_vec();
    let start = start(&[], &["ANONYMOUS"]);
    vec![
        ("no AMQP", HEADER, http, "protocol header"),
        ("AMQP 0-9-1", HEADER, older, "protocol header"),
        ("a start right away", HEADER, start, "protocol header"),
    ]
}

fn instead_of_a_start() -> Vec<Case> {
    let array = [&[0, 0, 0, 5, 0xf0][..], &u32::MAX.to_be_bytes()].concat();
    let countless = one_entry(0xaa, &array);
    let countless = [&(countless.len() as u32).to_be_bytes()[..], &countless].concat();
    let countless = start(&countless, &["ANONYMOUS"]);
    let headers = protocol_header::BYTES.repeat(2);
    let unknown = start(&[], &["GUESSING"]);
    let refused = close(CloseCode::CONNECTION_FORCED, "go away");
    let size = |size: u16| {
        let mut octets = first_channel(&redirect());
        octets[2..4].copy_from_slice(&size.to_be_bytes());
        octets
    };
    vec![
        ("another header", START, headers, "501"),
        ("countless values", START, countless, "budget"),
        (
            "no mechanism",
            START,
            start(&[], &[]),
            "no usable mechanism",
        ),
        ("an unknown one", START, unknown, "GUESSING"),
        ("a frame without its header", START, size(11), "501"),
        ("a frame that never ends", START, size(u16::MAX), ENDED),
        ("a session before the login", START, detached(), "501"),
        ("a body before the login", START, body(), "501"),
        ("refused", START, refused, "go away"),
    ]
}

fn behind_a_start() -> Vec<Case> {
    let start = start(&[], &["ANONYMOUS"]);
    let redirect = first_channel(&redirect());
    let unknown = close(CloseCode(9), "");
    vec![
        ("frames without room", TUNE, tune(Some(0)), "501"),
        ("frames of eleven octets", TUNE, tune(Some(11)), "501"),
        ("start once more", TUNE, start, "501"),
        ("elsewhere", OPEN_OK, redirect, "no address: at all"),
        ("tune once more", OPEN_OK, tune(Some(65_535)), "501"),
        ("closed with a code that is none", OPEN_OK, unknown, "9"),
        ("a session of nobody", ATTACHED, detached(), ENDED),
        ("a body of nobody", ATTACHED, body(), "command-point"),
    ]
}

fn cases() -> Vec<Case> {
    let mut cases = instead_of_a_header();
    cases.append(&mut instead_of_a_start());
    cases.append(&mut behind_a_start());
    cases
}

fn send_cases(net: &mut Net, mut link: TcpStream) -> TcpStream {
    let mut missed = Vec::new();
    for (name, at, said, wanted) in cases() {
        let part = Part {
            at,
            comes: true,
            ends: wanted != ENDED,
        };
        let (again, error) = net.speak(link, part, |_| said);
        if !error.contains(wanted) {
            missed.push(format!("{name}: {error:?} without {wanted:?}"));
        }
        link = net.let_in(again);
    }
    assert!(missed.is_empty(), "{missed:#?}");
    link
}

#[test]
fn whatever_a_link_hears_is_told_in_words_and_no_other_link_notices() {
    let mut net = Net::new();
    let mut link = net.link();
    link = send_cases(&mut net, link);
    link = send(&mut net, link, WARMING);
    net.unlink(link);
    net.scene.begin();
    let mut link = net.link();
    link = send_cases(&mut net, link);
    link = send(&mut net, link, seeds());
    link = net.heal(link);
    net.unlink(link);
    println!("\n{}", net.end());
}
