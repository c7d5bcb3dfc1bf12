//! Whether there is room for what a client publishes. It differs from member to member, so it is
//! decided before anything is proposed.

use std::collections::BTreeMap;

use super::request;
use crate::broker::Request;
use crate::wire::ErrorCode;

/// What is known of the room, and what the open transactions of a connection need of it.
#[derive(Debug, Default)]
pub(super) struct Room {
    is_full_for_persistent: bool,
    is_full_for_all: bool,
    /// Octets of messages that have to survive for which there is none.
    refused_beyond: Option<u64>,
    /// The channels of transactional sessions, and octets of the messages that the open transaction of
    /// each publishes and that have to survive.
    transactions: BTreeMap<u16, u64>,
}

impl Room {
    pub fn set_full(&mut self, for_persistent: bool, for_all: bool) {
        (self.is_full_for_persistent, self.is_full_for_all) = (for_persistent, for_all);
    }

    /// There is room for so many octets of messages that have to survive.
    pub fn set_room(&mut self, bytes: u64) {
        self.refused_beyond = Some(bytes);
    }

    fn has_none_for(&self, bytes: u64) -> bool {
        self.is_full_for_persistent || self.refused_beyond.is_some_and(|most| bytes > most)
    }

    /// The session of a channel has ended, or another has begun.
    pub fn detached(&mut self, channel: u16) {
        self.transactions.remove(&channel);
    }

    /// A session goes on, whose open transaction publishes so many octets of messages that have to
    /// survive; None is for one without transactions.
    pub fn resumed(&mut self, channel: u16, published: Option<u64>) {
        if let Some(published) = published {
            self.transactions.insert(channel, published);
        }
    }

    /// The request, or its refusal where there is no room for it. A commit of what was published
    /// before the disk got full would wait for room, and all accepts behind it.
    pub fn admitted(&mut self, channel: u16, request: Request) -> Request {
        match &request {
            Request::Transfer { .. } if self.is_full_for_all => {
                // As for every command with content no class and command are named.
                refusal(
                    (0, 0),
                    "no room in memory or on the disk for another message",
                )
            }
            Request::Transfer { message, .. } if message.is_persistent => {
                if self.has_none_for(message.size()) {
                    return refusal((0, 0), "no room on the disk for another persistent message");
                }
                if let Some(published) = self.transactions.get_mut(&channel) {
                    *published = published.saturating_add(message.size().max(1));
                }
                request
            }
            Request::TxSelect => {
                self.transactions.entry(channel).or_default();
                request
            }
            Request::TxCommit | Request::TxRollback => {
                let open = self.transactions.get_mut(&channel);
                let published = open.map_or(0, std::mem::take);
                let is_commit = published > 0 && request == Request::TxCommit;
                match is_commit && self.has_none_for(published) {
                    true => refusal(
                        COMMIT,
                        "no room on the disk for what the transaction publishes",
                    ),
                    false => request,
                }
            }
            _ => request,
        }
    }
}

/// Class and command of `tx.commit`.
const COMMIT: (u8, u8) = (5, 2);

fn refusal(command: (u8, u8), text: &str) -> Request {
    request::refusal(ErrorCode::RESOURCE_LIMIT_EXCEEDED, command, text)
}
