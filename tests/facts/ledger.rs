//! What must be there, from what clients asked and saw.
//!
//! A broker that stands alone applies batches in the order in which they are proposed, so the ledger
//! numbers them: *steps*. Each step adds and removes *things*: messages in queues, queues, bindings.
//! Of what is asked, a crash leaves a beginning: all up to some step, and nothing after it. What a
//! client saw is within that beginning. When the broker has started again, what is there must fit
//! one such beginning; so what a step did is there wholly or not at all.
//!
//! Some things may go unseen: messages whose time is over, those that a purge may have met, and those
//! of a queue that is consumed without accept. They need not be there, but what was seen to go must
//! not come back.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::content::{
    BOUND, DEAD, DEAD_QUEUES, FANNED, FANOUT, Kind, NOT_ACCEPTED, QUEUES, REJECTING, TRANSIENT,
};

/// Counts the batches of a life, from 1.
pub type Step = u64;

/// The end of time.
const NEVER: u64 = u64::MAX;

/// What can be there.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Thing {
    /// An exchange.
    Exchange(String),
    /// A queue.
    Queue(String),
    /// A binding: exchange, queue, key.
    Binding(String, String, String),
    /// A message in a queue.
    Message(String, u64),
    /// A prepared branch.
    Branch(String),
}

/// A message in a queue, as a client has it.
pub type Held = (String, u64);

/// A message that a client sends.
#[derive(Clone, Debug)]
pub struct Sent {
    pub uid: u64,
    pub exchange: String,
    pub key: String,
    pub kind: Kind,
    /// When its time is over, for one in a transaction: it began before the commit.
    pub expires: Option<u64>,
}

/// What a command does.
#[derive(Clone, Debug)]
pub enum Doing {
    /// Nothing that lasts.
    Nothing,
    /// A message is sent.
    Publish(Sent),
    /// Messages are accepted.
    Accept(Vec<Held>),
    /// Messages are given back.
    Release(Vec<Held>),
    /// Messages are rejected.
    Reject(Vec<Held>),
    /// A transaction is committed.
    Commit(Vec<Sent>, Vec<Held>),
    /// A branch is prepared.
    Prepare(String, Vec<Sent>, Vec<Held>),
    /// A prepared branch is committed, or rolled back.
    Decide(String, bool),
    /// Somebody subscribes to a queue.
    Subscribe(String),
    /// A queue loses what nobody has.
    Purge(String),
    /// An exchange is made.
    DeclareExchange(String),
    /// A queue is made.
    Declare(String),
    /// A queue is deleted, and its messages go to [`DEAD`].
    Delete(String),
    /// A binding is made: exchange, queue, key.
    Bind(String, String, String),
    /// And one is gone.
    Unbind(String, String, String),
}

/// What a command changed: whoever sees it completed knows that it lasts.
#[derive(Clone, Debug, Default)]
pub struct Changed {
    step: Step,
    added: Vec<Thing>,
    removed: Vec<Thing>,
}

/// Where a message stands in the order of its queue: the life, the step, the place in it.
pub type Order = (u64, Step, u64);

#[derive(Clone, Debug)]
struct Item {
    /// When it came, in this life.
    added: Option<Step>,
    /// When it went.
    removed: Option<Step>,
    /// From when on it may be gone, for all that clients know.
    may_be_gone: Option<Step>,
    /// It was seen to go.
    is_gone: bool,
    /// Whether it is to outlast the broker.
    is_durable: bool,
    expires: u64,
    /// None: it has been routed on.
    order: Option<Order>,
    /// The connection that has it.
    holder: Option<u64>,
    /// Whether it was delivered before.
    is_flagged: bool,
    /// From which step to before which a prepared branch had it: then it cannot be seen.
    in_branches: Vec<(Step, Option<Step>)>,
}

impl Item {
    fn is_there(&self) -> bool {
        self.removed.is_none() && !self.is_gone
    }

    fn is_in_branch(&self) -> bool {
        let last = self.in_branches.last();
        last.is_some_and(|(_, until)| until.is_none())
    }

