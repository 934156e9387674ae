//! Opens a WebSocket to a server on loopback.

use std::io;
use std::net::Ipv4Addr;

use tokio::net::{TcpSocket, TcpStream};
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::{WebSocketStream, client_async_with_config};

/// An open one.
pub(crate) type Socket = WebSocketStream<TcpStream>;

/// Opens one at this path, with this subprotocol if any. Buffers are small: a process holds thousands.
///
/// # Errors
///
/// If the server does not take it.
pub(crate) async fn dial(port: u16, path: &str, subprotocol: Option<&str>) -> io::Result<Socket> {
    dial_from(Ipv4Addr::LOCALHOST, port, path, subprotocol).await
}

/// The same from this address of loopback: each has ports of its own, some 28,000.
///
/// # Errors
///
/// If the server does not take it.
pub(crate) async fn dial_from(
    address: Ipv4Addr,
    port: u16,
    path: &str,
    subprotocol: Option<&str>,
) -> io::Result<Socket> {
    let socket = TcpSocket::new_v4()?;
    if address != Ipv4Addr::LOCALHOST {
        socket.bind((address, 0).into())?;
    }
    let stream = socket.connect((Ipv4Addr::LOCALHOST, port).into()).await?;
    stream.set_nodelay(true)?;
    let url = format!("ws://127.0.0.1:{port}/{path}");
    let mut request = url.into_client_request().map_err(io::Error::other)?;
    if let Some(protocol) = subprotocol {
        let value = protocol.parse().map_err(io::Error::other)?;
        request.headers_mut().insert("sec-websocket-protocol", value);
    }
    let config = WebSocketConfig::default().read_buffer_size(1024).write_buffer_size(0);
    let (socket, _) =
        client_async_with_config(request, stream, Some(config)).await.map_err(io::Error::other)?;
    Ok(socket)
}
