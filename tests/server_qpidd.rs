//! The broker under the name `qpidd`: its command line, its files, its daemon.

mod server_support;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU32, Ordering};

use server_support::{Client, until};

/// A directory with the broker under qpidd's name. Daemons that were started from it are ended with it.
struct Place {
    directory: PathBuf,
    ports: Vec<u16>,
}

impl Place {
    fn new() -> Place {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let directory =
            std::env::temp_dir().join(format!("ferrymq-qpidd-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&directory).expect("it is made");
        let link = directory.join("qpidd");
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_ferrymq"), link).expect("it is made");
        std::fs::write(directory.join("empty.conf"), "").expect("it is written");
        Place {
            directory,
            ports: Vec::new(),
        }
    }

    fn path(&self, name: &str) -> String {
        self.directory.join(name).to_string_lossy().into_owned()
    }

    /// Runs qpidd with these words alone, in the directory as home.
    fn run(&self, words: &[&str]) -> Output {
        Command::new(self.directory.join("qpidd"))
            .args(words)
            .env("HOME", &self.directory)
            .output()
            .expect("the broker was built")
    }

    /// The same with a file that says nothing, whatever this machine has.
    fn run_plain(&self, words: &[&str]) -> Output {
        let config = format!("--config={}", self.path("empty.conf"));
        self.run(&[&[&*config], words].concat())
    }

    /// Starts a daemon; its port.
    fn daemon(&mut self, words: &[&str]) -> u16 {
        let output = self.run_plain(
            &[
                &["-d", "--port", "0", "--auth", "no", "--interface=127.0.0.1"],
                words,
            ]
            .concat(),
        );
        self.port_told(&output)
    }

    fn port_told(&mut self, output: &Output) -> u16 {
        assert!(output.status.success(), "{}", error_of(output));
        let text = String::from_utf8_lossy(&output.stdout);
        let port = text
            .trim_end()
            .parse()
            .unwrap_or_else(|_| panic!("{text} is no port"));
        self.ports.push(port);
        port
    }

    fn pid_file(&self, port: u16) -> PathBuf {
        self.directory.join(format!(".qpidd/qpidd.{port}.pid"))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        for port in &self.ports {
            for directory in [self.path(".qpidd"), self.path("")] {
                self.run_plain(&["-k", "--port", &port.to_string(), "--pid-dir", &directory]);
            }
        }
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}

fn error_of(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn text_of(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}

#[test]
fn a_daemon_tells_its_port_serves_and_can_be_asked_for_and_stopped() {
    let mut place = Place::new();
    let log = place.path("log");
    let text_file = place.path("text.pid");
    let port = place.daemon(&[
        "--no-data-dir",
        "--log-to-file",
        &log,
        "--pidfile",
        &text_file,
    ]);
    Client::open(([127, 0, 0, 1], port).into());
    let line = format!("[Network] notice Listening on TCP/TCP6 port {port}");
    assert!(text_of(Path::new(&log)).contains(&line));
    let port_text = port.to_string();
    let checked = place.run_plain(&["-c", "-p", &port_text]);
    assert!(checked.status.success(), "{}", error_of(&checked));
    let pid = String::from_utf8_lossy(&checked.stdout)
        .trim_end()
        .to_owned();
    assert_eq!(text_of(Path::new(&text_file)).trim_end(), pid);
    let raw: i32 = pid.parse().expect("a number");
    let held = std::fs::read(place.pid_file(port)).expect("it is there");
    assert_eq!(held, raw.to_ne_bytes(), "as qpidd writes it");
    assert_eq!(
        text_of(Path::new(&format!("/proc/{pid}/comm"))).trim_end(),
        "qpidd"
    );
    let quit = place.run_plain(&["--quit", "-p", &port_text]);
    assert!(quit.status.success(), "{}", error_of(&quit));
    assert!(!place.pid_file(port).exists());
    let checked = place.run_plain(&["--check", "-p", &port_text]);
    assert_eq!(checked.status.code(), Some(1));
    assert!(checked.stdout.is_empty() && error_of(&checked).contains("no broker runs"));
}

#[test]
fn a_daemon_that_cannot_start_says_why_to_who_starts_it() {
    let mut place = Place::new();
    let log = place.path("log");
    let port = place.daemon(&["--no-data-dir", "--log-to-file", &log]);
    let second = place.run_plain(&[
        "-d",
        "--auth=no",
        "--interface=127.0.0.1",
        "--no-data-dir",
        "-p",
        &port.to_string(),
        "--log-to-file",
        &log,
    ]);
    assert_eq!(second.status.code(), Some(1));
    let error = error_of(&second);
    assert!(
        error.contains("does not start") && error.contains("cannot listen"),
        "{error}"
    );
    let killed = place.run_plain(&["-k", "-p", &port.to_string()]);
    assert!(killed.status.success(), "{}", error_of(&killed));
    assert!(
        !place.pid_file(port).exists(),
        "who kills it removes its file"
    );
    let checked = place.run_plain(&["-c", "-p", &port.to_string()]);
    assert_eq!(checked.status.code(), Some(1));
}

#[test]
fn a_file_of_the_old_broker_is_taken_as_it_is() {
    let mut place = Place::new();
    let template = include_str!("configuration/qpidd.conf");
    let text = template.replace("@DIRECTORY@", &place.directory.to_string_lossy());
    std::fs::write(place.path("qpidd.conf"), text).expect("it is written");
    let config = place.path("qpidd.conf");
    let output = place.run(&["--config", &config, "--daemon"]);
    let port = place.port_told(&output);
    Client::open(([127, 0, 0, 1], port).into());
    let log = text_of(&place.directory.join("qpidd.log"));
    for name in [
        "load-module",
        "wcache-page-size",
        "log-time",
        "cluster-cman",
    ] {
        let is_named = log
            .lines()
            .any(|line| line.contains("warning") && line.contains(name));
        assert!(is_named, "{name}: {log}");
    }
    let quit = place.run(&["--config", &config, "-q", "-p", &port.to_string()]);
    assert!(quit.status.success(), "{}", error_of(&quit));
    until("the journal is there", || {
        place.directory.join("data/journal").exists()
    });
}

#[test]
fn in_the_foreground_the_port_is_the_first_line_of_standard_output() {
    let mut place = Place::new();
    let file = place.path("pid");
    let mut process = Command::new(place.directory.join("qpidd"))
        .args([
            "--config",
            &place.path("empty.conf"),
            "-p0",
            "--auth=no",
            "--no-data-dir",
        ])
        .args(["--interface", "lo", "--pidfile", &file])
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .expect("the broker was built");
    let out = server_support::lines(process.stdout.take().expect("it is piped"));
    let told = out.recv_timeout(server_support::PATIENCE);
    let port = told.ok().and_then(|line| line.parse().ok());
    let served = port.map(|port: u16| Client::open(([127, 0, 0, 1], port).into()));
    let pid = process.id().to_string();
    process.kill().expect("it is a child");
    process.wait().expect("it ends");
    assert!(served.is_some(), "no port was told");
    assert_eq!(text_of(Path::new(&file)).trim_end(), pid);
    place.ports.clear();
}

#[test]
fn what_cannot_be_meant_is_an_error_and_nothing_is_made() {
    let place = Place::new();
    for (words, part) in [
        (&["--porrt", "1"][..], "is port meant?"),
        (&["--ssl-cert-db=/etc/pki"], "pk12util"),
        (&["--sasl-config", "/etc/sasl2"], "cannot be honoured"),
        (&["--config=/no/such/file"], "/no/such/file"),
        (&["--port=many", "--auth=no"], "many"),
        (&["serve"], "no option"),
    ] {
        let output = match words[0].starts_with("--config") {
            true => place.run(words),
            false => place.run_plain(words),
        };
        assert_eq!(output.status.code(), Some(1), "{words:?}");
        let error = error_of(&output);
        assert!(error.contains(part), "{words:?}: {error}");
    }
    assert!(!place.directory.join(".qpidd").exists());
}

#[test]
fn qpidds_defaults_ask_for_users() {
    let place = Place::new();
    let output = place.run_plain(&["--port", "0", "--no-data-dir"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        error_of(&output).contains("--auth yes"),
        "{}",
        error_of(&output)
    );
}

#[test]
fn a_store_of_qpidd_is_not_started_on() {
    let place = Place::new();
    std::fs::create_dir_all(place.directory.join("data/qls/jrnl2")).expect("it is made");
    let data = place.path("data");
    for directory in ["--data-dir", "--store-dir"] {
        let output = place.run_plain(&["--port=0", "--auth=no", directory, &data]);
        assert_eq!(output.status.code(), Some(1), "{directory}");
        let error = error_of(&output);
        assert!(error.contains("store of qpidd"), "{directory}: {error}");
    }
    assert!(!place.directory.join("data/journal").exists());
    let serve = Command::new(env!("CARGO_BIN_EXE_ferrymq"))
        .args(["serve", "--port=0", "--data-dir", &data])
        .output()
        .expect("the broker was built");
    assert!(error_of(&serve).contains("store of qpidd") && !serve.status.success());
}

#[test]
fn version_and_help_are_told() {
    let place = Place::new();
    for words in [["-v"], ["--version"]] {
        let output = place.run_plain(&words);
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(
            text.starts_with("qpidd (") && text.contains(") version "),
            "{text}"
        );
        assert!(output.status.success());
    }
    let output = place.run_plain(&["--help"]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    for option in [
        "--port",
        "--daemon",
        "--load-module",
        "--ssl-cert-db",
        "--max-message-size",
    ] {
        assert!(text.contains(option), "{option}: {text}");
    }
    // Defaults are those of qpidd.
    assert!(
        text.contains("without it .qpidd in the home directory"),
        "{text}"
    );
    assert!(
        !text.contains(".ferrymq in the home") && !text.contains("loopback only"),
        "{text}"
    );
    assert!(text.contains("yes, unless it is said otherwise"), "{text}");
}
