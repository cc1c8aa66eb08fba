//! `osdyno explain`: the page of a workload, an architecture, a service or a client, the same text that opens
//! its source file; and the definition of a word that reports use.

mod verdicts;

use std::io::{self, Write};
use std::process::ExitCode;

use workload::Sizes;

use super::{Done, suggested};
use crate::console::Console;
use crate::failure::Failure;

/// Print the page of a workload, a server architecture, a service or a client, or what a verdict means
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Name of the workload, architecture, service or client; arch/NAME, service/NAME or client/NAME where
    /// another has that name; or a word of a report, such as flat or spikes
    #[arg(value_name = "NAME", value_parser = suggested::pages(), hide_possible_values = true)]
    name: String,
}

pub(crate) fn explain(args: &Args, console: &Console) -> Done {
    let (name, variant) = args.name.split_once('/').unwrap_or((&args.name, ""));
    let Some(workload) = runner::find(name) else {
        return match offered(&args.name) {
            Some(page) => {
                report::markdown::write(&page, &console.style, &mut io::stdout().lock())?;
                Ok(ExitCode::SUCCESS)
            }
            None => define(&args.name, console),
        };
    };
    if !variant.is_empty() && workload.variants.iter().all(|known| known.name != variant) {
        return Err(unknown(&args.name));
    }
    let mut out = io::stdout().lock();
    let bold = |text: &str| console.bold(text);
    writeln!(out, "{}  (version {})\n", bold(workload.name), workload.version)?;
    report::markdown::write(&workload.page(), &console.style, &mut out)?;
    writeln!(out, "\nn counts {}{}.\n\n{}", workload.grows, levels(workload.sizes), bold("Measured"))?;
    for operation in workload.operations {
        // At levels n always rises; the unit is more useful there.
        let way = match operation.direction {
            _ if operation.reported => operation.unit.name(),
            workload::Direction::Up => "n rising",
            workload::Direction::Down => "n falling",
        };
        writeln!(out, "  {:<16}{way:<11}{}", operation.name, operation.summary)?;
    }
    if workload.variants.len() > 1 {
        writeln!(out, "\n{}", bold("Variants"))?;
        let names: Vec<String> =
            workload.variants.iter().map(|variant| format!("{}/{}", workload.name, variant.name)).collect();
        let width = names.iter().map(String::len).max().unwrap_or(0).max(14) + 2;
        for (name, variant) in names.iter().zip(workload.variants) {
            writeln!(out, "  {name:<width$}{}", variant.summary)?;
        }
    }
    if !workload.settings.is_empty() {
        writeln!(out, "\n{}", bold("Settings"))?;
    }
    for setting in workload.settings {
        let option = format!("--set {}={}", setting.name, setting.default);
        writeln!(out, "  {option:<27}{}: {}", setting.summary, setting.values)?;
    }
    if let Err(reason) = workload.run {
        writeln!(out, "\nunsupported: {reason}")?;
    }
    if net::arch::find(name).is_ok() {
        writeln!(out, "\nThe server architecture of that name: osdyno explain arch/{name}")?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Prints what METHODOLOGY.md says of a word.
fn define(word: &str, console: &Console) -> Done {
    let definitions = verdicts::find(word);
    if definitions.is_empty() {
        return Err(unknown(word));
    }
    let mut out = io::stdout().lock();
    for (i, (defined, text)) in definitions.iter().enumerate() {
        let gap = if i > 0 { "\n" } else { "" };
        writeln!(out, "{gap}{}", console.bold(defined))?;
        report::write_paragraph(&format!("  {text}"), 2, &console.style, &mut out)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Nothing has this name; the most similar name of all that have a page.
fn unknown(name: &str) -> Failure {
    let all: Vec<String> = suggested::names_of_pages().into_iter().chain(verdicts::words()).collect();
    let nearest = runner::nearest(name, all.iter().map(String::as_str));
    let hint = nearest.map(|nearest| format!("; did you mean \"{nearest}\"?")).unwrap_or_default();
    Failure::Usage(format!("nothing to explain is called \"{name}\"{hint}  (osdyno list shows all names)"))
}

/// The page of what `serve` or `load` has to offer under that name.
fn offered(name: &str) -> Option<String> {
    let (kind, name) = name.split_once('/').unwrap_or(("", name));
    let architecture = || net::arch::find(name).ok().map(net::arch::Architecture::page);
    let service = || net::service::find(name).ok().map(net::service::Service::page);
    let client = || net::client::find(name).ok().map(net::client::ClientKind::page);
    match kind {
        "arch" => architecture(),
        "service" => service(),
        "client" => client(),
        "" => architecture().or_else(service).or_else(client),
        _ => None,
    }
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
