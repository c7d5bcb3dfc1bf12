//! All commands.

// Generated from spec/amqp-0-10.spec by spec/generator. Not to be edited:
// UPDATE=1 cargo test --test spec_staleness

use super::DtxCommit;
use super::DtxEnd;
use super::DtxForget;
use super::DtxGetTimeout;
use super::DtxPrepare;
use super::DtxRecover;
use super::DtxRollback;
use super::DtxSelect;
use super::DtxSetTimeout;
use super::DtxStart;
use super::ExchangeBind;
use super::ExchangeBound;
use super::ExchangeDeclare;
use super::ExchangeDelete;
use super::ExchangeQuery;
use super::ExchangeUnbind;
use super::ExecutionException;
use super::ExecutionResult;
use super::ExecutionSync;
use super::FileAck;
use super::FileCancel;
use super::FileConsume;
use super::FileConsumeOk;
use super::FileDeliver;
use super::FileOpen;
use super::FileOpenOk;
use super::FilePublish;
use super::FileQos;
use super::FileQosOk;
use super::FileReject;
use super::FileReturn;
use super::FileStage;
use super::MessageAccept;
use super::MessageAcquire;
use super::MessageCancel;
use super::MessageFlow;
use super::MessageFlush;
use super::MessageReject;
use super::MessageRelease;
use super::MessageResume;
use super::MessageSetFlowMode;
use super::MessageStop;
use super::MessageSubscribe;
use super::MessageTransfer;
use super::QueueDeclare;
use super::QueueDelete;
use super::QueuePurge;
use super::QueueQuery;
use super::SessionHeader;
use super::StreamCancel;
use super::StreamConsume;
use super::StreamConsumeOk;
use super::StreamDeliver;
use super::StreamPublish;
use super::StreamQos;
use super::StreamQosOk;
use super::StreamReturn;
use super::TxCommit;
use super::TxRollback;
use super::TxSelect;
use crate::wire::cursor::Cursor;
use crate::wire::decode_error::{DecodeError, Problem};
use crate::wire::encode;
use crate::wire::packed::Packed;

/// Any of the commands.
#[derive(Clone, Debug, PartialEq)]
pub enum Command {
    /// `execution.sync`.
    ExecutionSync(ExecutionSync),
    /// `execution.result`.
    ExecutionResult(ExecutionResult),
    /// `execution.exception`.
    ExecutionException(ExecutionException),
    /// `message.transfer`.
    MessageTransfer(MessageTransfer),
    /// `message.accept`.
    MessageAccept(MessageAccept),
    /// `message.reject`.
    MessageReject(MessageReject),
    /// `message.release`.
    MessageRelease(MessageRelease),
    /// `message.acquire`.
    MessageAcquire(MessageAcquire),
    /// `message.resume`.
    MessageResume(MessageResume),
    /// `message.subscribe`.
    MessageSubscribe(MessageSubscribe),
    /// `message.cancel`.
    MessageCancel(MessageCancel),
    /// `message.set-flow-mode`.
    MessageSetFlowMode(MessageSetFlowMode),
    /// `message.flow`.
    MessageFlow(MessageFlow),
    /// `message.flush`.
    MessageFlush(MessageFlush),
    /// `message.stop`.
    MessageStop(MessageStop),
    /// `tx.select`.
    TxSelect(TxSelect),
    /// `tx.commit`.
    TxCommit(TxCommit),
    /// `tx.rollback`.
    TxRollback(TxRollback),
    /// `dtx.select`.
    DtxSelect(DtxSelect),
    /// `dtx.start`.
    DtxStart(DtxStart),
    /// `dtx.end`.
    DtxEnd(DtxEnd),
    /// `dtx.commit`.
    DtxCommit(DtxCommit),
    /// `dtx.forget`.
    DtxForget(DtxForget),
    /// `dtx.get-timeout`.
    DtxGetTimeout(DtxGetTimeout),
    /// `dtx.prepare`.
    DtxPrepare(DtxPrepare),
    /// `dtx.recover`.
    DtxRecover(DtxRecover),
    /// `dtx.rollback`.
    DtxRollback(DtxRollback),
    /// `dtx.set-timeout`.
    DtxSetTimeout(DtxSetTimeout),
    /// `exchange.declare`.
    ExchangeDeclare(ExchangeDeclare),
    /// `exchange.delete`.
    ExchangeDelete(ExchangeDelete),
    /// `exchange.query`.
    ExchangeQuery(ExchangeQuery),
    /// `exchange.bind`.
    ExchangeBind(ExchangeBind),
    /// `exchange.unbind`.
    ExchangeUnbind(ExchangeUnbind),
    /// `exchange.bound`.
    ExchangeBound(ExchangeBound),
    /// `queue.declare`.
    QueueDeclare(QueueDeclare),
    /// `queue.delete`.
    QueueDelete(QueueDelete),
    /// `queue.purge`.
    QueuePurge(QueuePurge),
    /// `queue.query`.
    QueueQuery(QueueQuery),
    /// `file.qos`.
    FileQos(FileQos),
    /// `file.qos-ok`.
    FileQosOk(FileQosOk),
    /// `file.consume`.
    FileConsume(FileConsume),
    /// `file.consume-ok`.
    FileConsumeOk(FileConsumeOk),
    /// `file.cancel`.
    FileCancel(FileCancel),
    /// `file.open`.
    FileOpen(FileOpen),
    /// `file.open-ok`.
    FileOpenOk(FileOpenOk),
    /// `file.stage`.
    FileStage(FileStage),
    /// `file.publish`.
    FilePublish(FilePublish),
    /// `file.return`.
    FileReturn(FileReturn),
    /// `file.deliver`.
    FileDeliver(FileDeliver),
    /// `file.ack`.
    FileAck(FileAck),
    /// `file.reject`.
    FileReject(FileReject),
    /// `stream.qos`.
    StreamQos(StreamQos),
    /// `stream.qos-ok`.
    StreamQosOk(StreamQosOk),
    /// `stream.consume`.
    StreamConsume(StreamConsume),
    /// `stream.consume-ok`.
    StreamConsumeOk(StreamConsumeOk),
    /// `stream.cancel`.
    StreamCancel(StreamCancel),
    /// `stream.publish`.
    StreamPublish(StreamPublish),
    /// `stream.return`.
    StreamReturn(StreamReturn),
    /// `stream.deliver`.
    StreamDeliver(StreamDeliver),
}

