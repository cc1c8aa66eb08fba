//! Real run files, made small, and damage to their lines that still is JSON: like that of a bug of a writer,
//! a script of a user or a hostile author. The fuzz target `record_drawn` takes it from here too.

use std::io::Write;

use fastrand::Rng;
use record::{Line, Reader, Recording, Series};
use report::Style;
use report::document::terminal::Length;
use report::export::{Format, SideTable};
use serde_json::{Value, json};

/// Real runs: rivals under load, a curve, two systems in pairs, one system twice; and loads of schema 1.
const RUNS: [(&[u8], &str); 5] = [
    (include_bytes!("../../../../../docs/runs/race.osdyno"), "race"),
    (include_bytes!("../../../../../docs/runs/run.osdyno"), "bind"),
    (include_bytes!("../../../../../docs/runs/compare.osdyno"), "socket"),
    (include_bytes!("../../../../../docs/runs/aa.osdyno"), "fork"),
    (include_bytes!("../../../../osdyno/tests/runs-0.1.0/loads.osdyno"), "web"),
];
/// Trials and values that are kept of a run.
const TRIALS: u32 = 5;
const VALUES: usize = 40;
/// Values that stand where others are meant: ends of ranges, other types, and text that is no name.
const TEXTS: [&str; 4] = ["", "\u{1b}[2J\u{202e}\u{9b}x", "</script><b>&\"'", "linear"];

/// One workload of each run, with few trials and values.
pub(crate) fn samples() -> Vec<Vec<Value>> {
    RUNS.iter().map(|(bytes, workload)| sample(bytes, workload)).collect()
}

fn sample(bytes: &[u8], workload: &str) -> Vec<Value> {
    let reader = Reader::new(bytes, "sample").expect("a run file");
    let lines = reader.map(|line| line.expect("a sound run file"));
    let kept = lines.filter(|line| line.workload().is_none_or(|name| name == workload));
    kept.filter(is_of_early_trial).map(|line| serde_json::to_value(thinned(line)).expect("JSON")).collect()
}

fn is_of_early_trial(line: &Line) -> bool {
    match line {
        Line::Trial(trial) => trial.order.trial <= TRIALS,
        Line::Series(series) => series.trial <= TRIALS,
        Line::Generator(level) => level.of.trial <= TRIALS,
        Line::Histogram(histogram) => histogram.of.trial <= 1,
        _ => true,
    }
}

/// The line; of a long series the values at a few n from its whole range.
fn thinned(line: Line) -> Line {
    let Line::Series(series) = line else { return line };
    let stride = series.values.len().div_ceil(VALUES).max(1);
    let (sizes, values) = series.points().step_by(stride).unzip();
    Line::Series(Series { n_step: 0, sizes, values, ..series })
}

/// The lines as the text of a run file.
pub(crate) fn text(lines: &[Value]) -> Vec<u8> {
    lines.iter().flat_map(|line| format!("{line}\n").into_bytes()).collect()
}

/// Damages a line or two, or their order.
pub(crate) fn damage(lines: &mut Vec<Value>, rng: &mut Rng) {
    for _ in 0..rng.usize(1..=3) {
        if lines.is_empty() {
            return;
        }
        let (at, other) = (rng.usize(0..lines.len()), rng.usize(0..lines.len()));
        match rng.u8(0..10) {
            0 => drop(lines.remove(at)),
            1 => lines.insert(at, lines[other].clone()),
            2 => lines.swap(at, other),
            _ => {
                let donor = lines[other].clone();
                damage_value(&mut lines[at], &donor, rng);
            }
        }
    }
}

