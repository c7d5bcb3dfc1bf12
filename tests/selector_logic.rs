//! What message selectors come to: a table for each rule of their logic, through the public face.

use std::collections::BTreeMap;

use ferrymq::broker::selector::{Environment, Scalar, Selector};

/// A message made of the values in it.
#[derive(Default)]
struct Message(BTreeMap<&'static str, Scalar<'static>>);

impl Message {
    fn of<const N: usize>(values: [(&'static str, Scalar<'static>); N]) -> Self {
        Self(values.into_iter().collect())
    }
}

impl Environment for Message {
    fn value(&self, identifier: &str) -> Scalar<'_> {
        self.0.get(identifier).cloned().unwrap_or_default()
    }
}

/// What the tables hold their selectors against. `nothing` is not in it.
fn letter() -> Message {
    Message::of([
        ("town", "Delft".into()),
        ("greeting", "well, well & well_done".into()),
        ("weight", Scalar::Approximate(42.0)),
        ("count", Scalar::Exact(39)),
        ("huge", u64::MAX.into()),
        ("urgent", Scalar::Bool(true)),
        ("opened", Scalar::Bool(false)),
        ("odd name", Scalar::Exact(7)),
        ("say \"hi\"", Scalar::Exact(8)),
        ("$a.b_1", Scalar::Exact(9)),
    ])
}

fn matches(text: &str) -> bool {
    Selector::parse(text)
        .unwrap_or_else(|error| panic!("{text}: {error}"))
        .matches(&letter())
}

#[track_caller]
fn all_match(texts: &[&str]) {
    for text in texts {
        assert!(matches(text), "should match: {text}");
    }
}

#[track_caller]
fn none_match(texts: &[&str]) {
    for text in texts {
        assert!(!matches(text), "should not match: {text}");
    }
}

/// True of conditions only, and in brackets: `IS NULL` sees what they come to.
#[track_caller]
fn all_are_unknown(conditions: &[&str]) {
    for condition in conditions {
        assert!(
            matches(&format!("({condition}) IS NULL")),
            "should be unknown: {condition}"
        );
        assert!(!matches(condition), "unknown does not match: {condition}");
        assert!(
            !matches(&format!("NOT ({condition})")),
            "nor does its opposite: {condition}"
        );
    }
}

#[track_caller]
fn all_are_false(conditions: &[&str]) {
    for condition in conditions {
        assert!(!matches(condition), "should not match: {condition}");
        assert!(
            matches(&format!("NOT ({condition})")),
            "its opposite should: {condition}"
        );
    }
}

#[track_caller]
fn none_parse(texts: &[&str]) {
    for text in texts {
        assert!(Selector::parse(text).is_err(), "should not parse: {text}");
    }
}

#[test]
fn only_a_true_truth_value_matches() {
    all_match(&[
        "TRUE",
        "urgent",
        "(urgent)",
        "urgent = TRUE",
        "17 OR urgent",
    ]);
    none_match(&[
        "FALSE",
        "opened",
        "nothing",
        "17",
        "'TRUE'",
        "-354",
        "town",
        "urgent AND 'x'",
    ]);
}

#[test]
fn values_that_are_no_truth_values_are_unknown_to_logic() {
    all_are_unknown(&["NOT 17", "urgent AND 17", "opened OR 'x'", "NOT NOT town"]);
    all_match(&[
        "42 IS NOT NULL",
        "-(urgent OR opened) IS NULL",
        "NOT opened",
    ]);
}

#[test]
fn and_or_not_follow_three_valued_logic() {
    all_match(&[
        "urgent OR nothing",
        "nothing OR urgent",
        "nothing OR nothing OR urgent",
    ]);
    all_are_false(&[
        "opened AND nothing",
        "nothing AND opened",
        "nothing AND nothing AND opened",
    ]);
    all_are_unknown(&[
        "nothing = 1",
        "NOT nothing = 1",
        "urgent AND nothing",
        "nothing AND urgent",
        "opened OR nothing",
        "nothing OR opened",
        "nothing = 1 OR NOT nothing = 1",
        "nothing > 19.0 OR nothing <= 19.0",
    ]);
}

