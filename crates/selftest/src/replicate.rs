//! One replicate of a cell: simulate the sweeps, judge them, compare the verdict with the truth.

use std::borrow::Cow;

use fastrand::Rng;
use stats::{
    Answer, Class, Contrast, Design, Interval, JudgeSettings, PerClaim, REDUCED_FROM, Sweep, Verdict,
    compare, judge, reduced_values,
};

use crate::cells::{Asked, TruthCell};
use crate::counts::{Answered, FIGURES, JudgedFigure, ReplicateOutcome, only};
use crate::machine::References;
use crate::noises::{BOOT_TRIALS, BootNoise};
use crate::outside::TrueCurve;
use crate::suites::{self, BuildOutcome, CONTENDERS, RACE_SERIES, SUITE_SERIES, SharedNoise, Unequal};
use crate::truths::{MARGIN, Term, TrueShape};
use crate::{noises, rivals};

/// The cost of the cheapest operation.
const BASE_SECONDS: f64 = 1e-6;
/// The margin of a comparison: the default of `osdyno compare`.
const COMPARISON_MARGIN: f64 = 0.03;
/// One operation in so many is a spike, and how much it costs.
const SPIKES: usize = 50;
const SPIKE: f64 = 10.0;
/// Spikes at the same n stand at every so many-th value.
const FIXED_SPIKES: usize = 97;
/// How far trials drift.
const DRIFT: f64 = 0.10;
/// A trial that crashes measures at least this share of its n; together they measure that of all.
const CRASH_APART: f64 = 0.3;
const CRASH_TOGETHER: f64 = 0.6;

/// The common part of all replicates of a cell.
pub(crate) struct Setup<'a> {
    cell: &'a TruthCell,
    name: String,
    sizes: Vec<u64>,
    /// The n at which references are timed.
    reference_sizes: Vec<u64>,
    costs: Vec<f64>,
    upper: Vec<f64>,
}

/// The measurements of a simulated trial, and of each of its references.
pub(crate) struct SimulatedTrial {
    pub(crate) values: Vec<f64>,
    references: Vec<Vec<f64>>,
    /// Counted from 1; 0 where boots do not matter.
    boot: u32,
}

/// The measurements alone.
fn plain(trials: &[SimulatedTrial]) -> Vec<&[f64]> {
    trials.iter().map(|trial| trial.values.as_slice()).collect()
}

