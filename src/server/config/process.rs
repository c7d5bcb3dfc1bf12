//! Options of qpidd about the process: whether it is a daemon, and where the number of one stands.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use super::super::options::yes_or_no;
use super::setting::Setting;

/// What is said of the process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Process {
    /// It goes on in the background.
    pub is_daemon: bool,
    /// What is to be done to a daemon that runs.
    pub deed: Option<Deed>,
    /// How long a daemon may take to be there, or to be gone.
    pub patience: Duration,
    /// Where there is a file for the daemon of each port.
    pub pid_dir: PathBuf,
    /// A file for the number of this process.
    pub pid_file: Option<PathBuf>,
    /// Files that the daemon was given open and closes.
    pub closed: Vec<i32>,
}

/// What is to be done to a daemon that runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Deed {
    /// Tell its number.
    Check,
    /// Have it stop.
    Quit,
    /// End it.
    Kill,
}

/// How long a daemon may take unless it was said, as with qpidd.
const PATIENCE: Duration = Duration::from_secs(600);

impl Process {
    /// When nothing is said. `home` is the user's directory.
    pub fn usual(home: Option<&OsStr>) -> Process {
        Process {
            is_daemon: false,
            deed: None,
            patience: PATIENCE,
            pid_dir: qpidd_directory(home),
            pid_file: None,
            closed: Vec::new(),
        }
    }

    /// Takes what a setting says. Of what is to be done to a daemon the hardest counts.
    ///
    /// # Errors
    /// The value is none for it.
    pub fn take(&mut self, setting: &Setting) -> Result<(), String> {
        let wrong = |why: &str| format!("{}: {}: {why}", setting.place(), setting.text());
        let truth = || yes_or_no(&setting.text()).map_err(|why| wrong(&why));
        match &*setting.name {
            "daemon" => self.is_daemon = truth()?,
            "check" => self.deed = self.deed.or(truth()?.then_some(Deed::Check)),
            "quit" if truth()? => {
                let is_harder = self.deed == Some(Deed::Kill);
                self.deed = Some(if is_harder { Deed::Kill } else { Deed::Quit });
            }
            "kill" if truth()? => self.deed = Some(Deed::Kill),
            "quit" | "kill" => {}
            "pid-dir" => self.pid_dir = PathBuf::from(&setting.value),
            "pidfile" => {
                self.pid_file =
                    Some(PathBuf::from(&setting.value)).filter(|name| !name.as_os_str().is_empty())
            }
            "wait" => {
                let seconds = u32::from_str(&setting.text());
                let seconds = seconds.map_err(|_| wrong("not a number of seconds"))?;
                self.patience = Duration::from_secs(seconds.into());
            }
            "close-fd" => {
                let number = i32::from_str(&setting.text()).ok();
                let number = number.filter(|number| *number > 2);
                let why = "not the number of an open file, from 3";
                self.closed.push(number.ok_or_else(|| wrong(why))?);
            }
            "transport" if setting.text() != "tcp" => {
                return Err(wrong("only the port of tcp can be told"));
            }
            _ => {}
        }
        Ok(())
    }
}

/// Qpidd's own directory: in the user's, or where there is none in that for temporary files.
pub(super) fn qpidd_directory(home: Option<&OsStr>) -> PathBuf {
    let home = home.filter(|home| !home.is_empty());
    PathBuf::from(home.unwrap_or(OsStr::new("/tmp"))).join(".qpidd")
}
