//! Controls that have arrived in part.
//!
//! Nearly every control fits one frame, so this list is nearly always empty. It belongs to the
//! connection, not to a channel: `session.attach` itself may come in pieces.

use super::limits;

#[derive(Default)]
pub(super) struct PartialControls {
    entries: Vec<(u16, Vec<u8>)>,
    held_bytes: usize,
}

impl PartialControls {
    pub(super) fn held_bytes(&self) -> usize {
        self.held_bytes
    }

    /// No control of this channel is half received.
    pub(super) fn is_free(&self, channel: u16) -> bool {
        !self.entries.iter().any(|(number, _)| *number == channel)
    }

    /// Takes one more frame of a control. `Ok(Some)` is the whole segment, the error says which
    /// rule is broken.
    pub(super) fn push(
        &mut self,
        channel: u16,
        first_frame: bool,
        last_frame: bool,
        payload: &[u8],
        bytes_max: usize,
    ) -> Result<Option<Vec<u8>>, &'static str> {
        let found = self
            .entries
            .iter()
            .position(|(number, _)| *number == channel);
        match (found, first_frame) {
            (Some(_), true) => return Err("a control begins before the one before it has ended"),
            (None, false) => return Err("a control goes on that has not begun"),
            (Some(_), false) => {}
            (None, true) => {
                if self.entries.len() >= limits::PARTIAL_CONTROLS_MAX {
                    return Err("too many unfinished controls");
                }
            }
        }
        if self.held_bytes + payload.len() > bytes_max {
            return Err("an unfinished control is too long");
        }
        self.held_bytes += payload.len();
        // Of the control that goes on, or of one that begins.
        let (number, mut whole) = found
            .map(|at| self.entries.swap_remove(at))
            .unwrap_or((channel, Vec::new()));
        whole.extend_from_slice(payload);
        if last_frame {
            self.held_bytes -= whole.len();
            return Ok(Some(whole));
        }
        self.entries.push((number, whole));
        Ok(None)
    }
}
