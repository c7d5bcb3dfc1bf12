//! Faults planted on purpose, for the tests that must find them: in the core, and in all that keeps
//! what is durable, but for the journal itself, which has its own. A release build has none of them.

use std::cell::Cell;
use std::sync::atomic::{AtomicU8, Ordering};

/// A fault.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Plant {
    /// What a later batch without facts says is seen before those of the batches before it are.
    LaterBatchOvertakes = 1,
    /// The facts of a batch are written as two records.
    BatchInTwoRecords,
    /// A message that was accepted leaves no fact.
    AcceptNotSaid,
    /// A purge leaves no fact.
    PurgeNotSaid,
    /// A message that is rerouted stays at its old place, too.
    RerouteForgetsPlace,
    /// A binding leaves no fact.
    BindingNotSaid,
    /// Of a message in several queues only the first is said.
    PlaceLeftOut,
    /// Recovered messages are not flagged.
    FlagLost,
    /// Positions of an empty queue begin anew after a start.
    PositionsAnew,
    /// Persistent messages are taken while the disk is full.
    FullIgnored,
    /// A disk is only full when nothing more goes onto it.
    SpareIgnored,
    /// The broker goes on when its journal has failed.
    FailureIgnored,
    /// What was sent again is taken again.
    ResendTaken,
    /// A batch is taken though one before it is missing.
    GapTaken,
    /// What a member held that is down stays held.
    DownKeepsHeld,
    /// What an ended session held goes back without the flag.
    GivenBackUnflagged,
    /// What is released is not looked for in its place.
    ReleasedOutOfSight,
    /// An accept takes the message behind, too.
    AcceptTakesNext,
    /// A commit publishes the first message only.
    HalfCommitted,
    /// A rollback settles what was accepted.
    RollbackSettles,
    /// Headroom is not used up.
    HeadroomUnspent,
    /// Where a subscription stands in its queue is not in the snapshot.
    CursorLeftOut,
    /// Who has a queue for itself is not in the snapshot.
    OwnerLeftOut,
    /// A name can be attached twice.
    NameTakenTwice,
    /// A message is offered to two.
    OfferedTwice,
    /// That a branch is prepared leaves no fact.
    PreparedNotSaid,
    /// What became of a prepared branch leaves no fact.
    OutcomeNotSaid,
    /// A branch can be committed though a session has ended in it.
    BranchOutlivesSession,
    /// What a prepared branch accepted can be had after a start.
    AcceptedOfBranchOffered,
    /// Branches are not in the snapshot.
    BranchesLeftOut,
    /// A session that goes on is said to be one command behind, so that the last is done again.
    ResumedBehind,
    /// What a session that goes on does not have is not sent again.
    NotSentAgain,
    /// A client counts as having a command more than it says.
    ReceivedTooMuch,
    /// An attach by force ends a session that has a timeout.
    TakeoverEnds,
    /// The seconds of a session's timeout are taken for milliseconds.
    TimeoutCutShort,
    /// How long sessions wait without a connection is not in the snapshot.
    WaitLeftOut,
    /// A session whose time has run out goes on waiting.
    RunOutUnheeded,
    /// Who has the groups of a queue is not in the snapshot.
    GroupOwnersLeftOut,
    /// Where the last message of each key is, is not in the snapshot.
    LastValuesLeftOut,
    /// Positions that others know are given again after a crash.
    PositionsNotKept,
    /// Events of queues are numbered as if their queue were new again and again.
    EventsNumberedAnew,
    /// Events can be had by one while another has some that came before.
    EventsOvertake,
    /// A replicated message is taken though its queue has passed its position.
    EventsAppliedAgain,
    /// A replicated message comes to the next position of the copy, not to its own.
    PositionsOfCopyOwn,
    /// Snapshots are written as the newest version that runs would, whatever the level.
    FormatAhead,
    /// No fault: a version of the broker that knows one level more.
    KnowsNextLevel,
}

