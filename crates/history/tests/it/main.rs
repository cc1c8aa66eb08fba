//! Folders of simulated runs: changes are found, and nothing that happens to the files loses or doubles a run.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a panic is the failure of a test")]

mod simulated;

use std::fs;
use std::path::{Path, PathBuf};

use history::{BoundaryKind, HistoryAnswer, LeftOutRunReason, Store, StoredCheck, history};

use simulated::{SERIES, Simulated, of_night};

fn folder(nights: impl IntoIterator<Item = Simulated>) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    nights.into_iter().for_each(|night| drop(night.write(folder.path())));
    folder
}

fn open(folder: &Path) -> Store {
    Store::open(folder, &|_, _| {}).expect("a store")
}

fn answer(folder: &Path) -> HistoryAnswer {
    history(&open(folder))
}

/// Forty nights; from the 30th on another kernel makes one series more expensive.
fn changed() -> Vec<Simulated> {
    let night = |night| match night {
        30.. => Simulated { kernel: "6.19.0", factors: vec![(2, 1.12)], ..of_night(night) },
        _ => of_night(night),
    };
    (0..40).map(night).collect()
}

#[test]
fn a_change_is_named_with_its_run_its_size_and_the_facts_that_differ() {
    let folder = folder(changed());
    let answer = answer(folder.path());
    let [machine] = &answer.machines[..] else { panic!("one machine: {:?}", answer.machines) };
    assert_eq!(machine.machine.title(), "2 × EPYC · 24 GiB · KVM");
    assert_eq!((machine.nights.len(), machine.series.len(), answer.runs), (40, SERIES, 40));
    let [change] = &machine.changes[..] else { panic!("one change: {:?}", machine.changes) };
    assert_eq!((change.series.as_slice(), change.night), (&["w2".to_owned()][..], 30));
    assert!(change.ratio.low < 1.12 && change.ratio.high > 1.12, "{change:?}");
    assert_eq!(change.differences[0].key, "kernel.release");
    let series = &machine.series[2];
    assert_eq!(
        series.segments.iter().map(|one| (one.first, one.last)).collect::<Vec<_>>(),
        [(0, 29), (30, 39)]
    );
    assert!((series.segments[0].value.value / 1.1e-6 - 1.0).abs() < 0.05, "{series:?}");
}

#[test]
fn known_changes_are_boundaries_and_no_alarms() {
    let all = |factor: f64| (0..SERIES).map(move |series| (series, factor)).collect::<Vec<_>>();
    let night = |night| match night {
        0..15 => of_night(night),
        15..30 => Simulated { microcode: "0x11", factors: all(1.2), ..of_night(night) },
        30..45 => Simulated { microcode: "0x11", build: "rustc 2", factors: all(0.7), ..of_night(night) },
        45..60 => Simulated { processor: "Xeon", build: "rustc 2", factors: all(2.0), ..of_night(night) },
        _ => Simulated {
            processor: "Xeon",
            build: "rustc 2",
            version: 2,
            factors: all(3.0),
            ..of_night(night)
        },
    };
    let folder = folder((0..75).map(night));
    let answer = answer(folder.path());
    let [xeon, epyc] = &answer.machines[..] else { panic!("two machines") };
    assert!(xeon.changes.is_empty() && epyc.changes.is_empty(), "{:?} {:?}", xeon.changes, epyc.changes);
    let kinds = |boundaries: &[history::Boundary]| -> Vec<(usize, BoundaryKind)> {
        boundaries.iter().map(|one| (one.night, one.kind)).collect()
    };
    assert_eq!(kinds(&epyc.boundaries), [(15, BoundaryKind::Microcode), (30, BoundaryKind::Compiler)]);
    assert_eq!(kinds(&xeon.boundaries)[0], (0, BoundaryKind::Machine));
    assert!(xeon.boundaries[1..].iter().all(|one| one.kind == BoundaryKind::Workload && one.night == 15));
    assert_eq!(xeon.series.len(), 2 * SERIES, "each version is a series of its own");
}

#[test]
fn machines_by_turns_find_a_change_together() {
    let night = |night: u64| {
        let is_xeon = night.is_multiple_of(3);
        let mut factors: Vec<(usize, f64)> =
            if is_xeon { (0..SERIES).map(|series| (series, 1.6)).collect() } else { Vec::new() };
        factors.extend((night >= 40).then_some((2, 1.10)));
        Simulated { processor: if is_xeon { "Xeon" } else { "EPYC" }, factors, ..of_night(night) }
    };
    let folder = folder((0..60).map(night));
    let answer = answer(folder.path());
    let changes: Vec<_> = answer.machines.iter().flat_map(|machine| &machine.changes).collect();
    let [change] = &changes[..] else { panic!("one change: {changes:?}") };
    assert_eq!(change.series, ["w2"]);
    let segments = |machine: &history::MachineHistory| machine.series[2].segments.len();
    assert!(answer.machines.iter().all(|machine| machine.boundaries.len() <= 1 && segments(machine) == 2));
    let machine = answer.machines.iter().find(|one| !one.changes.is_empty()).expect("a machine");
    assert!(
        machine.nights[change.night].started_at.as_str() >= of_night(39).started_at().as_str(),
        "{change:?}"
    );
}

