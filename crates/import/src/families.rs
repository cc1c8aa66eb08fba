//! The series of a benchmark, the number in its name that is n, and the trial of each entry, once all files
//! are read.
//!
//! A family is all names that differ in numbers alone. Of those numbers n is the one that varies; of
//! several it is the one with most values, the last of equals. Names that share the others are a series.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use record::words::{count, list, things};
use record::{Direction, Unit};

use crate::formats::Format;
use crate::gather::Gather;
use crate::name::{BASELINE, Form, Kind, MODULE, Name};
use crate::outcome::{Entry, Error, FileEntry, FileRead, Trials, files as shown_files};

/// The places of values.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Place {
    pub(crate) series: String,
    pub(crate) n: u64,
    pub(crate) unit: Unit,
}

/// Each name with its series and n.
#[derive(Debug, Default)]
pub(crate) struct Families {
    /// One for each name, in their order.
    pub(crate) places: Vec<Place>,
    /// Remarks about the selected number where several are possible, each a sentence.
    pub(crate) remarks: Vec<String>,
}

struct Family<'a> {
    names: Vec<(usize, &'a Name)>,
    /// The number that is n.
    n: Option<usize>,
    /// Numbers that have one value for each n, and so are equivalent.
    dependent: Vec<usize>,
    /// Numbers with several values.
    varied: Vec<usize>,
    /// Origins that differ between names of the family.
    origins: Vec<String>,
}

/// Finds the place of each name. `wanted` is the key of the number that is n; `Err` has the keys that there
/// are, where none is called so.
pub(crate) fn places(names: &[Name], wanted: Option<&str>) -> Result<Families, Vec<String>> {
    let mut by_template: HashMap<String, usize> = HashMap::new();
    let mut members: Vec<Vec<(usize, &Name)>> = Vec::new();
    for (i, name) in names.iter().enumerate() {
        let next = members.len();
        let family = *by_template.entry(name.template()).or_insert(next);
        if family == next {
            members.push(Vec::new());
        }
        members[family].push((i, name));
    }
    let families: Vec<Family<'_>> = members.into_iter().map(|names| Family::new(names, wanted)).collect();
    if let Some(wanted) = wanted
        && !families.iter().any(|family| family.names[0].1.numbers.iter().any(|n| is_called(&n.key, wanted)))
    {
        let keys = names.iter().flat_map(|name| &name.numbers).map(|number| number.key.clone());
        return Err(keys.filter(|key| !key.is_empty()).collect::<BTreeSet<_>>().into_iter().collect());
    }
    let remarks = families.iter().filter_map(Family::remark).chain(origins(&families)).collect();
    let mut places = vec![Place { series: String::new(), n: 1, unit: Unit::Seconds }; names.len()];
    for Named { i, series, n, .. } in named(&families) {
        let unit = names[i].figure.as_ref().map_or(Unit::Seconds, |figure| figure.unit);
        places[i] = Place { series, n, unit };
    }
    Ok(Families { places, remarks })
}

fn is_called(key: &str, wanted: &str) -> bool {
    key.eq_ignore_ascii_case(wanted.trim())
}

/// A name with its series and n.
struct Named {
    i: usize,
    series: String,
    n: u64,
    family: usize,
}

/// Where nothing in two names differs, as in files of two programs, their number does.
fn apart(mut named: Vec<Named>) -> Vec<Named> {
    let mut owners: HashMap<String, Vec<usize>> = HashMap::new();
    for name in &mut named {
        let of = owners.entry(name.series.clone()).or_default();
        let at = of.iter().position(|family| *family == name.family).unwrap_or_else(|| {
            of.push(name.family);
            of.len() - 1
        });
        if at > 0 {
            name.series = format!("{} #{}", name.series, at + 1);
        }
    }
    named
}

