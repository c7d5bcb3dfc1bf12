//! Values, maps, lists and arrays: every type code, byte for byte.

use std::hash::{DefaultHasher, Hash, Hasher};

use ferrymq::wire::{
    AcceptMode, Array, Command, CommandId, Control, Cursor, DecodeError, DtxXid, ExecutionResult,
    Map, MessageAccept, MessageTransfer, Problem, SequenceSet, SessionAttach, SessionCompleted,
    Struct32, Text, Value, header, type_code,
};

fn decode(bytes: &[u8]) -> Result<Value, DecodeError> {
    let mut cursor = Cursor::new(bytes);
    let value = Value::decode(&mut cursor)?;
    cursor.finish()?;
    Ok(value)
}

fn encode(value: &Value) -> Vec<u8> {
    let mut out = Vec::new();
    value.encode(&mut out);
    out
}

/// Asserts that `value` is `bytes` on the wire, both ways.
fn both_ways(bytes: &[u8], value: Value) {
    assert_eq!(encode(&value), bytes, "{value:?}");
    assert_eq!(decode(bytes).unwrap(), value);
}

fn other(code: u8, bytes: &[u8]) -> Value {
    Value::Other {
        code,
        bytes: bytes.to_vec(),
    }
}

#[test]
fn numbers_are_big_endian() {
    both_ways(&[0x01, 0xff], Value::I8(-1));
    both_ways(&[0x02, 0xff], Value::U8(255));
    both_ways(&[0x11, 0xff, 0xfe], Value::I16(-2));
    both_ways(&[0x12, 0x01, 0x02], Value::U16(0x102));
    both_ways(&[0x21, 0xff, 0xff, 0xff, 0xfd], Value::I32(-3));
    both_ways(&[0x22, 1, 2, 3, 4], Value::U32(0x0102_0304));
    both_ways(
        &[0x31, 255, 255, 255, 255, 255, 255, 255, 252],
        Value::I64(-4),
    );
    both_ways(&[0x32, 0, 0, 0, 0, 0, 0, 1, 0], Value::U64(256));
    both_ways(&[0x23, 0x3f, 0x80, 0, 0], Value::F32(1.0));
    both_ways(&[0x33, 0xc0, 0, 0, 0, 0, 0, 0, 0], Value::F64(-2.0));
    both_ways(&[0x38, 0, 0, 0, 0, 0, 0, 0, 9], Value::Datetime(9));
}

#[test]
fn scalars_have_their_variants() {
    both_ways(&[0xf0], Value::Void);
    both_ways(&[0x08, 1], Value::Bool(true));
    both_ways(&[0x08, 0], Value::Bool(false));
    both_ways(&[0x04, b'c'], Value::Char8(b'c'));
    both_ways(&[0x27, 0, 0, 0x20, 0xac], Value::Char(0x20ac));
    let mut uuid = vec![0x48];
    uuid.extend(1..=16);
    both_ways(
        &uuid,
        Value::Uuid([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16]),
    );
}

#[test]
fn text_and_octets_carry_their_count() {
    both_ways(b"\x85\x03abc", Value::Str8("abc".into()));
    both_ways(b"\x95\x00\x03abc", Value::Str16("abc".into()));
    both_ways(b"\x80\x02\xff\x00", Value::Vbin8(vec![255, 0]));
    both_ways(b"\x90\x00\x02\xff\x00", Value::Vbin16(vec![255, 0]));
    both_ways(b"\xa0\x00\x00\x00\x02\xff\x00", Value::Vbin32(vec![255, 0]));
    both_ways(
        b"\xab\x00\x00\x00\x03\x04\x01\x07",
        Value::Struct32(Struct32 {
            code: 0x0401,
            bytes: vec![7],
        }),
    );
}

