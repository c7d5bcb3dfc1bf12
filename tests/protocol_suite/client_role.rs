//! What a client's end keeps of the commands it sends and receives.

use ferrymq::protocol::Event;
use ferrymq::wire::{
    Command, CommandId, Control, DetachCode, ExecutionResult, ExecutionSync, MessageAccept,
    QueueQuery, SequenceSet, SessionCompleted, SessionFlush, Struct32, TxSelect,
};

use crate::pair::{Pair, polled, taken, transfer};
use crate::raw::controls;

fn set(first: u32, last: u32) -> SequenceSet {
    SequenceSet::from_range(CommandId(first), CommandId(last))
}

fn completed(commands: SequenceSet) -> Control {
    Control::SessionCompleted(SessionCompleted {
        commands: Some(commands),
        timely_reply: false,
    })
}

#[test]
fn sent_commands_are_numbered_and_kept_until_completed() {
    let mut pair = Pair::attached();
    for id in 0..5 {
        let sent = pair
            .client
            .send(0, &Command::TxSelect(TxSelect {}), false, None);
        assert_eq!(sent, Some(CommandId(id)));
    }
    pair.exchange();
    assert_eq!(pair.client.incomplete(0), Some(&set(0, 4)));
    pair.broker.send_control(0, &completed(set(1, 2)));
    pair.broker.send_control(0, &completed(set(0, 1_000_000)));
    pair.exchange();
    let told: Vec<_> = pair
        .client_events
        .iter()
        .map(|event| match event {
            Event::Completed { commands, .. } => commands.clone(),
            other => panic!("{other:?}"),
        })
        .collect();
    let mut rest = set(0, 0);
    rest.union(&set(3, 4));
    assert_eq!(
        told,
        [set(1, 2), rest],
        "each once, none that was never sent"
    );
    assert_eq!(pair.client.incomplete(0), Some(&SequenceSet::new()));
}

#[test]
fn commands_may_be_sent_before_attached_comes() {
    let mut pair = Pair::opened();
    pair.client.attach(4, b"s".to_vec(), false);
    assert_eq!(
        pair.client.send(4, &transfer("q"), false, None),
        Some(CommandId(0))
    );
    pair.exchange();
    assert!(matches!(
        pair.broker_events.last(),
        Some(Event::Command { .. })
    ));
}

#[test]
fn nothing_is_sent_without_a_session() {
    let mut pair = Pair::opened();
    assert_eq!(pair.client.send(4, &transfer("q"), false, None), None);
    assert!(taken(&mut pair.client).is_empty());
}

#[test]
fn a_refused_attach_is_told_with_its_code() {
    let mut pair = Pair::opened();
    pair.client.attach(4, b"s".to_vec(), false);
    pair.broker
        .handle_input(pair.now, &mut taken(&mut pair.client)[..].into());
    assert!(matches!(
        pair.broker.poll_event(),
        Some(Event::Attach { .. })
    ));
    pair.broker.detached(4, DetachCode::SESSION_BUSY);
    pair.exchange();
    let code = DetachCode::SESSION_BUSY;
    let detached = Event::Detached {
        channel: 4,
        name: b"s".to_vec(),
        code,
    };
    assert_eq!(pair.client_events, [detached]);
}

#[test]
fn results_come_with_the_id_of_their_command() {
    let mut pair = Pair::attached();
    let query = Command::QueueQuery(QueueQuery { queue: "q".into() });
    let id = pair.client.send(0, &query, true, None).unwrap();
    pair.exchange();
    let value = Some(Struct32 {
        code: 0x0801,
        bytes: vec![0, 0],
    });
    let result = ExecutionResult {
        command_id: id,
        value: value.clone(),
    };
    pair.broker.send_command(
        0,
        CommandId(0),
        &Command::ExecutionResult(result),
        false,
        None,
    );
    pair.exchange();
    assert_eq!(
        pair.client_events,
        [Event::Result {
            channel: 0,
            command_id: id,
            value
        }]
    );
}

/// What the broker hears in answer to a flush(completed).
fn flushed(pair: &mut Pair) -> SequenceSet {
    pair.broker_events.clear();
    let flush = SessionFlush {
        expected: true,
        confirmed: true,
        completed: true,
    };
    pair.broker.send_control(0, &Control::SessionFlush(flush));
    pair.exchange();
    let events = &pair.broker_events;
    assert!(
        matches!(
            &events[..],
            [
                Event::Expected { .. },
                Event::Confirmed { .. },
                Event::Completed {
                    timely_reply: true,
                    ..
                }
            ]
        ),
        "{events:?}"
    );
    match events.last() {
        Some(Event::Completed { commands, .. }) => commands.clone(),
        _ => SequenceSet::new(),
    }
}

