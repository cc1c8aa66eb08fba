//! CSV with a header: `series,trial,direction,n,value` (RFC 4180, but a record is one line).
//!
//! A quote that is never closed costs the line it stands on and not the rest of the file.

use std::io::{self, BufRead};

use csv_core::{ReadRecordResult, Reader, ReaderBuilder};
use record::Direction;

use super::fields::{parse_n, parse_value, shown};
use super::gather::{Gather, Place};
use super::lines::{LINE_BYTES_MAX, Line, Lines, is_blank};
use super::options::Options;
use crate::words::{list, things};

/// What may stand between fields.
const SEPARATORS: [u8; 3] = [b',', b';', b'\t'];
/// A header with more columns is not looked at any further.
const COLUMNS_MAX: usize = 1000;

/// Which column is where.
pub(super) struct Header {
    separator: u8,
    columns: usize,
    series: usize,
    trial: usize,
    direction: Option<usize>,
    n: usize,
    value: usize,
    /// Names of columns that mean nothing here.
    others: Vec<String>,
}

impl Header {
    /// The header in a first line, if it is one.
    pub(super) fn of(line: &[u8]) -> Option<Header> {
        SEPARATORS.iter().find_map(|separator| Header::separated(line, *separator))
    }

    fn separated(line: &[u8], separator: u8) -> Option<Header> {
        let names = names(line, separator)?;
        let place = |wanted: &str| {
            let mut places =
                names.iter().enumerate().filter(|(_, name)| *name == wanted).map(|(place, _)| place);
            // A column that is there twice says nothing for certain.
            places.next().filter(|_| places.next().is_none())
        };
        let known = ["series", "trial", "direction", "n", "value"];
        if names.iter().filter(|name| *name == "direction").count() > 1 {
            return None;
        }
        Some(Header {
            separator,
            columns: names.len(),
            series: place("series")?,
            trial: place("trial")?,
            direction: place("direction"),
            n: place("n")?,
            value: place("value")?,
            others: names.iter().filter(|name| !known.contains(&name.as_str())).cloned().collect(),
        })
    }

    /// What to say of columns that are not read.
    pub(super) fn ignored(&self, file: &str) -> Option<String> {
        let named: Vec<String> = self.others.iter().take(5).map(|name| shown(name.as_bytes())).collect();
        let count = things(self.others.len(), "column is", "columns are");
        (!named.is_empty()).then(|| format!("{file}: {count} not read: {}.", list(&named)))
    }
}

/// The fields of a header, trimmed and in small letters.
fn names(line: &[u8], separator: u8) -> Option<Vec<String>> {
    let mut fields = Fields::new(separator, COLUMNS_MAX);
    let fields = fields.split(&[line, b"\n"].concat()).ok()?;
    Some((0..fields.count()).map(|i| String::from_utf8_lossy(fields.get(i)).trim().to_lowercase()).collect())
}

/// Names what a first line is, when it is no header.
pub(super) fn found_instead(line: &[u8]) -> String {
    let missing = |separator: &u8| {
        let names = names(line, *separator).unwrap_or_default();
        let wanted = ["series", "trial", "n", "value"].into_iter();
        wanted.filter(|wanted| !names.iter().any(|name| name == wanted)).collect::<Vec<_>>()
    };
    let best = SEPARATORS.iter().map(missing).min_by_key(Vec::len).unwrap_or_default();
    match best.as_slice() {
        [] => "names a column twice".into(),
        [_, _, _, _] => format!("has no header but begins with {}", shown(line)),
        some => {
            let some: Vec<String> = some.iter().map(|name| shown(name.as_bytes())).collect();
            let columns = if some.len() == 1 { "column" } else { "columns" };
            format!("has no {columns} {}", list(&some))
        }
    }
}

/// Reads all lines behind the header into `gather`; what cannot be used goes to `bad` with its line number.
pub(super) fn read<R: BufRead>(
    header: &Header,
    lines: &mut Lines<R>,
    options: &Options,
    gather: &mut Gather,
    mut bad: impl FnMut(u64, &str),
) -> io::Result<()> {
    let mut rows = Rows { header, options, gather, last: Last::default() };
    let mut fields = Fields::new(header.separator, header.columns + 1);
    let mut is_header = true;
    while let Some((number, line)) = lines.next()? {
        if std::mem::take(&mut is_header) {
            continue;
        }
        let done = match line {
            Line::TooLong => Err(format!("it has more than {LINE_BYTES_MAX} bytes")),
            Line::Text(line) if is_blank(line) => Ok(()),
            Line::Text(line) => fields.split(line).and_then(|fields| rows.take(&fields)),
        };
        if let Err(reason) = done {
            bad(number, &reason);
        }
    }
    Ok(())
}

