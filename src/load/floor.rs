//! The floor: what moving the octets alone costs.
//!
//! A broker reads each message from one socket and writes it to another. A relay that passes on
//! both legs of it, to the broker and from it, reads and writes twice: half of its CPU is what no
//! broker goes below. Each leg is pumped through a relay in a process of its own, in pieces as
//! large as the run's writes and reads were on average; the CPU of an octet, times the octets of
//! a delivery on that leg, is the leg's share.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Instant;

use super::error::Error;
use super::limits::{FLOOR_LEG, RELAY_BYTES};
use super::outcome::Outcome;
use super::process;

/// Microseconds of CPU for one delivery.
///
/// # Errors
/// The relay cannot be started or reached.
pub(super) fn measure(outcome: &Outcome) -> Result<f64, Error> {
    let sink = TcpListener::bind(("127.0.0.1", 0))?;
    let relay = Relay::start(&sink.local_addr()?.to_string())?;
    let (published, write_bytes) = outcome.publish_leg();
    let (delivered, read_bytes) = outcome.delivery_leg();
    let both = published * relay.octet_us(&sink, write_bytes)?
        + delivered * relay.octet_us(&sink, read_bytes)?;
    Ok(both / 2.0)
}

/// The relay's process; it ends when this is dropped.
struct Relay {
    child: Child,
    port: u16,
}

impl Relay {
    fn start(to: &str) -> io::Result<Relay> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["bench", "relay", "--to", to]);
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let mut line = String::new();
        if let Some(output) = child.stdout.take() {
            BufReader::new(output).read_line(&mut line)?;
        }
        let port = line.trim().parse();
        let port = port.map_err(|_| io::Error::other(format!("the relay says {line:?}")))?;
        Ok(Relay { child, port })
    }

    /// Microseconds of the relay's CPU for one octet, passed on in pieces of this size.
    fn octet_us(&self, sink: &TcpListener, piece_bytes: usize) -> Result<f64, Error> {
        let piece = vec![b'x'; piece_bytes.clamp(1, RELAY_BYTES)];
        let mut source = TcpStream::connect(("127.0.0.1", self.port))?;
        source.set_nodelay(true)?;
        let (arriving, _) = sink.accept()?;
        let reading = thread::spawn(move || swallow(arriving));
        let before = process::usage(self.child.id())?;
        let begin = Instant::now();
        while begin.elapsed() < FLOOR_LEG {
            source.write_all(&piece)?;
        }
        source.shutdown(Shutdown::Write)?;
        let octets = reading
            .join()
            .unwrap_or_else(|_| Err(io::Error::other("no reader")))?;
        let spent = process::usage(self.child.id())?
            .cpu
            .saturating_sub(before.cpu);
        Ok(spent.as_secs_f64() * 1e6 / octets.max(1) as f64)
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        // Closing its input ends it; if it has ended already so much the better.
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}

/// Reads to the end; the octets read.
fn swallow(mut from: TcpStream) -> io::Result<u64> {
    let mut buffer = vec![0; RELAY_BYTES];
    let mut octets = 0;
    loop {
        match from.read(&mut buffer)? {
            0 => return Ok(octets),
            read => octets += read as u64,
        }
    }
}
