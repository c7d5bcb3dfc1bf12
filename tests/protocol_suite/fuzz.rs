//! A seeded fuzzer: good conversations mutated, and noise. No panic, memory in bounds.
//!
//! A failing seed is in the message; `FERRYMQ_FUZZ_ROUNDS` makes it run longer.

use std::collections::BTreeMap;

use bytes::{Bytes, BytesMut};
use ferrymq::protocol::{
    BrokerConfig, ClientConfig, Connection, Content, Event, Pieces, Time, limits,
};
use ferrymq::wire::{CloseCode, CommandId, Control, DetachCode};

use crate::pair::{answer, broker_config, transfer};
use crate::splits::{Numbers, recording};

/// Half-received messages of one connection in these runs, in bytes.
const ASSEMBLIES_BYTES_MAX: usize = 60_000;
/// What one connection may hold: messages, controls, and one read beyond a frame.
const HELD_BYTES_MAX: usize =
    ASSEMBLIES_BYTES_MAX + limits::CONTROL_BYTES_MAX + 2 * limits::MAX_FRAME_SIZE as usize;

fn config() -> BrokerConfig {
    let mut config = broker_config();
    config.bounds.assembly_bytes_max = 15_000;
    config.bounds.assemblies_bytes_max = ASSEMBLIES_BYTES_MAX;
    config.bounds.sessions_max = 5;
    config
}

fn end(role: usize, now: Time) -> Connection {
    match role {
        0 => Connection::broker(config(), now),
        _ => {
            let bounds = config().bounds;
            Connection::client(
                ClientConfig {
                    bounds,
                    heartbeat: 5,
                    ..Default::default()
                },
                now,
            )
        }
    }
}

/// Frames of a recording, the protocol header as the first.
fn cut(bytes: &[u8]) -> Vec<Vec<u8>> {
    let mut frames = vec![bytes[..8].to_vec()];
    let mut left = &bytes[8..];
    while left.len() >= 12 {
        let size = usize::from(u16::from_be_bytes([left[2], left[3]]));
        let (frame, rest) = left.split_at(size);
        frames.push(frame.to_vec());
        left = rest;
    }
    frames
}

fn mutate(frames: &mut Vec<Vec<u8>>, numbers: &mut Numbers) {
    let at = numbers.below(frames.len());
    let other = numbers.below(frames.len());
    match numbers.below(9) {
        0 => frames.swap(at, other),
        1 => {
            frames.remove(at);
        }
        2 => {
            let copy = frames[at].clone();
            frames.insert(other, copy);
        }
        3 => {
            let length = numbers.below(frames[at].len());
            frames[at].truncate(length);
        }
        4 => {
            let noise = (0..numbers.below(40))
                .map(|_| numbers.next() as u8)
                .collect();
            frames.insert(at, noise);
        }
        5 if frames[at].len() >= 12 => {
            // Another flag, type, track or channel; the frame stays whole.
            let byte = [0, 1, 5, 6, 7][numbers.below(5)];
            frames[at][byte] ^= 1 << numbers.below(8);
        }
        6 if frames[at].len() >= 12 => {
            // A frame with another payload, its size right.
            let bytes = numbers.below(200);
            frames[at].truncate(12);
            frames[at].extend((0..bytes).map(|_| numbers.next() as u8));
            let size = (12 + bytes) as u16;
            frames[at][2..4].copy_from_slice(&size.to_be_bytes());
        }
        _ if !frames[at].is_empty() => {
            let byte = numbers.below(frames[at].len());
            frames[at][byte] = match numbers.below(4) {
                0 => 0,
                1 => 0xff,
                2 => frames[at][byte] ^ (1 << numbers.below(8)),
                _ => numbers.next() as u8,
            };
        }
        _ => {}
    }
    if frames.is_empty() {
        frames.push(Vec::new());
    }
}

/// The caller does something, sensible or not.
fn meddle(end: &mut Connection, numbers: &mut Numbers) {
    let channel = [0, 3, 700, 9][numbers.below(4)];
    match numbers.below(9) {
        0 => end.detached(channel, DetachCode::SESSION_BUSY),
        1 => end.detach(channel),
        2 => end.fail_session(
            channel,
            CommandId(numbers.next() as u32),
            Default::default(),
        ),
        3 => {
            let pieces = [Bytes::from(vec![1; numbers.below(20_000)])];
            let content = Content {
                header: Some(b""),
                body: Some(Pieces::Shared(&pieces)),
            };
            end.send_command(channel, CommandId(7), &transfer("t"), true, Some(content));
        }
        4 => {
            end.send(channel, &transfer("t"), false, None);
        }
        5 => end.send_completed(channel),
        6 => end.attach(channel, b"n".to_vec(), false),
        7 => end.send_control(channel, &Control::SessionFlush(Default::default())),
        _ if numbers.below(20) == 0 => end.close(CloseCode::NORMAL, "enough"),
        _ => end.authenticated(),
    }
}

