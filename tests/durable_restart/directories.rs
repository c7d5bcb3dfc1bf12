//! Data directories that cannot be used.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::process::{Command, Output};

use crate::durable_support::*;
use crate::server_support::Broker;

/// Runs a broker that must not start, and gives what it said. `before` is what starts it.
fn refused(before: &[&str], data_dir: &str) -> String {
    let binary = env!("CARGO_BIN_EXE_ferrymq");
    let mut line = before.to_vec();
    line.extend([binary, "serve", "--port", "0", "--data-dir", data_dir]);
    let output = Command::new(line[0]).args(&line[1..]).output();
    let Output {
        status,
        stdout,
        stderr,
    } = output.expect("it runs");
    let log = String::from_utf8_lossy(&stderr).into_owned();
    assert_eq!(status.code(), Some(1), "{log}");
    assert!(stdout.is_empty(), "no port was opened: {log}");
    assert!(log.contains("critical"), "{log}");
    assert!(!log.contains("panicked"), "{log}");
    log
}

#[test]
fn a_second_broker_is_refused_by_a_line_that_names_the_directory_and_the_first() {
    let directory = Directory::new();
    let mut broker = start(&directory, &[]);
    let log = refused(&[], directory.text());
    let held = format!("a broker has {} open", directory.text());
    assert!(log.contains(&held), "{log}");
    let running = broker.log_line("running");
    let pid = running.split("pid=").nth(1).expect("it tells");
    let pid = pid.trim_end_matches(") running");
    assert!(log.contains(&format!("process {pid}")), "{log}");
    // The first has not noticed.
    assert!(broker.is_running());
    stop(&mut broker, "KILL");
    start(&directory, &[]);
}

#[test]
fn two_brokers_with_directories_of_their_own_do_not_meet() {
    let (one, other) = (Directory::new(), Directory::new());
    let brokers: [Broker; 2] = [start(&one, &[]), start(&other, &[])];
    assert_ne!(brokers[0].ports, brokers[1].ports);
}

#[test]
fn a_file_in_the_place_of_the_directory_is_refused() {
    let directory = Directory::new();
    let file = directory.path().join("file");
    fs::write(&file, "not a directory").expect("a file");
    let log = refused(&[], file.to_str().expect("UTF-8"));
    assert!(log.contains(file.to_str().expect("UTF-8")), "{log}");
    let text = fs::read_to_string(&file).expect("it is still there");
    assert_eq!(text, "not a directory");
}

#[test]
fn a_file_in_the_place_of_the_journal_is_refused_by_its_own_path() {
    let directory = Directory::new();
    let file = directory.path().join("journal");
    fs::write(&file, "not a directory").expect("a file");
    let log = refused(&[], directory.text());
    assert!(log.contains(file.to_str().expect("UTF-8")), "{log}");
}

#[test]
fn a_directory_without_permission_is_refused() {
    let directory = Directory::new();
    let locked = directory.path().join("locked");
    fs::create_dir(&locked).expect("a directory");
    let none = fs::Permissions::from_mode(0o000);
    fs::set_permissions(&locked, none).expect("it is ours");
    // To root permissions are no matter: somebody else has to try.
    let nobody = "setpriv --reuid 65534 --regid 65534 --clear-groups";
    let nobody: Vec<&str> = nobody.split(' ').collect();
    let is_root = fs::metadata("/proc/self").expect("Linux").uid() == 0;
    let before = if is_root { &nobody[..] } else { &[] };
    let log = refused(before, locked.to_str().expect("UTF-8"));
    let line = log.lines().find(|line| line.contains("critical"));
    let line = line.expect("there is one");
    assert!(
        line.contains(locked.to_str().expect("UTF-8")) && line.contains("Permission denied"),
        "{log}"
    );
}

#[test]
fn a_directory_that_is_not_there_is_made() {
    let directory = Directory::new();
    let deep = directory.path().join("a/b/c");
    let deep = deep.to_str().expect("UTF-8");
    let mut broker = Broker::start(&["--data-dir", deep]);
    broker.log_line("New data directory");
}
