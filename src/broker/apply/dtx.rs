//! The `dtx` class: branches of distributed transactions. Results and exceptions are qpidd's.

use std::collections::VecDeque;

use super::message::Returned;
use super::publish::too_many_places;
use super::refuse;
use crate::broker::branch::{Acquired, Association, Branch, BranchState, DtxRequest, Xid};
use crate::broker::command::Refusal;
use crate::broker::core::{Core, Work};
use crate::broker::effect::Out;
use crate::broker::ids::{GroupTime, SessionId};
use crate::broker::limits;
use crate::broker::plant::{Plant, is_planted};
use crate::broker::publishes::TransactionPublish;
use crate::broker::queue::policy::Policy;
use crate::broker::session::Transaction;
use crate::wire::{
    Array, CommandId, DtxGetTimeoutResult, DtxRecoverResult, DtxXaResult, ErrorCode, Struct32,
    XaStatus,
};

/// What a session is told of a branch whose work was undone.
fn undone(is_timed_out: bool) -> XaStatus {
    match is_timed_out {
        true => XaStatus::XA_RBTIMEOUT,
        false => XaStatus::XA_RBROLLBACK,
    }
}

fn invalid(text: impl std::fmt::Display) -> Refusal {
    refuse(ErrorCode::COMMAND_INVALID, text)
}

fn illegal(text: impl std::fmt::Display) -> Refusal {
    refuse(ErrorCode::ILLEGAL_STATE, text)
}

impl Core {
    /// A command of the class `dtx`.
    pub(super) fn dtx(
        &mut self,
        id: SessionId,
        command: CommandId,
        request: DtxRequest,
        out: &mut Out,
    ) -> Result<(), Refusal> {
        let status = match request {
            DtxRequest::Select => {
                self.branches.select(id);
                return Ok(());
            }
            DtxRequest::Start {
                xid,
                join,
                resume,
                timeout,
            } => self.dtx_start(id, xid, (join, resume), timeout)?,
            DtxRequest::End { xid, fail, suspend } => self.dtx_end(id, &xid, (fail, suspend))?,
            DtxRequest::Prepare { xid } => self.dtx_prepare(&xid)?,
            DtxRequest::Commit { xid, one_phase } => self.dtx_commit(&xid, one_phase, out)?,
            DtxRequest::Rollback { xid } => self.dtx_rollback(&xid)?,
            DtxRequest::Recover => {
                self.dtx_recover(id, command, out);
                return Ok(());
            }
            DtxRequest::GetTimeout { xid } => {
                let timeout = self.known_branch(&xid)?.timeout;
                let value = Struct32::of(&DtxGetTimeoutResult { timeout });
                self.answer(id, command, value, out);
                return Ok(());
            }
            DtxRequest::SetTimeout { xid, timeout } => return self.dtx_set_timeout(&xid, timeout),
            DtxRequest::Forget { xid } => return self.dtx_forget(&xid),
        };
        self.answer(id, command, Struct32::of(&DtxXaResult { status }), out);
        self.run_work(out);
        Ok(())
    }

    fn known_branch(&self, xid: &Xid) -> Result<&Branch, Refusal> {
        let text = format_args!("Unrecognised xid {xid}");
        let found = self.branches.get(xid);
        found.ok_or_else(|| refuse(ErrorCode::NOT_FOUND, text))
    }

    /// When `timeout` seconds from now are over; 0 never are.
    fn after_seconds(&self, timeout: u32) -> GroupTime {
        match timeout {
            0 => GroupTime::NEVER,
            seconds => self.time.plus(u64::from(seconds) * 1000),
        }
    }

    // What sessions do in branches.

