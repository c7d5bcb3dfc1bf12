//! Cases that random runs hardly ever meet.

use ferrymq::broker::{Effect, Request, limits};
use ferrymq::cluster::fact_log::Plant;
use ferrymq::cluster::lockstep::dice::Dice;
use ferrymq::cluster::{Millis, compaction, paging};
use ferrymq::store::SimulatedDisk;
use ferrymq::wire::{self, AcceptMode};

use super::broker::{Broker, Setup};
use super::client::{Client, Outcome};
use super::content::{self, Kind, QUEUES, bind, declarations, declare_with_alternate, unbind};
use super::ledger::{Doing, Ledger, Sent};

/// Images of the power cut.
const IMAGES: u64 = 40;

const NOW: Millis = Millis(1000);

struct Scene {
    broker: Broker,
    ledger: Ledger,
    uids: u64,
}

impl Scene {
    fn new(disk: &SimulatedDisk, setup: Setup) -> Result<Scene, String> {
        Ok(Scene {
            broker: Broker::open(disk, setup, NOW)?,
            ledger: Ledger::default(),
            uids: 0,
        })
    }

    /// Messages come and go until there are so many segments.
    fn pass(&mut self, client: &mut Client, segments: usize) -> Result<(), String> {
        while self.segments() < segments {
            self.publish(client, "b");
            self.done(client)?;
            let ids: Vec<u32> = client.held.keys().copied().collect();
            client.accept(&ids);
            self.done(client)?;
        }
        Ok(())
    }

    fn publish(&mut self, client: &mut Client, queue: &str) {
        self.uids += 1;
        let sent = Sent {
            uid: self.uids,
            exchange: String::new(),
            key: queue.to_owned(),
            kind: Kind {
                is_persistent: true,
                ttl: None,
            },
            expires: None,
        };
        client.publish(sent, AcceptMode::NONE);
    }

    /// What a client asks is done, written, and seen.
    fn done(&mut self, client: &mut Client) -> Result<(), String> {
        client.flush(&self.broker.solo, &mut self.ledger, NOW);
        self.broker.write_all();
        client.take(&self.broker.solo);
        client.look(&mut self.ledger).map(drop)
    }

    fn segments(&self) -> usize {
        let journal = self.broker.solo.journal();
        journal.map_or(0, |journal| journal.segments().len())
    }

    /// The segment with what was written last.
    fn newest_segment(&self) -> Option<u64> {
        let segments = self.broker.solo.journal()?.segments();
        segments.last().map(|segment| segment.number)
    }
}

fn declare(client: &mut Client) {
    for request in declarations() {
        let doing = match &request {
            Request::ExchangeDeclare(declare) => {
                Doing::DeclareExchange(declare.exchange.to_string())
            }
            Request::QueueDeclare(declare) => Doing::Declare(declare.queue.to_string()),
            Request::ExchangeBind(bind) => Doing::Bind(
                bind.exchange.to_string(),
                bind.queue.to_string(),
                bind.binding_key.to_string(),
            ),
            _ => Doing::Nothing,
        };
        client.ask(request, doing);
    }
}

