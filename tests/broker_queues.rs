//! Queues as clients declare, use and delete them.

mod broker;

use broker::{Broker, Told, ids};
use ferrymq::broker::Options;
use ferrymq::wire::{AcquireMode, CommandId, MessageSubscribe, QueueDeclare, Value};

fn exclusive(declare: &mut QueueDeclare) {
    declare.exclusive = true;
}

fn auto_delete(declare: &mut QueueDeclare) {
    declare.auto_delete = true;
}

fn exclusive_subscription(subscribe: &mut MessageSubscribe) {
    subscribe.exclusive = true;
}

#[test]
fn queue_query_of_an_unknown_queue_is_empty() {
    let session = Broker::new().session("a");
    assert_eq!(session.query("q"), Default::default());
    session.assert_untroubled();
}

#[test]
fn queue_query_tells_what_was_declared() {
    let session = Broker::new().session("a");
    session.declare_with("q", |declare| {
        declare.durable = true;
        declare.exclusive = true;
        declare.auto_delete = true;
        declare.alternate_exchange = Some("amq.fanout".into());
        declare.arguments = Some(
            [("x-own", Value::Str16("kept".into()))]
                .into_iter()
                .collect(),
        );
    });
    let answer = session.query("q");
    assert_eq!(answer.queue, "q");
    assert!(answer.durable && answer.exclusive && answer.auto_delete);
    assert_eq!(answer.alternate_exchange.as_deref(), Some("amq.fanout"));
    let arguments = answer.arguments.expect("arguments are told");
    assert_eq!(arguments.get("x-own"), Some(&Value::Str16("kept".into())));
}

#[test]
fn queue_query_counts_messages_that_can_be_had() {
    let session = Broker::new().session("a");
    session.declare("q");
    for body in ["one", "two", "three"] {
        session.publish("q", body);
    }
    session.subscribe("q", "d");
    session.flow("d", 2);
    session.told();
    assert_eq!(session.count("q"), 1);
}

#[test]
fn queue_query_counts_browsers_among_the_subscribers() {
    let session = Broker::new().session("a");
    session.declare("q");
    session.subscribe("q", "d");
    session.browse("q", "b");
    assert_eq!(session.query("q").subscriber_count, 2);
}

#[test]
fn queue_declare_passive_of_a_missing_queue_is_not_found() {
    let session = Broker::new().session("a");
    session.declare_with("q", |declare| declare.passive = true);
    let failure = session.failure();
    assert_eq!(failure.code.0, 404);
    assert_eq!((failure.of, failure.at), ((8, 1), 0));
}

#[test]
fn queue_declare_passive_of_a_queue_is_done() {
    let session = Broker::new().session("a");
    session.declare("q");
    session.declare_with("q", |declare| declare.passive = true);
    session.assert_untroubled();
}

#[test]
fn queue_declare_with_a_missing_alternate_exchange_is_not_found() {
    let session = Broker::new().session("a");
    session.declare_with("q", |declare| {
        declare.alternate_exchange = Some("nowhere".into());
    });
    session.assert_failed(404, "nowhere");
    let other = session.connection.session("b");
    assert!(!other.has_queue("q"));
}

#[test]
fn queue_declare_again_compares_nothing() {
    let session = Broker::new().session("a");
    session.declare("q");
    session.declare_with("q", |declare| {
        declare.durable = true;
        declare.auto_delete = true;
        declare.alternate_exchange = Some("amq.fanout".into());
    });
    session.assert_untroubled();
    let answer = session.query("q");
    assert!(!answer.durable && !answer.auto_delete);
    assert_eq!(answer.alternate_exchange, None);
}

#[test]
fn queue_declare_takes_the_empty_name() {
    let session = Broker::new().session("a");
    session.declare("");
    session.publish("", "one");
    assert_eq!(session.count(""), 1);
}

