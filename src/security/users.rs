//! Users and what proves who they are, in a file of their own.
//!
//! ```text
//!   decoy SECRET                                           what unknown users are answered with
//!   user@REALM scram-sha-256 ITERATIONS SALT STORED-KEY SERVER-KEY
//!   user@REALM scram-sha-1   ITERATIONS SALT STORED-KEY SERVER-KEY
//!   user@REALM password PASSWORD                           for CRAM-MD5 and DIGEST-MD5 alone
//! ```
//!
//! Everything but names and numbers is in base64. What SCRAM keeps does not give the password away; the
//! old mechanisms need the password itself, and only users that are to use them have it there. The file
//! is looked at whenever somebody wants to get in, so a change counts at once.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use parking_lot::Mutex;

use super::files;
use super::limits::{ITERATIONS_MAX, SALT_BYTES, USER_BYTES_MAX, USERS_FILE_BYTES_MAX};
use super::sasl::scram::{Hash, Look, Secret};

/// What is kept of a user. A user without any of it is nobody.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct User {
    /// For SCRAM-SHA-256, and for PLAIN.
    pub sha_256: Option<Secret>,
    /// For SCRAM-SHA-1.
    pub sha_1: Option<Secret>,
    /// For CRAM-MD5 and DIGEST-MD5.
    pub password: Option<Vec<u8>>,
}

impl User {
    /// What is kept for a mechanism with this hash.
    pub fn secret(&self, hash: Hash) -> Option<&Secret> {
        match hash {
            Hash::Sha256 => self.sha_256.as_ref(),
            Hash::Sha1 => self.sha_1.as_ref(),
        }
    }
}

/// All users of a file.
#[derive(Clone, PartialEq, Eq)]
pub struct Users {
    users: BTreeMap<String, User>,
    /// Of what unknown users seem to have.
    decoy: Vec<u8>,
    /// Whether the file names it.
    has_decoy: bool,
    looks: Looks,
}

/// What can be seen of those who are there: who is not looks like one of them.
#[derive(Clone, Default, PartialEq, Eq)]
struct Looks {
    sha_256: Shares<Look>,
    sha_1: Shares<Look>,
    password_bytes: Shares<usize>,
}

/// How many have a value or one before it, in the order of values.
type Shares<T> = Vec<(T, u64)>;

fn shares<T: Ord>(of: impl Iterator<Item = T>) -> Shares<T> {
    let mut counts = BTreeMap::new();
    of.for_each(|value| *counts.entry(value).or_insert(0) += 1);
    let mut up_to = 0;
    let values = counts.into_iter().map(|(value, count)| {
        up_to += count;
        (value, up_to)
    });
    values.collect()
}

/// The value that stands there, from 0 at the first user to 2^64 behind the last. When users come and go
/// it stays the same nearly everywhere.
fn at<T: Copy>(shares: &Shares<T>, point: u64) -> Option<T> {
    let (_, all) = shares.last()?;
    let wanted = (u128::from(point) * u128::from(*all)) >> 64;
    let index = shares.partition_point(|(_, up_to)| u128::from(*up_to) <= wanted);
    shares.get(index).map(|(value, _)| *value)
}

impl Users {
    /// Nobody, with a decoy of its own.
    pub fn empty() -> Users {
        Users {
            users: BTreeMap::new(),
            decoy: super::sasl::random(32),
            has_decoy: true,
            looks: Looks::default(),
        }
    }

    /// Reads the text of a file.
    ///
    /// # Errors
    /// The line that is wrong, and what is.
    pub fn parse(text: &str) -> Result<Users, String> {
        let mut users = Users::empty();
        users.has_decoy = false;
        for (index, line) in text.lines().enumerate() {
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let words: Vec<&str> = line.split(' ').collect();
            let taken = users.take(&words);
            taken.map_err(|wrong| format!("line {}: {wrong}", index + 1))?;
        }
        if !users.has_decoy {
            // The same as long as the file is: whoever asks again is told the same.
            users.decoy = Hash::Sha256.hmac(b"decoy", text.as_bytes());
        }
        users.look();
        Ok(users)
    }

    /// Looks at everybody: to be done whenever somebody has come, changed or gone.
    fn look(&mut self) {
        let secrets = |hash| {
            let all = self.users.values();
            shares(all.filter_map(move |user| user.secret(hash).map(Secret::look)))
        };
        let passwords = self
            .users
            .values()
            .filter_map(|user| user.password.as_ref());
        self.looks = Looks {
            sha_256: secrets(Hash::Sha256),
            sha_1: secrets(Hash::Sha1),
            password_bytes: shares(passwords.map(Vec::len)),
        };
    }

