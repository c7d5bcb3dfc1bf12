//! From the protocol header to the open connection.

use bytes::BytesMut;
use ferrymq::protocol::{BrokerConfig, ClientConfig, ClosedBy, Connection, Event, Tuned, limits};
use ferrymq::wire::{
    Array, CloseCode, ConnectionClose, ConnectionCloseOk, ConnectionStartOk, Control, Map,
    SegmentType, Text, Value, protocol_header,
};

use crate::pair::{Pair, broker_config, polled, taken};
use crate::raw::{
    NOW, Raw, attach, command, control, control_bytes, controls, frame, handshake, open, start_ok,
    tune_ok,
};

fn last_closed(events: &[Event]) -> Option<(u16, &str, ClosedBy)> {
    match events.last() {
        Some(Event::Closed { code, text, by }) => Some((code.0, text, *by)),
        _ => None,
    }
}

#[test]
fn two_ends_negotiate_and_open() {
    let client = ClientConfig {
        heartbeat: 7,
        virtual_host: "v".into(),
        ..Default::default()
    };
    let mut pair = Pair::new(broker_config(), client);
    pair.exchange();
    let tuned = Tuned {
        channel_max: 65_534,
        max_frame_size: 65_535,
        heartbeat: 7,
    };
    assert!(pair.broker_events.contains(&Event::TuneOk(tuned)));
    assert!(pair.client_events.contains(&Event::Tuned(tuned)));
    let open = Event::Open {
        virtual_host: "v".into(),
        insist: true,
    };
    assert_eq!(pair.broker_events.last(), Some(&open));
    assert_eq!(
        pair.client_events.last(),
        Some(&Event::OpenOk {
            known_hosts: vec![]
        })
    );
}

#[test]
fn tune_offers_what_qpidd_offers() {
    let mut raw = Raw::new(broker_config());
    raw.feed(&protocol_header::BYTES);
    raw.feed(&start_ok());
    let said = raw.controls();
    let Some((0, Control::ConnectionTune(tune))) = said.last() else {
        panic!("{said:?}");
    };
    assert_eq!(tune.channel_max, Some(65_534));
    assert_eq!(tune.max_frame_size, Some(65_535));
    assert_eq!(
        (tune.heartbeat_min, tune.heartbeat_max),
        (Some(0), Some(120))
    );
}

#[test]
fn broker_answers_the_header_with_its_own_and_start() {
    let mut raw = Raw::new(broker_config());
    raw.feed(&protocol_header::BYTES);
    let output = taken(&mut raw.broker);
    assert_eq!(output[..8], protocol_header::BYTES);
    assert!(matches!(
        &controls(&output)[..],
        [(0, Control::ConnectionStart(_))]
    ));
}

#[test]
fn another_version_is_answered_with_ours_and_the_socket_closed() {
    for header in [
        *b"AMQP\x01\x01\x00\x09",
        *b"AMQP\x00\x01\x00\x00",
        *b"GET / HT",
    ] {
        let mut raw = Raw::new(broker_config());
        raw.feed(&header);
        assert!(matches!(
            last_closed(&raw.events),
            Some((501, _, ClosedBy::Us))
        ));
        assert!(
            !raw.broker.should_close_socket(),
            "our header is not written yet"
        );
        assert_eq!(taken(&mut raw.broker), protocol_header::BYTES);
        assert!(raw.broker.should_close_socket());
    }
}

#[test]
fn a_header_in_pieces_is_the_same_header() {
    let mut raw = Raw::new(broker_config());
    for byte in &protocol_header::BYTES[..7] {
        raw.feed(&[*byte]);
        assert!(taken(&mut raw.broker).is_empty());
    }
    raw.feed(&protocol_header::BYTES[7..]);
    assert!(!taken(&mut raw.broker).is_empty());
}

#[test]
fn header_and_start_ok_in_one_segment_are_both_taken() {
    let mut raw = Raw::new(broker_config());
    let events = raw.feed(&[&protocol_header::BYTES[..], &start_ok()].concat());
    assert!(matches!(&events[..], [Event::StartOk { .. }]));
}

