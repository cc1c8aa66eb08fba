//! Noises of simulated sweeps, and the random numbers that they are made of, from a seed that is derived from
//! a name.
//!
//! Low and high noise mean that the contrast of a block median with the first blocks of its trial spreads
//! over trials by 4 % and by 8 %: as on a shared virtual machine with two processors.

use fastrand::Rng;

use crate::machine::{self, Machine, References, ResidualSeries};
use crate::truths::SweepDesign;

/// A kind of disturbance with its size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Noise {
    /// Names a cell together with truth, design and trials.
    pub name: &'static str,
    /// How the logarithms of the costs of one trial move.
    pub kind: NoiseKind,
    /// How far the level of a whole trial moves (SD of its logarithm).
    pub offset: f64,
    /// How many ticks of the clock the cheapest operation takes.
    pub ticks: f64,
    /// The noise of references; `None` where the trials have none.
    pub references: Option<References>,
}

/// How the logarithms of the costs of one trial move.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum NoiseKind {
    /// Each by itself, with these tails; the contrast spreads by so much.
    Independent(Tail, f64),
    /// Stretches of n of a thirteenth of a decade move together, neighbours correlated by the first number:
    /// AR(1); the contrast spreads by the second.
    Stretches(f64, f64),
    /// Neighbouring n correlated by the first number, AR(1); one n spreads by the second.
    Points(f64, f64),
    /// As `Independent`, normal; in one trial of ten another guest makes half of the sweep 1.5 times as
    /// expensive.
    Neighbour(f64),
    /// An autoregression in time, single operations, spikes, neighbours: a whole machine.
    Machine(Machine),
    /// Residuals of runs of this project.
    Real(ResidualSeries),
}

/// How a single operation spreads.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Tail {
    /// Lognormal.
    Normal,
    /// The logarithm is Student's t with three degrees of freedom.
    Student,
    /// Gamma of shape 2 above a floor.
    Gamma,
    /// Pareto of exponent 2 above a floor: no variance.
    Pareto,
}

const LOW_CONTRAST: f64 = 0.04;
const HIGH_CONTRAST: f64 = 0.08;
/// Ticks of a clock of a nanosecond in an operation of a microsecond.
pub(crate) const FINE: f64 = 1_000.0;

const fn independent(name: &'static str, tail: Tail, contrast: f64) -> Noise {
    Noise { name, kind: NoiseKind::Independent(tail, contrast), offset: 0.0, ticks: FINE, references: None }
}

const fn stretches(name: &'static str, rho: f64, contrast: f64) -> Noise {
    Noise { name, kind: NoiseKind::Stretches(rho, contrast), offset: 0.0, ticks: FINE, references: None }
}

const fn points(name: &'static str, rho: f64, spread: f64, offset: f64) -> Noise {
    Noise { name, kind: NoiseKind::Points(rho, spread), offset, ticks: FINE, references: None }
}

const fn real(name: &'static str, series: ResidualSeries) -> Noise {
    Noise { name, kind: NoiseKind::Real(series), offset: 0.15, ticks: FINE, references: None }
}

/// A quiet machine that measures each n once: 1 % from n to n, 2 % from trial to trial.
pub(crate) const POINTS: Noise = points("points", 0.2, 0.01, 0.02);
/// A noisy one: 4 % from n to n, 6 % from trial to trial.
pub(crate) const POINTS_HIGH: Noise = points("points-high", 0.5, 0.04, 0.06);
/// Independent, 4 %.
pub(crate) const LOW: Noise = independent("low", Tail::Normal, LOW_CONTRAST);
/// Independent, 8 %.
pub(crate) const HIGH: Noise = independent("high", Tail::Normal, HIGH_CONTRAST);
/// AR(1), 4 %.
pub(crate) const AR3: Noise = stretches("ar3", 0.3, LOW_CONTRAST);
/// AR(1), 4 %.
pub(crate) const AR6: Noise = stretches("ar6", 0.6, LOW_CONTRAST);
/// AR(1), 8 %.
pub(crate) const AR6_HIGH: Noise = stretches("ar6-high", 0.6, HIGH_CONTRAST);
/// AR(1), 4 %.
pub(crate) const AR9: Noise = stretches("ar9", 0.9, LOW_CONTRAST);
/// Trials that differ as a whole by 20 %.
pub(crate) const OFFSETS: Noise = Noise { offset: 0.2, name: "offsets", ..LOW };
/// Heavy tails on both sides.
pub(crate) const STUDENT: Noise = independent("t3", Tail::Student, LOW_CONTRAST);
/// Skewed.
pub(crate) const GAMMA: Noise = independent("gamma", Tail::Gamma, LOW_CONTRAST);
/// Skewed without a variance.
pub(crate) const PARETO: Noise = independent("pareto", Tail::Pareto, LOW_CONTRAST);
/// A neighbour comes and goes.
pub(crate) const NEIGHBOUR: Noise = Noise {
    name: "neighbour",
    kind: NoiseKind::Neighbour(LOW_CONTRAST),
    offset: 0.0,
    ticks: FINE,
    references: None,
};
/// Twelve ticks an operation.
const TICKS12: Noise = Noise { ticks: 12.0, name: "ticks12", ..LOW };
/// Twenty ticks an operation.
const TICKS20: Noise = Noise { ticks: 20.0, name: "ticks20", ..LOW };
/// A quiet machine; contrasts spread by about 4 % in a dense sweep.
pub(crate) const QUIET: Noise = Noise {
    name: "quiet",
    kind: NoiseKind::Machine(Machine::QUIET),
    offset: 0.2,
    ticks: FINE,
    references: None,
};
/// A noisy machine; contrasts spread by about 8 % in a dense sweep.
pub(crate) const NOISY: Noise = Noise {
    name: "noisy",
    kind: NoiseKind::Machine(Machine {
        drift: 0.065,
        lasts: machine::DRIFT_LASTS,
        operation: 0.15,
        spikes: 0.02,
        neighbours: 0.025,
    }),
    offset: 0.2,
    ticks: FINE,
    references: None,
};
/// Residuals of `socket`; trials differ by 15 %.
pub(crate) const REAL_SOCKET: Noise = real("real-socket", ResidualSeries::Socket);
/// Residuals of `fork`.
pub(crate) const REAL_FORK: Noise = real("real-fork", ResidualSeries::Fork);
/// Residuals of `mmap`.
pub(crate) const REAL_MMAP: Noise = real("real-mmap", ResidualSeries::Mmap);

