//! From options to a running broker, and its end.

use std::net::IpAddr;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::{Notify, watch};
use tokio::task::JoinSet;

use super::accept::{self, Ended};
use super::agent::Boot;
use super::clock::{Clock, random};
use super::cluster::Cluster;
use super::config::herald::{Herald, Start};
use super::config::qpidd_store;
use super::driver::Shared;
use super::happenings::Happenings;
use super::keeper::Keeper as JournalKeeper;
use super::links::OwnBroker;
use super::listen::{self, Port};
use super::log::{self, critical, notice};
use super::managed::Managed;
use super::options::{GroupKind, Options};
use super::peers::steward::KnownHosts;
use super::peers::words::Refusal;
use super::registry::Registry;
use super::rights::Rights;
use super::socket::Carriage;
use super::turns::Turns;
use super::{agent, http, limits, members, reload, replication, sequencer, storage};
use crate::adapter::DtxTimeouts;
use crate::broker;
use crate::cluster::{Group, lockstep};
use crate::federation::{Keeper, News};
use crate::protocol::{Bounds, BrokerConfig};
use crate::security::access::{Admission, Auth};
use crate::security::acl::Acl;
use crate::security::sasl::Sasl;
use crate::security::tls::Tls;
use crate::wire::{Map, Text, Value};

/// Runs a broker until it is told to stop. The status is 0 when it stopped as it was told and
/// nothing had gone wrong.
pub fn run(options: Options, start: Start) -> ExitCode {
    let Start {
        warnings,
        mut herald,
    } = start;
    if let Err(error) = log::start(&options.log) {
        eprintln!("ferrymq: {error}");
        herald.failed(&error);
        return ExitCode::FAILURE;
    }
    for warning in warnings {
        tracing::warn!(target: "Broker", "{warning}");
    }
    let is_seen = options.log.log_to_stderr;
    let ended = start_runtime(&options).and_then(|runtime| {
        let ended = runtime.block_on(serve(options, &mut *herald));
        runtime.shutdown_timeout(Duration::from_secs(1));
        ended
    });
    match ended {
        Ok(Ended::Well) => ExitCode::SUCCESS,
        Ok(Ended::AfterPanic) => ExitCode::FAILURE,
        Err(error) => {
            critical!("Broker", "{error}");
            herald.failed(&error);
            if !is_seen {
                eprintln!("ferrymq: {error}");
            }
            ExitCode::FAILURE
        }
    }
}

fn start_runtime(options: &Options) -> Result<tokio::runtime::Runtime, String> {
    let threads = options.threads();
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(threads)
        .enable_all()
        .build()
        .map_err(|error| format!("cannot start {threads} threads: {error}"))
}

