//! Simulated years of nights: is a change found in time, on the right night, and how often is an alarm false?
//!
//! | question | modules |
//! |---|---|
//! | real runs of one machine | `nights` |
//! | a year whose changes are known | `year` |
//! | alarms of `stats::history`, with and without confirming measurements | `nightly` |
//! | alarms of other rules | `others`, `otava` |
//! | alarms against the truth, counted | `counts` |
//! | promises and tables | `table` |

mod counts;
mod nightly;
mod nights;
mod otava;
mod others;
mod table;
mod year;

pub use counts::{RateOfYears, YearCounts, YearRule, count, rules};
pub use nights::UNIT;
pub use table::{YearPromise, YearRow, poisson, promises, sheets};
pub use year::{ALL, YearTruth};

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
