//! Links to other brokers and the bridges on them: what federation has to keep.
//!
//! A *link* says where another broker is; a *bridge* on it carries messages from a queue or an exchange of
//! one of the two brokers to an exchange of the other. Both are definitions like queues: made by
//! management, the same on all members, kept if durable. What drives them is not here: of each link one
//! member is the *owner*, decided here so that all members agree; it connects, and reports what became of
//! it ([`Report`]). A report names the link's number, so that one of a link that is gone, or of a former
//! owner, is nothing.

use std::collections::{BTreeMap, BTreeSet};

use super::encoding::{record, record_enum};
use super::ids::{GroupTime, MemberId};
use crate::wire::Text;
use crate::wire::url::Address;

/// What names begin with that the broker gives itself. qpidd's.
pub const RESERVED: &str = "qpid.";

record!(Address {
    protocol,
    host,
    port
});

/// A link as it was asked for.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct LinkDefinition {
    /// Its name.
    pub name: Text,
    /// Where the other broker is, its host as it was given: tools go by the text.
    pub address: Address,
    /// Whether it outlives the broker's process.
    pub is_durable: bool,
    /// How the link proves who it is; empty for whatever the other broker offers.
    pub mechanism: Text,
    /// As whom.
    pub user: Text,
    /// With what.
    pub password: Text,
}
record!(LinkDefinition {
    name,
    address,
    is_durable,
    mechanism,
    user,
    password
});

impl std::fmt::Debug for LinkDefinition {
    /// Without the password, which must not get into logs.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LinkDefinition")
            .field("name", &self.name)
            .field("address", &self.address)
            .field("is_durable", &self.is_durable)
            .field("user", &self.user)
            .finish_non_exhaustive()
    }
}

/// A bridge as it was asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct BridgeDefinition {
    /// Its name.
    pub name: Text,
    /// The name of its link.
    pub link: Text,
    /// Whether it outlives the broker's process.
    pub is_durable: bool,
    /// The queue or exchange that messages come from.
    pub source: Text,
    /// The exchange that they go to.
    pub destination: Text,
    /// The key with which it is bound to an exchange that is its source.
    pub key: Text,
    /// What is added to the trace of messages; empty for the source's tag.
    pub tag: Text,
    /// What messages have in their trace that are not carried, with commas between; empty for the
    /// destination's tag.
    pub excludes: Text,
    /// Whether the source is a queue.
    pub source_is_queue: bool,
    /// Whether the source is at this broker and the destination at the other.
    pub source_is_local: bool,
    /// Whether it carries what somebody at the destination has bound.
    pub is_dynamic: bool,
    /// After how many messages they are acknowledged; 0 for not at all.
    pub sync: u16,
    /// Messages that may be on their way; `u32::MAX` and 0 for any number.
    pub credit: u32,
    /// The queue of the source's broker that it takes them from, if it is to make none itself.
    pub queue: Text,
}
record!(BridgeDefinition {
    name,
    link,
    is_durable,
    source,
    destination,
    key,
    tag,
    excludes,
    source_is_queue,
    source_is_local,
    is_dynamic,
    sync,
    credit,
    queue
});

/// How a link is. Tools of Qpid rely on the words: see [`LinkState::name`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum LinkState {
    /// It is tried again after a while.
    #[default]
    Waiting,
    /// It is being tried.
    Connecting,
    /// It is there.
    Operational,
    /// The other broker has refused it, and it is not tried again.
    Failed,
}
record_enum!(LinkState {
    0 = Waiting,
    1 = Connecting,
    2 = Operational,
    3 = Failed,
});

impl LinkState {
    /// As management shows it.
    pub fn name(self) -> &'static str {
        match self {
            LinkState::Waiting => "Waiting",
            LinkState::Connecting => "Connecting",
            LinkState::Operational => "Operational",
            LinkState::Failed => "Failed",
        }
    }
}

/// What has become of a link, as its owner reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// The link.
    pub link: Text,
    /// Its number.
    pub number: u64,
    /// How it is.
    pub state: LinkState,
    /// Why it is not there, or what is wrong with a bridge on it; empty for nothing.
    pub error: Text,
    /// The address in use; None as long as it is the one that was given.
    pub address: Option<Address>,
    /// What its connection is called by management, while it has one.
    pub connection: Text,
}
record!(Report {
    link,
    number,
    state,
    error,
    address,
    connection
});

/// A link.
#[derive(Clone, Debug, PartialEq, Hash)]
pub struct Link {
    /// As it was asked for.
    pub definition: LinkDefinition,
    /// Which of all links that ever were it is, counted anew when its owner changes: reports of others
    /// are nothing.
    pub number: u64,
    /// The member that drives it; None while none is there.
    pub owner: Option<MemberId>,
    /// How it is.
    pub state: LinkState,
    /// What went wrong last.
    pub last_error: Text,
    /// The address in use, where it is another than the one that was given.
    pub address: Option<Address>,
    /// What its connection is called by management; empty without one.
    pub connection: Text,
    /// When it was made.
    pub created: GroupTime,
    /// The bridges on it, by name.
    pub bridges: BTreeMap<Text, Bridge>,
}
record!(Link {
    definition,
    number,
    owner,
    state,
    last_error,
    address,
    connection,
    created,
    bridges
});

