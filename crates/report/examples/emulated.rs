//! Writes the report of an emulated run, to look at: `cargo run -p report --example emulated > report.html`;
//! with `shapes` behind `--` that of one with every shape, with `pinned` too as it should be judged; with
//! `race` that of twelve variants, with `four` too of four.
#![allow(clippy::expect_used, reason = "the emulated runs are those of the tests")]

#[path = "../tests/it/emulated/mod.rs"]
mod emulated;

use std::io::{self, BufWriter};

use judge::Findings;
use report::document::terminal::Length;
use report::{Style, html, table};

fn main() -> io::Result<()> {
    let wishes: Vec<String> = std::env::args().skip(1).collect();
    let wished = |word: &str| wishes.iter().any(|wish| wish == word);
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
    table::document(&findings).write(
        Length::All,
        &Style { width: 132, ..Style::default() },
        &mut io::stderr(),
    )?;
    html::write(&recording, &findings, None, &mut BufWriter::new(io::stdout().lock()))
}
