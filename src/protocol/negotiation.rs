//! From the protocol header to the open connection, both roles.
//!
//! Only one control has a place in each state; anything else is closed with 501, as qpidd does.

use crate::wire::{
    Array, CloseCode, ConnectionOpen, ConnectionOpenOk, ConnectionSecure, ConnectionSecureOk,
    ConnectionStart, ConnectionStartOk, ConnectionTune, ConnectionTuneOk, Control, Text,
};

use super::connection::{Connection, Role, State, Turn};
use super::event::{Event, Tuned};
use super::limits;
use super::time::Timer;

impl Connection {
    /// Broker: what is offered to this peer, once it is known how it comes. Only before its protocol
    /// header is read.
    pub fn offer(&mut self, mechanisms: &[Text]) {
        if let Role::Broker {
            start: Some(start), ..
        } = &mut self.role
        {
            start.mechanisms = texts_to_array(mechanisms);
        }
    }

    /// Broker: sends a challenge. Only as an answer to `StartOk` or `SecureOk`.
    pub fn secure(&mut self, challenge: Vec<u8>) {
        if self.state != State::Authenticating {
            return;
        }
        self.output.control(
            0,
            &Control::ConnectionSecure(ConnectionSecure { challenge }),
            self.max_frame_size,
        );
        self.state = State::SecureOk;
    }

    /// Broker: the peer is who it says; sends `tune`. Only as an answer to `StartOk` or
    /// `SecureOk`.
    pub fn authenticated(&mut self) {
        if self.state != State::Authenticating {
            return;
        }
        if let Role::Broker { tune, .. } = &self.role {
            let tune = Control::ConnectionTune(tune.clone());
            self.output.control(0, &tune, self.max_frame_size);
            self.state = State::TuneOk;
        }
    }

    /// Broker: lets the peer in. `known_hosts` are URLs of all brokers. Only as an answer to
    /// `Open`.
    pub fn open_ok(&mut self, known_hosts: &[Text]) {
        if self.state != State::Opening {
            return;
        }
        let open_ok = ConnectionOpenOk {
            known_hosts: Some(texts_to_array(known_hosts)),
        };
        self.output
            .control(0, &Control::ConnectionOpenOk(open_ok), self.max_frame_size);
        self.state = State::Opened;
    }

    /// Client: chooses a mechanism. Only as an answer to `Start`.
    pub fn start_ok(&mut self, mechanism: &str, response: Option<Vec<u8>>, locale: &str) {
        let (State::Answering, Role::Client(config)) = (self.state, &self.role) else {
            return;
        };
        let start_ok = ConnectionStartOk {
            client_properties: Some(config.client_properties.clone()),
            mechanism: Text::from(mechanism),
            response,
            locale: Text::from(locale),
        };
        self.output.control(
            0,
            &Control::ConnectionStartOk(start_ok),
            self.max_frame_size,
        );
        self.state = State::Secure;
    }

    /// Client: answers a challenge. Only as an answer to `Secure`.
    pub fn secure_ok(&mut self, response: Vec<u8>) {
        if self.state != State::Answering {
            return;
        }
        let secure_ok = Control::ConnectionSecureOk(ConnectionSecureOk { response });
        self.output.control(0, &secure_ok, self.max_frame_size);
        self.state = State::Secure;
    }

    /// A control before the connection is open.
    pub(super) fn negotiate(&mut self, control: Control) -> Turn {
        match (self.state, control) {
            (State::StartOk, Control::ConnectionStartOk(start_ok)) => {
                self.state = State::Authenticating;
                Turn::Event(Event::StartOk {
                    mechanism: start_ok.mechanism,
                    response: start_ok.response,
                    client_properties: start_ok.client_properties.unwrap_or_default(),
                    locale: start_ok.locale,
                })
            }
            (State::SecureOk, Control::ConnectionSecureOk(secure_ok)) => {
                self.state = State::Authenticating;
                Turn::Event(Event::SecureOk {
                    response: secure_ok.response,
                })
            }
            (State::TuneOk, Control::ConnectionTuneOk(tune_ok)) => self.peer_tune_ok(&tune_ok),
            (State::Open, Control::ConnectionOpen(open)) => {
                self.timers.stop(Timer::Negotiate);
                self.state = State::Opening;
                Turn::Event(Event::Open {
                    virtual_host: open.virtual_host,
                    insist: open.insist,
                })
            }
            (State::Start, Control::ConnectionStart(start)) => self.peer_start(start),
            (State::Secure, Control::ConnectionSecure(secure)) => {
                self.state = State::Answering;
                Turn::Event(Event::Secure {
                    challenge: secure.challenge,
                })
            }
            (State::Secure, Control::ConnectionTune(tune)) => self.peer_tune(&tune),
            (State::OpenOk, Control::ConnectionOpenOk(open_ok)) => {
                self.timers.stop(Timer::Negotiate);
                self.state = State::Opened;
                let known_hosts = array_to_texts(open_ok.known_hosts.as_ref());
                Turn::Event(Event::OpenOk { known_hosts })
            }
            (State::OpenOk, Control::ConnectionRedirect(redirect)) => {
                let known_hosts = array_to_texts(redirect.known_hosts.as_ref());
                self.close(CloseCode::NORMAL, "redirected");
                Turn::Event(Event::Redirect {
                    host: redirect.host,
                    known_hosts,
                })
            }
            (state, control) => self.fault(format!(
                "unexpected {} while {}",
                control.name(),
                awaited(state)
            )),
        }
    }

