//! Which scripts a request takes.

use std::sync::Arc;
use std::time::Instant;

use greendot_protocol::{Span, Time};
use redis::Cmd;

use super::keys::Keys;
use super::scripts::{Name, Scripts};
use super::stamps::Stamps;
use crate::core::Settings;
use crate::store::{Departed, NodeId, Register, Request, SessionName, Silent, Speaker};

/// Sessions that one script ends at most: some three milliseconds of the server's time.
pub(super) const SLICE: usize = 200;

/// Names that one script takes at most, for the same reason.
const NAMES: usize = 250;

/// So many scripts say in each partition, behind an outage, that the node covers none of these names any more. Of one that holds
/// more than they name the others stay covered until it has registered them, within seconds: to name all of them first would
/// have its new sessions, and other nodes, wait for as long.
const UNCOVERS: usize = 2;

/// A script to run in a partition.
#[derive(Clone, Debug)]
pub(super) struct Call {
    pub(super) partition: usize,
    pub(super) command: Cmd,
    /// The last arguments, if what they say may go with another call of the kind, right behind what that one says.
    pub(super) joins: Option<Vec<String>>,
    /// When it was made, by the server's clock; 0 if that is not known.
    pub(super) asked: i64,
}

/// Writes calls in the name of a node.
#[derive(Debug)]
pub(super) struct Calls {
    pub(super) keys: Keys,
    scripts: Arc<Scripts>,
    /// What all scripts are told.
    common: [String; 8],
    /// What they say of themselves.
    pub(super) stamps: Option<Stamps>,
    /// When they are made otherwise; 0: whenever.
    asked: i64,
    /// When the request was made for which calls are put together; none: just now.
    made: Option<Time>,
    node: u64,
    /// Words to all nodes that were said so far.
    words: u64,
}

impl Calls {
    pub(super) fn new(
        keys: Keys,
        scripts: Arc<Scripts>,
        node: NodeId,
        settings: &Settings,
        thin: bool,
        stamps: Option<Stamps>,
    ) -> Self {
        let millis = |span: Span| span.as_millis().to_string();
        let common = [
            node.0.to_string(),
            millis(settings.ttl),
            millis(settings.ttl + settings.expiry_grace),
            millis(settings.beat),
            millis(settings.beat + settings.sweep),
            u8::from(thin).to_string(),
            settings.roster_limit().to_string(),
            millis(settings.warmup()),
        ];
        Self { keys, scripts, common, stamps, asked: 0, made: None, node: node.0, words: 0 }
    }

    /// What is made from now on is made at that time of a played store's clock.
    #[cfg(feature = "redis-played")]
    pub(super) fn asked_at(&mut self, at: i64) {
        self.asked = at;
    }

    /// Where a partition tells this node.
    pub(super) fn channel(&self, partition: usize) -> String {
        self.keys.channel(partition, self.node)
    }

    pub(super) fn scripts(&self) -> &Scripts {
        &self.scripts
    }

    fn call(&self, partition: usize, name: Name) -> Call {
        let mut command = Cmd::new();
        command.arg("EVALSHA").arg(self.scripts.hash(name));
        self.fill(partition, command, self.stamps.as_ref())
    }

    /// What every script is told.
    fn fill(&self, partition: usize, mut command: Cmd, stamps: Option<&Stamps>) -> Call {
        command.arg(1).arg(self.keys.tag(partition));
        let [others @ .., warmup] = &self.common;
        for it in others {
            command.arg(it);
        }
        let at = |it: &Stamps| self.made.unwrap_or_else(|| it.now());
        let asked = stamps.map_or(self.asked, |it| it.there(partition, at(it)));
        let line = stamps.map_or(0, |it| it.line(partition));
        command.arg(format!("{warmup} {asked} {line}"));
        Call { partition, command, joins: None, asked }
    }

