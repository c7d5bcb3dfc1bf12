//! Who belongs to the cluster. Members speak TLS 1.3 with each other, and prove that they belong in one
//! of two ways, or in both:
//!
//! - by a *key* that all of them have in a file. Certificates are made at start and say nothing; both
//!   sides prove that they know the key by an HMAC over what TLS exports of this very connection, over
//!   who they are and who speaks. Somebody in the middle has two connections, which export different
//!   octets, so what one side proves is of no use to the other.
//! - by *certificates* of an authority, on both sides.
//!
//! Without either, members are talked to on loopback only, and in the clear.

use std::fs;
use std::io;
use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;

use aws_lc_rs::hmac;
use rustls::client::Resumption;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, ServerName, UnixTime};
use rustls::version::TLS13;
use rustls::{ClientConfig, DigitallySignedStruct, Error, ServerConfig, SignatureScheme};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::{TlsAcceptor, TlsConnector};

use super::certificates::{self, Files};
use crate::broker::ids::MemberId;
use crate::security::files;
use crate::security::tls::crypto;
use crate::server::cluster_options::ClusterOptions;
use crate::server::limits;

/// Octets of what TLS exports for a proof.
const BINDING_BYTES: usize = 32;

/// What TLS exports for us, apart from what it does for others.
const LABEL: &[u8] = b"EXPORTER-FerryMQ-cluster-proof";

/// A connection to a member, whatever carries it.
pub trait Duplex: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> Duplex for S {}

/// A connection and what is only of this one.
pub struct Secured {
    /// What carries octets.
    pub stream: Box<dyn Duplex>,
    binding: [u8; BINDING_BYTES],
}

/// Who speaks: each side's proof is good for that side only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Whoever made the connection.
    Dialer,
    /// Whoever took it.
    Listener,
}

/// The two members of a connection.
#[derive(Clone, Copy, Debug)]
pub struct Pair {
    /// Whoever made it.
    pub dialer: MemberId,
    /// Whoever took it.
    pub listener: MemberId,
}

/// How members are talked to.
pub struct Security {
    connector: Option<TlsConnector>,
    acceptor: Option<TlsAcceptor>,
    key: Option<hmac::Key>,
}

impl Security {
    /// As the options say.
    ///
    /// # Errors
    /// A file cannot be read or is not what it should be, or the options fit together badly.
    pub fn new(options: &ClusterOptions) -> Result<Security, String> {
        let key = options.cluster_key_file.as_deref();
        let key = key.map(read_key).transpose()?;
        let ClusterOptions {
            cluster_tls_cert,
            cluster_tls_key,
            cluster_tls_ca,
            ..
        } = options;
        let (client, server) = match (cluster_tls_cert, cluster_tls_key, cluster_tls_ca) {
            (Some(cert), Some(key), Some(ca)) => {
                let files = Files { cert, key, ca };
                certificates::configs(files, &hosts(options))?
            }
            (None, None, None) if key.is_some() => self_signed()?,
            (None, None, None) => {
                return Ok(Security {
                    connector: None,
                    acceptor: None,
                    key: None,
                });
            }
            _ => {
                let all = "--cluster-tls-cert, --cluster-tls-key and --cluster-tls-ca";
                return Err(format!("{all} go together"));
            }
        };
        Ok(Security {
            connector: Some(TlsConnector::from(Arc::new(client))),
            acceptor: Some(TlsAcceptor::from(Arc::new(server))),
            key,
        })
    }

    /// Whether members are talked to in the clear and believed.
    pub fn is_open(&self) -> bool {
        self.connector.is_none()
    }

    /// Secures a connection that was made to a host.
    ///
    /// # Errors
    /// The other side speaks no TLS 1.3, or has no certificate of the authority.
    pub async fn connect(&self, stream: TcpStream, host: &str) -> io::Result<Secured> {
        let Some(connector) = &self.connector else {
            return Ok(in_the_clear(stream));
        };
        let name = ServerName::try_from(host.to_owned());
        let name = name.map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))?;
        let stream = connector.connect(name, stream).await?;
        let (_, tls) = stream.get_ref();
        let binding = tls.export_keying_material([0; BINDING_BYTES], LABEL, None);
        secured(stream, binding)
    }

    /// Secures a connection that was taken.
    ///
    /// # Errors
    /// As [`Security::connect`].
    pub async fn accept(&self, stream: TcpStream) -> io::Result<Secured> {
        let Some(acceptor) = &self.acceptor else {
            return Ok(in_the_clear(stream));
        };
        let stream = acceptor.accept(stream).await?;
        let (_, tls) = stream.get_ref();
        let binding = tls.export_keying_material([0; BINDING_BYTES], LABEL, None);
        secured(stream, binding)
    }

    /// What a side says to prove that it knows the key; nothing where there is none.
    pub fn proof(&self, of: Side, pair: Pair, secured: &Secured) -> Vec<u8> {
        let Some(key) = &self.key else {
            return Vec::new();
        };
        hmac::sign(key, &proved(of, pair, secured))
            .as_ref()
            .to_vec()
    }

    /// Whether a side has proved that it knows the key.
    pub fn is_proved(&self, of: Side, pair: Pair, secured: &Secured, proof: &[u8]) -> bool {
        match &self.key {
            Some(key) => hmac::verify(key, &proved(of, pair, secured), proof).is_ok(),
            None => proof.is_empty(),
        }
    }
}

