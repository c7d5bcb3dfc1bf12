//! Messages that have left their queue and are not yet where they go.

use super::Entry;
use crate::broker::blocks::Blocks;
use crate::broker::dead::Death;
use crate::broker::encoding::record;
use crate::broker::ids::{ExchangeId, QueueRef};
use crate::wire::Text;

/// Messages that are no longer in a queue, on their way to the alternate exchange or to nowhere.
#[derive(Clone, Debug, Hash)]
pub struct Remains {
    /// The messages left, at their positions in the queue.
    pub entries: Blocks<Entry>,
    /// Where they go; None to nowhere.
    pub alternate: Option<ExchangeId>,
    /// The durable queue that they left, if facts name them there until they are rerouted. It may be
    /// no more.
    pub queue: Option<QueueRef>,
    /// What their copies say of it, if they died and are to say so.
    pub death: Option<Box<Death>>,
    /// The name of the queue that was, where it gave events of what leaves: one is due of each of these.
    pub told_of: Option<Text>,
}
record!(Remains {
    entries,
    alternate,
    queue,
} since 2 {
    death = None,
} since 3 {
    told_of = None,
});
