//! Rights over sockets: what an ACL file denies comes back as an exception of the session or a close of
//! the connection, on every kind of group, and before anything is done.

mod durable_support;
mod server_support;

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use durable_support::Directory;
use ferrymq::wire::{self, Command, Map, QueueDeclare, Value};
use server_support::{Broker, Client};

/// Writes an ACL file into a directory.
fn acl(directory: &Directory, text: &str) -> PathBuf {
    let path = directory.path().join("broker.acl");
    fs::write(&path, text).expect("a file");
    path
}

fn start(directory: &Directory, text: &str, more: &[&str]) -> Broker {
    let file = acl(directory, text);
    let mut options = vec![
        "--log-enable",
        "info+",
        "--acl-file",
        file.to_str().expect("text"),
    ];
    options.extend(more);
    if !more.contains(&"--port") {
        options.extend(["--port", "0"]);
    }
    Broker::start_on(&options)
}

fn session(broker: &Broker, user: &str) -> Client {
    let client = Client::open_as(broker.address(), user, Map::new());
    let mut client = client.unwrap_or_else(|closed| panic!("{user}: {closed:?}"));
    // The session before may not have ended yet, and its name is its own.
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let name = COUNT.fetch_add(1, Ordering::Relaxed).to_string();
    client.attach(1, &name);
    client
}

/// Asserts what a command comes to on a session of its own: done, or refused with 403 and a text.
fn assert_done(broker: &Broker, user: &str, command: Command) {
    let what = command.name();
    let done = session(broker, user).ask(1, command);
    assert_eq!(done, Ok(()), "{user} {what}");
}

fn assert_denied(broker: &Broker, user: &str, command: Command, said: &str) {
    let what = command.name();
    let (code, text) = session(broker, user).ask(1, command).expect_err(what);
    assert_eq!(
        code,
        wire::ErrorCode::UNAUTHORIZED_ACCESS,
        "{user} {what}: {text}"
    );
    assert!(text.starts_with("unauthorized-access: "), "{text}");
    assert!(text.contains(said), "{user} {what}: {text}");
}

fn declare(queue: &str, arguments: &[(&str, Value)]) -> Command {
    Command::QueueDeclare(declared(queue, arguments))
}

fn declared(queue: &str, arguments: &[(&str, Value)]) -> QueueDeclare {
    QueueDeclare {
        queue: queue.into(),
        arguments: Some(arguments.iter().map(|(n, v)| (*n, v.clone())).collect()),
        ..QueueDeclare::default()
    }
}

fn delete(queue: &str) -> Command {
    Command::QueueDelete(wire::QueueDelete {
        queue: queue.into(),
        ..Default::default()
    })
}

fn text(value: &str) -> Value {
    Value::Str16(value.into())
}

const ANN: &str = "ann";
const BOB: &str = "bob";

/// Commands that ask of and make a queue and an exchange, and what they are denied with.
fn commands_that_make() -> Vec<(Command, &'static str)> {
    vec![
        (
            declare("q", &[]),
            "ACL denied queue create request from bob@QPID",
        ),
        (
            Command::QueueDeclare(QueueDeclare {
                passive: true,
                ..declared("q", &[])
            }),
            "ACL denied queue access request from bob@QPID",
        ),
        (
            Command::QueueQuery(wire::QueueQuery { queue: "q".into() }),
            "ACL denied queue query request from bob@QPID",
        ),
        (
            Command::ExchangeDeclare(wire::ExchangeDeclare {
                exchange: "e".into(),
                r#type: "direct".into(),
                ..Default::default()
            }),
            "ACL denied exchange create request from bob@QPID",
        ),
        (
            Command::ExchangeQuery(wire::ExchangeQuery {
                name: Some("e".into()),
            }),
            "ACL denied exchange query request from bob@QPID",
        ),
        (
            Command::ExchangeBound(wire::ExchangeBound {
                exchange: Some("e".into()),
                ..Default::default()
            }),
            "ACL denied exchange bound request from bob@QPID",
        ),
    ]
}

/// Those that use and delete them.
fn commands_that_use() -> Vec<(Command, &'static str)> {
    vec![
        (
            Command::ExchangeBind(wire::ExchangeBind {
                queue: "q".into(),
                exchange: "e".into(),
                ..Default::default()
            }),
            "ACL denied exchange bind request from bob@QPID",
        ),
        (
            Command::ExchangeUnbind(wire::ExchangeUnbind {
                queue: "q".into(),
                exchange: "e".into(),
                ..Default::default()
            }),
            "ACL denied exchange unbind request from bob@QPID",
        ),
        (
            Command::MessageSubscribe(wire::MessageSubscribe {
                queue: "q".into(),
                destination: "d".into(),
                ..Default::default()
            }),
            "ACL denied Queue subscribe request from bob@QPID",
        ),
        (
            Command::QueuePurge(wire::QueuePurge { queue: "q".into() }),
            "ACL denied queue purge request from bob@QPID",
        ),
        (
            Command::ExchangeDelete(wire::ExchangeDelete {
                exchange: "e".into(),
                ..Default::default()
            }),
            "ACL denied exchange delete request from bob@QPID",
        ),
        (delete("q"), "ACL denied queue delete request from bob@QPID"),
    ]
}