/// Goes down to some value and replaces, removes, repeats or moves it.
fn damage_value(value: &mut Value, donor: &Value, rng: &mut Rng) {
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            let place = rng.usize(0..fields.len());
            let Some(name) = fields.keys().nth(place).cloned() else { return };
            match rng.u8(0..8) {
                0 => drop(fields.remove(&name)),
                1 => drop(fields.insert(name.clone(), replacement(donor.get(&name), rng))),
                _ => fields.get_mut(&name).into_iter().for_each(|value| {
                    damage_value(value, donor.get(&name).unwrap_or(donor), rng);
                }),
            }
        }
        Value::Array(list) if !list.is_empty() => {
            let (at, other) = (rng.usize(0..list.len()), rng.usize(0..list.len()));
            match rng.u8(0..8) {
                0 => drop(list.remove(at)),
                1 => list.insert(at, list[other].clone()),
                2 => list.swap(at, other),
                3 => list.truncate(at),
                4 => list.fill(replacement(None, rng)),
                _ => damage_value(&mut list[at], donor, rng),
            }
        }
        _ => *value = replacement(Some(donor), rng),
    }
}

/// Another value: one of the ends of ranges, of another type, or one from elsewhere in the file.
fn replacement(donor: Option<&Value>, rng: &mut Rng) -> Value {
    match rng.u8(0..14) {
        0 => json!(0),
        1 => json!(1),
        2 => json!(-1),
        3 => json!(i64::MAX),
        4 => json!(u64::MAX),
        5 => json!(f64::MAX),
        6 => json!(5e-324),
        7 => json!(-1e300),
        8 => json!(rng.u64(0..100_000)),
        9 => json!(rng.f64()),
        10 => json!(TEXTS[rng.usize(0..TEXTS.len())]),
        11 => rng.choice([Value::Null, json!(true), json!([]), json!({}), json!([0, 0])]).unwrap_or_default(),
        _ => donor.cloned().unwrap_or_default(),
    }
}

/// Reads the bytes of a run file, judges and compares the recording, and draws it in each way there is. None
/// of it may panic.
pub(crate) fn draw(bytes: &[u8]) {
    let Ok(reader) = Reader::new(bytes, "damaged") else { return };
    let lines: Vec<Line> = reader.map(|line| line.expect("memory can be read")).collect();
    let recording = Recording::new(lines).expect("a reader begins with the run line");
    let findings = judge::Findings::from_recording(&recording);
    let (style, out) = (Style::default(), &mut std::io::sink());
    let systems = judge::compare::Comparison::new(&[("damaged", &recording)]).ok();
    let twice = judge::compare::Comparison::new(&[("one", &recording), ("other", &recording)]).ok();
    for narrow in [style, Style { width: 60, ..style }] {
        report::table::document(&findings).write(Length::All, &narrow, out).expect("memory can be written");
        report::overview::document(&findings, systems.as_ref())
            .write(report::overview::SCREEN, &narrow, out)
            .expect("memory can be written");
    }
    report::html::write(&recording, &findings, systems.as_ref(), out).expect("memory can be written");
    serde_json::to_value(report::RunAnswer::new(&findings)).expect("an answer is JSON");
    report::noise_floor::document(&recording).write(Length::All, &style, out).expect("memory can be written");
    for compared in systems.iter().chain(&twice) {
        report::compare::document(compared).write(Length::All, &style, out).expect("memory can be written");
        report::overview::systems(compared)
            .write(report::overview::SCREEN, &style, out)
            .expect("memory can be written");
        report::compare::write_html(compared, out).expect("memory can be written");
        serde_json::to_value(report::compare::ComparisonAnswer::new(compared)).expect("an answer is JSON");
    }
    export(&recording, out);
}

fn export(recording: &Recording, out: &mut dyn Write) {
    let tables = [
        SideTable::Generator,
        SideTable::Histograms,
        SideTable::Systems,
        SideTable::Limits,
        SideTable::Background,
    ];
    for format in Format::ALL {
        report::export::write(format, recording, out).expect("memory can be written");
        for table in tables {
            report::export::write_table(format, table, recording, out).expect("memory can be written");
        }
    }
}
