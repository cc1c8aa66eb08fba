//! Whether the load generator, and not the server, set the limit: judged from its own record.
//!
//! A saturated load generator measures itself. Its measurements are then lower bounds of the server's rate. A
//! rate ranks as such a bound; nothing else is ranked or compared.

use std::collections::{BTreeMap, HashMap};

use record::{
    GeneratorLevel, Limitation, LimitedBy, Purpose, Recording, SeriesKey, SeriesKind, Side, Tester, Trial,
    TrialKey,
};
use serde::Serialize;

/// A generator in a closed loop that is busier than this leaves connections waiting that have been answered:
/// a queue that is served 85 % of the time holds nearly six on average (M/M/1: ρ / (1 − ρ)).
const BUSY_SHARE: f64 = 0.85;
/// A generator in an open loop that is later than this, and than [`LATE_SHARE`] of the median latency, no
/// longer offers the requested load. Timers and schedulers take a millisecond anyway.
const LATE_SECONDS: f64 = 1e-3;
/// Lateness below this share of the median latency is indistinguishable from the latency.
const LATE_SHARE: f64 = 0.1;
/// Where more than this share of the requests of an open loop, or of the connections of a closed loop, got no
/// response, the server is behind, even if the generator was busy.
const BEHIND_SHARE: f64 = 0.01;

/// The levels where something other than the system was the limit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LimitedLevels {
    /// The load generator where there are several.
    pub by: LimitedBy,
    /// Levels; empty for all of them.
    #[serde(rename = "n")]
    pub levels: Vec<u64>,
    /// How many trials.
    pub trials: usize,
    /// Of how many.
    pub of: usize,
}

impl LimitedLevels {
    /// Whether a level is meant.
    pub fn at(&self, n: u64) -> bool {
        self.levels.is_empty() || self.levels.contains(&n)
    }
}

/// Why the values of a load are only lower bounds, over all of its trials.
#[derive(Clone, Debug, PartialEq)]
pub struct GeneratorRemark {
    /// The cause of the bound.
    pub by: LimitedBy,
    /// The purpose of the load.
    pub purpose: Purpose,
    /// The levels, and the number of trials.
    pub limited: LimitedLevels,
    /// The evidence; `None` where the record has none.
    pub evidence: Option<Evidence>,
    /// Whether trials have different evidence; this is then the last one's.
    pub is_one_of_several: bool,
}

/// The evidence that a load generator was the limit. Shares are of the time, in whole percent.
#[derive(Clone, Debug, PartialEq)]
pub enum Evidence {
    /// It was busy, or waited for a processor that others had.
    Busy {
        /// Share of a processor that it used.
        busy_percent: u32,
        /// How long it waited for one.
        run_delay_percent: u32,
    },
    /// It sent requests late.
    Late {
        /// 1 % of them were later than this.
        seconds: f64,
        /// How long it waited for a processor.
        run_delay_percent: u32,
    },
    /// The reason in the record.
    Recorded(String),
}

/// The limit of a load that was offered once.
#[derive(Clone, Debug, PartialEq)]
pub enum LoadVerdict {
    /// Only the server, by the record of the load generator.
    Sound,
    /// The load generator, or others on its processor, kept it from offering the load that was requested.
    Limited(LimitedBy, Evidence),
    /// The server, or the number of connections, did not keep up with the load.
    Behind,
    /// There was no correct response.
    NoResponse,
}

/// The limit of this load.
pub fn load_verdict(level: &GeneratorLevel) -> LoadVerdict {
    let Some(median) = level.latency_seconds_p50 else { return LoadVerdict::NoResponse };
    let delay = level.run_delay_share.unwrap_or(0.0);
    let run_delay_percent = percent(delay);
    // However late they were sent, the timeout runs from there.
    if level.timed_out as f64 > BEHIND_SHARE * requests(level) {
        return LoadVerdict::Behind;
    }
    if level.tester == Tester::Sink {
        return sink_verdict(level);
    }
    let without = level.unanswered.saturating_add(level.timed_out) as f64;
    let is_behind = without > BEHIND_SHARE * requests(level);
    if let (Some(seconds), Some(_)) = (level.lateness_seconds_p99, level.intended_per_second) {
        let is_late = seconds > LATE_SECONDS.max(LATE_SHARE * median);
        return match (is_late, is_behind) {
            (true, _) => {
                LoadVerdict::Limited(LimitedBy::Generator, Evidence::Late { seconds, run_delay_percent })
            }
            (false, true) => LoadVerdict::Behind,
            (false, false) => LoadVerdict::Sound,
        };
    }
    // In a closed loop each connection waits for one response, or for a few.
    if is_behind || level.unanswered as f64 > BEHIND_SHARE * level.connections as f64 {
        return LoadVerdict::Behind;
    }
    let evidence = Evidence::Busy { busy_percent: percent(level.cpu_share), run_delay_percent };
    match level.cpu_share {
        share if share > BUSY_SHARE => LoadVerdict::Limited(LimitedBy::Generator, evidence),
        share if share + delay > BUSY_SHARE => LoadVerdict::Limited(LimitedBy::Others, evidence),
        _ => LoadVerdict::Sound,
    }
}

