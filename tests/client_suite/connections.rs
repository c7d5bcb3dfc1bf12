//! Connecting, closing, and what is told of it.

use std::time::Duration;

use ferrymq::client::{Client, Error, Options, unique_name};
use ferrymq::protocol::ClosedBy;
use ferrymq::wire::DetachCode;
use tokio::net::TcpListener;

use crate::broker::{Manners, attached, connect, joined, listening};

/// A port that nobody listens on.
async fn silent_port() -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    listener.local_addr().unwrap().port()
}

#[tokio::test]
async fn addresses_are_tried_in_order_until_one_answers() {
    let nobody = silent_port().await;
    let (port, seen) = listening(Manners::default()).await;
    let url = format!("amqp:rdma:127.0.0.1:{port},127.0.0.1:{nobody},tcp:127.0.0.1:{port}");
    let client = connect(&url).await.unwrap();
    assert_eq!(client.address().map(|address| address.port), Some(port));
    assert_eq!(seen.lock().connections, 1);
    client.close().await;
}

#[tokio::test]
async fn an_address_that_says_nothing_is_passed_over_in_time() {
    let mute = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let mute_port = mute.local_addr().unwrap().port();
    let (port, _) = listening(Manners::default()).await;
    let url = format!("127.0.0.1:{mute_port},127.0.0.1:{port}")
        .parse()
        .unwrap();
    let options = Options {
        connect_timeout: Duration::from_millis(50),
        ..Options::default()
    };
    let client = Client::connect(&url, &options).await.unwrap();
    assert_eq!(client.address().map(|address| address.port), Some(port));
}

#[tokio::test]
async fn the_error_of_the_last_address_is_told() {
    let nobody = silent_port().await;
    let error = connect(&format!("127.0.0.1:{nobody}")).await.err();
    assert!(matches!(error, Some(Error::Io { .. })), "{error:?}");
    let error = connect("rdma:127.0.0.1:1").await.err();
    assert_eq!(error, Some(Error::NoAddress));
}

#[tokio::test]
async fn a_peer_that_speaks_another_protocol_is_an_error() {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let _ = tokio::io::AsyncWriteExt::write_all(&mut stream, b"HTTP/1.1 400\r\n\r\n").await;
        }
    });
    let error = connect(&format!("127.0.0.1:{port}")).await.err();
    assert!(
        matches!(
            error,
            Some(Error::Closed {
                by: ClosedBy::Us,
                ..
            })
        ),
        "{error:?}"
    );
}

#[tokio::test]
async fn a_user_of_the_url_logs_in_by_plain_and_a_wrong_password_is_told() {
    let (port, seen) = listening(Manners::default()).await;
    let client = connect(&format!("amqp:guest/guest@127.0.0.1:{port}"))
        .await
        .unwrap();
    assert_eq!(client.mechanism(), "PLAIN");
    let error = connect(&format!("amqp:guest/wrong@127.0.0.1:{port}"))
        .await
        .err();
    let Some(Error::Closed {
        code,
        text,
        by: ClosedBy::Peer,
    }) = error
    else {
        panic!("{error:?}");
    };
    assert_eq!((code.0, &text[..]), (320, "Authentication failed"));
    assert_eq!(seen.lock().users, ["PLAIN", "PLAIN"]);
}

#[tokio::test]
async fn a_challenge_is_answered() {
    let (client, _) = joined(Manners {
        challenges: true,
        ..Manners::default()
    })
    .await;
    assert_eq!(client.mechanism(), "ANONYMOUS");
}

#[tokio::test]
async fn a_broker_that_lets_us_in_without_proof_is_not_trusted() {
    let manners = Manners {
        mechanisms: vec!["SCRAM-SHA-256".into()],
        ..Manners::default()
    };
    let (port, _) = listening(manners).await;
    let error = connect(&format!("guest/guest@127.0.0.1:{port}"))
        .await
        .err();
    assert_eq!(error, Some(Error::NotProved));
}

