//! The command line.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Parser;
use greendot_engine::core::{AudienceRule, Settings};
use greendot_engine::protocol::Span;
use greendot_engine::server::{Limits, RedisStore};
use tracing::level_filters::LevelFilter;

/// Greendot presence server.
#[derive(Debug, Parser)]
#[command(version)]
pub(crate) struct Options {
    /// Address and port; port 0 takes any that is free.
    #[arg(long, default_value = "127.0.0.1:4780", value_name = "ADDR:PORT", value_parser = address)]
    pub(crate) listen: SocketAddr,
    /// Believe everybody: a client's token is its user name. Loopback only.
    #[arg(long)]
    pub(crate) dev: bool,
    /// Check tokens as JWTs by the public keys in this file: PEM, RSA, EC (P-256, P-384) or Ed25519.
    #[arg(long, value_name = "FILE", group = "keys", conflicts_with = "dev")]
    pub(crate) jwt_key: Option<PathBuf>,
    /// The same by a secret that signer and server share, for HS256: the file's text, 32 bytes or more.
    #[arg(long, value_name = "FILE", group = "keys", conflicts_with = "dev")]
    pub(crate) jwt_secret: Option<PathBuf>,
    /// The same by a JSON Web Key Set: a file, or an http:// address (no https://).
    #[arg(long, value_name = "FILE|URL", group = "keys", conflicts_with = "dev")]
    pub(crate) jwks: Option<String>,
    /// Whom a token must be meant for (its `aud`); may be given several times.
    #[arg(long, value_name = "NAME", requires = "keys")]
    pub(crate) jwt_audience: Vec<String>,
    /// Whom a token must be from (its `iss`); may be given several times.
    #[arg(long, value_name = "NAME", requires = "keys")]
    pub(crate) jwt_issuer: Vec<String>,
    /// Which claim of a token is the user's name [default: sub].
    #[arg(long, value_name = "CLAIM", requires = "keys")]
    pub(crate) jwt_user_claim: Option<String>,
    /// How far the clocks of signer and server may be apart [default: 10].
    #[arg(long, value_name = "SECONDS", requires = "keys", value_parser = span)]
    pub(crate) jwt_leeway: Option<Span>,
    /// Only let pages of this origin connect: scheme, host, port; may be given several times.
    #[arg(long, value_name = "ORIGIN")]
    pub(crate) allow_origin: Vec<String>,
    /// Share users with other servers through this Redis (7 or later), or the Redis Cluster it is of:
    /// redis://user:password@host:port. Keep passwords out of the process list: the variable
    /// GREENDOT_REDIS does the same.
    #[arg(long, value_name = "URL", env = "GREENDOT_REDIS", hide_env_values = true)]
    pub(crate) redis: Option<String>,
    /// What all keys in Redis begin with [default: greendot].
    #[arg(long, value_name = "PREFIX", requires = "redis")]
    pub(crate) redis_prefix: Option<String>,
    /// The name of these servers as a group; one of another name is turned away [default: main].
    #[arg(long, value_name = "NAME", requires = "redis")]
    pub(crate) redis_cluster: Option<String>,
    /// Over how many hash slots users are spread [default: 8].
    #[arg(long, value_name = "N", requires = "redis")]
    pub(crate) redis_partitions: Option<u16>,
    /// Ask the application at this http:// address who may see whom, and who may be in which room.
    #[arg(long, value_name = "URL")]
    pub(crate) audience_url: Option<String>,
    /// The secret in this file goes along with each question, as `Authorization: Bearer`.
    #[arg(long, value_name = "FILE", requires = "audience_url")]
    pub(crate) audience_secret: Option<PathBuf>,
    /// How long an answer of the application holds [default: 60].
    #[arg(long, value_name = "SECONDS", requires = "audience_url", value_parser = span)]
    audience_lifetime: Option<Span>,
    /// How long the application may take to answer; then nothing is shown, and it is asked again [default: 3].
    #[arg(long, value_name = "SECONDS", requires = "audience_url", value_parser = span)]
    audience_timeout: Option<Span>,
    /// How many answers are kept beyond those about users who are watched [default: 100000].
    #[arg(long, value_name = "N", requires = "audience_url")]
    audience_kept: Option<usize>,
    /// Where the application says what has changed: another address and port, not for clients.
    #[arg(long, value_name = "ADDR:PORT", value_parser = address)]
    pub(crate) control: Option<SocketAddr>,
    /// The secret in this file must come along with it, as `Authorization: Bearer`.
    #[arg(long, value_name = "FILE", requires = "control")]
    pub(crate) control_secret: Option<PathBuf>,
    /// Who hides from everybody sees nobody.
    #[arg(long)]
    reciprocal: bool,
    /// Above how many watchers a user is told about once an interval [default: 5000].
    #[arg(long, value_name = "N")]
    crowd_limit: Option<usize>,
    /// That interval [default: 10].
    #[arg(long, value_name = "SECONDS", value_parser = span)]
    crowd_every: Option<Span>,
    /// Above how many watchers no more is told of a user than whether it was there within the hour [default: never].
    #[arg(long, value_name = "N")]
    afar_limit: Option<usize>,
    /// Above how many members whom one may see a room tells it a count and a sample [default: 50].
    #[arg(long, value_name = "N")]
    room_limit: Option<usize>,
    /// What to log: error, warn, info, debug, trace or off.
    #[arg(long, default_value = "info", value_name = "LEVEL")]
    pub(crate) log: LevelFilter,
    /// Serve metrics for Prometheus at http://ADDR:PORT/metrics, to whoever can reach it; off unless given.
    #[arg(long, value_name = "ADDR:PORT", value_parser = address)]
    pub(crate) metrics: Option<SocketAddr>,
    /// Every so often have clients of the server's own cut their line, and measure how long that takes to show; in the
    /// metrics, and off unless given.
    #[arg(long, value_name = "SECONDS", requires = "metrics", value_parser = span)]
    pub(crate) probe: Option<Span>,
    /// How often a client shows a sign of life [default: 15].
    #[arg(long, value_name = "SECONDS", value_parser = span)]
    beat: Option<Span>,
    /// How long a session lives after its last sign of life [default: 55].
    #[arg(long, value_name = "SECONDS", value_parser = span)]
    ttl: Option<Span>,
    /// How long a session still counts after its connection ended [default: 10].
    #[arg(long, value_name = "SECONDS", value_parser = span)]
    grace: Option<Span>,
    /// An extra wait after a session was silent for `ttl` [default: 0].
    #[arg(long, value_name = "SECONDS", value_parser = span)]
    expiry_grace: Option<Span>,
    /// How often due sessions are looked for [default: 0.25].
    #[arg(long, value_name = "SECONDS", value_parser = span)]
    sweep: Option<Span>,
    /// How long changes are gathered before they are sent [default: 0.02].
    #[arg(long, value_name = "SECONDS", value_parser = span)]
    tick: Option<Span>,
    /// After how long without input a device counts as idle; 0: never [default: 600].
    #[arg(long, value_name = "SECONDS", value_parser = span)]
    idle_after: Option<Span>,
    /// How long after a start unheard-of users are `unknown`; clients may take 40 s to come back
    /// [default: ttl + grace].
    #[arg(long, value_name = "SECONDS", value_parser = span)]
    warmup: Option<Span>,
    /// Open connections; one more is told to come back later [default: 100000].
    #[arg(long, value_name = "N")]
    max_connections: Option<usize>,
}

