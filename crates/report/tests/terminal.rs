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
    let mut findings = Findings::of(&recording);
    emulated::pinned::pin(&mut findings);
    insta::assert_snapshot!("wide", shown(&findings, Style { width: 132, ..Style::default() }));
    insta::assert_snapshot!("narrow", shown(&findings, Style { width: 80, ..Style::default() }));
    insta::assert_snapshot!("ascii", shown(&findings, Style { unicode: false, ..Style::default() }));
}

#[test]
fn what_is_shown_is_what_was_judged() {
    let recording = emulated::recording(emulated::system("local", &[]), &emulated::mixed(20_000), 10, 1);
    let text = shown(&Findings::of(&recording), Style { width: 132, ..Style::default() });
    let row = |name: &str| text.lines().find(|line| line.starts_with(name)).expect("a row").to_string();
    assert!(row("socket  ").contains("flat within"), "{text}");
    assert!(row("bind  ").contains("×2 ") && row("bind  ").contains("grows"), "{text}");
    assert!(row("fork  ").contains("grows, +"), "{text}");
    assert!(row("mmap  ").contains("inconclusive, at most"), "{text}");
    assert!(row("ready/kqueue").ends_with("unsupported: this system has no kqueue"), "{text}");
    assert!(text.contains("stopped at 1 024: FD_SETSIZE") && text.contains("(2 of 10 trials)"), "{text}");
}
