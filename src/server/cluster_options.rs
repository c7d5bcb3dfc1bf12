//! The options of `ferrymq serve` for brokers that act as one.

use std::net::{IpAddr, ToSocketAddrs};
use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::limits;
use super::options::duration;
use crate::cluster::limits::MEMBERS_MAX;
use crate::wire::url::Url;

/// What says how brokers act as one, for `--group raft`.
#[derive(Args, Clone, Debug)]
pub struct ClusterOptions {
    /// Name of the cluster: members with another are refused
    #[arg(
        long,
        env = "QPID_CLUSTER_NAME",
        value_name = "NAME",
        default_value = ""
    )]
    pub cluster_name: String,

    /// Members that have to be there before a new cluster is formed, a majority of --cluster-peers at
    /// least; without it all of them
    #[arg(long, env = "QPID_CLUSTER_SIZE", value_name = "N")]
    pub cluster_size: Option<usize>,

    /// URL at which clients find this broker, told to all clients of the cluster:
    /// amqp:tcp:HOST:PORT, several with commas. Without it the addresses that it listens on, with --port
    #[arg(long, env = "QPID_CLUSTER_URL", value_name = "URL", value_parser = url)]
    pub cluster_url: Option<String>,

    /// What agrees on one order
    #[arg(long, env = "QPID_CLUSTER_ENGINE", value_enum, default_value = "raft")]
    pub cluster_engine: ClusterEngine,

    /// Where to listen for the other members
    #[arg(long, env = "QPID_CLUSTER_LISTEN", value_name = "ADDRESS:PORT", value_parser = address)]
    pub cluster_listen: Option<Address>,

    /// Where all members listen, this one among them, with commas: the same on all of them
    #[arg(long, env = "QPID_CLUSTER_PEERS", value_name = "ADDRESS:PORT,...",
          value_delimiter = ',', value_parser = address)]
    pub cluster_peers: Vec<Address>,

    /// File with a key of at least 32 octets that all members have and nobody else: who knows it
    /// belongs to the cluster
    #[arg(long, env = "QPID_CLUSTER_KEY_FILE", value_name = "FILE")]
    pub cluster_key_file: Option<PathBuf>,

    /// File with this member's certificate, and those between it and the authority's, as PEM
    #[arg(long, env = "QPID_CLUSTER_TLS_CERT", value_name = "FILE")]
    pub cluster_tls_cert: Option<PathBuf>,

    /// File with the key of that certificate, as PEM
    #[arg(long, env = "QPID_CLUSTER_TLS_KEY", value_name = "FILE")]
    pub cluster_tls_key: Option<PathBuf>,

    /// File with the authority's certificates, as PEM: who has one of theirs belongs to the cluster
    #[arg(long, env = "QPID_CLUSTER_TLS_CA", value_name = "FILE")]
    pub cluster_tls_ca: Option<PathBuf>,

    /// Time without a word of a member until its clients' sessions end: seconds, or a number with s,
    /// ms, us or ns
    #[arg(long, env = "QPID_CLUSTER_DOWN_AFTER", value_name = "TIME", default_value = "5",
          value_parser = down_after)]
    pub cluster_down_after: u64,
}

/// What agrees on one order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ClusterEngine {
    /// Raft, over connections of the members' own.
    Raft,
    /// Corosync's closed process groups.
    Cpg,
}

/// A host and a port.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Address {
    /// A name or an address, without brackets.
    pub host: String,
    /// The port.
    pub port: u16,
}

impl Address {
    /// The addresses of the host.
    ///
    /// # Errors
    /// It is neither an address nor the name of a host.
    pub fn resolve(&self) -> Result<Vec<IpAddr>, String> {
        let found = (self.host.as_str(), self.port).to_socket_addrs();
        let found = found.map_err(|error| format!("{self}: {error}"))?;
        Ok(found.map(|address| address.ip()).collect())
    }

    /// Whether it stands for all addresses of a machine, and so for none that others could reach.
    fn is_unspecified(&self) -> bool {
        let host: Result<IpAddr, _> = self.host.parse();
        host.is_ok_and(|host| host.to_canonical().is_unspecified())
    }

    /// One of a text: see [`address`].
    pub fn parse(text: &str) -> Option<Address> {
        address(text).ok()
    }
}

impl std::fmt::Display for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.host.contains(':') {
            true => write!(f, "[{}]:{}", self.host, self.port),
            false => write!(f, "{}:{}", self.host, self.port),
        }
    }
}

impl ClusterOptions {
    /// Looks at what was said, before anything is touched.
    ///
    /// # Errors
    /// Something is missing, or does not fit.
    pub fn check(&self) -> Result<(), String> {
        if self.cluster_engine == ClusterEngine::Cpg {
            return Err(
                "--cluster-engine cpg is not built yet: --cluster-engine raft is".to_owned(),
            );
        }
        if self.cluster_listen.is_none() || self.cluster_peers.is_empty() {
            return Err("--group raft needs --cluster-listen and --cluster-peers".to_owned());
        }
        let listed = self.cluster_peers.len();
        if listed > MEMBERS_MAX {
            return Err(format!("--cluster-peers: more than {MEMBERS_MAX} members"));
        }
        let mut told = self.cluster_peers.iter().chain(&self.cluster_listen);
        if let Some(nowhere) = told.find(|address| address.is_unspecified()) {
            return Err(format!(
                "{nowhere} in --cluster-listen or --cluster-peers is the address of no machine: others are \
                 told where a member listens, and know it by that. Name the address or the host by which \
                 the others reach it"
            ));
        }
        let is_there_twice = |(at, peer)| {
            self.cluster_peers
                .iter()
                .take(at)
                .any(|other| other == peer)
        };
        if self.cluster_peers.iter().enumerate().any(is_there_twice) {
            return Err("--cluster-peers lists one address twice".to_owned());
        }
        match self.cluster_size {
            Some(size) if size <= listed / 2 || size > listed => Err(format!(
                "--cluster-size {size}: it is a majority of the {listed} in --cluster-peers, or all"
            )),
            _ => Ok(()),
        }
    }

