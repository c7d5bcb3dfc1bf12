//! What counts of all that was said.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use super::*;
use crate::server::config::own_command;

/// A file that is gone when this is dropped.
struct Written(PathBuf);

impl Written {
    fn new(name: &str, text: &str) -> Written {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let directory =
            std::env::temp_dir().join(format!("ferrymq-settle-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&directory).expect("it is made");
        std::fs::write(directory.join(name), text).expect("it is written");
        Written(directory.join(name))
    }

    fn option(&self) -> String {
        format!("--config={}", self.0.display())
    }
}

impl Drop for Written {
    fn drop(&mut self) {
        if let Some(directory) = self.0.parent() {
            let _ = std::fs::remove_dir_all(directory);
        }
    }
}

fn settle_as(form: Form, words: &[&str], variables: &[(&str, &str)]) -> Result<Settled, String> {
    let words: Vec<OsString> = words.iter().map(OsString::from).collect();
    let variables: Vec<(OsString, OsString)> = variables
        .iter()
        .map(|(name, value)| (name.into(), value.into()))
        .collect();
    settle(form, &words, &variables, &own_command())
}

/// As `ferrymq serve`, with a file of this text.
fn with_file(text: &str, words: &[&str], variables: &[(&str, &str)]) -> Result<Settled, String> {
    let file = Written::new("qpidd.conf", text);
    let option = file.option();
    let words: Vec<&str> = words.iter().copied().chain([&*option]).collect();
    settle_as(Form::Serve, &words, variables)
}

fn arguments(settled: Result<Settled, String>) -> Vec<String> {
    let settled = settled.unwrap_or_else(|error| panic!("{error}"));
    let texts = settled
        .arguments
        .iter()
        .map(|text| text.to_string_lossy().into_owned());
    texts
        .filter(|text| !text.starts_with("--config="))
        .collect()
}

#[test]
fn the_command_line_goes_before_the_environment_and_that_before_the_file() {
    let file = "port=1\nrealm=FILE\nworker-threads=3\n";
    let variables = [("QPID_PORT", "2"), ("QPID_REALM", "ENVIRONMENT")];
    let found = arguments(with_file(file, &["--port=3"], &variables));
    assert_eq!(
        found,
        ["--port=3", "--realm=ENVIRONMENT", "--worker-threads=3"]
    );
}

#[test]
fn of_a_list_the_first_source_that_speaks_of_it_says_all() {
    let file = "log-enable=info+\nlog-enable=debug+:Broker\n";
    let found = arguments(with_file(file, &[], &[]));
    assert_eq!(found, ["--log-enable=info+", "--log-enable=debug+:Broker"]);
    let found = arguments(with_file(file, &["--log-enable", "error+"], &[]));
    assert_eq!(found, ["--log-enable=error+"]);
}

#[test]
fn toml_says_the_same_as_lines() {
    let file = Written::new(
        "broker.toml",
        "port = 1\n[log]\nenable = ['info+', 'debug+:Broker']\n",
    );
    let found = arguments(settle_as(Form::Serve, &[&file.option()], &[]));
    assert_eq!(
        found,
        [
            "--log-enable=info+",
            "--log-enable=debug+:Broker",
            "--port=1"
        ]
    );
    let file = Written::new("broker", "realm = \"HERE\"\n");
    let found = arguments(settle_as(Form::Serve, &[&file.option()], &[]));
    assert_eq!(found, ["--realm=HERE"]);
}

#[test]
fn mistakes_in_files_have_file_and_line() {
    for (text, line, part) in [
        ("# first\nport=many\n", 2, "invalid"),
        ("prot=1\n", 1, "is port meant?"),
        ("auth=no\n\nport\n", 3, "neither"),
        ("realm=A\nrealm=B\n", 2, "twice"),
        ("auth=perhaps\n", 1, "it is yes or no"),
        ("group=none\n", 1, "possible values"),
    ] {
        let error = with_file(text, &[], &[]).expect_err(text);
        let place = format!("qpidd.conf:{line}: ");
        assert!(
            error.contains(&place) && error.contains(part),
            "{text}: {error}"
        );
    }
}

#[test]
fn a_file_that_was_named_has_to_be_there() {
    let error =
        settle_as(Form::Serve, &["--config=/no/such/file"], &[]).expect_err("it is missing");
    assert!(error.contains("/no/such/file"), "{error}");
    let error =
        settle_as(Form::Serve, &[], &[("QPID_CONFIG", "/no/such/file")]).expect_err("likewise");
    assert!(error.contains("/no/such/file"), "{error}");
}

#[test]
fn variables_of_nobody_are_only_worth_a_warning() {
    let settled =
        settle_as(Form::Serve, &[], &[("QPID_PROT", "1"), ("PORT", "2")]).expect("it is read");
    assert!(settled.arguments.is_empty());
    assert!(
        settled
            .warnings
            .iter()
            .any(|text| text.contains("QPID_PORT meant?")),
        "{settled:?}"
    );
    let error = settle_as(Form::Serve, &[], &[("QPID_PORT", "many")]).expect_err("no number");
    assert!(error.contains("QPID_PORT"), "{error}");
}

#[test]
fn what_has_no_effect_is_named_in_a_warning() {
    let text = "load-module=x.so\nwcache-page-size=32\nlog-time=yes\n";
    let settled = with_file(text, &[], &[]).expect("it is read");
    for name in ["load-module", "wcache-page-size", "log-time"] {
        assert!(
            settled.warnings.iter().any(|text| text.contains(name)),
            "{name}: {settled:?}"
        );
    }
    assert_eq!(settled.check(), Ok(()));
}

#[test]
fn what_asks_for_protection_that_there_is_not_stops_the_start() {
    for text in [
        "sasl-config=/etc/sasl2",
        "ssl-cert-db=/etc/pki",
        "ha-cluster=yes",
        "overwrite-before-return=yes",
        "socket-fd=3",
        "listen-disable=tcp",
        "protocols=amqp1.0",
    ] {
        let settled = with_file(text, &[], &[]).expect("it is read");
        let error = settled.check().expect_err(text);
        let name = text.split('=').next().unwrap_or_default();
        assert!(
            error.contains(name) && error.contains("qpidd.conf:1"),
            "{error}"
        );
    }
    for text in [
        "ha-cluster=no",
        "overwrite-before-return=no",
        "listen-disable=rdma",
        "protocols=amqp0-10",
    ] {
        let settled = with_file(text, &[], &[]).expect("it is read");
        assert_eq!(settled.check(), Ok(()), "{text}");
    }
}

#[test]
fn where_the_command_line_takes_a_wish_back_it_does_not_count() {
    let settled = with_file("ha-cluster=yes\n", &["--ha-cluster=no"], &[]).expect("it is read");
    assert_eq!(settled.check(), Ok(()));
}

#[test]
fn of_directory_and_none_the_nearer_counts() {
    let found = arguments(with_file("no-data-dir=yes\n", &["--data-dir=/a"], &[]));
    assert_eq!(found, ["--data-dir=/a"]);
    let found = arguments(with_file(
        "data-dir=/a\n",
        &[],
        &[("QPID_NO_DATA_DIR", "yes")],
    ));
    assert_eq!(found, ["--no-data-dir=yes"]);
    let found = arguments(with_file("no-data-dir=no\ndata-dir=/a\n", &[], &[]));
    assert_eq!(found, ["--data-dir=/a"]);
    let found = arguments(settle_as(
        Form::Serve,
        &["--no-data-dir", "--data-dir=/a"],
        &[],
    ));
    assert_eq!(found.len(), 2, "the broker refuses both");
}

#[test]
fn the_directory_of_qpidds_store_is_that_of_all_where_there_is_no_other() {
    for (text, wanted) in [
        ("store-dir=/s\n", "--data-dir=/s"),
        ("store-dir=/s\nno-data-dir=yes\n", "--data-dir=/s"),
        ("store-dir=/s\ndata-dir=/d\n", "--data-dir=/d"),
    ] {
        let settled = with_file(text, &[], &[]).expect("it is read");
        assert!(
            settled
                .warnings
                .iter()
                .any(|text| text.contains("store-dir"))
        );
        assert_eq!(arguments(Ok(settled)), [wanted], "{text}");
    }
}

#[test]
fn whoever_asks_that_nothing_be_kept_is_not_overruled_by_a_directory_said_further_off() {
    for text in [
        "store-dir=/s\n",
        "data-dir=/d\n",
        "store-dir=/s\ndata-dir=/d\n",
    ] {
        for (words, variables) in [
            (&["--no-data-dir"][..], &[][..]),
            (&[][..], &[("QPID_NO_DATA_DIR", "yes")][..]),
        ] {
            let settled = with_file(text, words, variables).expect("it is read");
            for line in text.lines() {
                let name = line.split('=').next().unwrap_or_default();
                let is_told = |told: &String| told.contains(name) && told.contains("is not used");
                assert!(settled.warnings.iter().any(is_told), "{settled:?}");
            }
            assert_eq!(settled.store_dir, None, "{text}");
            assert_eq!(arguments(Ok(settled)), ["--no-data-dir=yes"], "{text}");
        }
    }
    let settled = with_file("no-data-dir=yes\n", &["--store-dir=/s"], &[]);
    assert_eq!(arguments(settled), ["--data-dir=/s"]);
}

#[test]
fn under_qpidds_name_its_defaults_count() {
    let file = Written::new("empty.conf", "");
    let found = arguments(settle_as(
        Form::Qpidd,
        &[&file.option()],
        &[("HOME", "/home/x")],
    ));
    assert_eq!(found, ["--auth=yes", "--data-dir=/home/x/.qpidd"]);
    let words = [&*file.option(), "--auth", "no", "--no-data-dir"];
    let found = arguments(settle_as(Form::Qpidd, &words, &[]));
    assert_eq!(found, ["--auth=no", "--no-data-dir=yes"]);
    assert_eq!(arguments(settle_as(Form::Serve, &[], &[])), [""; 0]);
}

#[test]
fn the_process_is_qpidds_alone() {
    let file = Written::new("empty.conf", "");
    let words = [
        &*file.option(),
        "-d",
        "--pid-dir",
        "/p",
        "-w",
        "5",
        "--close-fd=9",
    ];
    let process = settle_as(Form::Qpidd, &words, &[])
        .expect("it is read")
        .process;
    assert!(process.is_daemon && process.deed.is_none());
    assert_eq!(process.pid_dir, PathBuf::from("/p"));
    assert_eq!(process.patience.as_secs(), 5);
    assert_eq!(process.closed, [9]);
    let error = settle_as(Form::Serve, &["--daemon"], &[]).expect_err("it is no daemon");
    assert!(error.contains("name qpidd"), "{error}");
    let settled = with_file("pid-dir=/p\n", &[], &[]).expect("in a file it does no harm");
    assert!(settled.warnings.iter().any(|text| text.contains("pid-dir")));
    for wrong in [["--close-fd=1"], ["--wait=soon"], ["--transport=ssl"]] {
        assert!(
            settle_as(Form::Qpidd, &[wrong[0], &file.option()], &[]).is_err(),
            "{wrong:?}"
        );
    }
}
