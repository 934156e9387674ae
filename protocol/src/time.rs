//! Points in time and spans, in whole milliseconds.
//!
//! `std::time::Instant` panics on `wasm32-unknown-unknown` and cannot be made up by a test, so the
//! cores count integer milliseconds from an origin that their driver chooses.

use core::ops::{Add, Sub};

/// A point on a steady clock: milliseconds since an origin known to the driver alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(u64);

/// A length of time in milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span(u64);

impl Time {
    /// The clock's origin.
    pub const ZERO: Self = Self(0);
    /// Later than any deadline that can come up.
    pub const MAX: Self = Self(u64::MAX);

    /// A point `millis` after the origin.
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis)
    }

    /// Milliseconds since the origin.
    pub const fn as_millis(self) -> u64 {
        self.0
    }

    /// The first point after this one that is a whole number of `every` from the origin: turns that go by the clock, and not from
    /// what happened last. This point itself if `every` is zero.
    pub const fn next_turn(self, every: Span) -> Self {
        match self.0.checked_div(every.0) {
            Some(turns) => Self((turns + 1).saturating_mul(every.0)),
            None => self,
        }
    }

    /// How long after `earlier` this is; zero if it is not after it.
    pub const fn since(self, earlier: Self) -> Span {
        Span(self.0.saturating_sub(earlier.0))
    }
}

impl Span {
    /// No time at all.
    pub const ZERO: Self = Self(0);

    /// A span of `millis` milliseconds.
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis)
    }

    /// A span of `secs` seconds.
    pub const fn from_secs(secs: u64) -> Self {
        Self(secs.saturating_mul(1000))
    }

    /// The span in milliseconds.
    pub const fn as_millis(self) -> u64 {
        self.0
    }

    /// The span in whole seconds, rounded down.
    pub const fn as_secs(self) -> u64 {
        self.0 / 1000
    }

    /// `numerator / denominator` of this span, rounded down.
    ///
    /// # Panics
    ///
    /// If `denominator` is zero.
    pub const fn fraction(self, numerator: u64, denominator: u64) -> Self {
        Self(self.0.saturating_mul(numerator) / denominator)
    }
}

impl Add<Span> for Time {
    type Output = Self;
    fn add(self, span: Span) -> Self {
        Self(self.0.saturating_add(span.0))
    }
}

impl Sub<Span> for Time {
    type Output = Self;
    /// Stops at the origin.
    fn sub(self, span: Span) -> Self {
        Self(self.0.saturating_sub(span.0))
    }
}

impl Add for Span {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl Sub for Span {
    type Output = Self;
    /// Stops at zero.
    fn sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}
