//! Queries that are being answered, one look at the core after the other.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Bound;
use std::sync::Arc;

use super::rights::{self, Sight};
use crate::broker::Core;
use crate::broker::ids::ConnectionKey;
use crate::broker::management::Traffic;
use crate::cluster::Group;
use crate::management::Agent;
use crate::management::agent::Find;
use crate::management::model::{self, Place, Setting, Totals, World};
use crate::qmf::acl::ACL;
use crate::qmf::cluster::CLUSTER;
use crate::qmf::schema::Class;
use crate::qmf::{Object, ObjectName, Publication, Query, broker as schema};
use crate::server::driver::Shared;
use crate::server::{clock, limits, memory};
use crate::wire::Text;

/// A query, and how far it is answered.
#[derive(Debug)]
pub struct Listing {
    find: Find,
    /// What who asks may see of it; None for all.
    sight: Option<Sight>,
    walk: Walk,
}

impl Listing {
    /// A query of which nothing is answered.
    pub fn new(find: Find, sight: Option<Sight>) -> Listing {
        let walk = Walk::of(find.query.clone()).telling();
        Listing { find, sight, walk }
    }

    /// Whether it shows what sockets of other members count.
    fn wants_counts(&self) -> bool {
        self.walk.comes_to(&schema::CONNECTION)
    }

    /// Goes on by one look. Gives what is to be published, and whether that was all.
    pub fn go_on(
        &mut self,
        group: &Arc<dyn Group>,
        shared: &Arc<Shared>,
        setting: &Setting,
        agent: &mut Agent,
    ) -> (Vec<Publication>, bool) {
        let mut found = Vec::new();
        let is_done = self.walk.look(group, shared, setting, &mut found);
        if let Some(sight) = &self.sight {
            sight.keep(&mut found);
        }
        match is_done || !found.is_empty() {
            true => (agent.found(&self.find, &found, is_done), is_done),
            false => (Vec::new(), false),
        }
    }
}

/// Queries that are being answered: one of each connection at a time, in turn, so that nobody waits for
/// all that another asks.
#[derive(Debug, Default)]
pub struct Listings {
    of: BTreeMap<ConnectionKey, VecDeque<Listing>>,
    count: usize,
    /// Whose turn it was.
    last: Option<ConnectionKey>,
}

impl Listings {
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Takes in a query of a connection.
    ///
    /// # Errors
    /// The query: it is one too many, of this connection or of all.
    pub fn add(
        &mut self,
        key: ConnectionKey,
        find: Find,
        sight: Option<Sight>,
    ) -> Result<(), Box<Find>> {
        let own = self.of.get(&key).map_or(0, VecDeque::len);
        if own >= limits::AGENT_LISTINGS_PER_CONNECTION_MAX
            || self.count >= limits::AGENT_LISTINGS_MAX
        {
            return Err(Box::new(find));
        }
        self.count += 1;
        let queue = self.of.entry(key).or_default();
        queue.push_back(Listing::new(find, sight));
        Ok(())
    }

    /// Whose turn it is.
    fn turn(&self) -> Option<ConnectionKey> {
        let behind = self.last.map_or(Bound::Unbounded, Bound::Excluded);
        let next = self.of.range((behind, Bound::Unbounded)).next();
        next.or(self.of.first_key_value()).map(|(key, _)| *key)
    }

    /// Whether the query whose turn it is shows what sockets of other members count.
    pub fn wants_counts(&self) -> bool {
        let queue = self.turn().and_then(|key| self.of.get(&key));
        let listing = queue.and_then(VecDeque::front);
        listing.is_some_and(Listing::wants_counts)
    }

    /// Goes on with the query whose turn it is by one look. Gives what is to be published, and whether
    /// that was all of it.
    pub fn go_on(
        &mut self,
        group: &Arc<dyn Group>,
        shared: &Arc<Shared>,
        setting: &Setting,
        agent: &mut Agent,
    ) -> (Vec<Publication>, bool) {
        let Some(key) = self.turn() else {
            return (Vec::new(), true);
        };
        self.last = Some(key);
        let queue = self.of.entry(key).or_default();
        let Some(listing) = queue.front_mut() else {
            self.of.remove(&key);
            return (Vec::new(), true);
        };
        let (publications, is_done) = listing.go_on(group, shared, setting, agent);
        if is_done {
            queue.pop_front();
            self.count -= 1;
        }
        if queue.is_empty() {
            self.of.remove(&key);
        }
        (publications, is_done)
    }
}

