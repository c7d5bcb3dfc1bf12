//! Ranges of octets within a command.

/// Inclusive ranges of octet offsets within a command's bytes (`byte-ranges`), as they came.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct ByteRanges(pub Vec<(u64, u64)>);

impl ByteRanges {
    /// The ranges in `bytes`, 16 octets each; `None` if the last one is cut off.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (ranges, left) = bytes.as_chunks::<16>();
        if !left.is_empty() {
            return None;
        }
        let number = |octets: &[u8]| octets.iter().fold(0u64, |sum, &b| sum << 8 | u64::from(b));
        Some(Self(
            ranges
                .iter()
                .map(|r| (number(&r[..8]), number(&r[8..])))
                .collect(),
        ))
    }
}
