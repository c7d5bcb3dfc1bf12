//! Faults planted on purpose: each is found, and it is printed by how many seeds.
//!
//! The first seed is always the same, since a fault that is rarely found would fail now and then.

use ferrymq::broker::ids::GroupTime;
use ferrymq::broker::plant::{self, Plant as CorePlant};
use ferrymq::broker::{Batch, Command, Core, Request};
use ferrymq::cluster::entry_log::Plant as LogPlant;
use ferrymq::cluster::machine::Machine;
use ferrymq::cluster::raft::Plant;
use ferrymq::cluster::raft::seats::Setup;
use ferrymq::store::Plant as StorePlant;
use ferrymq::wire::Value;

use super::group::group_of;
use super::kinds::{RING_MAX, kind};
use super::planted::{Fault, Planted};
use super::simulation::{Failure, Plan, Report, simulate, simulate_with};

/// Runs in which a planted fault must be found, each of so many simulated milliseconds: far fewer
/// than a run of all tests has without faults.
const RUNS: u64 = 2000;
const RUN_MS: u64 = 20_000;
const SEED: u64 = 0x000F_E441;

/// The fault is found, in words of one of these.
fn is_found(by: &[&str], run: impl Fn(u64) -> Result<Report, Failure>) {
    let mut others = Vec::new();
    for n in 0..RUNS {
        if let Err(failure) = run(SEED + n) {
            let first = failure.text.lines().next().unwrap_or_default().to_owned();
            if by.iter().any(|by| first.contains(by)) {
                let name = std::thread::current().name().unwrap_or_default().to_owned();
                println!("{name}: seed {} of {RUNS}: {first}", n + 1);
                return;
            }
            others.push(first);
        }
    }
    panic!("not found by {by:?} but by {others:?}");
}

/// The same with a group that runs differently.
fn altered(by: &[&str], alter: fn(&mut Setup)) {
    is_found(by, |seed| {
        simulate(&Plan {
            alter,
            ..Plan::of(seed, RUN_MS)
        })
    });
}

/// The same with a fault in the core.
fn in_core(by: &[&str], fault: CorePlant) {
    plant::plant_here(Some(fault));
    is_found(by, |seed| simulate(&Plan::of(seed, RUN_MS)));
    plant::plant_here(None);
}

const LOST: [&str; 10] = [
    "is lost",
    "waits for",
    "come apart",
    "was settled",
    "another than in the order",
    "both lead",
    "half a transaction",
    "was due",
    "out of order",
    "does not heal",
];

/// A session or a command that nobody answers, in any of the words for it.
const UNANSWERED: [&str; 8] = [
    "waits for",
    "was never answered",
    "is lost",
    "no session",
    "does not come to rest",
    "held by nobody",
    "was due",
    "out of order",
];

#[test]
fn planted_snapshot_that_an_older_version_cannot_read_is_found() {
    in_core(&["later version"], CorePlant::FormatAhead);
}

#[test]
fn planted_promise_not_kept_is_found() {
    altered(&LOST, |setup| setup.plant = Plant::VoteForgotten);
}

#[test]
fn planted_acknowledgement_before_the_sync_is_found() {
    // The member that comes back with less than it acknowledged may be the first to say so.
    let own = "and its log ends at entry";
    let words = [&LOST[..], &[own]].concat();
    altered(&words, |setup| setup.plant = Plant::SentUnsynced);
}

#[test]
fn planted_time_of_ones_own_clock_is_found() {
    altered(&["come apart"], |setup| setup.plant = Plant::LocalTime);
}

#[test]
fn planted_epoch_not_raised_is_found() {
    altered(&UNANSWERED, |setup| setup.plant = Plant::EpochKept);
}

#[test]
fn planted_connections_kept_over_a_state_from_elsewhere_are_found() {
    altered(&UNANSWERED, |setup| setup.plant = Plant::ConnectionsKept);
}

#[test]
fn planted_down_not_heeded_is_found() {
    altered(&UNANSWERED, |setup| setup.plant = Plant::DownUnheeded);
}

#[test]
fn planted_loss_that_is_not_mended_is_found() {
    altered(&UNANSWERED, |setup| setup.plant = Plant::NotResent);
}

#[test]
fn planted_snapshot_of_two_states_is_found() {
    let by = ["cannot be read", "come apart", "does not start", "snapshot"];
    altered(&by, |setup| setup.plant = Plant::SnapshotBehind);
}

#[test]
fn planted_accept_applied_twice_after_a_change_of_leader_is_found() {
    let by = [
        "twice",
        "was never sent",
        "out of order",
        "is lost",
        "waits for",
    ];
    altered(&by, |setup| setup.plant = Plant::Renumbered);
}

#[test]
fn planted_damage_that_is_believed_is_found() {
    let by = [
        "come apart",
        "does not start",
        "cannot be read",
        "entry",
        "heal",
    ];
    altered(&by, |setup| {
        setup.log.journal.plant = StorePlant::CheckIgnored;
    });
}

