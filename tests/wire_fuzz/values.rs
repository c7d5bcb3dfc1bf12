//! Values that lie in each other, as messages of JMS and of management carry them; sets of command ids; and
//! what methods of QMF version 1 are given. Whole as a rule, with one part of them damaged.

use ferrymq::qmf::datum::Datum;
use ferrymq::qmf::schema::{Method, Type};
use ferrymq::qmf::{ObjectName, PACKAGES, qmf1};
use ferrymq::wire::limits::{BUDGET_FLOOR, BUDGET_PER_OCTET, RANGES_MAX};
use ferrymq::wire::{CommandId, Control, Cursor, Map, SessionCompleted, Text, Value};

use super::wire_support::seeded::Seeded;

/// Octets of memory that one on the wire may turn into, beside the floor of a budget.
const MEMORY_PER_OCTET: usize = 64;

/// Octets of a text that lie in the text itself: no more are kept elsewhere than are charged for.
const INLINE_TEXT_BYTES: usize = size_of::<Text>();

/// Codes of the types that there are: one of each width at least, and two that nobody has given away.
const CODES: [u8; 26] = [
    0x00, 0x01, 0x02, 0x04, 0x08, 0x12, 0x21, 0x22, 0x23, 0x27, 0x32, 0x33, 0x38, 0x48, 0x50, 0x80,
    0x84, 0x85, 0x90, 0x95, 0xa0, 0xab, 0xc8, 0xd8, 0xf0, 0xe0,
];

fn sized(width: usize, content: &[u8]) -> Vec<u8> {
    let length = content.len() as u64;
    [&length.to_be_bytes()[8 - width..], content].concat()
}

/// What stands behind a type's code, as the code says: of any value, for types that hold no others.
fn content(seeded: &mut Seeded, code: u8) -> Vec<u8> {
    let some = |seeded: &mut Seeded, count: usize| -> Vec<u8> {
        (0..count).map(|_| seeded.octet()).collect()
    };
    match code >> 4 {
        row @ 0..=7 => some(seeded, 1 << row),
        0x8 => sized(1, &text_or_octets(seeded, 60)),
        0x9 => sized(2, &text_or_octets(seeded, 200)),
        0xa => sized(4, &text_or_octets(seeded, 300)),
        0xc => some(seeded, 5),
        0xd => some(seeded, 9),
        _ => Vec::new(),
    }
}

fn text_or_octets(seeded: &mut Seeded, bound: usize) -> Vec<u8> {
    match seeded.once_in(4) {
        true => seeded.bytes(bound),
        false => seeded.text(bound / 4).into_bytes(),
    }
}

/// A value with its code; as deep as said, at most.
pub fn value_octets(seeded: &mut Seeded, depth: usize) -> Vec<u8> {
    let holds_others = depth > 0 && seeded.once_in(2);
    if !holds_others {
        let code = *seeded.pick(&CODES);
        return [vec![code], content(seeded, code)].concat();
    }
    let count = seeded.below(5);
    match seeded.below(3) {
        0 => [vec![0xa8], map_octets(seeded, depth)].concat(),
        1 => {
            let items: Vec<u8> = (0..count)
                .flat_map(|_| value_octets(seeded, depth - 1))
                .collect();
            [vec![0xa9], sized(4, &counted(count, &items))].concat()
        }
        _ => {
            let code = *seeded.pick(&CODES);
            let items: Vec<u8> = (0..count).flat_map(|_| content(seeded, code)).collect();
            let body = [vec![code], counted(count, &items)].concat();
            [vec![0xaa], sized(4, &body)].concat()
        }
    }
}

fn counted(count: usize, items: &[u8]) -> Vec<u8> {
    [&(count as u32).to_be_bytes(), items].concat()
}

/// A map without its code.
fn map_octets(seeded: &mut Seeded, depth: usize) -> Vec<u8> {
    let count = seeded.below(5);
    let entries: Vec<u8> = (0..count)
        .flat_map(|_| {
            let name = sized(1, seeded.text(12).as_bytes());
            [name, value_octets(seeded, depth.saturating_sub(1))].concat()
        })
        .collect();
    sized(4, &counted(count, &entries))
}

