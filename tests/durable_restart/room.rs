//! Room in memory and on the disk.

use ferrymq::wire::Command;

use crate::durable_support::*;
use crate::server_support::until;

/// A body that no other has, of so many octets.
fn body(number: usize, octets: usize) -> Vec<u8> {
    let mut body = format!("{number} ").into_bytes();
    body.extend((body.len()..octets).map(|at| (at * 31 + number * 7) as u8));
    body
}

#[tokio::test]
async fn a_queue_deeper_than_the_memory_limit_keeps_order_and_bodies() {
    let directory = Directory::new();
    let options = ["--memory-limit", "1m"];
    let mut broker = start(&directory, &options);
    let session = session(&broker).await;
    declare(&session, durable_queue("q")).await;
    let before = broker.resident_bytes();
    let sent: Vec<Vec<u8>> = (0..1_500).map(|n| body(n, 20_000 + n)).collect();
    publish_all(&session, "q", &sent).await;
    let grown = broker.resident_bytes().saturating_sub(before);
    let all: usize = sent.iter().map(Vec::len).sum();
    assert!(grown < all as u64 / 2, "{grown} octets more for {all}");
    assert!(
        browse(&session, "q")
            .await
            .iter()
            .map(|(body, _)| body)
            .eq(&sent)
    );
    // Half of it goes, more comes.
    let taken = take_all(&session, "q").await;
    assert_eq!(taken.len(), sent.len());
    accept(&session, ids(&taken[..750])).await;
    let mut left = sent[750..].to_vec();
    drop(taken);
    let more: Vec<Vec<u8>> = (5_000..5_100).map(|n| body(n, 15_000)).collect();
    publish_all(&session, "q", &more).await;
    left.extend(more);
    let left = redelivered(&left);
    for _ in 0..2 {
        stop(&mut broker, "KILL");
        broker = start(&directory, &options);
        let session = self::session(&broker).await;
        assert!(browse(&session, "q").await == left);
        let found = browse(&session, "q").await;
        assert!(found == left, "a second time");
    }
    // Without the limit it is the same queue.
    stop(&mut broker, "TERM");
    let broker = start(&directory, &[]);
    let session = self::session(&broker).await;
    assert!(browse(&session, "q").await == left);
}

#[tokio::test]
async fn room_is_given_back_and_nothing_of_what_is_needed_goes_with_it() {
    let directory = Directory::new();
    let options = ["--journal-file-size", "64k"];
    let mut broker = start(&directory, &options);
    let session = session(&broker).await;
    // Definitions at the beginning, in the segment that goes first.
    call(
        &session,
        Command::ExchangeDeclare(durable_exchange("x", "topic")),
    )
    .await;
    for queue in ["slow", "fast"] {
        declare(&session, durable_queue(queue)).await;
        let bind = binding("x", queue, &format!("{queue}.*"));
        call(&session, Command::ExchangeBind(bind)).await;
    }
    let rounds = 100;
    let slow: Vec<Vec<u8>> = (0..rounds).map(|n| body(n, 500)).collect();
    for slow in &slow {
        publish_all(&session, "slow", std::slice::from_ref(slow)).await;
        let fast: Vec<Vec<u8>> = (0..40).map(|n| body(n, 2_000)).collect();
        publish_all(&session, "fast", &fast).await;
        let taken = take_all(&session, "fast").await;
        assert_eq!(taken.len(), fast.len());
        accept(&session, ids(&taken)).await;
    }
    // A hundred segments and more were filled, each with a message that nobody takes. They may take
    // sixteen times their room, and there are those that are written and made ahead.
    let newest = directory.segments();
    let newest = newest.last().expect("there are some").clone();
    let newest = newest.file_stem().expect("a name").to_string_lossy();
    let newest = u64::from_str_radix(&newest, 16).expect("a number");
    assert!(newest > rounds as u64, "only {newest} segments were filled");
    until("the room is given back", || {
        directory.segments().len() <= 17
    });
    for end in ["KILL", "TERM"] {
        stop(&mut broker, end);
        broker = start(&directory, &options);
        let session = self::session(&broker).await;
        assert!(browse(&session, "slow").await == redelivered(&slow));
        assert_eq!(browse(&session, "fast").await, []);
    }
    let session = self::session(&broker).await;
    let published = session.publish("x", &persistent("fast.1", "routed")).await;
    published.expect("attached").await.expect("it is enqueued");
    assert_eq!(
        browse(&session, "fast").await,
        [(b"routed".to_vec(), false)]
    );
}

