//! One link: its connection to the other broker, and the bridges on it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Notify, mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

use super::bridge::{self, Ends};
use super::failover;
use super::home::{Home, Outgoing};
use super::limits;
use super::news::News;
use super::route::Route;
use crate::broker::limits::LINK_ERROR_BYTES_MAX;
use crate::broker::links::{BridgeDefinition, Link, LinkDefinition, LinkState, Report};
use crate::client::{Client, Error, Options};
use crate::wire::url::{Address, Url, User};
use crate::wire::{Map, Text, Value};

/// What a link says of itself, and its broker's tag. Brokers go by it.
const IS_LINK: &str = "qpid.fed_link";
const TAG: &str = "qpid.federation_tag";

/// What a link is to do.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The link's number.
    pub number: u64,
    /// Where to.
    pub definition: LinkDefinition,
    /// The bridges on it, with their numbers.
    pub bridges: BTreeMap<Text, (u64, BridgeDefinition)>,
}

impl Plan {
    /// Of a link of the core.
    pub fn of(link: &Link) -> Plan {
        let bridges = link.bridges.iter();
        Plan {
            number: link.number,
            definition: link.definition.clone(),
            bridges: bridges
                .map(|(name, bridge)| (name.clone(), (bridge.number, bridge.definition.clone())))
                .collect(),
        }
    }
}

/// Drives a link until its task is ended.
pub async fn run(home: Arc<dyn Home>, plan: watch::Receiver<Arc<Plan>>, news: Arc<News>) {
    let first = plan.borrow().clone();
    let route = Route::new(first.definition.address.clone(), home.pause());
    let mut driving = Driving {
        home,
        number: first.number,
        definition: first.definition.clone(),
        plan,
        news,
        route,
        said: None,
    };
    loop {
        let pause = driving.round().await;
        sleep(pause).await;
    }
}

/// Why a link has no connection.
enum Lost {
    /// The other broker has refused it.
    Refused(String),
    /// It may be there again soon.
    Gone(String),
}

struct Driving {
    home: Arc<dyn Home>,
    number: u64,
    definition: LinkDefinition,
    plan: watch::Receiver<Arc<Plan>>,
    news: Arc<News>,
    route: Route,
    /// What was reported last.
    said: Option<Report>,
}

impl Driving {
    /// Tries all addresses, and stays with one that lets the link in until that is lost. Gives the pause
    /// before the next round.
    async fn round(&mut self) -> Duration {
        let mut last_error = self.said.take().map(|said| said.error).unwrap_or_default();
        let mut is_refused = false;
        while let Some(address) = self.route.next() {
            self.say(LinkState::Connecting, &last_error, Some(&address), "")
                .await;
            let begun = Instant::now();
            let (lost, was_up) = self.try_address(&address).await;
            let (refused, why) = match lost {
                Lost::Refused(why) => (true, why),
                Lost::Gone(why) => (false, why),
            };
            is_refused = refused;
            last_error = why.into();
            let name = &self.definition.name;
            tracing::warn!(target: "Federation", "link {name} to {address}: {last_error}");
            let state = match refused {
                true => LinkState::Failed,
                false => LinkState::Waiting,
            };
            self.say(state, &last_error, Some(&address), "").await;
            if was_up && begun.elapsed() < self.home.pause() {
                // Whoever lets links in and ends them at once is not asked without end.
                return self.route.pause();
            }
        }
        match is_refused {
            true => self.route.longest_pause(),
            false => self.route.pause(),
        }
    }

