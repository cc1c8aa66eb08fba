//! Comparison: the values, the exceptions from ranking, and the outputs.

use crate::emulated;

use emulated::load::{self, Architecture, Saturated};
use judge::Findings;
use judge::compare::{Comparison, Ranking, RankingEntry};
use record::{Limitation, LimitedBy, Line, Outcome, TrialKey, Unit};
use report::document::terminal::Length;
use report::{Style, html, table};
use stats::Answer;

fn ranking<'a>(compared: &'a Comparison, name: &str) -> &'a Ranking {
    compared.rankings.iter().find(|ranking| ranking.name == name).unwrap()
}

fn contender<'a>(ranking: &'a Ranking, variant: &str) -> &'a RankingEntry {
    ranking.standings.iter().find(|contender| contender.name == variant).unwrap()
}

fn of(field: &[Architecture]) -> Findings {
    Findings::from_recording(&load::race(field, 10, 7))
}

/// Without the generator as a limit.
fn free() -> Vec<Architecture> {
    load::four().into_iter().map(|one| Architecture { generator: None, ..one }).collect()
}

fn shown(findings: &Findings, width: usize) -> String {
    let mut out = Vec::new();
    table::document(findings).write(Length::All, &Style { width, ..Style::default() }, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn page(recording: &record::Recording, findings: &Findings) -> String {
    let mut out = Vec::new();
    html::write(recording, findings, None, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn document(findings: &Findings) -> serde_json::Value {
    emulated::json(&report::RunAnswer::new(findings))
}

#[test]
fn the_distance_from_the_best_is_found_again() {
    let findings = of(&free());
    let [compared] = findings.comparisons.as_slice() else { panic!("one workload") };
    assert_eq!((compared.ratios, compared.pairs), (5 * 2 * 6, 5 * 6));

    let throughput = ranking(compared, "throughput");
    let order: Vec<&str> = throughput.standings.iter().map(|contender| contender.name.as_str()).collect();
    assert_eq!(order, ["uring", "epoll", "select", "inetd"]);
    assert_eq!((throughput.unit, throughput.n), (Unit::PerSecond, Some(1_000)));
    let inetd = contender(throughput, "inetd");
    let (last, mean) = (inetd.last.clone().unwrap(), inetd.overall.clone().unwrap());
    // Without noise: the true values of the architectures.
    let truth = |n: f64| 9_500.0 / (1.0 + n / 4_000.0) / (118_000.0 / (1.0 + n / 90_000.0));
    let holds = |ratio: stats::Interval, truth: f64| ratio.low < truth && truth < ratio.high;
    assert!(holds(last.of_values(throughput.unit), truth(1_000.0)), "{last:?}");
    let logs = load::LEVELS.iter().map(|n| truth(*n as f64).ln()).sum::<f64>() / load::LEVELS.len() as f64;
    assert!(holds(mean.of_values(throughput.unit), logs.exp()), "{mean:?}");
    let over = (mean.comparison.n_low, mean.comparison.n_high);
    assert_eq!((over, mean.levels, last.levels), ((1, 1_000), 10, 1));
    let last = last.comparison;
    assert!(last.ratio.high / last.ratio.low < 1.2 && last.level < 0.05, "{last:?}");
    assert_eq!(last.answer, Answer::Slower);
    assert_eq!(inetd.rank.map(|rank| (rank.best, rank.worst, rank.of)), Some((4, 4, 4)));

    // Of a time less is better, so the order is the same and the ratios are above 1.
    let p99 = ranking(compared, "p99");
    assert_eq!(p99.best().unwrap().name, "uring");
    assert!(contender(p99, "inetd").last.clone().unwrap().comparison.ratio.low > 10.0);
    assert_eq!(contender(p99, "inetd").last.clone().unwrap().comparison.answer, Answer::Slower);
    assert_eq!(ranking(compared, "kernel memory").standings.last().unwrap().name, "inetd");
}

/// Of the fastest there is one trial: others could not be compared with it.
#[test]
fn the_reference_has_trials_enough() {
    let mut lines = load::lines(&free(), 10, 7);
    let is_late = |variant: &str, trial: u32| variant == "uring" && trial > 1;
    lines.retain(|line| match line {
        Line::Series(series) => !is_late(&series.variant, series.trial),
        Line::Trial(trial) => !is_late(&trial.order.variant, trial.order.trial),
        _ => true,
    });
    let findings = Findings::from_recording(&record::Recording::new(lines).unwrap());
    let throughput = ranking(&findings.comparisons[0], "throughput");
    assert_eq!(throughput.best().unwrap().name, "epoll");
    assert!(throughput.behind().any(|(entry, _)| entry.name == "inetd"));
}

/// Twelve in four trials each: rounds are pairs, so that what is gross can be told.
#[test]
fn rounds_are_pairs() {
    let race = |shift: f64| {
        let mut lines = load::lines(&load::twelve(), 4, 7);
        for line in &mut lines {
            if let Line::Trial(trial) = line
                && trial.order.variant == "inetd"
            {
                trial.started_seconds += shift;
            }
        }
        Findings::from_recording(&record::Recording::new(lines).unwrap())
    };
    let answer = |findings: &Findings| {
        let inetd = contender(ranking(&findings.comparisons[0], "throughput"), "inetd").clone();
        (inetd.last.clone().unwrap().comparison.answer == Answer::Slower, inetd.rank.unwrap().best)
    };
    // It is behind all others for certain.
    assert_eq!(answer(&race(0.0)), (true, 12));
    // Measured after all others it may have met another machine, and four trials cannot exclude that.
    assert_eq!(answer(&race(1_000.0)), (false, 1));
}

/// A contender that stopped is compared at the last level that it reached, and the stop is a result.
#[test]
fn a_limit_is_a_result() {
    let findings = of(&free());
    let select = contender(ranking(&findings.comparisons[0], "throughput"), "select");
    assert_eq!(select.levels.len(), 9);
    let last = select.last.clone().unwrap().comparison;
    assert_eq!((last.n_low, last.n_high), (500, 500));
    assert_eq!(select.overall.clone().unwrap().levels, 9);
    assert!(matches!(&select.stops[..], [stop] if stop.n == Some((1_000, 1_000)) && stop.trials == 10));
    assert!(shown(&findings, 132).contains("stopped at 1 000: FD_SETSIZE"));
}

#[test]
fn who_cannot_run_here_has_a_reason() {
    let mut lines = load::lines(&free(), 10, 7);
    lines.retain(|line| !matches!(line, Line::Series(series) if series.variant == "uring"));
    for line in &mut lines {
        if let Line::Trial(trial) = line
            && trial.order.variant == "uring"
        {
            trial.outcome = Outcome::Unsupported { reason: "this kernel has no io_uring".into() };
        }
    }
    let recording = record::Recording::new(lines).unwrap();
    let findings = Findings::from_recording(&recording);
    let throughput = ranking(&findings.comparisons[0], "throughput");
    let last = throughput.standings.last().unwrap();
    assert!(last.name == "uring" && last.levels.is_empty() && last.rank.is_none());
    assert_eq!(findings.comparisons[0].pairs, 5 * 3);
    assert!(shown(&findings, 132).contains("unsupported: this kernel has no io_uring"));
    assert!(
        page(&recording, &findings)
            .contains("<span class=\"word open\">unsupported: this kernel has no io_uring</span>")
    );
}

/// A curve has a value for each n: its variants meet at 100, 200, 500 and so on.
#[test]
fn variants_of_a_curve_are_compared_too() {
    let workloads: Vec<emulated::Emulated> =
        emulated::mixed(20_000).into_iter().filter(|w| w.variant == "select").collect();
    let (mut select, mut epoll) = (workloads, emulated::mixed(20_000));
    epoll.retain(|w| w.variant == "select");
    epoll[0].variant = "epoll";
    epoll[0].outcome = Outcome::Complete;
    epoll[0].stopping = 0;
    epoll[0].series[0].3.cost = |_| 1.2e-6;
    select.append(&mut epoll);
    let mut lines = emulated::lines(emulated::system("local", &[]), &select, 10, 3);
    for line in &mut lines {
        if let Line::Workload(workload) = line {
            workload.rivals = true;
        }
    }
    let recording = record::Recording::new(lines).unwrap();
    let findings = Findings::from_recording(&recording);
    let [compared] = findings.comparisons.as_slice() else { panic!("one workload") };
    let wait = ranking(compared, "select");
    let levels: Vec<u64> = contender(wait, "epoll").levels.iter().map(|level| level.n).collect();
    assert_eq!(levels, [100, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000]);
    let select = contender(wait, "select");
    assert_eq!(select.levels.last().unwrap().n, 1_000);
    // 0.6 µs and 11 ns for each of 950, against 1.2 µs.
    let last = select.last.clone().unwrap().comparison;
    let truth = (0.6e-6 + 11e-9 * 950.0) / 1.2e-6;
    assert!(
        (last.n_low, last.n_high) == (1_000, 1_000) && last.ratio.low < truth && truth < last.ratio.high,
        "{last:?}"
    );
    // Its growth is an answer too, and stands before.
    let text = shown(&findings, 132);
    let (rows, after) = text.split_once("\n\n").unwrap();
    assert!(rows.contains("ready/epoll") && rows.contains("ready/select"), "{text}");
    assert!(after.contains("at 1 000 watched descriptors"), "{text}");
}

#[test]
fn equals_are_not_distinguished() {
    // Of twelve equals the luckiest is not surely before the unluckiest, but in one run of twenty.
    let field: Vec<Architecture> = load::twelve()
        .into_iter()
        .map(|one| Architecture { name: one.name, stops: None, generator: None, ..free()[2] })
        .collect();
    let told = |seed: &u64| {
        let findings = Findings::from_recording(&load::race(&field, 10, *seed));
        let mut all = findings.comparisons[0].rankings.iter().flat_map(|ranking| &ranking.standings);
        all.any(|contender| contender.rank.is_none_or(|rank| (rank.best, rank.worst) != (1, 12)))
    };
    assert!((1..=5).filter(told).count() <= 1);
    let twins: Vec<Architecture> =
        ["one", "two"].map(|name| Architecture { name, stops: None, ..free()[2] }).to_vec();
    let findings = of(&twins);
    let throughput = ranking(&findings.comparisons[0], "throughput");
    assert!(
        throughput
            .standings
            .iter()
            .all(|contender| contender.rank.is_some_and(|r| (r.best, r.worst) == (1, 2)))
    );
    assert_eq!(document(&findings)["comparisons"][0]["series"][0]["words"], serde_json::Value::Null);
}

#[test]
fn levels_are_judged_from_the_first() {
    let findings = of(&free());
    for finding in &findings.series {
        let verdict = finding.verdict.as_ref().unwrap();
        assert!(finding.levels && verdict.n_low == 1, "{}", finding.label);
        assert_eq!(finding.tick_seconds, 0.0);
    }
    let throughput = &findings.series[0];
    assert_eq!(report::sentences::what_of(throughput), "throughput");
}

/// Two kernels: the second answers a fifth more, in less time, and takes a quarter more memory.
#[test]
fn of_a_rate_more_is_faster() {
    let old = load::race(&free(), 10, 7);
    let field: Vec<Architecture> = free()
        .into_iter()
        .map(|one| Architecture { rate: 1.2 * one.rate, memory: 1.25 * one.memory, ..one })
        .collect();
    let new = load::race(&field, 10, 8);
    let compared = Comparison::new(&[("old", &old), ("new", &new)]).unwrap();
    let document = emulated::json(&report::compare::ComparisonAnswer::new(&compared));
    for series in document["series"].as_array().unwrap() {
        let label = series["label"].as_str().unwrap();
        let answer = &series["contenders"][1]["overall"];
        let (word, ratio) = (answer["answer"].as_str().unwrap(), answer["ratio"]["value"].as_f64().unwrap());
        let words = answer["words"].as_str().unwrap();
        let (expected, truth) = if label.ends_with("memory") { ("more", 1.2) } else { ("faster", 1.0 / 1.2) };
        assert_eq!(word, expected, "{label}");
        assert!((ratio / truth - 1.0).abs() < 0.06, "{label} {ratio}");
        assert!(words.contains(&format!("× {expected} (1.")), "{label}: {words}");
        assert_eq!(answer["n_low"], 1);
    }
    // Memory has no part in the mean of times.
    assert_eq!(document["geometric_means"][0]["of"], 16);
    let mut text = Vec::new();
    report::compare::document(&compared).write(Length::All, &Style::default(), &mut text).unwrap();
    let text = String::from_utf8(text).unwrap();
    assert!(text.contains("16 faster · 4 more"), "{text}");
    // Two runs are not pairs.
    assert!(text.contains("geometric mean of 16 series, each weighing the same: ×0.8"), "{text}");
    assert!(text.contains("no claim without paired trials"), "{text}");

    let turned = Comparison::new(&[("new", &new), ("old", &old)]).unwrap();
    let mut text = Vec::new();
    report::compare::document(&turned).write(Length::All, &Style::default(), &mut text).unwrap();
    assert!(String::from_utf8(text).unwrap().contains("16 slower · 4 less"));
}

/// A value that the generator limited on one system is not compared with the other.
#[test]
fn what_the_generator_limited_is_not_compared() {
    let (old, mut field) = (load::race(&free(), 10, 7), load::four());
    field.iter_mut().for_each(|one| one.rate *= 1.2);
    let mut words = |said: Saturated| {
        field[3].generator = Some(said);
        let new = load::race(&field, 10, 8);
        let compared = Comparison::new(&[("old", &old), ("new", &new)]).unwrap();
        let row = compared.rankings.iter().find(|row| row.label == "race/uring throughput").unwrap();
        let answer = row.standings[1].answer().map(|answer| (answer.n_high, answer.ends));
        let note = row.standings[1].note.as_ref().map(|note| report::compare::note(&compared, 1, note));
        (answer, note.unwrap_or_default().replace('\u{202f}', " "))
    };
    let (answer, note) = words(Saturated::At(1_000));
    assert_eq!(answer, Some((500, (1_000, 1_000))));
    assert_eq!(note, "load generator saturated at 1 000 (3 of 10 trials) in new, not compared there");
    let (answer, note) = words(Saturated::Everywhere);
    assert_eq!((answer, note.as_str()), (None, "load generator saturated (3 of 10 trials) in new"));
}

#[test]
fn in_a_terminal() {
    let mut findings = of(&load::four());
    load::pin(&mut findings);
    // The answer comes first, and the comparison stands in place of the verdict on each variant.
    let compared = |width: usize| {
        shown(&findings, width)
            .split_once("\n\n1 at")
            .map_or_else(|| shown(&findings, width), |(all, _)| all.to_owned())
    };
    insta::assert_snapshot!("wide", compared(132));
    insta::assert_snapshot!("narrow", compared(80));
    let text = shown(&findings, 132);
    assert!(!text.contains("race/uring") && !text.contains("at n ="), "{text}");
}

/// Said once of all, and not of each ratio that it has no interval and of each variant that it may be any.
#[test]
fn that_nothing_is_certain_is_said_once() {
    let findings = Findings::from_recording(&load::race(&free(), 1, 7));
    let text = shown(&findings, 100);
    assert_eq!(text.matches("no difference from the best is certain").count(), 1, "{text}");
    assert!(!text.contains("no interval") && !text.contains("1st"), "{text}");
    assert!(text.contains("inetd   unresolved, ×1"), "{text}");
    // With trials enough to know how they vary, how many more it takes is known too.
    let field: Vec<Architecture> =
        ["one", "two"].map(|name| Architecture { name, stops: None, ..free()[2] }).to_vec();
    let text = shown(&Findings::from_recording(&load::race(&field, 3, 7)), 100);
    assert_eq!(
        text.matches("no difference from the best is certain; one may be after ").count(),
        1,
        "{text}"
    );
    assert!(text.contains(" more trial"), "{text}");
}

#[test]
fn in_a_page() {
    let recording = load::race(&load::four(), 10, 7);
    let mut findings = Findings::from_recording(&recording);
    load::pin(&mut findings);
    let page = page(&recording, &findings);
    let start = page.find("<div class=\"comparison\">").unwrap();
    let end = start + page[start..].find("<details class=\"list\">").unwrap();
    // The words of the figures; places are looked at, not compared.
    let mut words = String::new();
    for tag in page[start..end].split('<').skip(1) {
        let (tag, text) = tag.split_once('>').unwrap();
        let name = tag.split(' ').next().unwrap();
        if ["figure", "table", "tr", "svg"].contains(&name) {
            words.push_str(&format!("\n{name} "));
        }
        if !text.trim().is_empty() {
            words.push_str(text.trim());
            words.push_str(" | ");
        }
    }
    let lines: Vec<&str> = words.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    insta::assert_snapshot!("page", lines.join("\n"));
    // One plot for each series; each variant by itself is folded.
    assert_eq!(page[start..end].matches("<svg class=\"plot\"").count(), 5);
    assert_eq!(page[start..end].matches("<figure").count(), 5);
    assert_eq!(page[end..].matches("<figure id=\"s").count(), 20);
    // Select has a cross at its end in every plot, uring a hollow point where the generator was the limit, but
    // not for its memory.
    assert_eq!(page.matches("class=\"end\"").count(), 5);
    assert_eq!(page.matches("class=\"hollow\"").count(), 4);
    assert!(!page[start..].to_lowercase().contains("cost at n ="), "no value of a load is a cost");
}

#[test]
fn in_a_document() {
    let mut findings = of(&load::four());
    load::pin(&mut findings);
    let document = document(&findings);
    assert_eq!(document["series"][0]["unit"], "1/s");
    assert_eq!(document["series"][4]["unit"], "B");
    let mut series = document["comparisons"][0]["series"][0].clone();
    for variant in series["contenders"].as_array_mut().unwrap() {
        // The levels are many and are medians of the emulated noise.
        assert!(matches!(variant["levels"].as_array().unwrap().len(), 9 | 10));
        variant["levels"].as_array_mut().unwrap().clear();
        for ratio in ["last", "overall"].map(|kind| variant[kind].as_object().cloned()).into_iter().flatten()
        {
            assert!(ratio["level"].as_f64().unwrap() <= 0.05);
        }
        for kind in ["last", "overall"] {
            let ratio = variant[kind].as_object_mut();
            ratio.map(|ratio| ["level", "blocks"].map(|field| ratio.remove(field)));
        }
    }
    insta::assert_snapshot!("document", serde_json::to_string_pretty(&series).unwrap());
}

#[test]
fn hostile_names_are_text() {
    let mut lines = load::lines(&load::four(), 4, 7);
    let evil = "</text><script>alert(1)</script>\u{1b}[2J";
    for line in &mut lines {
        match line {
            Line::Workload(workload) => {
                workload.variants[3].name = evil.into();
                workload.series[0].name = evil.into();
                workload.grows = evil.into();
            }
            Line::Trial(trial) if trial.order.variant == "uring" => {
                trial.order.variant = evil.into();
                trial.warnings = vec![evil.into()];
            }
            Line::Generator(level) if level.of.variant == "uring" => {
                *line = Line::Limited(Limitation {
                    of: TrialKey { variant: evil.into(), ..level.of.clone() },
                    n: None,
                    by: LimitedBy::Generator,
                    series: Vec::new(),
                    why: evil.into(),
                });
            }
            Line::Series(series) => {
                if series.variant == "uring" {
                    series.variant = evil.into();
                }
                if series.name == "throughput" {
                    series.name = evil.into();
                }
            }
            _ => {}
        }
    }
    let recording = record::Recording::new(lines).unwrap();
    let findings = Findings::from_recording(&recording);
    assert_eq!(findings.comparisons[0].rankings.len(), 5);
    let page = page(&recording, &findings);
    assert!(!page.contains("<script>alert") && !page.contains('\u{1b}'));
    assert!(!shown(&findings, 100).contains('\u{1b}'));
}

/// Two trials of each: their variance has one degree of freedom, and the other contenders and series say the
/// rest. A contender with twelve times the cost is behind for certain, and an equal one is not.
#[test]
fn two_trials_tell_what_is_gross() {
    let four = free();
    let behind = |field: &[Architecture], seed: u64| {
        let findings = Findings::from_recording(&load::race(field, 2, seed));
        let throughput = ranking(&findings.comparisons[0], "throughput");
        throughput.behind().map(|(entry, _)| entry.name.clone()).collect::<Vec<String>>()
    };
    assert!(behind(&four, 7).contains(&"inetd".to_owned()), "{:?}", behind(&four, 7));
    let equals: Vec<Architecture> =
        ["a", "b", "c"].map(|name| Architecture { name, stops: None, ..four[2] }).to_vec();
    let false_ones = (0..40).filter(|seed| !behind(&equals, *seed).is_empty()).count();
    assert!(false_ones <= 2, "{false_ones} of 40 races of equals");
}
