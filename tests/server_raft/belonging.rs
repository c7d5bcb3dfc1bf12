//! Who is listened to as a member.

use std::fs;

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, ExtendedKeyUsagePurpose, IsCa, KeyPair,
    SanType, date_time_ymd,
};

use super::faults::kill;
use super::members::Members;
use crate::durable_support::{
    Directory, bodies, declare, durable_queue, publish_all, query, session,
};
use crate::server_support::Broker;

pub const KEY: &str = "a key of thirty-two octets or more, for tests";

/// A file with some text.
pub fn file(directory: &Directory, name: &str, text: &str) -> String {
    use std::os::unix::fs::PermissionsExt;
    let path = directory.path().join(name);
    fs::write(&path, text).expect("it can be written");
    let mode = fs::Permissions::from_mode(0o600);
    fs::set_permissions(&path, mode).expect("it is ours");
    path.to_str().expect("it is UTF-8").to_owned()
}

/// An authority, and the options of members that have a certificate of its.
fn authority(directory: &Directory, name: &str) -> Vec<String> {
    certified(directory, name, |_| {})
}

/// The same with a certificate that is changed before it is signed.
fn certified(
    directory: &Directory,
    name: &str,
    change: impl FnOnce(&mut CertificateParams),
) -> Vec<String> {
    let mut params = CertificateParams::new(Vec::new()).expect("no names");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = KeyPair::generate().expect("a key");
    let issuer = CertifiedIssuer::self_signed(params, key).expect("an authority");
    let mut of_member = CertificateParams::new(vec!["127.0.0.1".to_owned()]).expect("an address");
    change(&mut of_member);
    let key = KeyPair::generate().expect("a key");
    let cert = of_member.signed_by(&key, &issuer).expect("a certificate");
    let files = [
        ("--cluster-tls-ca", "ca", issuer.pem()),
        ("--cluster-tls-cert", "cert", cert.pem()),
        ("--cluster-tls-key", "key", key.serialize_pem()),
    ];
    let option = |(option, part, pem): (&str, &str, String)| {
        let path = file(directory, &format!("{name}.{part}"), &pem);
        [option.to_owned(), path]
    };
    files.into_iter().flat_map(option).collect()
}

/// What is published on the first is there on the last.
async fn act_as_one(brokers: &[Broker]) {
    let sender = session(&brokers[0]).await;
    declare(&sender, durable_queue("q")).await;
    publish_all(&sender, "q", &bodies(0, 10)).await;
    let last = session(&brokers[brokers.len() - 1]).await;
    assert_eq!(query(&last, "q").await.message_count, 10);
}

#[tokio::test]
async fn members_with_the_same_key_act_as_one_and_one_with_another_is_refused() {
    let files = Directory::new();
    let key = file(&files, "key", KEY);
    let mut members = Members::new(3, &["--cluster-size", "2", "--cluster-key-file", &key]);
    let mut brokers: Vec<_> = (0..2).map(|n| members.launch(n)).collect();
    for (member, broker) in brokers.iter_mut().enumerate() {
        members.serves(member, broker);
    }
    act_as_one(&brokers).await;
    let wrong = file(&files, "wrong", &KEY.replace('k', "K"));
    members.common[3] = wrong;
    let mut stranger = members.launch(2);
    let refused = "it does not prove that it knows the cluster key";
    stranger.log_line(refused);
    for broker in &mut brokers {
        broker.log_line(refused);
        let log = broker.log().join("\n");
        assert!(!log.contains("joins"), "{log}");
    }
    drop(stranger);
    // What kept it out was the key. An end of line is not part of it.
    members.common[3] = file(&files, "same", &format!("{KEY}\n"));
    drop(members.start(2));
}

#[tokio::test]
async fn members_with_certificates_of_one_authority_act_as_one_and_others_are_refused() {
    let files = Directory::new();
    let mut members = Members::new(3, &["--cluster-size", "2"]);
    members.common.extend(authority(&files, "ours"));
    let mut brokers: Vec<_> = (0..2).map(|n| members.launch(n)).collect();
    for (member, broker) in brokers.iter_mut().enumerate() {
        members.serves(member, broker);
    }
    act_as_one(&brokers).await;
    members.common.truncate(2);
    members.common.extend(authority(&files, "theirs"));
    let mut stranger = members.launch(2);
    stranger.log_line("TLS: ");
    for broker in &mut brokers {
        broker.log_line("TLS: ");
        let log = broker.log().join("\n");
        assert!(!log.contains("joins"), "{log}");
    }
}

