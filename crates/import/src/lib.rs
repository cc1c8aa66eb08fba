//! Makes a recording of numbers that other programs measured, so that they are judged like our own runs.
//!
//! [`Import::read`] takes one file after another, and [`Import::finish`] makes the recording. The output of
//! another benchmark is known by one document or line of it, wherever that stands; a table by its header, and
//! the columns of a bench program of 2003 by their first line. Each format of another benchmark is a file in
//! `formats`. `docs/judge.md` is the specification for users.
//!
//! Must never: judge, or panic, whatever a file holds.

#![forbid(unsafe_code)]

mod columns;
mod families;
mod formats;
mod gather;
mod name;
mod outcome;
mod recognise;
mod table;
mod text;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{BufRead, Cursor, Read};

use record::words::{count, list, things};
use record::{Recording, Unit};

pub use columns::Program;
pub use gather::SERIES_MAX;
pub use outcome::{BadLine, BadLines, Error, FileRead, LeftOut, NAMED_MAX};
pub use table::{ColumnNames, Options};
pub use text::LINE_BYTES_MAX;

use families::Foreign;
use formats::{Format, Place};
use gather::Gather;
use name::Name;
use outcome::Taken;
use recognise::Recognised;
use table::Header;
use text::{Lines, decoded};

/// The recording of files, with counts and remarks.
#[derive(Clone, Debug)]
pub struct Imported {
    /// Every series is a workload of its own, and the files together are the system, whose warnings are the
    /// remarks.
    pub recording: Recording,
    /// Lines that could not be used.
    pub bad_lines: BadLines,
    /// The format of each file, with counts of its values.
    pub files: Vec<FileRead>,
    /// Values that were measured and cannot be judged, because they failed or are no times.
    pub failed: u64,
    /// Other remarks for the user, each a sentence.
    pub remarks: Vec<String>,
}

/// Files on their way into a recording.
#[derive(Debug, Default)]
pub struct Import {
    options: Options,
    gather: Gather,
    bad_lines: BadLines,
    files: Vec<FileRead>,
    remarks: Vec<String>,
    foreign: Foreign,
    failed: u64,
    /// Files that were read, by their digest.
    digests: HashMap<u64, String>,
    /// Files that each program printed: every one is a trial.
    printed: Vec<Option<Program>>,
    trials: table::Trials,
    /// Tables that are one trial each.
    files_as_trials: u32,
    /// Whether a table was read, and columns without a header.
    has_table: bool,
    has_columns: bool,
}

/// So much of a file is read to recognise its format.
const HEAD_BYTES: u64 = 1 << 20;
/// So much of it is read at once where no line of its head identifies the format.
const TEXT_BYTES_MAX: u64 = 1 << 30;
/// So many lines of it may stand before a header.
const HEADER_LINES: usize = 1000;
const ZSTD_MAGIC: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];
const RUN_LINE: &[u8] = br#"{"type":"run""#;

impl Import {
    /// Nothing yet.
    pub fn new(options: Options) -> Self {
        Import { options, ..Import::default() }
    }

    /// Reads one file to its end. Unusable lines are kept aside and counted. The name is shown; where it
    /// is a path, its folders may name a benchmark.
    pub fn read(&mut self, path: &str, input: impl BufRead) -> Result<(), Error> {
        self.read_beside(path, input, &|_| None)
    }

