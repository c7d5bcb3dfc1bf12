//! What follows from a queue's arguments, and which of them exclude each other. Names and value forms
//! are in `broker/arguments.rs`; which combinations are refused, and the defaults, are qpidd's.

use super::alerts::Alerts;
use super::flow::Flow;
use super::groups::Groups;
use super::kind::Kind;
use super::last_value::LastValue;
use super::lifetime::Lifetime;
use super::policy::{DepthLimit, Policy};
use super::priority::{Levels, Shares};
use super::rules::Rules;
use crate::broker::arguments::{self, number, number_of_32_bits, number_of_any, text};
use crate::broker::dead::DeadLetters;
use crate::broker::limits;
use crate::broker::options::Options;
use crate::broker::replication::{self, Generation};
use crate::wire::{Map, Text, Value};

/// See the module.
#[derive(Clone, Debug)]
pub struct Settings {
    /// How much the queue holds.
    pub limit: DepthLimit,
    /// What becomes of what would be more.
    pub policy: Policy,
    /// In which order its messages go out, and who may have which.
    pub kind: Kind,
    /// When publishers are held back.
    pub flow: Flow,
    /// When an alert is due.
    pub alerts: Alerts,
    /// Which messages come in, and what is added to them.
    pub rules: Option<Box<Rules>>,
    /// When it goes by itself.
    pub lifetime: Lifetime,
    /// `qpid.lifetime-policy` or `qpid.auto_delete_timeout` say that it goes by itself, or that it does
    /// not. None: what the declaration says.
    pub is_auto_delete: Option<bool>,
    /// Whether nobody takes messages away.
    pub is_browse_only: bool,
    /// Whether what its own connection publishes stays out.
    pub is_no_local: bool,
    /// What becomes of messages that die in it.
    pub dead_letters: DeadLetters,
    /// Of what it gives events.
    pub generation: Generation,
}

impl Settings {
    /// Of a queue that is declared with these arguments. `options` have what it does not say.
    ///
    /// # Errors
    /// A value is none, or arguments exclude each other: qpidd answers 542.
    pub fn of(name: &str, arguments: &Map, options: &Options) -> Result<Settings, String> {
        let defaults = &options.of_queues;
        let limit = depth_limit(arguments, options.default_queue_limit)?;
        let policy = policy(arguments);
        let kind = match kind(arguments, &defaults.message_group)? {
            Kind::Fifo if has_events(name, arguments, options) => {
                Kind::in_order(defaults.message_group.clone())
            }
            kind => kind,
        };
        refuse_paging_with(arguments)?;
        let lifetime = Lifetime::of(arguments)?;
        Ok(Settings {
            limit,
            policy,
            flow: match policy {
                // What is too much for a ring makes room for itself.
                Policy::Ring | Policy::RingStrict => Flow::none(arguments)?,
                Policy::Reject | Policy::SelfDestruct => {
                    Flow::of(name, arguments, limit, defaults)?
                }
            },
            alerts: Alerts::of(arguments, limit, defaults.alert_percent)?,
            rules: Rules::of(arguments, matches!(kind, Kind::LastValue(_)))?,
            kind,
            is_auto_delete: lifetime.is_auto_delete(arguments),
            lifetime,
            is_browse_only: arguments::flag(arguments, arguments::BROWSE_ONLY),
            is_no_local: arguments::flag(arguments, arguments::NO_LOCAL),
            dead_letters: DeadLetters::of(arguments)?,
            generation: match number(arguments, arguments::EVENT_GENERATION)? {
                None | Some(0) => Generation::None,
                Some(1) => Generation::Enqueues,
                Some(_) => Generation::All,
            },
        })
    }
}

impl Settings {
    /// Of a queue that was declared before and is there anew. What is refused now may have been taken by
    /// a former broker, without effect: then it has none.
    ///
    /// # Errors
    /// The limits are no numbers.
    pub fn recovered(name: &str, arguments: &Map, options: &Options) -> Result<Settings, String> {
        Settings::of(name, arguments, options).or_else(|_| {
            let former = [
                arguments::MAX_COUNT,
                arguments::MAX_SIZE,
                arguments::NO_LOCAL,
            ];
            let kept = arguments.iter().filter(|(name, _)| former.contains(name));
            let kept: Map = kept.map(|(name, value)| (name, value.clone())).collect();
            Settings::of(name, &kept, options)
        })
    }
}

fn depth_limit(arguments: &Map, default_bytes: u64) -> Result<DepthLimit, String> {
    let count = number_of_32_bits(arguments, arguments::MAX_COUNT)?;
    let bytes = number(arguments, arguments::MAX_SIZE)?.unwrap_or(default_bytes);
    Ok(DepthLimit {
        count: count.filter(|n| *n > 0).map(u64::from),
        bytes: Some(bytes).filter(|n| *n > 0),
    })
}

/// As in qpidd an unknown policy is no error and refuses. So does `flow_to_disk` of former brokers:
/// bodies leave the memory when it is short, whatever the queue.
fn policy(arguments: &Map) -> Policy {
    let policy = arguments
        .get(arguments::POLICY_TYPE)
        .and_then(Value::as_str);
    match policy {
        Some("ring") => Policy::Ring,
        Some("ring_strict") => Policy::RingStrict,
        Some("self-destruct") => Policy::SelfDestruct,
        _ => Policy::Reject,
    }
}

/// Whether a link takes events from a queue, which have to come to the other broker in their order: it
/// is where they go, or it numbers them.
fn has_events(name: &str, arguments: &Map, options: &Options) -> bool {
    let numbered = text(arguments, arguments::INSERTED_SEQUENCE);
    let is_numbered = numbered.is_some_and(|header| header == replication::NUMBER);
    is_numbered || !name.is_empty() && options.events_to.queue == name
}

