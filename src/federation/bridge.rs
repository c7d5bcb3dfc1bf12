//! One bridge: sessions at both ends, the queue between them, and the pump.

use std::sync::Arc;

use tokio::sync::{Notify, mpsc};
use tokio::time::timeout;

use super::bindings::{Bindings, Place};
use super::destination::Destination;
use super::home::Home;
use super::inlet::Inlets;
use super::limits;
use super::news::News;
use super::pump::{Acknowledging, Pump};
use crate::broker::arguments::{TRACE_EXCLUDE, TRACE_ID};
use crate::broker::links::BridgeDefinition;
use crate::broker::seen::WANTS_IDENTITY;
use crate::client::{Client, Error, Flow, Session, unique_name};
use crate::wire::{
    AcceptMode, Command, ExchangeBind, Map, MessageSubscribe, QueueDeclare, Text, Value,
};

/// The two brokers of a link.
#[derive(Clone)]
pub struct Ends {
    /// The one that the link belongs to.
    pub here: Client,
    /// The way for what is published there.
    pub inlets: Inlets,
    /// Its tag.
    pub own: Text,
    /// The other.
    pub there: Client,
    /// Its tag; empty when it has told none.
    pub peer: Text,
}

/// What a bridge is told, and tells.
pub struct Signals {
    /// Of bindings here.
    pub news: Arc<News>,
    /// It is to end.
    pub stop: Arc<Notify>,
    /// It carries: its name.
    pub begun: mpsc::Sender<Text>,
}

/// Carries messages until something ends that, or it is told to.
///
/// # Errors
/// Why it has ended.
pub async fn run(
    home: Arc<dyn Home>,
    definition: BridgeDefinition,
    ends: Ends,
    signals: Signals,
) -> Result<(), String> {
    let failed = |error: Error| error.to_string();
    let from = match definition.source_is_local {
        true => &ends.here,
        false => &ends.there,
    };
    let name = format!("qpid.bridge_session_{}_{}", definition.name, ends.own);
    let source = attach(from, &name).await;
    let source = source.map_err(failed)?;
    let out = attach_out(&*home, &definition, &ends, &format!("{name}.out")).await;
    let ended = match out {
        Ok((destination, there)) => {
            let bridge = Bridge {
                definition: &definition,
                ends: &ends,
                source: source.clone(),
            };
            let ended = carry(&*home, bridge, destination, &signals).await;
            if let Some(there) = there {
                leave(there).await;
            }
            ended
        }
        Err(why) => Err(why),
    };
    leave(source).await;
    ended
}

/// The session in which a bridge publishes; and which it is at the other broker, if it is there. Who is
/// refused there is told so before a message is on its way.
async fn attach_out(
    home: &dyn Home,
    definition: &BridgeDefinition,
    ends: &Ends,
    name: &str,
) -> Result<(Destination, Option<Session>), String> {
    let failed = |error: Error| error.to_string();
    let exchange = &definition.destination;
    if definition.source_is_local {
        let session = attach(&ends.there, name).await;
        let session = session.map_err(failed)?;
        see_exchange(&session, exchange).await?;
        let is_waiting = is_acknowledging(definition);
        let destination = Destination::there(exchange.clone(), session.clone(), is_waiting);
        return Ok((destination, Some(session)));
    }
    let mut is_there = false;
    home.look(&mut |core| is_there = core.exchange_of_name(exchange).is_some());
    if !is_there {
        return Err(no_exchange(exchange));
    }
    let inlet = match ends.inlets.attach(name).await {
        Err(Error::Detached(_)) => ends.inlets.attach(&spare(name)).await,
        other => other,
    };
    let destination = Destination::here(exchange.clone(), inlet.map_err(failed)?);
    Ok((destination, None))
}

fn no_exchange(name: &Text) -> String {
    format!("404 not-found: no exchange {name}")
}

/// Whether what a bridge has from its source is still there when the bridge is not.
fn is_lasting(definition: &BridgeDefinition) -> bool {
    definition.source_is_queue || !definition.queue.is_empty()
}

/// Whether a bridge acknowledges. There is no use in it where all goes with the bridge.
fn is_acknowledging(definition: &BridgeDefinition) -> bool {
    definition.sync > 0 && is_lasting(definition)
}

/// Ends a session that may have ended already, or whose connection is about to.
async fn leave(session: Session) {
    let _ = timeout(limits::DETACH_TIMEOUT, session.detach()).await;
}

