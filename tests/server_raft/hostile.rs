//! Who is no member and says so at the members' port, in many ways.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr};

use clap::Parser;
use ferrymq::broker::ids::MemberId;
use ferrymq::cluster::lockstep::dice::Dice;
use ferrymq::server::cluster_options::ClusterOptions;
use ferrymq::server::limits;
use ferrymq::server::peers::frames::{Frames, Kind, put};
use ferrymq::server::peers::secure::{Pair, Secured, Security, Side};
use ferrymq::server::peers::words::{self, Greeting, Hello, Refusal, Store, VERSION};
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};

use super::belonging::{KEY, file};
use super::members::Members;
use crate::durable_support::Directory;
use crate::server_support::{Broker, rest, socket};

/// Forged proofs that are tried over TLS, unless `FERRYMQ_FORGED` says how many.
const FORGED: u64 = 300;

/// Connections with garbage on them.
const GARBAGE: u64 = 300;

#[derive(Parser)]
struct Line {
    #[command(flatten)]
    cluster: ClusterOptions,
}

/// How a member with this key talks to others.
fn security(key: &str) -> Security {
    let line = Line::try_parse_from(["", "--cluster-key-file", key]);
    Security::new(&line.expect("an option").cluster).expect("the key is good")
}

/// A member alone, and where it listens for others.
fn alone(common: &[&str]) -> (Members, Broker, SocketAddr) {
    let members = Members::new(1, common);
    let broker = members.start(0);
    let address = ([127, 0, 0, 1], members.ports[0]).into();
    (members, broker, address)
}

/// What a newcomer says of itself.
fn hello() -> Hello {
    Hello {
        cluster: "".into(),
        store: Store::Empty,
        address: "127.0.0.1:1".into(),
        url: "".into(),
    }
}

/// A stranger that has greeted, and the member's answer.
struct Stranger {
    secured: Secured,
    frames: Frames,
    pair: Pair,
}

impl Stranger {
    async fn greet(security: &Security, address: SocketAddr, id: u64) -> Stranger {
        let stream = TcpStream::connect(address).await.expect("it listens");
        let secured = security.connect(stream, "127.0.0.1").await;
        let mut secured = secured.expect("anybody can speak TLS");
        let mut frame = Vec::new();
        let ours = Greeting::new(MemberId(id), 1);
        put(Kind::Greeting, &words::octets(&ours), &mut frame);
        secured.stream.write_all(&frame).await.expect("it reads");
        let mut frames = Frames::of_stranger();
        let answer = frames.next(&mut secured.stream).await.expect("an answer");
        let (kind, octets) = answer.expect("a greeting");
        assert_eq!(kind, Kind::Greeting);
        let theirs: Greeting = words::whole(&octets).expect("a greeting");
        let pair = Pair {
            dialer: MemberId(id),
            listener: theirs.member,
        };
        Stranger {
            secured,
            frames,
            pair,
        }
    }

    /// Says a proof, and at once what a member would say next. Gives what comes back.
    async fn claim(mut self, proof: &[u8]) -> Vec<Kind> {
        let mut said = Vec::new();
        put(Kind::Proof, proof, &mut said);
        put(Kind::Hello, &words::octets(&hello()), &mut said);
        put(Kind::Join, &[], &mut said);
        // It may be refused before all of that is read.
        let _ = self.secured.stream.write_all(&said).await;
        let mut heard = Vec::new();
        while let Ok(Some((kind, octets))) = self.frames.next(&mut self.secured.stream).await {
            if kind == Kind::Refused {
                assert_eq!(words::whole(&octets), Ok(Refusal::Key));
            }
            heard.push(kind);
        }
        heard
    }
}

/// One that knows the key and has proved it.
async fn member(knower: &Security, address: SocketAddr, id: u64) -> Stranger {
    let mut member = Stranger::greet(knower, address, id).await;
    let proof = knower.proof(Side::Dialer, member.pair, &member.secured);
    let mut said = Vec::new();
    put(Kind::Proof, &proof, &mut said);
    let sent = member.secured.stream.write_all(&said).await;
    sent.expect("it reads");
    let next = member.frames.next(&mut member.secured.stream);
    let next = tokio::time::timeout(limits::PEER_MEETING, next).await;
    let heard = next.expect("in time").expect("an answer");
    assert_eq!(heard.map(|(kind, _)| kind), Some(Kind::Proof));
    member
}

#[tokio::test(flavor = "multi_thread")]
async fn a_frame_over_the_bound_ends_a_members_connection_and_is_told() {
    let files = Directory::new();
    let key = file(&files, "key", KEY);
    let (_members, mut broker, address) = alone(&["--cluster-key-file", &key]);
    let mut member = member(&security(&key), address, 5).await;
    let mut said = Vec::new();
    put(Kind::Hello, &words::octets(&hello()), &mut said);
    said.extend(u32::MAX.to_be_bytes());
    let sent = member.secured.stream.write_all(&said).await;
    sent.expect("it reads");
    while let Ok(Some(_)) = member.frames.next(&mut member.secured.stream).await {}
    broker.log_line(&format!("a frame of {} octets", u32::MAX));
    assert!(broker.is_running());
}

