//! Times that a frame holds in whole seconds. JSON has milliseconds for them, as for all times.

use serde::de::{Deserialize, Deserializer, Error, Unexpected};
use serde::{Serialize, Serializer};

use crate::limits::INPUT_AGE_SECS;

/// Age of the last input. Rounded down: to the second within which it fell.
#[derive(Clone, Copy)]
pub(crate) struct InputAge(pub(super) u32);

/// A device's own idle time. Rounded up: less than a second is not "never".
#[derive(Clone, Copy)]
pub(crate) struct IdleAfter(pub(super) u32);

impl Serialize for InputAge {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_u64(u64::from(self.0.min(INPUT_AGE_SECS)) * 1000)
    }
}

impl<'de> Deserialize<'de> for InputAge {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let secs = u64::deserialize(from)? / 1000;
        Ok(Self(secs.min(u64::from(INPUT_AGE_SECS)) as u32))
    }
}

impl Serialize for IdleAfter {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_u64(u64::from(self.0) * 1000)
    }
}

impl<'de> Deserialize<'de> for IdleAfter {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let millis = u64::deserialize(from)?;
        u32::try_from(millis.div_ceil(1000)).map(Self).map_err(|_| {
            D::Error::invalid_value(Unexpected::Unsigned(millis), &"at most 4294967295 seconds")
        })
    }
}
