//! Sixteen systems on one page: each is told apart, and none is left out.

use crate::emulated;

use std::collections::BTreeSet;

use emulated::{Emulated, lines, load, mixed, system};
use judge::Findings;
use judge::compare::Comparison;
use record::{Line, Outcome, Recording};
use report::document::terminal::Length;
use report::{Style, html, table};

const SYSTEMS: usize = 16;

fn name(i: usize) -> String {
    ["local", "gvisor", "uml-7.2", "wine"].get(i).map_or_else(|| format!("debian:6.{}", i + 1), |&n| n.into())
}

/// The second half is emulated by QEMU.
fn engine(i: usize) -> &'static str {
    if i < SYSTEMS / 2 { "native" } else { "QEMU TCG" }
}

/// Lines of several recordings as those of one: one head, one end, and one definition of each workload.
fn as_one(all: impl Iterator<Item = Vec<Line>>) -> Recording {
    let mut one = Vec::new();
    for (i, lines) in all.enumerate() {
        let is_once = |line: &Line| matches!(line, Line::Run(_) | Line::Workload(_) | Line::End(_));
        one.extend(lines.into_iter().filter(|line| i == 0 || !is_once(line)));
    }
    Recording::new(one).unwrap()
}

/// Curves with separate costs on each system; the fourth cannot fork.
fn curves() -> Recording {
    as_one((0..SYSTEMS).map(|i| {
        let mut workloads: Vec<Emulated> = mixed(200).into_iter().take(3).collect();
        workloads.iter_mut().flat_map(|w| &mut w.series).for_each(|(_, _, _, curve)| curve.between = 0.02);
        if i == 3 {
            workloads[2].stopping = u32::MAX;
            workloads[2].outcome = Outcome::Unsupported { reason: "this system has no fork(2)".into() };
        }
        let facts = [("machine.engine", engine(i))];
        let mut lines = lines(system(&name(i), &facts), &workloads, 4, 40 + i as u64);
        for line in &mut lines {
            match line {
                Line::Run(run) => run.paired = true,
                Line::Series(series) => {
                    series.values.iter_mut().for_each(|value| *value *= 1.0 + 0.12 * i as f64);
                }
                _ => {}
            }
        }
        lines
    }))
}

/// A race on every system.
fn races() -> Recording {
    as_one((0..SYSTEMS).map(|i| {
        let mut lines = load::lines(&load::four()[..2], 3, 70 + i as u64);
        for line in &mut lines {
            match line {
                Line::System(system) => {
                    system.name = name(i);
                    system.environment.insert("machine.engine".into(), engine(i).into());
                }
                Line::Trial(trial) => trial.order.system = name(i),
                Line::Series(series) => series.system = name(i),
                Line::Generator(level) => level.of.system = name(i),
                _ => {}
            }
        }
        lines
    }))
}

fn page(recording: &Recording, findings: &Findings) -> String {
    let mut out = Vec::new();
    html::write(recording, findings, None, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

/// The part of a page between two of its words.
fn between<'a>(page: &'a str, from: &str, to: &str) -> &'a str {
    let rest = &page[page.find(from).unwrap_or_else(|| panic!("no {from}"))..];
    &rest[..rest.find(to).unwrap_or_else(|| panic!("no {to} behind {from}"))]
}

#[test]
fn every_system_has_its_column_of_verdicts() {
    let recording = curves();
    let findings = Findings::from_recording(&recording);
    let page = page(&recording, &findings);
    let matrix = between(&page, "<table class=\"matrix signs\">", "</table>");
    let head = between(matrix, "<thead>", "</thead>");
    for i in 0..SYSTEMS {
        assert!(head.contains(&format!("<th scope=\"col\"><span>{}</span></th>", name(i))), "{head}");
    }
    for row in matrix.split("<tr>").skip(2) {
        assert_eq!(row.matches("<td>").count(), SYSTEMS, "{row}");
    }
    assert!(matrix.contains("no fork(2)"), "a missing facility");
}

#[test]
fn every_system_of_a_comparison_has_its_own_colour_and_dashes() {
    let compared = Comparison::new(&[("run", &curves())]).unwrap();
    let mut page = Vec::new();
    report::compare::write_html(&compared, &mut page).unwrap();
    let page = String::from_utf8(page).unwrap();
    // Behind its colour and dashes, each system of a comparison has its name.
    let compared = between(&page, "<table class=\"verdicts ratios\">", "</table>");
    let mut styles = BTreeSet::new();
    for i in 0..SYSTEMS {
        let before = compared.split(&format!("</svg>\u{a0}{}<", name(i))).next().unwrap();
        assert!(before.len() < compared.len(), "{} is not compared: {compared}", name(i));
        let style = before.rsplit("<g class=\"").next().unwrap().split('"').next().unwrap();
        assert!(styles.insert(style.to_owned()), "{} looks like another system: {style}", name(i));
    }
}

#[test]
fn every_system_is_in_the_terminal_too() {
    let findings = Findings::from_recording(&curves());
    let mut out = Vec::new();
    table::document(&findings)
        .write(Length::All, &Style { width: 132, ..Style::default() }, &mut out)
        .unwrap();
    let text = String::from_utf8(out).unwrap();
    for i in 0..SYSTEMS {
        assert!(text.contains(&name(i)), "{}: {text}", name(i));
    }
    assert!(text.lines().all(|line| line.chars().count() <= 132), "{text}");
}

/// The mean of an emulated processor and a real one would be that of neither.
#[test]
fn means_over_systems_keep_to_an_engine() {
    let recording = races();
    let findings = Findings::from_recording(&recording);
    let means = judge::compare::over_systems(&findings.comparisons);
    let of_engine =
        |engine: &str| (0..SYSTEMS).filter(|&i| self::engine(i) == engine).map(name).collect::<Vec<_>>();
    let systems: Vec<_> = means.iter().map(|mean| mean.systems.clone()).collect();
    assert_eq!(systems, [of_engine("native"), of_engine("QEMU TCG")]);
    let page = page(&recording, &findings);
    assert_eq!(page.matches("<h3>Mean of 8 systems</h3>").count(), 2);
    let part = between(&page, "<h3>Mean of 8 systems</h3>", "</div></div>");
    assert!(part.contains("<path class=\"trend\""), "{part}");
}
