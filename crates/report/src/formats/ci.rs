//! Results as the servers of builds show them.
//!
//! GitHub Actions have annotations, which are workflow commands: one for each series that failed or is
//! undecided. The form is `::error title=TITLE::MESSAGE`. In a message `%`, CR and LF are escaped, in a title
//! `:` and `,` too (docs.github.com, "Workflow commands for GitHub Actions", and
//! `toolkit/packages/core/src/command.ts`). GitHub shows ten of each kind for a step, so the last one counts
//! the others. The summary of the step is Markdown, which the verb appends to the file that
//! `GITHUB_STEP_SUMMARY` names.
//!
//! Jenkins and GitLab read JUnit's XML: a test suite for each claim, a test case for each series. The
//! elements and attributes are those of the schema of Jenkins' xUnit plugin (junit-10.xsd), in its order:
//! `testsuites`, `testsuite` with `name`, `tests`, `failures`, `errors` and `skipped`, `testcase` with
//! `name`, `classname` and `time`, and in it `skipped` or `failure`, then `system-out`. A series that is
//! undecided is skipped, with the reason.

use std::io::{self, Write};

use judge::gate::{ClaimAnswer, GatedSeries};
use stats::Decision;

use super::{BuildResults, OutputFormat, plain};
use crate::gate;

/// Annotations of one kind that are shown for a step.
const SHOWN_MOST: usize = 10;
pub(super) const GITHUB: OutputFormat = OutputFormat {
    name: "github",
    summary: "annotations and a step summary for GitHub Actions",
    write: write_github,
};
pub(super) const JUNIT: OutputFormat =
    OutputFormat { name: "junit", summary: "test cases for GitLab and Jenkins", write: write_junit };