async fn carry(
    home: &dyn Home,
    bridge: Bridge<'_>,
    destination: Destination,
    signals: &Signals,
) -> Result<(), String> {
    let failed = |error: Error| error.to_string();
    let (definition, ends) = (bridge.definition, bridge.ends);
    let source = bridge.source.clone();
    let queue = bridge.prepare().await?;
    // Before the bindings are looked at, so that none is missed.
    let news = signals.news.listen();
    let mut bindings = definition.is_dynamic.then(|| {
        Bindings::new(Place {
            exchange: definition.source.clone(),
            queue: queue.clone(),
            own: ends.own.clone(),
            peer: ends.peer.clone(),
        })
    });
    if let Some(bindings) = &mut bindings {
        bindings.tell_all(home, &source, false).await?;
    }
    let mut pump = bridge.pump(queue, destination).await.map_err(failed)?;
    // Err: the link is gone, and soon this.
    let _ = signals.begun.send(definition.name.clone()).await;
    loop {
        let told = tokio::select! {
            ready = pump.ready() => {
                pump.act(ready).await.map_err(failed)?;
                continue;
            }
            told = news.next() => told,
            () = signals.stop.notified() => {
                let ending = timeout(limits::DETACH_TIMEOUT, pump.end()).await;
                return ending.unwrap_or(Ok(())).map_err(failed);
            }
        };
        let Some(bindings) = &mut bindings else {
            continue;
        };
        if told.again.contains(bindings.exchange()) {
            bindings.tell_all(home, &source, true).await?;
        } else if let Some(keys) = told.bindings.get(bindings.exchange()) {
            let keys: Vec<Text> = keys.iter().cloned().collect();
            for some in keys.chunks(limits::BINDINGS_PER_LOOK) {
                bindings.tell(home, &source, some).await?;
            }
        }
    }
}

/// A session of this name, or, when another still has it, of a spare one.
async fn attach(client: &Client, name: &str) -> Result<Session, Error> {
    match client.session(name).await {
        Err(Error::Detached(_)) => client.session(&spare(name)).await,
        other => other,
    }
}

/// A name for a session that nobody has: another has the usual one, whose connection is dead and has not
/// been noticed yet.
fn spare(name: &str) -> String {
    unique_name(&format!("{name}."))
}

async fn see_exchange(session: &Session, name: &Text) -> Result<(), String> {
    use crate::wire::{ExchangeQuery, ExchangeQueryResult};
    let query = Command::ExchangeQuery(ExchangeQuery {
        name: Some(name.clone()),
    });
    let found: Result<ExchangeQueryResult, Error> = session.query(query).await;
    match found {
        Ok(found) if found.not_found => Err(no_exchange(name)),
        Ok(_) => Ok(()),
        Err(error) => Err(error.to_string()),
    }
}

struct Bridge<'a> {
    definition: &'a BridgeDefinition,
    ends: &'a Ends,
    source: Session,
}

impl Bridge<'_> {
    /// The source broker's tag, and the destination broker's.
    fn tags(&self) -> (&Text, &Text) {
        match self.definition.source_is_local {
            true => (&self.ends.own, &self.ends.peer),
            false => (&self.ends.peer, &self.ends.own),
        }
    }

    /// Makes the queue that messages come from, if there is to be one, and binds it.
    async fn prepare(&self) -> Result<Text, String> {
        let definition = self.definition;
        if definition.source_is_queue {
            return Ok(definition.source.clone());
        }
        let failed = |error: Error| error.to_string();
        let queue = match definition.queue.is_empty() {
            false => definition.queue.clone(),
            true => {
                let name = format!("qpid.bridge_queue_{}_{}", definition.name, self.ends.own);
                self.declare(name.into()).await.map_err(failed)?
            }
        };
        if !definition.is_dynamic {
            let bind = Command::ExchangeBind(ExchangeBind {
                queue: queue.clone(),
                exchange: definition.source.clone(),
                binding_key: definition.key.clone(),
                arguments: None,
            });
            self.source.call(bind).await.map_err(failed)?;
        }
        Ok(queue)
    }

    /// As of qpidd the queue is never durable and goes with its session. It keeps out what has been at
    /// the destination before.
    async fn declare(&self, queue: Text) -> Result<Text, Error> {
        let (source, destination) = self.tags();
        let given = |given: &Text, usual: &Text| match given.is_empty() {
            true => usual.clone(),
            false => given.clone(),
        };
        let mut arguments = Map::new();
        let named = [
            (TRACE_ID, given(&self.definition.tag, source)),
            (TRACE_EXCLUDE, given(&self.definition.excludes, destination)),
        ];
        for (name, tag) in named.into_iter().filter(|(_, tag)| !tag.is_empty()) {
            arguments.insert(name, Value::Str16(tag));
        }
        let declare = QueueDeclare {
            queue: queue.clone(),
            exclusive: true,
            auto_delete: true,
            arguments: Some(arguments),
            ..QueueDeclare::default()
        };
        self.source.call(Command::QueueDeclare(declare)).await?;
        Ok(queue)
    }

    /// Subscribes.
    async fn pump(self, queue: Text, destination: Destination) -> Result<Pump, Error> {
        let definition = self.definition;
        let is_acknowledging = is_acknowledging(definition);
        let credit = match definition.credit {
            0 | u32::MAX => None,
            credit => Some(credit),
        };
        let subscribe = MessageSubscribe {
            queue,
            destination: definition.destination.clone(),
            accept_mode: match is_acknowledging {
                true => AcceptMode::EXPLICIT,
                false => AcceptMode::NONE,
            },
            exclusive: !is_lasting(definition),
            arguments: Some([(WANTS_IDENTITY, Value::Bool(true))].into_iter().collect()),
            ..MessageSubscribe::default()
        };
        let flow = Flow::WindowOf {
            messages: credit.unwrap_or(limits::WINDOW).min(limits::WINDOW),
            bytes: limits::WINDOW_BYTES,
        };
        let acknowledging = is_acknowledging.then(|| Acknowledging {
            every: definition.sync.into(),
        });
        let subscription = self.source.subscribe(subscribe, flow).await?;
        Ok(Pump::new(subscription, destination, acknowledging))
    }
}
