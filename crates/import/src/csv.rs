//! CSV with a header: `series,trial,direction,n,value` (RFC 4180, but a record is one line).
//!
//! A quote that is never closed costs the line it stands on and not the rest of the file.

use std::collections::HashMap;
use std::io::BufRead;

use csv_core::{ReadRecordResult, Reader, ReaderBuilder};
use record::words::things;
use record::{Direction, N_MAX};

use crate::error::Error;
use crate::fields::{has_separator, parse_n, parse_value, shown};
use crate::gather::{Gather, Place};
use crate::header::Header;
use crate::lines::{LINE_BYTES_MAX, Line, Lines, is_blank};
use crate::options::Options;

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
            return Err(match has_comma && fields.has_parted_number(header) {
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

/// `up` or `+`, `down` or `-`; nothing at all is up.
fn parse_direction(field: &[u8]) -> Option<Direction> {
    match field.to_ascii_lowercase().as_slice() {
        b"" | b"up" | b"+" => Some(Direction::Up),
        b"down" | b"-" => Some(Direction::Down),
        _ => None,
    }
}

/// Splits lines at a separator.
pub(crate) struct Fields {
    separator: u8,
    reader: Reader,
    text: Vec<u8>,
    ends: Vec<usize>,
}

/// The fields of one line, trimmed.
pub(crate) struct Split<'a> {
    text: &'a [u8],
    ends: &'a [usize],
}

impl Fields {
    pub(crate) fn new(separator: u8, fields_max: usize) -> Self {
        let reader = ReaderBuilder::new().delimiter(separator).build();
        Fields { separator, reader, text: Vec::new(), ends: vec![0; fields_max] }
    }

    /// The fields of a line, which ends in a line feed and is not blank. With more fields than there may be
    /// it has that many.
    pub(crate) fn split(&mut self, line: &[u8]) -> Result<Split<'_>, String> {
        if self.text.len() < line.len() {
            self.text.resize(line.len().next_power_of_two(), 0);
        }
        if self.separator == b' ' {
            return Ok(self.split_at_spaces(line));
        }
        let (result, read, _, ends) = self.reader.read_record(line, &mut self.text, &mut self.ends);
        let whole = is_blank(&line[read..]);
        let reason = match result {
            ReadRecordResult::Record if whole => {
                return Ok(Split { text: &self.text, ends: &self.ends[..ends] });
            }
            ReadRecordResult::Record => "a carriage return stands inside",
            ReadRecordResult::OutputEndsFull => {
                self.reader.reset();
                return Ok(Split { text: &self.text, ends: &self.ends });
            }
            _ => "a quote is not closed",
        };
        self.reader.reset();
        Err(reason.into())
    }
}

impl Fields {
    fn split_at_spaces(&mut self, line: &[u8]) -> Split<'_> {
        let (mut end, mut count) = (0, 0);
        let words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
        for (word, place) in words.zip(&mut self.ends) {
            self.text[end..end + word.len()].copy_from_slice(word);
            end += word.len();
            (*place, count) = (end, count + 1);
        }
        Split { text: &self.text, ends: &self.ends[..count] }
    }
}

impl Split<'_> {
    pub(crate) fn count(&self) -> usize {
        self.ends.len()
    }

    /// A field by its place; nothing where there is none.
    pub(crate) fn get(&self, place: usize) -> &[u8] {
        let start = place.checked_sub(1).and_then(|before| self.ends.get(before)).copied().unwrap_or(0);
        let end = self.ends.get(place).copied().unwrap_or(start);
        self.text.get(start..end).unwrap_or_default().trim_ascii()
    }

    /// Whether a number goes on in the next field: `0,84` in the column of the value, `1,000` in that of n.
    fn has_parted_number(&self, header: &Header) -> bool {
        let goes_on = |place: usize, is_end: fn(usize) -> bool| {
            let end = self.get(place + 1);
            parse_value(self.get(place)).is_some() && end.iter().all(u8::is_ascii_digit) && is_end(end.len())
        };
        goes_on(header.value, |digits| digits > 0) || goes_on(header.n, |digits| digits == 3)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_open_quote_costs_one_line() {
        let mut fields = Fields::new(b',', 9);
        assert_eq!(fields.split(b"\"a,b\n").err(), Some("a quote is not closed".into()));
        let split = fields.split(b" a ,\"b \"\"c\"\",\",, d\r\n").expect("fields");
        let all: Vec<&[u8]> = (0..split.count()).map(|i| split.get(i)).collect();
        assert_eq!(all, [b"a".as_slice(), b"b \"c\",", b"", b"d"]);
        assert!(fields.split(b"a\rb\n").is_err());
        assert_eq!(fields.split(b"1,2\n").expect("fields").count(), 2);
    }
}
