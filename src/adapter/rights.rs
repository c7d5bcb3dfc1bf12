//! What a connection's user may do, as whoever drives the connection decides it: before a command is
//! proposed, and on the member that the client is connected to.

use std::fmt;

use super::request::{Outcome, refused};
use crate::broker::guard::{Guarded, Ruled};
use crate::broker::message::Message;
use crate::broker::{Refusal, Request};
use crate::wire::{Command, ErrorCode, MessageTransfer};

/// What is decided of a command.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// It is proposed as it is.
    Allowed,
    /// It is proposed with a condition, since it depends on what is there already.
    Guarded(Box<Guarded>),
    /// The session fails with unauthorized-access and this text.
    Denied(String),
}

/// The rights of one user, on one connection.
pub trait Rights: fmt::Debug + Send {
    /// What is decided of a command other than a transfer.
    fn verdict(&mut self, command: &Command) -> Verdict;

    /// Whether a message may be published to this exchange.
    ///
    /// # Errors
    /// It may not: what the client is told.
    fn check_transfer(&mut self, exchange: &str, message: &Message) -> Result<(), String>;

    /// The core has denied a command for its condition.
    fn note_denial(&mut self, refusal: &Refusal);

    /// The core has decided a command by its conditions, and the rule that did asks to be told of.
    fn note_ruling(&mut self, ruled: Ruled);
}

/// What becomes of a command under these rights: an outcome if it is decided already.
pub(super) fn decided(rights: &mut dyn Rights, command: &Command) -> Option<Outcome> {
    if matches!(command, Command::MessageTransfer(_)) {
        return None;
    }
    match rights.verdict(command) {
        Verdict::Allowed => None,
        Verdict::Guarded(guarded) => Some(Request::Guarded(guarded).into()),
        Verdict::Denied(text) => {
            Some(refused(command, ErrorCode::UNAUTHORIZED_ACCESS, &text).into())
        }
    }
}

/// The request, or its refusal if it publishes what its user may not.
pub(super) fn permitted(rights: &mut dyn Rights, request: Request) -> Request {
    let Request::Transfer {
        destination,
        message,
        ..
    } = &request
    else {
        return request;
    };
    match rights.check_transfer(destination, message) {
        Ok(()) => request,
        Err(text) => {
            let command = Command::MessageTransfer(MessageTransfer::default());
            refused(&command, ErrorCode::UNAUTHORIZED_ACCESS, &text)
        }
    }
}
