//! One series on many hosts: the effect on each, their mean, their spread, and the hosts that lie apart.
//!
//! A host is a stratum. Trials of one host are compared with trials of the same host only, and the result of
//! a host, a cost or a ratio, is one observation of the fleet:
//!
//! - `costs`: the cost on each host, over the n that the hosts have in common;
//! - [`pooled`]: the mean of all hosts, with its interval, the interval of a further host, and their spread;
//! - `outlying`: the hosts that differ from the others for certain;
//! - [`ratio_answers`]: claims about ratios, over all hosts and series together.
//!
//! All effects are natural logarithms, so that a difference is a ratio.
//!
//! The mean is that of a random-effects model: the hosts differ, and it is that of hosts like these. The
//! variance between hosts, tau², is the moment estimator of DerSimonian & Laird (Controlled Clinical Trials
//! 7, 1986). The interval of the mean is that of Hartung & Knapp (Statistics in Medicine 20, 2001) and Sidik
//! & Jonkman (Statistics in Medicine 21, 2002), by Student's t with one degree of freedom less than hosts; it
//! is never narrower than that of the weights alone (Röver, Knapp & Friede, BMC Medical Research Methodology
//! 15, 2015). A further host is expected in the prediction interval, by t with two degrees less (Higgins,
//! Thompson & Spiegelhalter, JRSS A 172, 2009).
//!
//! That interval takes tau² as known, and where it is small the moment estimator is often 0: of simulated
//! fleets whose hosts differ as much as their results err, the interval held a further host in 83–91 % and
//! not in 95 %. So it has the upper 75 % confidence bound of tau², by the Q-profile (Viechtbauer, Statistics
//! in Medicine 26, 2007); then it holds 93–99 %.

mod costs;
mod outlying;

pub use costs::{HostCosts, HostSweeps, NoCost, host_costs};
pub use outlying::{Deviations, Outlier, outlying};

use statrs::distribution::{ChiSquared, ContinuousCDF};

use crate::centre::{Centre, Interval, Student, exp};
use crate::compare::{Answer, PerClaim, discoveries};
use crate::gate::RatioEvidence;
use crate::prior::Prior;

/// The result of one host in one series.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HostEffect {
    /// Natural logarithm of a cost, or of a ratio of costs.
    pub value: f64,
    /// Its standard error, from the trials of the host.
    pub error: f64,
    /// Degrees of freedom of that error.
    pub freedom: f64,
}

/// The least error of a logarithm: results that are exact on each host, such as counts of bytes, have none.
const ERROR_LEAST: f64 = 1e-9;
/// The chance of such a variance from which on a host counts as noisier than the others.
const NOISIER: f64 = 0.05;

impl HostEffect {
    /// The ratio of two contenders on one host; `None` where its error is not known.
    pub fn from_evidence(evidence: &RatioEvidence) -> Option<HostEffect> {
        let ratio = evidence.ratio;
        let effect = HostEffect {
            value: ratio.value,
            // A value on ticks of a clock is rounded by up to half a tick, with the variance tick²/12.
            error: ratio.error.hypot(evidence.tick / 12_f64.sqrt()),
            freedom: ratio.freedom,
        };
        effect.is_known().then_some(effect)
    }

    /// The cost, or the ratio, with its interval at this error rate.
    pub fn interval(&self, alpha: f64) -> Interval {
        let HostEffect { value, error, freedom } = *self;
        exp(Centre { value, error, freedom }.interval(&Student::new(alpha)))
    }

    fn is_known(&self) -> bool {
        self.value.is_finite() && self.error.is_finite() && self.freedom >= 1.0
    }

    pub(crate) fn variance(&self) -> f64 {
        self.error.max(ERROR_LEAST).powi(2)
    }
}

