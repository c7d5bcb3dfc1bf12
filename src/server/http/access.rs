//! Who may ask.
//!
//! On the loopback everybody may who is on this machine, as with AMQP; where users have to prove who they
//! are there, they have to here. A browser is on this machine, too, and does what a page of anybody's
//! says: so a request that a page of another origin makes is refused, and one that names this machine by
//! a name that others can give it.

use std::net::{IpAddr, SocketAddr};

use axum::http::HeaderMap;
use axum::http::header::{AUTHORIZATION, HOST, ORIGIN};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::broker::management::Requester;
use crate::management::http::{Kind, Problem};
use crate::security::sasl::{FAILED, Layer, SHUT_OUT, Step};
use crate::server::driver::Shared;
use crate::wire::Text;

/// For whom a request is; a free one is for everybody.
///
/// # Errors
/// It is for nobody who may ask.
pub fn requester(
    peer: SocketAddr,
    head: &HeaderMap,
    shared: &Shared,
    is_free: bool,
) -> Result<Requester, Problem> {
    check_origin(head)?;
    let user = match shared.rights.is_authenticating && !is_free {
        false => Text::from(format!("anonymous@{}", shared.sasl.realm)),
        true => proved(peer, head, shared)?,
    };
    Ok(Requester {
        user,
        address: Text::from(format!("http-{peer}")),
    })
}

/// Refuses what a page of another origin makes a browser ask.
fn check_origin(head: &HeaderMap) -> Result<(), Problem> {
    let text = |name| head.get(name).map(|value| value.to_str().unwrap_or("?"));
    let host = text(HOST).ok_or_else(|| Problem::bad("the header Host is missing"))?;
    if !is_local(host) {
        let text = format!("the host {} is not this machine", host.escape_debug());
        return Err(Problem::new(Kind::Forbidden, text));
    }
    if let Some(origin) = text(ORIGIN)
        && origin.split_once("://").map(|(_, authority)| authority) != Some(host)
    {
        let text = "requests that pages of other origins make are not answered";
        return Err(Problem::new(Kind::Forbidden, text));
    }
    Ok(())
}

/// The user that name and password of the request prove (RFC 7617), by the mechanism PLAIN. Passwords
/// are hashed, which takes as long as many requests: others do not wait for it.
fn proved(peer: SocketAddr, head: &HeaderMap, shared: &Shared) -> Result<Text, Problem> {
    let unproved = |why: &str| Problem::new(Kind::Unauthorized, why);
    let said = head
        .get(AUTHORIZATION)
        .and_then(|value| value.to_str().ok());
    let said = said.ok_or_else(|| unproved("name and password are asked for (Basic)"))?;
    let (scheme, coded) = said.split_once(' ').unwrap_or((said, ""));
    if !scheme.eq_ignore_ascii_case("basic") {
        return Err(unproved("the scheme has to be Basic"));
    }
    let coded = STANDARD.decode(coded.trim());
    let coded = coded.map_err(|_| unproved("name and password are not in base64"))?;
    let colon = coded.iter().position(|octet| *octet == b':');
    let colon = colon.ok_or_else(|| unproved("there is no colon between name and password"))?;
    let (host, now) = (peer.ip(), shared.clock.millis().0);
    if shared.failures.lock().is_shut_out(host, now) {
        return Err(unproved("too many failures from there, for a while"));
    }
    let layer = Layer {
        is_encrypted: false,
        is_local: host.to_canonical().is_loopback(),
        identity: None,
    };
    let response = [&b"\0"[..], &coded[..colon], b"\0", &coded[colon + 1..]].concat();
    let mut exchange = shared.begin_exchange(host, layer);
    let step = tokio::task::block_in_place(|| exchange.start("PLAIN", Some(&response)));
    match step {
        Step::Authenticated(user) => Ok(user),
        Step::Unsupported | Step::Challenge(_) => Err(unproved(
            "the broker takes no passwords (--sasl-mechanisms)",
        )),
        Step::Failed(SHUT_OUT) => Err(unproved(
            "too many failures of this user from there, for a while",
        )),
        Step::Failed(why) => {
            shared.note_failure(host, &exchange, why);
            tracing::warn!(target: "Security", "http-{peer}: {FAILED}: {why}");
            Err(unproved(FAILED))
        }
    }
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

    fn asked(pairs: &[(&'static str, &'static str)]) -> Result<(), Problem> {
        let mut head = HeaderMap::new();
        for (name, value) in pairs {
            head.insert(*name, value.parse().expect("a value"));
        }
        check_origin(&head)
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
}