/// The last message that a segment is needed for leaves it in a transaction, and the segment is
/// removed at once: the message or what came of it is there after a power cut. Most rounds carry
/// definitions forward, and so wait for more than they need.
pub fn last_of_a_segment(plant: Plant) -> Result<(), String> {
    let setup = Setup {
        plant,
        segment_bytes: 16384,
        memory_bytes_max: 1 << 30,
    };
    let disk = SimulatedDisk::new(1);
    let mut scene = Scene::new(&disk, setup)?;
    let mut client = Client::new(&scene.broker.solo, 1, NOW, false);
    let mut other = Client::new(&scene.broker.solo, 2, NOW, true);
    declare(&mut client);
    // Messages that stay: these segments, which have the definitions, stay too.
    while scene.segments() < 2 {
        scene.publish(&mut client, "p");
        scene.done(&mut client)?;
    }
    // More that stay. The last of them is the first of its segment.
    while scene.segments() < 3 {
        scene.publish(&mut client, "a");
        scene.done(&mut client)?;
    }
    other.subscribe("a", true, u32::MAX);
    let mut held = usize::MAX;
    while held != other.held.len() {
        held = other.held.len();
        scene.done(&mut other)?;
    }
    // All that comes behind it goes again.
    client.subscribe("b", true, u32::MAX);
    scene.pass(&mut client, 5)?;
    let last = other.held.keys().copied().next_back();
    other.accept(&[last.ok_or("nothing was delivered")?]);
    scene.publish(&mut other, "f1");
    other.end_transaction(true);
    other.flush(&scene.broker.solo, &mut scene.ledger, NOW);
    // Nothing of that is written.
    let copied = compaction::copy(&scene.broker.solo, || NOW)?;
    let copied = copied.ok_or("there is nothing to be removed")?;
    if copied.is_synced(&scene.broker.solo)? {
        copied.remove(&scene.broker.solo)?;
    }
    for seed in 0..IMAGES {
        let mut broker = Broker::open(&disk.crash(seed), setup, NOW)?;
        let observed = broker.observe(NOW)?;
        scene.ledger.clone().settle(&observed, NOW.0)?;
    }
    // Else it would prove nothing: it is removed as soon as it may be.
    scene.broker.write_all();
    let before = scene.segments();
    let copied = compaction::copy(&scene.broker.solo, || NOW)?;
    if let Some(copied) = copied {
        scene.broker.write_all();
        copied.remove(&scene.broker.solo)?;
    }
    match scene.segments() < before {
        true => Ok(()),
        false => Err("nothing was removed".to_owned()),
    }
}

/// Rounds of compaction in which one that gets on comes to its end.
const ROUNDS_MAX: usize = 20;

/// Compacts until nothing is left to be done.
fn compact(scene: &mut Scene) -> Result<(), String> {
    for _ in 0..ROUNDS_MAX {
        let Some(copied) = compaction::copy(&scene.broker.solo, || NOW)? else {
            return Ok(());
        };
        scene.broker.write_all();
        copied.remove(&scene.broker.solo)?;
    }
    Err("compaction does not come to an end".to_owned())
}

/// Small messages in many queues: their records are mostly places. Nothing of them is needless, and
/// nothing is copied for ever.
pub fn small_messages_in_many_queues() -> Result<(), String> {
    let setup = Setup {
        plant: Plant::None,
        segment_bytes: 16384,
        memory_bytes_max: 1 << 30,
    };
    let mut scene = Scene::new(&SimulatedDisk::new(1), setup)?;
    let mut client = Client::new(&scene.broker.solo, 1, NOW, false);
    declare(&mut client);
    for n in 0..150 {
        let name = format!("wide {n}");
        client.ask(declare_with_alternate(&name), Doing::Nothing);
        client.ask(bind(&name, content::FANOUT, ""), Doing::Nothing);
        scene.done(&mut client)?;
    }
    let kind = Kind {
        is_persistent: true,
        ttl: None,
    };
    while content::body(scene.uids).len() > 100 {
        scene.uids += 1;
    }
    let segments = scene.segments();
    while scene.segments() < segments + 3 {
        let message = content::message(scene.uids, content::FANOUT, "", kind);
        let request = Request::Transfer {
            destination: content::FANOUT.into(),
            accept_mode: AcceptMode::NONE,
            message: message.into(),
        };
        client.ask(request, Doing::Nothing);
        scene.done(&mut client)?;
    }
    compact(&mut scene)
}