#[tokio::test]
async fn no_common_mechanism_is_an_error_that_lists_the_offer() {
    let manners = Manners {
        mechanisms: vec!["GSSAPI".into()],
        ..Manners::default()
    };
    let (port, _) = listening(manners).await;
    let error = connect(&format!("127.0.0.1:{port}")).await.err();
    assert_eq!(
        error,
        Some(Error::NoMechanism {
            offered: vec!["GSSAPI".into()]
        })
    );
}

#[tokio::test]
async fn known_hosts_are_kept() {
    let known_hosts = vec!["amqp:tcp:a:1".into(), "amqp:tcp:b:2".into()];
    let manners = Manners {
        known_hosts: known_hosts.clone(),
        ..Manners::default()
    };
    let (client, _) = joined(manners).await;
    assert_eq!(client.known_hosts(), known_hosts);
}

#[tokio::test]
async fn close_says_goodbye_and_ends_sessions() {
    let (client, _) = joined(Manners::default()).await;
    let session = client.session("s").await.unwrap();
    let other = client.clone();
    client.close().await;
    assert!(other.is_closed());
    let Error::Closed {
        code,
        by: ClosedBy::Us,
        ..
    } = other.closed().await
    else {
        panic!()
    };
    assert_eq!(code.0, 200);
    assert!(matches!(session.sync().await, Err(Error::Closed { .. })));
    assert!(matches!(
        other.session("t").await,
        Err(Error::Closed { .. })
    ));
}

#[tokio::test]
async fn a_connection_lives_as_long_as_its_last_session() {
    let (session, seen) = attached(Manners::default()).await;
    session.sync().await.unwrap();
    drop(session);
    // The broker's task lets go of what it has seen when the connection ends.
    while std::sync::Arc::strong_count(&seen) > 1 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_close_of_the_broker_reaches_everybody() {
    let (client, _) = joined(Manners {
        closes: true,
        ..Manners::default()
    })
    .await;
    let session = client.session("s").await.unwrap();
    let error = session.sync().await.unwrap_err();
    assert_eq!(error.code(), Some(320));
    assert_eq!(client.closed().await, error);
    assert_eq!(session.sync().await.unwrap_err(), error);
}

#[tokio::test]
async fn a_broker_that_vanishes_is_a_lost_connection() {
    let (near, far) = tokio::io::duplex(64 * 1024);
    let serving = tokio::spawn(crate::broker::serve(
        far,
        Manners::default(),
        Default::default(),
    ));
    let client = Client::over(near, &Options::default()).await.unwrap();
    let session = client.session("s").await.unwrap();
    serving.abort();
    let closed = client.closed().await;
    assert!(
        matches!(
            closed,
            Error::Closed {
                by: ClosedBy::Lost,
                ..
            }
        ),
        "{closed:?}"
    );
    assert_eq!(session.sync().await.unwrap_err(), closed);
}

#[tokio::test]
async fn a_session_name_in_use_is_refused() {
    let (client, _) = joined(Manners::default()).await;
    let refused = client.session("busy").await.err();
    assert_eq!(refused, Some(Error::Detached(DetachCode::SESSION_BUSY)));
    client.session("free").await.unwrap().sync().await.unwrap();
}

#[tokio::test]
async fn heartbeats_keep_a_quiet_connection_open() {
    let (near, far) = tokio::io::duplex(64 * 1024);
    tokio::spawn(crate::broker::serve(
        far,
        Manners::default(),
        Default::default(),
    ));
    let options = Options {
        heartbeat: 1,
        ..Options::default()
    };
    let client = Client::over(near, &options).await.unwrap();
    assert_eq!(client.tuned().heartbeat, 1);
    client.session("s").await.unwrap().sync().await.unwrap();
}

#[test]
fn unique_names_differ() {
    assert_ne!(unique_name("s-"), unique_name("s-"));
    assert!(unique_name("s-").starts_with("s-"));
}
