//! Over QMF, in both versions.

use ferrymq::client::{Delivery, Message};
use ferrymq::qmf::PACKAGES;
use ferrymq::security::acl::{Action, Object};
use ferrymq::wire::{Cursor, Map, ReplyTo, Value};

use crate::console::{Console, encoded, list, listen, next, opcode};
use crate::scene::{ANN, EVE, MAY, MO, NOWHERE, OLD, OLD_KEY, Scene, THERE, nameless};
use crate::server_support::Client;

const BROKER: &str = "org.apache.qpid.broker:broker:amqp-broker";

/// A method call, and for which right it asks besides the one to call the method.
pub struct Act {
    pub asks: (Action, Object),
    object: String,
    method: &'static str,
    arguments: Map,
}

fn map<V: Into<Value>>(pairs: impl IntoIterator<Item = (&'static str, V)>) -> Map {
    let mut map = Map::new();
    for (name, value) in pairs {
        map.insert(name, value);
    }
    map
}

/// Calls that do to queues and exchanges of a name what AMQP can do, and what it cannot.
pub fn acts(name: &str) -> Vec<Act> {
    let queue = format!("org.apache.qpid.broker:queue:{name}");
    let act = |action, object, of: &str, method, arguments| Act {
        asks: (action, object),
        object: of.to_owned(),
        method,
        arguments,
    };
    let of_broker =
        |action, object, method, arguments| act(action, object, BROKER, method, arguments);
    let named = |kind: &str, name: String| map([("type", kind.to_owned()), ("name", name)]);
    let binding = format!("{name}/{name}/k");
    use Action as A;
    use Object as O;
    vec![
        of_broker(A::Create, O::Queue, "create", named("queue", name.into())),
        of_broker(
            A::Create,
            O::Exchange,
            "create",
            named("exchange", name.into()),
        ),
        of_broker(
            A::Bind,
            O::Exchange,
            "create",
            named("binding", binding.clone()),
        ),
        of_broker(A::Delete, O::Queue, "delete", named("queue", name.into())),
        of_broker(
            A::Delete,
            O::Exchange,
            "delete",
            named("exchange", name.into()),
        ),
        of_broker(A::Unbind, O::Exchange, "delete", named("binding", binding)),
        of_broker(A::Access, O::Queue, "query", named("queue", name.into())),
        of_broker(
            A::Move,
            O::Queue,
            "queueMoveMessages",
            map([("srcQueue", name), ("destQueue", "elsewhere")]),
        ),
        of_broker(
            A::Redirect,
            O::Queue,
            "queueRedirect",
            map([("sourceQueue", name), ("targetQueue", "elsewhere")]),
        ),
        act(A::Purge, O::Queue, &queue, "purge", Map::new()),
        act(
            A::Reroute,
            O::Queue,
            &queue,
            "reroute",
            map([("exchange", "amq.fanout")]),
        ),
        of_broker(A::Access, O::Broker, "getTimestampConfig", Map::new()),
        of_broker(
            A::Update,
            O::Broker,
            "setTimestampConfig",
            map([("receive", true)]),
        ),
    ]
}

/// The code and the text with which a request was refused.
fn fault(delivery: &Delivery) -> (u64, String) {
    assert_eq!(opcode(delivery), "_exception");
    let body = delivery.body_bytes();
    let body = Cursor::new(&body).map().expect("a map");
    let values = body.get("_values").and_then(Value::as_map).expect("values");
    let code = values.get("error_code").and_then(Value::as_u64);
    let text = values.get("error_text").and_then(Value::as_str);
    (code.expect("a code"), text.expect("a text").to_owned())
}

async fn refused_call(
    console: &mut Console,
    object: &str,
    method: &str,
    arguments: Map,
) -> (u64, String) {
    let body = map([
        ("_object_id", Value::Map(map([("_object_name", object)]))),
        ("_method_name", Value::Str16(method.into())),
        ("_arguments", Value::Map(arguments)),
    ]);
    let request = console.message("_method_request", encoded(body));
    console.ask(&request).await;
    fault(&console.answer().await)
}

async fn refused_query(console: &mut Console, of: (&'static str, Map)) -> (u64, String) {
    let body = map([
        ("_what", Value::Str16("OBJECT".into())),
        (of.0, Value::Map(of.1)),
    ]);
    let request = console.message("_query_request", encoded(body));
    console.ask(&request).await;
    fault(&console.answer().await)
}

#[tokio::test]
async fn who_may_call_nothing_is_forbidden_every_method_of_every_object() {
    let scene = Scene::new();
    let mut console = Console::open_with(&scene.managed.broker, &Scene::options(MO)).await;
    let before = scene.state();
    let classes = PACKAGES.iter().flat_map(|package| package.classes.iter());
    let mut count = 0;
    for class in classes {
        for method in class.methods {
            let mut told = Vec::new();
            for name in [THERE, NOWHERE] {
                let object = format!("{}:{}:{name}", class.package, class.name);
                let refused = refused_call(&mut console, &object, method.name, Map::new()).await;
                told.push((refused.0, nameless(&refused.1, &[name])));
            }
            let refused = refused_call(&mut console, BROKER, "create", Map::new()).await;
            told.push(refused);
            assert_eq!(told[0], (6, "Forbidden".to_owned()), "{}", method.name);
            assert!(told.iter().all(|one| *one == told[0]), "{told:?}");
            count += 1;
        }
    }
    assert!(count > 20, "{count} methods");
    assert_eq!(scene.state(), before);
}

#[tokio::test]
async fn who_may_query_nothing_is_forbidden_every_class_and_every_object() {
    let scene = Scene::new();
    let mut console = Console::open_with(&scene.managed.broker, &Scene::options(MO)).await;
    for class in PACKAGES.iter().flat_map(|package| package.classes.iter()) {
        let of_class = ("_schema_id", map([("_class_name", class.name)]));
        let forbidden = (6, "Forbidden".to_owned());
        assert_eq!(refused_query(&mut console, of_class).await, forbidden);
        for name in [THERE, NOWHERE] {
            let object = format!("{}:{}:{name}", class.package, class.name);
            let of_object = ("_object_id", map([("_object_name", object)]));
            assert_eq!(refused_query(&mut console, of_object).await, forbidden);
        }
    }
}

#[tokio::test]
async fn in_version_1_a_number_that_no_object_has_is_as_forbidden_as_a_class() {
    let scene = Scene::new();
    let console = Console::open_with(&scene.managed.broker, &Scene::options(OLD)).await;
    let (_, mut answers) = listen(&console.session, "amq.direct", OLD_KEY).await;
    for (name, value) in [("_class", "queue"), ("_objectid", "0-0-0-0-77")] {
        let body = map([(name, value)]);
        console.ask(&version_1(&console, OLD_KEY, body)).await;
        let answer = next(&mut answers).await.body_bytes();
        let text = String::from_utf8_lossy(&answer).into_owned();
        assert_eq!(answer[3], b'z', "{text}");
        assert!(text.contains("Forbidden"), "{text}");
    }
}

/// A query in version 1, whose answer goes to `amq.direct` with a key.
fn version_1(console: &Console, key: &str, query: Map) -> Message {
    let mut body = b"AM2G\0\0\0\x07".to_vec();
    body.extend(encoded(query));
    let mut request = console.message("", body);
    request.properties.app_id = None;
    request.properties.application_headers = None;
    request.properties.reply_to = Some(ReplyTo {
        exchange: Some("qmf.default.direct".into()),
        routing_key: Some(key.into()),
    });
    request
}

#[tokio::test]
async fn who_may_call_methods_may_do_nothing_by_them_that_he_may_not_over_amqp() {
    let scene = Scene::new();
    let mut console = Console::open_with(&scene.managed.broker, &Scene::options(MAY)).await;
    let before = scene.state();
    for (there, nowhere) in acts(THERE).into_iter().zip(acts(NOWHERE)) {
        let mut told = Vec::new();
        for (act, name) in [(there, THERE), (nowhere, NOWHERE)] {
            let refused = refused_call(&mut console, &act.object, act.method, act.arguments).await;
            assert_eq!(refused.0, 7, "{:?}: {}", act.asks, refused.1);
            let starts_so = refused.1.starts_with("unauthorized-access: ");
            assert!(starts_so, "{:?}: {}", act.asks, refused.1);
            told.push((act.asks, nameless(&refused.1, &[name])));
        }
        assert_eq!(told[0], told[1]);
        assert_eq!(scene.state(), before, "{:?}", told[0]);
    }
}

#[tokio::test]
async fn who_may_not_publish_does_not_have_the_broker_publish_its_answers() {
    let scene = Scene::new();
    let mut console = Console::open_with(&scene.managed.broker, &Scene::options(MO)).await;
    let before = scene.state();
    for (exchange, key) in [("amq.direct", THERE), ("", THERE), (THERE, "k")] {
        let mut request: Message = console.message("_agent_locate_request", encoded(Map::new()));
        request.properties.reply_to = Some(ReplyTo {
            exchange: Some(exchange.into()),
            routing_key: Some(key.into()),
        });
        console.ask(&request).await;
    }
    let query = map([("_class", "queue")]);
    console.ask(&version_1(&console, THERE, query)).await;
    // Requests are taken in order: when this one is answered the others were.
    let refused = refused_call(&mut console, BROKER, "create", Map::new()).await;
    assert_eq!(refused.0, 6);
    assert_eq!(scene.state(), before);
}

#[tokio::test]
async fn a_login_that_fails_is_told_with_who_tried_and_from_where() {
    let scene = Scene::new();
    let console = Console::open_with(&scene.managed.broker, &Scene::options(ANN)).await;
    let key = "agent.ind.event.org_apache_qpid_broker.clientConnectFail.#";
    let (_, mut heard) = listen(&console.session, "qmf.default.topic", key).await;
    let response = format!("\0{EVE}\0wrong").into_bytes();
    let address = scene.managed.broker.address();
    let closed = Client::log_in(address, "PLAIN", |_| Some(response.clone()));
    assert_eq!(closed.err().expect("it is wrong").0, 320);
    let told = next(&mut heard).await;
    let events = list(&told.body_bytes());
    let values = events[0].get("_values").and_then(Value::as_map);
    let text = |name| values.and_then(|values| values.get(name)?.as_str());
    assert_eq!(text("user"), Some("eve@QPID"));
    let rhost = text("rhost").expect("a text");
    let from = format!("qpid.{address}-127.0.0.1:");
    assert!(rhost.starts_with(&from), "{rhost}");
    assert!(text("reason").is_some_and(|reason| !reason.is_empty()));
}
