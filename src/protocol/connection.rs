//! The state machine of one peer's connection.

use std::collections::{BTreeMap, VecDeque};

use bytes::{Buf, BytesMut};

use crate::wire::SegmentType;
use crate::wire::frame::{FrameHeader, HEADER_BYTES};
use crate::wire::{
    CloseCode, ConnectionClose, ConnectionCloseOk, ConnectionHeartbeat, ConnectionStart,
    ConnectionTune, Control, Cursor, Text, protocol_header,
};

use super::channels::Channels;
use super::config::{Bounds, BrokerConfig, ClientConfig};
use super::event::{ClosedBy, Event};
use super::limits;
use super::output::Output;
use super::partial_controls::PartialControls;
use super::suspended::Suspended;
use super::time::{Time, Timer, Timers};

/// How far the connection has come. 0-10 has one order of controls, so one list serves both
/// roles; `B` and `C` say who can be in a state.
///
/// ```text
///  broker                                   client
///  ProtocolHeader <------- header --------- ProtocolHeader
///       | -------- header, start ---------> Start
///  StartOk                                  Answering  (the caller: start_ok)
///  Authenticating (the caller:        <---- start-ok
///       |     secure, authenticated)        Secure (secure or tune may come)
///       | -------- secure ----------------> Answering  (the caller: secure_ok)
///  SecureOk <----- secure-ok ----                |
///       | -------- tune ------------------> (tune-ok and open go out)
///  TuneOk  <------ tune-ok ---                   |
///  Open    <------ open ------              OpenOk
///  Opening (the caller: open_ok)
///       | -------- open-ok ---------------> Opened
///  Opened
///       any of these --close--> Closing --close-ok, or the time is up--> Closed
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// B, C: the peer's protocol header has not come.
    ProtocolHeader,
    /// C: `start` has not come.
    Start,
    /// B: `start-ok` has not come.
    StartOk,
    /// C: `secure` or `tune` has not come.
    Secure,
    /// B: `secure-ok` has not come.
    SecureOk,
    /// C: the caller has been asked and has not answered.
    Answering,
    /// B: the caller has been asked who the peer is and has not answered.
    Authenticating,
    /// B: `tune-ok` has not come.
    TuneOk,
    /// B: `open` has not come.
    Open,
    /// B: the caller has been asked about the virtual host and has not answered.
    Opening,
    /// C: `open-ok` has not come.
    OpenOk,
    /// B, C: sessions may attach.
    Opened,
    /// B, C: `close` is sent, `close-ok` has not come.
    Closing,
    /// B, C: nothing is read any more.
    Closed,
}

/// What differs between the two ends.
pub(super) enum Role {
    Broker {
        start: Option<Box<ConnectionStart>>,
        tune: ConnectionTune,
    },
    Client(Box<ClientConfig>),
}

/// One connection, of a broker or of a client, without its socket.
///
/// Order of use: give it what the socket had with [`handle_input`](Connection::handle_input) or
/// the time with [`handle_timeout`](Connection::handle_timeout), then call
/// [`poll_event`](Connection::poll_event) until it returns `None`, answering questions as they
/// come; then write [`output`](Connection::output) and wait for input, for
/// [`poll_timeout`](Connection::poll_timeout), or for something to send. After an answer that
/// came late, poll for events again. Read the socket only while
/// [`wants_input`](Connection::wants_input).
///
/// Nothing here blocks, reads a clock or panics on input. What a peer can make it hold is bounded
/// by `limits.rs` and [`Bounds`].
pub struct Connection {
    pub(super) role: Role,
    pub(super) state: State,
    pub(super) bounds: Bounds,
    pub(super) now: Time,
    pub(super) timers: Timers,
    pub(super) input: BytesMut,
    pub(super) partial_controls: PartialControls,
    pub(super) output: Output,
    /// Whole-frame bound, both ways; offered until agreed on.
    pub(super) max_frame_size: u16,
    /// Milliseconds, 0 for none.
    pub(super) heartbeat: u64,
    pub(super) channels: Channels,
    /// Client, once it has ended: the sessions that its channels carried.
    pub(super) suspended: BTreeMap<u16, Suspended>,
    /// Bytes of half-received messages, over all channels.
    pub(super) held_bytes: usize,
    /// Broker: memory that what the peer has said of itself takes, in bytes.
    pub(super) said_bytes: usize,
    /// The channel whose attach or detach the caller has been asked about.
    pub(super) question: Option<u16>,
    /// Events that did not come from polling: at most a few.
    pub(super) events: VecDeque<Event>,
    /// Frames that have come.
    pub(super) frames: u64,
}

