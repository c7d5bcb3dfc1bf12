//! Who may ask.
//!
//! On the loopback everybody may who is on this machine, as with AMQP; where users have to prove who they
//! are there, they have to here: by name and password, or over TLS by a certificate. A browser is on this
//! machine, too, and does what a page of anybody's says: so a request that a page of another origin makes
//! is refused, and without TLS one that names this machine by a name that others can give it. Over TLS
//! the browser has seen a certificate for the name.

use std::net::{IpAddr, SocketAddr};

use axum::http::header::{AUTHORIZATION, HOST, ORIGIN};
use axum::http::{HeaderMap, HeaderValue};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::listen::Peer;
use crate::broker::event::Event;
use crate::broker::management::Requester;
use crate::management::http::{Kind, Problem};
use crate::security::sasl::{FAILED, Mechanism, SHUT_OUT, Step};
use crate::server::driver::Shared;
use crate::wire::{Map, Text};

/// For whom a request is; a free one is for everybody.
///
/// # Errors
/// It is for nobody who may ask.
pub async fn requester(
    peer: &Peer,
    head: &HeaderMap,
    shared: &Shared,
    is_free: bool,
) -> Result<Requester, Problem> {
    check_origin(head, peer.is_encrypted)?;
    let user = match shared.rights.is_authenticating && !is_free {
        false => Text::from(format!("anonymous@{}", shared.sasl.realm)),
        true => proved(peer, head, shared).await?,
    };
    let address = peer.address;
    if !is_free {
        let checked = shared.rights.acl.check_host(&user, address.ip());
        checked.map_err(|why| {
            tracing::error!(target: "Security", "http-{address}: {why}");
            Problem::new(Kind::Forbidden, format!("{user} may not ask from there"))
        })?;
        peer.known.note();
    }
    Ok(Requester {
        user,
        address: Text::from(format!("http-{address}")),
    })
}

/// Refuses what a page of another origin makes a browser ask.
fn check_origin(head: &HeaderMap, is_encrypted: bool) -> Result<(), Problem> {
    let text = |name| head.get(name).map(|value| value.to_str().unwrap_or("?"));
    let host = text(HOST).ok_or_else(|| Problem::bad("the header Host is missing"))?;
    if !is_encrypted && !is_local(host) {
        let text = format!("the host {} is not this machine", host.escape_debug());
        return Err(Problem::new(Kind::Forbidden, text));
    }
    let is_ours = |origin: &str| {
        let parts = origin.split_once("://");
        parts.is_some_and(|(scheme, authority)| {
            authority == host && (scheme == "https" || !is_encrypted)
        })
    };
    match text(ORIGIN).is_none_or(is_ours) {
        true => Ok(()),
        false => {
            let text = "requests that pages of other origins make are not answered";
            Err(Problem::new(Kind::Forbidden, text))
        }
    }
}

fn unproved(why: &str) -> Problem {
    Problem::new(Kind::Unauthorized, why)
}

/// The user that a request proves: by name and password, if it has them, else by the certificate that its
/// client has shown. Passwords are hashed, which takes as long as many requests: each in its turn, and
/// others do not wait for it.
async fn proved(peer: &Peer, head: &HeaderMap, shared: &Shared) -> Result<Text, Problem> {
    let (address, host, now) = (peer.address, peer.address.ip(), shared.clock.millis().0);
    let layer = shared.layer(host, peer.is_encrypted, peer.identity.as_deref());
    let external = Mechanism::External.name();
    let is_shown = || {
        shared
            .sasl
            .offered(&layer)
            .iter()
            .any(|one| one == external)
    };
    let (mechanism, response) = match head.get(AUTHORIZATION) {
        Some(said) => (Mechanism::Plain.name(), plain(said)?),
        None if is_shown() => (external, Vec::new()),
        None => return Err(unproved("name and password are asked for (Basic)")),
    };
    let _turn = shared.turns.take(host).await;
    if shared.failures.lock().is_shut_out(host, now) {
        return Err(unproved("too many failures from there, for a while"));
    }
    let mut exchange = shared.begin_exchange(host, layer);
    let step = tokio::task::block_in_place(|| exchange.start(mechanism, Some(&response)));
    match step {
        Step::Authenticated(user) => Ok(user),
        Step::Unsupported | Step::Challenge(_) => Err(unproved(
            "the broker takes no passwords here (--sasl-mechanisms, --ssl-sasl-no-dict)",
        )),
        Step::Failed(SHUT_OUT) => Err(unproved(
            "too many failures of this user from there, for a while",
        )),
        Step::Failed(why) => {
            shared.note_failure(host, &exchange, why);
            shared.happenings.add(Event::ClientConnectFail {
                requester: Requester {
                    user: exchange.claimed().clone(),
                    address: format!("http-{address}").into(),
                },
                reason: FAILED.into(),
                properties: Map::new(),
            });
            tracing::warn!(target: "Security", "http-{address}: {FAILED}: {why}");
            Err(unproved(FAILED))
        }
    }
}

