//! How costs grow. A growth over n is a sentence: its size and place, the landmark there, and the remedy. An
//! operation by several workers at once has the loss of its throughput, the worst first.

use judge::hints::{Landmark, LandmarkRemedy};
use judge::verdict::is_passed;
use judge::{Finding, Findings, Growth, Highlight, NotScaled, Remark};
use record::{Shape, System};
use stats::{Class, Scaling, ScalingClass};

use super::lists::{groups, of_group};
use super::yields;
use crate::document::{Cell, Column, Names, Row, Section, Table, Text, Tone};
use crate::quantity::Quantity;
use crate::words::{
    count, estimated_factor, factor, factor_with_interval, list, percent, place_with_interval, some_of,
};
use crate::{place, sentences};

/// A sentence is wrapped to this width at least; with less room it stands behind its name.
const SENTENCE_WIDTH_MIN: usize = 60;
/// Growths shown at the most: a reader has half a minute.
const GROWTHS_MAX: usize = 9;
/// Of more operations that grow likewise these are named, and the others counted.
const OTHERS_NAMED: usize = 2;
/// The column of the losses that is wrapped.
const WORDS: usize = 3;
/// The words are wrapped where room is short, to this width at least.
const WORDS_WIDTH_MIN: usize = 32;
/// Lines that a list of names may take on a screen.
const LINES_MAX: usize = 3;

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
pub fn growth_sentences(findings: &Findings, is_wanted: impl Fn(&Finding) -> bool) -> Vec<String> {
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
    sentence + &expected(findings, first) + &likewise(findings, highlight)
}

/// The scalings of each system; none without any. `is_whole` leaves nothing out.
pub(crate) fn scaling_sections(findings: &Findings, is_whole: bool) -> Vec<Section> {
    let of_system = |system| {
        let judged = scaling_section(findings, system, is_whole);
        judged.into_iter().chain(unjudged(findings, system, is_whole))
    };
    findings.systems.iter().flat_map(of_system).collect()
}

/// The findings without the series that these sections show.
pub(crate) fn without_scalings(mut findings: Findings) -> Findings {
    let mut series = std::mem::take(&mut findings.series);
    // One processor has a throughput, and nothing else.
    let is_alone = |finding: &Finding| is_refused(finding, NotScaled::OneProcessor);
    series.retain(|finding| !is_of_scaling(&findings, finding) || is_alone(finding));
    Findings { series, ..findings }
}

/// Whether its workload is a scaling.
pub(crate) fn is_of_scaling(findings: &Findings, finding: &Finding) -> bool {
    findings.workload(&finding.key.workload).is_some_and(|workload| workload.shape == Shape::Scaling)
}