/// How often each kind of event was seen: a fuzzer that reaches nothing finds nothing.
type Reached = BTreeMap<&'static str, u64>;

fn kind(event: &Event) -> &'static str {
    match event {
        Event::Open { .. } => "open",
        Event::Attach { .. } => "attach",
        Event::Detach { .. } => "detach",
        Event::Command { body: Some(_), .. } => "command with body",
        Event::Command { .. } => "command",
        Event::Refused { code, .. } if code.0 == 506 => "refused 506",
        Event::Refused { .. } => "refused",
        Event::Completed { .. } => "completed",
        Event::OpenOk { .. } => "open-ok",
        Event::Result { .. } => "result",
        Event::Exception { .. } => "exception",
        Event::Closed { code, .. } if code.0 == 501 => "closed 501",
        Event::Closed { .. } => "closed",
        _ => "other",
    }
}

/// One conversation gone wrong. The error says what went out of bounds.
fn conversation(
    seed: u64,
    recordings: &[Vec<Vec<u8>>; 2],
    held_bytes_max: usize,
    reached: &mut Reached,
) -> Result<(), String> {
    let mut numbers = Numbers(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let role = numbers.below(2);
    let mut now = Time(0);
    let mut end = end(role, now);
    let mut frames = recordings[role].clone();
    for _ in 0..numbers.below(6) {
        mutate(&mut frames, &mut numbers);
    }
    let bytes = frames.concat();
    let meddling = numbers.below(3) == 0;
    let mut left = &bytes[..];
    let mut closed = 0;
    while !left.is_empty() && end.wants_input() {
        let most = 1 << numbers.below(14);
        let step = (1 + numbers.below(most)).min(left.len());
        end.handle_input(now, &mut BytesMut::from(&left[..step]));
        left = &left[step..];
        let held = end.held_bytes();
        if held > held_bytes_max {
            return Err(format!("seed {seed}: {held} bytes held"));
        }
        while let Some(event) = end.poll_event() {
            *reached.entry(kind(&event)).or_default() += 1;
            closed += u32::from(matches!(event, Event::Closed { .. }));
            if closed > 0 && !matches!(event, Event::Closed { .. }) {
                return Err(format!("seed {seed}: {event:?} behind Closed"));
            }
            answer(&mut end, &event);
        }
        if end.session_count() > 5 + 4 * usize::from(role == 1) {
            return Err(format!("seed {seed}: {} sessions", end.session_count()));
        }
        if meddling && numbers.below(4) == 0 {
            meddle(&mut end, &mut numbers);
        }
        if numbers.below(3) == 0 {
            let written = numbers.below(end.output().len() + 1);
            end.output().advance(written);
        }
        if numbers.below(8) == 0 {
            now = now.plus_milliseconds(numbers.next() % 3_000);
            end.handle_timeout(now);
        }
    }
    if closed > 1 {
        return Err(format!("seed {seed}: closed {closed} times"));
    }
    Ok(())
}

fn run(rounds: u64, held_bytes_max: usize) -> Result<Reached, String> {
    let (to_broker, to_client) = recording();
    let recordings = [cut(&to_broker), cut(&to_client)];
    let mut reached = Reached::new();
    for seed in 1..=rounds {
        conversation(seed, &recordings, held_bytes_max, &mut reached)?;
    }
    Ok(reached)
}

#[test]
fn mutated_conversations_never_panic_and_stay_in_bounds() {
    let rounds = std::env::var("FERRYMQ_FUZZ_ROUNDS")
        .ok()
        .and_then(|text| text.parse().ok());
    let reached = run(rounds.unwrap_or(3_000), HELD_BYTES_MAX).unwrap();
    for kind in [
        "open",
        "attach",
        "detach",
        "command",
        "command with body",
        "refused",
        "refused 506",
        "completed",
        "open-ok",
        "result",
        "exception",
        "closed",
        "closed 501",
    ] {
        assert!(
            reached.contains_key(kind),
            "never reached: {kind}; {reached:?}"
        );
    }
}

/// The canary: the same run with a bound that good conversations pass must fail.
#[test]
fn the_fuzzer_notices_a_bound_that_is_passed() {
    assert!(run(100, 2_000).is_err());
}

#[test]
fn noise_behind_each_step_of_a_conversation_never_panics() {
    let (to_broker, _) = recording();
    let frames = cut(&to_broker);
    for seed in 1..300 {
        let mut numbers = Numbers(seed * 77);
        let mut end = Connection::broker(config(), Time(0));
        let steps = numbers.below(frames.len());
        let mut bytes = frames[..steps].concat();
        bytes.extend((0..5_000).map(|_| numbers.next() as u8));
        end.handle_input(Time(0), &mut BytesMut::from(&bytes[..]));
        while let Some(event) = end.poll_event() {
            answer(&mut end, &event);
        }
        assert!(end.held_bytes() <= HELD_BYTES_MAX);
    }
}
