//! Run files of hosts become one run of a fleet, or are refused with a reason.

use std::fs;
use std::path::{Path, PathBuf};

use crate::sample;

use record::*;

/// A run of a host with these systems, whose trials began at a time of their own.
fn host(path: &Path, systems: &[&str], started: f64, change: impl Fn(&mut Line)) -> PathBuf {
    let of_system = |line: &Line, name: &str| {
        let mut line = line.clone();
        match &mut line {
            Line::System(system) => (system.name, system.fleet) = (name.into(), None),
            Line::Trial(trial) => {
                trial.order.system = name.into();
                trial.started_seconds = started + f64::from(trial.order.trial) + name.len() as f64;
            }
            Line::Series(series) => series.system = name.into(),
            Line::Generator(level) => level.of.system = name.into(),
            Line::Limited(limitation) => limitation.of.system = name.into(),
            Line::Histogram(histogram) => histogram.of.system = name.into(),
            _ => {}
        }
        change(&mut line);
        line
    };
    let all = sample::head();
    let mut head: Vec<Line> = systems.iter().map(|name| of_system(&all[0], name)).collect();
    head.push(of_system(&all[1], ""));
    let mut writer = Writer::create(path, sample::run(), &head).unwrap();
    for trial in sample::trials().iter().chain([&sample::beside(3)]) {
        for name in systems {
            let lines: Vec<Line> = trial.iter().map(|line| of_system(line, name)).collect();
            writer.append(&lines).unwrap();
        }
    }
    writer.finish(sample::end()).unwrap();
    path.to_owned()
}

fn input(path: &Path) -> MergeInput {
    let host = path.file_stem().unwrap().to_str().unwrap().to_owned();
    MergeInput { path: path.to_owned(), host, is_named: false }
}

fn named(host: &str, path: &Path) -> MergeInput {
    MergeInput { host: host.into(), is_named: true, ..input(path) }
}

fn merged(out: &Path, inputs: &[MergeInput]) -> Merged {
    merge(out, inputs, vec!["osdyno".into(), "merge".into()]).unwrap()
}

/// The message of a refusal, which leaves nothing behind.
fn refused(folder: &Path, inputs: &[MergeInput]) -> String {
    let out = folder.join("out.osdyno");
    let error = merge(&out, inputs, Vec::new()).unwrap_err().to_string();
    assert!(!out.exists(), "{error}");
    error
}

#[test]
fn each_file_becomes_a_host_and_every_value_stays() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let one = host(&at("n1.osdyno"), &["local"], 0.0, |_| {});
    let two = host(&at("n2.osdyno"), &["n2"], 100.0, |_| {});
    let result = merged(&at("fleet.osdyno"), &[input(&one), input(&two)]);
    assert_eq!(result.trials, 6);
    assert!(result.files.iter().all(|file| file.losses.is_empty() && file.has_end && file.trials == 3));

    let (fleet, losses) = read(at("fleet.osdyno")).unwrap();
    assert_eq!(losses, []);
    let place = |host: &str| Some(FleetPlace { host: host.into(), configuration: String::new() });
    let systems: Vec<_> = fleet.systems.iter().map(|system| (&*system.name, system.fleet.clone())).collect();
    assert_eq!(systems, [("n1", place("n1")), ("n2", place("n2"))]);
    assert_eq!((fleet.workloads.len(), fleet.trials.len(), fleet.generators.len()), (1, 6, 2));
    assert!(!fleet.run.paired && !fleet.interrupted());
    for (name, own) in [("n1", "local"), ("n2", "n2")] {
        let (alone, _) = read(at(&format!("{name}.osdyno"))).unwrap();
        for (key, trials) in alone.series().filter(|(key, _)| key.system == own) {
            let key = SeriesKey { system: name.into(), ..key.clone() };
            let values = |all: &[Series]| all.iter().map(|one| one.values.clone()).collect::<Vec<_>>();
            assert_eq!(values(fleet.trials_of(&key)), values(trials), "{key:#}");
        }
    }
}

