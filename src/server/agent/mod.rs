//! A member's agent: a connection of the group without a socket, which answers those who manage the
//! broker.
//!
//! The core hands it requests and tells it events (`broker/management.rs`); what they mean and how
//! answers look is [`crate::management`]'s. Here is the task between the two: it takes, looks at the
//! core for a short time at once, proposes, and waits.

mod asking;
mod identity;
mod listing;
pub(super) mod rights;
mod stopping;
mod telling;

use std::collections::{BTreeMap, VecDeque};
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Poll, Waker};
use std::time::Duration;

use tokio::time::{Instant, Sleep};

use self::asking::Waiting;
use self::listing::Listings;
use self::rights::Sight;
use self::stopping::Stopping;
use self::telling::Telling;
use super::doorbell::Doorbell;
use super::driver::Shared;
use super::{clock, limits, log};
use crate::broker::Command;
use crate::broker::event::Event;
use crate::broker::ids::{ConnectionKey, ConnectionNumber};
use crate::broker::management::{AgentCommand, ForAgent, Owed, Requester, WallTime};
use crate::broker::message::Message;
use crate::broker::{Core, Effect};
use crate::cluster::Group;
use crate::federation::News;
use crate::management::Agent;
use crate::management::agent::{Called, Find, Incoming, Told, Work};
use crate::management::deed::{self, Deed, ProcessDeed};
use crate::management::model::Setting;
use crate::qmf::broker::BrokerMethod;
use crate::qmf::datum::Datum;
use crate::qmf::{Fault, Identity, Publication, Status};
use crate::wire::Text;

pub use self::asking::{Ask, Asked, Entrance, Told as ToldEvent, Wanted, entrance};
pub use self::identity::Boot;
pub use self::listing::Walk;

/// What the agent of a seat is started with.
#[derive(Clone, Debug)]
pub struct Start {
    /// Who the broker is, unless its group knows better.
    pub boot: Boot,
    /// What is told unasked.
    pub told: Told,
    /// What is shown of the process.
    pub setting: Setting,
    /// What links of the seat's member are told.
    pub links: Arc<News>,
    /// Woken when a client has the broker end.
    pub shutdown: Arc<tokio::sync::Notify>,
}

/// Serves one seat until its task is ended.
pub async fn run(group: Arc<dyn Group>, shared: Arc<Shared>, start: Start, mut asked: Asked) {
    loop {
        let task = poll_fn(|context| Poll::Ready(context.waker().clone())).await;
        let mut seated = Seated::open((&group, &shared, &start), &mut asked, task);
        seated.serve().await;
        // The group ended its connections; what it was asked is forgotten, as its clients are.
        group.close(shared.clock.millis(), seated.number);
        tokio::time::sleep(Duration::from_millis(limits::AGENT_PAUSE_MILLISECONDS)).await;
    }
}

/// How far the counts of other members are known.
#[derive(Clone, Copy, Debug, Default)]
enum Counting {
    /// Nobody has asked.
    #[default]
    Idle,
    /// Agents of other members were asked.
    Asked {
        /// How many have yet to tell; None until it is known how many there are.
        left: Option<usize>,
        /// Nobody waits longer: what is known is shown then.
        until: Instant,
    },
}

impl Counting {
    fn asked(&mut self, agents: usize) {
        if let Counting::Asked { left, .. } = self {
            *left = Some(agents);
        }
    }

    fn told(&mut self) {
        if let Counting::Asked {
            left: Some(left), ..
        } = self
        {
            *left = left.saturating_sub(1);
        }
    }
}

/// An agent that has its seat.
struct Seated<'a> {
    group: &'a Arc<dyn Group>,
    shared: &'a Arc<Shared>,
    start: &'a Start,
    asked: &'a mut Asked,
    number: ConnectionNumber,
    bell: Arc<Doorbell>,
    /// None until the group knows it, and it knows what it is called.
    agent: Option<Agent>,
    setting: Setting,
    /// To be proposed.
    commands: VecDeque<AgentCommand>,
    /// What the core was asked to do, and for whom.
    acting: BTreeMap<u64, (Waiting, Text)>,
    acted: u64,
    /// Queries that are being answered.
    listings: Listings,
    counting: Counting,
    telling: Telling,
    /// Whether its member is to end.
    stopping: Option<Stopping>,
    /// When something is told unasked.
    tell_at: Instant,
    sleep: Pin<Box<Sleep>>,
    is_ended: bool,
}

