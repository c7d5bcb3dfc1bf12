//! A run: queues are made, clients do what they do, everything comes to rest, what is left is
//! fetched, and all of it is judged.

use ferrymq::broker::Request;
use ferrymq::wire::{self, AcceptMode, AcquireMode, CreditUnit};

use super::answers;
use super::cluster::Cluster;
use super::session::Doing;
use super::topology::QUEUES;
use super::world::World;

/// What a run came to.
#[derive(Debug)]
pub struct Report {
    /// Commands that clients sent.
    pub commands: u64,
    /// Deliveries that took a message.
    pub deliveries: usize,
    /// How often work was too much for one entry.
    pub continuations: u64,
    /// Branches that were seen to be prepared.
    pub prepared: u64,
    /// How often a session went on over a lost connection.
    pub resumed: u64,
    /// Digest of all that happened.
    pub trace: u64,
}

/// A run that found something wrong.
#[derive(Debug)]
pub struct Failure {
    /// What.
    pub text: String,
    /// Digest of all that happened until then.
    pub trace: u64,
}

/// How long a run is and how much time passes.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Decides what clients do.
    pub seed: u64,
    /// How often somebody does something.
    pub steps: u64,
    /// Milliseconds at most from one to the next: on a slow network everything takes longer.
    pub pace: u64,
    /// How many times more than usual clients send at once, and can take at once: from some hundred
    /// on, work is too much for one entry.
    pub depth: u64,
}

impl Plan {
    /// A run of so many steps on a quick network.
    pub fn usual(seed: u64, steps: u64) -> Plan {
        Plan {
            seed,
            steps,
            pace: 1,
            depth: 1,
        }
    }
}

/// Runs a workload on a group, and prints what it came to.
pub fn run(cluster: impl Cluster, plan: Plan) -> Result<Report, Failure> {
    let mut world = World::new(cluster, plan.seed, plan.depth).with_kinds(plan.seed);
    let result = whole(&mut world, plan);
    let seed = plan.seed;
    let trace = world.trace.digest();
    match result {
        Ok(group) => {
            let report = Report {
                commands: world.commands,
                deliveries: world.ledger.deliveries(),
                continuations: world.cluster().continuations(),
                prepared: world.ledger.branches.seen,
                resumed: world.resumed,
                trace,
            };
            println!(
                "seed {seed}: {report:?}, {} messages, {} exceptions, {} sessions lost; {}; {group}",
                world.ledger.len(),
                world.exceptions,
                world.lost,
                world.cluster().faults(),
            );
            Ok(report)
        }
        Err(text) => {
            let group = world.finish().err().unwrap_or_default();
            let text = format!(
                "{text}\n{group}\nFERRYMQ_SEED={seed}, {} commands\n{}",
                world.commands,
                world.trace.tail()
            );
            Err(Failure { text, trace })
        }
    }
}

fn whole<C: Cluster>(world: &mut World<C>, plan: Plan) -> Result<String, String> {
    world.prepare()?;
    if plan.depth > 1 {
        world.too_much()?;
    }
    for _ in 0..plan.steps {
        world.step(plan.pace)?;
    }
    end(world)
}

/// Everything comes to rest, what is left is fetched, and all of it is judged.
pub fn end<C: Cluster>(world: &mut World<C>) -> Result<String, String> {
    answers::all_is_done(world)?;
    for connection in world.open_connections() {
        world.close(connection);
    }
    world.all_run_out()?;
    world.rest()?;
    world.resolve_branches()?;
    fetch_all(world)?;
    world.ledger.judge(world.now.0)?;
    world.finish()
}

/// Fetches what is left in all queues, in its order.
fn fetch_all<C: Cluster>(world: &mut World<C>) -> Result<(), String> {
    let connection = world.connect(0);
    let channel = world.attach(connection, "fetch", false);
    world.rest()?;
    let kinds = world.kinds.clone();
    let queues = QUEUES.into_iter().map(|(queue, ..)| queue);
    for queue in queues.chain(kinds) {
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
