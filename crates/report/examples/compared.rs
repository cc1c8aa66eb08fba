//! Writes a comparison of emulated systems, to look at: `cargo run -p report --example compared > page.html`.

#[path = "../tests/emulated/mod.rs"]
mod emulated;

use std::io::{self, BufWriter};

use report::Style;
use report::compare::Comparison;

fn main() -> io::Result<()> {
    let [old, new, other] = emulated::three_kernels(20_000);
    let of = |recordings: &[(&str, &record::Recording)]| Comparison::of(recordings).map_err(io::Error::other);
    let two = of(&[("6.12.osdyno", &old), ("7.3.osdyno", &new)])?;
    two.write_table(&Style { width: 132, ..Style::default() }, &mut io::stderr())?;
    let three = of(&[("6.12.osdyno", &old), ("7.3.osdyno", &new), ("bsd.osdyno", &other)])?;
    three.write_table(&Style { width: 132, ..Style::default() }, &mut io::stderr())?;
    let run = emulated::compared::one_run_of_three(20_000);
    let paired = of(&[("sandboxes.osdyno", &run)])?;
    paired.write_table(&Style { width: 132, ..Style::default() }, &mut io::stderr())?;
    let page = match std::env::args().nth(1).as_deref() {
        Some("three") => three,
        Some("paired") => paired,
        _ => two,
    };
    page.write_html(&mut BufWriter::new(io::stdout().lock()))
}
