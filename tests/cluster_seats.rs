//! A member's seat in a group, alone and in lockstep.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Wake, Waker};

use bytes::Bytes;
use ferrymq::broker::ids::{ChannelKey, ConnectionNumber, GroupTime, MemberId};
use ferrymq::broker::limits::{BATCH_COMMANDS_MAX, BATCH_PLACES_MAX};
use ferrymq::broker::message::Message;
use ferrymq::broker::{Command, ConnectionRecord, Core, Effect, Options, Request};
use ferrymq::cluster::limits::PROPOSED_BATCHES_MAX;
use ferrymq::cluster::lockstep::faults::Faults;
use ferrymq::cluster::lockstep::{Settings, seats};
use ferrymq::cluster::solo::Solo;
use ferrymq::cluster::{Group, Millis};
use ferrymq::wire::{self, AcceptMode, CommandId, DeliveryProperties};

/// Counts how often it is woken.
#[derive(Default)]
struct Count(AtomicUsize);

impl Wake for Count {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

impl Count {
    fn take(&self) -> usize {
        self.0.swap(0, Ordering::Relaxed)
    }
}

fn solo(purge_interval: u64) -> Solo {
    let options = Options {
        queue_purge_interval: purge_interval,
        ..Options::default()
    };
    Solo::new(MemberId(1), options, Millis(0))
}

fn lockstep(faults: Faults) -> Vec<impl Group> {
    let settings = Settings {
        faults,
        ..Settings::usual(5)
    };
    seats(3, Options::default(), settings, Millis(0))
}

/// A connection with one session on channel 0.
struct Client<'a> {
    group: &'a dyn Group,
    number: ConnectionNumber,
    next: CommandId,
    woken: Arc<Count>,
}

