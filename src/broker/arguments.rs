//! Arguments of queues and exchanges: their names and the forms of their values, as Qpid's tools and
//! clients give them. What follows from them is in `queue/settings.rs` and `routed.rs`.

use super::origins;
use crate::wire::{Map, Text, Value};

/// Messages at most.
pub const MAX_COUNT: &str = "qpid.max_count";
/// Octets at most; 0 is no limit.
pub const MAX_SIZE: &str = "qpid.max_size";
/// What becomes of a message that would pass a limit.
pub const POLICY_TYPE: &str = "qpid.policy_type";
/// Above so many messages transfers are not completed; 0 is never.
pub const FLOW_STOP_COUNT: &str = "qpid.flow_stop_count";
/// Above so many octets transfers are not completed; 0 is never.
pub const FLOW_STOP_SIZE: &str = "qpid.flow_stop_size";
/// Below so many messages they are completed again.
pub const FLOW_RESUME_COUNT: &str = "qpid.flow_resume_count";
/// Below so many octets they are completed again.
pub const FLOW_RESUME_SIZE: &str = "qpid.flow_resume_size";
/// From so many messages on an alert is due; three names for it, the last one is of other Qpid
/// brokers.
pub const ALERT_COUNT: [&str; 3] = [
    "qpid.alert_count",
    "qpid.alert_count_up",
    "x-qpid-maximum-message-count",
];
/// From so many octets on an alert is due.
pub const ALERT_SIZE: [&str; 3] = [
    "qpid.alert_size",
    "qpid.alert_size_up",
    "x-qpid-maximum-message-size",
];
/// Down to so many messages the next alert is armed.
pub const ALERT_COUNT_DOWN: &str = "qpid.alert_count_down";
/// Down to so many octets the next alert is armed.
pub const ALERT_SIZE_DOWN: &str = "qpid.alert_size_down";
/// Seconds between two alerts: read, and without effect as in qpidd.
pub const ALERT_REPEAT_GAP: [&str; 2] =
    ["qpid.alert_repeat_gap", "x-qpid-minimum-alert-repeat-gap"];
/// The header whose value only one message has.
pub const LAST_VALUE_KEY: &str = "qpid.last_value_queue_key";
/// Older forms of the same: their presence is enough.
pub const LAST_VALUE_LEGACY: [&str; 2] =
    ["qpid.last_value_queue", "qpid.last_value_queue_no_browse"];
/// The header that the older forms mean.
pub const LAST_VALUE_LEGACY_HEADER: &str = "qpid.LVQ_key";
/// Levels of priority.
pub const PRIORITIES: [&str; 2] = ["qpid.priorities", "x-qpid-priorities"];
/// Messages in a row of one level, before a lower one has its turn. With `-N` behind it, of level N.
pub const FAIRSHARE: [&str; 2] = ["qpid.fairshare", "x-qpid-fairshare"];
/// The header that says which group a message is of.
pub const GROUP_KEY: &str = "qpid.group_header_key";
/// Whether consumers share the groups, which must be said.
pub const GROUP_SHARED: &str = "qpid.shared_msg_group";
/// Whether a group is shown with the time of its oldest message.
pub const GROUP_TIMESTAMP: &str = "qpid.group_timestamp";
/// Seconds between a queue's becoming unused and its deletion.
pub const AUTO_DELETE_TIMEOUT: &str = "qpid.auto_delete_timeout";
/// When a queue goes by itself.
pub const LIFETIME_POLICY: &str = "qpid.lifetime-policy";
/// Nobody takes messages away.
pub const BROWSE_ONLY: &str = "qpid.browse-only";
/// What is appended to the trace of messages that pass through.
pub const TRACE_ID: &str = "qpid.trace.id";
/// Messages with one of these in their trace do not come in.
pub const TRACE_EXCLUDE: &str = "qpid.trace.exclude";
/// The header that says a message's position.
pub const MESSAGE_SEQUENCE: &str = "qpid.queue_msg_sequence";
/// An older form of the same: the header has 64 bits.
pub const INSERTED_SEQUENCE: &str = "qpid.insert_sequence_numbers";
/// Of what the queue gives events, to be replicated elsewhere: 1 of messages that come, 2 of those that
/// leave, too.
pub const EVENT_GENERATION: &str = "qpid.queue_event_generation";
/// Only what this selector matches comes in.
pub const FILTER: &str = "qpid.filter";
/// For which reasons messages that die go to the alternate exchange, beside those for which they always
/// do; and whether rejected ones say so there. This broker's own.
pub const DEAD_LETTER: &str = "qpid.dead_letter";
/// After so many deliveries that came to nothing a message dies; 0 is never. This broker's own.
pub const MAX_DELIVERY_COUNT: &str = "qpid.max_delivery_count";
/// Keep out what the queue's own connection publishes. No prefix, as Qpid has it.
pub const NO_LOCAL: &str = "no-local";
/// Whether bodies leave the memory: here those of all queues do when memory is short.
pub const PAGING: &str = "qpid.paging";
/// Arguments of paged queues alone.
pub const PAGES: [&str; 2] = ["qpid.max_pages_loaded", "qpid.page_factor"];

