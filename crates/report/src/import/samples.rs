//! What a benchmark of another program measured, and how it becomes trials.

use std::collections::HashMap;

use record::Direction;

use super::gather::Gather;
use super::options::Options;

/// The values of one benchmark at one n.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Sample {
    pub(super) series: String,
    pub(super) n: u64,
    pub(super) seconds: Vec<f64>,
}

/// What a trial is among these values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trials {
    /// Each value comes from a process of its own.
    Processes,
    /// Each value is a repetition in one process; the program was started once.
    Repetitions,
    /// All values are parts of one measurement in one process.
    Files,
}

impl Trials {
    /// What a user should know.
    pub(super) fn remark(self, file: &str) -> Option<String> {
        match self {
            Trials::Processes => None,
            Trials::Repetitions => Some(format!(
                "{file}: repetitions in one process count as trials; what changes from process to process, \
                 such as the placement of memory, is not in the intervals. Files of ten executions have it."
            )),
            Trials::Files => Some(format!(
                "{file}: its values come from one process, so it is one trial of each series; ten files are \
                 recommended."
            )),
        }
    }
}

/// Trials so far of each series and n, over all files.
#[derive(Debug, Default)]
pub(super) struct Counted(HashMap<(String, u64), u32>);

impl Counted {
    /// Adds the values of one file.
    pub(super) fn add(
        &mut self,
        samples: &[Sample],
        trials: Trials,
        options: &Options,
        gather: &mut Gather,
    ) -> Result<(), String> {
        let mut of_file = HashMap::new();
        for sample in samples.iter().filter(|sample| sample.n >= options.from) {
            let key = (sample.series.clone(), sample.n);
            for &seconds in &sample.seconds {
                let last = self.0.entry(key.clone()).or_default();
                let trial = match trials {
                    Trials::Files => *of_file.entry(key.clone()).or_insert_with(|| {
                        *last += 1;
                        *last
                    }),
                    Trials::Processes | Trials::Repetitions => {
                        *last += 1;
                        *last
                    }
                };
                let place = gather.place(sample.series.as_bytes(), trial, Direction::Up, 0.0)?;
                gather.add(place, sample.n, seconds);
            }
        }
        Ok(())
    }
}

/// The n in a name, which is its last whole part that is a number, and the name without it: `Sort/1024` is
/// `Sort` at 1024, and `Sort/size=1024/int` is `Sort/size/int`. Without a number n is 1.
pub(super) fn split_n(name: &str) -> (String, u64) {
    const MARKS: &[char] = &['/', '=', ':', ',', '[', ']', ' '];
    let mut end = name.len();
    for part in name.rsplit(MARKS) {
        let start = end - part.len();
        if let (false, Ok(n)) = (part.is_empty(), part.parse::<u64>()) {
            let before = name[..start].trim_end_matches(MARKS);
            let behind = name[end..].trim_start_matches([']', ' ']);
            let series = format!("{before}{behind}");
            return if series.is_empty() { (name.to_owned(), 1) } else { (series, n) };
        }
        end = start.saturating_sub(1);
    }
    (name.to_owned(), 1)
}

/// Seconds of a unit's name.
pub(super) fn seconds(unit: &str) -> Option<f64> {
    Some(match unit {
        "s" => 1.0,
        "ms" => 1e-3,
        "us" | "µs" | "μs" => 1e-6,
        "ns" => 1e-9,
        "ps" => 1e-12,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn n_is_a_whole_part_of_a_name() {
        for (name, series, n) in [
            ("BM_Sort/1024", "BM_Sort", 1024),
            ("BM_Sort/8/1024", "BM_Sort/8", 1024),
            ("Sort/size=1024/int", "Sort/size/int", 1024),
            ("test_sort[1000]", "test_sort", 1000),
            ("test_sort[list-1000]", "test_sort[list-1000]", 1),
            ("SHA256", "SHA256", 1),
            ("", "", 1),
            ("/", "/", 1),
            ("5", "5", 1),
        ] {
            assert_eq!(split_n(name), (series.to_owned(), n), "{name}");
        }
    }
}