#[test]
fn queue_limits_are_any_integer_or_digits() {
    let session = Broker::new().session("a");
    let forms = [
        Value::U8(2),
        Value::I32(2),
        Value::U64(2),
        Value::Str16("2".into()),
        Value::Vbin16(b"2".to_vec()),
    ];
    for form in forms {
        session.declare_limited("q", &[("qpid.max_count", form)]);
        session.assert_untroubled();
        session.delete("q");
    }
}

#[test]
fn queue_limits_that_are_no_numbers_are_invalid_arguments() {
    let broker = Broker::new();
    let forms = [
        Value::I32(-1),
        Value::F64(3.5),
        Value::Str16("3.14159".into()),
        Value::Str16("abc".into()),
        Value::Str16("-1".into()),
        Value::Str16("".into()),
        Value::Void,
        Value::List(Vec::new()),
        Value::Str16("99999999999999999999999".into()),
    ];
    for (n, form) in forms.into_iter().enumerate() {
        let session = broker.session(&format!("s{n}"));
        session.declare_limited("q", &[("qpid.max_count", form)]);
        session.assert_failed(542, "qpid.max_count");
        assert!(!broker.session(&format!("t{n}")).has_queue("q"));
    }
}

#[test]
fn full_queue_refuses_the_next_message_with_its_depth() {
    let broker = Broker::new();
    let session = broker.session("a");
    session.declare_limited("q", &[("qpid.max_count", Value::U32(2))]);
    session.publish("q", "one");
    session.publish("q", "two");
    session.assert_untroubled();
    session.publish("q", "three");
    let failure = session.failure();
    assert_eq!(failure.code.0, 506);
    assert_eq!(failure.of, (0, 0), "a command with content");
    assert!(
        failure
            .text
            .contains("Maximum depth exceeded on q: current=["),
        "{}",
        failure.text
    );
    assert_eq!(broker.session("b").count("q"), 2);
}

#[test]
fn queue_limit_counts_octets_of_header_and_body() {
    let broker = Broker::new();
    let session = broker.session("a");
    let size = {
        let message = broker::message("q", "0123456789").published("");
        message.size()
    };
    session.declare_limited("q", &[("qpid.max_size", Value::U64(2 * size))]);
    session.publish("q", "0123456789");
    session.publish("q", "0123456789");
    session.assert_untroubled();
    session.publish("q", "");
    session.assert_failed(506, "Maximum depth exceeded");
}

#[test]
fn queue_limit_counts_messages_that_are_acquired() {
    let broker = Broker::new();
    let session = broker.session("a");
    session.declare_limited("q", &[("qpid.max_count", Value::U32(1))]);
    session.publish("q", "one");
    session.subscribe("q", "d");
    session.flow("d", 1);
    session.told();
    let other = broker.session("b");
    other.publish("q", "two");
    other.assert_failed(506, "Maximum depth exceeded");
    session.accept(ids([0]));
    broker.session("c").publish("q", "three");
    assert_eq!(session.count("q"), 1);
}

#[test]
fn queue_size_limit_of_0_is_none() {
    let options = Options {
        default_queue_limit: 1,
        ..Options::default()
    };
    let session = Broker::with(options).session("a");
    session.declare_limited("q", &[("qpid.max_size", Value::U64(0))]);
    session.publish("q", "one");
    session.assert_untroubled();
}

#[test]
fn default_queue_limit_holds_unless_declared_otherwise() {
    let options = Options {
        default_queue_limit: 1,
        ..Options::default()
    };
    let session = Broker::with(options).session("a");
    session.declare("q");
    session.publish("q", "one");
    session.assert_failed(506, "Maximum depth exceeded on q");
}

#[test]
fn purge_without_a_name_is_an_illegal_argument() {
    let session = Broker::new().session("a");
    session.purge("");
    session.assert_failed(531, "No queue name");
}

#[test]
fn purge_of_a_missing_queue_is_not_found() {
    let session = Broker::new().session("a");
    session.purge("q");
    session.assert_failed(404, "q");
}

