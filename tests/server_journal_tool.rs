//! `ferrymq journal` in a process of its own.

mod server_support;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use server_support::Broker;

struct Directory(PathBuf);

impl Directory {
    /// A data directory that a broker has used.
    fn used(name: &str) -> Directory {
        let path = std::env::temp_dir().join(format!("ferrymq-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        let directory = Directory(path);
        let mut broker = Broker::start(&["--data-dir", directory.text()]);
        let url = broker.address().to_string();
        let bench = ["bench", "durable", "--messages", "500", "--url", &url];
        let status = Command::new(env!("CARGO_BIN_EXE_ferrymq"))
            .args(bench)
            .output();
        assert!(status.expect("the tool was built").status.success());
        broker.signal("TERM");
        assert!(broker.wait().success());
        directory
    }

    fn text(&self) -> &str {
        self.0.to_str().expect("a path that is text")
    }

    fn segment(&self) -> PathBuf {
        let files = std::fs::read_dir(self.0.join("journal")).expect("a journal");
        let names = files.map(|file| file.expect("a file").path());
        let is_segment = |path: &PathBuf| path.extension().is_some_and(|end| end == "journal");
        names.filter(is_segment).min().expect("a segment")
    }

    fn journal(&self, task: &str, more: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ferrymq"));
        command.args(["journal", task, "--data-dir", self.text()]);
        command.args(more).output().expect("the tool was built")
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn flip(path: &Path, at: usize) {
    let mut octets = std::fs::read(path).expect("a segment");
    octets[at] ^= 1;
    std::fs::write(path, octets).expect("it can be written");
}

#[test]
fn whole_journal_has_no_damage_and_status_0() {
    let directory = Directory::used("tool-whole");
    let output = directory.journal("check", &[]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(text(&output).contains("No damage."), "{output:?}");
    let json = text(&directory.journal("check", &["--json"]));
    assert!(json.contains("\"damages\":[],"), "{json}");
}

#[test]
fn damage_is_told_with_file_and_offset_and_status_1_and_a_repair_lets_the_broker_start() {
    let directory = Directory::used("tool-damaged");
    let segment = directory.segment();
    flip(&segment, 200);
    let name = segment.file_name().and_then(|name| name.to_str());
    let name = name.expect("a name that is text");
    let output = directory.journal("check", &[]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let told = text(&output);
    assert!(told.contains(name) && told.contains("offset"), "{told}");
    let output = directory.journal("repair", &["--json"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let json = text(&output);
    assert!(
        json.contains("\"set_aside\":[\"") && json.contains(name),
        "{json}"
    );
    let output = directory.journal("check", &[]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
}

#[test]
fn journal_that_is_in_use_or_not_there_has_status_2() {
    let directory = Directory::used("tool-used");
    let _broker = Broker::start(&["--data-dir", directory.text()]);
    let output = directory.journal("check", &[]);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    let none = Directory(directory.0.join("none"));
    let output = none.journal("check", &[]);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(!none.0.exists(), "looking makes nothing");
}

#[test]
fn members_journal_is_checked_and_not_repaired() {
    let directory = Directory::used("tool-member");
    let member = Directory(directory.0.with_extension("cluster"));
    std::fs::create_dir(&member.0).expect("a directory");
    std::fs::rename(&directory.0, member.0.join("member")).expect("it is ours");
    let output = member.journal("check", &[]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let output = member.journal("repair", &[]);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(told.contains("let the broker join again"), "{told}");
}