#[test]
fn every_class_of_commands_asks_for_its_right() {
    let directory = Directory::new();
    let broker = start(
        &directory,
        "acl allow ann@QPID all\nacl deny-log all all\n",
        &[],
    );
    let mut commands = commands_that_make();
    commands.extend(commands_that_use());
    // First where nothing is, then where it is: what is denied tells nothing of what is there.
    for (command, said) in &commands {
        assert_denied(&broker, BOB, command.clone(), said);
    }
    for (command, said) in commands {
        assert_done(&broker, ANN, command.clone());
        assert_denied(&broker, BOB, command, said);
    }
}

#[test]
fn properties_of_a_declaration_decide() {
    let directory = Directory::new();
    let text_of = "acl deny bob@QPID create queue name=q1 durable=true\n\
        acl deny bob@QPID create queue name=q2 policytype=ring\n\
        acl allow bob@QPID create queue name=q3 maxqueuesize=1000 maxqueuecount=10\n\
        acl allow bob@QPID create queue name=q4 queuemaxsizeupperlimit=104857600\n\
        acl deny bob@QPID create queue name=q4\n\
        acl deny bob@QPID create queue name=q5 paging=true pageslowerlimit=4\n\
        acl deny bob@QPID create queue name=q6 autodelete=true\n\
        acl allow all all\n";
    let mut broker = start(&directory, text_of, &[]);
    let denied = "queue create";
    let durable = QueueDeclare {
        durable: true,
        ..declared("q1", &[])
    };
    assert_denied(&broker, BOB, Command::QueueDeclare(durable), denied);
    assert_done(&broker, BOB, declare("q1", &[]));
    let ring = ("qpid.policy_type", text("ring"));
    assert_denied(&broker, BOB, declare("q2", &[ring]), denied);
    let strict = ("qpid.policy_type", text("ring_strict"));
    assert_done(&broker, BOB, declare("q2", &[strict]));
    let depths = |count: &str, size: u64| {
        [
            ("qpid.max_count", text(count)),
            ("qpid.max_size", Value::U64(size)),
        ]
    };
    assert_denied(&broker, BOB, declare("q3", &depths("10", 1001)), denied);
    assert_denied(&broker, BOB, declare("q3", &depths("11", 1000)), denied);
    assert_denied(&broker, BOB, declare("q3", &depths("0", 1000)), denied);
    assert_done(&broker, BOB, declare("q3", &depths("10", 1000)));
    assert_done(&broker, BOB, declare("q4", &[]));
    assert_denied(
        &broker,
        BOB,
        declare("q5", &[("qpid.paging", Value::Bool(true))]),
        denied,
    );
    let timeout = ("qpid.auto_delete_timeout", Value::U32(9));
    assert_denied(&broker, BOB, declare("q6", &[timeout]), denied);
    assert!(broker.is_running());
}

/// On one broker, and on three members that must stay alike.
fn assert_deletions(group: &[&str]) {
    let directory = Directory::new();
    let rules = "acl deny bob@QPID delete queue name=q* policytype=ring\n\
        acl deny bob@QPID delete queue autodelete=true alternate=amq.fanout\n\
        acl deny bob@QPID delete exchange type=topic\nacl allow all all\n";
    let mut broker = start(&directory, rules, group);
    let ring = ("qpid.policy_type", text("ring"));
    assert_done(&broker, ANN, declare("q1", std::slice::from_ref(&ring)));
    assert_done(&broker, ANN, declare("r1", &[ring]));
    let temporary = QueueDeclare {
        auto_delete: true,
        alternate_exchange: Some("amq.fanout".into()),
        ..declared("q2", &[])
    };
    assert_done(&broker, ANN, Command::QueueDeclare(temporary));
    for (exchange, kind) in [("e1", "topic"), ("e2", "direct")] {
        let declare = wire::ExchangeDeclare {
            exchange: exchange.into(),
            r#type: kind.into(),
            ..Default::default()
        };
        assert_done(&broker, ANN, Command::ExchangeDeclare(declare));
    }
    assert_denied(
        &broker,
        BOB,
        delete("q1"),
        "ACL denied queue delete request from bob@QPID",
    );
    assert_denied(
        &broker,
        BOB,
        delete("q2"),
        "ACL denied queue delete request from bob@QPID",
    );
    assert_done(&broker, BOB, delete("r1"));
    let exchange = |name: &str| {
        Command::ExchangeDelete(wire::ExchangeDelete {
            exchange: name.into(),
            ..Default::default()
        })
    };
    assert_denied(
        &broker,
        BOB,
        exchange("e1"),
        "ACL denied exchange delete request",
    );
    assert_done(&broker, BOB, exchange("e2"));
    assert_done(&broker, ANN, delete("q1"));
    broker.signal("TERM");
    assert!(broker.wait().success(), "{:#?}", broker.log());
}

