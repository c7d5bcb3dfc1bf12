//! TLS for clients, with certificates of an authority that the tests make.

mod durable_support;
mod server_support;
mod tls_support;

use std::fs;
use std::io::Write;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use durable_support::Directory;
use ferrymq::client::{Client, Error, Flow, Message, Options};
use ferrymq::security::tls;
use ferrymq::wire::url::Url;
use ferrymq::wire::{AcceptMode, Command, MessageSubscribe, QueueDeclare};
use server_support::{Broker, rest_or_reset, socket};
use tls_support::{Authority, prepared};

/// Of version 1, and signed by an authority.
const OF_VERSION_1: &str = "-----BEGIN CERTIFICATE-----
MIIBJDCBzAIUGLrTN9VjP6H4XV0DsluPDGYmHuQwCgYIKoZIzj0EAwIwHDEaMBgG
A1UEAwwRRXhhbXBsZSBhdXRob3JpdHkwIBcNMjYxMTMwMTY0MTUwWhgPMjEyNjEx
MDYxNjQxNTBaMA0xCzAJBgNVBAMMAnYxMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcD
QgAErzc9SZJPpAqfaevD+CZhjFHyENb2eVP1fWPetvi6FH4aMCi0CuCLs1qfUvOc
HrgfKu2aLVtx1+1n8Ny7NnySbTAKBggqhkjOPQQDAgNHADBEAiBG2/9oNpGyScCq
LgatzzGwS2P6/ebTu1nb/dvc/IS5nAIgOecpVzdUoI4sGuQaleqP8fD3HdQZ7VSB
MckJymHlLgQ=
-----END CERTIFICATE-----
";

/// A port that nobody listens on.
fn free_port() -> u16 {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("an address").port()
}

/// Starts a broker with TLS on this port.
fn start(directory: &Directory, ssl_port: u16, more: &[&str]) -> Broker {
    let file = |name: &str| directory.path().join(name).display().to_string();
    let (cert, key, port) = (file("broker.pem"), file("broker.key"), ssl_port.to_string());
    let mut options = vec!["--ssl-cert-file", &cert, "--ssl-key-file", &key];
    options.extend(["--ssl-port", &port, "--interface", "127.0.0.1"]);
    options.extend(more);
    if !more.contains(&"--port") {
        options.extend(["--port", "0"]);
    }
    Broker::start_on(&options)
}

fn trusting(ca: &Path, identity: Option<&(PathBuf, PathBuf)>) -> Options {
    let identity = identity.map(|(cert, key)| (cert.as_path(), key.as_path()));
    Options {
        tls: Some(Arc::new(tls::client(ca, identity).expect("it fits"))),
        ..Options::default()
    }
}

async fn connect(url: &str, options: &Options) -> Result<Client, Error> {
    let url: Url = url.parse().expect("a URL");
    Client::connect(&url, options).await
}

