//! What routing by a topic exchange costs at the most, counted in steps: nodes of the tree looked
//! at, and words looked for.

use std::collections::BTreeSet;

use ferrymq::broker::exchange::{Topic, limits};
use ferrymq::broker::ids::QueueId;
use ferrymq::wire::Map;

use super::routing::Random;
use super::topic::matches;

fn topic(patterns: &[String]) -> Topic {
    let mut topic = Topic::default();
    for (queue, pattern) in (0..).zip(patterns) {
        assert!(pattern.len() <= limits::KEY_BYTES_MAX);
        let bound = topic.bind(QueueId(queue), pattern, &Map::new());
        assert_eq!(bound, Ok(true), "{pattern}");
    }
    topic
}

fn check(patterns: &[String], key: &str, steps_max: usize) {
    let mut topic = topic(patterns);
    let mut matched = Vec::new();
    let steps = topic.route(key, &mut matched);
    assert!(
        steps <= steps_max,
        "{steps} steps, {} nodes",
        topic.node_count()
    );
    let expected: BTreeSet<QueueId> = (0..)
        .zip(patterns)
        .filter(|(_, pattern)| matches(pattern, key))
        .map(|(queue, _)| QueueId(queue))
        .collect();
    assert_eq!(matched.len(), expected.len());
    assert_eq!(matched.into_iter().collect::<BTreeSet<_>>(), expected);
}

fn long_key() -> String {
    let key = vec!["a"; 128].join(".");
    assert_eq!(key.len(), limits::KEY_BYTES_MAX);
    key
}

/// `#.a` and the like, over and over, is where trying every split of the key takes exponential
/// time.
#[test]
fn a_thousand_patterns_of_wildcards_take_a_step_or_two_a_node() {
    let mut random = Random(1);
    let mut patterns = BTreeSet::new();
    while patterns.len() < 1000 {
        let words = ["a", "#.a", "#.*.a", "#.a.#", "a.#.#.#.#.b", "*.#.a", "b"];
        patterns.insert(super_normal(&random.key(&words, 20)));
    }
    let patterns: Vec<String> = patterns.into_iter().collect();
    let nodes = topic(&patterns).node_count();
    check(&patterns, &long_key(), 2 * (nodes + 1));
    check(&patterns, "", 2 * (nodes + 1));
    check(&patterns, &"a.b.".repeat(63), 2 * (nodes + 1));
}

/// Patterns are told apart by their normal form, so they are made in it.
fn super_normal(pattern: &str) -> String {
    let mut topic = Topic::default();
    let _ = topic.bind(QueueId(0), pattern, &Map::new());
    let key = topic.bindings_behind(None).next();
    let key = key.map(|(_, binding)| binding.key.clone());
    key.expect("it was bound just now").to_string()
}

#[test]
fn the_longest_pattern_of_wildcards_meets_the_longest_key() {
    let pattern = vec!["#.a"; 64].join(".");
    check(&[pattern], &long_key(), 2 * 129);
    let dots = ".".repeat(limits::KEY_BYTES_MAX);
    let stars = vec!["*"; 128].join(".");
    check(
        &[dots.clone(), stars, "#".into(), "#.".into()],
        &dots,
        3 * 390,
    );
}

/// A key is looked up in a node by the words it has, not by all words below the node.
#[test]
fn what_other_words_are_bound_does_not_count() {
    let mut patterns: Vec<String> = (0..1000).map(|word| format!("w{word}.x")).collect();
    check(&patterns, "w7.x", 6);
    patterns.push("#.w5.x".into());
    check(&patterns, "w7.x", 12);
    patterns.extend((0..1000).map(|word| format!("#.v{word}")));
    check(&patterns, "a.b.v3", 20);
}

#[test]
fn a_key_longer_than_any_goes_nowhere() {
    let mut topic = topic(&["#".into()]);
    let mut matched = Vec::new();
    topic.route(&"a.".repeat(300), &mut matched);
    assert!(matched.is_empty());
}