fn both(one: &str, other: &str) -> String {
    format!("Cannot specify {one} and {other} for the same queue")
}

fn kind(arguments: &Map, default_group: &Text) -> Result<Kind, String> {
    let last_value = last_value_header(arguments);
    let levels = levels(arguments)?;
    let shares = shares(arguments, levels)?;
    let group = text(arguments, arguments::GROUP_KEY);
    let (last_value_key, priorities) = (arguments::LAST_VALUE_KEY, arguments::PRIORITIES[0]);
    if last_value.is_some() && levels > 0 {
        return Err(both(last_value_key, priorities));
    }
    if group.is_some() && last_value.is_some() {
        return Err(both(last_value_key, arguments::GROUP_KEY));
    }
    if group.is_some() && levels > 0 {
        return Err(both(priorities, arguments::GROUP_KEY));
    }
    let is_shared = arguments::flag(arguments, arguments::GROUP_SHARED);
    let only_with_group = [
        (is_shared, arguments::GROUP_SHARED),
        (
            arguments::flag(arguments, arguments::GROUP_TIMESTAMP),
            arguments::GROUP_TIMESTAMP,
        ),
    ];
    for (_, name) in only_with_group.into_iter().filter(|(is_set, _)| *is_set) {
        if group.is_none() {
            let key = arguments::GROUP_KEY;
            return Err(format!("Can only specify {name} if {key} is set"));
        }
    }
    if group.is_some() && !is_shared {
        return Err(format!(
            "Only shared groups are supported at present; {} is required if {} is set",
            arguments::GROUP_SHARED,
            arguments::GROUP_KEY
        ));
    }
    Ok(match (last_value, group, levels) {
        (Some(header), ..) => Kind::LastValue(Box::new(LastValue::new(header))),
        (_, Some(header), _) => Kind::Groups(Box::new(Groups::new(header, default_group.clone()))),
        (.., 0) => Kind::Fifo,
        _ => Kind::Priority(Box::new(Levels::new(levels, shares))),
    })
}

fn last_value_header(arguments: &Map) -> Option<Text> {
    let legacy = || {
        let mut names = arguments::LAST_VALUE_LEGACY.iter();
        let is_there = names.any(|name| arguments.contains(name));
        is_there.then(|| arguments::LAST_VALUE_LEGACY_HEADER.into())
    };
    text(arguments, arguments::LAST_VALUE_KEY).or_else(legacy)
}

/// How many levels of priority there are; 0 is none. A priority is an octet, so that more levels than
/// its values are no more than these.
fn levels(arguments: &Map) -> Result<usize, String> {
    let asked = number_of_any(arguments, &arguments::PRIORITIES)?.unwrap_or(0);
    let most = limits::PRIORITY_LEVELS_MAX;
    Ok(usize::try_from(asked).unwrap_or(most).min(most))
}

/// How many messages in a row each level gets, lowest level first; None where nobody asks for turns.
fn shares(arguments: &Map, levels: usize) -> Result<Option<Shares>, String> {
    let all = number_of_any(arguments, &arguments::FAIRSHARE)?.unwrap_or(0);
    let mut of_level = Vec::new();
    for (name, _) in arguments.iter() {
        let mut prefixes = arguments::FAIRSHARE.iter();
        let rest = prefixes.find_map(|prefix| name.strip_prefix(prefix)?.strip_prefix('-'));
        let Some(level) = rest else {
            continue;
        };
        let level: u32 = level
            .parse()
            .map_err(|_| format!("Cannot interpret {level} of {name} as a level"))?;
        of_level.push((level, number_of_32_bits(arguments, name)?.unwrap_or(0)));
    }
    of_level.sort_unstable();
    of_level.dedup_by_key(|(level, _)| *level);
    if all == 0 && of_level.is_empty() {
        return Ok(None);
    }
    if levels == 0 {
        let text = "Cannot specify fairshare settings when queue is not enabled for priorities";
        return Err(text.to_owned());
    }
    if of_level.len() > levels {
        return Err(format!(
            "Cannot have fairshare set for priority levels greater than {levels}"
        ));
    }
    let all = u32::try_from(all).unwrap_or(u32::MAX);
    let mut limits = vec![all; levels];
    for (level, share) in of_level {
        // As in qpidd a share of a level that is not there counts for nothing.
        if let Some(limit) = limits.get_mut(level as usize) {
            *limit = share;
        }
    }
    Ok(Some(Shares::new(limits)))
}

/// A paged queue of qpidd has its messages in files and knows neither keys, priorities nor groups.
fn refuse_paging_with(arguments: &Map) -> Result<(), String> {
    if arguments::flag(arguments, arguments::PAGING) {
        let excluded = [
            (
                last_value_header(arguments).is_some(),
                arguments::LAST_VALUE_KEY,
            ),
            (levels(arguments)? > 0, arguments::PRIORITIES[0]),
            (
                text(arguments, arguments::GROUP_KEY).is_some(),
                arguments::GROUP_KEY,
            ),
        ];
        let found = excluded.into_iter().find(|(is_set, _)| *is_set);
        return found.map_or(Ok(()), |(_, name)| Err(both(name, arguments::PAGING)));
    }
    for name in arguments::PAGES {
        if number(arguments, name)?.is_some_and(|pages| pages > 0) {
            let paging = arguments::PAGING;
            return Err(format!("Can only specify {name} if {paging} is set"));
        }
    }
    Ok(())
}
