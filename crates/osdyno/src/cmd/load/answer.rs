//! The answer of `osdyno load`: the measurements, their limits, remedies for failures, and the comparison
//! with an earlier load. Limits are judged by the rule for loads of a run, and in the same words.

use std::path::PathBuf;

use judge::{LoadVerdict, load_verdict};
use net::load::search::{Found, Goal, SearchStage, StageOutcome};
use net::load::{Failure, FailureKind, Level, Load, LoadSettings, RequestStage};
use record::{GeneratorLevel, HeldBackground, LimitedBy, Purpose};
use serde::Serialize;

use super::target::Resolved;
use crate::cmd::limits::LimitAnswer;

/// The answer of `osdyno load`.
#[derive(Serialize)]
pub(super) struct LoadAnswer {
    /// As written.
    pub(super) targets: Vec<String>,
    /// Address of a name, and those that were skipped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) resolved: Option<Resolved>,
    /// Options of the command.
    pub(super) settings: LoadSettings,
    /// Loads of `--background`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) background: Vec<String>,
    /// How these were held, by level or stage.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) held_background: Vec<Vec<HeldBackground>>,
    /// Of a search, the confirming stage.
    pub(super) levels: Vec<JudgedLevel>,
    /// Highest rate that meets the goal of a search.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) found: Option<FoundRate>,
    /// Levels divided by those of the baseline.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) compared: Option<Vec<LevelComparison>>,
    /// Limits of `--max` and `--fail-on`, by level.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) limits: Vec<LimitAnswer>,
    /// The file of the baseline.
    #[serde(skip)]
    pub(super) baseline: Option<PathBuf>,
    /// The list of `held_background` of the reported stage of a search.
    #[serde(skip)]
    pub(super) stage: Option<usize>,
    /// The command line, without values that give access.
    #[serde(skip)]
    pub(super) command: Vec<String>,
}

/// A level, compared with that of the baseline.
#[derive(Serialize)]
pub(super) struct LevelComparison {
    /// The load.
    pub(super) load: Load,
    /// Why there is no comparison.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) refused: Option<String>,
    /// The ratios.
    pub(super) ratios: Vec<FigureRatio>,
}

/// A figure divided by that of the baseline, with its 95 % interval.
#[derive(Serialize)]
pub(super) struct FigureRatio {
    /// `requests/s`, `p50` or `p99`.
    pub(super) figure: &'static str,
    /// The ratio.
    pub(super) ratio: f64,
    /// Lower end of its 95 % interval.
    pub(super) low: f64,
    /// Upper end of its 95 % interval.
    pub(super) high: f64,
    /// Side of 1 on which the interval lies.
    pub(super) difference: BaselineDifference,
}

/// On which side of 1 an interval lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum BaselineDifference {
    /// Above.
    Higher,
    /// Below.
    Lower,
    /// On both.
    Uncertain,
}

/// The measurements at one level, and their limit.
#[derive(Clone, Serialize)]
pub(super) struct JudgedLevel {
    /// The measurements.
    #[serde(flatten)]
    pub(super) level: Level,
    /// The limit.
    pub(super) verdict: LevelVerdict,
}

/// The limit of one level.
#[derive(Clone, Serialize)]
pub(super) struct LevelVerdict {
    /// The limit.
    pub(super) limit: LevelLimit,
    /// Evidence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) reason: Option<String>,
    /// Remedy for failures.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) hint: Option<String>,
}

/// The limit of a level.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum LevelLimit {
    /// No known limit: the figures are those of the server.
    Sound,
    /// Most requests failed.
    Failed,
    /// The load generator.
    Generator,
    /// Other programs had the processor of the load generator.
    Disturbed,
    /// The server did not keep up.
    Behind,
    /// There was no correct response.
    NoResponses,
    /// Several load generators did not offer it at the same time: the figures do not count.
    Void,
}