#[test]
fn absent_and_empty_initial_responses_differ() {
    for response in [None, Some(Vec::new()), Some(b"\0guest\0guest".to_vec())] {
        let mut raw = Raw::new(broker_config());
        raw.feed(&protocol_header::BYTES);
        let start_ok = ConnectionStartOk {
            mechanism: "PLAIN".into(),
            response: response.clone(),
            locale: "en_US".into(),
            ..Default::default()
        };
        let events = raw.feed(&control(0, &Control::ConnectionStartOk(start_ok)));
        let [Event::StartOk { response: seen, .. }] = &events[..] else {
            panic!("{events:?}");
        };
        assert_eq!(*seen, response);
    }
}

#[test]
fn challenges_go_back_and_forth_until_authenticated() {
    let now = NOW;
    let mut broker = Connection::broker(broker_config(), now);
    let mut client = Connection::client(ClientConfig::default(), now);
    let mut challenges = 0;
    loop {
        let mut bytes = BytesMut::from(&taken(&mut client)[..]);
        broker.handle_input(now, &mut bytes);
        while let Some(event) = broker.poll_event() {
            match event {
                Event::StartOk { .. } => broker.secure(b"one".to_vec()),
                Event::SecureOk { response } if response == b"one!" => {
                    broker.secure(b"two".to_vec());
                }
                Event::SecureOk { response } => {
                    assert_eq!(response, b"two!");
                    broker.authenticated();
                }
                Event::Open { .. } => broker.open_ok(&["amqp:tcp:a:1".into()]),
                _ => {}
            }
        }
        let mut bytes = BytesMut::from(&taken(&mut broker)[..]);
        client.handle_input(now, &mut bytes);
        while let Some(event) = client.poll_event() {
            match event {
                Event::Start { .. } => client.start_ok("X", None, "en_US"),
                Event::Secure { mut challenge } => {
                    challenges += 1;
                    challenge.push(b'!');
                    client.secure_ok(challenge);
                }
                Event::OpenOk { known_hosts } => {
                    assert_eq!(known_hosts, ["amqp:tcp:a:1"]);
                    assert_eq!(challenges, 2);
                    return;
                }
                _ => {}
            }
        }
    }
}

#[test]
fn no_event_passes_an_open_question() {
    let mut broker = Connection::broker(broker_config(), NOW);
    broker.handle_input(NOW, &mut BytesMut::from(&handshake(65_535, 0)[..]));
    assert!(matches!(broker.poll_event(), Some(Event::StartOk { .. })));
    assert_eq!(broker.poll_event(), None);
    assert!(broker.is_waiting_for_answer());
    broker.authenticated();
    assert!(matches!(broker.poll_event(), Some(Event::TuneOk { .. })));
    assert!(matches!(broker.poll_event(), Some(Event::Open { .. })));
    assert_eq!(broker.poll_event(), None);
}

#[test]
fn answers_out_of_place_do_nothing() {
    let mut broker = Connection::broker(broker_config(), NOW);
    broker.authenticated();
    broker.open_ok(&[]);
    broker.attached(0);
    broker.secure(vec![1]);
    assert!(taken(&mut broker).is_empty());
    broker.handle_input(NOW, &mut BytesMut::from(&protocol_header::BYTES[..]));
    broker.handle_input(NOW, &mut BytesMut::from(&start_ok()[..]));
    broker.poll_event();
    taken(&mut broker);
    broker.open_ok(&[]);
    assert!(
        taken(&mut broker).is_empty(),
        "open-ok as the answer to start-ok"
    );
}

