//! One series on many hosts: the effect on each, their mean, their spread, and the hosts that lie apart.
//!
//! A host is a stratum. Trials of one host are compared with trials of the same host only, and the result of
//! a host, a cost or a ratio, is one observation of the fleet:
//!
//! - `costs`: the cost on each host, over the n that the hosts have in common;
//! - `pool`: the mean of all hosts, with its interval, the interval of a further host, and their spread;
//! - `outlying`: the hosts that differ from the others for certain;
//! - `answers`: claims about ratios, over all hosts and series together.
//!
//! All effects are natural logarithms, so that a difference is a ratio.

mod answers;
mod costs;
mod outlying;
mod pool;

pub use answers::{FleetRatioAnswer, ratio_answers};
pub use costs::{HostCosts, HostSweeps, NoCost, host_costs};
pub use outlying::{Deviations, Outlier, outlying};
pub use pool::{PooledEffect, pooled};

use crate::centre::{Centre, Interval, Student, exp};
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
