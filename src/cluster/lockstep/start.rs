//! A group whose members keep what they have on disks, and its start from these.
//!
//! Each member has a journal of its own: a snapshot of the beginning, then every entry. At a start
//! the journals may differ in length. What was acknowledged is on a majority of them, so the order
//! goes on behind the last entry that a majority has: a journal that is longer is cut, one that is
//! shorter gets what it lacks from another. A journal that was lost or is new cannot say what it had;
//! as long as it does not count ([`Voter`]), the others have to have more in common. All cores come
//! from their own journals, as far as these go, and must be in the same state before anybody is
//! served. Connections and sessions of before are gone.

use std::fmt;
use std::sync::Arc;

use super::disks::Disks;
use super::faults::Faults;
use super::member::Member;
use super::member_log::MemberLog;
use super::{Seat, Settings, State, group_of, id};
use crate::broker::ids::{GroupTime, ShardId};
use crate::broker::snapshot::Frozen;
use crate::broker::{Command, Core, Options, Origin};
use crate::cluster::entry_log::{self, EntryLog, LogError, Plant, Voter};
use crate::cluster::machine::Machine;
use crate::cluster::outbox::Woken;
use crate::cluster::{Millis, limits};
use crate::store::{Disk, Recovery};

/// Where the members of a group keep what they have.
#[derive(Clone)]
pub struct Storage {
    /// A disk for each member, always in the same order.
    pub disks: Vec<Arc<dyn Disk>>,
    /// How the logs are.
    pub log: entry_log::Options,
    /// Random: the ids of new stores and of a new group are made of it.
    pub random: u64,
    /// The wall-clock time at `Millis(0)`, in milliseconds since 1970.
    pub wall_at_zero: u64,
    /// Whether journals have threads that write. Else they write when the group is called, and take
    /// as long as the network does.
    pub has_threads: bool,
}

/// Why a group cannot start. Unless a disk refused, nothing that was there was changed.
#[derive(Debug)]
pub enum StartError {
    /// The journal of a member cannot be opened.
    Log {
        /// The member's place, from 1.
        member: usize,
        /// Why.
        error: LogError,
    },
    /// What a journal says cannot be made a state, or it cannot be written.
    Member {
        /// The member's place, from 1.
        member: usize,
        /// Why.
        why: String,
    },
    /// So many journals are lost that nobody knows what was acknowledged.
    NoMajority {
        /// The places of the members whose journals are new, from 1.
        lost: Vec<usize>,
    },
    /// The journals give different states.
    Apart {
        /// The entry behind which they are compared.
        index: u64,
        /// By member.
        digests: Vec<u64>,
    },
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StartError::Log { member, error } => write!(f, "member {member}: {error}"),
            StartError::Member { member, why } => write!(f, "member {member}: {why}"),
            StartError::NoMajority { lost } => write!(
                f,
                "the journals of members {lost:?} are new and others are not: what was \
                 acknowledged is not known any more"
            ),
            StartError::Apart { index, digests } => {
                write!(f, "the journals give different states at entry {index}:")?;
                for (place, digest) in digests.iter().enumerate() {
                    write!(f, " member {}: {digest:016x}", place + 1)?;
                }
                Ok(())
            }
        }
    }
}

impl std::error::Error for StartError {}

/// The seats of a group, and what was found in the members' journals.
pub type Started<M> = (Vec<Seat<M>>, Vec<Recovery>);

/// Starts a group of cores from its disks, or a new one on empty disks. The options are set by an
/// entry.
pub fn seats_on_disks(
    storage: &Storage,
    options: Options,
    settings: Settings,
    now: Millis,
) -> Result<Started<Core>, StartError> {
    let fresh = || Core::new(ShardId::default(), Options::default()).at_most_level();
    let first = Command::Configure(Box::new(options));
    seats_on_disks_of(storage, fresh, vec![first], settings, now)
}

