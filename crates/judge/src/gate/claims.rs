//! The claims of a gate, their grammar, and why a gate cannot be applied.

use std::collections::BTreeSet;
use std::fmt;

use record::Unit;
use record::units::{self, Quantity, Unreadable};
use serde::Serialize;
use wildmatch::WildMatch;

use crate::compare::MARGIN;

/// A list of claims that lets a build fail.
#[derive(Clone, Debug, PartialEq)]
pub struct Gate {
    /// The claims, one at least.
    pub claims: Vec<GateClaim>,
}

/// One claim of a gate.
#[derive(Clone, Debug, PartialEq)]
pub struct GateClaim {
    /// The kind.
    pub kind: ClaimKind,
    /// The least change that matters, as a share, where the claim has a margin of its own.
    pub margin: Option<f64>,
    /// The series that it is about, a glob; `None` for all that a run waits for.
    pub series: Option<String>,
}

/// The kinds of claims.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ClaimKind {
    /// A cost rose against the baseline; of a rate, it fell.
    Slower,
    /// A cost, a rate or a size changed against the baseline, in whichever direction.
    Changed,
    /// A cost grows with n: where it did not in the baseline, or against its documentation.
    Grows,
    /// The system refused an operation: below the n of the baseline, or at all.
    Limit,
}

impl ClaimKind {
    /// Each kind, as a message lists them.
    pub const ALL: [ClaimKind; 4] =
        [ClaimKind::Slower, ClaimKind::Changed, ClaimKind::Grows, ClaimKind::Limit];

    /// Its name on a command line.
    pub const fn name(self) -> &'static str {
        match self {
            ClaimKind::Slower => "slower",
            ClaimKind::Changed => "changed",
            ClaimKind::Grows => "grows",
            ClaimKind::Limit => "limit",
        }
    }

    /// Whether it sets a series against that of a baseline, and says nothing of one alone.
    const fn needs_baseline(self) -> bool {
        matches!(self, ClaimKind::Slower | ClaimKind::Changed)
    }
}

impl Gate {
    /// Reads `slower[:5%],changed[:5%],grows,limit`; each may name its series, as in `slower@fork*`.
    ///
    /// # Errors
    /// [`Unreadable`].
    pub fn parse(text: &str) -> Result<Gate, Unreadable> {
        let claims: Vec<GateClaim> =
            text.split(',').map(|claim| GateClaim::parse(claim.trim())).collect::<Result<_, _>>()?;
        match (1..claims.len()).find(|place| claims[..*place].contains(&claims[*place])) {
            Some(place) => Err(Unreadable::new(text, format!("{} is there twice", claims[place]))),
            None => Ok(Gate { claims }),
        }
    }

    /// Whether nothing can be said of a claim without a baseline.
    pub fn needs_baseline(&self) -> bool {
        self.first_of_ratio().is_some()
    }

    /// The first claim that sets a series against that of a baseline.
    fn first_of_ratio(&self) -> Option<&GateClaim> {
        self.claims.iter().find(|claim| claim.kind.needs_baseline())
    }

    /// How many tests share the error rate of ratios: at all looks, of all claims about ratios, in so many
    /// families.
    pub(super) fn tests(&self, looks: u32, families: usize) -> u32 {
        let claims = self.claims.iter().filter(|claim| claim.kind.needs_baseline()).count();
        looks.saturating_mul(u32::try_from(claims * families).unwrap_or(u32::MAX))
    }

    /// Refuses claims that need a baseline where there is none, and claims about series that are not there.
    ///
    /// # Errors
    /// [`GateRefusal`].
    pub fn check(&self, names: &[&str], has_baseline: bool) -> Result<(), GateRefusal> {
        if let Some(claim) = self.first_of_ratio().filter(|_| !has_baseline) {
            return Err(GateRefusal::NoBaseline { claim: claim.to_string() });
        }
        let is_there = |claim: &&GateClaim| names.iter().any(|name| claim.is_about(name, false));
        match self.claims.iter().find(|claim| !is_there(claim)) {
            None => Ok(()),
            Some(claim) => Err(GateRefusal::no_series(claim.to_string(), names)),
        }
    }
}

impl GateClaim {
    fn parse(text: &str) -> Result<GateClaim, Unreadable> {
        let (claim, series) = match text.split_once('@') {
            Some((claim, series)) => (claim, Some(series)),
            None => (text, None),
        };
        let (name, margin) = match claim.split_once(':') {
            Some((name, margin)) => (name, Some(margin)),
            None => (claim, None),
        };
        let refuse = |fault: String| Unreadable::new(text, fault);
        let kind = ClaimKind::ALL.into_iter().find(|kind| kind.name() == name).ok_or_else(|| {
            let nearest = ClaimKind::ALL.map(ClaimKind::name).join(", ");
            refuse(format!("\"{name}\" is no claim; there are {nearest}, as in slower:5%,grows"))
        })?;
        if series.is_some_and(str::is_empty) {
            return Err(refuse("behind @ stands the name of a series, as in slower@fork*".to_owned()));
        }
        let margin = margin.map(|margin| match kind.needs_baseline() {
            true => percent(margin),
            false => Err(refuse(format!("{name} has no margin; write {name}"))),
        });
        Ok(GateClaim { kind, margin: margin.transpose()?, series: series.map(str::to_owned) })
    }