/// How each variant of an operation scales on a system, in words.
pub(crate) fn scaling_sentences(findings: &Findings, system: &str, workload: &str) -> Vec<String> {
    let sentence = |finding: &Finding| {
        let scaling = finding.scaling.as_ref()?;
        let loss = sentences::loss(scaling, None);
        let words = match scaling.class {
            ScalingClass::Scales => format!("scales within {}", percent(findings.margin)),
            ScalingClass::Undecided => "undecided".to_owned(),
            _ => loss,
        };
        Some(format!("{}: {words}", sentences::variant_label(findings, finding)))
    };
    let is_its = |finding: &&Finding| finding.key.system == system && finding.key.workload == workload;
    findings.series.iter().filter(is_its).filter_map(sentence).collect()
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
    let workload = findings.workload(&finding.key.workload);
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
fn likewise(findings: &Findings, highlight: &Highlight<'_>) -> String {
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
    match others.as_slice() {
        [] => String::new(),
        some => format!("; likewise {}", some_of(some, OTHERS_NAMED)),
    }
}

/// One scaling.
type Scaled<'a> = (&'a Finding, &'a Scaling);

fn is_refused(finding: &Finding, reason: NotScaled) -> bool {
    finding.remarks.contains(&Remark::NotScaled(reason))
}

/// The scalings that are not judged: on emulated processors, and where no trial held enough levels.
fn unjudged(findings: &Findings, system: &System, is_whole: bool) -> Vec<Section> {
    let of_system = || findings.series.iter().filter(|finding| finding.key.system == system.name);
    let name = if findings.systems.len() > 1 { format!("{}: ", system.name) } else { String::new() };
    let section = |(why, label): (NotScaled, &str)| {
        let series: Vec<&Finding> = of_system().filter(|finding| is_refused(finding, why)).collect();
        let title = name.clone() + &sentences::remark(&Remark::NotScaled(why));
        let mut section = Section::new(Text::toned(title, Tone::Strong));
        section.push(Names {
            label: label.to_owned(),
            items: series.iter().map(|finding| sentences::variant_label(findings, finding)).collect(),
            behind: String::new(),
            lines_max: if is_whole { usize::MAX } else { LINES_MAX },
        });
        (!series.is_empty()).then_some(section)
    };
    let reasons = [(NotScaled::Emulated, "Measured"), (NotScaled::NoSpeedup, "Without a result")];
    reasons.into_iter().filter_map(section).collect()
}

fn scaling_section(findings: &Findings, system: &System, is_whole: bool) -> Option<Section> {
    let of_system = findings.series.iter().filter(|finding| finding.key.system == system.name);
    let mut all: Vec<Scaled<'_>> =
        of_system.filter_map(|finding| Some((finding, finding.scaling.as_ref()?))).collect();
    all.sort_by(|one, other| efficiency(one.1).total_cmp(&efficiency(other.1)));
    let top = all.iter().filter_map(|(_, scaling)| scaling.speedups.last()).map(|last| last.workers).max()?;
    let of = |is_wanted: fn(ScalingClass) -> bool| -> Vec<Scaled<'_>> {
        all.iter().copied().filter(|(_, scaling)| is_wanted(scaling.class)).collect()
    };
    let scales = of(|class| class == ScalingClass::Scales);
    let undecided = of(|class| class == ScalingClass::Undecided);
    let loses = of(ScalingClass::is_loss);

    let name = sentences::on_system(findings, system);
    let counts = [
        (loses.len(), ["loses", "lose"]),
        (scales.len(), ["scales", "scale"]),
        (undecided.len(), ["undecided"; 2]),
    ];
    let counts = counts.into_iter().filter(|(number, _)| *number > 0);
    let counts: Vec<String> = counts
        .map(|(number, words)| format!("{} {}", count(number as u64), words[usize::from(number > 1)]))
        .collect();
    let title =
        format!("{} workers at once{name}, each on its own processor: {}", count(top), counts.join(" · "));
    let mut section = Section::new(Text::toned(title, Tone::Strong));
    if !loses.is_empty() {
        section.push(losses((findings, system), &loses, &all, top));
    }
    let label = |(finding, _): &Scaled<'_>| sentences::variant_label(findings, finding);
    let lines_max = if is_whole { usize::MAX } else { LINES_MAX };
    let names =
        |label: &str, items| Names { label: label.to_owned(), items, behind: String::new(), lines_max };
    let within = format!("Scale within {}", percent(findings.margin));
    if !scales.is_empty() {
        section.push(names(&within, scales.iter().map(label).collect()));
    }
    let so_far = |one: &Scaled<'_>| {
        let last = one.1.speedups.last().map(|last| format!(" ({})", factor(last.ratio.value)));
        label(one) + &last.unwrap_or_default()
    };
    if !undecided.is_empty() {
        section.push(names("Undecided", undecided.iter().map(so_far).collect()));
    }
    let beyond = beyond((findings, system), &all);
    beyond.into_iter().for_each(|(label, items)| section.push(names(&label, items)));
    Some(section)
}

