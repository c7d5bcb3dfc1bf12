//! Queues that are redirected to each other.

mod broker;

use broker::agent::Agent;
use broker::{Broker, Session, ids, message};
use ferrymq::broker::Refusal;
use ferrymq::broker::event::Event;
use ferrymq::broker::limits::WORK_PER_ENTRY_MAX;
use ferrymq::broker::management::{Action, Redirect};
use ferrymq::wire::{AcquireMode, Value};

/// A session with the queues `source` and `target`.
fn with_queues(broker: &Broker) -> Session {
    let session = broker.session("a");
    session.declare("source");
    session.declare("target");
    session
}

fn redirect(session: &Session, source: &str, target: &str) {
    if let Err(refusal) = try_redirect(session, source, target) {
        panic!("{source} to {target}: {refusal:?}");
    }
}

/// Management asks for it.
fn try_redirect(session: &Session, source: &str, target: &str) -> Result<u64, Refusal> {
    let (source, target) = (source.into(), target.into());
    let mut agent = Agent::open(&session.connection.broker);
    agent.act(Action::Redirect(Redirect { source, target }))
}

fn redirected(broker: &Broker) -> Session {
    let session = with_queues(broker);
    redirect(&session, "source", "target");
    session
}

fn counts(session: &Session) -> (u32, u32) {
    (session.count("source"), session.count("target"))
}

fn received(session: &Session, queue: &str) -> Vec<String> {
    session.subscribe(queue, queue);
    session.flow(queue, 1000);
    session.received()
}

fn peer(broker: &Broker, queue: &str) -> Option<(String, bool)> {
    let peer = broker.core(|core| core.redirect_of(queue));
    peer.map(|(name, is_source)| (name.to_string(), is_source))
}

#[test]
fn messages_for_the_source_go_to_the_target() {
    let session = redirected(&Broker::new());
    session.publish("source", "0");
    assert_eq!(counts(&session), (0, 1));
}

#[test]
fn messages_for_the_target_go_to_the_source() {
    let session = redirected(&Broker::new());
    session.publish("target", "0");
    assert_eq!(counts(&session), (1, 0));
}

#[test]
fn message_for_both_goes_to_each_once() {
    let session = redirected(&Broker::new());
    session.bind("amq.fanout", "source", "", &[]);
    session.bind("amq.fanout", "target", "", &[]);
    session.publish_message("amq.fanout", message("", "0"));
    assert_eq!(counts(&session), (1, 1));
}

#[test]
fn messages_of_a_transaction_go_where_they_were_routed_when_they_were_published() {
    let session = redirected(&Broker::new());
    session.select();
    session.publish("source", "0");
    redirect(&session, "source", "");
    session.commit();
    assert_eq!(counts(&session), (0, 1));
}

#[test]
fn rejected_messages_on_their_way_are_redirected_too() {
    let broker = Broker::new();
    let session = redirected(&broker);
    session.bind("amq.fanout", "source", "", &[]);
    session.declare_with("q", |declare| {
        declare.alternate_exchange = Some("amq.fanout".into());
    });
    session.publish("q", "0");
    session.subscribe("q", "q");
    session.flow("q", 1);
    let arrived = session.arrivals();
    session.reject(ids([arrived[0].id]));
    assert_eq!(counts(&session), (0, 1));
}

#[test]
fn both_queues_say_what_they_are_redirected_to() {
    let broker = Broker::new();
    let session = redirected(&broker);
    assert_eq!(peer(&broker, "source"), Some(("target".into(), true)));
    assert_eq!(peer(&broker, "target"), Some(("source".into(), false)));
    redirect(&session, "source", "");
    assert_eq!(
        (peer(&broker, "source"), peer(&broker, "target")),
        (None, None)
    );
}

#[test]
fn what_is_left_at_the_target_goes_back_in_its_order_when_a_redirect_is_cancelled() {
    let session = with_queues(&Broker::new());
    session.publish("source", "before");
    redirect(&session, "source", "target");
    session.publish("source", "0");
    session.publish("source", "1");
    redirect(&session, "source", "");
    assert_eq!(counts(&session), (3, 0));
    session.publish("source", "after");
    assert_eq!(received(&session, "source"), ["before", "0", "1", "after"]);
}

#[test]
fn what_is_acquired_at_the_target_stays_there() {
    let session = redirected(&Broker::new());
    session.publish("source", "0");
    session.publish("source", "1");
    session.subscribe_with("target", "d", |subscribe| {
        subscribe.acquire_mode = AcquireMode::PRE_ACQUIRED;
    });
    session.flow("d", 1);
    let first = session.arrivals()[0].id;
    redirect(&session, "source", "");
    assert_eq!(counts(&session), (1, 0));
    session.release(ids([first]));
    assert_eq!(counts(&session), (1, 1));
}

