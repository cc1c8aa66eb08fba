//! Entries of other benchmarks, once all files are read: the series, n and trial of each.

use std::collections::HashMap;

use record::Direction;
use record::words::things;

use crate::entries::{Entry, FileEntry, FileRead, Trials, files as shown_files};
use crate::families::Place;
use crate::formats::Format;
use crate::gather::Gather;
use crate::name::Name;

/// Entries of all files.
#[derive(Debug, Default)]
pub(crate) struct Foreign {
    entries: Vec<FileEntry>,
}

/// There are too many series or trials.
pub(crate) struct TooLarge {
    pub(crate) file: String,
    pub(crate) reason: String,
}

impl Foreign {
    pub(crate) fn add(&mut self, file: usize, format: &Format, entries: Vec<Entry>) {
        let (name, trials) = (format.name, format.trials);
        self.entries.extend(entries.into_iter().map(|entry| FileEntry { file, format: name, trials, entry }));
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Leaves out baselines that stand beside newer measurements, and says so.
    pub(crate) fn settle(&mut self, files: &mut [FileRead]) -> Option<String> {
        settle_baselines(&mut self.entries, files)
    }

    /// What each file was taken for.
    pub(crate) fn formats<'a>(
        &self,
        files: &'a [FileRead],
    ) -> impl Iterator<Item = (&'static str, Trials, &'a str)> {
        let mut last = None;
        let firsts = self
            .entries
            .iter()
            .filter(move |of| last.replace((of.file, of.format)) != Some((of.file, of.format)));
        firsts.map(|of| (of.format, of.trials, files[of.file].file.as_str()))
    }

    /// One name for each entry.
    pub(crate) fn names(&self) -> impl Iterator<Item = &Name> {
        self.entries.iter().map(|of| &of.entry.name)
    }

    /// Adds each entry to the series and n of its place.
    pub(crate) fn place(
        &self,
        places: &[Place],
        from: u64,
        gather: &mut Gather,
        files: &mut [FileRead],
    ) -> Result<(), TooLarge> {
        let mut counted = Counted::default();
        let mut below = vec![0; files.len()];
        for (of, place) in self.entries.iter().zip(places) {
            if place.n < from {
                below[of.file] += of.entry.values.len() as u64;
                continue;
            }
            counted.add(of, place, gather).map_err(|reason| {
                let file = files.get(of.file).map(|file| file.file.clone()).unwrap_or_default();
                TooLarge { file, reason }
            })?;
        }
        for (file, below) in files.iter_mut().zip(below) {
            file.values -= below;
            file.leave_out_below(from, below);
        }
        Ok(())
    }
}

/// What files were taken for, and what a trial is in them: a sentence for each format.
pub(crate) fn formats<'a>(files: impl Iterator<Item = (&'static str, Trials, &'a str)>) -> Vec<String> {
    let mut formats: Vec<(&str, Trials, Vec<String>)> = Vec::new();
    for (format, trials, file) in files {
        match formats.iter_mut().find(|(known, ..)| *known == format) {
            Some((.., files)) => files.push(file.to_owned()),
            None => formats.push((format, trials, vec![file.to_owned()])),
        }
    }
    let sentence = |(format, trials, files): (&str, Trials, Vec<String>)| {
        format!("{}: {format}{}.", shown_files(&files), trials.remark())
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
        for &value in &of.entry.values {
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
            gather.set_unit(track, place.unit);
            gather.add(track, place.n, value);
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

/// Removes entries of `base` that have a `new`.
fn settle_baselines(entries: &mut Vec<FileEntry>, files: &mut [FileRead]) -> Option<String> {
    let has =
        |of: &FileEntry, baseline: &str| of.entry.name.origin.get(BASELINE).is_some_and(|is| is == baseline);
    let news: HashMap<String, Vec<f64>> = entries
        .iter()
        .filter(|of| has(of, "new"))
        .map(|of| (of.entry.name.text.clone(), of.entry.values.clone()))
        .collect();
    let (mut copies, mut others) = (0, 0);
    entries.retain(|of| {
        let Some(new) = news.get(&of.entry.name.text).filter(|_| has(of, "base")) else { return true };
        let is_copy = *new == of.entry.values;
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
