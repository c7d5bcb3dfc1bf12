//! Processes that benchmarks start, and what a broker says of itself.

#[allow(dead_code)]
pub mod group;

use std::error::Error;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

pub type Failure = Box<dyn Error + Send + Sync>;

/// Starts a broker on a port of loopback that is free, open to everybody there, with these options
/// besides; gives the port.
pub fn start(options: &[&str]) -> Result<(Child, u16), Failure> {
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

/// The load tool's process, killed when this is dropped.
pub struct Load(Child);

impl Load {
    /// Puts load on the broker at a port, for as long as it is let.
    pub fn start(port: u16, arguments: &[&str]) -> Result<Load, Failure> {
        let child = Command::new(env!("CARGO_BIN_EXE_ferrymq"))
            .arg("bench")
            .args(arguments)
            .args(["--duration", "86400", "--progress", "never"])
            .args(["--url", &format!("127.0.0.1:{port}")])
            .stdout(Stdio::null())
            .spawn()?;
        Ok(Load(child))
    }

    /// Whether it still runs: it does not end of itself.
    pub fn check(&mut self) -> Result<(), Failure> {
        match self.0.try_wait()? {
            None => Ok(()),
            Some(status) => Err(format!("the load has ended: {status}").into()),
        }
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// What management answers at a port of loopback, head and body.
pub fn http(port: u16, method: &str, path: &str) -> io::Result<String> {
    let mut socket = TcpStream::connect(("127.0.0.1", port))?;
    let head = format!("{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n");
    socket.write_all(head.as_bytes())?;
    let mut text = String::new();
    socket.read_to_string(&mut text)?;
    Ok(text)
}

/// Messages that have come into queues so far.
pub fn enqueued(metrics: &str) -> Result<u64, Failure> {
    let mut lines = metrics.lines();
    let line = lines.find_map(|line| line.strip_prefix("ferrymq_messages_enqueued_total "));
    Ok(line.ok_or("no count of messages")?.trim().parse()?)
}
