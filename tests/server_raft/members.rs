//! Members on loopback, each with a directory and a port of its own.

use std::net::TcpListener;
use std::time::Duration;

use crate::durable_support::Directory;
use crate::server_support::{Broker, until};

/// What several members have in common, and where each of them is.
pub struct Members {
    pub directories: Vec<Directory>,
    pub ports: Vec<u16>,
    /// Options of all.
    pub common: Vec<String>,
}

impl Members {
    /// So many, of which none runs.
    pub fn new(count: usize, common: &[&str]) -> Members {
        // All at once, so that no port is given twice.
        let free: Vec<TcpListener> = (0..count)
            .map(|_| TcpListener::bind(("127.0.0.1", 0)).expect("a free port"))
            .collect();
        let port = |listener: &TcpListener| listener.local_addr().expect("an address").port();
        Members {
            directories: (0..count).map(|_| Directory::new()).collect(),
            ports: free.iter().map(port).collect(),
            common: common.iter().map(|option| (*option).to_owned()).collect(),
        }
    }

    /// All of the options of one.
    pub fn options(&self, member: usize) -> Vec<String> {
        let address = |port: &u16| format!("127.0.0.1:{port}");
        let peers: Vec<String> = self.ports.iter().map(address).collect();
        let own = [
            "--port",
            "0",
            "--interface",
            "127.0.0.1",
            "--group",
            "raft",
            "--cluster-listen",
            &address(&self.ports[member]),
            "--cluster-peers",
            &peers.join(","),
            "--data-dir",
            self.directories[member].text(),
            "--journal-file-size",
            "1m",
        ];
        let own = own.into_iter().map(str::to_owned);
        own.chain(self.common.iter().cloned()).collect()
    }

    /// Starts one, and waits for nothing.
    pub fn launch(&self, member: usize) -> Broker {
        let options = self.options(member);
        let options: Vec<&str> = options.iter().map(String::as_str).collect();
        Broker::launch_on(&options)
    }

    /// Starts one with something planted in it, and waits until it serves clients.
    pub fn start_planted(&self, member: usize, plant: &str) -> Broker {
        let options = self.options(member);
        let options: Vec<&str> = options.iter().map(String::as_str).collect();
        let mut broker = Broker::launch_planted(plant, &options);
        self.serves(member, &mut broker);
        broker
    }

    /// Starts one and waits until it serves clients.
    pub fn start(&self, member: usize) -> Broker {
        let mut broker = self.launch(member);
        self.serves(member, &mut broker);
        broker
    }

    /// Waits until one that was launched serves clients.
    pub fn serves(&self, member: usize, broker: &mut Broker) {
        let options = self.options(member);
        let options: Vec<&str> = options.iter().map(String::as_str).collect();
        // It may have much to apply first, in a debug build on a busy machine.
        while broker.find_line("running").is_none() {
            assert!(self.may_wait(broker), "{member}: {:#?}", broker.log());
        }
        assert!(broker.serves(&options), "{member}: {:#?}", broker.log());
    }

    /// Whether a member that does not serve yet may be waited for once more.
    fn may_wait(&self, broker: &mut Broker) -> bool {
        const STARTS_MAX: Duration = Duration::from_secs(120);
        broker.is_running() && broker.started.elapsed() < STARTS_MAX
    }

    /// Starts all and waits until all of them serve clients.
    pub fn start_all(&self) -> Vec<Broker> {
        let mut brokers: Vec<Broker> = (0..self.ports.len()).map(|n| self.launch(n)).collect();
        for (member, broker) in brokers.iter_mut().enumerate() {
            self.serves(member, broker);
        }
        brokers
    }

    /// The disk of one is lost.
    pub fn wipe(&mut self, member: usize) {
        self.directories[member] = Directory::new();
    }
}

/// The member that leads, as the members say. It is asked for as often as it takes.
pub fn leader(brokers: &mut [Broker]) -> usize {
    leader_and_term(brokers).0
}

/// The same, with its term: who is elected again leads anew.
pub fn leader_and_term(brokers: &mut [Broker]) -> (usize, u64) {
    let mut found = None;
    until("a member leads", || {
        let terms = brokers.iter_mut().map(|broker| {
            let log = broker.log().iter().rev();
            let mut leads = log.filter_map(|line| line.split_once("(this member) leads in term "));
            let term = leads.next().map(|(_, term)| term.parse::<u64>());
            term.and_then(Result::ok)
        });
        let best = terms.enumerate().filter_map(|(n, term)| Some((term?, n)));
        found = best.max().map(|(term, member)| (member, term));
        found.is_some()
    });
    found.expect("it was found")
}

/// Waits until a broker that was told to end has ended well.
pub fn ended_well(broker: &mut Broker) {
    assert!(broker.wait().success(), "{:#?}", broker.log());
}
