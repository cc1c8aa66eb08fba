//! What the values of a series are in.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The unit of a series' values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Unit {
    /// A duration in seconds.
    #[default]
    Seconds,
    /// A rate per second: more is better.
    PerSecond,
    /// A size in bytes.
    Bytes,
    /// A throughput in bytes per second: more is better.
    BytesPerSecond,
    /// Bare numbers: nobody named their unit, or this version does not know it.
    None,
}

impl Unit {
    /// Its name in a record; empty for bare numbers.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Unit::Seconds => "s",
            Unit::PerSecond => "1/s",
            Unit::Bytes => "B",
            Unit::BytesPerSecond => "B/s",
            Unit::None => "",
        }
    }

    /// The unit of that name; [`Unit::None`] for a name that this version does not know.
    #[must_use]
    pub fn named(name: &str) -> Unit {
        let known = [Unit::Seconds, Unit::PerSecond, Unit::Bytes, Unit::BytesPerSecond];
        known.into_iter().find(|unit| unit.name() == name).unwrap_or(Unit::None)
    }

    /// Whether more is better.
    #[must_use]
    pub const fn more_is_better(self) -> bool {
        matches!(self, Unit::PerSecond | Unit::BytesPerSecond)
    }
}

impl Serialize for Unit {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for Unit {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Unit, D::Error> {
        String::deserialize(from).map(|name| Unit::named(&name))
    }
}
