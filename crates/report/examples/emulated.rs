//! Writes the report of an emulated run, to look at: `cargo run -p report --example emulated > report.html`.

#[path = "../tests/emulated/mod.rs"]
mod emulated;

use std::io::{self, BufWriter};

use report::{Findings, Style, html, table};

fn main() -> io::Result<()> {
    let recording = emulated::recording(emulated::system("local", &[]), &emulated::mixed(20_000), 10, 7);
    let findings = Findings::of(&recording);
    table::write(&findings, &Style { width: 132, ..Style::default() }, &mut io::stderr())?;
    html::write(&recording, &findings, &mut BufWriter::new(io::stdout().lock()))
}
