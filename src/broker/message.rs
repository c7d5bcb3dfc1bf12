//! A message as the core holds it: its header, and a handle to its body.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Weak};

use bytes::Bytes;
use parking_lot::Mutex;

use super::encoding::{Decoder, Encoder, EncodingError, Record, record};
use super::ids::{ConnectionKey, ShardId};
use super::seen::{IDENTITY, Identity};
use crate::qmf::Publication;
use crate::wire::header::Layout;
use crate::wire::{
    self, DecodeError, DeliveryMode, DeliveryProperties, Map, MessageProperties, Text, Value,
};

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

/// Where the body of a message rests that is not in memory, or may leave it. Not state: members
/// differ in what they have in memory.
pub trait Rest: std::fmt::Debug + Send + Sync {
    /// Fetches the body. It waits for a disk: not to be called with the core locked if it can be
    /// helped.
    ///
    /// # Errors
    /// The disk refuses, or gives other octets than it was given.
    fn body(&self) -> Result<Vec<u8>, String>;

    /// Where that is, for a log: file and offset.
    fn place(&self) -> String;

    /// The part of the pages that it is in, by its number; None where it outlasts the process.
    fn page(&self) -> Option<u64>;
}

/// A message: immutable once published, shared by all queues that hold it.
///
/// Header and body are one allocation: the header segment as it will be sent, then the body. It
/// never pins a connection's read buffer. A delivery copies the header and changes in the copy the
/// few octets that a delivery changes, so nothing is encoded for it.
#[derive(Debug)]
pub struct Message {
    /// Whether there is a header segment: an absent one is not the same as an empty one.
    pub has_header: bool,
    /// Whether there is a body segment: an absent one is not the same as an empty one.
    pub has_body: bool,
    /// Whether the publisher asks for it to outlive the broker's process.
    pub is_persistent: bool,
    /// The priority; 0 when absent, as in qpidd.
    pub priority: u8,
    /// The routing key; empty when absent.
    pub routing_key: Text,
    /// Milliseconds to live, when more than 0 were given.
    pub ttl: Option<u64>,
    /// How many octets of `content` are the header segment; the body follows.
    header_bytes: usize,
    /// Where in `content` the time to live is: eight octets of the delivery properties.
    ttl_at: Option<usize>,
    /// Where in `content` the message properties are: a whole struct32.
    properties: Option<(usize, usize)>,
    /// The header segment, delivery properties first, then the body if it is here.
    content: Box<[u8]>,
    /// Of a body that is not here.
    resting: Option<Resting>,
    home: Mutex<AtHome>,
    /// In how many places of queues it is. Not state: counted by the one core that has its messages
    /// for itself, with that core locked.
    places: Places,
}

/// A count that is no part of what a message is.
#[derive(Default)]
struct Places(AtomicU32);

impl fmt::Debug for Places {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not state")
    }
}

/// Where a body is on a disk.
#[derive(Debug, Default)]
struct AtHome {
    /// Where it can be fetched.
    rest: Option<Arc<dyn Rest>>,
    /// The same message without its body, if there is one and this one is in several queues: they
    /// are to share that one, too.
    resting: Weak<Message>,
}

/// A message whose body is being copied.
struct Unfinished {
    has_body: bool,
    message: Message,
    content: Vec<u8>,
}

impl Unfinished {
    fn finished(self) -> Message {
        Message {
            has_body: self.has_body,
            content: self.content.into_boxed_slice(),
            ..self.message
        }
    }
}

/// What is known of a body that is not in memory.
#[derive(Clone, Copy, Debug)]
struct Resting {
    bytes: u64,
    checksum: u32,
}

/// Where the first octet of the packing flags of the delivery properties is, which begin the
/// header: after the size and the code.
const FLAGS_AT: usize = 6;

/// The flag, and value, of `redelivered`.
const REDELIVERED: u8 = 1 << 2;

/// The flag, and value, of `discard-unroutable`.
const DISCARD_UNROUTABLE: u8 = 1;

/// The flag of `user-id` in the message properties.
const USER_ID: u8 = 1 << 6;

/// The flag, and value, of `immediate`.
const IMMEDIATE: u8 = 1 << 1;

impl Message {
    /// Whether a flag of the delivery properties is set.
    #[inline]
    fn has_flag(&self, flag: u8) -> bool {
        let flags = self.content.get(FLAGS_AT).copied().unwrap_or(0);
        self.has_header && flags & flag != 0
    }

    /// `immediate`: whether it is to go nowhere unless somebody is ready for it.
    #[inline]
    pub fn is_immediate(&self) -> bool {
        self.has_flag(IMMEDIATE)
    }

