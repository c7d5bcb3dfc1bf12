//! Who takes part in a cluster, as its leader says, and who is to take part no more.

mod broker;

use broker::Broker;
use broker::agent::Agent;
use ferrymq::broker::ids::MemberId;
use ferrymq::broker::management::Action;
use ferrymq::broker::{Command, limits};
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