#[test]
fn several_systems_of_a_file_are_configurations_in_pairs() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let one = host(&at("n1.osdyno"), &["plain", "nice"], 0.0, |_| {});
    let two = host(&at("n2.osdyno"), &["plain", "nice"], 50.0, |_| {});
    merged(&at("fleet.osdyno"), &[input(&one), named("second", &two)]);
    let (fleet, _) = read(at("fleet.osdyno")).unwrap();
    let names: Vec<&str> = fleet.systems.iter().map(|system| &*system.name).collect();
    assert_eq!(names, ["n1 plain", "n1 nice", "second plain", "second nice"]);
    let places = fleet.systems.iter().filter_map(|system| system.fleet.as_ref());
    let places: Vec<(&str, &str)> = places.map(|place| (&*place.host, &*place.configuration)).collect();
    assert_eq!(places, [("n1", "plain"), ("n1", "nice"), ("second", "plain"), ("second", "nice")]);
    assert!(fleet.run.paired);

    // A fleet takes a further host, and its own stay as they are.
    let three = host(&at("n3.osdyno"), &["plain", "nice"], 90.0, |_| {});
    let before = input(&at("fleet.osdyno"));
    let result = merged(&at("all.osdyno"), &[before.clone(), input(&three)]);
    assert_eq!(result.files[0].hosts, ["n1", "second"]);
    let (all, _) = read(at("all.osdyno")).unwrap();
    assert_eq!((all.systems.len(), all.trials.len()), (6, 18));
    assert_eq!(&all.systems[..4], &fleet.systems[..]);
    let error = refused(folder.path(), &[MergeInput { is_named: true, ..before }, input(&three)]);
    assert!(error.contains("is a fleet already"), "{error}");
}

#[test]
fn a_host_or_a_trial_that_comes_twice_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("other")).unwrap();
    let at = |name: &str| folder.path().join(name);
    let one = host(&at("n1.osdyno"), &["local"], 0.0, |_| {});
    let again = host(&at("other/n1.osdyno"), &["local"], 9.0, |_| {});
    let error = refused(folder.path(), &[input(&one), input(&again)]);
    assert!(error.contains("both of host n1") && error.contains("OTHER="), "{error}");
    merged(&at("named.osdyno"), &[input(&one), named("n2", &again)]);

    // The same trials under another name, in the same file or a copy, or as part of a fleet.
    fs::copy(&one, at("copy.osdyno")).unwrap();
    for twice in [named("n2", &one), input(&at("copy.osdyno")), input(&at("named.osdyno"))] {
        let error = refused(folder.path(), &[input(&one), twice]);
        assert!(error.contains("hold the same trial (trial 1 of bind/v6)"), "{error}");
    }
}

#[test]
fn other_definitions_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let one = host(&at("n1.osdyno"), &["local"], 0.0, |_| {});
    let newer = host(&at("n2.osdyno"), &["local"], 9.0, |line| {
        if let Line::Workload(workload) = line {
            workload.version = 2;
        }
    });
    let error = refused(folder.path(), &[input(&one), input(&newer)]);
    assert!(error.contains("bind is version 1 in") && error.contains("and version 2 in"), "{error}");
    let other = host(&at("n3.osdyno"), &["local"], 9.0, |line| {
        if let Line::Workload(workload) = line {
            workload.series[0].unit = Unit::Bytes;
        }
    });
    let error = refused(folder.path(), &[input(&one), input(&other)]);
    assert!(error.contains("with another definition"), "{error}");
    // Another variant, and other words, are no other definition.
    let variant = host(&at("n4.osdyno"), &["local"], 9.0, |line| {
        if let Line::Workload(workload) = line {
            workload.variants[0].name = "v4".into();
            workload.page = "Other words.".into();
        }
    });
    merged(&at("fleet.osdyno"), &[input(&one), input(&variant)]);
    let (fleet, _) = read(at("fleet.osdyno")).unwrap();
    let variants: Vec<&str> = fleet.workloads[0].variants.iter().map(|one| &*one.name).collect();
    assert_eq!(variants, ["v6", "v4"]);
    let floor = Line::NoiseFloor(sample::noise_floor());
    let mut writer = Writer::create(at("aa.osdyno"), sample::run(), &sample::head()).unwrap();
    writer.append(&[floor]).unwrap();
    writer.finish(sample::end()).unwrap();
    let error = refused(folder.path(), &[input(&one), input(&at("aa.osdyno"))]);
    assert!(error.contains("against itself"), "{error}");
}

