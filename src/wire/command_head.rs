//! What can be told of a command whose fields make no sense.

/// The fixed front of a command segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommandHead {
    /// Class code, known or not.
    pub class: u8,
    /// Code of the command within the class, known or not.
    pub code: u8,
    /// Whether the session header asks for completion at once; `false` if it is cut off.
    pub sync: bool,
}

impl CommandHead {
    /// The front of a command segment; `None` if not even both codes are there. An exception names
    /// the command by these codes when [`Command::decode`](super::Command::decode) has failed.
    pub fn of(segment: &[u8]) -> Option<Self> {
        let (&[class, code], rest) = segment.split_first_chunk()?;
        let sync = matches!(rest, &[size, flags, ..] if size > 0 && flags & 1 != 0);
        Some(Self { class, code, sync })
    }
}
