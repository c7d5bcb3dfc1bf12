//! The objects of the model, made of a core.
//!
//! A file for each noun says what an object shows. [`next_objects`] lists a class piece by piece, so that
//! whoever looks holds the group's lock for a short time only; what comes or goes between two pieces may
//! be in the list or not.

mod broker;
mod cluster;
mod connection;
mod exchange;
mod link;
mod member;
mod memory;
mod queue;
mod session;

use crate::broker::Core;
use crate::broker::exchange::Behind;
use crate::broker::ids::{ConnectionKey, GroupTime};
use crate::broker::links::{Bridge, Link};
pub use crate::broker::management::Traffic;
use crate::broker::session::SessionName;
use crate::broker::watched::Watched;
use crate::qmf::datum::Watermarks;
use crate::qmf::object::{Object, ObjectName, Times};
use crate::qmf::schema::Class;
use crate::wire::Text;

pub use self::broker::{Counts, Totals};
pub use self::cluster::{Member, Membership, id_text};
pub use self::member::{Node, members};

/// What there is to show that is not in the core: of the process, and of how it was started.
#[derive(Clone, Debug, Default)]
pub struct Setting {
    /// The broker's identity.
    pub broker: [u8; 16],
    /// Its name for federation.
    pub federation_tag: Text,
    /// The port of the first listener.
    pub port: u16,
    /// Threads that serve connections.
    pub threads: u16,
    /// Connections at most; 0 for any number.
    pub connections_max: u32,
    /// Connections that may wait to be accepted.
    pub backlog: u16,
    /// Whether data is sent unasked.
    pub publishes: bool,
    /// Seconds between data that is sent unasked.
    pub interval: u16,
    /// The data directory, if there is one.
    pub data_dir: Option<Text>,
    /// The operating system, as `uname` calls it.
    pub system: [Text; 5],
    /// Octets of the process's heap, if they are known.
    pub heap_bytes: Option<u64>,
    /// The rules about who may do what.
    pub acl: Option<crate::qmf::acl::Acl>,
    /// The cluster.
    pub membership: Membership,
    /// When the broker's process began, in nanoseconds since 1970.
    pub started: u64,
    /// Now, by the wall clock, in nanoseconds since 1970.
    pub now: u64,
}

impl Setting {
    /// When a moment of group time was, by the wall clock.
    fn wall(&self, core: &Core, time: GroupTime) -> u64 {
        let ago = core.time().0.saturating_sub(time.0);
        self.now.saturating_sub(ago.saturating_mul(1_000_000))
    }

    fn since(&self, core: &Core, created: GroupTime) -> Times {
        Times {
            created: self.wall(core, created),
            updated: self.now,
            deleted: 0,
        }
    }

    fn of_the_start(&self) -> Times {
        Times {
            created: self.started,
            updated: self.now,
            deleted: 0,
        }
    }
}

/// What the model is made of.
#[derive(Clone, Copy)]
pub struct World<'a> {
    /// The core.
    pub core: &'a Core,
    /// The process.
    pub setting: &'a Setting,
    /// What the sockets of this process count of a connection, if it is one of theirs.
    pub traffic: &'a dyn Fn(ConnectionKey) -> Option<Traffic>,
    /// The sums over all queues, counted before.
    pub totals: &'a Totals,
    /// Whether what is made is told by QMF: how high and low numbers were is then told, and begins anew.
    pub is_told: bool,
}

impl World<'_> {
    /// A number with its marks.
    fn watched(self, now: u64, watched: &Watched) -> Watermarks {
        let (high, low) = watched.marks(now, self.is_told);
        Watermarks {
            value: number32(now),
            high: number32(high),
            low: number32(low),
        }
    }
}

/// Where a list goes on.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Place {
    /// At its beginning.
    #[default]
    Start,
    /// Behind a queue, an exchange, a link or a bridge of that name.
    Name(Text),
    /// Behind a binding of the exchange of that name; None at the first.
    Binding(Text, Option<Behind>),
    /// Behind the binding of a queue of that name to the default exchange.
    DefaultBinding(Text),
    /// Behind a session.
    Session(SessionName),
    /// Behind a subscription of a session.
    Subscription(SessionName, Text),
    /// Behind a connection.
    Connection(ConnectionKey),
    /// At its end.
    End,
}

/// How many objects one look at the core makes at most.
pub const OBJECTS_PER_LOOK: usize = 500;

