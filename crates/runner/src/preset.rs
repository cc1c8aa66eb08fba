//! Presets: range of n, number of trials, and time.

use std::time::Duration;

use crate::Error;

/// How far, how often, and for how long.
#[derive(Clone, Debug)]
pub struct Preset {
    /// Name on the command line.
    pub name: &'static str,
    /// One sentence.
    pub summary: &'static str,
    /// How far n goes.
    pub reach: Reach,
    /// How many trials each workload gets.
    pub trials: Trials,
    /// Time that all trials of one system may take together: the trials of several share that of all.
    pub budget: Option<Duration>,
    /// Time that the way up of one trial may take; the first trial of a workload finds the n that fits,
    /// and all others go as far.
    pub allowance: Option<Duration>,
}

/// How far n goes.
#[derive(Clone, Copy, Debug)]
pub enum Reach {
    /// To this n, or to the machine's limit where that is nearer.
    To(u64),
    /// To the machine's limit.
    Limit,
    /// To the n of the experiments of 2003.
    Classic,
}

/// How many trials each workload gets.
#[derive(Clone, Copy, Debug)]
pub enum Trials {
    /// As many as it takes; whether to go on is decided only at these counts, because each look costs
    /// confidence.
    Looks(&'static [u32]),
    /// This many.
    Fixed(u32),
}

/// The numbers of trials after which the verdicts are judged. The first look is cheap: it ends only series
/// that are flat, which most are on most kernels.
const LOOKS: &[u32] = &[5, 10, 20, 40, 80, 160];

/// All presets, shortest first.
const PRESETS: &[Preset] = &[
    Preset {
        name: "quick",
        summary: "n to 5 000, within 60 s for each system: a first look",
        reach: Reach::To(5000),
        trials: Trials::Looks(LOOKS),
        budget: Some(Duration::from_secs(48)),
        allowance: Some(Duration::from_millis(250)),
    },
    Preset {
        name: "standard",
        summary: "n to 20 000 or the machine's limit, within 4 min for each system",
        reach: Reach::To(20_000),
        trials: Trials::Looks(LOOKS),
        budget: Some(Duration::from_secs(228)),
        allowance: Some(Duration::from_millis(500)),
    },
    Preset {
        name: "full",
        summary: "n to the machine's limits, which are found and reported, within 30 min for each system",
        reach: Reach::Limit,
        trials: Trials::Looks(LOOKS),
        budget: Some(Duration::from_secs(28 * 60)),
        allowance: Some(Duration::from_secs(15)),
    },
    Preset {
        name: "classic",
        summary: "the parameters of 2003: n to 10 000, 3 000 processes, five passes",
        reach: Reach::Classic,
        trials: Trials::Fixed(5),
        budget: None,
        allowance: None,
    },
];

impl Preset {
    /// The default preset.
    pub const DEFAULT: &'static str = "standard";

    /// The preset of that name.
    ///
    /// # Errors
    /// [`Error::UnknownPreset`].
    pub fn named(name: &str) -> Result<Preset, Error> {
        let found = PRESETS.iter().find(|preset| preset.name == name);
        found.cloned().ok_or_else(|| Error::UnknownPreset {
            name: name.to_owned(),
            known: PRESETS.iter().map(|preset| preset.name).collect::<Vec<_>>().join(", "),
        })
    }
}
