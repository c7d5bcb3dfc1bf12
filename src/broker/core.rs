//! The state of one shard, and `apply`: the one way in which it changes.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::hash::{Hash, Hasher};

use super::branch::{Acquired, Branches};
use super::command::{Batch, Command, Origin};
use super::connections::{Connection, Connections};
use super::dead::DeadCounters;
use super::effect::{Applied, Out, Wants};
use super::encoding::{Decoder, Encoder, EncodingError, Record, record, record_enum};
use super::event::Event;
use super::exchanges::{Exchange, standard_exchanges};
use super::facts::Gathered;
use super::failover::Failover;
use super::held::Held;
use super::ids::{
    ConnectionKey, ExchangeId, GroupTime, MemberId, QueueId, QueueKey, QueueRef, SessionId, ShardId,
};
use super::kept::Detached;
use super::level::Level;
use super::limits;
use super::links::{LinkNewsOf, Links};
use super::makers::Makers;
use super::management::{Agents, Requester, Taking, WallTime};
use super::members::Members;
use super::message::BodyHandle;
use super::options::Options;
use super::parts::Parts;
use super::plant::{Plant, is_planted};
use super::queue::flow::HeldTransfer;
use super::queue::{Queue, QueueCounters, Remains};
use super::redirects::Redirects;
use super::replication::Replication;
use super::seen::Seen;
use super::session::{Session, SessionName};
use super::slab::Slab;
use super::subscription::{Subscription, SubscriptionRef};
use super::width::Width;
use super::xml::XmlPublishing;
use crate::wire::Text;

/// What was last taken from a member.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct OriginState {
    /// The epoch that is open.
    pub epoch: u64,
    /// The last batch taken of it.
    pub seq: u64,
    /// Epochs up to this one are closed.
    pub closed: u64,
}
record!(OriginState { epoch, seq, closed });

/// Work that goes on in `Continue` entries.
#[derive(Clone, Debug, Hash)]
pub enum Work {
    /// A queue has messages and subscriptions that want them.
    Dispatch(QueueRef),
    /// A session's messages are given back; then it is gone.
    EndSession(SessionId),
    /// Messages that have left their queue are rerouted or freed.
    Reroute(Box<Remains>),
    /// A queue is searched for messages whose time has run out, from a position on.
    Expire(QueueRef, u64),
    /// A ring holds more than its limit: messages leave it.
    Evict(QueueRef),
    /// A queue's time to go has come.
    Depart(QueueRef),
    /// Messages that a branch accepted are given back.
    GiveBack(VecDeque<Acquired>),
    /// A session is sent again what its client may not have.
    Replay(SessionId),
    /// Messages are taken out of a queue.
    Take(Box<Taking>),
}
record_enum!(Work {
    0 = Dispatch(queue),
    1 = EndSession(session),
    2 = Reroute(remains),
    3 = Expire(queue, position),
    4 = Evict(queue),
    5 = Depart(queue),
    6 = GiveBack(accepted),
    8 = Replay(session),
    9 = Take(taking),
});

/// Plain counters of the whole core.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Counters {
    /// Messages that no queue and no alternate exchange took.
    pub discards_no_route: u64,
    /// Commands applied.
    pub commands: u64,
    /// Messages that came into queues, in each by itself.
    pub enqueues: u64,
    /// Messages that died in any queue and went to its alternate exchange.
    pub dead: DeadCounters,
    /// Copies of messages that died and that did not come to a queue, since they had died in it by
    /// themselves before, or in too many.
    pub discards_dead: u64,
    /// Messages that came over a link and had come before.
    pub duplicates: u64,
    /// What queues that are no more had counted.
    pub deleted_queues: QueueCounters,
    /// Messages that were left in queues when these were deleted, and were gone with them.
    pub abandoned: u64,
    /// The same, that went to the alternate exchange.
    pub abandoned_to_alternate: u64,
}
record!(Counters {
    discards_no_route,
    commands,
} since 2 {
    enqueues = 0,
    dead = DeadCounters::default(),
    discards_dead = 0,
} since 3 {
    duplicates = 0,
    deleted_queues = QueueCounters::default(),
    abandoned = 0,
    abandoned_to_alternate = 0,
});