#[test]
fn a_member_that_was_killed_is_told_of_in_words_of_members_and_not_of_tls() {
    let files = Directory::new();
    let key = file(&files, "key", KEY);
    let members = Members::new(3, &["--cluster-key-file", &key]);
    let mut brokers = members.start_all();
    kill(&mut brokers[2]);
    let address = format!("Member at 127.0.0.1:{}: ", members.ports[2]);
    for broker in &mut brokers[..2] {
        broker.log_line(&format!("{address}the connection has ended: the peer"));
        broker.log_line(&format!("{address}nobody listens there"));
        let log = broker.log().join("\n");
        assert!(!log.contains("close_notify"), "{log}");
    }
}

/// What a certificate is made into before it is signed.
type Change = Box<dyn FnOnce(&mut CertificateParams)>;

/// What a member says at its end that is started with these options.
fn refusal(options: &[String]) -> String {
    let mut members = Members::new(1, &[]);
    members.common = options.to_vec();
    let mut broker = members.launch(0);
    assert!(!broker.wait().success(), "{options:?}");
    broker.log_line("--cluster-tls-cert")
}

#[test]
fn a_certificate_that_other_members_would_not_accept_is_refused_at_the_start() {
    let files = Directory::new();
    let elsewhere = SanType::IpAddress([192, 0, 2, 7].into());
    let changes: [(&str, Change, &str); 4] = [
        (
            "old",
            Box::new(|params| params.not_after = date_time_ymd(2001, 1, 1)),
            "has expired",
        ),
        (
            "new",
            Box::new(|params| params.not_before = date_time_ymd(3000, 1, 1)),
            "is not valid yet",
        ),
        (
            "elsewhere",
            Box::new(|params| params.subject_alt_names = vec![elsewhere]),
            "is for none of the names and addresses under which other members reach this one (127.0.0.1). One",
        ),
        (
            "server",
            Box::new(|params| {
                params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth]
            }),
            "both server and client authentication",
        ),
    ];
    for (name, change, why) in changes {
        let line = refusal(&certified(&files, name, change));
        assert!(
            line.contains(why) && line.contains(&format!("{name}.cert")),
            "{line}"
        );
    }
    // Files of two members, or of two authorities, that were mixed up. An option and its file alternate:
    // those of the authority come first, the key's last.
    let (ours, theirs) = (authority(&files, "ours"), authority(&files, "theirs"));
    let of_two = |own: std::ops::Range<usize>, other: std::ops::Range<usize>| {
        let mut options = ours[own].to_vec();
        options.extend_from_slice(&theirs[other]);
        options
    };
    let line = refusal(&of_two(0..4, 4..6));
    assert!(line.contains("theirs.key does not fit"), "{line}");
    let line = refusal(&of_two(0..2, 2..6));
    assert!(
        line.contains("has signed it") && line.contains("ours.ca"),
        "{line}"
    );
}

#[test]
fn members_of_another_cluster_are_refused_by_name() {
    let mut members = Members::new(3, &["--cluster-name", "green"]);
    let brokers: Vec<_> = (0..2).map(|n| members.launch(n)).collect();
    members.common = vec!["--cluster-name".to_owned(), "blue".to_owned()];
    let mut stranger = members.launch(2);
    stranger.log_line("one --cluster-name or");
    for mut broker in brokers {
        broker.log_line("it is of the cluster \"blue\" and the other of \"green\"");
    }
}

#[test]
fn a_store_of_another_group_is_refused() {
    let mut members = Members::new(3, &[]);
    let brokers = members.start_all();
    let other = Members::new(1, &[]);
    drop(other.start(0));
    drop(brokers);
    members.directories[2] = other.directories[0].copy();
    let mut brokers: Vec<_> = (0..3).map(|n| members.launch(n)).collect();
    let refused = "one of the two data directories is of another cluster";
    for broker in &mut brokers {
        broker.log_line(refused);
    }
    for member in [0, 1] {
        members.serves(member, &mut brokers[member]);
    }
}

