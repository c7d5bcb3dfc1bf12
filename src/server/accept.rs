//! The accept loop of one listener: takes connections, starts their drivers, sees them end.

use std::io;
use std::net::SocketAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::{AbortHandle, Id, JoinError, JoinSet};

use super::driver::{self, Shared};
use super::limits;
use super::log::critical;
use super::newcomers::Newcomers;
use super::socket::Carriage;
use crate::cluster::Group;

/// How a listener's work ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// As it was asked to.
    Well,
    /// A driver panicked; its connection was ended.
    AfterPanic,
}

/// A listener at work.
struct Accepting {
    listener: TcpListener,
    carriage: Carriage,
    group: Arc<dyn Group>,
    shared: Arc<Shared>,
    drivers: JoinSet<()>,
    /// Those that came last and may not have opened.
    newcomers: Newcomers<AbortHandle>,
    ended: Ended,
}

/// Accepts connections until `stop` says so, then ends them all: their sockets just close.
pub async fn run(
    (listener, carriage): (TcpListener, Carriage),
    group: Arc<dyn Group>,
    shared: Arc<Shared>,
    mut stop: watch::Receiver<bool>,
) -> Ended {
    let mut accepting = Accepting {
        listener,
        carriage,
        group,
        shared,
        drivers: JoinSet::new(),
        newcomers: Newcomers::default(),
        ended: Ended::Well,
    };
    loop {
        tokio::select! {
            biased;
            () = told_to(&mut stop) => break,
            Some(joined) = accepting.drivers.join_next_with_id() => accepting.join(joined),
            accepted = accepting.listener.accept() => match accepted {
                Ok((stream, peer)) => accepting.start(stream, peer),
                Err(error) => accepting.refused(&error).await,
            },
        }
    }
    let Accepting { listener, .. } = &accepting;
    if let Ok(address) = listener.local_addr() {
        tracing::debug!(target: "Network", "no more connections on {address}");
    }
    accepting.drivers.abort_all();
    while let Some(joined) = accepting.drivers.join_next_with_id().await {
        accepting.join(joined);
    }
    accepting.ended
}

/// Returns when the broker stops, or is gone.
async fn told_to(stop: &mut watch::Receiver<bool>) {
    let _ = stop.wait_for(|stop| *stop).await;
}

impl Accepting {
    fn start(&mut self, stream: TcpStream, peer: SocketAddr) {
        self.forget_opened();
        if self.newcomers.len() >= limits::NEGOTIATING_MAX {
            self.drop_newcomer("too many connections are not open");
        }
        let driver = driver::run(
            (stream, self.carriage.clone()),
            peer,
            self.group.clone(),
            self.shared.clone(),
        );
        let host = peer.ip().to_canonical();
        self.newcomers.push(host, self.drivers.spawn(driver));
    }

    fn forget_opened(&mut self) {
        let registry = &self.shared.registry;
        self.newcomers
            .forget(|newcomer| newcomer.is_finished() || registry.is_open(newcomer.id()));
    }

    /// Drops one that has not opened, of the host that has the most of them.
    fn drop_newcomer(&mut self, why: &str) {
        while let Some(newcomer) = self.newcomers.take_of_the_most() {
            if newcomer.is_finished() {
                continue;
            }
            let live = self.shared.registry.live(newcomer.id());
            if live.is_some_and(|live| live.key.is_some()) {
                continue;
            }
            if let Some(live) = live {
                tracing::warn!(
                    target: "Network",
                    "{}: dropped, the client has not opened its connection and {why}",
                    live.peer
                );
            }
            newcomer.abort();
            return;
        }
    }

    /// The system gives no socket: mostly because too many files are open.
    async fn refused(&mut self, error: &io::Error) {
        use io::ErrorKind::{ConnectionAborted, ConnectionReset, Interrupted};
        if matches!(
            error.kind(),
            ConnectionAborted | ConnectionReset | Interrupted
        ) {
            // That one peer changed its mind.
            return;
        }
        tracing::error!(target: "Network", "cannot accept a connection: {error}");
        self.forget_opened();
        self.drop_newcomer("the system has no socket for another");
        let pause = Duration::from_millis(limits::ACCEPT_PAUSE_MILLISECONDS);
        tokio::time::sleep(pause).await;
    }

    fn join(&mut self, joined: Result<(Id, ()), JoinError>) {
        if see_off(&self.shared, &self.group, joined) == Ended::AfterPanic {
            self.ended = Ended::AfterPanic;
        }
    }
}

/// Sees to what is left of a driver.
pub fn see_off(
    shared: &Shared,
    group: &Arc<dyn Group>,
    joined: Result<(Id, ()), JoinError>,
) -> Ended {
    let error = match joined {
        Ok((driver, ())) => {
            shared.registry.remove(driver);
            return Ended::Well;
        }
        Err(error) => error,
    };
    let live = shared.registry.remove(error.id());
    if !error.is_panic() {
        return Ended::Well;
    }
    let peer = live.map_or_else(String::new, |live| live.peer.to_string());
    critical!(
        "Broker",
        "{peer}: the driver of this connection panicked, a fault of the broker: {error}"
    );
    if let Some(number) = live.and_then(|live| live.key).map(|key| key.number) {
        let now = shared.clock.millis();
        let close = || group.close(now, number);
        if catch_unwind(AssertUnwindSafe(close)).is_err() {
            critical!("Broker", "{peer}: its connection could not be ended");
        }
    }
    Ended::AfterPanic
}
