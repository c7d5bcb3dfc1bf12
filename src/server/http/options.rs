//! Options of management over HTTP.

use clap::Args;

/// Whether and where management is served over HTTP.
#[derive(Args, Clone, Debug)]
pub struct HttpOptions {
    /// Port for management over HTTP; 0 picks a free one, which is logged. Without it there is none
    #[arg(long, env = "QPID_HTTP_PORT", value_name = "PORT")]
    pub http_port: Option<u16>,

    /// Address or host name for management over HTTP. It has to be of the loopback, as nothing is encrypted
    #[arg(
        long,
        env = "QPID_HTTP_INTERFACE",
        value_name = "ADDRESS",
        default_value = "127.0.0.1"
    )]
    pub http_interface: String,
}
