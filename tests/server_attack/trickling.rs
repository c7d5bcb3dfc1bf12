//! Connections that say one octet a second: in the protocol header, in SASL, in TLS, and in a message after
//! they have logged in. Before the login their time is up when it is; after it nobody minds.

use std::fs;
use std::time::{Duration, Instant};

use super::attacker::Way;
use super::before_login::is_in_time;
use super::scene::{Attack, HOSTS, Size, dropped, good_client, judge, start};
use crate::durable_support::Directory;
use crate::server_support::Broker;

/// How long the slowest but one in a hundred of the good client's connections may take.
const CONNECT_MAX: Duration = Duration::from_millis(100);

/// Starts a broker that takes TLS on the same port.
fn start_secure(directory: &Directory, size: Size) -> Result<Broker, String> {
    let wrong = |error: &dyn std::fmt::Display| format!("a certificate: {error}");
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]);
    let made = made.map_err(|error| wrong(&error))?;
    let file = |name: &str| directory.path().join(name).display().to_string();
    let (cert, key) = (file("broker.pem"), file("broker.key"));
    fs::write(&cert, made.cert.pem()).map_err(|error| wrong(&error))?;
    fs::write(&key, made.signing_key.serialize_pem()).map_err(|error| wrong(&error))?;
    // A port that nobody listens on.
    let free = std::net::TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr());
    let port = free.map_err(|error| error.to_string())?.port();
    let text = port.to_string();
    let options = [
        "--port",
        &text,
        "--ssl-port",
        &text,
        "--ssl-cert-file",
        &cert,
        "--ssl-key-file",
        &key,
        "--max-connections",
        "20000",
    ];
    let mut broker = start(directory, size, &options);
    broker.ports.push(port);
    Ok(broker)
}

/// All of them, while the good client connects again and again.
pub fn run(directory: &Directory, size: Size) -> Result<String, String> {
    let mut broker = start_secure(directory, size)?;
    let way = Way::Trickling;
    let mut attack = Attack::start(&broker, size, (way, size.trickling), HOSTS)?;
    attack.held()?;
    let started = Instant::now();
    let mut took = Vec::new();
    while !attack.is_over() {
        if started.elapsed() > attack.patience() {
            return Err(format!("{way}: those in the handshake are not closed"));
        }
        let begins = Instant::now();
        let client = good_client(&broker, &format!("good {}", took.len()))?;
        took.push(begins.elapsed());
        client.cut();
        std::thread::sleep(Duration::from_millis(10));
    }
    took.sort();
    let p99 = took
        .get(took.len() * 99 / 100)
        .copied()
        .unwrap_or(Duration::MAX);
    let report = attack.report()?;
    let ending = way.ending(size.trickling);
    let refused = report.refused + dropped(&mut broker);
    let told = format!(
        "{way}: {} connections, {refused} refused, {} closed after {:.2} to {:.2} s, {} of those logged in left; \
         {} connects meanwhile, p99 {:.1} ms",
        report.opened,
        report.closed,
        report.first.as_secs_f32(),
        report.last.as_secs_f32(),
        report.left,
        took.len(),
        p99.as_secs_f32() * 1000.0,
    );
    let is_in_time = !size.is_timed || is_in_time(report.first, report.last, size.seconds);
    judge(
        told,
        &[
            (report.opened == size.trickling, "not all were made"),
            (refused == 0, "some were refused"),
            (report.wronged == 0, "some were closed that were in"),
            (report.closed == ending, "those in the handshake stay"),
            (!took.is_empty(), "the good client did not get in"),
            (is_in_time, "they were not closed in time"),
            (!size.is_timed || p99 <= CONNECT_MAX, "others wait too long"),
        ],
    )
}
