//! The findings of a run as one page: one file, nothing loaded from elsewhere, readable without scripts.

mod cards;
mod cloud;
mod efficiencies;
pub(crate) mod escape;
mod figure;
mod filter;
mod growths;
mod load;
mod marks;
mod matrix;
pub(crate) mod page;
mod panel;
mod phases;
mod picture;
pub(crate) mod plot;
pub(crate) mod scale;
mod scalings;
pub(crate) mod sheet;
mod source;
pub(crate) mod svg;
mod tail;
pub(crate) mod tracks;
mod verdicts;
mod word;
mod zoom;

use std::io::{self, Write};

use judge::compare::Comparison;
use judge::{Findings, Fleet};
use record::Recording;

use crate::document::page::{blocks, head as write_head};
use crate::document::{Text, Tone};
use crate::{compare, fleet, overview};
pub use escape::esc;
pub use load::{LoadMoment, LoadPlots};
pub use page::{PageLinks, close, open, script};
pub use panel::Panel;
pub use picture::picture;
pub use scalings::picture_of_scaling;
use source::{Budget, Source};

/// Writes the report of a run; of several systems with their comparison.
pub fn write(
    recording: &Recording,
    findings: &Findings,
    systems: Option<&Comparison>,
    out: &mut dyn Write,
) -> io::Result<()> {
    write_on_site(recording, findings, systems, &PageLinks::default(), out)
}

/// The same as a page of a site.
pub fn write_on_site(
    recording: &Recording,
    findings: &Findings,
    systems: Option<&Comparison>,
    links: &PageLinks,
    out: &mut dyn Write,
) -> io::Result<()> {
    if let Some(fleet) = &findings.fleet {
        return write_fleet(findings, fleet, links, out);
    }
    let asked = &overview::scalings::without_scalings(findings.without_details());
    let highlights = &judge::highlights(asked);
    let source = &Source { recording, findings, asked, highlights, budget: Budget::of(findings) };
    // Where and how imported numbers were measured is unknown.
    let is_run = !findings.run.started_at.is_empty();
    page::open(&page::title(findings), &links.way, out)?;
    filter::bar(findings, &parts(source, systems, is_run), out)?;
    write_head(&[page::over(findings)], &page::systems(findings), &page::head(findings, asked), out)?;
    if let Some(systems) = systems {
        compare::write_systems(findings, systems, out)?;
    }
    blocks(&scalings::blocks(source), 2, out)?;
    blocks(&growths::section(source).map(Into::into).into_iter().collect::<Vec<_>>(), 2, out)?;
    cards::write(source, out)?;
    writeln!(out, "<div id=\"measurements\">")?;
    for workload in &findings.workloads {
        figure::workload(source, workload, out)?;
    }
    writeln!(out, "</div>")?;
    if is_run {
        blocks(&[page::environment(findings).into(), page::repeat(findings).into()], 2, out)?;
    }
    page::how_to_read(findings, systems, out)?;
    page::close_with_script(links, out)
}

/// Writes the report of a run on the hosts of a fleet: folded over the hosts, because the plots of a hundred
/// systems would be a file of a gigabyte.
fn write_fleet(findings: &Findings, fleet: &Fleet, links: &PageLinks, out: &mut dyn Write) -> io::Result<()> {
    let title = fleet::title(fleet, &findings.systems);
    page::open(&format!("{}: {title}", findings.run.tool.name), &links.way, out)?;
    writeln!(out, "<style>\n{}</style>", fleet::STYLE)?;
    write_head(&[page::over(findings)], &title, &fleet::head(findings, fleet), out)?;
    blocks(&fleet::blocks(fleet), 2, out)?;
    let how = "osdyno export writes the measurements of every host, and --verbose prints its values.";
    blocks(&[Text::toned(how, Tone::Faint).into()], 2, out)?;
    blocks(&[fleet::environment(findings, fleet).into(), page::repeat(findings).into()], 2, out)?;
    page::close(out)
}

/// The parts of a page, each with its id.
fn parts(
    source: &Source<'_>,
    systems: Option<&Comparison>,
    is_run: bool,
) -> Vec<(&'static str, &'static str)> {
    let parts = [
        systems.map(|_| ("compared", "Systems")),
        growths::is_shown(source).then_some(("overview", "Overview")),
        (!source.highlights.is_empty()).then_some(("findings", "Findings")),
        cards::has_verdicts(source).then_some(("verdicts", "Verdicts")),
        Some(("measurements", "Measurements")),
        is_run.then_some(("environment", "Environment")),
        Some(("reading", "How to read this")),
    ];
    parts.into_iter().flatten().collect()
}
