//! A group that starts from three disks, whatever is on them.

use std::sync::Arc;

use ferrymq::broker::{Command, Core, Effect, Origin};
use ferrymq::cluster::entry_log::{EntryLog, LogError, Plant};
use ferrymq::cluster::limits::PROPOSAL_BYTES;
use ferrymq::cluster::lockstep::faults::Faults;
use ferrymq::cluster::lockstep::start::StartError;
use ferrymq::cluster::lockstep::{Seat, Settings};
use ferrymq::cluster::{Group, Millis};
use ferrymq::store::simulated::{Call, Failure};
use ferrymq::store::{Disk, SimulatedDisk, Turn};

use super::author::{Author, declare, publish};
use super::group::{Client, Disks, log_options, quiet, state};

/// What a group leaves on its disks that has published so many messages, on each member some.
fn used(disks: &Disks, messages: usize) -> (u64, u64) {
    let seats = disks.start_soundly(Millis(0));
    let mut clients: Vec<Client<'_>> = seats.iter().map(|seat| Client::new(seat, 1)).collect();
    clients[0].ask(1, declare("q"));
    for n in 0..messages {
        let id = clients[n % 3].ask(2, publish("q", &[n as u8; 500]));
        // With a disk that takes no time it is told at once.
        assert!(clients[n % 3].is_told_of(id), "message {n}");
    }
    seats[0].finish(Millis(3)).expect("all is well");
    state(&seats[0])
}

/// Changes one member's log: the disk has all of it.
pub fn change(disk: &SimulatedDisk, act: impl FnOnce(&mut EntryLog)) {
    let disk = Arc::new(disk.clone());
    let opened = EntryLog::open_without_thread(disk, &log_options(Plant::None), 1);
    let ((mut log, _), mut writer) = opened.expect("the disk is sound");
    act(&mut log);
    while writer.turn() == Turn::Worked {}
}

/// Gives a member's log some entries more.
pub fn lengthen(disk: &SimulatedDisk, count: usize) {
    change(disk, |log| {
        let core = log.replay::<Core>(log.last_index()).expect("it is sound");
        let mut author = Author::of(core);
        for _ in 0..count {
            let (index, batch) = author.entry_of(Origin::Sequencer, vec![Command::Tick]);
            let wall = log.last_wall().expect("there are some");
            log.append(wall, index, &batch).expect("it is the next");
        }
    });
}

/// Takes entries off a member's log, as if they had never come to its disk.
fn shorten(disk: &SimulatedDisk, count: u64) {
    change(disk, |log| {
        let truncated = log.truncate_after(log.last_index() - count);
        truncated.expect("no snapshot has them");
    });
}

fn last_index(disk: &SimulatedDisk) -> u64 {
    let mut last = 0;
    change(disk, |log| last = log.last_index());
    last
}

fn refused(disks: &Disks) -> StartError {
    match disks.start(Plant::None, quiet(), Millis(0)) {
        Err(error) => error,
        Ok(_) => panic!("it starts"),
    }
}

fn messages(seats: &[Seat<Core>]) -> u64 {
    assert!(seats.iter().all(|seat| state(seat) == state(&seats[0])));
    seats[0].read(Core::message_count)
}

#[test]
fn members_come_back_from_their_own_journals() {
    let disks = Disks::new(1);
    let (_, index) = used(&disks, 20);
    for disk in &disks.0 {
        assert_eq!(last_index(disk), index);
    }
    let seats = disks.start_soundly(Millis(10));
    assert_eq!(messages(&seats), 20);
}

#[test]
fn connections_of_before_are_gone() {
    let disks = Disks::new(2);
    let seats = disks.start_soundly(Millis(0));
    let mut client = Client::new(&seats[1], 1);
    client.ask(1, declare("q"));
    let before = seats[0].read(Core::connection_count);
    drop(seats);
    let seats = disks.start_soundly(Millis(10));
    assert_eq!((before, seats[0].read(Core::connection_count)), (1, 0));
    // It has the number of the one before, and is told nothing that was for that.
    let mut client = Client::new(&seats[1], 11);
    let told = client.told();
    assert!(matches!(told[..], [Effect::Attached { .. }]), "{told:?}");
    let id = client.ask(12, publish("q", b"message"));
    assert!(client.is_told_of(id));
    assert_eq!(messages(&seats), 1);
}