    /// `discard-unroutable`: whether it may be dropped without a word when it goes nowhere.
    pub fn is_discarded_unroutable(&self) -> bool {
        self.has_flag(DISCARD_UNROUTABLE)
    }

    /// Makes a message of a header segment and a body, copying both into one allocation. `exchange`
    /// is where it was published to: as in qpidd the delivery properties say so, but a message
    /// without header segment stays without. The header is checked here, once and whole, so that it
    /// can never fail for whoever touches it later.
    ///
    /// # Errors
    /// The header is malformed or passes a bound.
    pub fn new(
        header: Option<&[u8]>,
        body: Option<&[Bytes]>,
        exchange: &str,
    ) -> Result<Message, DecodeError> {
        let layout = header.map(wire::header::layout).transpose()?;
        let pieces = body.unwrap_or_default();
        let body_bytes = pieces.iter().map(Bytes::len).sum();
        let header = header.zip(layout.as_ref());
        let mut message = Message::begun(header, exchange, body_bytes);
        message.has_body = body.is_some();
        for piece in pieces {
            message.content.extend_from_slice(piece);
        }
        Ok(message.finished())
    }

    /// The message that a publication is, and the exchange that it is for.
    ///
    /// # Errors
    /// As for [`Message::new`]: its properties are longer than they may be.
    pub fn published(publication: Publication) -> Result<(Text, Message), DecodeError> {
        let header = publication.header();
        let body = [Bytes::from(publication.body)];
        let message = Message::new(Some(&header), Some(&body), &publication.exchange)?;
        Ok((publication.exchange, message))
    }

    /// Makes a message of what one that was published kept: its header names its exchange, and
    /// stays as it is.
    ///
    /// # Errors
    /// As for [`Message::new`].
    pub fn kept(header: Option<&[u8]>, body: Option<&[u8]>) -> Result<Message, DecodeError> {
        let layout = header.map(wire::header::layout).transpose()?;
        let header = header.zip(layout.as_ref());
        let exchange = header.map_or("", |(header, layout)| layout.exchange(header));
        let mut message = Message::begun(header, exchange, body.map_or(0, <[u8]>::len));
        message.has_body = body.is_some();
        message.content.extend_from_slice(body.unwrap_or_default());
        Ok(message.finished())
    }

    /// Makes a message of its content: the header as [`Message::new`] made it, so many octets, then
    /// the body. None when the octets are not that, or the kinds (whether there is a header, and a body)
    /// do not fit them.
    pub fn of_content(
        (has_header, has_body): (bool, bool),
        header_bytes: usize,
        content: Vec<u8>,
    ) -> Option<Message> {
        let (header, body) = content.split_at_checked(header_bytes)?;
        let message = Message::kept(has_header.then_some(header), None).ok()?;
        let is_sound = message.header() == header && (has_body || body.is_empty());
        is_sound.then(|| Message {
            has_body,
            content: content.into_boxed_slice(),
            ..message
        })
    }

    /// A message with its header, and room for a body.
    fn begun(header: Option<(&[u8], &Layout)>, exchange: &str, body_bytes: usize) -> Unfinished {
        let header_bytes = header.map_or(0, |(header, layout)| {
            wire::header::published_bytes(header, layout, exchange)
        });
        let mut content = Vec::with_capacity(header_bytes + body_bytes);
        let mut message = Message {
            has_header: header.is_some(),
            has_body: false,
            is_persistent: false,
            priority: 0,
            routing_key: Text::default(),
            ttl: None,
            header_bytes,
            ttl_at: None,
            properties: None,
            content: Box::default(),
            resting: None,
            home: Mutex::default(),
            places: Places::default(),
        };
        if let Some((header, layout)) = header {
            message.take_header(header, layout, exchange, &mut content);
        }
        Unfinished {
            has_body: false,
            message,
            content,
        }
    }

    fn take_header(
        &mut self,
        header: &[u8],
        layout: &Layout,
        exchange: &str,
        content: &mut Vec<u8>,
    ) {
        let (properties, ttl_at) =
            wire::header::encode_published(header, layout, exchange, content);
        self.properties = properties.map(|range| (range.start, range.end));
        self.ttl_at = ttl_at;
        let ttl = ttl_at.and_then(|at| content.get(at..)?.first_chunk());
        self.ttl = ttl
            .map(|ttl| u64::from_be_bytes(*ttl))
            .filter(|ttl| *ttl > 0);
        if let Some(delivery) = &layout.delivery {
            let persistent = DeliveryMode::PERSISTENT.0;
            self.is_persistent = delivery.delivery_mode == Some(persistent);
            self.priority = delivery.priority.unwrap_or(0);
            // It was checked to be UTF-8.
            let key = header.get(delivery.routing_key.clone());
            let key = std::str::from_utf8(key.unwrap_or_default());
            self.routing_key = key.map(Text::from).unwrap_or_default();
        }
    }

