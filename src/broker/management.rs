//! What management asks of the core and is told by it.
//!
//! A member's *agent* speaks for the broker to those who manage it. It has a connection of the group like
//! a client's, without sockets, and is told by effects of it: requests that clients of its member publish
//! to the exchanges of management ([`Face`]), what became of its own commands, and events. It answers by
//! publishing. What it has not taken yet is counted here, so that nobody can make it grow without bound.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use super::command::{Refusal, UnreadableBind};
use super::encoding::{record, record_enum, record_newtype};
use super::event::Event;
use super::guard::{Guard, Guarded};
use super::ids::{ConnectionKey, ConnectionNumber, GroupTime, MemberId, QueueRef};
use super::level::Level;
use super::limits;
use super::links::{BridgeDefinition, LinkDefinition, LinkNews, Report};
use super::message::Message;
use crate::wire::{self, Text};

/// An exchange that clients reach the agent by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Face {
    /// `qmf.default.direct`: requests of QMF v2, and of v1 with the key `broker`.
    Direct,
    /// `qmf.default.topic`: indications of QMF v2, and requests to all agents.
    Topic,
    /// `qpid.management`: QMF v1.
    Version1,
}
record_enum!(Face { 0 = Direct, 1 = Topic, 2 = Version1 });

impl Face {
    /// All of them, with name and type of the exchange. Clients of QMF rely on the names.
    pub const ALL: [(Face, &'static str, &'static str); 3] = [
        (Face::Version1, "qpid.management", "topic"),
        (Face::Topic, "qmf.default.topic", "topic"),
        (Face::Direct, "qmf.default.direct", "direct"),
    ];

    /// Whether what is published with a key is for the agent of that name, and whether it goes to queues,
    /// too. As in qpidd.
    pub fn takes(self, key: &str, agent: &str) -> (bool, bool) {
        match self {
            Face::Direct if key == "broker" || key == agent => (true, false),
            Face::Topic if key.starts_with("console.request.agent_locate") => (true, true),
            Face::Version1 if key == "broker" || key.starts_with("agent.1.0") => (true, false),
            Face::Version1 if key.starts_with("schema.") => (true, true),
            _ => (false, true),
        }
    }
}

/// What a member's sockets have counted of a connection: as its agent last told, and so up to date only
/// when that was just asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Traffic {
    /// Frames from the client.
    pub frames_in: u64,
    /// Frames to the client.
    pub frames_out: u64,
    /// Octets from the client.
    pub bytes_in: u64,
    /// Octets to the client.
    pub bytes_out: u64,
    /// Messages from the client.
    pub messages_in: u64,
    /// Messages to the client.
    pub messages_out: u64,
}
record!(Traffic {
    frames_in,
    frames_out,
    bytes_in,
    bytes_out,
    messages_in,
    messages_out
});

/// Who asks for something: what events and rights go by.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Requester {
    /// The authenticated user.
    pub user: Text,
    /// The connection as management names it: see [`super::connections::Connection::address`].
    pub address: Text,
}
record!(Requester { user, address });

/// Milliseconds since 1970.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct WallTime(pub u64);
record_newtype!(WallTime(u64));

/// In which versions of QMF events are told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Versions {
    /// Whether in version 1.
    pub in_version_1: bool,
    /// Whether in version 2.
    pub in_version_2: bool,
}
record!(Versions {
    in_version_1,
    in_version_2
});

