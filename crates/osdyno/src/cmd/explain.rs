//! `osdyno explain`: a workload's page, the same text that opens its source file.

use std::io::{self, Write};
use std::process::ExitCode;

use curve::Sizes;

use super::Done;
use crate::console::Console;
use crate::failure::Failure;

/// Show a workload's page: question, method, expected answer
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The workload
    #[arg(value_name = "WORKLOAD")]
    name: String,
}

pub(crate) fn explain(args: &Args, console: &Console) -> Done {
    let (name, variant) = args.name.split_once('/').unwrap_or((&args.name, ""));
    let unknown = || runner::Error::UnknownWorkload {
        name: args.name.clone(),
        nearest: runner::nearest(name),
        count: curve::ALL.len(),
    };
    let curve = curve::find(name).ok_or_else(unknown).map_err(Failure::from)?;
    if !variant.is_empty() && curve.variants.iter().all(|known| known.name != variant) {
        return Err(unknown().into());
    }
    let mut out = io::stdout().lock();
    let bold = |text: &str| console.bold(text);
    writeln!(out, "{}  (version {})\n", bold(curve.name), curve.version)?;
    writeln!(out, "{}\n", curve.page())?;
    writeln!(out, "n counts {}{}.\n\n{}", curve.grows, levels(curve.sizes), bold("Measured"))?;
    for operation in curve.operations {
        // At levels n always rises; there it matters more what is told.
        let way = match operation.direction {
            _ if operation.told => operation.unit.symbol(),
            curve::Direction::Up => "n rising",
            curve::Direction::Down => "n falling",
        };
        writeln!(out, "  {:<16}{way:<11}{}", operation.name, operation.summary)?;
    }
    if curve.variants.len() > 1 {
        writeln!(out, "\n{}", bold("Variants"))?;
        for variant in curve.variants {
            writeln!(out, "  {:<16}{}", format!("{}/{}", curve.name, variant.name), variant.summary)?;
        }
    }
    if let Err(reason) = curve.run {
        writeln!(out, "\nunsupported: {reason}")?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Which n there are, where it is not every one.
fn levels(sizes: Sizes) -> String {
    let some = match sizes {
        Sizes::Every => return String::new(),
        Sizes::Levels(levels) => levels(100),
    };
    let some: Vec<String> = some.iter().map(u64::to_string).collect();
    format!(", at {} and so on", some.join(", "))
}
