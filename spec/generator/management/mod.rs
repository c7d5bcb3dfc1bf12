//! Makes `src/qmf/generated` from `spec/management.spec`.

pub mod model;
mod names;
pub mod parse;
mod render;
mod render_fields;
mod resolve;

use super::{GeneratedFile, formatted_files};

/// Every generated file, from the text of the description.
///
/// # Errors
/// The description does not parse or contradicts itself, or `rustfmt` cannot be run.
pub fn generate(description: &str) -> Result<Vec<GeneratedFile>, String> {
    let packages = parse::packages(description)?;
    resolve::check(&packages)?;
    formatted_files(render::files(&packages))
}
