//! The sections of a page of a fleet: its hosts, the ratios and costs over them, and a figure for each
//! series.

use std::io::{self, Write};

use judge::{Findings, Fleet, FleetRatio, FleetSeries};

use super::figure::OverHosts;
use super::{apart, differences, held, lists, tables, words};
use crate::document::{Assets, Column, Document, Element, Fold, Section, Text, Tone, page};
use crate::place::span;

/// The rules of style of the figures of hosts. They are not part of the styles of every page: a page without
/// a fleet stays as it is.
pub(crate) const STYLE: &str = "\
.plot .further { fill: var(--soft); opacity: 0.13; }
.plot .mean { fill: var(--corridor); opacity: 0.26; }
.plot .host { fill: var(--cloud); } .plot .host.apart { fill: var(--notable); }
.plot .host .reach { stroke: var(--cloud); stroke-width: 1.6; fill: none; }
.plot .host.apart .reach { stroke: var(--notable); stroke-width: 2.4; }
.plot .host.apart text { fill: var(--notable); font-weight: 500; }
#fleet figure { max-width: 760px; margin-bottom: 24px; }
";

/// Figures that are open when the page is opened, at the most.
const OPEN_MOST: usize = 3;

/// The head of the page of a run: its lead, and the remarks on its machines.
pub(crate) fn head(findings: &Findings, fleet: &Fleet) -> Vec<Element> {
    let lead = Text::from(words::summary(fleet)).into();
    let remarks = super::remarks(findings, fleet, false);
    let remarks: Vec<Element> = remarks.iter().map(|text| Text::toned(text, Tone::Faint).into()).collect();
    let fold = (!remarks.is_empty()).then(|| {
        let title = crate::words::things(remarks.len(), "remark", "remarks").into();
        Fold { title, blocks: remarks, ..Fold::default() }.into()
    });
    std::iter::once(lead).chain(fold).collect()
}

/// Writes two runs on the same hosts as a page.
///
/// # Errors
/// Those of `out`.
pub fn write(fleet: &Fleet, out: &mut dyn Write) -> io::Result<()> {
    let title = words::ratios_title(fleet);
    let lead = Text::from(words::summary(fleet)).into();
    let document = Document {
        title,
        over: vec!["comparison of fleets".into()],
        blocks: std::iter::once(lead).chain(blocks(fleet)).collect(),
        assets: Assets { style: STYLE, script: "" },
        ..Document::default()
    };
    page::write(&document, out)
}

/// The section of the fleet.
pub(crate) fn blocks(fleet: &Fleet) -> Vec<Element> {
    let mut section = Section { id: "fleet".into(), ..Section::new("Fleet") };
    section.say(Text::toned(held(fleet), Tone::Faint));
    differences(fleet).into_iter().for_each(|block| section.push(block));
    apart(fleet).into_iter().for_each(|part| section.push(part));
    section.push(hosts(fleet));
    let mut open = OPEN_MOST;
    if !fleet.ratios.is_empty() {
        let mut part = Section::new(words::ratios_title(fleet));
        part.push(tables::ratios(fleet));
        for (place, ratio) in by_distance(&fleet.ratios, |one| !one.outliers.is_empty()) {
            part.push(folded(of_ratio(fleet, place, ratio), !ratio.outliers.is_empty(), &mut open));
        }
        section.push(part);
    }
    if !fleet.series.is_empty() {
        let mut part = Section::new(words::costs_title(fleet));
        part.push(tables::costs(fleet));
        for (place, series) in by_distance(&fleet.series, |one| !one.outliers.is_empty()) {
            part.push(folded(of_series(place, series), !series.outliers.is_empty(), &mut open));
        }
        section.push(part);
    }
    lists(fleet).into_iter().for_each(|block| section.push(block));
    vec![section.into()]
}

/// Those with outlying hosts first, each with its place.
fn by_distance<T>(all: &[T], is_apart: impl Fn(&T) -> bool) -> Vec<(usize, &T)> {
    let mut places: Vec<(usize, &T)> = all.iter().enumerate().collect();
    places.sort_by_key(|(_, one)| !is_apart(one));
    places
}

/// The table of hosts; of many the first are those to look at, and the others stand behind a fold.
fn hosts(fleet: &Fleet) -> Element {
    const SHOWN_MOST: usize = 12;
    let mut table = tables::hosts(fleet);
    let mut section = Section::new("Hosts");
    let rest = table.rows.split_off(table.rows.len().min(SHOWN_MOST));
    let others = crate::document::Table { rows: rest, ..table.clone() };
    section.push(table);
    if !others.rows.is_empty() {
        let title = crate::words::things(others.rows.len(), "more host", "more hosts").into();
        section.push(Fold { title, blocks: vec![others.into()], ..Fold::default() });
    }
    section.into()
}

/// A figure on demand; the first with outlying hosts are open.
fn folded(figure: OverHosts<'_>, is_apart: bool, open: &mut usize) -> Fold {
    let is_open = is_apart && *open > 0;
    *open -= usize::from(is_open);
    let title = Text::from(figure.title.as_str());
    let drawn = crate::document::Figure { title: Text::default(), ..figure.draw() };
    Fold { title, blocks: vec![drawn.into()], is_open, ..Fold::default() }
}

fn of_series(place: usize, series: &FleetSeries) -> OverHosts<'_> {
    let is_apart = |host: &str| series.outliers.iter().any(|one| one.host == host);
    let hosts = series.hosts.iter().rev().map(|one| (one.host.as_str(), one.value, is_apart(&one.host)));
    OverHosts {
        id: format!("fleet-s{place}"),
        title: series.label(),
        unit: Some(series.unit),
        hosts: hosts.collect(),
        mean: series.mean,
        prediction: series.prediction,
        captions: vec![
            format!("{} Mean over n {}.", caption(), span(series.n_low, series.n_high)),
            words::classes(series),
        ],
    }
}

fn of_ratio<'a>(fleet: &Fleet, place: usize, ratio: &'a FleetRatio) -> OverHosts<'a> {
    let is_apart = |host: &str| ratio.outliers.iter().any(|one| one.host == host);
    let hosts = ratio.hosts.iter().rev().map(|one| (one.host.as_str(), one.ratio, is_apart(&one.host)));
    OverHosts {
        id: format!("fleet-r{place}"),
        title: format!("Ratio of {}", words::ratio_name(fleet, ratio)),
        unit: None,
        hosts: hosts.collect(),
        mean: ratio.mean,
        prediction: ratio.prediction,
        captions: vec![caption().to_owned(), words::counts(ratio)],
    }
}

fn caption() -> &'static str {
    "Each host with its interval, the largest first; a diamond lies apart. Green: the mean of the hosts. \
     Grey: where a further host is expected."
}

/// The facts that all hosts share, in place of a column for each of a hundred systems.
pub(crate) fn environment(findings: &Findings, fleet: &Fleet) -> Section {
    let mut section = Section { id: "environment".into(), ..Section::new("Environment") };
    section
        .say("The facts that all hosts have in common; the table of hosts has those in which they differ.");
    let known = findings.systems.iter().find(|system| !system.environment.is_empty());
    let differs = |key: &str| fleet.hosts.iter().any(|host| host.facts.contains_key(key));
    let mut table = crate::document::Table {
        class: "facts",
        ..crate::document::Table::of_columns(vec![Column::default(), Column::default()])
    };
    let facts = known.into_iter().flat_map(|system| &system.environment);
    for (key, value) in facts.filter(|(key, _)| !differs(key)) {
        table.push([key.clone(), value.clone()]);
    }
    section.push(table);
    section
}