impl Command {
    /// Reads a whole command segment: class, code, session header, fields, and nothing behind
    /// them.
    pub fn decode(cursor: &mut Cursor<'_>) -> Result<(SessionHeader, Self), DecodeError> {
        let (class, code) = cursor.codes("command")?;
        let header = cursor.sized::<SessionHeader>(1)?;
        Ok((header, Self::decode_fields(cursor, class, code)?))
    }

    /// Appends class, code, session header and fields.
    pub fn encode(&self, sync: bool, out: &mut Vec<u8>) {
        let (class, code) = self.code();
        out.extend_from_slice(&[class, code]);
        encode::sized(out, 1, &SessionHeader { sync });
        self.encode_fields(out);
    }

    fn decode_fields(cursor: &mut Cursor<'_>, class: u8, code: u8) -> Result<Self, DecodeError> {
        let item = match (class, code) {
            (3, 1) => ExecutionSync::decode_fields(cursor).map(Self::ExecutionSync)?,
            (3, 2) => ExecutionResult::decode_fields(cursor).map(Self::ExecutionResult)?,
            (3, 3) => ExecutionException::decode_fields(cursor).map(Self::ExecutionException)?,
            (4, 1) => MessageTransfer::decode_fields(cursor).map(Self::MessageTransfer)?,
            (4, 2) => MessageAccept::decode_fields(cursor).map(Self::MessageAccept)?,
            (4, 3) => MessageReject::decode_fields(cursor).map(Self::MessageReject)?,
            (4, 4) => MessageRelease::decode_fields(cursor).map(Self::MessageRelease)?,
            (4, 5) => MessageAcquire::decode_fields(cursor).map(Self::MessageAcquire)?,
            (4, 6) => MessageResume::decode_fields(cursor).map(Self::MessageResume)?,
            (4, 7) => MessageSubscribe::decode_fields(cursor).map(Self::MessageSubscribe)?,
            (4, 8) => MessageCancel::decode_fields(cursor).map(Self::MessageCancel)?,
            (4, 9) => MessageSetFlowMode::decode_fields(cursor).map(Self::MessageSetFlowMode)?,
            (4, 10) => MessageFlow::decode_fields(cursor).map(Self::MessageFlow)?,
            (4, 11) => MessageFlush::decode_fields(cursor).map(Self::MessageFlush)?,
            (4, 12) => MessageStop::decode_fields(cursor).map(Self::MessageStop)?,
            (5, 1) => TxSelect::decode_fields(cursor).map(Self::TxSelect)?,
            (5, 2) => TxCommit::decode_fields(cursor).map(Self::TxCommit)?,
            (5, 3) => TxRollback::decode_fields(cursor).map(Self::TxRollback)?,
            (6, 1) => DtxSelect::decode_fields(cursor).map(Self::DtxSelect)?,
            (6, 2) => DtxStart::decode_fields(cursor).map(Self::DtxStart)?,
            (6, 3) => DtxEnd::decode_fields(cursor).map(Self::DtxEnd)?,
            (6, 4) => DtxCommit::decode_fields(cursor).map(Self::DtxCommit)?,
            (6, 5) => DtxForget::decode_fields(cursor).map(Self::DtxForget)?,
            (6, 6) => DtxGetTimeout::decode_fields(cursor).map(Self::DtxGetTimeout)?,
            (6, 7) => DtxPrepare::decode_fields(cursor).map(Self::DtxPrepare)?,
            (6, 8) => DtxRecover::decode_fields(cursor).map(Self::DtxRecover)?,
            (6, 9) => DtxRollback::decode_fields(cursor).map(Self::DtxRollback)?,
            (6, 10) => DtxSetTimeout::decode_fields(cursor).map(Self::DtxSetTimeout)?,
            (7, 1) => ExchangeDeclare::decode_fields(cursor).map(Self::ExchangeDeclare)?,
            (7, 2) => ExchangeDelete::decode_fields(cursor).map(Self::ExchangeDelete)?,
            (7, 3) => ExchangeQuery::decode_fields(cursor).map(Self::ExchangeQuery)?,
            (7, 4) => ExchangeBind::decode_fields(cursor).map(Self::ExchangeBind)?,
            (7, 5) => ExchangeUnbind::decode_fields(cursor).map(Self::ExchangeUnbind)?,
            (7, 6) => ExchangeBound::decode_fields(cursor).map(Self::ExchangeBound)?,
            (8, 1) => QueueDeclare::decode_fields(cursor).map(Self::QueueDeclare)?,
            (8, 2) => QueueDelete::decode_fields(cursor).map(Self::QueueDelete)?,
            (8, 3) => QueuePurge::decode_fields(cursor).map(Self::QueuePurge)?,
            (8, 4) => QueueQuery::decode_fields(cursor).map(Self::QueueQuery)?,
            (9, 1) => FileQos::decode_fields(cursor).map(Self::FileQos)?,
            (9, 2) => FileQosOk::decode_fields(cursor).map(Self::FileQosOk)?,
            (9, 3) => FileConsume::decode_fields(cursor).map(Self::FileConsume)?,
            (9, 4) => FileConsumeOk::decode_fields(cursor).map(Self::FileConsumeOk)?,
            (9, 5) => FileCancel::decode_fields(cursor).map(Self::FileCancel)?,
            (9, 6) => FileOpen::decode_fields(cursor).map(Self::FileOpen)?,
            (9, 7) => FileOpenOk::decode_fields(cursor).map(Self::FileOpenOk)?,
            (9, 8) => FileStage::decode_fields(cursor).map(Self::FileStage)?,
            (9, 9) => FilePublish::decode_fields(cursor).map(Self::FilePublish)?,
            (9, 10) => FileReturn::decode_fields(cursor).map(Self::FileReturn)?,
            (9, 11) => FileDeliver::decode_fields(cursor).map(Self::FileDeliver)?,
            (9, 12) => FileAck::decode_fields(cursor).map(Self::FileAck)?,
            (9, 13) => FileReject::decode_fields(cursor).map(Self::FileReject)?,
            (10, 1) => StreamQos::decode_fields(cursor).map(Self::StreamQos)?,
            (10, 2) => StreamQosOk::decode_fields(cursor).map(Self::StreamQosOk)?,
            (10, 3) => StreamConsume::decode_fields(cursor).map(Self::StreamConsume)?,
            (10, 4) => StreamConsumeOk::decode_fields(cursor).map(Self::StreamConsumeOk)?,
            (10, 5) => StreamCancel::decode_fields(cursor).map(Self::StreamCancel)?,
            (10, 6) => StreamPublish::decode_fields(cursor).map(Self::StreamPublish)?,
            (10, 7) => StreamReturn::decode_fields(cursor).map(Self::StreamReturn)?,
            (10, 8) => StreamDeliver::decode_fields(cursor).map(Self::StreamDeliver)?,
            _ => return Err(cursor.error(Problem::UnknownCode { class, code })),
        };
        cursor.finish()?;
        Ok(item)
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        match self {
            Self::ExecutionSync(item) => item.encode_fields(out),
            Self::ExecutionResult(item) => item.encode_fields(out),
            Self::ExecutionException(item) => item.encode_fields(out),
            Self::MessageTransfer(item) => item.encode_fields(out),
            Self::MessageAccept(item) => item.encode_fields(out),
            Self::MessageReject(item) => item.encode_fields(out),
            Self::MessageRelease(item) => item.encode_fields(out),
            Self::MessageAcquire(item) => item.encode_fields(out),
            Self::MessageResume(item) => item.encode_fields(out),
            Self::MessageSubscribe(item) => item.encode_fields(out),
            Self::MessageCancel(item) => item.encode_fields(out),
            Self::MessageSetFlowMode(item) => item.encode_fields(out),
            Self::MessageFlow(item) => item.encode_fields(out),
            Self::MessageFlush(item) => item.encode_fields(out),
            Self::MessageStop(item) => item.encode_fields(out),
            Self::TxSelect(item) => item.encode_fields(out),
            Self::TxCommit(item) => item.encode_fields(out),
            Self::TxRollback(item) => item.encode_fields(out),
            Self::DtxSelect(item) => item.encode_fields(out),
            Self::DtxStart(item) => item.encode_fields(out),
            Self::DtxEnd(item) => item.encode_fields(out),
            Self::DtxCommit(item) => item.encode_fields(out),
            Self::DtxForget(item) => item.encode_fields(out),
            Self::DtxGetTimeout(item) => item.encode_fields(out),
            Self::DtxPrepare(item) => item.encode_fields(out),
            Self::DtxRecover(item) => item.encode_fields(out),
            Self::DtxRollback(item) => item.encode_fields(out),
            Self::DtxSetTimeout(item) => item.encode_fields(out),
            Self::ExchangeDeclare(item) => item.encode_fields(out),
            Self::ExchangeDelete(item) => item.encode_fields(out),
            Self::ExchangeQuery(item) => item.encode_fields(out),
            Self::ExchangeBind(item) => item.encode_fields(out),
            Self::ExchangeUnbind(item) => item.encode_fields(out),
            Self::ExchangeBound(item) => item.encode_fields(out),
            Self::QueueDeclare(item) => item.encode_fields(out),
            Self::QueueDelete(item) => item.encode_fields(out),
            Self::QueuePurge(item) => item.encode_fields(out),
            Self::QueueQuery(item) => item.encode_fields(out),
            Self::FileQos(item) => item.encode_fields(out),
            Self::FileQosOk(item) => item.encode_fields(out),
            Self::FileConsume(item) => item.encode_fields(out),
            Self::FileConsumeOk(item) => item.encode_fields(out),
            Self::FileCancel(item) => item.encode_fields(out),
            Self::FileOpen(item) => item.encode_fields(out),
            Self::FileOpenOk(item) => item.encode_fields(out),
            Self::FileStage(item) => item.encode_fields(out),
            Self::FilePublish(item) => item.encode_fields(out),
            Self::FileReturn(item) => item.encode_fields(out),
            Self::FileDeliver(item) => item.encode_fields(out),
            Self::FileAck(item) => item.encode_fields(out),
            Self::FileReject(item) => item.encode_fields(out),
            Self::StreamQos(item) => item.encode_fields(out),
            Self::StreamQosOk(item) => item.encode_fields(out),
            Self::StreamConsume(item) => item.encode_fields(out),
            Self::StreamConsumeOk(item) => item.encode_fields(out),
            Self::StreamCancel(item) => item.encode_fields(out),
            Self::StreamPublish(item) => item.encode_fields(out),
            Self::StreamReturn(item) => item.encode_fields(out),
            Self::StreamDeliver(item) => item.encode_fields(out),
        }
    }

