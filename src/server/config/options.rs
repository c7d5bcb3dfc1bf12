//! Where other options are.

use std::path::PathBuf;

use clap::Args;

/// Where other options are.
#[derive(Args, Clone, Debug)]
pub struct ConfigOptions {
    /// File with options: lines of name=value as in qpidd.conf, or TOML. The command line and the
    /// environment go before it
    #[arg(long, env = "QPID_CONFIG", value_name = "FILE")]
    pub config: Option<PathBuf>,
}
