//! Members that reach each other in one direction only, or reach the wrong ones: what the log says.

use std::net::SocketAddr;
use std::time::Duration;

use ferrymq::broker::ids::MemberId;
use ferrymq::server::peers::frames::{Frames, Kind, put};
use ferrymq::server::peers::secure::{Pair, Security, Side};
use ferrymq::server::peers::words::{self, Greeting, Hello, Store};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpListener;
use tokio::time::sleep;

use super::belonging::{KEY, file};
use super::members::{Members, leader};
use super::strangers::{Stranger, alone, hello, member, security};
use crate::durable_support::Directory;
use crate::server_support::until;

/// The member that tests play.
const PLAYED: u64 = 5;

/// A member that has proved itself asks to take part, to be found at an address. Gives what the other
/// said of itself.
async fn ask_to_join(member: &mut Stranger, found_at: &str) -> Hello {
    let ours = Hello {
        address: found_at.into(),
        ..hello()
    };
    let mut said = Vec::new();
    put(Kind::Hello, &words::octets(&ours), &mut said);
    put(Kind::Join, &[], &mut said);
    let sent = member.secured.stream.write_all(&said).await;
    sent.expect("it reads");
    member.frames.length_max = ferrymq::server::limits::PEER_HELLO_BYTES_MAX;
    let answer = member.frames.next(&mut member.secured.stream).await;
    let (kind, octets) = answer.expect("an answer").expect("its words");
    assert_eq!(kind, Kind::Hello);
    words::whole(&octets).expect("its words")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_member_that_connects_and_is_not_reached_is_told_of_with_where_and_why() {
    let files = Directory::new();
    let key = file(&files, "key", KEY);
    let (_members, mut broker, address) = alone(&["--cluster-key-file", &key]);
    let mut played = member(&security(&key), address, PLAYED).await;
    ask_to_join(&mut played, "127.0.0.1:1").await;
    tokio::spawn(async move {
        let mut ping = Vec::new();
        put(Kind::Ping, &[], &mut ping);
        while played.secured.stream.write_all(&ping).await.is_ok() {
            sleep(Duration::from_secs(1)).await;
        }
    });
    let line = broker.log_line("Member 0000000000000005 at 127.0.0.1:1 (");
    assert!(
        line.contains("Connection refused") && line.contains("is not reached from here"),
        "{line}"
    );
}

/// What a member does that is dialled, says who it is, and is content with living.
async fn be_dialled(listener: TcpListener, security: Security, group: Store) {
    while let Ok((stream, _)) = listener.accept().await {
        let Ok(mut secured) = security.accept(stream).await else {
            continue;
        };
        let mut frames = Frames::of_stranger();
        frames.length_max = ferrymq::server::limits::PEER_FRAME_BYTES_MAX;
        let mut pair = None;
        while let Ok(Some((kind, octets))) = frames.next(&mut secured.stream).await {
            let mut said = Vec::new();
            match kind {
                Kind::Greeting => {
                    let theirs: Greeting = words::whole(&octets).expect("a greeting");
                    pair = Some(Pair {
                        dialer: theirs.member,
                        listener: MemberId(PLAYED),
                    });
                    let ours = Greeting::new(MemberId(PLAYED), 1);
                    put(Kind::Greeting, &words::octets(&ours), &mut said);
                }
                Kind::Proof => {
                    let pair = pair.expect("it has greeted");
                    let proof = security.proof(Side::Listener, pair, &secured);
                    put(Kind::Proof, &proof, &mut said);
                }
                Kind::Hello => {
                    let address = listener.local_addr().expect("it is bound").to_string();
                    let ours = Hello {
                        store: group,
                        address: address.as_str().into(),
                        ..hello()
                    };
                    put(Kind::Hello, &words::octets(&ours), &mut said);
                }
                Kind::Ping => put(Kind::Pong, &[], &mut said),
                _ => {}
            }
            if secured.stream.write_all(&said).await.is_err() {
                break;
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_member_that_is_reached_and_does_not_connect_back_is_told_of() {
    let files = Directory::new();
    let key = file(&files, "key", KEY);
    let (_members, mut broker, address) = alone(&["--cluster-key-file", &key]);
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port");
    let found_at = listener.local_addr().expect("it is bound").to_string();
    let mut played = member(&security(&key), address, PLAYED).await;
    let theirs = ask_to_join(&mut played, &found_at).await;
    broker.log_line(&format!("Member 0000000000000005 at {found_at} joins"));
    drop(played);
    tokio::spawn(be_dialled(listener, security(&key), theirs.store));
    let line = broker.log_line("makes no connection to this one");
    let own = SocketAddr::to_string(&address);
    assert!(
        line.contains(&format!("Member 0000000000000005 at {found_at}")) && line.contains(&own),
        "{line}"
    );
}

#[test]
fn that_a_peer_is_of_another_group_is_said_again_as_long_as_it_lasts() {
    let groups = [Members::new(1, &[]), Members::new(1, &[])];
    groups.iter().for_each(|group| drop(group.start(0)));
    // Two groups whose lists overlap.
    let mut both = Members::new(2, &[]);
    for (place, group) in groups.iter().enumerate() {
        both.ports[place] = group.ports[0];
        both.directories[place] = group.directories[0].copy();
    }
    let mut brokers = both.start_all();
    for broker in &mut brokers {
        let is_said = |line: &&String| {
            line.contains("] warning Member at ") && line.contains("names a member of another")
        };
        until("it is said for the second time", || {
            broker.log().iter().filter(is_said).count() > 1
        });
    }
}

#[test]
fn a_newcomer_that_does_not_reach_the_leader_says_whom_it_reaches() {
    let members = Members::new(3, &[]);
    let mut brokers = members.start_all();
    let follower = (leader(&mut brokers) + 1) % 3;
    let mut newcomer = Members::new(2, &[]);
    newcomer.ports[0] = members.ports[follower];
    let mut newcomer = newcomer.launch(1);
    let line = newcomer.log_line("not let in yet");
    let reached = format!(
        "at 127.0.0.1:{}; not reached: none",
        members.ports[follower]
    );
    assert!(line.contains(&reached), "{line}");
}
