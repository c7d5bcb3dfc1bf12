//! A simulated raft group, its time, and clients of it.

use std::collections::BTreeSet;
use std::task::Waker;

use bytes::Bytes;
use ferrymq::broker::ids::{ChannelKey, ConnectionNumber, ShardId};
use ferrymq::broker::message::Message;
use ferrymq::broker::{Command, ConnectionRecord, Core, Effect, Options, Request};
use ferrymq::cluster::entry_log;
use ferrymq::cluster::limits::PROPOSAL_BYTES;
use ferrymq::cluster::raft::Plant;
use ferrymq::cluster::raft::seats::{Faults, Seat, Setup, seats};
use ferrymq::cluster::{Group, Millis, Outstanding};
use ferrymq::store;
use ferrymq::wire::{self, AcceptMode, AcquireMode, CommandId, CreditUnit, DeliveryProperties};

/// Simulated milliseconds in which everything must have come about.
const LONG_MS: u64 = 60_000;

/// Octets of a piece of a snapshot.
pub const PIECE_BYTES: usize = 1024;

/// A group and its time.
pub struct Raft {
    pub seats: Vec<Seat<Core>>,
    pub now: Millis,
}

/// A setup with small pieces and few entries kept, so that a newcomer needs a state.
pub fn setup(seed: u64) -> Setup {
    Setup {
        seed,
        members: 3,
        faults: Faults::NONE,
        down_after_ms: 1500,
        recent_bytes: 0,
        proposal_bytes: PROPOSAL_BYTES,
        log: entry_log::Options {
            journal: store::Options {
                segment_bytes: 64 * 1024,
                ..store::Options::default()
            },
            snapshot_after_bytes: 48 * 1024,
            snapshot_piece_bytes: PIECE_BYTES,
            ..entry_log::Options::default()
        },
        wall_at_zero: 1_700_000_000_000,
        plant: Plant::None,
    }
}

/// A setup for large messages: a snapshot has some of them.
pub fn roomy(seed: u64) -> Setup {
    let mut setup = setup(seed);
    setup.recent_bytes = 8 * 1024 * 1024;
    setup.log.journal.segment_bytes = 1024 * 1024;
    setup.log.snapshot_after_bytes = 2 * 1024 * 1024;
    setup.log.snapshot_piece_bytes = 64 * 1024;
    setup
}

impl Raft {
    /// A group that has a leader.
    pub fn new(setup: Setup) -> Raft {
        let fresh = || Core::new(ShardId::default(), Options::default());
        let now = Millis(1000);
        let seats = seats(setup, fresh, &[], now).expect("new disks are sound");
        let mut raft = Raft { seats, now };
        raft.until("there is a leader", |raft| raft.seats[0].is_whole());
        raft
    }

    /// Lets time pass to the next thing that happens, a millisecond at least.
    pub fn step(&mut self) {
        let next = self.seats[0].tick(self.now);
        let soon = Millis(self.now.0 + 1);
        self.now = next.unwrap_or(soon).max(soon).min(Millis(self.now.0 + 50));
        assert_eq!(self.seats[0].failure(), None);
    }

    /// Lets time pass until something holds.
    pub fn until(&mut self, what: &str, holds: impl Fn(&Raft) -> bool) {
        let end = self.now.0 + LONG_MS;
        while !holds(self) {
            self.step();
            assert!(
                self.now.0 < end,
                "not in time: {what}; {}",
                self.seats[0].standing()
            );
        }
    }

    /// Who leads.
    pub fn leader(&self) -> usize {
        let leader = self.seats.iter().position(Seat::is_leading);
        leader.expect("somebody leads")
    }

    /// Waits until all are there and have applied the same, and looks whether that gave the same.
    pub fn until_whole(&mut self) {
        self.until("all are whole", |raft| raft.seats[0].is_whole());
        let digests: Vec<_> = self.seats.iter().map(Seat::digest).collect();
        assert!(digests.iter().all(|one| *one == digests[0]), "{digests:?}");
    }
}

/// A connection of a member's with one session on channel 0.
pub struct Client {
    pub place: usize,
    pub number: ConnectionNumber,
    next: CommandId,
    /// Commands that are completed.
    pub completed: BTreeSet<u32>,
    /// What was delivered.
    pub delivered: Vec<Effect>,
    /// What ended the session.
    pub exceptions: Vec<Effect>,
    pub outstanding: Outstanding,
}

impl Client {
    pub fn new(raft: &mut Raft, place: usize) -> Client {
        Client::of(&raft.seats[place], place, raft.now)
    }

