//! One small file over HTTP.

use std::time::Duration;

use axum::body::{Body, to_bytes};
use axum::http::{Request, StatusCode, Uri, header};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

use crate::server::clock::timeout;

/// How long it may take in all.
const PATIENCE: Duration = Duration::from_secs(5);

/// Reads what is there, at most so many bytes of it. Redirections are not followed: where keys come
/// from is the operator's word alone.
///
/// # Errors
///
/// What went wrong, for people.
pub(super) async fn fetch(uri: &Uri, most: usize) -> Result<String, String> {
    timeout(PATIENCE, get(uri, most))
        .await
        .unwrap_or_else(|| Err(format!("no answer within {} s", PATIENCE.as_secs())))
}

#[expect(clippy::disallowed_methods, reason = "the driver is where tasks are started")]
async fn get(uri: &Uri, most: usize) -> Result<String, String> {
    let authority = uri.authority().ok_or("the address names no host")?;
    let host = authority.host().trim_start_matches('[').trim_end_matches(']');
    let stream = TcpStream::connect((host, authority.port_u16().unwrap_or(80)))
        .await
        .map_err(|error| format!("{authority} can't be reached: {error}"))?;
    let broke = |error: hyper::Error| format!("the connection to {authority} broke: {error}");
    let (mut sender, connection) =
        http1::handshake::<_, Body>(TokioIo::new(stream)).await.map_err(broke)?;
    let driving = tokio::spawn(connection);
    let path = uri.path_and_query().map_or("/", |it| it.as_str());
    let request = Request::get(path)
        .header(header::HOST, authority.as_str())
        .header(header::ACCEPT, "application/json")
        .body(Body::empty())
        .map_err(|error| error.to_string())?;
    let answer = sender.send_request(request).await.map_err(broke)?;
    let status = answer.status();
    let body = to_bytes(Body::new(answer.into_body()), most).await;
    driving.abort();
    if status != StatusCode::OK {
        return Err(format!("the answer is {status}"));
    }
    let body =
        body.map_err(|error| format!("the answer broke off, or has over {most} bytes: {error}"))?;
    String::from_utf8(body.into()).map_err(|_| "the answer is no text".into())
}