/// The effect of other programs on a shared machine, beside the noise of a quiet one: it lasts long.
const SHARED: Machine = Machine { drift: 0.10, lasts: 200.0, operation: 0.0, spikes: 0.0, neighbours: 0.025 };

const fn with_references(name: &'static str, common: Machine, shared: bool, growth: f64) -> Noise {
    Noise { name, references: Some(References { common, shared, growth }), ..QUIET }
}

/// A shared machine, whose noise affects the references too.
pub(crate) const COMMON: Noise = with_references("ref-common", SHARED, true, 0.0);
/// The same, with separate noise of the references.
pub(crate) const SEPARATE: Noise = with_references("ref-separate", SHARED, false, 0.0);
/// A quiet machine with references.
pub(crate) const CALM: Noise =
    with_references("ref-calm", Machine { drift: 0.0, neighbours: 0.0, ..SHARED }, false, 0.0);
/// A shared machine, on which everything gets slower by the margin up to the largest n.
pub(crate) const SLOWING: Noise = with_references("ref-slowing", SHARED, true, 0.10);
/// The same, by so little that ten trials rarely show it.
pub(crate) const SLOWING_LITTLE: Noise = with_references("ref-slowing3", SHARED, true, 0.03);

/// All without references.
pub(crate) const ALL: [Noise; 18] = [
    LOW,
    HIGH,
    AR3,
    AR6,
    AR6_HIGH,
    AR9,
    OFFSETS,
    STUDENT,
    GAMMA,
    PARETO,
    NEIGHBOUR,
    TICKS12,
    TICKS20,
    QUIET,
    NOISY,
    REAL_SOCKET,
    REAL_FORK,
    REAL_MMAP,
];

/// Stretches of n a decade, about as many as a verdict has blocks.
const STRETCHES: f64 = 13.0;
/// A median of k normal values spreads by this over √k.
const MEDIAN: f64 = 1.2533;
/// Operations beside stretches spread the contrast by this.
const BESIDE: f64 = 0.01;
const NEIGHBOURS: f64 = 0.1;
/// Density of the standard normal, of t3, of gamma(2) and of Pareto(2) at their medians: the medians of all
/// tails spread alike.
const DENSITY: [f64; 4] = [0.3989, 0.3676, 0.3133, std::f64::consts::FRAC_1_SQRT_2];
/// Medians of gamma(2) and Pareto(2).
const GAMMA_MEDIAN: f64 = 1.6783;
const PARETO_MEDIAN: f64 = std::f64::consts::SQRT_2;

impl Noise {
    /// The logarithm of the level of a trial, or of a pair of trials that were made back to back.
    pub(crate) fn level(&self, rng: &mut Rng) -> f64 {
        self.offset * normal(rng)
    }

    /// Logarithms of the factors by which one trial is disturbed, one for each of `sizes`, at level 0.
    pub(crate) fn trial(&self, rng: &mut Rng, design: &SweepDesign, sizes: &[u64]) -> Vec<f64> {
        match self.kind {
            NoiseKind::Independent(tail, contrast) => {
                let spread = operation(contrast, design);
                sizes.iter().map(|_| tail.log(rng, spread)).collect()
            }
            NoiseKind::Stretches(rho, contrast) => stretch(rng, rho, contrast, design, sizes),
            NoiseKind::Points(rho, spread) => {
                let mut state = normal(rng);
                let next = |_: &u64| {
                    state = autoregress(rng, rho, state);
                    spread * state
                };
                sizes.iter().map(next).collect()
            }
            NoiseKind::Neighbour(contrast) => {
                let spread = operation(contrast, design);
                let mut logs: Vec<f64> = sizes.iter().map(|_| spread * normal(rng)).collect();
                machine::neighbour(rng, NEIGHBOURS, &mut logs);
                logs
            }
            NoiseKind::Machine(machine) => machine.trial(rng, sizes.len()),
            NoiseKind::Real(series) => machine::window(rng, series, sizes.len()),
        }
    }
}

