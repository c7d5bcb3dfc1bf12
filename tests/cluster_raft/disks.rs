//! A member whose disk is full keeps nobody but its own clients from being served.

use super::group::{Client, Raft, body, declare, publish, setup};

#[test]
fn a_leader_whose_disk_is_full_hands_leadership_on_and_catches_up_when_there_is_room() {
    let mut setup = setup(21);
    setup.log.snapshot_after_bytes = u64::MAX;
    let mut raft = Raft::new(setup);
    let full = raft.leader();
    let mut client = Client::new(&mut raft, (full + 1) % 3);
    client.ask(&raft, declare("q"));
    client.until_done(&mut raft);
    raft.seats[full].set_room(raft.now, Some(0));
    for of in 0..200 {
        client.ask(&raft, publish("q", body(of, 1000)));
        client.until_done(&mut raft);
    }
    raft.until("another leads", |raft| {
        (0..3).any(|place| place != full && raft.seats[place].is_leading())
    });
    assert!(raft.seats[full].is_up(), "it waits for room");
    assert!(!raft.seats[full].is_leading());
    client.ask(&raft, publish("q", body(200, 1000)));
    client.until_done(&mut raft);
    raft.seats[full].set_room(raft.now, None);
    raft.until_whole();
}
