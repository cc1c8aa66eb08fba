//! The results as plain text.

use std::io::{self, Write};

use crate::counts::JudgedFigure;
use crate::counts::{CLASSES, CellCounts};
use crate::sheets::Sheet;

/// One line a cell: shares of the words in percent, and the other figures.
///
/// # Errors
/// Those of `out`.
pub fn cells(all_counts: &[CellCounts], out: &mut impl Write) -> io::Result<()> {
    let width = all_counts.iter().map(|counts| counts.cell.name().len()).max().unwrap_or(0).max(4);
    writeln!(
        out,
        "{:<width$}   reps valu flat smal subl line supe limi step 2lin fall comp ambi unev \
         inco | right wrong  bound without steps  place  2lin |     G marginal doubling stepCI blocks",
        "cell"
    )?;
    for counts in all_counts {
        let name = counts.cell.name();
        let of = counts.replicates.max(1) as f64;
        let percent = |count: usize| 100.0 * count as f64 / of;
        write!(out, "{name:<width$} {:>6}", counts.replicates)?;
        if !counts.is_verdict() {
            let [faster, slower, small, same, open] = counts.answers.map(percent);
            let (held, held_of) = counts.coverage(JudgedFigure::Ratio);
            writeln!(
                out,
                " faster {faster:.0} slower {slower:.0} small {small:.0} equivalent {same:.0} \
                 unresolved {open:.0} | t-test {:.0} | ratio covered {:.1}",
                percent(counts.rivals.t_test_differs),
                100.0 * held as f64 / held_of.max(1) as f64
            )?;
            continue;
        }
        for (count, _) in counts.classes.iter().zip(CLASSES) {
            match count {
                0 => write!(out, "    .")?,
                _ => write!(out, " {:>4.0}", percent(*count))?,
            }
        }
        write!(
            out,
            " | {:>5.1} {:>5.1} {:>5.1}% {:>6.1}% {:>5.2} {:>6.0} {:>5.1} |",
            percent(counts.right()),
            percent(counts.wrong()),
            100.0 * counts.bound(),
            100.0 * counts.bound_without(),
            counts.steps as f64 / of,
            percent(counts.steps_in_place),
            percent(counts.lines),
        )?;
        let figures = [
            JudgedFigure::Growth,
            JudgedFigure::MarginalCost,
            JudgedFigure::DoublingSize,
            JudgedFigure::StepPlace,
            JudgedFigure::Blocks,
        ];
        for (figure, width) in figures.into_iter().zip([5, 8, 8, 6, 6]) {
            let coverage = match (figure, counts.coverage(figure)) {
                (JudgedFigure::Growth, (_, 0)) => counts.coverage(JudgedFigure::SteepEnd),
                (_, coverage) => coverage,
            };
            match coverage {
                (_, 0) => write!(out, " {:>width$}", "-")?,
                (held, of) => write!(out, " {:>width$.1}", 100.0 * held as f64 / of as f64)?,
            }
        }
        writeln!(out)?;
    }
    Ok(())
}

/// Tables in Markdown.
///
/// # Errors
/// Those of `out`.
pub fn markdown(sheets: &[Sheet], out: &mut impl Write) -> io::Result<()> {
    for sheet in sheets {
        writeln!(out, "### {}\n", sheet.title)?;
        let count = sheet.head.len() - sheet.details;
        writeln!(out, "| {} |", sheet.head[..count].join(" | "))?;
        writeln!(out, "|{}", "---|".repeat(count))?;
        for row in &sheet.rows {
            writeln!(out, "| {} |", row[..count].join(" | "))?;
        }
        writeln!(out)?;
    }
    Ok(())
}
