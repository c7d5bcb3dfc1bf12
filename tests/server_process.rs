//! A broker as a process: its ports, its log, its end.

mod server_support;

use std::io::Write;
use std::process::Command;

use ferrymq::protocol::{ClosedBy, Event};
use server_support::{Broker, Client, socket};

fn serve(options: &[&str]) -> std::process::Output {
    Command::new(env!("CARGO_BIN_EXE_ferrymq"))
        .args(["serve", "--no-data-dir"])
        .args(options)
        .output()
        .expect("the broker was built")
}

#[test]
fn port_0_tells_the_port_in_the_first_line_of_standard_output() {
    let mut broker = Broker::start(&[]);
    assert_eq!(broker.ports.len(), 1);
    let line = broker.log_line("Listening on TCP/TCP6 port");
    let told = format!(
        "[Network] notice Listening on TCP/TCP6 port {}",
        broker.ports[0]
    );
    assert!(line.ends_with(&told), "{line}");
    Client::open(broker.address());
}

#[test]
fn a_port_that_was_named_is_not_told() {
    let port = Broker::start(&[]).ports[0];
    let broker = Broker::start_on(&["--port", &port.to_string()]);
    assert!(broker.ports.is_empty());
    Client::open(([127, 0, 0, 1], port).into());
}

#[test]
fn a_port_in_use_is_an_error_that_names_it() {
    let broker = Broker::start(&[]);
    let port = broker.ports[0].to_string();
    let output = serve(&["--port", &port]);
    assert!(!output.status.success());
    let log = String::from_utf8_lossy(&output.stderr);
    assert!(log.contains(&port) && log.contains("critical"), "{log}");
}

#[test]
fn others_than_loopback_are_refused_unless_it_was_said() {
    let output = serve(&["--port", "0", "--interface", "0.0.0.0"]);
    assert!(!output.status.success());
    let log = String::from_utf8_lossy(&output.stderr);
    assert!(log.contains("--auth no"), "{log}");
    assert!(output.stdout.is_empty(), "no port was opened");
    let mut broker = Broker::start(&["--auth", "no"]);
    broker.log_line("Authentication is off");
    Client::open(broker.address());
}

#[test]
fn a_mistake_in_an_option_is_an_error() {
    for wrong in [
        ["--no-such-option", "1"],
        ["--log-enable", "loud+"],
        ["--port", "0,0"],
        ["--interface", "no such host"],
    ] {
        let output = serve(&wrong);
        assert!(!output.status.success(), "{wrong:?}");
        assert!(!output.stderr.is_empty(), "{wrong:?}");
    }
}

#[test]
fn sigterm_closes_sockets_without_a_word_and_ends_well() {
    for signal in ["TERM", "INT"] {
        let mut broker = Broker::start(&[]);
        let mut idle = Client::open(broker.address());
        let mut busy = Client::open(broker.address());
        busy.attach(0, "busy");
        busy.declare(0, "q");
        for _ in 0..100 {
            busy.publish(0, "q", b"message");
        }
        busy.sync(0);
        broker.signal(signal);
        assert!(broker.wait().success(), "{signal}");
        broker.log_line("stopped");
        for client in [&mut idle, &mut busy] {
            let closed = client.event_of(|event| match event {
                Event::Closed { by, .. } => Some(*by),
                _ => None,
            });
            assert_eq!(closed, ClosedBy::Lost);
        }
    }
}

#[test]
fn lockstep_serves_one_port_for_each_member_and_ends_with_equal_digests() {
    let mut broker = Broker::start_lockstep("7", &[]);
    assert_eq!(broker.ports.len(), 3);
    broker.log_line("seed=7");
    let ports = broker.ports.clone();
    let open = |n: usize| Client::open(([127, 0, 0, 1], ports[n]).into());
    let mut sender = open(0);
    sender.attach(0, "sender");
    sender.declare(0, "q");
    let mut receiver = open(1);
    receiver.attach(0, "receiver");
    receiver.subscribe(0, "q", ferrymq::wire::AcceptMode::NONE);
    for n in 0..100 {
        sender.publish(0, "q", format!("{n}").as_bytes());
    }
    sender.sync(0);
    for n in 0..100 {
        assert_eq!(receiver.receive(), format!("{n}").as_bytes());
    }
    broker.signal("TERM");
    assert!(broker.wait().success());
    broker.log_line("seed=7");
}

