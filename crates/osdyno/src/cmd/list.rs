//! `osdyno list`: one line for each workload, by group, and for each architecture and service of `serve`.

use std::io::{self, Write};
use std::process::ExitCode;

use curve::{Curve, Group};
use serde_json::json;

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
        let all = curve::ALL.iter().map(|curve| {
            json!({
                "name": curve.name,
                "group": curve.group.name(),
                "version": curve.version,
                "summary": curve.summary(),
                "grows": curve.grows,
                "variants": names(curve),
                "series": curve.operations.iter().map(|operation| operation.name).collect::<Vec<_>>(),
                "unsupported": curve.run.err(),
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
    let of = |group: Group| curve::ALL.iter().filter(move |curve| curve.group == group);
    let groups = Group::ALL.into_iter().filter(|&group| of(group).next().is_some());
    let has_several = groups.clone().count() > 1;
    for (place, group) in groups.enumerate() {
        if has_several {
            let gap = if place > 0 { "\n" } else { "" };
            writeln!(out, "{gap}{}", console.bold(heading(group)))?;
        }
        of(group).try_for_each(|curve| line(curve, console, &mut out))?;
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

/// What a group is, and how it is run.
fn heading(group: Group) -> &'static str {
    match group {
        Group::Kernel => "Cost of kernel services: osdyno run",
        Group::Servers => "Servers under rising load: osdyno run servers",
    }
}

fn line(curve: &Curve, console: &Console, out: &mut dyn Write) -> io::Result<()> {
    let summary = match curve.run {
        Ok(_) => curve.summary(),
        Err(reason) => format!("unsupported: {reason}"),
    };
    let variants = names(curve).join(" ");
    if console.style.width < 100 {
        writeln!(out, "{:<13}{summary}", curve.name)
    } else if variants.chars().count() < 27 {
        writeln!(out, "{:<13}{variants:<27}{summary}", curve.name)
    } else {
        // Rivals are many: they get a line of their own.
        writeln!(out, "{:<40}{summary}\n{:<13}{variants}", curve.name, "")
    }
}

fn names(curve: &Curve) -> Vec<&'static str> {
    curve.variants.iter().map(|variant| variant.name).filter(|name| !name.is_empty()).collect()
}
