//! SASL: how a peer proves who it is.
//!
//! | mechanism | offered |
//! |---|---|
//! | EXTERNAL | with a client certificate that names somebody |
//! | SCRAM-SHA-256, SCRAM-SHA-1 | always |
//! | PLAIN | over TLS, on this machine, or where it is allowed in the clear |
//! | ANONYMOUS, CRAM-MD5, DIGEST-MD5 | when they are asked for |
//!
//! An unknown user and a wrong password get the same answer in the same time. [`open`] is the exchange
//! where nobody proves anything (`--auth no`). Written here and not taken from a crate: the one that
//! there is (rsasl) compares keys in a time that depends on them and answers unknown users differently.

mod failures;
pub mod md5;
pub mod open;
pub mod scram;
mod work;

use std::fmt;
use std::sync::Arc;

use self::md5::{Cram, DigestMd5};
use self::scram::{First, Hash, Secret};
use super::limits;
use super::users::{UsersFile, check_name};
use crate::wire::Text;

pub use self::failures::{Failures, network};

/// The user of whoever gives no name.
pub const ANONYMOUS: &str = "anonymous";

/// Text of the `connection.close` (320) that answers a failed exchange.
pub const FAILED: &str = "Authentication failed";

/// Text of the `connection.close` (320) that answers a mechanism that was not offered.
pub const UNSUPPORTED: &str = "Unsupported mechanism";

/// Why an exchange failed, for the log, whatever was wrong with user and password.
const WRONG: &str = "unknown user or wrong password";

/// Why an exchange failed, for the log, when nobody looked at the password: see
/// [`limits::FAILURES_MAX`].
pub const SHUT_OUT: &str =
    "this user has failed too often from there, and is not listened to for a while";

/// What comes next in an exchange.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// The peer is this user.
    Authenticated(Text),
    /// The peer is to be asked with this challenge.
    Challenge(Vec<u8>),
    /// The exchange has failed: why, for the log. The peer is told [`FAILED`] and no more.
    Failed(&'static str),
    /// The peer has chosen what it was not offered: it is told [`UNSUPPORTED`].
    Unsupported,
}

/// A mechanism.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mechanism {
    /// RFC 4422: the layer below knows who it is.
    External,
    /// RFC 7677.
    ScramSha256,
    /// RFC 5802.
    ScramSha1,
    /// RFC 2831.
    DigestMd5,
    /// RFC 2195.
    CramMd5,
    /// RFC 4616.
    Plain,
    /// RFC 4505.
    Anonymous,
}

impl Mechanism {
    /// All, the best first.
    pub const ALL: [Mechanism; 7] = [
        Mechanism::External,
        Mechanism::ScramSha256,
        Mechanism::ScramSha1,
        Mechanism::DigestMd5,
        Mechanism::CramMd5,
        Mechanism::Plain,
        Mechanism::Anonymous,
    ];

    /// Those that are offered when nothing is said.
    pub const USUAL: [Mechanism; 4] = [
        Mechanism::External,
        Mechanism::ScramSha256,
        Mechanism::ScramSha1,
        Mechanism::Plain,
    ];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Mechanism::External => "EXTERNAL",
            Mechanism::ScramSha256 => "SCRAM-SHA-256",
            Mechanism::ScramSha1 => "SCRAM-SHA-1",
            Mechanism::DigestMd5 => "DIGEST-MD5",
            Mechanism::CramMd5 => "CRAM-MD5",
            Mechanism::Plain => "PLAIN",
            Mechanism::Anonymous => ANONYMOUS_MECHANISM,
        }
    }

    /// The one that has this name.
    pub fn named(name: &str) -> Option<Mechanism> {
        Mechanism::ALL
            .into_iter()
            .find(|mechanism| mechanism.name() == name)
    }

    /// Whether somebody who hears it learns what he can try passwords against, or more.
    const fn is_open_to_dictionaries(self) -> bool {
        matches!(
            self,
            Mechanism::Plain | Mechanism::DigestMd5 | Mechanism::CramMd5
        )
    }
}

