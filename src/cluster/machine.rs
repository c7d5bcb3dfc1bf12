//! What the members of a replicated group run.

use std::hash::Hasher;

use crate::broker::digest::Digest;
use crate::broker::encoding::{Encoder, EncodingError, Record};
use crate::broker::ids::{ConnectionKey, GroupTime, MemberId};
use crate::broker::snapshot::{Frozen, Thawing};
use crate::broker::{Applied, Batch, Core, Effect, Out, Wants};

/// A deterministic state machine: [`Core`], or one with a fault planted in it, to see it caught.
pub trait Machine: Send + Sized + 'static {
    /// As [`Core::apply`].
    fn apply(&mut self, batch: &mut Batch, out: &mut Out) -> Applied;

    /// As [`Core::wants`].
    fn wants(&self) -> Wants;

    /// As [`Core::index`].
    fn index(&self) -> u64;

    /// As [`Core::commands_max`].
    fn commands_max(&self) -> usize;

    /// As [`Core::enqueue_count`].
    fn enqueue_count(&self) -> u64;

    /// As [`Core::time`].
    fn time(&self) -> GroupTime;

    /// As [`Core::last_seq`].
    fn last_seq(&self, member: MemberId, epoch: u64) -> u64;

    /// As [`Core::last_epoch`].
    fn last_epoch(&self, member: MemberId) -> u64;

    /// As [`Core::digest`].
    fn digest(&self) -> u64;

    /// The core, to be looked at.
    fn core(&self) -> &Core;

    /// As [`Core::freeze`].
    fn freeze(&self) -> Frozen;

    /// The state from bytes: as [`Thawing::finish`].
    ///
    /// # Errors
    /// When the bytes are not those of a state.
    fn thaw(thawing: Thawing) -> Result<Self, EncodingError>;
}

impl Machine for Core {
    fn apply(&mut self, batch: &mut Batch, out: &mut Out) -> Applied {
        Core::apply(self, batch, out)
    }

    fn wants(&self) -> Wants {
        Core::wants(self)
    }

    fn index(&self) -> u64 {
        Core::index(self)
    }

    fn commands_max(&self) -> usize {
        Core::commands_max(self)
    }

    fn enqueue_count(&self) -> u64 {
        Core::enqueue_count(self)
    }

    fn time(&self) -> GroupTime {
        Core::time(self)
    }

    fn last_seq(&self, member: MemberId, epoch: u64) -> u64 {
        Core::last_seq(self, member, epoch)
    }

    fn last_epoch(&self, member: MemberId) -> u64 {
        Core::last_epoch(self, member)
    }

    fn digest(&self) -> u64 {
        Core::digest(self)
    }

    fn core(&self) -> &Core {
        self
    }

    fn freeze(&self) -> Frozen {
        Core::freeze(self)
    }

    fn thaw(thawing: Thawing) -> Result<Self, EncodingError> {
        thawing.finish()
    }
}

/// Mixes effects into a digest: members must ask for the same, not only be in the same state.
/// Bodies count by their size.
pub(super) fn digest_effects(effects: &[(ConnectionKey, Effect)], digest: &mut Digest) {
    use std::hash::Hash;
    for (key, effect) in effects {
        key.hash(digest);
        match effect {
            Effect::Attached {
                channel,
                name,
                resumed,
            } => (1u8, channel, name, resumed).hash(digest),
            Effect::Detached {
                channel,
                name,
                code,
            } => (2u8, channel, name, code.0).hash(digest),
            Effect::Deliver(delivery) => {
                (3u8, delivery.channel, delivery.id, &delivery.subscription).hash(digest);
                (delivery.message.size(), &delivery.message.routing_key).hash(digest);
                (delivery.redelivered, delivery.ttl, delivery.sync).hash(digest);
            }
            Effect::Result {
                channel,
                id,
                command,
                value,
            } => (4u8, channel, id, command, value.code, &value.bytes).hash(digest),
            Effect::Accept {
                channel,
                id,
                transfers,
            } => (5u8, channel, id, transfers).hash(digest),
            Effect::Exception {
                channel,
                id,
                command,
                name,
                refusal,
            } => (6u8, channel, id, command, name, refusal).hash(digest),
            Effect::Completed {
                channel,
                commands,
                timely_reply,
            } => (7u8, channel, commands, timely_reply).hash(digest),
            Effect::Confirmed { channel, commands } => (8u8, channel, commands).hash(digest),
            Effect::Expected { channel, commands } => (9u8, channel, commands).hash(digest),
            Effect::Reject {
                channel,
                id,
                transfers,
                code,
            } => (10u8, channel, id, transfers, code.0).hash(digest),
            Effect::Timeout { channel, timeout } => (11u8, channel, timeout).hash(digest),
            Effect::Flush {
                channel,
                is_resumed,
            } => (12u8, channel, is_resumed).hash(digest),
            Effect::Gap { channel, commands } => (13u8, channel, commands).hash(digest),
            Effect::Agent(told) => (14u8, told).hash(digest),
            Effect::Close { text } => (15u8, text).hash(digest),
            Effect::Ruled(ruled) => (17u8, ruled).hash(digest),
            Effect::Again(again) => {
                let mut command = Encoder::default();
                again.command.encode(&mut command);
                (16u8, again.channel, command.bytes).hash(digest);
                if let Some(bindings) = &again.bindings {
                    (&bindings.exchange, &bindings.key, bindings.version).hash(digest);
                    bindings.queries.hash(digest);
                }
            }
        }
    }
    digest.write_usize(effects.len());
}
