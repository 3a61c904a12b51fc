//! Numbers about the server over HTTP: `/metrics` in Prometheus' text form, and `/health`.
//!
//! Started by `server` where the options name an address for them.

use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use axum::routing::get;

use crate::call::{Call, Reply};
use crate::service::Service;

/// The answers to requests.
pub(crate) fn router(service: Arc<Service>) -> Router {
    Router::new()
        .route("/metrics", get(metrics))
        .route("/health", get(health))
        .fallback(|| async { (StatusCode::NOT_FOUND, "/metrics and /health are here\n") })
        .with_state(service)
}

async fn metrics(State(service): State<Arc<Service>>) -> Response {
    let text = tokio::task::spawn_blocking(move || {
        // A bus that fails has no queues to show, but calls that were counted.
        let clients = match service.call(Call::Clients, None, None) {
            Ok(Reply::Clients(clients)) => Some(clients),
            _ => None,
        };
        service.metrics.text(clients.as_deref())
    });
    match text.await {
        Ok(text) => {
            ([(CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], text).into_response()
        }
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, format!("{error}\n")).into_response(),
    }
}

async fn health(State(service): State<Arc<Service>>) -> Response {
    match service.health() {
        Ok(()) => "ok\n".into_response(),
        Err(error) => (StatusCode::SERVICE_UNAVAILABLE, format!("{error}\n")).into_response(),
    }
}
