//! The table in a terminal, as it stands.

use crate::emulated;

use judge::Findings;
use report::document::terminal::Length;
use report::{Style, table};

fn shown(findings: &Findings, style: Style) -> String {
    let mut out = Vec::new();
    table::document(findings).write(Length::All, &style, &mut out).expect("written");
    String::from_utf8(out).expect("text")
}

#[test]
fn a_mixed_run() {
    let recording = emulated::recording(emulated::system("local", &[]), &emulated::mixed(20_000), 10, 1);
    let mut findings = Findings::from_recording(&recording);
    emulated::pinned::pin(&mut findings);
    insta::assert_snapshot!("wide", shown(&findings, Style { width: 132, ..Style::default() }));
    insta::assert_snapshot!("narrow", shown(&findings, Style { width: 80, ..Style::default() }));
    insta::assert_snapshot!("ascii", shown(&findings, Style { unicode: false, ..Style::default() }));
}

#[test]
fn every_shape() {
    let facts = [("net.ip_local_port_range", "32768 60999")];
    let recording = emulated::recording(emulated::system("local", &facts), &emulated::shapes(20_000), 4, 1);
    let mut findings = Findings::from_recording(&recording);
    emulated::pinned::pin_shapes(&mut findings);
    insta::assert_snapshot!("shapes_wide", shown(&findings, Style { width: 132, ..Style::default() }));
    insta::assert_snapshot!("shapes_narrow", shown(&findings, Style { width: 80, ..Style::default() }));
}

/// Two shapes that remain possible are named; from three on they are no verdict, and are listed beside it.
#[test]
fn a_shape_with_many_candidates_is_undecided() {
    use stats::Class::{LinearLike, Stepped, Sublinear};
    let recording = emulated::recording(emulated::system("local", &[]), &emulated::shapes(20_000), 4, 1);
    let mut findings = Findings::from_recording(&recording);
    emulated::pinned::pin_shapes(&mut findings);
    let walk = findings.series.iter().position(|finding| finding.label == "walk").expect("walk");
    findings.series[walk].verdict.as_mut().expect("judged").classes = vec![Sublinear, LinearLike, Stepped];
    let text = shown(&findings, Style { width: 132, ..Style::default() });
    assert!(text.contains("grows, shape undecided"), "{text}");
    let beside = report::sentences::beside(&findings, &findings.series[walk]);
    let listed = |beside: &report::sentences::Beside| {
        beside.text.starts_with("not excluded: sublinear, linear or stepped")
    };
    assert!(beside.iter().any(listed), "{beside:?}");
}

#[test]
fn what_is_shown_is_what_was_judged() {
    let recording = emulated::recording(emulated::system("local", &[]), &emulated::mixed(20_000), 10, 1);
    let text = shown(&Findings::from_recording(&recording), Style { width: 170, ..Style::default() });
    let row = |name: &str| text.lines().find(|line| line.starts_with(name)).expect("a row").to_string();
    assert!(row("socket  ").contains("flat within"), "{text}");
    assert!(row("bind  ").contains("×2 ") && row("bind  ").contains("stepped at 14 116, ×1 100"), "{text}");
    assert!(row("fork  ").contains("linear"), "{text}");
    assert!(row("mmap  ").contains("inconclusive, at most"), "{text}");
    assert!(row("ready/kqueue").ends_with("unsupported: this system has no kqueue"), "{text}");
    assert!(text.contains("stopped at 1 024: FD_SETSIZE") && text.contains("(2 of 10 trials)"), "{text}");
}

#[test]
fn what_was_never_tried_is_named() {
    use record::{End, EndStatus, Line, Variant};
    let mut workloads = emulated::mixed(300);
    workloads.truncate(2);
    let run = |status: Option<EndStatus>| {
        let mut lines = emulated::lines(emulated::system("local", &[]), &workloads, 4, 1);
        lines.retain(|line| match line {
            Line::Trial(trial) => trial.order.workload != "bind",
            Line::Series(series) => series.workload != "bind",
            Line::End(_) => false,
            _ => true,
        });
        for line in &mut lines {
            if let Line::Workload(workload) = line {
                workload.variants.push(Variant { name: "v6".into(), summary: String::new() });
            }
        }
        let end = |status| Line::End(End { status, elapsed_seconds: 1.0 });
        lines.extend(status.map(end));
        Findings::from_recording(&record::Recording::new(lines).expect("a run"))
    };
    for (status, words) in [
        (Some(EndStatus::Budget), "not measured: the time was used up"),
        (Some(EndStatus::Interrupted), "not measured"),
        (None, "not measured"),
    ] {
        let findings = run(status);
        let labels: Vec<&str> = findings.series.iter().map(|f| f.label.as_str()).collect();
        assert_eq!(labels, ["socket", "socket close", "socket/v6", "bind", "bind/v6"]);
        assert!(findings.series[2..].iter().all(|f| f.verdict.is_none() && f.trials == 0));
        let text = shown(&findings, Style { width: 132, ..Style::default() });
        for label in &labels[2..] {
            let row = text.lines().find(|line| line.starts_with(&format!("{label} "))).expect("a row");
            assert_eq!(row.trim_start_matches(label).trim(), words, "{text}");
        }
        assert!(report::sentences::summary(&findings).ends_with("3\u{a0}not\u{a0}measured"), "{text}");
        let document = emulated::json(&report::RunAnswer::new(&findings));
        assert_eq!(document["series"][2]["stops"][0]["cause"], "not-measured");
    }
}

/// Each series states whether noise was removed, and why not.
#[test]
fn what_references_did_is_reported() {
    use stats::{Adjustment, ReferenceStanding, ReferenceUse};
    let recording = emulated::recording(emulated::system("local", &[]), &emulated::mixed(2_000), 10, 1);
    let mut findings = Findings::from_recording(&recording);
    let mut said = |standings: [ReferenceStanding; 2]| {
        let finding = &mut findings.series[0];
        finding.references = ["null-call", "stat"].map(str::to_owned).to_vec();
        let of = |standing| ReferenceUse { standing, coefficient: 0.5 };
        let references = standings.map(of).to_vec();
        finding.verdict.as_mut().expect("judged").adjustment =
            Some(Adjustment { error: 0.62, hidden: 0.03, controls: references });
        report::sentences::remarks(finding).join(" ").replace(['\u{a0}', '\u{202f}'], " ")
    };
    let text = said([ReferenceStanding::Used, ReferenceStanding::NoGain]);
    assert!(
        text.contains(
            "shares with null-call, which was timed in between, was removed: the standard error fell to 62 %"
        ),
        "{text}"
    );
    assert!(text.contains("a change of 3 % may be hidden"), "{text}");
    let text = said([ReferenceStanding::TooFew, ReferenceStanding::Changes]);
    assert!(
        text.contains("No noise was removed: stat, timed in between to show it, changes with n too."),
        "{text}"
    );
    let text = said([ReferenceStanding::NoGain; 2]);
    assert!(!text.contains("noise") && !text.contains("Noise"), "{text}");
}
