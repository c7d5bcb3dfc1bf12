//! A member of a cluster: from options to its seat in the group, and its end.

use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

use super::clock::{Clock, random};
use super::config::interfaces::addresses_for_others;
use super::keeper::Keeper;
use super::log::notice;
use super::options::Options;
use super::peers::steward::KnownHosts;
use super::peers::words::Refusal;
use super::peers::{Plane, dialing, forming, listening, steward};
use super::{begin_anew, limits, listen, members, plant, sequencer, storage};
use crate::broker;
use crate::broker::ids::MemberId;
use crate::cluster::Group;
use crate::cluster::entry_log::{self, EntryLog, LogError};
use crate::cluster::paging::MemoryLimit;
use crate::cluster::raft::Live;
use crate::store::{self, OpenError};

/// The folder in the data directory for the store of a member.
const FOLDER: &str = "member";

/// What to do about a member's journal that cannot be gone on with.
const REPLACED: &str = "A member has to have every entry, so a repair does not help here: with the data \
                        directory removed the broker joins again and gets all from the others, as long as \
                        these have a majority";

/// A member that takes part.
pub struct Cluster {
    live: Arc<Live>,
    plane: Arc<Plane>,
    clock: Clock,
    /// Those that deal with other members.
    tasks: JoinSet<()>,
    _keepers: [Keeper; 2],
}

/// Whether a data directory is that of a member of a cluster.
pub fn is_in(directory: &Path) -> bool {
    store_in(directory).exists()
}

/// Where the store of a member is in its data directory.
pub fn store_in(directory: &Path) -> PathBuf {
    directory.join(FOLDER)
}

/// Where clients find a broker that listens so: at each address, and where it listens on all, at those
/// of IPv4 that are no loopback, as qpidd said. None while nobody knows the port.
fn url_of(
    listening: &[(IpAddr, bool)],
    port: u16,
    all: impl Fn() -> Vec<IpAddr>,
) -> Option<String> {
    let mut found: Vec<IpAddr> = Vec::new();
    for (address, _) in listening {
        let of_this = match address.is_unspecified() {
            true => all(),
            false => vec![*address],
        };
        for address in of_this {
            if !found.contains(&address) {
                found.push(address);
            }
        }
    }
    let at = |address: &IpAddr| format!("tcp:{}", SocketAddr::new(*address, port));
    let at: Vec<String> = found.iter().map(at).collect();
    (port != 0 && !at.is_empty()).then(|| format!("amqp:{}", at.join(",")))
}

impl Cluster {
    /// Starts a member and waits until it can serve clients: until there is a group with a quorum, and
    /// this member has caught up with it. The task that calls the group goes to `sequencers`.
    ///
    /// # Errors
    /// It cannot start, or not go on.
    pub async fn start(
        options: &Options,
        core_options: &broker::Options,
        (clock, known_hosts): (Clock, &KnownHosts),
        sequencers: &mut JoinSet<String>,
    ) -> Result<Cluster, String> {
        let directory = directory(options)?;
        let disk = storage::open_disk(&store_in(&directory))?;
        let planted = plant::from_environment()?;
        let log_options = entry_log::Options {
            journal: store::Options {
                plant: planted.journal,
                ..storage::journal_options(options, &disk)
            },
            ..entry_log::Options::default()
        };
        let opened = EntryLog::open(Arc::new(disk), &log_options, random().max(1));
        let shown = directory.display();
        let (log, found) = opened.map_err(|error| match error {
            LogError::Journal(OpenError::Disk { .. }) => format!("{shown}: {error}"),
            error => format!("{shown}: {error}. {REPLACED}"),
        })?;
        let id = (MemberId(found.store_id), random());
        let mut own = options.cluster.clone();
        if own.cluster_url.is_none() {
            let port = options.port.first().copied().unwrap_or(0);
            own.cluster_url = url_of(&options.addresses()?, port, addresses_for_others);
        }
        let plane = Plane::new(&own, id, log, (&directory, clock))?;
        let plane = Arc::new(plane.with_plant(planted.member));
        let mut tasks = JoinSet::new();
        listen(options, &plane, &mut tasks)?;
        notice!("Cluster", "This is member {:016x}", id.0.0);
        let live = match plane.resume()? {
            Some(live) => live,
            None => forming::run(&plane, core_options).await?,
        };
        let memory = MemoryLimit {
            bytes_max: storage::memory_bytes_max(options),
        };
        live.page_with(storage::pages_in(&directory, options, id.0.0, memory)?);
        storage::tell(&directory, options, None, &found);
        sequencers.spawn(sequencer::run(live.clone(), clock));
        tasks.spawn(dialing::run(plane.clone(), live.clone()));
        let shared = (known_hosts.clone(), core_options.clone());
        let stewarding = steward::run(plane.clone(), live.clone(), shared);
        tasks.spawn(stewarding);
        let keepers = [Keeper::of_live(&live)?, Keeper::beside_live(&live, clock)?];
        let cluster = Cluster {
            live,
            plane,
            clock,
            tasks,
            _keepers: keepers,
        };
        tokio::select! {
            ready = cluster.wait_until_ready() => ready?,
            why = cluster.out() => return Err(format!("{shown}: {why}")),
        }
        Ok(cluster)
    }