/// Of an exchange: every message gets a header of this name with its number. The presence is enough.
pub const EXCHANGE_SEQUENCE: &str = "qpid.msg_sequence";
/// Of an exchange whose messages are numbered: the number of the last one, where it is declared anew.
pub const SEQUENCE_COUNTER: &str = "qpid.sequence_counter";
/// Of an exchange: a queue that is bound gets the message that was routed last. The presence is enough.
pub const INITIAL_VALUE: &str = "qpid.ive";

/// Whether a binding with these arguments ends with the session that made it.
pub fn is_session_scoped(arguments: &Map) -> bool {
    let scope = arguments.get("x-scope").and_then(Value::as_str);
    scope == Some("session") || origins::is_of_link(arguments)
}

/// Whether a flag is set: a truth value, a number that is not 0, or text other than `false` and `0`.
pub fn flag(arguments: &Map, name: &str) -> bool {
    match arguments.get(name) {
        None => false,
        Some(value) => match (value.as_bool(), value.as_str()) {
            (Some(truth), _) => truth,
            (None, Some(text)) => !matches!(text, "" | "0") && !text.eq_ignore_ascii_case("false"),
            (None, None) => value.as_i64().is_none_or(|number| number != 0),
        },
    }
}

/// A whole number that is not negative. As in qpidd any integer type will do and so will text of
/// digits.
///
/// # Errors
/// It is anything else. The text is qpidd's.
pub fn number(arguments: &Map, name: &str) -> Result<Option<u64>, String> {
    let Some(value) = arguments.get(name) else {
        return Ok(None);
    };
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let parsed = match value {
        Value::F32(_) | Value::F64(_) => None,
        other => other.as_u64().or_else(|| {
            let text = other.as_str()?;
            digits(text).then(|| text.parse().ok()).flatten()
        }),
    };
    let what = value.text().unwrap_or_else(|| "another type".to_owned());
    parsed
        .map(Some)
        .ok_or_else(|| format!("Cannot interpret {name} value {what} as a number"))
}

/// A number that qpidd keeps in 32 bits.
///
/// # Errors
/// It is no number, or a larger one.
pub fn number_of_32_bits(arguments: &Map, name: &str) -> Result<Option<u32>, String> {
    let Some(number) = number(arguments, name)? else {
        return Ok(None);
    };
    let narrow = u32::try_from(number);
    narrow
        .map(Some)
        .map_err(|_| format!("The {name} value {number} is more than {}", u32::MAX))
}

/// The number under the first of some names that is there.
///
/// # Errors
/// As for [`number`].
pub fn number_of_any(arguments: &Map, names: &[&str]) -> Result<Option<u64>, String> {
    let found = names.iter().find(|name| arguments.contains(name));
    found.map_or(Ok(None), |name| number(arguments, name))
}

/// Text, or what a value reads as; None when it is not there or empty.
pub fn text(arguments: &Map, name: &str) -> Option<Text> {
    let value = arguments.get(name)?;
    let text = match value.as_str() {
        Some(text) => text.into(),
        None => Text::from(value.text()?),
    };
    (!text.is_empty()).then_some(text)
}
