//! How the pieces of a frame are read: stricter than serde by itself, and without copies.

use alloc::borrow::{Cow, ToOwned};
use alloc::string::String;
use core::fmt;
use core::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, Error, MapAccess, Unexpected, Visitor};
use serde::{Deserialize as DeriveDeserialize, Serialize, Serializer};

use super::DecodeError;
use crate::{CloseCode, ErrorCode, Mode, State};

/// Reads the frame's `type`, wherever in the object it stands.
pub(super) fn kind(bytes: &[u8]) -> Result<Cow<'_, str>, DecodeError> {
    #[derive(DeriveDeserialize)]
    struct Head<'a> {
        #[serde(borrow, rename = "type")]
        kind: Text<'a>,
    }
    object::<Head<'_>>(bytes).map(|head| head.kind.0)
}

/// Reads a whole message as one object.
pub(super) fn object<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Result<T, DecodeError> {
    serde_json::from_slice::<Object<T>>(bytes).map(|it| it.0).map_err(DecodeError)
}

/// A struct that is written as an object and in no other way; serde's own would also take its
/// fields in an array.
#[derive(Serialize)]
#[serde(transparent)]
pub(crate) struct Object<T>(pub(super) T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Only<T>(PhantomData<T>);

        impl<'de, T: Deserialize<'de>> Visitor<'de> for Only<T> {
            type Value = Object<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
                T::deserialize(MapAccessDeserializer::new(map)).map(Object)
            }
        }

        from.deserialize_map(Only(PhantomData))
    }
}

/// A text, borrowed from the message unless it holds escapes.
#[derive(Default, Serialize)]
#[serde(transparent)]
pub(crate) struct Text<'a>(pub(super) Cow<'a, str>);

impl Text<'_> {
    pub(super) fn as_str(&self) -> &str {
        &self.0
    }
}

impl<'a> From<&'a str> for Text<'a> {
    fn from(text: &'a str) -> Self {
        Self(Cow::Borrowed(text))
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Borrow;

        impl<'de> Visitor<'de> for Borrow {
            type Value = Cow<'de, str>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }

            fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(Cow::Borrowed(text))
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
                Ok(Cow::Owned(text.to_owned()))
            }

            fn visit_string<E: Error>(self, text: String) -> Result<Self::Value, E> {
                Ok(Cow::Owned(text))
            }
        }

        from.deserialize_str(Borrow).map(Self)
    }
}

/// What goes by name.
pub(crate) trait Word: Copy + 'static {
    /// What an error calls it.
    const WHAT: &'static str;
    /// Every one of them.
    const ALL: &'static [Self];
    /// What a name of a later version stands for here; without it such a name is refused.
    const OTHER: Option<Self>;
    fn name(self) -> &'static str;
}

macro_rules! words {
    ($( $word:ident, $what:literal, $other:expr; )*) => { $(
        impl Word for $word {
            const WHAT: &'static str = $what;
            const ALL: &'static [Self] = &$word::ALL;
            const OTHER: Option<Self> = $other;
            fn name(self) -> &'static str {
                self.name()
            }
        }
    )* };
}

words! {
    State, "the name of a state", Some(Self::Unknown);
    Mode, "the name of a mode", None;
    ErrorCode, "the name of an error", Some(Self::Other);
}

/// A word, written by its name.
#[derive(Clone, Copy)]
pub(crate) struct Named<T>(pub(super) T);

impl<T: Word> Serialize for Named<T> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(self.0.name())
    }
}

impl<'de, T: Word> Deserialize<'de> for Named<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let name = Text::deserialize(from)?;
        let known = T::ALL.iter().copied().find(|it| it.name() == name.as_str());
        known
            .or(T::OTHER)
            .map(Self)
            .ok_or_else(|| D::Error::invalid_value(Unexpected::Str(name.as_str()), &T::WHAT))
    }
}

/// The close code with this name, if it is one known here.
pub(super) fn close_code(name: &str) -> Option<CloseCode> {
    CloseCode::ALL.iter().copied().find(|it| it.name() == name)
}
