//! Who wants what bindings carry that links of other brokers have made.
//!
//! A link that carries what somebody at its end has bound makes the same bindings at the other broker, for
//! the queue that it takes messages from, and says of each for whom it is: the *origin*, the tag of the
//! broker where it was bound, and the *tags* of all brokers that it has come by. A binding is there as long
//! as any origin wants it. Each broker passes on what it knows but for what has come by the broker that is
//! told: so nothing goes round in circles, and what an origin takes back is gone everywhere, whatever the
//! ways by which it was known.
//!
//! On the wire these are arguments of `exchange.bind`, as links of Qpid C++ give them. Unlike there, tags
//! are compared whole, and each origin is known with the way that it has come by each neighbour.

use std::collections::BTreeMap;

use super::encoding::record;
use super::exchange::Kind;
use super::ids::QueueId;
use super::limits;
use crate::wire::{Map, Text, Value};

/// What a bind of a link is to do.
pub const OPERATION: &str = "qpid.fed.op";
/// The tags of the brokers that it has come by, with commas between.
pub const TAGS: &str = "qpid.fed.tags";
/// The tag of the broker where somebody has bound so.
pub const ORIGIN: &str = "qpid.fed.origin";
/// What an operation is called on the wire.
const BIND: &str = "B";
const UNBIND: &str = "U";
const REORIGIN: &str = "R";
const HELLO: &str = "H";

/// Whether arguments make a binding that a link has made for another broker: such a one ends with the
/// link's session.
pub fn is_of_link(arguments: &Map) -> bool {
    arguments.get(OPERATION).and_then(Value::as_str) == Some(BIND)
}

/// What a bind of a link asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operation {
    /// An origin wants the binding.
    Bind {
        /// The origin.
        origin: Text,
        /// By which brokers it has come here.
        tags: Text,
    },
    /// An origin wants it no more.
    Unbind {
        /// The origin.
        origin: Text,
    },
    /// The peer asks to be told again of all bindings.
    Reorigin,
    /// The peer greets.
    Hello,
}

/// What a bind with these arguments asks for; None for one that is no link's.
///
/// # Errors
/// The text says what is wrong.
pub fn operation(arguments: &Map) -> Result<Option<Operation>, String> {
    let text = |name: &str| arguments.get(name).and_then(Value::as_str);
    let Some(operation) = arguments.get(OPERATION) else {
        return Ok(None);
    };
    let origin = Text::from(text(ORIGIN).unwrap_or_default());
    let tags = Text::from(text(TAGS).unwrap_or_default());
    if origin.len() + tags.len() > limits::TAGS_BYTES_MAX {
        return Err(format!(
            "{TAGS} of {} octets, more than {}",
            tags.len(),
            limits::TAGS_BYTES_MAX
        ));
    }
    match operation.as_str() {
        Some("") => Ok(None),
        Some(BIND) => Ok(Some(Operation::Bind { origin, tags })),
        Some(UNBIND) => Ok(Some(Operation::Unbind { origin })),
        Some(REORIGIN) => Ok(Some(Operation::Reorigin)),
        Some(HELLO) => Ok(Some(Operation::Hello)),
        _ => Err(format!("{OPERATION} is not one of B, U, R and H")),
    }
}

/// Who wants a binding.
#[derive(Clone, Debug, Default, PartialEq, Hash)]
struct Wanting {
    /// Whether somebody here has bound so, too.
    is_local: bool,
    /// By which brokers it has come here, by origin.
    origins: BTreeMap<Text, Text>,
}
record!(Wanting { is_local, origins });

/// The bindings of an exchange that links have made, [`limits::ORIGINS_PER_BINDING_MAX`] origins each. What
/// is not here was bound by somebody at this broker.
#[derive(Clone, Debug, Default, PartialEq, Hash)]
pub struct Origins(BTreeMap<Text, BTreeMap<QueueId, Wanting>>);
super::encoding::record_newtype!(Origins(BTreeMap<Text, BTreeMap<QueueId, Wanting>>));

impl Origins {
    /// Whether links have made no binding of the exchange.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// An origin wants a binding: one that `was_there` somebody here has made, unless it is known to be
    /// another's. Gives whether anything has changed by it; None when it would have too many origins.
    pub fn add(
        &mut self,
        (queue, key): (QueueId, &Text),
        (origin, tags): (Text, Text),
        was_there: bool,
    ) -> Option<bool> {
        let of_key = self.0.entry(key.clone()).or_default();
        let wanting = of_key.entry(queue).or_insert_with(|| Wanting {
            is_local: was_there,
            origins: BTreeMap::new(),
        });
        if wanting.origins.get(&origin) == Some(&tags) {
            return Some(false);
        }
        if wanting.origins.len() >= limits::ORIGINS_PER_BINDING_MAX
            && !wanting.origins.contains_key(&origin)
        {
            return None;
        }
        wanting.origins.insert(origin, tags);
        Some(true)
    }

