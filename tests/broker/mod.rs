//! A broker's core, its members, connections and sessions, as the tests of the core speak of them.
//!
//! Every entry is applied by two cores: one as it is, and one that has it from encoded bytes and is
//! itself replaced, every few entries, by what its snapshot gives. Both must ask for the same
//! effects and end in the same state, whatever a test is about. Only the first gathers facts; at the
//! end of the test a core recovered from them is in the same state as far as it is durable.

// Each test binary uses a part of it.
#![allow(dead_code)]

pub mod actors;
pub mod agent;
pub mod durable;
pub mod linking;
pub mod managing;
pub mod scenes;
#[path = "../wire_support/seeded.rs"]
pub mod seeded;
pub mod session;
pub mod told;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use bytes::Bytes;
use ferrymq::broker::command::ConnectionDetails;
use ferrymq::broker::encoding::{Decoder, Encoder, Record};
use ferrymq::broker::facts::FactRecord;
use ferrymq::broker::ids::{
    ChannelKey, ConnectionKey, ConnectionNumber, GroupTime, MemberId, ShardId,
};
use ferrymq::broker::message::Message;
use ferrymq::broker::{
    Applied, Batch, Command, ConnectionRecord, Core, Delivery, Effect, Options, Origin, Out,
};
use ferrymq::wire::header;
use ferrymq::wire::{
    CommandId, DeliveryProperties, Map, MessageProperties, SequenceSet, Struct32, Value,
};

pub use session::Session;
pub use told::Told;

/// Entries between two replacements of the second core; more in a long test.
const REPLACED_EVERY: u64 = 5;

/// The member that tests use when it does not matter which.
pub const MEMBER: MemberId = MemberId(1);

/// What is behind all handles of a test.
struct Inner {
    core: Core,
    replaced: Core,
    epochs: BTreeMap<MemberId, (u64, u64)>,
    connections: u32,
    /// What each channel was told and has not been asked for, with the id its next command must have;
    /// None when the session has just been resumed.
    told: BTreeMap<(ConnectionKey, u16), (Option<u32>, Vec<Told>)>,
    /// Commands of one entry in the making.
    gathering: Option<(MemberId, Vec<Command>)>,
    is_work_held: bool,
    continued: u64,
    compares: bool,
    /// What must survive, from the first batch on.
    facts: Vec<FactRecord>,
    recovers: bool,
    options: Options,
}

/// A core that a test drives. Cloned handles drive the same core.
#[derive(Clone)]
pub struct Broker(Rc<RefCell<Inner>>);

impl Broker {
    pub fn new() -> Broker {
        Broker::with(Options::default())
    }

    pub fn with(options: Options) -> Broker {
        let core = Core::new(ShardId(0), options.clone());
        Broker::of(core, Vec::new(), options)
    }

    /// A core that goes on where facts end.
    fn of(core: Core, facts: Vec<FactRecord>, options: Options) -> Broker {
        Broker(Rc::new(RefCell::new(Inner {
            replaced: core.clone(),
            core,
            epochs: BTreeMap::new(),
            connections: 0,
            told: BTreeMap::new(),
            gathering: None,
            is_work_held: false,
            continued: 0,
            compares: true,
            facts,
            recovers: true,
            options,
        })))
    }

    /// The facts so far.
    pub fn facts(&self) -> Vec<FactRecord> {
        self.0.borrow().facts.clone()
    }

    /// Keeps other facts from here on: what a journal makes of those so far.
    pub fn keep_facts(&self, facts: Vec<FactRecord>) {
        self.0.borrow_mut().facts = facts;
    }

    /// The broker that starts anew with these facts, after so many milliseconds. Work is held.
    pub fn restarted_with(&self, facts: Vec<FactRecord>, elapsed: u64) -> Broker {
        let options = self.0.borrow().options.clone();
        let core = durable::recovered(&facts, &options, elapsed);
        let broker = Broker::of(core, facts, options);
        broker.0.borrow_mut().recovers = self.0.borrow().recovers;
        broker.hold_work();
        broker
    }

    /// The broker that starts anew.
    pub fn restarted(&self) -> Broker {
        self.restarted_with(self.facts(), 0)
    }

    /// Does the work that is left, and goes on doing so.
    pub fn work(&self) {
        let mut inner = self.0.borrow_mut();
        inner.is_work_held = false;
        inner.work_on();
    }

    /// A session on a connection of its own with room for everything.
    pub fn session(&self, name: &str) -> Session {
        self.connection().session(name)
    }

    /// A connection of [`MEMBER`] with room for everything.
    pub fn connection(&self) -> Connection {
        self.connection_with(MEMBER, u32::MAX, u64::MAX)
    }

