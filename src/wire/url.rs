//! Broker URLs: where a broker, or every member of a cluster, can be reached.
//!
//! `["amqp:" | "amqps:"] [user ["/" password] "@"] address {"," address}`, an address being
//! `[protocol ":"] host [":" port]`, with an IPv6 host in brackets. With `amqps:` an address that does not
//! say otherwise is reached over TLS. Clients read these in
//! `connection.open-ok`, `connection.redirect` and the messages of `amq.failover`.

use std::fmt;
use std::str::FromStr;

use nom::Parser;
use nom::branch::alt;
use nom::bytes::complete::{tag, take_while1};
use nom::character::complete::{char, digit1};
use nom::combinator::{cut, eof, map_res, not, opt, peek, verify};
use nom::multi::separated_list1;
use nom::sequence::{preceded, terminated};

use super::Text;
use super::limits::{URL_ADDRESSES_MAX, URL_BYTES_MAX};

/// The port of AMQP.
pub const DEFAULT_PORT: u16 = 5672;

/// The protocol of an address that names none.
pub const DEFAULT_PROTOCOL: &str = "tcp";

/// The port of AMQP over TLS.
pub const SECURE_PORT: u16 = 5671;

/// The protocol of an address that is reached over TLS.
pub const SECURE_PROTOCOL: &str = "ssl";

/// Protocols that qpidd knows; such a word before a colon is never a host.
const PROTOCOLS: [&str; 3] = ["tcp", "ssl", "rdma"];

/// A broker URL.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Url {
    /// At least one address when parsed, to be tried in order.
    pub addresses: Vec<Address>,
    /// Whom to connect as.
    pub user: Option<User>,
}

/// One address of a URL.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Address {
    /// `tcp`, `ssl`, or another word.
    pub protocol: Text,
    /// Host name, IPv4 address or IPv6 address without brackets.
    pub host: Text,
    /// Port.
    pub port: u16,
}

/// The user of a URL.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct User {
    /// Name.
    pub name: Text,
    /// Password, if the URL has one.
    pub password: Option<Text>,
}

impl fmt::Debug for User {
    /// Without the password, which must not get into logs.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("User")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

/// A text that is no broker URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UrlError {
    /// Octets from the start of the text to where it stops making sense.
    pub offset: usize,
}

impl fmt::Display for UrlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "not a broker URL from offset {}", self.offset)
    }
}

impl std::error::Error for UrlError {}

type Parsed<'a, T> = nom::IResult<&'a str, T>;

impl Url {
    /// Reads a URL of at most [`URL_BYTES_MAX`] octets and [`URL_ADDRESSES_MAX`] addresses.
    pub fn parse(text: &str) -> Result<Url, UrlError> {
        if text.len() > URL_BYTES_MAX {
            return Err(UrlError {
                offset: URL_BYTES_MAX,
            });
        }
        let (left, url) = url(text).map_err(|error| {
            let left = match error {
                nom::Err::Error(error) | nom::Err::Failure(error) => error.input.len(),
                nom::Err::Incomplete(_) => 0,
            };
            UrlError {
                offset: text.len() - left,
            }
        })?;
        if !left.is_empty() || url.addresses.len() > URL_ADDRESSES_MAX {
            return Err(UrlError {
                offset: text.len() - left.len(),
            });
        }
        Ok(url)
    }
}

impl FromStr for Url {
    type Err = UrlError;

    fn from_str(text: &str) -> Result<Self, UrlError> {
        Url::parse(text)
    }
}

fn url(input: &str) -> Parsed<'_, Url> {
    let (input, scheme) = opt(alt((tag("amqps:"), tag("amqp:")))).parse(input)?;
    let usual = match scheme {
        Some("amqps:") => (SECURE_PROTOCOL, SECURE_PORT),
        _ => (DEFAULT_PROTOCOL, DEFAULT_PORT),
    };
    let (input, user) = opt(terminated(user, char('@'))).parse(input)?;
    let address = |input| address(input, usual);
    let (input, addresses) = separated_list1(char(','), address).parse(input)?;
    Ok((input, Url { addresses, user }))
}

fn user(input: &str) -> Parsed<'_, User> {
    let (input, name) = take_while1(|c| !matches!(c, '@' | '/' | ',')).parse(input)?;
    let (input, password) = opt(preceded(char('/'), password)).parse(input)?;
    Ok((
        input,
        User {
            name: name.into(),
            password,
        },
    ))
}

fn password(input: &str) -> Parsed<'_, Text> {
    let (input, password) = take_while1(|c| !matches!(c, '@' | ',')).parse(input)?;
    Ok((input, password.into()))
}

/// An address, and what it has where it does not say: protocol and port.
fn address<'a>(input: &'a str, usual: (&str, u16)) -> Parsed<'a, Address> {
    let (input, protocol) = opt(terminated(protocol, char(':'))).parse(input)?;
    let (input, host) = alt((bracketed, name)).parse(input)?;
    let (input, port) = opt(preceded(char(':'), port)).parse(input)?;
    Ok((
        input,
        Address {
            protocol: protocol.unwrap_or(usual.0).into(),
            host: host.into(),
            port: port.unwrap_or(usual.1),
        },
    ))
}

/// A word before a colon is a protocol if it is a known one, or if no port follows.
fn protocol(input: &str) -> Parsed<'_, &str> {
    let word = || take_while1(|c: char| c.is_ascii_alphanumeric());
    let known = verify(word(), |word: &str| PROTOCOLS.contains(&word));
    let lone_port = (char(':'), digit1, alt((eof, tag(","))));
    alt((
        terminated(known, peek(char(':'))),
        terminated(word(), (peek(char(':')), not(lone_port))),
    ))
    .parse(input)
}

fn bracketed(input: &str) -> Parsed<'_, &str> {
    // An address may name its zone, as in `fe80::1%eth0`.
    let inside = take_while1(|c: char| c.is_ascii_alphanumeric() || matches!(c, ':' | '.' | '%'));
    preceded(char('['), cut(terminated(inside, char(']')))).parse(input)
}

fn name(input: &str) -> Parsed<'_, &str> {
    take_while1(|c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_' | '~' | '%'))
        .parse(input)
}

fn port(input: &str) -> Parsed<'_, u16> {
    map_res(digit1, str::parse).parse(input)
}

/// The whole URL, the password too.
impl fmt::Display for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("amqp:")?;
        if let Some(user) = &self.user {
            f.write_str(&user.name)?;
            if let Some(password) = &user.password {
                write!(f, "/{password}")?;
            }
            f.write_str("@")?;
        }
        for (index, address) in self.addresses.iter().enumerate() {
            if index > 0 {
                f.write_str(",")?;
            }
            write!(f, "{address}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.host.contains(':') {
            write!(f, "{}:[{}]:{}", self.protocol, self.host, self.port)
        } else {
            write!(f, "{}:{}:{}", self.protocol, self.host, self.port)
        }
    }
}
