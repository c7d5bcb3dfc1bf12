use ferrymq::protocol::{Content, Event, Pieces};
use ferrymq::wire::{self, AcceptMode, Command, Map, Value};

use crate::server_support::{Broker, Client};

const QUERY: &str = "declare variable $region external; $region = 'eu' and ./order/total > 100";

fn open(broker: &Broker, member: usize) -> Client {
    let mut client = Client::open(([127, 0, 0, 1], broker.ports[member]).into());
    let address = client.stream.local_addr().expect("it is connected");
    client.attach(0, &address.to_string());
    client
}

fn declare() -> Command {
    Command::ExchangeDeclare(wire::ExchangeDeclare {
        exchange: "x".into(),
        r#type: "xml".into(),
        ..Default::default()
    })
}

fn bind(queue: &str, query: &str) -> Command {
    let arguments = [("xquery", Value::Str16(query.into()))];
    Command::ExchangeBind(wire::ExchangeBind {
        exchange: "x".into(),
        queue: queue.into(),
        binding_key: "orders".into(),
        arguments: Some(arguments.into_iter().collect()),
    })
}

fn publish(client: &mut Client, region: &str, body: &str) {
    let transfer = wire::MessageTransfer {
        destination: "x".into(),
        accept_mode: Some(AcceptMode::NONE),
        ..Default::default()
    };
    let delivery = wire::DeliveryProperties {
        routing_key: Some("orders".into()),
        ..Default::default()
    };
    let headers: Map = [("region", Value::Str16(region.into()))]
        .into_iter()
        .collect();
    let properties = wire::MessageProperties {
        application_headers: Some(headers),
        ..Default::default()
    };
    let mut header = Vec::new();
    wire::header::encode(&Some(delivery), &[], &mut header);
    wire::header::encode_properties(&properties, &mut header);
    let body = [bytes::Bytes::copy_from_slice(body.as_bytes())];
    let content = Content {
        header: Some(&header),
        body: Some(Pieces::Shared(&body)),
    };
    let command = Command::MessageTransfer(transfer);
    let sent = client.protocol().send(0, &command, false, Some(content));
    assert!(sent.is_some(), "the session is attached");
}

fn order(total: u32) -> String {
    format!("<order><total>{total}</total></order>")
}

/// Sends without waiting: whatever is behind a message that is matched anew comes behind it.
fn send(client: &mut Client, command: &Command) {
    let sent = client.protocol().send(0, command, false, None);
    assert!(sent.is_some(), "the session is attached");
}

fn orders_come_in_their_order(broker: Broker, members: usize) {
    let mut client = open(&broker, 0);
    client.declare(0, "q");
    send(&mut client, &declare());
    send(&mut client, &bind("q", QUERY));
    for total in 0..300 {
        let region = if total % 3 == 0 { "us" } else { "eu" };
        publish(&mut client, region, &order(total));
        if total % 50 == 49 {
            // Another binding of the key: what comes behind is matched anew.
            let queue = format!("other {total}");
            let declare = wire::QueueDeclare {
                queue: queue.as_str().into(),
                ..Default::default()
            };
            send(&mut client, &Command::QueueDeclare(declare));
            send(&mut client, &bind(&queue, "false()"));
        }
    }
    client.sync(0);
    let mut receiver = open(&broker, members - 1);
    receiver.subscribe(0, "q", AcceptMode::NONE);
    for total in (101..300).filter(|total| total % 3 != 0) {
        let received = receiver.receive();
        assert_eq!(String::from_utf8_lossy(&received), order(total));
    }
}

#[test]
fn messages_that_match_come_in_their_order_from_one_broker() {
    orders_come_in_their_order(Broker::start(&[]), 1);
}

#[test]
fn messages_that_match_come_in_their_order_from_members_that_lose_and_double() {
    orders_come_in_their_order(Broker::start_lockstep("5", &[]), 3);
}

#[test]
fn large_message_is_matched_though_it_comes_in_parts() {
    let broker = Broker::start_lockstep("7", &[]);
    let mut client = open(&broker, 0);
    client.declare(0, "q");
    client.run(0, declare());
    client.run(0, bind("q", QUERY));
    let large = format!(
        "<order><total>500</total><note>{}</note></order>",
        "n".repeat(900_000)
    );
    publish(&mut client, "eu", &large);
    publish(&mut client, "eu", &order(600));
    client.sync(0);
    let mut receiver = open(&broker, 1);
    receiver.subscribe(0, "q", AcceptMode::NONE);
    assert_eq!(receiver.receive().len(), large.len());
    assert_eq!(receiver.receive(), order(600).as_bytes());
}

#[test]
fn query_that_cannot_be_read_fails_the_session_with_541() {
    let broker = Broker::start(&[]);
    let mut client = Client::open(broker.address());
    client.attach(0, "a");
    client.declare(0, "q");
    client.run(0, declare());
    send(&mut client, &bind("q", "a bad xquery"));
    let (code, text) = client.event_of(|event| match event {
        Event::Exception { exception, .. } => {
            let text = exception.description.clone().unwrap_or_default();
            Some((exception.error_code, text.to_string()))
        }
        _ => None,
    });
    assert_eq!(code, wire::ErrorCode::INTERNAL_ERROR);
    assert!(text.contains("Could not parse xquery"), "{text}");
}
