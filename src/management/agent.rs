//! The agent: messages in, and out comes what is to be done for them.
//!
//! It does nothing itself. Whoever owns it publishes what it says; looks for what it wants to know and
//! hands the objects back, piece by piece; and has the methods called that it names, and hands back what
//! became of each. It keeps no list of what it waits for: each piece of [`Work`] holds who asked.

use crate::broker::event::Event;
use crate::broker::management::{Face, Versions};
use crate::qmf::Call;
use crate::qmf::datum::Datum;
use crate::qmf::identity::{AMQ_DIRECT, BROKER_KEY, Identity, QPID_MANAGEMENT};
use crate::qmf::limits::REQUEST_BYTES_MAX;
use crate::qmf::object::{Object, ObjectName};
use crate::qmf::publication::Publication;
use crate::qmf::query::Query;
use crate::qmf::schema::{Class, Method, classes};
use crate::qmf::status::{Fault, Status};
use crate::qmf::{qmf1, qmf2};
use crate::wire::{MessageProperties, Text};

/// Application header that holds the operation code of version 2.
const OPCODE: &str = "qmf.opcode";

/// Which versions the agent speaks unasked, and how often. It always answers in both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Told {
    /// Whether events and heartbeats are told in version 1.
    pub in_version_1: bool,
    /// Whether events and heartbeats are told in version 2.
    pub in_version_2: bool,
    /// Seconds between heartbeats, and between tellings of what has changed.
    pub interval: u16,
}

impl Told {
    /// In which versions events are told.
    pub fn versions(&self) -> Versions {
        Versions {
            in_version_1: self.in_version_1,
            in_version_2: self.in_version_2,
        }
    }
}

impl Default for Told {
    /// As qpidd: version 2, every ten seconds.
    fn default() -> Self {
        Told {
            in_version_1: false,
            in_version_2: true,
            interval: 10,
        }
    }
}

/// A message that came for the agent.
#[derive(Clone, Copy, Debug)]
pub struct Incoming<'a> {
    /// With which routing key it was published.
    pub routing_key: &'a str,
    /// Its message properties.
    pub properties: &'a MessageProperties,
    /// Its body.
    pub body: &'a [u8],
    /// Nanoseconds since 1970.
    pub now: u64,
}

/// Something to be done for a request.
#[derive(Clone, Debug, PartialEq)]
pub enum Work {
    /// Publish this.
    Publish(Publication),
    /// Look for objects, and hand them to [`Agent::found`].
    Find(Find),
    /// Call a method, and hand to [`Agent::called`] what became of it.
    Call(Box<Called>),
}

/// Who asked, and in which version.
#[derive(Clone, Debug, PartialEq)]
enum Asker {
    Version1(qmf1::Asker),
    Version2(qmf2::Asker),
}

/// A query.
#[derive(Clone, Debug, PartialEq)]
pub struct Find {
    /// Which objects.
    pub query: Query,
    asker: Asker,
}

/// A method call. The object may not be there: then [`Called::unknown_object`] became of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Called {
    /// Of which object.
    pub object: ObjectName,
    /// Its class.
    pub class: &'static Class,
    /// Which method, with what it is given.
    pub call: Call,
    method: &'static Method,
    asker: Asker,
}

impl Called {
    /// The method as the schema has it: rights go by its name.
    pub fn method(&self) -> &'static Method {
        self.method
    }

    /// What becomes of a call of an object that is not there.
    pub fn unknown_object(&self) -> Fault {
        unknown_object(&self.object)
    }
}

/// Where answers to a request may go: exchanges and routing keys. Of version 1 all but schemas go to
/// `amq.direct`, whatever the request names.
pub fn answered_at(properties: &MessageProperties) -> Vec<(&str, &str)> {
    let Some(to) = &properties.reply_to else {
        return Vec::new();
    };
    let named = to.exchange.as_deref().unwrap_or_default();
    let key = to.routing_key.as_deref().unwrap_or_default();
    match properties.app_id.as_deref() {
        Some(qmf2::APP_ID) => vec![(named, key)],
        _ => vec![(named, key), (AMQ_DIRECT, key)],
    }
}

/// What becomes of a call of an object that is not there.
pub fn unknown_object(name: &ObjectName) -> Fault {
    let text = format!("No object found with ID={name}");
    Fault::new(Status::UnknownObject, text)
}

/// The broker's agent.
#[derive(Debug)]
pub struct Agent {
    identity: Identity,
    told: Told,
    numbers: qmf1::Numbers,
    /// Whether somebody listens who has not been told of all objects.
    is_new_heard: bool,
}

impl Agent {
    /// Of this broker.
    pub fn new(identity: Identity, told: Told) -> Self {
        let numbers = qmf1::Numbers::new(identity.numbering);
        Agent {
            identity,
            told,
            numbers,
            is_new_heard: false,
        }
    }

    /// Whether a console has begun to listen since this was asked last: it wants to be told of all
    /// objects once, whether they have changed or not. As in qpidd, one that asks which agents are there
    /// is a new one, and one that binds a queue to the topics of objects of version 1.
    pub fn take_is_new_heard(&mut self) -> bool {
        std::mem::take(&mut self.is_new_heard)
    }

