//! One bridge: sessions at both ends, the queue between them, and the pump.

use std::sync::Arc;

use tokio::sync::{Notify, mpsc};
use tokio::time::timeout;

use super::bindings::{Bindings, Place};
use super::home::Home;
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
    let (source, destination) = match definition.source_is_local {
        true => (&ends.here, &ends.there),
        false => (&ends.there, &ends.here),
    };
    let name = format!("qpid.bridge_session_{}_{}", definition.name, ends.own);
    let source = attach(source, &name).await.map_err(failed)?;
    let destination = attach(destination, &format!("{name}.out"))
        .await
        .map_err(failed)?;
    let sessions = [source.clone(), destination.clone()];
    let bridge = Bridge {
        definition: &definition,
        ends: &ends,
        source,
        destination,
    };
    let ended = carry(&*home, bridge, &signals).await;
    for session in sessions {
        // Err: it has ended already, or its connection is about to.
        let _ = timeout(limits::DETACH_TIMEOUT, session.detach()).await;
    }
    ended
}

async fn carry(home: &dyn Home, bridge: Bridge<'_>, signals: &Signals) -> Result<(), String> {
    let failed = |error: Error| error.to_string();
    let (definition, ends) = (bridge.definition, bridge.ends);
    let source = bridge.source.clone();
    // Who is refused there is told so before a message is on its way.
    see_exchange(&bridge.destination, &definition.destination).await?;
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
    let mut pump = bridge.pump(queue).await.map_err(failed)?;
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

/// A session of this name, or, when another still has it, of one that nobody has: the other's connection
/// is dead and has not been noticed yet.
async fn attach(client: &Client, name: &str) -> Result<Session, Error> {
    match client.session(name).await {
        Err(Error::Detached(_)) => client.session(&unique_name(&format!("{name}."))).await,
        other => other,
    }
}

async fn see_exchange(session: &Session, name: &Text) -> Result<(), String> {
    use crate::wire::{ExchangeQuery, ExchangeQueryResult};
    let query = Command::ExchangeQuery(ExchangeQuery {
        name: Some(name.clone()),
    });
    let found: Result<ExchangeQueryResult, Error> = session.query(query).await;
    match found {
        Ok(found) if found.not_found => Err(format!("404 not-found: no exchange {name}")),
        Ok(_) => Ok(()),
        Err(error) => Err(error.to_string()),
    }
}

struct Bridge<'a> {
    definition: &'a BridgeDefinition,
    ends: &'a Ends,
    source: Session,
    destination: Session,
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

    /// Subscribes. Only what comes from a queue that is not the bridge's own is acknowledged: another goes
    /// with the bridge.
    async fn pump(self, queue: Text) -> Result<Pump, Error> {
        let definition = self.definition;
        let is_lasting = definition.source_is_queue || !definition.queue.is_empty();
        let is_acknowledging = definition.sync > 0 && is_lasting;
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
            exclusive: !is_lasting,
            arguments: Some([(WANTS_IDENTITY, Value::Bool(true))].into_iter().collect()),
            ..MessageSubscribe::default()
        };
        let most = match is_acknowledging {
            true => limits::UNACCEPTED_MAX,
            false => limits::WINDOW,
        };
        let flow = Flow::WindowOf {
            messages: credit.unwrap_or(most).min(most),
            bytes: limits::WINDOW_BYTES,
        };
        let acknowledging = is_acknowledging.then(|| Acknowledging {
            every: definition.sync.into(),
        });
        let subscription = self.source.subscribe(subscribe, flow).await?;
        let destination = (self.destination, definition.destination.clone());
        Ok(Pump::new(subscription, destination, acknowledging))
    }
}
