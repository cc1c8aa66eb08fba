//! JSON of fio, from `--output-format=json`: jobs with their options and latencies. The mean latency stands
//! for a job; n is the option that varies among the files, of depth, jobs and block size.

use serde_json::Value;

use super::{Format, Place};
use crate::name::{Kind, Name};
use crate::outcome::{Taken, Trials};

pub(super) const FORMAT: Format = Format::document("JSON of fio", Trials::Files, is_this, read);

/// Options that may be n, with fio's defaults; the last is n where none varies.
const NUMBERS: [(&str, u64); 3] = [("bs", 4096), ("numjobs", 1), ("iodepth", 1)];
/// Other options without which two jobs are not alike.
const ORIGINS: [&str; 6] = ["rw", "ioengine", "direct", "fsync", "rwmixread", "filename"];

fn is_this(document: &Value) -> bool {
    document["fio version"].is_string() && document["jobs"].is_array()
}

fn read(document: &Value, _: &Place<'_>, taken: &mut Taken) -> Result<(), String> {
    for job in document["jobs"].as_array().into_iter().flatten() {
        let option =
            |key: &str| job["job options"][key].as_str().or_else(|| document["global options"][key].as_str());
        let jobname = job["jobname"].as_str().unwrap_or("without a name");
        let before = taken.entries.len() + taken.left_out.len();
        for direction in ["read", "write", "trim"] {
            let measured = &job[direction];
            if measured["total_ios"].as_u64().or(measured["io_bytes"].as_u64()).unwrap_or_default() == 0 {
                continue;
            }
            let mut name = Name { text: format!("{jobname}/{direction}"), ..Name::default() };
            for (key, default) in NUMBERS {
                let n = option(key).and_then(size).unwrap_or(default);
                name = name.with(Kind::Parameter, key, n);
            }
            let name = ORIGINS.iter().fold(name, |name, key| name.with_origin(key, option(key)));
            taken.take(name, [time(job, measured)]);
        }
        let none = taken.entries.len() + taken.left_out.len() == before;
        if none {
            let error = job["error"].as_i64().filter(|error| *error != 0);
            let reason = error.map_or("it did no input and no output".into(), |error| {
                format!("it failed with error {error}")
            });
            taken.leave_out(jobname, reason);
        }
    }
    Ok(())
}

/// The mean latency, from submission to completion where both were measured.
fn time(job: &Value, measured: &Value) -> Result<f64, String> {
    if let Some(error) = job["error"].as_i64().filter(|error| *error != 0) {
        return Err(format!("it failed with error {error}"));
    }
    // Versions before 3 have microseconds.
    let latencies = [("lat_ns", 1e-9), ("clat_ns", 1e-9), ("lat", 1e-6), ("clat", 1e-6)];
    let mut means = latencies.iter().filter_map(|(key, unit)| Some(measured[key]["mean"].as_f64()? * unit));
    means.find(|mean| *mean > 0.0).ok_or_else(|| "it has no latency".to_owned())
}

/// A size of fio, whose suffixes are powers of 1024 unless `kb_base` says otherwise.
fn size(text: &str) -> Option<u64> {
    let text = text.trim().to_ascii_lowercase();
    let text = text.trim_end_matches('b').trim_end_matches('i');
    let (number, factor) = match text.as_bytes().last()? {
        b'k' => (&text[..text.len() - 1], 1 << 10),
        b'm' => (&text[..text.len() - 1], 1 << 20),
        b'g' => (&text[..text.len() - 1], 1 << 30),
        _ => (text, 1),
    };
    number.parse::<u64>().ok()?.checked_mul(factor)
}