/// The same effects with variances that borrow from each other. A host has few trials, so that its own
/// variance is known badly: where the hosts' variances resemble each other, each is joined with all (Smyth,
/// Statistical Applications in Genetics and Molecular Biology 3(1)3, 2004). A host that is noisier than the
/// others for certain keeps its own.
pub fn moderated(effects: &[HostEffect]) -> Vec<HostEffect> {
    // The variance of one trial: hosts may differ in their number of trials.
    let of_trial = |effect: &HostEffect| (effect.variance() * (effect.freedom + 1.0), effect.freedom);
    let variances: Vec<(f64, f64)> = effects.iter().map(of_trial).collect();
    let Some(prior) = Prior::of_independent(&variances) else { return effects.to_vec() };
    let join = |(effect, variance): (&HostEffect, &(f64, f64))| {
        if !effect.is_known() || effect.freedom.is_infinite() {
            return *effect;
        }
        if prior.is_exceeded_by(*variance, NOISIER) {
            return *effect;
        }
        let (joined, freedom) = prior.join(*variance);
        HostEffect { error: (joined / (effect.freedom + 1.0)).sqrt(), freedom, ..*effect }
    };
    effects.iter().zip(&variances).map(join).collect()
}

/// All hosts together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PooledEffect {
    mean: Centre,
    /// The variance between hosts.
    between: f64,
    /// A variance that is larger than that between hosts with a chance of 75 %.
    between_at_most: f64,
    /// The variance of the hosts' results, and the part of it that is typical of the errors of one (Higgins &
    /// Thompson 2002): their difference is the variance between hosts, where that is positive.
    scatter: f64,
    typical: f64,
    /// Share of the variance of the hosts' results that is variance between hosts: I² (Higgins & Thompson,
    /// Statistics in Medicine 21, 2002).
    pub between_share: f64,
    /// How many hosts.
    pub hosts: usize,
}

/// The mean of these hosts; `None` of fewer than two.
pub fn pooled(effects: &[HostEffect]) -> Option<PooledEffect> {
    let fixed = Weighted::new(effects, 0.0);
    if effects.len() < 2 || !fixed.mean.is_finite() {
        return None;
    }
    let freedom = effects.len() as f64 - 1.0;
    let heterogeneity = fixed.squares;
    let scale = fixed.sum - fixed.sum_of_squares / fixed.sum;
    let between = ((heterogeneity - freedom) / scale).max(0.0);
    let random = Weighted::new(effects, between);
    // The guard: with hosts that resemble each other by luck the factor is below 1.
    let factor = (random.squares / freedom).max(1.0);
    Some(PooledEffect {
        mean: Centre { value: random.mean, error: (factor / random.sum).sqrt(), freedom },
        between,
        between_at_most: upper(effects, freedom).max(between),
        scatter: heterogeneity / scale,
        typical: freedom / scale,
        between_share: ((heterogeneity - freedom) / heterogeneity).max(0.0),
        hosts: effects.len(),
    })
}

impl PooledEffect {
    /// The mean with its interval at this error rate, as a cost or a ratio.
    pub fn mean(&self, alpha: f64) -> Interval {
        exp(self.mean.interval(&Student::new(alpha)))
    }

    /// Where a further host is expected; `None` with fewer than three.
    pub fn prediction(&self, alpha: f64) -> Option<Interval> {
        if self.hosts < 3 {
            return None;
        }
        let error = self.between_at_most.sqrt().hypot(self.mean.error);
        let further = Centre { error, freedom: self.mean.freedom - 1.0, ..self.mean };
        Some(exp(further.interval(&Student::new(alpha))))
    }

    /// Standard deviation between hosts, as a share.
    pub fn spread(&self) -> f64 {
        self.between.sqrt().exp_m1()
    }

    /// The evidence about a mean ratio. No difference below `floor`, a share, is claimed.
    pub fn evidence(&self, floor: f64) -> RatioEvidence {
        RatioEvidence {
            ratio: self.mean,
            tick: 0.0,
            floor: floor.max(0.0).ln_1p(),
            chance_least: 0.0,
            is_enough: true,
            is_paired: true,
            units: (self.hosts, self.hosts),
        }
    }

