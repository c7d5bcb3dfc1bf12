//! Messages from a subscription at one broker to an exchange of another.

use super::destination::Destination;
use super::limits;
use crate::client::{Delivery, Error, Subscription};
use crate::wire::{CommandId, SequenceSet};

/// How a bridge acknowledges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Acknowledging {
    /// After so many messages, or when no more are there.
    pub every: u32,
}

/// What a pump has to do.
pub struct Ready(Result<Option<Box<Delivery>>, Error>);

/// See the module.
pub struct Pump {
    subscription: Subscription,
    destination: Destination,
    acknowledging: Option<Acknowledging>,
    /// Numbers of what was taken there, while they are gathered.
    told: Vec<CommandId>,
    /// Taken there, and not told of here.
    taken: SequenceSet,
    taken_count: u32,
}

impl Pump {
    /// Of a subscription that is told what is done ([`Flow::WindowOf`](crate::client::Flow::WindowOf)).
    pub fn new(
        subscription: Subscription,
        destination: Destination,
        acknowledging: Option<Acknowledging>,
    ) -> Pump {
        Pump {
            subscription,
            destination,
            acknowledging,
            told: Vec::new(),
            taken: SequenceSet::new(),
            taken_count: 0,
        }
    }

    /// Waits until there is something to do. Safe to give up on.
    pub async fn ready(&mut self) -> Ready {
        tokio::select! {
            biased;
            taken = self.destination.wait() => Ready(taken.map(|()| None)),
            delivery = self.subscription.next() => {
                Ready(delivery.map(|delivery| Some(Box::new(delivery))))
            }
        }
    }

    /// Does what there is to do, to its end: a message that was begun is not to be given up.
    ///
    /// # Errors
    /// A session has ended, or a message cannot be published there.
    pub async fn act(&mut self, ready: Ready) -> Result<(), Error> {
        let mut messages: Vec<Delivery> = Vec::new();
        messages.extend(ready.0?.map(|first| *first));
        while messages.len() < limits::MESSAGES_PER_TURN
            && let Some(delivery) = self.subscription.try_next()
        {
            messages.push(delivery);
        }
        if !messages.is_empty() {
            self.destination.publish(messages).await?;
        }
        self.note_taken()?;
        self.accept().await
    }

    /// Waits until all that was passed on is taken, and accepts it.
    ///
    /// # Errors
    /// A session has ended.
    pub async fn end(&mut self) -> Result<(), Error> {
        while !self.destination.is_done() {
            self.destination.wait().await?;
            self.note_taken()?;
        }
        self.accept().await
    }

    /// Notes all that are known to be taken, in order.
    fn note_taken(&mut self) -> Result<(), Error> {
        self.destination.taken(&mut self.told)?;
        self.taken_count += u32::try_from(self.told.len()).unwrap_or(u32::MAX);
        // Mostly these follow one on the other.
        for run in self.told.chunk_by(|id, next| id.next() == *next) {
            if let (Some(first), Some(last)) = (run.first(), run.last()) {
                self.taken.insert_range(*first, *last);
            }
        }
        self.told.clear();
        Ok(())
    }

    /// Tells the source what is taken, and accepts it where that was asked for: when that are enough, or none
    /// is on its way.
    async fn accept(&mut self) -> Result<(), Error> {
        let every = self.acknowledging.map_or(1, |how| how.every);
        let is_enough = self.taken_count >= every || self.destination.is_done();
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
