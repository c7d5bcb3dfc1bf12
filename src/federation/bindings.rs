//! What a dynamic bridge tells the other broker of the bindings here.

use std::collections::{BTreeMap, BTreeSet};

use super::home::Home;
use super::limits;
use crate::broker::exchange::Behind;
use crate::broker::origins::{self, Tags, Told};
use crate::client::{Error, Session};
use crate::wire::{Command, ExchangeBind, Map, Text, Value};

/// Where bindings are made.
pub struct Place {
    /// The exchange, here and there.
    pub exchange: Text,
    /// The queue of the bridge at the other broker.
    pub queue: Text,
    /// This broker's tag.
    pub own: Text,
    /// The other's.
    pub peer: Text,
}

/// What the other broker has been told.
pub struct Bindings {
    place: Place,
    told: BTreeMap<Text, Vec<Told>>,
}

impl Bindings {
    /// Of a bridge that has told nothing.
    pub fn new(place: Place) -> Bindings {
        Bindings {
            place,
            told: BTreeMap::new(),
        }
    }

    /// The exchange whose bindings are told.
    pub fn exchange(&self) -> &Text {
        &self.place.exchange
    }

    /// Tells all that there is, and takes back what is no more. With `again` also what was told before.
    ///
    /// # Errors
    /// The session has failed, or there is no such exchange here.
    pub async fn tell_all(
        &mut self,
        home: &dyn Home,
        session: &Session,
        again: bool,
    ) -> Result<(), String> {
        if again {
            // They are bound already, but whoever asked does not know for whom.
            self.told.values_mut().for_each(Vec::clear);
        }
        let mut keys: BTreeSet<Text> = self.told.keys().cloned().collect();
        let mut behind = Some(None);
        while let Some(from) = behind {
            behind = self.walk(home, from, &mut keys)?;
        }
        let keys: Vec<Text> = keys.into_iter().collect();
        for some in keys.chunks(limits::BINDINGS_PER_LOOK) {
            self.tell(home, session, some).await?;
        }
        Ok(())
    }

    /// Adds keys to `keys`, as many as one look takes. Gives where it goes on, if it does.
    fn walk(
        &self,
        home: &dyn Home,
        from: Option<Behind>,
        keys: &mut BTreeSet<Text>,
    ) -> Result<Option<Option<Behind>>, String> {
        let mut next = Err(format!("no exchange {} here", self.place.exchange));
        home.look(&mut |core| {
            let Some((kind, _)) = core.bindings_to_tell(&self.place.exchange) else {
                return;
            };
            let mut last = None;
            let mut count = 0;
            for (slot, binding) in kind
                .bindings_behind(from.as_ref())
                .take(limits::BINDINGS_PER_LOOK)
            {
                keys.insert(binding.key.clone());
                count += 1;
                last = Some(Behind {
                    key: binding.key.clone(),
                    queue: binding.queue,
                    slot,
                });
            }
            next = Ok((count == limits::BINDINGS_PER_LOOK).then_some(last));
        });
        next
    }

    /// Has the other broker know how it is with these keys now.
    ///
    /// # Errors
    /// The session has failed.
    pub async fn tell(
        &mut self,
        home: &dyn Home,
        session: &Session,
        keys: &[Text],
    ) -> Result<(), String> {
        let tags = Tags {
            own: &self.place.own,
            peer: &self.place.peer,
        };
        let mut now: Vec<(Text, Vec<Told>)> = Vec::new();
        home.look(&mut |core| {
            let found = core.bindings_to_tell(&self.place.exchange);
            now = keys
                .iter()
                .map(|key| {
                    let told = found.map(|(kind, of)| origins::told(kind, of, key, tags));
                    (key.clone(), told.unwrap_or_default())
                })
                .collect();
        });
        for (key, wanted) in now {
            let before = self.told.remove(&key).unwrap_or_default();
            let failed = |error: Error| error.to_string();
            // First what is new: where the same messages are wanted for another, none is missed.
            for told in wanted.iter().filter(|told| !before.contains(told)) {
                self.send(session, told, "B").await.map_err(failed)?;
            }
            let is_there = |old: &Told| {
                wanted
                    .iter()
                    .any(|new| new.key == old.key && new.origin == old.origin)
            };
            for told in before.iter().filter(|old| !is_there(old)) {
                self.send(session, told, "U").await.map_err(failed)?;
            }
            if !wanted.is_empty() {
                self.told.insert(key, wanted);
            }
        }
        Ok(())
    }

    async fn send(&self, session: &Session, told: &Told, operation: &str) -> Result<(), Error> {
        let text = |text: &str| Value::Str16(text.into());
        let mut arguments: Map = told.arguments.clone();
        arguments.insert(origins::OPERATION, text(operation));
        arguments.insert(origins::TAGS, text(&told.tags));
        arguments.insert(origins::ORIGIN, text(&told.origin));
        arguments.insert("qpid.replicate", text("none"));
        let bind = ExchangeBind {
            queue: self.place.queue.clone(),
            exchange: self.place.exchange.clone(),
            binding_key: told.key.clone(),
            arguments: Some(arguments),
        };
        session
            .command(Command::ExchangeBind(bind), None)
            .await
            .map(drop)
    }
}
