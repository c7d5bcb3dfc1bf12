//! What goes wrong in a run, as it is scheduled, and how it is mended.

use std::collections::{BTreeSet, VecDeque};

use ferrymq::cluster::Millis;
use ferrymq::cluster::lockstep::dice::Dice;
use ferrymq::cluster::machine::Machine;
use ferrymq::cluster::raft::seats::{Faults, Seat};

use super::schedule::{Act, Event};

/// A member that ended by itself starts again after so many milliseconds at most.
const DOWN_MS: u64 = 1500;

/// Something that is mended, or goes on, later.
#[derive(Clone, Copy, Debug)]
enum Later {
    Start(usize, i64),
    /// Reads fail when it starts.
    StartUnreadable(usize, u64),
    Crash(usize),
    Version(usize),
    Replace(usize),
    Join(usize),
    Mend(usize, usize),
    Room(usize),
    Steady(usize),
    Calm,
}

/// How often what was done that shows in the group's own counts as one of several things.
#[derive(Clone, Copy, Debug, Default)]
pub struct Done {
    /// Groups cut in two.
    pub halves: u64,
    /// Members cut off from all others.
    pub alone: u64,
    /// Ways cut in one direction alone.
    pub one_ways: u64,
    /// Disks that were lost, and not given up since they were damaged.
    pub disks_lost: u64,
}

/// See the module.
pub struct Mischief {
    pub dice: Dice,
    events: VecDeque<Event>,
    later: Vec<(Millis, Later)>,
    /// Events for which the time was wrong.
    pub skipped: u64,
    /// What went wrong that the group itself does not tell apart from what follows of other things.
    pub done: Done,
    /// Members whose connections are gone since this was last asked.
    gone: BTreeSet<usize>,
}

impl Mischief {
    pub fn new(dice: Dice, schedule: &[Event]) -> Mischief {
        Mischief {
            dice,
            events: schedule.iter().copied().collect(),
            later: Vec::new(),
            skipped: 0,
            done: Done::default(),
            gone: BTreeSet::new(),
        }
    }

    /// Mends what is due and breaks what is due, `since` milliseconds after the beginning. Gives the
    /// members whose connections are gone.
    pub fn step<M: Machine>(&mut self, group: &[Seat<M>], now: Millis, since: u64) -> Vec<usize> {
        self.go_on(group, now, false);
        while let Some(event) = self.events.pop_front_if(|event| event.at <= since) {
            let is_done = self.act(group, now, event.act);
            self.skipped += u64::from(!is_done);
        }
        self.look_after_ended(group, now);
        std::mem::take(&mut self.gone).into_iter().collect()
    }

    fn later(&mut self, now: Millis, milliseconds: u64, what: Later) {
        self.later.push((Millis(now.0 + milliseconds), what));
    }

    /// Lets one thing go wrong. False: it cannot, as things are.
    fn act<M: Machine>(&mut self, group: &[Seat<M>], now: Millis, act: Act) -> bool {
        match act {
            Act::Crash(place, down_ms, wall_off_ms) => {
                self.crash(group, now, place);
                self.later(now, down_ms, Later::Start(place, wall_off_ms));
            }
            Act::FullStop(down_ms, wall_off_ms) => {
                for place in 0..group.len() {
                    self.crash(group, now, place);
                    self.later(now, down_ms, Later::Start(place, wall_off_ms));
                }
            }
            Act::Pause(place, milliseconds) => group[place].pause(now, milliseconds),
            Act::Halves(first, lasts) => {
                let is_cut = |from, to| (from <= first) != (to <= first);
                self.done.halves += self.cut(group, now, lasts, is_cut);
            }
            Act::Alone(place, lasts) => {
                let is_cut = |from, to| from == place || to == place;
                self.done.alone += self.cut(group, now, lasts, is_cut);
            }
            Act::OneWay(one, other, lasts) => {
                let is_cut = |from, to| (from, to) == (one, other);
                self.done.one_ways += self.cut(group, now, lasts, is_cut);
            }
            Act::Weather(faults, lasts) => {
                group[0].set_faults(now, faults);
                self.later(now, lasts, Later::Calm);
            }
            Act::WallStep(place, by_ms) => group[place].step_wall(now, by_ms),
            Act::Drift(place, per_mille, lasts) => {
                group[place].drift(now, per_mille);
                self.later(now, lasts, Later::Steady(place));
            }
            Act::Version(place, down_ms) => return self.change_version(group, now, place, down_ms),
            Act::Finalise(apart_ms) => {
                if !group[0].finalise() {
                    return false;
                }
                for place in 0..group.len() {
                    self.later(now, apart_ms * place as u64, Later::Version(place));
                }
            }
            _ => return self.act_on_disk(group, now, act),
        }
        true
    }

    /// Another version takes a member's place. False: it would go back, and nobody does any more.
    fn change_version<M: Machine>(
        &mut self,
        group: &[Seat<M>],
        now: Millis,
        place: usize,
        down_ms: u64,
    ) -> bool {
        let is_done = group[place].change_version();
        if is_done && group[place].is_up() {
            self.crash(group, now, place);
            self.later(now, down_ms, Later::Start(place, 0));
        }
        is_done
    }

