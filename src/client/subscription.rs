//! Messages coming in.

use tokio::sync::mpsc;

use crate::wire::{
    AcceptMode, AcquireMode, Command, CreditUnit, FlowMode, MessageCancel, MessageFlow,
    MessageSetFlowMode, MessageSubscribe, SequenceSet, Text,
};

use super::error::Error;
use super::limits;
use super::message::Delivery;
use super::session::Session;

/// How a subscription gives credit. Credit bounds what may wait in it unread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// So many messages may be on the way or unread; taking one makes room for another. At most
    /// 65536.
    Window(u32),
    /// So many messages, and octets of them, may be on the way or not done: [`Subscription::done`] makes room
    /// for others. A message of more octets never comes.
    WindowOf {
        /// Messages, at most 65536.
        messages: u32,
        /// Octets.
        bytes: u32,
    },
    /// None of its own: [`Subscription::grant`] gives it.
    Credit,
}

impl Flow {
    pub(super) fn room(self) -> usize {
        let messages = match self {
            Flow::Window(messages) | Flow::WindowOf { messages, .. } => {
                messages.clamp(1, limits::CREDIT_MESSAGES_MAX)
            }
            Flow::Credit => limits::CREDIT_MESSAGES_MAX,
        };
        messages as usize
    }
}

/// No limit, in `message.flow.value`.
const INFINITE: u32 = u32::MAX;

/// Deliveries of one destination of a session, in order.
pub struct Subscription {
    session: Session,
    destination: Text,
    deliveries: mpsc::Receiver<Delivery>,
    flow: Flow,
    /// Unread messages go back to the queue when the subscription is cancelled.
    releases: bool,
    /// Taken since the broker was last told.
    untold: usize,
}

impl Subscription {
    pub(super) fn new(
        session: Session,
        subscribe: &MessageSubscribe,
        deliveries: mpsc::Receiver<Delivery>,
        flow: Flow,
    ) -> Subscription {
        let releases = subscribe.accept_mode == AcceptMode::EXPLICIT
            && subscribe.acquire_mode == AcquireMode::PRE_ACQUIRED;
        let destination = subscribe.destination.clone();
        Subscription {
            session,
            destination,
            deliveries,
            flow,
            releases,
            untold: 0,
        }
    }

    /// The name of the subscription within its session.
    pub fn destination(&self) -> &str {
        &self.destination
    }

    /// The session.
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// Gives the first credit.
    pub(super) async fn start(&self) -> Result<(), Error> {
        let flow_mode = match self.flow {
            Flow::Window(_) | Flow::WindowOf { .. } => FlowMode::WINDOW,
            Flow::Credit => FlowMode::CREDIT,
        };
        let destination = self.destination.clone();
        let mode = MessageSetFlowMode {
            destination,
            flow_mode,
        };
        self.session
            .send(Command::MessageSetFlowMode(mode), (None, None), false)
            .await?;
        let bytes = match self.flow {
            Flow::Window(_) => None,
            Flow::WindowOf { bytes, .. } => Some(bytes),
            Flow::Credit => return Ok(()),
        };
        let messages = u32::try_from(self.flow.room()).unwrap_or(limits::CREDIT_MESSAGES_MAX);
        self.grant(messages, bytes).await
    }

    /// Gives credit for more messages; `bytes` `None` means without a limit. More unread
    /// messages than 65536 are never let in.
    ///
    /// # Errors
    /// The session has ended.
    pub async fn grant(&self, messages: u32, bytes: Option<u32>) -> Result<(), Error> {
        let units = [
            (CreditUnit::BYTE, bytes.unwrap_or(INFINITE)),
            (
                CreditUnit::MESSAGE,
                messages.min(limits::CREDIT_MESSAGES_MAX),
            ),
        ];
        for (unit, value) in units {
            let destination = self.destination.clone();
            let flow = MessageFlow {
                destination,
                unit,
                value: Some(value),
            };
            self.session
                .send(Command::MessageFlow(flow), (None, None), false)
                .await?;
        }
        Ok(())
    }

    /// The next message; waits for one. Safe to give up on: nothing is lost.
    ///
    /// # Errors
    /// The session or connection has ended and all that came before is taken.
    pub async fn next(&mut self) -> Result<Delivery, Error> {
        match self.deliveries.recv().await {
            Some(delivery) => {
                self.take(&delivery);
                Ok(delivery)
            }
            None => Err(self.session.shared.ended()),
        }
    }

    /// The next message if one is here.
    pub fn try_next(&mut self) -> Option<Delivery> {
        let delivery = self.deliveries.try_recv().ok()?;
        self.take(&delivery);
        Some(delivery)
    }

    /// These are done: others may come in their place.
    pub fn done(&self, ids: &SequenceSet) {
        self.session.done(ids);
    }

    /// Ends the subscription. Messages not taken go back to the queue.
    ///
    /// # Errors
    /// The session or connection has ended.
    pub async fn cancel(mut self) -> Result<(), Error> {
        let cancel = MessageCancel {
            destination: self.destination.clone(),
        };
        self.session.call(Command::MessageCancel(cancel)).await?;
        let mut unread = SequenceSet::new();
        while let Some(delivery) = self.try_next() {
            unread.insert(delivery.id);
        }
        if self.releases && !unread.is_empty() {
            self.session.release(unread, false).await?;
        }
        Ok(())
    }

    /// The application has it now: the broker hears of it when that matters to the window.
    fn take(&mut self, delivery: &Delivery) {
        self.untold += 1;
        let tell = match self.flow {
            Flow::Window(_) => self.untold > self.flow.room() / 4 || self.deliveries.is_empty(),
            Flow::WindowOf { .. } => return,
            Flow::Credit => self.untold > self.flow.room() / 4,
        };
        if tell {
            self.untold = 0;
        }
        self.session.taken(delivery.id, tell);
    }
}
