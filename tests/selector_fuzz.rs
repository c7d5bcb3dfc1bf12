//! Selectors from a seed: whatever the text, parsing and evaluating come to an end with an answer.
//! A failure names the seed and the text.

use ferrymq::broker::selector::{Environment, Scalar, Selector, limits};

/// SplitMix64.
struct Dice(u64);

impl Dice {
    fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.roll() % bound as u64).unwrap()
    }

    fn pick<T: Clone>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())].clone()
    }
}

/// The values that the generated selectors name.
const PROPERTIES: [(&str, Scalar<'static>); 7] = [
    ("yes", Scalar::Bool(true)),
    ("no", Scalar::Bool(false)),
    ("two", Scalar::Exact(2)),
    ("low", Scalar::Exact(i64::MIN)),
    ("half", Scalar::Approximate(0.5)),
    ("word", Scalar::Text(std::borrow::Cow::Borrowed("word"))),
    ("nothing", Scalar::Unknown),
];

struct Message;

impl Environment for Message {
    fn value(&self, identifier: &str) -> Scalar<'_> {
        let found = PROPERTIES.iter().find(|(name, _)| *name == identifier);
        found.map(|(_, value)| value.clone()).unwrap_or_default()
    }
}

/// Parses `text`, and checks what must hold for whatever came out.
fn check(seed: u64, text: &str) {
    let selector = match Selector::parse(text) {
        Ok(selector) => selector,
        Err(error) => {
            assert!(error.offset <= text.len(), "seed {seed}: {text:?}: {error}");
            assert!(
                text.is_char_boundary(error.offset),
                "seed {seed}: {text:?}: {error}"
            );
            assert!(!error.expected.is_empty());
            return;
        }
    };
    assert_eq!(selector.text(), text);
    let is_true = selector.matches(&Message);
    assert_eq!(selector.matches(&Message), is_true, "seed {seed}: {text:?}");
    if text
        .trim_matches([' ', '\t', '\n', '\x0b', '\x0c', '\r'])
        .is_empty()
    {
        return;
    }
    // Exactly one of the three truth values. Brackets may nest one level too deep.
    let others = [
        format!("NOT ({text})"),
        format!("(({text}) OR FALSE) IS NULL"),
    ];
    let others: Result<Vec<_>, _> = others.iter().map(|text| Selector::parse(text)).collect();
    if let Ok(others) = others {
        let true_ones = others
            .iter()
            .filter(|other| other.matches(&Message))
            .count();
        assert_eq!(true_ones + usize::from(is_true), 1, "seed {seed}: {text:?}");
    }
}

#[test]
fn any_bytes_are_a_selector_or_an_error() {
    for seed in 0..3000 {
        let mut dice = Dice(seed);
        let length = dice.below(64);
        let bytes: Vec<u8> = (0..length).map(|_| dice.roll().to_le_bytes()[0]).collect();
        check(seed, &String::from_utf8_lossy(&bytes));
    }
}

#[test]
fn any_words_are_a_selector_or_an_error() {
    const WORDS: [&str; 60] = [
        "yes",
        "no",
        "two",
        "half",
        "word",
        "nothing",
        "low",
        "\"yes\"",
        "AND",
        "OR",
        "NOT",
        "and",
        "or",
        "not",
        "IS",
        "NULL",
        "LIKE",
        "ESCAPE",
        "BETWEEN",
        "IN",
        "TRUE",
        "FALSE",
        "(",
        ")",
        ",",
        "=",
        "<>",
        "<",
        "<=",
        ">",
        ">=",
        "+",
        "-",
        "*",
        "/",
        "0",
        "1",
        "0x8",
        "0b1",
        "017",
        "9223372036854775808",
        "1.5",
        ".5",
        "2e3",
        "0x1p-3",
        "1e999",
        "'word'",
        "'w%'",
        "'%'",
        "'_o_d'",
        "'x'",
        "''",
        "'it''s'",
        "'\u{fc}'",
        "'",
        "\"",
        " ",
        "\t",
        "L",
        "\u{fc}",
    ];
    for seed in 0..20_000 {
        let mut dice = Dice(seed);
        let length = dice.below(14);
        let glue = dice.pick(&["", " ", " ", " "]);
        let words: Vec<_> = (0..length).map(|_| dice.pick(&WORDS)).collect();
        check(seed, &words.join(glue));
    }
}