    /// What it tells unasked.
    pub fn told(&self) -> Told {
        self.told
    }

    /// What is to be done for a message, in order. Nothing, if it does not say where an answer goes to,
    /// if it is longer than a request may be, or if it is no request.
    pub fn receive(&mut self, message: &Incoming<'_>) -> Vec<Work> {
        let Some(reply_to) = &message.properties.reply_to else {
            tracing::debug!("a management request does not say where the answer goes to");
            return Vec::new();
        };
        if message.body.len() > REQUEST_BYTES_MAX {
            let length = message.body.len();
            tracing::warn!("a management request of {length} octets is not read");
            return Vec::new();
        }
        let exchange = reply_to.exchange.clone().unwrap_or_default();
        let routing_key = reply_to.routing_key.clone().unwrap_or_default();
        match message.properties.app_id.as_deref() {
            Some(qmf2::APP_ID) => {
                let asker = qmf2::Asker {
                    exchange,
                    routing_key,
                    correlation: message.properties.correlation_id.clone(),
                    is_to_broker: message.routing_key == BROKER_KEY,
                };
                self.version_2(message, asker)
            }
            _ => self.version_1(message.body, &exchange, &routing_key),
        }
    }

    fn version_2(&mut self, message: &Incoming<'_>, asker: qmf2::Asker) -> Vec<Work> {
        let headers = message.properties.application_headers.as_ref();
        let opcode = headers.and_then(|headers| headers.get(OPCODE)?.as_str());
        let work = match qmf2::request(opcode.unwrap_or_default(), message.body) {
            Ok(None) => return Vec::new(),
            Ok(Some(qmf2::Request::Locate)) => {
                self.is_new_heard = true;
                let interval = self.told.interval;
                let told = qmf2::located(&self.identity, &asker, message.now, interval);
                Ok(Work::Publish(told))
            }
            Ok(Some(qmf2::Request::Query(query))) => Ok(Work::Find(Find {
                query,
                asker: Asker::Version2(asker.clone()),
            })),
            Ok(Some(qmf2::Request::Method {
                object,
                method,
                arguments,
            })) => {
                let asker = Asker::Version2(asker.clone());
                call(object, &method, asker, |class, found| {
                    class.call_with_map(found, &arguments)
                })
            }
            Err(fault) => Err(fault),
        };
        let refused = |fault: Fault| {
            tracing::info!("a management request is refused: {fault}");
            Work::Publish(qmf2::exception(&self.identity, &asker, &fault))
        };
        vec![work.unwrap_or_else(refused)]
    }

    fn version_1(&mut self, body: &[u8], exchange: &Text, routing_key: &Text) -> Vec<Work> {
        let read = qmf1::requests(body);
        if let Some(error) = read.unread {
            tracing::info!("a part of a management request cannot be read: {error}");
        }
        let mut work = Vec::new();
        for (sequence, request) in read.requests {
            let asker = qmf1::Asker {
                exchange: exchange.clone(),
                routing_key: routing_key.clone(),
                sequence,
            };
            self.frame(request, asker, &mut work);
        }
        work
    }

    fn frame(&mut self, request: qmf1::Request, asker: qmf1::Asker, work: &mut Vec<Work>) {
        let answer = match request {
            qmf1::Request::Broker => qmf1::broker(&self.identity, &asker),
            qmf1::Request::Packages => qmf1::packages(&asker),
            qmf1::Request::Classes { package } => qmf1::classes(&asker, &package),
            qmf1::Request::Schema {
                package,
                class,
                hash,
            } => qmf1::schema(&asker, &package, &class, hash),
            qmf1::Request::Objects(wanted) => match wanted.query(&self.numbers) {
                Some(query) => {
                    let asker = Asker::Version1(asker);
                    work.push(Work::Find(Find { query, asker }));
                    return;
                }
                None => qmf1::completed(&asker, Ok(())),
            },
            qmf1::Request::Attach { label } => {
                tracing::info!("an agent of QMF version 1 is not taken in: {label}");
                let fault = Fault::new(
                    Status::FeatureNotImplemented,
                    "Agents of QMF version 1 are not served",
                );
                qmf1::completed(&asker, Err(&fault))
            }
            qmf1::Request::Told { .. } => return,
            qmf1::Request::Method {
                object,
                package,
                class,
                method,
                arguments,
            } => {
                let object = self.numbers.name(object);
                let of = (package.as_str(), class.as_str());
                match self.call_1(object, of, &method, &arguments, &asker) {
                    Ok(call) => {
                        work.push(call);
                        return;
                    }
                    Err(fault) => {
                        tracing::info!("a management request is refused: {fault}");
                        qmf1::method_response(&asker, &mut self.numbers, Err(&fault))
                    }
                }
            }
        };
        work.extend(answer.into_iter().map(Work::Publish));
    }

