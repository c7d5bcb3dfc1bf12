//! What the messages in queues take of the memory, and which are looked at to be paged out.

mod broker;

use broker::{Broker, Session, ids, message, range};
use ferrymq::broker::Core;
use ferrymq::broker::held::ENTRY_BYTES;
use ferrymq::broker::paging::{Candidate, Cursor};
use ferrymq::broker::snapshot::Snapshot;
use ferrymq::wire::Value;

/// Octets of a body, next to which all else is little.
const BODY: usize = 10_000;

fn held(broker: &Broker) -> u64 {
    broker.core(Core::held_bytes)
}

fn body() -> String {
    "x".repeat(BODY)
}

#[test]
fn a_message_in_several_queues_is_counted_once() {
    let session = Broker::new().session("a");
    let broker = session.connection.broker.clone();
    for n in 0..10 {
        let queue = format!("q{n}");
        session.declare(&queue);
        session.bind("amq.fanout", &queue, "", &[]);
    }
    session.publish("q0", &body());
    let one = held(&broker);
    assert!(one > BODY as u64 && one < 2 * BODY as u64, "{one}");
    session.publish_message("amq.fanout", message("", &body()));
    let more = held(&broker) - one;
    let places = 10 * ENTRY_BYTES;
    assert!(more > BODY as u64 + places, "{more}");
    assert!(more < 2 * BODY as u64 + places, "{more}");
    // It is held until it has left the last.
    for n in 0..9 {
        session.purge(&format!("q{n}"));
    }
    let left = held(&broker);
    assert!(left > BODY as u64 && left < 2 * BODY as u64, "{left}");
    session.purge("q9");
    assert_eq!(held(&broker), 0);
}

#[test]
fn what_a_small_message_takes_beside_its_body_is_counted() {
    let session = Broker::new().session("a");
    let broker = session.connection.broker.clone();
    session.declare("q");
    session.publish_many("q", 0, 100);
    assert!(held(&broker) > 100 * 200, "{}", held(&broker));
}

#[test]
fn what_has_left_is_counted_no_more_on_whatever_way_it_went() {
    let session = Broker::new().session("a");
    let broker = session.connection.broker.clone();
    session.declare("dead");
    session.bind("amq.fanout", "dead", "", &[]);
    session.declare_with("q", |declare| {
        declare.alternate_exchange = Some("amq.fanout".into());
    });
    session.publish_many("q", 0, 10);
    let all = held(&broker);
    session.subscribe("q", "s");
    session.flow("s", 6);
    session.received();
    session.accept(range(0, 1));
    session.release(ids([2]));
    session.reject(range(3, 4));
    // Two have gone; one is acquired, seven are in the queue or behind the exchange.
    assert_eq!(held(&broker), all / 10 * 8);
    session.purge("q");
    assert_eq!(held(&broker), all / 10 * 3);
    session.delete("q");
    assert_eq!(held(&broker), all / 10 * 3);
    session.purge("dead");
    assert_eq!(held(&broker), 0);
}

/// Publishes messages that are worth paging, many in an entry.
fn publish(session: &Session, count: usize) {
    for some in (0..count).collect::<Vec<_>>().chunks(256) {
        session.connection.broker.together(|| {
            for _ in some {
                session.publish("q", &"x".repeat(300));
            }
        });
    }
}

#[test]
fn small_bodies_stay_since_nothing_is_gained() {
    let session = Broker::new().session("a");
    let broker = session.connection.broker.clone();
    session.declare("q");
    session.publish_many("q", 0, 1000);
    let mut found = Vec::new();
    assert!(broker.core_mut(|core| core.page_new(10_000, &mut found)));
    assert_eq!(found.len(), 0);
}

#[test]
fn messages_are_looked_at_once_to_be_paged_out() {
    let session = Broker::new().session("a");
    let broker = session.connection.broker.clone();
    session.declare("q");
    publish(&session, 2000);
    let looked = |most: u32| {
        let mut found: Vec<Candidate> = Vec::new();
        let is_end = broker.core_mut(|core| core.page_new(most, &mut found));
        (is_end, found.len())
    };
    assert_eq!(looked(100), (false, 100));
    // All but those at the front, which are wanted next.
    assert_eq!(looked(10_000), (true, 2000 - 256 - 100));
    assert_eq!(looked(1), (true, 0), "it costs a step at most");
    publish(&session, 3);
    assert_eq!(looked(10), (true, 3));
}

#[test]
fn a_walk_finds_what_was_acquired_and_leaves_the_front() {
    let session = Broker::new().session("a");
    let broker = session.connection.broker.clone();
    session.declare("q");
    publish(&session, 1000);
    session.subscribe("q", "s");
    session.flow("s", 100);
    session.received();
    let (mut found, mut cursor) = (Vec::new(), Cursor::default());
    let is_end = broker.core(|core| core.page_any(&mut cursor, 10_000, &mut found));
    assert!(is_end);
    let positions: Vec<u64> = found.iter().map(|candidate| candidate.position).collect();
    let acquired = 1..=100;
    assert!(
        positions
            .iter()
            .copied()
            .eq(acquired.chain(100 + 256 + 1..=1000))
    );
}

/// Publishes in a transaction or branch, more than what is beside it.
fn publish_two(session: &Session) {
    session.publish("q", &body());
    session.publish("q", &body());
    let held = held(&session.connection.broker);
    assert!(held > 2 * BODY as u64 && held < 3 * BODY as u64, "{held}");
}

