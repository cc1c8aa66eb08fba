//! The findings of a run as a table in a terminal.

use std::collections::HashSet;
use std::io::{self, Write};

use crate::quantity::Quantity;
use crate::text::{Cell, Page, Row, Style, Tone};
use crate::words::{count, factor_with_interval, things};
use crate::{compare, sentences, spark};
use judge::Cause;
use judge::{Finding, Findings, Remark};
use record::LimitedBy;

/// Columns from which the growth stands in a column of its own.
const ROOM_FOR_GROWTH: usize = 96;
/// Columns from which there is a sparkline too.
const ROOM_FOR_SPARKLINES: usize = 108;

/// Writes one line per series, then the count of every word and what a reader should know.
pub fn write(findings: &Findings, style: &Style, out: &mut dyn Write) -> io::Result<()> {
    let mut page = Page::new(*style, out);
    let systems: Vec<&str> = findings.systems.iter().map(|s| s.name.as_str()).collect();
    for (i, system) in systems.iter().enumerate() {
        let series: Vec<&Finding> = findings.series.iter().filter(|f| f.key.system == *system).collect();
        if series.is_empty() {
            continue;
        }
        if systems.len() > 1 {
            if i > 0 {
                page.gap()?;
            }
            page.paragraph(system, 0, Tone::Strong)?;
        }
        // Comparisons stand beneath their own series, and these have a heading of their own.
        let of = |finding: &Finding| findings.comparison(&finding.key);
        let workload = |finding: &Finding| of(finding).map(|compared| &compared.workload);
        let same = |a: &&Finding, b: &&Finding| workload(a) == workload(b);
        for (i, series) in series.chunk_by(same).enumerate() {
            if i > 0 {
                page.gap()?;
            }
            let alone: Vec<&Finding> = series.iter().copied().filter(|f| !is_answered(findings, f)).collect();
            if !alone.is_empty() {
                // The verdict is what is wrapped when room is short.
                let gives = if style.width >= ROOM_FOR_GROWTH { 4 } else { 3 };
                page.columns(&rows(findings, &alone, style), gives)?;
            }
            if let Some(compared) = series.first().and_then(|finding| of(finding)) {
                if !alone.is_empty() {
                    page.gap()?;
                }
                compare::write_table_part(compared, style, &mut page)?;
                let is_elsewhere = |f: &&&Finding| f.verdict.is_some() && is_answered(findings, f);
                let which = match series.iter().filter(is_elsewhere).count() {
                    0 => continue,
                    1 => "the series".to_string(),
                    n => format!("each of {} series", count(n as u64)),
                };
                let words = format!("the page and --format json have the verdict on {which}");
                page.paragraph(&words, 2, Tone::Faint)?;
            }
        }
    }
    page.gap()?;
    page.paragraph(&sentences::summary(findings), 2, Tone::Strong)?;
    if let Some(surprises) = sentences::surprises(findings) {
        page.paragraph(&surprises, 2, Tone::Plain)?;
    }
    for line in notes(findings) {
        page.paragraph(&line, 2, Tone::Faint)?;
    }
    Ok(())
}

/// Whether a comparison stands in place of its verdict.
fn is_answered(findings: &Findings, finding: &Finding) -> bool {
    findings.comparisons.iter().any(|compared| compared.answers(&finding.key))
}

fn rows(findings: &Findings, series: &[&Finding], style: &Style) -> Vec<Row> {
    let common = CommonRange::of(series);
    let headings = |growth: bool| {
        let mut texts = vec![
            String::new(),
            format!("{} at n = {}", sentences::what(series.iter().copied()), count(common.low)),
            format!("at n = {}", count(common.high)),
        ];
        texts.extend(growth.then(|| "growth".to_string()));
        texts.push("verdict".into());
        Row {
            cells: texts.into_iter().map(|text| Cell::toned(text, Tone::Faint)).collect(),
            below: Vec::new(),
        }
    };
    let mut rows = Vec::new();
    if series.iter().any(|f| f.verdict.is_some()) {
        rows.push(headings(style.width >= ROOM_FOR_GROWTH));
    }
    rows.extend(series.iter().map(|finding| row(findings, finding, &common, style)));
    rows
}

