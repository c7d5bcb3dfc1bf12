//! What users may ask of management, by the ACL file in force: looked at before anything is done.

use std::sync::Arc;

use crate::adapter::{Rights as _, Verdict, exchange};
use crate::broker::Refusal;
use crate::broker::command::UnreadableBind;
use crate::broker::guard::Guarded;
use crate::broker::management::{Action, Destination, Face, Import, Requester};
use crate::management::agent::{Called, Find, answered_at};
use crate::qmf::acl::{self as schema, AclMethod};
use crate::qmf::broker::{BINDING, BrokerMethod, EXCHANGE, QUEUE, SUBSCRIPTION};
use crate::qmf::datum::Datum;
use crate::qmf::schema::Class;
use crate::qmf::{self, Call, Fault, ObjectName, Query, Status};
use crate::security::acl::requests::conditions;
use crate::security::acl::rules::Properties;
use crate::security::acl::{self, Acl, Object, Property};
use crate::server::driver::Shared;
use crate::server::reload;
use crate::wire::{Command, ErrorCode, MessageProperties, Text};

/// Whether a user may call a method.
///
/// # Errors
/// [`Status::Forbidden`].
pub fn check_call(acl: &Acl, requester: &Requester, called: &Called) -> Result<(), Fault> {
    let of = (called.class.package, called.class.name);
    check_method(acl, requester, of, called.method().name)
}

/// The same, by package and class, and the method's name.
///
/// # Errors
/// [`Status::Forbidden`].
pub fn check_method(
    acl: &Acl,
    requester: &Requester,
    (package, class): (&str, &str),
    name: &str,
) -> Result<(), Fault> {
    let properties = Properties::from([
        (Property::SchemaPackage, package.to_owned()),
        (Property::SchemaClass, class.to_owned()),
    ]);
    let (action, object) = (acl::Action::Access, Object::Method);
    let may = acl.authorise(&requester.user, action, object, name, Some(&properties));
    may.then_some(())
        .ok_or_else(|| Fault::of(Status::Forbidden))
}

/// Whether a user may look for objects.
///
/// # Errors
/// [`Status::Forbidden`].
pub fn check_query(acl: &Acl, requester: &Requester, find: &Find) -> Result<(), Fault> {
    match &find.query {
        Query::Class { class, .. } => check_class(acl, requester, "", class),
        Query::Object(name) => {
            let class = name.class().map_or("", |class| class.name);
            check_class(acl, requester, name.as_str(), class)
        }
    }
}

/// The same, by the object's name, if it is one, and the class.
///
/// # Errors
/// [`Status::Forbidden`].
pub fn check_class(acl: &Acl, requester: &Requester, name: &str, class: &str) -> Result<(), Fault> {
    let properties = Properties::from([(Property::SchemaClass, class.to_owned())]);
    let (action, object) = (acl::Action::Access, Object::Query);
    let may = acl.authorise(&requester.user, action, object, name, Some(&properties));
    may.then_some(())
        .ok_or_else(|| Fault::of(Status::Forbidden))
}

/// Whether a user may have done what a method does without the core: looks at a queue, as who asks for it
/// over AMQP, or at a setting of the broker, or changes one.
///
/// # Errors
/// The user may not, in the words of qpidd.
pub fn check_direct(shared: &Shared, requester: &Requester, call: &Call) -> Result<(), Fault> {
    use acl::Action::{Access, Update};
    let Call::Broker(method) = call else {
        return Ok(());
    };
    let (action, object, name, what) = match method {
        BrokerMethod::Query { r#type, name } if r#type == "queue" => {
            (Access, Object::Queue, &**name, "queue query")
        }
        BrokerMethod::GetTimestampConfig => (Access, Object::Broker, "", "broker timestamp get"),
        BrokerMethod::SetTimestampConfig { .. } => {
            (Update, Object::Broker, "", "broker timestamp set")
        }
        _ => return Ok(()),
    };
    let user = &requester.user;
    match shared
        .rights
        .acl
        .authorise(user, action, object, name, None)
    {
        true => Ok(()),
        false => Err(Fault::exception(format!(
            "unauthorized-access: ACL denied {what} request from {user}"
        ))),
    }
}

