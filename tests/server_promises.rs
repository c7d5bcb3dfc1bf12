//! What the specification promises and Qpid C++ did not keep, through sockets: on one broker, and on a
//! group of three with the two clients at two of its members.

mod server_support;

use std::net::SocketAddr;

use ferrymq::protocol::{Content, Event, Pieces};
use ferrymq::wire::{
    AcceptMode, Command, DeliveryProperties, DetachCode, ExchangeBind, ExchangeDeclare,
    ExchangeDelete, MessageResume, MessageResumeResult, MessageTransfer, RejectCode, SequenceSet,
};
use server_support::{Broker, Client};

/// Runs a check on one broker, with both addresses the same, and on a group.
fn each(check: impl Fn(SocketAddr, SocketAddr)) {
    let one = Broker::start(&[]);
    check(one.address(), one.address());
    let group = Broker::start_lockstep("5", &[]);
    let at = |member: usize| SocketAddr::from(([127, 0, 0, 1], group.ports[member]));
    check(at(0), at(1));
}

fn attached(address: SocketAddr, name: &str) -> Client {
    let mut client = Client::open(address);
    client.attach(0, name);
    client
}

/// Attaches with force; Err is why not.
fn force(client: &mut Client, name: &str) -> Result<(), DetachCode> {
    client.protocol().attach(0, name.into(), true);
    client.event_of(|event| match event {
        Event::Attached { .. } => Some(Ok(())),
        Event::Detached { code, .. } => Some(Err(*code)),
        _ => None,
    })
}

/// What comes of a message with these properties to an exchange: whether it is accepted, or why not.
fn transferred(
    client: &mut Client,
    exchange: &str,
    delivery: DeliveryProperties,
) -> Result<(), RejectCode> {
    let transfer = MessageTransfer {
        destination: exchange.into(),
        accept_mode: Some(AcceptMode::EXPLICIT),
        ..MessageTransfer::default()
    };
    let mut header = Vec::new();
    ferrymq::wire::header::encode(&Some(delivery), &[], &mut header);
    let body = [bytes::Bytes::from_static(b"body")];
    let content = Content {
        header: Some(&header),
        body: Some(Pieces::Shared(&body)),
    };
    let command = Command::MessageTransfer(transfer);
    let sent = client.protocol().send(0, &command, true, Some(content));
    let id = sent.expect("the session is attached");
    client.event_of(|event| match event {
        Event::Command {
            command: Command::MessageAccept(accept),
            ..
        } if accept.transfers.contains(id) => Some(Ok(())),
        Event::Command {
            command: Command::MessageReject(reject),
            ..
        } if reject.transfers.contains(id) => Some(Err(reject.code)),
        _ => None,
    })
}

fn keyed(key: &str) -> DeliveryProperties {
    DeliveryProperties {
        routing_key: Some(key.into()),
        ..DeliveryProperties::default()
    }
}

#[test]
fn a_session_is_taken_by_force_at_any_member() {
    each(|first, second| {
        let mut holder = attached(first, "s");
        let mut other = Client::open(second);
        assert_eq!(force(&mut other, "s"), Ok(()));
        let code = holder.event_of(|event| match event {
            Event::Detached { code, .. } => Some(*code),
            _ => None,
        });
        assert_eq!(code, DetachCode::NORMAL);
        other.declare(0, "q");
    });
}

#[test]
fn another_user_takes_no_session_by_force() {
    each(|first, second| {
        let mut holder = attached(first, "s");
        let mut other = Client::open_as(second, "ann", Default::default()).expect("let in");
        // Names of sessions are each user's own: there is none of that name to be taken.
        assert_eq!(force(&mut other, "s"), Ok(()));
        holder.declare(0, "q");
    });
}

#[test]
fn commands_in_a_gap_count_as_done_and_those_behind_it_go_on() {
    each(|first, _| {
        let mut client = attached(first, "s");
        let skipped = client.protocol().take_id(0).expect("an id");
        client.protocol().gap(0, SequenceSet::of(skipped));
        client.declare(0, "q");
        client.publish(0, "q", b"behind");
        client.subscribe(0, "q", AcceptMode::NONE);
        assert_eq!(client.receive(), b"behind");
    });
}

#[test]
fn a_message_is_resumed_from_its_beginning() {
    each(|first, _| {
        let mut client = attached(first, "s");
        let resume = MessageResume {
            destination: "".into(),
            resume_id: "lost".into(),
        };
        let command = Command::MessageResume(resume);
        let sent = client.protocol().send(0, &command, true, None);
        let id = sent.expect("the session is attached");
        let value = client.event_of(|event| match event {
            Event::Result {
                command_id, value, ..
            } if *command_id == id => Some(value.clone()),
            _ => None,
        });
        let value = value.expect("resuming has a result");
        let result: MessageResumeResult = value.parse().expect("a result of resuming");
        assert_eq!(result.offset, Some(0));
    });
}

#[test]
fn an_immediate_message_is_taken_when_somebody_waits_and_rejected_else() {
    each(|first, second| {
        let mut client = attached(first, "s");
        client.declare(0, "q");
        let immediate = || DeliveryProperties {
            immediate: true,
            ..keyed("q")
        };
        let rejected = transferred(&mut client, "", immediate());
        assert_eq!(rejected, Err(RejectCode::IMMEDIATE));
        let mut consumer = attached(second, "consumer");
        consumer.subscribe(0, "q", AcceptMode::NONE);
        assert_eq!(transferred(&mut client, "", immediate()), Ok(()));
        assert_eq!(consumer.receive(), b"body");
    });
}

#[test]
fn a_message_that_goes_nowhere_is_rejected_unless_it_may_be_discarded() {
    each(|first, _| {
        let mut client = attached(first, "s");
        let rejected = transferred(&mut client, "amq.direct", keyed("nowhere"));
        assert_eq!(rejected, Err(RejectCode::UNROUTABLE));
        let discarded = DeliveryProperties {
            discard_unroutable: true,
            ..keyed("nowhere")
        };
        assert_eq!(transferred(&mut client, "amq.direct", discarded), Ok(()));
    });
}

#[test]
fn an_exchange_in_use_is_not_deleted_by_who_wants_it_unused() {
    each(|first, second| {
        let mut client = attached(first, "s");
        client.declare(0, "q");
        let declare = ExchangeDeclare {
            exchange: "e".into(),
            r#type: "direct".into(),
            ..ExchangeDeclare::default()
        };
        client.run(0, Command::ExchangeDeclare(declare));
        let delete = || {
            Command::ExchangeDelete(ExchangeDelete {
                exchange: "e".into(),
                if_unused: true,
            })
        };
        let bind = ExchangeBind {
            queue: "q".into(),
            exchange: "e".into(),
            binding_key: "k".into(),
            ..ExchangeBind::default()
        };
        client.run(0, Command::ExchangeBind(bind));
        let mut other = attached(second, "other");
        let (code, text) = other.ask(0, delete()).expect_err("it is in use");
        assert_eq!((code.0, text.contains("in use")), (406, true), "{text}");
        client.run(
            0,
            Command::QueueDelete(ferrymq::wire::QueueDelete {
                queue: "q".into(),
                ..Default::default()
            }),
        );
        let mut third = attached(second, "third");
        assert_eq!(third.ask(0, delete()), Ok(()));
    });
}
