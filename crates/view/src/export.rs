//! The pages of a site as files.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::list;
use crate::site::{Site, series_address};

/// The pages that were written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Exported {
    /// How many.
    pub pages: usize,
    /// Pages that could not be made, each with the reason.
    pub failed: Vec<(String, String)>,
}

/// Writes every page of the folder `runs` into `target`: all of them, and each run against the one before it.
///
/// # Errors
/// The folder of runs cannot be read, or a page not be written.
pub fn export(runs: &Path, target: &Path) -> io::Result<Exported> {
    let site = Site::new(runs, true);
    let snapshot = site.snapshot().map_err(io::Error::other)?;
    let mut paths: Vec<String> = vec!["index.html".to_owned(), "history.html".to_owned()];
    paths.extend((2..=list::pages(&snapshot)).map(|page| format!("index-{page}.html")));
    for (place, machine) in snapshot.answer.machines.iter().enumerate() {
        paths.extend(machine.series.iter().map(|series| series_address(place, &series.id)));
    }
    paths.extend(snapshot.store.summaries().map(|(_, run)| format!("run/{}.html", run.id)));
    paths.extend(list::pairs(&snapshot).iter().map(|(base, head)| list::compare_address(base, head)));
    let mut exported = Exported::default();
    for path in paths {
        let found = match site.found(&path, "") {
            Ok(found) => found,
            Err((_, reason)) => {
                exported.failed.push((path, reason));
                continue;
            }
        };
        let file: PathBuf = target.join(&path);
        fs::create_dir_all(file.parent().unwrap_or(target))?;
        fs::write(file, &found.body)?;
        exported.pages += 1;
    }
    Ok(exported)
}
