//! Text of `go test -bench`, in the format that the Go project documents: a line begins with `Benchmark`, and
//! has the number of iterations and pairs of values and units. A line `key: value` holds for the results
//! behind it, and `Unit x better=higher` for the unit. Other lines, such as those of tests, are ignored.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use record::Unit;

use super::{Format, Place};
use crate::name::{Figure, Kind, MODULE, Name};
use crate::outcome::{Taken, Trials, seconds};

pub(super) const FORMAT: Format = Format::lines("text of go test -bench", Trials::Repetitions, is_this, read);

fn is_this(line: &str) -> bool {
    let is_measured =
        |(_, pairs): (_, Vec<(&str, &str)>)| pairs.iter().any(|(number, unit)| is_value(number, unit));
    result(line).is_some_and(is_measured) || ["goos: ", "goarch: "].iter().any(|key| line.starts_with(key))
}

fn is_value(number: &str, unit: &str) -> bool {
    number.parse::<f64>().is_ok() && !unit.starts_with(|letter: char| letter.is_ascii_digit())
}

/// A result on its way to entries.
struct Measured<'a> {
    name: &'a str,
    figures: Vec<(Option<Figure>, Result<f64, String>)>,
    origin: BTreeMap<String, String>,
}

pub(super) fn read(text: &str, _: &Place<'_>, taken: &mut Taken) {
    let mut origin = BTreeMap::new();
    let mut results = Vec::new();
    let rising: BTreeSet<&str> = text.lines().filter_map(rising_unit).collect();
    for line in text.lines() {
        if let Some((name, pairs)) = result(line) {
            let mut figures = Vec::new();
            for (number, unit) in pairs.iter().copied().filter(|(_, unit)| *unit != OF_TIME) {
                match figure(unit, rising.contains(unit)) {
                    Ok((figure, factor)) => figures.push((figure, value(number, factor))),
                    Err(reason) => taken.pass_over(&format!("{name} {unit}"), reason),
                }
            }
            taken.computed += pairs.iter().filter(|(_, unit)| *unit == OF_TIME).count() as u64;
            // A figure that is left out has its own reason.
            if pairs.iter().all(|(_, unit)| *unit == OF_TIME) {
                taken.leave_out(name, "it has no time for each operation");
            }
            results.push(Measured { name, figures, origin: origin.clone() });
        } else if line.starts_with(UNIT) {
            // It was read before the results.
        } else if let Some((name, reason)) = failed(line) {
            taken.leave_out(name, reason);
        } else if let Some((key, value)) = configuration(line) {
            let key = if key == "pkg" { MODULE } else { key };
            origin.insert(key.to_owned(), value.to_owned());
        } else {
            taken.other_lines += u64::from(!line.trim().is_empty());
        }
    }
    let names: Vec<&str> = results.iter().map(|result| result.name).collect();
    let suffixes = Suffixes::new(&names);
    for result in results {
        let (base, processors) = suffixes.split(result.name);
        let name = Name { origin: result.origin, ..Name::parse(base) };
        let name = name.with(Kind::Processors, "GOMAXPROCS", processors);
        for (figure, value) in result.figures {
            taken.take(Name { figure, ..name.clone() }, [value]);
        }
    }
}

/// The beginning of a line about a unit.
const UNIT: &str = "Unit ";
/// The throughput that `go test` computes of the time.
const OF_TIME: &str = "MB/s";

/// The unit of which more is better, by a line about it.
fn rising_unit(line: &str) -> Option<&str> {
    let mut words = line.strip_prefix(UNIT)?.split_whitespace();
    let unit = words.next()?;
    words.any(|word| word == "better=higher").then_some(unit)
}

