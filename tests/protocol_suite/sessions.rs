//! Sessions on channels: attach, detach, exceptions, numbering.

use bytes::BytesMut;
use ferrymq::protocol::{Connection, Event};
use ferrymq::wire::{
    Command, CommandId, Control, Cursor, DetachCode, ErrorCode, ExecutionException, ExecutionSync,
    SegmentType, SequenceSet, SessionAttach, SessionCommandPoint, SessionDetach, SessionDetached,
    SessionGap, TxSelect,
};

use crate::pair::{Pair, answer, broker_config, taken};
use crate::raw::{NOW, Raw, attach, command, control, controls, frame, frames, point};

fn detach(channel: u16, name: &[u8]) -> Vec<u8> {
    control(
        channel,
        &Control::SessionDetach(SessionDetach {
            name: name.to_vec(),
        }),
    )
}

fn detached(channel: u16, name: &[u8], code: DetachCode) -> (u16, Control) {
    (
        channel,
        Control::SessionDetached(SessionDetached {
            name: name.to_vec(),
            code,
        }),
    )
}

fn exception(code: ErrorCode) -> ExecutionException {
    ExecutionException {
        error_code: code,
        description: Some("no such thing".into()),
        ..Default::default()
    }
}

fn tx_select() -> Command {
    Command::TxSelect(TxSelect {})
}

fn command_ids(events: &[Event]) -> Vec<u32> {
    events
        .iter()
        .filter_map(|event| match event {
            Event::Command { id, .. } => Some(id.0),
            _ => None,
        })
        .collect()
}

#[test]
fn attach_is_asked_and_answered() {
    let mut raw = Raw::opened();
    let events = raw.feed(&attach(3, b"name"));
    assert_eq!(
        events,
        [Event::Attach {
            channel: 3,
            name: b"name".to_vec(),
            force: false
        }]
    );
    assert!(matches!(&raw.controls()[..], [(3, Control::SessionAttached(a))] if a.name == b"name"));
    assert_eq!(raw.broker.session_name(3), Some(&b"name"[..]));
}

#[test]
fn a_refused_attach_leaves_the_channel_free_and_what_follows_is_dropped() {
    let mut broker = Raw::opened().broker;
    let bytes = [
        attach(3, b"a"),
        point(3, 0),
        command(3, &tx_select(), true),
        attach(3, b"b"),
    ];
    broker.handle_input(NOW, &mut BytesMut::from(&bytes.concat()[..]));
    assert!(matches!(broker.poll_event(), Some(Event::Attach { .. })));
    broker.detached(3, DetachCode::SESSION_BUSY);
    let next = broker.poll_event();
    assert!(
        matches!(&next, Some(Event::Attach { name, .. }) if name == b"b"),
        "{next:?}"
    );
    let said = controls(&taken(&mut broker));
    assert_eq!(said, [detached(3, b"a", DetachCode::SESSION_BUSY)]);
}

#[test]
fn attach_of_the_same_name_on_its_channel_is_silent() {
    let mut raw = Raw::attached();
    assert_eq!(raw.feed(&attach(0, b"s")), []);
    assert_eq!(raw.controls(), []);
}

#[test]
fn attach_of_another_name_on_a_taken_channel_is_transport_busy() {
    let mut raw = Raw::attached();
    assert_eq!(raw.feed(&attach(0, b"t")), []);
    assert_eq!(
        raw.controls(),
        [detached(0, b"t", DetachCode::TRANSPORT_BUSY)]
    );
    assert_eq!(raw.broker.session_name(0), Some(&b"s"[..]));
}

#[test]
fn more_sessions_than_the_bound_are_transport_busy() {
    let mut config = broker_config();
    config.bounds.sessions_max = 2;
    let mut raw = Raw::opened_with(config);
    raw.feed(&[attach(1, b"a"), attach(2, b"b"), attach(3, b"c")].concat());
    assert_eq!(
        raw.controls().last(),
        Some(&detached(3, b"c", DetachCode::TRANSPORT_BUSY))
    );
    raw.feed(&[detach(1, b"a"), attach(3, b"c")].concat());
    assert!(matches!(
        raw.controls().last(),
        Some((3, Control::SessionAttached(_)))
    ));
}

