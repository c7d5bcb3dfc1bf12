//! Exchanges of types direct and fanout, and what holds for all types.

use ferrymq::broker::exchange::Kind;
use ferrymq::broker::ids::QueueId;
use ferrymq::wire::Value;

use super::routing::{Random, bind, bound, exchange, listed, map, route};

#[test]
fn types_are_known_by_the_names_of_exchange_declare() {
    for name in ["direct", "topic", "fanout", "headers", "xml"] {
        let exchange = exchange(name);
        assert_eq!(exchange.type_name(), name);
        assert!(exchange.is_unused());
        assert_eq!(exchange.binding_count(), 0);
    }
    for name in ["", "Direct", "XML", "management-topic"] {
        assert!(Kind::of_type(name).is_none(), "{name}");
    }
}

#[test]
fn direct_routes_by_the_whole_key_in_the_order_of_binding() {
    let mut direct = bound(
        "direct",
        &[(3, "k"), (1, "k"), (2, "kk"), (2, "k"), (9, "")],
    );
    for (key, queues) in [
        ("k", vec![3, 1, 2]),
        ("kk", vec![2]),
        ("", vec![9]),
        ("K", vec![]),
        ("k.", vec![]),
        ("#", vec![]),
    ] {
        assert_eq!(route(&mut direct, key), queues, "{key:?}");
    }
}

#[test]
fn binding_again_changes_nothing_and_keeps_the_first_arguments() {
    for name in ["direct", "topic", "fanout"] {
        let mut exchange = exchange(name);
        let first = map(&[("x-scope", "session".into())]);
        assert_eq!(exchange.bind(QueueId(1), "k", &first), Ok(true), "{name}");
        let other = map(&[("other", Value::U8(1))]);
        assert_eq!(exchange.bind(QueueId(1), "k", &other), Ok(false), "{name}");
        assert_eq!(exchange.binding_count(), 1, "{name}");
        let kept = exchange.bindings().next().map(|b| b.arguments.clone());
        assert_eq!(kept, Some(first), "{name}");
    }
}

#[test]
fn unbinding_what_is_not_bound_does_nothing() {
    for name in ["direct", "topic", "headers"] {
        let mut exchange = exchange(name);
        let arguments = map(&[("x-match", "all".into())]);
        assert_eq!(exchange.bind(QueueId(1), "a.b", &arguments), Ok(true));
        for (queue, key) in [(2, "a.b"), (1, "a"), (1, "a.b.c"), (1, ""), (1, "*")] {
            assert!(
                !exchange.unbind(QueueId(queue), key),
                "{name} {queue} {key}"
            );
        }
        assert_eq!(exchange.unbind_queue(QueueId(2)).len(), 0);
        assert_eq!(exchange.binding_count(), 1);
        assert!(exchange.unbind(QueueId(1), "a.b"), "{name}");
        assert!(exchange.is_unused());
    }
}

#[test]
fn unbinding_a_queue_takes_all_its_bindings_and_no_others() {
    for name in ["direct", "topic"] {
        let mut exchange = bound(
            name,
            &[(1, "a"), (2, "a"), (1, "b.c"), (1, "b"), (2, "b.c")],
        );
        assert_eq!(exchange.unbind_queue(QueueId(1)).len(), 3, "{name}");
        assert_eq!(route(&mut exchange, "a"), [2], "{name}");
        assert_eq!(route(&mut exchange, "b"), [0; 0], "{name}");
        assert!(!exchange.has_queue(QueueId(1)));
        assert!(exchange.has_queue(QueueId(2)));
    }
}

