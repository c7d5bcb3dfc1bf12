//! ACL files of Qpid C++: what is read, what is refused, what is decided.

use std::fs;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;

use ferrymq::security::acl::{Acl, Settings, parse};

/// A file of its own for a test.
fn file(name: &str, text: &str) -> PathBuf {
    let directory = std::env::temp_dir().join(format!("ferrymq-acl-{}", std::process::id()));
    fs::create_dir_all(&directory).expect("a directory");
    let path = directory.join(name);
    fs::write(&path, text).expect("a file");
    path
}

fn acl(name: &str, text: &str) -> Arc<Acl> {
    let settings = Settings {
        file: Some(file(name, text)),
        ..Settings::default()
    };
    Acl::start(settings).unwrap_or_else(|error| panic!("{error}"))
}

/// `user action object name [property=value ...]` and what is decided.
fn assert_lookups(acl: &Acl, lookups: &[(&str, &str)]) {
    for (asked, decided) in lookups {
        let words: Vec<&str> = asked.split(' ').collect();
        let properties: Vec<(&str, &str)> = words[4..]
            .iter()
            .filter_map(|pair| pair.split_once('='))
            .collect();
        let decision = acl.lookup(words[0], words[1], words[2], words[3], &properties);
        assert_eq!(
            decision.map(|decision| decision.name()),
            Ok(*decided),
            "{asked}"
        );
    }
}

/// `user exchange key` and what is decided.
fn assert_publishes(acl: &Acl, lookups: &[(&str, &str)]) {
    for (asked, decided) in lookups {
        let words: Vec<&str> = asked.split(' ').collect();
        let decision = acl.lookup_publish(words[0], words[1], words[2]);
        assert_eq!(decision.name(), *decided, "{asked}");
    }
}

fn assert_refused(wrong: &[(&str, &str)]) {
    for (text, fault) in wrong {
        let error = parse("f", text).expect_err(text).to_string();
        assert!(error.starts_with("ACL format error: f:"), "{error}");
        assert!(error.contains(fault), "{text}: {error}");
    }
}

#[test]
fn wrong_groups_and_quotas_are_refused_with_file_and_line() {
    assert_refused(&[
        ("acl group a b@Q c", "Unknown ACL permission \"group\""),
        ("group a", "Insufficient tokens for group definition"),
        (
            "group a.b x@Q",
            "Group name \"a.b\" contains illegal characters",
        ),
        (
            "group a x@Q\ngroup a y@Q",
            "f:2: Line : 2, Duplicate group name \"a\"",
        ),
        ("group a b", "Sub-group \"b\" not defined yet."),
        (
            "group a joe$H@Q",
            "Username \"joe$H@Q\" contains illegal characters",
        ),
        ("group a joe$", "Username 'joe$' must contain a realm"),
        ("group a x@Q \\\n   \\", "contains an illegal extension"),
        (
            "x",
            "Non-continuation line must start with \"group\", \"acl\". or \"quota\".",
        ),
        ("quota", "Insufficient tokens for quota definition"),
        ("quota cows 1 all", "Quota type \"cows\" unrecognized"),
        (
            "quota queues x all",
            "\"x\" cannot be converted to a 16-bit unsigned integer",
        ),
        (
            "quota connections 65531 all",
            "exceeds maximum configuration setting of 65530",
        ),
    ]);
}

#[test]
fn wrong_rules_are_refused_with_file_and_line() {
    assert_refused(&[
        (
            "acl group\nacl allow all all",
            "f:1: Line : 1, Insufficient tokens for acl definition",
        ),
        (
            "acl allow all all queue",
            "Tokens found after action \"all\"",
        ),
        ("acl allow x@Q fly queue", "Unknown action \"fly\""),
        ("acl allow x@Q create house", "Unknown object \"house\""),
        (
            "acl allow x@Q create queue name=",
            "Badly formed property name-value pair \"name=\"",
        ),
        ("acl allow x@Q create queue name", "(Must be name=value)"),
        (
            "acl allow x@Q create queue colour=red",
            "Unknown property \"colour\"",
        ),
        (
            "acl deny x@Q create queue policytype=ding",
            "ding is not a valid value for 'policytype', possible values are one of { 'ring' \
             'self-destruct' 'reject' }",
        ),
        (
            "acl deny x@Q create queue maxqueuesize=-1",
            "-1 is not a valid value for 'queuemaxsizeupperlimit', values should be between 0 and \
             9223372036854775807",
        ),
        (
            "acl deny x@Q create queue pagefactorlowerlimit=9223372036854775808",
            "9223372036854775808 is not a valid value for 'pagefactorlowerlimit'",
        ),
        (
            "acl allow all create connection",
            "rule 1 has no 'host' property",
        ),
        (
            "acl allow all create connection host=all name=x",
            "rule 1 must not have a 'name' property",
        ),
        (
            "acl allow all create connection host=1.1.1.777",
            "Invalid AclHost : 1.1.1.777",
        ),
        (
            "acl allow all create connection host=all\nacl deny all create connection host=all",
            "f:2: Line : 2, ACL: only one CREATE CONNECTION rule for user=all and host=all allowed",
        ),
    ]);
}

