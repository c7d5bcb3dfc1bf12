//! What became of every message in every queue it was sent to, as far as clients can know.
//!
//! Clients on different members learn of the same order at different times, so nothing is judged
//! before everything has come to rest: until then the ledger collects.

use std::collections::{BTreeMap, BTreeSet};

use super::branches::Branches;
use super::kinds::is_sent_before;
use super::topology::{Promise, promise};

/// A message in a queue.
pub type Key = (String, u64);

/// The publisher of what was rejected: no order is promised there.
pub const NOBODY: u64 = u64::MAX;

/// Whether something has happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Certainty {
    /// It is not yet known.
    Open,
    /// It has.
    Yes,
    /// It will never be known: whoever was to be told is gone.
    Maybe,
    /// It has not.
    No,
}

/// How a client's hold of a message ended. The flag is whether it is certain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Not yet.
    Held,
    /// The message is to be gone: accepted, or delivered without need of it.
    Settled { is_certain: bool },
    /// To be elsewhere: rejected.
    Rejected { is_certain: bool },
    /// Given back.
    Released { is_flagged: bool, is_certain: bool },
    /// Its session ended before.
    Ended,
}

/// One delivery that took a message from its queue.
#[derive(Clone, Copy, Debug)]
pub struct Taken {
    /// Whether it was flagged; None when it was browsed first and so the flag tells nothing.
    pub is_redelivered: Option<bool>,
    /// What became of it.
    pub end: End,
}

/// Which delivery: the message, and the place among its deliveries.
pub type TakenRef = (Key, usize);

/// A message in a queue.
#[derive(Clone, Debug)]
pub struct Item {
    /// Who sent it, and the place among all that it sent.
    pub publisher: (u64, u64),
    /// Whether it came into the queue.
    pub is_published: Certainty,
    /// When it may be gone by itself.
    pub expires: Option<u64>,
    /// Deliveries that took it.
    pub taken: Vec<Taken>,
    /// Releases without flag that were asked for.
    pub plain_releases: usize,
    /// Whether it was there at the end, and if so flagged.
    pub left: Option<bool>,
}

impl Item {
    /// Whether somebody may have taken it for good.
    pub fn may_be_settled(&self) -> bool {
        let is_settling = |end: &End| matches!(end, End::Settled { .. } | End::Rejected { .. });
        self.taken.iter().any(|taken| is_settling(&taken.end))
    }
}

/// See the module.
#[derive(Debug, Default)]
pub struct Ledger {
    items: BTreeMap<Key, Item>,
    /// Messages of one transaction of which it is not known whether it was committed.
    together: Vec<Vec<Key>>,
    /// Branches of distributed transactions.
    pub branches: Branches,
    /// Messages that were sent in transactions and branches: they come into their queues later.
    pub sent_in_work: BTreeSet<u64>,
}

impl Ledger {
    /// A client has sent a message that is to come into a queue.
    pub fn sent(&mut self, key: Key, publisher: (u64, u64), expires: Option<u64>) {
        let item = Item {
            publisher,
            is_published: Certainty::Open,
            expires,
            taken: Vec::new(),
            plain_releases: 0,
            left: None,
        };
        self.items.insert(key, item);
    }

    /// It is known, or known never to be known, whether messages came into their queues.
    pub fn published(&mut self, keys: &[Key], is_published: Certainty) {
        for key in keys {
            if let Some(item) = self.items.get_mut(key) {
                item.is_published = is_published;
            }
        }
    }

    /// A transaction's publishes of which it is not known whether they were committed: all or none.
    pub fn maybe_committed(&mut self, keys: Vec<Key>) {
        self.published(&keys, Certainty::Maybe);
        self.together.push(keys);
    }

    /// A message.
    pub fn item(&self, key: &Key) -> Option<&Item> {
        self.items.get(key)
    }

    /// A message was taken. Messages that were never sent there do not come from anywhere.
    pub fn took(&mut self, key: Key, taken: Taken) -> Result<TakenRef, String> {
        let item = self
            .items
            .get_mut(&key)
            .ok_or_else(|| format!("{key:?} was delivered and never sent there"))?;
        item.taken.push(taken);
        Ok((key, item.taken.len() - 1))
    }

    /// How holds ended.
    pub fn ends(&mut self, taken: &[TakenRef], end: End) {
        for (key, place) in taken {
            let Some(item) = self.items.get_mut(key) else {
                continue;
            };
            if let End::Released {
                is_flagged: false,
                is_certain: false,
            } = end
            {
                item.plain_releases += 1;
            }
            item.taken[*place].end = end;
        }
    }