/// Says of sizes and counts what is not so, and damages other octets. Where sizes stand is not looked for:
/// four octets of which three are 0 are mostly one.
fn damage(seeded: &mut Seeded, octets: &mut Vec<u8>) {
    if seeded.once_in(2) {
        return seeded.damage(octets);
    }
    let is_size = |at: &usize| octets[*at..*at + 3] == [0, 0, 0];
    let places: Vec<usize> = (0..octets.len().saturating_sub(3))
        .filter(is_size)
        .collect();
    let Some(at) = places.get(seeded.below(places.len().max(1))) else {
        return seeded.damage(octets);
    };
    let was = u32::from_be_bytes([0, 0, 0, octets[at + 3]]);
    let said = match seeded.below(7) {
        0 => was.wrapping_add(1),
        1 => was.wrapping_sub(1),
        2 => u32::MAX,
        3 => 0,
        4 => 1 << 16,
        5 => octets.len() as u32,
        _ => i32::MAX as u32,
    };
    octets[*at..at + 4].copy_from_slice(&said.to_be_bytes());
}

/// Octets of memory that a value takes beside itself.
fn held(value: &Value) -> usize {
    let of_text = |text: &str| match text.len() > INLINE_TEXT_BYTES {
        true => text.len(),
        false => 0,
    };
    match value {
        Value::Str8(text) | Value::Str16(text) => of_text(text),
        Value::Vbin8(octets) | Value::Vbin16(octets) | Value::Vbin32(octets) => octets.len(),
        Value::Other { bytes, .. } => bytes.len(),
        Value::Struct32(packed) => packed.bytes.len(),
        Value::Map(map) => map_held(map),
        Value::List(items) => items_held(items),
        Value::Array(array) => items_held(&array.items),
        _ => 0,
    }
}

fn items_held(items: &[Value]) -> usize {
    size_of_val(items) + items.iter().map(held).sum::<usize>()
}

fn map_held(map: &Map) -> usize {
    let entry = |(name, value): (&str, &Value)| {
        let name = match name.len() > INLINE_TEXT_BYTES {
            true => name.len(),
            false => 0,
        };
        size_of::<(Text, Value)>() + name + held(value)
    };
    map.iter().map(entry).sum()
}

/// What is decoded takes no more memory than is charged for it, and comes out as it came in.
pub fn nested(seeded: &mut Seeded) {
    let mut octets = value_octets(seeded, 6);
    if !seeded.once_in(4) {
        damage(seeded, &mut octets);
    }
    let mut cursor = Cursor::new(&octets);
    let before = cursor.budget();
    let Ok(read) = Value::decode(&mut cursor) else {
        return;
    };
    let (held, charged) = (held(&read), before - cursor.budget());
    assert!(held <= charged, "{held} octets held, {charged} charged for");
    assert!(held <= BUDGET_FLOOR + octets.len() * BUDGET_PER_OCTET.min(MEMORY_PER_OCTET));
    let mut once = Vec::new();
    read.encode(&mut once);
    let again = Value::decode(&mut Cursor::new(&once)).expect("what was written is read");
    assert_eq!(format!("{again:?}"), format!("{read:?}"));
    let mut twice = Vec::new();
    again.encode(&mut twice);
    assert_eq!(twice, once);
}

/// The ranges of a set on the wire: near each other as a rule, in any order, overlapping, inverted.
fn ranges(seeded: &mut Seeded) -> Vec<(u32, u32)> {
    let count = match seeded.once_in(50) {
        true => RANGES_MAX,
        false => seeded.below(9),
    };
    let base = match seeded.below(3) {
        0 => 0,
        1 => u32::MAX - 20,
        _ => seeded.u32(),
    };
    let range = |seeded: &mut Seeded| {
        let first = base.wrapping_add(seeded.below(60) as u32);
        let length = match seeded.below(20) {
            0 => i32::MAX as u32,
            1 => u32::MAX,
            2 => 1 << 31,
            _ => seeded.below(12) as u32,
        };
        (first, first.wrapping_add(length))
    };
    (0..count).map(|_| range(seeded)).collect()
}

