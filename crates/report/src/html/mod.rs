//! The findings of a run as one page: one file, nothing loaded from elsewhere, readable without scripts.

mod cloud;
mod figure;
mod markdown;
mod marks;
mod matrix;
pub(crate) mod page;
mod picture;
pub(crate) mod plot;
mod rivals;
pub(crate) mod scale;
pub(crate) mod sheet;
pub(crate) mod svg;
mod tail;
mod zoom;

use std::io::{self, Write};

use record::Recording;

use crate::text::printable;
use judge::Findings;

pub use picture::{Panel, picture};

/// What all pictures of clouds may take together, before base64 makes them a third larger.
const CLOUD_BYTES: usize = 1_600_000;
/// What the points that can be zoomed may take together.
const ZOOM_BYTES: usize = 1_100_000;

/// The limits of one series: its two clouds and its points.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Budget {
    pub(crate) cloud: usize,
    pub(crate) zoom: usize,
}

impl Budget {
    /// Shares what there is between the series that have points.
    fn of(findings: &Findings) -> Budget {
        let drawn = findings.series.iter().filter(|f| f.measurements > 0).count().max(1);
        Budget { cloud: (CLOUD_BYTES / 2 / drawn).min(60_000), zoom: (ZOOM_BYTES / drawn).min(400_000) }
    }
}

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

/// A string from anywhere, safe to stand in the text or in an attribute of a page.
pub(crate) fn esc(text: &str) -> String {
    let text = printable(text);
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}

/// A document for a script, safe to stand inside a `<script>` element.
pub(crate) fn script_json<T: serde::Serialize>(value: &T) -> io::Result<String> {
    Ok(serde_json::to_string(value)?
        .replace('<', "\\u003c")
        .replace('\u{2028}', "\\u2028")
        .replace('\u{2029}', "\\u2029"))
}
