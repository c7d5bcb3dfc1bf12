//! Options of management, by qpidd's names.

use clap::{ArgAction, Args};

use super::options::{duration, yes_or_no};
use crate::management::agent::Told;

/// How the broker is managed.
#[derive(Args, Clone, Debug)]
pub struct ManagementOptions {
    /// Whether the broker answers management tools
    #[arg(short = 'm', long, env = "QPID_MGMT_ENABLE", value_name = "yes|no", default_value = "yes",
          value_parser = yes_or_no, num_args = 0..=1, default_missing_value = "yes",
          action = ArgAction::Set)]
    pub mgmt_enable: bool,

    /// Whether changed objects are told unasked
    #[arg(long, env = "QPID_MGMT_PUBLISH", value_name = "yes|no", default_value = "yes",
          value_parser = yes_or_no, num_args = 0..=1, default_missing_value = "yes",
          action = ArgAction::Set)]
    pub mgmt_publish: bool,

    /// Whether events, heartbeats and objects are told in QMF version 2
    #[arg(long, env = "QPID_MGMT_QMF2", value_name = "yes|no", default_value = "yes",
          value_parser = yes_or_no, num_args = 0..=1, default_missing_value = "yes",
          action = ArgAction::Set)]
    pub mgmt_qmf2: bool,

    /// The same in QMF version 1, whose requests are always answered
    #[arg(long, env = "QPID_MGMT_QMF1", value_name = "yes|no", default_value = "no",
          value_parser = yes_or_no, num_args = 0..=1, default_missing_value = "yes",
          action = ArgAction::Set)]
    pub mgmt_qmf1: bool,

    /// Time between two tellings of what has changed: seconds, or a number with s, ms, us or ns
    #[arg(long, env = "QPID_MGMT_PUB_INTERVAL", value_name = "TIME", default_value = "10",
          value_parser = interval)]
    pub mgmt_pub_interval: u16,

    /// Whether messages that come in get the time of their coming. Management can change it
    #[arg(long, env = "QPID_ENABLE_TIMESTAMP", value_name = "yes|no", default_value = "no",
          value_parser = yes_or_no, num_args = 0..=1, default_missing_value = "yes",
          action = ArgAction::Set)]
    pub enable_timestamp: bool,
}

impl ManagementOptions {
    /// What is told unasked.
    pub fn told(&self) -> Told {
        Told {
            in_version_1: self.mgmt_qmf1,
            in_version_2: self.mgmt_qmf2,
            interval: self.mgmt_pub_interval,
        }
    }
}

/// Whole seconds, at least one and at most what tools can be told.
fn interval(text: &str) -> Result<u16, String> {
    let seconds = duration(text, "s")?.div_ceil(1000).max(1);
    u16::try_from(seconds).map_err(|_| format!("{text}: more than 65535 seconds"))
}
