//! What the values of a series are in.

use crate::SeriesKind;

/// The unit of a series' values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unit {
    /// Seconds.
    #[default]
    Seconds,
    /// A rate per second: the only unit of which more is better.
    PerSecond,
    /// Bytes.
    Bytes,
    /// Numbers whose unit nobody named.
    None,
}

impl Unit {
    /// The unit of a kind of series.
    #[must_use]
    pub fn of(kind: &SeriesKind) -> Unit {
        let known = [Unit::Seconds, Unit::PerSecond, Unit::Bytes];
        known.into_iter().find(|unit| unit.name() == kind.unit).unwrap_or(Unit::None)
    }

    /// Its name in a record; empty for bare numbers.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Unit::Seconds => "s",
            Unit::PerSecond => "1/s",
            Unit::Bytes => "B",
            Unit::None => "",
        }
    }

    /// Whether more is better.
    #[must_use]
    pub fn more_is_better(self) -> bool {
        self == Unit::PerSecond
    }
}
