//! Which messages have come over links, so that one that comes by several ways, or again, counts once.
//!
//! A message that leaves a broker over a link says which it is ([`Identity`]), and keeps that on all further
//! links. A broker that has had it at the same exchange takes it for done. Only what has come over a link is
//! believed: the identity that some client puts on a message is replaced when it leaves, so that whoever
//! publishes again what he was given has published another message.

use std::collections::{BTreeMap, VecDeque};

use super::encoding::{Decoder, Encoder, EncodingError, Record, record};
use super::ids::ConnectionKey;
use super::limits;
use super::message::{BodyHandle, Message, Stored};
use crate::wire::Text;

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

const DIGITS: [u8; 16] = *b"0123456789abcdef";

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
        let number = u128::from(run) << 64 | u128::from(index);
        let mut octets = [0; TEXT_BYTES];
        for (place, octet) in octets.iter_mut().enumerate() {
            let digit = match place {
                0..32 => number >> (4 * (31 - place)),
                _ => u128::from(n) >> (4 * (39 - place)),
            };
            *octet = DIGITS
                .get((digit & 0xf) as usize)
                .copied()
                .unwrap_or_default();
        }
        std::str::from_utf8(&octets).unwrap_or_default().into()
    }

    /// What a header says, if it is one.
    pub fn parse(text: &str) -> Option<Identity> {
        if text.len() != TEXT_BYTES {
            return None;
        }
        let word = |from: usize, to: usize| {
            let digits = text.get(from..to)?.chars();
            digits
                .map(|digit| digit.to_digit(16))
                .try_fold(0, |word, digit| Some(word << 4 | u64::from(digit?)))
        };
        Some(Identity {
            run: word(0, 16)?,
            index: word(16, 32)?,
            n: u32::try_from(word(32, TEXT_BYTES)?).ok()?,
        })
    }

    /// What a message says of itself.
    pub fn of(message: &Message) -> Option<Identity> {
        Identity::parse(message.application_header(IDENTITY)?)
    }

    /// What is to be added to a message so that it says which it is; None when it says so itself, or nothing
    /// is to be said. It is known by what it came with over a link, if it did, else as the broker of this
    /// `run` has it; without one it says nothing.
    pub fn to_add(stored: &Stored, run: u64) -> Option<Identity> {
        let has_come_by_link = stored.publisher == ConnectionKey::LINK;
        let is_said = has_come_by_link && Identity::of(&stored.message).is_some();
        (run != 0 && !is_said).then(|| Identity::new(run, stored.handle))
    }
}

/// Messages of one entry of one broker that have come at one exchange one after the other.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Run {
    exchange: Text,
    /// The first of them.
    first: Identity,
    /// The last of them is that of this `n`.
    last: u32,
}
record!(Run {
    exchange,
    first,
    last
});

impl Run {
    fn count(&self) -> usize {
        (self.last - self.first.n) as usize + 1
    }
}

/// Of one entry of one broker: each first `n` of those that are known, and the last one that follows without
/// a gap.
type Known = BTreeMap<Identity, u32>;

/// The last messages that have come over links, each with the exchange at which it came: at least
/// [`limits::SEEN_MAX`]. They mostly come in runs, which are kept as such.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Seen {
    /// In the order in which they came.
    runs: VecDeque<Run>,
    /// How many messages these are.
    count: usize,
    /// Follows from the above.
    known: BTreeMap<Text, Known>,
}

/// The first message of those behind which there is no gap before `identity`, and the last `n` of them, if
/// `identity` is theirs or follows on them.
fn around(known: &Known, identity: Identity) -> Option<(Identity, u32)> {
    let (first, last) = known.range(..=identity).next_back()?;
    let is_theirs = (first.run, first.index) == (identity.run, identity.index);
    (is_theirs && identity.n <= last.saturating_add(1)).then_some((*first, *last))
}

impl Seen {
    /// Whether a message has come at an exchange.
    pub fn holds(&self, exchange: &str, identity: Identity) -> bool {
        let known = self.known.get(exchange);
        let around = known.and_then(|known| around(known, identity));
        around.is_some_and(|(_, last)| identity.n <= last)
    }

    /// A message has come at an exchange.
    pub fn add(&mut self, exchange: &str, identity: Identity) {
        if !self.know(exchange, identity, identity.n) {
            return;
        }
        self.count += 1;
        let follows = |run: &&mut Run| {
            run.first.run == identity.run
                && run.first.index == identity.index
                && run.last.checked_add(1) == Some(identity.n)
                && run.count() < limits::SEEN_RUN_MAX
                && run.exchange == exchange
        };
        match self.runs.back_mut().filter(follows) {
            Some(run) => run.last = identity.n,
            None => self.runs.push_back(Run {
                exchange: exchange.into(),
                first: identity,
                last: identity.n,
            }),
        }
        while let Some(first) = self.runs.front()
            && self.count - first.count() >= limits::SEEN_MAX
        {
            self.forget_first();
        }
    }

