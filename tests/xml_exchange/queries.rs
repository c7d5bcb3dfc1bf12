use ferrymq::adapter::limits::{XML_BODY_BYTES_MAX, XQUERY_STEPS_MAX};
use ferrymq::adapter::xquery::{Body, Query};
use ferrymq::wire::{Map, Value};

const WEATHER: &str = "<weather unit='f'><station>Raleigh-Durham International Airport (KRDU)</station>\
    <wind_speed_mph>16</wind_speed_mph><temperature_f>70</temperature_f><dewpoint>35</dewpoint></weather>";

fn headers() -> Map {
    let headers = [
        ("control", Value::Str16("end".into())),
        ("n", Value::I32(5)),
        ("half", Value::F64(0.5)),
        ("yes", Value::Bool(true)),
        ("list", Value::List(Vec::new())),
    ];
    headers.into_iter().collect()
}

#[track_caller]
fn read(query: &str) -> Query {
    match Query::parse(query) {
        Ok(query) => query,
        Err(error) => panic!("{query}: {error}"),
    }
}

/// Whether a body matches; Err is why there is no telling.
#[track_caller]
fn matches_in(query: &str, body: &str) -> Result<bool, String> {
    let body = Body::read(Some(body.as_bytes()));
    let matches = read(query).matches(&headers(), Some(&body));
    matches.map_err(|error| error.to_string())
}

#[track_caller]
fn assert_all(expected: bool, queries: &[&str]) {
    for query in queries {
        assert_eq!(matches_in(query, WEATHER), Ok(expected), "{query}");
    }
}

#[track_caller]
fn assert_undecided(queries: &[&str]) {
    for query in queries {
        let matches = matches_in(query, WEATHER);
        assert!(matches.is_err(), "{query}: {matches:?}");
    }
}

#[test]
fn query_about_the_weather_matches_what_is_good_for_sailing() {
    let query = "let $w := ./weather return $w/station = 'Raleigh-Durham International Airport (KRDU)' \
        and $w/temperature_f > 50 and $w/temperature_f - $w/dewpoint > 5 \
        and $w/wind_speed_mph > 7 and $w/wind_speed_mph < 20";
    assert_all(true, &[query]);
    let storm = WEATHER.replace(">16<", ">60<");
    assert_eq!(matches_in(query, &storm), Ok(false));
}

#[test]
fn query_of_headers_and_body_needs_either() {
    let query = "declare variable $control external; ./message/id mod 2 = 1 or $control = 'end'";
    for (id, control, expected) in [("1", "go", true), ("2", "go", false), ("2", "end", true)] {
        let text = format!("<message><id>{id}</id></message>");
        let headers = [("control", Value::Str16(control.into()))];
        let headers: Map = headers.into_iter().collect();
        let body = Body::read(Some(text.as_bytes()));
        assert_eq!(read(query).matches(&headers, Some(&body)), Ok(expected));
    }
}

#[test]
fn paths_find_elements_attributes_and_texts() {
    assert_all(
        true,
        &[
            "./weather",
            "weather/station",
            "/weather",
            "//dewpoint",
            "/weather//dewpoint = 35",
            "weather/@unit = 'f'",
            "weather/attribute::unit",
            "weather/*[2] = 16",
            "weather/*[last()]/text() = '35'",
            "weather/dewpoint/../station",
            "weather/dewpoint/preceding-sibling::*[1]/self::temperature_f",
            "weather[dewpoint < 40]/station",
            "count(weather/*) = 4",
            "weather/(station | dewpoint)[2] = '35'",
            "name(/*) = 'weather'",
            "count(//dewpoint/ancestor::*) eq 1",
        ],
    );
    assert_all(
        false,
        &[
            "./rain",
            "weather/@station",
            "weather/*[5]",
            "//dewpoint[2]",
        ],
    );
}

#[test]
fn comparisons_take_nodes_for_what_they_are_put_to() {
    assert_all(
        true,
        &[
            "weather/dewpoint = 35.0",
            "weather/dewpoint = '35'",
            "weather/* = 16",
            "weather/dewpoint != 36",
            "string(weather/dewpoint) < '4'",
            "weather/dewpoint eq '35'",
            "number('x') != number('x')",
        ],
    );
    assert_all(
        false,
        &[
            "weather/dewpoint = '35.0'",
            "weather/rain = 1",
            "weather/rain != 1",
        ],
    );
    assert_undecided(&["weather/station > 5", "weather/dewpoint eq 35", "'1' = 1"]);
}

