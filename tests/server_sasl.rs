//! Logging in over sockets, with users that the tool has made.

mod durable_support;
mod server_support;

use std::io::Write;
use std::process::{Command, Output, Stdio};

use durable_support::Directory;
use ferrymq::protocol::Event;
use ferrymq::security::limits;
use ferrymq::security::sasl::scram::{ClientSide, Hash};
use ferrymq::wire::{self, Map};
use server_support::{Broker, Client, until};

/// Runs `ferrymq user` with a password on standard input.
fn tool(directory: &Directory, arguments: &[&str], password: &str) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_ferrymq"))
        .arg("user")
        .args(arguments)
        .args(["--data-dir", directory.text()])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it was built");
    let mut stdin = child.stdin.take().expect("it is piped");
    // A tool that needs no password may have ended.
    let _ = writeln!(stdin, "{password}");
    drop(stdin);
    child.wait_with_output().expect("it ends")
}

fn add(directory: &Directory, name: &str, password: &str) {
    let added = tool(directory, &["add", name], password);
    assert!(added.status.success(), "{added:?}");
}

fn start(directory: &Directory, more: &[&str]) -> Broker {
    let mut options = vec!["--auth", "yes", "--interface", "127.0.0.1"];
    options.extend(["--data-dir", directory.text()]);
    options.extend(more);
    Broker::start(&options)
}

fn plain(broker: &Broker, user: &str, password: &str) -> Result<Client, (u16, String)> {
    let response = format!("\0{user}\0{password}").into_bytes();
    Client::log_in(broker.address(), "PLAIN", |_| Some(response.clone()))
}

fn scram(
    broker: &Broker,
    mechanism: &str,
    user: &str,
    password: &str,
) -> Result<Client, (u16, String)> {
    let hash = match mechanism {
        "SCRAM-SHA-256" => Hash::Sha256,
        _ => Hash::Sha1,
    };
    let (mut side, first) = ClientSide::new(hash, user, password.as_bytes());
    Client::log_in(broker.address(), mechanism, |challenge| match challenge {
        None => Some(first.clone().into_bytes()),
        Some(said) => Some(side.answer(said).unwrap_or_default()),
    })
}

fn assert_refused(tried: Result<Client, (u16, String)>) {
    let (code, text) = tried.err().expect("it is refused");
    assert_eq!(code, 320);
    assert!(text.contains("Authentication failed"), "{text}");
}

#[test]
fn users_of_the_tool_log_in_with_their_passwords_and_no_others() {
    let directory = Directory::new();
    add(&directory, "ann", "secret");
    add(&directory, "bob@ELSEWHERE", "other");
    let mut broker = start(&directory, &[]);
    assert!(plain(&broker, "ann", "secret").is_ok());
    assert!(plain(&broker, "ann@QPID", "secret").is_ok());
    assert_refused(plain(&broker, "ann", "secret2"));
    assert_refused(plain(&broker, "ann", ""));
    assert!(plain(&broker, "bob@ELSEWHERE", "other").is_ok());
    assert_refused(plain(&broker, "bob", "other"));
    assert_refused(plain(&broker, "nobody", "secret"));
    for mechanism in ["SCRAM-SHA-256", "SCRAM-SHA-1"] {
        assert!(
            scram(&broker, mechanism, "ann", "secret").is_ok(),
            "{mechanism}"
        );
        assert_refused(scram(&broker, mechanism, "ann", "Secret"));
        assert_refused(scram(&broker, mechanism, "nobody", "secret"));
    }
    let log = broker.log().join("\n");
    assert!(log.contains("unknown user or wrong password"), "{log}");
    assert!(!log.contains("secret"), "{log}");
}

#[test]
fn unknown_users_are_answered_like_known_ones() {
    let directory = Directory::new();
    add(&directory, "ann", "secret");
    let broker = start(&directory, &[]);
    let salt_of = |user: &str| {
        let (_, first) = ClientSide::new(Hash::Sha256, user, b"x");
        let mut salt = String::new();
        let tried = Client::log_in(broker.address(), "SCRAM-SHA-256", |said| match said {
            None => Some(first.clone().into_bytes()),
            Some(said) => {
                let said = String::from_utf8_lossy(said).into_owned();
                salt = said.split_once(",s=").expect("a salt").1.to_owned();
                Some(Vec::new())
            }
        });
        assert_refused(tried);
        salt
    };
    let (known, unknown) = (salt_of("ann"), salt_of("nobody"));
    assert_eq!(unknown, salt_of("nobody"));
    assert_ne!(unknown, salt_of("nobody2"));
    assert_eq!(known, salt_of("ann"));
    assert_eq!(known.len(), unknown.len());
}

