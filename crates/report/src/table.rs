//! The findings of a run as a table in a terminal.

use std::collections::HashSet;
use std::io::{self, Write};

use crate::document::Tone;
use crate::overview::Kind;
use crate::quantity::Quantity;
use crate::text::{Cell, Page, Row, Style};
use crate::words::{count, factor_with_interval, things};
use crate::{compare, sentences, spark};
use judge::Cause;
use judge::{Finding, Findings, Growth, Remark};
use record::LimitedBy;

/// Columns from which a series is a row; with fewer it is a paragraph.
const ROOM_FOR_COLUMNS: usize = 108;
/// The column of the verdict, which is wrapped when room is short.
const WRAPPED: usize = 4;

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
            let alone: Vec<&Finding> = series.iter().copied().filter(|f| !findings.is_answered(f)).collect();
            let (undecided, decided): (Vec<&Finding>, Vec<&Finding>) =
                alone.iter().partition(|finding| Kind::of(finding) == Kind::Undecided);
            write_series(findings, &decided, Tone::Plain, style, &mut page)?;
            if !decided.is_empty() && !undecided.is_empty() {
                page.gap()?;
            }
            write_series(findings, &undecided, Tone::Faint, style, &mut page)?;
            if let Some(compared) = series.first().and_then(|finding| of(finding)) {
                if !alone.is_empty() {
                    page.gap()?;
                }
                compare::write_table_part(findings, compared, style, &mut page)?;
                let is_elsewhere = |f: &&&Finding| f.verdict.is_some() && findings.is_answered(f);
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
    for background in sentences::backgrounds(findings) {
        page.paragraph(&background, 2, Tone::Plain)?;
    }
    for line in notes(findings) {
        page.paragraph(&line, 2, Tone::Faint)?;
    }
    Ok(())
}

/// Writes series with what was found beside each, in this tone where it is not plain.
fn write_series(
    findings: &Findings,
    series: &[&Finding],
    tone: Tone,
    style: &Style,
    page: &mut Page<'_>,
) -> io::Result<()> {
    write_toned(findings, (series, &CommonRange::of(series)), tone, below, style, page)
}

/// Writes what series cost, a row for each, in this tone where it is not plain.
pub(crate) fn write_costs(
    findings: &Findings,
    series: &[&Finding],
    tone: Tone,
    style: &Style,
    page: &mut Page<'_>,
) -> io::Result<()> {
    write_toned(findings, (series, &CommonRange::of(series)), tone, |_, _| Vec::new(), style, page)
}

/// Writes series in columns where there is room for these, else one below the other.
fn write_toned(
    findings: &Findings,
    (series, common): (&[&Finding], &CommonRange),
    tone: Tone,
    below: impl Fn(&Findings, &Finding) -> Below,
    style: &Style,
    page: &mut Page<'_>,
) -> io::Result<()> {
    if style.width >= ROOM_FOR_COLUMNS {
        let (rows, wrapped) = without_empty(toned(rows(findings, series, common, &below), tone));
        if page.fits(&rows, wrapped) {
            return page.columns(&rows, wrapped);
        }
    }
    paragraphs(findings, series, tone, below, page)
}

/// Rows without the columns that none of them has a word for, because series of one n have one cost; and
/// which column is wrapped.
fn without_empty(mut rows: Vec<Row>) -> (Vec<Row>, usize) {
    let is_empty = |column: usize, rows: &[Row]| {
        let mut cells = rows.iter().skip(1).filter_map(|row| row.cells.get(column));
        cells.all(|cell| cell.lines.iter().all(String::is_empty))
    };
    let mut wrapped = WRAPPED;
    for column in (1..=WRAPPED + 1).rev().filter(|column| *column != WRAPPED) {
        if is_empty(column, &rows) {
            for row in rows.iter_mut().filter(|row| row.cells.len() > column) {
                row.cells.remove(column);
            }
            wrapped -= usize::from(column < WRAPPED);
        }
    }
    (rows, wrapped)
}

/// Rows whose every word has this tone, unless that is plain.
fn toned(mut rows: Vec<Row>, tone: Tone) -> Vec<Row> {
    if tone != Tone::Plain {
        for row in &mut rows {
            row.cells.iter_mut().for_each(|cell| cell.tone = tone);
            row.below.iter_mut().for_each(|(_, own)| *own = tone);
        }
    }
    rows
}

