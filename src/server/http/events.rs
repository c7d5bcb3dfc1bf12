//! Events as they happen, without end.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use http_body::Frame;
use serde_json::{Map as JsonMap, Value as Json, json};
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{OwnedSemaphorePermit, broadcast, mpsc};

use super::answer::{Answer, Asking};
use super::limits;
use super::look::View;
use crate::management::http::json::of_datum;
use crate::management::http::{Kind, Problem};
use crate::security::acl::Acl;
use crate::server::agent::ToldEvent;
use crate::server::agent::rights::Sight;
use crate::wire::Text;

/// The body of a stream.
struct Stream(mpsc::Receiver<Bytes>);

impl http_body::Body for Stream {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        let next = self.0.poll_recv(context);
        next.map(|octets| octets.map(|octets| Ok(Frame::data(octets))))
    }
}

/// A stream of the events that happen from now on.
///
/// # Errors
/// There are too many streams.
pub(super) fn stream(view: &View, asking: &Asking) -> Result<Answer, Problem> {
    let permit = view.streams.clone().try_acquire_owned().map_err(|_| {
        let text = format!("{} streams of events are open", limits::EVENT_STREAMS_MAX);
        Problem::new(Kind::TooMany, text)
    })?;
    let of = |name: &str| {
        let found = asking.query.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.to_lowercase())
    };
    let seconds = of("seconds").and_then(|seconds| seconds.parse().ok());
    let (octets, stream) = mpsc::channel(limits::EVENTS_WAITING_MAX);
    let telling = Telling {
        events: view.entrance.events.subscribe(),
        octets,
        name: of("name").unwrap_or_default(),
        acl: view.shared.rights.acl.clone(),
        user: asking.requester.user.clone(),
        _permit: permit,
    };
    tokio::spawn(async move {
        match seconds {
            Some(seconds) => {
                let time = Duration::from_secs(seconds);
                // Err: the time is up, and the stream ends with what told it.
                let _ = tokio::time::timeout(time, telling.run()).await;
            }
            None => telling.run().await,
        }
    });
    Ok(Answer::of("text/event-stream", Body::new(Stream(stream))))
}

/// What is told to one client.
struct Telling {
    events: broadcast::Receiver<ToldEvent>,
    octets: mpsc::Sender<Bytes>,
    /// In the names of events.
    name: String,
    /// By which rules, and for whom: they may be read again while he listens.
    acl: Arc<Acl>,
    user: Text,
    _permit: OwnedSemaphorePermit,
}

impl Telling {
    /// Until the client or the broker is gone. The first sign of life says that the stream is open.
    async fn run(mut self) {
        let mut text = Some(": open\n\n".to_owned());
        loop {
            if let Some(text) = text
                && self.octets.send(Bytes::from(text)).await.is_err()
            {
                return;
            }
            let next = tokio::select! {
                next = tokio::time::timeout(limits::EVENT_PAUSE, self.events.recv()) => next,
                () = self.octets.closed() => return,
            };
            text = match next {
                Err(_) => Some(": alive\n\n".to_owned()),
                Ok(Err(RecvError::Closed)) => return,
                Ok(Err(RecvError::Lagged(count))) => {
                    Some(format!("event: missed\ndata: {{\"events\":{count}}}\n\n"))
                }
                Ok(Ok(told)) => self.shown(&told),
            };
        }
    }

    fn shown(&self, told: &ToldEvent) -> Option<String> {
        let class = told.event.class;
        if !class.name.to_lowercase().contains(&self.name) {
            return None;
        }
        let sight = Sight::of(&self.acl, &self.user);
        if sight.is_some_and(|sight| !sight.hears(&told.event)) {
            return None;
        }
        let names = class.arguments.iter().map(|argument| argument.name);
        let members = names.zip(&told.event.arguments);
        let members: JsonMap<String, Json> = members
            .map(|(name, value)| (name.to_owned(), of_datum(value)))
            .collect();
        let data = json!({
            "package": class.package,
            "event": class.name,
            "severity": class.severity.word(),
            "at": told.at / 1_000_000,
            "arguments": members,
        });
        Some(format!("event: {}\ndata: {data}\n\n", class.name))
    }
}