#[test]
fn anything_but_the_awaited_control_before_open_closes_501() {
    let steps = [
        protocol_header::BYTES.to_vec(),
        start_ok(),
        tune_ok(65_535, 0),
    ];
    let intruders = [
        ("attach on channel 0", attach(0, b"s")),
        ("attach on channel 5", attach(5, b"s")),
        ("body", frame(SegmentType::BODY, 7, 0, b"body")),
        ("transfer", command(0, &crate::pair::transfer("q"), true)),
        (
            "open-ok",
            control(0, &Control::ConnectionOpenOk(Default::default())),
        ),
    ];
    for done in 1..=steps.len() {
        for (name, bytes) in &intruders {
            let mut raw = Raw::new(broker_config());
            for step in &steps[..done] {
                raw.feed(step);
            }
            taken(&mut raw.broker);
            raw.feed(bytes);
            let (code, text) = raw
                .close()
                .unwrap_or_else(|| panic!("{name} after {done} steps"));
            assert_eq!(code, 501, "{name} after {done} steps: {text}");
            let told = last_closed(&raw.events);
            assert!(matches!(told, Some((501, _, ClosedBy::Us))), "{told:?}");
            raw.feed(&attach(1, b"t"));
            assert!(
                raw.controls().is_empty(),
                "nothing is answered behind a close"
            );
        }
    }
}

#[test]
fn open_before_authentication_ends_closes_501() {
    let mut raw = Raw::new(broker_config());
    raw.feed(&protocol_header::BYTES);
    raw.feed(&open());
    assert_eq!(raw.close().map(|close| close.0), Some(501));
}

#[test]
fn a_max_frame_size_under_4096_is_raised_to_it() {
    for (size, agreed) in [
        (0, 4_096_u16),
        (4_095, 4_096),
        (4_096, 4_096),
        (4_097, 4_097),
    ] {
        let body = vec![0; usize::from(agreed) - 12];
        for (octets, fine) in [(&body[..], true), (&[&body[..], &[0]].concat(), false)] {
            let mut raw = Raw::new(broker_config());
            raw.feed(&handshake(size, 0));
            assert!(raw.broker.is_open(), "{size}");
            taken(&mut raw.broker);
            // On a channel without a session nothing is done with it.
            raw.feed(&frame(SegmentType::BODY, 15, 3, octets));
            let close = raw.close().map(|close| close.0);
            assert_eq!(close, (!fine).then_some(501), "{size}: {}", octets.len());
        }
    }
}

#[test]
fn a_max_frame_size_over_what_was_offered_closes_501() {
    let mut config = broker_config();
    config.max_frame_size = 8_192;
    for (size, fine) in [(8_192, true), (8_193, false), (65_535, false)] {
        let mut raw = Raw::new(config.clone());
        raw.feed(&handshake(size, 0));
        assert_eq!(raw.broker.is_open(), fine, "{size}");
        let close = raw.close().map(|close| close.0);
        assert_eq!(close, (!fine).then_some(501), "{size}");
    }
}

#[test]
fn frame_sizes_outside_12_and_the_agreed_maximum_close_501() {
    for size in (0..12).chain([4_097, 65_535]) {
        let mut raw = Raw::new(broker_config());
        raw.feed(&handshake(4_096, 0));
        taken(&mut raw.broker);
        let mut bytes = frame(SegmentType::BODY, 15, 3, b"");
        bytes[2..4].copy_from_slice(&u16::to_be_bytes(size));
        raw.feed(&bytes);
        assert_eq!(raw.close().map(|close| close.0), Some(501), "{size}");
    }
}

#[test]
fn lengths_past_the_end_of_a_frame_close_501_and_name_field_and_offset() {
    let whole = control_bytes(&Control::ConnectionStartOk(ConnectionStartOk {
        client_properties: Some(Map::from_iter([("key", Value::Str16("value".into()))])),
        mechanism: "PLAIN".into(),
        response: Some(b"xy".to_vec()),
        locale: "en_US".into(),
    }));
    for length in [1, 0xffff_ffff_u32] {
        // The client properties are the first field behind class, code and packing flags.
        let mut bytes = whole.clone();
        let declared = u32::from_be_bytes(*bytes[4..].first_chunk().unwrap());
        let longer = declared.saturating_add(length).max(length);
        bytes[4..8].copy_from_slice(&longer.to_be_bytes());
        let mut raw = Raw::new(broker_config());
        raw.feed(&protocol_header::BYTES);
        taken(&mut raw.broker);
        raw.feed(&frame(SegmentType::CONTROL, 15, 0, &bytes));
        let (code, _) = raw.close().expect("closed");
        assert_eq!(code, 501);
        let (_, text, _) = last_closed(&raw.events).expect("closed");
        assert!(
            text.contains("connection.start-ok.client-properties"),
            "{text}"
        );
        assert!(text.contains("offset"), "{text}");
    }
}

