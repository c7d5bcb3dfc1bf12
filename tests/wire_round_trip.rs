//! Every control, command and struct of the description is read and written as the description
//! says. The bytes come from an encoder of its own that only knows the description.

mod wire_support;

use ferrymq::wire::{
    Command, Control, Cursor, DecodeError, DeliveryProperties, DtxGetTimeoutResult,
    DtxRecoverResult, DtxXaResult, DtxXid, ExchangeBoundResult, ExchangeQueryResult,
    FileProperties, FragmentProperties, MessageAcquired, MessageProperties, MessageResumeResult,
    Packed, QueueQueryResult, SessionCommandFragment, SessionHeader, StreamProperties, Struct,
    Struct32,
};
use wire_support::description;
use wire_support::generator::model::{Class, Description, Item, Kind};
use wire_support::random_bytes::RandomBytes;
use wire_support::seeded::Seeded;

/// Few where each access to memory is looked at, which takes long.
const SEEDS: u64 = if cfg!(miri) { 2 } else { 60 };

fn items(description: &Description, kind: Kind) -> impl Iterator<Item = (&Class, &Item)> {
    description
        .classes
        .iter()
        .flat_map(|class| class.items.iter().map(move |item| (class, item)))
        .filter(move |(_, item)| item.kind == kind)
}

fn random(description: &Description, seed: u64, with_gaps: bool) -> RandomBytes<'_> {
    RandomBytes {
        description,
        seeded: Seeded::new(seed),
        with_gaps,
    }
}

fn control(bytes: &[u8]) -> Result<Control, DecodeError> {
    Control::decode(&mut Cursor::new(bytes))
}

fn control_bytes(control: &Control) -> Vec<u8> {
    let mut out = Vec::new();
    control.encode(&mut out);
    out
}

fn command(bytes: &[u8]) -> Result<(SessionHeader, Command), DecodeError> {
    Command::decode(&mut Cursor::new(bytes))
}

fn command_bytes((header, command): &(SessionHeader, Command)) -> Vec<u8> {
    let mut out = Vec::new();
    command.encode(header.sync, &mut out);
    out
}

#[test]
fn every_control_goes_out_as_it_came() {
    let description = description();
    for (class, item) in items(&description, Kind::Control) {
        for seed in 0..SEEDS {
            let bytes = random(&description, seed, false).item(class, item, None);
            let read = control(&bytes).unwrap();
            assert_eq!(read.name(), format!("{}.{}", class.name, item.name));
            assert_eq!(read.code(), (class.code, item.code));
            assert_eq!(control_bytes(&read), bytes, "{read:?}");
        }
    }
}

#[test]
fn every_command_goes_out_as_it_came() {
    let description = description();
    for (class, item) in items(&description, Kind::Command) {
        for seed in 0..SEEDS {
            let sync = seed % 2 == 0;
            let bytes = random(&description, seed, false).item(class, item, Some(sync));
            let read = command(&bytes).unwrap();
            assert_eq!(read.0.sync, sync);
            assert_eq!(read.1.name(), format!("{}.{}", class.name, item.name));
            assert_eq!(read.1.code(), (class.code, item.code));
            assert_eq!(read.1.has_content(), item.header.is_some());
            assert_eq!(command_bytes(&read), bytes, "{read:?}");
        }
    }
}

#[test]
fn missing_required_fields_take_their_default_and_then_stay() {
    let description = description();
    for (class, item) in items(&description, Kind::Command) {
        for seed in 0..SEEDS {
            let bytes = random(&description, seed, true).item(class, item, Some(false));
            let once = command_bytes(&command(&bytes).unwrap());
            assert_eq!(command_bytes(&command(&once).unwrap()), once);
        }
    }
    for (class, item) in items(&description, Kind::Control) {
        for seed in 0..SEEDS {
            let bytes = random(&description, seed, true).item(class, item, None);
            let once = control_bytes(&control(&bytes).unwrap());
            assert_eq!(control_bytes(&control(&once).unwrap()), once);
        }
    }
}

#[test]
fn anything_cut_short_is_refused_with_a_place() {
    let description = description();
    for (class, item) in items(&description, Kind::Command) {
        for seed in 0..SEEDS.min(8) {
            let bytes = random(&description, seed, false).item(class, item, Some(true));
            for length in 0..bytes.len() {
                let error = command(&bytes[..length]).unwrap_err();
                assert!(error.offset <= length, "{error} in {length} octets");
                assert!(!error.field.is_empty());
            }
        }
    }
}

