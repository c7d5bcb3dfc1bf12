//! Definitions that are imported: all of them in one entry, or none.
//!
//! Whatever could be refused is looked at before anything is changed. What is to be made must not be
//! there and what is to be deleted must: who imports has compared the two before, and when somebody
//! was faster the import is refused as a whole and can be tried again.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use super::refuse;
use super::xml::{no_alternate, unreadable_query};
use crate::broker::arguments;
use crate::broker::command::Refusal;
use crate::broker::core::Core;
use crate::broker::effect::Out;
use crate::broker::exchange::{Kind, xml};
use crate::broker::ids::{ExchangeId, QueueId};
use crate::broker::limits;
use crate::broker::management::Import;
use crate::broker::queue::settings::Settings;
use crate::wire::{ErrorCode, ExchangeBind, ExchangeDelete, QueueDelete};

/// Names that an import makes and that it deletes.
struct Names<'a> {
    /// Exchanges to be made, with their types.
    exchanges: BTreeMap<&'a str, &'a str>,
    queues: BTreeSet<&'a str>,
    exchanges_gone: BTreeSet<&'a str>,
    queues_gone: BTreeSet<&'a str>,
}

/// A binding by exchange, queue and key.
type Bound<'a> = (&'a str, &'a str, &'a str);

/// Why an import cannot be done: what is wrong with each of its definitions.
#[derive(Default)]
struct Complaints {
    /// The first, with the words of those behind it that there is room for.
    all: Option<Refusal>,
    /// How many more there are.
    more: usize,
}

impl Complaints {
    /// Notes what is wrong, if anything is.
    fn note<T>(&mut self, found: Result<T, Refusal>) -> Option<T> {
        let refusal = match found {
            Ok(found) => return Some(found),
            Err(refusal) => refusal,
        };
        match &mut self.all {
            None => self.all = Some(refusal),
            Some(all) => {
                let bytes = all.text.len() + refusal.text.len();
                match self.more == 0 && bytes <= limits::IMPORT_COMPLAINTS_BYTES_MAX {
                    true => {
                        all.text.push_str("; ");
                        all.text.push_str(&refusal.text);
                    }
                    false => self.more += 1,
                }
            }
        }
        None
    }

    fn end(self) -> Result<(), Refusal> {
        let Some(mut all) = self.all else {
            return Ok(());
        };
        if self.more > 0 {
            let _ = write!(all.text, "; and {} more", self.more);
        }
        Err(all)
    }
}

impl Core {
    /// Makes and deletes all that an import says. Gives how many definitions that were.
    ///
    /// # Errors
    /// Each of its definitions that cannot be made or deleted is named, as far as
    /// [`limits::IMPORT_COMPLAINTS_BYTES_MAX`] goes, with the code of the first: then nothing is changed.
    pub(super) fn import(&mut self, import: Import, out: &mut Out) -> Result<u64, Refusal> {
        let count = self.check_import(&import)?;
        self.make_imported(import, out)?;
        Ok(count)
    }

    /// Whether all of an import can be done now. Gives how many definitions it has.
    ///
    /// # Errors
    /// As for [`import`](Self::import).
    pub(super) fn check_import(&mut self, import: &Import) -> Result<u64, Refusal> {
        let count = import.count();
        if count > limits::IMPORTED_DEFINITIONS_MAX {
            let max = limits::IMPORTED_DEFINITIONS_MAX;
            let text = format_args!("{count} definitions; an import has at most {max}");
            return Err(refuse(ErrorCode::RESOURCE_LIMIT_EXCEEDED, text));
        }
        let mut complaints = Complaints::default();
        let names = names_of(import, &mut complaints);
        complaints.note(self.check_import_quota(import));
        self.check_imported_exchanges(import, &names, &mut complaints);
        self.check_imported_queues(import, &names, &mut complaints);
        self.check_imported_bindings(import, &names, &mut complaints);
        self.check_deletions(import, &mut complaints);
        complaints.end().map(|()| count as u64)
    }