    fn take(&mut self, words: &[&str]) -> Result<(), String> {
        match words {
            ["decoy", secret] => {
                self.decoy = decoded(secret)?;
                self.has_decoy = true;
            }
            [name, "password", password] => {
                self.user(name)?.password = Some(decoded(password)?);
            }
            [name, kind, iterations, salt, stored_key, server_key] => {
                let hash = Hash::named(kind).ok_or_else(|| format!("{kind} is unknown"))?;
                let iterations: u32 = iterations.parse().map_err(|_| "no number".to_owned())?;
                if !(1..=ITERATIONS_MAX).contains(&iterations) {
                    return Err(format!("{iterations} iterations"));
                }
                let secret = Secret {
                    iterations,
                    salt: decoded(salt)?,
                    stored_key: decoded(stored_key)?,
                    server_key: decoded(server_key)?,
                };
                if [&secret.stored_key, &secret.server_key]
                    .iter()
                    .any(|key| key.len() != hash.bytes())
                {
                    return Err(format!("a key that is none of {kind}"));
                }
                let user = self.user(name)?;
                match hash {
                    Hash::Sha256 => user.sha_256 = Some(secret),
                    Hash::Sha1 => user.sha_1 = Some(secret),
                }
            }
            _ => return Err("it is none of a user".to_owned()),
        }
        Ok(())
    }

    fn user(&mut self, name: &str) -> Result<&mut User, String> {
        check_name(name)?;
        Ok(self.users.entry(name.to_owned()).or_default())
    }

    /// A user with its realm.
    pub fn get(&self, name: &str) -> Option<&User> {
        self.users.get(name)
    }

    /// Names of all users, in order.
    pub fn names(&self) -> impl Iterator<Item = (&str, &User)> {
        self.users.iter().map(|(name, user)| (name.as_str(), user))
    }

    /// Sets a user's password. `is_kept` also keeps it as it is, for the mechanisms that need it so.
    ///
    /// # Errors
    /// The name is none.
    pub fn set(&mut self, name: &str, password: &[u8], is_kept: bool) -> Result<(), String> {
        let user = self.user(name)?;
        user.sha_256 = Some(Secret::of(Hash::Sha256, password));
        user.sha_1 = Some(Secret::of(Hash::Sha1, password));
        user.password = is_kept.then(|| password.to_vec());
        self.look();
        Ok(())
    }

    /// Takes a user out; false when there was none.
    pub fn remove(&mut self, name: &str) -> bool {
        let was_there = self.users.remove(name).is_some();
        self.look();
        was_there
    }

    /// What a user is compared with who is not there: always the same for a name, so that nobody can
    /// tell by asking twice, and made for as long as it takes with one who is.
    /// It has as many iterations and as long a salt as one of them.
    pub fn decoy(&self, hash: Hash, name: &str) -> Secret {
        let looks = match hash {
            Hash::Sha256 => &self.looks.sha_256,
            Hash::Sha1 => &self.looks.sha_1,
        };
        let look = at(looks, self.point(name)).unwrap_or_default();
        Secret::decoy(hash, &self.decoy, name, look)
    }

    /// The same for mechanisms that need the password itself: as long as that of one of those who have it
    /// kept.
    pub fn decoy_password(&self, name: &str) -> Vec<u8> {
        let octets = at(&self.looks.password_bytes, self.point(name)).unwrap_or(SALT_BYTES);
        Hash::Sha256.stretched(&self.decoy, "password", name, octets)
    }

    /// Which of those who are there a name looks like.
    fn point(&self, name: &str) -> u64 {
        let octets = Hash::Sha256.stretched(&self.decoy, "look", name, 8);
        let octets = octets.first_chunk().copied().unwrap_or_default();
        u64::from_be_bytes(octets)
    }

    /// The text of the file.
    fn text(&self) -> String {
        let mut text = format!("decoy {}\n", BASE64.encode(&self.decoy));
        for (name, user) in &self.users {
            let secrets = [(Hash::Sha256, &user.sha_256), (Hash::Sha1, &user.sha_1)];
            for (hash, secret) in secrets {
                let Some(secret) = secret else { continue };
                let _ = writeln!(
                    text,
                    "{name} {} {} {} {} {}",
                    hash.name(),
                    secret.iterations,
                    BASE64.encode(&secret.salt),
                    BASE64.encode(&secret.stored_key),
                    BASE64.encode(&secret.server_key)
                );
            }
            if let Some(password) = &user.password {
                let _ = writeln!(text, "{name} password {}", BASE64.encode(password));
            }
        }
        text
    }

