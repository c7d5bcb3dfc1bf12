//! A message as the core holds it: its header, and a handle to its body.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use bytes::Bytes;

use super::encoding::{Decoder, Encoder, EncodingError, Record, record};
use super::ids::{ConnectionKey, ShardId};
use crate::wire::header::HeaderParts;
use crate::wire::{self, DeliveryMode, DeliveryProperties, Map, MessageProperties, Text};

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
/// `content` is one allocation: the header segment as it will be sent, then the body. It never pins
/// a connection's read buffer. A delivery copies the header and changes in the copy the few octets
/// that a delivery changes, so nothing is encoded for it.
#[derive(Clone, Debug)]
pub struct Message {
    /// Whether there is a header segment: an absent one is not the same as an empty one.
    pub has_header: bool,
    /// Whether there is a body segment: an absent one is not the same as an empty one.
    pub has_body: bool,
    /// The routing key; empty when absent.
    pub routing_key: Text,
    /// Milliseconds to live, when more than 0 were given.
    pub ttl: Option<u64>,
    /// Whether the publisher asks for it to outlive the broker's process.
    pub is_persistent: bool,
    /// The priority; 0 when absent, as in qpidd.
    pub priority: u8,
    /// How many octets of `content` are the header segment; the body follows.
    header_bytes: usize,
    /// Where in `content` the time to live is: eight octets of the delivery properties.
    ttl_at: Option<usize>,
    /// Where in `content` the message properties are: a whole struct32.
    properties: Option<(usize, usize)>,
    /// The header segment, delivery properties first, then the body.
    content: Bytes,
    /// CRC-32 of the body.
    checksum: u32,
}

/// Where the first octet of the packing flags of the delivery properties is, which begin the
/// header: after the size and the code.
const FLAGS_AT: usize = 6;

/// The flag, and value, of `redelivered`.
const REDELIVERED: u8 = 1 << 2;

impl Message {
    /// Makes a message of a checked header and a body, copying both into one allocation. `exchange`
    /// is where it was published to: as in qpidd the delivery properties say so, but a message
    /// without header segment stays without.
    pub fn new(header: Option<HeaderParts>, body: Option<&[Bytes]>, exchange: &str) -> Message {
        let has_header = header.is_some();
        let HeaderParts {
            delivery,
            rest,
            message_properties,
        } = header.unwrap_or_default();
        let body_bytes: usize = body
            .iter()
            .flat_map(|parts| parts.iter())
            .map(Bytes::len)
            .sum();
        let mut content = Vec::with_capacity(DELIVERY_BYTES_TYPICAL + rest.len() + body_bytes);
        let mut delivery = has_header.then(|| delivery.unwrap_or_default());
        if let Some(delivery) = &mut delivery {
            delivery.exchange = Some(exchange.into());
        }
        wire::header::encode(&delivery, &[], &mut content);
        let rest_at = content.len();
        content.extend_from_slice(&rest);
        let delivery = delivery.unwrap_or_default();
        let header_bytes = content.len();
        let mut crc = crc32fast::Hasher::new();
        for part in body.iter().flat_map(|parts| parts.iter()) {
            crc.update(part);
            content.extend_from_slice(part);
        }
        let before_ttl = [
            delivery.priority.is_some(),
            delivery.delivery_mode.is_some(),
        ];
        let before_ttl = before_ttl.into_iter().filter(|is_there| *is_there).count();
        Message {
            has_header,
            has_body: body.is_some(),
            routing_key: delivery.routing_key.unwrap_or_default(),
            ttl: delivery.ttl.filter(|ttl| *ttl > 0),
            is_persistent: delivery.delivery_mode == Some(DeliveryMode::PERSISTENT),
            priority: delivery.priority.map_or(0, |priority| priority.0),
            header_bytes,
            ttl_at: delivery.ttl.map(|_| FLAGS_AT + 2 + before_ttl),
            properties: message_properties.map(|r| (rest_at + r.start, rest_at + r.end)),
            content: Bytes::from(content),
            checksum: crc.finalize(),
        }
    }

    /// Octets that limits and byte credit count: the encoded header and the body.
    pub fn size(&self) -> u64 {
        self.content.len() as u64
    }

