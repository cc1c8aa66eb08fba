//! What something other than the contender limited: which bounds are ranked, and what follows from them.

use crate::emulated;

use emulated::load::{self, Architecture, Saturated};
use judge::Findings;
use judge::compare::{Ranking, RankingEntry};
use record::{Limitation, LimitedBy, Line, TrialKey};
use report::document::terminal::Length;
use report::{Style, table};
use stats::Answer;

fn ranking<'a>(findings: &'a Findings, name: &str) -> &'a Ranking {
    findings.comparisons[0].rankings.iter().find(|ranking| ranking.name == name).unwrap()
}

fn contender<'a>(ranking: &'a Ranking, variant: &str) -> &'a RankingEntry {
    ranking.standings.iter().find(|contender| contender.name == variant).unwrap()
}

fn of(field: &[Architecture]) -> Findings {
    Findings::from_recording(&load::race(field, 10, 7))
}

/// Four, of which the generator limits these everywhere.
fn limited(names: &[&str]) -> Vec<Architecture> {
    let generator = |one: &Architecture| names.contains(&one.name).then_some(Saturated::Everywhere);
    load::four().into_iter().map(|one| Architecture { generator: generator(&one), ..one }).collect()
}

fn shown(findings: &Findings) -> String {
    let mut out = Vec::new();
    table::document(findings)
        .write(Length::All, &Style { width: 132, ..Style::default() }, &mut out)
        .unwrap();
    String::from_utf8(out).unwrap()
}

/// Emulated: the contender that the generator could not saturate is the fastest in truth.
#[test]
fn a_rate_that_the_generator_limited_is_a_lower_bound() {
    let findings = of(&load::four());
    let throughput = ranking(&findings, "throughput");
    let uring = throughput.best().unwrap();
    assert_eq!(uring.name, "uring");
    assert_eq!(uring.limited.as_ref().map(|l| (l.levels.clone(), l.trials)), Some((vec![1_000], 3)));
    assert!(uring.levels.last().unwrap().limited && uring.at(1_000).is_none() && uring.at(500).is_some());
    assert!(uring.at_least(1_000).is_some() && uring.at_least(500).is_none());
    let inetd = contender(throughput, "inetd");
    let last = inetd.last.clone().unwrap();
    assert_eq!((last.at_least, last.comparison.answer), (true, Answer::Slower));
    assert_eq!(inetd.rank.map(|rank| (rank.best, rank.worst)), Some((4, 4)));
    // What did not limit the two of them is a ratio, and no bound.
    assert!(!contender(throughput, "select").last.clone().unwrap().at_least);
    let document = emulated::json(&report::RunAnswer::new(&findings));
    let words = document["comparisons"][0]["series"][0]["words"].as_str().unwrap().to_owned();
    assert!(words.starts_with("uring has at least 1"), "{words}");

    // Of a latency it is neither.
    let p50 = ranking(&findings, "p50");
    assert_eq!(p50.best().unwrap().name, "epoll");
    let uring = contender(p50, "uring");
    assert_eq!(uring.last.clone().unwrap().comparison.n_high, 500);
    assert!(uring.at_least(1_000).is_none());
}

/// A limit that names no level is one of all levels.
#[test]
fn a_generator_that_limits_everything_limits_no_server() {
    let findings = of(&limited(&["uring"]));
    let latency = contender(ranking(&findings, "p50"), "uring");
    assert!(latency.is_limited() && latency.last.is_none() && latency.rank.is_none());
    assert_eq!(latency.levels.len(), 10);
    assert_eq!(ranking(&findings, "throughput").best().unwrap().name, "uring");
    let text = shown(&findings);
    assert!(text.contains("load generator saturated (3 of 10 trials)"), "{text}");
    // What was counted at the server does not depend on the generator.
    let (asked, counted) = text.split_once("\n  kernel memory").unwrap();
    let has_ratio = |text: &str| text.lines().any(|line| line.contains("uring  ") && line.contains('×'));
    assert!(!has_ratio(asked.split_once("\n  p50").unwrap().1), "{text}");
    assert!(has_ratio(counted) && asked.contains("uring   ≥ "), "{text}");
}

/// A contender that the generator limited may be better than all: that less was measured says nothing.
#[test]
fn a_bound_below_the_others_says_nothing() {
    let findings = of(&limited(&["inetd"]));
    let throughput = ranking(&findings, "throughput");
    let inetd = contender(throughput, "inetd");
    let last = inetd.last.clone().unwrap();
    assert_eq!((last.comparison.answer, last.comparison.trials_needed), (Answer::Unresolved, None));
    assert!(inetd.rank.is_none(), "{:?}", inetd.rank);
    assert!(throughput.behind().all(|(entry, _)| entry.name != "inetd"));
    assert!(shown(&findings).contains("inetd   ≥ "));
}

#[test]
fn of_two_bounds_nothing_is_reported() {
    let findings = of(&limited(&["epoll", "uring"]));
    let throughput = ranking(&findings, "throughput");
    let [uring, epoll] = ["uring", "epoll"].map(|name| contender(throughput, name));
    assert!([uring, epoll].iter().all(|one| one.last.is_none() && one.overall.is_none()));
    assert!([uring, epoll].iter().all(|one| one.rank.is_some_and(|rank| rank.best == 1)));
    assert_eq!(throughput.standings.iter().position(|one| one.name == "epoll"), Some(1));
    assert_eq!(contender(throughput, "inetd").rank.map(|rank| rank.best), Some(4));
}

/// Where the time was up before all requests had a response, a percentile is longer than what was measured.
#[test]
fn a_lower_bound_of_time_is_never_ranked() {
    let mut lines = load::lines(&limited(&[]), 10, 7);
    let key = TrialKey { system: "local".into(), workload: "race".into(), variant: "inetd".into(), trial: 1 };
    let (by, series, why) = (LimitedBy::Time, vec!["p99".into()], "900 requests had no response".into());
    let end = lines.len() - 1;
    lines.insert(end, Line::Limited(Limitation { of: key, n: Some(1_000), by, series, why }));
    let findings = Findings::from_recording(&record::Recording::new(lines).unwrap());
    let inetd = |name| contender(ranking(&findings, name), "inetd").clone();
    assert_eq!(inetd("p99").last.unwrap().comparison.n_high, 500);
    assert_eq!(inetd("p50").last.unwrap().comparison.n_high, 1_000);
    let text = shown(&findings);
    assert!(text.contains("lower bound at 1 000 (1 of 10 trials)"), "{text}");
}

/// Of two the larger value comes first, whichever was taken as the best at the last level.
#[test]
fn what_stopped_before_the_last_level_may_be_better_than_the_best() {
    let field: Vec<Architecture> = limited(&[])
        .into_iter()
        .map(|one| Architecture { rate: if one.name == "select" { 9e6 } else { one.rate }, ..one })
        .collect();
    let document = emulated::json(&report::RunAnswer::new(&of(&field)));
    let words = |place: usize| {
        let series = &document["comparisons"][0]["series"][place];
        series["words"].as_str().unwrap().to_owned()
    };
    assert!(words(0).contains("; select has ") && words(0).contains("that of epoll"), "{}", words(0));
    assert!(words(1).contains("× that of select ("), "{}", words(1));
}