/// Buffers of one `apply`, empty between two: not state.
#[derive(Clone, Debug, Default)]
pub(super) struct Scratch {
    /// What is left of the entry's work.
    pub steps: u32,
    /// Whether work is being done: it does not nest.
    pub is_working: bool,
    /// Queues matched by a route.
    pub matched: Vec<QueueId>,
    /// Subscriptions whose queue has been deleted, and that are to be looked at.
    pub orphans: Vec<SubscriptionRef>,
    /// Sessions that have something to tell at the end of the batch.
    pub telling: Vec<SessionId>,
    /// The session that was looked up last.
    pub last: Option<(ConnectionKey, u16, SessionId)>,
    /// The next body's handle in this entry.
    pub handle: BodyHandle,
    /// How many messages the core has made in this entry.
    pub made: u32,
    /// What the batch decided that must survive.
    pub facts: Gathered,
    /// Exchanges that have numbered messages.
    pub numbering: BTreeSet<ExchangeId>,
    /// The transfer at hand, for queues that hold it back.
    pub transfer: Option<HeldTransfer>,
    /// While a transfer in a transaction is routed: exchanges that will keep it as their last.
    pub last_of: Option<Vec<Text>>,
    /// For whom the command at hand is done.
    pub acting: Acting,
    /// What has happened that management tells of.
    pub happened: Vec<Event>,
    /// Which bindings of its key the transfer at hand matches, when it is to an xml exchange.
    pub matching: Vec<u32>,
    /// What owners of links are to be told.
    pub link_news: LinkNewsOf,
}

/// For whom a command is done.
#[derive(Clone, Debug, Default)]
pub(super) enum Acting {
    /// Nobody: what goes on by itself.
    #[default]
    Nobody,
    /// A session.
    Session(SessionId),
    /// Whoever asked an agent for it.
    Requester(Requester),
}

impl Hash for Scratch {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

impl Record for Scratch {
    fn encode(&self, _: &mut Encoder) {}
    fn decode(_: &mut Decoder<'_>) -> Result<Self, EncodingError> {
        Ok(Scratch::default())
    }
}

/// The core. See the module `broker`.
#[derive(Clone, Debug, Hash)]
pub struct Core {
    pub(super) shard: ShardId,
    pub(super) index: u64,
    pub(super) time: GroupTime,
    pub(super) options: Options,
    pub(super) origins: BTreeMap<MemberId, OriginState>,
    pub(super) ports: BTreeMap<ShardId, u64>,
    pub(super) exchanges: Slab<Exchange>,
    pub(super) exchange_names: BTreeMap<Text, ExchangeId>,
    pub(super) queues: Slab<Queue>,
    pub(super) queue_names: BTreeMap<Text, QueueId>,
    /// Durable queues by their names in facts.
    pub(super) queue_keys: BTreeMap<QueueKey, QueueId>,
    pub(super) connections: Connections,
    pub(super) sessions: Slab<Session>,
    pub(super) session_names: BTreeMap<SessionName, SessionId>,
    pub(super) subscriptions: Slab<Subscription>,
    /// Counts queues and subscriptions ever made, so that a reused slot is told apart.
    pub(super) incarnations: u64,
    pub(super) work: VecDeque<Work>,
    /// When expired messages are next searched for.
    pub(super) purge_due: GroupTime,
    pub(super) counters: Counters,
    /// What messages take of the memory.
    pub(super) held: Held,
    pub(super) scratch: Scratch,
    /// Large messages that have come in part.
    pub(super) parts: Parts,
    /// When queues that nobody uses go.
    pub(super) departures: BTreeSet<(GroupTime, QueueRef)>,
    /// Branches of distributed transactions.
    pub(super) branches: Branches,
    /// Sessions that wait without a connection.
    pub(super) detached: Detached,
    /// Agents of management.
    pub(super) agents: Agents,
    /// To how many queues messages went of late.
    pub(super) width: Width,
    /// What is known of publishing to xml exchanges.
    pub(super) xml: XmlPublishing,
    /// Queues that are redirected.
    pub(super) redirects: Redirects,
    /// Who made queues, where quotas count them.
    pub(super) makers: Makers,
    /// Where clients find the members.
    pub(super) failover: Failover,
    /// Who they are.
    pub(super) members: Members,
    /// What all of them can do.
    pub(super) level: Level,
    /// Links to other brokers.
    pub(super) links: Links,
    /// What has come over them.
    pub(super) seen: Seen,
    /// What became of events of queues.
    pub(super) replication: Replication,
}
record!(Core {
    shard,
    index,
    time,
    options,
    origins,
    ports,
    exchanges,
    exchange_names,
    queues,
    queue_names,
    queue_keys,
    connections,
    sessions,
    session_names,
    subscriptions,
    incarnations,
    work,
    purge_due,
    counters,
    held,
    scratch,
    parts,
} since 2 {
    departures = BTreeSet::new(),
    branches = Branches::default(),
    detached = Detached::default(),
} since 3 {
    agents = Agents::default(),
    width = Width::default(),
    xml = XmlPublishing::default(),
    redirects = Redirects::default(),
    makers = Makers::default(),
    failover = Failover::default(),
    members = Members::default(),
    level = Level::FIRST,
    links = Links::default(),
    seen = Seen::default(),
    replication = Replication::default(),
});

impl Core {
    /// The core of a new shard: the standard exchanges and nothing else.
    pub fn new(shard: ShardId, options: Options) -> Core {
        let mut core = Core {
            shard,
            index: 0,
            time: GroupTime(0),
            purge_due: purge_due(GroupTime(0), &options),
            options,
            origins: BTreeMap::new(),
            ports: BTreeMap::new(),
            exchanges: Slab::default(),
            exchange_names: BTreeMap::new(),
            queues: Slab::default(),
            queue_names: BTreeMap::new(),
            queue_keys: BTreeMap::new(),
            connections: Connections::default(),
            sessions: Slab::default(),
            session_names: BTreeMap::new(),
            subscriptions: Slab::default(),
            incarnations: 0,
            work: VecDeque::new(),
            counters: Counters::default(),
            held: Held::default(),
            scratch: Scratch::default(),
            parts: Parts::default(),
            departures: BTreeSet::new(),
            branches: Branches::default(),
            detached: Detached::default(),
            agents: Agents::default(),
            width: Width::default(),
            xml: XmlPublishing::default(),
            redirects: Redirects::default(),
            makers: Makers::default(),
            failover: Failover::default(),
            members: Members::default(),
            level: Level::FIRST,
            links: Links::default(),
            seen: Seen::default(),
            replication: Replication::default(),
        };
        for exchange in standard_exchanges() {
            core.add_exchange(exchange);
        }
        core
    }