    /// Why there is no connection to this address any more, and whether there was one.
    async fn try_address(&mut self, address: &Address) -> (Lost, bool) {
        let client = match self.connect(address).await {
            Ok(client) => client,
            Err(lost) => return (lost, false),
        };
        let remote: Text = format!("{}:{}", address.host, address.port).into();
        let local = client.local_address().map(|local| local.to_string());
        let outgoing = Outgoing {
            local: local.unwrap_or_default().into(),
            remote,
            mechanism: client.mechanism().into(),
            properties: client.server_properties().clone(),
        };
        let shown = crate::broker::connections::address(&outgoing.local, &outgoing.remote);
        let (here, inlets) = match self.home.open(outgoing).await {
            Ok(opened) => opened,
            Err(error) => return (Lost::Gone(format!("at this broker: {error}")), false),
        };
        self.route.learn(client.known_hosts());
        self.route.succeeded(address);
        let peer = client.server_properties().get(TAG).and_then(Value::as_str);
        let ends = Ends {
            here,
            inlets,
            own: self.home.tag(),
            peer: peer.unwrap_or_default().into(),
            there: client,
        };
        tracing::info!(target: "Federation", "link {} to {address} is there", self.definition.name);
        (self.serve(ends, address, &shown).await, true)
    }

    async fn connect(&self, address: &Address) -> Result<Client, Lost> {
        let properties: Map = [
            (IS_LINK, Value::I32(1)),
            (TAG, Value::Str16(self.home.tag())),
        ]
        .into_iter()
        .collect();
        let filled = |text: &Text| (!text.is_empty()).then(|| text.clone());
        let user = filled(&self.definition.user).map(|name| User {
            name,
            password: filled(&self.definition.password),
        });
        let options = Options {
            user,
            mechanism: filled(&self.definition.mechanism),
            tls: self.home.tls(),
            client_properties: properties,
            virtual_host: "/".into(),
            heartbeat: self.home.heartbeat(),
            connect_timeout: limits::CONNECT_TIMEOUT,
            ..Options::default()
        };
        let url = Url {
            addresses: vec![address.clone()],
            user: None,
        };
        Client::connect(&url, &options)
            .await
            .map_err(|error| match error {
                error if error.is_refusal() => Lost::Refused(error.to_string()),
                Error::NoAddress if self.home.tls().is_none() => Lost::Gone(
                    "no certificates are configured to reach a broker over TLS".to_owned(),
                ),
                error => Lost::Gone(error.to_string()),
            })
    }

    /// Keeps the bridges going until a connection ends.
    async fn serve(&mut self, ends: Ends, address: &Address, shown: &str) -> Lost {
        let (known, mut members) = watch::channel(Vec::new());
        let (begin, mut begun) = mpsc::channel(limits::SIGNALS_MAX);
        let mut bridges = Bridges {
            home: self.home.clone(),
            news: self.news.clone(),
            ends: ends.clone(),
            running: BTreeMap::new(),
            errors: BTreeMap::new(),
            begin,
            tasks: JoinSet::new(),
        };
        bridges.tasks.spawn(follow(ends.there.clone(), known));
        loop {
            let plan = self.plan.borrow_and_update().clone();
            bridges.compare(&plan);
            let error = bridges.errors.values().next().cloned().unwrap_or_default();
            self.say(LinkState::Operational, &error, Some(address), shown)
                .await;
            tokio::select! {
                biased;
                why = ends.there.closed() => return Lost::Gone(why.to_string()),
                why = ends.here.closed() => {
                    return Lost::Gone(format!("at this broker: {why}"));
                }
                changed = self.plan.changed() => {
                    if changed.is_err() {
                        std::future::pending::<()>().await;
                    }
                }
                Some(ended) = bridges.tasks.join_next() => {
                    if let Ok(Some(ended)) = ended {
                        bridges.ended(ended);
                    }
                }
                Some(name) = begun.recv() => bridges.begun(&name),
                Ok(()) = members.changed() => {
                    let urls = members.borrow_and_update().clone();
                    self.route.learn(&urls);
                    self.route.succeeded(address);
                }
            }
        }
    }