/// A command of an agent.
#[derive(Clone, Debug, PartialEq)]
pub enum AgentCommand {
    /// The agent is there, and is told from now on. The exchanges of management are made.
    Open {
        /// What it is called, unless an agent of the group has been called something already.
        name: Text,
        /// How it wants events to be told.
        versions: Versions,
        /// The wall clock of its member.
        now: WallTime,
        /// Drawn by lot: what the messages of the order that begins are known by, if none is yet.
        run: u64,
    },
    /// The wall clock of the agent's member.
    Now(WallTime),
    /// The agent has taken requests from its outbox, by the connections that they came by.
    Took(BTreeMap<ConnectionNumber, Owed>),
    /// The broker publishes a message. Where it finds no queue, or one that is full, it is gone.
    Publish {
        /// The exchange.
        exchange: Text,
        /// The message.
        message: Arc<Message>,
    },
    /// What the sockets of all members count is asked of their agents.
    AskCounts,
    /// The sockets of connections of the agent's member have counted so much.
    Counts {
        /// The agent that has asked.
        asker: ConnectionKey,
        /// By connection.
        counts: Vec<(ConnectionNumber, Traffic)>,
        /// Whether that is all.
        is_last: bool,
    },
    /// Something has happened at the agent's member that the core cannot see: it is told like what the
    /// core has done.
    Tell(Event),
    /// The agent's member is about to end, as it was told to.
    Stopping,
    /// Something is to be done; the agent is told what became of it.
    Act {
        /// The agent's number for it.
        number: u64,
        /// For whom.
        requester: Requester,
        /// What.
        action: Box<Action>,
    },
}
record_enum!(AgentCommand {
    0 = Open { name, versions, now, run },
    1 = Took(requests),
    2 = Publish { exchange, message },
    3 = Act { number, requester, action },
    4 = AskCounts,
    5 = Counts { asker, counts, is_last },
    6 = Now(now),
    7 = Tell(event),
    8 = Stopping,
});

/// What management can have done. Rights were looked at by the proposer.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Nothing: what was ordered before is done.
    Barrier,
    /// Makes a queue. One of that name is refused.
    CreateQueue(Box<wire::QueueDeclare>),
    /// Deletes a queue, whoever has it for itself.
    DeleteQueue(Box<wire::QueueDelete>),
    /// Makes an exchange. One of that name is refused.
    CreateExchange(Box<wire::ExchangeDeclare>),
    /// Deletes an exchange.
    DeleteExchange(Box<wire::ExchangeDelete>),
    /// Binds a queue.
    Bind(Box<wire::ExchangeBind>),
    /// Binds a queue, with a query that cannot be read: an xml exchange refuses that.
    BindUnreadable(Box<UnreadableBind>),
    /// Takes a binding away. One that is not there is refused.
    Unbind(Box<wire::ExchangeUnbind>),
    /// Takes messages out of a queue. Those that somebody has acquired stay.
    Take(Box<Take>),
    /// Closes a client's connection.
    CloseConnection(ConnectionKey),
    /// Ends a session, whatever its timeout.
    EndSession {
        /// The user.
        user: Text,
        /// The client's own octets.
        name: Vec<u8>,
    },
    /// Messages that come in get the time of their coming, or do not.
    Stamp(bool),
    /// Redirects a queue to another, or cancels that.
    Redirect(Redirect),
    /// Something that depends on what is there already, or on who made it.
    Guarded(Box<Guarded>),
    /// A member is to end its process, or all are.
    Stop(Option<MemberId>),
    /// A member is to take part in the cluster no more, whether it is there or not. It is not waited for.
    TakeOut(MemberId),
    /// Makes and deletes definitions: all of them, or nothing is changed.
    Import(Box<Import>),
    /// Says whether an import would be done, and does nothing.
    CheckImport(Box<Import>),
    /// Raises the level at which the broker runs. A member that has not said that it knows the level stands
    /// in the way.
    Raise(Level),
    /// Makes a link to another broker. One of that name is refused.
    CreateLink(Box<LinkDefinition>),
    /// The same, unless there is one to that address.
    Connect(Box<LinkDefinition>),
    /// Takes a link away, and its bridges. One that is not there is none the worse for it.
    DeleteLink(Text),
    /// Makes a bridge on a link. One of that name is refused.
    CreateBridge(Box<BridgeDefinition>),
    /// The same, unless there is one of that name.
    AddBridge(Box<BridgeDefinition>),
    /// Takes a bridge away. One that is not there is none the worse for it.
    DeleteBridge(Text),
    /// The owner of a link says what has become of it.
    ReportLink(Box<Report>),
}
record_enum!(Action {
    0 = Barrier,
    1 = CreateQueue(declare),
    2 = DeleteQueue(delete),
    3 = CreateExchange(declare),
    4 = DeleteExchange(delete),
    5 = Bind(bind),
    6 = Unbind(unbind),
    7 = Take(take),
    8 = CloseConnection(key),
    9 = EndSession { user, name },
    10 = Stamp(is_stamping),
    11 = Redirect(redirect),
    12 = Guarded(guarded),
    13 = Import(import),
    14 = BindUnreadable(bind),
    15 = Stop(member),
    16 = TakeOut(member),
    17 = CheckImport(import),
    18 = Raise(level),
    19 = CreateLink(definition),
    20 = Connect(definition),
    21 = DeleteLink(name),
    22 = CreateBridge(definition),
    23 = AddBridge(definition),
    24 = DeleteBridge(name),
    25 = ReportLink(report),
});

