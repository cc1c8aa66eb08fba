//! A gate: the ratios of all series of a run, each held against one claim that lets a build fail.
//!
//! A claim is *certain*, *excluded*, or neither yet. Certain and excluded have different costs. A build that
//! fails without a reason costs the trust of its readers, so the false discovery rate over all series is held
//! at [`GATE_ALPHA`] (Benjamini & Hochberg, JRSS B 57, 1995): where nothing changed, at most so many builds
//! fail. A build passes only if each series excludes the claim, and that holds the rate of each
//! (intersection-union test; Berger, Technometrics 24, 1982), so none is corrected for the number of series.
//!
//! The margin is the smallest change that matters to the user. A claim is certain if the ratio lies beyond
//! the noise floor for certain and beyond the margin as estimated, as in [`Change`](crate::Change). It is
//! excluded if the ratio lies within the margin for certain.
//!
//! **Two runs.** Trials without pairs meet the machine at two times, and no number of trials averages out
//! what differs between these. Programs that are equal byte by byte differed by 13–17 % between two runs of
//! a service. Where a run has several series, most of them show what the machine did: the median of the other
//! series is the common part, and a claim must hold with it and without it. Where a run has few, a claim must
//! exceed [`RUNS_APART`].

use serde::Serialize;

use crate::block::{NORMAL_MAD, median};
use crate::centre::{Centre, Interval, MOST, Student, exp, tails};
use crate::compare::{PerClaim, discoveries};
use crate::dependence::least_chance;
use crate::flat::first_that;

/// Share of builds without a change that may fail.
pub const GATE_ALPHA: f64 = 0.005;
/// The chance that a series which exceeds the margin passes.
const PASS_ALPHA: f64 = 0.05;
/// The difference that two runs of the same program may have, as a share, if no other series shows the effect
/// of the machine.
pub const RUNS_APART: f64 = 0.15;
/// Other series that show the effect of the machine: with fewer, their spread is not known.
const COMPANIONS: usize = 5;

/// A claim about the ratio of a series.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RatioClaim {
    /// The least change that matters, as a share.
    pub margin: f64,
    /// Whether a fall is claimed too, and not a rise alone.
    pub is_either_way: bool,
}

/// The decision on a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Decision {
    /// It holds.
    Certain,
    /// It does not hold.
    Excluded,
    /// The data carry neither.
    Undecided,
}

/// The evidence of the trials of one series about its ratio, before an error rate is chosen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RatioEvidence {
    pub(crate) ratio: Centre,
    /// The ratio is no finer than this.
    pub(crate) tick: f64,
    /// No smaller difference is claimed.
    pub(crate) floor: f64,
    /// No chance is smaller, two-sided.
    pub(crate) chance_least: f64,
    /// Whether there are trials enough for any claim.
    pub(crate) is_enough: bool,
    pub(crate) is_paired: bool,
    /// Trials of each side, or boots.
    pub(crate) units: (usize, usize),
}

/// The decision on the claim about one series.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GateDecision {
    /// Whether the claim holds.
    pub decision: Decision,
    /// The ratio, with the interval of the error rate at which the claim was made or tried.
    pub ratio: Interval,
    /// The chance of such a ratio, or one further away, without a change.
    pub chance: f64,
    /// The margin: that of the claim, or the noise floor if larger.
    pub margin: f64,
    /// The common part of all series of two runs, as a factor; `None` of pairs, and of few series.
    pub common: Option<f64>,
    /// Whether the claim fails because the other series of the run changed alike, or because there are too
    /// few of them to know.
    pub is_common: bool,
    /// Trials of each side after which the claim may be decided, where more would help.
    pub trials_needed: Option<u32>,
}

/// Decides one claim about every series. The rates of both decisions are divided by `tests`, the number of
/// times that the data are looked at and of claims that share the gate.
pub fn gate(series: &[RatioEvidence], claim: RatioClaim, tests: u32) -> Vec<GateDecision> {
    let tried: Vec<Tried> = (0..series.len()).map(|place| Tried::new(series, place, claim)).collect();
    let tests = f64::from(tests.max(1));
    let chances: Vec<f64> = tried.iter().map(|tried| tried.certain).collect();
    let level = discoveries(&chances, GATE_ALPHA / tests);
    tried.iter().map(|tried| tried.decided(level, PASS_ALPHA / tests)).collect()
}

