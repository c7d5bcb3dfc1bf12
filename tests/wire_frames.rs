//! Frame headers, the protocol header, and the header segment of a message.

mod wire_support;

use ferrymq::wire::frame::{FrameHeader, HEADER_BYTES};
use ferrymq::wire::{
    Cursor, DeliveryMode, DeliveryProperties, FragmentProperties, Map, MessageProperties, Problem,
    ReplyTo, SegmentType, Struct, header, protocol_header,
};
use wire_support::description;
use wire_support::generator::model::Struct as Described;
use wire_support::random_bytes::RandomBytes;
use wire_support::seeded::Seeded;

#[test]
fn protocol_header_is_that_of_0_10() {
    assert_eq!(&protocol_header::BYTES, b"AMQP\x01\x01\x00\x0a");
}

#[test]
fn frame_header_goes_round_in_every_form() {
    for flags in 0..16u8 {
        for segment in 0..4 {
            let bytes = [flags, segment, 0x12, 0x34, 0, 1, 0xab, 0xcd, 0, 0, 0, 0];
            let header = FrameHeader::decode(&bytes).unwrap();
            assert_eq!(header.encode(), bytes);
            assert_eq!(header.segment, SegmentType(segment));
            assert_eq!(
                (header.size, header.channel, header.track),
                (0x1234, 0xabcd, 1)
            );
            assert_eq!(header.payload_bytes(), 0x1234 - HEADER_BYTES);
        }
    }
}

#[test]
fn frame_flags_are_first_and_last_of_segment_and_frame() {
    let flags = |flags: u8| {
        let bytes = [flags, 0, 0, 12, 0, 0, 0, 0, 0, 0, 0, 0];
        let header = FrameHeader::decode(&bytes).unwrap();
        [
            header.first_segment,
            header.last_segment,
            header.first_frame,
            header.last_frame,
        ]
    };
    assert_eq!(flags(8), [true, false, false, false]);
    assert_eq!(flags(4), [false, true, false, false]);
    assert_eq!(flags(2), [false, false, true, false]);
    assert_eq!(flags(1), [false, false, false, true]);
}

#[test]
fn malformed_frame_headers_are_refused() {
    let good = [0x0f, 0, 0, 12, 0, 0, 0, 0, 0, 0, 0, 0];
    assert!(FrameHeader::decode(&good).is_ok());
    let refused = |at: usize, octet: u8| {
        let mut bytes = good;
        bytes[at] = octet;
        FrameHeader::decode(&bytes).map_err(|error| (error.field, error.offset))
    };
    for size in 0..12 {
        assert_eq!(refused(3, size), Err(("frame.size", 2)));
    }
    assert_eq!(refused(0, 0x4f), Err(("frame.flags", 0)));
    assert_eq!(refused(0, 0x1f), Err(("frame.flags", 0)));
    assert_eq!(refused(1, 4), Err(("frame.segment-type", 1)));
    assert_eq!(refused(4, 1), Err(("frame.reserved", 4)));
    assert_eq!(refused(5, 0x10), Err(("frame.track", 5)));
    assert!(
        refused(11, 0xff).is_ok(),
        "as in qpidd, the last octets are not looked at"
    );
}

fn bytes_of<T: Struct>(item: &T) -> Vec<u8> {
    let mut out = Vec::new();
    item.encode(&mut out);
    out
}

fn delivery() -> DeliveryProperties {
    DeliveryProperties {
        delivery_mode: Some(DeliveryMode::PERSISTENT),
        routing_key: Some("key".into()),
        ..Default::default()
    }
}

fn properties() -> MessageProperties {
    MessageProperties {
        content_length: Some(5),
        reply_to: Some(ReplyTo {
            exchange: None,
            routing_key: Some("r".repeat(99).into()),
        }),
        content_type: Some("text/plain".into()),
        application_headers: Some(Map::from_iter([("colour", "red")])),
        ..Default::default()
    }
}

