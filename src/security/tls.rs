//! TLS for clients: certificates from files, and whom a client's certificate names.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::RwLock;
use rustls::crypto::{CryptoProvider, aws_lc_rs as provider};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{
    CertificateError, ClientConfig, Error, RootCertStore, ServerConfig, ServerConnection,
};
use x509_parser::oid_registry::OID_DOMAIN_COMPONENT;
use x509_parser::prelude::{FromDer, X509Certificate};

use super::files::{certificates, read_key, shown_certificates};

/// What was said of TLS. All files are PEM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The broker's certificate, and those between it and an authority.
    pub cert: PathBuf,
    /// Its key.
    pub key: PathBuf,
    /// Authorities whose client certificates count; without it none is asked for.
    pub ca: Option<PathBuf>,
    /// Whether a client without a certificate is refused.
    pub requires_client_certificate: bool,
}

/// The protocol of the web that is spoken here, as ALPN (RFC 7301) calls it.
const HTTP: &[u8] = b"http/1.1";

/// TLS of a broker, whose files can be read again.
#[derive(Debug)]
pub struct Tls {
    settings: Settings,
    configs: RwLock<Configs>,
}

/// How new connections begin, with the same certificates.
#[derive(Debug)]
struct Configs {
    amqp: Arc<ServerConfig>,
    /// A client that says what it speaks is told that it is [`HTTP`], or refused.
    http: Arc<ServerConfig>,
}

impl Configs {
    fn load(settings: &Settings) -> Result<Configs, String> {
        let amqp = load(settings)?;
        let mut http = amqp.clone();
        http.alpn_protocols = vec![HTTP.to_vec()];
        Ok(Configs {
            amqp: Arc::new(amqp),
            http: Arc::new(http),
        })
    }
}

impl Tls {
    /// Reads the files.
    ///
    /// # Errors
    /// Which file cannot be read, or what does not fit.
    pub fn start(settings: Settings) -> Result<Tls, String> {
        let configs = RwLock::new(Configs::load(&settings)?);
        Ok(Tls { settings, configs })
    }

    /// Reads the files again. Connections that are there go on as they began, and so do new ones when
    /// something is wrong.
    ///
    /// # Errors
    /// As for [`Tls::start`].
    pub fn reload(&self) -> Result<(), String> {
        let configs = Configs::load(&self.settings)?;
        *self.configs.write() = configs;
        Ok(())
    }

    /// How new connections of AMQP begin.
    pub fn config(&self) -> Arc<ServerConfig> {
        self.configs.read().amqp.clone()
    }

    /// How new connections of HTTP begin.
    pub fn http_config(&self) -> Arc<ServerConfig> {
        self.configs.read().http.clone()
    }
}

/// What everything here is encrypted with.
pub fn crypto() -> Arc<CryptoProvider> {
    Arc::new(provider::default_provider())
}

fn load(settings: &Settings) -> Result<ServerConfig, String> {
    let chain =
        shown_certificates(&settings.cert).map_err(|why| format!("--ssl-cert-file: {why}"))?;
    let shown = settings.key.display();
    let octets = read_key(&settings.key).map_err(|why| format!("--ssl-key-file: {why}"))?;
    let key =
        PrivateKeyDer::from_pem_slice(&octets).map_err(|error| format!("{shown}: {error}"))?;
    let failed = |error: &dyn std::fmt::Display| format!("{}: {error}", settings.cert.display());
    let builder = ServerConfig::builder_with_provider(crypto())
        .with_safe_default_protocol_versions()
        .map_err(|error| failed(&error))?;
    let builder = match &settings.ca {
        None if settings.requires_client_certificate => {
            return Err(
                "client certificates are required, and no authority is named (--ssl-ca-file)"
                    .to_owned(),
            );
        }
        None => builder.with_no_client_auth(),
        Some(ca) => {
            let roots = Arc::new(roots(ca)?);
            let verifier = WebPkiClientVerifier::builder_with_provider(roots, crypto());
            let verifier = match settings.requires_client_certificate {
                true => verifier,
                false => verifier.allow_unauthenticated(),
            };
            let built = verifier.build();
            builder.with_client_cert_verifier(
                built.map_err(|error| format!("{}: {error}", ca.display()))?,
            )
        }
    };
    builder
        .with_single_cert(chain, key)
        .map_err(|error| failed(&error))
}

fn roots(ca: &Path) -> Result<RootCertStore, String> {
    let mut roots = RootCertStore::empty();
    for root in certificates(ca)? {
        let added = roots.add(root);
        added.map_err(|error| format!("{}: {error}", ca.display()))?;
    }
    Ok(roots)
}