    /// Calls for each partition that has any of the names; `what` goes before them.
    fn by_partition(&self, name: Name, what: &[&str], names: &[Arc<str>]) -> Vec<Call> {
        let mut shares: Vec<Vec<&Arc<str>>> = vec![Vec::new(); self.keys.count()];
        for it in names {
            shares[self.keys.partition_of(it)].push(it);
        }
        let of = |(partition, share): (usize, Vec<&Arc<str>>)| {
            let calls = share.chunks(NAMES).map(|names| {
                let mut call = self.call(partition, name).with(what);
                for it in names {
                    call.command.arg(&***it);
                }
                call
            });
            calls.collect::<Vec<_>>()
        };
        shares.into_iter().enumerate().flat_map(of).collect()
    }

    /// Calls for each partition, if there is any name at all.
    fn everywhere(&self, name: Name, what: &str, names: &[Arc<str>]) -> Vec<Call> {
        let call = |partition, names: &[Arc<str>]| {
            let mut call = self.call(partition, name).with(&[what]);
            for it in names {
                call.command.arg(&**it);
            }
            call
        };
        let of = |it| names.chunks(NAMES).map(move |names| (it, names));
        (0..self.keys.count()).flat_map(of).map(|(it, names)| call(it, names)).collect()
    }

    /// The node reaches the server of this partition. What is missing yet are the last arguments: the server's run, and the line's
    /// number. The script goes along, as nothing is loaded before it has been run. `fresh`:
    /// nothing was there before, should the partition be found empty.
    pub(super) fn open(&self, partition: usize, fresh: bool) -> Call {
        let mut command = Cmd::new();
        command.arg("EVAL").arg(self.scripts.text(Name::Open));
        // It is kept, and said at each connection.
        self.fill(partition, command, None).with(&[if fresh { "1" } else { "0" }])
    }

    pub(super) fn sweep(&self, partition: usize) -> Call {
        let mut call = self.call(partition, Name::Sweep);
        call.command.arg(SLICE);
        call
    }

    /// The calls for a request that was made then.
    pub(super) fn made(&mut self, made: Instant, request: &Request) -> Vec<Call> {
        self.made = self.stamps.as_ref().map(|it| it.time_of(made));
        let calls = self.of(request);
        self.made = None;
        calls
    }

