//! The overview: the most expensive growth stands first, everything is counted, and all of it fits.

use crate::emulated;

use emulated::load;
use judge::Findings;
use record::{Line, Recording, Unit};
use report::{Style, overview};

const PORTS: [(&str, &str); 1] = [("net.ip_local_port_range", "32768 60999")];

fn shown(findings: &Findings, width: usize) -> String {
    let mut out = Vec::new();
    overview::document(findings, None)
        .write(overview::SCREEN, &Style { width, ..Style::default() }, &mut out)
        .expect("written");
    String::from_utf8(out).expect("text")
}

fn mixed(facts: &[(&str, &str)]) -> Findings {
    let recording = emulated::recording(emulated::system("local", facts), &emulated::mixed(20_000), 10, 1);
    let mut findings = Findings::from_recording(&recording);
    emulated::pinned::pin(&mut findings);
    findings
}

fn shapes() -> Findings {
    let recording = emulated::recording(emulated::system("local", &PORTS), &emulated::shapes(20_000), 4, 1);
    let mut findings = Findings::from_recording(&recording);
    emulated::pinned::pin_shapes(&mut findings);
    findings
}

fn race() -> Findings {
    let mut findings = Findings::from_recording(&load::race(&load::twelve(), 10, 7));
    load::pin(&mut findings);
    findings
}

#[test]
fn a_mixed_run() {
    let findings = mixed(&PORTS);
    insta::assert_snapshot!("wide", shown(&findings, 120));
    insta::assert_snapshot!("narrow", shown(&findings, 60));
}

#[test]
fn every_shape() {
    insta::assert_snapshot!("shapes", shown(&shapes(), 100));
}

#[test]
fn a_race() {
    insta::assert_snapshot!("race", shown(&race(), 100));
}

#[test]
fn it_fits_any_terminal_from_60_columns_on() {
    for findings in [mixed(&[]), shapes(), race()] {
        for width in (60..=160).step_by(4) {
            let text = shown(&findings, width);
            assert!(text.lines().count() <= 37, "{width} columns:\n{text}");
            let widest = text.lines().map(|line| line.chars().count()).max().expect("a line");
            assert!(widest <= width, "{widest} of {width} columns:\n{text}");
        }
    }
}

/// The kinds add up to the number of series, so none vanishes.
#[test]
fn every_series_is_counted_once() {
    for findings in [mixed(&[]), shapes(), race()] {
        let text = shown(&findings, 160).replace(['\u{a0}', '\u{202f}'], " ");
        let line = text.lines().find(|line| line.contains(" series: ")).expect("the counts");
        let (all, kinds) = line.split_once(" series: ").expect("the counts");
        let number = |text: &str| text.split(' ').next().and_then(|word| word.parse::<usize>().ok());
        let counted: usize =
            kinds.split(" · ").filter(|kind| !kind.starts_with("noise")).filter_map(number).sum();
        assert_eq!(number(all), Some(counted), "{line}");
        assert_eq!(number(all), Some(findings.series.len()), "{line}");
    }
}

/// Details of a run are only announced.
#[test]
fn details_are_left_to_verbose() {
    let mut findings = mixed(&[]);
    let all = findings.series.len();
    let hidden = findings.series.iter_mut().find(|finding| finding.label == "bind").expect("a series");
    hidden.detail = true;
    let text = shown(&findings, 160).replace(['\u{a0}', '\u{202f}'], " ");
    assert!(!text.contains(" bind "), "{text}");
    assert!(text.contains(&format!("{} series: ", all - 1)), "{text}");
    assert!(text.contains(&format!("--verbose has all {} series and 1 of detail", all - 1)), "{text}");
}

#[test]
fn what_costs_a_user_most_stands_first() {
    let findings = mixed(&PORTS);
    let highlights = judge::highlights(&findings);
    let names: Vec<&str> = highlights.iter().map(|highlight| highlight.first().label.as_str()).collect();
    // 1.1 ms, 180 µs and 11 µs more for one operation; series that fall or grow little are not among them.
    assert_eq!(names, ["bind", "fork", "ready/select select"]);
    assert!(highlights[1].place.is_none());
}

#[test]
fn a_cliff_has_its_place_and_what_lies_there() {
    let findings = shapes();
    let highlights = judge::highlights(&findings);
    let bind = highlights.iter().find(|highlight| highlight.first().label == "bind").expect("bind");
    assert_eq!(bind.resource().map(|landmark| landmark.at), Some(14_116.0), "{bind:?}");
    let text = shown(&findings, 200).replace('\u{202f}', " ");
    let sentence =
        "near half of net.ipv4.ip_local_port_range (14 116): widen the range, or bind explicit ports";
    assert!(text.contains(sentence), "{text}");
}

