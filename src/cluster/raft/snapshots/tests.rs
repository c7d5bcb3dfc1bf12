//! A newcomer and what comes to it, sound or not.

use super::super::node::Node;
use super::*;
use crate::cluster::raft::Change;

/// A leader of a group of its own and a newcomer that joins it.
struct Pair {
    leader: Node,
    newcomer: Node,
    /// Messages to the newcomer that were refused.
    refused: Vec<String>,
}

impl Pair {
    fn new() -> Pair {
        let mut pair = Pair {
            leader: Node::formed(1),
            newcomer: Node::newcomer(2),
            refused: Vec::new(),
        };
        pair.leader.lead();
        let (leader, now) = (&mut pair.leader.member, pair.leader.now);
        assert!(leader.change(now, Change::Join(MemberId(2))));
        pair
    }

    /// A tick of both, in which each hears what the other says; `spoil` changes what comes to the
    /// newcomer.
    fn step(&mut self, mut spoil: impl FnMut(&mut Envelope)) {
        self.leader.later();
        self.newcomer.later();
        loop {
            let (to_newcomer, to_leader) = (self.leader.run(), self.newcomer.run());
            if to_newcomer.is_empty() && to_leader.is_empty() {
                return;
            }
            for octets in to_newcomer {
                let mut envelope = Envelope::decode(&octets).expect("it was just sent");
                spoil(&mut envelope);
                let octets = envelope.encode().expect("it travels");
                let stepped = self.newcomer.member.step(self.newcomer.now, &octets);
                self.refused.extend(stepped.err());
            }
            for octets in to_leader {
                let stepped = self.leader.member.step(self.leader.now, &octets);
                stepped.expect("a newcomer says nothing strange");
            }
        }
    }

    fn has_state(&self) -> bool {
        self.newcomer.member.machine().index() > 0
    }

    /// The newcomer gets the leader's state, after all.
    fn until_whole(&mut self) {
        for _ in 0..1000 {
            self.step(|_| {});
            let leader = self.leader.member.machine();
            if self.newcomer.member.machine().digest() == leader.digest() {
                return;
            }
        }
        panic!("the newcomer has no state: {:?}", self.refused);
    }
}

/// What is spoiled is refused and never becomes a state, and what is sound still does.
fn is_refused(mut spoil: impl FnMut(&mut Envelope)) {
    let mut pair = Pair::new();
    for _ in 0..3 * limits::RAFT_SNAPSHOT_TICKS {
        pair.step(&mut spoil);
    }
    assert!(!pair.has_state() && !pair.refused.is_empty());
    assert!(pair.newcomer.member.log().is_empty());
    pair.until_whole();
}

#[test]
fn a_newcomer_gets_a_state_in_pieces() {
    let mut pair = Pair::new();
    let mut pieces = 0;
    while !pair.has_state() {
        pair.step(|envelope| {
            pieces += u32::from(matches!(envelope.content, Content::Piece { .. }))
        });
    }
    assert!(pieces > 5, "{pieces}");
    pair.until_whole();
    assert_eq!(pair.refused, [] as [String; 0]);
}

#[test]
fn entries_that_are_taken_back_leave_the_pieces_that_have_come() {
    let mut pair = Pair::new();
    let mut come = 0;
    for _ in 0..limits::RAFT_PIECE_TICKS {
        pair.step(|envelope| match &mut envelope.content {
            Content::Piece { piece, .. } if *piece < 3 => come += 1,
            Content::Piece { piece, .. } => *piece += 1000,
            _ => {}
        });
    }
    assert!(come >= 3 && !pair.has_state());
    let log = pair.newcomer.member.log_mut();
    log.truncate_after(0).expect("no snapshot has them");
    pair.until_whole();
}

#[test]
fn pieces_of_another_snapshot_are_refused() {
    is_refused(|envelope| {
        if let Content::Piece { index, .. } = &mut envelope.content {
            *index += 1;
        }
    });
}

#[test]
fn pieces_that_nobody_asked_for_are_refused() {
    is_refused(|envelope| {
        if let Content::Piece { piece, .. } = &mut envelope.content {
            *piece += 1000;
        }
    });
}

#[test]
fn more_octets_than_were_said_are_refused() {
    is_refused(|envelope| {
        if let Content::Piece { octets, .. } = &mut envelope.content {
            *octets = vec![0; limits::SNAPSHOT_PIECE_BYTES_MAX].into();
        }
    });
}

#[test]
fn octets_that_give_no_state_are_refused() {
    let mut pair = Pair::new();
    for _ in 0..3 * limits::RAFT_SNAPSHOT_TICKS {
        pair.step(|envelope| {
            if let Content::Piece {
                octets, piece: 1, ..
            } = &mut envelope.content
            {
                *octets = vec![0xff; octets.len()].into();
            }
        });
    }
    assert!(!pair.has_state());
    pair.until_whole();
}

#[test]
fn an_offer_of_more_than_can_be_is_none() {
    let mut offers = Vec::new();
    let mut pair = Pair::new();
    while offers.is_empty() {
        pair.step(|envelope| {
            if let Content::Offer(_) = &envelope.content {
                offers.push(envelope.clone());
            }
        });
    }
    let is_read = |spoil: &dyn Fn(&mut PieceHead)| {
        let mut envelope = offers[0].clone();
        if let Content::Offer(offer) = &mut envelope.content {
            spoil(&mut offer.head);
        }
        let octets = envelope.encode().expect("it travels");
        Envelope::decode(&octets).is_ok()
    };
    assert!(is_read(&|_| {}));
    assert!(!is_read(&|head| head.index += 1));
    assert!(!is_read(&|head| head.piece = 1));
    assert!(!is_read(&|head| head.messages_bytes = u64::MAX));
    assert!(!is_read(
        &|head| head.state_bytes = limits::RAFT_SNAPSHOT_BYTES_MAX
    ));
}

#[test]
fn nothing_is_read_for_one_to_whom_nothing_was_offered() {
    let mut pair = Pair::new();
    pair.leader.run();
    let wanted = Wanted {
        index: 1,
        piece: 0,
        count: 8,
    };
    pair.leader.member.wanted(MemberId(9), wanted);
    assert!(pair.leader.member.job().is_none());
}