#[test]
fn force_reaches_the_caller_who_may_detach_the_holder() {
    let mut raw = Raw::attached();
    let attach = SessionAttach {
        name: b"s".to_vec(),
        force: true,
    };
    let events = raw.feed(&control(1, &Control::SessionAttach(attach)));
    assert_eq!(
        events,
        [Event::Attach {
            channel: 1,
            name: b"s".to_vec(),
            force: true
        }]
    );
    taken(&mut raw.broker);
    raw.broker.detached(0, DetachCode::SESSION_BUSY);
    assert_eq!(
        raw.controls(),
        [detached(0, b"s", DetachCode::SESSION_BUSY)]
    );
    assert_eq!(
        raw.feed(&command(0, &tx_select(), true)),
        [],
        "channel 0 is free again"
    );
}

#[test]
fn detach_of_a_session_never_attached_is_answered_not_attached_on_its_channel() {
    let mut raw = Raw::opened();
    assert_eq!(raw.feed(&detach(7, b"nobody")), []);
    assert_eq!(
        raw.controls(),
        [detached(7, b"nobody", DetachCode::NOT_ATTACHED)]
    );
}

#[test]
fn detach_of_another_name_leaves_the_session_attached() {
    let mut raw = Raw::attached();
    assert_eq!(raw.feed(&detach(0, b"other")), []);
    assert_eq!(
        raw.controls(),
        [detached(0, b"other", DetachCode::NOT_ATTACHED)]
    );
    assert_eq!(command_ids(&raw.feed(&command(0, &tx_select(), true))), [0]);
}

#[test]
fn detach_is_asked_and_answered_normal_and_the_channel_is_free() {
    let mut raw = Raw::attached();
    let events = raw.feed(&[detach(0, b"s"), attach(0, b"t")].concat());
    assert_eq!(
        events[0],
        Event::Detach {
            channel: 0,
            name: b"s".to_vec()
        }
    );
    assert!(matches!(&events[1], Event::Attach { name, .. } if name == b"t"));
    assert_eq!(raw.controls()[0], detached(0, b"s", DetachCode::NORMAL));
}

#[test]
fn completions_may_still_go_out_before_detach_is_answered() {
    let mut raw = Raw::attached();
    raw.broker
        .handle_input(NOW, &mut BytesMut::from(&detach(0, b"s")[..]));
    assert!(matches!(
        raw.broker.poll_event(),
        Some(Event::Detach { .. })
    ));
    raw.broker
        .send_control(0, &Control::SessionCompleted(Default::default()));
    raw.broker.detached(0, DetachCode::NORMAL);
    raw.broker
        .send_control(0, &Control::SessionCompleted(Default::default()));
    let said = raw.controls();
    assert!(
        matches!(
            &said[..],
            [
                (0, Control::SessionCompleted(_)),
                (0, Control::SessionDetached(_))
            ]
        ),
        "{said:?}"
    );
}

#[test]
fn frames_on_channels_without_a_session_are_dropped_and_the_connection_stays() {
    let mut raw = Raw::opened();
    let session_controls = [
        Control::SessionGap(Default::default()),
        Control::SessionFlush(Default::default()),
        Control::SessionExpected(Default::default()),
        Control::SessionConfirmed(Default::default()),
        Control::SessionCompleted(Default::default()),
        Control::SessionKnownCompleted(Default::default()),
        Control::SessionRequestTimeout(Default::default()),
        Control::SessionCommandPoint(Default::default()),
        Control::SessionTimeout(Default::default()),
        Control::SessionDetached(Default::default()),
    ];
    for one in &session_controls {
        assert_eq!(raw.feed(&control(9, one)), [], "{}", one.name());
    }
    raw.feed(&command(9, &tx_select(), true));
    raw.feed(&frame(SegmentType::BODY, 7, 9, b"body"));
    assert_eq!(raw.events, []);
    assert_eq!(raw.controls(), []);
    assert!(raw.broker.is_open());
}

