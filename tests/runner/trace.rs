//! What happened, as a digest of all of it and the last lines as text. `FERRYMQ_TRACE` names a file
//! that takes all lines, to look into a seed that fails.

use std::collections::VecDeque;
use std::fmt::Arguments;
use std::fs::File;
use std::hash::Hasher;
use std::io::{BufWriter, Write};

use ferrymq::broker::digest::Digest;

/// Lines that are printed with a failure.
const LINES_KEPT: usize = 40;

/// See the module.
pub struct Trace {
    digest: Digest,
    lines: VecDeque<String>,
    file: Option<BufWriter<File>>,
}

impl Trace {
    /// Nothing has happened yet.
    pub fn new() -> Trace {
        let path = std::env::var_os("FERRYMQ_TRACE");
        let file = path.map(|path| File::create(path).expect("FERRYMQ_TRACE can be written"));
        Trace {
            digest: Digest::default(),
            lines: VecDeque::new(),
            file: file.map(BufWriter::new),
        }
    }

    /// Adds a line.
    pub fn line(&mut self, line: Arguments<'_>) {
        let line = line.to_string();
        self.digest.write(line.as_bytes());
        if let Some(file) = &mut self.file {
            writeln!(file, "{line}").expect("FERRYMQ_TRACE can be written");
        }
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