impl Tail {
    fn log(self, rng: &mut Rng, spread: f64) -> f64 {
        match self {
            Tail::Normal => spread * normal(rng),
            Tail::Student => spread * DENSITY[1] / DENSITY[0] * student3(rng),
            Tail::Gamma => {
                let value = -(open(rng) * open(rng)).ln();
                (spread * DENSITY[2] / DENSITY[0] * (value - GAMMA_MEDIAN)).ln_1p()
            }
            Tail::Pareto => {
                let value = open(rng).powf(-0.5);
                (spread * DENSITY[3] / DENSITY[0] * (value - PARETO_MEDIAN)).ln_1p()
            }
        }
    }
}

/// The spread of one operation with which contrasts spread by `contrast`.
fn operation(contrast: f64, design: &SweepDesign) -> f64 {
    contrast / MEDIAN / (1.0 / design.least() as f64 + 1.0 / design.reference() as f64).sqrt()
}

fn stretch(rng: &mut Rng, rho: f64, contrast: f64, design: &SweepDesign, sizes: &[u64]) -> Vec<f64> {
    // Variance of the mean of the four stretches in n…2n that a block is compared with.
    let reference = (4.0 + 2.0 * (3.0 * rho + 2.0 * rho.powi(2) + rho.powi(3))) / 16.0;
    let spread = ((contrast.powi(2) - BESIDE.powi(2)) / (1.0 + reference)).sqrt();
    let beside = operation(BESIDE, design);
    let stretch = |n: u64| (STRETCHES * (n as f64).log10()).floor();
    let (mut at, mut state) = (f64::NAN, normal(rng));
    sizes
        .iter()
        .map(|n| {
            let now = stretch(*n);
            if now > at {
                state = autoregress(rng, rho.powf(now - at), state);
            }
            at = now;
            spread * state + beside * normal(rng)
        })
        .collect()
}

/// How boots of one system differ.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BootNoise {
    /// Names a cell together with noise, design and trials.
    pub name: &'static str,
    offset: Offset,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Offset {
    /// A normal distribution of the logarithm, with this standard deviation.
    Normal(f64),
    /// One of two states that are so far apart, each as likely: a table does or does not share its cache
    /// sets.
    TwoStates(f64),
    /// Student's t with three degrees of freedom, times this: now and then a boot is far off.
    Tailed(f64),
}

/// Boots that differ by more than the margin of a comparison.
pub(crate) const NORMAL_BOOTS: BootNoise = BootNoise { name: "normal", offset: Offset::Normal(0.05) };
pub(crate) const BOOTS: [BootNoise; 3] = [
    NORMAL_BOOTS,
    BootNoise { name: "states", offset: Offset::TwoStates(0.10) },
    BootNoise { name: "tailed", offset: Offset::Tailed(0.03) },
];

/// Trials of a boot.
pub(crate) const BOOT_TRIALS: usize = 4;

impl BootNoise {
    /// The effect of the next boot on the logarithm of every cost.
    pub(crate) fn next(&self, rng: &mut Rng) -> f64 {
        match self.offset {
            Offset::Normal(spread) => spread * normal(rng),
            Offset::TwoStates(apart) => {
                if rng.bool() {
                    apart
                } else {
                    0.0
                }
            }
            Offset::Tailed(spread) => spread * student3(rng),
        }
    }
}

/// A generator that depends only on the name and the number, not on the order of the work or on the number of
/// threads.
pub(crate) fn rng(seed: u64, name: &str, replicate: u64) -> Rng {
    Rng::with_seed(mix(seed ^ mix(hash(name) ^ mix(replicate))))
}

/// FNV-1a (Fowler, Noll and Vo; RFC 9923).
fn hash(name: &str) -> u64 {
    name.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}

/// SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
fn mix(value: u64) -> u64 {
    let value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

/// Standard normal: the polar method (Marsaglia and Bray, SIAM Review 6, 1964).
pub(crate) fn normal(rng: &mut Rng) -> f64 {
    loop {
        let (x, y) = (2.0 * rng.f64() - 1.0, 2.0 * rng.f64() - 1.0);
        let square = x * x + y * y;
        if square > 0.0 && square < 1.0 {
            return x * (-2.0 * square.ln() / square).sqrt();
        }
    }
}

/// The next state of an autoregression of variance 1, which keeps so much of the last one.
pub(crate) fn autoregress(rng: &mut Rng, keep: f64, state: f64) -> f64 {
    keep * state + (1.0 - keep * keep).sqrt() * normal(rng)
}

/// Student's t with three degrees of freedom.
fn student3(rng: &mut Rng) -> f64 {
    let square: f64 = (0..3).map(|_| normal(rng).powi(2)).sum();
    normal(rng) / (square / 3.0).sqrt()
}

/// Uniform and never 0.
pub(crate) fn open(rng: &mut Rng) -> f64 {
    1.0 - rng.f64()
}