/// The limit of a measured client: its sink, where that was busier than the client, because the busier of two
/// that wait for each other is the limit; or others on the processor of the client.
fn sink_verdict(level: &GeneratorLevel) -> LoadVerdict {
    let client = level.client_cpu_share.unwrap_or(0.0);
    let delay = level.run_delay_share.unwrap_or(0.0);
    if level.cpu_share > BUSY_SHARE && level.cpu_share >= client {
        let evidence = Evidence::Busy { busy_percent: percent(level.cpu_share), run_delay_percent: 0 };
        return LoadVerdict::Limited(LimitedBy::Sink, evidence);
    }
    if delay > 1.0 - BUSY_SHARE {
        let evidence = Evidence::Busy { busy_percent: percent(client), run_delay_percent: percent(delay) };
        return LoadVerdict::Limited(LimitedBy::Others, evidence);
    }
    LoadVerdict::Sound
}

/// The requests that were meant to start; in a closed loop those that were sent.
fn requests(level: &GeneratorLevel) -> f64 {
    level.intended_per_second.unwrap_or(level.started_per_second) * level.elapsed_seconds
}

fn percent(share: f64) -> u32 {
    (share * 100.0).round() as u32
}

/// Whether a series was counted at the server. The processor time of a response, or the memory of a
/// connection, does not depend on the rate of requests.
pub(crate) fn is_of_server(kind: &SeriesKind) -> bool {
    kind.side == Side::Server
}

/// The lower bounds of one trial.
#[derive(Clone, Debug)]
struct Bound<'a> {
    /// The level; `None` for all of them.
    n: Option<u64>,
    purpose: Purpose,
    by: LimitedBy,
    /// The series; empty for all.
    series: &'a [String],
    evidence: Option<Evidence>,
}

impl Bound<'_> {
    /// Whether it concerns the values of a series.
    fn is_of(&self, series: &str) -> bool {
        let is_named = self.series.is_empty() || self.series.iter().any(|name| name == series);
        self.purpose == Purpose::Level && is_named
    }
}

/// All lower bounds of a recording, by system, workload and variant.
#[derive(Debug, Default)]
pub struct Bounds<'a>(HashMap<[&'a str; 3], ByTrial<'a>>);

type ByTrial<'a> = BTreeMap<u32, Vec<Bound<'a>>>;

/// The bounds of one variant, if it has any.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BoundsOf<'a>(Option<&'a ByTrial<'a>>);

impl<'a> Bounds<'a> {
    /// The limits in the record, and those that follow from saturated load generators.
    pub fn new(recording: &'a Recording) -> Self {
        let mut bounds = Bounds::default();
        for Limitation { of, n, by, series, why } in &recording.limitations {
            let evidence = (!why.is_empty()).then(|| Evidence::Recorded(why.clone()));
            bounds.add(of, *n, Purpose::Level, (*by, evidence), series);
        }
        for level in &recording.generators {
            if let LoadVerdict::Limited(by, evidence) = load_verdict(level) {
                bounds.add(&level.of, Some(level.n), level.purpose, (by, Some(evidence)), &level.series);
            }
        }
        bounds
    }

    fn add(
        &mut self,
        of: &'a TrialKey,
        n: Option<u64>,
        purpose: Purpose,
        (by, evidence): (LimitedBy, Option<Evidence>),
        series: &'a [String],
    ) {
        let bound = Bound { n, purpose, by, series, evidence };
        let variant = self.0.entry([&of.system, &of.workload, &of.variant]).or_default();
        variant.entry(of.trial).or_default().push(bound);
    }

