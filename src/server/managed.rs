//! What management shows of the process, and how its agents start.

use std::sync::Arc;

use tokio::sync::Notify;

use super::agent::{Boot, Start};
use super::clock;
use super::links::LinkSettings;
use super::options::Options;
use super::storage;
use crate::federation::News;
use crate::management::agent::Told;
use crate::management::model::Setting;
use crate::wire::Text;

/// A broker that is managed.
pub(super) struct Managed {
    boot: Boot,
    told: Told,
    setting: Setting,
    links: LinkSettings,
}

impl Managed {
    /// As the options have it, of a member of this group if it is one; None where they switch management off.
    /// The start is counted in the data directory, which is there.
    ///
    /// # Errors
    /// The file for that cannot be read or written.
    pub fn of(options: &Options, group: Option<u64>) -> Result<Option<Managed>, String> {
        let management = &options.management;
        if !management.mgmt_enable {
            return Ok(None);
        }
        let directory = storage::data_dir(options).filter(|directory| directory.is_dir());
        let boot = match &directory {
            Some(directory) => Boot::kept(directory)?,
            None => Boot::unkept(clock::random),
        };
        let setting = Setting {
            federation_tag: federation_tag(options, &boot, group),
            threads: u16::try_from(options.threads()).unwrap_or(u16::MAX),
            connections_max: options.security.max_connections,
            backlog: u16::try_from(options.connection_backlog).unwrap_or(u16::MAX),
            publishes: management.mgmt_publish,
            interval: management.mgmt_pub_interval,
            data_dir: directory.map(|directory| directory.to_string_lossy().as_ref().into()),
            system: system(),
            started: clock::wall_nanoseconds(),
            ..Setting::default()
        };
        let links = options
            .federation
            .settings(&options.security.tls, setting.federation_tag.clone())?;
        Ok(Some(Managed {
            boot,
            told: management.told(),
            setting,
            links,
        }))
    }

    /// The broker's name for federation.
    pub fn federation_tag(&self) -> Text {
        self.setting.federation_tag.clone()
    }

    /// How links to other brokers behave.
    pub fn links(&self) -> &LinkSettings {
        &self.links
    }

    /// What the agent of a port's seat is started with.
    pub fn start(&self, port: u16, shutdown: &Arc<Notify>, links: &Arc<News>) -> Start {
        Start {
            boot: self.boot,
            told: self.told,
            setting: Setting {
                port,
                ..self.setting.clone()
            },
            shutdown: shutdown.clone(),
            links: links.clone(),
        }
    }
}

/// The broker's name for federation: that of all members of a cluster, which are one broker.
fn federation_tag(options: &Options, boot: &Boot, group: Option<u64>) -> Text {
    let given = options.federation.federation_tag.as_deref();
    match (given, group) {
        (Some(given), _) => given.into(),
        (None, Some(group)) => format!("{group:016x}").into(),
        (None, None) => boot.identity().instance().into(),
    }
}

/// The operating system, the host's name, its release and version, and the machine, as the kernel tells.
fn system() -> [Text; 5] {
    let read = |name: &str| {
        let text = std::fs::read_to_string(format!("/proc/sys/kernel/{name}"));
        Text::from(text.unwrap_or_default().trim())
    };
    [
        read("ostype"),
        read("hostname"),
        read("osrelease"),
        read("version"),
        std::env::consts::ARCH.into(),
    ]
}
