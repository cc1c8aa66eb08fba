//! Cost of one more extended attribute of a file that has n.
//!
//! **Question.** What does it cost to set, get, list and remove an attribute of a file with n? Labels,
//! checksums and the metadata of Windows and macOS are stored in them.
//!
//! **Method.** Attributes of the name space `user` with four bytes each are set on a file of the trial, each
//! call timed. After each, one of them, chosen at random, is read, and the names of all are listed, both
//! timed. At the end they are removed in random order. The file is in the scratch folder: `--fs` compares
//! file systems.
//!
//! **Expected answer.** Linear with a small slope: most file systems keep a list in the inode or in one
//! block, which a change writes anew (fs/ext4/xattr.c). The block is the limit: ext4 holds about a hundred in
//! 4 KiB (`ENOSPC`); XFS and btrfs have trees, tmpfs a red-black tree. A list ends at 64 KiB (`E2BIG`,
//! xattr(7)).

use workload::resource::MEMORY;
use workload::{Expect, Need, Operation, Variant, Workload, on_linux};

pub(crate) const WORKLOAD: Workload = Workload {
    name: "xattr",
    source: workload::page!("xattr.rs"),
    grows: "attributes of a file",
    variants: &[Variant { name: "user", summary: "of the name space of users" }],
    operations: &[
        Operation::up("set", Expect::Linear, "one fsetxattr(2) of a new attribute"),
        Operation::up("get", Expect::Linear, "one fgetxattr(2) of one of them"),
        Operation::up("list", Expect::Linear, "one flistxattr(2) of all names"),
        Operation::down("remove", Expect::Linear, "one fremovexattr(2), in random order"),
    ],
    needs: &[Need::new(MEMORY, 1 << 10)],
    run: on_linux!(measured::run, "extended attributes are used on Linux only"),
    ..Workload::CURVE
};

#[cfg(target_os = "linux")]
mod measured {
    use std::fs::File;

    use sys::file::attribute;
    use workload::{Trial, TrialError};

    /// `XATTR_LIST_MAX`.
    const LIST_BYTES_MAX: usize = 64 << 10;

    pub(super) fn run(trial: &mut Trial<'_>) -> Result<(), TrialError> {
        let folder = trial.own_folder()?;
        let path = folder.join("file");
        let file = File::create(&path).map_err(TrialError::at(format!("to create {}", path.display())))?;
        let names = (0..trial.n()).map(|number| attribute::name(&format!("user.{number}")));
        let names = TrialError::collect("to name the attributes", names)?;
        let (mut choice, mut wrong) = (fastrand::Rng::with_seed(trial.seed()), 0);
        let mut list = vec![0; LIST_BYTES_MAX];
        let set = trial.compact_steps(&["set", "get", "list"], |n, lap| {
            attribute::set(&file, &names[n], &(n as u32).to_ne_bytes())?;
            lap.mark();
            let (chosen, mut value) = (choice.usize(..=n), [0; 8]);
            lap.skip();
            let length = attribute::get(&file, &names[chosen], &mut value)?;
            lap.mark();
            wrong += usize::from(value[..length] != (chosen as u32).to_ne_bytes());
            lap.skip();
            let listed = attribute::list(&file, &mut list)?;
            lap.mark();
            // Labels of a security module may be among them.
            let count =
                list[..listed].split(|byte| *byte == 0).filter(|name| name.starts_with(b"user.")).count();
            wrong += usize::from(count != n + 1);
            lap.skip();
            Ok(n)
        })?;
        trial.check("every attribute had its value and was listed", wrong == 0);
        let set = trial.shuffled(set);
        trial.compact_down("remove", set, |number| attribute::remove(&file, &names[number]))?;
        let listed = attribute::list(&file, &mut list).map_err(TrialError::at("to list the attributes"))?;
        let is_left = list[..listed].split(|byte| *byte == 0).any(|name| name.starts_with(b"user."));
        trial.check("no attribute was left", !is_left);
        Ok(())
    }
}
