//! Entries of other benchmarks, once all files are read: which series each belongs to, at which n, and which
//! trial it is.

use std::collections::HashMap;

use record::Direction;
use record::words::things;

use crate::entries::{Entry, FileEntry, FileRead, Trials, files as shown_files};
use crate::families::{self, Families, Place};
use crate::formats::Format;
use crate::gather::Gather;
use crate::name::Name;

/// Entries of all files.
#[derive(Debug, Default)]
pub(crate) struct Foreign {
    entries: Vec<FileEntry>,
}

/// Why entries do not become series.
pub(crate) enum Failure {
    /// There are too many.
    TooLarge { file: String, reason: String },
    /// No number is called as the user says; these are.
    NoSuchNumber(Vec<String>),
}

impl Foreign {
    pub(crate) fn add(&mut self, file: usize, format: &Format, entries: Vec<Entry>) {
        let (name, trials) = (format.name, format.trials);
        self.entries.extend(entries.into_iter().map(|entry| FileEntry { file, format: name, trials, entry }));
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Adds everything to the series that it belongs to. What comes back are remarks.
    pub(crate) fn resolve(
        &mut self,
        wanted: Option<&str>,
        from: u64,
        gather: &mut Gather,
        files: &mut [FileRead],
    ) -> Result<Vec<String>, Failure> {
        let mut entries = std::mem::take(&mut self.entries);
        let formats = of_formats(&entries, files);
        let baselines = settle_baselines(&mut entries, files);
        let names: Vec<Name> = entries.iter().map(|of| of.entry.name.clone()).collect();
        let (found, failure) = match families::places(&names, wanted) {
            Ok(found) => (found, None),
            Err(keys) => {
                let found = families::places(&names, None).unwrap_or_else(|_| Families::default());
                (found, Some(Failure::NoSuchNumber(keys)))
            }
        };
        let mut counted = Counted::default();
        let mut below = vec![0; files.len()];
        for (of, place) in entries.iter().zip(&found.places) {
            if place.n < from {
                below[of.file] += of.entry.seconds.len() as u64;
                continue;
            }
            counted.add(of, place, gather).map_err(|reason| {
                let file = files.get(of.file).map(|file| file.file.clone()).unwrap_or_default();
                Failure::TooLarge { file, reason }
            })?;
        }
        for (file, below) in files.iter_mut().zip(below) {
            file.values -= below;
            file.leave_out_below(from, below);
        }
        match failure {
            Some(failure) => Err(failure),
            None => Ok(formats.into_iter().chain(baselines).chain(found.remarks).collect()),
        }
    }
}

/// What files were taken for, and what a trial is in them.
fn of_formats(entries: &[FileEntry], files: &[FileRead]) -> Vec<String> {
    let mut formats: Vec<(&str, Trials, Vec<usize>)> = Vec::new();
    for of in entries {
        match formats.iter_mut().find(|(format, _, _)| *format == of.format) {
            Some((_, _, files)) if files.last() == Some(&of.file) => {}
            Some((_, _, files)) => files.push(of.file),
            None => formats.push((of.format, of.trials, vec![of.file])),
        }
    }
    let sentence = |(format, trials, of): (&str, Trials, Vec<usize>)| {
        let names: Vec<String> = of.iter().map(|file| files[*file].file.clone()).collect();
        format!("{}: {format}{}.", shown_files(&names), trials.remark())
    };
    formats.into_iter().map(sentence).collect()
}

/// Trials so far of each series and n, over all files.
#[derive(Default)]
struct Counted {
    last: HashMap<Place, u32>,
    /// The trial that a file is.
    of_file: HashMap<(usize, Place), u32>,
}

impl Counted {
    fn add(&mut self, of: &FileEntry, place: &Place, gather: &mut Gather) -> Result<(), String> {
        let mut trial = None;
        for &seconds in &of.entry.seconds {
            let number = match (of.trials, trial) {
                (Trials::Entries, Some(trial)) => trial,
                (Trials::Files, _) => match self.of_file.get(&(of.file, place.clone())) {
                    Some(trial) => *trial,
                    None => {
                        let trial = self.next(place);
                        self.of_file.insert((of.file, place.clone()), trial);
                        trial
                    }
                },
                _ => self.next(place),
            };
            trial = Some(number);
            let track = gather.place(place.series.as_bytes(), number, Direction::Up, 0.0)?;
            gather.add(track, place.n, seconds);
        }
        Ok(())
    }

    fn next(&mut self, place: &Place) -> u32 {
        let last = self.last.entry(place.clone()).or_default();
        *last += 1;
        *last
    }
}

/// The key in a name's origin.
pub(crate) const BASELINE: &str = "baseline";

/// Takes out what is `base` where there is a `new` of it.
fn settle_baselines(entries: &mut Vec<FileEntry>, files: &mut [FileRead]) -> Option<String> {
    let has =
        |of: &FileEntry, baseline: &str| of.entry.name.origin.get(BASELINE).is_some_and(|is| is == baseline);
    let news: HashMap<String, Vec<f64>> = entries
        .iter()
        .filter(|of| has(of, "new"))
        .map(|of| (of.entry.name.text.clone(), of.entry.seconds.clone()))
        .collect();
    let (mut copies, mut others) = (0, 0);
    entries.retain(|of| {
        let Some(new) = news.get(&of.entry.name.text).filter(|_| has(of, "base")) else { return true };
        let is_copy = *new == of.entry.seconds;
        *(if is_copy { &mut copies } else { &mut others }) += 1;
        let reason = if is_copy { "equal to new/" } else { "of another run than new/" };
        files[of.file].leave_out_all(&of.entry.name.text, reason);
        false
    });
    let files = |n: usize, which: &str| {
        (n > 0).then(|| format!("{} left out: {which}.", things(n, "file of base/ is", "files of base/ are")))
    };
    let remarks = [files(copies, "equal to new/"), files(others, "of another run than new/")];
    let remarks: Vec<String> = remarks.into_iter().flatten().collect();
    (!remarks.is_empty()).then(|| remarks.join(" "))
}
