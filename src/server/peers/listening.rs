//! The connections that other members make.

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::timeout;

use super::Plane;
use super::frames::Kind;
use super::meeting::{self, Failure, Met, say};
use super::reach::Hearing;
use super::words::{self, Refusal};
use crate::broker::ids::MemberId;
use crate::server::limits;
use crate::server::log::critical;

/// Takes connections of members until it is dropped; those it has end with it.
pub async fn run(listener: TcpListener, plane: Arc<Plane>) {
    let mut peers = JoinSet::new();
    let mut newcomers: VecDeque<(AbortHandle, Arc<AtomicBool>)> = VecDeque::new();
    loop {
        tokio::select! {
            Some(joined) = peers.join_next() => {
                if joined.is_err_and(|error| error.is_panic()) {
                    critical!("Cluster", "a task that listens to a member panicked, a fault of the broker");
                }
            }
            accepted = listener.accept() => match accepted {
                Ok((stream, from)) => {
                    newcomers.retain(|(task, is_known)| {
                        !task.is_finished() && !is_known.load(Ordering::Relaxed)
                    });
                    if newcomers.len() >= limits::PEERS_UNPROVEN_MAX
                        && let Some((oldest, _)) = newcomers.pop_front()
                    {
                        oldest.abort();
                    }
                    if peers.len() >= limits::PEERS_MAX {
                        tracing::error!(target: "Cluster", "{from}: too many connections of members");
                        continue;
                    }
                    let is_known = Arc::new(AtomicBool::new(false));
                    let task = serve(stream, from, plane.clone(), is_known.clone());
                    newcomers.push_back((peers.spawn(task), is_known));
                }
                Err(error) => {
                    tracing::error!(target: "Cluster", "cannot take a connection of a member: {error}");
                    let pause = Duration::from_millis(limits::ACCEPT_PAUSE_MILLISECONDS);
                    tokio::time::sleep(pause).await;
                }
            },
        }
    }
}

async fn serve(stream: TcpStream, from: SocketAddr, plane: Arc<Plane>, is_known: Arc<AtomicBool>) {
    let mut met = match meeting::take(&plane, stream).await {
        Ok(met) => met,
        // That is how a member finds its own address among those listed.
        Err(Failure::Refuses(Refusal::Itself)) => return,
        Err(why) => return plane.log_refusal(&from, &why),
    };
    is_known.store(true, Ordering::Relaxed);
    let peer = met.peer;
    let hearing = plane.hears(peer, met.life);
    match listen(&plane, &mut met, &hearing).await {
        Ok(()) => {}
        Err(Failure::Broken(why)) => {
            tracing::debug!(target: "Cluster", "the connection of member {:016x} ends: {why}", peer.0);
        }
        Err(why) => plane.log_refusal(&from, &why),
    }
}

/// Does what a member says until it says no more.
async fn listen(plane: &Plane, met: &mut Met, hearing: &Hearing) -> Result<(), Failure> {
    loop {
        let next = met.frames.next(&mut met.secured.stream);
        let next = timeout(limits::PEER_SILENCE, next).await;
        let next = next.map_err(|_| Failure::Broken("it is silent".to_owned()))?;
        let Some((kind, octets)) = next? else {
            return Ok(());
        };
        hearing.note();
        match kind {
            Kind::Message => message(plane, met.peer, &octets)?,
            Kind::Join => join(plane, met).await?,
            Kind::Form => form(plane, met, &octets).await?,
            // It may have taken part when it came, and not have heard that it does no more.
            Kind::Ping if plane.has_left(met.peer) => {
                return Err(refuse(met, Refusal::Left).await);
            }
            Kind::Ping => say(&mut met.secured.stream, Kind::Pong, &[]).await?,
            Kind::Refused => return Err(Failure::told(&octets)),
            kind => {
                return Err(Failure::Strange(format!("{kind:?} is not said here")));
            }
        }
    }
}

fn message(plane: &Plane, peer: MemberId, octets: &Bytes) -> Result<(), Failure> {
    // Until there is a group nobody sends any that matters.
    let Some(live) = plane.live() else {
        return Ok(());
    };
    let taken = live.received(plane.clock.millis(), peer, octets);
    taken.map_err(|why| {
        tracing::error!(
            target: "Cluster",
            "member {:016x} sends what no member sends, its fault or the network's: {why}",
            peer.0
        );
        Failure::Broken(why)
    })
}

async fn refuse(met: &mut Met, why: Refusal) -> Failure {
    let stream = &mut met.secured.stream;
    // It may be gone; then it learns nothing.
    let _ = say(stream, Kind::Refused, &words::octets(&why)).await;
    let _ = stream.shutdown().await;
    Failure::Refuses(why)
}

async fn join(plane: &Plane, met: &mut Met) -> Result<(), Failure> {
    if plane.has_left(met.peer) {
        return Err(refuse(met, Refusal::Left).await);
    }
    plane.note_newcomer(met.peer, met.hello.address.clone());
    Ok(())
}

async fn form(plane: &Plane, met: &mut Met, octets: &[u8]) -> Result<(), Failure> {
    let group = words::whole(octets).map_err(|error| Failure::Strange(error.to_string()))?;
    let promise = match plane.promise(group) {
        Ok(promise) => promise,
        Err(why) => return Err(refuse(met, why).await),
    };
    if !promise.kept().await {
        let failed = io::Error::other("the journal has failed");
        return Err(failed.into());
    }
    say(&mut met.secured.stream, Kind::Promised, octets).await?;
    Ok(())
}
