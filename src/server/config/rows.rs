//! The rows of the table of qpidd's options, by what they are about.

use super::super::options::yes_or_no;
use super::table::Here::{Line, Nothing, Ours, OursBut, Process};
use super::table::Takes::{Value, Values, YesNoOrNothing};
use super::table::{Here, Row, Takes};

/// All groups of rows.
pub(super) const ALL: &[&[Row]] = &[
    GENERAL, LOG, BROKER, FEDERATION, PROCESS, ACCESS, TLS, AMQP_1_0, STORE, CLUSTER, HA, OLD,
];

const fn row(name: &'static str, takes: Takes, default: &'static str, here: Here) -> Row {
    Row {
        name,
        short: None,
        takes,
        default,
        here,
    }
}

const fn short(short: char, row: Row) -> Row {
    Row {
        short: Some(short),
        ..row
    }
}

const fn protection(is_harmless: fn(&str) -> bool, instead: &'static str) -> Here {
    Here::Protection {
        is_harmless,
        instead,
    }
}

/// No value is without a wish.
fn never(_: &str) -> bool {
    false
}

fn is_empty(value: &str) -> bool {
    value.is_empty()
}

fn is_no(value: &str) -> bool {
    yes_or_no(value) == Ok(false)
}

/// Transports that are not there are not listened on.
fn is_no_transport_of_ours(value: &str) -> bool {
    !matches!(value, "tcp" | "ssl")
}

fn speaks_0_10(value: &str) -> bool {
    value == "amqp0-10"
}

const PLUG_INS: &str = "there are no plug-ins: what the broker can, is in it";

const GENERAL: &[Row] = &[
    short('h', row("help", YesNoOrNothing, "", Line)),
    short('v', row("version", YesNoOrNothing, "", Line)),
    row("config", Value, "", Line),
    row(
        "client-config",
        Value,
        "",
        Nothing("the broker is no client with a file of its own"),
    ),
    row("module-dir", Value, "", Nothing(PLUG_INS)),
    row("load-module", Values, "", Nothing(PLUG_INS)),
    row("no-module-dir", YesNoOrNothing, "no", Nothing(PLUG_INS)),
    row("storage-provider", Value, "", Nothing("there is one store")),
];

const LINES: &str = "lines of the log always have time, category and level, and nothing else";

const LOG: &[Row] = &[
    short('t', row("trace", YesNoOrNothing, "no", Ours)),
    row("log-enable", Values, "notice+", Ours),
    row(
        "log-disable",
        Values,
        "",
        Nothing("what --log-enable says is logged, all of it"),
    ),
    row("log-time", Value, "yes", Nothing(LINES)),
    row("log-level", Value, "yes", Nothing(LINES)),
    row("log-source", Value, "no", Nothing(LINES)),
    row("log-thread", Value, "no", Nothing(LINES)),
    row("log-function", Value, "no", Nothing(LINES)),
    row("log-category", Value, "yes", Nothing(LINES)),
    row("log-prefix", Value, "", Nothing(LINES)),
    row("log-hires-timestamp", Value, "no", Ours),
    row("log-to-stderr", Value, "yes", Ours),
    row("log-to-stdout", Value, "no", Ours),
    row("log-to-file", Value, "", Ours),
    row("log-to-syslog", Value, "no", Ours),
    row(
        "syslog-name",
        Value,
        "",
        OursBut("qpidd has the name that it was started by"),
    ),
    row("syslog-facility", Value, "LOG_DAEMON", Ours),
];

