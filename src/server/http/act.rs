//! Acts: what a request has done.

use std::time::Duration;

use serde_json::{Value as Json, json};

use super::answer::{Answer, Asking};
use super::look::View;
use super::{limits, query};
use crate::broker::Core;
use crate::broker::ids::MemberId;
use crate::broker::level::Level;
use crate::broker::management::{Action, Destination, Take};
use crate::management::agent::unknown_object;
use crate::management::deed::{self, Deed};
use crate::management::http::definitions::{
    self, DEFINED, Definitions, Difference, declared_exchange, declared_queue, show_exchange,
    show_queue,
};
use crate::management::http::json::{of_datum, to_map};
use crate::management::http::request::{self, short};
use crate::management::http::{Kind, Problem, paths};
use crate::management::model::{connection_of, session_of};
use crate::qmf::{Object, ObjectName};
use crate::server::agent::{Wanted, rights};
use crate::wire::{ExchangeDelete, ExchangeUnbind, QueueDelete};

impl View {
    async fn act(&self, asking: &Asking, action: Action, time: Duration) -> Result<u64, Problem> {
        let act = |reply| Wanted::Act(Box::new(action), reply);
        let outcome = self.ask(&asking.requester, time, act).await?;
        Ok(outcome?)
    }

    async fn done(&self, asking: &Asking, action: Action) -> Result<Answer, Problem> {
        self.act(asking, action, limits::ORDER_TIME).await?;
        Ok(Answer::empty(204))
    }

    /// Whether who asks may have something done that is done already, or cannot be.
    fn check_right(&self, asking: &Asking, action: Action) -> Result<(), Problem> {
        match rights::permitted(&self.shared, &asking.requester, action) {
            Ok(_) => Ok(()),
            Err(fault) => Err(rights::denied(fault).into()),
        }
    }

    pub(super) async fn put_queue(&self, asking: &Asking) -> Result<Answer, Problem> {
        let name = asking.part("queue");
        let declare = request::queue(name, asking.body.clone())?;
        let setting = self.ready(&asking.requester).await?;
        if let Some(found) = self.object(&setting, ObjectName::queue(name)).await {
            let wanted = Action::CreateQueue(Box::new(declare.clone()));
            self.check_right(asking, wanted)?;
            let there = show_queue(&declared_queue(&found));
            return is_same("queue", name, &show_queue(&declare), &there);
        }
        let shown = show_queue(&declare);
        let made = self.done(asking, Action::CreateQueue(Box::new(declare)));
        let name = ObjectName::queue(name);
        self.made(asking, (made.await, &shown), ("queue", name), |found| {
            show_queue(&declared_queue(found))
        })
        .await
    }

    /// What is told of something that was to be made. When another was faster it is there already, as it
    /// would have been a moment later.
    async fn made(
        &self,
        asking: &Asking,
        (made, wanted): (Result<Answer, Problem>, &Json),
        (what, name): (&str, ObjectName),
        show: impl Fn(&Object) -> Json,
    ) -> Result<Answer, Problem> {
        match made {
            Ok(_) => Ok(Answer::empty(201)),
            Err(problem) if problem.kind == Kind::Conflict => {
                let setting = self.ready(&asking.requester).await?;
                let key = name.key().to_owned();
                match self.object(&setting, name).await {
                    Some(found) => is_same(what, &key, wanted, &show(&found)),
                    None => Err(problem),
                }
            }
            Err(problem) => Err(problem),
        }
    }

    pub(super) async fn delete_queue(&self, asking: &Asking) -> Result<Answer, Problem> {
        let delete = QueueDelete {
            queue: short("queue", asking.part("queue"))?,
            if_unused: query::is_set(&asking.query, "if_unused"),
            if_empty: query::is_set(&asking.query, "if_empty"),
        };
        self.done(asking, Action::DeleteQueue(Box::new(delete)))
            .await
    }

    /// Has messages taken out of a queue, and tells how many.
    pub(super) async fn take(&self, asking: &Asking, take: Take) -> Result<Answer, Problem> {
        let action = Action::Take(Box::new(take));
        let count = self.act(asking, action, limits::TAKING_TIME).await?;
        Ok(Answer::json(json!({"messages": count})))
    }

    pub(super) async fn purge(&self, asking: &Asking) -> Result<Answer, Problem> {
        let take = Take {
            queue: short("queue", asking.part("queue"))?,
            count: 0,
            filter: None,
            to: Destination::Nowhere,
        };
        self.take(asking, take).await
    }

