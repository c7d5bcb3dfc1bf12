//! When a queue is high, and how often it has become so.

use super::broker::{Broker, Session, message};
use super::taken;
use ferrymq::wire::Value;

/// How often a queue has become high and has ceased to be: of messages, then of octets.
fn crossings(broker: &Broker) -> [u64; 4] {
    broker.core(|core| {
        let alerts = core.queue_of_name("q").expect("it is there").alerts;
        let (count, bytes) = (alerts.count, alerts.bytes);
        let of =
            |line: ferrymq::broker::queue::alerts::AlertLine| (line.crossed_up, line.crossed_down);
        let ((up, down), (bytes_up, bytes_down)) = (of(count), of(bytes));
        [up, down, bytes_up, bytes_down]
    })
}

fn with(broker: &Broker, arguments: &[(&str, Value)]) -> Session {
    let session = broker.session("a");
    session.declare_kind("q", arguments);
    session
}

fn take(broker: &Broker, count: u32) {
    let consumer = broker.session("consumer");
    consumer.subscribe_with("q", "d", |subscribe| {
        subscribe.accept_mode = ferrymq::wire::AcceptMode::NONE;
    });
    consumer.flow("d", count);
    consumer.detach();
}

#[test]
fn queue_is_high_once_until_it_has_sunk_to_the_lower_line() {
    for name in ["qpid.alert_count", "qpid.alert_count_up"] {
        let broker = Broker::new();
        let lines = [
            (name, Value::U32(10)),
            ("qpid.alert_count_down", Value::U32(5)),
        ];
        let session = with(&broker, &lines);
        let mut seen = Vec::new();
        // Put so many, or take so many.
        for step in [8_i32, -6, 8, -1, 1, 10, -5, -12, 6, 6, -10, 1, -1] {
            match u32::try_from(step) {
                Ok(more) => session.publish_many("q", 0, more),
                Err(_) => take(&broker, step.unsigned_abs()),
            }
            let [up, down, ..] = crossings(&broker);
            seen.push((up, down));
        }
        let expected = [
            (0, 0),
            (0, 0),
            (1, 0),
            (1, 0),
            (1, 0),
            (1, 0),
            (1, 0),
            (1, 1),
            (1, 1),
            (2, 1),
            (2, 2),
            (2, 2),
            (2, 2),
        ];
        assert_eq!(seen, expected);
    }
}

#[test]
fn lower_line_is_half_of_the_upper_unless_it_is_below_it() {
    for down in [None, Some(0), Some(4), Some(9)] {
        let broker = Broker::new();
        let mut lines = vec![("x-qpid-maximum-message-count", Value::U32(4))];
        lines.extend(down.map(|down| ("qpid.alert_count_down", Value::U32(down))));
        let session = with(&broker, &lines);
        session.publish_many("q", 0, 4);
        take(&broker, 1);
        assert_eq!(crossings(&broker), [1, 0, 0, 0]);
        take(&broker, 1);
        assert_eq!(crossings(&broker), [1, 1, 0, 0]);
    }
}

#[test]
fn octets_have_lines_of_their_own() {
    let size = u32::try_from(message("q", "0").published("").size()).expect("small");
    for name in [
        "qpid.alert_size",
        "qpid.alert_size_up",
        "x-qpid-maximum-message-size",
    ] {
        let broker = Broker::new();
        let lines = [
            (name, Value::U32(3 * size)),
            ("qpid.alert_size_down", Value::U32(size)),
        ];
        let session = with(&broker, &lines);
        session.publish_many("q", 0, 3);
        assert_eq!(crossings(&broker), [0, 0, 1, 0]);
        take(&broker, 2);
        assert_eq!(crossings(&broker), [0, 0, 1, 1]);
    }
}

#[test]
fn limits_give_lines_at_four_fifths_and_0_is_none() {
    let broker = Broker::new();
    let limits = [
        ("qpid.max_count", Value::U32(10)),
        ("qpid.flow_stop_count", Value::U32(0)),
    ];
    let session = with(&broker, &limits);
    session.publish_many("q", 0, 7);
    assert_eq!(crossings(&broker), [0; 4]);
    session.publish_many("q", 7, 1);
    assert_eq!(crossings(&broker), [1, 0, 0, 0]);
    let broker = Broker::new();
    let off = [&limits[..], &[("qpid.alert_count", Value::U32(0))]].concat();
    let session = with(&broker, &off);
    session.publish_many("q", 0, 10);
    assert_eq!(crossings(&broker), [0; 4]);
}

#[test]
fn purge_crosses_the_lower_line() {
    let broker = Broker::new();
    let session = with(&broker, &[("qpid.alert_count", Value::U32(4))]);
    session.publish_many("q", 0, 6);
    session.purge("q");
    assert_eq!(crossings(&broker), [1, 1, 0, 0]);
    session.publish_many("q", 0, 4);
    assert_eq!(crossings(&broker), [2, 1, 0, 0]);
    assert_eq!(taken(&session, "q").len(), 4);
}
