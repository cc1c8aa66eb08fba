//! Claims about many ratios at once: of every host in every series, or of the means over hosts.
//!
//! Each kind of claim (faster or slower, equivalent, different at all) has its own list of chances over all
//! hosts and series, and at most a share of `alpha` of the claims of each kind is expected to be false
//! (Benjamini & Hochberg, JRSS B 57, 1995). Without that, of a hundred equal hosts five would be called
//! faster.

use crate::centre::{Interval, Student, exp};
use crate::compare::Answer;
use crate::gate::{RatioEvidence, discoveries};

/// The claim about one ratio.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FleetRatioAnswer {
    /// The claim.
    pub answer: Answer,
    /// The ratio, with the interval of the error rate at which the claim was made or tried.
    pub ratio: Interval,
}

/// The chances of one ratio: of a difference beyond the margin, within it, and at all.
struct Chances {
    beyond: f64,
    within: f64,
    differs: f64,
}

/// Answers to all of these ratios together, with this smallest difference that matters, a share.
pub fn ratio_answers(ratios: &[RatioEvidence], margin: f64, alpha: f64) -> Vec<FleetRatioAnswer> {
    let chances: Vec<Chances> = ratios.iter().map(|ratio| Chances::new(ratio, margin)).collect();
    let level = |of: fn(&Chances) -> f64| discoveries(&chances.iter().map(of).collect::<Vec<f64>>(), alpha);
    let levels =
        Chances { beyond: level(|c| c.beyond), within: level(|c| c.within), differs: level(|c| c.differs) };
    ratios.iter().zip(&chances).map(|(ratio, chances)| answer(ratio, chances, &levels, margin)).collect()
}

impl Chances {
    fn new(of: &RatioEvidence, margin: f64) -> Chances {
        let (size, margin) = (of.ratio.value.abs(), log_margin(of, margin));
        let chance = |distance: f64| of.chance(&of.ratio, distance);
        Chances {
            beyond: chance(size - margin),
            within: chance(margin - size),
            differs: chance(size - of.floor),
        }
    }
}

fn log_margin(of: &RatioEvidence, margin: f64) -> f64 {
    margin.max(0.0).ln_1p().max(of.floor)
}

/// As for a single pair of systems ([`Contrast::at`](crate::Contrast::at)).
fn answer(of: &RatioEvidence, chances: &Chances, levels: &Chances, margin: f64) -> FleetRatioAnswer {
    let both = levels.within.min(levels.differs / 2.0);
    let (answer, level) = if of.ratio.value.abs() > log_margin(of, margin) {
        let answer = match chances.beyond <= levels.beyond {
            true if of.ratio.value < 0.0 => Answer::Faster,
            true => Answer::Slower,
            false => Answer::Unresolved,
        };
        (answer, levels.beyond)
    } else if chances.within <= both && chances.differs <= both {
        (Answer::DifferentButSmall, both)
    } else if chances.within <= levels.within {
        (Answer::Equivalent, levels.within)
    } else {
        (Answer::Unresolved, levels.within)
    };
    let reach = of.ratio.reach(&Student::new(level)).max(of.tick);
    let value = of.ratio.value;
    FleetRatioAnswer { answer, ratio: exp(Interval { value, low: value - reach, high: value + reach }) }
}
