//! What a method call asks for: of the core, of the process, or nothing but an answer.

use super::agent::{Called, unknown_object};
use super::{links, model};
use crate::broker::management::{Action, Destination, HeaderMatch, Redirect, Take};
use crate::broker::queue::kind::Kind;
use crate::broker::{Core, Refusal};
use crate::qmf::Call;
use crate::qmf::acl::AclMethod;
use crate::qmf::broker::{
    BridgeMethod, BrokerMethod, ConnectionMethod, QueueMethod, SessionMethod,
};
use crate::qmf::cluster::ClusterMethod;
use crate::qmf::datum::Datum;
use crate::qmf::object::ObjectName;
use crate::qmf::status::{Fault, Status};
use crate::wire::{
    ErrorCode, ExchangeBind, ExchangeDeclare, ExchangeDelete, ExchangeUnbind, Map, QueueDeclare,
    QueueDelete, Text, Value,
};

/// What is to be done for a call.
#[derive(Clone, Debug, PartialEq)]
pub enum Deed {
    /// Nothing more: this is the answer.
    Done(Result<Vec<Datum>, Fault>),
    /// The core is to act; [`outcome`] makes an answer of what became of it.
    Act(Action),
    /// The core was to act on what is not there. Only who may have this done is told so.
    Absent(Action),
    /// The process is to do it.
    Process(ProcessDeed),
}

/// What only the process can do.
#[derive(Clone, Debug, PartialEq)]
pub enum ProcessDeed {
    /// Says which log lines are wanted.
    LogLevel,
    /// Log lines are wanted as `RULE` says, or as several with commas between them do.
    SetLogLevel(Text),
    /// Says whether log lines have the time to the nanosecond.
    LogHires,
    /// Log lines have the time to the nanosecond, or not.
    SetLogHires(bool),
    /// Rules about who may do what are read again, or looked up.
    Acl(AclMethod),
    /// The broker is to end.
    Shutdown,
    /// The member of the cluster with this identity is to end.
    StopMember(Text),
    /// All members of the cluster are to end.
    StopCluster,
}

/// Arguments of `create` that are no arguments of the queue or exchange. Tools rely on the names.
const DURABLE: &str = "durable";
const AUTO_DELETE: &str = "auto-delete";
const ALTERNATE_EXCHANGE: &str = "alternate-exchange";
const EXCHANGE_TYPE: &str = "exchange-type";

/// What is to be done for a call.
pub fn deed(core: &Core, called: &Called) -> Deed {
    deed_of(core, &called.object, &called.call)
}

/// The same of a call that came on another way than in a message.
pub fn deed_of(core: &Core, object: &ObjectName, call: &Call) -> Deed {
    let key = object.key();
    let deed = match call {
        Call::Broker(_) if *object != ObjectName::broker() => None,
        Call::Broker(method) => Some(broker_deed(core, method)),
        Call::Queue(method) => Some(match (queue_deed(key, method), core.queue_of_name(key)) {
            (Deed::Act(action), None) => Deed::Absent(action),
            (deed, _) => deed,
        }),
        Call::Connection(ConnectionMethod::Close) => model::connection_of(core, key)
            .map(|connection| Deed::Act(Action::CloseConnection(connection))),
        Call::Session(method) => model::session_of(core, key).map(|name| match method {
            SessionMethod::Detach => Deed::Act(Action::EndSession {
                user: name.user,
                name: name.name.to_vec(),
            }),
            SessionMethod::SolicitAck | SessionMethod::ResetLifespan | SessionMethod::Close => {
                failed(Fault::of(Status::NotImplemented))
            }
        }),
        Call::Cluster(method) => Some(Deed::Process(match method {
            ClusterMethod::StopClusterNode { broker_id } => {
                ProcessDeed::StopMember(broker_id.clone())
            }
            ClusterMethod::StopFullCluster => ProcessDeed::StopCluster,
        })),
        Call::Acl(method) => {
            let is_it = object.key() == ObjectName::broker().as_str();
            is_it.then(|| Deed::Process(ProcessDeed::Acl(method.clone())))
        }
        Call::Link(method) => core
            .links()
            .get(key)
            .map(|_| Deed::Act(links::of_link(key, method))),
        Call::Bridge(BridgeMethod::Close) => model::bridge_of(core, key)
            .map(|(_, bridge)| Deed::Act(Action::DeleteBridge(bridge.definition.name.clone()))),
        Call::Habroker(_) => None,
    };
    deed.unwrap_or_else(|| failed(unknown_object(object)))
}

