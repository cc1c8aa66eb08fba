//! The hosts that differ from the others for certain.
//!
//! A host is set against the mean of the hosts without it, and their spread without it (externally
//! studentized; Viechtbauer & Cheung, Research Synthesis Methods 1, 2010), by Student's t with as many
//! degrees of freedom as that spread has. Several outliers would hide each other, because each widens the
//! spread that the others are held against. So the furthest host is taken away, then the furthest of the
//! rest, up to a third of the hosts, and all up to the last that differs are named (the generalized extreme
//! studentized deviate; Rosner, Technometrics 25, 1983): the chance at each step counts for every host that
//! was there. Rosner's critical values hold from fifteen or so on; fleets may be smaller, so that the steps
//! share the error rate. Where several hosts lie apart the last of them is certain far beyond that.
//!
//! The share of false ones among the named hosts is held over all hosts and series of a fleet together
//! (Benjamini & Hochberg, JRSS B 57, 1995). A host must also differ by more than the margin as estimated.
//!
//! With three or four hosts the rest has a spread of one or two degrees of freedom, and one series alone can
//! name nothing that is less than gross. Series of one kind lend each other their spread there, as ratios do
//! (`prior.rs`).

use super::{HostEffect, PooledEffect, pooled};
use crate::centre::{Centre, Interval, Student, exp, tails};
use crate::compare::discoveries;
use crate::prior::Prior;

/// The most hosts that are taken away from one series.
const REMOVED_MOST: usize = 32;
/// The share of the error rate that the first step has; the others have equal parts of the rest.
const FIRST: f64 = 0.9;
/// One in so many hosts may be outlying; one of three always.
const ONE_IN: usize = 3;
/// The least scatter of the others, as a share of what their errors make: values on ticks of a clock may
/// agree by chance.
const SCATTER_LEAST: f64 = 0.25;
/// From so many degrees of freedom on the rest shows its own spread.
const FREEDOM_ENOUGH: f64 = 4.0;
/// Error rate of the interval of each difference.
const ALPHA: f64 = 0.05;

/// The hosts of one series that lie furthest from the others.
#[derive(Clone, Debug)]
pub struct Deviations {
    effects: Vec<Option<HostEffect>>,
    /// The furthest first.
    steps: Vec<Step>,
}

/// One host against those that remain without it.
#[derive(Clone, Copy, Debug)]
struct Step {
    host: usize,
    /// How many hosts there were with it.
    of: usize,
    difference: f64,
    variance: f64,
    freedom: f64,
}

/// A host that differs from the others in one series.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outlier {
    /// Its place among the hosts.
    pub host: usize,
    /// Its cost, or ratio, over the mean of the hosts that are not outlying, with the 95 % interval of that.
    pub ratio: Interval,
    /// The chance of such a distance if the host were one of the others.
    pub chance: f64,
}

impl Deviations {
    /// The hosts of one series, in their order; `None` stands for a host without a result.
    pub fn new(effects: &[Option<HostEffect>]) -> Deviations {
        let mut remaining: Vec<usize> = (0..effects.len()).filter(|host| effects[*host].is_some()).collect();
        let most = (remaining.len() / ONE_IN).min(REMOVED_MOST);
        let mut steps = Vec::new();
        while steps.len() < most {
            let Some(step) = furthest(effects, &remaining) else { break };
            remaining.retain(|host| *host != step.host);
            steps.push(step);
        }
        Deviations { effects: effects.to_vec(), steps }
    }

    /// The chance of each step, smaller where a later one is certain.
    fn chances(&self) -> Vec<f64> {
        let all = self.steps.first().map_or(1, |step| step.of) as f64;
        let share = |place: usize| match (place, self.steps.len()) {
            (_, 1) => 1.0,
            (0, _) => FIRST,
            (_, steps) => (1.0 - FIRST) / (steps - 1) as f64,
        };
        let chance = |(place, step): (usize, &Step)| {
            let t = step.difference / step.variance.sqrt();
            // It is the furthest of so many; the correction for all hosts follows over the fleet.
            let of_all = step.of as f64 / all / share(place);
            if t.is_finite() { (tails(t, step.freedom) * of_all).min(1.0) } else { 1.0 }
        };
        let mut chances: Vec<f64> = self.steps.iter().enumerate().map(chance).collect();
        for place in (1..chances.len()).rev() {
            chances[place - 1] = chances[place - 1].min(chances[place]);
        }
        chances
    }