/// A set holds the ids that its ranges say and no others, in order and apart from each other.
pub fn sequence_set(seeded: &mut Seeded) {
    let said = ranges(seeded);
    let each = |(first, last): &(u32, u32)| [first.to_be_bytes(), last.to_be_bytes()].concat();
    let mut octets = sized(2, &said.iter().flat_map(each).collect::<Vec<u8>>());
    let is_damaged = seeded.once_in(4);
    if is_damaged {
        seeded.damage(&mut octets);
    }
    let Ok(set) = Cursor::new(&octets).sequence_set() else {
        return;
    };
    assert!(set.ranges().len() <= octets.len() / 8);
    for pair in set.ranges().windows(2) {
        let [(_, last), (first, _)] = pair else {
            continue;
        };
        assert!(last.distance_to(*first) > 1, "{set:?}");
    }
    if !is_damaged {
        let is_in = |id: u32| {
            said.iter()
                .any(|(first, last)| id.wrapping_sub(*first) <= last.wrapping_sub(*first))
        };
        let near = said.first().map_or(0, |range| range.0).wrapping_sub(70);
        for id in (0..140).map(|n| near.wrapping_add(n)) {
            assert_eq!(
                set.contains(CommandId(id)),
                is_in(id),
                "{id} in {said:?}: {set:?}"
            );
        }
    }
    let completed = Control::SessionCompleted(SessionCompleted {
        commands: Some(set.clone()),
        timely_reply: false,
    });
    let mut once = Vec::new();
    completed.encode(&mut once);
    let again = Control::decode(&mut Cursor::new(&once)).expect("what was written is read");
    assert_eq!(format!("{again:?}"), format!("{completed:?}"));
}

/// One of the methods of all classes.
fn some_method(seeded: &mut Seeded) -> &'static Method {
    let classes = PACKAGES.iter().flat_map(|package| package.classes.iter());
    let methods: Vec<_> = classes.flat_map(|class| class.methods.iter()).collect();
    methods[seeded.below(methods.len())]
}

/// What a method is given, octet for octet as version 1 has it.
fn argument_octets(seeded: &mut Seeded, of: Type) -> Vec<u8> {
    let code = match of {
        Type::U8 | Type::I8 | Type::Bool => 0x02,
        Type::U16 | Type::I16 => 0x12,
        Type::U32 | Type::I32 | Type::F32 => 0x22,
        Type::ShortText => 0x85,
        Type::LongText => 0x95,
        Type::Uuid | Type::Reference => 0x48,
        Type::Map => return map_octets(seeded, 3),
        Type::List => {
            let items: Vec<u8> = (0..3).flat_map(|_| value_octets(seeded, 2)).collect();
            return sized(4, &counted(3, &items));
        }
        _ => 0x32,
    };
    content(seeded, code)
}

/// What a method of version 1 is given is read to the end or not at all, and is of the types that it takes.
pub fn qmf1_arguments(seeded: &mut Seeded) {
    let method = some_method(seeded);
    let mut octets = Vec::new();
    for argument in method.given() {
        octets.extend(argument_octets(seeded, argument.r#type));
    }
    if !seeded.once_in(4) {
        damage(seeded, &mut octets);
    }
    let mut numbers = qmf1::Numbers::new(1);
    numbers.id(&ObjectName::broker());
    if let Ok(given) = qmf1::arguments(method, &octets, &numbers) {
        let wanted: Vec<_> = method.given().map(|argument| argument.r#type).collect();
        let types: Vec<_> = given.iter().map(|datum| datum.r#type()).collect();
        assert_eq!(types, wanted, "{}", method.name);
        let taken: Option<usize> = given.iter().map(plain_octets).sum();
        assert!(
            taken.is_none_or(|taken| taken == octets.len()),
            "read to the end"
        );
        let memory: usize = given.iter().map(datum_held).sum();
        let most = BUDGET_FLOOR + octets.len() * MEMORY_PER_OCTET;
        assert!(memory <= most, "{memory} octets of {}", octets.len());
    }
}

/// Octets of what an argument is on the wire. None: there is more than one way to write it.
fn plain_octets(datum: &Datum) -> Option<usize> {
    Some(match datum {
        Datum::U8(_) | Datum::I8(_) | Datum::Bool(_) => 1,
        Datum::U16(_) | Datum::I16(_) => 2,
        Datum::U32(_) | Datum::I32(_) | Datum::F32(_) => 4,
        Datum::ShortText(text) => 1 + text.len(),
        Datum::LongText(text) => 2 + text.len(),
        Datum::Uuid(_) | Datum::Reference(_) => 16,
        Datum::Map(_) | Datum::List(_) => return None,
        _ => 8,
    })
}

fn datum_held(datum: &Datum) -> usize {
    match datum {
        Datum::ShortText(text) | Datum::LongText(text) => text.len(),
        Datum::Map(map) => map_held(map),
        Datum::List(items) => items_held(items),
        _ => 0,
    }
}
