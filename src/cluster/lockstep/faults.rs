//! What goes wrong on the way, how often, and how often it did.

use super::dice::Dice;

/// How often what goes wrong, in a thousand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Faults {
    /// A proposal is lost.
    pub drops: u32,
    /// A proposal arrives twice.
    pub doublings: u32,
    /// Something on its way takes longer than no time.
    pub delays: u32,
    /// How long it takes then at most, in milliseconds.
    pub delay_ms_max: u64,
    /// After an entry another member becomes the sequencer.
    pub sequencer_changes: u32,
}

impl Faults {
    /// What a test suite can bear: it goes through some ten thousands of round trips, so most take
    /// no time and one in some tens is disturbed.
    pub const USUAL: Faults = Faults {
        drops: 15,
        doublings: 25,
        delays: 250,
        delay_ms_max: 3,
        sequencer_changes: 5,
    };

    /// A network at its worst that still lets something through.
    pub const HEAVY: Faults = Faults {
        drops: 100,
        doublings: 100,
        delays: 700,
        delay_ms_max: 20,
        sequencer_changes: 10,
    };

    /// Nothing goes wrong and nothing takes time.
    pub const NONE: Faults = Faults {
        drops: 0,
        doublings: 0,
        delays: 0,
        delay_ms_max: 0,
        sequencer_changes: 0,
    };

    /// How long something is on its way, in milliseconds.
    pub(super) fn delay(&self, dice: &mut Dice) -> u64 {
        match dice.chance(self.delays) {
            true => 1 + dice.below(self.delay_ms_max),
            false => 0,
        }
    }
}

/// How often what happened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Entries ordered.
    pub entries: u64,
    /// Commands in them.
    pub commands: u64,
    /// Entries with which the sequencer lets work go on that was too much for one.
    pub continuations: u64,
    /// Comparisons of digests that found them equal.
    pub comparisons: u64,
    /// Proposals lost, those to a former sequencer too.
    pub drops: u64,
    /// Proposals that the network sent twice.
    pub doublings: u64,
    /// Proposals that arrived behind a later one of the same member.
    pub reorderings: u64,
    /// Proposals that their member sent again.
    pub resendings: u64,
    /// Changes of the sequencer.
    pub sequencer_changes: u64,
    /// Ticks and continuations of a former sequencer that nobody heeded.
    pub stale_ticks: u64,
    /// Members whose core was replaced by what its own snapshot gave.
    pub replacements: u64,
}

impl Tally {
    /// The line that a run ends with.
    pub fn line(&self, seed: u64) -> String {
        format!(
            "lockstep: {} entries, {} digest comparisons equal, drops={} doublings={} \
             reorderings={} sequencer changes={} replacements={} seed={seed}",
            self.entries,
            self.comparisons,
            self.drops,
            self.doublings,
            self.reorderings,
            self.sequencer_changes,
            self.replacements,
        )
    }
}
