//! A message as the core holds it: its header, and a handle to its body.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use bytes::Bytes;

use super::encoding::{Decoder, Encoder, EncodingError, Record, record};
use super::ids::ShardId;
use crate::wire::{self, DeliveryProperties, Map, MessageProperties};

/// Which body: the entry of the order that brought it and its place in that entry. With length and
/// checksum this is all of a body that equality, digests and snapshots know.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BodyHandle {
    /// The shard whose order it came in.
    pub shard: ShardId,
    /// The index of the entry.
    pub index: u64,
    /// The place among the entry's commands.
    pub n: u32,
}
record!(BodyHandle { shard, index, n });

/// A message: immutable once published, shared by all queues that hold it.
///
/// `content` is one allocation that holds the header segment's other structures and the body; it
/// never pins a connection's read buffer when it is small.
#[derive(Clone, Debug)]
pub struct Message {
    /// The delivery properties as published, with `exchange` set to where the message was sent.
    /// None when the publisher sent none (a message without header segment stays without).
    pub delivery: Option<DeliveryProperties>,
    /// Whether there is a header segment: an absent one is not the same as an empty one.
    pub has_header: bool,
    /// Whether there is a body segment: an absent one is not the same as an empty one.
    pub has_body: bool,
    /// How many octets of `content` are header; the body follows.
    header_bytes: usize,
    /// Where in `content` the message properties are: a whole struct32.
    properties: Option<(usize, usize)>,
    /// The other structures of the header, raw, then the body.
    content: Bytes,
    /// CRC-32 of the body.
    checksum: u32,
    /// Octets that limits and credit count: the encoded header and the body.
    size: u64,
}

impl Message {
    /// Makes a message of a checked header and a body, copying both into one allocation.
    pub fn new(header: Option<wire::header::HeaderParts>, body: Option<&[Bytes]>) -> Message {
        let has_header = header.is_some();
        let parts = header.unwrap_or_default();
        let body_bytes: usize = body
            .iter()
            .flat_map(|parts| parts.iter())
            .map(Bytes::len)
            .sum();
        let mut content = Vec::with_capacity(parts.rest.len() + body_bytes);
        content.extend_from_slice(&parts.rest);
        let mut crc = crc32fast::Hasher::new();
        for part in body.iter().flat_map(|parts| parts.iter()) {
            crc.update(part);
            content.extend_from_slice(part);
        }
        let mut message = Message {
            delivery: parts.delivery,
            has_header,
            has_body: body.is_some(),
            header_bytes: parts.rest.len(),
            properties: parts
                .message_properties
                .map(|range| (range.start, range.end)),
            content: Bytes::from(content),
            checksum: crc.finalize(),
            size: 0,
        };
        message.measure();
        message
    }

    /// Sets the exchange the message was published to, as qpidd does, and measures anew. A message
    /// without header segment stays headerless.
    pub fn set_exchange(&mut self, exchange: &str) {
        if self.has_header {
            self.delivery.get_or_insert_default().exchange = Some(exchange.into());
            self.measure();
        }
    }

    fn measure(&mut self) {
        let mut header = Vec::with_capacity(128);
        if self.has_header {
            wire::header::encode(&self.delivery, &[], &mut header);
        }
        self.size = (header.len() + self.content.len()) as u64;
    }

    /// Octets that limits and byte credit count: the encoded header and the body.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// The body.
    pub fn body(&self) -> Bytes {
        self.content.slice(self.header_bytes..)
    }

    /// The header's structures but for the delivery properties, raw.
    pub fn other_header(&self) -> &[u8] {
        &self.content[..self.header_bytes]
    }

    /// The routing key; empty when absent.
    pub fn routing_key(&self) -> &str {
        self.delivery
            .as_ref()
            .and_then(|d| d.routing_key.as_deref())
            .unwrap_or("")
    }

    /// Time to live in milliseconds, when one above 0 was given.
    pub fn ttl(&self) -> Option<u64> {
        self.delivery
            .as_ref()
            .and_then(|d| d.ttl)
            .filter(|ttl| *ttl > 0)
    }

    /// The message properties, decoded now. None when absent; they were walked through when the
    /// message came in, so that an error cannot be but by text that is not UTF-8, which counts as
    /// absent too.
    pub fn properties(&self) -> Option<MessageProperties> {
        let (start, end) = self.properties?;
        wire::header::message_properties(&self.content[start..end]).ok()
    }

    /// The application headers, decoded now.
    pub fn application_headers(&self) -> Option<Map> {
        self.properties()?.application_headers
    }
}

impl PartialEq for Message {
    fn eq(&self, other: &Self) -> bool {
        self.delivery == other.delivery
            && (
                self.has_header,
                self.has_body,
                self.properties,
                self.checksum,
                self.size,
            ) == (
                other.has_header,
                other.has_body,
                other.properties,
                other.checksum,
                other.size,
            )
            && self.other_header() == other.other_header()
    }
}

/// The body counts by length and checksum alone.
impl Hash for Message {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let mut header = Vec::new();
        wire::header::encode(&self.delivery, self.other_header(), &mut header);
        header.hash(state);
        (
            self.has_header,
            self.has_body,
            self.properties,
            self.checksum,
            self.size,
        )
            .hash(state);
    }
}

/// In a batch a message travels whole.
impl Record for Message {
    fn encode(&self, to: &mut Encoder) {
        let flags = u8::from(self.has_header) | u8::from(self.has_body) << 1;
        flags.encode(to);
        to.sized_by(|out| {
            if self.has_header {
                wire::header::encode(&self.delivery, self.other_header(), out);
            }
        });
        to.sized(&self.content[self.header_bytes..]);
    }
    fn decode(from: &mut Decoder<'_>) -> Result<Self, EncodingError> {
        let flags = u8::decode(from)?;
        let header = from.sized("message header")?;
        let parts = match flags & 1 {
            0 => None,
            _ => Some(wire::header::split(header).map_err(|_| from.error("message header"))?),
        };
        let body = [Bytes::copy_from_slice(from.sized("message body")?)];
        Ok(Message::new(parts, (flags & 2 != 0).then_some(&body[..])))
    }
}

impl Record for Arc<Message> {
    fn encode(&self, to: &mut Encoder) {
        (**self).encode(to);
    }
    fn decode(from: &mut Decoder<'_>) -> Result<Self, EncodingError> {
        Ok(Arc::new(Message::decode(from)?))
    }
}

/// A message that the order has numbered.
#[derive(Clone, Debug, PartialEq, Hash)]
pub struct Stored {
    /// Which one.
    pub handle: BodyHandle,
    /// What it is.
    pub message: Arc<Message>,
}

/// In a snapshot a queue names its messages by handle; the messages are written apart, once.
impl Record for Stored {
    fn encode(&self, to: &mut Encoder) {
        self.handle.encode(to);
        to.messages
            .entry(self.handle)
            .or_insert_with(|| self.message.clone());
    }
    fn decode(from: &mut Decoder<'_>) -> Result<Self, EncodingError> {
        let handle = BodyHandle::decode(from)?;
        let message = from
            .messages
            .get(&handle)
            .ok_or(from.error("message handle"))?
            .clone();
        Ok(Stored { handle, message })
    }
}
