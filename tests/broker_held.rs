//! What the messages in queues take of the memory, and which are looked at to be paged out.

mod broker;

use broker::{Broker, Session, ids, message, range};
use ferrymq::broker::Core;
use ferrymq::broker::held::ENTRY_BYTES;
use ferrymq::broker::paging::{Candidate, Cursor};

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