/// Whether a request may be answered where it wants the answer to go: to an exchange of QMF, or where its
/// user may publish. Otherwise who may write nowhere would have the broker write for him.
pub fn may_be_answered(acl: &Acl, requester: &Requester, properties: &MessageProperties) -> bool {
    if !acl.rules().has_publish {
        return true;
    }
    let is_face = |exchange: &str| Face::ALL.iter().any(|(_, name, _)| *name == exchange);
    let user = &requester.user;
    let places = answered_at(properties).into_iter();
    let mut others = places.filter(|(exchange, _)| !is_face(exchange));
    let denied = others.find(|(exchange, key)| {
        let decision = acl.authorise_publish(user, exchange, key);
        !decision.is_allowed()
    });
    if let Some((exchange, key)) = denied {
        tracing::info!(
            target: "Security",
            "a management request of {user} is not read: its answer is to go to {} with routing-key {}, \
             where its user cannot publish",
            exchange.escape_debug(),
            key.escape_debug()
        );
    }
    denied.is_none()
}

/// What somebody may see of the objects of a class, where rules speak of some by their names.
#[derive(Debug)]
pub struct Sight {
    rules: Arc<acl::Rules>,
    user: Text,
}

impl Sight {
    /// What a user may see. None: all objects of a class that may be asked for.
    pub fn of(acl: &Acl, user: &Text) -> Option<Sight> {
        let rules = acl.rules();
        let is_needed = rules.asks_name(user, acl::Action::Access, Object::Query);
        is_needed.then(|| Sight {
            rules,
            user: user.clone(),
        })
    }

    /// Keeps those of these objects that are seen, and of each what may be told: not the name of an
    /// exchange that is not seen.
    pub fn keep(&self, objects: &mut Vec<qmf::Object>) {
        objects.retain(|object| self.sees(object));
        for object in objects {
            for property in object.values.properties.iter_mut() {
                if property.as_ref().is_some_and(|value| !self.sees_end(value)) {
                    *property = None;
                }
            }
            self.cover_peer(object);
        }
    }

    /// Leaves out to which queue a queue is redirected, if that is not seen.
    fn cover_peer(&self, object: &mut qmf::Object) {
        let names = object.class().statistics.iter();
        let values = names.zip(object.values.statistics.iter_mut());
        for (_, value) in values.filter(|(named, _)| named.value_name == "redirectPeer") {
            if let Datum::ShortText(name) = value
                && !self.sees_named(&ObjectName::queue(name))
            {
                name.clear();
            }
        }
    }

    /// Whether an object is seen. What says by its being there that another is, is seen when that is.
    fn sees(&self, object: &qmf::Object) -> bool {
        let class = object.class();
        let has_ends = [&BINDING, &SUBSCRIPTION]
            .iter()
            .any(|with_ends| std::ptr::eq(*with_ends, class));
        let mut values = object.values.properties.iter().flatten();
        self.sees_named(&object.name) && (!has_ends || values.all(|value| self.sees_end(value)))
    }

    /// Whether what a value refers to is seen, if it is a queue or an exchange.
    fn sees_end(&self, value: &Datum) -> bool {
        let Datum::Reference(name) = value else {
            return true;
        };
        let is_end =
            |class: &&Class| std::ptr::eq(*class, &QUEUE) || std::ptr::eq(*class, &EXCHANGE);
        !name.class().as_ref().is_some_and(is_end) || self.sees_named(name)
    }

    /// What is not seen is neither counted nor logged: nobody asked for it.
    fn sees_named(&self, name: &ObjectName) -> bool {
        let class = name.class().map_or("", |class| class.name);
        let properties = Properties::from([(Property::SchemaClass, class.to_owned())]);
        let (action, object) = (acl::Action::Access, Object::Query);
        let name = name.as_str();
        let decision = self
            .rules
            .lookup(&self.user, action, object, name, Some(&properties));
        decision.is_allowed()
    }

    /// Whether an event is told of: it names no queue and no exchange that is not seen.
    pub fn hears(&self, event: &qmf::Event) -> bool {
        let arguments = || event.class.arguments.iter().zip(&event.arguments);
        let text = |value: &Datum| match value {
            Datum::ShortText(text) => text.clone(),
            _ => Text::default(),
        };
        let kind = arguments().find(|(argument, _)| argument.name == "objectType");
        let kind = kind.map(|(_, value)| text(value)).unwrap_or_default();
        arguments().all(|(argument, value)| {
            let of = match (argument.name, kind.as_str()) {
                ("qName" | "qTarget" | "queueName", _) | ("objectName", "queue") => {
                    ObjectName::queue
                }
                ("exName" | "altEx", _) | ("objectName", "exchange") => ObjectName::exchange,
                _ => return true,
            };
            let name = text(value);
            name.is_empty() || self.sees_named(&of(&name))
        })
    }
}

