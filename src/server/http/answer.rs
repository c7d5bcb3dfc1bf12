//! From a request to its answer.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use http_body::Body as _;
use http_body_util::{BodyExt, Limited};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value as Json, json};

use super::listen::Peer;
use super::look::View;
use super::query::{self, Pairs};
use super::{access, events, limits, metrics, rights, router};
use crate::broker::ids::MemberId;
use crate::broker::management::Requester;
use crate::management::http::nouns::{self, Noun};
use crate::management::http::operations::{Deal, Operation};
use crate::management::http::pages::{Pages, Wish};
use crate::management::http::{Kind, Problem, openapi, paths, request};
use crate::management::model::{Membership, Node, Setting};
use crate::qmf::object::VHOST_NAME;
use crate::qmf::schema::{Class, classes};
use crate::qmf::{Object, ObjectName, PACKAGES};
use crate::wire::UuidText;

/// What of a name in a path is not written as it is.
const IN_PATHS: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_');

/// A request that was read.
pub(super) struct Asking {
    pub operation: &'static Operation,
    /// Its path as it was written.
    pub path: String,
    /// The parameters in it.
    pub parts: Pairs,
    pub query: Pairs,
    /// Null if there is none.
    pub body: Json,
    pub requester: Requester,
    /// What the client would like to have.
    pub accept: String,
}

impl Asking {
    /// A parameter in the path.
    pub fn part(&self, name: &str) -> &str {
        let found = self.parts.iter().find(|(known, _)| known == name);
        found.map_or("", |(_, value)| value)
    }
}

/// An answer.
pub(super) struct Answer {
    status: u16,
    media: &'static str,
    body: Body,
    location: Option<String>,
}

impl Answer {
    /// With nothing in it.
    pub fn empty(status: u16) -> Answer {
        Answer {
            status,
            media: "",
            body: Body::empty(),
            location: None,
        }
    }

    /// JSON.
    pub fn json(json: Json) -> Answer {
        Answer::of("application/json", Body::from(json.to_string()))
    }

    /// Something of a media type.
    pub fn of(media: &'static str, body: Body) -> Answer {
        Answer {
            media,
            body,
            ..Answer::empty(200)
        }
    }

    /// Something was made below a path.
    pub fn made(path: &str, name: &str) -> Answer {
        let path = path.trim_end_matches('/');
        let location = format!("{path}/{}", utf8_percent_encode(name, IN_PATHS));
        Answer {
            location: Some(location),
            ..Answer::empty(201)
        }
    }

    /// For the socket.
    pub fn into_response(self) -> Response<Body> {
        let mut response = Response::new(self.body);
        *response.status_mut() = status(self.status);
        let head = response.headers_mut();
        if !self.media.is_empty() {
            head.insert(header::CONTENT_TYPE, HeaderValue::from_static(self.media));
        }
        let location = self
            .location
            .and_then(|text| HeaderValue::try_from(text).ok());
        if let Some(location) = location {
            head.insert(header::LOCATION, location);
        }
        router::guard(head);
        response
    }
}

/// A status of the tables, which have those of HTTP.
pub(super) fn status(number: u16) -> StatusCode {
    StatusCode::from_u16(number).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
}

/// Reads a request and does what it asks.
///
/// # Errors
/// Why it was not done.
pub(super) async fn answer(
    view: Arc<View>,
    operation: &'static Operation,
    parts: Pairs,
    request: Request,
) -> Result<Answer, Problem> {
    let (head, body) = request.into_parts();
    let peer = head.extensions.get::<Peer>();
    let peer = peer.ok_or_else(|| Problem::new(Kind::Forbidden, "a request from nowhere"))?;
    let _permit = view.requests.clone().try_acquire_owned().map_err(|_| {
        let text = format!("{} requests are being answered", limits::REQUESTS_MAX);
        Problem::new(Kind::TooMany, text)
    })?;
    // What starts and watches brokers asks for these, and has no credentials.
    let is_free = matches!(operation.deal, Deal::Alive | Deal::Ready);
    let requester = access::requester(peer, &head.headers, &view.shared, is_free).await?;
    let query = query::parse(head.uri.query().unwrap_or_default(), operation)?;
    let body = read(operation, &head.headers, body).await?;
    let accept = head.headers.get(header::ACCEPT);
    let accept = accept.and_then(|value| value.to_str().ok());
    let asking = Asking {
        operation,
        path: head.uri.path().to_owned(),
        parts,
        query,
        body,
        requester,
        accept: accept.unwrap_or_default().to_owned(),
    };
    if asking
        .parts
        .iter()
        .any(|(name, value)| name == "vhost" && value != VHOST_NAME)
    {
        return Err(Problem::not_found("virtual host", asking.part("vhost")));
    }
    deal(view, &asking).await
}

