//! Package `org.apache.qpid.cluster`.

// Generated from spec/management.spec by spec/generator/management. Not to be edited:
// UPDATE=1 cargo test --test spec_staleness

use crate::qmf::datum::{Arguments, Datum};
use crate::qmf::object::{ObjectName, Values};
use crate::qmf::schema::{Access, Argument, Class, Method, Package, Property, Type};
use crate::wire::Text;

/// The package.
pub static PACKAGE: Package = Package {
    name: "org.apache.qpid.cluster",
    classes: &[&CLUSTER],
    events: &[],
};

/// Class `cluster`.
pub static CLUSTER: Class = Class {
    package: "org.apache.qpid.cluster",
    name: "cluster",
    hash: [
        0x65, 0x88, 0x11, 0xae, 0x59, 0xba, 0x8b, 0xbf, 0xe9, 0xb4, 0xfe, 0x75, 0x06, 0x5f, 0xc6,
        0x53,
    ],
    properties: &[
        Property::new("brokerRef", Type::Reference, Access::ReadOnly)
            .index()
            .refers_to("org.apache.qpid.broker", "broker"),
        Property::new("clusterName", Type::ShortText, Access::ReadCreate),
        Property::new("clusterID", Type::ShortText, Access::ReadOnly),
        Property::new("memberID", Type::ShortText, Access::ReadOnly),
        Property::new("publishedURL", Type::ShortText, Access::ReadOnly),
        Property::new("clusterSize", Type::U16, Access::ReadOnly).unit("member"),
        Property::new("status", Type::ShortText, Access::ReadOnly).about("ACTIVE or JOINING"),
        Property::new("members", Type::LongText, Access::ReadOnly)
            .about("URLs of all members, with ; between them"),
        Property::new("memberIDs", Type::LongText, Access::ReadOnly)
            .about("Identities of all members, with ; between them"),
    ],
    statistics: &[],
    methods: &[
        Method {
            name: "stopClusterNode",
            about: None,
            arguments: &[Argument::given("brokerId", Type::ShortText)],
        },
        Method {
            name: "stopFullCluster",
            about: None,
            arguments: &[],
        },
    ],
};

/// What there is to say of an object of class `cluster`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cluster {
    /// `brokerRef`, objId.
    pub broker_ref: ObjectName,
    /// `clusterName`, sstr.
    pub cluster_name: Text,
    /// `clusterID`, sstr.
    pub cluster_id: Text,
    /// `memberID`, sstr.
    pub member_id: Text,
    /// `publishedURL`, sstr.
    pub published_url: Text,
    /// `clusterSize`, uint16.
    pub cluster_size: u16,
    /// `status`, sstr. ACTIVE or JOINING.
    pub status: Text,
    /// `members`, lstr. URLs of all members, with ; between them.
    pub members: Text,
    /// `memberIDs`, lstr. Identities of all members, with ; between them.
    pub member_ids: Text,
}

impl Cluster {
    /// The same as values of the schema.
    pub fn into_values(self) -> Values {
        Values {
            class: &CLUSTER,
            properties: vec![
                Some(Datum::Reference(self.broker_ref)),
                Some(Datum::ShortText(self.cluster_name)),
                Some(Datum::ShortText(self.cluster_id)),
                Some(Datum::ShortText(self.member_id)),
                Some(Datum::ShortText(self.published_url)),
                Some(Datum::U16(self.cluster_size)),
                Some(Datum::ShortText(self.status)),
                Some(Datum::LongText(self.members)),
                Some(Datum::LongText(self.member_ids)),
            ],
            statistics: vec![],
        }
    }
}

/// A method of class `cluster` with its arguments.
#[derive(Clone, Debug, PartialEq)]
pub enum ClusterMethod {
    /// `stopClusterNode`.
    StopClusterNode {
        /// `brokerId`, sstr.
        broker_id: Text,
    },
    /// `stopFullCluster`.
    StopFullCluster,
}

impl ClusterMethod {
    /// The method at `index` of the schema; None unless the arguments are of its types.
    pub(crate) fn from_arguments(index: usize, arguments: &mut Arguments) -> Option<Self> {
        Some(match index {
            0 => Self::StopClusterNode {
                broker_id: arguments.take()?,
            },
            1 => Self::StopFullCluster,
            _ => return None,
        })
    }
}
