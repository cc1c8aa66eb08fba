//! The table in a terminal, as it stands.

mod emulated;

use report::{Findings, Style, table};

fn shown(findings: &Findings, style: Style) -> String {
    let mut out = Vec::new();
    table::write(findings, &style, &mut out).expect("written");
    String::from_utf8(out).expect("text")
}

#[test]
fn a_mixed_run() {
    let recording = emulated::recording(emulated::system("local", &[]), &emulated::mixed(20_000), 10, 1);
    let findings = Findings::of(&recording);
    insta::assert_snapshot!("wide", shown(&findings, Style { width: 132, ..Style::default() }));
    insta::assert_snapshot!("narrow", shown(&findings, Style { width: 80, ..Style::default() }));
    insta::assert_snapshot!("ascii", shown(&findings, Style { unicode: false, ..Style::default() }));
}