/// All of them, by the names that tests give.
const NAMES: [(&str, Plant); 46] = [
    ("later-batch-overtakes", Plant::LaterBatchOvertakes),
    ("batch-in-two-records", Plant::BatchInTwoRecords),
    ("accept-not-said", Plant::AcceptNotSaid),
    ("purge-not-said", Plant::PurgeNotSaid),
    ("reroute-forgets-place", Plant::RerouteForgetsPlace),
    ("binding-not-said", Plant::BindingNotSaid),
    ("place-left-out", Plant::PlaceLeftOut),
    ("flag-lost", Plant::FlagLost),
    ("positions-anew", Plant::PositionsAnew),
    ("full-ignored", Plant::FullIgnored),
    ("spare-ignored", Plant::SpareIgnored),
    ("failure-ignored", Plant::FailureIgnored),
    ("resend-taken", Plant::ResendTaken),
    ("gap-taken", Plant::GapTaken),
    ("down-keeps-held", Plant::DownKeepsHeld),
    ("given-back-unflagged", Plant::GivenBackUnflagged),
    ("released-out-of-sight", Plant::ReleasedOutOfSight),
    ("accept-takes-next", Plant::AcceptTakesNext),
    ("half-committed", Plant::HalfCommitted),
    ("rollback-settles", Plant::RollbackSettles),
    ("headroom-unspent", Plant::HeadroomUnspent),
    ("cursor-left-out", Plant::CursorLeftOut),
    ("owner-left-out", Plant::OwnerLeftOut),
    ("name-taken-twice", Plant::NameTakenTwice),
    ("offered-twice", Plant::OfferedTwice),
    ("prepared-not-said", Plant::PreparedNotSaid),
    ("outcome-not-said", Plant::OutcomeNotSaid),
    ("branch-outlives-session", Plant::BranchOutlivesSession),
    ("accepted-of-branch-offered", Plant::AcceptedOfBranchOffered),
    ("branches-left-out", Plant::BranchesLeftOut),
    ("resumed-behind", Plant::ResumedBehind),
    ("not-sent-again", Plant::NotSentAgain),
    ("received-too-much", Plant::ReceivedTooMuch),
    ("takeover-ends", Plant::TakeoverEnds),
    ("timeout-cut-short", Plant::TimeoutCutShort),
    ("wait-left-out", Plant::WaitLeftOut),
    ("run-out-unheeded", Plant::RunOutUnheeded),
    ("group-owners-left-out", Plant::GroupOwnersLeftOut),
    ("last-values-left-out", Plant::LastValuesLeftOut),
    ("positions-not-kept", Plant::PositionsNotKept),
    ("events-numbered-anew", Plant::EventsNumberedAnew),
    ("events-overtake", Plant::EventsOvertake),
    ("events-applied-again", Plant::EventsAppliedAgain),
    ("positions-of-copy-own", Plant::PositionsOfCopyOwn),
    ("format-ahead", Plant::FormatAhead),
    ("knows-next-level", Plant::KnowsNextLevel),
];

thread_local! {
    static PLANTED_HERE: Cell<u8> = const { Cell::new(0) };
    /// Whether this thread does at present what the version to come would do.
    static IS_NEXT_VERSION: Cell<bool> = const { Cell::new(false) };
}

static PLANTED: AtomicU8 = AtomicU8::new(0);

/// Plants the fault of this name in the whole process. False when there is none of that name.
#[doc(hidden)]
pub fn plant(name: &str) -> bool {
    let found = NAMES.iter().find(|(one, _)| *one == name);
    if let Some((_, plant)) = found {
        PLANTED.store(*plant as u8, Ordering::Relaxed);
    }
    found.is_some()
}

/// Plants a fault in this thread alone, or none: where cores of others run in the same process.
#[doc(hidden)]
pub fn plant_here(plant: Option<Plant>) {
    PLANTED_HERE.set(plant.map_or(0, |plant| plant as u8));
}

/// Does something as the version would that knows one level more ([`Plant::KnowsNextLevel`]), or as this
/// one: where members of both run in the same thread.
#[doc(hidden)]
pub fn as_version<R>(is_next: bool, act: impl FnOnce() -> R) -> R {
    struct Before(bool);
    impl Drop for Before {
        fn drop(&mut self) {
            IS_NEXT_VERSION.set(self.0);
        }
    }
    let _before = Before(IS_NEXT_VERSION.replace(is_next));
    act()
}

/// Whether a fault is planted; never in a release build.
#[doc(hidden)]
#[inline]
pub fn is_planted(plant: Plant) -> bool {
    cfg!(debug_assertions)
        && (PLANTED.load(Ordering::Relaxed) == plant as u8
            || PLANTED_HERE.get() == plant as u8
            || plant == Plant::KnowsNextLevel && IS_NEXT_VERSION.get())
}