/// Starts a group of machines from its disks, or on empty disks a new one of machines that `fresh`
/// makes, all in the same state. `commands` are ordered before anybody is served.
pub fn seats_on_disks_of<M: Machine>(
    storage: &Storage,
    fresh: impl Fn() -> M,
    commands: Vec<Command>,
    settings: Settings,
    now: Millis,
) -> Result<Started<M>, StartError> {
    let (mut logs, found) = open(storage)?;
    let wall = storage.wall_at_zero.saturating_add(now.0);
    let last_wall = logs.iter().filter_map(|log| log.log.last_wall()).max();
    let machines = match is_new(&logs) {
        true => form(&mut logs, fresh, storage.random, wall)?,
        false => reunite(&mut logs, storage.log.plant)?,
    };
    let plant = storage.log.plant;
    let elapsed = match plant {
        Plant::TimeStands => 0,
        _ => wall.saturating_sub(last_wall.unwrap_or(wall)),
    };
    let base = machines.first().map_or(GroupTime(0), M::time);
    let disks = Disks {
        wall_at_zero: storage.wall_at_zero,
        acknowledged: machines.first().map_or(0, M::index),
        is_full: Arc::default(),
        plant,
    };
    let mut down = Vec::new();
    let mut members = Vec::new();
    for (place, (machine, log)) in machines.into_iter().zip(logs).enumerate() {
        let member = id(place);
        let epoch = machine.last_epoch(member);
        let mut started = Member::new(member, machine);
        started.log = Some(log);
        started.epoch = epoch + 1;
        if plant == Plant::EpochKept && epoch > 0 {
            started.epoch = epoch;
        } else if epoch > 0 {
            down.push(Command::MemberDown { member, epoch });
        }
        members.push(started);
    }
    let seats = group_of(members, Some(disks), (base.plus(elapsed), now), settings);
    if let Some(seat) = seats.first() {
        seat.begin(down.into_iter().chain(commands), settings.faults);
        if storage.has_threads {
            seat.follow_journals();
        }
    }
    Ok((seats, found))
}

fn open(storage: &Storage) -> Result<(Vec<MemberLog>, Vec<Recovery>), StartError> {
    let (mut logs, mut found) = (Vec::new(), Vec::new());
    for (place, disk) in storage.disks.iter().enumerate() {
        let store_id = storage.random.wrapping_add(place as u64 + 1);
        let member = place + 1;
        let failed = |error| StartError::Log { member, error };
        let (opened, writer) = match storage.has_threads {
            true => {
                let opened = EntryLog::open(disk.clone(), &storage.log, store_id);
                (opened.map_err(failed)?, None)
            }
            false => {
                let opened = EntryLog::open_without_thread(disk.clone(), &storage.log, store_id);
                let (opened, writer) = opened.map_err(failed)?;
                (opened, Some(writer))
            }
        };
        let (log, recovery) = opened;
        if let Some(voter) = log.voter()
            && voter.member != id(place)
        {
            let why = format!("this is the journal of member {}", voter.member.0);
            return Err(StartError::Member { member, why });
        }
        logs.push(MemberLog::new(log, writer));
        found.push(recovery);
    }
    check_group(&logs)?;
    Ok((logs, found))
}

/// All journals that count are of one group.
fn check_group(logs: &[MemberLog]) -> Result<(), StartError> {
    let group = |log: &MemberLog| log.log.voter().map(|voter| voter.group);
    let first = logs.iter().find_map(group);
    let other = logs
        .iter()
        .position(|log| group(log).is_some_and(|g| Some(g) != first));
    match other {
        None => Ok(()),
        Some(place) => Err(StartError::Member {
            member: place + 1,
            why: "this is the journal of another group than the first's".to_owned(),
        }),
    }
}

/// Whether nothing has ever been ordered: the group is new, or was never wholly formed. It is formed
/// in two steps, so that a journal counts only when no other is empty any more.
fn is_new(logs: &[MemberLog]) -> bool {
    let no_entries = logs.iter().all(|log| log.log.last_index() == 0);
    let none_counts = logs.iter().all(|log| log.log.voter().is_none());
    let none_empty = logs.iter().all(|log| !log.log.is_empty());
    no_entries && (none_counts || none_empty)
}

