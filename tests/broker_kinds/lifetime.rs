//! Queues that go by themselves.

use super::broker::scenes::pass;
use super::broker::{Broker, Session};
use super::{taken, text};
use ferrymq::broker::ids::GroupTime;
use ferrymq::wire::{QueueDeclare, Value};

fn timed(session: &Session, seconds: u32, change: impl FnOnce(&mut QueueDeclare)) {
    session.declare_with("q", |declare| {
        let timeout = [("qpid.auto_delete_timeout", Value::U32(seconds))];
        declare.arguments = Some(timeout.into_iter().collect());
        change(declare);
    });
}

#[test]
fn timeout_implies_auto_delete_and_0_is_none() {
    let session = Broker::new().session("a");
    timed(&session, 3, |_| {});
    assert!(session.query("q").auto_delete);
    session.declare_kind("r", &[("qpid.auto_delete_timeout", Value::U32(0))]);
    assert!(!session.query("r").auto_delete);
}

#[test]
fn queue_goes_so_long_after_its_last_use() {
    let broker = Broker::new();
    let session = broker.session("a");
    timed(&session, 3, |_| {});
    session.subscribe("q", "d");
    session.cancel("d");
    pass(&broker, 2999);
    assert!(session.has_queue("q"));
    pass(&broker, 1);
    assert!(!session.has_queue("q"));
}

#[test]
fn core_asks_for_the_time_at_which_a_queue_goes() {
    let broker = Broker::new();
    let session = broker.session("a");
    timed(&session, 3, |_| {});
    session.subscribe("q", "d");
    let now = broker.core(|core| core.time());
    session.cancel("d");
    let due = |broker: &Broker| broker.core(|core| core.wants().deadline);
    assert_eq!(due(&broker), now.plus(3000));
    session.subscribe("q", "d");
    assert!(due(&broker) > now.plus(3000));
    session.cancel("d");
    session.delete("q");
    assert!(due(&broker) > now.plus(3000) && due(&broker) < GroupTime::NEVER);
}

#[test]
fn new_subscription_cancels_the_departure_and_its_end_begins_anew() {
    let broker = Broker::new();
    let session = broker.session("a");
    timed(&session, 3, |_| {});
    session.subscribe("q", "d");
    session.cancel("d");
    pass(&broker, 2000);
    session.browse("q", "d");
    pass(&broker, 60_000);
    assert!(session.has_queue("q"));
    session.cancel("d");
    pass(&broker, 2999);
    assert!(session.has_queue("q"));
    pass(&broker, 1);
    assert!(!session.has_queue("q"));
}

#[test]
fn exclusive_declaration_cancels_the_departure() {
    let broker = Broker::new();
    let first = broker.session("first");
    timed(&first, 3, |declare| declare.exclusive = true);
    first.detach();
    pass(&broker, 2000);
    let second = broker.session("second");
    timed(&second, 3, |declare| declare.exclusive = true);
    pass(&broker, 60_000);
    assert!(second.has_queue("q"));
    second.detach();
    pass(&broker, 3000);
    assert!(!broker.session("third").has_queue("q"));
}

#[test]
fn queue_that_was_never_used_stays() {
    let broker = Broker::new();
    let session = broker.session("a");
    timed(&session, 1, |_| {});
    pass(&broker, 60_000);
    assert!(session.has_queue("q"));
}

#[test]
fn messages_of_a_queue_that_goes_come_to_its_alternate_exchange() {
    let broker = Broker::new();
    let session = broker.session("a");
    session.declare("listener");
    session.bind("amq.fanout", "listener", "", &[]);
    timed(&session, 3, |declare| {
        declare.alternate_exchange = Some("amq.fanout".into())
    });
    session.publish("q", "left");
    session.subscribe("q", "d");
    session.cancel("d");
    pass(&broker, 3000);
    assert_eq!(taken(&session, "listener"), ["left"]);
}

#[test]
fn unused_and_empty_queue_goes_when_its_last_message_does() {
    let broker = Broker::new();
    let session = broker.session("a");
    let policy = ("qpid.lifetime-policy", text("delete-if-unused-and-empty"));
    session.declare_kind("q", &[policy]);
    assert!(session.query("q").auto_delete);
    session.publish_for("q", "short", 10);
    session.subscribe("q", "d");
    session.cancel("d");
    assert!(session.has_queue("q"));
    pass(&broker, 600_000);
    assert!(!session.has_queue("q"));
}

#[test]
fn unused_and_empty_queue_goes_with_its_last_subscription_or_a_purge() {
    let broker = Broker::new();
    let session = broker.session("a");
    let policy = ("qpid.lifetime-policy", text("delete-if-unused-and-empty"));
    session.declare_kind("q", std::slice::from_ref(&policy));
    session.subscribe("q", "d");
    session.cancel("d");
    assert!(!session.has_queue("q"));
    session.declare_kind("q", &[policy]);
    session.publish("q", "one");
    session.subscribe("q", "d");
    session.cancel("d");
    session.purge("q");
    assert!(!session.has_queue("q"));
}

#[test]
fn queue_of_a_session_goes_with_it_whoever_subscribes() {
    let broker = Broker::new();
    let other = broker.session("other");
    let policy = ("qpid.lifetime-policy", text("delete-on-close"));
    other.declare_kind("q", std::slice::from_ref(&policy));
    other.browse("q", "d");
    let owner = broker.session("owner");
    owner.declare_with("q", |declare| declare.exclusive = true);
    assert!(owner.query("q").auto_delete);
    owner.detach();
    assert!(!other.has_queue("q"));
}

#[test]
fn queue_that_would_go_with_its_session_stays_while_others_subscribe() {
    let session = Broker::new().session("a");
    let policy = ("qpid.lifetime-policy", text("delete-on-close"));
    session.declare_kind("q", std::slice::from_ref(&policy));
    session.subscribe("q", "one");
    session.subscribe("q", "two");
    session.cancel("one");
    assert!(session.has_queue("q"));
    session.cancel("two");
    assert!(!session.has_queue("q"));
}

#[test]
fn manual_lifetime_clears_auto_delete() {
    let session = Broker::new().session("a");
    session.declare_with("q", |declare| {
        declare.auto_delete = true;
        let policy = [("qpid.lifetime-policy", text("manual"))];
        declare.arguments = Some(policy.into_iter().collect());
    });
    assert!(!session.query("q").auto_delete);
    session.subscribe("q", "d");
    session.cancel("d");
    assert!(session.has_queue("q"));
}

#[test]
fn durable_queue_goes_so_long_after_a_restart_when_nobody_uses_it() {
    let broker = Broker::new();
    timed(&broker.session("a"), 2, |declare| declare.durable = true);
    let again = broker.restarted();
    again.work();
    let session = again.session("b");
    assert!(session.query("q").auto_delete);
    pass(&again, 1999);
    assert!(session.has_queue("q"));
    pass(&again, 1);
    assert!(!session.has_queue("q"));
    let last = again.restarted();
    last.work();
    assert!(!last.session("c").has_queue("q"));
}

#[test]
fn very_many_queues_go_in_their_time() {
    let broker = Broker::new().without_comparing();
    let session = broker.session("a");
    for number in 0..3000 {
        let name = number.to_string();
        let timeout = [("qpid.auto_delete_timeout", Value::U32(1))];
        broker.in_one_entry(|| {
            session.declare_kind(&name, &timeout);
            session.subscribe(&name, &name);
            session.cancel(&name);
        });
    }
    pass(&broker, 1000);
    assert_eq!(broker.core(|core| core.queue_count()), 0);
    assert!(broker.continued() > 0, "it took more than one entry");
}
