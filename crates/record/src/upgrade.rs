//! Makes lines of schema 1 into those of today. The only place that knows the words of schema 1.

use crate::{Limitation, LimitedBy, Line, SeriesKind, Shape, Side, Trial, TrialKey, Unit, Workload};

/// The workloads of schema 1 that were loads; all others were curves.
const LOADS: [&str; 5] = ["web", "race", "request", "crowd", "mixed"];
/// How the names of series began that were counted at the server, as were those in bytes.
const SERVER_SERIES: &str = "server ";
/// How a remark of a trial began that its load generator was saturated, or that others had its processor. The
/// words of the first were replaced since, and `tidy` looks for them.
const LIMITED: [(&str, LimitedBy); 2] =
    [(concat!("limited by the", " generator"), LimitedBy::Generator), ("disturbed", LimitedBy::Others)];
/// How a check began that its load generator was fast enough.
const KEPT_UP: &str = "the generator kept up";

/// Upgrades one line in place; facts that it had as words follow as lines of their own.
pub(crate) fn upgrade(line: &mut Line) -> Vec<Line> {
    match line {
        Line::Workload(workload) => {
            upgrade_workload(workload);
            Vec::new()
        }
        Line::Trial(trial) => limitations(trial).into_iter().map(Line::Limited).collect(),
        _ => Vec::new(),
    }
}

fn upgrade_workload(workload: &mut Workload) {
    if !LOADS.contains(&workload.name.as_str()) {
        return;
    }
    (workload.shape, workload.server) = (Shape::Load, true);
    let is_of_server = |kind: &SeriesKind| kind.unit == Unit::Bytes || kind.name.starts_with(SERVER_SERIES);
    for kind in workload.series.iter_mut().filter(|kind| is_of_server(kind)) {
        kind.side = Side::Server;
    }
}

/// Takes the remarks about the load generator out of the remarks of a trial. A check that was not held stays
/// one: its trial did not count, and does not.
fn limitations(trial: &mut Trial) -> Vec<Limitation> {
    let of = TrialKey::from_parameters(&trial.order);
    let mut limitations = Vec::new();
    for check in trial.checks.iter().filter(|check| !check.held && begins(&check.claim, KEPT_UP)) {
        limitations.extend(limitations_in(&check.claim, LimitedBy::Generator, &of));
    }
    trial.warnings.retain(|warning| {
        let limited = LIMITED.iter().find(|(beginning, _)| begins(warning, beginning));
        if let Some((_, by)) = limited {
            limitations.extend(limitations_in(warning, *by, &of));
        }
        limited.is_none()
    });
    limitations
}

fn limitations_in(words: &str, by: LimitedBy, of: &TrialKey) -> Vec<Limitation> {
    let why = words.split_once(": ").unwrap_or_default().1;
    let levels: Vec<Option<u64>> = match places(words) {
        Some(levels) => levels.into_iter().map(Some).collect(),
        None => vec![None],
    };
    let limitation = |n| Limitation { of: of.clone(), n, by, series: Vec::new(), why: why.to_owned() };
    levels.into_iter().map(limitation).collect()
}

fn begins(text: &str, with: &str) -> bool {
    text.trim_start().get(..with.len()).is_some_and(|head| head.eq_ignore_ascii_case(with))
}

/// The levels that are named: `at 1 000 connections`, `at n = 500 and 1000: …`; `None` without any.
fn places(words: &str) -> Option<Vec<u64>> {
    let (_, after) = words.split_once(" at ")?;
    let named = after.split([':', ';', '(']).next()?;
    let numbers: Option<Vec<u64>> = named.replace(" and ", ",").split(',').map(number).collect();
    numbers.filter(|numbers| !numbers.is_empty())
}

/// The number at the head of some words, its thousands apart or not.
fn number(words: &str) -> Option<u64> {
    let words = words.trim_start().trim_start_matches("n =").trim_start();
    let gap = |c: char| c.is_whitespace() || c == '_';
    let digits = words.split(|c: char| !c.is_ascii_digit() && !gap(c)).next()?;
    digits.chars().filter(char::is_ascii_digit).collect::<String>().parse().ok()
}