/// Forms a group: all members begin in one state, and no entry is ordered before all count.
fn form<M: Machine>(
    logs: &mut [MemberLog],
    fresh: impl Fn() -> M,
    random: u64,
    wall: u64,
) -> Result<Vec<M>, StartError> {
    let mut machines = Vec::new();
    for (place, log) in logs.iter_mut().enumerate() {
        let machine = fresh();
        let begun = match log.log.is_empty() {
            true => log.log.install(wall, machine.index(), machine.freeze()),
            false => Ok(()),
        };
        begun.map_err(told_of(place))?;
        machines.push(log.log.replay(machine.index()).map_err(told_of(place))?);
    }
    wait(logs)?;
    vote(logs, random)?;
    compare(&machines)?;
    Ok(machines)
}

fn told_of(place: usize) -> impl FnOnce(String) -> StartError {
    move |why| StartError::Member {
        member: place + 1,
        why,
    }
}

fn wait(logs: &mut [MemberLog]) -> Result<(), StartError> {
    for (place, log) in logs.iter_mut().enumerate() {
        let end = log.log.end();
        log.wait(end).map_err(told_of(place))?;
    }
    Ok(())
}

/// Lets the journals count that do not yet: what is in them is on their disks.
fn vote(logs: &mut [MemberLog], random: u64) -> Result<(), StartError> {
    let known = logs.iter().find_map(|log| log.log.voter());
    let group = known.map_or(random, |voter| voter.group);
    for (place, log) in logs.iter_mut().enumerate() {
        if log.log.voter().is_none() {
            let member = id(place);
            let voted = log.log.vote(Voter { group, member });
            voted.map_err(told_of(place))?;
            let end = log.log.end();
            log.wait(end).map_err(told_of(place))?;
        }
    }
    Ok(())
}

fn compare<M: Machine>(machines: &[M]) -> Result<(), StartError> {
    let digests: Vec<u64> = machines.iter().map(M::digest).collect();
    if digests.iter().any(|digest| *digest != digests[0]) {
        let index = machines.first().map_or(0, M::index);
        return Err(StartError::Apart { index, digests });
    }
    Ok(())
}

/// The last entry that may have been acknowledged: a majority had it, and of those journals that do
/// not count any of them may have.
fn last_common(logs: &[MemberLog], plant: Plant) -> Result<u64, StartError> {
    let counts = |log: &&MemberLog| log.log.voter().is_some() || plant == Plant::LostCounts;
    let mut lengths: Vec<u64> = logs
        .iter()
        .filter(counts)
        .map(|log| log.log.last_index())
        .collect();
    lengths.sort_unstable();
    lengths.reverse();
    let (majority, lost) = (logs.len() / 2 + 1, logs.len() - lengths.len());
    let needed = majority.checked_sub(lost + 1);
    let common = needed.and_then(|needed| lengths.get(needed));
    common.copied().ok_or_else(|| {
        let numbered = logs.iter().enumerate();
        let lost = numbered.filter(|(_, log)| log.log.voter().is_none());
        StartError::NoMajority {
            lost: lost.map(|(place, _)| place + 1).collect(),
        }
    })
}

/// What a journal that is behind lacks.
struct Lack {
    /// The state that comes first, with the time and the index of its last entry, when its own
    /// entries do not reach to those that others still have by themselves.
    state: Option<(u64, u64, Frozen)>,
    /// The first entry.
    from: u64,
}

