//! How message selectors are written: the rules of their words, names, numbers, errors and bounds.

use std::collections::BTreeMap;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};

use ferrymq::broker::selector::{Environment, Scalar, Selector, identifier, limits};

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
fn none_parse(texts: &[&str]) {
    for text in texts {
        assert!(Selector::parse(text).is_err(), "should not parse: {text}");
    }
}

#[test]
fn nothing_and_blanks_match_everything() {
    all_match(&["", " ", "\t\r\n\x0b\x0c "]);
}

#[test]
fn text_is_kept_and_decides_equality_and_hash() {
    let hash = |selector: &Selector| {
        let mut hasher = DefaultHasher::new();
        selector.hash(&mut hasher);
        hasher.finish()
    };
    let one = Selector::parse(" town = 'Delft' ").unwrap();
    let same = Selector::parse(" town = 'Delft' ").unwrap();
    let other = Selector::parse("town='Delft'").unwrap();
    assert_eq!(one.text(), " town = 'Delft' ");
    assert_eq!((&one, hash(&one)), (&same, hash(&same)));
    assert_ne!(one, other);
    assert_eq!(one.clone(), one);
    assert_eq!(format!("{other:?}"), r#"Selector("town='Delft'")"#);
}

#[test]
fn whole_numbers_have_four_radices_and_underscores() {
    all_match(&[
        "0xFF = 255L",
        "0XfF = 255l",
        "077L = 0b111_111",
        "077 = 63",
        "0B101l = 5",
        "0 = 00 AND 0L = 0_0",
        "1_000_000 = 1000000",
        "0xdead_beef = 3735928559",
        "9223372036854775807 > 0",
        "-9223372036854775808 < 0",
        "- 9223372036854775808 < 0",
        "-0x10 = -16",
    ]);
    none_parse(&[
        "9223372036854775808 > 0",
        "-9223372036854775809 < 0",
        "0x1_0000_0000_0000_0000",
    ]);
}

#[test]
fn other_radices_spell_the_bits_of_64() {
    all_match(&[
        "0x8000_0000_0000_0001 = -9223372036854775807",
        "0x8000_0000_0000_0000 = -9223372036854775808",
        "0xFFFF_FFFF_FFFF_FFFF = -1",
        "-0xFFFF_FFFF_FFFF_FFFF = 1",
        "01_777_777_777_777_777_777_777 = -1",
    ]);
}

#[test]
fn approximate_numbers_have_a_point_an_exponent_or_a_suffix() {
    all_match(&[
        "3.1415 > 3",
        "3. = 3 AND .25 * 4 = 1 AND 0. = 0",
        "2e5 = 200000 AND 2E+5 = 2e5 AND 2e-1 = .2",
        "3.e2 = 300.0",
        "7/2d = 3.5 AND 7/2f = 3.5 AND 7/2.0F = 3.5 AND 7/2e0D = 3.5",
        "0.4f > 0.3d",
        "1000_020.4f > 1000_020.3",
        "0.0e9 = 0",
        "2.2250738585072014e-308 > 0",
    ]);
    none_parse(&[
        "1e309 > 1",
        "1e-400 < 1",
        "1e-310 < 1",
        "1e99999999999999999999 > 1",
    ]);
}

#[test]
fn hexadecimal_numbers_may_have_a_binary_exponent() {
    all_match(&[
        "0x800p-3 = 256",
        "0x1000_0000 = 0x1000_0000p0",
        "0x0p9999999999999999999999 = 0",
        "7/0x1P+1f = 3.5",
        "0x1fffffffffffffp0 = 9007199254740991",
        // Half way between two doubles: to the even one; and a little more.
        "0x20000000000001p0 = 9007199254740992.0",
        "0x20000000000003p0 = 9007199254740996.0",
        "0x20000000000001000000000001p-48 = 9007199254740994.0",
        // A carry all the way.
        "0xffffffffffffffffp0 = 18446744073709551616.0",
        "0x1fffffffffffffp971 = 1.7976931348623157e308",
        "0x1p-1022 = 2.2250738585072014e-308",
        "0x1p-1074 > 0 AND 0x1p-1074 / 2 = 0",
        "0x3p-1074 > 0x1p-1073",
    ]);
    none_parse(&[
        "0x1p1024 > 0",
        "0xffffffffffffffffp960 > 0",
        "0x1p-1075 > 0",
        "0x3p-1075 > 0",
        "0x1p9999999999999999999999 > 0",
        "0x1p-9999999999999999999999 < 1",
    ]);
}

#[test]
fn numbers_end_where_no_digit_of_theirs_follows() {
    all_match(&[
        "1=1AND 2=2",
        "count=39or opened",
        "weight BETWEEN 1and 50",
        "count IN(39)",
    ]);
    none_parse(&[
        "019 = 19", "0.kill", "34de", "34fuller", "34Longer", "2e5.kill", ".25.5",
    ]);
}

#[test]
fn a_number_that_has_begun_must_end_well() {
    none_parse(&[
        "34e",
        "34e+ = 1",
        ".e5 = 1",
        ". = 1",
        ".3e-. = 1",
        "1.e.5 = 1",
        "0x = 0",
        "0X_34 = 1",
        "0b = 0",
        "0b34 = 1",
        "0x1p = 1",
        "1e_5 = 1",
        "0f = 0",
    ]);
}

#[test]
fn doubled_quotes_stand_for_one() {
    all_match(&[
        "'it''s' = 'it''s'",
        "'''' <> ''",
        "'\"' <> ''''",
        "\"say \"\"hi\"\"\" = 8",
        "'Gr\u{fc}\u{df}e' = 'Gr\u{fc}\u{df}e'",
    ]);
    none_parse(&["'open", "'open''", "\"open", "town = 'it's'"]);
}

#[test]
fn identifiers_are_words_with_dollar_dot_and_underscore_or_quoted() {
    all_match(&[
        "$a.b_1 = 9",
        "\"odd name\" = 7",
        "\"town\" = town",
        "_x.y IS NULL",
        "$ IS NULL",
    ]);
    none_parse(&[
        "1a = 1",
        "a@b = 1",
        "a b",
        ".a = 1",
        "gr\u{fc}n = 1",
        "a:b = 1",
    ]);
}

#[test]
fn identifiers_mind_their_case_and_keywords_do_not() {
    all_match(&[
        "Town IS NULL AND town IS NOT NULL",
        "not Opened is not null",
        "town lIkE 'D%'",
    ]);
}

#[test]
fn keywords_are_identifiers_only_in_quotes() {
    let message = Message::of([
        ("null", 1i64.into()),
        ("AND", 2i64.into()),
        ("", 3i64.into()),
    ]);
    let selector = Selector::parse("\"null\" = 1 AND \"AND\" = 2 AND \"\" = 3").unwrap();
    assert!(selector.matches(&message));
    none_parse(&[
        "in = 'x'",
        "null = 1",
        "and = 1",
        "between = 1",
        "escape = 1",
        "is = 1",
        "like = 1",
        "or = 1",
        "not = 1",
    ]);
    all_match(&["nullable IS NULL", "oR_else IS NULL", "in.town IS NULL"]);
}

#[test]
fn jms_names_are_asked_for_by_their_canonical_names() {
    for (jms, canonical) in [
        ("JMSDeliveryMode", identifier::DELIVERY_MODE),
        ("JMSPriority", identifier::PRIORITY),
        ("JMSRedelivered", identifier::REDELIVERED),
        ("JMSType", identifier::SUBJECT),
        ("JMSDestination", identifier::TO),
        ("JMSReplyTo", identifier::REPLY_TO),
        ("JMSCorrelationID", identifier::CORRELATION_ID),
        ("JMSMessageID", identifier::MESSAGE_ID),
        ("JMSTimestamp", identifier::CREATION_TIME),
        ("JMSExpiration", identifier::ABSOLUTE_EXPIRY_TIME),
        ("\"JMSPriority\"", identifier::PRIORITY),
        ("amqp.jms_type", identifier::JMS_TYPE),
        ("amqp.anything", "amqp.anything"),
        ("JMSXGroupID", "JMSXGroupID"),
        ("jmspriority", "jmspriority"),
    ] {
        let selector = Selector::parse(&format!("{jms} IS NULL")).unwrap();
        assert_eq!(
            selector.identifiers().collect::<Vec<_>>(),
            [canonical],
            "{jms}"
        );
    }
}

#[test]
fn each_identifier_is_named_once_in_order_of_appearance() {
    let selector = Selector::parse("b = 1 OR a = b OR JMSPriority > amqp.priority").unwrap();
    assert_eq!(
        selector.identifiers().collect::<Vec<_>>(),
        ["b", "a", "amqp.priority"]
    );
}

#[test]
fn what_is_no_selector_does_not_parse() {
    none_parse(&[
        "hello world",
        "hello ^ world",
        "a IS NULL NOT",
        "a IS NULL OR NOT",
        "a IS NULL OR AND",
        "a IS NULL AND (b = 'x'",
        "a IS",
        "a IS NOT 1",
        "a LIKE 234",
        "a LIKE b",
        "a NOT 234 ESCAPE",
        "a NOT LIKE 'x' ESCAPE 'happy'",
        "a NOT LIKE 'x' ESCAPE happy",
        "a LIKE 'x' ESCAPE '%'",
        "a LIKE 'x' ESCAPE '_'",
        "a NOT = 1",
        "a BETWEEN AND 'true'",
        "a NOT BETWEEN 34 OR 3.9",
        "a IN ()",
        "a NOT IN ()",
        "a IN (1,)",
        "a IN 'hello', 1)",
        "a IN ('hello' 1)",
        "()",
        "a = 1)",
        "1 +",
        "a < > b",
        "a == b",
        "a != b",
        "a % 2 = 1",
        "a = 'x' -- a comment",
    ]);
}

#[test]
fn an_error_says_where_it_is_what_is_there_and_what_should_be() {
    for (text, shown) in [
        (
            "hello world",
            "'world': expected an operator or the end at offset 6",
        ),
        (
            "  a IN ()",
            "')': expected a name, a value or ( at offset 8",
        ),
        (
            "a LIKE 234",
            "'234': expected a text after LIKE at offset 7",
        ),
        (
            "a NOT  =1",
            "'=1': expected LIKE, BETWEEN or IN after NOT at offset 7",
        ),
        (
            "a BETWEEN 1 OR 2",
            "'OR': expected AND between the bounds of BETWEEN at offset 12",
        ),
        (
            "a IS NOT",
            "'<END>': expected NULL after IS NOT at offset 8",
        ),
        (
            "a IS b",
            "'b': expected NULL or NOT NULL after IS at offset 5",
        ),
        ("(a = 1", "'<END>': expected an operator or ) at offset 6"),
        (
            "a IN (1 2)",
            "'2)': expected , or ) in the list of IN at offset 8",
        ),
        ("a IN 1", "'1': expected ( after IN at offset 5"),
        (
            "a = 'x",
            "''x': expected the closing ' of this text at offset 4",
        ),
        (
            "a = 34e",
            "'<END>': expected the digits of an exponent at offset 7",
        ),
        (
            "a = 99999999999999999999",
            "'99999999999999999999': expected a whole number of at most 64 bits at offset 4",
        ),
        (
            "a LIKE 'x' ESCAPE 'yy'",
            "''yy'': expected a single character after ESCAPE at offset 18",
        ),
        ("a =", "'<END>': expected a name, a value or ( at offset 3"),
    ] {
        let error = Selector::parse(text).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!("Illegal selector: {shown}"),
            "{text}"
        );
    }
}

