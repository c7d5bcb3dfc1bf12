//! Bodies of deliveries that are not in memory.

use super::Open;
use crate::broker::Effect;
use crate::cluster::Group;

/// Fetches the bodies of deliveries that are not in memory. A message that rested for this process
/// only and comes back damaged is lost, and its session fails.
///
/// # Errors
/// A message that has to survive cannot be read.
pub(super) fn fetch_bodies(group: &dyn Group, open: &mut Open) -> Result<(), String> {
    let number = open.seat.number;
    for effect in &mut open.effects {
        let Effect::Deliver(delivery) = effect else {
            continue;
        };
        let is_wanted = delivery.message.is_resting() && !open.adapter.is_spoiled(delivery.channel);
        if !is_wanted {
            continue;
        }
        match delivery.message.fetch() {
            Ok(message) => delivery.message = message,
            Err(why) => {
                let whence = group.whence(number, delivery.channel, delivery.id);
                let destination = &delivery.subscription.destination;
                let whence = whence.unwrap_or_else(|| format!("subscription {destination}"));
                let why = format!("{whence}: {why}");
                if delivery.message.page().is_none() || !group.is_alone() {
                    return Err(why);
                }
                tracing::error!(target: "Store", "A message that was not durable is lost: {why}");
                let text = format!("a message is lost ({whence})");
                open.adapter.lose(delivery.channel, delivery.id, text);
            }
        }
    }
    Ok(())
}