    /// The steps at which branches have it.
    fn hidden(&self) -> impl Iterator<Item = Range<Step>> {
        let all = self.in_branches.iter();
        all.map(|(from, until)| *from..until.unwrap_or(Step::MAX))
    }

    /// The steps at which it must be seen: all from `from` to before `until` at which no branch has
    /// it.
    fn shown(&self, from: Step, until: Step) -> Vec<Range<Step>> {
        let (mut shown, mut next) = (Vec::new(), from);
        for hidden in self.hidden() {
            shown.push(next..hidden.start.min(until));
            next = hidden.end;
        }
        shown.push(next..until);
        shown
    }
}

/// A message as it was found after a start.
#[derive(Clone, Copy, Debug)]
pub struct Found {
    pub uid: u64,
    pub is_redelivered: bool,
    /// What is said of the time that it has left.
    pub ttl: Option<u64>,
}

/// All that was found after a start.
#[derive(Clone, Debug, Default)]
pub struct Observed {
    /// Exchanges, queues and bindings.
    pub definitions: BTreeSet<Thing>,
    /// Messages of queues, in their order.
    pub queues: BTreeMap<String, Vec<Found>>,
    /// Branches that are in doubt.
    pub branches: BTreeSet<String>,
}

/// See the module.
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    life: u64,
    /// The last step that was taken.
    step: Step,
    places: u64,
    /// The last step of which something was seen.
    seen: (Step, String),
    items: BTreeMap<Thing, Item>,
    /// Queues that somebody subscribed to in this life.
    subscribed: BTreeSet<String>,
    /// What branches publish and accept that were prepared, whatever became of them.
    branches: BTreeMap<String, (Vec<Sent>, Vec<Held>)>,
}

impl Ledger {
    // What is asked.

    /// A batch is about to be proposed.
    pub fn begin_step(&mut self) {
        self.step += 1;
    }

    /// A command of the batch.
    pub fn apply(&mut self, doing: &Doing, now: u64) -> Changed {
        let mut changed = Changed {
            step: self.step,
            ..Changed::default()
        };
        match doing {
            Doing::Nothing => {}
            Doing::Publish(sent) => self.publish(sent, now, &mut changed),
            Doing::Accept(held) => self.remove_held(held, &mut changed),
            Doing::Release(held) => held.iter().for_each(|held| {
                self.give_back(&Thing::Message(held.0.clone(), held.1));
            }),
            Doing::Reject(held) => self.reject(held, &mut changed),
            Doing::Commit(sent, held) => {
                self.remove_held(held, &mut changed);
                for sent in sent {
                    self.publish(sent, now, &mut changed);
                }
            }
            Doing::Prepare(branch, sent, held) => {
                self.prepare(branch, (sent, held), &mut changed);
            }
            Doing::Decide(branch, is_commit) => {
                self.decide(branch, *is_commit, now, &mut changed);
            }
            Doing::Subscribe(queue) => self.subscribe(queue),
            Doing::Purge(queue) => self.purge(queue, now, &mut changed),
            Doing::DeclareExchange(name) => {
                self.define(Thing::Exchange(name.clone()), true, &mut changed);
            }
            Doing::Declare(queue) => {
                let thing = Thing::Queue(queue.clone());
                self.define(thing, queue != TRANSIENT, &mut changed);
            }
            Doing::Delete(queue) => self.delete(queue, &mut changed),
            Doing::Bind(exchange, queue, key) => {
                let thing = Thing::Binding(exchange.clone(), queue.clone(), key.clone());
                self.define(thing, queue != TRANSIENT, &mut changed);
            }
            Doing::Unbind(exchange, queue, key) => {
                let thing = Thing::Binding(exchange.clone(), queue.clone(), key.clone());
                self.remove(&thing, &mut changed);
            }
        }
        changed
    }