    fn peer_tune_ok(&mut self, tune_ok: &ConnectionTuneOk) -> Turn {
        let offered = self.max_frame_size;
        let max_frame_size = tune_ok.max_frame_size.unwrap_or(offered);
        // 0-10: connection.tune-ok.max-frame-size/upper-limit.
        if max_frame_size > offered {
            return self.fault(format!(
                "max-frame-size {max_frame_size} is more than {offered}, which was offered"
            ));
        }
        // 0-10: connection.tune-ok.max-frame-size/minimum: every peer takes frames of that size. qpidd
        // takes a smaller one for it.
        let max_frame_size = max_frame_size.max(limits::MIN_MAX_FRAME_SIZE);
        self.max_frame_size = max_frame_size;
        let tuned = Tuned {
            channel_max: tune_ok.channel_max,
            max_frame_size,
            heartbeat: tune_ok.heartbeat.unwrap_or(0),
        };
        self.start_heartbeats(tuned.heartbeat);
        self.state = State::Open;
        Turn::Event(Event::TuneOk(tuned))
    }

    fn peer_start(&mut self, start: ConnectionStart) -> Turn {
        self.state = State::Answering;
        Turn::Event(Event::Start {
            server_properties: start.server_properties.unwrap_or_default(),
            mechanisms: array_to_texts(Some(&start.mechanisms)),
            locales: array_to_texts(Some(&start.locales)),
        })
    }

    /// Client: takes the broker's offer as far as it goes, and opens.
    fn peer_tune(&mut self, tune: &ConnectionTune) -> Turn {
        let Role::Client(config) = &self.role else {
            return self.fault("unexpected connection.tune");
        };
        let offered = tune.max_frame_size.unwrap_or(limits::MAX_FRAME_SIZE);
        if offered < limits::MIN_MAX_FRAME_SIZE {
            return self.fault(format!("max-frame-size {offered} offered"));
        }
        let heartbeat_max = tune.heartbeat_max.unwrap_or(u16::MAX);
        let heartbeat_min = tune.heartbeat_min.unwrap_or(0).min(heartbeat_max);
        let tuned = Tuned {
            channel_max: config.channel_max.min(tune.channel_max.unwrap_or(u16::MAX)),
            max_frame_size: self.max_frame_size.min(offered),
            heartbeat: config.heartbeat.clamp(heartbeat_min, heartbeat_max),
        };
        let tune_ok = ConnectionTuneOk {
            channel_max: tuned.channel_max,
            max_frame_size: Some(tuned.max_frame_size),
            heartbeat: Some(tuned.heartbeat),
        };
        let open = ConnectionOpen {
            virtual_host: config.virtual_host.clone(),
            capabilities: None,
            insist: true,
        };
        self.max_frame_size = tuned.max_frame_size;
        self.output
            .control(0, &Control::ConnectionTuneOk(tune_ok), self.max_frame_size);
        self.output
            .control(0, &Control::ConnectionOpen(open), self.max_frame_size);
        self.start_heartbeats(tuned.heartbeat);
        self.state = State::OpenOk;
        Turn::Event(Event::Tuned(tuned))
    }
}

/// What a state waits for, in words.
fn awaited(state: State) -> &'static str {
    match state {
        State::StartOk => "waiting for connection.start-ok",
        State::SecureOk => "waiting for connection.secure-ok",
        State::TuneOk => "waiting for connection.tune-ok",
        State::Open => "waiting for connection.open",
        State::Start => "waiting for connection.start",
        State::Secure => "waiting for connection.secure or connection.tune",
        State::OpenOk => "waiting for connection.open-ok",
        _ => "waiting for nothing",
    }
}

/// The texts of an array of `str16`; other values are left out.
fn array_to_texts(array: Option<&Array>) -> Vec<Text> {
    array
        .map(|array| array.strs().map(Text::from).collect())
        .unwrap_or_default()
}

/// An array of `str16`.
pub(super) fn texts_to_array(texts: &[Text]) -> Array {
    Array::of_str16(texts.iter().cloned())
}