#[test]
fn types_without_a_variant_stay_byte_exact() {
    for (code, width) in [
        (0x00, 1),
        (0x10, 2),
        (0x20, 4),
        (0x30, 8),
        (0x40, 16),
        (0x50, 32),
        (0x60, 64),
        (0x70, 128),
        (0xc0, 5),
        (0xc8, 5),
        (0xd0, 9),
        (0xd8, 9),
        (0xf1, 0),
    ] {
        let content: Vec<u8> = (0..width).collect();
        let mut bytes = vec![code];
        bytes.extend(&content);
        both_ways(&bytes, other(code, &content));
    }
    both_ways(b"\x84\x01\xe4", other(0x84, b"\xe4"));
    both_ways(b"\x86\x02\x00a", other(0x86, b"\x00a"));
    both_ways(b"\x94\x00\x01\xe4", other(0x94, b"\xe4"));
    both_ways(b"\x96\x00\x02\x00a", other(0x96, b"\x00a"));
}

#[test]
fn every_described_type_code_can_be_read_and_has_a_name() {
    for code in 0..=u8::MAX {
        let Some(name) = type_code::name(code) else {
            continue;
        };
        let mut bytes = vec![code];
        bytes.extend([0; 128]);
        let mut cursor = Cursor::new(&bytes);
        // A struct32 of no octets at all has no code.
        let readable = Value::decode(&mut cursor).is_ok();
        assert_eq!(readable, name != "struct32", "{name}");
    }
}

#[test]
fn unknown_codes_pass_by_the_width_of_their_row_or_are_refused() {
    both_ways(&[0x2f, 1, 2, 3, 4], other(0x2f, &[1, 2, 3, 4]));
    both_ways(&[0x8f, 1, 9], other(0x8f, &[9]));
    for code in [0xb0, 0xbf, 0xe0, 0xef] {
        let error = decode(&[code, 0, 0, 0, 0]).unwrap_err();
        assert_eq!(error.problem, Problem::UnknownType(code));
    }
}

#[test]
fn an_odd_boolean_is_true_and_stays_as_it_is() {
    both_ways(&[0x08, 7], other(0x08, &[7]));
    assert_eq!(decode(&[0x08, 7]).unwrap().as_bool(), Some(true));
}

#[test]
fn text_in_a_map_that_is_not_utf8_stays_byte_exact() {
    both_ways(b"\x85\x02a\xff", other(0x85, b"a\xff"));
    both_ways(b"\x95\x00\x02a\xff", other(0x95, b"a\xff"));
    let array = b"\xaa\x00\x00\x00\x0c\x95\x00\x00\x00\x02\x00\x01a\x00\x02\xff\xfe";
    let mut bytes = array.to_vec();
    bytes[4] = (bytes.len() - 5) as u8;
    let items = vec![Value::Str16("a".into()), other(0x95, b"\xff\xfe")];
    both_ways(&bytes, Value::Array(Array { code: 0x95, items }));
}

#[test]
fn a_key_that_is_not_utf8_is_refused() {
    let error = decode(b"\xa8\x00\x00\x00\x07\x00\x00\x00\x01\x01\xff\xf0").unwrap_err();
    assert_eq!(error.problem, Problem::NotUtf8("str8"));
}

#[test]
fn a_text_field_that_is_not_utf8_is_refused_by_name() {
    let bytes = b"\x08\x01\x01\x00\x01\x00\x02a\xff";
    let error = Command::decode(&mut Cursor::new(bytes)).unwrap_err();
    assert_eq!(error.problem, Problem::NotUtf8("str8"));
    assert_eq!(
        error.to_string(),
        "str8 is not UTF-8 at queue.declare.queue, offset 9"
    );
}

#[test]
fn byte_strings_of_python_2_read_as_text() {
    let value = decode(b"\x90\x00\x03all").unwrap();
    assert_eq!(value.as_str(), Some("all"));
    assert_eq!(value.text().as_deref(), Some("all"));
    assert_eq!(decode(b"\x90\x00\x01\xff").unwrap().as_str(), None);
}

#[test]
fn integers_convert_where_they_fit() {
    assert_eq!(Value::U8(7).as_i64(), Some(7));
    assert_eq!(Value::I8(-7).as_i64(), Some(-7));
    assert_eq!(Value::I8(-7).as_u64(), None);
    assert_eq!(Value::U64(u64::MAX).as_i64(), None);
    assert_eq!(Value::U64(u64::MAX).as_u64(), Some(u64::MAX));
    assert_eq!(Value::I32(-7).as_f64(), Some(-7.0));
    assert_eq!(Value::F32(0.5).as_f64(), Some(0.5));
    assert_eq!(Value::F64(2.0).as_i64(), None);
    assert_eq!(Value::Str8("7".into()).as_i64(), None);
    assert_eq!(Value::U8(1).as_bool(), None);
    assert_eq!(Value::U16(7).as_u64(), Some(7));
    assert_eq!(Value::F64(0.25).as_f64(), Some(0.25));
    assert_eq!(Value::U64(u64::MAX).as_f64(), Some(u64::MAX as f64));
}

