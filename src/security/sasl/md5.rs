//! CRAM-MD5 (RFC 2195) and DIGEST-MD5 (RFC 2831, without a security layer), for old clients that have
//! nothing better. Both need the password itself, and MD5 is no longer fit for more than this.

use aws_lc_rs::constant_time;
use md5::{Digest, Md5};

use super::{WRONG, random, work};
use crate::security::limits::{DIRECTIVES_MAX, NONCE_BYTES};

fn md5(over: &[u8]) -> [u8; 16] {
    work::note(1);
    Md5::digest(over).into()
}

fn hex(octets: &[u8]) -> String {
    octets.iter().map(|octet| format!("{octet:02x}")).collect()
}

fn nonce() -> String {
    hex(&random(NONCE_BYTES))
}

/// HMAC (RFC 2104) with MD5, whose blocks have 64 octets.
fn hmac_md5(key: &[u8], over: &[u8]) -> [u8; 16] {
    let mut block = [0; 64];
    // Of whatever length the key is: whether a password is long is not to be told by time.
    let hashed = md5(key);
    let key = if key.len() > block.len() {
        &hashed
    } else {
        key
    };
    block.iter_mut().zip(key).for_each(|(to, from)| *to = *from);
    let inner = md5(&[&block.map(|octet| octet ^ 0x36)[..], over].concat());
    md5(&[&block.map(|octet| octet ^ 0x5c)[..], &inner].concat())
}

/// A CRAM-MD5 exchange.
#[derive(Clone, Debug)]
pub struct Cram {
    challenge: String,
}

impl Cram {
    /// Begins; gives the challenge.
    pub fn new(realm: &str) -> (Cram, String) {
        let challenge = format!("<{}@{realm}>", nonce());
        let cram = Cram {
            challenge: challenge.clone(),
        };
        (cram, challenge)
    }

    /// Who answers, and the answer.
    ///
    /// # Errors
    /// It is none, for the log.
    pub fn answer(response: &[u8]) -> Result<(&str, &str), &'static str> {
        let text = std::str::from_utf8(response).ok();
        let answer = text.and_then(|text| text.rsplit_once(' '));
        answer.ok_or("a CRAM-MD5 response that is not a user and a digest")
    }

    /// Whether an answer is made with this password.
    ///
    /// # Errors
    /// It is not, for the log.
    pub fn check(&self, digest: &str, password: &[u8]) -> Result<(), &'static str> {
        let wanted = hex(&hmac_md5(password, self.challenge.as_bytes()));
        constant_time::verify_slices_are_equal(wanted.as_bytes(), digest.as_bytes())
            .map_err(|_| WRONG)
    }
}

/// A DIGEST-MD5 exchange.
#[derive(Clone, Debug)]
pub struct DigestMd5 {
    realm: String,
    nonce: String,
}

/// A client's answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DigestAnswer {
    /// Who it is.
    pub user: String,
    /// In which realm.
    pub realm: String,
    /// Whom it wants to be, if it says so.
    pub authzid: Option<String>,
    cnonce: String,
    nonce: String,
    count: String,
    quality: String,
    uri: String,
    response: String,
}

impl DigestMd5 {
    /// Begins; gives the challenge.
    pub fn new(realm: &str) -> (DigestMd5, String) {
        let nonce = nonce();
        let challenge = format!(
            "nonce=\"{nonce}\",realm=\"{realm}\",qop=\"auth\",charset=utf-8,algorithm=md5-sess"
        );
        let realm = realm.to_owned();
        (DigestMd5 { realm, nonce }, challenge)
    }

    /// Reads an answer.
    ///
    /// # Errors
    /// What is wrong with it, for the log.
    pub fn answer(&self, response: &[u8]) -> Result<DigestAnswer, &'static str> {
        let wrong = "a DIGEST-MD5 response that is not a list of directives";
        let text = std::str::from_utf8(response).map_err(|_| wrong)?;
        let mut answer = DigestAnswer {
            realm: self.realm.clone(),
            quality: "auth".to_owned(),
            ..DigestAnswer::default()
        };
        for (name, value) in directives(text).ok_or(wrong)? {
            let field = match name.as_str() {
                "username" => &mut answer.user,
                "realm" => &mut answer.realm,
                "nonce" => &mut answer.nonce,
                "cnonce" => &mut answer.cnonce,
                "nc" => &mut answer.count,
                "qop" => &mut answer.quality,
                "digest-uri" => &mut answer.uri,
                "response" => &mut answer.response,
                "authzid" => answer.authzid.insert(String::new()),
                _ => continue,
            };
            *field = value;
        }
        if answer.nonce != self.nonce || answer.count != "00000001" {
            return Err("a DIGEST-MD5 response to another challenge");
        }
        match answer.quality == "auth" && !answer.user.is_empty() {
            true => Ok(answer),
            false => Err(wrong),
        }
    }
}

