//! Where a broker's management is, and the way to it: TCP, or TLS over it.

use std::error::Error;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use super::options::Target;
use super::{Exit, Failure};
use crate::security::tls;

/// How long a broker may take to be reached, and as long again to shake hands.
const CONNECT_TIME: Duration = Duration::from_secs(5);

/// The ports of schemes, where a URL has none.
const PORT: u16 = 15672;
/// See [`PORT`].
const SECURE_PORT: u16 = 15671;

/// What is spoken, as ALPN (RFC 7301) calls it.
const HTTP: &[u8] = b"http/1.1";

/// A connection, whatever carries it.
pub(super) trait Duplex: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> Duplex for S {}

/// See the module.
pub(super) struct Place {
    authority: String,
    tls: Option<Tls>,
}

struct Tls {
    connector: TlsConnector,
    /// Whose certificate is asked for.
    name: ServerName<'static>,
}

impl Place {
    /// What was said of it.
    ///
    /// # Errors
    /// The URL is none, files of TLS are missing or are not for it, or they cannot be read.
    pub fn of(target: &Target) -> Result<Place, Failure> {
        let url = &target.url;
        let wrong = || {
            usage(format!(
                "--url {url}: not http://HOST:PORT or https://HOST:PORT"
            ))
        };
        let (is_secure, rest) = match (url.strip_prefix("http://"), url.strip_prefix("https://")) {
            (Some(rest), _) => (false, rest),
            (_, Some(rest)) => (true, rest),
            (None, None) => return Err(wrong()),
        };
        let authority = rest.trim_end_matches('/');
        if authority.is_empty() || authority.contains(['/', '@', '?', '#', ' ']) {
            return Err(wrong());
        }
        let port = match is_secure {
            true => SECURE_PORT,
            false => PORT,
        };
        let (host, authority) = match authority.rsplit_once(':') {
            Some((host, port)) if port.parse::<u16>().is_ok() => (host, authority.to_owned()),
            _ => (authority, format!("{authority}:{port}")),
        };
        let tls = match is_secure {
            true => {
                let name = ServerName::try_from(host.trim_matches(['[', ']']).to_owned());
                Some(Tls {
                    connector: connector(target)?,
                    name: name.map_err(|_| wrong())?,
                })
            }
            false => {
                check_unused(target)?;
                None
            }
        };
        Ok(Place { authority, tls })
    }

    /// Host and port.
    pub fn authority(&self) -> &str {
        &self.authority
    }

    /// Connects.
    ///
    /// # Errors
    /// [`Exit::Unreachable`]: nobody answers, or somebody who is not trusted.
    pub async fn connect(&self) -> Result<Box<dyn Duplex>, Failure> {
        let connect = TcpStream::connect(&self.authority);
        let stream = tokio::time::timeout(CONNECT_TIME, connect)
            .await
            .map_err(|_| self.late())?
            .map_err(|error| self.unreachable(&error))?;
        let Some(Tls { connector, name }) = &self.tls else {
            return Ok(Box::new(stream));
        };
        let shaking = connector.connect(name.clone(), stream);
        let stream = tokio::time::timeout(CONNECT_TIME, shaking)
            .await
            .map_err(|_| self.late())?
            .map_err(|error| {
                let reason = format!("no TLS with {}: {}", self.authority, chain(&error));
                Failure::new(Exit::Unreachable, "unreachable", reason)
            })?;
        Ok(Box::new(stream))
    }

    /// Nobody answers, in time.
    pub fn late(&self) -> Failure {
        self.silent("it does not answer in time")
    }

    /// Nobody answers, for this reason.
    pub fn unreachable(&self, error: &dyn Error) -> Failure {
        self.silent(&chain(error))
    }

    fn silent(&self, why: &str) -> Failure {
        let reason = format!(
            "no broker answers at {}: {why} (management is there where the broker has --http-port; --url \
             names another place)",
            self.authority
        );
        Failure::new(Exit::Unreachable, "unreachable", reason)
    }
}

/// An error and what caused it, each once.
fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let said = error.to_string();
        if !text.contains(&said) {
            text = format!("{text}: {said}");
        }
        cause = error.source();
    }
    text
}

fn usage(reason: String) -> Failure {
    Failure::new(Exit::Usage, "usage", reason)
}

/// How TLS begins.
fn connector(target: &Target) -> Result<TlsConnector, Failure> {
    let Some(ca) = &target.ca_file else {
        let url = &target.url;
        return Err(usage(format!(
            "--url {url} needs --ca-file FILE, with the authority (PEM) that the broker's certificate is \
             of"
        )));
    };
    let identity: Option<(&Path, &Path)> = match (&target.cert_file, &target.key_file) {
        (Some(cert), Some(key)) => Some((cert, key)),
        (None, None) => None,
        _ => {
            let text = "--cert-file and --key-file go together";
            return Err(usage(text.to_owned()));
        }
    };
    let mut config = tls::client(ca, identity).map_err(Failure::failed)?;
    config.alpn_protocols = vec![HTTP.to_vec()];
    Ok(TlsConnector::from(Arc::new(config)))
}

/// Looks that nothing asks for a protection that is not there.
fn check_unused(target: &Target) -> Result<(), Failure> {
    let given = [
        ("--ca-file", &target.ca_file),
        ("--cert-file", &target.cert_file),
        ("--key-file", &target.key_file),
    ];
    match given.iter().find(|(_, file)| file.is_some()) {
        Some((option, _)) => Err(usage(format!(
            "{option} is for https, and --url {} is not",
            target.url
        ))),
        None => Ok(()),
    }
}
