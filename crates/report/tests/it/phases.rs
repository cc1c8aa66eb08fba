//! Phases of a job on the page: stacked in the order of their series, each as high as its share of the time for each
//! unit, with the same in numbers beside it.

use crate::emulated;

use emulated::{Curve, Emulated};
use judge::Findings;
use judge::compare::Comparison;
use record::{Direction, Expect, JobPart, Line, Outcome, Recording, Shape};
use report::html;

const LEVELS: [u64; 3] = [1, 10, 100];

/// A job with these series at three levels, of so many trials without noise, on two systems. The second needs
/// twice as long.
fn page(series: &[(&'static str, Option<JobPart>, [f64; 3])], trials: u32) -> String {
    let recording = recording(series, trials);
    let mut out = Vec::new();
    html::write(&recording, &Findings::from_recording(&recording), None, &mut out).expect("written");
    String::from_utf8(out).expect("text").replace('\u{202f}', " ")
}

fn recording(series: &[(&'static str, Option<JobPart>, [f64; 3])], trials: u32) -> Recording {
    let curve = Curve { cost: |_| 1.0, between: 0.0, within: 0.0, n: 3, twin: None };
    let emulated = Emulated {
        name: "copying",
        variant: "plain",
        grows: "MiB",
        page: "Copies.",
        series: series.iter().map(|(name, ..)| (*name, Direction::Up, Expect::Any, curve)).collect(),
        outcome: Outcome::Complete,
        stopping: 0,
        version: 1,
    };
    let mut lines = emulated::lines(emulated::system("one", &[]), std::slice::from_ref(&emulated), trials, 1);
    lines.pop();
    let mut others = emulated::lines(emulated::system("two", &[]), &[emulated], trials, 1);
    lines.extend(
        others.extract_if(.., |line| matches!(line, Line::System(_) | Line::Trial(_) | Line::Series(_))),
    );
    lines.extend(others.pop());
    for line in &mut lines {
        match line {
            Line::Workload(workload) => {
                workload.shape = Shape::Job;
                for (kind, (_, part, _)) in workload.series.iter_mut().zip(series) {
                    kind.part = *part;
                }
            }
            Line::Series(measured) => {
                let (.., values) = series.iter().find(|(name, ..)| *name == measured.name).expect("a series");
                let factor = if measured.system == "two" { 2.0 } else { 1.0 };
                (measured.n_first, measured.n_step, measured.sizes) = (1, 0, LEVELS.to_vec());
                measured.values = values.map(|value| value * factor).to_vec();
            }
            _ => {}
        }
    }
    Recording::new(lines).expect("begins with its run line")
}

/// The heights of the layers of that colour in the figure with that id, from the first level on.
fn heights(page: &str, id: &str, colour: &str) -> Vec<f64> {
    let start = page.find(&format!("id=\"{id}\"")).expect("a figure");
    let figure = &page[start..start + page[start..].find("</svg>").expect("its end")];
    let class = format!("class=\"part {colour}\"");
    let layers = figure.split(&*class).skip(1);
    let height = |layer: &str| {
        let (_, rest) = layer.split_once(" height=\"")?;
        rest.split_once('"')?.0.parse().ok()
    };
    layers.map(|layer| height(layer).expect("a height")).collect()
}

const SERIES: [(&str, Option<JobPart>, [f64; 3]); 4] = [
    ("total", None, [6e-3, 2.4e-3, 2.04e-3]),
    ("open", Some(JobPart::OfAll), [4e-3, 4e-3, 4e-3]),
    ("transfer", Some(JobPart::OfUnit), [2e-3, 2e-3, 2e-3]),
    ("write", None, [1e-3, 1e-3, 1e-3]),
];

#[test]
fn layers_are_shares_of_the_time_for_each_unit_on_one_axis() {
    for trials in [1, 12] {
        let page = page(&SERIES, trials);
        let one = |colour| heights(&page, "stack-copying-0-0", colour);
        let (open, transfer) = (one("p0"), one("p1"));
        assert_eq!(
            (open.len(), transfer.len(), one("p2").len()),
            (3, 3, 0),
            "a part within a phase is no layer"
        );
        let is_near = |a: f64, b: f64| (a - b).abs() < 0.02 * b.max(1.0);
        assert!(transfer.windows(2).all(|pair| is_near(pair[0], pair[1])), "{transfer:?}");
        assert!(is_near(open[0], 2.0 * transfer[0]), "once, and one unit: {open:?}");
        assert!(is_near(open[1], 0.2 * transfer[1]) && is_near(open[2], 0.02 * transfer[2]), "{open:?}");
        let two = heights(&page, "stack-copying-0-1", "p1");
        assert!(is_near(two[0], 2.0 * transfer[0]), "the axis is that of both systems: {two:?}");
        for words in [
            "copying/plain on two, at n = 100: 4.08 ms, of which transfer 98 %, open 2 %",
            "<th scope=\"col\">together</th>",
            "<td>2.04 ms</td>",
            "<title>open at n = 1: 4.00 ms, 67 %</title>",
        ] {
            assert!(page.contains(words), "{trials} trials: {words}");
        }
    }
}

#[test]
fn one_phase_and_no_phase_have_no_figure() {
    let none = SERIES.map(|(name, _, values)| (name, None, values));
    assert!(!page(&none, 3).contains("Phases, stacked"));
    let mut one = none;
    one[1].1 = Some(JobPart::OfUnit);
    assert!(!page(&one, 3).contains("Phases, stacked"));
}

/// The figure of 2001: the time of a job against its size, a line for each system.
#[test]
fn a_job_on_several_systems_begins_with_its_time_against_its_size() {
    let page = |recording: &Recording| {
        let systems = Comparison::new(&[("run", recording)]).expect("several systems");
        let mut out = Vec::new();
        html::write(recording, &Findings::from_recording(recording), Some(&systems), &mut out)
            .expect("written");
        String::from_utf8(out).expect("text")
    };
    let job = page(&recording(&SERIES, 3));
    let (before, after) = job.split_once("<section id=\"sizes\">").expect("the figure");
    assert!(!before.contains("<svg class=\"plot\"") && after.contains("<section id=\"compared\">"));
    let (figures, _) = after.split_once("</section>").expect("its end");
    assert_eq!(figures.matches("<figure ").count(), 1, "the whole of the job, and no part of it");
    assert_eq!(figures.matches("<path class=\"median\"").count(), 2);
    assert!([">one</text>", ">two</text>"].iter().all(|name| figures.contains(name)), "{figures}");
    let curves = page(&emulated::compared::one_run_of_three(2_000));
    assert!(!curves.contains("id=\"sizes\""));
}