/// The figure of a unit, none for the time of an operation, and the factor of its values. `Err` says why it
/// is not judged.
fn figure(unit: &str, is_rising: bool) -> Result<(Option<Figure>, f64), String> {
    let of_op = unit.strip_suffix("/op").unwrap_or(unit);
    // The unit of `p99-ns` stands behind a dash.
    let last = of_op.rsplit('-').next().unwrap_or(of_op);
    let is_rate = ["/s", "/sec"].iter().any(|end| unit.ends_with(end));
    let (of, factor) = match seconds(last) {
        Some(factor) if last == unit.strip_suffix("/op").unwrap_or_default() => return Ok((None, factor)),
        Some(factor) => (Unit::Seconds, factor),
        None if is_rate => (Unit::PerSecond, 1.0),
        None if matches!(last, "B" | "bytes") => (Unit::Bytes, 1.0),
        None => (Unit::None, 1.0),
    };
    if is_rising && !of.more_is_better() {
        return Err("more of it is better, and only rates are judged so".into());
    }
    Ok((Some(Figure { name: unit.to_owned(), unit: of }), factor))
}

fn value(number: &str, factor: f64) -> Result<f64, String> {
    number.parse::<f64>().map(|number| number * factor).map_err(|_| format!("its value is \"{number}\""))
}

/// `BenchmarkSort/size=1024-8   1000   325 ns/op   16 B/op`: the name, and values with their units. The name
/// alone is no result.
fn result(line: &str) -> Option<(&str, Vec<(&str, &str)>)> {
    let mut words = line.split_whitespace();
    let name = words.next()?.strip_prefix("Benchmark")?;
    let is_name = !name.is_empty() && !name.starts_with(char::is_lowercase);
    let iterations = words.next().filter(|_| is_name)?;
    if iterations.parse::<u64>().is_err() {
        return None;
    }
    let words: Vec<&str> = words.collect();
    Some((name, words.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect()))
}

/// The subject of a line about a failure or a skip.
fn failed(line: &str) -> Option<(&str, String)> {
    let line = line.trim_start();
    let ended = |mark: &str| {
        let (name, _) = line.strip_prefix(mark)?.split_once(' ').unwrap_or((line.strip_prefix(mark)?, ""));
        name.strip_prefix("Benchmark")
    };
    if let Some(package) = line.strip_prefix("FAIL\t") {
        return Some((package.split_whitespace().next()?, "the tests of the package failed".into()));
    }
    let failed = ended("--- FAIL: ").map(|name| (name, "it failed".to_owned()));
    failed.or_else(|| ended("--- SKIP: ").map(|name| (name, "it was skipped".to_owned())))
}

/// `goos: linux`, with a key that begins with a small letter and has neither capitals nor space.
fn configuration(line: &str) -> Option<(&str, &str)> {
    let (key, value) = line.split_once(':')?;
    let of_key = |letter: char| !letter.is_whitespace() && !letter.is_uppercase();
    let is_key = key.starts_with(char::is_lowercase) && key.chars().all(of_key);
    let value = value.strip_prefix([' ', '\t']).or(value.is_empty().then_some(""));
    is_key.then_some((key, value?.trim()))
}

/// Which ends of names, such as `-8`, are GOMAXPROCS. It is not written where it is 1, so a name may also end
/// in a number of its own.
struct Suffixes {
    processors: BTreeSet<u64>,
}

impl Suffixes {
    fn new(names: &[&str]) -> Suffixes {
        let values = |names: &mut dyn Iterator<Item = &&str>| {
            names.map(|name| suffix(name).map_or(1, |(_, number)| number)).collect::<BTreeSet<u64>>()
        };
        // No function has a dash in its name.
        let of_functions = values(&mut names.iter().filter(|name| !name.contains('/')));
        if !of_functions.is_empty() {
            return Suffixes { processors: of_functions };
        }
        let all = values(&mut names.iter());
        let mut by_base: HashMap<&str, BTreeSet<u64>> = HashMap::new();
        for name in names {
            let (base, number) = suffix(name).unwrap_or((name, 1));
            by_base.entry(base).or_default().insert(number);
        }
        // Each benchmark of `-cpu 1,2,4` has all of them, and one without a suffix.
        let is_list = all.contains(&1) && by_base.values().all(|of_base| *of_base == all);
        Suffixes { processors: if all.len() == 1 || is_list { all } else { BTreeSet::new() } }
    }

    /// The name without GOMAXPROCS, and that.
    fn split<'a>(&self, name: &'a str) -> (&'a str, u64) {
        let known = suffix(name).filter(|(_, number)| self.processors.contains(number));
        known.unwrap_or((name, 1))
    }
}

