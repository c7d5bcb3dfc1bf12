//! Exchanges of type topic.

use ferrymq::broker::exchange::Kind;
use ferrymq::broker::ids::QueueId;

use super::routing::{Random, bind, bound, exchange, listed, route};

/// Whether a pattern matches a key, reckoned word by word from the rule: `*` is one word, `#` any
/// number of words.
pub fn matches(pattern: &str, key: &str) -> bool {
    let words: Vec<&str> = key.split('.').collect();
    // ends[n]: the pattern so far matches the first n words.
    let mut ends = vec![false; words.len() + 1];
    ends[0] = true;
    for part in pattern.split('.') {
        let mut next = vec![false; words.len() + 1];
        for (end, reached) in next.iter_mut().enumerate() {
            *reached = match part {
                "#" => ends[..=end].contains(&true),
                _ if end == 0 => false,
                "*" => ends[end - 1],
                word => ends[end - 1] && words[end - 1] == word,
            };
        }
        ends = next;
    }
    ends[words.len()]
}

#[test]
fn a_key_matches_a_pattern_word_by_word() {
    let table: &[(&str, &[&str], &[&str])] = &[
        ("a", &["a"], &["", "b", "a.a", "A", "a."]),
        ("", &[""], &["a", "."]),
        ("*", &["a", ""], &["a.b", "."]),
        ("#", &["", "a", "a.b", "..", "a.b.c.d.e"], &[]),
        ("a.*", &["a.b", "a."], &["a", "a.b.c", "b.a"]),
        ("*.b", &["a.b", ".b"], &["b", "a.a.b", "a.b."]),
        ("a.#", &["a", "a.b", "a.b.c", "a."], &["", "b", "b.a"]),
        ("#.a", &["a", "b.a", "a.a", ".a"], &["", "a.b"]),
        (
            "#.a.b",
            &["a.b", "x.a.b", "x.y.a.b", "a.b.a.b", "a.a.b"],
            &["", "a", "b", "a.b.x"],
        ),
        (
            "a.#.b",
            &["a.b", "a.x.b", "a.x.y.b", "a.b.b"],
            &["ab", "a", "b", "a.b.x"],
        ),
        (
            "a.#.b.*",
            &["a.b.x", "a.x.b.x", "a.x.x.b.x"],
            &["a.b", "a.b.x.y", "x.a.b.x"],
        ),
        ("a.*.#", &["a.b", "a.b.c", "a..c"], &["a", "b.a"]),
        ("*.#.*", &["a.b", "a.b.c", "."], &["", "a"]),
        (
            "#.a.#",
            &["a", "x.a", "a.x", "x.a.x", "a.a.a"],
            &["", "x", "aa"],
        ),
        ("a..b", &["a..b"], &["a.b", "a.x.b", "a...b"]),
        ("a.*.b", &["a..b", "a.x.b"], &["a.b", "a.x.x.b"]),
        // A wildcard is a whole word.
        ("a*", &["a*"], &["ab", "a"]),
        ("a.b#", &["a.b#"], &["a.b", "a.bc"]),
        // A routing key has no wildcards.
        ("a.b", &["a.b"], &["a.*", "a.#", "#", "*.b"]),
    ];
    for (pattern, hits, misses) in table {
        let mut topic = bound("topic", &[(1, pattern)]);
        for key in *hits {
            assert_eq!(route(&mut topic, key), [1], "{pattern} and {key:?}");
            assert!(matches(pattern, key), "{pattern} and {key:?}");
        }
        for key in *misses {
            assert_eq!(route(&mut topic, key), [0; 0], "{pattern} and {key:?}");
            assert!(!matches(pattern, key), "{pattern} and {key:?}");
        }
    }
}

#[test]
fn runs_of_wildcards_match_as_their_parts_do() {
    let patterns = ["#", "a.#", "#.a.b", "a.#.#.#.#.#.#.b"];
    let bindings: Vec<(u32, &str)> = (0..).zip(patterns).collect();
    let mut topic = bound("topic", &bindings);
    let long = vec!["a"; 120].join(".");
    let longer = format!("{long}.b");
    for (key, queues) in [
        ("", vec![0]),
        ("a", vec![0, 1]),
        ("a.b", vec![0, 2, 1, 3]),
        (&long, vec![0, 1]),
        (&longer, vec![0, 2, 1, 3]),
    ] {
        assert_eq!(route(&mut topic, key), queues, "{key:?}");
    }
}

#[test]
fn a_pattern_is_kept_in_its_normal_form() {
    for (pattern, normal) in [
        ("a.b", "a.b"),
        ("", ""),
        (".", "."),
        ("#.*", "*.#"),
        ("#.#", "#"),
        ("#.#.#", "#"),
        ("#.*.*", "*.*.#"),
        ("#.*.#", "*.#"),
        ("#.*.#.a.#.#.*.b", "*.#.a.*.#.b"),
        ("*.#", "*.#"),
        ("*.#.*.#.*", "*.*.*.#"),
        ("a.#.*.", "a.*.#."),
        ("#..#", "#..#"),
        ("##.*#", "##.*#"),
    ] {
        let mut topic = bound("topic", &[(1, pattern)]);
        assert_eq!(listed(&topic), [(1, normal.to_string(), 0)], "{pattern:?}");
        // Both forms name the same binding.
        assert!(!bind(&mut topic, 1, normal), "{pattern:?}");
        assert!(topic.unbind(QueueId(1), pattern), "{pattern:?}");
        assert!(topic.is_unused());
        assert!(bind(&mut topic, 1, normal));
        assert!(topic.unbind(QueueId(1), pattern), "{pattern:?}");
    }
}

