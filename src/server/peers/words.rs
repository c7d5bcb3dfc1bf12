//! What members say of themselves when they meet.

use std::fmt;

use crate::broker::encoding::{Decoder, Encoder, EncodingError, Record, record, record_enum};
use crate::broker::ids::MemberId;
use crate::broker::level::Levels;
use crate::server::limits;
use crate::wire::Text;

/// The version of what members say to each other. One with another is not talked to.
pub const VERSION: u16 = 1;

/// What a greeting begins with: whoever speaks something else is seen at once.
const MAGIC: u32 = u32::from_be_bytes(*b"fmq\x01");

/// The first words of both sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Greeting {
    magic: u32,
    /// See [`VERSION`].
    pub version: u16,
    /// The member: the id of its store.
    pub member: MemberId,
    /// Random, of this life of its process: tells a copy of a store from the store.
    pub life: u64,
}
record!(Greeting { magic, version, member, life } if magic == MAGIC, else "a greeting");

impl Greeting {
    /// That of a member.
    pub fn new(member: MemberId, life: u64) -> Greeting {
        Greeting {
            magic: MAGIC,
            version: VERSION,
            member,
            life,
        }
    }
}

/// How far a member's store is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Store {
    /// It holds nothing and is promised to nobody.
    Empty,
    /// It holds nothing and will be of that group only.
    Promised(u64),
    /// It is of that group, though it may have nothing of it yet.
    Of(u64),
}
record_enum!(Store {
    1 = Empty,
    2 = Promised(group),
    3 = Of(group),
});

/// What a member belongs to, said when both sides have proved that they belong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hello {
    /// The name of the cluster.
    pub cluster: Text,
    /// How far its store is.
    pub store: Store,
    /// Where it listens for members: an address and a port.
    pub address: Text,
    /// Where clients find it: a broker URL, or nothing.
    pub url: Text,
    /// The levels that its version knows.
    pub levels: Levels,
}
record!(Hello { cluster, store, address, url, levels }
    if is_bounded(&[&cluster, &address, &url]),
    else "a member's words");

fn is_bounded(texts: &[&Text]) -> bool {
    let mut texts = texts.iter();
    texts.all(|text| text.len() <= limits::PEER_TEXT_BYTES_MAX)
}

/// Why a peer is not listened to. The refused side logs it, and so does the refusing one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// It speaks another version.
    Version {
        /// The refused side's.
        theirs: u16,
        /// The refusing side's.
        ours: u16,
    },
    /// It does not know the cluster key.
    Key,
    /// It is of another cluster.
    Cluster {
        /// The refused side's.
        theirs: Text,
        /// The refusing side's.
        ours: Text,
    },
    /// Its store is of another group.
    Group {
        /// The refused side's.
        theirs: u64,
        /// The refusing side's.
        ours: u64,
    },
    /// The group has replaced it, or let it go.
    Left,
    /// It is this member itself.
    Itself,
    /// Its store has the id of this member's, and it is another process.
    Copy,
    /// It was asked to be in a group while it is promised to another.
    OtherPromise {
        /// To that one.
        group: u64,
    },
    /// It has a group, so it forms no other.
    HasGroup,
    /// Its version does not know the level at which the group runs.
    Level {
        /// Those that the refused side knows.
        theirs: Levels,
        /// That of the group, by number: the refused side does not know it.
        ours: u8,
    },
}
record_enum!(Refusal {
    1 = Version { theirs, ours },
    2 = Key,
    3 = Cluster { theirs, ours },
    4 = Group { theirs, ours },
    5 = Left,
    6 = Itself,
    7 = Copy,
    8 = OtherPromise { group },
    9 = HasGroup,
    10 = Level { theirs, ours },
});

impl fmt::Display for Refusal {
    /// In words that fit both sides: the refused one is *it*, the refusing one *the other*.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::Version { theirs, ours } => write!(
                f,
                "it speaks version {theirs} of the members' protocol and the other {ours}: both have \
                 to run the same version of the broker"
            ),
            Refusal::Key => write!(
                f,
                "it does not prove that it knows the cluster key: its --cluster-key-file is at fault, \
                 or somebody from outside knocks"
            ),
            Refusal::Cluster { theirs, ours } => write!(
                f,
                "it is of the cluster \"{theirs}\" and the other of \"{ours}\": one --cluster-name or \
                 --cluster-peers is wrong"
            ),
            Refusal::Group { theirs, ours } => write!(
                f,
                "its store is of group {theirs:016x} and the other's of group {ours:016x}: one of the two \
                 data directories is of another cluster, or --cluster-peers of one names a member of \
                 another"
            ),
            Refusal::Left => write!(
                f,
                "the cluster has taken this member out or replaced it, and what its store holds is old: \
                 with its data directory removed the broker can join as a new member"
            ),
            Refusal::Itself => write!(f, "it is the same process"),
            Refusal::Copy => write!(
                f,
                "two processes have a store with the same id: the data directory of one is a copy, and \
                 has to be removed"
            ),
            Refusal::OtherPromise { group } => write!(
                f,
                "it was asked to form a group and is promised to group {group:016x}, which another member \
                 began to form; if that one is lost for good, its own empty data directory can be removed"
            ),
            Refusal::HasGroup => write!(f, "it has a group already"),
            Refusal::Level { theirs, ours } => write!(
                f,
                "its version of the broker knows {theirs} and the cluster runs at level {ours}: it has to \
                 run a version that the cluster was raised for, or a later one"
            ),
        }
    }
}

/// A value as octets.
pub fn octets(value: &impl Record) -> Vec<u8> {
    let mut encoder = Encoder::default();
    value.encode(&mut encoder);
    encoder.bytes
}

/// The value that all of some octets are.
///
/// # Errors
/// They are none, or there is more.
pub fn whole<T: Record>(octets: &[u8]) -> Result<T, EncodingError> {
    let mut from = Decoder::new(octets);
    let value = T::decode(&mut from)?;
    match from.is_at_end() {
        true => Ok(value),
        false => Err(from.error("the end of a member's words")),
    }
}
