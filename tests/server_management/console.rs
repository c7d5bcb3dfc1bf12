//! A console of QMF version 2 on our client, and what it asks.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU32, Ordering};

use ferrymq::client::{Client, Delivery, Flow, Message, Options, Session, Subscription};
use ferrymq::wire::url::Url;
use ferrymq::wire::{
    AcceptMode, Command, Cursor, ExchangeBind, Map, MessageSubscribe, QueueDeclare, ReplyTo, Value,
};

use crate::server_support::{Broker, PATIENCE};

/// Messages that a console takes before it says more.
const WINDOW: u32 = 100;

/// A connection with a session.
pub async fn session(broker: &Broker) -> (Client, Session) {
    session_with(broker, &Options::default()).await
}

/// The same with options.
pub async fn session_with(broker: &Broker, options: &Options) -> (Client, Session) {
    let url: Url = format!("127.0.0.1:{}", broker.ports[0])
        .parse()
        .expect("a URL");
    let client = Client::connect(&url, options).await;
    let client = client.expect("it listens");
    let session = client.session(&unique("session")).await;
    (client, session.expect("a session"))
}

/// A name that no other has.
pub fn unique(prefix: &str) -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    format!("{prefix}-{}", COUNT.fetch_add(1, Ordering::Relaxed))
}

/// A queue of the session's own, bound to an exchange, with what comes to it.
pub async fn listen(session: &Session, exchange: &str, key: &str) -> (String, Subscription) {
    let queue = unique("console");
    declare(session, &queue).await;
    bind(session, exchange, &queue, key).await;
    // What has come is not kept for the console by the broker.
    let subscribe = MessageSubscribe {
        queue: queue.as_str().into(),
        accept_mode: AcceptMode::NONE,
        ..MessageSubscribe::default()
    };
    let heard = session.subscribe(subscribe, Flow::Window(WINDOW)).await;
    (queue, heard.expect("the queue is there"))
}

pub async fn declare(session: &Session, queue: &str) {
    let declare = QueueDeclare {
        queue: queue.into(),
        ..QueueDeclare::default()
    };
    let declared = session.call(Command::QueueDeclare(declare)).await;
    declared.expect("a queue");
}

pub async fn bind(session: &Session, exchange: &str, queue: &str, key: &str) {
    let bind = ExchangeBind {
        queue: queue.into(),
        exchange: exchange.into(),
        binding_key: key.into(),
        ..ExchangeBind::default()
    };
    let bound = session.call(Command::ExchangeBind(bind)).await;
    bound.expect("a binding");
}

/// A console with a way for answers.
pub struct Console {
    pub session: Session,
    _client: Client,
    key: String,
    answers: Subscription,
}

impl Console {
    pub async fn open(broker: &Broker) -> Console {
        Console::open_with(broker, &Options::default()).await
    }

    pub async fn open_with(broker: &Broker, options: &Options) -> Console {
        let (client, session) = session_with(broker, options).await;
        let key = unique("reply");
        let (_, answers) = listen(&session, "qmf.default.direct", &key).await;
        Console {
            session,
            _client: client,
            key,
            answers,
        }
    }

    /// A request with this body, its answer to come here.
    pub fn message(&self, opcode: &str, body: Vec<u8>) -> Message {
        let mut message = Message::new(body)
            .routing_key("broker")
            .application_header("qmf.opcode", opcode)
            .application_header("method", "request");
        message.properties.app_id = Some(b"qmf2".to_vec());
        message.properties.content_type = Some("amqp/map".into());
        message.properties.reply_to = Some(ReplyTo {
            exchange: Some("qmf.default.direct".into()),
            routing_key: Some(self.key.as_str().into()),
        });
        message
    }

    pub async fn ask(&self, message: &Message) {
        let sent = self.session.publish("qmf.default.direct", message).await;
        sent.expect("the session is there");
    }

    /// The next answer.
    pub async fn answer(&mut self) -> Delivery {
        next(&mut self.answers).await
    }

    /// All objects of a class.
    pub async fn objects(&mut self, class: &str) -> Vec<Map> {
        let schema: Map = [("_class_name", class)].into_iter().collect();
        let mut query = Map::new();
        query.insert("_what", "OBJECT");
        query.insert("_schema_id", schema);
        self.ask(&self.message("_query_request", encoded(query)))
            .await;
        let mut found = Vec::new();
        loop {
            let answer = self.answer().await;
            assert_eq!(opcode(&answer), "_query_response");
            found.extend(list(&answer.body_bytes()));
            let headers = headers(&answer);
            if headers.get("partial").is_none() {
                return found;
            }
        }
    }

    /// Names of all objects of a class.
    pub async fn names(&mut self, class: &str) -> BTreeSet<String> {
        let objects = self.objects(class).await;
        objects.iter().map(object_name).collect()
    }

    /// The objects of a name: one or none.
    pub async fn named(&mut self, name: &str) -> Vec<Map> {
        let mut object = Map::new();
        object.insert("_object_name", name);
        let mut query = Map::new();
        query.insert("_what", "OBJECT");
        query.insert("_object_id", object);
        self.ask(&self.message("_query_request", encoded(query)))
            .await;
        let answer = self.answer().await;
        assert_eq!(opcode(&answer), "_query_response");
        list(&answer.body_bytes())
    }
}

/// The next message, which has to come.
pub async fn next(subscription: &mut Subscription) -> Delivery {
    let next = tokio::time::timeout(PATIENCE, subscription.next()).await;
    next.expect("it comes in time").expect("a message")
}

pub fn headers(delivery: &Delivery) -> Map {
    let properties = delivery.message_properties().expect("properties");
    properties.application_headers.unwrap_or_default()
}

pub fn opcode(delivery: &Delivery) -> String {
    let headers = headers(delivery);
    let opcode = headers.get("qmf.opcode").and_then(Value::as_str);
    opcode.unwrap_or_default().to_owned()
}

pub fn encoded(map: Map) -> Vec<u8> {
    // A value has its type in front, which a body has not.
    let mut octets = Vec::new();
    Value::Map(map).encode(&mut octets);
    octets.split_off(1)
}

/// The maps of a list.
pub fn list(body: &[u8]) -> Vec<Map> {
    let mut cursor = Cursor::new(body);
    let values = cursor.list().expect("a list");
    let maps = values.iter().filter_map(Value::as_map);
    maps.cloned().collect()
}

pub fn object_name(object: &Map) -> String {
    let id = object.get("_object_id").and_then(Value::as_map);
    text(id.expect("an id"), "_object_name")
}

/// A text of an object's values.
pub fn value(object: &Map, name: &str) -> String {
    let values = object.get("_values").and_then(Value::as_map);
    text(values.expect("values"), name)
}

fn text(map: &Map, name: &str) -> String {
    let text = map.get(name).and_then(Value::as_str);
    text.unwrap_or_else(|| panic!("{name} is a text"))
        .to_owned()
}
