//! One growth has one number and one place, whichever output shows it: the screen, wide and narrow, the table,
//! the page, and JSON, of recorded runs and of emulated ones.

use crate::emulated;

use judge::{Findings, Growth};
use record::Recording;
use report::document::terminal::Length;
use report::words::estimated_factor;
use report::{Style, html, overview, table};

fn recordings() -> Vec<(String, Recording)> {
    let kept = ["run", "race", "compare"].map(|name| {
        let file = format!("{}/../../docs/runs/{name}.osdyno", env!("CARGO_MANIFEST_DIR"));
        (name.to_owned(), record::read(file).expect("a kept run").0)
    });
    let facts = [("net.ip_local_port_range", "32768 60999")];
    let emulated = |workloads: &[emulated::Emulated]| {
        emulated::recording(emulated::system("local", &facts), workloads, 10, 1)
    };
    let shapes = ("shapes".into(), emulated(&emulated::shapes(20_000)));
    let mixed = ("mixed".into(), emulated(&emulated::mixed(20_000)));
    kept.into_iter().chain([shapes, mixed]).collect()
}

/// The text for a terminal, with wrapped lines joined.
fn text(write: impl Fn(&mut Vec<u8>) -> std::io::Result<()>) -> String {
    let mut out = Vec::new();
    write(&mut out).expect("written");
    String::from_utf8(out).expect("text").replace('\u{202f}', " ")
}

/// The factors that a text has, `×3.9` as `3.9`; those behind "but" are of another place, and those behind "at most" are bounds.
fn factors(text: &str) -> Vec<String> {
    let of_growth = text.split(", but ×").next().unwrap_or_default().replace("at most ×", "");
    let number =
        |rest: &str| rest.split(|c: char| !(c.is_ascii_digit() || c == '.')).next().map(String::from);
    of_growth.split('×').skip(1).filter_map(number).collect()
}

/// Each series that grows, and its factor as words say it.
fn growths(findings: &Findings) -> Vec<(String, usize, String)> {
    let growth = |(i, finding): (usize, &judge::Finding)| {
        let growth = Growth::from_verdict(finding.verdict.as_ref()?)?;
        let label = report::sentences::label(findings, finding);
        Some((label, i, estimated_factor(growth.ratio).replace('\u{202f}', " ")))
    };
    findings.series.iter().enumerate().filter_map(growth).collect()
}

#[test]
fn a_program_divides_the_costs_and_finds_the_growth() {
    for (name, recording) in recordings() {
        let findings = Findings::from_recording(&recording);
        let document = emulated::json(&report::RunAnswer::new(&findings));
        for (label, i, said) in growths(&findings) {
            let series = &document["series"][i];
            let number = |value: &serde_json::Value| value.as_f64().expect("a number");
            let [growth, low, high] = ["value", "low", "high"].map(|end| series["growth"][end].as_f64());
            let (growth, without) = (growth.expect("a number"), (f64::NEG_INFINITY, f64::INFINITY));
            let interval = stats::Interval {
                value: growth,
                low: low.unwrap_or(without.0),
                high: high.unwrap_or(without.1),
            };
            assert_eq!(estimated_factor(interval).replace('\u{202f}', " "), said, "{name}, {label}");
            let evidence = &series["evidence"];
            let ratio = number(&evidence["cost_high"]["value"]) / number(&evidence["cost_low"]["value"]);
            assert!((ratio / growth - 1.0).abs() < 1e-9, "{name}, {label}: {ratio} is not {growth}");
        }
    }
}

