//! Redirecting a queue to another, and undoing it: a method of management.

use super::refuse;
use crate::broker::command::Refusal;
use crate::broker::core::{Core, Work};
use crate::broker::effect::Out;
use crate::broker::event::Event;
use crate::broker::ids::QueueId;
use crate::broker::management::{Redirect, Taken, Taking};
use crate::wire::{ErrorCode, Text};

impl Core {
    /// Redirects a queue to another; without a target, cancels that.
    ///
    /// # Errors
    /// A queue is missing (404), or as in qpidd cannot be in a redirect, or is not its source (530).
    pub(in crate::broker) fn redirect(
        &mut self,
        redirect: &Redirect,
        out: &mut Out,
    ) -> Result<(), Refusal> {
        let source = self.queue_named(&redirect.source)?;
        if redirect.target.is_empty() {
            return self.cancel_redirect(source, out);
        }
        let target = self.queue_named(&redirect.target)?;
        let not_allowed = |text: std::fmt::Arguments<'_>| Err(refuse(ErrorCode::NOT_ALLOWED, text));
        if source == target {
            return not_allowed(format_args!(
                "queue {} cannot be its own target",
                redirect.source
            ));
        }
        for queue in [source, target] {
            let name = &self.queue(queue).name;
            if self.queue(queue).is_auto_delete {
                return not_allowed(format_args!(
                    "queue {name} is auto-delete and cannot be part of a redirect"
                ));
            }
            if self.redirects.peer(queue).is_some() {
                return not_allowed(format_args!("queue {name} is already redirected"));
            }
        }
        self.redirects.insert(source, target);
        let Redirect { source, target } = redirect.clone();
        self.happened(|| Event::Redirect { source, target });
        Ok(())
    }

    /// Undoes a redirect. What nobody has acquired at the target goes back, in its order, behind what the
    /// source has; as much of it as the source takes.
    fn cancel_redirect(&mut self, source: QueueId, out: &mut Out) -> Result<(), Refusal> {
        let name = &self.queue(source).name;
        let Some(peer) = self.redirects.peer(source) else {
            let text = format_args!("queue {name} is not redirected");
            return Err(refuse(ErrorCode::NOT_ALLOWED, text));
        };
        if !peer.is_source {
            let text = format_args!("queue {name} is not the source of a redirect");
            return Err(refuse(ErrorCode::NOT_ALLOWED, text));
        }
        self.redirects.remove(source);
        let (from, to) = (self.queue(peer.queue), self.queue(source));
        let taking = Taking {
            queue: from.reference,
            next: from.entries.head(),
            end: from.entries.tail(),
            left: u64::MAX,
            filter: None,
            to: Taken::Queue(to.reference),
            taken: 0,
            asker: None,
        };
        let (source, target) = (to.name.clone(), from.name.clone());
        self.happened(|| Event::RedirectCancelled { source, target });
        self.work.push_back(Work::Take(Box::new(taking)));
        self.run_work(out);
        Ok(())
    }

    /// Undoes the redirect of a queue that has just been taken away, if it is in one. What is at the other
    /// end stays there.
    pub(super) fn undo_redirect(&mut self, id: QueueId, name: &Text) {
        let Some(peer) = self.redirects.peer(id) else {
            return;
        };
        self.redirects.remove(id);
        let Some(other) = self.queues.get(peer.queue.0) else {
            return;
        };
        let (name, other) = (name.clone(), other.name.clone());
        let (source, target) = match peer.is_source {
            true => (name, other),
            false => (other, name),
        };
        self.happened(|| Event::RedirectCancelled { source, target });
    }

    /// The other queue of a redirect, and whether this one is its source. Read by management.
    pub fn redirect_of(&self, queue: &str) -> Option<(Text, bool)> {
        let peer = self.redirects.peer(*self.queue_names.get(queue)?)?;
        let name = self.queues.get(peer.queue.0)?.name.clone();
        Some((name, peer.is_source))
    }

    /// Each queue that a message was routed to is changed for the one that it makes a pair with.
    #[cold]
    pub(super) fn redirect_matched(&self, matched: &mut [QueueId]) {
        for queue in matched {
            *queue = self.redirects.place(*queue);
        }
    }
}
