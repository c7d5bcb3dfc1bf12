//! Prepared branches in facts, and after a restart.

mod broker;

use broker::scenes::{persist, restarted};
use broker::{Broker, Session, message_with, range};
use ferrymq::broker::facts::{Dequeued, Fact, FactRecord, Positions, Prepared};
use ferrymq::broker::ids::QueueKey;
use ferrymq::wire::{DeliveryMode, Value};

/// A durable queue `q` with the messages a, b and c, which a session has received that is selected for
/// the class, and a durable queue `r`.
fn working() -> (Broker, Session) {
    let broker = Broker::new();
    let session = broker.session("a");
    for queue in ["q", "r"] {
        session.declare_with(queue, |declare| declare.durable = true);
    }
    for body in ["a", "b", "c"] {
        persist(&session, "q", body);
    }
    session.subscribe("q", "d");
    session.flow("d", 3);
    assert_eq!(session.received(), ["a", "b", "c"]);
    session.dtx_select();
    (broker, session)
}

/// The same, and a branch `x` that accepts a and b and publishes p1, p2 and p3.
fn worked() -> (Broker, Session) {
    let (broker, session) = working();
    session.start("x");
    session.accept(range(0, 1));
    for body in ["p1", "p2", "p3"] {
        persist(&session, "r", body);
    }
    session.end("x");
    (broker, session)
}

/// The facts of what `act` does.
fn facts_of(broker: &Broker, act: impl FnOnce()) -> Vec<Fact> {
    let before = broker.facts().len();
    act();
    let records = broker.facts().split_off(before);
    records
        .into_iter()
        .flat_map(|record| record.facts)
        .collect()
}

#[track_caller]
fn prepared(facts: &[Fact]) -> &Prepared {
    match facts {
        [Fact::Prepared(branch)] => branch,
        other => panic!("no branch was prepared: {other:?}"),
    }
}

/// Everything that a queue holds, taken.
fn drained(session: &Session, queue: &str) -> Vec<String> {
    session.subscribe(queue, "drain");
    session.flow("drain", u32::MAX);
    let received = session.received();
    session.cancel("drain");
    received
}

// What is a fact.

#[test]
fn branch_that_is_not_prepared_leaves_no_fact() {
    let (broker, session) = working();
    let facts = facts_of(&broker, || {
        session.start("x");
        session.accept(range(0, 2));
        persist(&session, "r", "p1");
        session.end("x");
        session.roll_back("x");
    });
    assert_eq!(facts, []);
}

#[test]
fn prepared_branch_is_one_fact_of_all_that_is_durable() {
    let (broker, session) = working();
    session.declare("transient");
    session.start("x");
    session.accept(range(0, 1));
    persist(&session, "r", "p1");
    persist(&session, "transient", "not");
    session.publish("r", "neither");
    session.end("x");
    let facts = facts_of(&broker, || assert_eq!(session.prepare("x"), 0));
    let branch = prepared(&facts);
    assert_eq!(branch.number, 1);
    assert_eq!(branch.accepts, [(QueueKey(1), Positions(vec![(1, 2)]))]);
    let bodies = branch.publishes.iter().map(|publish| {
        assert_eq!(publish.queues, [QueueKey(2)]);
        publish.message.body().unwrap_or_default().to_vec()
    });
    assert_eq!(bodies.collect::<Vec<_>>(), [b"p1"]);
}

#[test]
fn branch_without_durable_work_is_a_fact_too() {
    let (broker, session) = working();
    session.start("x");
    session.end("x");
    let facts = facts_of(&broker, || assert_eq!(session.prepare("x"), 0));
    let branch = prepared(&facts);
    assert_eq!((branch.publishes.len(), branch.accepts.len()), (0, 0));
}

#[test]
fn outcome_of_a_prepared_branch_is_a_fact() {
    for is_commit in [false, true] {
        let (broker, session) = worked();
        session.prepare("x");
        let facts = facts_of(&broker, || match is_commit {
            true => assert_eq!(session.commit_prepared("x"), 0),
            false => assert_eq!(session.roll_back("x"), 0),
        });
        let outcome = Fact::Dequeued(Dequeued {
            queue: QueueKey::BRANCHES,
            before: 0,
            positions: Positions(vec![(1, 1)]),
        });
        assert!(facts.contains(&outcome), "{facts:?}");
        let came = facts
            .iter()
            .filter(|fact| matches!(fact, Fact::Enqueued(_)));
        assert_eq!(came.count(), if is_commit { 3 } else { 0 });
    }
}

#[test]
fn branch_prepared_and_rolled_back_in_one_batch_leaves_no_fact() {
    let (broker, session) = worked();
    let facts = facts_of(&broker, || {
        broker.in_one_entry(|| {
            session.refused_dtx(broker::session::prepare("x"));
            session.refused_dtx(broker::session::rollback("x"));
        });
    });
    assert_eq!(facts, []);
}

// After a restart.

#[test]
fn branch_that_was_not_prepared_is_no_more_after_a_restart() {
    let (broker, _) = worked();
    let (_, session) = restarted(&broker);
    assert_eq!(session.in_doubt(), [""; 0]);
    assert_eq!(drained(&session, "q"), ["a*", "b*", "c*"]);
    assert_eq!(session.count("r"), 0);
}

