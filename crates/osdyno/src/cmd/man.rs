//! `osdyno man`: the manual pages. Section 1 has one for each verb, from the same words as the help; section
//! 7 one for each workload, architecture, service and client, from the page that `explain` prints.

use std::fs::File;
use std::path::PathBuf;
use std::process::ExitCode;

use report::document::manual::{self, Manual};
use report::document::markdown;

use super::Done;
use super::explain::{Page, pages};
use crate::console::Failure;

/// Write the manual pages into a folder
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The folder, which exists
    folder: PathBuf,
}

pub(crate) fn man(args: &Args, command: clap::Command) -> Done {
    clap_mangen::generate_to(command, &args.folder).map_err(Failure::writing(&args.folder))?;
    for page in pages() {
        let name = name(&page);
        let path = args.folder.join(format!("{name}.7"));
        let mut file = File::create(&path).map_err(Failure::writing(&path))?;
        let manual = Manual {
            name: &name,
            section: "7",
            source: concat!("osdyno ", env!("CARGO_PKG_VERSION")),
            summary: &page.summary,
            see_also: see_also(&page),
        };
        manual::write(&manual, &markdown::document(&page.text), &mut file)
            .map_err(Failure::writing(&path))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// `osdyno-bind`, `osdyno-arch-epoll`.
fn name(page: &Page) -> String {
    let words = ["osdyno", page.kind, page.name];
    words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join("-")
}

/// The verbs that take such a name.
fn see_also(page: &Page) -> &'static [&'static str] {
    match page.kind {
        "arch" | "service" => &["osdyno-serve(1)", "osdyno-explain(1)"],
        "client" => &["osdyno-load(1)", "osdyno-explain(1)"],
        _ => &["osdyno-run(1)", "osdyno-explain(1)"],
    }
}