/// What is told of an act that its user may not have done.
pub fn denied(fault: Fault) -> Refusal {
    Refusal {
        code: ErrorCode::UNAUTHORIZED_ACCESS,
        class: 0,
        command: 0,
        text: fault.text,
    }
}

/// The action as the core is to do it: with conditions, where rights depend on what is there.
///
/// # Errors
/// The user may not, in the words of qpidd.
pub fn permitted(shared: &Shared, requester: &Requester, action: Action) -> Result<Action, Fault> {
    let mut action = read(action)?;
    check_taking(&shared.rights.acl, requester, &mut action)?;
    check_federating(&shared.rights.acl, requester, &action)?;
    if let Action::Import(import) | Action::CheckImport(import) = &mut action {
        check_import(shared, requester, import)?;
    }
    let Some(command) = command_of(&action) else {
        return Ok(action);
    };
    let Some(mut rights) = shared.rights.of(&requester.user, false) else {
        return Ok(action);
    };
    match rights.verdict(&command) {
        Verdict::Allowed => Ok(action),
        Verdict::Guarded(guarded) => Ok(Action::Guarded(guarded)),
        Verdict::Denied(text) => Err(Fault::exception(format!("unauthorized-access: {text}"))),
    }
}

/// Whether a user may make links and routes to other brokers, or take them away: what goes over them is
/// looked at by nobody.
fn check_federating(acl: &Acl, requester: &Requester, action: &Action) -> Result<(), Fault> {
    let name = match action {
        Action::CreateLink(link) | Action::Connect(link) => &link.name,
        Action::CreateBridge(bridge) | Action::AddBridge(bridge) => &bridge.link,
        Action::DeleteLink(name) | Action::DeleteBridge(name) => name,
        _ => return Ok(()),
    };
    let user = &requester.user;
    match acl.authorise(user, acl::Action::Create, Object::Link, name, None) {
        true => Ok(()),
        false => Err(Fault::exception(format!(
            "unauthorized-access: ACL denied create link request from {user}"
        ))),
    }
}

/// The action with what can be said of it before the core has it: whether exchanges are of a type that
/// there is, and whether queries can be read.
fn read(mut action: Action) -> Result<Action, Fault> {
    let declared = match &action {
        Action::CreateExchange(declare) => std::slice::from_ref(&**declare),
        Action::Import(import) | Action::CheckImport(import) => &import.exchanges,
        _ => &[],
    };
    if declared.iter().any(exchange::is_not_built) {
        return Err(Fault::exception(format!(
            "not-found: {}",
            exchange::NOT_BUILT
        )));
    }
    if let Action::Import(import) | Action::CheckImport(import) = &mut action {
        let fault = |bind| exchange::query_fault(bind).map(Text::from);
        let bindings = (0..).zip(&import.bindings);
        let faults = bindings.filter_map(|(at, bind)| Some((at, fault(bind)?)));
        import.unreadable = faults.collect();
    }
    Ok(match action {
        Action::Bind(bind) => match exchange::query_fault(&bind) {
            Some(text) => Action::BindUnreadable(Box::new(UnreadableBind { bind: *bind, text })),
            None => Action::Bind(bind),
        },
        other => other,
    })
}