/// The body of a request; null if it has none.
async fn read(operation: &Operation, head: &HeaderMap, body: Body) -> Result<Json, Problem> {
    // Not waited for: what is for everybody is asked by some who would have others wait.
    if operation.body.is_none() && !body.is_end_stream() {
        return Err(Problem::bad("the operation takes no body"));
    }
    let limited = Limited::new(body, limits::BODY_BYTES_MAX).collect();
    let read = tokio::time::timeout(limits::BODY_TIME, limited).await;
    let read = read.map_err(|_| Problem::new(Kind::Timeout, "the body did not come in time"))?;
    let octets = match read {
        Ok(read) => read.to_bytes(),
        Err(error) if error.is::<http_body_util::LengthLimitError>() => {
            let text = format!("a body of more than {} octets", limits::BODY_BYTES_MAX);
            return Err(Problem::new(Kind::TooLarge, text));
        }
        Err(error) => return Err(Problem::bad(format!("the body cannot be read: {error}"))),
    };
    if octets.is_empty() {
        return Ok(Json::Null);
    }
    let media = head
        .get(header::CONTENT_TYPE)
        .and_then(|value| value.to_str().ok());
    let media = media
        .unwrap_or_default()
        .split(';')
        .next()
        .unwrap_or_default();
    if !media.trim().eq_ignore_ascii_case("application/json") {
        let text = "a body has to be application/json";
        return Err(Problem::new(Kind::MediaType, text));
    }
    let json: Json = serde_json::from_slice(&octets)
        .map_err(|error| Problem::bad(format!("the body is no JSON: {error}")))?;
    match json.is_object() {
        true => Ok(json),
        false => Err(Problem::bad("the body is no JSON object")),
    }
}

async fn deal(view: Arc<View>, asking: &Asking) -> Result<Answer, Problem> {
    rights::check(&view, asking)?;
    match asking.operation.deal {
        Deal::Overview => view.overview(asking).await,
        Deal::ListQueues => view.list(asking, &nouns::QUEUE, |_| true).await,
        Deal::ListExchanges => view.list(asking, &nouns::EXCHANGE, |_| true).await,
        Deal::ListBindings => view.list(asking, &nouns::BINDING, |_| true).await,
        Deal::ListConnections => view.list(asking, &nouns::CONNECTION, |_| true).await,
        Deal::ListSessions => view.list(asking, &nouns::SESSION, |_| true).await,
        Deal::ListConsumers => view.list(asking, &nouns::CONSUMER, |_| true).await,
        Deal::BindingsOfQueue | Deal::BindingsFrom | Deal::BindingsTo | Deal::BindingsBetween => {
            view.list_bindings(asking).await
        }
        Deal::ShowQueue => {
            let name = ObjectName::queue(asking.part("queue"));
            view.show(asking, &nouns::QUEUE, name).await
        }
        Deal::ShowExchange => {
            let name = ObjectName::exchange(paths::to_exchange(asking.part("exchange")));
            view.show(asking, &nouns::EXCHANGE, name).await
        }
        Deal::ShowBinding => {
            view.show(asking, &nouns::BINDING, binding_name(asking))
                .await
        }
        Deal::ShowConnection => {
            let name = ObjectName::connection(asking.part("connection"));
            view.show(asking, &nouns::CONNECTION, name).await
        }
        Deal::ShowSession => {
            let name = ObjectName::session(asking.part("session"));
            view.show(asking, &nouns::SESSION, name).await
        }
        Deal::PutQueue => view.put_queue(asking).await,
        Deal::DeleteQueue => view.delete_queue(asking).await,
        Deal::PurgeQueue => view.purge(asking).await,
        Deal::MoveMessages => {
            let take = request::moving(asking.part("queue"), asking.body.clone())?;
            view.take(asking, take).await
        }
        Deal::RerouteMessages => {
            let take = request::rerouting(asking.part("queue"), asking.body.clone())?;
            view.take(asking, take).await
        }
        Deal::PutExchange => view.put_exchange(asking).await,
        Deal::DeleteExchange => view.delete_exchange(asking).await,
        Deal::Bind => view.bind(asking).await,
        Deal::Unbind => view.unbind(asking).await,
        Deal::CloseConnection => view.close_connection(asking).await,
        Deal::EndSession => view.end_session(asking).await,
        Deal::ExportDefinitions => view.export(asking).await,
        Deal::ImportDefinitions => view.import(asking).await,
        Deal::CallMethod => view.call(asking).await,
        Deal::Alive => Ok(Answer::json(json!({"status": "ok"}))),
        Deal::Ready => {
            view.ready(&asking.requester).await?;
            Ok(Answer::json(json!({"status": "ok"})))
        }
        Deal::ListClasses => Ok(list_classes()),
        Deal::ListObjects => view.list_objects(asking).await,
        Deal::ShowObject => view.show_object(asking).await,
        Deal::Description => Ok(Answer::json(openapi::document())),
        Deal::Events => events::stream(&view, asking),
        Deal::Metrics => metrics::sums(&view, asking).await,
        Deal::DetailedMetrics => metrics::detailed(&view, asking).await,
        Deal::ListNodes
        | Deal::ShowNode
        | Deal::TakeOutNode
        | Deal::ShowLevel
        | Deal::RaiseLevel => of_members(&view, asking).await,
    }
}

