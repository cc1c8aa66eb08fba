//! What limited a load: judged by the rule that judges loads of a run, and in the same words.

use judge::{LoadVerdict, load_verdict};
use net::load::Level;
use net::load::search::Found;
use record::{GeneratorLevel, LimitedBy, Purpose};
use serde::Serialize;

/// What limited one load, for programs.
#[derive(Serialize)]
pub(super) struct Verdict {
    limit: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

impl Verdict {
    pub(super) fn of(level: &Level) -> Verdict {
        let facts = facts(level);
        let verdict = load_verdict(&facts);
        let limit = match verdict {
            LoadVerdict::Sound => "sound",
            LoadVerdict::Limited(LimitedBy::Generator, _) => "generator",
            LoadVerdict::Limited(..) => "disturbed",
            LoadVerdict::Behind => "behind",
            LoadVerdict::NoResponse => "no_responses",
        };
        Verdict { limit, reason: ::report::sentences::load_reason(&facts, &verdict) }
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

/// Why the numbers are not those of the server alone; `None` if they are.
pub(super) fn sentence(level: &Level) -> Option<String> {
    let facts = facts(level);
    let verdict = load_verdict(&facts);
    let subject = match verdict {
        LoadVerdict::Sound => return None,
        LoadVerdict::Limited(LimitedBy::Generator, _) => "load generator saturated",
        LoadVerdict::Limited(..) => "disturbed",
        LoadVerdict::Behind => "the server did not keep up",
        LoadVerdict::NoResponse => "no correct response",
    };
    let reason = ::report::sentences::load_reason(&facts, &verdict).unwrap_or_default();
    Some(format!("{subject}: {reason}"))
}

/// Whether there was no correct response.
pub(super) fn is_without_response(level: &Level) -> bool {
    load_verdict(&facts(level)) == LoadVerdict::NoResponse
}

/// Whether the load generator, and not the server, ended the search: the server may meet the goal at a higher
/// rate.
pub(super) fn is_lower_bound(found: &Found) -> bool {
    let Some(rate) = found.rate else { return false };
    let failed = || found.stages.iter().filter(|stage| !stage.held && stage.rate > rate);
    let lowest = failed().map(|stage| stage.rate).fold(f64::INFINITY, f64::min);
    let is_limited = |level: &Level| matches!(load_verdict(&facts(level)), LoadVerdict::Limited(..));
    failed().any(|stage| stage.rate == lowest && is_limited(&stage.level))
}
