//! FerryMQ: a durable queue, persistent messages, the confirmation is the completion of the transfer.

use std::pin::Pin;
use std::sync::Arc;

use ferrymq::client::{Client, Flow, Message, Options};
use ferrymq::wire::url::Url;
use ferrymq::wire::{Command, DeliveryMode, MessageSubscribe, QueueDeclare, SequenceSet};
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
    let publisher = connect(&from).await?;
    let session = publisher.session(&format!("{queue}-from")).await?;
    let declare = QueueDeclare {
        queue: queue.as_str().into(),
        durable: true,
        ..QueueDeclare::default()
    };
    session.call(Command::QueueDeclare(declare)).await?;
    let consumer = connect(&to).await?;
    let to = consumer.session(&format!("{queue}-to")).await?;
    let subscribe = MessageSubscribe {
        queue: queue.as_str().into(),
        ..MessageSubscribe::default()
    };
    let flow = Flow::Window(u32::from(PREFETCH));
    let mut deliveries = to.subscribe(subscribe, flow).await?;
    let counted = counts.clone();
    tasks.spawn(async move {
        let _consumer = consumer;
        let (mut taken, mut count) = (SequenceSet::default(), 0);
        loop {
            let delivery = deliveries.next().await?;
            counted.delivered(&delivery.body_bytes());
            taken.insert(delivery.id);
            count += 1;
            if count % ACCEPTED_EACH == 0 {
                // What becomes of it is not waited for.
                drop(to.accept(std::mem::take(&mut taken)).await?);
            }
        }
    });
    tasks.spawn(async move {
        let _publisher = publisher;
        publish(&session, &queue, schedule, &counts).await
    });
    Ok(())
}

async fn connect(address: &str) -> Result<Client, Failure> {
    let url: Url = address.parse()?;
    Ok(Client::connect(&url, &Options::default()).await?)
}

async fn publish(
    session: &ferrymq::client::Session,
    queue: &str,
    mut schedule: Schedule,
    counts: &Counts,
) -> Result<(), Failure> {
    let mut waiting: Waiting<Confirmation> = Waiting::default();
    loop {
        let due = waiting.due(&mut schedule, counts).await?;
        let mut message = Message::new(counts.body(due)).routing_key(queue);
        message.delivery.delivery_mode = Some(DeliveryMode::PERSISTENT);
        let completion = session.publish("", &message).await?;
        let confirmation = Box::pin(async move { Ok(completion.await.map(|_| ())?) });
        waiting.add(due, confirmation, counts).await?;
    }
}
