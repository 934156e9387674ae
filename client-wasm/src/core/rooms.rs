//! Rooms that parts of the app are in, and who is there as far as this user may see.

use alloc::boxed::Box;
use alloc::vec::Vec;

use greendot_protocol::{Member, State};

use super::output::{Dial, Message, Output, Queue};

/// A room's place in the client; stays the same while any part of the app is in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Room(pub u32);

/// What is known of a room.
#[derive(Debug, Default)]
pub struct RoomView {
    /// Its id.
    id: Box<str>,
    /// How often the app has joined it and not left.
    joined: u32,
    /// Who is there, in the order in which they were told of; of a large room some.
    pub members: Vec<(Box<str>, State)>,
    /// How many are there, if the room is too large to name them all.
    pub count: Option<u32>,
    /// Whether anything has been told of it, lately enough.
    pub known: bool,
}

/// The rooms of a client.
#[derive(Debug, Default)]
pub(super) struct Rooms(Vec<RoomView>);

impl Rooms {
    pub(super) fn get(&self, room: Room) -> Option<&RoomView> {
        self.0.get(room.0 as usize).filter(|it| it.joined > 0)
    }

    pub(super) fn find(&self, id: &str) -> Option<Room> {
        let at = self.0.iter().position(|it| it.joined > 0 && *it.id == *id)?;
        Some(Room(at as u32))
    }

    fn get_mut(&mut self, number: u32) -> Option<(Room, &mut RoomView)> {
        let at = number.checked_sub(1)?;
        let view = self.0.get_mut(at as usize).filter(|it| it.joined > 0)?;
        Some((Room(at), view))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.iter().all(|it| it.joined == 0)
    }

    /// A part of the app goes into a room; whether none was there before.
    pub(super) fn join(&mut self, id: &str) -> (Room, bool) {
        let found = self.find(id).map(|it| it.0 as usize);
        let at = found.or_else(|| self.0.iter().position(|it| it.joined == 0));
        let at = at.unwrap_or_else(|| {
            self.0.push(RoomView::default());
            self.0.len() - 1
        });
        let view = &mut self.0[at];
        if view.joined == 0 {
            // All else is as it was made, or as `leave` left it.
            view.id = id.into();
        }
        view.joined += 1;
        (Room(at as u32), view.joined == 1)
    }

    /// A part leaves; whether none is there any more.
    pub(super) fn leave(&mut self, room: Room) -> bool {
        let Some(view) = self.0.get_mut(room.0 as usize).filter(|it| it.joined > 0) else {
            return false;
        };
        view.joined -= 1;
        if view.joined == 0 {
            *view = RoomView::default();
        }
        view.joined == 0
    }

    /// All of them, on a new connection.
    pub(super) fn start(&self, dial: Dial, out: &mut Queue) {
        for (at, view) in self.0.iter().enumerate().filter(|(_, it)| it.joined > 0) {
            let frame = Message::Join { number: at as u32 + 1, room: view.id.clone() };
            out.push(Output::Send { dial, frame });
        }
    }

    /// What a frame told. `whole`: all that is there, and how many if these are only some; else these
    /// came, went, or look otherwise.
    #[inline(never)]
    pub(super) fn told(
        &mut self,
        number: u32,
        members: &[Member<'_>],
        whole: Option<Option<u32>>,
        out: &mut Queue,
    ) {
        let Some((room, view)) = self.get_mut(number) else { return };
        if let Some(count) = whole {
            view.members = Vec::new();
            (view.count, view.known) = (count, true);
        } else if !view.known {
            return;
        }
        for it in members {
            match view.members.iter().position(|old| *old.0 == *it.user) {
                Some(at) if it.state == State::Offline => _ = view.members.remove(at),
                Some(at) => view.members[at].1 = it.state,
                None if it.state == State::Offline => {}
                None => view.members.push((it.user.into(), it.state)),
            }
        }
        out.push(Output::Room(room));
    }

    /// It is too long ago that anything was told.
    pub(super) fn forget(&mut self, out: &mut Queue) {
        for (at, view) in self.0.iter_mut().enumerate() {
            if core::mem::take(&mut view.known) {
                view.members = Vec::new();
                view.count = None;
                out.push(Output::Room(Room(at as u32)));
            }
        }
    }
}
