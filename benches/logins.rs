//! Whether time tells who is there: failed logins of users that are in the users file beside such that are
//! not, by mechanism.
//!
//! `cargo bench --bench logins -- ROUNDS`. Both fail with a wrong password, one after the other and the
//! first to go changing, through the face that a connection's driver has; what the client does is not
//! timed. A figure is the median of what all steps of an exchange took together, and the last column that
//! of the known over that of the unknown. PLAIN hashes 16,384 times a login and has a hundredth of the
//! rounds.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ferrymq::security::sasl::scram::{ClientSide, Hash};
use ferrymq::security::sasl::{Exchange, Layer, Mechanism, Sasl, Step};
use ferrymq::security::users::{Users, UsersFile};

/// Rounds unless the command line says another number.
const ROUNDS: usize = 50_000;

/// Of PLAIN one in so many.
const PLAIN_ONE_IN: usize = 100;

/// Users in the file, beside those who try: a look through a map of this many is in the figures.
const USERS: usize = 50;

/// Who is there, and who is not: names of one length.
const NAMES: [&str; 2] = ["annabel", "nobody!"];

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<(), Failure> {
    let given = std::env::args().skip(1).find(|word| !word.starts_with('-'));
    let rounds: usize = given.map_or(Ok(ROUNDS), |number| number.parse())?;
    let sasl = sasl()?;
    println!("| mechanism | rounds | known, us | unknown, us | known / unknown |");
    println!("|---|---:|---:|---:|---:|");
    for mechanism in [
        Mechanism::Plain,
        Mechanism::ScramSha256,
        Mechanism::ScramSha1,
        Mechanism::CramMd5,
        Mechanism::DigestMd5,
    ] {
        let rounds = match mechanism {
            Mechanism::Plain => rounds.div_ceil(PLAIN_ONE_IN),
            _ => rounds,
        };
        let mut times = [Vec::new(), Vec::new()];
        for round in 0..rounds {
            for turn in 0..2 {
                let who = (round + turn) % 2;
                times[who].push(fails(&sasl, mechanism, NAMES[who])?);
            }
        }
        let [known, unknown] = times.map(|mut all| {
            all.sort_unstable();
            all[all.len() / 2].as_secs_f64() * 1e6
        });
        println!(
            "| {} | {rounds} | {known:.2} | {unknown:.2} | {:.3} |",
            mechanism.name(),
            known / unknown
        );
    }
    Ok(())
}

/// A broker's users, with passwords that are kept for the old mechanisms.
fn sasl() -> Result<Arc<Sasl>, Failure> {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("logins-bench");
    let mut users = Users::empty();
    users.set(&format!("{}@QPID", NAMES[0]), b"her password", true)?;
    for n in 0..USERS {
        users.set(&format!("user{n}@QPID"), b"his password", true)?;
    }
    users.write(&path)?;
    Ok(Arc::new(Sasl {
        realm: "QPID".into(),
        users: Some(UsersFile::open(&path)?),
        mechanisms: Mechanism::ALL.to_vec(),
        allows_plain_unencrypted: true,
        is_without_dictionaries: false,
    }))
}

/// How long the broker is busy with somebody who does not know the password.
fn fails(sasl: &Arc<Sasl>, mechanism: Mechanism, user: &str) -> Result<Duration, Failure> {
    let hash = match mechanism {
        Mechanism::ScramSha1 => Hash::Sha1,
        _ => Hash::Sha256,
    };
    let (_, first) = ClientSide::new(hash, user, b"wrong");
    let mut said = match mechanism {
        Mechanism::Plain => Some(format!("\0{user}\0wrong")),
        Mechanism::ScramSha256 | Mechanism::ScramSha1 => Some(first),
        _ => None,
    };
    let mut exchange = Exchange::new(sasl.clone(), Layer::default());
    let mut took = Duration::ZERO;
    let mut is_first = true;
    loop {
        let said_octets = said.as_deref().map(str::as_bytes);
        let start = Instant::now();
        let step = match is_first {
            true => exchange.start(mechanism.name(), said_octets),
            false => exchange.respond(said_octets.unwrap_or_default()),
        };
        took += start.elapsed();
        is_first = false;
        match step {
            Step::Failed(_) => return Ok(took),
            Step::Challenge(challenge) => {
                said = Some(wrong_answer(mechanism, hash, user, &challenge)?)
            }
            other => return Err(format!("{mechanism:?}: {other:?}").into()),
        }
    }
}

/// An answer that is well formed and proves nothing. Of SCRAM a proof of zeros: hashing the wrong password
/// is the client's work, and would be most of a run.
fn wrong_answer(
    mechanism: Mechanism,
    hash: Hash,
    user: &str,
    challenge: &[u8],
) -> Result<String, Failure> {
    let text = std::str::from_utf8(challenge)?;
    let digest = "0123456789abcdef0123456789abcdef";
    match mechanism {
        Mechanism::CramMd5 => Ok(format!("{user} {digest}")),
        Mechanism::DigestMd5 => {
            let nonce = text.split('"').nth(1).ok_or("no nonce")?;
            Ok(format!(
                "username=\"{user}\",nonce=\"{nonce}\",cnonce=\"c\",nc=00000001,qop=auth,\
                 digest-uri=\"amqp/host\",response={digest}"
            ))
        }
        _ => {
            let nonce = text.split(',').next().ok_or("no nonce")?;
            let proof = match hash {
                Hash::Sha256 => format!("{}=", "A".repeat(43)),
                Hash::Sha1 => format!("{}=", "A".repeat(27)),
            };
            Ok(format!("c=biws,{nonce},p={proof}"))
        }
    }
}