fn row(findings: &Findings, finding: &Finding, common: &CommonRange, style: &Style) -> Row {
    let mut below: Vec<(String, Tone)> = Vec::new();
    let mut cells = vec![Cell::new(&finding.label)];
    if let Some(verdict) = &finding.verdict {
        let at = |cost: String, n: u64, common: u64| {
            if n == common { cost } else { format!("{cost} at {}", count(n)) }
        };
        let (low, high) = finding.unit.estimates(verdict.cost_low, verdict.cost_high);
        cells.push(Cell::new(at(low, verdict.n_low, common.low)));
        cells.push(Cell::new(at(high, verdict.n_high, common.high)));
        let words = if style.width >= ROOM_FOR_GROWTH {
            cells.push(Cell::new(factor_with_interval(verdict.growth)));
            sentences::verdict(verdict, finding.unit)
        } else {
            sentences::verdict_with_growth(verdict, finding.unit)
        };
        cells.push(Cell::toned(words, sentences::tone(finding)));
        if style.width >= ROOM_FOR_SPARKLINES && style.unicode {
            cells.push(Cell::new(spark::line(verdict)));
        }
        below.extend(
            sentences::gross_jump(verdict, finding.unit)
                .map(|jump| (format!("largest jump {jump}"), Tone::Plain)),
        );
        let beside = sentences::beside(findings, finding).into_iter().filter_map(|beside| beside.short);
        below.extend(beside.map(|short| (short, Tone::Plain)));
    } else if finding.stops.is_empty() {
        below.push(("no number".into(), Tone::Open));
    }
    let told = finding.stops.iter().filter(|stop| stop.cause != Cause::Allowance);
    below.extend(told.map(|stop| (sentences::stop(stop), Tone::Open)));
    Row { cells, below }
}

/// The smallest and the largest n that most series share; they stand in the heading, others in their row.
struct CommonRange {
    low: u64,
    high: u64,
}

impl CommonRange {
    fn of(series: &[&Finding]) -> Self {
        let verdicts = || series.iter().filter_map(|f| f.verdict.as_ref());
        CommonRange {
            low: most_frequent(verdicts().map(|v| v.n_low)),
            high: most_frequent(verdicts().map(|v| v.n_high)),
        }
    }
}

/// The most frequent number; the larger of two that are as frequent.
fn most_frequent(numbers: impl Iterator<Item = u64>) -> u64 {
    let mut numbers: Vec<u64> = numbers.collect();
    numbers.sort_unstable();
    let groups = numbers.chunk_by(|a, b| a == b);
    groups.max_by_key(|group| group.len()).map_or(0, |group| group[0])
}

/// What stands below the table: what to do about limits, and what a reader should know of the numbers.
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
        findings.series.iter().partition(|finding| is_answered(findings, finding));
    let of_series =
        alone.iter().map(|finding| (sentences::label(findings, finding), sentences::remarks(finding)));
    let judged = alone.iter().filter(|finding| finding.verdict.is_some()).count();
    let mut remarks = grouped(of_series, judged, "series");
    // Of a variant that is compared no verdict is shown that could be warned of, and where its generator
    // alone was the limit is said with the comparison.
    let of_variants = answered.iter().map(|finding| {
        let is_said = |remark: &&Remark| {
            matches!(remark, Remark::Generator(remark)
                if remark.by == LimitedBy::Generator && finding.limited.as_ref() == Some(&remark.limited))
        };
        let recorded = finding.remarks.iter().filter(|remark| !is_said(remark)).map(sentences::remark);
        (sentences::variant_label(findings, finding), recorded.collect())
    });
    let variants: HashSet<String> =
        answered.iter().map(|finding| sentences::variant_label(findings, finding)).collect();
    remarks.extend(grouped(of_variants, variants.len(), "variants"));
    remarks
}

/// Alike remarks once, with the names of those that they are on, or how many where these are many.
fn grouped(all: impl Iterator<Item = (String, Vec<String>)>, most: usize, what: &str) -> Vec<String> {
    let mut grouped: Vec<(String, Vec<String>)> = Vec::new();
    for (label, remarks) in all {
        for remark in remarks {
            match grouped.iter_mut().find(|(text, _)| *text == remark) {
                Some((_, labels)) if labels.contains(&label) => {}
                Some((_, labels)) => labels.push(label.clone()),
                None => grouped.push((remark, vec![label.clone()])),
            }
        }
    }
    let said = |(text, labels): (String, Vec<String>)| match labels.len() {
        n if n == most && n > 1 => format!("all {what}: {text}"),
        n if n > 4 => format!("{}: {text}", things(n, what, what)),
        _ => format!("{}: {text}", labels.join(", ")),
    };
    grouped.into_iter().map(said).collect()
}
