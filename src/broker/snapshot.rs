//! A core as bytes, and back.
//!
//! `freeze` is a clone that shares all queue blocks and messages, so it takes the lock for
//! milliseconds at a million messages; encoding goes on off the lock. Bodies are apart from the
//! state: a member that has them in its journal does not need them again.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::core::Core;
use super::encoding::{Decoder, Encoder, EncodingError, Record};
use super::message::{BodyHandle, Message};

/// Marks the bytes of a snapshot's state.
const MAGIC: u32 = u32::from_be_bytes(*b"FMQ1");

/// A core as it was at one index.
#[derive(Clone, Debug)]
pub struct Frozen(Core);

/// An encoded snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    /// Everything but the messages.
    pub state: Vec<u8>,
    /// The messages that queues and transactions hold, each once, by handle.
    pub messages: Vec<u8>,
}

impl Core {
    /// The state as it is now, to be encoded off the lock.
    pub fn freeze(&self) -> Frozen {
        Frozen(self.clone())
    }
}

impl Frozen {
    /// Encodes it.
    pub fn encode(&self) -> Snapshot {
        let mut state = Encoder::default();
        MAGIC.encode(&mut state);
        self.0.encode(&mut state);
        let mut messages = Encoder::default();
        state.messages.encode(&mut messages);
        Snapshot {
            state: state.bytes,
            messages: messages.bytes,
        }
    }
}

impl Snapshot {
    /// The core that was frozen.
    ///
    /// # Errors
    /// When the bytes are not those of a snapshot, with the offset.
    pub fn decode(&self) -> Result<Core, EncodingError> {
        let mut messages = Decoder::new(&self.messages);
        let table = BTreeMap::<BodyHandle, Arc<Message>>::decode(&mut messages)?;
        if !messages.is_at_end() {
            return Err(messages.error("end of messages"));
        }
        let mut state = Decoder::new(&self.state);
        state.messages = table;
        if u32::decode(&mut state)? != MAGIC {
            return Err(state.error("snapshot"));
        }
        let mut core = Core::decode(&mut state)?;
        core.hold_anew();
        match state.is_at_end() {
            true => Ok(core),
            false => Err(state.error("end of state")),
        }
    }
}
