//! What the model shows of a core: objects by class, piece by piece, and by name.

mod broker;

use std::collections::BTreeSet;

use broker::session::Session;
use broker::{Broker, MEMBER, message, range};
use ferrymq::broker::ids::ConnectionKey;
use ferrymq::management::model::{
    self, Member, Membership, OBJECTS_PER_LOOK, Place, Setting, Totals, Traffic, World,
};
use ferrymq::qmf::broker as schema;
use ferrymq::qmf::datum::Datum;
use ferrymq::qmf::schema::Class;
use ferrymq::qmf::{Object, ObjectName, PACKAGES};
use ferrymq::wire::{AcceptMode, Value};

const STARTED: u64 = 1_600_000_000_000_000_000;

fn member(id: u64, url: &str) -> Member {
    let url = url.into();
    Member {
        id,
        url,
        is_voter: true,
    }
}

fn setting() -> Setting {
    Setting {
        broker: [9; 16],
        port: 5672,
        heap_bytes: Some(4096),
        membership: Membership {
            name: "green".into(),
            group: 0xabc,
            own: 0x1f,
            leader: Some(0x2f),
            members: vec![
                member(0x1f, "amqp:tcp:a:1"),
                member(0x2f, ""),
                member(0x3f, "b"),
            ],
        },
        started: STARTED,
        now: STARTED + 1_000_000_000,
        ..Setting::default()
    }
}

fn traffic(_: ConnectionKey) -> Option<Traffic> {
    Some(Traffic {
        frames_in: 3,
        ..Traffic::default()
    })
}

