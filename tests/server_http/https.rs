//! Over TLS: who gets in, from where, and what does not keep others out.

use std::fs;
use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::sync::Arc;

use ferrymq::security::tls;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, StreamOwned};

use crate::console::say;
use crate::durable_support::Directory;
use crate::hostile::refused;
use crate::http::{Answer, answer, basic, port_of, request, say_at};
use crate::server_support::{Broker, add_user, rest_or_reset, socket};
use crate::tls_support::{Authority, prepared};

/// A certificate and its key.
type Identity = (PathBuf, PathBuf);

/// A file of a directory, as an option.
fn file(directory: &Directory, name: &str) -> String {
    directory.path().join(name).display().to_string()
}

/// What has management served over TLS by the certificate in a directory, and nothing else.
fn options<'a>(cert: &'a str, key: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let mut all = vec!["--interface", "127.0.0.1", "--ssl-port", "0"];
    all.extend(["--ssl-cert-file", cert, "--ssl-key-file", key]);
    all.extend(["--https-port", "0"]);
    all.extend(more);
    all
}

/// A broker whose management is served over TLS.
struct Secured {
    broker: Broker,
    port: u16,
}

impl Secured {
    fn start(directory: &Directory, more: &[&str]) -> Secured {
        let (cert, key) = (file(directory, "broker.pem"), file(directory, "broker.key"));
        let mut broker = Broker::start(&options(&cert, &key, more));
        let port = port_of(&mut broker, "Management over HTTPS on");
        Secured { broker, port }
    }

    /// One on which ann logs in, by her name as password, or by a certificate.
    fn with_users(directory: &Directory, more: &[&str]) -> Secured {
        let users = file(directory, "users");
        add_user(["--users-file", &users], "ann", "ann");
        let mut all = vec!["--users-file", &users];
        all.extend(more);
        Secured::start(directory, &all)
    }

    fn address(&self) -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], self.port))
    }

    fn url(&self) -> String {
        format!("https://localhost:{}", self.port)
    }

    /// What is answered, or why nothing is.
    fn try_ask(&self, config: ClientConfig, what: (&str, &str), head: &str) -> io::Result<Answer> {
        let name = ServerName::try_from("localhost").expect("a name");
        let session = ClientConnection::new(Arc::new(config), name).expect("it fits");
        let mut stream = StreamOwned::new(session, socket(self.address()));
        stream.write_all(request(self.address(), what, head, "").as_bytes())?;
        let mut octets = Vec::new();
        stream.read_to_end(&mut octets)?;
        Ok(answer(&octets))
    }

    fn ask(&self, config: ClientConfig, what: (&str, &str), head: &str) -> Answer {
        self.try_ask(config, what, head).expect("it is answered")
    }

    /// The status of a request for the overview, by whoever shows this.
    fn status(&self, config: ClientConfig, head: &str) -> u16 {
        self.ask(config, ("GET", "/api/overview"), head).status
    }
}

/// How a client begins that trusts the authority in a directory.
fn trusting(directory: &Directory, identity: Option<&Identity>) -> ClientConfig {
    let identity = identity.map(|(cert, key)| (cert.as_path(), key.as_path()));
    tls::client(&directory.path().join("ca.pem"), identity).expect("it fits")
}

#[test]
fn over_tls_name_and_password_are_asked_for_and_any_host_name_is_good() {
    let (directory, _) = prepared();
    let secured = Secured::with_users(&directory, &[]);
    let ann = basic("ann", "ann");
    let ask = |head: &str| secured.ask(trusting(&directory, None), ("GET", "/api/overview"), head);
    let nobody = ask("");
    nobody.refused(401);
    let head = nobody.head.to_lowercase();
    assert!(head.contains("www-authenticate: basic"), "{head}");
    ask(&basic("ann", "bob")).refused(401);
    assert_eq!(ask(&ann).status, 200);
    let other_name = format!("Host: mq.example.org\r\n{ann}");
    assert_eq!(ask(&other_name).status, 200);
    for (origin, status) in [
        ("https://mq.example.org", 200),
        ("http://mq.example.org", 403),
        ("https://example.org", 403),
    ] {
        let head = format!("{other_name}Origin: {origin}\r\n");
        assert_eq!(ask(&head).status, status, "{origin}");
    }
    let health = ("GET", "/api/health/ready");
    let alive = secured.ask(trusting(&directory, None), health, "");
    assert_eq!(alive.status, 200);
}

