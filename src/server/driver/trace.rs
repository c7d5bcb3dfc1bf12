//! What a log of everything says of one connection.

use bytes::Bytes;

use crate::protocol::Event;

/// Logs what has come, without passwords and bodies.
pub(super) fn event(peer: &str, event: &Event) {
    match event {
        Event::StartOk { mechanism, .. } => {
            tracing::trace!(target: "Protocol", "RECV [{peer}] start-ok {mechanism:?}");
        }
        Event::SecureOk { .. } => tracing::trace!(target: "Protocol", "RECV [{peer}] secure-ok"),
        Event::Command {
            channel,
            id,
            sync,
            command,
            body,
            ..
        } => tracing::trace!(
            target: "Protocol",
            "RECV [{peer}] channel {channel} command {id} sync={sync} {command:?}, body of {} octets",
            body.iter().flat_map(|body| body.iter()).map(Bytes::len).sum::<usize>()
        ),
        event => tracing::trace!(target: "Protocol", "RECV [{peer}] {event:?}"),
    }
}
