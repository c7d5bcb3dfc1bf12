//! What a peer that is a cluster tells of its members.

use tokio::sync::watch;

use crate::broker::failover::FAILOVER;
use crate::client::{Client, Error, Flow, unique_name};
use crate::wire::{
    AcceptMode, Command, ExchangeBind, ExchangeQuery, ExchangeQueryResult, MessageSubscribe,
    QueueDeclare, Text, Value,
};

/// Tells `known` of the members of the cluster, each time that they change, until the connection ends or the
/// peer turns out not to tell.
///
/// # Errors
/// Why it ended. A broker that is in no cluster has no exchange for it: that is no fault.
pub async fn follow(client: Client, known: watch::Sender<Vec<Text>>) -> Result<(), Error> {
    let name = unique_name("qpid.link.");
    let session = client.session(&name).await?;
    let query = Command::ExchangeQuery(ExchangeQuery {
        name: Some(FAILOVER.into()),
    });
    let found: ExchangeQueryResult = session.query(query).await?;
    if found.not_found {
        return session.detach().await;
    }
    let queue: Text = name.into();
    let declare = QueueDeclare {
        queue: queue.clone(),
        exclusive: true,
        auto_delete: true,
        ..QueueDeclare::default()
    };
    session.call(Command::QueueDeclare(declare)).await?;
    let bind = ExchangeBind {
        queue: queue.clone(),
        exchange: FAILOVER.into(),
        ..ExchangeBind::default()
    };
    session.call(Command::ExchangeBind(bind)).await?;
    let subscribe = MessageSubscribe {
        queue,
        accept_mode: AcceptMode::NONE,
        ..MessageSubscribe::default()
    };
    let mut updates = session.subscribe(subscribe, Flow::Window(1)).await?;
    loop {
        let update = updates.next().await?;
        let headers = update.message_properties()?.application_headers;
        let list = headers.as_ref().and_then(|headers| headers.get(FAILOVER));
        let urls: Vec<Text> = match list {
            Some(Value::Array(array)) => array.strs().map(Text::from).collect(),
            _ => continue,
        };
        known.send_replace(urls);
    }
}
