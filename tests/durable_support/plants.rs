//! Faults planted in the broker, and the tests that find them: a test that finds nothing proves
//! nothing.

use std::io::Write;
use std::process::Command;

/// The variable by which a broker plants a fault in itself.
const PLANT: &str = "FERRYMQ_PLANT";

/// Says, when it is `all`, that the faults that take long to find are planted, too.
const WHICH: &str = "FERRYMQ_PLANTS";

/// A fault, and how this test is run to find it.
pub struct Row {
    pub plant: &'static str,
    /// What finds it.
    pub by: &'static str,
    /// Arguments and environment of this test.
    pub arguments: &'static [&'static str],
    pub environment: &'static [(&'static str, &'static str)],
    /// What the test says, one or the other, when it has found it and nothing else.
    pub says: &'static [&'static str],
    /// Whether that takes long.
    pub is_long: bool,
}

/// Whether a fault is planted in this process: then none is planted by it.
pub fn is_planted() -> bool {
    std::env::var_os(PLANT).is_some()
}

fn tell(text: &str) {
    // The lines are wanted when all went well, too: tests keep what is printed to themselves then.
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// Runs this test with each fault planted. Gives how many were found.
///
/// # Errors
/// One was not.
pub fn find(rows: &[Row]) -> Result<usize, String> {
    let all = std::env::var(WHICH).is_ok_and(|which| which == "all");
    let mut found = 0;
    for row in rows {
        if row.is_long && !all {
            tell(&format!("plant {}: not tried, {WHICH}=all does", row.plant));
            continue;
        }
        let this = std::env::current_exe().map_err(|error| error.to_string())?;
        let output = Command::new(this)
            .args(row.arguments)
            .envs(row.environment.iter().copied())
            .env(PLANT, row.plant)
            .output()
            .map_err(|error| error.to_string())?;
        let text = [output.stdout, output.stderr].concat();
        let text = String::from_utf8_lossy(&text);
        if output.status.success() {
            return Err(format!("plant {}: not found by {}", row.plant, row.by));
        }
        let Some(line) = text
            .lines()
            .find(|line| row.says.iter().any(|says| line.contains(says)))
        else {
            return Err(format!(
                "plant {}: {} failed, and not with {:?}:\n{text}",
                row.plant, row.by, row.says
            ));
        };
        let line: String = line.chars().take(150).collect();
        tell(&format!("plant {}: found by {}: {line}", row.plant, row.by));
        found += 1;
    }
    Ok(found)
}
