//! The user's own mode and note: chosen here, kept by the server.
//!
//! A choice counts as told only once something sent *after* it has been answered: a frame that was
//! given to a dead link was not heard, and must be said again on the next one. A node that says its
//! word may be old cannot tell the others of a choice, and may die before it can: it settles none.

use alloc::boxed::Box;

use greendot_protocol::sabotage::{Fault, on};
use greendot_protocol::{Mode, ModeChoice, Revision};

/// What was chosen and what was told.
#[derive(Debug, Default)]
pub(super) struct Own {
    told: Option<(Mode, Revision)>,
    /// The same, told to an earlier page of this tab, or before a goodbye: shown to nobody, for the next token may be of
    /// another user. To that one's server the number says nothing.
    before: Option<(Mode, Revision)>,
    mode: Option<Choice<Mode>>,
    note: Option<Choice<Box<str>>>,
}

#[derive(Debug)]
struct Choice<T> {
    value: T,
    way: Way,
}

/// How far a choice has got on the present connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// Not said yet.
    Unsaid,
    /// In the hello: the welcome confirms it.
    Hello,
    /// In a frame.
    Frame,
    /// In a frame, and a beat went after it: the beat's answer confirms it.
    Beat,
}

impl Own {
    /// The mode as the app should see it: the choice under way, else what the server told.
    pub(super) fn mode(&self) -> Option<Mode> {
        self.mode.as_ref().map(|it| it.value).or(self.told.map(|(mode, _)| mode))
    }

    /// Whether the server has told this mode and no choice is under way.
    pub(super) fn is_settled_on(&self, mode: Mode) -> bool {
        self.mode.is_none() && self.told.is_some_and(|(told, _)| told == mode)
    }

    /// A new choice; `said` if it goes out in a frame now.
    pub(super) fn choose(&mut self, mode: Mode, said: bool) {
        self.mode = Some(Choice { value: mode, way: Way::of(said) });
    }

    /// A new note; `said` if it goes out in a frame now.
    pub(super) fn write(&mut self, note: &str, said: bool) {
        self.note = Some(Choice { value: note.into(), way: Way::of(said) });
    }

    /// What the hello says of the mode.
    pub(super) fn hello(&mut self) -> Option<ModeChoice> {
        let known = self.told.or(self.before);
        let revision = known.map_or(Revision::default(), |(_, revision)| revision);
        if let Some(choice) = &mut self.mode {
            choice.way = Way::Hello;
            return Some(ModeChoice { mode: choice.value, revision, fresh: true });
        }
        known.map(|(mode, revision)| ModeChoice { mode, revision, fresh: false })
    }

    /// What a page that follows in this tab is to know.
    pub(super) fn remember(&mut self, mode: Mode, revision: Revision) {
        self.before = Some((mode, revision));
    }

    /// The session has ended: whoever comes next may be somebody else.
    pub(super) fn part(&mut self) {
        *self = Self { before: self.told.or(self.before), ..Self::default() };
    }

    /// The number of the mode as the server told it.
    pub(super) fn revision(&self) -> Revision {
        self.told.map_or(Revision::default(), |(_, revision)| revision)
    }

    /// A note that has to be said behind the hello.
    pub(super) fn note_to_say(&mut self) -> Option<Box<str>> {
        let note = self.note.as_mut()?;
        note.way = Way::Frame;
        Some(note.value.clone())
    }

    /// The welcome says how the mode stands.
    pub(super) fn welcomed(&mut self, mode: Mode, revision: Revision, stale: bool) {
        self.told = Some((mode, revision));
        if let Some(choice) = self.mode.as_mut().filter(|it| it.way == Way::Hello) {
            choice.way = Way::Frame;
            self.mode.take_if(|_| !stale);
        }
    }

    /// The server tells how the mode stands. A choice of ours that is still under way comes after
    /// it, and stays.
    pub(super) fn told(&mut self, mode: Mode, revision: Revision, stale: bool) {
        self.told = Some((mode, revision));
        self.mode.take_if(|it| it.value == mode && !stale);
    }

    /// A beat went out.
    pub(super) fn beat_sent(&mut self) {
        advance(&mut self.mode);
        advance(&mut self.note);
    }

