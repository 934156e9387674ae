//! Faults made on purpose, to show that they would be found.
//!
//! No shipped build has them: without the feature `sabotage`, [`on`] is `false` for the compiler already, and nothing is left
//! of the places that ask. With it, one fault at a time may be switched on.

macro_rules! faults {
    ($($fault:ident $name:literal: $what:literal,)*) => {
        /// What can be broken.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Fault {
            $(#[doc = $what] $fault,)*
        }

        impl Fault {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$fault,)*];

            /// Its name, for commands.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$fault => $name,)*
                }
            }
        }
    };
}

faults! {
    GenerationUnchecked "generation-unchecked": "What an earlier connect says counts.",
    LingerIgnored "linger-ignored": "A session ends with its connection.",
    NobodySpared "nobody-spared": "After an outage nobody gets a fresh ttl.",
    SweepBeforeRead "sweep-before-read": "A lease that has run out ends unread.",
    ByeLingers "bye-lingers": "A goodbye is taken for a drop.",
    VersionStays "version-stays": "A change has the number of the one before.",
    HiddenShown "hidden-shown": "Who is invisible is shown.",
    IdleIgnored "idle-ignored": "Idle sessions count as active.",
    WarmupLeftOut "warmup-left-out": "A node that knows nothing says offline.",
    SeenWhenSwept "seen-when-swept": "Last seen is the time of the sweep.",
    EarlierClaimWins "earlier-claim-wins": "In the store an earlier connect unseats a later one.",
    LateWordWins "late-word-wins": "In the store a word told late beats a newer one.",
    LateIsNew "late-is-new": "The store takes for new what has waited there while it stood still.",
    ReplacedUntold "replaced-untold": "The store tells nobody of a take-over.",
    GapLeftOpen "gap-left-open": "A node that stood still leaves it at one beat, which renews nothing.",
    SilenceUntold "silence-untold": "A node that stood still covers whom it has not heard meanwhile.",
    GoodbyeAtOnce "goodbye-at-once": "What was said in an outage is told before the other nodes have registered what they hold.",
    CoveredForever "covered-forever": "The store ends no session of a node that has died.",
    VersionUnchecked "version-unchecked": "A client takes an older version.",
    EpochUnchecked "epoch-unchecked": "A client takes words of an epoch that it has left.",
    ViewKept "view-kept": "A client never lets its view go.",
    NeverStale "never-stale": "A client never says that its view may be old.",
    SilenceBorne "silence-borne": "A client never gives a silent link up.",
    BlockUnheard "block-unheard": "A viewer that watches is not told that it is shut out.",
    OpenedAtOnce "opened-at-once": "Who is to be seen again is shown as the node last knew it.",
    BlockLeavesGap "block-leaves-gap": "Changes that were hidden show in the versions.",
    BlockIgnoredInRooms "block-ignored-in-rooms": "A room shows those who hide from the viewer.",
    BlockIgnoredInReads "block-ignored-in-reads": "Asks and lists show those who hide from the viewer.",
    PollSaysNothing "poll-says-nothing": "A poll with a mark tells of no change.",
    RoomKept "room-kept": "A session that has ended is still in its rooms.",
    RoomForgotten "room-forgotten": "A store that has lost its data is not told who is in which room.",
    RoomNeverCrowded "room-never-crowded": "A room names its members, however many.",
    CrowdAtOnce "crowd-at-once": "A large room tells each coming and going.",
    WatchersAtOnce "watchers-at-once": "A crowd is told each change of the one it watches.",
    TokenKept "token-kept": "A connection outlives its token.",
    TokenEndsUnread "token-ends-unread": "A token that has run out ends its connection before what waits there is read.",
    ChoiceForgotten "choice-forgotten": "A client says what its user chose once, whether it was heard or not.",
    ReplacedComesBack "replaced-comes-back": "A client that was replaced comes back.",
}

/// Whether the fault is made.
#[cfg(not(feature = "sabotage"))]
#[inline(always)]
pub const fn on(_: Fault) -> bool {
    false
}

#[cfg(feature = "sabotage")]
pub use self::switch::{on, switch};

#[cfg(feature = "sabotage")]
mod switch {
    use core::sync::atomic::{AtomicUsize, Ordering};

    use super::Fault;

    /// The fault that is made, counted from 1; 0: none.
    static MADE: AtomicUsize = AtomicUsize::new(0);

    /// Whether the fault is made.
    pub fn on(fault: Fault) -> bool {
        MADE.load(Ordering::Relaxed) == fault as usize + 1
    }

    /// Makes this fault from now on, or none.
    pub fn switch(fault: Option<Fault>) {
        MADE.store(fault.map_or(0, |it| it as usize + 1), Ordering::Relaxed);
    }
}