    /// The limit of this series at this level in one trial; `None` if there is none. Values counted at the
    /// server are never limited.
    pub fn of_value(
        &self,
        key: &SeriesKey,
        kind: Option<&SeriesKind>,
        trial: u32,
        n: u64,
    ) -> Option<LimitedBy> {
        if self.0.is_empty() || kind.is_some_and(is_of_server) {
            return None;
        }
        let bounds = self.of_variant(&key.system, &key.workload, &key.variant);
        let is_meant = |bound: &&Bound<'_>| {
            bound.purpose == Purpose::Level
                && bound.n.is_none_or(|level| level == n)
                && (bound.series.is_empty() || bound.series.contains(&key.name))
        };
        bounds.of_number(trial).iter().filter(is_meant).map(|bound| bound.by).min()
    }

    pub(crate) fn of_variant<'s>(
        &'s self,
        system: &'s str,
        workload: &'s str,
        variant: &'s str,
    ) -> BoundsOf<'s> {
        let variants: &HashMap<[&'s str; 3], ByTrial<'s>> = &self.0;
        BoundsOf(variants.get(&[system, workload, variant]))
    }
}

impl<'a> BoundsOf<'a> {
    /// The levels where the load generator, or others on its processor, limited a series of one variant. One
    /// trial is enough: a generator does not limit trials at random, and to leave these out would favour slow
    /// variants.
    pub(crate) fn limited(self, trials: &[&Trial], series: &str, levels: &[u64]) -> Option<LimitedLevels> {
        let is_meant = |bound: &Bound<'_>| bound.is_of(series) && bound.by != LimitedBy::Time;
        self.gathered(trials, |n| levels.contains(&n), is_meant)
    }

    /// The same, and the levels where the time was up before all was measured: a latency that is only a lower
    /// bound would rank as if it were the latency.
    pub(crate) fn not_compared(
        self,
        trials: &[&Trial],
        series: &str,
        levels: &[u64],
    ) -> Option<LimitedLevels> {
        self.gathered(trials, |n| levels.contains(&n), |bound| bound.is_of(series))
    }

    /// All lower bounds, at most one remark for each cause and purpose.
    pub(crate) fn remarks(self, trials: &[&Trial]) -> Vec<GeneratorRemark> {
        let causes = [LimitedBy::Generator, LimitedBy::Sink, LimitedBy::Others, LimitedBy::Time];
        let of_purpose = |purpose| causes.into_iter().filter_map(move |by| self.remark(trials, by, purpose));
        [Purpose::Level, Purpose::Capacity].into_iter().flat_map(of_purpose).collect()
    }

    fn remark(self, trials: &[&Trial], by: LimitedBy, purpose: Purpose) -> Option<GeneratorRemark> {
        let is_meant = |bound: &Bound<'_>| (bound.by, bound.purpose) == (by, purpose);
        let limited = self.gathered(trials, |_| true, is_meant)?;
        let bounds = trials.iter().flat_map(|trial| self.of_trial(trial)).filter(|bound| is_meant(bound));
        let mut evidence: Vec<Option<Evidence>> = bounds.map(|bound| bound.evidence.clone()).collect();
        evidence.dedup();
        let is_one_of_several = evidence.len() > 1;
        Some(GeneratorRemark { by, purpose, limited, evidence: evidence.pop()?, is_one_of_several })
    }