#[test]
fn no_client_writes_lines_into_the_log() {
    let mut broker = Broker::start(&[]);
    let mut stream = socket(broker.address());
    stream.write_all(b"AMQP\r\n2\n").expect("it is sent");
    let line = broker.log_line("protocol header");
    assert!(line.contains("AMQP\\"), "{line}");
}

#[test]
fn the_trace_shows_commands_and_no_passwords() {
    let mut broker = Broker::start(&["--trace"]);
    let mut client = Client::start(broker.address());
    client.event();
    client
        .protocol()
        .start_ok("PLAIN", Some(b"\0guest\0secret".to_vec()), "en_US");
    client.event_of(|event| matches!(event, Event::OpenOk { .. }).then_some(()));
    client.attach(0, "traced");
    client.declare(0, "q");
    client.subscribe(0, "q", ferrymq::wire::AcceptMode::NONE);
    client.publish(0, "q", b"body");
    client.receive();
    for text in ["RECV", "QueueDeclare", "SENT", "transfer to \"q\""] {
        broker.log_line(text);
    }
    let log = broker.log().join("\n");
    assert!(!log.contains("secret") && !log.contains("body\""), "{log}");
}

#[test]
fn the_log_goes_to_a_file_when_asked() {
    let path = std::env::temp_dir().join(format!("ferrymq-log-{}", std::process::id()));
    let name = path.to_string_lossy().into_owned();
    let mut broker = Broker::start(&["--log-to-file", &name]);
    broker.signal("TERM");
    broker.wait();
    let log = std::fs::read_to_string(&path).expect("it was written");
    std::fs::remove_file(&path).expect("it is there");
    assert!(log.contains("[Network] notice Listening on"), "{log}");
    assert!(log.contains("stopped"), "{log}");
    let line = log.lines().next().unwrap_or_default();
    let stamp = line.get(..19).unwrap_or_default();
    let shape: String = stamp
        .chars()
        .map(|c| if c.is_ascii_digit() { '0' } else { c })
        .collect();
    assert_eq!(shape, "0000-00-00 00:00:00");
}

#[test]
fn command_line_goes_before_the_environment_of_which_no_word_is_guessed() {
    let directory = std::env::temp_dir().join(format!("ferrymq-order-{}", std::process::id()));
    let run = |variable: &str, value: &str, options: &[&str]| {
        Command::new(env!("CARGO_BIN_EXE_ferrymq"))
            .arg("serve")
            // It ends at this, after the options were read and before anything is touched.
            .args(["--port", "1,2"])
            .args(options)
            .env(variable, value)
            .output()
            .expect("the broker was built")
    };
    let text = directory.to_str().expect("a path that is text");
    for output in [
        run("QPID_DATA_DIR", text, &["--no-data-dir"]),
        run("QPID_NO_DATA_DIR", "1", &["--data-dir", text]),
    ] {
        let log = String::from_utf8_lossy(&output.stderr);
        assert!(log.contains("several ports"), "{log}");
    }
    for (variable, value) in [("QPID_NO_DATA_DIR", "maybe"), ("QPID_TRACE", "maybe")] {
        let output = run(variable, value, &[]);
        let log = String::from_utf8_lossy(&output.stderr);
        assert!(log.contains("it is yes or no"), "{log}");
    }
    let output = run("QPID_PORT", "0", &["--no-data-dir", "--data-dir", text]);
    let log = String::from_utf8_lossy(&output.stderr);
    assert!(log.contains("exclude each other"), "{log}");
    assert!(!directory.exists(), "what is refused makes nothing");
}
