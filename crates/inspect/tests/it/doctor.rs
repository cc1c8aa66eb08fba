//! Verdicts on a machine from its report about itself: a machine that a test makes up.

use inspect::doctor::{Diagnosis, Prognosis, Readiness, ReasonWeight, diagnose};
use record::{Examination, ResourceLimit, System, resource};
use workload::{Ceiling, Extent};

fn system() -> System {
    System { name: "made up".to_owned(), ..System::default() }
}

/// A workload that a limit stops at n of 20,000.
fn stopped(name: &str, n: u64, of: &'static str, limit: &str) -> Prognosis {
    let limit = ResourceLimit {
        name: limit.to_owned(),
        value: n + 32,
        usable: n,
        advice: "find more of it".to_owned(),
    };
    let ceiling = Ceiling { n, resource: Some(of), per_n: 1, fixed: 0, limit };
    Prognosis {
        name: name.to_owned(),
        grows: "things",
        extent: Extent { n, wanted: 20_000, ceiling: Some(ceiling.clone()), helpers: 0 },
        ceilings: vec![ceiling],
        unsupported: None,
    }
}

fn unlimited(name: &str) -> Prognosis {
    let extent = Extent { n: 20_000, wanted: 20_000, ceiling: None, helpers: 0 };
    Prognosis { extent, ceilings: Vec::new(), ..stopped(name, 1, resource::MEMORY, "") }
}

fn diagnosed(prognoses: Vec<Prognosis>) -> Diagnosis {
    diagnose(&system(), prognoses, None, &Ok(Examination::default()))
}

#[test]
fn memory_that_ends_a_workload_early_limits_a_run_and_is_nothing_to_raise() {
    let short = stopped("fork-memory", 9950, resource::MEMORY, "MemAvailable");
    let diagnosis = diagnosed(vec![unlimited("noop"), short]);
    assert_eq!(diagnosis.readiness, Readiness::Limited);
    assert_eq!(diagnosis.reasons[0].weight, ReasonWeight::Limited);
    assert!(diagnosis.reasons[0].text.contains("find more of it"), "{:?}", diagnosis.reasons);
    assert_eq!(diagnosis.shortfalls, [], "no setting is too low");
}

#[test]
fn a_limit_that_stops_workloads_just_before_the_end_has_its_remedy() {
    let stopped = |name| stopped(name, 19_968, resource::DESCRIPTORS, "RLIMIT_NOFILE");
    let diagnosis = diagnosed(vec![stopped("socket/v4"), stopped("files")]);
    assert_eq!(diagnosis.readiness, Readiness::Ready, "{:?}", diagnosis.reasons);
    let [shortfall] = &diagnosis.shortfalls[..] else { panic!("{:?}", diagnosis.shortfalls) };
    assert_eq!((shortfall.now, shortfall.needed), (20_000, 20_032));
    assert_eq!(shortfall.wanted_by, ["socket/v4", "files"]);
    assert_eq!(shortfall.command.as_deref(), Some("ulimit -n 20032"));
}

#[test]
fn only_a_run_without_any_answer_is_not_fit() {
    let nothing = |name| stopped(name, 0, resource::MEMORY, "MemAvailable");
    assert_eq!(diagnosed(vec![unlimited("noop"), nothing("fork-memory")]).readiness, Readiness::Limited);
    assert_eq!(diagnosed(vec![nothing("fork-memory")]).readiness, Readiness::NotFit);
    assert_eq!(diagnosed(vec![unlimited("noop")]).readiness, Readiness::Ready);
}
