//! A lane that publishes.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use crate::wire::{Command, CommandId, TxCommit, TxSelect};

use super::dial::dial;
use super::error::Error;
use super::flight::Grant;
use super::lane::{Lane, in_time};
use super::limits;
use super::plan::Confirming;
use super::prepared::Prepared;
use super::schedule::Schedule;
use super::shared::{Phase, Shared};

/// What kept a producer from going on.
enum Turn {
    /// Octets wait to be written.
    Filled,
    /// Too much is in flight.
    Full,
    /// The broker has not completed enough.
    Unconfirmed,
    /// The next message is due then, in nanoseconds of the run's clock.
    NotDue(u64),
    Over,
}

struct Producer {
    shared: Arc<Shared>,
    lane: Lane,
    /// One for each routing key, in turn.
    messages: Vec<Prepared>,
    turn: usize,
    schedule: Option<Schedule>,
    confirming: Option<Confirming>,
    /// Messages since the last one with the sync bit, or the last commit.
    unsynced: u32,
    /// Commands with the sync bit that are not completed.
    points: VecDeque<CommandId>,
    /// Messages that fill one write.
    block: u64,
}

/// Opens a lane, publishes when the run begins until it is over, and has everything completed.
pub(super) async fn produce(shared: Arc<Shared>, index: usize) -> Result<(), Error> {
    let name = format!("{}.producer.{index}", shared.plan.name);
    let dialled = dial(&shared, &name, None).await?;
    let shape = shared.plan.shape();
    let frame = dialled.max_frame_size;
    let keys = &shared.plan.producers[index];
    let messages: Vec<_> = keys
        .iter()
        .map(|key| Prepared::new(&shape, key, frame))
        .collect();
    let largest = messages.iter().map(Prepared::len).max().unwrap_or(1);
    let block = (limits::WRITE_BYTES / largest).max(1) as u64;
    let mut lane = Lane::new(dialled, shared.clone());
    let confirming = shared.plan.confirming;
    if confirming.is_some_and(|confirming| confirming.commits) {
        lane.command(&Command::TxSelect(TxSelect {}), false);
    }
    lane.sync().await?;
    let mut phases = shared.phases();
    shared.lane_is_ready();
    // The sender lives as long as the run.
    let _ = phases.wait_for(|phase| *phase >= Phase::Running).await;
    let schedule = shared.plan.rate.map(|rate| {
        let producers = shared.plan.producers.len() as f64;
        Schedule::new(rate / producers, shared.started(), index as f64 / producers)
    });
    let mut producer = Producer {
        shared,
        lane,
        messages,
        turn: 0,
        schedule,
        confirming,
        unsynced: 0,
        points: VecDeque::new(),
        block,
    };
    producer.publish().await?;
    producer.lane.close().await;
    Ok(())
}

impl Producer {
    async fn publish(&mut self) -> Result<(), Error> {
        loop {
            self.lane.try_read()?;
            self.lane.receive(|_| {})?;
            match self.fill() {
                Turn::Filled => {
                    self.lane.write().await?;
                    // Other lanes of this thread have their turn.
                    tokio::task::yield_now().await;
                }
                Turn::Full => self.wait_for_room().await?,
                Turn::Unconfirmed => {
                    in_time(self.lane.read(), "messages are not confirmed").await?
                }
                Turn::NotDue(at) => self.sleep_until(at).await?,
                Turn::Over => break,
            }
        }
        if self.unsynced > 0 && self.confirming.is_some_and(|confirming| confirming.commits) {
            self.lane.command(&Command::TxCommit(TxCommit {}), false);
        }
        self.lane.sync().await
    }

    /// Prepares what may be sent now.
    fn fill(&mut self) -> Turn {
        while self
            .points
            .front()
            .is_some_and(|point| self.lane.is_completed(*point))
        {
            self.points.pop_front();
        }
        let mut wanted = self.block;
        if let Some(Confirming { every, window, .. }) = self.confirming {
            let open = u64::from(window).saturating_sub(self.points.len() as u64);
            if open == 0 {
                return Turn::Unconfirmed;
            }
            wanted = wanted.min(open * u64::from(every) - u64::from(self.unsynced));
        }
        if let Some(schedule) = &self.schedule {
            let due = schedule.due(self.shared.now());
            if due == 0 {
                return Turn::NotDue(schedule.next());
            }
            wanted = wanted.min(due);
        }
        match self.shared.flight.reserve(wanted) {
            Grant::Messages(count) => {
                for _ in 0..count {
                    self.append();
                }
                Turn::Filled
            }
            Grant::Full => Turn::Full,
            Grant::Over => Turn::Over,
        }
    }

    /// Appends the next message.
    fn append(&mut self) {
        let (mut sync, mut commit) = (false, false);
        if let Some(Confirming { every, commits, .. }) = self.confirming {
            self.unsynced += 1;
            if self.unsynced == every {
                self.unsynced = 0;
                (sync, commit) = (!commits, commits);
            }
        }
        let due = self.schedule.as_mut().map(Schedule::take);
        self.messages[self.turn].append(sync, due, &mut self.lane.out);
        self.turn = (self.turn + 1) % self.messages.len();
        let mut id = self.lane.sent();
        if commit {
            id = self.lane.command(&Command::TxCommit(TxCommit {}), true);
        }
        if sync || commit {
            self.points.push_back(id);
        }
    }

    /// Waits for consumers, and for the broker to say that something is wrong.
    async fn wait_for_room(&mut self) -> Result<(), Error> {
        tokio::select! {
            () = self.shared.flight.room() => Ok(()),
            read = self.lane.read() => read,
        }
    }

    /// The runtime's timer counts milliseconds. The rest is slept by the kernel's, on this
    /// thread, which has no other lane.
    async fn sleep_until(&mut self, at: u64) -> Result<(), Error> {
        let left = Duration::from_nanos(at.saturating_sub(self.shared.now()));
        match left.checked_sub(limits::COARSE_SLEEP) {
            Some(coarse) => tokio::select! {
                () = tokio::time::sleep(coarse) => Ok(()),
                () = self.shared.flight.over() => Ok(()),
                read = self.lane.read() => read,
            },
            None => {
                std::thread::sleep(left);
                // Lets the runtime look at the socket.
                tokio::task::yield_now().await;
                Ok(())
            }
        }
    }
}