#[test]
fn rules_that_ask_for_it_are_logged_once_what_there_is_has_decided() {
    let directory = Directory::new();
    let rules = "acl allow-log bob@QPID delete queue policytype=ring\n\
        acl deny-log bob@QPID delete queue autodelete=true\n\
        acl deny bob@QPID delete queue name=unsaid exclusive=false\n\
        acl allow-log ann@QPID delete exchange type=topic\nacl allow ann@QPID all\n\
        acl deny-log bob@QPID delete queue durable=true\nacl deny all all\n";
    let mut broker = start(&directory, rules, &[]);
    let ring = ("qpid.policy_type", text("ring"));
    assert_done(&broker, ANN, declare("ring", &[ring]));
    for queue in ["unsaid", "temporary"] {
        let declare = QueueDeclare {
            auto_delete: queue == "temporary",
            ..declared(queue, &[])
        };
        assert_done(&broker, ANN, Command::QueueDeclare(declare));
    }
    let denied = "ACL denied queue delete request from bob@QPID";
    assert_denied(&broker, BOB, delete("unsaid"), denied);
    assert_denied(&broker, BOB, delete("temporary"), denied);
    assert_done(&broker, BOB, delete("ring"));
    let line = broker.log_line("ACL Allow id:bob@QPID");
    assert!(
        line.ends_with("action:delete ObjectType:queue Name:ring"),
        "{line}"
    );
    let log = broker.log();
    let is_of_bob = |line: &&String| line.contains("id:bob@QPID");
    let told: Vec<_> = log.iter().filter(is_of_bob).collect();
    assert_eq!(told.len(), 2, "{told:#?}");
    let first = "ACL Deny id:bob@QPID action:delete ObjectType:queue Name:temporary";
    assert!(told[0].ends_with(first), "{told:#?}");
}

#[test]
fn what_a_queue_is_decides_whether_it_may_be_deleted() {
    assert_deletions(&[]);
}

#[test]
fn members_decide_alike_whether_something_may_be_deleted() {
    assert_deletions(&["--group", "lockstep", "--port", "0,0,0"]);
}

#[test]
fn publishing_is_decided_by_exchange_and_key() {
    let directory = Directory::new();
    let rules = "acl deny bob@QPID publish exchange name=amq.default routingkey=secret.#\n\
        acl allow all all\n";
    let broker = start(&directory, rules, &[]);
    let mut bob = session(&broker, BOB);
    bob.declare(1, "open");
    bob.subscribe(1, "open", wire::AcceptMode::NONE);
    for _ in 0..3 {
        bob.publish(1, "open", b"yes");
        assert_eq!(bob.receive(), b"yes");
    }
    bob.publish(1, "secret.x", b"no");
    let (code, text) = bob.exception(1);
    assert_eq!(code, wire::ErrorCode::UNAUTHORIZED_ACCESS);
    assert!(
        text.contains("bob@QPID cannot publish to  with routing-key secret.x"),
        "{text}"
    );
    let mut ann = session(&broker, ANN);
    ann.publish(1, "secret.x", b"to nobody");
    ann.sync(1);
}

#[test]
fn rules_that_are_read_again_count_from_then_on_and_bad_ones_never() {
    let directory = Directory::new();
    let mut broker = start(
        &directory,
        "acl allow all publish\nacl allow all all\n",
        &[],
    );
    let mut bob = session(&broker, BOB);
    bob.declare(1, "q");
    bob.publish(1, "q", b"1");
    bob.sync(1);
    acl(
        &directory,
        "acl deny bob@QPID publish exchange name=amq.default\nacl allow\n",
    );
    broker.signal("HUP");
    let line = broker.log_line("the rules that were in force stay so");
    assert!(line.contains("broker.acl:2: "), "{line}");
    bob.publish(1, "q", b"2");
    bob.sync(1);
    acl(
        &directory,
        "acl deny bob@QPID publish exchange name=amq.default\nacl allow all all\n",
    );
    broker.signal("HUP");
    server_support::until("the file is read again", || {
        let read = |line: &&String| line.contains("ACL: Read file");
        broker.log().iter().filter(read).count() == 2
    });
    bob.publish(1, "q", b"3");
    let (code, _) = bob.exception(1);
    assert_eq!(code, wire::ErrorCode::UNAUTHORIZED_ACCESS);
}

