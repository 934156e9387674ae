//! The way to a server: what the URL says, and the first look at what is there.

use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, ConnectionInfo, IntoConnectionInfo};

use super::agreement::{agree, agree_on_periods, look_at_keys};
use super::keys::Keys;
use super::server::{About, Place, place_of, places};
use super::{OpenError, RedisStore};
use crate::clock::timeout;
use crate::core::Settings;

/// How long it may take to learn what a server is and has.
const LOOK: Duration = Duration::from_millis(2_000);

/// A client for one server, as the URL has it but for the place.
pub(super) fn client_for(info: &ConnectionInfo, place: &Place) -> Result<redis::Client, OpenError> {
    let mut info = info.clone();
    if let Some((host, port)) = place {
        let addr = match info.addr() {
            redis::ConnectionAddr::TcpTls { insecure, tls_params, .. } => {
                redis::ConnectionAddr::TcpTls {
                    host: host.clone(),
                    port: *port,
                    insecure: *insecure,
                    tls_params: tls_params.clone(),
                }
            }
            _ => redis::ConnectionAddr::Tcp(host.clone(), *port),
        };
        info = info.set_addr(addr);
    }
    Ok(redis::Client::open(info)?)
}

/// What the URL says, with the newer protocol: by it, what is published comes over the connection
/// that asks.
pub(super) fn connection_info(url: &str) -> Result<ConnectionInfo, OpenError> {
    let wrong = |reason: String| OpenError::Url { reason };
    let info = url.into_connection_info().map_err(|error| wrong(error.to_string()))?;
    let settings = info.redis_settings().clone().set_protocol(redis::ProtocolVersion::RESP3);
    Ok(info.set_redis_settings(settings))
}

/// The first look at a server: whether it can be the store, and which servers have what.
pub(super) async fn first_look(
    info: &ConnectionInfo,
    store: &RedisStore,
    keys: &Keys,
    settings: &Settings,
) -> Result<(bool, Vec<Place>), OpenError> {
    let mut connection = dial(info, &None).await?;
    let about = About::ask(&mut connection).await?;
    let at = info.addr().to_string();
    if !about.is_cluster() {
        about.check(&at)?;
        agree(&mut connection, store, keys).await?;
        for partition in 0..keys.count() {
            look_at_keys(&mut connection, store, keys, partition).await?;
        }
        let mut home = connection.clone();
        agree_on_periods(&mut connection, &mut home, store, keys, settings).await?;
        return Ok((false, vec![None; keys.count()]));
    }
    let map = places(&mut connection, keys).await?;
    let agreed = place_of(&mut connection, keys.settings_slot()).await?;
    let mut agreed = dial(info, &agreed).await?;
    agree(&mut agreed, store, keys).await?;
    for (partition, place) in map.iter().enumerate() {
        let mut connection = dial(info, place).await?;
        let about = About::ask(&mut connection).await?;
        about.check(&place.as_ref().map_or(String::new(), |it| format!("{}:{}", it.0, it.1)))?;
        look_at_keys(&mut connection, store, keys, partition).await?;
    }
    let mut home = dial(info, &map[0]).await?;
    agree_on_periods(&mut agreed, &mut home, store, keys, settings).await?;
    Ok((true, map))
}

/// For a few questions.
pub(super) fn brief() -> AsyncConnectionConfig {
    AsyncConnectionConfig::new().set_connection_timeout(Some(LOOK)).set_response_timeout(Some(LOOK))
}

async fn dial(info: &ConnectionInfo, place: &Place) -> Result<MultiplexedConnection, OpenError> {
    let client = client_for(info, place)?;
    let at = client.get_connection_info().addr().to_string();
    match timeout(LOOK, client.get_multiplexed_async_connection_with_config(&brief())).await {
        Some(Ok(connection)) => Ok(connection),
        Some(Err(error)) => Err(OpenError::Connect { at, error }),
        None => Err(OpenError::Silent),
    }
}
