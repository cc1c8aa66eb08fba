//! A table: CSV with a header, `series,trial,direction,n,value` (RFC 4180, but a record is one line).
//!
//! Its columns are found by their names. A quote that is never closed costs the line it stands on and not
//! the rest of the file.

use std::collections::HashMap;
use std::io::BufRead;

use csv_core::{ReadRecordResult, ReaderBuilder};
use record::words::{list, things};
use record::{Direction, N_MAX, Unit};

use crate::columns::Program;
use crate::gather::{Gather, Place};
use crate::outcome::Error;
use crate::text::{
    Fields, LINE_BYTES_MAX, Line, Lines, Split, has_separator, is_blank, parse_n, parse_value, shown,
};

/// Separators between fields.
const SEPARATORS: [u8; 3] = [b',', b';', b'\t'];
/// A header with more columns is not looked at any further.
const COLUMNS_MAX: usize = 1000;

/// The columns that are read, each with the names that other programs give it.
const SERIES: (&str, &[&str]) =
    ("series", &["name", "benchmark", "operation", "workload", "function", "test", "case"]);
const TRIAL: (&str, &[&str]) = ("trial", &["run", "repetition", "rep", "repeat", "execution", "process"]);
const N: (&str, &[&str]) = ("n", &["size", "x", "objects", "elements", "items", "length", "connections"]);
const VALUE: (&str, &[&str]) = ("value", &["cost", "time", "latency", "duration", "elapsed", "y"]);
const DIRECTION: (&str, &[&str]) = ("direction", &[]);
const REFERENCE: (&str, &[&str]) = ("reference", &[]);

/// How the numbers are to be read.
#[derive(Clone, Debug)]
pub struct Options {
    /// Factor from a value of the file to the unit.
    pub scale: f64,
    /// The unit of values after that; `None` if unknown.
    pub unit: Option<Unit>,
    /// Smaller n are left out.
    pub from: u64,
    /// The program that printed files without a header; recognised by the name of the file if `None`.
    pub program: Option<Program>,
    /// Names of the columns of a table.
    pub columns: ColumnNames,
}

/// The names of the columns of a table; `None` for the usual ones.
#[derive(Clone, Debug, Default)]
pub struct ColumnNames {
    /// The column with the name of the series.
    pub series: Option<String>,
    /// The column with the number or the name of the trial.
    pub trial: Option<String>,
    /// The column with the number of objects; in a file of another benchmark the part of names that is n.
    pub n: Option<String>,
    /// The column with the cost.
    pub value: Option<String>,
    /// The column with the cost of an operation that cannot depend on n, measured beside the other.
    pub reference: Option<String>,
}

impl ColumnNames {
    /// Those that are given.
    pub(crate) fn all(&self) -> impl Iterator<Item = &String> {
        [&self.series, &self.trial, &self.n, &self.value, &self.reference].into_iter().flatten()
    }

    /// The options for columns that only a table has.
    pub(crate) fn of_tables(&self) -> Vec<&'static str> {
        let options = [
            ("--series", &self.series),
            ("--trial", &self.trial),
            ("--value", &self.value),
            ("--reference", &self.reference),
        ];
        options.into_iter().filter(|(_, name)| name.is_some()).map(|(option, _)| option).collect()
    }
}

impl Default for Options {
    fn default() -> Self {
        Options { scale: 1.0, unit: None, from: 0, program: None, columns: ColumnNames::default() }
    }
}

/// The places of the columns.
#[derive(Debug)]
pub(crate) struct Header {
    /// The separator between fields; a space is any space.
    pub(crate) separator: u8,
    /// All columns, in small letters.
    pub(crate) names: Vec<String>,
    pub(crate) series: Option<usize>,
    pub(crate) trial: Option<usize>,
    pub(crate) direction: Option<usize>,
    pub(crate) n: usize,
    pub(crate) value: usize,
    pub(crate) reference: Option<usize>,
}

