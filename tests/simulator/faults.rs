//! What goes wrong in a run, when, and how it is mended.

use ferrymq::cluster::Millis;
use ferrymq::cluster::lockstep::dice::Dice;
use ferrymq::cluster::machine::Machine;
use ferrymq::cluster::raft::seats::{Faults, Seat};

/// A wall clock may be wrong by so much.
const WALL_OFF_MS: u64 = 3_600_000;

/// How often what goes wrong at a step, in a thousand: each seed has its own, some of them 0.
#[derive(Clone, Copy, Debug)]
pub struct Rates {
    pub crashes: u32,
    pub full_stops: u32,
    pub pauses: u32,
    pub cuts: u32,
    pub hurt_disks: u32,
    pub losses: u32,
    pub network: Faults,
}

impl Rates {
    /// Those of a seed.
    pub fn draw(dice: &mut Dice) -> Rates {
        let mut some = |most: u64| match dice.chance(500) {
            true => 1 + dice.below(most) as u32,
            false => 0,
        };
        Rates {
            crashes: some(12),
            full_stops: some(3),
            pauses: some(10),
            cuts: some(15),
            hurt_disks: some(6),
            losses: some(4),
            network: Faults {
                drops: some(60),
                doublings: some(60),
                delays: some(400),
                delay_ms_max: 30,
                slow_syncs: some(200),
                sync_ms_max: 60,
            },
        }
    }
}

/// Something that is mended later.
#[derive(Clone, Copy, Debug)]
enum Broken {
    Down(usize),
    Cut(usize, usize),
}

/// See the module.
pub struct Mischief {
    pub dice: Dice,
    pub rates: Rates,
    broken: Vec<(Millis, Broken)>,
}

impl Mischief {
    pub fn new(mut dice: Dice) -> Mischief {
        let rates = Rates::draw(&mut dice);
        Mischief {
            dice,
            rates,
            broken: Vec::new(),
        }
    }

    /// Mends what is due and breaks something else, perhaps. Gives the members whose connections are gone.
    pub fn step<M: Machine>(&mut self, group: &[Seat<M>], now: Millis) -> Vec<usize> {
        self.mend(group, now, false);
        let mut gone = Vec::new();
        let place = self.dice.below(group.len() as u64) as usize;
        if self.dice.chance(self.rates.crashes) {
            gone.push(place);
        }
        if self.dice.chance(self.rates.full_stops) {
            gone = (0..group.len()).collect();
        }
        for place in &gone {
            group[*place].crash(now);
            let until = now.0 + self.dice.below(1500);
            self.broken.push((Millis(until), Broken::Down(*place)));
        }
        if self.dice.chance(self.rates.pauses) {
            group[place].pause(now, 1 + self.dice.below(3000));
        }
        if self.dice.chance(self.rates.cuts) {
            self.cut(group, now);
        }
        if self.dice.chance(self.rates.hurt_disks) && group[place].is_up() {
            group[place].hurt_disk(now, 1 + self.dice.below(40));
        }
        if self.dice.chance(self.rates.losses) && group[0].may_lose() {
            group[place].wipe(now);
            gone.push(place);
        }
        // One that ended by itself, its disk having refused, starts again some time.
        let is_known = |place: usize, broken: &[(Millis, Broken)]| {
            let mut all = broken.iter();
            all.any(|(_, what)| matches!(what, Broken::Down(down) if *down == place))
        };
        for (place, seat) in group.iter().enumerate() {
            if !seat.is_up() && !is_known(place, &self.broken) {
                let until = Millis(now.0 + self.dice.below(1500));
                self.broken.push((until, Broken::Down(place)));
                gone.push(place);
            }
        }
        gone
    }

    /// Halves, one member alone, or a single way.
    fn cut<M: Machine>(&mut self, group: &[Seat<M>], now: Millis) {
        let until = Millis(now.0 + 200 + self.dice.below(3000));
        let (kind, count) = (self.dice.below(3), group.len());
        let (one, other) = (self.dice.below(count as u64), self.dice.below(count as u64));
        for (from, seat) in group.iter().enumerate() {
            for to in (0..count).filter(|to| *to != from) {
                let is_cut = match kind {
                    0 => (from as u64 <= one) != (to as u64 <= one),
                    1 => from as u64 == one || to as u64 == one,
                    _ => (from as u64, to as u64) == (one, other),
                };
                if is_cut {
                    seat.cut(now, to, true);
                    self.broken.push((until, Broken::Cut(from, to)));
                }
            }
        }
    }

    /// Mends what is due, or all.
    pub fn mend<M: Machine>(&mut self, group: &[Seat<M>], now: Millis, is_all: bool) {
        for (until, what) in std::mem::take(&mut self.broken) {
            match what {
                _ if !is_all && until > now => self.broken.push((until, what)),
                Broken::Down(place) => {
                    let off = self.dice.below(2 * WALL_OFF_MS) as i64 - WALL_OFF_MS as i64;
                    group[place].start(now, off);
                }
                Broken::Cut(from, to) => group[from].cut(now, to, false),
            }
        }
        if is_all {
            for seat in group {
                seat.set_faults(now, Faults::NONE);
                seat.mend_disk(now);
                seat.start(now, 0);
                seat.pause(now, 0);
            }
        }
    }
}