fn gap(first: u32, last: u32) -> Vec<u8> {
    control(
        0,
        &Control::SessionGap(SessionGap {
            commands: Some(set(first, last)),
        }),
    )
}

fn set(first: u32, last: u32) -> SequenceSet {
    SequenceSet::from_range(CommandId(first), CommandId(last))
}

#[test]
fn gap_comes_out_and_the_command_behind_it_is_next() {
    let mut raw = Raw::attached();
    let one = command(0, &tx_select(), true);
    raw.feed(&one);
    let commands = set(1, 3);
    let channel = 0;
    assert_eq!(raw.feed(&gap(1, 3)), [Event::Gap { channel, commands }]);
    assert_eq!(command_ids(&raw.feed(&one.repeat(2))), [4, 5]);
}

#[test]
fn gap_allows_a_command_point_behind_it() {
    let mut raw = Raw::attached();
    let one = command(0, &tx_select(), true);
    raw.feed(&[one.clone(), gap(1, 3), point(0, 4)].concat());
    assert_eq!(command_ids(&raw.feed(&one)), [4]);
}

#[test]
fn gap_ahead_is_passed_when_it_is_reached() {
    let mut raw = Raw::attached();
    let one = command(0, &tx_select(), true);
    raw.feed(&gap(2, 3));
    assert_eq!(command_ids(&raw.feed(&one.repeat(3))), [0, 1, 4]);
    raw.feed(&point(0, 1));
    assert_eq!(command_ids(&raw.feed(&one)), [] as [u32; 0]);
}

#[test]
fn gap_gives_up_a_command_that_has_come_in_part() {
    let mut raw = Raw::attached();
    let bytes = command(0, &crate::pair::transfer("q"), true);
    let (flags, rest) = (bytes[0], &bytes[1..]);
    // Content is to come.
    let begun = [&[flags & !4], rest].concat();
    assert_eq!(raw.feed(&begun), []);
    raw.feed(&gap(0, 0));
    assert_eq!(command_ids(&raw.feed(&command(0, &tx_select(), true))), [1]);
    assert!(raw.broker.is_open());
}

#[test]
fn gap_of_what_has_come_changes_nothing() {
    let mut raw = Raw::attached();
    let one = command(0, &tx_select(), true);
    raw.feed(&one.repeat(2));
    raw.feed(&gap(0, 1));
    assert_eq!(command_ids(&raw.feed(&one)), [2]);
}

#[test]
fn more_gaps_than_the_bound_are_refused() {
    let mut raw = Raw::attached();
    let most = ferrymq::protocol::limits::GAP_RANGES_MAX as u32;
    let mut events = Vec::new();
    for n in 0..=most {
        events = raw.feed(&gap(2 * n + 1, 2 * n + 1));
    }
    let [Event::Refused { code, .. }] = &events[..] else {
        panic!("{events:?}");
    };
    assert_eq!(*code, ErrorCode::RESOURCE_LIMIT_EXCEEDED);
}

#[test]
fn commands_of_a_resumed_session_that_have_come_before_are_dropped() {
    let mut broker = Raw::opened().broker;
    let one = command(3, &tx_select(), true);
    let mut bytes = BytesMut::from(&[attach(3, b"a"), point(3, 5), one.repeat(4)].concat()[..]);
    broker.handle_input(NOW, &mut bytes);
    assert!(matches!(broker.poll_event(), Some(Event::Attach { .. })));
    broker.attached_again(3, CommandId(7));
    let events: Vec<Event> = std::iter::from_fn(|| broker.poll_event()).collect();
    assert_eq!(command_ids(&events), [7, 8]);
}

