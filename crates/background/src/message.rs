//! What the process that holds a load is told, and what it tells.

use serde::{Deserialize, Serialize};

/// First of all: what to hold.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Task {
    /// The load at one level, in its canonical form.
    pub(crate) load: String,
    pub(crate) processor: Option<u32>,
    /// A folder for files.
    pub(crate) folder: String,
    /// It ends by itself after this time, whatever became of the other side.
    pub(crate) life_seconds: f64,
}

/// What it is asked while it holds the load.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Request {
    /// A second begins now, the first one that is to be reported; reply when it has.
    Mark,
    /// Report all seconds since then, once the current one is over.
    Report,
}

/// What it replies.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Reply {
    /// It holds the load, or has given up to; with the rate that came nearest.
    Ready {
        is_held: bool,
        reached: f64,
    },
    /// It cannot hold it at all, or no longer.
    Failed {
        reason: String,
    },
    /// The first second has begun.
    Marked,
    Seconds(Seconds),
}

/// The seconds since the last mark.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Seconds {
    pub(crate) rates: Vec<f64>,
    pub(crate) counter: String,
    pub(crate) system_counter: String,
    pub(crate) system_rate: Option<f64>,
    pub(crate) holds: Option<f64>,
}