#[test]
fn a_start_ok_that_would_decode_into_much_memory_closes_501() {
    // A map of arrays of void: few bytes each, many values.
    let voids = Value::Array(Array {
        code: 0xf0,
        items: vec![Value::Void; 250],
    });
    let map: Map = (0..5_000)
        .map(|n| (format!("{n}"), voids.clone()))
        .collect();
    let start_ok = ConnectionStartOk {
        client_properties: Some(map),
        ..Default::default()
    };
    let bytes = control_bytes(&Control::ConnectionStartOk(start_ok));
    let mut raw = Raw::new(broker_config());
    raw.feed(&protocol_header::BYTES);
    taken(&mut raw.broker);
    raw.feed(&frame(
        SegmentType::CONTROL,
        15,
        0,
        &bytes[..bytes.len().min(65_523)],
    ));
    assert_eq!(raw.close().map(|close| close.0), Some(501));
}

#[test]
fn a_peer_that_does_not_open_in_time_is_cut_off() {
    let steps = [
        protocol_header::BYTES.to_vec(),
        start_ok(),
        tune_ok(65_535, 0),
    ];
    for done in 0..=steps.len() {
        let mut raw = Raw::new(broker_config());
        for step in &steps[..done] {
            raw.feed(step);
        }
        let at = raw.broker.poll_timeout().expect("a deadline");
        assert_eq!(at, NOW.plus_milliseconds(10_000));
        raw.broker.handle_timeout(at);
        let events = polled(&mut raw.broker);
        assert!(
            matches!(last_closed(&events), Some((_, _, ClosedBy::Us))),
            "{done}"
        );
        assert!(
            raw.broker.should_close_socket(),
            "no connection.close is sent then"
        );
    }
}

#[test]
fn an_open_connection_has_no_deadline_without_heartbeats() {
    let raw = Raw::opened();
    assert_eq!(raw.broker.poll_timeout(), None);
}

#[test]
fn a_closing_connection_waits_for_close_ok_but_not_for_ever() {
    let mut raw = Raw::opened();
    raw.broker
        .close(CloseCode::CONNECTION_FORCED, "Closed by Management Request");
    assert_eq!(
        raw.close(),
        Some((320, "Closed by Management Request".into()))
    );
    assert!(!raw.broker.should_close_socket());
    raw.feed(&attach(1, b"t"));
    raw.feed(&control(
        0,
        &Control::ConnectionCloseOk(ConnectionCloseOk {}),
    ));
    assert!(raw.broker.should_close_socket());
    assert_eq!(raw.events.len(), 1, "Closed comes once: {:?}", raw.events);

    let mut raw = Raw::opened();
    raw.broker.close(CloseCode::CONNECTION_FORCED, "");
    taken(&mut raw.broker);
    let at = raw.broker.poll_timeout().expect("a deadline");
    raw.broker.handle_timeout(at);
    assert!(raw.broker.should_close_socket());
}

#[test]
fn a_peer_that_does_not_read_the_last_words_does_not_keep_the_socket() {
    let close = ConnectionClose {
        reply_code: CloseCode::NORMAL,
        reply_text: None,
    };
    let mut closed_by_peer = Raw::opened();
    closed_by_peer.feed(&control(0, &Control::ConnectionClose(close)));
    let mut closed_by_us = Raw::opened();
    closed_by_us.broker.close(CloseCode::CONNECTION_FORCED, "");
    let mut another_version = Raw::new(broker_config());
    another_version.feed(b"AMQP\x00\x01\x00\x00");
    for mut raw in [closed_by_peer, closed_by_us, another_version] {
        assert!(!raw.broker.should_close_socket());
        let at = raw.broker.poll_timeout().expect("a deadline");
        raw.broker.handle_timeout(at);
        assert!(raw.broker.should_close_socket());
        assert_eq!(raw.broker.poll_timeout(), None);
    }
}

