//! A broker in a process of its own, as benchmarks start it.

use std::error::Error;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

/// Starts a broker on a port of loopback that is free, open to everybody there, with these options
/// besides; gives the port.
pub fn start(options: &[&str]) -> Result<(Child, u16), Box<dyn Error + Send + Sync>> {
    let mut process = Command::new(env!("CARGO_BIN_EXE_ferrymq"))
        .args(["serve", "--port", "0", "--interface", "127.0.0.1"])
        .args(["--auth", "no"])
        .args(options)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    let out = process.stdout.take().ok_or("no standard output")?;
    let mut line = String::new();
    BufReader::new(out).read_line(&mut line)?;
    Ok((process, line.trim().parse()?))
}