#[test]
fn a_growth_ends_with_the_remedy_that_its_workload_has() {
    let mut findings = mixed(&PORTS);
    assert!(!shown(&findings, 200).contains("remedy"));
    let fork = findings.workloads.iter_mut().find(|workload| workload.name == "fork").expect("fork");
    fork.remedies.insert(String::new(), "use posix_spawn(3)".into());
    let shown = shown(&findings, 200);
    assert_eq!(shown.matches("; remedy: use posix_spawn(3)").count(), 1, "{shown}");
}

/// It falls at one n and creeps back a little above where it was; two n before the fall are slow in every
/// trial. As a real mmap(2) of files did, which was said to cost 23 % more from there on.
#[test]
fn what_comes_back_is_uneven() {
    let cost = |n: f64| match n {
        277.0..279.0 => 1.3e-6,
        279.0.. => 0.86e-6 + 0.18e-6 * (n / 279.0).ln() / (20_000.0_f64 / 279.0).ln(),
        _ => 1.0e-6,
    };
    let curve = emulated::Curve { cost, between: 0.02, within: 0.05, n: 20_000, twin: None };
    let series = vec![("mmap", record::Direction::Up, record::Expect::Constant, curve)];
    let workloads = [emulated::one("mmap", "mappings", series)];
    let findings =
        Findings::from_recording(&emulated::recording(emulated::system("local", &[]), &workloads, 20, 1));
    let verdict = findings.series[0].verdict.as_ref().expect("a verdict");
    assert!(verdict.growth.low > 1.0, "it ends above where it began, for certain: {:?}", verdict.growth);
    assert_eq!(judge::highlights(&findings), []);
    let text = shown(&findings, 160);
    assert!(text.contains("Uneven (changes on the way, and comes back): mmap"), "{text}");
}

/// A cost that is constant until ports run out agrees with the documented expectation "constant": nothing is
/// constant beyond that. Without the range of ports in the record it contradicts it.
#[test]
fn a_cliff_at_a_resource_is_not_unlike_a_page() {
    let mut findings = shapes();
    let of_bind = |findings: &Findings| {
        let bind = findings.series.iter().find(|finding| finding.label == "bind").expect("bind");
        findings.as_expected(bind)
    };
    assert_eq!(of_bind(&findings), None);
    findings.systems[0].environment.clear();
    assert_eq!(of_bind(&findings), Some(false));
}

/// bind(2) gets steeper all the way to the last free port, so its growth is in many narrow ranges of n, and between
/// no two neighbours; it was said to contradict a page that predicts a constant cost, and its cause was not named.
#[test]
fn a_cliff_that_is_steep_in_many_ranges_has_its_place() {
    let cost = |n: f64| match n {
        ..14_116.0 => (1.6e-6 + 7e-8 / (1.0 - n / 14_116.0).powi(2)).min(5.4e-3),
        _ => 5.4e-3,
    };
    let curve = emulated::Curve { cost, between: 0.05, within: 0.3, n: 14_149, twin: None };
    let series = vec![("bind", record::Direction::Up, record::Expect::Constant, curve)];
    let workloads = [emulated::one("bind", "bound sockets", series)];
    let findings =
        Findings::from_recording(&emulated::recording(emulated::system("local", &PORTS), &workloads, 8, 1));
    let place = findings.place(&findings.series[0]).expect("a place");
    assert!(place.n.high / place.n.low < 1.1 && place.resource().is_some(), "{place:?}");
    assert_eq!(findings.as_expected(&findings.series[0]), None);
}

/// While a run goes on only decided series are reported.
#[test]
fn growths_that_are_wanted_are_sentences() {
    let growths = overview::growth_sentences(&shapes(), |finding| finding.key.workload == "bind");
    assert_eq!(growths.len(), 1, "{growths:?}");
    assert!(growths[0].starts_with("bind: ") && growths[0].contains("explicit ports"), "{growths:?}");
}

/// The time that settles verdicts is that of their trials up to the next look, beside the rest of the run.
#[test]
fn what_is_undecided_says_what_would_settle_it() {
    let noisy = emulated::Curve { cost: |_| 1e-6, between: 0.1, within: 0.3, n: 4_000, twin: None };
    let workload = emulated::Emulated {
        series: vec![("mmap", record::Direction::Up, record::Expect::Constant, noisy)],
        ..emulated::mixed(100).remove(0)
    };
    let mut recording = emulated::recording(emulated::system("local", &[]), &[workload], 10, 1);
    recording.run.looks = vec![10, 100];
    let findings = Findings::from_recording(&recording);
    let needed = findings.series[0].verdict.as_ref().and_then(|verdict| verdict.trials_needed);
    assert!(needed.is_some_and(|trials| trials <= 100), "{needed:?}");
    let settlement = findings.settlement.expect("trials of a known length");
    // 90 more trials of 0.4 s to the next look, in a run that took 97 s for 4 s of trials: 970 s.
    assert_eq!((settlement.trials, settlement.settles, settlement.is_planned), (100, 1, true));
    assert_eq!(settlement.seconds, Some(1200.0));
    let text = shown(&findings, 100);
    assert!(text.contains("--budget 20m would settle 1 of 1"), "{text}");
    recording.run.looks = vec![10, 11];
    assert_eq!(Findings::from_recording(&recording).settlement, None, "no look is late enough");
}

