//! All that a load found, for programs.

use std::io::{self, Write};

use net::load::search::{Found, Goal, SearchStage, StageOutcome};
use net::load::{Level, LoadSettings};
use serde::Serialize;

use super::baseline::Comparison;
use super::verdict::{Verdict, is_lower_bound};

#[derive(Serialize)]
struct Output<'a> {
    targets: &'a [String],
    settings: &'a LoadSettings,
    /// What was held beside it, each load in its canonical form.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    background: Vec<String>,
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

pub(super) fn write(
    targets: &[String],
    (settings, (background, held_background)): (&LoadSettings, (Vec<String>, &[Vec<record::HeldBackground>])),
    levels: &[Level],
    found: Option<&Found>,
    compared: Option<Vec<Comparison>>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let judged = |level| JudgedLevel { level, verdict: Verdict::of(level) };
    let stage = |stage: &SearchStage| Stage {
        rate: stage.rate,
        seconds: stage.seconds,
        completed_per_second: stage.level.completed_per_second,
        outcome: stage.outcome,
        verdict: Verdict::of(&stage.level),
    };
    let found = found.map(|found| Search {
        goal: found.goal,
        rate: found.rate,
        confirmed: found.confirmed,
        is_lower_bound: is_lower_bound(found),
        confirmation: judged(&found.confirmation),
        stages: found.stages.iter().map(stage).collect(),
    });
    let levels = levels.iter().map(judged).collect();
    let output = Output { targets, settings, background, held_background, levels, found, compared };
    serde_json::to_writer(&mut *out, &output)?;
    writeln!(out)
}