/// One turn of the input loop.
#[expect(
    clippy::large_enum_variant,
    reason = "one event a message: a box would cost more"
)]
pub(super) enum Turn {
    Event(Event),
    /// A frame is done with, no event came of it.
    Next,
    /// The next frame is not here yet.
    NeedsInput,
}

impl Connection {
    /// The broker's end. The time to open runs from `now`.
    pub fn broker(config: BrokerConfig, now: Time) -> Self {
        let max_frame_size = config.max_frame_size.max(limits::MIN_MAX_FRAME_SIZE);
        let start = ConnectionStart {
            server_properties: Some(config.server_properties),
            mechanisms: super::negotiation::texts_to_array(&config.mechanisms),
            locales: super::negotiation::texts_to_array(&config.locales),
        };
        let tune = ConnectionTune {
            channel_max: Some(config.channel_max),
            max_frame_size: Some(max_frame_size),
            heartbeat_min: Some(config.heartbeat_min),
            heartbeat_max: Some(config.heartbeat_max),
        };
        let role = Role::Broker {
            start: Some(Box::new(start)),
            tune,
        };
        Self::new(role, config.bounds, max_frame_size, now)
    }

    /// The client's end. Its protocol header waits in the output at once.
    pub fn client(config: ClientConfig, now: Time) -> Self {
        let bounds = config.bounds;
        let max_frame_size = config.max_frame_size.max(limits::MIN_MAX_FRAME_SIZE);
        let role = Role::Client(Box::new(config));
        let mut connection = Self::new(role, bounds, max_frame_size, now);
        connection.output.bytes(&protocol_header::BYTES);
        connection
    }

    fn new(role: Role, bounds: Bounds, max_frame_size: u16, now: Time) -> Self {
        let mut timers = Timers::default();
        timers.set(
            Timer::Negotiate,
            now.plus_milliseconds(bounds.negotiate_milliseconds),
        );
        Connection {
            role,
            state: State::ProtocolHeader,
            bounds,
            now,
            timers,
            input: BytesMut::new(),
            partial_controls: PartialControls::default(),
            output: Output::default(),
            max_frame_size,
            heartbeat: 0,
            channels: Channels::default(),
            suspended: BTreeMap::new(),
            held_bytes: 0,
            said_bytes: 0,
            question: None,
            events: VecDeque::new(),
            frames: 0,
        }
    }

    /// Frames that have come, and frames that were written, since the connection began.
    pub fn frames(&self) -> (u64, u64) {
        (self.frames, self.output.frames())
    }

    /// Takes all of `buffer`, however the bytes were cut. `buffer` keeps its spare room. A caller
    /// that stops reading for reasons of its own calls this with an empty buffer now and then,
    /// so that the peer is not taken for silent.
    pub fn handle_input(&mut self, now: Time, buffer: &mut BytesMut) {
        self.now = now;
        if self.state == State::Closed {
            buffer.clear();
            return;
        }
        if self.state != State::Closing {
            self.expect_input();
        }
        if self.input.is_empty() {
            self.input = buffer.split();
        } else {
            // No copy while both are parts of one allocation.
            self.input.unsplit(buffer.split());
        }
    }