/// A shape that the data leave open contradicts nothing; one that they exclude does, and the words say so.
#[test]
fn only_an_excluded_expectation_is_contradicted() {
    use stats::Class::{Ambiguous, Composite, Flat, LinearLike, Stepped, Sublinear, Superlinear};
    const LINE: [f64; 2] = [0.9, 1.0];
    let mut findings = shapes();
    let walk = findings.series.iter().position(|finding| finding.label == "walk").expect("walk");
    findings.series[walk].expect = record::Expect::Linear;
    let mut agrees = |class, classes: &[stats::Class], steepness: [f64; 2]| {
        let verdict = findings.series[walk].verdict.as_mut().expect("judged");
        (verdict.class, verdict.classes) = (class, classes.to_vec());
        let interval = |value| stats::Interval { value, low: value - 0.05, high: value + 0.05 };
        let end = |(n, value)| stats::LocalExponent { n, exponent: interval(value) };
        verdict.local_exponents = Some([(20.0, steepness[0]), (300.0, steepness[1])].map(end));
        let sentence = overview::growth_sentences(&findings, |finding| finding.label == "walk").concat();
        (findings.as_expected(&findings.series[walk]), sentence)
    };
    let (open, sentence) = agrees(Ambiguous, &[Sublinear, LinearLike, Superlinear], LINE);
    assert!(open.is_none() && !sentence.contains("expectation"), "{sentence}");
    let (excluded, sentence) = agrees(Ambiguous, &[Sublinear, Superlinear], LINE);
    assert_eq!(excluded, Some(false));
    assert!(sentence.contains("contradicts the documented expectation (linear)"), "{sentence}");
    let (found, sentence) = agrees(LinearLike, &[LinearLike], LINE);
    assert_eq!(found, Some(true));
    assert!(sentence.contains("matches the documented expectation (linear)"), "{sentence}");
    // The parts of a composite verdict are not its shapes.
    assert_eq!(agrees(Composite, &[LinearLike, Stepped, Flat], LINE).0, Some(false));
    // Where no shape fits, the steepness decides: a line with a ripple is no contradiction, and one whose base is
    // large gets steeper towards 1.
    for (steepness, expected) in
        [(LINE, None), ([0.2, 0.7], None), ([0.7, 0.3], Some(false)), ([1.0, 1.3], Some(false))]
    {
        assert_eq!(agrees(Ambiguous, &[], steepness).0, expected, "{steepness:?}");
    }
}

/// Each series has its cost with an interval, and the undecided ones stand in a table of their own, dimmed.
#[test]
fn every_series_has_its_cost() {
    let findings = mixed(&PORTS);
    let undecided = |finding: &judge::Finding| {
        finding.verdict.as_ref().is_some_and(|verdict| verdict.class == stats::Class::Inconclusive)
    };
    assert!(findings.series.iter().any(undecided));
    let mut out = Vec::new();
    let style = Style { width: 140, colour: true, ..Style::default() };
    overview::document(&findings, None).write(overview::SCREEN, &style, &mut out).expect("written");
    let text = String::from_utf8(out).expect("text");
    for finding in findings.series.iter().filter(|finding| finding.verdict.is_some()) {
        let is_its = |line: &&str| {
            let plain = line.replace("\u{1b}[2m", "").replace("\u{1b}[0m", "");
            plain.starts_with(&format!("{}  ", finding.label)) && plain.contains('(')
        };
        let line = text.lines().find(is_its).unwrap_or_else(|| panic!("{} in:\n{text}", finding.label));
        assert_eq!(line.starts_with("\u{1b}[2m"), undecided(finding), "{line}");
    }
}

/// A series of that unit and cost, over a sweep or at these n.
fn one_series(unit: Unit, cost: fn(f64) -> f64, sizes: &[u64], trials: u32) -> Findings {
    let constant: fn(f64) -> f64 = |_| 1.0;
    let (n, each) = if sizes.is_empty() { (2_000, cost) } else { (sizes.len() as u64, constant) };
    let curve = emulated::Curve { cost: each, between: 0.01, within: 0.005, n, twin: None };
    let series = vec![("compile", record::Direction::Up, record::Expect::Any, curve)];
    let workload = emulated::one("compile", "files", series);
    let mut lines = emulated::lines(emulated::system("local", &[]), &[workload], trials, 1);
    for line in &mut lines {
        match line {
            Line::Workload(workload) => workload.series[0].unit = unit,
            Line::Series(measured) if !sizes.is_empty() => {
                (measured.n_first, measured.n_step, measured.sizes) = (sizes[0], 0, sizes.to_vec());
                measured.values.iter_mut().zip(sizes).for_each(|(value, n)| *value *= cost(*n as f64));
            }
            _ => {}
        }
    }
    Findings::from_recording(&Recording::new(lines).expect("begins with its run line"))
}