#[test]
fn not_binds_tighter_than_and_and_looser_than_comparison() {
    all_match(&[
        "NOT town = 'Gouda'",
        "NOT opened AND urgent",
        "NOT urgent OR urgent",
        "NOT NOT urgent",
        "NOT nothing IS NOT NULL OR nothing IS NULL",
    ]);
    none_match(&["NOT (opened OR urgent)", "NOT urgent AND opened"]);
}

#[test]
fn and_binds_tighter_than_or() {
    all_match(&[
        "urgent OR opened AND opened",
        "nothing IS NULL OR urgent AND opened",
    ]);
    none_match(&["(urgent OR opened) AND opened"]);
}

#[test]
fn arithmetic_binds_by_school_rules_from_left_to_right() {
    all_match(&[
        "1 + 2 * 3 = 7",
        "(1 + 2) * 3 = 9",
        "10 - 4 - 3 = 3",
        "2 * 3 + 4 * 5 = 26",
        "100 / 10 / 5 = 2",
        "weight * count + 19 < weight * (count + 19)",
        "1-17 = -16",
        "17/4>-4 AND 17/4>=+4",
    ]);
}

#[test]
fn signs_nest() {
    all_match(&[
        "-weight = 0 - weight",
        "- - count = 39",
        "-(-count) = 39",
        "3 - -3 = 6",
        "+count = 39",
        "+(count) = 39",
        "+-+count = -39",
    ]);
    none_match(&["-town IS NOT NULL", "-urgent IS NOT NULL"]);
}

#[test]
fn whole_numbers_divide_to_whole_numbers_and_wrap() {
    all_match(&[
        "17 / 4 = 4",
        "-17 / 4 = -4",
        "17 / 4.0 = 4.25",
        "9223372036854775807 + 1 = -9223372036854775808",
        "-9223372036854775808 - 1 = 9223372036854775807",
        "9223372036854775807 * 2 = -2",
        "-9223372036854775808 / -1 = -9223372036854775808",
        "-(0x8000_0000_0000_0000 + 0) = -9223372036854775808",
    ]);
}

#[test]
fn division_by_zero_is_unknown_for_whole_numbers_and_ieee_for_others() {
    all_are_unknown(&["1 / 0 = 1", "count / 0 = count / 0", "1 / (1 - 1) IN (1)"]);
    all_match(&[
        "weight / 0 > 1e308",
        "-weight / 0 < -1e308",
        "1 / 0.0 = 2 / 0.0",
    ]);
    none_match(&["weight / 0 = 0"]);
}

#[test]
fn not_a_number_is_unequal_to_itself() {
    all_match(&["0.0 / 0 <> 0.0 / 0", "0.0 / 0 IS NOT NULL"]);
    all_are_false(&["0.0 / 0 = 0.0 / 0", "0.0 / 0 < 1", "0.0 / 0 >= 1"]);
}

#[test]
fn arithmetic_on_other_than_numbers_is_unknown() {
    all_are_unknown(&[
        "town + 1 = 1",
        "urgent * 1 = 1",
        "nothing - 1 = 1",
        "1 / 'x' = 1",
    ]);
}

#[test]
fn numbers_of_both_kinds_compare() {
    all_match(&[
        "weight > count",
        "weight = 42",
        "count = 39.0",
        "20 >= 19.0 AND 20 > 19",
        "42 <= 42.0 AND 37.0 >= 37",
        "count <> 40 AND weight <> 41.5",
        "0.0 = -0.0",
        "huge > 9223372036854775807 - 1",
    ]);
    all_are_false(&[
        "17 > 19.0",
        "count < 39",
        "count > 39",
        "weight <> 42",
        "5 <= 4",
    ]);
}

#[test]
fn an_exact_number_is_rounded_to_meet_an_approximate_one() {
    all_match(&[
        "9007199254740993 = 9007199254740992.0",
        "9007199254740993 <> 9007199254740992",
    ]);
}

#[test]
fn texts_and_truth_values_know_only_equality() {
    all_match(&[
        "town = 'Delft'",
        "town <> 'delft'",
        "urgent <> opened",
        "town = town",
    ]);
    all_are_false(&[
        "town <> 'Delft'",
        "'a' < 'b'",
        "'b' > 'a'",
        "'a' <= 'a'",
        "'a' >= 'a'",
        "TRUE > FALSE",
        "TRUE >= TRUE",
    ]);
}

