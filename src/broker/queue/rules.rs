//! Which messages come into a queue, and what it adds to those that go out of it. What is added
//! follows from the queue, the message and its position, so nothing of it is kept: it is put on at the
//! delivery, and a message that is rerouted has none of it.

use std::sync::Arc;

use crate::broker::arguments;
use crate::broker::encoding::record;
use crate::broker::message::Message;
use crate::broker::queue::Entry;
use crate::broker::selected::Selected;
use crate::broker::selector::Selector;
use crate::wire::{Map, Text, Value};

/// The header with the trace of a message: identities of where it has been, with commas between.
/// Federation of Qpid brokers relies on it.
const TRACE: &str = "x-qpid.trace";

/// See the module.
#[derive(Clone, Debug, Hash)]
pub struct Rules {
    /// `qpid.filter`: only what it matches comes in.
    filter: Option<Selector>,
    /// `qpid.trace.exclude`: what has one of these in its trace does not.
    excluded: Vec<Text>,
    /// `qpid.trace.id`: appended to the trace.
    trace: Option<Text>,
    /// `qpid.queue_msg_sequence`: the header that says the position.
    sequence: Option<Text>,
    /// `qpid.insert_sequence_numbers`: the same, in 64 bits.
    inserted: Option<Text>,
}
record!(Rules {
    filter,
    excluded,
    trace,
    sequence
} since 3 {
    inserted = None,
});

impl Rules {
    /// Of a queue with these arguments; None when there is nothing to look at. As in qpidd a last value
    /// queue says no positions.
    ///
    /// # Errors
    /// The filter is no selector.
    pub fn of(arguments: &Map, is_last_value: bool) -> Result<Option<Box<Rules>>, String> {
        let text = |name| arguments::text(arguments, name);
        let filter = text(arguments::FILTER).map(|text| {
            let parsed = Selector::parse(&text);
            parsed.map_err(|error| format!("Illegal selector: {error}"))
        });
        let excluded = text(arguments::TRACE_EXCLUDE).unwrap_or_default();
        let excluded = excluded.split([',', ' ']).filter(|id| !id.is_empty());
        let rules = Rules {
            filter: filter.transpose()?,
            excluded: excluded.map(Text::from).collect(),
            trace: text(arguments::TRACE_ID),
            sequence: text(arguments::MESSAGE_SEQUENCE).filter(|_| !is_last_value),
            inserted: text(arguments::INSERTED_SEQUENCE),
        };
        let Rules {
            filter,
            excluded,
            trace,
            sequence,
            inserted,
        } = &rules;
        let is_some = filter.is_some() || !excluded.is_empty() || trace.is_some();
        let says_positions = sequence.is_some() || inserted.is_some();
        Ok((is_some || says_positions).then_some(Box::new(rules)))
    }

    /// Whether messages are numbered for whoever takes them as events.
    pub fn number(&self) -> bool {
        self.inserted.is_some()
    }

    /// Whether a message may come in.
    pub fn admit(&self, message: &Message) -> bool {
        let matches = |filter: &Selector| filter.matches(&Selected::of_published(message));
        let is_excluded = || {
            let headers = message.application_headers().unwrap_or_default();
            let trace = trace_of(&headers);
            let mut passed = trace.split(',');
            passed.any(|id| self.excluded.iter().any(|excluded| excluded == id))
        };
        self.filter.as_ref().is_none_or(matches) && (self.excluded.is_empty() || !is_excluded())
    }

    /// A message as it goes out.
    pub fn delivered(&self, position: u64, entry: &Entry) -> Arc<Message> {
        let added = self.added(position, entry);
        match added.is_empty() {
            true => entry.stored.message.clone(),
            false => Arc::new(entry.stored.message.with_headers(added)),
        }
    }

    /// Headers that a message has when it goes out, beside its own; empty for none.
    fn added(&self, position: u64, entry: &Entry) -> Vec<(Text, Value)> {
        let mut added = Vec::new();
        if let Some(name) = &self.sequence {
            // A sequence number of qpidd has 32 bits and wraps.
            added.push((name.clone(), Value::U32(position as u32)));
        }
        if let Some(name) = &self.inserted {
            let position = i64::try_from(position).unwrap_or(i64::MAX);
            added.push((name.clone(), Value::I64(position)));
        }
        if let Some(id) = &self.trace {
            let headers = entry.stored.message.application_headers();
            let headers = headers.unwrap_or_default();
            let trace = match trace_of(&headers) {
                "" => id.to_string(),
                trace => format!("{trace},{id}"),
            };
            added.push((TRACE.into(), Value::Str16(trace.into())));
        }
        added
    }
}

fn trace_of(headers: &Map) -> &str {
    headers.get(TRACE).and_then(Value::as_str).unwrap_or("")
}
