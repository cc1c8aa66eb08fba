//! Operations whose throughput over workers is known: the Universal Scalability Law, broken lines, plateaus,
//! and a neighbour that takes a processor; judged by `stats::scaling`.

use fastrand::Rng;
use stats::{Interval, JudgeSettings, Scaling, ScalingClass, ScalingTrial, scaling};

use crate::noises::{normal, rng};
use crate::promises::ERROR;
use crate::rate::{Rate, RateTarget};
use crate::run::Plan;
use crate::table::{CellRow, row};

/// The numbers of workers of a machine with 2, with 8, and with 64 processors.
const MACHINES: [&[u64]; 3] = [&[1, 2], &[1, 2, 3, 4, 6, 8], &[1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64]];
const TRIALS: usize = 10;
const MARGIN: f64 = 0.10;
/// The neighbour takes one of the processors so often, for a fifth of the window; the level still counts.
const NEIGHBOUR: f64 = 0.1;
const TAKEN: f64 = 0.2;
/// It takes one for longer so often, and the level does not count.
const VOID: f64 = 0.05;

/// A true throughput, relative to one worker.
#[derive(Clone, Copy, Debug, PartialEq)]
enum ScalingTruth {
    /// σ and κ.
    Law(f64, f64),
    /// Each worker beyond a share of the processors adds so much of one before.
    Broken(f64, f64),
}

/// The noise of one throughput.
#[derive(Clone, Copy, Debug, PartialEq)]
struct ScalingNoise {
    name: &'static str,
    spread: f64,
    has_neighbour: bool,
}

const NOISES: [ScalingNoise; 3] = [
    ScalingNoise { name: "quiet", spread: 0.01, has_neighbour: false },
    ScalingNoise { name: "noisy", spread: 0.05, has_neighbour: false },
    ScalingNoise { name: "neighbour", spread: 0.01, has_neighbour: true },
];

const TRUTHS: [ScalingTruth; 14] = [
    ScalingTruth::Law(0.0, 0.0),
    ScalingTruth::Law(0.01, 0.0),
    ScalingTruth::Law(0.05, 0.0),
    ScalingTruth::Law(0.2, 0.0),
    ScalingTruth::Law(0.5, 0.0),
    ScalingTruth::Law(0.95, 0.0),
    ScalingTruth::Law(0.01, 0.0001),
    ScalingTruth::Law(0.05, 0.001),
    ScalingTruth::Law(0.05, 0.01),
    ScalingTruth::Law(0.2, 0.01),
    ScalingTruth::Law(0.9, 0.2),
    ScalingTruth::Broken(0.5, 0.3),
    ScalingTruth::Broken(0.5, 0.0),
    ScalingTruth::Broken(0.25, 0.6),
];

/// A truth on a machine with a noise.
#[derive(Clone, Copy, Debug)]
struct ScalingCell {
    truth: ScalingTruth,
    noise: ScalingNoise,
    levels: &'static [u64],
}

/// The counts of one cell.
#[derive(Clone, Debug, Default)]
pub struct ScalingCounts {
    /// The name of the cell.
    pub name: String,
    is_law: bool,
    is_quiet: bool,
    has_law_in_reach: bool,
    replicates: usize,
    scales: usize,
    named: usize,
    is_false: usize,
    covered: Rate,
    loses_more: bool,
}

impl ScalingTruth {
    fn at(self, workers: f64, top: f64) -> f64 {
        match self {
            ScalingTruth::Law(serial, coherence) => {
                workers / (1.0 + serial * (workers - 1.0) + coherence * workers * (workers - 1.0))
            }
            ScalingTruth::Broken(share, ratio) => {
                let after = (share * top).max(1.0);
                workers.min(after) + ratio * (workers - after).max(0.0)
            }
        }
    }

    fn name(self) -> String {
        match self {
            ScalingTruth::Law(serial, coherence) => format!("scaling-{serial}-{coherence}"),
            ScalingTruth::Broken(share, ratio) => format!("scaling-broken-{share}-{ratio}"),
        }
    }
}

impl ScalingCell {
    fn name(&self) -> String {
        format!("{}/{}/{}/{TRIALS}", self.truth.name(), self.noise.name, self.top())
    }

    fn top(&self) -> u64 {
        self.levels.last().copied().unwrap_or(1)
    }

    fn trial(&self, rng: &mut Rng) -> ScalingTrial {
        let (top, shift) = (self.top() as f64, (0.05 * normal(rng)).exp());
        let mut rate = |&workers: &u64| {
            let n = workers as f64;
            let luck = if self.noise.has_neighbour { rng.f64() } else { 1.0 };
            let left = if luck < NEIGHBOUR { (n - TAKEN) / n } else { 1.0 };
            let rate = 1e6 * shift * left * self.truth.at(n, top) * (self.noise.spread * normal(rng)).exp();
            (luck < 1.0 - VOID || luck == 1.0).then_some((workers, rate))
        };
        ScalingTrial { rates: self.levels.iter().filter_map(&mut rate).collect(), references: Vec::new() }
    }