#[test]
fn values_of_different_kinds_compare_as_false() {
    all_are_false(&[
        "'hello' = 19.0",
        "'hello' <> 19.0",
        "'hello' < 19",
        "'hello' > 19",
        "'42' = 42",
        "TRUE = 1",
        "TRUE <> 'TRUE'",
    ]);
}

#[test]
fn comparing_with_unknown_is_unknown() {
    all_are_unknown(&[
        "nothing = 1",
        "1 = nothing",
        "nothing <> nothing",
        "nothing < 'x'",
    ]);
}

#[test]
fn conditions_compare_as_values_in_brackets_only() {
    all_match(&[
        "(count = 39) = TRUE",
        "(count = 1) = opened",
        "(count = 39) <> opened",
    ]);
    all_are_unknown(&["(nothing = 1) = TRUE"]);
    none_parse(&["count = 39 = TRUE", "1 < 2 < 3", "nothing IS NULL IS NULL"]);
}

#[test]
fn is_null_is_never_unknown() {
    all_match(&[
        "nothing IS NULL",
        "town IS NOT NULL",
        "(nothing = 1) IS NULL",
        "'x' Is nOt NuLl",
    ]);
    all_are_false(&[
        "town IS NULL",
        "nothing IS NOT NULL",
        "13 IS NULL",
        "'boo!' IS NULL",
    ]);
}

#[test]
fn like_covers_the_whole_text() {
    all_match(&[
        "town LIKE 'Delft'",
        "town LIKE 'D%'",
        "town LIKE '%'",
        "town LIKE '%%l%%'",
        "town LIKE '_____'",
        "town LIKE 'D_l_t'",
        "town LIKE '%_t'",
        "greeting LIKE '%well_done'",
        "greeting LIKE 'well%well%well%'",
        "'' LIKE ''",
        "'' LIKE '%'",
        "'aaab' LIKE '%aab'",
        "'abcabd' LIKE '%ab_%d'",
        "'line\nline' LIKE 'line_line'",
    ]);
    all_are_false(&[
        "town LIKE 'delft'",
        "town LIKE 'Delf'",
        "town LIKE 'elft'",
        "town LIKE ''",
        "town LIKE '____'",
        "town LIKE '______%'",
        "'' LIKE '_'",
        "'aaa' LIKE '%b%'",
    ]);
}

#[test]
fn like_takes_all_other_characters_as_they_are() {
    all_match(&[
        r#"'{}[]<>,.!"$%^&*()_-+=?/|\' LIKE '{}[]<>,.!"$z%^&*()z_-+=?/|\' ESCAPE 'z'"#,
        "'a.c' LIKE 'a.c'",
        "'it''s' LIKE 'it''s'",
        "'Gru\u{df}' LIKE 'Gr__'",
    ]);
    all_are_false(&[
        "'abc' LIKE 'a.c'",
        "'aab' LIKE 'a*b'",
        "'abc' LIKE '[a-z]bc'",
    ]);
}

#[test]
fn escape_makes_wildcards_plain() {
    all_match(&[
        r"'10%' LIKE '10\%' ESCAPE '\'",
        "'_%%_hello.th_re%' LIKE 'z_%.%z_%z%' ESCAPE 'z'",
        "town NOT LIKE 'z_%' ESCAPE 'z'",
        "'a_b' LIKE 'a_b' ESCAPE ''",
        "'axb' LIKE 'a_b' ESCAPE ''",
        "'lazy' LIKE 'l\u{e9}azy' ESCAPE '\u{e9}'",
    ]);
    all_are_false(&[
        r"'100' LIKE '10\%' ESCAPE '\'",
        r"'axb' LIKE 'a\_b' ESCAPE '\'",
    ]);
}

#[test]
fn an_escape_before_an_escape_or_at_the_end_vanishes() {
    all_match(&[
        r"'ab' LIKE 'a\\b' ESCAPE '\'",
        r"'ab' LIKE 'ab\' ESCAPE '\'",
    ]);
}

#[test]
fn like_of_other_than_text_is_unknown() {
    all_are_unknown(&[
        "nothing LIKE '%'",
        "count LIKE '39'",
        "nothing NOT LIKE '%'",
        "TRUE LIKE '%'",
    ]);
}