    /// Makes first, then deletes: what goes with its last binding stays for the new ones.
    fn make_imported(&mut self, import: Import, out: &mut Out) -> Result<(), Refusal> {
        for declare in import.exchanges {
            let alternate = self.alternate_of(declare.alternate_exchange.as_deref())?;
            self.make_exchange(declare, alternate)?;
        }
        for declare in import.queues {
            let alternate = self.alternate_of(declare.alternate_exchange.as_deref())?;
            let queue = self.make_queue(&declare, alternate)?;
            if import.quota.is_some() {
                self.note_maker(queue);
            }
        }
        for bind in import.bindings {
            self.exchange_bind(None, bind, out)?;
        }
        for unbind in import.unbindings {
            let (queue, exchange) = self.bindable(None, &unbind.queue, &unbind.exchange)?;
            self.unbind_queue_key(exchange, queue, &unbind.binding_key);
        }
        for delete in &import.deleted_queues {
            self.delete_queue(delete, out)?;
        }
        self.delete_exchanges(&import.deleted_exchanges);
        Ok(())
    }

    /// Deletes exchanges, those that have others for alternate before these. One that has gone with its
    /// last binding is deleted already.
    fn delete_exchanges(&mut self, deletes: &[ExchangeDelete]) {
        let mut left: Vec<ExchangeId> = deletes
            .iter()
            .filter_map(|delete| self.exchange_names.get(&delete.exchange).copied())
            .collect();
        // An alternate exchange was there before those that have it, so that no two wait for each other.
        while !left.is_empty() {
            let before = left.len();
            let mut kept = Vec::new();
            for id in left {
                match self.exchange_mut(id).alternate_users {
                    0 => self.remove_exchange(id),
                    _ => kept.push(id),
                }
            }
            left = kept;
            if left.len() == before {
                debug_assert!(false, "the users of these exchanges were counted");
                return;
            }
        }
    }

    fn check_imported_exchanges(
        &self,
        import: &Import,
        names: &Names<'_>,
        complaints: &mut Complaints,
    ) {
        let mut made = BTreeSet::new();
        for declare in &import.exchanges {
            let name = &*declare.exchange;
            let of_it = |refusal| of("exchange", name, refusal);
            let free = match self.exchange_names.contains_key(name) {
                true => Err(there_already("exchange", name)),
                false => self.declared(declare).map(|_| ()).map_err(of_it),
            };
            complaints.note(free);
            // Alternates stand in front of those that have them.
            let alternate = declare.alternate_exchange.as_deref();
            let alternate = self.check_alternate(alternate, &made, names);
            complaints.note(alternate.map_err(of_it));
            made.insert(name);
        }
        complaints.note(self.see_room_for_exchanges(made.len()));
    }

    fn check_imported_queues(
        &self,
        import: &Import,
        names: &Names<'_>,
        complaints: &mut Complaints,
    ) {
        let made: BTreeSet<&str> = names.exchanges.keys().copied().collect();
        for declare in &import.queues {
            let name = &*declare.queue;
            if self.queue_names.contains_key(name) {
                complaints.note::<()>(Err(there_already("queue", name)));
            }
            let alternate = declare.alternate_exchange.as_deref();
            let alternate = self.check_alternate(alternate, &made, names);
            complaints.note(alternate.map_err(|refusal| of("queue", name, refusal)));
            let arguments = declare.arguments.clone().unwrap_or_default();
            let settings = Settings::of(name, &arguments, &self.options);
            complaints.note(settings.map_err(|text| {
                refuse(ErrorCode::INVALID_ARGUMENT, format_args!("{name}: {text}"))
            }));
        }
        if self.queues.len() + import.queues.len() > limits::QUEUES_MAX {
            let text = "a broker can have no more queues";
            complaints.note::<()>(Err(refuse(ErrorCode::RESOURCE_LIMIT_EXCEEDED, text)));
        }
    }

    fn check_alternate(
        &self,
        alternate: Option<&str>,
        made: &BTreeSet<&str>,
        names: &Names<'_>,
    ) -> Result<(), Refusal> {
        let Some(alternate) = alternate.filter(|name| !name.is_empty()) else {
            return Ok(());
        };
        if names.exchanges_gone.contains(alternate) {
            let text = format_args!("Cannot delete {alternate}, in use as alternate-exchange.");
            return Err(refuse(ErrorCode::NOT_ALLOWED, text));
        }
        match made.contains(alternate) {
            true if names.exchanges.get(alternate) == Some(&xml::TYPE) => {
                Err(no_alternate(alternate))
            }
            true => Ok(()),
            false => self.alternate_named(alternate).map(|_| ()),
        }
    }

