//! The definition of a workload, as it stood when it was measured.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::Unit;

/// The definition of one workload: enough for a reader to caption and judge it without this program.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Workload {
    /// Name on the command line.
    pub name: String,
    /// Rises when the meaning of a measurement changes; different versions refuse to compare.
    pub version: u32,
    /// One sentence.
    pub summary: String,
    /// The whole page, Markdown: question, method, expected answer.
    pub page: String,
    /// The objects that n counts, in words: "bound sockets".
    pub grows: String,
    /// The variants that were measured; one with an empty name when there is only one way.
    pub variants: Vec<Variant>,
    /// By variant, how programs keep its costs small, for the end of a sentence: "use epoll(7)".
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub remedies: BTreeMap<String, String>,
    /// The series that every trial of it makes.
    pub series: Vec<SeriesKind>,
    /// The references that its trials measure beside their series: operations that cannot depend on n, timed
    /// among those of the workload. The part that they share with it is noise of the machine.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub references: Vec<SeriesKind>,
    /// How it measures.
    #[serde(default)]
    pub shape: Shape,
    /// Whether it has a server under test, which may run on another machine.
    #[serde(default)]
    pub server: bool,
    /// The variants are rivals: shown on one figure and ranked against each other.
    #[serde(default)]
    pub rivals: bool,
    /// The rivals are also measured at equal offered load, which the first trial of each finds: that trial
    /// has no value of these series.
    #[serde(rename = "offers_alike", default, skip_serializing_if = "std::ops::Not::not")]
    pub equal_offered_load: bool,
}

/// The leading `//!` lines of a source file, taken out while it is compiled: a program carries no source.
#[macro_export]
macro_rules! page {
    ($file:literal) => {
        const {
            const SOURCE: &[u8] = include_bytes!($file);
            const BYTES: usize = {
                let mut end = 0;
                while let [b'/', b'/', b'!', ..] = SOURCE.split_at(end).1 {
                    while SOURCE[end] != b'\n' {
                        end += 1;
                    }
                    end += 1;
                }
                end
            };
            const PAGE: [u8; BYTES] = *SOURCE.first_chunk().unwrap();
            match core::str::from_utf8(&PAGE) {
                Ok(page) => page,
                Err(_) => panic!("the page is not UTF-8"),
            }
        }
    };
}

/// The page of a source file, in Markdown: its leading `//!` lines.
#[must_use]
pub fn page(source: &str) -> String {
    let lines = source.lines().map_while(|line| line.strip_prefix("//!"));
    lines.map(|line| line.strip_prefix(' ').unwrap_or(line)).collect::<Vec<_>>().join("\n")
}

/// The first paragraph of that page, as one line without a full stop.
#[must_use]
pub fn summary(source: &str) -> String {
    let page = page(source);
    let first = page.split("\n\n").next().unwrap_or_default().replace('\n', " ");
    first.trim_end_matches('.').to_owned()
}

/// One way to run a workload.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Variant {
    /// Name behind the slash in `socket/v6`; may be empty.
    pub name: String,
    /// One sentence.
    pub summary: String,
}

/// One kind of measurement that a workload makes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SeriesKind {
    /// Name of the operation: `bind`, `close`.
    pub name: String,
    /// Whether n rises or falls while it is measured.
    pub direction: Direction,
    /// The side that counts its values.
    #[serde(default)]
    pub side: Side,
    /// The growth that the page predicts, unless `expect_by_variant` has the variant.
    pub expect: Expect,
    /// The growth that the page predicts for other variants.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub expect_by_variant: BTreeMap<String, Expect>,
    /// The variants that measure it; empty for all of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub variants: Vec<String>,
    /// One sentence: the exact work between the two clock readings.
    pub summary: String,
    /// Whether it was measured only because another operation was: it is judged, and shown on request.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub detail: bool,
    /// Whether the run waits for no verdict of it: it has as many trials as the other series need.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub companion: bool,
    /// Names of the series of the same trial whose sum this one is, value by value; empty for a series that
    /// was measured itself. Readers make the first [`SUMS_MAX`](crate::SUMS_MAX) of a workload.
    #[serde(default)]
    pub sum_of: Vec<String>,
    /// Its part in the time of the whole job; `None` where it is no phase of it, or is within another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<JobPart>,
    /// Unit of the values.
    #[serde(default)]
    pub unit: Unit,
    /// No longer used: `false`, and ignored by readers. The two directions of a name are two series.
    #[serde(default)]
    pub both_ways: bool,
}

impl SeriesKind {
    /// Whether trials of this variant measure it.
    #[must_use]
    pub fn is_of(&self, variant: &str) -> bool {
        self.variants.is_empty() || self.variants.iter().any(|name| name == variant)
    }

    /// The growth that the page predicts for this variant.
    #[must_use]
    pub fn expect_of(&self, variant: &str) -> Expect {
        self.expect_by_variant.get(variant).copied().unwrap_or(self.expect)
    }
}

/// The part of a phase in the time of a job. Phases follow each other in the order of their series, and are
/// all of that time together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum JobPart {
    /// Its share of the time for each unit of the work.
    OfUnit,
    /// A time that all n units share: each has the n-th part.
    OfAll,
}

/// How a workload measures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Shape {
    /// The cost of the next operation while n objects live.
    #[default]
    Curve,
    /// A server under rising connections or rising rate, level by level.
    Load,
    /// A whole piece of work, timed with its phases.
    Job,
    /// One operation by n workers at once.
    Scaling,
}

/// The side that counts the values of a series.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Side {
    /// From the process that issues the operations: its values depend on its own speed.
    #[default]
    Client,
    /// From the server or its kernel: processor time of a response, memory of a connection. It does not
    /// depend on how fast requests are sent.
    Server,
}

/// The direction of n.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// Objects pile up.
    #[default]
    Up,
    /// Objects are taken away again.
    Down,
}

impl fmt::Display for Direction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Direction::Up => "up",
            Direction::Down => "down",
        })
    }
}

/// The growth that a workload's page predicts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Expect {
    /// O(1).
    Constant,
    /// O(log n).
    Logarithmic,
    /// O(n).
    Linear,
    /// No prediction: the numbers were measured elsewhere.
    #[default]
    Any,
}
