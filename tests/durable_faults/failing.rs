//! Calls that fail.

use ferrymq::client::{Error, Session};
use ferrymq::wire::Command;

use crate::durable_load::branches;
use crate::durable_load::judge::Judge;
use crate::durable_load::runs::{self, Load};
use crate::durable_support::*;
use crate::server_support::{Broker, PATIENCE};
use crate::tracer::{ALL, JOURNAL, KEEPER, Traced, Tracer};

/// The numbers of calls that fail, when not all of them are tried.
const SOME: [u32; 8] = [1, 2, 3, 5, 8, 17, 33, 50];

/// What is made to fail, and by whom it is called.
struct Fault {
    thread: &'static str,
    call: &'static str,
    /// Of the numbers of calls, those up to this one: fewer are made of some.
    most: u32,
}

/// The calls by which octets come to the disk: a client that waits for each command must not have
/// seen more completions than syncs went well.
const OF_RECORDS: [Fault; 2] = [
    Fault {
        thread: JOURNAL,
        call: "fdatasync",
        most: 50,
    },
    Fault {
        thread: JOURNAL,
        call: "pwritev",
        most: 50,
    },
];

/// The calls by which files are made, read and removed.
const OF_FILES: [Fault; 6] = [
    Fault {
        thread: JOURNAL,
        call: "fallocate",
        most: 3,
    },
    Fault {
        thread: JOURNAL,
        call: "fsync",
        most: 3,
    },
    // Bodies that have left the memory, and segments that are given back.
    Fault {
        thread: ALL,
        call: "pread64",
        most: 3,
    },
    Fault {
        thread: KEEPER,
        call: "fdatasync",
        most: 2,
    },
    Fault {
        thread: KEEPER,
        call: "unlink",
        most: 3,
    },
    Fault {
        thread: KEEPER,
        call: "fsync",
        most: 2,
    },
];

fn numbers(most: u32) -> Vec<u32> {
    match std::env::var("FERRYMQ_FAULTS") {
        Ok(text) => {
            let up_to: u32 = text.parse().expect("FERRYMQ_FAULTS is a number");
            (1..=up_to.min(most)).collect()
        }
        Err(_) => SOME.into_iter().filter(|n| *n <= most).collect(),
    }
}

/// Tries all, or those of the call of this name; gives how many faults there were.
pub async fn all(only: Option<&str>) -> Result<usize, String> {
    let mut faults = 0;
    let is_wanted = |fault: &&Fault| only.is_none_or(|only| only == fault.call);
    for fault in OF_RECORDS.iter().filter(is_wanted) {
        for n in numbers(fault.most) {
            let of = |error| format!("{} {n} fails, one command at a time: {error}", fault.call);
            one_at_a_time(fault, n).await.map_err(of)?;
            let of = |error| format!("{} {n} fails under load: {error}", fault.call);
            under_load(fault, n, "1m").await.map_err(of)?;
            faults += 2;
        }
    }
    for fault in OF_FILES.iter().filter(is_wanted) {
        for n in numbers(fault.most) {
            let of = |error| format!("{} {n} of {} fails: {error}", fault.call, fault.thread);
            under_load(fault, n, "64k").await.map_err(of)?;
            faults += 1;
        }
    }
    Ok(faults)
}

fn attach(broker: &Broker, fault: &Fault, n: u32, directory: &Directory) -> Result<Tracer, String> {
    let inject = format!("{}:error=EIO:when={n}", fault.call);
    Tracer::attach(broker.pid(), fault.thread, &inject, directory.path())
}

/// The broker has to end by itself, and to say why.
fn must_have_ended(broker: &mut Broker) -> Result<(), String> {
    let status = broker.wait();
    let line = broker.find_line("critical");
    let log = broker.log().join("\n");
    let line = line.ok_or_else(|| format!("no critical line, {status}:\n{log}"))?;
    if status.code() != Some(1) {
        return Err(format!("it ended with {status}"));
    }
    match line.contains("Input/output error") && !log.contains("panicked") {
        true => Ok(()),
        false => Err(format!("what is wrong is not said:\n{log}")),
    }
}