    /// The newest beat was answered: what was said before it has been read.
    pub(super) fn beat_answered(&mut self, stale: bool) {
        self.mode.take_if(|it| it.way == Way::Beat && !stale);
        self.note.take_if(|it| it.way == Way::Beat && !stale);
    }

    /// The connection is gone.
    pub(super) fn lost(&mut self) {
        self.mode.take_if(|_| on(Fault::ChoiceForgotten));
        if let Some(choice) = &mut self.mode {
            choice.way = Way::Unsaid;
        }
        if let Some(note) = &mut self.note {
            note.way = Way::Unsaid;
        }
    }
}

impl Way {
    const fn of(said: bool) -> Self {
        if said { Self::Frame } else { Self::Unsaid }
    }
}

fn advance<T>(choice: &mut Option<Choice<T>>) {
    if let Some(it) = choice
        && it.way == Way::Frame
    {
        it.way = Way::Beat;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_choice_made_while_the_link_is_down_is_fresh_in_the_hello() {
        let mut own = Own::default();
        own.told(Mode::Auto, Revision(4), false);
        own.choose(Mode::Invisible, false);
        let hello = ModeChoice { mode: Mode::Invisible, revision: Revision(4), fresh: true };
        assert_eq!(own.hello(), Some(hello));
        own.welcomed(Mode::Invisible, Revision(5), false);
        assert_eq!(own.hello(), Some(ModeChoice { revision: Revision(5), fresh: false, ..hello }));
    }

    #[test]
    fn a_choice_given_to_a_dying_link_is_said_again() {
        let mut own = Own::default();
        own.told(Mode::Auto, Revision(1), false);
        own.choose(Mode::Dnd, true);
        own.lost();
        assert!(own.hello().is_some_and(|it| it.fresh && it.mode == Mode::Dnd));
    }

    #[test]
    fn an_older_word_of_the_server_does_not_undo_a_choice_under_way() {
        let mut own = Own::default();
        own.choose(Mode::Dnd, true);
        own.told(Mode::Away, Revision(5), false);
        assert_eq!(own.mode(), Some(Mode::Dnd));
        own.told(Mode::Dnd, Revision(6), false);
        own.told(Mode::Away, Revision(7), false);
        assert_eq!(own.mode(), Some(Mode::Away));
    }

    #[test]
    fn a_choice_that_changed_nothing_is_settled_by_the_next_answered_beat() {
        let mut own = Own::default();
        own.told(Mode::Away, Revision(5), false);
        own.choose(Mode::Dnd, true);
        own.beat_answered(false);
        assert_eq!(own.mode(), Some(Mode::Dnd), "that beat was sent before the choice");
        own.beat_sent();
        own.beat_answered(false);
        assert_eq!(own.mode(), Some(Mode::Away));
    }

    #[test]
    fn a_choice_made_behind_the_hello_outlives_the_welcome() {
        let mut own = Own::default();
        own.choose(Mode::Dnd, false);
        own.hello();
        own.choose(Mode::Busy, true);
        own.welcomed(Mode::Dnd, Revision(2), false);
        assert_eq!(own.mode(), Some(Mode::Busy));
    }

    #[test]
    fn a_note_is_said_until_it_is_known_to_have_been_read() {
        let mut own = Own::default();
        own.write("lunch", true);
        own.lost();
        assert_eq!(own.note_to_say().as_deref(), Some("lunch"));
        own.beat_sent();
        own.beat_answered(false);
        assert_eq!(own.note_to_say(), None);
    }

    #[test]
    fn a_stale_node_settles_no_choice() {
        let mut own = Own::default();
        own.choose(Mode::Dnd, false);
        own.write("lunch", false);
        own.hello();
        own.note_to_say();
        own.welcomed(Mode::Dnd, Revision(0), true);
        own.told(Mode::Dnd, Revision(1), true);
        own.beat_sent();
        own.beat_answered(true);
        own.lost();
        assert!(own.hello().is_some_and(|it| it.fresh && it.mode == Mode::Dnd));
        assert_eq!(own.note_to_say().as_deref(), Some("lunch"));
        own.welcomed(Mode::Dnd, Revision(0), true);
        own.beat_sent();
        own.beat_answered(false);
        assert!(own.hello().is_some_and(|it| !it.fresh));
        assert_eq!(own.note_to_say(), None);
    }
}
