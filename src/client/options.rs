//! How to connect.

use std::sync::Arc;
use std::time::Duration;

use crate::security::sasl::scram::{ClientSide, Hash};
use crate::wire::url::{Url, User};
use crate::wire::{Map, Text};

use super::error::Error;
use super::limits;

/// How to connect. The default is anonymous, without heartbeats, to the virtual host `""`.
#[derive(Clone, Debug)]
pub struct Options {
    /// Whom to connect as; `None` takes the URL's user.
    pub user: Option<User>,
    /// The only SASL mechanism to use; `None` takes, with a password, SCRAM if the broker has it and else
    /// PLAIN, and without one ANONYMOUS or EXTERNAL.
    pub mechanism: Option<Text>,
    /// How to reach addresses over TLS ([`crate::security::tls::client`] makes it); without it they are
    /// left out.
    pub tls: Option<Arc<rustls::ClientConfig>>,
    /// `connection.start-ok.client-properties`.
    pub client_properties: Map,
    /// `connection.open.virtual-host`.
    pub virtual_host: Text,
    /// Heartbeat interval in seconds, 0 for none. The broker's offer bounds it.
    pub heartbeat: u16,
    /// Largest frame, in bytes. The broker's offer bounds it.
    pub max_frame_size: u16,
    /// Time for each address to connect and open.
    pub connect_timeout: Duration,
    /// For how long a broker is looked for when the connection is lost and there is a session with a
    /// timeout ([`Client::session_with_timeout`](super::Client::session_with_timeout)): at the
    /// addresses of the URL, and at those of the cluster that the broker told. 0 is not at all.
    pub reconnect_timeout: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            user: None,
            mechanism: None,
            tls: None,
            client_properties: Map::new(),
            virtual_host: Text::from(""),
            heartbeat: 0,
            max_frame_size: u16::MAX,
            connect_timeout: limits::CONNECT_TIMEOUT,
            reconnect_timeout: Duration::ZERO,
        }
    }
}

/// The client's side of SASL: what to say, given what the broker offers.
#[derive(Clone)]
pub(super) struct Sasl {
    user: Option<User>,
    mechanism: Option<Text>,
    /// An exchange that has begun.
    scram: Option<ClientSide>,
}

/// SCRAM-SHA-256, RFC 7677.
const SCRAM_SHA_256: &str = "SCRAM-SHA-256";
/// SCRAM-SHA-1, RFC 5802.
const SCRAM_SHA_1: &str = "SCRAM-SHA-1";
/// PLAIN, RFC 4616.
const PLAIN: &str = "PLAIN";
/// ANONYMOUS, RFC 4505.
const ANONYMOUS: &str = "ANONYMOUS";
/// EXTERNAL, RFC 4422: the user is known from the layer below.
const EXTERNAL: &str = "EXTERNAL";

impl Sasl {
    pub(super) fn new(options: &Options, url: Option<&Url>) -> Sasl {
        let user = options
            .user
            .clone()
            .or_else(|| url.and_then(|url| url.user.clone()));
        Sasl {
            user,
            mechanism: options.mechanism.clone(),
            scram: None,
        }
    }

    /// The mechanism and its initial response.
    pub(super) fn choose(&mut self, offered: &[Text]) -> Result<(Text, Vec<u8>), Error> {
        let password = self
            .user
            .as_ref()
            .is_some_and(|user| user.password.is_some());
        let named = self.mechanism.clone();
        let wanted: &[&str] = match (&named, password) {
            (Some(mechanism), _) => &[mechanism],
            (None, true) => &[SCRAM_SHA_256, SCRAM_SHA_1, PLAIN],
            (None, false) => &[ANONYMOUS, EXTERNAL],
        };
        let found = wanted
            .iter()
            .find(|wanted| offered.iter().any(|one| one == **wanted));
        let chosen = found.and_then(|mechanism| {
            let response = self.first(mechanism)?;
            Some((Text::from(*mechanism), response))
        });
        chosen.ok_or_else(|| Error::NoMechanism {
            offered: offered.to_vec(),
        })
    }

    /// The initial response.
    fn first(&mut self, mechanism: &str) -> Option<Vec<u8>> {
        let hash = match mechanism {
            SCRAM_SHA_256 => Hash::Sha256,
            SCRAM_SHA_1 => Hash::Sha1,
            _ => return self.said(mechanism),
        };
        let user = self.user.as_ref()?;
        let password = user.password.as_ref()?;
        let (side, first) = ClientSide::new(hash, &user.name, password.as_bytes());
        self.scram = Some(side);
        Some(first.into_bytes())
    }

    /// The answer to a challenge.
    pub(super) fn response(&mut self, mechanism: &str, challenge: &[u8]) -> Option<Vec<u8>> {
        match &mut self.scram {
            Some(side) => side.answer(challenge).ok(),
            None => self.said(mechanism),
        }
    }

    /// Whether the broker has shown all that the mechanism asks of it before it lets us in.
    pub(super) fn is_broker_proved(&self) -> bool {
        self.scram.as_ref().is_none_or(ClientSide::is_server_proved)
    }

    /// What a mechanism says of us, as the initial response or to a challenge for it.
    fn said(&self, mechanism: &str) -> Option<Vec<u8>> {
        let name = self
            .user
            .as_ref()
            .map(|user| user.name.as_bytes())
            .unwrap_or_default();
        match mechanism {
            PLAIN => {
                let password = self.user.as_ref()?.password.as_ref()?;
                Some([b"\0", name, b"\0", password.as_bytes()].concat())
            }
            ANONYMOUS | EXTERNAL => Some(name.to_vec()),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sasl(user: Option<(&str, Option<&str>)>, mechanism: Option<&str>) -> Sasl {
        let user = user.map(|(name, password)| User {
            name: name.into(),
            password: password.map(Text::from),
        });
        Sasl {
            user,
            mechanism: mechanism.map(Text::from),
            scram: None,
        }
    }

    #[test]
    fn a_password_goes_by_plain_and_never_by_anonymous() {
        let mut guest = sasl(Some(("guest", Some("secret"))), None);
        let both = [Text::from("ANONYMOUS"), Text::from("PLAIN")];
        assert_eq!(
            guest.choose(&both),
            Ok(("PLAIN".into(), b"\0guest\0secret".to_vec()))
        );
        let anonymous = [Text::from("ANONYMOUS")];
        assert_eq!(
            guest.choose(&anonymous),
            Err(Error::NoMechanism {
                offered: anonymous.to_vec()
            })
        );
    }

    #[test]
    fn a_password_goes_by_scram_where_that_is_offered() {
        let mut guest = sasl(Some(("guest", Some("secret"))), None);
        let both = [Text::from("PLAIN"), Text::from("SCRAM-SHA-256")];
        let (mechanism, first) = guest.choose(&both).expect("one will do");
        assert_eq!(mechanism, "SCRAM-SHA-256");
        assert!(first.starts_with(b"n,,n=guest,r="));
    }

    #[test]
    fn without_a_password_anonymous_is_taken() {
        let both = [Text::from("PLAIN"), Text::from("ANONYMOUS")];
        assert_eq!(
            sasl(None, None).choose(&both),
            Ok(("ANONYMOUS".into(), vec![]))
        );
        assert!(sasl(None, Some("PLAIN")).choose(&both).is_err());
    }
}