    /// `dtx.start`: what the session publishes and accepts from now on belongs to the branch.
    fn dtx_start(
        &mut self,
        id: SessionId,
        xid: Xid,
        (join, resume): (bool, bool),
        timeout: u32,
    ) -> Result<XaStatus, Refusal> {
        if join && resume {
            return Err(invalid("Join and resume cannot both be set."));
        }
        let Some(session) = self.branches.session(id) else {
            return Err(invalid("Session has not been selected for use with dtx"));
        };
        if let Some(association) = &session.association {
            if association.xid == xid && !join && !resume {
                return Err(is_known(&xid));
            }
            let text = format_args!("Session is associated with xid {}", association.xid);
            return Err(illegal(text));
        }
        let is_suspended = session.suspended.contains(&xid);
        if resume {
            return match is_suspended {
                true => Ok(self.dtx_resume(id, xid)),
                false => Err(invalid(format_args!("xid {xid} not attached"))),
            };
        }
        match self.branches.get(&xid).map(|branch| branch.state) {
            Some(_) if !join => return Err(is_known(&xid)),
            Some(BranchState::RolledBack { is_timed_out }) => return Ok(undone(is_timed_out)),
            Some(BranchState::Prepared(_)) => {
                let text = format_args!("Branch with xid {xid} has been completed!");
                return Err(invalid(text));
            }
            Some(BranchState::Active) if is_suspended => {
                let text = format_args!("xid {xid} is suspended by the session");
                return Err(illegal(text));
            }
            Some(BranchState::Active) => {}
            None if join => return self.known_branch(&xid).map(|_| XaStatus::XA_OK),
            None if self.branches.len() >= limits::BRANCHES_MAX => {
                let text = "the broker can hold no more branches of transactions";
                return Err(refuse(ErrorCode::RESOURCE_LIMIT_EXCEEDED, text));
            }
            None => {
                let due = self.after_seconds(timeout);
                self.branches.insert(xid.clone(), timeout, due);
            }
        }
        self.branches.set_open(&xid, id, true);
        self.associate(id, xid);
        Ok(XaStatus::XA_OK)
    }

    /// The session goes on in a branch that it suspended, if that still stands.
    fn dtx_resume(&mut self, id: SessionId, xid: Xid) -> XaStatus {
        if let Some(session) = self.branches.session_mut(id) {
            session.suspended.remove(&xid);
        }
        if self.branches.open_in(&xid, id).is_some() {
            self.associate(id, xid);
            return XaStatus::XA_OK;
        }
        self.leave_undone(id, &xid)
    }

    /// A session has done its work in a branch that was undone meanwhile.
    fn leave_undone(&mut self, id: SessionId, xid: &Xid) -> XaStatus {
        let was_open = self.branches.set_open(xid, id, false);
        match self.branches.get(xid).map(|branch| branch.state) {
            Some(BranchState::RolledBack { is_timed_out }) if was_open => undone(is_timed_out),
            // Only one whose time ran out is forgotten before its sessions have left it.
            _ => XaStatus::XA_RBTIMEOUT,
        }
    }

    /// A local transaction of the session waits for the end of the association.
    fn associate(&mut self, id: SessionId, xid: Xid) {
        let transaction = &mut self.session_mut(id).transaction;
        let local = transaction.replace(Transaction::default());
        if let Some(session) = self.branches.session_mut(id) {
            session.association = Some(Association { xid, local });
        }
    }

    fn dissociate(&mut self, id: SessionId) {
        let session = self.branches.session_mut(id);
        let association = session.and_then(|session| session.association.take());
        if let Some(association) = association {
            self.session_mut(id).transaction = association.local;
        }
    }

    /// `dtx.end`. As X/Open XA allows, also of a branch that the session has suspended, which
    /// qpidd does not.
    fn dtx_end(
        &mut self,
        id: SessionId,
        xid: &Xid,
        (fail, suspend): (bool, bool),
    ) -> Result<XaStatus, Refusal> {
        let session = self.branches.session(id);
        let is_suspended = session.is_some_and(|session| session.suspended.contains(xid));
        match self.branches.associated(id) {
            Some(associated) if associated == xid => {}
            _ if is_suspended && !suspend => {}
            Some(associated) => {
                let text = format_args!(
                    "xid specified on start was {associated}, but {xid} specified on end"
                );
                return Err(invalid(text));
            }
            None => {
                let text = format_args!("xid {xid} not associated with this session");
                return Err(illegal(text));
            }
        }
        if fail && suspend {
            return Err(invalid("End and suspend cannot both be set."));
        }
        match is_suspended {
            true => self.forget_suspended(id, xid),
            false => self.dissociate(id),
        }
        if self.branches.open_in(xid, id).is_none() {
            return Ok(self.leave_undone(id, xid));
        }
        if suspend {
            if let Some(session) = self.branches.session_mut(id) {
                session.suspended.insert(xid.clone());
            }
            return Ok(XaStatus::XA_OK);
        }
        self.branches.set_open(xid, id, false);
        if fail {
            self.undo_branch(xid, false);
            return Ok(XaStatus::XA_RBROLLBACK);
        }
        Ok(XaStatus::XA_OK)
    }

