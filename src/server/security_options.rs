//! The options of `ferrymq serve` about who gets in and who may do what, by qpidd's names.

use std::path::{Path, PathBuf};

use clap::Args;

use super::options::yes_or_no;
use crate::security::access::Auth;
use crate::security::acl;
use crate::security::acl::limits::QUOTA_MAX;
use crate::security::sasl::{Mechanism, Sasl};
use crate::security::tls::{self, Tls};
use crate::security::users::UsersFile;

/// Who gets in, and who may do what.
#[derive(Args, Clone, Debug)]
pub struct SecurityOptions {
    /// Whether clients have to authenticate. Without it, those on this machine need no credentials
    /// and no others are let in
    #[arg(long, env = "QPID_AUTH", value_name = "yes|no", value_parser = yes_or_no)]
    pub auth: Option<bool>,

    /// Realm behind the names of users
    #[arg(long, env = "QPID_REALM", default_value = "QPID")]
    pub realm: String,

    /// File of users and what proves who they are, which ferrymq user makes; a relative name is looked
    /// for in the data directory. Without it, users there
    #[arg(long, env = "QPID_USERS_FILE", value_name = "FILE")]
    pub users_file: Option<PathBuf>,

    /// SASL mechanisms that are offered, with commas or spaces between them. Without it: EXTERNAL,
    /// SCRAM-SHA-256, SCRAM-SHA-1, PLAIN. There are also ANONYMOUS, and for old clients CRAM-MD5 and
    /// DIGEST-MD5
    #[arg(long, env = "QPID_SASL_MECHANISMS", value_name = "NAMES", value_parser = mechanisms)]
    pub sasl_mechanisms: Option<Mechanisms>,

    /// Let passwords go over a network in the clear (PLAIN without TLS)
    #[arg(long, env = "QPID_ALLOW_PLAIN_UNENCRYPTED", value_name = "yes|no", default_value = "no",
          value_parser = yes_or_no, num_args = 0..=1, default_missing_value = "yes")]
    pub allow_plain_unencrypted: bool,

    /// Let nobody in over a connection without TLS
    #[arg(long, env = "QPID_REQUIRE_ENCRYPTION", value_name = "yes|no", default_value = "no",
          value_parser = yes_or_no, num_args = 0..=1, default_missing_value = "yes")]
    pub require_encryption: bool,

    /// What is said of TLS.
    #[command(flatten)]
    pub tls: TlsOptions,

    /// File that says who may do what, as Qpid C++ has it; a relative name is looked for in the data
    /// directory. SIGHUP has it read again. Without it everything is allowed
    #[arg(long, env = "QPID_ACL_FILE", value_name = "FILE")]
    pub acl_file: Option<PathBuf>,

    /// Connections at one moment; 0 is no limit
    #[arg(
        long,
        env = "QPID_MAX_CONNECTIONS",
        value_name = "N",
        default_value_t = 500
    )]
    pub max_connections: u32,

    /// Connections of one user at one moment, unless the ACL file says otherwise; 0 is no limit
    #[arg(long, env = "QPID_CONNECTION_LIMIT_PER_USER", value_name = "N", default_value_t = 0,
          value_parser = clap::value_parser!(u32).range(0..=i64::from(QUOTA_MAX)))]
    pub connection_limit_per_user: u32,

    /// Connections from one address at one moment; 0 is no limit
    #[arg(long, env = "QPID_CONNECTION_LIMIT_PER_IP", value_name = "N", default_value_t = 0,
          value_parser = clap::value_parser!(u32).range(0..=i64::from(QUOTA_MAX)))]
    pub connection_limit_per_ip: u32,

    /// Queues that one user may have made and that are still there, unless the ACL file says otherwise;
    /// 0 is no limit
    #[arg(long, env = "QPID_MAX_QUEUES_PER_USER", value_name = "N", default_value_t = 0,
          value_parser = clap::value_parser!(u32).range(0..=i64::from(QUOTA_MAX)))]
    pub max_queues_per_user: u32,
}

/// TLS for clients.
#[derive(Args, Clone, Debug)]
pub struct TlsOptions {
    /// Port for TLS; the same as --port for both on one port. Counts with --ssl-cert-file
    #[arg(
        long,
        env = "QPID_SSL_PORT",
        value_name = "PORT",
        default_value_t = 5671
    )]
    pub ssl_port: u16,

    /// File (PEM) with the broker's certificate and those between it and an authority. SIGHUP has all
    /// files of TLS read again
    #[arg(
        long,
        env = "QPID_SSL_CERT_FILE",
        value_name = "FILE",
        requires = "ssl_key_file"
    )]
    pub ssl_cert_file: Option<PathBuf>,

    /// File (PEM) with its key
    #[arg(
        long,
        env = "QPID_SSL_KEY_FILE",
        value_name = "FILE",
        requires = "ssl_cert_file"
    )]
    pub ssl_key_file: Option<PathBuf>,

    /// File (PEM) with the authorities of client certificates, which then are asked for
    #[arg(
        long,
        env = "QPID_SSL_CA_FILE",
        value_name = "FILE",
        requires = "ssl_cert_file"
    )]
    pub ssl_ca_file: Option<PathBuf>,

    /// Refuse clients without a certificate
    #[arg(long, env = "QPID_SSL_REQUIRE_CLIENT_AUTHENTICATION", value_name = "yes|no",
          default_value = "no", value_parser = yes_or_no, num_args = 0..=1,
          default_missing_value = "yes")]
    pub ssl_require_client_authentication: bool,

    /// Over TLS offer no mechanism that lets passwords be guessed
    #[arg(long, env = "QPID_SSL_SASL_NO_DICT", value_name = "yes|no", default_value = "no",
          value_parser = yes_or_no, num_args = 0..=1, default_missing_value = "yes")]
    pub ssl_sasl_no_dict: bool,
}

