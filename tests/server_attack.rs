//! Thousands of connections that say nothing, as little as possible or as much as they may, before and after
//! they log in: they keep nobody out, cost little, and are gone when their time is up.
//!
//! ```text
//!   test --starts--> broker <--------- 8,000 connections ------- the same test as `attacker`
//!     |                ^                                              | "held", then what became
//!     +-- good client -+                                              v of them
//! ```
//!
//! `FERRYMQ_ATTACK` says how many connections. Without it there are a few hundred, which have little time,
//! and only counts are judged; with it they have the usual ten seconds, and times are judged, too: when
//! connections are closed, and how long others wait for theirs.

#[path = "server_attack/after_login.rs"]
mod after_login;
#[path = "server_attack/attacker.rs"]
mod attacker;
#[path = "server_attack/before_login.rs"]
mod before_login;
#[path = "server_attack/cgroup.rs"]
mod cgroup;
#[path = "server_attack/deaf.rs"]
mod deaf;
mod durable_load;
mod durable_support;
#[path = "server_attack/scene.rs"]
mod scene;
mod server_support;
#[path = "server_attack/speech.rs"]
mod speech;
#[path = "server_attack/trickling.rs"]
mod trickling;

use std::process::ExitCode;

use durable_load::runs::is_left_out;
use durable_support::{Directory, number};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use server_support::add_user;

use attacker::Way;
use scene::{Size, USER};

/// Files that a process has open besides the connections.
const OTHER_FILES: u64 = 500;

fn main() -> ExitCode {
    if let Some(ended) = attacker::run_if_asked() {
        return ended;
    }
    if is_left_out("server_attack") {
        return ExitCode::SUCCESS;
    }
    let size = match std::env::var_os("FERRYMQ_ATTACK") {
        Some(_) => Size::long(number("FERRYMQ_ATTACK", 8_000)),
        None => Size::SHORT,
    };
    match allow_files(size.connections + OTHER_FILES).and_then(|()| all(size)) {
        Ok(told) => {
            println!("server_attack: ok: {told}");
            ExitCode::SUCCESS
        }
        Err(why) => {
            println!("server_attack: FAILED: {why}");
            ExitCode::FAILURE
        }
    }
}

/// Lets this process, and those that it starts, have so many files open.
fn allow_files(wanted: u64) -> Result<(), String> {
    let limit = getrlimit(Resource::Nofile);
    if limit.current.is_none_or(|current| current >= wanted) {
        return Ok(());
    }
    if limit.maximum.is_some_and(|most| most < wanted) {
        return Err(format!(
            "a process may have {} files open here, and the attack needs {wanted}: raise the hard limit \
             (ulimit -Hn)",
            limit.maximum.unwrap_or(0)
        ));
    }
    let raised = Rlimit {
        current: Some(wanted),
        maximum: limit.maximum,
    };
    setrlimit(Resource::Nofile, raised).map_err(|error| format!("the limit of files: {error}"))
}

/// One part of the run: what it came to, in words.
type Part = fn(&Directory, Size) -> Result<String, String>;

/// The parts by the names that `FERRYMQ_ATTACK_PARTS` gives them, in their order.
const PARTS: [(&str, Part); 7] = [
    ("silent", |users, size| {
        before_login::quiet(users, size, [Way::Silent, Way::InsideTheHandshake])
    }),
    ("one-address", before_login::from_one_address),
    ("largest", before_login::largest),
    ("confined", before_login::confined),
    ("logged-in", after_login::idle),
    ("trickling", trickling::run),
    ("deaf", deaf::run),
];

/// Those of a short run. The others ask how others fare meanwhile, which says something only where nothing
/// else has the machine.
const SHORT_PARTS: &str = "silent,one-address,largest,confined,logged-in";

fn all(size: Size) -> Result<String, String> {
    let directory = Directory::new();
    for user in [USER, speech::USER] {
        add_user(["--data-dir", directory.text()], user, "password");
    }
    let asked = std::env::var("FERRYMQ_ATTACK_PARTS").ok();
    let asked = asked.or_else(|| (!size.is_timed).then(|| SHORT_PARTS.to_owned()));
    let asked: Option<Vec<&str>> = asked.as_ref().map(|asked| asked.split(',').collect());
    let unknown = asked.iter().flatten().find(|asked| {
        let mut known = PARTS.iter();
        !known.any(|(name, _)| name == *asked)
    });
    if let Some(unknown) = unknown {
        return Err(format!("FERRYMQ_ATTACK_PARTS: no part is called {unknown}"));
    }
    let is_asked = |name: &str| asked.as_ref().is_none_or(|asked| asked.contains(&name));
    let parts = PARTS.iter().filter(|(name, _)| is_asked(name));
    if size.is_timed {
        // Nothing else at the same time, since times are judged; and all of it, since a slow machine may
        // fail one of them.
        let told: Vec<_> = parts.map(|(_, part)| part(&directory, size)).collect();
        return told.into_iter().collect::<Result<Vec<_>, _>>().map(joined);
    }
    // Two of them mostly wait, and do so beside the others.
    let (waiting, others): (Vec<_>, Vec<_>) =
        parts.partition(|(name, _)| ["deaf", "one-address"].contains(name));
    let directory = &directory;
    std::thread::scope(|scope| {
        let start = |(_, part): &(&str, Part)| {
            let part = *part;
            scope.spawn(move || part(directory, size))
        };
        let waiting: Vec<_> = waiting.into_iter().map(start).collect();
        let told = others.into_iter().map(|(_, part)| part(directory, size));
        let mut told = told.collect::<Result<Vec<_>, _>>()?;
        for one in waiting {
            told.push(one.join().map_err(|_| "a part panicked".to_owned())??);
        }
        Ok(joined(told))
    })
}

fn joined(told: Vec<String>) -> String {
    told.join("; ")
}
