//! Questions about several series at once: a mean over a suite, a race of contenders in few trials, and
//! builds whose cost is gated, on a machine that moves all series together.
//!
//! A mean over series averages their separate noise, but not the shared noise of the machine.

use fastrand::Rng;
use stats::{
    Answer, Contrast, Decision, Design, Interval, JudgeSettings, RatioClaim, Sweep, answers, gate,
    geometric_mean, moderate,
};

use crate::counts::{Answered, JudgedFigure, ReplicateOutcome, only};
use crate::noises::{autoregress, normal};
use crate::replicate::holds;
use crate::rivals;

/// Noise that all series share at a time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SharedNoise {
    /// Names a cell together with noise, design and trials.
    pub name: &'static str,
    /// How far the machine moves (SD of the logarithm): an autoregression in time.
    pub spread: f64,
    /// After so many trials its correlation with itself has fallen to 1/e.
    pub lasting: f64,
    /// How far whole runs differ (SD of the logarithm).
    pub run: f64,
}

/// Series of a suite.
pub(crate) const SUITE_SERIES: usize = 10;

const fn drift(name: &'static str, lasting: f64) -> SharedNoise {
    SharedNoise { name, spread: 0.10, lasting, run: 0.0 }
}

/// Drift that averages out inside a run, drift that hardly does, and runs that differ as a whole.
pub(crate) const ALL: [SharedNoise; 5] = [
    drift("drift3", 3.0),
    drift("drift40", 40.0),
    drift("drift200", 200.0),
    SharedNoise { name: "runs2", spread: 0.0, lasting: 1.0, run: 0.02 },
    SharedNoise { name: "runs10", spread: 0.0, lasting: 1.0, run: 0.10 },
];

impl SharedNoise {
    /// The logarithm of the machine's state for each trial of two sides. In pairs, trials of one number
    /// follow each other, in an order that is random in every second round and turned round in the next; else
    /// the run of one side follows that of the other.
    pub(crate) fn levels(&self, rng: &mut Rng, trials: usize, in_pairs: bool) -> [Vec<f64>; 2] {
        let keep = (-1.0 / self.lasting).exp();
        let mut state = normal(rng);
        let mut next = |rng: &mut Rng| {
            state = autoregress(rng, keep, state);
            self.spread * state
        };
        if !in_pairs {
            return [(); 2].map(|()| {
                let run = self.run * normal(rng);
                (0..trials).map(|_| run + next(rng)).collect()
            });
        }
        let run = self.run * normal(rng);
        let mut sides = [Vec::with_capacity(trials), Vec::with_capacity(trials)];
        let mut first = 0;
        for round in 0..trials {
            first = if round % 2 == 0 { usize::from(rng.bool()) } else { 1 - first };
            for side in [first, 1 - first] {
                let level = run + next(rng);
                sides[side].push(level);
            }
        }
        sides
    }
}

