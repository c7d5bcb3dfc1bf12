//! Sessions on channels: attach and detach, the controls between, and commands coming in.

use bytes::Buf;

use crate::wire::SegmentType;
use crate::wire::frame::{FrameHeader, HEADER_BYTES};
use crate::wire::{
    Command, CommandId, Control, DetachCode, ErrorCode, ExecutionException, SequenceSet,
    SessionAttach, SessionAttached, SessionCommandPoint, SessionCompleted, SessionConfirmed,
    SessionDetach, SessionDetached, SessionExpected, SessionFlush, SessionGap,
    SessionKnownCompleted,
};

use super::assembly::{Decoded, Fault, Outcome, Room, Whole, decode};
use super::channels::{Channel, Phase};
use super::connection::{Connection, Role, State, Turn, cut};
use super::ends::Ends;
use super::event::Event;
use super::limits;

/// Class of `session` in an exception.
const SESSION_CLASS: u8 = 2;
/// Code of `session.command-point`.
const COMMAND_POINT: u8 = 7;
/// Code of `session.gap`.
const GAP: u8 = 13;

impl Connection {
    /// Client: asks for a session. Its commands may be sent at once; `Attached` or `Detached`
    /// follows. Nothing happens when the channel is taken or the connection is not open.
    pub fn attach(&mut self, channel: u16, name: Vec<u8>, force: bool) {
        let client = matches!(self.role, Role::Client(_));
        if !client || !self.is_open() || self.channels.channel(channel).is_some() {
            return;
        }
        let attach = SessionAttach {
            name: name.clone(),
            force,
        };
        self.output.control(
            channel,
            &Control::SessionAttach(attach),
            self.max_frame_size,
        );
        self.channels
            .insert(Channel::new(channel, name, Some(Box::default())));
    }

    /// Broker: the session is attached. Only as an answer to `Attach`.
    pub fn attached(&mut self, channel: u16) {
        if self.question != Some(channel) {
            return;
        }
        let Some(found) = self.channels.channel_mut(channel) else {
            return;
        };
        if found.phase != Phase::Attaching {
            return;
        }
        found.phase = Phase::Attached;
        let attached = SessionAttached {
            name: found.name.clone(),
        };
        self.output.control(
            channel,
            &Control::SessionAttached(attached),
            self.max_frame_size,
        );
        self.question = None;
    }

    /// Broker: the session is attached, and goes on where it was: commands of the peer before `next` have
    /// come by another transport, and are dropped when they come again. Only as an answer to `Attach`.
    pub fn attached_again(&mut self, channel: u16, next: CommandId) {
        if let Some(found) = self.channels.channel_mut(channel)
            && found.phase == Phase::Attaching
        {
            found.incoming.resumed = true;
            found.incoming.unseen = next;
        }
        self.attached(channel);
    }

    /// Commands of ours with these ids will never come. The next command that is sent may have any id
    /// behind them.
    pub fn gap(&mut self, channel: u16, commands: SequenceSet) {
        let gap = SessionGap {
            commands: Some(commands),
        };
        self.send_control(channel, &Control::SessionGap(gap));
    }

    /// The session is not, or no longer, attached to this channel: as the answer to `Attach` or
    /// `Detach`, or unasked (a session taken by another connection with `force`).
    pub fn detached(&mut self, channel: u16, code: DetachCode) {
        if self.is_closed() {
            return;
        }
        if let Some(name) = self.free(channel) {
            let detached = SessionDetached { name, code };
            self.output.control(
                channel,
                &Control::SessionDetached(detached),
                self.max_frame_size,
            );
        }
    }

    /// Ends the session of a channel from our side. The peer's `detached` frees the channel; a
    /// client then sees `Detached`.
    pub fn detach(&mut self, channel: u16) {
        if self.question == Some(channel) || !self.is_open() {
            return;
        }
        let Some(found) = self.channels.channel_mut(channel) else {
            return;
        };
        if found.phase == Phase::Detaching {
            return;
        }
        found.phase = Phase::Detaching;
        found.assembly.reset(&mut self.held_bytes);
        let detach = SessionDetach {
            name: found.name.clone(),
        };
        self.output.control(
            channel,
            &Control::SessionDetach(detach),
            self.max_frame_size,
        );
    }

