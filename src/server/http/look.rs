//! Looking at the model: after what was ordered before is done and safe, and in pieces.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Semaphore, oneshot};

use super::limits;
use crate::broker::Core;
use crate::broker::level::{self, Level};
use crate::broker::management::Requester;
use crate::cluster::Group;
use crate::management::http::limits::OBJECTS_MAX;
use crate::management::http::{Kind, Problem};
use crate::management::model::{Counts, Membership, Node, Setting, Totals, members};
use crate::qmf::schema::Class;
use crate::qmf::{Object, ObjectName, Query};
use crate::server::agent::rights::Sight;
use crate::server::agent::{Ask, Entrance, Walk, Wanted};
use crate::server::driver::Shared;

/// What all requests share.
pub struct View {
    pub(super) group: Arc<dyn Group>,
    pub(super) shared: Arc<Shared>,
    pub(super) entrance: Entrance,
    /// Requests that may be answered.
    pub(super) requests: Arc<Semaphore>,
    /// Streams of events that may be opened.
    pub(super) streams: Arc<Semaphore>,
}

impl View {
    /// Of a member's seat, through its agent.
    pub fn new(group: Arc<dyn Group>, shared: Arc<Shared>, entrance: Entrance) -> View {
        View {
            group,
            shared,
            entrance,
            requests: Arc::new(Semaphore::new(limits::REQUESTS_MAX)),
            streams: Arc::new(Semaphore::new(limits::EVENT_STREAMS_MAX)),
        }
    }

    /// Asks the agent, and waits for what it replies.
    ///
    /// # Errors
    /// It does not reply in time, or has lost its seat.
    pub(super) async fn ask<T>(
        &self,
        requester: &Requester,
        time: Duration,
        wanted: impl FnOnce(oneshot::Sender<T>) -> Wanted,
    ) -> Result<T, Problem> {
        if let Some(why) = self.group.unserved() {
            return Err(Problem::new(Kind::Unavailable, why));
        }
        let (reply, replied) = oneshot::channel();
        let ask = Ask {
            requester: requester.clone(),
            wanted: wanted(reply),
        };
        let may_be_done = match ask.wanted {
            Wanted::Look(_) => "",
            _ => ". What was asked may still be done",
        };
        let asked = async {
            self.entrance.asks.send(ask).await.ok()?;
            replied.await.ok()
        };
        let unavailable = |why: String| Err(Problem::new(Kind::Unavailable, why));
        match tokio::time::timeout(time, asked).await {
            Ok(Some(answer)) => Ok(answer),
            Ok(None) => unavailable(format!(
                "no quorum: the member has just given up to wait for the others, and tries again{may_be_done}"
            )),
            Err(_) => unavailable(format!(
                "no quorum, or too much to do: the order has not answered in time{may_be_done}"
            )),
        }
    }

    /// Waits until what was ordered before is done and safe; then the core can be looked at.
    ///
    /// # Errors
    /// As [`ask`](View::ask).
    pub(super) async fn ready(&self, requester: &Requester) -> Result<Setting, Problem> {
        self.ask(requester, limits::ORDER_TIME, Wanted::Look).await
    }

    /// Shows all objects of classes to `see`, but for those that who asks may not see.
    ///
    /// # Errors
    /// There are more than a list can have.
    pub(super) async fn walk(
        &self,
        requester: &Requester,
        setting: &Setting,
        classes: impl Iterator<Item = &'static Class>,
        mut see: impl FnMut(&Object),
    ) -> Result<(), Problem> {
        let sight = Sight::of(&self.shared.rights.acl, &requester.user);
        let mut walk = Walk::through(classes);
        let mut count = 0;
        loop {
            let mut found = Vec::new();
            let is_done = walk.look(&self.group, &self.shared, setting, &mut found);
            if let Some(sight) = &sight {
                sight.keep(&mut found);
            }
            count += found.len();
            found.iter().for_each(&mut see);
            if is_done {
                return Ok(());
            }
            if count > OBJECTS_MAX {
                let text = format!("more than {OBJECTS_MAX} objects are too many for a list");
                return Err(Problem::bad(text));
            }
            tokio::task::yield_now().await;
        }
    }

    /// The object of a name, if it is there.
    pub(super) async fn object(&self, setting: &Setting, name: ObjectName) -> Option<Object> {
        self.found(setting, &mut Walk::of(Query::Object(name)))
            .await
    }

    /// The same, for somebody: what he may not see is not there.
    pub(super) async fn seen(
        &self,
        requester: &Requester,
        setting: &Setting,
        name: ObjectName,
    ) -> Option<Object> {
        let found = self.object(setting, name).await?;
        let Some(sight) = Sight::of(&self.shared.rights.acl, &requester.user) else {
            return Some(found);
        };
        let mut seen = vec![found];
        sight.keep(&mut seen);
        seen.pop()
    }

    /// The first object that a walk comes to.
    async fn found(&self, setting: &Setting, walk: &mut Walk) -> Option<Object> {
        loop {
            let mut found = Vec::new();
            let is_done = walk.look(&self.group, &self.shared, setting, &mut found);
            if let Some(object) = found.pop() {
                return Some(object);
            }
            if is_done {
                return None;
            }
            tokio::task::yield_now().await;
        }
    }

    /// The broker's object, and the sums over all queues that it was made of.
    ///
    /// # Errors
    /// There is no such object yet.
    pub(super) async fn broker(&self, setting: &Setting) -> Result<(Object, Totals), Problem> {
        let name = ObjectName::broker();
        let unknown = Problem::not_found("object", name.as_str());
        let mut walk = Walk::of(Query::Object(name));
        let broker = self.found(setting, &mut walk).await.ok_or(unknown)?;
        Ok((broker, walk.into_totals()))
    }

    /// How many there are of each noun.
    pub(super) fn counts(&self) -> Counts {
        let mut counts = Counts::default();
        self.group
            .look(&mut |core: &Core| counts = Counts::of(core));
        counts
    }

    /// The level at which the broker runs, and to which it can be raised.
    pub(super) fn level(&self) -> (u8, Option<Level>) {
        let mut found = (0, None);
        self.group
            .look(&mut |core: &Core| found = (core.level().number(), level::possible(core)));
        found
    }

    /// What the agents are called.
    pub(super) fn agent_name(&self) -> String {
        let mut found = String::new();
        self.group
            .look(&mut |core: &Core| found = core.agent_name().to_string());
        found
    }

    /// The members.
    pub(super) fn members(&self, membership: &Membership) -> Vec<Node> {
        let mut found = Vec::new();
        self.group
            .look(&mut |core: &Core| found = members(core, membership));
        found
    }
}
