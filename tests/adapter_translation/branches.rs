//! Branches of distributed transactions.

use ferrymq::protocol::Event;
use ferrymq::wire::{self, Command};

use super::World;

fn xid(octets: usize) -> wire::DtxXid {
    wire::DtxXid {
        format: 0,
        global_id: vec![b'x'; octets],
        branch_id: Vec::new(),
    }
}

#[test]
fn xid_that_is_longer_than_xa_allows_is_an_invalid_argument() {
    for octets in [64, 65] {
        let world = World::new();
        let mut pair = world.connect();
        pair.attach(0, "long");
        pair.send(Command::DtxSelect(Default::default()));
        pair.send(Command::DtxStart(wire::DtxStart {
            xid: xid(octets),
            ..Default::default()
        }));
        pair.run();
        let is_told = |event: &Event| matches!(event, Event::Result { .. });
        match octets {
            64 => assert!(pair.heard.iter().any(is_told), "{:?}", pair.heard),
            _ => assert_eq!(
                pair.exception().error_code,
                wire::ErrorCode::INVALID_ARGUMENT
            ),
        }
    }
}

#[test]
fn timeout_of_a_branch_has_a_default_and_a_maximum() {
    let world = World::new();
    let mut pair = world.connect();
    pair.attach(0, "timeouts");
    pair.send(Command::DtxSelect(Default::default()));
    let start = wire::DtxStart {
        xid: xid(1),
        ..Default::default()
    };
    pair.send(Command::DtxStart(start));
    for timeout in [3600, 0, 3601] {
        let xid = xid(1);
        pair.send(Command::DtxSetTimeout(wire::DtxSetTimeout { xid, timeout }));
        pair.run();
        if timeout > 3600 {
            assert_eq!(
                pair.exception().error_code,
                wire::ErrorCode::INVALID_ARGUMENT
            );
            return;
        }
        pair.heard.clear();
        pair.send(Command::DtxGetTimeout(wire::DtxGetTimeout {
            xid: self::xid(1),
        }));
        pair.run();
        let told = pair.heard.iter().find_map(|event| match event {
            Event::Result { value, .. } => value.clone(),
            _ => None,
        });
        let told = told
            .expect("an answer")
            .parse::<wire::DtxGetTimeoutResult>();
        let expected = if timeout == 0 { 60 } else { timeout };
        assert_eq!(told.map(|told| told.timeout), Ok(expected));
    }
}
