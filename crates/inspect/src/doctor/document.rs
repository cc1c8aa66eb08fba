//! The diagnosis as a document: the verdict, its reasons, the limits to raise, and how far workloads come.

use record::resource;
use report::document::{Column, Document, Section, Table, Text, Tone};
use report::quantity::time;
use report::sentences::usable_processors;
use report::words::{count, list};

use super::{
    Diagnosis, DoctorAnswer, MachineDemand, Prognosis, Readiness, ReadinessReason, ReasonWeight, Shortfall,
    some_of,
};

/// Reasons that are shown unless all are wanted.
const REASONS_MAX: usize = 5;
/// Groups of workloads that are shown unless all are wanted.
const GROUPS_MAX: usize = 10;
/// Workloads that are named behind a limit.
const WANTED_BY_MAX: usize = 3;

/// The answer as a document; with every workload by itself and every note where that is wanted.
pub fn document(answer: &DoctorAnswer, verbose: bool) -> Document {
    let mut document = Document { title: "Is this machine ready?".into(), ..Document::default() };
    for diagnosis in &answer.systems {
        let mut system = Section::new(headline(diagnosis, answer.demand.as_ref()));
        reasons(diagnosis, verbose, &mut system);
        document.push(system);
        document.blocks.extend(to_do(&diagnosis.shortfalls).map(Into::into));
        document.blocks.extend(prognoses(&diagnosis.prognoses, verbose).map(Into::into));
    }
    document
}

fn headline(diagnosis: &Diagnosis, demand: Option<&MachineDemand>) -> Text {
    let (verdict, tone) = match diagnosis.readiness {
        Readiness::Ready => ("READY", Tone::Good),
        Readiness::Limited => ("LIMITED", Tone::Open),
        Readiness::UsableWithCare => ("USABLE WITH CARE", Tone::Open),
        Readiness::NotFit => ("NOT FIT", Tone::Notable),
    };
    let fact = |key: &str| diagnosis.environment.get(key).map(String::as_str);
    let kernel = [fact("kernel.name"), fact("kernel.release")].into_iter().flatten().collect::<Vec<_>>();
    let mut parts = vec![diagnosis.name.clone(), kernel.join(" ")];
    let online = diagnosis.processors.as_ref().map_or(0, |processors| processors.online);
    parts.extend((online > 0).then(|| match fact("cpu.model") {
        Some(model) => format!("{online} × {model}"),
        None => format!("{online} processors"),
    }));
    parts.extend(usable_processors(&diagnosis.environment));
    parts.extend(demand.map(|demand| format!("for {demand}")));
    parts.retain(|part| !part.is_empty());
    Text::toned(verdict, tone).and(format!("  {}", parts.join(" · ")))
}

fn reasons(diagnosis: &Diagnosis, verbose: bool, section: &mut Section) {
    let (notes, reasons): (Vec<&ReadinessReason>, Vec<&ReadinessReason>) =
        diagnosis.reasons.iter().partition(|reason| reason.weight == ReasonWeight::Note);
    let shown = if verbose { reasons.len() } else { reasons.len().min(REASONS_MAX) };
    for reason in &reasons[..shown] {
        section.say(&reason.text);
    }
    if shown < reasons.len() {
        section.say(format!("and {} more: --verbose", reasons.len() - shown));
    }
    if verbose {
        notes.iter().for_each(|note| section.say(&note.text));
    } else if !notes.is_empty() {
        let mut subjects: Vec<String> = notes.iter().map(|note| note.subject.clone()).collect();
        subjects.dedup();
        section.say(format!("Part of every figure: {} (--verbose says how).", list(&subjects)));
    }
    if let Some(steadiness) = &diagnosis.steadiness {
        section.say(format!(
            "A reference operation of {} was repeated for {:.1} s: {:.1} % of the time was lost to others, \
             and slower moments were {:.0} % slower.",
            time(steadiness.operation_seconds),
            steadiness.seconds,
            steadiness.lost_share * 100.0,
            steadiness.drift_share * 100.0
        ));
    }
}

/// A value with its unit, where it has one.
pub fn value(shortfall: &Shortfall, value: u64) -> String {
    match shortfall.resource {
        resource::MEMORY | resource::DISK => format!("{} MiB", value >> 20),
        _ => value.to_string(),
    }
}

/// The workloads that want more, in a few words.
pub fn wanted_by(shortfall: &Shortfall) -> String {
    some_of(&shortfall.wanted_by, WANTED_BY_MAX)
}

fn to_do(shortfalls: &[Shortfall]) -> Option<Section> {
    let mut section = Section::new("To raise");
    for shortfall in shortfalls {
        let (now, needed) = (value(shortfall, shortfall.now), value(shortfall, shortfall.needed));
        let manual = shortfall.manual.map(|manual| format!(" · {manual}")).unwrap_or_default();
        let by = wanted_by(shortfall);
        let claim = format!("{} is {now}, needed is {needed} ({by}){manual}", shortfall.limit);
        let mut one = Section::new(Text::from(claim));
        match (&shortfall.command, &shortfall.lasting) {
            (Some(command), Some(lasting)) => {
                let ways = lasting.iter().map(|way| format!("{}: {}", way.place, way.text));
                let mut table = Table::without_headings(2);
                table.push(["now", command.as_str()]);
                table.push(["for good", ways.collect::<Vec<_>>().join(" · ").as_str()]);
                one.push(table);
            }
            _ if shortfall.is_out_of_reach() => {
                one.say("that is more than the system takes: use several processes, addresses or machines");
            }
            _ => one.say(&shortfall.advice),
        }
        section.push(one);
    }
    (!shortfalls.is_empty()).then_some(section)
}

/// The limit that stops a workload, in a few words.
fn stopped_by(prognosis: &Prognosis) -> String {
    if let Some(reason) = prognosis.unsupported {
        return format!("unsupported: {reason}");
    }
    let extent = &prognosis.extent;
    match extent.stopped_by() {
        Some(by) => format!("{} is {}, {} wanted", by.limit.name, by.value(), count(extent.wanted)),
        None if extent.n < extent.wanted => format!("as far as the others, {} wanted", count(extent.wanted)),
        None => String::new(),
    }
}

/// Workloads that come as far for the same reason share a row, unless each is wanted by itself.
fn prognoses(prognoses: &[Prognosis], verbose: bool) -> Option<Table> {
    let mut groups: Vec<(u64, String, Vec<String>)> = Vec::new();
    for prognosis in prognoses {
        let stop = stopped_by(prognosis);
        let n = if prognosis.unsupported.is_some() { 0 } else { prognosis.extent.n };
        let name = prognosis.name.clone();
        match groups.iter_mut().find(|(known, why, _)| !verbose && *known == n && *why == stop) {
            Some((_, _, names)) => names.push(name),
            None => groups.push((n, stop, vec![name])),
        }
    }
    groups.sort_by_key(|(n, _, _)| *n);
    let columns = vec![Column::number("n reaches"), "stopped by".into(), "workloads".into()];
    let mut table = Table { rows_max: GROUPS_MAX, more: ": --verbose", ..Table::of_columns(columns) };
    for (n, stop, names) in groups {
        table.push([count(n), stop, names.join(", ")]);
    }
    (!table.rows.is_empty()).then_some(table)
}
