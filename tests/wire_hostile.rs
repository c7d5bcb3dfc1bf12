//! What strangers send: lengths past the end, few octets that mean much memory, deep nesting.
//! Memory is counted by the budget that every decoded value is charged to.

use ferrymq::wire::limits::{DEPTH_MAX, UNAUTHENTICATED_BUDGET};
use ferrymq::wire::{
    ByteRanges, Command, CommandHead, Control, Cursor, DecodeError, DtxXid, ErrorCode, Map,
    Problem, QueueQueryResult, Struct, Struct32, Value, header,
};

/// A `connection.start-ok` whose client properties are `map`, the size of the map excluded.
fn start_ok(map: &[u8]) -> Vec<u8> {
    let mut bytes = vec![1, 2, 0x01, 0x00];
    bytes.extend((map.len() as u32).to_be_bytes());
    bytes.extend(map);
    bytes
}

fn stranger(bytes: &[u8]) -> Result<Control, DecodeError> {
    Control::decode(&mut Cursor::with_budget(bytes, UNAUTHENTICATED_BUDGET))
}

fn problem(bytes: &[u8]) -> Problem {
    stranger(bytes).unwrap_err().problem
}

/// An array of `count` items of type `code`, all of them in `content`.
fn array(code: u8, count: u32, content: &[u8]) -> Vec<u8> {
    let mut bytes = ((5 + content.len()) as u32).to_be_bytes().to_vec();
    bytes.push(code);
    bytes.extend(count.to_be_bytes());
    bytes.extend(content);
    bytes
}

#[test]
fn array_of_countless_voids_is_refused() {
    for code in [0xf0, 0xf1, 0xff] {
        for count in [u32::MAX, 1 << 20] {
            let mut map = vec![0, 0, 0, 1, 1, b'k', 0xaa];
            map.extend(array(code, count, &[]));
            assert_eq!(problem(&start_ok(&map)), Problem::OverBudget);
        }
    }
}

#[test]
fn many_small_arrays_of_voids_stay_within_the_budget() {
    let entries = 4000u32;
    let mut map = entries.to_be_bytes().to_vec();
    for _ in 0..entries {
        map.extend([1, b'k', 0xaa]);
        map.extend(array(0xf0, 256, &[]));
    }
    let bytes = start_ok(&map);
    assert!(bytes.len() < 0x10000, "one frame");
    assert_eq!(problem(&bytes), Problem::OverBudget);
    // Authenticated peers are bounded in proportion to what they send.
    let error = Control::decode(&mut Cursor::new(&bytes)).unwrap_err();
    assert_eq!(error.problem, Problem::OverBudget);
    assert_eq!(error.error_code(), ErrorCode::RESOURCE_LIMIT_EXCEEDED);
}

#[test]
fn a_value_takes_at_most_16_times_its_size_on_the_wire() {
    let mut list = vec![0xa9];
    list.extend((4u32 + 60_000).to_be_bytes());
    list.extend(60_000u32.to_be_bytes());
    list.extend([0xf0; 60_000]);
    let error = Value::decode(&mut Cursor::new(&list)).unwrap_err();
    assert_eq!(error.problem, Problem::OverBudget);
    // Entries as clients send them keep within it.
    let number = |n: u8| (format!("{n}"), Value::U8(n));
    let map: Map = (0..=255).map(number).collect();
    let mut bytes = Vec::new();
    Value::Map(map).encode(&mut bytes);
    let mut cursor = Cursor::new(&bytes);
    assert!(Value::decode(&mut cursor).is_ok());
}

#[test]
fn what_fits_the_budget_is_charged_to_it() {
    let mut map = vec![0, 0, 0, 1, 1, b'k', 0xaa];
    map.extend(array(0xf0, 1000, &[]));
    let bytes = start_ok(&map);
    let mut cursor = Cursor::with_budget(&bytes, UNAUTHENTICATED_BUDGET);
    Control::decode(&mut cursor).unwrap();
    let charged = UNAUTHENTICATED_BUDGET - cursor.budget();
    assert!(charged >= 1000 * size_of::<Value>(), "{charged}");
}

#[test]
fn containers_nested_10000_deep_are_refused() {
    for code in [0xa8u8, 0xa9, 0xaa] {
        let mut value = Vec::new();
        for _ in 0..10_000 {
            let mut outer = Vec::new();
            match code {
                0xa8 => outer.extend([0, 0, 0, 1, 0, code]),
                0xa9 => outer.extend([0, 0, 0, 1, code]),
                _ => outer.extend([code, 0, 0, 0, 1]),
            }
            outer.extend(&value);
            value = (outer.len() as u32).to_be_bytes().to_vec();
            value.extend(&outer);
            if value.len() > 60_000 {
                break;
            }
        }
        let mut map = vec![0, 0, 0, 1, 0, code];
        map.extend(&value);
        assert_eq!(problem(&start_ok(&map)), Problem::TooDeep);
    }
}