#[test]
fn purge_spares_messages_that_are_acquired() {
    let session = Broker::new().session("a");
    session.declare("q");
    for body in ["one", "two", "three", "four"] {
        session.publish("q", body);
    }
    session.subscribe("q", "d");
    session.flow("d", 2);
    assert_eq!(session.received(), ["one", "two"]);
    session.purge("q");
    assert_eq!(session.count("q"), 0);
    session.release(ids([1, 0]));
    assert_eq!(session.count("q"), 2);
    session.flow("d", 5);
    assert_eq!(session.received(), ["one", "two"]);
}

#[test]
fn queue_goes_on_after_a_purge() {
    let session = Broker::new().session("a");
    session.declare_limited("q", &[("qpid.max_count", Value::U32(3))]);
    session.subscribe("q", "d");
    session.publish_many("q", 0, 3);
    session.purge("q");
    session.publish_many("q", 10, 3);
    session.flow("d", 5);
    assert_eq!(session.received(), ["10", "11", "12"]);
}

#[test]
fn delete_of_a_missing_queue_is_not_found() {
    let session = Broker::new().session("a");
    session.delete("q");
    session.assert_failed(404, "q");
}

#[test]
fn delete_if_empty_refuses_a_queue_with_messages() {
    let broker = Broker::new();
    let session = broker.session("a");
    session.declare("q");
    session.publish("q", "one");
    session.delete_with("q", |delete| delete.if_empty = true);
    session.assert_failed(406, "not empty");
    let other = broker.session("b");
    other.purge("q");
    other.delete_with("q", |delete| delete.if_empty = true);
    other.assert_untroubled();
    assert!(!other.has_queue("q"));
}

#[test]
fn delete_if_unused_refuses_a_queue_that_is_browsed() {
    let broker = Broker::new();
    let browser = broker.session("a");
    browser.declare("q");
    browser.browse("q", "b");
    let session = broker.session("b");
    session.delete_with("q", |delete| delete.if_unused = true);
    session.assert_failed(406, "in use");
    browser.assert_untroubled();
}

#[test]
fn delete_fails_the_sessions_that_are_subscribed_with_no_command_at_fault() {
    let broker = Broker::new();
    let (one, two, deleter) = (
        broker.session("1"),
        broker.session("2"),
        broker.session("3"),
    );
    one.declare("q");
    one.subscribe("q", "d");
    one.subscribe("q", "e");
    two.browse("q", "b");
    one.flow("d", 1);
    one.flow("e", 1);
    two.flow("b", 1);
    deleter.delete("q");
    for session in [&one, &two] {
        let told = session.told();
        let [Told::Failed(failure)] = told.as_slice() else {
            panic!("one exception: {told:?}");
        };
        assert_eq!(failure.code.0, 408);
        assert_eq!((failure.of, failure.at), ((0, 0), 0));
        assert!(failure.text.contains("Queue q has been deleted."));
    }
    deleter.assert_untroubled();
}

#[test]
fn delete_fails_the_deleting_session_too_when_it_is_subscribed() {
    let broker = Broker::new();
    let session = broker.session("a");
    session.declare("q");
    session.subscribe("q", "d");
    session.flow("d", 1);
    session.delete("q");
    let failure = session.failure();
    assert_eq!((failure.code.0, failure.of, failure.at), (408, (0, 0), 0));
    let next = session.connection.session("a");
    assert!(!next.has_queue("q"));
}

#[test]
fn subscription_without_credit_hears_of_the_deletion_when_it_grants_some() {
    let broker = Broker::new();
    let session = broker.session("a");
    session.declare("q");
    session.subscribe("q", "d");
    session.delete("q");
    session.assert_untroubled();
    session.flow("d", 1);
    session.assert_failed(408, "Queue q has been deleted.");
}