const ANONYMOUS_MECHANISM: &str = "ANONYMOUS";

/// What is known of a connection before anybody has said who he is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Layer {
    /// Whether nobody else can read it.
    pub is_encrypted: bool,
    /// Whether it is of this machine.
    pub is_local: bool,
    /// Whom its client certificate names.
    pub identity: Option<Text>,
}

/// How users of a broker prove who they are.
#[derive(Debug)]
pub struct Sasl {
    /// Realm behind names without one.
    pub realm: Text,
    /// Who there is. None: nobody proves anything.
    pub users: Option<UsersFile>,
    /// What is offered at most.
    pub mechanisms: Vec<Mechanism>,
    /// Whether PLAIN may go over a network in the clear.
    pub allows_plain_unencrypted: bool,
    /// Whether mechanisms that give something to guess from are left out over TLS.
    pub is_without_dictionaries: bool,
}

impl Sasl {
    /// What is offered to a connection.
    pub fn offered(&self, layer: &Layer) -> Vec<Text> {
        match self.users {
            None => open::MECHANISMS.iter().copied().map(Text::from).collect(),
            Some(_) => {
                let offered = self.mechanisms.iter();
                let offered = offered.filter(|mechanism| self.offers(**mechanism, layer));
                offered.map(|mechanism| mechanism.name().into()).collect()
            }
        }
    }

    fn offers(&self, mechanism: Mechanism, layer: &Layer) -> bool {
        let is_hidden = layer.is_encrypted || layer.is_local || self.allows_plain_unencrypted;
        let is_shut = self.is_without_dictionaries && layer.is_encrypted;
        self.mechanisms.contains(&mechanism)
            && !(is_shut && mechanism.is_open_to_dictionaries())
            && match mechanism {
                Mechanism::External => layer.identity.is_some(),
                Mechanism::Plain => is_hidden,
                _ => true,
            }
    }

    fn with_realm(&self, name: &str) -> Text {
        open::with_some_realm(name, &self.realm)
    }
}

/// Who is not listened to, whatever he knows: a user's name with its realm is asked for.
pub struct Bar(pub Box<dyn Fn(&Text) -> bool + Send>);

impl fmt::Debug for Bar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Bar")
    }
}

/// One peer's exchange.
#[derive(Debug)]
pub struct Exchange {
    sasl: Arc<Sasl>,
    layer: Layer,
    bar: Option<Bar>,
    /// Who the peer says it is, once it has.
    claimed: Text,
    state: State,
}

/// What the next response is an answer to.
#[derive(Debug)]
enum State {
    /// Nothing: none is awaited.
    Start,
    Open(open::Exchange),
    /// An empty challenge: the mechanism's first message is awaited.
    First(Mechanism),
    Scram(Text, scram::Exchange, bool),
    Cram(Cram),
    Digest(DigestMd5),
    /// Our own proof, which needs no answer.
    Proof(Text),
    Over,
}

impl Exchange {
    /// An exchange that has not begun.
    pub fn new(sasl: Arc<Sasl>, layer: Layer) -> Exchange {
        Exchange {
            sasl,
            layer,
            bar: None,
            claimed: Text::default(),
            state: State::Start,
        }
    }

    /// Has whoever is behind a bar fail with [`SHUT_OUT`], before anything is hashed.
    pub fn with_bar(mut self, bar: Bar) -> Exchange {
        self.bar = Some(bar);
        self
    }

    /// Who the peer says it is, with its realm, whether it proves so or not; empty until it has said so.
    pub fn claimed(&self) -> &Text {
        &self.claimed
    }

