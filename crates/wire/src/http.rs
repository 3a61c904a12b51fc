//! Numbers about the server over HTTP: `/metrics` in Prometheus' text form, and `/health`.
//!
//! Started by `server` where [`crate::ServerOptions`] name an address for metrics.

use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::metrics::number;
use crate::shared::Shared;

/// Longest request that is read.
const REQUEST_BYTES_MAX: usize = 8192;

/// How long a client may take for its request and for the answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// Everything in Prometheus' text form, version 0.0.4.
fn text(shared: &Shared) -> String {
    let mut out = String::new();
    let connections = shared.activities.count() as u64;
    number(&mut out, "tessera_connections", "gauge", "Connections now.", connections);
    shared.metrics.print(&mut out);
    let state = shared.database.condition();
    for (name, kind, help, value) in [
        ("transactions_committed_total", "counter", "Transactions with changes.", state.committed),
        ("transactions_aborted_total", "counter", "Transactions taken back.", state.aborted),
        ("memory_bytes", "gauge", "Memory of data and queries.", state.memory_bytes),
        ("memory_limit_bytes", "gauge", "Most memory of both.", state.memory_limit_bytes),
        ("log_bytes", "gauge", "Disk space of the log.", state.log_bytes),
        ("log_written_bytes_total", "counter", "Bytes of log so far.", state.log_written_bytes),
        ("checkpoints_total", "counter", "Checkpoints written.", state.checkpoints),
    ] {
        number(&mut out, &format!("tessera_{name}"), kind, help, value);
    }
    out
}

/// Status line, type and body of the answer to a request for `path`.
fn answer(shared: &Shared, path: &str) -> (&'static str, &'static str, String) {
    let plain = "text/plain; charset=utf-8";
    match path.split('?').next().unwrap_or_default() {
        "/metrics" => ("200 OK", "text/plain; version=0.0.4; charset=utf-8", text(shared)),
        "/health" => match shared.health() {
            Ok(()) => ("200 OK", plain, "ok\n".to_owned()),
            Err(error) => ("503 Service Unavailable", plain, format!("{error}\n")),
        },
        _ => ("404 Not Found", plain, "/metrics and /health are here\n".to_owned()),
    }
}

async fn serve(shared: &Shared, stream: &mut TcpStream) -> std::io::Result<()> {
    let mut request = Vec::new();
    while !request.windows(4).any(|four| four == b"\r\n\r\n") {
        let mut piece = [0; 1024];
        let count = stream.read(&mut piece).await?;
        if count == 0 || request.len() + count > REQUEST_BYTES_MAX {
            return Ok(());
        }
        request.extend_from_slice(&piece[..count]);
    }
    let head = String::from_utf8_lossy(&request).into_owned();
    let mut words = head.split_whitespace();
    let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let (status, kind, body) = match method {
        "GET" | "HEAD" => answer(shared, path),
        _ => ("405 Method Not Allowed", "text/plain", "GET is enough\n".to_owned()),
    };
    let length = body.len();
    let mut out = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n\
         Connection: close\r\n\r\n"
    );
    if method != "HEAD" {
        out.push_str(&body);
    }
    stream.write_all(out.as_bytes()).await?;
    stream.shutdown().await
}

/// Answers requests one by one, which keeps them from taking much.
pub(crate) async fn listen(shared: Arc<Shared>, listener: TcpListener) {
    loop {
        match listener.accept().await {
            Ok((mut stream, _)) => {
                // A client that gives up is none of ours to report.
                let _ = tokio::time::timeout(PATIENCE, serve(&shared, &mut stream)).await;
            }
            Err(error) => {
                eprintln!("tessera: a request for metrics cannot be accepted: {error}");
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
    }
}
