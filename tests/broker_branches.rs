//! Branches of distributed transactions: what they hold, and what becomes of it.

mod broker;

use broker::session::{BRANCH_SECONDS, commit, end, start, xid};
use broker::{Broker, Session, ids, range};
use ferrymq::broker::branch::DtxRequest;
use ferrymq::broker::{Command, limits};
use ferrymq::wire::Value;

const XA_OK: u16 = 0;
const XA_RBROLLBACK: u16 = 1;
const XA_RBTIMEOUT: u16 = 2;

/// A session that is selected for the class, and a queue `q` with the messages 0, 1 and 2, which it
/// has received.
fn working() -> (Broker, Session) {
    let broker = Broker::new();
    let session = broker.session("a");
    session.declare("q");
    session.publish_many("q", 0, 3);
    session.subscribe("q", "d");
    session.flow("d", 3);
    assert_eq!(session.received(), ["0", "1", "2"]);
    session.dtx_select();
    (broker, session)
}

/// The same, and a branch `x` that has accepted all of them and publishes "3".
fn worked() -> (Broker, Session) {
    let (broker, session) = working();
    assert_eq!(session.start("x"), XA_OK);
    session.accept(range(0, 2));
    session.publish("q", "3");
    assert_eq!(session.end("x"), XA_OK);
    (broker, session)
}

/// What another session gets of the queue `q`.
fn had(broker: &Broker) -> Vec<String> {
    let other = broker.session("other");
    other.subscribe("q", "d");
    other.flow("d", u32::MAX);
    let received = other.received();
    other.detach();
    received
}

/// Lets time pass, and the core's deadlines be met.
fn pass(broker: &Broker, seconds: u32) {
    broker.pass(u64::from(seconds) * 1000);
    broker.sequencer(Command::Tick);
}

// What a branch holds.

#[test]
fn what_a_branch_publishes_and_accepts_is_nobodys_until_its_outcome() {
    let (broker, session) = worked();
    assert_eq!(had(&broker), [""; 0]);
    assert_eq!(session.prepare("x"), XA_OK);
    assert_eq!(had(&broker), [""; 0]);
    session.detach();
    assert_eq!(had(&broker), [""; 0]);
}

#[test]
fn commit_in_two_phases_publishes_and_accepts_all() {
    let (broker, session) = worked();
    assert_eq!(session.prepare("x"), XA_OK);
    assert_eq!(session.commit_prepared("x"), XA_OK);
    session.detach();
    assert_eq!(had(&broker), ["3"]);
    assert_eq!(broker.core(|core| core.branch_counts()), (0, 0));
}

#[test]
fn commit_in_one_phase_publishes_and_accepts_all() {
    let (broker, session) = worked();
    assert_eq!(session.commit_one_phase("x"), XA_OK);
    session.detach();
    assert_eq!(had(&broker), ["3"]);
}

#[test]
fn rollback_gives_back_in_place_flagged() {
    for is_prepared in [false, true] {
        let (broker, session) = worked();
        session.publish("q", "4");
        if is_prepared {
            assert_eq!(session.prepare("x"), XA_OK);
        }
        assert_eq!(session.roll_back("x"), XA_OK);
        assert_eq!(had(&broker), ["0*", "1*", "2*", "4"]);
    }
}

#[test]
fn work_outside_the_association_is_not_of_the_branch() {
    let (broker, session) = working();
    session.accept(ids([0]));
    session.start("x");
    session.accept(ids([1]));
    session.end("x");
    session.accept(ids([1, 2]));
    session.publish("q", "3");
    session.roll_back("x");
    session.detach();
    assert_eq!(had(&broker), ["1*", "3"]);
}

#[test]
fn branch_does_the_work_of_all_sessions_that_join() {
    let (broker, session) = working();
    let other = broker.session("b");
    other.dtx_select();
    session.start("x");
    assert_eq!(other.join("x"), XA_OK);
    session.publish("q", "3");
    other.publish("q", "4");
    session.accept(ids([1]));
    assert_eq!(session.end("x"), XA_OK);
    other.publish("q", "5");
    assert_eq!(other.end("x"), XA_OK);
    assert_eq!(other.commit_one_phase("x"), XA_OK);
    session.detach();
    assert_eq!(had(&broker), ["0*", "2*", "3", "4", "5"]);
}

