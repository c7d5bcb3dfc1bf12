//! To how many queues messages went of late: what tells whoever proposes how many commands to put into the
//! next batch. Not state: members may differ in it, and no reply depends on it.

use std::hash::{Hash, Hasher};

use super::encoding::{Decoder, Encoder, EncodingError, Record};
use super::limits;

/// Which part of what is known is forgotten with every batch: many are small beside those that go to many
/// queues.
const FORGOTTEN_PART: u64 = 64;

/// See the module.
#[derive(Clone, Copy, Debug, Default)]
pub struct Width {
    /// Places in queues for each command, of the batch that had most; a little less with every batch, so that
    /// it is forgotten within some hundred.
    places: u64,
}

impl Width {
    /// A batch of so many commands came to so many places in queues.
    #[inline]
    pub fn note(&mut self, commands: u64, places: u64) {
        self.places -= self.places.div_ceil(FORGOTTEN_PART);
        if places > commands {
            self.places = self.places.max(places / commands.max(1));
        }
    }

    /// Commands of the next batch at most, if messages go on to go to as many queues: one at least.
    #[inline]
    pub fn commands_max(self) -> usize {
        match self.places {
            0 | 1 => limits::BATCH_COMMANDS_MAX,
            places => {
                let most =
                    limits::BATCH_PLACES_USUAL / usize::try_from(places).unwrap_or(usize::MAX);
                most.clamp(1, limits::BATCH_COMMANDS_MAX)
            }
        }
    }
}

impl Hash for Width {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

/// A core that is decoded looks anew.
impl Record for Width {
    fn encode(&self, _: &mut Encoder) {}
    fn decode(_: &mut Decoder<'_>) -> Result<Self, EncodingError> {
        Ok(Width::default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_to_one_queue_each_fill_a_batch() {
        let mut width = Width::default();
        width.note(256, 256);
        assert_eq!(width.commands_max(), limits::BATCH_COMMANDS_MAX);
    }

    #[test]
    fn messages_to_many_queues_make_the_next_batch_small_and_those_behind_it_larger_again() {
        let mut width = Width::default();
        width.note(10, 20_000);
        assert_eq!(width.commands_max(), limits::BATCH_PLACES_USUAL / 2000);
        let mut widths = Vec::new();
        while width.commands_max() < limits::BATCH_COMMANDS_MAX {
            width.note(1, 1);
            widths.push(width.commands_max());
        }
        assert!(widths.is_sorted() && widths.len() < 500, "{widths:?}");
    }

    #[test]
    fn one_command_that_comes_to_more_places_than_a_batch_has_stands_alone() {
        let mut width = Width::default();
        width.note(1, u64::MAX);
        assert_eq!(width.commands_max(), 1);
    }
}
