//! Commands going out, and what a client keeps of them and of those coming in.

use bytes::Bytes;

use crate::wire::SegmentType;
use crate::wire::{
    Command, CommandId, Control, SequenceSet, SessionCommandPoint, SessionCompleted, SessionFlush,
};

use super::assembly::Whole;
use super::connection::{Connection, Turn};
use super::event::Event;
use super::output::Segment;

/// What follows a command. `None` is a segment that is not there, which differs from an empty
/// one.
#[derive(Clone, Copy, Debug, Default)]
pub struct Content<'a> {
    /// The header segment, encoded.
    pub header: Option<&'a [u8]>,
    /// The body segment.
    pub body: Option<Pieces<'a>>,
}

/// The octets of a body segment.
#[derive(Clone, Copy, Debug)]
pub enum Pieces<'a> {
    /// They are copied: for small ones.
    Copied(&'a [u8]),
    /// One after the other. Parts of 4096 bytes and more are not copied.
    Shared(&'a [Bytes]),
}

impl Connection {
    /// Sends a command with the id `id`. `session.command-point` goes out before the first, and before
    /// one whose id is not that of the command before it plus one. `content` must be `None` unless the
    /// command has content. Frames are cut to the peer's max-frame-size. Nothing is sent on a
    /// channel that has no session (any more).
    pub fn send_command(
        &mut self,
        channel: u16,
        id: CommandId,
        command: &Command,
        sync: bool,
        content: Option<Content<'_>>,
    ) {
        if !self.is_sending() || !self.can_send(channel) {
            return;
        }
        let Some(found) = self.channels.channel_mut(channel) else {
            return;
        };
        if found.next_sent != Some(id) {
            let point = SessionCommandPoint {
                command_id: id,
                command_offset: 0,
            };
            let point = Control::SessionCommandPoint(point);
            self.output.control(channel, &point, self.max_frame_size);
        }
        found.next_sent = Some(id.next());
        let Content { header, body } = content.unwrap_or_default();
        let has_content = header.is_some() || body.is_some();
        self.output
            .command(channel, command, sync, has_content, self.max_frame_size);
        if let Some(header) = header {
            let segment = Segment {
                kind: SegmentType::HEADER,
                channel,
                first: false,
                last: body.is_none(),
            };
            self.output.segment(segment, header, self.max_frame_size);
        }
        if let Some(body) = body {
            self.output.body(channel, body, self.max_frame_size);
        }
    }

    /// Client: sends a command with the next id of its session, and returns that id. `None` when
    /// the channel has no session.
    pub fn send(
        &mut self,
        channel: u16,
        command: &Command,
        sync: bool,
        content: Option<Content<'_>>,
    ) -> Option<CommandId> {
        if !self.is_sending() || !self.can_send(channel) {
            return None;
        }
        let id = self.ends_mut(channel)?.sender.send();
        self.send_command(channel, id, command, sync, content);
        Some(id)
    }

    /// Client: takes the id for a command that is sent later, with
    /// [`send_command`](Connection::send_command): while its session is being resumed, those before it
    /// go first. `None` when the channel has no session.
    pub fn take_id(&mut self, channel: u16) -> Option<CommandId> {
        Some(self.ends_mut(channel)?.sender.send())
    }

    /// Client: ids sent on a channel and not completed.
    pub fn incomplete(&self, channel: u16) -> Option<&SequenceSet> {
        let ends = self.channels.channel(channel)?.ends.as_deref()?;
        Some(ends.sender.incomplete())
    }

    /// Client: asks the broker to report now what it has completed.
    pub fn flush_completed(&mut self, channel: u16) {
        let flush = SessionFlush {
            expected: false,
            confirmed: false,
            completed: true,
        };
        self.send_control(channel, &Control::SessionFlush(flush));
    }

    /// Client: the incoming commands with these ids (transfers) are done. They are reported to
    /// the broker when it asks, when it must know, or by
    /// [`send_completed`](Connection::send_completed).
    pub fn complete(&mut self, channel: u16, commands: &SequenceSet) {
        if let Some(ends) = self.ends_mut(channel) {
            ends.receiver.complete(commands);
            self.report_if_due(channel);
        }
    }

    /// Client: reports what was completed since the last report. Window credit comes back by it.
    pub fn send_completed(&mut self, channel: u16) {
        if self
            .ends_mut(channel)
            .is_some_and(|ends| ends.receiver.has_unreported())
        {
            self.report(channel);
        }
    }

    fn report_if_due(&mut self, channel: u16) {
        if self
            .ends_mut(channel)
            .is_some_and(|ends| ends.receiver.is_due())
        {
            self.report(channel);
        }
    }

    fn report(&mut self, channel: u16) {
        if !self.is_sending() || !self.can_send(channel) {
            return;
        }
        let Some(ends) = self.ends_mut(channel) else {
            return;
        };
        let timely_reply = ends.receiver.reported();
        let mut commands = ends.receiver.completed().clone();
        loop {
            let excess = commands.split_off_excess();
            let completed = SessionCompleted {
                commands: Some(commands),
                timely_reply,
            };
            self.output.control(
                channel,
                &Control::SessionCompleted(completed),
                self.max_frame_size,
            );
            if excess.is_empty() {
                break;
            }
            commands = excess;
        }
    }

    /// Client: a command of the broker is whole. Only transfers are the caller's to complete.
    pub(super) fn client_arrived(&mut self, channel: u16, whole: Whole) -> Turn {
        let Whole {
            id,
            sync,
            command,
            header,
            body,
        } = whole;
        let Some(ends) = self.ends_mut(channel) else {
            return Turn::Next;
        };
        let receiver = &mut ends.receiver;
        match command {
            Command::MessageTransfer(_) => receiver.arrived(id, sync),
            Command::ExecutionSync(_) => receiver.sync_arrived(id),
            _ => receiver.done(id, sync),
        }
        self.report_if_due(channel);
        match command {
            Command::ExecutionSync(_) => Turn::Next,
            Command::ExecutionResult(result) => Turn::Event(Event::Result {
                channel,
                command_id: result.command_id,
                value: result.value,
            }),
            Command::ExecutionException(exception) => {
                Turn::Event(Event::Exception { channel, exception })
            }
            command => Turn::Event(Event::Command {
                channel,
                id,
                sync,
                command,
                header,
                body,
            }),
        }
    }
}