#[test]
fn planted_sync_tried_again_is_found() {
    // A journal is damaged of which nobody said that it would be.
    altered(&["does not start", "is lost", "come apart"], |setup| {
        setup.log.journal.plant = StorePlant::SyncRetried;
    });
}

#[test]
fn planted_entries_taken_back_that_come_again_are_found() {
    let by = [
        "come apart",
        "does not start",
        "another than",
        "is lost",
        "entry",
    ];
    altered(&by, |setup| setup.log.plant = LogPlant::TruncationIgnored);
}

#[test]
fn planted_segments_given_back_before_the_snapshot_is_there_are_found() {
    let by = ["does not start", "come apart", "is lost"];
    altered(&by, |setup| setup.log.plant = LogPlant::SnapshotNotSynced);
}

#[test]
fn planted_gap_that_is_not_noticed_is_found() {
    in_core(&UNANSWERED, CorePlant::GapTaken);
}

#[test]
fn planted_resend_that_is_taken_again_is_found() {
    let by = [
        "twice",
        "was never sent",
        "out of order",
        "is lost",
        "waits for",
        "held by",
    ];
    in_core(&by, CorePlant::ResendTaken);
}

#[test]
fn planted_hold_of_a_member_that_is_down_is_found() {
    in_core(&["is lost", "held by nobody"], CorePlant::DownKeepsHeld);
}

#[test]
fn planted_flag_left_out_is_found() {
    let by = ["without flag", "without the flag", "out of order"];
    in_core(&by, CorePlant::GivenBackUnflagged);
}

#[test]
fn planted_message_released_out_of_sight_is_found() {
    in_core(&["is lost", "out of order"], CorePlant::ReleasedOutOfSight);
}

#[test]
fn planted_accept_that_takes_the_next_is_found() {
    in_core(&["is lost"], CorePlant::AcceptTakesNext);
}

#[test]
fn planted_half_of_a_transaction_is_found() {
    in_core(&["half a transaction", "is lost"], CorePlant::HalfCommitted);
}

#[test]
fn planted_rollback_that_settles_is_found() {
    in_core(&["is lost"], CorePlant::RollbackSettles);
}

#[test]
fn planted_headroom_not_used_up_is_found() {
    in_core(&["no headroom"], CorePlant::HeadroomUnspent);
}

#[test]
fn planted_cursor_left_out_of_the_snapshot_is_found() {
    in_core(&["come apart"], CorePlant::CursorLeftOut);
}

#[test]
fn planted_owner_left_out_of_the_snapshot_is_found() {
    in_core(&["come apart"], CorePlant::OwnerLeftOut);
}

#[test]
fn planted_branches_left_out_of_the_snapshot_are_found() {
    in_core(&["come apart"], CorePlant::BranchesLeftOut);
}

#[test]
fn planted_branch_that_outlives_its_session_is_found() {
    in_core(&["is lost"], CorePlant::BranchOutlivesSession);
}

#[test]
fn planted_name_that_two_have_is_found() {
    in_core(&["is attached by"], CorePlant::NameTakenTwice);
}

#[test]
fn planted_message_that_two_are_given_is_found() {
    let by = ["is held by", "twice without flag", "out of order"];
    in_core(&by, CorePlant::OfferedTwice);
}

#[test]
fn planted_command_done_again_when_a_session_goes_on_is_found() {
    let by = ["is expected again", "twice", "out of order"];
    in_core(&by, CorePlant::ResumedBehind);
}

#[test]
fn planted_delivery_not_sent_again_is_found() {
    // Its number is missed, and so is what was to be settled.
    let by = ["was due", "is lost", "waits for", "held by nobody"];
    in_core(&by, CorePlant::NotSentAgain);
}

#[test]
fn planted_delivery_counted_as_received_is_found() {
    let by = ["is lost", "was due", "waits for", "cannot go on"];
    in_core(&by, CorePlant::ReceivedTooMuch);
}

#[test]
fn planted_takeover_that_ends_the_session_is_found() {
    in_core(&["ended before its time"], CorePlant::TakeoverEnds);
}

#[test]
fn planted_timeout_cut_short_is_found() {
    in_core(
        &["ended before its time", "which waits until"],
        CorePlant::TimeoutCutShort,
    );
}

#[test]
fn planted_time_that_runs_out_in_vain_is_found() {
    let by = ["its time was over", "held by nobody", "is lost"];
    in_core(&by, CorePlant::RunOutUnheeded);
}

#[test]
fn planted_wait_left_out_of_the_snapshot_is_found() {
    in_core(&["come apart"], CorePlant::WaitLeftOut);
}

#[test]
fn planted_owners_of_groups_left_out_of_the_snapshot_are_found() {
    let by = ["come apart", "two have messages of group"];
    in_core(&by, CorePlant::GroupOwnersLeftOut);
}

#[test]
fn planted_last_values_left_out_of_the_snapshot_are_found() {
    let by = ["come apart", "of one key are left", "taken its place"];
    in_core(&by, CorePlant::LastValuesLeftOut);
}