/// Two queues that are to change places for what is routed to them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Redirect {
    /// The queue whose messages go elsewhere.
    pub source: Text,
    /// The queue that they go to; empty cancels the redirect of the source.
    pub target: Text,
}
record!(Redirect { source, target });

/// Definitions to be made and to be deleted, [`limits::IMPORTED_DEFINITIONS_MAX`] at most.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Import {
    /// Exchanges that are not there, alternates before those that have them.
    pub exchanges: Vec<wire::ExchangeDeclare>,
    /// Queues that are not there.
    pub queues: Vec<wire::QueueDeclare>,
    /// Bindings that are not there.
    pub bindings: Vec<wire::ExchangeBind>,
    /// Of which of these the query cannot be read, by their places, and what is wrong with it: an xml
    /// exchange refuses that.
    pub unreadable: BTreeMap<u32, Text>,
    /// Bindings that go.
    pub unbindings: Vec<wire::ExchangeUnbind>,
    /// Queues that go; their bindings go with them.
    pub deleted_queues: Vec<wire::QueueDelete>,
    /// Exchanges that go, in any order; their bindings go with them.
    pub deleted_exchanges: Vec<wire::ExchangeDelete>,
    /// Queues that whoever asks may have made in all, where these are counted.
    pub quota: Option<u32>,
}
record!(Import {
    exchanges,
    queues,
    bindings,
    unreadable,
    unbindings,
    deleted_queues,
    deleted_exchanges,
    quota
});

impl Import {
    /// How many definitions there are in it.
    pub fn count(&self) -> usize {
        let made = self.exchanges.len() + self.queues.len() + self.bindings.len();
        let gone = self.unbindings.len() + self.deleted_queues.len();
        made + gone + self.deleted_exchanges.len()
    }
}

/// Messages to be taken out of a queue.
#[derive(Clone, Debug, PartialEq)]
pub struct Take {
    /// The queue's name.
    pub queue: Text,
    /// How many at most; 0 for all.
    pub count: u32,
    /// Which of them; None for any.
    pub filter: Option<HeaderMatch>,
    /// Where they go.
    pub to: Destination,
}
record!(Take {
    queue,
    count,
    filter,
    to
});

/// Where messages go that are taken out of a queue.
#[derive(Clone, Debug, PartialEq)]
pub enum Destination {
    /// Nowhere: they are purged.
    Nowhere,
    /// To a queue.
    Queue(Text),
    /// To an exchange, which routes them.
    Exchange(Text),
    /// To the queue's alternate exchange.
    Alternate,
    /// The same, of what is allowed of [`Aspect::Alternate`](super::guard::Aspect::Alternate).
    AlternateIf(Guard),
}
record_enum!(Destination {
    0 = Nowhere,
    1 = Queue(name),
    2 = Exchange(name),
    3 = Alternate,
    4 = AlternateIf(guard),
});

/// Messages with a text of this value among their application headers.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct HeaderMatch {
    /// The header's name.
    pub key: Text,
    /// Its value.
    pub value: Text,
}
record!(HeaderMatch { key, value });

impl HeaderMatch {
    /// Whether a message is one of these.
    pub fn is_met_by(&self, message: &Message) -> bool {
        let headers = message.application_headers();
        let value = headers.as_ref().and_then(|headers| headers.get(&self.key));
        value.and_then(wire::Value::as_str) == Some(&*self.value)
    }
}

