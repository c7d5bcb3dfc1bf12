//! The task that calls `Group::tick` when it is due.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use super::clock::Clock;
use crate::cluster::Group;

/// Does the sequencer's duty of one member's seat until the group has come apart; says how.
pub async fn run(group: Arc<dyn Group>, clock: Clock) -> String {
    let task = poll_fn(|context| Poll::Ready(context.waker().clone())).await;
    group.set_sequencer_waker(task);
    let mut sleep = pin!(tokio::time::sleep_until(clock.instant(0)));
    loop {
        let now = clock.millis();
        let next = group.tick(now);
        if let Some(failure) = group.failure() {
            return failure;
        }
        if next.is_some_and(|next| next <= now) {
            tokio::task::yield_now().await;
            continue;
        }
        if let Some(next) = next {
            sleep.as_mut().reset(clock.instant(next.0));
        }
        // Whatever wakes this task, be it the time or the group, it looks again.
        let mut is_first = true;
        poll_fn(|context| {
            let is_due = next.is_some() && sleep.as_mut().poll(context).is_ready();
            match is_due || !std::mem::take(&mut is_first) {
                true => Poll::Ready(()),
                false => Poll::Pending,
            }
        })
        .await;
    }
}
