//! Exchanges of every mechanism, through the face that a connection's driver has.

use std::path::PathBuf;
use std::sync::Arc;

use ferrymq::security::sasl::scram::{ClientSide, Hash};
use ferrymq::security::sasl::{Exchange, Layer, Mechanism, Sasl, Step};
use ferrymq::security::users::{Users, UsersFile};
use md5::{Digest, Md5};

/// A source of users: `ann` and `b,=ob` with the password `secret`, and `cat` whose password is not kept.
fn users(name: &str) -> UsersFile {
    let directory = std::env::temp_dir();
    let path: PathBuf = directory.join(format!("ferrymq-sasl-{name}-{}", std::process::id()));
    let mut users = Users::empty();
    for (name, is_kept) in [
        ("ann@QPID", true),
        ("b,=ob@QPID", true),
        ("cat@QPID", false),
    ] {
        users.set(name, b"secret", is_kept).expect("a user");
    }
    users.write(&path).expect("written");
    let opened = UsersFile::open(&path).expect("it is one");
    assert!(Users::read(&path).is_ok_and(|read| read == users));
    opened
}

fn sasl(name: &str, more: impl FnOnce(&mut Sasl)) -> Arc<Sasl> {
    let mut sasl = Sasl {
        realm: "QPID".into(),
        users: Some(users(name)),
        mechanisms: Mechanism::ALL.to_vec(),
        allows_plain_unencrypted: false,
        is_without_dictionaries: false,
    };
    more(&mut sasl);
    Arc::new(sasl)
}

fn local() -> Layer {
    Layer {
        is_local: true,
        ..Layer::default()
    }
}

fn hex(octets: &[u8]) -> String {
    octets.iter().map(|octet| format!("{octet:02x}")).collect()
}

fn md5(text: &[u8]) -> [u8; 16] {
    Md5::digest(text).into()
}

fn challenge(step: Step) -> Vec<u8> {
    match step {
        Step::Challenge(challenge) => challenge,
        other => panic!("{other:?} instead of a challenge"),
    }
}

fn authenticated(user: &str) -> Step {
    Step::Authenticated(user.into())
}

#[test]
fn what_is_offered_depends_on_how_the_peer_comes() {
    let offered = |sasl: &Arc<Sasl>, layer: &Layer| -> Vec<String> {
        sasl.offered(layer)
            .iter()
            .map(|name| name.to_string())
            .collect()
    };
    let usual = sasl("offered", |sasl| {
        sasl.mechanisms = Mechanism::USUAL.to_vec()
    });
    let far = Layer::default();
    let secure = Layer {
        is_encrypted: true,
        identity: Some("ann@QPID".into()),
        ..Layer::default()
    };
    assert_eq!(offered(&usual, &far), ["SCRAM-SHA-256", "SCRAM-SHA-1"]);
    let with_plain = ["SCRAM-SHA-256", "SCRAM-SHA-1", "PLAIN"];
    assert_eq!(offered(&usual, &local()), with_plain);
    let all = ["EXTERNAL", "SCRAM-SHA-256", "SCRAM-SHA-1", "PLAIN"];
    assert_eq!(offered(&usual, &secure), all);
    let open = sasl("open", |sasl| {
        sasl.mechanisms = Mechanism::USUAL.to_vec();
        sasl.allows_plain_unencrypted = true;
    });
    assert_eq!(offered(&open, &far), with_plain);
    let strict = sasl("strict", |sasl| sasl.is_without_dictionaries = true);
    let without = ["EXTERNAL", "SCRAM-SHA-256", "SCRAM-SHA-1", "ANONYMOUS"];
    assert_eq!(offered(&strict, &secure), without);
    let step = Exchange::new(usual, far).start("PLAIN", Some(b"\0ann\0secret"));
    assert_eq!(step, Step::Unsupported);
}

#[test]
fn plain_takes_the_password_of_the_user_and_nobody_acts_for_another() {
    let sasl = sasl("plain", |_| {});
    let try_with = |response: &[u8]| {
        let step = Exchange::new(sasl.clone(), local()).start("PLAIN", Some(response));
        matches!(step, Step::Authenticated(_))
    };
    for right in [
        &b"\0ann\0secret"[..],
        b"\0ann@QPID\0secret",
        b"ann\0ann\0secret",
        b"\0cat\0secret",
    ] {
        assert!(try_with(right), "{}", right.escape_ascii());
    }
    for wrong in [
        &b"cat\0ann\0secret"[..],
        b"\0ann\0secre",
        b"\0dan\0secret",
        b"\0\0secret",
        b"\0ann@OTHER\0secret",
        b"ann",
        b"",
        b"\0a nn\0secret",
    ] {
        assert!(!try_with(wrong), "{}", wrong.escape_ascii());
    }
    let mut exchange = Exchange::new(sasl.clone(), local());
    assert_eq!(challenge(exchange.start("PLAIN", None)), b"");
    assert_eq!(
        exchange.respond(b"\0ann\0secret"),
        authenticated("ann@QPID")
    );
}

#[test]
fn scram_proves_both_sides_to_each_other() {
    let sasl = sasl("scram", |_| {});
    for (mechanism, hash) in [("SCRAM-SHA-256", Hash::Sha256), ("SCRAM-SHA-1", Hash::Sha1)] {
        for (user, password, is_right) in [
            ("ann", "secret", true),
            ("b,=ob", "secret", true),
            ("ann", "wrong", false),
            ("dan", "secret", false),
        ] {
            let mut exchange = Exchange::new(sasl.clone(), Layer::default());
            let (mut side, first) = ClientSide::new(hash, user, password.as_bytes());
            let said = challenge(exchange.start(mechanism, Some(first.as_bytes())));
            let proof = side.answer(&said).expect("it speaks SCRAM");
            let step = exchange.respond(&proof);
            if !is_right {
                assert!(matches!(step, Step::Failed(_)), "{user} {step:?}");
                continue;
            }
            assert_eq!(side.answer(&challenge(step)), Ok(Vec::new()));
            assert_eq!(
                exchange.respond(b""),
                authenticated(&format!("{user}@QPID"))
            );
        }
    }
}

