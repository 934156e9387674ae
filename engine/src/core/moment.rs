//! A point in time in six bytes.

use greendot_protocol::Time;

/// Milliseconds from the clock's origin, in 48 bits: some 8,900 years. Rows that exist a million times keep their times so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Moment([u16; 3]);

impl Moment {
    /// A time that does not come.
    pub(crate) const NEVER: Self = Self([u16::MAX; 3]);

    /// The last one before [`Self::NEVER`]; later times are taken for it.
    pub(crate) const LAST: u64 = (1 << 48) - 2;

    pub(crate) const fn at(time: Time) -> Self {
        let millis = time.as_millis();
        let millis = if millis > Self::LAST { Self::LAST } else { millis };
        Self([millis as u16, (millis >> 16) as u16, (millis >> 32) as u16])
    }

    /// The time; [`Time::MAX`] for never.
    pub(crate) const fn time(self) -> Time {
        let Self([low, middle, high]) = self;
        let millis = low as u64 | (middle as u64) << 16 | (high as u64) << 32;
        if millis > Self::LAST { Time::MAX } else { Time::from_millis(millis) }
    }

    /// Some of it, for those who only want it to be read.
    pub(crate) const fn low(self) -> u16 {
        self.0[0]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_comes_back_as_it_went_in() {
        for millis in [0, 1, 0xFFFF, 0x1_0000, 1_700_000_000_000, Moment::LAST] {
            let time = Time::from_millis(millis);
            assert_eq!(Moment::at(time).time(), time);
        }
    }

    #[test]
    fn never_is_later_than_any_time() {
        assert_eq!(Moment::NEVER.time(), Time::MAX);
        assert_eq!(Moment::at(Time::MAX).time(), Time::from_millis(Moment::LAST));
    }
}
