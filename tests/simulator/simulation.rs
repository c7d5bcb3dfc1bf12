//! A run of the simulator: clients and faults first, then healing, then what must hold is checked.

use std::panic::{AssertUnwindSafe, catch_unwind};

use ferrymq::broker::level::Level;
use ferrymq::broker::{Core, Request};
use ferrymq::cluster::Group as _;
use ferrymq::cluster::lockstep::dice::Dice;
use ferrymq::cluster::machine::Machine;
use ferrymq::cluster::raft::seats::{Faults, Seat, Setup, Tally};

use super::checks::agreement::Agreement;
use super::checks::exclusivity::Exclusivity;
use super::checks::order::Order;
use super::checks::progress::Progress;
use super::group::{cores, setup};
use super::mischief::{Done, Mischief};
use super::run;
use super::schedule::{self, Event};
use super::session::Doing;
use super::watched::{self, Watched};
use super::world::World;

/// Simulated milliseconds of clients and faults, in the seeds of every run of all tests.
pub const LONG_MS: u64 = 60_000;

/// Milliseconds at most from one step of a client to the next.
const PACE: u64 = 200;

/// Connections that clients come back to, and sessions on each.
const CONNECTIONS: usize = 6;
const SESSIONS: usize = 2;

/// Steps of clients once nothing goes wrong any more.
const STEPS_HEALED: u64 = 60;

/// Milliseconds between two looks at a group that heals.
const LOOK_MS: u64 = 20;

/// What a run is made of.
#[derive(Clone, Debug)]
pub struct Plan {
    pub seed: u64,
    /// How long clients and faults go on.
    pub milliseconds: u64,
    /// What goes wrong; None: what the seed gives.
    pub schedule: Option<Vec<Event>>,
    /// Changes how the group runs.
    pub alter: fn(&mut Setup),
}

impl Plan {
    /// A sound group.
    pub fn of(seed: u64, milliseconds: u64) -> Plan {
        Plan {
            seed,
            milliseconds,
            schedule: None,
            alter: |_| {},
        }
    }
}

/// What a run came to.
#[derive(Debug)]
pub struct Report {
    pub commands: u64,
    pub deliveries: usize,
    pub entries: usize,
    /// Entries that all members together applied.
    pub applied: u64,
    pub compared: u64,
    pub states: u64,
    pub terms: usize,
    pub ordered: u64,
    pub exclusive: u64,
    /// Queues of other kinds, by what they are called, and what was looked at in them: changes of a
    /// key's message, messages whose level was compared, and those of groups.
    pub kinds: Vec<&'static str>,
    pub values: u64,
    pub levels: u64,
    pub grouped: u64,
    pub longest_heal_ms: u64,
    pub members: usize,
    pub simulated_ms: u64,
    pub skipped: u64,
    pub done: Done,
    /// Branches that were seen to be prepared, and those in doubt at the end.
    pub prepared: u64,
    pub in_doubt: u64,
    /// Sessions that went on, those that had ended, those whose time ran out, and what was sent again:
    /// commands, and deliveries.
    pub resumed: u64,
    pub lost: u64,
    pub run_out: u64,
    pub commands_again: u64,
    pub deliveries_again: u64,
    /// 1 if the level was raised.
    pub raised: u64,
    pub tally: Tally,
    /// A digest of all that happened.
    pub trace: u64,
}

/// A run that found something wrong.
#[derive(Debug)]
pub struct Failure {
    pub text: String,
    pub trace: u64,
    /// What went wrong by then, as scheduled.
    pub schedule: Vec<Event>,
    /// When it was found, in milliseconds from the beginning.
    pub at: u64,
}

/// A run of cores.
pub fn simulate(plan: &Plan) -> Result<Report, Failure> {
    simulate_with(plan, cores)
}

