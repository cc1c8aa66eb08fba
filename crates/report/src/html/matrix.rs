//! The verdicts of several systems at a glance: a row for each series, a column for each system.

use std::io::{self, Write};

use record::SeriesKey;
use stats::Class;

use super::escape::esc;
use super::word::tone;
use crate::sentences;
use judge::{Finding, Findings};

/// More systems than this have no room for words beside each other: their cells are signs, whose words are
/// shown where one points at them, and read by programs that read aloud.
const WORDS_MAX: usize = 6;

/// Writes the matrix; nothing for one system.
pub(crate) fn write(findings: &Findings, out: &mut dyn Write) -> io::Result<()> {
    if findings.systems.len() < 2 {
        return Ok(());
    }
    // A series that was not measured on one system has its name from another.
    let mut rows: Vec<&Finding> = Vec::new();
    for finding in &findings.series {
        match rows.iter_mut().find(|row| is_same_series(&row.key, &finding.key)) {
            Some(row) if row.measurements == 0 => *row = finding,
            Some(_) => {}
            None => rows.push(finding),
        }
    }
    let class = if findings.systems.len() > WORDS_MAX { "matrix signs" } else { "matrix" };
    writeln!(
        out,
        "<div class=\"scroll\" tabindex=\"0\"><table class=\"{class}\"><thead><tr>\
         <th scope=\"col\">Series</th>"
    )?;
    for system in &findings.systems {
        writeln!(out, "<th scope=\"col\"><span>{}</span></th>", esc(&system.name))?;
    }
    writeln!(out, "</tr></thead><tbody>")?;
    for row in rows {
        write!(out, "<tr><th scope=\"row\">{}</th>", esc(&row.label))?;
        for system in &findings.systems {
            let on_it = || findings.series.iter().enumerate().filter(|(_, f)| f.key.system == system.name);
            let same = on_it().find(|(_, f)| is_same_series(&f.key, &row.key));
            // One line says that none of a workload was measured.
            let none_of_it = |f: &Finding| {
                f.measurements == 0
                    && (&f.key.workload, &f.key.variant) == (&row.key.workload, &row.key.variant)
            };
            let cell = same.or_else(|| on_it().find(|(_, f)| none_of_it(f))).map(|(i, f)| cell(i, f));
            write!(out, "<td>{}</td>", cell.unwrap_or_else(|| "—".into()))?;
        }
        writeln!(out, "</tr>")?;
    }
    writeln!(out, "</tbody></table></div>")
}

/// Whether two systems have the same series.
fn is_same_series(one: &SeriesKey, two: &SeriesKey) -> bool {
    *one == SeriesKey { system: one.system.clone(), ..two.clone() }
}

/// The glyph and the word of one series on one system, with a link to more.
fn cell(i: usize, finding: &Finding) -> String {
    let (glyph, words) = match (&finding.verdict, finding.stops.first()) {
        (Some(v), _) => (glyph(v.class), sentences::in_short(v, finding.unit)),
        (None, Some(stop)) => ("M7 3L13 9M13 3L7 9", sentences::stop(stop)),
        (None, None) => ("", "no number".into()),
    };
    format!(
        "<a class=\"word {}\" href=\"#s{i}\" title=\"{1}\"><svg class=\"glyph\" viewBox=\"0 0 20 12\" \
         aria-hidden=\"true\"><path d=\"{glyph}\"/></svg><span>{1}</span></a>",
        tone(finding),
        esc(&words)
    )
}

/// How a class looks, in a box of 20 by 12.
fn glyph(class: Class) -> &'static str {
    match class {
        Class::Value => "M3 3V9M17 3V9M3 6H17M10 4V8",
        Class::Flat => "M1 8H19",
        Class::SmallGrowth => "M1 8.5L19 6",
        Class::Sublinear => "M1 11C3 5 8 3 19 2",
        Class::LinearLike => "M1 11L19 1",
        Class::Superlinear => "M1 11C12 10 17 7 19 1",
        Class::ApproachingLimit => "M1 10C12 9 15.5 8 16 1M19 1V11",
        Class::Stepped => "M1 10H10V2H19",
        Class::TwoLines => "M1 10H19M1 8L19 2",
        Class::Composite => "M1 9C5 9 5 3 9 3S13 9 15 9L19 2",
        Class::Ambiguous => "M1 11L19 1M1 11C3 5 8 3 19 2",
        Class::Uneven => "M1 8L4 3L8 9L12 4L15 8L19 5",
        Class::Decreasing => "M1 2L19 10",
        Class::Inconclusive => "M1 4H4M7 8H10M13 3H16M18 9H19",
    }
}