/// Segments with a backlog also brought messages that have left since. What comes and goes beside it, one
/// small message at a time, is mostly said to have left: that must not keep all segments that say so.
/// With `first_stays` no position is known before which all have left; with `out_of_order` each second
/// message leaves before the one in front of it, as with two consumers.
pub fn small_messages_beside_a_backlog(
    first_stays: bool,
    out_of_order: bool,
) -> Result<(), String> {
    let setup = Setup {
        plant: Plant::None,
        segment_bytes: 4096,
        memory_bytes_max: 1 << 30,
    };
    let mut scene = Scene::new(&SimulatedDisk::new(1), setup)?;
    let mut client = Client::new(&scene.broker.solo, 1, NOW, false);
    declare(&mut client);
    client.subscribe("b", true, u32::MAX);
    while scene.segments() < 4 {
        scene.publish(&mut client, "a");
        scene.publish(&mut client, "b");
        scene.done(&mut client)?;
    }
    let backlog = scene.segments();
    let messages = if out_of_order { 16 } else { 4 };
    for _ in 0..300 {
        for _ in 0..messages {
            scene.uids += 1;
            while content::body(scene.uids + 1).len() > 40 {
                scene.uids += 1;
            }
            scene.publish(&mut client, "b");
        }
        scene.done(&mut client)?;
        let ids: Vec<u32> = client.held.keys().copied().collect();
        // The newest stay with their consumers for a while, so that what one segment brings leaves in the
        // next.
        let stay = if out_of_order { messages } else { 0 };
        let leaving = &ids[usize::from(first_stays)..ids.len() - stay];
        if out_of_order {
            for first in [1, 0] {
                let each_second: Vec<u32> =
                    leaving.iter().copied().skip(first).step_by(2).collect();
                client.accept(&each_second);
                scene.done(&mut client)?;
            }
        } else {
            for id in leaving {
                client.accept(&[*id]);
                scene.done(&mut client)?;
            }
        }
        compact(&mut scene)?;
        let segments = scene.segments();
        if segments > 2 * backlog + 8 {
            return Err(format!(
                "{segments} segments, {backlog} of them of a backlog"
            ));
        }
    }
    Ok(())
}

/// Definitions that take more than half of a segment: each checkpoint of them fills one.
pub fn large_definitions() -> Result<(), String> {
    let setup = Setup {
        plant: Plant::None,
        segment_bytes: 16384,
        memory_bytes_max: 1 << 30,
    };
    let mut scene = Scene::new(&SimulatedDisk::new(1), setup)?;
    let mut client = Client::new(&scene.broker.solo, 1, NOW, false);
    declare(&mut client);
    for n in 0..4 {
        let note = wire::Value::Str16("x".repeat(3000).as_str().into());
        let declare = wire::QueueDeclare {
            queue: format!("annotated {n}").as_str().into(),
            durable: true,
            arguments: Some(wire::Map::from_iter([("note", note)])),
            ..Default::default()
        };
        client.ask(Request::QueueDeclare(Box::new(declare)), Doing::Nothing);
        scene.done(&mut client)?;
    }
    client.subscribe("b", true, u32::MAX);
    // More segments than one round takes say something of definitions: so there are two checkpoints,
    // and the second does not fit behind the first.
    for segments in 4..16 {
        client.ask(bind("b", content::FANOUT, "again"), Doing::Nothing);
        client.ask(unbind("b", content::FANOUT, "again"), Doing::Nothing);
        scene.pass(&mut client, segments)?;
    }
    compact(&mut scene)?;
    // The checkpoint is what was written last. It stays where it is when little else happens: it is
    // most of its segment.
    let checkpoint = scene.newest_segment();
    let segments = scene.segments();
    scene.pass(&mut client, segments + 2)?;
    compact(&mut scene)?;
    let journal = scene.broker.solo.journal().ok_or("there is a journal")?;
    let is_it = |segment: &ferrymq::store::SegmentInfo| Some(segment.number) == checkpoint;
    match journal.segments().iter().any(is_it) {
        true => Ok(()),
        false => Err("the definitions were written again without need".to_owned()),
    }
}

