//! Variances of several contrasts, each moderated by all of them.
//!
//! With two pairs of trials a variance has one degree of freedom, and a cost that is 28 times another is "not
//! certain". The series of one run share the machine and the method, so that their variances resemble each
//! other: an empirical Bayes prior, of d₀ degrees of freedom and variance s₀², joins each of them (Smyth,
//! Statistical Applications in Genetics and Molecular Biology 3(1)3, 2004): s̃² = (d₀·s₀² + d·s²)/(d₀ + d),
//! and t has d₀ + d degrees of freedom.
//!
//! Smyth has thousands of genes to estimate the prior from, and a run has a dozen ratios of the same trials.
//! With his estimates as they stand, 20 % of simulated suites of equal contenders had a difference where one
//! series was ten times as noisy as the others (two pairs of trials, four series). So two things differ here.
//! s₀² is the pooled variance, which the noisiest series dominate. d₀, by his method of moments, is at most
//! two, and at most half of the degrees of freedom that the trials have between them: series of the same
//! trials repeat each other. Then at most 5 % of suites have one, with variances that are equal, that
//! differ by ten between series or between contenders, at 2, 3, 5 and 10 trials (`osdyno selftest --only
//! 'race-*'`).

use statrs::distribution::{ContinuousCDF, FisherSnedecor};
use statrs::function::gamma::digamma;

use crate::centre::{mean, squares};
use crate::contrast::Contrast;

/// Fewer variances do not show how variances differ.
const VARIANCES: usize = 3;
/// The most degrees of freedom of a prior that a run can support.
const FREEDOM: f64 = 2.0;
/// Pairs of trials from which on a contrast with a prior may claim something.
pub(crate) const FEWEST_WITH_PRIOR: usize = 2;

/// The prior of the variance of one series, from all series.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Prior {
    pub(crate) freedom: f64,
    pub(crate) variance: f64,
}

impl Prior {
    /// From variances with their degrees of freedom.
    pub(crate) fn new(variances: &[(f64, f64)], freedom: f64) -> Option<Prior> {
        let known: Vec<(f64, f64)> =
            variances.iter().copied().filter(|(variance, _)| *variance > 0.0).collect();
        let (pooled, _) = pooled(&known)?;
        let freedom = moments(&known).min(FREEDOM).min(freedom / 2.0);
        (freedom > 0.0).then_some(Prior { freedom, variance: pooled })
    }

    /// From variances of trials that have nothing in common, such as those of several hosts: Smyth's own
    /// estimates, with at most the degrees of freedom that there are.
    pub(crate) fn of_independent(variances: &[(f64, f64)]) -> Option<Prior> {
        let is_usable = |(variance, freedom): &(f64, f64)| {
            variance.is_normal() && *variance > 0.0 && freedom.is_finite() && *freedom >= 1.0
        };
        let known: Vec<(f64, f64)> = variances.iter().copied().filter(is_usable).collect();
        let (pooled, of) = pooled(&known)?;
        let found = moments(&known);
        if found >= of {
            return Some(Prior { freedom: of, variance: pooled });
        }
        // The centre of the logarithms, which one noisy host hardly moves.
        let middle = mean(&unbiased_logs(&known));
        let variance = (middle + digamma(found / 2.0) - (found / 2.0).ln()).exp();
        Some(Prior { freedom: found, variance })
    }

    /// Whether a variance exceeds those that the prior allows, with this chance of an error: their ratio has
    /// the distribution F (Smyth 2004, §4).
    pub(crate) fn is_exceeded_by(self, (variance, freedom): (f64, f64), chance: f64) -> bool {
        let ratio = variance / self.variance;
        let beyond = FisherSnedecor::new(freedom, self.freedom).map_or(1.0, |f| 1.0 - f.cdf(ratio));
        ratio.is_finite() && beyond < chance
    }

    /// A variance with its degrees of freedom, combined with the prior.
    pub(crate) fn join(self, (variance, freedom): (f64, f64)) -> (f64, f64) {
        let all = self.freedom + freedom;
        ((self.freedom * self.variance + freedom * variance) / all, all)
    }
}

/// The mean of the variances and the sum of their degrees of freedom; `None` where they are too few.
fn pooled(variances: &[(f64, f64)]) -> Option<(f64, f64)> {
    let of = variances.iter().map(|(_, freedom)| freedom).sum::<f64>();
    let pooled = variances.iter().map(|(variance, freedom)| variance * freedom).sum::<f64>() / of;
    (variances.len() >= VARIANCES).then_some((pooled, of))
}