#[test]
fn between_includes_its_bounds() {
    all_match(&[
        "3 BETWEEN -17 AND 98.5",
        "weight BETWEEN count AND 98.5",
        "39 BETWEEN 39 AND 39.0",
        "14 NOT BETWEEN 11 AND 9",
        "count BETWEEN 1 AND 50 AND urgent",
        "count + 1 BETWEEN 4 * 10 AND 40",
    ]);
    all_are_false(&[
        "count NOT BETWEEN 35 AND 100",
        "weight BETWEEN count AND 40",
        "40 BETWEEN 41 AND 39",
    ]);
}

#[test]
fn between_knows_numbers_only() {
    all_are_false(&[
        "'m' BETWEEN 'a' AND 'z'",
        "'hello' BETWEEN 30 AND 40",
        "14 BETWEEN 'a' AND 'z'",
        "TRUE BETWEEN 'a' AND 'z'",
    ]);
    all_match(&["'hello' NOT BETWEEN 30 AND 40", "TRUE NOT BETWEEN 0 AND 1"]);
}

#[test]
fn between_with_an_unknown_is_unknown() {
    all_are_unknown(&[
        "nothing BETWEEN 'a' AND 14",
        "nothing NOT BETWEEN 1 AND 14",
        "14 BETWEEN nothing AND 17",
        "14 BETWEEN 20 AND nothing",
        "14 NOT BETWEEN 11 AND nothing",
        "weight BETWEEN 45 AND nothing",
    ]);
}

#[test]
fn in_finds_an_equal_item_of_any_kind() {
    all_match(&[
        "'there' IN ('hello', 'there', 1, TRUE, (1-17))",
        "TRUE IN ('hello', 1, TRUE)",
        "-16 IN ('hello', 1, 1-17)",
        "count IN (39.0)",
        "count IN (nothing, 39)",
        "town IN ('Gouda', town)",
    ]);
    all_are_false(&[
        "'hell' IN ('hello', 1, TRUE)",
        "1 IN ('a', 'b')",
        "1 IN (2, 3)",
    ]);
    all_are_unknown(&[
        "nothing IN (1)",
        "'hell' IN ('hello', nothing, 1)",
        "1 IN (nothing, 'x')",
    ]);
}

#[test]
fn not_in_is_false_at_an_item_of_another_kind() {
    all_match(&[
        "count NOT IN (1, 2.5)",
        "town NOT IN ('Gouda')",
        "TRUE NOT IN (FALSE)",
    ]);
    all_are_false(&[
        "-16 NOT IN ('hello', 1, 1-17)",
        "-16 NOT IN ('hello', 'there', TRUE)",
        "1 NOT IN ('a', 2)",
        "1 NOT IN (2, 'a', 3)",
        "1 NOT IN (nothing, 1)",
    ]);
    all_are_unknown(&[
        "nothing NOT IN (1)",
        "-16 NOT IN ('hello', nothing, TRUE)",
        "-16 NOT IN ('hello', nothing, 1, TRUE)",
        "1 NOT IN (2, nothing)",
    ]);
}

#[test]
fn an_evaluation_that_costs_too_much_does_not_match() {
    let long = "a".repeat(60_000);
    let message = Message::of([("long", long.clone().into()), ("twin", long.into())]);
    let select = |text: &str| Selector::parse(text).unwrap().matches(&message);
    assert!(select("long LIKE '%a%a%a'"));
    let slow = format!("long LIKE '%{}b%'", "a".repeat(30_000));
    assert!(!select(&slow));
    assert!(!select(&format!("{slow} OR TRUE")));
    assert!(!select(&format!("({slow}) IS NULL")));
    assert!(select("long = twin"));
    let equalities = vec!["long = twin"; 1000].join(" AND ");
    assert!(!select(&equalities));
}

#[test]
fn u64_beyond_i64_is_approximate_and_absence_unknown() {
    assert_eq!(Scalar::from(7u64), Scalar::Exact(7));
    assert_eq!(
        Scalar::from(1u64 << 63),
        Scalar::Approximate(9_223_372_036_854_775_808.0)
    );
    assert_eq!(Scalar::from(None::<bool>), Scalar::Unknown);
    assert_eq!(Scalar::from(Some("x")), Scalar::from(String::from("x")));
}
