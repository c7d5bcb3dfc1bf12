//! What there is one of: the broker, its host, its virtual host.

use super::World;
use crate::broker::Core;
use crate::broker::queue::QueueCounters;
use crate::broker::replication::ReplicationCounters;
use crate::qmf::broker as schema;
use crate::qmf::object::{BROKER_NAME, Object, ObjectName, VHOST_NAME};
use crate::qmf::schema::Class;
use crate::wire::Text;

/// Sums over all queues, those that are no more with them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// What queues count.
    pub counters: QueueCounters,
    /// Messages in queues.
    pub depth: u64,
    /// Those of them that somebody has acquired.
    pub unacknowledged: u64,
    /// Octets in queues.
    pub bytes: u64,
    /// Persistent messages in queues.
    pub persistent: u64,
    /// Octets of these.
    pub persistent_bytes: u64,
}

impl Totals {
    /// What queues that are no more have counted: where counting begins.
    pub fn of_deleted(core: &Core) -> Totals {
        Totals {
            counters: core.counters().deleted_queues,
            ..Totals::default()
        }
    }

    /// Adds queues behind one of a name, as many as one look takes. Gives the name of the last, None
    /// behind the last of all.
    pub fn add_queues(&mut self, core: &Core, behind: Option<&Text>) -> Option<Text> {
        let mut last = None;
        let mut count = 0;
        for queue in core.queues_behind(behind).take(QUEUES_PER_LOOK) {
            self.counters.add(&queue.counters);
            self.depth += queue.entries.len();
            self.unacknowledged += queue.unacknowledged();
            self.bytes += queue.bytes;
            self.persistent += queue.persistent;
            self.persistent_bytes += queue.persistent_bytes;
            last = Some(&queue.name);
            count += 1;
        }
        last.filter(|_| count == QUEUES_PER_LOOK).cloned()
    }
}

/// How many there are of each noun.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Connections of clients.
    pub connections: u64,
    /// Sessions.
    pub sessions: u64,
    /// Subscriptions.
    pub consumers: u64,
    /// Exchanges.
    pub exchanges: u64,
    /// Queues.
    pub queues: u64,
    /// Links to other brokers.
    pub links: u64,
    /// Those of them that are not there, or have a route that does not work.
    pub links_impaired: u64,
    /// Messages that came over links and had come before.
    pub duplicates: u64,
    /// What became of events of queues.
    pub replication: ReplicationCounters,
}

impl Counts {
    /// Of a core.
    pub fn of(core: &Core) -> Counts {
        Counts {
            connections: core.connection_count() as u64,
            sessions: core.session_count() as u64,
            consumers: core.subscription_count() as u64,
            exchanges: core.exchange_count() as u64,
            queues: core.queue_count() as u64,
            links: core.links().len() as u64,
            links_impaired: core
                .links()
                .iter()
                .filter(|link| link.is_impaired())
                .count() as u64,
            duplicates: core.counters().duplicates,
            replication: core.replication().counters,
        }
    }
}

/// Queues that one look adds up: a few hundred microseconds.
const QUEUES_PER_LOOK: usize = 4096;

/// The object of a class of which there is one.
pub(super) fn only(world: World<'_>, class: &'static Class) -> Option<Object> {
    let is = |other: &'static Class| std::ptr::eq(class, other);
    let values = match () {
        () if is(&schema::BROKER) => broker(world).into_values(),
        () if is(&schema::VHOST) => vhost(world).into_values(),
        () if is(&schema::SYSTEM) => system(world).into_values(),
        () if is(&crate::qmf::acl::ACL) => world.setting.acl.clone()?.into_values(),
        () => return None,
    };
    Some(Object::new(values, world.setting.of_the_start()))
}

fn vhost(world: World<'_>) -> schema::Vhost {
    schema::Vhost {
        broker_ref: ObjectName::broker(),
        name: VHOST_NAME.into(),
        federation_tag: world.setting.federation_tag.clone(),
    }
}

fn system(world: World<'_>) -> schema::System {
    let [os_name, node_name, release, version, machine] = world.setting.system.clone();
    schema::System {
        system_id: world.setting.broker,
        os_name,
        node_name,
        release,
        version,
        machine,
    }
}

fn broker(world: World<'_>) -> schema::Broker {
    let (setting, totals) = (world.setting, world.totals);
    let (sums, of_core) = (&totals.counters, world.core.counters());
    let system = system(world).into_values();
    let system = Object::new(system, setting.of_the_start());
    schema::Broker {
        name: BROKER_NAME.into(),
        system_ref: system.name,
        port: setting.port,
        worker_threads: setting.threads,
        max_conns: u16::try_from(setting.connections_max).unwrap_or(u16::MAX),
        conn_backlog: setting.backlog,
        staging_threshold: 0,
        mgmt_publish: setting.publishes,
        mgmt_pub_interval: setting.interval,
        version: env!("CARGO_PKG_VERSION").into(),
        data_dir: setting.data_dir.clone(),
        uptime: setting.now.saturating_sub(setting.started),
        queue_count: world.core.queue_count() as u64,
        msg_total_enqueues: sums.enqueues,
        msg_total_dequeues: sums.dequeues,
        byte_total_enqueues: sums.bytes_enqueued,
        byte_total_dequeues: sums.bytes_enqueued.saturating_sub(totals.bytes),
        msg_depth: totals.depth,
        byte_depth: totals.bytes,
        msg_persist_enqueues: sums.persistent_enqueues,
        msg_persist_dequeues: sums.persistent_enqueues.saturating_sub(totals.persistent),
        byte_persist_enqueues: sums.persistent_bytes_enqueued,
        byte_persist_dequeues: sums
            .persistent_bytes_enqueued
            .saturating_sub(totals.persistent_bytes),
        msg_txn_enqueues: sums.transaction_enqueues,
        msg_txn_dequeues: sums.transaction_dequeues,
        byte_txn_enqueues: sums.transaction_bytes_enqueued,
        byte_txn_dequeues: sums.transaction_bytes_dequeued,
        releases: sums.releases,
        acquires: sums.acquires,
        discards_no_route: of_core.discards_no_route,
        discards_ttl: sums.discards_ttl,
        discards_ring: sums.discards_ring,
        discards_lvq: sums.discards_last_value,
        discards_overflow: sums.discards_overflow,
        discards_subscriber: sums.discards_subscriber,
        discards_purge: sums.discards_purge,
        reroutes: sums.reroutes,
        abandoned: of_core.abandoned,
        abandoned_via_alt: of_core.abandoned_to_alternate,
        ..schema::Broker::default()
    }
}
