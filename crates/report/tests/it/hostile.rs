//! Names from a file are shown, never obeyed.

use crate::emulated;

use judge::Findings;
use report::document::terminal::Length;
use report::{Style, table};

const ESCAPE: &str = "\u{1b}[2Jbind\u{7}";

#[test]
fn a_terminal_is_not_given_orders() {
    let mut workloads = emulated::mixed(200);
    workloads.truncate(1);
    workloads[0].name = ESCAPE;
    let mut system = emulated::system("local", &[]);
    system.warnings.push("steal \u{1b}]0;title\u{7} 0.4 %".into());
    let findings = Findings::from_recording(&emulated::recording(system, &workloads, 10, 1));
    for colour in [false, true] {
        let mut out = Vec::new();
        table::document(&findings)
            .write(Length::All, &Style { colour, ..Style::default() }, &mut out)
            .unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(text.contains("\\u{1b}[2Jbind\\u{7}"), "{text}");
        let ours = ["\u{1b}[0m", "\u{1b}[1m", "\u{1b}[2m", "\u{1b}[33m", "\u{1b}[34m", "\u{1b}[35m"];
        let rest = ours.iter().fold(text, |text, code| text.replace(code, ""));
        assert!(!rest.contains(|c: char| c.is_control() && c != '\n'), "{rest:?}");
    }
}

#[test]
fn a_document_is_json_whatever_the_names() {
    let mut workloads = emulated::mixed(200);
    workloads.truncate(1);
    workloads[0].name = ESCAPE;
    let findings =
        Findings::from_recording(&emulated::recording(emulated::system("local", &[]), &workloads, 10, 1));
    let text = serde_json::to_string_pretty(&emulated::json(&report::RunAnswer::new(&findings))).unwrap();
    let document: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(document["series"][0]["workload"], ESCAPE);
    assert_eq!(document["series"][0]["evidence"]["trials"], 10);
}
