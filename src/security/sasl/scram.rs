//! SCRAM (RFC 5802, RFC 7677), the server's side, without channel binding.
//!
//! ```text
//!   client-first   n,[a=authzid],n=user,r=nonce
//!   server-first   r=nonce+ours,s=salt,i=iterations
//!   client-final   c=biws,r=nonce+ours,p=proof
//!   server-final   v=signature
//! ```
//!
//! An unknown user goes the same way with a secret that nobody knows, and fails at the proof.

use aws_lc_rs::{constant_time, digest, hmac, pbkdf2};
use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;

use super::{random, work};
use crate::security::limits::{ITERATIONS, NONCE_BYTES, SALT_BYTES};

/// The hash that a mechanism uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hash {
    /// SHA-256.
    Sha256,
    /// SHA-1: weak elsewhere, sound in SCRAM, and all that some clients have.
    Sha1,
}

impl Hash {
    /// Its name in a users file.
    pub fn name(self) -> &'static str {
        match self {
            Hash::Sha256 => "scram-sha-256",
            Hash::Sha1 => "scram-sha-1",
        }
    }

    /// The one with this name in a users file.
    pub fn named(name: &str) -> Option<Hash> {
        [Hash::Sha256, Hash::Sha1]
            .into_iter()
            .find(|hash| hash.name() == name)
    }

    /// Octets of what it gives.
    pub fn bytes(self) -> usize {
        match self {
            Hash::Sha256 => 32,
            Hash::Sha1 => 20,
        }
    }

    pub(in crate::security) fn hmac(self, key: &[u8], over: &[u8]) -> Vec<u8> {
        work::note(1);
        let algorithm = match self {
            Hash::Sha256 => hmac::HMAC_SHA256,
            Hash::Sha1 => hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY,
        };
        hmac::sign(&hmac::Key::new(algorithm, key), over)
            .as_ref()
            .to_vec()
    }

    /// So many octets that nobody foretells who does not know the key: always the same of a name.
    pub(in crate::security) fn stretched(
        self,
        key: &[u8],
        of: &str,
        name: &str,
        octets: usize,
    ) -> Vec<u8> {
        let mut all = self.hmac(key, format!("{of} {name}").as_bytes());
        let mut more = 1;
        while all.len() < octets {
            all.extend(self.hmac(key, format!("{of} {more} {name}").as_bytes()));
            more += 1;
        }
        all.truncate(octets);
        all
    }

    fn digest(self, over: &[u8]) -> Vec<u8> {
        work::note(1);
        let algorithm = match self {
            Hash::Sha256 => &digest::SHA256,
            Hash::Sha1 => &digest::SHA1_FOR_LEGACY_USE_ONLY,
        };
        digest::digest(algorithm, over).as_ref().to_vec()
    }

    fn salted(self, password: &[u8], salt: &[u8], iterations: u32) -> Vec<u8> {
        let algorithm = match self {
            Hash::Sha256 => pbkdf2::PBKDF2_HMAC_SHA256,
            Hash::Sha1 => pbkdf2::PBKDF2_HMAC_SHA1,
        };
        let mut salted = vec![0; self.bytes()];
        work::note(u64::from(iterations));
        let iterations = iterations.try_into().unwrap_or(std::num::NonZeroU32::MIN);
        pbkdf2::derive(algorithm, iterations, salt, password, &mut salted);
        salted
    }
}

/// What is kept of a password.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret {
    /// How often the password is hashed.
    pub iterations: u32,
    /// What is hashed with it.
    pub salt: Vec<u8>,
    /// With it a proof is looked at.
    pub stored_key: Vec<u8>,
    /// With it we prove that we have the above.
    pub server_key: Vec<u8>,
}

impl Secret {
    /// Of a new password.
    pub fn of(hash: Hash, password: &[u8]) -> Secret {
        Secret::salted(hash, password, random(SALT_BYTES), ITERATIONS)
    }