#[test]
fn header_splits_wherever_the_delivery_properties_stand() {
    let (delivery, fragment, properties) =
        (delivery(), FragmentProperties::default(), properties());
    let pieces = [
        bytes_of(&delivery),
        bytes_of(&fragment),
        bytes_of(&properties),
    ];
    for order in [
        [0, 1, 2],
        [0, 2, 1],
        [1, 0, 2],
        [1, 2, 0],
        [2, 0, 1],
        [2, 1, 0],
    ] {
        let bytes: Vec<u8> = order
            .iter()
            .flat_map(|&index| pieces[index].clone())
            .collect();
        let parts = header::split(&bytes).unwrap();
        assert_eq!(parts.delivery.as_ref(), Some(&delivery));
        let rest: Vec<u8> = order
            .iter()
            .filter(|&&index| index != 0)
            .flat_map(|&index| pieces[index].clone())
            .collect();
        assert_eq!(parts.rest, rest);
        let range = parts.message_properties.clone().unwrap();
        assert_eq!(parts.rest[range.clone()], pieces[2]);
        let read = header::message_properties(&parts.rest[range.clone()]).unwrap();
        assert_eq!(read, properties);
        let headers = header::application_headers(&parts.rest[range]).unwrap();
        assert_eq!(headers, properties.application_headers);
        let mut out = Vec::new();
        header::encode(&parts.delivery, &parts.rest, &mut out);
        assert_eq!(out, [pieces[0].clone(), rest].concat());
    }
}

#[test]
fn an_empty_header_has_no_parts() {
    let parts = header::split(&[]).unwrap();
    assert_eq!(parts, header::HeaderParts::default());
    let mut out = Vec::new();
    header::encode(&None, &[], &mut out);
    assert!(out.is_empty());
}

#[test]
fn structs_of_unknown_code_pass_through() {
    let unknown = b"\0\0\0\x05\x77\x01abc";
    let bytes = [unknown.as_slice(), &bytes_of(&delivery()), unknown].concat();
    let parts = header::split(&bytes).unwrap();
    assert_eq!(parts.rest, [unknown.as_slice(), unknown].concat());
    assert_eq!(parts.message_properties, None);
}

#[test]
fn known_structs_come_once() {
    for bytes in [
        bytes_of(&delivery()),
        bytes_of(&properties()),
        bytes_of(&FragmentProperties::default()),
    ] {
        let code = u16::from_be_bytes([bytes[4], bytes[5]]);
        let error = header::split(&[bytes.clone(), bytes.clone()].concat()).unwrap_err();
        assert_eq!(
            (error.problem, error.offset),
            (Problem::Repeated(code), bytes.len())
        );
    }
}

#[test]
fn malformed_headers_are_refused_at_their_offset() {
    let mut bytes = bytes_of(&delivery());
    let front = bytes.len();
    let mut properties = bytes_of(&properties());
    // The type code of the only application header.
    let at = properties.len() - "red".len() - 3;
    assert_eq!(properties[at], 0x95);
    properties[at] = 0xb0;
    bytes.extend(properties);
    let error = header::split(&bytes).unwrap_err();
    assert_eq!(
        error.field,
        "message.message-properties.application-headers"
    );
    assert_eq!(
        (error.problem, error.offset),
        (Problem::UnknownType(0xb0), front + at + 1)
    );
    for length in 1..front {
        assert!(header::split(&bytes[..length]).is_err(), "{length} octets");
    }
    assert_eq!(header::split(&[0, 0, 0, 1, 4]).unwrap_err().field, "header");
}

/// Passing over the message properties finds what building them finds, and costs the budget as
/// much.
#[test]
fn split_refuses_exactly_what_could_not_be_read_later() {
    let description = description();
    let class = description
        .classes
        .iter()
        .find(|class| class.name == "message")
        .unwrap();
    let find = |name: &str| class.structs.iter().find(|item| item.name == name).unwrap();
    let item: &Described = find("message-properties");
    let seeds = if cfg!(miri) { 20 } else { 2000 };
    for seed in 0..seeds {
        let seeded = Seeded::new(seed);
        let mut random = RandomBytes {
            description: &description,
            seeded,
            with_gaps: false,
        };
        let mut bytes = random.structure(class, item);
        if seed % 2 == 1 {
            random.seeded.damage(&mut bytes);
        }
        let split = header::split(&bytes);
        let built = MessageProperties::decode(&mut Cursor::new(&bytes));
        match split {
            Ok(parts) => {
                if let Some(range) = parts.message_properties {
                    let first = header::message_properties(&parts.rest[range.clone()]).unwrap();
                    let headers = header::application_headers(&parts.rest[range]).unwrap();
                    assert_eq!(
                        format!("{headers:?}"),
                        format!("{:?}", first.application_headers)
                    );
                }
            }
            Err(error) if error.field.starts_with("message.message-properties") => {
                assert_eq!(built.map(drop), Err(error), "seed {seed}");
            }
            Err(_) => {}
        }
    }
}
