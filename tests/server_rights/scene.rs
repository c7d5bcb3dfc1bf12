//! A broker with users of different rights, something that the others must not touch, and whether they
//! have.

use ferrymq::client::Options;
use ferrymq::wire::url::User;
use ferrymq::wire::{self, Map};

use crate::durable_support::Directory;
use crate::http::{Answer, JSON, Managed, basic};
use crate::server_support::Client;

/// Everybody's.
const PASSWORD: &str = "password";

/// May do everything.
pub const ANN: &str = "ann";
/// May connect, and nothing else.
pub const EVE: &str = "eve";
/// May ask management, and be answered, and nothing else.
pub const MO: &str = "mo";
/// May call methods of management as well, but do nothing by them.
pub const MAY: &str = "may";
/// May ask management in version 1, be answered under one key, and nothing else.
pub const OLD: &str = "old";
/// The key.
pub const OLD_KEY: &str = "old.answers";
/// May not connect.
pub const FAR: &str = "far";

const RULES: &str = "\
group asking mo@QPID may@QPID old@QPID
acl allow ann@QPID all
acl allow asking create queue name=console-*
acl allow asking consume queue name=console-*
acl allow asking bind exchange name=qmf.default.direct
acl allow asking publish exchange name=qmf.default.direct
acl allow may@QPID access method
acl allow old@QPID bind exchange name=amq.direct routingkey=old.answers
acl allow old@QPID publish exchange name=amq.direct routingkey=old.answers
acl deny far@QPID create connection host=127.0.0.1
acl deny-log all all
";

/// The name of a queue and of an exchange that are there.
pub const THERE: &str = "there";
/// A name that nothing has.
pub const NOWHERE: &str = "nowhere";

/// See the module.
pub struct Scene {
    pub managed: Managed,
    /// Keeps what it made, since its session lives.
    _ann: Client,
    _directory: Directory,
}

impl Scene {
    pub fn new() -> Scene {
        let directory = Directory::new();
        let users = [ANN, EVE, MO, MAY, OLD, FAR].map(|name| (name, PASSWORD));
        let managed = Managed::secured(&directory, &users, RULES);
        let ann = furnish(&managed);
        Scene {
            managed,
            _ann: ann,
            _directory: directory,
        }
    }

    /// A connection of a user.
    pub fn client(&self, user: &str) -> Client {
        let client = Client::open_as(self.managed.broker.address(), user, Map::new());
        client.unwrap_or_else(|closed| panic!("{user}: {closed:?}"))
    }

    /// A request of HTTP by a user.
    pub fn http(&self, user: &str, method: &str, path: &str, body: &str) -> Answer {
        let mut head = basic(user, PASSWORD);
        if !body.is_empty() {
            head.push_str(JSON);
        }
        self.managed.ask(method, path, &head, body)
    }

    /// What could be changed: definitions, and how many messages queues have.
    pub fn state(&self) -> String {
        let shown = |path| {
            let answer = self.http(ANN, "GET", path, "");
            assert_eq!(answer.status, 200, "{answer:?}");
            answer.json()
        };
        let definitions = shown("/api/definitions");
        let queues = shown("/api/queues");
        let depths: Vec<_> = queues.as_array().into_iter().flatten().collect();
        let of_there = depths.iter().find(|queue| queue["name"] == THERE);
        let messages = &of_there.expect("it is there")["messages"];
        assert!(messages.is_number(), "{queues}");
        let stamping = shown("/api/classes/broker/objects");
        assert!(stamping.is_array());
        format!("{definitions}\n{messages}")
    }

    /// How a console of a user connects.
    pub fn options(user: &str) -> Options {
        Options {
            user: Some(User {
                name: user.into(),
                password: Some(PASSWORD.into()),
            }),
            ..Options::default()
        }
    }
}

/// What is told, but for the names that were asked for.
pub fn nameless(text: &str, names: &[&str]) -> String {
    let mut text = text.to_owned();
    for name in names {
        text = text.replace(name, "NAME");
    }
    text
}

/// Makes what the others must not touch.
fn furnish(managed: &Managed) -> Client {
    let ann = Client::open_as(managed.broker.address(), ANN, Map::new());
    let mut ann = ann.unwrap_or_else(|closed| panic!("{closed:?}"));
    ann.attach(0, "furnishing");
    ann.declare(0, THERE);
    let exchange = wire::ExchangeDeclare {
        exchange: THERE.into(),
        r#type: "direct".into(),
        ..Default::default()
    };
    ann.run(0, wire::Command::ExchangeDeclare(exchange));
    for (exchange, key) in [(THERE, "k"), ("amq.direct", THERE)] {
        let bind = wire::ExchangeBind {
            queue: THERE.into(),
            exchange: exchange.into(),
            binding_key: key.into(),
            ..Default::default()
        };
        ann.run(0, wire::Command::ExchangeBind(bind));
    }
    ann.publish(0, THERE, b"a message");
    ann.sync(0);
    ann
}