/// The mean of the ratios of a suite, whose true ratios are 1.
pub(crate) fn mean_outcome(
    sweeps: &[Vec<Sweep<'_>>],
    in_pairs: bool,
    settings: &JudgeSettings,
) -> ReplicateOutcome {
    let contrasts = contrasts(sweeps, in_pairs, settings);
    let contrasts: Vec<&Contrast> = contrasts.iter().collect();
    let Some(ratio) = geometric_mean(&contrasts, settings.alpha, settings.seed) else {
        return ReplicateOutcome::new(None);
    };
    let answer = match ratio {
        Interval { low, .. } if low > 1.0 => Answer::Slower,
        Interval { high, .. } if high < 1.0 => Answer::Faster,
        _ => Answer::Unresolved,
    };
    let covered = ratio.high.is_finite().then(|| holds(ratio, 1.0));
    ReplicateOutcome {
        covered: only(JudgedFigure::Ratio, covered),
        ..ReplicateOutcome::answered(Answered::Answer(answer))
    }
}

/// The contrast of each series: `sweeps` are those of both sides of one series after the other.
fn contrasts(sweeps: &[Vec<Sweep<'_>>], in_pairs: bool, settings: &JudgeSettings) -> Vec<Contrast> {
    let design = if in_pairs { Design::Paired } else { Design::Independent };
    let contrast = |sides: &[Vec<Sweep<'_>>]| Contrast::new(&sides[0], &sides[1], design, 0.0, settings);
    sweeps.chunks_exact(2).filter_map(contrast).collect()
}

/// Series of a race, and its contenders.
pub(crate) const RACE_SERIES: usize = 4;
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
    pub(crate) fn levels(self, rng: &mut Rng, contender: usize) -> [f64; RACE_SERIES] {
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
pub(crate) fn is_race_decided(sweeps: &[Vec<Sweep<'_>>], ratio: f64, settings: &JudgeSettings) -> bool {
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

/// Series of a build: those of `osdyno run` on Linux.
const BUILD_SERIES: usize = 28;
/// The series that costs more, where one does.
pub(crate) const CHANGED: usize = 13;
/// The margin of `slower`, where the gate has no other.
const BUILD_MARGIN: f64 = 0.03;

/// The decisions of a gate and of other rules on one build.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BuildOutcome {
    /// Whether the gate is certain of the changed series.
    pub is_found: bool,
    /// Whether the gate is certain of a series that did not change.
    pub is_false: bool,
    /// Whether it excludes a change of every series.
    pub is_passed: bool,
    /// Whether a rule of others fails the build: Welch's t-test at 5 %, a threshold of 10 %, and
    /// benchstat's, Mann and Whitney's U at 5 %.
    pub others: [bool; 3],
}

/// The logarithms of the machine for each series, side and trial. Every round has each series once, in an
/// order of its own; the machine moves from one trial to the next. In pairs, a series is measured on both
/// sides back to back, in random order and the next time in the other one; else the run of one side follows
/// the other.
pub(crate) fn build_levels(
    machine: &SharedNoise,
    rng: &mut Rng,
    trials: usize,
    in_pairs: bool,
) -> Vec<[Vec<f64>; 2]> {
    let keep = (-1.0 / machine.lasting).exp();
    let responses: Vec<f64> = (0..BUILD_SERIES).map(|_| response(rng)).collect();
    let mut state = normal(rng);
    let mut levels = vec![[Vec::new(), Vec::new()]; BUILD_SERIES];
    let mut firsts = [0; BUILD_SERIES];
    let runs: &[&[usize]] = if in_pairs { &[&[0, 1]] } else { &[&[0], &[1]] };
    for sides in runs {
        let run = machine.run * normal(rng);
        for round in 0..trials {
            let mut order: Vec<usize> = (0..BUILD_SERIES).collect();
            rng.shuffle(&mut order);
            for series in order {
                firsts[series] = if round % 2 == 0 { usize::from(rng.bool()) } else { 1 - firsts[series] };
                for place in 0..sides.len() {
                    state = autoregress(rng, keep, state);
                    let side = sides[(place + firsts[series]) % sides.len()];
                    levels[series][side].push(responses[series] * (run + machine.spread * state));
                }
            }
        }
    }
    levels
}

/// A series responds to the machine by between half and one and a half times as much as the machine moves.
pub(crate) fn response(rng: &mut Rng) -> f64 {
    0.5 + rng.f64()
}

/// Gates the series, each as the sweeps of both sides, and applies the rules of other programs.
pub(crate) fn build_outcome(
    sides: &[Vec<Sweep<'_>>],
    ratio: f64,
    in_pairs: bool,
    settings: &JudgeSettings,
) -> BuildOutcome {
    let mut contrasts = contrasts(sides, in_pairs, settings);
    let trials = sides.first().map_or(0, Vec::len);
    moderate(contrasts.iter_mut(), (BUILD_SERIES * trials.saturating_sub(1)) as f64);
    let evidence: Vec<_> = contrasts.iter().map(Contrast::evidence).collect();
    let decided = gate(&evidence, RatioClaim { margin: BUILD_MARGIN, is_either_way: false }, 1);
    let is_certain = |place: usize| decided.get(place).is_some_and(|one| one.decision == Decision::Certain);
    let has_change = ratio != 1.0;
    // The mean of each trial, as a benchmark prints it.
    let costs = |trials: &[Sweep<'_>]| trials.iter().map(|trial| rivals::mean(trial.values)).collect();
    let costs: Vec<[Vec<f64>; 2]> =
        sides.chunks_exact(2).map(|sides| [costs(&sides[0]), costs(&sides[1])]).collect();
    BuildOutcome {
        is_found: has_change && is_certain(CHANGED),
        is_false: (0..BUILD_SERIES).any(|place| !(has_change && place == CHANGED) && is_certain(place)),
        is_passed: decided.iter().all(|one| one.decision == Decision::Excluded),
        others: rivals::of_build(&costs),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rivals::mean;

    /// Neighbours in time resemble each other: in pairs the machine cancels, between two runs it does not.
    #[test]
    fn the_machine_cancels_in_pairs_only() {
        let machine = SharedNoise { name: "", spread: 0.10, lasting: 200.0, run: 0.10 };
        let mut rng = Rng::with_seed(1);
        let mut apart = |in_pairs: bool| {
            let differences = |[first, second]: &[Vec<f64>; 2]| (mean(second) - mean(first)).powi(2);
            let builds = (0..20).flat_map(|_| build_levels(&machine, &mut rng, 10, in_pairs));
            let squares: Vec<f64> = builds.map(|sides| differences(&sides)).collect();
            mean(&squares).sqrt()
        };
        let (in_pairs, in_runs) = (apart(true), apart(false));
        assert!(in_pairs < 0.01 && in_runs > 0.05, "{in_pairs} {in_runs}");
    }
}
