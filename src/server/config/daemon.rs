//! A daemon, and who waits for it.
//!
//! ```text
//!   qpidd -d -- spawns itself, with the same words --> qpidd -d (a session of its own)
//!      |                                                   | listens, makes its pid file
//!      | <--- "PORT\n", or "0\n" and why not, by a pipe ---'
//!      '- tells the port, ends with 0 or 1
//! ```
//!
//! The process is started anew and not forked: one that has threads cannot be forked safely, and
//! nobody has to see to it that there are none yet.

use std::ffi::{OsStr, OsString};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::{CommandExt, parent_id};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use rustix::fs::Mode;
use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process, setsid, test_kill_process, umask};

use super::QPIDD;
use super::herald::Herald;
use super::pid_files::{self, PidFile};
use super::process::{Deed, Process};
use crate::server::limits::{DAEMON_LOOK, DAEMON_WORDS_BYTES_MAX};
use crate::server::options::LogOptions;
use crate::server::syslog;

/// Says to a process that it is the daemon, and by its number who waits for it. Only the child of that
/// process is meant: others may have it in their environment from there.
const VARIABLE: &str = "FERRYMQ_DAEMON_OF";

/// What a daemon may do to files that it makes, as with qpidd: the group may read, others nothing.
const FILE_MODE_MASK: u32 = 0o027;

/// Whether this process is the daemon.
pub(super) fn is_here() -> bool {
    let parent = std::env::var(VARIABLE).ok();
    parent.and_then(|text| text.parse().ok()) == Some(parent_id())
}

/// Starts the daemon and waits until it serves. `is_port_asked`: its port is told.
pub(super) fn start(
    process: &Process,
    program: &OsStr,
    words: &[OsString],
    is_port_asked: bool,
) -> ExitCode {
    let told = pid_files::make_directory(&process.pid_dir)
        .and_then(|()| spawn(program, words))
        .and_then(|child| wait(child, process.patience));
    match told {
        Ok(port) => {
            let is_told = !is_port_asked || writeln!(std::io::stdout(), "{port}").is_ok();
            ExitCode::from(u8::from(!is_told))
        }
        Err(why) => {
            eprintln!("{QPIDD}: {why}");
            ExitCode::FAILURE
        }
    }
}

fn spawn(program: &OsStr, words: &[OsString]) -> Result<Child, String> {
    // Not by its name: another file may be there by now.
    Command::new("/proc/self/exe")
        .arg0(program)
        .args(words)
        .env(VARIABLE, std::process::id().to_string())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| format!("cannot start the daemon: {error}"))
}

/// Waits for the first word of the daemon: its port.
fn wait(mut child: Child, patience: Duration) -> Result<u16, String> {
    let out = child.stdout.take().ok_or("the daemon has no pipe")?;
    let (send, receive) = channel();
    std::thread::spawn(move || send.send(heard(out)));
    match receive.recv_timeout(patience) {
        Ok(heard) => heard,
        Err(RecvTimeoutError::Timeout) => Err(format!(
            "the daemon does not serve within {} seconds (--wait); it goes on trying",
            patience.as_secs()
        )),
        Err(RecvTimeoutError::Disconnected) => Err("the daemon cannot be heard".to_owned()),
    }
}

fn heard(out: impl Read) -> Result<u16, String> {
    let mut out = BufReader::new(out.take(DAEMON_WORDS_BYTES_MAX));
    let mut first = String::new();
    let read = out.read_line(&mut first);
    read.map_err(|error| format!("the daemon cannot be heard: {error}"))?;
    match first.trim_end().parse() {
        Ok(0) => {
            let mut why = String::new();
            let _ = out.read_to_string(&mut why);
            Err(format!("the daemon does not start: {}", why.trim_end()))
        }
        Ok(port) => Ok(port),
        Err(_) => Err("the daemon has ended before it served anybody".to_owned()),
    }
}

/// Where a daemon's log goes: qpidd's, which nobody sees on standard error, goes to the system's
/// unless another place is named.
pub(super) fn redirect(log: &mut LogOptions) {
    if log.log_to_stderr
        && !log.log_to_stdout
        && !log.sinks.log_to_syslog
        && log.log_to_file.is_none()
    {
        log.sinks.log_to_syslog = true;
    }
    // There are none.
    log.log_to_stderr = false;
    log.log_to_stdout = false;
}

