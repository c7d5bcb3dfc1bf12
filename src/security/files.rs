//! Files that say who a peer is and what it may: small, and read whole.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use x509_parser::prelude::{FromDer, X509Certificate, X509Version};

use super::limits::KEY_FILE_BYTES_MAX;

/// What is in a file; None if that is more than so many octets, which are not read then.
///
/// # Errors
/// It cannot be read.
pub fn read(path: &Path, octets_max: u64) -> io::Result<Option<Vec<u8>>> {
    let mut octets = Vec::new();
    let mut bounded = File::open(path)?.take(octets_max + 1);
    bounded.read_to_end(&mut octets)?;
    Ok((octets.len() as u64 <= octets_max).then_some(octets))
}

/// What is in a file with a key or with certificates.
///
/// # Errors
/// It cannot be read, or has more than [`KEY_FILE_BYTES_MAX`] octets. The text names the file.
pub fn read_key(path: &Path) -> Result<Vec<u8>, String> {
    let shown = path.display();
    let octets = read(path, KEY_FILE_BYTES_MAX).map_err(|error| format!("{shown}: {error}"))?;
    octets.ok_or_else(|| format!("{shown}: the file is too large"))
}

/// A certificate that is shown to others, in a file (PEM) with those between it and an authority. Others
/// take none but those of version 3, the authority's own left aside.
///
/// # Errors
/// As for [`certificates`], or one is of an older version. The text says what to do.
pub fn shown_certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let found = certificates(path)?;
    for octets in &found {
        // What is none is told by those who use it.
        let Ok((_, certificate)) = X509Certificate::from_der(octets) else {
            continue;
        };
        let is_authority = certificate.subject() == certificate.issuer();
        if certificate.version() != X509Version::V3 && !is_authority {
            return Err(format!(
                "{}: the certificate of {} is of X.509 version {}, and nobody takes any but version 3. Make \
                 it anew with an extension: openssl x509 -req ... -extfile FILE, with \
                 subjectAltName=DNS:HOST in that file",
                path.display(),
                certificate.subject(),
                certificate.version().0 + 1
            ));
        }
    }
    Ok(found)
}

/// The certificates in a file (PEM), of which there is at least one.
///
/// # Errors
/// As for [`read_key`], or there is none. The text names the file.
pub fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let octets = read_key(path)?;
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&octets).collect();
    let shown = path.display();
    match found {
        Ok(found) if !found.is_empty() => Ok(found),
        Ok(_) => Err(format!("{shown}: there is no certificate in it")),
        Err(error) => Err(format!("{shown}: {error}")),
    }
}