/// The highest rate that meets a goal.
#[derive(Serialize)]
pub(super) struct FoundRate {
    /// The goal.
    pub(super) goal: Goal,
    /// Rate that half of the stages meet.
    pub(super) rate: Option<f64>,
    /// Its 95 % interval.
    pub(super) interval: Option<(f64, f64)>,
    /// Whether `confirmation` met the goal.
    pub(super) confirmed: bool,
    /// Whether the load generator ended the search.
    ///
    /// The server may meet the goal at a higher rate.
    pub(super) is_lower_bound: bool,
    /// Shortest duration of a stage.
    pub(super) stage_seconds: f64,
    /// Longer stage at the low end, or just below.
    pub(super) confirmation: JudgedLevel,
    /// All stages before, in their order.
    pub(super) stages: Vec<StageAnswer>,
    /// Stages of each rate together, the highest first.
    pub(super) rates: Vec<TriedRate>,
}

/// One stage of a search.
#[derive(Serialize)]
pub(super) struct StageAnswer {
    /// Requests per second that were meant to start.
    pub(super) rate: f64,
    /// Percentile of the goal.
    ///
    /// `null` with too few responses.
    pub(super) seconds: Option<f64>,
    /// Correct responses per second.
    pub(super) completed_per_second: f64,
    /// Whether the goal was met.
    pub(super) outcome: StageOutcome,
    /// The limit.
    pub(super) verdict: LevelVerdict,
}

/// All stages of one rate.
#[derive(Serialize)]
pub(super) struct TriedRate {
    /// Requests per second that were meant to start.
    pub(super) rate: f64,
    /// The stages.
    pub(super) stages: usize,
    /// How many of them met the goal.
    pub(super) met: usize,
    /// Those that the load generator limited.
    pub(super) limited: usize,
    /// Median of the stages.
    ///
    /// Of the percentile of the goal; `None` beyond the last response.
    pub(super) seconds: Option<f64>,
    /// Correct responses per second.
    pub(super) completed_per_second: f64,
}

impl LoadAnswer {
    /// Whether each background load was held in every second.
    pub(super) fn is_background_held(&self) -> bool {
        self.held_background.iter().flatten().all(|held| held.is_held)
    }

    /// How the background was held at each reported level. Of a search, one of many stages is reported.
    pub(super) fn background_of_levels(&self) -> Vec<&[HeldBackground]> {
        match self.stage {
            Some(place) => self.held_background.get(place).map(Vec::as_slice).into_iter().collect(),
            None => self.held_background.iter().map(Vec::as_slice).collect(),
        }
    }
}

impl JudgedLevel {
    pub(super) fn new(level: Level, settings: &LoadSettings) -> JudgedLevel {
        JudgedLevel { verdict: LevelVerdict::of(&level, settings), level }
    }
}

impl LevelVerdict {
    fn of(level: &Level, settings: &LoadSettings) -> LevelVerdict {
        let (limit, reason) = judged(level);
        let matters = |failure: &&Failure| failure.count as f64 > HINT_SHARE * level.requests.started as f64;
        let matter: Vec<&Failure> = level.failures.iter().filter(matters).collect();
        LevelVerdict { limit, reason, hint: hint(&matter, settings) }
    }

    /// Why the figures are not those of the server alone; `None` if they are.
    pub(super) fn sentence(&self) -> Option<String> {
        self.limit.words().map(|words| format!("{words}: {}", self.reason.as_deref().unwrap_or_default()))
    }
}

/// A share of failures above this matters: one in so many may happen to any load.
const HINT_SHARE: f64 = 0.01;

impl LevelLimit {
    /// Whether there was no correct response, or hardly any.
    pub(super) fn is_failure(self) -> bool {
        matches!(self, LevelLimit::Failed | LevelLimit::NoResponses)
    }

    /// The limit in words; `None` where there is none.
    fn words(self) -> Option<&'static str> {
        Some(match self {
            LevelLimit::Sound => return None,
            LevelLimit::Failed => "most requests failed",
            LevelLimit::Generator => "load generator saturated",
            LevelLimit::Disturbed => "disturbed",
            LevelLimit::Behind => "the server did not keep up",
            LevelLimit::NoResponses => "no correct response",
            LevelLimit::Void => "void",
        })
    }

    /// One word for a column; empty without a known limit.
    pub(super) fn column(self) -> &'static str {
        match self {
            LevelLimit::Sound => "",
            LevelLimit::Failed => "failed",
            LevelLimit::Generator => "generator",
            LevelLimit::Disturbed => "disturbed",
            LevelLimit::Behind => "behind",
            LevelLimit::NoResponses => "no responses",
            LevelLimit::Void => "void",
        }
    }
}

