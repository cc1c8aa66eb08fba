//! Every workload, through the program itself: parameters are the request, the record's lines are the
//! replies. Servers need this, because they start this program again.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use host::{Deadline, Process};
use record::{Direction, Line, Outcome, Purpose, Series, Shape, Trial, TrialKey, TrialParameters};
use workload::{OfferedLevel, REFERENCE_STRIDE, Variant, Workload};

/// Runs one trial to its end.
fn supervise(workload: &Workload, variant: &str, n: u64) -> (Trial, Vec<Series>) {
    supervise_order(workload, order(workload, variant, n))
}

/// Runs one trial with these settings to its end.
fn supervise_with(
    workload: &Workload,
    variant: &str,
    n: u64,
    settings: BTreeMap<String, String>,
) -> (Trial, Vec<Series>) {
    supervise_order(workload, TrialParameters { settings, ..order(workload, variant, n) })
}

/// A trial without settings and references.
fn order(workload: &Workload, variant: &str, n: u64) -> TrialParameters {
    TrialParameters {
        system: "local".to_owned(),
        workload: workload.name.to_owned(),
        version: workload.version,
        variant: variant.to_owned(),
        trial: 1,
        n,
        seed: 7,
        window_seconds: (workload.shape != Shape::Curve).then_some(0.02),
        settings: few_files(workload),
        offered: offered(workload, n),
        timeout_seconds: 120.0,
        ..TrialParameters::default()
    }
}

/// Jobs on thousands of files get few, databases few rows, and compilers little to do.
fn few_files(workload: &Workload) -> BTreeMap<String, String> {
    let value = |name: &str| match name {
        "files" => Some("20"),
        "optimize" => Some("0"),
        "rows" => Some("1000"),
        _ => None,
    };
    let settings = workload.settings.iter();
    settings.filter_map(|setting| Some((setting.name.to_owned(), value(setting.name)?.to_owned()))).collect()
}

/// Little, at every level, where rivals are offered the same.
fn offered(workload: &Workload, n: u64) -> Vec<OfferedLevel> {
    let level = |n| OfferedLevel {
        n,
        per_second: 200.0,
        spacing_seconds: 1e-4,
        slowest: "inetd".to_owned(),
        slowest_per_second: 400.0,
        generator_seconds: 5e-5,
    };
    let levels = if workload.equal_offered_load { workload.sizes.list(n) } else { Vec::new() };
    levels.into_iter().map(level).collect()
}

/// Runs one trial to its end, in a scratch folder of its own.
fn supervise_order(workload: &Workload, order: TrialParameters) -> (Trial, Vec<Series>) {
    let scratch = tempfile::tempdir().expect("a scratch folder");
    let order =
        TrialParameters { scratch: scratch.path().to_str().expect("a name in UTF-8").to_owned(), ..order };
    let is_of_osdyno = [cores::GROUP, jobs::GROUP].iter().any(|group| group.find(workload.name).is_some());
    let program = match workload.server || is_of_osdyno {
        true => env!("CARGO_BIN_EXE_osdyno-trial-servers"),
        false => env!("CARGO_BIN_EXE_osdyno-trial"),
    };
    let command = host::role(Path::new(program), &["supervise"]);
    let mut supervisor = Process::start("the supervisor", command).expect("the program starts");
    supervisor.send(&order).expect("a request");
    let deadline = Deadline::within(Duration::from_secs(150));
    let count: usize = supervisor.receive(deadline).expect("a number of lines");
    let lines = (0..count).map(|_| supervisor.receive_bytes(deadline).expect("a line"));
    let lines: Vec<String> = lines.map(|line| String::from_utf8(line).expect("text")).collect();
    let ending = supervisor.finish(Duration::from_secs(10));
    assert!(ending.is_success, "{ending:?}");
    let (mut trials, mut all, mut facts) = (Vec::new(), Vec::new(), Vec::new());
    for line in &lines {
        match record::parse_line(line).expect("a line of the record") {
            Line::Trial(trial) => trials.push(trial),
            Line::Series(series) => all.push(series),
            other => facts.push(other),
        }
    }
    assert_eq!(trials.len(), 1, "{} {}", workload.name, order.variant);
    expect_facts(workload, &trials[0], &facts);
    (trials.remove(0), all)
}

