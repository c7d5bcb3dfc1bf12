//! Queues of other kinds than plain ones: a run has some of them. What such a kind drops is no loss, and
//! nothing else may be.

use std::collections::BTreeMap;

use ferrymq::cluster::lockstep::dice::Dice;
use ferrymq::wire::{DeliveryPriority, DeliveryProperties, Map, Value};

use super::ledger::{Certainty, Item, Key, Ledger, NOBODY};

/// What a queue is apart from plain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Of each key it has the last message.
    LastValue,
    /// The highest priority goes out first.
    Priority,
    /// All that is held of a group is one subscription's.
    Groups,
    /// The oldest messages make room.
    Ring,
}

/// The queues of a kind, by what they are called.
pub const KINDS: [(&str, Kind); 4] = [
    ("last value", Kind::LastValue),
    ("priority", Kind::Priority),
    ("groups", Kind::Groups),
    ("ring", Kind::Ring),
];

/// A run has each of these queues with this chance, in a thousand.
const CHOSEN: u32 = 400;

/// Messages that the ring holds.
pub const RING_MAX: u32 = 12;

/// Different keys, and groups.
const KEYS: u64 = 5;

/// Levels of priority that messages have.
pub const LEVELS: u64 = 4;

/// The headers that say the key and the group.
const KEY: &str = "key";
const GROUP: &str = "group";

/// The queues of a kind that a run has.
pub fn chosen(seed: u64) -> Vec<&'static str> {
    let mut dice = Dice::new(seed ^ 0x4B1D_0F00);
    let names = KINDS.iter().map(|(name, _)| *name);
    names.filter(|_| dice.chance(CHOSEN)).collect()
}

/// The kind of a queue; None for plain ones.
pub fn kind(queue: &str) -> Option<Kind> {
    let found = KINDS.iter().find(|(name, _)| *name == queue);
    found.map(|(_, kind)| *kind)
}

impl Kind {
    /// Whether what is rejected goes where such messages go: not where a message may be gone before.
    pub fn has_dead(self) -> bool {
        matches!(self, Kind::Priority | Kind::Groups)
    }

    /// The arguments of the declaration.
    pub fn arguments(self) -> Map {
        let text = |value: &str| Value::Str16(value.into());
        let pairs = match self {
            Kind::LastValue => vec![("qpid.last_value_queue_key", text(KEY))],
            Kind::Priority => vec![("qpid.priorities", Value::U32(10))],
            Kind::Groups => vec![
                ("qpid.group_header_key", text(GROUP)),
                ("qpid.shared_msg_group", Value::U32(1)),
            ],
            Kind::Ring => vec![
                ("qpid.policy_type", text("ring")),
                ("qpid.max_count", Value::U32(RING_MAX)),
            ],
        };
        Map::from_iter(pairs)
    }

    /// Gives a message what it must say in a queue of this kind.
    pub fn mark(self, uid: u64, delivery: &mut DeliveryProperties, headers: &mut Map) {
        let name = match self {
            Kind::Priority => {
                let priority = 2 * level_of(uid) as u8 + 1;
                delivery.priority = Some(DeliveryPriority(priority));
                return;
            }
            Kind::LastValue => KEY,
            Kind::Groups => GROUP,
            Kind::Ring => return,
        };
        let value = format!("{name} {}", key_of(uid));
        headers.insert(name, Value::Str16(value.as_str().into()));
    }
}

/// The key of a message, or its group.
pub fn key_of(uid: u64) -> u64 {
    uid / 2 % KEYS
}

/// Which level of priority a message has, from 0 on.
pub fn level_of(uid: u64) -> u64 {
    uid / 3 % LEVELS
}

/// Messages of a queue that go out in their order, though others may overtake them.
pub fn lane(queue: &str, uid: u64) -> u64 {
    match kind(queue) {
        Some(Kind::Priority) => level_of(uid),
        Some(Kind::Groups) => key_of(uid),
        Some(Kind::LastValue | Kind::Ring) | None => 0,
    }
}

