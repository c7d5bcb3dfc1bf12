//! A core with a fault planted in it.

use ferrymq::broker::encoding::EncodingError;
use ferrymq::broker::ids::{GroupTime, MemberId, ShardId};
use ferrymq::broker::snapshot::{Frozen, Thawing};
use ferrymq::broker::{Applied, Batch, Core, Options, Out, Wants};
use ferrymq::cluster::machine::Machine;

/// What is done wrongly. What a machine does without is what the core does.
pub trait Fault: Default + Send + 'static {
    /// Changes an entry before it is applied to a core that has come to `now`.
    fn before(&mut self, _batch: &mut Batch, _now: GroupTime) {}

    /// Changes what came out of an entry.
    fn after(&mut self, _index: u64, _out: &mut Out) {}

    /// Changes the state of a snapshot on its way.
    fn carried(_state: &mut Vec<u8>) {}

    /// What the fault's own state adds to the digest.
    fn digest(&self) -> u64 {
        0
    }
}

/// No fault.
#[derive(Default)]
pub struct Sound;

impl Fault for Sound {}

/// See the module.
pub struct Planted<F> {
    core: Core,
    fault: F,
}

impl<F: Fault> Planted<F> {
    /// So many new machines.
    pub fn machines(count: usize) -> Vec<Planted<F>> {
        let new = |_| Planted {
            core: Core::new(ShardId::default(), Options::default()),
            fault: F::default(),
        };
        (0..count).map(new).collect()
    }
}

impl<F: Fault> Machine for Planted<F> {
    fn apply(&mut self, batch: &mut Batch, out: &mut Out) -> Applied {
        self.fault.before(batch, self.core.time());
        let applied = self.core.apply(batch, out);
        self.fault.after(batch.index, out);
        applied
    }

    fn core(&self) -> &Core {
        &self.core
    }

    fn wants(&self) -> Wants {
        self.core.wants()
    }

    fn index(&self) -> u64 {
        self.core.index()
    }

    fn commands_max(&self) -> usize {
        self.core.commands_max()
    }

    fn enqueue_count(&self) -> u64 {
        self.core.enqueue_count()
    }

    fn time(&self) -> GroupTime {
        self.core.time()
    }

    fn last_seq(&self, member: MemberId, epoch: u64) -> u64 {
        self.core.last_seq(member, epoch)
    }

    fn last_epoch(&self, member: MemberId) -> u64 {
        self.core.last_epoch(member)
    }

    fn digest(&self) -> u64 {
        self.core.digest() ^ self.fault.digest()
    }

    fn freeze(&self) -> Frozen {
        self.core.freeze()
    }

    fn thaw(mut thawing: Thawing) -> Result<Self, EncodingError> {
        F::carried(&mut thawing.state);
        Ok(Planted {
            core: thawing.finish()?,
            fault: F::default(),
        })
    }
}