async fn serve(options: Options, herald: &mut dyn Herald) -> Result<Ended, String> {
    if let Some(directory) = storage::data_dir(&options) {
        qpidd_store::refuse(&directory)?;
    }
    let clock = Clock::start();
    // Before anybody learns the port: who has it may already say stop.
    let mut signals = Signals::catch()?;
    let places = places(&options)?;
    let (rights, sasl, tls) = security(&options)?;
    if options.group == GroupKind::Raft {
        look_at_ports(&options, &places, tls.as_ref())?;
    }
    let mut sequencers = JoinSet::new();
    let known_hosts = KnownHosts::default();
    let started = tokio::select! {
        started = start_groups(&options, (clock, &known_hosts), &mut sequencers) => started?,
        () = signals.told_to_stop() => return Ok(Ended::Well),
    };
    let Started {
        groups,
        keeper,
        cluster,
    } = started;
    let managed = Managed::of(&options, cluster.as_ref().map(Cluster::group))?;
    let ports = open_ports(&options, &places, herald)?;
    let secure = open_secure_port(&options, &places, tls.as_ref())?;
    let security = (rights, sasl, tls.clone());
    let shared = shared(&options, clock, security, (known_hosts, managed.as_ref()));
    let http = http::open(&places.http)?;
    let (stop, stopped) = watch::channel(false);
    let shutdown = Arc::new(Notify::new());
    let (mut agents, entrances) =
        start_agents(managed.as_ref(), &ports, &groups, (&shared, &shutdown));
    wait_for_agents(&entrances).await;
    let carried = carried(&options, (ports, secure), tls.as_ref(), &groups);
    let mut listeners = listen_to(carried, &shared, &stopped);
    let reloading = tokio::spawn(reload::run(signals.hangup(), shared.clone()));
    for group in &groups {
        agents.spawn(replication::run(group.clone(), options.replication.clone()));
    }
    if let (Some(http), Some(entrance), Some(group)) = (http, entrances.first(), groups.first()) {
        let view = http::View::new(group.clone(), shared.clone(), entrance.clone());
        agents.spawn(http::run(http, Arc::new(view)));
    }
    notice!("Broker", "Broker (pid={}) running", std::process::id());
    let failed = tokio::select! {
        failed = wait_for_the_end(&mut signals, &mut sequencers, &mut listeners) => failed,
        () = shutdown.notified() => {
            notice!("Broker", "Shutting down: management asked for it");
            None
        }
        why = taken_out(cluster.as_ref()) => {
            notice!("Broker", "Shutting down: {why}");
            None
        }
    };
    agents.shutdown().await;
    // All receivers may be gone when listeners have failed, and then there is nobody to stop.
    let _ = stop.send(true);
    reloading.abort();
    let ended = ended(listeners).await;
    if let Some(cluster) = cluster {
        if failed.is_none() {
            cluster.leave().await;
        }
        cluster.end().await;
    }
    sequencers.shutdown().await;
    drop(keeper);
    if let Some(failed) = failed {
        return Err(failed);
    }
    finish(&groups, clock)?;
    notice!("Broker", "Broker (pid={}) stopped", std::process::id());
    Ok(ended)
}

/// Waits until the broker is taken out of its cluster, and gives why; without one for ever.
async fn taken_out(cluster: Option<&Cluster>) -> Refusal {
    match cluster {
        Some(cluster) => cluster.out().await,
        None => std::future::pending().await,
    }
}

/// An agent for each seat, if the broker is managed, and the ways to them.
fn start_agents(
    managed: Option<&Managed>,
    ports: &[Port],
    groups: &[Arc<dyn Group>],
    (shared, shutdown): (&Arc<Shared>, &Arc<Notify>),
) -> (JoinSet<()>, Vec<agent::Entrance>) {
    let mut agents = JoinSet::new();
    let mut entrances = Vec::new();
    for (port, group) in ports.iter().zip(groups) {
        if let Some(managed) = managed {
            let news = Arc::<News>::default();
            let start = managed.start(port.number, shutdown, &news);
            let (entrance, asked) = agent::entrance();
            entrances.push(entrance.clone());
            agents.spawn(agent::run(group.clone(), shared.clone(), start, asked));
            let own = OwnBroker {
                group: group.clone(),
                shared: shared.clone(),
                entrance,
                settings: managed.links().clone(),
            };
            agents.spawn(Keeper::run(Arc::new(own), news));
        }
    }
    (agents, entrances)
}

/// Waits until agents can be asked, so that the first client finds their exchanges. Not without end: the
/// order may stand still.
async fn wait_for_agents(entrances: &[agent::Entrance]) {
    let opened = async {
        for entrance in entrances {
            entrance.opened().await;
        }
    };
    if tokio::time::timeout(limits::AGENTS_OPEN, opened)
        .await
        .is_err()
    {
        tracing::warn!(target: "Management", "The agent is not there yet; clients are served all the same");
    }
}

/// Where to listen.
struct Places {
    /// Addresses; the flag says whether one may be missing on this machine.
    addresses: Vec<(IpAddr, bool)>,
    /// Those at which everybody is let in.
    open_to_all: Vec<String>,
    /// Where management is served over HTTP.
    http: http::Places,
}

