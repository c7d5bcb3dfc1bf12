//! Why a request was not done.

use serde_json::{Value as Json, json};

use super::limits::REASON_BYTES_MAX;
use crate::broker::Refusal;
use crate::qmf::status::{Fault, Status};
use crate::wire::{ErrorCode, cut};

/// A status of HTTP that is no success, its word, and the reason in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The status.
    pub kind: Kind,
    /// What is wrong, at most [`REASON_BYTES_MAX`] octets.
    pub reason: String,
}

/// The kinds of problems, each with one status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The request makes no sense.
    BadRequest,
    /// It says not who asks.
    Unauthorized,
    /// Who asks may not do this.
    Forbidden,
    /// What it speaks of is not there.
    NotFound,
    /// The path has no such method.
    MethodNotAllowed,
    /// The request did not come in time.
    Timeout,
    /// What is there contradicts it.
    Conflict,
    /// It is too large.
    TooLarge,
    /// Its body is no JSON.
    MediaType,
    /// There are too many at once.
    TooMany,
    /// The member cannot answer at present: it does not hear a majority of the others, say.
    Unavailable,
}

impl Kind {
    /// The status of HTTP.
    pub fn status(self) -> u16 {
        match self {
            Kind::BadRequest => 400,
            Kind::Unauthorized => 401,
            Kind::Forbidden => 403,
            Kind::NotFound => 404,
            Kind::MethodNotAllowed => 405,
            Kind::Timeout => 408,
            Kind::Conflict => 409,
            Kind::TooLarge => 413,
            Kind::MediaType => 415,
            Kind::TooMany => 429,
            Kind::Unavailable => 503,
        }
    }

    /// The word that stands for it in answers.
    pub fn word(self) -> &'static str {
        match self {
            Kind::BadRequest => "bad_request",
            Kind::Unauthorized => "not_authorised",
            Kind::Forbidden => "forbidden",
            Kind::NotFound => "not_found",
            Kind::MethodNotAllowed => "method_not_allowed",
            Kind::Timeout => "timeout",
            Kind::Conflict => "conflict",
            Kind::TooLarge => "too_large",
            Kind::MediaType => "unsupported_media_type",
            Kind::TooMany => "too_many_requests",
            Kind::Unavailable => "unavailable",
        }
    }

    /// When it is answered, for the description.
    pub fn about(self) -> &'static str {
        match self {
            Kind::BadRequest => "The request makes no sense",
            Kind::Unauthorized => "Credentials are missing or wrong",
            Kind::Forbidden => "Who asks may not do this",
            Kind::NotFound => "What the request speaks of is not there",
            Kind::MethodNotAllowed => "The path has no such method",
            Kind::Timeout => "The request did not come in time",
            Kind::Conflict => "What is there contradicts the request; nothing was changed",
            Kind::TooLarge => "The request is too large",
            Kind::MediaType => "The body is not application/json",
            Kind::TooMany => "There are too many requests at once",
            Kind::Unavailable => "The member cannot answer at present",
        }
    }
}

impl Problem {
    /// Of a kind, for a reason.
    pub fn new(kind: Kind, reason: impl Into<String>) -> Problem {
        let reason = reason.into();
        let reason = cut(&reason, REASON_BYTES_MAX).to_owned();
        Problem { kind, reason }
    }

    /// The request makes no sense.
    pub fn bad(reason: impl Into<String>) -> Problem {
        Problem::new(Kind::BadRequest, reason)
    }

    /// Something is not there.
    pub fn not_found(what: &str, name: &str) -> Problem {
        Problem::new(Kind::NotFound, format!("no {what} {name}"))
    }

    /// What the body of the answer is.
    pub fn body(&self) -> Json {
        json!({"error": self.kind.word(), "reason": self.reason})
    }
}

impl From<Refusal> for Problem {
    /// The core has refused an act.
    fn from(refusal: Refusal) -> Self {
        let kind = match refusal.code {
            ErrorCode::NOT_FOUND => Kind::NotFound,
            ErrorCode::UNAUTHORIZED_ACCESS => Kind::Forbidden,
            ErrorCode::INVALID_ARGUMENT
            | ErrorCode::ILLEGAL_ARGUMENT
            | ErrorCode::NOT_IMPLEMENTED => Kind::BadRequest,
            _ => Kind::Conflict,
        };
        Problem::new(kind, refusal.text)
    }
}

impl From<Fault> for Problem {
    /// A method has answered that it was not done.
    fn from(fault: Fault) -> Self {
        let kind = match fault.status {
            Status::UnknownObject | Status::UnknownMethod => Kind::NotFound,
            Status::Forbidden => Kind::Forbidden,
            Status::Exception => Kind::Conflict,
            _ => Kind::BadRequest,
        };
        Problem::new(kind, fault.text)
    }
}
