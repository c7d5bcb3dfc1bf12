//! Metrics for Prometheus.
//!
//! Names are RabbitMQ's where the notions are the same, so that charts drawn for it show this broker.
//! In detail there are labels of queues and exchanges, never of connections or sessions: those come and
//! go, and each would be a series for ever.

use axum::body::Body;

use super::answer::{Answer, Asking};
use super::look::View;
use crate::broker::replication::ReplicationCounters;
use crate::management::http::Problem;
use crate::management::http::exposition::{Exposition, Form, Sort};
use crate::management::http::nouns::{number, text};
use crate::management::http::operations::FAMILIES;
use crate::qmf::schema::Class;
use crate::qmf::{Object, broker as schema};

/// Counters of the broker's object and of a queue's, by their statistic.
const COUNTED: &[(&str, &str, &str)] = &[
    (
        "msgTotalEnqueues",
        "messages_enqueued",
        "Messages that came into queues",
    ),
    (
        "msgTotalDequeues",
        "messages_dequeued",
        "Messages that left queues",
    ),
    (
        "byteTotalEnqueues",
        "bytes_enqueued",
        "Octets that came into queues",
    ),
    (
        "byteTotalDequeues",
        "bytes_dequeued",
        "Octets that left queues",
    ),
    (
        "acquires",
        "messages_acquired",
        "Messages acquired by consumers",
    ),
    (
        "releases",
        "messages_released",
        "Messages given back by consumers",
    ),
    (
        "reroutes",
        "messages_rerouted",
        "Messages published again to an exchange",
    ),
];

/// Reasons for which messages left queues and no consumer had them.
const DISCARDED: &[(&str, &str)] = &[
    ("discardsTtl", "ttl"),
    ("discardsRing", "ring"),
    ("discardsLvq", "last_value"),
    ("discardsOverflow", "overflow"),
    ("discardsSubscriber", "subscriber"),
    ("discardsPurge", "purge"),
];

/// Sums over the broker.
pub(super) async fn sums(view: &View, asking: &Asking) -> Result<Answer, Problem> {
    let setting = view.ready(&asking.requester).await?;
    let (broker, totals) = view.broker(&setting).await?;
    let counts = view.counts();
    let form = Form::of(&asking.accept);
    let mut to = Exposition::new(form);
    let mut info = to.family("ferrymq_build_info", Sort::Gauge, "The broker's version");
    info.add(&[("version", env!("CARGO_PKG_VERSION"))], 1);
    let ready = totals.depth.saturating_sub(totals.unacknowledged);
    let seconds = number(&broker, "uptime") / 1_000_000_000;
    for (name, about, value) in [
        (
            "rabbitmq_connections",
            "Connections of clients",
            counts.connections,
        ),
        ("rabbitmq_channels", "Sessions", counts.sessions),
        ("rabbitmq_consumers", "Subscriptions", counts.consumers),
        ("rabbitmq_queues", "Queues", counts.queues),
        ("ferrymq_exchanges", "Exchanges", counts.exchanges),
        ("ferrymq_links", "Links to other brokers", counts.links),
        (
            "ferrymq_links_impaired",
            "Links that are not there, or have a route that does not work",
            counts.links_impaired,
        ),
        (
            "rabbitmq_queue_messages",
            "Messages in queues",
            totals.depth,
        ),
        (
            "rabbitmq_queue_messages_ready",
            "Messages in queues that nobody has acquired",
            ready,
        ),
        (
            "rabbitmq_queue_messages_unacked",
            "Messages that somebody has acquired",
            totals.unacknowledged,
        ),
        (
            "rabbitmq_queue_messages_bytes",
            "Octets in queues",
            totals.bytes,
        ),
        ("ferrymq_uptime_seconds", "Since the process began", seconds),
    ] {
        to.one((name, Sort::Gauge, about), value);
    }
    for (statistic, name, about) in COUNTED {
        let name = format!("ferrymq_{name}");
        to.one((&name, Sort::Counter, about), number(&broker, statistic));
    }
    let about = "Messages that left queues and no consumer had them";
    let mut family = to.family("ferrymq_messages_discarded", Sort::Counter, about);
    for (statistic, reason) in DISCARDED {
        family.add(&[("reason", reason)], number(&broker, statistic));
    }
    let about = "Messages for which no queue was bound";
    let unroutable = number(&broker, "discardsNoRoute");
    to.one(
        ("ferrymq_messages_unroutable", Sort::Counter, about),
        unroutable,
    );
    let about = "Messages that came over links and had come before";
    to.one(
        ("ferrymq_messages_duplicate", Sort::Counter, about),
        counts.duplicates,
    );
    add_replication(&mut to, &counts.replication);
    Ok(Answer::of(form.media(), Body::from(to.end())))
}

/// What became of events of queues, made here and come from elsewhere.
fn add_replication(to: &mut Exposition, counts: &ReplicationCounters) {
    let about = "Events of queues that are made here, by what became of them";
    let mut family = to.family("ferrymq_queue_events", Sort::Counter, about);
    family.add(&[("outcome", "told")], counts.told);
    family.add(&[("outcome", "lost")], counts.lost);
    let about = "Events of queues of other brokers, by what became of them";
    let mut family = to.family("ferrymq_replicated_events", Sort::Counter, about);
    for (outcome, count) in [
        ("applied", counts.applied),
        ("repeated", counts.repeated),
        ("missing_queue", counts.missing),
        ("queue_ahead", counts.ahead),
        ("absent_message", counts.absent),
        ("no_event", counts.strange),
    ] {
        family.add(&[("outcome", outcome)], count);
    }
}