impl Options {
    /// Refuses what must not be served.
    pub(crate) fn check(&self) -> Result<(), String> {
        let checks = self.jwt_key.is_some() || self.jwt_secret.is_some() || self.jwks.is_some();
        if !self.dev && !checks {
            return Err("who says who the users are? For people give the keys that your tokens are \
                        signed by: --jwt-key FILE, --jwt-secret FILE or --jwks FILE|URL; for your \
                        own machine --dev (any client is whoever it says it is). Tokens that are no \
                        JWTs are checked by an app of your own around the engine's router \
                        (greendot_engine::server::Authenticate)"
                .into());
        }
        if self.dev && !self.listen.ip().is_loopback() {
            return Err(format!(
                "--dev takes any name for true, and {} can be reached from other machines: \
                 listen on 127.0.0.1",
                self.listen
            ));
        }
        if let Some(control) = self.control.filter(|it| !it.ip().is_loopback())
            && self.control_secret.is_none()
        {
            return Err(format!(
                "whoever reaches --control can sign people out, and {control} can be reached from other \
                 machines: give a secret with --control-secret FILE, or listen on 127.0.0.1"
            ));
        }
        Ok(())
    }

    pub(crate) fn settings(&self) -> Settings {
        let default = Settings::default();
        Settings {
            beat: self.beat.unwrap_or(default.beat),
            ttl: self.ttl.unwrap_or(default.ttl),
            grace: self.grace.unwrap_or(default.grace),
            expiry_grace: self.expiry_grace.unwrap_or(default.expiry_grace),
            sweep: self.sweep.unwrap_or(default.sweep),
            tick: self.tick.unwrap_or(default.tick),
            idle_after: self.idle_after.unwrap_or(default.idle_after),
            warmup: self.warmup.or(default.warmup),
            reciprocal: self.reciprocal,
            crowd_limit: self.crowd_limit.unwrap_or(default.crowd_limit),
            crowd_every: self.crowd_every.unwrap_or(default.crowd_every),
            afar_limit: self.afar_limit.or(default.afar_limit),
            room_limit: self.room_limit.unwrap_or(default.room_limit),
            audience: self.audience_url.is_some().then(|| self.audience_rule()),
            ..default
        }
    }