#[test]
fn octets_and_items_are_those_of_types_that_have_some() {
    for text in [Value::Str8("ab".into()), Value::Str16("ab".into())] {
        assert_eq!(text.as_bytes(), Some(&b"ab"[..]));
    }
    for octets in [
        Value::Vbin8(vec![1, 2]),
        Value::Vbin16(vec![1, 2]),
        Value::Vbin32(vec![1, 2]),
        other(0x85, &[1, 2]),
    ] {
        assert_eq!(octets.as_bytes(), Some(&[1, 2][..]), "{octets:?}");
    }
    // Of a width of its own, and not counted.
    assert_eq!(other(0x40, &[1, 2]).as_bytes(), None);
    assert_eq!(Value::U16(7).as_bytes(), None);
    let items = vec![Value::U8(1), Value::Void];
    assert_eq!(Value::List(items.clone()).as_items(), Some(&items[..]));
    assert_eq!(Value::Map(Map::new()).as_items(), None);
}

#[test]
fn scalars_have_a_text_form() {
    let text = |value: Value| value.text();
    assert_eq!(text(Value::I16(-5)).as_deref(), Some("-5"));
    assert_eq!(
        text(Value::U64(u64::MAX)).as_deref(),
        Some("18446744073709551615")
    );
    assert_eq!(text(Value::Bool(true)).as_deref(), Some("true"));
    assert_eq!(text(Value::F64(1.5)).as_deref(), Some("1.5"));
    assert_eq!(text(Value::Char(0x20ac)).as_deref(), Some("€"));
    assert_eq!(
        text(Value::Uuid([0xab; 16])).as_deref(),
        Some("abababab-abab-abab-abab-abababababab")
    );
    assert_eq!(text(Value::F32(0.5)).as_deref(), Some("0.5"));
    assert_eq!(text(Value::Char8(0xe9)).as_deref(), Some("é"));
    assert_eq!(text(Value::Void), None);
    assert_eq!(text(Value::List(Vec::new())), None);
}

#[test]
fn equal_values_hash_alike() {
    let hash = |value: &Value| {
        let mut hasher = DefaultHasher::new();
        value.hash(&mut hasher);
        hasher.finish()
    };
    assert_eq!(Value::F64(0.0), Value::F64(-0.0));
    assert_eq!(hash(&Value::F64(0.0)), hash(&Value::F64(-0.0)));
    assert_ne!(hash(&Value::F64(1.0)), hash(&Value::F64(2.0)));
    assert_ne!(hash(&Value::U8(1)), hash(&Value::Char8(1)));
    // One of each type, and another of it.
    let inside = |n: u8| {
        let map: Map = [("a", u32::from(n))].into_iter().collect();
        let of = DtxXid {
            format: n.into(),
            ..DtxXid::default()
        };
        vec![
            Value::Bool(n == 0),
            Value::U16(n.into()),
            Value::U32(n.into()),
            Value::U64(n.into()),
            Value::I8(n as i8),
            Value::I16(n.into()),
            Value::I32(n.into()),
            Value::I64(n.into()),
            Value::Datetime(n.into()),
            Value::F32(n.into()),
            Value::Uuid([n; 16]),
            Value::Str8(n.to_string().into()),
            Value::Vbin8(vec![n]),
            Value::Map(map),
            Value::List(vec![Value::U8(n)]),
            Value::Array(Array::of_struct32([Struct32::of(&of)])),
            Value::Struct32(Struct32::of(&of)),
            other(0x40, &[n, n]),
        ]
    };
    for (one, another) in inside(0).iter().zip(&inside(1)) {
        assert_eq!(hash(one), hash(&one.clone()));
        assert_ne!(hash(one), hash(another), "{one:?}");
    }
    assert_eq!(hash(&Value::Void), hash(&Value::Void));
}

