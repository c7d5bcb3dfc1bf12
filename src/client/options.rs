//! How to connect.

use std::time::Duration;

use crate::wire::url::{Url, User};
use crate::wire::{Map, Text};

use super::error::Error;
use super::limits;

/// How to connect. The default is anonymous, without heartbeats, to the virtual host `""`.
#[derive(Clone, Debug)]
pub struct Options {
    /// Whom to connect as; `None` takes the URL's user.
    pub user: Option<User>,
    /// The only SASL mechanism to use; `None` takes PLAIN with a password, ANONYMOUS without.
    pub mechanism: Option<Text>,
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
#[derive(Clone, Debug)]
pub(super) struct Sasl {
    user: Option<User>,
    mechanism: Option<Text>,
}

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
        }
    }

    /// The mechanism and its initial response.
    pub(super) fn choose(&self, offered: &[Text]) -> Result<(Text, Vec<u8>), Error> {
        let password = self
            .user
            .as_ref()
            .is_some_and(|user| user.password.is_some());
        let wanted: &[&str] = match (&self.mechanism, password) {
            (Some(mechanism), _) => &[mechanism],
            (None, true) => &[PLAIN],
            (None, false) => &[ANONYMOUS, EXTERNAL],
        };
        let found = wanted
            .iter()
            .find(|wanted| offered.iter().any(|one| one == **wanted));
        let chosen = found.and_then(|mechanism| {
            self.response(mechanism)
                .map(|response| (Text::from(*mechanism), response))
        });
        chosen.ok_or_else(|| Error::NoMechanism {
            offered: offered.to_vec(),
        })
    }

    /// What a mechanism says of us, as the initial response or to a challenge for it.
    pub(super) fn response(&self, mechanism: &str) -> Option<Vec<u8>> {
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
        }
    }

    #[test]
    fn a_password_goes_by_plain_and_never_by_anonymous() {
        let guest = sasl(Some(("guest", Some("secret"))), None);
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
    fn without_a_password_anonymous_is_taken() {
        let both = [Text::from("PLAIN"), Text::from("ANONYMOUS")];
        assert_eq!(
            sasl(None, None).choose(&both),
            Ok(("ANONYMOUS".into(), vec![]))
        );
        assert!(sasl(None, Some("PLAIN")).choose(&both).is_err());
    }
}
