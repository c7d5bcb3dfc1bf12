//! Declares what a run needs, and takes it away again.

use crate::client::{Client, Options, Session, unique_name};
use crate::wire::{
    Command, ExchangeBind, ExchangeDeclare, ExchangeDelete, QueueDeclare, QueueDelete,
};

use super::error::Error;
use super::plan::Plan;

/// Declares queues, exchange and bindings.
///
/// # Errors
/// The broker refuses one of them, or cannot be reached.
pub(super) async fn declare(plan: &Plan) -> Result<(), Error> {
    let (client, session) = open(plan).await?;
    for queue in &plan.queues {
        let declare = QueueDeclare {
            queue: queue.clone(),
            durable: plan.durable,
            ..QueueDeclare::default()
        };
        session
            .command(Command::QueueDeclare(declare), None)
            .await?;
    }
    if let Some(exchange) = &plan.exchange {
        let declare = ExchangeDeclare {
            exchange: exchange.name.clone(),
            r#type: exchange.kind.into(),
            ..ExchangeDeclare::default()
        };
        session
            .command(Command::ExchangeDeclare(declare), None)
            .await?;
        for (queue, key) in &exchange.bindings {
            let bind = ExchangeBind {
                queue: queue.clone(),
                exchange: exchange.name.clone(),
                binding_key: key.clone(),
                arguments: None,
            };
            session.command(Command::ExchangeBind(bind), None).await?;
        }
    }
    end(client, session).await
}

/// Deletes everything that was declared.
///
/// # Errors
/// As for [`declare`].
pub(super) async fn delete(plan: &Plan) -> Result<(), Error> {
    let (client, session) = open(plan).await?;
    if let Some(exchange) = &plan.exchange {
        let delete = ExchangeDelete {
            exchange: exchange.name.clone(),
            if_unused: false,
        };
        session
            .command(Command::ExchangeDelete(delete), None)
            .await?;
    }
    for queue in &plan.queues {
        let delete = QueueDelete {
            queue: queue.clone(),
            ..QueueDelete::default()
        };
        session.command(Command::QueueDelete(delete), None).await?;
    }
    end(client, session).await
}

async fn open(plan: &Plan) -> Result<(Client, Session), Error> {
    let client = Client::connect(&plan.url, &Options::default()).await?;
    let session = client.session(&unique_name("ferrymq-bench-")).await?;
    Ok((client, session))
}

async fn end(client: Client, session: Session) -> Result<(), Error> {
    session.sync().await?;
    client.close().await;
    Ok(())
}
