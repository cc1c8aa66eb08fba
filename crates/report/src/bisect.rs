//! From which of an ordered list of systems a cost differs, in a terminal and for a program.

use std::io::{self, Write};

use judge::bisect::{ListPart, Search, SeriesStep, SeriesSteps, Steps};
use serde_json::{Value, json};
use stats::Change;

use crate::compare::words::times_with_word;
use crate::document::Tone;
use crate::text::{Page, Style};
use crate::words::{bound, list, things};

/// A search that is over.
pub struct Bisection<'a> {
    /// The names of the list.
    pub names: &'a [String],
    /// What was found.
    pub search: &'a Search,
    /// Of each change what the two beside it showed by themselves.
    pub proofs: &'a [Proof],
    /// A smaller change is none, as a share.
    pub margin: f64,
}

/// Two neighbours, measured by themselves.
pub struct Proof {
    /// The step from one to the other.
    pub steps: Steps,
    /// The run file.
    pub file: String,
}

impl Proof {
    /// The series that differ, the most first.
    fn changed(&self) -> Vec<(&SeriesSteps, SeriesStep)> {
        let of = |series: &'_ SeriesSteps| series.steps.first().copied().flatten();
        let changed = self.steps.series.iter().filter_map(|series| Some((series, of(series)?)));
        let mut changed: Vec<_> = changed.filter(|(_, one)| one.change == Change::Changed).collect();
        let size = |one: &SeriesStep| one.ratio.value.ln().abs();
        changed.sort_by(|(_, one), (_, other)| size(other).total_cmp(&size(one)));
        changed
    }
}

impl Bisection<'_> {
    /// Whether every step was decided.
    pub fn is_certain(&self) -> bool {
        let search = self.search;
        search.open().is_empty() && search.unconfirmed().is_empty() && search.unmeasured().next().is_none()
    }

    fn part(&self, (first, last): ListPart) -> String {
        format!("from {} to {}", self.names[first], self.names[last])
    }

    /// What is said first.
    fn head(&self) -> String {
        let of = things(self.names.len(), "kernel", "kernels");
        let margin = bound(self.margin);
        match self.search.changes() {
            [] if self.is_certain() && self.search.spread().is_empty() => {
                format!("none: no cost changes by more than {margin} from one to the next of {of}")
            }
            [] => format!("none found among {of}"),
            [(_, last)] => {
                let place = last + 1;
                format!("{} is the first that differs, number {place} of {of}", self.names[*last])
            }
            changes => {
                let names: Vec<String> = changes.iter().map(|(_, last)| self.names[*last].clone()).collect();
                let count = changes.len();
                format!("the list changes {count} times, at {}, of {of}", list(&names))
            }
        }
    }

    /// What keeps the search from being certain, and what to do.
    fn doubts(&self) -> Vec<String> {
        let margin = bound(self.margin);
        let search = self.search;
        let open = search
            .open()
            .iter()
            .map(|part| format!("undecided {}: more --boots may decide it", self.part(*part)));
        let unconfirmed = search.unconfirmed().iter().map(|part| {
            format!("a change {} was not seen again when it was measured once more", self.part(*part))
        });
        let spread = search.spread().iter().map(|part| {
            format!(
                "a cost changes {}, but nowhere by more than {margin} from one to the next; a smaller \
                 --margin may find where",
                self.part(*part)
            )
        });
        let unmeasured: Vec<String> = search.unmeasured().map(|place| self.names[place].clone()).collect();
        let unmeasured = (!unmeasured.is_empty()).then(|| {
            format!("not measured, so passed over: {}; the run file has the reason", list(&unmeasured))
        });
        open.chain(unconfirmed).chain(spread).chain(unmeasured).collect()
    }
}

/// Writes what was found, each change with its proof.
///
/// # Errors
/// Those of `out`.
pub fn write(found: &Bisection<'_>, style: &Style, out: &mut dyn Write) -> io::Result<()> {
    let mut page = Page::new(*style, out);
    page.paragraph(&found.head(), 0, Tone::Strong)?;
    for ((before, after), proof) in found.search.changes().iter().zip(found.proofs) {
        let changed = proof.changed();
        let boots = changed.iter().map(|(_, one)| one.observations).min().unwrap_or(0);
        let boots = things(boots, "boot", "boots");
        let pair = format!(
            "{} over {}, interleaved, {boots} of each: {}",
            found.names[*after], found.names[*before], proof.file
        );
        page.paragraph(&format!("  {pair}"), 4, Tone::Plain)?;
        for (series, one) in changed {
            let ratio = times_with_word(one.ratio, series.unit);
            page.paragraph(&format!("    {}  {ratio}", series.label), 6, Tone::Plain)?;
        }
    }
    for doubt in found.doubts() {
        page.paragraph(&format!("  {doubt}"), 4, Tone::Open)?;
    }
    Ok(())
}

/// Writes the same as one JSON object.
///
/// # Errors
/// Those of `out`.
pub fn write_json(found: &Bisection<'_>, out: &mut dyn Write) -> io::Result<()> {
    let part = |part: &ListPart| json!({ "before": found.names[part.0], "after": found.names[part.1] });
    let parts = |parts: &[ListPart]| parts.iter().map(part).collect::<Vec<Value>>();
    let series = |(series, one): (&SeriesSteps, SeriesStep)| {
        json!({
            "series": series.label,
            "ratio": { "value": one.ratio.value, "low": one.ratio.low, "high": one.ratio.high },
            "boots": one.observations,
        })
    };
    let change = |(place, proof): (&ListPart, &Proof)| {
        json!({
            "before": found.names[place.0],
            "after": found.names[place.1],
            "file": proof.file,
            "level": proof.steps.level,
            "series": proof.changed().into_iter().map(series).collect::<Vec<Value>>(),
        })
    };
    let search = found.search;
    let document = json!({
        "systems": found.names,
        "margin": found.margin,
        "certain": found.is_certain(),
        "changes": search.changes().iter().zip(found.proofs).map(change).collect::<Vec<Value>>(),
        "undecided": parts(search.open()),
        "unconfirmed": parts(search.unconfirmed()),
        "spread": parts(search.spread()),
        "not_measured": search.unmeasured().map(|place| &found.names[place]).collect::<Vec<_>>(),
    });
    serde_json::to_writer_pretty(&mut *out, &document)?;
    writeln!(out)
}
