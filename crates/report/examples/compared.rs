//! Writes a comparison of emulated systems, to look at: `cargo run -p report --example compared > page.html`.
#![allow(clippy::expect_used, reason = "the emulated runs are those of the tests")]

#[path = "../tests/it/emulated/mod.rs"]
mod emulated;

use std::io::{self, BufWriter};

use judge::compare::Comparison;
use report::Style;
use report::document::terminal::Length;

fn main() -> io::Result<()> {
    let [old, new, other] = emulated::three_kernels(20_000);
    let of = |recordings: &[(&str, &record::Recording)]| {
        Comparison::new(recordings).map_err(|refusal| io::Error::other(report::compare::refusal(&refusal)))
    };
    let two = of(&[("6.12.osdyno", &old), ("7.3.osdyno", &new)])?;
    report::compare::document(&two).write(
        Length::All,
        &Style { width: 132, ..Style::default() },
        &mut io::stderr(),
    )?;
    let three = of(&[("6.12.osdyno", &old), ("7.3.osdyno", &new), ("bsd.osdyno", &other)])?;
    report::compare::document(&three).write(
        Length::All,
        &Style { width: 132, ..Style::default() },
        &mut io::stderr(),
    )?;
    let run = emulated::compared::one_run_of_three(20_000);
    let paired = of(&[("sandboxes.osdyno", &run)])?;
    report::compare::document(&paired).write(
        Length::All,
        &Style { width: 132, ..Style::default() },
        &mut io::stderr(),
    )?;
    let page = match std::env::args().nth(1).as_deref() {
        Some("three") => three,
        Some("paired") => paired,
        _ => two,
    };
    report::compare::write_html(&page, &mut BufWriter::new(io::stdout().lock()))
}