    /// Reads one file; `beside` returns the content of another file in its folder.
    pub fn read_beside(
        &mut self,
        path: &str,
        input: impl BufRead,
        beside: &dyn Fn(&str) -> Option<Vec<u8>>,
    ) -> Result<(), Error> {
        let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
        let mut input = decoded(input).map_err(Error::reading(name))?;
        let mut head = Vec::new();
        input.by_ref().take(HEAD_BYTES).read_to_end(&mut head).map_err(Error::reading(name))?;
        if is_run_file(&head) {
            return Err(Error::RunFile(name.to_owned()));
        }
        let first = head.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii).find(|line| !line.is_empty());
        let first = first.unwrap_or_default().to_vec();
        let header = self.header(&head, &first);
        let is_columns = self.options.columns.all().next().is_none() && columns::is_row(&first);
        let is_table = header.is_ok() || is_columns;
        let mut damage = None;
        if !is_table || recognise::may_be_foreign(&String::from_utf8_lossy(&head)) {
            input.by_ref().take(TEXT_BYTES_MAX).read_to_end(&mut head).map_err(Error::reading(name))?;
            let unknown = |found| Error::Unknown { name: name.to_owned(), found };
            if !is_table && head.len() as u64 >= TEXT_BYTES_MAX {
                return Err(unknown(format!(
                    "has more than {} MiB and no table in it",
                    TEXT_BYTES_MAX >> 20
                )));
            }
            let text = String::from_utf8_lossy(&head);
            match recognise::read(&text, &Place { path, beside }).map_err(unknown)? {
                Recognised::Read(parts) => return self.add_foreign(name, &text, parts),
                Recognised::Damaged(found) => damage = Some(found),
                Recognised::Nothing => {}
            }
        }
        let mut lines = Lines::new(Cursor::new(head).chain(input));
        match (header, damage) {
            (Ok((header, line)), _) => self.read_table(name, (&header, line), &mut lines),
            (Err(_), _) if is_columns => self.read_columns(name, &first, &mut lines),
            (Err(_), Some(found)) => Err(Error::Unknown { name: name.to_owned(), found }),
            (Err(found), None) => Err(Error::Header { name: name.to_owned(), found }),
        }
    }

    /// The header of a table, and the number of its line; 0 where the columns are numbered.
    fn header(&self, head: &[u8], first: &[u8]) -> Result<(Header, u64), String> {
        let columns = &self.options.columns;
        let lines = (1..).zip(head.split(|byte| *byte == b'\n')).take(HEADER_LINES);
        let mut headers = lines
            .filter_map(|(number, line)| Some((Header::parse(line.trim_ascii(), columns).ok()?, number)));
        if let Some(found) = headers.next() {
            return Ok(found);
        }
        if first.is_empty() {
            return Err("is empty".into());
        }
        match Header::implied(first, columns) {
            Some(header) => Ok((header?, 0)),
            None => Header::parse(first, columns).map(|header| (header, 1)),
        }
    }

    /// The output of another benchmark, which was read in one part or several.
    fn add_foreign(&mut self, name: &str, text: &str, parts: Vec<(&Format, Taken)>) -> Result<(), Error> {
        let has_times = |taken: &Taken| taken.values() + taken.left_out.len() as u64 > 0;
        if !parts.iter().any(|(_, taken)| has_times(taken) || !taken.bad_lines.is_empty()) {
            return Err(Error::Unknown { name: name.to_owned(), found: "has no times in it".into() });
        }
        let mut digest = DefaultHasher::new();
        text.hash(&mut digest);
        for entry in parts.iter().flat_map(|(_, taken)| &taken.entries) {
            (&entry.name.text, &entry.name.origin).hash(&mut digest);
        }
        let values = parts.iter().map(|(_, taken)| taken.values()).sum();
        let format = parts[0].0.name;
        if self.is_copy(digest.finish(), name, format, values) {
            return Ok(());
        }
        for (format, taken) in parts {
            let mut file = FileRead::from_taken(name, format.name, &taken);
            file.bad_lines = taken.bad_lines.len() as u64;
            self.remarks.extend(file.remarks());
            self.remarks.extend(taken.remarks.iter().map(|remark| format!("{name}: {remark}.")));
            taken.bad_lines.iter().for_each(|(line, reason)| self.bad_lines.add(name, *line, reason));
            self.failed += taken.failed;
            self.foreign.add(self.files.len(), format, taken.entries);
            self.files.push(file);
        }
        Ok(())
    }

    /// Whether a file was read before, perhaps under another name; a copy is no trial.
    fn is_copy(&mut self, digest: u64, name: &str, format: &'static str, values: u64) -> bool {
        let Some(first) = self.digests.get(&digest) else {
            self.digests.insert(digest, name.to_owned());
            return false;
        };
        let is_same = if first == name { "the same file again".into() } else { format!("a copy of {first}") };
        self.remarks.push(format!("{name} is {is_same} and no trial; it is left out."));
        let all = LeftOut { name: String::new(), count: values, of: values, reasons: vec![is_same] };
        self.files.push(FileRead { left_out: vec![all], ..FileRead::new(name, format) });
        true
    }

    fn read_table(
        &mut self,
        name: &str,
        (header, header_line): (&Header, u64),
        lines: &mut Lines<impl BufRead>,
    ) -> Result<(), Error> {
        self.has_table = true;
        let mut gather = Gather::default();
        let number = self.files_as_trials + u32::from(header.trial.is_none());
        let into = table::Into { gather: &mut gather, trials: &mut self.trials, file_trial: number };
        let before = self.bad_lines.count;
        let bad = &mut self.bad_lines;
        let place = (header, header_line);
        table::read(name, place, lines, &self.options, into, |line, reason| bad.add(name, line, reason))?;
        let bad_lines = self.bad_lines.count - before;
        if !self.add_table(name, TABLE, lines.digest(), bad_lines, gather)? {
            return Ok(());
        }
        self.files_as_trials = number;
        self.remarks.extend(header.ignored(name));
        if header.trial.is_none() {
            self.remarks
                .push(format!("{name} is one trial: no column names trials; --trial says which does."));
        }
        if header_line > 1 {
            let above = header_line - 1;
            self.remarks.push(format!(
                "{name}: the header is line {}; above it nothing is read.",
                count(header_line)
            ));
            if let Some(file) = self.files.last_mut() {
                file.other_lines = above;
            }
        }
        Ok(())
    }

    /// The columns of a bench program of 2003.
    fn read_columns(
        &mut self,
        name: &str,
        first: &[u8],
        lines: &mut Lines<impl BufRead>,
    ) -> Result<(), Error> {
        self.has_columns = true;
        let program = self.options.program.or_else(|| Program::of_file(name));
        let mut gather = Gather::default();
        let file = columns::File { program, trial: trials(&self.printed, program) + 1, first };
        let before = self.bad_lines.count;
        let bad = &mut self.bad_lines;
        let add = |line, reason: &str| bad.add(name, line, reason);
        columns::read(&file, lines, &self.options, &mut gather, add).map_err(Error::reading(name))?;
        let bad_lines = self.bad_lines.count - before;
        if !self.add_table(name, COLUMNS, lines.digest(), bad_lines, gather)? {
            return Ok(());
        }
        self.printed.push(program);
        if program.is_none() {
            self.remarks.push(format!(
                "{name}: n is the number of the line. --n \"column 1\" --value \"column 2\" takes it from \
                 the file; --program says which program printed it, if one of 2003 did."
            ));
        }
        Ok(())
    }

    /// Takes over a table, unless it is a copy of another.
    fn add_table(
        &mut self,
        name: &str,
        format: &'static str,
        digest: u64,
        bad_lines: u64,
        gather: Gather,
    ) -> Result<bool, Error> {
        let values = gather.values();
        if values > 0 && self.is_copy(digest, name, format, values) {
            return Ok(false);
        }
        let mut file = FileRead { values, bad_lines, ..FileRead::new(name, format) };
        file.leave_out_below(self.options.from, gather.below());
        self.files.push(file);
        self.gather.absorb(gather).map_err(|reason| Error::too_large(name, &reason))?;
        Ok(true)
    }

    /// The recording of all that was read.
    pub fn finish(self) -> Result<Imported, Error> {
        let mut imported = finish_together(vec![self])?;
        imported.pop().ok_or_else(|| Error::Option { option: "FILE".into(), why: "there is no file".into() })
    }

    /// The recording, with the series and n of each entry of another benchmark.
    fn into_imported(
        mut self,
        places: &[families::Place],
        mut remarks: Vec<String>,
    ) -> Result<Imported, Error> {
        let is_foreign = !self.foreign.is_empty();
        let is_bare = self.has_table || self.has_columns;
        self.foreign.place(places, self.options.from, &mut self.gather, &mut self.files)?;
        remarks.append(&mut self.remarks);
        let below: u64 = self.files.iter().map(FileRead::below).sum();
        if below > 0 {
            let values = things(below as usize, "value is", "values are");
            remarks.push(format!("{values} left out, below n = {}.", count(self.options.from)));
        }
        let given = self.options.unit;
        let unit = if is_foreign { Unit::Seconds } else { given.unwrap_or(Unit::None) };
        if is_foreign && is_bare && given != Some(Unit::Seconds) {
            remarks.push(
                "Some of the files are in seconds, and others have no unit; give it with --unit.".into(),
            );
        }
        let Import { gather, files, bad_lines, failed, .. } = self;
        if gather.is_empty() {
            remarks.push("There is no series in it: nothing could be used.".into());
        } else {
            let empty = files.iter().filter(|file| file.is_empty());
            remarks.extend(empty.map(|file| format!("{} has a header and no line behind it.", file.file)));
        }
        let mut warnings = remarks.clone();
        if bad_lines.count > 0 {
            let (are, lines) = if bad_lines.count == 1 { ("was", "line") } else { ("were", "lines") };
            warnings.push(format!("{} {lines} {are} not used.", count(bad_lines.count)));
        }
        let names: Vec<String> = files.iter().map(|file| file.file.clone()).collect();
        let recording = gather.into_recording(&list(&names), warnings, unit);
        Ok(Imported { recording, bad_lines, files, failed, remarks })
    }

    /// An option without effect is a mistake of the user.
    fn refuse_options_without_effect(&self) -> Result<(), Error> {
        let is_bare = self.has_table || self.has_columns;
        let of_tables = if self.has_table { Vec::new() } else { self.options.columns.of_tables() };
        let program = self.options.program.filter(|_| !self.has_columns).map(|_| "--program");
        let unit = self.options.unit.filter(|_| !is_bare).map(|_| "--unit");
        let n = self.options.columns.n.as_ref().filter(|_| self.foreign.is_empty() && !self.has_table);
        let options: Vec<String> = of_tables
            .iter()
            .copied()
            .chain(n.map(|_| "--n"))
            .chain(program)
            .chain(unit)
            .map(str::to_owned)
            .collect();
        let of = match options.as_slice() {
            [] => return Ok(()),
            [one] if one == "--program" => "it is for columns of numbers without a header",
            [one] if one == "--unit" => "the times of the file have one",
            _ => "only a table has columns; without a header they are \"column 1\", \"column 2\"",
        };
        Err(Error::Option { option: list(&options), why: format!("{}, and {of}", self.what_files_are()) })
    }

    fn no_such_number(&self, keys: &[String]) -> Error {
        let known = if keys.is_empty() {
            "no number in a name has a name".to_owned()
        } else {
            format!("the numbers in its names are called {}", list(keys))
        };
        let wanted = self.options.columns.n.as_deref().unwrap_or_default();
        Error::Option {
            option: format!("--n {wanted}"),
            why: format!("{}, and {known}", self.what_files_are()),
        }
    }

    fn what_files_are(&self) -> String {
        match self.files.first() {
            Some(file) => format!("{} is {}", file.file, file.format),
            None => "there is no file".to_owned(),
        }
    }
}

