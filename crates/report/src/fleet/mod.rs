//! A run on the hosts of a fleet, or two of them: a document for the terminal, and the sections of a page.
//! The values of each host stand behind folds, because a hundred hosts with thirty series fill no screen.

mod figure;
mod page;
mod tables;
mod words;

use judge::gate::GateAnswer;
use judge::{Findings, Fleet, FleetHostState, Note};
use serde::Serialize;

use crate::answer::SCHEMA;
use crate::document::{Document, Element, Fold, Names, Section, Table, Text, Tone};
use crate::overview::yields;
use crate::sentences;
use crate::words::{list, percent, things};

pub use page::write as write_html;
pub(crate) use page::{STYLE, blocks, environment, head};
pub(crate) use words::{ratio as ratio_words, title};

/// Remarks about the machines at the most, where not all are wanted.
const REMARKS_MOST: usize = 2;
/// Sentences about facts at the most, where not all are wanted.
const FACTS_MOST: usize = 3;

/// The answer of `compare` about a fleet: a run, or a run against another on the same hosts.
#[derive(Clone, Debug, Serialize)]
pub struct FleetAnswer<'a> {
    /// Version of this answer.
    pub schema: u32,
    /// The runs, folded over their hosts.
    pub fleet: &'a Fleet,
    /// Decision on `--fail-on`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gate: Option<&'a GateAnswer>,
}

impl<'a> FleetAnswer<'a> {
    /// The answer about a fleet.
    pub fn new(fleet: &'a Fleet, gate: Option<&'a GateAnswer>) -> Self {
        FleetAnswer { schema: SCHEMA, fleet, gate }
    }
}

/// A run folded over its hosts: hosts that were lost, hosts that lie apart, ratios, then costs, each the
/// worst first. The machines are left out where they were printed when the run began.
pub(crate) fn document(findings: &Findings, fleet: &Fleet, is_machine_known: bool) -> Document {
    let mut document = Document::default();
    if !is_machine_known {
        let tool = &findings.run.tool;
        let machine = format!("{} {} · {}", tool.name, tool.version, words::title(fleet, &findings.systems));
        document.say(Text::toned(machine, Tone::Strong));
    }
    let remarks = remarks(findings, fleet, is_machine_known);
    let (shown, rest) = remarks.split_at(remarks.len().min(REMARKS_MOST));
    shown.iter().for_each(|remark| document.say(Text::toned(remark, Tone::Notable)));
    let rest: Vec<Element> = rest.iter().map(|remark| Text::toned(remark, Tone::Notable).into()).collect();
    if !rest.is_empty() {
        document.push(Fold { blocks: rest, ..Fold::default() });
    }
    document.blocks.extend(body(fleet));
    document
}

/// The second of two runs against the first, folded over their hosts.
pub fn compared(fleet: &Fleet) -> Document {
    Document { blocks: body(fleet), ..Document::default() }
}

/// All but the machines.
fn body(fleet: &Fleet) -> Vec<Element> {
    let mut blocks: Vec<Element> = vec![Text::toned(words::summary(fleet), Tone::Strong).into()];
    blocks.extend(differences(fleet));
    blocks.extend(words::lost(fleet).into_iter().map(|(label, items)| {
        Names { label: label.into(), items, behind: String::new(), lines_max: 2 }.into()
    }));
    blocks.extend(apart(fleet).map(Into::into));
    if !fleet.ratios.is_empty() {
        let mut section = Section::new(Text::toned(words::ratios_title(fleet), Tone::Strong));
        section.push(Table { yields: Some(yields::SYSTEMS), ..tables::ratios(fleet) });
        blocks.push(section.into());
    }
    if !fleet.series.is_empty() {
        let mut section = Section::new(Text::toned(words::costs_title(fleet), Tone::Strong));
        section.push(Table { yields: Some(yields::COSTS), ..tables::costs(fleet) });
        blocks.push(section.into());
    }
    blocks.extend(lists(fleet));
    blocks.push(values(fleet).into());
    let more = "a further host is expected in the last interval · --verbose has the value of every host";
    blocks.push(Text::toned(more, Tone::Faint).into());
    blocks
}

/// The facts that two runs differ in.
fn differences(fleet: &Fleet) -> Option<Element> {
    if fleet.runs.is_empty() {
        return None;
    }
    let items: Vec<String> = fleet.differences.iter().map(|change| words::change(fleet, change)).collect();
    let items = if items.is_empty() { vec!["nothing that was recorded".into()] } else { items };
    Some(Names { label: "Differs".into(), items, behind: String::new(), lines_max: 2 }.into())
}

