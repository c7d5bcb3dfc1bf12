//! Arguments of a queue: their names, forms and defaults, as Qpid's tools and clients give them.

use super::queue::DepthLimit;
use crate::wire::{Map, Value};

/// Messages at most.
pub const MAX_COUNT: &str = "qpid.max_count";
/// Octets at most; 0 is no limit.
pub const MAX_SIZE: &str = "qpid.max_size";

/// Keep out what the queue's own connection publishes. No prefix, as Qpid has it.
pub const NO_LOCAL: &str = "no-local";

/// Arguments that Qpid's broker honours and this one only keeps and returns, so far: whoever
/// declares a queue with one is told in the log.
pub const WITHOUT_EFFECT: [&str; 27] = [
    "qpid.policy_type",
    "qpid.flow_stop_count",
    "qpid.flow_stop_size",
    "qpid.flow_resume_count",
    "qpid.flow_resume_size",
    "qpid.alert_count",
    "qpid.alert_size",
    "qpid.alert_count_up",
    "qpid.alert_size_up",
    "qpid.last_value_queue_key",
    "qpid.last_value_queue",
    "qpid.last_value_queue_no_browse",
    "qpid.priorities",
    "x-qpid-priorities",
    "qpid.fairshare",
    "x-qpid-fairshare",
    "qpid.group_header_key",
    "qpid.shared_msg_group",
    "qpid.group_timestamp",
    "qpid.auto_delete_timeout",
    "qpid.lifetime-policy",
    "qpid.browse-only",
    "qpid.trace.id",
    "qpid.trace.exclude",
    "qpid.queue_msg_sequence",
    "qpid.filter",
    "qpid.paging",
];

/// Whether a binding with these arguments ends with the session that made it.
pub fn is_session_scoped(arguments: &Map) -> bool {
    arguments.get("x-scope").and_then(Value::as_str) == Some("session")
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
/// digits; anything else is refused.
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

/// How much a queue with these arguments holds.
pub fn depth_limit(arguments: &Map, default_bytes: u64) -> Result<DepthLimit, String> {
    let count = number(arguments, MAX_COUNT)?;
    let bytes = number(arguments, MAX_SIZE)?.unwrap_or(default_bytes);
    Ok(DepthLimit {
        count: count.filter(|n| *n > 0),
        bytes: Some(bytes).filter(|n| *n > 0),
    })
}
