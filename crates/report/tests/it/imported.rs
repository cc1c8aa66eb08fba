//! Findings of numbers that were measured elsewhere: every series is judged or has a reason, as text, page
//! and JSON, and nothing in a file causes a panic.

use std::fmt::Write;

use import::{Import, Imported, Options};
use judge::{Findings, MARGIN};
use proptest::prelude::*;
use record::Direction;
use report::document::terminal::Length;
use report::{Style, table};

fn import(name: &str, bytes: &[u8]) -> Option<Imported> {
    let mut import = Import::new(Options::default());
    import.read(name, bytes).ok()?;
    import.finish().ok()
}

fn read(text: &str) -> Imported {
    import("file.csv", text.as_bytes()).expect("a header")
}

fn document(findings: &Findings) -> serde_json::Value {
    crate::emulated::json(&report::RunAnswer::new(findings))
}

#[test]
fn each_direction_is_a_finding_of_its_own() {
    let mut text = String::from("series,trial,direction,n,value\n");
    for trial in 1..=12 {
        for n in 1..=300 {
            writeln!(text, "a,{trial},up,{n},{}", 100 + (n * trial) % 7).expect("memory");
        }
        for n in (1..=300).rev().filter(|_| trial != 3) {
            writeln!(text, "a,{trial},down,{n},{}", 150 + (n * trial) % 7).expect("memory");
        }
    }
    let imported = read(&text);
    let down = imported.recording.series().find(|(key, _)| key.direction == Direction::Down);
    assert_eq!(down.expect("the way down").1.len(), 11);
    let findings = Findings::from_import(&imported.recording, MARGIN);
    let found: Vec<_> =
        findings.series.iter().map(|f| (f.label.as_str(), f.trials, f.measurements)).collect();
    assert_eq!(found, [("a", 12, 12 * 300), ("a (down)", 11, 11 * 300)]);
    let classes = findings.series.iter().map(|f| f.verdict.as_ref().expect("a verdict").class);
    assert_eq!(classes.collect::<Vec<_>>(), [stats::Class::Flat; 2]);
}

#[test]
fn what_cannot_be_judged_is_there_and_says_why() {
    let imported = read("series,trial,n,value\na,1,1,nan\na,1,2,inf\na,1,3,0\na,1,4,-1\nb,1,1,x\nc,1,1,2\n");
    let findings = Findings::from_import(&imported.recording, MARGIN);
    let document = document(&findings);
    let said: Vec<_> = document["series"].as_array().expect("series").iter().collect();
    assert_eq!(said.iter().map(|s| &s["series"]).collect::<Vec<_>>(), ["a", "b", "c"]);
    assert!(said.iter().all(|s| s["verdict"] == "inconclusive"), "{document}");
    assert_eq!(
        said[0]["warnings"][0],
        "None of 4 values is a cost, which is a number from 1e-50 to 1e50; there is nothing to judge."
    );
    assert_eq!(said[1]["warnings"][0], "A trial has no line that could be used.");
    assert!(said[0]["evidence"].is_null() && said[0]["growth"]["value"].is_null());
}

#[test]
fn a_header_alone_has_no_findings() {
    let imported = read("series,trial,n,value\n");
    assert_eq!(
        document(&Findings::from_import(&imported.recording, MARGIN))["series"],
        serde_json::json!([])
    );
}

/// Ten trials of three series, with numbers from a fixed rule.
fn sample() -> String {
    let mut text = String::from("series,trial,n,value\n");
    for trial in 1..=12_u64 {
        for n in (10..=3000).step_by(10) {
            let noise = |salt: u64| 1.0 + 0.01 * ((n * 7919 + trial * 104_729 + salt) % 97) as f64 / 97.0;
            writeln!(text, "flat,{trial},{n},{:.3}", 1200.0 * noise(1)).expect("memory");
            writeln!(text, "line,{trial},{n},{:.3}", (100.0 + n as f64) * noise(2)).expect("memory");
            let level = if n > 1024 { 1e-9 } else { 0.5e-9 };
            writeln!(text, "step,{trial},{n},{:e}", level * noise(3)).expect("memory");
        }
    }
    text
}