/// The chance that noise moves a factor so far from 1, in its direction: of an estimate with the interval of
/// this error rate, over so many trials.
pub fn chance_of_factor(factor: &Interval, level: f64, trials: usize) -> f64 {
    let freedom = trials as f64 - 1.0;
    let (value, low, high) = (factor.value.ln(), factor.low.ln(), factor.high.ln());
    let reach = if value > 0.0 { value - low } else { high - value };
    let error = reach / Student::new(level).critical(freedom);
    match value.abs() / error {
        t if t.is_finite() && freedom >= 1.0 => tails(t, freedom) / 2.0,
        _ => 1.0,
    }
}

/// One series with the chances of both decisions.
struct Tried {
    of: RatioEvidence,
    claim: RatioClaim,
    margin: f64,
    /// The series without the common part of two runs, and that part.
    apart: Option<(Centre, f64)>,
    certain: f64,
    /// The same as if the machine were known to be the same at both times.
    certain_alone: f64,
    excluded: f64,
}

impl Tried {
    fn new(series: &[RatioEvidence], place: usize, claim: RatioClaim) -> Tried {
        let of = series[place];
        let margin = claim.margin.ln_1p().max(of.floor);
        let apart = if of.is_paired { None } else { apart(series, place) };
        let unknown = if of.is_paired || apart.is_some() { 0.0 } else { RUNS_APART.ln_1p() };
        let beyond = |ratio: &Centre, floor: f64| {
            let size = claim.size(ratio.value);
            let sides = if claim.is_either_way { 1.0 } else { 0.5 };
            if size < margin { 1.0 } else { sides * of.chance(ratio, size - floor) }
        };
        let within = |ratio: &Centre| 0.5 * of.chance(ratio, margin - claim.size(ratio.value));
        let both = |chance: &dyn Fn(&Centre) -> f64| {
            apart.map_or(0.0, |(ratio, _)| chance(&ratio)).max(chance(&of.ratio))
        };
        Tried {
            certain: both(&|ratio| beyond(ratio, of.floor.max(unknown))),
            certain_alone: beyond(&of.ratio, of.floor),
            excluded: both(&within),
            of,
            claim,
            margin,
            apart,
        }
    }

    fn decided(&self, level: f64, pass: f64) -> GateDecision {
        let decision = match () {
            () if self.certain <= level => Decision::Certain,
            () if self.excluded <= pass => Decision::Excluded,
            () => Decision::Undecided,
        };
        let is_beyond = self.claim.size(self.of.ratio.value) >= self.margin;
        let sides = if self.claim.is_either_way { 1.0 } else { 2.0 };
        let shown = Student::new(if is_beyond { sides * level } else { 2.0 * pass });
        let is_common = decision == Decision::Undecided && self.certain_alone <= level;
        GateDecision {
            decision,
            ratio: self.of.around(&shown),
            chance: self.certain_alone,
            margin: self.margin.exp_m1(),
            common: self.apart.map(|(_, common)| common.exp()),
            is_common,
            trials_needed: (decision == Decision::Undecided && !is_common)
                .then(|| self.needed(is_beyond, &shown))
                .flatten(),
        }
    }

    /// Trials of each side after which a ratio like this one is certain, or excluded.
    fn needed(&self, is_beyond: bool, student: &Student) -> Option<u32> {
        let size = self.claim.size(self.of.ratio.value);
        let room = if is_beyond { size - self.of.floor } else { self.margin - size };
        let (first, second) = self.of.units;
        let now = 2.0 / (1.0 / first as f64 + 1.0 / second as f64);
        let is_paired = self.of.is_paired;
        let least = |units: u32| {
            if is_paired { 0.0 } else { least_chance(units as usize, units as usize) }
        };
        first_that((first.max(second) as u32 + 1)..=MOST, |units| {
            least(*units) <= student.level()
                && self.of.ratio.with(f64::from(*units) / now).reach(student) <= room
        })
    }
}

impl RatioClaim {
    /// How far a logarithm lies in the direction of the claim.
    fn size(self, value: f64) -> f64 {
        if self.is_either_way { value.abs() } else { value }
    }
}