#[test]
fn subscription_that_is_stopped_outlives_its_queue_until_it_is_cancelled() {
    let broker = Broker::new();
    let session = broker.session("a");
    session.declare("q");
    session.subscribe("q", "d");
    session.flow("d", 1);
    session.stop("d");
    session.delete("q");
    session.declare("q");
    session.cancel("d");
    session.assert_untroubled();
}

#[test]
fn exclusive_queue_is_locked_for_other_sessions_of_the_same_connection() {
    let broker = Broker::new();
    let connection = broker.connection();
    let owner = connection.session("owner");
    owner.declare_with("q", exclusive);
    owner.declare_with("q", exclusive);
    owner.assert_untroubled();
    let asks: [&dyn Fn(&broker::Session); 5] = [
        &|other| _ = other.declare_with("q", exclusive),
        &|other| _ = other.subscribe("q", "d"),
        &|other| _ = other.delete("q"),
        &|other| _ = other.bind("amq.fanout", "q", "", &[]),
        &|other| _ = other.unbind("amq.fanout", "q", ""),
    ];
    for (n, ask) in asks.iter().enumerate() {
        let other = connection.session(&format!("other {n}"));
        ask(&other);
        other.assert_failed(405, "xclusive");
    }
    let other = connection.session("plain");
    other.declare("q");
    other.publish("q", "one");
    other.assert_untroubled();
    owner.assert_untroubled();
}

#[test]
fn exclusive_access_is_refused_while_others_consume() {
    let broker = Broker::new();
    let (consumer, claimer) = (broker.session("a"), broker.session("b"));
    consumer.declare("q");
    consumer.subscribe("q", "d");
    claimer.declare_with("q", exclusive);
    claimer.assert_failed(405, "Cannot grant exclusive access");
    consumer.assert_untroubled();
}

#[test]
fn exclusive_access_to_an_unused_queue_is_granted() {
    let broker = Broker::new();
    let (one, two) = (broker.session("a"), broker.session("b"));
    one.declare("q");
    two.declare_with("q", exclusive);
    two.assert_untroubled();
    assert!(two.query("q").exclusive);
}

#[test]
fn exclusive_access_ends_with_the_session() {
    let broker = Broker::new();
    let (one, two) = (broker.session("a"), broker.session("b"));
    one.declare_with("q", exclusive);
    one.publish("q", "one");
    one.detach();
    two.declare_with("q", exclusive);
    two.assert_untroubled();
    assert_eq!(two.count("q"), 1);
}

#[test]
fn exclusive_subscription_is_the_only_consumer() {
    let broker = Broker::new();
    let (one, two) = (broker.session("a"), broker.session("b"));
    one.declare("q");
    one.subscribe_with("q", "d", exclusive_subscription);
    two.subscribe("q", "d");
    two.assert_failed(405, "exclusive");
    one.assert_untroubled();
}

#[test]
fn exclusive_subscription_is_refused_while_others_consume() {
    let broker = Broker::new();
    let (one, two) = (broker.session("a"), broker.session("b"));
    one.declare("q");
    one.subscribe("q", "d");
    two.subscribe_with("q", "d", exclusive_subscription);
    two.assert_failed(405, "already has consumers");
}

#[test]
fn exclusive_subscription_leaves_browsers_alone() {
    let broker = Broker::new();
    let (one, two) = (broker.session("a"), broker.session("b"));
    one.declare("q");
    two.browse("q", "before");
    one.subscribe_with("q", "d", exclusive_subscription);
    two.browse("q", "after");
    one.assert_untroubled();
    two.assert_untroubled();
}

#[test]
fn exclusive_subscription_ends_with_cancel() {
    let broker = Broker::new();
    let (one, two) = (broker.session("a"), broker.session("b"));
    one.declare("q");
    one.subscribe_with("q", "d", exclusive_subscription);
    one.cancel("d");
    two.subscribe_with("q", "d", exclusive_subscription);
    two.assert_untroubled();
}

