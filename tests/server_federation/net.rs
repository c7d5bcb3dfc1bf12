//! Brokers, links between them, and clients of each.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ferrymq::client::{Flow, Message, Session, Subscription};
use ferrymq::wire::{Command, ExchangeDeclare, Map, MessageSubscribe, QueueDelete, Value};
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use crate::console::{self, Console, encoded};
use crate::server_support::{Broker, PATIENCE};

/// The exchange that is federated.
pub const EXCHANGE: &str = "fed";

/// Between two looks at something that is waited for.
const LOOK: Duration = Duration::from_millis(20);

/// A broker with a console.
pub struct Node {
    pub broker: Broker,
    pub console: Console,
    pub tag: String,
}

impl Node {
    /// A broker of this name, and an exchange that can be federated.
    pub async fn start(tag: &str) -> Node {
        Node::of(Broker::start(&usual(tag)), tag).await
    }

    /// Three members in lockstep, of which the first is spoken with.
    pub async fn lockstep(tag: &str) -> Node {
        Node::of(Broker::start_lockstep("7", &usual(tag)), tag).await
    }

    /// One that serves already.
    pub async fn of(broker: Broker, tag: &str) -> Node {
        let console = Console::open(&broker).await;
        let declare = ExchangeDeclare {
            exchange: EXCHANGE.into(),
            r#type: "topic".into(),
            ..ExchangeDeclare::default()
        };
        let declared = console.session.call(Command::ExchangeDeclare(declare));
        declared.await.expect("an exchange");
        Node {
            broker,
            console,
            tag: tag.to_owned(),
        }
    }

    pub fn port(&self) -> u16 {
        self.broker.ports[0]
    }

    pub fn session(&self) -> &Session {
        &self.console.session
    }

    /// Calls a method of an object; the text of the exception when it fails.
    pub async fn call(&mut self, object: &str, method: &str, arguments: Map) -> Result<(), String> {
        let mut call = Map::new();
        let id: Map = [("_object_name", object)].into_iter().collect();
        call.insert("_object_id", id);
        call.insert("_method_name", method);
        call.insert("_arguments", arguments);
        let message = self.console.message("_method_request", encoded(call));
        self.console.ask(&message).await;
        let answer = self.console.answer().await;
        match console::opcode(&answer).as_str() {
            "_method_response" => Ok(()),
            _ => Err(String::from_utf8_lossy(&answer.body_bytes()).into_owned()),
        }
    }

    /// `create` or `delete` of the broker.
    pub async fn broker_call(
        &mut self,
        method: &str,
        (kind, name): (&str, &str),
        properties: Map,
    ) -> Result<(), String> {
        let mut arguments: Map = [("type", kind), ("name", name)].into_iter().collect();
        match method {
            "create" => {
                arguments.insert("properties", properties);
                arguments.insert("strict", false);
            }
            _ => _ = arguments.insert("options", properties),
        }
        let broker = "org.apache.qpid.broker:broker:amqp-broker";
        self.call(broker, method, arguments).await
    }

    /// A link to a port of this machine.
    pub async fn link(&mut self, name: &str, port: u16) {
        let mut properties: Map = [("host", "127.0.0.1")].into_iter().collect();
        properties.insert("port", u32::from(port));
        let made = self.broker_call("create", ("link", name), properties).await;
        made.expect("a link");
    }

    /// A bridge on a link of this name; it is called as its link is, with `!` behind.
    pub async fn bridge(&mut self, link: &str, properties: &[(&str, Value)]) {
        let name = format!("{link}!");
        let made = self.bridge_called(&name, link, properties).await;
        made.expect("a bridge");
    }

    pub async fn bridge_called(
        &mut self,
        name: &str,
        link: &str,
        properties: &[(&str, Value)],
    ) -> Result<(), String> {
        let mut all: Map = [("link", link)].into_iter().collect();
        for (key, value) in properties {
            all.insert(*key, value.clone());
        }
        self.broker_call("create", ("bridge", name), all).await
    }

    /// A link `l` to a port, and a route on it from a queue `from` there, acknowledged after so many.
    pub async fn route_queue(&mut self, port: u16, sync: u32) {
        self.link("l", port).await;
        let properties = [
            ("src", text("from")),
            ("dest", text(EXCHANGE)),
            ("srcIsQueue", Value::Bool(true)),
            ("sync", Value::U32(sync)),
        ];
        self.bridge("l", &properties).await;
    }

    /// A dynamic route: what is bound here comes from the other.
    pub async fn follow(&mut self, other: &Node) {
        let link = format!("to {}", other.tag);
        self.link(&link, other.port()).await;
        let properties = [
            ("src", text(EXCHANGE)),
            ("dest", text(EXCHANGE)),
            ("dynamic", Value::Bool(true)),
        ];
        self.bridge(&link, &properties).await;
    }

    /// Bindings of the exchange.
    pub async fn binding_count(&mut self) -> usize {
        let all = self.console.names("binding").await;
        let of = ",org.apache.qpid.broker:queue:";
        let start = format!(
            "org.apache.qpid.broker:binding:org.apache.qpid.broker:exchange:{EXCHANGE}{of}"
        );
        all.iter().filter(|name| name.starts_with(&start)).count()
    }

