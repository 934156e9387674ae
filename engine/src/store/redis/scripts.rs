//! The scripts, as they lie in `../lua`.

/// A script by its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Name {
    Audience,
    Beat,
    Connect,
    Ends,
    HearNothing,
    Lease,
    Open,
    Outlook,
    Room,
    Session,
    Sweep,
    User,
    Watch,
}

/// All of them, in the order of their numbers.
const ALL: [(Name, &str, bool); 13] = [
    (Name::Audience, include_str!("../lua/audience.lua"), false),
    (Name::Beat, include_str!("../lua/beat.lua"), false),
    (Name::Connect, include_str!("../lua/connect.lua"), true),
    (Name::Ends, include_str!("../lua/ends.lua"), true),
    (Name::HearNothing, include_str!("../lua/hear_nothing.lua"), false),
    (Name::Lease, include_str!("../lua/lease.lua"), true),
    (Name::Open, include_str!("../lua/open.lua"), false),
    (Name::Outlook, include_str!("../lua/outlook.lua"), true),
    (Name::Room, include_str!("../lua/room.lua"), true),
    (Name::Session, include_str!("../lua/session.lua"), true),
    (Name::Sweep, include_str!("../lua/sweep.lua"), true),
    (Name::User, include_str!("../lua/user.lua"), true),
    (Name::Watch, include_str!("../lua/watch.lua"), true),
];

const PARTITION: &str = include_str!("../lua/partition.lua");
const PEOPLE: &str = include_str!("../lua/people.lua");

/// How the scripts tell the time.
#[cfg(any(feature = "redis-played", test))]
const CLOCK: &str = "redis.call('TIME')";

/// How they tell nodes.
#[cfg(any(feature = "redis-played", test))]
const PUBLISH: &str = "redis.call('SPUBLISH', tag .. ':n:' .. id, ";

/// The scripts with their hashes, by which Redis is asked to run them.
#[derive(Debug)]
pub(super) struct Scripts {
    scripts: Vec<redis::Script>,
    texts: Vec<String>,
}

impl Scripts {
    pub(super) fn new() -> Self {
        Self::with(|text| text)
    }

    /// They go by the key `{tag}:clock`, in ms, in place of the server's clock, and leave what they
    /// publish in the list `{tag}:told`.
    #[cfg(any(feature = "redis-played", test))]
    pub(super) fn played() -> Self {
        Self::with(|text| {
            text.replace(CLOCK, "{ 0, redis.call('GET', tag .. ':clock') * 1000 }")
                .replace(PUBLISH, "redis.call('RPUSH', tag .. ':told', id, ")
        })
    }

    fn with(alter: impl Fn(String) -> String) -> Self {
        let text = |&(_, own, of_people): &(Name, &str, bool)| {
            alter([PARTITION, if of_people { PEOPLE } else { "" }, own].concat())
        };
        let texts: Vec<String> = ALL.iter().map(text).collect();
        Self { scripts: texts.iter().map(|it| redis::Script::new(it)).collect(), texts }
    }

    pub(super) fn hash(&self, name: Name) -> &str {
        self.scripts[name as usize].get_hash()
    }

    pub(super) fn text(&self, name: Name) -> &str {
        &self.texts[name as usize]
    }

    /// The texts of all, to be loaded.
    pub(super) fn texts(&self) -> &[String] {
        &self.texts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_lie_by_their_numbers_and_can_be_played() {
        for (place, (name, text, _)) in ALL.iter().enumerate() {
            assert_eq!(*name as usize, place);
            assert!(!text.contains(CLOCK) && !text.contains(PUBLISH), "{name:?}");
        }
        for once in [CLOCK, PUBLISH] {
            assert_eq!(PARTITION.matches(once).count(), 1);
        }
        let played = Scripts::played();
        assert!(played.texts().iter().all(|it| it.contains(":clock") && it.contains(":told")));
    }
}