    fn forget_suspended(&mut self, id: SessionId, xid: &Xid) {
        if let Some(session) = self.branches.session_mut(id) {
            session.suspended.remove(xid);
        }
    }

    /// A session has ended: branches in which it has not ended its work can only be rolled back.
    pub(super) fn leave_branches(&mut self, id: SessionId) {
        let Some(session) = self.branches.remove_session(id) else {
            return;
        };
        let associated = session.association.map(|association| {
            if let Some(local) = &association.local {
                self.forget_publishes(&local.publishes);
            }
            association.xid
        });
        for xid in associated.into_iter().chain(session.suspended) {
            let is_active = self.branches.open_in(&xid, id).is_some();
            self.branches.set_open(&xid, id, false);
            if is_active && !is_planted(Plant::BranchOutlivesSession) {
                self.undo_branch(&xid, false);
            }
        }
    }

    /// A message is published in a session's branch. In one that was undone it goes nowhere.
    pub(super) fn publish_in_branch(
        &mut self,
        id: SessionId,
        xid: &Xid,
        publish: TransactionPublish,
        bytes: u64,
    ) -> Result<(), Refusal> {
        let held = self.branches.bytes();
        let Some(branch) = self.branches.open_in(xid, id) else {
            return Ok(());
        };
        let places = branch.publishes.places() + publish.queues.len();
        let is_over = branch.bytes.saturating_add(bytes) > limits::TRANSACTION_BYTES_MAX
            || branch.publishes.len() >= limits::TRANSACTION_OPERATIONS_MAX
            || held.saturating_add(bytes) > limits::BRANCHES_BYTES_MAX;
        if is_over {
            let text = "the branch publishes more than a broker can hold";
            return Err(refuse(ErrorCode::RESOURCE_LIMIT_EXCEEDED, text));
        }
        if places > limits::TRANSACTION_PLACES_MAX {
            return Err(too_many_places());
        }
        self.held.come_to_transaction(&publish);
        self.branches.publish(xid, publish, bytes);
        Ok(())
    }

    /// Messages were accepted in a session's branch, which has them now. From one that was undone
    /// they go back.
    pub(super) fn accepted_in_branch(
        &mut self,
        id: SessionId,
        xid: &Xid,
        accepted: VecDeque<Acquired>,
    ) -> Result<(), Refusal> {
        let Some(branch) = self.branches.open_in(xid, id) else {
            self.give_back_later(accepted);
            return Ok(());
        };
        branch.accepts.extend(accepted);
        if branch.accepts.len() > limits::TRANSACTION_OPERATIONS_MAX {
            let text = "the branch accepts more than a broker can hold";
            return Err(refuse(ErrorCode::RESOURCE_LIMIT_EXCEEDED, text));
        }
        Ok(())
    }

    /// `dtx.forget`: of a branch that the broker decided alone, which is one whose time ran out.
    /// 0-10: dtx.forget: unknown-xid, not-disassociated, illegal-state.
    fn dtx_forget(&mut self, xid: &Xid) -> Result<(), Refusal> {
        match self.ended_branch(xid)? {
            BranchState::RolledBack { is_timed_out: true } => Ok(()),
            _ => {
                let text =
                    format_args!("Branch with xid {xid} was not decided by the broker alone");
                Err(illegal(text))
            }
        }
    }

    // What becomes of branches.

    /// The state of a branch with which something is to be done. Err when a session still works in
    /// it; one whose time has run out is forgotten.
    fn ended_branch(&mut self, xid: &Xid) -> Result<BranchState, Refusal> {
        let branch = self.known_branch(xid)?;
        let (state, is_ended) = (branch.state, branch.open.is_empty());
        if state == (BranchState::RolledBack { is_timed_out: true }) {
            self.branches.remove(xid);
            return Ok(state);
        }
        match is_ended {
            true => Ok(state),
            false => {
                let text = format_args!("Branch with xid {xid} not completed!");
                Err(illegal(text))
            }
        }
    }