impl<'a> Client<'a> {
    fn new(group: &'a dyn Group) -> Client<'a> {
        let woken = Arc::new(Count::default());
        let number = group.open(Waker::from(woken.clone()));
        let record = ConnectionRecord {
            user: "guest".into(),
            headroom_messages: 1_000_000,
            headroom_bytes: 1 << 40,
            ..Default::default()
        };
        let client = Client {
            group,
            number,
            next: CommandId(0),
            woken,
        };
        let open = Command::ConnectionOpen {
            connection: number,
            record: Box::new(record),
        };
        let attach = Command::Attach {
            at: client.at(),
            name: format!("{:?} {number:?}", group.member()).into_bytes(),
            force: false,
        };
        client.propose(0, vec![open, attach]);
        client
    }

    fn at(&self) -> ChannelKey {
        ChannelKey {
            connection: self.number,
            channel: 0,
        }
    }

    fn propose(&self, now: u64, mut commands: Vec<Command>) {
        self.group.propose(Millis(now), self.number, &mut commands);
        assert!(commands.is_empty(), "what was proposed is taken");
    }

    fn command(&mut self, request: Request) -> Command {
        let id = self.next;
        self.next = id.next();
        Command::Session {
            at: self.at(),
            id,
            sync: true,
            request,
        }
    }

    fn ask(&mut self, now: u64, request: Request) {
        let command = self.command(request);
        self.propose(now, vec![command]);
    }

    fn take(&self) -> Vec<Effect> {
        let mut effects = Vec::new();
        self.group.take(self.number, &mut effects);
        effects
    }
}

fn declare(queue: &str) -> Request {
    Request::QueueDeclare(Box::new(wire::QueueDeclare {
        queue: queue.into(),
        ..Default::default()
    }))
}

fn publish(queue: &str) -> Request {
    let mut header = Vec::new();
    let delivery = DeliveryProperties {
        routing_key: Some(queue.into()),
        ..Default::default()
    };
    wire::header::encode(&Some(delivery), &[], &mut header);
    let body = [Bytes::from_static(b"body")];
    Request::Transfer {
        destination: "".into(),
        accept_mode: AcceptMode::NONE,
        message: Message::new(Some(&header), Some(&body), "")
            .expect("it was just encoded")
            .into(),
    }
}

#[test]
fn solo_has_the_effects_in_the_outbox_when_propose_returns() {
    let group = solo(0);
    let mut client = Client::new(&group);
    assert!(matches!(client.take()[..], [Effect::Attached { .. }]));
    client.ask(1, declare("q"));
    assert!(matches!(client.take()[..], [Effect::Completed { .. }]));
    assert!(client.take().is_empty());
}

/// Each of them may go to every queue.
#[test]
fn solo_applies_few_commands_at_once_when_there_are_very_many_queues() {
    let group = solo(0);
    let mut client = Client::new(&group);
    let queues = 2 * BATCH_PLACES_MAX / BATCH_COMMANDS_MAX;
    for n in 0..queues {
        client.ask(1, declare(&format!("q{n}")));
        client.take();
    }
    assert_eq!(group.read(Core::commands_max), BATCH_COMMANDS_MAX / 2);
    let before = group.read(Core::index);
    let syncs = (0..BATCH_COMMANDS_MAX).map(|_| client.command(Request::Sync));
    let syncs = syncs.collect();
    client.propose(1, syncs);
    assert_eq!(group.read(Core::index), before + 2);
    assert_eq!(client.take().len(), 2, "a completion of each");
}

/// Three transactions of one message each, proposed at once.
fn transactions(client: &mut Client) {
    client.ask(1, declare("q"));
    client.ask(1, Request::TxSelect);
    let requests = (0..3).flat_map(|_| [publish("q"), Request::TxCommit]);
    let commands = requests.map(|request| client.command(request)).collect();
    client.propose(1, commands);
}

fn depth(core: &Core) -> u64 {
    core.message_count()
}

/// It may fill as many places in queues as a batch without it.
#[test]
fn solo_puts_nothing_behind_a_commit_into_its_batch() {
    let group = solo(0);
    let mut client = Client::new(&group);
    let before = group.read(Core::index);
    transactions(&mut client);
    assert_eq!(group.read(Core::index), before + 2 + 3);
    assert_eq!(group.read(depth), 3);
}

#[test]
fn members_propose_nothing_behind_a_commit_with_it() {
    let settings = Settings {
        faults: Faults::NONE,
        ..Settings::usual(5)
    };
    let seats = seats(3, Options::default(), settings, Millis(0));
    let (seat, member) = (&seats[0], seats[0].member());
    let mut client = Client::new(seat);
    let taken = || seat.read(|core| core.last_seq(member, core.last_epoch(member)));
    // What comes and what is told take time between members.
    let pass = |from: u64| (from..from + 100).for_each(|now| _ = seat.tick(Millis(now)));
    pass(0);
    let before = taken();
    transactions(&mut client);
    pass(100);
    assert_eq!(taken(), before + 2 + 3);
    assert_eq!(seat.read(depth), 3);
}

#[test]
fn a_connection_is_woken_once_until_it_has_looked() {
    let group = solo(0);
    let mut client = Client::new(&group);
    client.take();
    client.woken.take();
    client.ask(1, Request::Sync);
    client.ask(1, Request::Sync);
    client.ask(1, Request::Sync);
    assert_eq!(client.woken.take(), 1);
    assert_eq!(client.take().len(), 3);
    client.ask(1, Request::Sync);
    assert_eq!(client.woken.take(), 1);
}

#[test]
fn numbers_of_connections_are_not_used_twice() {
    let group = solo(0);
    let first = group.open(Waker::noop().clone());
    group.close(Millis(0), first);
    assert_ne!(group.open(Waker::noop().clone()), first);
}

#[test]
fn solo_time_goes_on_from_the_last_applied_and_never_back() {
    let group = Solo::new(MemberId(1), Options::default(), Millis(1000));
    let mut client = Client::new(&group);
    client.ask(1500, Request::Sync);
    assert_eq!(group.read(|core| core.time()), GroupTime(500));
    client.ask(1200, Request::Sync);
    assert_eq!(group.read(|core| core.time()), GroupTime(500));

    let core = group.read(Clone::clone);
    let later = Solo::continued(MemberId(1), 2, core, Options::default(), Millis(7));
    let mut client = Client::new(&later);
    client.ask(17, Request::Sync);
    assert_eq!(later.read(|core| core.time()), GroupTime(510));
}

#[test]
fn solo_ticks_at_the_deadline_of_the_core() {
    let group = solo(100);
    assert_eq!(group.tick(Millis(5)), Some(Millis(100)));
    assert_eq!(group.tick(Millis(100)), Some(Millis(200)));
    assert_eq!(solo(0).tick(Millis(5)), None);
}

#[test]
fn solo_leaves_what_is_too_much_for_one_entry_to_ticks_and_wakes_the_sequencer_once() {
    let group = solo(0);
    let sequencer = Arc::new(Count::default());
    group.set_sequencer_waker(Waker::from(sequencer.clone()));
    assert_eq!(group.tick(Millis(0)), None);
    let mut client = Client::new(&group);
    client.ask(0, declare("q"));
    for _ in 0..20 {
        let messages = (0..250).map(|_| client.command(publish("q"))).collect();
        client.propose(0, messages);
    }
    assert_eq!(sequencer.take(), 0);
    let purge = wire::QueuePurge { queue: "q".into() };
    client.ask(0, Request::QueuePurge(Box::new(purge)));
    client.ask(0, Request::Sync);
    assert_eq!(sequencer.take(), 1);
    assert!(group.read(|core| core.wants().work));
    while group.tick(Millis(0)).is_some() {}
    assert!(!group.read(|core| core.wants().work));
}

#[test]
fn nothing_is_applied_of_a_connection_that_has_no_outbox() {
    let group = solo(0);
    let mut client = Client::new(&group);
    group.close(Millis(0), client.number);
    let index = group.read(|core| core.index());
    client.ask(0, declare("q"));
    assert_eq!(group.read(|core| core.index()), index);
}

#[test]
fn a_restarted_member_has_no_connections_and_goes_on_with_its_queues() {
    let group = solo(0);
    let mut client = Client::new(&group);
    client.ask(0, declare("q"));
    client.woken.take();
    client.take();
    group.restart(Millis(1));
    assert!(client.woken.take() > 0);
    client.ask(1, Request::Sync);
    assert!(client.take().is_empty());

    let mut client = Client::new(&group);
    let passive = wire::QueueDeclare {
        queue: "q".into(),
        passive: true,
        ..Default::default()
    };
    client.ask(2, Request::QueueDeclare(Box::new(passive)));
    let effects = client.take();
    let is_done = matches!(
        effects[..],
        [Effect::Attached { .. }, Effect::Completed { .. }]
    );
    assert!(is_done, "{effects:?}");
}

#[test]
fn lockstep_members_see_what_one_of_them_did() {
    let group = lockstep(Faults::NONE);
    let mut one = Client::new(&group[0]);
    one.ask(1, declare("q"));
    let mut other = Client::new(&group[2]);
    let query = wire::QueueQuery { queue: "q".into() };
    other.ask(2, Request::QueueQuery(Box::new(query)));
    let effects = other.take();
    let answer = effects.iter().find_map(|effect| match effect {
        Effect::Result { value, .. } => value.parse::<wire::QueueQueryResult>().ok(),
        _ => None,
    });
    assert_eq!(answer.expect("an answer").queue, "q");
}

#[test]
fn lockstep_counts_what_is_proposed_and_wakes_when_it_falls_below_the_bound() {
    let group = lockstep(Faults {
        delays: 1000,
        delay_ms_max: 1,
        ..Faults::NONE
    });
    let mut client = Client::new(&group[0]);
    for _ in 1..PROPOSED_BATCHES_MAX {
        client.ask(0, Request::Sync);
    }
    let proposed = |client: &Client<'_>| {
        let mut effects = Vec::new();
        client.group.take(client.number, &mut effects).proposed
    };
    assert_eq!(proposed(&client), PROPOSED_BATCHES_MAX);
    assert_eq!(client.woken.take(), 0);
    let mut now = 0;
    while let Some(next) = group[0].tick(Millis(now)).filter(|next| next.0 < 100) {
        now = next.0.max(now + 1);
    }
    assert_eq!(proposed(&client), 0);
    assert!(client.woken.take() > 0);
}

