//! What tests of several files begin with.

use ferrymq::broker::Command;
use ferrymq::wire::DeliveryMode;

use super::{Broker, Draft, Session, message_with};

/// A message that outlives the process, with a time to live if it has one.
pub fn persistent(key: &str, body: &str, ttl: Option<u64>) -> Draft {
    message_with(key, body, |delivery| {
        delivery.delivery_mode = Some(DeliveryMode::PERSISTENT);
        delivery.ttl = ttl;
    })
}

/// Publishes a message that outlives the process to a queue.
pub fn persist(session: &Session, queue: &str, body: &str) {
    session.publish_message("", persistent(queue, body, None));
}

/// The same with a time to live.
pub fn persist_for(session: &Session, queue: &str, body: &str, ttl: u64) {
    session.publish_message("", persistent(queue, body, Some(ttl)));
}

/// Lets time pass, and the broker look what has become due.
pub fn pass(broker: &Broker, milliseconds: u64) {
    broker.pass(milliseconds);
    broker.sequencer(Command::Tick);
}

/// A broker that has started anew, and a session there.
pub fn restarted(broker: &Broker) -> (Broker, Session) {
    let again = broker.restarted();
    again.work();
    let session = again.session("again");
    (again, session)
}
