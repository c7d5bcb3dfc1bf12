//! Rounds in which the disk gets full and has room again.

use std::collections::BTreeSet;
use std::future::Future;
use std::time::Duration;

use ferrymq::client::{Error, Message, Session};

use crate::disk::SmallDisk;
use crate::durable_support::*;
use crate::server_support::{Broker, PATIENCE};

/// What publishers fill and consumers empty.
const FILLED: &str = "filled";

/// A queue of which nothing is ever taken.
pub const KEPT: &str = "kept";

/// Octets of a body.
const BODY_BYTES: usize = 20_000;

/// Messages of a transaction that is larger than what is left of a full disk.
const LARGE_MESSAGES: usize = 1_000;

/// Publishers that send without waiting, beside the others.
const FLOODS: usize = 24;

/// Octets of a message that is larger than what is left of the disk, and not larger than the disk.
const HUGE_BYTES: usize = 40 * 1024 * 1024;

/// How often publishing is tried again when there is room, and how long each try waits.
const TRIES_MAX: usize = 500;
const TRY_INTERVAL: Duration = Duration::from_millis(100);

/// Files of the journal, in turn: many small ones, few large ones, and the usual ones of such a disk.
const FILE_SIZES: [Option<&str>; 4] = [Some("1m"), Some("256k"), Some("2m"), None];

/// What is known of what was sent.
#[derive(Debug, Default)]
struct Book {
    next: usize,
    /// Those whose completion was seen, less those whose accept's was.
    there: BTreeSet<usize>,
    /// Those of which nothing was seen.
    unknown: BTreeSet<usize>,
}

/// See the module.
pub struct Filling<'a> {
    disk: &'a SmallDisk,
    book: Book,
    kept: usize,
    refused: u64,
    tries: usize,
    rounds: u64,
    messages: usize,
}

fn body(number: usize) -> Vec<u8> {
    let mut body = format!("{number} ").into_bytes();
    body.extend((body.len()..BODY_BYTES).map(|at| (at * 31 + number) as u8));
    body
}

fn number_of(delivered: &[u8]) -> Result<usize, String> {
    let end = delivered.iter().position(|octet| *octet == b' ');
    let text = std::str::from_utf8(&delivered[..end.unwrap_or(0)]).unwrap_or_default();
    let number = text.parse().map_err(|_| "a body that nobody sent")?;
    match body(number) == delivered {
        true => Ok(number),
        false => Err(format!("message {number} is altered")),
    }
}

/// How a publisher waits for completions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    OneByOne,
    /// So many, and then a sync.
    Batches(usize),
    /// So many a transaction.
    Transactions(usize),
}

/// Waits for something that must come however full the disk is.
async fn in_time<T>(what: &str, future: impl Future<Output = T>) -> Result<T, String> {
    let waited = tokio::time::timeout(PATIENCE, future).await;
    waited.map_err(|_| format!("waited in vain until {what}"))
}

