//! Two systems set against each other in one series, before an error rate is chosen.

use crate::block::{Grid, Rows, column, levels, measure};
use crate::centre::{Centre, FEWEST, Interval, MOST, Student, exp, influences, level_of_each};
use crate::compare::{Answer, Design, PerClaim, SeriesComparison, crossings};
use crate::dependence::{
    ByBoot, by_boot, distinct, inflation, inflation_of_pairs, least_chance, of_pairs, wander,
};
use crate::flat::first_that;
use crate::gate::RatioEvidence;
use crate::prior::{FEWEST_WITH_PRIOR, Prior};
use crate::sweep::{Common, JudgeSettings, Sweep, common_sizes};

/// Two systems set against each other in one series, before an error rate is chosen.
///
/// The level of a trial is the mean of its log block medians. Paired, the unit is the difference of the
/// levels of a pair, and the ratio is the trimmed mean of these with Student's t (Tukey & McLaughlin,
/// Sankhyā A 25, 1963), which covered 93–98 % in simulated pairs of normal, exponential, contaminated and
/// lognormal noise, even as an interval for the median. The exact interval of the sign test covers as well,
/// is up to a quarter wider unless the noise is both heavy-tailed and seen in twenty pairs or more, and has
/// no end below eleven pairs at the error rate of one series of thirty: so it was not taken. Unpaired,
/// levels are compared by Yuen's form of Welch's test (Biometrika 61, 1974), whose error is widened for
/// drift. Pairs cancel drift; their error is widened only where neighbouring pairs resemble each other. Fewer
/// than four trials a side leave every answer open: three against three cannot pass 5 % in any exact test.
/// Pairs whose variance is [moderated](crate::moderate) by those of other series may claim from two on.
///
/// Where trials are of several boots, a boot takes the place of a trial in all of this, and a claim is never
/// surer than so few boots allow (`dependence.rs`).
///
/// References of the trials are not used. They remove noise from a change within a trial, because they do not
/// depend on n; but their cost differs between systems, and would change the comparison: a slower kernel is
/// slower for references too.
///
/// An effect that differs between two runs and never within one (a boot, its placement in memory) cannot be
/// distinguished from a difference of the systems; nor, wholly, can drift that lasts longer than a run.
/// Simulated pairs of runs of one system, 40 trials each (`tests/comparison.rs`): without drift at most 6 %
/// of 300 single comparisons differ; with drift of 5–10 % over 3…200 trials 0–3 % of 150 single ones, and
/// 0–1.3 % of those that are one of thirty.
#[derive(Clone, Debug)]
pub struct Contrast {
    ranges: Vec<(u64, u64)>,
    ends: (u64, u64),
    trials: (usize, usize),
    boots: Option<(usize, usize)>,
    /// Observations of each that are independent: trials, boots, or pairs of them.
    units: (usize, usize),
    design: Design,
    /// Logarithm of second over first.
    ratio: Centre,
    /// The same by range of n.
    by_block: Vec<Centre>,
    /// A row per trial, of the first and then of the second, or per pair: how far it moves each of
    /// `by_block`.
    influences: Vec<Vec<f64>>,
    /// The pairs, where trials were made in pairs.
    pub(crate) pairs: Option<Pairs>,
    freedom: f64,
    /// By how much drift widens the error of pairs.
    widening: f64,
    /// Observations of each side from which on something may be claimed.
    fewest: usize,
    tick: f64,
    margin: f64,
    floor: f64,
    looks: u32,
    seed: u64,
}

/// Whether the second of two differs from the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// For certain, and by more than the margin as measured.
    Changed,
    /// Any difference is smaller than the margin, for certain.
    Same,
    /// Neither is certain yet.
    Open,
}

/// The pairs of trials of one series.
#[derive(Clone, Debug)]
pub(crate) struct Pairs {
    /// The round of each, rising.
    pub(crate) rounds: Vec<usize>,
    /// The logarithm of the ratio of each.
    ratios: Vec<f64>,
    /// Influence of each on the logarithm of the ratio, times their number.
    pub(crate) influences: Vec<f64>,
}

impl Pairs {
    /// A trimmed mean follows the winsorised deviations over the share of the values that it keeps (Huber,
    /// Robust Statistics, 1981, §3.3).
    fn new(ratios: Vec<f64>, rounds: &[usize]) -> Pairs {
        let freedom = Centre::new(&ratios).map_or(0.0, |centre| centre.freedom);
        let count = ratios.iter().filter(|ratio| ratio.is_finite()).count() as f64;
        let influences =
            influences(&ratios).into_iter().map(|influence| influence * count / (freedom + 1.0)).collect();
        Pairs { rounds: rounds.to_vec(), ratios, influences }
    }
}

