//! A lockstep group with a data directory: what it was told holds after its process was killed.

mod durable_support;
mod server_support;

use std::fs;
use std::process::Command;

use durable_support::Directory;
use ferrymq::wire::AcceptMode;
use server_support::{Broker, Client};

fn options<'a>(directory: &'a Directory, ports: &'a str) -> Vec<&'a str> {
    let text = "--group lockstep --lockstep-seed 11 --journal-file-size 64k --port";
    let mut options: Vec<&str> = text.split(' ').collect();
    options.extend([ports, "--data-dir", directory.text()]);
    options
}

fn start(directory: &Directory) -> Broker {
    Broker::start_on(&options(directory, "0,0,0"))
}

fn open(broker: &Broker, member: usize) -> Client {
    let mut client = Client::open(([127, 0, 0, 1], broker.ports[member]).into());
    client.attach(0, &format!("client of {member}"));
    client
}

/// Why a broker does not start.
fn refused(options: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_ferrymq"))
        .arg("serve")
        .args(options)
        .output();
    let output = output.expect("it runs");
    let log = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{log}");
    assert!(
        log.contains("critical") && !log.contains("panicked"),
        "{log}"
    );
    log
}

#[test]
fn what_was_confirmed_is_there_after_a_kill_on_every_member() {
    let directory = Directory::new();
    let mut broker = start(&directory);
    let mut client = open(&broker, 0);
    client.declare(0, "q");
    let mut sent = 0;
    for life in 1..4 {
        let mut client = open(&broker, life % 3);
        for _ in 0..100 {
            client.publish(0, "q", format!("message {sent}").as_bytes());
            sent += 1;
        }
        client.sync(0);
        broker.signal("KILL");
        broker.wait();
        broker = start(&directory);
        broker.log_line("Recovered 1 queues");
    }
    let mut receiver = open(&broker, 2);
    receiver.subscribe(0, "q", AcceptMode::NONE);
    for n in 0..sent {
        assert_eq!(receiver.receive(), format!("message {n}").as_bytes());
    }
    broker.signal("TERM");
    assert!(broker.wait().success());
    broker.log_line("digest comparisons equal");
}

#[test]
fn a_member_whose_directory_was_lost_gets_what_the_others_have() {
    let directory = Directory::new();
    let mut broker = start(&directory);
    let mut client = open(&broker, 0);
    client.declare(0, "q");
    client.publish(0, "q", b"message");
    client.sync(0);
    broker.signal("KILL");
    broker.wait();
    fs::remove_dir_all(directory.path().join("2")).expect("it is there");
    let mut broker = start(&directory);
    broker.log_line("member 2 gets entries");
    let mut receiver = open(&broker, 1);
    receiver.subscribe(0, "q", AcceptMode::NONE);
    assert_eq!(receiver.receive(), b"message");
    broker.signal("KILL");
    broker.wait();
    for lost in ["1", "3"] {
        fs::remove_dir_all(directory.path().join(lost)).expect("it is there");
    }
    let log = refused(&options(&directory, "0,0,0"));
    assert!(log.contains("members [1, 3] are new"), "{log}");
}

#[test]
fn a_directory_of_another_kind_of_group_is_refused() {
    let directory = Directory::new();
    drop(start(&directory));
    let log = refused(&["--port", "0", "--data-dir", directory.text()]);
    assert!(log.contains("that of a lockstep group"), "{log}");
    let log = refused(&options(&directory, "0"));
    assert!(log.contains("more than 1 members"), "{log}");
    let other = Directory::new();
    drop(Broker::start(&["--data-dir", other.text()]));
    let log = refused(&options(&other, "0,0,0"));
    assert!(log.contains("that of a broker that stands alone"), "{log}");
}

#[test]
fn without_a_data_directory_it_keeps_nothing() {
    let directory = Directory::new();
    let home = directory.text();
    let mut command = Command::new(env!("CARGO_BIN_EXE_ferrymq"));
    command.args(["serve", "--group", "lockstep", "--port", "1,1"]);
    // The ports are in use or not for it to have; it has opened what it keeps before.
    let output = command.env("HOME", home).output();
    assert!(output.is_ok_and(|output| !output.status.success()));
    let left = fs::read_dir(directory.path()).expect("it is there").count();
    assert_eq!(left, 0);
}