impl RatioEvidence {
    /// The ratio with the interval of this error rate, two-sided; `None` where no interval of it exists,
    /// because there are too few trials.
    pub fn interval(&self, level: f64) -> Option<Interval> {
        if !self.is_enough || self.chance_least > level {
            return None;
        }
        Some(self.around(&Student::new(level)))
    }

    /// The same, however few trials there are.
    pub(crate) fn around(&self, student: &Student) -> Interval {
        exp(self.ratio.interval_on_ticks(student, self.tick))
    }

    /// Whether the values are too short for the clock to show a change by that share.
    pub fn is_coarser_than(&self, margin: f64) -> bool {
        self.tick > margin.ln_1p()
    }

    /// The noise floor, as a share: no smaller difference is claimed.
    pub fn floor(&self) -> f64 {
        self.floor.exp_m1()
    }

    /// For each kind of claim the smallest error rate at which it can be made: two-sided, so that at that
    /// rate the interval just touches the values that the claim excludes. 1 where it cannot be made at all.
    pub(crate) fn chances(&self, log_margin: f64) -> PerClaim {
        let size = self.ratio.value.abs();
        let chance = |distance: f64| self.chance(&self.ratio, distance);
        PerClaim {
            beyond: chance(size - log_margin),
            within: chance(log_margin - size),
            differs: chance(size - self.floor),
        }
    }

    /// The chance that noise moves a ratio by so much in either direction.
    pub(crate) fn chance(&self, ratio: &Centre, distance: f64) -> f64 {
        let is_known = self.is_enough && distance > self.tick;
        if is_known { ratio.chance(distance).max(self.chance_least) } else { 1.0 }
    }
}