/// Writes what changes, one line for each series.
pub(crate) fn write_changes(
    findings: &Findings,
    series: &[&Finding],
    style: &Style,
    page: &mut Page<'_>,
) -> io::Result<()> {
    if style.width >= ROOM_FOR_COLUMNS {
        let all: Vec<&Finding> = findings.series.iter().collect();
        let common = CommonRange::of(&all);
        let (rows, wrapped) = without_empty(rows(findings, series, &common, |_, _| Vec::new()));
        if page.fits(&rows, wrapped) {
            return page.columns(&rows, wrapped);
        }
    }
    for finding in series {
        let Some(verdict) = &finding.verdict else { continue };
        let short = sentences::in_short(verdict, finding.unit);
        let ends = sentences::ends(verdict, finding.unit);
        let text = format!("{}: {ends}, {short} {}", finding.label, spark::line(verdict));
        page.paragraph(&text, 2, sentences::tone(finding))?;
    }
    Ok(())
}

/// What stands below the row of a series.
type Below = Vec<(String, Tone)>;

fn rows(
    findings: &Findings,
    series: &[&Finding],
    common: &CommonRange,
    below: impl Fn(&Findings, &Finding) -> Below,
) -> Vec<Row> {
    let headings = [
        String::new(),
        format!("{} at n = {}", sentences::what(series.iter().copied()), count(common.low)),
        format!("at n = {}", count(common.high)),
        "growth".to_string(),
        "verdict".to_string(),
    ];
    let headings = headings.map(|text| Cell::toned(text, Tone::Faint));
    let has_verdict = series.iter().any(|finding| finding.verdict.is_some());
    let headings = has_verdict.then(|| Row { cells: headings.into(), below: Vec::new() });
    let row = |finding: &&Finding| Row { cells: cells(finding, common), below: below(findings, finding) };
    headings.into_iter().chain(series.iter().map(row)).collect()
}

fn cells(finding: &Finding, common: &CommonRange) -> Vec<Cell> {
    let name = Cell::new(&finding.label);
    let Some(verdict) = &finding.verdict else { return vec![name] };
    let at = |cost: String, n: u64, common: u64| {
        if n == common { cost } else { format!("{cost} at {}", count(n)) }
    };
    let (first, last, growth) = match Growth::of(verdict) {
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
    vec![
        name,
        Cell::new(first),
        Cell::new(last),
        Cell::new(growth),
        Cell::toned(sentences::verdict_beside_cost(verdict, finding.unit), sentences::tone(finding)),
        Cell::new(if verdict.n_low == verdict.n_high { String::new() } else { spark::line(verdict) }),
    ]
}

/// The series one below the other, where there is no room for columns.
fn paragraphs(
    findings: &Findings,
    series: &[&Finding],
    tone: Tone,
    below: impl Fn(&Findings, &Finding) -> Below,
    page: &mut Page<'_>,
) -> io::Result<()> {
    let toned = |own: Tone| if tone == Tone::Plain { own } else { tone };
    for finding in series {
        let label = &finding.label;
        match &finding.verdict {
            Some(verdict) => {
                let (ends, spark) = (sentences::ends(verdict, finding.unit), spark::line(verdict));
                let words = match verdict.n_low == verdict.n_high {
                    true => sentences::verdict_beside_cost(verdict, finding.unit),
                    false => sentences::verdict_with_growth(verdict, finding.unit),
                };
                let tone = toned(sentences::tone(finding));
                page.paragraph(&format!("{label}: {ends}, {words} {spark}"), 2, tone)?;
            }
            None => page.paragraph(label, 2, toned(Tone::Plain))?,
        }
        for (text, own) in below(findings, finding) {
            page.paragraph(&format!("  {text}"), 4, toned(own))?;
        }
    }
    Ok(())
}

/// What was found beside the verdict, and how trials stopped short.
fn below(findings: &Findings, finding: &Finding) -> Below {
    let mut below: Below = Vec::new();
    if let Some(verdict) = &finding.verdict {
        let jump = sentences::gross_jump(verdict, finding.unit);
        below.extend(jump.map(|jump| (format!("largest jump {jump}"), Tone::Plain)));
        let beside = sentences::beside(findings, finding).into_iter().filter_map(|beside| beside.short);
        below.extend(beside.map(|short| (short, Tone::Plain)));
    } else if finding.stops.is_empty() {
        below.push(("no number".into(), Tone::Open));
    }
    let told = finding.stops.iter().filter(|stop| stop.cause != Cause::Allowance);
    below.extend(told.map(|stop| (sentences::stop(stop), Tone::Open)));
    below
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
        findings.series.iter().partition(|finding| findings.is_answered(finding));
    let of_series =
        alone.iter().map(|finding| (sentences::label(findings, finding), sentences::remarks(finding)));
    let judged = alone.iter().filter(|finding| finding.verdict.is_some()).count();
    let mut remarks = grouped(of_series, judged, "series");
    // Of a variant that is compared no verdict is shown that could be warned of, and where its generator
    // alone was the limit is said with the comparison.
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
