//! Stores of qpidd, which nobody here can read.

use std::path::Path;

/// Folders that qpidd's stores make in the data directory, and whose they are.
const FOLDERS: [(&str, &str); 2] = [("qls", "linearstore"), ("rhm", "legacystore")];

/// Looks whether a directory holds a store of qpidd.
///
/// # Errors
/// It does: what is in it would be left behind without a word.
pub fn refuse(directory: &Path) -> Result<(), String> {
    for (folder, store) in FOLDERS {
        let path = directory.join(folder);
        // What cannot be looked at may be one: better not to start than to start empty.
        let is_there = path
            .try_exists()
            .map_err(|error| format!("{}: {error}", path.display()))?;
        if is_there {
            return Err(format!(
                "{} is a store of qpidd ({store}), and messages, queues, exchanges and bindings in it \
                 cannot be read here: there is no conversion. Either let the old broker give its messages \
                 away first (drain its queues, or route them here), or say --data-dir with another \
                 directory; when nothing in {folder} is needed any more, move it away",
                path.display()
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_stores_are_known_and_nothing_else_is() {
        let directory = std::env::temp_dir().join(format!("ferrymq-stores-{}", std::process::id()));
        std::fs::create_dir_all(directory.join("journal")).expect("it is made");
        assert_eq!(refuse(&directory), Ok(()));
        assert_eq!(refuse(&directory.join("missing")), Ok(()));
        for (folder, store) in FOLDERS {
            std::fs::create_dir(directory.join(folder)).expect("it is made");
            let why = refuse(&directory).expect_err(folder);
            assert!(why.contains(store) && why.contains("--data-dir"), "{why}");
            std::fs::remove_dir(directory.join(folder)).expect("it is there");
        }
        std::fs::remove_dir_all(&directory).expect("it is there");
    }
}
