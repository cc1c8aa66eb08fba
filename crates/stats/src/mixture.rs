//! A mixture of two normal distributions, accepted as two modes only if there is a valley between two peaks.

use crate::centre::mean;

/// The rarer mode holds at least so many values.
const LEAST_COUNT: f64 = 8.0;
/// Ashman's D of two modes that can be distinguished.
pub(crate) const SEPARATION: f64 = 2.5;
/// Difference of Schwarz's criterion that is strong evidence (Kass & Raftery, JASA 90, 1995).
pub(crate) const EVIDENCE: f64 = 10.0;
/// The rarer mode is at most so many times as wide as the other.
const WIDTHS: f64 = 3.0;
/// No spread of logarithms is smaller.
pub(crate) const NARROWEST: f64 = 1e-4;
/// Share of outliers from which a fit starts.
pub(crate) const BROAD: f64 = 0.02;
/// 1/√2π is left out of densities; one that is not normal is multiplied by √2π.
pub(crate) const ROOT: f64 = 2.506_628_274_631;
/// Places between two centres at which the density is computed.
const STEPS: usize = 64;
/// The most rounds; a mixture has settled by then.
const ROUNDS: usize = 60;

/// A normal distribution in a mixture.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Part {
    pub(crate) centre: f64,
    pub(crate) spread: f64,
    pub(crate) share: f64,
}

impl Part {
    /// Up to the factor 1/√2π.
    pub(crate) fn density(&self, value: f64) -> f64 {
        let z = (value - self.centre) / self.spread;
        self.share / self.spread * (-0.5 * z * z).exp()
    }

    pub(crate) fn share_of(&self, other: Part) -> f64 {
        self.share / (self.share + other.share)
    }

    fn new(values: &[f64], share: f64) -> Part {
        let centre = mean(values);
        let squares: f64 = values.iter().map(|value| (value - centre).powi(2)).sum();
        Part { centre, spread: (squares / values.len() as f64).sqrt().max(NARROWEST), share }
    }
}

/// Two modes with a valley between them.
#[derive(Clone, Debug)]
pub(crate) struct Pair {
    /// The lower and the upper one.
    pub(crate) parts: [Part; 2],
    /// Where fewest values lie between them.
    pub(crate) valley: f64,
}

impl Pair {
    /// The modes of sorted values, when every gate accepts them.
    pub(crate) fn new(sorted: &[f64], least_share: f64, spikes: f64, evidence: f64) -> Option<Pair> {
        let outside = Outside::new(sorted, spikes)?;
        let beyond = sorted.partition_point(|value| *value <= outside.limit);
        let mut sorted = if outside.begins(sorted, beyond) { &sorted[..beyond] } else { sorted };
        let mut split = valley(sorted)?;
        // Spikes may also lie above expensive operations.
        if outside.begins(sorted, split) {
            sorted = &sorted[..split];
            split = valley(sorted)?;
        }
        let count = sorted.len() as f64;
        let (below, above) = sorted.split_at(split);
        let start = [below, above].map(|part| Part::new(part, (1.0 - BROAD) * part.len() as f64 / count));
        // Most valleys are chance in the tails, and no fit would accept them.
        let rare = start[0].share.min(start[1].share);
        let middle = |part: &[f64], start: Part| Part { centre: part[part.len() / 2], ..start };
        let parts = [middle(below, start[0]), middle(above, start[1])];
        let first = Pair { parts, valley: sorted[split].midpoint(sorted[split - 1]) };
        if rare < 0.5 * least_share || !first.is_hollow(sorted) {
            return None;
        }
        let (parts, two) = fit(sorted, start);
        let (_, one) = fit(sorted, [Part::new(sorted, 1.0 - BROAD)]);
        let [lower, upper] = parts;
        let (rare, common) = if lower.share < upper.share { (lower, upper) } else { (upper, lower) };
        // A centre, a spread and a share more.
        let accepted = 2.0 * (two - one) - 3.0 * count.ln() > evidence
            && rare.share >= least_share
            && rare.share * count >= LEAST_COUNT
            && rare.spread <= WIDTHS * common.spread;
        let density = |value: f64| lower.density(value) + upper.density(value);
        let between = (0..=STEPS).map(|step| {
            let value = lower.centre + (upper.centre - lower.centre) * step as f64 / STEPS as f64;
            (value, density(value))
        });
        let (place, least) = between.min_by(|a, b| a.1.total_cmp(&b.1))?;
        let pair = Pair { parts, valley: place };
        let peak = density(lower.centre).min(density(upper.centre));
        (accepted && pair.separation() > SEPARATION && least <= peak / 2.0 && pair.is_hollow(sorted))
            .then_some(pair)
    }

    /// D of Ashman, Bird & Zepf, Astronomical Journal 108, 1994.
    pub(crate) fn separation(&self) -> f64 {
        let [lower, upper] = self.parts;
        (upper.centre - lower.centre) * (2.0 / (lower.spread.powi(2) + upper.spread.powi(2))).sqrt()
    }

    /// Whether the values, too, and not only the fit, are few in the valley.
    fn is_hollow(&self, sorted: &[f64]) -> bool {
        let [lower, upper] = self.parts;
        let near = |place: f64| {
            let reach = (upper.centre - lower.centre) / 8.0;
            let below = |end: f64| sorted.partition_point(|value| *value < end);
            below(place + reach) - below(place - reach)
        };
        2 * near(self.valley) <= near(lower.centre).min(near(upper.centre))
    }
}

