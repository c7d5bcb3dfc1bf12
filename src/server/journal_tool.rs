//! `ferrymq journal`: what an operator can ask of a journal while no broker uses it.

use std::io::IsTerminal;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Subcommand};
use indicatif::{ProgressBar, ProgressStyle};

use super::{begin_anew, cluster, storage};
use crate::store::{self, Flaw, Mended, RealDisk, Repaired, Report};

/// The status of a check that found damage.
const DAMAGED: u8 = 1;

/// The status when the journal could not be looked at or mended.
const REFUSED: u8 = 2;

/// Options of `ferrymq journal`.
#[derive(Args, Clone, Debug)]
pub struct Options {
    #[command(subcommand)]
    task: Task,
}

#[derive(Clone, Debug, Subcommand)]
enum Task {
    /// Read a whole journal and tell what is damaged; nothing is changed. The status is 0 when
    /// nothing is, 1 when something is, 2 when the journal cannot be read
    Check(Where),
    /// Set damaged parts of a journal aside, so that a broker starts with the rest. Copies of the
    /// files changed stay beside it
    Repair(Where),
    /// Make the store of one member of a cluster the beginning of a new group, when the stores of a
    /// majority of its members are lost for good. Without --lose-what-others-had nothing is changed, and
    /// what that costs is told
    BeginAnew {
        #[command(flatten)]
        place: Where,
        /// Do it: what the other members had and this one has not is lost
        #[arg(long)]
        lose_what_others_had: bool,
    },
}

#[derive(Args, Clone, Debug)]
struct Where {
    /// The data directory of the broker; without it .ferrymq in the home directory
    #[arg(long, env = "QPID_DATA_DIR", value_name = "DIRECTORY")]
    data_dir: Option<PathBuf>,

    /// Print one JSON object instead of text
    #[arg(long)]
    json: bool,
}

impl Where {
    fn directory(&self) -> PathBuf {
        let directory = self.data_dir.clone();
        directory.unwrap_or_else(storage::default_directory)
    }
}

/// Does what was asked and gives the status.
pub fn run(options: Options) -> ExitCode {
    let (place, is_repair) = match &options.task {
        Task::Check(place) => (place, false),
        Task::Repair(place) => (place, true),
        Task::BeginAnew {
            place,
            lose_what_others_had,
        } => return begin(place, *lose_what_others_had),
    };
    let told = open(place, is_repair).and_then(|disk| match is_repair {
        true => repair(&disk, place.json),
        false => check(&disk, place.json),
    });
    match told {
        Ok((text, is_whole)) => {
            println!("{text}");
            match is_whole {
                true => ExitCode::SUCCESS,
                false => ExitCode::from(DAMAGED),
            }
        }
        Err(error) => {
            eprintln!("ferrymq: {error}");
            ExitCode::from(REFUSED)
        }
    }
}

/// Tells what a member's store has, and has it begin a new group if that is meant.
fn begin(place: &Where, is_meant: bool) -> ExitCode {
    match begin_anew::run(&place.directory(), is_meant) {
        Ok(told) => {
            match place.json {
                true => println!("{}", told.json()),
                false => println!("{}", told.text()),
            }
            match told.is_done() {
                true => ExitCode::SUCCESS,
                false => ExitCode::from(REFUSED),
            }
        }
        Err(error) => {
            eprintln!("ferrymq: {error}");
            ExitCode::from(REFUSED)
        }
    }
}

/// The disk of a journal that is there, locked: a broker that runs would change it meanwhile. To check
/// it, nothing need be written, and what cannot be locked is checked all the same.
fn open(place: &Where, is_repair: bool) -> Result<RealDisk, String> {
    let mut directory = place.directory();
    if !directory.exists() {
        return Err(format!(
            "{}: there is no such directory",
            directory.display()
        ));
    }
    let is_of_member = cluster::is_in(&directory);
    if is_of_member {
        directory = cluster::store_in(&directory);
    }
    if is_of_member && is_repair {
        return Err(format!(
            "{}: this is a member of a cluster, which has to have every entry: a mended journal would \
             not do. Remove the data directory, and let the broker join again: it gets all from the \
             others",
            directory.display()
        ));
    }
    if !directory.join(RealDisk::FOLDER).is_dir() {
        return Err(format!(
            "{}: there is no journal in it",
            directory.display()
        ));
    }
    if is_repair {
        return RealDisk::open(&directory).map_err(|error| error.to_string());
    }
    let disk = RealDisk::open_to_read(&directory).map_err(|error| error.to_string())?;
    if !disk.is_locked() {
        eprintln!(
            "ferrymq: {} cannot be locked: what is told holds if no broker has it open",
            directory.display()
        );
    }
    Ok(disk)
}

/// A bar on standard error, if somebody sees it.
fn bar() -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let template = "{bar:40} {pos} of {len} files, {eta} left";
    let style = ProgressStyle::with_template(template);
    ProgressBar::new(0).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}

fn show(bar: &ProgressBar, progress: store::Progress) {
    bar.set_length(progress.of as u64);
    bar.set_position(progress.segments as u64);
}