    /// Somebody here has bound so. Gives whether only others had before.
    pub fn add_local(&mut self, queue: QueueId, key: &str) -> bool {
        let of_key = self.0.get_mut(key);
        let Some(wanting) = of_key.and_then(|of_key| of_key.get_mut(&queue)) else {
            return false;
        };
        !std::mem::replace(&mut wanting.is_local, true)
    }

    /// An origin wants a binding no more. Gives whether anything has changed by it, and whether nobody wants
    /// the binding now.
    pub fn take(&mut self, queue: QueueId, key: &str, origin: &str) -> (bool, bool) {
        let of_key = self.0.get_mut(key);
        let Some(wanting) = of_key.and_then(|of_key| of_key.get_mut(&queue)) else {
            return (false, false);
        };
        let is_changed = wanting.origins.remove(origin).is_some();
        let is_gone = is_changed && wanting.origins.is_empty() && !wanting.is_local;
        if wanting.origins.is_empty() {
            self.forget(queue, key);
        }
        (is_changed, is_gone)
    }

    /// What links have made of a binding ends. Gives whether somebody here has bound so, too: it stays.
    pub fn end(&mut self, queue: QueueId, key: &str) -> bool {
        let of_key = self.0.get(key);
        let is_local = of_key
            .and_then(|of_key| of_key.get(&queue))
            .is_some_and(|wanting| wanting.is_local);
        self.forget(queue, key);
        is_local
    }

    /// A binding is gone.
    pub fn forget(&mut self, queue: QueueId, key: &str) {
        if let Some(of_key) = self.0.get_mut(key) {
            of_key.remove(&queue);
            if of_key.is_empty() {
                self.0.remove(key);
            }
        }
    }

    /// The first origin of a binding, which management shows.
    pub fn first(&self, queue: QueueId, key: &str) -> Option<&Text> {
        let wanting = self.0.get(key)?.get(&queue)?;
        wanting.origins.keys().next()
    }
}

/// A binding that a link is to make at its peer.
#[derive(Clone, Debug, PartialEq)]
pub struct Told {
    /// The key.
    pub key: Text,
    /// For whom.
    pub origin: Text,
    /// By which brokers it has come, the one that tells included.
    pub tags: Text,
    /// What else is told with it: what a binding to an exchange of headers or queries wants.
    pub arguments: Map,
}

/// Two brokers: the one that tells, and the one that is told.
#[derive(Clone, Copy, Debug)]
pub struct Tags<'a> {
    /// Of the broker that tells.
    pub own: &'a str,
    /// Of the broker that is told; empty when it has said none.
    pub peer: &'a str,
}

impl Tags<'_> {
    /// Whether what has come so may be told: it has not come by the peer.
    fn may_tell(self, origin: &str, tags: &str) -> bool {
        let mut passed = tags.split(',').chain(std::iter::once(origin));
        self.peer.is_empty() || !passed.any(|tag| tag == self.peer)
    }
}

/// All that a peer is to be told of the bindings of one key: for each origin the shortest way.
pub fn told(kind: &Kind, origins: &Origins, key: &str, tags: Tags<'_>) -> Vec<Told> {
    let mut all: Vec<Told> = Vec::new();
    let of_key = origins.0.get(key);
    let mut seen: Vec<&Map> = Vec::new();
    for binding in kind.with_key(key) {
        let (key, arguments) = shown(kind, &binding.key, &binding.arguments, &mut seen);
        let mut add = |origin: &str, passed: &str| {
            if !tags.may_tell(origin, passed) {
                return;
            }
            let passed = match passed {
                "" => Text::from(tags.own),
                passed => format!("{passed},{}", tags.own).into(),
            };
            let known = all
                .iter_mut()
                .find(|told| told.key == key && told.origin == origin);
            match known {
                Some(known) if ways(&known.tags) <= ways(&passed) => {}
                Some(known) => known.tags = passed,
                None => all.push(Told {
                    key: key.clone(),
                    origin: origin.into(),
                    tags: passed,
                    arguments: arguments.clone(),
                }),
            }
        };
        match of_key.and_then(|of_key| of_key.get(&binding.queue)) {
            None => add(tags.own, ""),
            Some(wanting) => {
                if wanting.is_local {
                    add(tags.own, "");
                }
                for (origin, passed) in &wanting.origins {
                    // What comes back to its origin is known there.
                    if origin != tags.own {
                        add(origin, passed);
                    }
                }
            }
        }
    }
    if let Kind::Xml(_) = kind
        && seen.len() > 1
    {
        // A queue is bound once with a key there: it takes all, and what is too much is left at this end.
        let everything: Map = [(super::exchange::xml::QUERY, "true()")]
            .into_iter()
            .collect();
        for told in &mut all {
            told.arguments = everything.clone();
        }
    }
    all
}