#[test]
fn a_member_that_starts_anew_comes_from_its_own_journal() {
    let disks = Disks::new(3);
    let seats = disks.start_soundly(Millis(0));
    let mut client = Client::new(&seats[0], 1);
    client.ask(1, declare("q"));
    for n in 0..200 {
        client.ask(2, publish("q", &[n; 500]));
    }
    let replacements = seats[0].tally().replacements;
    seats[2].restart(Millis(3));
    assert_eq!(seats[0].failure(), None);
    assert_eq!(seats[0].tally().replacements, replacements + 1);
    assert_eq!(messages(&seats), 200);
}

#[test]
fn an_entry_is_acknowledged_when_a_majority_has_it_on_its_disks() {
    let disks = Disks::new(4);
    let settings = Settings {
        seed: 4,
        compare_every: 50,
        proposal_bytes: PROPOSAL_BYTES,
        faults: Faults {
            delays: 1000,
            delay_ms_max: 40,
            ..Faults::NONE
        },
    };
    let (seats, _) = disks
        .start(Plant::None, settings, Millis(0))
        .expect("the disks are new");
    let mut client = Client::new(&seats[0], 0);
    let mut now = 0;
    let mut waits = 0;
    for n in 0..25 {
        let queue = format!("q{n}");
        let id = client.ask(now, declare(&queue));
        let is_applied = |seat: &Seat<Core>| seat.read(|core| core.queue_count()) == n + 1;
        let mut was_applied = false;
        while !client.is_told_of(id) {
            was_applied |= is_applied(&seats[0]);
            now += 1;
            seats[0].tick(Millis(now));
            assert!(now < 100_000, "it is never told");
        }
        waits += usize::from(was_applied);
        assert!(
            is_applied(&seats[0]),
            "it is applied on the client's member"
        );
        // What a crash leaves for certain: what is synced.
        let has_it = |disk: &SimulatedDisk| {
            let fewest = (0..20).map(|seed| {
                let mut queues = 0;
                change(&disk.crash(seed), |log| {
                    let core = log.replay::<Core>(log.last_index());
                    queues = core.expect("it is sound").queue_count();
                });
                queues
            });
            fewest.min() > Some(n)
        };
        let count = disks.0.iter().filter(|disk| has_it(disk)).count();
        assert!(count >= 2, "{queue} is on {count} disks");
    }
    assert!(waits > 5, "the disks were hardly waited for");
}

#[test]
fn a_journal_that_is_behind_gets_what_it_lacks() {
    for behind in [1, 5, 17] {
        let disks = Disks::new(5);
        let (_, index) = used(&disks, 20);
        shorten(&disks.0[1], behind);
        let seats = disks.start_soundly(Millis(10));
        assert_eq!(messages(&seats), 20);
        drop(seats);
        assert!(last_index(&disks.0[1]) > index);
    }
}

#[test]
fn entries_that_no_majority_had_are_taken_back() {
    let disks = Disks::new(6);
    let (_, index) = used(&disks, 20);
    lengthen(&disks.0[0], 5);
    assert_eq!(last_index(&disks.0[0]), index + 5);
    let seats = disks.start_soundly(Millis(10));
    assert_eq!(messages(&seats), 20);
    drop(seats);
    let seats = disks.start_soundly(Millis(20));
    assert_eq!(messages(&seats), 20);
}

/// A disk, and how many calls it does before its power goes.
type Cut = (usize, u64);