    fn salted(hash: Hash, password: &[u8], salt: Vec<u8>, iterations: u32) -> Secret {
        let salted = hash.salted(password, &salt, iterations);
        Secret {
            iterations,
            stored_key: hash.digest(&hash.hmac(&salted, b"Client Key")),
            server_key: hash.hmac(&salted, b"Server Key"),
            salt,
        }
    }

    /// Of a user who is not there, with so many iterations and a salt of so many octets.
    pub fn decoy(hash: Hash, decoy: &[u8], name: &str, look: Look) -> Secret {
        let made = |of: &str| hash.hmac(decoy, format!("{of} {name}").as_bytes());
        Secret {
            iterations: look.iterations,
            salt: hash.stretched(decoy, "salt", name, look.salt_bytes),
            stored_key: made("stored"),
            server_key: made("server"),
        }
    }

    /// What a client is told of it, without what is in the salt.
    pub fn look(&self) -> Look {
        Look {
            iterations: self.iterations,
            salt_bytes: self.salt.len(),
        }
    }

    /// Whether this is the password, in a time that does not depend on how it differs.
    pub fn is_password(&self, hash: Hash, password: &[u8]) -> bool {
        let salt = self.salt.clone();
        let tried = Secret::salted(hash, password, salt, self.iterations);
        constant_time::verify_slices_are_equal(&tried.stored_key, &self.stored_key).is_ok()
    }
}

/// What clients see of a [`Secret`] that is not of one user alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Look {
    /// How often the password is hashed.
    pub iterations: u32,
    /// Octets of the salt.
    pub salt_bytes: usize,
}

impl Default for Look {
    /// Of a new password.
    fn default() -> Look {
        Look {
            iterations: ITERATIONS,
            salt_bytes: SALT_BYTES,
        }
    }
}

/// What the client said first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct First {
    /// Whom it wants to be, if it says so.
    pub authzid: Option<String>,
    /// Who it is.
    pub user: String,
    header: String,
    bare: String,
    nonce: String,
}

impl First {
    /// Reads it.
    ///
    /// # Errors
    /// What is wrong with it, for the log.
    pub fn parse(octets: &[u8]) -> Result<First, &'static str> {
        let text = std::str::from_utf8(octets).map_err(|_| "a SCRAM message that is not UTF-8")?;
        let wrong = "a first SCRAM message that is none";
        let (flag, rest) = text.split_once(',').ok_or(wrong)?;
        match flag {
            "n" | "y" => {}
            _ => return Err("a SCRAM message that wants channel binding"),
        }
        let (authzid, bare) = rest.split_once(',').ok_or(wrong)?;
        let header = format!("{flag},{authzid},");
        let authzid = match authzid {
            "" => None,
            said => Some(said.strip_prefix("a=").and_then(unescaped).ok_or(wrong)?),
        };
        let mut parts = bare.split(',');
        let user = parts.next().and_then(|part| part.strip_prefix("n="));
        let nonce = parts.next().and_then(|part| part.strip_prefix("r="));
        let nonce = nonce.filter(|nonce| !nonce.is_empty()).ok_or(wrong)?;
        Ok(First {
            authzid,
            user: user.and_then(unescaped).ok_or(wrong)?,
            header,
            bare: bare.to_owned(),
            nonce: nonce.to_owned(),
        })
    }
}

/// `=2C` stands for a comma and `=3D` for the sign itself.
fn unescaped(name: &str) -> Option<String> {
    let mut parts = name.split('=');
    let mut text = parts.next()?.to_owned();
    for part in parts {
        let (sign, rest) = match (part.strip_prefix("2C"), part.strip_prefix("3D")) {
            (Some(rest), _) => (',', rest),
            (_, Some(rest)) => ('=', rest),
            _ => return None,
        };
        text.push(sign);
        text.push_str(rest);
    }
    Some(text)
}

/// An exchange after the first message.
#[derive(Clone)]
pub struct Exchange {
    hash: Hash,
    secret: Secret,
    header: String,
    nonce: String,
    /// What is signed, without the client's last part.
    signed: String,
}

