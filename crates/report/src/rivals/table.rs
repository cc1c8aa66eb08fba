//! Rivals in a terminal: each series with the best and the ratios of the others.

use std::io;

use judge::rivals::{Contest, Rivals};

use super::words;

use crate::text::{Page, Tone};

/// Writes every series: its answer first, then all variants at the largest level, then their means.
pub(crate) fn write(rivals: &Rivals, page: &mut Page<'_>) -> io::Result<()> {
    let held = || rivals.contests.iter().filter(|contest| contest.n.is_some());
    let is_told = held().any(Contest::is_told);
    page.paragraph(&rivals.workload, 0, Tone::Strong)?;
    // Where nothing at all is certain, this is the answer, and said once.
    if !is_told && held().next().is_some() {
        page.paragraph(&format!("  {}", words::untold(held())), 4, Tone::Open)?;
    }
    for contest in held() {
        let mut line = |text: &str, tone| page.paragraph(&format!("  {text}"), 4, tone);
        line(&format!("{}:", words::heading(rivals, contest)), Tone::Faint)?;
        let mut line = |text: &str, tone| page.paragraph(&format!("    {text}"), 6, tone);
        match words::sentence(rivals, contest) {
            Some(sentence) => line(&sentence, Tone::Strong)?,
            None if is_told && !contest.is_told() => line(&words::untold([contest].into_iter()), Tone::Open)?,
            None => {}
        }
        line(&words::field(contest), Tone::Plain)?;
        if let Some((over, means)) = words::means(contest) {
            line(&format!("{over}: {means}"), Tone::Plain)?;
        }
    }
    for note in words::notes(rivals) {
        page.paragraph(&format!("  {note}"), 4, Tone::Open)?;
    }
    page.paragraph(&format!("  {}", words::judged(rivals)), 4, Tone::Faint)
}
