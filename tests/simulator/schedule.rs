//! What is to go wrong in a run: a list that is drawn before it begins, so that a part of it can be
//! tried by itself.

use std::fmt;

use ferrymq::cluster::lockstep::dice::Dice;
use ferrymq::cluster::raft::seats::Faults;

/// A wall clock may be wrong by so many milliseconds at most, each as often: seconds, an hour, a month.
const WALL_OFF_MS: [u64; 3] = [10_000, 3_600_000, 30 * 86_400_000];

/// A sync of a slow disk takes so many milliseconds at most: long enough that the power goes meanwhile.
const SYNC_MS_MAX: u64 = 300;

/// A disk goes wrong at one of so many next calls.
const CALLS: u64 = 40;

/// One thing that goes wrong with the member at a place, or with all, and for how many milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    /// The power goes; the wall clock is off by so much afterwards.
    Crash(usize, u64, i64),
    /// The power of all goes.
    FullStop(u64, i64),
    /// It does nothing.
    Pause(usize, u64),
    /// Halves are cut, the first of which has so many members.
    Halves(usize, u64),
    /// It is cut off from all.
    Alone(usize, u64),
    /// What it sends to another does not come.
    OneWay(usize, usize, u64),
    /// Its n-th write or sync fails.
    Refuses(usize, u64),
    /// It starts anew, and its n-th read fails.
    Unreadable(usize, u64, u64),
    /// Its disk has only so many octets left.
    Full(usize, u64, u64),
    /// Its syncs take so many milliseconds.
    Slow(usize, u64, u64),
    /// Its disk is lost.
    Lost(usize),
    /// It leaves the group; later another comes.
    Leaves(usize, u64),
    /// It stops, and a bit of its disk is flipped.
    Rot(usize, u64),
    /// Its n-th write is lost, or goes so many octets further on; it starts anew some time after that.
    Lie(usize, u64, u64, u64),
    /// Its wall clock is set by so much.
    WallStep(usize, i64),
    /// Of its monotonic clock so many milliseconds pass in a thousand.
    Drift(usize, u64, u64),
    /// It stops, and starts some time later as one of the other version.
    Version(usize, u64),
    /// Those of the older version are upgraded, so many milliseconds apart, and then the level is raised.
    Finalise(u64),
    /// The network and all disks are like this.
    Weather(Faults, u64),
}

/// When what goes wrong, in milliseconds from the beginning.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Event {
    pub at: u64,
    pub act: Act,
}

impl fmt::Debug for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ms: {:?}", self.at, self.act)
    }
}

/// Draws an act, given how many members there are.
type Draw = fn(&mut Dice, u64) -> Act;

/// How many events of each kind there are at most in a minute.
const KINDS: [(u64, Draw); 19] = [
    (30, |dice, members| {
        Act::Crash(place(dice, members), dice.below(1500), wall_off(dice))
    }),
    (8, |dice, _| Act::FullStop(dice.below(1500), wall_off(dice))),
    (28, |dice, members| {
        Act::Pause(place(dice, members), 1 + dice.below(3000))
    }),
    (12, |dice, members| {
        Act::Halves(place(dice, members), lasts(dice))
    }),
    (12, |dice, members| {
        Act::Alone(place(dice, members), lasts(dice))
    }),
    (14, |dice, members| {
        let (from, to) = (place(dice, members), place(dice, members));
        Act::OneWay(from, to, lasts(dice))
    }),
    (10, |dice, members| {
        Act::Refuses(place(dice, members), 1 + dice.below(CALLS))
    }),
    (5, |dice, members| {
        let n = 1 + dice.below(CALLS / 2);
        Act::Unreadable(place(dice, members), n, dice.below(800))
    }),
    (5, |dice, members| {
        let bytes = dice.below(64 * 1024);
        Act::Full(place(dice, members), bytes, 500 + dice.below(5000))
    }),
    (8, |dice, members| {
        let sync_ms = 20 + dice.below(700);
        Act::Slow(place(dice, members), sync_ms, lasts(dice))
    }),
    (3, |dice, members| Act::Lost(place(dice, members))),
    (3, |dice, members| {
        Act::Leaves(place(dice, members), 500 + dice.below(4000))
    }),
    (4, |dice, members| {
        Act::Rot(place(dice, members), dice.below(1500))
    }),
    (4, |dice, members| {
        let n = 1 + dice.below(CALLS);
        Act::Lie(place(dice, members), n, 0, 500 + dice.below(4000))
    }),
    (4, |dice, members| {
        let (n, further) = (1 + dice.below(CALLS), 1 + dice.below(4096));
        Act::Lie(place(dice, members), n, further, 500 + dice.below(4000))
    }),
    (14, |dice, members| {
        Act::WallStep(place(dice, members), wall_off(dice))
    }),
    (10, |dice, members| {
        let per_mille = 900 + dice.below(201);
        Act::Drift(place(dice, members), per_mille, 500 + dice.below(9000))
    }),
    (8, |dice, members| {
        Act::Version(place(dice, members), dice.below(1500))
    }),
    (1, |dice, _| Act::Finalise(dice.below(3000))),
];

/// Changes of the weather in a minute.
const WEATHERS: u64 = 12;

fn place(dice: &mut Dice, members: u64) -> usize {
    dice.below(members) as usize
}

fn lasts(dice: &mut Dice) -> u64 {
    200 + dice.below(3000)
}

fn wall_off(dice: &mut Dice) -> i64 {
    let most = WALL_OFF_MS[dice.below(WALL_OFF_MS.len() as u64) as usize];
    dice.below(2 * most) as i64 - most as i64
}

/// Each seed has its own rates, some of them 0.
fn weather(dice: &mut Dice, is_on: [bool; 4]) -> Faults {
    let sync_ms_max = 20 + dice.below(SYNC_MS_MAX);
    let mut some = |kind: usize, most: u64| match is_on[kind] {
        true => 1 + dice.below(most) as u32,
        false => 0,
    };
    Faults {
        drops: some(0, 80),
        doublings: some(1, 80),
        delays: some(2, 400),
        delay_ms_max: 30,
        slow_syncs: some(3, 500),
        sync_ms_max,
    }
}

/// The schedule of a seed for a run of so many milliseconds.
pub fn draw(dice: &mut Dice, members: usize, milliseconds: u64) -> Vec<Event> {
    let mut events = Vec::new();
    for (most, act) in KINDS {
        if dice.chance(300) {
            continue;
        }
        let most = most * milliseconds / 60_000;
        for _ in 0..1 + dice.below(most.max(1)) {
            let at = dice.below(milliseconds);
            let act = act(dice, members as u64);
            events.push(Event { at, act });
        }
    }
    let is_on = [(); 4].map(|()| dice.chance(600));
    for _ in 0..WEATHERS * milliseconds / 60_000 {
        let at = dice.below(milliseconds);
        let act = Act::Weather(weather(dice, is_on), 1000 + dice.below(9000));
        events.push(Event { at, act });
    }
    events.sort_by_key(|event| event.at);
    events
}
