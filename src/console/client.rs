//! One request after the other to a broker's management.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::client::conn::http1;
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HOST, HeaderValue};
use hyper::{Method, Request};
use hyper_util::rt::TokioIo;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value as Json;

use super::credentials::Credentials;
use super::options::Target;
use super::reach::Place;
use super::{Exit, Failure};

/// How long a broker may take to answer: moving millions of messages takes a while.
const ANSWER_TIME: Duration = Duration::from_secs(90);

/// Octets of an answer: ten thousand items of some kilobytes.
const ANSWER_BYTES_MAX: usize = 256 * 1024 * 1024;

/// What of a name is not written as it is.
const IN_PATHS: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// A text as a part of a path or a query.
pub fn part(text: &str) -> String {
    utf8_percent_encode(text, IN_PATHS).to_string()
}

/// A broker's management.
pub struct Client {
    place: Place,
    /// Who asks, as the header Authorization says it.
    authorization: Option<HeaderValue>,
    runtime: tokio::runtime::Runtime,
}

impl Client {
    /// At a URL, as somebody or as nobody.
    ///
    /// # Errors
    /// As [`Place::of`].
    pub fn at(target: &Target, credentials: Option<&Credentials>) -> Result<Client, Failure> {
        let place = Place::of(target)?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| Failure::failed(format!("cannot start: {error}")))?;
        Ok(Client {
            place,
            authorization: credentials.and_then(basic),
            runtime,
        })
    }

    /// What is there.
    ///
    /// # Errors
    /// As [`ask`](Client::ask).
    pub fn get(&self, path: &str) -> Result<Json, Failure> {
        self.ask(Method::GET, path, None)
    }

    /// Asks, and gives what was answered; null for nothing.
    ///
    /// # Errors
    /// The broker cannot be reached, or does not do it.
    pub fn ask(&self, method: Method, path: &str, body: Option<&Json>) -> Result<Json, Failure> {
        let (status, octets) = self.runtime.block_on(self.exchange(method, path, body))?;
        let answer: Json = match octets.is_empty() {
            true => Json::Null,
            false => serde_json::from_slice(&octets).map_err(|error| {
                Failure::failed(format!(
                    "{}: no management of FerryMQ: {error}",
                    self.place.authority()
                ))
            })?,
        };
        if (200..300).contains(&status) {
            return Ok(answer);
        }
        let text = |name: &str| answer.get(name).and_then(Json::as_str).map(str::to_owned);
        let exit = match status {
            404 => Exit::NotFound,
            _ => Exit::Failed,
        };
        let error = text("error").unwrap_or_else(|| format!("status_{status}"));
        let mut reason = text("reason").unwrap_or_else(|| format!("the broker answered {status}"));
        if status == 401 {
            reason.push_str(
                "; --user NAME, with the password in FERRYMQ_PASSWORD or asked for, logs in",
            );
        }
        Err(Failure::new(exit, &error, reason))
    }

    async fn exchange(
        &self,
        method: Method,
        path: &str,
        body: Option<&Json>,
    ) -> Result<(u16, Bytes), Failure> {
        let stream = self.place.connect().await?;
        let answered = async {
            let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
            tokio::spawn(connection);
            let octets = body.map_or_else(Bytes::new, |json| Bytes::from(json.to_string()));
            let mut request = Request::new(Full::new(octets));
            *request.method_mut() = method;
            *request.uri_mut() = path.parse().unwrap_or_default();
            let head = request.headers_mut();
            if let Ok(host) = self.place.authority().parse() {
                head.insert(HOST, host);
            }
            if let Some(authorization) = &self.authorization {
                head.insert(AUTHORIZATION, authorization.clone());
            }
            if body.is_some() {
                head.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
            }
            let response = sender.send_request(request).await?;
            let status = response.status().as_u16();
            Ok::<_, hyper::Error>((status, Limited::new(response.into_body(), ANSWER_BYTES_MAX)))
        };
        let (status, body) = tokio::time::timeout(ANSWER_TIME, answered)
            .await
            .map_err(|_| self.place.late())?
            .map_err(|error| self.place.unreachable(&error))?;
        let read = tokio::time::timeout(ANSWER_TIME, body.collect()).await;
        let read = read.map_err(|_| self.place.late())?;
        let read = read.map_err(|error| self.place.unreachable(&*error))?;
        Ok((status, read.to_bytes()))
    }
}

/// Name and password as the scheme Basic says them (RFC 7617).
fn basic(credentials: &Credentials) -> Option<HeaderValue> {
    let pair = format!("{}:{}", credentials.user, credentials.password);
    let mut value = HeaderValue::from_str(&format!("Basic {}", STANDARD.encode(pair))).ok()?;
    value.set_sensitive(true);
    Some(value)
}
