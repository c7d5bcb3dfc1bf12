//! Which messages have come over links, so that one that comes by several ways, or again, counts once.
//!
//! A message that leaves a broker over a link says which it is ([`Identity`]), and keeps that on all further
//! links. A broker that has had it at the same exchange takes it for done. Only what has come over a link is
//! believed: the identity that some client puts on a message is replaced when it leaves, so that whoever
//! publishes again what he was given has published another message.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use super::encoding::{Decoder, Encoder, EncodingError, Record, record};
use super::ids::ConnectionKey;
use super::limits;
use super::message::{BodyHandle, Message, Stored};
use crate::wire::{Map, Text, Value};

/// The header that says which message it is. This broker's own.
pub const IDENTITY: &str = "x-ferrymq.identity";

/// The argument of a subscription that has its messages say which they are. This broker's own: its links
/// ask for it, and other brokers pass over it.
pub const WANTS_IDENTITY: &str = "x-ferrymq.wants-identity";

/// Which message it is, of all that any broker has had. In words of 16, 16 and 8 hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Identity {
    /// What the broker drew by lot when its order began.
    pub run: u64,
    /// The entry in which it came there first.
    pub index: u64,
    /// Which of that entry.
    pub n: u32,
}
record!(Identity { run, index, n });

/// Octets of an identity as text.
const TEXT_BYTES: usize = 40;

impl Identity {
    /// Of a message that a broker has had from a client.
    pub fn new(run: u64, handle: BodyHandle) -> Identity {
        Identity {
            run,
            index: handle.index,
            n: handle.n,
        }
    }

    /// As a header's value.
    pub fn text(self) -> Text {
        let Identity { run, index, n } = self;
        format!("{run:016x}{index:016x}{n:08x}").into()
    }

    /// What a header says, if it is one.
    pub fn parse(text: &str) -> Option<Identity> {
        let is_hexadecimal = text.bytes().all(|octet| octet.is_ascii_hexdigit());
        if text.len() != TEXT_BYTES || !is_hexadecimal {
            return None;
        }
        Some(Identity {
            run: u64::from_str_radix(text.get(..16)?, 16).ok()?,
            index: u64::from_str_radix(text.get(16..32)?, 16).ok()?,
            n: u32::from_str_radix(text.get(32..)?, 16).ok()?,
        })
    }

    /// What a message says of itself.
    pub fn of(message: &Message) -> Option<Identity> {
        let headers: Option<Map> = message.application_headers();
        let said = headers.as_ref()?.get(IDENTITY).and_then(Value::as_str)?;
        Identity::parse(said)
    }
}

/// A message that says which it is. It is known by what it came with over a link, if it did, else as the
/// broker of this `run` has it; without one it says nothing.
pub fn identified(message: Arc<Message>, stored: &Stored, run: u64) -> Arc<Message> {
    let has_come_by_link = stored.publisher == ConnectionKey::LINK;
    if run == 0 || has_come_by_link && Identity::of(&message).is_some() {
        return message;
    }
    let text = Identity::new(run, stored.handle).text();
    let added = vec![(IDENTITY.into(), Value::Str16(text))];
    Arc::new(message.with_headers(added))
}

/// The last [`limits::SEEN_MAX`] messages that have come over links, each with the exchange at which it came.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Seen {
    /// In the order in which they came.
    order: VecDeque<(Text, Identity)>,
    /// Follows from the above.
    known: BTreeMap<Text, BTreeSet<Identity>>,
}

impl Seen {
    /// Whether a message has come at an exchange.
    pub fn holds(&self, exchange: &str, identity: Identity) -> bool {
        let at = self.known.get(exchange);
        at.is_some_and(|known| known.contains(&identity))
    }

    /// A message has come at an exchange.
    pub fn add(&mut self, exchange: &Text, identity: Identity) {
        let known = self.known.entry(exchange.clone()).or_default();
        if !known.insert(identity) {
            return;
        }
        self.order.push_back((exchange.clone(), identity));
        if self.order.len() > limits::SEEN_MAX {
            self.forget_first();
        }
    }

    fn forget_first(&mut self) {
        let Some((exchange, identity)) = self.order.pop_front() else {
            return;
        };
        if let Some(known) = self.known.get_mut(&exchange) {
            known.remove(&identity);
            if known.is_empty() {
                self.known.remove(&exchange);
            }
        }
    }
}

impl Record for Seen {
    fn encode(&self, to: &mut Encoder) {
        self.order.encode(to);
    }
    fn decode(from: &mut Decoder<'_>) -> Result<Self, EncodingError> {
        let mut seen = Seen::default();
        for (exchange, identity) in VecDeque::<(Text, Identity)>::decode(from)? {
            seen.add(&exchange, identity);
        }
        Ok(seen)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn identity(index: u64) -> Identity {
        Identity {
            run: 7,
            index,
            n: 3,
        }
    }

    #[test]
    fn an_identity_is_read_as_it_is_written_and_nothing_else_is_one() {
        let one = identity(u64::MAX);
        assert_eq!(Identity::parse(&one.text()), Some(one));
        let text = one.text();
        let short = text.get(1..).unwrap();
        for wrong in [
            "",
            short,
            &format!("+{short}"),
            &format!("{}0", one.text()),
            &"é".repeat(20),
        ] {
            assert_eq!(Identity::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_message_counts_by_exchange_and_the_oldest_are_forgotten() {
        let mut seen = Seen::default();
        for index in 0..=limits::SEEN_MAX as u64 {
            seen.add(&"e".into(), identity(index));
        }
        assert!(!seen.holds("e", identity(0)) && seen.holds("e", identity(1)));
        assert!(!seen.holds("f", identity(1)));
        seen.add(&"e".into(), identity(1));
        assert!(
            seen.holds("e", identity(2)),
            "what is known is not counted again"
        );
    }
}
