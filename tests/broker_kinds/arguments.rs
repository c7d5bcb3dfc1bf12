//! Which arguments are refused, alone or together: `queue.declare` fails with 542 and makes no queue.

use super::broker::Broker;
use super::text;
use ferrymq::wire::Value;

/// Asserts that a declaration is refused, with a word in the text, and makes no queue.
#[track_caller]
fn refused(arguments: &[(&str, Value)], fragment: &str) {
    let broker = Broker::new();
    let session = broker.session("a");
    session.declare_kind("q", arguments);
    session.assert_failed(542, fragment);
    assert!(!broker.session("b").has_queue("q"), "a ghost is left");
}

/// Asserts that a declaration is taken and its arguments are told as they were given.
#[track_caller]
fn taken(arguments: &[(&str, Value)]) {
    let session = Broker::new().session("a");
    session.declare_kind("q", arguments);
    session.assert_untroubled();
    let told = session.query("q").arguments.expect("they are kept");
    for (name, value) in arguments {
        assert_eq!(told.get(name), Some(value));
    }
}

fn one() -> Value {
    Value::U32(1)
}

#[test]
fn every_number_may_be_any_integer_or_digits_and_nothing_else() {
    let names = [
        "qpid.max_count",
        "qpid.max_size",
        "qpid.flow_stop_count",
        "qpid.flow_resume_count",
        "qpid.alert_count",
        "qpid.alert_count_up",
        "x-qpid-maximum-message-count",
        "qpid.alert_size",
        "qpid.alert_size_up",
        "x-qpid-maximum-message-size",
        "qpid.alert_count_down",
        "qpid.alert_size_down",
        "qpid.alert_repeat_gap",
        "x-qpid-minimum-alert-repeat-gap",
        "qpid.priorities",
        "x-qpid-priorities",
        "qpid.auto_delete_timeout",
    ];
    for name in names {
        for form in [Value::U8(3), Value::I64(3), Value::U64(3), text("3")] {
            taken(&[(name, form)]);
        }
        for form in [Value::I32(-1), Value::F64(3.125), text("3.1"), text("many")] {
            refused(&[(name, form)], name);
        }
    }
}

#[test]
fn line_to_stop_at_below_the_one_to_go_on_at_by_default_is_refused() {
    // As in qpidd the line to go on at is seven tenths of the limit, also where only the other one is
    // given.
    refused(
        &[("qpid.flow_stop_size", Value::U32(3))],
        "qpid.flow_resume_size=73400320",
    );
    let resume = ("qpid.flow_resume_size", text("2"));
    taken(&[("qpid.flow_stop_size", text("3")), resume]);
    refused(
        &[("qpid.flow_stop_size", text("-3"))],
        "qpid.flow_stop_size",
    );
}

#[test]
fn number_of_messages_or_seconds_beyond_32_bits_is_refused() {
    for name in [
        "qpid.max_count",
        "qpid.flow_stop_count",
        "qpid.alert_count_down",
        "qpid.auto_delete_timeout",
    ] {
        refused(&[(name, Value::U64(1 << 32))], name);
    }
}

#[test]
fn last_value_queue_has_no_priorities() {
    for priorities in ["qpid.priorities", "x-qpid-priorities"] {
        for (key, value) in [
            ("qpid.last_value_queue_key", text("k")),
            ("qpid.last_value_queue", one()),
            ("qpid.last_value_queue_no_browse", one()),
        ] {
            refused(
                &[(key, value), (priorities, Value::U32(10))],
                "qpid.priorities",
            );
        }
    }
}

#[test]
fn fairshare_needs_priorities() {
    for name in [
        "qpid.fairshare",
        "x-qpid-fairshare",
        "qpid.fairshare-2",
        "x-qpid-fairshare-2",
    ] {
        refused(&[(name, Value::U32(5))], "not enabled for priorities");
    }
    taken(&[("qpid.fairshare", Value::U32(0))]);
}

#[test]
fn fairshare_has_no_more_levels_than_the_priorities() {
    let shares = ["qpid.fairshare-0", "qpid.fairshare-1", "qpid.fairshare-2"];
    let shares = shares.map(|name| (name, Value::U32(1)));
    let priorities = [("qpid.priorities", Value::U32(2))];
    refused(&[&shares[..], &priorities].concat(), "greater than 2");
    taken(&[&shares[..2], &priorities].concat());
}

#[test]
fn fairshare_of_a_level_that_is_no_number_is_refused() {
    let priorities = ("qpid.priorities", Value::U32(2));
    refused(&[("qpid.fairshare-high", one()), priorities], "high");
}