#[test]
fn an_exclusive_binding_takes_the_key_from_all_other_queues() {
    let mut direct = bound("direct", &[(1, "k"), (2, "k"), (2, "other"), (3, "k")]);
    // The argument's presence counts, whatever its value.
    let exclusive = map(&[("qpid.exclusive-binding", Value::Bool(false))]);
    let displaced = direct.displaced(QueueId(4), "k", &exclusive);
    assert_eq!(displaced, [QueueId(1), QueueId(2), QueueId(3)]);
    assert_eq!(direct.bind(QueueId(4), "k", &exclusive), Ok(true));
    assert_eq!(route(&mut direct, "k"), [4]);
    assert_eq!(route(&mut direct, "other"), [2]);
    assert_eq!(direct.binding_count(), 2);
    assert!(!direct.has_queue(QueueId(1)));

    // Others may join again, until the next exclusive binding; a queue keeps its own.
    assert!(bind(&mut direct, 5, "k"));
    assert_eq!(route(&mut direct, "k"), [4, 5]);
    assert_eq!(direct.displaced(QueueId(5), "k", &exclusive), [QueueId(4)]);
    assert_eq!(direct.bind(QueueId(5), "k", &exclusive), Ok(false));
    assert_eq!(route(&mut direct, "k"), [5]);
    assert_eq!(listed(&direct)[0], (5, "k".into(), 2));
}

#[test]
fn an_exclusive_binding_means_nothing_to_the_other_types() {
    for name in ["topic", "fanout"] {
        let mut exchange = bound(name, &[(1, "k")]);
        let exclusive = map(&[("qpid.exclusive-binding", Value::U8(1))]);
        assert!(exchange.displaced(QueueId(2), "k", &exclusive).is_empty());
        assert_eq!(exchange.bind(QueueId(2), "k", &exclusive), Ok(true));
        assert_eq!(route(&mut exchange, "k"), [1, 2], "{name}");
    }
}

#[test]
fn fanout_ignores_keys_in_routing_binding_and_unbinding() {
    let mut fanout = bound("fanout", &[(7, "x"), (3, ""), (5, "x")]);
    assert!(!bind(&mut fanout, 7, "another"));
    assert_eq!(route(&mut fanout, "anything"), [7, 3, 5]);
    assert!(fanout.unbind(QueueId(3), "no such key"));
    assert!(!fanout.unbind(QueueId(3), ""));
    assert_eq!(route(&mut fanout, ""), [7, 5]);
    let expected = [(7, String::new(), 2), (5, String::new(), 2)];
    assert_eq!(listed(&fanout), expected);
    assert_eq!(fanout.unbind_queue(QueueId(7)).len(), 1);
    assert_eq!(route(&mut fanout, "x"), [5]);
}

#[test]
fn messages_are_counted_at_the_binding_they_went_by() {
    let mut direct = bound("direct", &[(1, "a"), (2, "a"), (1, "b")]);
    for key in ["a", "b", "b", "c"] {
        route(&mut direct, key);
    }
    let expected = [(1, "a".into(), 1), (2, "a".into(), 1), (1, "b".into(), 2)];
    assert_eq!(listed(&direct), expected);
}

/// Many queues of one key are found by an index with gaps; the order must not show it.
#[test]
fn many_queues_bound_and_unbound_stay_in_the_order_of_binding() {
    for name in ["direct", "fanout", "topic"] {
        for seed in 0..20 {
            let mut random = Random(seed);
            let mut exchange = exchange(name);
            let mut model: Vec<u32> = Vec::new();
            for step in 0..400 {
                let queue = random.below(60) as u32;
                let has = model.contains(&queue);
                // Growing and shrinking by turns.
                if (random.below(10) < 7) == (step / 100 % 2 == 0) {
                    assert_eq!(bind(&mut exchange, queue, "k"), !has);
                    if !has {
                        model.push(queue);
                    }
                } else {
                    assert_eq!(exchange.unbind(QueueId(queue), "k"), has);
                    model.retain(|other| *other != queue);
                }
                assert_eq!(exchange.binding_count(), model.len());
                assert_eq!(exchange.has_queue(QueueId(queue)), model.contains(&queue));
                assert_eq!(route(&mut exchange, "k"), model, "{name}, seed {seed}");
            }
        }
    }
}
