//! Small questions over HTTP, without TLS.

use axum::body::{Body, to_bytes};
use axum::http::{Request, StatusCode, Uri, header};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::task::JoinHandle;

/// A connection to a server, which carries one question at a time.
#[derive(Debug)]
pub(super) struct Caller {
    authority: String,
    sender: http1::SendRequest<Body>,
    driving: JoinHandle<hyper::Result<()>>,
}

impl Caller {
    /// Connects to the host that an address names.
    ///
    /// # Errors
    ///
    /// What went wrong, for people.
    #[expect(clippy::disallowed_methods, reason = "the driver is where tasks are started")]
    pub(super) async fn connect(uri: &Uri) -> Result<Self, String> {
        let authority = uri.authority().ok_or("the address names no host")?;
        let host = authority.host().trim_start_matches('[').trim_end_matches(']');
        let stream = TcpStream::connect((host, authority.port_u16().unwrap_or(80)))
            .await
            .map_err(|error| format!("{authority} can't be reached: {error}"))?;
        let authority = authority.to_string();
        let (sender, connection) = http1::handshake(TokioIo::new(stream))
            .await
            .map_err(|error| broken(&authority, &error))?;
        Ok(Self { authority, sender, driving: tokio::spawn(connection) })
    }

    /// Whether the server has closed it.
    #[cfg(feature = "callback")]
    pub(super) fn is_closed(&self) -> bool {
        self.sender.is_closed()
    }

    /// Asks, and reads the answer, at most so many bytes of it. Redirections are not followed: where answers come from
    /// is the operator's word alone.
    ///
    /// # Errors
    ///
    /// What went wrong, for people.
    pub(super) async fn ask(
        &mut self,
        mut request: Request<Body>,
        most: usize,
    ) -> Result<String, String> {
        let path = request.uri().path_and_query().map_or("/", |it| it.as_str());
        *request.uri_mut() = path.parse().map_err(|_| "the address has no path".to_owned())?;
        let headers = request.headers_mut();
        headers.insert(header::ACCEPT, header::HeaderValue::from_static("application/json"));
        let host = header::HeaderValue::from_str(&self.authority);
        headers.insert(header::HOST, host.map_err(|error| error.to_string())?);
        let broke = |error| broken(&self.authority, &error);
        self.sender.ready().await.map_err(broke)?;
        let answer = self.sender.send_request(request).await.map_err(broke)?;
        let status = answer.status();
        let body = to_bytes(Body::new(answer.into_body()), most).await;
        if status != StatusCode::OK {
            return Err(format!("the answer is {status}"));
        }
        let body = body
            .map_err(|error| format!("the answer broke off, or has over {most} bytes: {error}"))?;
        String::from_utf8(body.into()).map_err(|_| "the answer is no text".into())
    }
}

impl Drop for Caller {
    fn drop(&mut self) {
        self.driving.abort();
    }
}

fn broken(authority: &str, error: &hyper::Error) -> String {
    format!("the connection to {authority} broke: {error}")
}