#[tokio::test(flavor = "multi_thread")]
async fn no_forged_proof_is_taken_and_the_right_one_is() {
    let files = Directory::new();
    let (key, wrong) = (file(&files, "key", KEY), "another key of thirty-two octets");
    let (_members, mut broker, address) = alone(&["--cluster-key-file", &key]);
    let forger = security(&file(&files, "wrong", wrong));
    let knower = security(&key);
    let mut dice = Dice::new(1);
    let forged = std::env::var("FERRYMQ_FORGED").map(|text| text.parse().expect("a number"));
    let forged = forged.unwrap_or(FORGED);
    for n in 0..forged {
        let stranger = Stranger::greet(&forger, address, 7 + n).await;
        let (pair, secured) = (stranger.pair, &stranger.secured);
        let other = Pair {
            dialer: MemberId(6),
            ..pair
        };
        let proof = match n % 6 {
            0 => Vec::new(),
            1 => forger.proof(Side::Dialer, pair, secured),
            // Of somebody who knows the key, but for the other side, or another member.
            2 => knower.proof(Side::Listener, pair, secured),
            3 => knower.proof(Side::Dialer, other, secured),
            4 => knower.proof(Side::Dialer, pair, secured)[..31].to_vec(),
            _ => (0..32).map(|_| dice.roll() as u8).collect(),
        };
        let heard = stranger.claim(&proof).await;
        assert!(
            heard.iter().all(|kind| *kind == Kind::Refused),
            "attempt {n}: {heard:?}"
        );
    }
    println!("{forged} forged proofs, all refused");
    member(&knower, address, 5).await;
    broker.log_line("does not prove that it knows the cluster key");
    let log = broker.log().join("\n");
    assert!(!log.contains("joins") && broker.is_running(), "{log}");
}

#[tokio::test(flavor = "multi_thread")]
async fn who_stands_in_the_middle_gets_nothing_for_what_members_prove() {
    let files = Directory::new();
    let key = file(&files, "key", KEY);
    let (_members, mut broker, address) = alone(&["--cluster-key-file", &key]);
    // It makes certificates like anybody, and has no key that matters.
    let nobody = security(&file(&files, "nobody", &"x".repeat(32)));
    let middle = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port");
    let port = middle.local_addr().expect("it is bound").port();
    tokio::spawn(async move {
        while let Ok((taken, _)) = middle.accept().await {
            let (taken, made) = (
                nobody.accept(taken).await,
                TcpStream::connect(address).await,
            );
            let made = nobody.connect(made.expect("it listens"), "127.0.0.1").await;
            if let (Ok(mut taken), Ok(mut made)) = (taken, made) {
                let between = (&mut taken.stream, &mut made.stream);
                let _ = tokio::io::copy_bidirectional(between.0, between.1).await;
            }
        }
    });
    let mut deceived = Members::new(2, &["--cluster-key-file", &key]);
    deceived.ports[1] = port;
    let mut member = deceived.launch(0);
    broker.log_line("does not prove that it knows the cluster key");
    member.log_line("does not prove that it knows the cluster key");
}

#[test]
fn garbage_huge_and_truncated_frames_end_their_connection_and_nothing_else() {
    let (_members, mut broker, address) = alone(&[]);
    let mut dice = Dice::new(2);
    let mut greeting = Vec::new();
    let ours = words::octets(&Greeting::new(MemberId(7), 1));
    put(Kind::Greeting, &ours, &mut greeting);
    let longest = u32::MAX.to_be_bytes();
    for n in 0..GARBAGE {
        let mut said = match n % 2 {
            0 => greeting.clone(),
            _ => Vec::new(),
        };
        match n % 5 {
            0 => said.extend(longest),
            1 => said.extend([0; 64]),
            2 => said.truncate(said.len() / 2),
            3 => put(Kind::Message, &[7; 200], &mut said),
            _ => said.extend((0..dice.below(300)).map(|_| dice.roll() as u8)),
        }
        let mut stream = socket(address);
        // It may be cut off before all of it is read.
        let _ = stream.write_all(&said);
        let _ = stream.shutdown(Shutdown::Write);
        let mut heard = Vec::new();
        let _ = stream.read_to_end(&mut heard);
        assert!(heard.len() < 200, "attempt {n}: {} octets", heard.len());
    }
    let files = broker.open_files();
    assert!(files < 100, "{files} files are open");
    assert!(broker.is_running());
    let log = broker.log().join("\n");
    assert!(
        log.contains("at --cluster-listen") && !log.contains("panicked"),
        "{log}"
    );
}

#[test]
fn another_version_is_told_which_it_should_be() {
    let (_members, mut broker, address) = alone(&[]);
    let mut octets = words::octets(&Greeting::new(MemberId(7), 1));
    // The version stands behind the four octets by which a greeting is known.
    octets[4..6].copy_from_slice(&(VERSION + 1).to_be_bytes());
    let mut said = Vec::new();
    put(Kind::Greeting, &octets, &mut said);
    let mut stream = socket(address);
    stream.write_all(&said).expect("it reads");
    let heard = rest(&mut stream);
    let refusal = Refusal::Version {
        theirs: VERSION + 1,
        ours: VERSION,
    };
    let mut expected = Vec::new();
    put(Kind::Refused, &words::octets(&refusal), &mut expected);
    assert!(heard.ends_with(&expected), "{heard:?}");
    broker.log_line("it speaks version 2");
}

#[test]
fn silent_peers_give_way_and_do_not_use_up_the_members_files() {
    let (_members, mut broker, address) = alone(&[]);
    let many = 2 * limits::PEERS_UNPROVEN_MAX;
    let held: Vec<_> = (0..many).map(|_| socket(address)).collect();
    crate::server_support::until("the oldest have given way", || {
        broker.open_files() < limits::PEERS_UNPROVEN_MAX + 60
    });
    // One that speaks is listened to all the same.
    another_is_answered(address);
    assert!(broker.is_running());
    drop(held);
}

fn another_is_answered(address: SocketAddr) {
    let mut said = Vec::new();
    let ours = words::octets(&Greeting::new(MemberId(7), 1));
    put(Kind::Greeting, &ours, &mut said);
    let mut stream = socket(address);
    stream.write_all(&said).expect("it reads");
    let mut heard = [0; 5];
    stream.read_exact(&mut heard).expect("a greeting");
}
