//! The text output of a search: the rate that meets the goal, and the stages that say so.

use std::io::{self, Write};

use ::report::quantity::{duration, time};
use ::report::words::count;
use ::report::{Style, write_columns, write_paragraph};
use net::load::search::{Found, SearchStage, StageOutcome};

use super::verdict;

/// The answer, and all stages by their rate.
pub(super) fn write(found: &Found, style: &Style, out: &mut dyn Write) -> io::Result<()> {
    write_paragraph(&answer(found), 2, style, out)?;
    if verdict::is_lower_bound(found) {
        write_paragraph(LOWER_BOUND, 2, style, out)?;
    }
    writeln!(out)?;
    let table = table(found);
    let Some((heading, rows)) = table.split_first() else { return Ok(()) };
    let heading: Vec<&str> = heading.iter().map(String::as_str).collect();
    write_columns(&heading, rows, style, out)
}

/// Why the answer is no more than a lower bound.
pub(super) const LOWER_BOUND: &str = "most stages that ended the search were limited by the load generator, \
    not by the server, which may do more: give the load generator a processor of its own, or another machine";

/// Stages of one rate in a row, the highest rate first, below a heading.
pub(super) fn table(found: &Found) -> Vec<Vec<String>> {
    let percentile = format!("p{} (median)", found.goal.percent);
    let heading = ["  asked for", "stages", "met it", &percentile, "completed", "generator saturated"];
    let heading = heading.map(str::to_owned).to_vec();
    [heading].into_iter().chain(rates(found).iter().map(|stages| row(stages))).collect()
}

/// The answer in one sentence.
pub(super) fn answer(found: &Found) -> String {
    let goal = format!("p{} ≤ {}", found.goal.percent, time(found.goal.seconds));
    let per_second = |rate: f64| count(rate.round() as u64);
    let (Some(rate), Some((low, high))) = (found.rate, found.interval) else {
        return format!("no rate was found that meets {goal}{}", at_lowest(found));
    };
    let interval = format!("{}–{}", per_second(low), per_second(high));
    let longer = found.confirmation.load.rate.map_or(String::new(), per_second);
    let confirmed = if found.confirmed { "confirmed" } else { "not confirmed" };
    let (short, long) = (duration(found.stage_seconds), duration(found.confirmation.elapsed_seconds));
    let rate = per_second(rate);
    let met = format!("{rate} requests/s ({interval}) meet {goal} in stages of {short}");
    format!("{met}; {confirmed} by one of {long} at {longer}/s")
}

/// Stages of one rate together, the highest first.
fn rates(found: &Found) -> Vec<Vec<&SearchStage>> {
    let mut stages: Vec<&SearchStage> = found.stages.iter().collect();
    stages.sort_by(|one, other| other.rate.total_cmp(&one.rate));
    stages.chunk_by(|one, other| one.rate == other.rate).map(<[_]>::to_vec).collect()
}

fn row(stages: &[&SearchStage]) -> Vec<String> {
    let number = |outcome| stages.iter().filter(|stage| stage.outcome == outcome).count();
    // A percentile beyond the last response is the slowest of all.
    let mut seconds: Vec<f64> = stages.iter().map(|stage| stage.seconds.unwrap_or(f64::INFINITY)).collect();
    seconds.sort_by(f64::total_cmp);
    let median = seconds.get((seconds.len() - 1) / 2).copied().filter(|seconds| seconds.is_finite());
    let completed = stages.iter().map(|stage| stage.level.completed_per_second).sum::<f64>();
    vec![
        format!("  {}/s", count(stages.first().map_or(0.0, |stage| stage.rate).round() as u64)),
        stages.len().to_string(),
        number(StageOutcome::Holds).to_string(),
        median.map_or("—".to_owned(), time),
        format!("{}/s", count((completed / stages.len() as f64).round() as u64)),
        number(StageOutcome::Limited).to_string(),
    ]
}

/// What came of the lowest rate, below which none was tried.
fn at_lowest(found: &Found) -> String {
    let lowest = found.stages.iter().min_by(|one, other| one.rate.total_cmp(&other.rate));
    let failed = lowest.filter(|stage| stage.outcome == StageOutcome::Fails);
    let Some((stage, seconds)) = failed.and_then(|stage| Some((stage, stage.seconds?))) else {
        return String::new();
    };
    let rate = count(stage.rate.round() as u64);
    format!(": at {rate}/s, the lowest rate, p{} is {}", found.goal.percent, time(seconds))
}
