//! The bytes of batches and snapshots: one encoding for every value of the core.
//!
//! Integers are big endian and of their own width, lengths are `u32`, enums begin with one octet.
//! [`record!`] takes a structure apart field by field without `..`, so a field that is added to a
//! structure and not to its encoding does not compile. Decoding is total: any bytes give a value or
//! an [`EncodingError`], and nothing is allocated on the word of a length alone.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use bytes::Bytes;

use super::facts::EncodedMessage;
use super::message::{BodyHandle, Message};
use crate::wire::encode::overwrite;
use crate::wire::{CommandId, Map, SequenceSet, Text};

/// What was wrong with encoded bytes, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EncodingError {
    /// What was being read.
    pub what: &'static str,
    /// The offset in the bytes given.
    pub offset: usize,
}

impl std::fmt::Display for EncodingError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} cannot be read at offset {}", self.what, self.offset)
    }
}

impl std::error::Error for EncodingError {}

/// Where a value is written. Messages that stand in queues are written once each, whatever the
/// number of queues that hold them: they are collected here and written by the snapshot.
#[derive(Default)]
pub struct Encoder {
    /// The bytes so far.
    pub bytes: Vec<u8>,
    /// The messages met, by handle.
    pub messages: BTreeMap<BodyHandle, Arc<Message>>,
    /// Long runs that were not copied, each with the offset in `bytes` before which it belongs. None:
    /// all are copied.
    pub shared: Option<Vec<(usize, Bytes)>>,
    /// Where in all octets, shared ones included, the content of each message begins.
    pub contents: Vec<usize>,
    /// Octets in `shared`.
    pub(super) shared_bytes: usize,
    /// The format that is written, if it is that of a snapshot: fields that came with a later one are
    /// left out.
    pub format: Option<u8>,
}

/// Shorter runs are cheaper copied than kept apart.
const SHARED_BYTES_MIN: u64 = 4096;

impl Encoder {
    /// Writes header and body of a message; a large one can be shared: see `shared`.
    pub fn content(&mut self, message: &Arc<Message>) {
        self.contents.push(self.bytes.len() + self.shared_bytes);
        match &mut self.shared {
            Some(shared) if message.size() >= SHARED_BYTES_MIN => {
                self.shared_bytes += message.content().len();
                shared.push((self.bytes.len(), message.shared_content()));
            }
            _ => self.raw(message.content()),
        }
    }

    /// Writes octets as they are.
    pub fn raw(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Writes a length and that many octets.
    pub fn sized(&mut self, bytes: &[u8]) {
        length(bytes.len()).encode(self);
        self.raw(bytes);
    }

    /// Writes what `write` appends as one sized run of octets.
    pub fn sized_by(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(&[0; 4]);
        write(&mut self.bytes);
        let size = length(self.bytes.len() - start - 4);
        overwrite(&mut self.bytes, start, size.to_be_bytes());
    }
}

#[expect(
    clippy::expect_used,
    reason = "another length would make all that follows nonsense, on disks and at other members"
)]
fn length(size: usize) -> u32 {
    u32::try_from(size).expect("the core bounds every collection far under 2^32")
}

/// Where a value is read from.
pub struct Decoder<'a> {
    bytes: &'a [u8],
    offset: usize,
    /// The messages that handles stand for; filled by the snapshot before the queues are read.
    pub messages: BTreeMap<BodyHandle, Arc<Message>>,
    /// Makes the messages of facts; None: they are made of what stands there.
    pub message_by: Option<MessageBy<'a>>,
    /// The format that is read, if it is that of a snapshot: fields that came with a later one are not
    /// there.
    pub format: Option<u8>,
}

/// What makes a message of one that stands in a fact.
pub type MessageBy<'a> =
    &'a mut dyn FnMut(&EncodedMessage<'_>) -> Result<Arc<Message>, EncodingError>;

impl<'a> Decoder<'a> {
    /// Reads from the start of `bytes`.
    pub fn new(bytes: &'a [u8]) -> Self {
        Decoder {
            bytes,
            offset: 0,
            messages: BTreeMap::new(),
            message_by: None,
            format: None,
        }
    }

