//! The cluster, as a member sees it.

use super::World;
use crate::qmf::cluster as schema;
use crate::qmf::object::{Object, ObjectName};
use crate::wire::Text;

/// Between the members in a text.
const BETWEEN: &str = ";";

/// A member of a cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Member {
    /// Its identity.
    pub id: u64,
    /// Where clients find it; empty if it does not say.
    pub url: Text,
    /// Whether it counts for a majority; one that still learns does not.
    pub is_voter: bool,
}

/// Who makes up a cluster. Without members there is none: the broker stands alone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Membership {
    /// The cluster's name.
    pub name: Text,
    /// The group's identity, which it got when it was formed.
    pub group: u64,
    /// This member.
    pub own: u64,
    /// Who gives the order, if this member knows.
    pub leader: Option<u64>,
    /// All members, this one first.
    pub members: Vec<Member>,
}

impl Membership {
    /// A member that takes part.
    pub fn member(&self, id: u64) -> Option<&Member> {
        self.members.iter().find(|member| member.id == id)
    }

    /// Where clients find the members, as far as these say so.
    pub fn urls(&self) -> Vec<Text> {
        let urls = self.members.iter().map(|member| &member.url);
        urls.filter(|url| !url.is_empty()).cloned().collect()
    }
}

/// A member's or group's identity as text, as logs have it, too.
pub fn id_text(id: u64) -> String {
    format!("{id:016x}")
}

/// The cluster's object, if the broker is in one.
pub(super) fn object(world: World<'_>) -> Option<Object> {
    let membership = &world.setting.membership;
    if membership.members.is_empty() {
        return None;
    }
    let urls: Vec<_> = membership.urls().iter().map(Text::to_string).collect();
    let members = membership.members.iter();
    let ids: Vec<_> = members.map(|member| id_text(member.id)).collect();
    let own = membership.member(membership.own);
    let values = schema::Cluster {
        broker_ref: ObjectName::broker(),
        cluster_name: membership.name.clone(),
        cluster_id: id_text(membership.group).into(),
        member_id: id_text(membership.own).into(),
        published_url: own.map(|own| own.url.clone()).unwrap_or_default(),
        cluster_size: u16::try_from(membership.members.len()).unwrap_or(u16::MAX),
        status: match own.is_some_and(|own| own.is_voter) {
            true => "ACTIVE",
            false => "JOINING",
        }
        .into(),
        members: urls.join(BETWEEN).into(),
        member_ids: ids.join(BETWEEN).into(),
    };
    Some(Object::new(
        values.into_values(),
        world.setting.of_the_start(),
    ))
}