#[test]
fn auto_delete_queue_stays_until_it_has_been_used() {
    let broker = Broker::new();
    let session = broker.session("a");
    session.declare_with("q", auto_delete);
    session.detach();
    assert!(broker.session("b").has_queue("q"));
}

#[test]
fn auto_delete_queue_goes_with_its_last_subscription() {
    let session = Broker::new().session("a");
    session.declare_with("q", auto_delete);
    session.subscribe("q", "d");
    session.browse("q", "b");
    session.cancel("d");
    assert!(session.has_queue("q"));
    session.cancel("b");
    assert!(!session.has_queue("q"));
}

#[test]
fn auto_delete_queue_goes_when_its_subscribers_session_ends() {
    let broker = Broker::new();
    let (one, two) = (broker.session("a"), broker.session("b"));
    one.declare_with("q", auto_delete);
    one.subscribe("q", "d");
    one.connection.end();
    assert!(!two.has_queue("q"));
}

#[test]
fn auto_delete_exclusive_queue_goes_with_its_owner() {
    let broker = Broker::new();
    let (one, two) = (broker.session("a"), broker.session("b"));
    one.declare_with("q", |declare| {
        declare.exclusive = true;
        declare.auto_delete = true;
    });
    one.subscribe("q", "d");
    one.cancel("d");
    assert!(one.has_queue("q"));
    one.detach();
    assert!(!two.has_queue("q"));
}

#[test]
fn exclusive_queue_that_is_not_auto_delete_outlives_its_owner() {
    let broker = Broker::new();
    let (one, two) = (broker.session("a"), broker.session("b"));
    one.declare_with("q", exclusive);
    one.detach();
    assert!(two.has_queue("q"));
}

#[test]
fn queue_of_the_same_name_does_not_inherit_what_was_delivered_of_the_former() {
    let broker = Broker::new();
    let (one, two) = (broker.session("a"), broker.session("b"));
    one.declare("other");
    two.declare("q");
    two.publish("q", "former");
    one.subscribe("q", "d");
    one.flow("d", 10);
    assert_eq!(one.received(), ["former"]);
    one.cancel("d");
    two.delete("q");
    two.declare("q");
    two.publish("q", "latter");
    one.release(ids([0]));
    one.assert_untroubled();
    assert_eq!(two.count("q"), 1);
    one.detach();
    two.subscribe("q", "d");
    two.flow("d", 10);
    let told = two.told();
    let [.., Told::Delivered(arrived)] = told.as_slice() else {
        panic!("{told:?}");
    };
    assert_eq!(
        (arrived.body.as_str(), arrived.redelivered),
        ("latter", false)
    );
}

#[test]
fn refused_command_fails_its_session_with_what_was_found() {
    use ferrymq::broker::{Refusal, Request};
    use ferrymq::wire::ErrorCode;
    let session = Broker::new().session("a");
    session.declare("q");
    let refusal = Refusal {
        code: ErrorCode::NOT_IMPLEMENTED,
        class: 9,
        command: 1,
        text: "not-implemented: file.qos".into(),
    };
    let id = session.send(Request::Refused(Box::new(refusal)));
    let failure = session.failure();
    assert_eq!((failure.code.0, failure.of, failure.at), (540, (9, 1), id));
}

#[test]
fn failed_session_takes_no_more_commands() {
    let broker = Broker::new();
    let session = broker.session("a");
    broker.in_one_entry(|| {
        session.delete("missing");
        session.declare("q");
    });
    session.assert_failed(404, "missing");
    assert!(!broker.session("b").has_queue("q"));
}

