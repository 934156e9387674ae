//! What a script answers: one partition's part of a reply.

use std::sync::Arc;

use greendot_protocol::{Epoch, Mode, Revision, Span, State, Time, Version};

use super::words::{BadWords, Words};
use crate::core::LastSeen;
use crate::core::directory::Face;
use crate::store::{BarReport, HeldBy, NodeId, Place, Report, ScreenReport};

/// A partition's answer.
#[derive(Clone, Debug)]
pub(super) struct Part {
    pub(super) epoch: Epoch,
    pub(super) at: Time,
    pub(super) told: u64,
    pub(super) warming: Span,
    /// In how long a session is due, if the script looked and any is.
    pub(super) due: Option<Span>,
    pub(super) held: HeldBy,
    pub(super) reports: Vec<Report>,
    pub(super) outlooks: Vec<PartOutlook>,
    pub(super) rosters: Vec<PartRoster>,
    pub(super) turned: Vec<Report>,
    pub(super) places: Vec<Place>,
}

/// What stands between a viewer and the users of one partition.
#[derive(Clone, Debug)]
pub(super) struct PartOutlook {
    pub(super) viewer: Arc<str>,
    pub(super) number: u64,
    /// Only the viewer's own partition knows.
    pub(super) hides: bool,
    pub(super) bars: Vec<BarReport>,
}

/// Who of one partition's users is in a room.
#[derive(Clone, Debug)]
pub(super) struct PartRoster {
    pub(super) room: Arc<str>,
    pub(super) number: u64,
    pub(super) count: usize,
    pub(super) members: Vec<Arc<str>>,
}

impl Part {
    /// When a script answered, by its server's clock.
    pub(super) fn time_of(row: &[u8]) -> Result<Time, BadWords> {
        let mut words = Words::new(row);
        words.text()?;
        words.number().map(Time::from_millis)
    }

    pub(super) fn read(row: &[u8]) -> Result<Self, BadWords> {
        let mut words = Words::new(row);
        let it = &mut words;
        let (epoch, at) = (Epoch(it.number()?), Time::from_millis(it.number()?));
        let (told, warming, due) = (it.number()?, it.span()?, it.maybe_span()?);
        let part = Self {
            epoch,
            at,
            told,
            warming,
            due,
            held: held(it)?,
            reports: it.several(report)?,
            outlooks: it.several(outlook)?,
            rosters: it.several(roster)?,
            turned: it.several(report)?,
            places: it.several(place)?,
        };
        if words.is_empty() { Ok(part) } else { Err(BadWords) }
    }
}

fn place(words: &mut Words<'_>) -> Result<Place, BadWords> {
    Ok(Place {
        node: NodeId(words.number()?),
        session: words.text()?.into(),
        generation: words.number()?,
        lingering: words.flag()?,
        idle: words.flag()?,
        passive: words.flag()?,
        ends_in: words.span()?,
    })
}

fn held(words: &mut Words<'_>) -> Result<HeldBy, BadWords> {
    let kind = words.text()?;
    let (generation, mode) = (words.maybe()?, words.maybe::<u8>()?);
    let (revision, idle) = (words.maybe()?, words.flag()?);
    Ok(match kind {
        "" => HeldBy::Nobody,
        "another" => HeldBy::Another,
        "over" => HeldBy::Over,
        "revoked" => HeldBy::Revoked,
        "full" => HeldBy::Full,
        "you" => HeldBy::You {
            generation: generation.ok_or(BadWords)?,
            mode: read_mode(mode.ok_or(BadWords)?)?,
            revision: Revision(revision.ok_or(BadWords)?),
            idle,
        },
        _ => return Err(BadWords),
    })
}

pub(super) fn read_mode(number: u8) -> Result<Mode, BadWords> {
    Mode::ALL.get(usize::from(number)).copied().ok_or(BadWords)
}

fn face(words: &mut Words<'_>) -> Result<Face, BadWords> {
    let state = match words.number()? {
        0 => State::Offline,
        1 => State::Online,
        2 => State::Away,
        3 => State::Busy,
        4 => State::Dnd,
        _ => return Err(BadWords),
    };
    Ok(Face { state, version: Version(words.number()?) })
}

pub(super) fn report(words: &mut Words<'_>) -> Result<Report, BadWords> {
    Ok(Report {
        user: words.name()?,
        public: face(words)?,
        own: face(words)?,
        note: words.name()?,
        seen_ago: words.maybe_span()?,
        heard: words.flag()?,
        wish: match words.number()? {
            0 => LastSeen::Exact,
            1 => LastSeen::Delayed,
            2 => LastSeen::Rounded,
            3 => LastSeen::Words,
            4 => LastSeen::Never,
            _ => return Err(BadWords),
        },
        wishes: words.number()?,
        watchers: words.number()?,
    })
}

pub(super) fn outlook(words: &mut Words<'_>) -> Result<PartOutlook, BadWords> {
    Ok(PartOutlook {
        viewer: words.name()?,
        number: words.number()?,
        hides: words.flag()?,
        bars: words.several(bar)?,
    })
}

fn bar(words: &mut Words<'_>) -> Result<BarReport, BadWords> {
    let (user, behind) = (words.name()?, words.number()?);
    let (shown, seen_ago, heard) = (words.maybe()?, words.maybe_span()?, words.flag()?);
    let screen = shown.map(|it| ScreenReport { version: Version(it), seen_ago, heard });
    Ok(BarReport { user, behind, screen })
}

pub(super) fn roster(words: &mut Words<'_>) -> Result<PartRoster, BadWords> {
    Ok(PartRoster {
        room: words.name()?,
        number: words.number()?,
        count: words.number()?,
        members: words.several(Words::name)?,
    })
}