    /// Makes room in `buffer`, which is empty, for reading `bytes` more right behind what waits
    /// unread here. A frame that the end of a buffer has cut in two is then joined without copying
    /// all that comes after the cut.
    pub fn make_room(&mut self, buffer: &mut BytesMut, bytes: usize) {
        debug_assert!(buffer.is_empty(), "what was read is for handle_input");
        if self.input.is_empty() || buffer.capacity() >= bytes {
            buffer.reserve(bytes);
            return;
        }
        let mut whole = std::mem::take(&mut self.input);
        whole.unsplit(std::mem::take(buffer));
        whole.reserve(bytes);
        self.input = whole.split();
        *buffer = whole;
    }

    /// The socket has no more input: the peer has gone without a word.
    pub fn handle_end_of_input(&mut self) {
        self.end(
            CloseCode::CONNECTION_FORCED,
            "the peer closed the socket".into(),
            ClosedBy::Lost,
        );
    }

    /// The next thing that happened; `None` when more input, time or an answer is needed.
    pub fn poll_event(&mut self) -> Option<Event> {
        loop {
            if let Some(event) = self.events.pop_front() {
                return Some(event);
            }
            match self.turn() {
                Turn::Event(event) => return Some(event),
                Turn::Next => {}
                Turn::NeedsInput => {
                    if self.input.is_empty() {
                        // Lets go of the read buffer, so that its owner can use it again.
                        self.input = BytesMut::new();
                    }
                    if self.events.is_empty() {
                        return None;
                    }
                }
            }
        }
    }

    /// When [`handle_timeout`](Connection::handle_timeout) has something to do.
    pub fn poll_timeout(&self) -> Option<Time> {
        self.timers.next()
    }

    /// Does what is due at `now`.
    pub fn handle_timeout(&mut self, now: Time) {
        self.now = now;
        while let Some(timer) = self.timers.take_expired(now) {
            match timer {
                Timer::Negotiate => self.end(
                    CloseCode::CONNECTION_FORCED,
                    "the connection was not opened in time".into(),
                    ClosedBy::Us,
                ),
                // Nobody has looked for input.
                Timer::InputExpiry if !self.wants_input() => self.expect_input(),
                Timer::InputExpiry => self.end(
                    CloseCode::CONNECTION_FORCED,
                    "no heartbeat for two intervals".into(),
                    ClosedBy::Lost,
                ),
                Timer::Linger => {
                    self.output = Output::default();
                    self.become_closed();
                }
                Timer::HeartbeatSend => {
                    // A peer that does not read gets no more of them than it asked for.
                    if self.reply(0, &Control::ConnectionHeartbeat(ConnectionHeartbeat {})) {
                        self.timers
                            .set(timer, now.plus_milliseconds(self.heartbeat));
                    }
                }
            }
        }
    }

    /// Runs the time that the peer may be silent anew.
    fn expect_input(&mut self) {
        if self.heartbeat > 0 {
            let silence = self.heartbeat.saturating_mul(2);
            self.timers
                .set(Timer::InputExpiry, self.now.plus_milliseconds(silence));
        }
    }

    /// Bytes for the socket.
    pub fn output(&mut self) -> &mut Output {
        &mut self.output
    }

    /// Whether the socket may be read. False only while the caller owes an answer and enough
    /// input waits behind it, or when nothing is wanted any more.
    pub fn wants_input(&self) -> bool {
        match self.state {
            State::Closed => false,
            State::Opened | State::Closing => self.input.len() < limits::INPUT_BYTES_MAX,
            _ => self.input.len() < limits::UNAUTHENTICATED_INPUT_BYTES_MAX,
        }
    }

    /// Bytes that the peer makes this connection hold: input not yet read, controls and messages
    /// half received. Bounded by `limits.rs` and [`Bounds`].
    pub fn held_bytes(&self) -> usize {
        self.input.len() + self.partial_controls.held_bytes() + self.held_bytes
    }