#[test]
fn who_says_what_he_speaks_is_told_that_it_is_http_1() {
    let (directory, _) = prepared();
    let secured = Secured::start(&directory, &[]);
    let speaking = |protocols: &[&str]| {
        let mut config = trusting(&directory, None);
        config.alpn_protocols = protocols
            .iter()
            .map(|name| name.as_bytes().into())
            .collect();
        config
    };
    assert_eq!(secured.status(speaking(&["h2", "http/1.1"]), ""), 200);
    let of_2 = secured.try_ask(speaking(&["h2"]), ("GET", "/api/overview"), "");
    assert!(of_2.is_err(), "{of_2:?}");
}

#[test]
fn a_client_certificate_proves_its_user_unless_a_password_is_there() {
    let (directory, authority) = prepared();
    let ann = authority.issue(&directory, "ann", Some("example"));
    let bob = authority.issue(&directory, "bob", None);
    let rules = "acl allow ann@example all\nacl allow bob@QPID access query\n\
                 acl allow ann@QPID access query\nacl deny all all\n";
    fs::write(directory.path().join("acl"), rules).expect("written");
    let (ca, acl) = (file(&directory, "ca.pem"), file(&directory, "acl"));
    let more = ["--ssl-ca-file", &ca, "--acl-file", &acl];
    let secured = Secured::with_users(&directory, &more);
    let make = ("PUT", "/api/queues/%2F/q");
    let of = |identity| trusting(&directory, Some(identity));
    assert_eq!(secured.status(of(&bob), ""), 200);
    secured.ask(of(&bob), make, "").refused(403);
    let by_password = secured.ask(of(&ann), make, &basic("ann", "ann"));
    let reason = by_password.refused(403);
    assert!(reason.contains("ann@QPID"), "{reason}");
    secured.ask(of(&ann), make, &basic("ann", "x")).refused(401);
    assert_eq!(secured.ask(of(&ann), make, "").status, 201);
    secured
        .ask(trusting(&directory, None), make, "")
        .refused(401);
}

#[test]
fn a_certificate_proves_nothing_where_external_is_not_offered() {
    let (directory, authority) = prepared();
    let ann = authority.issue(&directory, "ann", None);
    let ca = file(&directory, "ca.pem");
    let more = ["--ssl-ca-file", &ca, "--sasl-mechanisms", "PLAIN"];
    let secured = Secured::with_users(&directory, &more);
    let status = |head: &str| secured.status(trusting(&directory, Some(&ann)), head);
    assert_eq!((status(""), status(&basic("ann", "ann"))), (401, 200));
}

#[test]
fn a_refused_certificate_is_told_and_nothing_is_answered() {
    let (directory, _) = prepared();
    let stranger = Authority::new("Another").issue(&directory, "stranger", None);
    let ca = file(&directory, "ca.pem");
    let more = [
        "--ssl-ca-file",
        &ca,
        "--ssl-require-client-authentication",
        "--require-encryption",
    ];
    let mut secured = Secured::start(&directory, &more);
    for (identity, why) in [
        (
            Some(&stranger),
            "no authority in --ssl-ca-file has signed the client's certificate",
        ),
        (None, "the client shows no certificate"),
    ] {
        let config = trusting(&directory, identity);
        let refused = secured.try_ask(config, ("GET", "/api/overview"), "");
        assert!(refused.is_err(), "{refused:?}");
        let line = secured.broker.log_line(why);
        assert!(line.contains("http-127.0.0.1"), "{line}");
    }
}