#[test]
fn a_damaged_file_keeps_its_whole_frames_and_says_what_was_lost() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let one = host(&at("n1.osdyno"), &["local"], 0.0, |_| {});
    let two = host(&at("n2.osdyno"), &["local"], 9.0, |_| {});
    let bytes = fs::read(&two).unwrap();
    let mut starts = vec![0];
    while starts[starts.len() - 1] < bytes.len() {
        let start = starts[starts.len() - 1];
        starts.push(start + zstd::zstd_safe::find_frame_compressed_size(&bytes[start..]).unwrap());
    }
    // The second trial is damaged, and the end is cut off.
    let mut damaged = bytes[..starts[starts.len() - 2] + 3].to_vec();
    damaged[starts[2] + 12] ^= 0xFF;
    fs::write(at("n2.osdyno"), damaged).unwrap();
    let result = merged(&at("fleet.osdyno"), &[input(&one), input(&two)]);
    assert_eq!((result.trials, result.files[1].trials), (5, 2));
    assert_eq!(result.files[1].losses.len(), 2, "{:?}", result.files[1].losses);
    assert!(result.files[0].has_end && !result.files[1].has_end);
    let (fleet, losses) = read(at("fleet.osdyno")).unwrap();
    assert_eq!((losses, fleet.trials.len()), (Vec::new(), 5));
    let of_second = |trial: &&Trial| trial.order.system == "n2";
    let numbers: Vec<u32> = fleet.trials.iter().filter(of_second).map(|trial| trial.order.trial).collect();
    assert_eq!(numbers, [1, 3]);
    assert!(fleet.interrupted());
    // A trial that was lost before a whole end is missing as well.
    let mut damaged = bytes;
    damaged[starts[2] + 12] ^= 0xFF;
    fs::write(at("n2.osdyno"), damaged).unwrap();
    let result = merged(&at("ended.osdyno"), &[input(&one), input(&two)]);
    assert!(result.files[1].has_end && result.files[1].losses.len() == 1);
    assert!(read(at("ended.osdyno")).unwrap().0.interrupted());
    let error = merge(&at("fleet.osdyno"), &[input(&one)], Vec::new()).unwrap_err().to_string();
    assert!(error.contains("never overwritten"), "{error}");
    assert!(at("fleet.osdyno").exists());
}

#[test]
fn a_single_system_keeps_its_name_as_a_configuration() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let one = host(&at("n1.osdyno"), &["local"], 0.0, |_| {});
    let two = host(&at("n2.osdyno"), &["nice"], 9.0, |_| {});
    merged(&at("fleet.osdyno"), &[input(&one), input(&two)]);
    let (fleet, _) = read(at("fleet.osdyno")).unwrap();
    let places = fleet.systems.iter().map(|system| (&*system.name, system.fleet.clone().unwrap()));
    let place = |host: &str, of: &str| FleetPlace { host: host.into(), configuration: of.into() };
    assert_eq!(places.collect::<Vec<_>>(), [("n1", place("n1", "")), ("n2 nice", place("n2", "nice"))]);
    assert!(fleet.trials.iter().any(|trial| trial.order.system == "n2 nice"));
}

#[test]
fn other_settings_and_loads_of_one_configuration_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let set = |line: &mut Line| {
        if let Line::Trial(trial) = line {
            trial.order.settings = [("workers".into(), "4".into())].into();
        }
    };
    let loaded = |line: &mut Line| {
        if let Line::Trial(trial) = line {
            trial.order.background = vec![Background { load: "cpu:50%".into(), processor: None }];
        }
    };
    let one = host(&at("n1.osdyno"), &["local"], 0.0, |_| {});
    let two = host(&at("n2.osdyno"), &["local"], 9.0, set);
    let three = host(&at("n3.osdyno"), &["local"], 30.0, loaded);
    let error = refused(folder.path(), &[input(&one), input(&two)]);
    assert!(error.starts_with("bind was measured with the defaults in "), "{error}");
    assert!(error.contains("n1.osdyno and with workers=4 in "), "{error}");
    let error = refused(folder.path(), &[input(&one), input(&three)]);
    assert!(error.contains("with the defaults beside cpu:50% in "), "{error}");
    // Two configurations may differ, and a fleet keeps the settings of its own.
    let many = host(&at("n4.osdyno"), &["four"], 60.0, set);
    merged(&at("fleet.osdyno"), &[input(&one), input(&many)]);
    let other = host(&at("n5.osdyno"), &["four"], 90.0, |_| {});
    let error = refused(folder.path(), &[input(&at("fleet.osdyno")), input(&other)]);
    assert!(error.starts_with("bind (four) was measured with workers=4 in "), "{error}");
}

#[test]
fn trials_that_did_not_begin_are_no_copies() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let idle = |line: &mut Line| {
        if let Line::Trial(trial) = line {
            (trial.started_seconds, trial.elapsed_seconds) = (1e-6, 0.0);
        }
    };
    let one = host(&at("n1.osdyno"), &["local"], 0.0, idle);
    let two = host(&at("n2.osdyno"), &["local"], 0.0, idle);
    assert_eq!(merged(&at("fleet.osdyno"), &[input(&one), input(&two)]).trials, 6);
}

#[test]
fn systems_of_one_host_need_not_stand_together() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let place = |line: &mut Line| {
        if let Line::System(system) = line {
            let (host, configuration) = system.name.split_once(' ').unwrap();
            system.fleet = Some(FleetPlace { host: host.into(), configuration: configuration.into() });
        }
    };
    let fleet = host(&at("fleet.osdyno"), &["n1 a", "n2 a", "n1 bb"], 0.0, place);
    let more = host(&at("n3.osdyno"), &["a"], 90.0, |_| {});
    let result = merged(&at("all.osdyno"), &[input(&fleet), input(&more)]);
    assert_eq!(result.files[0].hosts, ["n1", "n2"]);
}
