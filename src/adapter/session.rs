//! Class `session`: controls of a session, both ways.

use crate::broker::Refusal;
use crate::protocol::Connection;
use crate::wire::{
    CommandId, Control, ErrorCode, ExecutionException, SequenceSet, SessionCompleted,
    SessionConfirmed, SessionExpected, SessionTimeout, Text,
};

/// A session does not outlive its transport: whatever timeout is asked for, none is granted, as
/// qpidd does.
pub(super) fn timeout() -> Control {
    Control::SessionTimeout(SessionTimeout { timeout: Some(0) })
}

/// Sends `session.completed`; a set with more ranges than one control can carry goes in several.
pub(super) fn send_completed(
    protocol: &mut Connection,
    channel: u16,
    commands: SequenceSet,
    timely_reply: bool,
) {
    in_parts(commands, |commands| {
        let completed = SessionCompleted {
            commands: Some(commands),
            timely_reply,
        };
        protocol.send_control(channel, &Control::SessionCompleted(completed));
    });
}

/// Sends `session.confirmed`, in several parts if need be.
pub(super) fn send_confirmed(protocol: &mut Connection, channel: u16, commands: SequenceSet) {
    in_parts(commands, |commands| {
        let confirmed = SessionConfirmed {
            commands: Some(commands),
            fragments: None,
        };
        protocol.send_control(channel, &Control::SessionConfirmed(confirmed));
    });
}

/// Sends `session.expected`.
pub(super) fn send_expected(protocol: &mut Connection, channel: u16, commands: SequenceSet) {
    let expected = SessionExpected {
        commands,
        fragments: None,
    };
    protocol.send_control(channel, &Control::SessionExpected(expected));
}

fn in_parts(mut commands: SequenceSet, mut send: impl FnMut(SequenceSet)) {
    loop {
        let excess = commands.split_off_excess();
        send(commands);
        if excess.is_empty() {
            return;
        }
        commands = excess;
    }
}

/// The exception that ends a session, with the fields that qpidd sets.
pub(super) fn exception(command: CommandId, refusal: Refusal) -> ExecutionException {
    ExecutionException {
        error_code: refusal.code,
        command_id: Some(command),
        class_code: Some(refusal.class),
        command_code: Some(refusal.command),
        field_index: Some(0),
        description: Some(Text::from(refusal.text)),
        error_info: Some(Default::default()),
    }
}

/// Whose doing an exception is, for the log.
pub(super) fn fault(code: ErrorCode) -> &'static str {
    match code {
        ErrorCode::INTERNAL_ERROR => "the broker is at fault",
        ErrorCode::NOT_IMPLEMENTED => "the broker cannot do it",
        ErrorCode::RESOURCE_DELETED => "something it used is gone",
        ErrorCode::RESOURCE_LIMIT_EXCEEDED => "a limit was reached",
        _ => "the client is at fault",
    }
}
