//! What is changed, in a terminal.

use std::io::{self, Write};
use std::path::Path;

use ::report::{Style, write_columns, write_paragraph};
use inspect::doctor::MachineDemand;
use inspect::tune::{SettingChange, TunePlan, Undone};

use crate::cmd::doctor::{value, wanted_by};

pub(super) fn write_plan(
    plan: &TunePlan,
    demand: Option<&MachineDemand>,
    apply: bool,
    record: Option<&Path>,
    style: &Style,
    out: &mut dyn Write,
) -> io::Result<()> {
    if plan.changes.is_empty() && plan.left.is_empty() {
        let text = match demand {
            Some(demand) => format!("Nothing to change: {demand} fit."),
            None => "Nothing to change: a run without names is limited by no setting.".to_owned(),
        };
        return write_paragraph(&text, 2, style, out);
    }
    if !plan.changes.is_empty() {
        let verb = if record.is_some() { "Changed" } else { "Would change" };
        let wanted = demand.map_or("a run without names".to_owned(), MachineDemand::to_string);
        write_paragraph(&format!("{verb}, for {wanted}"), 2, style, out)?;
        let row = |(change, shortfall): &(SettingChange, inspect::doctor::Shortfall)| {
            let why = format!("it limits {}", shortfall.resource.replace('_', " "));
            let manual = shortfall.setting.map(|setting| setting.manual).unwrap_or_default();
            vec![change.name.clone(), change.before.clone(), change.after.clone(), why, manual.to_owned()]
        };
        let rows: Vec<Vec<String>> = plan.changes.iter().map(row).collect();
        write_columns(&["setting", "before", "after", "why", "manual"], &rows, style, out)?;
    } else if apply {
        write_paragraph("Nothing was changed: what is missing is no setting of the system.", 2, style, out)?;
    }
    if !plan.left.is_empty() {
        if apply || !plan.changes.is_empty() {
            writeln!(out)?;
        }
        write_paragraph("Left to you", 2, style, out)?;
    }
    for shortfall in &plan.left {
        let (now, needed) = (value(shortfall, shortfall.now), value(shortfall, shortfall.needed));
        let by = wanted_by(shortfall);
        let how = match shortfall.remedy() {
            Some(remedy) => {
                let lasting: Vec<String> =
                    remedy.lasting.iter().map(|way| format!("{}: {}", way.place, way.text)).collect();
                format!("{} · {}", remedy.now, lasting.join(" · "))
            }
            None if shortfall.is_out_of_reach() => "that is more than the system takes".to_owned(),
            None => shortfall.advice.clone(),
        };
        let line = format!("  {} is {now}, needed is {needed} ({by}): {how}", shortfall.limit);
        write_paragraph(&line, 4, style, out)?;
    }
    match record {
        Some(record) => {
            writeln!(out)?;
            let text = format!("osdyno tune --undo {} puts it back", record.display());
            write_paragraph(&::report::printable(&text), 2, style, out)
        }
        None if !apply && !plan.changes.is_empty() => {
            writeln!(out)?;
            write_paragraph("--apply changes it, until the next boot", 2, style, out)
        }
        None => Ok(()),
    }
}

pub(super) fn write_undone(
    undone: &[(SettingChange, Undone)],
    style: &Style,
    out: &mut dyn Write,
) -> io::Result<()> {
    for (change, undone) in undone {
        let SettingChange { name, before, after } = change;
        let text = match undone {
            Undone::Restored => format!("{name}: {after} → {before}"),
            Undone::AlreadyBack => format!("{name}: has its old value, {before}"),
            Undone::LeftAlone(now) => format!(
                "{name}: left alone, because somebody else has set it to {now}; --apply had set {after}, and \
                 before it was {before}"
            ),
            Undone::Failed(error) => format!("{name}: could not be set back to {before}: {error}"),
        };
        write_paragraph(&::report::printable(&text), 2, style, out)?;
    }
    Ok(())
}
