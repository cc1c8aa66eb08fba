//! What a run found, on one screen: what grows and what to do about it, what is flat, what is undecided.
//! [`table`] has all of it.

mod compared;
mod costs;
mod fit;
mod growth;
mod kind;
mod lists;
mod names;
mod remarks;
mod systems;

use std::cell::Cell;
use std::io::{self, Write};

use judge::compare::Comparison;
use judge::{Finding, Findings, Note};

use self::fit::{Part, lines};

pub(crate) use self::growth::{name, sentence};
pub(crate) use self::kind::Kind;
pub(crate) use self::lists::{List, counts, of as lists};
use crate::document::Tone;
use crate::sentences;
use crate::table;
use crate::text::{Page, Row, Style};
use crate::words::things;

/// Lines of an overview at the most; with the places of the files that follow it fits on a screen of 40.
const LINES_MAX: usize = 36;
/// Lines below a comparison of systems for the growths of each, with empty lines around.
const GROWTH_LINES: usize = 8;
/// Lines of all remarks on the numbers at the most.
const REMARK_LINES: usize = 3;
/// Growths shown at the most: a reader has half a minute.
const GROWTHS_MOST: usize = 9;
/// Rows of the table at the most.
const ROWS_MOST: usize = 9;

/// Writes the machine, how its systems compare where it has several, the growths that cost a user most, the
/// table of what changes, and lists of all else. What the run measured besides its questions is left to
/// [`table`].
pub fn write(
    findings: &Findings,
    systems: Option<&Comparison>,
    style: &Style,
    out: &mut dyn Write,
) -> io::Result<()> {
    write_screen(findings, systems, false, style, out)
}

/// Writes the same for a reader that was told of the machine when the run began.
pub fn write_after_machine(
    findings: &Findings,
    systems: Option<&Comparison>,
    style: &Style,
    out: &mut dyn Write,
) -> io::Result<()> {
    write_screen(findings, systems, true, style, out)
}

fn write_screen(
    findings: &Findings,
    systems: Option<&Comparison>,
    is_machine_known: bool,
    style: &Style,
    out: &mut dyn Write,
) -> io::Result<()> {
    let all = findings.series.len();
    let mut findings = findings.without_details();
    if is_machine_known {
        findings.notes.retain(|note| !matches!(note, Note::Readiness { .. }));
    }
    let findings = &findings;
    let details = all - findings.series.len();
    let screen = Screen { findings, style: *style, details, is_machine_known };
    let head = screen.machine()?;
    let lists = screen.lists()?;
    let remarks = screen.remarks()?;
    let known = [&head, &lists, &remarks].map(lines).iter().sum::<usize>();
    let room = LINES_MAX.saturating_sub(known + GROWTH_LINES);
    let systems = systems.map(|systems| systems::of(systems, style, room)).transpose()?;
    let taken = known + systems.as_ref().map_or(0, |part| lines(part) + 1);
    let compared = screen.comparisons(LINES_MAX.saturating_sub(taken + 4).max(8))?;
    // Empty lines between the parts, and the heading of the growths.
    let room = LINES_MAX.saturating_sub(taken + lines(&compared) + 4);
    let highlights = judge::highlights(findings);
    // The sentences say more than the table, and the systems are compared already.
    let growths = screen.growths(&highlights, (room * 3 / 4).max(if systems.is_some() { 3 } else { 6 }))?;
    let mut parts = vec![head];
    match systems {
        Some(systems) => parts.extend([systems, [growths, lists].concat()]),
        None => {
            let room = room.saturating_sub(lines(&growths));
            let (changed, shown) = screen.changed(&highlights, room.max(3))?;
            // An empty line before each of the two tables.
            let room = room.saturating_sub(lines(&changed) + 2);
            let costs = costs::write(findings, &shown, style, room)?;
            parts.extend([[growths, lists].concat(), changed].into_iter().chain(costs));
        }
    }
    parts.extend([compared, remarks]);
    write_parts(&parts, out)
}

/// Writes a comparison of systems: what differs for certain, the largest first, and lists of all else.
pub fn write_systems(compared: &Comparison, style: &Style, out: &mut dyn Write) -> io::Result<()> {
    out.write_all(&systems::of(compared, style, LINES_MAX)?)
}

/// Writes the parts that have something in them, with an empty line between two.
fn write_parts(parts: &[Part], out: &mut dyn Write) -> io::Result<()> {
    for (i, part) in parts.iter().filter(|part| !part.is_empty()).enumerate() {
        if i > 0 {
            writeln!(out)?;
        }
        out.write_all(part)?;
    }
    Ok(())
}

/// The growths of series that are wanted, each a sentence.
pub fn growths(findings: &Findings, is_wanted: impl Fn(&Finding) -> bool) -> Vec<String> {
    growth::sentences_of(findings, is_wanted)
}