fn check(disk: &RealDisk, is_json: bool) -> Result<(String, bool), String> {
    let bar = bar();
    let report = store::check(disk, &mut |progress| show(&bar, progress));
    bar.finish_and_clear();
    let report = report.map_err(|error| error.to_string())?;
    let is_whole = report.damages.is_empty();
    let text = match is_json {
        true => format!("{{{}}}", report_json(&report)),
        false => report_text(&report),
    };
    Ok((text, is_whole))
}

fn repair(disk: &RealDisk, is_json: bool) -> Result<(String, bool), String> {
    let bar = bar();
    let repaired = store::repair(disk, &mut |progress| show(&bar, progress));
    bar.finish_and_clear();
    let repaired = repaired.map_err(|error| error.to_string())?;
    let is_whole = repaired.report.damages.is_empty();
    let text = match is_json {
        true => repaired_json(&repaired),
        false => repaired_text(&repaired),
    };
    Ok((text, is_whole))
}

fn report_text(report: &Report) -> String {
    let mut lines = vec![match report.store_id {
        Some(id) => format!(
            "Store {id:016x}: {} records of {} octets in {} files",
            report.records, report.bytes, report.segments
        ),
        None => "There is no store.".to_owned(),
    }];
    if report.gaps > 0 {
        lines.push(format!(
            "Places set aside by earlier repairs: {}",
            report.gaps
        ));
    }
    for file in &report.remade {
        lines.push(format!("Unfinished, made anew at the next start: {file}"));
    }
    if let Some(torn) = &report.torn_tail {
        lines.push(format!("To be cut at the next start: {torn}"));
    }
    for damage in &report.damages.list {
        lines.push(format!("Damaged: {damage}"));
    }
    if report.damages.more > 0 {
        lines.push(format!("Damaged in {} more places", report.damages.more));
    }
    if report.damages.is_empty() {
        lines.push("No damage.".to_owned());
    }
    lines.join("\n")
}

fn repaired_text(repaired: &Repaired) -> String {
    let mut lines = Vec::new();
    for mended in &repaired.mended {
        let Mended {
            file,
            offset,
            octets,
            what,
        } = mended;
        lines.push(match what {
            Flaw::SegmentMissing => format!("{file} is missing: all that was in it is lost"),
            Flaw::StoreFile => format!("{file}: made anew ({what})"),
            Flaw::SegmentLength { .. } => {
                format!("{file}: {what}; what was written behind its end is lost")
            }
            _ => format!("{file} at offset {offset}: {octets} octets lost ({what})"),
        });
    }
    if repaired.more > 0 {
        lines.push(format!("And {} places more", repaired.more));
    }
    for file in &repaired.set_aside {
        lines.push(format!("As it was before, in the same folder: {file}"));
    }
    lines.push(report_text(&repaired.report));
    lines.join("\n")
}

fn report_json(report: &Report) -> String {
    let id = report.store_id.map(|id| format!("{id:016x}"));
    let torn = report.torn_tail.as_ref().map(|torn| {
        let file = quoted(&torn.file);
        let (offset, octets) = (torn.offset, torn.octets);
        format!("{{\"file\":{file},\"offset\":{offset},\"octets\":{octets}}}")
    });
    let damages = report.damages.list.iter().map(|damage| {
        let (file, what) = (quoted(&damage.file), quoted(&damage.what.to_string()));
        format!(
            "{{\"file\":{file},\"offset\":{},\"what\":{what}}}",
            damage.offset
        )
    });
    format!(
        "\"store\":{},\"segments\":{},\"records\":{},\"bytes\":{},\"gaps\":{},\"torn_tail\":{},\
         \"damages\":[{}],\"more_damages\":{}",
        id.map_or("null".to_owned(), |id| quoted(&id)),
        report.segments,
        report.records,
        report.bytes,
        report.gaps,
        torn.unwrap_or("null".to_owned()),
        damages.collect::<Vec<_>>().join(","),
        report.damages.more
    )
}

fn repaired_json(repaired: &Repaired) -> String {
    let mended = repaired.mended.iter().map(|mended| {
        let (file, what) = (quoted(&mended.file), quoted(&mended.what.to_string()));
        let (offset, octets) = (mended.offset, mended.octets);
        format!("{{\"file\":{file},\"offset\":{offset},\"octets\":{octets},\"what\":{what}}}")
    });
    let set_aside = repaired.set_aside.iter().map(|file| quoted(file));
    format!(
        "{{\"mended\":[{}],\"more_mended\":{},\"set_aside\":[{}],{}}}",
        mended.collect::<Vec<_>>().join(","),
        repaired.more,
        set_aside.collect::<Vec<_>>().join(","),
        report_json(&repaired.report)
    )
}

/// A JSON string. Names of files and texts of ours have nothing else to be escaped.
fn quoted(text: &str) -> String {
    let escaped = text.replace('\\', "\\\\").replace('"', "\\\"");
    format!("\"{escaped}\"")
}