#[test]
fn an_error_repeats_little_of_the_text() {
    let error = Selector::parse(&format!("a {}", "\u{fc}".repeat(1000))).unwrap_err();
    assert!(error.to_string().len() < 128, "{error}");
}

#[test]
fn text_is_bounded() {
    let fill = |bytes: usize| format!("a = '{}'", "x".repeat(bytes - "a = ''".len()));
    assert!(Selector::parse(&fill(limits::TEXT_BYTES_MAX)).is_ok());
    let error = Selector::parse(&fill(limits::TEXT_BYTES_MAX + 1)).unwrap_err();
    assert_eq!(
        (error.offset, error.expected),
        (limits::TEXT_BYTES_MAX, "a shorter text")
    );
    assert!(Selector::parse(&"\u{20ac}".repeat(limits::TEXT_BYTES_MAX)).is_err());
}

#[test]
fn nesting_is_bounded_and_the_deepest_fits_a_small_stack() {
    let nested = |open: &str, inner: &str, close: &str, levels: usize| {
        format!("{}{inner}{}", open.repeat(levels), close.repeat(levels))
    };
    let shapes = [
        ("(", "urgent", ")"),
        ("NOT ", "urgent", ""),
        ("-", "x", ""),
        ("+", "x", ""),
        ("1=1 AND 1=2 OR 1 IN (2*3+", "x", ")"),
        ("opened OR urgent AND 1 = 2 * 3 + 4 * (", "x", ")"),
    ];
    for (open, inner, close) in shapes {
        let thread = std::thread::Builder::new()
            .stack_size(1 << 20)
            .spawn(move || {
                let deepest = nested(open, inner, close, limits::DEPTH_MAX);
                let selector = Selector::parse(&deepest);
                if open.contains("IN") {
                    // The bracket of IN is a list, and lists cannot hold conditions.
                    assert!(selector.is_err());
                } else {
                    selector.unwrap().matches(&letter());
                    let error = Selector::parse(&nested(open, inner, close, limits::DEPTH_MAX + 1));
                    assert_eq!(
                        error.unwrap_err().expected,
                        "fewer levels of brackets, NOT and signs",
                        "{open}"
                    );
                }
                assert!(Selector::parse(&nested(open, inner, close, 2000)).is_err());
            });
        thread.unwrap().join().unwrap();
    }
}

#[test]
fn chains_do_not_nest() {
    for (first, more) in [
        ("opened", " OR opened"),
        ("urgent", " AND urgent"),
        ("x", "+1"),
        ("x", "*1"),
    ] {
        let text = format!("{first}{}", more.repeat(60_000 / more.len()));
        Selector::parse(&text).unwrap().matches(&letter());
    }
    let list = format!("count IN (1{})", ",1".repeat(30_000));
    assert!(!matches(&list));
}

#[test]
fn different_identifiers_are_bounded() {
    let named = |count: usize| {
        let terms: Vec<_> = (0..count).map(|n| format!("n{n} = n{n}")).collect();
        Selector::parse(&terms.join(" OR "))
    };
    assert_eq!(
        named(limits::IDENTIFIERS_MAX)
            .unwrap()
            .identifiers()
            .count(),
        256
    );
    assert_eq!(
        named(limits::IDENTIFIERS_MAX + 1).unwrap_err().expected,
        "fewer different names"
    );
}
