//! Steps of scripted connections.

use super::draft::{Draft, RawDraft, SESSIONS};
use crate::file::Verb;

impl Draft {
    pub(super) fn connect(&mut self) {
        let user = self.user();
        let passive = self.rng.one_in(15);
        // A session that is passive stays it: what becomes of one that changes, no rule says.
        let session = if passive { "p1" } else { SESSIONS[self.rng.below(3)] };
        self.conns += 1;
        let conn = format!("c{}", self.conns);
        let node = self.some_node();
        self.raws.push(RawDraft { name: conn.clone(), vanished: false, leaving: false, node });
        let verb = Verb::Connect {
            user,
            session: session.to_owned(),
            conn,
            node: self.named(node),
            passive,
            idle: self.rng.one_in(5).then_some(true),
            beats: !self.rng.one_in(6),
            fails: self.rng.one_in(30),
        };
        let conn = self.raws.last().map(|it| it.name.clone()).unwrap_or_default();
        self.step(verb);
        if self.owns && self.more.one_in(2) {
            self.step(Verb::Own { conn: conn.clone(), on: true });
        }
        if self.rooms && !self.rng.one_in(3) {
            self.room(conn);
        }
    }

    pub(super) fn raw_step(&mut self) {
        if self.raws.is_empty() || self.rng.one_in(4) {
            return self.connect();
        }
        let raw = self.rng.below(self.raws.len());
        let conn = self.raws[raw].name.clone();
        if self.raws[raw].vanished || self.raws[raw].leaving {
            // Noticed late, or never.
            if self.rng.one_in(2) {
                self.raws.remove(raw);
                self.step(Verb::Drop { conn });
            }
            return;
        }
        if self.owns && self.more.one_in(10) {
            let on = !self.more.one_in(3);
            return self.step(Verb::Own { conn, on });
        }
        match self.rng.below(25) {
            20..=24 if self.rooms => self.room(conn),
            20..=24 => {}
            0..=1 => {
                self.raws[raw].leaving = true;
                self.step(Verb::Bye { conn });
            }
            2..=3 => {
                self.raws[raw].leaving = true;
                self.step(Verb::Closing { conn });
            }
            4..=7 => {
                self.raws.remove(raw);
                self.step(Verb::Drop { conn });
            }
            8..=9 => {
                self.raws[raw].vanished = true;
                self.step(Verb::Vanish { conn });
            }
            10..=12 => {
                let until = self.until();
                self.step(Verb::Mute { conn, until });
            }
            13 => self.step(Verb::Beat { conn }),
            14..=16 => self.step(Verb::Idle { conn, idle: true }),
            _ => self.step(Verb::Idle { conn, idle: false }),
        }
    }
}
