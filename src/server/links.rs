//! What links need of this process: [`Home`], and the task that drives them.

use std::sync::Arc;
use std::time::Duration;

use tokio::net::UnixStream;

use super::accept;
use super::agent::{Ask, Entrance, Wanted};
use super::driver::{self, Shared};
use crate::broker::Core;
use crate::broker::ids::MemberId;
use crate::broker::links::Report;
use crate::broker::management::{Action, Requester};
use crate::client::{Client, Error, Options};
use crate::cluster::Group;
use crate::federation::{Home, Inlets, Later, Outgoing, inlets};
use crate::wire::Text;

/// How links of this process behave.
#[derive(Clone, Debug)]
pub struct LinkSettings {
    /// The broker's name for federation.
    pub tag: Text,
    /// The pause after a first failure.
    pub pause: Duration,
    /// Seconds between heartbeats.
    pub heartbeat: u16,
    /// How brokers are reached over TLS.
    pub tls: Option<Arc<rustls::ClientConfig>>,
}

/// A seat of this process, to its links.
pub struct OwnBroker {
    /// The seat.
    pub group: Arc<dyn Group>,
    /// What all connections share.
    pub shared: Arc<Shared>,
    /// The way to the seat's agent.
    pub entrance: Entrance,
    /// How links behave.
    pub settings: LinkSettings,
}

impl Home for OwnBroker {
    fn member(&self) -> MemberId {
        self.group.member()
    }

    fn tag(&self) -> Text {
        self.settings.tag.clone()
    }

    fn look(&self, look: &mut dyn FnMut(&Core)) {
        self.group.look(look);
    }

    fn open(&self, outgoing: Outgoing) -> Later<'_, Result<(Client, Inlets), Error>> {
        Box::pin(async move {
            let (inlets, intake) = inlets();
            let (ours, theirs) = UnixStream::pair()?;
            let (group, shared) = (self.group.clone(), self.shared.clone());
            let own = (outgoing, intake);
            let driving = driver::run_own(theirs, own, group.clone(), shared.clone());
            let driver = tokio::spawn(driving);
            tokio::spawn(async move {
                let id = driver.id();
                let joined = driver.await.map(|()| (id, ()));
                accept::see_off(&shared, &group, joined);
            });
            let client = Client::over(ours, &Options::default()).await?;
            Ok((client, inlets))
        })
    }

    fn report(&self, report: Report) -> Later<'_, ()> {
        Box::pin(async move {
            // Nobody waits for the answer: a report that is of no use any more is nothing.
            let (reply, _) = tokio::sync::oneshot::channel();
            let ask = Ask {
                requester: Requester::default(),
                wanted: Wanted::Act(Box::new(Action::ReportLink(Box::new(report))), reply),
            };
            // Err: the process is about to end.
            let _ = self.entrance.asks.send(ask).await;
        })
    }

    fn tls(&self) -> Option<Arc<rustls::ClientConfig>> {
        self.settings.tls.clone()
    }

    fn pause(&self) -> Duration {
        self.settings.pause
    }

    fn heartbeat(&self) -> u16 {
        self.settings.heartbeat
    }
}