#[test]
fn what_is_not_offered_is_not_supported() {
    let directory = Directory::new();
    add(&directory, "ann", "secret");
    let broker = start(&directory, &[]);
    let offered = Client::offered(broker.address());
    assert_eq!(offered, ["SCRAM-SHA-256", "SCRAM-SHA-1", "PLAIN"]);
    for mechanism in ["ANONYMOUS", "EXTERNAL", "CRAM-MD5", "whatever", ""] {
        let tried = Client::log_in(broker.address(), mechanism, |_| Some(Vec::new()));
        let (code, text) = tried.err().expect(mechanism);
        assert_eq!(code, 320);
        assert!(text.contains("Unsupported mechanism"), "{text}");
    }
}

#[test]
fn old_mechanisms_are_for_users_whose_passwords_are_kept() {
    let directory = Directory::new();
    let added = tool(&directory, &["add", "ann", "--keep-password"], "tanstaaf");
    assert!(added.status.success());
    add(&directory, "bob", "tanstaaf");
    let broker = start(&directory, &["--sasl-mechanisms", "cram-md5,ANONYMOUS"]);
    assert_eq!(Client::offered(broker.address()), ["CRAM-MD5", "ANONYMOUS"]);
    // What a wrong digest comes to; right ones are in the tests of the mechanism.
    for user in ["ann", "bob"] {
        let tried = Client::log_in(broker.address(), "CRAM-MD5", |challenge| {
            challenge.map(|_| format!("{user} 00").into_bytes())
        });
        assert_refused(tried);
    }
    let anonymous = Client::log_in(broker.address(), "ANONYMOUS", |_| Some(Vec::new()));
    assert!(anonymous.is_ok());
}

#[test]
fn the_tool_adds_changes_lists_and_removes_while_the_broker_runs() {
    let directory = Directory::new();
    add(&directory, "ann", "one");
    let broker = start(&directory, &[]);
    let again = tool(&directory, &["add", "ann"], "x");
    assert!(!again.status.success());
    assert!(
        tool(&directory, &["password", "ann"], "two")
            .status
            .success()
    );
    assert_refused(plain(&broker, "ann", "one"));
    assert!(plain(&broker, "ann", "two").is_ok());
    add(&directory, "bob", "three");
    let listed = tool(&directory, &["list"], "");
    assert_eq!(
        String::from_utf8_lossy(&listed.stdout),
        "ann@QPID PLAIN SCRAM-SHA-256 SCRAM-SHA-1\nbob@QPID PLAIN SCRAM-SHA-256 SCRAM-SHA-1\n"
    );
    assert!(tool(&directory, &["remove", "ann"], "").status.success());
    assert!(!tool(&directory, &["remove", "ann"], "").status.success());
    assert!(!tool(&directory, &["password", "ann"], "x").status.success());
    assert_refused(plain(&broker, "ann", "two"));
    assert!(plain(&broker, "bob", "three").is_ok());
    for (name, password) in [("a b", "x"), ("c", "")] {
        assert!(!tool(&directory, &["add", name], password).status.success());
    }
    let text = std::fs::read_to_string(directory.path().join("users")).expect("a file");
    assert!(!text.contains("three"));
}

#[test]
fn a_users_file_that_gets_bad_leaves_the_users_that_were_there() {
    let directory = Directory::new();
    add(&directory, "ann", "one");
    let mut broker = start(&directory, &[]);
    std::fs::write(directory.path().join("users"), "nonsense").expect("written");
    assert!(plain(&broker, "ann", "one").is_ok());
    let line = broker.log_line("the users that were there stay");
    assert!(line.contains("line 1"), "{line}");
}

#[test]
fn who_fails_too_often_is_not_listened_to_from_there_and_others_are() {
    let directory = Directory::new();
    add(&directory, "ann", "one");
    add(&directory, "bob", "two");
    let mut broker = start(&directory, &[]);
    for _ in 0..limits::FAILURES_MAX {
        assert_refused(plain(&broker, "ann", "wrong"));
    }
    assert_refused(plain(&broker, "ann", "one"));
    broker.log_line("is not listened to for a while");
    assert!(plain(&broker, "bob", "two").is_ok());
}

