//! Files that hold the number of a process, as qpidd keeps them.
//!
//! For each port that a daemon serves there is `qpidd.PORT.pid` in its directory, with the number in
//! the machine's own octets, so that qpidd's tools and these read each other's. `--pidfile` holds the
//! number as text.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};

use super::QPIDD;

/// Octets of a number in a file, at most.
const TEXT_BYTES_MAX: u64 = 16;

/// The directory of such files and the files themselves are nobody's secret, as with qpidd.
const DIRECTORY_MODE: u32 = 0o755;
const FILE_MODE: u32 = 0o644;

/// The file of a daemon, held as long as it runs, and removed then.
#[derive(Debug)]
pub(super) struct PidFile {
    path: PathBuf,
    /// Locked.
    _file: File,
}

impl PidFile {
    /// Makes the file of a port, with this process's number.
    ///
    /// # Errors
    /// It cannot be made, or another daemon holds it.
    pub fn make(directory: &Path, port: u16) -> Result<PidFile, String> {
        let path = path(directory, port);
        let wrong = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
        // A link there may lead to a file of somebody else.
        let no_link = OFlags::NOFOLLOW.bits().cast_signed();
        let mut file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .mode(FILE_MODE)
            .custom_flags(no_link)
            .open(&path)
            .map_err(|error| wrong(&error))?;
        file.try_lock().map_err(|error| wrong(&error))?;
        let written = file
            .set_len(0)
            .and_then(|()| file.write_all(&std::process::id().to_ne_bytes()));
        written.map_err(|error| wrong(&error))?;
        Ok(PidFile { path, _file: file })
    }
}

impl Drop for PidFile {
    fn drop(&mut self) {
        // One that stays is seen to be of nobody when it is read.
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Where the file of a port is.
pub(super) fn path(directory: &Path, port: u16) -> PathBuf {
    directory.join(format!("{QPIDD}.{port}.pid"))
}

/// Makes the directory, where it is missing and the one above it is not.
///
/// # Errors
/// It cannot be made.
pub(super) fn make_directory(directory: &Path) -> Result<(), String> {
    match std::fs::DirBuilder::new()
        .mode(DIRECTORY_MODE)
        .create(directory)
    {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        made => made.map_err(|error| {
            format!(
                "cannot make the directory for pid files {}: {error}",
                directory.display()
            )
        }),
    }
}

/// Writes this process's number as text.
///
/// # Errors
/// The file cannot be written.
pub(super) fn write_text(path: &Path) -> Result<(), String> {
    std::fs::write(path, format!("{}\n", std::process::id()))
        .map_err(|error| format!("cannot write the pid file {}: {error}", path.display()))
}

/// Removes a file that a process which has ended left behind, if its number is there and no other.
pub(super) fn remove_of(path: &Path, pid: Pid) {
    if read_number(path).is_ok_and(|found| found == pid) {
        // One that stays is seen to be of nobody when it is read.
        let _ = std::fs::remove_file(path);
    }
}

fn read_number(path: &Path) -> Result<Pid, String> {
    let shown = path.display();
    let mut octets = Vec::new();
    let file = File::open(path).map_err(|error| format!("{shown}: {error}"))?;
    let read = file.take(TEXT_BYTES_MAX).read_to_end(&mut octets);
    read.map_err(|error| format!("{shown}: {error}"))?;
    number(&octets).ok_or_else(|| format!("{shown} holds no number of a process"))
}

/// The number in a file, if it is that of a broker that runs.
///
/// # Errors
/// Why there is none.
pub(super) fn read(path: &Path) -> Result<Pid, String> {
    let shown = path.display();
    let pid = read_number(path)?;
    match test_kill_process(pid) {
        Ok(()) | Err(Errno::PERM) => {}
        Err(_) => {
            return Err(format!(
                "{shown}: the process {} is gone",
                pid.as_raw_nonzero()
            ));
        }
    }
    match is_qpidd(pid) {
        true => Ok(pid),
        false => Err(format!(
            "{shown}: the process {} is no broker now",
            pid.as_raw_nonzero()
        )),
    }
}

/// As text, or in the machine's octets: those of no process look like digits, since there are no
/// numbers that large.
fn number(octets: &[u8]) -> Option<Pid> {
    let text = std::str::from_utf8(octets)
        .ok()
        .and_then(|text| text.trim().parse().ok());
    let raw = || octets.try_into().ok().map(i32::from_ne_bytes);
    text.or_else(raw)
        .filter(|number| *number > 0)
        .and_then(Pid::from_raw)
}

/// Whether a process has the name of a broker. Its number may have become another's when a file was
/// left behind. Where the system does not say, it counts.
fn is_qpidd(pid: Pid) -> bool {
    match std::fs::read_to_string(format!("/proc/{}/comm", pid.as_raw_nonzero())) {
        Ok(name) => name.trim_end() == QPIDD,
        Err(_) => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_in_both_ways() {
        let raw = |number: Option<Pid>| number.map(|pid| pid.as_raw_nonzero().get());
        assert_eq!(raw(number(b"1234\n")), Some(1234));
        assert_eq!(raw(number(&1234i32.to_ne_bytes())), Some(1234));
        assert_eq!(raw(number(b"123\n")), Some(123));
        for wrong in [
            &b""[..],
            b"0",
            b"-5\n",
            b"one",
            &0i32.to_ne_bytes(),
            &[1, 2, 3, 0, 0],
        ] {
            assert_eq!(raw(number(wrong)), None, "{wrong:?}");
        }
    }
}
