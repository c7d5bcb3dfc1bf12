//! A subscription's credit: how much its client has asked to be sent.
//!
//! Both units are needed for a delivery: messages and octets. An amount of `0xFFFFFFFF` is without
//! end and stays so until the subscription is stopped.

use super::encoding::{record, record_newtype};
use crate::wire::FlowMode;

/// Credit in one unit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Amount(u64);
record_newtype!(Amount(u64));

impl Amount {
    /// Without end.
    pub const INFINITE: Amount = Amount(u64::MAX);

    /// Whether it never runs out.
    pub fn is_infinite(self) -> bool {
        self == Amount::INFINITE
    }

    fn add(&mut self, value: u64) {
        if !self.is_infinite() {
            self.0 = self.0.saturating_add(value).min(u64::MAX - 1);
        }
    }

    fn grant(&mut self, value: u32) {
        match value {
            u32::MAX => *self = Amount::INFINITE,
            _ => self.add(u64::from(value)),
        }
    }

    fn spend(&mut self, value: u64) {
        if !self.is_infinite() {
            self.0 = self.0.saturating_sub(value);
        }
    }

    /// How much is left; `u64::MAX` for without end.
    pub fn left(self) -> u64 {
        self.0
    }
}

/// Credit in both units, and how it comes back.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Credit {
    /// Whether completions give credit back. 0-10: message.subscribe/default-flow-mode is window.
    pub is_window: bool,
    /// Messages.
    pub messages: Amount,
    /// Octets.
    pub bytes: Amount,
    /// Counts the stops. A delivery of before a stop gives no credit back after it.
    pub era: u32,
}
record!(Credit {
    is_window,
    messages,
    bytes,
    era
});

impl Default for Credit {
    fn default() -> Self {
        Credit {
            is_window: true,
            messages: Amount(0),
            bytes: Amount(0),
            era: 0,
        }
    }
}

impl Credit {
    /// `message.flow` for messages.
    pub fn grant_messages(&mut self, value: u32) {
        self.messages.grant(value);
    }

    /// `message.flow` for octets.
    pub fn grant_bytes(&mut self, value: u32) {
        self.bytes.grant(value);
    }

    /// `message.set-flow-mode`: only the mode changes, as in qpidd.
    pub fn set_mode(&mut self, mode: FlowMode) {
        self.is_window = mode == FlowMode::WINDOW;
    }

    /// `message.stop`: nothing more until a new `message.flow`.
    pub fn stop(&mut self) {
        self.exhaust();
        self.era = self.era.wrapping_add(1);
    }

    /// What `message.flush` leaves: no credit now, while a window goes on.
    pub fn exhaust(&mut self) {
        self.messages = Amount(0);
        self.bytes = Amount(0);
    }

    /// Whether there is any: a message of no octets could be sent.
    pub fn is_some(&self) -> bool {
        self.messages.left() > 0 && self.bytes.left() > 0
    }

    /// Whether a message of `bytes` can be sent.
    pub fn allows(&self, bytes: u64) -> bool {
        self.messages.left() > 0 && self.bytes.left() >= bytes.max(1)
    }

    /// A message of `bytes` is sent.
    pub fn spend(&mut self, bytes: u64) {
        self.messages.spend(1);
        self.bytes.spend(bytes);
    }

    /// A message of `bytes` that was sent in `era` is completed.
    pub fn give_back(&mut self, bytes: u64, era: u32) {
        if self.is_window && self.era == era {
            self.messages.add(1);
            self.bytes.add(bytes);
        }
    }

    /// Whether completions can matter.
    pub fn returns(&self) -> bool {
        self.is_window && !(self.messages.is_infinite() && self.bytes.is_infinite())
    }
}
