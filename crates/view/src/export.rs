//! The pages of a site as files.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use history::{HistorySegment, MachineHistory, SeriesHistory};

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
    let neighbours = list::pairs(&snapshot);
    let neighbours = neighbours.iter().map(|(base, head)| list::compare_address(&base.id, &head.id));
    let changes = snapshot.answer.machines.iter().flat_map(changes);
    // A change may lie between neighbours.
    paths.extend(neighbours.chain(changes).collect::<BTreeSet<String>>());
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

/// The comparisons around the changes of a machine, to which the pages of its series lead.
fn changes(machine: &MachineHistory) -> Vec<String> {
    let address = |series: &SeriesHistory, segment: &HistorySegment| {
        let before = segment.ratio.and_then(|_| series.measured_before(segment))?;
        Some(list::compare_address(&machine.nights[before].run, &machine.nights[segment.first].run))
    };
    let of_series = |series: &SeriesHistory| -> Vec<String> {
        series.segments.iter().filter_map(|segment| address(series, segment)).collect()
    };
    machine.series.iter().flat_map(of_series).collect()
}