impl<'a> Setup<'a> {
    pub(crate) fn new(cell: &'a TruthCell) -> Setup<'a> {
        let (sizes, range) = (cell.design.sizes(), cell.design.range());
        let costs = sizes.iter().map(|n| cell.truth.cost(*n as f64, range)).collect();
        let upper = sizes.iter().map(|n| cell.truth.upper(*n as f64, range)).collect();
        let reference_sizes = References::places(sizes.len()).map(|place| sizes[place]).collect();
        Setup { cell, name: cell.name(), sizes, reference_sizes, costs, upper }
    }

    /// Makes the sweeps of this replicate, of one system or of two; of a suite those of one series after the
    /// other, each of the first system and then of the second.
    pub(crate) fn systems(&self, seed: u64, replicate: u64) -> (Vec<Vec<SimulatedTrial>>, JudgeSettings) {
        let mut rng = noises::rng(seed, &self.name, replicate);
        let settings = |rng: &mut Rng, margin: f64| {
            let tick_seconds = BASE_SECONDS / self.cell.noise.ticks;
            JudgeSettings { margin, alpha: 0.05, looks: 1, tick_seconds, seed: rng.u64(..), whole: false }
        };
        let ratios: &[f64] = match &self.cell.asked {
            Asked::Verdict => &[1.0],
            Asked::Comparison(ratio) | Asked::Pairs(ratio) => &[1.0, *ratio],
            Asked::Boots { ratio, in_pairs, noise } => {
                let systems = [1.0, *ratio].map(|ratio| ratio.ln());
                let systems = self.in_boots(&mut rng, &systems, *in_pairs, noise);
                return (systems, settings(&mut rng, COMPARISON_MARGIN));
            }
            Asked::Race { ratio, unequal } => {
                let systems = self.race(&mut rng, *ratio, *unequal);
                return (systems, settings(&mut rng, COMPARISON_MARGIN));
            }
            Asked::Build { ratio, in_pairs, machine } => {
                let systems = self.build(&mut rng, *ratio, *in_pairs, machine);
                return (systems, settings(&mut rng, COMPARISON_MARGIN));
            }
            Asked::Mean { in_pairs, shared } => {
                let sides = shared.levels(&mut rng, self.cell.trials, *in_pairs);
                let systems = self.suite(&mut rng, &sides, *in_pairs);
                return (systems, settings(&mut rng, COMPARISON_MARGIN));
            }
        };
        let pairs = matches!(self.cell.asked, Asked::Pairs(_));
        let mut systems: Vec<Vec<SimulatedTrial>> = ratios.iter().map(|_| Vec::new()).collect();
        for _ in 0..self.cell.trials {
            let mut level = self.cell.noise.level(&mut rng);
            for (trials, ratio) in systems.iter_mut().zip(ratios) {
                trials.push(self.trial(&mut rng, level + ratio.ln()));
                level = if pairs { level } else { self.cell.noise.level(&mut rng) };
            }
        }
        let margin = if ratios.len() == 1 { MARGIN } else { COMPARISON_MARGIN };
        (systems, settings(&mut rng, margin))
    }

    /// The trials of two systems; each boot adds its effect to all of its trials.
    fn in_boots(
        &self,
        rng: &mut Rng,
        costs: &[f64; 2],
        in_pairs: bool,
        noise: &BootNoise,
    ) -> Vec<Vec<SimulatedTrial>> {
        let mut systems = vec![Vec::new(), Vec::new()];
        let mut offsets = [0.0; 2];
        for trial in 0..self.cell.trials {
            if trial % BOOT_TRIALS == 0 {
                offsets = offsets.map(|_| noise.next(rng));
            }
            let boot = (trial / BOOT_TRIALS + 1) as u32;
            let mut level = self.cell.noise.level(rng);
            for (side, trials) in systems.iter_mut().enumerate() {
                let simulated = self.trial(rng, level + costs[side] + offsets[side]);
                trials.push(SimulatedTrial { boot, ..simulated });
                level = if in_pairs { level } else { self.cell.noise.level(rng) };
            }
        }
        systems
    }

    /// Trials of each series and side, whose levels are those of `sides` and of the series' own.
    fn suite(&self, rng: &mut Rng, sides: &[Vec<f64>; 2], in_pairs: bool) -> Vec<Vec<SimulatedTrial>> {
        let mut systems = Vec::new();
        for _ in 0..SUITE_SERIES {
            let own: Vec<f64> = sides[0].iter().map(|_| self.cell.noise.level(rng)).collect();
            for side in sides {
                let trial = |(level, own): (&f64, &f64)| {
                    let own = if in_pairs { *own } else { self.cell.noise.level(rng) };
                    self.trial(rng, level + own)
                };
                systems.push(side.iter().zip(&own).map(trial).collect());
            }
        }
        systems
    }

    /// Trials of each series and contender; the last contender costs so many times as much.
    fn race(&self, rng: &mut Rng, ratio: f64, unequal: Unequal) -> Vec<Vec<SimulatedTrial>> {
        let mut systems: Vec<Vec<SimulatedTrial>> = (0..RACE_SERIES * CONTENDERS).map(|_| vec![]).collect();
        for _ in 0..self.cell.trials {
            for contender in 0..CONTENDERS {
                let cost = if contender + 1 == CONTENDERS { ratio.ln() } else { 0.0 };
                for (series, level) in unequal.levels(rng, contender).into_iter().enumerate() {
                    systems[series * CONTENDERS + contender].push(self.trial(rng, level + cost));
                }
            }
        }
        systems
    }

    /// Trials of each series and side of a build, of which one series costs so many times as much.
    fn build(
        &self,
        rng: &mut Rng,
        ratio: f64,
        in_pairs: bool,
        machine: &SharedNoise,
    ) -> Vec<Vec<SimulatedTrial>> {
        let levels = suites::build_levels(machine, rng, self.cell.trials, in_pairs);
        let mut systems = Vec::new();
        for (series, sides) in levels.iter().enumerate() {
            for (side, of_side) in sides.iter().enumerate() {
                let cost = if (series, side) == (suites::CHANGED, 1) { ratio.ln() } else { 0.0 };
                let trial = |level: &f64| {
                    let own = self.cell.noise.level(rng);
                    self.trial(rng, level + own + cost)
                };
                systems.push(of_side.iter().map(trial).collect());
            }
        }
        systems
    }

    /// The n of the values of a trial.
    pub(crate) fn sizes(&self) -> &[u64] {
        &self.sizes
    }

    fn trial(&self, rng: &mut Rng, level: f64) -> SimulatedTrial {
        let shape = self.cell.truth.shape;
        let mut logs = self.cell.noise.trial(rng, &self.cell.design, &self.sizes);
        let references = self.cell.noise.references;
        let references = references.map_or_else(Vec::new, |of| of.add(rng, &mut logs, &self.sizes));
        let drift = if shape == TrueShape::Drift { DRIFT * noises::normal(rng) } else { 0.0 };
        let sticks_to_upper = matches!(shape, TrueShape::TwoLines(share, true) if rng.f64() < share);
        let ticks = self.cell.noise.ticks;
        let count = logs.len();
        let kept = match shape {
            TrueShape::CrashTogether => (CRASH_TOGETHER * count as f64) as usize,
            TrueShape::CrashApart => rng.usize((CRASH_APART * count as f64) as usize..=count),
            _ => count,
        };
        let value = |(place, log): (usize, f64)| {
            let cost = match shape {
                TrueShape::TwoLines(_, true) if sticks_to_upper => self.upper[place],
                TrueShape::TwoLines(share, false) if rng.f64() < share => self.upper[place],
                TrueShape::RandomSpikes if rng.usize(..SPIKES) == 0 => SPIKE,
                TrueShape::FixedSpikes if place % FIXED_SPIKES == FIXED_SPIKES - 1 => SPIKE,
                _ => self.costs[place],
            };
            let log = level + log + drift * place as f64 / count as f64;
            // A clock counts whole ticks, from somewhere inside one.
            let in_ticks = (ticks * cost * log.exp() + rng.f64()) as u64;
            BASE_SECONDS * in_ticks as f64 / ticks
        };
        let values = logs.into_iter().enumerate().take(kept).map(value).collect();
        let seconds = |log: f64| BASE_SECONDS * log.exp();
        let timed = References::places(kept).count();
        let of_reference = |logs: Vec<f64>| logs.into_iter().take(timed).map(seconds).collect();
        SimulatedTrial { values, references: references.into_iter().map(of_reference).collect(), boot: 0 }
    }

    /// The references of a trial, as they are judged.
    fn references<'s>(&'s self, trial: &'s SimulatedTrial) -> Vec<Sweep<'s>> {
        trial.references.iter().map(|values| Sweep::listed(&self.reference_sizes, values)).collect()
    }

    /// The values of a trial as they are judged. Systems are compared by the medians of cells, as
    /// `judge::reduction` has it.
    fn values<'s>(&self, trial: &'s SimulatedTrial) -> Cow<'s, [f64]> {
        let is_compared = !matches!(self.cell.asked, Asked::Verdict);
        if is_compared && self.cell.design.is_even() && trial.values.len() >= REDUCED_FROM {
            let tick_seconds = BASE_SECONDS / self.cell.noise.ticks;
            reduced_values(&self.cell.design.sweep(&self.sizes, &trial.values), tick_seconds).into()
        } else {
            Cow::Borrowed(&trial.values)
        }
    }

    /// The trials of a system, as they are judged.
    fn sweeps<'s>(
        &'s self,
        trials: &'s [SimulatedTrial],
        values: &'s [Cow<'s, [f64]>],
        references: &'s [Vec<Sweep<'s>>],
    ) -> Vec<Sweep<'s>> {
        let sweep = |place: usize| {
            let sweep = self.cell.design.sweep(&self.sizes, &values[place]);
            sweep.with_controls(&references[place]).of_boot(trials[place].boot)
        };
        (0..trials.len()).map(sweep).collect()
    }

    /// The setup of one replicate: curves outside the families may be drawn anew for each.
    pub(crate) fn of_replicate(cell: &'a TruthCell, seed: u64, replicate: u64) -> Setup<'a> {
        let setup = Setup::new(cell);
        match cell.truth.shape {
            TrueShape::Outside(curve) => {
                let mut rng = noises::rng(seed, &format!("curve of {}", setup.name), replicate);
                let costs = curve.costs(&mut rng, &setup.sizes, cell.design.range());
                Setup { costs, ..setup }
            }
            _ => setup,
        }
    }

    /// Makes, judges and rates one replicate.
    pub(crate) fn outcome(&self, seed: u64, replicate: u64) -> ReplicateOutcome {
        let (systems, settings) = self.systems(seed, replicate);
        let references: Vec<Vec<Vec<Sweep<'_>>>> = systems
            .iter()
            .map(|trials| trials.iter().map(|trial| self.references(trial)).collect())
            .collect();
        let values: Vec<Vec<Cow<'_, [f64]>>> =
            systems.iter().map(|trials| trials.iter().map(|trial| self.values(trial)).collect()).collect();
        let sweeps: Vec<Vec<Sweep<'_>>> = (0..systems.len())
            .map(|place| self.sweeps(&systems[place], &values[place], &references[place]))
            .collect();
        match (&self.cell.asked, &sweeps[..]) {
            (
                Asked::Comparison(ratio) | Asked::Pairs(ratio) | Asked::Boots { ratio, .. },
                [first, second],
            ) => {
                let comparison = match self.cell.asked {
                    Asked::Pairs(_) | Asked::Boots { in_pairs: true, .. } => {
                        Contrast::new(first, second, Design::Paired, 0.0, &settings)
                            .map(|contrast| contrast.at(&PerClaim::all(settings.alpha)))
                    }
                    _ => compare(first, second, 1, &settings),
                };
                let answer = comparison.as_ref().map(|comparison| Answered::Answer(comparison.answer));
                let covered = comparison.map(|comparison| holds(comparison.ratio, *ratio));
                let rivals = rivals::of_two(&[plain(&systems[0]), plain(&systems[1])]);
                ReplicateOutcome {
                    covered: only(JudgedFigure::Ratio, covered),
                    rivals: Some(rivals),
                    ..ReplicateOutcome::new(answer)
                }
            }
            (Asked::Race { ratio, .. }, _) => {
                let is_found = suites::is_race_decided(&sweeps, *ratio, &settings);
                let answer = if is_found { Answer::Slower } else { Answer::Unresolved };
                ReplicateOutcome::answered(Answered::Answer(answer))
            }
            (Asked::Build { ratio, in_pairs, .. }, _) => {
                let build = suites::build_outcome(&sweeps, *ratio, *in_pairs, &settings);
                let answer = match build {
                    BuildOutcome { is_found, is_false, .. } if is_found || is_false => Answer::Slower,
                    BuildOutcome { is_passed: true, .. } => Answer::Equivalent,
                    _ => Answer::Unresolved,
                };
                ReplicateOutcome {
                    build: Some(build),
                    ..ReplicateOutcome::answered(Answered::Answer(answer))
                }
            }
            (Asked::Mean { in_pairs, .. }, _) => suites::mean_outcome(&sweeps, *in_pairs, &settings),
            (_, [trials, ..]) => match judge(trials, &settings) {
                Some(verdict) => {
                    // Other rules need several n.
                    let (low, high) = self.cell.design.range();
                    let rivals = (low < high).then(|| rivals::of_one(&self.sizes, &plain(&systems[0])));
                    let bound_without = self.bound_without(trials, &settings);
                    ReplicateOutcome { rivals, bound_without, ..self.rate(&verdict) }
                }
                None => ReplicateOutcome::new(None),
            },
            _ => ReplicateOutcome::new(None),
        }
    }

    /// The bound of the change without references, where there are any.
    fn bound_without(&self, trials: &[Sweep<'_>], settings: &JudgeSettings) -> Option<f64> {
        self.cell.noise.references?;
        let plain: Vec<Sweep<'_>> = trials.iter().map(|trial| trial.with_controls(&[])).collect();
        Some(judge(&plain, settings)?.bound)
    }

    /// Compares a verdict with the truth.
    pub(crate) fn rate(&self, verdict: &Verdict) -> ReplicateOutcome {
        let truth = &self.cell.truth;
        let judged: Vec<(f64, f64)> = self.in_range(verdict.n_low, verdict.n_high).collect();
        let reference = self.reference(verdict);
        let change =
            judged.iter().map(|(_, cost)| (cost.ln() - reference).abs()).fold(0.0, f64::max).exp_m1();
        let flat = verdict.class == Class::Flat && truth.has_one_cost();
        let hidden = verdict.adjustment.as_ref().map_or(0.0, |adjustment| adjustment.hidden);
        let points = self.in_range(verdict.n_low, verdict.n_high);
        let curve = truth.is_outside().then(|| TrueCurve::new(points, verdict));
        ReplicateOutcome {
            claims: curve.as_ref().map(TrueCurve::false_claims),
            states_direction: curve.as_ref().is_some_and(TrueCurve::states_direction),
            bound: verdict.bound,
            flat_within_less: flat && verdict.bound < change - 1e-9,
            flat_beyond_hidden: flat && (1.0 + verdict.bound) * (1.0 + hidden) < 1.0 + change - 1e-9,
            steps: verdict.steps.len(),
            lines: verdict.class == Class::TwoLines || verdict.lines.is_some(),
            steps_in_place: self.steps_in_place(verdict),
            covered: self.covered(verdict, reference),
            ..ReplicateOutcome::new(Some(Answered::Class(verdict.class)))
        }
    }

    fn in_range(&self, n_low: u64, n_high: u64) -> impl Iterator<Item = (f64, f64)> {
        let pairs = self.sizes.iter().zip(&self.costs);
        pairs.filter(move |(n, _)| (n_low..=n_high).contains(*n)).map(|(n, cost)| (*n as f64, *cost))
    }

    /// The true level of the baseline: mean logarithm over the first blocks.
    fn reference(&self, verdict: &Verdict) -> f64 {
        let (mut held, mut levels) = (0, Vec::new());
        for block in &verdict.blocks {
            let (cost, count) = self.block(block.n_low, block.n_high);
            levels.push(cost.ln());
            held += count;
            if held >= self.cell.design.reference() {
                break;
            }
        }
        levels.iter().sum::<f64>() / levels.len().max(1) as f64
    }

    /// The true median of a block, and how many values it holds.
    fn block(&self, n_low: u64, n_high: u64) -> (f64, usize) {
        let mut costs: Vec<f64> = self.in_range(n_low, n_high).map(|(_, cost)| cost).collect();
        costs.sort_unstable_by(f64::total_cmp);
        let middle = costs.len() / 2;
        let upper = costs.get(middle).copied().unwrap_or(1.0);
        let lower = costs.get(costs.len().saturating_sub(1) / 2).copied().unwrap_or(upper);
        (upper.midpoint(lower), costs.len())
    }

    /// The first n that is measured after each true step.
    fn true_steps(&self) -> Vec<u64> {
        let steps = self.cell.truth.steps(self.cell.design.range());
        steps.iter().filter_map(|step| self.sizes.iter().copied().find(|n| *n as f64 >= *step)).collect()
    }

    fn steps_in_place(&self, verdict: &Verdict) -> Option<bool> {
        let steps = self.true_steps();
        let block = |n: u64| verdict.blocks.iter().take_while(|block| block.n_high < n).count();
        let found = |n: &u64| verdict.steps.iter().any(|step| block(step.n).abs_diff(block(*n)) <= 1);
        (!steps.is_empty()).then(|| steps.iter().all(found))
    }

    /// Whether the growth of a cost that changes most near the largest n holds the truth.
    fn steep_end(&self, verdict: &Verdict) -> Option<bool> {
        let shape = self.cell.truth.shape;
        if !matches!(shape, TrueShape::Cliff(_) | TrueShape::CliffBack(_) | TrueShape::Limit(_)) {
            return None;
        }
        let at = |n: u64| Some(self.in_range(n, n).next()?.1);
        Some(holds(verdict.growth, at(verdict.n_high)? / at(verdict.n_low)?))
    }

    fn covered(&self, verdict: &Verdict, reference: f64) -> [Option<bool>; FIGURES] {
        let truth = &self.cell.truth;
        let (low, high) = self.cell.design.range();
        if low == high {
            let cost = BASE_SECONDS * self.block(verdict.n_low, verdict.n_high).0;
            return only(JudgedFigure::Value, Some(holds(verdict.cost_low, cost)));
        }
        let smooth = matches!(truth.shape, TrueShape::Constant | TrueShape::Grows(..) | TrueShape::Falls(_));
        let line = match truth.shape {
            TrueShape::Grows(Term::Line, growth) => Some((growth - 1.0) / (high - low)),
            _ => None,
        };
        let level = |block: &stats::Block| self.block(block.n_low, block.n_high).0;
        let ends = self.in_range(verdict.n_low, verdict.n_low).next();
        let ends = ends.zip(self.in_range(verdict.n_high, verdict.n_high).next());
        let growth = ends.filter(|_| smooth).map(|(first, last)| last.1 / first.1);
        let blocks = || {
            let inside = |block: &stats::Block| holds(block.relative, level(block) / reference.exp());
            verdict.blocks.iter().all(inside)
        };
        let steps = self.true_steps();
        let nearest = |n: u64| {
            let distance = |step: &&stats::Step| (step.n as f64 / n as f64).ln().abs();
            verdict.steps.iter().min_by(|a, b| distance(a).total_cmp(&distance(b)))
        };
        let step = if let [n] = steps[..] { nearest(n).map(|step| (n, step)) } else { None };
        let height = match truth.shape {
            TrueShape::Step(ratio, _) => step.map(|(_, step)| holds(step.ratio, ratio)),
            _ => None,
        };
        [
            growth.map(|growth| holds(verdict.growth, growth)),
            line.map(|slope| holds(verdict.marginal_cost, slope * BASE_SECONDS)),
            line.zip(verdict.doubling_size).map(|(slope, size)| holds(size, reference.exp() / slope)),
            step.map(|(n, step)| (step.n_low..=step.n_high).contains(&n)),
            smooth.then(blocks),
            None,
            height,
            None,
            self.steep_end(verdict),
        ]
    }
}

/// Whether an interval holds the truth.
pub(crate) fn holds(interval: Interval, truth: f64) -> bool {
    interval.low <= truth && truth <= interval.high
}
