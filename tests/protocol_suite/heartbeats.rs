//! Heartbeats on a virtual clock.

use bytes::BytesMut;
use ferrymq::protocol::{ClientConfig, ClosedBy, Event, Time};
use ferrymq::wire::{ConnectionHeartbeat, Control};

use crate::pair::{Pair, broker_config, polled, taken};
use crate::raw::{NOW, Raw, control, controls, handshake};

fn heartbeat() -> Control {
    Control::ConnectionHeartbeat(ConnectionHeartbeat {})
}

/// A broker whose peer wants a heartbeat each 5 seconds.
fn opened() -> Raw {
    let mut raw = Raw::new(broker_config());
    raw.feed(&handshake(65_535, 5));
    assert!(raw.broker.is_open());
    raw.events.clear();
    taken(&mut raw.broker);
    raw
}

#[test]
fn broker_sends_a_heartbeat_each_interval_whatever_else_it_sends() {
    let mut raw = opened();
    for beat in 1..=10_u64 {
        let at = Time(NOW.0 + beat * 5_000);
        assert_eq!(raw.broker.poll_timeout(), Some(at));
        raw.broker.handle_timeout(Time(at.0 - 1));
        assert!(raw.broker.output().is_empty());
        raw.broker.handle_timeout(at);
        assert_eq!(raw.controls(), [(0, heartbeat())]);
        let mut input = BytesMut::from(&control(0, &heartbeat())[..]);
        raw.broker.handle_input(at, &mut input);
        assert_eq!(polled(&mut raw.broker), []);
    }
}

#[test]
fn two_intervals_without_input_abort_the_connection_without_a_close() {
    let mut raw = opened();
    let last = Time(NOW.0 + 3_000);
    raw.broker
        .handle_input(last, &mut BytesMut::from(&control(0, &heartbeat())[..1]));
    raw.broker.handle_timeout(Time(last.0 + 9_999));
    assert_eq!(polled(&mut raw.broker), []);
    raw.broker.handle_timeout(Time(last.0 + 10_000));
    let events = polled(&mut raw.broker);
    assert!(
        matches!(
            &events[..],
            [Event::Closed {
                by: ClosedBy::Lost,
                ..
            }]
        ),
        "{events:?}"
    );
    let output = taken(&mut raw.broker);
    assert!(
        controls(&output)
            .iter()
            .all(|(_, said)| *said == heartbeat())
    );
    assert!(raw.broker.should_close_socket());
}

#[test]
fn idle_ends_keep_each_other_alive() {
    let client = ClientConfig {
        heartbeat: 3,
        ..ClientConfig::default()
    };
    let mut pair = Pair::opened_with(broker_config(), client);
    pair.advance(1_000_000);
    assert!(pair.broker.is_open() && pair.client.is_open());
    assert!(pair.broker_events.is_empty() && pair.client_events.is_empty());
}

#[test]
fn a_client_whose_broker_falls_silent_gives_up() {
    let client = ClientConfig {
        heartbeat: 3,
        ..ClientConfig::default()
    };
    let mut pair = Pair::opened_with(broker_config(), client);
    pair.client.handle_timeout(Time(pair.now.0 + 6_000));
    let events = polled(&mut pair.client);
    assert!(
        matches!(
            &events[..],
            [Event::Closed {
                by: ClosedBy::Lost,
                ..
            }]
        ),
        "{events:?}"
    );
}

#[test]
fn no_heartbeat_asked_for_means_none_and_no_deadline() {
    let mut pair = Pair::opened();
    assert_eq!(pair.broker.poll_timeout(), None);
    assert_eq!(pair.client.poll_timeout(), None);
    pair.advance(1_000_000);
    assert!(pair.broker.is_open());
}

/// QPID-7127.
#[test]
fn the_longest_interval_is_kept_and_no_timer_spins() {
    let mut raw = Raw::new(broker_config());
    raw.feed(&handshake(65_535, u16::MAX));
    taken(&mut raw.broker);
    assert!(raw.broker.is_open());
    for beat in 1..=3_u64 {
        let at = Time(NOW.0 + beat * 65_535_000);
        assert_eq!(raw.broker.poll_timeout(), Some(at));
        raw.broker.handle_timeout(at);
        assert_eq!(raw.controls(), [(0, heartbeat())]);
        let mut input = BytesMut::from(&control(0, &heartbeat())[..]);
        raw.broker.handle_input(at, &mut input);
    }
}

#[test]
fn heartbeats_of_the_peer_are_no_events() {
    let mut raw = Raw::attached();
    assert_eq!(raw.feed(&control(0, &heartbeat()).repeat(100)), []);
    assert_eq!(raw.controls(), []);
}

#[test]
fn a_peer_that_is_not_read_is_not_taken_for_silent() {
    let mut raw = opened();
    let attach = crate::raw::attach(0, b"s");
    raw.broker
        .handle_input(NOW, &mut BytesMut::from(&attach[..]));
    assert!(matches!(
        raw.broker.poll_event(),
        Some(Event::Attach { .. })
    ));
    let waiting = control(0, &heartbeat()).repeat(20_000);
    raw.broker
        .handle_input(NOW, &mut BytesMut::from(&waiting[..]));
    assert_eq!(raw.broker.poll_event(), None);
    assert!(!raw.broker.wants_input());
    raw.broker.handle_timeout(Time(NOW.0 + 60_000));
    assert!(raw.broker.is_open());
}