fn write_github(results: &BuildResults, out: &mut dyn Write) -> io::Result<()> {
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

fn write_junit(results: &BuildResults, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>")?;
    writeln!(out, "<testsuites name=\"osdyno\">")?;
    for claim in results.gate.iter().flat_map(|gate| &gate.claims) {
        suite(claim, &results.repeat, out)?;
    }
    if results.gate.is_none() {
        measured(results, out)?;
    }
    writeln!(out, "</testsuites>")
}

fn suite(claim: &ClaimAnswer, repeat: &str, out: &mut dyn Write) -> io::Result<()> {
    let of = |decision| claim.series.iter().filter(|one| one.decision == decision).count();
    writeln!(
        out,
        "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"0\" skipped=\"{}\">",
        xml(&claim.claim),
        claim.series.len(),
        of(Decision::Certain),
        of(Decision::Undecided)
    )?;
    claim.series.iter().try_for_each(|one| case(claim, one, repeat, out))?;
    writeln!(out, "  </testsuite>")
}

fn case(claim: &ClaimAnswer, one: &GatedSeries, repeat: &str, out: &mut dyn Write) -> io::Result<()> {
    let class = match one.system.as_str() {
        "" => "osdyno".to_owned(),
        system => format!("osdyno.{system}"),
    };
    let words = xml(&plain(&gate::sentence(claim.kind, one)));
    writeln!(out, "    <testcase name=\"{}\" classname=\"{}\" time=\"0\">", xml(&one.series), xml(&class))?;
    match one.decision {
        Decision::Certain => {
            let (kind, repeat) = (claim.kind.name(), xml(repeat));
            writeln!(
                out,
                "      <failure type=\"{kind}\" message=\"{words}\">{words}&#10;{repeat}</failure>"
            )?;
        }
        Decision::Undecided => writeln!(out, "      <skipped message=\"{words}\"/>")?,
        Decision::Excluded => writeln!(out, "      <system-out>{words}</system-out>")?,
    }
    writeln!(out, "    </testcase>")
}

/// Without a gate every series that was measured is a test that passed.
fn measured(results: &BuildResults, out: &mut dyn Write) -> io::Result<()> {
    let count = results.figures.len();
    writeln!(
        out,
        "  <testsuite name=\"measured\" tests=\"{count}\" failures=\"0\" errors=\"0\" skipped=\"0\">"
    )?;
    for figure in &results.figures {
        let name = xml(&format!("{} at n = {}", figure.series, figure.n));
        let class = xml(&format!("osdyno.{}", figure.system));
        writeln!(out, "    <testcase name=\"{name}\" classname=\"{class}\" time=\"0\"/>")?;
    }
    writeln!(out, "  </testsuite>")
}

/// A text in XML, which cannot express control characters.
fn xml(text: &str) -> String {
    let legal = |c: &char| !c.is_control() || matches!(c, '\n' | '\t');
    let text: String = text.chars().filter(legal).filter(|c| !matches!(c, '\u{fffe}' | '\u{ffff}')).collect();
    let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    text.replace('"', "&quot;").replace('\'', "&apos;").replace('\n', "&#10;")
}

#[cfg(test)]
mod tests {
    use crate::formats::tests::{results, written};
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn what_failed_is_an_error_and_what_is_undecided_a_warning() {
        let text = written(GITHUB);
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
        write_github(&results, &mut out).expect("a vector takes all");
        let text = String::from_utf8(out).expect("text");
        assert_eq!(text.lines().filter(|line| line.starts_with("::error")).count(), 10);
        assert!(text.contains("21 more series") && text.lines().all(|line| !line.starts_with("::set-env")));
    }

    /// The rules of junit-10.xsd for the elements written here: name, parents, attributes.
    const RULES: [(&str, &[&str], &[&str]); 6] = [
        ("testsuites", &[""], &["name"]),
        ("testsuite", &["testsuites"], &["name", "tests", "failures", "errors", "skipped"]),
        ("testcase", &["testsuite"], &["name", "classname", "time"]),
        ("failure", &["testcase"], &["type", "message"]),
        ("skipped", &["testcase"], &["message"]),
        ("system-out", &["testcase"], &[]),
    ];

    /// Checks that elements nest, are known, and have their attributes; counts each.
    fn check(text: &str) -> BTreeMap<String, usize> {
        let mut counts = BTreeMap::new();
        let mut open = vec![String::new()];
        let body = text.strip_prefix("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n").expect("a declaration");
        for tag in body.split('<').skip(1) {
            let (tag, content) = tag.split_once('>').expect("a tag ends");
            assert!(!content.contains('>') && !content.contains('"'), "{content}");
            if let Some(name) = tag.strip_prefix('/') {
                assert_eq!(open.pop().as_deref(), Some(name));
                continue;
            }
            let (tag, is_empty) = match tag.strip_suffix('/') {
                Some(tag) => (tag, true),
                None => (tag, false),
            };
            let name = tag.split(' ').next().unwrap_or_default();
            let (_, parents, attributes) = RULES.iter().find(|(known, ..)| *known == name).expect(name);
            assert!(parents.contains(&open.last().expect("a parent").as_str()), "{name} in {open:?}");
            let values = tag.split('"').count() / 2;
            assert_eq!(values, attributes.len(), "{tag}");
            assert!(attributes.iter().all(|attribute| tag.contains(&format!(" {attribute}=\""))), "{tag}");
            *counts.entry(name.to_owned()).or_default() += 1;
            if !is_empty {
                open.push(name.to_owned());
            }
        }
        assert_eq!(open, [""]);
        counts
    }

    #[test]
    fn the_schema_is_kept_and_each_series_is_a_test_case() {
        let text = written(JUNIT);
        let counts = check(&text);
        let expected = [("failure", 1), ("skipped", 1), ("system-out", 1), ("testcase", 3), ("testsuite", 1)];
        expected.iter().for_each(|(name, count)| assert_eq!(counts[*name], *count, "{text}"));
        assert!(text.contains("tests=\"3\" failures=\"1\" errors=\"0\" skipped=\"1\""), "{text}");
        assert!(text.contains("&#10;osdyno run bind"), "{text}");
    }

    #[test]
    fn names_of_others_stay_text() {
        let mut results = results();
        results.gate = None;
        results.figures[0].series = "<b>&\"\u{1b}[2J'".to_owned();
        let mut out = Vec::new();
        write_junit(&results, &mut out).expect("a vector takes all");
        let text = String::from_utf8(out).expect("text");
        assert_eq!(check(&text)["testcase"], 6);
        assert!(text.contains("&lt;b&gt;&amp;&quot;[2J&apos;") && !text.contains('\u{1b}'), "{text}");
    }
}
