//! Options of links to other brokers, by qpidd's names where it has them.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;

use super::links::LinkSettings;
use super::options::duration;
use super::security_options::TlsOptions;
use crate::security::tls;
use crate::wire::Text;

/// How links to other brokers behave.
#[derive(Args, Clone, Debug)]
pub struct FederationOptions {
    /// The broker's name for federation; without it its identity
    #[arg(long, env = "QPID_FEDERATION_TAG", value_name = "NAME")]
    pub federation_tag: Option<String>,

    /// Pause before a link that was lost is tried again, twice as long each time: seconds, or a number
    /// with s, ms, us or ns
    #[arg(long, env = "QPID_LINK_MAINTENANCE_INTERVAL", value_name = "TIME", default_value = "2",
          value_parser = pause)]
    pub link_maintenance_interval: Duration,

    /// Time between heartbeats on links; 0 for none
    #[arg(long, env = "QPID_LINK_HEARTBEAT_INTERVAL", value_name = "TIME", default_value = "120",
          value_parser = heartbeat)]
    pub link_heartbeat_interval: u16,

    /// File (PEM) with the authorities that links over TLS trust; without it those of --ssl-ca-file
    #[arg(long, env = "QPID_LINK_SSL_CA_FILE", value_name = "FILE")]
    pub link_ssl_ca_file: Option<PathBuf>,

    /// File (PEM) with the certificate that links show; without it the broker's
    #[arg(
        long,
        env = "QPID_LINK_SSL_CERT_FILE",
        value_name = "FILE",
        requires = "link_ssl_key_file"
    )]
    pub link_ssl_cert_file: Option<PathBuf>,

    /// File (PEM) with its key
    #[arg(
        long,
        env = "QPID_LINK_SSL_KEY_FILE",
        value_name = "FILE",
        requires = "link_ssl_cert_file"
    )]
    pub link_ssl_key_file: Option<PathBuf>,
}

/// Milliseconds: the pause is never so short that a broker that is not there is asked without end.
const PAUSE_MIN: u64 = 50;

fn pause(text: &str) -> Result<Duration, String> {
    Ok(Duration::from_millis(duration(text, "s")?.max(PAUSE_MIN)))
}

fn heartbeat(text: &str) -> Result<u16, String> {
    let seconds = duration(text, "s")?.div_ceil(1000);
    u16::try_from(seconds).map_err(|_| format!("at most {} seconds", u16::MAX))
}

impl FederationOptions {
    /// How links of a broker of this name behave.
    ///
    /// # Errors
    /// A file of theirs cannot be read.
    pub fn settings(&self, broker: &TlsOptions, tag: Text) -> Result<LinkSettings, String> {
        let ca = self
            .link_ssl_ca_file
            .as_ref()
            .or(broker.ssl_ca_file.as_ref());
        let own = (
            self.link_ssl_cert_file.as_deref(),
            self.link_ssl_key_file.as_deref(),
        );
        let brokers = (
            broker.ssl_cert_file.as_deref(),
            broker.ssl_key_file.as_deref(),
        );
        let identity = match (own, brokers) {
            ((Some(cert), Some(key)), _) | (_, (Some(cert), Some(key))) => Some((cert, key)),
            _ => None,
        };
        let tls = ca.map(|ca| tls::client(ca, identity)).transpose()?;
        Ok(LinkSettings {
            tag,
            pause: self.link_maintenance_interval,
            heartbeat: self.link_heartbeat_interval,
            tls: tls.map(Arc::new),
        })
    }
}
