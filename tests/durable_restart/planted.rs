//! Faults that these tests find.

use crate::durable_support::plants::{self, Row};

/// A fault, and the test that finds it by an assertion.
const fn row(plant: &'static str, test: &'static [&'static str]) -> Row {
    Row {
        plant,
        by: test[1],
        arguments: test,
        environment: &[],
        says: &["panicked at tests/durable_restart/"],
        is_long: false,
    }
}

const PLANTS: [Row; 14] = [
    row(
        "accept-not-said",
        &[
            "--exact",
            "messages::accepted_messages_do_not_come_back_and_delivered_ones_do",
        ],
    ),
    row(
        "purge-not-said",
        &["--exact", "messages::purged_messages_do_not_come_back"],
    ),
    row(
        "reroute-forgets-place",
        &[
            "--exact",
            "messages::rejected_messages_are_at_the_alternate_exchange_once",
        ],
    ),
    row(
        "binding-not-said",
        &[
            "--exact",
            "definitions::durable_definitions_survive_both_ends",
        ],
    ),
    row(
        "place-left-out",
        &[
            "--exact",
            "messages::a_message_in_several_queues_leaves_each_for_itself",
        ],
    ),
    row(
        "flag-lost",
        &[
            "--exact",
            "messages::persistent_messages_survive_both_ends_in_order_and_flagged",
        ],
    ),
    row(
        "positions-anew",
        &[
            "--exact",
            "messages::messages_sent_after_a_restart_are_not_taken_for_those_that_have_left",
        ],
    ),
    row(
        "time-stands-still",
        &[
            "--exact",
            "messages::time_to_live_goes_on_while_the_broker_is_down",
        ],
    ),
    row(
        "compaction-drops-dequeues",
        &[
            "--exact",
            "room::what_has_left_does_not_come_back_with_the_segment_that_said_so",
        ],
    ),
    row(
        "prepared-not-said",
        &[
            "--exact",
            "branches::prepared_branch_is_in_doubt_after_both_ends_and_can_be_committed",
        ],
    ),
    row(
        "outcome-not-said",
        &[
            "--exact",
            "branches::outcome_that_was_seen_holds_after_a_kill",
        ],
    ),
    row(
        "accepted-of-branch-offered",
        &[
            "--exact",
            "branches::prepared_branch_is_in_doubt_after_both_ends_and_can_be_committed",
        ],
    ),
    // Either a definition is not there, or those that are contradict each other.
    Row {
        says: &["Queue not found", "facts contradict each other"],
        ..row(
            "compaction-drops-definitions",
            &[
                "--exact",
                "room::room_is_given_back_and_nothing_of_what_is_needed_goes_with_it",
            ],
        )
    },
    row(
        "check-ignored",
        &[
            "--exact",
            "damage::a_flipped_bit_alters_no_message_and_loses_none",
        ],
    ),
];

#[test]
fn planted_faults_are_found() {
    if !plants::is_planted() {
        assert_eq!(plants::find(&PLANTS), Ok(PLANTS.len()));
    }
}
