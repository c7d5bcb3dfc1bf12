//! The broker under the name `qpidd`.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{ArgMatches, Args, Command, FromArgMatches};

use super::daemon::{self, Daemon};
use super::herald::{Foreground, Herald, Start};
use super::settle::{Settled, settle};
use super::table::{self, Here, Takes};
use super::{Form, QPIDD, environment};
use crate::server::Options;

/// Runs what `words`, the name of the program and what stands behind it, ask of qpidd.
pub fn run(words: &[OsString]) -> ExitCode {
    let (program, behind) = words
        .split_first()
        .map_or((OsString::from(QPIDD), &[][..]), |(first, rest)| {
            (first.clone(), rest)
        });
    let own = Options::augment_args(Command::new(QPIDD));
    let read = settle(Form::Qpidd, behind, &environment(), &own);
    let settled = match read {
        Ok(settled) => settled,
        Err(why) => return refused(&why),
    };
    if settled.line.is_version_asked {
        println!(
            "{QPIDD} ({}) version {}",
            env!("CARGO_PKG_NAME"),
            env!("CARGO_PKG_VERSION")
        );
        return ExitCode::SUCCESS;
    }
    if settled.line.help.is_some() {
        print!("{}", help(own));
        return ExitCode::SUCCESS;
    }
    let options = match options(own, &settled.arguments) {
        Ok(options) => options,
        Err(why) => return refused(&why),
    };
    if let Some(deed) = settled.process.deed {
        let port = options.port.first().copied().unwrap_or_default();
        return daemon::act(deed, &settled.process, port);
    }
    match settled.process.is_daemon {
        false => serve(settled, options),
        true if daemon::is_here() => serve_as_daemon(settled, options),
        true => start_daemon(&settled, options, (program, behind)),
    }
}

fn refused(why: &str) -> ExitCode {
    eprintln!(
        "{QPIDD}: {}\nUse --help to see valid options",
        why.trim_end()
    );
    ExitCode::FAILURE
}

fn options(own: Command, arguments: &[OsString]) -> Result<Options, String> {
    let words = std::iter::once(OsString::from(QPIDD)).chain(arguments.iter().cloned());
    let matches: ArgMatches = own
        .try_get_matches_from(words)
        .map_err(|error| error.to_string().trim_start_matches("error: ").to_owned())?;
    let options = Options::from_arg_matches(&matches).map_err(|error| error.to_string())?;
    options.settled(&matches)
}

fn serve(settled: Settled, options: Options) -> ExitCode {
    if let Err(why) = settled.check() {
        return refused(&why);
    }
    let herald = Box::new(Foreground::new(&options, settled.process.pid_file));
    let warnings = settled.warnings;
    crate::server::run(options, Start { warnings, herald })
}

fn start_daemon(
    settled: &Settled,
    mut options: Options,
    (program, behind): (OsString, &[OsString]),
) -> ExitCode {
    if let Err(why) = settled.check() {
        return refused(&why);
    }
    daemon::redirect(&mut options.log);
    if let Some(lost) = daemon::lost(&options.log) {
        eprintln!("{QPIDD}: {lost}");
    }
    let is_port_asked = options.port.contains(&0);
    daemon::start(&settled.process, &program, behind, is_port_asked)
}

fn serve_as_daemon(settled: Settled, mut options: Options) -> ExitCode {
    let Settled {
        process, warnings, ..
    } = settled;
    let begun: Result<Daemon, String> = Daemon::begin(&process);
    daemon::redirect(&mut options.log);
    match begun {
        Ok(daemon) => {
            let herald: Box<dyn Herald> = Box::new(daemon);
            crate::server::run(options, Start { warnings, herald })
        }
        Err(why) => refused(&why),
    }
}

/// What is said of options whose defaults are qpidd's under this name.
const DEFAULTS: [(&str, &str); 3] = [
    (
        "data_dir",
        "Directory for what has to outlast the broker; without it .qpidd in the home directory, or, where \
         there is none, in /tmp",
    ),
    (
        "auth",
        "Whether clients have to authenticate: yes, unless it is said otherwise",
    ),
    (
        "interface",
        "Address, interface or host name to listen on; may be repeated. Without it: all interfaces",
    ),
];

/// What `--help` says: the broker's options, and those that are qpidd's alone.
fn help(own: Command) -> String {
    let own = own
        .about("A message broker for AMQP 0-10, under the name of qpidd")
        .disable_help_flag(true);
    let mut own = DEFAULTS.iter().fold(own, |own, (name, help)| {
        own.mut_arg(name, |option| option.help(*help).long_help(*help))
    });
    let mut text = own.render_long_help().to_string();
    text.push_str(
        "\nOptions of qpidd about the process and its plug-ins, and others of its own:\n",
    );
    for row in table::rows() {
        let what = match row.here {
            Here::Ours | Here::OursBut(_) => continue,
            Here::Line | Here::Process => about(row.name),
            Here::Nothing(_) => "taken, with a warning: it has no effect",
            Here::Protection { .. } => "refused where it asks for what there is not",
        };
        let short = row
            .short
            .map_or(String::new(), |short| format!("-{short}, "));
        let value = match row.takes {
            Takes::Nothing | Takes::YesNoOrNothing => "",
            Takes::Value | Takes::Values => " <VALUE>",
        };
        text.push_str(&format!(
            "  {short}--{}{value}\n          {what}\n",
            row.name
        ));
    }
    text
}

fn about(name: &str) -> &'static str {
    match name {
        "help" => "Show this",
        "version" => "Show the version",
        "daemon" => "Go on in the background. The log goes to syslog unless another place is named",
        "transport" => "The transport whose port is told: tcp",
        "pid-dir" => {
            "Directory of the files qpidd.PORT.pid of daemons; without it .qpidd in the home directory"
        }
        "pidfile" => "File for the number of the process, as text",
        "close-fd" => {
            "File that the daemon was given open and closes, by its number; may be repeated"
        }
        "wait" => "Seconds that a daemon may take to be there, or to be gone. Default: 600",
        "check" => {
            "Tell the number of the daemon of a port (-p), and with the exit status whether there is one"
        }
        "quit" => "Have it stop",
        "kill" => "End it at once",
        "store-dir" => "The data directory, unless there is another",
        _ => "see the options above",
    }
}
