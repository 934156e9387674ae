//! Rooms that parts of the app are in, and who is there as far as this user may see.

use alloc::boxed::Box;
use alloc::vec::Vec;

use greendot_protocol::{Member, OTHER_ROOMS, State};

use super::output::{Dial, Message, Output, Queue};

/// A room's place in the client; stays the same while any part of the app is in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Room(pub u32);

/// What is known of a room.
#[derive(Debug, Default)]
pub struct RoomView {
    /// Its id.
    id: Box<str>,
    /// Its number on this connection. None is given twice: what was said to an earlier join may still
    /// be on its way.
    number: u32,
    /// How often the app has joined it and not left.
    joined: u32,
    /// Who is there, in the order in which they were told of; of a large room some.
    pub members: Vec<(Box<str>, State)>,
    /// How many are there, if the room is too large to name them all.
    pub count: Option<u32>,
    /// Whether anything has been told of it, lately enough.
    pub known: bool,
    /// Whether that was on the present connection.
    fresh: bool,
}

/// The rooms of a client.
#[derive(Debug, Default)]
pub(super) struct Rooms {
    views: Vec<RoomView>,
    /// The number given last.
    last: u32,
}

impl Rooms {
    pub(super) fn get(&self, room: Room) -> Option<&RoomView> {
        self.views.get(room.0 as usize).filter(|it| it.joined > 0)
    }

    pub(super) fn find(&self, id: &str) -> Option<Room> {
        let at = self.views.iter().position(|it| it.joined > 0 && *it.id == *id)?;
        Some(Room(at as u32))
    }

    /// The room that this number stands for.
    pub(super) fn numbered(&self, number: u32) -> Option<Room> {
        let at = self.views.iter().position(|it| it.joined > 0 && it.number == number)?;
        Some(Room(at as u32))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.views.iter().all(|it| it.joined == 0)
    }

    /// A part of the app goes into a room; with its number if none was there before.
    pub(super) fn join(&mut self, id: &str) -> (Room, Option<u32>) {
        let found = self.find(id).map(|it| it.0 as usize);
        let at = found.or_else(|| self.views.iter().position(|it| it.joined == 0));
        let at = at.unwrap_or_else(|| {
            self.views.push(RoomView::default());
            self.views.len() - 1
        });
        let view = &mut self.views[at];
        let first = view.joined == 0;
        if first {
            self.last += 1;
            // All else is as it was made, or as `leave` left it.
            view.id = id.into();
            view.number = self.last;
        }
        view.joined += 1;
        (Room(at as u32), first.then_some(view.number))
    }

    /// A part leaves; with the room's number if none is there any more.
    pub(super) fn leave(&mut self, room: Room) -> Option<u32> {
        let view = self.views.get_mut(room.0 as usize).filter(|it| it.joined > 0)?;
        view.joined -= 1;
        if view.joined > 0 {
            return None;
        }
        Some(core::mem::take(view).number)
    }

    /// All of them, on a new connection, and no others: the session may be where the page before this one was
    /// (`first`), or where it was to leave by a frame that never arrived.
    pub(super) fn start(&mut self, first: bool, dial: Dial, out: &mut Queue) {
        self.last = 0;
        for view in self.views.iter_mut().filter(|it| it.joined > 0) {
            self.last += 1;
            view.number = self.last;
            let frame = Message::Join { number: view.number, room: view.id.clone() };
            out.push(Output::Send { dial, frame });
        }
        if first || !self.views.is_empty() {
            out.push(Output::Send { dial, frame: Message::Leave { number: OTHER_ROOMS } });
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
        let Some(room) = self.numbered(number) else { return };
        let view = &mut self.views[room.0 as usize];
        if let Some(count) = whole {
            view.members = Vec::new();
            (view.count, view.known, view.fresh) = (count, true, true);
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

    /// The connection is gone.
    pub(super) fn lost(&mut self) {
        for view in &mut self.views {
            view.fresh = false;
        }
    }

    /// It is too long ago that anything was told, but on the present connection.
    pub(super) fn forget(&mut self, out: &mut Queue) {
        for (at, view) in self.views.iter_mut().enumerate() {
            if !view.fresh && core::mem::take(&mut view.known) {
                view.members = Vec::new();
                view.count = None;
                out.push(Output::Room(Room(at as u32)));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_of_a_room_left_is_not_taken_for_the_next() {
        let (mut rooms, mut out) = (Rooms::default(), Queue::default());
        let (first, number) = rooms.join("r");
        assert_eq!(rooms.leave(first), number);
        let (second, next) = rooms.join("q");
        let members = [Member { user: "ana", state: State::Online }];
        rooms.told(number.unwrap(), &members, Some(None), &mut out);
        assert!(!rooms.get(second).unwrap().known);
        rooms.told(next.unwrap(), &members, Some(None), &mut out);
        assert!(rooms.get(second).unwrap().known);
    }
}
