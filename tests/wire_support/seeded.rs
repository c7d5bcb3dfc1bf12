//! Numbers from a seed.

/// A source of numbers: the same seed gives the same numbers (SplitMix64).
pub struct Seeded(u64);

impl Seeded {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub fn u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub fn u32(&mut self) -> u32 {
        self.u64() as u32
    }

    pub fn octet(&mut self) -> u8 {
        self.u64() as u8
    }

    /// A number below `bound`.
    pub fn below(&mut self, bound: usize) -> usize {
        (self.u64() % bound as u64) as usize
    }

    /// True once in `times`.
    pub fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    pub fn pick<'a, T>(&mut self, choices: &'a [T]) -> &'a T {
        &choices[self.below(choices.len())]
    }

    /// Fewer than `bound` octets.
    pub fn bytes(&mut self, bound: usize) -> Vec<u8> {
        let length = self.below(bound);
        (0..length).map(|_| self.octet()).collect()
    }

    /// Fewer than `bound` characters, some of more than one octet.
    pub fn text(&mut self, bound: usize) -> String {
        let length = self.below(bound);
        let characters: Vec<char> = "abcdefXYZ0189.-_#* äß€漢".chars().collect();
        (0..length).map(|_| *self.pick(&characters)).collect()
    }

    /// Flips, cuts, doubles or overwrites a few octets.
    pub fn damage(&mut self, bytes: &mut Vec<u8>) {
        for _ in 0..=self.below(4) {
            if bytes.is_empty() {
                bytes.push(self.octet());
                continue;
            }
            let at = self.below(bytes.len());
            match self.below(6) {
                0 => bytes[at] ^= 1 << self.below(8),
                1 => bytes[at] = *self.pick(&[0, 1, 0x7f, 0x80, 0xff]),
                2 => bytes.truncate(at),
                3 => bytes.insert(at, self.octet()),
                4 => drop(bytes.remove(at)),
                _ => {
                    let end = (at + 4).min(bytes.len());
                    bytes[at..end].fill(0xff);
                }
            }
        }
    }
}
