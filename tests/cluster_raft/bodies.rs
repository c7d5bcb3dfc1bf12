//! Large messages go ahead in parts: on every group the same message comes out, and none of it stays
//! where it does not.

use std::sync::Arc;

use bytes::Bytes;
use ferrymq::broker::ids::{ConnectionNumber, MemberId};
use ferrymq::broker::message::Message;
use ferrymq::broker::parts::TransferOfParts;
use ferrymq::broker::{Command, Core, Effect, Origin, Request};
use ferrymq::cluster::limits::{PROPOSAL_BYTES, PROPOSED_BYTES_MAX, RAFT_MESSAGE_BYTES_MAX};
use ferrymq::cluster::lockstep;
use ferrymq::cluster::lockstep::faults::Faults;
use ferrymq::cluster::raft;
use ferrymq::cluster::{Group, Millis};
use ferrymq::wire::AcceptMode;

use super::author::{self, Author};
use super::group::{Client, Raft, body, declare, publish, roomy};

/// Octets of a message in some nine parts.
const LARGE: usize = 2 * 1024 * 1024 + 321;

/// The bodies that were delivered, in their order.
fn bodies(delivered: &[Effect]) -> Vec<Vec<u8>> {
    let body = |effect: &Effect| match effect {
        Effect::Deliver(delivery) => delivery.message.body().map(<[u8]>::to_vec),
        _ => None,
    };
    delivered.iter().filter_map(body).collect()
}

fn until_delivered(raft: &mut Raft, client: &mut Client, count: usize) {
    for _ in 0..100_000 {
        client.look(raft);
        if client.delivered.len() >= count {
            return;
        }
        raft.step();
    }
    panic!("{} of {count} are delivered", client.delivered.len());
}

#[test]
fn a_large_message_of_a_follower_comes_whole_and_in_its_place() {
    let mut raft = Raft::new(roomy(11));
    let places = ((raft.leader() + 1) % 3, (raft.leader() + 2) % 3);
    let mut publisher = Client::new(&mut raft, places.0);
    let mut consumer = Client::new(&mut raft, places.1);
    publisher.ask(&raft, declare("q"));
    publisher.until_done(&mut raft);
    consumer.subscribe(&raft, "q");
    let sent = [
        body(1, 10),
        body(2, LARGE),
        body(3, 10),
        body(4, 3 * PROPOSAL_BYTES),
    ];
    let requests = sent.iter().map(|body| publish("q", body.clone()));
    publisher.ask_all(&raft, requests.collect());
    publisher.until_done(&mut raft);
    until_delivered(&mut raft, &mut consumer, sent.len());
    assert!(bodies(&consumer.delivered) == sent, "bodies differ");
    raft.until_whole();
}

#[test]
fn no_entry_is_larger_than_a_part_and_little_more() {
    let mut setup = roomy(12);
    setup.log.snapshot_after_bytes = u64::MAX;
    let mut raft = Raft::new(setup);
    let place = raft.leader();
    let mut client = Client::new(&mut raft, place);
    client.ask(&raft, declare("q"));
    client.ask(&raft, publish("q", body(0, LARGE)));
    client.until_done(&mut raft);
    let largest = raft.seats[place].read_log(|log| {
        let bytes = |index| log.raft_entry(index).expect("it is there").len();
        let entries = log.first_index()..=log.last_index();
        (entries.clone().map(bytes).max(), entries.count())
    });
    let (largest, count) = largest.expect("it is up");
    assert!(
        largest.is_some_and(|bytes| bytes < PROPOSAL_BYTES + 1024),
        "{largest:?}"
    );
    assert!(count > LARGE / PROPOSAL_BYTES, "{count} entries");
}

/// The largest of what members say to one another while one that was down, or did not answer, catches up
/// with a few large messages.
fn largest_while_catching_up(is_down: bool) -> usize {
    let mut setup = roomy(12);
    setup.log.snapshot_after_bytes = u64::MAX;
    setup.recent_bytes = 64 * 1024 * 1024;
    let mut raft = Raft::new(setup);
    let (place, behind) = (raft.leader(), (raft.leader() + 1) % 3);
    let mut client = Client::new(&mut raft, place);
    client.ask(&raft, declare("q"));
    client.until_done(&mut raft);
    match is_down {
        true => raft.seats[behind].crash(raft.now),
        false => raft.seats[place].cut(raft.now, behind, true),
    }
    let mut largest = 0;
    for of in 0..4 {
        client.ask(&raft, publish("q", body(of, 2 * LARGE)));
        client.until_done(&mut raft);
    }
    match is_down {
        true => raft.seats[behind].start(raft.now, 0),
        false => raft.seats[place].cut(raft.now, behind, false),
    }
    while !raft.seats[0].is_whole() {
        raft.step();
        let flights = raft.seats[0].in_flight();
        largest = largest.max(
            flights
                .iter()
                .map(|(_, octets)| octets.len())
                .max()
                .unwrap_or(0),
        );
    }
    raft.until_whole();
    largest
}

