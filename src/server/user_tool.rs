//! `ferrymq user`: who may log in. A password comes from the terminal or from standard input, never from
//! the command line, where others on the machine can read it.

use std::fs::DirBuilder;
use std::io::{self, IsTerminal, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Subcommand};

use super::security_options::USERS_FILE;
use super::storage;
use crate::security::limits::PASSWORD_BYTES_MAX;
use crate::security::sasl::open::with_some_realm;
use crate::security::users::Users;
use crate::terminal::{line, unseen};

/// Options of `ferrymq user`.
#[derive(Args, Clone, Debug)]
pub struct Options {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand, Clone, Debug)]
enum What {
    /// Add a user; its password is asked for, or is the first line of standard input
    Add(Named),
    /// Change a user's password, which comes in the same way
    Password(Named),
    /// Remove a user
    Remove(Named),
    /// List all users
    List(Place),
}

/// A user.
#[derive(Args, Clone, Debug)]
struct Named {
    /// Its name, with a realm or without
    name: String,

    /// Keep the password itself too, for the old mechanisms CRAM-MD5 and DIGEST-MD5: who can read the
    /// file knows it then
    #[arg(long)]
    keep_password: bool,

    #[command(flatten)]
    place: Place,
}

/// Where users are.
#[derive(Args, Clone, Debug)]
struct Place {
    /// The users file; a relative name is looked for in the data directory
    #[arg(
        long,
        env = "QPID_USERS_FILE",
        value_name = "FILE",
        default_value = USERS_FILE
    )]
    users_file: PathBuf,

    /// The broker's data directory
    #[arg(long, env = "QPID_DATA_DIR", value_name = "DIRECTORY")]
    data_dir: Option<PathBuf>,

    /// Realm behind names without one
    #[arg(long, env = "QPID_REALM", default_value = "QPID")]
    realm: String,
}

impl Place {
    fn path(&self) -> PathBuf {
        let directory = self.data_dir.clone();
        directory
            .unwrap_or_else(storage::default_directory)
            .join(&self.users_file)
    }
}

/// Does what was asked. The status says whether it could be done.
pub fn run(options: Options) -> ExitCode {
    let done = match &options.what {
        What::Add(named) => add(named),
        What::Password(named) => change(named),
        What::Remove(named) => remove(named),
        What::List(place) => list(place),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("ferrymq: {why}");
            ExitCode::FAILURE
        }
    }
}

/// The users of a file, and the file.
fn users(place: &Place) -> Result<(Users, PathBuf), String> {
    let path = place.path();
    match path.exists() {
        true => Ok((Users::read(&path)?, path)),
        false => Err(format!(
            "{}: there are no users yet: ferrymq user add NAME makes the first",
            path.display()
        )),
    }
}

fn add(named: &Named) -> Result<(), String> {
    let path = named.place.path();
    let mut users = match path.exists() {
        true => Users::read(&path)?,
        false => Users::empty(),
    };
    let name = with_some_realm(&named.name, &named.place.realm);
    if users.get(&name).is_some() {
        return Err(format!("{name} is there already"));
    }
    set(&mut users, &name, named.keep_password, &path)
}

fn change(named: &Named) -> Result<(), String> {
    let (mut users, path) = users(&named.place)?;
    let name = with_some_realm(&named.name, &named.place.realm);
    match users.get(&name) {
        Some(_) => set(&mut users, &name, named.keep_password, &path),
        None => Err(format!("{name} is not there")),
    }
}

fn set(users: &mut Users, name: &str, is_kept: bool, path: &Path) -> Result<(), String> {
    crate::security::users::check_name(name)?;
    let password = password(name)?;
    users.set(name, &password, is_kept)?;
    if let Some(directory) = path.parent() {
        let mut builder = DirBuilder::new();
        // As the broker makes it: it is nobody else's.
        let made = builder.recursive(true).mode(0o700).create(directory);
        made.map_err(|error| format!("{}: {error}", directory.display()))?;
    }
    users.write(path)
}

fn remove(named: &Named) -> Result<(), String> {
    let (mut users, path) = users(&named.place)?;
    let name = with_some_realm(&named.name, &named.place.realm);
    match users.remove(&name) {
        true => users.write(&path),
        false => Err(format!("{name} is not there")),
    }
}

fn list(place: &Place) -> Result<(), String> {
    let (users, _) = users(place)?;
    let mut stdout = io::stdout().lock();
    for (name, user) in users.names() {
        let kept = [
            (user.sha_256.is_some(), " PLAIN SCRAM-SHA-256"),
            (user.sha_1.is_some(), " SCRAM-SHA-1"),
            (user.password.is_some(), " CRAM-MD5 DIGEST-MD5"),
        ];
        let can: String = kept
            .iter()
            .filter_map(|(is_kept, names)| is_kept.then_some(*names))
            .collect();
        writeln!(stdout, "{name}{can}").map_err(|error| error.to_string())?;
    }
    Ok(())
}

/// The password: from the terminal, twice and unseen, or the first line of standard input.
fn password(name: &str) -> Result<Vec<u8>, String> {
    let stdin = io::stdin();
    let password = match stdin.is_terminal() {
        false => line()?,
        true => {
            let first = unseen(&format!("Password of {name}: "))?;
            if unseen("Once more: ")? != first {
                return Err("the two are not the same".to_owned());
            }
            first
        }
    };
    match password.len() {
        0 => Err("an empty password is none".to_owned()),
        1..=PASSWORD_BYTES_MAX => Ok(password.into_bytes()),
        _ => Err(format!(
            "a password of more than {PASSWORD_BYTES_MAX} octets"
        )),
    }
}