#[test]
fn cram_md5_answers_the_challenge_with_the_password_that_is_kept() {
    let sasl = sasl("cram", |_| {});
    for (user, password, is_right) in [
        ("ann", &b"secret"[..], true),
        ("ann", b"wrong", false),
        ("cat", b"secret", false),
    ] {
        let mut exchange = Exchange::new(sasl.clone(), Layer::default());
        let said = challenge(exchange.start("CRAM-MD5", None));
        let mut key = [0; 64];
        key[..password.len()].copy_from_slice(password);
        let inner = md5(&[&key.map(|octet| octet ^ 0x36)[..], &said].concat());
        let outer = md5(&[&key.map(|octet| octet ^ 0x5c)[..], &inner].concat());
        let step = exchange.respond(format!("{user} {}", hex(&outer)).as_bytes());
        match is_right {
            true => assert_eq!(step, authenticated("ann@QPID")),
            false => assert!(matches!(step, Step::Failed(_))),
        }
    }
}

#[test]
fn digest_md5_answers_the_challenge_and_is_answered() {
    let sasl = sasl("digest", |_| {});
    let mut exchange = Exchange::new(sasl.clone(), Layer::default());
    let said = challenge(exchange.start("DIGEST-MD5", None));
    let said = String::from_utf8(said).expect("text");
    let nonce = said.split('"').nth(1).expect("a nonce");
    let mut first = md5(b"ann:QPID:secret").to_vec();
    first.extend(format!(":{nonce}:cn").bytes());
    let second = |method: &str| hex(&md5(format!("{method}:amqp/host").as_bytes()));
    let hashed = |method: &str| {
        let all = format!(
            "{}:{nonce}:00000001:cn:auth:{}",
            hex(&md5(&first)),
            second(method)
        );
        hex(&md5(all.as_bytes()))
    };
    let response = format!(
        "username=\"ann\",realm=\"QPID\",nonce=\"{nonce}\",cnonce=\"cn\",nc=00000001,qop=auth,\
         digest-uri=\"amqp/host\",response={}",
        hashed("AUTHENTICATE")
    );
    let proof = challenge(exchange.respond(response.as_bytes()));
    assert_eq!(proof, format!("rspauth={}", hashed("")).into_bytes());
    assert_eq!(exchange.respond(b""), authenticated("ann@QPID"));
    let mut other = Exchange::new(sasl, Layer::default());
    challenge(other.start("DIGEST-MD5", None));
    assert!(
        matches!(other.respond(response.as_bytes()), Step::Failed(_)),
        "an old answer"
    );
}

#[test]
fn external_is_who_the_certificate_names() {
    let sasl = sasl("external", |_| {});
    let layer = Layer {
        is_encrypted: true,
        identity: Some("ann@QPID".into()),
        ..Layer::default()
    };
    let start = |response: &[u8]| {
        Exchange::new(sasl.clone(), layer.clone()).start("EXTERNAL", Some(response))
    };
    for response in [&b""[..], b"ann", b"ann@QPID"] {
        assert_eq!(start(response), authenticated("ann@QPID"));
    }
    assert!(matches!(start(b"bob"), Step::Failed(_)));
    let unknown = Exchange::new(sasl.clone(), local()).start("EXTERNAL", Some(b"ann"));
    assert_eq!(unknown, Step::Unsupported);
}

#[test]
fn anonymous_is_nobody_and_responses_out_of_turn_fail() {
    let sasl = sasl("anonymous", |_| {});
    let mut exchange = Exchange::new(sasl.clone(), Layer::default());
    assert!(matches!(exchange.respond(b"x"), Step::Failed(_)));
    let step = Exchange::new(sasl, Layer::default()).start("ANONYMOUS", None);
    assert_eq!(step, authenticated("anonymous"));
}

#[test]
fn no_octets_get_anybody_in_or_break_an_exchange() {
    let sasl = sasl("octets", |_| {});
    let mut seed = 2_463_534_242_u64;
    let mut next = || {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        seed
    };
    let pieces: [&[u8]; 16] = [
        b"n,,",
        b"n=",
        b"ann",
        b",r=",
        b"x",
        b"c=biws",
        b",p=",
        b"=2C",
        b"\0",
        b"\xff",
        b"\"",
        b"\\",
        b"username=",
        b",",
        b"nc=00000001",
        b" ",
    ];
    // PLAIN and SCRAM with a user cost a hash each: they have their own turns.
    for round in 0..3000 {
        let mechanism = Mechanism::ALL[round % 6];
        let mut exchange = Exchange::new(sasl.clone(), local());
        let mut said = |most: u64| -> Vec<u8> {
            let count = next() % most;
            (0..count)
                .flat_map(|_| pieces[(next() % 16) as usize].to_vec())
                .collect()
        };
        let mut step = exchange.start(mechanism.name(), Some(&said(6)));
        for _ in 0..3 {
            assert!(!matches!(step, Step::Authenticated(_)));
            if !matches!(step, Step::Challenge(_)) {
                break;
            }
            step = exchange.respond(&said(12));
        }
    }
    let long = vec![b'a'; 100_000];
    let step = Exchange::new(sasl, local()).start("PLAIN", Some(&long));
    assert!(matches!(step, Step::Failed(_)));
}
