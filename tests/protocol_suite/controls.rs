//! The controls of an attached session.

use ferrymq::protocol::{ClosedBy, Event, limits};
use ferrymq::wire::{
    CommandId, Control, SequenceSet, SessionCompleted, SessionConfirmed, SessionDetach,
    SessionExpected, SessionFlush, SessionKnownCompleted, SessionRequestTimeout, SessionTimeout,
};

use crate::raw::{Raw, control, frame};

fn set(first: u32, last: u32) -> SequenceSet {
    SequenceSet::from_range(CommandId(first), CommandId(last))
}

#[test]
fn session_controls_come_out_as_events() {
    let some = Some(set(0, 5));
    let cases = [
        (
            Control::SessionExpected(SessionExpected {
                commands: set(0, 5),
                fragments: None,
            }),
            Event::Expected {
                channel: 0,
                commands: set(0, 5),
            },
        ),
        (
            Control::SessionConfirmed(SessionConfirmed {
                commands: some.clone(),
                fragments: None,
            }),
            Event::Confirmed {
                channel: 0,
                commands: set(0, 5),
            },
        ),
        (
            Control::SessionCompleted(SessionCompleted {
                commands: some.clone(),
                timely_reply: false,
            }),
            Event::Completed {
                channel: 0,
                commands: set(0, 5),
                timely_reply: false,
            },
        ),
        (
            Control::SessionKnownCompleted(SessionKnownCompleted { commands: some }),
            Event::KnownCompleted {
                channel: 0,
                commands: set(0, 5),
            },
        ),
        (
            Control::SessionFlush(SessionFlush {
                expected: true,
                confirmed: false,
                completed: true,
            }),
            Event::Flush {
                channel: 0,
                expected: true,
                confirmed: false,
                completed: true,
            },
        ),
    ];
    come_out(cases);
}

#[test]
fn timeouts_come_out_as_events() {
    let cases = [
        (
            Control::SessionRequestTimeout(SessionRequestTimeout { timeout: Some(60) }),
            Event::RequestTimeout {
                channel: 0,
                timeout: Some(60),
            },
        ),
        (
            Control::SessionRequestTimeout(SessionRequestTimeout { timeout: None }),
            Event::RequestTimeout {
                channel: 0,
                timeout: None,
            },
        ),
        (
            Control::SessionTimeout(SessionTimeout { timeout: Some(0) }),
            Event::Timeout {
                channel: 0,
                timeout: Some(0),
            },
        ),
    ];
    come_out(cases);
}

fn come_out(cases: impl IntoIterator<Item = (Control, Event)>) {
    let mut raw = Raw::attached();
    for (sent, event) in cases {
        assert_eq!(raw.feed(&control(0, &sent)), [event]);
        assert_eq!(raw.controls(), []);
    }
}

#[test]
fn completed_with_timely_reply_is_answered_with_known_completed_of_the_same_set() {
    let mut raw = Raw::attached();
    let commands = Some(set(3, 9));
    let completed = SessionCompleted {
        commands: commands.clone(),
        timely_reply: true,
    };
    let events = raw.feed(&control(0, &Control::SessionCompleted(completed)));
    let event = Event::Completed {
        channel: 0,
        commands: set(3, 9),
        timely_reply: true,
    };
    assert_eq!(events, [event]);
    let known = SessionKnownCompleted { commands };
    assert_eq!(raw.controls(), [(0, Control::SessionKnownCompleted(known))]);
}

#[test]
fn a_completion_of_half_of_all_ids_is_one_event() {
    let mut raw = Raw::attached();
    let commands = Some(set(0, 0x7fff_ffff));
    let completed = SessionCompleted {
        commands,
        timely_reply: true,
    };
    let events = raw.feed(&control(0, &Control::SessionCompleted(completed)));
    let [Event::Completed { commands, .. }] = &events[..] else {
        panic!("{events:?}")
    };
    assert_eq!(
        commands.clipped(CommandId(10), CommandId(12)).ids().count(),
        3
    );
}

#[test]
fn an_inverted_range_closes_501() {
    let mut raw = Raw::attached();
    // session.completed, commands flag, one range [5, 4].
    let payload = [2, 10, 1, 0, 0, 8, 0, 0, 0, 5, 0, 0, 0, 4];
    raw.feed(&frame(ferrymq::wire::SegmentType::CONTROL, 15, 0, &payload));
    assert_eq!(raw.close().map(|close| close.0), Some(501));
}

#[test]
fn controls_of_the_other_role_close_501() {
    for sent in [
        Control::SessionAttached(Default::default()),
        Control::ConnectionStart(Default::default()),
        Control::ConnectionTuneOk(Default::default()),
        Control::ConnectionOpen(Default::default()),
    ] {
        let mut raw = Raw::attached();
        raw.feed(&control(0, &sent));
        assert_eq!(
            raw.close().map(|close| close.0),
            Some(501),
            "{}",
            sent.name()
        );
    }
}

#[test]
fn a_peer_that_never_reads_its_answers_is_cut_off() {
    let mut raw = Raw::opened();
    let detach = SessionDetach {
        name: vec![b'n'; 4_000],
    };
    let detach = control(7, &Control::SessionDetach(detach));
    let mut fed = 0;
    while raw.broker.is_open() {
        raw.feed(&detach);
        fed += detach.len();
        assert!(fed < 4 * limits::REPLY_BYTES_MAX);
    }
    assert!(matches!(
        raw.events.last(),
        Some(Event::Closed {
            by: ClosedBy::Us,
            ..
        })
    ));
    assert!(raw.broker.should_close_socket());
}

#[test]
fn a_peer_that_reads_its_answers_may_ask_for_ever() {
    let mut raw = Raw::opened();
    let detach = SessionDetach {
        name: vec![b'n'; 4_000],
    };
    let detach = control(7, &Control::SessionDetach(detach));
    for _ in 0..2_000 {
        raw.feed(&detach);
        // Always some bytes behind, never empty.
        let output = raw.broker.output();
        while output.len() > 10_000 {
            let count = output.front().len().min(3_000);
            output.advance(count);
        }
    }
    assert!(raw.broker.is_open());
}

#[test]
fn halves_of_more_controls_than_the_bound_close_501() {
    let mut raw = Raw::opened();
    for channel in 0..=limits::PARTIAL_CONTROLS_MAX as u16 {
        assert!(raw.broker.is_open());
        raw.feed(&frame(
            ferrymq::wire::SegmentType::CONTROL,
            14,
            channel,
            &[2, 1],
        ));
    }
    assert_eq!(raw.close().map(|close| close.0), Some(501));
}