#[test]
fn what_an_open_transaction_publishes_is_counted_until_it_is_over_whatever_its_end() {
    let broker = Broker::new();
    let session = broker.session("a");
    session.declare("q");
    session.select();
    publish_two(&session);
    session.rollback();
    assert_eq!(held(&broker), 0);
    publish_two(&session);
    session.commit();
    let committed = held(&broker);
    session.purge("q");
    assert!(committed > 2 * BODY as u64 && committed < 3 * BODY as u64);
    assert_eq!(held(&broker), 0);
    publish_two(&session);
    session.connection.end();
    assert_eq!(held(&broker), 0);
}

#[test]
fn what_a_commit_that_fails_was_to_publish_is_counted_no_more() {
    let broker = Broker::new();
    let session = broker.session("a");
    session.declare_limited("q", &[("qpid.max_count", Value::U32(1))]);
    session.select();
    publish_two(&session);
    session.commit();
    session.assert_failed(541, "Maximum depth exceeded");
    assert_eq!(held(&broker), 0);
}

#[test]
fn what_a_branch_publishes_is_counted_until_its_outcome() {
    let broker = Broker::new();
    let session = broker.session("a");
    session.declare("q");
    session.dtx_select();
    for is_prepared in [false, true] {
        session.start("x");
        publish_two(&session);
        session.end("x");
        if is_prepared {
            session.prepare("x");
        }
        session.roll_back("x");
        assert_eq!(held(&broker), 0);
    }
    session.start("y");
    publish_two(&session);
    session.end("y");
    session.prepare("y");
    session.commit_prepared("y");
    session.purge("q");
    assert_eq!(held(&broker), 0);
    // A session that ends in a branch undoes it, and its own transaction.
    session.select();
    publish_two(&session);
    session.start("z");
    session.publish("q", &body());
    assert!(held(&broker) > 3 * BODY as u64);
    session.connection.end();
    assert_eq!(held(&broker), 0);
}

#[test]
fn a_core_that_took_over_counts_what_transactions_and_branches_publish() {
    let broker = Broker::new().without_comparing();
    let session = broker.session("a");
    session.declare("q");
    session.select();
    session.publish("q", &body());
    session.dtx_select();
    session.start("x");
    session.publish("q", &body());
    let before = held(&broker);
    broker.take_over();
    assert_eq!(held(&broker), before);
    session.end("x");
    session.roll_back("x");
    session.rollback();
    assert_eq!(held(&broker), 0);
}

/// Publishes messages with a large key each in their header.
fn publish_keyed(session: &Session, count: usize) {
    for n in 0..count {
        let key = format!("{n:0>1000}");
        let headers = [("k", Value::Str16(key.into()))];
        session.publish_message("", message("q", "").with_headers(&headers));
    }
}

fn text(text: &str) -> Value {
    Value::Str16(text.into())
}

/// Arguments of queues of all kinds that keep something beside their messages.
fn kinds() -> [Vec<(&'static str, Value)>; 3] {
    [
        vec![("qpid.last_value_queue_key", text("k"))],
        vec![
            ("qpid.group_header_key", text("k")),
            ("qpid.shared_msg_group", Value::U32(1)),
        ],
        vec![("qpid.priorities", Value::U32(10))],
    ]
}

#[test]
fn keys_of_last_values_and_names_of_groups_are_counted() {
    for arguments in &kinds()[..2] {
        let session = Broker::new().session("a");
        let broker = session.connection.broker.clone();
        session.declare_kind("q", arguments);
        publish_keyed(&session, 50);
        // The header in the message, and what the queue keeps of it twice.
        assert!(held(&broker) > 50 * 3 * 1000, "{}", held(&broker));
    }
}

#[test]
fn places_in_levels_of_priority_are_counted() {
    let counted = |arguments: &[(&str, Value)]| {
        let session = Broker::new().session("a");
        session.declare_kind("q", arguments);
        session.publish_many("q", 0, 1000);
        held(&session.connection.broker)
    };
    assert_eq!(counted(&kinds()[2]), counted(&[]) + 1000 * 16);
}

#[test]
fn what_a_kind_keeps_is_counted_no_more_when_its_messages_have_left() {
    for arguments in kinds() {
        let session = Broker::new().session("a");
        let broker = session.connection.broker.clone();
        session.declare("dead");
        session.bind("amq.fanout", "dead", "", &[]);
        session.declare_with("q", |declare| {
            declare.alternate_exchange = Some("amq.fanout".into());
            declare.arguments = Some(arguments.iter().cloned().collect());
        });
        publish_keyed(&session, 10);
        // Again with keys that are there.
        publish_keyed(&session, 10);
        session.subscribe("q", "s");
        session.flow("s", 6);
        let arrived: Vec<u32> = session.arrivals().iter().map(|found| found.id).collect();
        session.accept(ids([arrived[0]]));
        session.release(ids([arrived[1]]));
        session.reject(ids([arrived[2]]));
        session.purge("q");
        session.cancel("s");
        session.release(ids(arrived[3..].iter().copied()));
        session.delete("q");
        session.purge("dead");
        assert_eq!(held(&broker), 0, "{arguments:?}");
    }
}

#[test]
fn core_from_a_snapshot_counts_what_kinds_keep_as_before() {
    for arguments in kinds() {
        let session = Broker::new().session("a");
        let broker = session.connection.broker.clone();
        session.declare_kind("q", &arguments);
        publish_keyed(&session, 10);
        let snapshot: Snapshot = broker.core(|core| core.freeze().encode());
        let decoded = snapshot.decode().expect("it was just encoded");
        assert_eq!(decoded.held_bytes(), held(&broker), "{arguments:?}");
    }
}