#[test]
fn arithmetic_is_by_rank_and_from_the_left() {
    assert_all(
        true,
        &[
            "1 + 2 * 3 = 7",
            "(1 + 2) * 3 = 9",
            "10 - 3 - 2 = 5",
            "7 idiv 2 = 3 and -7 idiv 2 = -3",
            "7 mod 4 = 3",
            "1 div 4 = 0.25",
            "- - 1 = 1",
            "empty(1 + weather/rain)",
        ],
    );
    assert_undecided(&["1 idiv 0 = 1", "'1' + 1 = 2", "weather/* + 1 = 1"]);
}

#[test]
fn functions_give_what_xpath_says() {
    assert_all(
        true,
        &[
            "contains(weather/station, 'KRDU')",
            "starts-with(weather/station, 'Raleigh')",
            "ends-with('abc', 'bc')",
            "fn:not(false()) and true()",
            "exists(weather) and empty(rain)",
            "substring('motor car', 6) = ' car' and substring('metadata', 4, 3) = 'ada'",
            "substring-before('a=b', '=') = 'a' and substring-after('a=b', '=') = 'b'",
            "string-length('straße') = 6",
            "normalize-space('  a   b ') = 'a b'",
            "upper-case('a') = 'A' and lower-case('A') = 'a'",
            "translate('bar', 'abc', 'AB') = 'BAr'",
            "concat('a', 1, 'b') = 'a1b'",
            "string-join(('a', 'b'), '-') = 'a-b'",
            "sum((1, 2)) = 3 and avg((1, 3)) = 2 and min((2, 1)) = 1 and max((2, 1)) = 2",
            "abs(-1) = 1 and floor(1.5) = 1 and ceiling(1.5) = 2 and round(2.5) = 3",
            "number('3') = 3 and string(3) = '3'",
            "xs:integer('3') = 3 and xs:double(weather/dewpoint) = 35",
            "boolean('x') and not(boolean(''))",
        ],
    );
}

#[test]
fn variables_count_where_they_are_declared() {
    assert_all(
        true,
        &[
            "some $x in weather/*[. != ''] satisfies $x = '70'",
            "every $x in weather/*[position() > 1] satisfies $x > 10",
            "for $x at $n in weather/* where $n = 4 return $x = 35",
            "let $x := 1, $y := $x + 1 return $y = 2",
            "declare variable $x := weather/dewpoint; $x = 35",
            "if (weather/dewpoint > 30) then true() else false()",
            "declare variable $n as xs:integer external; $n = 5",
            "declare variable $yes external; declare variable $half external; $yes = 1 and $half < 1",
        ],
    );
}

#[test]
fn namespaces_tell_names_apart() {
    let body = "<a xmlns='urn:x'><b xmlns='urn:y'/></a>";
    for (query, expected) in [
        ("a", false),
        ("declare namespace p = 'urn:x'; p:a", true),
        ("declare namespace p = 'urn:y'; //p:b and not(//p:a)", true),
        ("declare default element namespace 'urn:x'; a", true),
        ("*:a/*:b", true),
        ("namespace-uri(/*) = 'urn:x' and local-name(/*) = 'a'", true),
    ] {
        assert_eq!(matches_in(query, body), Ok(expected), "{query}");
    }
}

#[test]
fn missing_header_or_one_that_is_no_value_does_not_match() {
    assert_undecided(&[
        "declare variable $there external; $there = 1",
        "declare variable $list external; exists($list)",
    ]);
    // What is not looked at need not be there.
    assert_all(
        true,
        &["declare variable $there external; true() or $there = 1"],
    );
}

#[test]
fn query_that_does_not_look_at_the_body_does_not_ask_what_it_is() {
    let query = "declare variable $n external; $n > 4";
    assert!(!read(query).is_about_body());
    assert_eq!(matches_in(query, "no document"), Ok(true));
    let about = read("declare variable $n external; $n > 4 and ./a");
    assert!(about.is_about_body());
    assert!(matches_in("./a", "no document").is_err());
}

#[test]
fn looking_at_the_body_is_seen_wherever_it_stands() {
    for query in [
        "//a",
        "let $x := a return 1",
        "declare variable $x := a; 1",
        "string() = 'x'",
    ] {
        assert!(read(query).is_about_body(), "{query}");
    }
    for query in ["1", "(1, 2)[. = 1] = 1", "declare variable $n external; $n"] {
        assert!(!read(query).is_about_body(), "{query}");
    }
    assert!(read("let $x := 1 return $x[//a]").is_about_body());
}

