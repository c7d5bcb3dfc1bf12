//! Which messages come into a queue, what is added to them, and who may take them.

use super::broker::{Broker, Session, message, message_with, message_with_headers};
use super::{browsed, publish_with, taken, text};
use ferrymq::wire::{AcquireMode, Value};

/// The headers of what a browser sees.
fn headers(session: &Session, queue: &str, name: &str) -> Vec<Option<Value>> {
    session.told();
    session.browse(queue, "browse");
    session.flow("browse", u32::MAX);
    let arrivals = session.arrivals().into_iter();
    let found = arrivals.map(|arrived| arrived.headers.get(name).cloned());
    let found = found.collect();
    session.cancel("browse");
    found
}

#[test]
fn filter_lets_in_what_it_matches_and_drops_the_rest_silently() {
    let session = Broker::new().session("a");
    session.declare_kind("q", &[("qpid.filter", text("colour = 'red'"))]);
    for (body, colour) in [("1", "red"), ("2", "blue"), ("3", "red")] {
        publish_with(&session, "q", body, ("colour", colour));
    }
    session.publish("q", "4");
    session.assert_untroubled();
    assert_eq!(browsed(&session, "q"), ["1", "3"]);
}

#[test]
fn filter_holds_for_transactions_and_for_what_is_rerouted() {
    let session = Broker::new().session("a");
    session.declare_kind("q", &[("qpid.filter", text("colour = 'red'"))]);
    session.bind("amq.fanout", "q", "", &[]);
    session.declare_with("source", |declare| {
        declare.alternate_exchange = Some("amq.fanout".into());
    });
    publish_with(&session, "source", "rerouted", ("colour", "red"));
    session.publish("source", "dropped");
    session.delete("source");
    session.select();
    publish_with(&session, "q", "in", ("colour", "red"));
    publish_with(&session, "q", "out", ("colour", "blue"));
    session.commit();
    assert_eq!(browsed(&session, "q"), ["rerouted", "in"]);
}

#[test]
fn trace_identity_is_appended_to_the_trace_that_a_message_has() {
    let session = Broker::new().session("a");
    session.declare_kind("q", &[("qpid.trace.id", text("me"))]);
    session.publish("q", "1");
    publish_with(&session, "q", "2", ("x-qpid.trace", "other"));
    let trace = |trace: &str| Some(text(trace));
    assert_eq!(
        headers(&session, "q", "x-qpid.trace"),
        [trace("me"), trace("other,me")]
    );
}

#[test]
fn message_with_an_excluded_identity_in_its_trace_is_dropped() {
    let session = Broker::new().session("a");
    session.declare_kind("q", &[("qpid.trace.exclude", text("x, y z"))]);
    for (body, trace) in [
        ("1", "a"),
        ("2", "x"),
        ("3", "a,y"),
        ("4", "xx"),
        ("5", "z,a"),
        ("6", ""),
    ] {
        publish_with(&session, "q", body, ("x-qpid.trace", trace));
    }
    session.publish("q", "7");
    session.assert_untroubled();
    assert_eq!(browsed(&session, "q"), ["1", "4", "6", "7"]);
}

#[test]
fn trace_is_not_kept_by_a_message_that_is_rerouted() {
    let session = Broker::new().session("a");
    session.declare("listener");
    session.bind("amq.fanout", "listener", "", &[]);
    session.declare_with("q", |declare| {
        declare.alternate_exchange = Some("amq.fanout".into());
        declare.arguments = Some([("qpid.trace.id", text("me"))].into_iter().collect());
    });
    session.publish("q", "1");
    session.delete("q");
    assert_eq!(headers(&session, "listener", "x-qpid.trace"), [None]);
}

#[test]
fn sequence_header_says_the_position_and_gaps_show() {
    let session = Broker::new().session("a");
    session.declare_kind("q", &[("qpid.queue_msg_sequence", text("place"))]);
    session.publish_many("q", 0, 2);
    let at = |place: u32| Some(Value::U32(place));
    assert_eq!(headers(&session, "q", "place"), [at(1), at(2)]);
    taken(&session, "q");
    session.publish_many("q", 2, 1);
    assert_eq!(headers(&session, "q", "place"), [at(3)]);
}

#[test]
fn sequence_header_goes_with_the_others_and_leaves_all_else_as_it_was() {
    let session = Broker::new().session("a");
    session.declare_kind("q", &[("qpid.queue_msg_sequence", text("place"))]);
    let own = [("own", text("kept"))];
    session.publish_message("", message_with_headers("q", "body", &own));
    let short = message_with("q", "short", |delivery| delivery.ttl = Some(500));
    session.publish_message("", short);
    session.subscribe("q", "d");
    session.flow("d", 2);
    let arrived = session.arrivals();
    assert_eq!(arrived[0].headers.get("own"), Some(&text("kept")));
    assert_eq!(arrived[0].headers.get("place"), Some(&Value::U32(1)));
    assert_eq!(
        (arrived[0].body.as_str(), arrived[1].ttl),
        ("body", Some(500))
    );
}

#[test]
fn message_without_a_header_segment_gets_one_for_what_is_added() {
    let session = Broker::new().session("a");
    session.declare_kind("q", &[("qpid.queue_msg_sequence", text("place"))]);
    session.bind("amq.fanout", "q", "", &[]);
    let mut bare = message("", "bare");
    bare.header = None;
    session.publish_message("amq.fanout", bare);
    assert_eq!(headers(&session, "q", "place"), [Some(Value::U32(1))]);
}

#[test]
fn last_value_queue_says_no_positions() {
    let session = Broker::new().session("a");
    let arguments = [
        ("qpid.queue_msg_sequence", text("place")),
        ("qpid.last_value_queue_key", text("k")),
    ];
    session.declare_kind("q", &arguments);
    session.publish("q", "1");
    assert_eq!(headers(&session, "q", "place"), [None]);
}

#[test]
fn browse_only_queue_makes_browsers_of_consumers() {
    let broker = Broker::new();
    let session = broker.session("a");
    session.declare_kind("q", &[("qpid.browse-only", Value::Bool(true))]);
    session.publish("q", "1");
    session.subscribe("q", "d");
    session.flow("d", 9);
    assert_eq!(session.received(), ["1"]);
    let other = broker.session("b");
    other.subscribe_with("q", "d", |subscribe| subscribe.exclusive = true);
    other.flow("d", 9);
    assert_eq!(other.received(), ["1"]);
    assert_eq!(session.count("q"), 1);
}

#[test]
fn delivery_of_a_browse_only_queue_says_that_it_is_not_acquired() {
    let broker = Broker::new();
    let session = broker.session("a");
    session.declare_kind("q", &[("qpid.browse-only", Value::Bool(true))]);
    session.publish("q", "1");
    session.subscribe("q", "d");
    session.flow("d", 1);
    let modes: Vec<AcquireMode> = session
        .arrivals()
        .into_iter()
        .map(|arrived| arrived.acquire_mode)
        .collect();
    assert_eq!(modes, [AcquireMode::NOT_ACQUIRED]);
}
