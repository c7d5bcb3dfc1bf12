//! One life of a broker under load, and what a judge looks at between two.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Instant;

use ferrymq::wire::{Command as AmqpCommand, ExchangeBound, ExchangeBoundResult};

use super::judge::{Found, Judge};
use super::ledger::{self, Uid};
use super::{DEFINED, FAN, FANNED, QUEUES, all_queues, client};
use crate::durable_support::*;
use crate::server_support::{PATIENCE, lines};

/// The word by which a test is started as the client.
const CLIENT: &str = "load-client";

/// Runs as the client if the command line says so.
pub fn client_if_asked() -> Option<std::process::ExitCode> {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, word, addresses, ledger, life, backlog, seed] = &arguments[..] else {
        return None;
    };
    if word != CLIENT {
        return None;
    }
    let addresses = addresses.split(',');
    let addresses = addresses.map(|address| address.parse().expect("an address"));
    let addresses: Vec<SocketAddr> = addresses.collect();
    let life = life.parse().expect("a number");
    let backlog = backlog.parse().expect("a number");
    let seed = seed.parse().expect("a number");
    let ledger = PathBuf::from(ledger);
    Some(client::run(addresses, &ledger, life, backlog, seed))
}

/// Whether `cargo test` asks for other tests than this, or for their names only: such a test has a
/// main function of its own and has to look for itself.
pub fn is_left_out(test: &str) -> bool {
    let mut arguments = std::env::args().skip(1).peekable();
    let is_listed = std::env::args().any(|argument| argument == "--list");
    let mut names = Vec::new();
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--skip" | "--test-threads" | "--format" | "-Z" | "--color" => _ = arguments.next(),
            option if option.starts_with('-') => {}
            _ => names.push(argument),
        }
    }
    is_listed || !names.is_empty() && !names.iter().any(|name| test.contains(name.as_str()))
}

/// A client process.
pub struct Load {
    process: Child,
    out: Receiver<String>,
    errors: Receiver<String>,
    ledger: PathBuf,
    life: u32,
    confirmed: u64,
    /// Whether all its tasks are there.
    has_begun: bool,
}

/// Where the client of a life writes. It is for whoever knows the verdict to remove it.
pub fn ledger_of(directory: &Directory, life: u32) -> PathBuf {
    directory.path().join(format!("ledger-{life}"))
}