    /// Has the core know how the link is, unless it does.
    async fn say(&mut self, state: LinkState, error: &str, address: Option<&Address>, shown: &str) {
        let mut error = error.to_owned();
        if error.len() > LINK_ERROR_BYTES_MAX {
            error.truncate(error.floor_char_boundary(LINK_ERROR_BYTES_MAX));
        }
        let report = Report {
            link: self.definition.name.clone(),
            number: self.number,
            state,
            error: error.into(),
            address: address.cloned(),
            connection: shown.into(),
        };
        if self.said.as_ref() != Some(&report) {
            self.said = Some(report.clone());
            self.home.report(report).await;
        }
    }
}

/// What a task of a link has come to: the bridge, its number, and why it has ended; None for one that is no
/// bridge.
type Ended = Option<(Text, u64, Result<(), String>)>;

async fn follow(client: Client, known: watch::Sender<Vec<Text>>) -> Ended {
    if let Err(error) = failover::follow(client, known).await {
        tracing::debug!(target: "Federation", "no updates of members: {error}");
    }
    None
}

struct Running {
    number: u64,
    stop: Arc<Notify>,
    task: tokio::task::AbortHandle,
    /// How often it has failed.
    failures: u32,
}

/// The bridges of a link that is there.
struct Bridges {
    home: Arc<dyn Home>,
    news: Arc<News>,
    ends: Ends,
    running: BTreeMap<Text, Running>,
    /// What went wrong last with each of them.
    errors: BTreeMap<Text, Text>,
    begin: mpsc::Sender<Text>,
    tasks: JoinSet<Ended>,
}

impl Bridges {
    /// Begins and ends bridges, so that those are there that are planned.
    fn compare(&mut self, plan: &Plan) {
        self.running.retain(|name, running| {
            let planned = plan.bridges.get(name);
            let stays = planned.is_some_and(|(number, _)| *number == running.number);
            if !stays {
                running.stop.notify_one();
                self.errors.remove(name);
            }
            stays
        });
        for (name, (number, definition)) in &plan.bridges {
            let running = self.running.get(name);
            if running.is_none_or(|running| running.task.is_finished()) {
                let failures = running.map_or(0, |running| running.failures);
                self.begin(definition, *number, failures);
            }
        }
    }

    /// Begins a bridge, after a pause when it has failed before.
    fn begin(&mut self, definition: &BridgeDefinition, number: u64, failures: u32) {
        let growth = 2u32.saturating_pow(failures.saturating_sub(1));
        let pause = match failures {
            0 => Duration::ZERO,
            _ => limits::BRIDGE_PAUSE * growth.min(limits::PAUSE_GROWTH_MAX),
        };
        let (home, ends) = (self.home.clone(), self.ends.clone());
        let (name, definition) = (definition.name.clone(), definition.clone());
        let stop = Arc::<Notify>::default();
        let signals = bridge::Signals {
            news: self.news.clone(),
            stop: stop.clone(),
            begun: self.begin.clone(),
        };
        let called = name.clone();
        let task = self.tasks.spawn(async move {
            let is_stopped = tokio::select! {
                () = signals.stop.notified() => true,
                () = sleep(pause) => false,
            };
            let ended = match is_stopped {
                true => Ok(()),
                false => bridge::run(home, definition, ends, signals).await,
            };
            Some((called, number, ended))
        });
        let running = Running {
            number,
            stop,
            task,
            failures,
        };
        self.running.insert(name, running);
    }

    /// A bridge carries.
    fn begun(&mut self, name: &Text) {
        self.errors.remove(name);
        if let Some(running) = self.running.get_mut(name) {
            running.failures = 0;
        }
    }

    /// A bridge has ended: it is begun again.
    fn ended(&mut self, ended: (Text, u64, Result<(), String>)) {
        let (name, number, why) = ended;
        let running = self
            .running
            .get_mut(&name)
            .filter(|one| one.number == number);
        let (Some(running), Err(why)) = (running, why) else {
            return;
        };
        running.failures += 1;
        tracing::warn!(target: "Federation", "bridge {name}: {why}");
        let error = format!("bridge {name}: {why}").into();
        self.errors.insert(name, error);
    }
}