/// Metrics of each queue or exchange, of the families that are asked for.
pub(super) async fn detailed(view: &View, asking: &Asking) -> Result<Answer, Problem> {
    let asked = asking.query.iter().map(|(_, family)| family.as_str());
    let mut asked: Vec<&str> = asked.collect();
    if asked.is_empty() {
        asked = FAMILIES.to_vec();
    }
    let setting = view.ready(&asking.requester).await?;
    let form = Form::of(&asking.accept);
    let mut to = Exposition::new(form);
    let classes = [&schema::QUEUE, &schema::EXCHANGE];
    for (family, class) in FAMILIES.iter().zip(classes) {
        if asked.contains(family) {
            let mut rows = Rows::of(class);
            let classes = std::iter::once(class);
            view.walk(&asking.requester, &setting, classes, |object| {
                rows.add(object)
            })
            .await?;
            rows.write(&mut to);
        }
    }
    Ok(Answer::of(form.media(), Body::from(to.end())))
}

/// A family of metrics in detail: its name, its sort, and how a value is had of an object.
type Column = (&'static str, Sort, &'static str, fn(&Object) -> u64);

const QUEUE_COLUMNS: &[Column] = &[
    (
        "rabbitmq_detailed_queue_messages",
        Sort::Gauge,
        "Messages in the queue",
        |o| number(o, "msgDepth"),
    ),
    (
        "rabbitmq_detailed_queue_messages_ready",
        Sort::Gauge,
        "Messages in the queue that nobody has acquired",
        |o| number(o, "msgDepth").saturating_sub(number(o, "unackedMessages")),
    ),
    (
        "rabbitmq_detailed_queue_messages_unacked",
        Sort::Gauge,
        "Messages in the queue that somebody has acquired",
        |o| number(o, "unackedMessages"),
    ),
    (
        "rabbitmq_detailed_queue_messages_bytes",
        Sort::Gauge,
        "Octets in the queue",
        |o| number(o, "byteDepth"),
    ),
    (
        "rabbitmq_detailed_queue_consumers",
        Sort::Gauge,
        "Subscriptions to the queue",
        |o| number(o, "consumerCount"),
    ),
    (
        "ferrymq_detailed_queue_flow_stopped",
        Sort::Gauge,
        "1 while publishers to the queue wait",
        |o| number(o, "flowStopped"),
    ),
    (
        "ferrymq_detailed_queue_messages_enqueued",
        Sort::Counter,
        "Messages that came",
        |o| number(o, "msgTotalEnqueues"),
    ),
    (
        "ferrymq_detailed_queue_messages_dequeued",
        Sort::Counter,
        "Messages that left",
        |o| number(o, "msgTotalDequeues"),
    ),
    (
        "ferrymq_detailed_queue_bytes_enqueued",
        Sort::Counter,
        "Octets that came",
        |o| number(o, "byteTotalEnqueues"),
    ),
    (
        "ferrymq_detailed_queue_messages_acquired",
        Sort::Counter,
        "Messages acquired by consumers",
        |o| number(o, "acquires"),
    ),
    (
        "ferrymq_detailed_queue_messages_released",
        Sort::Counter,
        "Messages given back by consumers",
        |o| number(o, "releases"),
    ),
    (
        "ferrymq_detailed_queue_messages_discarded",
        Sort::Counter,
        "Messages that left and no consumer had them",
        |o| {
            DISCARDED
                .iter()
                .map(|(statistic, _)| number(o, statistic))
                .sum()
        },
    ),
];

const EXCHANGE_COLUMNS: &[Column] = &[
    (
        "ferrymq_detailed_exchange_bindings",
        Sort::Gauge,
        "Bindings of the exchange",
        |o| number(o, "bindingCount"),
    ),
    (
        "ferrymq_detailed_exchange_messages_received",
        Sort::Counter,
        "Messages that came",
        |o| number(o, "msgReceives"),
    ),
    (
        "ferrymq_detailed_exchange_messages_routed",
        Sort::Counter,
        "Messages given to queues",
        |o| number(o, "msgRoutes"),
    ),
    (
        "ferrymq_detailed_exchange_messages_dropped",
        Sort::Counter,
        "Messages without a queue",
        |o| number(o, "msgDrops"),
    ),
];

/// The values of each object of a class: families stand together, so that all are read before one is
/// written.
struct Rows {
    label: &'static str,
    columns: &'static [Column],
    rows: Vec<(String, Vec<u64>)>,
}

impl Rows {
    fn of(class: &Class) -> Rows {
        let (label, columns) = match class.name {
            "queue" => ("queue", QUEUE_COLUMNS),
            _ => ("exchange", EXCHANGE_COLUMNS),
        };
        let rows = Vec::new();
        Rows {
            label,
            columns,
            rows,
        }
    }

    fn add(&mut self, object: &Object) {
        let values = self.columns.iter().map(|column| column.3(object)).collect();
        self.rows.push((text(object, "name"), values));
    }

    fn write(&self, to: &mut Exposition) {
        for (at, (name, sort, about, _)) in self.columns.iter().enumerate() {
            let mut family = to.family(name, *sort, about);
            for (label, values) in &self.rows {
                if let Some(value) = values.get(at) {
                    family.add(&[("vhost", "/"), (self.label, label)], *value);
                }
            }
        }
    }
}