    /// Octets that limits and byte credit count: the encoded header and the body.
    pub fn size(&self) -> u64 {
        let resting = self.resting.as_ref().map_or(0, |resting| resting.bytes);
        self.content.len() as u64 + resting
    }

    /// Octets of it that are in memory: the header, and the body if that is.
    pub fn content_bytes(&self) -> u64 {
        self.content.len() as u64
    }

    /// Whether the body is not in memory.
    pub fn is_resting(&self) -> bool {
        self.resting.is_some()
    }

    /// It has come to a place in a queue. True when it is its only one.
    #[inline]
    pub(super) fn come(&self) -> bool {
        let places = self.places.0.load(Ordering::Relaxed);
        self.places
            .0
            .store(places.wrapping_add(1), Ordering::Relaxed);
        places == 0
    }

    /// It has left a place in a queue. True when it was the last.
    #[inline]
    pub(super) fn leave(&self) -> bool {
        let places = self.places.0.load(Ordering::Relaxed);
        self.places
            .0
            .store(places.wrapping_sub(1), Ordering::Relaxed);
        places == 1
    }

    /// The body, if it is in memory.
    pub fn body(&self) -> Option<&[u8]> {
        match self.resting {
            None => Some(self.behind_header()),
            Some(_) => None,
        }
    }

    /// What is in memory behind the header.
    fn behind_header(&self) -> &[u8] {
        self.content.get(self.header_bytes..).unwrap_or_default()
    }

    /// Octets of the body.
    pub fn body_bytes(&self) -> u64 {
        self.size() - self.header_bytes as u64
    }

    /// Header and body, one behind the other.
    ///
    /// # Panics
    /// The body is not in memory. Whoever writes a message fetches it first.
    pub fn content(&self) -> &[u8] {
        assert!(
            self.resting.is_none(),
            "a body is fetched before it is written"
        );
        &self.content
    }

    /// Header and body, one behind the other, as octets that keep the message for as long as they
    /// are needed: for large ones. Only the header, if the body is not in memory.
    pub fn shared_content(self: &Arc<Message>) -> Bytes {
        Bytes::from_owner(Content(self.clone()))
    }

    /// The header segment as published.
    pub fn header(&self) -> &[u8] {
        self.content.get(..self.header_bytes).unwrap_or_default()
    }

    /// CRC-32 of the body.
    fn checksum(&self) -> u32 {
        match &self.resting {
            Some(resting) => resting.checksum,
            None => crc32fast::hash(self.behind_header()),
        }
    }

    /// Says where the body can be fetched from now on. What was said before is forgotten.
    pub fn set_home(&self, home: Arc<dyn Rest>) {
        self.home.lock().rest = Some(home);
    }

    /// Whether the body can be fetched from somewhere.
    pub fn has_home(&self) -> bool {
        self.home.lock().rest.is_some()
    }

    /// The part of the pages that it is at home in, if it is in any.
    pub fn page(&self) -> Option<u64> {
        self.home.lock().rest.as_ref()?.page()
    }

    /// Gives a message another home than a part of the pages; None is for one whose body is in memory.
    /// One that is at home elsewhere by now stays there.
    pub fn move_from_page(&self, page: u64, home: Option<Arc<dyn Rest>>) {
        let mut at = self.home.lock();
        let is_there = at
            .rest
            .as_ref()
            .is_some_and(|rest| rest.page() == Some(page));
        if is_there && (home.is_some() || self.resting.is_none()) {
            at.rest = home;
        }
    }

    /// The same message without its body, which rests at its home; none if it has no home or no body.
    /// For all queues that hold it, it is the same one.
    pub fn rest(&self) -> Option<Arc<Message>> {
        let bytes = self.body()?.len() as u64;
        let mut home = self.home.lock();
        if let Some(resting) = home.resting.upgrade() {
            return Some(resting);
        }
        if bytes == 0 {
            return None;
        }
        let rest = home.rest.clone()?;
        let mut message = self.with_content(self.header().into(), rest);
        message.resting = Some(Resting {
            bytes,
            checksum: self.checksum(),
        });
        let message = Arc::new(message);
        if self.places.0.load(Ordering::Relaxed) > 1 {
            home.resting = Arc::downgrade(&message);
        }
        Some(message)
    }

