//! The overview of a page: each series a row, with its growth and the interval of that on one axis.

use std::io::{self, Write};

use judge::{Finding, Growth};
use record::Unit;
use stats::Interval;

use super::escape::esc;
use super::filter;
use super::scale::{Axis, Kind};
use super::source::{Numbered, Source};
use super::word;
use crate::compare::strip;
use crate::sentences;
use crate::words::{factor_with_interval, percent};

/// An end of an interval beyond this factor from its value is drawn there.
const REACH: f64 = 3.0;

/// Writes the rows, the worst first; nothing where no series has more than one n.
pub(super) fn write(source: &Source<'_>, out: &mut dyn Write) -> io::Result<()> {
    let mut rows = rows(source);
    if rows.is_empty() {
        return Ok(());
    }
    rows.sort_by(|(_, a, _), (_, b, _)| b.total_cmp(a));
    let margin = source.findings.margin;
    let axis = axis(rows.iter().map(|(_, _, growth)| growth.ratio), margin);
    writeln!(
        out,
        "<section id=\"overview\"><h2>Growth of every series</h2><p class=\"remark\">The value at the \
         largest n divided by that at the smallest, with its {} interval. Inside the grey band, ±{}, \
         growth does not matter.</p>\
         <table class=\"verdicts ratios growth\"><thead><tr><th scope=\"col\">Series</th>\
         <th scope=\"col\" class=\"strip\">{}</th><th scope=\"col\">Growth</th>\
         <th scope=\"col\">From the smallest n to the largest</th></tr></thead><tbody>",
        percent(1.0 - source.findings.alpha),
        percent(margin),
        strip::labels(&axis)
    )?;
    for ((i, finding), _, growth) in &rows {
        row(source, (*i, finding), growth, &axis, out)?;
    }
    writeln!(out, "</tbody></table></section>")
}

/// Whether there is a row.
pub(super) fn is_shown(source: &Source<'_>) -> bool {
    !rows(source).is_empty()
}

/// The series that have a growth of their own, each with how much worse it gets.
fn rows<'a>(source: &Source<'a>) -> Vec<(Numbered<'a>, f64, Growth)> {
    let is_shown = |finding: &Finding| !finding.detail && !source.findings.is_ranked_elsewhere(finding);
    let row = |(i, finding): Numbered<'a>| {
        let growth = Growth::from_verdict(finding.verdict.as_ref()?)?;
        let worse = growth.ratio.value.ln() * if finding.unit.more_is_better() { -1.0 } else { 1.0 };
        worse.is_finite().then_some(((i, finding), worse, growth))
    };
    source.series(is_shown).into_iter().filter_map(row).collect()
}

fn row(
    source: &Source<'_>,
    (i, finding): Numbered<'_>,
    growth: &Growth,
    axis: &Axis,
    out: &mut dyn Write,
) -> io::Result<()> {
    let label = sentences::label(source.findings, finding);
    let (said, tone) = (factor_with_interval(growth.ratio), word::tone(finding));
    let strip = strip::of_growth(axis, bounded(growth.ratio), source.findings.margin, (tone, &said));
    let ends = finding.verdict.as_ref().map(|v| sentences::ends(v, finding.unit)).unwrap_or_default();
    let rate = if finding.unit == Unit::PerSecond { ", more is better" } else { "" };
    writeln!(
        out,
        "<tr class=\"{}\"><th scope=\"row\"><a href=\"#s{i}\">{}</a></th><td class=\"strip\">{strip}</td>\
         <td class=\"verdict\"><span class=\"word {tone}\">{}</span></td>\
         <td class=\"ends\">{}{rate}</td></tr>",
        filter::classes(source.findings, finding),
        esc(&label),
        esc(&said),
        esc(&ends)
    )
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
