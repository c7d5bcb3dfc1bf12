//! How a peer gets in: what it is offered, the exchange that proves who it is, the limits it counts to.

use std::net::{IpAddr, SocketAddr};

use super::{Counted, Driver, Shared};
use crate::broker::command::ConnectionDetails;
use crate::broker::connections;
use crate::broker::event::Event;
use crate::broker::management::Requester;
use crate::management::http::request::encoded_bytes;
use crate::security::acl::Elsewhere;
use crate::security::sasl::{Bar, Exchange, FAILED, Layer, SHUT_OUT, Step, UNSUPPORTED, open};
use crate::security::tls;
use crate::server::limits::STRANGER_PROPERTIES_BYTES_MAX;
use crate::server::log::notice;
use crate::wire::{CloseCode, Map, Text};

/// What links of this process say, of which nothing is asked.
const ANONYMOUS: &str = "ANONYMOUS";

/// Whose sessions are those of links: no user is called so, since every other name has a realm in it.
const OWN: &str = "qpid.link";

/// What a peer has said to prove who it is.
pub(super) enum Proof {
    /// The mechanism, and its first response if there is one.
    Start(Text, Option<Vec<u8>>),
    /// A further response.
    Response(Vec<u8>),
}

impl Shared {
    /// How a peer at an address comes: over TLS or not, and whom its certificate names.
    pub fn layer(&self, host: IpAddr, is_encrypted: bool, identity: Option<&str>) -> Layer {
        Layer {
            is_encrypted,
            is_local: host.to_canonical().is_loopback(),
            identity: identity.map(|name| open::with_some_realm(name, &self.sasl.realm)),
        }
    }

    /// Logs why nothing more can be read or written. A refused certificate is a failure to prove who one
    /// is, and counts as one: as many are told of an address as it may fail.
    pub fn tell_loss(&self, host: IpAddr, peer: &str, error: &std::io::Error) {
        let now = self.clock.millis().0;
        let why = tls::refused_certificate(error);
        let mut failures = self.failures.lock();
        match why.filter(|_| !failures.is_shut_out(host, now)) {
            Some(why) => {
                failures.note(host, &Text::default(), now);
                drop(failures);
                notice!("Security", "{peer}: {why}");
            }
            None => tracing::debug!(target: "Network", "{peer}: {error}"),
        }
    }

    /// The exchange of a peer at an address: users who have failed there too often are not listened to.
    pub fn begin_exchange(&self, host: IpAddr, layer: Layer) -> Exchange {
        let (failures, clock) = (self.failures.clone(), self.clock);
        let bar = move |user: &Text| {
            let now = clock.millis().0;
            failures.lock().is_user_shut_out(host, user, now)
        };
        Exchange::new(self.sasl.clone(), layer).with_bar(Bar(Box::new(bar)))
    }

    /// Counts a failure. Who was not listened to has not failed again: nothing was hashed.
    pub fn note_failure(&self, host: IpAddr, exchange: &Exchange, why: &str) {
        if why != SHUT_OUT {
            let now = self.clock.millis().0;
            self.failures.lock().note(host, exchange.claimed(), now);
        }
    }
}

impl Driver {
    /// Says what is offered, once it is known how the peer comes: before its first octet is looked at.
    pub(super) fn offer(&mut self) {
        if self.outgoing.is_some() {
            return self.protocol.offer(&[ANONYMOUS.into()]);
        }
        let identity = self.socket.identity();
        let is_encrypted = self.socket.is_encrypted();
        let layer = self
            .shared
            .layer(self.host, is_encrypted, identity.as_deref());
        self.protocol.offer(&self.shared.sasl.offered(&layer));
        self.exchange = Some(self.shared.begin_exchange(self.host, layer));
    }

    /// Lets in a link of this process: who it is was known before it came.
    pub(super) fn let_own_in(&mut self, said: Map) {
        let outgoing = self.outgoing.as_ref();
        self.client_properties = outgoing.map_or(said, |outgoing| outgoing.properties.clone());
        self.user = Some(OWN.into());
        self.protocol.authenticated();
    }

    /// Whether the peer waits for its turn to prove who it is.
    pub(super) fn is_proving(&self) -> bool {
        self.proof.is_some() && !self.protocol.is_closed()
    }

    /// Waits for the peer's turn, and goes on with the exchange. Passwords are hashed, which takes as long
    /// as many commands: few at a time, so that others get on, and so that each of many who fail at once
    /// is counted before the next. A deadline of the connection ends this first, and the place in the
    /// line with it.
    pub(super) async fn prove(&mut self) {
        let shared = self.shared.clone();
        tokio::select! {
            biased;
            _turn = shared.turns.take(self.host) => match self.proof.take() {
                Some(Proof::Start(mechanism, response)) => {
                    self.exchange(|exchange| exchange.start(&mechanism, response.as_deref()));
                }
                Some(Proof::Response(response)) => {
                    self.exchange(|exchange| exchange.respond(&response));
                }
                None => {}
            },
            () = self.wait() => {}
        }
    }

