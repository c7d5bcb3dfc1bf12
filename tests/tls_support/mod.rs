//! Certificates of authorities that the tests make.
#![allow(dead_code, reason = "each test file uses its part")]

use std::fs;
use std::path::PathBuf;

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};

use crate::durable_support::Directory;

/// The OID of a domain component: RFC 4519.
const DOMAIN_COMPONENT: [u64; 7] = [0, 9, 2342, 19_200_300, 100, 1, 25];

/// An authority.
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pub pem: String,
}

impl Authority {
    pub fn new(name: &str) -> Authority {
        let mut params = CertificateParams::new(Vec::new()).expect("parameters");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, name);
        let key = KeyPair::generate().expect("a key");
        let pem = params.self_signed(&key).expect("a certificate").pem();
        Authority {
            issuer: Issuer::new(params, key),
            pem,
        }
    }

    /// Files with a certificate and its key, for a name with a domain component.
    pub fn issue(
        &self,
        directory: &Directory,
        name: &str,
        domain: Option<&str>,
    ) -> (PathBuf, PathBuf) {
        let hosts = vec!["localhost".to_owned(), "127.0.0.1".to_owned()];
        let mut params = CertificateParams::new(hosts).expect("parameters");
        if let Some(component) = domain {
            let oid = DnType::CustomDnType(DOMAIN_COMPONENT.to_vec());
            params.distinguished_name.push(oid, component);
        }
        params.distinguished_name.push(DnType::CommonName, name);
        let key = KeyPair::generate().expect("a key");
        let certificate = params.signed_by(&key, &self.issuer).expect("a certificate");
        let file = |end: &str| directory.path().join(format!("{name}.{end}"));
        fs::write(file("pem"), certificate.pem()).expect("written");
        fs::write(file("key"), key.serialize_pem()).expect("written");
        (file("pem"), file("key"))
    }
}

/// A directory with a certificate of a broker and its authority, `ca.pem`.
pub fn prepared() -> (Directory, Authority) {
    let directory = Directory::new();
    let authority = Authority::new("Test authority");
    fs::write(directory.path().join("ca.pem"), &authority.pem).expect("written");
    authority.issue(&directory, "broker", None);
    (directory, authority)
}
