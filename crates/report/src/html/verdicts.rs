//! Tables of verdicts, a row for each series.

use judge::compare::Comparison;
use judge::{Finding, Growth};

use super::plot::sparkline;
use super::source::{Numbered, Source};
use super::{filter, word};
use crate::compare::words::{findings as findings_of, on_system};
use crate::document::{Cell, Column, Element, Fold, Row, Section, Table, Text, Tone};
use crate::place::range;
use crate::quantity::Quantity;
use crate::words::{factor_with_interval, things};
use crate::{sentences, spark};

/// Places of a curve in the table of verdicts.
const SPARK_COLUMNS: usize = 40;

/// A row for each series.
pub(super) fn table(source: &Source<'_>, series: &[Numbered<'_>]) -> Table {
    let what = sentences::capital(sentences::what(series.iter().map(|(_, finding)| *finding)));
    let columns = vec![
        Column::from("Series"),
        Column::number("n").class("range"),
        Column::number(format!("{what} at the first n")),
        Column::number("at the last"),
        Column::number("Growth"),
        Column::from("Verdict").class("verdict"),
        Column::from("Curve").class("curve"),
    ];
    let mut table = Table { wraps: VERDICT, ..Table::of_columns(columns) };
    series.iter().for_each(|numbered| table.push(row(source, *numbered)));
    table
}

/// The place of the column that has the words.
const VERDICT: usize = 5;

fn row(source: &Source<'_>, (i, finding): Numbered<'_>) -> Row {
    let name = Text::linked(sentences::label(source.findings, finding), Tone::Plain, format!("#s{i}"));
    let mut words = words(finding).into_iter();
    let verdict = words.next().unwrap_or_default();
    let cells = match &finding.verdict {
        None => vec![name.into(), verdict.into()],
        Some(v) => {
            let (low, high, growth) = match Growth::from_verdict(v) {
                Some(Growth { from, to, ratio }) => {
                    let (low, high) = finding.unit.estimates_with_interval(from.cost, to.cost);
                    (low, high, factor_with_interval(ratio))
                }
                None => (finding.unit.estimate_with_interval(v.cost_low), String::new(), String::new()),
            };
            let curve = sparkline(&spark::heights(v, SPARK_COLUMNS), &format!("curve of {}", finding.label));
            let curve = Cell { picture: Some(curve), ..Cell::default() };
            let range = range(v.n_low, v.n_high);
            vec![name.into(), range.into(), low.into(), high.into(), growth.into(), verdict.into(), curve]
        }
    };
    Row { below: words.collect(), class: filter::classes(source.findings, finding), ..Row::new(cells) }
}

/// The verdict, then how trials stopped, each a line.
fn words(finding: &Finding) -> Vec<Text> {
    let mut words = Vec::new();
    if let Some(v) = &finding.verdict {
        let said = sentences::verdict_beside_cost(v, finding.unit);
        words.push(word::of_class(&said, finding, v.class));
        let jump = sentences::gross_jump(v, finding.unit);
        words.extend(jump.map(|jump| format!("largest jump {jump}").into()));
    }
    words.extend(finding.stops.iter().map(|stop| word::of_stop(&sentences::stop(stop))));
    if words.is_empty() {
        words.push(word::of_stop("no number"));
    }
    words
}

/// The findings about compared variants, and the verdict of each on demand.
pub(super) fn of_compared(source: &Source<'_>, compared: &Comparison) -> Section {
    let series = source.series(|finding| compared.is_of(&finding.key.system, &finding.key.workload));
    let workload = compared.workload.as_deref().unwrap_or_default();
    let workload = format!("{workload}{}", on_system(source.findings, compared));
    let mut section = Section::new(workload.as_str());
    let found = findings_of(compared).into_iter().map(|finding| vec![Text::from(finding).into()]);
    section.push(Element::Items { first: None, items: found.collect() });
    let title = format!("{} of {workload}", things(series.len(), "verdict", "verdicts")).into();
    section.push(Fold { title, blocks: vec![table(source, &series).into()], ..Fold::default() });
    section
}