    /// The name, as `class.item`.
    pub fn name(&self) -> &'static str {
        match self {
            Self::ExecutionSync(_) => ExecutionSync::NAME,
            Self::ExecutionResult(_) => ExecutionResult::NAME,
            Self::ExecutionException(_) => ExecutionException::NAME,
            Self::MessageTransfer(_) => MessageTransfer::NAME,
            Self::MessageAccept(_) => MessageAccept::NAME,
            Self::MessageReject(_) => MessageReject::NAME,
            Self::MessageRelease(_) => MessageRelease::NAME,
            Self::MessageAcquire(_) => MessageAcquire::NAME,
            Self::MessageResume(_) => MessageResume::NAME,
            Self::MessageSubscribe(_) => MessageSubscribe::NAME,
            Self::MessageCancel(_) => MessageCancel::NAME,
            Self::MessageSetFlowMode(_) => MessageSetFlowMode::NAME,
            Self::MessageFlow(_) => MessageFlow::NAME,
            Self::MessageFlush(_) => MessageFlush::NAME,
            Self::MessageStop(_) => MessageStop::NAME,
            Self::TxSelect(_) => TxSelect::NAME,
            Self::TxCommit(_) => TxCommit::NAME,
            Self::TxRollback(_) => TxRollback::NAME,
            Self::DtxSelect(_) => DtxSelect::NAME,
            Self::DtxStart(_) => DtxStart::NAME,
            Self::DtxEnd(_) => DtxEnd::NAME,
            Self::DtxCommit(_) => DtxCommit::NAME,
            Self::DtxForget(_) => DtxForget::NAME,
            Self::DtxGetTimeout(_) => DtxGetTimeout::NAME,
            Self::DtxPrepare(_) => DtxPrepare::NAME,
            Self::DtxRecover(_) => DtxRecover::NAME,
            Self::DtxRollback(_) => DtxRollback::NAME,
            Self::DtxSetTimeout(_) => DtxSetTimeout::NAME,
            Self::ExchangeDeclare(_) => ExchangeDeclare::NAME,
            Self::ExchangeDelete(_) => ExchangeDelete::NAME,
            Self::ExchangeQuery(_) => ExchangeQuery::NAME,
            Self::ExchangeBind(_) => ExchangeBind::NAME,
            Self::ExchangeUnbind(_) => ExchangeUnbind::NAME,
            Self::ExchangeBound(_) => ExchangeBound::NAME,
            Self::QueueDeclare(_) => QueueDeclare::NAME,
            Self::QueueDelete(_) => QueueDelete::NAME,
            Self::QueuePurge(_) => QueuePurge::NAME,
            Self::QueueQuery(_) => QueueQuery::NAME,
            Self::FileQos(_) => FileQos::NAME,
            Self::FileQosOk(_) => FileQosOk::NAME,
            Self::FileConsume(_) => FileConsume::NAME,
            Self::FileConsumeOk(_) => FileConsumeOk::NAME,
            Self::FileCancel(_) => FileCancel::NAME,
            Self::FileOpen(_) => FileOpen::NAME,
            Self::FileOpenOk(_) => FileOpenOk::NAME,
            Self::FileStage(_) => FileStage::NAME,
            Self::FilePublish(_) => FilePublish::NAME,
            Self::FileReturn(_) => FileReturn::NAME,
            Self::FileDeliver(_) => FileDeliver::NAME,
            Self::FileAck(_) => FileAck::NAME,
            Self::FileReject(_) => FileReject::NAME,
            Self::StreamQos(_) => StreamQos::NAME,
            Self::StreamQosOk(_) => StreamQosOk::NAME,
            Self::StreamConsume(_) => StreamConsume::NAME,
            Self::StreamConsumeOk(_) => StreamConsumeOk::NAME,
            Self::StreamCancel(_) => StreamCancel::NAME,
            Self::StreamPublish(_) => StreamPublish::NAME,
            Self::StreamReturn(_) => StreamReturn::NAME,
            Self::StreamDeliver(_) => StreamDeliver::NAME,
        }
    }

    /// Class code, and the code of the command within the class.
    pub fn code(&self) -> (u8, u8) {
        match self {
            Self::ExecutionSync(_) => (3, 1),
            Self::ExecutionResult(_) => (3, 2),
            Self::ExecutionException(_) => (3, 3),
            Self::MessageTransfer(_) => (4, 1),
            Self::MessageAccept(_) => (4, 2),
            Self::MessageReject(_) => (4, 3),
            Self::MessageRelease(_) => (4, 4),
            Self::MessageAcquire(_) => (4, 5),
            Self::MessageResume(_) => (4, 6),
            Self::MessageSubscribe(_) => (4, 7),
            Self::MessageCancel(_) => (4, 8),
            Self::MessageSetFlowMode(_) => (4, 9),
            Self::MessageFlow(_) => (4, 10),
            Self::MessageFlush(_) => (4, 11),
            Self::MessageStop(_) => (4, 12),
            Self::TxSelect(_) => (5, 1),
            Self::TxCommit(_) => (5, 2),
            Self::TxRollback(_) => (5, 3),
            Self::DtxSelect(_) => (6, 1),
            Self::DtxStart(_) => (6, 2),
            Self::DtxEnd(_) => (6, 3),
            Self::DtxCommit(_) => (6, 4),
            Self::DtxForget(_) => (6, 5),
            Self::DtxGetTimeout(_) => (6, 6),
            Self::DtxPrepare(_) => (6, 7),
            Self::DtxRecover(_) => (6, 8),
            Self::DtxRollback(_) => (6, 9),
            Self::DtxSetTimeout(_) => (6, 10),
            Self::ExchangeDeclare(_) => (7, 1),
            Self::ExchangeDelete(_) => (7, 2),
            Self::ExchangeQuery(_) => (7, 3),
            Self::ExchangeBind(_) => (7, 4),
            Self::ExchangeUnbind(_) => (7, 5),
            Self::ExchangeBound(_) => (7, 6),
            Self::QueueDeclare(_) => (8, 1),
            Self::QueueDelete(_) => (8, 2),
            Self::QueuePurge(_) => (8, 3),
            Self::QueueQuery(_) => (8, 4),
            Self::FileQos(_) => (9, 1),
            Self::FileQosOk(_) => (9, 2),
            Self::FileConsume(_) => (9, 3),
            Self::FileConsumeOk(_) => (9, 4),
            Self::FileCancel(_) => (9, 5),
            Self::FileOpen(_) => (9, 6),
            Self::FileOpenOk(_) => (9, 7),
            Self::FileStage(_) => (9, 8),
            Self::FilePublish(_) => (9, 9),
            Self::FileReturn(_) => (9, 10),
            Self::FileDeliver(_) => (9, 11),
            Self::FileAck(_) => (9, 12),
            Self::FileReject(_) => (9, 13),
            Self::StreamQos(_) => (10, 1),
            Self::StreamQosOk(_) => (10, 2),
            Self::StreamConsume(_) => (10, 3),
            Self::StreamConsumeOk(_) => (10, 4),
            Self::StreamCancel(_) => (10, 5),
            Self::StreamPublish(_) => (10, 6),
            Self::StreamReturn(_) => (10, 7),
            Self::StreamDeliver(_) => (10, 8),
        }
    }

    /// Whether a header and a body may follow.
    pub fn has_content(&self) -> bool {
        matches!(
            self,
            Self::MessageTransfer(_)
                | Self::FileStage(_)
                | Self::FileReturn(_)
                | Self::StreamPublish(_)
                | Self::StreamReturn(_)
                | Self::StreamDeliver(_)
        )
    }
}