/// The hosts that lie apart, with the facts that they alone have.
fn apart(fleet: &Fleet) -> Option<Section> {
    let table = tables::outlying(fleet);
    if table.rows.is_empty() {
        return None;
    }
    let mut section = Section::new(Text::toned(words::apart_title(fleet), Tone::Strong));
    section.push(Table { yields: Some(yields::GROWTHS), ..table });
    let alone = words::alone(fleet);
    let (shown, rest) = alone.split_at(alone.len().min(FACTS_MOST));
    shown.iter().for_each(|sentence| section.say(sentence));
    if !rest.is_empty() {
        let blocks = rest.iter().map(|sentence| Text::from(sentence).into()).collect();
        section.push(Fold { blocks, ..Fold::default() });
    }
    Some(section)
}

/// The hosts that are left out of a series, and the series that were not compared or not measured.
fn lists(fleet: &Fleet) -> Vec<Element> {
    let refused: Vec<String> = fleet.refused.iter().map(crate::compare::refused).collect();
    let lists = [
        ("Left out", words::left_out(fleet)),
        ("Without a number on any host", fleet.without_number.clone()),
        ("Refused", refused),
    ];
    let lists = lists.into_iter().filter(|(_, items)| !items.is_empty());
    lists
        .map(|(label, items)| {
            Names { label: label.into(), items, behind: String::new(), lines_max: 1 }.into()
        })
        .collect()
}

/// The values of each host, series by series.
fn values(fleet: &Fleet) -> Fold {
    let costs = fleet.series.iter().map(|series| (series.label(), tables::of_series(series)));
    let ratios = fleet.ratios.iter().map(|ratio| (words::ratio_name(fleet, ratio), tables::of_ratio(ratio)));
    let section = |(title, table): (String, Table)| {
        let mut section = Section::new(Text::toned(title, Tone::Strong));
        section.push(table);
        section.into()
    };
    Fold { blocks: ratios.chain(costs).map(section).collect(), ..Fold::default() }
}

/// Disturbances of measurements: remarks about the run, then those about hosts, equal ones once.
fn remarks(findings: &Findings, fleet: &Fleet, is_machine_known: bool) -> Vec<String> {
    let of_run = sentences::notes(findings).into_iter().zip(&findings.notes);
    let of_run = of_run.filter(|(_, note)| !matches!(note, Note::Readiness { .. }));
    let mut remarks: Vec<String> = of_run.map(|(remark, _)| remark).collect();
    let mut of_hosts: Vec<(&str, Vec<String>)> = Vec::new();
    let readiness = findings.notes.iter().filter(|_| !is_machine_known).filter_map(|note| match note {
        Note::Readiness { system, warning } => Some((system, warning)),
        _ => None,
    });
    let host = |name: &str| {
        let system = findings.systems.iter().find(|system| system.name == name);
        system.and_then(|system| system.fleet.as_ref()).map_or(name, |place| &place.host).to_owned()
    };
    // The remark about a host that was lost is the reason for that, and stands there.
    let is_lost =
        |name: &str| fleet.hosts.iter().any(|host| host.name == name && host.state == FleetHostState::Lost);
    for (system, warning) in readiness {
        let host = host(system);
        if is_lost(&host) {
            continue;
        }
        match of_hosts.iter_mut().find(|(known, _)| known == warning) {
            // The configurations of a host share its machine.
            Some((_, hosts)) if hosts.contains(&host) => {}
            Some((_, hosts)) => hosts.push(host),
            None => of_hosts.push((warning, vec![host])),
        }
    }
    of_hosts.sort_by_key(|(_, hosts)| std::cmp::Reverse(hosts.len()));
    remarks.extend(of_hosts.iter().map(|(warning, hosts)| format!("{}: {warning}", words::hosts(hosts))));
    remarks
}

/// How the error rates are held, for a page.
fn held(fleet: &Fleet) -> String {
    let configurations = things(fleet.configurations.len(), "configuration", "configurations");
    let of = if fleet.configurations.len() > 1 { format!(" in {configurations}") } else { String::new() };
    let runs = if fleet.runs.is_empty() { String::new() } else { format!(" of {}", list(&fleet.runs)) };
    format!(
        "Each host{runs}{of} is one observation: its trials are compared with its own only. The mean is that \
         of a random-effects model (DerSimonian and Laird; Hartung and Knapp), and a further host like these \
         is expected in the prediction interval. Hosts lie apart if they differ from the others for certain \
         and by more than {}; of all that are named, at most {} are expected to be equal to the others.",
        percent(fleet.margin),
        percent(fleet.alpha)
    )
}