#[test]
fn nesting_up_to_the_bound_is_read() {
    let mut value = vec![0xf0];
    for _ in 0..DEPTH_MAX {
        let mut outer = vec![0xa9];
        outer.extend(((4 + value.len()) as u32).to_be_bytes());
        outer.extend([0, 0, 0, 1]);
        outer.extend(&value);
        value = outer;
    }
    assert!(Value::decode(&mut Cursor::new(&value)).is_ok());
    let mut outer = vec![0xa9];
    outer.extend(((4 + value.len()) as u32).to_be_bytes());
    outer.extend([0, 0, 0, 1]);
    outer.extend(&value);
    let error = Value::decode(&mut Cursor::new(&outer)).unwrap_err();
    assert_eq!(error.problem, Problem::TooDeep);
}

#[test]
fn declared_lengths_past_the_end_are_refused() {
    for (code, width) in [
        (0x80, 1),
        (0x85, 1),
        (0x90, 2),
        (0x95, 2),
        (0xa0, 4),
        (0xa8, 4),
        (0xa9, 4),
        (0xaa, 4),
        (0xab, 4),
    ] {
        let content = [0; 40];
        for length in [41u64, u64::MAX] {
            let mut bytes = vec![code];
            bytes.extend(&length.to_be_bytes()[8 - width..]);
            bytes.extend(content);
            let mut cursor = Cursor::with_budget(&bytes, 1 << 40);
            let error = Value::decode(&mut cursor).unwrap_err();
            assert!(
                matches!(error.problem, Problem::RunsPastEnd(_)),
                "{code:#x}: {error}"
            );
            assert_eq!(cursor.budget(), 1 << 40, "nothing was allocated");
        }
    }
}

#[test]
fn counts_past_the_end_are_refused_before_anything_is_allocated() {
    for bytes in [
        b"\xa8\0\0\0\x08\xff\xff\xff\xff\x01k\x02\x01".as_slice(),
        b"\xa9\0\0\0\x08\xff\xff\xff\xff\x02\x01\x02\x01",
        b"\xaa\0\0\0\x08\x02\xff\xff\xff\xff\x01\x02\x03",
        b"\xaa\0\0\0\x08\x90\0\0\0\x02\0\0\0",
    ] {
        let mut cursor = Cursor::with_budget(bytes, usize::MAX);
        let error = Value::decode(&mut cursor).unwrap_err();
        assert!(matches!(error.problem, Problem::RunsPastEnd(_)), "{error}");
        assert_eq!(cursor.budget(), usize::MAX);
    }
}

#[test]
fn sequence_set_lengths_are_checked() {
    let accept = |set: &[u8]| {
        let mut bytes = vec![4, 2, 1, 0, 1, 0];
        bytes.extend(set);
        Command::decode(&mut Cursor::new(&bytes)).map_err(|error| error.problem)
    };
    assert!(accept(b"\0\0").is_ok());
    assert_eq!(
        accept(b"\0\x04\0\0\0\0"),
        Err(Problem::BadLength("sequence-set", 4))
    );
    assert_eq!(
        accept(b"\0\x09\0\0\0\0\0\0\0\0"),
        Err(Problem::RunsPastEnd("sequence-set"))
    );
    assert_eq!(
        accept(b"\xff\xff\0\0\0\0\0\0\0\0"),
        Err(Problem::RunsPastEnd("sequence-set"))
    );
}

#[test]
fn one_maximal_range_is_read_and_an_inverted_one_refused() {
    let set = |lower: u32, upper: u32| {
        let mut set = vec![0, 8];
        set.extend(lower.to_be_bytes());
        set.extend(upper.to_be_bytes());
        set
    };
    let fronts: [&[u8]; 3] = [&[2, 10, 1, 0], &[4, 2, 1, 0, 1, 0], &[4, 4, 1, 0, 1, 0]];
    for front in fronts {
        let read = |set: &[u8]| {
            let bytes = [front, set].concat();
            let mut cursor = Cursor::new(&bytes);
            match front[0] {
                2 => Control::decode(&mut cursor).map(drop),
                _ => Command::decode(&mut cursor).map(drop),
            }
        };
        assert!(read(&set(0, 0x7fff_ffff)).is_ok());
        let error = read(&set(5, 4)).unwrap_err();
        assert_eq!(error.problem, Problem::Inverted(5, 4));
        assert_eq!(error.error_code(), ErrorCode::ILLEGAL_ARGUMENT);
        let half = read(&set(0, 0x8000_0000)).unwrap_err();
        assert_eq!(half.problem, Problem::Inverted(0, 0x8000_0000));
    }
}

#[test]
fn structs_must_have_the_size_they_declare() {
    // reply-to of size 3 that has only its packing flags.
    let mut bytes = b"\0\0\0\x09\x04\x03\x08\x00\x00\x03\x00\x00\x00".to_vec();
    let error = header::split(&bytes).unwrap_err();
    assert_eq!(error.problem, Problem::TrailingBytes(1));
    bytes[9] = 0xff;
    let error = header::split(&bytes).unwrap_err();
    assert_eq!(error.problem, Problem::RunsPastEnd("message.reply-to"));
}