/// A message that goes on to an alternate exchange, since its queue was deleted, is copied by a
/// compaction before its turn has come: it is at home in the copy.
pub fn copied_while_leaving() -> Result<(), String> {
    let setup = Setup {
        plant: Plant::None,
        segment_bytes: 16384,
        memory_bytes_max: 0,
    };
    let disk = SimulatedDisk::new(1);
    let mut scene = Scene::new(&disk, setup)?;
    let mut client = Client::new(&scene.broker.solo, 1, NOW, false);
    declare(&mut client);
    client.ask(declare_with_alternate("g"), Doing::Declare("g".to_owned()));
    scene.done(&mut client)?;
    // More than one entry routes on.
    for _ in 0..limits::WORK_PER_ENTRY_MAX {
        scene.publish(&mut client, "g");
        scene.done(&mut client)?;
    }
    client.subscribe("b", true, u32::MAX);
    let segments = scene.segments();
    scene.pass(&mut client, segments + 1)?;
    // A segment with little else that is needed is worth copying.
    while content::body(scene.uids + 1).len() > 100 {
        scene.uids += 1;
    }
    scene.publish(&mut client, "g");
    scene.pass(&mut client, segments + 3)?;
    let delete = wire::QueueDelete {
        queue: "g".into(),
        ..Default::default()
    };
    let delete = Request::QueueDelete(Box::new(delete));
    client.ask(delete, Doing::Delete("g".to_owned()));
    scene.done(&mut client)?;
    compact(&mut scene)?;
    let segments = scene.segments();
    scene.pass(&mut client, segments + 1)?;
    scene.broker.check_live()?;
    scene.broker.check_bodies()?;
    let journal = scene.broker.solo.journal().ok_or("there is a journal")?;
    if journal.removed_in_use() > 0 {
        return Err("a removed segment is still needed".to_owned());
    }
    let now = Millis(NOW.0 + 1);
    let observed = scene.broker.observe(now)?;
    match observed.queues.get("d1").map(Vec::len) {
        Some(count) if count == limits::WORK_PER_ENTRY_MAX as usize + 1 => Ok(()),
        other => Err(format!("{other:?} messages were routed on")),
    }
}

/// Messages go on to an alternate exchange, since their queue was deleted. What says so of the first
/// of them is in a segment of which little else is needed, and is not forgotten when that is removed:
/// the segments in which they came stay.
pub fn departures_from_a_deleted_queue(plant: Plant) -> Result<(), String> {
    let setup = Setup {
        plant,
        segment_bytes: 16384,
        memory_bytes_max: 1 << 30,
    };
    let disk = SimulatedDisk::new(1);
    let mut scene = Scene::new(&disk, setup)?;
    let mut client = Client::new(&scene.broker.solo, 1, NOW, false);
    declare(&mut client);
    client.ask(declare_with_alternate("g"), Doing::Declare("g".to_owned()));
    // More than one entry routes on, and as many others stay.
    for _ in 0..limits::WORK_PER_ENTRY_MAX {
        scene.publish(&mut client, "g");
        scene.publish(&mut client, "a");
        scene.done(&mut client)?;
    }
    client.subscribe("b", true, u32::MAX);
    let segments = scene.segments();
    scene.pass(&mut client, segments + 1)?;
    let delete = wire::QueueDelete {
        queue: "g".into(),
        ..Default::default()
    };
    let delete = Request::QueueDelete(Box::new(delete));
    client.ask(delete, Doing::Delete("g".to_owned()));
    scene.done(&mut client)?;
    // Those that have been routed on are taken.
    let mut other = Client::new(&scene.broker.solo, 2, NOW, false);
    for queue in content::DEAD_QUEUES {
        other.subscribe(queue, true, u32::MAX);
    }
    let mut taken = 0;
    loop {
        scene.done(&mut other)?;
        if other.held.is_empty() {
            break;
        }
        taken += other.held.len();
        let ids: Vec<u32> = other.held.keys().copied().collect();
        other.accept(&ids);
    }
    let segments = scene.segments();
    scene.pass(&mut client, segments + 1)?;
    compact(&mut scene)?;
    let mut broker = Broker::open(&disk.crash(1), setup, NOW)?;
    let observed = broker.observe(NOW)?;
    scene.ledger.settle(&observed, NOW.0)?;
    match taken > 0
        && observed
            .queues
            .get("d1")
            .is_some_and(|left| !left.is_empty())
    {
        true => Ok(()),
        false => Err(format!("{taken} were routed on, or all were")),
    }
}