impl Load {
    /// Starts it against a broker, or against the members of a group. `backlog` messages are in the
    /// queues already.
    pub fn start(
        directory: &Directory,
        addresses: &[SocketAddr],
        life: u32,
        backlog: usize,
        seed: u64,
    ) -> Load {
        let ledger = ledger_of(directory, life);
        let addresses: Vec<String> = addresses.iter().map(SocketAddr::to_string).collect();
        let mut process = Command::new(std::env::current_exe().expect("this test"))
            .arg(CLIENT)
            .arg(addresses.join(","))
            .arg(&ledger)
            .args([life.to_string(), backlog.to_string(), seed.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("this test can be started again");
        Load {
            out: lines(process.stdout.take().expect("it is piped")),
            errors: lines(process.stderr.take().expect("it is piped")),
            process,
            ledger,
            life,
            confirmed: 0,
            has_begun: false,
        }
    }

    /// Waits until all of it has begun and it has seen so many confirmations, or it has ended: what
    /// happens then meets load, and nobody who still connects.
    ///
    /// # Errors
    /// Neither comes in time.
    pub fn wait_for_confirmed(&mut self, count: u64) -> Result<(), String> {
        let end = Instant::now() + PATIENCE * 3;
        while self.confirmed < count || !self.has_begun {
            let left = end.saturating_duration_since(Instant::now());
            match self.out.recv_timeout(left) {
                Ok(line) if line == "end" => return Ok(()),
                Ok(line) => self.progress(&line),
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
                Err(RecvTimeoutError::Timeout) => {
                    return Err(format!(
                        "only {} confirmed, and no more come",
                        self.confirmed
                    ));
                }
            }
        }
        Ok(())
    }

    /// Tells the load of a group to stop: with one broker it ends when that does.
    pub fn stop(&mut self) {
        drop(self.process.stdin.take());
    }

    fn progress(&mut self, line: &str) {
        if let Some(confirmed) = line.strip_prefix("confirmed ") {
            self.confirmed = confirmed.parse().expect("a number");
        }
        self.has_begun |= line == client::BEGUN;
    }

    /// Waits for its end and reads what it wrote. Gives how many confirmations it saw.
    ///
    /// # Errors
    /// It does not end, or something else than the broker's end ended it.
    pub fn finish(mut self, judge: &mut Judge) -> Result<u64, String> {
        let end = Instant::now() + PATIENCE * 3;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            match self.out.recv_timeout(left) {
                Ok(line) if line == "end" => break,
                Ok(line) => self.progress(&line),
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => {
                    return Err("the client does not end with the broker".to_owned());
                }
            }
        }
        let status = self.process.wait().map_err(|error| error.to_string())?;
        let errors: Vec<String> = self.errors.iter().collect();
        if !status.success() {
            return Err(format!("the client: {status}\n{}", errors.join("\n")));
        }
        judge.read(self.life, ledger::read(&self.ledger)?);
        Ok(self.confirmed)
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Declares what the load needs.
pub async fn define(address: SocketAddr) {
    let session = session_at(address).await;
    for queue in all_queues() {
        declare(&session, durable_queue(queue)).await;
    }
    for (exchange, kind) in [(FAN, "fanout"), (DEFINED, "direct")] {
        let exchange = durable_exchange(exchange, kind);
        call(&session, AmqpCommand::ExchangeDeclare(exchange)).await;
    }
    for queue in FANNED {
        let bind = binding(FAN, queue, "");
        call(&session, AmqpCommand::ExchangeBind(bind)).await;
    }
}

/// What the queues hold; it stays there.
pub async fn look(address: SocketAddr) -> Result<Found, String> {
    let mut found = BTreeMap::new();
    for queue in all_queues() {
        let session = session_at(address).await;
        let all = browse(&session, queue).await;
        let uids = all.into_iter().map(|(body, redelivered)| {
            let uid = Uid::of_body(&body);
            let uid = uid.ok_or_else(|| format!("{queue} has an altered body"));
            Ok((uid?, redelivered))
        });
        found.insert(queue, uids.collect::<Result<Vec<_>, String>>()?);
    }
    Ok(found)
}

/// Looks for the queues that come and go.
pub async fn look_at_definitions(address: SocketAddr, judge: &mut Judge) {
    let session = session_at(address).await;
    let (there, gone) = judge.definitions();
    for (queue, should_be) in there
        .iter()
        .map(|queue| (queue, true))
        .chain(gone.iter().map(|queue| (queue, false)))
    {
        let bound = ExchangeBound {
            exchange: Some(DEFINED.into()),
            queue: queue.as_str().into(),
            binding_key: Some(queue.as_str().into()),
            ..ExchangeBound::default()
        };
        let answer = session.query(AmqpCommand::ExchangeBound(bound)).await;
        let answer: ExchangeBoundResult = answer.expect("an answer");
        let is_bound = !answer.queue_not_matched && !answer.key_not_matched;
        judge.check_definition(queue, should_be, !answer.queue_not_found, is_bound);
    }
    judge.forget_deleted();
}

/// Takes everything out of the queues, accepted, and gives what it was.
pub async fn drain(address: SocketAddr) -> Result<Found, String> {
    let mut found = BTreeMap::new();
    for queue in QUEUES.into_iter().chain(FANNED) {
        let session = session_at(address).await;
        let taken = take_all(&session, queue).await;
        let uids = taken.iter().map(|delivery| {
            let (body, redelivered) = got(delivery);
            let uid = Uid::of_body(&body);
            let uid = uid.ok_or_else(|| format!("{queue} has an altered body"));
            Ok((uid?, redelivered))
        });
        found.insert(queue, uids.collect::<Result<Vec<_>, String>>()?);
        accept(&session, ids(&taken)).await;
    }
    Ok(found)
}
