//! The table of rights: every action and object of ACL files, and what management does besides, tried
//! over AMQP, QMF and HTTP by users who may not. Each is refused with that protocol's own error, nothing
//! is changed by it, and who is refused is told the same of a name that is taken as of one that is not.

mod durable_support;
mod server_support;

#[path = "server_rights/amqp.rs"]
mod amqp;
#[allow(dead_code)]
#[path = "server_management/console.rs"]
mod console;
#[allow(dead_code)]
#[path = "server_http/http.rs"]
mod http;
#[path = "server_rights/over_http.rs"]
mod over_http;
#[path = "server_rights/over_qmf.rs"]
mod over_qmf;
#[path = "server_rights/scene.rs"]
mod scene;

use std::collections::BTreeSet;

use ferrymq::security::acl::{Action, Object, lookups};

#[test]
fn no_action_and_object_is_left_out() {
    let asked: BTreeSet<(Action, Object)> = lookups::all().collect();
    let mut tried: BTreeSet<(Action, Object)> = amqp::acts().iter().map(|act| act.asks).collect();
    tried.extend(over_qmf::acts("any").iter().map(|act| act.asks));
    // Tried beside the tables: connections and links when they open, methods and queries each by its
    // class.
    tried.extend([
        (Action::Create, Object::Connection),
        (Action::Create, Object::Link),
        (Action::Access, Object::Method),
        (Action::Access, Object::Query),
    ]);
    assert_eq!(tried, asked);
}