    /// One of any group's seat.
    pub fn of(seat: &dyn Group, place: usize, now: Millis) -> Client {
        let number = seat.open(Waker::noop().clone());
        let client = Client {
            place,
            number,
            next: CommandId(0),
            completed: BTreeSet::new(),
            delivered: Vec::new(),
            exceptions: Vec::new(),
            outstanding: Outstanding::default(),
        };
        let record = ConnectionRecord {
            user: "guest".into(),
            headroom_messages: 1_000_000,
            headroom_bytes: 1 << 40,
            ..Default::default()
        };
        let open = Command::ConnectionOpen {
            connection: number,
            record: Box::new(record),
        };
        let attach = Command::Attach {
            at: client.at(),
            name: format!("{place} {number:?}").into_bytes(),
            force: false,
        };
        seat.propose(now, number, &mut vec![open, attach]);
        client
    }

    fn at(&self) -> ChannelKey {
        ChannelKey {
            connection: self.number,
            channel: 0,
        }
    }

    /// Asks several things in one batch.
    pub fn ask_all(&mut self, raft: &Raft, requests: Vec<Request>) {
        self.propose(&raft.seats[self.place], raft.now, requests);
    }

    pub fn propose(&mut self, seat: &dyn Group, now: Millis, requests: Vec<Request>) {
        let mut commands = Vec::new();
        for request in requests {
            let id = self.next;
            self.next = id.next();
            commands.push(Command::Session {
                at: self.at(),
                id,
                sync: true,
                request,
            });
        }
        seat.propose(now, self.number, &mut commands);
    }

    pub fn ask(&mut self, raft: &Raft, request: Request) {
        self.ask_all(raft, vec![request]);
    }

    /// Takes what it was told.
    pub fn look(&mut self, raft: &Raft) {
        let mut effects = Vec::new();
        self.outstanding = raft.seats[self.place].take(self.number, &mut effects);
        for effect in effects {
            match effect {
                Effect::Completed { commands, .. } => {
                    for (first, last) in commands.ranges() {
                        self.completed.extend(first.0..=last.0);
                    }
                }
                Effect::Deliver(_) => self.delivered.push(effect),
                Effect::Exception { .. } => self.exceptions.push(effect),
                _ => {}
            }
        }
    }

    /// Whether all that it asked is completed.
    pub fn is_done(&self) -> bool {
        self.completed.len() as u32 == self.next.0
    }

    /// Waits until all that it asked is completed.
    pub fn until_done(&mut self, raft: &mut Raft) {
        let end = raft.now.0 + LONG_MS;
        loop {
            self.look(raft);
            if self.is_done() {
                return;
            }
            let (done, asked) = (self.completed.len(), self.next.0);
            assert!(raft.now.0 < end, "{done} of {asked} are completed");
            assert!(!self.outstanding.is_ended, "its connection has ended");
            raft.step();
        }
    }

    pub fn subscribe(&mut self, raft: &Raft, queue: &str) {
        let flow = |unit| Request::Flow {
            destination: "d".into(),
            unit,
            value: u32::MAX,
        };
        let subscribe = Request::Subscribe(Box::new(wire::MessageSubscribe {
            queue: queue.into(),
            destination: "d".into(),
            accept_mode: AcceptMode::EXPLICIT,
            acquire_mode: AcquireMode::PRE_ACQUIRED,
            ..Default::default()
        }));
        let flows = [flow(CreditUnit::BYTE), flow(CreditUnit::MESSAGE)];
        self.ask_all(raft, [subscribe].into_iter().chain(flows).collect());
    }
}

pub fn declare(queue: &str) -> Request {
    Request::QueueDeclare(Box::new(wire::QueueDeclare {
        queue: queue.into(),
        ..Default::default()
    }))
}

pub fn publish(queue: &str, body: Vec<u8>) -> Request {
    let mut header = Vec::new();
    let delivery = DeliveryProperties {
        routing_key: Some(queue.into()),
        ..Default::default()
    };
    wire::header::encode(&Some(delivery), &[], &mut header);
    let body = [Bytes::from(body)];
    let message = Message::new(Some(&header), Some(&body), "");
    Request::Transfer {
        destination: "".into(),
        accept_mode: AcceptMode::NONE,
        message: message.expect("it was just encoded").into(),
    }
}

/// Octets that tell one body from another, and one place in it from another.
pub fn body(of: u64, bytes: usize) -> Vec<u8> {
    (0..bytes as u64)
        .map(|at| (of.wrapping_mul(31) ^ at ^ (at >> 8)) as u8)
        .collect()
}
