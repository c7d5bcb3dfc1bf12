//! Large messages that come ahead of their publishes, in parts.
//!
//! An entry of a replicated group is bounded, and a message is not. So the header and body of a large
//! one come in [`Command::BodyPart`]s, one behind the other, and the publish names them by length and
//! checksum ([`TransferOfParts`]). At any time a connection has one message on its way; it is freed
//! with its connection, so with its member's epoch, or when the next one begins.
//!
//! [`Command::BodyPart`]: super::Command::BodyPart

use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use super::encoding::{Decoder, Encoder, EncodingError, Record, record};
use super::ids::ConnectionKey;
use super::limits;
use super::message::Message;
use crate::wire::{AcceptMode, Text};

/// A publish whose header and body have come ahead.
#[derive(Clone, Debug, PartialEq)]
pub struct TransferOfParts {
    /// The exchange.
    pub destination: Text,
    /// Whether the client wants `message.accept` for it.
    pub accept_mode: AcceptMode,
    /// Whether there is a header segment.
    pub has_header: bool,
    /// Whether there is a body segment.
    pub has_body: bool,
    /// How many octets of the parts are the header segment; the body follows.
    pub header_bytes: u64,
    /// Octets of all parts together.
    pub bytes: u64,
    /// CRC-32 of all parts together.
    pub checksum: u32,
}
record!(TransferOfParts {
    destination,
    accept_mode,
    has_header,
    has_body,
    header_bytes,
    bytes,
    checksum
});

/// What has come of a message.
#[derive(Clone, Debug, Default)]
struct Gathering {
    /// Shared with a frozen core: copied when it grows while that is being encoded.
    content: Arc<Vec<u8>>,
    checksum: u32,
}

impl Gathering {
    fn add(&mut self, octets: &[u8]) {
        let mut hasher = crc32fast::Hasher::new_with_initial(self.checksum);
        hasher.update(octets);
        self.checksum = hasher.finalize();
        Arc::make_mut(&mut self.content).extend_from_slice(octets);
    }
}

/// The messages that are on their way, by connection.
#[derive(Clone, Debug, Default)]
pub struct Parts(BTreeMap<ConnectionKey, Gathering>);

impl Parts {
    /// A part has come. The first one begins anew; one that does not follow, or that makes more than
    /// [`limits::PARTS_BYTES_MAX`], ends the message: its publish is refused.
    pub fn add(&mut self, connection: ConnectionKey, at: u64, octets: &[u8]) {
        if at == 0 {
            self.0.insert(connection, Gathering::default());
        }
        let Some(gathering) = self.0.get_mut(&connection) else {
            return;
        };
        let has_come = gathering.content.len() as u64;
        if at != has_come || has_come + octets.len() as u64 > limits::PARTS_BYTES_MAX {
            self.0.remove(&connection);
            return;
        }
        gathering.add(octets);
    }

    /// The message that the parts of a connection are; None when they are not those that the publish
    /// names.
    pub fn take(
        &mut self,
        connection: ConnectionKey,
        publish: &TransferOfParts,
    ) -> Option<Message> {
        let gathering = self.0.remove(&connection)?;
        let found = (gathering.content.len() as u64, gathering.checksum);
        if found != (publish.bytes, publish.checksum) {
            return None;
        }
        let content = Arc::unwrap_or_clone(gathering.content);
        let header_bytes = usize::try_from(publish.header_bytes).ok()?;
        let kinds = (publish.has_header, publish.has_body);
        Message::of_content(kinds, header_bytes, content)
    }

    /// What a connection has on its way is freed.
    pub fn forget(&mut self, connection: ConnectionKey) {
        self.0.remove(&connection);
    }

    /// Octets that are on their way.
    pub fn bytes(&self) -> u64 {
        let all = self.0.values();
        all.map(|gathering| gathering.content.len() as u64).sum()
    }
}

/// Octets count by length and checksum. Nothing on its way adds nothing to a digest.
impl Hash for Parts {
    fn hash<H: Hasher>(&self, state: &mut H) {
        for (connection, Gathering { content, checksum }) in &self.0 {
            (connection, content.len(), checksum).hash(state);
        }
    }
}

/// In snapshots of the first format it was the last of a core's state, and nothing on its way was
/// nothing there.
impl Record for Parts {
    fn encode(&self, to: &mut Encoder) {
        (self.0.len() as u32).encode(to);
        for (connection, Gathering { content, .. }) in &self.0 {
            connection.encode(to);
            to.sized(content);
        }
    }
    fn decode(from: &mut Decoder<'_>) -> Result<Self, EncodingError> {
        let mut parts = Parts::default();
        if from.format.is_some_and(|format| format < 2) && from.is_at_end() {
            return Ok(parts);
        }
        let count = u32::decode(from)?;
        for _ in 0..count {
            let connection = ConnectionKey::decode(from)?;
            let mut gathering = Gathering::default();
            gathering.add(from.sized("parts of a message")?);
            parts.0.insert(connection, gathering);
        }
        match parts.0.len() == count as usize {
            true => Ok(parts),
            false => Err(from.error("messages in parts")),
        }
    }
}