    /// The variance between hosts, of logarithms.
    pub fn variance_between(&self) -> f64 {
        self.between
    }
}

/// The chance that the variance between hosts is larger than its upper bound.
const BEYOND: f64 = 0.25;
/// The largest variance between hosts, of logarithms: they differ by a factor of 10⁴.
const BETWEEN_MOST: f64 = 100.0;

/// The variance between hosts at which their weighted squares are as small as that chance makes them.
fn upper(effects: &[HostEffect], freedom: f64) -> f64 {
    let chance = |between: f64| {
        let squares = Weighted::new(effects, between).squares;
        ChiSquared::new(freedom).map_or(0.0, |chi_square| chi_square.cdf(squares))
    };
    let (mut low, mut high) = (0.0, BETWEEN_MOST);
    if chance(low) <= BEYOND {
        return 0.0;
    }
    // The squares fall as the variance rises.
    for _ in 0..60 {
        let middle = if low == 0.0 { high * 1e-3 } else { f64::sqrt(low * high) };
        if chance(middle) > BEYOND {
            low = middle
        } else {
            high = middle
        }
        if high < ERROR_LEAST {
            break;
        }
    }
    high
}

/// Hosts weighted by the inverse of their variances.
struct Weighted {
    sum: f64,
    sum_of_squares: f64,
    mean: f64,
    /// Weighted squares of the deviations: Cochran's Q, where nothing lies between hosts.
    squares: f64,
}

impl Weighted {
    fn new(effects: &[HostEffect], between: f64) -> Weighted {
        let weight = |effect: &HostEffect| 1.0 / (effect.variance() + between);
        let sum: f64 = effects.iter().map(weight).sum();
        let mean = effects.iter().map(|effect| weight(effect) * effect.value).sum::<f64>() / sum;
        let squared = |effect: &HostEffect| weight(effect) * (effect.value - mean).powi(2);
        Weighted {
            sum,
            sum_of_squares: effects.iter().map(|effect| weight(effect).powi(2)).sum(),
            mean,
            squares: effects.iter().map(squared).sum(),
        }
    }
}

/// The claim about one ratio.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FleetRatioAnswer {
    /// The claim.
    pub answer: Answer,
    /// The ratio, with the interval of the error rate at which the claim was made or tried.
    pub ratio: Interval,
}

/// Answers to all of these ratios together, with this smallest difference that matters, a share: of every
/// host in every series, or of the means over hosts.
///
/// Each kind of claim (faster or slower, equivalent, different at all) has its own list of chances over all
/// of them, and at most a share of `alpha` of the claims of each kind is expected to be false (Benjamini &
/// Hochberg, JRSS B 57, 1995). Without that, of a hundred equal hosts five would be called faster.
pub fn ratio_answers(ratios: &[RatioEvidence], margin: f64, alpha: f64) -> Vec<FleetRatioAnswer> {
    let log_margin = |ratio: &RatioEvidence| margin.max(0.0).ln_1p().max(ratio.floor);
    let chances: Vec<PerClaim> = ratios.iter().map(|ratio| ratio.chances(log_margin(ratio))).collect();
    let level = |of: fn(&PerClaim) -> f64| discoveries(&chances.iter().map(of).collect::<Vec<f64>>(), alpha);
    let levels =
        PerClaim { beyond: level(|c| c.beyond), within: level(|c| c.within), differs: level(|c| c.differs) };
    // As for a single pair of systems, in `Contrast::at`.
    let answer = |(ratio, chances): (&RatioEvidence, &PerClaim)| {
        let (answer, level) = chances.answer(ratio.ratio.value, log_margin(ratio), &levels);
        FleetRatioAnswer { answer, ratio: ratio.around(&Student::new(level)) }
    };
    ratios.iter().zip(&chances).map(answer).collect()
}