    fn judged(&self, plan: Plan, replicate: u64) -> Option<Scaling> {
        let mut rng = rng(plan.seed, &self.name(), replicate);
        let trials: Vec<ScalingTrial> = (0..TRIALS).map(|_| self.trial(&mut rng)).collect();
        let settings = JudgeSettings { margin: MARGIN, seed: plan.seed, ..JudgeSettings::default() };
        scaling(&trials, self.top(), &[self.top() / 2], &settings)
    }

    /// Whether the judge claims something that is not so.
    fn is_false(&self, scaling: &Scaling) -> bool {
        let top = self.top() as f64;
        let loss = |n: &u64| self.truth.at(*n as f64, top) / *n as f64;
        let least = self.levels.iter().map(loss).fold(1.0, f64::min);
        let names_law = matches!(scaling.class, ScalingClass::Serial | ScalingClass::TurnsBack);
        let turns = match self.truth {
            ScalingTruth::Law(serial, coherence) if coherence > 0.0 => ((1.0 - serial) / coherence).sqrt(),
            _ => f64::INFINITY,
        };
        match (self.truth, scaling.class) {
            (_, ScalingClass::Scales) => least < 1.0 - MARGIN,
            (_, ScalingClass::Negative) => self.truth.at(2.0, top) >= 1.0,
            (ScalingTruth::Broken(share, _), _) if names_law => share * top >= 1.0,
            (_, ScalingClass::TurnsBack) => turns > top,
            (ScalingTruth::Law(..), _) => scaling.bend.is_some() || least >= 1.0 - MARGIN && names_law,
            _ => false,
        }
    }

    fn counts(&self, plan: Plan) -> ScalingCounts {
        let top = self.top() as f64;
        let has_levels = self.levels.len() > 3;
        let mut counts = ScalingCounts {
            name: self.name(),
            is_law: matches!(self.truth, ScalingTruth::Law(..)),
            is_quiet: self.noise == NOISES[0],
            has_law_in_reach: has_levels
                && matches!(self.truth, ScalingTruth::Law(serial, _) if serial >= 0.05),
            loses_more: self.truth.at(top, top) / top < 1.0 - MARGIN,
            ..ScalingCounts::default()
        };
        for replicate in 0..plan.replicates {
            let Some(scaling) = self.judged(plan, replicate) else { continue };
            counts.replicates += 1;
            counts.scales += usize::from(scaling.class == ScalingClass::Scales);
            counts.named += usize::from(scaling.law.is_some());
            counts.is_false += usize::from(self.is_false(&scaling));
            let holds = |interval: Interval, truth: f64| (interval.low..=interval.high).contains(&truth);
            match (self.truth, scaling.law, scaling.loss) {
                (ScalingTruth::Law(serial, _), Some(law), _) => counts.covered.add(holds(law.serial, serial)),
                (ScalingTruth::Law(serial, coherence), _, Some(loss)) => {
                    counts.covered.add(holds(loss, serial + 2.0 * coherence));
                }
                _ => {}
            }
        }
        counts
    }
}

fn cells() -> impl Iterator<Item = ScalingCell> {
    let of_machine = |levels: &'static [u64]| {
        TRUTHS.into_iter().flat_map(move |truth| NOISES.map(|noise| ScalingCell { truth, noise, levels }))
    };
    MACHINES.into_iter().flat_map(of_machine)
}

/// The names of all cells.
pub fn names() -> Vec<String> {
    cells().map(|cell| cell.name()).collect()
}

/// Counts the cells whose names are wanted.
pub fn counts(plan: Plan, is_wanted: impl Fn(&str) -> bool) -> Vec<ScalingCounts> {
    cells().filter(|cell| is_wanted(&cell.name())).map(|cell| cell.counts(plan)).collect()
}

/// The promises about scaling.
pub fn table(all: &[ScalingCounts]) -> Vec<CellRow> {
    let of = |claim, target, rate: fn(&ScalingCounts) -> Option<Rate>| {
        let rates = all.iter().filter_map(|counts| Some((counts.name.clone(), rate(counts)?)));
        row(claim, target, rates.filter(|(_, rate)| rate.of > 0).collect())
    };
    [
        of("scaling: a false claim", RateTarget::AtMost(0.01), |counts| {
            Some(Rate { count: counts.is_false, of: counts.replicates })
        }),
        of(
            "scaling: called to scale, where it loses more than the margin",
            RateTarget::AtMost(ERROR),
            |counts| counts.loses_more.then_some(Rate { count: counts.scales, of: counts.replicates }),
        ),
        of(
            "scaling: interval of the serial share, or of the loss of two",
            RateTarget::Within(0.93, 0.97),
            |counts| (counts.is_law && counts.loses_more).then_some(counts.covered),
        ),
        of("scaling: law named, a share of 5 % and more, quiet", RateTarget::AtLeast(0.80), |counts| {
            let asked = counts.is_quiet && counts.has_law_in_reach;
            asked.then_some(Rate { count: counts.named, of: counts.replicates })
        }),
    ]
    .into_iter()
    .flatten()
    .collect()
}
