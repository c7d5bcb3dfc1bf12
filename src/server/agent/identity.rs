//! Who the broker is to those who manage it, over its starts.

use std::path::Path;

use super::clock;
use crate::broker::ids::MemberId;
use crate::qmf::Identity;

/// The file in the data directory that has the broker's identity and counts its starts. Its name and
/// form are qpidd's, whose directory may be taken over.
const FILE: &str = ".mbrokerdata";

/// The epoch of the agent of a group: what is in the group outlives the starts of its members.
const GROUP_EPOCH: u16 = 1;

/// The broker's identity, and which of its starts this is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Boot {
    uuid: [u8; 16],
    sequence: u16,
}

impl Boot {
    /// Of a broker that keeps nothing.
    pub fn unkept(random: impl Fn() -> u64) -> Boot {
        Boot {
            uuid: version_4(random(), random()),
            sequence: 1,
        }
    }

    /// Of a broker with this data directory, where the start is counted.
    ///
    /// # Errors
    /// The file cannot be read, or cannot be written.
    pub fn kept(directory: &Path) -> Result<Boot, String> {
        let path = directory.join(FILE);
        let wrong = |error: std::io::Error| format!("{}: {error}", path.display());
        let before = match std::fs::read_to_string(&path) {
            Ok(text) => parse(&text).ok_or_else(|| {
                format!(
                    "{}: neither an identity nor a number of starts",
                    path.display()
                )
            })?,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Boot {
                sequence: 0,
                ..Boot::unkept(clock::random)
            },
            Err(error) => return Err(wrong(error)),
        };
        let boot = Boot {
            // In version 1 it has 12 bits.
            sequence: before.sequence % 4095 + 1,
            ..before
        };
        let text = format!("{} {}\n", boot.identity().instance(), boot.sequence);
        let new = directory.join(format!("{FILE}.new"));
        std::fs::write(&new, text).map_err(wrong)?;
        std::fs::rename(&new, &path).map_err(wrong)?;
        Ok(boot)
    }

    /// As the agent of this broker alone.
    pub fn identity(&self) -> Identity {
        Identity::new(self.uuid, self.sequence)
    }

    /// As the agent of a broker alone whose agent is called so.
    pub fn identity_of(&self, name: &str) -> Identity {
        Identity::new(self.uuid_of(name), self.sequence)
    }

    /// As the agent of a member of a group whose agents are called so. To consoles they are one agent,
    /// which does not start anew when one of its members does: whichever of them answers names objects
    /// with the same epoch. Numbers of objects each gives out for itself, as long as it runs.
    pub fn identity_in_group(&self, name: &str, member: MemberId) -> Identity {
        let folded = (0..64).step_by(12).map(|bits| member.0 >> bits);
        let folded = folded.fold(0, |sum, bits| sum ^ bits) as u16;
        let numbering = folded.wrapping_add(self.sequence);
        Identity::of_several(self.uuid_of(name), GROUP_EPOCH, numbering)
    }

    fn uuid_of(&self, name: &str) -> [u8; 16] {
        let uuid = name.rsplit(':').next().and_then(uuid);
        uuid.unwrap_or(self.uuid)
    }
}

fn parse(text: &str) -> Option<Boot> {
    let mut words = text.split_whitespace();
    let uuid = uuid(words.next()?)?;
    let sequence: u32 = words.next()?.parse().ok()?;
    Some(Boot {
        uuid,
        sequence: u16::try_from(sequence % 4096).ok()?,
    })
}

fn uuid(text: &str) -> Option<[u8; 16]> {
    let digits: String = text.chars().filter(|c| *c != '-').collect();
    let value = u128::from_str_radix(&digits, 16).ok()?;
    (digits.len() == 32).then(|| value.to_be_bytes())
}

fn version_4(high: u64, low: u64) -> [u8; 16] {
    let high = high & !0xf000 | 0x4000;
    let low = low & (u64::MAX >> 2) | 1 << 63;
    (u128::from(high) << 64 | u128::from(low)).to_be_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_qpidd_is_read() {
        let text = "0f5a2a5e-3b1c-4f5e-9a3d-6f0c1d2e3f40 7 10\n";
        let boot = parse(text).expect("an identity and a number");
        assert_eq!(boot.sequence, 7);
        assert_eq!(Some(boot.identity().instance()), text.get(..36));
    }

    #[test]
    fn agents_of_a_group_have_one_epoch_and_numbers_of_their_own_in_each_life() {
        let name = "apache.org:qpidd:0f5a2a5e-3b1c-4f5e-9a3d-6f0c1d2e3f40";
        let boot = |sequence| Boot {
            sequence,
            ..Boot::unkept(|| 7)
        };
        let of = |sequence, member| boot(sequence).identity_in_group(name, MemberId(member));
        let (one, other, again) = (of(3, 0x123_4567), of(9, 0x765_4321), of(4, 0x123_4567));
        let alike = |identity: &Identity| (identity.name().clone(), identity.epoch);
        assert_eq!(alike(&one), alike(&other));
        assert_eq!(alike(&one), alike(&again));
        assert_eq!(one.name().as_str(), name);
        assert_ne!(one.numbering, other.numbering);
        assert_ne!(one.numbering, again.numbering);
    }

    #[test]
    fn what_is_no_identity_is_not_taken_for_one() {
        for text in ["", "x 1", "0f5a2a5e-3b1c-4f5e-9a3d-6f0c1d2e3f4 1", "0f5a"] {
            assert_eq!(parse(text), None, "{text:?}");
        }
    }
}
