//! The map in `docs/ARCHITECTURE.md` holds: which room imports which, what a room must not know,
//! how long files and functions get, and what has no place in the project at all.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Room and what it may import.
const ROOMS: [(&str, &[&str]); 15] = [
    ("wire", &[]),
    ("store", &[]),
    ("protocol", &["wire"]),
    ("qmf", &["wire"]),
    ("broker", &["qmf", "wire"]),
    ("adapter", &["protocol", "broker", "wire"]),
    ("cluster", &["broker", "store", "wire"]),
    ("management", &["broker", "qmf", "wire"]),
    ("security", &["wire", "broker"]),
    ("client", &["protocol", "wire", "security"]),
    ("federation", &["broker", "client", "wire"]),
    ("terminal", &[]),
    ("console", &["security", "terminal"]),
    ("load", &["client", "protocol", "wire"]),
    (
        "server",
        &[
            "wire",
            "store",
            "protocol",
            "broker",
            "adapter",
            "cluster",
            "management",
            "qmf",
            "security",
            "client",
            "federation",
            "terminal",
        ],
    ),
];

/// What a room must not mention, and why.
const BANNED: [(&str, &[&str], &str); 7] = [
    ("store", &["tokio"], "it knows no runtime"),
    (
        "cluster",
        &["tokio", "Instant::now", "SystemTime"],
        "it is told the time and by whom it is called",
    ),
    ("wire", SANS_IO, "bytes in, values out"),
    ("protocol", SANS_IO, "a state machine without I/O"),
    ("adapter", SANS_IO, "a translation without I/O"),
    ("broker", CORE, "members would come apart"),
    ("qmf", SANS_IO, "octets in, values out"),
];

const SANS_IO: &[&str] = &[
    "tokio",
    "std::net",
    "std::fs",
    "std::thread",
    "std::env",
    "Instant::now",
    "SystemTime",
    "std::process",
];

const CORE: &[&str] = &[
    "tokio",
    "std::net",
    "std::fs",
    "std::thread",
    "std::env",
    "Instant",
    "SystemTime",
    "std::process",
    "HashMap",
    "HashSet",
    "RandomState",
    "tracing",
    "println",
    " rand::",
];

/// Longer files are split; generated ones are as long as the protocol.
const FILE_LINES_MAX: usize = 850;

/// Longer functions are split.
const FUNCTION_LINES_MAX: usize = 75;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn files_under(directory: &Path, extensions: &[&str], found: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(directory) else {
        return;
    };
    for entry in entries.flatten() {
        let path = entry.path();
        let name = entry.file_name().to_string_lossy().into_owned();
        if path.is_dir() {
            if !matches!(name.as_str(), "target" | ".git" | ".cache") {
                files_under(&path, extensions, found);
            }
        } else if extensions.iter().any(|end| name.ends_with(end)) {
            found.push(path);
        }
    }
}

fn sources(directory: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    files_under(&root().join(directory), &[".rs"], &mut found);
    found.sort();
    let read = |path: PathBuf| {
        let text = fs::read_to_string(&path).expect("a source file is text");
        let name = path.strip_prefix(root()).expect("it lies under the root");
        (name.to_string_lossy().into_owned(), text)
    };
    found.into_iter().map(read).collect()
}

/// The text without comments: prose may name what code may not.
fn code(text: &str) -> String {
    let line = |line: &str| line.split("//").next().unwrap_or("").to_owned();
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}

/// Rooms that a piece of code imports by `crate::room`.
fn imports(code: &str) -> Vec<String> {
    let mut rooms = Vec::new();
    for (at, _) in code.match_indices("crate::") {
        let rest = &code[at + "crate::".len()..];
        match rest.strip_prefix('{') {
            Some(group) => {
                let group = &group[..group.find('}').unwrap_or(group.len())];
                rooms.extend(group.split(',').map(|item| first_word(item.trim())));
            }
            None => rooms.push(first_word(rest)),
        }
    }
    rooms
}

fn first_word(text: &str) -> String {
    text.chars()
        .take_while(|c| c.is_alphanumeric() || *c == '_')
        .collect()
}

fn room_of(file: &str) -> Option<&str> {
    file.strip_prefix("src/")?
        .split_once('/')
        .map(|(room, _)| room)
}