#[test]
fn lockstep_lets_everything_through_a_bad_network_once_and_in_order() {
    let group = lockstep(Faults::HEAVY);
    let mut client = Client::new(&group[1]);
    client.ask(0, declare("q"));
    for _ in 0..300 {
        client.ask(0, publish("q"));
    }
    let last = client.next.0 - 1;
    let line = group[1].finish(Millis(1)).expect("the members are equal");
    assert!(line.is_some_and(|line| line.starts_with("lockstep: ")));
    let mut told = Vec::new();
    for effect in client.take() {
        if let Effect::Completed { commands, .. } = effect {
            told.push(commands.last().expect("something is completed").0);
        }
    }
    assert_eq!(told, (0..=last).collect::<Vec<u32>>());
}

#[test]
fn lockstep_calls_one_sequencer_when_none_would_come_in_time() {
    let group = lockstep(Faults {
        delays: 1000,
        delay_ms_max: 3,
        ..Faults::NONE
    });
    let counts: Vec<Arc<Count>> = group.iter().map(|_| Arc::default()).collect();
    for (seat, count) in group.iter().zip(&counts) {
        seat.set_sequencer_waker(Waker::from(count.clone()));
        seat.tick(Millis(100));
    }
    let client = Client::new(&group[2]);
    let woken = || counts.iter().map(|count| count.take()).sum::<usize>();
    assert_eq!(woken(), 1);
    client.propose(100, vec![Command::Detach { at: client.at() }]);
    assert!(woken() <= 1);
}
