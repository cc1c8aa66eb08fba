//! Writes the page of emulated systems, to look at: `cargo run -p report --example emulated -- WORDS > FILE`.
//! The words choose the run: `shapes` has every shape, with `pinned` too as it should be judged; `race` has
//! twelve variants, with `four` too four; `compared` is a comparison of two systems, with `three` or `paired`
//! too of three.
#![allow(clippy::expect_used, reason = "the emulated runs are those of the tests")]

#[path = "../tests/it/emulated/mod.rs"]
mod emulated;

use std::io::{self, BufWriter};

use judge::Findings;
use judge::compare::Comparison;
use report::document::Document;
use report::document::terminal::Length;
use report::{Style, html, table};

fn main() -> io::Result<()> {
    let wishes: Vec<String> = std::env::args().skip(1).collect();
    let wished = |word: &str| wishes.iter().any(|wish| wish == word);
    if wished("compared") { compared(&wished) } else { reported(&wished) }
}

fn reported(wished: &dyn Fn(&str) -> bool) -> io::Result<()> {
    let workloads = if wished("shapes") { emulated::shapes(20_000) } else { emulated::mixed(20_000) };
    let facts = [("net.ip_local_port_range", "32768 60999")];
    let recording = if wished("race") {
        let field = if wished("four") { emulated::load::four() } else { emulated::load::twelve() };
        emulated::load::race(&field, 10, 7)
    } else {
        emulated::recording(emulated::system("local", &facts), &workloads, 10, 7)
    };
    let mut findings = Findings::from_recording(&recording);
    if wished("pinned") {
        let pin = if wished("shapes") { emulated::pinned::pin_shapes } else { emulated::pinned::pin };
        pin(&mut findings);
    }
    print(&table::document(&findings))?;
    html::write(&recording, &findings, None, &mut BufWriter::new(io::stdout().lock()))
}

fn compared(wished: &dyn Fn(&str) -> bool) -> io::Result<()> {
    let [old, new, other] = emulated::three_kernels(20_000);
    let run = emulated::compared::one_run_of_three(20_000);
    let kernels = [("6.12.osdyno", &old), ("7.3.osdyno", &new), ("bsd.osdyno", &other)];
    let recordings = match () {
        () if wished("paired") => &[("sandboxes.osdyno", &run)][..],
        () if wished("three") => &kernels,
        () => &kernels[..2],
    };
    let comparison = Comparison::new(recordings);
    let comparison = comparison.map_err(|refusal| io::Error::other(report::compare::refusal(&refusal)))?;
    print(&report::compare::document(&comparison))?;
    report::compare::write_html(&comparison, &mut BufWriter::new(io::stdout().lock()))
}

/// The same in a terminal.
fn print(document: &Document) -> io::Result<()> {
    document.write(Length::All, &Style { width: 132, ..Style::default() }, &mut io::stderr())
}
