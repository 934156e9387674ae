//! What scripts publish: notices to one node.

use std::sync::Arc;

use greendot_protocol::{Epoch, Mode, Revision, Span, Time};

use super::part::{PartOutlook, PartRoster, outlook, read_mode, report, roster};
use super::words::{BadWords, Words};
use crate::core::directory::SessionView;
use crate::store::Report;

/// Notices of one script to a node.
#[derive(Debug)]
pub(super) struct Bundle {
    pub(super) epoch: Epoch,
    pub(super) at: Time,
    /// With the number of each, by the partition's count.
    pub(super) told: Vec<(u64, Told)>,
}

/// A notice as a partition says it.
#[derive(Debug)]
pub(super) enum Told {
    Changed(Report),
    Outlook(PartOutlook),
    Room(PartRoster),
    Sessions { user: Arc<str>, sessions: Vec<(SessionView, Span)> },
    SignedOut(u64),
    Replaced { seat: u64, passive: bool },
    Ended(u64),
    Revoked(u64),
    Mode { seat: u64, mode: Mode, revision: Revision },
    Audience { user: Option<Arc<str>>, viewer: Option<Arc<str>>, word: Box<str> },
}

impl Bundle {
    pub(super) fn read(row: &[u8]) -> Result<Self, BadWords> {
        let mut words = Words::new(row);
        let (epoch, at) = (Epoch(words.number()?), Time::from_millis(words.number()?));
        let mut number: u64 = words.number()?;
        let mut all = Vec::new();
        while !words.is_empty() {
            all.push((number, told(&mut words)?));
            number += 1;
        }
        Ok(Self { epoch, at, told: all })
    }
}

fn told(words: &mut Words<'_>) -> Result<Told, BadWords> {
    Ok(match words.text()? {
        "changed" => Told::Changed(report(words)?),
        "outlook" => Told::Outlook(outlook(words)?),
        "room" => Told::Room(roster(words)?),
        "sessions" => Told::Sessions { user: words.name()?, sessions: words.several(session)? },
        "signed_out" => Told::SignedOut(words.number()?),
        "replaced" => Told::Replaced { seat: words.number()?, passive: words.flag()? },
        "ended" => Told::Ended(words.number()?),
        "revoked" => Told::Revoked(words.number()?),
        "mode" => Told::Mode {
            seat: words.number()?,
            mode: read_mode(words.number()?)?,
            revision: Revision(words.number()?),
        },
        "audience" => {
            let mut name = || words.name().map(|it| (!it.is_empty()).then_some(it));
            let (user, viewer) = (name()?, name()?);
            Told::Audience { user, viewer, word: words.text()?.into() }
        }
        _ => return Err(BadWords),
    })
}

fn session(words: &mut Words<'_>) -> Result<(SessionView, Span), BadWords> {
    let view = SessionView {
        session: words.text()?.into(),
        generation: words.number()?,
        lingering: words.flag()?,
        idle: words.flag()?,
        passive: words.flag()?,
        device: words.text()?.into(),
        since: Time::ZERO,
    };
    Ok((view, words.span()?))
}