/// Looks at what was said of ports and addresses, before anything is touched.
fn places(options: &Options) -> Result<Places, String> {
    if options.port.len() > limits::PORTS_MAX {
        return Err(format!("--port: more than {} ports", limits::PORTS_MAX));
    }
    if options.group != GroupKind::Lockstep && options.port.len() != 1 {
        return Err("--port: several ports are for --group lockstep".to_owned());
    }
    match options.group {
        GroupKind::Raft => options.cluster.check()?,
        GroupKind::Solo | GroupKind::Lockstep => options.cluster.check_unused()?,
    }
    let addresses = options.addresses()?;
    let mut open_to_all = Vec::new();
    for (address, _) in &addresses {
        if options.security.access().admit(*address)? == Admission::Everybody {
            open_to_all.push(address.to_string());
        }
    }
    Ok(Places {
        addresses,
        open_to_all,
        http: http::places(options)?,
    })
}

/// Rights, logins, and TLS where it is configured.
type Security = (Rights, Arc<Sasl>, Option<Arc<Tls>>);

/// Reads who gets in and who may do what, before anything is touched.
fn security(options: &Options) -> Result<Security, String> {
    let directory = storage::data_dir(options);
    let security = &options.security;
    let acl = Acl::start(security.rights(directory.as_deref()))?;
    if let Some(file) = &acl.settings().file {
        notice!("Security", "ACL: Read file \"{}\"", file.display());
    }
    let rights = Rights {
        acl,
        is_authenticating: security.access() == Auth::Yes,
        default_queue_limit: options.default_queue_limit,
    };
    let sasl = Arc::new(security.sasl(directory.as_deref())?);
    Ok((rights, sasl, security.tls()?.map(Arc::new)))
}

/// Listens, and has the ports told.
fn open_ports(
    options: &Options,
    places: &Places,
    herald: &mut dyn Herald,
) -> Result<Vec<Port>, String> {
    let mut ports = Vec::new();
    for port in &options.port {
        let listening = listen::listen(&places.addresses, *port, options.connection_backlog);
        ports.push(listening.map_err(|why| not_there("--port", &why))?);
    }
    let numbers: Vec<u16> = ports.iter().map(|port| port.number).collect();
    herald.serving(&numbers)?;
    if !places.open_to_all.is_empty() {
        tracing::warn!(
            target: "Security",
            "Authentication is off: everybody who reaches {} gets in",
            places.open_to_all.join(" or ")
        );
    }
    if let Some(warning) = options.security.warning() {
        tracing::warn!(target: "Security", "{warning}");
    }
    Ok(ports)
}

/// The port for TLS, where it is configured and has a port of its own.
fn secure_port(options: &Options, tls: Option<&Arc<Tls>>) -> Option<u16> {
    let port = options.security.tls.ssl_port;
    (tls.is_some() && (port == 0 || !options.port.contains(&port))).then_some(port)
}

/// Looks whether others listen on the ports. A member listens for clients when its cluster has taken it in;
/// one that could not listen then would count for the majority, and be down.
fn look_at_ports(options: &Options, places: &Places, tls: Option<&Arc<Tls>>) -> Result<(), String> {
    for port in &options.port {
        let looked = listen::look(&places.addresses, *port);
        looked.map_err(|why| not_there("--port", &why))?;
    }
    if let Some(port) = secure_port(options, tls) {
        let looked = listen::look(&places.addresses, port);
        looked.map_err(|why| not_there("--ssl-port", &why))?;
    }
    http::look(&places.http)
}

/// Listens for TLS, where it is configured and has a port of its own.
fn open_secure_port(
    options: &Options,
    places: &Places,
    tls: Option<&Arc<Tls>>,
) -> Result<Option<Port>, String> {
    let Some(port) = secure_port(options, tls) else {
        return Ok(None);
    };
    let backlog = options.connection_backlog;
    listen::listen(&places.addresses, port, backlog)
        .map(Some)
        .map_err(|why| not_there("--ssl-port", &why))
}

/// Why a port is not listened on, with the option that asks for another.
fn not_there(option: &str, why: &str) -> String {
    format!("{why} ({option} N or {option} 0 asks for another)")
}