#[test]
fn suspended_work_is_taken_up_again() {
    let (broker, session) = working();
    session.start("x");
    session.publish("q", "3");
    assert_eq!(session.suspend("x"), XA_OK);
    session.publish("q", "4");
    session.start("y");
    session.publish("q", "5");
    session.end("y");
    assert_eq!(session.resume("x"), XA_OK);
    session.publish("q", "6");
    assert_eq!(session.end("x"), XA_OK);
    assert_eq!(session.commit_one_phase("x"), XA_OK);
    session.roll_back("y");
    session.accept(range(0, 2));
    session.detach();
    assert_eq!(had(&broker), ["4", "3", "6"]);
}

#[test]
fn suspended_work_can_be_ended() {
    let (_, session) = working();
    session.start("x");
    session.suspend("x");
    assert_eq!(session.end("x"), XA_OK);
    assert_eq!(session.prepare("x"), XA_OK);
}

#[test]
fn local_transaction_waits_while_its_session_works_in_a_branch() {
    let (broker, session) = working();
    session.select();
    session.publish("q", "local");
    session.accept(ids([0]));
    session.start("x");
    session.publish("q", "of the branch");
    session.accept(range(0, 1));
    session.end("x");
    session.publish("q", "local, too");
    assert_eq!(session.count("q"), 0);
    session.commit();
    assert_eq!(session.count("q"), 2);
    assert_eq!(session.commit_one_phase("x"), XA_OK);
    session.detach();
    assert_eq!(had(&broker), ["2*", "local", "local, too", "of the branch"]);
}

#[test]
fn local_commit_within_a_branch_is_an_illegal_state() {
    let (_, session) = working();
    session.select();
    session.start("x");
    session.commit();
    session.assert_failed(409, "associated with xid 7:x:branch");
}

#[test]
fn selecting_for_local_transactions_within_a_branch_counts_behind_it() {
    let (_, session) = working();
    session.start("x");
    session.select();
    session.publish("q", "3");
    session.end("x");
    session.publish("q", "4");
    session.rollback();
    session.commit_one_phase("x");
    assert_eq!(session.count("q"), 1);
}

// Exceptions.

#[test]
fn start_without_select_is_an_invalid_command() {
    for resume in [false, true] {
        let session = Broker::new().session("a");
        session.refused_dtx(start("x", false, resume));
        session.assert_failed(503, "not been selected for use with dtx");
    }
}

#[test]
fn start_of_a_known_xid_is_not_allowed() {
    let (broker, session) = worked();
    let other = broker.session("b");
    other.dtx_select();
    other.refused_dtx(start("x", false, false));
    other.assert_failed(530, "already known");
    assert_eq!(session.commit_one_phase("x"), XA_OK);
    assert_eq!(session.start("x"), XA_OK);
}

#[test]
fn start_of_the_branch_that_a_session_works_in_is_not_allowed() {
    let (_, session) = working();
    session.start("x");
    session.refused_dtx(start("x", false, false));
    session.assert_failed(530, "already known");
}

#[test]
fn join_of_an_unknown_xid_is_not_found() {
    let (_, session) = working();
    session.refused_dtx(start("x", true, false));
    session.assert_failed(404, "Unrecognised xid 7:x:branch");
}

#[test]
fn join_and_resume_exclude_each_other() {
    let (_, session) = working();
    session.refused_dtx(start("x", true, true));
    session.assert_failed(503, "Join and resume cannot both be set");
}

#[test]
fn session_works_in_one_branch_at_a_time() {
    let (_, session) = working();
    session.start("x");
    session.refused_dtx(start("y", false, false));
    session.assert_failed(409, "associated with xid 7:x:branch");
}

#[test]
fn resume_of_what_is_not_suspended_is_an_invalid_command() {
    let (_, session) = worked();
    session.refused_dtx(start("x", false, true));
    session.assert_failed(503, "not attached");
}

#[test]
fn join_of_a_prepared_branch_is_an_invalid_command() {
    let (_, session) = worked();
    session.prepare("x");
    session.refused_dtx(start("x", true, false));
    session.assert_failed(503, "has been completed");
}

#[test]
fn end_without_association_is_an_illegal_state() {
    let (_, session) = worked();
    session.refused_dtx(end("x", false, false));
    session.assert_failed(409, "not associated with this session");
    let session = Broker::new().session("b");
    session.refused_dtx(end("x", false, true));
    session.assert_failed(409, "not associated with this session");
}

#[test]
fn end_of_another_xid_is_an_invalid_command() {
    let (_, session) = working();
    session.start("x");
    session.refused_dtx(end("y", false, false));
    session.assert_failed(503, "xid specified on start was 7:x:branch");
}