    /// A branch has messages from now on, whoever goes.
    fn prepare(&mut self, branch: &str, (sent, held): (&[Sent], &[Held]), changed: &mut Changed) {
        self.define(Thing::Branch(branch.to_owned()), true, changed);
        for (queue, uid) in held {
            let item = self.items.get_mut(&Thing::Message(queue.clone(), *uid));
            if let Some(item) = item {
                item.holder = None;
                item.in_branches.push((self.step, None));
            }
        }
        let work = (sent.to_vec(), held.to_vec());
        self.branches.insert(branch.to_owned(), work);
    }

    fn decide(&mut self, branch: &str, is_commit: bool, now: u64, changed: &mut Changed) {
        self.remove(&Thing::Branch(branch.to_owned()), changed);
        let work = self.branches.get(branch).cloned();
        let (sent, held) = work.unwrap_or_default();
        if is_commit {
            self.remove_held(&held, changed);
            for sent in sent {
                self.publish(&sent, now, changed);
            }
            return;
        }
        for (queue, uid) in held {
            let thing = Thing::Message(queue, uid);
            self.give_back(&thing);
            let item = self.items.get_mut(&thing);
            if let Some((_, until)) = item.and_then(|item| item.in_branches.last_mut()) {
                *until = Some(self.step);
            }
        }
    }

    /// Branches that are prepared, for all that was asked.
    pub fn in_doubt(&self) -> Vec<String> {
        let branches = self.items.iter().filter_map(|(thing, item)| match thing {
            Thing::Branch(name) if item.is_there() => Some(name.clone()),
            _ => None,
        });
        branches.collect()
    }

    fn define(&mut self, thing: Thing, is_durable: bool, changed: &mut Changed) {
        if !self.is_there(&thing) {
            let item = self.item(is_durable, NEVER);
            self.items.insert(thing.clone(), item);
        }
        changed.added.push(thing);
    }

    fn item(&self, is_durable: bool, expires: u64) -> Item {
        Item {
            added: Some(self.step),
            removed: None,
            may_be_gone: None,
            is_gone: false,
            is_durable,
            expires,
            order: None,
            holder: None,
            is_flagged: false,
            in_branches: Vec::new(),
        }
    }

    fn is_there(&self, thing: &Thing) -> bool {
        self.items.get(thing).is_some_and(Item::is_there)
    }

    /// The queues that a message goes to now.
    fn route(&self, exchange: &str, key: &str) -> Vec<String> {
        let has = |queue: &&str| {
            let key = if exchange == BOUND { key } else { "" };
            let binding = Thing::Binding(exchange.into(), (*queue).into(), key.into());
            self.is_there(&binding)
        };
        match exchange {
            "" => vec![key.to_owned()],
            FANOUT => {
                let all = FANNED.into_iter().chain([TRANSIENT]);
                all.filter(has).map(str::to_owned).collect()
            }
            DEAD => {
                let all = DEAD_QUEUES.into_iter();
                all.filter(has).map(str::to_owned).collect()
            }
            _ => self.bound_with(key),
        }
    }

    fn bound_with(&self, key: &str) -> Vec<String> {
        let bound = self.items.iter().filter_map(|(thing, item)| match thing {
            Thing::Binding(exchange, queue, with) if exchange == BOUND && with == key => {
                item.is_there().then(|| queue.clone())
            }
            _ => None,
        });
        bound.collect()
    }

    fn publish(&mut self, sent: &Sent, now: u64, changed: &mut Changed) {
        let expires = sent.kind.ttl.map_or(NEVER, |ttl| now + ttl);
        let expires = sent.expires.unwrap_or(expires);
        for queue in self.route(&sent.exchange, &sent.key) {
            if self.is_there(&Thing::Queue(queue.clone())) {
                self.places += 1;
                let order = (self.life, self.step, self.places);
                self.come(
                    queue,
                    sent.uid,
                    (sent.kind.is_persistent, expires),
                    Some(order),
                    changed,
                );
            }
        }
    }

    fn come(
        &mut self,
        queue: String,
        uid: u64,
        (is_persistent, expires): (bool, u64),
        order: Option<Order>,
        changed: &mut Changed,
    ) {
        let is_durable = is_persistent && queue != TRANSIENT;
        let mut item = self.item(is_durable, expires);
        item.order = order;
        if queue == NOT_ACCEPTED && self.subscribed.contains(&queue) {
            item.may_be_gone = Some(self.step);
        }
        let thing = Thing::Message(queue, uid);
        self.items.insert(thing.clone(), item);
        changed.added.push(thing);
    }

