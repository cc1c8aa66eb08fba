//! Text of `go test -bench`, in the format that the Go project documents: a line begins with `Benchmark`, and
//! has the number of iterations and pairs of values and units.

use std::io::{self, BufRead};

use super::lines::{Line, Lines};
use super::samples::{Sample, split_n};

/// Whether a file may begin with this line: the configuration that `go test` prints, or a result.
pub(super) fn is_first_line(line: &[u8]) -> bool {
    let line = String::from_utf8_lossy(line);
    ["goos: ", "goarch: ", "pkg: ", "cpu: "].iter().any(|key| line.starts_with(key))
        || result(&line).is_some()
}

/// All results; other lines, such as those of tests, are passed over, as benchstat does.
pub(super) fn read<R: BufRead>(lines: &mut Lines<R>) -> io::Result<Vec<Sample>> {
    let mut samples: Vec<Sample> = Vec::new();
    while let Some((_, line)) = lines.next()? {
        if let Line::Text(line) = line {
            samples.extend(result(&String::from_utf8_lossy(line)));
        }
    }
    Ok(samples)
}

/// `BenchmarkSort/size=1024-8   1000   325 ns/op   16 B/op`.
fn result(line: &str) -> Option<Sample> {
    let mut words = line.split_whitespace();
    let name = words.next()?.strip_prefix("Benchmark")?;
    words.next()?.parse::<u64>().ok()?;
    let words: Vec<&str> = words.collect();
    let time = words.chunks_exact(2).find(|pair| pair[1] == "ns/op")?[0].parse::<f64>().ok()?;
    let (series, n) = split_n(without_processors(name));
    Some(Sample { series, n, seconds: vec![time * 1e-9] })
}

/// The name without GOMAXPROCS, which stands at its end unless it is 1.
fn without_processors(name: &str) -> &str {
    match name.rsplit_once('-') {
        Some((name, number)) if number.parse::<u32>().is_ok() => name,
        _ => name,
    }
}
