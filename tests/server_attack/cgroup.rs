//! A part of the machine's memory, of which a broker may have no more: a control group of Linux, of the first
//! version or the second.

use std::fs;
use std::path::{Path, PathBuf};

/// Octets that the broker may have in all, as the system counts: its own, those of the system for it, and
/// pages of files that it was the first to read.
const BYTES_MAX: u64 = 512 << 20;

/// The files of a version.
struct Files {
    limit: &'static str,
    most: &'static str,
    /// Where each time is counted that the limit was met, and each process that was ended for it.
    events: [(&'static str, &'static str); 2],
}

const FIRST: Files = Files {
    limit: "memory.limit_in_bytes",
    most: "memory.max_usage_in_bytes",
    events: [("memory.failcnt", ""), ("memory.oom_control", "oom_kill")],
};

const SECOND: Files = Files {
    limit: "memory.max",
    most: "memory.peak",
    events: [("memory.events", "max"), ("memory.events", "oom_kill")],
};

/// A group. It is taken away when this is dropped, after the processes in it.
pub struct Cgroup {
    path: PathBuf,
    files: Files,
}

impl Cgroup {
    /// Makes one.
    ///
    /// # Errors
    /// There is no right to, or the system counts no memory.
    pub fn new() -> Result<Cgroup, String> {
        let name = format!("ferrymq-attack-{}", std::process::id());
        let first = Path::new("/sys/fs/cgroup/memory");
        let (path, files) = match first.is_dir() {
            true => (first.join(name), FIRST),
            false => (Path::new("/sys/fs/cgroup").join(name), SECOND),
        };
        let wrong = |path: &Path, error: std::io::Error| {
            let path = path.display();
            format!("the right to make a control group of memory is missing ({path}: {error})")
        };
        fs::create_dir_all(&path).map_err(|error| wrong(&path, error))?;
        let limit = path.join(files.limit);
        let group = Cgroup { path, files };
        fs::write(&limit, BYTES_MAX.to_string()).map_err(|error| wrong(&limit, error))?;
        Ok(group)
    }

    /// What a program is started by, so that it is in the group from the first moment.
    pub fn launcher(&self) -> [String; 3] {
        let processes = self.path.join("cgroup.procs");
        let line = format!("echo $$ >{} && exec \"$0\" \"$@\"", processes.display());
        ["sh".to_owned(), "-c".to_owned(), line]
    }

    fn read(&self, file: &str) -> Result<String, String> {
        let path = self.path.join(file);
        fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))
    }

    /// Octets that were had at most.
    ///
    /// # Errors
    /// The system does not say.
    pub fn most(&self) -> Result<u64, String> {
        let text = self.read(self.files.most)?;
        text.trim().parse().map_err(|_| format!("{text:?} octets"))
    }

    /// How often the limit was met, and how many processes were ended for it.
    ///
    /// # Errors
    /// The system does not say.
    pub fn met(&self) -> Result<[u64; 2], String> {
        let mut met = [0; 2];
        for (met, (file, name)) in met.iter_mut().zip(self.files.events) {
            let text = self.read(file)?;
            let number = text.lines().find_map(|line| match name {
                "" => line.parse().ok(),
                name => line.strip_prefix(name)?.trim().parse().ok(),
            });
            *met = number.ok_or_else(|| format!("{file} says nothing of {name}"))?;
        }
        Ok(met)
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.path);
    }
}