fn must_not_go_on(traced: &Traced) -> Result<(), String> {
    let after = traced.after_failure(&["fdatasync", "pwritev"]);
    match (traced.injected(), after.len()) {
        (1, 0) => Ok(()),
        (1, _) => Err(format!("the journal went on after a failure: {after:?}")),
        (n, _) => Err(format!("{n} calls failed, not one")),
    }
}

/// Commands that one client sends at most: far more than come before any fault.
const COMMANDS_MAX: usize = 1_000;

/// A queue whose messages say which commands were completed.
const DONE: &str = "done";

/// Does one thing after the other, each when the one before is completed, until the broker is gone, or
/// as good as gone. Gives how many were completed, and which messages must be in the queue.
async fn do_until_the_end(session: &Session) -> (usize, Vec<Vec<u8>>) {
    let (mut completed, mut there) = (0, Vec::new());
    for number in 0..COMMANDS_MAX {
        let doing = do_one(session, number);
        match tokio::time::timeout(PATIENCE, doing).await {
            Ok(Ok(message)) => {
                completed += 1;
                there.extend(message);
            }
            Ok(Err(_)) | Err(_) => break,
        }
    }
    (completed, there)
}

/// Does something that must survive. Gives the message that was published, if one was.
async fn do_one(session: &Session, number: usize) -> Result<Option<Vec<u8>>, Error> {
    match number % 4 {
        0 | 1 => {
            let body = bodies(number, 1).remove(0);
            let sent = session.publish("", &persistent(DONE, body.clone())).await?;
            sent.await?;
            return Ok(Some(body));
        }
        2 => {
            let queue = durable_queue(&format!("defined {number}"));
            session.call(Command::QueueDeclare(queue)).await?;
        }
        _ => {
            let bind = binding("amq.direct", DONE, &format!("{number}"));
            session.call(Command::ExchangeBind(bind)).await?;
        }
    }
    Ok(None)
}

async fn one_at_a_time(fault: &Fault, n: u32) -> Result<(), String> {
    let directory = Directory::new();
    let mut broker = start(&directory, &[]);
    let session = session(&broker).await;
    declare(&session, durable_queue(DONE)).await;
    let tracer = attach(&broker, fault, n, &directory)?;
    let (completed, there) = do_until_the_end(&session).await;
    must_have_ended(&mut broker)?;
    let traced = tracer.finish()?;
    must_not_go_on(&traced)?;
    let synced = traced.done("fdatasync");
    if completed > synced {
        return Err(format!("{completed} completions came of {synced} syncs"));
    }
    let broker = start(&directory, &[]);
    let session = self::session(&broker).await;
    let mut found = browse(&session, DONE).await;
    // The record of the failed call may have come to the disk all the same.
    found.truncate(there.len());
    match found == redelivered(&there) {
        true => Ok(()),
        false => Err(format!(
            "{} of {} messages are there",
            found.len(),
            there.len()
        )),
    }
}

async fn under_load(fault: &Fault, n: u32, file_size: &str) -> Result<(), String> {
    let directory = Directory::new();
    let options = ["--journal-file-size", file_size, "--memory-limit", "100k"];
    let mut broker = start(&directory, &options);
    runs::define(broker.address()).await;
    let tracer = attach(&broker, fault, n, &directory)?;
    let load = Load::start(&directory, &[broker.address()], 1, 0, u64::from(n));
    must_have_ended(&mut broker)?;
    let traced = tracer.finish()?;
    // Where no file can be made, what was written to the last may still be synced.
    if matches!(fault.call, "fdatasync" | "pwritev") && fault.thread == JOURNAL {
        must_not_go_on(&traced)?;
    }
    let mut judge = Judge::default();
    load.finish(&mut judge)?;
    let broker = start(&directory, &options);
    branches::resolve(broker.address(), &mut judge).await?;
    judge.check(&runs::look(broker.address()).await?);
    runs::look_at_definitions(broker.address(), &mut judge).await;
    judge.verdict()
}
