//! A lane that consumes.

use std::sync::Arc;

use hdrhistogram::Histogram;

use crate::wire::{
    AcceptMode, AcquireMode, Command, CommandId, CreditUnit, FlowMode, MessageAccept, MessageFlow,
    MessageSetFlowMode, MessageSubscribe, SequenceSet, Text, TxCommit, TxSelect,
};

use super::dial::dial;
use super::error::Error;
use super::lane::Lane;
use super::limits;
use super::shared::{Phase, Shared, histogram};

/// No limit, in `message.flow.value`.
const UNLIMITED: u32 = u32::MAX;

struct Consumer {
    shared: Arc<Shared>,
    lane: Lane,
    /// Deliveries to each accept; 0 for none.
    accept_every: u32,
    /// Deliveries to each report of completion.
    completed_every: u32,
    /// Deliveries neither accepted nor left to the accept mode.
    unaccepted: u32,
    uncompleted: u32,
    latencies: Option<Histogram<u64>>,
}

/// Opens a lane, subscribes, and takes what comes until the run closes.
pub(super) async fn consume(shared: Arc<Shared>, index: usize) -> Result<(), Error> {
    let plan = &shared.plan;
    let name = format!("{}.consumer.{index}", plan.name);
    let dialled = dial(&shared, &name, None).await?;
    let mut lane = Lane::new(dialled, shared.clone());
    let accept_every = plan.accept_every;
    if plan.commits_accepts() {
        lane.command(&Command::TxSelect(TxSelect {}), false);
    }
    subscribe(
        &mut lane,
        &plan.consumers[index],
        accept_every > 0,
        plan.credit,
    );
    lane.sync().await?;
    let completed_every = match plan.credit {
        0 => limits::COMPLETED_EVERY,
        credit => (credit / 4).max(1),
    };
    let latencies = plan.rate.map(|_| histogram());
    let mut consumer = Consumer {
        shared: shared.clone(),
        lane,
        accept_every,
        completed_every,
        unaccepted: 0,
        uncompleted: 0,
        latencies,
    };
    shared.lane_is_ready();
    consumer.take().await?;
    consumer.accept();
    consumer.lane.sync().await?;
    consumer.lane.close().await;
    if let Some(latencies) = &consumer.latencies {
        shared.add_latencies(latencies);
    }
    Ok(())
}

/// Opens a connection, subscribes, and never reads until the run drains.
pub(super) async fn be_stuck(shared: Arc<Shared>, index: usize) -> Result<(), Error> {
    let plan = &shared.plan;
    let name = format!("{}.stuck.{index}", plan.name);
    let dialled = dial(&shared, &name, Some(limits::STUCK_RECEIVE_BYTES)).await?;
    let mut lane = Lane::new(dialled, shared.clone());
    let queues = &plan.consumers[index % plan.consumers.len()];
    subscribe(&mut lane, queues, true, 0);
    lane.write().await?;
    shared.lane_is_ready();
    let mut phases = shared.phases();
    // The sender lives as long as the run. The socket closes without a word, as if cut off.
    let _ = phases.wait_for(|phase| *phase >= Phase::Draining).await;
    Ok(())
}

fn subscribe(lane: &mut Lane, queues: &[Text], accepts: bool, credit: u32) {
    let accept_mode = match accepts {
        true => AcceptMode::EXPLICIT,
        false => AcceptMode::NONE,
    };
    let (flow_mode, messages) = match credit {
        0 => (FlowMode::CREDIT, UNLIMITED),
        credit => (FlowMode::WINDOW, credit),
    };
    for queue in queues {
        let destination = queue.clone();
        let subscribe = MessageSubscribe {
            queue: queue.clone(),
            destination: destination.clone(),
            accept_mode,
            acquire_mode: AcquireMode::PRE_ACQUIRED,
            ..MessageSubscribe::default()
        };
        lane.command(&Command::MessageSubscribe(subscribe), false);
        let mode = MessageSetFlowMode {
            destination: destination.clone(),
            flow_mode,
        };
        lane.command(&Command::MessageSetFlowMode(mode), false);
        for (unit, value) in [
            (CreditUnit::BYTE, UNLIMITED),
            (CreditUnit::MESSAGE, messages),
        ] {
            let flow = MessageFlow {
                destination: destination.clone(),
                unit,
                value: Some(value),
            };
            lane.command(&Command::MessageFlow(flow), false);
        }
    }
}

impl Consumer {
    async fn take(&mut self) -> Result<(), Error> {
        let mut phases = self.shared.phases();
        loop {
            tokio::select! {
                biased;
                read = self.lane.read() => read?,
                _ = phases.wait_for(|phase| *phase >= Phase::Closing) => return Ok(()),
            }
            let deliveries = self.deliveries()?;
            self.settle(deliveries);
            self.lane.write().await?;
            self.shared.flight.arrived(deliveries);
        }
    }

    /// Counts the deliveries that are whole, and their latencies.
    fn deliveries(&mut self) -> Result<u64, Error> {
        let mut deliveries = 0;
        let Some(latencies) = &mut self.latencies else {
            self.lane.receive(|_| deliveries += 1)?;
            return Ok(deliveries);
        };
        let (shared, now) = (&self.shared, self.shared.now());
        self.lane.receive(|stamp| {
            deliveries += 1;
            if let Some(due) = stamp.filter(|due| shared.is_recorded(*due)) {
                latencies.saturating_record(now.saturating_sub(due));
            }
        })?;
        Ok(deliveries)
    }

    /// Accepts and completes as often as the plan says.
    fn settle(&mut self, deliveries: u64) {
        // One read holds far fewer.
        let deliveries = u32::try_from(deliveries).unwrap_or(u32::MAX);
        self.uncompleted += deliveries;
        self.unaccepted += deliveries;
        while self.accept_every > 0 && self.unaccepted >= self.accept_every {
            self.accept_some(self.accept_every);
        }
        if self.uncompleted >= self.completed_every {
            self.uncompleted = 0;
            self.lane.report();
        }
    }

    /// Accepts all that is left.
    fn accept(&mut self) {
        if self.accept_every > 0 && self.unaccepted > 0 {
            self.accept_some(self.unaccepted);
        }
        self.lane.report();
    }

    /// Accepts the oldest `count` of the deliveries that are not. All commands that come to a
    /// consumer are transfers, so that the last ids are theirs.
    fn accept_some(&mut self, count: u32) {
        let first = self.lane.commands_received() - self.unaccepted;
        let transfers = SequenceSet::from_range(CommandId(first), CommandId(first + count - 1));
        self.unaccepted -= count;
        self.lane
            .command(&Command::MessageAccept(MessageAccept { transfers }), false);
        if self.shared.plan.commits_accepts() {
            self.lane.command(&Command::TxCommit(TxCommit {}), false);
        }
    }
}
