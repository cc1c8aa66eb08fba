//! The kinds of series on a screen: each series is of one kind.

use judge::{Finding, Findings, improves, worsens};
use stats::{Class, Warning};

/// The kind of a series.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// It ends worse than it begins: a cost that grows, a rate that falls.
    Worse,
    Flat,
    GrowsLittle,
    /// It ends better than it begins.
    Better,
    /// It changes, and ends where it begins, within its interval.
    Uneven,
    OneLevel,
    TooShort,
    Undecided,
    /// A comparison stands in place of its verdict.
    Compared,
    NoNumber,
}

impl Kind {
    /// The kind of a series in a run.
    pub(super) fn in_run(findings: &Findings, finding: &Finding) -> Kind {
        match Kind::of(finding) {
            Kind::NoNumber => Kind::NoNumber,
            _ if findings.is_ranked_elsewhere(finding) => Kind::Compared,
            kind => kind,
        }
    }

    /// The kind by its own verdict.
    pub(crate) fn of(finding: &Finding) -> Kind {
        let Some(verdict) = &finding.verdict else { return Kind::NoNumber };
        match verdict.class {
            Class::Flat => Kind::Flat,
            Class::SmallGrowth => Kind::GrowsLittle,
            Class::Value => Kind::OneLevel,
            Class::Inconclusive if verdict.warnings.contains(&Warning::BelowResolution) => Kind::TooShort,
            Class::Inconclusive => Kind::Undecided,
            _ if worsens(finding) => Kind::Worse,
            _ if improves(finding) => Kind::Better,
            _ => Kind::Uneven,
        }
    }
}