impl<'a> Seated<'a> {
    fn open(
        (group, shared, start): (&'a Arc<dyn Group>, &'a Arc<Shared>, &'a Start),
        asked: &'a mut Asked,
        task: Waker,
    ) -> Seated<'a> {
        let bell = Doorbell::new(task);
        let number = group.open_agent(Waker::from(bell.clone()));
        let interval = Duration::from_secs(start.told.interval.max(1).into());
        let mut seated = Seated {
            group,
            shared,
            start,
            asked,
            number,
            bell,
            agent: None,
            setting: start.setting.clone(),
            commands: VecDeque::new(),
            acting: BTreeMap::new(),
            acted: 0,
            listings: Listings::default(),
            counting: Counting::default(),
            telling: Telling::default(),
            stopping: None,
            tell_at: Instant::now() + interval,
            sleep: Box::pin(tokio::time::sleep(interval)),
            is_ended: false,
        };
        let name = start.boot.identity().name().clone();
        seated.commands.push_back(AgentCommand::Open {
            name,
            versions: start.told.versions(),
            now: WallTime(clock::wall_milliseconds()),
            run: clock::random(),
        });
        // When that is answered the group knows the agent.
        seated.act(
            Waiting::Opening,
            Requester::default(),
            crate::broker::management::Action::Barrier,
        );
        seated
    }

    async fn serve(&mut self) {
        while !self.is_ended {
            let is_held = self.take();
            self.stop_if_due();
            self.take_asks();
            self.take_happenings();
            self.propose(is_held);
            if self.is_ended {
                return;
            }
            if !is_held && self.commands.is_empty() && self.may_list() {
                self.go_on_listing();
                tokio::task::yield_now().await;
                continue;
            }
            // What nobody asked for comes after what somebody did.
            if !is_held && self.commands.is_empty() && self.telling.is_going_on() {
                self.tell_on();
                tokio::task::yield_now().await;
                continue;
            }
            if self.commands.is_empty() || is_held {
                self.wait().await;
            }
        }
    }

    /// Whether a query can be answered on: what other members count is known, if it shows that.
    fn may_list(&mut self) -> bool {
        if self.listings.is_empty() || self.agent.is_none() {
            return false;
        }
        if self.group.is_alone() || !self.listings.wants_counts() {
            return true;
        }
        match self.counting {
            Counting::Idle => {
                let patience = Duration::from_millis(limits::COUNTS_MILLISECONDS_MAX);
                self.counting = Counting::Asked {
                    left: None,
                    until: Instant::now() + patience,
                };
                self.commands.push_back(AgentCommand::AskCounts);
                false
            }
            Counting::Asked { left, until } => left == Some(0) || until <= Instant::now(),
        }
    }

    /// Goes on with one of the queries by one look.
    fn go_on_listing(&mut self) {
        let Some(agent) = &mut self.agent else {
            return;
        };
        let listings = &mut self.listings;
        let (told, is_done) = listings.go_on(self.group, self.shared, &self.setting, agent);
        self.publish(told);
        if is_done {
            self.counting = Counting::Idle;
        }
    }

    /// Tells another agent what this member's sockets count.
    fn tell_counts(&mut self, asker: ConnectionKey) {
        let member = self.group.member();
        let counts = self.shared.registry.counts_of(member);
        let mut pieces = counts.chunks(limits::COUNTS_PER_COMMAND).peekable();
        if pieces.peek().is_none() {
            self.commands.push_back(AgentCommand::Counts {
                asker,
                counts: Vec::new(),
                is_last: true,
            });
        }
        while let Some(piece) = pieces.next() {
            self.commands.push_back(AgentCommand::Counts {
                asker,
                counts: piece.to_vec(),
                is_last: pieces.peek().is_none(),
            });
        }
    }

