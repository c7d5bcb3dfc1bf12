//! Commands from seeds: whatever clients ask, the core answers, two members stay alike, and no
//! message is lost or doubled.

mod broker;

use std::collections::BTreeSet;

use broker::actors::{Actor, Tally, connect, declare_copy, events_to, sound_arguments, step};
use broker::seeded::Seeded;
use broker::{Broker, MEMBER, Session, Told};
use ferrymq::broker::ids::MemberId;
use ferrymq::broker::{Command, Options};
use ferrymq::wire::{CommandId, CreditUnit, SequenceSet};

#[test]
fn whatever_clients_ask_two_members_stay_alike() {
    let mut tally = Tally::default();
    let (mut events, mut applied) = (0, 0);
    for seed in 0..20 {
        let mut seeded = Seeded::new(seed);
        let broker = Broker::with(Options {
            default_queue_limit: 5000,
            queue_purge_interval: 3,
            events_to: events_to(),
            ..Options::default()
        });
        if seeded.once_in(2) {
            broker.hold_work();
        }
        let mut actors: Vec<Actor> = (0..4)
            .map(|n| Actor::new(connect(&mut seeded, &broker).attach(0, &n.to_string(), true)))
            .collect();
        let keeper = broker.session("keeper");
        for round in 0..900 {
            if round % 20 == 0 {
                declare_copy(&keeper);
                for queue in ["q", "r", "s", ""] {
                    let durable = seeded.once_in(2);
                    let arguments = sound_arguments(&mut seeded);
                    keeper.declare_with(queue, |declare| {
                        declare.durable = durable;
                        declare.arguments = Some(arguments);
                    });
                }
            }
            step(&mut seeded, &broker, &mut actors, &mut tally);
        }
        for member in [MEMBER, MemberId(2)] {
            broker.sequencer(Command::MemberDown { member, epoch: 1 });
        }
        while broker.continue_once() {}
        let counters = broker.core(|core| core.replication().counters);
        (events, applied) = (events + counters.told, applied + counters.applied);
    }
    assert!(events > 200 && applied > 50, "{events}, {applied}");
    let is_much = tally.delivered > 1000 && tally.failed > 200 && tally.rest > 1000;
    assert!(is_much, "{tally:?}");
}

/// One client that publishes, takes and settles at random, and what is known of it.
struct Client {
    session: Session,
    /// Bodies by delivery number, of those not settled.
    held: Vec<(u32, String)>,
}

impl Client {
    fn new(broker: &Broker, name: &str) -> Client {
        let session = broker.connection_with(MEMBER, 50, 5000).session(name);
        session.subscribe("q", "d");
        session.flow("d", 20);
        let held = Vec::new();
        Client { session, held }
    }

    fn take(&mut self) {
        for told in self.session.told() {
            if let Told::Delivered(arrived) = told {
                self.held.push((arrived.id, arrived.body));
            }
        }
    }

    /// Takes some of what it holds.
    fn some(&mut self, seeded: &mut Seeded) -> (SequenceSet, Vec<String>) {
        let (mut set, mut bodies) = (SequenceSet::new(), Vec::new());
        self.held.retain(|(id, body)| {
            let is_taken = seeded.once_in(2);
            if is_taken {
                set.insert(CommandId(*id));
                bodies.push(body.clone());
            }
            !is_taken
        });
        (set, bodies)
    }
}

#[test]
fn no_message_is_lost_or_doubled_or_leaves_its_place() {
    for seed in 0..20 {
        let mut seeded = Seeded::new(seed);
        let broker = Broker::new();
        let publisher = broker.session("publisher");
        publisher.declare("q");
        let mut clients: Vec<Client> = (0..3)
            .map(|n| Client::new(&broker, &n.to_string()))
            .collect();
        let (mut published, mut accepted) = (0, BTreeSet::new());
        for round in 0..300 {
            let which = seeded.below(clients.len());
            clients.iter_mut().for_each(Client::take);
            let client = &mut clients[which];
            match seeded.below(12) {
                0..=3 => {
                    let count = seeded.below(30) as u32;
                    publisher.publish_many("q", published, count);
                    published += count;
                }
                4..=6 => {
                    let (set, bodies) = client.some(&mut seeded);
                    client.session.accept(set);
                    for body in bodies {
                        assert!(accepted.insert(body), "accepted twice, seed {seed}");
                    }
                }
                7 => {
                    let (set, _) = client.some(&mut seeded);
                    client.session.release_with(set, seeded.once_in(2));
                }
                8 => client
                    .session
                    .complete(broker::range(0, seeded.below(500) as u32)),
                9 => client.session.connection.drained(20, 2000),
                10 => drop(client.session.grant("d", CreditUnit::MESSAGE, 5)),
                _ => {
                    client.session.connection.end();
                    *client = Client::new(&broker, &format!("{which} {round}"));
                }
            }
        }
        for client in &clients {
            client.session.detach();
        }
        let last = broker.session("last");
        last.subscribe("q", "d");
        last.flow("d", u32::MAX);
        let left: Vec<String> = last
            .arrivals()
            .into_iter()
            .map(|arrived| arrived.body)
            .collect();
        let expected: Vec<String> = (0..published)
            .map(|number| number.to_string())
            .filter(|body| !accepted.contains(body))
            .collect();
        assert_eq!(left, expected, "seed {seed}");
    }
}
