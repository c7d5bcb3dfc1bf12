//! Once nothing goes wrong any more, the group is whole again in time, and does what it is asked.

use ferrymq::cluster::Millis;

/// Simulated milliseconds in which a group must be whole once nothing goes wrong any more: some
/// elections, and for one that joins a snapshot that is sent twice.
const HEALED_MS: u64 = 30_000;

/// Simulated milliseconds in which a group that is whole confirms what it is asked.
pub const CONFIRMED_MS: u64 = 2_000;

/// See the module.
#[derive(Debug, Default)]
pub struct Progress {
    until: Option<Millis>,
    /// The longest that it took, in simulated milliseconds.
    pub longest_ms: u64,
}

impl Progress {
    /// Nothing goes wrong from now on.
    pub fn begins(&mut self, now: Millis) {
        self.until = Some(Millis(now.0 + HEALED_MS));
    }

    /// It is not whole yet.
    pub fn waits(&self, now: Millis) -> Result<(), String> {
        match self.until.is_some_and(|until| now > until) {
            true => Err("does not heal".to_owned()),
            false => Ok(()),
        }
    }

    /// It is whole.
    pub fn is_whole(&mut self, now: Millis) {
        if let Some(until) = self.until.take() {
            let took = now.0 + HEALED_MS - until.0;
            self.longest_ms = self.longest_ms.max(took);
        }
    }

    /// It was asked something while whole, so long ago, and has not answered.
    pub fn unanswered(took_ms: u64) -> Result<(), String> {
        match took_ms > CONFIRMED_MS {
            true => Err(format!(
                "was never answered, though all is well, in {took_ms} ms"
            )),
            false => Ok(()),
        }
    }
}
