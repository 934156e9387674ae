//! `--metrics`: what the engine counts, in Prometheus' text, on an address of its own.

use std::error::Error;
use std::net::{SocketAddr, TcpListener};

use axum::Router;
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use axum::routing::get;
use greendot_engine::server::{BUCKETS, Presence};
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};
use tracing::error;

/// What Prometheus calls this form.
const TEXT: &str = "text/plain; version=0.0.4; charset=utf-8";

/// An address that is listened on, and the recorder whose metrics will be read there.
pub(crate) struct Listener {
    tcp: TcpListener,
    address: SocketAddr,
    recorded: PrometheusHandle,
}

impl Listener {
    /// Listens, and records from now on what the engine counts.
    pub(crate) fn open(at: SocketAddr) -> Result<Self, Box<dyn Error>> {
        let tcp = TcpListener::bind(at).map_err(|error| {
            format!("cannot listen on {at}: {error}; choose another port with --metrics")
        })?;
        tcp.set_nonblocking(true)?;
        let address = tcp.local_addr()?;
        let mut recorder = PrometheusBuilder::new();
        for (name, bounds) in BUCKETS {
            recorder = recorder.set_buckets_for_metric(Matcher::Full((*name).into()), bounds)?;
        }
        Ok(Self { tcp, address, recorded: recorder.install_recorder()? })
    }

    /// Where it listens.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves them until the process ends.
    #[expect(clippy::disallowed_methods, reason = "the driver is where tasks are started")]
    pub(crate) fn serve(self, presence: Presence) {
        let state = (presence, self.recorded);
        let app = Router::new().route("/metrics", get(read)).with_state(state);
        tokio::spawn(async move {
            let served = async {
                let listener = tokio::net::TcpListener::from_std(self.tcp)?;
                axum::serve(listener, app).await
            };
            if let Err(error) = served.await {
                error!(%error, "metrics are served no more");
            }
        });
    }
}

async fn read(
    State((presence, recorded)): State<(Presence, PrometheusHandle)>,
) -> impl IntoResponse {
    presence.update_metrics();
    recorded.run_upkeep();
    ([(CONTENT_TYPE, TEXT)], recorded.render())
}
