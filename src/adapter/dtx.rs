//! Class `dtx`: distributed transactions.

use super::request::{not_implemented, refused};
use crate::broker::Request;
use crate::broker::branch::{DtxRequest, Xid};
use crate::broker::limits::XID_PART_BYTES_MAX;
use crate::wire::{Command, DtxXid, ErrorCode};

/// How long work in a branch may take; the names are qpidd's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DtxTimeouts {
    /// `dtx-default-timeout`: seconds, of a branch that says nothing else; 0 is without end.
    pub default_seconds: u32,
    /// `dtx-max-timeout`: seconds that a branch can say; 0 is no limit.
    pub seconds_max: u32,
}

/// As without options.
impl Default for DtxTimeouts {
    fn default() -> Self {
        DtxTimeouts {
            default_seconds: 60,
            seconds_max: 3600,
        }
    }
}

/// What branch there is is the core's to know.
pub(super) fn request(command: &Command, timeouts: DtxTimeouts) -> Request {
    asked(command, timeouts).map_or_else(
        |refused| *refused,
        |request| Request::Dtx(Box::new(request)),
    )
}

fn asked(command: &Command, timeouts: DtxTimeouts) -> Result<DtxRequest, Box<Request>> {
    let xid = |xid: &DtxXid| {
        let known = Xid::new(xid.format, &xid.global_id, &xid.branch_id);
        known.ok_or_else(|| {
            let text = format!("each part of an xid has {XID_PART_BYTES_MAX} octets at most");
            Box::new(refused(command, ErrorCode::INVALID_ARGUMENT, &text))
        })
    };
    let DtxTimeouts {
        default_seconds,
        seconds_max,
    } = timeouts;
    Ok(match command {
        Command::DtxSelect(_) => DtxRequest::Select,
        Command::DtxStart(start) => DtxRequest::Start {
            xid: xid(&start.xid)?,
            join: start.join,
            resume: start.resume,
            timeout: default_seconds,
        },
        Command::DtxEnd(end) => DtxRequest::End {
            xid: xid(&end.xid)?,
            fail: end.fail,
            suspend: end.suspend,
        },
        Command::DtxPrepare(prepare) => DtxRequest::Prepare {
            xid: xid(&prepare.xid)?,
        },
        Command::DtxCommit(commit) => DtxRequest::Commit {
            xid: xid(&commit.xid)?,
            one_phase: commit.one_phase,
        },
        Command::DtxRollback(rollback) => DtxRequest::Rollback {
            xid: xid(&rollback.xid)?,
        },
        Command::DtxRecover(_) => DtxRequest::Recover,
        Command::DtxGetTimeout(get) => DtxRequest::GetTimeout {
            xid: xid(&get.xid)?,
        },
        Command::DtxSetTimeout(set) if seconds_max > 0 && set.timeout > seconds_max => {
            let text = format!(
                "timeout {} is bigger than maximum allowed {seconds_max}",
                set.timeout
            );
            return Err(Box::new(refused(
                command,
                ErrorCode::INVALID_ARGUMENT,
                &text,
            )));
        }
        Command::DtxSetTimeout(set) => DtxRequest::SetTimeout {
            xid: xid(&set.xid)?,
            // 0-10: dtx.set-timeout.reset: none is the default again.
            timeout: match set.timeout {
                0 => default_seconds,
                seconds => seconds,
            },
        },
        Command::DtxForget(forget) => DtxRequest::Forget {
            xid: xid(&forget.xid)?,
        },
        other => return Err(Box::new(not_implemented(other))),
    })
}