/// A load has the distribution of its latencies at each level that it reached, and, unless requests come one
/// at a time, the load generator's own observations. All of it names its trial.
fn expect_facts(workload: &Workload, trial: &Trial, facts: &[Line]) {
    let key = TrialKey::from_parameters(&trial.order);
    let (mut generators, mut histograms) = (Vec::new(), Vec::new());
    for fact in facts {
        let of = match fact {
            Line::Generator(level) => {
                generators.extend((level.purpose == Purpose::Level).then_some(level.n));
                &level.of
            }
            Line::Histogram(histogram) => {
                assert!(histogram.count > 0 && !histogram.hdr.is_empty(), "{histogram:?}");
                histograms.push(histogram.n);
                &histogram.of
            }
            Line::Limited(limited) => &limited.of,
            other => panic!("{other:?}"),
        };
        assert_eq!(of, &key);
    }
    if trial.outcome == Outcome::Complete && workload.shape == Shape::Load {
        let levels = workload.sizes.list(trial.order.n);
        // On a busy machine a load of few requests may have no response.
        let is_quiet = workload.name == "mixed" && histograms.iter().all(|n| levels.contains(n));
        assert!(is_quiet || histograms == levels, "{key:?}: {histograms:?}");
        let one_at_a_time = ["request", "crowd"].contains(&workload.name);
        // The load that rivals are offered is a load of its own.
        let loads = if workload.equal_offered_load { 2 } else { 1 };
        let each = |n: u64| std::iter::repeat_n(n, loads);
        let expected = if one_at_a_time { Vec::new() } else { levels.into_iter().flat_map(each).collect() };
        assert_eq!(generators, expected, "{key:?}");
    } else if matches!(workload.shape, Shape::Curve | Shape::Scaling) {
        assert_eq!(facts, [], "{key:?}");
    } else if workload.shape == Shape::Job {
        assert!(generators.is_empty(), "{key:?}: {generators:?}");
    }
}

fn expect_whole(workload: &Workload, variant: Variant, n: u64) {
    let name = format!("{}/{} to {n}", workload.name, variant.name);
    let (trial, all) = supervise(workload, variant.name, n);
    match &trial.outcome {
        Outcome::Complete => {}
        // A system without IPv6, say.
        Outcome::Unsupported { reason } if !reason.is_empty() => return println!("{name}: {reason}"),
        outcome => panic!("{name}: {outcome:?}"),
    }
    assert!(trial.checks.iter().all(|check| check.held), "{name}: {:?}", trial.checks);
    // A value may be missing where a remark says why. The kernel's memory is of the whole machine, which
    // others change; a server may take longer to recover than the time limit.
    let may_lack = |series: &str| {
        let reason = match series {
            "kernel memory" => "Kernel memory is not reported at some n: ",
            "recovery" => "p99 was still high ",
            _ => return false,
        };
        trial.warnings.iter().any(|warning| warning.starts_with(reason))
    };
    let named: Vec<&str> = all.iter().map(|series| series.name.as_str()).collect();
    let is_of = |names: &[&str]| names.is_empty() || names.contains(&variant.name);
    let expected = workload.measured().filter(|operation| is_of(operation.variants));
    let expected = expected.map(|operation| operation.name);
    let expected: Vec<&str> = expected.filter(|name| named.contains(name) || !may_lack(name)).collect();
    assert_eq!(named, expected, "{name}");
    for series in &all {
        let sizes: Vec<u64> = series.points().map(|(n, _)| n).collect();
        let mut expected: Vec<u64> = match series.direction {
            Direction::Up => workload.sizes.list(n),
            Direction::Down => (1..=n).rev().collect(),
        };
        if may_lack(&series.name) {
            expected.retain(|n| sizes.contains(n));
        }
        assert_eq!(sizes, expected, "{name} {}", series.name);
        assert!(series.values.iter().all(|&value| value >= 0.0), "{name}: {series:?}");
    }
}

fn expect_all(workload: &Workload) {
    let (first, others) = workload.variants.split_first().expect("a variant");
    let tops: &[u64] = if workload.sizes.are_levels() { &[1, 3, 8] } else { &[3] };
    tops.iter().for_each(|&n| expect_whole(workload, *first, n));
    // Those of the kernel run in the tests of `kernel`.
    if workload.server {
        others.iter().for_each(|&variant| expect_whole(workload, variant, 3));
    }
}

#[test]
fn every_workload_is_measured_at_every_n_or_level() {
    // Most of the time is spent waiting for servers to end.
    std::thread::scope(|scope| {
        for &workload in [kernel::GROUP, servers::GROUP, jobs::GROUP].iter().flat_map(|group| group.workloads)
        {
            scope.spawn(|| expect_all(workload));
        }
    });
}

