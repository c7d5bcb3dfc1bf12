//! The table against what the broker takes.

use std::collections::BTreeSet;

use super::*;
use crate::server::config::own_command;

/// Options of the broker that qpidd has not.
const OWN: &[&str] = &[
    "allow-plain-unencrypted",
    "cluster-down-after",
    "cluster-engine",
    "cluster-key-file",
    "cluster-listen",
    "cluster-peers",
    "cluster-tls-ca",
    "cluster-tls-cert",
    "cluster-tls-key",
    "group",
    "http-interface",
    "http-port",
    "https-interface",
    "https-port",
    "journal-file-size",
    "journal-sync",
    "lockstep-seed",
    "max-message-size",
    "max-sessions-per-connection",
    "memory-limit",
    "sasl-mechanisms",
    "link-ssl-ca-file",
    "link-ssl-cert-file",
    "link-ssl-key-file",
    "session-timeout-max",
    "ssl-ca-file",
    "ssl-cert-file",
    "ssl-key-file",
    "users-file",
];

#[test]
fn every_option_is_in_one_row() {
    let mut names = BTreeSet::new();
    let mut shorts = BTreeSet::new();
    for row in rows() {
        assert!(names.insert(row.name), "{} has two rows", row.name);
        if let Some(short) = row.short {
            assert!(shorts.insert(short), "-{short} is two options");
        }
    }
    for name in OWN {
        assert!(names.insert(name), "{name} is qpidd's or stands twice");
    }
    assert!(rows().count() > 120, "all of qpidd's");
}

#[test]
fn the_broker_has_the_options_that_the_table_says_and_no_others() {
    let own = own_command();
    let had: BTreeSet<&str> = own
        .get_arguments()
        .filter_map(|argument| argument.get_long())
        .collect();
    for row in rows() {
        let is_said = match row.here {
            Here::Ours | Here::OursBut(_) => true,
            Here::Line => continue,
            Here::Process | Here::Nothing(_) | Here::Protection { .. } => false,
        };
        let is_had = had.contains(row.name);
        assert_eq!(
            is_had, is_said,
            "{}: had or not, the row says otherwise",
            row.name
        );
    }
    for name in had {
        let is_known = row(name).is_some() || OWN.contains(&name);
        assert!(
            is_known,
            "{name} is in no row, and not among those that are not qpidd's"
        );
    }
    for name in OWN {
        assert!(
            own.get_arguments()
                .any(|argument| argument.get_long() == Some(name)),
            "{name}"
        );
    }
}

#[test]
fn each_has_the_short_form_the_default_and_the_variable_of_qpidd() {
    for argument in own_command().get_arguments() {
        let Some(row) = argument.get_long().and_then(row) else {
            continue;
        };
        assert_eq!(argument.get_short(), row.short, "{}", row.name);
        let variable = crate::server::config::vocabulary::variable(row.name);
        assert_eq!(
            argument.get_env().and_then(|name| name.to_str()),
            Some(&*variable)
        );
        let values = argument
            .get_default_values()
            .iter()
            .map(|value| value.to_string_lossy());
        let default = values.collect::<Vec<_>>().join(",");
        match row.here {
            Here::OursBut(_) => assert_ne!(default, row.default, "{}", row.name),
            _ => assert_eq!(default, row.default, "{}", row.name),
        }
    }
}

#[test]
fn reasons_are_given() {
    for row in rows() {
        let why = match row.here {
            Here::OursBut(why) | Here::Nothing(why) => why,
            Here::Protection { instead, .. } => instead,
            Here::Ours | Here::Line | Here::Process => continue,
        };
        assert!(why.len() > 10, "{}", row.name);
    }
}
