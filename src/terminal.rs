//! What somebody types that nobody else should see.

use std::io;

use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};

/// Asks on the terminal, which does not show what is typed.
///
/// # Errors
/// There is no terminal, or it ends.
pub fn unseen(question: &str) -> Result<String, String> {
    let stdin = io::stdin();
    let failed = |error: rustix::io::Errno| format!("the terminal: {error}");
    let before = tcgetattr(&stdin).map_err(failed)?;
    let mut silent = before.clone();
    silent.local_modes -= LocalModes::ECHO;
    eprint!("{question}");
    tcsetattr(&stdin, OptionalActions::Flush, &silent).map_err(failed)?;
    let read = line();
    let restored = tcsetattr(&stdin, OptionalActions::Flush, &before);
    eprintln!();
    restored.map_err(failed)?;
    read
}

/// A line of standard input, without its end.
///
/// # Errors
/// It cannot be read.
pub fn line() -> Result<String, String> {
    let mut line = String::new();
    let read = io::stdin().read_line(&mut line);
    read.map_err(|error| format!("no password can be read: {error}"))?;
    let line = line.strip_suffix('\n').unwrap_or(&line);
    Ok(line.strip_suffix('\r').unwrap_or(line).to_owned())
}