    fn remove(&mut self, thing: &Thing, changed: &mut Changed) {
        let step = self.step;
        if let Some(item) = self.items.get_mut(thing).filter(|item| item.is_there()) {
            item.removed = Some(step);
            item.holder = None;
            changed.removed.push(thing.clone());
        }
    }

    fn remove_held(&mut self, held: &[Held], changed: &mut Changed) {
        for (queue, uid) in held {
            self.remove(&Thing::Message(queue.clone(), *uid), changed);
        }
    }

    fn give_back(&mut self, thing: &Thing) {
        if let Some(item) = self.items.get_mut(thing) {
            item.holder = None;
            item.is_flagged = true;
        }
    }

    fn reject(&mut self, held: &[Held], changed: &mut Changed) {
        for (queue, uid) in held {
            let thing = Thing::Message(queue.clone(), *uid);
            self.remove(&thing, changed);
            if queue == REJECTING {
                self.go_on(&thing, Some(NEVER), changed);
            }
        }
    }

    /// A message goes from where it was to the queues for such. One that is marked there as dead has
    /// another time to expire, which is given.
    fn go_on(&mut self, thing: &Thing, expires: Option<u64>, changed: &mut Changed) {
        let (Thing::Message(_, uid), Some(item)) = (thing, self.items.get(thing)) else {
            return;
        };
        let kind = (item.is_durable, expires.unwrap_or(item.expires));
        let may_be_gone = item.may_be_gone;
        for queue in self.route(DEAD, "") {
            self.come(queue.clone(), *uid, kind, None, changed);
            if let Some(item) = self.items.get_mut(&Thing::Message(queue, *uid)) {
                item.may_be_gone = may_be_gone.map(|_| self.step);
            }
        }
    }

    fn messages_of(&self, queue: &str) -> Vec<Thing> {
        let range = Thing::Message(queue.into(), 0)..=Thing::Message(queue.into(), u64::MAX);
        let all = self.items.range(range);
        let there = all.filter(|(_, item)| item.is_there() && !item.is_in_branch());
        there.map(|(thing, _)| thing.clone()).collect()
    }

    fn subscribe(&mut self, queue: &str) {
        self.subscribed.insert(queue.to_owned());
        if queue == NOT_ACCEPTED {
            self.may_go(queue);
        }
    }

    /// From now on nobody knows whether the messages of a queue are there.
    fn may_go(&mut self, queue: &str) {
        for thing in self.messages_of(queue) {
            if let Some(item) = self.items.get_mut(&thing) {
                item.may_be_gone.get_or_insert(self.step);
            }
        }
    }

    fn purge(&mut self, queue: &str, now: u64, changed: &mut Changed) {
        if self.subscribed.contains(queue) {
            return self.may_go(queue);
        }
        for thing in self.messages_of(queue) {
            // One whose time is over may have gone before: nothing need be said of it.
            match self.items.get(&thing) {
                Some(item) if item.expires <= now => {
                    self.remove(&thing, &mut Changed::default());
                }
                _ => self.remove(&thing, changed),
            }
        }
    }

    fn delete(&mut self, queue: &str, changed: &mut Changed) {
        self.remove(&Thing::Queue(queue.into()), changed);
        for thing in self.messages_of(queue) {
            self.remove(&thing, changed);
            self.go_on(&thing, None, changed);
        }
        let bindings: Vec<Thing> = self.items.keys().cloned().collect();
        for thing in bindings {
            if matches!(&thing, Thing::Binding(_, bound, _) if bound == queue) {
                self.remove(&thing, changed);
            }
        }
    }

    /// Queues that come and go and are there now.
    pub fn comers(&self) -> Vec<String> {
        let queues = self.items.iter().filter_map(|(thing, item)| match thing {
            Thing::Queue(name) if item.is_there() => Some(name),
            _ => None,
        });
        let stays = |name: &str| name == TRANSIENT || QUEUES.contains(&name);
        queues.filter(|name| !stays(name)).cloned().collect()
    }

