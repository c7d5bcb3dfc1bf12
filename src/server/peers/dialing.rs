//! The connections that this member makes: one to each other member, to send on it.

use std::collections::{BTreeMap, BTreeSet};
use std::future::poll_fn;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{Instant, timeout};

use super::Plane;
use super::frames::{self, Frames, Kind};
use super::meeting::{self, Failure, Met};
use super::reach::Reminder;
use super::words::{Refusal, Store};
use crate::broker::ids::MemberId;
use crate::cluster::Millis;
use crate::cluster::entry_log::Configuration;
use crate::cluster::raft::{Live, Outgoing};
use crate::server::cluster_options::Address;
use crate::server::limits;
use crate::server::log::notice;

/// Keeps a connection to every address where a member is to be found, until this is dropped.
pub async fn run(plane: Arc<Plane>, live: Arc<Live>) {
    let mut tasks = JoinSet::new();
    let mut dialled: BTreeMap<Address, AbortHandle> = BTreeMap::new();
    loop {
        let wanted = plane.addresses(&live);
        dialled.retain(|address, task| {
            let is_wanted = wanted.contains(address);
            if !is_wanted {
                task.abort();
                plane.forget_failed(address);
            }
            is_wanted
        });
        for address in wanted {
            let task = |address| keep(plane.clone(), live.clone(), address);
            dialled
                .entry(address.clone())
                .or_insert_with(|| tasks.spawn(task(address)));
        }
        while tasks.try_join_next().is_some() {}
        tokio::time::sleep(limits::STEWARD_INTERVAL).await;
    }
}

impl Plane {
    /// Where other members are to be found: what was listed, and where those that take part were met.
    fn addresses(&self, live: &Live) -> BTreeSet<Address> {
        let Configuration {
            voters, learners, ..
        } = live.view(self.clock.millis()).configuration;
        let mut found: BTreeSet<Address> = self.options.cluster_peers.iter().cloned().collect();
        let own = self.member.0;
        for id in voters.into_iter().chain(learners).filter(|id| *id != own) {
            let state = self.state.lock();
            let address = state.book.address(MemberId(id));
            found.extend(address.and_then(|address| Address::parse(address.as_str())));
        }
        found.retain(|address| !self.is_own(address));
        found
    }
}

impl Plane {
    /// Who was last met at an address.
    fn members_at(&self, address: &Address) -> impl Iterator<Item = MemberId> {
        let at = address.to_string();
        self.state.lock().book.members_at(&at).into_iter()
    }
}

/// Keeps a connection to one address.
async fn keep(plane: Arc<Plane>, live: Arc<Live>, address: Address) {
    let mut pause = limits::PEER_REDIAL_MIN;
    let mut said = Said::default();
    loop {
        let now = plane.clock.millis();
        match meeting::dial(&plane, &address).await {
            Ok(met) => match carry(&plane, &live, (&address, met)).await {
                Carried::Nothing(why) => tracing::debug!(target: "Cluster", "{address}: {why}"),
                // That member has two addresses; the other one does.
                Carried::ByAnother => pause = limits::PEER_SILENCE,
                Carried::Until(why) => {
                    said.tell(
                        &address,
                        now,
                        (format!("the connection has ended: {why}"), false),
                    );
                    said = Said::default();
                    pause = limits::PEER_REDIAL_MIN;
                }
            },
            Err(Failure::Refuses(Refusal::Itself)) => return plane.note_own(&address),
            Err(why) => {
                if let Failure::Absent(_) = &why {
                    plane
                        .members_at(&address)
                        .for_each(|member| live.note_gone(member));
                }
                if let Failure::Refused(Refusal::Left) = &why {
                    plane.note_out(Refusal::Left);
                }
                // The other process itself has answered. Who takes part already goes on.
                if let Failure::Refuses(Refusal::Copy) = &why
                    && !live.view(plane.clock.millis()).has_begun
                {
                    plane.note_out(Refusal::Copy);
                }
                plane.note_failed(&address, &why);
                said.tell(&address, now, (why.to_string(), lasts(&why)));
            }
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(limits::PEER_REDIAL_MAX);
    }
}

/// Whether somebody has to do something so that it ends: it is said again, and what passes is not.
fn lasts(why: &Failure) -> bool {
    match why {
        Failure::Refused(_) | Failure::Refuses(_) | Failure::Strange(_) => true,
        Failure::Absent(_) | Failure::Broken(_) => false,
    }
}

/// What was said last of an address.
#[derive(Default)]
struct Said {
    why: String,
    again: Option<Reminder>,
}

impl Said {
    /// Says why a member is not reached: once until it is another reason, and again what lasts.
    fn tell(&mut self, address: &Address, now: Millis, (why, lasts): (String, bool)) {
        let is_new = why != self.why;
        if is_new {
            let again = Reminder::after(now, limits::REMINDED_AFTER_MS);
            self.again = lasts.then_some(again);
            self.why = why;
        }
        let is_due = |again: &mut Reminder| again.is_due(now);
        if is_new || self.again.as_mut().is_some_and(is_due) {
            tracing::warn!(target: "Cluster", "Member at {address}: {}", self.why);
        }
    }
}

/// What came of a connection.
enum Carried {
    /// Nothing can be sent on it now.
    Nothing(&'static str),
    /// Nothing, since another connection carries them.
    ByAnother,
    /// Messages, until something happened.
    Until(String),
}

/// The right to carry, given back when this goes.
struct Carrying<'a> {
    live: &'a Live,
    outgoing: Outgoing,
}

impl Drop for Carrying<'_> {
    fn drop(&mut self) {
        self.live.carry_no_more(self.outgoing);
    }
}