    /// Puts an exchange into the world.
    pub(super) fn add_exchange(&mut self, exchange: Exchange) -> ExchangeId {
        let (name, alternate) = (exchange.name.clone(), exchange.alternate);
        self.xml.note_exchange(&exchange.kind);
        let id = ExchangeId(self.exchanges.insert(exchange));
        self.exchange_names.insert(name, id);
        self.use_as_alternate(alternate);
        id
    }

    /// Puts a queue into the world: its reference is given its slot.
    pub(super) fn add_queue(&mut self, queue: Queue) -> QueueId {
        let (name, key, alternate) = (queue.name.clone(), queue.reference.key(), queue.alternate);
        let is_durable = queue.is_durable;
        let id = QueueId(self.queues.insert(queue));
        self.queue_mut(id).reference.id = id;
        self.queue_names.insert(name, id);
        if is_durable {
            self.queue_keys.insert(key, id);
        }
        self.use_as_alternate(alternate);
        id
    }

    fn use_as_alternate(&mut self, exchange: Option<ExchangeId>) {
        if let Some(exchange) = exchange {
            self.exchange_mut(exchange).alternate_users += 1;
        }
    }

    /// The name of an exchange that is durable.
    pub(super) fn durable_name(&self, exchange: Option<ExchangeId>) -> Option<Text> {
        let exchange = self.exchanges.get(exchange?.0)?;
        exchange.is_durable.then(|| exchange.name.clone())
    }

    /// The index of the entry applied last; 0 for none.
    pub fn index(&self) -> u64 {
        self.index
    }

    /// Group time of the entry applied last.
    pub fn time(&self) -> GroupTime {
        self.time
    }

    /// The batch of `member`'s epoch `epoch` that was taken last: from the next one on a proposer
    /// sends again.
    pub fn last_seq(&self, member: MemberId, epoch: u64) -> u64 {
        self.origins
            .get(&member)
            .filter(|o| o.epoch == epoch)
            .map_or(0, |o| o.seq)
    }

    /// The highest epoch of `member` that the core knows of, open or closed; 0 for none. One that
    /// starts anew takes a higher one.
    pub fn last_epoch(&self, member: MemberId) -> u64 {
        let known = self.origins.get(&member);
        known.map_or(0, |origin| origin.epoch.max(origin.closed))
    }