    /// Takes what the core has for it. Gives whether proposing is to wait.
    fn take(&mut self) -> bool {
        let mut effects = Vec::new();
        let outstanding = self.group.take(self.number, &mut effects);
        self.is_ended = outstanding.is_ended;
        let mut requests: BTreeMap<ConnectionNumber, Owed> = BTreeMap::new();
        for effect in effects {
            let told = match effect {
                Effect::Agent(told) => told,
                Effect::Ruled(ruled) => {
                    self.shared.rights.acl.note_ruling(*ruled);
                    continue;
                }
                _ => continue,
            };
            match *told {
                ForAgent::Request {
                    connection,
                    requester,
                    message,
                    ..
                } => {
                    requests
                        .entry(connection.number)
                        .or_default()
                        .add(message.size());
                    self.request(connection, requester, &message);
                }
                ForAgent::Outcome { number, outcome } => self.outcome(number, outcome),
                ForAgent::Event(event) => self.hear(event),
                ForAgent::Stamp(is_stamping) => self.shared.set_stamping(is_stamping),
                ForAgent::AskCounts { asker } => self.tell_counts(asker),
                ForAgent::CountsAsked { agents } => self.counting.asked(agents),
                ForAgent::CountsTold => self.counting.told(),
                ForAgent::Stop { agents } => self.stop(agents),
                ForAgent::Stopping => self.heard_of_stopping(),
                ForAgent::Links(news) => self.start.links.add(news),
            }
        }
        if !requests.is_empty() {
            self.commands.push_front(AgentCommand::Took(requests));
        }
        outstanding.is_held()
    }

    /// Whether the agent can take what has happened: it is open, and has not enough to propose already.
    fn takes_happenings(&self) -> bool {
        self.agent.is_some() && self.commands.len() < limits::AGENT_COMMANDS_PER_BATCH
    }

    /// Has the core tell what has happened in this process. Where nobody can hear of it, it costs no
    /// entry.
    fn take_happenings(&mut self) {
        if !self.takes_happenings() {
            return;
        }
        let events = self
            .shared
            .happenings
            .take(limits::AGENT_COMMANDS_PER_BATCH);
        if events.is_empty() {
            return;
        }
        let mut is_heard = !self.group.is_alone() || self.asked.events.receiver_count() > 0;
        if !is_heard {
            self.group
                .look(&mut |core: &Core| is_heard = core.has_management_listeners());
        }
        if is_heard {
            self.commands
                .extend(events.into_iter().map(AgentCommand::Tell));
        }
    }

    fn propose(&mut self, is_held: bool) {
        while !is_held && !self.commands.is_empty() && !self.is_ended {
            let many = self.commands.len().min(limits::AGENT_COMMANDS_PER_BATCH);
            let connection = self.number;
            let next = self.commands.drain(..many);
            let mut batch: Vec<Command> = next
                .map(|command| Command::Agent {
                    connection,
                    command: Box::new(command),
                })
                .collect();
            self.group
                .propose(self.shared.clock.millis(), connection, &mut batch);
            if many == limits::AGENT_COMMANDS_PER_BATCH {
                return;
            }
        }
    }

    /// Waits for the group, or for the time to tell something unasked.
    async fn wait(&mut self) {
        if !self.bell.sleep() {
            self.bell.take();
            return;
        }
        let until = match self.counting {
            Counting::Asked { until, .. } => until.min(self.tell_at),
            Counting::Idle => self.tell_at,
        };
        let until = match self.stopping {
            Some(stopping) => until.min(stopping.until),
            None => until,
        };
        self.sleep.as_mut().reset(until);
        let takes_asks = self.takes_asks();
        let happenings = self.takes_happenings().then_some(&self.shared.happenings);
        let (bell, sleep, asked) = (&self.bell, &mut self.sleep, &mut self.asked);
        let mut ask = None;
        poll_fn(|context| {
            let has_news = happenings.is_some_and(|news| news.poll(context).is_ready());
            let is_due = has_news || sleep.as_mut().poll(context).is_ready();
            if takes_asks && let Poll::Ready(one) = asked.poll(context) {
                ask = Some(one);
            }
            match bell.is_rung() || is_due || ask.is_some() {
                true => Poll::Ready(()),
                false => Poll::Pending,
            }
        })
        .await;
        self.bell.awake();
        self.bell.take();
        if let Some(ask) = ask {
            self.ask(ask);
        }
        if self.tell_at <= Instant::now() {
            self.tell_unasked();
        }
    }

