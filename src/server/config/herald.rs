//! Who is told that the broker serves.

use std::io::Write;
use std::path::PathBuf;

use super::pid_files;
use crate::server::Options;

/// Who is told that the broker serves, or why it does not.
pub trait Herald: Send {
    /// It listens on these ports; who connects is served.
    ///
    /// # Errors
    /// Nobody could be told, and so nobody could use the broker: it ends.
    fn serving(&mut self, ports: &[u16]) -> Result<(), String>;

    /// It ends, and this is why.
    fn failed(&mut self, why: &str);
}

/// How a broker starts, beside its options.
pub struct Start {
    /// What to say once there is a log.
    pub warnings: Vec<String>,
    /// Who is told that it serves.
    pub herald: Box<dyn Herald>,
}

/// Who started a broker that stays in the foreground.
#[derive(Debug)]
pub struct Foreground {
    /// Any port was asked for: standard output tells which it is, in its first line.
    is_port_asked: bool,
    /// A file for the number of the process.
    pid_file: Option<PathBuf>,
}

impl Foreground {
    /// Of a broker with these options.
    pub fn new(options: &Options, pid_file: Option<PathBuf>) -> Foreground {
        Foreground {
            is_port_asked: options.port.contains(&0),
            pid_file,
        }
    }
}

impl Herald for Foreground {
    fn serving(&mut self, ports: &[u16]) -> Result<(), String> {
        if let Some(file) = &self.pid_file {
            pid_files::write_text(file)?;
        }
        if !self.is_port_asked {
            return Ok(());
        }
        let mut stdout = std::io::stdout().lock();
        let mut told = Ok(());
        for port in ports {
            told = told.and_then(|()| writeln!(stdout, "{port}"));
        }
        told.and_then(|()| stdout.flush())
            .map_err(|error| format!("cannot tell the port: {error}"))
    }

    /// The log, or standard error, has it already.
    fn failed(&mut self, _: &str) {}
}