#[test]
fn text_that_is_no_query_is_refused() {
    for text in [
        "",
        "a bad xquery",
        "./a[",
        "1 +",
        "$undeclared = 1",
        "matches('a', 'b')",
        "contains('a')",
        "<a/>",
        "for $x in 1 order by $x return $x",
        "p:a",
        "'open",
        "(: open",
        "1 = 1 = 1",
        "declare variable $x external; declare variable $x external; 1",
        "&",
        "12x",
        "declare function local:f() { 1 }; local:f()",
    ] {
        assert!(Query::parse(text).is_err(), "{text}");
    }
}

#[test]
fn comments_and_entities_are_read() {
    assert_all(
        true,
        &[
            "(: one (: in :) another :) 1",
            "'a&lt;b' = 'a<b'",
            "'it''s' = \"it's\"",
            "'&#65;&#x42;' = 'AB'",
        ],
    );
}

#[test]
fn queries_that_nest_without_end_are_refused() {
    for (open, inner, close) in [
        ("(", "1", ")"),
        ("a[", "1", "]"),
        ("not(", "1", ")"),
        ("-", "1", ""),
        ("", "1", "+1"),
        ("", "a", "/a"),
        ("", "a", "[1]/a"),
        ("if (1) then ", "1", " else 1"),
        ("let $x := 1 return ", "1", ""),
    ] {
        let text = format!("{}{inner}{}", open.repeat(1000), close.repeat(1000));
        assert!(Query::parse(&text).is_err(), "{open}{inner}{close}");
    }
}

#[test]
fn variables_that_are_worked_out_one_in_the_other_are_as_deep_as_what_they_stand_for() {
    let sums = "+1".repeat(80);
    let mut text = String::from("declare variable $v0 := 1; ");
    for number in 1..200 {
        text += &format!("declare variable $v{number} := $v{}{sums}; ", number - 1);
    }
    text += "$v199 > 0";
    assert!(Query::parse(&text).is_err());
    let beside = "declare variable $a := 1+1; declare variable $b := $a+1; $b + $a = 5";
    assert_eq!(matches_in(beside, WEATHER), Ok(true));
}

#[test]
fn text_of_elements_that_have_none_is_not_for_nothing() {
    let body = format!("{}{}", "<a>".repeat(10_000), "</a>".repeat(10_000));
    let why = matches_in("//*[. = 'x']", &body).expect_err("it takes too long");
    assert!(why.contains("too long"), "{why}");
}

#[test]
fn query_that_takes_too_long_does_not_match() {
    let items = "<i/>".repeat(2000);
    let body = format!("<a>{items}</a>");
    let why = matches_in("count(//i[count(//i) > 1]) > 0", &body).expect_err("it takes too long");
    assert!(why.contains("too long"), "{why}");
    const { assert!(XQUERY_STEPS_MAX < 2000 * 2000) };
}

#[test]
fn body_that_is_too_large_or_has_a_type_declaration_is_not_read() {
    let large = format!("<a>{}</a>", "x".repeat(XML_BODY_BYTES_MAX));
    assert!(matches_in("./a", &large).is_err());
    let declared = "<!DOCTYPE a [<!ENTITY e SYSTEM 'file:///etc/hostname'>]><a>&e;</a>";
    assert!(matches_in("./a", declared).is_err());
}

#[test]
fn deep_document_is_read_within_the_stack() {
    let deep = format!("{}{}", "<a>".repeat(40_000), "</a>".repeat(40_000));
    assert_eq!(matches_in("count(//b) = 0", &deep), Ok(true));
}

/// Texts of words of the language in any order are queries or not, and end.
#[test]
fn any_words_are_read_and_worked_out_without_a_panic() {
    const WORDS: [&str; 36] = [
        "weather", "/", "//", "[", "]", "(", ")", "1", "'x'", "$x", "let", ":=", "return", "for",
        "in", "=", "<", "and", "or", "not(", "count(", "+", "-", "*", "div", "idiv", "mod", "@",
        ".", "..", ",", "|", "if", "then", "else", "string(",
    ];
    let (mut state, mut sound) = (1u64, 0);
    for _ in 0..40_000 {
        let mut text = String::from("declare variable $x := weather; ");
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        for _ in 0..1 + (state >> 33) % 9 {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            text.push_str(WORDS[(state >> 33) as usize % WORDS.len()]);
            text.push(' ');
        }
        if let Ok(query) = Query::parse(&text) {
            sound += 1;
            let body = Body::read(Some(WEATHER.as_bytes()));
            let _ = query.matches(&headers(), Some(&body));
        }
    }
    assert!(sound > 500, "{sound} were queries");
}