#[test]
fn groups_have_neither_last_values_nor_priorities() {
    let group = [
        ("qpid.group_header_key", text("g")),
        ("qpid.shared_msg_group", one()),
    ];
    let key = [("qpid.last_value_queue_key", text("k"))];
    let priorities = [("qpid.priorities", Value::U32(10))];
    refused(&[&group[..], &key].concat(), "qpid.last_value_queue_key");
    refused(&[&group[..], &priorities].concat(), "qpid.priorities");
}

#[test]
fn groups_are_shared_and_nothing_of_them_goes_without_their_header() {
    refused(&[("qpid.shared_msg_group", one())], "qpid.group_header_key");
    refused(
        &[("qpid.group_timestamp", Value::Bool(true))],
        "qpid.group_header_key",
    );
    refused(
        &[("qpid.group_header_key", text("g"))],
        "Only shared groups",
    );
    let unshared = ("qpid.shared_msg_group", Value::Bool(false));
    refused(
        &[("qpid.group_header_key", text("g")), unshared],
        "Only shared groups",
    );
}

#[test]
fn paging_goes_with_plain_queues_alone_and_page_arguments_with_paging() {
    let paging = ("qpid.paging", Value::Bool(true));
    let group = [
        ("qpid.group_header_key", text("g")),
        ("qpid.shared_msg_group", one()),
    ];
    refused(
        &[paging.clone(), ("qpid.last_value_queue_key", text("k"))],
        "qpid.paging",
    );
    refused(
        &[paging.clone(), ("qpid.priorities", Value::U32(3))],
        "qpid.paging",
    );
    refused(
        &[std::slice::from_ref(&paging), &group[..]].concat(),
        "qpid.paging",
    );
    for pages in ["qpid.max_pages_loaded", "qpid.page_factor"] {
        refused(&[(pages, Value::U32(2))], "qpid.paging");
        taken(&[paging.clone(), (pages, Value::U32(2))]);
    }
}

#[test]
fn publishers_go_on_below_where_they_stop_and_stop_below_the_limit() {
    for what in ["count", "size"] {
        let (stop, resume, max) = (
            format!("qpid.flow_stop_{what}"),
            format!("qpid.flow_resume_{what}"),
            format!("qpid.max_{what}"),
        );
        let number = |name: &str, n| [(name.to_owned(), Value::U32(n))];
        let given = |parts: &[[(String, Value); 1]]| parts.concat();
        let check = |arguments: Vec<(String, Value)>, is_taken: bool, fragment: &str| {
            let arguments: Vec<(&str, Value)> = arguments
                .iter()
                .map(|(name, value)| (name.as_str(), value.clone()))
                .collect();
            match is_taken {
                true => taken(&arguments),
                false => refused(&arguments, fragment),
            }
        };
        let above = given(&[number(&stop, 10), number(&resume, 11)]);
        check(above, false, &resume);
        check(given(&[number(&stop, 10), number(&resume, 10)]), true, "");
        check(given(&[number(&stop, 10), number(&max, 9)]), false, &stop);
        let within = given(&[number(&stop, 9), number(&resume, 1), number(&max, 9)]);
        check(within, true, "");
        // Where nothing stops, nothing is compared.
        let off = given(&[number(&stop, 0), number(&resume, 11), number(&max, 9)]);
        check(off, true, "");
    }
}

#[test]
fn policy_that_is_unknown_refuses_like_none() {
    for policy in ["flow_to_disk", "no-such-policy"] {
        let session = Broker::new().session("a");
        let policy = ("qpid.policy_type", text(policy));
        session.declare_limited("q", &[policy, ("qpid.max_count", one())]);
        session.publish("q", "one");
        session.assert_untroubled();
        session.publish("q", "two");
        session.assert_failed(506, "Maximum depth exceeded on q");
    }
}

#[test]
fn lifetime_policy_that_is_unknown_counts_for_nothing() {
    let session = Broker::new().session("a");
    session.declare_kind("q", &[("qpid.lifetime-policy", text("for-ever"))]);
    assert!(!session.query("q").auto_delete);
}

#[test]
fn filter_that_is_no_selector_is_refused() {
    refused(&[("qpid.filter", text("a ="))], "Illegal selector");
}

#[test]
fn priorities_beyond_what_a_priority_can_say_are_no_more_than_that() {
    taken(&[("qpid.priorities", Value::U32(u32::MAX))]);
    taken(&[("qpid.priorities", Value::U32(0))]);
}