impl Exchange {
    /// Goes on from the client's first message; gives ours.
    pub fn new(hash: Hash, first: &First, secret: Secret) -> (Exchange, String) {
        let nonce = format!("{}{}", first.nonce, BASE64.encode(random(NONCE_BYTES)));
        let salt = BASE64.encode(&secret.salt);
        let said = format!("r={nonce},s={salt},i={}", secret.iterations);
        let exchange = Exchange {
            hash,
            secret,
            header: first.header.clone(),
            nonce,
            signed: format!("{},{said}", first.bare),
        };
        (exchange, said)
    }

    /// Looks at the client's proof; gives ours.
    ///
    /// # Errors
    /// Why it proves nothing, for the log.
    pub fn finish(self, octets: &[u8]) -> Result<String, &'static str> {
        let wrong = "a last SCRAM message that is none";
        let text = std::str::from_utf8(octets).map_err(|_| wrong)?;
        let (without_proof, proof) = text.rsplit_once(",p=").ok_or(wrong)?;
        let mut parts = without_proof.split(',');
        let header = parts.next().and_then(|part| part.strip_prefix("c="));
        let nonce = parts.next().and_then(|part| part.strip_prefix("r="));
        if header != Some(&BASE64.encode(&self.header)) {
            return Err("a SCRAM message with another header than at first");
        }
        if nonce != Some(&self.nonce) {
            return Err("a SCRAM message with another nonce");
        }
        let proof = BASE64.decode(proof).map_err(|_| wrong)?;
        let signed = format!("{},{without_proof}", self.signed);
        let signature = self.hash.hmac(&self.secret.stored_key, signed.as_bytes());
        if proof.len() != signature.len() {
            return Err(wrong);
        }
        let key: Vec<u8> = proof.iter().zip(&signature).map(|(p, s)| p ^ s).collect();
        let is_proved = constant_time::verify_slices_are_equal(
            &self.hash.digest(&key),
            &self.secret.stored_key,
        );
        if is_proved.is_err() {
            return Err(super::WRONG);
        }
        let ours = self.hash.hmac(&self.secret.server_key, signed.as_bytes());
        Ok(format!("v={}", BASE64.encode(ours)))
    }
}

impl std::fmt::Debug for Exchange {
    /// Without what would help to guess the password.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Exchange").finish_non_exhaustive()
    }
}

/// The client's side, for tests and our own client.
#[derive(Clone)]
pub struct ClientSide {
    hash: Hash,
    password: Vec<u8>,
    bare: String,
    nonce: String,
    server_signature: Option<Vec<u8>>,
    is_server_proved: bool,
}

impl ClientSide {
    /// Begins for a user; gives the first message.
    pub fn new(hash: Hash, user: &str, password: &[u8]) -> (ClientSide, String) {
        let nonce = BASE64.encode(random(NONCE_BYTES));
        let user = user.replace('=', "=3D").replace(',', "=2C");
        let bare = format!("n={user},r={nonce}");
        let first = format!("n,,{bare}");
        let side = ClientSide {
            hash,
            password: password.to_vec(),
            bare,
            nonce,
            server_signature: None,
            is_server_proved: false,
        };
        (side, first)
    }

    /// Whether the server has proved that it knows the password. One that lets us in without is another.
    pub fn is_server_proved(&self) -> bool {
        self.is_server_proved
    }