/// A walk through objects.
#[derive(Debug)]
pub struct Walk {
    /// Classes that are left, the next one last.
    classes: Vec<&'static Class>,
    /// The one object that is looked for instead.
    name: Option<ObjectName>,
    place: Place,
    /// Whether its objects are told by QMF.
    is_told: bool,
    /// The sums that the broker's object shows, and the queue behind which they go on; None when they
    /// are whole.
    totals: Totals,
    summing: Option<Option<Text>>,
}

impl Walk {
    /// Through what a query means.
    pub fn of(query: Query) -> Walk {
        match query {
            Query::Class { .. } => Walk::through(query.classes().into_iter()),
            Query::Object(name) => Walk {
                summing: (name == ObjectName::broker()).then_some(None),
                name: Some(name),
                ..Walk::through(std::iter::empty())
            },
        }
    }

    /// Through the objects of classes.
    pub fn through(classes: impl Iterator<Item = &'static Class>) -> Walk {
        let mut classes: Vec<_> = classes.collect();
        classes.reverse();
        let wants_sums = classes.iter().any(|class| **class == schema::BROKER);
        Walk {
            classes,
            name: None,
            place: Place::Start,
            is_told: false,
            totals: Totals::default(),
            summing: wants_sums.then_some(None),
        }
    }

    /// One whose objects are told by QMF, and not only looked at.
    pub fn telling(self) -> Walk {
        Walk {
            is_told: true,
            ..self
        }
    }

    /// The sums that the broker's object showed, if it came to that.
    pub fn into_totals(self) -> Totals {
        self.totals
    }

    /// Whether objects of a class are what it comes to next.
    fn comes_to(&self, class: &Class) -> bool {
        let named = self.name.as_ref().and_then(ObjectName::class);
        let next = self.classes.last().copied().or(named);
        next.is_some_and(|next| *next == *class)
    }

    /// Looks once. Gives whether nothing is left.
    pub fn look(
        &mut self,
        group: &Arc<dyn Group>,
        shared: &Arc<Shared>,
        setting: &Setting,
        found: &mut Vec<Object>,
    ) -> bool {
        let setting = Setting {
            now: clock::wall_nanoseconds(),
            heap_bytes: self
                .comes_to(&schema::MEMORY)
                .then(memory::heap_bytes)
                .flatten(),
            acl: self.comes_to(&ACL).then(|| rights::told(shared)),
            membership: match self.comes_to(&CLUSTER) {
                true => shared.known_hosts.read().clone(),
                false => setting.membership.clone(),
            },
            ..setting.clone()
        };
        let mut is_done = true;
        group.look(&mut |core: &Core| {
            let traffic = |key: ConnectionKey| shared.registry.traffic(key);
            is_done = self.step(core, &setting, &traffic, found);
        });
        is_done
    }

    fn step(
        &mut self,
        core: &Core,
        setting: &Setting,
        traffic: &dyn Fn(ConnectionKey) -> Option<Traffic>,
        found: &mut Vec<Object>,
    ) -> bool {
        if let Some(behind) = self.summing.take() {
            if behind.is_none() {
                self.totals = Totals::of_deleted(core);
            }
            let last = self.totals.add_queues(core, behind.as_ref());
            self.summing = last.map(Some);
            if self.summing.is_some() {
                return false;
            }
        }
        let world = World {
            core,
            setting,
            traffic,
            totals: &self.totals,
            is_told: self.is_told,
        };
        if let Some(name) = self.name.take() {
            found.extend(model::object(world, &name));
            return true;
        }
        let Some(class) = self.classes.last().copied() else {
            return true;
        };
        model::next_objects(world, class, &mut self.place, found);
        if self.place == Place::End {
            self.place = Place::Start;
            self.classes.pop();
        }
        self.classes.is_empty()
    }
}
