//! What limited a load: judged by the rule that judges loads of a run, and in the same words.

use judge::{LoadVerdict, load_verdict};
use net::load::search::{Found, StageOutcome};
use net::load::{Failure, Level, LoadSettings};
use record::{GeneratorLevel, LimitedBy, Purpose};
use serde::Serialize;

use super::hint;

/// What limited one load, for programs.
#[derive(Serialize)]
pub(super) struct Verdict {
    limit: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
}

impl Verdict {
    pub(super) fn of(level: &Level, settings: &LoadSettings) -> Verdict {
        let (limit, _, reason) = judged(level);
        Verdict { limit, reason, hint: hint(level, settings) }
    }

    /// One word for a column; empty if nothing is known to have limited the load.
    pub(super) fn column(&self) -> String {
        if self.limit == "sound" { String::new() } else { self.limit.replace('_', " ") }
    }
}

/// What the load generator saw of itself.
fn facts(level: &Level) -> GeneratorLevel {
    workload::server::generator_level(level.load.connections as u64, Purpose::Level, level)
}

/// A word for programs, one for people, and the reason.
fn judged(level: &Level) -> (&'static str, &'static str, Option<String>) {
    if is_mostly_failing(level) && level.latency.count > 0 {
        let share = ::report::words::percent(failed_otherwise(level) as f64 / level.started.max(1) as f64);
        return ("failed", "most requests failed", Some(share));
    }
    let facts = facts(level);
    let verdict = load_verdict(&facts);
    let (limit, words) = match verdict {
        LoadVerdict::Sound => ("sound", ""),
        LoadVerdict::Limited(LimitedBy::Generator, _) => ("generator", "load generator saturated"),
        LoadVerdict::Limited(..) => ("disturbed", "disturbed"),
        LoadVerdict::Behind => ("behind", "the server did not keep up"),
        LoadVerdict::NoResponse => ("no_responses", "no correct response"),
    };
    (limit, words, ::report::sentences::load_reason(&facts, &verdict))
}

/// Why the numbers are not those of the server alone; `None` if they are.
pub(super) fn sentence(level: &Level) -> Option<String> {
    match judged(level) {
        ("sound", ..) => None,
        (_, words, reason) => Some(format!("{words}: {}", reason.unwrap_or_default())),
    }
}

/// What to do, where a share of the responses that matters was not as expected.
pub(super) fn hint(level: &Level, settings: &LoadSettings) -> Option<String> {
    let matters = |failure: &&Failure| failure.count as f64 > HINT_SHARE * level.started as f64;
    let matter: Vec<&Failure> = level.failures.iter().filter(matters).collect();
    hint::first(&matter, settings)
}

/// One failure in so many may happen to any load.
const HINT_SHARE: f64 = 0.01;

/// Failures other than timeouts, about which there is a verdict of its own.
fn failed_otherwise(level: &Level) -> u64 {
    level.failed.saturating_sub(level.timed_out)
}

/// Whether figures of the other requests say little of the server.
fn is_mostly_failing(level: &Level) -> bool {
    failed_otherwise(level) > level.started / 2
}

/// Whether there was no correct response, or hardly any.
pub(super) fn is_failed(level: &Level) -> bool {
    is_mostly_failing(level) || load_verdict(&facts(level)) == LoadVerdict::NoResponse
}

/// Whether the load generator limited this load, so that its numbers are not those of the server.
pub(super) fn is_limited_by_generator(level: &Level) -> bool {
    matches!(load_verdict(&facts(level)), LoadVerdict::Limited(LimitedBy::Generator, _))
}

/// Whether the load generator, and not the server, ended the search: the server may meet the goal at a higher
/// rate.
pub(super) fn is_lower_bound(found: &Found) -> bool {
    let Some((low, _)) = found.interval else { return false };
    let above = found.stages.iter().filter(|stage| stage.rate >= low);
    let ended = above.filter(|stage| stage.outcome != StageOutcome::Holds);
    let (limited, all) = ended.fold((0, 0), |(limited, all), stage| {
        (limited + usize::from(stage.outcome == StageOutcome::Limited), all + 1)
    });
    // Most of them: any stage may have met a busy moment.
    2 * limited > all
}