    pub(super) async fn put_exchange(&self, asking: &Asking) -> Result<Answer, Problem> {
        let name = paths::to_exchange(asking.part("exchange"));
        request::check_exchange_name(name)?;
        let declare = request::exchange(name, asking.body.clone())?;
        let setting = self.ready(&asking.requester).await?;
        if let Some(found) = self.object(&setting, ObjectName::exchange(name)).await {
            let wanted = Action::CreateExchange(Box::new(declare.clone()));
            self.check_right(asking, wanted)?;
            let there = show_exchange(&declared_exchange(&found));
            return is_same("exchange", name, &show_exchange(&declare), &there);
        }
        let shown = show_exchange(&declare);
        let made = self.done(asking, Action::CreateExchange(Box::new(declare)));
        let name = ObjectName::exchange(name);
        self.made(asking, (made.await, &shown), ("exchange", name), |found| {
            show_exchange(&declared_exchange(found))
        })
        .await
    }

    pub(super) async fn delete_exchange(&self, asking: &Asking) -> Result<Answer, Problem> {
        let name = paths::to_exchange(asking.part("exchange"));
        let delete = ExchangeDelete {
            exchange: short("exchange", name)?,
            if_unused: query::is_set(&asking.query, "if_unused"),
        };
        self.done(asking, Action::DeleteExchange(Box::new(delete)))
            .await
    }

    pub(super) async fn bind(&self, asking: &Asking) -> Result<Answer, Problem> {
        let exchange = paths::to_exchange(asking.part("exchange"));
        let bind = request::binding(exchange, asking.part("queue"), asking.body.clone())?;
        let mut key = bind.binding_key.clone();
        self.group.look(&mut |core: &Core| {
            if let Some(found) = core.exchange_of_name(exchange) {
                key = found.kind.kept_key(&bind.binding_key);
            }
        });
        let key = paths::of_key(&key);
        self.done(asking, Action::Bind(Box::new(bind))).await?;
        Ok(Answer::made(&asking.path, &key))
    }

    pub(super) async fn unbind(&self, asking: &Asking) -> Result<Answer, Problem> {
        let unbind = ExchangeUnbind {
            queue: short("queue", asking.part("queue"))?,
            exchange: short("exchange", paths::to_exchange(asking.part("exchange")))?,
            binding_key: short("properties", paths::to_key(asking.part("properties")))?,
        };
        let unknown = Problem::not_found("binding", &unbind.binding_key);
        let unbind = Action::Unbind(Box::new(unbind));
        match self.act(asking, unbind, limits::ORDER_TIME).await? {
            0 => Err(unknown),
            _ => Ok(Answer::empty(204)),
        }
    }

    pub(super) async fn close_connection(&self, asking: &Asking) -> Result<Answer, Problem> {
        let name = asking.part("connection");
        self.ready(&asking.requester).await?;
        let mut key = None;
        self.group
            .look(&mut |core: &Core| key = connection_of(core, name));
        let key = key.ok_or_else(|| Problem::not_found("connection", name))?;
        self.done(asking, Action::CloseConnection(key)).await
    }

    pub(super) async fn end_session(&self, asking: &Asking) -> Result<Answer, Problem> {
        let name = asking.part("session");
        self.ready(&asking.requester).await?;
        let mut found = None;
        self.group
            .look(&mut |core: &Core| found = session_of(core, name));
        let found = found.ok_or_else(|| Problem::not_found("session", name))?;
        let action = Action::EndSession {
            user: found.user,
            name: found.name.to_vec(),
        };
        self.done(asking, action).await
    }

    /// Has a member taken out of the cluster.
    pub(super) async fn take_out(&self, asking: &Asking) -> Result<Answer, Problem> {
        let name = asking.part("node");
        let id = u64::from_str_radix(name, 16);
        let id = id.map_err(|_| Problem::not_found("node", name))?;
        // Without a quorum it would wait for one, and be done long after it was answered that it was
        // not: who can be taken out then is for whoever asks to judge anew.
        self.ready(&asking.requester).await?;
        let action = Action::TakeOut(MemberId(id));
        self.act(asking, action, limits::ORDER_TIME).await?;
        Ok(Answer::empty(202))
    }

    pub(super) async fn show_level(&self, asking: &Asking) -> Result<Answer, Problem> {
        self.ready(&asking.requester).await?;
        Ok(self.level_now())
    }

    fn level_now(&self) -> Answer {
        let (level, possible) = self.level();
        Answer::json(json!({
            "level": level,
            "possible": possible.map(Level::number),
        }))
    }

