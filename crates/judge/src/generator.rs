//! Where the generator of a load was the limit: what a trial's checks and warnings say of it.

use record::{SeriesKind, Trial};

/// Where the generator was the limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limited {
    /// The levels; empty where none is named, which means all.
    pub levels: Vec<u64>,
    /// In how many trials.
    pub trials: usize,
    /// Of so many.
    pub of: usize,
}

impl Limited {
    /// Whether a level is meant.
    pub fn at(&self, n: u64) -> bool {
        self.levels.is_empty() || self.levels.contains(&n)
    }
}

/// Who kept a generator from its schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitedBy {
    /// The generator itself was at its end.
    Generator,
    /// Others had its processor.
    Others,
}

/// What all trials say of their generator, for one cause.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GeneratorRemark {
    /// Who kept it from its schedule.
    pub by: LimitedBy,
    /// Where, and in how many trials.
    pub limited: Limited,
    /// What the trials measured of it, in their words; none where they did not say.
    pub reason: Option<String>,
    /// Whether trials measured different things, of which `reason` is the last.
    pub is_one_of_several: bool,
}

/// How the claim begins that a generator proves.
const CLAIM: &str = "the generator kept up";
/// The beginnings of a trial's warning: the generator was saturated, or others had its processor.
const WARNINGS: [&str; 2] = ["limited by the generator", "disturbed"];

/// Whether a series was counted at the server. What an answer takes of its processor, or a connection of
/// memory, does not depend on the rate of requests.
pub(crate) fn is_of_server(kind: &SeriesKind) -> bool {
    kind.unit == "B" || kind.name.starts_with("server ")
}

/// Whether a check is about the generator.
pub(crate) fn is_claim(claim: &str) -> bool {
    begins(claim, CLAIM)
}

/// Whether a trial's warning is about the generator.
pub(crate) fn is_warning(warning: &str) -> bool {
    WARNINGS.iter().any(|beginning| begins(warning, beginning))
}

/// What the warnings of all trials come to, at most one remark for each cause.
pub(crate) fn remarks(trials: &[&Trial]) -> Vec<GeneratorRemark> {
    let causes = [(LimitedBy::Generator, WARNINGS[0]), (LimitedBy::Others, WARNINGS[1])];
    causes.into_iter().filter_map(|cause| remark(trials, cause)).collect()
}

fn remark(trials: &[&Trial], (by, beginning): (LimitedBy, &str)) -> Option<GeneratorRemark> {
    let is_meant = |words: &str| begins(words, beginning);
    let warnings = || trials.iter().flat_map(|trial| &trial.warnings).filter(|warning| is_meant(warning));
    let levels: Vec<u64> = warnings().filter_map(|warning| places(warning)).flatten().collect();
    let mut reasons: Vec<&str> =
        warnings().map(|warning| warning.split_once(": ").unwrap_or_default().1).collect();
    reasons.dedup();
    let last = reasons.last()?;
    Some(GeneratorRemark {
        by,
        limited: gathered(trials, &levels, is_meant)?,
        reason: (reasons != [""]).then(|| (*last).to_string()),
        is_one_of_several: reasons.len() > 1,
    })
}

/// What the trials of one variant say, whose levels are these. One trial is enough: which trials a generator
/// limits is not random, and leaving these out would favour the slow one.
pub(crate) fn limited(trials: &[&Trial], levels: &[u64]) -> Option<Limited> {
    gathered(trials, levels, |_| true)
}

fn gathered(trials: &[&Trial], levels: &[u64], is_meant: impl Fn(&str) -> bool) -> Option<Limited> {
    let mut limited = Limited { levels: Vec::new(), trials: 0, of: trials.len() };
    let mut all = false;
    for trial in trials {
        let said: Vec<&str> = said(trial).filter(|words| is_meant(words)).collect();
        limited.trials += usize::from(!said.is_empty());
        for words in said {
            match places(words).filter(|places| places.iter().all(|n| levels.contains(n))) {
                Some(places) => limited.levels.extend(places),
                None => all = true,
            }
        }
    }
    limited.levels.sort_unstable();
    limited.levels.dedup();
    if all {
        limited.levels.clear();
    }
    (limited.trials > 0).then_some(limited)
}

/// What one trial says of its generator that bounds its numbers.
fn said(trial: &Trial) -> impl Iterator<Item = &str> {
    let failed = trial.checks.iter().filter(|check| !check.held && is_claim(&check.claim));
    let warned = trial.warnings.iter().filter(|warning| is_warning(warning));
    failed.map(|check| check.claim.as_str()).chain(warned.map(String::as_str))
}

fn begins(text: &str, with: &str) -> bool {
    text.trim_start().get(..with.len()).is_some_and(|head| head.eq_ignore_ascii_case(with))
}

/// The levels that are named: `at 1 000 connections`, `at n = 500 and 1000: …`; `None` where none is.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn trial(warnings: &[&str]) -> Trial {
        let trial = serde_json::json!({
            "system": "local", "workload": "race", "version": 1, "variant": "epoll", "trial": 1, "n": 5,
            "seed": 7, "timeout_seconds": 60.0, "scratch": "/", "elapsed_seconds": 1.0,
            "outcome": {"ended": "complete"}, "warnings": warnings,
        });
        serde_json::from_value(trial).expect("a trial")
    }

    #[test]
    fn many_warnings_come_to_one_remark() {
        let said = |trials: &[&[&str]]| {
            let trials: Vec<Trial> = trials.iter().map(|warnings| trial(warnings)).collect();
            let said = remarks(&trials.iter().collect::<Vec<&Trial>>()).into_iter();
            let parts = |one: GeneratorRemark| {
                (one.by, one.limited.levels, one.limited.trials, one.reason, one.is_one_of_several)
            };
            said.map(parts).collect::<Vec<_>>()
        };
        let (two, five) =
            ("limited by the generator at 2: busy 90 %", "limited by the generator at 5: busy 99 %");
        let busy = || Some("busy 99 %".to_string());
        assert!(said(&[&[], &["The limit is low."]]).is_empty());
        assert_eq!(said(&[&[five], &[]]), [(LimitedBy::Generator, vec![5], 1, busy(), false)]);
        assert_eq!(said(&[&[two], &[two, five]]), [(LimitedBy::Generator, vec![2, 5], 2, busy(), true)]);
        assert_eq!(said(&[&["limited by the generator"]]), [(LimitedBy::Generator, vec![], 1, None, false)]);
        let others = "disturbed at 2: others had the processor";
        let disturbed = (LimitedBy::Others, vec![2], 2, Some("others had the processor".to_string()), false);
        let each = [(LimitedBy::Generator, vec![5], 1, busy(), false), disturbed];
        assert_eq!(said(&[&[five, others], &[others]]), each);
    }

    #[test]
    fn a_disturbed_level_is_left_out_like_a_limited_one() {
        let trial = trial(&["disturbed at 1000: others had the processor for 40 % of the time"]);
        let limited = limited(&[&trial], &[1, 1000]).expect("limited");
        assert_eq!((limited.at(1), limited.at(1000)), (false, true));
    }

    #[test]
    fn levels_are_read_where_they_are_named() {
        assert_eq!(places("limited by the generator at 1 000 connections"), Some(vec![1_000]));
        assert_eq!(places("the generator kept up at n = 500 and 1000: 98 % busy"), Some(vec![500, 1_000]));
        assert_eq!(places("the generator kept up at 20, 50 and 1\u{202f}000"), Some(vec![20, 50, 1_000]));
        assert_eq!(places("the generator kept up"), None);
        assert_eq!(places("limited by the generator at times"), None);
    }
}