    /// A connection with so much headroom.
    pub fn connection_with(&self, member: MemberId, messages: u32, bytes: u64) -> Connection {
        self.open("guest", member, messages, bytes)
    }

    /// A connection of another user.
    pub fn connection_of(&self, user: &str) -> Connection {
        self.open(user, MEMBER, u32::MAX, u64::MAX)
    }

    /// A connection's number that the core has not heard of.
    pub fn unopened(&self, member: MemberId) -> Connection {
        let mut inner = self.0.borrow_mut();
        inner.connections += 1;
        let number = ConnectionNumber(inner.connections);
        Connection {
            broker: self.clone(),
            key: ConnectionKey { member, number },
        }
    }

    fn open(&self, user: &str, member: MemberId, messages: u32, bytes: u64) -> Connection {
        let connection = self.unopened(member);
        let number = connection.key.number;
        let record = ConnectionRecord {
            peer: "peer".into(),
            user: user.into(),
            client_properties: Map::new(),
            headroom_messages: messages,
            headroom_bytes: bytes,
        };
        let command = Command::ConnectionOpen {
            connection: number,
            record: Box::new(record),
        };
        self.entry(member, vec![command]);
        connection
    }

    /// Lets the commands that `make` gives stand in one entry.
    pub fn in_one_entry(&self, make: impl FnOnce()) {
        self.0.borrow_mut().gathering = Some((MEMBER, Vec::new()));
        make();
        let gathered = self.0.borrow_mut().gathering.take();
        let (member, commands) = gathered.expect("the test gathers once");
        self.entry(member, commands);
    }

    /// As above, or as part of the entry that is in the making.
    pub fn together(&self, make: impl FnOnce()) {
        let is_gathering = self.0.borrow().gathering.is_some();
        match is_gathering {
            true => make(),
            false => self.in_one_entry(make),
        }
    }

    /// Applies commands of a member as one entry, and what work is left behind it.
    pub fn entry(&self, member: MemberId, commands: Vec<Command>) {
        let mut inner = self.0.borrow_mut();
        if let Some((gathering, gathered)) = &mut inner.gathering {
            *gathering = member;
            gathered.extend(commands);
            return;
        }
        let (epoch, seq) = inner.epochs.entry(member).or_insert((1, 0));
        *seq += 1;
        let origin = Origin::Member {
            id: member,
            epoch: *epoch,
            seq: *seq,
        };
        let answer = inner.apply(origin, commands, 0);
        assert_eq!(answer, Applied::Done);
        if !inner.is_work_held {
            inner.work_on();
        }
    }

    /// Applies an entry whose origin the test makes up.
    pub fn entry_from(&self, origin: Origin, commands: Vec<Command>) -> Applied {
        self.0.borrow_mut().apply(origin, commands, 0)
    }

    /// The sequencer gives an entry.
    pub fn sequencer(&self, command: Command) {
        let mut inner = self.0.borrow_mut();
        inner.apply(Origin::Sequencer, vec![command], 0);
        if !inner.is_work_held {
            inner.work_on();
        }
    }

    /// Lets group time pass, with an empty entry.
    pub fn pass(&self, milliseconds: u64) {
        self.0
            .borrow_mut()
            .apply(Origin::Sequencer, Vec::new(), milliseconds);
    }

    /// From now on work that is left stays until [`Broker::continue_once`].
    pub fn hold_work(&self) {
        self.0.borrow_mut().is_work_held = true;
    }

    /// Does one `Continue` entry. False when nothing was left to do.
    pub fn continue_once(&self) -> bool {
        let mut inner = self.0.borrow_mut();
        let has_work = inner.core.wants().work;
        if has_work {
            inner.continue_once();
        }
        has_work
    }

    /// How many `Continue` entries there have been.
    pub fn continued(&self) -> u64 {
        self.0.borrow().continued
    }

    /// Two cores are not compared in what follows: it is about size.
    pub fn without_comparing(self) -> Broker {
        self.0.borrow_mut().compares = false;
        self
    }

    /// The test itself sees to what is recovered from facts.
    pub fn without_recovering(self) -> Broker {
        self.0.borrow_mut().recovers = false;
        self
    }

    /// Looks into the core.
    pub fn core<T>(&self, look: impl FnOnce(&Core) -> T) -> T {
        look(&self.0.borrow().core)
    }

    /// Another core takes over, which has all that it knows from this one's snapshot.
    pub fn take_over(&self) {
        let core = self.core(|core| core.freeze().encode().decode());
        self.0.borrow_mut().core = core.expect("a snapshot");
    }

