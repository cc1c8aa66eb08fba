//! A race of contenders in few trials: how much the series of one run have in common, and how their noises
//! differ.

use fastrand::Rng;
use stats::{Answer, Contrast, Design, JudgeSettings, Sweep, answers, moderate};

use crate::chance::normal;

/// Series of a race, and its contenders.
pub(crate) const SERIES: usize = 4;
pub(crate) const CONTENDERS: usize = 3;

/// How far the trials of a contender move (SD of the logarithm).
const SPREAD: f64 = 0.10;
/// The share of that variance by which a trial moves all of its series.
const SHARED: f64 = 0.5;
/// The larger variance over the smaller.
const TIMES: f64 = 10.0;

/// Which variances are larger than the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unequal {
    /// None.
    Nowhere,
    /// That of one series.
    InOneSeries,
    /// Those of every second series.
    InHalf,
    /// Those of one contender.
    InOneContender,
}

impl Unequal {
    pub(crate) const ALL: [Unequal; 4] =
        [Unequal::Nowhere, Unequal::InOneSeries, Unequal::InHalf, Unequal::InOneContender];

    /// Names a cell together with ratio, noise, design and trials.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Unequal::Nowhere => "equal",
            Unequal::InOneSeries => "one-series",
            Unequal::InHalf => "half",
            Unequal::InOneContender => "one-contender",
        }
    }

    fn is_noisy(self, series: usize, contender: usize) -> bool {
        match self {
            Unequal::Nowhere => false,
            Unequal::InOneSeries => series == 0,
            Unequal::InHalf => series.is_multiple_of(2),
            Unequal::InOneContender => contender == 0,
        }
    }

    /// The logarithms of the levels of one trial of a contender, series by series.
    pub(crate) fn levels(self, rng: &mut Rng, contender: usize) -> [f64; SERIES] {
        let shared = SHARED.sqrt() * normal(rng);
        std::array::from_fn(|series| {
            let spread = if self.is_noisy(series, contender) { SPREAD * TIMES.sqrt() } else { SPREAD };
            spread * (shared + (1.0 - SHARED).sqrt() * normal(rng))
        })
    }
}

/// Whether any two equal contenders are called different; or, where the last costs more, whether it is called
/// slower than all others in all series. The trials are those of one contender after the other, series by
/// series.
pub(crate) fn is_found(sweeps: &[Vec<Sweep<'_>>], ratio: f64, settings: &JudgeSettings) -> bool {
    let places = (0..CONTENDERS).flat_map(|first| (first + 1..CONTENDERS).map(move |second| (first, second)));
    let pairs: Vec<(usize, usize)> = places.collect();
    let mut contrasts: Vec<Contrast> = Vec::new();
    for series in sweeps.chunks_exact(CONTENDERS) {
        let contrast = |(first, second): &(usize, usize)| {
            Contrast::new(&series[*first], &series[*second], Design::Paired, 0.0, settings)
        };
        contrasts.extend(pairs.iter().filter_map(contrast));
    }
    let trials = sweeps.first().map_or(0, Vec::len);
    moderate(contrasts.iter_mut(), ((CONTENDERS - 1) * trials.saturating_sub(1)) as f64);
    let suite: Vec<Vec<&Contrast>> =
        contrasts.chunks(pairs.len()).map(|series| series.iter().collect()).collect();
    let answers = answers(&suite, settings.alpha);
    let mut answered = answers.iter().flat_map(|series| series.iter().zip(&pairs));
    match ratio > 1.0 {
        true => answered
            .filter(|(_, (_, second))| second + 1 == CONTENDERS)
            .all(|(comparison, _)| comparison.answer == Answer::Slower),
        false => answered
            .any(|(comparison, _)| !matches!(comparison.answer, Answer::Equivalent | Answer::Unresolved)),
    }
}