/// The answer that an act of the core comes to.
///
/// # Errors
/// As the method tells that it was not done.
pub fn outcome(called: &Called, outcome: Result<u64, Refusal>) -> Result<Vec<Datum>, Fault> {
    let refusal = match outcome {
        Ok(_) => return Ok(Vec::new()),
        Err(refusal) => refusal,
    };
    let is_parameter = matches!(
        called.call,
        Call::Broker(BrokerMethod::QueueMoveMessages { .. })
            | Call::Queue(QueueMethod::Reroute { .. })
    ) && matches!(
        refusal.code,
        ErrorCode::NOT_FOUND | ErrorCode::PRECONDITION_FAILED | ErrorCode::INVALID_ARGUMENT
    );
    Err(match is_parameter {
        true => Fault::new(Status::InvalidParameter, refusal.text),
        false => Fault::exception(refusal.text),
    })
}

fn failed(fault: Fault) -> Deed {
    Deed::Done(Err(fault))
}

fn answered(answer: Vec<Datum>) -> Deed {
    Deed::Done(Ok(answer))
}

fn broker_deed(core: &Core, method: &BrokerMethod) -> Deed {
    match method {
        BrokerMethod::Echo { sequence, body } => {
            answered(BrokerMethod::echo_answer(*sequence, body.clone()))
        }
        BrokerMethod::Connect { .. } => act(links::connect(method)),
        BrokerMethod::QueueMoveMessages {
            src_queue,
            dest_queue,
            qty,
            filter,
        } => match header_match(filter) {
            Err(fault) => failed(fault),
            Ok(filter) => Deed::Act(Action::Take(Box::new(Take {
                queue: src_queue.clone(),
                count: *qty,
                filter,
                to: Destination::Queue(dest_queue.clone()),
            }))),
        },
        BrokerMethod::SetLogLevel { level } => {
            Deed::Process(ProcessDeed::SetLogLevel(level.clone()))
        }
        BrokerMethod::GetLogLevel => Deed::Process(ProcessDeed::LogLevel),
        BrokerMethod::GetTimestampConfig => answered(BrokerMethod::get_timestamp_config_answer(
            core.is_stamping(),
        )),
        BrokerMethod::SetTimestampConfig { receive } => Deed::Act(Action::Stamp(*receive)),
        BrokerMethod::Create {
            r#type,
            name,
            properties,
            ..
        } => act(create(core, r#type, name, properties)),
        BrokerMethod::Delete {
            r#type,
            name,
            options,
        } => act(delete(r#type, name, options)),
        BrokerMethod::Query { r#type, name } => Deed::Done(query(core, r#type, name)),
        BrokerMethod::GetLogHiresTimestamp => Deed::Process(ProcessDeed::LogHires),
        BrokerMethod::SetLogHiresTimestamp { log_hires } => {
            Deed::Process(ProcessDeed::SetLogHires(*log_hires))
        }
        BrokerMethod::QueueRedirect {
            source_queue,
            target_queue,
        } => Deed::Act(Action::Redirect(Redirect {
            source: source_queue.clone(),
            target: target_queue.clone(),
        })),
        BrokerMethod::Shutdown => Deed::Process(ProcessDeed::Shutdown),
    }
}

fn act(action: Result<Action, Fault>) -> Deed {
    action.map_or_else(failed, Deed::Act)
}

fn queue_deed(queue: &str, method: &QueueMethod) -> Deed {
    let (count, filter, to) = match method {
        QueueMethod::Purge { request, filter } => (*request, filter, Destination::Nowhere),
        QueueMethod::Reroute {
            request,
            use_alt_exchange,
            exchange,
            filter,
        } => {
            let to = match use_alt_exchange {
                true => Destination::Alternate,
                false => Destination::Exchange(exchange.clone()),
            };
            (*request, filter, to)
        }
    };
    match header_match(filter) {
        Err(fault) => failed(fault),
        Ok(filter) => Deed::Act(Action::Take(Box::new(Take {
            queue: queue.into(),
            count,
            filter,
            to,
        }))),
    }
}

/// Which messages a filter of a method means; None for all.
///
/// # Errors
/// It is of a kind that nobody knows: then no message is touched.
fn header_match(filter: &Map) -> Result<Option<HeaderMatch>, Fault> {
    let Some(kind) = filter.get("filter_type") else {
        return Ok(None);
    };
    let wrong = |text: &str| Fault::new(Status::InvalidParameter, text);
    if kind.as_str() != Some("header_match_str") {
        return Err(wrong("a filter of a type that is not known"));
    }
    let parameters = filter.get("filter_params").and_then(Value::as_map);
    let parameters = parameters.ok_or_else(|| wrong("a filter without filter_params"))?;
    let text = |name: &str| parameters.get(name).and_then(Value::as_str).map(Text::from);
    match (text("header_key"), text("header_value")) {
        (Some(key), Some(value)) => Ok(Some(HeaderMatch { key, value })),
        _ => Err(wrong("a filter without header_key and header_value")),
    }
}

/// `create`. What is no property of the thing itself is an argument of it.
///
/// # Errors
/// A name is longer than any client could say it (`str8`), or a property is of the wrong type.
fn create(core: &Core, r#type: &str, name: &Text, properties: &Map) -> Result<Action, Fault> {
    if r#type != "binding" {
        short(r#type, name)?;
    }
    let flag = |key: &str| is_set(properties, key);
    let text = |key: &str| properties.get(key).and_then(Value::as_str).map(Text::from);
    let others = |own: &[&str]| -> Map {
        let all = properties.iter().filter(|(key, _)| !own.contains(key));
        all.map(|(key, value)| (Text::from(key), value.clone()))
            .collect()
    };
    match r#type {
        "queue" => Ok(Action::CreateQueue(Box::new(QueueDeclare {
            queue: name.clone(),
            durable: flag(DURABLE)?,
            auto_delete: flag(AUTO_DELETE)?,
            alternate_exchange: text(ALTERNATE_EXCHANGE),
            arguments: Some(others(&[DURABLE, AUTO_DELETE, ALTERNATE_EXCHANGE])),
            ..QueueDeclare::default()
        }))),
        "exchange" | "topic" => {
            let own = [DURABLE, AUTO_DELETE, ALTERNATE_EXCHANGE, EXCHANGE_TYPE];
            Ok(Action::CreateExchange(Box::new(ExchangeDeclare {
                exchange: name.clone(),
                r#type: text(EXCHANGE_TYPE).unwrap_or("topic".into()),
                durable: flag(DURABLE)?,
                auto_delete: flag(AUTO_DELETE)?,
                alternate_exchange: text(ALTERNATE_EXCHANGE),
                arguments: Some(others(&own)),
                ..ExchangeDeclare::default()
            })))
        }
        "binding" => {
            let (exchange, queue, key) = binding(name)?;
            short("binding key", &key)?;
            Ok(Action::Bind(Box::new(ExchangeBind {
                queue,
                exchange,
                binding_key: key,
                arguments: Some(properties.clone()),
            })))
        }
        "link" => links::create_link(name, properties),
        "bridge" => match links::create_bridge(name, properties)? {
            Action::CreateBridge(bridge) if core.links().get(&bridge.link).is_none() => {
                let text = format!("no link {}", bridge.link);
                Err(Fault::new(Status::InvalidParameter, text))
            }
            action => Ok(action),
        },
        _ => Err(unknown_type(r#type)),
    }
}

/// `delete`.
fn delete(r#type: &str, name: &Text, options: &Map) -> Result<Action, Fault> {
    match r#type {
        "queue" => Ok(Action::DeleteQueue(Box::new(QueueDelete {
            queue: name.clone(),
            if_unused: is_set(options, "if_unused")?,
            if_empty: is_set(options, "if_empty")?,
        }))),
        "exchange" | "topic" => Ok(Action::DeleteExchange(Box::new(ExchangeDelete {
            exchange: name.clone(),
            if_unused: is_set(options, "if_unused")?,
        }))),
        "binding" => {
            let (exchange, queue, key) = binding(name)?;
            Ok(Action::Unbind(Box::new(ExchangeUnbind {
                queue,
                exchange,
                binding_key: key,
            })))
        }
        "link" => Ok(Action::DeleteLink(name.clone())),
        "bridge" => Ok(Action::DeleteBridge(name.clone())),
        _ => Err(unknown_type(r#type)),
    }
}

/// Refuses what no command of AMQP 0-10 could name.
fn short(what: &str, name: &str) -> Result<(), Fault> {
    let (octets, most) = (name.len(), usize::from(u8::MAX));
    match octets <= most {
        true => Ok(()),
        false => Err(Fault::exception(format!(
            "{what}: a name of {octets} octets; at most {most} are possible"
        ))),
    }
}

fn unknown_type(r#type: &str) -> Fault {
    Fault::exception(format!("unknown object type: {}", r#type.escape_debug()))
}

pub(super) fn is_set(properties: &Map, key: &str) -> Result<bool, Fault> {
    let Some(value) = properties.get(key) else {
        return Ok(false);
    };
    match Datum::from_value(crate::qmf::schema::Type::Bool, value) {
        Some(Datum::Bool(is_set)) => Ok(is_set),
        _ => Err(Fault::new(
            Status::InvalidParameter,
            format!("{key} is neither true nor false"),
        )),
    }
}

/// A binding's name as tools give it: exchange, queue and key with `/` between them. One part alone is
/// a queue, bound to the default exchange.
fn binding(name: &str) -> Result<(Text, Text, Text), Fault> {
    let parts: Vec<&str> = name.split('/').collect();
    match parts[..] {
        [queue] => Ok((Text::default(), queue.into(), queue.into())),
        [exchange, queue] => Ok((exchange.into(), queue.into(), Text::default())),
        [exchange, queue, key] => Ok((exchange.into(), queue.into(), key.into())),
        _ => Err(Fault::exception(format!(
            "invalid binding: {}",
            name.escape_debug()
        ))),
    }
}

/// `query`: how the groups of a queue's messages stand.
fn query(core: &Core, r#type: &str, name: &str) -> Result<Vec<Datum>, Fault> {
    if r#type != "queue" {
        return Err(unknown_type(r#type));
    }
    let queue = core
        .queue_of_name(name)
        .ok_or_else(|| Fault::new(Status::UnknownObject, format!("no queue {name}")))?;
    let mut results = Map::new();
    if let Kind::Groups(groups) = &queue.kind {
        let state = groups.iter().take(GROUPS_TOLD_MAX).map(|group| {
            let owner = group.owner.and_then(|owner| core.subscription_at(owner));
            let owner = owner.map(|(subscription, session)| {
                let session = model::session_name(&session.name);
                format!("{session}::{}", subscription.tag.destination)
            });
            let mut state = Map::new();
            state.insert("group_id", group.name.clone());
            state.insert("msg_count", group.messages());
            state.insert("consumer", Value::Str16(owner.unwrap_or_default().into()));
            state.insert("timestamp", 0u64);
            Value::Map(state)
        });
        let mut told = Map::new();
        told.insert("group_header_key", groups.header().clone());
        told.insert("group_state", Value::List(state.collect()));
        results.insert("qpid.message_group_queue", told);
    }
    Ok(BrokerMethod::query_answer(results))
}

/// Groups that one answer tells of: what a message can carry.
const GROUPS_TOLD_MAX: usize = 1_000;