fn fault_is_found<F: Fault>(by: &[&str])
where
    Planted<F>: Machine,
{
    let form = |setup| group_of(setup, || Planted::<F>::machines(1).remove(0));
    is_found(by, |seed| simulate_with(&Plan::of(seed, RUN_MS), form));
}

/// Of octets that are no larger a level may be one, or a member.
const LEVELS_MAX: u8 = 8;

/// The last field that says anything is not in the snapshot as it is: mostly a counter.
#[derive(Default)]
struct Forgetful;

impl Fault for Forgetful {
    fn carried(state: &mut Vec<u8>) {
        // Levels and the members that know them come behind that, all of them small: of other ones a
        // snapshot is refused, and not taken.
        if let Some(last) = state.iter().rposition(|octet| *octet > LEVELS_MAX) {
            state[last] = 0;
        }
    }
}

#[test]
fn planted_field_left_out_of_the_snapshot_is_found() {
    fault_is_found::<Forgetful>(&["come apart"]);
}

/// Some messages are dropped by all members alike: only clients can tell.
#[derive(Default)]
struct LosesTransfers;

impl Fault for LosesTransfers {
    fn before(&mut self, batch: &mut Batch, _: GroupTime) {
        let is_chosen = batch.index.is_multiple_of(9);
        for command in batch.commands.iter_mut().filter(|_| is_chosen) {
            if let Command::Session { request, .. } = command
                && matches!(request, Request::Transfer { .. })
            {
                *request = Request::Nothing;
            }
        }
    }
}

#[test]
fn planted_loss_by_all_alike_is_found() {
    fault_is_found::<LosesTransfers>(&["is lost", "waits for"]);
}

/// Changes what a queue of another kind is declared with, on all members alike: only what the kind
/// promises can tell.
fn declared_otherwise(batch: &mut Batch, argument: &str, value: Option<u32>) {
    for command in &mut batch.commands {
        let Command::Session { request, .. } = command else {
            continue;
        };
        let Request::QueueDeclare(declare) = request else {
            continue;
        };
        let Some(arguments) = &declare.arguments else {
            continue;
        };
        if kind(&declare.queue).is_none() || !arguments.contains(argument) {
            continue;
        }
        let others = arguments.iter().filter(|(name, _)| *name != argument);
        let others = others.map(|(name, value)| (name, value.clone()));
        let changed = value.map(|value| (argument, Value::U32(value)));
        declare.arguments = Some(others.chain(changed).collect());
    }
}

/// Messages of a last value queue are not replaced.
#[derive(Default)]
struct KeepsReplaced;

impl Fault for KeepsReplaced {
    fn before(&mut self, batch: &mut Batch, _: GroupTime) {
        declared_otherwise(batch, "qpid.last_value_queue_key", None);
    }
}

#[test]
fn planted_message_that_a_later_one_does_not_replace_is_found() {
    let by = ["taken its place", "of one key are left", "later one of its"];
    fault_is_found::<KeepsReplaced>(&by);
}

/// Priorities count for nothing.
#[derive(Default)]
struct NoPriorities;

impl Fault for NoPriorities {
    fn before(&mut self, batch: &mut Batch, _: GroupTime) {
        declared_otherwise(batch, "qpid.priorities", None);
    }
}

#[test]
fn planted_lower_priority_before_a_higher_is_found() {
    fault_is_found::<NoPriorities>(&["waited from entry"]);
}

/// The header that names the group is not looked at, nor is whether groups are shared.
#[derive(Default)]
struct NoGroups;

impl Fault for NoGroups {
    fn before(&mut self, batch: &mut Batch, _: GroupTime) {
        declared_otherwise(batch, "qpid.group_header_key", None);
        declared_otherwise(batch, "qpid.shared_msg_group", None);
    }
}

#[test]
fn planted_group_that_two_have_is_found() {
    fault_is_found::<NoGroups>(&["two have messages of group"]);
}

/// A ring drops more than it must.
#[derive(Default)]
struct SmallRing;

impl Fault for SmallRing {
    fn before(&mut self, batch: &mut Batch, _: GroupTime) {
        declared_otherwise(batch, "qpid.max_count", Some(RING_MAX / 3));
    }
}

#[test]
fn planted_message_dropped_without_need_is_found() {
    fault_is_found::<SmallRing>(&["was dropped to make room"]);
}

/// A ring drops nothing.
#[derive(Default)]
struct EndlessRing;

impl Fault for EndlessRing {
    fn before(&mut self, batch: &mut Batch, _: GroupTime) {
        declared_otherwise(batch, "qpid.max_count", Some(10 * RING_MAX));
    }
}

#[test]
fn planted_ring_that_holds_too_much_is_found() {
    fault_is_found::<EndlessRing>(&["are left in the ring"]);
}

/// A core that is as it should be, so that what is found above is the fault.
#[test]
fn nothing_is_found_where_nothing_was_planted() {
    for n in 0..3 {
        let plan = Plan::of(SEED + n, RUN_MS);
        let run = simulate_with(&plan, |setup| {
            group_of(setup, || Core::new(Default::default(), Default::default()))
        });
        run.unwrap_or_else(|failure| panic!("{}", failure.text));
    }
}
