//! The overview of a page: each series a row, with its growth and the interval of that on one axis.

use judge::{Finding, Growth};
use record::Unit;
use stats::Interval;

use super::filter;
use super::scale::{Axis, Kind};
use super::source::{Numbered, Source};
use super::word;
use crate::compare::strip;
use crate::document::{Cell, Column, Row, Section, Table, Text, Tone};
use crate::overview::scalings;
use crate::sentences;
use crate::words::{factor_with_interval, percent};

/// An end of an interval beyond this factor from its value is drawn there.
const REACH: f64 = 3.0;

/// The rows, the worst first; `None` where no series has more than one n.
pub(super) fn section(source: &Source<'_>) -> Option<Section> {
    let mut rows = rows(source);
    rows.sort_by(|(_, a, _), (_, b, _)| b.total_cmp(a));
    let margin = source.findings.margin;
    let axis = axis(rows.iter().map(|(_, _, growth)| growth.ratio), margin);
    let columns = vec![
        Column::from("Series"),
        Column { picture: Some(strip::labels(&axis)), ..Column::from("Growth").class("strip") },
        Column::from("Growth").class("verdict"),
        Column::from("From the smallest n to the largest").class("ends"),
    ];
    let mut table = Table { class: "verdicts ratios growth", ..Table::of_columns(columns) };
    rows.iter().for_each(|(numbered, _, growth)| table.push(row(source, *numbered, growth, &axis)));
    let mut section = Section { id: "overview".into(), ..Section::new("Growth of every series") };
    let words = format!(
        "The value at the largest n divided by that at the smallest, with its {} interval. Inside the grey \
         band, ±{}, growth does not matter.",
        percent(1.0 - source.findings.alpha),
        percent(margin)
    );
    section.say(Text::toned(words, Tone::Faint));
    section.push(table);
    (!rows.is_empty()).then_some(section)
}

/// Whether there is a row.
pub(super) fn is_shown(source: &Source<'_>) -> bool {
    !rows(source).is_empty()
}

/// The series that have a growth of their own, each with how much worse it gets.
fn rows<'a>(source: &Source<'a>) -> Vec<(Numbered<'a>, f64, Growth)> {
    let is_shown = |finding: &Finding| {
        let is_elsewhere =
            scalings::is_of_scaling(source.findings, finding) || source.findings.is_ranked_elsewhere(finding);
        !finding.detail && !is_elsewhere
    };
    let row = |(i, finding): Numbered<'a>| {
        let growth = Growth::from_verdict(finding.verdict.as_ref()?)?;
        let worse = growth.ratio.value.ln() * if finding.unit.more_is_better() { -1.0 } else { 1.0 };
        worse.is_finite().then_some(((i, finding), worse, growth))
    };
    source.series(is_shown).into_iter().filter_map(row).collect()
}

fn row(source: &Source<'_>, (i, finding): Numbered<'_>, growth: &Growth, axis: &Axis) -> Row {
    let label = sentences::label(source.findings, finding);
    let said = factor_with_interval(growth.ratio);
    let margin = source.findings.margin;
    let strip = strip::of_growth(axis, bounded(growth.ratio), margin, (word::tone(finding), &said));
    let ends = finding.verdict.as_ref().map(|v| sentences::ends(v, finding.unit)).unwrap_or_default();
    let rate = if finding.unit == Unit::PerSecond { ", more is better" } else { "" };
    let cells = [
        Text::linked(label, Tone::Plain, format!("#s{i}")).into(),
        Cell { picture: Some(strip), ..Cell::default() },
        Cell::toned(said, sentences::tone(finding)),
        format!("{ends}{rate}").into(),
    ];
    Row { class: filter::classes(source.findings, finding), ..Row::new(cells) }
}

/// An interval with ends that can be drawn.
fn bounded(ratio: Interval) -> Interval {
    let Interval { value, low, high } = ratio;
    Interval { value, low: low.max(value / REACH), high: high.min(value * REACH) }
}

/// An axis that has room for all growths.
fn axis(ratios: impl Iterator<Item = Interval>, margin: f64) -> Axis {
    let around = (1.0 / (1.0 + 2.0 * margin), 1.0 + 2.0 * margin);
    let ends =
        ratios.map(bounded).fold(around, |(low, high), ratio| (low.min(ratio.low), high.max(ratio.high)));
    let (from, to) = strip::ENDS;
    Axis::new(Kind::Log, ends.0 / 1.03, ends.1 * 1.03, from, to)
}