/// Starts cut short by power cuts, and then one that is left alone. What came of that, for each.
fn cut_short(
    plant: Plant,
    cuts: &[Vec<Cut>],
    prepare: impl Fn(&Disks),
) -> Vec<Result<u64, StartError>> {
    let mut all = Vec::new();
    for (n, cuts) in cuts.iter().enumerate() {
        let mut seed = 100 * n as u64;
        let disks = Disks::new(seed);
        prepare(&disks);
        for (place, calls) in cuts {
            disks.0[*place].power_off_after(*calls);
        }
        drop(disks.start(plant, quiet(), Millis(10)));
        let images = disks.crash(|| {
            seed += 1;
            seed
        });
        let again = images.start(plant, quiet(), Millis(20));
        all.push(again.map(|(seats, _)| messages(&seats)));
    }
    all
}

fn assert_all_are_there(cuts: &[Vec<Cut>], started: Vec<Result<u64, StartError>>) {
    for (cuts, started) in cuts.iter().zip(started) {
        match started {
            Ok(messages) => assert_eq!(messages, 20, "after {cuts:?}"),
            Err(error) => panic!("after {cuts:?}: {error}"),
        }
    }
}

#[test]
fn a_start_that_was_cut_short_while_entries_were_taken_back_is_begun_again() {
    let prepare = |disks: &Disks| {
        used(disks, 20);
        lengthen(&disks.0[0], 5);
    };
    let cuts: Vec<Vec<Cut>> = (0..20).map(|calls| vec![(0, calls)]).collect();
    assert_all_are_there(&cuts, cut_short(Plant::None, &cuts, prepare));
    let mut planted = cut_short(Plant::TruncationNotSynced, &cuts, prepare).into_iter();
    let found = planted
        .find_map(Result::err)
        .expect("a planted fault is found");
    println!("{:?}: {found}", Plant::TruncationNotSynced);
}

#[test]
fn a_lost_journal_is_made_again() {
    // With the entries from the beginning, and with a snapshot before them.
    for messages_before in [10, 300] {
        let disks = Disks::new(7);
        let (_, index) = used(&disks, messages_before);
        let mut snapshot = 0;
        change(&disks.0[0], |log| snapshot = log.snapshot_index());
        assert_eq!(snapshot > 0, messages_before == 300);
        for lost in [2, 0] {
            let mut disks = disks.clone();
            disks.0[lost] = SimulatedDisk::new(70);
            let seats = disks.start_soundly(Millis(10));
            assert_eq!(messages(&seats), messages_before as u64);
            drop(seats);
            let mut wall = 0;
            change(&disks.0[1], |log| {
                wall = log.entry(index).expect("it is there").0
            });
            change(&disks.0[lost], |log| {
                // Else time would have stood still until now, for this member.
                assert_eq!(log.entry(index).expect("it is there").0, wall);
                assert!(log.last_index() > index && log.voter().is_some());
                let source = log.snapshot_index();
                assert_eq!(source, snapshot, "the state that it was given");
            });
            // It counts again: another may be lost.
            disks.0[1] = SimulatedDisk::new(71);
            let seats = disks.start_soundly(Millis(20));
            assert_eq!(messages(&seats), messages_before as u64);
        }
    }
}

#[test]
fn what_was_acknowledged_by_a_lost_journal_and_one_other_is_kept() {
    let mut disks = Disks::new(8);
    used(&disks, 20);
    shorten(&disks.0[1], 4);
    disks.0[2] = SimulatedDisk::new(80);
    let planted = disks.crash(|| 1);
    assert_eq!(messages(&disks.start_soundly(Millis(10))), 20);

    let started = planted.start(Plant::LostCounts, quiet(), Millis(10));
    let kept = started.map(|(seats, _)| messages(&seats));
    assert!(!matches!(kept, Ok(20)), "the planted fault is found");
}

#[test]
fn without_a_majority_of_journals_nothing_starts() {
    let mut disks = Disks::new(9);
    used(&disks, 20);
    disks.0[0] = SimulatedDisk::new(90);
    disks.0[2] = SimulatedDisk::new(91);
    let error = refused(&disks);
    assert!(
        matches!(&error, StartError::NoMajority { lost } if *lost == [1, 3]),
        "{error}"
    );
    assert!(
        error.to_string().contains("members [1, 3] are new"),
        "{error}"
    );
    assert!(
        refused(&disks)
            .to_string()
            .contains("members [1, 3] are new")
    );
}