#[test]
fn end_that_fails_and_suspends_is_an_invalid_command_and_undoes_the_branch() {
    let (broker, session) = working();
    session.start("x");
    session.refused_dtx(end("x", true, true));
    session.assert_failed(503, "cannot both be set");
    assert_eq!(broker.session("b").prepare("x"), XA_RBROLLBACK);
}

#[test]
fn outcome_before_all_sessions_have_ended_is_an_illegal_state() {
    let prepare = DtxRequest::Prepare { xid: xid("x") };
    let rollback = DtxRequest::Rollback { xid: xid("x") };
    for request in [prepare, rollback, commit("x", true), commit("x", false)] {
        let (broker, session) = working();
        session.start("x");
        let other = broker.session("b");
        other.refused_dtx(request);
        other.assert_failed(409, "not completed");
        session.end("x");
        assert_eq!(session.prepare("x"), XA_OK);
    }
}

#[test]
fn commit_names_the_phases_that_there_were() {
    let (broker, session) = worked();
    let other = broker.session("b");
    other.refused_dtx(commit("x", false));
    other.assert_failed(409, "one-phase option required");
    session.prepare("x");
    let other = broker.session("c");
    other.refused_dtx(commit("x", true));
    other.assert_failed(409, "one-phase option not valid");
    assert_eq!(session.commit_prepared("x"), XA_OK);
}

#[test]
fn outcome_of_an_unknown_xid_is_not_found() {
    let prepare = DtxRequest::Prepare { xid: xid("x") };
    let rollback = DtxRequest::Rollback { xid: xid("x") };
    let timeout = DtxRequest::GetTimeout { xid: xid("x") };
    for request in [prepare, rollback, commit("x", true), timeout] {
        let session = Broker::new().session("a");
        session.refused_dtx(request);
        session.assert_failed(404, "Unrecognised xid");
    }
}

#[test]
fn exception_names_the_command_of_the_class() {
    let session = Broker::new().session("a");
    session.refused_dtx(commit("x", true));
    let failure = session.failure();
    assert_eq!(failure.of, (6, 4));
}

// Branches that are undone.

#[test]
fn end_that_fails_undoes_the_branch_at_once() {
    let (broker, session) = working();
    session.start("x");
    session.accept(range(0, 2));
    session.publish("q", "3");
    assert_eq!(session.end_failed("x"), XA_RBROLLBACK);
    assert_eq!(had(&broker), ["0*", "1*", "2*"]);
    assert_eq!(session.prepare("x"), XA_RBROLLBACK);
    assert_eq!(session.commit_one_phase("x"), XA_RBROLLBACK);
    assert_eq!(broker.core(|core| core.branch_counts()), (0, 0));
}

#[test]
fn end_of_a_session_undoes_branches_in_which_it_has_not_ended() {
    for is_suspended in [false, true] {
        let (broker, session) = working();
        session.start("x");
        session.accept(ids([1]));
        session.publish("q", "3");
        if is_suspended {
            session.suspend("x");
        }
        session.connection.end();
        assert_eq!(had(&broker), ["0*", "1*", "2*"]);
        let other = broker.session("b");
        assert_eq!(other.prepare("x"), XA_RBROLLBACK);
        assert_eq!(other.roll_back("x"), XA_OK);
    }
}

#[test]
fn end_of_a_session_keeps_branches_in_which_it_has_ended() {
    let (broker, session) = worked();
    session.connection.end();
    let other = broker.session("b");
    assert_eq!(other.prepare("x"), XA_OK);
    assert_eq!(other.commit_prepared("x"), XA_OK);
    assert_eq!(had(&broker), ["3"]);
}

#[test]
fn branch_that_one_session_fails_is_undone_for_the_other() {
    let (broker, session) = working();
    let other = broker.session("b");
    other.dtx_select();
    session.start("x");
    other.join("x");
    other.connection.end();
    session.publish("q", "nowhere");
    session.accept(ids([1]));
    assert_eq!(session.end("x"), XA_RBROLLBACK);
    assert_eq!(session.roll_back("x"), XA_OK);
    assert_eq!(had(&broker), ["1*"]);
}

#[test]
fn branch_whose_time_runs_out_is_undone() {
    let (broker, session) = working();
    session.start("x");
    session.accept(range(0, 2));
    session.publish("q", "3");
    assert_eq!(session.timeout("x"), BRANCH_SECONDS);
    session.set_timeout("x", 2);
    pass(&broker, 1);
    assert_eq!(had(&broker), [""; 0]);
    pass(&broker, 1);
    assert_eq!(had(&broker), ["0*", "1*", "2*"]);
    assert_eq!(session.end("x"), XA_RBTIMEOUT);
    assert_eq!(session.roll_back("x"), XA_RBTIMEOUT);
    session.publish("q", "4");
    assert_eq!(session.count("q"), 4);
    session.refused_dtx(DtxRequest::Prepare { xid: xid("x") });
    session.assert_failed(404, "Unrecognised xid");
}

