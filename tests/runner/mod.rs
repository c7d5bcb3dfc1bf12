//! Runs cores and sessions without sockets: many clients at random from a seed on a group, and
//! checks of what they are told. The same seed on the same group gives the same trace.
//!
//! What is checked, from the effects alone: no message is lost; none is delivered twice unless
//! flagged; those of one publisher come in order; every command is completed or failed by an
//! exception; credit and headroom are never exceeded; nothing is told outside a session.

pub mod cluster;
mod connection;
mod ledger;
pub mod seed;
mod session;
mod subscription;
mod topology;
mod trace;
mod workload;
mod world;

use ferrymq::broker::Request;
use ferrymq::wire::{self, AcceptMode, AcquireMode, CreditUnit};

use self::cluster::Cluster;
use self::session::Doing;
use self::topology::QUEUES;
use self::world::World;

/// What a run came to.
#[derive(Debug)]
pub struct Report {
    /// Commands that clients sent.
    pub commands: u64,
    /// Exceptions that they met.
    pub exceptions: u64,
    /// Messages in queues.
    pub messages: usize,
    /// Deliveries that took a message.
    pub deliveries: usize,
    /// Digest of all that happened.
    pub trace: u64,
    /// What the group says.
    pub group: String,
    /// What went wrong on the way.
    pub faults: String,
}

/// A run that found something wrong.
#[derive(Debug)]
pub struct Failure {
    /// What.
    pub text: String,
    /// Digest of all that happened until then.
    pub trace: u64,
}

/// Runs `steps` steps of a workload from `seed` on a group, and prints what it came to.
pub fn run(cluster: impl Cluster, seed: u64, steps: u64) -> Result<Report, Failure> {
    let mut world = World::new(cluster, seed);
    let result = whole(&mut world, steps);
    let trace = world.trace.digest();
    match result {
        Ok(group) => {
            let report = Report {
                commands: world.commands,
                exceptions: world.exceptions,
                messages: world.ledger.len(),
                deliveries: world.ledger.deliveries(),
                trace,
                group,
                faults: world.cluster().faults(),
            };
            println!("seed {seed}: {report:?}");
            Ok(report)
        }
        Err(text) => {
            let text = format!(
                "{text}\nFERRYMQ_SEED={seed}, {} commands\n{}",
                world.commands,
                world.trace.tail()
            );
            Err(Failure { text, trace })
        }
    }
}

fn whole<C: Cluster>(world: &mut World<C>, steps: u64) -> Result<String, String> {
    world.prepare()?;
    for _ in 0..steps {
        world.step()?;
    }
    all_is_done(world)?;
    for connection in world.open_connections() {
        world.close(connection);
    }
    world.rest()?;
    fetch_all(world)?;
    world.ledger.judge(world.now.0)?;
    world.finish()
}

/// Every command of a session that is still there is completed by now.
fn all_is_done<C: Cluster>(world: &mut World<C>) -> Result<(), String> {
    world.rest()?;
    for connection in world.open_connections() {
        let sessions = world.connections[connection].sessions.iter();
        let usable = sessions.filter(|(_, session)| session.is_usable());
        let channels: Vec<u16> = usable.map(|(channel, _)| *channel).collect();
        for channel in channels {
            world.command((connection, channel), true, Request::Sync, Doing::Other);
        }
    }
    world.rest()?;
    for (place, connection) in world.connections.iter().enumerate() {
        for (channel, session) in &connection.sessions {
            if !session.is_usable() {
                return Err(format!("{place}.{channel} was never answered"));
            }
            if !session.doings.is_empty() || !session.to_be_accepted.is_empty() {
                let (doings, waits) = (&session.doings, &session.to_be_accepted);
                return Err(format!("{place}.{channel} waits for {doings:?}, {waits:?}"));
            }
        }
    }
    Ok(())
}

/// Fetches what is left in all queues, in its order.
fn fetch_all<C: Cluster>(world: &mut World<C>) -> Result<(), String> {
    let connection = world.connect(0);
    let channel = world.attach(connection, "fetch", false);
    world.rest()?;
    for (queue, ..) in QUEUES {
        let subscribe = wire::MessageSubscribe {
            queue: queue.into(),
            destination: queue.into(),
            accept_mode: AcceptMode::EXPLICIT,
            acquire_mode: AcquireMode::PRE_ACQUIRED,
            ..Default::default()
        };
        let at = (connection, channel);
        let request = Request::Subscribe(Box::new(subscribe));
        world.command(at, true, request, Doing::Other);
        for unit in [CreditUnit::MESSAGE, CreditUnit::BYTE] {
            let (destination, value) = (queue.into(), u32::MAX);
            let request = Request::Flow {
                destination,
                unit,
                value,
            };
            world.command(at, true, request, Doing::Other);
        }
    }
    world.fetch(connection)
}
