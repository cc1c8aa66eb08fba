//! One growth as a sentence: its size and place, the landmark there, and the remedy.

use judge::hints::{Landmark, LandmarkRemedy};
use judge::verdict::is_passed;
use judge::{Finding, Findings, Growth, Highlight};
use stats::Class;

use super::lists::{groups, of_group};
use crate::document::{Cell, Row, Table, Text, Tone};
use crate::quantity::Quantity;
use crate::words::{estimated_factor, list, place_with_interval};
use crate::{place, sentences};

/// A sentence is wrapped to this width at least; with less room it stands behind its name.
const SENTENCE_WIDTH_MIN: usize = 60;
/// Growths shown at the most: a reader has half a minute.
const GROWTHS_MAX: usize = 9;
/// More operations that grow likewise are counted.
const OTHERS_NAMED: usize = 3;

/// The growths, each a row: number, name and sentence.
pub(super) fn table(findings: &Findings, highlights: &[Highlight<'_>]) -> Table {
    let mut table =
        Table { wraps_at: SENTENCE_WIDTH_MIN, rows_max: GROWTHS_MAX, ..Table::without_headings(3) };
    table.more = ", each of which costs less: --verbose";
    for (place, highlight) in highlights.iter().enumerate() {
        let (name, sentence) = (name(findings, highlight), sentence(findings, highlight));
        let number = (place + 1).to_string();
        let narrow = Text::toned(format!("{number}  "), Tone::Faint).and(format!("{name}: {sentence}"));
        let cells = vec![Cell::toned(number, Tone::Faint), Cell::toned(name, Tone::Strong), sentence.into()];
        table.push(Row { cells, sentence: Some(narrow), ..Row::default() });
    }
    table
}

/// The growths of series that are wanted, each a sentence: `bind: 1.2 µs → 3.1 ms …`.
pub(super) fn sentences_of(findings: &Findings, is_wanted: impl Fn(&Finding) -> bool) -> Vec<String> {
    let highlights = judge::highlights(findings);
    let wanted = highlights.iter().filter(|highlight| is_wanted(highlight.first()));
    wanted
        .map(|highlight| format!("{}: {}", name(findings, highlight), sentence(findings, highlight)))
        .collect()
}

/// The series that grows most, with its variants that grow alike.
pub(crate) fn name(findings: &Findings, highlight: &Highlight<'_>) -> String {
    groups(&highlight.series).first().map_or(String::new(), |group| of_group(findings, group))
}

/// `1.2 µs → 3.1 ms (×2 600) from 13 911 (13 900–13 920) bound sockets on, near half of
/// net.ipv4.ip_local_port_range (14 116): widen the range, or bind explicit ports; likewise accept`.
pub(crate) fn sentence(findings: &Findings, highlight: &Highlight<'_>) -> String {
    let first = highlight.first();
    let near = highlight.place.as_ref().and_then(|place| place.near.first());
    let mut sentence = size(highlight, first);
    if let Some(near) = near {
        sentence += &format!(", near {}", sentences::landmark(near));
    }
    match near.and_then(to_do) {
        Some(to_do) => sentence += &format!(": {to_do}"),
        None => sentence += &(instead(highlight) + &remedy(findings, first)),
    }
    sentence += &expected(findings, first);
    let others = likewise(findings, highlight);
    if !others.is_empty() {
        sentence += &format!("; likewise {}", list(&others));
    }
    sentence
}

/// `1.2 µs → 3.1 ms (×2 600) from 13 911 (13 900–13 920) bound sockets on`.
fn size(highlight: &Highlight<'_>, finding: &Finding) -> String {
    let Some(v) = &finding.verdict else { return String::new() };
    let Some(growth) = Growth::from_verdict(v) else { return String::new() };
    let (low, high) = finding.unit.estimates(growth.from.cost, growth.to.cost);
    let size = format!("{low} → {high} ({})", estimated_factor(growth.ratio));
    let at = place::at(growth.to.n, &finding.grows);
    let is_steady = matches!(v.class, Class::LinearLike) && v.bend.is_none();
    let size = match &highlight.place {
        Some(place) => {
            let ends = place::between(place.n).filter(|_| place.is_jump);
            let counted = |n: &str| place::counted(n, &finding.grows);
            let n = counted(&place_with_interval(place.n));
            let ahead = v.limit.filter(|limit| limit.n == place.n && !is_passed(*limit, v));
            let from = || match ahead {
                Some(limit) => format!("towards a limit at {n}{}", sentences::extrapolated(limit, v)),
                None => format!("from {n} on"),
            };
            let at = ends.map_or_else(from, |ends| format!("between {}", counted(&ends)));
            format!("{size} {at}")
        }
        None if is_steady => format!("{size} {at}{}", sentences::slope(v, finding.unit)),
        None => format!("{size} {at}"),
    };
    match judge::worse_before_the_end(v, finding.unit) {
        Some(block) => {
            let (ratio, range) = (estimated_factor(block.relative), place::range(block.n_low, block.n_high));
            format!("{size}, but {ratio} at {range}")
        }
        None => size,
    }
}

/// The remedy as the end of a sentence.
fn to_do(near: &Landmark) -> Option<&'static str> {
    Some(match near.remedy()? {
        LandmarkRemedy::WidenPorts => "widen the range, or bind explicit ports",
        LandmarkRemedy::RaiseLimit => "raise the limit with ulimit",
        LandmarkRemedy::RaiseGroup => "raise the limit of the control group",
        LandmarkRemedy::RaiseSetting => "raise it with sysctl",
        LandmarkRemedy::OpenHighDescriptor => "open a high descriptor early, so that the table has its size",
    })
}

/// How programs keep the cost small, where the workload says it.
fn remedy(findings: &Findings, finding: &Finding) -> String {
    let mut workloads = findings.workloads.iter();
    let workload = workloads.find(|workload| workload.name == finding.key.workload);
    let words = workload.and_then(|workload| workload.remedies.get(&finding.key.variant));
    words.map_or_else(String::new, |words| format!("; remedy: {words}"))
}

/// Where no setting lies: the variants that stay flat.
fn instead(highlight: &Highlight<'_>) -> String {
    let variants: Vec<String> = highlight.flat_variants.iter().map(ToString::to_string).collect();
    match variants.len() {
        0 => String::new(),
        1 => format!("; {} stays flat", list(&variants)),
        _ => format!("; {} stay flat", list(&variants)),
    }
}

/// The documented expectation, where the data agree with it or contradict it.
fn expected(findings: &Findings, finding: &Finding) -> String {
    let expected = sentences::expectation(finding.expect);
    match findings.as_expected(finding) {
        Some(true) => format!("; matches the documented expectation ({expected})"),
        Some(false) => format!("; contradicts the documented expectation ({expected})"),
        None => String::new(),
    }
}

/// Other series that grow with it: other workloads, and other operations of the same.
fn likewise(findings: &Findings, highlight: &Highlight<'_>) -> Vec<String> {
    let first = &highlight.first().key.workload;
    let mut others: Vec<String> = Vec::new();
    for group in groups(&highlight.series).iter().skip(1) {
        let name = match group[0].key.workload == *first {
            true => of_group(findings, group),
            false => group[0].key.workload.clone(),
        };
        if !others.contains(&name) {
            others.push(name);
        }
    }
    if others.len() > OTHERS_NAMED {
        let more = others.len() - OTHERS_NAMED + 1;
        others.truncate(OTHERS_NAMED - 1);
        others.push(format!("{more} more"));
    }
    others
}
