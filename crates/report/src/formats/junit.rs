//! JUnit's XML, as Jenkins and GitLab read it: a test suite for each claim, a test case for each series.
//!
//! The elements and attributes are those of the schema of Jenkins' xUnit plugin (junit-10.xsd), in its order:
//! `testsuites`, `testsuite` with `name`, `tests`, `failures`, `errors` and `skipped`, `testcase` with
//! `name`, `classname` and `time`, and in it `skipped` or `failure`, then `system-out`. A series that is
//! undecided is skipped, with the reason.

use std::io::{self, Write};

use judge::gate::{ClaimAnswer, GatedSeries};
use stats::Decision;

use super::{BuildResults, OutputFormat, plain, xml};
use crate::gate;

pub(super) const FORMAT: OutputFormat =
    OutputFormat { name: "junit", summary: "test cases for GitLab and Jenkins", write };

fn write(results: &BuildResults, out: &mut dyn Write) -> io::Result<()> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::tests::{results, written};

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
    fn check(text: &str) -> std::collections::BTreeMap<String, usize> {
        let mut counts = std::collections::BTreeMap::new();
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
        let text = written(FORMAT);
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
        write(&results, &mut out).expect("a vector takes all");
        let text = String::from_utf8(out).expect("text");
        assert_eq!(check(&text)["testcase"], 6);
        assert!(text.contains("&lt;b&gt;&amp;&quot;[2J&apos;") && !text.contains('\u{1b}'), "{text}");
    }
}