#[test]
fn it_listens_off_the_loopback_for_users_that_prove_who_they_are_alone() {
    let (directory, _) = prepared();
    let (cert, key) = (
        file(&directory, "broker.pem"),
        file(&directory, "broker.key"),
    );
    let everywhere = ["--https-interface", "0.0.0.0"];
    for auth in [&[][..], &["--auth", "no"]] {
        let more = [&everywhere[..], auth].concat();
        let log = refused(&options(&cert, &key, &more));
        assert!(
            log.contains("--https-interface") && log.contains("--auth yes"),
            "{log}"
        );
    }
    let secured = Secured::with_users(&directory, &everywhere);
    assert_eq!(
        secured.status(trusting(&directory, None), &basic("ann", "ann")),
        200
    );
}

#[test]
fn what_it_needs_is_said_before_it_starts() {
    let log = refused(&["--https-port", "0"]);
    assert!(log.contains("--ssl-cert-file"), "{log}");
    let (directory, _) = prepared();
    let (cert, key) = (
        file(&directory, "broker.pem"),
        file(&directory, "broker.key"),
    );
    let log = refused(&options(&cert, &key, &["--mgmt-enable", "no"]));
    assert!(
        log.contains("--https-port: management is switched off"),
        "{log}"
    );
}

#[test]
fn where_encryption_is_required_management_is_served_over_tls_alone() {
    let (directory, _) = prepared();
    let (cert, key) = (
        file(&directory, "broker.pem"),
        file(&directory, "broker.key"),
    );
    let more = ["--require-encryption", "--http-port", "0"];
    let log = refused(&options(&cert, &key, &more));
    assert!(log.contains("--https-port"), "{log}");
    let secured = Secured::start(&directory, &["--require-encryption"]);
    assert_eq!(secured.status(trusting(&directory, None), ""), 200);
}

#[test]
fn http_with_tls_and_without_are_served_side_by_side() {
    let (directory, _) = prepared();
    let mut secured = Secured::start(&directory, &["--http-port", "0"]);
    let port = port_of(&mut secured.broker, "Management over HTTP on");
    let plain = SocketAddr::from(([127, 0, 0, 1], port));
    let text = request(plain, ("GET", "/api/overview"), "", "");
    assert_eq!(say_at(plain, text.as_bytes()).status, 200);
    assert_eq!(secured.status(trusting(&directory, None), ""), 200);
}

#[test]
fn what_is_no_tls_gets_nothing_and_harms_nobody() {
    let (directory, _) = prepared();
    let secured = Secured::start(&directory, &[]);
    let text = request(secured.address(), ("GET", "/api/overview"), "", "");
    for said in [
        text.as_bytes(),
        b"AMQP\x01\x01\x00\x0a",
        b"\x16\x03\x01\xff",
    ] {
        let mut stream = socket(secured.address());
        stream.write_all(said).expect("it listens");
        if said[0] == 0x16 {
            // A piece of a hello that never comes to its end.
            continue;
        }
        let answered = answer(&rest_or_reset(&mut stream));
        assert_eq!(answered.status, 0, "{answered:?}");
        assert!(!answered.head.contains("HTTP"), "{answered:?}");
    }
    assert_eq!(secured.status(trusting(&directory, None), ""), 200);
}

#[test]
fn who_stalls_in_the_handshake_keeps_nobody_out() {
    let (directory, _) = prepared();
    let secured = Secured::start(&directory, &[]);
    let silent: Vec<_> = (0..300).map(|_| socket(secured.address())).collect();
    assert_eq!(secured.status(trusting(&directory, None), ""), 200);
    drop(silent);
}

#[test]
fn who_stalls_in_the_handshake_is_cut_off_in_time() {
    let (directory, _) = prepared();
    let secured = Secured::start(&directory, &["--max-negotiate-time", "300ms"]);
    for said in [&b""[..], b"\x16\x03\x01"] {
        let mut stream = socket(secured.address());
        stream.write_all(said).expect("it takes them");
        rest_or_reset(&mut stream);
    }
}