    /// Does something with the core that is no entry of the order.
    pub fn core_mut<T>(&self, act: impl FnOnce(&mut Core) -> T) -> T {
        act(&mut self.0.borrow_mut().core)
    }

    /// Ends the member's present epoch in the order and begins its next.
    pub fn begin_epoch(&self, member: MemberId, epoch: u64) {
        self.0.borrow_mut().epochs.insert(member, (epoch, 0));
    }

    pub fn take_told(&self, key: ConnectionKey, channel: u16) -> Vec<Told> {
        let mut inner = self.0.borrow_mut();
        let (_, told) = inner.told.entry((key, channel)).or_default();
        std::mem::take(told)
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        if self.compares && !std::thread::panicking() {
            self.compare();
            if self.recovers {
                let recovered = durable::recovered(&self.facts, &self.options, 0);
                durable::assert_same(&self.core, &recovered);
            }
        }
    }
}

impl Inner {
    fn apply(&mut self, origin: Origin, commands: Vec<Command>, after: u64) -> Applied {
        let mut batch = Batch {
            shard: ShardId(0),
            index: self.core.index() + 1,
            time: GroupTime(self.core.time().0.saturating_add(after)),
            origin,
            commands,
        };
        let mut out = Out {
            wants_facts: self.compares,
            ..Out::default()
        };
        let answer = if self.compares {
            let mut same = carried(&batch);
            assert_eq!(same, batch, "a batch is what its bytes give");
            let answer = self.core.apply(&mut batch, &mut out);
            let mut same_out = Out::default();
            assert_eq!(self.replaced.apply(&mut same, &mut same_out), answer);
            assert_same(&same_out, &out);
            assert!(same_out.facts.is_empty(), "facts that nobody wants");
            let every = REPLACED_EVERY * (1 + self.core.index() / 100);
            if self.core.index().is_multiple_of(every) {
                self.compare();
                self.replaced = self
                    .replaced
                    .freeze()
                    .encode()
                    .decode()
                    .expect("a snapshot");
                self.compare();
            }
            answer
        } else {
            self.core.apply(&mut batch, &mut out)
        };
        if !out.facts.is_empty() {
            let facts = std::mem::take(&mut out.facts);
            self.facts
                .push(durable::carried(&self.core.record_of(facts)));
        }
        for (key, effect) in out.effects {
            self.tell(key, effect);
        }
        answer
    }

    fn compare(&self) {
        assert_eq!(
            self.core.digest(),
            self.replaced.digest(),
            "two members are in other states"
        );
    }

    fn continue_once(&mut self) {
        self.continued += 1;
        self.apply(Origin::Sequencer, vec![Command::Continue], 0);
    }

    fn work_on(&mut self) {
        let most = self.continued + 100_000;
        while self.core.wants().work {
            self.continue_once();
            assert!(self.continued < most, "work that never ends");
        }
    }

    /// Keeps what a channel is told, and checks that the broker's commands are numbered one by one.
    fn tell(&mut self, key: ConnectionKey, effect: Effect) {
        let (channel, told, id) = Told::of(effect);
        let (next, list) = self.told.entry((key, channel)).or_default();
        let (mut first, mut last) = (id, id);
        match &told {
            Told::Attached => *next = Some(0),
            Told::Resumed(_) => *next = None,
            Told::Gap(commands) => (first, last) = (commands.first(), commands.last()),
            _ => {}
        }
        if let (Some(first), Some(last)) = (first, last) {
            let is_due = next.is_none_or(|next| first == CommandId(next));
            assert!(is_due, "the broker skips or repeats a number: {first}");
            *next = Some(last.next().0);
        }
        list.push(told);
    }
}

/// Both members ask for the same effects.
fn assert_same(one: &Out, other: &Out) {
    assert_eq!(one.effects.len(), other.effects.len());
    for (one, other) in one.effects.iter().zip(&other.effects) {
        let is_same = match (&one.1, &other.1) {
            (Effect::Deliver(one), Effect::Deliver(other)) => {
                let parts = |of: &Delivery| (of.channel, of.id, of.redelivered, of.ttl, of.sync);
                parts(one) == parts(other)
                    && one.subscription == other.subscription
                    && one.message == other.message
            }
            (one, other) => format!("{one:?}") == format!("{other:?}"),
        };
        assert!(
            is_same && one.0 == other.0,
            "two members ask for other effects: {one:?}, {other:?}"
        );
    }
}

/// A batch from its bytes.
fn carried(batch: &Batch) -> Batch {
    let mut bytes = Encoder::default();
    batch.encode(&mut bytes);
    let mut decoder = Decoder::new(&bytes.bytes);
    let batch = Batch::decode(&mut decoder).expect("a batch can be read back");
    assert!(decoder.is_at_end());
    batch
}

