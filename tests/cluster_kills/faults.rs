//! What happens to members of a group, and for how long.

use std::time::{Duration, Instant};

use crate::Run;
use crate::cluster_kills_members::{Member, until_serving};
use crate::cluster_kills_network as network;
use crate::durable_support::number;

/// The variable that names what happens.
pub const KINDS: &str = "FERRYMQ_CLUSTER_KINDS";

/// A fault lasts so many milliseconds at least.
const LASTS_MS_MIN: u64 = 100;

/// How often a way comes and goes while it flaps, and for how many milliseconds each time.
const FLAPS: u64 = 6;
const FLAP_MS: (u64, u64) = (200, 3000);

/// What happens to a member, or between members.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// `SIGKILL`, and another start.
    Kill,
    /// All members are killed, and start again.
    KillAll,
    /// `SIGSTOP`, and `SIGCONT`.
    Freeze,
    /// Nothing passes between it and the others; its clients stay.
    CutFromOthers,
    /// Nothing passes between it and anybody.
    Unplug,
    /// What it sends to one of the others does not come.
    OneWay,
    /// It is cut off from the others and back, again and again.
    Flap,
    /// Nothing passes between as many as can be gone and the others.
    Halves,
    /// Two parts hear nothing of each other, and one member hears both.
    Bridge,
    /// Each hears the two beside it alone.
    Ring,
    /// It is killed, and its disk is lost: what starts in its place joins with nothing.
    Wipe,
    /// Another one is asked to take it out, and a new one joins in its place.
    TakeOut,
    /// One is cut off, a majority is killed, that one among them, and who is left is asked to take one out
    /// that is left, too.
    Majority,
    /// One after the other is stopped in order and started again.
    Restart,
    /// The same, and what is started is another version: upgrades and ways back take turns.
    Version,
}

/// All of them, by the names that they are asked for with, and how many members it takes.
const FAULTS: [(&str, Fault, usize); 15] = [
    ("kill", Fault::Kill, 3),
    ("freeze", Fault::Freeze, 3),
    ("cut", Fault::CutFromOthers, 3),
    ("unplug", Fault::Unplug, 3),
    ("one-way", Fault::OneWay, 3),
    ("kill-all", Fault::KillAll, 3),
    ("flap", Fault::Flap, 3),
    // Of three members these are what cuts one off already.
    ("halves", Fault::Halves, 5),
    ("bridge", Fault::Bridge, 5),
    ("ring", Fault::Ring, 5),
    ("wipe", Fault::Wipe, 3),
    ("take-out", Fault::TakeOut, 3),
    ("majority", Fault::Majority, 5),
    ("restart", Fault::Restart, 3),
    ("version", Fault::Version, 3),
];

/// What happens where nothing is asked for.
const USUAL: &str = "kill,wipe,version,freeze,cut,take-out,unplug,restart,one-way,kill-all";

impl Fault {
    /// What is to happen, in turn.
    ///
    /// # Errors
    /// There is no such thing, or so many members cannot have it.
    pub fn asked(members: usize) -> Result<Vec<Fault>, String> {
        let names = std::env::var(KINDS).unwrap_or_else(|_| USUAL.to_owned());
        let find = |name: &str| {
            let found = FAULTS.iter().find(|(known, ..)| *known == name);
            let (_, fault, least) = found.ok_or_else(|| format!("{KINDS}: no {name}"))?;
            match members >= *least {
                true => Ok(*fault),
                false => Err(format!(
                    "{name} takes {least} members, and there are {members}"
                )),
            }
        };
        names.split(',').map(find).collect()
    }
}

