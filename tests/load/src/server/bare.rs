//! The floor: a loop that writes to each watcher, on tokio, with nothing around it. It keeps no session, checks nothing and forgets
//! nobody; it speaks as the server on `ws` does, and shows what the write calls alone take.

use std::collections::HashMap;
use std::io::{self, Write as _};
use std::net::TcpStream;
use std::sync::{Arc, Mutex};

use futures_util::StreamExt;
use tokio_tungstenite::accept_async;
use tokio_tungstenite::tungstenite::Message;

/// Each user's state, version and watchers.
type Users = HashMap<u16, (u8, u32, Vec<TcpStream>)>;

/// Serves on a free port of loopback until it is killed.
///
/// # Errors
///
/// If it cannot listen.
pub fn bare() -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
        println!("listening on {}", listener.local_addr()?);
        let users = Arc::new(Mutex::new(Users::new()));
        loop {
            let (stream, _) = listener.accept().await?;
            stream.set_nodelay(true)?;
            tokio::spawn(serve(stream, Arc::clone(&users)));
        }
    })
}

async fn serve(stream: tokio::net::TcpStream, users: Arc<Mutex<Users>>) -> io::Result<()> {
    let stream = stream.into_std()?;
    let writer = stream.try_clone()?;
    let stream = tokio::net::TcpStream::from_std(stream)?;
    let mut socket = accept_async(stream).await.map_err(io::Error::other)?;
    while let Some(Ok(Message::Binary(said))) = socket.next().await {
        let [kind, low, high, to] = said[..] else { continue };
        let number = u16::from_le_bytes([low, high]);
        let mut users = users.lock().expect("nobody panics here");
        let (state, version, watchers) = users.entry(number).or_default();
        match kind {
            1 => {
                (&writer).write_all(&frame(number, *state, *version))?;
                watchers.push(writer.try_clone()?);
            }
            _ => {
                (*state, *version) = (to, *version + 1);
                let frame = frame(number, *state, *version);
                for mut watcher in &*watchers {
                    _ = watcher.write(&frame);
                }
            }
        }
    }
    Ok(())
}

/// A WebSocket frame with `[user, state, version]`.
fn frame(user: u16, state: u8, version: u32) -> [u8; 10] {
    let mut bytes = [0x82, 8, 0, 0, state, 0, 0, 0, 0, 0];
    bytes[2..4].copy_from_slice(&user.to_le_bytes());
    bytes[5..9].copy_from_slice(&version.to_le_bytes());
    bytes
}
