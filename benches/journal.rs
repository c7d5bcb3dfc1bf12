//! The journal beside a bare loop of writes and `fdatasync` of the same octets, on the same disk in
//! the same run, turn about; and how fast it is read when it is opened.
//!
//! `cargo bench --bench journal -- DIRECTORY`: the directory is made and removed; without one it lies
//! under the build's.

use std::collections::VecDeque;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use ferrymq::store::{Journal, Options, Part, Place, RealDisk};

/// Octets of a record's payload.
const RECORD_BYTES: usize = 1024;

/// Records in one sync, and how many syncs are measured at a time.
const BATCHES: [(usize, usize); 3] = [(1, 2000), (16, 1000), (256, 500)];

/// Batches appended before the first is waited for, as when several clients publish.
const IN_FLIGHT: usize = 4;

/// Times that each is measured; the table has the median.
const ROUNDS: usize = 5;

/// Octets of the journal that is read.
const SCANNED_BYTES: usize = 512 * 1024 * 1024;

fn main() -> io::Result<()> {
    let given = std::env::args()
        .skip(1)
        .find(|argument| !argument.starts_with("--"));
    let directory = match given {
        Some(directory) => PathBuf::from(directory),
        None => PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("journal-bench"),
    };
    fs::create_dir(&directory)?;
    let measured = measure(&directory);
    fs::remove_dir_all(&directory)?;
    measured
}

fn measure(directory: &Path) -> io::Result<()> {
    println!("records of {RECORD_BYTES} octets, written and synced, MB/s and records/s\n");
    println!(
        "| records a batch | bare loop | bare, made ahead | journal | journal, {IN_FLIGHT} in flight |"
    );
    println!("|---:|---:|---:|---:|---:|");
    for (batch, count) in BATCHES {
        let mut rates = [const { Vec::new() }; 4];
        for round in 0..ROUNDS {
            let name = |what| directory.join(format!("{what}-{batch}-{round}"));
            rates[0].push(bare(&name("bare"), batch, count, false)?);
            rates[1].push(bare(&name("ahead"), batch, count, true)?);
            rates[2].push(journal(&name("journal"), batch, count, 1));
            rates[3].push(journal(&name("in-flight"), batch, count, IN_FLIGHT));
        }
        let cell = |rate: f64| format!("{:.1}, {rate:.0}", rate * RECORD_BYTES as f64 / 1e6);
        let cells = rates.map(|rates| cell(median(rates)));
        println!("| {batch} | {} |", cells.join(" | "));
    }
    scan(&directory.join("scan"))
}

fn median(mut rates: Vec<f64>) -> f64 {
    rates.sort_by(f64::total_cmp);
    rates[rates.len() / 2]
}

fn rate(records: usize, took: Duration) -> f64 {
    records as f64 / took.as_secs_f64()
}

/// Records a second of a loop that knows nothing: into a file that grows, or one with all its room.
fn bare(path: &Path, batch: usize, count: usize, is_made_ahead: bool) -> io::Result<f64> {
    let file = OpenOptions::new().write(true).create_new(true).open(path)?;
    let octets = vec![7; batch * RECORD_BYTES];
    if is_made_ahead {
        let bytes = (octets.len() * count) as u64;
        rustix::fs::fallocate(&file, rustix::fs::FallocateFlags::empty(), 0, bytes)?;
    }
    File::sync_all(&file)?;
    let start = Instant::now();
    for n in 0..count {
        file.write_all_at(&octets, (n * octets.len()) as u64)?;
        file.sync_data()?;
    }
    Ok(rate(batch * count, start.elapsed()))
}

fn open(path: &Path) -> Journal {
    let disk = Arc::new(RealDisk::open(path).expect("nobody has it"));
    let opened = Journal::open(disk, &Options::default(), 1, &mut |_, _| Ok(()));
    opened.expect("nothing is wrong with it").0
}

fn append(journal: &Journal, payload: &[u8]) -> Place {
    let parts = [Part::Octets(payload)];
    journal.append(1, &parts).expect("it is not too large")
}

/// Records a second of a journal, with so many batches appended and not yet synced.
fn journal(path: &Path, batch: usize, count: usize, in_flight: usize) -> f64 {
    let journal = open(path);
    let waiting = std::thread::current();
    journal.set_waker(Arc::new(move || waiting.unpark()));
    let payload = vec![7; RECORD_BYTES];
    let write = |count: usize| {
        let mut ends = VecDeque::new();
        for n in 0..count + in_flight {
            if n < count {
                let last = (0..batch).map(|_| append(&journal, &payload)).last();
                ends.push_back(last.expect("a batch has records").end());
            }
            if n + 1 >= in_flight {
                let end = ends.pop_front().unwrap_or(0);
                while journal.synced() < end {
                    std::thread::park();
                }
            }
        }
    };
    // Its first segment and the one ahead are made by then.
    write(3);
    let start = Instant::now();
    write(count);
    rate(batch * count, start.elapsed())
}

fn scan(path: &Path) -> io::Result<()> {
    let journal = open(path);
    let payload = vec![7; RECORD_BYTES];
    for _ in 0..SCANNED_BYTES / RECORD_BYTES {
        append(&journal, &payload);
        while !journal.has_room() {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
    journal.close();
    drop(journal);
    let rates = (0..ROUNDS).map(|_| {
        let start = Instant::now();
        drop(open(path));
        SCANNED_BYTES as f64 / 1e6 / start.elapsed().as_secs_f64()
    });
    println!(
        "\nread when opened, from the kernel's cache: {:.0} MB/s",
        median(rates.collect())
    );
    Ok(())
}