    /// Group time goes on from here.
    pub(super) fn go_on_at(&mut self, time: GroupTime) {
        self.time = time;
        self.purge_due = purge_due(time, &self.options);
    }

    /// All definitions count as made at this moment, as in qpidd after a start: when they were is not kept.
    pub(super) fn made_now(&mut self) {
        let now = self.time;
        let queues: Vec<QueueId> = self.queue_names.values().copied().collect();
        for id in queues {
            if let Some(queue) = self.queues.get_mut(id.0) {
                queue.created = now;
            }
        }
        let exchanges: Vec<ExchangeId> = self.exchange_names.values().copied().collect();
        for id in exchanges {
            if let Some(exchange) = self.exchanges.get_mut(id.0) {
                exchange.created = now;
            }
        }
    }

    /// What the wall clock shows now, for a core that goes on where another has left off: it is no
    /// command that says so.
    pub fn set_wall(&mut self, now: WallTime) {
        self.agents.set_wall(self.time, now);
    }

    /// Plain counters of the whole core, read by management.
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// Commands that whoever proposes puts into one batch, so that it stays bounded though each of them may
    /// publish to every queue, and small when of late each came to many: at most [`limits::BATCH_COMMANDS_MAX`].
    pub fn commands_max(&self) -> usize {
        let most = limits::BATCH_PLACES_MAX / self.queue_count().max(1);
        most.clamp(1, self.width.commands_max())
    }

    /// Messages that have come into queues, in each by itself, as long as there is this core: what most of
    /// an entry's work goes with.
    pub fn enqueue_count(&self) -> u64 {
        self.counters.enqueues
    }

    /// How many queues there are.
    pub fn queue_count(&self) -> usize {
        self.queues.len()
    }

    /// The queue of a name, to be looked at.
    pub fn queue_of_name(&self, name: &str) -> Option<&Queue> {
        self.queues.get(self.queue_names.get(name)?.0)
    }

    /// How many connections there are.
    pub fn connection_count(&self) -> usize {
        self.connections.len()
    }

    /// How many sessions wait without a connection.
    pub fn detached_count(&self) -> usize {
        self.detached.len()
    }

    /// How many messages queues hold, those that several hold counted for each.
    pub fn message_count(&self) -> u64 {
        let queues = self.queues.iter();
        queues.map(|(_, queue)| queue.entries.len()).sum()
    }

    /// Octets of large messages that have come in part.
    pub fn parts_bytes(&self) -> u64 {
        self.parts.bytes()
    }

    /// How many branches of distributed transactions there are, and how many of them are prepared.
    pub fn branch_counts(&self) -> (usize, usize) {
        (self.branches.len(), self.branches.prepared().count())
    }

    /// What the core wants of its sequencer.
    pub fn wants(&self) -> Wants {
        let departure = self.departures.first();
        let departure = departure.map_or(GroupTime::NEVER, |(due, _)| *due);
        let deadline = self.purge_due.min(departure);
        let deadline = deadline.min(self.branches.deadline());
        Wants {
            work: !self.work.is_empty() || !self.agents.untold.is_empty(),
            deadline: deadline.min(self.detached.deadline()),
        }
    }

    /// Changes the state by one entry. `batch.index` is one more than the last, `batch.time` not
    /// before the last: the group sees to both. The commands are taken out of the batch, so that
    /// its buffer can be used again; what is to be told comes out in `out`, behind what is there.
    pub fn apply(&mut self, batch: &mut Batch, out: &mut Out) -> Applied {
        assert_eq!(
            batch.index,
            self.index + 1,
            "the group gives entries one by one"
        );
        assert!(batch.time >= self.time, "group time never goes back");
        self.index = batch.index;
        self.time = batch.time;
        self.scratch.steps = limits::WORK_PER_ENTRY_MAX;
        self.scratch.last = None;
        self.scratch.made = 0;
        let tells_changes = self.options.events_to.is_anywhere();
        self.scratch.facts.begin(out.wants_facts, tells_changes);
        out.rests_on_facts = false;
        let (commands, enqueues) = (batch.commands.len() as u64, self.counters.enqueues);
        let answer = self.take_origin(batch.origin, out);
        if answer != Applied::Done {
            batch.commands.clear();
        }
        let member = match batch.origin {
            Origin::Member { id, .. } => id,
            Origin::Port { .. } | Origin::Sequencer => MemberId::default(),
        };
        for (n, command) in batch.commands.drain(..).enumerate() {
            self.scratch.handle = BodyHandle {
                shard: self.shard,
                index: self.index,
                n: n as u32,
            };
            self.counters.commands += 1;
            self.scratch.acting = Acting::Nobody;
            self.apply_command(member, command, out);
            if self.scratch.facts.has_touched() {
                self.see_to_touched(out);
            }
        }
        // Sessions that ended with their member, or with a queue, have touched some, too. Nothing of
        // that may be left for the next entry: it is in no snapshot.
        self.see_to_touched(out);
        self.scratch.acting = Acting::Nobody;
        self.fail_orphans(out);
        self.see_to_touched(out);
        if !self.scratch.happened.is_empty() || !self.agents.untold.is_empty() {
            self.tell_events(out);
        }
        self.tell_owners_of_links(out);
        self.tell(out);
        if !self.scratch.numbering.is_empty() {
            self.say_sequences();
        }
        self.width.note(commands, self.counters.enqueues - enqueues);
        self.scratch.facts.finish(&self.queues, &mut out.facts);
        answer
    }

