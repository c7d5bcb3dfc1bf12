//! Messages that have left their queue and are not yet where they go.

use super::Entry;
use crate::broker::blocks::Blocks;
use crate::broker::encoding::record;
use crate::broker::ids::{ExchangeId, QueueRef};

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
}
record!(Remains {
    entries,
    alternate,
    queue
});