#[test]
fn time_that_runs_out_is_told_to_whoever_asks_first() {
    let asks: [fn(&Session) -> u16; 4] = [
        |session| session.prepare("x"),
        |session| session.commit_one_phase("x"),
        |session| session.roll_back("x"),
        |session| session.join("x"),
    ];
    for ask in asks {
        let (broker, session) = worked();
        pass(&broker, BRANCH_SECONDS);
        assert_eq!(ask(&session), XA_RBTIMEOUT);
    }
}

#[test]
fn branch_that_the_broker_decided_alone_is_forgotten_when_that_is_asked() {
    let (broker, session) = worked();
    pass(&broker, BRANCH_SECONDS);
    session.forget("x");
    session.forget("x");
    session.assert_failed(404, "Unrecognised xid");
    assert_eq!(broker.core(|core| core.branch_counts()), (0, 0));
}

#[test]
fn branch_that_is_not_decided_by_the_broker_alone_is_not_forgotten() {
    let asks: [fn(&Session); 3] = [
        |_| {},
        |session| _ = session.prepare("x"),
        |session| {
            session.join("x");
            session.end_failed("x");
        },
    ];
    for ask in asks {
        let (_, session) = worked();
        ask(&session);
        session.forget("x");
        session.assert_failed(409, "not decided by the broker alone");
    }
}

#[test]
fn branch_in_which_a_session_works_is_not_forgotten() {
    let (_, session) = working();
    session.start("x");
    session.forget("x");
    session.assert_failed(409, "not completed");
}

#[test]
fn timeout_of_an_unknown_branch_is_neither_told_nor_set() {
    for is_set in [true, false] {
        let (_, session) = working();
        let xid = xid("unknown");
        session.refused_dtx(match is_set {
            true => DtxRequest::SetTimeout { xid, timeout: 1 },
            false => DtxRequest::GetTimeout { xid },
        });
        session.assert_failed(404, "Unrecognised xid");
    }
}

#[test]
fn time_begins_anew_when_another_timeout_is_set() {
    let (broker, session) = worked();
    pass(&broker, 50);
    session.set_timeout("x", BRANCH_SECONDS);
    pass(&broker, 9);
    session.set_timeout("x", 30);
    pass(&broker, 29);
    assert_eq!(session.timeout("x"), 30);
    assert_eq!(session.prepare("x"), XA_OK);
}

#[test]
fn prepared_branch_waits_without_end() {
    let (broker, session) = worked();
    session.prepare("x");
    session.set_timeout("x", 1);
    pass(&broker, 100_000);
    assert_eq!(session.commit_prepared("x"), XA_OK);
}

#[test]
fn undone_branch_is_forgotten_after_a_while() {
    let (broker, session) = worked();
    pass(&broker, BRANCH_SECONDS);
    assert_eq!(broker.core(|core| core.branch_counts()), (1, 0));
    let remembered = u32::try_from(limits::UNDONE_BRANCH_MS / 1000).expect("less than a day");
    pass(&broker, remembered);
    assert_eq!(broker.core(|core| core.branch_counts()), (0, 0));
    assert_eq!(session.start("x"), XA_OK);
}

#[test]
fn session_of_a_forgotten_branch_does_nothing_in_another_of_its_xid() {
    let (broker, session) = working();
    session.start("x");
    pass(&broker, BRANCH_SECONDS);
    let other = broker.session("b");
    assert_eq!(other.roll_back("x"), XA_RBTIMEOUT);
    other.dtx_select();
    other.start("x");
    session.publish("q", "nowhere");
    session.accept(ids([0]));
    assert_eq!(session.end("x"), XA_RBTIMEOUT);
    other.publish("q", "3");
    other.end("x");
    assert_eq!(other.commit_one_phase("x"), XA_OK);
    assert_eq!(had(&broker), ["0*", "3"]);
}

// Queries.

#[test]
fn recover_names_the_prepared_branches_in_order() {
    let (_, session) = working();
    assert_eq!(session.in_doubt(), [""; 0]);
    for branch in ["c", "a", "b", "d"] {
        session.start(branch);
        session.end(branch);
        if branch != "b" {
            session.prepare(branch);
        }
    }
    assert_eq!(session.in_doubt(), ["c", "a", "d"]);
    session.commit_prepared("a");
    session.roll_back("c");
    assert_eq!(session.in_doubt(), ["d"]);
}

