//! Ending the processes of members, as management asks any of them.

use std::time::Duration;

use tokio::time::Instant;

use super::{Seated, limits};
use crate::broker::ids::MemberId;
use crate::broker::management::{Action, AgentCommand};
use crate::management::deed::ProcessDeed;
use crate::qmf::{Fault, Status};

/// A member that is to end.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stopping {
    /// Members that are to end, too, and have not said yet that they will.
    left: usize,
    /// It waits for them no longer.
    pub(super) until: Instant,
}

impl Seated<'_> {
    /// What the core is asked for what a process cannot do alone. None: the process can.
    ///
    /// # Errors
    /// There is no cluster, or no such member in it.
    pub(super) fn ordered(&self, deed: &ProcessDeed) -> Result<Option<Action>, Fault> {
        let wanted = match deed {
            ProcessDeed::StopMember(id) => Some(id),
            ProcessDeed::StopCluster => None,
            _ => return Ok(None),
        };
        let membership = self.shared.known_hosts.read();
        if membership.members.is_empty() {
            return Err(Fault::of(Status::UnknownObject));
        }
        let Some(wanted) = wanted else {
            return Ok(Some(Action::Stop(None)));
        };
        let mut members = membership.members.iter();
        // Whether or not somebody has left the zeros in front.
        let number = u64::from_str_radix(wanted, 16);
        match members.find(|member| number == Ok(member.id)) {
            Some(member) => Ok(Some(Action::Stop(Some(MemberId(member.id))))),
            None => {
                let text = format!("no member is called {}", wanted.escape_debug());
                Err(Fault::new(Status::InvalidParameter, text))
            }
        }
    }

    /// Its member is to end, once `agents` have said that theirs will.
    pub(super) fn stop(&mut self, agents: usize) {
        if self.stopping.is_none() {
            let patience = Duration::from_millis(limits::STOP_MILLISECONDS_MAX);
            self.stopping = Some(Stopping {
                left: agents,
                until: Instant::now() + patience,
            });
            self.commands.push_back(AgentCommand::Stopping);
        }
    }

    /// One has said that its member will end.
    pub(super) fn heard_of_stopping(&mut self) {
        if let Some(stopping) = &mut self.stopping {
            stopping.left = stopping.left.saturating_sub(1);
            if stopping.left == 0 {
                let grace = Duration::from_millis(limits::STOP_GRACE_MILLISECONDS);
                stopping.until = stopping.until.min(Instant::now() + grace);
            }
        }
    }

    /// Ends the process if its time has come.
    pub(super) fn stop_if_due(&mut self) {
        let now = Instant::now();
        if self
            .stopping
            .take_if(|stopping| stopping.until <= now)
            .is_some()
        {
            self.start.shutdown.notify_one();
        }
    }
}