    fn of_trial(self, trial: &Trial) -> &'a [Bound<'a>] {
        self.of_number(trial.order.trial)
    }

    fn of_number(self, trial: u32) -> &'a [Bound<'a>] {
        self.0.and_then(|bounds| bounds.get(&trial)).map_or(&[], Vec::as_slice)
    }

    fn gathered(
        self,
        trials: &[&Trial],
        is_level: impl Fn(u64) -> bool,
        is_meant: impl Fn(&Bound<'_>) -> bool,
    ) -> Option<LimitedLevels> {
        let mut limited =
            LimitedLevels { by: LimitedBy::Time, levels: Vec::new(), trials: 0, of: trials.len() };
        let mut all = false;
        for trial in trials {
            let mut is_limited = false;
            for bound in self.of_trial(trial).iter().filter(|bound| is_meant(bound)) {
                is_limited = true;
                limited.by = limited.by.min(bound.by);
                match bound.n.filter(|n| is_level(*n)) {
                    Some(n) => limited.levels.push(n),
                    None => all = true,
                }
            }
            limited.trials += usize::from(is_limited);
        }
        limited.levels.sort_unstable();
        limited.levels.dedup();
        if all {
            limited.levels.clear();
        }
        (limited.trials > 0).then_some(limited)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn closed(cpu_share: f64, run_delay_share: f64) -> GeneratorLevel {
        GeneratorLevel {
            of: key(1),
            n: 5,
            purpose: Purpose::Level,
            tester: Tester::Generator,
            client_cpu_share: None,
            series: Vec::new(),
            generators: 1,
            connections: 5,
            elapsed_seconds: 1.0,
            intended_per_second: None,
            started_per_second: 1e5,
            completed_per_second: 1e5,
            unanswered: 0,
            timed_out: 0,
            cpu_share,
            run_delay_share: Some(run_delay_share),
            latency_seconds_p50: Some(1e-4),
            lateness_seconds_p99: None,
            failures: Vec::new(),
        }
    }

    fn open(late: f64, median: f64) -> GeneratorLevel {
        GeneratorLevel {
            intended_per_second: Some(1e5),
            lateness_seconds_p99: Some(late),
            latency_seconds_p50: Some(median),
            ..closed(0.99, 0.0)
        }
    }

    fn key(trial: u32) -> TrialKey {
        let (system, workload, variant) = ("local".into(), "race".into(), "epoll".into());
        TrialKey { system, workload, variant, trial }
    }

    fn trial(number: u32) -> Trial {
        let trial = serde_json::json!({
            "system": "local", "workload": "race", "version": 1, "variant": "epoll", "trial": number, "n": 5,
            "seed": 7, "timeout_seconds": 60.0, "scratch": "/", "elapsed_seconds": 1.0,
            "outcome": {"ended": "complete"},
        });
        serde_json::from_value(trial).expect("a trial")
    }

    fn recording(generators: Vec<GeneratorLevel>, limitations: Vec<Limitation>) -> Recording {
        let run = serde_json::json!({
            "type": "run", "schema": 2, "tool": {"name": "", "version": "", "build": ""}, "started_at": "",
            "command": [], "preset": "", "seed": 1, "looks": [], "pinned": true,
        });
        let run = record::parse_line(&run.to_string()).expect("a run line");
        let generators = generators.into_iter().map(record::Line::Generator);
        let limitations = limitations.into_iter().map(record::Line::Limited);
        Recording::new([run].into_iter().chain(generators).chain(limitations)).expect("a recording")
    }

    fn said(n: Option<u64>, trial: u32, by: LimitedBy, why: &str) -> Limitation {
        Limitation { of: key(trial), n, by, series: Vec::new(), why: why.into() }
    }

    #[test]
    fn others_are_told_from_the_generator_itself() {
        let busy = |busy_percent, run_delay_percent| Evidence::Busy { busy_percent, run_delay_percent };
        let limited = |by, evidence| LoadVerdict::Limited(by, evidence);
        assert_eq!(load_verdict(&closed(0.5, 0.2)), LoadVerdict::Sound);
        assert_eq!(load_verdict(&closed(0.9, 0.0)), limited(LimitedBy::Generator, busy(90, 0)));
        assert_eq!(load_verdict(&closed(0.86, 0.14)), limited(LimitedBy::Generator, busy(86, 14)));
        assert_eq!(load_verdict(&closed(0.5, 0.4)), limited(LimitedBy::Others, busy(50, 40)));
    }

    #[test]
    fn a_sink_is_the_limit_where_it_is_busier_than_the_client() {
        let verdict = |cpu_share, client_cpu_share, delay| {
            let client_cpu_share = Some(client_cpu_share);
            let tester = Tester::Sink;
            load_verdict(&GeneratorLevel { tester, client_cpu_share, ..closed(cpu_share, delay) })
        };
        let busy = |busy_percent, run_delay_percent| Evidence::Busy { busy_percent, run_delay_percent };
        assert_eq!(verdict(0.9, 0.8, 0.0), LoadVerdict::Limited(LimitedBy::Sink, busy(90, 0)));
        assert_eq!(verdict(0.9, 0.99, 0.0), LoadVerdict::Sound, "the client is the limit");
        assert_eq!(verdict(0.5, 0.99, 0.1), LoadVerdict::Sound);
        assert_eq!(verdict(0.5, 0.7, 0.3), LoadVerdict::Limited(LimitedBy::Others, busy(70, 30)));
    }

    #[test]
    fn in_an_open_loop_it_must_not_be_late() {
        let evidence = Evidence::Late { seconds: 0.002, run_delay_percent: 0 };
        let late = LoadVerdict::Limited(LimitedBy::Generator, evidence);
        assert_eq!(load_verdict(&open(0.002, 1e-4)), late);
        assert_eq!(load_verdict(&open(0.002, 0.1)), LoadVerdict::Sound, "less than a tenth of the median");
        assert_eq!(load_verdict(&open(0.0009, 1e-4)), LoadVerdict::Sound, "less than a millisecond");
    }

    #[test]
    fn a_server_that_is_behind_is_no_fault_of_the_generator() {
        let without = |unanswered, level| load_verdict(&GeneratorLevel { unanswered, ..level });
        assert_eq!(without(1, closed(0.99, 0.0)), LoadVerdict::Behind);
        // Of a hundred thousand requests.
        assert_eq!(without(1001, open(0.0, 1e-4)), LoadVerdict::Behind);
        assert_eq!(without(999, open(0.0, 1e-4)), LoadVerdict::Sound);
        assert!(matches!(without(1001, open(0.002, 1e-4)), LoadVerdict::Limited(..)), "late comes first");
        let timed_out = GeneratorLevel { timed_out: 1001, ..open(0.002, 1e-4) };
        assert_eq!(load_verdict(&timed_out), LoadVerdict::Behind, "a timeout runs from the sending");
        let nothing = GeneratorLevel { latency_seconds_p50: None, ..closed(0.99, 0.0) };
        assert_eq!(load_verdict(&nothing), LoadVerdict::NoResponse);
    }

    #[test]
    fn levels_of_all_trials_come_together() {
        let recording = recording(
            vec![closed(0.99, 0.0), GeneratorLevel { n: 1, ..closed(0.2, 0.0) }],
            vec![said(Some(2), 2, LimitedBy::Others, "others had the processor")],
        );
        let bounds = Bounds::new(&recording);
        let (one, two, three) = (trial(1), trial(2), trial(3));
        let bounds = bounds.of_variant("local", "race", "epoll");
        let limited = |levels| bounds.limited(&[&one, &two, &three], "p99", levels).expect("limited");
        let by = LimitedBy::Generator;
        let expected = |levels| LimitedLevels { by, levels, trials: 2, of: 3 };
        assert_eq!(limited(&[1, 2, 5]), expected(vec![2, 5]));
        assert_eq!(limited(&[1, 2]), expected(vec![]), "a level that nobody has means all");
        assert_eq!(bounds.limited(&[&three], "p99", &[1, 2, 5]), None);
        let remarks = bounds.remarks(&[&one, &two, &three]);
        let parts = |remark: &GeneratorRemark| (remark.by, remark.limited.levels.clone());
        let parts: Vec<_> = remarks.iter().map(parts).collect();
        assert_eq!(parts, [(LimitedBy::Generator, vec![5]), (LimitedBy::Others, vec![2])]);
    }

    #[test]
    fn evidence_that_differs_is_one_of_several() {
        let all = vec![
            said(Some(2), 1, LimitedBy::Generator, "busy 90 %"),
            said(Some(5), 2, LimitedBy::Generator, "busy 99 %"),
            said(None, 2, LimitedBy::Time, ""),
        ];
        let recording = recording(Vec::new(), all);
        let bounds = Bounds::new(&recording);
        let bounds = bounds.of_variant("local", "race", "epoll");
        let (one, two) = (trial(1), trial(2));
        let remarks = bounds.remarks(&[&one, &two]);
        assert_eq!(remarks.len(), 2);
        assert_eq!(remarks[0].evidence, Some(Evidence::Recorded("busy 99 %".into())));
        assert!(remarks[0].is_one_of_several);
        assert_eq!((&remarks[1].evidence, remarks[1].limited.levels.len()), (&None, 0));
        let with_time = bounds.not_compared(&[&two], "p99", &[5]).expect("limited");
        assert_eq!((with_time.by, with_time.levels.len()), (LimitedBy::Generator, 0), "at all levels");
        let generator = bounds.limited(&[&two], "p99", &[5]).expect("limited");
        assert_eq!(generator.levels, [5], "the time is no fault of the generator");
    }

    #[test]
    fn a_capacity_is_a_remark_and_no_level() {
        let capacity = GeneratorLevel { purpose: Purpose::Capacity, n: 0, ..closed(0.99, 0.0) };
        let recording = recording(vec![capacity], Vec::new());
        let bounds = Bounds::new(&recording);
        let bounds = bounds.of_variant("local", "race", "epoll");
        let one = trial(1);
        assert_eq!(bounds.limited(&[&one], "p99", &[1, 5]), None);
        assert_eq!(bounds.remarks(&[&one])[0].purpose, Purpose::Capacity);
    }
}