    /// Bytes that the peer makes this connection and its owner hold before it is open, at most: buffers
    /// that grow may be twice as large as what is in them, and what the peer says of itself is kept by
    /// the owner.
    pub fn stranger_bytes(&self) -> usize {
        2 * self.held_bytes() + self.said_bytes
    }

    /// The caller owes an answer; no event comes before it.
    pub fn is_waiting_for_answer(&self) -> bool {
        self.asks_about_connection() || self.question.is_some()
    }

    fn asks_about_connection(&self) -> bool {
        matches!(
            self.state,
            State::Answering | State::Authenticating | State::Opening
        )
    }

    /// Sessions may be attached.
    pub fn is_open(&self) -> bool {
        self.state == State::Opened
    }

    /// No event comes any more but `Closed`, and nothing can be sent.
    pub fn is_closed(&self) -> bool {
        matches!(self.state, State::Closing | State::Closed)
    }

    /// Everything is said and written, or the time for it is up: the socket can be closed.
    pub fn should_close_socket(&self) -> bool {
        self.state == State::Closed && self.output.is_empty()
    }

    /// Sends `connection.close`. Nothing happens on a connection that is closed already. The text
    /// is cut to 128 bytes, as qpidd does. `Event::Closed` follows.
    pub fn close(&mut self, code: CloseCode, text: &str) {
        if self.is_closed() {
            return;
        }
        if self.state == State::ProtocolHeader {
            // The peer does not know yet what we speak: there is nobody to tell.
            self.end(code, text.to_owned(), ClosedBy::Us);
            return;
        }
        let close = ConnectionClose {
            reply_code: code,
            reply_text: Some(Text::from(cut(text, limits::CLOSE_TEXT_BYTES_MAX))),
        };
        self.output
            .control(0, &Control::ConnectionClose(close), self.max_frame_size);
        let linger = match self.state {
            State::Opened => limits::LINGER_MILLISECONDS,
            _ => limits::UNOPENED_LINGER_MILLISECONDS,
        };
        self.state = State::Closing;
        self.forget_sessions();
        self.timers.stop_all();
        self.timers
            .set(Timer::Linger, self.now.plus_milliseconds(linger));
        self.events.push_back(Event::Closed {
            code,
            text: text.to_owned(),
            by: ClosedBy::Us,
        });
    }

    /// Sends `connection.close`, if that is not done, and takes nothing more of the peer, not the answer
    /// either: for one that has sent too much already.
    pub fn cut_off(&mut self, code: CloseCode, text: &str) {
        self.close(code, text);
        if self.state == State::Closing {
            self.become_closed();
        }
    }

    /// Sends a control as it is. Those that change what this layer knows (attached, detached,
    /// detach, attach, command-point) have methods of their own and are passed to them. Session
    /// controls for a channel without a session are dropped.
    pub fn send_control(&mut self, channel: u16, control: &Control) {
        match control {
            Control::SessionAttached(_) => self.attached(channel),
            Control::SessionDetached(detached) => self.detached(channel, detached.code),
            Control::SessionDetach(_) => self.detach(channel),
            Control::SessionAttach(attach) => {
                self.attach(channel, attach.name.clone(), attach.force);
            }
            Control::SessionCommandPoint(_) => {}
            _ if self.is_closed() => {}
            _ if is_session_control(control) && !self.can_send(channel) => {}
            _ => self.output.control(channel, control, self.max_frame_size),
        }
    }

    /// Answers the peer. A peer that never reads its answers is cut off, and false returned.
    pub(super) fn reply(&mut self, channel: u16, control: &Control) -> bool {
        let read = self.output.reply(channel, control, self.max_frame_size);
        if !read {
            let text = "the peer does not read what it asks for";
            self.end(CloseCode::CONNECTION_FORCED, text.into(), ClosedBy::Us);
        }
        read
    }

    /// The peer broke the protocol: close with 501.
    pub(super) fn fault(&mut self, text: impl Into<String>) -> Turn {
        self.close(CloseCode::FRAMING_ERROR, &text.into());
        Turn::Next
    }

