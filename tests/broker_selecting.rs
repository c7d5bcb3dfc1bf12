//! Subscriptions with a selector beside others on the same queue.

mod broker;

use broker::Broker;
use ferrymq::wire::{AcceptMode, Value};

#[test]
fn message_taken_by_a_selector_without_accept_does_not_hide_older_ones_from_others() {
    let broker = Broker::new();
    let session = broker.session("a");
    session.declare("q");
    session.subscribe_with("q", "selecting", |subscribe| {
        let arguments = [("x-apache-selector", Value::Str16("n = 1".into()))];
        subscribe.arguments = Some(arguments.into_iter().collect());
        subscribe.accept_mode = AcceptMode::NONE;
    });
    session.flow("selecting", 1);
    session.publish("q", "older");
    let wanted = [("n", Value::I32(1))];
    session.publish_message("", broker::message_with_headers("q", "wanted", &wanted));
    session.publish("q", "newer");
    assert_eq!(session.received(), ["wanted"]);

    let other = broker.session("b");
    other.subscribe("q", "d");
    other.flow("d", 2);
    assert_eq!(other.received(), ["older", "newer"]);
}
