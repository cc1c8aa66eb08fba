//! Tables of verdicts, a row for each series.

use std::io::{self, Write};

use judge::compare::Comparison;
use judge::{Finding, Growth};

use super::escape::esc;
use super::plot::sparkline;
use super::source::{Numbered, Source};
use super::{filter, word};
use crate::compare::words::{findings as findings_of, on_system};
use crate::place::range;
use crate::quantity::Quantity;
use crate::words::{factor_with_interval, things};
use crate::{sentences, spark};

/// Places of a curve in the table of verdicts.
const SPARK_COLUMNS: usize = 40;

/// Writes a row for each series.
pub(super) fn table(source: &Source<'_>, series: &[Numbered<'_>], out: &mut dyn Write) -> io::Result<()> {
    writeln!(
        out,
        "<table class=\"verdicts\"><thead><tr>\
             <th scope=\"col\">Series</th><th scope=\"col\" class=\"num\">n</th>\
             <th scope=\"col\" class=\"num\">{} at the first n</th>\
             <th scope=\"col\" class=\"num\">at the last</th>\
             <th scope=\"col\" class=\"num\">Growth</th><th scope=\"col\">Verdict</th>\
             <th scope=\"col\"><span class=\"away\">Curve</span></th></tr></thead><tbody>",
        esc(&sentences::capital(sentences::what(series.iter().map(|(_, finding)| *finding))))
    )?;
    for numbered in series {
        row(source, *numbered, out)?;
    }
    writeln!(out, "</tbody></table>")
}

fn row(source: &Source<'_>, (i, finding): Numbered<'_>, out: &mut dyn Write) -> io::Result<()> {
    let classes = filter::classes(source.findings, finding);
    let name = esc(&sentences::label(source.findings, finding));
    let name = format!("<th scope=\"row\"><a href=\"#s{i}\">{name}</a></th>");
    let words = words(finding).join("<br>");
    let Some(v) = &finding.verdict else {
        return writeln!(
            out,
            "<tr class=\"{classes}\">{name}<td class=\"verdict\" colspan=\"6\">{words}</td></tr>"
        );
    };
    let (low, high, growth) = match Growth::from_verdict(v) {
        Some(Growth { from, to, ratio }) => {
            let (low, high) = finding.unit.estimates_with_interval(from.cost, to.cost);
            (low, high, factor_with_interval(ratio))
        }
        None => (finding.unit.estimate_with_interval(v.cost_low), String::new(), String::new()),
    };
    writeln!(
        out,
        "<tr class=\"{classes}\">{name}<td class=\"num range\" data-is=\"n\">{}</td>\
         <td class=\"num\" data-is=\"first\">{low}</td><td class=\"num\" data-is=\"last\">{high}</td>\
         <td class=\"num\" data-is=\"growth\">{growth}</td><td class=\"verdict\">{words}</td>\
         <td class=\"curve\">{}</td></tr>",
        range(v.n_low, v.n_high),
        sparkline(&spark::heights(v, SPARK_COLUMNS), &format!("curve of {}", finding.label))
    )
}

/// The verdict, then how trials stopped, each a line.
fn words(finding: &Finding) -> Vec<String> {
    let mut words = Vec::new();
    if let Some(v) = &finding.verdict {
        let said = sentences::verdict_beside_cost(v, finding.unit);
        words.push(word::of_class(&said, word::tone(finding), v.class));
        words.extend(
            sentences::gross_jump(v, finding.unit).map(|jump| format!("largest jump {}", esc(&jump))),
        );
    }
    words.extend(finding.stops.iter().map(|stop| word::of_stop(&sentences::stop(stop))));
    if words.is_empty() {
        words.push(word::of_stop("no number"));
    }
    words
}

/// What was found of variants that are compared, and the verdict of each on demand.
pub(super) fn of_compared(source: &Source<'_>, compared: &Comparison, out: &mut dyn Write) -> io::Result<()> {
    let series = source.series(|finding| compared.is_of(&finding.key.system, &finding.key.workload));
    let workload = esc(compared.workload.as_deref().unwrap_or_default());
    let workload = format!("{workload}{}", esc(&on_system(source.findings, compared)));
    writeln!(out, "<div class=\"variants\"><h3>{workload}</h3><ul class=\"found\">")?;
    for finding in findings_of(compared) {
        writeln!(out, "<li>{}</li>", esc(&finding))?;
    }
    let verdicts = things(series.len(), "verdict", "verdicts");
    writeln!(out, "</ul><details class=\"list\"><summary>{verdicts} of {workload}</summary>")?;
    table(source, &series, out)?;
    writeln!(out, "</details></div>")
}