#[test]
fn what_was_done_before_a_failure_is_told_first() {
    let session = Broker::new().session("a");
    session.connection.broker.clone().in_one_entry(|| {
        let declare = QueueDeclare {
            queue: "q".into(),
            ..Default::default()
        };
        session.send_with(
            ferrymq::broker::Request::QueueDeclare(Box::new(declare)),
            true,
        );
        session.delete("missing");
    });
    let told = session.told();
    let [Told::Completed(commands, _), Told::Failed(_)] = told.as_slice() else {
        panic!("{told:?}");
    };
    assert!(commands.contains(CommandId(0)));
}

#[test]
fn browser_that_asks_for_exclusive_access_has_none() {
    let broker = Broker::new();
    let (one, two) = (broker.session("a"), broker.session("b"));
    one.declare("q");
    two.subscribe("q", "before");
    one.subscribe_with("q", "d", |subscribe| {
        subscribe.acquire_mode = AcquireMode::NOT_ACQUIRED;
        subscribe.exclusive = true;
    });
    two.subscribe("q", "after");
    one.assert_untroubled();
    two.assert_untroubled();
}

#[test]
fn exclusive_access_is_granted_while_others_only_browse() {
    let broker = Broker::new();
    let (browser, claimer) = (broker.session("a"), broker.session("b"));
    browser.declare("q");
    browser.browse("q", "d");
    claimer.declare_with("q", exclusive);
    claimer.assert_untroubled();
}

#[test]
fn session_that_failed_is_told_nothing_more() {
    let broker = Broker::new();
    broker.hold_work();
    let session = broker.session("a");
    session.declare("q");
    session.declare("deep");
    session.publish_many("deep", 0, 1500);
    session.subscribe("deep", "e");
    session.flow("e", u32::MAX);
    while broker.continue_once() {}
    session.subscribe("q", "d");
    session.flow("d", 1);
    session.told();
    // The session cannot give all its messages back in this entry, so it is still there when the
    // command that ended it is done.
    broker.in_one_entry(|| {
        let delete = ferrymq::wire::QueueDelete {
            queue: "q".into(),
            ..Default::default()
        };
        session.send_with(
            ferrymq::broker::Request::QueueDelete(Box::new(delete)),
            true,
        );
    });
    assert_eq!(session.failure().code.0, 408);
    while broker.continue_once() {}
    assert_eq!(session.told(), []);
}

#[test]
fn flush_after_the_queue_was_deleted_is_done_or_fails_with_the_deletion() {
    let broker = Broker::new();
    let (session, other) = (broker.session("a"), broker.session("b"));
    session.declare("q");
    session.subscribe("q", "d");
    broker.in_one_entry(|| {
        other.delete("q");
        session.flush("d");
    });
    session.assert_untroubled();
    broker.in_one_entry(|| {
        session.flow("d", 1);
        session.flush("d");
    });
    session.assert_failed(408, "Queue q has been deleted.");
}

#[test]
fn flush_that_is_not_done_ends_with_its_queue() {
    let broker = Broker::new();
    let session = broker.session("a");
    session.declare("q");
    session.publish_many("q", 0, 2500);
    session.subscribe("q", "d");
    broker.hold_work();
    let mut flush = 0;
    broker.in_one_entry(|| {
        session.flow("d", 2000);
        flush = session.flush("d");
        session.stop("d");
    });
    session.told();
    broker.in_one_entry(|| {
        session.delete("q");
        session.send_with(ferrymq::broker::Request::Sync, true);
    });
    let told = session.told();
    let Some(Told::Completed(commands, _)) = told.last() else {
        panic!("{told:?}");
    };
    assert!(commands.contains(CommandId(flush)));
    while broker.continue_once() {}
}

#[test]
fn another_sessions_queue_can_be_browsed_and_not_consumed() {
    let broker = Broker::new();
    let owner = broker.session("a");
    owner.declare_with("q", exclusive);
    owner.publish("q", "one");
    let browser = broker.session("b");
    browser.browse("q", "d");
    browser.flow("d", 1);
    assert_eq!(browser.received(), ["one"]);
    browser.subscribe("q", "e");
    browser.assert_failed(405, "exclusive queue q");
}