#[test]
fn flush_is_answered_with_what_is_completed_until_it_is_known() {
    let mut pair = Pair::attached();
    for id in 0..4 {
        pair.broker
            .send_command(0, CommandId(id), &transfer("t"), false, None);
    }
    pair.exchange();
    assert_eq!(pair.client_events.len(), 4);
    pair.client.complete(0, &set(1, 2));
    assert_eq!(flushed(&mut pair), set(1, 2));
    // The broker's end answered known-completed, so these are not told again.
    pair.client.complete(0, &set(0, 100));
    let mut rest = set(0, 0);
    rest.union(&set(3, 3));
    assert_eq!(flushed(&mut pair), rest);
}

#[test]
fn completions_go_out_when_told_to_and_only_once_each_time() {
    let mut pair = Pair::attached();
    pair.broker
        .send_command(0, CommandId(0), &transfer("t"), false, None);
    pair.exchange();
    pair.client.send_completed(0);
    assert!(
        taken(&mut pair.client).is_empty(),
        "nothing is completed yet"
    );
    pair.client.complete(0, &set(0, 0));
    assert!(taken(&mut pair.client).is_empty(), "nobody asked");
    pair.client.send_completed(0);
    let said = controls(&taken(&mut pair.client));
    assert_eq!(said, [(0, completed(set(0, 0)))]);
    pair.client.send_completed(0);
    assert!(taken(&mut pair.client).is_empty());
}

#[test]
fn execution_sync_of_the_broker_is_completed_when_all_before_it_is() {
    let mut pair = Pair::attached();
    pair.broker
        .send_command(0, CommandId(0), &transfer("t"), false, None);
    let sync = Command::ExecutionSync(ExecutionSync {});
    pair.broker
        .send_command(0, CommandId(1), &sync, false, None);
    pair.exchange();
    assert_eq!(pair.broker_events, []);
    pair.client.complete(0, &set(0, 0));
    pair.exchange();
    let event = Event::Completed {
        channel: 0,
        commands: set(0, 1),
        timely_reply: false,
    };
    assert_eq!(pair.broker_events, [event]);
}

#[test]
fn commands_with_the_sync_bit_are_reported_as_soon_as_they_are_completed() {
    let mut pair = Pair::attached();
    let accept = Command::MessageAccept(MessageAccept {
        transfers: set(0, 0),
    });
    pair.broker
        .send_command(0, CommandId(0), &accept, true, None);
    pair.broker
        .send_command(0, CommandId(1), &transfer("t"), true, None);
    pair.exchange();
    let accepted = Event::Completed {
        channel: 0,
        commands: set(0, 0),
        timely_reply: false,
    };
    assert_eq!(pair.broker_events, [accepted]);
    pair.client.complete(0, &set(1, 1));
    pair.exchange();
    let both = Event::Completed {
        channel: 0,
        commands: set(0, 1),
        timely_reply: false,
    };
    assert_eq!(pair.broker_events.last(), Some(&both));
}

#[test]
fn detach_of_both_ends_at_once_frees_both_channels() {
    let mut pair = Pair::attached();
    pair.client.detach(0);
    pair.broker.detach(0);
    pair.exchange();
    assert_eq!(
        (pair.client.session_count(), pair.broker.session_count()),
        (0, 0)
    );
    assert!(matches!(&pair.client_events[..], [Event::Detached { .. }]));
    pair.client.attach(0, b"s".to_vec(), false);
    pair.exchange();
    assert!(matches!(
        pair.client_events.last(),
        Some(Event::Attached { .. })
    ));
}

#[test]
fn redirect_is_told_before_the_connection_closes() {
    use ferrymq::protocol::{ClientConfig, Connection};
    use ferrymq::wire::{ConnectionRedirect, ConnectionStart, ConnectionTune, protocol_header};
    let now = ferrymq::protocol::Time(0);
    let mut client = Connection::client(ClientConfig::default(), now);
    let redirect = ConnectionRedirect {
        host: "amqp:tcp:b:1".into(),
        known_hosts: None,
    };
    let bytes = [
        protocol_header::BYTES.to_vec(),
        crate::raw::control(0, &Control::ConnectionStart(ConnectionStart::default())),
        crate::raw::control(0, &Control::ConnectionTune(ConnectionTune::default())),
        crate::raw::control(0, &Control::ConnectionRedirect(redirect)),
    ];
    client.handle_input(now, &mut bytes.concat()[..].into());
    let events = polled(&mut client);
    let [
        Event::Start { .. },
        Event::Tuned(_),
        Event::Redirect { host, .. },
        Event::Closed { .. },
    ] = &events[..]
    else {
        panic!("{events:?}");
    };
    assert_eq!(host, "amqp:tcp:b:1");
}