    fn exchange(&mut self, step: impl FnOnce(&mut Exchange) -> Step) {
        let now = self.shared.clock.millis().0;
        let close = |driver: &mut Driver, text: &str| {
            driver.protocol.close(CloseCode::CONNECTION_FORCED, text);
        };
        if self.shared.requires_encryption && !self.socket.is_encrypted() {
            return close(self, "Connection must be encrypted.");
        }
        if self.shared.failures.lock().is_shut_out(self.host, now) {
            tracing::debug!(
                target: "Security",
                "{}: {FAILED}: too many failures from there, nobody is listened to for a while",
                self.peer
            );
            return close(self, FAILED);
        }
        let Some(exchange) = &mut self.exchange else {
            return close(self, FAILED);
        };
        let step = match self.shared.sasl.users {
            None => step(exchange),
            Some(_) => tokio::task::block_in_place(|| step(exchange)),
        };
        if let Step::Failed(why) = step {
            self.shared.note_failure(self.host, exchange, why);
        }
        self.authenticate(step);
    }

    /// Refuses a peer that is not in and has us hold more than there is for it: its own bound, or what is
    /// left for all of them.
    pub(super) fn bound_stranger(&mut self) {
        let Some(stranger) = &mut self.stranger else {
            return;
        };
        if stranger.holds(self.protocol.stranger_bytes() + self.socket.unread_bytes()) {
            return;
        }
        self.client_properties = Map::new();
        let text = "too much to hold for a connection that is not open";
        self.protocol.cut_off(CloseCode::CONNECTION_FORCED, text);
    }

    /// Has management tell that the peer could not prove who it is.
    fn tell_failure(&self, reason: &str) {
        let claimed = self.exchange.as_ref().map(Exchange::claimed);
        let is_short = encoded_bytes(&self.client_properties) <= STRANGER_PROPERTIES_BYTES_MAX;
        let properties = is_short.then(|| self.client_properties.clone());
        self.shared.happenings.add(Event::ClientConnectFail {
            requester: Requester {
                user: claimed.cloned().unwrap_or_default(),
                address: connections::address(&self.local(), &self.peer),
            },
            reason: reason.into(),
            properties: properties.unwrap_or_default(),
        });
    }

    fn authenticate(&mut self, step: Step) {
        match step {
            Step::Unsupported => {
                tracing::warn!(target: "Security", "{}: {UNSUPPORTED}", self.peer);
                self.tell_failure(UNSUPPORTED);
                self.protocol
                    .close(CloseCode::CONNECTION_FORCED, UNSUPPORTED);
            }
            Step::Challenge(challenge) => {
                self.protocol.secure(challenge);
            }
            Step::Failed(why) => {
                tracing::warn!(target: "Security", "{}: {FAILED}: {why}", self.peer);
                self.tell_failure(FAILED);
                self.protocol.close(CloseCode::CONNECTION_FORCED, FAILED);
            }
            Step::Authenticated(user) => {
                self.user = Some(user);
                self.protocol.authenticated();
            }
        }
    }

    /// Counts the connection to all limits, if it is not of this process; None when one is reached, or its
    /// user may not come from where it comes.
    pub(super) fn admit(&self, user: &str) -> Option<Option<Counted>> {
        if self.outgoing.is_some() {
            return Some(None);
        }
        let shared = &self.shared;
        let elsewhere = || self.elsewhere(user);
        let admitted = shared.rights.acl.admit_beside(user, self.host, elsewhere);
        let admitted = admitted
            .inspect_err(|why| tracing::error!(target: "Security", "{}: {why}", self.peer))
            .ok()?;
        if !shared.registry.admit(shared.connections_max) {
            shared.rights.acl.note_connection_denial(user, self.host);
            return None;
        }
        Some(Some(Counted {
            shared: shared.clone(),
            _admitted: admitted,
        }))
    }

    /// The connections of a user, and those from where this one comes, to other members of a cluster.
    fn elsewhere(&self, user: &str) -> Elsewhere {
        let mut found = Elsewhere::default();
        // Members of a group in one process count together anyway.
        if self.shared.known_hosts.read().members.is_empty() {
            return found;
        }
        let (own, host) = (self.group.member(), self.host.to_canonical());
        self.group.look(&mut |core| {
            for (key, connection) in core.connections_behind(None) {
                if key.member == own {
                    continue;
                }
                let details = connection.details.as_ref();
                if details.is_some_and(|details| details.is_outgoing) {
                    // It is this broker that is a client there.
                    continue;
                }
                let record = &connection.record;
                let peer: Option<SocketAddr> = record.peer.parse().ok();
                found.of_user += u32::from(&*record.user == user);
                found.of_host += u32::from(peer.is_some_and(|peer| peer.ip() == host));
            }
        });
        found
    }

    /// The address that was connected to. A socket for both families calls an address of IPv4 one of
    /// IPv6; qpidd's names do not.
    fn local(&self) -> Text {
        let local = self.socket.local_addr().map(|local| {
            let address = local.ip().to_canonical();
            SocketAddr::new(address, local.port()).to_string()
        });
        local.unwrap_or_default().into()
    }

    /// What management shows of the connection.
    pub(super) fn details(&self, is_link: bool) -> ConnectionDetails {
        if let Some(outgoing) = &self.outgoing {
            return ConnectionDetails {
                local: outgoing.local.clone(),
                mechanism: outgoing.mechanism.clone(),
                strength: 0,
                is_link: true,
                is_outgoing: true,
            };
        }
        ConnectionDetails {
            is_outgoing: false,
            local: self.local(),
            mechanism: self.mechanism.clone(),
            strength: self.socket.strength(),
            is_link,
        }
    }
}
