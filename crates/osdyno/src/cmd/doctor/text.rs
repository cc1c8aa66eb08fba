//! The diagnosis in a terminal: the verdict, what to do, and how far workloads come.

use std::io::{self, Write};

use ::report::quantity::time;
use ::report::words::{count, list};
use ::report::{Style, write_columns, write_paragraph};
use inspect::doctor::{
    Diagnosis, MachineDemand, Prognosis, Readiness, ReadinessReason, ReasonWeight, Shortfall,
};
use record::{System, resource};

use super::patient::Patient;

/// Reasons that are shown unless all are wanted.
const REASONS_MOST: usize = 5;
/// Groups of workloads that are shown unless all are wanted.
const GROUPS_MOST: usize = 10;

pub(super) fn write(
    patient: &Patient,
    demand: Option<&MachineDemand>,
    verbose: bool,
    style: &Style,
    out: &mut dyn Write,
) -> io::Result<()> {
    let Patient { system, diagnosis } = patient;
    write_paragraph(&headline(system, diagnosis, demand), 2, style, out)?;
    reasons(diagnosis, verbose, style, out)?;
    to_do(&diagnosis.shortfalls, style, out)?;
    prognoses(&diagnosis.prognoses, verbose, style, out)
}

/// The verdict in a word or two.
pub(super) fn verdict(readiness: Readiness) -> &'static str {
    match readiness {
        Readiness::Ready => "READY",
        Readiness::Limited => "LIMITED",
        Readiness::UsableWithCare => "USABLE WITH CARE",
        Readiness::NotFit => "NOT FIT",
    }
}

fn headline(system: &System, diagnosis: &Diagnosis, demand: Option<&MachineDemand>) -> String {
    let fact = |key: &str| system.environment.get(key).map(String::as_str);
    let kernel = [fact("kernel.name"), fact("kernel.release")].into_iter().flatten().collect::<Vec<_>>();
    let mut parts = vec![system.name.clone(), kernel.join(" ")];
    let (online, usable) = system.processors.as_ref().map_or((0, 0), |processors| {
        (processors.online, u32::try_from(processors.usable.len()).unwrap_or(u32::MAX))
    });
    parts.extend((online > 0).then(|| match fact("cpu.model") {
        Some(model) => format!("{online} × {model}"),
        None => format!("{online} processors"),
    }));
    // No list at all is one that the system does not tell.
    parts.extend((0 < usable && usable < online).then(|| format!("{usable} of {online} processors usable")));
    parts.extend(demand.map(|demand| format!("for {demand}")));
    parts.retain(|part| !part.is_empty());
    format!("{}  {}", verdict(diagnosis.readiness), parts.join(" · "))
}

fn reasons(diagnosis: &Diagnosis, verbose: bool, style: &Style, out: &mut dyn Write) -> io::Result<()> {
    let (notes, reasons): (Vec<&ReadinessReason>, Vec<&ReadinessReason>) =
        diagnosis.reasons.iter().partition(|reason| reason.weight == ReasonWeight::Note);
    let most = if verbose { usize::MAX } else { REASONS_MOST };
    for reason in reasons.iter().take(most) {
        write_paragraph(&format!("  {}", reason.text), 4, style, out)?;
    }
    if reasons.len() > most {
        write_paragraph(&format!("  {} more with --verbose", reasons.len() - most), 4, style, out)?;
    }
    if verbose {
        for note in &notes {
            write_paragraph(&format!("  {}", note.text), 4, style, out)?;
        }
    } else if !notes.is_empty() {
        let mut subjects: Vec<String> = notes.iter().map(|note| note.subject.clone()).collect();
        subjects.dedup();
        let text = format!("  Part of every figure: {} (--verbose says how).", list(&subjects));
        write_paragraph(&text, 4, style, out)?;
    }
    if let Some(steadiness) = &diagnosis.steadiness {
        let text = format!(
            "  A reference operation of {} was repeated for {:.1} s: {:.1} % of the time was lost to others, \
             and slower moments were {:.0} % slower.",
            time(steadiness.operation_seconds),
            steadiness.seconds,
            steadiness.lost_share * 100.0,
            steadiness.drift_share * 100.0
        );
        write_paragraph(&text, 4, style, out)?;
    }
    Ok(())
}

/// A value with its unit, where it has one.
pub(in crate::cmd) fn value(shortfall: &Shortfall, value: u64) -> String {
    match shortfall.resource {
        resource::MEMORY | resource::DISK => format!("{} MiB", value >> 20),
        _ => value.to_string(),
    }
}

/// Who wants more, in a few words.
pub(in crate::cmd) fn wanted_by(shortfall: &Shortfall) -> String {
    const SHOWN: usize = 3;
    let names = &shortfall.wanted_by;
    match names.len() > SHOWN {
        true => format!("{} and {} others", names[..SHOWN].join(", "), names.len() - SHOWN),
        false => names.join(", "),
    }
}

fn to_do(shortfalls: &[Shortfall], style: &Style, out: &mut dyn Write) -> io::Result<()> {
    if shortfalls.is_empty() {
        return Ok(());
    }
    writeln!(out)?;
    write_paragraph("To raise", 2, style, out)?;
    for shortfall in shortfalls {
        let (now, needed) = (value(shortfall, shortfall.now), value(shortfall, shortfall.needed));
        let manual = shortfall.setting.map(|setting| format!(" · {}", setting.manual)).unwrap_or_default();
        let by = wanted_by(shortfall);
        let line = format!("  {} is {now}, needed is {needed} ({by}){manual}", shortfall.limit);
        write_paragraph(&line, 4, style, out)?;
        match shortfall.remedy() {
            Some(remedy) => {
                write_paragraph(&format!("    now       {}", remedy.now), 14, style, out)?;
                let ways: Vec<String> =
                    remedy.lasting.iter().map(|way| format!("{}: {}", way.place, way.text)).collect();
                write_paragraph(&format!("    for good  {}", ways.join(" · ")), 14, style, out)?;
            }
            None if shortfall.is_out_of_reach() => {
                let text = "    that is more than the system takes: use several processes, addresses or \
                            machines";
                write_paragraph(text, 4, style, out)?;
            }
            None => write_paragraph(&format!("    {}", shortfall.advice), 4, style, out)?,
        }
    }
    Ok(())
}

/// What stops a workload, in a few words.
pub(super) fn stopped_by(prognosis: &Prognosis) -> String {
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

fn prognoses(prognoses: &[Prognosis], verbose: bool, style: &Style, out: &mut dyn Write) -> io::Result<()> {
    if prognoses.is_empty() {
        return Ok(());
    }
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
    let most = if verbose { usize::MAX } else { GROUPS_MOST };
    let row = |(n, stop, names): &(u64, String, Vec<String>)| vec![count(*n), stop.clone(), names.join(", ")];
    let rows: Vec<Vec<String>> = groups.iter().take(most).map(row).collect();
    writeln!(out)?;
    write_columns(&["n reaches", "stopped by", "workloads"], &rows, style, out)?;
    if groups.len() > most {
        write_paragraph(&format!("{} more with --verbose", groups.len() - most), 2, style, out)?;
    }
    Ok(())
}
