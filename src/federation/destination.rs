//! Where the messages of a bridge go.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use super::inlet::Inlet;
use crate::client::{Completion, Delivery, Error, Session};
use crate::wire::{AcceptMode, CommandId, MessageTransfer, Text};

/// An exchange of one of the two brokers, and what is known of the messages published there.
pub struct Destination {
    exchange: Text,
    way: Way,
}

enum Way {
    /// At this broker.
    Here(Inlet),
    /// At the other.
    There {
        session: Session,
        /// Whether it is waited for that messages are taken; else they count as that once they are sent.
        is_waiting: bool,
        /// Published, and not known to be taken.
        published: VecDeque<(CommandId, Pin<Box<Completion>>)>,
        /// Taken, and not told.
        taken: Vec<CommandId>,
    },
}

impl Destination {
    /// An exchange of this broker.
    pub fn here(exchange: Text, inlet: Inlet) -> Destination {
        let way = Way::Here(inlet);
        Destination { exchange, way }
    }

    /// An exchange of the other broker. Where it is not waited for that messages are taken they count as
    /// that once they are sent.
    pub fn there(exchange: Text, session: Session, is_waiting: bool) -> Destination {
        let way = Way::There {
            session,
            is_waiting,
            published: VecDeque::new(),
            taken: Vec::new(),
        };
        Destination { exchange, way }
    }

    /// Publishes messages, in order.
    ///
    /// # Errors
    /// The session has ended.
    pub async fn publish(&mut self, mut messages: Vec<Delivery>) -> Result<(), Error> {
        for message in &mut messages {
            message.transfer = MessageTransfer {
                destination: self.exchange.clone(),
                accept_mode: Some(AcceptMode::NONE),
                ..MessageTransfer::default()
            };
        }
        let (session, is_waiting, published, taken) = match &mut self.way {
            Way::Here(inlet) => return inlet.publish(messages),
            Way::There {
                session,
                is_waiting,
                published,
                taken,
            } => (session, *is_waiting, published, taken),
        };
        for message in messages {
            let header = message.header.map(|header| header.to_vec());
            let forwarded = session.forward(message.transfer, header, message.body);
            let completion = forwarded.await?;
            match is_waiting {
                true => published.push_back((message.id, Box::pin(completion))),
                false => taken.push(message.id),
            }
        }
        Ok(())
    }

    /// Whether nothing is on its way.
    pub fn is_done(&self) -> bool {
        match &self.way {
            Way::Here(inlet) => inlet.is_done(),
            Way::There { published, .. } => published.is_empty(),
        }
    }

    /// Waits until something more is taken; for ever when nothing is on its way. Safe to give up on.
    ///
    /// # Errors
    /// The session has ended.
    pub async fn wait(&mut self) -> Result<(), Error> {
        match &mut self.way {
            Way::Here(inlet) => inlet.wait().await,
            Way::There {
                published, taken, ..
            } => {
                let Some((id, completion)) = published.front_mut() else {
                    return std::future::pending().await;
                };
                let id = *id;
                completion.as_mut().await?;
                published.pop_front();
                taken.push(id);
                Ok(())
            }
        }
    }

    /// Gives the numbers at their source of all that have been taken since this was last asked, in order.
    ///
    /// # Errors
    /// The session has ended.
    pub fn taken(&mut self, told: &mut Vec<CommandId>) -> Result<(), Error> {
        let (published, taken) = match &mut self.way {
            Way::Here(inlet) => return inlet.taken(told),
            Way::There {
                published, taken, ..
            } => (published, taken),
        };
        told.append(taken);
        let mut context = Context::from_waker(Waker::noop());
        while let Some((id, completion)) = published.front_mut() {
            match completion.as_mut().poll(&mut context) {
                Poll::Pending => break,
                Poll::Ready(outcome) => _ = outcome?,
            }
            told.push(*id);
            published.pop_front();
        }
        Ok(())
    }
}
