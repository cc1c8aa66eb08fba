//! `sample.json` of criterion.rs, below `target/criterion`: the samples of one run, each the time of many
//! iterations. `benchmark.json` beside it names the benchmark; without it the folder does.

use serde_json::Value;

use super::{Format, Place};
use crate::name::{BASELINE, Name};
use crate::outcome::{Taken, Trials};

pub(super) const FORMAT: Format =
    Format::document("sample.json of criterion.rs", Trials::Files, is_this, read);

/// Files that lie beside a `sample.json`, by a field of theirs.
const OTHERS: [(&str, &str); 2] = [("full_id", "benchmark.json"), ("median_abs_dev", "estimates.json")];

fn is_this(document: &Value) -> bool {
    is_samples(document) || other(document).is_some()
}

fn is_samples(document: &Value) -> bool {
    document["iters"].is_array() && document["times"].is_array()
}

fn other(document: &Value) -> Option<&'static str> {
    OTHERS.iter().find(|(field, _)| document.get(field).is_some()).map(|(_, file)| *file)
}

fn read(document: &Value, place: &Place<'_>, taken: &mut Taken) -> Result<(), String> {
    if !is_samples(document) {
        return Err("is a file of criterion.rs without samples; give sample.json beside it".into());
    }
    let (folder, baseline) = folder(place.path);
    let id = (place.beside)("benchmark.json")
        .and_then(|bytes| serde_json::from_slice::<Value>(&bytes).ok())
        .and_then(|document| document["full_id"].as_str().map(str::to_owned));
    let name = Name::parse(&id.unwrap_or(folder)).with_origin(BASELINE, baseline);
    let (times, iterations) = (&document["times"], &document["iters"]);
    let samples = times.as_array().into_iter().flatten().enumerate().map(|(i, time)| {
        let (time, iterations) = (time.as_f64(), iterations[i].as_f64());
        Ok(time.zip(iterations).ok_or("a sample has no finite time and iterations")?)
            .map(|(time, iterations)| time / iterations * 1e-9)
    });
    taken.take(name, samples);
    Ok(())
}

/// `GROUP/FUNCTION/VALUE` and `new` of `target/criterion/GROUP/FUNCTION/VALUE/new/sample.json`.
fn folder(path: &str) -> (String, Option<&str>) {
    let folders: Vec<&str> = path.split(['/', '\\']).collect();
    let folders = folders.strip_suffix(&["sample.json"]).unwrap_or(&folders);
    let start = folders.iter().rposition(|folder| matches!(*folder, "criterion" | "." | ".." | ""));
    let is_below = start.is_some_and(|start| folders[start] == "criterion");
    let named = &folders[start.map_or(0, |start| start + 1)..];
    // A baseline has the name that `--save-baseline` gave it.
    let (named, baseline) = match named {
        [named @ .., last @ ("new" | "base" | "change")] => (named, Some(*last)),
        [named @ .., last] if is_below && named.len() > 1 => (named, Some(*last)),
        named => (named, None),
    };
    (if named.is_empty() { "sample".to_owned() } else { named.join("/") }, baseline)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_names_the_benchmark() {
        for (path, name, baseline) in [
            ("target/criterion/sort/quick/1000/new/sample.json", "sort/quick/1000", Some("new")),
            ("/home/a/criterion/sort/base/sample.json", "sort", Some("base")),
            ("a/criterion/sort/quick/main/sample.json", "sort/quick", Some("main")),
            ("./sort/10/new/sample.json", "sort/10", Some("new")),
            ("sample.json", "sample", None),
        ] {
            assert_eq!(folder(path), (name.to_owned(), baseline), "{path}");
        }
    }
}
