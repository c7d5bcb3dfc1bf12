//! Where a broker listens, and for whom.

use std::net::IpAddr;

/// What was configured of authentication.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Auth {
    /// Nothing was said: who is on this machine needs no credentials, and nobody else gets in.
    NotConfigured,
    /// `--auth no`: nobody needs credentials, from wherever.
    No,
    /// `--auth yes`: everybody needs credentials.
    Yes,
}

/// Who gets in at an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// Those on this machine.
    Local,
    /// Everybody who reaches it: worth a warning.
    Everybody,
    /// Users, and they prove who they are.
    Users,
}

impl Auth {
    /// Whether all interfaces are meant when none was named, as with qpidd; else those of loopback.
    pub fn is_open(self) -> bool {
        self != Auth::NotConfigured
    }

    /// Whether a listener on `address` may start, and for whom.
    ///
    /// # Errors
    /// Why it may not, and what to do.
    pub fn admit(self, address: IpAddr) -> Result<Admission, String> {
        let is_loopback = address.to_canonical().is_loopback();
        match (self, is_loopback) {
            (Auth::Yes, _) => Ok(Admission::Users),
            (Auth::NotConfigured, false) => Err(format!(
                "refusing to listen on {address}: it is not loopback, and no authentication is \
                 configured. Listen on loopback only (--interface 127.0.0.1), make users with ferrymq \
                 user add and say --auth yes, or say --auth no to let in everybody who reaches the \
                 port"
            )),
            (Auth::No, false) => Ok(Admission::Everybody),
            (Auth::No | Auth::NotConfigured, true) => Ok(Admission::Local),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> IpAddr {
        text.parse().expect("an address")
    }

    #[test]
    fn loopback_needs_no_credentials_when_nothing_is_configured() {
        for local in ["127.0.0.1", "127.8.0.1", "::1", "::ffff:127.0.0.1"] {
            assert_eq!(
                Auth::NotConfigured.admit(address(local)),
                Ok(Admission::Local)
            );
        }
    }

    #[test]
    fn others_are_refused_and_told_what_to_do() {
        for open in ["0.0.0.0", "::", "10.1.2.3", "::ffff:10.1.2.3"] {
            let refused = Auth::NotConfigured.admit(address(open));
            assert!(refused.is_err_and(|text| text.contains("--auth no")));
        }
    }

    #[test]
    fn auth_no_is_let_through_with_a_warning() {
        let everybody = Auth::No.admit(address("0.0.0.0"));
        assert_eq!(everybody, Ok(Admission::Everybody));
        let local = Auth::No.admit(address("127.0.0.1"));
        assert_eq!(local, Ok(Admission::Local));
    }

    #[test]
    fn users_get_in_from_everywhere() {
        for address_of in ["127.0.0.1", "0.0.0.0"] {
            let admitted = Auth::Yes.admit(address(address_of));
            assert_eq!(admitted, Ok(Admission::Users));
        }
    }
}