    /// The keys with which a queue is bound.
    pub fn keys_of(&self, queue: &str) -> Vec<String> {
        let keys = self.items.iter().filter_map(|(thing, item)| match thing {
            Thing::Binding(_, bound, key) if bound == queue && item.is_there() => Some(key),
            _ => None,
        });
        keys.cloned().collect()
    }

    // What is seen.

    fn saw(&mut self, step: Step, thing: &Thing, what: &str) {
        if step > self.seen.0 {
            self.seen = (step, format!("{thing:?} was seen {what} (step {step})"));
        }
    }

    /// A command is completed.
    pub fn completed(&mut self, changed: &Changed) {
        for thing in &changed.removed {
            let Some(item) = self.items.get(thing) else {
                continue;
            };
            // What comes and goes in one step leaves nothing.
            if item.is_durable && item.added != item.removed {
                self.saw(changed.step, thing, "to go");
            }
        }
        for thing in &changed.added {
            let Some(item) = self.items.get(thing) else {
                continue;
            };
            let may_pass = item.may_be_gone == item.added || item.removed == item.added;
            if let Some(added) = item.added
                && item.is_durable
                && !may_pass
            {
                self.saw(added, thing, "to come");
            }
        }
    }

    /// A message came to a connection; `is_left`: it is gone with that. Gives its order.
    pub fn delivered(
        &mut self,
        (queue, uid): &Held,
        is_redelivered: bool,
        holder: Option<u64>,
    ) -> Result<Option<Order>, String> {
        let thing = Thing::Message(queue.clone(), *uid);
        let Some(item) = self.items.get_mut(&thing) else {
            return Err(format!("{thing:?} was delivered and is not there"));
        };
        if !item.is_there() {
            return Err(format!("{thing:?} was delivered and is gone: {item:?}"));
        }
        if item.is_in_branch() {
            return Err(format!(
                "{thing:?} was delivered and a branch has it: {item:?}"
            ));
        }
        if let Some(holder) = item.holder {
            return Err(format!("{thing:?} was delivered and {holder} has it"));
        }
        if item.is_flagged && !is_redelivered {
            return Err(format!("{thing:?} was delivered again without flag"));
        }
        item.holder = holder;
        let order = item.order.filter(|_| !is_redelivered);
        let given_back = item.in_branches.last().and_then(|(_, until)| *until);
        let (added, is_durable) = (item.added.max(given_back), item.is_durable);
        match holder {
            Some(_) if is_durable => self.saw(added.unwrap_or(0), &thing, "delivered"),
            Some(_) => {}
            None => item.is_gone = true,
        }
        Ok(order)
    }

    /// A connection is gone: what it had is given back.
    pub fn disconnected(&mut self, holder: u64) {
        for item in self.items.values_mut() {
            if item.holder == Some(holder) {
                item.holder = None;
                item.is_flagged = true;
            }
        }
    }

    // What is found.

    /// Compares with what was found after the broker ended and started again, at the time `now`. From
    /// then on that is what is there.
    pub fn settle(&mut self, observed: &Observed, now: u64) -> Result<(), String> {
        for (queue, found) in &observed.queues {
            self.judge_queue(queue, found, now)?;
        }
        let mut there = observed.definitions.clone();
        there.extend(observed.branches.iter().cloned().map(Thing::Branch));
        let mut flagged = BTreeSet::new();
        for (queue, found) in &observed.queues {
            for found in found {
                let thing = Thing::Message(queue.clone(), found.uid);
                there.insert(thing.clone());
                if found.is_redelivered {
                    flagged.insert(thing);
                }
            }
        }
        self.judge_steps(&there, now)?;
        self.branches
            .retain(|branch, _| observed.branches.contains(branch));
        let held = self.branches.values().flat_map(|(_, held)| held);
        let held: BTreeSet<Thing> = held
            .map(|(queue, uid)| Thing::Message(queue.clone(), *uid))
            .collect();
        self.items
            .retain(|thing, item| there.contains(thing) || item.is_durable && held.contains(thing));
        for (thing, item) in &mut self.items {
            let is_held = held.contains(thing);
            (item.added, item.removed, item.may_be_gone) = (None, None, None);
            (item.holder, item.is_flagged) = (None, is_held || flagged.contains(thing));
            item.in_branches = is_held.then_some((0, None)).into_iter().collect();
        }
        (self.step, self.seen) = (0, (0, String::new()));
        self.life += 1;
        self.subscribed.clear();
        Ok(())
    }