    /// Reads a file.
    ///
    /// # Errors
    /// It cannot be read, or is wrong.
    pub fn read(path: &Path) -> Result<Users, String> {
        let failed = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
        let octets = files::read(path, USERS_FILE_BYTES_MAX).map_err(|error| failed(&error))?;
        let octets = octets.ok_or_else(|| failed(&"the file is too large"))?;
        let text =
            String::from_utf8(octets).map_err(|_| failed(&"stream did not contain valid UTF-8"))?;
        Users::parse(&text).map_err(|error| failed(&error))
    }

    /// Writes a file, whole or not at all, that nobody else can read.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn write(&self, path: &Path) -> Result<(), String> {
        let beside = path.with_extension("new");
        let written = || -> io::Result<()> {
            let mut options = OpenOptions::new();
            options.write(true).create(true).truncate(true).mode(0o600);
            let mut file = options.open(&beside)?;
            file.write_all(self.text().as_bytes())?;
            file.sync_all()?;
            fs::rename(&beside, path)
        };
        written().map_err(|error| format!("{}: {error}", path.display()))
    }
}

fn decoded(text: &str) -> Result<Vec<u8>, String> {
    BASE64
        .decode(text)
        .map_err(|error| format!("no base64: {error}"))
}

/// A user's name has a realm, and nothing in it that the file or a log would take for something else.
///
/// # Errors
/// What is wrong with it.
pub fn check_name(name: &str) -> Result<(), String> {
    if name.len() > USER_BYTES_MAX {
        return Err(format!(
            "a user's name of more than {USER_BYTES_MAX} octets"
        ));
    }
    let has_realm = name
        .rsplit_once('@')
        .is_some_and(|(user, realm)| !user.is_empty() && !realm.is_empty());
    if !has_realm {
        return Err(format!("{name:?} is no user with a realm"));
    }
    match name.chars().any(|c| c.is_whitespace() || c.is_control()) {
        true => Err(format!("{name:?} has a character that a name cannot have")),
        false => Ok(()),
    }
}

/// What tells a file from the one that was there before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Seen {
    inode: u64,
    bytes: u64,
    modified: (i64, i64),
}

/// A file of users that may change at any time.
pub struct UsersFile {
    path: PathBuf,
    last: Mutex<(Option<Seen>, Arc<Users>)>,
}

impl std::fmt::Debug for UsersFile {
    /// Without what is in it.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("UsersFile")
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}

impl UsersFile {
    /// Opens a file, and warns if others on this machine can read it.
    ///
    /// # Errors
    /// It cannot be read, or is wrong.
    pub fn open(path: &Path) -> Result<UsersFile, String> {
        let seen = look(path);
        let users = Users::read(path)?;
        let mode = fs::metadata(path).map_or(0, |data| data.mode());
        if mode & 0o077 != 0 {
            tracing::warn!(
                target: "Security",
                "{}: others on this machine can read the users file (mode {:o})",
                path.display(),
                mode & 0o777
            );
        }
        Ok(UsersFile {
            path: path.to_owned(),
            last: Mutex::new((seen, Arc::new(users))),
        })
    }

    /// The users as they are now. When the file is wrong now, those that were there stay, and the log
    /// says so once.
    pub fn users(&self) -> Arc<Users> {
        let mut last = self.last.lock();
        let seen = look(&self.path);
        if seen != last.0 {
            last.0 = seen;
            match Users::read(&self.path) {
                Ok(mut users) => {
                    // A name that is not there goes on looking as it did.
                    if !users.has_decoy {
                        users.decoy = last.1.decoy.clone();
                    }
                    last.1 = Arc::new(users);
                }
                Err(why) => tracing::error!(
                    target: "Security",
                    "the users file is not taken, the users that were there stay: {why}"
                ),
            }
        }
        last.1.clone()
    }
}

fn look(path: &Path) -> Option<Seen> {
    let data = fs::metadata(path).ok()?;
    Some(Seen {
        inode: data.ino(),
        bytes: data.len(),
        modified: (data.mtime(), data.mtime_nsec()),
    })
}
