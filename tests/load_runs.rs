//! The load tool against the broker, both in processes of their own.

mod server_support;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Output, Stdio};

use server_support::Broker;

fn bench(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_ferrymq"))
        .arg("bench")
        .args(arguments)
        .output()
        .expect("the tool was built")
}

/// Runs against the broker; the JSON that is printed.
fn measured(broker: &Broker, arguments: &[&str]) -> String {
    let url = broker.address().to_string();
    let mut all = arguments.to_vec();
    all.extend(["--json", "--url", &url]);
    let output = bench(&all);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {errors}");
    String::from_utf8(output.stdout).expect("JSON is text")
}

/// A number in JSON of one level.
fn number(json: &str, name: &str) -> f64 {
    let key = format!("\"{name}\":");
    let at = json
        .find(&key)
        .unwrap_or_else(|| panic!("no {name} in {json}"));
    let rest = &json[at + key.len()..];
    let end = rest.find([',', '}']).expect("a value ends");
    rest[..end].parse().expect("a number")
}

#[test]
fn every_scenario_delivers_all_that_it_publishes() {
    let broker = Broker::start(&["--auth", "no"]);
    let scenarios: [(&[&str], f64); 8] = [
        (&["throughput", "--ack-every", "100"], 1.0),
        (
            &[
                "throughput",
                "--producers",
                "3",
                "--consumers",
                "2",
                "--credit",
                "50",
            ],
            1.0,
        ),
        (
            &["confirmed", "--sync-every", "7", "--sync-window", "3"],
            1.0,
        ),
        (&["fan-out", "--consumers", "3"], 3.0),
        (&["topic", "--bindings", "50", "--consumers", "2"], 1.0),
        (&["transactions", "--commit-every", "30"], 1.0),
        (&["queues", "--queues", "40", "--consumers", "3"], 1.0),
        (&["connections", "--consumers", "12"], 1.0),
    ];
    for (arguments, copies) in scenarios {
        let mut all = arguments.to_vec();
        all.extend(["-n", "2000"]);
        let json = measured(&broker, &all);
        assert_eq!(number(&json, "published"), 2000.0, "{json}");
        assert_eq!(number(&json, "delivered"), 2000.0 * copies, "{json}");
    }
}

#[test]
fn messages_of_many_frames_arrive() {
    let broker = Broker::start(&["--auth", "no"]);
    let json = measured(&broker, &["-n", "20", "--size", "300000"]);
    assert_eq!(number(&json, "delivered"), 20.0, "{json}");
}

#[test]
fn a_rate_is_kept_and_latencies_are_told() {
    let broker = Broker::start(&["--auth", "no"]);
    let json = measured(&broker, &["latency", "--rate", "1000", "-n", "300"]);
    assert!(number(&json, "max") > 0.0, "{json}");
    assert!(number(&json, "published_per_s") < 1100.0, "{json}");
}

#[test]
fn what_a_consumer_holds_that_never_reads_comes_to_the_others() {
    let broker = Broker::start(&["--auth", "no"]);
    let json = measured(&broker, &["--stuck", "1", "-n", "20000"]);
    assert_eq!(number(&json, "published"), 20_000.0, "{json}");
    assert_eq!(number(&json, "delivered"), 20_000.0, "{json}");
}

#[test]
fn the_floor_is_measured_in_the_same_run() {
    let broker = Broker::start(&["--auth", "no"]);
    let pid = std::process::id().to_string();
    let json = measured(&broker, &["-n", "1000", "--floor", "--pid", &pid]);
    assert!(number(&json, "floor_us") > 0.0, "{json}");
    assert!(number(&json, "broker_resident_bytes") > 0.0, "{json}");
}

#[test]
fn without_a_broker_the_run_fails_and_says_why() {
    let unused = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
    let address = unused.local_addr().expect("it is bound").to_string();
    drop(unused);
    let output = bench(&["--url", &address, "-n", "1"]);
    assert!(!output.status.success());
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(errors.contains("refused"), "{errors}");
}

#[test]
fn the_relay_passes_octets_on_both_ways_and_ends_with_its_input() {
    let far = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
    let to = far.local_addr().expect("it is bound").to_string();
    let mut relay = Command::new(env!("CARGO_BIN_EXE_ferrymq"))
        .args(["bench", "relay", "--to", &to])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the tool was built");
    let mut line = String::new();
    let mut told = BufReader::new(relay.stdout.take().expect("it is piped"));
    told.read_line(&mut line).expect("it tells its port");
    let port: u16 = line.trim().parse().expect("a port");
    let mut near = TcpStream::connect(("127.0.0.1", port)).expect("it listens");
    let (mut far, _) = far.accept().expect("it goes on");
    let mut octets = [0; 4];
    near.write_all(b"ping").expect("it reads");
    far.read_exact(&mut octets).expect("it writes");
    assert_eq!(&octets, b"ping");
    far.write_all(b"pong").expect("it reads");
    near.read_exact(&mut octets).expect("it writes");
    assert_eq!(&octets, b"pong");
    drop(relay.stdin.take());
    assert!(relay.wait().expect("it ends").success());
}

#[test]
fn a_rate_that_cannot_be_kept_is_told_and_nothing_measured_is_an_error() {
    let broker = Broker::start(&["--auth", "no"]);
    let url = broker.address().to_string();
    let line = [
        "latency",
        "--rate",
        "1000000000",
        "-d",
        "0.5",
        "--warm-up",
        "0.5",
    ];
    let output = bench(&[&line[..], &["--url", &url]].concat());
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success(), "{errors}");
    assert!(errors.contains("nothing was measured"), "{errors}");
    let line = ["latency", "--rate", "10000000", "-n", "20000"];
    let output = bench(&[&line[..], &["--url", &url]].concat());
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    assert!(errors.contains("could not keep up"), "{errors}");
}

#[test]
fn a_run_that_is_interrupted_takes_its_durable_queue_away() {
    let path = std::env::temp_dir().join(format!("ferrymq-bench-{}", std::process::id()));
    let directory = path.to_str().expect("a path that is text");
    let mut broker = Broker::start(&["--data-dir", directory]);
    let url = broker.address().to_string();
    let run = ["bench", "durable", "-d", "60", "--url", &url];
    let mut tool = Command::new(env!("CARGO_BIN_EXE_ferrymq"))
        .args(run)
        .stdout(Stdio::null())
        .spawn()
        .expect("the tool was built");
    server_support::until("it publishes", || {
        let written = std::fs::read_dir(path.join("journal"));
        written.is_ok_and(|files| files.count() > 3)
    });
    let interrupted = Command::new("kill")
        .args(["-INT", &tool.id().to_string()])
        .status();
    assert!(interrupted.expect("kill is there").success());
    assert!(!tool.wait().expect("it ends").success());
    broker.signal("KILL");
    broker.wait();
    let mut broker = Broker::start(&["--data-dir", directory]);
    let line = broker.log_line("Recovered ");
    assert!(line.contains("Recovered 0 queues"), "{line}");
    drop(broker);
    let _ = std::fs::remove_dir_all(&path);
}
