//! What members say when they meet, on connections that hand it over in any pieces, whole and damaged.

use bytes::BytesMut;
use ferrymq::broker::ids::MemberId;
use ferrymq::broker::level::Levels;
use ferrymq::server::peers::frames::{FrameError, Kind, put, take};
use ferrymq::server::peers::words::{self, Greeting, Hello, Refusal, Store};

use super::wire_support::seeded::Seeded;

/// Octets of a frame at most, here.
const LENGTH_MAX: usize = 4096;

fn said(seeded: &mut Seeded) -> (Kind, Vec<u8>) {
    let number = seeded.u64();
    match seeded.u64() % 4 {
        0 => {
            let greeting = Greeting::new(MemberId(number), seeded.u64());
            (Kind::Greeting, words::octets(&greeting))
        }
        1 => {
            let hello = Hello {
                cluster: "green".into(),
                store: *seeded.pick(&[Store::Empty, Store::Promised(1), Store::Of(2)]),
                address: format!("127.0.0.1:{}", number % 65536).as_str().into(),
                url: "".into(),
                levels: Levels::known(),
            };
            (Kind::Hello, words::octets(&hello))
        }
        2 => {
            let why = match number % 3 {
                0 => Refusal::Key,
                1 => Refusal::Group {
                    theirs: 1,
                    ours: number,
                },
                _ => Refusal::Cluster {
                    theirs: "a".into(),
                    ours: "b".into(),
                },
            };
            (Kind::Refused, words::octets(&why))
        }
        _ => (Kind::Message, number.to_be_bytes().to_vec()),
    }
}

/// Reads what was said as its kind, and writes it again: the same octets, if it can be read.
fn reread(kind: Kind, octets: &[u8]) -> Option<Vec<u8>> {
    match kind {
        Kind::Greeting => Some(words::octets(&words::whole::<Greeting>(octets).ok()?)),
        Kind::Hello => Some(words::octets(&words::whole::<Hello>(octets).ok()?)),
        Kind::Refused => Some(words::octets(&words::whole::<Refusal>(octets).ok()?)),
        _ => Some(octets.to_vec()),
    }
}

/// What is said comes out as it went in, in whatever pieces; what is damaged is an error, or something
/// else that is whole, and never more than was there.
pub fn peer_frames(seeded: &mut Seeded) {
    let all: Vec<_> = (0..1 + seeded.u64() % 5).map(|_| said(seeded)).collect();
    let mut octets = Vec::new();
    for (kind, said) in &all {
        put(*kind, said, &mut octets);
    }
    let (mut come, mut heard) = (BytesMut::new(), Vec::new());
    let mut left = octets.as_slice();
    while !left.is_empty() {
        let (piece, rest) = left.split_at(1 + seeded.u64() as usize % left.len());
        come.extend_from_slice(piece);
        left = rest;
        while let Some((kind, said)) = take(&mut come, LENGTH_MAX).expect("whole frames") {
            assert_eq!(reread(kind, &said).as_deref(), Some(&said[..]), "{kind:?}");
            heard.push((kind, said.to_vec()));
        }
    }
    assert_eq!(heard, all);
    for _ in 0..1 + seeded.u64() % 4 {
        let at = seeded.u64() as usize % octets.len();
        octets[at] = seeded.u64() as u8;
    }
    let mut come = BytesMut::from(&octets[..]);
    loop {
        let before = come.len();
        match take(&mut come, LENGTH_MAX) {
            Ok(Some((kind, said))) => {
                assert!(said.len() + 5 + come.len() == before, "nothing is made up");
                let again = reread(kind, &said);
                assert!(again.is_none_or(|again| again[..] == said[..]), "{kind:?}");
            }
            Ok(None) => break,
            Err(FrameError::Length { length, .. }) => {
                assert!(length == 0 || length > LENGTH_MAX);
                break;
            }
            Err(FrameError::Kind(_)) => break,
        }
    }
}
