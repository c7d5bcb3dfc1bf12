//! Class `session`: controls of a session, both ways.

use crate::broker::Refusal;
use crate::protocol::Connection;
use crate::wire::{
    CommandId, Control, ErrorCode, ExecutionException, SequenceSet, SessionCompleted,
    SessionConfirmed, SessionExpected, SessionFlush, SessionTimeout, Text,
};

/// `session.timeout`: for how many seconds the session outlives its connection.
pub(super) fn timeout(seconds: u32) -> Control {
    Control::SessionTimeout(SessionTimeout {
        timeout: Some(seconds),
    })
}

/// `session.flush`: the client is to say what it has completed, and, when its session is resumed, what
/// it expects and has confirmed.
pub(super) fn flush(is_resumed: bool) -> Control {
    Control::SessionFlush(SessionFlush {
        expected: is_resumed,
        confirmed: is_resumed,
        completed: true,
    })
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