impl Link {
    /// Whether it is not there, or something is wrong with a bridge on it.
    pub fn is_impaired(&self) -> bool {
        self.state != LinkState::Operational || !self.last_error.is_empty()
    }

    /// The address in use.
    pub fn address(&self) -> &Address {
        self.address.as_ref().unwrap_or(&self.definition.address)
    }
}

/// A bridge.
#[derive(Clone, Debug, PartialEq, Hash)]
pub struct Bridge {
    /// As it was asked for.
    pub definition: BridgeDefinition,
    /// Which of all bridges that ever were it is. Also its channel, as far as management shows one.
    pub number: u64,
    /// When it was made.
    pub created: GroupTime,
}
record!(Bridge {
    definition,
    number,
    created
});

/// All links, and where each bridge is.
#[derive(Clone, Debug, Default, PartialEq, Hash)]
pub struct Links {
    links: BTreeMap<Text, Link>,
    /// The link of each bridge.
    bridges: BTreeMap<Text, Text>,
    /// Counts links and bridges ever made, and changes of owner.
    made: u64,
}
record!(Links {
    links,
    bridges,
    made
});

impl Links {
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.links.is_empty()
    }

    /// How many links there are.
    pub fn len(&self) -> usize {
        self.links.len()
    }

    /// A link, by name.
    pub fn get(&self, name: &str) -> Option<&Link> {
        self.links.get(name)
    }

    /// The same, to be changed.
    pub(super) fn get_mut(&mut self, name: &str) -> Option<&mut Link> {
        self.links.get_mut(name)
    }

    /// All links, by name.
    pub fn iter(&self) -> impl Iterator<Item = &Link> {
        self.links.values()
    }

    /// Links behind a name.
    pub fn behind(&self, name: Option<&Text>) -> impl Iterator<Item = &Link> {
        use std::ops::Bound;
        let from = name.map_or(Bound::Unbounded, Bound::Excluded);
        let found = self.links.range::<Text, _>((from, Bound::Unbounded));
        found.map(|(_, link)| link)
    }

    /// A link to this address.
    pub fn to(&self, address: &Address) -> Option<&Link> {
        let mut all = self.links.values();
        all.find(|link| link.definition.address == *address)
    }

    /// A bridge and its link, by the bridge's name.
    pub fn bridge(&self, name: &str) -> Option<(&Link, &Bridge)> {
        let link = self.links.get(self.bridges.get(name)?)?;
        Some((link, link.bridges.get(name)?))
    }

    /// How many bridges there are.
    pub fn bridge_count(&self) -> usize {
        self.bridges.len()
    }

    /// Bridges behind a name, in the order of names, each with its link.
    pub fn bridges_behind(&self, name: Option<&Text>) -> impl Iterator<Item = (&Link, &Bridge)> {
        use std::ops::Bound;
        let from = name.map_or(Bound::Unbounded, Bound::Excluded);
        let found = self.bridges.range::<Text, _>((from, Bound::Unbounded));
        found.filter_map(|(bridge, link)| {
            let link = self.links.get(link)?;
            Some((link, link.bridges.get(bridge)?))
        })
    }

    fn next_number(&mut self) -> u64 {
        self.made += 1;
        self.made
    }

    /// Adds a link whose name no other has.
    pub(super) fn add(&mut self, definition: LinkDefinition, now: GroupTime) {
        let link = Link {
            number: self.next_number(),
            owner: None,
            state: LinkState::Waiting,
            last_error: Text::default(),
            address: None,
            connection: Text::default(),
            created: now,
            bridges: BTreeMap::new(),
            definition,
        };
        self.links.insert(link.definition.name.clone(), link);
    }

    /// Adds a bridge whose name no other has; false, and nothing is changed, without its link.
    pub(super) fn add_bridge(&mut self, definition: BridgeDefinition, now: GroupTime) -> bool {
        let number = self.next_number();
        let Some(link) = self.links.get_mut(&definition.link) else {
            return false;
        };
        let name = definition.name.clone();
        self.bridges.insert(name.clone(), definition.link.clone());
        let bridge = Bridge {
            definition,
            number,
            created: now,
        };
        link.bridges.insert(name, bridge);
        true
    }

    /// Takes a link away, and its bridges.
    pub(super) fn remove(&mut self, name: &str) -> Option<Link> {
        let link = self.links.remove(name)?;
        for bridge in link.bridges.keys() {
            self.bridges.remove(bridge);
        }
        Some(link)
    }

    /// Takes a bridge away.
    pub(super) fn remove_bridge(&mut self, name: &str) -> Option<Bridge> {
        let link = self.bridges.remove(name)?;
        self.links.get_mut(&link)?.bridges.remove(name)
    }

    /// Sees to it that every link has an owner among the members that are there (ascending): one that has
    /// keeps it, the others go to those that have fewest. Gives who has been given one or has lost one.
    pub(super) fn share_out(&mut self, there: &[MemberId]) -> Vec<MemberId> {
        let mut counts: BTreeMap<MemberId, usize> = there.iter().map(|one| (*one, 0)).collect();
        let mut concerned = Vec::new();
        let mut without = Vec::new();
        for (name, link) in &self.links {
            match link.owner.and_then(|owner| counts.get_mut(&owner)) {
                Some(count) => *count += 1,
                None if link.owner.is_some() || !there.is_empty() => without.push(name.clone()),
                None => {}
            }
        }
        for name in without {
            let least = counts
                .iter()
                .min_by_key(|(member, count)| (**count, **member));
            let owner = least.map(|(member, _)| *member);
            if let Some(owner) = owner {
                *counts.entry(owner).or_default() += 1;
                concerned.push(owner);
            }
            let number = self.next_number();
            let Some(link) = self.links.get_mut(&name) else {
                continue;
            };
            link.owner = owner;
            link.number = number;
            link.connection = Text::default();
            if link.state != LinkState::Failed {
                link.state = LinkState::Waiting;
            }
        }
        concerned.sort_unstable();
        concerned.dedup();
        concerned
    }

    /// Whether any bridge carries what is bound to an exchange.
    pub fn are_followed(&self, exchange: &str) -> bool {
        let mut bridges = self.links.values().flat_map(|link| link.bridges.values());
        bridges.any(|bridge| bridge.definition.is_dynamic && bridge.definition.source == exchange)
    }

    /// The members that drive bridges which carry what is bound to an exchange, ascending.
    pub fn followers(&self, exchange: &str) -> Vec<MemberId> {
        let mut owners: Vec<MemberId> = Vec::new();
        for link in self.links.values() {
            let mut bridges = link.bridges.values();
            let follows = bridges
                .any(|bridge| bridge.definition.is_dynamic && bridge.definition.source == exchange);
            if let Some(owner) = link.owner.filter(|_| follows) {
                owners.push(owner);
            }
        }
        owners.sort_unstable();
        owners.dedup();
        owners
    }
}