#[test]
fn the_text_of_a_close_is_cut_to_128_bytes_between_characters() {
    let mut raw = Raw::opened();
    raw.broker
        .close(CloseCode::CONNECTION_FORCED, &"\u{e9}".repeat(100));
    let (_, text) = raw.close().expect("closed");
    assert_eq!(text.len(), 128);
    let mut raw = Raw::opened();
    raw.broker.close(
        CloseCode::CONNECTION_FORCED,
        &format!("x{}", "\u{e9}".repeat(100)),
    );
    let (_, text) = raw.close().expect("closed");
    assert_eq!(text.len(), 127);
}

#[test]
fn a_peers_close_is_answered_and_told() {
    let mut raw = Raw::opened();
    let close = ConnectionClose {
        reply_code: CloseCode::NORMAL,
        reply_text: Some(Text::from("bye")),
    };
    raw.feed(&control(0, &Control::ConnectionClose(close)));
    assert_eq!(last_closed(&raw.events), Some((200, "bye", ClosedBy::Peer)));
    assert!(matches!(
        &raw.controls()[..],
        [(0, Control::ConnectionCloseOk(_))]
    ));
    assert!(raw.broker.should_close_socket());
}

#[test]
fn the_end_of_input_loses_the_connection_once() {
    let mut raw = Raw::attached();
    raw.broker.handle_end_of_input();
    raw.broker.handle_end_of_input();
    let events = polled(&mut raw.broker);
    assert_eq!(events.len(), 1);
    assert!(matches!(last_closed(&events), Some((_, _, ClosedBy::Lost))));
}

#[test]
fn an_unopened_connection_holds_few_bytes() {
    let mut raw = Raw::new(broker_config());
    raw.feed(&protocol_header::BYTES);
    let part = frame(SegmentType::CONTROL, 14, 0, &[0; 40_000]);
    raw.feed(&part);
    assert!(raw.broker.wants_input());
    let more = frame(SegmentType::CONTROL, 12, 0, &[0; 40_000]);
    raw.feed(&more);
    assert_eq!(
        raw.close().map(|close| close.0),
        Some(501),
        "64 KiB of one control at most"
    );
    let sum = limits::UNAUTHENTICATED_INPUT_BYTES_MAX
        + limits::UNAUTHENTICATED_CONTROL_BYTES_MAX
        + limits::UNAUTHENTICATED_DECODED_BYTES_MAX;
    assert!(sum <= limits::UNAUTHENTICATED_BYTES_MAX);
}

#[test]
fn the_driver_stops_reading_while_an_answer_is_owed_and_input_waits() {
    let mut broker = Connection::broker(broker_config(), NOW);
    broker.handle_input(NOW, &mut BytesMut::from(&protocol_header::BYTES[..]));
    broker.handle_input(NOW, &mut BytesMut::from(&start_ok()[..]));
    broker.poll_event();
    broker.handle_input(NOW, &mut BytesMut::from(&[0; 70_000][..]));
    assert_eq!(broker.poll_event(), None);
    assert!(!broker.wants_input());
}

#[test]
fn a_smaller_offer_of_the_broker_binds_the_client() {
    let broker = BrokerConfig {
        max_frame_size: 8_192,
        heartbeat_max: 5,
        ..broker_config()
    };
    let client = ClientConfig {
        heartbeat: 60,
        ..Default::default()
    };
    let mut pair = Pair::new(broker, client);
    pair.exchange();
    let tuned = Tuned {
        channel_max: 65_534,
        max_frame_size: 8_192,
        heartbeat: 5,
    };
    assert!(pair.broker_events.contains(&Event::TuneOk(tuned)));
}