#[tokio::test(flavor = "multi_thread")]
async fn messages_small_and_large_go_both_ways_over_tls() {
    let (directory, _) = prepared();
    let port = free_port();
    let broker = start(&directory, port, &[]);
    let options = trusting(&directory.path().join("ca.pem"), None);
    let url = format!("amqps:localhost:{port}");
    let client = connect(&url, &options).await.expect("it is trusted");
    let session = client.session("s").await.expect("a session");
    let declare = QueueDeclare {
        queue: "q".into(),
        ..QueueDeclare::default()
    };
    let declared = session.call(Command::QueueDeclare(declare)).await;
    declared.expect("a queue");
    let subscribe = MessageSubscribe {
        queue: "q".into(),
        accept_mode: AcceptMode::NONE,
        ..MessageSubscribe::default()
    };
    let subscribed = session.subscribe(subscribe, Flow::Window(10)).await;
    let mut subscription = subscribed.expect("a subscription");
    for octets in [0, 1, 5000, 300_000, 3_000_000] {
        let body: Vec<u8> = (0..octets).map(|at: u32| (at % 251) as u8).collect();
        let message = Message::new(body.clone()).routing_key("q");
        session.publish("", &message).await.expect("it is taken");
        let received = subscription.next().await.expect("it comes");
        let received = received.body_bytes();
        assert!(received == body, "{octets} octets");
    }
    drop(broker);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broker_of_another_authority_is_not_trusted() {
    let (directory, _) = prepared();
    let port = free_port();
    let _broker = start(&directory, port, &[]);
    let other = directory.path().join("other.pem");
    fs::write(&other, Authority::new("Another").pem).expect("written");
    let url = format!("amqps:localhost:{port}");
    assert!(connect(&url, &trusting(&other, None)).await.is_err());
}

#[tokio::test(flavor = "multi_thread")]
async fn one_port_takes_both_and_the_first_octet_decides() {
    let (directory, _) = prepared();
    let port = free_port();
    let mut broker = start(&directory, port, &["--port", &port.to_string()]);
    broker.log_line("Listening for SSL or TCP connections on TCP/TCP6 port");
    let options = trusting(&directory.path().join("ca.pem"), None);
    for url in ["amqps:localhost", "amqp:127.0.0.1"] {
        let client = connect(&format!("{url}:{port}"), &options).await;
        assert!(client.is_ok(), "{url}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_certificate_names_the_user_and_its_domain() {
    let (directory, authority) = prepared();
    let ann = authority.issue(&directory, "ann", Some("example"));
    let bob = authority.issue(&directory, "bob", None);
    let users = directory.path().join("users");
    fs::write(&users, "").expect("written");
    let acl = directory.path().join("acl");
    let rules = "acl allow ann@example create queue\nacl allow bob@QPID delete queue\n\
                 acl allow all access\nacl deny all all\n";
    fs::write(&acl, rules).expect("written");
    let (port, ca) = (free_port(), directory.path().join("ca.pem"));
    let more = [
        "--ssl-ca-file",
        ca.to_str().expect("text"),
        "--ssl-require-client-authentication",
        "--users-file",
        users.to_str().expect("text"),
        "--acl-file",
        acl.to_str().expect("text"),
    ];
    let broker = start(&directory, port, &more);
    let url = format!("amqps:localhost:{port}");
    let nobody = connect(&url, &trusting(&ca, None)).await;
    assert!(nobody.is_err(), "a client without certificate is refused");
    for (identity, is_allowed) in [(&ann, true), (&bob, false)] {
        let client = connect(&url, &trusting(&ca, Some(identity))).await;
        let client = client.expect("it has a certificate");
        assert_eq!(client.mechanism(), "EXTERNAL");
        let session = client.session("s").await.expect("a session");
        let declare = QueueDeclare {
            queue: "q".into(),
            ..QueueDeclare::default()
        };
        let declared = session.call(Command::QueueDeclare(declare)).await;
        assert_eq!(declared.is_ok(), is_allowed);
    }
    drop(broker);
}

#[tokio::test(flavor = "multi_thread")]
async fn where_encryption_is_required_nobody_gets_in_without() {
    let (directory, _) = prepared();
    let port = free_port();
    let more = ["--require-encryption", "--port", &port.to_string()];
    let _broker = start(&directory, port, &more);
    let options = trusting(&directory.path().join("ca.pem"), None);
    let refused = connect(&format!("amqp:127.0.0.1:{port}"), &options).await;
    let text = refused.err().expect("it is refused").to_string();
    assert!(text.contains("Connection must be encrypted."), "{text}");
    let client = connect(&format!("amqps:localhost:{port}"), &options).await;
    assert!(client.is_ok());
}

#[tokio::test(flavor = "multi_thread")]
async fn new_certificates_count_without_a_restart_and_bad_ones_never() {
    let (directory, _) = prepared();
    let port = free_port();
    let mut broker = start(&directory, port, &[]);
    let url = format!("amqps:localhost:{port}");
    let options = trusting(&directory.path().join("ca.pem"), None);
    let before = connect(&url, &options).await.expect("it is trusted");
    fs::write(directory.path().join("broker.key"), "nonsense").expect("written");
    broker.signal("HUP");
    broker.log_line("those that were in force stay so");
    assert!(connect(&url, &options).await.is_ok());
    let other = Authority::new("Another");
    let other_ca = directory.path().join("other.pem");
    fs::write(&other_ca, &other.pem).expect("written");
    other.issue(&directory, "broker", None);
    broker.signal("HUP");
    broker.log_line("Certificates are read again");
    assert!(connect(&url, &options).await.is_err());
    assert!(connect(&url, &trusting(&other_ca, None)).await.is_ok());
    assert!(before.session("s").await.is_ok(), "who was there stays");
}

#[test]
fn who_stalls_in_the_handshake_is_cut_off_in_time() {
    let (directory, _) = prepared();
    let port = free_port();
    let broker = start(&directory, port, &["--max-negotiate-time", "300ms"]);
    // Nothing, a piece of a hello, and octets that are none.
    for said in [&b""[..], b"\x16\x03\x01", b"AMQP\x01\x01\x00\x0a"] {
        let mut stream = socket(SocketAddr::from(([127, 0, 0, 1], port)));
        stream.write_all(said).expect("it takes them");
        // Closed or reset: either way nothing holds on to it.
        rest_or_reset(&mut stream);
    }
    drop(broker);
}

#[test]
fn a_certificate_of_version_1_stops_the_start_and_the_error_says_what_to_do() {
    let (directory, _) = prepared();
    let file = |name: &str| directory.path().join(name).display().to_string();
    fs::write(file("broker.pem"), OF_VERSION_1).expect("written");
    let (cert, key, ca) = (file("broker.pem"), file("broker.key"), file("ca.pem"));
    let member = [
        "--group",
        "raft",
        "--data-dir",
        &file("member"),
        "--cluster-listen",
        "127.0.0.1:2",
        "--cluster-peers",
        "127.0.0.1:1",
        "--cluster-tls-cert",
        &cert,
        "--cluster-tls-key",
        &key,
        "--cluster-tls-ca",
        &ca,
    ];
    let alone = ["--ssl-cert-file", &cert, "--ssl-key-file", &key];
    for options in [&alone[..], &member[..]] {
        let ended = Broker::start_under(&[], options);
        let log = ended.err().expect("it does not start").log.join("\n");
        for part in ["CN=v1 is of X.509 version 1", "-extfile", &cert] {
            assert!(log.contains(part), "{part}: {log}");
        }
    }
}

#[test]
fn protection_that_is_asked_for_without_a_certificate_stops_the_start() {
    for option in [
        "--require-encryption",
        "--ssl-require-client-authentication",
        "--ssl-sasl-no-dict",
    ] {
        let ended = Broker::start_under(&[], &[option]);
        let log = ended.err().expect("it does not start").log.join("\n");
        let wanted = format!("{option} needs --ssl-cert-file");
        assert!(log.contains(&wanted), "{log}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_certificate_is_told_with_the_address_and_counts_as_a_failure() {
    let (directory, _) = prepared();
    let stranger = Authority::new("Another").issue(&directory, "stranger", None);
    let (port, ca) = (free_port(), directory.path().join("ca.pem"));
    let more = [
        "--ssl-ca-file",
        ca.to_str().expect("text"),
        "--ssl-require-client-authentication",
        "--require-encryption",
    ];
    let mut broker = start(&directory, port, &more);
    let url = format!("amqps:localhost:{port}");
    let once = |identity| Options {
        reconnect_timeout: std::time::Duration::ZERO,
        ..trusting(&ca, identity)
    };
    let refused = connect(&url, &once(Some(&stranger))).await;
    assert!(refused.is_err());
    let line = broker.log_line("no authority in --ssl-ca-file has signed the client's certificate");
    assert!(
        line.contains("notice") && line.contains("127.0.0.1"),
        "{line}"
    );
    assert!(connect(&url, &once(None)).await.is_err());
    broker.log_line("the client shows no certificate");
    assert!(broker.find_line("is about TLS alone").is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn who_asks_for_certificates_is_told_that_nobody_needs_one_without_tls() {
    let (directory, _) = prepared();
    let (port, ca) = (free_port(), directory.path().join("ca.pem"));
    let of_both = port.to_string();
    for plain in [&of_both, "0"] {
        let more = [
            "--ssl-ca-file",
            ca.to_str().expect("text"),
            "--ssl-require-client-authentication",
            "--port",
            plain,
        ];
        let mut broker = start(&directory, port, &more);
        broker.log_line("--require-encryption keeps him out");
        let number = match plain {
            "0" => broker.address().port(),
            _ => port,
        };
        let url = format!("amqp:127.0.0.1:{number}");
        assert!(connect(&url, &Options::default()).await.is_ok());
    }
}
