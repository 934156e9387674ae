//! The TypeScript declarations of the JSON frames and of the words and codes in them, made from the
//! Rust types. `npm/src/protocol.ts` is what [`module`] returns; a test compares them.

use std::fmt::Write as _;

use ts_rs::{Config, TS};

use crate::json::{Client, Server, client, poll, read, secs, server};
use crate::{CloseCode, ErrorCode, Mode, State};

/// The whole module.
pub fn module() -> String {
    let mut module = Module(HEAD.into());
    module.words("STATES", "State", STATES, State::ALL.iter().map(|it| it.name()));
    module.words("MODES", "Mode", MODES, Mode::ALL.iter().map(|it| it.name()));
    let codes = CloseCode::ALL.iter().map(|it| (it.number(), it.name()));
    module.codes("CLOSE_CODES", "CloseName", CLOSE_CODES, codes);
    let codes = ErrorCode::ALL.iter().map(|&it| (it as u16, it.name()));
    module.codes("ERROR_CODES", "ErrorName", ERROR_CODES, codes);

    module.declare::<Client<'_>>();
    module.declare::<client::Hello<'_>>();
    module.declare::<client::ModeChoice>();
    module.declare::<client::Beat>();
    module.declare::<client::Watch<'_>>();
    module.declare::<client::WatchItem<'_>>();
    module.declare::<client::Unwatch>();
    module.declare::<client::ModeWish>();
    module.declare::<client::Note<'_>>();
    module.declare::<client::Token<'_>>();
    module.declare::<client::Join<'_>>();
    module.declare::<client::Leave>();
    module.declare::<client::Own>();
    module.declare::<client::End<'_>>();

    module.declare::<Server<'_>>();
    module.declare::<server::Welcome<'_>>();
    module.declare::<server::BeatAnswer>();
    module.declare::<server::Snapshot<'_>>();
    module.declare::<server::Events<'_>>();
    module.declare::<server::Entry<'_>>();
    module.declare::<server::OwnMode>();
    module.declare::<server::Failure<'_>>();
    module.declare::<server::Stale>();
    module.declare::<server::Close<'_>>();
    module.declare::<server::TokenLife>();
    module.declare::<server::Room<'_>>();
    module.declare::<server::RoomEvents<'_>>();
    module.declare::<server::Crowd<'_>>();
    module.declare::<server::Member<'_>>();
    module.declare::<server::Sessions<'_>>();
    module.declare::<server::OwnSession<'_>>();

    module.declare::<poll::Poll<'_>>();
    module.declare::<poll::Polled<'_>>();
    module.declare::<poll::PolledUser<'_>>();
    module.declare::<poll::PolledRoom<'_>>();
    module.declare::<poll::PollRefused<'_>>();
    module.0
}

struct Module(String);

impl Module {
    fn words<'a>(
        &mut self,
        list: &str,
        name: &str,
        doc: &str,
        words: impl Iterator<Item = &'a str>,
    ) {
        let words: Vec<_> = words.map(|it| format!("{it:?}")).collect();
        self.line(&format!("\n/** {doc} */"));
        self.line(&format!("export const {list} = [{}] as const;", words.join(", ")));
        self.line(&format!("/** One of {{@link {list}}}. */"));
        self.line(&format!("export type {name} = (typeof {list})[number];"));
    }

    fn codes<'a>(
        &mut self,
        table: &str,
        name: &str,
        doc: &str,
        codes: impl Iterator<Item = (u16, &'a str)>,
    ) {
        self.line(&format!("\n/** {doc} */"));
        self.line(&format!("export const {table} = {{"));
        for (number, word) in codes {
            self.line(&format!("  {number}: {word:?},"));
        }
        self.line("} as const;");
        self.line(&format!("/** A name in {{@link {table}}}. */"));
        self.line(&format!("export type {name} = (typeof {table})[keyof typeof {table}];"));
    }

    fn declare<T: TS>(&mut self) {
        let config = Config::new().with_large_int("number");
        let docs = T::docs().unwrap_or_default();
        self.line("");
        self.lay_out(&format!("{docs}export {}", T::decl(&config)));
    }

    /// One member, one line: ts-rs leaves the layout to a formatter.
    fn lay_out(&mut self, declaration: &str) {
        let mut lines = declaration.lines().map(str::trim);
        let mut indent = "";
        while let Some(line) = lines.next() {
            if line == "/**" {
                let text: Vec<_> = lines
                    .by_ref()
                    .take_while(|&it| it != "*/")
                    .map(|it| it.trim_start_matches('*').trim())
                    .collect();
                self.line(&format!("{indent}/** {} */", text.join(" ")));
            } else if let Some(head) = line.strip_suffix('{') {
                self.line(&format!("{head}{{"));
                indent = "  ";
            } else if let Some(last) = line.strip_suffix(", };") {
                self.line(&format!("{indent}{last};\n}};"));
            } else if let Some(member) = line.strip_suffix(',') {
                self.line(&format!("{indent}{member};"));
            } else {
                // A union, all on one line.
                let line = line.replace("\"type\"", "type").replace(" | ", "\n  | ");
                self.line(&line.replace(" = ", " =\n  | "));
            }
        }
    }

    fn line(&mut self, line: &str) {
        writeln!(self.0, "{line}").expect("a string takes every line");
    }
}

const HEAD: &str = "\
// Made from the Rust crate `greendot-protocol`; do not edit. After a change there:
//     GREENDOT_BLESS=1 cargo test -p greendot-protocol --all-features --test typescript
";
const STATES: &str = "How a user looks, in the order of the numbers on the wire.";
const MODES: &str =
    "A user's own choice of how to appear, in the order of the numbers on the wire.";
const CLOSE_CODES: &str = "Why a connection was closed. From 4400 to 4499 a client stops; after every other it comes back.";
const ERROR_CODES: &str = "What a server may say of a request that it did not carry out.";

/// How a type of which JSON sees only the inside is declared.
macro_rules! written_as {
    ($name:expr; $($head:tt)*) => {
        impl $($head)* {
            type WithoutGenerics = Self;
            type OptionInnerType = Self;
            fn name(config: &Config) -> String {
                let name: fn(&Config) -> String = $name;
                name(config)
            }
            fn inline(config: &Config) -> String {
                Self::name(config)
            }
        }
    };
}

written_as!(T::name; <T: TS> TS for read::Object<T>);
written_as!(String::name; TS for read::Text<'_>);
written_as!(u32::name; TS for secs::InputAge);
written_as!(u32::name; TS for secs::IdleAfter);
written_as!(|_| "State".into(); TS for read::Named<State>);
written_as!(|_| "Mode".into(); TS for read::Named<Mode>);
written_as!(|_| "ErrorName".into(); TS for read::Named<ErrorCode>);