    /// Refuses what has no effect on a broker that takes part in no cluster: whoever gives it means it.
    ///
    /// # Errors
    /// Something was given.
    pub fn check_unused(&self) -> Result<(), String> {
        let given = [
            ("--cluster-name", !self.cluster_name.is_empty()),
            ("--cluster-size", self.cluster_size.is_some()),
            ("--cluster-listen", self.cluster_listen.is_some()),
            ("--cluster-peers", !self.cluster_peers.is_empty()),
            ("--cluster-key-file", self.cluster_key_file.is_some()),
            ("--cluster-tls-cert", self.cluster_tls_cert.is_some()),
            ("--cluster-tls-key", self.cluster_tls_key.is_some()),
            ("--cluster-tls-ca", self.cluster_tls_ca.is_some()),
            (
                "--cluster-engine",
                self.cluster_engine != ClusterEngine::Raft,
            ),
        ];
        match given.iter().find(|(_, is_given)| *is_given) {
            Some((option, _)) => Err(format!("{option} is for --group raft")),
            None => Ok(()),
        }
    }

    /// Members that have to be there before a cluster is formed.
    pub fn forming_min(&self) -> usize {
        self.cluster_size.unwrap_or(self.cluster_peers.len())
    }
}

fn address(text: &str) -> Result<Address, String> {
    let wrong = || format!("{text}: not ADDRESS:PORT");
    let (host, port) = text.rsplit_once(':').ok_or_else(wrong)?;
    let bare = host
        .strip_prefix('[')
        .and_then(|host| host.strip_suffix(']'));
    let host = bare.unwrap_or(host);
    let is_host = !host.is_empty()
        && host.len() <= 255
        && host
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "-._%:".contains(c))
        && (bare.is_some() || !host.contains(':'));
    let port: u16 = port.parse().map_err(|_| wrong())?;
    match is_host && port != 0 {
        true => Ok(Address {
            host: host.to_owned(),
            port,
        }),
        false => Err(wrong()),
    }
}

fn url(text: &str) -> Result<String, String> {
    match Url::parse(text) {
        Ok(url) if url.user.is_some() => Err("all clients would be told the user".to_owned()),
        Ok(_) => Ok(text.to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

fn down_after(text: &str) -> Result<u64, String> {
    match duration(text, "s")? {
        0..500 => Err(format!(
            "{text}: less than 500 ms, which a member may take to get on"
        )),
        time if time > limits::DOWN_AFTER_MILLISECONDS_MAX => Err(format!("{text}: over an hour")),
        time => Ok(time),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        cluster: ClusterOptions,
    }

    fn parse(line: &str) -> Option<ClusterOptions> {
        let words = std::iter::once("serve").chain(line.split_whitespace());
        Some(Line::try_parse_from(words).ok()?.cluster)
    }

    fn check(line: &str) -> Result<(), String> {
        let listen = "--cluster-listen 127.0.0.1:1 --cluster-peers";
        let line = format!("{listen} 127.0.0.1:1,127.0.0.1:2,127.0.0.1:3 {line}");
        parse(&line).map_or(Err("not read".to_owned()), |options| options.check())
    }

    #[test]
    fn an_address_has_a_host_and_a_port_and_is_shown_as_it_was_given() {
        for good in ["127.0.0.1:1", "host-1.example:65535", "[::1]:5671"] {
            assert_eq!(
                address(good).map(|found| found.to_string()),
                Ok(good.to_owned())
            );
        }
        for wrong in [
            "",
            ":1",
            "host",
            "host:",
            "host:0",
            "host:65536",
            "::1:1",
            "a b:1",
            "[]:1",
        ] {
            assert!(address(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_cluster_is_formed_by_a_majority_of_those_listed_at_least() {
        assert_eq!(check(""), Ok(()));
        assert_eq!(check("--cluster-size 2"), Ok(()));
        assert_eq!(check("--cluster-size 3"), Ok(()));
        assert!(check("--cluster-size 1").is_err());
        assert!(check("--cluster-size 4").is_err());
        let options = parse("--cluster-peers a:1,b:1 --cluster-size 2");
        assert_eq!(options.map(|options| options.forming_min()), Some(2));
    }

    #[test]
    fn what_cannot_be_meant_is_an_error() {
        for wrong in [
            "--cluster-down-after 100ms",
            "--cluster-down-after 2h",
            "--cluster-url amqp:nonsense:x:y",
            "--cluster-url user/secret@host:5672",
            "--cluster-engine other",
            "--cluster-peers 127.0.0.1",
        ] {
            assert!(parse(wrong).is_none(), "{wrong}");
        }
        for nowhere in ["0.0.0.0:1", "[::]:1"] {
            let lines = [
                format!("--cluster-listen {nowhere} --cluster-peers a:1,b:1"),
                format!("--cluster-listen a:1 --cluster-peers a:1,{nowhere}"),
            ];
            for line in lines {
                let refused = parse(&line).map(|options| options.check());
                assert!(refused.is_some_and(|refused| refused.is_err()), "{line}");
            }
        }
        let twice = "--cluster-listen a:1 --cluster-peers a:1,a:1";
        assert!(parse(twice).is_some_and(|options| options.check().is_err()));
        assert!(parse("").is_some_and(|options| options.check_unused().is_ok()));
        let name = parse("--cluster-name x");
        assert!(name.is_some_and(|options| options.check_unused().is_err()));
    }
}
