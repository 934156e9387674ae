//! The published algorithm: what one finds when one looks for how presence servers do it.
//!
//! A hash map of connections, each with its deadline; a map of users with a count of connections; a binary heap of
//! deadlines, re-armed lazily (a heartbeat moves the deadline in the map alone; the heap's entry goes back if it comes up too
//! early); and a second heap for users whose last connection went, who are offline when their grace is over. Numbers stand
//! for names, which is to its favour.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

/// How it goes: the standard collections, at their defaults.
#[derive(Debug, Default)]
pub struct Published {
    conns: HashMap<u64, Conn>,
    users: HashMap<u64, User>,
    deadlines: BinaryHeap<Reverse<(u64, u64)>>,
    graces: BinaryHeap<Reverse<(u64, u64)>>,
    /// Users that turned, for the caller to take.
    pub turned: Vec<(u64, bool)>,
    /// How long a connection lives after a heartbeat, in ms.
    ttl: u64,
    /// How long a user without connections still counts, in ms.
    grace: u64,
}

#[derive(Debug)]
struct Conn {
    user: u64,
    deadline: u64,
}

#[derive(Debug, Default)]
struct User {
    conns: u32,
    online: bool,
    version: u32,
    /// When the grace ends; 0: none.
    grace: u64,
}

impl Published {
    /// With these periods, in ms.
    pub fn new(ttl: u64, grace: u64) -> Self {
        Self { ttl, grace, ..Self::default() }
    }

    /// A connection opens.
    pub fn connect(&mut self, now: u64, conn: u64, user: u64) {
        let deadline = now + self.ttl;
        self.conns.insert(conn, Conn { user, deadline });
        self.deadlines.push(Reverse((deadline, conn)));
        let row = self.users.entry(user).or_default();
        row.conns += 1;
        row.grace = 0;
        if !row.online {
            row.online = true;
            row.version += 1;
            self.turned.push((user, true));
        }
    }

    /// A heartbeat arrives.
    pub fn heartbeat(&mut self, now: u64, conn: u64) {
        if let Some(row) = self.conns.get_mut(&conn) {
            row.deadline = now + self.ttl;
        }
    }

    /// A connection ends.
    pub fn drop_conn(&mut self, now: u64, conn: u64) {
        let Some(gone) = self.conns.remove(&conn) else { return };
        let Some(row) = self.users.get_mut(&gone.user) else { return };
        row.conns -= 1;
        if row.conns == 0 {
            row.grace = now + self.grace;
            self.graces.push(Reverse((row.grace, gone.user)));
        }
    }

    /// Ends what is due.
    pub fn sweep(&mut self, now: u64) {
        while let Some(&Reverse((at, conn))) = self.deadlines.peek() {
            if at > now {
                break;
            }
            self.deadlines.pop();
            let Some(row) = self.conns.get(&conn) else { continue };
            if row.deadline > now {
                self.deadlines.push(Reverse((row.deadline, conn)));
            } else {
                self.drop_conn(now, conn);
            }
        }
        while let Some(&Reverse((at, user))) = self.graces.peek() {
            if at > now {
                break;
            }
            self.graces.pop();
            let Some(row) = self.users.get_mut(&user) else { continue };
            if row.grace == at && row.conns == 0 {
                row.online = false;
                row.version += 1;
                self.turned.push((user, false));
            }
        }
    }

    /// Connections that are open.
    pub fn len(&self) -> usize {
        self.conns.len()
    }

    /// Whether none is open.
    pub fn is_empty(&self) -> bool {
        self.conns.is_empty()
    }
}