#[test]
fn later_runs_do_not_change_earlier_alarms_and_the_index_changes_nothing() {
    let folder = folder(changed());
    let with_index = answer(folder.path());
    assert!(folder.path().join(".osdyno-index").exists());
    assert_eq!(answer(folder.path()), with_index);
    fs::remove_file(folder.path().join(".osdyno-index")).expect("a file");
    assert_eq!(answer(folder.path()), with_index);
    for night in 40..50 {
        Simulated { kernel: "6.19.0", factors: vec![(2, 1.12)], ..of_night(night) }.write(folder.path());
    }
    let later = answer(folder.path());
    let key = |answer: &HistoryAnswer| -> Vec<(usize, usize)> {
        answer.machines[0].changes.iter().map(|one| (one.night, one.raised)).collect()
    };
    assert_eq!(key(&later), key(&with_index));
}

#[test]
fn files_that_are_copied_damaged_or_not_finished_lose_and_double_nothing() {
    let folder = folder((0..12).map(of_night));
    let path = folder.path();
    fs::copy(path.join("night-0003.osdyno"), path.join("copy.osdyno")).expect("a copy");
    fs::write(path.join("noise.osdyno"), b"no run").expect("a file");
    Simulated { is_cut_off: true, ..of_night(20) }.write(path);
    fs::create_dir(path.join("sub")).expect("a folder");
    of_night(12).write(&path.join("sub"));
    let damaged = path.join("night-0005.osdyno");
    let mut bytes = fs::read(&damaged).expect("a file");
    let middle = bytes.len() / 2;
    bytes[middle..middle + 40].fill(0xff);
    fs::write(&damaged, bytes).expect("a file");
    let answer = answer(path);
    assert_eq!(answer.runs, answer.machines[0].nights.len());
    assert_eq!(answer.runs, 12, "{answer:?}");
    let reasons: Vec<(&str, LeftOutRunReason)> =
        answer.left_out.iter().map(|one| (one.file.as_str(), one.reason)).collect();
    assert!(reasons.contains(&("noise.osdyno", LeftOutRunReason::Unreadable)), "{reasons:?}");
    assert!(reasons.contains(&("night-0020.osdyno", LeftOutRunReason::NotEnded)), "{reasons:?}");
    assert!(reasons.contains(&("night-0005.osdyno", LeftOutRunReason::Damaged)), "{reasons:?}");
    let copies = reasons.iter().filter(|(_, reason)| *reason == LeftOutRunReason::Copy).count();
    assert_eq!(copies, 1, "{reasons:?}");
    // The index keeps its lines through all of this.
    assert_eq!(self::answer(path), answer);
}

#[test]
fn an_index_that_is_torn_stale_or_not_ours_is_as_good_as_none() {
    let folder = folder((0..6).map(of_night));
    let path = folder.path();
    let expected = answer(path);
    let index = path.join(".osdyno-index");
    let whole = fs::read_to_string(&index).expect("an index");
    let torn = &whole[..whole.len() * 2 / 3];
    let other = whole.replace("osdyno index", "another index");
    let doubled = format!("{whole}{}", whole.split_once('\n').expect("lines").1);
    for text in ["", "\n\n", torn, &other, &doubled, &whole.replace("log_costs", "log_cost")] {
        fs::write(&index, text).expect("a file");
        assert_eq!(answer(path), expected);
        assert_eq!(answer(path), expected, "and it was mended");
    }
}

#[test]
fn a_folder_is_read_again_without_its_files() {
    let folder = folder((0..4).map(of_night));
    let path = folder.path();
    fs::write(path.join("noise.osdyno"), b"no run").expect("a file");
    let store = open(path);
    assert_eq!(store.refreshed().expect("a folder"), store);
    // As in a folder that nobody may write: no index, and files that would be found out to be another run.
    fs::remove_file(path.join(".osdyno-index")).expect("a file");
    let known = path.join("night-0002.osdyno");
    let before = fs::metadata(&known).expect("a file").modified().expect("a time");
    let bytes = fs::read(&known).expect("a file");
    fs::write(&known, vec![0; bytes.len()]).expect("a file");
    fs::File::options().write(true).open(&known).and_then(|file| file.set_modified(before)).expect("a time");
    assert_eq!(store.refreshed().expect("a folder").runs, store.runs);
}

#[test]
fn two_programs_may_look_and_add_at_the_same_time() {
    let folder = folder((0..8).map(of_night));
    let path = folder.path();
    let others: Vec<PathBuf> = {
        let apart = tempfile::tempdir().expect("a folder").keep();
        (8..16).map(|night| of_night(night).write(&apart)).collect()
    };
    std::thread::scope(|scope| {
        for part in others.chunks(2) {
            scope.spawn(move || {
                for file in part {
                    open(path).add(file).expect("it is added");
                }
            });
            scope.spawn(move || open(path));
        }
    });
    assert_eq!(answer(path).runs, 16);
    let (_, is_new) = open(path).add(&others[0]).expect("it is there");
    assert!(!is_new);
    others.iter().for_each(|file| fs::remove_file(file).expect("a file"));
}

