//! The findings of a run as one page: one file, nothing loaded from elsewhere, readable without scripts.

mod cloud;
pub(crate) mod escape;
mod figure;
mod markdown;
mod marks;
mod matrix;
pub(crate) mod page;
mod panel;
mod picture;
pub(crate) mod plot;
pub(crate) mod scale;
pub(crate) mod sheet;
pub(crate) mod svg;
mod tail;
mod tone;
pub(crate) mod tracks;
mod zoom;

use std::io::{self, Write};

use record::Recording;

use judge::Findings;

use figure::Budget;
pub use panel::Panel;
pub use picture::picture;

/// Writes the report of a run.
pub fn write(recording: &Recording, findings: &Findings, out: &mut dyn Write) -> io::Result<()> {
    let budget = Budget::of(findings);
    page::open(&page::title(findings), out)?;
    page::head(findings, out)?;
    page::verdicts(findings, out)?;
    for workload in &findings.workloads {
        figure::workload(recording, findings, workload, budget, out)?;
    }
    // Where and how imported numbers were measured is unknown.
    if !findings.run.started_at.is_empty() {
        page::environment(findings, out)?;
        page::repeat(findings, out)?;
    }
    page::how_to_read(findings, out)?;
    page::close(true, out)
}