    /// The same for disks. Of a disk that is in doubt already, nothing more is asked; and as many as
    /// there must be stay whole.
    fn act_on_disk<M: Machine>(&mut self, group: &[Seat<M>], now: Millis, act: Act) -> bool {
        let is_sound = |place: usize| group[place].is_up() && !group[place].is_hurt();
        let may_lose = group[0].may_lose();
        match act {
            Act::Refuses(place, calls) if is_sound(place) => group[place].hurt_disk(now, calls),
            Act::Unreadable(place, calls, down_ms) if is_sound(place) => {
                self.crash(group, now, place);
                self.later(now, down_ms, Later::StartUnreadable(place, calls));
            }
            Act::Full(place, bytes, lasts) if is_sound(place) => {
                group[place].set_room(now, Some(bytes));
                self.later(now, lasts, Later::Room(place));
            }
            Act::Slow(place, sync_ms, lasts) => {
                group[place].slow_disk(now, sync_ms, Millis(now.0 + lasts));
            }
            Act::Lost(place) if may_lose => {
                self.done.disks_lost += 1;
                self.replace(group, now, place);
            }
            Act::Leaves(place, away_ms) if may_lose => {
                group[place].leave(now);
                self.later(now, away_ms, Later::Join(place));
            }
            Act::Rot(place, down_ms) if may_lose && is_sound(place) => {
                group[place].rot(now);
                self.gone.insert(place);
                self.later(now, down_ms, Later::Start(place, 0));
            }
            Act::Lie(place, calls, further, then) if may_lose && is_sound(place) => {
                group[place].deceive(now, calls, further);
                self.later(now, then, Later::Crash(place));
            }
            _ => return false,
        }
        true
    }

    fn crash<M: Machine>(&mut self, group: &[Seat<M>], now: Millis, place: usize) {
        group[place].crash(now);
        self.gone.insert(place);
    }

    fn replace<M: Machine>(&mut self, group: &[Seat<M>], now: Millis, place: usize) {
        group[place].wipe(now);
        self.gone.insert(place);
    }

    /// Halves, one member alone, or a single way. Gives how often that was: not at all, where nothing
    /// lies between.
    fn cut<M: Machine>(
        &mut self,
        group: &[Seat<M>],
        now: Millis,
        lasts: u64,
        is_cut: impl Fn(usize, usize) -> bool,
    ) -> u64 {
        let mut ways = 0_u64;
        for (from, seat) in group.iter().enumerate() {
            for to in (0..group.len()).filter(|to| *to != from && is_cut(from, *to)) {
                seat.cut(now, to, true);
                self.later(now, lasts, Later::Mend(from, to));
                ways += 1;
            }
        }
        ways.min(1)
    }

    /// One that ended by itself, its disk having refused, starts again some time; one that cannot is
    /// replaced; one that has left is, too.
    fn look_after_ended<M: Machine>(&mut self, group: &[Seat<M>], now: Millis) {
        for (place, seat) in group.iter().enumerate() {
            if seat.is_up() {
                continue;
            }
            self.gone.insert(place);
            let is_known = self.later.iter().any(|(_, what)| match what {
                Later::Start(one, _) | Later::StartUnreadable(one, _) => *one == place,
                Later::Replace(one) | Later::Join(one) => *one == place,
                _ => false,
            });
            if is_known && !seat.is_spoiled() {
                continue;
            }
            let what = match (seat.is_spoiled(), seat.is_absent()) {
                (true, _) => Later::Replace(place),
                (false, true) => Later::Join(place),
                (false, false) => Later::Start(place, 0),
            };
            let is_same = |(_, known): &(Millis, Later)| matches!((known, what), (Later::Replace(a), Later::Replace(b)) if *a == b);
            if !self.later.iter().any(is_same) {
                let milliseconds = self.dice.below(DOWN_MS);
                self.later(now, milliseconds, what);
            }
        }
    }

    /// Goes on with what is due, or with all.
    fn go_on<M: Machine>(&mut self, group: &[Seat<M>], now: Millis, is_all: bool) {
        for (until, what) in std::mem::take(&mut self.later) {
            if !is_all && until > now {
                self.later.push((until, what));
                continue;
            }
            // One that ended since the last look has other connections when it is back.
            if let Later::Start(place, _) | Later::StartUnreadable(place, _) | Later::Join(place) =
                what
                && !group[place].is_up()
            {
                self.gone.insert(place);
            }
            match what {
                Later::Start(place, wall_off_ms) => group[place].start(now, wall_off_ms),
                Later::StartUnreadable(place, calls) => {
                    if !group[place].is_up() && !group[place].is_hurt() {
                        group[place].hurt_reading(now, calls);
                        group[place].start(now, 0);
                    }
                }
                Later::Crash(place) => {
                    self.crash(group, now, place);
                    self.later.push((now, Later::Start(place, 0)));
                }
                Later::Version(place) => {
                    if !group[place].is_next_version() {
                        let down_ms = self.dice.below(DOWN_MS);
                        self.change_version(group, now, place, down_ms);
                    }
                }
                Later::Replace(place) if group[place].is_spoiled() => {
                    self.replace(group, now, place);
                }
                Later::Replace(_) => {}
                // It may not have left yet.
                Later::Join(place) => group[place].join(now),
                Later::Mend(from, to) => group[from].cut(now, to, false),
                Later::Room(place) => group[place].set_room(now, None),
                Later::Steady(place) => group[place].drift(now, 1000),
                Later::Calm => group[0].set_faults(now, Faults::NONE),
            }
        }
    }

    /// Mends all. Gives the members whose connections are gone.
    pub fn mend<M: Machine>(&mut self, group: &[Seat<M>], now: Millis) -> Vec<usize> {
        self.go_on(group, now, true);
        self.go_on(group, now, true);
        group[0].set_faults(now, Faults::NONE);
        for (place, seat) in group.iter().enumerate() {
            seat.mend_disk(now);
            seat.drift(now, 1000);
            seat.pause(now, 0);
            if !seat.is_up() {
                seat.start(now, 0);
                self.gone.insert(place);
            }
            if seat.is_spoiled() {
                self.replace(group, now, place);
            }
            seat.join(now);
        }
        std::mem::take(&mut self.gone).into_iter().collect()
    }
}
