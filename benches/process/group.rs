//! Three members on loopback, each a process with a directory of its own.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::{Failure, enqueued, http, start};

/// Members, without a newcomer.
pub const MEMBERS: usize = 3;

/// Between two looks whether a member counts.
const PAUSE: Duration = Duration::from_millis(20);

/// A join that takes longer has failed.
const JOIN_MAX: Duration = Duration::from_secs(120);

/// A member's process, killed when this is dropped.
pub struct Member {
    pub process: Child,
    pub port: u16,
    pub http_port: u16,
}

impl Drop for Member {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// See the module.
pub struct Group {
    directory: PathBuf,
    /// Where members listen for each other, a newcomer last.
    peers: Vec<u16>,
    http_ports: Vec<u16>,
    pub members: Vec<Member>,
}

impl Group {
    /// Starts them below a directory, and waits until they serve.
    pub fn start(directory: &Path) -> Result<Group, Failure> {
        // All at once, so that no port is given twice.
        let free = (0..2 * (MEMBERS + 1)).map(|_| TcpListener::bind("127.0.0.1:0"));
        let free: Vec<TcpListener> = free.collect::<Result<_, _>>()?;
        let mut ports = Vec::new();
        for listener in &free {
            ports.push(listener.local_addr()?.port());
        }
        drop(free);
        let http_ports = ports.split_off(MEMBERS + 1);
        let mut group = Group {
            directory: directory.to_owned(),
            peers: ports,
            http_ports,
            members: Vec::new(),
        };
        // None serves before all are there: they are started side by side.
        let started = std::thread::scope(|scope| {
            let starts: Vec<_> = (0..MEMBERS)
                .map(|at| {
                    let group = &group;
                    scope.spawn(move || group.launch(at, &format!("member{at}")))
                })
                .collect();
            let ended = starts.into_iter().map(|start| start.join());
            ended.collect::<Vec<_>>()
        });
        for member in started {
            group.members.push(member.map_err(|_| "a start panicked")??);
        }
        Ok(group)
    }

    /// Starts a member at a place, [`MEMBERS`] for a newcomer, in a directory of this name.
    pub fn launch(&self, at: usize, name: &str) -> Result<Member, Failure> {
        let peer = |port: &u16| format!("127.0.0.1:{port}");
        let peers: Vec<String> = self.peers[..MEMBERS].iter().map(peer).collect();
        let data = self.directory.join(name);
        let options = [
            "--group",
            "raft",
            "--cluster-listen",
            &peer(&self.peers[at]),
            "--cluster-peers",
            &peers.join(","),
            "--data-dir",
            data.to_str().ok_or("a path that is no text")?,
            "--http-port",
            &self.http_ports[at].to_string(),
        ];
        let (process, port) = start(&options)?;
        Ok(Member {
            process,
            port,
            http_port: self.http_ports[at],
        })
    }

    /// The members, as the first of them shows them.
    pub fn nodes(&self) -> Result<Vec<serde_json::Value>, Failure> {
        let answer = http(self.members[0].http_port, "GET", "/api/nodes")?;
        let (_, body) = answer.split_once("\r\n\r\n").ok_or("no answer")?;
        Ok(serde_json::from_str(body)?)
    }

    /// Waits until so many members count.
    pub fn until_voters(&self, count: usize) -> Result<(), Failure> {
        let end = Instant::now() + JOIN_MAX;
        loop {
            let nodes = self.nodes()?;
            let voters = nodes.iter().filter(|node| node["role"] == "voter");
            if voters.count() == count {
                return Ok(());
            }
            if Instant::now() > end {
                return Err(format!("there are not {count} that count: {nodes:?}").into());
            }
            sleep(PAUSE);
        }
    }

    /// Messages that have come into queues so far.
    pub fn enqueued(&self) -> Result<u64, Failure> {
        let metrics = http(self.members[0].http_port, "GET", "/metrics")?;
        enqueued(&metrics)
    }

    /// Messages a second while something is done.
    pub fn rate(&self, act: impl FnOnce() -> Result<(), Failure>) -> Result<f64, Failure> {
        let (before, began) = (self.enqueued()?, Instant::now());
        act()?;
        let count = self.enqueued()? - before;
        Ok(count as f64 / began.elapsed().as_secs_f64())
    }
}