    fn request(&mut self, connection: ConnectionKey, requester: Requester, message: &Message) {
        let Some(agent) = &mut self.agent else {
            return;
        };
        let properties = message.properties().unwrap_or_default();
        if !rights::may_be_answered(&self.shared.rights.acl, &requester, &properties) {
            return;
        }
        let incoming = Incoming {
            routing_key: &message.routing_key,
            properties: &properties,
            body: message.body().unwrap_or_default(),
            now: clock::wall_nanoseconds(),
        };
        for work in agent.receive(&incoming) {
            match work {
                Work::Publish(publication) => self.publish(vec![publication]),
                Work::Find(find) => self.list(&requester, connection, find),
                Work::Call(called) => self.call(requester.clone(), called),
            }
        }
    }

    fn list(&mut self, requester: &Requester, connection: ConnectionKey, find: Find) {
        let may = rights::check_query(&self.shared.rights.acl, requester, &find);
        if let Err(fault) = may {
            let agent = self.agent.as_mut();
            let refused = agent.map(|agent| agent.not_found(&find, &fault));
            return self.publish(refused.unwrap_or_default());
        }
        let sight = Sight::of(&self.shared.rights.acl, &requester.user);
        let Err(find) = self.listings.add(connection, find, sight) else {
            return;
        };
        let fault = Fault::exception("management has more queries than it can answer");
        let agent = self.agent.as_mut();
        let refused = agent.map(|agent| agent.not_found(&find, &fault));
        self.publish(refused.unwrap_or_default());
    }

    fn call(&mut self, requester: Requester, called: Box<Called>) {
        tracing::debug!(
            target: "Model",
            "Management call of {} on {} by {} at {}",
            called.method().name, called.object, requester.user, requester.address
        );
        let may = rights::check_call(&self.shared.rights.acl, &requester, &called)
            .and_then(|()| rights::check_direct(self.shared, &requester, &called.call));
        if let Err(fault) = may {
            return self.answer(&called, Err(fault));
        }
        let mut deed = None;
        self.group
            .look(&mut |core: &Core| deed = Some(deed::deed(core, &called)));
        match deed {
            None => self.answer(
                &called,
                Err(Fault::exception("the broker is not there yet")),
            ),
            Some(Deed::Done(answer)) => self.answer(&called, answer),
            Some(Deed::Act(action)) => match rights::permitted(self.shared, &requester, action) {
                Ok(action) => self.act(Waiting::Call(called), requester, action),
                Err(fault) => self.answer(&called, Err(fault)),
            },
            Some(Deed::Absent(action)) => {
                let may = rights::permitted(self.shared, &requester, action);
                let answer = may.and_then(|_| Err(called.unknown_object()));
                self.answer(&called, answer);
            }
            Some(Deed::Process(deed)) => match self.ordered(&deed) {
                Ok(Some(action)) => self.act(Waiting::Call(called), requester, action),
                Ok(None) => {
                    let answer = self.do_here(&deed);
                    self.answer(&called, answer);
                }
                Err(fault) => self.answer(&called, Err(fault)),
            },
        }
    }

    fn act(
        &mut self,
        waiting: Waiting,
        requester: Requester,
        action: crate::broker::management::Action,
    ) {
        self.acted += 1;
        let user = requester.user.clone();
        self.acting.insert(self.acted, (waiting, user));
        self.commands.push_back(AgentCommand::Act {
            number: self.acted,
            requester,
            action: Box::new(action),
        });
    }