/// The recordings of several groups of files, which are to be compared: a benchmark has one series and one n
/// in all of them. The first recording has the remarks that concern all.
pub fn finish_together(mut imports: Vec<Import>) -> Result<Vec<Imported>, Error> {
    imports.iter().try_for_each(Import::refuse_options_without_effect)?;
    let mut remarks =
        families::remarks_of_formats(imports.iter().flat_map(|import| import.foreign.formats(&import.files)));
    let baselines: Vec<_> =
        imports.iter_mut().map(|import| import.foreign.settle(&mut import.files)).collect();
    let mut names: Vec<Name> = imports.iter().flat_map(|import| import.foreign.names()).cloned().collect();
    for key in origins_of_sides(&imports) {
        names.iter_mut().for_each(|name| drop(name.origin.remove(&key)));
    }
    let found =
        match imports.iter().find_map(|import| Some((import, import.options.columns.n.as_deref()?))) {
            None => families::places(&names, None),
            Some((import, wanted)) => match families::places(&names, Some(wanted)) {
                // A column of the table is called so.
                Err(_) if imports.iter().any(|import| import.has_table) => families::places(&names, None),
                Err(keys) => return Err(import.no_such_number(&keys)),
                found => found,
            },
        }
        .unwrap_or_default();
    remarks.extend(found.remarks);
    let mut found = found.places;
    remarks.extend(join_only_commands(&imports, &mut found));
    let mut places = found.as_slice();
    let mut imported = Vec::new();
    for (import, baseline) in imports.into_iter().zip(baselines) {
        let (own, others) = places.split_at(import.foreign.names().count());
        places = others;
        remarks.extend(baseline);
        imported.push(import.into_imported(own, std::mem::take(&mut remarks))?);
    }
    Ok(imported)
}