const BROKER: &[Row] = &[
    row("data-dir", Value, "", Ours),
    row("no-data-dir", YesNoOrNothing, "no", Ours),
    row(
        "paging-dir",
        Value,
        "",
        Nothing("what does not fit in memory is in the data directory"),
    ),
    short('p', row("port", Value, "5672", Ours)),
    row("interface", Values, "", Ours),
    row(
        "listen-disable",
        Values,
        "",
        protection(
            is_no_transport_of_ours,
            "say with --interface and the ports where to listen",
        ),
    ),
    row(
        "protocols",
        Values,
        "",
        protection(
            speaks_0_10,
            "the broker speaks amqp0-10 and nothing else: leave the option out",
        ),
    ),
    row("worker-threads", Value, "", Ours),
    row("connection-backlog", Value, "10", Ours),
    short('m', row("mgmt-enable", Value, "yes", Ours)),
    row("mgmt-publish", Value, "yes", Ours),
    row("mgmt-qmf2", Value, "yes", Ours),
    row("mgmt-qmf1", Value, "no", Ours),
    row("mgmt-pub-interval", Value, "10", Ours),
    row("queue-purge-interval", Value, "600", Ours),
    row(
        "max-purge-batch",
        Value,
        "1000",
        Nothing("a purge never holds up anything else"),
    ),
    row("default-queue-limit", Value, "104857600", Ours),
    row("tcp-nodelay", YesNoOrNothing, "yes", Ours),
    row("default-flow-stop-threshold", Value, "80", Ours),
    row("default-flow-resume-threshold", Value, "70", Ours),
    row("default-event-threshold-ratio", Value, "80", Ours),
    row("default-message-group", Value, "qpid.no-group", Ours),
    row("enable-timestamp", Value, "no", Ours),
    row("dtx-default-timeout", Value, "60", Ours),
    row("dtx-max-timeout", Value, "3600", Ours),
    row("max-negotiate-time", Value, "10000", Ours),
    row(
        "session-max-unacked",
        Value,
        "5000",
        Nothing("it is about AMQP 1.0"),
    ),
];

const FEDERATION: &[Row] = &[
    row("federation-tag", Value, "", Ours),
    row(
        "known-hosts-url",
        Value,
        "none",
        Nothing("clients are told the members of the cluster"),
    ),
    row("link-maintenance-interval", Value, "2", Ours),
    row("link-heartbeat-interval", Value, "120", Ours),
];

const PROCESS: &[Row] = &[
    short('d', row("daemon", Takes::Nothing, "no", Process)),
    row("transport", Value, "tcp", Process),
    row("pid-dir", Value, "", Process),
    row("pidfile", Value, "", Process),
    row("close-fd", Values, "", Process),
    short('w', row("wait", Value, "600", Process)),
    short('c', row("check", Takes::Nothing, "no", Process)),
    short('q', row("quit", Takes::Nothing, "no", Process)),
    short('k', row("kill", Takes::Nothing, "no", Process)),
    row(
        "socket-fd",
        Values,
        "",
        protection(
            never,
            "name the port and the --interface to listen on: sockets are not taken over",
        ),
    ),
];

const ACCESS: &[Row] = &[
    row(
        "auth",
        Value,
        "yes",
        OursBut("without it those on this machine get in, and nobody else"),
    ),
    row("realm", Value, "QPID", Ours),
    row(
        "sasl-config",
        Value,
        "",
        protection(
            is_empty,
            "users are not those of Cyrus SASL: list them with `sasldblistusers2`, and let those in that \
             you want with `ferrymq user add NAME`",
        ),
    ),
    row(
        "sasl-service-name",
        Value,
        "qpidd",
        Nothing("it is for Kerberos, which is not there"),
    ),
    row("require-encryption", YesNoOrNothing, "no", Ours),
    row("acl-file", Value, "", Ours),
    row("max-connections", Value, "500", Ours),
    row("connection-limit-per-user", Value, "0", Ours),
    row("connection-limit-per-ip", Value, "0", Ours),
    row("max-queues-per-user", Value, "0", Ours),
];

const CONVERT: &str = "certificates are read from PEM files, not from a database of NSS. `pk12util -d \
    DIRECTORY -n NAME -o all.p12`, then `openssl pkcs12 -in all.p12 -nokeys -out cert.pem` and \
    `openssl pkcs12 -in all.p12 -nocerts -nodes -out key.pem` make the files for --ssl-cert-file \
    and --ssl-key-file";

const TLS: &[Row] = &[
    row("ssl-cert-db", Value, "", protection(is_empty, CONVERT)),
    row(
        "ssl-cert-name",
        Value,
        "",
        Nothing("it counts with ssl-cert-db alone"),
    ),
    row(
        "ssl-cert-password-file",
        Value,
        "",
        Nothing("it counts with ssl-cert-db alone"),
    ),
    row(
        "ssl-use-export-policy",
        YesNoOrNothing,
        "no",
        Nothing("weak ciphers are never used"),
    ),
    row("ssl-port", Value, "5671", Ours),
    row(
        "ssl-require-client-authentication",
        YesNoOrNothing,
        "no",
        Ours,
    ),
    row("ssl-sasl-no-dict", YesNoOrNothing, "no", Ours),
];