/// The operations of more workers than processors, by whether these do as much as a worker on each processor:
/// a heading and the operations of each kind.
fn beyond((findings, system): (&Findings, &System), all: &[Scaled<'_>]) -> Vec<(String, Vec<String>)> {
    let Some(processors) = system.workers_at_once() else { return Vec::new() };
    let last = all.iter().filter_map(|(_, scaling)| scaling.oversubscribed.last());
    let Some(most) = last.map(|last| last.workers).max() else { return Vec::new() };
    let least = 1.0 - findings.margin;
    let (mut fewer, mut as_many) = (Vec::new(), Vec::new());
    for &(finding, scaling) in all {
        let (Some(beyond), Some(within)) = (scaling.oversubscribed.last(), scaling.speedups.last()) else {
            continue;
        };
        if (beyond.workers, within.workers) != (most, processors) {
            continue;
        }
        let (low, high) = (beyond.ratio.low / within.ratio.high, beyond.ratio.high / within.ratio.low);
        let name = sentences::variant_label(findings, finding);
        if high < least {
            fewer.push(format!("{name} ({})", factor(beyond.ratio.value / within.ratio.value)));
        } else if low >= least {
            as_many.push(name);
        }
    }
    let (most, of) = (count(most), count(processors));
    let compared = format!("{most} workers on {of} processors");
    let kinds = [
        (format!("{compared} do less than {of}"), fewer),
        (format!("{compared} do as much as {of}, within {}, or more", percent(findings.margin)), as_many),
    ];
    kinds.into_iter().filter(|(_, items)| !items.is_empty()).collect()
}

/// Those that certainly lose, the worst first.
fn losses(
    (findings, system): (&Findings, &System),
    loses: &[Scaled<'_>],
    all: &[Scaled<'_>],
    top: u64,
) -> Table {
    let most = format!("{} workers", count(top));
    let words = Column::default().class("verdict");
    let columns = vec![Column::default(), Column::number("1 worker"), Column::number(&most), words];
    let mut table = Table::of_columns(columns);
    (table.wraps, table.wraps_at) = (WORDS, WORDS_WIDTH_MIN);
    (table.yields, table.more) = (Some(yields::SCALINGS), " that lose: --verbose");
    for &(finding, scaling) in loses {
        let one = finding.verdict.as_ref().map(|verdict| finding.unit.cost(verdict.cost_low.value));
        let most = scaling.speedups.last().map(|last| factor_with_interval(last.ratio));
        let words = sentences::loss(scaling, system.processors.as_ref()) + &better((finding, scaling), all);
        let (one, most) = (one.unwrap_or_default(), most.unwrap_or_default());
        let name = sentences::variant_label(findings, finding);
        let sentence = format!("{name}: {one} by one worker, {most}; {words}");
        table.push(Row {
            cells: vec![name.into(), one.into(), most.into(), Cell::toned(words, Tone::Notable)],
            sentence: Some(Text::toned(sentence, Tone::Notable)),
            ..Row::default()
        });
    }
    table
}

/// Throughput of each of the most workers over that of one.
fn efficiency(scaling: &Scaling) -> f64 {
    scaling.speedups.last().map_or(1.0, |last| last.efficiency.value)
}

/// `; processes reach ×1.9 (1.8–2.0)`: the variant of the same operation that certainly scales better.
fn better((finding, scaling): Scaled<'_>, all: &[Scaled<'_>]) -> String {
    let Some(own) = scaling.speedups.last().map(|last| last.efficiency) else { return String::new() };
    let others = all.iter().filter(|(other, _)| other.key.workload == finding.key.workload);
    let better = others.filter_map(|(other, scaling)| Some((other, scaling.speedups.last()?)));
    let better = better.filter(|(_, last)| last.efficiency.low > own.high);
    let best = better.max_by(|one, other| one.1.efficiency.value.total_cmp(&other.1.efficiency.value));
    best.map_or_else(String::new, |(other, last)| {
        format!("; {} reach {}", other.key.variant, factor_with_interval(last.ratio))
    })
}