    /// Answers what the server says: first with the proof, then, if the server has proved itself, with
    /// nothing.
    ///
    /// # Errors
    /// The server does not speak SCRAM, asks for too much work, or does not know the password itself.
    pub fn answer(&mut self, said: &[u8]) -> Result<Vec<u8>, &'static str> {
        let wrong = "the server does not speak SCRAM";
        let said = std::str::from_utf8(said).map_err(|_| wrong)?;
        if let Some(wanted) = self.server_signature.take() {
            let proof = said.strip_prefix("v=").ok_or(wrong)?;
            let proof = BASE64.decode(proof).map_err(|_| wrong)?;
            return match constant_time::verify_slices_are_equal(&proof, &wanted) {
                Ok(()) => {
                    self.is_server_proved = true;
                    Ok(Vec::new())
                }
                Err(_) => Err("the server does not know the password"),
            };
        }
        let mut parts = said.split(',');
        let mut part = |name: &str| parts.next().and_then(|part| part.strip_prefix(name));
        let (nonce, salt, iterations) = (part("r="), part("s="), part("i="));
        let nonce = nonce.filter(|nonce| nonce.starts_with(&self.nonce) && *nonce != self.nonce);
        let nonce = nonce.ok_or(wrong)?;
        let salt = BASE64.decode(salt.ok_or(wrong)?).map_err(|_| wrong)?;
        let iterations = iterations.and_then(|text| text.parse::<u32>().ok());
        let iterations = iterations
            .filter(|count| (1..=crate::security::limits::ITERATIONS_MAX).contains(count))
            .ok_or("the server asks for too much work, or for none")?;
        let hash = self.hash;
        let salted = hash.salted(&self.password, &salt, iterations);
        let client_key = hash.hmac(&salted, b"Client Key");
        let without_proof = format!("c=biws,r={nonce}");
        let signed = format!("{},{said},{without_proof}", self.bare);
        let signature = hash.hmac(&hash.digest(&client_key), signed.as_bytes());
        let proof: Vec<u8> = client_key
            .iter()
            .zip(&signature)
            .map(|(k, s)| k ^ s)
            .collect();
        let server_key = hash.hmac(&salted, b"Server Key");
        self.server_signature = Some(hash.hmac(&server_key, signed.as_bytes()));
        Ok(format!("{without_proof},p={}", BASE64.encode(proof)).into_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 7677, section 3, and RFC 5802, section 5: user `user`, password `pencil`.
    #[test]
    fn the_examples_of_the_specifications_are_answered_as_there() {
        let examples = [
            (
                Hash::Sha256,
                "n,,n=user,r=rOprNGfwEbeRWgbNEkqO",
                "rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0",
                "W22ZaJ0SNY7soEsUEjb6gQ==",
                "c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,\
                 p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=",
                "v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=",
            ),
            (
                Hash::Sha1,
                "n,,n=user,r=fyko+d2lbbFgONRv9qkxdawL",
                "fyko+d2lbbFgONRv9qkxdawL3rfcNHYJY1ZVvWVs7j",
                "QSXCR+Q6sek8bf92",
                "c=biws,r=fyko+d2lbbFgONRv9qkxdawL3rfcNHYJY1ZVvWVs7j,\
                 p=v0X8v3Bz2T0CJGbJQyF0X+HI4Ts=",
                "v=rmF9pqV8S7suAoZWja4dJRkFsKQ=",
            ),
        ];
        for (hash, first, nonce, salt, last, signature) in examples {
            let salt = BASE64.decode(salt).expect("base64");
            let secret = Secret::salted(hash, b"pencil", salt, 4096);
            let first = First::parse(first.as_bytes()).expect("it is one");
            assert_eq!(first.user, "user");
            let (mut exchange, said) = Exchange::new(hash, &first, secret);
            let ours = exchange.nonce.clone();
            exchange.nonce = nonce.to_owned();
            exchange.signed = exchange.signed.replace(&ours, nonce);
            assert!(said.contains("i=4096"));
            assert_eq!(exchange.finish(last.as_bytes()), Ok(signature.to_owned()));
        }
    }

    #[test]
    fn names_are_unescaped_and_malformed_messages_refused() {
        let first = First::parse(b"y,a=b=2Cc,n=d=3De,r=x,ext").expect("it is one");
        assert_eq!(
            (first.authzid.as_deref(), &*first.user),
            (Some("b,c"), "d=e")
        );
        for wrong in [
            "",
            "n",
            "n,",
            "n,,",
            "n,,n=u",
            "n,,n=u,r=",
            "p=tls-unique,,n=u,r=x",
            "n,b,n=u,r=x",
            "n,,n=u=2,r=x",
            "n,,x=u,r=x",
        ] {
            assert!(First::parse(wrong.as_bytes()).is_err(), "{wrong}");
        }
        assert!(First::parse(b"n,,n=\xff,r=x").is_err());
    }
}
