//! A subscription's credit: how much its client has asked to be sent.
//!
//! Both units are needed for a delivery: messages and octets. An amount of `0xFFFFFFFF` is without
//! end and stays so until the subscription is stopped. As in qpidd each flow mode has credit of its
//! own: `message.flow` adds to that of the mode that is set, and `message.set-flow-mode` changes
//! neither.
//!
//! In window mode a delivery takes room in the window until it is completed. Stopping closes the
//! window and leaves what is in it there: a new `message.flow` opens it, and what is not completed
//! still takes its room, so that a window that is closed and opened does not grow.

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

    fn grant(&mut self, value: u32) {
        if value == u32::MAX {
            *self = Amount::INFINITE;
        } else if !self.is_infinite() {
            self.0 = self.0.saturating_add(u64::from(value)).min(u64::MAX - 1);
        }
    }

    /// Takes so much of it, if that is counted.
    fn spend(&mut self, value: u64) {
        if !self.is_infinite() {
            self.0 = self.0.saturating_sub(value);
        }
    }
}

/// Credit in one unit for both modes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct Unit {
    /// Of credit mode: what is left.
    credit: Amount,
    /// Of window mode: how wide the window is.
    window: Amount,
    /// Of window mode: how much is in it.
    used: u64,
}
record!(Unit {
    credit,
    window,
    used
});

impl Unit {
    fn amount(&mut self, is_window: bool) -> &mut Amount {
        match is_window {
            true => &mut self.window,
            false => &mut self.credit,
        }
    }

    /// `u64::MAX` for without end.
    fn left(self, is_window: bool) -> u64 {
        match is_window {
            true if self.window.is_infinite() => u64::MAX,
            true => self.window.0.saturating_sub(self.used),
            false => self.credit.0,
        }
    }

    /// Gives how much room in the window that takes.
    fn spend(&mut self, is_window: bool, value: u64) -> u64 {
        match is_window {
            true if self.window.is_infinite() => 0,
            true => {
                self.used = self.used.saturating_add(value);
                value
            }
            false => {
                self.credit.spend(value);
                0
            }
        }
    }
}

/// The room that a delivery takes in the window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Room {
    /// Messages: 1, or 0 where they are not counted.
    messages: u64,
    /// Octets.
    bytes: u64,
}
record!(Room { messages, bytes });

impl Room {
    /// Whether it takes any: then its completion matters.
    pub fn is_some(self) -> bool {
        self != Room::default()
    }
}

/// Credit in both units, and how it comes back.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Credit {
    /// Whether completions give credit back. 0-10: message.subscribe/default-flow-mode is window.
    pub is_window: bool,
    messages: Unit,
    bytes: Unit,
}
record!(Credit {
    is_window,
    messages,
    bytes
});

impl Default for Credit {
    fn default() -> Self {
        Credit {
            is_window: true,
            messages: Unit::default(),
            bytes: Unit::default(),
        }
    }
}

impl Credit {
    /// `message.flow` for messages.
    pub fn grant_messages(&mut self, value: u32) {
        self.messages.amount(self.is_window).grant(value);
    }

    /// `message.flow` for octets.
    pub fn grant_bytes(&mut self, value: u32) {
        self.bytes.amount(self.is_window).grant(value);
    }

    /// `message.set-flow-mode`.
    pub fn set_mode(&mut self, mode: FlowMode) {
        self.is_window = mode == FlowMode::WINDOW;
    }

    /// `message.stop`, and what `message.flush` ends with: nothing more until a new
    /// `message.flow`, whatever is completed.
    pub fn stop(&mut self) {
        *self.messages.amount(self.is_window) = Amount(0);
        *self.bytes.amount(self.is_window) = Amount(0);
    }

    /// Messages left; `u64::MAX` for without end.
    pub fn messages_left(&self) -> u64 {
        self.messages.left(self.is_window)
    }

    /// Octets left; `u64::MAX` for without end.
    pub fn bytes_left(&self) -> u64 {
        self.bytes.left(self.is_window)
    }

    /// Whether there is any: a message of no octets could be sent.
    pub fn is_some(&self) -> bool {
        self.allows(0)
    }

    /// Whether a message of `bytes` can be sent.
    pub fn allows(&self, bytes: u64) -> bool {
        self.messages_left() > 0 && self.bytes_left() >= bytes.max(1)
    }

    /// A message of `bytes` is sent.
    pub fn spend(&mut self, bytes: u64) -> Room {
        Room {
            messages: self.messages.spend(self.is_window, 1),
            bytes: self.bytes.spend(self.is_window, bytes),
        }
    }

    /// A delivery that took room in the window is completed.
    pub fn give_back(&mut self, room: Room) {
        self.messages.used = self.messages.used.saturating_sub(room.messages);
        self.bytes.used = self.bytes.used.saturating_sub(room.bytes);
    }
}