    /// Waits until the exchange has so many bindings.
    pub async fn bound(&mut self, count: usize) {
        let waiting = async {
            while self.binding_count().await != count {
                sleep(LOOK).await;
            }
        };
        if timeout(PATIENCE, waiting).await.is_err() {
            let names = self.console.names("binding").await;
            panic!("{} never has {count} bindings but {names:#?}", self.tag);
        }
    }

    /// Text of a link's statistics.
    pub async fn of_link(&mut self, link: &str, statistic: &str) -> String {
        let name = format!("org.apache.qpid.broker:link:{link}");
        let found = self.console.named(&name).await;
        console::value(found.first().expect("the link is there"), statistic)
    }

    /// Waits until a link is in this state.
    pub async fn link_is(&mut self, link: &str, state: &str) {
        let waiting = async {
            while self.of_link(link, "state").await != state {
                sleep(LOOK).await;
            }
        };
        if timeout(PATIENCE, waiting).await.is_err() {
            let error = self.of_link(link, "lastError").await;
            panic!("the link {link} is never {state}: {error}");
        }
    }

    /// A queue bound to the exchange with a key.
    pub async fn queue(&self, name: &str, key: &str) {
        console::declare(self.session(), name).await;
        console::bind(self.session(), EXCHANGE, name, key).await;
    }

    pub async fn delete(&self, queue: &str) {
        let delete = QueueDelete {
            queue: queue.into(),
            ..QueueDelete::default()
        };
        let deleted = self.session().call(Command::QueueDelete(delete)).await;
        deleted.expect("it was there");
    }

    pub async fn subscribe(&self, queue: &str) -> Subscription {
        let subscribe = MessageSubscribe {
            queue: queue.into(),
            ..MessageSubscribe::default()
        };
        let subscribed = self
            .session()
            .subscribe(subscribe, Flow::Window(1000))
            .await;
        subscribed.expect("the queue is there")
    }

    /// Publishes to an exchange with a key.
    pub async fn publish(&self, exchange: &str, key: &str, body: &str) {
        let message = Message::new(body.to_owned()).routing_key(key);
        let published = self.session().publish(exchange, &message).await;
        published
            .expect("the session is there")
            .await
            .expect("it is taken");
    }

    /// Publishes messages to the queues that are their keys; gives when all are taken.
    pub async fn publish_all(&self, messages: impl IntoIterator<Item = Message>) {
        for message in messages {
            let published = self.session().publish("", &message).await;
            drop(published.expect("published"));
        }
        self.session().sync().await.expect("all are taken");
    }
}

fn usual(tag: &str) -> [&str; 4] {
    [
        "--federation-tag",
        tag,
        "--link-maintenance-interval",
        "100ms",
    ]
}

pub fn text(text: &str) -> Value {
    Value::Str16(text.into())
}

/// Bodies of messages that come, this many, in order.
pub async fn bodies(subscription: &mut Subscription, count: usize) -> Vec<String> {
    let mut bodies = Vec::new();
    for _ in 0..count {
        let next = console::next(subscription).await;
        bodies.push(String::from_utf8_lossy(&next.body_bytes()).into_owned());
    }
    bodies
}

/// Messages that come though none is expected. What goes round would be here after this time.
pub async fn uncalled(subscription: &mut Subscription) -> Vec<String> {
    let mut found = Vec::new();
    while let Ok(Ok(next)) = timeout(Duration::from_millis(300), subscription.next()).await {
        found.push(String::from_utf8_lossy(&next.body_bytes()).into_owned());
    }
    found
}

/// A way to a port that can be cut.
pub struct Way {
    pub port: u16,
    cut: Arc<Notify>,
    is_open: Arc<AtomicBool>,
}

impl Way {
    pub async fn to(port: u16) -> Way {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port");
        let own = listener.local_addr().expect("bound").port();
        let (cut, is_open) = (Arc::<Notify>::default(), Arc::new(AtomicBool::new(true)));
        let (cutting, opened) = (cut.clone(), is_open.clone());
        tokio::spawn(async move {
            while let Ok((mut from, _)) = listener.accept().await {
                if !opened.load(Ordering::Relaxed) {
                    continue;
                }
                let cutting = cutting.clone();
                tokio::spawn(async move {
                    let Ok(mut to) = TcpStream::connect(("127.0.0.1", port)).await else {
                        return;
                    };
                    tokio::select! {
                        _ = copy_bidirectional(&mut from, &mut to) => {}
                        () = cutting.notified() => {}
                    }
                });
            }
        });
        Way {
            port: own,
            cut,
            is_open,
        }
    }

    /// Cuts all connections; new ones can be made.
    pub fn cut(&self) {
        self.cut.notify_waiters();
    }

    /// Cuts all connections so many times, with pauses of 40 ms and so many more each time.
    pub fn cut_again_and_again(self, times: u64, more: u64) -> JoinHandle<()> {
        tokio::spawn(async move {
            for n in 0..times {
                sleep(Duration::from_millis(40 + more * n)).await;
                self.cut();
            }
        })
    }

    /// Lets connections through, or none.
    pub fn open(&self, is_open: bool) {
        self.is_open.store(is_open, Ordering::Relaxed);
        if !is_open {
            self.cut();
        }
    }
}
