//! Claims about many ratios at once: of every host in every series, or of the means over hosts.
//!
//! Each kind of claim (faster or slower, equivalent, different at all) has its own list of chances over all
//! hosts and series, and at most a share of `alpha` of the claims of each kind is expected to be false
//! (Benjamini & Hochberg, JRSS B 57, 1995). Without that, of a hundred equal hosts five would be called
//! faster.

use crate::centre::{Interval, Student, exp};
use crate::compare::{Answer, PerClaim};
use crate::gate::{RatioEvidence, discoveries};

/// The claim about one ratio.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FleetRatioAnswer {
    /// The claim.
    pub answer: Answer,
    /// The ratio, with the interval of the error rate at which the claim was made or tried.
    pub ratio: Interval,
}

/// Answers to all of these ratios together, with this smallest difference that matters, a share.
pub fn ratio_answers(ratios: &[RatioEvidence], margin: f64, alpha: f64) -> Vec<FleetRatioAnswer> {
    let chances: Vec<PerClaim> = ratios.iter().map(|ratio| chances_of(ratio, margin)).collect();
    let level = |of: fn(&PerClaim) -> f64| discoveries(&chances.iter().map(of).collect::<Vec<f64>>(), alpha);
    let levels =
        PerClaim { beyond: level(|c| c.beyond), within: level(|c| c.within), differs: level(|c| c.differs) };
    ratios.iter().zip(&chances).map(|(ratio, chances)| answer(ratio, chances, &levels, margin)).collect()
}

fn chances_of(of: &RatioEvidence, margin: f64) -> PerClaim {
    let (size, margin) = (of.ratio.value.abs(), log_margin(of, margin));
    let chance = |distance: f64| of.chance(&of.ratio, distance);
    PerClaim {
        beyond: chance(size - margin),
        within: chance(margin - size),
        differs: chance(size - of.floor),
    }
}

fn log_margin(of: &RatioEvidence, margin: f64) -> f64 {
    margin.max(0.0).ln_1p().max(of.floor)
}

/// As for a single pair of systems ([`Contrast::at`](crate::Contrast::at)).
fn answer(of: &RatioEvidence, chances: &PerClaim, levels: &PerClaim, margin: f64) -> FleetRatioAnswer {
    let (answer, level) = chances.answer(of.ratio.value, log_margin(of, margin), levels);
    let reach = of.ratio.reach(&Student::new(level)).max(of.tick);
    let value = of.ratio.value;
    FleetRatioAnswer { answer, ratio: exp(Interval { value, low: value - reach, high: value + reach }) }
}
