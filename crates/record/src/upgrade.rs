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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse_line;

    fn upgraded(line: &str) -> (Line, Vec<Line>) {
        let mut line = parse_line(line).expect("a line of schema 1");
        let more = upgrade(&mut line);
        (line, more)
    }

    fn trial(checks: &str, warnings: &str) -> (Trial, Vec<(Option<u64>, LimitedBy, String)>) {
        let warnings = warnings.replace("SATURATED", LIMITED[0].0);
        let (line, more) = upgraded(&format!(
            r#"{{"type":"trial","system":"local","workload":"race","version":1,"variant":"epoll",
            "trial":3,"n":5,"cpu":null,"seed":7,"allowance_seconds":null,"timeout_seconds":60.0,"scratch":"/",
            "elapsed_seconds":1.0,"clock":null,"outcome":{{"ended":"complete"}},
            "checks":[{checks}],"warnings":[{warnings}]}}"#
        ));
        let Line::Trial(trial) = line else { panic!("a trial") };
        let limitation = |line| {
            let Line::Limited(limited) = line else { panic!("only limits follow a trial") };
            assert_eq!(limited.of, TrialKey::from_parameters(&trial.order));
            assert_eq!(limited.series, [""; 0]);
            (limited.n, limited.by, limited.why)
        };
        let more = more.into_iter().map(limitation).collect();
        (trial, more)
    }

    #[test]
    fn remarks_of_the_generator_become_lines() {
        let (trial, limited) = trial(
            "",
            r#""SATURATED at 500: it was busy 98 % of the time",
               "2 of 9 requests failed: timeout at body.", "Disturbed at 2: others had the processor""#,
        );
        assert_eq!(trial.warnings, ["2 of 9 requests failed: timeout at body."]);
        let busy = (Some(500), LimitedBy::Generator, "it was busy 98 % of the time".to_owned());
        let others = (Some(2), LimitedBy::Others, "others had the processor".to_owned());
        assert_eq!(limited, [busy, others]);
    }

    #[test]
    fn a_check_of_the_generator_becomes_lines_and_stays_a_check() {
        let claim = r#"{"claim":"the generator kept up at 20 and 1 000","held":false}"#;
        let (of_check, limited) = trial(claim, "");
        assert_eq!(of_check.checks.len(), 1);
        let line = |n| (Some(n), LimitedBy::Generator, String::new());
        assert_eq!(limited, [line(20), line(1000)]);
        let (_, limited) = trial(&claim.replace("false", "true"), "");
        assert_eq!(limited, []);
    }

    #[test]
    fn words_without_a_level_mean_all() {
        let (_, limited) = trial("", r#""SATURATED""#);
        assert_eq!(limited, [(None, LimitedBy::Generator, String::new())]);
    }

    #[test]
    fn levels_are_read_where_they_are_named() {
        assert_eq!(places("busy at 1 000 connections"), Some(vec![1_000]));
        assert_eq!(places("the generator kept up at n = 500 and 1000: 98 % busy"), Some(vec![500, 1_000]));
        assert_eq!(places("the generator kept up at 20, 50 and 1\u{202f}000"), Some(vec![20, 50, 1_000]));
        assert_eq!(places("the generator kept up"), None);
        assert_eq!(places("busy at times"), None);
    }

    #[test]
    fn loads_and_what_they_count_at_the_server_are_known_by_name() {
        let workload = |name: &str| {
            let kind = |name: &str, unit: &str| {
                format!(
                    r#"{{"name":"{name}","direction":"up","expect":"linear","summary":"","unit":"{unit}"}}"#
                )
            };
            let kinds = [kind("p99", "s"), kind("server cpu", "s"), kind("user memory", "B")].join(",");
            let (line, more) = upgraded(&format!(
                r#"{{"type":"workload","name":"{name}","version":1,"summary":"","page":"","grows":"",
                "variants":[],"series":[{kinds}]}}"#
            ));
            let Line::Workload(workload) = line else { panic!("a workload") };
            assert_eq!(more, []);
            let sides: Vec<Side> = workload.series.iter().map(|kind| kind.side).collect();
            (workload.shape, workload.server, sides)
        };
        let sides = vec![Side::Client, Side::Server, Side::Server];
        assert_eq!(workload("race"), (Shape::Load, true, sides));
        assert_eq!(workload("fork"), (Shape::Curve, false, vec![Side::Client; 3]));
    }
}
