//! A state that takes many pieces comes to a newcomer, whatever happens on the way.

use ferrymq::cluster::raft::seats::{Faults, Setup};

use super::group::{Client, Raft, body, declare, publish, setup};

/// A group whose state takes some hundred pieces, and a client at a member that stays.
fn filled(setup: Setup) -> (Raft, Client) {
    let mut raft = Raft::new(setup);
    let place = raft.leader();
    let mut client = Client::new(&mut raft, place);
    client.ask(&raft, declare("q"));
    fill(&mut raft, &mut client, 200);
    (raft, client)
}

fn fill(raft: &mut Raft, client: &mut Client, messages: u64) {
    for n in 0..messages {
        client.ask(raft, publish("q", body(n, 1000)));
        if n % 8 == 0 {
            client.until_done(raft);
        }
    }
    client.until_done(raft);
}

/// Puts an empty disk in the place of a follower's. Gives the place.
fn wipe_a_follower(raft: &Raft) -> usize {
    let place = (raft.leader() + 1) % 3;
    raft.seats[place].wipe(raft.now);
    place
}

/// Whether the newcomer has some of the pieces and not all.
fn is_midway(raft: &Raft, place: usize) -> bool {
    let look = |log: &ferrymq::cluster::entry_log::EntryLog| {
        log.snapshot_index() == 0 && log.end() > 50_000
    };
    raft.seats[place].read_log(look).unwrap_or(false)
}

#[test]
fn a_state_in_many_pieces_comes_over_a_network_that_loses_doubles_and_delays() {
    let (mut raft, _) = filled(setup(1));
    wipe_a_follower(&raft);
    let before = raft.seats[0].tally().messages;
    let bad = Faults {
        drops: 150,
        doublings: 150,
        delays: 400,
        delay_ms_max: 30,
        ..Faults::NONE
    };
    raft.seats[0].set_faults(raft.now, bad);
    raft.until_whole();
    let tally = raft.seats[0].tally();
    assert!(tally.messages - before > 250, "in pieces: {tally:?}");
    assert!(tally.drops > 20 && tally.doublings > 20, "{tally:?}");
}

#[test]
fn a_newcomer_that_loses_power_in_the_middle_begins_anew() {
    let (mut raft, _) = filled(setup(2));
    let place = wipe_a_follower(&raft);
    for _ in 0..3 {
        raft.until("some pieces have come", |raft| is_midway(raft, place));
        raft.seats[place].crash(raft.now);
        raft.seats[place].start(raft.now, 0);
        raft.step();
    }
    raft.until_whole();
}

#[test]
fn a_newer_state_in_the_middle_does_not_mix_with_the_older_one() {
    let (mut raft, mut client) = filled(setup(3));
    let place = wipe_a_follower(&raft);
    let leader = raft.leader();
    let slow = Faults {
        delays: 900,
        delay_ms_max: 60,
        ..Faults::NONE
    };
    raft.seats[0].set_faults(raft.now, slow);
    raft.until("some pieces have come", |raft| is_midway(raft, place));
    let newest = |raft: &Raft| raft.seats[leader].read_log(|log| log.snapshot_index());
    let older = newest(&raft);
    while newest(&raft) == older {
        fill(&mut raft, &mut client, 20);
    }
    raft.seats[0].set_faults(raft.now, Faults::NONE);
    raft.until_whole();
}

#[test]
fn another_leader_in_the_middle_sends_its_own() {
    let (mut raft, _) = filled(setup(4));
    let place = wipe_a_follower(&raft);
    raft.until("some pieces have come", |raft| is_midway(raft, place));
    let leader = raft.leader();
    raft.seats[leader].crash(raft.now);
    raft.seats[leader].start(raft.now, 0);
    raft.until_whole();
}

#[test]
fn clients_are_served_while_a_state_travels() {
    let (mut raft, mut client) = filled(setup(5));
    let place = wipe_a_follower(&raft);
    raft.until("some pieces have come", |raft| is_midway(raft, place));
    let leader = raft.leader();
    let mut served = 0;
    while is_midway(&raft, place) {
        client.ask(&raft, publish("q", body(0, 10)));
        client.until_done(&mut raft);
        served += 1;
    }
    assert!(served > 3, "{served} times in all");
    assert_eq!(raft.leader(), leader, "heartbeats came in time");
    raft.until_whole();
}