#[test]
fn a_lost_journal_counts_when_it_has_caught_up_and_not_before() {
    let prepare = |disks: &Disks| {
        used(disks, 20);
        shorten(&disks.0[1], 4);
        // A new disk in the place of the third.
        for name in disks.0[2].list().expect("it can be read") {
            disks.0[2].lose(&name).expect("it is there");
        }
    };
    let mut cuts: Vec<Vec<Cut>> = Vec::new();
    for calls in 0..25 {
        cuts.extend((0..9).map(|others| vec![(1, others), (2, calls)]));
    }
    assert_all_are_there(&cuts, cut_short(Plant::None, &cuts, prepare));
    let planted = cut_short(Plant::CountsEarly, &cuts, prepare);
    let is_lost =
        |started: &Result<u64, StartError>| started.as_ref().is_ok_and(|messages| *messages < 20);
    assert!(planted.iter().any(is_lost), "a planted fault is found");
}

#[test]
fn a_group_that_was_never_wholly_formed_is_formed() {
    for hurt in 0..3 {
        for changes in 0..40 {
            let disks = Disks::new(changes);
            disks.0[hurt].power_off_after(changes);
            let started = disks.start(Plant::None, quiet(), Millis(0));
            let is_whole = started.is_ok_and(|(seats, _)| seats[0].failure().is_none());
            let mut seed = changes;
            let images = disks.crash(|| {
                seed += 1;
                seed
            });
            let seats = images.start_soundly(Millis(10));
            let mut client = Client::new(&seats[0], 11);
            let id = client.ask(11, declare("q"));
            assert!(client.is_told_of(id), "member {hurt}, {changes} changes");
            if is_whole {
                break;
            }
        }
    }
}

#[test]
fn damage_to_one_journal_stops_the_start_and_a_new_disk_helps() {
    let mut disks = Disks::new(10);
    used(&disks, 20);
    let name = "0000000000000001.journal";
    disks.0[1].flip(name, 8 * 3000).expect("it is there");
    let before = disks.0[1].contents(name).expect("it is there");
    let error = refused(&disks);
    let is_told = matches!(
        &error,
        StartError::Log {
            member: 2,
            error: LogError::Journal(_)
        }
    );
    let text = error.to_string();
    assert!(
        is_told && text.contains(name) && text.contains("offset"),
        "{text}"
    );
    assert_eq!(disks.0[1].contents(name).expect("it is there"), before);
    disks.0[1] = SimulatedDisk::new(101);
    assert_eq!(messages(&disks.start_soundly(Millis(10))), 20);
}

#[test]
fn journals_in_the_wrong_place_are_told() {
    let mut disks = Disks::new(11);
    used(&disks, 5);
    let other = Disks::new(12);
    let mut storage = other.storage(Plant::None);
    storage.random += 1;
    let started = ferrymq::cluster::lockstep::start::seats_on_disks(
        &storage,
        Default::default(),
        quiet(),
        Millis(0),
    );
    drop(started.expect("the disks are new"));

    disks.0.swap(0, 2);
    let text = refused(&disks).to_string();
    assert!(
        text.contains("member 1: this is the journal of member 3"),
        "{text}"
    );
    disks.0.swap(0, 2);
    disks.0[1] = other.0[1].clone();
    let text = refused(&disks).to_string();
    assert!(
        text.contains("member 2: this is the journal of another group"),
        "{text}"
    );
}

#[test]
fn journals_that_give_different_states_are_told() {
    let disks = Disks::new(13);
    used(&disks, 5);
    shorten(&disks.0[2], 1);
    lengthen(&disks.0[2], 1);
    let error = refused(&disks);
    assert!(matches!(error, StartError::Apart { .. }), "{error}");
}

