//! `osdyno list`: one line for each workload, by group, and for each architecture, service and client; or the
//! default run.

use std::process::ExitCode;

use ::report::document::terminal::Length;
use ::report::document::{Document, Row, Section, Table, Text, Tone};
use runner::Preset;
use serde::Serialize;
use workload::{Operation, Variant, Workload};

use super::{Done, Format, print_answer};
use crate::console::Console;

/// List all workloads, server architectures, services and clients
#[derive(clap::Args)]
pub(crate) struct Args {
    /// List the default run instead: the workloads and series that osdyno run measures without names
    #[arg(long)]
    default: bool,
    /// Output format
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
}

/// The answer of `osdyno list`.
#[derive(Serialize)]
#[serde(transparent)]
struct ListAnswer {
    /// Workloads by group, then architectures, services and clients.
    entries: Vec<Entry>,
    /// The default run, where only that is listed.
    #[serde(skip)]
    default: Option<Vec<Chosen>>,
}

/// An entry of the list.
#[derive(Serialize)]
#[serde(untagged)]
enum Entry {
    Workload(ListedWorkload),
    Offer(Offer),
}

/// A workload.
#[derive(Serialize)]
struct ListedWorkload {
    /// Its name.
    name: &'static str,
    /// Its group.
    group: &'static str,
    /// The version of its definition.
    version: u32,
    /// Its subject in a line.
    summary: String,
    /// The objects that n counts.
    grows: &'static str,
    /// Its variants; in a list of the default run, those of it.
    variants: Vec<&'static str>,
    /// The variants of the default run.
    default_variants: Vec<&'static str>,
    /// The settings that `--set` changes.
    settings: Vec<&'static str>,
    /// Its series; in a list of the default run, those of it.
    series: Vec<&'static str>,
    /// Why this system cannot have it; `null` where it can.
    unsupported: Option<&'static str>,
}

/// An architecture, a service or a client.
#[derive(Serialize)]
struct Offer {
    /// Its name.
    name: &'static str,
    /// `architectures`, `services` or `clients`.
    group: &'static str,
    /// Its subject in a line.
    summary: String,
    /// Why this system cannot have it; `null` where it can.
    unsupported: Option<String>,
}

/// A workload in one of its variants.
type Chosen = (&'static Workload, Variant);

pub(crate) fn list(args: &Args, console: &Console) -> Done {
    let default = runner::select(&[])?;
    let workloads = runner::GROUPS.iter().flat_map(|group| {
        let listed = |&workload| ListedWorkload::new(workload, group.name, &default, args.default);
        group.workloads.iter().filter_map(listed).map(Entry::Workload)
    });
    let offers = offers().filter(|_| !args.default).map(Entry::Offer);
    let entries = workloads.chain(offers).collect();
    let answer = ListAnswer { entries, default: args.default.then_some(default) };
    print_answer(&answer, ListAnswer::document, Length::Short, args.format, console)?;
    Ok(ExitCode::SUCCESS)
}

impl ListedWorkload {
    /// Lists a workload; `None` if only the default run is listed, and lacks it.
    fn new(
        workload: &'static Workload,
        group: &'static str,
        default: &[Chosen],
        is_default_only: bool,
    ) -> Option<ListedWorkload> {
        let in_default = default.iter().filter(|(one, _)| one.name == workload.name);
        let default_variants: Vec<&'static str> = in_default.map(|(_, variant)| variant.name).collect();
        if is_default_only && default_variants.is_empty() {
            return None;
        }
        let variants = match is_default_only {
            true => default_variants.clone(),
            false => workload.variants.iter().map(|variant| variant.name).collect(),
        };
        let is_listed = |operation: &&Operation| {
            !is_default_only || default_variants.iter().any(|variant| measures(operation, variant))
        };
        Some(ListedWorkload {
            name: workload.name,
            group,
            version: workload.version,
            summary: workload.summary(),
            grows: workload.grows,
            // The only variant of a workload has no name.
            variants: variants.into_iter().filter(|name| !name.is_empty()).collect(),
            settings: workload.settings.iter().map(|setting| setting.name).collect(),
            series: workload.operations.iter().filter(is_listed).map(|operation| operation.name).collect(),
            default_variants,
            unsupported: workload.run.err(),
        })
    }
}

/// Whether a variant of the operation's workload measures it.
fn measures(operation: &Operation, variant: &str) -> bool {
    operation.variants.is_empty() || operation.variants.contains(&variant)
}

impl ListAnswer {
    /// The answer as a document.
    fn document(&self) -> Document {
        let mut document = Document { title: "Workloads".into(), ..Document::default() };
        if let Some(default) = &self.default {
            default_run(default, &mut document);
            return document;
        }
        let of_workloads = runner::GROUPS
            .iter()
            .map(|group| (group.name, format!("{}: osdyno run {}", group.title, group.name)));
        let of_offers = OFFERS.iter().map(|(group, heading)| (*group, (*heading).to_owned()));
        for (group, heading) in of_workloads.chain(of_offers) {
            let mut table = Table::without_headings(2);
            self.entries
                .iter()
                .filter(|entry| entry.group() == group)
                .for_each(|entry| table.push(entry.row()));
            document.push(Section { blocks: vec![table.into()], ..Section::new(heading) });
        }
        document
    }
}

impl Entry {
    fn group(&self) -> &'static str {
        match self {
            Entry::Workload(workload) => workload.group,
            Entry::Offer(offer) => offer.group,
        }
    }

    /// Its name and its subject, with its variants below.
    fn row(&self) -> Row {
        let (name, summary, unsupported, variants) = match self {
            Entry::Workload(one) => (one.name, &one.summary, one.unsupported, &one.variants[..]),
            Entry::Offer(one) => (one.name, &one.summary, one.unsupported.as_deref(), &[][..]),
        };
        let subject = match unsupported {
            Some(reason) => Text::toned(format!("unsupported: {reason}"), Tone::Faint),
            None => Text::from(summary),
        };
        let below = Text::toned(variants.join(" "), Tone::Faint);
        let below = if below.is_empty() { Vec::new() } else { vec![below] };
        Row { below, ..Row::from([Text::from(name), subject]) }
    }
}