/// What the owner of links is told: what it is to look at again.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct LinkNews {
    /// Whether links or bridges have come or gone, or have changed their owner.
    pub are_links: bool,
    /// Exchanges of which bindings have come or gone, with their keys.
    pub bindings: BTreeMap<Text, BTreeSet<Text>>,
    /// Exchanges of which a peer wants to be told all bindings again.
    pub again: BTreeSet<Text>,
}

/// What owners of links are to be told of a batch.
#[derive(Clone, Debug, Default)]
pub struct LinkNewsOf {
    /// Members whose links have changed.
    pub owners: BTreeSet<MemberId>,
    /// For all that have to do with it: `are_links` is not used.
    pub news: LinkNews,
}

impl LinkNewsOf {
    /// Whether there is nothing to tell.
    pub fn is_empty(&self) -> bool {
        self.owners.is_empty() && self.news.bindings.is_empty() && self.news.again.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn links(names: &[&str]) -> Links {
        let mut links = Links::default();
        for name in names {
            let definition = LinkDefinition {
                name: (*name).into(),
                address: Address {
                    protocol: "tcp".into(),
                    host: "h".into(),
                    port: 1,
                },
                is_durable: false,
                mechanism: "".into(),
                user: "".into(),
                password: "".into(),
            };
            links.add(definition, GroupTime(0));
        }
        links
    }

    fn owners(links: &Links) -> Vec<Option<u64>> {
        links
            .iter()
            .map(|link| link.owner.map(|owner| owner.0))
            .collect()
    }

    #[test]
    fn links_are_shared_out_among_members_and_stay_where_they_are() {
        let mut links = links(&["a", "b", "c"]);
        assert_eq!(links.share_out(&[]), vec![]);
        assert_eq!(links.share_out(&[MemberId(7)]), vec![MemberId(7)]);
        assert_eq!(owners(&links), [Some(7), Some(7), Some(7)]);
        assert_eq!(links.share_out(&[MemberId(5), MemberId(7)]), vec![]);
        assert_eq!(owners(&links), [Some(7), Some(7), Some(7)]);
    }

    #[test]
    fn links_of_a_member_that_is_gone_go_to_those_that_have_fewest() {
        let mut links = links(&["a", "b", "c"]);
        links.share_out(&[MemberId(7)]);
        let before = links.get("a").map(|link| link.number);
        assert_eq!(
            links.share_out(&[MemberId(1), MemberId(2)]),
            vec![MemberId(1), MemberId(2)]
        );
        assert_eq!(owners(&links), [Some(1), Some(2), Some(1)]);
        assert_ne!(links.get("a").map(|link| link.number), before);
        links.share_out(&[]);
        assert_eq!(owners(&links), [None, None, None]);
    }
}
