//! The header of a table: finds its columns by their names.

use csv_core::ReadRecordResult;
use record::words::{list, things};

use crate::fields::shown;
use crate::options::ColumnNames;

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
    let mut reader = csv_core::ReaderBuilder::new().delimiter(separator).build();
    let line = [line, b"\n"].concat();
    let (mut text, mut ends) = (vec![0; line.len()], vec![0; COLUMNS_MAX]);
    let (ReadRecordResult::Record, _, _, count) = reader.read_record(&line, &mut text, &mut ends) else {
        return Vec::new();
    };
    let starts = [0].into_iter().chain(ends.iter().copied());
    let fields = starts.zip(&ends[..count]).map(|(start, &end)| &text[start..end]);
    fields.map(|field| String::from_utf8_lossy(field).trim().to_lowercase()).collect()
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