    /// Ends a session with an error, as qpidd does: `execution.exception` as the command `id`, or as the
    /// one after the last that went out when some before it did not (nothing comes behind it),
    /// then `session.detach`; what comes on the channel is dropped until the peer's `detached`.
    /// Nothing happens on a channel without a session.
    pub fn fail_session(&mut self, channel: u16, id: CommandId, mut exception: ExecutionException) {
        if let Some(description) = &mut exception.description {
            let bytes = cut(description, limits::EXCEPTION_TEXT_BYTES_MAX).len();
            description.truncate(bytes);
        }
        let last_sent = self.channels.channel(channel);
        let id = last_sent.and_then(|found| found.next_sent).unwrap_or(id);
        self.send_command(
            channel,
            id,
            &Command::ExecutionException(exception),
            false,
            None,
        );
        if self.question == Some(channel) {
            // The peer's detach waits for its answer, which is still the caller's to give.
            return;
        }
        self.detach(channel);
    }

    /// Sessions attached, or on the way to it or from it.
    pub fn session_count(&self) -> usize {
        self.channels.len()
    }

    /// Name of the session of a channel.
    pub fn session_name(&self, channel: u16) -> Option<&[u8]> {
        self.channels
            .channel(channel)
            .map(|channel| &channel.name[..])
    }

    /// Whether commands and session controls of the caller go out on this channel.
    pub fn can_send(&self, channel: u16) -> bool {
        self.channels
            .channel(channel)
            .is_some_and(|found| match found.phase {
                Phase::Attached | Phase::PeerDetaching | Phase::Refused => true,
                Phase::Attaching => found.ends.is_some(),
                Phase::Detaching => false,
            })
    }

    /// Frees a channel; the name its session had.
    pub(super) fn free(&mut self, channel: u16) -> Option<Vec<u8>> {
        if self.question == Some(channel) {
            self.question = None;
        }
        let mut freed = self.channels.remove(channel)?;
        freed.assembly.reset(&mut self.held_bytes);
        Some(freed.name)
    }

    /// Refuses something of a session: no more of it is taken.
    fn refuse(
        &mut self,
        channel: u16,
        id: CommandId,
        code: ErrorCode,
        what: (u8, u8),
        text: String,
    ) -> Turn {
        if let Some(found) = self.channels.channel_mut(channel) {
            found.phase = Phase::Refused;
            found.assembly.reset(&mut self.held_bytes);
        }
        let (class, command) = what;
        Turn::Event(Event::Refused {
            channel,
            id,
            code,
            class,
            command,
            text,
        })
    }

    /// A session control on an open connection.
    pub(super) fn session_control(&mut self, channel: u16, control: Control) -> Turn {
        match control {
            Control::SessionAttach(attach) => return self.peer_attach(channel, attach),
            Control::SessionDetach(detach) => return self.peer_detach(channel, detach),
            Control::SessionDetached(detached) => return self.peer_detached(channel, &detached),
            _ => {}
        }
        let Some(found) = self.channels.channel_mut(channel) else {
            // As qpidd does: the peer may not have seen our detached yet.
            return Turn::Next;
        };
        if !matches!(found.phase, Phase::Attached | Phase::Attaching) {
            return Turn::Next;
        }
        let client = found.ends.is_some();
        let event = match control {
            Control::SessionAttached(attached) if client => {
                if found.phase != Phase::Attaching || attached.name != found.name {
                    return Turn::Next;
                }
                found.phase = Phase::Attached;
                Event::Attached {
                    channel,
                    name: attached.name,
                }
            }
            Control::SessionRequestTimeout(request) => Event::RequestTimeout {
                channel,
                timeout: request.timeout,
            },
            Control::SessionTimeout(granted) => Event::Timeout {
                channel,
                timeout: granted.timeout,
            },
            Control::SessionCommandPoint(point) => return self.peer_point(channel, &point),
            Control::SessionExpected(expected) => Event::Expected {
                channel,
                commands: expected.commands,
            },
            Control::SessionConfirmed(confirmed) => Event::Confirmed {
                channel,
                commands: confirmed.commands.unwrap_or_default(),
            },
            Control::SessionCompleted(completed) => return self.peer_completed(channel, completed),
            Control::SessionKnownCompleted(known) => {
                let commands = known.commands.unwrap_or_default();
                if let Some(ends) = &mut found.ends {
                    ends.receiver.known_completed(&commands);
                }
                Event::KnownCompleted { channel, commands }
            }
            Control::SessionFlush(flush) if client => return self.answer_flush(channel, &flush),
            Control::SessionFlush(flush) => Event::Flush {
                channel,
                expected: flush.expected,
                confirmed: flush.confirmed,
                completed: flush.completed,
            },
            Control::SessionGap(gap) => {
                return self.peer_gap(channel, gap.commands.unwrap_or_default());
            }
            control => return self.fault(format!("unexpected {}", control.name())),
        };
        Turn::Event(event)
    }