    /// Ends without a word to the peer; the output left is still worth writing only when the
    /// peer reads.
    fn end(&mut self, code: CloseCode, text: String, by: ClosedBy) {
        if self.state == State::Closed {
            return;
        }
        if self.state != State::Closing {
            self.events.push_back(Event::Closed { code, text, by });
        }
        self.output = Output::default();
        self.become_closed();
    }

    pub(super) fn become_closed(&mut self) {
        self.state = State::Closed;
        self.timers.stop_all();
        self.forget_sessions();
        if !self.output.is_empty() {
            // A peer that reads nothing any more does not keep the socket.
            let linger = limits::UNOPENED_LINGER_MILLISECONDS;
            self.timers
                .set(Timer::Linger, self.now.plus_milliseconds(linger));
        }
    }

    fn forget_sessions(&mut self) {
        self.input = BytesMut::new();
        for channel in self.channels.drain() {
            let number = channel.number;
            if let Some(suspended) = Suspended::of(channel) {
                self.suspended.insert(number, suspended);
            }
        }
        self.held_bytes = 0;
        self.said_bytes = 0;
        self.question = None;
        self.partial_controls = PartialControls::default();
    }

    fn turn(&mut self) -> Turn {
        match self.state {
            State::Closed => return Turn::NeedsInput,
            State::ProtocolHeader => return self.protocol_header(),
            _ if self.is_waiting_for_answer() => return Turn::NeedsInput,
            _ => {}
        }
        let Some(bytes) = self.input.first_chunk::<HEADER_BYTES>() else {
            return Turn::NeedsInput;
        };
        let frame = match FrameHeader::decode(bytes) {
            Ok(frame) => frame,
            Err(error) => return self.frame_fault(error.to_string()),
        };
        if frame.size > self.max_frame_size {
            return self.frame_fault(format!(
                "frame of {} bytes, {} agreed on",
                frame.size, self.max_frame_size
            ));
        }
        if self.input.len() < usize::from(frame.size) {
            return Turn::NeedsInput;
        }
        self.frames += 1;
        match frame.segment {
            SegmentType::CONTROL => self.control_frame(&frame),
            _ if self.state == State::Opened => self.command_track_frame(&frame),
            _ => {
                let text = format!("unexpected {:?} frame", frame.segment);
                self.input.advance(usize::from(frame.size));
                self.unexpected(text)
            }
        }
    }

    /// A frame that cannot be delimited: what follows it has no meaning either.
    fn frame_fault(&mut self, text: String) -> Turn {
        if self.state == State::Closing {
            self.become_closed();
            return Turn::NeedsInput;
        }
        self.fault(text)
    }

    /// Something that has no place here, except behind our close, where it is dropped.
    pub(super) fn unexpected(&mut self, text: String) -> Turn {
        if self.state == State::Closing {
            Turn::Next
        } else {
            self.fault(text)
        }
    }

    fn protocol_header(&mut self) -> Turn {
        let Some(bytes) = self.input.first_chunk::<8>() else {
            return Turn::NeedsInput;
        };
        let known = *bytes == protocol_header::BYTES;
        let text = format!("protocol header {}", bytes.escape_ascii());
        self.input.advance(bytes.len());
        if !known {
            let broker = matches!(self.role, Role::Broker { .. });
            self.end(CloseCode::FRAMING_ERROR, text, ClosedBy::Us);
            if broker {
                // 0-10: the version offered, then the socket is closed.
                self.output.bytes(&protocol_header::BYTES);
                self.become_closed();
            }
            return Turn::NeedsInput;
        }
        match &mut self.role {
            Role::Broker { start, .. } => {
                self.output.bytes(&protocol_header::BYTES);
                if let Some(start) = start.take() {
                    let start = Control::ConnectionStart(*start);
                    self.output.control(0, &start, limits::MAX_FRAME_SIZE);
                }
                self.state = State::StartOk;
            }
            Role::Client(_) => self.state = State::Start,
        }
        Turn::Next
    }