#[test]
fn bare_numbers_are_reported_as_such() {
    let findings = Findings::from_import(&read(&sample()).recording, MARGIN);
    let mut out = Vec::new();
    table::document(&findings)
        .write(Length::All, &Style { width: 132, ..Style::default() }, &mut out)
        .expect("written");
    let text = String::from_utf8(out).expect("text");
    assert!(!text.contains("µs"), "{text}");
    // The words of verdicts are tested where they are made; here the figures count.
    let row = |name: &str| text.lines().find(|line| line.starts_with(name)).expect("a row").to_string();
    assert!(row("flat").contains("1 210  ") && row("flat").contains("flat within"), "{text}");
    assert!(row("line").contains("+1 000 per 1 000"), "{text}");
    assert!(row("step").contains("503 (501–504) × 1e-12  ") && row("step").contains(" × 1e-9  "), "{text}");
}

#[test]
fn the_document_has_what_it_promises() {
    let document = document(&Findings::from_import(&read(&sample()).recording, MARGIN));
    for series in document["series"].as_array().expect("series") {
        for field in [
            "series",
            "verdict",
            "classes",
            "bound_percent",
            "growth",
            "steps",
            "lines",
            "modes",
            "spikes",
            "warnings",
        ] {
            assert!(series.get(field).is_some(), "{field}");
        }
    }
    insta::assert_snapshot!("shape_of_an_entry", shape(&document["series"][2], 0));
    let step = &document["series"][2];
    assert_eq!((&step["series"], &step["verdict"]), (&"step".into(), &"stepped".into()), "{step}");
    let percent = step["steps"][0]["percent"].as_f64().expect("a step");
    assert!((95.0..105.0).contains(&percent), "{percent}");
}

/// Names and types of a document, on which programs rely.
fn shape(value: &serde_json::Value, depth: usize) -> String {
    use serde_json::Value;
    match value {
        Value::Null => "null".into(),
        Value::Bool(_) => "boolean".into(),
        Value::Number(_) => "number".into(),
        Value::String(_) => "text".into(),
        Value::Array(items) => {
            items.first().map_or("[]".into(), |item| format!("[] of {}", shape(item, depth)))
        }
        Value::Object(fields) => {
            let field = |(name, value): (&String, &Value)| {
                format!("\n{:width$}{name}: {}", "", shape(value, depth + 1), width = 2 * depth + 2)
            };
            fields.iter().map(field).collect()
        }
    }
}

/// Bytes that look like a table more often than bytes do.
fn hostile() -> impl Strategy<Value = Vec<u8>> {
    let field = prop_oneof![
        4 => prop::sample::select(vec!["a", "b", "1", "2", "3", "up", "down", "-", "1e4", "0.5", ""]),
        1 => prop::sample::select(vec![
            "nan", "-inf", "1e308", "5e-324", "18446744073709551615", "-1", "\"", "\"\"", "\"a\"", "\u{feff}", "\r", "é",
            "4294967295", "1e-400", "\u{1b}[2J",
        ]),
    ];
    let row = prop::collection::vec(field, 0..7).prop_map(|fields| fields.join(","));
    let header = prop::sample::select(vec![
        "series,trial,direction,n,value",
        "value,n,trial,series",
        "series;trial;n;value",
        "series,trial,n,value,value",
        "1 2",
        "clat 7",
        "",
    ]);
    (header, prop::collection::vec(row, 0..60))
        .prop_map(|(header, rows)| format!("{header}\n{}", rows.join("\n")).into_bytes())
}

/// For any file all outputs end, and contain only finite numbers.
fn judged(bytes: &[u8]) {
    let Some(imported) = import("forkbench", bytes) else { return };
    let findings = Findings::from_import(&imported.recording, MARGIN);
    assert_eq!(document(&findings)["series"].as_array().map(Vec::len), Some(findings.series.len()));
    table::document(&findings).write(Length::All, &Style::default(), &mut Vec::new()).expect("written");
    report::html::write(&imported.recording, &findings, None, &mut Vec::new()).expect("written");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn nothing_in_a_table_is_a_panic(bytes in hostile()) {
        judged(&bytes);
    }

    #[test]
    fn nothing_in_bytes_is_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        judged(&bytes);
        judged(&[b"series,trial,direction,n,value\n".as_slice(), &bytes].concat());
    }
}