#[test]
fn every_wrong_line_is_told() {
    let error = parse("f", "x\nacl allow all all\ny\n").expect_err("two are wrong");
    let lines: Vec<usize> = error.faults.iter().map(|fault| fault.line).collect();
    assert_eq!(lines, [1, 3]);
}

#[test]
fn any_octets_are_rules_or_an_error() {
    let mut seed = 88_172_645_463_325_252_u64;
    let words = [
        "acl",
        "group",
        "quota",
        "allow",
        "deny-log",
        "all",
        "create",
        "queue",
        "connection",
        "name=x*",
        "host=1.1.1.1",
        "connections",
        "queues",
        "9",
        "a",
        "b@Q",
        "routingkey=#.*",
        "\\",
        "\n",
        "\0",
        "=",
        "maxqueuesize=3",
        "é",
        "#",
        "\t",
    ];
    for _ in 0..20_000 {
        let mut text = String::new();
        for _ in 0..12 {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            text.push_str(words[(seed % words.len() as u64) as usize]);
            text.push_str(if seed & 0x100 == 0 { " " } else { "" });
        }
        if let Err(error) = parse("f", &text) {
            assert!(!error.faults.is_empty(), "{text}");
        }
    }
}

#[test]
fn users_groups_and_continuations_are_read_as_in_qpidd() {
    let text = "group test1 joe@EXAMPLE.com \\ \n    jack_123-jill@EXAMPLE.com \\\n\
                # a comment\nhost/m.example.com@EXAMPLE.COM\n\
                group both kim@QPID test1 both\n\
                acl allow both create queue\nacl deny all all";
    let acl = acl("groups", text);
    assert_lookups(
        &acl,
        &[
            ("joe@EXAMPLE.com create queue q", "allow"),
            ("host/m.example.com@EXAMPLE.COM create queue q", "allow"),
            ("kim@QPID create queue q", "allow"),
            ("joe@example.com create queue q", "deny"),
            ("both create queue q", "deny"),
        ],
    );
}

#[test]
fn the_first_rule_that_fits_decides_and_the_last_for_all_is_the_mode() {
    let text = "group admins bob@QPID joe@QPID\nacl allow bob@QPID create queue\n\
                acl deny admins create queue\nacl allow-log all consume queue name=a*\n\
                acl deny-log all consume\nacl allow all all\nacl deny jim@QPID purge queue\n";
    let acl = acl("first", text);
    assert_lookups(
        &acl,
        &[
            ("bob@QPID create queue zed", "allow"),
            ("joe@QPID create queue zed", "deny"),
            ("ann@QPID create queue zed", "allow"),
            ("ann@QPID consume queue abc", "allow-log"),
            ("bob@QPID consume queue bcd", "deny-log"),
            ("jim@QPID purge queue abc", "deny"),
        ],
    );
    assert_lookups(
        &self::acl("empty", ""),
        &[("bob@QPID create queue zed", "deny")],
    );
}

#[test]
fn properties_of_queues_decide_with_wildcards_and_limits() {
    let text = "acl allow bob@QPID create queue name=q1 durable=true\n\
                acl allow bob@QPID create queue name=q2 exclusive=true policytype=ring\n\
                acl allow bob@QPID create queue name=q3* maxqueuesize=1000 queuemaxcountlowerlimit=5\n\
                acl deny-log bob@QPID create queue name=q4 alternate=*\n\
                acl allow-log bob@QPID create queue name=q5 queuemaxsizeupperlimit=0\n\
                acl deny all all";
    let acl = acl("queues", text);
    assert_lookups(
        &acl,
        &[
            ("bob@QPID create queue q1 durable=true", "allow"),
            ("bob@QPID create queue q1 durable=false", "deny"),
            ("bob@QPID create queue q1", "deny"),
            (
                "bob@QPID create queue q2 exclusive=true policytype=ring",
                "allow",
            ),
            (
                "bob@QPID create queue q2 exclusive=true policytype=ring_strict",
                "deny",
            ),
            (
                "bob@QPID create queue q37 maxqueuesize=1000 maxqueuecount=5",
                "allow",
            ),
            (
                "bob@QPID create queue q37 maxqueuesize=1001 maxqueuecount=5",
                "deny",
            ),
            (
                "bob@QPID create queue q37 maxqueuesize=1000 maxqueuecount=4",
                "deny",
            ),
            (
                "bob@QPID create queue q37 maxqueuesize=x maxqueuecount=5",
                "deny",
            ),
            ("bob@QPID create queue q4 alternate=e", "deny-log"),
            ("bob@QPID create queue q5 maxqueuesize=99", "allow-log"),
        ],
    );
    let unknown = acl.lookup("bob@QPID", "create", "queue", "q", &[("colour", "red")]);
    assert!(unknown.is_err_and(|text| text.contains("illegal property name: colour")));
    let unknown = acl.lookup("bob@QPID", "fly", "queue", "q", &[]);
    assert!(unknown.is_err_and(|text| text.contains("illegal action name: fly")));
}