#[test]
fn a_changed_selector_is_a_selector_or_an_error() {
    for seed in 0..5000 {
        let mut dice = Dice(seed);
        let (mut text, _) = condition(&mut dice, 4);
        for _ in 0..1 + dice.below(3) {
            let places: Vec<usize> = text.char_indices().map(|(place, _)| place).collect();
            let place = dice.pick(&places);
            match dice.below(3) {
                0 => drop(text.remove(place)),
                1 => text.truncate(place),
                _ => text.insert(
                    place,
                    dice.pick(&['(', ')', '\'', '"', '-', '.', 'e', '0', ' ']),
                ),
            }
            if text.is_empty() {
                break;
            }
        }
        check(seed, &text);
    }
}

#[test]
fn long_texts_of_one_word_come_to_an_end() {
    for word in [
        "(",
        ")",
        "NOT ",
        "-",
        "+",
        "'",
        "''",
        "\"\"",
        "a",
        "a ",
        "1",
        "1 ",
        "1+",
        "1 OR ",
        "a=a AND ",
        "a LIKE '%' OR ",
        "1,",
        ".",
        "0x",
        "e",
        "0",
        "_",
        "1_",
        "\u{fc}",
        "IS NULL ",
        "a IN (",
        "a IN (1,",
    ] {
        check(0, &word.repeat(limits::TEXT_BYTES_MAX / word.len()));
        check(
            0,
            &format!("two IN ({}1)", word.repeat(60_000 / word.len())),
        );
        check(
            0,
            &format!("two LIKE '{}' ESCAPE '1'", word.repeat(60_000 / word.len())),
        );
    }
}

/// A value in full brackets, and what it is by a second way of reckoning.
fn value(dice: &mut Dice, depth: usize) -> (String, Scalar<'static>) {
    if depth == 0 || dice.below(3) == 0 {
        if dice.below(2) == 0 {
            let (name, value) = dice.pick(&PROPERTIES);
            return (name.to_owned(), value);
        }
        return dice.pick(&[
            (String::from("3"), Scalar::Exact(3)),
            (String::from("0"), Scalar::Exact(0)),
            (String::from("-0x2"), Scalar::Exact(-2)),
            (String::from("2.0"), Scalar::Approximate(2.0)),
            (String::from("1e300"), Scalar::Approximate(1e300)),
            (String::from("'word'"), "word".into()),
            (String::from("TRUE"), Scalar::Bool(true)),
        ]);
    }
    if dice.below(4) == 0 {
        let (text, truth) = condition(dice, depth - 1);
        return (format!("({text})"), truth.into());
    }
    let (left_text, left) = value(dice, depth - 1);
    if dice.below(4) == 0 {
        let negative = match left {
            Scalar::Exact(value) => Scalar::Exact(value.wrapping_neg()),
            Scalar::Approximate(value) => Scalar::Approximate(-value),
            _ => Scalar::Unknown,
        };
        return (format!("(-({left_text}))"), negative);
    }
    let (right_text, right) = value(dice, depth - 1);
    let sign = dice.pick(&['+', '-', '*', '/']);
    let result = match (&left, &right) {
        (Scalar::Exact(a), Scalar::Exact(b)) => match sign {
            '+' => Some(a.wrapping_add(*b)),
            '-' => Some(a.wrapping_sub(*b)),
            '*' => Some(a.wrapping_mul(*b)),
            _ => (*b != 0).then(|| a.wrapping_div(*b)),
        }
        .into(),
        _ => match (number(&left), number(&right)) {
            (Some(a), Some(b)) => Scalar::Approximate(match sign {
                '+' => a + b,
                '-' => a - b,
                '*' => a * b,
                _ => a / b,
            }),
            _ => Scalar::Unknown,
        },
    };
    (format!("({left_text} {sign} {right_text})"), result)
}

fn number(value: &Scalar<'_>) -> Option<f64> {
    match value {
        Scalar::Exact(value) => Some(*value as f64),
        Scalar::Approximate(value) => Some(*value),
        _ => None,
    }
}

/// A comparison of known values.
fn holds(left: &Scalar<'_>, sign: &str, right: &Scalar<'_>) -> bool {
    match (left, right) {
        (Scalar::Exact(a), Scalar::Exact(b)) => in_order(a, sign, b),
        (Scalar::Bool(a), Scalar::Bool(b)) => matches!(sign, "=" | "<>") && in_order(a, sign, b),
        (Scalar::Text(a), Scalar::Text(b)) => matches!(sign, "=" | "<>") && in_order(a, sign, b),
        _ => match (number(left), number(right)) {
            (Some(a), Some(b)) => in_order(&a, sign, &b),
            _ => false,
        },
    }
}

fn in_order<T: PartialOrd>(a: &T, sign: &str, b: &T) -> bool {
    match sign {
        "=" => a == b,
        "<>" => a != b,
        "<" => a < b,
        "<=" => a <= b,
        ">" => a > b,
        _ => a >= b,
    }
}