#[test]
fn a_new_certificate_is_served_without_a_restart() {
    let (directory, _) = prepared();
    let mut secured = Secured::start(&directory, &[]);
    let before = || trusting(&directory, None);
    assert_eq!(secured.status(before(), ""), 200);
    let other = Authority::new("Another");
    let other_ca = directory.path().join("other.pem");
    fs::write(&other_ca, &other.pem).expect("written");
    other.issue(&directory, "broker", None);
    secured.broker.signal("HUP");
    secured.broker.log_line("Certificates are read again");
    let what = ("GET", "/api/overview");
    assert!(secured.try_ask(before(), what, "").is_err());
    let after = tls::client(&other_ca, None).expect("it fits");
    assert_eq!(secured.status(after, ""), 200);
}

/// `ferrymq status` with more options, and a password if there is one.
fn status(arguments: &[&str], password: Option<&str>) -> (Option<i32>, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ferrymq"));
    command.arg("status").args(arguments).stdin(Stdio::null());
    if let Some(password) = password {
        command.env("FERRYMQ_PASSWORD", password);
    }
    shown(&command.output().expect("it was built"))
}

fn shown(output: &Output) -> (Option<i32>, String) {
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    (output.status.code(), text)
}

#[test]
fn the_subcommands_speak_over_tls() {
    let (directory, authority) = prepared();
    authority.issue(&directory, "bob", None);
    let of = |name: &str| file(&directory, name);
    let (ca, cert, key) = (of("ca.pem"), of("bob.pem"), of("bob.key"));
    let secured = Secured::with_users(&directory, &["--ssl-ca-file", &ca]);
    let url = secured.url();
    let trusted = ["--url", &url, "--ca-file", &ca];
    let by_password = [&trusted[..], &["--user", "ann"]].concat();
    let (code, err) = status(&by_password, Some("ann"));
    assert_eq!(code, Some(0), "{err}");
    let (code, _) = status(&by_password, Some("bob"));
    assert_eq!(code, Some(1));
    let (code, _) = status(&trusted, None);
    assert_eq!(code, Some(1));
    let by_certificate = [&trusted[..], &["--cert-file", &cert, "--key-file", &key]].concat();
    let (code, err) = status(&by_certificate, None);
    assert_eq!(code, Some(0), "{err}");
    // Options of all subcommands stand on both sides of what is to be done.
    let before = ["queue", "--url", &url, "--cert-file", &cert];
    let behind = ["list", "--key-file", &key, "--ca-file", &ca];
    let (code, err) = shown(&say(&[&before[..], &behind].concat()));
    assert_eq!(code, Some(0), "{err}");
}

#[test]
fn the_subcommands_say_what_is_missing_for_tls_and_what_is_not_trusted() {
    let (directory, authority) = prepared();
    authority.issue(&directory, "bob", None);
    let of = |name: &str| file(&directory, name);
    let (ca, other, cert) = (of("ca.pem"), of("other.pem"), of("bob.pem"));
    fs::write(&other, Authority::new("Another").pem).expect("written");
    let secured = Secured::start(&directory, &[]);
    let (url, plain) = (secured.url(), "http://127.0.0.1:1");
    for (arguments, code, text) in [
        (vec!["--url", &url], 2, "--ca-file"),
        (
            vec!["--url", &url, "--ca-file", &ca, "--cert-file", &cert],
            2,
            "--key-file",
        ),
        (
            vec!["--url", plain, "--ca-file", &ca],
            2,
            "--ca-file is for https",
        ),
        (vec!["--url", &url, "--ca-file", "/nowhere"], 1, "/nowhere"),
        (vec!["--url", &url, "--ca-file", &other], 4, "UnknownIssuer"),
    ] {
        let (ended, err) = status(&arguments, None);
        assert_eq!(ended, Some(code), "{arguments:?}: {err}");
        assert!(err.contains(text), "{arguments:?}: {err}");
    }
}