    fn peer_attach(&mut self, channel: u16, attach: SessionAttach) -> Turn {
        if matches!(self.role, Role::Client(_)) {
            return self.fault("unexpected session.attach");
        }
        if attach.name.len() > limits::SESSION_NAME_BYTES_MAX {
            return self.fault(format!(
                "session name of {} bytes, {} allowed",
                attach.name.len(),
                limits::SESSION_NAME_BYTES_MAX
            ));
        }
        let busy = match self.channels.channel(channel) {
            Some(found) if found.phase == Phase::Detaching => return Turn::Next,
            // 0-10: session.attach/idempotence.
            Some(found) if found.name == attach.name => return Turn::Next,
            Some(_) => true,
            None => self.channels.len() >= self.bounds.sessions_max,
        };
        if busy {
            // 0-10: session.attach/one-session-per-transport.
            return self.answer_detached(channel, attach.name, DetachCode::TRANSPORT_BUSY);
        }
        self.channels
            .insert(Channel::new(channel, attach.name.clone(), None));
        self.question = Some(channel);
        Turn::Event(Event::Attach {
            channel,
            name: attach.name,
            force: attach.force,
        })
    }

    fn peer_detach(&mut self, channel: u16, detach: SessionDetach) -> Turn {
        let Some(found) = self.channels.channel_mut(channel) else {
            return self.answer_detached(channel, detach.name, DetachCode::NOT_ATTACHED);
        };
        if found.name != detach.name {
            return self.answer_detached(channel, detach.name, DetachCode::NOT_ATTACHED);
        }
        let client = found.ends.is_some();
        match (found.phase, client) {
            // Both sides detach at once. The peer may see its wish fulfilled and forget ours, so
            // a broker does not wait any longer; a client waits for the answer it is owed.
            (Phase::Detaching, true) => {
                self.answer_detached(channel, detach.name, DetachCode::NORMAL)
            }
            (Phase::Detaching, false) => {
                self.free(channel);
                self.answer_detached(channel, detach.name, DetachCode::NORMAL)
            }
            (_, true) => {
                self.free(channel);
                let code = DetachCode::NORMAL;
                let name = detach.name.clone();
                let turn = self.answer_detached(channel, detach.name, code);
                self.events.push_back(Event::Detached {
                    channel,
                    name,
                    code,
                });
                turn
            }
            (_, false) => {
                found.phase = Phase::PeerDetaching;
                found.assembly.reset(&mut self.held_bytes);
                self.question = Some(channel);
                Turn::Event(Event::Detach {
                    channel,
                    name: detach.name,
                })
            }
        }
    }

    /// Never checked against a name or answered: two brokers could go on answering for ever.
    fn peer_detached(&mut self, channel: u16, detached: &SessionDetached) -> Turn {
        let Some(found) = self.channels.channel(channel) else {
            return Turn::Next;
        };
        let silent = found.phase == Phase::Detaching && found.ends.is_none();
        match self.free(channel) {
            Some(name) if !silent => Turn::Event(Event::Detached {
                channel,
                name,
                code: detached.code,
            }),
            _ => Turn::Next,
        }
    }

    fn answer_detached(&mut self, channel: u16, name: Vec<u8>, code: DetachCode) -> Turn {
        self.reply(
            channel,
            &Control::SessionDetached(SessionDetached { name, code }),
        );
        Turn::Next
    }

