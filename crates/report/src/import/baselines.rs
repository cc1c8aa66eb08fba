//! Runs that are kept beside the last one: criterion copies `new/` to `base/` after a run, so `base/` is
//! either the run before or a copy of the last.

use std::collections::HashMap;

use super::entries::{FileRead, Of};
use crate::words::things;

/// The key in a name's origin.
pub(crate) const BASELINE: &str = "baseline";

/// Takes out what is `base` where there is a `new` of it.
pub(super) fn settle(entries: &mut Vec<Of>, files: &mut [FileRead]) -> Option<String> {
    let has = |of: &Of, baseline: &str| of.entry.name.origin.get(BASELINE).is_some_and(|is| is == baseline);
    let news: HashMap<String, Vec<f64>> = entries
        .iter()
        .filter(|of| has(of, "new"))
        .map(|of| (of.entry.name.text.clone(), of.entry.seconds.clone()))
        .collect();
    let (mut copies, mut others) = (0, 0);
    entries.retain(|of| {
        let Some(new) = news.get(&of.entry.name.text).filter(|_| has(of, "base")) else { return true };
        let is_copy = *new == of.entry.seconds;
        *(if is_copy { &mut copies } else { &mut others }) += 1;
        let reason = if is_copy { "equal to new/" } else { "of another run than new/" };
        files[of.file].leave_out_all(&of.entry.name.text, reason);
        false
    });
    let files = |n: usize, which: &str| {
        (n > 0).then(|| format!("{} left out: {which}.", things(n, "file of base/ is", "files of base/ are")))
    };
    let remarks = [files(copies, "equal to new/"), files(others, "of another run than new/")];
    let remarks: Vec<String> = remarks.into_iter().flatten().collect();
    (!remarks.is_empty()).then(|| remarks.join(" "))
}
