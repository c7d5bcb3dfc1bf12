//! What happened, as a digest of all of it and the last lines as text.

use std::collections::VecDeque;
use std::fmt::Arguments;
use std::hash::Hasher;

use ferrymq::broker::digest::Digest;

const LINES_KEPT: usize = 80;

/// See the module.
#[derive(Default)]
pub struct Trace {
    digest: Digest,
    lines: VecDeque<String>,
}

impl Trace {
    /// Adds a line.
    pub fn line(&mut self, line: Arguments<'_>) {
        let line = line.to_string();
        self.digest.write(line.as_bytes());
        if self.lines.len() == LINES_KEPT {
            self.lines.pop_front();
        }
        self.lines.push_back(line);
    }

    /// Equal for runs in which the same happened.
    pub fn digest(&self) -> u64 {
        self.digest.finish()
    }

    /// The last lines.
    pub fn tail(&self) -> String {
        let lines: Vec<&str> = self.lines.iter().map(String::as_str).collect();
        lines.join("\n")
    }
}