/// What is lost of a daemon's log, for who starts it.
pub(super) fn lost(log: &LogOptions) -> Option<String> {
    let is_lost = log.sinks.log_to_syslog && log.log_to_file.is_none() && !syslog::is_there();
    let path = syslog::SOCKET;
    is_lost
        .then(|| format!("the log is lost, since there is no {path}: --log-to-file FILE keeps it"))
}

/// A daemon, for who waits for it.
#[derive(Debug)]
pub(super) struct Daemon {
    pid_dir: PathBuf,
    pid_file: Option<PathBuf>,
    /// Files of the ports, as long as it runs.
    held: Vec<PidFile>,
}

impl Daemon {
    /// Makes this process one: nothing that happens at a terminal reaches it any more.
    ///
    /// # Errors
    /// The system does not allow it.
    pub fn begin(process: &Process) -> Result<Daemon, String> {
        for number in &process.closed {
            // One that is not open is closed already.
            let _ = nix::unistd::close(*number);
        }
        setsid().map_err(|error| format!("no session of its own: {error}"))?;
        umask(Mode::from_raw_mode(FILE_MODE_MASK));
        // It was started by another name, and tools look for this one. Without it they find nothing,
        // which is no reason not to serve.
        let _ = std::fs::write("/proc/self/comm", QPIDD);
        Ok(Daemon {
            pid_dir: process.pid_dir.clone(),
            pid_file: process.pid_file.clone(),
            held: Vec::new(),
        })
    }
}

impl Herald for Daemon {
    fn serving(&mut self, ports: &[u16]) -> Result<(), String> {
        for port in ports {
            self.held.push(PidFile::make(&self.pid_dir, *port)?);
        }
        if let Some(file) = &self.pid_file {
            pid_files::write_text(file)?;
        }
        let port = ports.first().copied().unwrap_or_default();
        // Who waited may have given up; the daemon serves all the same.
        let _ = say(&format!("{port}\n"));
        let null = std::fs::OpenOptions::new().write(true).open("/dev/null");
        let closed = null.and_then(|null| Ok(rustix::stdio::dup2_stdout(null)?));
        closed.map_err(|error| format!("cannot let go of standard output: {error}"))
    }

    fn failed(&mut self, why: &str) {
        if self.held.is_empty() {
            let _ = say(&format!("0\n{why}\n"));
        }
    }
}

fn say(text: &str) -> std::io::Result<()> {
    let mut stdout = std::io::stdout().lock();
    stdout.write_all(text.as_bytes())?;
    stdout.flush()
}

/// Does something to a daemon that runs: the one of a port, or of a file.
pub(super) fn act(deed: Deed, process: &Process, port: u16) -> ExitCode {
    let named = process
        .pid_file
        .as_deref()
        .and_then(|file| pid_files::read(file).ok());
    let found = named.map_or_else(|| of_port(&process.pid_dir, port), Ok);
    let pid = match found {
        Ok(pid) => pid,
        Err(why) => {
            eprintln!("{QPIDD}: no broker runs: {why}");
            return ExitCode::FAILURE;
        }
    };
    let signal = match deed {
        Deed::Check => {
            let told = writeln!(std::io::stdout(), "{}", pid.as_raw_nonzero());
            return ExitCode::from(u8::from(told.is_err()));
        }
        Deed::Quit => Signal::INT,
        Deed::Kill => Signal::KILL,
    };
    match stop(pid, signal, process.patience) {
        Ok(()) => {
            // One that is killed cannot do it.
            pid_files::remove_of(&pid_files::path(&process.pid_dir, port), pid);
            ExitCode::SUCCESS
        }
        Err(why) => {
            eprintln!("{QPIDD}: {why}");
            ExitCode::FAILURE
        }
    }
}

fn of_port(directory: &Path, port: u16) -> Result<Pid, String> {
    pid_files::read(&pid_files::path(directory, port))
}

fn stop(pid: Pid, signal: Signal, patience: Duration) -> Result<(), String> {
    let number = pid.as_raw_nonzero();
    kill_process(pid, signal)
        .map_err(|error| format!("cannot stop the process {number}: {error}"))?;
    let end = Instant::now() + patience;
    while !matches!(test_kill_process(pid), Err(Errno::SRCH)) {
        if Instant::now() >= end {
            return Err(format!(
                "the process {number} does not end within {} seconds (--wait)",
                patience.as_secs()
            ));
        }
        std::thread::sleep(DAEMON_LOOK);
    }
    Ok(())
}