    /// The shared store, if there is one.
    pub(crate) fn store(&self) -> Option<RedisStore> {
        let mut store = RedisStore::new(self.redis.as_ref()?);
        if let Some(prefix) = &self.redis_prefix {
            store = store.prefix(prefix);
        }
        if let Some(name) = &self.redis_cluster {
            store = store.cluster(name);
        }
        if let Some(partitions) = self.redis_partitions {
            store = store.partitions(partitions);
        }
        Some(store)
    }

    pub(crate) fn audience_rule(&self) -> AudienceRule {
        let default = AudienceRule::default();
        AudienceRule {
            lifetime: self.audience_lifetime.unwrap_or(default.lifetime),
            deadline: self.audience_timeout.unwrap_or(default.deadline),
            kept: self.audience_kept.unwrap_or(default.kept),
        }
    }

    pub(crate) fn limits(&self) -> Limits {
        let default = Limits::default();
        Limits { connections: self.max_connections.unwrap_or(default.connections), ..default }
    }
}

/// An address with a port.
fn address(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_| {
        "give an IP address and a port, as in 127.0.0.1:4780 or [::1]:4780; port 0 takes any that \
         is free"
            .into()
    })
}

/// Seconds with decimals, to the millisecond.
fn span(text: &str) -> Result<Span, String> {
    let seconds: f64 = text.parse().map_err(|_| format!("{text:?} is no number of seconds"))?;
    // Above a year nothing makes sense, and the conversion stays exact.
    if !(0.0..=366.0 * 86_400.0).contains(&seconds) {
        return Err(format!("{text} seconds is not between 0 and a year"));
    }
    Ok(Span::from_millis((seconds * 1000.0).round() as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(args: &[&str]) -> Options {
        let program = ["greendot-server"];
        Options::try_parse_from(program.iter().chain(args)).unwrap()
    }

    #[test]
    fn without_dev_it_refuses_to_start_and_says_what_to_do() {
        let refused = options(&[]).check().unwrap_err();
        for next in ["--dev", "--jwt-key", "--jwks", "Authenticate"] {
            assert!(refused.contains(next), "{refused}");
        }
    }

    #[test]
    fn dev_refuses_every_address_but_loopback() {
        for address in ["0.0.0.0:80", "192.168.0.7:80", "[::]:80"] {
            let refused = options(&["--dev", "--listen", address]).check().unwrap_err();
            assert!(refused.contains(address), "{refused}");
        }
        for address in ["127.0.0.1:0", "127.1.2.3:80", "[::1]:80"] {
            assert_eq!(options(&["--dev", "--listen", address]).check(), Ok(()));
        }
    }

    #[test]
    fn keys_are_given_once_and_not_beside_dev() {
        let parse = |args: &[&str]| {
            Options::try_parse_from(["greendot-server"].iter().chain(args))
                .map_err(|it| it.to_string())
        };
        for wrong in [
            &["--dev", "--jwt-key", "k"][..],
            &["--jwt-key", "k", "--jwks", "s"],
            &["--jwt-secret", "k", "--jwks", "s"],
            &["--dev", "--jwt-audience", "chat"],
            &["--jwt-user-claim", "uid"],
        ] {
            assert!(parse(wrong).is_err(), "{wrong:?}");
        }
        let open = ["--jwt-key", "k", "--jwt-audience", "a", "--jwt-audience", "b"];
        let options = options(&[&open[..], &["--listen", "0.0.0.0:80"]].concat());
        assert_eq!((options.check(), options.jwt_audience.len()), (Ok(()), 2));
    }

    #[test]
    fn the_applications_side_is_open_to_this_machine_alone_or_behind_a_secret() {
        let control = |args: &[&str]| options(&[&["--dev"], args].concat()).check();
        assert_eq!(control(&["--control", "127.0.0.1:1"]), Ok(()));
        let refused = control(&["--control", "0.0.0.0:1"]).unwrap_err();
        assert!(refused.contains("--control-secret"), "{refused}");
        assert_eq!(control(&["--control", "0.0.0.0:1", "--control-secret", "f"]), Ok(()));
    }

    #[test]
    fn the_audience_is_kept_as_long_as_was_said() {
        let asked = ["--dev", "--audience-url", "http://a/", "--audience-lifetime", "7.5"];
        let rule = options(&asked).settings().audience.unwrap();
        let default = AudienceRule::default();
        assert_eq!(rule, AudienceRule { lifetime: Span::from_millis(7_500), ..default });
        assert_eq!(options(&["--dev"]).settings().audience, None);
        let alone = ["greendot-server", "--dev", "--audience-lifetime", "7"];
        assert!(Options::try_parse_from(alone).is_err());
    }

    #[test]
    fn an_address_without_a_port_is_told_the_form() {
        for wrong in ["4780", "127.0.0.1", "localhost:4780"] {
            let refused = address(wrong).unwrap_err();
            assert!(refused.contains("127.0.0.1:4780"), "{refused}");
        }
    }

    #[test]
    fn periods_are_seconds_with_decimals() {
        let options = options(&["--dev", "--beat", "0.25", "--ttl=7.5", "--grace", "3"]);
        let settings = options.settings();
        assert_eq!(settings.beat, Span::from_millis(250));
        assert_eq!(settings.ttl, Span::from_millis(7500));
        assert_eq!(settings.grace, Span::from_secs(3));
        assert_eq!(settings.sweep, Settings::default().sweep);
        let crowds = ["--dev", "--crowd-limit", "7", "--crowd-every", "2", "--afar-limit", "9"];
        let settings = self::options(&crowds).settings();
        assert_eq!((settings.crowd_limit, settings.afar_limit), (7, Some(9)));
        assert_eq!(settings.crowd_every, Span::from_secs(2));
        for wrong in ["-1", "x", "NaN", "1e30"] {
            assert!(span(wrong).is_err(), "{wrong}");
        }
    }
}
