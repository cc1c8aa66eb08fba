//! What may be said of the same series on two systems.

use crate::block::{Grid, column, measure, present_mean};
use crate::centre::{Centre, Student, exp, pulls};
use crate::drift::{inflation, wander};
use crate::family::level_of_each;
use crate::flat::{FEWEST, MOST, first_that};
use crate::range::{Common, common_sizes};
use crate::{Interval, Settings, Sweep};

/// The five answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The second takes less time, by more than the margin.
    Faster,
    /// The second takes more time, by more than the margin.
    Slower,
    /// Any difference is smaller than the margin.
    Equivalent,
    /// There is a difference, and it is smaller than the margin.
    DifferentButSmall,
    /// The data carry none of the above.
    Unresolved,
}

/// The second system against the first, over the n that both reached.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// The answer.
    pub answer: Answer,
    /// Cost of the second over cost of the first.
    pub ratio: Interval,
    /// Smallest n compared.
    pub n_low: u64,
    /// Largest n compared.
    pub n_high: u64,
    /// Trials of the first and of the second.
    pub trials: (usize, usize),
    /// Trials of each after which the answer may be definite, when more would help.
    pub trials_needed: Option<u32>,
    /// Ratio by range of n: (n_low, n_high, ratio).
    pub blocks: Vec<(u64, u64, Interval)>,
}

/// Compares `second` with `first`, unpaired; `judged` is how many series the reader is shown, which
/// the error rate is divided by. `None` when no n is common.
///
/// Trials are given in the order of time. The level of a trial is the mean of its log block medians;
/// levels are compared by Yuen's form of Welch's test (Biometrika 61, 1974), whose error is widened for
/// drift. `ratio` holds at α/`judged`, like the answer, so that the two cannot contradict each other;
/// the ratios of `blocks` hold together at that rate. Fewer than four trials a side leave every answer
/// open: three against three cannot pass 5 % in any exact test.
///
/// What differs between two runs and never within one (a boot, a placement in memory) cannot be told
/// from a difference of the systems; nor, wholly, drift that lasts longer than a run. Simulated pairs of
/// runs of one system, 40 trials each (`tests/comparison.rs`): without drift at most 6 % of 300 single
/// comparisons differ; with drift of 5–10 % over 3…200 trials 0–3 % of 150 single ones, and 0–1.3 % of
/// those that are one of thirty.
pub fn compare(
    first: &[Sweep<'_>],
    second: &[Sweep<'_>],
    judged: usize,
    settings: &Settings,
) -> Option<Comparison> {
    let alpha = settings.error_rate() / judged.max(1) as f64;
    let (first, second) = (Common::of(first)?, Common::of(second)?);
    let sizes = common_sizes(&first.sizes, &second.sizes);
    let (Grid { ranges, .. }, rows) = measure(&sizes, [&first.trials, &second.trials])?;
    let trials = (rows[0].len(), rows[1].len());

    let levels = rows.each_ref().map(|rows| rows.iter().map(|row| present_mean(row)).collect::<Vec<f64>>());
    let drift =
        Drift { inflation: levels.each_ref().map(|levels| inflation(levels)), wander: wander(&levels) };
    let student = Student::of(alpha);
    let ratio = difference(&levels, drift)?;
    // Medians sit on ticks of the clock: no ratio is finer than one.
    let cheapest = levels.iter().flatten().copied().fold(f64::INFINITY, f64::min).exp();
    let tick = (settings.tick_seconds / cheapest).ln_1p().max(0.0);
    let within = |ratio: Centre, student: &Student| {
        let reach = ratio.reach(student).max(tick);
        Interval { value: ratio.value, low: ratio.value - reach, high: ratio.value + reach }
    };

    let columns = |place: usize| rows.each_ref().map(|rows| column(rows, place));
    let pulls_by_block: Vec<Vec<f64>> = (0..ranges.len()).map(|place| joint_pulls(&columns(place))).collect();
    let pulls_by_trial: Vec<Vec<f64>> =
        (0..trials.0 + trials.1).map(|trial| column(&pulls_by_block, trial)).collect();
    let student_of_block = Student::of(level_of_each(&pulls_by_trial, alpha, settings.seed));
    let block = |(place, &(n_low, n_high)): (usize, &(u64, u64))| {
        Some((n_low, n_high, exp(within(difference(&columns(place), drift)?, &student_of_block))))
    };
    let blocks = ranges.iter().enumerate().filter_map(block).collect();

    let margin = settings.log_margin();
    let interval = within(ratio, &student);
    let few = trials.0.min(trials.1) < FEWEST as usize;
    let answer = if few { Answer::Unresolved } else { answer(interval, margin) };
    let more_helps = answer == Answer::Unresolved && tick <= margin;
    Some(Comparison {
        answer,
        ratio: exp(interval),
        n_low: ranges.first()?.0,
        n_high: ranges.last()?.1,
        trials,
        trials_needed: if more_helps { trials_needed(ratio, trials, &student, margin) } else { None },
        blocks,
    })
}

/// What drift does to the difference of two runs.
#[derive(Clone, Copy)]
struct Drift {
    inflation: [f64; 2],
    wander: f64,
}

/// Logarithm of second over first. Inflation raises the squared error of a side; degrees of freedom after
/// Welch (Biometrika 34, 1947). They are not lowered by the inflation, which errs high already: with both,
/// forty trials of a drifting machine would count as two, and no difference could ever be shown.
fn difference([first, second]: &[Vec<f64>; 2], drift: Drift) -> Option<Centre> {
    let (first, second) = (Centre::of(first)?, Centre::of(second)?);
    let [a, b] = drift.inflation;
    let (a_squared, b_squared) = (first.error.powi(2) * a, second.error.powi(2) * b);
    let spread = a_squared.powi(2) / first.freedom + b_squared.powi(2) / second.freedom;
    Some(Centre {
        value: second.value - first.value,
        error: (a_squared + b_squared + drift.wander).sqrt(),
        freedom: (a_squared + b_squared).powi(2) / spread,
    })
}

/// How far each trial, of the first and then of the second, moves the difference of one block.
fn joint_pulls(sides: &[Vec<f64>; 2]) -> Vec<f64> {
    let side =
        |side: &Vec<f64>| -> Vec<f64> { pulls(side).iter().map(|pull| pull / side.len() as f64).collect() };
    sides.iter().flat_map(side).collect()
}

/// Trials a side after which the interval may lie within the margin, or beyond it where the estimate does.
fn trials_needed(ratio: Centre, trials: (usize, usize), student: &Student, margin: f64) -> Option<u32> {
    let now = 2.0 / (1.0 / trials.0 as f64 + 1.0 / trials.1 as f64);
    let room = (margin - ratio.value.abs()).abs();
    let most = trials.0.max(trials.1) as u32;
    first_that((most + 1).max(FEWEST)..=MOST, |trials| {
        ratio.reach_with(f64::from(*trials) / now, student) <= room
    })
}

fn answer(ratio: Interval, margin: f64) -> Answer {
    if ratio.high < -margin {
        Answer::Faster
    } else if ratio.low > margin {
        Answer::Slower
    } else if ratio.low < -margin || ratio.high > margin {
        Answer::Unresolved
    } else if ratio.low > 0.0 || ratio.high < 0.0 {
        Answer::DifferentButSmall
    } else {
        Answer::Equivalent
    }
}