    /// The hosts whose chance is at most `level`, and that differ from the others by more than the margin.
    fn named(&self, level: f64, margin: f64) -> Vec<Outlier> {
        let chances = self.chances();
        let is_apart = |place: &usize| chances[*place] <= level;
        let apart: Vec<usize> = (0..self.steps.len()).take_while(is_apart).collect();
        let is_named = |host: usize| apart.iter().any(|place| self.steps[*place].host == host);
        let others = self.effects.iter().enumerate().filter(|(host, _)| !is_named(*host));
        let others: Vec<HostEffect> = others.filter_map(|(_, effect)| *effect).collect();
        let Some(rest) = pooled(&others) else { return Vec::new() };
        let outlier = |place: usize| {
            let host = self.steps[place].host;
            let effect = self.effects[host]?;
            let difference = difference(&effect, &rest);
            let ratio = exp(difference.interval(&Student::new(ALPHA)));
            let is_large = difference.value.abs() > margin.ln_1p();
            is_large.then_some(Outlier { host, ratio, chance: chances[place] })
        };
        apart.into_iter().filter_map(outlier).collect()
    }
}

/// A host less the mean of others, with the errors of both.
fn difference(effect: &HostEffect, rest: &PooledEffect) -> Centre {
    let mean = rest.mean;
    let (own, of_rest) = (effect.variance(), mean.error.powi(2));
    // Welch (Biometrika 34, 1947).
    let freedom = (own + of_rest).powi(2)
        / (own.powi(2) / effect.freedom.max(1.0) + of_rest.powi(2) / mean.freedom.max(1.0));
    Centre { value: effect.value - mean.value, error: (own + of_rest).sqrt(), freedom }
}

/// The host that lies furthest from the mean of these hosts, against all but itself; `None` of fewer than
/// three.
fn furthest(effects: &[Option<HostEffect>], remaining: &[usize]) -> Option<Step> {
    let of =
        |hosts: &[usize]| -> Vec<HostEffect> { hosts.iter().filter_map(|host| effects[*host]).collect() };
    if remaining.len() < 3 {
        return None;
    }
    let all = pooled(&of(remaining))?;
    let distance = |host: &usize| {
        let effect = effects[*host].as_ref();
        let size =
            |effect: &HostEffect| (effect.value - all.mean.value).powi(2) / (effect.variance() + all.between);
        effect.map_or(0.0, size)
    };
    let host = *remaining.iter().max_by(|a, b| distance(a).total_cmp(&distance(b)))?;
    let others: Vec<usize> = remaining.iter().copied().filter(|other| *other != host).collect();
    let rest = pooled(&of(&others))?;
    let effect = effects[host]?;
    // Where a host like the others would lie: as far from their mean as they do. That is exact where all have
    // equal errors, and it does not matter which part of their scatter lies between hosts. A noisier one may
    // lie further, by an error that its own trials show.
    let count = others.len() as f64;
    let scatter = rest.scatter.max(rest.typical * SCATTER_LEAST) * (1.0 + 1.0 / count);
    let noisier = (effect.variance() - rest.typical).max(0.0);
    let variance = scatter + noisier;
    // Welch & Satterthwaite, of independent parts; never more than the scatter has.
    let parts = scatter.powi(2) / (count - 1.0) + noisier.powi(2) / effect.freedom.max(1.0);
    Some(Step {
        host,
        of: remaining.len(),
        difference: effect.value - rest.mean.value,
        variance,
        freedom: (variance.powi(2) / parts).min(count - 1.0),
    })
}

/// The outlying hosts of each series. The share of false ones among all of them is at most `alpha`; each
/// differs by more than the margin, a share. `kinds` has a list of series for each kind of figure, whose
/// spreads resemble each other, and how many degrees of freedom the hosts have between them: several series
/// of the same trials count once.
pub fn outlying(kinds: &mut [(Vec<Deviations>, f64)], alpha: f64, margin: f64) -> Vec<Vec<Vec<Outlier>>> {
    kinds.iter_mut().for_each(|(series, freedom)| moderate(series, *freedom));
    let hosts = |one: &Deviations| one.effects.iter().flatten().count();
    let all = || kinds.iter().flat_map(|(series, _)| series);
    // Hosts that were never the furthest have no chance of their own.
    let mut chances: Vec<f64> = all().flat_map(Deviations::chances).collect();
    chances.resize(all().map(hosts).sum(), 1.0);
    let level = discoveries(&chances, alpha);
    kinds.iter().map(|(series, _)| series.iter().map(|one| one.named(level, margin)).collect()).collect()
}

/// Moderates the variance of each step by those of the same step in other series, where hosts are few.
fn moderate(series: &mut [Deviations], freedom: f64) {
    let steps = series.iter().map(|one| one.steps.len()).max().unwrap_or(0);
    for place in 0..steps {
        let is_few = |step: &&mut Step| step.freedom < FREEDOM_ENOUGH;
        let mut of_place: Vec<&mut Step> =
            series.iter_mut().filter_map(|one| one.steps.get_mut(place)).filter(is_few).collect();
        let variances: Vec<(f64, f64)> = of_place.iter().map(|step| (step.variance, step.freedom)).collect();
        let Some(prior) = Prior::new(&variances, freedom) else { continue };
        for (step, variance) in of_place.iter_mut().zip(variances) {
            (step.variance, step.freedom) = prior.join(variance);
        }
    }
}