#[test]
fn too_long_values_take_the_next_wider_type() {
    let long = "x".repeat(300);
    assert_eq!(
        decode(&encode(&Value::Str8(long.as_str().into()))),
        Ok(Value::Str16(long.into()))
    );
    let longer = "y".repeat(70_000);
    let sent = encode(&Value::Str16(longer.as_str().into()));
    assert_eq!(
        decode(&sent),
        Ok(Value::Vbin32(longer.clone().into_bytes()))
    );
    let sent = encode(&Value::Vbin8(longer.clone().into_bytes()));
    assert_eq!(decode(&sent), Ok(Value::Vbin32(longer.into_bytes())));
    let sent = encode(&Value::Vbin8(vec![1; 256]));
    assert_eq!(decode(&sent), Ok(Value::Vbin16(vec![1; 256])));
}

#[test]
fn too_long_text_in_a_field_is_cut_between_characters() {
    let command = Command::from(MessageTransfer {
        destination: "ä".repeat(200).into(),
        ..Default::default()
    });
    let mut out = Vec::new();
    command.encode(false, &mut out);
    let (_, read) = Command::decode(&mut Cursor::new(&out)).unwrap();
    let Command::MessageTransfer(read) = read else {
        panic!("{read:?}")
    };
    assert_eq!(read.destination, "ä".repeat(127));
}

#[test]
fn map_keeps_order_and_repeated_keys_and_the_last_counts() {
    let bytes = b"\xa8\x00\x00\x00\x10\x00\x00\x00\x03\x01b\x02\x01\x01a\xf0\x01b\x02\x02";
    let mut bytes = bytes.to_vec();
    bytes[4] = (bytes.len() - 5) as u8;
    let value = decode(&bytes).unwrap();
    assert_eq!(encode(&value), bytes);
    let map = value.as_map().unwrap();
    assert_eq!(map.get("b"), Some(&Value::U8(2)));
    assert_eq!(
        map.iter().map(|(key, _)| key).collect::<Vec<_>>(),
        ["b", "a", "b"]
    );
    let mut map = map.clone();
    assert_eq!(map.remove("b"), Some(Value::U8(2)));
    assert!(!map.contains("b") && map.contains("a") && map.len() == 1);
}

#[test]
fn map_insert_replaces_in_place() {
    let mut map: Map = [("a", Value::U8(1)), ("b", Value::U8(2))]
        .into_iter()
        .collect();
    assert_eq!(map.insert("a", 3u8), Some(Value::U8(1)));
    assert_eq!(map.insert("c", true), None);
    let entries: Vec<_> = map.into_iter().collect();
    let entry = |key: &str, value: Value| (Text::from(key), value);
    assert_eq!(
        entries,
        [
            entry("a", 3u8.into()),
            entry("b", 2u8.into()),
            entry("c", true.into())
        ]
    );
}

#[test]
fn containers_of_size_0_are_empty() {
    assert_eq!(decode(b"\xa8\0\0\0\0"), Ok(Value::Map(Map::new())));
    assert_eq!(decode(b"\xa9\0\0\0\0"), Ok(Value::List(Vec::new())));
    assert_eq!(decode(b"\xaa\0\0\0\0"), Ok(Value::Array(Array::default())));
}

#[test]
fn a_header_with_containers_of_size_0_passes_and_its_fields_are_found() {
    let mut headers = b"\0\0\0\x03".to_vec();
    for (name, code) in [(b'm', 0xa8), (b'l', 0xa9), (b'a', 0xaa)] {
        headers.extend([1, name, code, 0, 0, 0, 0]);
    }
    // Message properties with a user-id and application headers alone.
    let mut content = vec![4, 3, 0x40, 0x01, 0, 3];
    content.extend(b"ann");
    content.extend((headers.len() as u32).to_be_bytes());
    content.extend(&headers);
    let mut segment = (content.len() as u32).to_be_bytes().to_vec();
    segment.extend(&content);
    let layout = header::layout(&segment).expect("it is well formed");
    let lies = layout.message_properties.expect("they are there");
    assert_eq!(header::user_id(&segment[lies.clone()]), Some(&b"ann"[..]));
    let found = header::application_headers(&segment[lies]);
    let found = found.expect("they can be read").expect("there are some");
    assert!(!found.is_empty());
    let names: Vec<&str> = (&found)
        .into_iter()
        .map(|(name, _)| name.as_str())
        .collect();
    assert_eq!(names, ["m", "l", "a"]);
    // Without the field, and where nothing can be read.
    let without = b"\0\0\0\x04\x04\x03\0\0";
    assert_eq!(header::user_id(without), None);
    assert_eq!(header::user_id(b"\0\0\0\x04\x04\x03"), None);
}