/// A series less the common part of two runs, and that part: the median over the other series. They respond
/// to the machine in different measure, which their spread beyond their own errors shows.
fn apart(series: &[RatioEvidence], place: usize) -> Option<(Centre, f64)> {
    let others = || series.iter().enumerate().filter(|(other, one)| *other != place && !one.is_paired);
    let others: Vec<Centre> =
        others().map(|(_, one)| one.ratio).filter(|one| one.error.is_finite()).collect();
    if others.len() < COMPANIONS {
        return None;
    }
    let middle = |of: &dyn Fn(&Centre) -> f64| median(&mut others.iter().map(of).collect::<Vec<f64>>());
    let (common, own) = (middle(&|one| one.value)?, middle(&|one| one.error)?);
    let spread = NORMAL_MAD * middle(&|one| (one.value - common).abs())?;
    let count = others.len() as f64;
    let response = (spread.powi(2) - own.powi(2)).max(0.0);
    // The error of a median (Kenney & Keeping, Mathematics of Statistics 1, 1962).
    let of_common = spread.max(own).powi(2) * std::f64::consts::FRAC_PI_2 / count;
    let ratio = series[place].ratio;
    let error = (ratio.error.powi(2) + response + of_common).sqrt();
    Some((Centre { value: ratio.value - common, error, freedom: ratio.freedom.min(count - 1.0) }, common))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SLOWER: RatioClaim = RatioClaim { margin: 0.03, is_either_way: false };

    fn paired(value: f64, error: f64) -> RatioEvidence {
        RatioEvidence {
            ratio: Centre { value, error, freedom: 9.0 },
            tick: 0.0,
            floor: 0.0,
            chance_least: 0.0,
            is_enough: true,
            is_paired: true,
            units: (10, 10),
        }
    }

    fn two_runs(value: f64, error: f64) -> RatioEvidence {
        RatioEvidence { is_paired: false, chance_least: 1e-5, ..paired(value, error) }
    }

    fn decisions(series: &[RatioEvidence], claim: RatioClaim) -> Vec<Decision> {
        gate(series, claim, 1).iter().map(|one| one.decision).collect()
    }

    #[test]
    fn a_claim_is_certain_excluded_or_neither() {
        let series = [paired(0.05, 0.005), paired(0.0, 0.005), paired(0.05, 0.03), paired(-0.2, 0.01)];
        let expected = [Decision::Certain, Decision::Excluded, Decision::Undecided, Decision::Excluded];
        assert_eq!(decisions(&series, SLOWER), expected);
        let either = RatioClaim { is_either_way: true, ..SLOWER };
        assert_eq!(decisions(&series, either)[3], Decision::Certain);
        // A real difference below the margin is no reason to fail.
        assert_eq!(decisions(&[paired(0.02, 0.001)], SLOWER), [Decision::Excluded]);
        // An undecided claim says how many trials would do.
        assert!(gate(&series, SLOWER, 1)[2].trials_needed > Some(10));
    }

    #[test]
    fn few_trials_a_coarse_clock_and_a_noise_floor_keep_a_claim_open() {
        let certain = paired(0.05, 0.001);
        assert_eq!(decisions(&[certain], SLOWER), [Decision::Certain]);
        for open in [
            RatioEvidence { is_enough: false, ..certain },
            RatioEvidence { tick: 0.06, ..certain },
            RatioEvidence { chance_least: 0.02, ..certain },
        ] {
            assert_eq!(decisions(&[open], SLOWER), [Decision::Undecided]);
        }
        let below_the_floor = RatioEvidence { floor: 0.07, ..certain };
        assert_eq!(decisions(&[below_the_floor], SLOWER), [Decision::Excluded]);
    }

    #[test]
    fn more_series_and_more_looks_ask_for_more_evidence() {
        let series = |count: usize| {
            let mut series = vec![paired(0.0, 0.005); count - 1];
            series.push(paired(0.05, 0.0105));
            gate(&series, SLOWER, 1).last().map(|last| last.decision)
        };
        assert_eq!(series(1), Some(Decision::Certain));
        assert_eq!(series(60), Some(Decision::Undecided));
        assert_eq!(gate(&[paired(0.05, 0.0135)], SLOWER, 1)[0].decision, Decision::Certain);
        assert_eq!(gate(&[paired(0.05, 0.0135)], SLOWER, 5)[0].decision, Decision::Undecided);
    }

    /// An interval whose end touches 1 has its own error rate on either side.
    #[test]
    fn a_factor_is_as_unlikely_as_its_interval_says() {
        let factor = Interval { value: 2.0, low: 1.0, high: 4.0 };
        assert!((chance_of_factor(&factor, 0.01, 10) - 0.005).abs() < 1e-6);
        let falls = Interval { value: 0.5, low: 0.25, high: 1.0 };
        assert!((chance_of_factor(&falls, 0.01, 10) - 0.005).abs() < 1e-6);
        let unknown = Interval { value: 2.0, low: 0.0, high: f64::INFINITY };
        assert!(chance_of_factor(&unknown, 0.01, 10) >= 0.5 && chance_of_factor(&factor, 0.01, 1) >= 1.0);
    }

    #[test]
    fn what_all_series_of_two_runs_share_fails_none_of_them() {
        let moved: Vec<RatioEvidence> =
            (0..8).map(|place| two_runs(0.10 + 0.002 * f64::from(place), 0.01)).collect();
        let decided = gate(&moved, SLOWER, 1);
        assert!(
            decided.iter().all(|one| one.decision == Decision::Undecided && one.is_common),
            "{decided:?}"
        );
        let common = decided[0].common.expect("a common part");
        assert!((common - 1.11_f64).abs() < 0.01, "{common}");
        // One that stands out of them fails.
        let mut one = moved;
        one[3] = two_runs(0.40, 0.01);
        assert_eq!(decisions(&one, SLOWER)[3], Decision::Certain);
        // Others that became faster make none slower.
        let mut faster = vec![two_runs(-0.2, 0.01); 8];
        faster[3] = two_runs(0.0, 0.01);
        assert_ne!(decisions(&faster, SLOWER)[3], Decision::Certain);
    }

    #[test]
    fn few_series_of_two_runs_need_a_change_beyond_what_runs_differ_by() {
        let decided = gate(&[two_runs(0.10, 0.01)], SLOWER, 1);
        assert!(decided[0].decision == Decision::Undecided && decided[0].is_common, "{decided:?}");
        assert_eq!(decisions(&[two_runs(0.5, 0.01)], SLOWER), [Decision::Certain]);
        assert_eq!(decisions(&[two_runs(0.0, 0.01)], SLOWER), [Decision::Excluded]);
    }
}