    fn take_origin(&mut self, origin: Origin, out: &mut Out) -> Applied {
        match origin {
            Origin::Sequencer => Applied::Done,
            Origin::Port { shard, seq } => take_next(self.ports.entry(shard).or_insert(0), seq),
            Origin::Member { id, epoch, seq } => {
                let state = *self.origins.entry(id).or_default();
                if epoch <= state.closed || epoch < state.epoch {
                    return Applied::Stale;
                }
                if epoch > state.epoch {
                    // The member has started anew: what its former self held is gone.
                    self.end_member(id, out);
                    let fresh = OriginState {
                        epoch,
                        seq: 0,
                        closed: state.closed,
                    };
                    self.origins.insert(id, fresh);
                }
                let state = self.origins.entry(id).or_default();
                take_next(&mut state.seq, seq)
            }
        }
    }

    fn apply_command(&mut self, member: MemberId, command: Command, out: &mut Out) {
        let key = |number| ConnectionKey { member, number };
        match command {
            Command::Session {
                at,
                id,
                sync,
                request,
            } => {
                let connection = key(at.connection);
                match self.attached(connection, at.channel) {
                    Some(session) => self.session_command(session, id, sync, request, out),
                    None => self.parts.forget(connection),
                }
            }
            Command::Completed { at, commands } => {
                if let Some(session) = self.attached(key(at.connection), at.channel) {
                    self.deliveries_completed(session, &commands, out);
                }
            }
            Command::KnownCompleted { at, commands } => {
                if let Some(session) = self.attached(key(at.connection), at.channel) {
                    self.known_completed(session, &commands);
                }
            }
            Command::Headroom { .. }
            | Command::HeadroomMax { .. }
            | Command::ConnectionOpen { .. }
            | Command::ConnectionEnd { .. }
            | Command::ConnectionDetails { .. }
            | Command::Agent { .. } => self.connection_command(member, command, out),
            Command::Attach { at, name, force } => {
                self.attach(key(at.connection), at.channel, name, force, out);
            }
            Command::Detach { at } => {
                if let Some(session) = self.attached(key(at.connection), at.channel)
                    && !self.waits_to_detach(session, at, out)
                {
                    self.leave_session(session, true, out);
                }
            }
            Command::Matching(matching) => {
                let at = matching.at;
                if let Some(session) = self.attached(key(at.connection), at.channel) {
                    self.xml.note_matching(session, *matching);
                }
            }
            Command::SessionFlush { .. }
            | Command::Confirmed { .. }
            | Command::Expected { .. }
            | Command::Gap { .. }
            | Command::GrantTimeout { .. } => self.session_control(member, command, out),
            Command::Tick => self.tick(out),
            Command::Continue => self.run_work(out),
            Command::MemberDown { member, epoch } => self.member_down(member, epoch, out),
            Command::BodyPart {
                connection,
                at,
                octets,
            } => self.body_part(key(connection), at, &octets),
            Command::Lost { at, delivery, text } => {
                if let Some(session) = self.attached(key(at.connection), at.channel) {
                    self.lose(session, delivery, &text, out);
                }
            }
            Command::ConfigureFirst(options) => self.configure(options.over(&self.options)),
            Command::ConfigureSecond(options) => self.configure(options.over(&self.options)),
            Command::Configure(options) => self.configure(*options),
            Command::Members { parts, urls } => self.set_members(parts, urls, out),
            Command::Levels(levels) => self.set_levels(levels),
        }
    }