    /// What a request takes; for [`Request::Sweep`] that is [`Self::sweep`], where anything is due.
    pub(super) fn of(&mut self, request: &Request) -> Vec<Call> {
        match request {
            Request::Connect(it) => vec![self.connect(it)],
            Request::Renew(it) => vec![self.silent("renew", it)],
            Request::Revive(it) => vec![self.silent("revive", it)],
            Request::End(it) => vec![self.end(it)],
            Request::HearNothing => {
                (0..self.keys.count()).map(|it| self.call(it, Name::HearNothing)).collect()
            }
            Request::Linger { name, seat, heard_ago, lasts } => {
                let mut call = self.session("linger", name, Some(*seat));
                call.command.arg(heard_ago.as_millis()).arg(lasts.as_millis());
                vec![call]
            }
            Request::SetIdle { name, seat, idle } => {
                vec![self.session(if *idle { "idle" } else { "active" }, name, Some(*seat))]
            }
            Request::Join { name, room } => vec![self.session("join", name, None).with(&[room])],
            Request::Leave { name, room } => vec![self.session("leave", name, None).with(&[room])],
            Request::SignOut { name, seat, ago } => {
                let ago = ago.as_millis().to_string();
                vec![self.session("sign_out", name, Some(*seat)).with(&[&ago])]
            }
            Request::SetMode { user, mode, ago, by } => {
                let call = self.user("mode", user, *ago).with(&[&(*mode as u8).to_string()]);
                vec![said_by(call, by.as_ref())]
            }
            Request::SetNote { user, note, ago, by } => {
                vec![said_by(self.user("note", user, *ago).with(&[note]), by.as_ref())]
            }
            Request::SetLastSeen { user, wish, ago } => {
                vec![self.user("wish", user, *ago).with(&[&(*wish as u8).to_string()])]
            }
            Request::Revoke { user, revoked, ago } => {
                vec![self.user(if *revoked { "revoke" } else { "reinstate" }, user, *ago)]
            }
            Request::Subscribe { users } => self.by_partition(Name::Watch, &["subscribe"], users),
            Request::Unsubscribe { users } => {
                self.by_partition(Name::Watch, &["unsubscribe"], users)
            }
            Request::Count { users } => self.counts(users),
            Request::Own { users } => self.by_partition(Name::Watch, &["own"], users),
            Request::Disown { users } => self.by_partition(Name::Watch, &["disown"], users),
            Request::Locate { user } => {
                vec![self.call(self.keys.partition_of(user), Name::Watch).with(&["locate", user])]
            }
            Request::Look { viewers } => self.everywhere(Name::Outlook, "look", viewers),
            Request::LookAway { viewers } => self.everywhere(Name::Outlook, "look_away", viewers),
            Request::LookInto { rooms } => self.everywhere(Name::Room, "look_into", rooms),
            Request::LookOut { rooms } => self.everywhere(Name::Room, "look_out", rooms),
            Request::Read { viewer, users } => self.read(viewer, users),
            Request::List { viewer, at_most } => {
                let most = at_most.to_string();
                let list = |it| self.call(it, Name::Outlook).with(&["list", viewer, &most]);
                (0..self.keys.count()).map(list).collect()
            }
            Request::SetBlock { user, viewer, blocked, ago } => {
                let call = self.call(self.keys.partition_of(user), Name::Outlook);
                vec![match ago {
                    Some(ago) => {
                        let what = if *blocked { "block" } else { "unblock" };
                        call.with(&[what, user, viewer, &ago.as_millis().to_string()])
                    }
                    None => call.with(&["restore", user, viewer]),
                }]
            }
            Request::AudienceChanged { user, viewer } => {
                self.words += 1;
                let word = format!("{}:{}", self.node, self.words);
                let (seen, looks) = (user.as_deref(), viewer.as_deref());
                let args = [seen.unwrap_or(""), looks.unwrap_or(""), &word];
                let call = |it| self.call(it, Name::Audience).with(&args);
                // Before whatever of these users is newer.
                match seen {
                    Some(user) => vec![call(self.keys.partition_of(user))],
                    None => (0..self.keys.count()).map(call).collect(),
                }
            }
            Request::Beat { away, silent, heard } => self.beat(*away, silent, heard),
            Request::Sweep => Vec::new(),
        }
    }

    fn connect(&self, it: &Register) -> Call {
        let mut call = self.call(self.keys.partition_of(&it.name.user), Name::Connect);
        let or_empty = |number: Option<u64>| number.map_or(String::new(), |it| it.to_string());
        let command = call.command.arg(&*it.name.user).arg(&*it.name.session).arg(it.seat);
        command.arg(it.connected_ago.as_millis()).arg(it.heard_ago.as_millis());
        command.arg(or_empty(it.generation)).arg(u8::from(it.passive));
        command.arg(or_empty(it.idle.map(u64::from)));
        command.arg(or_empty(it.lingers_for.map(Span::as_millis)));
        command.arg(or_empty(it.mode.map(|it| it.mode as u64)));
        command.arg(or_empty(it.mode.map(|it| it.revision.0.into())));
        command.arg(u8::from(it.mode.is_some_and(|it| it.fresh))).arg(&*it.device);
        command.arg(u8::from(it.no_others));
        for room in &it.rooms {
            command.arg(&**room);
        }
        call
    }

    fn counts(&self, users: &[(Arc<str>, u32)]) -> Vec<Call> {
        let mut shares: Vec<Vec<&(Arc<str>, u32)>> = vec![Vec::new(); self.keys.count()];
        for it in users {
            shares[self.keys.partition_of(&it.0)].push(it);
        }
        let of = |(partition, share): (usize, Vec<&(Arc<str>, u32)>)| {
            let calls = share.chunks(NAMES).map(|users| {
                let mut call = self.call(partition, Name::Watch).with(&["count"]);
                for (user, watchers) in users {
                    call.command.arg(&**user).arg(watchers);
                }
                call
            });
            calls.collect::<Vec<_>>()
        };
        shares.into_iter().enumerate().flat_map(of).collect()
    }

