//! Members that come, go and are cut off, one thing at a time.

use ferrymq::broker::{Core, Request};
use ferrymq::cluster::Millis;
use ferrymq::cluster::raft::seats::{Faults, Seat};
use ferrymq::wire::AcceptMode;

use super::group::{cores, setup};
use super::session::Doing;
use super::watched::Watched;
use super::world::{At, World};

type Group = World<Vec<Seat<Watched<Core>>>>;

/// Longer than an election takes, and than a member may be silent.
const LONG_MS: u64 = 4000;

/// A group that has its queues, on a network without faults.
fn group(seed: u64) -> Group {
    let setup = setup(seed, 3, Faults::NONE);
    let mut world = World::new(cores(setup), seed, 1);
    world.prepare().expect("nothing goes wrong");
    world
}

fn pass(world: &mut Group, milliseconds: u64) {
    let until = world.now.0 + milliseconds;
    while world.now.0 < until {
        world.tick(5);
        world.look_at_all().expect("clients are told what is right");
    }
    world.together().expect("members are together");
}

fn until_whole(world: &mut Group) {
    let until = Millis(world.now.0 + 3 * LONG_MS);
    while !world.cluster[0].is_whole() {
        pass(world, 5);
        let standing = || world.cluster[0].standing();
        assert!(world.now < until, "does not become whole: {}", standing());
    }
}

fn leader(world: &Group) -> usize {
    let leads = world.cluster.iter().position(Seat::is_leading);
    leads.expect("somebody leads")
}

fn client(world: &mut Group, place: usize) -> At {
    let connection = world.connect(place);
    let name = format!("own {}", world.serials);
    let channel = world.attach(connection, &name, false);
    pass(world, 300);
    (connection, channel)
}

/// Cuts a member off from the others, or mends that.
fn isolate(world: &Group, place: usize, is_cut: bool) {
    for other in (0..3).filter(|other| *other != place) {
        world.cluster[place].cut(world.now, other, is_cut);
        world.cluster[other].cut(world.now, place, is_cut);
    }
}

fn is_answered(world: &Group, (connection, channel): At) -> bool {
    let session = world.connections[connection].sessions.get(&channel);
    session.is_some_and(|session| session.doings.is_empty())
}

fn sync(world: &mut Group, at: At) {
    world.command(at, true, Request::Sync, Doing::Other);
    world.flush(at.0);
}

#[test]
fn a_minority_confirms_nothing() {
    let mut world = group(3);
    let cut_off = leader(&world);
    let at = client(&mut world, cut_off);
    isolate(&world, cut_off, true);
    world.publish(at, "", "plain", AcceptMode::NONE);
    sync(&mut world, at);
    pass(&mut world, LONG_MS);
    assert!(!is_answered(&world, at), "a minority has confirmed");
    assert!(!world.cluster[cut_off].is_leading(), "it gives up to lead");
    let majority = leader(&world);
    let other = client(&mut world, majority);
    sync(&mut world, other);
    pass(&mut world, 300);
    assert!(is_answered(&world, other), "the majority goes on");
}

#[test]
fn a_member_that_was_taken_for_down_begins_anew() {
    let mut world = group(7);
    let cut_off = (leader(&world) + 1) % 3;
    let at = client(&mut world, cut_off);
    isolate(&world, cut_off, true);
    pass(&mut world, LONG_MS);
    assert!(world.connections[at.0].is_open, "it does not know yet");
    isolate(&world, cut_off, false);
    until_whole(&mut world);
    pass(&mut world, 300);
    assert!(!world.connections[at.0].is_open, "its sessions had ended");
    let again = client(&mut world, cut_off);
    sync(&mut world, again);
    pass(&mut world, 300);
    assert!(is_answered(&world, again), "and it serves others");
}

#[test]
fn unaccepted_messages_of_a_dead_member_go_back_in_place_and_flagged() {
    // With this seed none of the three messages has a time to live.
    let mut world = group(12);
    let dead = (leader(&world) + 1) % 3;
    let (alive, at) = (leader(&world), client(&mut world, dead));
    for _ in 0..3 {
        world.publish(at, "", "plain", AcceptMode::NONE);
    }
    sync(&mut world, at);
    pass(&mut world, 300);
    let name = world.subscribe(at, "plain", true, true, false);
    world.flow(at, &name, 2, u32::MAX);
    world.flush(at.0);
    pass(&mut world, 300);
    assert_eq!(world.ledger.deliveries(), 2, "two are held by the member");
    world.cluster[dead].crash(world.now);
    world.gone(at.0);
    pass(&mut world, LONG_MS);
    let other = client(&mut world, alive);
    let name = world.subscribe(other, "plain", true, true, false);
    world.flow(other, &name, u32::MAX, u32::MAX);
    world.flush(other.0);
    pass(&mut world, 300);
    // That they are flagged, and in their order, is checked as they come.
    assert_eq!(world.ledger.deliveries(), 5, "all three come to the other");
    world.cluster[dead].start(world.now, 0);
    super::run::end(&mut world).expect("all promises are kept");
}

#[test]
fn a_member_whose_disk_was_lost_learns_and_then_counts() {
    let mut world = group(5);
    let lost = (leader(&world) + 1) % 3;
    let alive = leader(&world);
    let at = client(&mut world, alive);
    for _ in 0..50 {
        world.publish(at, "", "plain", AcceptMode::NONE);
    }
    sync(&mut world, at);
    pass(&mut world, 300);
    let before = world.cluster[lost].id();
    world.cluster[lost].wipe(world.now);
    until_whole(&mut world);
    let after = world.cluster[lost].id();
    assert_ne!(before, after, "it is another member");
    // It counts: with it and without another the group goes on.
    let other = (0..3).find(|place| *place != lost && *place != at_seat(&world, at));
    isolate(&world, other.expect("there are three"), true);
    sync(&mut world, at);
    pass(&mut world, LONG_MS);
    assert!(is_answered(&world, at), "two of three are a majority");
}

fn at_seat(world: &Group, at: At) -> usize {
    world.connections[at.0].seat
}

#[test]
fn a_full_stop_forgets_nothing() {
    let mut world = group(9);
    let at = client(&mut world, 0);
    for _ in 0..20 {
        world.publish(at, "", "plain", AcceptMode::NONE);
    }
    sync(&mut world, at);
    pass(&mut world, 300);
    assert!(is_answered(&world, at));
    let now = world.now;
    world.cluster.iter().for_each(|seat| seat.crash(now));
    world.gone(at.0);
    pass(&mut world, 300);
    world.cluster.iter().for_each(|seat| seat.start(now, 0));
    until_whole(&mut world);
    super::run::end(&mut world).expect("all promises are kept");
}