const AMQP_1_0: &[Row] = &[
    row("domain", Value, "", Nothing("it is about AMQP 1.0")),
    row(
        "queue-patterns",
        Values,
        "",
        Nothing("it is about AMQP 1.0"),
    ),
    row(
        "topic-patterns",
        Values,
        "",
        Nothing("it is about AMQP 1.0"),
    ),
];

const JOURNAL: &str = "the journal is another (--journal-file-size, --journal-sync)";

const STORE: &[Row] = &[
    row("store-dir", Value, "", Line),
    row(
        "truncate",
        Value,
        "no",
        Nothing("nothing is thrown away at the start"),
    ),
    row("wcache-page-size", Value, "16", Nothing(JOURNAL)),
    row("wcache-num-pages", Value, "16", Nothing(JOURNAL)),
    row("tpl-wcache-page-size", Value, "4", Nothing(JOURNAL)),
    row("tpl-wcache-num-pages", Value, "16", Nothing(JOURNAL)),
    row("efp-partition", Value, "1", Nothing(JOURNAL)),
    row("efp-file-size", Value, "2048", Nothing(JOURNAL)),
    row(
        "overwrite-before-return",
        Value,
        "no",
        protection(
            is_no,
            "files of the journal are given back as they are: have the data directory on an encrypted file system",
        ),
    ),
    row("journal-flush-timeout", Value, "500ms", Nothing(JOURNAL)),
    row("num-jfiles", Value, "8", Nothing(JOURNAL)),
    row("jfile-size-pgs", Value, "24", Nothing(JOURNAL)),
    row("tpl-num-jfiles", Value, "8", Nothing(JOURNAL)),
    row("tpl-jfile-size-pgs", Value, "24", Nothing(JOURNAL)),
];

const MEMBERS: &str = "members prove who they are by --cluster-key-file or --cluster-tls-cert";

const CLUSTER: &[Row] = &[
    row("cluster-name", Value, "", Ours),
    row("cluster-url", Value, "", Ours),
    row(
        "cluster-size",
        Value,
        "1",
        OursBut("all that --cluster-peers lists have to be there"),
    ),
    row("cluster-username", Value, "", Nothing(MEMBERS)),
    row("cluster-password", Value, "", Nothing(MEMBERS)),
    row("cluster-mechanism", Value, "", Nothing(MEMBERS)),
    row(
        "cluster-cman",
        Value,
        "no",
        Nothing("a cluster always needs a majority"),
    ),
    row(
        "cluster-clock-interval",
        Value,
        "10",
        Nothing("time is in the order"),
    ),
    row(
        "cluster-read-max",
        Value,
        "10",
        Nothing("headroom bounds what is on its way"),
    ),
];

const REPLICATED: &str = "brokers that act as one are members of a cluster: --group raft with \
                          --cluster-listen and --cluster-peers";

const HA: &[Row] = &[
    row("ha-cluster", Value, "no", protection(is_no, REPLICATED)),
    row(
        "ha-queue-replication",
        Value,
        "no",
        protection(is_no, REPLICATED),
    ),
    row("ha-brokers-url", Value, "", Nothing(REPLICATED)),
    row("ha-public-url", Value, "", Nothing(REPLICATED)),
    row("ha-replicate", Value, "none", Nothing(REPLICATED)),
    row("ha-username", Value, "", Nothing(REPLICATED)),
    row("ha-password", Value, "", Nothing(REPLICATED)),
    row("ha-mechanism", Value, "", Nothing(REPLICATED)),
    row("ha-backup-timeout", Value, "10", Nothing(REPLICATED)),
    row("ha-flow-messages", Value, "1000", Nothing(REPLICATED)),
    row("ha-flow-bytes", Value, "0", Nothing(REPLICATED)),
];

const OLD: &[Row] = &[
    row(
        "watchdog-interval",
        Value,
        "0",
        Nothing("the system's own watchdog does that"),
    ),
    row(
        "watchdog-exec",
        Value,
        "",
        Nothing("the system's own watchdog does that"),
    ),
    row("replication-queue", Value, "", Ours),
    row("replication-exchange-name", Value, "", Ours),
    row("replication-exchange-type", Value, "direct", Ours),
    row("replication-listener-name", Value, "replicator", Ours),
    row("create-replication-queue", YesNoOrNothing, "no", Ours),
];
