//! Files that an operator writes: rights, `qpidd.conf`, the same as TOML. Made of the words that such files
//! have, and damaged as texts are.

use ferrymq::security::acl::{self, Action, Object, Properties, Property, lookups};
use ferrymq::server::config::qpidd_conf::{self, Entry};
use ferrymq::server::config::toml_file;

use super::wire_support::seeded::Seeded;

/// Of each of these the last one is none, or of nobody.
const USERS: [&str; 6] = ["ann@QPID", "bob@QPID", "all", "feeders", "a@b@c", "${user}"];
const DECISIONS: [&str; 5] = ["allow", "allow-log", "deny", "deny-log", "maybe"];
const QUOTAS: [&str; 4] = ["0", "10", "65530", "65531"];
const PROPERTIES: [&str; 14] = [
    "name=q*",
    "name=${user}-*",
    "routingkey=a.#.b.*",
    "routingkey=${user}.#",
    "durable=true",
    "policytype=ring",
    "maxqueuesize=1000",
    "queuemaxcountlowerlimit=5",
    "alternate=amq.fanout",
    "host=10.0.0.0,10.255.255.255",
    "autodelete=perhaps",
    "maxqueuesize=-1",
    "name=",
    "=",
];

/// One of the words, seldom the last: most files are to be read to their end.
fn word<'a>(seeded: &mut Seeded, words: &[&'a str]) -> &'a str {
    match seeded.once_in(80) {
        true => words[words.len() - 1],
        false => words[seeded.below(words.len() - 1)],
    }
}

/// An action and an object that go together, or all.
fn act(seeded: &mut Seeded) -> (Action, Object) {
    let acts: Vec<_> = lookups::all().collect();
    acts[seeded.below(acts.len())]
}

fn acl_line(seeded: &mut Seeded) -> String {
    let mut words: Vec<String> = Vec::new();
    match seeded.below(8) {
        0 => words.push(format!("# {}", seeded.text(20))),
        1 => {
            words.extend([
                "quota".into(),
                (*seeded.pick(&["queues", "connections"])).into(),
            ]);
            words.extend([word(seeded, &QUOTAS).into(), word(seeded, &USERS).into()]);
        }
        _ => {
            let user = word(seeded, &USERS);
            words.extend(["acl".into(), word(seeded, &DECISIONS).into(), user.into()]);
            let (action, object) = act(seeded);
            match seeded.below(8) {
                0 => words.push("all".into()),
                1 => words.extend([action.name().into(), "all".into()]),
                _ => {
                    words.extend([action.name().into(), object.name().into()]);
                    let properties = seeded.below(3);
                    words.extend((0..properties).map(|_| word(seeded, &PROPERTIES).to_owned()));
                }
            }
        }
    }
    words.join(*seeded.pick(&[" ", "  ", "\t", " \\\n "]))
}

/// Changes a character, doubles a piece, cuts one out, or puts in what ends lines and statements.
fn damage(seeded: &mut Seeded, text: &mut String) {
    for _ in 0..=seeded.below(3) {
        let mut characters: Vec<char> = text.chars().collect();
        if characters.is_empty() {
            return;
        }
        let at = seeded.below(characters.len());
        let end = (at + seeded.below(12)).min(characters.len());
        match seeded.below(4) {
            0 => {
                characters[at] =
                    *seeded.pick(&['\\', '\n', '\0', '#', '=', '"', '[', '€', ' ', '\r'])
            }
            1 => drop(characters.drain(at..end)),
            2 => {
                let piece = characters[at..end].to_vec();
                characters.splice(at..at, piece);
            }
            _ => characters.truncate(at),
        }
        *text = characters.into_iter().collect();
    }
}

/// Any text is rules or faults with their lines. What rules decide, they decide again when the text is read
/// again; and there are no more of them than lines say.
pub fn acl_file(seeded: &mut Seeded) {
    let lines = seeded.below(12);
    let group = "group feeders ann@QPID carl@QPID\n".to_owned();
    let lines = (0..lines).map(|_| acl_line(seeded) + "\n");
    let mut text = group + &lines.collect::<String>();
    if seeded.once_in(3) {
        damage(seeded, &mut text);
    }
    let lines = text.lines().count();
    let rules = match acl::parse("fuzzed", &text) {
        Ok(rules) => rules,
        Err(error) => {
            assert!(!error.faults.is_empty());
            assert!(
                error.faults.iter().all(|fault| fault.line <= lines + 1),
                "{error}"
            );
            return;
        }
    };
    assert_eq!(acl::parse("fuzzed", &text).as_ref(), Ok(&rules), "{text}");
    let count: usize = rules.rules.values().map(Vec::len).sum();
    assert!(
        count <= lines * lookups::all().count(),
        "{count} rules of {lines} lines"
    );
    let user = *seeded.pick(&USERS);
    let (action, object) = act(seeded);
    let mut known = Properties::new();
    known.insert(Property::RoutingKey, seeded.text(20));
    known.insert(
        Property::MaxQueueSize,
        (*seeded.pick(&["5", "x", "99999999999999999999"])).into(),
    );
    known.insert(Property::Durable, "true".into());
    let name = seeded.text(12);
    let decided = rules.lookup(user, action, object, &name, Some(&known));
    assert_eq!(
        rules.lookup(user, action, object, &name, Some(&known)),
        decided
    );
    for user in USERS {
        for (action, object) in lookups::all() {
            rules.lookup(user, action, object, &name, None);
        }
        let key = [user, ".", &seeded.text(30)].concat();
        let decided = rules.lookup_publish(user, "q1", &key);
        assert_eq!(rules.lookup_publish(user, "q1", &key), decided);
    }
    rules.hosts.lookup(user, [127, 0, 0, 1].into());
    rules.connections_of(user);
    rules.queues_of(user);
}