/// Rows on their way to where they belong.
struct Rows<'a> {
    header: &'a Header,
    options: &'a Options,
    gather: &'a mut Gather,
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
    fn take(&mut self, fields: &Split<'_>) -> Result<(), String> {
        let header = self.header;
        if fields.count() != header.columns {
            let found = things(fields.count(), "field", "fields");
            return Err(format!("it has {found} where the header has {}", header.columns));
        }
        let place = self.place(
            fields.get(header.series),
            fields.get(header.trial),
            header.direction.map_or(b"", |at| fields.get(at)),
        )?;
        let (n, value) = (fields.get(header.n), fields.get(header.value));
        let n = parse_n(n).ok_or_else(|| format!("n is {} and no whole number from 0 up", shown(n)))?;
        let value =
            parse_value(value).ok_or_else(|| format!("the value is {} and no number", shown(value)))?;
        if n >= self.options.from {
            self.gather.add(place, n, value * self.options.scale);
        }
        Ok(())
    }

    fn place(&mut self, series: &[u8], trial: &[u8], direction: &[u8]) -> Result<Place, String> {
        let last = &mut self.last;
        if let Some(place) = last.place
            && (last.trial.as_slice(), last.series.as_slice()) == (trial, series)
            && last.direction == direction
        {
            return Ok(place);
        }
        if series.is_empty() {
            return Err("the series has no name".into());
        }
        let number = parse_n(trial).and_then(|trial| u32::try_from(trial).ok());
        let number = number.ok_or_else(|| {
            format!("the trial is {} and no whole number from 0 to {}", shown(trial), u32::MAX)
        })?;
        let way = parse_direction(direction)
            .ok_or_else(|| format!("the direction is {}, neither up nor down", shown(direction)))?;
        let place = self.gather.place(series, number, way, 0.0)?;
        for (kept, field) in
            [(&mut last.series, series), (&mut last.trial, trial), (&mut last.direction, direction)]
        {
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
struct Fields {
    reader: Reader,
    text: Vec<u8>,
    ends: Vec<usize>,
}

/// The fields of one line, trimmed.
struct Split<'a> {
    text: &'a [u8],
    ends: &'a [usize],
}

impl Fields {
    fn new(separator: u8, fields_max: usize) -> Self {
        let reader = ReaderBuilder::new().delimiter(separator).build();
        Fields { reader, text: Vec::new(), ends: vec![0; fields_max] }
    }

    /// The fields of a line, which ends in a line feed and is not blank. With more fields than there may be
    /// it has that many.
    fn split(&mut self, line: &[u8]) -> Result<Split<'_>, String> {
        if self.text.len() < line.len() {
            self.text.resize(line.len().next_power_of_two(), 0);
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

impl Split<'_> {
    fn count(&self) -> usize {
        self.ends.len()
    }

    /// A field by its place; nothing where there is none.
    fn get(&self, place: usize) -> &[u8] {
        let start = place.checked_sub(1).and_then(|before| self.ends.get(before)).copied().unwrap_or(0);
        let end = self.ends.get(place).copied().unwrap_or(start);
        self.text.get(start..end).unwrap_or_default().trim_ascii()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_names_its_columns_in_any_order() {
        for line in [
            "series,trial,direction,n,value",
            "Value; N ;direction;\"trial\";SERIES",
            "n\tvalue\ttrial\tseries",
        ] {
            assert!(Header::of(line.as_bytes()).is_some(), "{line}");
        }
        let header = Header::of(b"series,host,trial,n,value,unit").expect("a header");
        assert_eq!(header.others, ["host", "unit"]);
        for line in
            ["", "series,trial,n", "bind,1,up,1,0.5", "series,trial,n,value,value", "series trial n value"]
        {
            assert!(Header::of(line.as_bytes()).is_none(), "{line}");
        }
    }

    #[test]
    fn what_is_wrong_with_a_header_is_said() {
        assert_eq!(found_instead(b"series;trial;n"), "has no column \"value\"");
        assert_eq!(found_instead(b"name,run,n,value"), "has no columns \"series\" and \"trial\"");
        assert_eq!(found_instead(b"bind,1,up,1"), "has no header but begins with \"bind,1,up,1\"");
        assert_eq!(found_instead(b"series,trial,n,value,n"), "names a column twice");
    }

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