fn layer_faults(file: &str, text: &str) -> Vec<String> {
    let Some(room) = room_of(file) else {
        return Vec::new();
    };
    let Some((_, allowed)) = ROOMS.iter().find(|(name, _)| *name == room) else {
        return vec![format!("{file}: the room {room} is not on the map")];
    };
    let is_room = |name: &String| ROOMS.iter().any(|(room, _)| room == name);
    let code = code(text);
    let mut faults: Vec<String> = imports(&code)
        .into_iter()
        .filter(is_room)
        .filter(|name| name != room && !allowed.contains(&name.as_str()))
        .map(|name| format!("{file}: {room} may not import {name}"))
        .collect();
    for (_, words, why) in BANNED.iter().filter(|(name, _, _)| *name == room) {
        for word in words.iter().filter(|word| code.contains(**word)) {
            faults.push(format!("{file}: {room} may not mention {word}: {why}"));
        }
    }
    faults
}

#[test]
fn rooms_import_only_what_the_map_allows() {
    let sources = sources("src");
    assert!(sources.len() > 50, "the sources were not found");
    let faults: Vec<String> = sources
        .iter()
        .flat_map(|(file, text)| layer_faults(file, text))
        .collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn a_planted_import_clock_or_hash_map_is_caught() {
    let planted = [
        ("src/broker/x.rs", "use crate::protocol::Event;"),
        (
            "src/broker/x.rs",
            "use std::collections::{BTreeMap, HashMap};",
        ),
        ("src/broker/x.rs", "let now = std::time::Instant::now();"),
        ("src/wire/x.rs", "use crate::{broker, wire};"),
        ("src/protocol/x.rs", "tokio::spawn(async {});"),
        ("src/cellar/x.rs", ""),
    ];
    for (file, text) in planted {
        assert_eq!(layer_faults(file, text).len(), 1, "{file}: {text}");
    }
}

#[test]
fn the_map_on_paper_is_the_map_that_is_enforced() {
    let page = fs::read_to_string(root().join("docs/ARCHITECTURE.md")).expect("the map is there");
    let mut rows = BTreeMap::new();
    for line in page.lines().filter(|line| line.starts_with("| `")) {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let imports = cells[3]
            .split(',')
            .map(str::trim)
            .filter(|name| *name != "-");
        rows.insert(
            cells[1].trim_matches('`').to_owned(),
            imports.collect::<Vec<_>>(),
        );
    }
    let enforced: BTreeMap<_, _> = ROOMS
        .iter()
        .map(|(room, imports)| ((*room).to_owned(), imports.to_vec()))
        .collect();
    assert_eq!(rows, enforced);
}

/// Functions that are too long, by file and first line. The code is formatted, so a function ends
/// at the first closing brace that stands as far in as it does.
fn long_functions(file: &str, text: &str) -> Vec<String> {
    let lines: Vec<&str> = text.lines().collect();
    let mut faults = Vec::new();
    for (start, line) in lines.iter().enumerate() {
        let trimmed = line.trim_start();
        let is_function = trimmed.starts_with("fn ")
            || (trimmed.starts_with("pub") || trimmed.starts_with("async"))
                && trimmed.contains(" fn ")
                && trimmed.contains('(');
        if !is_function || trimmed.ends_with(';') {
            continue;
        }
        let end = format!("{}}}", &line[..line.len() - trimmed.len()]);
        let length = lines[start..]
            .iter()
            .position(|line| *line == end)
            .unwrap_or(0);
        if length > FUNCTION_LINES_MAX {
            faults.push(format!(
                "{file}:{}: a function of {length} lines",
                start + 1
            ));
        }
    }
    faults
}

#[test]
fn files_and_functions_stay_short() {
    let mut faults = Vec::new();
    for directory in ["src", "spec", "tests", "benches"] {
        for (file, text) in sources(directory) {
            if file.contains("/generated/") {
                continue;
            }
            let lines = text.lines().count();
            if lines > FILE_LINES_MAX {
                faults.push(format!("{file}: {lines} lines"));
            }
            faults.extend(long_functions(&file, &text));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn a_planted_long_function_is_caught() {
    let body = "        step();\n".repeat(FUNCTION_LINES_MAX + 1);
    let text = format!("impl A {{\n    pub fn long() {{\n{body}    }}\n}}\n");
    assert_eq!(long_functions("x.rs", &text).len(), 1);
}

/// What may stand nowhere in the code. Put together here, so that this file does not hold it.
fn banned_everywhere() -> Vec<String> {
    let halves = [
        ("todo", "!("),
        ("unimplemented", "!("),
        ("dbg", "!("),
        ("#[ign", "ore"),
        ("unsafe", " {"),
        ("/wo", "rk/"),
        ("/ro", "ot/"),
    ];
    halves.iter().map(|(a, b)| format!("{a}{b}")).collect()
}

#[test]
fn nothing_is_left_undone_or_tied_to_one_machine() {
    let mut paths = Vec::new();
    let extensions = [".rs", ".md", ".py", ".txt", ".spec", ".toml", "run", ".sh"];
    files_under(&root(), &extensions, &mut paths);
    let mut faults = Vec::new();
    for path in paths {
        let Ok(text) = fs::read_to_string(&path) else {
            continue;
        };
        for word in banned_everywhere()
            .iter()
            .filter(|word| text.contains(word.as_str()))
        {
            faults.push(format!("{}: {word}", path.display()));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn types_are_nouns_of_the_field() {
    let vague = ["Manager", "Handler", "Helper", "Util", "Impl", "Common"];
    let mut faults = Vec::new();
    for (file, text) in sources("src") {
        for line in text.lines() {
            let line = line
                .trim_start()
                .trim_start_matches("pub ")
                .trim_start_matches("(crate) ");
            let declares = ["struct ", "enum ", "trait ", "type "];
            let Some(name) = declares.iter().find_map(|word| line.strip_prefix(word)) else {
                continue;
            };
            let name = first_word(name);
            if vague.iter().any(|word| name.contains(word)) {
                faults.push(format!("{file}: {name}"));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// What may panic and is denied to all code that octets of a peer reach: see `src/lib.rs`.
const PANICS: [&str; 9] = [
    "clippy::expect_used",
    "clippy::get_unwrap",
    "clippy::indexing_slicing",
    "clippy::panic",
    "clippy::string_slice",
    "clippy::todo",
    "clippy::unimplemented",
    "clippy::unreachable",
    "clippy::unwrap_used",
];

/// Modules that may index or expect all the same, by the file that names them.
const MAY_PANIC: [(&str, &str); 10] = [
    ("src/broker/mod.rs", "pub mod blocks;"),
    ("src/broker/mod.rs", "pub mod chunks;"),
    ("src/broker/mod.rs", "pub mod facts;"),
    ("src/broker/mod.rs", "pub mod queue;"),
    ("src/broker/mod.rs", "pub mod slab;"),
    ("src/broker/mod.rs", "mod apply;"),
    ("src/cluster/mod.rs", "pub mod lockstep;"),
    ("src/cluster/raft/mod.rs", "pub mod seats;"),
    ("src/lib.rs", "pub mod load;"),
    ("src/lib.rs", "pub mod store;"),
];

/// What a file allows of [`PANICS`], as the line behind the attribute. One place may expect them, by its
/// reason; a whole module that expects them allows them.
fn panics_allowed(text: &str) -> Vec<&str> {
    let attributes = text
        .match_indices("allow(")
        .chain(text.match_indices("expect("));
    let allowed = attributes.filter_map(|(at, word)| {
        let (lints, behind) = text[at..].split_once(")]")?;
        let is_of_these = PANICS.iter().any(|lint| lints.contains(lint));
        let mut lines = behind.lines().map(str::trim);
        let item = lines.find(|line| !line.is_empty())?;
        let before = text[..at].trim_end();
        let is_method = before.ends_with('.');
        let is_whole = before.ends_with("#![") || item.split(' ').any(|word| word == "mod");
        let counts = word == "allow(" || is_whole && !is_method;
        (is_of_these && counts).then_some(item)
    });
    allowed.collect()
}

#[test]
fn what_may_panic_is_denied_wherever_octets_of_a_peer_come() {
    let mut found = Vec::new();
    let sources = sources("src");
    for (file, text) in &sources {
        let allowed = panics_allowed(text);
        found.extend(allowed.into_iter().map(|item| (file.as_str(), item)));
    }
    assert_eq!(found, MAY_PANIC);
    let (_, library) = sources
        .iter()
        .find(|(file, _)| file == "src/lib.rs")
        .expect("there is a library");
    let (_, denied) = library.split_once("#![deny(").expect("it denies");
    let (denied, _) = denied.split_once(")]").expect("a list ends");
    let denied: Vec<&str> = denied.split(',').map(str::trim).collect();
    assert_eq!(denied, PANICS);
}

#[test]
fn a_planted_allowance_is_caught() {
    let text = "#![allow(dead_code)]\n#[allow(\n    clippy::unwrap_used,\n    reason = \"x\"\n)]\nmod x;\n";
    assert_eq!(panics_allowed(text), ["mod x;"]);
    let attribute = |sign: &str| format!("{sign}[expect(clippy::panic, reason = \"x\")]\n");
    let whole = [
        attribute("#") + "pub(crate) mod x;\n",
        attribute("#!") + "use x::y;\n",
    ];
    assert_eq!(panics_allowed(&whole[0]), ["pub(crate) mod x;"]);
    assert_eq!(panics_allowed(&whole[1]), ["use x::y;"]);
    let one = attribute("#") + "fn x() {}\n";
    assert_eq!(panics_allowed(&one), [""; 0]);
}