impl Header {
    /// The header in a first line; `Err` describes the line that is none.
    pub(crate) fn parse(line: &[u8], wanted: &ColumnNames) -> Result<Header, String> {
        let attempts = SEPARATORS.map(|separator| Header::separated(line, separator, wanted));
        let mut missing: Vec<Missing> = Vec::new();
        for attempt in attempts {
            match attempt {
                Ok(header) => return Ok(header),
                Err(other) => missing.push(other),
            }
        }
        let closest = missing.into_iter().min_by_key(|missing| missing.roles.len());
        Err(closest.map_or_else(String::new, |closest| closest.sentence(line)))
    }

    /// The header that a file without one would have, where the columns that are wanted are called by their
    /// number, as `column 2`; `first` is its first line.
    pub(crate) fn implied(first: &[u8], wanted: &ColumnNames) -> Option<Result<Header, String>> {
        let is_number = |name: &&String| {
            let name = name.trim().to_lowercase();
            name.strip_prefix("column ").is_some_and(|number| number.trim().parse::<usize>().is_ok())
        };
        wanted.all().find(is_number)?;
        let separator = SEPARATORS.into_iter().find(|separator| first.contains(separator)).unwrap_or(b' ');
        let count = match separator {
            b' ' => first.split(u8::is_ascii_whitespace).filter(|field| !field.is_empty()).count(),
            separator => names(first, separator).len(),
        };
        let names = (1..=count).map(|number| format!("column {number}")).collect();
        let header = Header::with_names(names, separator, wanted);
        Some(header.map_err(|missing| {
            let columns = things(count, "column", "columns");
            let roles: Vec<String> = missing.roles.iter().map(|role| shown(role.as_bytes())).collect();
            let lacks = if roles.is_empty() { "a role for each" } else { &list(&roles) };
            format!("has {columns} without a header and lacks {lacks}")
        }))
    }

    fn separated(line: &[u8], separator: u8, wanted: &ColumnNames) -> Result<Header, Missing> {
        Header::with_names(names(line, separator), separator, wanted)
    }

    fn with_names(names: Vec<String>, separator: u8, wanted: &ColumnNames) -> Result<Header, Missing> {
        let mut missing = Missing::default();
        let mut place = |role: (&str, &[&str]), wanted: Option<&String>, is_needed: bool| {
            let found = place(&names, role, wanted);
            if let Err(twice) = found {
                missing.twice |= twice;
            }
            if found.is_err() && (is_needed || wanted.is_some()) {
                missing.roles.push(wanted.cloned().unwrap_or_else(|| role.0.to_owned()));
            }
            missing.found |= found.is_ok() || wanted.is_some();
            found.ok()
        };
        let series = place(SERIES, wanted.series.as_ref(), false);
        let trial = place(TRIAL, wanted.trial.as_ref(), false);
        let direction = place(DIRECTION, None, false);
        let n = place(N, wanted.n.as_ref(), true);
        let value = place(VALUE, wanted.value.as_ref(), true);
        let reference = place(REFERENCE, wanted.reference.as_ref(), false);
        match (n, value) {
            (Some(n), Some(value)) if missing.roles.is_empty() && !missing.twice => {
                Ok(Header { separator, names, series, trial, direction, n, value, reference })
            }
            _ => Err(missing),
        }
    }

    /// The remark about columns that are not read.
    pub(crate) fn ignored(&self, file: &str) -> Option<String> {
        let read = [self.series, self.trial, self.direction, Some(self.n), Some(self.value), self.reference];
        let others = self.names.iter().enumerate().filter(|(place, _)| !read.contains(&Some(*place)));
        let others: Vec<String> = others.map(|(_, name)| shown(name.as_bytes())).collect();
        let named: Vec<String> = others.iter().take(5).cloned().collect();
        let count = things(others.len(), "column is", "columns are");
        (!named.is_empty()).then(|| format!("{file}: {count} not read: {}.", list(&named)))
    }
}

