//! `osdyno list`: all workloads, one line each.

use std::io::{self, Write};
use std::process::ExitCode;

use serde_json::json;

use super::{Done, Format};
use crate::console::Console;

/// Show all workloads
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Form of the list
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
}

pub(crate) fn list(args: &Args, console: &Console) -> Done {
    let mut out = io::stdout().lock();
    if args.format == Format::Json {
        let all = curve::ALL.iter().map(|curve| {
            json!({
                "name": curve.name,
                "version": curve.version,
                "summary": curve.summary(),
                "grows": curve.grows,
                "variants": names(curve),
                "series": curve.operations.iter().map(|operation| operation.name).collect::<Vec<_>>(),
                "unsupported": curve.run.err(),
            })
        });
        writeln!(out, "{:#}", all.collect::<serde_json::Value>())?;
        return Ok(ExitCode::SUCCESS);
    }
    for curve in curve::ALL {
        let summary = match curve.run {
            Ok(_) => curve.summary(),
            Err(reason) => format!("unsupported: {reason}"),
        };
        let variants = names(curve).join(" ");
        if console.style.width >= 100 {
            writeln!(out, "{:<13}{variants:<27}{summary}", curve.name)?;
        } else {
            writeln!(out, "{:<13}{summary}", curve.name)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn names(curve: &curve::Curve) -> Vec<&'static str> {
    curve.variants.iter().map(|variant| variant.name).filter(|name| !name.is_empty()).collect()
}