impl Contrast {
    /// Sets `second` against `first`, whose trials are given in the order of time; for a paired design
    /// trials at the same place are a pair, and one without values stands for a trial that is missing.
    /// Nothing below `floor`, a share, will be claimed. `None` when no n is common, or no pair.
    pub fn new(
        first: &[Sweep<'_>],
        second: &[Sweep<'_>],
        design: Design,
        floor: f64,
        settings: &JudgeSettings,
    ) -> Option<Contrast> {
        let commons = [Common::new(first, settings.whole)?, Common::new(second, settings.whole)?];
        let sizes = common_sizes(&commons[0].sizes, &commons[1].sizes);
        let last = |common: &Common<'_>| common.sizes.last().copied().unwrap_or(0);
        let ends = (last(&commons[0]), last(&commons[1]));
        let mut places = commons.each_ref().map(|common| common.places.clone());
        if design == Design::Paired {
            let both: Vec<usize> =
                places[0].iter().copied().filter(|place| places[1].contains(place)).collect();
            places = [both.clone(), both];
        }
        let chosen: [Vec<Sweep<'_>>; 2] = [at_places(first, &places[0]), at_places(second, &places[1])];
        let (Grid { ranges, .. }, rows) = measure(&sizes, [&chosen[0], &chosen[1]])?;

        let cheapest = rows.iter().flat_map(levels).fold(f64::INFINITY, f64::min).exp();
        let boots =
            chosen.each_ref().map(|trials| trials.iter().map(|trial| trial.boot).collect::<Vec<u32>>());
        let floor = floor.max(0.0).ln_1p();
        let contrast = Contrast {
            ends,
            trials: (rows[0].len(), rows[1].len()),
            boots: None,
            units: (rows[0].len(), rows[1].len()),
            design,
            ratio: Centre::UNKNOWN,
            by_block: Vec::new(),
            influences: Vec::new(),
            pairs: None,
            freedom: 0.0,
            widening: 1.0,
            fewest: FEWEST as usize,
            // Medians sit on ticks of the clock: no ratio is finer than one.
            tick: (settings.tick_seconds / cheapest).ln_1p().max(0.0),
            margin: settings.log_margin().max(floor),
            floor,
            looks: settings.looks.max(1),
            seed: settings.seed,
            ranges,
        };
        match design {
            Design::Independent => contrast.independent(rows, [&boots[0], &boots[1]]),
            Design::Paired => contrast.paired(&rows, &places[0], [&boots[0], &boots[1]]),
        }
    }

    fn independent(self, rows: [Rows; 2], boots: [&[u32]; 2]) -> Option<Contrast> {
        let grouped = [by_boot(&rows[0], boots[0]), by_boot(&rows[1], boots[1])];
        let has_boots = grouped.iter().any(Option::is_some);
        let [first, second] = grouped;
        let [first_rows, second_rows] = rows;
        let rows = &[first.map_or(first_rows, |by| by.rows), second.map_or(second_rows, |by| by.rows)];
        let levels = &rows.each_ref().map(levels);
        let drift = match has_boots {
            // Drift from boot to boot is part of the differences of the boots.
            true => Drift { inflation: [1.0; 2], wander: 0.0 },
            false => {
                Drift { inflation: levels.each_ref().map(|levels| inflation(levels)), wander: wander(levels) }
            }
        };
        let columns = |place: usize| rows.each_ref().map(|rows| column(rows, place));
        let blocks = 0..self.ranges.len();
        let influences_by_block: Vec<Vec<f64>> =
            blocks.clone().map(|place| joint_influences(&columns(place))).collect();
        let freedom = |levels: &Vec<f64>| Centre::new(levels).map_or(0.0, |centre| centre.freedom);
        Some(Contrast {
            ratio: difference(levels, drift)?,
            by_block: blocks
                .map(|place| difference(&columns(place), drift).unwrap_or(Centre::UNKNOWN))
                .collect(),
            influences: transposed(&influences_by_block, rows[0].len() + rows[1].len()),
            boots: has_boots.then(|| (distinct(boots[0]).len(), distinct(boots[1]).len())),
            units: (rows[0].len(), rows[1].len()),
            freedom: levels.iter().map(freedom).fold(f64::INFINITY, f64::min),
            ..self
        })
    }

    fn paired(self, rows: &[Rows; 2], places: &[usize], boots: [&[u32]; 2]) -> Option<Contrast> {
        let difference = |(first, second): (&Vec<f64>, &Vec<f64>)| -> Vec<f64> {
            first.iter().zip(second).map(|(first, second)| second - first).collect()
        };
        let rows: Rows = rows[0].iter().zip(&rows[1]).map(difference).collect();
        let grouped = by_boot(&rows, &of_pairs(boots));
        let has_boots = grouped.is_some();
        let ByBoot { rows, places } = grouped.unwrap_or_else(|| ByBoot { rows, places: places.to_vec() });
        let ratios = levels(&rows);
        let widening = if has_boots { 1.0 } else { inflation_of_pairs(&ratios).sqrt() };
        let widened = |values: &[f64]| {
            Centre::new(values).map(|centre| Centre { error: centre.error * widening, ..centre })
        };
        let blocks = 0..self.ranges.len();
        let influences_by_block: Vec<Vec<f64>> =
            blocks.clone().map(|place| influences(&column(&rows, place))).collect();
        let ratio = widened(&ratios)?;
        Some(Contrast {
            ratio,
            by_block: blocks.map(|place| widened(&column(&rows, place)).unwrap_or(Centre::UNKNOWN)).collect(),
            influences: transposed(&influences_by_block, ratios.len()),
            freedom: ratio.freedom,
            widening,
            boots: has_boots.then(|| (distinct(boots[0]).len(), distinct(boots[1]).len())),
            units: (ratios.len(), ratios.len()),
            pairs: Some(Pairs::new(ratios, &places)),
            ..self
        })
    }

    /// The logarithm of the ratio of each pair of trials, or of boots, in the order of time; none unless
    /// paired.
    pub fn pairs(&self) -> &[f64] {
        self.pairs.as_ref().map_or(&[], |pairs| &pairs.ratios)
    }

    /// The variance of the ratio of one pair of trials with its degrees of freedom, where it has any. Boots
    /// limit what can be certain by their number, and two runs by the drift between them.
    pub(crate) fn variance(&self) -> Option<(f64, f64)> {
        let Centre { error, freedom, .. } = self.ratio;
        let is_known = self.design == Design::Paired && self.boots.is_none() && freedom >= 1.0;
        is_known.then(|| ((error / self.widening).powi(2) * (freedom + 1.0), freedom))
    }

    /// Combines the variance with the prior of all contrasts of its kind.
    pub(crate) fn join(&mut self, prior: Prior) {
        let Some(variance) = self.variance() else { return };
        let pairs = self.ratio.freedom + 1.0;
        let (joined, freedom) = prior.join(variance);
        self.ratio = Centre { error: (joined / pairs).sqrt() * self.widening, freedom, ..self.ratio };
        self.fewest = FEWEST_WITH_PRIOR;
    }

    /// The figures that a gate needs.
    pub fn evidence(&self) -> RatioEvidence {
        RatioEvidence {
            ratio: self.ratio,
            tick: self.tick,
            floor: self.floor,
            chance_least: self.exact_floor(),
            is_enough: self.units.0.min(self.units.1) >= self.fewest,
            is_paired: self.design == Design::Paired,
            units: self.units,
        }
    }

    /// Degrees of freedom of the side that has fewer, or of the pairs.
    pub(crate) fn freedom(&self) -> f64 {
        self.freedom
    }

    /// Boots, or else trials, of the side that has fewer.
    pub fn observations(&self) -> usize {
        self.units.0.min(self.units.1)
    }

    /// Logarithm of the estimated ratio.
    pub(crate) fn value(&self) -> f64 {
        self.ratio.value
    }

    /// Whether the second takes less time, by the estimate.
    pub fn is_faster(&self) -> bool {
        self.ratio.value < 0.0
    }

    /// For each kind of claim the smallest error rate at which it can be made.
    pub(crate) fn chances(&self) -> PerClaim {
        self.evidence().chances(self.margin)
    }

    /// Without pairs nothing can be surer than that all trials of one side lie beyond all of the other: two
    /// of all ways to share them out (Fisher, The Design of Experiments, 1935, §21). With four trials a side
    /// Student's t would claim more than they can show about the drift between two runs.
    fn exact_floor(&self) -> f64 {
        match (self.boots, self.design) {
            (Some((first, second)), _) => least_chance(first, second),
            (None, Design::Paired) => 0.0,
            (None, Design::Independent) => least_chance(self.units.0, self.units.1),
        }
    }

    /// The answer where each kind of claim has its own error rate. The interval is that of the claim that is
    /// made, or was tried, so that answer and interval do not contradict each other.
    pub fn at(&self, levels: &PerClaim) -> SeriesComparison {
        let chances = self.chances();
        let (answer, level) = chances.answer(self.ratio.value, self.margin, levels);
        let student = Student::new(level);
        let more_helps = answer == Answer::Unresolved && self.tick <= self.margin;
        let needed = if more_helps { self.needed(&student) } else { None };
        let logs = self.logs_by_block(level);
        SeriesComparison {
            answer,
            ratio: self.evidence().around(&student),
            level,
            margin: self.margin.exp_m1(),
            floor: self.floor.exp_m1(),
            n_low: self.ranges.first().map_or(0, |range| range.0),
            n_high: self.ranges.last().map_or(0, |range| range.1),
            ends: self.ends,
            trials: self.trials,
            boots: self.boots,
            design: self.design,
            trials_needed: needed.filter(|_| self.boots.is_none()),
            boots_needed: needed.filter(|_| self.boots.is_some()),
            crossings: crossings(&logs, self.floor),
            blocks: logs.into_iter().map(|(low, high, logs)| (low, high, exp(logs))).collect(),
        }
    }

    /// Whether the cost changed, at this error rate, and the ratio with the interval of that rate.
    ///
    /// It asks less than [`Answer::Slower`], which is certain that the difference
    /// exceeds the margin: a culprit must differ for certain, and the margin only keeps small real
    /// differences out. A change of twice the margin then needs a quarter of the boots.
    pub fn change(&self, level: f64) -> (Change, Interval) {
        let chances = self.chances();
        let exceeds = self.ratio.value.abs() > self.margin;
        let change = if exceeds && chances.differs <= level {
            Change::Changed
        } else if !exceeds && chances.within <= level {
            Change::Same
        } else {
            Change::Open
        };
        (change, self.evidence().around(&Student::new(level)))
    }

    /// Logarithms of the ratio by range of n, which hold together at `level`. Changes within trials decide
    /// the end of a run, and these ratios use the same changes, so they pay for the looks.
    fn logs_by_block(&self, level: f64) -> Vec<(u64, u64, Interval)> {
        let student = Student::new(level_of_each(&self.influences, level / f64::from(self.looks), self.seed));
        let block = |((low, high), centre): (&(u64, u64), &Centre)| {
            (*low, *high, centre.interval_on_ticks(&student, self.tick))
        };
        self.ranges.iter().zip(&self.by_block).map(block).collect()
    }

    /// Trials or boots a side after which the interval may lie within the margin, or beyond it where the
    /// estimate does.
    fn needed(&self, student: &Student) -> Option<u32> {
        let now = 2.0 / (1.0 / self.units.0 as f64 + 1.0 / self.units.1 as f64);
        let room = (self.margin - self.ratio.value.abs()).abs();
        let most = self.units.0.max(self.units.1) as u32;
        // A system with one boot has no more of them.
        let of = |boots: usize, units: u32| if boots < 2 { 1 } else { units as usize };
        let can_be_sure = |units: u32| {
            self.boots.is_none_or(|(first, second)| {
                least_chance(of(first, units), of(second, units)) <= student.level()
            })
        };
        first_that((most + 1).max(FEWEST)..=MOST, |units| {
            can_be_sure(*units) && self.ratio.with(f64::from(*units) / now).reach(student) <= room
        })
    }
}

fn at_places<'a>(sweeps: &[Sweep<'a>], places: &[usize]) -> Vec<Sweep<'a>> {
    places.iter().map(|place| sweeps[*place]).collect()
}

fn transposed(columns: &[Vec<f64>], rows: usize) -> Vec<Vec<f64>> {
    (0..rows).map(|row| column(columns, row)).collect()
}

/// The effect of drift on the difference of two runs.
#[derive(Clone, Copy)]
struct Drift {
    inflation: [f64; 2],
    wander: f64,
}

/// Logarithm of second over first. Inflation raises the squared error of a side; degrees of freedom after
/// Welch (Biometrika 34, 1947). They are not lowered by the inflation, which errs high already: with both,
/// forty trials of a drifting machine would count as two, and no difference could ever be shown.
fn difference([first, second]: &[Vec<f64>; 2], drift: Drift) -> Option<Centre> {
    let (first, second) = (Centre::new(first)?, Centre::new(second)?);
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
fn joint_influences(sides: &[Vec<f64>; 2]) -> Vec<f64> {
    let side = |side: &Vec<f64>| -> Vec<f64> {
        influences(side).iter().map(|influence| influence / side.len() as f64).collect()
    };
    sides.iter().flat_map(side).collect()
}
