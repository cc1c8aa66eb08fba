//! How throughput follows the number of workers.
//!
//! The law is the Universal Scalability Law (Gunther, Guerrilla Capacity Planning, Springer 2007, ch. 4): N
//! workers do X(N) = λN / (1 + σ(N − 1) + κN(N − 1)). σ is the share of the work that is serial (contention),
//! κ the cost of agreement of each pair of workers (coherence). Its rival is a broken line: workers beyond
//! some number add less each, because their processors share a core, a memory or a quota with others.
//! A law is named only if the trials do not contradict it, and only if its rival is certainly worse.
//!
//! Only ratios within a trial count, and the trial is the unit: parameters are fitted to the means, and their
//! errors come from the parameter of every trial, to first order.

mod law;

use law::Models;
use serde::Serialize;

use crate::centre::{Centre, FEWEST, Interval, MOST, Student, exp, influences, level_of_each};
use crate::sweep::JudgeSettings;

/// The throughput of one trial.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ScalingTrial {
    /// Numbers of workers, rising, each with the operations per second of all of them.
    pub rates: Vec<(u64, f64)>,
    /// The same of an operation in user space, which shares nothing: the scaling of the machine itself.
    pub references: Vec<(u64, f64)>,
}

/// How an operation scales.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Scaling {
    /// The claim.
    pub class: ScalingClass,
    /// Trials that carry it.
    pub trials: usize,
    /// At numbers of workers that have a processor each.
    pub speedups: Vec<Speedup>,
    /// At larger numbers of workers.
    pub oversubscribed: Vec<Speedup>,
    /// Universal Scalability Law, where it fits.
    pub law: Option<ScalingLaw>,
    /// Broken line, where that fits.
    pub bend: Option<ScalingBend>,
    /// σ + 2κ, with two workers at most.
    pub loss: Option<Interval>,
    /// Trials after which the result may be definite.
    pub trials_needed: Option<u32>,
}

/// Throughput of so many workers.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Speedup {
    /// How many.
    pub workers: u64,
    /// Their throughput over that of one worker; all intervals hold together.
    pub ratio: Interval,
    /// The same of the reference.
    pub reference: Option<Interval>,
    /// Throughput of each worker over that of one, relative to the reference.
    pub efficiency: Interval,
}

/// The claim about scaling.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ScalingClass {
    /// Every number of workers does as many times the work of one, within the margin.
    Scales,
    /// Less than that, as the law describes.
    Serial,
    /// The law has its peak within the measured numbers.
    TurnsBack,
    /// Less than that, and no law is named.
    Loses,
    /// Several workers do less than one.
    Negative,
    /// More trials are needed.
    Undecided,
}

impl ScalingClass {
    /// Whether something is lost for certain, so that there is something to describe.
    #[must_use]
    pub fn is_loss(self) -> bool {
        !matches!(self, ScalingClass::Scales | ScalingClass::Undecided)
    }
}

/// The Universal Scalability Law.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ScalingLaw {
    /// σ.
    pub serial: Interval,
    /// κ.
    pub coherence: Interval,
    /// 1/σ, where σ is certain and κ may be 0.
    pub ceiling: Option<Interval>,
    /// √((1 − σ)/κ), where κ is certain.
    pub peak: Option<Interval>,
}

/// A broken line.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ScalingBend {
    /// Workers beyond so many add less.
    pub after: u64,
    /// Throughput that each of them adds, over that of each worker before.
    pub ratio: Interval,
    /// Whether processors of another kind begin there.
    pub is_border: bool,
}

/// Error rate of the claim that several do less than one.
const NEGATIVE: f64 = 0.01;
/// Trials that have a number of workers, at least this share.
const MOST_TRIALS: f64 = 0.75;