    /// Knows all from `first` to that of the `n` `last`, of which none is known, or only the first; false
    /// when that is.
    fn know(&mut self, exchange: &str, first: Identity, last: u32) -> bool {
        if !self.known.contains_key(exchange) {
            self.known.insert(exchange.into(), Known::new());
        }
        let Some(known) = self.known.get_mut(exchange) else {
            return false;
        };
        let mut whole = (first, last);
        match around(known, first) {
            Some((_, end)) if first.n <= end => return false,
            Some((before, _)) => whole.0 = before,
            None => {}
        }
        let behind = last.checked_add(1).map(|n| Identity { n, ..first });
        if let Some(end) = behind.and_then(|behind| known.remove(&behind)) {
            whole.1 = end;
        }
        known.insert(whole.0, whole.1);
        true
    }

    fn forget_first(&mut self) {
        let Some(run) = self.runs.pop_front() else {
            return;
        };
        self.count -= run.count();
        let Some(known) = self.known.get_mut(&run.exchange) else {
            return;
        };
        if let Some((first, last)) = around(known, run.first) {
            known.remove(&first);
            if first.n < run.first.n {
                known.insert(first, run.first.n - 1);
            }
            if run.last < last {
                let n = run.last + 1;
                known.insert(Identity { n, ..run.first }, last);
            }
        }
        if known.is_empty() {
            self.known.remove(&run.exchange);
        }
    }
}

impl Record for Seen {
    fn encode(&self, to: &mut Encoder) {
        self.runs.encode(to);
    }
    fn decode(from: &mut Decoder<'_>) -> Result<Self, EncodingError> {
        let mut seen = Seen::default();
        for run in VecDeque::<Run>::decode(from)? {
            if run.last < run.first.n || run.count() > limits::SEEN_RUN_MAX {
                return Err(from.error("run of messages seen"));
            }
            if !seen.know(&run.exchange, run.first, run.last) {
                return Err(from.error("messages seen twice"));
            }
            seen.count += run.count();
            seen.runs.push_back(run);
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

    fn of_entry(index: u64, n: u32) -> Identity {
        Identity { run: 7, index, n }
    }

    #[test]
    fn a_message_counts_by_exchange_and_the_oldest_are_forgotten() {
        let mut seen = Seen::default();
        for index in 0..=limits::SEEN_MAX as u64 {
            seen.add("e", identity(index));
        }
        assert!(!seen.holds("e", identity(0)) && seen.holds("e", identity(1)));
        assert!(!seen.holds("f", identity(1)));
        seen.add("e", identity(1));
        assert!(
            seen.holds("e", identity(2)),
            "what is known is not counted again"
        );
    }

    #[test]
    fn messages_of_an_entry_are_known_one_by_one_in_whatever_order_they_come() {
        let mut seen = Seen::default();
        let came = [5, 6, 7, 1, 0, 9, 3, u32::MAX, 2, 8, u32::MAX - 1];
        for (count, n) in came.iter().enumerate() {
            for other in came {
                let has_come = came[..count].contains(&other);
                assert_eq!(
                    seen.holds("e", of_entry(1, other)),
                    has_come,
                    "{other} before {n}"
                );
            }
            seen.add("e", of_entry(1, *n));
            assert!(!seen.holds("e", of_entry(0, *n)) && !seen.holds("e", of_entry(2, *n)));
        }
        assert!(!seen.holds("e", of_entry(1, 4)) && !seen.holds("e", of_entry(1, 10)));
    }

    #[test]
    fn whole_runs_are_forgotten_and_no_more_than_that() {
        let mut seen = Seen::default();
        let runs = limits::SEEN_MAX / limits::SEEN_RUN_MAX + 1;
        for index in 0..runs as u64 {
            for n in 0..limits::SEEN_RUN_MAX as u32 {
                seen.add("e", of_entry(index, n));
            }
        }
        let of_all = |seen: &Seen, index: u64| {
            (0..limits::SEEN_RUN_MAX as u32)
                .filter(|n| seen.holds("e", of_entry(index, *n)))
                .count()
        };
        assert_eq!(of_all(&seen, 0), 0);
        assert_eq!(of_all(&seen, 1), limits::SEEN_RUN_MAX);
        assert_eq!(seen.count, limits::SEEN_MAX);
    }

    #[test]
    fn what_is_forgotten_of_an_entry_leaves_what_came_before_and_behind_it() {
        let mut seen = Seen::default();
        seen.add("e", of_entry(1, 5));
        seen.add("e", of_entry(1, 4));
        seen.add("e", of_entry(1, 6));
        seen.forget_first();
        let known = |seen: &Seen| [4, 5, 6].map(|n| seen.holds("e", of_entry(1, n)));
        assert_eq!(known(&seen), [true, false, true]);
        seen.forget_first();
        assert_eq!(known(&seen), [false, false, true]);
        seen.forget_first();
        assert_eq!(seen, Seen::default());
    }

    #[test]
    fn what_has_been_seen_is_read_as_it_is_written() {
        let mut seen = Seen::default();
        for (exchange, index, n) in [
            ("e", 1, 0),
            ("e", 1, 1),
            ("f", 1, 2),
            ("e", 1, 2),
            ("e", 2, 0),
        ] {
            seen.add(exchange, of_entry(index, n));
        }
        let mut to = Encoder::default();
        seen.encode(&mut to);
        let read = Seen::decode(&mut Decoder::new(&to.bytes));
        assert_eq!(read, Ok(seen));
    }
}