#[test]
fn what_has_been_delivered_before_is_still_said_to_have_been() {
    let session = redirected(&Broker::new());
    session.publish("source", "0");
    session.subscribe("target", "d");
    session.flow("d", 1);
    let first = session.arrivals()[0].id;
    session.release_with(ids([first]), true);
    session.cancel("d");
    redirect(&session, "source", "");
    assert_eq!(received(&session, "source"), ["0*"]);
}

#[test]
fn source_that_is_full_leaves_the_rest_at_the_target() {
    let session = Broker::new().session("a");
    session.declare_limited("source", &[("qpid.max_count", Value::U32(2))]);
    session.declare("target");
    redirect(&session, "source", "target");
    for body in ["0", "1", "2"] {
        session.publish("source", body);
    }
    redirect(&session, "source", "");
    assert_eq!(counts(&session), (2, 1));
}

#[test]
fn very_many_messages_go_back_in_entries_of_bounded_work() {
    let broker = Broker::new().without_comparing();
    let session = redirected(&broker);
    let many = 2 * WORK_PER_ENTRY_MAX;
    session.publish_many("source", 0, many);
    broker.hold_work();
    redirect(&session, "source", "");
    let (source, target) = counts(&session);
    assert!(source > 0 && target > 0 && source + target == many);
    let mut entries = 0;
    while broker.continue_once() {
        entries += 1;
    }
    assert!(entries > 0);
    assert_eq!(counts(&session), (many, 0));
}

#[test]
fn durable_messages_that_went_back_are_there_after_a_restart() {
    let broker = Broker::new();
    let session = broker.session("a");
    for queue in ["source", "target"] {
        session.declare_with(queue, |declare| declare.durable = true);
    }
    redirect(&session, "source", "target");
    let persistent = broker::message_with("source", "0", |delivery| {
        delivery.delivery_mode = Some(ferrymq::wire::DeliveryMode::PERSISTENT);
    });
    session.publish_message("", persistent);
    redirect(&session, "source", "");
    let session = broker.restarted().session("b");
    assert_eq!(counts(&session), (1, 0));
}

#[test]
fn redirect_is_no_more_after_a_restart() {
    let broker = Broker::new();
    let session = broker.session("a");
    for queue in ["source", "target"] {
        session.declare_with(queue, |declare| declare.durable = true);
    }
    redirect(&session, "source", "target");
    let session = broker.restarted().session("b");
    session.publish("source", "0");
    assert_eq!(counts(&session), (1, 0));
}

#[test]
fn redirect_is_undone_and_nothing_moved_when_one_of_its_queues_is_deleted() {
    for (gone, left) in [("source", "target"), ("target", "source")] {
        let broker = Broker::new();
        let session = redirected(&broker);
        session.publish("source", "0");
        let before = session.count(left);
        session.delete(gone);
        assert_eq!(peer(&broker, left), None);
        assert_eq!(session.count(left), before);
        session.publish(left, "1");
        assert_eq!(session.count(left), before + 1);
    }
}

#[test]
fn redirect_that_ends_with_one_of_its_queues_is_told_as_cancelled() {
    for gone in ["source", "target"] {
        let broker = Broker::new();
        let session = redirected(&broker);
        let agent = Agent::open(&broker);
        session.delete(gone);
        let events = agent.events();
        let cancelled = Event::RedirectCancelled {
            source: "source".into(),
            target: "target".into(),
        };
        assert_eq!(events[0], cancelled, "{gone}");
        let is_delete = matches!(&events[1], Event::QueueDelete { queue, .. } if *queue == gone);
        assert!(is_delete, "{events:?}");
    }
}

#[track_caller]
fn assert_refused(source: &str, target: &str, code: u16, fragment: &str) {
    let session = redirected(&Broker::new());
    session.declare("other");
    session.declare_with("passing", |declare| declare.auto_delete = true);
    let refusal = try_redirect(&session, source, target).expect_err("it is refused");
    assert_eq!(refusal.code.0, code);
    assert!(refusal.text.contains(fragment), "{refusal:?}");
}

#[test]
fn queues_of_a_redirect_have_to_be_there() {
    assert_refused("none", "other", 404, "none");
    assert_refused("other", "none", 404, "none");
    assert_refused("none", "", 404, "none");
}

#[test]
fn queue_is_not_redirected_to_itself() {
    assert_refused("other", "other", 530, "its own target");
}

#[test]
fn auto_delete_queue_is_in_no_redirect() {
    assert_refused("passing", "other", 530, "auto-delete");
    assert_refused("other", "passing", 530, "auto-delete");
}

#[test]
fn queue_is_in_one_redirect() {
    assert_refused("source", "other", 530, "already redirected");
    assert_refused("other", "source", 530, "already redirected");
    assert_refused("other", "target", 530, "already redirected");
}

#[test]
fn redirect_is_cancelled_by_its_source_alone() {
    assert_refused("other", "", 530, "not redirected");
    assert_refused("target", "", 530, "not the source");
}