/// How a client of ours begins: it trusts the authorities in a file, and shows a certificate if there
/// is one (certificate, key).
///
/// # Errors
/// As for [`Tls::start`].
pub fn client(ca: &Path, identity: Option<(&Path, &Path)>) -> Result<ClientConfig, String> {
    let builder = ClientConfig::builder_with_provider(crypto())
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .with_root_certificates(roots(ca)?);
    let Some((cert, key)) = identity else {
        return Ok(builder.with_no_client_auth());
    };
    let shown = key.display();
    let key = PrivateKeyDer::from_pem_slice(&read_key(key)?)
        .map_err(|error| format!("{shown}: {error}"))?;
    builder
        .with_client_auth_cert(shown_certificates(cert)?, key)
        .map_err(|error| format!("{}: {error}", cert.display()))
}

/// Why the certificate of a client, or that it has none, ended a connection; None when something else
/// did.
pub fn refused_certificate(error: &std::io::Error) -> Option<String> {
    let error = error.get_ref()?.downcast_ref::<Error>()?;
    match error {
        Error::NoCertificatesPresented => Some("the client shows no certificate".to_owned()),
        Error::InvalidCertificate(CertificateError::UnknownIssuer) => {
            Some("no authority in --ssl-ca-file has signed the client's certificate".to_owned())
        }
        Error::InvalidCertificate(why) => {
            let why = why.to_string();
            let hint = match why.contains("UnsupportedCertVersion") {
                true => " (it has to be of X.509 version 3)",
                false => "",
            };
            Some(format!("the client's certificate is refused: {why}{hint}"))
        }
        _ => None,
    }
}

/// Whom a certificate names, as in qpidd: the common name, and the domain components behind an `@` with
/// dots between them, the last of the subject first. None: nobody.
pub fn identity(certificate: &CertificateDer<'_>) -> Option<String> {
    let (_, certificate) = X509Certificate::from_der(certificate).ok()?;
    let subject = certificate.subject();
    let name = subject.iter_common_name().last()?.as_str().ok()?;
    let components = subject.iter_by_oid(&OID_DOMAIN_COMPONENT);
    let mut domain: Vec<&str> = Vec::new();
    for component in components {
        domain.push(component.as_str().ok()?);
    }
    domain.reverse();
    match (name.is_empty(), domain.is_empty()) {
        (true, _) => None,
        (false, true) => Some(name.to_owned()),
        (false, false) => Some(format!("{name}@{}", domain.join("."))),
    }
}

/// Whom the certificate names that a client has shown in its handshake. None: it showed none, or one that
/// names nobody.
pub fn shown_identity(session: &ServerConnection) -> Option<String> {
    identity(session.peer_certificates()?.first()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of DC=com, DC=example, CN=ann, in this order.
    const OF_A_DOMAIN: &str = "-----BEGIN CERTIFICATE-----
MIIBzjCCAXWgAwIBAgIUNzca1WkUwL+mv7xHLfeS4GDdN4AwCgYIKoZIzj0EAwIwPDETMBEGCgmSJomT8ixk
ARkWA2NvbTEXMBUGCgmSJomT8ixkARkWB2V4YW1wbGUxDDAKBgNVBAMMA2FubjAgFw0yNjExMzAwOTEzMzZa
GA8yMTI2MTEwNjA5MTMzNlowPDETMBEGCgmSJomT8ixkARkWA2NvbTEXMBUGCgmSJomT8ixkARkWB2V4YW1w
bGUxDDAKBgNVBAMMA2FubjBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABHuwtWxbwxw5LjUvq9ExZ5bUTtyT
adKOFqEf5GmuYA/AvGeKRBJzA8sGBLBUJ6Gj+WLcW5Zt7IecD9gBuMgU13qjUzBRMB0GA1UdDgQWBBRFrsDB
1vgPE+sm9dPNvEB0FYwQhDAfBgNVHSMEGDAWgBRFrsDB1vgPE+sm9dPNvEB0FYwQhDAPBgNVHRMBAf8EBTAD
AQH/MAoGCCqGSM49BAMCA0cAMEQCIGlD26BEwzOhieNtqZMXMPv7UOeCJlE9cAvBYjh9+UyyAiAbjZtcYF2B
qDcZnlMtW3XPGAg3VV4bk315r1dNjWur3A==
-----END CERTIFICATE-----";

    #[test]
    fn a_certificate_names_common_name_and_domain_components() {
        let certificate = CertificateDer::from_pem_slice(OF_A_DOMAIN.as_bytes());
        let certificate = certificate.expect("it is one");
        assert_eq!(identity(&certificate).as_deref(), Some("ann@example.com"));
        assert_eq!(identity(&CertificateDer::from(vec![0x30, 0x00])), None);
    }
}