    /// `dtx.prepare`: what the branch publishes has its room in the queues from now on, and the
    /// branch survives. Of one that is prepared it is said again.
    fn dtx_prepare(&mut self, xid: &Xid) -> Result<XaStatus, Refusal> {
        match self.ended_branch(xid)? {
            BranchState::RolledBack { is_timed_out } => return Ok(undone(is_timed_out)),
            BranchState::Prepared(_) => return Ok(XaStatus::XA_OK),
            BranchState::Active => {}
        }
        if self.is_too_much(xid) {
            self.undo_branch(xid, false);
            return Ok(XaStatus::XA_RBROLLBACK);
        }
        self.branches.prepare(xid);
        self.promise(xid, true);
        self.say_prepared(xid);
        Ok(XaStatus::XA_OK)
    }

    /// `dtx.commit`: all of it in this entry.
    fn dtx_commit(
        &mut self,
        xid: &Xid,
        one_phase: bool,
        out: &mut Out,
    ) -> Result<XaStatus, Refusal> {
        match self.ended_branch(xid)? {
            BranchState::RolledBack { is_timed_out } => {
                self.branches.remove(xid);
                return Ok(undone(is_timed_out));
            }
            BranchState::Prepared(_) if one_phase => {
                let text = format_args!(
                    "Branch with xid {xid} has been prepared, one-phase option not valid!"
                );
                return Err(illegal(text));
            }
            BranchState::Active if !one_phase => {
                let text = format_args!(
                    "Branch with xid {xid} has not been prepared, one-phase option required!"
                );
                return Err(illegal(text));
            }
            BranchState::Active if self.is_too_much(xid) => {
                self.undo_branch(xid, false);
                self.branches.remove(xid);
                return Ok(XaStatus::XA_RBROLLBACK);
            }
            BranchState::Active | BranchState::Prepared(_) => {}
        }
        let Some(branch) = self.complete_branch(xid) else {
            return Ok(XaStatus::XA_OK);
        };
        for (queue, position) in branch.accepts {
            self.dequeue(queue, position);
        }
        for publish in branch.publishes {
            self.enqueue_committed(publish, out);
            if is_planted(Plant::HalfCommitted) {
                break;
            }
        }
        Ok(XaStatus::XA_OK)
    }

    /// `dtx.rollback`: what was accepted goes back in place, flagged, as work allows.
    fn dtx_rollback(&mut self, xid: &Xid) -> Result<XaStatus, Refusal> {
        let state = self.ended_branch(xid)?;
        if state == (BranchState::RolledBack { is_timed_out: true }) {
            return Ok(XaStatus::XA_RBTIMEOUT);
        }
        if let Some(branch) = self.complete_branch(xid) {
            self.forget_publishes(&branch.publishes);
            self.give_back_later(branch.accepts);
        }
        Ok(XaStatus::XA_OK)
    }

    /// Takes a branch out of the world, to do with it what was decided.
    fn complete_branch(&mut self, xid: &Xid) -> Option<Branch> {
        self.promise(xid, false);
        let branch = self.branches.remove(xid)?;
        if let BranchState::Prepared(number) = branch.state
            && !is_planted(Plant::OutcomeNotSaid)
        {
            self.scratch.facts.completed(number);
        }
        Some(branch)
    }

    /// Undoes an active branch, and remembers it for a while.
    fn undo_branch(&mut self, xid: &Xid, is_timed_out: bool) {
        let forgotten = self.time.plus(limits::UNDONE_BRANCH_MS);
        let (publishes, accepted) = self.branches.roll_back(xid, is_timed_out, forgotten);
        self.forget_publishes(&publishes);
        self.give_back_later(accepted);
    }

    /// Undoes branches whose time has run out, and forgets those that have been remembered for long
    /// enough. What an entry's work does not suffice for is due still.
    pub(in crate::broker) fn expire_branches(&mut self) {
        while self.scratch.steps > 0
            && let Some(xid) = self.branches.first_due(self.time)
        {
            self.scratch.steps -= 1;
            match self.branches.get(&xid).map(|branch| branch.state) {
                Some(BranchState::Active) => self.undo_branch(&xid, true),
                _ => _ = self.branches.remove(&xid),
            }
        }
    }

