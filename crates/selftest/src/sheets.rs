//! The results as tables: promises, named families, detection rates, and the other rules.

use stats::Class;

use crate::cells::{Asked, GROWTHS, LADDER};
use crate::counts::{BuildCounts, CLASSES, CellCounts};
use crate::noises::{self, Noise};
use crate::rate::{Rate, RateTarget};
use crate::table::{CellRow, Standing, table};
use crate::truths::{LOG20, Term, TrueShape};

/// A table.
#[derive(Clone, Debug, PartialEq)]
pub struct Sheet {
    /// Its title.
    pub title: &'static str,
    /// Its columns.
    pub head: Vec<String>,
    /// As many fields each.
    pub rows: Vec<Vec<String>>,
    /// How many of its last columns a document leaves to the terminal.
    pub details: usize,
}

/// All tables that have a row; `scalings` are the promises about scaling.
pub fn sheets(all_counts: &[CellCounts], scalings: &[CellRow]) -> Vec<Sheet> {
    let rest = [power, families, others_on_constants, others_on_growth, others_on_systems, builds];
    let promised = [promises("Targets", &table(all_counts)), promises("Targets of scalings", scalings)];
    let all = promised.into_iter().chain(rest.iter().map(|sheet| sheet(all_counts)));
    all.filter(|sheet| !sheet.rows.is_empty()).collect()
}

/// The words of [`CLASSES`].
pub fn word(class: Class) -> &'static str {
    match class {
        Class::Value => "value",
        Class::Flat => "flat",
        Class::SmallGrowth => "small growth",
        Class::Sublinear => "sublinear",
        Class::LinearLike => "linear-like",
        Class::Superlinear => "superlinear",
        Class::ApproachingLimit => "approaching a limit",
        Class::Stepped => "stepped",
        Class::TwoLines => "two lines",
        Class::Composite => "composite",
        Class::Ambiguous => "ambiguous",
        Class::Uneven => "uneven",
        Class::Decreasing => "decreasing",
        Class::Inconclusive => "inconclusive",
    }
}

/// A table with its title and columns.
pub(crate) fn sheet(title: &'static str, head: &[&str], rows: Vec<Vec<String>>) -> Sheet {
    Sheet { title, head: head.iter().map(|name| (*name).to_owned()).collect(), rows, details: 0 }
}

fn promises(title: &'static str, rows: &[CellRow]) -> Sheet {
    let row = |row: &CellRow| {
        vec![
            row.claim.to_owned(),
            target(row.target),
            rate_words(row.all, row.interval) + mark(row.standing),
            format!("{:.1} %", 100.0 * row.worst_rate.value()),
            row.cells.to_string(),
            row.all.of.to_string(),
            row.worst.clone(),
        ]
    };
    let head = ["promise", "target", "measured", "worst", "cells", "replicates", "worst cell"];
    Sheet { details: 3, ..sheet(title, &head, rows.iter().map(row).collect()) }
}

fn power(all_counts: &[CellCounts]) -> Sheet {
    let shapes = std::iter::once(TrueShape::Constant)
        .chain(GROWTHS.map(|growth| TrueShape::Grows(Term::Line, growth)))
        .chain([1.05, 1.10, 1.20, 1.30, 1.60].map(|ratio| TrueShape::Step(ratio, 0.6)));
    let row = |shape: TrueShape| {
        let at = |trials: usize| find(all_counts, shape, noises::LOW, trials);
        let found = LADDER.map(|trials| at(trials).map(|counts| share(counts, counts.found())));
        let ten = at(10)?;
        let mut fields = vec![ten.cell.truth.name.clone()];
        fields.extend(found.map(Option::unwrap_or_default));
        fields.extend(others(ten));
        Some(fields)
    };
    let trials = LADDER.map(|trials| format!("{trials} trials"));
    let mut head = vec!["truth"];
    head.extend(trials.iter().map(String::as_str));
    head.extend(OTHERS);
    sheet(
        "Detected changes, low noise (below 10 % flat is correct too); other rules at 10 trials",
        &head,
        shapes.filter_map(row).collect(),
    )
}

fn families(all_counts: &[CellCounts]) -> Sheet {
    let ten = |counts: &&CellCounts| counts.is_verdict() && counts.cell.trials == 10;
    let row = |counts: &CellCounts| {
        let mut words: Vec<(usize, &str)> =
            counts.classes.iter().zip(CLASSES).map(|(count, class)| (*count, word(class))).collect();
        words.sort_by_key(|(count, _)| std::cmp::Reverse(*count));
        let said = words.iter().filter(|(count, _)| *count > 0).take(3);
        let said: Vec<String> =
            said.map(|(count, word)| format!("{word} {}", share(counts, *count))).collect();
        let shape = &counts.cell;
        vec![
            format!("{} ({}, {})", shape.truth.name, shape.noise.name, shape.design.name),
            share(counts, counts.right()),
            share(counts, counts.wrong()),
            said.join(", "),
        ]
    };
    let known = |counts: &&CellCounts| [noises::LOW, noises::HIGH].contains(&counts.cell.noise);
    let rows = all_counts.iter().filter(ten).filter(known).map(row).collect();
    sheet("Verdicts, 10 trials", &["truth", "right", "wrong family", "words"], rows)
}

const OTHERS: [&str; 3] = ["google/benchmark: not O(1)", "log-log slope: not 0", "t-test of the ends"];

fn others(counts: &CellCounts) -> [String; 3] {
    let rivals = counts.rivals;
    [rivals.complexity_grows, rivals.slope_differs, rivals.t_test_differs].map(|count| share(counts, count))
}

