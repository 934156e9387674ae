//! Redis servers of our own, and presence servers that share them.

use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use greendot_engine::protocol::SUBPROTOCOL_BINARY;
use greendot_engine::server::RedisStore;
use tokio_tungstenite::connect_async;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;

use crate::common::{self, Client, Heard, Server, until};

/// A process of `redis-server`, killed in the end with all it wrote.
pub(crate) struct Redis {
    child: Child,
    pub(crate) port: u16,
    folder: PathBuf,
    args: Vec<String>,
}

/// A port that was free a moment ago.
pub(crate) fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    listener.local_addr().expect("bound").port()
}

impl Redis {
    /// Starts one with these settings (`--name value` each), and waits until it answers.
    pub(crate) fn start(settings: &[&str]) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let folder =
            std::env::temp_dir().join(format!("greendot-redis-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder for Redis");
        let args: Vec<String> = settings.iter().map(ToString::to_string).collect();
        let port = free_port();
        let child = run(port, &folder, &args);
        let redis = Self { child, port, folder, args };
        redis.wait();
        redis
    }

    pub(crate) fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    pub(crate) fn connection(&self) -> redis::Connection {
        let client = redis::Client::open(self.url()).expect("a good URL");
        client.get_connection().expect("Redis answers")
    }

    /// `kill -9`.
    pub(crate) fn kill(&mut self) {
        self.child.kill().expect("it runs");
        self.child.wait().expect("it ends");
    }

    /// Starts again where it was, with whatever it had saved.
    pub(crate) fn restart(&mut self) {
        self.child = run(self.port, &self.folder, &self.args);
        self.wait();
    }

    /// It stands still, or goes on.
    pub(crate) fn pause(&self, paused: bool) {
        signal(&self.child, if paused { "STOP" } else { "CONT" });
    }