/// Why the figures of a level are not those of the server alone; `None` if they are.
pub(super) fn doubt(level: &Level) -> Option<String> {
    let (limit, reason) = judged(level);
    LevelVerdict { limit, reason, hint: None }.sentence()
}

/// The limit of a level, and the evidence.
fn judged(level: &Level) -> (LevelLimit, Option<String>) {
    if !level.void().is_empty() {
        let reasons: Vec<String> = level.void().iter().map(ToString::to_string).collect();
        return (LevelLimit::Void, Some(reasons.join("; ")));
    }
    // Failures other than timeouts, about which there is a verdict of its own.
    let failed = level.requests.failed.saturating_sub(level.requests.timed_out);
    if failed > level.requests.started / 2 && level.latency.count > 0 {
        let share = ::report::words::percent(failed as f64 / level.requests.started.max(1) as f64);
        return (LevelLimit::Failed, Some(share));
    }
    let facts = facts(level);
    let verdict = load_verdict(&facts);
    let limit = match verdict {
        LoadVerdict::Sound => LevelLimit::Sound,
        LoadVerdict::Limited(LimitedBy::Generator, _) => LevelLimit::Generator,
        LoadVerdict::Limited(..) => LevelLimit::Disturbed,
        LoadVerdict::Behind => LevelLimit::Behind,
        LoadVerdict::NoResponse => LevelLimit::NoResponses,
    };
    (limit, ::report::sentences::load_reason(&facts, &verdict))
}

/// The load generator's own observations.
pub(super) fn facts(level: &Level) -> GeneratorLevel {
    workload::server::generator_level(level.load.connections as u64, Purpose::Level, level)
}

/// Whether the load generator limited this level, so that its figures are not those of the server.
pub(super) fn is_limited_by_generator(level: &Level) -> bool {
    matches!(load_verdict(&facts(level)), LoadVerdict::Limited(LimitedBy::Generator, _))
}

impl FoundRate {
    pub(super) fn new(found: &Found, settings: &LoadSettings) -> FoundRate {
        let stage = |stage: &SearchStage| StageAnswer {
            rate: stage.rate,
            seconds: stage.seconds,
            completed_per_second: stage.level.completed_per_second,
            outcome: stage.outcome,
            verdict: LevelVerdict::of(&stage.level, settings),
        };
        let mut stages: Vec<&SearchStage> = found.stages.iter().collect();
        stages.sort_by(|one, other| other.rate.total_cmp(&one.rate));
        let rates = stages.chunk_by(|one, other| one.rate == other.rate).map(TriedRate::of).collect();
        FoundRate {
            goal: found.goal,
            rate: found.rate,
            interval: found.interval,
            confirmed: found.confirmed,
            is_lower_bound: is_lower_bound(found),
            stage_seconds: found.stage_seconds,
            confirmation: JudgedLevel::new(found.confirmation.clone(), settings),
            stages: found.stages.iter().map(stage).collect(),
            rates,
        }
    }
}

impl TriedRate {
    fn of(stages: &[&SearchStage]) -> TriedRate {
        let number = |outcome| stages.iter().filter(|stage| stage.outcome == outcome).count();
        // A percentile beyond the last response is the slowest of all.
        let mut seconds: Vec<f64> =
            stages.iter().map(|stage| stage.seconds.unwrap_or(f64::INFINITY)).collect();
        seconds.sort_by(f64::total_cmp);
        let median = seconds.get((seconds.len() - 1) / 2).copied().filter(|seconds| seconds.is_finite());
        let completed = stages.iter().map(|stage| stage.level.completed_per_second).sum::<f64>();
        TriedRate {
            rate: stages.first().map_or(0.0, |stage| stage.rate),
            stages: stages.len(),
            met: number(StageOutcome::Holds),
            limited: number(StageOutcome::Limited),
            seconds: median,
            completed_per_second: completed / stages.len() as f64,
        }
    }
}

