//! A client's session between two transports.

use crate::wire::{Control, SessionAttach, SessionFlush};

use super::channels::{Channel, Incoming};
use super::connection::{Connection, Role};
use super::ends::Ends;

/// What a client keeps of a session that has lost its transport: both ends of its commands.
#[derive(Debug)]
pub struct Suspended {
    name: Vec<u8>,
    ends: Box<Ends>,
    incoming: Incoming,
}

impl Suspended {
    /// Of a channel that carries a session of a client no more.
    pub(super) fn of(channel: Channel) -> Option<Suspended> {
        let Channel {
            name,
            ends,
            incoming,
            ..
        } = channel;
        Some(Suspended {
            name,
            ends: ends?,
            incoming: Incoming {
                pointed: false,
                resumed: true,
                ..incoming
            },
        })
    }

    /// The session's name.
    pub fn name(&self) -> &[u8] {
        &self.name
    }
}

impl Connection {
    /// Client, when the connection has ended: the session that a channel carried. Each is given once.
    pub fn take_suspended(&mut self, channel: u16) -> Option<Suspended> {
        self.suspended.remove(&channel)
    }

    /// Client: asks for a session that has lost its transport, by force, since the broker may not know
    /// that yet, and for what the broker has of it. `Attached` or `Detached` follows, then `Expected`:
    /// empty when the broker knows of no such session, else the first command to be sent again, with
    /// [`send_command`](Connection::send_command). Nothing happens when the channel is taken or the
    /// connection is not open.
    pub fn attach_again(&mut self, channel: u16, suspended: Suspended) {
        let client = matches!(self.role, Role::Client(_));
        if !client || !self.is_open() || self.channels.channel(channel).is_some() {
            return;
        }
        let Suspended {
            name,
            ends,
            incoming,
        } = suspended;
        let attach = SessionAttach {
            name: name.clone(),
            force: true,
        };
        let ask = SessionFlush {
            expected: true,
            confirmed: true,
            completed: true,
        };
        for control in [Control::SessionAttach(attach), Control::SessionFlush(ask)] {
            self.output.control(channel, &control, self.max_frame_size);
        }
        let mut again = Channel::new(channel, name, Some(ends));
        again.incoming = incoming;
        self.channels.insert(again);
    }
}