/// Name and password of the scheme Basic (RFC 7617), as the mechanism PLAIN (RFC 4616) has them.
///
/// # Errors
/// It is another scheme, or not written as that one is.
fn plain(said: &HeaderValue) -> Result<Vec<u8>, Problem> {
    let said = said.to_str().unwrap_or_default();
    let (scheme, coded) = said.split_once(' ').unwrap_or((said, ""));
    if !scheme.eq_ignore_ascii_case("basic") {
        return Err(unproved("the scheme has to be Basic"));
    }
    let coded = STANDARD.decode(coded.trim());
    let coded = coded.map_err(|_| unproved("name and password are not in base64"))?;
    let mut parts = coded.splitn(2, |octet| *octet == b':');
    let (Some(name), Some(password)) = (parts.next(), parts.next()) else {
        return Err(unproved("there is no colon between name and password"));
    };
    Ok([&b"\0"[..], name, b"\0", password].concat())
}

/// Whether a host is named by an address or as `localhost`.
fn is_local(host: &str) -> bool {
    let is_address = |text: &str| text.parse::<IpAddr>().is_ok();
    if host.parse::<SocketAddr>().is_ok() || is_address(host) {
        return true;
    }
    let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
    name.eq_ignore_ascii_case("localhost") || is_address(name.trim_matches(['[', ']']))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        let mut head = HeaderMap::new();
        for (name, value) in pairs {
            head.insert(*name, value.parse().expect("a value"));
        }
        head
    }

    fn asked(pairs: &[(&'static str, &'static str)]) -> Result<(), Problem> {
        check_origin(&head(pairs), false)
    }

    fn asked_over_tls(pairs: &[(&'static str, &'static str)]) -> Result<(), Problem> {
        check_origin(&head(pairs), true)
    }

    #[test]
    fn this_machine_is_named_by_address_or_localhost() {
        for host in [
            "127.0.0.1:80",
            "localhost:15672",
            "[::1]:15672",
            "LOCALHOST",
            "::1",
        ] {
            assert!(asked(&[("host", host)]).is_ok(), "{host}");
        }
        for host in ["example.org", "example.org:80", "localhost.example.org:80"] {
            assert!(asked(&[("host", host)]).is_err(), "{host}");
        }
    }

    #[test]
    fn a_page_of_another_origin_may_ask_nothing() {
        let host = ("host", "localhost:80");
        assert!(asked(&[host, ("origin", "http://localhost:80")]).is_ok());
        assert!(asked(&[host, ("origin", "http://example.org")]).is_err());
        assert!(asked(&[host, ("origin", "null")]).is_err());
    }

    #[test]
    fn over_tls_any_name_is_good_and_pages_of_that_name_alone_may_ask() {
        let host = ("host", "mq.example.org");
        assert!(asked_over_tls(&[]).is_err());
        assert!(asked_over_tls(&[host]).is_ok());
        assert!(asked_over_tls(&[host, ("origin", "https://mq.example.org")]).is_ok());
        for origin in [
            "http://mq.example.org",
            "https://example.org",
            "https://mq.example.org:8443",
            "null",
        ] {
            assert!(
                asked_over_tls(&[host, ("origin", origin)]).is_err(),
                "{origin}"
            );
        }
    }
}