/// A row for each variant, with its series; details, which the table of a run leaves out, are in parentheses.
fn default_run(default: &[Chosen], document: &mut Document) {
    let mut counts = (0, 0);
    let mut table = Table::without_headings(2);
    for (workload, variant) in default {
        let mut series = Vec::new();
        for operation in workload.operations.iter().filter(|one| measures(one, variant.name)) {
            counts.0 += usize::from(!operation.detail);
            counts.1 += usize::from(operation.detail);
            let name = operation.name;
            series.push(if operation.detail { format!("({name})") } else { name.to_owned() });
        }
        let name = workload::full_name(workload.name, variant.name);
        let unsupported = workload.run.err().map(|reason| format!("unsupported: {reason}"));
        table.push([name, unsupported.unwrap_or_else(|| series.join(" "))]);
    }
    let preset = Preset::DEFAULT;
    let heading = format!("Default run: osdyno run, the same as osdyno run default --preset {preset}");
    document.push(Section { blocks: vec![table.into()], ..Section::new(heading) });
    let (judged, details) = counts;
    document.say(format!(
        "{judged} series are judged; {details} details, in parentheses, are measured with them"
    ));
}

/// The groups of architectures, services and clients, with the option for each.
const OFFERS: [(&str, &str); 3] = [
    ("architectures", "Server architectures: osdyno serve --arch NAME, osdyno explain arch/NAME"),
    ("services", "Services: osdyno serve --service NAME, osdyno explain service/NAME"),
    ("clients", "Load clients: osdyno load --client NAME, osdyno explain client/NAME"),
];

fn offers() -> impl Iterator<Item = Offer> {
    let architectures = net::arch::ALL.iter().map(|architecture| Offer {
        group: "architectures",
        name: architecture.name,
        summary: architecture.summary(),
        unsupported: architecture.unavailable_reason(),
    });
    let services = net::service::ALL.iter().map(|service| Offer {
        group: "services",
        name: service.name,
        summary: service.summary(),
        unsupported: None,
    });
    let clients = net::client::ALL.iter().map(|client| Offer {
        group: "clients",
        name: client.name,
        summary: client.summary(),
        unsupported: None,
    });
    architectures.chain(services).chain(clients)
}
