//! What is generated from `spec/` is what is committed. `UPDATE=1` rewrites it.

#[path = "../spec/generator/mod.rs"]
mod generator;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

fn described(name: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    fs::read_to_string(root.join("spec").join(name)).unwrap()
}

#[test]
fn generated_code_is_what_the_description_says() {
    let files = generator::generate(&described("amqp-0-10.spec")).unwrap();
    compare("src/wire/generated", files);
}

#[test]
fn the_schema_of_management_is_what_the_description_says() {
    let files = generator::management::generate(&described("management.spec")).unwrap();
    compare("src/qmf/generated", files);
}

/// Compares what was generated with what is in a folder, or writes it there.
fn compare(folder: &str, files: Vec<generator::GeneratedFile>) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    if std::env::var_os("UPDATE").is_some() {
        fs::create_dir_all(&folder).unwrap();
        for file in &files {
            fs::write(folder.join(&file.name), &file.text).unwrap();
        }
    }
    for file in &files {
        let committed = fs::read_to_string(folder.join(&file.name)).unwrap_or_default();
        assert!(
            committed == file.text,
            "{} is stale: UPDATE=1 cargo test --test spec_staleness",
            file.name
        );
    }
    let expected: BTreeSet<_> = files.iter().map(|file| file.name.clone()).collect();
    let found: BTreeSet<_> = fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert_eq!(found, expected, "files in {}", folder.display());
}

#[test]
fn a_description_that_makes_no_sense_is_refused_by_line() {
    let refusal = |text: &str| generator::generate(text).err().unwrap();
    let line = |number| format!("the description makes no sense from line {number}");
    assert_eq!(
        refusal("types {\n void 0xf0 fixed 0\n}\nclass x {"),
        line(4)
    );
    let text = "class 1 x to server! {\n control 1 a to server! {\n n: bit\n m bit\n }\n}";
    assert_eq!(refusal(text), line(4));
}

#[test]
fn a_description_that_names_nothing_is_refused() {
    let text = "types { bit 0xf1 fixed 0 }\n\
                class 1 x to server! { control 1 a to server! { n: bite } }";
    assert_eq!(
        generator::generate(text).err().unwrap(),
        "x.a.n: nothing is called bite"
    );
}

#[test]
fn a_schema_that_contradicts_itself_is_refused() {
    let refusal = |text: &str| generator::management::generate(text).err().unwrap();
    let class = |rows: &str| format!("package p {{ class c {{ {rows} }} }}");
    assert_eq!(
        refusal("package p {\n class c {\n a: sstr\n b: string\n } }"),
        "the description makes no sense from line 4"
    );
    let refused = [
        (class("a: sstr a: bool"), "p.c: a comes twice"),
        (class("a: hilo32"), "p.c.a: hilo32 is for statistics"),
        (class("a: objId -> d"), "p.c.a: nothing is called p:d"),
        (
            class("a: objId"),
            "p.c.a: an objId, and nothing else, refers to a class",
        ),
        (
            class("a: sstr RC optional"),
            "p.c.a: what is given at creation is not optional",
        ),
        (
            class("statistics { a: bool RW }"),
            "p.c.a: said of a statistic",
        ),
        (
            "package p { event e loud () }".to_owned(),
            "p.e: no severity is loud",
        ),
    ];
    for (text, why) in refused {
        assert_eq!(refusal(&text), why);
    }
}
