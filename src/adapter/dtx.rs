//! Class `dtx`: distributed transactions.

use super::limits::{DTX_DEFAULT_TIMEOUT_SECONDS, DTX_TIMEOUT_SECONDS_MAX};
use super::request::{not_implemented, refused};
use crate::broker::Request;
use crate::broker::branch::{DtxRequest, Xid};
use crate::broker::limits::XID_PART_BYTES_MAX;
use crate::wire::{Command, DtxXid, ErrorCode};

/// What branch there is is the core's to know. `dtx.forget` is refused as qpidd does: nothing is
/// decided heuristically, so there is nothing to forget.
pub(super) fn request(command: &Command) -> Request {
    asked(command).map_or_else(
        |refused| *refused,
        |request| Request::Dtx(Box::new(request)),
    )
}

fn asked(command: &Command) -> Result<DtxRequest, Box<Request>> {
    let xid = |xid: &DtxXid| {
        let known = Xid::new(xid.format, &xid.global_id, &xid.branch_id);
        known.ok_or_else(|| {
            let text = format!("each part of an xid has {XID_PART_BYTES_MAX} octets at most");
            Box::new(refused(command, ErrorCode::INVALID_ARGUMENT, &text))
        })
    };
    Ok(match command {
        Command::DtxSelect(_) => DtxRequest::Select,
        Command::DtxStart(start) => DtxRequest::Start {
            xid: xid(&start.xid)?,
            join: start.join,
            resume: start.resume,
            timeout: DTX_DEFAULT_TIMEOUT_SECONDS,
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
        Command::DtxSetTimeout(set) if set.timeout > DTX_TIMEOUT_SECONDS_MAX => {
            let text = format!(
                "timeout {} is bigger than maximum allowed {DTX_TIMEOUT_SECONDS_MAX}",
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
                0 => DTX_DEFAULT_TIMEOUT_SECONDS,
                seconds => seconds,
            },
        },
        other => return Err(Box::new(not_implemented(other))),
    })
}
