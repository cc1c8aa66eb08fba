//! All findings of a run, series by series, as a document for `--verbose`.

use std::collections::HashSet;

use crate::document::{Cell, Column, Document, Row, Section, Table, Text, Tone};
use crate::overview::{Kind, growth};
use crate::quantity::Quantity;
use crate::text::spark;
use crate::words::{count, factor_with_interval, grouped_once, things};
use crate::{compare, fleet, sentences};
use judge::{Cause, Finding, Findings, Growth, Remark};
use record::LimitedBy;

/// The verdict is wrapped where room is short, to this width at least.
const VERDICT_WIDTH_MIN: usize = 32;
pub(crate) const VERDICT: usize = 4;

/// A row for each series of each system, then the count of every word and the remarks on the numbers.
pub fn document(findings: &Findings) -> Document {
    if let Some(fleet) = &findings.fleet {
        return fleet::document(findings, fleet, false);
    }
    let mut document = Document::default();
    growth::scaling_sections(findings, true).into_iter().for_each(|section| document.push(section));
    let findings = &growth::without_scalings(findings.clone());
    for system in &findings.systems {
        let series: Vec<&Finding> = findings.series.iter().filter(|f| f.key.system == system.name).collect();
        // Comparisons stand beneath their own series, and these have a heading of their own.
        let of = |finding: &Finding| findings.comparison(&finding.key);
        let workload = |finding: &Finding| of(finding).map(|compared| &compared.workload);
        let same = |a: &&Finding, b: &&Finding| workload(a) == workload(b);
        let mut section = Section::new(Text::toned(&system.name, Tone::Strong));
        for series in series.chunk_by(same) {
            let alone: Vec<&Finding> =
                series.iter().copied().filter(|f| !findings.is_ranked_elsewhere(f)).collect();
            let (undecided, decided): (Vec<&Finding>, Vec<&Finding>) =
                alone.iter().partition(|finding| Kind::of(finding) == Kind::Undecided);
            for (some, tone) in [(decided, Tone::Plain), (undecided, Tone::Faint)] {
                if !some.is_empty() {
                    let rows = some.iter().map(|finding| with_remarks(findings, finding));
                    section.push(Table { tone, ..of_series(&some, rows) });
                }
            }
            if let Some(compared) = series.first().and_then(|finding| of(finding)) {
                let mut part = compare::section(findings, compared);
                let is_elsewhere = |f: &&&Finding| f.verdict.is_some() && findings.is_ranked_elsewhere(f);
                let which = match series.iter().filter(is_elsewhere).count() {
                    0 => None,
                    1 => Some("the series".to_string()),
                    n => Some(format!("each of {} series", count(n as u64))),
                };
                if let Some(which) = which {
                    let words = format!("the page and --format json have the verdict on {which}");
                    part.say(Text::toned(words, Tone::Faint));
                }
                section.push(part);
            }
        }
        match findings.systems.len() {
            1 => document.blocks.extend(section.blocks),
            _ if section.blocks.is_empty() => {}
            _ => document.push(section),
        }
    }
    let mut summary = Section::new(Text::toned(sentences::summary(findings), Tone::Strong));
    sentences::surprises(findings).into_iter().for_each(|surprises| summary.say(surprises));
    sentences::backgrounds(findings).into_iter().for_each(|background| summary.say(background));
    notes(findings).into_iter().for_each(|note| summary.say(Text::toned(note, Tone::Faint)));
    document.push(summary);
    document
}

/// A table of series; the n in its headings are those that most of them have.
pub(crate) fn of_series<'a>(
    series: &[&Finding],
    with: impl Iterator<Item = (&'a Finding, Vec<Text>)>,
) -> Table {
    let common = CommonRange::of(series);
    let has_verdict = series.iter().any(|finding| finding.verdict.is_some());
    let what = sentences::what(series.iter().copied());
    let headings = [
        String::new(),
        match common.is_without_n() {
            true => what.to_string(),
            false => format!("{what} {}", heading(common.low, "first")),
        },
        heading(common.high, "last"),
        "growth".to_string(),
        "verdict".to_string(),
        String::new(),
    ];
    let headings = headings.into_iter().map(|text| if has_verdict { text } else { String::new() });
    let mut table = Table::of_columns(headings.map(Column::from).collect());
    (table.wraps, table.wraps_at) = (VERDICT, VERDICT_WIDTH_MIN);
    for (finding, below) in with {
        table.push(row(finding, &common, below));
    }
    table
}

fn row(finding: &Finding, common: &CommonRange, below: Vec<Text>) -> Row {
    let name = Cell::from(&finding.label);
    let Some(verdict) = &finding.verdict else {
        return Row { cells: vec![name], below, ..Row::default() };
    };
    let at = |cost: String, n: u64, common: Option<u64>| {
        if common == Some(n) { cost } else { format!("{cost} at {}", count(n)) }
    };
    let (first, last, growth) = match Growth::from_verdict(verdict) {
        Some(Growth { from, to, ratio }) => {
            let (low, high) = finding.unit.estimates_with_interval(from.cost, to.cost);
            (at(low, from.n, common.low), at(high, to.n, common.high), factor_with_interval(ratio))
        }
        // One n has one cost, and its place is the last where others begin before.
        None => {
            let cost = at(finding.unit.estimate_with_interval(verdict.cost_low), verdict.n_low, common.low);
            (cost, String::new(), String::new())
        }
    };
    let is_one = verdict.n_low == verdict.n_high;
    let (beside, tone) = (sentences::verdict_beside_cost(verdict, finding.unit), sentences::tone(finding));
    let spark = if is_one { String::new() } else { spark(verdict) };
    let words = if is_one { beside.clone() } else { sentences::verdict_with_growth(verdict, finding.unit) };
    let ends = sentences::ends(verdict, finding.unit);
    let sentence = format!("{}: {ends}, {words} {spark}", finding.label);
    Row {
        cells: vec![name, first.into(), last.into(), growth.into(), Cell::toned(beside, tone), spark.into()],
        below,
        sentence: Some(Text::toned(sentence, tone)),
        ..Row::default()
    }
}

