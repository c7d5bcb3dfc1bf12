//! What logs say of one connection.

use bytes::Bytes;

use crate::protocol::{ClosedBy, Event};
use crate::wire::CloseCode;

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

/// Logs that a connection has closed, one that was open or not.
pub(super) fn closed((peer, is_open): (&str, bool), code: CloseCode, text: &str, by: ClosedBy) {
    match by {
        ClosedBy::Us if code == CloseCode::FRAMING_ERROR => tracing::error!(
            target: "Protocol",
            "{peer}: closed with {} {code}, the client is at fault: {text}",
            code.0
        ),
        ClosedBy::Us => tracing::warn!(
            target: "Network",
            "{peer}: closed with {} {code}: {text}",
            code.0
        ),
        ClosedBy::Peer if code == CloseCode::NORMAL => {
            tracing::debug!(target: "Network", "{peer}: closed by the client");
        }
        ClosedBy::Peer => tracing::info!(
            target: "Network",
            "{peer}: closed by the client with {} {code}: {text}",
            code.0
        ),
        ClosedBy::Lost if is_open => {
            tracing::info!(target: "Network", "{peer}: gone without a close: {text}");
        }
        ClosedBy::Lost => {
            tracing::debug!(target: "Network", "{peer}: gone before it was open: {text}");
        }
    }
}