    /// The peer has chosen a mechanism. A response that is absent is not one that is empty: only
    /// the absent one is asked for.
    pub fn start(&mut self, mechanism: &str, response: Option<&[u8]>) -> Step {
        if self.sasl.users.is_none() {
            let mut exchange = open::Exchange::new(self.sasl.realm.clone());
            let step = exchange.start(mechanism, response);
            self.state = State::Open(exchange);
            return step;
        }
        let chosen = Mechanism::named(mechanism);
        let Some(chosen) = chosen.filter(|chosen| self.sasl.offers(*chosen, &self.layer)) else {
            return Step::Unsupported;
        };
        match chosen {
            Mechanism::CramMd5 => {
                let (cram, challenge) = Cram::new(&self.sasl.realm);
                self.challenge(State::Cram(cram), challenge.into_bytes())
            }
            Mechanism::DigestMd5 => {
                let (digest, challenge) = DigestMd5::new(&self.sasl.realm);
                self.challenge(State::Digest(digest), challenge.into_bytes())
            }
            Mechanism::Anonymous => Step::Authenticated(ANONYMOUS.into()),
            _ => match response {
                Some(response) => self.first(chosen, response),
                None => self.challenge(State::First(chosen), Vec::new()),
            },
        }
    }

    /// The peer has answered a challenge.
    pub fn respond(&mut self, response: &[u8]) -> Step {
        let state = std::mem::replace(&mut self.state, State::Over);
        if response.len() > limits::RESPONSE_BYTES_MAX {
            return Step::Failed("a response that is too long");
        }
        match state {
            State::Open(mut exchange) => {
                let step = exchange.respond(response);
                self.state = State::Open(exchange);
                step
            }
            State::First(mechanism) => self.first(mechanism, response),
            State::Scram(user, exchange, is_known) => match exchange.finish(response) {
                Ok(proof) if is_known => self.challenge(State::Proof(user), proof.into_bytes()),
                Ok(_) => Step::Failed(WRONG),
                Err(why) => Step::Failed(why),
            },
            State::Cram(cram) => self.cram(&cram, response).unwrap_or_else(Step::Failed),
            State::Digest(digest) => self.digest(&digest, response).unwrap_or_else(Step::Failed),
            State::Proof(user) if response.is_empty() => Step::Authenticated(user),
            State::Proof(_) => Step::Failed("an answer to the proof, which needs none"),
            State::Start | State::Over => Step::Failed("a response that nobody asked for"),
        }
    }

    fn challenge(&mut self, state: State, challenge: Vec<u8>) -> Step {
        self.state = state;
        Step::Challenge(challenge)
    }

    /// A mechanism's first message.
    fn first(&mut self, mechanism: Mechanism, response: &[u8]) -> Step {
        if response.len() > limits::RESPONSE_BYTES_MAX {
            return Step::Failed("a response that is too long");
        }
        let step = match mechanism {
            Mechanism::External => self.external(response),
            Mechanism::Plain => self.plain(response),
            Mechanism::ScramSha256 => self.scram(Hash::Sha256, response),
            Mechanism::ScramSha1 => self.scram(Hash::Sha1, response),
            _ => Err("a message that nobody asked for"),
        };
        step.unwrap_or_else(Step::Failed)
    }

