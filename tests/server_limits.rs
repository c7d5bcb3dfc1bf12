//! What one connection may hold, through a socket.

mod server_support;

use ferrymq::protocol::ClientConfig;
use ferrymq::wire::{self, AcceptMode, DeliveryProperties, ErrorCode};
use server_support::{Broker, Client};

/// `--max-message-size` here.
const BYTES_MAX: usize = 20_000;

const QUEUE: &str = "q";

/// Octets of the header with which a test's client publishes to the queue.
fn header_bytes() -> usize {
    let delivery = DeliveryProperties {
        routing_key: Some(QUEUE.into()),
        ..Default::default()
    };
    let mut header = Vec::new();
    wire::header::encode(&Some(delivery), &[], &mut header);
    header.len()
}

/// A client whose frames have so many octets at most, with a queue that it is told of.
fn client(broker: &Broker, max_frame_size: u16) -> Client {
    let config = ClientConfig {
        max_frame_size,
        ..ClientConfig::default()
    };
    let mut client = Client::open_with(broker.address(), config);
    client.attach(0, &format!("frames of {max_frame_size}"));
    client.declare(0, QUEUE);
    client.subscribe(0, QUEUE, AcceptMode::NONE);
    client
}

/// In one frame for each segment, and in many.
const FRAME_SIZES: [u16; 3] = [65_535, 4_096, 1_000];

#[test]
fn a_message_as_large_as_may_be_is_taken_in_one_piece_and_in_many() {
    let broker = Broker::start(&["--max-message-size", &BYTES_MAX.to_string()]);
    for size in FRAME_SIZES {
        let mut client = client(&broker, size);
        let body = vec![b'x'; BYTES_MAX - header_bytes()];
        client.publish(0, QUEUE, &body);
        assert_eq!(client.receive(), body);
        client.sync(0);
        client.cut();
    }
}

#[test]
fn a_message_of_one_octet_more_fails_its_session_and_goes_to_no_queue() {
    let mut broker = Broker::start(&["--max-message-size", &BYTES_MAX.to_string()]);
    for size in FRAME_SIZES {
        let mut client = client(&broker, size);
        let body = vec![b'x'; BYTES_MAX - header_bytes() + 1];
        client.publish(0, QUEUE, &body);
        let (code, text) = client.exception(0);
        assert_eq!(code, ErrorCode::RESOURCE_LIMIT_EXCEEDED);
        assert!(text.contains("exceeds 20000 bytes"), "{text}");
        // The connection stays, and what comes to the queue is what is published next.
        client.attach(1, &format!("after frames of {size}"));
        client.publish(1, QUEUE, b"small");
        client.subscribe(1, QUEUE, AcceptMode::NONE);
        assert_eq!(client.receive(), b"small");
        client.sync(1);
        client.cut();
    }
    assert!(broker.is_running());
}