/// What an agent is told.
#[derive(Clone, Debug, PartialEq, Hash)]
pub enum ForAgent {
    /// A client asks something.
    Request {
        /// Where it was published.
        face: Face,
        /// Its connection.
        connection: ConnectionKey,
        /// Who it is.
        requester: Requester,
        /// What was published.
        message: Arc<Message>,
    },
    /// What became of an [`AgentCommand::Act`]: how many messages or bindings were taken, where that was asked.
    Outcome {
        /// The agent's number.
        number: u64,
        /// Err: nothing was done.
        outcome: Result<u64, Refusal>,
    },
    /// Something has happened. Whoever listens by QMF is told by the core.
    Event(Event),
    /// Whether messages that come in at its member get the time of their coming.
    Stamp(bool),
    /// Another agent asks for [`AgentCommand::Counts`].
    AskCounts {
        /// Which.
        asker: ConnectionKey,
    },
    /// So many agents were asked, as this one wanted.
    CountsAsked {
        /// How many others there are.
        agents: usize,
    },
    /// One of them has told all that it counts: it is in the core.
    CountsTold,
    /// Its member is to end, once all that are to have said that they will.
    Stop {
        /// How many are to end, with this one.
        agents: usize,
    },
    /// An agent's member is about to end.
    Stopping,
    /// Of the links that its member drives, or of what they carry.
    Links(LinkNews),
}

/// Requests that an agent has been given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Owed {
    /// How many.
    pub requests: u32,
    /// Octets of these.
    pub bytes: u64,
}
record!(Owed { requests, bytes });

impl Owed {
    /// One more.
    pub fn add(&mut self, bytes: u64) {
        self.requests = self.requests.saturating_add(1);
        self.bytes = self.bytes.saturating_add(bytes);
    }

    fn remove(&mut self, taken: Owed) {
        self.requests = self.requests.saturating_sub(taken.requests);
        self.bytes = self.bytes.saturating_sub(taken.bytes);
    }

    /// Whether this may be so much with one more of so many octets.
    fn takes(self, bytes: u64, (requests_max, bytes_max): (u32, u64)) -> bool {
        self.requests < requests_max && self.bytes.saturating_add(bytes) <= bytes_max
    }
}

/// An agent, and what it has been given and not yet taken.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Agent {
    /// Its connection.
    pub number: ConnectionNumber,
    /// Requests.
    pub owed: Owed,
    /// These by the connections that they came by, so that one that asks much takes nothing from others.
    pub owed_to: BTreeMap<ConnectionNumber, Owed>,
    /// How it wants events to be told.
    pub versions: Versions,
}
record!(Agent {
    number,
    owed,
    owed_to,
    versions
});

/// What an agent may owe one connection, and all.
const OWED_TO_ONE_MAX: (u32, u64) = (
    limits::AGENT_REQUESTS_PER_CONNECTION_MAX,
    limits::AGENT_REQUEST_BYTES_PER_CONNECTION_MAX,
);
const OWED_MAX: (u32, u64) = (limits::AGENT_REQUESTS_MAX, limits::AGENT_REQUEST_BYTES_MAX);

impl Agent {
    fn new(number: ConnectionNumber, versions: Versions) -> Agent {
        Agent {
            number,
            owed: Owed::default(),
            owed_to: BTreeMap::new(),
            versions,
        }
    }

    /// Counts a request of a connection in, if it can take one more.
    pub fn takes_request(&mut self, from: ConnectionNumber, bytes: u64) -> bool {
        let own = self.owed_to.get(&from).copied().unwrap_or_default();
        let takes = own.takes(bytes, OWED_TO_ONE_MAX) && self.owed.takes(bytes, OWED_MAX);
        if takes {
            self.owed.add(bytes);
            self.owed_to.entry(from).or_default().add(bytes);
        }
        takes
    }

    /// It has taken these requests.
    pub fn took(&mut self, requests: &BTreeMap<ConnectionNumber, Owed>) {
        for (from, taken) in requests {
            self.owed.remove(*taken);
            if let Some(own) = self.owed_to.get_mut(from) {
                own.remove(*taken);
                if own.requests == 0 {
                    self.owed_to.remove(from);
                }
            }
        }
    }
}

