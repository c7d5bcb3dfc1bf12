//! Branches of distributed transactions: prepared ones come back, others do not.

use ferrymq::client::Session;

use crate::durable_support::branches::{
    commit, end, in_doubt, prepare, roll_back, select, start as start_branch,
};
use crate::durable_support::*;
use crate::server_support::Broker;

/// A broker with the durable queues "from", which holds the messages 0 to 4, and "to".
async fn with_queues(directory: &Directory) -> (Broker, Session) {
    let broker = start(directory, &[]);
    let session = session(&broker).await;
    for queue in ["from", "to"] {
        declare(&session, durable_queue(queue)).await;
    }
    publish_all(&session, "from", &bodies(0, 5)).await;
    select(&session).await.expect("it is attached");
    (broker, session)
}

/// A branch accepts the first three messages and publishes the messages 10 to 12; one of these is
/// larger than any frame.
async fn work(session: &Session, name: &str) {
    start_branch(session, name).await.expect("it starts");
    let taken = take_all(session, "from").await;
    accept(session, ids(&taken[..3])).await;
    publish_all(session, "to", &published()).await;
    end(session, name).await.expect("it ends");
}

fn published() -> Vec<Vec<u8>> {
    let mut all = bodies(10, 3);
    all[1] = (0..300_000u32).map(|at| at as u8).collect();
    all
}

async fn restart(mut broker: Broker, directory: &Directory, signal: &str) -> (Broker, Session) {
    stop(&mut broker, signal);
    let broker = start(directory, &[]);
    let session = session(&broker).await;
    (broker, session)
}

#[tokio::test]
async fn prepared_branch_is_in_doubt_after_both_ends_and_can_be_committed() {
    for signal in ["KILL", "TERM"] {
        let directory = Directory::new();
        let (broker, session) = with_queues(&directory).await;
        work(&session, "x").await;
        prepare(&session, "x").await.expect("it is prepared");
        publish_all(&session, "to", &bodies(20, 1)).await;
        // Twice: the second start reads what the first one found.
        let (broker, _) = restart(broker, &directory, signal).await;
        let (broker, session) = restart(broker, &directory, signal).await;
        let found = in_doubt(broker.address()).await;
        assert_eq!(
            found.expect("an answer").into_iter().collect::<Vec<_>>(),
            ["x"]
        );
        assert_eq!(browse(&session, "from").await, redelivered(&bodies(3, 2)));
        assert_eq!(browse(&session, "to").await, redelivered(&bodies(20, 1)));
        commit(&session, "x", false).await.expect("it is committed");
        let (broker, session) = restart(broker, &directory, signal).await;
        assert_eq!(in_doubt(broker.address()).await.map(|all| all.len()), Ok(0));
        assert_eq!(browse(&session, "from").await, redelivered(&bodies(3, 2)));
        let all = [bodies(20, 1), published()].concat();
        assert!(
            browse(&session, "to").await == redelivered(&all),
            "{signal}"
        );
    }
}

#[tokio::test]
async fn prepared_branch_that_is_rolled_back_after_a_kill_gives_back_in_place() {
    let directory = Directory::new();
    let (broker, session) = with_queues(&directory).await;
    work(&session, "x").await;
    prepare(&session, "x").await.expect("it is prepared");
    let (broker, session) = restart(broker, &directory, "KILL").await;
    roll_back(&session, "x").await.expect("it is rolled back");
    assert_eq!(browse(&session, "from").await, redelivered(&bodies(0, 5)));
    let (broker, session) = restart(broker, &directory, "KILL").await;
    assert_eq!(in_doubt(broker.address()).await.map(|all| all.len()), Ok(0));
    assert_eq!(browse(&session, "from").await, redelivered(&bodies(0, 5)));
    assert_eq!(browse(&session, "to").await, []);
}

#[tokio::test]
async fn branch_that_was_not_prepared_is_no_more_after_a_kill() {
    let directory = Directory::new();
    let (broker, session) = with_queues(&directory).await;
    work(&session, "x").await;
    let (broker, session) = restart(broker, &directory, "KILL").await;
    assert_eq!(in_doubt(broker.address()).await.map(|all| all.len()), Ok(0));
    assert_eq!(browse(&session, "from").await, redelivered(&bodies(0, 5)));
    assert_eq!(browse(&session, "to").await, []);
    let refused = commit(&session, "x", true)
        .await
        .expect_err("there is none");
    assert!(
        refused.to_string().contains("Unrecognised xid"),
        "{refused}"
    );
}

#[tokio::test]
async fn outcome_that_was_seen_holds_after_a_kill() {
    for is_commit in [false, true] {
        let directory = Directory::new();
        let (broker, session) = with_queues(&directory).await;
        work(&session, "x").await;
        prepare(&session, "x").await.expect("it is prepared");
        let decided = match is_commit {
            true => commit(&session, "x", false).await,
            false => roll_back(&session, "x").await,
        };
        decided.expect("it is decided");
        let (broker, session) = restart(broker, &directory, "KILL").await;
        assert_eq!(in_doubt(broker.address()).await.map(|all| all.len()), Ok(0));
        let (from, to) = match is_commit {
            true => (bodies(3, 2), published()),
            false => (bodies(0, 5), Vec::new()),
        };
        assert_eq!(browse(&session, "from").await, redelivered(&from));
        assert!(browse(&session, "to").await == redelivered(&to));
    }
}