#[test]
fn prepared_branch_is_in_doubt_after_a_restart_and_what_it_holds_is_nobodys() {
    let (broker, session) = worked();
    session.prepare("x");
    let (_, session) = restarted(&broker);
    assert_eq!(session.in_doubt(), ["x"]);
    assert_eq!(drained(&session, "q"), ["c*"]);
    assert_eq!(session.count("r"), 0);
    assert_eq!(session.timeout("x"), broker::session::BRANCH_SECONDS);
}

#[test]
fn commit_after_a_restart_publishes_in_order_behind_what_came_before() {
    let (broker, session) = worked();
    session.prepare("x");
    persist(&session, "r", "n1");
    let (again, session) = restarted(&broker);
    assert_eq!(session.commit_prepared("x"), 0);
    assert_eq!(drained(&session, "r"), ["n1*", "p1", "p2", "p3"]);
    assert_eq!(drained(&session, "q"), ["c*"]);
    let (_, session) = restarted(&again);
    assert_eq!(session.in_doubt(), [""; 0]);
    assert_eq!(drained(&session, "r"), ["n1*", "p1*", "p2*", "p3*"]);
    assert_eq!(drained(&session, "q"), ["c*"]);
}

#[test]
fn rollback_after_a_restart_gives_back_in_place_flagged() {
    let (broker, session) = worked();
    session.prepare("x");
    let (again, session) = restarted(&broker);
    assert_eq!(session.roll_back("x"), 0);
    assert_eq!(drained(&session, "q"), ["a*", "b*", "c*"]);
    assert_eq!(session.count("r"), 0);
    session.detach();
    let (_, session) = restarted(&again);
    assert_eq!(session.in_doubt(), [""; 0]);
    assert_eq!(drained(&session, "q"), ["a*", "b*", "c*"]);
}

#[test]
fn outcome_before_a_restart_holds_after_it() {
    for is_commit in [false, true] {
        let (broker, session) = worked();
        session.prepare("x");
        match is_commit {
            true => session.commit_prepared("x"),
            false => session.roll_back("x"),
        };
        let (_, session) = restarted(&broker);
        assert_eq!(session.in_doubt(), [""; 0]);
        let left = drained(&session, "q");
        match is_commit {
            true => assert_eq!((left.len(), session.count("r")), (1, 3)),
            false => assert_eq!((left.len(), session.count("r")), (3, 0)),
        }
    }
}

#[test]
fn number_of_a_branch_is_never_used_again() {
    let (broker, session) = worked();
    session.prepare("x");
    session.commit_prepared("x");
    let (again, session) = restarted(&broker);
    session.dtx_select();
    session.start("x");
    session.end("x");
    let facts = facts_of(&again, || assert_eq!(session.prepare("x"), 0));
    assert_eq!(prepared(&facts).number, 2);
    let (_, session) = restarted(&again);
    assert_eq!(session.in_doubt(), ["x"]);
}

#[test]
fn time_to_live_of_what_a_branch_publishes_goes_on_while_the_broker_is_down() {
    let (broker, session) = working();
    session.start("x");
    let message = message_with("r", "short", |delivery| {
        delivery.delivery_mode = Some(DeliveryMode::PERSISTENT);
        delivery.ttl = Some(1000);
    });
    session.publish_message("", message);
    persist(&session, "r", "long");
    session.end("x");
    session.prepare("x");
    let again = broker.restarted_with(broker.facts(), 1000);
    again.work();
    let session = again.session("again");
    session.commit_prepared("x");
    assert_eq!(drained(&session, "r"), ["long"]);
}

#[test]
fn prepared_branch_keeps_its_room_after_a_restart() {
    let broker = Broker::new();
    let session = broker.session("a");
    session.declare_with("q", |declare| {
        declare.durable = true;
        let limit = [("qpid.max_count", Value::U32(2))];
        declare.arguments = Some(limit.into_iter().collect());
    });
    session.dtx_select();
    session.start("x");
    persist(&session, "q", "p1");
    persist(&session, "q", "p2");
    session.end("x");
    assert_eq!(session.prepare("x"), 0);
    let (again, session) = restarted(&broker);
    let other = again.session("other");
    persist(&other, "q", "too much");
    other.assert_failed(506, "Maximum depth exceeded");
    session.commit_prepared("x");
    assert_eq!(session.count("q"), 2);
}

#[test]
fn deleted_queue_takes_its_part_of_a_prepared_branch_with_it() {
    let (broker, session) = worked();
    session.prepare("x");
    session.cancel("d");
    session.delete("q");
    let (_, session) = restarted(&broker);
    assert_eq!(session.commit_prepared("x"), 0);
    assert_eq!(drained(&session, "r"), ["p1", "p2", "p3"]);
}

#[test]
fn compaction_keeps_a_prepared_branch_until_its_outcome() {
    let (broker, session) = worked();
    session.prepare("x");
    let old: Vec<FactRecord> = broker.facts();
    let facts: Vec<Fact> = old.into_iter().flat_map(|record| record.facts).collect();
    let is_branch = |fact: &Fact| matches!(fact, Fact::Prepared(_));
    let needed = broker.core(|core| core.still_needed(&facts));
    assert_eq!(needed.into_iter().filter(is_branch).count(), 1);
    assert_eq!(
        broker.core(|core| core.gone_before(QueueKey::BRANCHES)),
        Some(1)
    );
    session.commit_prepared("x");
    let needed = broker.core(|core| core.still_needed(&facts));
    assert_eq!(needed.into_iter().filter(is_branch).count(), 0);
    assert_eq!(
        broker.core(|core| core.gone_before(QueueKey::BRANCHES)),
        Some(2)
    );
}
