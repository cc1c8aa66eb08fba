//! The folder for files: a trial counts only if it is the same folder at the end as at the beginning.

use std::path::Path;

use record::Outcome;

/// The folder as a trial found it. Where its file system is unmounted meanwhile, or the folder removed, a
/// workload would make it again, and measure another file system under the name of this one.
#[derive(Debug)]
pub(crate) struct Place<'a> {
    folder: &'a Path,
    /// `None` where it was missing at the beginning: not every workload needs it.
    identity: Option<(u64, u64)>,
}

impl<'a> Place<'a> {
    pub(crate) fn new(folder: &'a str) -> Place<'a> {
        let folder = Path::new(folder);
        Place { folder, identity: sys::file::identity(folder).ok() }
    }

    /// The outcome of a trial that has ended like this.
    pub(crate) fn judge(&self, ended: Outcome) -> Outcome {
        let went_wrong = matches!(ended, Outcome::Limit { .. } | Outcome::Failed { .. });
        let was_missed = self.identity.is_none() && went_wrong;
        if !was_missed && sys::file::identity(self.folder).ok() == self.identity {
            return ended;
        }
        let folder = self.folder.display();
        let reason = format!(
            "the folder for files, {folder}, is gone or is another one now: somebody removed it, or \
             unmounted its file system"
        );
        Outcome::Failed { reason }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trial_counts_only_where_its_folder_stayed() {
        let limit = || Outcome::Limit {
            n: 1,
            operation: "open".to_owned(),
            error: "ENOENT".to_owned(),
            advice: String::new(),
        };
        let is_lost = |outcome| matches!(outcome, Outcome::Failed { .. });
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("files");
        let name = path.to_str().unwrap();
        let missing = Place::new(name);
        assert_eq!(missing.judge(Outcome::Complete), Outcome::Complete, "it was not needed");
        assert!(is_lost(missing.judge(limit())));
        std::fs::create_dir(&path).unwrap();
        assert!(is_lost(missing.judge(Outcome::Complete)), "the workload has made it");
        let there = Place::new(name);
        assert_eq!((there.judge(limit()), there.judge(Outcome::Complete)), (limit(), Outcome::Complete));
        std::fs::remove_dir(&path).unwrap();
        assert!(is_lost(there.judge(Outcome::Complete)));
    }
}
