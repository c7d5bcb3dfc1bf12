//! Message groups: as long as a consumer has acquired messages of a group, all of the group is for
//! that consumer alone, so that what belongs together is handled by one at a time and in order.
//!
//! Who may have what is found without a walk: for each owner, and for the groups that nobody owns, the
//! first messages of the groups are kept in order.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::last_value::header_text;
use crate::broker::blocks::Blocks;
use crate::broker::chunks::Chunks;
use crate::broker::encoding::{Decoder, Encoder, EncodingError, Record, record};
use crate::broker::held::{Derived, text_bytes};
use crate::broker::message::Message;
use crate::broker::options::DEFAULT_GROUP;
use crate::broker::slab::Slab;
use crate::broker::subscription::SubscriptionRef;
use crate::wire::Text;

/// A group that has messages.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Group {
    /// What its messages have in the header.
    pub name: Text,
    /// The consumer that has acquired messages of it.
    pub owner: Option<SubscriptionRef>,
    /// How many messages of it are acquired.
    pub acquired: u64,
    /// Where those are that can be had.
    available: Chunks<u64, ()>,
}
record!(Group {
    name,
    owner,
    acquired,
    available
});

impl Record for Arc<Group> {
    fn encode(&self, to: &mut Encoder) {
        (**self).encode(to);
    }
    fn decode(from: &mut Decoder<'_>) -> Result<Self, EncodingError> {
        Ok(Arc::new(Group::decode(from)?))
    }
}

impl Group {
    /// How many messages it has.
    pub fn messages(&self) -> u64 {
        self.available.len() + self.acquired
    }

    /// The first message that can be had.
    fn head(&self) -> Option<u64> {
        let (first, ()) = self.available.first()?;
        Some(*first)
    }
}

/// The first message of a group that can be had, and the group's slot.
type Head = (u64, u32);

/// See the module.
#[derive(Clone, Debug, Hash)]
pub struct Groups {
    /// The header that names the group.
    header: Text,
    groups: Slab<Arc<Group>>,
    names: Chunks<Text, u32>,
    /// The slot of the group of each message.
    of: Blocks<u32>,
    /// The first messages of the groups of each owner; None is nobody.
    heads: BTreeMap<Option<SubscriptionRef>, Chunks<Head, ()>>,
    /// A group has lost its owner: the first position of such a group that nobody has looked at.
    opened: Option<u64>,
    /// The group of messages that name none.
    default: Text,
    /// Octets of names that lie in allocations of their own: each group has its name twice.
    octets: Derived,
}
record!(Groups {
    header,
    groups,
    names,
    of,
    heads,
    opened
} since 3 {
    default = DEFAULT_GROUP.into(),
    octets = Derived::default(),
});

impl Groups {
    /// Of a queue whose messages name their group in a header; those that do not are of `default`.
    pub fn new(header: Text, default: Text) -> Groups {
        Groups {
            header,
            groups: Slab::default(),
            names: Chunks::default(),
            of: Blocks::default(),
            heads: BTreeMap::new(),
            opened: None,
            default,
            octets: Derived::default(),
        }
    }

    /// Forgets who has which group: a fault for tests to find.
    pub(in crate::broker) fn forget_owners(&mut self) {
        let slots: Vec<u32> = self.names.iter().map(|(_, slot)| *slot).collect();
        for slot in slots {
            if let Some(group) = self.groups.get_mut(slot).map(Arc::make_mut) {
                group.owner = None;
            }
        }
    }

    /// Octets that groups and what is known of their messages take.
    pub(super) fn bytes(&self) -> u64 {
        let of_message = size_of::<Option<u32>>() + size_of::<(u64, ())>();
        let of_group = size_of::<Group>() + size_of::<(Text, u32)>() + size_of::<(Head, ())>();
        self.of.len() * of_message as u64 + self.names.len() * of_group as u64 + self.octets.0
    }

    /// Counts the octets of names anew.
    pub(super) fn count_anew(&mut self) {
        let names = self.names.iter().map(|(name, _)| 2 * text_bytes(name));
        self.octets = Derived(names.sum());
    }

    /// The header that names the group.
    pub fn header(&self) -> &Text {
        &self.header
    }

    /// The groups that have messages, by name.
    pub fn iter(&self) -> impl Iterator<Item = &Group> {
        let slots = self.names.iter().map(|(_, slot)| *slot);
        slots.filter_map(|slot| Some(&**self.groups.get(slot)?))
    }

    /// The first message that a consumer may have: of a group that nobody owns, or of one of its own.
    pub fn first_for(&self, consumer: SubscriptionRef) -> Option<u64> {
        let first = |owner| {
            let ((first, _), ()) = self.heads.get(&owner)?.first()?;
            Some(*first)
        };
        let (free, own) = (first(None), first(Some(consumer)));
        free.into_iter().chain(own).min()
    }