/// Appends the next objects of a class to `found`, [`OBJECTS_PER_LOOK`] at most, and moves `place` behind
/// them; to [`Place::End`] when no more can be there.
pub fn next_objects(
    world: World<'_>,
    class: &'static Class,
    place: &mut Place,
    found: &mut Vec<Object>,
) {
    use crate::qmf::broker as schema;
    let is = |other: &'static Class| std::ptr::eq(class, other);
    match () {
        () if is(&schema::QUEUE) => queue::list(world, place, found),
        () if is(&schema::EXCHANGE) => exchange::list(world, place, found),
        () if is(&schema::BINDING) => exchange::list_bindings(world, place, found),
        () if is(&schema::SESSION) => session::list(world, place, found),
        () if is(&schema::SUBSCRIPTION) => session::list_subscriptions(world, place, found),
        () if is(&schema::CONNECTION) => connection::list(world, place, found),
        () if is(&schema::LINK) => link::list(world, place, found),
        () if is(&schema::BRIDGE) => link::list_bridges(world, place, found),
        () => {
            found.extend(only(world, class));
            *place = Place::End;
        }
    }
}

/// The object of a name, if it is there.
pub fn object(world: World<'_>, name: &ObjectName) -> Option<Object> {
    use crate::qmf::broker as schema;
    let class = name.class()?;
    let is = |other: &'static Class| std::ptr::eq(class, other);
    let key = name.key();
    match () {
        () if is(&schema::QUEUE) => queue::named(world, key),
        () if is(&schema::EXCHANGE) => exchange::named(world, key),
        () if is(&schema::BINDING) => exchange::binding_named(world, key),
        () if is(&schema::SESSION) => session::named(world, key),
        () if is(&schema::SUBSCRIPTION) => session::subscription_named(world, key),
        () if is(&schema::CONNECTION) => connection::named(world, key),
        () if is(&schema::LINK) => link::named(world, key),
        () if is(&schema::BRIDGE) => link::bridge_named(world, key),
        () => only(world, class).filter(|object| object.name == *name),
    }
}

/// The object of a class of which there is one, or none.
fn only(world: World<'_>, class: &'static Class) -> Option<Object> {
    match class {
        class if std::ptr::eq(class, &crate::qmf::broker::MEMORY) => Some(memory::object(world)),
        class if std::ptr::eq(class, &crate::qmf::cluster::CLUSTER) => cluster::object(world),
        class => broker::only(world, class),
    }
}

/// The session of a name as [`ObjectName::session`] has it.
pub fn session_of(core: &Core, key: &str) -> Option<SessionName> {
    session::found(core, key).map(|session| session.name.clone())
}

/// A session's name as [`ObjectName::session`] has it.
pub fn session_name(name: &SessionName) -> String {
    session::shown(name)
}

/// What is before and behind so many octets of a name, which begin at `at`.
fn around(name: &str, at: usize, octets: usize) -> Option<(&str, &str)> {
    Some((name.get(..at)?, name.get(at + octets..)?))
}

/// The bridge of a key, and its link: the name of the link as an object, and its own.
pub fn bridge_of<'a>(core: &'a Core, key: &str) -> Option<(&'a Link, &'a Bridge)> {
    let found = key.match_indices(',').find_map(|(at, _)| {
        let (of_link, of_bridge) = around(key, at, 1)?;
        let (link, bridge) = core.links().bridge(of_bridge)?;
        let is_it = ObjectName::link(&link.definition.name).as_str() == of_link;
        is_it.then_some((link, bridge))
    });
    // As consoles of version 1 have it, in which references are left out.
    found.or_else(|| core.links().bridge(key))
}

/// The connection of an address.
pub fn connection_of(core: &Core, address: &str) -> Option<ConnectionKey> {
    connection::found(core, address).map(|(key, _)| key)
}

/// Appends as many of these as one look makes, and gives the place behind them.
fn page<T>(
    items: impl Iterator<Item = T>,
    found: &mut Vec<Object>,
    make: impl Fn(T) -> (Object, Place),
) -> Place {
    let mut reached = Place::End;
    let mut count = 0;
    for item in items.take(OBJECTS_PER_LOOK) {
        let (object, place) = make(item);
        found.push(object);
        reached = place;
        count += 1;
    }
    match count == OBJECTS_PER_LOOK {
        true => reached,
        false => Place::End,
    }
}

/// A number as one of 32 bits, which stays at the largest.
fn number32(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