/// Brings all journals to the same length, and their machines to the same state.
fn reunite<M: Machine>(logs: &mut [MemberLog], plant: Plant) -> Result<Vec<M>, StartError> {
    let last = last_common(logs, plant)?;
    let numbered = logs.iter().enumerate();
    let source = numbered.max_by_key(|(_, log)| log.log.last_index());
    let source = source.map_or(0, |(place, _)| place);
    let (mut machines, mut lacks) = (Vec::new(), Vec::new());
    for (place, log) in logs.iter().enumerate() {
        let made = machine_of(&log.log, &logs[source].log, last);
        let (machine, lack) = made.map_err(told_of(place))?;
        machines.push(machine);
        lacks.push(lack);
    }
    compare(&machines)?;
    if plant == Plant::CountsEarly {
        vote(logs, 0)?;
    }
    for (place, log) in logs.iter_mut().enumerate() {
        let length = log.log.last_index();
        if length > last {
            tracing::warn!(
                "lockstep: member {}: entries {} to {length}, which no majority had, are taken back",
                place + 1,
                last + 1
            );
            log.log.truncate_after(last).map_err(told_of(place))?;
        }
    }
    for (place, lack) in lacks.into_iter().enumerate() {
        if let Some(lack) = lack {
            catch_up(logs, (place, source), lack, last).map_err(told_of(place))?;
        }
    }
    if plant != Plant::TruncationNotSynced {
        wait(logs)?;
    }
    vote(logs, 0)?;
    Ok(machines)
}

/// The machine that a journal gives behind entry `last`, with what it lacks from another.
fn machine_of<M: Machine>(
    log: &EntryLog,
    source: &EntryLog,
    last: u64,
) -> Result<(M, Option<Lack>), String> {
    let own = log.last_index();
    if log.snapshot_index() > last {
        let index = log.snapshot_index();
        return Err(format!(
            "its snapshot holds entries up to {index}, and a majority has them up to {last} only"
        ));
    }
    if !log.is_empty() && own >= last {
        return Ok((log.replay(last)?, None));
    }
    let needs_state = log.is_empty() || source.first_index() > own + 1;
    let (machine, state, from): (M, _, _) = match needs_state {
        false => (log.replay(own)?, None, own + 1),
        true => {
            let machine: Option<M> = source.snapshot()?;
            let machine = machine.ok_or("no member has a state to begin with")?;
            let (wall, index) = (source.snapshot_wall().unwrap_or(0), machine.index());
            let state = Some((wall, index, machine.freeze()));
            (machine, state, index + 1)
        }
    };
    let machine = source.replay_onto(machine, last)?;
    Ok((machine, Some(Lack { state, from })))
}

/// Writes what a journal lacks, from another.
fn catch_up(
    logs: &mut [MemberLog],
    (place, source): (usize, usize),
    lack: Lack,
    last: u64,
) -> Result<(), String> {
    let from = lack.from;
    tracing::warn!(
        "lockstep: member {} gets entries {from} to {last} from member {}{}",
        place + 1,
        source + 1,
        if lack.state.is_some() {
            ", and the state before them"
        } else {
            ""
        }
    );
    if let Some((wall, index, snapshot)) = lack.state {
        logs[place].log.install(wall, index, snapshot)?;
    }
    for index in from..=last {
        let (wall, batch) = logs[source].log.entry(index)?;
        logs[place].log.append(wall, index, &batch)?;
        if index % limits::CAUGHT_UP_ENTRIES == 0 {
            logs[place].wait_for_room()?;
        }
    }
    Ok(())
}

impl<M: Machine> Seat<M> {
    /// Orders commands of the sequencer, and lets all members apply them at once, on a network
    /// without faults.
    fn begin(&self, commands: impl Iterator<Item = Command>, faults: Faults) {
        let mut woken = Woken::default();
        let mut state = self.state.lock();
        state.network.faults = Faults::NONE;
        for command in commands {
            state.order(Origin::Sequencer, vec![command]);
        }
        let is_applied = |state: &State<M>| state.members.iter().all(|m| m.inbox.is_empty());
        while state.failure.is_none() && !is_applied(&state) {
            state.pump(&mut woken);
        }
        state.network.faults = faults;
        drop(state);
        woken.wake();
    }

    /// Lets the journals' threads tell when they have come further.
    fn follow_journals(&self) {
        let state = Arc::downgrade(&self.state);
        let mut woken = Woken::default();
        let mut guard = self.state.lock();
        for member in &guard.members {
            let Some(log) = &member.log else { continue };
            let told = state.clone();
            let waker = Arc::new(move || State::journal_moved(&told));
            log.log.journal().set_waker(waker);
        }
        guard.settle(&mut woken);
        drop(guard);
        woken.wake();
    }
}
