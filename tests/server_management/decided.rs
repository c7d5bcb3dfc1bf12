//! Events of rights and logins: what a member alone knows, told by the core like all else.

use std::fs;

use ferrymq::client::Subscription;
use ferrymq::wire::{self, Map, Value};

use crate::console::{Console, list, listen, next};
use crate::durable_support::Directory;
use crate::rights::call;
use crate::server_support::{Broker, Client};

const ACL: &str = "org.apache.qpid.acl:acl:org.apache.qpid.broker:broker:amqp-broker";

/// The values of the next event of a class.
async fn event(heard: &mut Subscription, class: &str) -> Map {
    loop {
        let told = next(heard).await;
        for event in list(&told.body_bytes()) {
            let schema = event.get("_schema_id").and_then(Value::as_map);
            let name = schema.and_then(|schema| schema.get("_class_name")?.as_str());
            if name == Some(class) {
                let values = event.get("_values").and_then(Value::as_map);
                return values.expect("values").clone();
            }
        }
    }
}

fn texts<'a>(values: &'a Map, names: &[&str]) -> Vec<&'a str> {
    let text = |name: &&str| values.get(name).and_then(Value::as_str);
    names
        .iter()
        .map(|name| text(name).unwrap_or("no text"))
        .collect()
}

fn declare(client: &mut Client, channel: u16, queue: &str) -> Result<(), String> {
    client.attach(channel, queue);
    let declare = wire::QueueDeclare {
        queue: queue.into(),
        ..Default::default()
    };
    let done = client.ask(channel, wire::Command::QueueDeclare(declare));
    done.map_err(|(_, text)| text)
}

/// What is decided by what a queue is.
async fn assert_those_of_the_core_are_told(
    broker: &Broker,
    bob: &mut Client,
    heard: &mut Subscription,
) {
    let ann = Client::open_as(broker.address(), "ann", Map::new());
    let mut ann = ann.unwrap_or_else(|closed| panic!("{closed:?}"));
    ann.attach(1, "ann");
    let ring = wire::QueueDeclare {
        queue: "ring".into(),
        arguments: Some([("qpid.policy_type", "ring")].into_iter().collect()),
        ..Default::default()
    };
    ann.run(1, wire::Command::QueueDeclare(ring));
    let delete = |queue: &str| {
        wire::Command::QueueDelete(wire::QueueDelete {
            queue: queue.into(),
            ..Default::default()
        })
    };
    let act = ["userId", "action", "objectType", "objectName"];
    bob.attach(5, "deleting");
    bob.ask(5, delete("ring")).expect_err("denied");
    let denied = event(heard, "deny").await;
    assert_eq!(
        texts(&denied, &act),
        ["bob@QPID", "delete", "queue", "ring"]
    );
    bob.attach(6, "deleting again");
    bob.ask(6, delete("noted")).expect("allowed");
    let allowed = event(heard, "allow").await;
    assert_eq!(
        texts(&allowed, &act),
        ["bob@QPID", "delete", "queue", "noted"]
    );
}

/// On any kind of group.
async fn assert_decisions_are_told(group: &[&str]) {
    let directory = Directory::new();
    let file = directory.path().join("broker.acl");
    let rules = "quota queues 1 bob@QPID\nquota queues 1000 all\n\
        quota connections 1 bob@QPID\nquota connections 1000 all\n\
        acl deny-log bob@QPID create queue name=forbidden\n\
        acl deny bob@QPID create queue name=unsaid\n\
        acl allow-log bob@QPID create queue name=noted\n\
        acl deny-log bob@QPID delete queue policytype=ring\n\
        acl allow-log bob@QPID delete queue policytype=reject\nacl allow all all\n";
    fs::write(&file, rules).expect("written");
    let mut options = vec!["--auth", "no", "--acl-file", file.to_str().expect("text")];
    options.extend(group);
    let broker = Broker::start_on(&options);
    let console = Console::open(&broker).await;
    let key = "agent.ind.event.org_apache_qpid_acl.#";
    let (_, mut heard) = listen(&console.session, "qmf.default.topic", key).await;
    let bob = Client::open_as(broker.address(), "bob", Map::new());
    let mut bob = bob.unwrap_or_else(|closed| panic!("{closed:?}"));
    // Nobody is told of a rule that does not say so: what comes first is of the next.
    declare(&mut bob, 1, "unsaid").expect_err("denied");
    declare(&mut bob, 2, "forbidden").expect_err("denied");
    let act = ["userId", "action", "objectType", "objectName"];
    let denied = event(&mut heard, "deny").await;
    assert_eq!(
        texts(&denied, &act),
        ["bob@QPID", "create", "queue", "forbidden"]
    );
    declare(&mut bob, 3, "noted").expect("allowed");
    let allowed = event(&mut heard, "allow").await;
    assert_eq!(
        texts(&allowed, &act),
        ["bob@QPID", "create", "queue", "noted"]
    );
    declare(&mut bob, 4, "too-many").expect_err("it is the second");
    let beyond = event(&mut heard, "queueQuotaDeny").await;
    assert_eq!(
        texts(&beyond, &["userId", "queueName"]),
        ["bob@QPID", "too-many"]
    );
    assert_those_of_the_core_are_told(&broker, &mut bob, &mut heard).await;
    let closed = Client::open_as(broker.address(), "bob", Map::new());
    assert_eq!(closed.err().expect("it is the second").0, 320);
    let refused = event(&mut heard, "connectionDeny").await;
    assert_eq!(
        texts(&refused, &["userId", "clientAddr"]),
        ["bob@QPID", "127.0.0.1"]
    );
}

#[tokio::test]
async fn what_rules_decide_and_are_to_tell_of_is_told() {
    assert_decisions_are_told(&["--port", "0"]).await;
}

#[tokio::test]
async fn members_tell_what_their_rules_decide() {
    assert_decisions_are_told(&["--group", "lockstep", "--port", "0,0,0"]).await;
}

#[tokio::test]
async fn files_of_rules_that_are_read_are_told_and_those_that_are_not_taken() {
    let directory = Directory::new();
    let file = directory.path().join("broker.acl");
    fs::write(&file, "acl allow all all\n").expect("written");
    let options = ["--auth", "no", "--acl-file", file.to_str().expect("text")];
    let broker = Broker::start(&options);
    let mut console = Console::open(&broker).await;
    let key = "agent.ind.event.org_apache_qpid_acl.#";
    let (_, mut heard) = listen(&console.session, "qmf.default.topic", key).await;
    call(&mut console, ACL, "reloadACLFile", Map::new()).await;
    let loaded = event(&mut heard, "fileLoaded").await;
    assert_eq!(texts(&loaded, &["userId"]), [""]);
    fs::write(&file, "nonsense\n").expect("written");
    call(&mut console, ACL, "reloadACLFile", Map::new()).await;
    let failed = event(&mut heard, "fileLoadFailed").await;
    let reason = texts(&failed, &["reason"])[0].to_owned();
    assert!(reason.contains("broker.acl:1: "), "{reason}");
    broker.signal("HUP");
    event(&mut heard, "fileLoadFailed").await;
}