fn list_classes() -> Answer {
    let all = PACKAGES.iter().flat_map(|package| package.classes.iter());
    Answer::json(all.map(|class| nouns::show_class(class)).collect())
}

async fn of_members(view: &View, asking: &Asking) -> Result<Answer, Problem> {
    match asking.operation.deal {
        Deal::ShowNode => view.node(asking).await,
        Deal::TakeOutNode => view.take_out(asking).await,
        Deal::ShowLevel => view.show_level(asking).await,
        Deal::RaiseLevel => view.raise(asking).await,
        _ => view.nodes(asking).await,
    }
}

/// The name of a binding as an object.
pub(super) fn binding_name(asking: &Asking) -> ObjectName {
    let exchange = ObjectName::exchange(paths::to_exchange(asking.part("exchange")));
    let queue = ObjectName::queue(asking.part("queue"));
    let key = paths::to_key(asking.part("properties"));
    let key = format!("{exchange},{queue},{key}");
    ObjectName::new(&crate::qmf::broker::BINDING, &key)
}

fn show_member(member: &Node, own: MemberId, membership: &Membership) -> Json {
    let part = membership.member(member.id.0);
    json!({
        "name": node_name(member.id),
        "url": part.map_or("", |part| part.url.as_str()),
        "role": part.map(|part| if part.is_voter { "voter" } else { "learner" }),
        "is_leader": membership.leader == Some(member.id.0),
        "is_leaving": member.is_leaving,
        "running": member.has_agent,
        "is_self": member.id == own,
        "is_first": member.is_first,
        "connections": member.connections,
        "level_most": member.levels.map(|levels| levels.numbers().1),
    })
}

fn node_name(member: MemberId) -> String {
    format!("{:016x}", member.0)
}

/// The pages of a list that is asked for.
fn pages_of(asking: &Asking, noun: &Noun) -> Result<Pages, Problem> {
    let fields: Vec<&str> = noun.fields.iter().map(|field| field.name).collect();
    Ok(Pages::new(Wish::of(&asking.query, &fields)?))
}

impl View {
    async fn list(
        &self,
        asking: &Asking,
        noun: &Noun,
        is_one: impl Fn(&Object) -> bool,
    ) -> Result<Answer, Problem> {
        let pages = pages_of(asking, noun)?;
        let setting = self.ready(&asking.requester).await?;
        self.fill(asking, pages, noun, &setting, is_one).await
    }

    async fn fill(
        &self,
        asking: &Asking,
        mut pages: Pages,
        noun: &Noun,
        setting: &Setting,
        is_one: impl Fn(&Object) -> bool,
    ) -> Result<Answer, Problem> {
        self.walk(
            &asking.requester,
            setting,
            std::iter::once(noun.class),
            |object| {
                if is_one(object) {
                    pages.add(&noun.label(object), |sort| {
                        let key = sort.and_then(|sort| noun.field(object, sort));
                        let key = key.unwrap_or_else(|| json!(noun.label(object)));
                        (key, noun.show(object))
                    });
                }
            },
        )
        .await?;
        pages.answer().map(Answer::json)
    }