/// Begins to listen, and says so.
fn listen_to(
    carried: Vec<(Port, Carriage, Arc<dyn Group>)>,
    shared: &Arc<Shared>,
    stopped: &watch::Receiver<bool>,
) -> JoinSet<Ended> {
    let mut listeners = JoinSet::new();
    for (port, carriage, group) in carried {
        let number = port.number;
        let what = match carriage {
            Carriage::Plain => "",
            Carriage::Secure(_) => "for SSL connections ",
            Carriage::Either(_) => "for SSL or TCP connections ",
        };
        // Said first: whoever is served finds it in the log.
        notice!("Network", "Listening {what}on TCP/TCP6 port {number}");
        for listener in port.listeners {
            let listener = (listener, carriage.clone());
            let accepting = accept::run(listener, group.clone(), shared.clone(), stopped.clone());
            listeners.spawn(accepting);
        }
    }
    listeners
}

/// Waits until nobody listens any more.
async fn ended(mut listeners: JoinSet<Ended>) -> Ended {
    let mut ended = Ended::Well;
    while let Some(joined) = listeners.join_next().await {
        if joined.unwrap_or(Ended::AfterPanic) == Ended::AfterPanic {
            ended = Ended::AfterPanic;
        }
    }
    ended
}

/// What all connections share.
fn shared(
    options: &Options,
    clock: Clock,
    (rights, sasl, tls): Security,
    (known_hosts, managed): (KnownHosts, Option<&Managed>),
) -> Arc<Shared> {
    let happenings = Arc::new(Happenings::new(clock, managed.is_some()));
    rights.acl.tell_to(happenings.clone());
    Arc::new(Shared {
        clock,
        registry: Registry::default(),
        config: broker_config(options, managed),
        rights,
        sasl,
        failures: Arc::default(),
        turns: Turns::new(limits::hashed_at_once()),
        requires_encryption: options.security.require_encryption,
        tls,
        connections_max: options.security.max_connections,
        is_nodelay: options.tcp_nodelay,
        dtx_timeouts: DtxTimeouts {
            default_seconds: options.dtx_default_timeout,
            seconds_max: options.dtx_max_timeout,
        },
        known_hosts,
        session_timeout_max: options.session_timeout_max,
        is_stamping: AtomicBool::new(options.management.enable_timestamp),
        happenings,
        strangers: Arc::default(),
    })
}

/// Ports with what goes through them and whose they are: TLS goes through its own and leads to the first
/// member, or through those of all.
fn carried(
    options: &Options,
    (ports, secure): (Vec<Port>, Option<Port>),
    tls: Option<&Arc<Tls>>,
    groups: &[Arc<dyn Group>],
) -> Vec<(Port, Carriage, Arc<dyn Group>)> {
    let ssl_port = options.security.tls.ssl_port;
    let is_shared = ssl_port != 0 && options.port.contains(&ssl_port);
    let plain = match tls {
        Some(tls) if is_shared => Carriage::Either(tls.clone()),
        _ => Carriage::Plain,
    };
    let mut all: Vec<(Port, Carriage, Arc<dyn Group>)> = Vec::new();
    for (port, group) in ports.into_iter().zip(groups) {
        all.push((port, plain.clone(), group.clone()));
    }
    if let (Some(port), Some(tls), Some(group)) = (secure, tls, groups.first()) {
        all.push((port, Carriage::Secure(tls.clone()), group.clone()));
    }
    all
}

/// What orders commands.
struct Started {
    /// One seat for each port.
    groups: Vec<Arc<dyn Group>>,
    /// Who gives back the journal's room.
    keeper: Option<JournalKeeper>,
    /// The member of a cluster that this broker is.
    cluster: Option<Cluster>,
}