/// A connection.
#[derive(Clone)]
pub struct Connection {
    pub broker: Broker,
    pub key: ConnectionKey,
}

impl Connection {
    /// It is a link's from now on, perhaps of this broker.
    pub fn is_of_link(&self, is_outgoing: bool) {
        let details = ConnectionDetails {
            is_link: true,
            is_outgoing,
            ..ConnectionDetails::default()
        };
        let command = Command::ConnectionDetails {
            connection: self.key.number,
            details: Box::new(details),
        };
        self.broker.entry(self.key.member, vec![command]);
    }

    /// Attaches a session on the lowest free channel; the core must allow it.
    pub fn session(&self, name: &str) -> Session {
        let channel = {
            let inner = self.broker.0.borrow();
            let used = |channel: &u16| inner.told.contains_key(&(self.key, *channel));
            (1..)
                .find(|channel| !used(channel))
                .expect("a free channel")
        };
        let session = self.attach(channel, name, false);
        assert_eq!(session.told(), [Told::Attached]);
        session
    }

    /// Asks for a session on a channel; the answer is among what it is told.
    pub fn attach(&self, channel: u16, name: &str, force: bool) -> Session {
        let command = Command::Attach {
            at: self.at(channel),
            name: name.as_bytes().to_vec(),
            force,
        };
        self.broker.entry(self.key.member, vec![command]);
        Session::new(self.clone(), channel)
    }

    /// The socket has taken so much.
    pub fn drained(&self, messages: u32, bytes: u64) {
        let command = Command::Headroom {
            connection: self.key.number,
            messages,
            bytes,
        };
        self.broker.entry(self.key.member, vec![command]);
    }

    /// The member can hold so many octets for it.
    pub fn holds(&self, bytes: u64) {
        let connection = self.key.number;
        let command = Command::HeadroomMax { connection, bytes };
        self.broker.entry(self.key.member, vec![command]);
    }

    /// The connection is gone.
    pub fn end(&self) {
        let command = Command::ConnectionEnd {
            connection: self.key.number,
        };
        self.broker.entry(self.key.member, vec![command]);
    }

    pub fn at(&self, channel: u16) -> ChannelKey {
        ChannelKey {
            connection: self.key.number,
            channel,
        }
    }
}

/// A message that has not been published.
pub struct Draft {
    pub header: Option<Vec<u8>>,
    pub body: Option<Vec<Bytes>>,
}

impl Draft {
    /// With application headers behind the delivery properties.
    pub fn with_headers(mut self, headers: &[(&str, Value)]) -> Draft {
        if let Some(header) = &mut self.header {
            header.extend_from_slice(&message_properties(headers));
        }
        self
    }

    /// As it is when it has been published to an exchange.
    pub fn published(self, exchange: &str) -> Message {
        Message::new(self.header.as_deref(), self.body.as_deref(), exchange)
            .expect("a sound header")
    }
}

/// A message with a routing key.
pub fn message(key: &str, body: &str) -> Draft {
    message_with(key, body, |_| {})
}

/// A message whose delivery properties the test changes.
pub fn message_with(key: &str, body: &str, change: impl FnOnce(&mut DeliveryProperties)) -> Draft {
    let mut delivery = DeliveryProperties {
        routing_key: Some(key.into()),
        ..Default::default()
    };
    change(&mut delivery);
    let mut header = Vec::new();
    header::encode(&Some(delivery), &[], &mut header);
    Draft {
        header: Some(header),
        body: Some(vec![Bytes::copy_from_slice(body.as_bytes())]),
    }
}

/// A message with application headers.
pub fn message_with_headers(key: &str, body: &str, headers: &[(&str, Value)]) -> Draft {
    message(key, body).with_headers(headers)
}

fn message_properties(headers: &[(&str, Value)]) -> Vec<u8> {
    let properties = MessageProperties {
        application_headers: Some(headers.iter().cloned().collect()),
        ..Default::default()
    };
    let packed = Struct32::of(&properties);
    let mut bytes = (packed.bytes.len() as u32 + 2).to_be_bytes().to_vec();
    bytes.extend_from_slice(&packed.code.to_be_bytes());
    bytes.extend_from_slice(&packed.bytes);
    bytes
}

/// A set of the ids given.
pub fn ids(ids: impl IntoIterator<Item = u32>) -> SequenceSet {
    let mut set = SequenceSet::new();
    for id in ids {
        set.insert(CommandId(id));
    }
    set
}

/// A set of one range.
pub fn range(first: u32, last: u32) -> SequenceSet {
    SequenceSet::from_range(CommandId(first), CommandId(last))
}