/// Each name with its series and n. Two series that would have one name keep more of theirs.
fn named(families: &[Family<'_>]) -> Vec<Named> {
    let mut forms = vec![Form::Short; families.len()];
    loop {
        let mut owners: HashMap<String, HashSet<usize>> = HashMap::new();
        let mut named = Vec::new();
        for (at, family) in families.iter().enumerate() {
            for (i, name) in &family.names {
                let series = family.series(name, forms[at]);
                owners.entry(series.clone()).or_default().insert(at);
                named.push(Named { i: *i, series, n: family.n.map_or(1, |n| name.numbers[n].n), family: at });
            }
        }
        let mut changed = false;
        for shared in owners.into_values().filter(|owners| owners.len() > 1) {
            for at in shared {
                let next = if forms[at] == Form::Short { Form::WithKey } else { Form::Braces };
                changed |= families[at].n.is_some() && forms[at] != next;
                forms[at] = next;
            }
        }
        if !changed {
            return apart(named);
        }
    }
}

impl<'a> Family<'a> {
    fn new(names: Vec<(usize, &'a Name)>, wanted: Option<&str>) -> Family<'a> {
        let numbers = names[0].1.numbers.len();
        let values = |i: usize| names.iter().map(|(_, name)| name.numbers[i].n).collect::<BTreeSet<u64>>();
        let distinct: Vec<usize> = (0..numbers).map(|i| values(i).len()).collect();
        let varied: Vec<usize> = (0..numbers).filter(|i| distinct[*i] > 1).collect();
        let kind = |i: usize| names[0].1.numbers[i].kind;
        let called = |wanted| (0..numbers).find(|i| is_called(&names[0].1.numbers[*i].key, wanted));
        let rank = |i: &usize| (kind(*i) != Kind::Joined, distinct[*i], kind(*i) != Kind::Processors, *i);
        // Without a number that varies, the last that is a word of its own.
        let alone = || (0..numbers).rev().find(|i| matches!(kind(*i), Kind::Word | Kind::Parameter));
        let n = wanted.and_then(called).or_else(|| varied.iter().copied().max_by_key(rank)).or_else(alone);
        let dependent =
            varied.iter().copied().filter(|i| n.is_some_and(|n| *i != n && follows(&names, n, *i)));
        let dependent = dependent.collect();
        let mut origins: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for (key, value) in names.iter().flat_map(|(_, name)| &name.origin) {
            origins.entry(key).or_default().insert(value);
        }
        let differ = origins.into_iter().filter(|(_, values)| values.len() > 1);
        let origins = differ.map(|(key, _)| key.to_owned()).collect();
        Family { names, n, dependent, varied, origins }
    }

    fn series(&self, name: &Name, form: Form) -> String {
        let out: Vec<usize> = self.n.into_iter().chain(self.dependent.iter().copied()).collect();
        let mut series = name.without(&out, &self.varied, form);
        for key in &self.origins {
            let Some(value) = name.origin.get(key) else { continue };
            series = match key.as_str() {
                MODULE => format!("{value}.{series}"),
                key => format!("{series} ({key} {value})"),
            };
        }
        series
    }

    /// The remark where another number could be n.
    fn remark(&self) -> Option<String> {
        let taken = self.n?;
        let numbers = &self.names[0].1.numbers;
        let others: Vec<String> =
            self.varied.iter().filter(|i| **i != taken).map(|i| self.called(*i)).collect();
        let is_shown = numbers[taken].kind != Kind::Processors;
        if self.varied.is_empty() || (others.is_empty() && is_shown) {
            return None;
        }
        let rest = if others.is_empty() {
            String::new()
        } else if self.dependent.len() == others.len() {
            format!("; {} changes with it", list(&others))
        } else {
            format!("; {} tells series apart", list(&others))
        };
        let values: BTreeSet<u64> = self.names.iter().map(|(_, name)| name.numbers[taken].n).collect();
        let (low, high) = (values.first()?, values.last()?);
        Some(format!(
            "{}: n is {}, which has {} values from {} to {}{rest}.",
            self.series(self.names[0].1, Form::Short),
            self.called(taken),
            values.len(),
            count(*low),
            count(*high),
        ))
    }

    fn called(&self, i: usize) -> String {
        let number = &self.names[0].1.numbers[i];
        if number.key.is_empty() { format!("number {} of the name", i + 1) } else { number.key.clone() }
    }
}

/// Whether one number has one value for each value of another, and all of them differ.
fn follows(names: &[(usize, &Name)], n: usize, other: usize) -> bool {
    let pairs: BTreeSet<(u64, u64)> =
        names.iter().map(|(_, name)| (name.numbers[n].n, name.numbers[other].n)).collect();
    let of = |pick: fn(&(u64, u64)) -> u64| pairs.iter().map(pick).collect::<BTreeSet<u64>>().len();
    of(|pair| pair.0) == pairs.len() && of(|pair| pair.1) == pairs.len()
}

/// The remark about origins in which benchmarks of one name differ.
fn origins(families: &[Family<'_>]) -> Option<String> {
    let keys: BTreeSet<String> = families.iter().flat_map(|family| family.origins.iter().cloned()).collect();
    let keys: Vec<String> = keys.into_iter().collect();
    (!keys.is_empty())
        .then(|| format!("Benchmarks of one name are series of their own where {} differs.", list(&keys)))
}

/// Entries of all files.
#[derive(Debug, Default)]
pub(crate) struct Foreign {
    entries: Vec<FileEntry>,
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

    /// The format that each file was taken for.
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
    ) -> Result<(), Error> {
        let mut counted = Counted::default();
        let mut below = vec![0; files.len()];
        for (of, place) in self.entries.iter().zip(places) {
            if place.n < from {
                below[of.file] += of.entry.values.len() as u64;
                continue;
            }
            let file = files.get(of.file).map_or("", |file| file.file.as_str());
            counted.add(of, place, gather).map_err(|reason| Error::too_large(file, &reason))?;
        }
        for (file, below) in files.iter_mut().zip(below) {
            file.values -= below;
            file.leave_out_below(from, below);
        }
        Ok(())
    }
}

/// The formats that files were taken for, and the meaning of a trial in them: a sentence for each format.
pub(crate) fn remarks_of_formats<'a>(
    files: impl Iterator<Item = (&'static str, Trials, &'a str)>,
) -> Vec<String> {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn places_of(names: &[&str]) -> Vec<(String, u64)> {
        let names: Vec<Name> = names.iter().map(|name| Name::parse(name)).collect();
        places(&names, None)
            .expect("no wish")
            .places
            .into_iter()
            .map(|place| (place.series, place.n))
            .collect()
    }

    fn series(name: &str, n: u64) -> (String, u64) {
        (name.to_owned(), n)
    }

    #[test]
    fn n_is_what_varies() {
        assert_eq!(places_of(&["a/1/64", "a/1/128"]), [series("a/1", 64), series("a/1", 128)]);
        assert_eq!(places_of(&["a/64/1", "a/128/1"]), [series("a/1", 64), series("a/1", 128)]);
        assert_eq!(
            places_of(&["s/k=1kB/p=0", "s/k=1kB/p=1", "s/k=1M/p=0", "s/k=1M/p=1", "s/k=1/p=1"])[..3],
            [series("s/p=0", 1000), series("s/p=1", 1000), series("s/p=0", 1_000_000)]
        );
        assert_eq!(places_of(&["one_300", "one_600"]), [series("one", 300), series("one", 600)]);
        assert_eq!(places_of(&["test_3/64", "test_4/64", "test_3/8"])[0], series("test_3", 64));
        assert_eq!(
            places_of(&["m/8/64", "m/16/256"]),
            [series("m", 64), series("m", 256)],
            "both say the same"
        );
        assert_eq!(
            places_of(&["case_2", "Sort/1024", "SHA256"]),
            [series("case_2", 1), series("Sort", 1024), series("SHA256", 1)]
        );
    }

    #[test]
    fn two_series_never_share_a_name() {
        assert_eq!(places_of(&["s/a=1", "s/b=2"]), [series("s/a", 1), series("s/b", 2)]);
        assert_eq!(places_of(&["s", "s/5"]), [series("s", 1), series("s/{n}", 5)]);
        let names = [
            Name::parse("p/5").with_origin(MODULE, Some("x/y")),
            Name::parse("p/5").with_origin(MODULE, Some("x/z")),
        ];
        let found = places(&names, None).expect("no wish");
        assert_eq!(found.places[1].series, "x/z.p");
        assert_eq!(found.remarks, ["Benchmarks of one name are series of their own where module differs."]);
    }

    #[test]
    fn a_key_can_be_named_and_must_be_there() {
        let names: Vec<Name> = ["s/k=1/p=3", "s/k=2/p=3"].map(Name::parse).into();
        assert_eq!(
            places(&names, Some("P")).expect("p").places[0],
            Place { series: "s/k=1".into(), n: 3, unit: Unit::Seconds }
        );
        assert_eq!(places(&names, Some("q")).err(), Some(vec!["k".to_owned(), "p".to_owned()]));
    }
}