#[test]
fn prepare_again_says_the_same() {
    let (broker, session) = worked();
    assert_eq!(session.prepare("x"), XA_OK);
    assert_eq!(session.prepare("x"), XA_OK);
    session.commit_prepared("x");
    session.detach();
    assert_eq!(had(&broker), ["3"]);
}

// Limits.

#[test]
fn prepare_over_a_queue_limit_undoes_the_branch() {
    for is_one_phase in [false, true] {
        let broker = Broker::new();
        let session = broker.session("a");
        session.declare_limited("q", &[("qpid.max_count", Value::U32(5))]);
        session.dtx_select();
        session.start("x");
        session.publish_many("q", 0, 6);
        session.end("x");
        let status = match is_one_phase {
            true => session.commit_one_phase("x"),
            false => session.prepare("x"),
        };
        assert_eq!(status, XA_RBROLLBACK);
        session.publish("q", "6");
        assert_eq!(session.count("q"), 1);
    }
}

#[test]
fn prepared_branch_keeps_its_room_in_queues() {
    let broker = Broker::new();
    let session = broker.session("a");
    session.declare_limited("q", &[("qpid.max_count", Value::U32(5))]);
    session.dtx_select();
    for branch in ["x", "y"] {
        session.start(branch);
        session.publish_many("q", 0, 2);
        session.end(branch);
        assert_eq!(session.prepare(branch), XA_OK);
    }
    session.publish("q", "fits");
    let other = broker.session("b");
    other.publish("q", "does not");
    other.assert_failed(506, "current=[count: 5");
    session.roll_back("y");
    session.publish_many("q", 2, 2);
    assert_eq!(session.commit_prepared("x"), XA_OK);
    assert_eq!(session.count("q"), 5);
}

#[test]
fn room_of_accepted_messages_is_free_after_the_commit_only() {
    let broker = Broker::new();
    let session = broker.session("a");
    session.declare_limited("q", &[("qpid.max_count", Value::U32(5))]);
    session.publish_many("q", 0, 5);
    session.subscribe("q", "d");
    session.flow("d", 5);
    session.received();
    session.dtx_select();
    session.start("x");
    session.accept(range(0, 4));
    session.end("x");
    session.prepare("x");
    let other = broker.session("b");
    other.publish("q", "too early");
    other.assert_failed(506, "Maximum depth exceeded");
    session.commit_prepared("x");
    session.publish_many("q", 5, 5);
    assert_eq!(session.count("q"), 5);
}

#[test]
fn branches_are_bounded() {
    let broker = Broker::new().without_comparing();
    let session = broker.session("a");
    session.dtx_select();
    for number in 0..limits::BRANCHES_MAX {
        let branch = number.to_string();
        assert_eq!(session.start(&branch), XA_OK);
        assert_eq!(session.end(&branch), XA_OK);
    }
    session.refused_dtx(start("one more", false, false));
    session.assert_failed(506, "no more branches");
}

#[test]
fn giving_back_what_a_branch_accepted_is_spread_over_entries() {
    let broker = Broker::new();
    let session = broker.session("a");
    let count = 3 * limits::WORK_PER_ENTRY_MAX;
    session.declare("q");
    session.publish_many("q", 0, count);
    session.subscribe("q", "d");
    session.flow("d", count);
    assert_eq!(session.received().len(), count as usize);
    session.dtx_select();
    session.start("x");
    session.accept(range(0, count - 1));
    session.end("x");
    session.prepare("x");
    let before = broker.continued();
    session.roll_back("x");
    assert!(broker.continued() >= before + 2);
    let received = had(&broker);
    let numbers: Vec<String> = (0..count).map(|number| format!("{number}*")).collect();
    assert_eq!(received, numbers);
}

#[test]
fn queue_that_is_deleted_takes_nothing_of_a_branch() {
    let (broker, session) = worked();
    session.declare("r");
    session.start("y");
    session.publish("r", "kept");
    session.publish("q", "not");
    session.end("y");
    session.prepare("x");
    session.prepare("y");
    session.cancel("d");
    session.delete("q");
    session.declare("q");
    assert_eq!(session.commit_prepared("x"), XA_OK);
    assert_eq!(session.commit_prepared("y"), XA_OK);
    assert_eq!((session.count("q"), session.count("r")), (0, 1));
    assert_eq!(had(&broker), [""; 0]);
}
