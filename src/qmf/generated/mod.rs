//! What `spec/management.spec` says, as Rust.

// Generated from spec/management.spec by spec/generator/management. Not to be edited:
// UPDATE=1 cargo test --test spec_staleness

pub mod acl;
pub mod broker;
pub mod cluster;
pub mod ha;

use super::datum::Arguments;
use super::schema::{Class, Package};

/// Every package, in the order in which consoles are told of them.
pub static PACKAGES: &[&Package] = &[
    &broker::PACKAGE,
    &acl::PACKAGE,
    &cluster::PACKAGE,
    &ha::PACKAGE,
];

/// A method to be called, with its arguments, by the class of the object.
#[derive(Clone, Debug, PartialEq)]
pub enum Call {
    /// Of class `broker`.
    Broker(broker::BrokerMethod),
    /// Of class `queue`.
    Queue(broker::QueueMethod),
    /// Of class `connection`.
    Connection(broker::ConnectionMethod),
    /// Of class `link`.
    Link(broker::LinkMethod),
    /// Of class `bridge`.
    Bridge(broker::BridgeMethod),
    /// Of class `session`.
    Session(broker::SessionMethod),
    /// Of class `acl`.
    Acl(acl::AclMethod),
    /// Of class `cluster`.
    Cluster(cluster::ClusterMethod),
    /// Of class `habroker`.
    Habroker(ha::HabrokerMethod),
}

impl Call {
    /// The call of the method at `index` of `class`; None unless the arguments are those of the
    /// schema, which [`Method`](super::schema::Method) makes.
    pub(crate) fn new(class: &Class, index: usize, arguments: &mut Arguments) -> Option<Self> {
        match (class.package, class.name) {
            ("org.apache.qpid.broker", "broker") => {
                broker::BrokerMethod::from_arguments(index, arguments).map(Call::Broker)
            }
            ("org.apache.qpid.broker", "queue") => {
                broker::QueueMethod::from_arguments(index, arguments).map(Call::Queue)
            }
            ("org.apache.qpid.broker", "connection") => {
                broker::ConnectionMethod::from_arguments(index, arguments).map(Call::Connection)
            }
            ("org.apache.qpid.broker", "link") => {
                broker::LinkMethod::from_arguments(index, arguments).map(Call::Link)
            }
            ("org.apache.qpid.broker", "bridge") => {
                broker::BridgeMethod::from_arguments(index, arguments).map(Call::Bridge)
            }
            ("org.apache.qpid.broker", "session") => {
                broker::SessionMethod::from_arguments(index, arguments).map(Call::Session)
            }
            ("org.apache.qpid.acl", "acl") => {
                acl::AclMethod::from_arguments(index, arguments).map(Call::Acl)
            }
            ("org.apache.qpid.cluster", "cluster") => {
                cluster::ClusterMethod::from_arguments(index, arguments).map(Call::Cluster)
            }
            ("org.apache.qpid.ha", "habroker") => {
                ha::HabrokerMethod::from_arguments(index, arguments).map(Call::Habroker)
            }
            _ => None,
        }
    }
}
