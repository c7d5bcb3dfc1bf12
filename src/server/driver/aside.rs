//! What a link's bridges publish at their own broker: beside what the connection's peer says.

use super::Driver;
use crate::adapter::{Adapter, Aside, channel_of};
use crate::broker::Effect;
use crate::client::Error;
use crate::federation::{CHANNEL_FIRST, Intake, Step};
use crate::protocol::Event;
use crate::wire::Command;

impl Driver {
    /// Whether what bridges want done can be taken now.
    pub(super) fn may_take_orders(&self) -> bool {
        self.open.is_some() && !self.protocol.is_closed() && !self.is_held()
    }

    /// What a bridge wants done next, as if its peer had said it.
    pub(super) fn poll_order(&mut self) -> Option<Event> {
        if self.open.is_none() || self.protocol.is_closed() {
            return None;
        }
        let step = self.intake.as_mut()?.poll()?;
        Some(match step {
            Step::Attach { channel, name } => Event::Attach {
                channel,
                name: name.as_bytes().to_vec(),
                force: false,
            },
            Step::Publish {
                channel,
                id,
                sync,
                message,
            } => Event::Command {
                channel,
                id,
                sync,
                command: Command::MessageTransfer(message.transfer),
                header: message.header,
                body: message.body,
            },
            Step::Detach { channel } => Event::Detach {
                channel,
                name: Vec::new(),
            },
        })
    }
}

/// Tells bridges what has come of their orders; the other effects stay.
pub(super) fn tell(intake: &mut Intake, adapter: &mut Adapter, effects: &mut Vec<Effect>) {
    for effect in std::mem::take(effects) {
        let channel = channel_of(&effect).filter(|channel| *channel >= CHANNEL_FIRST);
        let Some(channel) = channel else {
            effects.push(effect);
            continue;
        };
        match adapter.take_aside(effect) {
            Some(Aside::Attached) => intake.attached(channel),
            Some(Aside::Completed(commands)) => intake.completed(channel, &commands),
            Some(Aside::Detached(code)) => intake.ended(channel, Error::Detached(code)),
            Some(Aside::Failed(why)) => intake.ended(channel, Error::Exception(why)),
            None => {}
        }
    }
}