#[test]
fn containers_must_end_where_their_size_says() {
    let left_over = |bytes: &[u8]| decode(bytes).unwrap_err().problem;
    assert_eq!(
        left_over(b"\xa8\0\0\0\x05\0\0\0\0\x07"),
        Problem::TrailingBytes(1)
    );
    assert_eq!(
        left_over(b"\xa9\0\0\0\x05\0\0\0\0\x07"),
        Problem::TrailingBytes(1)
    );
    assert_eq!(
        left_over(b"\xaa\0\0\0\x06\xf0\0\0\0\0\x07"),
        Problem::TrailingBytes(1)
    );
    // The map's value would reach beyond the map, though not beyond the input.
    let bytes = b"\xa8\0\0\0\x08\0\0\0\x01\x01k\x85\x02ab";
    assert_eq!(left_over(bytes), Problem::RunsPastEnd("str8"));
}

#[test]
fn array_of_str16_is_the_form_that_failover_clients_read() {
    let array = Array::of_str16(["amqp:tcp:a:1", "b"]);
    let bytes = encode(&Value::Array(array.clone()));
    assert_eq!(
        bytes,
        b"\xaa\0\0\0\x16\x95\0\0\0\x02\0\x0camqp:tcp:a:1\0\x01b"
    );
    assert_eq!(array.strs().collect::<Vec<_>>(), ["amqp:tcp:a:1", "b"]);
}

#[test]
fn items_of_another_type_do_not_go_out_in_an_array() {
    let array = Array {
        code: type_code::UINT8,
        items: vec![1u8.into(), true.into(), 2u8.into()],
    };
    let sent = decode(&encode(&Value::Array(array))).unwrap();
    assert_eq!(
        sent.as_items(),
        Some([Value::U8(1), Value::U8(2)].as_slice())
    );
}

#[test]
fn controls_and_commands_have_the_octets_of_the_protocol() {
    let mut out = Vec::new();
    Control::from(SessionAttach {
        name: b"s".to_vec(),
        force: true,
    })
    .encode(&mut out);
    assert_eq!(out, b"\x02\x01\x03\x00\x00\x01s");
    out.clear();
    let commands = SequenceSet::from_range(CommandId(0), CommandId(4));
    let completed = SessionCompleted {
        commands: Some(commands),
        timely_reply: false,
    };
    Control::from(completed).encode(&mut out);
    assert_eq!(out, b"\x02\x0a\x01\x00\x00\x08\0\0\0\0\0\0\0\x04");
    out.clear();
    let transfer = MessageTransfer {
        destination: "q".into(),
        accept_mode: Some(AcceptMode::EXPLICIT),
        ..Default::default()
    };
    Command::from(transfer).encode(true, &mut out);
    assert_eq!(out, b"\x04\x01\x01\x01\x07\x00\x01q\x00\x00");
    out.clear();
    let accept = MessageAccept {
        transfers: SequenceSet::of(CommandId(7)),
    };
    Command::from(accept).encode(false, &mut out);
    assert_eq!(out, b"\x04\x02\x01\x00\x01\x00\x00\x08\0\0\0\x07\0\0\0\x07");
    out.clear();
    // The tenth field has the second bit of the second octet.
    Command::from(ExecutionResult {
        command_id: CommandId(1),
        value: None,
    })
    .encode(false, &mut out);
    assert_eq!(out, b"\x03\x02\x01\x00\x01\x00\0\0\0\x01");
    let properties = ferrymq::wire::DeliveryProperties {
        routing_key: Some("k".into()),
        ..Default::default()
    };
    let packed = Struct32::of(&properties);
    assert_eq!(
        (packed.code, packed.bytes.as_slice()),
        (0x0401, &b"\x00\x02\x01k"[..])
    );
}