#[test]
fn every_screen_says_the_same_growth() {
    for (name, recording) in recordings() {
        let findings = Findings::from_recording(&recording);
        let shown = growths(&findings);
        for width in [60, 100, 140] {
            // Wide enough for each paragraph to be one line, at either layout.
            let style = Style { width, ..Style::default() };
            let screen = text(|out| overview::document(&findings, None).write(overview::SCREEN, &style, out));
            let verbose = text(|out| table::document(&findings).write(Length::All, &style, out));
            // For two lines the text has the distance.
            let is_one_line = |i: usize| {
                findings.series[i].verdict.as_ref().is_some_and(|v| v.class != stats::Class::TwoLines)
            };
            for (label, _, said) in shown.iter().filter(|(_, i, _)| is_one_line(*i)) {
                let heads = [format!("  {label}: "), format!("{label}: "), format!("{label}  ")];
                let said_of = |text: &str| -> Vec<String> {
                    let begins = |line: &&str| heads.iter().any(|head| line.starts_with(head));
                    // The height of a step is another number, and so is that of a rise that is reversed.
                    let growth = |line: &str| {
                        factors(line.split("stepped").next()?.split("uneven").next()?).first().cloned()
                    };
                    text.lines().filter(begins).filter_map(growth).collect()
                };
                let factors = [said_of(&screen), said_of(&verbose)].concat();
                let is_it = |found: &String| said.trim_start_matches('×').starts_with(found.as_str());
                assert!(factors.iter().all(is_it), "{name}, {label} at {width}: {said}, not {factors:?}");
            }
        }
    }
}

#[test]
fn a_finding_and_its_page_say_the_same_growth_and_place() {
    for (name, recording) in recordings() {
        let findings = Findings::from_recording(&recording).without_details();
        let page = text(|out| html::write(&recording, &findings, None, out));
        for highlight in judge::highlights(&findings) {
            let first = highlight.first();
            let verdict = first.verdict.as_ref().expect("it grows");
            let ratio = Growth::from_verdict(verdict).expect("from n to n").ratio;
            let sentence =
                overview::growth_sentences(&findings, |finding| finding.key == first.key)[0].clone();
            let sentence = sentence.replace('\u{202f}', " ");
            let said = estimated_factor(ratio).replace('\u{202f}', " ");
            assert!(sentence.contains(&format!("({said})")), "{name}: {said} is not in {sentence}");
            assert!(page.contains(&format!("({said})")), "{name}: {said} is not on the page");
            assert!(page.contains(&format!("<td>{said} (")), "{name}: {said} is not in the page's numbers");
            // A jump is between the same two n in the table.
            if let Some((ends, _)) = sentence.split_once(" between ").and_then(|(_, rest)| {
                let end = rest.rfind(|c: char| c.is_ascii_digit()).filter(|_| rest.contains(" and "))?;
                Some(rest.split_at(rest[..=end].find(&first.grows).unwrap_or(end)))
            }) {
                let style = Style { width: 400, ..Style::default() };
                let table = text(|out| table::document(&findings).write(Length::All, &style, out));
                assert!(table.contains(&format!("between {}", ends.trim())), "{name}: {ends} in\n{table}");
            }
            // A place is an n that was measured, unless it is an estimate with an interval.
            if let Some(place) = &highlight.place {
                let is_measured = verdict
                    .blocks
                    .iter()
                    .any(|block| [block.n_low, block.n_high].contains(&(place.n.value as u64)));
                let is_step = verdict.steps.iter().any(|step| step.n as f64 == place.n.value);
                assert!(is_measured || is_step || place.n.low < place.n.high, "{name}: {place:?}");
            }
        }
    }
}

/// A finding whose cost is worst before its end reports that at another place, not as its growth.
#[test]
fn a_hump_is_no_growth() {
    let cost = |n: f64| if (4_000.0..8_000.0).contains(&n) { 9e-6 } else { 1e-6 * (1.0 + n / 4_000.0) };
    let curve = emulated::Curve { cost, between: 0.02, within: 0.05, n: 20_000, twin: None };
    let series = vec![("mmap", record::Direction::Up, record::Expect::Linear, curve)];
    let workloads = [emulated::one("mmap", "mappings", series)];
    let findings =
        Findings::from_recording(&emulated::recording(emulated::system("local", &[]), &workloads, 10, 1));
    let growths = overview::growth_sentences(&findings, |_| true);
    let [growth] = growths.as_slice() else { panic!("one growth: {growths:?}") };
    assert!(growth.contains("(×5.") || growth.contains("(×6."), "{growth}");
    assert!(growth.contains(", but ×"), "{growth}");
}
