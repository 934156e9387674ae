//! Output for people: who reads it may stop, as `head` does.

use std::fmt::Arguments;
use std::io::Write;

/// Prints a line. If nobody reads it any more, what is left to say is said to nobody: the process ends.
pub fn line(words: Arguments<'_>) {
    if writeln!(std::io::stdout(), "{words}").is_err() {
        std::process::exit(1);
    }
}

/// As `println!`, but it does not panic when nobody reads it any more.
#[macro_export]
macro_rules! say {
    ($($words:tt)*) => {
        $crate::say::line(format_args!($($words)*))
    };
}
