//! Commands with content: segments, frames, limits, byte exactness.

use bytes::Bytes;
use ferrymq::protocol::{BrokerConfig, ClientConfig, Connection, Content, Event, Pieces, limits};
use ferrymq::wire::{Command, CommandId, ErrorCode, SegmentType, TxSelect};

use crate::pair::{Pair, broker_config, publish, taken, transfer};
use crate::raw::{Raw, command, command_bytes, frame, frames};

/// Header and body of a command event, joined.
pub fn content(event: &Event) -> (Option<Vec<u8>>, Option<Vec<u8>>) {
    let Event::Command { header, body, .. } = event else {
        panic!("{event:?}");
    };
    (
        header.as_ref().map(|header| header.to_vec()),
        body.as_ref().map(|body| body.concat()),
    )
}

fn header(last: bool, payload: &[u8]) -> Vec<u8> {
    frame(SegmentType::HEADER, if last { 7 } else { 3 }, 0, payload)
}

fn body(payload: &[u8]) -> Vec<u8> {
    frame(SegmentType::BODY, 7, 0, payload)
}

fn noise(bytes: usize, seed: u8) -> Vec<u8> {
    (0..bytes)
        .map(|n| (n.wrapping_mul(31) >> 3) as u8 ^ seed)
        .collect()
}

#[test]
fn absent_and_empty_segments_differ() {
    let mut raw = Raw::attached();
    let open = || command(0, &transfer("q"), false);
    let cases: [(Vec<u8>, _, _); 6] = [
        (command(0, &transfer("q"), true), None, None),
        ([open(), header(true, b"")].concat(), Some(vec![]), None),
        (
            [open(), header(true, b"h")].concat(),
            Some(b"h".to_vec()),
            None,
        ),
        (
            [open(), header(false, b"h"), body(b"")].concat(),
            Some(b"h".to_vec()),
            Some(vec![]),
        ),
        ([open(), body(b"")].concat(), None, Some(vec![])),
        ([open(), body(b"b")].concat(), None, Some(b"b".to_vec())),
    ];
    for (bytes, header, body) in cases {
        let events = raw.feed(&bytes);
        assert_eq!(events.len(), 1);
        assert_eq!(content(&events[0]), (header, body));
    }
}

#[test]
fn content_survives_both_ends_byte_for_byte() {
    let client = ClientConfig {
        max_frame_size: 4_096,
        ..ClientConfig::default()
    };
    let mut pair = Pair::opened_with(broker_config(), client);
    pair.client.attach(0, b"s".to_vec(), false);
    pair.exchange();
    let cases = [
        (Some(noise(200 * 1024, 1)), Some(noise(1024 * 1024 + 1, 2))),
        (Some(noise(4_084, 3)), Some(noise(4_084, 4))),
        (Some(noise(4_085, 5)), Some(noise(4_085, 6))),
        (Some(vec![]), Some(vec![])),
        (Some(noise(9, 7)), None),
        (None, Some(noise(9, 8))),
        (None, None),
    ];
    for (header, body) in cases {
        pair.forget();
        publish(&mut pair.client, 0, header.as_deref(), body.as_deref());
        pair.exchange();
        assert_eq!(pair.broker_events.len(), 1);
        assert_eq!(content(&pair.broker_events[0]), (header, body));
    }
    for (frame, _) in frames(&pair.to_broker) {
        assert!(frame.size <= 4_096);
    }
}

#[test]
fn deliveries_are_cut_to_the_peers_frame_size_wherever_the_pieces_end() {
    let broker = BrokerConfig {
        max_frame_size: 5_000,
        ..broker_config()
    };
    let mut pair = Pair::opened_with(broker, ClientConfig::default());
    pair.client.attach(9, b"s".to_vec(), false);
    pair.exchange();
    pair.forget();
    let pieces = [10, 4_096, 1, 9_000, 0, 5_000, 4_988].map(|n| Bytes::from(noise(n, n as u8)));
    let header = noise(11_000, 99);
    let content_sent = Content {
        header: Some(&header),
        body: Some(Pieces::Shared(&pieces)),
    };
    pair.broker
        .send_command(9, CommandId(0), &transfer("t"), false, Some(content_sent));
    pair.exchange();
    let (seen_header, seen_body) = content(&pair.client_events[0]);
    assert_eq!(seen_header, Some(header));
    assert_eq!(seen_body, Some(pieces.concat()));
    let sizes: Vec<u16> = frames(&pair.to_client)
        .iter()
        .map(|(frame, _)| frame.size)
        .collect();
    assert!(sizes.iter().all(|size| *size <= 5_000), "{sizes:?}");
    assert!(
        sizes.iter().filter(|size| **size == 5_000).count() >= 6,
        "frames are filled"
    );
}