#[test]
fn baselines_are_found_by_tag_day_and_name() {
    let folder = folder((0..5).map(of_night));
    let path = folder.path();
    Simulated { is_cut_off: true, ..of_night(9) }.write(path);
    let store = open(path);
    let file = |store: &Store, name: &str| store.baseline(name).map(|(stored, _)| stored.state.file.clone());
    assert_eq!(file(&store, "last").expect("a run"), "night-0004.osdyno", "the newest has no end");
    let (_, second) = store.find("night-0001.osdyno").expect("a run");
    store.tag("good", second).expect("a tag");
    assert_eq!(file(&open(path), "tag:good").expect("a run"), "night-0001.osdyno");
    let day = &of_night(2).started_at()[..10];
    assert_eq!(file(&store, &format!("date:{day}")).expect("a run"), "night-0002.osdyno");
    assert!(file(&store, "date:2001-01-01").is_err() && file(&store, "date:soon").is_err());
    assert!(file(&store, "tag:bad").expect_err("no such tag").to_string().contains("tag"));
    for name in ["../x", "", ".hidden", "a b"] {
        assert!(store.tag(name, second).is_err(), "{name:?}");
    }
    store.remove_tag("good").expect("it is there");
    assert!(file(&open(path), "tag:good").is_err());
    // Old runs without a tag may go.
    store.tag("keep", second).expect("a tag");
    let store = open(path);
    let old: Vec<&str> =
        store.older_than(2.5 * 86_400.0).map(|(stored, _)| stored.state.file.as_str()).collect();
    assert_eq!(old, ["night-0000.osdyno", "night-0002.osdyno", "night-0003.osdyno", "night-0004.osdyno"]);
}

#[test]
fn a_measurement_that_was_made_again_raises_or_dismisses() {
    let mut nights: Vec<Simulated> = (0..20).map(of_night).collect();
    nights.push(Simulated { factors: vec![(1, 1.08)], ..of_night(20) });
    let folder = folder(nights);
    let path = folder.path();
    let before = answer(path);
    let suspected = &before.machines[0].suspected[0];
    assert_eq!((suspected.series.as_str(), suspected.night, suspected.base), ("w1", 20, 17), "{suspected:?}");
    assert!(before.machines[0].changes.is_empty());
    let keep = |value: f64| {
        let store = open(path);
        let (_, head) = store.baseline("last").expect("a run");
        let ratio = [value, value * 0.99, value * 1.01];
        let check = StoredCheck {
            system: "local".into(),
            workload: "w1".into(),
            series: "w1".into(),
            ratio,
            file: String::new(),
        };
        store.keep_checks(head, &[check]).expect("room");
    };
    keep(1.08);
    let raised = answer(path);
    assert_eq!(raised.machines[0].changes.len(), 1);
    assert_eq!((raised.machines[0].changes[0].night, raised.machines[0].changes[0].raised), (20, 20));
    keep(1.0);
    let dismissed = answer(path);
    let machine = &dismissed.machines[0];
    assert!(machine.changes.is_empty(), "{:?}", machine.changes);
    assert!(machine.suspected.iter().all(|one| one.series != "w1"), "{:?}", machine.suspected);
    // Another series of the same night is added, and takes nothing away.
    keep(1.08);
    let store = open(path);
    let (_, head) = store.baseline("last").expect("a run");
    let other = StoredCheck {
        system: "local".into(),
        workload: "w4".into(),
        series: "w4".into(),
        ratio: [1.0, 0.99, 1.01],
        file: String::new(),
    };
    store.keep_checks(head, &[other]).expect("room");
    assert_eq!(answer(path).machines[0].changes.len(), 1);
}

/// Its numbers stand in docs/performance.md: `cargo test --release -p history -- --ignored --nocapture`.
#[test]
#[ignore = "a benchmark"]
fn ten_thousand_runs_of_four_machines() {
    let processors = ["EPYC", "Xeon", "Graviton", "Ryzen"];
    let temporary = tempfile::tempdir().expect("a folder");
    // For benches/view.py, which looks at it in a browser's place.
    let kept = std::env::var_os("OSDYNO_BENCH_FOLDER").map(PathBuf::from);
    let folder = kept.unwrap_or_else(|| temporary.path().to_owned());
    fs::create_dir_all(&folder).expect("a folder");
    for night in 0..10_000 {
        let processor = processors[night as usize % processors.len()];
        Simulated { processor, ..of_night(night) }.write(&folder);
    }
    let timed = |what: &str| {
        let begun = std::time::Instant::now();
        let store = open(&folder);
        let opened = begun.elapsed();
        let answer = history(&store);
        println!("{what}: folder {opened:?}, history {:?}", begun.elapsed() - opened);
        assert_eq!((answer.runs, answer.machines.len()), (10_000, processors.len()));
    };
    timed("without an index");
    timed("with an index");
}
