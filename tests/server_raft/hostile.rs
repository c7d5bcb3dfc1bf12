//! Who is no member and says so at the members' port, in many ways.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr};

use ferrymq::broker::ids::MemberId;
use ferrymq::cluster::lockstep::dice::Dice;
use ferrymq::server::limits;
use ferrymq::server::peers::frames::{Kind, put};
use ferrymq::server::peers::secure::{Pair, Side};
use ferrymq::server::peers::words::{self, Greeting, Refusal, VERSION};
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};

use super::belonging::{KEY, file};
use super::members::Members;
use super::strangers::{Stranger, alone, hello, member, security};
use crate::durable_support::{Directory, number};
use crate::server_support::{rest, socket};

/// Forged proofs that are tried over TLS, unless `FERRYMQ_FORGED` says how many.
const FORGED: u64 = 300;

/// Connections with garbage on them.
const GARBAGE: u64 = 300;

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
    let forged = number("FERRYMQ_FORGED", FORGED);
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
