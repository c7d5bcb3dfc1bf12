//! Makes `src/wire/generated` from `spec/amqp-0-10.spec`, and `src/qmf/generated` from
//! `spec/management.spec`.
//!
//! Only tests compile this: `tests/spec_staleness.rs` compares what it renders with what is
//! committed, and with `UPDATE=1` writes it.

pub mod management;
pub mod model;
mod names;
pub mod parse;
mod render;
mod render_fields;
mod render_tables;
pub mod resolve;

use std::io::Write;
use std::process::{Command, Stdio};

/// A generated file: its name and its text.
pub struct GeneratedFile {
    /// Name within the folder.
    pub name: String,
    /// Text as rustfmt leaves it.
    pub text: String,
}

/// Every generated file, from the text of the description.
///
/// # Errors
/// The description does not parse or contradicts itself, or `rustfmt` cannot be run.
pub fn generate(description: &str) -> Result<Vec<GeneratedFile>, String> {
    let description = parse::description(description)?;
    resolve::check(&description)?;
    formatted_files(render::files(&description))
}

/// Files as rustfmt leaves them.
fn formatted_files(files: Vec<(String, String)>) -> Result<Vec<GeneratedFile>, String> {
    files
        .into_iter()
        .map(|(name, text)| {
            Ok(GeneratedFile {
                text: formatted(&text, &name)?,
                name,
            })
        })
        .collect()
}

/// Runs `rustfmt` of the toolchain with the project's settings over `text`.
fn formatted(text: &str, name: &str) -> Result<String, String> {
    let failed = |error: &dyn std::fmt::Display| format!("rustfmt on {name}: {error}");
    let mut child = Command::new("rustfmt")
        .args(["--edition", "2024", "--emit", "stdout", "--config-path"])
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/rustfmt.toml"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| failed(&error))?;
    // The input is smaller than what rustfmt buffers before it writes: it reads to the end first.
    child
        .stdin
        .take()
        .ok_or_else(|| failed(&"no stdin"))?
        .write_all(text.as_bytes())
        .map_err(|error| failed(&error))?;
    let output = child.wait_with_output().map_err(|error| failed(&error))?;
    if !output.status.success() {
        return Err(failed(&String::from_utf8_lossy(&output.stderr)));
    }
    String::from_utf8(output.stdout).map_err(|error| failed(&error))
}
