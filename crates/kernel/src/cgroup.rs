//! Cost of one more control group while n exist.
//!
//! **Question.** What does it cost to make a control group, to move a process into it, to read its statistics
//! and to remove it, when there are thousands? Service managers and container runtimes do all of that for
//! each service.
//!
//! **Method.** The groups are of version 2 and lie side by side below the group of the trial, so nothing of
//! others is touched. Each is made by mkdir(2), timed; then the trial moves itself into one of all, chosen at
//! random, by one write(2), timed, and goes back, untimed; then it reads a file of statistics of one, opened
//! before and chosen at random, by one pread(2), timed. `alive` reads cpu.stat, which every group has,
//! `memory` memory.stat. They are removed in random order by rmdir(2), each timed. `dying`: each group is
//! removed at once, but a page of a file in memory that the trial wrote within it keeps it in the kernel; so
//! n counts groups that are gone for everybody else. What a killed trial leaves is removed by its janitor.
//!
//! **Expected answer.** Flat while groups are alive: they are found through their folders, and statistics are
//! summed only where something changed (kernel/cgroup/rstat.c of Linux). Dying groups were a growth of their
//! own on machines that start services often: reclaim and statistics walked through all of them (LWN 895431).

use workload::resource::{DESCRIPTORS, MEMORY};
use workload::{Expect, Need, Operation, Variant, Workload, on_linux};

pub(crate) const WORKLOAD: Workload = Workload {
    name: "cgroup",
    source: workload::page!("cgroup.rs"),
    grows: "control groups",
    variants: &[
        Variant { name: "alive", summary: "groups of version 2" },
        Variant { name: "memory", summary: "the same with their statistics of memory" },
        Variant { name: "dying", summary: "removed groups that a page in memory keeps" },
    ],
    core_variants: &["alive"],
    operations: &[
        Operation::up("create", Expect::Constant, "one mkdir(2)"),
        Operation::up("attach", Expect::Constant, "one write(2) of cgroup.procs"),
        Operation::up("read", Expect::Constant, "one pread(2) of cpu.stat or memory.stat")
            .only(&["alive", "memory"]),
        Operation::up("remove dying", Expect::Constant, "one rmdir(2) of a group with a page")
            .only(&["dying"]),
        Operation::down("remove", Expect::Constant, "one rmdir(2), in random order")
            .only(&["alive", "memory"]),
    ],
    needs: &[
        Need::new(MEMORY, 16 << 10),
        Need::new(DESCRIPTORS, 2).only_in(&["alive", "memory"]),
        Need::new(DESCRIPTORS, 1).only_in(&["dying"]),
    ],
    top: Some(2000),
    run: on_linux!(measured::run, "control groups are Linux's"),
    ..Workload::CURVE
};

#[cfg(target_os = "linux")]
mod measured {
    use std::fs::File;
    use std::io::Write;
    use std::os::unix::fs::FileExt;

    use sys::control_group::{ControlGroup, own_members};
    use sys::persistent::{PersistentKind, PersistentNames};
    use workload::{Trial, TrialError};

    /// Longer than either file.
    const STATISTICS_BYTES: usize = 8 << 10;

    pub(super) fn run(trial: &mut Trial<'_>) -> Result<(), TrialError> {
        let names = PersistentNames::reserve(trial.scratch(), PersistentKind::ControlGroup, trial.n());
        let names = names.map_err(TrialError::at("to choose names for the groups"))?;
        let own = own_members().map_err(TrialError::at("to find the group of this process"))?;
        let groups = (0..trial.n()).map(|place| ControlGroup::name(names.number(place)));
        let groups = TrialError::collect("to name the groups", groups)?;
        // Only the controller of memory counts pages for groups.
        let statistics = if trial.variant() == "alive" { "cpu.stat" } else { "memory.stat" };
        let probed = groups.first().map_or(Ok(()), |group| {
            group.create()?;
            let found = group.file(statistics).map(drop);
            group.remove().and(found)
        });
        probed.map_err(TrialError::at("to read the statistics of a group"))?;
        match trial.variant() {
            "dying" => dying(trial, &groups, &own),
            _ => alive(trial, &groups, &own, statistics),
        }
    }

    fn alive(
        trial: &mut Trial<'_>,
        groups: &[ControlGroup],
        own: &File,
        name: &str,
    ) -> Result<(), TrialError> {
        let mut random = fastrand::Rng::with_seed(trial.seed());
        let mut files: Vec<(File, File)> = Vec::with_capacity(groups.len());
        let (mut statistics, mut is_told) = ([0; STATISTICS_BYTES], true);
        let made = trial.compact_steps(&["create", "attach", "read"], |n, lap| {
            groups[n].create()?;
            lap.mark();
            files.push((groups[n].members()?, groups[n].file(name)?));
            let (members, file) = &files[random.usize(..=n)];
            lap.skip();
            let attached = ControlGroup::attach(members);
            lap.mark();
            ControlGroup::attach(own).and(attached)?;
            lap.skip();
            let read = file.read_at(&mut statistics, 0)?;
            lap.mark();
            is_told &= read > 0;
            Ok(n)
        })?;
        trial.check("every file of statistics had a text", is_told);
        files.clear();
        let made = trial.shuffled(made);
        trial.compact_down("remove", made, |n| groups[n].remove())
    }

    fn dying(trial: &mut Trial<'_>, groups: &[ControlGroup], own: &File) -> Result<(), TrialError> {
        let folder = trial.own_folder()?;
        trial.compact_steps(&["create", "attach", "remove dying"], |n, lap| {
            groups[n].create()?;
            lap.mark();
            let members = groups[n].members()?;
            lap.skip();
            ControlGroup::attach(&members)?;
            lap.mark();
            let written =
                File::create(folder.join(n.to_string())).and_then(|mut file| file.write_all(b"kept"));
            ControlGroup::attach(own).and(written)?;
            drop(members);
            lap.skip();
            groups[n].remove()?;
            lap.mark();
            Ok(())
        })?;
        Ok(())
    }
}