/// What is shown, and how.
struct Screen<'a> {
    findings: &'a Findings,
    style: Style,
    /// Series that are not shown.
    details: usize,
    /// Whether the machine stands above already.
    is_machine_known: bool,
}

impl Screen<'_> {
    fn part(&self, write: impl FnOnce(&mut Page<'_>) -> io::Result<()>) -> io::Result<Part> {
        fit::part(&self.style, write)
    }

    fn fitted(
        &self,
        most: usize,
        room: usize,
        write: impl Fn(&mut Page<'_>, usize) -> io::Result<()>,
    ) -> io::Result<Part> {
        fit::fitted(&self.style, most, room, write)
    }

    /// The machine, and the first of what disturbs it.
    fn machine(&self) -> io::Result<Part> {
        self.part(|page| {
            for system in self.findings.systems.iter().filter(|_| !self.is_machine_known) {
                let several = self.findings.systems.len() > 1;
                let name = if several { format!("{} · ", system.name) } else { String::new() };
                let tool = &self.findings.run.tool;
                let machine = sentences::machine(&format!("{} {}", tool.name, tool.version), system);
                page.paragraph(&(name + &machine), 2, Tone::Strong)?;
            }
            for background in sentences::backgrounds(self.findings) {
                page.paragraph(&background, 2, Tone::Plain)?;
            }
            let notes = sentences::notes(self.findings);
            if let Some(first) = notes.first() {
                let more = match notes.len() - 1 {
                    0 => String::new(),
                    more => format!(" ({} with --verbose)", things(more, "more remark", "more remarks")),
                };
                page.paragraph(&format!("{first}{more}"), 2, Tone::Notable)?;
            }
            Ok(())
        })
    }

    /// What grows, and what to do about it.
    fn growths(&self, highlights: &[judge::Highlight<'_>], room: usize) -> io::Result<Part> {
        let rows: Vec<Row> = highlights
            .iter()
            .enumerate()
            .map(|(i, highlight)| growth::row(self.findings, highlight, i + 1, &self.style))
            .collect();
        let heading = counts(self.findings);
        if rows.is_empty() {
            return self.part(|page| page.paragraph(&heading, 2, Tone::Strong));
        }
        self.fitted(rows.len().min(GROWTHS_MOST), room, |page, shown| {
            page.paragraph(&heading, 2, Tone::Strong)?;
            page.columns(&rows[..shown], rows[0].cells.len() - 1)?;
            match rows.len() - shown {
                0 => Ok(()),
                more => page.paragraph(
                    &format!("    and {more} more, each of which costs less: --verbose"),
                    4,
                    Tone::Faint,
                ),
            }
        })
    }

    /// The series that change, in the order in which they are said, and which of these are shown.
    fn changed<'f>(
        &'f self,
        highlights: &[judge::Highlight<'f>],
        room: usize,
    ) -> io::Result<(Part, Vec<&'f Finding>)> {
        let others = lists::other_changes(self.findings);
        let mut series: Vec<&Finding> =
            highlights.iter().map(judge::Highlight::first).chain(names::firsts(&others)).collect();
        let last = Cell::new(0);
        let part = self.fitted(series.len().min(ROWS_MOST), room, |page, shown| {
            last.set(shown);
            table::write_changes(self.findings, &series[..shown], &self.style, page)
        })?;
        series.truncate(last.get());
        Ok((part, series))
    }

    fn lists(&self) -> io::Result<Part> {
        let mut part = Vec::new();
        for list in lists(self.findings) {
            part.extend(fit::list(&self.style, &list)?);
        }
        Ok(part)
    }

    /// What contenders reached, where that says more than the growth of each; several share the room.
    fn comparisons(&self, room: usize) -> io::Result<Part> {
        let shown = || self.findings.comparisons.iter().filter(|compared| compared::is_shown(compared));
        let each = room / shown().count().max(1);
        let mut part = Vec::new();
        for compared in shown() {
            // A line for what each reached, and one for how its times change.
            part.extend(self.fitted(2 * compared.contenders.len(), each, |page, most| {
                compared::write(self.findings, compared, most, &self.style, page)
            })?);
        }
        Ok(part)
    }

    fn remarks(&self) -> io::Result<Part> {
        let remarks = remarks::of(self.findings);
        let verbose = remarks::of_verbose(self.findings, self.details);
        self.fitted(remarks.len() + 1, REMARK_LINES, |page, shown| {
            let shown = shown - 1;
            let more = match remarks.len() - shown {
                0 => String::new(),
                more => format!("{}. ", things(more, "more remark", "more remarks")),
            };
            let said: String = remarks[..shown].iter().map(|remark| format!("{remark} ")).collect();
            page.paragraph(&format!("{said}{more}{verbose}"), 2, Tone::Faint)
        })
    }
}