impl DigestAnswer {
    fn hashed(&self, password: &[u8], method: &str) -> String {
        let who = [
            self.user.as_bytes(),
            b":",
            self.realm.as_bytes(),
            b":",
            password,
        ];
        let mut first = md5(&who.concat()).to_vec();
        first.extend(format!(":{}:{}", self.nonce, self.cnonce).bytes());
        if let Some(authzid) = &self.authzid {
            first.extend(format!(":{authzid}").bytes());
        }
        let second = format!("{method}:{}", self.uri);
        let all = format!(
            "{}:{}:{}:{}:{}:{}",
            hex(&md5(&first)),
            self.nonce,
            self.count,
            self.cnonce,
            self.quality,
            hex(&md5(second.as_bytes()))
        );
        hex(&md5(all.as_bytes()))
    }

    /// Whether it is made with this password; gives what proves that we know it too.
    ///
    /// # Errors
    /// It is not, for the log.
    pub fn check(&self, password: &[u8]) -> Result<String, &'static str> {
        let wanted = self.hashed(password, "AUTHENTICATE");
        let is_same =
            constant_time::verify_slices_are_equal(wanted.as_bytes(), self.response.as_bytes());
        match is_same {
            Ok(()) => Ok(format!("rspauth={}", self.hashed(password, ""))),
            Err(_) => Err(WRONG),
        }
    }
}

/// `name=value` or `name="value"`, with commas between them. At most [`DIRECTIVES_MAX`], each once.
fn directives(text: &str) -> Option<Vec<(String, String)>> {
    let mut found: Vec<(String, String)> = Vec::new();
    let mut rest = text.trim();
    while !rest.is_empty() {
        let (name, after) = rest.split_once('=')?;
        let name = name.trim();
        let (value, after) = match after.strip_prefix('"') {
            Some(quoted) => unquoted(quoted)?,
            None => {
                let end = after.find(',').unwrap_or(after.len());
                (after.get(..end)?.trim().to_owned(), after.get(end..)?)
            }
        };
        let is_new = found.iter().all(|(known, _)| known != name);
        if !is_new || found.len() >= DIRECTIVES_MAX {
            return None;
        }
        found.push((name.to_owned(), value));
        let after = after.trim_start();
        rest = match after.strip_prefix(',') {
            Some(next) => next.trim_start(),
            None if after.is_empty() => "",
            None => return None,
        };
    }
    Some(found)
}

/// A quoted value after its first quote, and what follows its last.
fn unquoted(text: &str) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '"' => return Some((value, chars.as_str())),
            '\\' => value.push(chars.next()?),
            c => value.push(c),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_of_rfc_2195_is_answered_as_there() {
        let cram = Cram {
            challenge: "<1896.697170952@postoffice.reston.mci.net>".to_owned(),
        };
        let response = b"tim b913a602c7eda7a495b4e6e7334d3890";
        let (user, digest) = Cram::answer(response).expect("it is one");
        assert_eq!(user, "tim");
        assert_eq!(cram.check(digest, b"tanstaaftanstaaf"), Ok(()));
        assert_eq!(cram.check(digest, b"other"), Err(WRONG));
        assert!(Cram::answer(b"tim").is_err());
    }

    #[test]
    fn the_example_of_rfc_2831_is_answered_as_there() {
        let exchange = DigestMd5 {
            realm: "elwood.innosoft.com".to_owned(),
            nonce: "OA6MG9tEQGm2hh".to_owned(),
        };
        let response = br#"charset=utf-8,username="chris",realm="elwood.innosoft.com",
            nonce="OA6MG9tEQGm2hh",nc=00000001,cnonce="OA6MHXh6VqTrRk",
            digest-uri="imap/elwood.innosoft.com",
            response=d388dad90d4bbd760a152321f2143af7,qop=auth"#;
        let answer = exchange.answer(response).expect("it is one");
        assert_eq!(answer.user, "chris");
        let proof = "rspauth=ea40f60335c427b5527b84dbabcdfffd".to_owned();
        assert_eq!(answer.check(b"secret"), Ok(proof));
        assert_eq!(answer.check(b"other"), Err(WRONG));
    }

    #[test]
    fn directives_are_read_or_refused() {
        let read = directives(r#"a=b , c="d\",e" ,f="#).expect("they are some");
        let read: Vec<(&str, &str)> = read.iter().map(|(n, v)| (&**n, &**v)).collect();
        assert_eq!(read, [("a", "b"), ("c", "d\",e"), ("f", "")]);
        for wrong in ["a", "a=\"b", "a=\"b\"c", "a=1,a=2", "a=\"b\\"] {
            assert!(directives(wrong).is_none(), "{wrong}");
        }
    }
}