#[test]
fn reserved_packing_flags_are_refused() {
    let error = Control::decode(&mut Cursor::new(&[2, 12, 0x08, 0])).unwrap_err();
    assert_eq!(error.problem, Problem::ReservedFlags(8));
    assert_eq!(error.field, "session.flush");
    let error = Command::decode(&mut Cursor::new(&[3, 1, 1, 2, 0, 0])).unwrap_err();
    assert_eq!(error.problem, Problem::ReservedFlags(2));
}

#[test]
fn unknown_codes_are_told_apart() {
    let error = Control::decode(&mut Cursor::new(&[2, 99, 0, 0])).unwrap_err();
    assert_eq!(error.problem, Problem::UnknownCode { class: 2, code: 99 });
    let bytes = [99, 1, 1, 1, 0, 0];
    let error = Command::decode(&mut Cursor::new(&bytes)).unwrap_err();
    assert_eq!(error.problem, Problem::UnknownCode { class: 99, code: 1 });
    assert_eq!(error.error_code(), ErrorCode::NOT_IMPLEMENTED);
    assert_eq!(
        CommandHead::of(&bytes),
        Some(CommandHead {
            class: 99,
            code: 1,
            sync: true
        })
    );
    assert_eq!(CommandHead::of(&[99]), None);
    // A control is no command: each has its own code space.
    let error = Command::decode(&mut Cursor::new(&[2, 1, 1, 0, 0, 0])).unwrap_err();
    assert_eq!(error.problem, Problem::UnknownCode { class: 2, code: 1 });
}

#[test]
fn an_error_names_field_offset_and_problem() {
    let bytes = [4, 1, 1, 0, 1, 0, 200, b'x'];
    let error = Command::decode(&mut Cursor::new(&bytes)).unwrap_err();
    let text = "str8 runs past the end at message.transfer.destination, offset 7";
    assert_eq!(error.to_string(), text);
}

#[test]
fn every_problem_is_told_in_words_of_its_own() {
    let problems = [
        (Problem::RunsPastEnd("map"), "map runs past the end"),
        (Problem::NotUtf8("str8"), "str8 is not UTF-8"),
        (Problem::TrailingBytes(3), "3 octets left over"),
        (Problem::BadLength("array", 2), "array cannot have length 2"),
        (Problem::UnknownType(0xe0), "unknown type 0xe0"),
        (
            Problem::UnknownCode { class: 9, code: 8 },
            "unknown code 9.8",
        ),
        (
            Problem::OtherStruct {
                wanted: 0x0401,
                found: 0x0403,
            },
            "struct 0x0403 where 0x0401 belongs",
        ),
        (Problem::Repeated(0x0401), "struct 0x0401 came twice"),
        (
            Problem::ReservedFlags(0x8000),
            "reserved packing flags 0x8000",
        ),
        (Problem::Inverted(5, 4), "inverted range [5, 4]"),
        (Problem::TooWide, "sequence set wider than half of all ids"),
        (Problem::TooDeep, "values nested too deep"),
        (Problem::OverBudget, "values over the memory budget"),
        (
            Problem::BadFrame("reserved bits are set"),
            "reserved bits are set",
        ),
    ];
    for (problem, text) in problems {
        assert_eq!(problem.to_string(), text);
    }
}

#[test]
fn what_has_a_name_is_told_by_it_and_what_has_none_by_its_number() {
    assert_eq!(ErrorCode::NOT_FOUND.to_string(), "not-found");
    assert_eq!(ErrorCode(9).to_string(), "9");
    assert_eq!(format!("{:?}", ErrorCode(9)), "9");
    assert_eq!(format!("{:?}", ErrorCode::NOT_FOUND), "404 not-found");
}

#[test]
fn ranges_of_octets_that_are_cut_off_are_refused() {
    let read = |octets: &[u8]| Cursor::new(octets).byte_ranges();
    let mut whole = vec![0, 16];
    whole.extend(1_u64.to_be_bytes());
    whole.extend(2_u64.to_be_bytes());
    assert_eq!(read(&whole), Ok(ByteRanges(vec![(1, 2)])));
    whole[1] = 8;
    let problem = read(&whole).unwrap_err().problem;
    assert_eq!(problem, Problem::BadLength("byte-ranges", 8));
}

#[test]
fn a_struct_of_another_code_is_not_taken_for_the_wanted_one() {
    let inside = Struct32::of(&DtxXid::default());
    assert!(inside.parse::<DtxXid>().is_ok());
    let error = inside.parse::<QueueQueryResult>().unwrap_err();
    let problem = Problem::OtherStruct {
        wanted: QueueQueryResult::CODE,
        found: DtxXid::CODE,
    };
    assert_eq!(error.problem, problem);
}

#[test]
fn a_list_is_read_where_it_lies() {
    let octets = [0, 0, 0, 6, 0, 0, 0, 1, 0x02, 7];
    assert_eq!(Cursor::new(&octets).list(), Ok(vec![Value::U8(7)]));
}
