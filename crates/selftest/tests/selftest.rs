//! A selftest of a few replicates: the same seed gives the same table, and each part speaks of its cells.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a panic is the failure of a test")]

use std::mem::discriminant;

use selftest::cells::{Asked, TruthCell, all};
use selftest::run::{Plan, dump, run};
use selftest::scalings;
use selftest::sheets::sheets;
use selftest::table::{Standing, table};
use selftest::text;

const FEW: Plan = Plan { replicates: 3, seed: 7 };

/// One cell of each kind of truth, of each noise and of each design, and a comparison of either kind.
fn miniature() -> Vec<TruthCell> {
    let mut kept: Vec<TruthCell> = Vec::new();
    for cell in all() {
        let known = |same: fn(&TruthCell, &TruthCell) -> bool| kept.iter().any(|other| same(other, &cell));
        let seen = known(|a, b| discriminant(&a.truth.shape) == discriminant(&b.truth.shape))
            && known(|a, b| a.noise == b.noise)
            && known(|a, b| a.design == b.design)
            && known(|a, b| discriminant(&a.asked) == discriminant(&b.asked));
        if !seen {
            kept.push(cell);
        }
    }
    kept
}

#[test]
fn the_same_seed_gives_the_same_table_whatever_is_beside_it() {
    let cells = miniature();
    let all_counts = run(&cells, FEW, &|_| ());
    assert_eq!(run(&cells, FEW, &|_| ()), all_counts);

    let reversed: Vec<TruthCell> = cells.iter().rev().cloned().collect();
    let mut backwards = run(&reversed, FEW, &|_| ());
    backwards.reverse();
    assert_eq!(backwards, all_counts);
    assert_ne!(run(&cells, Plan { seed: 8, ..FEW }, &|_| ()), all_counts);
}

#[test]
fn every_replicate_is_judged_and_counted() {
    let cells = miniature();
    let done = std::sync::atomic::AtomicU64::new(0);
    let all_counts = run(&cells, FEW, &|replicates| {
        done.fetch_add(replicates, std::sync::atomic::Ordering::Relaxed);
    });
    assert_eq!(done.into_inner(), FEW.replicates * cells.len() as u64);
    for counts in &all_counts {
        let answered: usize = counts.classes.iter().chain(&counts.answers).sum();
        assert_eq!((counts.replicates, answered), (3, 3), "{}", counts.cell.name());
    }
    let rows = table(&all_counts);
    assert!(rows.len() > 5, "{} promises", rows.len());

    let mut text = Vec::new();
    text::cells(&all_counts, &mut text).expect("a vector takes all");
    text::markdown(&sheets(&all_counts, &[]), &mut text).expect("a vector takes all");
    let text = String::from_utf8(text).expect("text");
    assert!(rows.iter().all(|row| text.contains(row.claim)));
    assert!(all_counts.iter().all(|counts| text.contains(&counts.cell.name())));
}

/// Of 126 truths and noises; `osdyno selftest` has more replicates.
#[test]
fn scalings_keep_their_promises() {
    let counts = scalings::counts(Plan { replicates: 40, seed: 7 }, |_| true);
    let rows = scalings::table(&counts);
    assert_eq!(rows.len(), 4);
    assert!(rows.iter().all(|row| row.standing != Standing::Missed), "{rows:?}");
}

/// `cargo xtask verify` has a thousand builds of every cell.
#[test]
fn gates_fail_what_changed_and_nothing_else() {
    let of = |name: &str| {
        let named: Vec<TruthCell> = all().into_iter().filter(|cell| cell.name() == name).collect();
        run(&named, Plan { replicates: 40, seed: 1 }, &|_| ()).remove(0).builds
    };
    let still = of("build-1.00-of-pairs-runs10/low/log8/10");
    assert_eq!((still.is_false, still.passed), (0, 40), "{still:?}");
    let changed = of("build-1.05-of-pairs-drift200/low/log8/10");
    assert!(changed.found >= 36 && changed.is_false == 0 && changed.passed == 0, "{changed:?}");
    // The machine differs between two runs: others fail every second build, the gate waits for pairs.
    let drifted = of("build-1.00-of-runs-runs10/low/log8/10");
    assert!(drifted.is_false == 0 && drifted.others.iter().all(|fails| *fails > 8), "{drifted:?}");
}

#[test]
fn names_are_unique() {
    let mut names: Vec<String> = all().iter().map(TruthCell::name).collect();
    let count = names.len();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), count);
}

/// The cost rises to 2,000-fold and falls back to 200-fold within the last block, whose median is 49-fold.
#[test]
fn growth_is_covered_where_a_cost_falls_back_behind_a_cliff() {
    let name = "cliff-back-0.9967/real-socket/dense/10";
    let named: Vec<TruthCell> = all().into_iter().filter(|cell| cell.name() == name).collect();
    let rows = table(&run(&named, Plan { replicates: 60, seed: 1 }, &|_| ()));
    let row = rows.iter().find(|row| row.claim.contains("rises most near the largest n")).expect("a promise");
    assert!(row.all.of == 60 && row.all.count >= 54, "{:?}", row.all);
}

#[test]
fn a_replicate_is_printed_as_it_was_judged() {
    let cells = all();
    let pair = cells.iter().find(|cell| cell.asked == Asked::Pairs(1.0)).expect("a pair");
    let mut text = Vec::new();
    dump(pair, 1, 5, &mut text).expect("a vector takes all");
    let text = String::from_utf8(text).expect("text");
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "series,trial,direction,n,value");
    assert_eq!(lines.len(), 1 + 2 * pair.trials * pair.design.sizes().len());
    for line in &lines[1..] {
        let fields: Vec<&str> = line.split(',').collect();
        assert!(fields[4].parse::<f64>().expect("a number") > 0.0, "{line}");
    }
}

/// Errors of neighbouring blocks that are correlated, one disturbed trial, a power between the common ones
/// that is best, and a simpler shape that lacks fit do not hide the truth.
#[test]
fn shapes_are_named_where_noise_lasts_and_trials_are_disturbed() {
    for (name, at_least) in [
        ("limit-1.3/ar6/dense/10", 59),
        ("limit-3/low/dense/40", 12),
        ("step+20-0.6/quiet/dense/10", 59),
        ("hinge-0.1-1.5/low/dense/10", 60),
    ] {
        let named: Vec<TruthCell> = all().into_iter().filter(|cell| cell.name() == name).collect();
        let counts = run(&named, Plan { replicates: 60, seed: 1 }, &|_| ()).remove(0);
        assert!(counts.right() >= at_least && counts.wrong() == 0, "{name}: {} of 60", counts.right());
    }
}