    fn outcome(&mut self, number: u64, outcome: Result<u64, crate::broker::Refusal>) {
        let (waiting, user) = self.acting.remove(&number).unzip();
        if let (Err(refusal), Some(user)) = (&outcome, &user) {
            self.shared.rights.acl.note_refusal(user, refusal);
        }
        match waiting {
            Some(Waiting::Opening) => self.opened(),
            Some(Waiting::Call(called)) => {
                let answer = deed::outcome(&called, outcome);
                self.answer(&called, answer);
            }
            // Err: who asked has gone meanwhile.
            Some(Waiting::Look(reply)) => drop(reply.send(self.setting.clone())),
            Some(Waiting::Act(reply)) => drop(reply.send(outcome)),
            Some(Waiting::Do(reply)) => {
                let done = outcome.map(|_| Vec::new());
                let done = done.map_err(|refusal| Fault::exception(refusal.text));
                drop(reply.send(done));
            }
            None => {}
        }
    }

    /// The group knows the agent: it is called as the group says.
    fn opened(&mut self) {
        let mut identity: Option<Identity> = None;
        let shared = self.shared;
        let start = self.start;
        let member = (!self.group.is_alone()).then(|| self.group.member());
        self.group.look(&mut |core: &Core| {
            let (boot, name) = (start.boot, core.agent_name());
            identity = Some(match member {
                None => boot.identity_of(name),
                Some(member) => boot.identity_in_group(name, member),
            });
            shared.set_stamping(core.is_stamping());
        });
        if let Some(identity) = identity {
            self.setting.broker = identity.broker;
            self.agent = Some(Agent::new(identity, self.start.told));
        }
    }

    fn answer(&mut self, called: &Called, answer: Result<Vec<Datum>, Fault>) {
        let agent = self.agent.as_mut();
        let publications = agent.map(|agent| agent.called(called, answer));
        self.publish(publications.unwrap_or_default());
    }

    /// Something has happened: those are told who listen by HTTP. The core tells the others.
    fn hear(&mut self, event: Event) {
        let Some(agent) = &mut self.agent else {
            return;
        };
        agent.hear(&event);
        if self.asked.events.receiver_count() == 0 {
            return;
        }
        let at = clock::wall_nanoseconds();
        for event in event.into_told() {
            // Err: nobody listens any more.
            let _ = self.asked.events.send(ToldEvent { at, event });
        }
    }

    fn do_here(&mut self, deed: &ProcessDeed) -> Result<Vec<Datum>, Fault> {
        match deed {
            ProcessDeed::LogLevel => Ok(BrokerMethod::get_log_level_answer(log::level().into())),
            ProcessDeed::SetLogLevel(rules) => {
                log::set_level(rules).map_err(Fault::exception)?;
                Ok(Vec::new())
            }
            ProcessDeed::LogHires => {
                Ok(BrokerMethod::get_log_hires_timestamp_answer(log::is_hires()))
            }
            ProcessDeed::SetLogHires(is_hires) => {
                log::set_hires(*is_hires);
                Ok(Vec::new())
            }
            ProcessDeed::Acl(method) => rights::call(self.shared, method),
            ProcessDeed::Shutdown => {
                self.start.shutdown.notify_one();
                Ok(Vec::new())
            }
            // They are ordered, and done by each member that is meant.
            ProcessDeed::StopMember(_) | ProcessDeed::StopCluster => {
                Err(Fault::of(Status::FeatureNotImplemented))
            }
        }
    }

    /// Has messages published that can be made.
    fn publish(&mut self, publications: Vec<Publication>) {
        for publication in publications {
            match Message::published(publication) {
                Ok((exchange, message)) => self.commands.push_back(AgentCommand::Publish {
                    exchange,
                    message: Arc::new(message),
                }),
                Err(error) => {
                    tracing::error!(target: "Management", "an answer cannot be sent: {error}");
                }
            }
        }
    }

    fn key(&self) -> ConnectionKey {
        ConnectionKey {
            member: self.group.member(),
            number: self.number,
        }
    }
}