/// One seat for each port. The tasks that call them go to `sequencers`.
async fn start_groups(
    options: &Options,
    (clock, known_hosts): (Clock, &KnownHosts),
    sequencers: &mut JoinSet<String>,
) -> Result<Started, String> {
    let core_options = options.core();
    let mut started = Started {
        groups: Vec::new(),
        keeper: None,
        cluster: None,
    };
    match options.group {
        GroupKind::Solo => {
            let (solo, keeper) = storage::start(options, core_options, (clock, random()))?;
            started.groups.push(solo);
            started.keeper = keeper;
        }
        GroupKind::Lockstep => {
            let seed = options.lockstep_seed.unwrap_or_else(random);
            notice!("Broker", "Lockstep group with seed={seed}");
            let settings = lockstep::Settings::usual(seed);
            let random = random();
            let seats = members::start(options, core_options, settings, (clock, random))?;
            started.groups = seats.into_iter().map(seat_of).collect();
        }
        GroupKind::Raft => {
            let shared = (clock, known_hosts);
            let cluster = Cluster::start(options, &core_options, shared, sequencers).await?;
            started.groups.push(cluster.seat());
            started.cluster = Some(cluster);
            // Its seat is called already.
            return Ok(started);
        }
    }
    for group in &started.groups {
        sequencers.spawn(sequencer::run(group.clone(), clock));
    }
    Ok(started)
}

fn seat_of(seat: lockstep::Seat<broker::Core>) -> Arc<dyn Group> {
    Arc::new(seat)
}

fn broker_config(options: &Options, managed: Option<&Managed>) -> BrokerConfig {
    let unkept = || Boot::unkept(random).identity().instance().into();
    let tag = managed.map_or_else(unkept, Managed::federation_tag);
    let text = |text: &str| Value::Str16(Text::from(text));
    let properties = [
        ("product", text(env!("CARGO_PKG_NAME"))),
        ("version", text(env!("CARGO_PKG_VERSION"))),
        ("platform", text(std::env::consts::OS)),
        ("host", text(&host_name())),
        ("qpid.federation_tag", Value::Str16(tag)),
    ];
    BrokerConfig {
        server_properties: properties.into_iter().collect::<Map>(),
        bounds: Bounds {
            negotiate_milliseconds: options.max_negotiate_time,
            ..options.limits.bounds(Bounds::default())
        },
        ..BrokerConfig::default()
    }
}

fn host_name() -> String {
    let read = std::fs::read_to_string("/proc/sys/kernel/hostname");
    let name = read.unwrap_or_default().trim().to_owned();
    match name.is_empty() {
        true => "localhost".to_owned(),
        false => name,
    }
}

/// The signals that stop the broker, and the one that has it read files again.
struct Signals {
    terminate: Signal,
    interrupt: Signal,
    /// What was asked to be read again; taken by who does that.
    hangup: Option<Signal>,
}

impl Signals {
    /// From now on they are noted, and no longer end the process by themselves.
    fn catch() -> Result<Signals, String> {
        let catch =
            |kind| signal(kind).map_err(|error| format!("cannot wait for signals: {error}"));
        Ok(Signals {
            terminate: catch(SignalKind::terminate())?,
            interrupt: catch(SignalKind::interrupt())?,
            hangup: Some(catch(SignalKind::hangup())?),
        })
    }
}

impl Signals {
    /// The signal that has files read again, once.
    fn hangup(&mut self) -> Option<Signal> {
        self.hangup.take()
    }

    /// Waits until one of them comes, and says which in the log.
    async fn told_to_stop(&mut self) {
        let name = tokio::select! {
            _ = self.terminate.recv() => "SIGTERM",
            _ = self.interrupt.recv() => "SIGINT",
        };
        notice!("Broker", "Shutting down: {name}");
    }
}

/// Waits until the broker is told to stop, or cannot go on: some text says why.
async fn wait_for_the_end(
    signals: &mut Signals,
    sequencers: &mut JoinSet<String>,
    listeners: &mut JoinSet<Ended>,
) -> Option<String> {
    tokio::select! {
        () = signals.told_to_stop() => None,
        Some(joined) = sequencers.join_next() => {
            Some(joined.unwrap_or_else(|error| format!("a sequencer panicked: {error}")))
        }
        Some(joined) = listeners.join_next() => {
            Some(format!("a listener has ended: {joined:?}"))
        }
    }
}

/// Ends the group, by any of its seats: its last words go to the log.
fn finish(seats: &[Arc<dyn Group>], clock: Clock) -> Result<(), String> {
    let Some(seat) = seats.first() else {
        return Ok(());
    };
    if let Some(text) = seat.finish(clock.millis())? {
        notice!("Broker", "{text}");
    }
    Ok(())
}
