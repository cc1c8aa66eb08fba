//! Simulated years of nights: is a change found in time, on the right night, and how often is an alarm false?
//!
//! | question | module |
//! |---|---|
//! | a year whose changes are known, of real runs | `year` |
//! | alarms of `stats::history` and of other rules | `rules` |
//! | alarms against the truth, counted | `counts` |
//! | promises and tables | here |

mod counts;
mod rules;
mod year;

use statrs::distribution::{ContinuousCDF, Gamma};

pub use counts::{RateOfYears, YearCounts, count};
pub use rules::{YearRule, rules};
pub use year::{ALL, UNIT, YearTruth};

use crate::rate::{Rate, RateTarget};
use crate::sheets::{Sheet, rate_words, sheet, standing, target};
use crate::table::{Standing, of_rate};

/// A rule on one kind of year.
#[derive(Clone, Debug)]
pub struct YearRow {
    /// The kind of year.
    pub truth: YearTruth,
    /// The rule.
    pub rule: &'static str,
    /// Its counts.
    pub counts: YearCounts,
}

/// A promise about one kind of year.
#[derive(Clone, Debug)]
pub struct YearPromise {
    /// The claim.
    pub claim: &'static str,
    /// The kind of year.
    pub year: &'static str,
    /// The target, as it is printed.
    pub target: String,
    /// The figure with its 95 % interval, as it is printed.
    pub measured: String,
    /// Whether it holds.
    pub standing: Standing,
}

/// One false alarm a year is the budget.
const BUDGET: f64 = 1.0;
const ALPHA: f64 = 0.05;

/// Counts all rules on so many years of each kind; `done` is called for each year that is finished.
pub fn rows(years: usize, seed: u64, done: &(dyn Fn() + Sync)) -> Vec<YearRow> {
    let of_truth = |truth: &YearTruth| {
        let rules = rules();
        let counts = count(truth, &rules, years, seed, done);
        let row =
            |(rule, counts): (&YearRule, YearCounts)| YearRow { truth: *truth, rule: rule.name, counts };
        rules.iter().zip(counts).map(row).collect::<Vec<YearRow>>()
    };
    ALL.iter().flat_map(of_truth).collect()
}

/// The promises of the nightly with confirming measurements; of nights alone, only that they are rarely
/// false.
pub fn promises(rows: &[YearRow]) -> Vec<YearPromise> {
    let of_row = |row: &YearRow| {
        let mut promises = Vec::new();
        if row.rule == YearRule::MEASURED || row.rule == YearRule::NIGHTS {
            promises.push(alarms(row));
        }
        if row.rule == YearRule::MEASURED {
            promises.extend(rates(row));
        }
        promises
    };
    rows.iter().flat_map(of_row).collect()
}

fn alarms(row: &YearRow) -> YearPromise {
    let is_measured = row.rule == YearRule::MEASURED;
    let (low, high) = poisson(row.counts.false_alarms);
    let years = row.counts.years as f64;
    let standing = if row.counts.false_alarms as f64 / years <= BUDGET {
        Standing::Kept
    } else if low / years <= BUDGET {
        Standing::Open
    } else {
        Standing::Missed
    };
    YearPromise {
        claim: if is_measured {
            "false alarms a year, 28 series"
        } else {
            "false alarms a year, nights alone"
        },
        year: row.truth.name,
        target: format!("≤ {BUDGET}"),
        measured: per_year(row.counts.false_alarms, (low, high), years),
        standing,
    }
}

/// A rate with its interval.
type Measured = (Rate, (f64, f64));

fn rates(row: &YearRow) -> Vec<YearPromise> {
    let counts = &row.counts;
    let one = |rate: Rate| (rate, rate.interval(ALPHA));
    let of_years = |rate: &RateOfYears| (rate.all(), rate.interval());
    let promised: [(&str, Measured, f64); 7] = [
        ("5 % in one series found within three nights", one(counts.found), 0.95),
        ("the same, series that a confirming measurement can decide", one(counts.found_decidable), 0.95),
        ("the night named is right to one", one(counts.right_night), 0.90),
        ("a machine that becomes 6 % slower named as such within 30 nights", one(counts.found_machine), 0.90),
        ("a drift of 10 % a year found", of_years(&counts.drift_found), 0.90),
        ("a drift of 10 % a year excluded, where there is none", of_years(&counts.drift_excluded), 0.90),
        ("the interval of a drift holds it", of_years(&counts.drift_covered), 0.93),
    ];
    let asked = promised.into_iter().filter(|(_, (rate, _), _)| rate.of > 0);
    let promise = |(claim, (rate, interval), least)| {
        let goal = RateTarget::AtLeast(least);
        YearPromise {
            claim,
            year: row.truth.name,
            target: target(goal),
            measured: rate_words(rate, interval),
            standing: of_rate(goal, rate, interval),
        }
    };
    asked.map(promise).collect()
}

/// Tables for a terminal and for docs/error-rates.md.
pub fn sheets(rows: &[YearRow]) -> Vec<Sheet> {
    let promise = |promise: YearPromise| {
        let YearPromise { claim, year, target, measured, standing: held } = promise;
        vec![claim.to_owned(), year.to_owned(), target, measured, standing(held).to_owned()]
    };
    let head = ["promise", "year", "target", "measured", ""];
    let promised =
        sheet("Alarms of simulated years", &head, promises(rows).into_iter().map(promise).collect());
    let head = [
        "year",
        "rule",
        "false alarms a year",
        "5 % found within three nights",
        "within 30",
        "right night ±1",
        "measured again a night: series, pairs",
    ];
    let row = |row: &YearRow| {
        let YearCounts { false_alarms, years, found, found_late, right_night, .. } = row.counts;
        let rate = |rate: Rate| rate_words(rate, rate.interval(ALPHA));
        let a_night = |count: usize| count as f64 / row.counts.nights.max(1) as f64;
        let again = format!("{:.1}, {:.0}", a_night(row.counts.remeasured), a_night(row.counts.pairs));
        vec![
            row.truth.name.to_owned(),
            row.rule.to_owned(),
            per_year(false_alarms, poisson(false_alarms), years as f64),
            rate(found),
            rate(found_late),
            rate(right_night),
            if row.rule == YearRule::MEASURED { again } else { "–".to_owned() },
        ]
    };
    vec![promised, sheet("Alarms beside other rules", &head, rows.iter().map(row).collect())]
}

fn per_year(count: usize, (low, high): (f64, f64), years: f64) -> String {
    format!("{:.2} ({:.2}–{:.2})", count as f64 / years, low / years, high / years)
}

/// The exact 95 % interval of a Poisson mean (Garwood, Biometrika 28, 1936).
pub fn poisson(count: usize) -> (f64, f64) {
    let quantile =
        |shape: f64, chance: f64| Gamma::new(shape, 1.0).map_or(f64::NAN, |gamma| gamma.inverse_cdf(chance));
    let count = count as f64;
    (if count == 0.0 { 0.0 } else { quantile(count, ALPHA / 2.0) }, quantile(count + 1.0, 1.0 - ALPHA / 2.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Garwood's table: 0 to 3.69, 0.242 to 7.22 for 2, 4.80 to 18.39 for 10.
    #[test]
    fn intervals_are_garwoods() {
        for (count, low, high) in [(0, 0.0, 3.689), (2, 0.242, 7.225), (10, 4.795, 18.390)] {
            let found = poisson(count);
            assert!((found.0 - low).abs() < 1e-3 && (found.1 - high).abs() < 1e-3, "{found:?}");
        }
    }
}