/// How long a way is; of two that are as long the one that comes first.
fn ways(tags: &str) -> (usize, &str) {
    (tags.split(',').count(), tags)
}

/// Key and arguments with which a binding is told. Those of an exchange of headers that want different
/// things under one key get keys of their own: keys say nothing there. `seen` are the arguments of those
/// of the key that came before.
fn shown<'a>(kind: &Kind, key: &Text, arguments: &'a Map, seen: &mut Vec<&'a Map>) -> (Text, Map) {
    if !matches!(kind, Kind::Headers(_) | Kind::Xml(_)) {
        return (key.clone(), Map::new());
    }
    let is_told = |(name, _): &(&str, &Value)| !name.starts_with("qpid.") && *name != "x-scope";
    let told = |arguments: &Map| -> Map {
        let all = arguments.iter().filter(is_told);
        all.map(|(name, value)| (Text::from(name), value.clone()))
            .collect()
    };
    let own = told(arguments);
    let place = seen.iter().position(|other| told(other) == own);
    let place = place.unwrap_or_else(|| {
        seen.push(arguments);
        seen.len() - 1
    });
    let key = match (kind, place) {
        (Kind::Headers(_), place) if place > 0 => format!("{key}|{place}").into(),
        _ => key.clone(),
    };
    (key, own)
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: QueueId = QueueId(1);
    const B: QueueId = QueueId(2);

    fn scene() -> (Kind, Origins) {
        let mut kind = Kind::of_type("topic").expect("there is such a type");
        for queue in [A, B] {
            assert_eq!(kind.bind(queue, "k", &Map::new()), Ok(true));
        }
        (kind, Origins::default())
    }

    fn said((kind, origins): &(Kind, Origins), own: &str, peer: &str) -> Vec<(String, String)> {
        let told = told(kind, origins, "k", Tags { own, peer });
        let pair = |told: &Told| (told.origin.to_string(), told.tags.to_string());
        told.iter().map(pair).collect()
    }

    fn pairs(all: &[(&str, &str)]) -> Vec<(String, String)> {
        all.iter()
            .map(|(a, b)| ((*a).to_owned(), (*b).to_owned()))
            .collect()
    }

    #[test]
    fn what_is_bound_here_is_told_once_with_our_own_tag() {
        assert_eq!(said(&scene(), "us", "them"), pairs(&[("us", "us")]));
    }

    #[test]
    fn what_has_come_by_the_peer_is_not_told_to_it_and_tags_are_compared_whole() {
        let (kind, mut origins) = scene();
        let far = ("far".into(), "far,them".into());
        assert_eq!(origins.add((A, &"k".into()), far, false), Some(true));
        let near = ("far2".into(), "far2,them2".into());
        assert_eq!(origins.add((B, &"k".into()), near, false), Some(true));
        let scene = (kind, origins);
        assert_eq!(
            said(&scene, "us", "them"),
            pairs(&[("far2", "far2,them2,us")])
        );
        assert_eq!(
            said(&scene, "us", "other"),
            pairs(&[("far", "far,them,us"), ("far2", "far2,them2,us")])
        );
        assert_eq!(
            said(&scene, "us", "far"),
            pairs(&[("far2", "far2,them2,us")])
        );
    }

    #[test]
    fn of_several_ways_the_shortest_is_told() {
        let (kind, mut origins) = scene();
        origins.add((A, &"k".into()), ("o".into(), "o,x,y".into()), false);
        origins.add((B, &"k".into()), ("o".into(), "o,z".into()), false);
        let scene = (kind, origins);
        assert_eq!(said(&scene, "us", "p"), pairs(&[("o", "o,z,us")]));
        assert_eq!(said(&scene, "us", "z"), pairs(&[("o", "o,x,y,us")]));
    }

    #[test]
    fn binding_goes_with_its_last_origin_unless_somebody_here_has_made_it() {
        let (_, mut origins) = scene();
        let key = Text::from("k");
        origins.add((A, &key), ("o".into(), "o".into()), false);
        origins.add((A, &key), ("p".into(), "p".into()), false);
        assert_eq!(origins.take(A, "k", "o"), (true, false));
        assert_eq!(origins.take(A, "k", "o"), (false, false));
        assert_eq!(origins.take(A, "k", "p"), (true, true));
        origins.add((B, &key), ("o".into(), "o".into()), true);
        assert_eq!(origins.take(B, "k", "o"), (true, false));
        assert_eq!(origins, Origins::default());
    }

    #[test]
    fn an_empty_tag_keeps_nothing_out() {
        let (kind, mut origins) = scene();
        origins.add((A, &"k".into()), ("o".into(), "".into()), false);
        origins.add((B, &"k".into()), ("".into(), "".into()), false);
        assert_eq!(
            said(&(kind, origins), "us", ""),
            pairs(&[("o", "us"), ("", "us")])
        );
    }
}
