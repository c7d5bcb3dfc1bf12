//! How a group wakes the owner of an outbox: once, and only when it sleeps.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Wake, Waker};

/// Remembers that it was rung, and wakes its task if that sleeps. A task that is awake when it is
/// rung, by its own proposal mostly, is not woken again for it.
#[derive(Debug)]
pub struct Doorbell {
    task: Waker,
    is_rung: AtomicBool,
    is_asleep: AtomicBool,
}

impl Doorbell {
    /// The bell of a task.
    pub fn new(task: Waker) -> Arc<Doorbell> {
        Arc::new(Doorbell {
            task,
            is_rung: AtomicBool::new(false),
            is_asleep: AtomicBool::new(false),
        })
    }

    /// Whether it was rung since this was last asked. Whoever asks looks into the outbox after.
    pub fn take(&self) -> bool {
        self.is_rung.swap(false, Ordering::AcqRel)
    }

    /// Whether it was rung since [`take`](Doorbell::take) was last asked.
    pub fn is_rung(&self) -> bool {
        self.is_rung.load(Ordering::SeqCst)
    }

    /// The task is about to sleep. False when it may not, because the bell has been rung.
    pub fn sleep(&self) -> bool {
        self.is_asleep.store(true, Ordering::SeqCst);
        if self.is_rung.load(Ordering::SeqCst) {
            self.is_asleep.store(false, Ordering::SeqCst);
            return false;
        }
        true
    }

    /// The task is awake, whoever woke it.
    pub fn awake(&self) {
        self.is_asleep.store(false, Ordering::SeqCst);
    }
}

impl Wake for Doorbell {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.is_rung.store(true, Ordering::SeqCst);
        if self.is_asleep.swap(false, Ordering::SeqCst) {
            self.task.wake_by_ref();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default)]
    struct Count(AtomicBool);

    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            assert!(!self.0.swap(true, Ordering::SeqCst), "woken once");
        }
    }

    #[test]
    fn an_awake_owner_is_not_woken_and_a_sleeping_one_once() {
        let count = Arc::new(Count::default());
        let bell = Doorbell::new(Waker::from(count.clone()));
        let waker = Waker::from(bell.clone());
        waker.wake_by_ref();
        assert!(!count.0.load(Ordering::SeqCst));
        assert!(!bell.sleep(), "it was rung before");
        assert!(bell.take() && !bell.take());
        assert!(bell.sleep());
        waker.wake_by_ref();
        waker.wake_by_ref();
        assert!(count.0.load(Ordering::SeqCst));
        assert!(bell.take());
    }
}