#[test]
fn a_rule_for_all_actions_or_objects_is_for_those_that_know_its_properties() {
    let text = "acl allow bob@QPID all queue name=q1\nacl allow bob@QPID create all name=x\n\
                acl allow bob@QPID all all routingkey=k\nacl deny all all";
    let acl = acl("everything", text);
    assert_lookups(
        &acl,
        &[
            ("bob@QPID purge queue q1", "allow"),
            ("bob@QPID delete queue q1 durable=true", "allow"),
            ("bob@QPID delete exchange q1", "deny"),
            ("bob@QPID create exchange x", "allow"),
            ("bob@QPID bind exchange e routingkey=k", "allow"),
            ("bob@QPID bind exchange e routingkey=l", "deny"),
            ("bob@QPID purge queue q2", "deny"),
        ],
    );
}

#[test]
fn rules_that_are_never_asked_for_are_left_out() {
    let text = "acl deny bob@QPID publish queue\nacl deny bob@QPID purge queue durable=true\n\
                acl allow all all";
    let acl = acl("never", text);
    assert!(!acl.rules().has_publish);
    assert_lookups(&acl, &[("bob@QPID purge queue q durable=true", "allow")]);
}

#[test]
fn publishing_is_decided_by_exchange_and_topic() {
    let text = "acl allow-log u1@CO publish exchange name=X routingkey=a.#.b\n\
                acl allow u2@CO publish exchange name=amq.default routingkey=q\n\
                acl allow u3@CO publish exchange name=amq.*\n\
                acl allow u4@CO publish exchange routingkey=*.x\n\
                acl allow all publish exchange name=Y\nacl deny all all";
    let acl = acl("publish", text);
    assert!(acl.rules().has_publish);
    assert_publishes(
        &acl,
        &[
            ("u1@CO X a.b", "allow-log"),
            ("u1@CO X a..x.y.zz.b", "allow-log"),
            ("u1@CO X a.b.", "deny"),
            ("u1@CO Z a.b", "deny"),
            ("u2@CO  q", "allow"),
            ("u2@CO amq.default q", "deny"),
            ("u3@CO amq.direct k", "allow"),
            ("u3@CO  k", "deny"),
            ("u4@CO W .x", "allow"),
            ("u4@CO W x", "deny"),
            ("anybody Y k", "allow"),
        ],
    );
}

#[test]
fn names_of_users_stand_for_keywords() {
    let text = "acl allow all create queue name=tmp-${userdomain}\n\
                acl allow all create queue name=user-${user}\n\
                acl allow all create queue name=mixed-${user}_${domain}\n\
                acl allow all create queue name=${user}-work alternate=${user}-work2\n\
                acl allow all bind exchange name=${user}-e routingkey=${user} queuename=${user}-work\n\
                acl allow all publish exchange name=X routingkey=a.*.${userdomain}\n\
                acl allow all publish exchange name=U routingkey=*.${user}.#.y\n\
                acl allow all publish exchange name=NOGO routingkey=${user}_${domain}.e\n\
                acl allow all publish exchange name=OK routingkey=${user}___${domain}.e\n\
                acl deny all all";
    let acl = acl("keywords", text);
    assert_lookups(
        &acl,
        &[
            ("alice@QPID create queue tmp-alice_QPID", "allow"),
            ("alice@QPID create queue tmp-bob_QPID", "deny"),
            ("alice@QPID create queue tmp-${user}", "deny"),
            ("c.e.r@BIG.COM create queue tmp-c_e_r_BIG_COM", "allow"),
            ("c@ create queue tmp-c_", "allow"),
            ("bob@QPID create queue user-bob", "allow"),
            ("bob@QPID create queue mixed-bob_QPID", "allow"),
            (
                "bob@QPID create queue bob-work alternate=bob-work2",
                "allow",
            ),
            ("bob@QPID create queue bob-work alternate=joe-work2", "deny"),
            (
                "bob@QPID bind exchange bob-e routingkey=bob queuename=bob-work",
                "allow",
            ),
            (
                "bob@QPID bind exchange bob-e routingkey=joe queuename=bob-work",
                "deny",
            ),
            (
                "bob@QPID bind exchange bob-e routingkey=${user} queuename=bob-work",
                "deny",
            ),
        ],
    );
    assert_publishes(
        &acl,
        &[
            ("u@CO X a.xx.u_CO", "allow"),
            ("u@CO X a.xx.v_CO", "deny"),
            ("u@CO X a.xx.${userdomain}", "deny"),
            ("u1@CO U a.u1.p.qq.y", "allow"),
            ("u1@CO U a.a.u1.y", "deny"),
            ("u1@CO NOGO u1_CO.e", "deny"),
            ("u1@CO OK u1___CO.e", "allow"),
        ],
    );
}