    /// The body.
    pub fn body(&self) -> Bytes {
        self.content.slice(self.header_bytes..)
    }

    /// The header segment as published.
    pub fn header(&self) -> &[u8] {
        &self.content[..self.header_bytes]
    }

    /// Appends the header segment of a delivery: flagged when it has been delivered before, with
    /// the milliseconds it has left to live.
    pub fn delivered_header(&self, redelivered: bool, ttl: Option<u64>, out: &mut Vec<u8>) {
        let start = out.len();
        out.extend_from_slice(self.header());
        if redelivered && let Some(flags) = out.get_mut(start + FLAGS_AT) {
            *flags |= REDELIVERED;
        }
        if let (Some(ttl), Some(at)) = (ttl, self.ttl_at)
            && let Some(field) = out.get_mut(start + at..start + at + 8)
        {
            field.copy_from_slice(&ttl.to_be_bytes());
        }
    }

    /// Header segment and body, one behind the other.
    pub fn content(&self) -> &Bytes {
        &self.content
    }

    /// The delivery properties, decoded now. None when there is no header segment.
    pub fn delivery_properties(&self) -> Option<DeliveryProperties> {
        wire::header::split(self.header()).ok()?.delivery
    }

    /// The message properties, decoded now. None when absent: they were checked when the message
    /// came in.
    pub fn properties(&self) -> Option<MessageProperties> {
        let (start, end) = self.properties?;
        wire::header::message_properties(&self.content[start..end]).ok()
    }

    /// The application headers, decoded now.
    pub fn application_headers(&self) -> Option<Map> {
        let (start, end) = self.properties?;
        wire::header::application_headers(&self.content[start..end])
            .ok()
            .flatten()
    }
}

/// What delivery properties mostly take: the size of an allocation, no bound.
const DELIVERY_BYTES_TYPICAL: usize = 64;

/// The body counts by length and checksum alone.
impl PartialEq for Message {
    fn eq(&self, other: &Self) -> bool {
        (self.has_header, self.has_body, self.checksum, self.size())
            == (
                other.has_header,
                other.has_body,
                other.checksum,
                other.size(),
            )
            && self.header() == other.header()
    }
}

impl Hash for Message {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.header().hash(state);
        (self.has_header, self.has_body, self.checksum, self.size()).hash(state);
    }
}

/// In a batch a message travels whole; all else of it follows from header and body.
impl Record for Message {
    fn encode(&self, to: &mut Encoder) {
        let flags = u8::from(self.has_header) | u8::from(self.has_body) << 1;
        flags.encode(to);
        to.sized(self.header());
        to.sized(&self.content[self.header_bytes..]);
    }
    fn decode(from: &mut Decoder<'_>) -> Result<Self, EncodingError> {
        let flags = u8::decode(from)?;
        let header = from.sized("message header")?;
        let parts = match flags & 1 {
            0 => None,
            _ => Some(wire::header::split(header).map_err(|_| from.error("message header"))?),
        };
        let exchange = parts
            .as_ref()
            .and_then(|parts| parts.delivery.as_ref()?.exchange.clone());
        let body = [Bytes::copy_from_slice(from.sized("message body")?)];
        let body = (flags & 2 != 0).then_some(&body[..]);
        Ok(Message::new(parts, body, &exchange.unwrap_or_default()))
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
    /// The connection that published it: `no-local` queues keep it out, on whatever way it comes.
    pub publisher: ConnectionKey,
    /// What it is.
    pub message: Arc<Message>,
}

/// In a snapshot a queue names its messages by handle; the messages are written apart, once.
impl Record for Stored {
    fn encode(&self, to: &mut Encoder) {
        self.handle.encode(to);
        self.publisher.encode(to);
        to.messages
            .entry(self.handle)
            .or_insert_with(|| self.message.clone());
    }
    fn decode(from: &mut Decoder<'_>) -> Result<Self, EncodingError> {
        let handle = BodyHandle::decode(from)?;
        let publisher = ConnectionKey::decode(from)?;
        let message = from
            .messages
            .get(&handle)
            .ok_or(from.error("message handle"))?
            .clone();
        Ok(Stored {
            handle,
            publisher,
            message,
        })
    }
}
