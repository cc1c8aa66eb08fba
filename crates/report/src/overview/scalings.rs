//! Operations by several workers at once: how the throughput of each scales, the worst first.

use std::collections::BTreeSet;

use judge::{Finding, Findings, NotScaled, Remark};
use record::{Shape, System, Workload};
use stats::{Scaling, ScalingClass};

use super::yields;
use crate::document::{Cell, Column, Names, Row, Section, Table, Text, Tone};
use crate::quantity::Quantity;
use crate::sentences;
use crate::words::{count, factor, factor_with_interval, percent};

/// Columns of the table.
const WORDS: usize = 3;
/// The words are wrapped where room is short, to this width at least.
const WORDS_WIDTH_MIN: usize = 32;

/// Lines that a list of names may take on a screen.
const LINES_MAX: usize = 3;

/// One scaling.
type Scaled<'a> = (&'a Finding, &'a Scaling);

/// The scalings of each system; none without any. `is_whole` leaves nothing out.
pub(crate) fn sections(findings: &Findings, is_whole: bool) -> Vec<Section> {
    let of_system = |system| {
        let judged = section(findings, system, is_whole);
        judged.into_iter().chain(unjudged(findings, system, is_whole))
    };
    findings.systems.iter().flat_map(of_system).collect()
}

/// The findings without the series that these sections show.
pub(crate) fn without_scalings(mut findings: Findings) -> Findings {
    let is_scaling = |workload: &&Workload| workload.shape == Shape::Scaling;
    let scalings = findings.workloads.iter().filter(is_scaling).map(|workload| workload.name.clone());
    let scalings: BTreeSet<String> = scalings.collect();
    // One processor has a throughput, and nothing else.
    let is_alone = |finding: &Finding| is_refused(finding, NotScaled::OneProcessor);
    findings.series.retain(|finding| !scalings.contains(&finding.key.workload) || is_alone(finding));
    findings
}

/// Whether its workload is a scaling.
pub(crate) fn is_of_scaling(findings: &Findings, finding: &Finding) -> bool {
    let mut workloads = findings.workloads.iter();
    workloads.any(|workload| workload.name == finding.key.workload && workload.shape == Shape::Scaling)
}

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

fn section(findings: &Findings, system: &System, is_whole: bool) -> Option<Section> {
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
        section.push(table((findings, system), &loses, &all, top));
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
fn table(
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

/// How each variant of an operation scales on a system, in words.
pub(crate) fn sentences(findings: &Findings, system: &str, workload: &str) -> Vec<String> {
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
