//! Alarms of a few simulated years; `osdyno selftest --years` has more.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a panic is the failure of a test")]

use selftest::table::Standing;
use selftest::years::{ALL, YearCounts, YearRow, YearRule, count, poisson, promises, rows, sheets};
use stats::HistorySettings;

const YEARS: usize = 6;

fn counted(rule: YearRule, years: usize) -> YearCounts {
    let whole = ALL.iter().find(|truth| truth.name == "whole").expect("a year of this name");
    count(whole, &[rule], years, 1, &|| ()).remove(0)
}

/// Whether there are certainly more false alarms than one a year.
fn breaks_the_budget(counts: &YearCounts) -> bool {
    poisson(counts.false_alarms).0 > counts.years as f64
}

#[test]
fn alarms_keep_their_promises() {
    let rows: Vec<YearRow> = rows(YEARS, 1, &|| ());
    let promises = promises(&rows);
    assert_eq!(promises.len(), 33);
    let missed: Vec<_> = promises.iter().filter(|promise| promise.standing == Standing::Missed).collect();
    assert!(missed.is_empty(), "{missed:?}");
    let others = rows.iter().filter(|row| ![YearRule::MEASURED, YearRule::NIGHTS].contains(&row.rule));
    for other in others {
        assert!(breaks_the_budget(&other.counts), "{other:?}");
    }
    let text = format!("{:?}", sheets(&rows));
    assert!(ALL.iter().all(|truth| text.contains(truth.name)));
}

#[test]
fn the_same_seed_gives_the_same_years() {
    let rule = YearRule::measured(HistorySettings::default());
    assert_eq!(counted(rule, 2), counted(rule, 2));
}

/// A rule with too low a threshold, one that believes every confirming measurement, and one without a margin.
#[test]
fn rules_that_raise_too_much_break_the_budget() {
    let settings = HistorySettings::default();
    assert!(!breaks_the_budget(&counted(YearRule::measured(settings), YEARS)));
    assert!(!breaks_the_budget(&counted(YearRule::alone(settings), YEARS)));
    let low = HistorySettings { alarms_per_year: 500.0, margin: 0.0, ..settings };
    let low = counted(YearRule::alone(low), YEARS);
    assert!(breaks_the_budget(&low), "{low:?}");
    let credulous = HistorySettings { confirmed: -1.0, ..settings };
    let credulous = counted(YearRule::measured(credulous), 3);
    assert!(breaks_the_budget(&credulous), "{credulous:?}");
}

/// A rule that suspects nothing but what nights alone prove.
#[test]
fn a_rule_that_waits_too_long_misses_its_promises() {
    let settings = HistorySettings { suspect: [99.0; 3], ..HistorySettings::default() };
    let counts = counted(YearRule::measured(settings), 2);
    let promises = promises(&[YearRow { truth: ALL[1], rule: YearRule::MEASURED, counts }]);
    let found = promises.iter().find(|promise| promise.claim.starts_with("5 % in one")).expect("a promise");
    assert_eq!(found.standing, Standing::Missed);
}
