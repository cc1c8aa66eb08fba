//! A fleet in a terminal, as a page and as JSON, from emulated runs.

use std::fs;
use std::path::Path;

use judge::{Findings, Fleet};
use record::Recording;
use report::document::Document;
use report::document::terminal::Length;
use report::fleet::{FleetAnswer, compared, write_html};
use report::{RunAnswer, Style, html, overview, table};

use crate::emulated::fleet::{EIGHT, Fleet as Emulated, fleet};
use crate::emulated::json;

fn written(document: &Document, length: Length, width: usize) -> String {
    let mut out = Vec::new();
    document.write(length, &Style { width, ..Style::default() }, &mut out).expect("written");
    String::from_utf8(out).expect("text")
}

fn page(recording: &Recording, findings: &Findings) -> String {
    let mut out = Vec::new();
    html::write(recording, findings, None, &mut out).expect("written");
    String::from_utf8(out).expect("text")
}

/// Writes a page where a person may look at it.
fn keep(name: &str, page: &str) {
    fs::write(Path::new(env!("CARGO_TARGET_TMPDIR")).join(name), page).expect("written");
}

#[test]
fn eight_hosts_on_a_screen() {
    let recording = fleet(&EIGHT);
    let findings = Findings::from_recording(&recording);
    let screen = written(&overview::document(&findings, None), overview::SCREEN, 110);
    assert!(screen.lines().count() <= 40, "{screen}");
    insta::assert_snapshot!("screen", screen);
    insta::assert_snapshot!("narrow", written(&overview::document(&findings, None), overview::SCREEN, 72));
    let all = written(&table::document(&findings), Length::All, 110);
    insta::assert_snapshot!("all", all);
    // The machines were printed when the run began.
    let after = written(&overview::document_after_machine(&findings, None), overview::SCREEN, 110);
    assert!(!after.contains("Steal") && !after.contains("osdyno 0.1.0"), "{after}");
}

#[test]
fn a_page_has_a_figure_for_each_series_and_none_for_each_host() {
    let recording = fleet(&EIGHT);
    let findings = Findings::from_recording(&recording);
    let page = page(&recording, &findings);
    keep("fleet-8.html", &page);
    let fold = findings.fleet.as_deref().expect("a fleet");
    let figures = page.matches("<figure").count();
    assert_eq!(figures, fold.series.len() + fold.ratios.len());
    assert_eq!(page.matches("class=\"host apart\"").count(), apart(fold));
    assert!(page.contains("<title>n3: ") && page.contains("id=\"fleet\""));
    assert!(!page.contains("NaN") && !page.contains("data:image"));
    assert!(page.len() < 400_000, "{} bytes", page.len());
    let section = page.find("<section id=\"fleet\">").expect("a section");
    insta::assert_snapshot!("page", skeleton(&page[section..]));
}

fn apart(fleet: &Fleet) -> usize {
    let costs = fleet.series.iter().map(|series| series.outliers.len());
    costs.chain(fleet.ratios.iter().map(|ratio| ratio.outliers.len())).sum()
}

/// The words of a page without its drawings.
fn skeleton(page: &str) -> String {
    let mut text = page.to_owned();
    while let Some(start) = text.find("<svg") {
        let end = start + text[start..].find("</svg>").expect("closed") + "</svg>".len();
        text.replace_range(start..end, "…");
    }
    text.replace("><", ">\n<")
}

#[test]
fn programs_read_the_fold() {
    let recording = fleet(&EIGHT);
    let findings = Findings::from_recording(&recording);
    let answer = json(&RunAnswer::new(&findings));
    let fleet = &answer["fleet"];
    assert_eq!((&fleet["judged"], &fleet["hosts"][4]["state"]), (&7.into(), &"lost".into()));
    assert_eq!(fleet["hosts"][4]["reason"], "ssh: connect to host n5 port 22: Connection refused");
    let socket = &fleet["series"][0];
    assert_eq!((&socket["series"], &socket["unit"]), (&"socket".into(), &"s".into()));
    assert_eq!(
        (&socket["outliers"][0]["host"], &socket["shared"][0]["value"]),
        (&"n3".into(), &"0x42".into())
    );
    let ratios = fleet["ratios"].as_array().expect("ratios");
    let fork = ratios.iter().find(|ratio| ratio["series"] == "fork").expect("fork");
    assert_eq!(
        (&fork["counts"]["slower"], &fork["counts"]["equivalent"]),
        (&6.into(), &1.into()),
        "{fork:#}"
    );
    assert_eq!(fork["outliers"][0]["host"], "n7");

    // A run without a fleet has no such field.
    let local = crate::emulated::system("local", &[]);
    let local = crate::emulated::recording(local, &crate::emulated::mixed(100)[..1], 4, 1);
    let local = Findings::from_recording(&local);
    assert_eq!(json(&RunAnswer::new(&local)).get("fleet"), None);
}

#[test]
fn two_runs_of_a_fleet() {
    // Two runs are not paired: disturbances of their trials do not cancel.
    let quiet = Emulated { noise: 0.005, ..EIGHT };
    let old = fleet(&quiet);
    let new = fleet(&Emulated { kernel: "7.3.4", fork: 0.85, seed: 35, ..quiet });
    let fold = Fleet::of_runs([("old.osdyno", &old), ("new.osdyno", &new)], 0.03).expect("fleets");
    let fold = fold.expect("compared");
    insta::assert_snapshot!("two_runs", written(&compared(&fold), overview::SCREEN, 110));
    let mut page = Vec::new();
    write_html(&fold, &mut page).expect("written");
    let page = String::from_utf8(page).expect("text");
    keep("fleet-compared.html", &page);
    assert!(page.contains("new against old, on each host") && !page.contains("NaN"));
    let answer = json(&FleetAnswer::new(&fold, None));
    assert_eq!(answer["fleet"]["runs"][1], "new");
}

#[test]
fn three_hosts_and_a_hundred_are_readable() {
    for (hosts, name) in [(3, "fleet-3.html"), (100, "fleet-100.html")] {
        let recording = fleet(&Emulated { hosts, configurations: &[""], n: 300, trials: 4, ..EIGHT });
        let findings = Findings::from_recording(&recording);
        let screen = written(&overview::document(&findings, None), overview::SCREEN, 100);
        assert!(screen.lines().count() <= 40, "{screen}");
        let lost = if hosts > 4 { hosts - 1 } else { hosts };
        assert!(screen.contains(&format!("Judged {lost} of {hosts} hosts")), "{screen}");
        println!("{screen}");
        let page = page(&recording, &findings);
        keep(name, &page);
        assert!(page.len() < 1_000_000 && !page.contains("NaN"), "{} bytes", page.len());
    }
}