#[test]
fn nothing_may_follow_the_last_field() {
    let description = description();
    for (class, item) in items(&description, Kind::Control) {
        let mut bytes = random(&description, 1, false).item(class, item, None);
        bytes.push(0);
        let error = control(&bytes).unwrap_err();
        assert_eq!(
            error.to_string().split(" at ").next(),
            Some("1 octets left over")
        );
    }
}

#[test]
fn fields_are_named_in_their_order() {
    let description = description();
    let class = description
        .classes
        .iter()
        .find(|class| class.name == "exchange")
        .unwrap();
    let item = class.items.iter().find(|item| item.name == "bind").unwrap();
    let names: Vec<_> = item
        .fields
        .iter()
        .map(|field| format!("exchange.bind.{}", field.name))
        .collect();
    assert_eq!(ferrymq::wire::ExchangeBind::FIELDS, names);
}

/// Checks one coded struct, alone and inside a `struct32`; returns its code.
fn coded_goes_round<T: Struct + PartialEq + std::fmt::Debug>(description: &Description) -> u16 {
    let (class_code, code) = ((T::CODE >> 8) as u8, T::CODE as u8);
    let class = description
        .classes
        .iter()
        .find(|class| class.code == class_code)
        .unwrap();
    let item = class
        .structs
        .iter()
        .find(|item| item.code == Some(code))
        .unwrap();
    assert_eq!(T::NAME, format!("{}.{}", class.name, item.name));
    for seed in 0..SEEDS {
        let bytes = random(description, seed, false).structure(class, item);
        let mut cursor = Cursor::new(&bytes);
        let read = T::decode(&mut cursor).unwrap();
        assert!(cursor.is_at_end());
        let mut out = Vec::new();
        read.encode(&mut out);
        assert_eq!(out, bytes, "{read:?}");
        let inside = Struct32::of(&read);
        assert_eq!(inside.code, T::CODE);
        assert_eq!(inside.bytes, bytes[6..]);
        let mut again = Vec::new();
        inside.parse::<T>().unwrap().encode(&mut again);
        assert_eq!(again, bytes);
    }
    T::CODE
}

#[test]
fn every_struct_goes_out_as_it_came() {
    let description = description();
    let mut tested = vec![
        coded_goes_round::<DeliveryProperties>(&description),
        coded_goes_round::<FragmentProperties>(&description),
        coded_goes_round::<MessageProperties>(&description),
        coded_goes_round::<MessageAcquired>(&description),
        coded_goes_round::<MessageResumeResult>(&description),
        coded_goes_round::<DtxXaResult>(&description),
        coded_goes_round::<DtxXid>(&description),
        coded_goes_round::<DtxGetTimeoutResult>(&description),
        coded_goes_round::<DtxRecoverResult>(&description),
        coded_goes_round::<ExchangeQueryResult>(&description),
        coded_goes_round::<ExchangeBoundResult>(&description),
        coded_goes_round::<QueueQueryResult>(&description),
        coded_goes_round::<FileProperties>(&description),
        coded_goes_round::<StreamProperties>(&description),
    ];
    let of_class = |class: &Class| -> Vec<u16> {
        let codes = class.structs.iter().filter_map(|item| item.code);
        codes
            .map(|code| u16::from(class.code) << 8 | u16::from(code))
            .collect()
    };
    let mut described: Vec<u16> = description.classes.iter().flat_map(of_class).collect();
    tested.sort_unstable();
    described.sort_unstable();
    assert_eq!(tested, described);
}

#[test]
fn a_struct_without_packing_flags_has_all_its_fields() {
    let mut bytes = 7u32.to_be_bytes().to_vec();
    bytes.extend_from_slice(&[0, 16]);
    bytes.extend_from_slice(&1u64.to_be_bytes());
    bytes.extend_from_slice(&2u64.to_be_bytes());
    let mut cursor = Cursor::new(&bytes);
    let read = SessionCommandFragment::decode_fields(&mut cursor).unwrap();
    assert!(cursor.is_at_end());
    assert_eq!(read.command_id.0, 7);
    assert_eq!(read.byte_ranges.0, [(1, 2)]);
    let mut out = Vec::new();
    read.encode_fields(&mut out);
    assert_eq!(out, bytes);
}

#[test]
fn a_new_fragment_is_first_and_last() {
    let fragment = FragmentProperties::default();
    assert!(fragment.first && fragment.last && fragment.fragment_size.is_none());
}

#[test]
fn no_command_is_large_to_move() {
    assert!(size_of::<Command>() <= 160, "{}", size_of::<Command>());
    assert!(size_of::<Control>() <= 160, "{}", size_of::<Control>());
}