    /// The same message with its body in memory, fetched from its home if need be.
    ///
    /// # Errors
    /// The body cannot be fetched, or is not what it was. The text says where it was to be.
    pub fn fetch(self: &Arc<Message>) -> Result<Arc<Message>, String> {
        let Some(resting) = &self.resting else {
            return Ok(self.clone());
        };
        let home = self.home.lock().rest.clone();
        let home = home.ok_or("a message's body rests nowhere")?;
        let body = home
            .body()
            .map_err(|error| format!("{}: {error}", home.place()))?;
        if body.len() as u64 != resting.bytes || crc32fast::hash(&body) != resting.checksum {
            return Err(format!("{}: a body is not what it was", home.place()));
        }
        let content = [self.header(), &body].concat().into_boxed_slice();
        Ok(Arc::new(self.with_content(content, home)))
    }

    fn with_content(&self, content: Box<[u8]>, rest: Arc<dyn Rest>) -> Message {
        Message {
            has_header: self.has_header,
            has_body: self.has_body,
            is_persistent: self.is_persistent,
            priority: self.priority,
            routing_key: self.routing_key.clone(),
            ttl: self.ttl,
            header_bytes: self.header_bytes,
            ttl_at: self.ttl_at,
            properties: self.properties,
            content,
            resting: None,
            home: Mutex::new(AtHome {
                rest: Some(rest),
                resting: Weak::new(),
            }),
            places: Places::default(),
        }
    }

    /// Appends the header segment of a delivery: flagged when it has been delivered before, with
    /// the milliseconds it has left to live, and with which message it is, where that is to be told.
    pub fn delivered_header(
        &self,
        (redelivered, ttl): (bool, Option<u64>),
        identity: Option<Identity>,
        out: &mut Vec<u8>,
    ) {
        let start = out.len();
        if let Some(identity) = identity {
            self.identified_header(identity, out);
        } else {
            out.extend_from_slice(self.header());
        }
        if redelivered && let Some(flags) = out.get_mut(start + FLAGS_AT) {
            *flags |= REDELIVERED;
        }
        if let (Some(ttl), Some(at)) = (ttl, self.ttl_at)
            && let Some(field) = out.get_mut(start + at..start + at + 8)
        {
            field.copy_from_slice(&ttl.to_be_bytes());
        }
    }

    /// Appends the header segment with which message it is in it. What says so already, and is not known to
    /// be right, is replaced.
    fn identified_header(&self, identity: Identity, out: &mut Vec<u8>) {
        let text = identity.text();
        let start = out.len();
        match self.has_header {
            true => out.extend_from_slice(self.header()),
            false => {
                let delivery = Some(DeliveryProperties::default());
                wire::header::encode(&delivery, &[], out);
            }
        }
        let lies = self.properties.map(|(from, to)| start + from..start + to);
        if !wire::header::add_application_header(out, lies, IDENTITY, &text) {
            let other = self.with_headers(vec![(IDENTITY.into(), Value::Str16(text))]);
            out.truncate(start);
            out.extend_from_slice(other.header());
        }
    }

    /// The same message with other application headers added to its own, or in their place. It is one
    /// to be sent, not one to be kept.
    pub(super) fn with_headers(&self, added: Vec<(Text, Value)>) -> Message {
        let mut properties = self.properties().unwrap_or_default();
        let headers = properties.application_headers.get_or_insert_default();
        for (name, value) in added {
            headers.insert(name, value);
        }
        let mut content = match self.has_header {
            true => self.header().to_vec(),
            false => {
                let mut header = Vec::new();
                let delivery = Some(DeliveryProperties::default());
                wire::header::encode(&delivery, &[], &mut header);
                header
            }
        };
        let (start, end) = self.properties.unwrap_or((content.len(), content.len()));
        let behind = content.split_off(end);
        content.truncate(start);
        wire::header::encode_properties(&properties, &mut content);
        let changed = (start, content.len());
        content.extend_from_slice(&behind);
        let header_bytes = content.len();
        content.extend_from_slice(self.behind_header());
        Message {
            has_header: true,
            has_body: self.has_body,
            is_persistent: self.is_persistent,
            priority: self.priority,
            routing_key: self.routing_key.clone(),
            ttl: self.ttl,
            header_bytes,
            // The delivery properties come first: where that is has not changed.
            ttl_at: self.ttl_at,
            properties: Some(changed),
            content: content.into_boxed_slice(),
            resting: self.resting,
            home: Mutex::new(AtHome {
                rest: self.home.lock().rest.clone(),
                resting: Weak::new(),
            }),
            places: Places::default(),
        }
    }