#[test]
fn no_message_of_members_is_larger_than_its_frame_may_be() {
    for is_down in [true, false] {
        let largest = largest_while_catching_up(is_down);
        assert!(
            (PROPOSAL_BYTES..=RAFT_MESSAGE_BYTES_MAX).contains(&largest),
            "{largest}, down: {is_down}"
        );
    }
}

const BAD: raft::seats::Faults = raft::seats::Faults {
    drops: 50,
    doublings: 50,
    delays: 300,
    delay_ms_max: 30,
    slow_syncs: 0,
    sync_ms_max: 0,
};

/// Whether a large message was confirmed, over a bad network and from one leader to another.
fn is_confirmed_on_a_bad_network(seed: u64) -> bool {
    let mut raft = Raft::new(roomy(seed));
    let place = (raft.leader() + 1) % 3;
    let mut publisher = Client::new(&mut raft, place);
    publisher.ask(&raft, declare("q"));
    publisher.until_done(&mut raft);
    raft.seats[0].set_faults(raft.now, BAD);
    publisher.ask(&raft, publish("q", body(5, LARGE)));
    for _ in 0..20 {
        raft.step();
    }
    let leader = raft.leader();
    raft.seats[leader].crash(raft.now);
    raft.seats[leader].start(raft.now, 0);
    while !publisher.is_done() && !publisher.outstanding.is_ended {
        raft.step();
        publisher.look(&raft);
    }
    raft.seats[0].set_faults(raft.now, raft::seats::Faults::NONE);
    raft.until_whole();
    let mut consumer = Client::new(&mut raft, place);
    consumer.subscribe(&raft, "q");
    consumer.until_done(&mut raft);
    for _ in 0..20 {
        raft.step();
    }
    consumer.look(&raft);
    let delivered = bodies(&consumer.delivered);
    assert!(
        delivered.iter().all(|one| *one == body(5, LARGE)),
        "seed {seed}"
    );
    let is_confirmed = publisher.is_done();
    assert!(
        delivered.len() <= 1 && (delivered.len() == 1 || !is_confirmed),
        "seed {seed}"
    );
    is_confirmed
}

#[test]
fn a_large_message_comes_whole_through_a_bad_network_or_its_connection_ends() {
    let confirmed = (13..15).filter(|seed| is_confirmed_on_a_bad_network(*seed));
    assert!(confirmed.count() > 0, "all connections ended");
}

#[test]
fn a_large_message_comes_whole_on_a_lockstep_group() {
    let settings = lockstep::Settings {
        faults: Faults::HEAVY,
        compare_every: 5,
        ..lockstep::Settings::usual(3)
    };
    let seats = lockstep::seats(3, Default::default(), settings, Millis(0));
    let mut client = Client::of(&seats[1], 1, Millis(0));
    client.propose(&seats[1], Millis(0), vec![declare("q")]);
    client.propose(&seats[1], Millis(0), vec![publish("q", body(6, LARGE))]);
    let line = seats[1].finish(Millis(1)).expect("the members are equal");
    assert!(line.is_some_and(|line| line.contains("replacements")));
    let (count, parts) = seats[2].read(|core: &Core| (core.message_count(), core.parts_bytes()));
    assert_eq!((count, parts), (1, 0));
}

#[test]
fn what_a_publisher_has_proposed_is_bounded_in_octets() {
    let mut raft = Raft::new(roomy(14));
    let place = raft.leader();
    let mut client = Client::new(&mut raft, place);
    client.ask(&raft, declare("q"));
    client.until_done(&mut raft);
    for other in (0..3).filter(|other| *other != place) {
        raft.seats[other].crash(raft.now);
    }
    client.ask(&raft, publish("q", body(0, PROPOSED_BYTES_MAX / 2)));
    raft.step();
    client.look(&raft);
    assert!(!client.outstanding.is_held(), "{:?}", client.outstanding);
    client.ask(&raft, publish("q", body(0, PROPOSED_BYTES_MAX / 2)));
    raft.step();
    client.look(&raft);
    assert_eq!(client.outstanding.proposed, 2, "batches are few");
    assert!(client.outstanding.is_held(), "{:?}", client.outstanding);
    for other in (0..3).filter(|other| *other != place) {
        raft.seats[other].start(raft.now, 0);
    }
    client.until_done(&mut raft);
    assert_eq!(client.outstanding.proposed_bytes, 0);
    assert!(!client.outstanding.is_held());
}

/// A core with a session, and the message that comes in parts.
struct Scene {
    author: Author,
    message: Arc<Message>,
}

const CONNECTION: ConnectionNumber = ConnectionNumber(1);

impl Scene {
    fn new() -> Scene {
        let mut author = Author::new();
        author.begin("q");
        let Request::Transfer { message, .. } = author::publish("q", &body(7, 1000)) else {
            panic!("it publishes");
        };
        Scene { author, message }
    }

    fn part(&mut self, start: usize, end: usize) {
        let octets = self.message.shared_content().slice(start..end);
        let at = start as u64;
        let connection = CONNECTION;
        self.author.entry(vec![Command::BodyPart {
            connection,
            at,
            octets,
        }]);
    }