    pub(super) fn is_open(&self, position: u64, to: SubscriptionRef) -> bool {
        let group = self.of.get(position);
        let group = group.and_then(|slot| self.groups.get(*slot));
        group.is_none_or(|group| group.owner.is_none_or(|owner| owner == to))
    }

    pub(super) fn has_opened(&self) -> bool {
        self.opened.is_some()
    }

    pub(super) fn take_opened(&mut self) -> Option<u64> {
        self.opened.take()
    }

    /// Changes a group, and what follows from it: its place among the heads, that it has no owner when
    /// nothing of it is acquired, and that it is no more when it has no messages.
    fn change(&mut self, slot: u32, change: impl FnOnce(&mut Group)) {
        let Some(group) = self.groups.get_mut(slot).map(Arc::make_mut) else {
            return;
        };
        let (owner, head) = (group.owner, group.head());
        change(group);
        let was_owned = group.owner.is_some();
        if group.acquired == 0 {
            group.owner = None;
        }
        let (new_owner, new_head) = (group.owner, group.head());
        if was_owned
            && new_owner.is_none()
            && let Some(first) = new_head
        {
            self.opened = Some(self.opened.map_or(first, |other| other.min(first)));
        }
        let is_gone = group.messages() == 0;
        if (owner, head) != (new_owner, new_head) {
            self.move_head(slot, (owner, head), (new_owner, new_head));
        }
        if is_gone && let Some(gone) = self.groups.remove(slot) {
            self.names.remove(&gone.name);
            self.octets.0 -= 2 * text_bytes(&gone.name);
        }
    }

    fn move_head(
        &mut self,
        slot: u32,
        (owner, head): (Option<SubscriptionRef>, Option<u64>),
        (new_owner, new_head): (Option<SubscriptionRef>, Option<u64>),
    ) {
        if let Some(head) = head
            && let Some(heads) = self.heads.get_mut(&owner)
        {
            heads.remove(&(head, slot));
            if heads.is_empty() {
                self.heads.remove(&owner);
            }
        }
        if let Some(head) = new_head {
            self.heads
                .entry(new_owner)
                .or_default()
                .insert((head, slot), ());
        }
    }

    pub(super) fn entered(&mut self, position: u64, message: &Message) {
        let mut name = header_text(message, &self.header);
        if name.is_empty() {
            name = self.default.clone();
        }
        let slot = match self.names.get(&name) {
            Some(slot) => *slot,
            None => {
                let slot = self.groups.insert(Arc::new(Group {
                    name: name.clone(),
                    owner: None,
                    acquired: 0,
                    available: Chunks::default(),
                }));
                self.octets.0 += 2 * text_bytes(&name);
                self.names.insert(name, slot);
                slot
            }
        };
        self.of.push_at(position, slot);
        self.change(slot, |group| _ = group.available.insert(position, ()));
    }

    pub(super) fn acquired(&mut self, position: u64, by: SubscriptionRef) {
        if let Some(slot) = self.of.get(position).copied() {
            self.change(slot, |group| {
                group.available.remove(&position);
                group.acquired += 1;
                group.owner.get_or_insert(by);
            });
        }
    }

    pub(super) fn released(&mut self, position: u64) {
        if let Some(slot) = self.of.get(position).copied() {
            self.change(slot, |group| {
                group.available.insert(position, ());
                group.acquired -= 1;
            });
        }
    }

    pub(super) fn left(&mut self, position: u64, was_available: bool) {
        if let Some(slot) = self.of.remove(position) {
            self.change(slot, |group| match was_available {
                true => _ = group.available.remove(&position),
                false => group.acquired -= 1,
            });
        }
    }

    /// Only messages at these positions are left, all of them acquired.
    pub(super) fn left_but(&mut self, stays: &[u64]) {
        let mut kept = Blocks::default();
        for position in stays {
            if let Some(slot) = self.of.get(*position) {
                kept.push_at(*position, *slot);
            }
        }
        kept.set_tail(self.of.tail());
        self.of = kept;
        self.heads.clear();
        self.opened = None;
        let slots: Vec<u32> = self.names.iter().map(|(_, slot)| *slot).collect();
        for slot in slots {
            let Some(group) = self.groups.get_mut(slot).map(Arc::make_mut) else {
                continue;
            };
            group.available = Chunks::default();
            if group.acquired == 0
                && let Some(gone) = self.groups.remove(slot)
            {
                self.names.remove(&gone.name);
            }
        }
        self.count_anew();
    }
}
