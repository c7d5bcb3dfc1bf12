//! Exchanges of type headers.

use ferrymq::broker::exchange::{BindError, Kind};
use ferrymq::broker::ids::QueueId;
use ferrymq::wire::{ErrorCode, Map, Value};

use super::routing::{exchange, listed, map, route_headers};

fn all(entries: &[(&str, Value)]) -> Map {
    let mut arguments = map(&[("x-match", "all".into())]);
    for (name, value) in entries {
        arguments.insert(*name, value.clone());
    }
    arguments
}

fn any(entries: &[(&str, Value)]) -> Map {
    let mut arguments = all(entries);
    arguments.insert("x-match", "any");
    arguments
}

fn bound(bindings: &[(u32, &str, Map)]) -> Kind {
    let mut headers = exchange("headers");
    for (queue, key, arguments) in bindings {
        assert_eq!(headers.bind(QueueId(*queue), key, arguments), Ok(true));
    }
    headers
}

fn goes(arguments: &Map, headers: &[(&str, Value)]) -> bool {
    let mut exchange = bound(&[(1, "", arguments.clone())]);
    !route_headers(&mut exchange, Some(&map(headers))).is_empty()
}

#[test]
fn all_wants_every_argument_and_any_wants_one() {
    let fred: (&str, Value) = ("name", "fred".into());
    let three: (&str, Value) = ("age", Value::I32(3));
    let wanted = [fred.clone(), three.clone()];
    for (headers, by_all, by_any) in [
        (vec![fred.clone(), three.clone()], true, true),
        (
            vec![three.clone(), ("extra", 1.into()), fred.clone()],
            true,
            true,
        ),
        (vec![fred.clone()], false, true),
        (vec![("irrelevant", 10.into()), three.clone()], false, true),
        (vec![fred.clone(), ("age", Value::I32(2))], false, true),
        (vec![("name", "barney".into())], false, false),
        (vec![("name", 10.into())], false, false),
        (vec![("Name", "fred".into())], false, false),
        (vec![("irrelevant", 0.into())], false, false),
        (vec![], false, false),
    ] {
        assert_eq!(goes(&all(&wanted), &headers), by_all, "all: {headers:?}");
        assert_eq!(goes(&any(&wanted), &headers), by_any, "any: {headers:?}");
    }
}

#[test]
fn all_that_wants_nothing_matches_every_message_and_any_none() {
    for headers in [None, Some(Map::new()), Some(map(&[("a", 1.into())]))] {
        let mut exchange = bound(&[(1, "", all(&[])), (2, "", any(&[]))]);
        assert_eq!(route_headers(&mut exchange, headers.as_ref()), [1]);
    }
}

#[test]
fn a_message_without_headers_matches_nothing_that_is_wanted() {
    let wanted = [("a", Value::Void)];
    let mut exchange = bound(&[(1, "", all(&wanted)), (2, "", any(&wanted))]);
    assert_eq!(route_headers(&mut exchange, None), [0; 0]);
}

/// A value that a binding wants, headers that are such, and headers that are not.
type Comparison<'a> = (Value, &'a [Value], &'a [Value]);