    fn give_back_later(&mut self, accepted: VecDeque<Acquired>) {
        if !accepted.is_empty() {
            self.work.push_back(Work::GiveBack(accepted));
        }
    }

    /// Makes messages of a branch available again, as far as the entry's work goes.
    pub(super) fn give_back_accepted(
        &mut self,
        mut accepted: VecDeque<Acquired>,
        out: &mut Out,
    ) -> Option<Work> {
        let mut back = Returned::new();
        while self.scratch.steps > 0
            && let Some((queue, position)) = accepted.pop_front()
        {
            self.scratch.steps -= 1;
            self.put_back_at(queue, position, true, &mut back);
        }
        self.dispatch_returned(back, out);
        (!accepted.is_empty()).then_some(Work::GiveBack(accepted))
    }

    // Room in queues.

    /// Whether a queue has no room for what a branch publishes. What it accepts makes none.
    fn is_too_much(&self, xid: &Xid) -> bool {
        let branch = self.branches.get(xid);
        branch.is_some_and(|branch| self.overflow_of(&branch.publishes).is_some())
    }

    /// Keeps the room that a prepared branch takes, or frees it. A queue that makes room for what comes
    /// keeps none.
    fn promise(&mut self, xid: &Xid, is_kept: bool) {
        let branch = self.branches.get(xid);
        let is_prepared = |branch: &&Branch| matches!(branch.state, BranchState::Prepared(_));
        let Some(branch) = branch.filter(is_prepared) else {
            return;
        };
        // What a queue's arguments keep out: those stay as they are, so that as much room is freed as was
        // kept.
        let depths = self.depths_of(&branch.publishes, |queue, stored| {
            let rules = queue.rules.as_ref();
            rules.is_none_or(|rules| rules.admit(&stored.message))
        });
        for (reference, (count, bytes)) in depths {
            let Some(queue) = self.live_queue(reference) else {
                continue;
            };
            if queue.policy != Policy::Reject {
                continue;
            }
            let promised = &mut queue.promised;
            match is_kept {
                true => {
                    (promised.count, promised.bytes) =
                        (promised.count + count, promised.bytes + bytes)
                }
                false => {
                    (promised.count, promised.bytes) =
                        (promised.count - count, promised.bytes - bytes)
                }
            }
        }
    }

    /// Keeps the room of all prepared branches: in a core that has just been made of octets.
    pub(in crate::broker) fn promise_anew(&mut self) {
        let prepared = self.branches.prepared().map(|(_, xid, _)| xid.clone());
        for xid in prepared.collect::<Vec<_>>() {
            self.promise(&xid, true);
        }
    }

    // Queries.

    /// `dtx.recover`: the branches that are prepared.
    fn dtx_recover(&mut self, id: SessionId, command: CommandId, out: &mut Out) {
        let prepared = self.branches.prepared();
        let xids = prepared.map(|(_, xid, _)| Struct32::of(&xid.to_wire()));
        let in_doubt = Array::of_struct32(xids);
        let value = Struct32::of(&DtxRecoverResult { in_doubt });
        self.answer(id, command, value, out);
    }

    /// `dtx.set-timeout`: time begins anew, unless nothing changes. A prepared branch has no end.
    fn dtx_set_timeout(&mut self, xid: &Xid, timeout: u32) -> Result<(), Refusal> {
        let branch = self.known_branch(xid)?;
        let (state, former) = (branch.state, branch.timeout);
        if former != timeout {
            self.branches.set_timeout(xid, timeout);
            if state == BranchState::Active {
                let due = self.after_seconds(timeout);
                self.branches.set_due(xid, due);
            }
        }
        Ok(())
    }
}

/// What is told of a branch that is there and is to be started. qpidd's words.
fn is_known(xid: &Xid) -> Refusal {
    let text =
        format_args!("Xid {xid} is already known (use 'join' to add work to an existing xid)");
    refuse(ErrorCode::NOT_ALLOWED, text)
}