    fn publish(&mut self, change: impl Fn(&mut TransferOfParts)) {
        let content = self.message.shared_content();
        let mut publish = TransferOfParts {
            destination: "".into(),
            accept_mode: AcceptMode::NONE,
            has_header: true,
            has_body: true,
            header_bytes: self.message.header().len() as u64,
            bytes: content.len() as u64,
            checksum: crc32fast::hash(&content),
        };
        change(&mut publish);
        self.author.ask(Request::TransferOfParts(Box::new(publish)));
    }

    /// Messages in queues, and octets that are on their way.
    fn counts(&self) -> (u64, u64) {
        let core = &self.author.core;
        (core.message_count(), core.parts_bytes())
    }
}

#[test]
fn parts_that_follow_one_another_are_the_message() {
    let mut whole = Scene::new();
    whole.author.entry(vec![Command::Tick]);
    whole.author.entry(vec![Command::Tick]);
    whole.author.ask(author::publish("q", &body(7, 1000)));
    let mut scene = Scene::new();
    scene.part(0, 300);
    scene.part(300, scene.message.size() as usize);
    assert_eq!(scene.counts(), (0, scene.message.size()));
    scene.publish(|_| {});
    assert_eq!(scene.counts(), (1, 0));
    assert_eq!(scene.author.core.digest(), whole.author.core.digest());
}

#[test]
fn a_core_made_of_a_snapshot_goes_on_with_parts_that_have_come() {
    let mut scene = Scene::new();
    scene.part(0, 300);
    let copy = scene.author.core.freeze().encode().decode();
    let copy = copy.expect("its own snapshot");
    assert_eq!(copy.digest(), scene.author.core.digest());
    let mut other = Scene {
        author: scene.author.with(copy),
        message: scene.message.clone(),
    };
    for scene in [&mut scene, &mut other] {
        scene.part(300, scene.message.size() as usize);
        scene.publish(|_| {});
        assert_eq!(scene.counts(), (1, 0));
    }
    assert_eq!(scene.author.core.digest(), other.author.core.digest());
}

#[test]
fn parts_are_part_of_what_members_compare() {
    let mut scenes = [Scene::new(), Scene::new()];
    scenes[0].part(0, 300);
    scenes[1].part(0, 301);
    assert_ne!(
        scenes[0].author.core.digest(),
        scenes[1].author.core.digest()
    );
}

#[test]
fn parts_are_freed_with_their_connection() {
    let mut scene = Scene::new();
    scene.part(0, 300);
    let connection = CONNECTION;
    scene
        .author
        .entry(vec![Command::ConnectionEnd { connection }]);
    assert_eq!(scene.counts(), (0, 0));
    scene.part(0, 300);
    assert_eq!(scene.counts(), (0, 0), "nobody is there");
}

#[test]
fn parts_are_freed_with_the_epoch_of_their_member() {
    let mut scene = Scene::new();
    scene.part(0, 300);
    let down = Command::MemberDown {
        member: author::MEMBER,
        epoch: 1,
    };
    scene.author.entry_of(Origin::Sequencer, vec![down]);
    assert_eq!(scene.counts(), (0, 0));
    assert_eq!(scene.author.core.last_epoch(MemberId(77)), 1);
}

/// What is sent, and what is then said of it.
type Case = (fn(&mut Scene), fn(&mut TransferOfParts));

#[test]
fn a_publish_that_names_other_parts_than_have_come_fails_its_session() {
    let all = |scene: &mut Scene| scene.part(0, scene.message.size() as usize);
    let none: fn(&mut Scene) = |_| {};
    let gap: fn(&mut Scene) = |scene| {
        scene.part(0, 300);
        scene.part(301, scene.message.size() as usize);
    };
    let twice: fn(&mut Scene) = |scene| {
        scene.part(0, 300);
        scene.part(0, 300);
    };
    let same: fn(&mut TransferOfParts) = |_| {};
    let cases: [Case; 7] = [
        (none, same),
        (gap, same),
        (twice, same),
        (all, |publish| publish.checksum ^= 1),
        (all, |publish| publish.bytes -= 1),
        (all, |publish| publish.header_bytes -= 1),
        (all, |publish| publish.header_bytes = u64::MAX),
    ];
    for (n, (send, change)) in cases.into_iter().enumerate() {
        let mut scene = Scene::new();
        send(&mut scene);
        scene.publish(change);
        assert_eq!(scene.counts(), (0, 0), "case {n}");
        // The session is no more: what it asks does nothing.
        scene.author.ask(author::publish("q", b"late"));
        assert_eq!(scene.counts(), (0, 0), "case {n}");
    }
}

#[test]
fn more_parts_than_a_message_can_have_are_not_kept() {
    let mut scene = Scene::new();
    let octets = Bytes::from(vec![0; 64 * 1024 * 1024]);
    for n in 0..5 {
        let (connection, at) = (CONNECTION, n * octets.len() as u64);
        let octets = octets.clone();
        scene.author.entry(vec![Command::BodyPart {
            connection,
            at,
            octets,
        }]);
    }
    assert_eq!(scene.counts(), (0, 0));
}