    fn connection_command(&mut self, member: MemberId, command: Command, out: &mut Out) {
        let key = |number| ConnectionKey { member, number };
        match command {
            Command::ConnectionOpen { connection, record } => {
                self.connection_open(key(connection), *record);
            }
            Command::ConnectionEnd { connection } => self.connection_end(key(connection), out),
            Command::ConnectionDetails {
                connection,
                details,
            } => self.connection_details(key(connection), *details),
            Command::Agent {
                connection,
                command,
            } => self.agent_command(key(connection), *command, out),
            Command::Headroom {
                connection,
                messages,
                bytes,
            } => {
                let refill = |found: &mut Connection| found.refill(messages, bytes);
                self.headroom(key(connection), refill, out);
            }
            Command::HeadroomMax { connection, bytes } => {
                let raise = |found: &mut Connection| found.raise_headroom(bytes);
                self.headroom(key(connection), raise, out);
            }
            _ => {}
        }
    }

    fn configure(&mut self, options: Options) {
        self.options = options;
        self.purge_due = purge_due(self.time, &self.options);
        self.make_ways_of_events();
    }

    fn member_down(&mut self, member: MemberId, epoch: u64, out: &mut Out) {
        let state = self.origins.entry(member).or_default();
        let is_open = state.epoch <= epoch && state.closed < epoch;
        state.closed = state.closed.max(epoch);
        // A later epoch ended what the closed one held, and its own is not concerned.
        if is_open && !is_planted(Plant::DownKeepsHeld) {
            self.end_member(member, out);
        }
    }

    fn body_part(&mut self, connection: ConnectionKey, at: u64, octets: &[u8]) {
        if self.connections.id(connection).is_some() {
            self.parts.add(connection, at, octets);
        }
    }

    fn tick(&mut self, out: &mut Out) {
        while let Some((due, queue)) = self.departures.first().copied()
            && due <= self.time
        {
            self.departures.pop_first();
            self.work.push_back(Work::Depart(queue));
        }
        self.expire_branches();
        self.expire_detached(out);
        self.run_work(out);
        if self.time < self.purge_due {
            return;
        }
        self.purge_due = purge_due(self.time, &self.options);
        for (_, queue) in self.queues.iter().filter(|(_, queue)| queue.expiring > 0) {
            self.work.push_back(Work::Expire(queue.reference, 0));
        }
    }

    /// The number of the next queue or subscription.
    pub(super) fn incarnation(&mut self) -> u64 {
        self.incarnations += 1;
        self.incarnations
    }

    /// The session attached at a channel.
    pub(super) fn attached(
        &mut self,
        connection: ConnectionKey,
        channel: u16,
    ) -> Option<SessionId> {
        if let Some((last, at, session)) = self.scratch.last
            && (last, at) == (connection, channel)
        {
            return Some(session);
        }
        let id = self.connections.id(connection)?;
        let session = *self.connections.get(id)?.channels.get(&channel)?;
        self.scratch.last = Some((connection, channel, session));
        Some(session)
    }

    /// A digest of the whole state: equal on all members at equal index. It is taken over every
    /// field by derived code, apart from the snapshot's encoding, so that a field that the snapshot
    /// forgets shows.
    pub fn digest(&self) -> u64 {
        let mut hasher = super::digest::Digest::default();
        self.hash(&mut hasher);
        hasher.finish()
    }
}

fn purge_due(now: GroupTime, options: &Options) -> GroupTime {
    match options.queue_purge_interval {
        0 => GroupTime::NEVER,
        interval => now.plus(interval),
    }
}

fn take_next(last: &mut u64, seq: u64) -> Applied {
    match seq.cmp(&(*last + 1)) {
        std::cmp::Ordering::Less if is_planted(Plant::ResendTaken) => Applied::Done,
        std::cmp::Ordering::Less => Applied::Seen,
        std::cmp::Ordering::Greater if is_planted(Plant::GapTaken) => {
            *last = seq;
            Applied::Done
        }
        std::cmp::Ordering::Greater => Applied::Gap {
            expected: *last + 1,
        },
        std::cmp::Ordering::Equal => {
            *last = seq;
            Applied::Done
        }
    }
}
