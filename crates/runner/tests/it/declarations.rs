//! The declarations of every workload of every group.

use workload::{Direction, Linkage, Sizes, Variant, Workload};

#[test]
fn on_linux_nothing_is_unsupported() {
    if cfg!(target_os = "linux") {
        assert!(runner::workloads().all(|workload| workload.run.is_ok()));
    }
}

#[test]
fn every_page_asks_says_how_and_predicts() {
    for workload in runner::workloads() {
        let page = workload.page();
        for part in ["**Question.**", "**Method.**", "**Expected answer.**"] {
            assert!(page.contains(part), "{} has no {part}", workload.name);
        }
        assert!(!workload.summary().is_empty() && workload.summary().len() < 90, "{}", workload.summary());
        assert!(workload.classic_n > 0 && workload.version > 0 && !workload.variants.is_empty());
    }
}

#[test]
fn every_way_up_is_followed_by_a_way_down_where_objects_pile_up() {
    let piles_up =
        |workload: &&Workload| matches!(workload.sizes, Sizes::Every) && workload.grows != "repetitions";
    for workload in runner::workloads().filter(piles_up) {
        assert!(
            workload.measured().any(|operation| operation.direction == Direction::Down),
            "{}",
            workload.name
        );
    }
}

#[test]
fn levels_rise_to_the_top_and_only_there_something_is_reported() {
    for workload in runner::workloads() {
        for operation in workload.measured() {
            let is_level = workload.sizes.are_levels();
            assert_eq!(operation.reported, is_level, "{} {}", workload.name, operation.name);
        }
        for n in [1, 2, 3, 8, 1000, 4711] {
            let levels = workload.sizes.list(n);
            assert_eq!(levels.len(), workload.sizes.count(n));
            assert!(levels.is_sorted_by(|a, b| a < b) && levels.last() <= Some(&n), "{} {n}", workload.name);
        }
    }
}

#[test]
fn every_core_variant_exists_and_a_default_run_is_short() {
    for workload in runner::workloads() {
        let exists = |name: &&str| workload.variants.iter().any(|variant| variant.name == *name);
        assert!(workload.core_variants.iter().all(exists), "{}", workload.name);
    }
    let chosen = runner::select(&[]).expect("a default run");
    let of = |(workload, variant): &(&'static Workload, Variant)| {
        let name = variant.name;
        workload.operations.iter().filter(move |operation| operation.is_of(name) && !operation.detail)
    };
    let asked = chosen.iter().flat_map(of).count();
    assert!((38..=45).contains(&asked), "{asked} series");
}

/// Otherwise nothing would bound it.
#[test]
fn every_need_is_of_a_resource_that_the_system_counts() {
    use workload::resource::{DISK, INODES, PROCESSORS};
    let names: Vec<&str> = sys::limit::Resource::ALL.iter().map(|resource| resource.name()).collect();
    let is_known = |name: &str| names.contains(&name) || [DISK, INODES, PROCESSORS].contains(&name);
    for workload in runner::workloads() {
        for need in workload.needs.iter().chain(workload.fixed_needs) {
            assert!(is_known(need.resource), "{} needs {}", workload.name, need.resource);
            let exists = |name: &&str| workload.variants.iter().any(|variant| variant.name == *name);
            assert!(need.variants.iter().all(exists), "{}: {:?}", workload.name, need.variants);
        }
    }
}

/// A series is found by its name.
#[test]
fn no_operation_has_the_name_of_a_reference() {
    for workload in runner::workloads() {
        assert_eq!(workload.references().is_empty(), workload.sizes.are_levels());
        let is_taken = |name| workload.operations.iter().any(|operation| operation.name == name);
        assert!(workload.references().iter().all(|reference| !is_taken(reference.name)), "{}", workload.name);
    }
}

#[test]
fn a_setting_has_a_default_that_may_be_chosen() {
    for workload in runner::workloads() {
        for setting in workload.settings {
            let name = format!("{} of {}", setting.name, workload.name);
            let parsed = setting.values.parse(setting.default);
            assert_eq!(parsed.as_deref(), Some(setting.default), "{name}");
            let same = workload.settings.iter().filter(|other| other.name == setting.name).count();
            assert_eq!(same, 1, "{name}");
            assert!(workload.page().contains(&format!("--set {}=", setting.name)), "{name} is on no page");
        }
    }
}

#[test]
fn names_are_unique_and_sums_name_what_is_timed() {
    for workload in runner::workloads() {
        assert_eq!(
            runner::workloads().filter(|other| other.name == workload.name).count(),
            1,
            "{}",
            workload.name
        );
        for operation in workload.operations {
            let same = workload.operations.iter().filter(|other| other.name == operation.name).count();
            assert_eq!(same, 1, "{} {}", workload.name, operation.name);
            assert!(operation.sum_of.iter().all(|part| workload.measured().any(|timed| timed.name == *part)));
        }
        for (variant, words) in workload.remedies {
            let is_known = workload.variants.iter().any(|known| known.name == *variant);
            assert!(is_known, "{} has no variant {variant}", workload.name);
            assert!(!words.ends_with('.') && words.len() < 70, "{} {variant}: {words}", workload.name);
        }
    }
    assert_eq!(runner::find("fork-static").map(|workload| workload.linkage), Some(Linkage::Static));
}