/// The place of a column: by the name that the user gave, else by its own name, else by the only other name
/// that is there. `Err(true)` where a name is there twice.
fn place(names: &[String], role: (&str, &[&str]), wanted: Option<&String>) -> Result<usize, bool> {
    let places = |name: &str| {
        let mut places = names.iter().enumerate().filter(|(_, other)| *other == name).map(|(place, _)| place);
        places.next().map(|first| if places.next().is_some() { Err(true) } else { Ok(first) })
    };
    if let Some(wanted) = wanted {
        return places(wanted.trim().to_lowercase().as_str()).unwrap_or(Err(false));
    }
    places(role.0).unwrap_or_else(|| {
        let mut others = role.1.iter().filter_map(|name| places(name));
        others.next().filter(|_| others.next().is_none()).unwrap_or(Err(false))
    })
}

/// The reason why a line is no header.
#[derive(Default)]
struct Missing {
    roles: Vec<String>,
    /// Whether any column was found at all, or named by the user.
    found: bool,
    /// Whether a name is there twice.
    twice: bool,
}

impl Missing {
    fn sentence(&self, line: &[u8]) -> String {
        if self.twice {
            return "names a column twice".to_owned();
        }
        if !self.found {
            return format!("has no header but begins with {}", shown(line));
        }
        let roles: Vec<String> = self.roles.iter().map(|role| shown(role.as_bytes())).collect();
        let columns = if roles.len() == 1 { "column" } else { "columns" };
        format!("has no {columns} {}", list(&roles))
    }
}

/// The fields of a header, trimmed and in small letters; none where it has no end.
fn names(line: &[u8], separator: u8) -> Vec<String> {
    let mut reader = ReaderBuilder::new().delimiter(separator).build();
    let line = [line, b"\n"].concat();
    let (mut text, mut ends) = (vec![0; line.len()], vec![0; COLUMNS_MAX]);
    let (ReadRecordResult::Record, _, _, count) = reader.read_record(&line, &mut text, &mut ends) else {
        return Vec::new();
    };
    let starts = [0].into_iter().chain(ends.iter().copied());
    let fields = starts.zip(&ends[..count]).map(|(start, &end)| &text[start..end]);
    fields.map(|field| String::from_utf8_lossy(field).trim().to_lowercase()).collect()
}

/// The state that reading changes.
pub(crate) struct Into<'a> {
    pub(crate) gather: &'a mut Gather,
    pub(crate) trials: &'a mut Trials,
    /// The trial of a table without a column for it.
    pub(crate) file_trial: u32,
}

/// Reads all lines behind the header, which the line `header_line` is; an unusable line goes to `bad` with
/// its line number.
///
/// A number with a comma or a separator of thousands ends the reading: other lines of the same program would
/// be misread.
pub(crate) fn read<R: BufRead>(
    name: &str,
    (header, header_line): (&Header, u64),
    lines: &mut Lines<R>,
    options: &Options,
    into: Into<'_>,
    mut bad: impl FnMut(u64, &str),
) -> Result<(), Error> {
    let mut rows = Rows { header, options, into, last: Last::default() };
    let mut fields = Fields::new(header.separator, header.names.len() + 1);
    while let Some((number, line)) = lines.next().map_err(Error::reading(name))? {
        if number <= header_line {
            continue;
        }
        let done = match line {
            Line::TooLong => Err(RowError::Unusable(format!("it has more than {LINE_BYTES_MAX} bytes"))),
            Line::Text(line) if is_blank(line) => Ok(()),
            Line::Text(line) => {
                fields.split(line).map_err(RowError::Unusable).and_then(|fields| rows.take(&fields))
            }
        };
        match done {
            Ok(()) => {}
            Err(RowError::Unusable(reason)) => bad(number, &reason),
            Err(RowError::Separator(found)) => {
                return Err(Error::Separator { name: name.to_owned(), line: number, found });
            }
        }
    }
    Ok(())
}