    /// 0-10: session.command-point. No replay into the middle of a command: only offset 0. Ahead
    /// of the first command any id will do; later it may go back (what is seen again is dropped)
    /// but leave no gap, because every gap would be one more range to remember.
    fn peer_point(&mut self, channel: u16, point: &SessionCommandPoint) -> Turn {
        let Some(found) = self.channels.channel_mut(channel) else {
            return Turn::Next;
        };
        let incoming = &mut found.incoming;
        let what = (SESSION_CLASS, COMMAND_POINT);
        if point.command_offset != 0 {
            let text = "Not implemented: session.command-point with an offset".to_owned();
            let next = incoming.next;
            return self.refuse(channel, next, ErrorCode::NOT_IMPLEMENTED, what, text);
        }
        let first = !incoming.pointed && !incoming.resumed;
        incoming.pointed = true;
        if first {
            incoming.unseen = point.command_id;
            incoming.pass_gaps();
        } else if !point.command_id.at_or_before(incoming.unseen) {
            let next = incoming.next;
            let text = format!(
                "command-point {} leaves a gap behind {}",
                point.command_id, incoming.unseen
            );
            return self.refuse(channel, next, ErrorCode::ILLEGAL_ARGUMENT, what, text);
        }
        incoming.next = point.command_id;
        Turn::Next
    }

    /// 0-10: session.gap. Ids that will never come are passed over; a command that has come in part and
    /// is named is given up. Ids that have come already stay as they are.
    fn peer_gap(&mut self, channel: u16, commands: SequenceSet) -> Turn {
        let Some(found) = self.channels.channel_mut(channel) else {
            return Turn::Next;
        };
        let incoming = &mut found.incoming;
        let last = CommandId(incoming.unseen.0.wrapping_add(i32::MAX as u32));
        let ahead = commands.clipped(incoming.unseen, last);
        incoming.gaps.union(&ahead);
        if incoming.gaps.ranges().len() > limits::GAP_RANGES_MAX {
            let (next, what) = (incoming.next, (SESSION_CLASS, GAP));
            let text = "too many gaps between the commands of a session".to_owned();
            return self.refuse(
                channel,
                next,
                ErrorCode::RESOURCE_LIMIT_EXCEEDED,
                what,
                text,
            );
        }
        if found.assembly.begun().is_some_and(|id| ahead.contains(id)) {
            found.assembly.reset(&mut self.held_bytes);
        }
        incoming.pass_gaps();
        // What comes next without a command-point is the first that can come.
        if ahead.contains(incoming.next) {
            incoming.next = incoming.unseen;
        }
        if let Some(ends) = &mut found.ends {
            ends.receiver.never_comes(&ahead);
        }
        Turn::Event(Event::Gap { channel, commands })
    }

    fn peer_completed(&mut self, channel: u16, completed: SessionCompleted) -> Turn {
        let mut commands = completed.commands.unwrap_or_default();
        if completed.timely_reply {
            // 0-10: session.completed/known-completed-reply.
            let known = SessionKnownCompleted {
                commands: Some(commands.clone()),
            };
            self.reply(channel, &Control::SessionKnownCompleted(known));
        }
        if let Some(ends) = self.ends_mut(channel) {
            commands = ends.sender.completed(&commands);
        }
        Turn::Event(Event::Completed {
            channel,
            commands,
            timely_reply: completed.timely_reply,
        })
    }

    pub(super) fn ends_mut(&mut self, channel: u16) -> Option<&mut Ends> {
        self.channels.channel_mut(channel)?.ends.as_deref_mut()
    }

    /// Client: tells the broker what it asks for.
    fn answer_flush(&mut self, channel: u16, flush: &SessionFlush) -> Turn {
        let Some(found) = self.channels.channel_mut(channel) else {
            return Turn::Next;
        };
        let incoming = &found.incoming;
        // 0-10: session.expected/commands-empty-means-new-session. A command that has come in part is
        // expected whole.
        let expected = match incoming.pointed || incoming.resumed {
            true => SequenceSet::of(incoming.unseen),
            false => SequenceSet::new(),
        };
        let completed = found
            .ends
            .as_ref()
            .map(|ends| ends.receiver.completed().clone());
        let completed = completed.unwrap_or_default();
        if flush.expected {
            let expected = SessionExpected {
                commands: expected,
                fragments: None,
            };
            self.reply(channel, &Control::SessionExpected(expected));
        }
        if flush.confirmed {
            let confirmed = SessionConfirmed {
                commands: Some(completed.clone()),
                fragments: None,
            };
            self.reply(channel, &Control::SessionConfirmed(confirmed));
        }
        if flush.completed {
            let completed = SessionCompleted {
                commands: Some(completed),
                timely_reply: true,
            };
            self.reply(channel, &Control::SessionCompleted(completed));
        }
        Turn::Next
    }

