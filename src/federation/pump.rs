//! Messages from a subscription at one broker to an exchange of another.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use super::limits;
use crate::client::{Completion, Delivery, Error, Session, Subscription};
use crate::wire::{AcceptMode, CommandId, MessageTransfer, SequenceSet, Text};

/// How a bridge acknowledges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Acknowledging {
    /// After so many messages, or when no more are there.
    pub every: u32,
}

/// What a pump has to do.
pub struct Ready(Result<What, Error>);

enum What {
    Nothing,
    /// A message is taken at the destination.
    Taken(CommandId),
    /// A message has come.
    Delivery(Box<Delivery>),
}

/// See the module.
pub struct Pump {
    subscription: Subscription,
    destination: Session,
    exchange: Text,
    acknowledging: Option<Acknowledging>,
    /// Published there, and not known to be taken.
    published: VecDeque<(CommandId, Pin<Box<Completion>>)>,
    /// Taken there, or passed on where nothing is acknowledged, and not told of here.
    taken: SequenceSet,
    taken_count: u32,
}

impl Pump {
    /// Of a subscription that is told what is done ([`Flow::WindowOf`](crate::client::Flow::WindowOf)).
    pub fn new(
        subscription: Subscription,
        (destination, exchange): (Session, Text),
        acknowledging: Option<Acknowledging>,
    ) -> Pump {
        Pump {
            subscription,
            destination,
            exchange,
            acknowledging,
            published: VecDeque::new(),
            taken: SequenceSet::new(),
            taken_count: 0,
        }
    }

    /// Waits until there is something to do. Safe to give up on.
    pub async fn ready(&mut self) -> Ready {
        tokio::select! {
            biased;
            taken = first(&mut self.published) => {
                let first = self.published.pop_front();
                Ready(match (taken, first) {
                    (Ok(()), Some((id, _))) => Ok(What::Taken(id)),
                    (Ok(()), None) => Ok(What::Nothing),
                    (Err(error), _) => Err(error),
                })
            }
            delivery = self.subscription.next() => {
                Ready(delivery.map(|delivery| What::Delivery(Box::new(delivery))))
            }
        }
    }

    /// Does what there is to do, to its end: a message that was begun is not to be given up.
    ///
    /// # Errors
    /// A session has ended, or a message cannot be published there.
    pub async fn act(&mut self, ready: Ready) -> Result<(), Error> {
        match ready.0? {
            What::Nothing => {}
            What::Taken(id) => self.take(id),
            What::Delivery(delivery) => self.pass_on(*delivery).await?,
        }
        for _ in 0..limits::MESSAGES_PER_TURN {
            match self.subscription.try_next() {
                Some(delivery) => self.pass_on(delivery).await?,
                None => break,
            }
        }
        self.note_taken()?;
        self.accept().await
    }

    /// Waits until all that was passed on is taken, and accepts it.
    ///
    /// # Errors
    /// A session has ended.
    pub async fn end(&mut self) -> Result<(), Error> {
        while !self.published.is_empty() {
            self.destination.sync().await?;
            self.note_taken()?;
        }
        self.accept().await
    }

    fn take(&mut self, id: CommandId) {
        self.taken.insert(id);
        self.taken_count += 1;
    }

    async fn pass_on(&mut self, delivery: Delivery) -> Result<(), Error> {
        let transfer = MessageTransfer {
            destination: self.exchange.clone(),
            accept_mode: Some(AcceptMode::NONE),
            ..MessageTransfer::default()
        };
        let header = delivery.header.map(|header| header.to_vec());
        let passed = self.destination.forward(transfer, header, delivery.body);
        let completion = passed.await?;
        match self.acknowledging {
            Some(_) => self
                .published
                .push_back((delivery.id, Box::pin(completion))),
            None => self.take(delivery.id),
        }
        Ok(())
    }

    /// Notes all that are known to be taken, in order.
    fn note_taken(&mut self) -> Result<(), Error> {
        let mut context = Context::from_waker(std::task::Waker::noop());
        while let Some((id, completion)) = self.published.front_mut() {
            let id = *id;
            match completion.as_mut().poll(&mut context) {
                Poll::Pending => break,
                Poll::Ready(taken) => _ = taken?,
            }
            self.published.pop_front();
            self.take(id);
        }
        Ok(())
    }

    /// Tells the source what is taken, and accepts it where that was asked for: when that are enough, or none
    /// is on its way.
    async fn accept(&mut self) -> Result<(), Error> {
        let every = self.acknowledging.map_or(1, |how| how.every);
        let is_enough = self.taken_count >= every || self.published.is_empty();
        if self.taken_count == 0 || !is_enough {
            return Ok(());
        }
        let taken = std::mem::take(&mut self.taken);
        self.taken_count = 0;
        if self.acknowledging.is_some() {
            self.subscription.session().accept(taken.clone()).await?;
        }
        self.subscription.done(&taken);
        Ok(())
    }
}

/// Waits until the first is known to be taken; for ever when there is none. Then it is to be taken out.
async fn first(published: &mut VecDeque<(CommandId, Pin<Box<Completion>>)>) -> Result<(), Error> {
    match published.front_mut() {
        Some((_, completion)) => completion.as_mut().await.map(drop),
        None => std::future::pending().await,
    }
}
