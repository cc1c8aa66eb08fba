//! `osdyno list`: one line for each workload, by group, and for each architecture, service and client; or the
//! default run.

use std::io::{self, Write};
use std::process::ExitCode;

use runner::Preset;
use serde_json::{Value, json};
use workload::{Operation, Variant, Workload};

use super::{Done, Format};
use crate::console::{Console, results};

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

pub(crate) fn list(args: &Args, console: &Console) -> Done {
    let default = runner::select(&[])?;
    let mut out = results();
    match args.format {
        Format::Json => writeln!(out, "{:#}", json(&default, args.default))?,
        Format::Text if args.default => default_run(&default, console, &mut out)?,
        Format::Text => everything(console, &mut out)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// A workload in one of its variants.
type Chosen = (&'static Workload, Variant);

/// Of a default run, `variants` and `series` are those that it measures.
fn json(default: &[Chosen], is_default_only: bool) -> Value {
    let workloads = runner::GROUPS.iter().flat_map(|group| {
        group.workloads.iter().filter_map(move |&workload| {
            let in_default = default.iter().filter(|(one, _)| one.name == workload.name);
            let default_variants: Vec<&'static str> = in_default.map(|(_, variant)| variant.name).collect();
            if is_default_only && default_variants.is_empty() {
                return None;
            }
            let variants = if is_default_only { named(&default_variants) } else { names(workload) };
            let is_listed = |operation: &&Operation| {
                !is_default_only || default_variants.iter().any(|variant| measures(operation, variant))
            };
            let series = workload.operations.iter().filter(is_listed).map(|operation| operation.name);
            Some(json!({
                "name": workload.name,
                "group": group.name,
                "version": workload.version,
                "summary": workload.summary(),
                "grows": workload.grows,
                "variants": variants,
                "default_variants": default_variants,
                "settings": workload.settings.iter().map(|setting| setting.name).collect::<Vec<_>>(),
                "series": series.collect::<Vec<_>>(),
                "unsupported": workload.run.err(),
            }))
        })
    });
    let offered = offers().filter(|_| !is_default_only).map(|offer| {
        json!({
            "name": offer.name,
            "group": offer.group,
            "summary": offer.summary,
            "unsupported": offer.unavailable,
        })
    });
    workloads.chain(offered).collect()
}

/// Whether a variant of the operation's workload measures it.
fn measures(operation: &Operation, variant: &str) -> bool {
    operation.variants.is_empty() || operation.variants.contains(&variant)
}

/// A line for each variant, with its series; details, of which the table of a run says nothing, are in
/// parentheses.
fn default_run(default: &[Chosen], console: &Console, out: &mut dyn Write) -> io::Result<()> {
    let preset = Preset::DEFAULT;
    let heading = format!("Default run: osdyno run, the same as osdyno run default --preset {preset}");
    writeln!(out, "{}", console.bold(&heading))?;
    let mut counts = (0, 0);
    for (workload, variant) in default {
        let mut series = Vec::new();
        for operation in workload.operations.iter().filter(|one| measures(one, variant.name)) {
            counts.0 += usize::from(!operation.detail);
            counts.1 += usize::from(operation.detail);
            let name = operation.name;
            series.push(if operation.detail { format!("({name})") } else { name.to_owned() });
        }
        let name = match variant.name {
            "" => workload.name.to_owned(),
            variant => format!("{}/{variant}", workload.name),
        };
        let said = workload.run.err().map(|reason| format!("unsupported: {reason}"));
        writeln!(out, "{name:<15}{}", said.unwrap_or_else(|| series.join(" ")))?;
    }
    writeln!(
        out,
        "{} series are judged; {} details, in parentheses, are measured with them",
        counts.0, counts.1
    )
}

fn everything(console: &Console, out: &mut dyn Write) -> io::Result<()> {
    for (place, group) in runner::GROUPS.iter().enumerate() {
        let gap = if place > 0 { "\n" } else { "" };
        let heading = format!("{}: osdyno run {}", group.title, group.name);
        writeln!(out, "{gap}{}", console.bold(&heading))?;
        group.workloads.iter().try_for_each(|workload| line(workload, console, out))?;
    }
    for (group, heading) in OFFERS {
        writeln!(out, "\n{}", console.bold(heading))?;
        for offer in offers().filter(|offer| offer.group == group) {
            let said = offer.unavailable.map(|reason| format!("unsupported: {reason}"));
            writeln!(out, "{:<13}{}", offer.name, said.unwrap_or(offer.summary))?;
        }
    }
    Ok(())
}

/// The groups of what `serve` and `load` offer, and how each is chosen.
const OFFERS: [(&str, &str); 3] = [
    ("architectures", "Server architectures: osdyno serve --arch NAME, osdyno explain arch/NAME"),
    ("services", "Services: osdyno serve --service NAME, osdyno explain service/NAME"),
    ("clients", "Load clients: osdyno load --client NAME, osdyno explain client/NAME"),
];

/// An architecture, a service or a client.
struct Offer {
    group: &'static str,
    name: &'static str,
    summary: String,
    /// Why this system cannot have it.
    unavailable: Option<String>,
}

fn offers() -> impl Iterator<Item = Offer> {
    let architectures = net::arch::ALL.iter().map(|architecture| Offer {
        group: "architectures",
        name: architecture.name,
        summary: architecture.summary(),
        unavailable: architecture.unavailable_reason(),
    });
    let services = net::service::ALL.iter().map(|service| Offer {
        group: "services",
        name: service.name,
        summary: service.summary(),
        unavailable: None,
    });
    let clients = net::client::ALL.iter().map(|client| Offer {
        group: "clients",
        name: client.name,
        summary: client.summary(),
        unavailable: None,
    });
    architectures.chain(services).chain(clients)
}

fn line(workload: &Workload, console: &Console, out: &mut dyn Write) -> io::Result<()> {
    let summary = match workload.run {
        Ok(_) => workload.summary(),
        Err(reason) => format!("unsupported: {reason}"),
    };
    let variants = names(workload).join(" ");
    if console.style.width < 100 {
        writeln!(out, "{:<13}{summary}", workload.name)
    } else if variants.chars().count() < 27 {
        writeln!(out, "{:<13}{variants:<27}{summary}", workload.name)
    } else {
        // Rivals are many: they get a line of their own.
        writeln!(out, "{:<40}{summary}\n{:<13}{variants}", workload.name, "")
    }
}

fn names(workload: &Workload) -> Vec<&'static str> {
    named(&workload.variants.iter().map(|variant| variant.name).collect::<Vec<_>>())
}

/// Without the only variant of a workload, which has no name.
fn named(variants: &[&'static str]) -> Vec<&'static str> {
    variants.iter().copied().filter(|name| !name.is_empty()).collect()
}
