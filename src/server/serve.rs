//! From options to a running broker, and its end.

use std::io::Write;
use std::net::IpAddr;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::accept::{self, Ended};
use super::clock::{Clock, random};
use super::cluster::Cluster;
use super::driver::Shared;
use super::keeper::Keeper;
use super::listen::{self, Port};
use super::log::{self, critical, notice};
use super::options::{GroupKind, Options};
use super::peers::steward::KnownHosts;
use super::registry::Registry;
use super::{limits, members, sequencer, storage};
use crate::adapter::DtxTimeouts;
use crate::broker;
use crate::cluster::{Group, lockstep};
use crate::protocol::{Bounds, BrokerConfig};
use crate::security::access::Admission;
use crate::security::sasl;
use crate::wire::{Map, Text, Value};

/// Runs a broker until it is told to stop. The status is 0 when it stopped as it was told and
/// nothing had gone wrong.
pub fn run(options: Options) -> ExitCode {
    if let Err(error) = log::start(&options.log) {
        eprintln!("ferrymq: {error}");
        return ExitCode::FAILURE;
    }
    let is_seen = options.log.log_to_stderr;
    let ended = start_runtime(&options).and_then(|runtime| {
        let ended = runtime.block_on(serve(options));
        runtime.shutdown_timeout(Duration::from_secs(1));
        ended
    });
    match ended {
        Ok(Ended::Well) => ExitCode::SUCCESS,
        Ok(Ended::AfterPanic) => ExitCode::FAILURE,
        Err(error) => {
            critical!("Broker", "{error}");
            if !is_seen {
                eprintln!("ferrymq: {error}");
            }
            ExitCode::FAILURE
        }
    }
}

fn start_runtime(options: &Options) -> Result<tokio::runtime::Runtime, String> {
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = options.worker_threads.map_or(processors + 1, usize::from);
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(threads)
        .enable_all()
        .build()
        .map_err(|error| format!("cannot start {threads} threads: {error}"))
}

async fn serve(options: Options) -> Result<Ended, String> {
    let clock = Clock::start();
    // Before anybody learns the port: who has it may already say stop.
    let mut signals = Signals::catch()?;
    let places = places(&options)?;
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
    let ports = open_ports(&options, &places)?;
    let shared = Arc::new(Shared {
        clock,
        registry: Registry::default(),
        config: broker_config(&options),
        realm: Text::from(options.realm.as_str()),
        connections_max: options.max_connections,
        is_nodelay: options.tcp_nodelay,
        dtx_timeouts: DtxTimeouts {
            default_seconds: options.dtx_default_timeout,
            seconds_max: options.dtx_max_timeout,
        },
        known_hosts,
        session_timeout_max: options.session_timeout_max,
    });
    let (stop, stopped) = watch::channel(false);
    let mut listeners = JoinSet::new();
    for (port, group) in ports.into_iter().zip(&groups) {
        let number = port.number;
        for listener in port.listeners {
            let accepting = accept::run(listener, group.clone(), shared.clone(), stopped.clone());
            listeners.spawn(accepting);
        }
        notice!("Network", "Listening on TCP/TCP6 port {number}");
    }
    notice!("Broker", "Broker (pid={}) running", std::process::id());
    let failed = wait_for_the_end(&mut signals, &mut sequencers, &mut listeners).await;
    // All receivers may be gone when listeners have failed, and then there is nobody to stop.
    let _ = stop.send(true);
    let mut ended = Ended::Well;
    while let Some(joined) = listeners.join_next().await {
        if joined.unwrap_or(Ended::AfterPanic) == Ended::AfterPanic {
            ended = Ended::AfterPanic;
        }
    }
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

/// Where to listen.
struct Places {
    /// Addresses; the flag says whether one may be missing on this machine.
    addresses: Vec<(IpAddr, bool)>,
    /// Those at which everybody is let in.
    open_to_all: Vec<String>,
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
        if options.access().admit(*address)? == Admission::Everybody {
            open_to_all.push(address.to_string());
        }
    }
    Ok(Places {
        addresses,
        open_to_all,
    })
}

/// Listens, and tells the ports when any was asked for.
fn open_ports(options: &Options, places: &Places) -> Result<Vec<Port>, String> {
    let mut ports = Vec::new();
    for port in &options.port {
        ports.push(listen::listen(
            &places.addresses,
            *port,
            options.connection_backlog,
        )?);
    }
    if options.port.contains(&0) {
        let mut stdout = std::io::stdout().lock();
        let mut told = Ok(());
        for port in &ports {
            told = told.and_then(|()| writeln!(stdout, "{}", port.number));
        }
        told.and_then(|()| stdout.flush())
            .map_err(|error| format!("cannot tell the port: {error}"))?;
    }
    if !places.open_to_all.is_empty() {
        tracing::warn!(
            target: "Security",
            "Authentication is off: everybody who reaches {} gets in",
            places.open_to_all.join(" or ")
        );
    }
    Ok(ports)
}

/// What orders commands.
struct Started {
    /// One seat for each port.
    groups: Vec<Arc<dyn Group>>,
    /// Who gives back the journal's room.
    keeper: Option<Keeper>,
    /// The member of a cluster that this broker is.
    cluster: Option<Cluster>,
}

/// One seat for each port. The tasks that call them go to `sequencers`.
async fn start_groups(
    options: &Options,
    (clock, known_hosts): (Clock, &KnownHosts),
    sequencers: &mut JoinSet<String>,
) -> Result<Started, String> {
    let core_options = broker::Options {
        default_queue_limit: options.default_queue_limit,
        queue_purge_interval: options.queue_purge_interval,
    };
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

fn broker_config(options: &Options) -> BrokerConfig {
    let text = |text: &str| Value::Str16(Text::from(text));
    let properties = [
        ("product", text(env!("CARGO_PKG_NAME"))),
        ("version", text(env!("CARGO_PKG_VERSION"))),
        ("platform", text(std::env::consts::OS)),
        ("host", text(&host_name())),
        ("qpid.federation_tag", text(&uuid())),
    ];
    BrokerConfig {
        server_properties: properties.into_iter().collect::<Map>(),
        mechanisms: sasl::MECHANISMS.iter().copied().map(Text::from).collect(),
        bounds: Bounds {
            negotiate_milliseconds: options.max_negotiate_time,
            ..Bounds::default()
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

/// A random UUID (version 4) as text.
fn uuid() -> String {
    let (high, low) = (random(), random());
    let high = high & !0xf000 | 0x4000;
    let low = low & (u64::MAX >> 2) | 1 << 63;
    let (a, b, c) = (high >> 32, high >> 16 & 0xffff, high & 0xffff);
    format!(
        "{a:08x}-{b:04x}-{c:04x}-{:04x}-{:012x}",
        low >> 48,
        low & (u64::MAX >> 16)
    )
}

/// The signals that stop the broker.
struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    /// From now on they are noted, and no longer end the process by themselves.
    fn catch() -> Result<Signals, String> {
        let catch =
            |kind| signal(kind).map_err(|error| format!("cannot wait for signals: {error}"));
        Ok(Signals {
            terminate: catch(SignalKind::terminate())?,
            interrupt: catch(SignalKind::interrupt())?,
        })
    }
}

impl Signals {
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
