//! What peers say to prove who they are: every mechanism, answers in any order, some by who knows the
//! password and some damaged.

use std::sync::{Arc, OnceLock};

use aws_lc_rs::{digest, hmac, pbkdf2};
use base64::Engine;
use base64::prelude::BASE64_STANDARD as BASE64;
use ferrymq::security::limits::USER_BYTES_MAX;
use ferrymq::security::sasl::scram::{ClientSide, Hash};
use ferrymq::security::sasl::{Bar, Exchange, Layer, Mechanism, Sasl, Step};
use ferrymq::security::users::UsersFile;
use ferrymq::wire::Text;
use md5::{Digest, Md5};

use super::wire_support::seeded::Seeded;

const ANN: &str = "ann@QPID";
const PASSWORD: &str = "secret";
const SALT: &[u8] = b"sixteen octets..";

/// Octets of a challenge beside what the peer has said, of which the nonce comes back: a nonce, a salt and a
/// realm in Base64 and what stands between them.
const CHALLENGE_BYTES_MAX: usize = 512;

/// Challenges of the longest exchange: an empty one for the first message, the second, our own proof.
const CHALLENGES_MAX: usize = 3;

/// Users of whom one is there. Its password is hashed once and no more: the time is wanted for rounds.
fn sasl() -> Arc<Sasl> {
    static MADE: OnceLock<Arc<Sasl>> = OnceLock::new();
    let made = MADE.get_or_init(|| {
        let mut text = "decoy c29tZXRoaW5n\n".to_owned();
        let sha_256 = (
            pbkdf2::PBKDF2_HMAC_SHA256,
            hmac::HMAC_SHA256,
            &digest::SHA256,
            "scram-sha-256",
        );
        let sha_1 = (
            pbkdf2::PBKDF2_HMAC_SHA1,
            hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY,
            &digest::SHA1_FOR_LEGACY_USE_ONLY,
            "scram-sha-1",
        );
        for (derived, keyed, digested, name) in [sha_256, sha_1] {
            let mut salted = vec![0; digested.output_len()];
            let once = std::num::NonZeroU32::MIN;
            pbkdf2::derive(derived, once, SALT, PASSWORD.as_bytes(), &mut salted);
            let key = hmac::Key::new(keyed, &salted);
            let client = hmac::sign(&key, b"Client Key");
            let stored = digest::digest(digested, client.as_ref());
            let server = hmac::sign(&key, b"Server Key");
            let [salt, stored, server] =
                [SALT, stored.as_ref(), server.as_ref()].map(|octets| BASE64.encode(octets));
            text += &format!("{ANN} {name} 1 {salt} {stored} {server}\n");
        }
        text += &format!("{ANN} password {}\n", BASE64.encode(PASSWORD));
        let name = format!("ferrymq-sasl-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::write(&path, text).expect("a file");
        let users = UsersFile::open(&path).expect("users");
        // What was read of a file that is gone stays.
        std::fs::remove_file(&path).expect("it was there");
        Arc::new(Sasl {
            realm: "QPID".into(),
            users: Some(users),
            mechanisms: Mechanism::ALL.to_vec(),
            allows_plain_unencrypted: false,
            is_without_dictionaries: false,
        })
    });
    made.clone()
}

/// A client that speaks a mechanism as it should, with some password.
struct Client {
    mechanism: Mechanism,
    password: &'static str,
    scram: ClientSide,
    first: String,
}

impl Client {
    fn new(mechanism: Mechanism, password: &'static str) -> Client {
        let hash = match mechanism {
            Mechanism::ScramSha1 => Hash::Sha1,
            _ => Hash::Sha256,
        };
        let (scram, first) = ClientSide::new(hash, "ann", password.as_bytes());
        Client {
            mechanism,
            password,
            scram,
            first,
        }
    }

    /// Its first message, if it has one.
    fn first(&self) -> Option<Vec<u8>> {
        match self.mechanism {
            Mechanism::External => Some(Vec::new()),
            Mechanism::Plain => Some(format!("\0ann\0{}", self.password).into_bytes()),
            Mechanism::ScramSha1 | Mechanism::ScramSha256 => Some(self.first.clone().into_bytes()),
            _ => None,
        }
    }

    /// Its answer to a challenge.
    fn answer(&mut self, challenge: &[u8]) -> Vec<u8> {
        match self.mechanism {
            _ if challenge.is_empty() => self.first().unwrap_or_default(),
            Mechanism::CramMd5 => {
                let key = |with: u8| {
                    let mut key = [with; 64];
                    key.iter_mut()
                        .zip(self.password.bytes())
                        .for_each(|(key, octet)| *key ^= octet);
                    key
                };
                let inner = Md5::digest([&key(0x36)[..], challenge].concat());
                let outer = Md5::digest([&key(0x5c)[..], &inner].concat());
                format!("ann {}", hex(&outer)).into_bytes()
            }
            Mechanism::DigestMd5 if challenge.starts_with(b"rspauth") => Vec::new(),
            Mechanism::DigestMd5 => self.digest(challenge),
            _ => self.scram.answer(challenge).unwrap_or_default(),
        }
    }

    fn digest(&self, challenge: &[u8]) -> Vec<u8> {
        let challenge = String::from_utf8_lossy(challenge);
        let nonce = challenge.split('"').nth(1).unwrap_or_default();
        let secret = Md5::digest(format!("ann:QPID:{}", self.password));
        let first = [&secret[..], format!(":{nonce}:cnonce").as_bytes()].concat();
        let second = hex(&Md5::digest("AUTHENTICATE:amqp/host"));
        let keyed = format!(
            "{}:{nonce}:00000001:cnonce:auth:{second}",
            hex(&Md5::digest(first))
        );
        format!(
            "username=\"ann\",realm=\"QPID\",nonce=\"{nonce}\",cnonce=\"cnonce\",nc=00000001,qop=auth,\
             digest-uri=\"amqp/host\",response={}",
            hex(&Md5::digest(keyed))
        )
        .into_bytes()
    }
}

fn hex(octets: &[u8]) -> String {
    octets.iter().map(|octet| format!("{octet:02x}")).collect()
}

/// Says something else: other octets, an answer of another mechanism, signs that mechanisms give a meaning,
/// too much.
fn damage(seeded: &mut Seeded, said: &mut Vec<u8>) {
    match seeded.below(6) {
        0 => {
            let other = *seeded.pick(&Mechanism::ALL);
            *said = Client::new(other, "nothing").first().unwrap_or_default();
        }
        1 => {
            let signs = [
                &b","[..],
                b"=",
                b"\0",
                b"\"",
                b"\\",
                b"=2C",
                b"=3D",
                b"n,a=",
                b"p=",
                b"\xff",
                b"@",
            ];
            let at = seeded.below(said.len() + 1);
            let sign = *seeded.pick(&signs);
            said.splice(at..at, sign.iter().copied());
        }
        2 => *said = said.repeat(1 + seeded.below(3)),
        3 => said.resize(seeded.below(9000), b'x'),
        _ => seeded.damage(said),
    }
}

/// Nobody is let in as who he cannot prove to be, whatever is said in whatever order; what is over stays
/// over, and nothing that is said makes much. Who says all that he should is let in.
pub fn exchange(seeded: &mut Seeded) {
    let mechanism = *seeded.pick(&Mechanism::ALL);
    let knows = seeded.once_in(2);
    let mut client = Client::new(mechanism, if knows { PASSWORD } else { "nothing" });
    let layer = Layer {
        is_local: true,
        identity: seeded.once_in(2).then(|| Text::from("cert@QPID")),
        is_encrypted: false,
    };
    let has_identity = layer.identity.is_some();
    // Who is not there is hashed for as long as others usually are, which is long.
    let is_listened_to = seeded.once_in(500);
    let bar = Bar(Box::new(move |user: &Text| *user != ANN && !is_listened_to));
    let mut exchange = Exchange::new(sasl(), layer).with_bar(bar);
    let is_honest = seeded.once_in(3);
    let name = match !is_honest && seeded.once_in(9) {
        true => seeded.text(12),
        false => mechanism.name().to_owned(),
    };
    let mut first = client.first().filter(|_| seeded.once_in(2));
    if !is_honest && let Some(first) = &mut first {
        damage(seeded, first);
    }
    if !is_honest && seeded.once_in(9) {
        assert!(matches!(exchange.respond(b""), Step::Failed(_)));
    }
    let mut said = first.as_ref().map_or(0, Vec::len);
    let mut step = exchange.start(&name, first.as_deref());
    for challenges in 0.. {
        assert!(exchange.claimed().len() <= USER_BYTES_MAX);
        let Step::Challenge(challenge) = &step else {
            break;
        };
        assert!(challenge.len() <= said + CHALLENGE_BYTES_MAX);
        assert!(challenges < CHALLENGES_MAX, "{mechanism:?} goes on");
        let mut answer = client.answer(challenge);
        if !is_honest && seeded.once_in(2) {
            damage(seeded, &mut answer);
        }
        said = answer.len();
        step = exchange.respond(&answer);
    }
    let proves = knows || matches!(mechanism, Mechanism::External | Mechanism::Anonymous);
    let is_offered = mechanism != Mechanism::External || has_identity;
    match &step {
        Step::Authenticated(user) if user == ANN => assert!(knows, "{mechanism:?}"),
        Step::Authenticated(user) if user == "cert@QPID" => assert!(has_identity),
        Step::Authenticated(user) => assert_eq!(user, "anonymous"),
        Step::Unsupported => assert!(!is_honest || !is_offered, "{mechanism:?}"),
        step => assert!(!is_honest || !proves, "{mechanism:?}: {step:?}"),
    }
    if matches!(step, Step::Failed(_)) {
        assert!(
            matches!(exchange.respond(b""), Step::Failed(_)),
            "it was over"
        );
    }
}