impl<'a> Filling<'a> {
    pub fn new(disk: &'a SmallDisk) -> Filling<'a> {
        Filling {
            disk,
            book: Book::default(),
            kept: 0,
            refused: 0,
            tries: 0,
            rounds: 0,
            messages: 0,
        }
    }

    pub fn closing_lines(&self) -> String {
        format!(
            "{} rounds, {} messages confirmed, {} publishers refused with 506, publishing worked \
             again after {} tries at most",
            self.rounds, self.messages, self.refused, self.tries
        )
    }

    fn start(&self, round: u64) -> Broker {
        let data_dir = self.disk.data_dir();
        let size = FILE_SIZES[round as usize % FILE_SIZES.len()];
        // The disk is to be the limit, and not the queue.
        let mut options = vec!["--data-dir", &data_dir, "--default-queue-limit", "0"];
        options.extend(size.iter().flat_map(|size| ["--journal-file-size", size]));
        Broker::start(&options)
    }

    /// One round: full, served all the same, room again.
    pub async fn round(&mut self, round: u64) -> Result<(), String> {
        self.rounds += 1;
        self.disk.take(16)?;
        let mut broker = self.start(round);
        let session = session(&broker).await;
        declare(&session, durable_queue(FILLED)).await;
        declare(&session, durable_queue(KEPT)).await;
        self.keep(&broker).await?;
        self.huge_message(&broker).await?;
        let large = match round % 3 {
            1 => Some(self.large_transaction(&broker).await),
            _ => None,
        };
        self.fill(&broker).await?;
        if let Some(large) = large {
            self.is_refused(large).await?;
        }
        self.others_are_served(&broker).await?;
        if round.is_multiple_of(2) {
            // It starts on a full disk, too.
            stop(&mut broker, "KILL");
            broker = self.start(round + 1);
            self.compare(&broker).await?;
            self.fill(&broker).await?;
            self.others_are_served(&broker).await?;
        }
        match round % 3 {
            0 => self.disk.give_back()?,
            _ => self.consume(&broker, 10).await?,
        }
        self.publish_again(&broker).await?;
        if !round.is_multiple_of(3) {
            self.disk.give_back()?;
        }
        if !broker.is_running() {
            return Err(format!("it ended: {:#?}", broker.log()));
        }
        stop(
            &mut broker,
            if round.is_multiple_of(2) {
                "KILL"
            } else {
                "TERM"
            },
        );
        let mut broker = self.start(round + 2);
        self.compare(&broker).await?;
        self.consume(&broker, usize::MAX).await?;
        stop(&mut broker, "TERM");
        Ok(())
    }

    async fn keep(&mut self, broker: &Broker) -> Result<(), String> {
        let body = bodies(self.kept, 1).remove(0);
        self.publish_in_the_end(broker, KEPT, body).await?;
        self.kept += 1;
        Ok(())
    }

    /// Publishes in all ways at once until each has been refused.
    async fn fill(&mut self, broker: &Broker) -> Result<(), String> {
        // Many at once: what all of them have on its way must not use up what makes room.
        let floods = std::iter::repeat_n(Way::Batches(50), FLOODS);
        let ways = [
            Way::OneByOne,
            Way::Batches(50),
            Way::Transactions(5),
            Way::Batches(10),
        ];
        let ways: Vec<Way> = ways.into_iter().chain(floods).collect();
        let mut sessions = Vec::new();
        for way in ways.iter().copied() {
            let session = session(broker).await;
            if let Way::Transactions(_) = way {
                session.tx_select().await.expect("it is selected");
            }
            sessions.push((way, session));
        }
        let before = self.book.there.len();
        let book = std::cell::RefCell::new(std::mem::take(&mut self.book));
        let publishing = sessions
            .iter()
            .map(|(way, session)| publish_until_refused(*way, session, &book));
        let ended = in_time("all publishers are refused", join_all(publishing)).await;
        self.book = book.into_inner();
        for (ended, way) in ended?.into_iter().zip(ways) {
            match ended.code() {
                Some(506) => self.refused += 1,
                _ => return Err(format!("{way:?} ended by: {ended}")),
            }
        }
        self.messages += self.book.there.len() - before;
        Ok(())
    }

    /// A message that is larger than what is free is refused while the disk is not full: else all would
    /// wait behind it.
    async fn huge_message(&mut self, broker: &Broker) -> Result<(), String> {
        for is_transactional in [false, true] {
            let session = session(broker).await;
            if is_transactional {
                session.tx_select().await.expect("it is selected");
            }
            let message = persistent(FILLED, vec![7; HUGE_BYTES]);
            let sent = session.publish("", &message).await.expect("attached");
            let answer = in_time("a publisher of too much has an answer", sent).await?;
            match answer {
                Err(error) if error.code() == Some(506) => {}
                other => return Err(format!("a message larger than the disk's room: {other:?}")),
            }
        }
        Ok(())
    }

    /// An open transaction that publishes more than the disk has room for when it is full.
    async fn large_transaction(&mut self, broker: &Broker) -> Session {
        let session = session(broker).await;
        session.tx_select().await.expect("it is selected");
        for _ in 0..LARGE_MESSAGES {
            let message = persistent(FILLED, body(self.book.next));
            self.book.next += 1;
            let sent = session.publish("", &message).await;
            sent.expect("it is attached");
        }
        session.sync().await.expect("there is room");
        session
    }

    /// Its commit is refused: it must not wait for room, and everybody else behind it.
    async fn is_refused(&mut self, session: Session) -> Result<(), String> {
        let committed = in_time("a commit is refused", session.tx_commit()).await?;
        match committed {
            Err(error) if error.code() == Some(506) => Ok(()),
            other => Err(format!("the commit of a large transaction: {other:?}")),
        }
    }

    /// Consumers, with and without transactions, and those who send what need not be kept.
    async fn others_are_served(&mut self, broker: &Broker) -> Result<(), String> {
        let transient = session(broker).await;
        let sent = async {
            let mut queue = durable_queue("passing");
            queue.durable = false;
            declare(&transient, queue).await;
            let message = Message::new("passing").routing_key("passing");
            let sent = transient.publish("", &message).await.expect("attached");
            sent.await.expect("it is enqueued");
            let taken = take_all(&transient, "passing").await;
            accept(&transient, ids(&taken)).await;
        };
        in_time("a transient message is served", sent).await?;
        for is_transactional in [false, true] {
            let session = session(broker).await;
            if is_transactional {
                session.tx_select().await.expect("it is selected");
            }
            let taking = take_all(&session, FILLED);
            let taken = in_time("messages are delivered", taking).await?;
            let some = &taken[..taken.len().min(10)];
            let accepting = async {
                accept(&session, ids(some)).await;
                if is_transactional {
                    session.tx_commit().await.expect("it is committed");
                }
            };
            let what = format!("accepts are completed, in a transaction: {is_transactional}");
            in_time(&what, accepting).await?;
            for delivery in some {
                self.taken(&got(delivery).0)?;
            }
            close(session).await;
        }
        Ok(())
    }

    fn taken(&mut self, body: &[u8]) -> Result<(), String> {
        let number = number_of(body)?;
        let was_known = self.book.there.remove(&number) || self.book.unknown.remove(&number);
        match was_known {
            true => Ok(()),
            false => Err(format!("message {number} was refused, or taken before")),
        }
    }

    /// Takes all but every `left_of`-th message.
    async fn consume(&mut self, broker: &Broker, left_of: usize) -> Result<(), String> {
        let session = session(broker).await;
        let taking = take_all(&session, FILLED);
        let taken = in_time("messages are delivered", taking).await?;
        let is_taken = |at: usize| left_of == usize::MAX || !at.is_multiple_of(left_of);
        let gone = taken.iter().enumerate().filter(|(at, _)| is_taken(*at));
        let gone: Vec<_> = gone.map(|(_, delivery)| delivery).collect();
        for some in gone.chunks(20) {
            let accepting = accept(&session, ids(some.iter().copied()));
            in_time("accepts are completed", accepting).await?;
            for delivery in some {
                self.taken(&got(delivery).0)?;
            }
        }
        close(session).await;
        Ok(())
    }

    /// There is room again.
    async fn publish_again(&mut self, broker: &Broker) -> Result<(), String> {
        let number = self.book.next;
        self.book.next += 1;
        let tries = self
            .publish_in_the_end(broker, FILLED, body(number))
            .await?;
        self.tries = self.tries.max(tries);
        self.book.there.insert(number);
        Ok(())
    }

    /// Tries to publish until it works; gives how often it was tried.
    async fn publish_in_the_end(
        &mut self,
        broker: &Broker,
        queue: &str,
        body: Vec<u8>,
    ) -> Result<usize, String> {
        for tries in 1..=TRIES_MAX {
            let session = session(broker).await;
            let message = persistent(queue, body.clone());
            let sent = session.publish("", &message).await.expect("it is attached");
            match in_time("a publisher has an answer", sent).await? {
                Ok(_) => return Ok(tries),
                Err(error) if error.code() == Some(506) => {}
                Err(error) => return Err(error.to_string()),
            }
            tokio::time::sleep(TRY_INTERVAL).await;
        }
        Err("there is room and publishers are refused all the same".to_owned())
    }

    /// All that was completed is there, and nothing that was refused.
    async fn compare(&mut self, broker: &Broker) -> Result<(), String> {
        let session = session(broker).await;
        let kept = browse(&session, KEPT).await;
        if kept != redelivered(&bodies(0, self.kept)) {
            return Err(format!("{} of {} are kept", kept.len(), self.kept));
        }
        let mut found = BTreeSet::new();
        for (body, _) in browse(&session, FILLED).await {
            let number = number_of(&body)?;
            if !found.insert(number) {
                return Err(format!("message {number} is there twice"));
            }
        }
        // What was refused for want of room has left nothing in the count.
        let depth = query(&session, FILLED).await.message_count as usize;
        if depth != found.len() {
            return Err(format!(
                "the queue counts {depth} of {} messages",
                found.len()
            ));
        }
        let Book { there, unknown, .. } = &self.book;
        if let Some(lost) = there.difference(&found).next() {
            return Err(format!("message {lost} is lost"));
        }
        let mut others = found.difference(there);
        if let Some(other) = others.find(|number| !unknown.contains(number)) {
            return Err(format!(
                "message {other} was refused, or taken, and is there"
            ));
        }
        self.book.there = found;
        self.book.unknown.clear();
        Ok(())
    }
}

/// Detaches and closes, so that what is acquired goes back before anybody else looks.
async fn close(session: Session) {
    session.detach().await.expect("it is attached");
}

async fn publish_until_refused(
    way: Way,
    session: &Session,
    book: &std::cell::RefCell<Book>,
) -> Error {
    loop {
        if let Err(error) = publish_some(way, session, book).await {
            return error;
        }
    }
}

async fn publish_some(
    way: Way,
    session: &Session,
    book: &std::cell::RefCell<Book>,
) -> Result<(), Error> {
    let count = match way {
        Way::OneByOne => 1,
        Way::Batches(count) | Way::Transactions(count) => count,
    };
    let mut sent = Vec::new();
    for _ in 0..count {
        let number = {
            let mut book = book.borrow_mut();
            let number = book.next;
            book.next += 1;
            book.unknown.insert(number);
            number
        };
        let message = persistent(FILLED, body(number));
        sent.push((number, session.publish("", &message).await?));
    }
    // Of a batch those before the one that is refused may have been enqueued.
    let is_nothing_done = !matches!(way, Way::Batches(_));
    let ended = match way {
        Way::Transactions(_) => session.tx_commit().await,
        Way::OneByOne | Way::Batches(_) => session.sync().await,
    };
    for (number, completion) in sent {
        let is_done = match way {
            Way::Transactions(_) => ended.is_ok(),
            Way::OneByOne | Way::Batches(_) => completion.await.is_ok(),
        };
        let mut book = book.borrow_mut();
        if is_done {
            book.unknown.remove(&number);
            book.there.insert(number);
        } else if is_nothing_done && ended.as_ref().is_err_and(|error| error.code() == Some(506)) {
            book.unknown.remove(&number);
        }
    }
    ended
}

/// Waits for all, side by side.
async fn join_all<F: Future>(futures: impl IntoIterator<Item = F>) -> Vec<F::Output> {
    let mut running: Vec<_> = futures
        .into_iter()
        .map(|future| (Box::pin(future), None))
        .collect();
    std::future::poll_fn(|context| {
        for (future, output) in &mut running {
            if output.is_none()
                && let std::task::Poll::Ready(ended) = future.as_mut().poll(context)
            {
                *output = Some(ended);
            }
        }
        match running.iter().all(|(_, output)| output.is_some()) {
            true => std::task::Poll::Ready(()),
            false => std::task::Poll::Pending,
        }
    })
    .await;
    let outputs = running.into_iter();
    outputs
        .map(|(_, output)| output.expect("it has ended"))
        .collect()
}
