//! `strace` on one thread of a broker, which makes system calls fail or wait.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// The name of the thread that writes the journal, and of the one that gives its room back.
pub const JOURNAL: &str = "journal";
pub const KEEPER: &str = "journal-keeper";

/// All threads of the broker.
pub const ALL: &str = "";

/// Whether there is a tracer that may trace.
pub fn is_there() -> Result<(), String> {
    let tried = Command::new("strace")
        .args(["-o", "/dev/null", "true"])
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("strace cannot be run ({error}): apt-get install strace"))?;
    match tried.status.success() {
        true => Ok(()),
        false => Err(format!(
            "strace must not trace here: {}",
            String::from_utf8_lossy(&tried.stderr)
        )),
    }
}

/// A tracer, until the process that it traces ends.
pub struct Tracer {
    process: Child,
    log: PathBuf,
}

/// What a traced thread did.
#[derive(Debug, Default)]
pub struct Traced {
    /// Lines of the trace, a call each.
    pub calls: Vec<String>,
}

impl Traced {
    /// Calls of this name that went well before the first that was made to fail.
    pub fn done(&self, name: &str) -> usize {
        let before = self.calls.iter().take_while(|call| !is_injected(call));
        before.filter(|call| is_done(call, name)).count()
    }

    /// Calls of these names after the first that was made to fail.
    pub fn after_failure(&self, names: &[&str]) -> Vec<&String> {
        let mut after = self.calls.iter().skip_while(|call| !is_injected(call));
        after.next();
        after
            .filter(|call| {
                names
                    .iter()
                    .any(|name| call.starts_with(&format!("{name}(")))
            })
            .collect()
    }

    /// How many were made to fail.
    pub fn injected(&self) -> usize {
        self.calls.iter().filter(|call| is_injected(call)).count()
    }
}

fn is_injected(call: &str) -> bool {
    call.contains("(INJECTED)")
}

fn is_done(call: &str, name: &str) -> bool {
    let result = call.rsplit(" = ").next().unwrap_or_default();
    call.starts_with(&format!("{name}(")) && !result.starts_with('-') && call.contains(" = ")
}

impl Tracer {
    /// Traces the thread of this name, which shall do `inject`, in strace's words.
    pub fn attach(
        pid: u32,
        thread: &str,
        inject: &str,
        directory: &Path,
    ) -> Result<Tracer, String> {
        let log = directory.join("trace");
        let _ = fs::remove_file(&log);
        let (id, follow) = match thread {
            ALL => (pid.to_string(), Some("-f")),
            thread => (thread_of(pid, thread)?, None),
        };
        let mut process = Command::new("strace")
            .args(["-o", log.to_str().expect("UTF-8"), "-p", &id])
            .args(follow)
            .args([
                "-e",
                "trace=fdatasync,fsync,pwritev,pread64,fallocate,unlink,openat",
            ])
            .args(["-e", &format!("inject={inject}")])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| format!("strace cannot be run: {error}"))?;
        let said = process.stderr.take().expect("it is piped");
        let mut said = BufReader::new(said).lines().map_while(Result::ok);
        let mut lines = Vec::new();
        if !said.by_ref().any(|line| {
            lines.push(line.clone());
            line.contains("attached")
        }) {
            return Err(format!("strace does not attach: {lines:?}"));
        }
        // It says more when the traced thread ends; somebody has to take it.
        std::thread::spawn(move || said.for_each(drop));
        Ok(Tracer { process, log })
    }

    /// What was traced, once the traced process has ended.
    pub fn finish(mut self) -> Result<Traced, String> {
        self.process.wait().map_err(|error| error.to_string())?;
        let text = fs::read_to_string(&self.log).map_err(|error| error.to_string())?;
        let calls = text.lines().filter(|line| line.contains('('));
        Ok(Traced {
            calls: calls.map(str::to_owned).collect(),
        })
    }
}

impl Drop for Tracer {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn thread_of(pid: u32, name: &str) -> Result<String, String> {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).map_err(|error| error.to_string())?;
    for task in tasks.flatten() {
        let comm = fs::read_to_string(task.path().join("comm")).unwrap_or_default();
        if comm.trim() == name {
            return Ok(task.file_name().to_string_lossy().into_owned());
        }
    }
    Err(format!("process {pid} has no thread {name:?}"))
}
