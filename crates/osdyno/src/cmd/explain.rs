//! `osdyno explain`: the page of a workload, an architecture, a service or a client, the same text that opens
//! its source file; the method of a command; and the definition of a word that reports use.

pub(super) mod page;
pub(super) mod verdicts;

use std::process::ExitCode;

use report::document::terminal::Length;
use report::document::{Document, Section, Text, Tone, markdown};

use super::{Done, suggested};
use crate::console::Console;
use crate::failure::Failure;

/// Print the page of a workload, a server architecture, a service or a client, the method of a command, or
/// the meaning of a verdict
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Name of the workload, architecture, service or client; arch/NAME, service/NAME or client/NAME where
    /// another has that name; doctor, tune, snoop, blame, impact, history or background; or a word of a
    /// report, such as flat or spikes
    #[arg(value_name = "NAME", value_parser = suggested::pages(), hide_possible_values = true)]
    name: String,
}

pub(crate) fn explain(args: &Args, console: &Console) -> Done {
    let (name, variant) = args.name.split_once('/').unwrap_or((&args.name, ""));
    let Some(workload) = runner::find(name) else {
        let method = verdicts::method(&args.name).map(str::to_owned);
        return match method.or_else(|| page::offered(&args.name).map(|page| page.text)) {
            Some(text) => {
                console.print(&markdown::document(&text), Length::All)?;
                Ok(ExitCode::SUCCESS)
            }
            None => define(&args.name, console),
        };
    };
    if !variant.is_empty() && workload.variants.iter().all(|known| known.name != variant) {
        return Err(unknown(&args.name));
    }
    let title = Text::toned(workload.name, Tone::Strong).and(format!("  (version {})", workload.version));
    let mut document = markdown::document(&page::of_workload(workload).text);
    document.blocks.insert(0, title.into());
    console.print(&document, Length::All)?;
    Ok(ExitCode::SUCCESS)
}

/// Prints the definitions of a word.
fn define(word: &str, console: &Console) -> Done {
    let definitions = verdicts::find(word);
    if definitions.is_empty() {
        return Err(unknown(word));
    }
    let mut document = Document::default();
    for (defined, text) in definitions {
        let mut section = Section::new(Text::toned(defined, Tone::Strong));
        section.say(text);
        document.push(section);
    }
    console.print(&document, Length::All)?;
    Ok(ExitCode::SUCCESS)
}

/// Nothing has this name; the most similar name of all that have a page.
fn unknown(name: &str) -> Failure {
    let all: Vec<String> = suggested::names_of_pages().into_iter().chain(verdicts::words()).collect();
    let nearest = runner::nearest(name, all.iter().map(String::as_str));
    let hint = nearest.map(|nearest| format!("; did you mean \"{nearest}\"?")).unwrap_or_default();
    Failure::Usage(format!("nothing to explain is called \"{name}\"{hint}  (osdyno list shows all names)"))
}