    /// The offset of what is read next.
    pub fn offset(&self) -> usize {
        self.offset
    }

    /// The next `count` octets.
    pub fn raw(&mut self, count: usize, what: &'static str) -> Result<&'a [u8], EncodingError> {
        let rest = self.bytes.get(self.offset..);
        let slice = rest.and_then(|rest| rest.get(..count));
        let slice = slice.ok_or(self.error(what))?;
        self.offset += count;
        Ok(slice)
    }

    /// A length and that many octets.
    pub fn sized(&mut self, what: &'static str) -> Result<&'a [u8], EncodingError> {
        let size = u32::decode(self)? as usize;
        self.raw(size, what)
    }

    /// Whether all octets were read.
    pub fn is_at_end(&self) -> bool {
        self.offset == self.bytes.len()
    }

    /// The error that `what` cannot be read here.
    pub fn error(&self, what: &'static str) -> EncodingError {
        EncodingError {
            what,
            offset: self.offset,
        }
    }

    /// How many items can be left at most: each takes one octet at least.
    fn count(&mut self, what: &'static str) -> Result<usize, EncodingError> {
        let count = u32::decode(self)? as usize;
        if count > self.bytes.len() - self.offset {
            return Err(self.error(what));
        }
        Ok(count)
    }
}

/// A value with an encoding.
pub trait Record: Sized {
    /// Appends the value.
    fn encode(&self, to: &mut Encoder);
    /// Reads the value.
    fn decode(from: &mut Decoder<'_>) -> Result<Self, EncodingError>;
}

macro_rules! integers {
    ($($type:ty),*) => {$(
        impl Record for $type {
            fn encode(&self, to: &mut Encoder) {
                to.raw(&self.to_be_bytes());
            }
            fn decode(from: &mut Decoder<'_>) -> Result<Self, EncodingError> {
                let bytes = from.raw(size_of::<$type>(), stringify!($type))?;
                Ok(<$type>::from_be_bytes(bytes.try_into().expect("the length was asked for")))
            }
        }
    )*};
}
integers!(u8, u16, u32, u64, i64);

impl Record for bool {
    fn encode(&self, to: &mut Encoder) {
        u8::from(*self).encode(to);
    }
    fn decode(from: &mut Decoder<'_>) -> Result<Self, EncodingError> {
        match u8::decode(from)? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(from.error("bool")),
        }
    }
}

impl Record for Text {
    fn encode(&self, to: &mut Encoder) {
        to.sized(self.as_bytes());
    }
    fn decode(from: &mut Decoder<'_>) -> Result<Self, EncodingError> {
        let bytes = from.sized("text")?;
        Text::from_utf8(bytes).map_err(|_| from.error("text"))
    }
}

impl Record for String {
    fn encode(&self, to: &mut Encoder) {
        to.sized(self.as_bytes());
    }
    fn decode(from: &mut Decoder<'_>) -> Result<Self, EncodingError> {
        let bytes = from.sized("text")?;
        String::from_utf8(bytes.to_vec()).map_err(|_| from.error("text"))
    }
}

impl<T: Record> Record for Option<T> {
    fn encode(&self, to: &mut Encoder) {
        self.is_some().encode(to);
        if let Some(value) = self {
            value.encode(to);
        }
    }
    fn decode(from: &mut Decoder<'_>) -> Result<Self, EncodingError> {
        Ok(if bool::decode(from)? {
            Some(T::decode(from)?)
        } else {
            None
        })
    }
}

impl<T: Record> Record for Box<T> {
    fn encode(&self, to: &mut Encoder) {
        (**self).encode(to);
    }
    fn decode(from: &mut Decoder<'_>) -> Result<Self, EncodingError> {
        Ok(Box::new(T::decode(from)?))
    }
}

impl Record for Arc<[u8]> {
    fn encode(&self, to: &mut Encoder) {
        to.sized(self);
    }
    fn decode(from: &mut Decoder<'_>) -> Result<Self, EncodingError> {
        Ok(Arc::from(from.sized("octets")?))
    }
}

impl Record for () {
    fn encode(&self, _: &mut Encoder) {}
    fn decode(_: &mut Decoder<'_>) -> Result<Self, EncodingError> {
        Ok(())
    }
}

impl Record for Bytes {
    fn encode(&self, to: &mut Encoder) {
        to.sized(self);
    }
    fn decode(from: &mut Decoder<'_>) -> Result<Self, EncodingError> {
        Ok(Bytes::copy_from_slice(from.sized("octets")?))
    }
}

impl<A: Record, B: Record> Record for (A, B) {
    fn encode(&self, to: &mut Encoder) {
        self.0.encode(to);
        self.1.encode(to);
    }
    fn decode(from: &mut Decoder<'_>) -> Result<Self, EncodingError> {
        Ok((A::decode(from)?, B::decode(from)?))
    }
}

macro_rules! sequences {
    ($($type:ident $(: $bound:ident)?),*) => {$(
        impl<T: Record $(+ $bound)?> Record for $type<T> {
            fn encode(&self, to: &mut Encoder) {
                length(self.len()).encode(to);
                for item in self {
                    item.encode(to);
                }
            }
            fn decode(from: &mut Decoder<'_>) -> Result<Self, EncodingError> {
                let count = from.count(stringify!($type))?;
                (0..count).map(|_| T::decode(from)).collect()
            }
        }
    )*};
}
sequences!(Vec, VecDeque, BTreeSet: Ord);

impl<K: Record + Ord, V: Record> Record for BTreeMap<K, V> {
    fn encode(&self, to: &mut Encoder) {
        length(self.len()).encode(to);
        for (key, value) in self {
            key.encode(to);
            value.encode(to);
        }
    }
    fn decode(from: &mut Decoder<'_>) -> Result<Self, EncodingError> {
        let count = from.count("map")?;
        (0..count)
            .map(|_| Ok((K::decode(from)?, V::decode(from)?)))
            .collect()
    }
}

impl Record for CommandId {
    fn encode(&self, to: &mut Encoder) {
        self.0.encode(to);
    }
    fn decode(from: &mut Decoder<'_>) -> Result<Self, EncodingError> {
        Ok(CommandId(u32::decode(from)?))
    }
}

impl Record for SequenceSet {
    fn encode(&self, to: &mut Encoder) {
        length(self.ranges().len()).encode(to);
        for (first, last) in self.ranges() {
            first.encode(to);
            last.encode(to);
        }
    }
    fn decode(from: &mut Decoder<'_>) -> Result<Self, EncodingError> {
        let mut set = SequenceSet::new();
        for _ in 0..from.count("sequence set")? {
            let (first, last) = (CommandId::decode(from)?, CommandId::decode(from)?);
            // Ranges in order and apart, as they are written: each is appended at no cost.
            let is_next = set.last().is_none_or(|end| end.next().precedes(first));
            if !is_next || !set.insert_range(first, last) {
                return Err(from.error("sequence set"));
            }
        }
        Ok(set)
    }
}

impl Record for Map {
    fn encode(&self, to: &mut Encoder) {
        to.sized_by(|out| Map::encode(self, out));
    }
    fn decode(from: &mut Decoder<'_>) -> Result<Self, EncodingError> {
        let bytes = from.sized("map")?;
        let budget = bytes.len().saturating_mul(64).saturating_add(1024);
        let mut cursor = crate::wire::Cursor::with_budget(bytes, budget);
        cursor.map().map_err(|_| from.error("map"))
    }
}

/// Gives a structure its encoding: its fields in the order named. All must be named. Fields that came
/// with a later format of snapshots are named behind `since` that format, with what they are in older
/// ones. What is read can be checked: `if` a condition on the fields, `else` what is wrong.
macro_rules! record {
    ($type:ty { $($field:ident),* $(,)? }
        $(since $format:literal { $($added:ident = $before:expr),* $(,)? })*
        $(if $sound:expr, else $wrong:literal)?) => {
        impl $crate::broker::encoding::Record for $type {
            fn encode(&self, to: &mut $crate::broker::encoding::Encoder) {
                let Self { $($field,)* $($($added,)*)* } = self;
                $($crate::broker::encoding::Record::encode($field, to);)*
                $(if to.format.is_none_or(|format| format >= $format) {
                    $($crate::broker::encoding::Record::encode($added, to);)*
                })*
                let _ = to;
            }
            fn decode(
                from: &mut $crate::broker::encoding::Decoder<'_>,
            ) -> Result<Self, $crate::broker::encoding::EncodingError> {
                $(let $field = $crate::broker::encoding::Record::decode(from)?;)*
                $($(let $added = match from.format.is_none_or(|format| format >= $format) {
                    true => $crate::broker::encoding::Record::decode(from)?,
                    false => $before,
                };)*)*
                let _ = from;
                $(if !$sound {
                    return Err(from.error($wrong));
                })?
                Ok(Self { $($field,)* $($($added,)*)* })
            }
        }
    };
}
pub(crate) use record;

/// Gives a structure of one number its encoding.
macro_rules! record_newtype {
    ($type:ident($inner:ty)) => {
        impl $crate::broker::encoding::Record for $type {
            fn encode(&self, to: &mut $crate::broker::encoding::Encoder) {
                $crate::broker::encoding::Record::encode(&self.0, to);
            }
            fn decode(
                from: &mut $crate::broker::encoding::Decoder<'_>,
            ) -> Result<Self, $crate::broker::encoding::EncodingError> {
                Ok($type(<$inner as $crate::broker::encoding::Record>::decode(
                    from,
                )?))
            }
        }
    };
}
pub(crate) use record_newtype;

/// Gives an enum its encoding: an octet for the variant, then its fields. Numbers are never reused,
/// so that old bytes stay readable.
macro_rules! record_enum {
    ($type:ty { $($tag:literal = $variant:ident
        $({ $($field:ident),* $(,)? })? $(( $($item:ident),* ))? ),* $(,)? }) => {
        impl $crate::broker::encoding::Record for $type {
            fn encode(&self, to: &mut $crate::broker::encoding::Encoder) {
                match self {
                    $(Self::$variant $({ $($field),* })? $(( $($item),* ))? => {
                        $crate::broker::encoding::Record::encode(&($tag as u8), to);
                        $($($crate::broker::encoding::Record::encode($field, to);)*)?
                        $($($crate::broker::encoding::Record::encode($item, to);)*)?
                    })*
                }
            }
            fn decode(
                from: &mut $crate::broker::encoding::Decoder<'_>,
            ) -> Result<Self, $crate::broker::encoding::EncodingError> {
                match <u8 as $crate::broker::encoding::Record>::decode(from)? {
                    $($tag => {
                        $($(let $field = $crate::broker::encoding::Record::decode(from)?;)*)?
                        $($(let $item = $crate::broker::encoding::Record::decode(from)?;)*)?
                        Ok(Self::$variant $({ $($field),* })? $(( $($item),* ))?)
                    })*
                    _ => Err(from.error(stringify!($type))),
                }
            }
        }
    };
}
pub(crate) use record_enum;

/// Gives structures of `wire` their encoding: as on the wire.
macro_rules! record_wire_newtype {
    ($($type:ident($inner:ty)),* $(,)?) => {$(
        impl $crate::broker::encoding::Record for $crate::wire::$type {
            fn encode(&self, to: &mut $crate::broker::encoding::Encoder) {
                $crate::broker::encoding::Record::encode(&self.0, to);
            }
            fn decode(
                from: &mut $crate::broker::encoding::Decoder<'_>,
            ) -> Result<Self, $crate::broker::encoding::EncodingError> {
                Ok(Self(<$inner as $crate::broker::encoding::Record>::decode(from)?))
            }
        }
    )*};
}
record_wire_newtype!(
    AcceptMode(u8),
    AcquireMode(u8),
    FlowMode(u8),
    CreditUnit(u8),
    ErrorCode(u16),
    DetachCode(u8),
    RejectCode(u16),
);