/// A run of a group that `form` makes.
pub fn simulate_with<M: Machine>(
    plan: &Plan,
    form: impl FnOnce(Setup) -> Vec<Seat<Watched<M>>>,
) -> Result<Report, Failure> {
    let seed = plan.seed;
    let mut dice = Dice::new(seed ^ 0x51E7);
    let members = if dice.chance(200) { 5 } else { 3 };
    let mut setup = setup(dice.roll(), members, Faults::NONE);
    (plan.alter)(&mut setup);
    let group = form(setup);
    let drawn = schedule::draw(&mut dice, members, plan.milliseconds);
    let schedule = plan.schedule.as_ref().unwrap_or(&drawn);
    let mut simulation = Simulation {
        world: World::new(group, seed, 1).with_kinds(seed),
        mischief: Mischief::new(dice, schedule),
        agreement: Agreement::default(),
        exclusivity: Exclusivity::default(),
        order: Order::default(),
        progress: Progress::default(),
        began: 0,
    };
    simulation.began = simulation.world.now.0;
    let run = AssertUnwindSafe(|| simulation.run(plan.milliseconds));
    let result = catch_unwind(run).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        let word = || panic.downcast_ref::<&str>().map(|word| (*word).to_owned());
        let text = text.or_else(word).unwrap_or_default();
        Err(format!("ended by a panic: {text}"))
    });
    simulation.report(result, schedule)
}

struct Simulation<M: Machine> {
    world: World<Vec<Seat<M>>>,
    mischief: Mischief,
    agreement: Agreement,
    exclusivity: Exclusivity,
    order: Order,
    progress: Progress,
    began: u64,
}

impl<M: Machine> Simulation<M> {
    fn run(&mut self, milliseconds: u64) -> Result<(), String> {
        self.world.prepare()?;
        self.began = self.world.now.0;
        while self.since() < milliseconds {
            self.break_something();
            self.come_back();
            self.world.step(PACE)?;
            self.check()?;
        }
        self.heal()?;
        self.answers_in_time()?;
        for _ in 0..STEPS_HEALED {
            self.world.step(1)?;
            self.check()?;
        }
        // Clients restart members, too: what such a one held is given back when it is back.
        self.heal()?;
        self.answers_in_time()?;
        run::end(&mut self.world)?;
        self.order.places.judge(&self.world.ledger)?;
        self.check()?;
        self.heal()?;
        self.is_whole()
    }

    fn report(mut self, result: Result<(), String>, schedule: &[Event]) -> Result<Report, Failure> {
        let at = self.since();
        let world = &mut self.world;
        let tally = world.cluster[0].tally();
        let applied = self.agreement.applied;
        world.trace.line(format_args!("{tally:?} {applied}"));
        let trace = world.trace.digest();
        let mut level = 0;
        world.cluster[0].look(&mut |core: &Core| level = core.level().number());
        match result {
            Ok(()) => Ok(Report {
                commands: world.commands,
                deliveries: world.ledger.deliveries(),
                entries: self.agreement.entries(),
                applied,
                compared: self.agreement.compared,
                states: self.agreement.states,
                terms: self.agreement.terms(),
                ordered: self.order.first,
                exclusive: self.exclusivity.deliveries,
                kinds: world.kinds.clone(),
                values: self.exclusivity.values.changes,
                levels: self.order.places.compared,
                grouped: self.exclusivity.grouped,
                longest_heal_ms: self.progress.longest_ms,
                members: world.cluster.len(),
                simulated_ms: at,
                skipped: self.mischief.skipped,
                done: self.mischief.done,
                prepared: world.ledger.branches.seen,
                in_doubt: world.ledger.branches.in_doubt,
                resumed: self.exclusivity.resumed,
                lost: world.lost,
                run_out: self.exclusivity.run_out(),
                commands_again: world.replayed,
                deliveries_again: self.exclusivity.again,
                raised: u64::from(level > Level::FIRST.number()),
                tally,
                trace,
            }),
            Err(text) => {
                let (standing, tail) = (world.cluster[0].standing(), world.trace.tail());
                Err(Failure {
                    text: format!("{text}\n{tally:?}\n{standing}\n{tail}"),
                    trace,
                    schedule: schedule.iter().copied().filter(|e| e.at <= at).collect(),
                    at,
                })
            }
        }
    }

