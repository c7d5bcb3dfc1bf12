//! The channels of a connection that carry a session.

use crate::wire::{CommandId, SequenceSet};

use super::assembly::Assembly;
use super::ends::Ends;
use super::limits;

/// The session of a channel, as far as the transport goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// Broker: the caller has been asked. Client: the broker has been asked.
    Attaching,
    Attached,
    /// Broker: the peer sent detach and the caller has been asked.
    PeerDetaching,
    /// Broker: `Event::Refused` is out; the caller ends the session.
    Refused,
    /// We sent detach; only detach and detached of the peer count.
    Detaching,
}

/// Which incoming command is next.
#[derive(Clone, Debug, Default)]
pub(super) struct Incoming {
    /// `session.command-point` has come.
    pub(super) pointed: bool,
    /// Id of the next command to arrive.
    pub(super) next: CommandId,
    /// First id never seen. Behind `next` only after a command-point of the past: commands up to
    /// it are duplicates.
    pub(super) unseen: CommandId,
    /// The session goes on: commands before `unseen` have come by another transport.
    pub(super) resumed: bool,
    /// Ids from `unseen` on that will never come.
    pub(super) gaps: SequenceSet,
}

impl Incoming {
    /// Passes over ids that will never come.
    pub(super) fn pass_gaps(&mut self) {
        while let Some((first, last)) = self.gaps.ranges().first().copied() {
            if self.unseen.precedes(first) {
                return;
            }
            if self.unseen.at_or_before(last) {
                self.unseen = last.next();
            }
            self.gaps.remove_range(first, last);
        }
    }
}

/// One channel with its session.
pub(super) struct Channel {
    pub(super) number: u16,
    pub(super) name: Vec<u8>,
    pub(super) phase: Phase,
    pub(super) incoming: Incoming,
    pub(super) assembly: Assembly,
    /// The id that the peer takes the next command for; none before `session.command-point` has been
    /// sent.
    pub(super) next_sent: Option<CommandId>,
    /// Both ends of the session's commands, kept for a client only; a broker's are in its core.
    pub(super) ends: Option<Box<Ends>>,
}

impl Channel {
    pub(super) fn new(number: u16, name: Vec<u8>, ends: Option<Box<Ends>>) -> Channel {
        Channel {
            number,
            name,
            phase: Phase::Attaching,
            incoming: Incoming::default(),
            assembly: Assembly::default(),
            next_sent: None,
            ends,
        }
    }
}

/// Channels by number: a table for the small numbers, a sorted list for the others. Only
/// channels with a session take room.
#[derive(Default)]
pub(super) struct Channels {
    dense: Vec<Option<Box<Channel>>>,
    #[expect(
        clippy::vec_box,
        reason = "entries are moved when one is put in between"
    )]
    sparse: Vec<Box<Channel>>,
    /// Where in `sparse` the last one was found.
    last: usize,
    len: usize,
}

impl Channels {
    /// Sessions attached, or on the way to it or from it.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn channel(&self, number: u16) -> Option<&Channel> {
        if usize::from(number) < limits::DENSE_CHANNELS {
            return self.dense.get(usize::from(number))?.as_deref();
        }
        let at = self
            .sparse
            .binary_search_by_key(&number, |channel| channel.number)
            .ok()?;
        self.sparse.get(at).map(Box::as_ref)
    }

    pub(super) fn channel_mut(&mut self, number: u16) -> Option<&mut Channel> {
        if usize::from(number) < limits::DENSE_CHANNELS {
            return self.dense.get_mut(usize::from(number))?.as_deref_mut();
        }
        let remembered = self
            .sparse
            .get(self.last)
            .is_some_and(|last| last.number == number);
        if !remembered {
            self.last = self
                .sparse
                .binary_search_by_key(&number, |channel| channel.number)
                .ok()?;
        }
        self.sparse.get_mut(self.last).map(Box::as_mut)
    }

    /// Puts a channel in; its number is free.
    pub(super) fn insert(&mut self, channel: Channel) {
        let number = usize::from(channel.number);
        if number < limits::DENSE_CHANNELS {
            if self.dense.len() <= number {
                self.dense.resize_with(number + 1, || None);
            }
            if let Some(place) = self.dense.get_mut(number) {
                self.len += usize::from(place.replace(Box::new(channel)).is_none());
            }
            return;
        }
        match self
            .sparse
            .binary_search_by_key(&channel.number, |other| other.number)
        {
            Ok(at) => {
                if let Some(place) = self.sparse.get_mut(at) {
                    **place = channel;
                }
            }
            Err(at) => {
                self.sparse.insert(at, Box::new(channel));
                self.len += 1;
            }
        }
    }

    pub(super) fn remove(&mut self, number: u16) -> Option<Box<Channel>> {
        let removed = if usize::from(number) < limits::DENSE_CHANNELS {
            self.dense.get_mut(usize::from(number))?.take()
        } else {
            let at = self
                .sparse
                .binary_search_by_key(&number, |channel| channel.number)
                .ok()?;
            Some(self.sparse.remove(at))
        };
        self.len -= usize::from(removed.is_some());
        removed
    }

    /// Takes all out.
    pub(super) fn drain(&mut self) -> impl Iterator<Item = Channel> + use<> {
        let Channels { dense, sparse, .. } = std::mem::take(self);
        let all = dense.into_iter().flatten().chain(sparse);
        all.map(|channel| *channel)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_channel_is_found_by_its_number_wherever_it_is_kept() {
        let mut channels = Channels::default();
        for number in [0, 7, 255, 256, 65_534, 300, 65_535] {
            channels.insert(Channel::new(number, number.to_string().into_bytes(), None));
        }
        assert_eq!(channels.len(), 7);
        for number in [65_535, 0, 256, 256, 300, 7, 65_534, 255] {
            let name = number.to_string().into_bytes();
            assert_eq!(
                channels.channel_mut(number).map(|c| c.name.clone()),
                Some(name.clone())
            );
            assert_eq!(channels.channel(number).map(|c| c.name.clone()), Some(name));
        }
        assert!(channels.channel_mut(301).is_none());
        assert!(channels.remove(300).is_some());
        assert!(channels.remove(300).is_none());
        assert!(channels.channel_mut(300).is_none());
        assert_eq!(channels.channel_mut(65_534).map(|c| c.number), Some(65_534));
        assert_eq!(channels.len(), 6);
    }
}
