//! Formats for where the result of a build is read. [`ALL`] is the list.

mod ci;
mod lkml;
pub(crate) mod openmetrics;
mod trackers;

use std::io::{self, Write};

use judge::compare::{Comparison, Ranking, RankingEntry};
use judge::gate::{GateAnswer, GatedSeries};
use judge::{Findings, Fleet, FleetRatio};
use record::Unit;
use stats::{Interval, Verdict};

use crate::fleet;
use crate::text::ungrouped;
use crate::words::{GAP, NO_BREAK};

/// The contents of a format: figures, ratios and the gate of one answer.
#[derive(Clone, Debug, Default)]
pub struct BuildResults {
    /// The machine and the program, in a line.
    pub machine: String,
    /// The measurements, each series at its smallest n and at its largest.
    pub figures: Vec<SeriesFigure>,
    /// How systems compare with the first of them.
    pub changes: Vec<SeriesChange>,
    /// Facts in which the systems differ, the one that says most first: key and values.
    pub differences: Vec<(String, Vec<String>)>,
    /// The decisions of the gate, if there is one.
    pub gate: Option<GateAnswer>,
    /// The command line that repeats it.
    pub repeat: String,
}

/// One value of one series.
#[derive(Clone, Debug, PartialEq)]
pub struct SeriesFigure {
    /// Name of the series for a reader: `bind`, `socket/v6 close`.
    pub series: String,
    /// The system that it is of.
    pub system: String,
    /// Its unit.
    pub unit: Unit,
    /// The n at which it was measured.
    pub n: u64,
    /// The value.
    pub value: Interval,
}

/// One series of one system against the first.
#[derive(Clone, Debug, PartialEq)]
pub struct SeriesChange {
    /// Name of the series for a reader.
    pub series: String,
    /// The system.
    pub system: String,
    /// The system that it is set against.
    pub baseline: String,
    /// Its cost divided by that of the baseline.
    pub ratio: Interval,
    /// The same in words, with the claim.
    pub words: String,
}

/// A format.
#[derive(Clone, Copy, Debug)]
pub struct OutputFormat {
    /// Its name on a command line.
    pub name: &'static str,
    /// The program that reads it.
    pub summary: &'static str,
    /// Writes it.
    pub write: fn(&BuildResults, &mut dyn Write) -> io::Result<()>,
}

/// All formats, in the order in which help lists them.
pub const ALL: [OutputFormat; 6] =
    [ci::GITHUB, ci::JUNIT, openmetrics::FORMAT, lkml::FORMAT, trackers::BENCHMARK_ACTION, trackers::BENCHER];

impl BuildResults {
    /// Those of a run, with the comparison of its systems where it has several.
    pub fn from_findings(findings: &Findings, systems: Option<&Comparison>) -> BuildResults {
        let figures = findings.series.iter().filter_map(|finding| {
            let verdict = finding.verdict.as_ref()?;
            Some(figures(&finding.label, &finding.key.system, finding.unit, verdict))
        });
        let tool = &findings.run.tool;
        let machine = findings
            .systems
            .first()
            .map(|system| crate::sentences::machine(&format!("{} {}", tool.name, tool.version), system));
        let of_fleet = || findings.fleet.as_deref().map(BuildResults::from_fleet);
        let compared = systems.map(BuildResults::from_comparison).or_else(of_fleet).unwrap_or_default();
        BuildResults {
            machine: machine.unwrap_or_default(),
            figures: figures.flatten().collect(),
            ..compared
        }
    }

    /// Those of a fleet: the mean ratios over its hosts.
    pub fn from_fleet(fleet: &Fleet) -> BuildResults {
        let change = |ratio: &FleetRatio| {
            let baseline = fleet.runs.first().or(fleet.configurations.first());
            Some(SeriesChange {
                series: ratio.series.clone(),
                system: fleet.runs.get(1).unwrap_or(&ratio.configuration).clone(),
                baseline: baseline.cloned().unwrap_or_default(),
                ratio: ratio.mean?,
                words: fleet::ratio_words(ratio),
            })
        };
        BuildResults { changes: fleet.ratios.iter().filter_map(change).collect(), ..BuildResults::default() }
    }

    /// Those of a comparison of systems.
    pub fn from_comparison(compared: &Comparison) -> BuildResults {
        let mut results = BuildResults::default();
        for ranking in &compared.rankings {
            for entry in &ranking.standings {
                if let Some(verdict) = &entry.verdict {
                    results.figures.extend(figures(&ranking.label, &entry.name, ranking.unit, verdict));
                }
                results.changes.extend(change(compared, ranking, entry));
            }
        }
        let value = |value: &Option<String>| value.clone().unwrap_or_default();
        let differences = compared.differences.iter();
        results.differences =
            differences.map(|one| (one.key.clone(), one.values.iter().map(value).collect())).collect();
        let first = compared.contenders.first();
        results.machine = first.map_or(String::new(), |first| {
            let tool = &first.run.tool;
            crate::sentences::machine(&format!("{} {}", tool.name, tool.version), &first.system)
        });
        results
    }