/// Judges the throughput of trials, which have up to `processors` workers with a processor for each.
/// Processors of another kind begin after each number in `borders`. `None` without a trial of one worker and
/// of several.
pub fn scaling(
    trials: &[ScalingTrial],
    processors: u64,
    borders: &[u64],
    settings: &JudgeSettings,
) -> Option<Scaling> {
    let trials: Vec<Logs> = trials.iter().filter_map(Logs::new).collect();
    let levels = common_levels(&trials);
    let (within, beyond): (Vec<u64>, Vec<u64>) = levels.iter().partition(|&&workers| workers <= processors);
    let alpha = settings.error_rate();
    let student = Student::new(level_of(&trials, &within, alpha, settings.seed));
    let speedups: Vec<Speedup> = within.iter().filter_map(|&at| speedup(&trials, at, &student)).collect();
    let first = *speedups.first()?;
    let student_beyond = Student::new(level_of(&trials, &beyond, alpha, settings.seed));
    let oversubscribed = beyond.iter().filter_map(|&at| speedup(&trials, at, &student_beyond)).collect();

    let Models { law, bend } =
        Models::new(&trials, &within, borders, (alpha, settings.seed)).unwrap_or_default();
    let least = 1.0 - settings.margin;
    let loses = speedups.iter().any(|speedup| speedup.efficiency.high < least);
    let top = within.last().copied().unwrap_or(first.workers);
    let class = if trials.len() < FEWEST as usize {
        ScalingClass::Undecided
    } else if speedups.iter().all(|speedup| speedup.efficiency.low >= least) {
        ScalingClass::Scales
    } else if does_less_than_one(&trials, first.workers) {
        ScalingClass::Negative
    } else if !loses {
        ScalingClass::Undecided
    } else {
        match law.and_then(|law| law.peak) {
            Some(peak) if peak.high <= top as f64 => ScalingClass::TurnsBack,
            _ if law.is_some() => ScalingClass::Serial,
            _ => ScalingClass::Loses,
        }
    };
    let loss = (within.len() == 1 && first.workers == 2)
        .then(|| first.efficiency.reciprocal().map(|inverse| inverse - 1.0));
    Some(Scaling {
        class,
        trials: trials.len(),
        trials_needed: (class == ScalingClass::Undecided)
            .then(|| trials_needed(&trials, &speedups, least.ln(), alpha))
            .flatten(),
        speedups,
        oversubscribed,
        law: law.filter(|_| class.is_loss()),
        bend: bend.filter(|_| class.is_loss()),
        loss,
    })
}

/// Whether several workers do less than one. Fewer of such claims may be wrong than of a loss.
fn does_less_than_one(trials: &[Logs], workers: u64) -> bool {
    let centre = Centre::new(&trials.iter().map(|trial| trial.speedup(workers)).collect::<Vec<f64>>());
    centre.is_some_and(|centre| centre.value < 0.0 && centre.is_beyond(NEGATIVE))
}

/// The logarithms of one trial, against one worker.
struct Logs {
    /// Numbers of workers, with the logarithm of the speed-up and of that of the reference.
    changes: Vec<(u64, f64, Option<f64>)>,
}

impl Logs {
    fn new(trial: &ScalingTrial) -> Option<Logs> {
        let log = |rates: &[(u64, f64)], workers: u64| {
            let found = rates.iter().find(|(level, _)| *level == workers)?;
            Some(found.1.ln()).filter(|log| log.is_finite())
        };
        let change = |rates: &[(u64, f64)], workers: u64| Some(log(rates, workers)? - log(rates, 1)?);
        let levels = trial.rates.iter().map(|(workers, _)| *workers).filter(|&workers| workers > 1);
        let changes: Vec<_> = levels
            .filter_map(|at| Some((at, change(&trial.rates, at)?, change(&trial.references, at))))
            .collect();
        (!changes.is_empty()).then_some(Logs { changes })
    }

    fn at(&self, workers: u64) -> Option<&(u64, f64, Option<f64>)> {
        self.changes.iter().find(|(level, ..)| *level == workers)
    }

    /// The logarithm of the speed-up, or NaN.
    fn speedup(&self, workers: u64) -> f64 {
        self.at(workers).map_or(f64::NAN, |(_, change, _)| *change)
    }

    /// The logarithm of the reference's speed-up, or NaN.
    fn reference(&self, workers: u64) -> f64 {
        self.at(workers).and_then(|(.., reference)| *reference).unwrap_or(f64::NAN)
    }

    /// The logarithm of the throughput of each worker over that of one, without the loss of the reference.
    fn efficiency(&self, workers: u64) -> f64 {
        let ideal = (workers as f64).ln();
        let machine = self.reference(workers) - ideal;
        self.speedup(workers) - ideal - if machine.is_finite() { machine } else { 0.0 }
    }
}

/// The numbers of workers that most trials have.
fn common_levels(trials: &[Logs]) -> Vec<u64> {
    let mut levels: Vec<u64> =
        trials.iter().flat_map(|trial| &trial.changes).map(|(level, ..)| *level).collect();
    levels.sort_unstable();
    levels.dedup();
    let have = |level: &u64| trials.iter().filter(|trial| trial.at(*level).is_some()).count();
    levels.retain(|level| have(level) as f64 >= MOST_TRIALS * trials.len() as f64);
    levels
}