/// A series with the findings beside the verdict, and how trials stopped short.
fn with_remarks<'a>(findings: &Findings, finding: &'a Finding) -> (&'a Finding, Vec<Text>) {
    let mut below: Vec<Text> = Vec::new();
    if let Some(verdict) = &finding.verdict {
        let jump = sentences::gross_jump(verdict, finding.unit);
        below.extend(jump.map(|jump| format!("largest jump {jump}").into()));
        let beside = sentences::beside(findings, finding).into_iter().filter_map(|beside| beside.short);
        below.extend(beside.map(Text::from));
    } else if finding.stops.is_empty() {
        below.push(Text::toned("no number", Tone::Open));
    }
    let stops = finding.stops.iter().filter(|stop| stop.cause != Cause::Allowance);
    below.extend(stops.map(|stop| Text::toned(sentences::stop(stop), Tone::Open)));
    (finding, below)
}

/// `at n = 100`, or `at the first n` where the rows have each its own.
fn heading(n: Option<u64>, which: &str) -> String {
    n.map_or_else(|| format!("at the {which} n"), |n| format!("at n = {}", count(n)))
}

/// The smallest and the largest n that at least half of the series share; they stand in the heading, others
/// in their row.
struct CommonRange {
    low: Option<u64>,
    high: Option<u64>,
}

impl CommonRange {
    fn of(series: &[&Finding]) -> Self {
        let verdicts = || series.iter().filter_map(|f| f.verdict.as_ref());
        CommonRange {
            low: shared(&verdicts().map(|v| v.n_low).collect::<Vec<_>>()),
            high: shared(&verdicts().map(|v| v.n_high).collect::<Vec<_>>()),
        }
    }

    /// Whether these were measured once and not over n, as a command without levels.
    fn is_without_n(&self) -> bool {
        self.low == Some(1) && self.high == Some(1)
    }
}

/// The number that at least half of them have; of two the first, whose row a screen gives up last.
fn shared(numbers: &[u64]) -> Option<u64> {
    let count = |number: u64| numbers.iter().filter(|other| **other == number).count();
    numbers.iter().copied().find(|number| 2 * count(*number) >= numbers.len())
}

/// The part below the table: remedies for limits, and remarks about the numbers.
fn notes(findings: &Findings) -> Vec<String> {
    let mut notes = sentences::notes(findings);
    notes.extend(sentences::shortened(findings));
    for finding in &findings.series {
        for stop in &finding.stops {
            if let (Cause::Limit { error, .. }, Some(advice)) = (&stop.cause, sentences::advice(stop)) {
                let label = sentences::label(findings, finding);
                notes.push(format!("{label}: {error}: {advice}"));
            }
        }
    }
    notes.extend(remarks(findings));
    notes
}

/// The remarks on all series, alike ones once: `socket, bind: Only 5 trials; ten are recommended.`
fn remarks(findings: &Findings) -> Vec<String> {
    let (answered, alone): (Vec<&Finding>, Vec<&Finding>) =
        findings.series.iter().partition(|finding| findings.is_ranked_elsewhere(finding));
    let of_series =
        alone.iter().map(|finding| (sentences::label(findings, finding), sentences::remarks(finding)));
    let judged = alone.iter().filter(|finding| finding.verdict.is_some()).count();
    let mut remarks = alike_once(of_series, judged, "series");
    // A compared variant shows no verdict that needs a warning, and the comparison has the limits of its
    // generator.
    let of_variants = answered.iter().map(|finding| {
        let is_said = |remark: &&Remark| {
            matches!(remark, Remark::Generator(remark)
                if matches!(remark.by, LimitedBy::Generator | LimitedBy::Sink)
                    && finding.limited.as_ref() == Some(&remark.limited))
        };
        let recorded = finding.remarks.iter().filter(|remark| !is_said(remark)).map(sentences::remark);
        (sentences::variant_label(findings, finding), recorded.collect())
    });
    let variants: HashSet<String> =
        answered.iter().map(|finding| sentences::variant_label(findings, finding)).collect();
    remarks.extend(alike_once(of_variants, variants.len(), "variants"));
    remarks
}

/// Alike remarks once, with the names of those that they are on, or how many where these are many.
fn alike_once(all: impl Iterator<Item = (String, Vec<String>)>, most: usize, what: &str) -> Vec<String> {
    let said = |(text, labels): (String, Vec<String>)| match labels.len() {
        n if n == most && n > 1 => format!("all {what}: {text}"),
        n if n > 4 => format!("{}: {text}", things(n, what, what)),
        _ => format!("{}: {text}", labels.join(", ")),
    };
    let each = all.flat_map(|(label, all)| all.into_iter().map(move |remark| (remark, label.clone())));
    grouped_once(each).into_iter().map(said).collect()
}