/// Logarithms of the variances, without the bias of few degrees of freedom.
fn unbiased_logs(variances: &[(f64, f64)]) -> Vec<f64> {
    let log =
        |(variance, freedom): &(f64, f64)| variance.ln() - digamma(freedom / 2.0) + (freedom / 2.0).ln();
    variances.iter().map(log).collect()
}

/// d₀ by the method of moments: the logarithms of the variances scatter by ψ′(d/2) of themselves, and the
/// rest is ψ′(d₀/2). Infinite where nothing is left.
fn moments(variances: &[(f64, f64)]) -> f64 {
    let count = variances.len() as f64;
    let scatter = squares(&unbiased_logs(variances)) / (count - 1.0);
    let own = variances.iter().map(|(_, freedom)| trigamma(freedom / 2.0)).sum::<f64>() / count;
    let rest = scatter - own;
    if rest <= 0.0 {
        return f64::INFINITY;
    }
    // ψ′ falls, so bisection of the logarithm finds the root.
    let (mut low, mut high) = (1e-6_f64, 1e6_f64);
    for _ in 0..60 {
        let half = (low * high).sqrt();
        if trigamma(half) > rest { low = half } else { high = half }
    }
    2.0 * low
}

/// ψ′, by its recurrence and its asymptotic series (Abramowitz & Stegun, 1964, 6.4.6 and 6.4.12).
fn trigamma(x: f64) -> f64 {
    let (mut x, mut sum) = (x, 0.0);
    while x < 6.0 {
        sum += 1.0 / (x * x);
        x += 1.0;
    }
    let square = 1.0 / (x * x);
    sum + 1.0 / x + square / 2.0 + square / x * (1.0 / 6.0 - square * (1.0 / 30.0 - square / 42.0))
}

/// Moderates the variances of contrasts of one kind, those of pairs of trials that have one; `freedom` is how
/// many degrees of freedom the trials have between them, whatever number of series they measured.
pub fn moderate<'c>(contrasts: impl Iterator<Item = &'c mut Contrast>, freedom: f64) {
    let contrasts: Vec<&mut Contrast> = contrasts.collect();
    let variances: Vec<(f64, f64)> = contrasts.iter().filter_map(|contrast| contrast.variance()).collect();
    let Some(prior) = Prior::new(&variances, freedom) else { return };
    contrasts.into_iter().for_each(|contrast| contrast.join(prior));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate::normal;

    /// ψ′(1) = π²/6 and ψ′(½) = π²/2.
    #[test]
    fn trigamma_agrees_with_what_is_known() {
        let square = std::f64::consts::PI.powi(2);
        for (x, value) in [(1.0, square / 6.0), (0.5, square / 2.0), (5.0, 0.221_322_955_737_115)] {
            assert!((trigamma(x) - value).abs() < 1e-8, "{x}: {}", trigamma(x));
        }
    }

    /// A thousand variances drawn with a prior of four degrees of freedom show that number.
    #[test]
    fn the_freedom_of_a_prior_is_found_again() {
        let mut random = fastrand::Rng::with_seed(5);
        let mut chi_square = |freedom: usize| (0..freedom).map(|_| normal(&mut random).powi(2)).sum::<f64>();
        let variances: Vec<(f64, f64)> = (0..4_000)
            .map(|_| {
                let truth = 4.0 / chi_square(4);
                (truth * chi_square(3) / 3.0, 3.0)
            })
            .collect();
        let found = moments(&variances);
        assert!((3.2..5.0).contains(&found), "{found}");
    }

    #[test]
    fn few_variances_make_no_prior_and_many_are_bounded() {
        let equal = [(1.0, 1.0); 12];
        assert_eq!(Prior::new(&equal[..2], 8.0), None);
        assert_eq!(Prior::new(&[(0.0, 1.0); 12], 8.0), None);
        assert_eq!(Prior::new(&equal, 8.0), Some(Prior { freedom: 2.0, variance: 1.0 }));
        assert_eq!(Prior::new(&equal, 2.0), Some(Prior { freedom: 1.0, variance: 1.0 }));
        let prior = Prior { freedom: 2.0, variance: 1.0 };
        assert_eq!(prior.join((4.0, 1.0)), (2.0, 3.0));
    }
}
