//! What the log tells of queue-state replication: the core counts what becomes of events, and logs
//! nothing.

use std::sync::Arc;

use super::limits;
use super::log::notice;
use super::replication_options::ReplicationOptions;
use crate::broker::Core;
use crate::broker::replication::{EventsTo, Replication, ReplicationCounters};
use crate::cluster::Group;

/// Says where events go, and from then on what becomes of them, until it is dropped. What happened
/// before it began is told as well: in a cluster others have made it happen.
pub async fn run(group: Arc<dyn Group>, options: ReplicationOptions) {
    say_where_events_go(&*group, &options);
    let mut said = ReplicationCounters::default();
    loop {
        tokio::time::sleep(limits::REPLICATION_LOOK).await;
        let found = look(&*group, |core| core.replication().clone());
        tell(&said, &found);
        said = found.counters;
    }
}

fn look<T: Default>(group: &dyn Group, take: impl Fn(&Core) -> T) -> T {
    let mut found = T::default();
    group.look(&mut |core| found = take(core));
    found
}

fn say_where_events_go(group: &dyn Group, options: &ReplicationOptions) {
    if options.names_queue_in_vain() {
        tracing::warn!(
            target: "Replication",
            "--replication-queue {} does not count: events go through --replication-exchange-name",
            options.replication_queue
        );
    }
    let EventsTo {
        queue, exchange, ..
    } = options.events_to();
    let name = &options.replication_listener_name;
    if !exchange.is_empty() {
        notice!(
            "Replication",
            "{name}: events of queues go through exchange {exchange}"
        );
    } else if !queue.is_empty() {
        notice!(
            "Replication",
            "{name}: events of queues go into queue {queue}"
        );
        if !look(group, |core| core.queue_of_name(&queue).is_some()) {
            tracing::error!(
                target: "Replication",
                "There is no queue {queue}: events are lost until it is there"
            );
        }
    }
}

/// Tells what has come to nothing since it was last told.
fn tell(said: &ReplicationCounters, found: &Replication) {
    let (now, last) = (&found.counters, &found.trouble);
    for (count, what) in [
        (
            now.lost - said.lost,
            "events of queues are lost: where they go there is no queue, or it is full",
        ),
        (
            now.missing - said.missing,
            "replicated events are of queues that do not exist here",
        ),
        (
            now.ahead - said.ahead,
            "replicated messages came to positions that their queue has passed",
        ),
        (
            now.absent - said.absent,
            "replicated messages were to leave and were not there, or somebody has them",
        ),
        (
            now.strange - said.strange,
            "messages to replication exchanges are no events",
        ),
    ] {
        if count > 0 {
            tracing::error!(target: "Replication", "{count} {what} (the last one: {last})");
        }
    }
    if now.gaps > said.gaps {
        let count = now.gaps - said.gaps;
        tracing::error!(target: "Replication", "Events before {count} replicated ones have not come");
    }
    if now.repeated > said.repeated {
        let count = now.repeated - said.repeated;
        tracing::info!(target: "Replication", "{count} replicated events had come before");
    }
}