    /// A frame of a command, header or body on an open connection.
    pub(super) fn command_track_frame(&mut self, frame: &FrameHeader) -> Turn {
        let size = usize::from(frame.size);
        let Some(channel) = self.channels.channel_mut(frame.channel) else {
            self.input.advance(size);
            return Turn::Next;
        };
        match channel.phase {
            Phase::Attached => {}
            Phase::Attaching if channel.ends.is_some() => {}
            _ => {
                self.input.advance(size);
                return Turn::Next;
            }
        }
        if !channel.incoming.pointed {
            self.input.advance(size);
            return self.not_pointed(frame.channel);
        }
        let next = channel.incoming.next;
        let command = frame.segment == SegmentType::COMMAND;
        if command && frame.first_frame {
            channel.incoming.next = next.next();
        }
        let whole = frame.first_frame && frame.last_frame && frame.last_segment;
        if command && whole && frame.first_segment && channel.assembly.is_idle() {
            return self.whole_command(frame, next);
        }
        let taken = if command {
            let payload = self.input.get(HEADER_BYTES..size).unwrap_or_default();
            let taken = channel
                .assembly
                .take_command(frame, payload, next, &mut self.held_bytes);
            self.input.advance(size);
            taken
        } else {
            self.input.advance(HEADER_BYTES);
            let payload = self.input.split_to(size - HEADER_BYTES).freeze();
            let room = Room {
                assembly_bytes_max: self.bounds.assembly_bytes_max,
                assemblies_bytes_max: self.bounds.assemblies_bytes_max,
            };
            channel
                .assembly
                .take_content(frame, payload, room, &mut self.held_bytes)
        };
        match taken {
            Ok(Outcome::More) => Turn::Next,
            Ok(Outcome::Whole) => match channel.assembly.take_whole(&mut self.held_bytes) {
                Some(whole) => self.arrived(frame.channel, whole),
                None => Turn::Next,
            },
            Ok(Outcome::Refused(refused)) => {
                let what = (refused.class, refused.command);
                self.refuse(frame.channel, refused.id, refused.code, what, refused.text)
            }
            Err(Fault(text)) => self.fault(text),
        }
    }

    /// A command in one frame with nothing behind it: read where it lies.
    fn whole_command(&mut self, frame: &FrameHeader, id: CommandId) -> Turn {
        let size = usize::from(frame.size);
        let decoded = decode(self.input.get(HEADER_BYTES..size).unwrap_or_default());
        self.input.advance(size);
        match decoded {
            Ok(Decoded::Known { sync, command }) => {
                let whole = Whole {
                    id,
                    sync,
                    command,
                    header: None,
                    body: None,
                };
                self.arrived(frame.channel, whole)
            }
            Ok(Decoded::Unknown {
                class,
                command,
                text,
            }) => {
                let what = (class, command);
                self.refuse(frame.channel, id, ErrorCode::NOT_IMPLEMENTED, what, text)
            }
            Err(error) => self.fault(error.to_string()),
        }
    }

    /// 0-10: session.command-point/newly-attached-transports.
    fn not_pointed(&mut self, channel: u16) -> Turn {
        if matches!(self.role, Role::Client(_)) {
            return self.fault("a command before session.command-point");
        }
        let text = "Not ready to receive data: no session.command-point yet".to_owned();
        self.refuse(
            channel,
            CommandId(0),
            ErrorCode::ILLEGAL_STATE,
            (0, 0),
            text,
        )
    }

    /// A command is whole.
    fn arrived(&mut self, channel: u16, whole: Whole) -> Turn {
        let Some(found) = self.channels.channel_mut(channel) else {
            return Turn::Next;
        };
        if whole.id.precedes(found.incoming.unseen) {
            // Seen before: a command-point went back.
            return Turn::Next;
        }
        found.incoming.unseen = whole.id.next();
        if !found.incoming.gaps.is_empty() {
            let incoming = &mut found.incoming;
            let follows = incoming.next == incoming.unseen;
            incoming.pass_gaps();
            if follows {
                incoming.next = incoming.unseen;
            }
        }
        if found.ends.is_some() {
            return self.client_arrived(channel, whole);
        }
        let Whole {
            id,
            sync,
            command,
            header,
            body,
        } = whole;
        Turn::Event(Event::Command {
            channel,
            id,
            sync,
            command,
            header,
            body,
        })
    }

    /// Open, and not closing.
    pub(super) fn is_sending(&self) -> bool {
        self.state == State::Opened
    }
}