#[test]
fn a_command_longer_than_a_frame_is_cut_and_put_together() {
    let client = ClientConfig {
        max_frame_size: 4_096,
        ..ClientConfig::default()
    };
    let mut pair = Pair::opened_with(broker_config(), client);
    pair.client.attach(0, b"s".to_vec(), false);
    let mut declare = ferrymq::wire::QueueDeclare {
        queue: "q".into(),
        ..Default::default()
    };
    let text = "x".repeat(60_000);
    declare.arguments = Some(
        [("k", ferrymq::wire::Value::Str16(text.into()))]
            .into_iter()
            .collect(),
    );
    let declare = Command::QueueDeclare(declare);
    pair.client.send(0, &declare, false, None);
    pair.exchange();
    let Some(Event::Command { command, .. }) = pair.broker_events.last() else {
        panic!("{:?}", pair.broker_events.last());
    };
    assert_eq!(*command, declare);
}

#[test]
fn two_sessions_frames_may_interleave() {
    let mut raw = Raw::opened();
    raw.attach(0, b"a");
    raw.attach(300, b"b");
    let on = |channel, kind, flags, payload: &[u8]| frame(kind, flags, channel, payload);
    let bytes = [
        command(0, &transfer("x"), false),
        command(300, &transfer("y"), false),
        on(0, SegmentType::HEADER, 2, b"he"),
        on(300, SegmentType::HEADER, 3, b"HEAD"),
        on(0, SegmentType::HEADER, 1, b"ad"),
        on(300, SegmentType::BODY, 6, b"BO"),
        on(0, SegmentType::BODY, 7, b"body"),
        on(300, SegmentType::BODY, 4, b""),
        on(300, SegmentType::BODY, 5, b"DY"),
    ];
    let events = raw.feed(&bytes.concat());
    assert_eq!(events.len(), 2);
    assert_eq!(
        content(&events[0]),
        (Some(b"head".to_vec()), Some(b"body".to_vec()))
    );
    assert_eq!(
        content(&events[1]),
        (Some(b"HEAD".to_vec()), Some(b"BODY".to_vec()))
    );
}

#[test]
fn segments_and_frames_out_of_order_close_501() {
    let open = || command(0, &transfer("q"), false);
    let on = |kind, flags, payload: &[u8]| frame(kind, flags, 0, payload);
    let half = &command_bytes(&transfer("q"))[..3];
    let cases: [(&str, Vec<u8>); 11] = [
        ("header without a command", header(true, b"")),
        ("body without a command", body(b"")),
        (
            "header behind body",
            [open(), on(SegmentType::BODY, 3, b""), header(true, b"")].concat(),
        ),
        (
            "two headers",
            [open(), header(false, b""), header(true, b"")].concat(),
        ),
        (
            "two bodies",
            [open(), on(SegmentType::BODY, 3, b""), body(b"")].concat(),
        ),
        ("command in a command", [open(), open()].concat()),
        (
            "segment not begun",
            [open(), on(SegmentType::BODY, 5, b"")].concat(),
        ),
        (
            "segment begun twice",
            [
                open(),
                on(SegmentType::BODY, 6, b""),
                on(SegmentType::BODY, 7, b""),
            ]
            .concat(),
        ),
        (
            "header frame inside a body",
            [
                open(),
                on(SegmentType::BODY, 6, b""),
                on(SegmentType::HEADER, 5, b""),
            ]
            .concat(),
        ),
        (
            "content marked first segment",
            [open(), on(SegmentType::BODY, 15, b"")].concat(),
        ),
        ("half a command", on(SegmentType::COMMAND, 15, half)),
    ];
    for (name, bytes) in cases {
        let mut raw = Raw::attached();
        raw.feed(&bytes);
        assert_eq!(raw.close().map(|close| close.0), Some(501), "{name}");
    }
}