fn with_world<T>(broker: &Broker, look: impl FnOnce(World<'_>) -> T) -> T {
    broker.core(|core| {
        let mut totals = Totals::of_deleted(core);
        let mut behind = totals.add_queues(core, None);
        while let Some(name) = behind {
            behind = totals.add_queues(core, Some(&name));
        }
        look(World {
            core,
            setting: &setting(),
            traffic: &traffic,
            totals: &totals,
            is_told: false,
        })
    })
}

/// All objects of a class, and in how many pieces they came.
fn pieces(broker: &Broker, class: &'static Class) -> (Vec<Object>, usize) {
    let (mut place, mut found, mut count) = (Place::Start, Vec::new(), 0);
    while place != Place::End {
        let before = found.len();
        with_world(broker, |world| {
            model::next_objects(world, class, &mut place, &mut found)
        });
        assert!(
            found.len() <= before + 2 * OBJECTS_PER_LOOK,
            "a large piece"
        );
        count += 1;
    }
    (found, count)
}

fn all(broker: &Broker, class: &'static Class) -> Vec<Object> {
    pieces(broker, class).0
}

fn named(broker: &Broker, name: &ObjectName) -> Option<Object> {
    with_world(broker, |world| model::object(world, name))
}

fn queue(broker: &Broker, name: &str) -> Object {
    named(broker, &ObjectName::queue(name)).expect("the queue is there")
}

fn number(object: &Object, name: &str) -> u64 {
    match object.value(name) {
        Some(Datum::U64(number) | Datum::DeltaTime(number)) => *number,
        Some(Datum::U32(number)) => u64::from(*number),
        other => panic!("{name} is {other:?}"),
    }
}

fn text(object: &Object, name: &str) -> String {
    match object.value(name) {
        Some(Datum::ShortText(text) | Datum::LongText(text)) => text.to_string(),
        Some(Datum::Reference(name)) => name.to_string(),
        other => panic!("{name} is {other:?}"),
    }
}

fn scene() -> (Broker, Session) {
    let broker = Broker::new();
    let session = broker.session("s");
    session.declare("q");
    (broker, session)
}

/// A scene with objects of every kind that a core holds.
fn full_scene() -> Broker {
    let (broker, session) = scene();
    session.declare_exchange("e", "topic", Some("amq.fanout"));
    session.bind("e", "q", "a.#", &[]);
    session.subscribe("q", "d");
    broker
}

#[test]
fn every_object_of_a_list_is_found_by_its_name_and_is_the_same() {
    let broker = full_scene();
    let mut count = 0;
    for class in PACKAGES.iter().flat_map(|package| package.classes) {
        for object in all(&broker, class) {
            assert_eq!(object.class(), *class);
            assert_eq!(named(&broker, &object.name), Some(object));
            count += 1;
        }
    }
    assert_eq!(count, 17);
}

#[test]
fn every_object_has_what_its_class_says_in_its_order() {
    let broker = full_scene();
    for class in PACKAGES.iter().flat_map(|package| package.classes) {
        for object in all(&broker, class) {
            let types = object.values.statistics.iter().map(Datum::r#type);
            assert!(types.eq(class.statistics.iter().map(|s| s.r#type)));
            assert_eq!(object.values.properties.len(), class.properties.len());
            for (property, datum) in class.properties.iter().zip(&object.values.properties) {
                let fits = datum.as_ref().map(Datum::r#type) == Some(property.r#type);
                let may_miss = datum.is_none() && property.is_optional;
                assert!(fits || may_miss, "{} of {}", property.name, object.name);
            }
        }
    }
}

#[test]
fn references_lead_to_objects_that_are_there() {
    let broker = full_scene();
    for class in PACKAGES.iter().flat_map(|package| package.classes) {
        for object in all(&broker, class) {
            for datum in object.values.properties.iter().flatten() {
                let Datum::Reference(name) = datum else {
                    continue;
                };
                assert!(
                    named(&broker, name).is_some(),
                    "{} names {name}",
                    object.name
                );
            }
        }
    }
}

#[test]
fn what_is_not_there_is_not_found() {
    let broker = full_scene();
    let names = [
        "",
        ":",
        "org.apache.qpid.broker:queue",
        "org.apache.qpid.broker:queue:r",
        "org.apache.qpid.broker:nothing:q",
        "org.apache.qpid.broker:broker:other",
        "org.apache.qpid.broker:session:s",
        "org.apache.qpid.broker:binding:q",
        "org.apache.qpid.broker:subscription:,",
        "org.apache.qpid.acl:acl:org.apache.qpid.broker:broker:amqp-broker",
    ];
    for name in names {
        let name = ObjectName::parse(name).unwrap();
        assert_eq!(named(&broker, &name), None, "{name}");
    }
}

#[test]
fn a_long_list_comes_in_pieces_and_each_object_once() {
    let (broker, session) = scene();
    let count = OBJECTS_PER_LOOK + 20;
    for index in 0..count {
        session.declare(&format!("q{index}"));
        session.bind("amq.topic", &format!("q{index}"), "k", &[]);
        session.subscribe(&format!("q{index}"), &format!("d{index}"));
    }
    let expected = [
        (&schema::QUEUE, count + 1),
        (&schema::BINDING, 2 * count + 1),
        (&schema::SUBSCRIPTION, count),
    ];
    for (class, expected) in expected {
        let (objects, pieces) = pieces(&broker, class);
        assert!(pieces > 1);
        let names: BTreeSet<_> = objects.iter().map(|object| &object.name).collect();
        assert_eq!(
            (objects.len(), names.len()),
            (expected, expected),
            "{}",
            class.name
        );
    }
}

#[test]
fn a_queue_shows_what_came_and_went() {
    let (broker, session) = scene();
    for body in ["one", "two", "three"] {
        session.publish("q", body);
    }
    let before = queue(&broker, "q");
    assert_eq!(number(&before, "msgTotalEnqueues"), 3);
    assert_eq!(number(&before, "msgDepth"), 3);
    session.purge("q");
    let after = queue(&broker, "q");
    assert_eq!(number(&after, "msgTotalDequeues"), 3);
    assert_eq!(number(&after, "discardsPurge"), 3);
    assert_eq!(
        (number(&after, "msgDepth"), number(&after, "byteDepth")),
        (0, 0)
    );
    assert_eq!(
        number(&after, "byteTotalDequeues"),
        number(&before, "byteDepth")
    );
}

#[test]
fn what_a_queue_shows_adds_up_to_what_the_broker_shows() {
    let (broker, session) = scene();
    session.declare("r");
    session.publish("q", "one");
    session.publish("r", "two");
    session.publish("r", "three");
    session.delete("r");
    let sums = named(&broker, &ObjectName::broker()).expect("the broker is there");
    assert_eq!(number(&sums, "queueCount"), 1);
    assert_eq!(number(&sums, "msgTotalEnqueues"), 3);
    assert_eq!(number(&sums, "msgTotalDequeues"), 2);
    assert_eq!(number(&sums, "msgDepth"), 1);
    assert_eq!(
        number(&sums, "byteDepth"),
        number(&queue(&broker, "q"), "byteDepth")
    );
    assert_eq!(number(&sums, "uptime"), 1_000_000_000);
}

#[test]
fn a_queue_shows_its_subscriptions_and_bindings_the_default_exchange_among_them() {
    let (broker, session) = scene();
    session.bind("amq.direct", "q", "k", &[]);
    session.subscribe("q", "d");
    let queue = queue(&broker, "q");
    assert_eq!(number(&queue, "bindingCount"), 2);
    assert_eq!(number(&queue, "consumerCount"), 1);
}

#[test]
fn an_exchange_shows_what_it_routed_and_dropped() {
    let (broker, session) = scene();
    session.declare_exchange("e", "direct", Some("amq.fanout"));
    session.bind("e", "q", "k", &[]);
    session.transfer("e", message("k", "body"), AcceptMode::NONE);
    session.transfer("e", message("other", "body"), AcceptMode::NONE);
    let exchange = named(&broker, &ObjectName::exchange("e")).expect("it is there");
    let shown = ["msgReceives", "msgRoutes", "msgDrops", "bindingCount"];
    assert_eq!(shown.map(|name| number(&exchange, name)), [2, 1, 1, 1]);
    assert_eq!(text(&exchange, "type"), "direct");
    let alternate = text(&exchange, "altExchange");
    assert_eq!(alternate, "org.apache.qpid.broker:exchange:amq.fanout");
}

#[test]
fn a_binding_shows_its_key_arguments_and_what_matched() {
    let (broker, session) = scene();
    session.bind("amq.topic", "q", "a.*", &[("x", Value::U8(1))]);
    session.transfer("amq.topic", message("a.b", "body"), AcceptMode::NONE);
    let of_topic = |object: &Object| text(object, "exchangeRef").ends_with(":amq.topic");
    let bindings: Vec<_> = all(&broker, &schema::BINDING)
        .into_iter()
        .filter(of_topic)
        .collect();
    assert_eq!(bindings.len(), 1);
    assert_eq!(text(&bindings[0], "bindingKey"), "a.*");
    assert_eq!(number(&bindings[0], "msgMatched"), 1);
    assert!(matches!(bindings[0].value("arguments"), Some(Datum::Map(map)) if map.contains("x")));
}

#[test]
fn names_with_commas_and_colons_are_found() {
    let broker = Broker::new();
    let session = broker.session("a,b.c:d");
    for name in ["q,r", "q:r,org.apache.qpid.broker:queue:s"] {
        session.declare(name);
        session.bind("amq.direct", name, "k,l", &[]);
        session.subscribe(name, &format!("d,{name}"));
    }
    for class in [
        &schema::QUEUE,
        &schema::BINDING,
        &schema::SESSION,
        &schema::SUBSCRIPTION,
    ] {
        let objects = all(&broker, class);
        assert!(!objects.is_empty());
        for object in objects {
            assert_eq!(named(&broker, &object.name), Some(object));
        }
    }
}

#[test]
fn a_subscription_shows_how_it_takes_and_what_it_got() {
    let (broker, session) = scene();
    session.subscribe("q", "d");
    session.flow("d", 5);
    session.publish("q", "body");
    session.browse("q", "b");
    let subscriptions = all(&broker, &schema::SUBSCRIPTION);
    let shown: Vec<_> = subscriptions
        .iter()
        .map(|s| {
            (
                text(s, "name"),
                s.value("browsing").cloned(),
                number(s, "delivered"),
            )
        })
        .collect();
    let truth = |truth| Some(Datum::Bool(truth));
    let expected = [("b", truth(true), 0), ("d", truth(false), 1)];
    assert_eq!(
        shown,
        expected.map(|(name, browsing, got)| (name.to_owned(), browsing, got))
    );
    assert_eq!(
        text(&subscriptions[1], "queueRef"),
        "org.apache.qpid.broker:queue:q"
    );
}

#[test]
fn a_connection_shows_what_its_member_counted() {
    let (broker, _) = scene();
    let connections = all(&broker, &schema::CONNECTION);
    assert_eq!(connections.len(), 1);
    assert_eq!(number(&connections[0], "framesFromClient"), 3);
    assert_eq!(text(&connections[0], "protocol"), "AMQP 0-10");
}

#[test]
fn a_session_shows_its_connection_and_what_it_owes() {
    let (broker, session) = scene();
    session.publish("q", "body");
    session.subscribe("q", "d");
    session.flow("d", 5);
    let sessions = all(&broker, &schema::SESSION);
    assert_eq!(sessions.len(), 1);
    assert!(text(&sessions[0], "name").ends_with(".s"));
    assert_eq!(number(&sessions[0], "unackedMessages"), 1);
    let connection = text(&sessions[0], "connectionRef");
    assert_eq!(
        connection,
        all(&broker, &schema::CONNECTION)[0].name.as_str()
    );
}

#[test]
fn a_cluster_shows_its_members_and_which_of_them_is_asked() {
    let cluster = all(&Broker::new(), &ferrymq::qmf::cluster::CLUSTER);
    let cluster = &cluster[0];
    let key = "org.apache.qpid.broker:broker:amqp-broker";
    assert_eq!(cluster.name.key(), key);
    let shown = [
        ("clusterName", "green"),
        ("clusterID", "0000000000000abc"),
        ("memberID", "000000000000001f"),
        ("publishedURL", "amqp:tcp:a:1"),
        ("status", "ACTIVE"),
        ("members", "amqp:tcp:a:1;b"),
        (
            "memberIDs",
            "000000000000001f;000000000000002f;000000000000003f",
        ),
    ];
    for (name, expected) in shown {
        assert_eq!(text(cluster, name), expected);
    }
    assert_eq!(cluster.value("clusterSize"), Some(&Datum::U16(3)));
}

#[test]
fn a_broker_that_stands_alone_is_in_no_cluster() {
    let broker = Broker::new();
    let alone = Setting {
        membership: Membership::default(),
        ..setting()
    };
    let mut found = Vec::new();
    broker.core(|core| {
        let world = World {
            core,
            setting: &alone,
            traffic: &traffic,
            totals: &Totals::of_deleted(core),
            is_told: false,
        };
        let class = &ferrymq::qmf::cluster::CLUSTER;
        model::next_objects(world, class, &mut Place::Start, &mut found);
    });
    assert_eq!(found, []);
}

#[test]
fn memory_shows_what_is_known_and_leaves_out_the_rest() {
    let memory = all(&Broker::new(), &schema::MEMORY);
    assert_eq!(number(&memory[0], "malloc_arena"), 4096);
    assert_eq!(memory[0].value("malloc_uordblks"), None);
}

#[test]
fn what_is_found_by_name_is_asked_of_the_core_at_hand() {
    let (broker, session) = scene();
    assert!(named(&broker, &ObjectName::queue("q")).is_some());
    session.delete("q");
    assert!(named(&broker, &ObjectName::queue("q")).is_none());
    broker.connection_with(MEMBER, 1, 1).end();
    assert_eq!(all(&broker, &schema::CONNECTION).len(), 1);
}

/// A queue's number with its marks, as QMF tells them.
fn told(broker: &Broker, name: &str) -> [u64; 3] {
    let queue = with_world(broker, |world| {
        let world = World {
            is_told: true,
            ..world
        };
        model::object(world, &ObjectName::queue("q"))
    });
    let queue = queue.expect("the queue is there");
    ["", "High", "Low"].map(|mark| number(&queue, &format!("{name}{mark}")))
}

#[test]
fn queue_tells_how_high_and_low_its_numbers_were_since_it_was_told_last() {
    let (broker, session) = scene();
    for name in ["a", "b"] {
        session.subscribe("q", name);
    }
    session.cancel("a");
    assert_eq!(told(&broker, "consumerCount"), [1, 2, 0]);
    assert_eq!(told(&broker, "consumerCount"), [1, 1, 1]);
    session.bind("amq.direct", "q", "k", &[]);
    session.unbind("amq.direct", "q", "k");
    assert_eq!(told(&broker, "bindingCount"), [1, 2, 1]);
    session.flow("b", 10);
    for body in ["0", "1", "2"] {
        session.publish("q", body);
    }
    session.accept(range(0, 1));
    assert_eq!(told(&broker, "unackedMessages"), [1, 3, 0]);
    session.accept(range(2, 2));
    session.publish("q", "3");
    assert_eq!(told(&broker, "unackedMessages"), [1, 1, 0]);
}

#[test]
fn exchange_tells_how_many_bindings_it_had_since_it_was_told_last() {
    let (broker, session) = scene();
    session.bind("amq.topic", "q", "a", &[]);
    session.bind("amq.topic", "q", "b", &[]);
    session.unbind("amq.topic", "q", "a");
    let exchange = named(&broker, &ObjectName::exchange("amq.topic")).expect("it is standard");
    let marks = ["", "High", "Low"].map(|mark| number(&exchange, &format!("bindingCount{mark}")));
    assert_eq!(marks, [1, 2, 0]);
}

#[test]
fn who_only_looks_does_not_begin_marks_anew() {
    let (broker, session) = scene();
    session.subscribe("q", "a");
    session.cancel("a");
    for _ in 0..2 {
        assert_eq!(number(&queue(&broker, "q"), "consumerCountHigh"), 1);
    }
}