/// A rate that grew by 68 % was listed as falling, and one of two n had a slope.
#[test]
fn of_a_rate_more_is_better() {
    let faster = one_series(Unit::PerSecond, |n| 1000.0 * (1.0 + 0.68 * n / 2_000.0), &[], 10);
    let text = shown(&faster, 120).replace('\u{202f}', " ");
    assert_eq!(judge::highlights(&faster), []);
    assert!(text.contains("Better with n: compile") && !text.contains(" per 1 000"), "{text}");
    let slower = one_series(Unit::PerSecond, |n| 1000.0 / (1.0 + 0.68 * n / 2_000.0), &[], 10);
    let text = shown(&slower, 120).replace('\u{202f}', " ");
    assert_eq!(judge::highlights(&slower).len(), 1);
    assert!(!text.contains("Better") && !text.contains(" per 1 000"), "{text}");
}

#[test]
fn two_n_have_no_slope() {
    for unit in [Unit::Seconds, Unit::PerSecond] {
        for cost in [|n: f64| 3.0 * n, |n: f64| 3.0 / n] {
            for trials in [3, 10] {
                let findings = one_series(unit, cost, &[1, 1_000], trials);
                let text = shown(&findings, 120).replace('\u{202f}', " ");
                assert!(text.contains("compile") && !text.contains(" per "), "{text}");
            }
        }
    }
}

/// A job and a series at one n have their cost with its interval, with or without other findings.
#[test]
fn one_n_and_two_have_their_cost() {
    for trials in [3, 12] {
        for sizes in [&[20][..], &[20, 40], &[1, 10, 100]] {
            let findings = one_series(Unit::Seconds, |_| 0.24, sizes, trials);
            let text = shown(&findings, 120).replace('\u{202f}', " ");
            let has_cost = |line: &str| {
                line.starts_with("compile ")
                    && line.contains(" ms")
                    && line.contains('(')
                    && line.contains('–')
            };
            assert!(text.lines().any(has_cost), "{trials} trials of {sizes:?}:\n{text}");
        }
    }
}

/// Where n doubles, a place is near a power of two wherever it is.
#[test]
fn a_place_among_powers_of_two_is_near_none() {
    const BEND: f64 = 65_536.0;
    let bent = |n: f64| 1e-3 * (1.0 + 0.1 * n.min(BEND) / BEND + 0.5 * (n - BEND).max(0.0) / BEND);
    let powers: Vec<u64> = (4..=20).map(|power| 1 << power).collect();
    let more: Vec<u64> = powers.iter().flat_map(|n| [*n, n + n / 4, n + n / 2]).collect();
    for (sizes, is_near) in [(powers, false), (more, true)] {
        let findings = one_series(Unit::Seconds, bent, &sizes, 10);
        let place = findings.place(&findings.series[0]).expect("a place");
        assert!((60_000.0..71_000.0).contains(&place.n.value), "{place:?}");
        assert_eq!(place.near.len(), usize::from(is_near), "{place:?}");
        assert_eq!(shown(&findings, 160).contains("near 2^"), is_near);
    }
    let powers: Vec<u64> = (4..=20).map(|power| 1 << power).collect();
    let findings = one_series(Unit::Seconds, |n| if n >= 256.0 { 2e-3 } else { 1e-3 }, &powers, 10);
    assert!(findings.place(&findings.series[0]).expect("a place").near.is_empty());
}

#[test]
fn processors_that_are_not_usable_have_a_reason() {
    let of = |facts: &[(&str, &str)]| {
        let facts = facts.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        report::sentences::usable_processors(&facts)
    };
    assert_eq!(of(&[("cpu.online", "4"), ("cpu.count", "4")]), None);
    assert_eq!(of(&[("cpu.count", "4")]), None, "nothing is known of the others");
    let bounded = [("cpu.online", "4"), ("cpu.count", "1"), ("cpu.bounded_by", "affinity quota")];
    let text = of(&[&bounded[..], &[("cgroup.cpu_max", "1.5")]].concat());
    assert_eq!(text.as_deref(), Some("1 of 4 processors usable (affinity, quota 1.5)"));
    let without_smt =
        [("cpu.online", "4"), ("cpu.count", "4"), ("cpu.offline", "4"), ("cpu.bounded_by", "smt")];
    assert_eq!(of(&without_smt).as_deref(), Some("4 of 8 processors usable (SMT off)"));
}
