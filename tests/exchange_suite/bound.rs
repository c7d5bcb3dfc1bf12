//! What `exchange.bound` answers.

use ferrymq::broker::exchange::{BoundAt, Kind, bound_result};
use ferrymq::broker::ids::QueueId;
use ferrymq::wire::{ExchangeBound, ExchangeBoundResult, Map};

use super::routing::{bound, exchange, map};

/// The flags that stand, by letter: e and q for what is missing, Q, K and A for what is not
/// matched.
fn flags(result: &ExchangeBoundResult) -> String {
    let letters = [
        (result.exchange_not_found, 'e'),
        (result.queue_not_found, 'q'),
        (result.queue_not_matched, 'Q'),
        (result.key_not_matched, 'K'),
        (result.args_not_matched, 'A'),
    ];
    let standing = letters.iter().filter(|(stands, _)| *stands);
    standing.map(|(_, letter)| letter).collect()
}

fn question(queue: &str, key: &str, arguments: Option<Map>) -> ExchangeBound {
    ExchangeBound {
        exchange: Some("exchange".into()),
        queue: queue.into(),
        binding_key: (!key.is_empty()).then(|| key.into()),
        arguments,
    }
}

/// The flags for a question about an exchange, where the queues `used` (1) and `unused` (2) are.
fn asked(at: BoundAt<'_>, queue: &str, key: &str, arguments: Option<Map>) -> String {
    let found = match queue {
        "used" => Some(QueueId(1)),
        "unused" => Some(QueueId(2)),
        _ => None,
    };
    flags(&bound_result(at, found, &question(queue, key, arguments)))
}

fn check(exchange: &Kind, table: &[(&str, &str, &str)]) {
    for (queue, key, expected) in table {
        let name = exchange.type_name();
        let answer = asked(BoundAt::Of(exchange), queue, key, None);
        assert_eq!(answer, *expected, "{name}: {queue:?} {key:?}");
        // An empty map asks for nothing.
        let answer = asked(BoundAt::Of(exchange), queue, key, Some(Map::new()));
        assert_eq!(answer, *expected, "{name}: {queue:?} {key:?}");
    }
}

#[test]
fn what_is_missing_is_said_alone() {
    let arguments = || Some(map(&[("a", 1.into())]));
    for key in ["", "key"] {
        assert_eq!(asked(BoundAt::Missing, "", key, arguments()), "e");
        assert_eq!(asked(BoundAt::Missing, "used", key, arguments()), "e");
        assert_eq!(asked(BoundAt::Missing, "unknown", key, arguments()), "eq");
        for name in ["direct", "topic", "fanout", "headers"] {
            let empty = exchange(name);
            let answer = asked(BoundAt::Of(&empty), "unknown", key, arguments());
            assert_eq!(answer, "q", "{name}");
        }
    }
}

#[test]
fn direct_and_topic_say_queue_and_key_apart_when_they_are_not_bound_together() {
    for name in ["direct", "topic"] {
        let exchange = bound(name, &[(1, "used-key")]);
        check(
            &exchange,
            &[
                ("", "", ""),
                ("used", "", ""),
                ("", "used-key", ""),
                ("used", "used-key", ""),
                ("unused", "", "Q"),
                ("", "unused-key", "K"),
                ("used", "unused-key", "K"),
                ("unused", "used-key", "Q"),
                ("unused", "unused-key", "QK"),
            ],
        );
        // Bound both, but not to each other: each by itself is there, and no flag stands.
        let crossed = bound(name, &[(1, "a"), (2, "b")]);
        check(&crossed, &[("used", "b", "")]);
    }
}

#[test]
fn nothing_asked_of_an_exchange_without_bindings_is_matched() {
    for name in ["direct", "topic", "fanout", "headers"] {
        let empty = exchange(name);
        check(
            &empty,
            &[
                ("", "", ""),
                ("used", "", "Q"),
                ("used", "k", "QK"),
                ("", "k", "K"),
            ],
        );
        let arguments = Some(map(&[("x-match", "all".into())]));
        assert_eq!(asked(BoundAt::Of(&empty), "", "", arguments), "A", "{name}");
    }
}

