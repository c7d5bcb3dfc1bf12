//! What other views of management ask of the agent: HTTP has it look and act by the same rules as QMF.
//!
//! Acts go to the core in the order in which they were asked for, and are answered when the core has
//! answered. Whoever wants to look is answered when what was ordered before is done and safe: a member
//! that the others do not hear answers nothing.

use std::task::{Context, Poll};

use tokio::sync::{broadcast, mpsc, oneshot};

use super::{Seated, limits, rights};
use crate::broker::Refusal;
use crate::broker::management::{Action, Requester};
use crate::management::agent::Called;
use crate::management::deed::ProcessDeed;
use crate::management::model::Setting;
use crate::qmf::datum::Datum;
use crate::qmf::{Event, Fault};

/// Something that is asked of an agent. Its reply is dropped when the agent loses its seat: what was asked
/// may have been done then, or not.
#[derive(Debug)]
pub struct Ask {
    /// For whom.
    pub requester: Requester,
    /// What.
    pub wanted: Wanted,
}

/// What can be asked of an agent, and where the answer goes.
#[derive(Debug)]
pub enum Wanted {
    /// To look at the core: the answer is what there is to show of the process.
    Look(oneshot::Sender<Setting>),
    /// An act of the core: the answer is how many messages were taken, where that was asked.
    Act(Box<Action>, oneshot::Sender<Result<u64, Refusal>>),
    /// What only the process can do.
    Do(Box<ProcessDeed>, oneshot::Sender<Result<Vec<Datum>, Fault>>),
}

/// The way to an agent.
#[derive(Clone, Debug)]
pub struct Entrance {
    /// What is asked.
    pub asks: mpsc::Sender<Ask>,
    /// What is told: events that happened at the agent's member, or that it tells for all.
    pub events: broadcast::Sender<Told>,
}

/// An event with the time at which it was told.
#[derive(Clone, Debug)]
pub struct Told {
    /// Nanoseconds since 1970.
    pub at: u64,
    /// What happened.
    pub event: Event,
}

/// The agent's end of an [`Entrance`].
#[derive(Debug)]
pub struct Asked {
    asks: mpsc::Receiver<Ask>,
    pub(super) events: broadcast::Sender<Told>,
}

impl Entrance {
    /// Waits until the agent is open: until the exchanges are there by which it is reached.
    pub async fn opened(&self) {
        let (reply, replied) = oneshot::channel();
        let ask = Ask {
            requester: Requester::default(),
            wanted: Wanted::Look(reply),
        };
        if self.asks.send(ask).await.is_ok() {
            // Err: it has lost its seat, which others see to.
            let _ = replied.await;
        }
    }
}

/// Both ends of a way to an agent.
pub fn entrance() -> (Entrance, Asked) {
    let (sender, asks) = mpsc::channel(limits::AGENT_ASKS_MAX);
    let (events, _) = broadcast::channel(limits::EVENTS_BEHIND_MAX);
    let entrance = Entrance {
        asks: sender,
        events: events.clone(),
    };
    (entrance, Asked { asks, events })
}

impl Asked {
    /// The next thing asked; nothing any more when nobody can ask.
    pub(super) fn poll(&mut self, context: &mut Context<'_>) -> Poll<Ask> {
        match self.asks.poll_recv(context) {
            Poll::Ready(Some(ask)) => Poll::Ready(ask),
            Poll::Ready(None) | Poll::Pending => Poll::Pending,
        }
    }
}

/// Whom the outcome of an act is for.
#[derive(Debug)]
pub(super) enum Waiting {
    /// The agent itself: the group knows it then.
    Opening,
    /// A method call that came in a message.
    Call(Box<Called>),
    /// Somebody who wants to look.
    Look(oneshot::Sender<Setting>),
    /// Somebody who asked for the act.
    Act(oneshot::Sender<Result<u64, Refusal>>),
    /// Somebody who asked for what one process cannot do alone.
    Do(oneshot::Sender<Result<Vec<Datum>, Fault>>),
}

impl Seated<'_> {
    /// Whether the agent can take what is asked: it is open, and the core owes it not too much.
    pub(super) fn takes_asks(&self) -> bool {
        self.agent.is_some() && self.acting.len() < limits::AGENT_ACTING_MAX
    }

    /// Takes some of what was asked, without waiting for it.
    pub(super) fn take_asks(&mut self) {
        for _ in 0..limits::AGENT_COMMANDS_PER_BATCH {
            let ask = match self.takes_asks() {
                true => self.asked.asks.try_recv().ok(),
                false => None,
            };
            let Some(ask) = ask else {
                return;
            };
            self.ask(ask);
        }
    }

    /// Begins what was asked. Who asked may be gone when it is answered.
    pub(super) fn ask(&mut self, ask: Ask) {
        let Ask { requester, wanted } = ask;
        match wanted {
            Wanted::Look(reply) => {
                self.act(Waiting::Look(reply), requester, Action::Barrier);
            }
            Wanted::Act(action, reply) => {
                match rights::permitted(self.shared, &requester, *action) {
                    Ok(action) => self.act(Waiting::Act(reply), requester, action),
                    Err(fault) => drop(reply.send(Err(rights::denied(fault)))),
                }
            }
            Wanted::Do(deed, reply) => match self.ordered(&deed) {
                Ok(Some(action)) => self.act(Waiting::Do(reply), requester, action),
                Ok(None) => drop(reply.send(self.do_here(&deed))),
                Err(fault) => drop(reply.send(Err(fault))),
            },
        }
    }
}
