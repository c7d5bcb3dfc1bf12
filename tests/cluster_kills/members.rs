//! The members of a group, each a process in a namespace of its own.

use std::process::{Child, Command, Stdio};
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use ferrymq::client::{Client, Options, unique_name};
use ferrymq::wire::url::Url;

use crate::cluster_kills_network as network;
use crate::durable_support::Directory;
use crate::durable_support::plants::is_planted;
use crate::server_support::{PATIENCE, lines};

/// How long a group may take to be whole again after the last fault. Far more than it takes.
const WHOLE_PATIENCE: Duration = PATIENCE.saturating_mul(6);

/// The same with a planted fault: it must not take so long to be found.
const PLANTED_PATIENCE: Duration = PATIENCE.saturating_mul(2);

/// How often a member that refuses is asked again.
const SERVING_LOOK: Duration = Duration::from_millis(20);

/// A member: its place on the disk, and its process while it has one.
pub struct Member {
    pub number: usize,
    /// Whether its next start is one of a version that knows one level more.
    pub is_next_version: bool,
    directory: Directory,
    key: String,
    peers: String,
    process: Option<Child>,
    log: Option<Receiver<String>>,
    seen: Vec<String>,
}

impl Member {
    pub fn new(number: usize, members: usize, key: &str) -> Member {
        let peer = |member| format!("{}:{}", network::host(member), network::PEER_PORT);
        Member {
            number,
            is_next_version: false,
            directory: Directory::new(),
            key: key.to_owned(),
            peers: (1..=members).map(peer).collect::<Vec<_>>().join(","),
            process: None,
            log: None,
            seen: Vec::new(),
        }
    }

    /// Starts its process, which is not waited for.
    pub fn start(&mut self) {
        let host = network::host(self.number);
        let mut command = Command::new("ip");
        if self.is_next_version {
            command.env("FERRYMQ_PLANT", "knows-next-level");
        }
        let mut process = command
            .args(["netns", "exec", &network::namespace(self.number)])
            .arg(env!("CARGO_BIN_EXE_ferrymq"))
            .args([
                "serve",
                "--group",
                "raft",
                "--data-dir",
                self.directory.text(),
            ])
            .args(["--auth", "no", "--port", &network::PORT.to_string()])
            .args(["--http-port", &network::HTTP_PORT.to_string()])
            .args(["--cluster-name", "kills", "--cluster-key-file", &self.key])
            .args(["--cluster-peers", &self.peers])
            .arg("--cluster-listen")
            .arg(format!("{host}:{}", network::PEER_PORT))
            .args(["--journal-file-size", "1m", "--session-timeout-max", "120"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the broker was built");
        self.log = process.stderr.take().map(lines);
        self.process = Some(process);
    }

    /// Its disk is lost. It does not run.
    pub fn wipe(&mut self) {
        self.directory = Directory::new();
    }

    /// What its store is called, as it said when it started.
    ///
    /// # Errors
    /// It has not said so.
    pub fn name(&mut self) -> Result<String, String> {
        let line = self.line("This is member");
        let name = line.as_deref().and_then(|line| line.rsplit(' ').next());
        let name = name.map(str::to_owned);
        name.ok_or_else(|| format!("says not who it is: {}", self.tail()))
    }

    /// Asks it to take a member out of the cluster, and waits until that is done.
    ///
    /// # Errors
    /// It is not.
    pub fn take_out(&self, name: &str) -> Result<(), String> {
        self.console(&["cluster", "remove", name]).map(drop)
    }

    /// Whether it shows a member.
    ///
    /// # Errors
    /// It shows none.
    pub fn has_member(&self, name: &str) -> Result<bool, String> {
        let shown = self.console(&["cluster", "status", "--json"])?;
        Ok(shown.contains(&format!("\"{name:0>16}\"")))
    }

    /// What a subcommand of management prints.
    fn console(&self, words: &[&str]) -> Result<String, String> {
        let url = format!("http://127.0.0.1:{}", network::HTTP_PORT);
        let output = Command::new("ip")
            .args(["netns", "exec", &network::namespace(self.number)])
            .arg(env!("CARGO_BIN_EXE_ferrymq"))
            .args(words)
            .args(["--url", &url])
            .output()
            .map_err(|error| error.to_string())?;
        match output.status.success() {
            true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
            false => Err(format!(
                "member {}: {}: {}",
                self.number,
                words.join(" "),
                String::from_utf8_lossy(&output.stderr)
            )),
        }
    }

    /// Sends its process a signal.
    pub fn signal(&self, name: &str) {
        let process = self.process.as_ref().expect("it is up");
        let sent = Command::new("kill")
            .args([format!("-{name}"), process.id().to_string()])
            .status();
        assert!(sent.is_ok_and(|status| status.success()), "it is a child");
    }

    /// Waits for the end of its process.
    ///
    /// # Errors
    /// It does not end, or not as it should.
    pub fn ended(&mut self, is_well: bool) -> Result<(), String> {
        let mut process = self.process.take().expect("it is up");
        let end = Instant::now() + PATIENCE;
        let status = loop {
            if let Some(status) = process.try_wait().map_err(|error| error.to_string())? {
                break status;
            }
            if Instant::now() > end {
                let _ = process.kill();
                return Err(format!("member {} does not end", self.number));
            }
            std::thread::sleep(Duration::from_millis(10));
        };
        self.read_log();
        match !is_well || status.success() {
            true => Ok(()),
            false => Err(format!("ended with {status}: {}", self.tail())),
        }
    }

    /// Whether its process runs.
    pub fn is_running(&mut self) -> bool {
        let process = self.process.as_mut();
        process.is_some_and(|process| matches!(process.try_wait(), Ok(None)))
    }

    fn read_log(&mut self) {
        if let Some(log) = &self.log {
            self.seen.extend(log.try_iter());
        }
    }

    /// Its number and the last lines of its log.
    pub fn tail(&mut self) -> String {
        self.read_log();
        let from = self.seen.len().saturating_sub(15);
        format!("member {}:\n{}", self.number, self.seen[from..].join("\n"))
    }

    /// The last line of its log with a text.
    pub fn line(&mut self, text: &str) -> Option<String> {
        self.read_log();
        let found = self.seen.iter().rev().find(|line| line.contains(text));
        found.cloned()
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        if let Some(process) = &mut self.process {
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}

/// Waits until a member serves clients: it completes a command, which takes a majority.
///
/// # Errors
/// It does not.
pub async fn until_serving(member: &mut Member) -> Result<(), String> {
    let patience = match is_planted() {
        true => PLANTED_PATIENCE,
        false => WHOLE_PATIENCE,
    };
    let end = Instant::now() + patience;
    while let Err(why) = serves(member.number).await {
        if !member.is_running() {
            return Err(format!("ended by itself: {}", member.tail()));
        }
        if Instant::now() > end {
            return Err(format!("does not serve ({why}): {}", member.tail()));
        }
        tokio::time::sleep(SERVING_LOOK).await;
    }
    Ok(())
}

/// Asks a member to complete a command.
async fn serves(member: usize) -> Result<(), String> {
    let url = Url::parse(&network::address(member).to_string()).expect("an address is a URL");
    let asked = async {
        let client = Client::connect(&url, &Options::default()).await?;
        let session = client.session(&unique_name("serving")).await?;
        session.sync().await
    };
    match tokio::time::timeout(PATIENCE, asked).await {
        Ok(answer) => answer.map_err(|error| error.to_string()),
        Err(_) => Err("no answer".to_owned()),
    }
}