/// A connection with TLS, if both sides have made of it what is only of this one.
fn secured(
    stream: impl Duplex + 'static,
    binding: Result<[u8; BINDING_BYTES], rustls::Error>,
) -> io::Result<Secured> {
    let binding = binding.map_err(io::Error::other)?;
    let stream = Box::new(stream);
    Ok(Secured { stream, binding })
}

fn in_the_clear(stream: TcpStream) -> Secured {
    Secured {
        stream: Box::new(stream),
        binding: [0; BINDING_BYTES],
    }
}

/// The names and addresses under which other members reach this one, as far as it knows: where it listens,
/// which is what it tells them, and what is listed for all of them. Each is there once.
fn hosts(options: &ClusterOptions) -> Vec<String> {
    let listen = options.cluster_listen.iter();
    let mut hosts: Vec<String> = Vec::new();
    for address in listen.chain(&options.cluster_peers) {
        if !hosts.contains(&address.host) {
            hosts.push(address.host.clone());
        }
    }
    hosts
}

/// What a proof is over.
fn proved(of: Side, pair: Pair, secured: &Secured) -> Vec<u8> {
    let side: &[u8] = match of {
        Side::Dialer => b"FerryMQ cluster proof 1 dialer",
        Side::Listener => b"FerryMQ cluster proof 1 listener",
    };
    let Pair { dialer, listener } = pair;
    [
        side,
        &secured.binding,
        &dialer.0.to_be_bytes(),
        &listener.0.to_be_bytes(),
    ]
    .concat()
}

/// The key in a file; a line's end behind it does not count, since editors put one there.
fn read_key(path: &Path) -> Result<hmac::Key, String> {
    let octets = files::read_key(path)?;
    let key = octets.trim_ascii_end();
    if key.len() < limits::CLUSTER_KEY_BYTES_MIN {
        return Err(format!(
            "--cluster-key-file {}: a cluster key has at least {} octets",
            path.display(),
            limits::CLUSTER_KEY_BYTES_MIN
        ));
    }
    warn_if_open_to_all(path);
    Ok(hmac::Key::new(hmac::HMAC_SHA256, key))
}

fn warn_if_open_to_all(path: &Path) {
    use std::os::unix::fs::PermissionsExt;
    let mode = fs::metadata(path).map_or(0, |data| data.permissions().mode());
    if mode & 0o077 != 0 {
        tracing::warn!(
            target: "Security",
            "{}: others on this machine can read the cluster key (mode {:o})",
            path.display(),
            mode & 0o777
        );
    }
}

pub(super) type Configs = (ClientConfig, ServerConfig);

/// Certificates that nobody looks at: who belongs is proved by the key.
fn self_signed() -> Result<Configs, String> {
    let failed = |error: &dyn std::fmt::Display| format!("no certificate can be made: {error}");
    let made = rcgen::generate_simple_self_signed(vec!["ferrymq.invalid".to_owned()]);
    let made = made.map_err(|error| failed(&error))?;
    let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
    let server = ServerConfig::builder_with_provider(crypto())
        .with_protocol_versions(&[&TLS13])
        .map_err(|error| failed(&error))?
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], PrivateKeyDer::from(key))
        .map_err(|error| failed(&error))?;
    let client = ClientConfig::builder_with_provider(crypto())
        .with_protocol_versions(&[&TLS13])
        .map_err(|error| failed(&error))?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(AnyCertificate(crypto())))
        .with_no_client_auth();
    Ok(alone(client, server))
}

/// Each connection stands for itself: none goes on from another.
pub(super) fn alone(mut client: ClientConfig, mut server: ServerConfig) -> Configs {
    client.resumption = Resumption::disabled();
    server.send_tls13_tickets = 0;
    (client, server)
}

/// Whether every address of a host is of this machine alone.
pub fn is_loopback(addresses: &[IpAddr]) -> bool {
    !addresses.is_empty() && addresses.iter().all(|address| address.is_loopback())
}

/// Takes every certificate whose owner has its key.
#[derive(Debug)]
struct AnyCertificate(Arc<CryptoProvider>);

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Err(Error::General("members speak TLS 1.3".to_owned()))
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let known = &self.0.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signature, known)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
