//! What management tells of: events, told to whoever listens.

use std::sync::Arc;

use crate::broker::core::{Acting, Core};
use crate::broker::effect::{Effect, Out};
use crate::broker::event::Event;
use crate::broker::facts::Crossing;
use crate::broker::ids::{ConnectionKey, ExchangeId, QueueId, SubscriptionId};
use crate::broker::limits;
use crate::broker::management::{Face, ForAgent, Requester, Untold};
use crate::broker::message::Message;
use crate::qmf::identity::AgentName;
use crate::qmf::{Publication, qmf1, qmf2};

impl Core {
    /// For whom the command at hand is done.
    pub(super) fn requester(&self) -> Requester {
        match &self.scratch.acting {
            Acting::Nobody => Requester::default(),
            Acting::Requester(requester) => requester.clone(),
            Acting::Session(session) => {
                let session = self.sessions.get(session.0);
                let connection =
                    session.and_then(|session| self.connections.get(session.connection_id));
                connection
                    .map(|connection| connection.requester())
                    .unwrap_or_default()
            }
        }
    }

    /// Something has happened, which is only made where somebody tells of it.
    pub(super) fn happened(&mut self, event: impl FnOnce() -> Event) {
        if !self.agents.is_empty() {
            self.scratch.happened.push(event());
        }
    }

    /// Somebody has done something.
    pub(super) fn happened_by(&mut self, event: impl FnOnce(Requester) -> Event) {
        if !self.agents.is_empty() {
            let requester = self.requester();
            self.scratch.happened.push(event(requester));
        }
    }

    /// A binding was taken away.
    pub(super) fn happened_unbound(&mut self, exchange: ExchangeId, queue: QueueId, key: &str) {
        let names = (self.exchanges.get(exchange.0), self.queues.get(queue.0));
        if let (Some(exchange), Some(queue)) = names {
            let (exchange, queue) = (exchange.name.clone(), queue.name.clone());
            self.happened_by(|requester| Event::Unbind {
                requester,
                exchange,
                queue,
                key: key.into(),
            });
        }
    }

    /// A session has subscribed.
    pub(super) fn happened_subscribed(&mut self, id: SubscriptionId) {
        let Some(made) = self
            .subscriptions
            .get(id.0)
            .filter(|_| !self.agents.is_empty())
        else {
            return;
        };
        let event = Event::Subscribe {
            requester: self.requester(),
            queue: self.queue(made.queue).name.clone(),
            destination: made.tag.destination.clone(),
            is_exclusive: made.is_exclusive,
            arguments: made.arguments.clone(),
        };
        self.scratch.happened.push(event);
    }

    /// Queues have crossed lines that alerts were asked for.
    pub(super) fn note_crossings(&mut self) {
        let (crossings, lost) = self.scratch.facts.take_crossings();
        if self.agents.is_empty() {
            return;
        }
        self.agents.events_lost += lost;
        for crossing in crossings {
            self.happened_at_line(crossing);
        }
    }

    fn happened_at_line(&mut self, crossing: Crossing) {
        let Some(queue) = self.live_queue(crossing.queue) else {
            return;
        };
        let (name, is_plain) = (queue.name.clone(), queue.alerts.is_plain);
        let (depth, bytes) = (crossing.depth, crossing.bytes);
        self.happened(|| match crossing.is_high {
            true => Event::ThresholdUp {
                queue: name,
                depth,
                bytes,
                is_plain,
            },
            false => Event::ThresholdDown {
                queue: name,
                depth,
                bytes,
            },
        });
    }

    // What has happened is told in the entry in which it has: who sees that his command is done finds
    // the event in his queue. Only what is too much for one entry comes in the next.

    /// Tells of what has happened in the batch, and of what is left from batches before.
    pub(in crate::broker) fn tell_events(&mut self, out: &mut Out) {
        // What is left tells of batches before, whose facts may not be safe yet.
        out.rests_on_facts |= !self.agents.untold.is_empty();
        self.note_happened(0, out);
        let places_max = self.counters.enqueues + limits::EVENT_PLACES_PER_ENTRY_MAX;
        for _ in 0..limits::EVENTS_PER_ENTRY_MAX {
            if self.counters.enqueues >= places_max {
                return;
            }
            let Some(untold) = self.agents.untold.pop_front() else {
                return;
            };
            let generation = untold.generation + 1;
            self.publish_event(untold, out);
            self.see_to_touched(out);
            self.note_happened(generation, out);
        }
    }

    /// Has all agents hear of what has happened, and keeps it to be told if somebody listens.
    /// `generation` counts the events that one led to by being told.
    fn note_happened(&mut self, generation: u8, out: &mut Out) {
        if self.scratch.happened.is_empty() {
            return;
        }
        let mut happened = std::mem::take(&mut self.scratch.happened);
        let is_heard = self.has_management_listeners();
        for event in happened.drain(..) {
            for agent in self.agents.all() {
                let told = ForAgent::Event(event.clone());
                out.effects.push((agent, Effect::Agent(Box::new(told))));
            }
            if !is_heard {
                continue;
            }
            let is_too_much = self.agents.untold.len() >= limits::UNTOLD_EVENTS_MAX;
            if is_too_much || generation >= limits::EVENT_GENERATIONS_MAX {
                self.agents.events_lost += 1;
                continue;
            }
            self.agents.untold.push_back(Untold {
                event,
                time: self.time,
                generation,
            });
        }
        self.scratch.happened = happened;
    }

    fn publish_event(&mut self, untold: Untold, out: &mut Out) {
        let Some(publisher) = self.first_agent() else {
            return;
        };
        let now = self.agents.wall(untold.time).0.saturating_mul(1_000_000);
        let agent = AgentName::new(self.agents.name.clone());
        let versions = self.agents.versions();
        for event in untold.event.into_told() {
            if versions.in_version_1
                && self.may_be_heard(Face::Version1, &qmf1::event_key(event.class))
            {
                for publication in qmf1::event(&event, now) {
                    self.publish_made(publisher, publication, out);
                }
            }
            if versions.in_version_2
                && self.may_be_heard(Face::Topic, &agent.event_key(event.class))
            {
                self.publish_made(publisher, qmf2::event(&agent, &event, now), out);
            }
        }
    }

    /// The broker publishes what it has made itself.
    fn publish_made(&mut self, publisher: ConnectionKey, publication: Publication, out: &mut Out) {
        match Message::published(publication) {
            Ok((exchange, message)) => {
                self.scratch.handle = self.new_handle();
                self.publish_for_broker(publisher, &exchange, Arc::new(message), out);
            }
            // Its arguments are longer than a message's properties may be. Nobody can be told.
            Err(_) => self.agents.events_lost += 1,
        }
    }
}
