//! Who asks, where the broker wants to know.

use std::io::{self, IsTerminal as _};

use super::{Exit, Failure};
use crate::terminal::unseen;

/// The variable of the environment with the password. It is no option: options are seen by everybody who
/// lists processes.
const PASSWORD: &str = "FERRYMQ_PASSWORD";

/// A user and the password.
pub struct Credentials {
    /// The user's name.
    pub user: String,
    /// What proves it.
    pub password: String,
}

impl Credentials {
    /// Those of a user: the password is in the environment, or the terminal is asked for it.
    ///
    /// # Errors
    /// The name has a colon, which the scheme Basic (RFC 7617) cannot say, or there is no password.
    pub fn of(user: &str) -> Result<Credentials, Failure> {
        let wrong = |why: String| Failure::new(Exit::Usage, "usage", why);
        if user.contains(':') {
            return Err(wrong(format!("--user {user}: no name has a colon here")));
        }
        let password = match std::env::var(PASSWORD) {
            Ok(password) => password,
            Err(_) if io::stdin().is_terminal() => {
                unseen(&format!("Password of {user}: ")).map_err(wrong)?
            }
            Err(_) => return Err(wrong(format!("--user {user}: {PASSWORD} has no password"))),
        };
        Ok(Credentials {
            user: user.to_owned(),
            password,
        })
    }
}
