//! What a member proposes, as octets: in batches, none of which is much larger than
//! [`PROPOSAL_BYTES`](super::limits::PROPOSAL_BYTES), or than a test says. A message that is larger
//! goes ahead in parts of that size.

use std::sync::Arc;

use bytes::Bytes;

use crate::broker::encoding::{Encoder, Record};
use crate::broker::ids::ConnectionNumber;
use crate::broker::message::Message;
use crate::broker::parts::TransferOfParts;
use crate::broker::{Command, Origin, Request};

/// Encoded commands of one batch, and how many they are.
#[derive(Default)]
pub(super) struct Commands {
    count: u32,
    encoded: Encoder,
}

impl Commands {
    /// Commands that are small.
    pub fn of_few(commands: &[Command]) -> Commands {
        let mut all = Commands::default();
        commands.iter().for_each(|command| all.add(command));
        all
    }

    fn add(&mut self, command: &Command) {
        command.encode(&mut self.encoded);
        self.count += 1;
    }

    /// Octets of the commands.
    pub fn bytes(&self) -> usize {
        self.encoded.bytes.len()
    }

    /// A proposal: whose they are, and the commands.
    pub fn of(&self, origin: Origin) -> Vec<u8> {
        let mut encoder = Encoder::default();
        encoder.bytes.reserve(64 + self.bytes());
        origin.encode(&mut encoder);
        self.count.encode(&mut encoder);
        encoder.raw(&self.encoded.bytes);
        encoder.bytes
    }
}

/// A proposal of commands that are small.
pub(super) fn encode(origin: Origin, commands: &[Command]) -> Vec<u8> {
    Commands::of_few(commands).of(origin)
}

/// How many of a connection's commands go into the next batch, which has so many at most: those up to the
/// first that ends a transaction.
pub(super) fn batch_len(commands: &[Command], commands_max: usize) -> usize {
    let most = commands_max.min(commands.len());
    let mut commands = commands.iter().take(most);
    let ends = commands.position(Command::ends_transaction);
    ends.map_or(most, |at| at + 1)
}

/// The batches of so many octets and commands in which commands of a connection are proposed: one at
/// least. None goes on behind a command that ends a transaction.
pub(super) fn cut(
    connection: ConnectionNumber,
    commands: &[Command],
    (bytes, commands_max): (usize, usize),
) -> Vec<Commands> {
    let bytes = bytes.max(1);
    let (mut done, mut current) = (Vec::new(), Commands::default());
    for command in commands {
        match parted(command, bytes) {
            None => current.add(command),
            Some((message, publish)) => {
                if current.count > 0 {
                    done.push(std::mem::take(&mut current));
                }
                done.extend(parts(connection, message, bytes));
                current.add(&publish);
            }
        }
        if current.bytes() >= bytes
            || current.count as usize >= commands_max
            || command.ends_transaction()
        {
            done.push(std::mem::take(&mut current));
        }
    }
    if current.count > 0 || done.is_empty() {
        done.push(current);
    }
    done
}

/// The message of a publish that is large, and the publish that names its parts.
fn parted(command: &Command, bytes: usize) -> Option<(&Arc<Message>, Command)> {
    let Command::Session {
        at,
        id,
        sync,
        request,
    } = command
    else {
        return None;
    };
    let Request::Transfer {
        destination,
        accept_mode,
        message,
    } = request
    else {
        return None;
    };
    if message.size() <= bytes as u64 {
        return None;
    }
    let publish = TransferOfParts {
        destination: destination.clone(),
        accept_mode: *accept_mode,
        has_header: message.has_header,
        has_body: message.has_body,
        header_bytes: message.header().len() as u64,
        bytes: message.size(),
        checksum: crc32fast::hash(message.content()),
    };
    let command = Command::Session {
        at: *at,
        id: *id,
        sync: *sync,
        request: Request::TransferOfParts(Box::new(publish)),
    };
    Some((message, command))
}

/// The batches that bring a message ahead.
fn parts(
    connection: ConnectionNumber,
    message: &Arc<Message>,
    bytes: usize,
) -> impl Iterator<Item = Commands> {
    let content = message.shared_content();
    let starts = (0..content.len()).step_by(bytes);
    starts.map(move |start| {
        let end = (start + bytes).min(content.len());
        let octets: Bytes = content.slice(start..end);
        let mut part = Commands::default();
        part.add(&Command::BodyPart {
            connection,
            at: start as u64,
            octets,
        });
        part
    })
}