#[test]
fn an_empty_queue_name_asks_for_no_queue_even_if_there_is_one_of_that_name() {
    let direct = bound("direct", &[(1, "k")]);
    let unbound = Some(QueueId(2));
    let result = bound_result(BoundAt::Of(&direct), unbound, &question("", "k", None));
    assert_eq!(flags(&result), "");
    let result = bound_result(BoundAt::Of(&direct), unbound, &question("", "l", None));
    assert_eq!(flags(&result), "K");
}

#[test]
fn topic_alone_finds_a_key_where_patterns_go_on() {
    let topic = bound("topic", &[(1, "a.b.c"), (1, "x.#.*.y")]);
    check(
        &topic,
        &[
            ("", "a", ""),
            ("", "a.b", ""),
            ("", "a.b.c", ""),
            ("", "a.b.c.d", "K"),
            ("", "b", "K"),
            // Not asked as a routing key.
            ("", "*", "K"),
            ("", "a.*", "K"),
            ("", "x.*", ""),
            ("", "x.*.#.y", ""),
            // With a queue the whole pattern counts, in any form.
            ("used", "a.b.c", ""),
            ("used", "x.#.*.y", ""),
            ("used", "x.*.#.y", ""),
            ("unused", "a.b", "Q"),
        ],
    );
}

#[test]
fn fanout_goes_by_the_queue() {
    let fanout = bound("fanout", &[(1, "bound-key")]);
    check(
        &fanout,
        &[
            ("used", "", ""),
            ("used", "any-key", ""),
            ("unused", "", "Q"),
            ("unused", "any-key", "QK"),
            // qpidd finds no key when there is no queue to look for.
            ("", "bound-key", "K"),
        ],
    );
}

#[test]
fn headers_goes_by_queue_and_arguments() {
    let wanted =
        |name: &str, value: &str| Some(map(&[("x-match", "all".into()), (name, value.into())]));
    let mut headers = exchange("headers");
    let arguments = wanted("a", "A").unwrap_or_default();
    assert_eq!(headers.bind(QueueId(1), "k", &arguments), Ok(true));
    let mut more = arguments.clone();
    more.insert("c", "C");
    more.insert("qpid.fed.origin", "elsewhere");
    let any = Some(map(&[("x-match", "any".into()), ("a", "A".into())]));
    for (queue, key, arguments, expected) in [
        ("used", "", None, ""),
        ("", "", wanted("a", "A"), ""),
        ("used", "", wanted("a", "A"), ""),
        ("used", "other-key", wanted("a", "A"), ""),
        ("", "", Some(more), ""),
        ("unused", "", None, "Q"),
        ("", "", wanted("b", "B"), "A"),
        ("", "", wanted("a", "B"), "A"),
        ("", "", any, "A"),
        ("", "", Some(map(&[("a", "A".into())])), "A"),
        ("used", "", wanted("b", "B"), "A"),
        ("unused", "", wanted("a", "A"), "Q"),
        ("unused", "", wanted("b", "B"), "QA"),
        // Any key, as long as there is a binding.
        ("unused", "other-key", None, "Q"),
    ] {
        let answer = asked(BoundAt::Of(&headers), queue, key, arguments.clone());
        assert_eq!(answer, expected, "{queue:?} {key:?} {arguments:?}");
    }
}

#[test]
fn the_default_exchange_has_every_queue_bound_by_its_name() {
    let at = |has_queues, key_names_queue| BoundAt::Default {
        has_queues,
        key_names_queue,
    };
    let arguments = || Some(map(&[("a", 1.into())]));
    for (at, queue, key, arguments, expected) in [
        (at(true, true), "used", "used", None, ""),
        (at(true, true), "", "used", None, ""),
        (at(true, false), "used", "", None, ""),
        (at(true, false), "used", "no-queue", None, "K"),
        (at(true, true), "used", "unused", None, ""),
        (at(true, false), "", "no-queue", None, "K"),
        (at(false, false), "", "no-queue", None, "K"),
        (at(true, false), "", "no-queue", arguments(), "K"),
        (at(false, false), "", "no-queue", arguments(), "KA"),
        (at(false, false), "", "", None, ""),
        (at(true, false), "unknown", "unknown", None, "q"),
    ] {
        let answer = asked(at, queue, key, arguments.clone());
        assert_eq!(answer, expected, "{at:?} {queue:?} {key:?} {arguments:?}");
    }
}