    fn control_frame(&mut self, frame: &FrameHeader) -> Turn {
        let size = usize::from(frame.size);
        // Frames are taken when they are there whole.
        let payload = self.input.get(HEADER_BYTES..size).unwrap_or_default();
        let only = frame.first_frame && frame.last_frame;
        let decoded = if only && self.partial_controls.is_free(frame.channel) {
            let decoded = decode_control(payload, self.state);
            self.input.advance(size);
            decoded
        } else {
            let bytes_max = match self.state {
                State::Opened => limits::CONTROL_BYTES_MAX,
                _ => limits::UNAUTHENTICATED_CONTROL_BYTES_MAX,
            };
            let pushed = self.partial_controls.push(
                frame.channel,
                frame.first_frame,
                frame.last_frame,
                payload,
                bytes_max,
            );
            self.input.advance(size);
            match pushed {
                Ok(Some(whole)) => decode_control(&whole, self.state),
                Ok(None) => return Turn::Next,
                Err(text) => return self.unexpected(text.to_owned()),
            }
        };
        match decoded {
            Ok((control, bytes)) => {
                if matches!(control, Control::ConnectionStartOk(_)) {
                    self.said_bytes = bytes;
                }
                self.control(frame.channel, control)
            }
            Err(text) => self.unexpected(text),
        }
    }

    fn control(&mut self, channel: u16, control: Control) -> Turn {
        match control {
            Control::ConnectionClose(close) => self.peer_close(close),
            Control::ConnectionCloseOk(_) if self.state == State::Closing => {
                self.become_closed();
                Turn::NeedsInput
            }
            _ if self.state == State::Closing => Turn::Next,
            Control::ConnectionHeartbeat(_)
                if matches!(self.state, State::Opened | State::Open | State::OpenOk) =>
            {
                Turn::Next
            }
            control if self.state != State::Opened => self.negotiate(control),
            control if is_session_control(&control) => self.session_control(channel, control),
            control => self.fault(format!("unexpected {}", control.name())),
        }
    }

    fn peer_close(&mut self, close: ConnectionClose) -> Turn {
        let told = self.state == State::Closing;
        self.output.control(
            0,
            &Control::ConnectionCloseOk(ConnectionCloseOk {}),
            self.max_frame_size,
        );
        self.become_closed();
        if told {
            return Turn::NeedsInput;
        }
        Turn::Event(Event::Closed {
            code: close.reply_code,
            text: close.reply_text.unwrap_or_default().into(),
            by: ClosedBy::Peer,
        })
    }

    /// Starts the heartbeat timers; `seconds` 0 means none.
    pub(super) fn start_heartbeats(&mut self, seconds: u16) {
        self.heartbeat = u64::from(seconds) * 1000;
        if self.heartbeat > 0 {
            self.timers.set(
                Timer::HeartbeatSend,
                self.now.plus_milliseconds(self.heartbeat),
            );
            self.expect_input();
        }
    }
}

/// The control, and how many bytes of memory its values take.
fn decode_control(segment: &[u8], state: State) -> Result<(Control, usize), String> {
    let mut cursor = match state {
        State::Opened => Cursor::new(segment),
        _ => Cursor::with_budget(segment, limits::UNAUTHENTICATED_DECODED_BYTES_MAX),
    };
    let budget = cursor.budget();
    let control = Control::decode(&mut cursor).map_err(|error| error.to_string())?;
    Ok((control, budget - cursor.budget()))
}

fn is_session_control(control: &Control) -> bool {
    const SESSION: u8 = 2;
    control.code().0 == SESSION
}

/// At most the first `bytes_max` bytes, ending between characters.
pub(super) fn cut(text: &str, bytes_max: usize) -> &str {
    text.get(..text.floor_char_boundary(bytes_max))
        .unwrap_or(text)
}
