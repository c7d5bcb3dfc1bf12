//! How often this thread has hashed something, counted in tests alone: whether unknown users cost as much
//! as known ones is a number there, and no time.

/// Counts so many rounds.
#[cfg(not(test))]
#[inline]
pub(super) fn note(_rounds: u64) {}

#[cfg(test)]
pub(super) use self::counted::note;

#[cfg(test)]
pub(super) mod counted {
    use std::cell::Cell;

    thread_local! {
        static ROUNDS: Cell<u64> = const { Cell::new(0) };
    }

    pub fn note(rounds: u64) {
        ROUNDS.set(ROUNDS.get() + rounds);
    }

    /// The rounds since this was asked last.
    pub fn take() -> u64 {
        ROUNDS.replace(0)
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;
    use std::sync::Arc;

    use base64::Engine;
    use base64::engine::general_purpose::STANDARD as BASE64;

    use super::counted::take;
    use crate::security::sasl::scram::{ClientSide, Hash};
    use crate::security::sasl::{Exchange, Layer, Mechanism, Sasl, Step};
    use crate::security::users::{Users, UsersFile};

    /// What a peer can see of a step, and what it cost.
    #[derive(Debug, PartialEq, Eq)]
    struct Seen {
        /// Octets of a challenge; None: it failed.
        challenge: Option<usize>,
        iterations: Option<String>,
        rounds: u64,
    }

    fn path(name: &str) -> PathBuf {
        std::env::temp_dir().join(format!("ferrymq-work-{name}-{}", std::process::id()))
    }

    /// A line of a user, with a secret that no password is known of.
    fn line(name: &str, hash: Hash, iterations: u32, salt_bytes: usize) -> String {
        let salt = BASE64.encode(vec![7; salt_bytes]);
        let key = BASE64.encode(vec![9; hash.bytes()]);
        format!("{name} {} {iterations} {salt} {key} {key}\n", hash.name())
    }

    fn sasl(name: &str, text: &str) -> Arc<Sasl> {
        let path = path(name);
        std::fs::write(&path, text).unwrap();
        Arc::new(Sasl {
            realm: "QPID".into(),
            users: Some(UsersFile::open(&path).unwrap()),
            mechanisms: Mechanism::ALL.to_vec(),
            allows_plain_unencrypted: true,
            is_without_dictionaries: false,
        })
    }

    fn seen(step: &Step) -> (Option<usize>, Option<String>) {
        match step {
            Step::Challenge(said) => {
                let text = String::from_utf8_lossy(said);
                let iterations = text.split(",i=").nth(1).map(str::to_owned);
                (Some(said.len()), iterations)
            }
            Step::Failed(_) => (None, None),
            other => panic!("{other:?}"),
        }
    }

    /// Everything that comes of somebody who does not know the password.
    fn fails(sasl: &Arc<Sasl>, mechanism: Mechanism, user: &str) -> Vec<Seen> {
        let mut exchange = Exchange::new(sasl.clone(), Layer::default());
        let hash = match mechanism {
            Mechanism::ScramSha1 => Hash::Sha1,
            _ => Hash::Sha256,
        };
        let (mut side, first) = ClientSide::new(hash, user, b"wrong");
        let mut said = match mechanism {
            Mechanism::Plain => Some(format!("\0{user}\0wrong").into_bytes()),
            Mechanism::ScramSha256 | Mechanism::ScramSha1 => Some(first.into_bytes()),
            _ => None,
        };
        let mut all = Vec::new();
        take();
        let mut step = exchange.start(mechanism.name(), said.as_deref());
        loop {
            let rounds = take();
            let (challenge, iterations) = seen(&step);
            all.push(Seen {
                challenge,
                iterations,
                rounds,
            });
            let Step::Challenge(challenge) = step else {
                return all;
            };
            let text = String::from_utf8(challenge).unwrap();
            said = Some(match mechanism {
                Mechanism::CramMd5 => format!("{user} 0123456789abcdef0123456789abcdef").into(),
                Mechanism::DigestMd5 => {
                    let nonce = text.split('"').nth(1).unwrap();
                    let wrong = "0123456789abcdef0123456789abcdef";
                    format!(
                        "username=\"{user}\",nonce=\"{nonce}\",cnonce=\"c\",nc=00000001,qop=auth,\
                         digest-uri=\"amqp/host\",response={wrong}"
                    )
                    .into()
                }
                _ => side.answer(text.as_bytes()).unwrap(),
            });
            take();
            step = exchange.respond(said.as_deref().unwrap());
        }
    }

    #[test]
    fn an_unknown_user_costs_as_many_rounds_and_sees_the_same_as_a_known_one() {
        let mut text = "decoy c29tZXRoaW5n\n".to_owned();
        text += &line("ann@QPID", Hash::Sha256, 300, 40);
        text += &line("ann@QPID", Hash::Sha1, 200, 24);
        text += &format!(
            "ann@QPID password {}\n",
            BASE64.encode("a long password of hers")
        );
        let sasl = sasl("rounds", &text);
        for mechanism in [
            Mechanism::Plain,
            Mechanism::ScramSha256,
            Mechanism::ScramSha1,
            Mechanism::CramMd5,
            Mechanism::DigestMd5,
        ] {
            let known = fails(&sasl, mechanism, "ann");
            assert_eq!(fails(&sasl, mechanism, "dan"), known, "{mechanism:?}");
            assert!(known.iter().any(|seen| seen.rounds > 0), "{known:?}");
            assert_eq!(known.last().unwrap().challenge, None);
        }
        let plain = fails(&sasl, Mechanism::Plain, "dan");
        assert!(plain.iter().any(|seen| seen.rounds > 300), "{plain:?}");
    }

    /// Ten users: six with one look, three with another, one with a third.
    fn mixed() -> String {
        let looks = [(100, 16); 6]
            .into_iter()
            .chain([(200, 8); 3])
            .chain([(400, 40)]);
        let lines = looks.enumerate().map(|(n, (iterations, salt_bytes))| {
            line(
                &format!("user{n}@QPID"),
                Hash::Sha256,
                iterations,
                salt_bytes,
            )
        });
        lines.collect()
    }

    fn looks_of(users: &Users) -> Vec<(u32, usize, Vec<u8>)> {
        let names = (0..1000).map(|n| format!("nobody{n}@QPID"));
        let secrets = names.map(|name| users.decoy(Hash::Sha256, &name));
        secrets
            .map(|secret| (secret.iterations, secret.salt.len(), secret.salt))
            .collect()
    }

    #[test]
    fn unknown_users_look_like_those_who_are_there_in_their_shares() {
        let users = Users::parse(&format!("decoy c29tZXRoaW5n\n{}", mixed())).unwrap();
        let looks = looks_of(&users);
        let share = |look: (u32, usize)| {
            let alike = |one: &&(u32, usize, Vec<u8>)| (one.0, one.1) == look;
            looks.iter().filter(alike).count()
        };
        let shares = [share((100, 16)), share((200, 8)), share((400, 40))];
        assert_eq!(shares.iter().sum::<usize>(), 1000, "{shares:?}");
        // Six tenths, three and one, within five standard deviations.
        for (share, wanted) in shares.into_iter().zip([600, 300, 100]) {
            assert!(share.abs_diff(wanted) < 80, "{shares:?}");
        }
    }

    #[test]
    fn an_unknown_user_looks_the_same_whenever_he_asks() {
        let with_decoy = format!("decoy c29tZXRoaW5n\n{}", mixed());
        for text in [with_decoy.clone(), mixed()] {
            let (one, other) = (Users::parse(&text).unwrap(), Users::parse(&text).unwrap());
            assert_eq!(looks_of(&one), looks_of(&other));
        }
        // One user more takes his place among the looks, and no more than that changes.
        let before = looks_of(&Users::parse(&with_decoy).unwrap());
        let more = with_decoy + &line("zoe@QPID", Hash::Sha256, 100, 16);
        let after = looks_of(&Users::parse(&more).unwrap());
        let same = before
            .iter()
            .zip(&after)
            .filter(|(one, other)| one == other);
        assert!(same.count() > 900);
    }

    #[test]
    fn a_file_that_names_no_decoy_keeps_the_one_it_had_when_it_changes() {
        let path = path("kept");
        std::fs::write(&path, mixed()).unwrap();
        let file = UsersFile::open(&path).unwrap();
        let before = looks_of(&file.users());
        let more = mixed() + "# A remark.\n";
        std::fs::write(&path, &more).unwrap();
        assert_eq!(looks_of(&file.users()), before);
        assert_ne!(looks_of(&Users::parse(&more).unwrap()), before);
    }
}