/// A branch that fills several segments stays where it is however much comes and goes behind it, is at
/// home in the copy when it has to move, and goes with its outcome.
pub fn prepared_branch_in_the_way() -> Result<(), String> {
    let setup = Setup {
        plant: Plant::None,
        segment_bytes: 16384,
        memory_bytes_max: 1 << 30,
    };
    let disk = SimulatedDisk::new(1);
    let mut scene = Scene::new(&disk, setup)?;
    let mut client = Client::new(&scene.broker.solo, 1, NOW, false);
    let mut worker = Client::in_branches(&scene.broker.solo, 2, NOW);
    declare(&mut client);
    scene.done(&mut client)?;
    client.subscribe("b", true, u32::MAX);
    for branch in 1..=20 {
        // Little is needed of some segments: they are copied.
        scene.publish(&mut worker, "a");
        worker.end_branch(Outcome::Prepare);
        scene.done(&mut worker)?;
        let segments = scene.segments();
        scene.pass(&mut client, segments + branch % 3)?;
    }
    compact(&mut scene)?;
    scene.broker.check_live()?;
    scene.broker.check_bodies()?;
    let segments = scene.segments();
    if segments > BRANCH_SEGMENTS {
        return Err(format!("{segments} segments are left of 20 messages"));
    }
    let mut broker = Broker::open(&disk.crash(1), setup, NOW)?;
    let observed = broker.observe(NOW)?;
    if observed.branches.len() != 20 {
        return Err(format!("{:?} are in doubt", observed.branches));
    }
    scene.ledger.clone().settle(&observed, NOW.0)?;
    for branch in scene.ledger.in_doubt() {
        client.decide(&branch, true);
    }
    scene.done(&mut client)?;
    let observed = scene.broker.observe(Millis(NOW.0 + 1))?;
    match observed.queues.get("a").map(Vec::len) {
        Some(20) if observed.branches.is_empty() => Ok(()),
        _ => Err(format!("{observed:?}")),
    }
}

/// Segments that a journal has of twenty messages in branches, once it was compacted.
const BRANCH_SEGMENTS: usize = 12;

/// Looks at the memory in which nothing can be done any more.
const LOOKS: usize = 100;

/// A queue that takes more than the limit, and of which no more can leave the memory: looking at that
/// again and again costs little.
pub fn nothing_left_to_page_out() -> Result<(), String> {
    let setup = Setup {
        plant: Plant::None,
        segment_bytes: 65536,
        memory_bytes_max: 0,
    };
    let mut scene = Scene::new(&SimulatedDisk::new(1), setup)?;
    let mut client = Client::new(&scene.broker.solo, 1, NOW, false);
    declare(&mut client);
    for _ in 0..5_000 {
        scene.publish(&mut client, "a");
    }
    scene.done(&mut client)?;
    paging::round(&*scene.broker.solo)?;
    let mut pieces = 0;
    for _ in 0..LOOKS {
        pieces += paging::round(&*scene.broker.solo)?;
        scene.broker.write_all();
    }
    // A look at least each, and a walk over all after the first, second, fourth, eighth and so on.
    let of_a_walk = 5_000 / 256 + QUEUES.len();
    match pieces < LOOKS + 8 * of_a_walk {
        true => Ok(()),
        false => Err(format!("{pieces} pieces in {LOOKS} looks")),
    }
}

