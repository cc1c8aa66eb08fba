//! `osdyno list`: one line for each workload, by group, and for each architecture, service and client.

use std::io::{self, Write};
use std::process::ExitCode;

use serde_json::json;
use workload::Workload;

use super::{Done, Format};
use crate::console::{Console, results};

/// List all workloads, server architectures, services and clients
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Output format
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
}

pub(crate) fn list(args: &Args, console: &Console) -> Done {
    let mut out = results();
    if args.format == Format::Json {
        let all = runner::GROUPS.iter().flat_map(|group| {
            group.workloads.iter().map(move |workload| {
                json!({
                    "name": workload.name,
                    "group": group.name,
                    "version": workload.version,
                    "summary": workload.summary(),
                    "grows": workload.grows,
                    "variants": names(workload),
                    "default_variants": workload.default_variants,
                "settings": workload.settings.iter().map(|setting| setting.name).collect::<Vec<_>>(),
                    "series": workload.operations.iter().map(|operation| operation.name).collect::<Vec<_>>(),
                    "unsupported": workload.run.err(),
                })
            })
        });
        let offered = offers().map(|offer| {
            json!({
                "name": offer.name,
                "group": offer.group,
                "summary": offer.summary,
                "unsupported": offer.unavailable,
            })
        });
        writeln!(out, "{:#}", all.chain(offered).collect::<serde_json::Value>())?;
        return Ok(ExitCode::SUCCESS);
    }
    for (place, group) in runner::GROUPS.iter().enumerate() {
        let gap = if place > 0 { "\n" } else { "" };
        let heading = format!("{}: osdyno run {}", group.title, group.name);
        writeln!(out, "{gap}{}", console.bold(&heading))?;
        group.workloads.iter().try_for_each(|workload| line(workload, console, &mut out))?;
    }
    for (group, heading) in OFFERS {
        writeln!(out, "\n{}", console.bold(heading))?;
        for offer in offers().filter(|offer| offer.group == group) {
            let said = offer.unavailable.map(|reason| format!("unsupported: {reason}"));
            writeln!(out, "{:<13}{}", offer.name, said.unwrap_or(offer.summary))?;
        }
    }
    Ok(ExitCode::SUCCESS)
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
    workload.variants.iter().map(|variant| variant.name).filter(|name| !name.is_empty()).collect()
}
