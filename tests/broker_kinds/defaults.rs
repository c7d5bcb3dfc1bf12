//! What a queue has that says nothing of it: an operator's options.

use super::broker::{Broker, Session};
use super::{publish_with, text};
use ferrymq::broker::encoding::{Decoder, Encoder, Record};
use ferrymq::broker::options::{FirstOptions, QueueDefaults};
use ferrymq::broker::queue::Queue;
use ferrymq::broker::queue::kind::Kind;
use ferrymq::broker::{Command, Options};
use ferrymq::wire::Value;

fn with(change: impl FnOnce(&mut QueueDefaults)) -> Broker {
    let mut options = Options::default();
    change(&mut options.of_queues);
    Broker::with(options)
}

fn of_queue<T>(broker: &Broker, look: impl FnOnce(&Queue) -> T) -> T {
    broker.core(|core| look(core.queue_of_name("q").expect("it is there")))
}

fn limited(broker: &Broker) -> Session {
    let session = broker.session("a");
    session.declare_kind("q", &[("qpid.max_count", Value::U32(10))]);
    session
}

#[test]
fn publishers_are_held_back_at_the_operator_s_part_of_the_limit() {
    let broker = with(|defaults| {
        (defaults.flow_stop_percent, defaults.flow_resume_percent) = (50, 20);
    });
    limited(&broker);
    let lines = of_queue(&broker, |queue| {
        (queue.flow.stop_count, queue.flow.resume_count)
    });
    assert_eq!(lines, (Some(5), Some(2)));
}

#[test]
fn publishers_are_never_held_back_where_the_operator_s_part_is_nothing() {
    let broker = with(|defaults| {
        (defaults.flow_stop_percent, defaults.flow_resume_percent) = (0, 0);
    });
    limited(&broker);
    let lines = of_queue(&broker, |queue| {
        (queue.flow.stop_count, queue.flow.stop_bytes)
    });
    assert_eq!(lines, (None, None));
}

#[test]
fn alert_is_due_at_the_operator_s_part_of_the_limit() {
    for (percent, line) in [(30, Some(3)), (0, None)] {
        let broker = with(|defaults| defaults.alert_percent = percent);
        limited(&broker);
        assert_eq!(of_queue(&broker, |queue| queue.alerts.count.up), line);
    }
}

#[test]
fn messages_that_name_no_group_are_of_the_operator_s() {
    let broker = with(|defaults| defaults.message_group = "rest".into());
    let session = broker.session("a");
    let arguments = [
        ("qpid.group_header_key", text("g")),
        ("qpid.shared_msg_group", Value::U32(1)),
    ];
    session.declare_kind("q", &arguments);
    session.publish("q", "0");
    publish_with(&session, "q", "1", ("g", "rest"));
    let groups = of_queue(&broker, |queue| match &queue.kind {
        Kind::Groups(groups) => groups.iter().map(|group| group.name.to_string()).collect(),
        _ => Vec::new(),
    });
    assert_eq!(groups, ["rest"]);
}

#[test]
fn queue_has_what_was_so_when_it_was_declared() {
    let broker = with(|_| {});
    limited(&broker);
    let mut options = Options::default();
    options.of_queues.alert_percent = 10;
    broker.sequencer(Command::Configure(Box::new(options)));
    assert_eq!(of_queue(&broker, |queue| queue.alerts.count.up), Some(8));
}

/// Two numbers behind the number of the command, as the first version wrote them.
#[test]
fn options_of_a_former_log_leave_those_that_it_did_not_know() {
    let mut octets = vec![12];
    octets.extend(7u64.to_be_bytes());
    octets.extend(9u64.to_be_bytes());
    let mut decoder = Decoder::new(&octets);
    let command = Command::decode(&mut decoder).expect("it is a command");
    assert!(decoder.is_at_end());
    let former = FirstOptions {
        default_queue_limit: 7,
        queue_purge_interval: 9,
    };
    assert_eq!(command, Command::ConfigureFirst(Box::new(former.clone())));
    let mut before = Options::default();
    before.of_queues.alert_percent = 5;
    let after = former.over(&before);
    assert_eq!(
        (after.default_queue_limit, after.queue_purge_interval),
        (7, 9)
    );
    assert_eq!(after.of_queues, before.of_queues);
}

#[test]
fn defaults_that_cannot_be_are_no_defaults() {
    let faulty: [fn(&mut QueueDefaults); 4] = [
        |defaults| defaults.flow_stop_percent = 101,
        |defaults| defaults.flow_resume_percent = 81,
        |defaults| defaults.alert_percent = 101,
        |defaults| defaults.message_group = "g".repeat(256).into(),
    ];
    for change in faulty {
        let mut defaults = QueueDefaults::default();
        assert_eq!(defaults.fault(), None);
        change(&mut defaults);
        assert!(defaults.fault().is_some(), "{defaults:?}");
        let mut encoder = Encoder::default();
        defaults.encode(&mut encoder);
        assert!(QueueDefaults::decode(&mut Decoder::new(&encoder.bytes)).is_err());
    }
}
