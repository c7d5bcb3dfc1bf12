//! Queues.

use super::{OBJECTS_PER_LOOK, Place, World, number32, page};
use crate::broker::queue::Queue;
use crate::qmf::broker as schema;
use crate::qmf::datum::Watermarks;
use crate::qmf::object::{Object, ObjectName};
use crate::wire::Text;

pub(super) fn list(world: World<'_>, place: &mut Place, found: &mut Vec<Object>) {
    let behind = match place {
        Place::Start => None,
        Place::Name(name) => Some(name.clone()),
        _ => return *place = Place::End,
    };
    let queues = world.core.queues_behind(behind.as_ref());
    *place = page(queues, found, |queue| {
        (object(world, queue), Place::Name(queue.name.clone()))
    });
}

pub(super) fn named(world: World<'_>, name: &str) -> Option<Object> {
    Some(object(world, world.core.queue_of_name(name)?))
}

/// The name of an exchange as an object, where a queue or exchange has it for alternate.
pub(super) fn alternate(
    world: World<'_>,
    exchange: Option<crate::broker::ids::ExchangeId>,
) -> Option<ObjectName> {
    let exchange = world.core.exchange_at(exchange?)?;
    Some(ObjectName::exchange(&exchange.name))
}

/// The default exchange binds every queue by its name.
fn with_default(bindings: Watermarks) -> Watermarks {
    Watermarks {
        value: bindings.value.saturating_add(1),
        high: bindings.high.saturating_add(1),
        low: bindings.low.saturating_add(1),
    }
}

fn object(world: World<'_>, queue: &Queue) -> Object {
    let (counters, watched) = (&queue.counters, &queue.watched);
    let depth = queue.entries.len();
    let redirect = world.core.redirect_of(&queue.name).unwrap_or_default();
    let values = schema::Queue {
        vhost_ref: ObjectName::vhost(),
        name: queue.name.clone(),
        durable: queue.is_durable,
        auto_delete: queue.is_auto_delete,
        exclusive: queue.owner.is_some(),
        arguments: queue.arguments.clone(),
        alt_exchange: alternate(world, queue.alternate),
        msg_total_enqueues: counters.enqueues,
        msg_total_dequeues: counters.dequeues,
        msg_txn_enqueues: counters.transaction_enqueues,
        msg_txn_dequeues: counters.transaction_dequeues,
        msg_persist_enqueues: counters.persistent_enqueues,
        msg_persist_dequeues: counters
            .persistent_enqueues
            .saturating_sub(queue.persistent),
        msg_depth: depth,
        byte_depth: queue.bytes,
        byte_total_enqueues: counters.bytes_enqueued,
        byte_total_dequeues: counters.bytes_enqueued.saturating_sub(queue.bytes),
        byte_txn_enqueues: counters.transaction_bytes_enqueued,
        byte_txn_dequeues: counters.transaction_bytes_dequeued,
        byte_persist_enqueues: counters.persistent_bytes_enqueued,
        byte_persist_dequeues: counters
            .persistent_bytes_enqueued
            .saturating_sub(queue.persistent_bytes),
        releases: counters.releases,
        acquires: counters.acquires,
        discards_ttl: counters.discards_ttl,
        discards_ring: counters.discards_ring,
        discards_lvq: counters.discards_last_value,
        discards_overflow: counters.discards_overflow,
        discards_subscriber: counters.discards_subscriber,
        discards_purge: counters.discards_purge,
        reroutes: counters.reroutes,
        consumer_count: world.watched(queue.subscriptions.len() as u64, &watched.consumers),
        binding_count: with_default(world.watched(queue.binding_count.into(), &watched.bindings)),
        unacked_messages: world.watched(queue.unacknowledged(), &watched.unacknowledged),
        flow_stopped: queue.flow.is_stopped,
        flow_stopped_count: number32(queue.flow.stopped_count),
        redirect_peer: redirect.0,
        redirect_source: redirect.1,
        creator: queue.creator.clone(),
        ..schema::Queue::default()
    };
    let times = world.setting.since(world.core, queue.created);
    Object::new(values.into_values(), times)
}

/// Names behind `name`, for lists of what queues have.
pub(super) fn behind<'a>(
    world: World<'a>,
    name: Option<&Text>,
) -> impl Iterator<Item = &'a Queue> + use<'a> {
    let all = world.core.queues_behind(name);
    all.take(OBJECTS_PER_LOOK).collect::<Vec<_>>().into_iter()
}
