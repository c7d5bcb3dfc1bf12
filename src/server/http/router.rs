//! The router, made of the table of operations.

use std::sync::Arc;

use axum::Router;
use axum::extract::rejection::RawPathParamsRejection;
use axum::extract::{RawPathParams, Request, State};
use axum::http::{HeaderMap, HeaderValue, Response, header};
use axum::routing::{MethodFilter, on};

use super::answer::{self, Answer};
use super::look::View;
use crate::management::http::operations::{ALL, Method, Operation};
use crate::management::http::{Kind, Problem};

/// All operations.
pub(super) fn router(view: Arc<View>) -> Router {
    let mut router = Router::new();
    for operation in ALL {
        let serve =
            move |State(view): State<Arc<View>>,
                  path: Result<RawPathParams, RawPathParamsRejection>,
                  request: Request| { serve(view, operation, path, request) };
        router = router.route(operation.path, on(filter(operation.method), serve));
    }
    router
        .fallback(async || failed(&Problem::new(Kind::NotFound, "no such path")))
        .method_not_allowed_fallback(async || {
            failed(&Problem::new(
                Kind::MethodNotAllowed,
                "the path has no such method",
            ))
        })
        .with_state(view)
}

fn filter(method: Method) -> MethodFilter {
    match method {
        Method::Get => MethodFilter::GET,
        Method::Put => MethodFilter::PUT,
        Method::Post => MethodFilter::POST,
        Method::Delete => MethodFilter::DELETE,
    }
}

async fn serve(
    view: Arc<View>,
    operation: &'static Operation,
    path: Result<RawPathParams, RawPathParamsRejection>,
    request: Request,
) -> Response<axum::body::Body> {
    let Ok(path) = path else {
        return failed(&Problem::bad("the path is not UTF-8"));
    };
    let parts = path
        .iter()
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    match answer::answer(view, operation, parts, request).await {
        Ok(answer) => answer.into_response(),
        Err(problem) => failed(&problem),
    }
}

fn failed(problem: &Problem) -> Response<axum::body::Body> {
    let mut response = Answer::json(problem.body()).into_response();
    *response.status_mut() = answer::status(problem.kind.status());
    if problem.kind == Kind::Unauthorized {
        let asks = HeaderValue::from_static("Basic realm=\"FerryMQ\"");
        response
            .headers_mut()
            .insert(header::WWW_AUTHENTICATE, asks);
    }
    response
}

/// What no browser may make of an answer.
pub(super) fn guard(head: &mut HeaderMap) {
    let pairs = [
        (header::CACHE_CONTROL, "no-store"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ];
    for (name, value) in pairs {
        head.insert(name, HeaderValue::from_static(value));
    }
}
