//! Certificates with which members prove that they belong: read and looked at when a member starts, since
//! one that others will not accept shows only at them, in the words of TLS.

use std::path::Path;
use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::ServerCertVerifier;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::ClientCertVerifier;
use rustls::version::TLS13;
use rustls::{CertificateError, ClientConfig, Error, RootCertStore, ServerConfig};

use super::secure::{Configs, alone};
use crate::security::files::{certificates, read_key, shown_certificates};
use crate::security::tls::crypto;

/// Seconds of a day.
const DAY: u64 = 86_400;

/// Files of a member, all in PEM.
#[derive(Clone, Copy, Debug)]
pub struct Files<'a> {
    /// `--cluster-tls-cert`: its certificate, and those between that and the authority's.
    pub cert: &'a Path,
    /// `--cluster-tls-key`: the private key of the certificate.
    pub key: &'a Path,
    /// `--cluster-tls-ca`: certificates of the authorities that sign those of members.
    pub ca: &'a Path,
}

/// How a member with these files speaks TLS, with certificates asked for on both sides. `hosts` are the
/// names and addresses under which others reach it, the one that it tells them first.
///
/// # Errors
/// A file cannot be read or is not what it should be, or other members would not accept the certificate:
/// the text names the file and what is to be done.
pub(super) fn configs(files: Files<'_>, hosts: &[String]) -> Result<Configs, String> {
    let chain = shown_certificates(files.cert);
    let chain = chain.map_err(|why| format!("--cluster-tls-cert {why}"))?;
    let key = PrivateKeyDer::from_pem_slice(&read_key(files.key)?)
        .map_err(|error| format!("--cluster-tls-key {}: {error}", files.key.display()))?;
    let mut roots = RootCertStore::empty();
    for root in certificates(files.ca)? {
        let added = roots.add(root);
        added.map_err(|error| format!("--cluster-tls-ca {}: {error}", files.ca.display()))?;
    }
    let roots = Arc::new(roots);
    let failed = |error: Error| wrong_key(files, &error);
    let unusable =
        |error: &dyn std::fmt::Display| format!("--cluster-tls-ca {}: {error}", files.ca.display());
    let verifier = WebPkiClientVerifier::builder_with_provider(roots.clone(), crypto()).build();
    let verifier = verifier.map_err(|error| unusable(&error))?;
    let servers = WebPkiServerVerifier::builder_with_provider(roots.clone(), crypto()).build();
    let servers = servers.map_err(|error| unusable(&error))?;
    let server = ServerConfig::builder_with_provider(crypto())
        .with_protocol_versions(&[&TLS13])
        .map_err(failed)?
        .with_client_cert_verifier(verifier.clone())
        .with_single_cert(chain.clone(), key.clone_key())
        .map_err(failed)?;
    examine(files, &chain, hosts, (&*servers, &*verifier))?;
    let client = ClientConfig::builder_with_provider(crypto())
        .with_protocol_versions(&[&TLS13])
        .map_err(failed)?
        .with_root_certificates(roots)
        .with_client_auth_cert(chain, key)
        .map_err(failed)?;
    Ok(alone(client, server))
}

fn wrong_key(files: Files<'_>, error: &Error) -> String {
    let (cert, key) = (files.cert.display(), files.key.display());
    match error {
        Error::InconsistentKeys(_) => format!(
            "--cluster-tls-key {key} does not fit --cluster-tls-cert {cert}: it is the private key of another \
             certificate. The two files have to be those that were made together"
        ),
        error => format!("--cluster-tls-cert {cert}: {error}"),
    }
}

/// Looks at the certificate as other members will, when this one dials and when it is dialled.
fn examine(
    files: Files<'_>,
    chain: &[CertificateDer<'static>],
    hosts: &[String],
    (servers, clients): (&dyn ServerCertVerifier, &dyn ClientCertVerifier),
) -> Result<(), String> {
    let Some((own, between)) = chain.split_first() else {
        return Ok(());
    };
    let now = UnixTime::now();
    let dials = clients.verify_client_cert(own, between, now);
    dials.map_err(|error| objection(files, &error))?;
    let is_for = |host: &String| match ServerName::try_from(host.clone()) {
        Ok(name) => servers
            .verify_server_cert(own, between, &name, &[], now)
            .map(drop),
        // No certificate is for what is no name.
        Err(_) => Err(CertificateError::NotValidForName.into()),
    };
    let verdicts: Vec<Result<(), Error>> = hosts.iter().map(is_for).collect();
    for error in verdicts.iter().filter_map(|verdict| verdict.as_ref().err()) {
        if !is_of_names(error) {
            return Err(objection(files, error));
        }
    }
    let (cert, listed) = (files.cert.display(), hosts.join(", "));
    if !hosts.is_empty() && verdicts.iter().all(Result::is_err) {
        return Err(format!(
            "--cluster-tls-cert {cert}: the certificate is for none of the names and addresses under which \
             other members reach this one ({listed}). One of its subject alternative names has to be the host \
             of --cluster-listen"
        ));
    }
    if let (Some(host), Some(Err(_))) = (hosts.first(), verdicts.first()) {
        tracing::warn!(
            target: "Security",
            "--cluster-tls-cert {cert}: the certificate is not for {host}, the host of --cluster-listen: \
             members that do not list this one under a name of the certificate will not reach it"
        );
    }
    Ok(())
}

fn is_of_names(error: &Error) -> bool {
    use CertificateError::{NotValidForName, NotValidForNameContext};
    matches!(
        error,
        Error::InvalidCertificate(NotValidForName | NotValidForNameContext { .. })
    )
}

/// Why other members would not accept the certificate, and what is to be done.
fn objection(files: Files<'_>, error: &Error) -> String {
    let (cert, ca) = (files.cert.display(), files.ca.display());
    let days = |seconds: u64| match seconds / DAY {
        0 => format!("{seconds} s"),
        days => format!("{days} days"),
    };
    let Error::InvalidCertificate(error) = error else {
        return format!("--cluster-tls-cert {cert}: {error}");
    };
    let why = match error {
        CertificateError::ExpiredContext { time, not_after } => format!(
            "it, or one that signs it, has expired {} ago by the clock of this machine. It has to be renewed, \
             or the clock be set",
            days(time.as_secs().saturating_sub(not_after.as_secs()))
        ),
        CertificateError::Expired => "it, or one that signs it, has expired. It has to be renewed".to_owned(),
        CertificateError::NotValidYetContext { time, not_before } => format!(
            "it, or one that signs it, is not valid yet, and will be in {} by the clock of this machine. The \
             clock has to be set, or the certificate be made anew",
            days(not_before.as_secs().saturating_sub(time.as_secs()))
        ),
        CertificateError::NotValidYet => {
            "it, or one that signs it, is not valid yet. The clock of this machine has to be set, or the \
             certificate be made anew"
                .to_owned()
        }
        CertificateError::UnknownIssuer | CertificateError::BadSignature => format!(
            "no authority in --cluster-tls-ca {ca} has signed it. It has to be signed by one of these, with \
             all certificates between the two in its file"
        ),
        CertificateError::InvalidPurpose | CertificateError::InvalidPurposeContext { .. } => {
            "its extended key usage does not allow what members need: both server and client authentication, \
             since each member dials and is dialled. It has to be made anew with both, or without the extension"
                .to_owned()
        }
        error => error.to_string(),
    };
    format!("--cluster-tls-cert {cert}: other members would not accept this certificate: {why}")
}