    /// Bindings of what the path names, which has to be there.
    async fn list_bindings(&self, asking: &Asking) -> Result<Answer, Problem> {
        let named = |part: &str| asking.parts.iter().any(|(name, _)| name == part);
        let setting = self.ready(&asking.requester).await?;
        let exchange = named("exchange").then(|| paths::to_exchange(asking.part("exchange")));
        if let Some(name) = exchange {
            let found = self.object(&setting, ObjectName::exchange(name)).await;
            found.ok_or_else(|| Problem::not_found("exchange", name))?;
        }
        let queue = named("queue").then(|| asking.part("queue"));
        if let Some(name) = queue {
            let found = self.object(&setting, ObjectName::queue(name)).await;
            found.ok_or_else(|| Problem::not_found("queue", name))?;
        }
        let pages = pages_of(asking, &nouns::BINDING)?;
        // No binding leads to an exchange.
        if asking.operation.deal == Deal::BindingsTo {
            return pages.answer().map(Answer::json);
        }
        let is = |object: &Object, name: &str, wanted: Option<&str>| {
            wanted.is_none_or(|wanted| nouns::referred(object, name).as_deref() == Some(wanted))
        };
        let is_one =
            |object: &Object| is(object, "exchangeRef", exchange) && is(object, "queueRef", queue);
        self.fill(asking, pages, &nouns::BINDING, &setting, is_one)
            .await
    }

    async fn show(
        &self,
        asking: &Asking,
        noun: &Noun,
        name: ObjectName,
    ) -> Result<Answer, Problem> {
        let setting = self.ready(&asking.requester).await?;
        let unknown = Problem::not_found(noun.class.name, name.key());
        let object = self.seen(&asking.requester, &setting, name);
        let object = object.await.ok_or(unknown)?;
        Ok(Answer::json(noun.show(&object)))
    }

    async fn list_objects(&self, asking: &Asking) -> Result<Answer, Problem> {
        let package = asking.query.iter().find(|(name, _)| name == "package");
        let package = package.map(|(_, package)| package.as_str());
        let found: Vec<&'static Class> = classes(package, asking.part("class")).collect();
        if found.is_empty() {
            return Err(Problem::not_found("class", asking.part("class")));
        }
        let mut pages = Pages::new(Wish::of(&asking.query, &[])?);
        let setting = self.ready(&asking.requester).await?;
        self.walk(&asking.requester, &setting, found.into_iter(), |object| {
            pages.add(object.name.as_str(), |_| {
                (Json::Null, nouns::show_object(object))
            });
        })
        .await?;
        pages.answer().map(Answer::json)
    }

    async fn show_object(&self, asking: &Asking) -> Result<Answer, Problem> {
        let name = ObjectName::parse(asking.part("object"))?;
        let unknown = Problem::not_found("object", name.as_str());
        let setting = self.ready(&asking.requester).await?;
        let object = self.seen(&asking.requester, &setting, name);
        let object = object.await.ok_or(unknown)?;
        Ok(Answer::json(nouns::show_object(&object)))
    }

    async fn overview(&self, asking: &Asking) -> Result<Answer, Problem> {
        let setting = self.ready(&asking.requester).await?;
        let (broker, totals) = self.broker(&setting).await?;
        let counts = self.counts();
        let agent = self.agent_name();
        Ok(Answer::json(json!({
            "product": "FerryMQ",
            "version": env!("CARGO_PKG_VERSION"),
            "node": node_name(self.group.member()),
            "broker": UuidText(&setting.broker).to_string(),
            "agent": agent,
            "uptime": nouns::number(&broker, "uptime"),
            "object_totals": {
                "connections": counts.connections,
                "sessions": counts.sessions,
                "consumers": counts.consumers,
                "exchanges": counts.exchanges,
                "queues": counts.queues,
            },
            "queue_totals": {
                "messages": totals.depth,
                "messages_ready": totals.depth.saturating_sub(totals.unacknowledged),
                "messages_unacknowledged": totals.unacknowledged,
                "message_bytes": totals.bytes,
            },
            "statistics": nouns::statistics(&broker),
        })))
    }

    async fn nodes(&self, asking: &Asking) -> Result<Answer, Problem> {
        self.ready(&asking.requester).await?;
        let membership = self.shared.known_hosts.read().clone();
        let shown = self.members(&membership).into_iter();
        let shown = shown.map(|member| show_member(&member, self.group.member(), &membership));
        Ok(Answer::json(shown.collect()))
    }

    async fn node(&self, asking: &Asking) -> Result<Answer, Problem> {
        self.ready(&asking.requester).await?;
        let name = asking.part("node");
        let membership = self.shared.known_hosts.read().clone();
        let members = self.members(&membership);
        // Logs and QMF have it without zeros in front.
        let id = u64::from_str_radix(name, 16).ok();
        let found = members.iter().find(|member| Some(member.id.0) == id);
        let found = found.ok_or_else(|| Problem::not_found("node", name))?;
        let own = self.group.member();
        Ok(Answer::json(show_member(found, own, &membership)))
    }
}
