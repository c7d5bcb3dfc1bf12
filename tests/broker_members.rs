//! Who takes part in a cluster, as its leader says, and who is to take part no more.

mod broker;

use broker::Broker;
use broker::agent::Agent;
use ferrymq::broker::encoding::{Decoder, Encoder, Record};
use ferrymq::broker::ids::{MemberId, ShardId};
use ferrymq::broker::level::{Level, Levels};
use ferrymq::broker::management::Action;
use ferrymq::broker::plant::{Plant, plant_here};
use ferrymq::broker::{Command, Core, Options, limits};
use ferrymq::wire::ErrorCode;

fn set(broker: &Broker, parts: impl IntoIterator<Item = u64>) {
    broker.sequencer(Command::Members {
        parts: parts.into_iter().map(MemberId).collect(),
        urls: Vec::new(),
    });
}

/// Takes a member out; the code of what is refused.
fn take_out(agent: &mut Agent, member: u64) -> Result<u64, ErrorCode> {
    let done = agent.act(Action::TakeOut(MemberId(member)));
    done.map_err(|refusal| refusal.code)
}

fn leaving(broker: &Broker) -> Vec<u64> {
    broker.core(|core| core.members().leaving().iter().map(|id| id.0).collect())
}

#[test]
fn a_member_is_to_leave_until_it_has_left() {
    let broker = Broker::new();
    let mut agent = Agent::open(&broker);
    set(&broker, [1, 2, 3]);
    assert_eq!(take_out(&mut agent, 2), Ok(0));
    assert_eq!(take_out(&mut agent, 2), Ok(0));
    assert_eq!(leaving(&broker), [2]);
    set(&broker, [1, 3]);
    assert!(leaving(&broker).is_empty());
    assert_eq!(take_out(&mut agent, 2), Err(ErrorCode::NOT_FOUND));
}

fn levels(broker: &Broker, of: impl IntoIterator<Item = u64>, levels: Levels) {
    let levels = of.into_iter().map(|id| (MemberId(id), levels));
    broker.sequencer(Command::Levels(levels.collect()));
}

fn next() -> Level {
    Level::known(Level::FIRST.number() + 1).expect("it is planted")
}

#[test]
fn a_new_group_begins_at_the_level_that_all_its_members_know() {
    let old = Levels::known();
    plant_here(Some(Plant::KnowsNextLevel));
    let broker = Broker::new();
    set(&broker, [1, 2]);
    levels(&broker, [1, 2], Levels::known());
    assert_eq!(broker.core(Core::level), next());
    // One that was known before is raised by nobody but an operator.
    let broker = Broker::new();
    set(&broker, [1, 2]);
    levels(&broker, [1, 2], old);
    levels(&broker, [1, 2], Levels::known());
    assert_eq!(broker.core(Core::level), Level::FIRST);
}

#[test]
fn a_group_that_has_begun_anew_keeps_its_level() {
    let old = Levels::known();
    plant_here(Some(Plant::KnowsNextLevel));
    let broker = Broker::new();
    set(&broker, [1, 2]);
    levels(&broker, [1, 2], old);
    // One member's state is all that is left, and another member it is that goes on with it.
    set(&broker, [3]);
    levels(&broker, [3], Levels::known());
    assert_eq!(broker.core(Core::level), Level::FIRST);
}

#[test]
fn a_level_is_raised_when_all_members_know_it() {
    let old = Levels::known();
    plant_here(Some(Plant::KnowsNextLevel));
    let broker = Broker::new();
    let mut agent = Agent::open(&broker);
    set(&broker, [1, 2]);
    levels(&broker, [1], old);
    let mut raise = |to| {
        let done = agent.act(Action::Raise(to));
        done.map_err(|refusal| refusal.text)
    };
    let why = raise(next()).expect_err("the second has said nothing");
    assert!(
        why.contains("0000000000000001 runs a version that knows level 3 only"),
        "{why}"
    );
    levels(&broker, [1], Levels::known());
    let why = raise(next()).expect_err("the second has said nothing");
    assert!(why.contains("0000000000000002 knows is not known"), "{why}");
    levels(&broker, [1, 2], Levels::known());
    assert_eq!(raise(next()), Ok(0));
    assert_eq!(raise(next()), Ok(0));
    let why = raise(Level::FIRST).expect_err("there is no way back");
    assert!(why.contains("does not go back"), "{why}");
}

#[test]
fn what_a_member_knows_that_is_gone_is_forgotten() {
    let broker = Broker::new();
    set(&broker, [1, 2]);
    levels(&broker, [1, 2, 3], Levels::known());
    let known = || broker.core(|core| core.members().levels().len());
    assert_eq!(known(), 2);
    set(&broker, [1]);
    assert_eq!(known(), 1);
}

#[test]
fn a_version_that_does_not_know_the_level_reads_neither_snapshot_nor_entry_of_it() {
    let first = Core::new(ShardId::default(), Options::default());
    let old = first.freeze().encode();
    plant_here(Some(Plant::KnowsNextLevel));
    let snapshot = old.decode().expect("older ones are read").at_most_level();
    let snapshot = snapshot.freeze().encode();
    assert_eq!(snapshot.state[..4], *b"FMQ4");
    assert!(snapshot.decode().is_ok_and(|core| core.level() == next()));
    let mut raised = Encoder::default();
    Action::Raise(next()).encode(&mut raised);
    plant_here(None);
    let why = snapshot.decode().expect_err("it is unknown");
    assert!(why.to_string().contains("a later version"), "{why}");
    let why = Action::decode(&mut Decoder::new(&raised.bytes)).expect_err("it is unknown");
    assert!(why.to_string().contains("another version"), "{why}");
}

#[test]
fn nobody_takes_the_last_member_out() {
    let broker = Broker::new();
    let mut agent = Agent::open(&broker);
    assert_eq!(take_out(&mut agent, 1), Err(ErrorCode::NOT_FOUND));
    set(&broker, [1, 2]);
    assert_eq!(take_out(&mut agent, 1), Ok(0));
    assert_eq!(take_out(&mut agent, 2), Err(ErrorCode::PRECONDITION_FAILED));
    assert_eq!(leaving(&broker), [1]);
}

#[test]
fn no_more_members_are_known_than_there_is_room_for() {
    let broker = Broker::new();
    let mut agent = Agent::open(&broker);
    let most = limits::MEMBERS_MAX as u64;
    set(&broker, 1..=most + 1);
    assert_eq!(take_out(&mut agent, most), Ok(0));
    assert_eq!(take_out(&mut agent, most + 1), Err(ErrorCode::NOT_FOUND));
}

#[test]
fn who_has_left_is_remembered_as_far_as_there_is_room() {
    let broker = Broker::new();
    let left = || broker.core(|core| core.members().left().map(|id| id.0).collect::<Vec<_>>());
    set(&broker, [1, 2, 3]);
    set(&broker, [1, 3, 4]);
    set(&broker, [1, 4]);
    assert_eq!(left(), [2, 3]);
    for member in 0..limits::MEMBERS_MAX as u64 {
        set(&broker, [1, 4, 100 + member]);
    }
    assert_eq!(left().len(), limits::MEMBERS_MAX);
    assert_eq!(left()[0], 3);
}