fn is_lower_bound(found: &Found) -> bool {
    let Some((low, _)) = found.interval else { return false };
    let above = found.stages.iter().filter(|stage| stage.rate >= low);
    let ended = above.filter(|stage| stage.outcome != StageOutcome::Holds);
    let (limited, all) = ended.fold((0, 0), |(limited, all), stage| {
        (limited + usize::from(stage.outcome == StageOutcome::Limited), all + 1)
    });
    // Most of them: any stage may have met a busy moment.
    2 * limited > all
}

/// The remedy for the first of these failures that has one: those of a protocol come first, because they
/// cause connections to be closed.
fn hint(failures: &[&Failure], settings: &LoadSettings) -> Option<String> {
    let of_protocol = failures.iter().find_map(|failure| protocol_hint(failure.kind)).map(str::to_owned);
    of_protocol.or_else(|| failures.iter().find_map(|failure| connection_hint(failure, settings)))
}

/// The remedy for a response, a certificate, or another protocol.
fn protocol_hint(kind: FailureKind) -> Option<&'static str> {
    Some(match kind {
        FailureKind::Content => "if the page differs from response to response, add --any-body",
        FailureKind::CertificateUntrusted => {
            "the certificate of the server is signed by none that is trusted: name the one that signed it, \
             or itself, with --cacert FILE, or accept any with --insecure"
        }
        FailureKind::CertificateNotValidToday => {
            "the certificate of the server is not valid today: renew it, or accept any with --insecure"
        }
        FailureKind::CertificateForOtherName => {
            "the certificate of the server is for other names: load it by one of those, or accept any with \
             --insecure"
        }
        FailureKind::CertificateInvalid => "accept any certificate with --insecure",
        FailureKind::NoTls => "the server does not speak TLS at this port: load it as http://",
        FailureKind::NoHttp2 => "the server does not speak HTTP/2 at this port: leave --http2 out",
        FailureKind::NoProtocol => {
            "the server does not speak this version of HTTP at this port: try it with --http2, or without"
        }
        FailureKind::CertificateRequired => {
            "the server demands a certificate of its clients (mutual TLS), and osdyno load has none: load it \
             at a port that demands none"
        }
        FailureKind::HandshakeRefused => {
            "the server refused the handshake: it may demand a certificate of its clients (mutual TLS), and \
             osdyno load has none"
        }
        _ => return None,
    })
}

/// The advice about connections that are refused, closed, or not closed, and about statuses.
fn connection_hint(failure: &Failure, settings: &LoadSettings) -> Option<String> {
    let target = &settings.target;
    Some(match (failure.stage, failure.kind) {
        (_, FailureKind::Refused) => {
            format!("no server accepts connections at {target}: start it, or check the port")
        }
        (RequestStage::Connect, FailureKind::NoSocket) => {
            format!("there is no socket {target}: start the server, or check the path")
        }
        (RequestStage::Connect, FailureKind::Timeout | FailureKind::Unreachable) => {
            format!("no connection to {target} came about: check the address, and firewalls on the way")
        }
        (_, FailureKind::LeftOpen) => {
            "the server announces that it closes the connection, and leaves it open: it was closed from this \
             side after 100 ms (RFC 9112, section 9.6)"
                .to_owned()
        }
        (_, FailureKind::Closed) => {
            "the server closes connections without an announcement (Connection: close): it may limit their \
             requests or their number; stay below with --per-connection N or a lower -c, or use \
             --new-connections"
                .to_owned()
        }
        (_, FailureKind::Status(status)) => status_hint(status, settings.tls.is_some()),
        _ => return None,
    })
}

fn status_hint(status: u16, is_secure: bool) -> String {
    match status {
        301 | 302 | 303 | 307 | 308 => {
            format!("the server redirects: load the address that it names, or add --expect-status {status}")
        }
        401 => "the server demands credentials: give them with -H @FILE, as Authorization: …".to_owned(),
        // nginx refuses a client without a certificate by this status.
        400 if is_secure => {
            "if 400 is the correct status, add --expect-status 400; a server may also mean that it demands a \
             certificate of its clients (mutual TLS), and osdyno load has none"
                .to_owned()
        }
        _ => format!("if {status} is the correct status, add --expect-status {status}"),
    }
}