    /// The series that fail, and those that are undecided, each with its claim.
    fn gated(&self) -> impl Iterator<Item = (&judge::gate::ClaimAnswer, &GatedSeries)> {
        let claims = self.gate.iter().flat_map(|gate| &gate.claims);
        claims.flat_map(|claim| claim.series.iter().map(move |one| (claim, one)))
    }
}

/// The value at the smallest n and at the largest.
fn figures(series: &str, system: &str, unit: Unit, verdict: &Verdict) -> Vec<SeriesFigure> {
    let figure = |(n, value): (u64, Interval)| SeriesFigure {
        series: series.to_owned(),
        system: system.to_owned(),
        unit,
        n,
        value,
    };
    let ends = [(verdict.n_low, verdict.cost_low), (verdict.n_high, verdict.cost_high)];
    let count = if verdict.n_low == verdict.n_high { 1 } else { 2 };
    ends.into_iter().take(count).filter(|(_, value)| value.value.is_finite()).map(figure).collect()
}

fn change(compared: &Comparison, ranking: &Ranking, entry: &RankingEntry) -> Option<SeriesChange> {
    let ratio = entry.overall.as_ref()?;
    let baseline = compared.contenders.get(entry.reference?)?;
    Some(SeriesChange {
        series: ranking.label.clone(),
        system: entry.name.clone(),
        baseline: baseline.name.clone(),
        ratio: ratio.comparison.ratio,
        words: plain(&crate::compare::answer(ratio, ranking.unit)),
    })
}

/// Words without the characters that only a terminal of our own has a use for.
fn plain(words: &str) -> String {
    ungrouped(words).replace([GAP, NO_BREAK], " ")
}

#[cfg(test)]
pub(crate) mod tests {
    use judge::gate::Gate;

    use super::*;

    /// BuildResults with a figure of each unit, names that need care, and a gate that failed.
    pub(crate) fn results() -> BuildResults {
        let interval = |value: f64| Interval { value, low: 0.9 * value, high: 1.1 * value };
        let figure = |series: &str, unit, n, value| SeriesFigure {
            series: series.to_owned(),
            system: "a \"b\" \\ <c>\n".to_owned(),
            unit,
            n,
            value: interval(value),
        };
        BuildResults {
            machine: "osdyno 0.2.0 · Linux 6.18".to_owned(),
            figures: vec![
                figure("bind", Unit::Seconds, 10, 1.25e-6),
                figure("bind", Unit::Seconds, 20_000, 1.3e-6),
                figure("epoll throughput", Unit::PerSecond, 100, 24_600.0),
                figure("epoll memory", Unit::Bytes, 100, 8_192.0),
                figure("copy", Unit::BytesPerSecond, 1, 2e9),
                figure("Größe", Unit::None, 1, f64::INFINITY),
            ],
            changes: vec![SeriesChange {
                series: "bind".to_owned(),
                system: "head".to_owned(),
                baseline: "base".to_owned(),
                ratio: Interval { value: 1.061, low: 1.042, high: 1.081 },
                words: "1.06× slower (1.04–1.08)".to_owned(),
            }],
            differences: vec![("command".to_owned(), vec!["none".to_owned(), "nice -n 10".to_owned()])],
            gate: gate(),
            repeat: "osdyno run bind --system base= --system 'head=nice -n 10' --fail-on slower:5%"
                .to_owned(),
        }
    }

    /// A gate that one of three series fails.
    fn gate() -> Option<GateAnswer> {
        let claims = Gate::parse("slower:5%").ok()?.claims;
        let series = [
            ("bind", stats::Decision::Certain, 1.061),
            ("fork", stats::Decision::Undecided, 1.03),
            ("open", stats::Decision::Excluded, 1.0),
        ];
        let series = series.map(|(name, decision, value)| {
            GatedSeries::of_ratio(
                name,
                ("base", "head"),
                decision,
                Interval { value, low: value - 0.02, high: value + 0.02 },
            )
        });
        Some(GateAnswer::of_claims(&claims, vec![series.to_vec()]))
    }

    pub(crate) fn written(format: OutputFormat) -> String {
        let mut out = Vec::new();
        assert!((format.write)(&results(), &mut out).is_ok());
        String::from_utf8_lossy(&out).into_owned()
    }

    #[test]
    fn every_format_ends_its_last_line_and_survives_nothing_at_all() {
        for format in ALL {
            assert!(written(format).ends_with('\n'), "{}", format.name);
            let mut out = Vec::new();
            assert!((format.write)(&BuildResults::default(), &mut out).is_ok(), "{}", format.name);
        }
    }
}