    /// A rejected message comes into the queue for such.
    pub fn rejected_into(&mut self, queue: &str, taken: &[TakenRef], is_published: Certainty) {
        for (source, _) in taken {
            let key = (queue.to_owned(), source.1);
            let expires = self.items.get(source).and_then(|item| item.expires);
            if !self.items.contains_key(&key) {
                self.sent(key.clone(), (NOBODY, 0), expires);
            }
            let Some(item) = self.items.get_mut(&key) else {
                continue;
            };
            // What was once known, or once unknown, is not undone by a later attempt that failed.
            item.is_published = match (item.is_published, is_published) {
                (Certainty::Yes, _) | (_, Certainty::Yes) => Certainty::Yes,
                (Certainty::Maybe, _) => Certainty::Maybe,
                (_, later) => later,
            };
        }
    }

    /// A message was still there at the end.
    pub fn left(&mut self, key: &Key, is_redelivered: bool) -> Result<(), String> {
        let item = self
            .items
            .get_mut(key)
            .ok_or_else(|| format!("{key:?} is left and was never sent there"))?;
        match item.left.replace(is_redelivered) {
            Some(_) => Err(format!("{key:?} is left twice")),
            None => Ok(()),
        }
    }

    /// All messages in all queues.
    pub fn items(&self) -> impl Iterator<Item = (&Key, &Item)> {
        self.items.iter()
    }

    /// How many messages there were.
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// How many deliveries there were.
    pub fn deliveries(&self) -> usize {
        self.items.values().map(|item| item.taken.len()).sum()
    }

    /// Judges all of it, after everything has come to rest and what was left has been fetched.
    pub fn judge(&self, now: u64) -> Result<(), String> {
        for (key, item) in &self.items {
            judge_item(key, item, now).map_err(|text| format!("{key:?} {text}: {item:?}"))?;
        }
        for keys in &self.together {
            let items = keys.iter().filter_map(|key| self.items.get(key));
            let kept = items.filter(|item| item.expires.is_none());
            let seen: Vec<bool> = kept.map(is_seen).collect();
            let names: Vec<_> = keys.iter().map(|(queue, _)| promise(queue)).collect();
            let is_kept = names.iter().all(|promise| *promise == Promise::Kept);
            if is_kept && seen.iter().any(|one| *one != seen[0]) {
                return Err(format!("half a transaction: {keys:?}"));
            }
        }
        self.judge_kinds(&is_sent_before)
    }
}

fn is_seen(item: &Item) -> bool {
    item.left.is_some() || !item.taken.is_empty()
}

fn judge_item((queue, _): &Key, item: &Item, now: u64) -> Result<(), &'static str> {
    let ended = |wanted: fn(&End) -> bool| item.taken.iter().filter(|t| wanted(&t.end)).count();
    let certain = ended(|end| {
        matches!(
            end,
            End::Settled { is_certain: true } | End::Rejected { is_certain: true }
        )
    });
    if ended(|end| *end == End::Held) > 0 {
        return Err("is held by nobody who is still there");
    }
    if item.is_published == Certainty::No && is_seen(item) {
        return Err("came, though its sending had failed");
    }
    if certain > 1 {
        return Err("was settled twice");
    }
    if certain == 1 && item.left.is_some() {
        return Err("was settled and is left");
    }
    let plain = |taken: &&Taken| taken.is_redelivered == Some(false);
    let unflagged = item.taken.iter().filter(plain).count();
    let unflagged = unflagged + usize::from(item.left == Some(false));
    let is_flagged = ended(|end| match end {
        End::Ended => true,
        End::Released {
            is_flagged,
            is_certain,
        } => *is_flagged && *is_certain,
        _ => false,
    }) > 0;
    if unflagged > 1 + item.plain_releases {
        return Err("was delivered twice without flag");
    }
    if item.left == Some(false) && is_flagged {
        return Err("is left without the flag that it had");
    }
    let may_be_gone = item.may_be_settled()
        || item.expires.is_some_and(|at| at <= now)
        || promise(queue) != Promise::Kept;
    if item.is_published == Certainty::Yes && item.left.is_none() && !may_be_gone {
        return Err("is lost");
    }
    if item.is_published == Certainty::Open {
        return Err("was sent by somebody who was never told");
    }
    Ok(())
}