/// Octets that are written when half of some messages leave one by one and in no order.
fn written_of_departures(is_compacting: bool) -> Result<u64, String> {
    let setup = Setup {
        plant: Plant::None,
        segment_bytes: 16384,
        memory_bytes_max: 1 << 30,
    };
    let mut scene = Scene::new(&SimulatedDisk::new(1), setup)?;
    let mut client = Client::new(&scene.broker.solo, 1, NOW, false);
    let mut dice = Dice::new(7);
    declare(&mut client);
    client.subscribe("a", true, u32::MAX);
    for _ in 0..4_000 {
        scene.publish(&mut client, "a");
        scene.done(&mut client)?;
    }
    let written = |scene: &Scene| {
        let segments = scene
            .broker
            .solo
            .journal()
            .map(|journal| journal.segments());
        let last = segments.and_then(|segments| segments.last().copied());
        last.map(|segment| segment.end).ok_or("there is a journal")
    };
    let before = written(&scene)?;
    for turn in 0..2_000 {
        let at = dice.below(client.held.len() as u64) as usize;
        let id = client.held.keys().copied().nth(at);
        client.accept(&[id.ok_or("there are so many")?]);
        scene.done(&mut client)?;
        if is_compacting && turn % 8 == 0 {
            compact(&mut scene)?;
        }
    }
    Ok(written(&scene)? - before)
}

/// What is said of messages that have left is not written again and again.
pub fn departures_in_no_order() -> Result<(), String> {
    let plain = written_of_departures(false)?;
    let compacted = written_of_departures(true)?;
    let text = format!("{plain} octets without compaction, {compacted} with");
    println!("{text}");
    match compacted <= plain / 10 * 12 + 16384 {
        true => Ok(()),
        false => Err(text),
    }
}

/// An answer that shows what another has just decided is not seen before that is on the disk.
pub fn answers_wait() -> Result<(), String> {
    let setup = Setup {
        plant: Plant::None,
        segment_bytes: 65536,
        memory_bytes_max: 1 << 30,
    };
    let mut scene = Scene::new(&SimulatedDisk::new(1), setup)?;
    let mut one = Client::new(&scene.broker.solo, 1, NOW, false);
    let mut other = Client::new(&scene.broker.solo, 2, NOW, false);
    declare(&mut one);
    scene.done(&mut one)?;
    scene.done(&mut other)?;
    let queue = wire::QueueQuery { queue: "g".into() };
    let bound = wire::ExchangeBound {
        exchange: Some(content::DEAD.into()),
        ..Default::default()
    };
    let exchange = wire::ExchangeQuery {
        name: Some(content::DEAD.into()),
    };
    let questions = [
        Request::QueueQuery(Box::new(queue)),
        Request::ExchangeBound(Box::new(bound)),
        Request::ExchangeQuery(Box::new(exchange)),
    ];
    let answers = |other: &mut Client, scene: &Scene| {
        other.take(&scene.broker.solo);
        let is_answer = |effect: &Effect| matches!(effect, Effect::Result { .. });
        other.effects().filter(is_answer).count()
    };
    for (n, question) in questions.into_iter().enumerate() {
        let new = declare_with_alternate(&format!("g{n}"));
        one.ask(new, Doing::Nothing);
        one.flush(&scene.broker.solo, &mut scene.ledger, NOW);
        other.ask(question.clone(), Doing::Nothing);
        other.flush(&scene.broker.solo, &mut scene.ledger, NOW);
        if answers(&mut other, &scene) > 0 {
            return Err(format!("{question:?} is answered at once"));
        }
        scene.broker.write_all();
        if answers(&mut other, &scene) != 1 {
            return Err(format!("{question:?} is not answered"));
        }
    }
    Ok(())
}