impl Run<'_> {
    /// How long a fault lasts: short and long ones are as likely.
    fn lasts(&mut self) -> Duration {
        let most = number("FERRYMQ_CLUSTER_FAULT_MS", 8000).max(LASTS_MS_MIN);
        let octaves = u64::from((most / LASTS_MS_MIN).ilog2()) + 1;
        let least = LASTS_MS_MIN << self.random.below(octaves);
        Duration::from_millis((least + self.random.below(least)).min(most))
    }

    /// Lets something happen, and ends it.
    ///
    /// # Errors
    /// Whoever should serve meanwhile does not, or what it takes is missing.
    pub async fn fault(&mut self, fault: Fault) -> Result<(), String> {
        let members = self.members.len();
        let at = self.random.below(members as u64) as usize;
        let lasts = self.lasts();
        let number = self.members[at].number;
        let others: Vec<usize> = (1..=members).filter(|other| *other != number).collect();
        match fault {
            Fault::Kill => {
                self.kill(at)?;
                self.others_serve(&[number], fault, lasts).await?;
                self.members[at].start();
            }
            Fault::KillAll => {
                (0..members).try_for_each(|at| self.kill(at))?;
                self.members.iter_mut().for_each(Member::start);
            }
            Fault::Wipe => {
                self.kill(at)?;
                self.members[at].wipe();
                self.others_serve(&[number], fault, lasts).await?;
                self.members[at].start();
            }
            Fault::TakeOut => {
                let name = self.members[at].name()?;
                let asked = *self.random.pick(&others).expect("there are others");
                self.members[asked - 1].take_out(&name)?;
                self.members[at].ended(true)?;
                self.members[at].wipe();
                self.others_serve(&[number], fault, lasts).await?;
                self.members[at].start();
            }
            Fault::Freeze => {
                self.members[at].signal("STOP");
                self.others_serve(&[number], fault, lasts).await?;
                self.members[at].signal("CONT");
            }
            Fault::Unplug => {
                network::unplug(number, true)?;
                self.others_serve(&[number], fault, lasts).await?;
                network::unplug(number, false)?;
            }
            Fault::OneWay => {
                let one = *self.random.pick(&others).expect("there are others");
                network::cut(number, one, true)?;
                tokio::time::sleep(lasts).await;
                network::cut(number, one, false)?;
            }
            Fault::Majority => self.lose_majority(at).await?,
            Fault::Restart | Fault::Version => self.roll(at, fault).await?,
            Fault::Flap => self.flap(number, &others).await?,
            Fault::CutFromOthers | Fault::Halves | Fault::Bridge | Fault::Ring => {
                let (away, ways) = self.ways(fault, at);
                cut_all(&ways, true)?;
                self.others_serve(&away, fault, lasts).await?;
                cut_all(&ways, false)?;
            }
        }
        Ok(())
    }

    /// See [`Fault::Majority`], from a place on. Who has lost the majority takes nobody out, then or later.
    async fn lose_majority(&mut self, first: usize) -> Result<(), String> {
        let count = self.members.len();
        let places: Vec<usize> = (0..count).map(|step| (first + step) % count).collect();
        let (killed, left) = places.split_at(count / 2 + 1);
        let [leaving, asked] = left else {
            return Err(format!("of {count} members two are to be left"));
        };
        let number = self.members[first].number;
        let others = (1..=count).filter(|other| *other != number);
        let ways: Vec<_> = others.map(|other| (number, other)).collect();
        cut_all(&ways, true)?;
        killed.iter().try_for_each(|at| self.kill(*at))?;
        let name = self.members[*leaving].name()?;
        if self.members[*asked].take_out(&name).is_ok() {
            return Err(format!("{name} was taken out without a majority"));
        }
        cut_all(&ways, false)?;
        for at in killed {
            self.members[*at].start();
        }
        self.until_whole().await?;
        match self.members[*asked].has_member(&name)? {
            true => Ok(()),
            false => Err(format!("{name} was taken out after that was refused")),
        }
    }

    /// All members are stopped in order and started again, one after the other from a place on.
    async fn roll(&mut self, first: usize, fault: Fault) -> Result<(), String> {
        let count = self.members.len();
        for step in 0..count {
            let at = (first + step) % count;
            let member = &mut self.members[at];
            let number = member.number;
            member.signal("TERM");
            member.ended(true)?;
            member.is_next_version ^= fault == Fault::Version;
            self.others_serve(&[number], fault, Duration::ZERO).await?;
            self.members[at].start();
            until_serving(&mut self.members[at]).await?;
        }
        Ok(())
    }

    /// The ways that a fault of the member at a place cuts, and the members of whom it is not asked that
    /// they serve meanwhile.
    fn ways(&self, fault: Fault, at: usize) -> (Vec<usize>, Vec<(usize, usize)>) {
        let count = self.members.len();
        // From the one that it happens to on, round and round.
        let number = |step: usize| (at + step) % count + 1;
        let minority = (count - 1) / 2;
        let is_cut = |one: usize, other: usize| match fault {
            Fault::Halves => (one < minority) != (other < minority),
            // The first one hears both parts.
            Fault::Bridge => one > 0 && (one <= minority) != (other <= minority),
            Fault::Ring => other - one > 1 && other - one < count - 1,
            _ => one == 0,
        };
        let pairs = (0..count).flat_map(|one| (one + 1..count).map(move |other| (one, other)));
        let cut = pairs.filter(|(one, other)| is_cut(*one, *other));
        let ways = cut
            .map(|(one, other)| (number(one), number(other)))
            .collect();
        let away = match fault {
            Fault::Halves => (0..minority).map(number).collect(),
            // Who hears both parts serves, whichever part leads.
            Fault::Bridge => (1..count).map(number).collect(),
            // Whoever leads has a majority, and nobody knows who does.
            Fault::Ring => (0..count).map(number).collect(),
            _ => vec![number(0)],
        };
        (away, ways)
    }

    async fn flap(&mut self, number: usize, others: &[usize]) -> Result<(), String> {
        let ways: Vec<_> = others.iter().map(|other| (number, *other)).collect();
        let (least, most) = FLAP_MS;
        for turn in 0..2 * FLAPS {
            cut_all(&ways, turn % 2 == 0)?;
            let lasts = least + self.random.below(most - least);
            tokio::time::sleep(Duration::from_millis(lasts)).await;
        }
        Ok(())
    }

    /// Waits until members have been away for a time and the others serve without them.
    async fn others_serve(
        &mut self,
        away: &[usize],
        fault: Fault,
        lasts: Duration,
    ) -> Result<(), String> {
        let began = Instant::now();
        let mut is_asked = false;
        for member in &mut self.members {
            if !away.contains(&member.number) {
                until_serving(member).await?;
                is_asked = true;
            }
        }
        let gap = began.elapsed();
        if is_asked {
            self.gaps.entry(fault).or_default().push(gap);
        }
        tokio::time::sleep(lasts.saturating_sub(gap)).await;
        Ok(())
    }

    fn kill(&mut self, at: usize) -> Result<(), String> {
        let member = &mut self.members[at];
        if !member.is_running() {
            return Err(format!("ended by itself: {}", member.tail()));
        }
        member.signal("KILL");
        member.ended(false)
    }
}

/// Cuts ways, or mends them, in both directions.
fn cut_all(ways: &[(usize, usize)], is_cut: bool) -> Result<(), String> {
    ways.iter().try_for_each(|(one, other)| {
        network::cut(*one, *other, is_cut)?;
        network::cut(*other, *one, is_cut)
    })
}