/// The command of AMQP that asks for the same.
fn command_of(action: &Action) -> Option<Command> {
    Some(match action {
        Action::CreateQueue(declare) => Command::QueueDeclare((**declare).clone()),
        Action::DeleteQueue(delete) => Command::QueueDelete((**delete).clone()),
        Action::CreateExchange(declare) => Command::ExchangeDeclare((**declare).clone()),
        Action::DeleteExchange(delete) => Command::ExchangeDelete((**delete).clone()),
        Action::Bind(bind) => Command::ExchangeBind((**bind).clone()),
        Action::BindUnreadable(unreadable) => Command::ExchangeBind(unreadable.bind.clone()),
        Action::Unbind(unbind) => Command::ExchangeUnbind((**unbind).clone()),
        Action::Barrier
        | Action::Guarded(_)
        | Action::Import(_)
        | Action::CheckImport(_)
        | Action::Take(_)
        | Action::CloseConnection(_)
        | Action::EndSession { .. }
        | Action::Stamp(_)
        | Action::Stop(_)
        | Action::TakeOut(_)
        | Action::Raise(_)
        | Action::CreateLink(_)
        | Action::Connect(_)
        | Action::DeleteLink(_)
        | Action::CreateBridge(_)
        | Action::AddBridge(_)
        | Action::DeleteBridge(_)
        | Action::ReportLink(_)
        | Action::Redirect(_) => return None,
    })
}

/// Definitions of an import of which it is told that they are denied.
const DENIALS_TOLD_MAX: usize = 20;

/// Whether a user may have all of an import done, and how many queues he may have made then. What depends
/// on what is there else is denied: an import carries no other conditions.
fn check_import(shared: &Shared, requester: &Requester, import: &mut Import) -> Result<(), Fault> {
    let Some(mut rights) = shared.rights.of(&requester.user, false) else {
        return Ok(());
    };
    let exchanges = import
        .exchanges
        .iter()
        .cloned()
        .map(Command::ExchangeDeclare);
    let queues = import.queues.iter().cloned().map(Command::QueueDeclare);
    let bindings = import.bindings.iter().cloned().map(Command::ExchangeBind);
    let unbindings = import
        .unbindings
        .iter()
        .cloned()
        .map(Command::ExchangeUnbind);
    let gone = import
        .deleted_queues
        .iter()
        .cloned()
        .map(Command::QueueDelete);
    let made = exchanges.chain(queues).chain(bindings).chain(unbindings);
    let also = import
        .deleted_exchanges
        .iter()
        .cloned()
        .map(Command::ExchangeDelete);
    let commands: Vec<Command> = made.chain(gone).chain(also).collect();
    let mut denied = Vec::new();
    for command in commands {
        let text = match rights.verdict(&command) {
            Verdict::Allowed => continue,
            Verdict::Denied(text) => text,
            Verdict::Guarded(guarded) if let Guarded::QueueDeclare { quota, .. } = *guarded => {
                import.quota = Some(quota);
                continue;
            }
            Verdict::Guarded(_) => format!(
                "ACL denied {} request from {}: an import cannot be made to depend on what is there",
                command.name(),
                requester.user
            ),
        };
        denied.push(format!("{}: {text}", definition(&command)));
    }
    let told = denied.len().min(DENIALS_TOLD_MAX);
    let more = match denied.len() - told {
        0 => String::new(),
        more => format!("; and {more} more"),
    };
    match told {
        0 => Ok(()),
        _ => {
            denied.truncate(told);
            let all = denied.join("; ");
            Err(Fault::exception(format!(
                "unauthorized-access: {all}{more}"
            )))
        }
    }
}

/// What a command of an import is about, in words.
fn definition(command: &Command) -> String {
    match command {
        Command::ExchangeDeclare(declare) => format!("exchange {}", declare.exchange),
        Command::ExchangeDelete(delete) => format!("exchange {}", delete.exchange),
        Command::QueueDeclare(declare) => format!("queue {}", declare.queue),
        Command::QueueDelete(delete) => format!("queue {}", delete.queue),
        Command::ExchangeBind(bind) => format!(
            "binding {}/{}/{}",
            bind.exchange, bind.queue, bind.binding_key
        ),
        Command::ExchangeUnbind(unbind) => format!(
            "binding {}/{}/{}",
            unbind.exchange, unbind.queue, unbind.binding_key
        ),
        other => other.name().to_owned(),
    }
}

