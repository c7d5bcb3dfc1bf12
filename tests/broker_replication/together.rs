//! A source and its copy.

use super::*;

/// A session that is let in as a link.
fn link_session(broker: &Broker) -> Session {
    let connection = broker.connection();
    connection.is_of_link(false);
    connection.session("link")
}

#[test]
fn events_of_one_message_in_two_queues_are_two_messages_to_a_link() {
    // The message came over a link itself and says which it is: of its events each is another.
    let (broker, session) = source();
    let _agent = Agent::open(&broker);
    session.declare_with("r", giving(1));
    session.bind("amq.fanout", "q", "", &[]);
    session.bind("amq.fanout", "r", "", &[]);
    let identity = format!("{:016x}{:016x}{:08x}", 5, 6, 7);
    let known = [(IDENTITY, text(&identity))];
    let link = link_session(&broker);
    link.publish_message("amq.fanout", message_with_headers("", "m", &known));
    session.subscribe_with(EVENTS, "d", |subscribe| {
        let wanted = [("x-ferrymq.wants-identity", Value::U8(1))];
        subscribe.arguments = Some(wanted.into_iter().collect());
    });
    session.flow("d", 10);
    let identities: Vec<Value> = session
        .arrivals()
        .iter()
        .filter_map(|event| event.headers.get(IDENTITY).cloned())
        .collect();
    assert_eq!(identities.len(), 2, "each says which it is");
    assert_ne!(identities[0], identities[1]);
    assert!(!identities.contains(&text(&identity)));
}

#[test]
fn event_that_a_link_brings_again_is_known_as_a_message_before_it_is_as_an_event() {
    let (broker, _) = backup();
    let link = link_session(&broker);
    let known = (IDENTITY, text(&format!("{:016x}{:016x}{:08x}", 5, 6, 7)));
    let once = |number| {
        let headers = [
            (KIND, Value::I64(1)),
            (NUMBER, Value::I64(number)),
            (QUEUE, text("q")),
            (CAME_TO, Value::I64(number)),
            known.clone(),
        ];
        persistent("", "m", None).with_headers(&headers)
    };
    for _ in 0..2 {
        link.transfer(APPLIES, once(1), AcceptMode::EXPLICIT);
    }
    assert_eq!(content(&broker, "q"), at(&[(1, "m")]));
    assert_eq!(broker.core(|core| core.counters().duplicates), 1);
    // After a start only the number and the position are left to know it by.
    let (again, _) = restarted(&broker);
    let link = link_session(&again);
    link.transfer(APPLIES, once(1), AcceptMode::EXPLICIT);
    assert_eq!(content(&again, "q"), at(&[(1, "m")]));
    assert_eq!(counters(&again).ahead, 1);
}

/// Carries events to the copy.
fn carry(applier: &Session, events: &[Arrived]) {
    for event in events {
        let headers = event.headers.iter();
        let headers: Vec<(&str, Value)> =
            headers.map(|(name, value)| (name, value.clone())).collect();
        applier.publish_message(APPLIES, message_with_headers("", &event.body, &headers));
    }
}

/// One source and its copy, to which events come in order, some of them again.
fn copy(seed: u64) {
    let mut seeded = Seeded::new(seed);
    let (source, session) = source();
    let (copy, applier) = backup();
    session.declare_with("r", giving(2));
    applier.declare_with("r", |declare| declare.durable = true);
    let worker = source.session("worker");
    worker.select();
    let mut carried: Vec<Arrived> = Vec::new();
    for round in 0..60 {
        let queue = *seeded.pick(&["q", "r"]);
        let body = round.to_string();
        match seeded.below(6) {
            0 => persist(&session, queue, &body),
            1 | 2 => _ = session.publish(queue, &body),
            3 => consume(&session, queue, 1 + seeded.below(3) as u32),
            4 => {
                worker.publish("q", &body);
                worker.publish("r", &body);
                match seeded.once_in(3) {
                    true => worker.rollback(),
                    false => worker.commit(),
                }
            }
            _ if seeded.once_in(4) => _ = session.purge(queue),
            _ => {}
        }
        if seeded.once_in(3) {
            // Sent again from some place on, as after a link is cut.
            let from = carried.len().saturating_sub(seeded.below(12));
            carried.extend(take_all(&session, EVENTS));
            carry(&applier, &carried[from..]);
        }
    }
    let from = carried.len();
    carried.extend(take_all(&session, EVENTS));
    carry(&applier, &carried[from..]);
    for queue in ["q", "r"] {
        assert_eq!(
            content(&copy, queue),
            content(&source, queue),
            "seed {seed}"
        );
    }
}

#[test]
fn copy_is_as_its_source_however_often_events_come() {
    for seed in 0..40 {
        copy(seed);
    }
    let all = || (0..40).for_each(copy);
    assert!(is_caught(Plant::EventsNumberedAnew, all));
}
