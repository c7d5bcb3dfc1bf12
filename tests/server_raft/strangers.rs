//! Who speaks to a member at its port and is none, or one that does only what a test tells it.

use std::net::SocketAddr;

use clap::Parser;
use ferrymq::broker::ids::MemberId;
use ferrymq::server::cluster_options::ClusterOptions;
use ferrymq::server::limits;
use ferrymq::server::peers::frames::{Frames, Kind, put};
use ferrymq::server::peers::secure::{Pair, Secured, Security, Side};
use ferrymq::server::peers::words::{self, Greeting, Hello, Refusal, Store};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use super::members::Members;
use crate::server_support::Broker;

#[derive(Parser)]
struct Line {
    #[command(flatten)]
    cluster: ClusterOptions,
}

/// How a member with this key talks to others.
pub fn security(key: &str) -> Security {
    let line = Line::try_parse_from(["", "--cluster-key-file", key]);
    Security::new(&line.expect("an option").cluster).expect("the key is good")
}

/// A member alone, and where it listens for others.
pub fn alone(common: &[&str]) -> (Members, Broker, SocketAddr) {
    let members = Members::new(1, common);
    let broker = members.start(0);
    let address = ([127, 0, 0, 1], members.ports[0]).into();
    (members, broker, address)
}

/// What a newcomer says of itself.
pub fn hello() -> Hello {
    Hello {
        cluster: "".into(),
        store: Store::Empty,
        address: "127.0.0.1:1".into(),
        url: "".into(),
        levels: ferrymq::broker::level::Levels::known(),
    }
}

/// A stranger that has greeted, and the member's answer.
pub struct Stranger {
    pub secured: Secured,
    pub frames: Frames,
    pub pair: Pair,
}

impl Stranger {
    pub async fn greet(security: &Security, address: SocketAddr, id: u64) -> Stranger {
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
    pub async fn claim(mut self, proof: &[u8]) -> Vec<Kind> {
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
pub async fn member(knower: &Security, address: SocketAddr, id: u64) -> Stranger {
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