fn check(table: &[Comparison<'_>]) {
    for (wanted, hits, misses) in table {
        for (values, expected) in [(hits, true), (misses, false)] {
            for value in *values {
                for arguments in [all(&[("a", wanted.clone())]), any(&[("a", wanted.clone())])] {
                    let went = goes(&arguments, &[("a", value.clone())]);
                    assert_eq!(went, expected, "{wanted:?} and {value:?}");
                }
            }
        }
    }
}

#[test]
fn numbers_compare_by_value_whatever_their_width() {
    use Value::*;
    check(&[
        (
            I32(3),
            &[U8(3), I8(3), U16(3), I64(3), U64(3)],
            &[I32(4), "3".into(), F64(3.0), Void, Bool(true)],
        ),
        (I64(-1), &[I8(-1)], &[U64(u64::MAX), U8(255)]),
        (U64(u64::MAX), &[U64(u64::MAX)], &[I64(-1), U32(u32::MAX)]),
        (Bool(true), &[Bool(true), U8(1)], &[Bool(false), U8(2)]),
        (U8(0), &[Bool(false), I64(0)], &["".into(), "0".into()]),
        (F32(0.5), &[F32(0.5), F64(0.5)], &[F64(0.25), "0.5".into()]),
        (F64(f64::NAN), &[], &[F64(f64::NAN)]),
    ]);
}

#[test]
fn texts_compare_by_their_octets_whatever_their_type() {
    use Value::*;
    let uuid = [0x12; 16];
    let uuid_text = || Str16("12121212-1212-1212-1212-121212121212".into());
    check(&[
        (
            "x".into(),
            &[
                Str8("x".into()),
                Vbin8(b"x".to_vec()),
                Vbin32(b"x".to_vec()),
            ],
            &["X".into(), "".into(), Char8(b'x'), U8(0)],
        ),
        (
            Vbin16(vec![0xff, 0x00]),
            &[Vbin32(vec![0xff, 0x00])],
            &[Vbin16(vec![0xff])],
        ),
        (Uuid(uuid), &[Uuid(uuid), uuid_text()], &[Uuid([0; 16])]),
        (uuid_text(), &[Uuid(uuid)], &[Uuid([0; 16])]),
    ]);
}

#[test]
fn void_wants_the_header_to_be_there_with_any_value() {
    use Value::*;
    let values = [
        "".into(),
        U8(0),
        Void,
        List(vec![]),
        Map(super::routing::map(&[])),
    ];
    check(&[(Void, &values, &[])]);
}

#[test]
fn other_types_compare_within_themselves() {
    use Value::*;
    let list = |number| List(vec![I32(number)]);
    check(&[(list(1), &[list(1)], &[list(2), List(vec![]), Void])]);
}

#[test]
fn reserved_arguments_and_x_match_are_not_looked_for_in_messages() {
    let reserved = [("qpid.fed.op", "".into()), ("qpid.anything", 1.into())];
    assert!(goes(&all(&reserved), &[]));
    assert!(!goes(&any(&reserved), &[("qpid.anything", 1.into())]));
    assert!(!goes(
        &any(&[("a", 1.into())]),
        &[("x-match", "any".into())]
    ));
    // They stay with the binding.
    let exchange = bound(&[(1, "", all(&reserved))]);
    let kept = exchange.bindings().next().map(|b| b.arguments.clone());
    assert_eq!(kept, Some(all(&reserved)));
}

#[test]
fn a_binding_needs_x_match_all_or_any() {
    let mut headers = exchange("headers");
    for arguments in [
        map(&[]),
        map(&[("a", 1.into())]),
        map(&[("x-match", 1.into())]),
        map(&[("x-match", Value::Void)]),
        map(&[("x-match", "".into())]),
        map(&[("x-match", "ALL".into())]),
    ] {
        let error = headers.bind(QueueId(1), "k", &arguments);
        assert_eq!(error, Err(BindError::MatchMode), "{arguments:?}");
    }
    assert!(headers.is_unused());
    assert_eq!(BindError::MatchMode.code(), ErrorCode::INTERNAL_ERROR);
    assert!(BindError::MatchMode.to_string().contains("x-match"));
    // Python sends byte strings.
    let bytes = map(&[("x-match", Value::Vbin16(b"all".to_vec()))]);
    assert_eq!(headers.bind(QueueId(1), "k", &bytes), Ok(true));
}

#[test]
fn a_key_is_not_used_for_other_arguments_of_the_queue() {
    let (a, b) = (all(&[("a", 1.into())]), all(&[("b", 1.into())]));
    let mut headers = exchange("headers");
    assert_eq!(headers.bind(QueueId(1), "k", &a), Ok(true));
    assert_eq!(headers.bind(QueueId(1), "k", &a), Ok(false));
    for other in [
        &b,
        &any(&[("a", 1.into())]),
        &all(&[("a", 2.into())]),
        &all(&[]),
    ] {
        let refused = headers.bind(QueueId(1), "k", other);
        assert_eq!(refused, Err(BindError::DuplicateKey), "{other:?}");
    }
    assert_eq!(BindError::DuplicateKey.code(), ErrorCode::INTERNAL_ERROR);
    let text = BindError::DuplicateKey.to_string();
    assert!(text.contains("Duplicate binding key not allowed"));
    // Another queue may.
    assert_eq!(headers.bind(QueueId(2), "k", &b), Ok(true));
    assert!(headers.unbind(QueueId(1), "k"));
    assert_eq!(headers.bind(QueueId(1), "k", &b), Ok(true));
}

#[test]
fn the_same_arguments_are_bound_once_a_queue_whatever_key_and_order() {
    let forward = all(&[("a", 1.into()), ("b", "x".into())]);
    let mut backward = map(&[
        ("b", "x".into()),
        ("a", 1.into()),
        ("x-match", "all".into()),
    ]);
    backward.insert("qpid.fed.origin", "elsewhere");
    let mut headers = exchange("headers");
    assert_eq!(headers.bind(QueueId(1), "k", &forward), Ok(true));
    assert_eq!(headers.bind(QueueId(1), "k", &backward), Ok(false));
    assert_eq!(headers.bind(QueueId(1), "other", &backward), Ok(false));
    assert_eq!(headers.bind(QueueId(2), "other", &backward), Ok(true));
    assert_eq!(headers.binding_count(), 2);
    assert!(!headers.unbind(QueueId(1), "other"));
    assert!(headers.unbind(QueueId(1), "k"));
}

#[test]
fn a_queue_that_matches_by_two_bindings_gets_one_copy() {
    let (a, b) = (any(&[("a", 1.into())]), all(&[("b", 2.into())]));
    let mut headers = bound(&[(5, "k1", a.clone()), (3, "k", b.clone()), (5, "k2", b)]);
    let both = map(&[("a", 1.into()), ("b", 2.into())]);
    for _ in 0..10 {
        assert_eq!(route_headers(&mut headers, Some(&both)), [5, 3]);
    }
    let only_b = map(&[("b", 2.into())]);
    assert_eq!(route_headers(&mut headers, Some(&only_b)), [3, 5]);
    let expected = [
        (5, "k1".into(), 10),
        (3, "k".into(), 11),
        (5, "k2".into(), 1),
    ];
    assert_eq!(listed(&headers), expected);
    assert_eq!(headers.unbind_queue(QueueId(5)).len(), 2);
    assert_eq!(route_headers(&mut headers, Some(&both)), [3]);
}

#[test]
fn headers_are_asked_for_once() {
    let mut headers = bound(&[(1, "", all(&[])), (2, "", all(&[])), (3, "", any(&[]))]);
    let (mut asked, mut matched) = (0, Vec::new());
    let mut give = || {
        asked += 1;
        None
    };
    headers.route("", &mut give, &mut matched);
    assert_eq!(asked, 1);
}
