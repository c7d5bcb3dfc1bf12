//! The class `dtx` as tests ask for it. Every branch has the xid of its name.

use std::collections::BTreeSet;
use std::net::SocketAddr;

use ferrymq::client::{Error, Session};
use ferrymq::wire::{
    Command, DtxCommit, DtxEnd, DtxPrepare, DtxRecover, DtxRecoverResult, DtxRollback, DtxSelect,
    DtxStart, DtxXaResult, DtxXid, Value, XaStatus,
};

use super::session_at;

/// The xid of a name.
fn xid(name: &str) -> DtxXid {
    DtxXid {
        format: 1,
        global_id: name.as_bytes().to_vec(),
        branch_id: b"branch".to_vec(),
    }
}

async fn ask(session: &Session, command: Command) -> Result<(), Error> {
    let what = command.name();
    let answer: DtxXaResult = session.query(command).await?;
    let status = answer.status;
    assert_eq!(status, XaStatus::XA_OK, "{what} comes to another end");
    Ok(())
}

pub async fn select(session: &Session) -> Result<(), Error> {
    let select = Command::DtxSelect(DtxSelect::default());
    session.call(select).await.map(drop)
}

pub async fn start(session: &Session, name: &str) -> Result<(), Error> {
    let (join, resume) = (false, false);
    let start = DtxStart {
        xid: xid(name),
        join,
        resume,
    };
    ask(session, Command::DtxStart(start)).await
}

pub async fn end(session: &Session, name: &str) -> Result<(), Error> {
    let (fail, suspend) = (false, false);
    let end = DtxEnd {
        xid: xid(name),
        fail,
        suspend,
    };
    ask(session, Command::DtxEnd(end)).await
}

pub async fn prepare(session: &Session, name: &str) -> Result<(), Error> {
    let xid = xid(name);
    ask(session, Command::DtxPrepare(DtxPrepare { xid })).await
}

pub async fn commit(session: &Session, name: &str, one_phase: bool) -> Result<(), Error> {
    let xid = xid(name);
    ask(session, Command::DtxCommit(DtxCommit { xid, one_phase })).await
}

pub async fn roll_back(session: &Session, name: &str) -> Result<(), Error> {
    let xid = xid(name);
    ask(session, Command::DtxRollback(DtxRollback { xid })).await
}

/// The names of the branches that are in doubt.
pub async fn in_doubt(address: SocketAddr) -> Result<BTreeSet<String>, String> {
    let session = session_at(address).await;
    let recover = Command::DtxRecover(DtxRecover::default());
    let answer = session.query::<DtxRecoverResult>(recover).await;
    let in_doubt = answer.map_err(|error| error.to_string())?.in_doubt;
    let name = |value: &Value| {
        let Value::Struct32(packed) = value else {
            return Err(format!("{value:?} is no xid"));
        };
        let xid = packed.parse::<DtxXid>();
        let xid = xid.map_err(|error| error.to_string())?;
        String::from_utf8(xid.global_id).map_err(|error| error.to_string())
    };
    in_doubt.items.iter().map(name).collect()
}