#[tokio::test]
async fn room_is_given_back_after_a_restart_too() {
    let directory = Directory::new();
    let options = ["--journal-file-size", "64k"];
    let mut broker = start(&directory, &options);
    let session = session(&broker).await;
    declare(&session, durable_queue("q")).await;
    let sent: Vec<Vec<u8>> = (0..600).map(|n| body(n, 2_000)).collect();
    publish_all(&session, "q", &sent).await;
    let many = directory.segments().len();
    assert!(many > 15, "only {many}");
    stop(&mut broker, "KILL");

    let mut broker = start(&directory, &options);
    let session = self::session(&broker).await;
    let taken = take_all(&session, "q").await;
    let (keep, gone): (Vec<_>, Vec<_>) = taken.iter().enumerate().partition(|(n, _)| n % 100 == 0);
    accept(&session, ids(gone.into_iter().map(|(_, taken)| taken))).await;
    until("the room is given back", || directory.segments().len() <= 5);
    stop(&mut broker, "KILL");

    let broker = start(&directory, &options);
    let session = self::session(&broker).await;
    let kept: Vec<Vec<u8>> = keep.iter().map(|(n, _)| sent[*n].clone()).collect();
    assert!(browse(&session, "q").await == redelivered(&kept));
}

#[tokio::test]
async fn what_is_needed_here_and_there_keeps_nobody_from_giving_room_back() {
    let directory = Directory::new();
    let options = ["--journal-file-size", "4k"];
    let mut broker = start(&directory, &options);
    let session = session(&broker).await;
    for queue in ["stays", "goes"] {
        declare(&session, durable_queue(queue)).await;
    }
    // Segments that are needed whole between others of which nothing is: more of them than the store
    // file has lines for.
    let stays: Vec<Vec<u8>> = (0..350).map(|n| body(n, 3_500)).collect();
    for stays in &stays {
        publish_all(&session, "stays", std::slice::from_ref(stays)).await;
        publish_all(&session, "goes", &[body(7, 3_500)]).await;
    }
    let taken = take_all(&session, "goes").await;
    accept(&session, ids(&taken)).await;
    let newest = || {
        let segments = directory.segments();
        let newest = segments.last().expect("there are some").file_stem();
        let newest = newest.expect("a name").to_string_lossy().into_owned();
        u64::from_str_radix(&newest, 16).expect("a number")
    };
    until("the room is given back", || {
        directory.segments().len() <= 350 + 20
    });
    // And then there is nothing more to be done.
    let mut before = newest();
    let mut quiet = 0;
    until("nothing is copied any more", || {
        let now = newest();
        quiet = if now == before { quiet + 1 } else { 0 };
        before = now;
        quiet > 100
    });
    stop(&mut broker, "KILL");
    let broker = start(&directory, &options);
    let session = self::session(&broker).await;
    assert!(browse(&session, "stays").await == redelivered(&stays));
    assert_eq!(browse(&session, "goes").await, []);
}

#[tokio::test]
async fn what_has_left_does_not_come_back_with_the_segment_that_said_so() {
    let directory = Directory::new();
    let options = ["--journal-file-size", "64k"];
    let mut broker = start(&directory, &options);
    let session = session(&broker).await;
    for queue in ["q", "stays", "passing"] {
        declare(&session, durable_queue(queue)).await;
    }
    // A segment that stays, for a message that nobody takes, with others that are taken.
    let stays = body(1, 30_000);
    publish_all(&session, "stays", std::slice::from_ref(&stays)).await;
    publish_all(&session, "q", &bodies(0, 20)).await;
    let passing: Vec<Vec<u8>> = (0..20).map(|n| body(n, 2_000)).collect();
    let pass = async || {
        publish_all(&session, "passing", &passing).await;
        let taken = take_all(&session, "passing").await;
        accept(&session, ids(&taken)).await;
    };
    pass().await;
    // Every other one is taken: the accepts are in a segment of which else nothing is needed.
    let taken = take_all(&session, "q").await;
    accept(&session, ids(taken.iter().skip(1).step_by(2))).await;
    for _ in 0..10 {
        pass().await;
    }
    until("the room is given back", || directory.segments().len() <= 5);
    stop(&mut broker, "KILL");
    let broker = start(&directory, &options);
    let session = self::session(&broker).await;
    let left: Vec<Vec<u8>> = bodies(0, 20).into_iter().step_by(2).collect();
    assert_eq!(browse(&session, "q").await, redelivered(&left));
    assert!(browse(&session, "stays").await == redelivered(&[stays]));
    assert_eq!(browse(&session, "passing").await, []);
}