#[test]
fn a_queue_that_matches_by_two_patterns_gets_one_copy() {
    let mut topic = bound(
        "topic",
        &[(1, "red.*"), (1, "*.herring"), (2, "#"), (2, "red.#")],
    );
    for _ in 0..10 {
        assert_eq!(route(&mut topic, "red.herring"), [2, 1]);
    }
    // The first pattern in order counts.
    let counts: Vec<(String, u64)> = listed(&topic).into_iter().map(|b| (b.1, b.2)).collect();
    let expected = [("#", 10), ("*.herring", 10), ("red.#", 0), ("red.*", 0)];
    assert_eq!(
        counts,
        expected.map(|(key, count)| (key.to_string(), count))
    );
}

#[test]
fn many_queues_matching_by_many_patterns_get_one_copy_each() {
    let mut topic = exchange("topic");
    for pattern in ["#", "*.b", "a.#", "a.*", "a.b", "#.b", "*.*"] {
        for queue in 0..200 {
            assert!(bind(&mut topic, (queue * 7) % 200, pattern));
        }
        let another = 1000 + topic.binding_count() as u32;
        assert!(bind(&mut topic, another, pattern));
    }
    let routed = route(&mut topic, "a.b");
    assert_eq!(routed.len(), 207);
    let mut once = routed.clone();
    once.sort_unstable();
    once.dedup();
    assert_eq!(once.len(), 207);
}

#[test]
fn queues_come_in_the_order_of_the_tree_and_of_a_pattern_in_that_of_binding() {
    let bindings = [(1, "b.#"), (6, "b"), (2, "b"), (3, "*"), (4, "#"), (5, "b")];
    let mut topic = bound("topic", &bindings);
    assert_eq!(route(&mut topic, "b"), [4, 3, 6, 2, 5, 1]);
}

#[test]
fn unbinding_leaves_what_begins_or_goes_on_alike() {
    let mut topic = bound(
        "topic",
        &[(1, "a.b.c"), (2, "a.b"), (3, "a.#.c"), (4, "a.*.c")],
    );
    assert!(topic.unbind(QueueId(2), "a.b"));
    assert_eq!(route(&mut topic, "a.b"), [0; 0]);
    assert_eq!(route(&mut topic, "a.b.c"), [3, 4, 1]);
    assert!(topic.unbind(QueueId(3), "a.#.c"));
    assert!(topic.unbind(QueueId(1), "a.b.c"));
    assert_eq!(route(&mut topic, "a.b.c"), [4]);
    assert!(topic.unbind(QueueId(4), "a.*.c"));
    let Kind::Topic(tree) = &topic else {
        panic!("it is a topic exchange")
    };
    assert_eq!(tree.node_count(), 0);
    assert_eq!(topic, exchange("topic"));
}

#[test]
fn random_patterns_match_as_reckoned_word_by_word() {
    const WORDS: &[&str] = &["a", "b", "c", "", "*", "#", "#"];
    let mut compared = 0;
    for seed in 0..150 {
        let mut random = Random(seed);
        let mut topic = exchange("topic");
        let mut model: Vec<(u32, String)> = Vec::new();
        for _ in 0..60 {
            let pattern = random.key(WORDS, 7);
            let queue = random.below(40) as u32;
            bind(&mut topic, queue, &pattern);
            model.push((queue, pattern));
            if random.below(4) == 0 {
                let (queue, pattern) = random.of(&model).clone();
                topic.unbind(QueueId(queue), &pattern);
                let gone = |bound: &(u32, String)| {
                    bound.0 == queue && normal(&bound.1) == normal(&pattern)
                };
                model.retain(|bound| !gone(bound));
            }
            let key = random.key(&WORDS[..4], 9);
            let mut expected: Vec<u32> = model
                .iter()
                .filter(|(_, pattern)| matches(pattern, &key))
                .map(|(queue, _)| *queue)
                .collect();
            expected.sort_unstable();
            expected.dedup();
            let mut routed = route(&mut topic, &key);
            routed.sort_unstable();
            assert_eq!(routed, expected, "seed {seed}, key {key:?}, {model:?}");
            compared += model.len();
        }
    }
    assert!(compared > 100_000);
}

/// The normal form, by replacing until nothing is left to replace.
fn normal(pattern: &str) -> String {
    let mut words: Vec<&str> = pattern.split('.').collect();
    while let Some(at) =
        (1..words.len()).find(|at| words[at - 1] == "#" && matches!(words[*at], "#" | "*"))
    {
        match words[at] {
            "*" => words.swap(at - 1, at),
            _ => _ = words.remove(at),
        }
    }
    words.join(".")
}
