//! A race: the load that all are offered, and the trend of each architecture over connections.

use crate::emulated;

use emulated::load::{self, Architecture};
use judge::Findings;
use judge::compare::{Comparison, GrowthClaim, Ranking, RankingEntry};
use report::document::terminal::Length;
use report::{Style, html, table};

fn ranking<'a>(compared: &'a Comparison, name: &str) -> &'a Ranking {
    compared.rankings.iter().find(|ranking| ranking.name == name).unwrap()
}

fn contender<'a>(ranking: &'a Ranking, variant: &str) -> &'a RankingEntry {
    ranking.standings.iter().find(|contender| contender.name == variant).unwrap()
}

/// Without the generator as a limit.
fn free() -> Vec<Architecture> {
    load::four().into_iter().map(|one| Architecture { generator: None, ..one }).collect()
}

fn page(recording: &record::Recording, findings: &Findings) -> String {
    let mut out = Vec::new();
    html::write(recording, findings, None, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

/// Runs that found out different rates: a response time at one is no response time at the other, and values
/// of a closed loop are compared all the same.
#[test]
fn different_loads_are_not_compared() {
    let race = |rates: (f64, f64), seed: u64| {
        let mut lines = load::lines(&free(), 10, seed);
        load::offer(&mut lines, rates.0, rates.1);
        record::Recording::new(lines).unwrap()
    };
    let compared = |rates: (f64, f64)| {
        let (old, new) = (race((400.0, 200.0), 7), race(rates, 8));
        Comparison::new(&[("old", &old), ("new", &new)]).unwrap()
    };
    let epoll = |compared: &Comparison, name: &str| {
        let is_it = |ranking: &&Ranking| (ranking.variant.as_str(), ranking.name.as_str()) == ("epoll", name);
        compared.rankings.iter().find(is_it).unwrap().standings[1].clone()
    };
    let screen = |compared: &Comparison| {
        let mut out = Vec::new();
        report::overview::systems(compared)
            .write(report::overview::SCREEN, &Style::default(), &mut out)
            .unwrap();
        String::from_utf8(out).unwrap()
    };
    let note = |compared: &Comparison, entry: &RankingEntry| {
        let note = entry.note.as_ref().map(|note| report::compare::note(compared, 1, note));
        note.unwrap_or_default().replace('\u{202f}', " ")
    };

    let same = compared((400.0, 200.0));
    assert_eq!(epoll(&same, "p50").answer().unwrap().n_high, 1_000);
    assert!(!screen(&same).contains("Not the same load"));

    let at_last = compared((400.0, 300.0));
    let p50 = epoll(&at_last, "p50");
    assert_eq!(p50.answer().unwrap().n_high, 500);
    assert_eq!(
        note(&at_last, &p50),
        "offered differently at 1 000 (200 /s in old and 300 /s in new), not compared there; one run with \
         --system offers both the same"
    );
    let throughput = epoll(&at_last, "throughput");
    assert_eq!((throughput.answer().unwrap().n_high, throughput.note.as_ref()), (1_000, None));
    assert!(screen(&at_last).contains("Not the same load: offered differently at"), "{}", screen(&at_last));

    let everywhere = compared((500.0, 300.0));
    let p50 = epoll(&everywhere, "p50");
    assert!(p50.answer().is_none() && note(&everywhere, &p50).contains("at 1, 2, 5"), "{p50:?}");
    assert!(epoll(&everywhere, "throughput").answer().is_some());
}

/// The trend of times over connections of every contender: a certain factor; flat; or the load generator was
/// the limit.
#[test]
fn the_growth_of_each_contender_is_reported() {
    let recording = load::race(&load::four(), 10, 7);
    let findings = Findings::from_recording(&recording);
    let growths = findings.growths(&findings.comparisons[0]);
    let p50 = |name: &str| {
        let contender = growths.iter().find(|contender| contender.name == name).unwrap();
        let names: Vec<&str> = contender.series.iter().map(|series| series.name.as_str()).collect();
        assert_eq!(names, ["p50", "p99", "p999"], "times alone");
        contender.series[0].clone()
    };
    let inetd = p50("inetd");
    let GrowthClaim::Grows(times) = inetd.growth else { panic!("{inetd:?}") };
    // From a connection to a thousand, without noise: n over the rate.
    let time = |n: f64| (n + 2.5) * (1.0 + n / 4_000.0);
    let truth = time(1_000.0) / time(1.0);
    assert!(times.low < truth && truth < times.high && inetd.range == (1, 1_000), "{inetd:?}: {truth}");
    assert_eq!(p50("select").range, (1, 500), "it stops there");
    assert!(matches!(p50("uring").growth, GrowthClaim::Limited(_)));

    let mut out = Vec::new();
    table::document(&findings)
        .write(Length::All, &Style { width: 132, ..Style::default() }, &mut out)
        .unwrap();
    let text = String::from_utf8(out).unwrap().replace('\u{202f}', " ");
    let (_, said) = text.split_once("How the times change from 1 to 1 000 connections\n").unwrap();
    let line = |name: &str| said.lines().find(|line| line.trim_start().starts_with(name)).unwrap().to_owned();
    assert!(
        line("inetd").contains("p50 grows to ×") && line("inetd").contains("; p999 grows to ×"),
        "{text}"
    );
    assert!(line("select").contains(" at 500;"), "{text}");
    assert!(line("uring").contains("p50, p99 and p999 not judged: load generator saturated"), "{text}");
    assert!(page(&recording, &findings).contains("<table class=\"verdicts growths\">"));
}

/// As in 2001: a line for each architecture, in the mean of all systems, each with its trend.
#[test]
fn several_systems_have_their_mean() {
    let recording = load::on_two(&free());
    let findings = Findings::from_recording(&recording);
    let means = judge::compare::over_systems(&findings.comparisons);
    let [mean] = &means[..] else { panic!("one workload") };
    assert_eq!((mean.systems.len(), mean.series.len()), (2, 5));
    let level = |findings: &Findings, i: usize, n: u64| {
        contender(ranking(&findings.comparisons[i], "p50"), "select")
            .levels
            .iter()
            .find(|l| l.n == n)
            .unwrap()
            .value
    };
    let select = mean.series[1].contenders.iter().find(|contender| contender.name == "select").unwrap();
    let expected = (level(&findings, 0, 500) * level(&findings, 1, 500)).sqrt();
    let last = select.levels.last().unwrap();
    assert!(last.n == 500 && (last.value / expected - 1.0).abs() < 1e-9, "{last:?}");

    let page = page(&recording, &findings);
    let part = &page[page.find("<h3>Mean of 2 systems</h3>").unwrap()..];
    let part = &part[..part.find("</div></div>").unwrap()];
    assert_eq!(part.matches("<figure>").count(), 5, "{part}");
    assert_eq!(part.matches("<path class=\"trend\"").count(), 5 * 4);
    assert!(part.contains("Geometric means over local and other"), "{part}");
    let mut apart = recording;
    apart.systems[1].environment.insert("machine.engine".to_owned(), "QEMU TCG".to_owned());
    let means = judge::compare::over_systems(&Findings::from_recording(&apart).comparisons);
    assert!(means.is_empty(), "an emulated processor and a real one have no mean: {means:?}");
    let one = load::race(&free(), 10, 7);
    assert!(!self::page(&one, &Findings::from_recording(&one)).contains("Mean of"));
}

/// One trial of each finds the load for all, and measures nothing at it.
#[test]
fn the_first_trials_say_what_they_lack() {
    let notes = |trials: u32| {
        let mut lines = load::lines(&free(), trials, 7);
        load::offer(&mut lines, 400.0, 200.0);
        lines.retain(|line| match line {
            record::Line::Series(series) => series.name == "throughput" || series.trial > 1,
            _ => true,
        });
        report::sentences::notes(&Findings::from_recording(&record::Recording::new(lines).unwrap()))
    };
    assert!(notes(2).is_empty());
    let [note] = &notes(1)[..] else { panic!("one note") };
    assert!(note.starts_with("race has no p50, p99, p999 and kernel memory: the first trial"), "{note}");
    assert!(note.contains("--trials 2"), "{note}");
}

/// One had time only for the trial that finds the load: it has its row, with the missing values and the
/// reason, and the document has the same.
#[test]
fn a_contender_with_one_trial_has_its_row() {
    let mut lines = load::lines(&free(), 5, 7);
    load::offer(&mut lines, 400.0, 200.0);
    let is_late = |variant: &str, trial: u32| variant == "uring" && trial > 1;
    lines.retain(|line| match line {
        record::Line::Series(series) => {
            (series.name == "throughput" || series.trial > 1) && !is_late(&series.variant, series.trial)
        }
        record::Line::Trial(trial) => !is_late(&trial.order.variant, trial.order.trial),
        _ => true,
    });
    let findings = Findings::from_recording(&record::Recording::new(lines).unwrap());
    let mut out = Vec::new();
    report::overview::document(&findings, None)
        .write(report::overview::SCREEN, &Style { width: 132, ..Style::default() }, &mut out)
        .unwrap();
    let text = String::from_utf8(out).unwrap();
    let row = text
        .lines()
        .position(|line| line.trim_start().starts_with("uring "))
        .unwrap_or_else(|| panic!("{text}"));
    let said: Vec<&str> = text.lines().skip(row).take(2).collect();
    assert!(said[0].contains("—") && said[0].contains("/s"), "{said:?}");
    let reason = "p50, p99, p999 and kernel memory: not measured: its only trial finds out the load that all";
    assert!(said[1].contains(reason), "{said:?}");

    let document = emulated::json(&report::RunAnswer::new(&findings));
    let is_p50 = |series: &&serde_json::Value| series["variant"] == "uring" && series["name"] == "p50";
    let p50 = document["series"].as_array().unwrap().iter().find(is_p50).unwrap();
    assert_eq!(p50["stops"][0]["cause"], "not-offered", "{p50}");
}