/// Whether one message is certainly before another in their queue, since one publisher sent both.
pub fn is_sent_before((_, one): &Entry<'_>, (_, other): &Entry<'_>) -> bool {
    let (publisher, place) = one.publisher;
    publisher != NOBODY && publisher == other.publisher.0 && place < other.publisher.1
}

/// A message in the ledger.
pub type Entry<'a> = (&'a Key, &'a Item);

/// Whether one is certainly before another in their queue.
pub type Before<'a> = &'a dyn Fn(&Entry<'_>, &Entry<'_>) -> bool;

impl Ledger {
    /// Judges what is left in queues of a kind, given what is known of the order in them.
    pub fn judge_kinds(&self, is_before: Before<'_>) -> Result<(), String> {
        let mut keys: BTreeMap<u64, Vec<Entry<'_>>> = BTreeMap::new();
        let mut ring = Vec::new();
        for (key, item) in self.items() {
            if item.is_published == Certainty::No {
                continue;
            }
            match kind(&key.0) {
                Some(Kind::LastValue) => keys.entry(key_of(key.1)).or_default().push((key, item)),
                Some(Kind::Ring) => ring.push((key, item)),
                _ => {}
            }
        }
        for of_key in keys.values() {
            judge_key(of_key, is_before)?;
        }
        judge_ring(&ring, is_before)
    }
}

/// Of a key at most one message is left, and none that a later one has replaced; it is the newest, unless
/// somebody took that.
fn judge_key(all: &[Entry<'_>], is_before: Before<'_>) -> Result<(), String> {
    let is_certain = |entry: &Entry<'_>| entry.1.is_published == Certainty::Yes;
    let is_replaced = |entry: &Entry<'_>| {
        all.iter()
            .any(|other| is_certain(other) && is_before(entry, other))
    };
    let left: Vec<&Key> = all
        .iter()
        .filter(|(_, item)| item.left.is_some())
        .map(|(key, _)| *key)
        .collect();
    if left.len() > 1 {
        return Err(format!("{left:?} of one key are left"));
    }
    if let Some(old) = all
        .iter()
        .find(|entry| entry.1.left.is_some() && is_replaced(entry))
    {
        return Err(format!("{old:?} is left, and a later one of its key came"));
    }
    let mut newest = all.iter().filter(|entry| !is_replaced(entry));
    let is_kept = newest.all(|(_, item)| !item.may_be_settled() && item.expires.is_none());
    match left.is_empty() && is_kept && all.iter().any(is_certain) {
        true => Err(format!("the last value is lost of {:?}", all[0].0)),
        false => Ok(()),
    }
}

/// No more is left than the ring holds; what it dropped has made room for so many others, and no older one
/// is there.
fn judge_ring(all: &[Entry<'_>], is_before: Before<'_>) -> Result<(), String> {
    let left = all.iter().filter(|(_, item)| item.left.is_some());
    if left.clone().count() > RING_MAX as usize {
        return Err(format!("{} are left in the ring", left.count()));
    }
    for dropped in all {
        let item = dropped.1;
        let is_dropped = item.is_published == Certainty::Yes
            && item.left.is_none()
            && item.expires.is_none()
            && !item.may_be_settled();
        if !is_dropped {
            continue;
        }
        let (key, is_earlier) = (dropped.0, |other: &Entry<'_>| is_before(other, dropped));
        if let Some((older, _)) = left.clone().find(|other| is_earlier(other)) {
            return Err(format!("{key:?} was dropped, and {older:?} is older"));
        }
        let later = all
            .iter()
            .filter(|other| other.0 != key && !is_earlier(other));
        if later.clone().count() < RING_MAX as usize {
            let count = later.count();
            return Err(format!("{key:?} was dropped to make room for {count}"));
        }
    }
    Ok(())
}