    /// Simulated milliseconds since clients began.
    fn since(&self) -> u64 {
        self.world.now.0 - self.began
    }

    fn break_something(&mut self) {
        let (now, since) = (self.world.now, self.since());
        let gone = self.mischief.step(&self.world.cluster, now, since);
        self.are_gone(gone);
    }

    /// The connections of members that ended are gone.
    fn are_gone(&mut self, members: Vec<usize>) {
        for connection in self.world.open_connections() {
            let seat = self.world.connections[connection].seat;
            if members.contains(&seat) {
                let line = format_args!("{connection}: member {seat} is gone");
                self.world.trace.line(line);
                self.world.gone(connection);
            }
        }
    }

    /// Clients whose connections are gone come back, to whichever member.
    fn come_back(&mut self) {
        if self.world.open_connections().len() >= CONNECTIONS || !self.mischief.dice.chance(300) {
            return;
        }
        let members = self.world.cluster.len() as u64;
        let place = self.mischief.dice.below(members) as usize;
        if !self.world.cluster[place].is_up() {
            return;
        }
        let connection = self.world.connect(place);
        self.world.attach_resumable(connection);
        for _ in 1..SESSIONS {
            let name = format!("own {}", self.world.serials);
            self.world.attach(connection, &name, false);
        }
    }

    fn check(&mut self) -> Result<(), String> {
        let (seen, elected) = self.world.cluster[0].seen();
        self.agreement.applied(seen)?;
        self.agreement.elected(elected)?;
        for happened in watched::happened() {
            let told = |text| format!("entry {}: {text}", happened.index);
            self.exclusivity.happened(&happened).map_err(told)?;
            let ordered = self.order.happened(&happened, &self.world.ledger);
            ordered.map_err(told)?;
        }
        Ok(())
    }

    /// Nothing goes wrong any more: the group is whole again, in time.
    fn heal(&mut self) -> Result<(), String> {
        self.progress.begins(self.world.now);
        loop {
            let gone = self.mischief.mend(&self.world.cluster, self.world.now);
            self.are_gone(gone);
            if self.world.cluster[0].is_whole() {
                self.progress.is_whole(self.world.now);
                return Ok(());
            }
            self.world.tick(LOOK_MS);
            self.world.look_at_all()?;
            self.world.together()?;
            self.check()?;
            self.progress.waits(self.world.now)?;
        }
    }

    /// Attaches a session on a member and asks for a command.
    fn ask(&mut self, place: usize) -> (usize, u16) {
        let connection = self.world.connect(place);
        let name = format!("own {}", self.world.serials);
        let channel = self.world.attach(connection, &name, false);
        let at = (connection, channel);
        self.world.command(at, true, Request::Sync, Doing::Other);
        at
    }

    /// On every member, a session is attached and a command confirmed in time. A member that hears only
    /// then that it was taken for down ends its connections, and the client comes again.
    fn answers_in_time(&mut self) -> Result<(), String> {
        let began = self.world.now.0;
        let places = 0..self.world.cluster.len();
        let mut asked: Vec<_> = places.map(|place| self.ask(place)).collect();
        loop {
            self.world.tick(1);
            self.world.look_at_all()?;
            self.check()?;
            for (place, at) in asked.iter_mut().enumerate() {
                if !self.world.connections[at.0].is_open {
                    *at = self.ask(place);
                }
            }
            let is_answered = |(connection, channel): &(usize, u16)| {
                let session = self.world.connections[*connection].sessions.get(channel);
                session.is_some_and(|session| session.doings.is_empty())
            };
            if asked.iter().all(is_answered) {
                break;
            }
            Progress::unanswered(self.world.now.0 - began)?;
        }
        for (connection, _) in asked {
            self.world.close(connection);
        }
        Ok(())
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
