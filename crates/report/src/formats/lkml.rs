//! A plain report for a mailing list such as that of the Linux kernel: lines of at most 72 columns, changes
//! in percent, how sure they are, and the command that reproduces them.

use std::io::{self, Write};

use stats::{Decision, Interval};

use super::{BuildResults, OutputFormat, SeriesChange, plain};
use crate::gate;
use crate::text::{printable, wrapped};

/// Columns of a line (Documentation/process/email-clients.rst asks for plain text that nothing wraps).
const WIDTH: usize = 72;
/// Rows of the table at the most; failures are listed above in full.
const ROWS_MAX: usize = 40;
/// Columns of the names, and of the systems.
const NAME: usize = 30;

pub(super) const FORMAT: OutputFormat =
    OutputFormat { name: "lkml", summary: "plain text of 72 columns for a mailing list", write };

fn write(results: &BuildResults, out: &mut dyn Write) -> io::Result<()> {
    if let Some(answer) = &results.gate {
        paragraph(&format!("osdyno: {}", gate::summary(answer)), out)?;
        for decision in [Decision::Certain, Decision::Undecided] {
            for (claim, one) in answer.with(decision) {
                let word = if decision == Decision::Certain { "" } else { "undecided: " };
                paragraph(&format!("{word}{}", gate::sentence(claim.kind, one)), out)?;
            }
        }
    }
    changes(&results.changes, out)?;
    if !results.machine.is_empty() {
        paragraph(&results.machine, out)?;
    }
    for (key, values) in results.differences.iter().take(ROWS_MAX) {
        paragraph(&format!("{key}: {}", values.join(" -> ")), out)?;
    }
    writeln!(out, "To reproduce:\n")?;
    let mut first = true;
    for line in wrapped(&printable(&results.repeat), WIDTH - 6, 2) {
        // A shell goes on where a line ends in a backslash.
        if !first {
            writeln!(out, " \\")?;
        }
        write!(out, "  {line}")?;
        first = false;
    }
    writeln!(out)
}

fn changes(changes: &[SeriesChange], out: &mut dyn Write) -> io::Result<()> {
    if changes.is_empty() {
        return Ok(());
    }
    writeln!(out, "  {:<NAME$} {:>9}  interval", "cost", "change")?;
    let mut rows: Vec<&SeriesChange> = changes.iter().collect();
    rows.sort_by(|a, b| b.ratio.value.ln().abs().total_cmp(&a.ratio.value.ln().abs()));
    for one in rows.iter().take(ROWS_MAX) {
        let name = plain(&printable(&one.series));
        let (change, interval) = percent(one.ratio);
        let line = format!("  {name:<NAME$} {change:>9}  {interval}");
        match line.chars().count() <= WIDTH {
            true => writeln!(out, "{}", line.trim_end())?,
            false => writeln!(out, "  {name}\n  {:<NAME$} {change:>9}  {interval}", "")?,
        }
    }
    if rows.len() > ROWS_MAX {
        writeln!(out, "  and {} more, which changed less", rows.len() - ROWS_MAX)?;
    }
    writeln!(out)
}

/// `+6.1%` and `+4.2% .. +8.1%`.
fn percent(ratio: Interval) -> (String, String) {
    let share = |factor: f64| match 100.0 * (factor - 1.0) {
        share if share.is_finite() && share.abs() < 1e6 => format!("{share:+.1}%"),
        _ => "?".to_owned(),
    };
    (share(ratio.value), format!("{} .. {}", share(ratio.low), share(ratio.high)))
}

fn paragraph(text: &str, out: &mut dyn Write) -> io::Result<()> {
    let text = plain(&printable(text));
    wrapped(&text, WIDTH, 0).iter().try_for_each(|line| writeln!(out, "{}", line.trim_end()))?;
    writeln!(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::tests::written;

    #[test]
    fn a_mail_has_72_columns_the_change_the_interval_and_the_command() {
        let text = written(FORMAT);
        let widest = text.lines().map(|line| line.chars().count()).max();
        assert!(widest <= Some(WIDTH), "{text}");
        assert!(text.starts_with("osdyno: 1 of 3 series failed"), "{text}");
        assert!(text.contains("  bind                               +6.1%  +4.2% .. +8.1%"), "{text}");
        assert!(text.contains("To reproduce:\n\n  osdyno run bind --system base= "), "{text}");
        assert!(text.contains(" \\\n"), "{text}");
        assert!(text.contains("command: none -> nice -n 10"), "{text}");
    }

    #[test]
    fn a_change_without_an_interval_says_so() {
        assert_eq!(percent(Interval { value: 1.0, low: 0.0, high: f64::INFINITY }).1, "-100.0% .. ?");
    }
}