    fn call_1(
        &self,
        object: Option<ObjectName>,
        (package, class): (&str, &str),
        method: &str,
        arguments: &[u8],
        asker: &qmf1::Asker,
    ) -> Result<Work, Fault> {
        let object = object.ok_or_else(|| Fault::of(Status::UnknownObject))?;
        if object.class() != classes(Some(package), class).next() {
            return Err(Fault::of(Status::InvalidParameter));
        }
        let asker = Asker::Version1(asker.clone());
        call(object, method, asker, |class, (index, method)| {
            class.call(index, qmf1::arguments(method, arguments, &self.numbers)?)
        })
    }

    /// Tells who asked what was found, or a piece of that. The pieces come in order; the last one may be
    /// empty and is to be handed over even so.
    pub fn found(&mut self, find: &Find, objects: &[Object], is_last: bool) -> Vec<Publication> {
        match &find.asker {
            Asker::Version1(asker) => qmf1::objects(asker, &mut self.numbers, objects, is_last),
            Asker::Version2(asker) => qmf2::objects(&self.identity, asker, objects, is_last),
        }
    }

    /// Tells who asked that a query is not answered, and why.
    pub fn not_found(&mut self, find: &Find, fault: &Fault) -> Vec<Publication> {
        match &find.asker {
            Asker::Version1(asker) => qmf1::completed(asker, Err(fault)),
            Asker::Version2(asker) => vec![qmf2::exception(&self.identity, asker, fault)],
        }
    }

    /// Tells who asked what became of a call. The answer is what the functions beside the methods make,
    /// `echo_answer` for example, and empty for a method that says no more than that it is done.
    pub fn called(
        &mut self,
        called: &Called,
        outcome: Result<Vec<Datum>, Fault>,
    ) -> Vec<Publication> {
        let outcome = outcome.and_then(|answered| match fits(called.method, &answered) {
            true => Ok(answered),
            false => {
                let name = called.method.name;
                tracing::error!("the answer of method {name} is not that of its schema");
                Err(Fault::exception("the answer is not that of the schema"))
            }
        });
        match (&called.asker, outcome) {
            (Asker::Version1(asker), outcome) => {
                let outcome = outcome.as_deref();
                qmf1::method_response(asker, &mut self.numbers, outcome)
            }
            (Asker::Version2(asker), Ok(answered)) => {
                let method = called.method;
                vec![qmf2::method_response(
                    &self.identity,
                    asker,
                    method,
                    answered,
                )]
            }
            (Asker::Version2(asker), Err(fault)) => {
                vec![qmf2::exception(&self.identity, asker, &fault)]
            }
        }
    }

    /// Something has happened, which the core has told of.
    pub fn hear(&mut self, event: &Event) {
        self.is_new_heard |= is_listening_for_objects(event);
    }

    /// Says that it is there, `now` in nanoseconds since 1970.
    pub fn heartbeat(&mut self, now: u64) -> Vec<Publication> {
        let mut told = Vec::new();
        if self.told.in_version_1 {
            told.extend(qmf1::heartbeat(now));
        }
        if self.told.in_version_2 {
            let interval = self.told.interval;
            told.push(qmf2::heartbeat(&self.identity, now, interval));
        }
        told
    }

    /// Where objects of a class are told, as faces and routing keys.
    pub fn data_keys(&self, class: &Class) -> Vec<(Face, String)> {
        let mut keys = Vec::new();
        if self.told.in_version_1 {
            keys.push((Face::Version1, qmf1::data_key(class)));
        }
        if self.told.in_version_2 {
            keys.push((Face::Topic, self.identity.data_key(class)));
        }
        keys
    }

    /// Tells how objects are now, those that have changed or that are gone.
    pub fn data(&mut self, objects: &[Object]) -> Vec<Publication> {
        let mut told = Vec::new();
        if self.told.in_version_1 {
            told.extend(qmf1::data(objects, &mut self.numbers));
        }
        if self.told.in_version_2 {
            told.extend(qmf2::data(&self.identity, objects));
        }
        for object in objects.iter().filter(|object| object.times.deleted != 0) {
            self.numbers.forget(&object.name);
        }
        told
    }
}

fn call(
    object: ObjectName,
    method: &str,
    asker: Asker,
    with_arguments: impl FnOnce(&'static Class, (usize, &'static Method)) -> Result<Call, Fault>,
) -> Result<Work, Fault> {
    let class = object.class().ok_or_else(|| unknown_object(&object))?;
    let found = class.method(method)?;
    let call = with_arguments(class, found)?;
    let (_, method) = found;
    Ok(Work::Call(Box::new(Called {
        object,
        class,
        call,
        method,
        asker,
    })))
}

/// Whether an event says that a queue was bound to where objects are told of in version 1.
fn is_listening_for_objects(event: &Event) -> bool {
    let Event::Bind { exchange, key, .. } = event else {
        return false;
    };
    let keys = ["#", "console.#", "console.obj."];
    exchange == QPID_MANAGEMENT && keys.iter().any(|prefix| key.starts_with(prefix))
}

/// Whether an answer is what the schema says that a method answers.
fn fits(method: &Method, answered: &[Datum]) -> bool {
    let types = answered.iter().map(Datum::r#type);
    types.eq(method.answered().map(|argument| argument.r#type))
}
