//! Nights with the scatter of real runs.

use std::sync::LazyLock;

use fastrand::Rng;
use stats::Interval;

/// Series of a machine.
pub(super) const SERIES: usize = 28;
/// Nights of a year.
pub(super) const NIGHTS: usize = 365;
/// A planted change comes in one of these nights, …
pub(super) const CHANGE_AT: [usize; 2] = [30, 90];
/// …of a history that ends so many nights later.
const NIGHTS_BEHIND: usize = 14;
/// A planted change, as a share.
const CHANGE: f64 = 0.05;
/// A planted drift, as a share of a year.
const DRIFT: f64 = 0.10;
/// Nights in which a neighbour takes a part of the machine, and how much longer everything takes then.
const NEIGHBOUR_RATE: f64 = 0.03;
const NEIGHBOUR: [f64; 2] = [0.03, 0.15];
/// The speed of the machine is like that of the night before, by this correlation.
const PERSISTENCE: f64 = 0.5;
/// Costs wander by so much from one night to the next: 1 % in a year.
const WANDERING: f64 = 0.0005;
/// Another compiler changes every cost by up to this share, another machine by up to that.
const COMPILER: f64 = 0.03;
const MACHINE: f64 = 0.25;

/// Distances of real runs from their median, by series: the natural logarithms of costs.
static REAL: LazyLock<Vec<Vec<f64>>> = LazyLock::new(|| numbers(include_str!("nights.csv"), 1));
/// Real measurements of a system against itself in one run: head divided by base, with its interval.
static PAIRS: LazyLock<Vec<Vec<f64>>> = LazyLock::new(|| numbers(include_str!("pairs.csv"), 0));

/// The numbers of each line behind so many names.
fn numbers(text: &str, names: usize) -> Vec<Vec<f64>> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let row = |line: &str| line.split(',').skip(names).filter_map(|cell| cell.trim().parse().ok()).collect();
    lines.map(row).filter(|row: &Vec<f64>| row.len() > 2).collect()
}

/// The nights of one machine.
pub(super) struct Year {
    /// By series, then by night.
    pub(super) log_costs: Vec<Vec<f64>>,
    /// First nights behind known changes.
    pub(super) boundaries: Vec<usize>,
    /// The series and the night of a planted change.
    pub(super) change: Option<(usize, usize)>,
    /// Its size as a logarithm.
    size: f64,
    /// A series with a planted drift.
    pub(super) drifting: Option<usize>,
    seed: u64,
}

/// One series of the simulation.
struct Source {
    /// Its distances, without those that all series of their run share.
    own: Vec<f64>,
    /// How much more its distances vary than a sample of them does.
    widening: f64,
    wandered: f64,
    level: f64,
}

impl Year {
    /// A year in which another compiler and another machine come, and no cost changes.
    pub(super) fn quiet(seed: u64, number: u64) -> Year {
        let mut random = rng(seed, number, 1);
        let boundaries = vec![random.usize(80..160), random.usize(200..300)];
        Year::nights(NIGHTS, boundaries, &mut random)
    }

    /// Some weeks in which one cost changes.
    pub(super) fn changed(seed: u64, number: u64) -> Year {
        let mut random = rng(seed, number, 2);
        let night = random.usize(CHANGE_AT[0]..CHANGE_AT[1]);
        let series = random.usize(0..SERIES);
        let mut year = Year::nights(night + NIGHTS_BEHIND, Vec::new(), &mut random);
        year.size = if random.bool() { CHANGE.ln_1p() } else { -CHANGE.ln_1p() };
        year.log_costs[series][night..].iter_mut().for_each(|cost| *cost += year.size);
        year.change = Some((series, night));
        year
    }

    /// A year in which one series drifts.
    pub(super) fn drifting(seed: u64, number: u64) -> Year {
        let mut random = rng(seed, number, 3);
        let series = random.usize(0..SERIES);
        let mut year = Year::nights(NIGHTS, Vec::new(), &mut random);
        for (night, cost) in year.log_costs[series].iter_mut().enumerate() {
            *cost += DRIFT.ln_1p() * night as f64 / NIGHTS as f64;
        }
        year.drifting = Some(series);
        year
    }

    fn nights(nights: usize, boundaries: Vec<usize>, random: &mut Rng) -> Year {
        let (shared, mut sources) = sources(random);
        let mut log_costs = vec![Vec::new(); SERIES];
        let mut speed = 0.0;
        for night in 0..nights {
            if let Some(place) = boundaries.iter().position(|boundary| *boundary == night) {
                // First another compiler, then another machine.
                let most = if place == 0 { COMPILER } else { MACHINE };
                sources.iter_mut().for_each(|source| source.level += most * (2.0 * random.f64() - 1.0));
            }
            let drawn = shared[random.usize(0..shared.len())];
            speed = PERSISTENCE * speed + (1.0 - PERSISTENCE * PERSISTENCE).sqrt() * drawn;
            let is_disturbed = random.f64() < NEIGHBOUR_RATE;
            let neighbour = if is_disturbed { between(NEIGHBOUR, random) } else { 0.0 };
            for (source, costs) in sources.iter_mut().zip(&mut log_costs) {
                source.wandered += WANDERING * (random.f64() - 0.5) * 12.0_f64.sqrt();
                let own = source.own[random.usize(0..source.own.len())] * source.widening;
                // A neighbour takes more from some than from others.
                let taken = neighbour * (0.5 + random.f64());
                costs.push(source.level + source.wandered + speed + own + taken);
            }
        }
        Year { log_costs, boundaries, change: None, size: 0.0, drifting: None, seed: random.u64(..) }
    }

    /// Measures a series again, base and head of this night in one run.
    pub(super) fn measured_again(&self, series: usize, night: usize) -> Interval {
        let mut random = Rng::with_seed(self.seed ^ ((series as u64) << 32) ^ night as u64);
        let pair = &PAIRS[random.usize(0..PAIRS.len())];
        let is_changed = self.change.is_some_and(|(changed, from)| changed == series && night >= from);
        let factor = if is_changed { self.size.exp() } else { 1.0 };
        Interval { value: pair[0] * factor, low: pair[1] * factor, high: pair[2] * factor }
    }
}

/// The distances that all series of a real run share, and some of the series.
fn sources(random: &mut Rng) -> (Vec<f64>, Vec<Source>) {
    let runs = REAL.iter().map(Vec::len).min().unwrap_or(0);
    let median_of = |run: usize| {
        let mut all: Vec<f64> = REAL.iter().map(|series| series[run]).collect();
        all.sort_by(f64::total_cmp);
        all[all.len() / 2]
    };
    let shared: Vec<f64> = (0..runs).map(median_of).collect();
    let mut places: Vec<usize> = (0..REAL.len()).collect();
    random.shuffle(&mut places);
    let source = |place: &usize| Source {
        own: REAL[*place].iter().zip(&shared).map(|(all, shared)| all - shared).collect(),
        widening: (runs as f64 / (runs as f64 - 1.0)).sqrt(),
        wandered: 0.0,
        level: -12.0,
    };
    (shared.clone(), places.iter().take(SERIES).map(source).collect())
}

fn between([low, high]: [f64; 2], random: &mut Rng) -> f64 {
    low + (high - low) * random.f64()
}

fn rng(seed: u64, number: u64, kind: u64) -> Rng {
    Rng::with_seed(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (number << 8) ^ kind)
}