    fn check_imported_bindings(
        &self,
        import: &Import,
        names: &Names<'_>,
        complaints: &mut Complaints,
    ) {
        let mut bound: BTreeSet<Bound<'_>> = BTreeSet::new();
        let mut keys: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for (at, bind) in import.bindings.iter().enumerate() {
            let of_it = |refusal| of("binding", &shown(bind), refusal);
            let checked = self.check_binding(bind, names).map_err(of_it);
            let Some(r#type) = complaints.note(checked) else {
                continue;
            };
            let unreadable = import.unreadable.get(&(at as u32));
            if let Some(text) = unreadable.filter(|_| r#type == xml::TYPE) {
                complaints.note::<()>(Err(unreadable_query(bind, text)));
            }
            let key = &*bind.binding_key;
            if !bound.insert((&bind.exchange, &bind.queue, key)) {
                complaints.note::<()>(Err(twice("binding", &shown(bind))));
            }
            keys.entry(&bind.exchange).or_default().push(key);
        }
        for (exchange, keys) in keys {
            complaints.note(self.see_room_for_bindings(exchange, &keys, names));
        }
    }

    fn see_room_for_bindings(
        &self,
        exchange: &str,
        keys: &[&str],
        names: &Names<'_>,
    ) -> Result<(), Refusal> {
        let new = names.exchanges.get(exchange);
        let new = new.and_then(|r#type| Kind::of_type(r#type));
        let found = self.exchange_of_name(exchange).map(|found| &found.kind);
        let found = found.or(new.as_ref());
        let count = found.map_or(0, Kind::binding_count) + keys.len();
        let has_room = found.is_none_or(|kind| kind.has_room_for(keys));
        match count > limits::BINDINGS_PER_EXCHANGE_MAX || !has_room {
            true => {
                let text = format_args!("the exchange {exchange} can have no more bindings");
                Err(refuse(ErrorCode::RESOURCE_LIMIT_EXCEEDED, text))
            }
            false => Ok(()),
        }
    }

    /// Gives the type of the exchange.
    fn check_binding<'a>(
        &'a self,
        bind: &'a ExchangeBind,
        names: &Names<'a>,
    ) -> Result<&'a str, Refusal> {
        let (exchange, queue) = (&*bind.exchange, &*bind.queue);
        if names.exchanges_gone.contains(exchange) || names.queues_gone.contains(queue) {
            let text =
                format_args!("{queue} cannot be bound to {exchange}: one of them is deleted");
            return Err(refuse(ErrorCode::NOT_ALLOWED, text));
        }
        let is_new = names.exchanges.contains_key(exchange) || names.queues.contains(queue);
        if !names.queues.contains(queue) {
            let found = self.queue(self.queue_named(queue)?);
            if found.is_locked_for(None) {
                let text = format_args!("Cannot bind exclusive queue {queue} of another session");
                return Err(refuse(ErrorCode::RESOURCE_LOCKED, text));
            }
        }
        let r#type = match names.exchanges.get(exchange) {
            Some(r#type) => r#type,
            None if exchange.is_empty() => {
                let text = "Bind not allowed for default exchange";
                return Err(refuse(ErrorCode::INVALID_ARGUMENT, text));
            }
            None => self
                .exchange_at(self.exchange_named(exchange)?)
                .map_or("", |found| found.kind.type_name()),
        };
        let arguments = bind.arguments.clone().unwrap_or_default();
        if arguments::is_session_scoped(&arguments) {
            let text = "a binding of a session's scope needs a session";
            return Err(refuse(ErrorCode::INVALID_ARGUMENT, text));
        }
        if let Some(mut alone) = Kind::of_type(r#type) {
            alone
                .bind(QueueId(0), &bind.binding_key, &arguments)
                .map_err(|error| refuse(error.code(), error))?;
        }
        if !is_new && self.has_binding(exchange, queue, &bind.binding_key)? {
            return Err(refuse(ErrorCode::NOT_ALLOWED, "it is there already"));
        }
        Ok(r#type)
    }

    fn has_binding(&self, exchange: &str, queue: &str, key: &str) -> Result<bool, Refusal> {
        let (queue, exchange) = self.bindable(None, queue, exchange)?;
        let found = self.exchange_at(exchange);
        Ok(found.is_some_and(|found| found.kind.has_key(queue, key)))
    }

