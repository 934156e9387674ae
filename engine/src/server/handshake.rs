//! The request that asks for a WebSocket, and the answer that grants it (RFC 6455, section 4; RFC 8441 for HTTP/2).

use axum::body::Body;
use axum::extract::Request;
use axum::http::header::{self, HeaderMap, HeaderName, HeaderValue};
use axum::http::{Method, StatusCode, Version};
use axum::response::Response;
use hyper::upgrade::{OnUpgrade, Upgraded};
use tungstenite::handshake::derive_accept_key;

use crate::clock::spawn;

/// A request for a WebSocket.
#[derive(Debug)]
pub(super) struct Handshake {
    /// What the answer proves that it was read with; HTTP/2 has none.
    key: Option<HeaderValue>,
    upgrade: OnUpgrade,
    offered: Vec<HeaderValue>,
}

/// Why a request gets none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refused {
    /// It is of another method.
    Method,
    /// It asks for none, or not in a way that can be answered.
    NoUpgrade,
}

impl Handshake {
    /// Reads a request.
    ///
    /// # Errors
    ///
    /// If it is no request for a WebSocket.
    pub(super) fn read(mut request: Request) -> Result<Self, Refused> {
        let headers = request.headers();
        let key = if request.version() <= Version::HTTP_11 {
            if request.method() != Method::GET {
                return Err(Refused::Method);
            }
            if !names(headers, header::CONNECTION, "upgrade")
                || !names(headers, header::UPGRADE, "websocket")
            {
                return Err(Refused::NoUpgrade);
            }
            Some(headers.get(header::SEC_WEBSOCKET_KEY).ok_or(Refused::NoUpgrade)?.clone())
        } else {
            if request.method() != Method::CONNECT {
                return Err(Refused::Method);
            }
            None
        };
        if !names(headers, header::SEC_WEBSOCKET_VERSION, "13") {
            return Err(Refused::NoUpgrade);
        }
        let offered = words(headers, header::SEC_WEBSOCKET_PROTOCOL)
            .filter_map(|it| HeaderValue::from_bytes(it).ok())
            .collect();
        let upgrade = request.extensions_mut().remove().ok_or(Refused::NoUpgrade)?;
        Ok(Self { key, upgrade, offered })
    }

    /// The subprotocols that the client offers, the one it likes best first.
    pub(super) fn offered(&self) -> &[HeaderValue] {
        &self.offered
    }

    /// Grants it in this subprotocol; `run` begins when the client has been told.
    pub(super) fn grant<F>(
        self,
        protocol: Option<HeaderValue>,
        run: impl FnOnce(Upgraded) -> F + Send + 'static,
    ) -> Response
    where
        F: Future<Output = ()> + Send,
    {
        let upgrade = self.upgrade;
        spawn(async move {
            match upgrade.await {
                Ok(upgraded) => run(upgraded).await,
                Err(error) => tracing::debug!(%error, "a connection broke while it was upgraded"),
            }
        });
        let mut response = Response::new(Body::empty());
        let headers = response.headers_mut();
        if let Some(protocol) = protocol {
            headers.insert(header::SEC_WEBSOCKET_PROTOCOL, protocol);
        }
        if let Some(key) = self.key {
            headers.insert(header::CONNECTION, HeaderValue::from_static("upgrade"));
            headers.insert(header::UPGRADE, HeaderValue::from_static("websocket"));
            if let Ok(accept) = derive_accept_key(key.as_bytes()).parse() {
                headers.insert(header::SEC_WEBSOCKET_ACCEPT, accept);
            }
            *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
        }
        response
    }
}

/// The words of a header, which may stand in several lines.
fn words(headers: &HeaderMap, name: HeaderName) -> impl Iterator<Item = &[u8]> {
    let lines = headers.get_all(name).into_iter();
    lines.flat_map(|it| it.as_bytes().split(|&byte| byte == b',')).map(<[u8]>::trim_ascii)
}

fn names(headers: &HeaderMap, name: HeaderName, word: &str) -> bool {
    words(headers, name).any(|it| it.eq_ignore_ascii_case(word.as_bytes()))
}
