//! The plots of a figure, each with its title.

use super::plot::Subject;
use super::scale::Kind;
use super::tail::Tail;
use crate::words::capital;

/// A plot of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Panel {
    /// Every point, cost over n on linear axes.
    Linear,
    /// The same on logarithmic axes.
    Logarithmic,
    /// The change against the level at small n, with its simultaneous band.
    Change,
    /// All costs of the upper quarter of n, by percentile.
    Percentiles,
}

impl Panel {
    /// Its title; that of [`Panel::Percentiles`] has the first n.
    pub(super) fn title(self, what: &str) -> String {
        match self {
            Panel::Linear => format!("{}, linear axes", capital(what)),
            Panel::Logarithmic => format!("{}, logarithmic axes", capital(what)),
            Panel::Change => "Change against its level at small n".into(),
            Panel::Percentiles => "All costs by percentile".into(),
        }
    }

    /// The plot and its title.
    pub(super) fn draw(self, subject: &Subject<'_>) -> Option<(String, String)> {
        let named = |svg| (self.title(subject.what), svg);
        match self {
            Panel::Linear | Panel::Logarithmic => {
                let kind = if self == Panel::Linear { Kind::Linear } else { Kind::Log };
                subject.cost(kind).map(|plot| (self.title(subject.what) + &plot.above(), plot.svg))
            }
            Panel::Change => subject.change().map(named),
            Panel::Percentiles => {
                let tail = Tail::of(subject.sweeps, subject.verdict.map(|v| (v.n_low, v.n_high)))?;
                let Subject { id, label, unit, verdict, .. } = subject;
                Some((tail.title(), tail.draw(id, label, *unit, *verdict, 0.0)))
            }
        }
    }
}