    fn judge_queue(&self, queue: &str, found: &[Found], now: u64) -> Result<(), String> {
        let mut last = None;
        let mut seen = BTreeSet::new();
        for found in found {
            let thing = Thing::Message(queue.to_owned(), found.uid);
            let Some(item) = self.items.get(&thing) else {
                return Err(format!(
                    "{thing:?} is there, and was never, or was seen to go"
                ));
            };
            if !seen.insert(found.uid) {
                return Err(format!("{thing:?} is there twice"));
            }
            if !found.is_redelivered {
                return Err(format!("{thing:?} is there without the flag"));
            }
            let left = (item.expires != NEVER).then(|| item.expires.saturating_sub(now));
            if left == Some(0) || found.ttl != left {
                return Err(format!(
                    "{thing:?} says that it has {:?} ms left, and has {left:?}",
                    found.ttl
                ));
            }
            if let Some(order) = item.order {
                if last.is_some_and(|last| last >= order) {
                    return Err(format!(
                        "{thing:?} is out of its place: {order:?}, {last:?}"
                    ));
                }
                last = Some(order);
            }
        }
        Ok(())
    }

    /// There must be a step such that what is there is what was there after it.
    fn judge_steps(&self, there: &BTreeSet<Thing>, now: u64) -> Result<(), String> {
        let (mut least, mut least_why) = self.seen.clone();
        let (mut most, mut most_why) = (self.step, "it was the last".to_owned());
        for thing in there {
            let Some(item) = self.items.get(thing) else {
                return Err(format!(
                    "{thing:?} is there, and was never, or was seen to go"
                ));
            };
            if item.is_gone || !item.is_durable {
                return Err(format!("{thing:?} is there and cannot be: {item:?}"));
            }
            if let Some(added) = item.added.filter(|added| *added > least) {
                (least, least_why) = (added, format!("{thing:?} is there: {item:?}"));
            }
            if let Some(removed) = item.removed.filter(|removed| *removed <= most) {
                (most, most_why) = (removed - 1, format!("{thing:?} is there: {item:?}"));
            }
        }
        if least > most {
            return Err(format!(
                "steps to {least} are there, for {least_why}; and not beyond {most}, for {most_why}"
            ));
        }
        let mut forbidden: Vec<(Range<Step>, &Thing)> = Vec::new();
        for (thing, item) in &self.items {
            let may_be_gone = item.is_gone || !item.is_durable || item.expires <= now;
            if there.contains(thing) {
                forbidden.extend(item.hidden().map(|range| (range, thing)));
                continue;
            }
            if may_be_gone {
                continue;
            }
            let until = item.removed.into_iter().chain(item.may_be_gone).min();
            let (from, until) = (item.added.unwrap_or(0), until.unwrap_or(Step::MAX));
            let shown = item.shown(from, until).into_iter();
            forbidden.extend(shown.map(|range| (range, thing)));
        }
        let is_lost = |step: Step| forbidden.iter().find(|(range, _)| range.contains(&step));
        match (least..=most).find(|step| is_lost(*step).is_none()) {
            Some(_) => Ok(()),
            None => {
                let (_, thing) = is_lost(most).expect("it was found to be");
                let item = &self.items[*thing];
                Err(format!(
                    "{thing:?} is lost, or is there and a branch has it: {item:?}; steps to {least} are there, for {least_why}; \
                     {} things are missed, {} steps were taken",
                    forbidden.len(),
                    self.step
                ))
            }
        }
    }
}