/// Whether a user may do what AMQP has no command for. Where it depends on the exchange that is the queue's
/// alternate when the turn comes, the action gets conditions.
fn check_taking(acl: &Acl, requester: &Requester, action: &mut Action) -> Result<(), Fault> {
    if let Action::Take(take) = action
        && take.to == Destination::Alternate
    {
        let (rules, act) = (acl.rules(), (acl::Action::Reroute, Object::Queue));
        if rules.asks_properties(&requester.user, act.0, act.1) {
            let found = conditions(&rules, &requester.user, act, &take.queue);
            let denied = || {
                acl.note_denial();
                not_allowed(requester, act.0)
            };
            take.to = Destination::AlternateIf(found.ok_or_else(denied)?);
            return Ok(());
        }
    }
    let of_queue = |queue: &Text| (Property::QueueName, queue.to_string());
    let (action, object, name, properties) = match &*action {
        Action::Take(take) => match &take.to {
            Destination::Nowhere => (acl::Action::Purge, Object::Queue, &take.queue, None),
            Destination::Queue(to) => {
                let properties = Properties::from([of_queue(to)]);
                (
                    acl::Action::Move,
                    Object::Queue,
                    &take.queue,
                    Some(properties),
                )
            }
            Destination::Exchange(to) => {
                let properties = Properties::from([(Property::ExchangeName, to.to_string())]);
                (
                    acl::Action::Reroute,
                    Object::Queue,
                    &take.queue,
                    Some(properties),
                )
            }
            Destination::Alternate | Destination::AlternateIf(_) => {
                (acl::Action::Reroute, Object::Queue, &take.queue, None)
            }
        },
        Action::Redirect(redirect) => {
            let properties = Properties::from([of_queue(&redirect.target)]);
            (
                acl::Action::Redirect,
                Object::Queue,
                &redirect.source,
                Some(properties),
            )
        }
        _ => return Ok(()),
    };
    let may = acl.authorise(&requester.user, action, object, name, properties.as_ref());
    may.then_some(())
        .ok_or_else(|| not_allowed(requester, action))
}

fn not_allowed(requester: &Requester, action: acl::Action) -> Fault {
    let (action, user) = (action.name(), &requester.user);
    Fault::exception(format!(
        "unauthorized-access: ACL denied queue {action} request from {user}"
    ))
}

/// What management shows of the rules, and of what they have denied.
pub fn told(shared: &Shared) -> schema::Acl {
    let acl = &shared.rights.acl;
    let (settings, denials) = (acl.settings(), acl.denials());
    let short = |number: u32| u16::try_from(number).unwrap_or(u16::MAX);
    let file = settings.file.as_ref().map(|file| file.to_string_lossy());
    let loaded = acl.loaded().duration_since(std::time::UNIX_EPOCH);
    let loaded = loaded.map_or(0, |since| {
        i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
    });
    schema::Acl {
        broker_ref: ObjectName::broker(),
        policy_file: file.unwrap_or_default().as_ref().into(),
        enforcing_acl: acl.has_file(),
        transfer_acl: acl.rules().has_publish,
        last_acl_load: loaded,
        max_connections: short(shared.connections_max),
        max_connections_per_ip: short(settings.connections_per_host),
        max_connections_per_user: short(settings.connections_per_user),
        max_queues_per_user: short(settings.queues_per_user),
        acl_deny_count: denials.acts,
        connection_deny_count: denials.connections,
        queue_quota_deny_count: denials.queues,
    }
}

/// Does what a method of the rules asks.
///
/// # Errors
/// The file cannot be read or has something wrong in it, and the rules in force stay so; or a name is none
/// that rules know.
pub fn call(shared: &Shared, method: &AclMethod) -> Result<Vec<Datum>, Fault> {
    let acl = &shared.rights.acl;
    match method {
        AclMethod::ReloadAclFile => {
            let done = reload::rights(shared);
            done.map_err(|why| Fault::new(Status::User(1), why))?;
            Ok(Vec::new())
        }
        AclMethod::Lookup {
            user_id,
            action,
            object,
            object_name,
            property_map,
        } => {
            let texts = property_map
                .iter()
                .filter_map(|(name, value)| Some((name, value.text()?)));
            let texts: Vec<_> = texts.map(|(name, text)| (name, text.to_string())).collect();
            let properties: Vec<_> = texts.iter().map(|(name, text)| (*name, &**text)).collect();
            let found = acl.lookup(user_id, action, object, object_name, &properties);
            let decision = found.map_err(|why| Fault::new(Status::User(2), why))?;
            Ok(AclMethod::lookup_answer(decision.name().into()))
        }
        AclMethod::LookupPublish {
            user_id,
            exchange_name,
            routing_key,
        } => {
            let decision = acl.lookup_publish(user_id, exchange_name, routing_key);
            Ok(AclMethod::lookup_publish_answer(decision.name().into()))
        }
    }
}
