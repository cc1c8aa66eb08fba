//! A simulated trial: its duration, end and measurements.

use std::time::Duration;

use record::{Line, Outcome, Series, Trial, TrialClock, TrialParameters};

use super::scenario::{Behaviour, Fate, LEVELS, LOAD};

/// One operation, at the smallest n.
const VALUE_SECONDS: f64 = 1e-6;

/// Values have so many digits, as those of real trials have.
const VALUES_PER_SECOND: f64 = 1e10;

/// A trial before anything interrupts it.
pub(crate) struct SimulatedTrial {
    pub(crate) takes: Duration,
    /// `None` where it cannot start.
    pub(crate) lines: Option<Vec<Line>>,
}

impl SimulatedTrial {
    /// The same parameters always give the same trial.
    pub(crate) fn new(behaviour: &Behaviour, order: &TrialParameters) -> SimulatedTrial {
        let random = &mut fastrand::Rng::with_seed(
            order.seed ^ order.system.bytes().fold(0, |sum, byte| sum * 31 + u64::from(byte)),
        );
        let timeout = Duration::from_secs_f64(order.timeout_seconds);
        let cold = if order.trial == 1 { behaviour.cold } else { 1.0 };
        let cost = behaviour.cost_seconds * cold * (behaviour.jitter * normal(random)).exp();
        let whole = Duration::from_secs_f64(cost);
        let part = whole.mul_f64(random.f64());
        let is_cut = order.allowance_seconds.is_some();
        let (takes, outcome, n) = match behaviour.fate {
            Fate::Unsupported => (part / 10, Outcome::Unsupported { reason: "not here".to_owned() }, 0),
            Fate::Fails => (part, Outcome::Failed { reason: "nothing happened".to_owned() }, order.n),
            Fate::CannotStart => return SimulatedTrial { takes: part / 10, lines: None },
            Fate::Crashes(share) if random.f64() < share => {
                (part, Outcome::Crashed { n: order.n / 3, reason: "signal 11".to_owned() }, order.n / 3)
            }
            Fate::Hangs(share) if random.f64() < share => {
                (timeout, Outcome::TimedOut { n: order.n / 3 }, order.n / 3)
            }
            Fate::MeetsLimit => (whole, limit(order.n * 2 / 3), order.n * 2 / 3),
            Fate::Slow => slow(whole, order),
            Fate::TooSlow if is_cut => (timeout, Outcome::TimedOut { n: order.n }, LEVELS[0]),
            Fate::IsCut if is_cut => (whole, Outcome::Allowance { n: order.n / 2 }, order.n / 2),
            _ if whole > timeout => (timeout, Outcome::TimedOut { n: order.n / 3 }, order.n / 3),
            _ => (whole, Outcome::Complete, order.n),
        };
        let trial = Line::Trial(trial(order, takes, outcome));
        let series = (n > 0).then(|| {
            let series = series(behaviour, order, n, random);
            let is_load = order.workload == LOAD.name;
            Line::Series(if is_load { at_levels(series, &held(behaviour, order, n)) } else { series })
        });
        SimulatedTrial { takes, lines: Some([trial].into_iter().chain(series).collect()) }
    }
}

/// A load whose last level takes most of the time: it goes as far as its share lasts, and one level in any case.
fn slow(whole: Duration, order: &TrialParameters) -> (Duration, Outcome, u64) {
    let share = order.share_seconds.map_or(Duration::MAX, Duration::from_secs_f64);
    let (mut takes, mut reached) = (Duration::ZERO, 0);
    for level in LEVELS.into_iter().filter(|&level| level <= order.n) {
        let more = whole.mul_f64(level as f64 / LEVELS.iter().sum::<u64>() as f64);
        if reached > 0 && takes + more > share {
            return (takes, Outcome::Allowance { n: reached }, reached);
        }
        (takes, reached) = (takes + more, level);
    }
    (takes, Outcome::Complete, reached)
}

fn limit(n: u64) -> Outcome {
    let (operation, error) = ("grow".to_owned(), "EMFILE".to_owned());
    Outcome::Limit { n, operation, error, advice: "raise it".to_owned() }
}

fn trial(order: &TrialParameters, takes: Duration, outcome: Outcome) -> Trial {
    let clock = TrialClock { source: "simulated".to_owned(), tick_seconds: 1e-9, read_seconds: 2e-9 };
    Trial { clock: Some(clock), ..Trial::ended(order, takes, outcome) }
}

fn series(behaviour: &Behaviour, order: &TrialParameters, n: u64, random: &mut fastrand::Rng) -> Series {
    let (between, within) = behaviour.noise;
    let level = VALUE_SECONDS * (between * normal(random)).exp();
    let value = |at: u64, noise: f64| {
        let growth = 1.0 + (behaviour.growth - 1.0) * at as f64 / order.n as f64;
        let exact = level * growth * (within * noise).exp();
        (exact * VALUES_PER_SECOND).round() / VALUES_PER_SECOND
    };
    Series {
        system: order.system.clone(),
        workload: order.workload.clone(),
        variant: order.variant.clone(),
        trial: order.trial,
        name: "grow".to_owned(),
        n_step: 1,
        batch: 1,
        values: (0..n).map(|at| value(at, normal(random))).collect(),
        ..Series::default()
    }
}

/// The levels at which a load is held: those that the order names, and in a slow trial that may leave some out,
/// the first and the last.
fn held(behaviour: &Behaviour, order: &TrialParameters, n: u64) -> Vec<u64> {
    let is_slow = behaviour.fate == Fate::LeavesOut && order.allowance_seconds.is_some();
    let is_held = |level: &u64| {
        *level <= n
            && (order.levels.is_empty() || order.levels.contains(level))
            && (!is_slow || [LEVELS[0], n].contains(level))
    };
    LEVELS.into_iter().filter(is_held).collect()
}

/// The same measurements, at levels alone.
fn at_levels(series: Series, levels: &[u64]) -> Series {
    let values = levels.iter().filter_map(|level| series.values.get(*level as usize - 1)).copied().collect();
    Series { n_first: 1, n_step: 0, sizes: levels.to_vec(), values, ..series }
}

/// The normal distribution (Box and Muller, 1958).
fn normal(random: &mut fastrand::Rng) -> f64 {
    let radius = (-2.0 * (1.0 - random.f64()).ln()).sqrt();
    radius * (std::f64::consts::TAU * random.f64()).cos()
}