/// Sides that have one command each, as `./old` and `./new`: they are meant to be set against each other.
/// They get one name, and the user a remark.
fn join_only_commands(imports: &[Import], places: &mut [families::Place]) -> Option<String> {
    let has_commands = |import: &Import| {
        let is_bare = import.has_table || import.has_columns;
        !is_bare && import.foreign.names().all(|name| name.is_command)
    };
    if !imports.iter().all(has_commands) {
        return None;
    }
    let mut names: Vec<(&str, &str)> = Vec::new();
    let mut rest = &*places;
    for import in imports {
        let (own, others) = rest.split_at(import.foreign.names().count());
        rest = others;
        let only = own.first().filter(|first| own.iter().all(|place| place.series == first.series))?;
        names.push((import.files.first().map_or("", |file| &file.file), &only.series));
    }
    let unit = places.first()?.unit;
    if names.iter().all(|(_, name)| *name == names[0].1) || places.iter().any(|place| place.unit != unit) {
        return None;
    }
    let sides: Vec<String> = names.iter().map(|(file, name)| format!("{file} has {name}")).collect();
    let joined = names.iter().map(|(_, name)| *name).collect::<Vec<_>>().join(" / ");
    places.iter_mut().for_each(|place| place.series.clone_from(&joined));
    Some(format!("Each side has one command, and these are compared: {}.", list(&sides)))
}