#[test]
fn of_many_who_fail_at_once_no_more_passwords_are_looked_at_than_one_after_the_other() {
    let directory = Directory::new();
    add(&directory, "ann", "one");
    let mut broker = start(&directory, &[]);
    let mut clients: Vec<Client> = (0..4 * limits::FAILURES_MAX)
        .map(|_| {
            let mut client = Client::start(broker.address());
            assert!(matches!(client.event(), Event::Start { .. }));
            client
        })
        .collect();
    for client in &mut clients {
        let response = b"\0ann\0wrong".to_vec();
        client.protocol().start_ok("PLAIN", Some(response), "en_US");
        client.flush();
    }
    for client in &mut clients {
        assert!(matches!(client.event(), Event::Closed { .. }));
    }
    let mut told = Vec::new();
    until("all are told", || {
        let log = broker.log().iter();
        told = log
            .filter(|line| line.contains("Authentication failed: "))
            .cloned()
            .collect();
        told.len() == clients.len()
    });
    let is_shut_out = |line: &String| line.contains("too often from there");
    let looked_at = told.iter().filter(|line| !is_shut_out(line)).count();
    let at_once = std::thread::available_parallelism().map_or(1, usize::from);
    let most = limits::FAILURES_MAX as usize + at_once;
    assert!(looked_at < most, "{looked_at}");
}

#[test]
fn an_address_that_fails_far_too_often_is_not_listened_to() {
    let directory = Directory::new();
    add(&directory, "ann", "one");
    let broker = start(&directory, &[]);
    for _ in 0..limits::HOST_FAILURES_MAX {
        let tried = Client::log_in(broker.address(), "PLAIN", |_| Some(b"nonsense".to_vec()));
        assert_refused(tried);
    }
    assert_refused(plain(&broker, "ann", "one"));
}

#[test]
fn links_need_rules_of_their_own_where_users_log_in() {
    let directory = Directory::new();
    add(&directory, "ann", "password");
    let broker = start(&directory, &[]);
    let link: Map = [("qpid.fed_link", wire::Value::I32(1))]
        .into_iter()
        .collect();
    let closed = Client::open_as(broker.address(), "ann", link);
    let (code, text) = closed.err().expect("it is closed");
    // All of it would be longer than the 128 octets that a text has in qpidd's words.
    let wanted =
        "User ann@QPID federation connection denied. Systems with authentication enabled must";
    assert!(code == 320 && text.starts_with(wanted), "{code}: {text}");
    assert!(Client::open_as(broker.address(), "ann", Map::new()).is_ok());
}

#[test]
fn a_message_names_nobody_else_as_its_user() {
    let directory = Directory::new();
    add(&directory, "ann", "one");
    let broker = start(&directory, &[]);
    let publish = |client: &mut Client, channel: u16, user: &str| {
        // 0-10: message.message-properties: size, code, packing flags of user-id alone, and that.
        let size = u32::try_from(6 + user.len()).expect("it fits");
        let mut rest = size.to_be_bytes().to_vec();
        rest.extend([4, 3, 1 << 6, 0, 0]);
        rest.push(u8::try_from(user.len()).expect("it fits"));
        rest.extend(user.bytes());
        client.publish_with(channel, "q", &rest, b"x");
    };
    let mut client = plain(&broker, "ann", "one").expect("she may");
    client.attach(1, "first");
    client.declare(1, "q");
    for user in ["ann", "ann@QPID", ""] {
        publish(&mut client, 1, user);
        client.sync(1);
    }
    for (channel, user) in [(2, "ANN"), (3, "ann@qpid"), (4, "Ann@QPID"), (5, "ann@")] {
        client.attach(channel, user);
        publish(&mut client, channel, user);
        let (code, text) = client.exception(channel);
        assert_eq!(code, wire::ErrorCode::UNAUTHORIZED_ACCESS, "{text}");
    }
    publish(&mut client, 1, "bob@QPID");
    let (code, text) = client.exception(1);
    assert_eq!(code, wire::ErrorCode::UNAUTHORIZED_ACCESS);
    let said = "authorised user id : ann@QPID but user id in message declared as bob@QPID";
    assert!(text.contains(said), "{text}");
}

#[test]
fn nobody_logs_in_without_users_and_the_broker_says_what_to_do() {
    let directory = Directory::new();
    let options = ["--auth", "yes", "--data-dir", directory.text()];
    let ended = Broker::start_under(&[], &options)
        .err()
        .expect("it does not start");
    assert!(
        ended.log.join("\n").contains("ferrymq user add"),
        "{:?}",
        ended.log
    );
}

#[test]
fn without_authentication_any_name_will_do_as_before() {
    let broker = Broker::start(&["--auth", "no", "--interface", "127.0.0.1"]);
    assert_eq!(Client::offered(broker.address()), ["ANONYMOUS", "PLAIN"]);
    until("it lets everybody in", || {
        Client::open_as(broker.address(), "anybody", Map::new()).is_ok()
    });
}