/// On one broker, and on three members that must stay alike.
fn assert_queue_quotas(group: &[&str]) {
    let directory = Directory::new();
    let rules = "quota queues 2 bob@QPID\nquota queues 0 eve@QPID\nquota queues 9 all\n\
        acl allow all all\n";
    let mut broker = start(&directory, rules, group);
    let denied = "ACL denied queue create request from bob@QPID";
    for queue in ["q1", "q2", "q1"] {
        assert_done(&broker, BOB, declare(queue, &[]));
    }
    assert_denied(&broker, BOB, declare("q3", &[]), denied);
    assert_denied(&broker, "eve", declare("q3", &[]), "from eve@QPID");
    assert_done(&broker, "eve", declare("q1", &[]));
    assert_done(&broker, ANN, delete("q1"));
    assert_done(&broker, BOB, declare("q3", &[]));
    let temporary = QueueDeclare {
        auto_delete: true,
        exclusive: true,
        ..declared("q4", &[])
    };
    assert_done(&broker, ANN, delete("q2"));
    // It goes with its session, and counts no more.
    assert_done(&broker, BOB, Command::QueueDeclare(temporary));
    let mut last = session(&broker, BOB);
    server_support::until("the queue of the session that ended is gone", || {
        let done = last.ask(1, declare("q5", &[]));
        if done.is_err() {
            last = session(&broker, BOB);
        }
        done.is_ok()
    });
    broker.signal("TERM");
    assert!(broker.wait().success(), "{:#?}", broker.log());
}

#[test]
fn queues_count_against_the_quota_of_who_made_them() {
    assert_queue_quotas(&[]);
}

#[test]
fn members_count_queues_alike() {
    assert_queue_quotas(&["--group", "lockstep", "--port", "0,0,0"]);
}

#[test]
fn durable_queues_count_after_a_restart_too() {
    let directory = Directory::new();
    let data = directory.path().join("data");
    let data = ["--data-dir", data.to_str().expect("text")];
    let rules = "quota queues 1 bob@QPID\nacl allow all all\n";
    let durable = |queue| {
        Command::QueueDeclare(QueueDeclare {
            durable: true,
            ..declared(queue, &[])
        })
    };
    let mut broker = start(&directory, rules, &data);
    assert_done(&broker, BOB, durable("q1"));
    broker.signal("TERM");
    assert!(broker.wait().success());
    let broker = start(&directory, rules, &data);
    assert_denied(&broker, BOB, durable("q2"), "queue create");
    assert_done(&broker, BOB, delete("q1"));
    assert_done(&broker, BOB, durable("q2"));
}

#[test]
fn connections_beyond_a_quota_or_from_a_wrong_host_are_closed_with_320() {
    let directory = Directory::new();
    let rules = "quota connections 1 bob@QPID\nquota connections 9 all\n\
        acl deny eve@QPID create connection host=127.0.0.1\nacl allow all all\n";
    let mut broker = start(&directory, rules, &[]);
    let denied = "User connection denied by configured limit";
    let bob = session(&broker, BOB);
    for user in [BOB, "eve"] {
        let closed = Client::open_as(broker.address(), user, Map::new());
        let (code, text) = closed.err().expect("it is closed");
        assert_eq!((code, text.contains(denied)), (320, true), "{text}");
    }
    broker.log_line("connection count limit of 1 exceeded");
    broker.log_line("denies connection for host 127.0.0.1, user eve@QPID");
    drop(bob);
    server_support::until("the connection is gone", || {
        Client::open_as(broker.address(), BOB, Map::new()).is_ok()
    });
}

#[test]
fn links_need_a_right_of_their_own() {
    let directory = Directory::new();
    let rules = "acl deny bob@QPID create link\nacl allow all all\n";
    let broker = start(&directory, rules, &[]);
    let link: Map = [("qpid.fed_link", Value::I32(1))].into_iter().collect();
    let closed = Client::open_as(broker.address(), BOB, link.clone());
    let (code, text) = closed.err().expect("it is closed");
    assert_eq!(code, 320);
    assert!(
        text.contains("ACL denied bob@QPID creating a federation link"),
        "{text}"
    );
    assert!(Client::open_as(broker.address(), ANN, link).is_ok());
}

#[test]
fn a_broker_with_a_bad_file_does_not_start() {
    let directory = Directory::new();
    let file = acl(&directory, "acl allow all all\nnonsense\n");
    let options = ["--acl-file", file.to_str().expect("text")];
    let ended = Broker::start_under(&[], &options)
        .err()
        .expect("it does not start");
    assert!(!ended.status.success());
    let log = ended.log.join("\n");
    assert!(
        log.contains("broker.acl:2: Line : 2, Non-continuation line"),
        "{log}"
    );
}
