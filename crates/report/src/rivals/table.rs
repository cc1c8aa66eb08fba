//! Rivals in a terminal: each series with the best and the ratios of the others.

use std::io;

use judge::compare::{Comparison, Ranking};

use super::words;

use crate::text::{Page, Tone};

/// Writes every series: its answer first, then all variants at the largest level, then their means.
pub(crate) fn write(rivals: &Comparison, page: &mut Page<'_>) -> io::Result<()> {
    let held = || rivals.rankings.iter().filter(|ranking| ranking.n.is_some());
    let is_told = held().any(Ranking::is_told);
    page.paragraph(rivals.workload.as_deref().unwrap_or_default(), 0, Tone::Strong)?;
    // Where nothing at all is certain, this is the answer, and said once.
    if !is_told && held().next().is_some() {
        page.paragraph(&format!("  {}", words::untold(held())), 4, Tone::Open)?;
    }
    for ranking in held() {
        let mut line = |text: &str, tone| page.paragraph(&format!("  {text}"), 4, tone);
        line(&format!("{}:", words::heading(ranking)), Tone::Faint)?;
        let mut line = |text: &str, tone| page.paragraph(&format!("    {text}"), 6, tone);
        match words::sentence(ranking) {
            Some(sentence) => line(&sentence, Tone::Strong)?,
            None if is_told && !ranking.is_told() => line(&words::untold([ranking].into_iter()), Tone::Open)?,
            None => {}
        }
        line(&words::field(ranking), Tone::Plain)?;
        if let Some((over, means)) = words::means(ranking) {
            line(&format!("{over}: {means}"), Tone::Plain)?;
        }
    }
    for note in words::notes(rivals) {
        page.paragraph(&format!("  {note}"), 4, Tone::Open)?;
    }
    page.paragraph(&format!("  {}", words::judged(rivals)), 4, Tone::Faint)
}