/// `Sort` and 8 of `Sort-8`.
fn suffix(name: &str) -> Option<(&str, u64)> {
    let (base, digits) = name.rsplit_once('-')?;
    let number = digits.parse().ok().filter(|number| *number > 1)?;
    (!digits.starts_with(['0', '+'])).then_some((base, number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unit_is_a_time_a_size_a_rate_or_a_count() {
        let of =
            |unit: &str| figure(unit, false).map(|(figure, factor)| (figure.map(|one| one.unit), factor));
        for (unit, expected) in [
            ("ns/op", (None, 1e-9)),
            ("sec/op", (None, 1.0)),
            ("p99-ns", (Some(Unit::Seconds), 1e-9)),
            ("p99-ns/op", (Some(Unit::Seconds), 1e-9)),
            ("B/op", (Some(Unit::Bytes), 1.0)),
            ("text-bytes", (Some(Unit::Bytes), 1.0)),
            ("requests/s", (Some(Unit::PerSecond), 1.0)),
            ("allocs/op", (Some(Unit::None), 1.0)),
        ] {
            assert_eq!(of(unit), Ok(expected), "{unit}");
        }
        assert_eq!(rising_unit("Unit x better=higher assume=exact"), Some("x"));
        assert_eq!(rising_unit("Unit x assume=exact"), None);
        assert!(figure("x", true).is_err() && figure("x/s", true).is_ok());
    }

    fn split(names: &[&str]) -> Vec<(String, u64)> {
        let suffixes = Suffixes::new(names);
        names.iter().map(|name| suffixes.split(name)).map(|(base, n)| (base.to_owned(), n)).collect()
    }

    #[test]
    fn a_number_at_the_end_is_gomaxprocs_or_a_part_of_the_name() {
        let of = |names: &[&str]| {
            split(names).into_iter().map(|(base, n)| format!("{base} {n}")).collect::<Vec<_>>()
        };
        assert_eq!(of(&["A", "A-2", "A-4"]), ["A 1", "A 2", "A 4"]);
        assert_eq!(of(&["A/len-32", "A/len-64"]), ["A/len-32 1", "A/len-64 1"]);
        assert_eq!(of(&["A/len-32-8", "A/len-64-8"]), ["A/len-32 8", "A/len-64 8"]);
        assert_eq!(of(&["A/len-32", "B"]), ["A/len-32 1", "B 1"], "a function shows GOMAXPROCS");
        assert_eq!(of(&["A/len-32-8", "B-8"]), ["A/len-32 8", "B 8"]);
        assert_eq!(of(&["A/x", "A/x-4", "B/y", "B/y-4"]), ["A/x 1", "A/x 4", "B/y 1", "B/y 4"]);
        assert_eq!(of(&["A/x-01", "A/x-1"]), ["A/x-01 1", "A/x-1 1"]);
    }

    #[test]
    fn lines_are_results_configuration_or_nothing() {
        assert_eq!(
            result("BenchmarkA-8 10 5 ns/op 3 B/op"),
            Some(("A-8", vec![("5", "ns/op"), ("3", "B/op")]))
        );
        assert!(is_this("BenchmarkA 10 3 MB/s 5 sec/op") && is_this("BenchmarkA 1 100 text-bytes"));
        assert!(!is_this("BenchmarkA 10 some words") && !is_this("BenchmarkA 10 3 4"));
        for line in ["BenchmarkA-8", "Benchmarking 10 5 ns/op", "BenchmarkA ten 5 ns/op", "PASS", ""] {
            assert!(result(line).is_none(), "{line}");
        }
        assert_eq!(configuration("branch: old"), Some(("branch", "old")));
        for line in ["12:01 log", "Key: value", "a b: c", "http://x", "PASS"] {
            assert_eq!(configuration(line), None, "{line}");
        }
        assert_eq!(failed("    --- SKIP: BenchmarkA/b (0.1s)"), Some(("A/b", "it was skipped".into())));
        assert_eq!(failed("FAIL\texample.net/a\t0.1s").map(|(name, _)| name), Some("example.net/a"));
    }
}
