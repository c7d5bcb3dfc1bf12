//! Peers that are slow, silent or gone, and what others notice of it: nothing.

mod server_support;

use std::io::{Read, Write};

use ferrymq::protocol::{Content, Event, Pieces};
use ferrymq::wire::{self, AcceptMode, Command};
use server_support::{Broker, Client, frame, until};

#[test]
fn a_consumer_that_never_reads_leaves_the_others_served() {
    let broker = Broker::start(&[]);
    let mut deaf = Client::open(broker.address());
    deaf.attach(0, "deaf");
    deaf.declare(0, "a");
    deaf.subscribe(0, "a", AcceptMode::NONE);
    let mut good = Client::open(broker.address());
    good.attach(0, "good");
    good.declare(0, "b");
    good.subscribe(0, "b", AcceptMode::NONE);
    let mut sender = Client::open(broker.address());
    sender.attach(0, "sender");
    let before = broker.resident_bytes();
    let body = vec![b'x'; 50_000];
    for _ in 0..400 {
        sender.publish(0, "a", &body);
    }
    sender.sync(0);
    for n in 0..1000 {
        sender.publish(0, "b", format!("{n}").as_bytes());
    }
    sender.sync(0);
    for n in 0..1000 {
        assert_eq!(good.receive(), format!("{n}").as_bytes());
    }
    // What waits for the deaf one stands in its queue once, and not in its output as well.
    let grown = broker.resident_bytes().saturating_sub(before);
    assert!(grown < 2 * 400 * 50_000, "{grown} octets");
    // It was only asleep: all of it is there, in order.
    for _ in 0..400 {
        assert_eq!(deaf.receive().len(), 50_000);
    }
}

#[test]
fn a_consumer_that_never_reads_can_still_accept_what_it_has() {
    let broker = Broker::start(&[]);
    let mut consumer = Client::open(broker.address());
    consumer.attach(0, "consumer");
    consumer.declare(0, "q");
    let mut sender = Client::open(broker.address());
    sender.attach(0, "sender");
    sender.publish(0, "q", b"first");
    for _ in 0..200 {
        sender.publish(0, "q", &vec![b'x'; 60_000]);
    }
    sender.sync(0);
    consumer.subscribe(0, "q", AcceptMode::EXPLICIT);
    let id = consumer.event_of(|event| match event {
        Event::Command { id, .. } => Some(*id),
        _ => None,
    });
    // From here on it reads nothing, and its socket is full.
    let accept = Command::MessageAccept(wire::MessageAccept {
        transfers: wire::SequenceSet::of(id),
    });
    consumer.protocol().send(0, &accept, false, None);
    consumer.flush();
    // The message is gone for good: when the consumer is cut, all come back but this one.
    std::thread::sleep(std::time::Duration::from_millis(200));
    consumer.cut();
    until("the rest is back", || {
        sender.query_queue(0, "q").message_count == 200
    });
}

#[test]
fn who_asks_without_ever_reading_is_not_read_and_costs_little() {
    let broker = Broker::start(&[]);
    let mut greedy = Client::open(broker.address());
    greedy.attach(0, "greedy");
    greedy.declare(0, "q");
    let before = broker.resident_bytes();
    let query = Command::QueueQuery(wire::QueueQuery { queue: "q".into() });
    greedy.stream.set_nonblocking(true).expect("nonblocking");
    let mut asked = 0_u64;
    let mut stuck = 0;
    while stuck < 100 && asked < 200_000_000 {
        if greedy.protocol().output().is_empty() {
            for _ in 0..1000 {
                greedy.protocol().send(0, &query, true, None);
            }
        }
        let front = greedy.protocol().output().front().to_vec();
        match greedy.stream.write(&front) {
            Ok(written) => {
                greedy.protocol().output().advance(written);
                asked += written as u64;
                stuck = 0;
            }
            Err(_) => {
                stuck += 1;
                std::thread::sleep(std::time::Duration::from_millis(10));
            }
        }
    }
    assert_eq!(stuck, 100, "the broker reads no more");
    let grown = broker.resident_bytes().saturating_sub(before);
    assert!(grown < 16 << 20, "{grown} octets");
    // Others are served, and so is this one once it reads.
    let mut other = Client::open(broker.address());
    other.attach(0, "other");
    other.declare(0, "q2");
    greedy.stream.set_nonblocking(false).expect("blocking");
    let mut buffer = vec![0; 1 << 16];
    let mut read = 0;
    while read < 4 << 20 {
        read += greedy.stream.read(&mut buffer).expect("answers come");
    }
}