/// A level that did not count, on a machine that is busy with other tests, has a remark and no value.
#[test]
fn every_scaling_is_measured_in_every_variant() {
    let mut levels_that_count = 0;
    for &workload in cores::GROUP.workloads {
        for variant in workload.variants {
            let name = format!("{}/{}", workload.name, variant.name);
            let (trial, all) = supervise(workload, variant.name, 3);
            let is_void = |level: u64| {
                let workers = if level == 1 { "worker" } else { "workers" };
                let remark = format!("The level of {level} {workers} does not count: ");
                trial.warnings.iter().any(|warning| warning.starts_with(&remark))
            };
            match &trial.outcome {
                Outcome::Complete => {}
                Outcome::Unsupported { reason } if !reason.is_empty() => continue,
                outcome => panic!("{name}: {outcome:?} {:?}", trial.warnings),
            }
            let counted: Vec<u64> = [1, 2, 3].into_iter().filter(|&level| !is_void(level)).collect();
            // It is the cost against one worker.
            let compared: Vec<u64> = match counted.split_first() {
                Some((1, others)) => others.to_vec(),
                _ => Vec::new(),
            };
            for operation in workload.measured() {
                let expected = if operation.name == "slowdown" { &compared } else { &counted };
                let series = all.iter().find(|series| series.name == operation.name);
                let levels: Vec<u64> =
                    series.into_iter().flat_map(|series| series.points()).map(|(n, _)| n).collect();
                assert_eq!(&levels, expected, "{name} {}: {:?}", operation.name, trial.warnings);
                let is_value = |series: &Series| series.values.iter().all(|&value| value >= 0.0);
                assert!(series.is_none_or(is_value), "{name}: {series:?}");
                levels_that_count += levels.len();
            }
        }
    }
    assert!(levels_that_count > 0, "no level counted");
}

/// One time in [`REFERENCE_STRIDE`], at an n that lies between those of two operations, both ways, without
/// changing the other measurements.
#[test]
#[cfg(unix)]
fn references_are_timed_among_the_operations_where_they_are_wanted() {
    let socket = kernel::GROUP.find("socket").expect("a workload");
    let n = 4 * REFERENCE_STRIDE as u64 + 3;
    let with = |references| supervise_order(socket, TrialParameters { references, ..order(socket, "v4", n) });
    let ((trial, all), (_, without)) = (with(true), with(false));
    assert_eq!((&trial.outcome, trial.order.references), (&Outcome::Complete, true));
    let shape = |series: &Series| (series.name.clone(), series.direction, series.points().count());
    let (references, operations): (Vec<&Series>, Vec<&Series>) = all
        .iter()
        .partition(|series| socket.references().iter().any(|reference| reference.name == series.name));
    assert_eq!(
        operations.into_iter().map(shape).collect::<Vec<_>>(),
        without.iter().map(shape).collect::<Vec<_>>()
    );
    assert_eq!(references.len(), socket.references().len());
    for series in references {
        let sizes: Vec<u64> = series.points().map(|(n, _)| n).collect();
        let expected: [u64; 4] = match series.direction {
            Direction::Up => [8, 16, 24, 32],
            Direction::Down => [27, 19, 11, 3],
        };
        assert_eq!(sizes, expected, "{} {}", series.name, series.direction);
        assert!(series.values.iter().all(|&value| value > 0.0), "{series:?}");
    }
}

#[test]
fn settings_reach_the_workload_and_unknown_ones_end_the_trial() {
    let find = |group: workload::Group, name| group.find(name).expect("a workload");
    let files = find(kernel::GROUP, "files");
    let set = |name: &str, value: &str| BTreeMap::from([(name.to_owned(), value.to_owned())]);
    let (trial, all) = supervise_with(files, "", 30, set("per-folder", "7"));
    assert_eq!((&trial.outcome, all.is_empty()), (&Outcome::Complete, false));
    assert_eq!(trial.order.settings, set("per-folder", "7"), "the record has the settings");
    for (name, value) in [("per-folder", "0"), ("folders", "7")] {
        let (trial, all) = supervise_with(files, "", 3, set(name, value));
        assert!(matches!(&trial.outcome, Outcome::Failed { reason } if reason.contains(name)), "{trial:?}");
        assert!(all.is_empty(), "nothing is measured");
    }
    // An architecture that this system lacks shows that the setting has arrived.
    if cfg!(target_os = "linux") {
        let (trial, _) = supervise_with(find(servers::GROUP, "web"), "590", 1, set("arch", "kqueue"));
        let is_kqueue = |reason: &str| reason.contains("kqueue");
        assert!(matches!(&trial.outcome, Outcome::Unsupported { reason } if is_kqueue(reason)), "{trial:?}");
    }
}

#[test]
fn an_unknown_workload_is_reported_and_not_measured() {
    let (trial, all) = supervise(&Workload { name: "scoket", ..Workload::CURVE }, "", 3);
    assert!(matches!(&trial.outcome, Outcome::Failed { reason } if reason.contains("scoket")));
    assert!(all.is_empty());
}
