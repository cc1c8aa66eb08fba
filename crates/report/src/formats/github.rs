//! Annotations of GitHub Actions: workflow commands, one for each series that failed or is undecided.
//!
//! The form is `::error title=TITLE::MESSAGE`. In a message `%`, CR and LF are escaped, in a title `:` and
//! `,` too (docs.github.com, "Workflow commands for GitHub Actions", and
//! `toolkit/packages/core/src/command.ts`). GitHub shows ten of each kind for a step, so the last one counts
//! the others. The summary of the step is Markdown, which the verb appends to the file that
//! `GITHUB_STEP_SUMMARY` names.

use std::io::{self, Write};

use judge::gate::{ClaimAnswer, GatedSeries};
use stats::Decision;

use super::{BuildResults, OutputFormat, plain};
use crate::gate;

/// Annotations of one kind that are shown for a step.
const SHOWN_MOST: usize = 10;

pub(super) const FORMAT: OutputFormat =
    OutputFormat { name: "github", summary: "annotations and a step summary for GitHub Actions", write };

fn write(results: &BuildResults, out: &mut dyn Write) -> io::Result<()> {
    for (command, decision) in [("warning", Decision::Undecided), ("error", Decision::Certain)] {
        let all: Vec<_> = results.gated().filter(|(_, one)| one.decision == decision).collect();
        let shown = if all.len() > SHOWN_MOST { SHOWN_MOST - 1 } else { all.len() };
        for (claim, one) in &all[..shown] {
            annotate(command, &title(claim, one), &plain(&gate::sentence(claim.kind, one)), out)?;
        }
        if all.len() > shown {
            let more = format!("{} more series; the log and the summary have them", all.len() - shown);
            annotate(command, "osdyno", &more, out)?;
        }
    }
    match &results.gate {
        Some(answer) => writeln!(out, "::notice title=osdyno::{}", data(&plain(&gate::summary(answer)))),
        None => writeln!(out, "::notice title=osdyno::{}", data(&plain(&results.machine))),
    }
}

fn title(claim: &ClaimAnswer, one: &GatedSeries) -> String {
    match one.decision {
        Decision::Certain => format!("{}: {}", one.series, claim.claim),
        _ => format!("{}: {} is undecided", one.series, claim.claim),
    }
}

fn annotate(command: &str, title: &str, message: &str, out: &mut dyn Write) -> io::Result<()> {
    let title = data(title).replace(':', "%3A").replace(',', "%2C");
    writeln!(out, "::{command} title={title}::{}", data(message))
}

fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::tests::{results, written};

    #[test]
    fn what_failed_is_an_error_and_what_is_undecided_a_warning() {
        let text = written(FORMAT);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 3, "{text}");
        assert!(
            lines[0].starts_with("::warning title=fork%3A slower%3A5%25 is undecided::fork on head"),
            "{text}"
        );
        assert!(
            lines[1].starts_with("::error title=bind%3A slower%3A5%25::bind on head is 6.1 %25 slower"),
            "{text}"
        );
        assert!(lines[2].starts_with("::notice title=osdyno::1 of 3 series failed"), "{text}");
    }

    #[test]
    fn ten_of_a_kind_are_shown_and_nothing_of_a_name_is_a_command() {
        let mut results = results();
        let gate = results.gate.as_mut().expect("a gate");
        let mut one = gate.claims[0].series[0].clone();
        one.series = "a\n::set-env name=x::y".to_owned();
        gate.claims[0].series = vec![one; 30];
        let mut out = Vec::new();
        write(&results, &mut out).expect("a vector takes all");
        let text = String::from_utf8(out).expect("text");
        assert_eq!(text.lines().filter(|line| line.starts_with("::error")).count(), 10);
        assert!(text.contains("21 more series") && text.lines().all(|line| !line.starts_with("::set-env")));
    }
}
