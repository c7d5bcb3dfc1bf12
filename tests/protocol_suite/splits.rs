//! Events do not depend on how the input was cut.

use bytes::{Bytes, BytesMut};
use ferrymq::protocol::{ClientConfig, Connection, Content, Event, Pieces};
use ferrymq::wire::{Command, CommandId, ExecutionResult, QueueQuery, SequenceSet, TxSelect};

use crate::pair::{Pair, broker_config, polled, publish, transfer};
use crate::raw::NOW;

/// A conversation with a bit of everything: what the client said, what the broker said.
pub fn recording() -> (Vec<u8>, Vec<u8>) {
    let client = ClientConfig {
        max_frame_size: 4_096,
        heartbeat: 5,
        ..ClientConfig::default()
    };
    let mut pair = Pair::new(broker_config(), client);
    pair.exchange();
    for (channel, name) in [(0, "a"), (3, "b"), (700, "c")] {
        pair.client.attach(channel, name.into(), false);
        publish(&mut pair.client, channel, Some(b"header"), Some(b"body"));
        publish(
            &mut pair.client,
            channel,
            Some(&[9; 5_000]),
            Some(&[8; 20_000]),
        );
        publish(&mut pair.client, channel, None, Some(b""));
        let query = Command::QueueQuery(QueueQuery { queue: "q".into() });
        pair.client.send(channel, &query, true, None);
        pair.exchange();
        let result = ExecutionResult {
            command_id: CommandId(3),
            value: None,
        };
        let result = Command::ExecutionResult(result);
        pair.broker
            .send_command(channel, CommandId(0), &result, false, None);
        for id in 1..4 {
            let pieces = [
                Bytes::from(vec![id as u8; 7_000]),
                Bytes::from_static(b"end"),
            ];
            let content = Content {
                header: Some(b"head"),
                body: Some(Pieces::Shared(&pieces)),
            };
            pair.broker.send_command(
                channel,
                CommandId(id),
                &transfer("t"),
                id == 3,
                Some(content),
            );
        }
        pair.exchange();
        pair.client.complete(
            channel,
            &SequenceSet::from_range(CommandId(1), CommandId(3)),
        );
        pair.client.send_completed(channel);
        pair.client.flush_completed(channel);
        pair.exchange();
    }
    pair.advance(11_000);
    pair.client
        .send(3, &Command::TxSelect(TxSelect {}), false, None);
    pair.exchange();
    pair.broker
        .fail_session(3, CommandId(4), Default::default());
    pair.exchange();
    pair.client.detach(0);
    pair.exchange();
    pair.client.close(ferrymq::wire::CloseCode::NORMAL, "done");
    pair.exchange();
    assert!(pair.client.should_close_socket() && pair.broker.should_close_socket());
    (pair.to_broker, pair.to_client)
}

/// A small generator of numbers: the same seed, the same numbers.
pub struct Numbers(pub u64);

impl Numbers {
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    pub fn below(&mut self, bound: usize) -> usize {
        (self.next() >> 11) as usize % bound.max(1)
    }
}

/// What matters of events: bodies may come in other pieces.
fn joined(events: Vec<Event>) -> Vec<Event> {
    events
        .into_iter()
        .map(|event| match event {
            Event::Command {
                channel,
                id,
                sync,
                command,
                header,
                body: Some(body),
            } => {
                let body = Some([Bytes::from(body.concat())].into_iter().collect());
                Event::Command {
                    channel,
                    id,
                    sync,
                    command,
                    header,
                    body,
                }
            }
            other => other,
        })
        .collect()
}

fn fed(mut end: Connection, bytes: &[u8], mut step: impl FnMut() -> usize) -> Vec<Event> {
    let mut events = Vec::new();
    let mut buffer = BytesMut::new();
    let mut left = bytes;
    while !left.is_empty() {
        let (now, rest) = left.split_at(step().clamp(1, left.len()));
        buffer.extend_from_slice(now);
        end.handle_input(NOW, &mut buffer);
        events.extend(polled(&mut end));
        left = rest;
    }
    joined(events)
}

#[test]
fn brokers_events_are_the_same_however_the_bytes_are_cut() {
    let (to_broker, _) = recording();
    let end = || Connection::broker(broker_config(), NOW);
    let whole = fed(end(), &to_broker, || usize::MAX);
    assert!(whole.len() > 25, "{}", whole.len());
    assert!(matches!(whole.last(), Some(Event::Closed { .. })));
    assert!(fed(end(), &to_broker, || 1) == whole, "byte by byte");
    for seed in 1..40 {
        let mut numbers = Numbers(seed);
        let step = || 1 + numbers.below(1 << (seed % 14));
        assert!(fed(end(), &to_broker, step) == whole, "seed {seed}");
    }
}

#[test]
fn clients_events_are_the_same_however_the_bytes_are_cut() {
    let (_, to_client) = recording();
    // The client has asked for nothing here: attach what the recording is about first.
    let end = || {
        let mut pair = Pair::new(broker_config(), ClientConfig::default());
        pair.exchange();
        for channel in [0, 3, 700] {
            pair.client
                .attach(channel, vec![b'a' + u8::from(channel > 0)], false);
        }
        (pair.client, pair.to_client.len())
    };
    let (first, greeting) = end();
    let bytes = &to_client[greeting..];
    let whole = fed(first, bytes, || usize::MAX);
    assert!(whole.len() > 10, "{whole:?}");
    assert!(fed(end().0, bytes, || 1) == whole, "byte by byte");
    for seed in 1..20 {
        let mut numbers = Numbers(seed);
        let step = || 1 + numbers.below(1 << (seed % 14));
        assert!(fed(end().0, bytes, step) == whole, "seed {seed}");
    }
}
