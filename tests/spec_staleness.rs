//! What is generated from `spec/` is what is committed. `UPDATE=1` rewrites it.

#[path = "../spec/generator/mod.rs"]
mod generator;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

#[test]
fn generated_code_is_what_the_description_says() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = root.join("src/wire/generated");
    let description = fs::read_to_string(root.join("spec/amqp-0-10.spec")).unwrap();
    let files = generator::generate(&description).unwrap();
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