async fn carry(plane: &Plane, live: &Live, (address, met): (&Address, Met)) -> Carried {
    plane.forget_failed(address);
    let Met {
        secured,
        frames,
        peer,
        hello,
        ..
    } = met;
    if hello.store != Store::Of(live.group()) {
        return Carried::Nothing("it has no group yet");
    }
    let Some(outgoing) = live.carry(peer) else {
        return Carried::ByAnother;
    };
    let carrying = Carrying { live, outgoing };
    notice!(
        "Cluster",
        "Connected to member {:016x} at {}",
        peer.0,
        hello.address
    );
    let (reader, writer) = tokio::io::split(secured.stream);
    let heard = hear(plane, reader, frames);
    let spoken = speak(plane, &carrying, writer);
    tokio::select! {
        why = heard => Carried::Until(why),
        why = spoken => Carried::Until(why),
    }
}

/// Hears that the other side lives; gives why no more is to be said.
async fn hear(plane: &Plane, mut from: impl AsyncRead + Unpin, mut frames: Frames) -> String {
    loop {
        match timeout(limits::PEER_SILENCE, frames.next(&mut from)).await {
            Err(_) => return "it is silent".to_owned(),
            Ok(Err(error)) => return frames::words(&error),
            Ok(Ok(None)) => return "it was closed".to_owned(),
            Ok(Ok(Some((Kind::Pong, _)))) => {}
            Ok(Ok(Some((Kind::Refused, octets)))) => {
                let told = Failure::told(&octets);
                if matches!(told, Failure::Refused(Refusal::Left)) {
                    plane.note_out(Refusal::Left);
                }
                return told.to_string();
            }
            Ok(Ok(Some((kind, _)))) => return format!("{kind:?} is not said here"),
        }
    }
}

/// Sends what there is for the member; gives why it ended.
async fn speak(plane: &Plane, carrying: &Carrying<'_>, mut to: impl AsyncWrite + Unpin) -> String {
    let Carrying { live, outgoing } = carrying;
    let (mut messages, mut frame) = (Vec::new(), Vec::new());
    let mut asked_at: Option<Instant> = None;
    let mut pinged_at = Instant::now();
    loop {
        let message = poll_fn(|context| live.poll_outgoing(*outgoing, &mut messages, context));
        let is_carrying = timeout(
            Duration::min(limits::PEER_PING, limits::JOIN_INTERVAL),
            message,
        );
        if is_carrying.await == Ok(false) {
            return "another carries".to_owned();
        }
        let now = Instant::now();
        if asked_at.is_none_or(|at| now - at >= limits::JOIN_INTERVAL) && !plane.takes_part(live) {
            frames::put(Kind::Join, &[], &mut frame);
            asked_at = Some(now);
        }
        if now - pinged_at >= limits::PEER_PING {
            frames::put(Kind::Ping, &[], &mut frame);
            pinged_at = now;
        }
        for message in messages.drain(..) {
            frames::put(Kind::Message, &message, &mut frame);
            if frame.len() >= limits::PEER_WRITE_BYTES
                && let Err(error) = write(&mut to, &mut frame).await
            {
                return frames::words(&error);
            }
        }
        if let Err(error) = write(&mut to, &mut frame).await {
            return frames::words(&error);
        }
    }
}

/// Writes all of a buffer, which is empty then.
async fn write(to: &mut (impl AsyncWrite + Unpin), octets: &mut Vec<u8>) -> io::Result<()> {
    if octets.is_empty() {
        return Ok(());
    }
    let mut left: &[u8] = octets;
    while !left.is_empty() {
        // A large message may take long, as long as some of it goes.
        let written = timeout(limits::PEER_SILENCE, to.write(left)).await;
        match written.unwrap_or(Err(io::ErrorKind::TimedOut.into()))? {
            0 => return Err(io::ErrorKind::WriteZero.into()),
            written => left = left.get(written..).unwrap_or_default(),
        }
    }
    timeout(limits::PEER_SILENCE, to.flush())
        .await
        .unwrap_or(Err(io::ErrorKind::TimedOut.into()))?;
    octets.clear();
    if octets.capacity() > 4 * limits::PEER_WRITE_BYTES {
        *octets = Vec::new();
    }
    Ok(())
}
