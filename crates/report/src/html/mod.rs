//! The findings of a run as one page: one file, nothing loaded from elsewhere, readable without scripts.

mod figure;
mod load;
mod marks;
pub(crate) mod page;
mod phases;
pub(crate) mod plot;
mod points;
mod scalings;
pub(crate) mod sheet;
pub(crate) mod svg;
pub(crate) mod tracks;
mod verdicts;

use std::io::{self, Write};

use judge::compare::Comparison;
use judge::{Finding, Findings, Fleet, Highlight};
use record::{Recording, SeriesKey};

use crate::document::page::{blocks, head as write_head};
use crate::document::{Text, Tone};
use crate::{compare, fleet, overview};
pub use load::{LoadMoment, LoadPlots};
pub use page::{PageLinks, close, esc, open, script};
pub use scalings::picture_of_scaling;
pub use sheet::{Panel, picture};

/// The most bytes of all pictures of clouds together, before base64 makes them a third larger.
const CLOUD_BYTES: usize = 1_600_000;
/// The most bytes of all points that can be zoomed.
const ZOOM_BYTES: usize = 1_100_000;

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
    let asked = &overview::growth::without_scalings(findings.without_details());
    let highlights = &judge::highlights(asked);
    // The series that have points share the room for these.
    let drawn = findings.series.iter().filter(|finding| finding.measurements > 0).count().max(1);
    let source = &Source {
        recording,
        findings,
        asked,
        highlights,
        cloud_bytes: (CLOUD_BYTES / 2 / drawn).min(60_000),
        zoom_bytes: (ZOOM_BYTES / drawn).min(400_000),
    };
    // Where and how imported numbers were measured is unknown.
    let is_run = !findings.run.started_at.is_empty();
    page::open(&page::title(findings), &links.way, out)?;
    page::bar(findings, &parts(source, systems, is_run), out)?;
    write_head(&[page::over(findings)], &page::systems(findings), &page::head(findings, asked), out)?;
    if let Some(systems) = systems {
        compare::write_systems(findings, systems, out)?;
    }
    blocks(&scalings::blocks(source), 2, out)?;
    blocks(&verdicts::growths(source).map(Into::into).into_iter().collect::<Vec<_>>(), 2, out)?;
    verdicts::write(source, out)?;
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
        verdicts::has_growths(source).then_some(("overview", "Overview")),
        (!source.highlights.is_empty()).then_some(("findings", "Findings")),
        verdicts::has_verdicts(source).then_some(("verdicts", "Verdicts")),
        Some(("measurements", "Measurements")),
        is_run.then_some(("environment", "Environment")),
        Some(("reading", "How to read this")),
    ];
    parts.into_iter().flatten().collect()
}

/// A series with its number in the findings, by which it is linked.
type Numbered<'a> = (usize, &'a Finding);

/// The source of the parts of a page.
struct Source<'a> {
    recording: &'a Recording,
    findings: &'a Findings,
    /// The same without the details: only the series that the run was made for.
    asked: &'a Findings,
    /// The highlights of these.
    highlights: &'a [Highlight<'a>],
    /// The most bytes of each of the two clouds of a series, and of its points that can be zoomed.
    cloud_bytes: usize,
    zoom_bytes: usize,
}

impl<'a> Source<'a> {
    /// The series that are wanted, each with its number.
    fn series(&self, is_wanted: impl Fn(&Finding) -> bool) -> Vec<Numbered<'a>> {
        self.findings.series.iter().enumerate().filter(|(_, finding)| is_wanted(finding)).collect()
    }

    fn numbered(&self, key: &SeriesKey) -> Option<Numbered<'a>> {
        self.findings.series.iter().enumerate().find(|(_, finding)| finding.key == *key)
    }

    /// The card in which a series has its figure, from 1.
    fn card(&self, finding: &Finding) -> Option<usize> {
        let place = self.highlights.iter().position(|highlight| highlight.first().key == finding.key);
        place.map(|place| place + 1)
    }
}