    #[expect(clippy::disallowed_methods, reason = "waits for a process that announces nothing")]
    fn wait(&self) {
        let client = redis::Client::open(self.url()).expect("a good URL");
        for _ in 0..2_000 {
            let answers = client
                .get_connection()
                .and_then(|mut it| redis::cmd("PING").query::<String>(&mut it));
            if answers.is_ok() || answers.is_err_and(|it| it.to_string().contains("NOAUTH")) {
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        panic!("redis-server on port {} does not answer", self.port);
    }
}

fn run(port: u16, folder: &PathBuf, args: &[String]) -> Child {
    Command::new("redis-server")
        .args(["--port", &port.to_string(), "--bind", "127.0.0.1", "--save", ""])
        .args(["--daemonize", "no"])
        .args(args)
        .current_dir(folder)
        .stdout(Stdio::null())
        .spawn()
        .expect("redis-server is installed: `cargo xtask test --only redis` sees to it")
}

impl Drop for Redis {
    fn drop(&mut self) {
        // A process that is gone already is no failure.
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// A presence server that shares its users through a store.
pub(crate) async fn share(store: RedisStore) -> Server {
    share_with(store, common::builder()).await
}

pub(crate) async fn share_with(
    store: RedisStore,
    builder: greendot_engine::server::Builder,
) -> Server {
    let presence = builder.redis(store).open().await.expect("the store opens");
    Server::serve(presence).await
}

/// A process of `greendot-server`, killed in the end.
pub(crate) struct Process {
    child: Child,
    url: String,
}

impl Process {
    /// Starts one over a store, with the periods of the fault tests.
    pub(crate) fn start(redis: &str) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_greendot-server"))
            .args(["--dev", "--listen", "127.0.0.1:0", "--redis", redis, "--log", "off"])
            .args(["--beat", "0.5", "--ttl", "8", "--grace", "0.1", "--sweep", "0.02"])
            .stdout(Stdio::piped())
            .spawn()
            .expect("the server starts");
        let mut line = String::new();
        let out = child.stdout.take().expect("piped");
        BufReader::new(out).read_line(&mut line).expect("it says where it listens");
        let place = line.trim().rsplit('/').next().expect("an address").to_owned();
        Self { child, url: format!("ws://{place}/presence") }
    }

    pub(crate) async fn connect(&self, user: &str, session: &str) -> Client {
        let mut request = self.url.as_str().into_client_request().expect("a good address");
        let protocol = SUBPROTOCOL_BINARY.parse().expect("a good header");
        request.headers_mut().insert("sec-websocket-protocol", protocol);
        let (socket, _) = connect_async(request).await.expect("connects");
        let mut client = Client::over(socket);
        client.hello(user, session).await;
        assert!(matches!(client.hear().await, Heard::Welcome(_)));
        client
    }

    /// `kill -9`.
    pub(crate) fn kill(&mut self) {
        self.child.kill().expect("it runs");
        self.child.wait().expect("it ends");
    }

    /// Asks it to stop, as a deploy does, and waits until it has.
    pub(crate) fn stop(&mut self) {
        signal(&self.child, "TERM");
        self.child.wait().expect("it ends");
    }

    /// It stands still, or goes on.
    pub(crate) fn pause(&self, paused: bool) {
        signal(&self.child, if paused { "STOP" } else { "CONT" });
    }

    /// Memory that is in use and resident, in bytes.
    pub(crate) fn resident(&self) -> u64 {
        let file = format!("/proc/{}/status", self.child.id());
        let status = std::fs::read_to_string(file).expect("it runs");
        let line = status.lines().find_map(|it| it.strip_prefix("VmRSS:")).expect("a line");
        let kilobytes: u64 = line.trim().trim_end_matches(" kB").parse().expect("a number");
        kilobytes * 1024
    }
}

fn signal(child: &Child, name: &str) {
    let sent = Command::new("kill").args(["-s", name, &child.id().to_string()]).status();
    assert!(sent.expect("kill runs").success());
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Three masters that share all slots.
pub(crate) struct Cluster {
    pub(crate) servers: Vec<Redis>,
}

impl Cluster {
    pub(crate) async fn start() -> Self {
        let server = || {
            let bus = free_port().to_string();
            Redis::start(&[
                "--cluster-enabled",
                "yes",
                "--cluster-port",
                &bus,
                "--cluster-node-timeout",
                "1000",
            ])
        };
        let servers: Vec<Redis> = (0..3).map(|_| server()).collect();
        let cluster = Self { servers };
        let ranges = [(0, 5_460), (5_461, 10_922), (10_923, 16_383)];
        for (server, (from, to)) in cluster.servers.iter().zip(ranges) {
            let mut connection = server.connection();
            let add =
                redis::cmd("CLUSTER").arg("ADDSLOTSRANGE").arg(from).arg(to).exec(&mut connection);
            add.expect("slots are added");
        }
        for server in &cluster.servers[1..] {
            cluster.meet(server);
        }
        until(|| cluster.servers.iter().all(|it| knows(it, 3) && is_ok(it))).await;
        cluster
    }

    /// Another joins, as a replica of the first.
    pub(crate) async fn replica(&self) -> Redis {
        let bus = free_port().to_string();
        let replica = Redis::start(&[
            "--cluster-enabled",
            "yes",
            "--cluster-port",
            &bus,
            "--cluster-node-timeout",
            "1000",
        ]);
        self.meet(&replica);
        until(|| knows(&replica, 4)).await;
        let mut connection = self.servers[0].connection();
        let id: String = redis::cmd("CLUSTER").arg("MYID").query(&mut connection).expect("an id");
        let replicate =
            redis::cmd("CLUSTER").arg("REPLICATE").arg(id).exec(&mut replica.connection());
        replicate.expect("it replicates");
        until(|| info(&replica, "replication").contains("master_link_status:up")).await;
        replica
    }

    fn meet(&self, server: &Redis) {
        let first = &self.servers[0];
        let mut connection = server.connection();
        let port: (String, String) = redis::cmd("CONFIG")
            .arg("GET")
            .arg("cluster-port")
            .query(&mut first.connection())
            .expect("a port");
        let meet = redis::cmd("CLUSTER")
            .arg("MEET")
            .arg("127.0.0.1")
            .arg(first.port)
            .arg(port.1)
            .exec(&mut connection);
        meet.expect("they meet");
    }
}

pub(crate) fn info(server: &Redis, section: &str) -> String {
    redis::cmd("INFO").arg(section).query(&mut server.connection()).expect("it says so")
}

fn cluster_info(server: &Redis) -> String {
    redis::cmd("CLUSTER").arg("INFO").query(&mut server.connection()).expect("it says so")
}

fn knows(server: &Redis, nodes: usize) -> bool {
    cluster_info(server).contains(&format!("cluster_known_nodes:{nodes}"))
}

fn is_ok(server: &Redis) -> bool {
    cluster_info(server).contains("cluster_state:ok")
}
