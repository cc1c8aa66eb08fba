//! All that a load found, for programs.

use std::io::{self, Write};

use net::load::search::{Found, Goal, SearchStage, StageOutcome};
use net::load::{Level, LoadSettings};
use serde::Serialize;

use super::baseline::Comparison;
use super::resolve::Resolved;
use super::result::{LoadResult, Measured};
use super::verdict::{Verdict, is_lower_bound};

#[derive(Serialize)]
struct Output<'a> {
    targets: &'a [String],
    /// Which address of a name was taken, and why no other was.
    #[serde(skip_serializing_if = "Option::is_none")]
    resolved: Option<&'a Resolved>,
    settings: &'a LoadSettings,
    /// What was held beside it, each load in its canonical form.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    background: &'a [String],
    /// What became of that, one list for each level or stage in their order.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    held_background: &'a [Vec<record::HeldBackground>],
    levels: Vec<JudgedLevel<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    found: Option<Search<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    compared: Option<Vec<Comparison>>,
}

#[derive(Serialize)]
struct JudgedLevel<'a> {
    #[serde(flatten)]
    level: &'a Level,
    verdict: Verdict,
}

#[derive(Serialize)]
struct Search<'a> {
    goal: Goal,
    rate: Option<f64>,
    interval: Option<(f64, f64)>,
    confirmed: bool,
    is_lower_bound: bool,
    confirmation: JudgedLevel<'a>,
    stages: Vec<Stage>,
}

#[derive(Serialize)]
struct Stage {
    rate: f64,
    seconds: Option<f64>,
    completed_per_second: f64,
    outcome: StageOutcome,
    verdict: Verdict,
}

pub(super) fn write(result: &LoadResult<'_>, out: &mut dyn Write) -> io::Result<()> {
    let Measured { levels, found, .. } = result.measured;
    let settings = result.settings;
    let judged = |level| JudgedLevel { level, verdict: Verdict::of(level, settings) };
    let stage = |stage: &SearchStage| Stage {
        rate: stage.rate,
        seconds: stage.seconds,
        completed_per_second: stage.level.completed_per_second,
        outcome: stage.outcome,
        verdict: Verdict::of(&stage.level, settings),
    };
    let found = found.as_ref().map(|found: &Found| Search {
        goal: found.goal,
        rate: found.rate,
        interval: found.interval,
        confirmed: found.confirmed,
        is_lower_bound: is_lower_bound(found),
        confirmation: judged(&found.confirmation),
        stages: found.stages.iter().map(stage).collect(),
    });
    let output = Output {
        targets: result.targets,
        resolved: result.resolved,
        settings,
        background: &result.background,
        held_background: &result.held.levels,
        levels: levels.iter().map(judged).collect(),
        found,
        compared: result.baseline.map(|baseline| baseline.compare(levels)),
    };
    serde_json::to_writer(&mut *out, &output)?;
    writeln!(out)
}
