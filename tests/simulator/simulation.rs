//! A run of the simulator: clients and faults first, then healing, then what must hold is checked.

use ferrymq::cluster::lockstep::dice::Dice;
use ferrymq::cluster::machine::Machine;
use ferrymq::cluster::raft::Plant;
use ferrymq::cluster::raft::seats::{Faults, Seat, Setup, Tally};

use super::agreement::Agreement;
use super::faults::Mischief;
use super::group::{cores, setup};
use super::run;
use super::world::World;

/// Steps of clients in one run, and milliseconds at most from one to the next.
const STEPS: u64 = 800;
const PACE: u64 = 20;

/// Connections that clients come back to, and sessions on each.
const CONNECTIONS: usize = 6;
const SESSIONS: usize = 2;

/// Simulated milliseconds in which a group must be whole once nothing goes wrong any more.
const HEALED_MS: u64 = 30_000;

/// Steps of clients after that.
const STEPS_HEALED: u64 = 60;

/// What a run came to.
#[derive(Debug)]
pub struct Report {
    pub commands: u64,
    pub deliveries: usize,
    pub entries: usize,
    pub compared: u64,
    pub states: u64,
    pub terms: usize,
    pub simulated_ms: u64,
    pub tally: Tally,
    /// A digest of all that happened.
    pub trace: u64,
}

/// A run that found something wrong.
#[derive(Debug)]
pub struct Failure {
    pub text: String,
    pub trace: u64,
}

/// A run of cores from a seed.
pub fn simulate(seed: u64, plant: Plant) -> Result<Report, Failure> {
    simulate_with(seed, plant, cores)
}

/// A run of a group that `form` makes.
pub fn simulate_with<M: Machine>(
    seed: u64,
    plant: Plant,
    form: impl FnOnce(Setup) -> Vec<Seat<M>>,
) -> Result<Report, Failure> {
    let mut dice = Dice::new(seed ^ 0x51E7);
    let members = if dice.chance(200) { 5 } else { 3 };
    let group = form(setup(dice.roll(), members, Faults::NONE, plant));
    let mischief = Mischief::new(dice);
    let mut simulation = Simulation {
        world: World::new(group, seed, 1),
        mischief,
        agreement: Agreement::default(),
    };
    let began = simulation.world.now.0;
    let result = simulation.run();
    let Simulation {
        mut world,
        agreement,
        mischief,
    } = simulation;
    let tally = world.cluster[0].tally();
    world
        .trace
        .line(format_args!("{tally:?} {}", agreement.applied));
    let trace = world.trace.digest();
    match result {
        Ok(()) => Ok(Report {
            commands: world.commands,
            deliveries: world.ledger.deliveries(),
            entries: agreement.entries(),
            compared: agreement.compared,
            states: agreement.states,
            terms: agreement.terms(),
            simulated_ms: world.now.0 - began,
            tally,
            trace,
        }),
        Err(text) => Err(Failure {
            text: format!(
                "{text}\nFERRYMQ_SEED={seed}, {:?}\n{tally:?}\n{}\n{}",
                mischief.rates,
                world.cluster[0].standing(),
                world.trace.tail()
            ),
            trace,
        }),
    }
}

struct Simulation<M: Machine> {
    world: World<Vec<Seat<M>>>,
    mischief: Mischief,
    agreement: Agreement,
}

impl<M: Machine> Simulation<M> {
    fn run(&mut self) -> Result<(), String> {
        self.world.prepare()?;
        let now = self.world.now;
        self.world.cluster[0].set_faults(now, self.mischief.rates.network);
        for _ in 0..STEPS {
            self.break_something();
            self.come_back();
            self.world.step(PACE)?;
            self.check()?;
        }
        self.heal()?;
        for _ in 0..STEPS_HEALED {
            self.world.step(1)?;
            self.check()?;
        }
        run::end(&mut self.world)?;
        self.heal()?;
        self.is_whole()
    }

    fn break_something(&mut self) {
        let now = self.world.now;
        let gone = self.mischief.step(&self.world.cluster, now);
        for place in gone {
            self.world
                .trace
                .line(format_args!("member {place} is gone"));
            for connection in self.world.open_connections() {
                if self.world.connections[connection].seat == place {
                    self.world.gone(connection);
                }
            }
        }
    }

    /// Clients whose connections are gone come back, to whichever member.
    fn come_back(&mut self) {
        if self.world.open_connections().len() >= CONNECTIONS || !self.mischief.dice.chance(100) {
            return;
        }
        let members = self.world.cluster.len() as u64;
        let connection = self
            .world
            .connect(self.mischief.dice.below(members) as usize);
        for _ in 0..SESSIONS {
            let name = format!("own {}", self.world.serials);
            self.world.attach(connection, &name, false);
        }
    }

    fn check(&mut self) -> Result<(), String> {
        let (seen, elected) = self.world.cluster[0].seen();
        self.agreement.applied(seen)?;
        self.agreement.elected(elected)
    }

    /// Nothing goes wrong any more: the group is whole again, in time.
    fn heal(&mut self) -> Result<(), String> {
        let now = self.world.now;
        self.mischief.mend(&self.world.cluster, now, true);
        let until = now.0 + HEALED_MS;
        while !self.world.cluster[0].is_whole() {
            self.world.tick(5);
            self.world.look_at_all()?;
            self.world.together()?;
            self.check()?;
            if self.world.now.0 > until {
                return Err("does not heal".to_owned());
            }
            // A disk that was told to refuse may do so only now.
            let now = self.world.now;
            for place in 0..self.world.cluster.len() {
                if !self.world.cluster[place].is_up() {
                    self.world.cluster[place].start(now, 0);
                    self.lost_connections_of(place);
                }
            }
        }
        Ok(())
    }

    fn lost_connections_of(&mut self, place: usize) {
        for connection in self.world.open_connections() {
            if self.world.connections[connection].seat == place {
                self.world.gone(connection);
            }
        }
    }

    /// All members are in one state at the end.
    fn is_whole(&mut self) -> Result<(), String> {
        let digests: Vec<_> = self.world.cluster.iter().map(Seat::digest).collect();
        match digests.iter().all(|digest| *digest == digests[0]) {
            true => Ok(()),
            false => Err(format!("the members end apart: {digests:?}")),
        }
    }
}
