//! Class `message`: transfers in and out, and what is said about them.

use std::sync::Arc;

use bytes::Bytes;

use super::request::{Outcome, refused};
use crate::broker::message::Message;
use crate::broker::selector::Selector;
use crate::broker::{Delivery, Request, Tag};
use crate::protocol::Body;
use crate::wire::{
    self, AcceptMode, Command, ErrorCode, MessageAccept, MessageAcquire, MessageCancel,
    MessageFlow, MessageFlush, MessageReject, MessageRelease, MessageSetFlowMode, MessageStop,
    MessageSubscribe, MessageTransfer,
};

/// The argument of `message.subscribe` that holds a selector. Clients of Qpid send it.
const SELECTOR: &str = "x-apache-selector";

/// A message to be published. Its header is taken apart here, once and whole, so that it can never
/// fail for whoever touches it later. A malformed one closes the connection, as with qpidd; one that
/// passes a bound of ours fails the session.
pub(super) fn transfer(
    transfer: MessageTransfer,
    header: Option<&Bytes>,
    body: Option<&Body>,
    stamp: Option<u64>,
) -> Outcome {
    let stamped = stamp.and_then(|seconds| stamped(header?, seconds));
    let header = stamped.as_deref().or(header.map(|header| &header[..]));
    let body = body.map(|body| &body[..]);
    let message = match Message::new(header, body, &transfer.destination) {
        Ok(message) => message,
        Err(error) if error.error_code() == ErrorCode::RESOURCE_LIMIT_EXCEEDED => {
            let command = Command::MessageTransfer(transfer);
            return refused(&command, error.error_code(), &error.to_string()).into();
        }
        Err(error) => return Outcome::Close(error.to_string()),
    };
    let request = Request::Transfer {
        destination: transfer.destination,
        // As in qpidd: a client that says nothing wants no accept.
        accept_mode: transfer.accept_mode.unwrap_or(AcceptMode::NONE),
        message: Arc::new(message),
    };
    request.into()
}

/// A header with the time at which the message came in, in seconds since 1970. None for one that cannot
/// be read, which is told elsewhere.
fn stamped(header: &[u8], seconds: u64) -> Option<Vec<u8>> {
    let parts = wire::header::split(header).ok()?;
    let mut delivery = parts.delivery.unwrap_or_default();
    delivery.timestamp = i64::try_from(seconds).ok();
    let mut stamped = Vec::with_capacity(header.len() + 16);
    wire::header::encode(&Some(delivery), &parts.rest, &mut stamped);
    Some(stamped)
}

pub(super) fn accept(accept: MessageAccept) -> Request {
    let transfers = accept.transfers;
    match transfers.is_empty() {
        true => Request::Nothing,
        false => Request::Accept { transfers },
    }
}

/// The code and text of a rejection count for nothing, as with qpidd.
pub(super) fn reject(reject: MessageReject) -> Request {
    Request::Reject {
        transfers: reject.transfers,
    }
}

pub(super) fn release(release: MessageRelease) -> Request {
    Request::Release {
        transfers: release.transfers,
        set_redelivered: release.set_redelivered,
    }
}

pub(super) fn acquire(acquire: MessageAcquire) -> Request {
    Request::Acquire {
        transfers: acquire.transfers,
    }
}

/// A selector that cannot be read closes the connection, as with qpidd.
pub(super) fn subscribe(subscribe: MessageSubscribe) -> Outcome {
    let selector = subscribe
        .arguments
        .as_ref()
        .and_then(|arguments| arguments.get(SELECTOR))
        .and_then(wire::Value::as_str);
    if let Some(Err(error)) = selector.map(Selector::parse) {
        return Outcome::Close(format!("Illegal selector: {error}"));
    }
    Request::Subscribe(Box::new(subscribe)).into()
}

pub(super) fn cancel(cancel: MessageCancel) -> Request {
    Request::Cancel {
        destination: cancel.destination,
    }
}

pub(super) fn set_flow_mode(mode: MessageSetFlowMode) -> Request {
    Request::SetFlowMode {
        destination: mode.destination,
        flow_mode: mode.flow_mode,
    }
}

/// A value that is not there is 0.
pub(super) fn flow(flow: MessageFlow) -> Request {
    Request::Flow {
        destination: flow.destination,
        unit: flow.unit,
        value: flow.value.unwrap_or(0),
    }
}

pub(super) fn flush(flush: MessageFlush) -> Request {
    Request::FlushSubscription {
        destination: flush.destination,
    }
}

pub(super) fn stop(stop: MessageStop) -> Request {
    Request::Stop {
        destination: stop.destination,
    }
}

/// The command that carries deliveries of a subscription. It is kept from one to the next, because
/// runs of deliveries are of one subscription.
#[derive(Debug, Default)]
pub(super) struct Transfers {
    last: Option<(Arc<Tag>, Command)>,
    header: Vec<u8>,
}

impl Transfers {
    /// The command and the encoded header of a delivery; no header for a message that has none.
    pub(super) fn of(&mut self, delivery: &Delivery) -> (&Command, Option<&[u8]>) {
        let message = &delivery.message;
        self.header.clear();
        let has_header = message.has_header || delivery.identity.is_some();
        if has_header {
            let told = (delivery.redelivered, delivery.ttl);
            message.delivered_header(told, delivery.identity, &mut self.header);
        }
        let kept = self.last.take();
        let tag = &delivery.subscription;
        let kept = match kept {
            Some(kept) if Arc::ptr_eq(&kept.0, tag) => kept,
            _ => (tag.clone(), command_of(tag)),
        };
        let (_, command) = self.last.insert(kept);
        (command, has_header.then_some(&self.header[..]))
    }
}

fn command_of(tag: &Tag) -> Command {
    Command::MessageTransfer(MessageTransfer {
        destination: tag.destination.clone(),
        accept_mode: Some(tag.accept_mode),
        acquire_mode: tag.acquire_mode,
    })
}
