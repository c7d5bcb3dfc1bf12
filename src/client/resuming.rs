//! Sessions that go on over a lost connection: a broker is looked for, attached to, and sent again what
//! it does not have.

use std::time::Duration;

use tokio::time::{Instant, sleep_until, timeout};

use crate::protocol::{ClosedBy, Connection, Content, Pieces};
use crate::wire::url::{Address, Url};
use crate::wire::{CloseCode, Control, SequenceSet, SessionRequestTimeout, Text};

use super::connect::config_of;
use super::driver::Driver;
use super::error::Error;
use super::limits;
use super::options::Options;
use super::stream::{self, Stream};

/// Where a broker is looked for.
pub(super) struct Dialer {
    addresses: Vec<Address>,
    options: Options,
    /// Counts the attempts: which address is next.
    next: usize,
}

impl Dialer {
    /// Looks at `addresses`, first behind the one that let us in.
    pub(super) fn new(addresses: &[Address], current: &Address, options: &Options) -> Dialer {
        let mut addresses = addresses.to_vec();
        if !addresses.contains(current) {
            addresses.push(current.clone());
        }
        let at = addresses.iter().position(|address| address == current);
        Dialer {
            addresses,
            options: options.clone(),
            next: at.unwrap_or(0) + 1,
        }
    }

    /// The brokers of the cluster are looked at, too.
    pub(super) fn learn(&mut self, known_hosts: &[Text]) {
        for url in known_hosts.iter().filter_map(|host| Url::parse(host).ok()) {
            for address in url.addresses {
                let is_usable = stream::is_usable(&address, &self.options);
                if is_usable && !self.addresses.contains(&address) {
                    self.addresses.push(address);
                }
            }
        }
    }

    /// Whether a broker is looked for at all.
    fn is_patient(&self) -> bool {
        self.options.reconnect_timeout > Duration::ZERO
    }

    /// One attempt at the next address; waits after each round. None when there was no way.
    async fn attempt(&mut self) -> Option<Stream> {
        let at = self.next.checked_rem(self.addresses.len())?;
        let address = self.addresses.get(at)?;
        self.next += 1;
        let connecting = stream::connect(address, &self.options);
        let connected = timeout(self.options.connect_timeout, connecting).await;
        if let Ok(Ok(stream)) = connected {
            return Some(stream);
        }
        if self.next.is_multiple_of(self.addresses.len()) {
            tokio::time::sleep(limits::RECONNECT_PAUSE).await;
        }
        None
    }
}

/// A connection that was lost.
pub(super) struct Lost {
    /// Why.
    error: Error,
    /// Until when another is looked for.
    until: Instant,
    /// Until when this attempt has to have brought all sessions back.
    pub(super) attempt_until: Option<Instant>,
}

impl Driver {
    /// Whether sessions wait for another connection.
    pub(super) fn is_resuming(&self) -> bool {
        self.lost.is_some()
    }

    /// The connection has ended. Sessions with a timeout wait for another, all else ends. What is closed
    /// on purpose stays closed.
    pub(super) fn connection_ended(&mut self, error: Error, (code, by): (CloseCode, ClosedBy)) {
        let is_lost = match by {
            ClosedBy::Lost => true,
            // The broker goes away, or has nothing to serve with.
            ClosedBy::Peer => code == CloseCode::CONNECTION_FORCED,
            // Its heartbeats have stopped; a fault of the broker's would only come again.
            ClosedBy::Us => code != CloseCode::FRAMING_ERROR && code != CloseCode::NORMAL,
        };
        let patient = self.dialer.as_ref().filter(|dialer| dialer.is_patient());
        let reconnect = patient.map(|dialer| dialer.options.reconnect_timeout);
        let mut sessions = self.sessions.values();
        let has_some = sessions.any(super::sessions::Entry::is_resumable);
        let Some(reconnect) = reconnect.filter(|_| has_some && !self.is_closing) else {
            return self.end(&error);
        };
        if !is_lost && self.lost.is_none() {
            return self.end(&error);
        }
        let lost = self.lost.get_or_insert_with(|| Lost {
            error: error.clone(),
            until: Instant::now() + reconnect,
            attempt_until: None,
        });
        lost.attempt_until = None;
        self.leaving.clear();
        let ended: Vec<u16> = self
            .sessions
            .iter()
            .filter(|(_, entry)| !entry.is_resumable())
            .map(|(channel, _)| *channel)
            .collect();
        for channel in ended {
            if let Some(entry) = self.sessions.remove(&channel) {
                entry.end(&error);
            }
        }
        for (channel, entry) in &mut self.sessions {
            entry.is_resuming = true;
            if entry.suspended.is_none() {
                entry.suspended = self.connection.take_suspended(*channel);
            }
        }
    }