const NAMES: [&str; 8] = [
    "port",
    "auth",
    "log-enable",
    "acl-file",
    "cluster-name",
    "x",
    "",
    "a b",
];

/// What an entry says, without where it stands.
fn said(entries: &[Entry]) -> Vec<(&str, &str)> {
    entries
        .iter()
        .map(|entry| (&*entry.name, &*entry.value))
        .collect()
}

/// Any text is entries or an error with its line, and entries that are written again are read again.
pub fn qpidd_conf(seeded: &mut Seeded) {
    let mut text = String::new();
    for _ in 0..seeded.below(8) {
        let name = *seeded.pick(&NAMES);
        let value = seeded.text(20);
        match seeded.below(6) {
            0 => text += &format!("# {value}\n"),
            1 => text += &format!("  {name} = {value} # {value}\n"),
            2 => text += "\n",
            _ => text += &format!("{name}={value}\n"),
        }
    }
    if seeded.once_in(2) {
        damage(seeded, &mut text);
    }
    let lines = text.lines().count();
    let entries = match qpidd_conf::parse(&text) {
        Ok(entries) => entries,
        Err((line, _)) => return assert!((1..=lines).contains(&line), "line {line} of {lines}"),
    };
    let octets: usize = said(&entries)
        .iter()
        .map(|(name, value)| name.len() + value.len())
        .sum();
    assert!(octets <= text.len(), "{octets} of {}", text.len());
    let written: String = said(&entries)
        .iter()
        .map(|(name, value)| format!("{name}={value}\n"))
        .collect();
    let again = qpidd_conf::parse(&written).expect("what was written is read");
    assert_eq!(said(&again), said(&entries), "{text:?}");
}

fn toml_line(seeded: &mut Seeded) -> String {
    let name = *seeded.pick(&[
        "port", "auth", "cluster", "a-b", "\"a b\"", "a.b.c", "''", "€",
    ]);
    let value = match seeded.below(9) {
        0 => seeded.u32().to_string(),
        1 => format!("\"{}\"", seeded.text(9)),
        2 => format!("'{}'", seeded.text(9)),
        3 => "true".into(),
        4 => format!("[\"{}\", 5, 0x1f]", seeded.text(9)),
        5 => "1979-05-27T07:32:00Z".into(),
        6 => format!("{}.5e9", seeded.below(9)),
        7 => "{ b = 1, c = { d = 2 } }".into(),
        _ => "[[1]]".into(),
    };
    match seeded.below(5) {
        0 => format!("[{name}]\n"),
        1 => format!("[[{name}]]\n"),
        _ => format!("{name} = {value}\n"),
    }
}

/// Any text is entries or an error with its line, and entries that are written as TOML again are read again.
pub fn toml(seeded: &mut Seeded) {
    let lines = seeded.below(7);
    let mut text: String = (0..lines).map(|_| toml_line(seeded)).collect();
    if seeded.once_in(40) {
        text = format!("a{} = 1\n", ".a".repeat(seeded.below(2000)));
    }
    if seeded.once_in(2) {
        damage(seeded, &mut text);
    }
    toml_file::is_toml(&text);
    let entries = match toml_file::parse(&text) {
        Ok(entries) => entries,
        Err((line, _)) => {
            let lines = text.matches('\n').count() + 1;
            return assert!((1..=lines).contains(&line), "line {line} of {lines}");
        }
    };
    let quoted = |text: &str| {
        let escape = |c: char| format!("\\U{:08x}", u32::from(c));
        text.chars().map(escape).collect::<String>()
    };
    // A name may be there more than once, which in TOML is a list.
    let mut names: Vec<&str> = entries.iter().map(|entry| &*entry.name).collect();
    names.sort_unstable();
    names.dedup();
    let values = |entries: &[Entry], wanted: &str| -> Vec<String> {
        let of_name = entries.iter().filter(|entry| entry.name == wanted);
        of_name.map(|entry| entry.value.clone()).collect()
    };
    let line = |name: &&str| {
        let values = values(&entries, name);
        let values: Vec<_> = values
            .iter()
            .map(|value| format!("\"{}\"", quoted(value)))
            .collect();
        format!("\"{}\" = [{}]\n", quoted(name), values.join(", "))
    };
    let written: String = names.iter().map(line).collect();
    let again = toml_file::parse(&written).unwrap_or_else(|error| panic!("{error:?}: {written}"));
    for name in names {
        assert_eq!(
            values(&again, name),
            values(&entries, name),
            "{name} of {text:?}"
        );
    }
}