    /// Raises the level to the highest that all members know.
    pub(super) async fn raise(&self, asking: &Asking) -> Result<Answer, Problem> {
        self.ready(&asking.requester).await?;
        let (_, possible) = self.level();
        let unknown = || {
            let text = "a member has not said which levels it knows, since it has not been met";
            Problem::new(Kind::Conflict, text)
        };
        let action = Action::Raise(possible.ok_or_else(unknown)?);
        self.act(asking, action, limits::ORDER_TIME).await?;
        Ok(self.level_now())
    }

    /// Calls a method of an object, as QMF would.
    pub(super) async fn call(&self, asking: &Asking) -> Result<Answer, Problem> {
        let object = ObjectName::parse(asking.part("object"))?;
        let unknown = || Problem::not_found("object", object.as_str());
        let class = object.class().ok_or_else(unknown)?;
        let found = class.method(asking.part("method"))?;
        let (_, method) = found;
        let arguments = to_map(&asking.body).map_err(Problem::bad)?;
        if let Some((name, _)) = arguments.iter().find(|(name, _)| {
            let mut given = method.given();
            given.all(|argument| argument.name != *name)
        }) {
            let text = format!("{}: no argument of the method", name.escape_debug());
            return Err(Problem::bad(text));
        }
        let call = class.call_with_map(found, &arguments)?;
        rights::check_direct(&self.shared, &asking.requester, &call).map_err(rights::denied)?;
        self.ready(&asking.requester).await?;
        let mut deed = None;
        self.group
            .look(&mut |core: &Core| deed = Some(deed::deed_of(core, &object, &call)));
        let answered = match deed.ok_or_else(unknown)? {
            Deed::Done(answer) => answer?,
            Deed::Act(action) => {
                self.act(asking, action, limits::TAKING_TIME).await?;
                Vec::new()
            }
            Deed::Absent(action) => {
                self.check_right(asking, action)?;
                return Err(unknown_object(&object).into());
            }
            Deed::Process(deed) => {
                let wanted = |reply| Wanted::Do(Box::new(deed), reply);
                self.ask(&asking.requester, limits::ORDER_TIME, wanted)
                    .await??
            }
        };
        let names = method.answered().map(|argument| argument.name);
        let members = names.zip(&answered);
        let members = members.map(|(name, value)| (name.to_owned(), of_datum(value)));
        Ok(Answer::json(Json::Object(members.collect())))
    }

    async fn definitions(&self, asking: &Asking) -> Result<Definitions, Problem> {
        let setting = self.ready(&asking.requester).await?;
        let mut there = Definitions::default();
        for class in DEFINED {
            let classes = std::iter::once(*class);
            self.walk(&asking.requester, &setting, classes, |object| {
                there.add(object)
            })
            .await?;
        }
        Ok(there)
    }

    pub(super) async fn export(&self, asking: &Asking) -> Result<Answer, Problem> {
        let there = self.definitions(asking).await?;
        Ok(Answer::json(there.show()))
    }

    pub(super) async fn import(&self, asking: &Asking) -> Result<Answer, Problem> {
        let wanted = Definitions::read(asking.body.clone())?;
        let is_pruned = query::is_set(&asking.query, "prune");
        let is_dry_run = query::is_set(&asking.query, "dry_run");
        let there = self.definitions(asking).await?;
        let mut difference = Difference::between(&there, &wanted, is_pruned);
        // What differs is known; of the rest the core knows whether it could be done.
        let is_checked = is_dry_run || difference.conflicts() > 0;
        if is_checked && !difference.is_empty() {
            let check = Action::CheckImport(Box::new(difference.import()));
            match self.act(asking, check, limits::TAKING_TIME).await {
                Err(problem) if problem.kind == Kind::Unavailable => return Err(problem),
                Err(problem) => difference.refused(problem.reason),
                Ok(_) => {}
            }
        }
        if is_dry_run {
            return Ok(Answer::json(difference.show(true)));
        }
        if difference.conflicts() > 0 {
            return Err(Problem::new(Kind::Conflict, difference.complaint()));
        }
        if !difference.is_empty() {
            let action = Action::Import(Box::new(difference.import()));
            self.act(asking, action, limits::TAKING_TIME).await?;
        }
        Ok(Answer::json(difference.show(false)))
    }
}

/// What is told of something that is there already.
fn is_same(what: &str, name: &str, wanted: &Json, there: &Json) -> Result<Answer, Problem> {
    match definitions::differing(wanted, there) {
        None => Ok(Answer::empty(204)),
        Some(names) => {
            let text = format!("the {what} {name} is there with other {names}");
            Err(Problem::new(Kind::Conflict, text))
        }
    }
}
