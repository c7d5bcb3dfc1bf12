//! The SASL exchange when nobody's password is checked, as qpidd has it with `--auth no`.
//!
//! ```text
//!   PLAIN response     authzid NUL authcid NUL password
//!   user               authzid, or authcid when that is empty; "@REALM" behind it if not there
//!   any other name     "anonymous", without realm
//! ```

use super::{ANONYMOUS, Step};
use crate::security::limits;
use crate::wire::Text;

/// The mechanisms offered, in this order.
pub const MECHANISMS: [&str; 2] = ["ANONYMOUS", "PLAIN"];

/// Challenges in one exchange: PLAIN without initial response needs one.
const CHALLENGES_MAX: u32 = 1;

/// One peer's exchange.
#[derive(Clone, Debug)]
pub struct Exchange {
    realm: Text,
    challenges: u32,
}

impl Exchange {
    /// An exchange that has not begun. `realm` is put behind the names of users.
    pub fn new(realm: impl Into<Text>) -> Exchange {
        Exchange {
            realm: realm.into(),
            challenges: 0,
        }
    }

    /// The peer has chosen a mechanism. A response that is absent is not one that is empty: only
    /// the absent one is asked for.
    pub fn start(&mut self, mechanism: &str, response: Option<&[u8]>) -> Step {
        match (mechanism, response) {
            ("PLAIN", Some(response)) => self.plain(response),
            ("PLAIN", None) => {
                self.challenges += 1;
                Step::Challenge(Vec::new())
            }
            _ => Step::Authenticated(Text::from(ANONYMOUS)),
        }
    }

    /// The peer has answered a challenge.
    pub fn respond(&mut self, response: &[u8]) -> Step {
        if self.challenges == 0 || self.challenges > CHALLENGES_MAX {
            return Step::Failed("a response that nobody asked for");
        }
        self.plain(response)
    }

    fn plain(&self, response: &[u8]) -> Step {
        let (authzid, authcid, _password) = match plain_parts(response) {
            Ok(parts) => parts,
            Err(why) => return Step::Failed(why),
        };
        let name = if authzid.is_empty() { authcid } else { authzid };
        if name.is_empty() {
            return Step::Failed("a PLAIN response without a user");
        }
        let user = with_realm(name, &self.realm);
        if user.len() > limits::USER_BYTES_MAX {
            return Step::Failed("a user's name of more than 255 octets");
        }
        Step::Authenticated(user)
    }
}

/// The three parts of a PLAIN response (RFC 4616): whom it wants to be, who it is, the password.
///
/// # Errors
/// It has not three, or a name is not UTF-8: for the log.
pub fn plain_parts(response: &[u8]) -> Result<(&str, &str, &[u8]), &'static str> {
    let parts: Vec<&[u8]> = response.splitn(4, |octet| *octet == 0).collect();
    let [authzid, authcid, password] = parts[..] else {
        return Err("a PLAIN response that is not three parts with NUL between them");
    };
    let name = |octets| std::str::from_utf8(octets).map_err(|_| "a user's name that is not UTF-8");
    Ok((name(authzid)?, name(authcid)?, password))
}

/// A user's name with its own realm, or the broker's behind it if it has none.
pub fn with_some_realm(name: &str, realm: &str) -> Text {
    match name.contains('@') {
        true => Text::from(name),
        false => with_realm(name, realm),
    }
}

/// A name with the realm behind it, unless it is there: also where there is another, as `qpidd` has it
/// where nobody proves anything.
pub fn with_realm(name: &str, realm: &str) -> Text {
    let bare = name.strip_suffix(realm);
    let has_realm = bare.is_some_and(|bare| bare.ends_with('@'));
    match has_realm || realm.is_empty() {
        true => Text::from(name),
        false => Text::from(format!("{name}@{realm}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exchange() -> Exchange {
        Exchange::new("QPID")
    }

    fn user(name: &str) -> Step {
        Step::Authenticated(Text::from(name))
    }

    #[test]
    fn plain_takes_the_authzid_else_the_authcid_and_adds_the_realm() {
        let cases: [(&[u8], &str); 5] = [
            (b"\0guest\0guest", "guest@QPID"),
            (b"boss\0guest\0secret", "boss@QPID"),
            (b"\0guest@QPID\0", "guest@QPID"),
            (b"\0guest@OTHER\0", "guest@OTHER@QPID"),
            (b"\0QPID\0", "QPID@QPID"),
        ];
        for (response, name) in cases {
            assert_eq!(exchange().start("PLAIN", Some(response)), user(name));
        }
    }

    #[test]
    fn malformed_plain_fails() {
        let cases: [&[u8]; 6] = [
            b"",
            b"guest",
            b"\0guest",
            b"\0\0secret",
            b"\0guest\0a\0b",
            b"\0\xff\xfe\0x",
        ];
        for response in cases {
            let step = exchange().start("PLAIN", Some(response));
            assert!(
                matches!(step, Step::Failed(_)),
                "{}",
                response.escape_ascii()
            );
        }
        let long = [b"\0".as_slice(), &[b'a'; 300], b"\0"].concat();
        let step = exchange().start("PLAIN", Some(&long));
        assert!(matches!(step, Step::Failed(_)));
    }

    #[test]
    fn an_absent_plain_response_is_asked_for_once() {
        let mut exchange = exchange();
        assert_eq!(exchange.start("PLAIN", None), Step::Challenge(Vec::new()));
        assert_eq!(exchange.respond(b"\0guest\0guest"), user("guest@QPID"));
    }

    #[test]
    fn a_response_that_nobody_asked_for_fails() {
        assert!(matches!(
            exchange().respond(b"\0guest\0guest"),
            Step::Failed(_)
        ));
    }

    #[test]
    fn every_other_mechanism_is_anonymous_with_or_without_response() {
        for mechanism in ["ANONYMOUS", "EXTERNAL", "CRAM-MD5", "whatever", ""] {
            assert_eq!(exchange().start(mechanism, None), user("anonymous"));
            assert_eq!(exchange().start(mechanism, Some(b"")), user("anonymous"));
        }
    }
}
