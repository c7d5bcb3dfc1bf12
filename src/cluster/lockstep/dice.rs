//! Numbers from a seed: the same seed gives the same numbers, everywhere and always.

/// A small generator (SplitMix64). It decides faults and workloads; it keeps no secrets.
#[derive(Clone, Debug)]
pub struct Dice(u64);

impl Dice {
    /// Begins with `seed`.
    pub fn new(seed: u64) -> Dice {
        Dice(seed)
    }

    /// Any number.
    pub fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below `end`, which is not 0. The bias of the remainder is of no matter here.
    pub fn below(&mut self, end: u64) -> u64 {
        self.roll() % end.max(1)
    }

    /// True that many times in a thousand.
    pub fn chance(&mut self, per_mille: u32) -> bool {
        self.below(1000) < u64::from(per_mille)
    }

    /// One of some.
    pub fn pick<'a, T>(&mut self, some: &'a [T]) -> Option<&'a T> {
        match some.len() {
            0 => None,
            len => some.get(self.below(len as u64) as usize),
        }
    }
}
