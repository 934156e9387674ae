//! Which link goes to the server of which partition.

use std::time::Duration;

use tokio::sync::mpsc;

use super::Client;
use crate::clock::{sleep, spawn, timeout};
use crate::store::redis::OpenError;
use crate::store::redis::dial::{brief, client_for};
use crate::store::redis::link::Link;
use crate::store::redis::server::{Place, places};

/// How long it may take to learn which server has what.
const MAP: Duration = Duration::from_millis(2_000);

/// No more often than this is it asked.
const MAP_EVERY: Duration = Duration::from_millis(250);

impl Client {
    /// Takes another map: links to servers that have other partitions now start anew.
    pub(super) fn route(&mut self, map: &[Place], fresh: bool) -> Result<(), OpenError> {
        let mut links: Vec<Link> = Vec::new();
        let mut routes = vec![0; map.len()];
        for place in map {
            if links.iter().any(|it| it.place == *place) {
                continue;
            }
            let has = |map: &[Place]| -> Vec<usize> {
                (0..map.len()).filter(|it| map[*it] == *place).collect()
            };
            let partitions = has(map);
            for &it in &partitions {
                routes[it] = links.len();
            }
            let had: Vec<usize> = (0..self.routes.len())
                .filter(|it| self.links.get(self.routes[*it]).is_some_and(|it| it.place == *place))
                .collect();
            let old = self.links.iter().position(|it| it.place == *place);
            links.push(match old.filter(|_| had == partitions) {
                Some(old) => self.links[old].clone(),
                None => {
                    self.down.push(place.clone());
                    Link::start(
                        client_for(&self.info, place)?,
                        place.clone(),
                        &self.calls,
                        partitions,
                        fresh,
                        self.events.0.clone(),
                    )
                }
            });
        }
        self.down.retain(|it| links.iter().any(|link| link.place == *it));
        (self.links, self.routes) = (links, routes);
        Ok(())
    }

    /// Asks the servers known which of them has what, beside everything else.
    pub(super) fn look_up(&self) -> mpsc::Receiver<Vec<Place>> {
        let (found, map) = mpsc::channel(1);
        let mut known: Vec<Place> = self.links.iter().map(|it| it.place.clone()).collect();
        known.push(None);
        let (info, keys) = (self.info.clone(), self.keys.clone());
        spawn(async move {
            sleep(MAP_EVERY).await;
            for place in known {
                let ask = async {
                    let client = client_for(&info, &place)?;
                    let config = brief();
                    let mut connection =
                        client.get_multiplexed_async_connection_with_config(&config).await?;
                    places(&mut connection, &keys).await
                };
                if let Some(Ok(places)) = timeout(MAP, ask).await {
                    // Nobody waits if all ends.
                    let _ = found.send(places).await;
                    return;
                }
            }
        });
        map
    }
}