/// The origins that differ between groups of files and not within one, such as the program before and after
/// a change: they are the groups' own, and no series.
fn origins_of_sides(imports: &[Import]) -> BTreeSet<String> {
    let mut values: BTreeMap<&str, Vec<BTreeSet<&str>>> = BTreeMap::new();
    for (place, import) in imports.iter().enumerate() {
        for (key, value) in import.foreign.names().flat_map(|name| &name.origin) {
            let of_key = values.entry(key).or_insert_with(|| vec![BTreeSet::new(); imports.len()]);
            of_key[place].insert(value);
        }
    }
    let is_of_sides =
        |values: &Vec<BTreeSet<&str>>| values.len() > 1 && values.iter().all(|of| of.len() <= 1);
    values.iter().filter(|(_, values)| is_of_sides(values)).map(|(key, _)| (*key).to_owned()).collect()
}

/// Whether a file that begins so is a run file of osdyno.
pub fn is_run_file(head: &[u8]) -> bool {
    head.starts_with(ZSTD_MAGIC) || head.trim_ascii_start().starts_with(RUN_LINE)
}

const TABLE: &str = "a table";
const COLUMNS: &str = "columns of numbers";

/// The trials of a program so far.
fn trials(printed: &[Option<Program>], program: Option<Program>) -> u32 {
    printed.iter().filter(|of| **of == program).count() as u32
}
