//! What a request's user may ask: the same rights as over QMF, by the same names.

use super::answer::{Asking, binding_name};
use super::look::View;
use super::query;
use crate::management::http::definitions::DEFINED;
use crate::management::http::operations::Deal;
use crate::management::http::{Kind, Problem, paths};
use crate::qmf::cluster::CLUSTER;
use crate::qmf::{Fault, ObjectName};
use crate::server::agent::rights;

/// What a right is asked for.
enum Asked {
    /// Nothing: everybody may have it who may ask at all.
    Free,
    /// What the path names is looked at: see [`named`].
    Named,
    /// Objects of these classes are looked at.
    Query(&'static [&'static str]),
    /// Objects of all classes of which definitions are made are looked at.
    Definitions,
    /// A method of a class of the broker's package.
    Method(&'static str, &'static str),
    /// A method of the cluster.
    ClusterMethod(&'static str),
}

/// Classes of what events tell by name.
const HAPPENING: &[&str] = &[
    "broker",
    "connection",
    "queue",
    "exchange",
    "binding",
    "subscription",
];

/// The right that an operation needs. What an operation of QMF has no method for is asked for by that of
/// the nearest.
fn asked(deal: Deal) -> Asked {
    match deal {
        Deal::Alive | Deal::Ready | Deal::Description | Deal::ListClasses => Asked::Free,
        // Which right is asked depends on the object: see `check`.
        Deal::ListObjects | Deal::ShowObject | Deal::CallMethod => Asked::Free,
        Deal::ShowQueue
        | Deal::ShowExchange
        | Deal::ShowBinding
        | Deal::ShowConnection
        | Deal::ShowSession
        | Deal::BindingsOfQueue
        | Deal::BindingsFrom
        | Deal::BindingsTo
        | Deal::BindingsBetween => Asked::Named,
        Deal::Overview | Deal::ListNodes | Deal::ShowNode | Deal::ShowLevel | Deal::Metrics => {
            Asked::Query(&["broker"])
        }
        Deal::Events => Asked::Query(HAPPENING),
        Deal::DetailedMetrics => Asked::Query(&["queue", "exchange"]),
        Deal::ListQueues => Asked::Query(&["queue"]),
        Deal::ListExchanges => Asked::Query(&["exchange"]),
        Deal::ListBindings => Asked::Query(&["binding"]),
        Deal::ListConnections => Asked::Query(&["connection"]),
        Deal::ListSessions => Asked::Query(&["session"]),
        Deal::ListConsumers => Asked::Query(&["subscription"]),
        Deal::ExportDefinitions => Asked::Definitions,
        Deal::PutQueue | Deal::PutExchange | Deal::Bind | Deal::ImportDefinitions => {
            Asked::Method("broker", "create")
        }
        Deal::DeleteQueue | Deal::DeleteExchange | Deal::Unbind => {
            Asked::Method("broker", "delete")
        }
        Deal::PurgeQueue => Asked::Method("queue", "purge"),
        Deal::MoveMessages => Asked::Method("broker", "queueMoveMessages"),
        Deal::RerouteMessages => Asked::Method("queue", "reroute"),
        Deal::CloseConnection => Asked::Method("connection", "close"),
        Deal::EndSession => Asked::Method("session", "detach"),
        Deal::TakeOutNode => Asked::ClusterMethod("stopClusterNode"),
        Deal::RaiseLevel => Asked::ClusterMethod("stopFullCluster"),
    }
}

/// Which objects an operation shows, or whose bindings: each by its class and, where it is one, its name.
fn named(asking: &Asking) -> Vec<(&'static str, ObjectName)> {
    let part = |name| asking.part(name);
    let queue = || ("queue", ObjectName::queue(part("queue")));
    let exchange = || {
        let name = paths::to_exchange(part("exchange"));
        ("exchange", ObjectName::exchange(name))
    };
    let bindings = || ("binding", ObjectName::default());
    match asking.operation.deal {
        Deal::ShowQueue => vec![queue()],
        Deal::ShowExchange => vec![exchange()],
        Deal::ShowBinding => vec![("binding", binding_name(asking))],
        Deal::ShowConnection => vec![("connection", ObjectName::connection(part("connection")))],
        Deal::ShowSession => vec![("session", ObjectName::session(part("session")))],
        Deal::BindingsOfQueue => vec![bindings(), queue()],
        Deal::BindingsFrom | Deal::BindingsTo => vec![bindings(), exchange()],
        Deal::BindingsBetween => vec![bindings(), exchange(), queue()],
        _ => Vec::new(),
    }
}

/// The package of the classes above.
const PACKAGE: &str = "org.apache.qpid.broker";

/// Whether a request's user may have it done. What the core is then asked to do is looked at once more, by
/// the rights that AMQP asks.
///
/// # Errors
/// [`Kind::Forbidden`].
pub(super) fn check(view: &View, asking: &Asking) -> Result<(), Problem> {
    let acl = &view.shared.rights.acl;
    let user = &asking.requester;
    let query = |class: &str| rights::check_class(acl, user, "", class);
    let definitions = || DEFINED.iter().try_for_each(|class| query(class.name));
    let method = |(package, class): (&str, &str), name: &str| {
        rights::check_method(acl, user, (package, class), name)
    };
    let deal = asking.operation.deal;
    let checked = match (deal, asked(deal)) {
        (Deal::ListObjects, _) => query(asking.part("class")),
        (Deal::ShowObject, _) => {
            let name = ObjectName::parse(asking.part("object"))?;
            let class = name.class().map_or("", |class| class.name);
            rights::check_class(acl, user, name.as_str(), class)
        }
        (Deal::CallMethod, _) => {
            let class = ObjectName::parse(asking.part("object"))?.class();
            let of = class.map_or(("", ""), |class| (class.package, class.name));
            method(of, asking.part("method"))
        }
        (Deal::ImportDefinitions, Asked::Method(class, name)) => {
            let made = definitions().and_then(|()| method((PACKAGE, class), name));
            match query::is_set(&asking.query, "prune") {
                true => made.and_then(|()| method((PACKAGE, class), "delete")),
                false => made,
            }
        }
        (_, Asked::Free) => Ok(()),
        (_, Asked::Named) => named(asking)
            .iter()
            .try_for_each(|(class, name)| rights::check_class(acl, user, name.as_str(), class)),
        (_, Asked::Definitions) => definitions(),
        (_, Asked::Query(classes)) => classes.iter().try_for_each(|class| query(class)),
        (_, Asked::Method(class, name)) => method((PACKAGE, class), name),
        (_, Asked::ClusterMethod(name)) => method((CLUSTER.package, CLUSTER.name), name),
    };
    checked.map_err(|_: Fault| {
        let text = format!("{} may not do this", user.user);
        Problem::new(Kind::Forbidden, text)
    })
}