    /// Many end at a time, as when a rack of clients loses its power: they go in one script where they can.
    fn end(&self, it: &Departed) -> Call {
        let words = vec![
            it.name.user.to_string(),
            it.name.session.to_string(),
            it.seat.to_string(),
            it.heard_ago.as_millis().to_string(),
            it.connected_ago.as_millis().to_string(),
            u8::from(it.passive).to_string(),
            u8::from(it.bye).to_string(),
        ];
        let mut call = self.call(self.keys.partition_of(&it.name.user), Name::Ends);
        call.command.arg(&words);
        Call { joins: Some(words), ..call }
    }

    fn session(&self, what: &str, name: &SessionName, seat: Option<u64>) -> Call {
        let seat = seat.map_or(String::new(), |it| it.to_string());
        self.call(self.keys.partition_of(&name.user), Name::Session).with(&[
            what,
            &name.user,
            &name.session,
            &seat,
        ])
    }

    fn silent(&self, what: &str, it: &Silent) -> Call {
        self.session(what, &it.name, Some(it.seat)).with(&[&it.heard_ago.as_millis().to_string()])
    }

    fn user(&self, what: &str, user: &str, ago: Span) -> Call {
        let ago = ago.as_millis().to_string();
        self.call(self.keys.partition_of(user), Name::User).with(&[what, user, &ago])
    }

    /// The viewer's own partition knows whether it hides; theirs know how the users stand, and what
    /// stands between.
    fn read(&self, viewer: &str, users: &[Arc<str>]) -> Vec<Call> {
        let mut calls = self.by_partition(Name::Outlook, &["read", viewer], users);
        let home = self.keys.partition_of(viewer);
        if !calls.iter().any(|it| it.partition == home) {
            calls.push(self.call(home, Name::Outlook).with(&["read", viewer]));
        }
        calls
    }

    /// Who is silent is told before the lease is renewed: should the node die in between, nobody is covered who was silent.
    /// After an outage behind it: first the store has to know whom it spares.
    fn beat(&self, away: Span, silent: &[Silent], heard: &[(SessionName, u64)]) -> Vec<Call> {
        let here = |name: &SessionName, it| self.keys.partition_of(&name.user) == it;
        let (mut beats, mut silences, mut others) = (Vec::new(), Vec::new(), Vec::new());
        for partition in 0..self.keys.count() {
            let mut call = self.call(partition, Name::Beat);
            call.command.arg(away.as_millis());
            beats.push(call);
            let silent: Vec<_> = silent.iter().filter(|it| here(&it.name, partition)).collect();
            silences.extend(silent.chunks(NAMES).map(|it| self.lease(partition, 0, it, &[])));
            let heard: Vec<_> = heard.iter().filter(|it| here(&it.0, partition)).collect();
            others.extend(heard.chunks(NAMES).map(|it| self.lease(partition, 0, &[], it)));
        }
        if away == Span::ZERO {
            return [silences, beats, others].concat();
        }
        let all = (0..UNCOVERS).flat_map(|_| 0..self.keys.count());
        let uncovers = all.map(|it| self.lease(it, NAMES, &[], &[])).collect();
        [beats, uncovers, silences, others].concat()
    }

    fn lease(
        &self,
        partition: usize,
        uncover: usize,
        silent: &[&Silent],
        heard: &[&(SessionName, u64)],
    ) -> Call {
        let mut call = self.call(partition, Name::Lease);
        let command = call.command.arg(uncover).arg(silent.len());
        for it in silent {
            command.arg(&*it.name.user).arg(&*it.name.session).arg(it.seat);
            command.arg(it.heard_ago.as_millis());
        }
        for (name, seat) in heard {
            command.arg(&*name.user).arg(&*name.session).arg(seat);
        }
        call
    }
}

impl Call {
    fn with(mut self, args: &[&str]) -> Self {
        for it in args {
            self.command.arg(*it);
        }
        self
    }
}

/// The same, said over this connect.
fn said_by(call: Call, by: Option<&Speaker>) -> Call {
    let Some(by) = by else { return call };
    let (seat, connected_ago) = (by.seat.to_string(), by.connected_ago.as_millis().to_string());
    call.with(&[&by.session, &seat, &connected_ago])
}