    /// The same message with other application headers, and without its time to live unless `keeps_time`.
    /// It has a header segment even if this one has none. None when a bound of headers is passed.
    pub(super) fn remade(&self, headers: Map, keeps_time: bool) -> Option<Message> {
        let parts = wire::header::split(self.header()).ok()?;
        let mut delivery = parts.delivery.unwrap_or_default();
        if !keeps_time {
            delivery.ttl = None;
        }
        let mut properties = self.properties().unwrap_or_default();
        properties.application_headers = Some(headers);
        let end = parts.rest.len();
        let range = parts.message_properties.unwrap_or(end..end);
        let mut header = Vec::with_capacity(self.header_bytes + 256);
        wire::header::encode(&Some(delivery), parts.rest.get(..range.start)?, &mut header);
        wire::header::encode_properties(&properties, &mut header);
        header.extend_from_slice(parts.rest.get(range.end..)?);
        let message = Message::kept(Some(&header), self.body()).ok()?;
        Some(Message {
            has_body: self.has_body,
            resting: self.resting,
            home: Mutex::new(AtHome {
                rest: self.home.lock().rest.clone(),
                resting: Weak::new(),
            }),
            ..message
        })
    }

    /// The delivery properties, decoded now. None when there is no header segment.
    pub fn delivery_properties(&self) -> Option<DeliveryProperties> {
        wire::header::split(self.header()).ok()?.delivery
    }

    /// The message properties, decoded now. None when absent: they were checked when the message
    /// came in.
    pub fn properties(&self) -> Option<MessageProperties> {
        let (start, end) = self.properties?;
        wire::header::message_properties(self.content.get(start..end)?).ok()
    }

    /// The user of whom the message says that it is: 0-10: message.message-properties.user-id. Looked for
    /// only if it is there.
    pub fn user_id(&self) -> Option<&[u8]> {
        let (start, end) = self.properties?;
        let flags = self.content.get(start + FLAGS_AT).copied().unwrap_or(0);
        match flags & USER_ID {
            0 => None,
            _ => wire::header::user_id(self.content.get(start..end)?),
        }
    }

    /// Whether a text stands anywhere in the message properties: an application header of that name can
    /// be there only then, and looking is cheaper than decoding.
    pub fn mentions(&self, text: &str) -> bool {
        let Some((start, end)) = self.properties else {
            return false;
        };
        let properties = self.content.get(start..end).unwrap_or_default();
        let mut octets = properties.windows(text.len().max(1));
        octets.any(|octets| octets == text.as_bytes())
    }

    /// A text among the application headers; None for what is none.
    pub fn application_header(&self, name: &str) -> Option<&str> {
        let (start, end) = self.properties?;
        wire::header::application_header(self.content.get(start..end)?, name)
    }

    /// The application headers, decoded now.
    pub fn application_headers(&self) -> Option<Map> {
        let (start, end) = self.properties?;
        wire::header::application_headers(self.content.get(start..end)?)
            .ok()
            .flatten()
    }
}

/// The content of a message that is kept for it.
struct Content(Arc<Message>);

impl AsRef<[u8]> for Content {
    fn as_ref(&self) -> &[u8] {
        &self.0.content
    }
}

/// The body counts by length and checksum alone.
impl PartialEq for Message {
    fn eq(&self, other: &Self) -> bool {
        (self.has_header, self.has_body, self.size())
            == (other.has_header, other.has_body, other.size())
            && self.header() == other.header()
            && self.checksum() == other.checksum()
    }
}

impl Hash for Message {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.header().hash(state);
        (self.has_header, self.has_body, self.checksum(), self.size()).hash(state);
    }
}

/// In a batch a message travels whole; all else of it follows from header and body. Bodies rest on
/// members that stand alone, and batches of those are never encoded.
impl Record for Message {
    fn encode(&self, to: &mut Encoder) {
        let flags = u8::from(self.has_header) | u8::from(self.has_body) << 1;
        flags.encode(to);
        to.sized(self.header());
        to.sized(self.content().get(self.header_bytes..).unwrap_or_default());
    }
    fn decode(from: &mut Decoder<'_>) -> Result<Self, EncodingError> {
        let flags = u8::decode(from)?;
        let header = from.sized("message header")?;
        let body = from.sized("message body")?;
        let body = (flags & 2 != 0).then_some(body);
        let header = (flags & 1 != 0).then_some(header);
        Message::kept(header, body).map_err(|_| from.error("message header"))
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