#[test]
fn what_does_not_keep_strangers_out_is_refused_at_the_start() {
    let files = Directory::new();
    let short = file(&files, "short", "too short");
    let key = file(&files, "key", KEY);
    let elsewhere = "127.0.0.1:1,192.0.2.1:1";
    for (options, why) in [
        (vec!["--cluster-key-file", &short], "at least 32 octets"),
        (vec!["--cluster-key-file", "none"], "none: "),
        (vec!["--cluster-peers", elsewhere], "is not on loopback"),
        (vec!["--cluster-tls-cert", &key], "go together"),
        (
            vec![
                "--cluster-tls-cert",
                &key,
                "--cluster-tls-key",
                &key,
                "--cluster-tls-ca",
                &key,
            ],
            "no certificate in it",
        ),
        (vec!["--cluster-engine", "cpg"], "not built yet"),
        (vec!["--cluster-size", "9"], "--cluster-size 9"),
    ] {
        let data = Directory::new();
        let common = ["--port", "0", "--group", "raft", "--data-dir", data.text()];
        let mut all = common.to_vec();
        all.extend(["--cluster-listen", "127.0.0.1:1"]);
        if !options.contains(&"--cluster-peers") {
            all.extend(["--cluster-peers", "127.0.0.1:1"]);
        }
        all.extend(&options);
        let mut broker = Broker::launch_on(&all);
        assert!(!broker.wait().success(), "{options:?}");
        broker.log_line(why);
    }
}

/// All of a directory at another place.
fn copy(from: &std::path::Path, to: &std::path::Path) {
    fs::create_dir_all(to).expect("it can be made");
    for entry in fs::read_dir(from).expect("it is there") {
        let entry = entry.expect("it is there");
        let to = to.join(entry.file_name());
        match entry.file_type().expect("it is there").is_dir() {
            true => copy(&entry.path(), &to),
            false => drop(fs::copy(entry.path(), to).expect("it can be copied")),
        }
    }
}

#[tokio::test]
async fn a_copy_of_a_members_directory_is_listened_to_by_nobody_and_ends_and_its_place_is_free() {
    let mut members = Members::new(3, &[]);
    let mut brokers = members.start_all();
    kill(&mut brokers[2]);
    let of_copy = Directory::new();
    copy(members.directories[2].path(), of_copy.path());
    brokers[2] = members.start(2);
    act_as_one(&brokers).await;
    let own = std::mem::replace(&mut members.directories[2], of_copy);
    let listed = members.ports[2];
    members.ports[2] = Members::new(1, &[]).ports[0];
    // It is told where the one is that it is a copy of.
    members.ports.push(listed);
    let mut copied = members.launch(2);
    let is_copy =
        "two processes have a store with the same id: the data directory of one is a copy";
    copied.log_line(is_copy);
    assert!(!copied.wait().success(), "{:#?}", copied.log());
    brokers[2].log_line(is_copy);
    for broker in &mut brokers {
        let at = format!("at 127.0.0.1:{}", members.ports[2]);
        let log = broker.log().join("\n");
        assert!(broker.is_running() && !log.contains(&at), "{log}");
    }
    // Nobody believes that the member is where its copy was.
    members.wipe(2);
    let newcomer = members.start(2);
    drop((newcomer, own));
}

#[tokio::test]
async fn who_could_not_listen_for_clients_does_not_join() {
    let members = Members::new(3, &["--cluster-size", "2"]);
    let mut brokers: Vec<_> = (0..2).map(|n| members.launch(n)).collect();
    for (member, broker) in brokers.iter_mut().enumerate() {
        members.serves(member, broker);
    }
    let mut options = members.options(2);
    let port = options.iter().position(|option| option == "--port");
    let port = port.expect("it has one");
    options[port + 1] = brokers[0].address().port().to_string();
    let options: Vec<&str> = options.iter().map(String::as_str).collect();
    let mut newcomer = Broker::launch_on(&options);
    newcomer.log_line("Address already in use");
    assert!(!newcomer.wait().success());
    for broker in &mut brokers {
        let log = broker.log().join("\n");
        assert!(!log.contains("joins"), "{log}");
    }
}