/// SASL mechanisms.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mechanisms(pub Vec<Mechanism>);

fn mechanisms(text: &str) -> Result<Mechanisms, String> {
    let names = text.split([',', ' ']).filter(|name| !name.is_empty());
    let named = |name: &str| {
        Mechanism::named(&name.to_ascii_uppercase()).ok_or_else(|| {
            let known: Vec<&str> = Mechanism::ALL.iter().map(|one| one.name()).collect();
            format!("{name} is none of {}", known.join(", "))
        })
    };
    let found: Vec<Mechanism> = names.map(named).collect::<Result<_, _>>()?;
    match found.is_empty() {
        true => Err("no mechanism is named".to_owned()),
        false => Ok(Mechanisms(found)),
    }
}

/// The users file in the data directory, unless another is named.
pub const USERS_FILE: &str = "users";

impl SecurityOptions {
    /// What was said of authentication. Whoever names a users file wants it.
    pub fn access(&self) -> Auth {
        match self.auth {
            None if self.users_file.is_some() => Auth::Yes,
            None => Auth::NotConfigured,
            Some(false) => Auth::No,
            Some(true) => Auth::Yes,
        }
    }

    /// How users prove who they are. `data_dir` is where files with relative names are.
    ///
    /// # Errors
    /// There are to be users, and their file cannot be read.
    pub fn sasl(&self, data_dir: Option<&Path>) -> Result<Sasl, String> {
        let users = match self.access() {
            Auth::Yes => Some(self.users(data_dir)?),
            Auth::No | Auth::NotConfigured => None,
        };
        let usual = || Mechanism::USUAL.to_vec();
        let mechanisms = self.sasl_mechanisms.clone();
        Ok(Sasl {
            realm: self.realm.as_str().into(),
            users,
            mechanisms: mechanisms.map_or_else(usual, |Mechanisms(named)| named),
            allows_plain_unencrypted: self.allow_plain_unencrypted,
            is_without_dictionaries: self.tls.ssl_sasl_no_dict,
        })
    }

    fn users(&self, data_dir: Option<&Path>) -> Result<UsersFile, String> {
        let path = match (&self.users_file, data_dir) {
            (Some(file), Some(directory)) => directory.join(file),
            (Some(file), None) => file.clone(),
            (None, Some(directory)) => directory.join(USERS_FILE),
            (None, None) => {
                return Err(
                    "--auth yes needs --users-file where there is no data directory".into(),
                );
            }
        };
        UsersFile::open(&path).map_err(|why| {
            format!(
                "--auth yes needs users, and there are none: {why} (ferrymq user add NAME \
                 --users-file {} makes the first)",
                path.display()
            )
        })
    }

    /// TLS, where it is configured.
    ///
    /// # Errors
    /// A file cannot be read or does not fit.
    pub fn tls(&self) -> Result<Option<Tls>, String> {
        let TlsOptions {
            ssl_cert_file: Some(cert),
            ssl_key_file: Some(key),
            ..
        } = &self.tls
        else {
            // What asks for protection is not passed over.
            let asking = [
                ("--require-encryption", self.require_encryption),
                (
                    "--ssl-require-client-authentication",
                    self.tls.ssl_require_client_authentication,
                ),
                ("--ssl-sasl-no-dict", self.tls.ssl_sasl_no_dict),
            ];
            return match asking.iter().find(|(_, is_asked)| *is_asked) {
                Some((option, _)) => Err(format!("{option} needs --ssl-cert-file")),
                None => Ok(None),
            };
        };
        Tls::start(tls::Settings {
            cert: cert.clone(),
            key: key.clone(),
            ca: self.tls.ssl_ca_file.clone(),
            requires_client_certificate: self.tls.ssl_require_client_authentication,
        })
        .map(Some)
    }

    /// What an operator should know who thinks that only clients with certificates get in; None when that
    /// is so, or nobody asked for it.
    pub fn warning(&self) -> Option<&'static str> {
        let is_warned = self.tls.ssl_require_client_authentication && !self.require_encryption;
        is_warned.then_some(
            "--ssl-require-client-authentication is about TLS alone: who connects without TLS (--port) \
             needs no certificate. --require-encryption keeps him out",
        )
    }

    /// What was said of rights. `data_dir` is where files with relative names are.
    pub fn rights(&self, data_dir: Option<&Path>) -> acl::Settings {
        let in_data_dir = |file: &PathBuf| match data_dir {
            Some(directory) => directory.join(file),
            None => file.clone(),
        };
        acl::Settings {
            file: self.acl_file.as_ref().map(in_data_dir),
            connections_per_user: self.connection_limit_per_user,
            connections_per_host: self.connection_limit_per_ip,
            queues_per_user: self.max_queues_per_user,
            realm: self.realm.clone(),
        }
    }
}