    /// What the group is known by, which is the same on all members.
    pub fn group(&self) -> u64 {
        self.live.group()
    }

    /// The member's seat.
    pub fn seat(&self) -> Arc<Live> {
        self.live.clone()
    }

    /// Waits until this member takes part no more, management having taken it out, or must not begin to;
    /// gives why.
    pub async fn out(&self) -> Refusal {
        self.plane.out().await
    }

    async fn wait_until_ready(&self) -> Result<(), String> {
        while !self.live.view(self.clock.millis()).has_begun {
            if let Some(why) = self.live.failure() {
                return Err(why);
            }
            sleep(limits::READY_LOOK).await;
        }
        Ok(())
    }

    /// Says in the order that this member ends, and hands leadership on. Each is waited for only so
    /// long: others may be gone, or about to end, too.
    pub async fn leave(&self) {
        // Nor would they listen to who is out.
        if !self.plane.takes_part(&self.live) {
            return;
        }
        // Without a quorum nobody would hear it; an election is waited for.
        let leaderless = self.live.view(self.clock.millis()).leaderless_ms;
        if u128::from(leaderless) >= limits::FAREWELL.as_millis() {
            return;
        }
        self.live.say_farewell(self.clock.millis());
        let end = Instant::now() + limits::FAREWELL;
        while !self.live.has_left() && Instant::now() < end {
            sleep(limits::READY_LOOK).await;
        }
        let was_leading = self.live.view(self.clock.millis()).is_leading;
        let end = Instant::now() + limits::FAREWELL;
        while self.live.hand_over(self.clock.millis()) && Instant::now() < end {
            sleep(limits::READY_LOOK).await;
        }
        if was_leading && !self.live.view(self.clock.millis()).is_leading {
            notice!("Cluster", "Handed leadership on");
        }
    }

    /// Speaks with no member any more.
    pub async fn end(mut self) {
        self.tasks.shutdown().await;
        steward::tell_farewells(&self.live);
    }
}

/// Where the member keeps what it has.
fn directory(options: &Options) -> Result<PathBuf, String> {
    let directory = storage::data_dir(options);
    let directory = directory.ok_or("--group raft needs a data directory")?;
    let shown = directory.display();
    if directory.join(storage::JOURNAL).exists() {
        return Err(format!(
            "{shown}: the data directory is that of a broker that stands alone"
        ));
    }
    if members::are_in(&directory) {
        return Err(format!(
            "{shown}: the data directory is that of a lockstep group"
        ));
    }
    if begin_anew::is_interrupted(&directory) {
        return Err(format!(
            "{shown}: a new beginning of this member was interrupted: ferrymq journal begin-anew ends it"
        ));
    }
    members::make_directory(&directory).map_err(|error| format!("{shown}: {error}"))?;
    Ok(directory)
}

fn listen(options: &Options, plane: &Arc<Plane>, tasks: &mut JoinSet<()>) -> Result<(), String> {
    let Some(address) = &options.cluster.cluster_listen else {
        return Ok(());
    };
    let addresses = address.resolve()?.into_iter().map(|ip| (ip, false));
    let addresses: Vec<_> = addresses.collect();
    let port = listen::listen(&addresses, address.port, options.connection_backlog);
    let port = port.map_err(|error| format!("--cluster-listen {address}: {error}"))?;
    for listener in port.listeners {
        tasks.spawn(listening::run(listener, plane.clone()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(text: &str) -> IpAddr {
        text.parse().expect("an address")
    }

    #[test]
    fn clients_find_a_broker_at_each_address_that_it_listens_on() {
        let all = || vec![ip("10.0.0.1"), ip("192.168.1.1")];
        let everywhere = [(ip("0.0.0.0"), false), (ip("::"), false)];
        let url = url_of(&everywhere, 5672, all);
        let expected = "amqp:tcp:10.0.0.1:5672,tcp:192.168.1.1:5672";
        assert_eq!(url.as_deref(), Some(expected));
        let one = [(ip("::1"), false)];
        let url = url_of(&one, 5672, all);
        assert_eq!(url.as_deref(), Some("amqp:tcp:[::1]:5672"));
        assert_eq!(url_of(&one, 0, all), None);
    }
}
