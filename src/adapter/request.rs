//! A command of a session becomes a request of the core.

use bytes::Bytes;

use super::dtx::DtxTimeouts;
use super::{dtx, exchange, execution, file, message, queue, stream, tx};
use crate::broker::branch::DtxRequest;
use crate::broker::limits::BATCH_BYTES_MAX;
use crate::broker::{Refusal, Request};
use crate::protocol::Body;
use crate::wire::{Command, ErrorCode, SequenceSet};

/// What the adapter decides and a request carries.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Given {
    /// How long work in branches of distributed transactions may take.
    pub dtx_timeouts: DtxTimeouts,
    /// What messages get for the time of their coming, in seconds since 1970.
    pub stamp: Option<u64>,
}

/// What a command comes to before it is proposed.
pub(super) enum Outcome {
    /// This is asked of the core.
    Request(Request),
    /// The connection is closed with 501 and this text.
    Close(String),
}

impl From<Request> for Outcome {
    fn from(request: Request) -> Outcome {
        Outcome::Request(request)
    }
}

/// Octets that a request adds to its batch: those of a message, which are held until it is applied,
/// or those of an answer that nobody can tell beforehand. A queue's arguments may be large, so its
/// answer has a batch to itself: only then is it known what a client leaves unread.
pub(super) fn batch_bytes(request: &Request) -> usize {
    match request {
        Request::Transfer { message, .. } => usize::try_from(message.size()).unwrap_or(usize::MAX),
        Request::QueueQuery(_) | Request::ExchangeQuery(_) => BATCH_BYTES_MAX,
        Request::Dtx(request) if **request == DtxRequest::Recover => BATCH_BYTES_MAX,
        Request::Accept { transfers }
        | Request::Release { transfers, .. }
        | Request::Reject { transfers }
        | Request::Acquire { transfers } => named(transfers),
        _ => 0,
    }
}

/// What a set of deliveries adds to its batch: an octet for each that it names. Each is looked at
/// with the core locked, however often it is named, so a batch of a few octets on the wire could
/// keep all others waiting.
pub(super) fn named(commands: &SequenceSet) -> usize {
    let count = usize::try_from(commands.id_count()).unwrap_or(usize::MAX);
    count.min(BATCH_BYTES_MAX)
}

/// Translates a command. `header` and `body` are there for commands with content only.
pub(super) fn of(
    command: Command,
    header: Option<&Bytes>,
    body: Option<&Body>,
    given: Given,
) -> Outcome {
    use Command as C;
    match command {
        C::MessageTransfer(transfer) => message::transfer(transfer, header, body, given.stamp),
        C::MessageAccept(accept) => message::accept(accept).into(),
        C::MessageReject(reject) => message::reject(reject).into(),
        C::MessageRelease(release) => message::release(release).into(),
        C::MessageAcquire(acquire) => message::acquire(acquire).into(),
        C::MessageResume(_) => Request::MessageResume.into(),
        C::MessageSubscribe(subscribe) => message::subscribe(subscribe),
        C::MessageCancel(cancel) => message::cancel(cancel).into(),
        C::MessageSetFlowMode(mode) => message::set_flow_mode(mode).into(),
        C::MessageFlow(flow) => message::flow(flow).into(),
        C::MessageFlush(flush) => message::flush(flush).into(),
        C::MessageStop(stop) => message::stop(stop).into(),
        C::ExecutionSync(_) | C::ExecutionResult(_) | C::ExecutionException(_) => {
            execution::request(&command).into()
        }
        C::TxSelect(_) | C::TxCommit(_) | C::TxRollback(_) => tx::request(&command).into(),
        C::ExchangeDeclare(_)
        | C::ExchangeDelete(_)
        | C::ExchangeQuery(_)
        | C::ExchangeBind(_)
        | C::ExchangeUnbind(_)
        | C::ExchangeBound(_) => exchange::request(command).into(),
        C::QueueDeclare(_) | C::QueueDelete(_) | C::QueuePurge(_) | C::QueueQuery(_) => {
            queue::request(command)
        }
        C::DtxSelect(_)
        | C::DtxStart(_)
        | C::DtxEnd(_)
        | C::DtxCommit(_)
        | C::DtxForget(_)
        | C::DtxGetTimeout(_)
        | C::DtxPrepare(_)
        | C::DtxRecover(_)
        | C::DtxRollback(_)
        | C::DtxSetTimeout(_) => dtx::request(&command, given.dtx_timeouts).into(),
        C::FileQos(_)
        | C::FileQosOk(_)
        | C::FileConsume(_)
        | C::FileConsumeOk(_)
        | C::FileCancel(_)
        | C::FileOpen(_)
        | C::FileOpenOk(_)
        | C::FileStage(_)
        | C::FilePublish(_)
        | C::FileReturn(_)
        | C::FileDeliver(_)
        | C::FileAck(_)
        | C::FileReject(_) => file::request(&command).into(),
        C::StreamQos(_)
        | C::StreamQosOk(_)
        | C::StreamConsume(_)
        | C::StreamConsumeOk(_)
        | C::StreamCancel(_)
        | C::StreamPublish(_)
        | C::StreamReturn(_)
        | C::StreamDeliver(_) => stream::request(&command).into(),
    }
}

/// Refuses a command that is not built: never silence.
pub(super) fn not_implemented(command: &Command) -> Request {
    let text = format!("{} is not implemented", command.name());
    refused(command, ErrorCode::NOT_IMPLEMENTED, &text)
}

/// Refuses a command, so that the session fails when its turn comes. As in qpidd the exception
/// names no class and command for a command with content.
pub(super) fn refused(command: &Command, code: ErrorCode, text: &str) -> Request {
    let (class, command) = match command.has_content() {
        true => (0, 0),
        false => command.code(),
    };
    refusal(code, (class, command), text)
}

/// A refusal whose text begins with the code's name, as the core's do.
pub(super) fn refusal(code: ErrorCode, (class, command): (u8, u8), text: &str) -> Request {
    Request::Refused(Box::new(Refusal {
        code,
        class,
        command,
        text: format!("{code}: {text}"),
    }))
}