#[test]
fn command_point_of_a_resumed_session_leaves_no_gap() {
    let mut broker = Raw::opened().broker;
    let mut bytes = BytesMut::from(&[attach(3, b"a"), point(3, 8)].concat()[..]);
    broker.handle_input(NOW, &mut bytes);
    assert!(matches!(broker.poll_event(), Some(Event::Attach { .. })));
    broker.attached_again(3, CommandId(7));
    assert!(matches!(broker.poll_event(), Some(Event::Refused { .. })));
}

#[test]
fn command_point_goes_out_before_a_command_that_does_not_follow_the_last() {
    let mut raw = Raw::attached();
    let sync = Command::ExecutionSync(ExecutionSync {});
    for id in [4, 5, 9] {
        raw.broker.send_command(0, CommandId(id), &sync, true, None);
    }
    let points: Vec<u32> = controls(&taken(&mut raw.broker))
        .into_iter()
        .filter_map(|(_, control)| match control {
            Control::SessionCommandPoint(point) => Some(point.command_id.0),
            _ => None,
        })
        .collect();
    assert_eq!(points, [4, 9]);
}

#[test]
fn a_session_name_of_many_bytes_closes_501() {
    let mut raw = Raw::opened();
    raw.feed(&attach(0, &[b'n'; 4_097]));
    assert_eq!(raw.close().map(|close| close.0), Some(501));
}

#[test]
fn commands_are_numbered_from_the_command_point() {
    for start in [0, 1, 77, 0x7fff_ffff, 0xffff_ffff] {
        let mut raw = Raw::opened();
        raw.feed(&attach(0, b"s"));
        raw.feed(&point(0, start));
        let bytes = command(0, &tx_select(), true).repeat(3);
        let expected = [start, start.wrapping_add(1), start.wrapping_add(2)];
        assert_eq!(command_ids(&raw.feed(&bytes)), expected);
    }
}

#[test]
fn commands_before_the_command_point_are_refused_409() {
    let mut raw = Raw::opened();
    raw.feed(&attach(0, b"s"));
    let events = raw.feed(&command(0, &tx_select(), true).repeat(2));
    let [Event::Refused { code, .. }] = &events[..] else {
        panic!("{events:?}")
    };
    assert_eq!(*code, ErrorCode::ILLEGAL_STATE);
}

#[test]
fn a_command_point_with_an_offset_is_refused() {
    let mut raw = Raw::opened();
    raw.feed(&attach(0, b"s"));
    let point = SessionCommandPoint {
        command_id: CommandId(0),
        command_offset: 1,
    };
    let events = raw.feed(&control(0, &Control::SessionCommandPoint(point)));
    assert!(
        matches!(
            &events[..],
            [Event::Refused {
                class: 2,
                command: 7,
                ..
            }]
        ),
        "{events:?}"
    );
}

#[test]
fn commands_seen_again_behind_a_command_point_are_dropped() {
    let mut raw = Raw::attached();
    let one = command(0, &tx_select(), true);
    raw.feed(&one.repeat(3));
    raw.feed(&point(0, 1));
    assert_eq!(command_ids(&raw.feed(&one.repeat(4))), [3, 4]);
}

#[test]
fn a_command_point_that_leaves_a_gap_is_refused() {
    let mut raw = Raw::attached();
    raw.feed(&command(0, &tx_select(), true));
    let events = raw.feed(&point(0, 2));
    assert!(matches!(&events[..], [Event::Refused { .. }]), "{events:?}");
}

#[test]
fn unknown_commands_are_refused_540_and_undecodable_ones_close_501() {
    let mut raw = Raw::attached();
    let unknown = frame(SegmentType::COMMAND, 15, 0, &[77, 99, 1, 0]);
    let events = raw.feed(&unknown);
    let [
        Event::Refused {
            id: CommandId(0),
            code,
            class: 77,
            command: 99,
            ..
        },
    ] = &events[..]
    else {
        panic!("{events:?}");
    };
    assert_eq!(*code, ErrorCode::NOT_IMPLEMENTED);

    let mut raw = Raw::attached();
    raw.feed(&frame(
        SegmentType::COMMAND,
        15,
        0,
        &[4, 7, 1, 0, 1, 0, 200],
    ));
    assert_eq!(raw.close().map(|close| close.0), Some(501));
    let Some(Event::Closed { text, .. }) = raw.events.last() else {
        panic!()
    };
    assert!(text.contains("message.subscribe"), "{text}");
}

