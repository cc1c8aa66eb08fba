//! Runs without their points: every answer is that of the points.

use std::fs;
use std::path::{Path, PathBuf};

use crate::common::{run, run_well, text};
use serde_json::Value;

/// The kept runs: each with the most bytes of its compact form.
const RUNS: [(&str, u64); 9] = [
    ("../../docs/runs/aa.osdyno", 500_000),
    ("../../docs/runs/compare.osdyno", 400_000),
    ("../../docs/runs/race.osdyno", 60_000),
    ("../../docs/runs/run.osdyno", 500_000),
    ("tests/runs-0.1.0/kernel.osdyno", 250_000),
    ("tests/runs-0.1.0/limits.osdyno", 140_000),
    ("tests/runs-0.1.0/loads.osdyno", 60_000),
    ("tests/runs-0.1.0/race.osdyno", 40_000),
    ("tests/runs-0.1.0/systems.osdyno", 150_000),
];

/// The folders of points and of compact files, which have the same names, so that answers do too.
fn runs() -> (tempfile::TempDir, [PathBuf; 2], Vec<String>) {
    let folder = tempfile::tempdir().expect("a folder");
    let sides = ["points", "compact"].map(|side| folder.path().join(side));
    sides.iter().for_each(|side| fs::create_dir(side).expect("a folder"));
    let mut names = Vec::new();
    for (run, bytes_max) in RUNS {
        let name = run.replace("../", "").replace('/', "-");
        fs::copy(Path::new(env!("CARGO_MANIFEST_DIR")).join(run), sides[0].join(&name)).expect("a run file");
        compact(folder.path(), &sides[0].join(&name), &sides[1].join(&name));
        let bytes = sides[1].join(&name).metadata().expect("a file").len();
        assert!(bytes <= bytes_max, "{run} has {bytes} bytes");
        names.push(name);
    }
    (folder, sides, names)
}

fn compact(folder: &Path, run: &Path, out: &Path) {
    let [run, out] = [run, out].map(|path| path.to_str().expect("a path"));
    run_well(folder, &["export", run, "--compact", "--out", out]);
}

/// The remark about the file itself.
const REMARK: &str = "medians in place of points";

fn without_remark(answer: &str) -> String {
    let lines: Vec<&str> = answer.lines().filter(|line| !line.contains(REMARK)).collect();
    lines.join("\n")
}

fn json(answer: &str) -> Value {
    let mut answer: Value = serde_json::from_str(answer).expect("JSON");
    if let Some(notes) = answer["notes"].as_array_mut() {
        notes.retain(|note| !note.as_str().is_some_and(|note| note.contains(REMARK)));
    }
    answer
}

#[test]
fn verdicts_and_comparisons_are_those_of_the_points() {
    let (folder, sides, names) = runs();
    for name in &names {
        let [points, reduced] = sides.each_ref().map(|side| {
            let page = ["report", name, "--verbose", "--fail-on", "growth", "--force", "--out", "page.html"];
            let texts = [&page[..], &["compare", name]];
            let texts = texts.map(|arguments| without_remark(&text(&run(side, arguments).stdout)));
            (texts, json(&run_well(side, &["report", name, "--format", "json", "--verbose"])))
        });
        assert_eq!(points, reduced, "{name}");
        let again = folder.path().join("again.osdyno");
        compact(folder.path(), &sides[1].join(name), &again);
        assert!(fs::read(&again).ok() == fs::read(sides[1].join(name)).ok(), "{name} is reduced twice");
        fs::remove_file(again).expect("a file");
    }
    for pair in names.windows(2) {
        let side = |side: usize, name: &str| sides[side].join(name);
        let answers = [(0, 0), (0, 1), (1, 0), (1, 1)].map(|(first, second)| {
            let places = [side(first, &pair[0]), side(second, &pair[1])];
            let [first, second] = places.each_ref().map(|path| path.to_str().expect("a path"));
            let output = run(folder.path(), &["compare", first, second]);
            text(&output.stdout)
        });
        assert!(answers.iter().all(|answer| *answer == answers[0]), "{pair:?}: {answers:#?}");
    }
}

#[test]
fn a_file_that_is_cut_off_still_has_the_verdicts() {
    let folder = tempfile::tempdir().expect("a folder");
    let run_file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/runs-0.1.0/kernel.osdyno");
    let whole = folder.path().join("whole.osdyno");
    compact(folder.path(), &run_file, &whole);
    let bytes = fs::read(&whole).expect("a file");
    let cut = folder.path().join("cut.osdyno");
    for length in (1..=20).map(|part| bytes.len() * part / 20 - 1) {
        fs::write(&cut, &bytes[..length]).expect("a file");
        let output = run(folder.path(), &["report", "cut.osdyno", "--format", "json"]);
        let said = text(&output.stderr);
        let is_told = said.contains("has no end") || said.contains("its beginning is lost");
        assert!(is_told && !said.contains("panicked"), "{length}: {said}");
    }
}

#[test]
fn measurements_are_replaced_only_by_their_own_run() {
    let folder = tempfile::tempdir().expect("a folder");
    let arguments = [
        "run",
        "socket/v4",
        "-n",
        "2000",
        "--trials",
        "4",
        "--seed",
        "5",
        "--keep",
        "compact",
        "--out",
        "a.osdyno",
    ];
    let of_run = run_well(folder.path(), &arguments);
    let answer = run_well(folder.path(), &["report", "a.osdyno", "--format", "json"]);
    assert!(answer.contains(REMARK), "{answer}");
    assert!(!of_run.contains(REMARK), "{of_run}");
    let output = run(folder.path(), &["export", "a.osdyno", "--compact", "--force", "--out", "a.osdyno"]);
    assert!(!output.status.success() && text(&output.stderr).contains("contains the measurements"));
    let again = run_well(folder.path(), &["report", "a.osdyno", "--format", "json", "--margin", "5"]);
    assert!(again.contains("are judged from medians"), "{again}");
}