#[test]
fn time_goes_on_while_the_group_is_down() {
    let disks = Disks::new(14);
    let seats = disks.start_soundly(Millis(0));
    let mut client = Client::new(&seats[0], 1000);
    client.ask(1000, declare("q"));
    let before = seats[0].read(Core::time).0;
    drop(seats);
    let mut lost = disks.crash(|| 1);
    lost.0[1] = SimulatedDisk::new(140);
    let planted = disks.crash(|| 1);
    let passed = |disks: &Disks, plant| {
        let started = disks.start(plant, quiet(), Millis(61_000));
        let (seats, _) = started.expect("the disks are sound");
        seats[0].read(Core::time).0 - before
    };
    assert_eq!(passed(&disks, Plant::None), 60_000);
    assert_eq!(passed(&lost, Plant::None), 60_000);
    assert!(passed(&planted, Plant::TimeStands) < 60_000, "it is found");
}

#[test]
fn a_journal_that_fails_stops_the_group() {
    for (call, n) in [(Call::Write, 1), (Call::Sync, 1)] {
        let disks = Disks::new(15);
        let seats = disks.start_soundly(Millis(0));
        let mut client = Client::new(&seats[0], 1);
        let id = client.ask(1, declare("q"));
        assert!(client.is_told_of(id));
        disks.0[2].fail(call, n, Failure::Error);
        client.ask(2, publish("q", b"message"));
        let failure = seats[0].failure().expect("it has failed");
        assert!(
            failure.contains("member 3: the journal has failed"),
            "{failure}"
        );
        assert!(seats[1].finish(Millis(3)).is_err());
    }
}

#[test]
fn messages_are_refused_while_a_disk_is_full_and_nothing_is_lost() {
    let disks = Disks::new(16);
    let seats = disks.start_soundly(Millis(0));
    let mut client = Client::new(&seats[0], 1);
    client.ask(1, declare("q"));
    let used_bytes = |disk: &SimulatedDisk| {
        let names = disk.list().expect("it can be read");
        let lengths = names
            .iter()
            .map(|name| disk.contents(name).map_or(0, |c| c.len()));
        lengths.sum::<usize>() as u64
    };
    disks.0[1].set_capacity(used_bytes(&disks.0[1]) + 4096);
    let mut told = Vec::new();
    let mut now = 2;
    while !seats[0].is_full() {
        told.push(client.ask(now, publish("q", &[1; 900])));
        assert!(told.len() < 1000, "it is never full");
    }
    assert!(seats.iter().all(Group::is_full));
    disks.0[1].set_capacity(u64::MAX);
    while seats[0].is_full() {
        now += 100;
        seats[0].tick(Millis(now));
        assert!(now < 100_000, "it is always full");
    }
    let id = client.ask(now, publish("q", &[2; 900]));
    seats[0].tick(Millis(now + 1000));
    assert!(client.is_told_of(id));
    seats[0].finish(Millis(now + 1000)).expect("all is well");
    drop(seats);
    let seats = disks.crash(|| 3).start_soundly(Millis(now + 2000));
    assert_eq!(messages(&seats), told.len() as u64 + 1);
}

#[test]
fn the_room_of_the_journals_stays_bounded() {
    let disks = Disks::new(17);
    let seats = disks.start_soundly(Millis(0));
    let mut client = Client::new(&seats[0], 1);
    client.ask(1, declare("q"));
    let mut most = 0;
    for n in 0..1200 {
        client.ask(2, publish("q", &[3; 1000]));
        if n % 50 == 49 {
            let purge = ferrymq::wire::QueuePurge { queue: "q".into() };
            client.ask(2, ferrymq::broker::Request::QueuePurge(Box::new(purge)));
        }
        client.told();
        seats[0].tick(Millis(3));
        let files = disks
            .0
            .iter()
            .map(|disk| disk.list().map_or(0, |names| names.len()));
        most = most.max(files.max().unwrap_or(0));
    }
    // 1.2 MB went through segments of 16 KiB, and a snapshot is due each 40 KiB or so.
    assert!((4..20).contains(&most), "{most} files");
}