#[test]
fn a_failed_session_says_exception_then_detach_and_hears_nothing_until_detached() {
    let mut raw = Raw::attached();
    raw.feed(&command(0, &tx_select(), true));
    raw.broker
        .fail_session(0, CommandId(5), exception(ErrorCode::NOT_FOUND));
    let output = taken(&mut raw.broker);
    let said = frames(&output);
    assert_eq!(said.len(), 3, "command-point, exception, detach");
    let (_, decoded) = Command::decode(&mut Cursor::new(&said[1].1)).unwrap();
    assert_eq!(
        decoded,
        Command::ExecutionException(exception(ErrorCode::NOT_FOUND))
    );
    let point = SessionCommandPoint {
        command_id: CommandId(5),
        command_offset: 0,
    };
    assert_eq!(
        controls(&output),
        [
            (0, Control::SessionCommandPoint(point)),
            (
                0,
                Control::SessionDetach(SessionDetach {
                    name: b"s".to_vec()
                })
            ),
        ]
    );

    let ignored = [
        command(0, &tx_select(), true),
        control(0, &Control::SessionFlush(Default::default())),
        control(0, &Control::SessionGap(Default::default())),
        attach(0, b"t"),
    ];
    assert_eq!(raw.feed(&ignored.concat()), []);
    raw.broker.send_command(
        0,
        CommandId(6),
        &Command::ExecutionSync(ExecutionSync {}),
        true,
        None,
    );
    assert_eq!(
        frames(&taken(&mut raw.broker)),
        [],
        "nothing is sent behind a detach"
    );

    raw.feed(&control(0, &detached(0, b"s", DetachCode::NORMAL).1));
    let events = raw.feed(&attach(0, b"s"));
    assert!(matches!(&events[..], [Event::Attach { .. }]), "{events:?}");
}

#[test]
fn a_failed_session_that_the_peer_detaches_itself_is_answered_and_gone() {
    let mut raw = Raw::attached();
    raw.broker
        .fail_session(0, CommandId(0), exception(ErrorCode::NOT_FOUND));
    taken(&mut raw.broker);
    assert_eq!(raw.feed(&detach(0, b"s")), []);
    assert_eq!(raw.controls(), [detached(0, b"s", DetachCode::NORMAL)]);
    let late = control(0, &detached(0, b"s", DetachCode::NORMAL).1);
    assert_eq!(raw.feed(&late), []);
    assert_eq!(raw.broker.session_count(), 0);
}

#[test]
fn after_a_refusal_only_detach_is_heard() {
    let mut raw = Raw::attached();
    raw.feed(&point(0, 1));
    raw.feed(&point(0, 3));
    assert_eq!(raw.feed(&command(0, &tx_select(), true)), []);
    let events = raw.feed(&detach(0, b"s"));
    assert!(matches!(&events[..], [Event::Detach { .. }]), "{events:?}");
}

#[test]
fn an_unasked_detached_of_the_peer_ends_the_session() {
    let mut raw = Raw::attached();
    let bytes = control(0, &detached(0, b"s", DetachCode::NORMAL).1);
    let name = b"s".to_vec();
    assert_eq!(
        raw.feed(&bytes),
        [Event::Detached {
            channel: 0,
            name,
            code: DetachCode::NORMAL
        }]
    );
    assert_eq!(raw.controls(), []);
}