fn others_on_constants(all_counts: &[CellCounts]) -> Sheet {
    let row = |noise: Noise| {
        let counts = find(all_counts, TrueShape::Constant, noise, 10)?;
        let mut fields = vec![noise.name.to_owned(), share(counts, counts.found())];
        fields.extend(others(counts));
        Some(fields)
    };
    let mut head = vec!["noise", "osdyno"];
    head.extend(OTHERS);
    let rows = noises::ALL.into_iter().filter_map(row).collect();
    sheet("False alarms on a constant cost, 10 trials", &head, rows)
}

fn others_on_growth(all_counts: &[CellCounts]) -> Sheet {
    let shapes =
        Term::ALL.into_iter().flat_map(|term| [1.5, 2.0, 5.0, 50.0].map(|g| TrueShape::Grows(term, g)));
    let row = |shape: TrueShape| {
        let counts = find(all_counts, shape, noises::LOW, 10)?;
        let google = match shape {
            TrueShape::Grows(Term::Root, _) => "no such class".to_owned(),
            _ => share(counts, counts.rivals.complexity_right),
        };
        let truth = counts.cell.truth.name.clone();
        Some(vec![truth, share(counts, counts.right()), share(counts, counts.wrong()), google])
    };
    let head = ["truth", "osdyno: right", "osdyno: wrong", "google/benchmark: right"];
    sheet("Correct family named, low noise, 10 trials", &head, shapes.filter_map(row).collect())
}

fn others_on_systems(all_counts: &[CellCounts]) -> Sheet {
    let compared = |counts: &&CellCounts| match counts.cell.asked {
        Asked::Comparison(_) | Asked::Pairs(_) | Asked::Boots { .. } => true,
        Asked::Verdict | Asked::Mean { .. } | Asked::Race { .. } | Asked::Build { .. } => false,
    };
    let row = |counts: &CellCounts| {
        let different = share(counts, counts.different());
        vec![counts.cell.name(), different, share(counts, counts.rivals.t_test_differs)]
    };
    let head = ["systems", "osdyno", "t-test of all measurements"];
    sheet("Two systems called different", &head, all_counts.iter().filter(compared).map(row).collect())
}

fn builds(all_counts: &[CellCounts]) -> Sheet {
    let row = |counts: &CellCounts| {
        let Asked::Build { ratio, .. } = counts.cell.asked else { return None };
        let BuildCounts { found, is_false, passed, others } = counts.builds;
        let fails = if ratio == 1.0 { is_false } else { found };
        let shares = [fails, passed].into_iter().chain(others).map(|count| share(counts, count));
        Some(std::iter::once(counts.cell.name()).chain(shares).collect())
    };
    let others = ["t-test, 5 %", "threshold, 10 %", "benchstat's rule, 5 %"];
    let head = ["build of 28 series, 10 trials of each side", "exit 4", "exit 0"].into_iter().chain(others);
    let rows = all_counts.iter().filter_map(row).collect();
    sheet("Builds that fail", &head.collect::<Vec<_>>(), rows)
}

fn find(all_counts: &[CellCounts], shape: TrueShape, noise: Noise, trials: usize) -> Option<&CellCounts> {
    all_counts.iter().find(|counts| {
        let cell = &counts.cell;
        let same = cell.truth.shape == shape && cell.noise == noise && cell.trials == trials;
        same && cell.design == LOG20 && counts.is_verdict()
    })
}

fn share(counts: &CellCounts, count: usize) -> String {
    percent(Rate { count, of: counts.replicates }.value())
}

fn percent(share: f64) -> String {
    match 100.0 * share {
        percent if percent > 0.0 && percent < 9.95 => format!("{percent:.1} %"),
        percent => format!("{percent:.0} %"),
    }
}

/// A rate with its interval.
pub(crate) fn rate_words(rate: Rate, (low, high): (f64, f64)) -> String {
    format!("{:.1} % ({:.1}–{:.1})", 100.0 * rate.value(), 100.0 * low, 100.0 * high)
}

/// The word of a standing.
pub fn standing(standing: Standing) -> &'static str {
    match standing {
        Standing::Kept => "ok",
        Standing::Open => "open",
        Standing::Missed => "MISSED",
    }
}

/// Nothing behind a figure that keeps its promise.
fn mark(standing: Standing) -> &'static str {
    match standing {
        Standing::Kept => "",
        Standing::Open => " open",
        Standing::Missed => " MISSED",
    }
}

/// A target.
pub(crate) fn target(target: RateTarget) -> String {
    match target {
        RateTarget::AtMost(most) => format!("≤ {} %", (1000.0 * most).round() / 10.0),
        RateTarget::AtLeast(least) => format!("≥ {:.0} %", 100.0 * least),
        RateTarget::Within(least, most) => format!("{:.0}–{:.0} %", 100.0 * least, 100.0 * most),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cells::all;
    use crate::promises::PROMISES;

    const ERROR_RATES: &str = include_str!("../../../docs/error-rates.md");

    #[test]
    fn the_document_has_every_promise_in_the_order_of_the_table() {
        let targets = "| promise | target |";
        let rows = ERROR_RATES.lines().skip_while(|line| !line.starts_with(targets)).skip(2);
        let rows: Vec<String> =
            rows.take_while(|line| line.starts_with('|')).map(|row| fields(row, 2)).collect();
        let promised: Vec<String> = PROMISES
            .iter()
            .map(|promise| format!("{} | {}", promise.claim, target(promise.target)))
            .collect();
        assert_eq!(rows, promised, "docs/error-rates.md");
        let cells = format!("{} cells of truth", all().len());
        assert!(ERROR_RATES.contains(&cells), "docs/error-rates.md does not mention {cells}");
    }

    /// The first fields of a row of a Markdown table.
    fn fields(row: &str, count: usize) -> String {
        let fields: Vec<&str> = row.split('|').map(str::trim).skip(1).take(count).collect();
        fields.join(" | ")
    }
}