#[test]
fn connections_are_decided_by_rules_for_all_then_for_the_user_then_by_the_mode() {
    let text = "acl deny-log bob@QPID create connection host=10.0.1.0,10.0.1.255\n\
                acl allow-log bob@QPID create connection host=10.0.0.0,10.255.255.255\n\
                acl deny bob@QPID create connection host=all\n\
                acl allow all create connection host=localhost\n\
                acl deny all create connection host=all\nacl allow all all";
    let acl = acl("hosts", text);
    assert_lookups(
        &acl,
        &[
            ("bob@QPID create connection  host=10.0.1.7", "deny-log"),
            ("bob@QPID create connection  host=10.0.0.255", "allow-log"),
            ("bob@QPID create connection  host=11.0.0.0", "deny"),
            ("bob@QPID create connection  host=127.0.0.1", "allow"),
            ("ann@QPID create connection  host=127.0.0.1", "allow"),
            ("ann@QPID create connection  host=127.0.0.2", "deny"),
        ],
    );
}

fn host(text: &str) -> IpAddr {
    text.parse().expect("an address")
}

#[test]
fn connections_count_against_the_quota_of_their_user_until_they_are_gone() {
    let text = "group stooges moe@QPID\ngroup all3 stooges larry@QPID\nquota connections 2 ann@QPID\n\
                quota connections 0 evil@QPID\nquota connections 1 all3\nacl allow all all";
    let acl = acl("quotas", text);
    let local = host("127.0.0.1");
    let first = acl.admit("ann@QPID", local).expect("one");
    let second = acl.admit("ann@QPID", local).expect("two");
    assert!(
        acl.admit("ann@QPID", local)
            .is_err_and(|why| why.contains("limit of 2"))
    );
    drop(first);
    let third = acl.admit("ann@QPID", local);
    assert!(third.is_ok());
    assert!(acl.admit("evil@QPID", local).is_err());
    assert!(
        acl.admit("nobody@QPID", local).is_err(),
        "who is not named may have none"
    );
    let moe = acl.admit("moe@QPID", local);
    assert!(moe.is_ok() && acl.admit("moe@QPID", local).is_err());
    assert_eq!(acl.denials().connections, 4);
    drop((second, third, moe));
}

#[test]
fn limits_of_the_command_line_count_without_a_file_and_give_way_to_one() {
    let without = Settings {
        connections_per_user: 1,
        connections_per_host: 2,
        queues_per_user: 3,
        ..Settings::default()
    };
    let acl = Acl::start(without.clone()).expect("no file");
    let first = acl.admit("a", host("10.0.0.1"));
    assert!(first.is_ok() && acl.admit("a", host("10.0.0.2")).is_err());
    let second = acl.admit("b", host("10.0.0.1"));
    assert!(second.is_ok() && acl.admit("c", host("::ffff:10.0.0.1")).is_err());
    assert_eq!(acl.queue_quota("a"), Some(3));
    let with = Settings {
        file: Some(file(
            "limits",
            "quota queues 7 a all\nquota queues 0 b\nacl allow all all",
        )),
        ..without
    };
    let acl = Acl::start(with).expect("a file");
    assert_eq!(acl.queue_quota("a"), Some(7));
    assert_eq!(acl.queue_quota("c"), Some(7));
    assert_eq!(acl.queue_quota("b"), Some(0));
    drop((first, second));
}

#[test]
fn a_bad_file_leaves_the_rules_in_force() {
    let acl = acl(
        "reload",
        "acl allow bob@QPID create queue\nacl deny all all",
    );
    let path = acl.settings().file.clone().expect("there is one");
    let asked = [("bob@QPID create queue q", "allow")];
    fs::write(&path, "nonsense").expect("written");
    assert!(acl.reload().is_err_and(|why| why.contains(":1: ")));
    assert_eq!(acl.generation(), 0);
    assert_lookups(&acl, &asked);
    fs::write(&path, "acl deny-log all all").expect("written");
    assert_eq!(acl.reload(), Ok(()));
    assert_eq!(acl.generation(), 1);
    assert_lookups(&acl, &[("bob@QPID create queue q", "deny-log")]);
    fs::remove_file(&path).expect("removed");
    assert!(
        acl.reload()
            .is_err_and(|why| why.contains("Unable to read ACL file"))
    );
}
