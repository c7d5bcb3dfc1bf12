//! What of a connection's output has reached the socket: which deliveries, so that headroom can be
//! given back, and how many octets of answers, so that a peer that asks and never reads is noticed.

use std::collections::VecDeque;

use super::limits;

/// A stretch of the output and what is in it.
#[derive(Debug)]
struct Mark {
    /// Where it begins and ends, in octets since the connection was opened.
    start: u64,
    end: u64,
    messages: u32,
    message_bytes: u64,
    answer_bytes: usize,
}

/// Counts along one connection's output. Marks cover at least [`limits::MARK_BYTES`] but for the
/// last, so their number is bounded by the output's size.
#[derive(Debug)]
pub(super) struct Outflow {
    /// Octets of headroom.
    headroom_bytes: u64,
    /// Octets that have left the output.
    drained: u64,
    marks: VecDeque<Mark>,
    /// Drained and not yet given back to the core.
    messages: u32,
    message_bytes: u64,
    /// In the output.
    answer_bytes: usize,
}

impl Default for Outflow {
    fn default() -> Outflow {
        Outflow {
            headroom_bytes: limits::HEADROOM_BYTES_FIRST,
            drained: 0,
            marks: VecDeque::new(),
            messages: 0,
            message_bytes: 0,
            answer_bytes: 0,
        }
    }
}

impl Outflow {
    /// Something was appended: `output_before` and `output_after` are the output's lengths, and of
    /// the difference `answer_bytes` were no deliveries.
    pub(super) fn appended(
        &mut self,
        (output_before, output_after): (usize, usize),
        answer_bytes: usize,
        (messages, message_bytes): (u32, u64),
    ) {
        if output_after == 0 {
            // Nothing waits: deliveries for a session that is gone count as drained at once.
            self.messages += messages;
            self.message_bytes += message_bytes;
            return;
        }
        let start = self.drained + output_before as u64;
        let end = self.drained + output_after as u64;
        self.answer_bytes += answer_bytes;
        match self.marks.back_mut() {
            Some(last) if last.end - last.start < limits::MARK_BYTES => {
                last.end = end;
                last.messages += messages;
                last.message_bytes += message_bytes;
                last.answer_bytes += answer_bytes;
            }
            _ => self.marks.push_back(Mark {
                start,
                end,
                messages,
                message_bytes,
                answer_bytes,
            }),
        }
    }

    /// So many octets have left the output for the socket.
    pub(super) fn drained(&mut self, octets: usize) {
        self.drained += octets as u64;
        while let Some(first) = self.marks.front() {
            if first.end > self.drained {
                break;
            }
            self.messages += first.messages;
            self.message_bytes += first.message_bytes;
            self.answer_bytes -= first.answer_bytes;
            self.marks.pop_front();
        }
    }

    /// Takes what can be given back to the core: messages and octets. None while it is less than
    /// half of the headroom, so that a refill costs little a message. Whoever has used up all of
    /// the headroom gets there when the output has drained.
    pub(super) fn take_headroom(&mut self) -> Option<(u32, u64)> {
        let due = self.messages >= limits::HEADROOM_MESSAGES / 2
            || self.message_bytes >= self.headroom_bytes / 2;
        due.then(|| {
            (
                std::mem::take(&mut self.messages),
                std::mem::take(&mut self.message_bytes),
            )
        })
    }

    /// How many octets of headroom there are from now on; None while nothing has changed. A peer that is
    /// known to read has more.
    pub(super) fn take_headroom_max(&mut self) -> Option<u64> {
        let is_due = self.headroom_bytes < limits::HEADROOM_BYTES
            && self.drained >= limits::READ_BYTES_PROVEN;
        is_due.then(|| {
            self.headroom_bytes = limits::HEADROOM_BYTES;
            self.headroom_bytes
        })
    }

    /// Octets of answers that wait in the output.
    pub(super) fn unread_answer_bytes(&self) -> usize {
        self.answer_bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headroom_comes_back_when_half_of_it_has_drained() {
        let mut outflow = Outflow::default();
        outflow.appended((0, 1000), 0, (limits::HEADROOM_MESSAGES, 100));
        outflow.drained(999);
        assert_eq!(outflow.take_headroom(), None);
        outflow.drained(1);
        let all = Some((limits::HEADROOM_MESSAGES, 100));
        assert_eq!(outflow.take_headroom(), all);
        assert_eq!(outflow.take_headroom(), None);
    }

    #[test]
    fn a_peer_that_has_read_much_has_all_of_the_headroom_from_then_on() {
        let mut outflow = Outflow::default();
        let half = limits::HEADROOM_BYTES_FIRST / 2;
        outflow.appended((0, 100), 0, (1, half));
        outflow.drained(100);
        assert_eq!(outflow.take_headroom(), Some((1, half)));
        let left = limits::READ_BYTES_PROVEN as usize - 100;
        outflow.drained(left - 1);
        assert_eq!(outflow.take_headroom_max(), None);
        outflow.drained(1);
        assert_eq!(outflow.take_headroom_max(), Some(limits::HEADROOM_BYTES));
        assert_eq!(outflow.take_headroom_max(), None);
        outflow.appended((0, 100), 0, (1, half));
        outflow.drained(100);
        assert_eq!(outflow.take_headroom(), None, "half of what there is now");
    }

    #[test]
    fn deliveries_to_a_session_that_is_gone_count_as_drained() {
        let mut outflow = Outflow::default();
        outflow.appended((0, 0), 0, (1, limits::HEADROOM_BYTES));
        assert_eq!(outflow.take_headroom(), Some((1, limits::HEADROOM_BYTES)));
    }

    #[test]
    fn marks_do_not_grow_with_the_number_of_deliveries() {
        let mut outflow = Outflow::default();
        for n in 0..10_000 {
            outflow.appended((n * 100, (n + 1) * 100), 10, (1, 50));
        }
        assert!(outflow.marks.len() <= 1 + 1_000_000 / limits::MARK_BYTES as usize);
        assert_eq!(outflow.unread_answer_bytes(), 100_000);
        outflow.drained(1_000_000);
        assert_eq!(outflow.unread_answer_bytes(), 0);
        assert_eq!(outflow.take_headroom(), Some((10_000, 500_000)));
    }
}