/// Why a line is not read.
enum RowError {
    /// Only this line is wrong.
    Unusable(String),
    /// Its numbers are written in a way that other lines share.
    Separator(String),
}

/// Trials by the words of their column, which the first decides: numbers, or names.
#[derive(Debug, Default)]
pub(crate) enum Trials {
    #[default]
    Unknown,
    Numbers,
    Names(HashMap<Vec<u8>, u32>),
}

impl Trials {
    fn number(&mut self, word: &[u8]) -> Result<u32, String> {
        let number = parse_n(word).and_then(|trial| u32::try_from(trial).ok());
        if let Trials::Unknown = self {
            *self = if number.is_some() { Trials::Numbers } else { Trials::Names(HashMap::new()) };
        }
        match self {
            Trials::Names(_) if word.is_empty() => Err("the trial has no name".into()),
            Trials::Names(names) => {
                let next = names.len() as u32 + 1;
                Ok(*names.entry(word.to_vec()).or_insert(next))
            }
            Trials::Unknown | Trials::Numbers => number.ok_or_else(|| {
                format!("the trial is {} and no whole number from 0 to {}", shown(word), u32::MAX)
            }),
        }
    }
}

/// Rows on their way to where they belong.
struct Rows<'a> {
    header: &'a Header,
    options: &'a Options,
    into: Into<'a>,
    last: Last,
}

/// The words that named the trial of the row before, and its place: rows mostly come in order.
#[derive(Default)]
struct Last {
    series: Vec<u8>,
    trial: Vec<u8>,
    direction: Vec<u8>,
    place: Option<Place>,
}

impl Rows<'_> {
    fn take(&mut self, fields: &Split<'_>) -> Result<(), RowError> {
        let header = self.header;
        if fields.count() != header.names.len() {
            let found = things(fields.count(), "field", "fields");
            let text = format!("it has {found} where the header has {}", header.names.len());
            let has_comma = header.separator == b',' && fields.count() > header.names.len();
            return Err(match has_comma && has_parted_number(fields, header) {
                true => RowError::Separator(text),
                false => RowError::Unusable(text),
            });
        }
        let unusable = |place: usize, why: String| {
            let field = fields.get(place);
            match has_separator(field) {
                true => RowError::Separator(format!("column {:?} has {}", header.names[place], shown(field))),
                false => RowError::Unusable(why),
            }
        };
        let (n, value) = (fields.get(header.n), fields.get(header.value));
        let place = self.place(fields).map_err(RowError::Unusable)?;
        let n = parse_n(n).ok_or_else(|| {
            unusable(header.n, format!("n is {} and no whole number from 0 to {N_MAX}", shown(n)))
        })?;
        let value = parse_value(value)
            .ok_or_else(|| unusable(header.value, format!("the value is {} and no number", shown(value))))?;
        if n < self.options.from {
            self.into.gather.leave_below();
            return Ok(());
        }
        self.into.gather.add(place, n, value * self.options.scale);
        self.take_reference(place, n, fields, unusable)
    }

    /// The value of the reference; an empty field is one that was not measured.
    fn take_reference(
        &mut self,
        place: Place,
        n: u64,
        fields: &Split<'_>,
        unusable: impl Fn(usize, String) -> RowError,
    ) -> Result<(), RowError> {
        let Some(column) = self.header.reference else { return Ok(()) };
        let field = fields.get(column);
        if field.is_empty() {
            return Ok(());
        }
        let value = parse_value(field)
            .ok_or_else(|| unusable(column, format!("the reference is {} and no number", shown(field))))?;
        self.into.gather.add_reference(place, &self.header.names[column], n, value * self.options.scale);
        Ok(())
    }

    fn place(&mut self, fields: &Split<'_>) -> Result<Place, String> {
        let of = |place: Option<usize>| place.map(|place| fields.get(place));
        let header = self.header;
        let series = of(header.series).unwrap_or_else(|| header.names[header.value].as_bytes());
        let direction = of(header.direction).unwrap_or_default();
        let trial = of(header.trial);
        let last = &mut self.last;
        if let Some(place) = last.place
            && (last.trial.as_slice(), last.series.as_slice()) == (trial.unwrap_or_default(), series)
            && last.direction == direction
        {
            return Ok(place);
        }
        if series.is_empty() {
            return Err("the series has no name".into());
        }
        let number = match trial {
            Some(trial) => self.into.trials.number(trial)?,
            None => self.into.file_trial,
        };
        let way = parse_direction(direction)
            .ok_or_else(|| format!("the direction is {}, neither up nor down", shown(direction)))?;
        let place = self.into.gather.place(series, number, way, 0.0)?;
        for (kept, field) in [
            (&mut last.series, series),
            (&mut last.trial, trial.unwrap_or_default()),
            (&mut last.direction, direction),
        ] {
            kept.clear();
            kept.extend_from_slice(field);
        }
        last.place = Some(place);
        Ok(place)
    }
}

