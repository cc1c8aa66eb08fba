//! `osdyno list`: one line for each workload, by group, and for each architecture and service of `serve`.

use std::io::{self, Write};
use std::process::ExitCode;

use serde_json::json;
use workload::Workload;

use super::{Done, Format};
use crate::console::Console;

/// List all workloads, server architectures and services
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Output format
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
}

pub(crate) fn list(args: &Args, console: &Console) -> Done {
    let mut out = io::stdout().lock();
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
                "unsupported": offer.obstacle,
            })
        });
        writeln!(out, "{:#}", all.chain(offered).collect::<serde_json::Value>())?;
        return Ok(ExitCode::SUCCESS);
    }
    for (place, group) in runner::GROUPS.iter().enumerate() {
        // The first group is what is run where nothing is named.
        let (gap, name) = if place > 0 { ("\n", format!(" {}", group.name)) } else { ("", String::new()) };
        let heading = format!("{}: osdyno run{name}", group.title);
        writeln!(out, "{gap}{}", console.bold(&heading))?;
        group.workloads.iter().try_for_each(|workload| line(workload, console, &mut out))?;
    }
    for (group, heading) in OFFERS {
        writeln!(out, "\n{}", console.bold(heading))?;
        for offer in offers().filter(|offer| offer.group == group) {
            let said = offer.obstacle.map(|reason| format!("unsupported: {reason}"));
            writeln!(out, "{:<13}{}", offer.name, said.unwrap_or(offer.summary))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The groups of what `serve` has to offer, and how each is chosen.
const OFFERS: [(&str, &str); 2] = [
    ("architectures", "Server architectures: osdyno serve --arch NAME, osdyno explain arch/NAME"),
    ("services", "Services: osdyno serve --service NAME, osdyno explain service/NAME"),
];

/// An architecture or a service.
struct Offer {
    group: &'static str,
    name: &'static str,
    summary: String,
    /// Why this system cannot have it.
    obstacle: Option<String>,
}

fn offers() -> impl Iterator<Item = Offer> {
    let architectures = net::arch::ALL.iter().map(|architecture| Offer {
        group: "architectures",
        name: architecture.name,
        summary: architecture.summary(),
        obstacle: architecture.obstacle(),
    });
    let services = net::service::ALL.iter().map(|service| Offer {
        group: "services",
        name: service.name,
        summary: service.summary(),
        obstacle: None,
    });
    architectures.chain(services)
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