#[test]
fn content_behind_a_command_that_has_none_closes_501() {
    for content in [header(true, b"h"), body(b"b")] {
        let mut raw = Raw::attached();
        raw.feed(&[command(0, &Command::TxSelect(TxSelect {}), false), content].concat());
        let (code, text) = raw.close().expect("closed");
        assert_eq!(code, 501);
        assert!(text.contains("tx.select"), "{text}");
    }
}

fn small_room() -> BrokerConfig {
    let mut config = broker_config();
    config.bounds.assembly_bytes_max = 100_000;
    config.bounds.assemblies_bytes_max = 150_000;
    config
}

fn refused(events: &[Event]) -> Vec<(u16, u16)> {
    events
        .iter()
        .map(|event| match event {
            Event::Refused {
                channel,
                code,
                class: 0,
                command: 0,
                ..
            } => (*channel, code.0),
            other => panic!("{other:?}"),
        })
        .collect()
}

#[test]
fn a_body_without_an_end_is_refused_506_at_the_limit_and_then_dropped() {
    let mut raw = Raw::attached_with(small_room());
    raw.feed(&command(0, &transfer("q"), false));
    let mut first = 2;
    for _ in 0..1_000 {
        raw.feed(&frame(SegmentType::BODY, 4 | first, 0, &[7; 60_000]));
        first = 0;
    }
    assert_eq!(
        refused(&raw.events),
        [(0, ErrorCode::RESOURCE_LIMIT_EXCEEDED.0)]
    );
    assert!(raw.broker.is_open());
}

#[test]
fn a_message_of_exactly_the_limit_is_taken_and_one_more_byte_refused() {
    for (bytes, taken) in [(100_000 - 40, true), (100_000 - 39, false)] {
        let mut raw = Raw::attached_with(small_room());
        raw.feed(&[command(0, &transfer("q"), false), header(false, &[0; 40])].concat());
        let payload = noise(bytes, 1);
        raw.feed(&frame(SegmentType::BODY, 6, 0, &payload[..50_000]));
        raw.feed(&frame(SegmentType::BODY, 5, 0, &payload[50_000..]));
        if taken {
            assert_eq!(content(&raw.events[0]).1, Some(payload));
        } else {
            assert_eq!(refused(&raw.events), [(0, 506)]);
        }
    }
}

#[test]
fn the_rest_of_a_refused_message_does_not_disturb_the_next_session() {
    let mut raw = Raw::attached_with(small_room());
    raw.feed(&command(0, &transfer("q"), false));
    raw.feed(&frame(SegmentType::BODY, 6, 0, &[7; 60_000]));
    raw.feed(&frame(SegmentType::BODY, 4, 0, &[7; 60_000]));
    raw.broker.fail_session(0, CommandId(0), Default::default());
    raw.feed(&frame(SegmentType::BODY, 5, 0, &[7; 60_000]));
    let detached = ferrymq::wire::SessionDetached {
        name: b"s".to_vec(),
        ..Default::default()
    };
    raw.feed(&crate::raw::control(
        0,
        &ferrymq::wire::Control::SessionDetached(detached),
    ));
    raw.attach(0, b"t");
    let events = raw.feed(&[command(0, &transfer("q"), false), body(b"x")].concat());
    assert_eq!(content(&events[0]).1, Some(b"x".to_vec()));
}