/// Whether a number goes on in the next field: `0,84` in the column of the value, `1,000` in that of n.
fn has_parted_number(fields: &Split<'_>, header: &Header) -> bool {
    let goes_on = |place: usize, is_end: fn(usize) -> bool| {
        let end = fields.get(place + 1);
        parse_value(fields.get(place)).is_some() && end.iter().all(u8::is_ascii_digit) && is_end(end.len())
    };
    goes_on(header.value, |digits| digits > 0) || goes_on(header.n, |digits| digits == 3)
}

/// `up` or `+`, `down` or `-`; nothing at all is up.
fn parse_direction(field: &[u8]) -> Option<Direction> {
    match field.to_ascii_lowercase().as_slice() {
        b"" | b"up" | b"+" => Some(Direction::Up),
        b"down" | b"-" => Some(Direction::Down),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Header, String> {
        Header::parse(line.as_bytes(), &ColumnNames::default())
    }

    #[test]
    fn a_header_names_its_columns_in_any_order() {
        for line in [
            "series,trial,direction,n,value",
            "Value; N ;direction;\"trial\";SERIES",
            "n\tvalue\ttrial\tseries",
            "name,run,size,time",
            "n,value",
        ] {
            assert!(parsed(line).is_ok(), "{line}");
        }
        let header = parsed("series,host,trial,n,value,unit").expect("a header");
        assert!(header.ignored("f").is_some_and(|text| text.contains("\"host\" and \"unit\"")));
        let header = parsed("time,n,value,size").expect("its own name comes first");
        assert_eq!((header.n, header.value), (1, 2));
        for line in ["", "series,trial,n", "bind,1,up,1,0.5", "series,trial,n,value,value", "series n value"]
        {
            assert!(parsed(line).is_err(), "{line}");
        }
    }

    #[test]
    fn columns_can_be_named() {
        let wanted =
            ColumnNames { n: Some("Keys".into()), value: Some("b".into()), ..ColumnNames::default() };
        let header = Header::parse(b"a,keys,b,value", &wanted).expect("a header");
        assert_eq!((header.n, header.value, header.series), (1, 2, None));
        assert_eq!(
            Header::parse(b"n,value", &wanted).err().as_deref(),
            Some("has no columns \"Keys\" and \"b\"")
        );
    }

    #[test]
    fn what_is_wrong_with_a_header_is_reported() {
        let error = |line: &str| parsed(line).expect_err("no header");
        assert_eq!(error("series;trial;n"), "has no column \"value\"");
        assert_eq!(error("name,run,a,b"), "has no columns \"n\" and \"value\"");
        assert_eq!(error("n,time,latency"), "has no column \"value\"");
        assert_eq!(error("bind,1,up,1"), "has no header but begins with \"bind,1,up,1\"");
        assert_eq!(error("series,trial,n,value,n"), "names a column twice");
    }
}