    /// Looks for a broker. None when nobody waits for one any more, or the time is over.
    pub(super) async fn dial_again(&mut self) -> Option<Stream> {
        let until = self.lost.as_ref()?.until;
        while Instant::now() < until && !self.requests.is_closed() {
            let dialer = self.dialer.as_mut()?;
            let attempt = tokio::select! {
                attempt = dialer.attempt() => attempt,
                () = sleep_until(until) => None,
            };
            let Some(stream) = attempt else { continue };
            let patience = Instant::now() + dialer.options.connect_timeout;
            let config = config_of(&dialer.options);
            self.connection = Connection::client(config, self.now());
            if let Some(lost) = &mut self.lost {
                lost.attempt_until = Some(patience.min(until));
            }
            return Some(stream);
        }
        let lost = self.lost.take()?;
        self.end(&lost.error);
        None
    }

    /// The connection is open again: its sessions are asked for.
    pub(super) fn attach_again(&mut self) {
        for (channel, entry) in &mut self.sessions {
            if let Some(suspended) = entry.suspended.take() {
                self.connection.attach_again(*channel, suspended);
            }
        }
        self.note_resumed();
    }

    /// The broker says what it expects of a session that goes on: that is sent again.
    pub(super) fn expected(&mut self, channel: u16, commands: &SequenceSet) {
        let Some(entry) = self.sessions.get_mut(&channel) else {
            return;
        };
        if !std::mem::take(&mut entry.is_resuming) {
            return;
        }
        let Some(again) = entry.again(commands) else {
            self.connection.detach(channel);
            self.leaving.insert(channel);
            if let Some(entry) = self.sessions.remove(&channel) {
                entry.end(&Error::SessionLost);
            }
            return self.note_resumed();
        };
        for (id, sent) in again {
            let (header, body) = (sent.header.as_deref(), sent.body.as_deref());
            let content = (header.is_some() || body.is_some()).then_some(Content {
                header,
                body: body.map(Pieces::Shared),
            });
            self.connection
                .send_command(channel, id, &sent.command, sent.sync, content);
        }
        // Who asked for completions of what was done before may not have been told.
        entry.unsynced = true;
        self.sync_sessions();
        self.note_resumed();
    }

    /// When all sessions go on the connection is like any other.
    pub(super) fn note_resumed(&mut self) {
        let mut sessions = self.sessions.values();
        if !sessions.any(|entry| entry.is_resuming) {
            self.lost = None;
        }
    }

    /// A connection that is closed on purpose leaves no sessions behind.
    pub(super) fn give_up_timeouts(&mut self) {
        let kept: Vec<u16> = self
            .sessions
            .iter()
            .filter(|(_, entry)| entry.timeout > 0)
            .map(|(channel, _)| *channel)
            .collect();
        for channel in kept {
            self.request_timeout(channel, 0);
        }
    }

    /// `session.request-timeout`.
    pub(super) fn request_timeout(&mut self, channel: u16, seconds: u32) {
        let request = SessionRequestTimeout {
            timeout: Some(seconds),
        };
        self.connection
            .send_control(channel, &Control::SessionRequestTimeout(request));
    }
}
