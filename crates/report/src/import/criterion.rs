//! Files of criterion.rs, below `target/criterion`: `raw.csv`, which names its benchmark, and `sample.json`,
//! whose folder does. A line or an element is one sample, which is the time of many iterations.

use std::io::{self, BufRead};

use serde_json::Value;

use super::csv::Fields;
use super::fields::{parse_value, shown};
use super::lines::{Line, Lines, is_blank};
use super::samples::{Sample, seconds, split_n};

/// Columns of `raw.csv`. Those of throughput, between the third and the fourth, are missing in old files.
const COLUMNS: [&str; 8] = [
    "group",
    "function",
    "value",
    "throughput_num",
    "throughput_type",
    "sample_measured_value",
    "unit",
    "iteration_count",
];

/// Whether this is the first line of a `raw.csv`.
pub(super) fn is_header(line: &[u8]) -> bool {
    line.trim_ascii() == COLUMNS.join(",").as_bytes()
}

/// Whether this is a `sample.json`.
pub(super) fn is_this(document: &Value) -> bool {
    document["iters"].is_array() && document["times"].is_array()
}

/// The samples of `sample.json`, in nanoseconds; `path` is where it lies.
pub(super) fn read(document: &Value, path: &str) -> Vec<Sample> {
    let numbers = |name: &str| document[name].as_array().into_iter().flatten().filter_map(Value::as_f64);
    let (series, n) = split_n(&benchmark(path));
    let seconds = numbers("times").zip(numbers("iters")).map(|(time, iterations)| time / iterations * 1e-9);
    vec![Sample { series, n, seconds: seconds.collect() }]
}

/// `GROUP/FUNCTION/VALUE` of `target/criterion/GROUP/FUNCTION/VALUE/new/sample.json`.
fn benchmark(path: &str) -> String {
    let folders: Vec<&str> = path.split(['/', '\\']).collect();
    let folders = folders.strip_suffix(&["sample.json"]).unwrap_or(&folders);
    let folders = match folders {
        [of @ .., "new" | "base" | "change"] => of,
        of => of,
    };
    let start = folders.iter().rposition(|folder| matches!(*folder, "criterion" | "." | ".." | ""));
    let named = &folders[start.map_or(0, |start| start + 1)..];
    if named.is_empty() { "sample".to_owned() } else { named.join("/") }
}

/// Reads the lines behind the header of `raw.csv`; what cannot be used goes to `bad` with its line number.
pub(super) fn read_table<R: BufRead>(
    lines: &mut Lines<R>,
    mut bad: impl FnMut(u64, &str),
) -> io::Result<Vec<Sample>> {
    let mut fields = Fields::new(b',', COLUMNS.len() + 1);
    let mut samples: Vec<Sample> = Vec::new();
    lines.next()?;
    while let Some((number, line)) = lines.next()? {
        let line = match line {
            Line::Text(line) if is_blank(line) => continue,
            Line::Text(line) => line,
            Line::TooLong => {
                bad(number, "it is too long");
                continue;
            }
        };
        match row(&mut fields, line) {
            Ok(sample) => match samples.last_mut() {
                Some(last) if (&last.series, last.n) == (&sample.series, sample.n) => {
                    last.seconds.extend(sample.seconds);
                }
                _ => samples.push(sample),
            },
            Err(reason) => bad(number, &reason),
        }
    }
    Ok(samples)
}

fn row(fields: &mut Fields, line: &[u8]) -> Result<Sample, String> {
    let row = fields.split(line)?;
    if row.count() != COLUMNS.len() {
        return Err(format!("it has {} fields where the header has {}", row.count(), COLUMNS.len()));
    }
    let text = |place: usize| String::from_utf8_lossy(row.get(place)).into_owned();
    let number = |place: usize| {
        let field = row.get(place);
        parse_value(field).ok_or_else(|| format!("the {} is {} and no number", COLUMNS[place], shown(field)))
    };
    let unit =
        seconds(&text(6)).ok_or_else(|| format!("the unit is {} and no unit of time", shown(row.get(6))))?;
    let names = [text(0), text(1), text(2)];
    let names: Vec<&str> = names.iter().map(String::as_str).filter(|name| !name.is_empty()).collect();
    let (series, n) = split_n(&names.join("/"));
    Ok(Sample { series, n, seconds: vec![number(5)? / number(7)? * unit] })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_names_the_benchmark() {
        for (path, name) in [
            ("target/criterion/sort/quick/1000/new/sample.json", "sort/quick/1000"),
            ("/home/a/criterion/sort/base/sample.json", "sort"),
            ("./sort/10/new/sample.json", "sort/10"),
            ("sample.json", "sample"),
        ] {
            assert_eq!(benchmark(path), name, "{path}");
        }
    }
}