    /// The margin of a ratio: its own, that of the comparison, or the usual one.
    pub(super) fn margin(&self, compared: f64) -> f64 {
        self.margin.unwrap_or(if compared > 0.0 { compared } else { MARGIN })
    }

    /// Whether it is about series of that unit: memory is not slow.
    pub(super) fn is_in(&self, unit: Unit) -> bool {
        self.kind != ClaimKind::Slower || unit != Unit::Bytes
    }

    /// Whether it is about the series of that name. A companion, which only explains another series, counts
    /// where it is named: no run waits for its answer.
    pub(super) fn is_about(&self, label: &str, is_companion: bool) -> bool {
        match &self.series {
            Some(series) => WildMatch::new(series).matches(label),
            None => !is_companion,
        }
    }

    /// The series that count, and the names of those that do not: no number of trials decides about values
    /// that are too short for the clock. They count where the claim names them, and where no others are
    /// there.
    pub(super) fn counted<T>(
        &self,
        all: impl Iterator<Item = T>,
        is_too_short: impl Fn(&T) -> bool,
        name: impl Fn(&T) -> String,
    ) -> (Vec<T>, BTreeSet<String>) {
        let (short, mut counted): (Vec<T>, Vec<T>) = all.partition(is_too_short);
        if self.series.is_none() && !counted.is_empty() {
            return (counted, short.iter().map(name).collect());
        }
        counted.extend(short);
        (counted, BTreeSet::new())
    }
}

/// Why a gate cannot be applied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GateRefusal {
    /// A claim is about a series that is not there, or that only one side has.
    NoSeries {
        /// The claim.
        claim: String,
        /// The names of the series that there are.
        names: Vec<String>,
    },
    /// A claim needs a baseline.
    NoBaseline {
        /// The claim.
        claim: String,
    },
}

impl GateRefusal {
    pub(super) fn no_series(claim: String, names: &[&str]) -> GateRefusal {
        let names: BTreeSet<String> = names.iter().map(|name| (*name).to_owned()).collect();
        GateRefusal::NoSeries { claim, names: names.into_iter().collect() }
    }
}

/// A margin above nothing and below tenfold.
fn percent(text: &str) -> Result<f64, Unreadable> {
    match units::percent(text)? {
        margin if margin > 0.0 && margin < 10.0 => Ok(margin),
        _ => Err(Unreadable::new(text, "a margin is above 0% and below 1000%, such as 5%")),
    }
}

impl fmt::Display for GateClaim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind.name())?;
        if let Some(margin) = self.margin {
            write!(f, ":{}", units::written(margin, Quantity::Share))?;
        }
        match &self.series {
            Some(series) => write!(f, "@{series}"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let claims: Vec<String> = self.claims.iter().map(ToString::to_string).collect();
        f.write_str(&claims.join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gate_is_read_and_written_as_the_same() {
        for text in ["slower", "slower:5%,grows,limit", "changed:0.5%@fork*", "slower@bind close,limit@bind*"]
        {
            assert_eq!(Gate::parse(text).expect("a gate").to_string(), text);
        }
        let gate = Gate::parse(" slower:5 , grows").expect("a gate");
        assert_eq!(gate.to_string(), "slower:5%,grows");
        assert!(gate.claims[0].is_about("anything", false) && !gate.claims[0].is_about("anything", true));
        assert!(gate.needs_baseline());
        let named = Gate::parse("slower@fork*").expect("a gate");
        assert!(named.claims[0].is_about("fork-memory", true) && !named.claims[0].is_about("bind", false));
    }

    #[test]
    fn an_error_names_the_fault_and_an_example() {
        for (text, fault) in [
            ("slowr", "\"slowr\" is no claim; there are slower, changed, grows, limit, as in slower:5%"),
            ("", "is no claim"),
            ("slower,", "is no claim"),
            ("slower:fast", "cannot read \"fast\""),
            ("slower:0%", "a margin is above 0%"),
            ("grows:5%", "grows has no margin; write grows"),
            ("slower@", "behind @ stands the name of a series"),
            ("limit,limit", "limit is there twice"),
        ] {
            let error = Gate::parse(text).expect_err(text).to_string();
            assert!(error.contains(fault), "{text}: {error}");
        }
    }
}