#[test]
fn sessions_of_many_channels_are_kept_apart() {
    let mut raw = Raw::opened();
    let channels = [0, 1, 255, 256, 5_000, 65_534];
    for channel in channels {
        raw.attach(channel, channel.to_string().as_bytes());
    }
    for channel in channels {
        let events = raw.feed(&command(channel, &tx_select(), true));
        assert!(matches!(&events[..], [Event::Command { channel: c, .. }] if *c == channel));
    }
    raw.feed(&detach(256, b"256"));
    assert_eq!(raw.feed(&command(256, &tx_select(), true)), []);
    assert_eq!(
        command_ids(&raw.feed(&command(5_000, &tx_select(), true))),
        [1]
    );
}

#[test]
fn both_ends_agree_on_attach_exception_and_detach() {
    let mut pair = Pair::attached();
    pair.client.send(0, &tx_select(), false, None);
    pair.exchange();
    pair.broker
        .fail_session(0, CommandId(0), exception(ErrorCode::NOT_FOUND));
    pair.exchange();
    let exception = exception(ErrorCode::NOT_FOUND);
    let name = b"s".to_vec();
    assert_eq!(
        pair.client_events,
        [
            Event::Exception {
                channel: 0,
                exception
            },
            Event::Detached {
                channel: 0,
                name: name.clone(),
                code: DetachCode::NORMAL
            },
        ]
    );
    pair.forget();
    pair.client.attach(0, name.clone(), false);
    pair.exchange();
    assert_eq!(
        pair.client_events,
        [Event::Attached {
            channel: 0,
            name: name.clone()
        }]
    );
    pair.client.detach(0);
    pair.exchange();
    assert_eq!(
        pair.broker_events.last(),
        Some(&Event::Detach {
            channel: 0,
            name: name.clone()
        })
    );
    let code = DetachCode::NORMAL;
    assert_eq!(
        pair.client_events.last(),
        Some(&Event::Detached {
            channel: 0,
            name,
            code
        })
    );
    assert_eq!(
        (pair.client.session_count(), pair.broker.session_count()),
        (0, 0)
    );
}

#[test]
fn a_control_in_several_frames_is_one_control() {
    let whole = crate::raw::control_bytes(&Control::SessionAttach(SessionAttach {
        name: b"long name".to_vec(),
        force: true,
    }));
    let (a, b) = whole.split_at(5);
    let pieces = [
        frame(SegmentType::CONTROL, 14, 4, a),
        attach(6, b"between"),
        frame(SegmentType::CONTROL, 12, 4, b""),
        frame(SegmentType::CONTROL, 13, 4, b),
    ];
    let mut raw = Raw::opened();
    let events = raw.feed(&pieces.concat());
    let [
        Event::Attach { channel: 6, .. },
        Event::Attach {
            channel: 4,
            name,
            force: true,
        },
    ] = &events[..]
    else {
        panic!("{events:?}");
    };
    assert_eq!(name, b"long name");
}

#[test]
fn controls_overtake_a_half_received_command_of_their_channel() {
    let mut raw = Raw::attached();
    let transfer = command(0, &crate::pair::transfer("q"), false);
    let flush = control(0, &Control::SessionFlush(Default::default()));
    let body = frame(SegmentType::BODY, 7, 0, b"x");
    let events = raw.feed(&[transfer, flush, body].concat());
    assert!(
        matches!(&events[..], [Event::Flush { .. }, Event::Command { .. }]),
        "{events:?}"
    );
}

#[test]
fn a_caller_that_polls_late_misses_nothing() {
    let mut broker: Connection = Raw::opened().broker;
    broker.handle_input(NOW, &mut BytesMut::from(&attach(0, b"s")[..]));
    broker.handle_input(NOW, &mut BytesMut::from(&point(0, 0)[..]));
    broker.handle_input(
        NOW,
        &mut BytesMut::from(&command(0, &tx_select(), true)[..]),
    );
    let mut events = Vec::new();
    while let Some(event) = broker.poll_event() {
        answer(&mut broker, &event);
        events.push(event);
    }
    assert!(
        matches!(&events[..], [Event::Attach { .. }, Event::Command { .. }]),
        "{events:?}"
    );
}
