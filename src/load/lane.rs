//! One connection with one session, after it is open.

use std::future::Future;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::time::timeout;

use crate::wire::{
    CloseCode, Command, CommandId, ConnectionClose, ConnectionCloseOk, Control, ExecutionSync,
    SequenceSet, SessionCommandPoint, SessionCompleted, SessionConfirmed, SessionKnownCompleted,
};

use super::dial::Dialled;
use super::error::Error;
use super::inbound::{Arrival, Inbound};
use super::limits::{CLOSE_TIMEOUT, STALL_TIMEOUT};
use super::prepared;
use super::shared::Shared;

/// The transport of a producer or consumer: octets to write, octets read, commands counted on
/// both sides.
pub(super) struct Lane {
    shared: Arc<Shared>,
    reader: OwnedReadHalf,
    writer: OwnedWriteHalf,
    inbound: Inbound,
    /// Octets to write. Whoever appends a command here without [`command`](Lane::command) counts
    /// it with [`sent`](Lane::sent).
    pub(super) out: Vec<u8>,
    written: usize,
    /// Commands sent: the id of the next one.
    commands: u32,
    /// Commands of ours that the broker has completed.
    completed: SequenceSet,
}

impl Lane {
    pub(super) fn new(dialled: Dialled, shared: Arc<Shared>) -> Lane {
        let (reader, writer) = dialled.stream.into_split();
        let point = SessionCommandPoint::default();
        let mut out = Vec::new();
        prepared::control(&Control::SessionCommandPoint(point), &mut out);
        Lane {
            shared,
            reader,
            writer,
            inbound: Inbound::new(),
            out,
            written: 0,
            commands: 0,
            completed: SequenceSet::new(),
        }
    }

    /// Appends a command; its id.
    pub(super) fn command(&mut self, command: &Command, sync: bool) -> CommandId {
        prepared::command(command, sync, &mut self.out);
        self.sent()
    }

    /// A command has been appended; its id.
    pub(super) fn sent(&mut self) -> CommandId {
        let id = CommandId(self.commands);
        self.commands = self.commands.wrapping_add(1);
        id
    }

    /// The broker has completed a command of ours.
    pub(super) fn is_completed(&self, id: CommandId) -> bool {
        self.completed.contains(id)
    }

    /// Reports everything received as completed.
    pub(super) fn report(&mut self) {
        if let Some(commands) = self.received() {
            let timely_reply = false;
            let completed = SessionCompleted {
                commands: Some(commands),
                timely_reply,
            };
            prepared::control(&Control::SessionCompleted(completed), &mut self.out);
        }
    }

    /// Ids of all commands received.
    fn received(&self) -> Option<SequenceSet> {
        let last = self.inbound.commands().checked_sub(1)?;
        Some(SequenceSet::from_range(CommandId(0), CommandId(last)))
    }

    /// Commands received: the id of the next one.
    pub(super) fn commands_received(&self) -> u32 {
        self.inbound.commands()
    }

    /// Writes everything. What comes meanwhile is read, so that two full sockets cannot hold
    /// each other.
    pub(super) async fn write(&mut self) -> Result<(), Error> {
        while self.written < self.out.len() {
            tokio::select! {
                biased;
                written = self.writer.write(&self.out[self.written..]) => {
                    let written = written?;
                    self.written += written;
                    self.shared.traffic.bytes_out.fetch_add(written as u64, Relaxed);
                    self.shared.traffic.writes.fetch_add(1, Relaxed);
                }
                read = self.reader.read(self.inbound.room()), if self.inbound.has_room() => {
                    let read = read?;
                    self.count_read(read)?;
                }
            }
        }
        self.out.clear();
        self.written = 0;
        Ok(())
    }

    /// Waits for octets. Safe to give up on.
    pub(super) async fn read(&mut self) -> Result<(), Error> {
        let read = self.reader.read(self.inbound.room()).await?;
        self.count_read(read)
    }