#[test]
fn a_cut_connection_gives_its_messages_back_in_order_and_flagged() {
    let broker = Broker::start(&[]);
    let mut first = Client::open(broker.address());
    first.attach(0, "first");
    first.declare(0, "q");
    for n in 0..10 {
        first.publish(0, "q", format!("{n}").as_bytes());
    }
    first.sync(0);
    first.subscribe(0, "q", AcceptMode::EXPLICIT);
    for n in 0..5 {
        assert_eq!(first.receive(), format!("{n}").as_bytes());
    }
    first.cut();
    let mut second = Client::open(broker.address());
    second.attach(0, "second");
    until("all are back", || {
        second.query_queue(0, "q").message_count == 10
    });
    second.subscribe(0, "q", AcceptMode::NONE);
    for n in 0..10 {
        let (header, body) = second.event_of(|event| match event {
            Event::Command { header, body, .. } => Some((header.clone(), body.clone())),
            _ => None,
        });
        let header = wire::header::split(&header.expect("a header")).expect("a sound one");
        let delivery = header.delivery.expect("delivery properties");
        assert!(delivery.redelivered, "it was on its way to the first");
        assert_eq!(body.expect("a body")[0], format!("{n}").as_bytes());
    }
}

#[test]
fn a_session_name_is_free_as_soon_as_its_connection_is_lost() {
    let broker = Broker::start(&[]);
    for _ in 0..50 {
        let mut client = Client::open(broker.address());
        until("the name is free", || {
            client.protocol().attach(0, b"s1".to_vec(), false);
            client.event_of(|event| match event {
                Event::Attached { .. } => Some(true),
                Event::Detached { .. } => Some(false),
                _ => None,
            })
        });
        client
            .stream
            .write_all(&frame(0x0f, 9, 1, 0, b"no such segment"))
            .expect("it is sent");
        assert_eq!(client.closed().0, 501);
    }
}

#[test]
fn bodies_of_any_size_come_out_as_they_went_in() {
    let broker = Broker::start(&[]);
    let mut client = Client::open(broker.address());
    client.attach(0, "sizes");
    client.declare(0, "q");
    client.subscribe(0, "q", AcceptMode::NONE);
    for size in [
        0,
        1,
        4095,
        4096,
        65_499,
        65_523,
        65_524,
        70_000,
        1 << 20,
        3_000_001,
    ] {
        let body: Vec<u8> = (0..size).map(|n: u32| (n % 251) as u8).collect();
        client.publish(0, "q", &body);
        assert!(client.receive() == body, "{size} octets");
    }
}

#[test]
fn a_message_without_header_or_body_stays_without() {
    let broker = Broker::start(&[]);
    let mut client = Client::open(broker.address());
    client.attach(0, "bare");
    client.declare(0, "q");
    let bind = wire::ExchangeBind {
        queue: "q".into(),
        exchange: "amq.fanout".into(),
        ..Default::default()
    };
    client.run(0, Command::ExchangeBind(bind));
    client.subscribe(0, "q", AcceptMode::NONE);
    let transfer = Command::MessageTransfer(wire::MessageTransfer {
        destination: "amq.fanout".into(),
        accept_mode: Some(AcceptMode::NONE),
        ..Default::default()
    });
    let empty: &[bytes::Bytes] = &[];
    for (header, body) in [
        (None, None),
        (None, Some(empty)),
        (Some(&[][..]), None),
        (Some(&[][..]), Some(empty)),
    ] {
        let body = body.map(Pieces::Shared);
        let content = Content { header, body };
        client.protocol().send(0, &transfer, false, Some(content));
        let (has_header, has_body) = client.event_of(|event| match event {
            Event::Command { header, body, .. } => Some((header.is_some(), body.is_some())),
            _ => None,
        });
        assert_eq!(
            (has_header, has_body),
            (content.header.is_some(), content.body.is_some())
        );
    }
}

#[test]
fn a_connection_on_which_nothing_moves_gives_its_buffers_back_once_and_is_let_alone() {
    let mut broker = Broker::start(&["--log-enable", "trace+:Network", "--log-enable", "info+"]);
    let mut quiet = Client::open(broker.address());
    quiet.attach(0, "quiet");
    quiet.declare(0, "q");
    for _ in 0..20 {
        quiet.publish(0, "q", &vec![b'x'; 60_000]);
    }
    quiet.sync(0);
    let address = quiet.stream.local_addr().expect("it is connected");
    let line = format!("{address}: idle");
    broker.log_line(&line);
    // Were it looked at again and again, it would be so meanwhile.
    for n in 0..20 {
        Client::open(broker.address()).attach(0, &format!("other {n}"));
    }
    let idle = broker.log().iter().filter(|logged| logged.contains(&line));
    assert_eq!(idle.count(), 1);
}