    /// A user's name with the realm.
    ///
    /// # Errors
    /// It is none, or one that is not listened to.
    fn named(&mut self, name: &str) -> Result<Text, &'static str> {
        let user = self.sasl.with_realm(name);
        check_name(&user).map_err(|_| "a user's name that is none")?;
        self.claimed = user.clone();
        match &self.bar {
            Some(Bar(is_shut_out)) if is_shut_out(&user) => Err(SHUT_OUT),
            _ => Ok(user),
        }
    }

    /// Nobody may act for another.
    fn check_authzid(&self, authzid: Option<&str>, user: &str) -> Result<(), &'static str> {
        match authzid {
            None | Some("") => Ok(()),
            Some(other) if self.sasl.with_realm(other) == user => Ok(()),
            Some(_) => Err("an authorization identity of somebody else"),
        }
    }

    fn external(&mut self, response: &[u8]) -> Result<Step, &'static str> {
        let identity = self.layer.identity.clone();
        let identity = identity.ok_or("EXTERNAL without a certificate")?;
        let authzid = std::str::from_utf8(response).map_err(|_| "a name that is not UTF-8")?;
        match authzid.is_empty() || authzid == identity || self.named(authzid)? == identity {
            true => Ok(Step::Authenticated(identity)),
            false => Err("an authorization identity of somebody else"),
        }
    }

    fn plain(&mut self, response: &[u8]) -> Result<Step, &'static str> {
        let (authzid, authcid, password) = open::plain_parts(response)?;
        let user = self.named(authcid)?;
        self.check_authzid(Some(authzid), &user)?;
        let (secret, is_known) = self.secret(Hash::Sha256, &user)?;
        match secret.is_password(Hash::Sha256, password) && is_known {
            true => Ok(Step::Authenticated(user)),
            false => Err(WRONG),
        }
    }

    fn scram(&mut self, hash: Hash, response: &[u8]) -> Result<Step, &'static str> {
        let first = First::parse(response)?;
        let user = self.named(&first.user)?;
        self.check_authzid(first.authzid.as_deref(), &user)?;
        let (secret, is_known) = self.secret(hash, &user)?;
        let (exchange, said) = scram::Exchange::new(hash, &first, secret);
        let state = State::Scram(user, exchange, is_known);
        Ok(self.challenge(state, said.into_bytes()))
    }

    /// What a user is known by, or what takes its place for who is not there; and whether there is one.
    /// A decoy is made of whoever it is, so that both take as long.
    fn secret(&self, hash: Hash, user: &str) -> Result<(Secret, bool), &'static str> {
        let users = self.sasl.users.as_ref().ok_or(WRONG)?.users();
        let decoy = users.decoy(hash, user);
        let known = users.get(user).and_then(|user| user.secret(hash));
        Ok((known.unwrap_or(&decoy).clone(), known.is_some()))
    }

    /// The same of the password itself, for the mechanisms that need it.
    fn password(&self, user: &str) -> Result<(Vec<u8>, bool), &'static str> {
        let users = self.sasl.users.as_ref().ok_or(WRONG)?.users();
        let decoy = users.decoy_password(user);
        let known = users.get(user).and_then(|user| user.password.as_ref());
        Ok((known.unwrap_or(&decoy).clone(), known.is_some()))
    }

    fn cram(&mut self, cram: &Cram, response: &[u8]) -> Result<Step, &'static str> {
        let (name, digest) = Cram::answer(response)?;
        let user = self.named(name)?;
        let (password, is_known) = self.password(&user)?;
        cram.check(digest, &password)?;
        match is_known {
            true => Ok(Step::Authenticated(user)),
            false => Err(WRONG),
        }
    }

    fn digest(&mut self, digest: &DigestMd5, response: &[u8]) -> Result<Step, &'static str> {
        let answer = digest.answer(response)?;
        let user = match answer.realm.is_empty() || answer.realm == *self.sasl.realm {
            true => self.named(&answer.user)?,
            false => self.named(&format!("{}@{}", answer.user, answer.realm))?,
        };
        self.check_authzid(answer.authzid.as_deref(), &user)?;
        let (password, is_known) = self.password(&user)?;
        let proof = answer.check(&password)?;
        match is_known {
            true => Ok(self.challenge(State::Proof(user), proof.into_bytes())),
            false => Err(WRONG),
        }
    }
}

/// Octets that nobody can guess.
///
/// # Panics
/// The system has none.
#[expect(
    clippy::expect_used,
    reason = "whatever would be done without random octets, somebody could guess"
)]
pub fn random(count: usize) -> Vec<u8> {
    let mut octets = vec![0; count];
    aws_lc_rs::rand::fill(&mut octets).expect("the system has random octets");
    octets
}