/// The error rate of each interval of these numbers, so that all hold together.
fn level_of(trials: &[Logs], levels: &[u64], alpha: f64, seed: u64) -> f64 {
    let of_level = |level: &u64| {
        let values: Vec<f64> = trials.iter().map(|trial| trial.efficiency(*level)).collect();
        influences(&values)
    };
    let columns: Vec<Vec<f64>> = levels.iter().map(of_level).collect();
    let row = |trial: usize| columns.iter().map(|column| column[trial]).collect();
    let rows: Vec<Vec<f64>> = (0..trials.len()).map(row).collect();
    level_of_each(&rows, alpha, seed)
}

fn speedup(trials: &[Logs], workers: u64, student: &Student) -> Option<Speedup> {
    let of = |value: &dyn Fn(&Logs) -> f64| {
        let centre = Centre::new(&trials.iter().map(value).collect::<Vec<f64>>())?;
        Some(exp(centre.interval(student)))
    };
    Some(Speedup {
        workers,
        ratio: of(&|trial| trial.speedup(workers))?,
        reference: of(&|trial| trial.reference(workers)),
        efficiency: of(&|trial| trial.efficiency(workers))?,
    })
}

/// Trials after which each efficiency lies certainly on one side of the margin, as the estimates stand.
fn trials_needed(trials: &[Logs], speedups: &[Speedup], least: f64, alpha: f64) -> Option<u32> {
    let centre = |speedup: &Speedup| {
        Centre::new(&trials.iter().map(|trial| trial.efficiency(speedup.workers)).collect::<Vec<f64>>())
    };
    let centres: Vec<Centre> = speedups.iter().filter_map(centre).collect();
    let student = Student::new(alpha / centres.len().max(1) as f64);
    let is_certain = |count: u32| {
        let reach = |centre: &Centre| centre.with(f64::from(count) / trials.len() as f64).reach(&student);
        let holds = |centre: &Centre| centre.value - reach(centre) >= least;
        let fails = |centre: &Centre| centre.value + reach(centre) < least;
        centres.iter().all(holds) || centres.iter().any(fails)
    };
    let counts = std::iter::successors(Some(trials.len() as u32 + 1), |count| Some(count + 1 + count / 8));
    counts.take_while(|count| *count <= MOST).find(|count| is_certain(*count))
}

#[cfg(test)]
mod tests {
    use fastrand::Rng;

    use super::*;
    use crate::simulate::normal;

    const LEVELS: [u64; 10] = [1, 2, 3, 4, 6, 8, 12, 16, 24, 32];

    fn measured(levels: &[u64], noise: f64, seed: u64, truth: impl Fn(f64) -> f64) -> Vec<ScalingTrial> {
        let mut rng = Rng::with_seed(seed);
        let mut trial = || {
            let shift = 1e5 * (noise * normal(&mut rng)).exp();
            let rate = |&level: &u64| (level, shift * truth(level as f64) * (noise * normal(&mut rng)).exp());
            ScalingTrial { rates: levels.iter().map(rate).collect(), references: Vec::new() }
        };
        (0..10).map(|_| trial()).collect()
    }

    fn law(serial: f64, coherence: f64) -> impl Fn(f64) -> f64 {
        move |n| n / (1.0 + serial * (n - 1.0) + coherence * n * (n - 1.0))
    }

    fn judged(levels: &[u64], noise: f64, truth: impl Fn(f64) -> f64) -> Scaling {
        scaling(&measured(levels, noise, 7, truth), 32, &[16], &JudgeSettings::default()).expect("levels")
    }

    #[test]
    fn an_operation_that_loses_nothing_scales() {
        let scaling = judged(&LEVELS, 0.01, law(0.0, 0.0));
        assert_eq!(scaling.class, ScalingClass::Scales);
        assert!(scaling.law.is_none() && scaling.loss.is_none());
    }