macro_rules! from_items {
($($item:ident)*) => {
$(impl From<$item> for Command {
fn from(item: $item) -> Self {
Self::$item(item)
}
})*
};
}

from_items! {
    ExecutionSync
    ExecutionResult
    ExecutionException
    MessageTransfer
    MessageAccept
    MessageReject
    MessageRelease
    MessageAcquire
    MessageResume
    MessageSubscribe
    MessageCancel
    MessageSetFlowMode
    MessageFlow
    MessageFlush
    MessageStop
    TxSelect
    TxCommit
    TxRollback
    DtxSelect
    DtxStart
    DtxEnd
    DtxCommit
    DtxForget
    DtxGetTimeout
    DtxPrepare
    DtxRecover
    DtxRollback
    DtxSetTimeout
    ExchangeDeclare
    ExchangeDelete
    ExchangeQuery
    ExchangeBind
    ExchangeUnbind
    ExchangeBound
    QueueDeclare
    QueueDelete
    QueuePurge
    QueueQuery
    FileQos
    FileQosOk
    FileConsume
    FileConsumeOk
    FileCancel
    FileOpen
    FileOpenOk
    FileStage
    FilePublish
    FileReturn
    FileDeliver
    FileAck
    FileReject
    StreamQos
    StreamQosOk
    StreamConsume
    StreamConsumeOk
    StreamCancel
    StreamPublish
    StreamReturn
    StreamDeliver
}