/// A few values far above all others: the first of them, and how many there may be.
struct Outside {
    limit: f64,
    few: f64,
}

impl Outside {
    fn new(sorted: &[f64], share: f64) -> Option<Outside> {
        let count = sorted.len();
        let (middle, quartile) = (*sorted.get(count / 2)?, *sorted.get(count * 3 / 4)?);
        let limit = (middle + 6.0 * 1.4826 * (quartile - middle)).max(middle + 1.5_f64.ln());
        // Two standard deviations more may be chance.
        let few = share * count as f64 + 2.0 * (share * (1.0 - share) * count as f64).sqrt();
        Some(Outside { limit, few })
    }

    /// Whether the values from `place` on are spikes.
    fn begins(&self, sorted: &[f64], place: usize) -> bool {
        place < sorted.len() && sorted[place] > self.limit && ((sorted.len() - place) as f64) <= self.few
    }
}

/// The valleys, where the density is at most half of that somewhere below and somewhere above: how many
/// values are below.
///
/// The density is taken from the distance over which a fixed number of values extends (Loftsgaarden &
/// Quesenberry, Annals of Mathematical Statistics 36, 1965).
fn valley(sorted: &[f64]) -> Option<usize> {
    let count = sorted.len();
    let near = (count / 60).max(3);
    if count < 4 * near {
        return None;
    }
    let distance = |place: usize| (sorted[place + near] - sorted[place]).max(NARROWEST / 10.0);
    let distances: Vec<f64> = (0..count - near).map(distance).collect();
    let mut above = distances.clone();
    (0..above.len() - 1).rev().for_each(|place| above[place] = above[place].min(above[place + 1]));
    // Few values make a rough density, in which chance digs valleys.
    let needed = (2.2 / (near as f64).sqrt()).exp().max(2.0);
    let mut below = f64::INFINITY;
    let mut best = (needed, None);
    for place in near..distances.len() - near {
        below = below.min(distances[place - near]);
        let ratio = distances[place] / below.max(above[place + near]);
        if ratio > best.0 {
            best = (ratio, Some(place + near / 2 + 1));
        }
    }
    // The largest gap of the values that span it: the edge of a tight mode is no valley.
    let gap = |place: &usize| sorted[*place] - sorted[*place - 1];
    let span =
        |split: usize| split.saturating_sub(near / 2 + 1).max(1)..=(split + near / 2 + 1).min(count - 1);
    best.1.and_then(|split| span(split).max_by(|a, b| gap(a).total_cmp(&gap(b))))
}

/// Expectation and maximisation (Dempster, Laird & Rubin, JRSS B 39, 1977) of a mixture of normal
/// distributions and a broad one for outliers, which covers all values evenly. Gives the log likelihood,
/// up to a constant for each value.
fn fit<const PARTS: usize>(sorted: &[f64], mut parts: [Part; PARTS]) -> ([Part; PARTS], f64) {
    let range = sorted.last().zip(sorted.first()).map_or(1.0, |(last, first)| last - first);
    let broad = ROOT / range.max(NARROWEST);
    let count = sorted.len() as f64;
    let (mut outliers, mut likelihood) = (BROAD, f64::NEG_INFINITY);
    for _ in 0..ROUNDS {
        let mut sums = [(0.0, 0.0, 0.0); PARTS];
        let (mut outside, mut now) = (0.0, 0.0);
        for value in sorted {
            let densities = parts.map(|part| part.density(*value));
            let all = densities.iter().sum::<f64>() + outliers * broad;
            now += all.ln();
            outside += outliers * broad / all;
            for ((density, part), sum) in densities.iter().zip(&parts).zip(&mut sums) {
                let (weight, away) = (density / all, value - part.centre);
                *sum = (sum.0 + weight, sum.1 + weight * away, sum.2 + weight * away * away);
            }
        }
        for (part, (weight, away, squares)) in parts.iter_mut().zip(sums) {
            let moved = away / weight.max(f64::MIN_POSITIVE);
            let variance = squares / weight.max(f64::MIN_POSITIVE) - moved * moved;
            *part = Part {
                centre: part.centre + moved,
                spread: variance.max(0.0).sqrt().max(NARROWEST),
                share: weight / count,
            };
        }
        outliers = (outside / count).max(1e-4);
        let gain = now - likelihood;
        likelihood = now;
        if gain < 1e-3 {
            break;
        }
    }
    (parts, likelihood)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate::normal;
    use fastrand::Rng;

    #[test]
    fn a_fit_finds_what_was_mixed() {
        let mut rng = Rng::with_seed(4);
        let mut values: Vec<f64> = (0..2000)
            .map(|place| if place % 4 == 0 { 1.0 + 0.2 * normal(&mut rng) } else { 0.1 * normal(&mut rng) })
            .collect();
        values.sort_unstable_by(f64::total_cmp);
        let Pair { parts: [lower, upper], valley } = Pair::new(&values, 0.1, 0.1, EVIDENCE).expect("modes");
        for (found, truth) in [
            (lower.centre, 0.0),
            (lower.spread, 0.1),
            (lower.share, 0.75),
            (upper.centre, 1.0),
            (upper.spread, 0.2),
            (upper.share, 0.25),
        ] {
            assert!((found - truth).abs() < 0.03, "{found} is not {truth}");
        }
        assert!((0.2..0.7).contains(&valley));
    }
}