    /// σ and κ of R 4.2, `nls(log(x) ~ l + log(n) - log(1 + s * (n - 1) + k * n * (n - 1)), algorithm =
    /// "port")`, the method of its package `usl`.
    #[test]
    fn the_law_is_fitted_as_r_does() {
        const RATES: [f64; 10] = [
            1004000.0, 1895437.0, 2717902.0, 3425129.0, 4701562.0, 5678521.0, 7141498.0, 8008040.0,
            8926721.0, 9025409.0,
        ];
        // Trials differ in pairs, by opposite factors, so that their means are these rates.
        let trial = |number: i32| {
            let sign = |place: usize| if place.is_multiple_of(2) == (number % 2 == 0) { 1.0 } else { -1.0 };
            let factor = |place: usize| (sign(place) * 0.001 * f64::from(1 + number / 2)).exp();
            let rates = LEVELS.iter().zip(RATES).enumerate();
            let rates = rates.map(|(place, (&level, rate))| (level, rate * factor(place))).collect();
            ScalingTrial { rates, references: Vec::new() }
        };
        let trials: Vec<ScalingTrial> = (0..10).map(trial).collect();
        let law = scaling(&trials, 32, &[], &JudgeSettings::default()).and_then(|scaling| scaling.law);
        let law = law.expect("a law");
        assert!((law.serial.value - 0.050405346).abs() < 1e-6, "{law:?}");
        assert!((law.coherence.value - 0.000984922).abs() < 1e-8, "{law:?}");
    }

    #[test]
    fn a_serial_share_has_a_ceiling() {
        let scaling = judged(&LEVELS, 0.01, law(0.1, 0.0));
        assert_eq!(scaling.class, ScalingClass::Serial);
        let law = scaling.law.expect("a law");
        assert!((law.serial.low..=law.serial.high).contains(&0.1), "{law:?}");
        let ceiling = law.ceiling.expect("a ceiling");
        assert!(ceiling.low < 10.0 && ceiling.high > 10.0, "{ceiling:?}");
    }

    #[test]
    fn a_cost_of_agreement_turns_back_within_what_was_measured() {
        let scaling = judged(&LEVELS, 0.01, law(0.02, 0.005));
        assert_eq!(scaling.class, ScalingClass::TurnsBack, "{scaling:?}");
        let peak = scaling.law.and_then(|law| law.peak).expect("a peak");
        assert!(peak.low < 14.0 && peak.high > 14.0, "{peak:?}");
    }

    #[test]
    fn a_border_is_no_law() {
        let scaling = judged(&LEVELS, 0.005, |n: f64| n.min(16.0) + 0.3 * (n - 16.0).max(0.0));
        assert_eq!(scaling.class, ScalingClass::Loses, "{scaling:?}");
        let bend = scaling.bend.expect("a bend");
        assert!(bend.after == 16 && bend.is_border && scaling.law.is_none());
        assert!(bend.ratio.low < 0.3 && bend.ratio.high > 0.3);
    }

    #[test]
    fn two_workers_name_no_law() {
        let scaling = judged(&[1, 2], 0.01, law(0.7, 0.0));
        assert_eq!(scaling.class, ScalingClass::Loses);
        let loss = scaling.loss.expect("one number");
        assert!(loss.low < 0.7 && loss.high > 0.7 && scaling.law.is_none());
        assert_eq!(judged(&[1, 2], 0.01, |n| 1.0 / n).class, ScalingClass::Negative);
    }

    #[test]
    fn the_loss_of_the_machine_is_not_that_of_the_operation() {
        let mut trials = measured(&LEVELS, 0.01, 7, law(0.2, 0.0));
        for trial in &mut trials {
            trial.references =
                LEVELS.iter().map(|&level| (level, 1e9 * law(0.2, 0.0)(level as f64))).collect();
        }
        let scaling = scaling(&trials, 32, &[], &JudgeSettings::default()).expect("levels");
        assert_eq!(scaling.class, ScalingClass::Scales);
        assert!(scaling.speedups[0].ratio.high < 1.8);
    }

    #[test]
    fn workers_without_a_processor_of_their_own_are_apart() {
        let trials = measured(&[1, 2, 3, 4], 0.01, 7, |n| n.min(2.0));
        let scaling = scaling(&trials, 2, &[], &JudgeSettings::default()).expect("levels");
        assert_eq!(scaling.class, ScalingClass::Scales);
        assert_eq!(scaling.oversubscribed.len(), 2);
    }

    #[test]
    fn without_one_worker_there_is_nothing_to_compare() {
        let trials = measured(&[2, 4], 0.01, 7, law(0.0, 0.0));
        assert_eq!(scaling(&trials, 8, &[], &JudgeSettings::default()), None);
        assert_eq!(scaling(&[], 8, &[], &JudgeSettings::default()), None);
    }
}