/// A condition, its parts in full brackets, and what it comes to by a second way of reckoning.
fn condition(dice: &mut Dice, depth: usize) -> (String, Option<bool>) {
    if depth == 0 {
        return dice.pick(&[
            (String::from("yes"), Some(true)),
            (String::from("no"), Some(false)),
            (String::from("nothing"), None),
        ]);
    }
    match dice.below(6) {
        0 => {
            let (text, truth) = condition(dice, depth - 1);
            (format!("NOT ({text})"), truth.map(|truth| !truth))
        }
        1 => {
            let (left_text, left) = condition(dice, depth - 1);
            let (right_text, right) = condition(dice, depth - 1);
            let truth = match (left, right) {
                (Some(false), _) | (_, Some(false)) => Some(false),
                (Some(true), Some(true)) => Some(true),
                _ => None,
            };
            (format!("({left_text}) AND ({right_text})"), truth)
        }
        2 => {
            let (left_text, left) = condition(dice, depth - 1);
            let (right_text, right) = condition(dice, depth - 1);
            let truth = match (left, right) {
                (Some(true), _) | (_, Some(true)) => Some(true),
                (Some(false), Some(false)) => Some(false),
                _ => None,
            };
            (format!("({left_text}) OR ({right_text})"), truth)
        }
        3 => {
            let (text, value) = value(dice, depth - 1);
            let is_null = value == Scalar::Unknown;
            let (question, truth) = dice.pick(&[("IS NULL", is_null), ("IS NOT NULL", !is_null)]);
            (format!("{text} {question}"), Some(truth))
        }
        4 => {
            let (text, value) = value(dice, depth - 1);
            let (low_text, low) = self::value(dice, depth - 1);
            let (high_text, high) = self::value(dice, depth - 1);
            let is_known = [&value, &low, &high]
                .iter()
                .all(|one| **one != Scalar::Unknown);
            let lies = holds(&value, ">=", &low) && holds(&value, "<=", &high);
            let (word, truth) = dice.pick(&[("BETWEEN", lies), ("NOT BETWEEN", !lies)]);
            (
                format!("{text} {word} {low_text} AND {high_text}"),
                is_known.then_some(truth),
            )
        }
        _ => {
            let (left_text, left) = value(dice, depth - 1);
            let (right_text, right) = value(dice, depth - 1);
            let sign = dice.pick(&["=", "<>", "<", "<=", ">", ">="]);
            let is_known = left != Scalar::Unknown && right != Scalar::Unknown;
            let truth = is_known.then(|| holds(&left, sign, &right));
            (format!("{left_text} {sign} {right_text}"), truth)
        }
    }
}

#[test]
fn conditions_come_to_what_a_second_reckoning_says() {
    let mut counts = [0; 3];
    for seed in 0..5000 {
        let (text, truth) = condition(&mut Dice(seed), 5);
        let select = |text: &str| match Selector::parse(text) {
            Ok(selector) => selector.matches(&Message),
            Err(error) => panic!("seed {seed}: {text:?}: {error}"),
        };
        let found = match (select(&text), select(&format!("NOT ({text})"))) {
            (false, false) => None,
            (is_true, _) => Some(is_true),
        };
        assert_eq!(found, truth, "seed {seed}: {text:?}");
        counts[truth.map_or(2, usize::from)] += 1;
    }
    // The dice must not have become blind to one of the three.
    assert!(counts.iter().all(|count| *count > 500), "{counts:?}");
}

#[test]
fn like_agrees_with_a_table_of_prefixes() {
    for seed in 0..20_000 {
        let mut dice = Dice(seed);
        let length = dice.below(7);
        let pattern: String = (0..length)
            .map(|_| dice.pick(&['a', 'b', '%', '%', '_']))
            .collect();
        let length = dice.below(9);
        let text: String = (0..length).map(|_| dice.pick(&['a', 'b'])).collect();
        // covered[n]: the pattern so far covers the first n characters.
        let mut covered = vec![false; text.len() + 1];
        covered[0] = true;
        for place in pattern.chars() {
            let mut next = vec![false; text.len() + 1];
            for end in 0..=text.len() {
                next[end] = match place {
                    '%' => covered[..=end].contains(&true),
                    '_' => end > 0 && covered[end - 1],
                    plain => end > 0 && covered[end - 1] && text[end - 1..].starts_with(plain),
                };
            }
            covered = next;
        }
        let selector = Selector::parse(&format!("'{text}' LIKE '{pattern}'")).unwrap();
        let expected = covered[text.len()];
        assert_eq!(
            selector.matches(&Message),
            expected,
            "seed {seed}: {selector:?}"
        );
    }
}