    /// Takes what has come, without waiting.
    pub(super) fn try_read(&mut self) -> Result<(), Error> {
        match self.reader.try_read(self.inbound.room()) {
            Ok(read) => self.count_read(read),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    fn count_read(&mut self, bytes: usize) -> Result<(), Error> {
        if bytes == 0 {
            return Err(Error::Lane("the broker closed the socket".to_owned()));
        }
        self.inbound.filled(bytes);
        self.shared
            .traffic
            .bytes_in
            .fetch_add(bytes as u64, Relaxed);
        self.shared.traffic.reads.fetch_add(1, Relaxed);
        Ok(())
    }

    /// Looks at everything that is whole. `message` gets the stamp of each delivery; the rest is
    /// answered here. The answers are not written yet.
    pub(super) fn receive(&mut self, mut message: impl FnMut(Option<u64>)) -> Result<(), Error> {
        while let Some(arrival) = self.inbound.next()? {
            match arrival {
                Arrival::Message { stamp } => message(stamp),
                Arrival::Control(control) => self.control(control)?,
                Arrival::Command(Command::ExecutionException(exception)) => {
                    let text = exception.description.unwrap_or_default();
                    return Err(Error::Lane(format!("{}: {text}", exception.error_code)));
                }
                // Accepts and results: completions say all that a load tool asks for.
                Arrival::Command(_) => {}
            }
        }
        if self.inbound.take_asked() {
            self.report();
        }
        Ok(())
    }

    fn control(&mut self, control: Control) -> Result<(), Error> {
        match control {
            Control::SessionCompleted(completed) => {
                let commands = completed.commands.unwrap_or_default();
                self.completed.union(&commands);
                if completed.timely_reply {
                    let known = SessionKnownCompleted {
                        commands: Some(commands),
                    };
                    prepared::control(&Control::SessionKnownCompleted(known), &mut self.out);
                }
            }
            Control::SessionFlush(flush) => {
                if flush.completed {
                    self.report();
                }
                if flush.confirmed {
                    let confirmed = SessionConfirmed {
                        commands: self.received(),
                        fragments: None,
                    };
                    prepared::control(&Control::SessionConfirmed(confirmed), &mut self.out);
                }
            }
            Control::SessionDetach(_) => {
                return Err(Error::Lane("the broker ends the session".to_owned()));
            }
            Control::SessionDetached(detached) => {
                return Err(Error::Lane(format!("session detached: {}", detached.code)));
            }
            Control::ConnectionClose(close) => {
                let text = close.reply_text.unwrap_or_default();
                return Err(Error::Lane(format!(
                    "connection closed: {}: {text}",
                    close.reply_code
                )));
            }
            // Numbering from 0, timeouts and heartbeats: nothing to do.
            _ => {}
        }
        Ok(())
    }

    /// Waits until everything sent is completed; deliveries that come are dropped.
    pub(super) async fn sync(&mut self) -> Result<(), Error> {
        let id = self.command(&Command::ExecutionSync(ExecutionSync {}), true);
        self.until_completed(id).await
    }

    /// Waits until a command is completed.
    pub(super) async fn until_completed(&mut self, id: CommandId) -> Result<(), Error> {
        let waiting = async {
            self.write().await?;
            self.receive(|_| {})?;
            while !self.is_completed(id) {
                self.read().await?;
                self.receive(|_| {})?;
                self.write().await?;
            }
            Ok(())
        };
        in_time(waiting, "a command is not completed").await
    }

    /// Closes the connection. What the broker says to it changes nothing any more.
    pub(super) async fn close(mut self) {
        let close = ConnectionClose {
            reply_code: CloseCode::NORMAL,
            reply_text: None,
        };
        prepared::control(&Control::ConnectionClose(close), &mut self.out);
        let closing = async {
            self.write().await?;
            loop {
                self.read().await?;
                while let Some(arrival) = self.inbound.next()? {
                    if let Arrival::Control(Control::ConnectionCloseOk(ConnectionCloseOk {})) =
                        arrival
                    {
                        return Ok::<(), Error>(());
                    }
                }
            }
        };
        let _ = timeout(CLOSE_TIMEOUT, closing).await;
    }
}

/// Waits no longer than a broker may be silent.
pub(super) async fn in_time<T>(
    waiting: impl Future<Output = Result<T, Error>>,
    what: &str,
) -> Result<T, Error> {
    match timeout(STALL_TIMEOUT, waiting).await {
        Ok(done) => done,
        Err(_) => Err(Error::Stalled(format!(
            "{what} for {} s",
            STALL_TIMEOUT.as_secs()
        ))),
    }
}
