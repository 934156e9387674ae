//! The scripts, as they lie in `../lua`.

use std::collections::HashMap;

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

/// What each begins with.
const PARTITION: &str = include_str!("../lua/partition.lua");

/// What those about users go on with, in this order, with an empty line between any two.
const PEOPLE: [&str; 8] = [
    include_str!("../lua/people.lua"),
    include_str!("../lua/people/interest.lua"),
    include_str!("../lua/people/records.lua"),
    include_str!("../lua/people/leases.lua"),
    include_str!("../lua/people/telling.lua"),
    include_str!("../lua/people/rooms.lua"),
    include_str!("../lua/people/changes.lua"),
    include_str!("../lua/people/writing.lua"),
];

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
        let people = PEOPLE.join("\n");
        let text = |&(_, own, of_people): &(Name, &str, bool)| {
            alter(inlined(&[PARTITION, if of_people { &people } else { "" }, own].concat()))
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

/// The script with its constants written out where they are used. Lua 5.1 knows none: each is a variable that every function
/// which names it has to capture, each time a script begins; of one that does little that is a fifth of its time.
fn inlined(text: &str) -> String {
    let mut values: HashMap<&str, &str> = HashMap::new();
    let mut code = String::with_capacity(text.len());
    for line in text.lines() {
        match constants(line) {
            Some(found) => values.extend(found),
            None => code.push_str(line),
        }
        // Errors name lines.
        code.push('\n');
    }
    let is_word = |it: char| it.is_ascii_alphanumeric() || it == '_';
    let mut all = String::with_capacity(code.len());
    let mut rest = &code[..];
    while !rest.is_empty() {
        let (word, after) = rest.split_at(rest.find(|it| !is_word(it)).unwrap_or(rest.len()));
        all.push_str(values.get(word).unwrap_or(&word));
        let (between, next) = after.split_at(after.find(is_word).unwrap_or(after.len()));
        all.push_str(between);
        rest = next;
    }
    all
}

/// The names and values of a line such as `local STATE, VERSION = 1, 2`.
fn constants(line: &str) -> Option<Vec<(&str, &str)>> {
    let (names, values) = line.strip_prefix("local ")?.split_once(" = ")?;
    let is_name = |it: &&str| it.bytes().all(|it| it.is_ascii_uppercase() || it == b'_');
    let is_value = |it: &&str| it.bytes().all(|it| it.is_ascii_digit());
    let (names, values): (Vec<_>, Vec<_>) =
        (names.split(", ").collect(), values.split(", ").collect());
    (names.len() == values.len() && names.iter().all(is_name) && values.iter().all(is_value))
        .then(|| names.into_iter().zip(values).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_are_written_out() {
        let text = "local ONE, TWO_ = 1, 22\nlocal KEEP = math.max(ONE, 3)\nput(it[TWO_], ONE_MORE, 'x')\n";
        assert_eq!(inlined(text), "\nlocal KEEP = math.max(1, 3)\nput(it[22], ONE_MORE, 'x')\n");
        for text in Scripts::new().texts() {
            assert_eq!(text.lines().filter_map(constants).count(), 0);
        }
    }

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