    fn check_deletions(&self, import: &Import, complaints: &mut Complaints) {
        let mut unbound: BTreeSet<Bound<'_>> = BTreeSet::new();
        for unbind in &import.unbindings {
            let key = &*unbind.binding_key;
            let is_first = unbound.insert((&unbind.exchange, &unbind.queue, key));
            let is_there = self.has_binding(&unbind.exchange, &unbind.queue, key);
            if complaints.note(is_there) == Some(false) || !is_first {
                let text = format_args!(
                    "no binding of {} to {} with the key {key}",
                    unbind.queue, unbind.exchange
                );
                complaints.note::<()>(Err(refuse(ErrorCode::NOT_FOUND, text)));
            }
        }
        let mut released: BTreeMap<ExchangeId, usize> = BTreeMap::new();
        for delete in &import.deleted_queues {
            let queue = complaints.note(self.check_free_queue_deletion(delete));
            if let Some(alternate) = queue.and_then(|queue| self.queue(queue).alternate) {
                *released.entry(alternate).or_default() += 1;
            }
        }
        let deleted = import.deleted_exchanges.iter().filter_map(|delete| {
            let id = complaints.note(self.exchange_named(&delete.exchange))?;
            Some((delete, id))
        });
        let deleted: Vec<_> = deleted.collect();
        for (_, id) in &deleted {
            if let Some(alternate) = self.exchange_at(*id).and_then(|found| found.alternate) {
                *released.entry(alternate).or_default() += 1;
            }
        }
        for (delete, id) in deleted {
            let released = released.get(&id).copied().unwrap_or_default();
            complaints.note(self.check_exchange_deletion(delete, released));
        }
    }

    /// An import deletes no queue that a session has for itself.
    fn check_free_queue_deletion(&self, delete: &QueueDelete) -> Result<QueueId, Refusal> {
        let id = self.check_queue_deletion(delete)?;
        if self.queue(id).is_locked_for(None) {
            let name = &delete.queue;
            let text = format_args!("Cannot delete queue {name}; it is exclusive to a session");
            return Err(refuse(ErrorCode::RESOURCE_LOCKED, text));
        }
        Ok(id)
    }
}

/// What an import makes and deletes, by name.
fn names_of<'a>(import: &'a Import, complaints: &mut Complaints) -> Names<'a> {
    let mut names = Names {
        exchanges: BTreeMap::new(),
        queues: BTreeSet::new(),
        exchanges_gone: BTreeSet::new(),
        queues_gone: BTreeSet::new(),
    };
    let mut once = |is_first: bool, what: &str, name: &str| {
        if !is_first {
            complaints.note::<()>(Err(twice(what, name)));
        }
    };
    for declare in &import.exchanges {
        let name = &*declare.exchange;
        let before = names.exchanges.insert(name, &declare.r#type);
        once(before.is_none(), "exchange", name);
    }
    for declare in &import.queues {
        let name = &*declare.queue;
        once(names.queues.insert(name), "queue", name);
    }
    for delete in &import.deleted_exchanges {
        let name = &*delete.exchange;
        once(names.exchanges_gone.insert(name), "exchange", name);
    }
    for delete in &import.deleted_queues {
        let name = &*delete.queue;
        once(names.queues_gone.insert(name), "queue", name);
    }
    names
}

fn twice(what: &str, name: &str) -> Refusal {
    let text = format_args!("the {what} {name} stands twice in an import");
    refuse(ErrorCode::NOT_ALLOWED, text)
}

/// A binding as it is named where something is wrong with it.
fn shown(bind: &ExchangeBind) -> String {
    let ExchangeBind {
        exchange,
        queue,
        binding_key,
        ..
    } = bind;
    format!("{exchange} to {queue} with the key {binding_key}")
}

/// A refusal with what it is about.
fn of(what: &str, name: &str, refusal: Refusal) -> Refusal {
    let text = format!("{what} {name}: {}", refusal.text);
    Refusal { text, ..refusal }
}

fn there_already(what: &str, name: impl std::fmt::Display) -> Refusal {
    let text = format_args!("the {what} {name} is there already");
    refuse(ErrorCode::NOT_ALLOWED, text)
}
