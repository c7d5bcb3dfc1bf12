//! What connections hold that are not open, all of them together: nobody knows yet whose they are, so
//! that they get little, however many they are.
//!
//! ```text
//!   one of them   [ free | counted ......... ]  UNAUTHENTICATED_BYTES_MAX at most
//!                          | | |
//!   all           [ counted | counted | ... ]   STRANGERS_BYTES_MAX at most
//! ```
//!
//! Who says as much as clients say gets along with what is free: a pool that others have filled keeps
//! nobody out.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::limits::{STRANGER_BYTES_FREE, STRANGERS_BYTES_MAX};
use crate::protocol::limits::UNAUTHENTICATED_BYTES_MAX;

/// Octets that are counted of all of them.
#[derive(Debug, Default)]
pub struct Strangers(AtomicUsize);

/// One of them. What is counted of it is given back when this is dropped.
#[derive(Debug)]
pub struct Stranger {
    all: Arc<Strangers>,
    /// Octets, without what is free.
    counted: usize,
}

impl Strangers {
    /// One more of them, which holds nothing yet.
    pub fn one(all: &Arc<Strangers>) -> Stranger {
        let all = all.clone();
        Stranger { all, counted: 0 }
    }
}

impl Stranger {
    /// It holds so many octets now. False: that is more than there is for it, and it is not counted.
    pub fn holds(&mut self, bytes: usize) -> bool {
        if bytes > UNAUTHENTICATED_BYTES_MAX {
            return false;
        }
        let counted = bytes.saturating_sub(STRANGER_BYTES_FREE);
        let all = &self.all.0;
        if counted > self.counted {
            let more = counted - self.counted;
            if all.fetch_add(more, Ordering::Relaxed) + more > STRANGERS_BYTES_MAX {
                all.fetch_sub(more, Ordering::Relaxed);
                return false;
            }
        } else {
            all.fetch_sub(self.counted - counted, Ordering::Relaxed);
        }
        self.counted = counted;
        true
    }
}

impl Drop for Stranger {
    fn drop(&mut self) {
        self.all.0.fetch_sub(self.counted, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_of_them_hold_no_more_than_the_pool_and_those_with_little_are_not_asked() {
        let all = Arc::default();
        let mut greedy = Vec::new();
        let mut one = Strangers::one(&all);
        while one.holds(UNAUTHENTICATED_BYTES_MAX) {
            greedy.push(one);
            one = Strangers::one(&all);
        }
        let most = UNAUTHENTICATED_BYTES_MAX - STRANGER_BYTES_FREE;
        assert_eq!(greedy.len(), STRANGERS_BYTES_MAX / most);
        assert!(one.holds(STRANGER_BYTES_FREE));
        // What one gives back another may have.
        assert!(greedy[0].holds(0));
        assert!(one.holds(UNAUTHENTICATED_BYTES_MAX));
        drop((one, greedy));
        assert_eq!(all.0.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn one_of_them_holds_no_more_than_its_bound() {
        let all = Arc::default();
        let mut one = Strangers::one(&all);
        assert!(!one.holds(UNAUTHENTICATED_BYTES_MAX + 1));
        assert!(one.holds(UNAUTHENTICATED_BYTES_MAX));
    }
}
