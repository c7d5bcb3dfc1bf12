//! Options of management over HTTP.

use clap::Args;

/// Whether and where management is served over HTTP, with TLS and without.
#[derive(Args, Clone, Debug)]
pub struct HttpOptions {
    /// Port for management over HTTP; 0 picks a free one, which is logged. Without it there is none
    #[arg(long, env = "QPID_HTTP_PORT", value_name = "PORT")]
    pub http_port: Option<u16>,

    /// Address, interface or host name for management over HTTP. It has to be of the loopback, as nothing is encrypted
    #[arg(
        long,
        env = "QPID_HTTP_INTERFACE",
        value_name = "ADDRESS",
        requires = "http_port",
        default_value = "127.0.0.1"
    )]
    pub http_interface: String,

    /// Port for management over HTTP with TLS, by the certificate in --ssl-cert-file; 0 picks a free one,
    /// which is logged. Without it there is none
    #[arg(long, env = "QPID_HTTPS_PORT", value_name = "PORT")]
    pub https_port: Option<u16>,

    /// Address, interface or host name for management over HTTP with TLS. One that is not of the
    /// loopback needs --auth yes
    #[arg(
        long,
        env = "QPID_HTTPS_INTERFACE",
        value_name = "ADDRESS",
        requires = "https_port",
        default_value = "127.0.0.1"
    )]
    pub https_interface: String,
}
