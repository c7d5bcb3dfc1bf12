//! RabbitMQ: a quorum queue, persistent messages, confirmed by its publisher confirms.

use std::pin::Pin;
use std::sync::Arc;

use lapin::options::{
    BasicAckOptions, BasicConsumeOptions, BasicPublishOptions, BasicQosOptions,
    ConfirmSelectOptions, QueueDeclareOptions,
};
use lapin::types::{AMQPValue, FieldTable};
use lapin::{BasicProperties, Channel, Connection, ConnectionProperties};
use tokio::task::JoinSet;

use crate::{ACCEPTED_EACH, Counts, Failure, PREFETCH, Schedule, Waiting};

type Confirmation = Pin<Box<dyn Future<Output = Result<(), Failure>> + Send>>;

pub async fn start(
    tasks: &mut JoinSet<Result<(), Failure>>,
    queue: String,
    ends: [String; 2],
    schedule: Schedule,
    counts: Arc<Counts>,
) -> Result<(), Failure> {
    let [from, to] = ends;
    let (publisher, channel) = connect(&from).await?;
    let mut arguments = FieldTable::default();
    arguments.insert(
        "x-queue-type".into(),
        AMQPValue::LongString("quorum".into()),
    );
    let options = QueueDeclareOptions {
        durable: true,
        ..QueueDeclareOptions::default()
    };
    channel
        .queue_declare(queue.as_str().into(), options, arguments)
        .await?;
    channel
        .confirm_select(ConfirmSelectOptions::default())
        .await?;
    let (consumer, deliveries) = connect(&to).await?;
    tasks.spawn(consume(consumer, deliveries, queue.clone(), counts.clone()));
    tasks.spawn(async move {
        let _publisher = publisher;
        publish(&channel, &queue, schedule, &counts).await
    });
    Ok(())
}

async fn connect(address: &str) -> Result<(Connection, Channel), Failure> {
    let uri = format!("amqp://guest:guest@{address}/%2f");
    let connection = Connection::connect(&uri, ConnectionProperties::default()).await?;
    let channel = connection.create_channel().await?;
    Ok((connection, channel))
}

async fn consume(
    _connection: Connection,
    channel: Channel,
    queue: String,
    counts: Arc<Counts>,
) -> Result<(), Failure> {
    use futures_lite::StreamExt as _;
    channel
        .basic_qos(PREFETCH, BasicQosOptions::default())
        .await?;
    let mut deliveries = channel
        .basic_consume(
            queue.as_str().into(),
            "".into(),
            BasicConsumeOptions::default(),
            FieldTable::default(),
        )
        .await?;
    let mut taken = 0;
    while let Some(delivery) = deliveries.next().await {
        let delivery = delivery?;
        counts.delivered(&delivery.data);
        taken += 1;
        if taken >= ACCEPTED_EACH {
            taken = 0;
            delivery
                .acker
                .ack(BasicAckOptions { multiple: true })
                .await?;
        }
    }
    Err("the consumer was cancelled".into())
}

async fn publish(
    channel: &Channel,
    queue: &str,
    mut schedule: Schedule,
    counts: &Counts,
) -> Result<(), Failure> {
    let mut waiting: Waiting<Confirmation> = Waiting::default();
    loop {
        let due = waiting.due(&mut schedule, counts).await?;
        let confirm = channel
            .basic_publish(
                "".into(),
                queue.into(),
                BasicPublishOptions::default(),
                &counts.body(due),
                BasicProperties::default().with_delivery_mode(2),
            )
            .await?;
        let confirmation: Confirmation = Box::pin(async move {
            match confirm.await? {
                lapin::Confirmation::Ack(_) => Ok(()),
                other => Err(format!("not confirmed: {other:?}").into()),
            }
        });
        waiting.add(due, confirmation, counts).await?;
    }
}