/// The agents of all members.
#[derive(Clone, Debug, Default, PartialEq, Hash)]
pub struct Agents {
    /// What the broker's agent is called: all members' have one name. Empty until one is there.
    pub name: Text,
    agents: BTreeMap<MemberId, Agent>,
    /// Events that nobody was told of, since there were too many.
    pub events_lost: u64,
    /// Whether messages that come in get the time of their coming.
    pub is_stamping: bool,
    /// Events that are still to be published, [`limits::UNTOLD_EVENTS_MAX`] at most.
    pub untold: VecDeque<Untold>,
    /// What messages of this order are known by elsewhere; 0 until an agent is there.
    pub run: u64,
    /// What the wall clock showed at the beginning of group time, as an agent said last.
    wall_at_zero: WallTime,
}
record!(Agents {
    name,
    agents,
    events_lost,
    is_stamping,
    untold,
    run,
    wall_at_zero
});

/// An event that is still to be published.
#[derive(Clone, Debug, PartialEq, Hash)]
pub struct Untold {
    /// What has happened.
    pub event: Event,
    /// When.
    pub time: GroupTime,
    /// Of how many events, each of which was published, it is the consequence.
    pub generation: u8,
}
record!(Untold {
    event,
    time,
    generation
});

impl Agents {
    /// A member's agent is there.
    pub fn open(&mut self, key: ConnectionKey, name: Text, versions: Versions, run: u64) {
        if self.name.is_empty() {
            self.name = name;
        }
        if self.run == 0 {
            self.run = run;
        }
        let agent = Agent::new(key.number, versions);
        self.agents.insert(key.member, agent);
    }

    /// In which versions events are told: in those that any agent wants.
    pub fn versions(&self) -> Versions {
        let mut all = Versions::default();
        for agent in self.agents.values() {
            all.in_version_1 |= agent.versions.in_version_1;
            all.in_version_2 |= agent.versions.in_version_2;
        }
        all
    }

    /// An agent has looked at its wall clock, at this moment of group time.
    pub fn set_wall(&mut self, at: GroupTime, now: WallTime) {
        self.wall_at_zero = WallTime(now.0.saturating_sub(at.0));
    }

    /// What the wall clock shows at a moment of group time, as far as is known.
    pub fn wall(&self, at: GroupTime) -> WallTime {
        WallTime(self.wall_at_zero.0.saturating_add(at.0))
    }

    /// A connection has ended, an agent's perhaps.
    pub fn close(&mut self, key: ConnectionKey) {
        if self.is_agent(key) {
            self.agents.remove(&key.member);
        }
    }

    /// A member is gone.
    pub fn close_member(&mut self, member: MemberId) {
        self.agents.remove(&member);
    }

    /// Whether a connection is an agent's.
    pub fn is_agent(&self, key: ConnectionKey) -> bool {
        let agent = self.agents.get(&key.member);
        agent.is_some_and(|agent| agent.number == key.number)
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.agents.is_empty()
    }

    /// All of them.
    pub fn all(&self) -> impl Iterator<Item = ConnectionKey> {
        let agents = self.agents.iter();
        agents.map(|(member, agent)| ConnectionKey {
            member: *member,
            number: agent.number,
        })
    }

    /// The agent of a member.
    pub fn of_member(&mut self, member: MemberId) -> Option<(ConnectionKey, &mut Agent)> {
        let agent = self.agents.get_mut(&member)?;
        let number = agent.number;
        Some((ConnectionKey { member, number }, agent))
    }
}

/// Messages that are being taken out of a queue, in `Continue` entries if they are many.
#[derive(Clone, Debug, PartialEq, Hash)]
pub struct Taking {
    /// The queue.
    pub queue: QueueRef,
    /// From this position on.
    pub next: u64,
    /// Up to here: what comes later stays.
    pub end: u64,
    /// How many more at most.
    pub left: u64,
    /// Which.
    pub filter: Option<HeaderMatch>,
    /// Where they go.
    pub to: Taken,
    /// How many there were.
    pub taken: u64,
    /// Who is told, if anybody: an agent, and its number for it.
    pub asker: Option<(ConnectionKey, u64)>,
}
record!(Taking {
    queue,
    next,
    end,
    left,
    filter,
    to,
    taken,
    asker
});

/// Where messages go that are being taken out of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Taken {
    /// Nowhere.
    Nowhere,
    /// To a queue, if it is still there.
    Queue(QueueRef),
    /// To an exchange, which stays in use until then.
    Exchange(super::ids::ExchangeId),
}
record_enum!(Taken { 0 = Nowhere, 1 = Queue(queue), 2 = Exchange(exchange) });