#[test]
fn all_unfinished_messages_of_a_connection_share_a_limit() {
    let mut raw = Raw::opened_with(small_room());
    for channel in 0..3 {
        raw.attach(channel, &[b'a' + channel as u8]);
        raw.feed(&command(channel, &transfer("q"), false));
        raw.feed(&frame(SegmentType::BODY, 6, channel, &[7; 60_000]));
    }
    assert_eq!(refused(&raw.events), [(2, 506)]);
    // What is finished or refused no longer counts.
    raw.events.clear();
    let events = raw.feed(&frame(SegmentType::BODY, 5, 0, &[7; 30_000]));
    assert_eq!(content(&events[0]).1.map(|body| body.len()), Some(90_000));
    raw.feed(&frame(SegmentType::BODY, 5, 1, &[7; 30_000]));
    raw.feed(&command(0, &transfer("q"), false));
    let events = raw.feed(&frame(SegmentType::BODY, 7, 0, &[7; 60_000]));
    assert_eq!(content(&events[0]).1.map(|body| body.len()), Some(60_000));
}

#[test]
fn a_command_segment_without_an_end_is_refused_506() {
    let mut raw = Raw::attached();
    raw.feed(&frame(SegmentType::COMMAND, 10, 0, &[8; 60_000]));
    for _ in 0..20 {
        raw.feed(&frame(SegmentType::COMMAND, 8, 0, &[8; 60_000]));
    }
    assert_eq!(refused(&raw.events), [(0, 506)]);
}

#[test]
fn a_body_in_tiny_frames_does_not_pin_or_multiply_pieces() {
    let mut raw = Raw::attached();
    raw.feed(&command(0, &transfer("q"), false));
    raw.feed(&frame(SegmentType::BODY, 6, 0, &[1]));
    for _ in 0..10_000 {
        raw.feed(&frame(SegmentType::BODY, 4, 0, &[1]));
    }
    let events = raw.feed(&frame(SegmentType::BODY, 5, 0, &[1]));
    let Event::Command {
        body: Some(pieces), ..
    } = &events[0]
    else {
        panic!()
    };
    assert_eq!(pieces.len(), 1);
    assert_eq!(pieces[0].len(), 10_002);
}

#[test]
fn large_body_fragments_are_not_copied_in_or_out() {
    let mut raw = Raw::attached();
    let bytes = [
        command(0, &transfer("q"), false),
        frame(SegmentType::BODY, 6, 0, &[1; 60_000]),
        frame(SegmentType::BODY, 5, 0, &[2; 60_000]),
    ];
    let events = raw.feed(&bytes.concat());
    let Event::Command {
        body: Some(pieces), ..
    } = &events[0]
    else {
        panic!()
    };
    assert_eq!(pieces.len(), 2);
    let content = Content {
        header: None,
        body: Some(Pieces::Shared(pieces)),
    };
    raw.broker
        .send_command(0, CommandId(0), &transfer("t"), false, Some(content));
    let mut slices = Vec::new();
    raw.broker.output().io_slices(64, &mut slices);
    let shared = slices.iter().filter(|slice| {
        pieces
            .iter()
            .any(|piece| piece.as_ptr_range().contains(&slice.as_ptr()))
    });
    assert_eq!(shared.map(|slice| slice.len()).sum::<usize>(), 120_000);
}

/// Interaction of a slow writer with the output: any step gives the same bytes.
#[test]
fn output_is_the_same_however_it_is_written() {
    let said = |step: usize| {
        let mut raw = Raw::attached();
        let mut all = Vec::new();
        for n in 0..50_usize {
            let pieces = [Bytes::from(noise(n * 1_000, n as u8))];
            let content = Content {
                header: Some(b"head"),
                body: Some(Pieces::Shared(&pieces)),
            };
            let id = CommandId(n as u32);
            raw.broker
                .send_command(0, id, &transfer("t"), false, Some(content));
            all.extend(written(&mut raw.broker, step));
        }
        all.extend(taken(&mut raw.broker));
        all
    };
    let whole = said(usize::MAX);
    for step in [1, 3, 4_000, 8_193] {
        assert!(said(step) == whole, "{step}");
    }
    assert!(whole.len() > limits::OUTPUT_KEPT_BYTES);
}

/// Writes once, at most `bytes`.
fn written(end: &mut Connection, bytes: usize) -> Vec<u8> {
    let output = end.output();
    let taken = output.front()[..output.front().len().min(bytes)].to_vec();
    output.advance(taken.len());
    taken
}
