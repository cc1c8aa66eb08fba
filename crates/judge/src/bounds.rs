//! The levels of a recording whose values are only lower bounds: by its limitations, and where the load
//! generator was the limit.

use std::collections::{BTreeMap, HashMap};

use record::{Limitation, LimitedBy, Purpose, Recording, SeriesKey, SeriesKind, Trial, TrialKey};
use serde::Serialize;

use crate::generator::{Evidence, LoadVerdict, is_of_server, load_verdict};

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
        let is_meant = |bound: &&Bound<'_>| bound.is_of(&key.name) && bound.n.is_none_or(|level| level == n);
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
    use record::GeneratorLevel;

    use super::*;
    use crate::generator::tests::{closed, key};

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
