//! Any output of another benchmark is read without a panic, and every value in it is judged, left out, or
//! known as computed by its program.
//!
//! The first byte chooses the surroundings of the other bytes, so that each format is reached.
#![no_main]

use libfuzzer_sys::fuzz_target;
use import::{Import, Options};

const BYTES_MAX: usize = 1 << 14;
/// Beginnings and ends of documents, and lines that only one format has.
const AROUND: [(&str, &str); 12] = [
    ("", ""),
    ("{\"context\": {}, \"benchmarks\": [", "]}"),
    ("{\"machine_info\": {}, \"benchmarks\": [", "]}"),
    ("{\"results\": [", "]}"),
    ("[{\"benchmark\": \"a.B.c\", \"primaryMetric\": {\"scoreUnit\": \"us/op\", \"rawData\": [", "]}}]"),
    ("{\"HostEnvironmentInfo\": {}, \"Benchmarks\": [", "]}"),
    ("{\"root_group\": {}, \"metrics\": {\"vus\": {\"max\": 3},", "}}"),
    ("{\"fio version\": \"fio-3\", \"jobs\": [", "]}"),
    ("BenchmarkA-2 1 5 ns/op\n", ""),
    ("number of transactions actually processed: 3\n", ""),
    ("\"size=0k ovr=0.66\n", ""),
    ("tasks,processes,processes_idle,threads,threads_idle,linear\n", ""),
];

fuzz_target!(|data: &[u8]| {
    let Some((choice, data)) = data.split_first() else { return };
    let data = &data[..data.len().min(BYTES_MAX)];
    let (before, behind) = AROUND[usize::from(*choice) % AROUND.len()];
    let file = [before.as_bytes(), data, behind.as_bytes()].concat();
    let mut import = Import::new(Options { from: u64::from(choice / 16), ..Options::default() });
    if import.read("criterion/a/new/fuzz.json", file.as_slice()).is_err() {
        return;
    }
    let Ok(imported) = import.finish() else { return };
    let judged: usize =
        imported.recording.series().flat_map(|(_, trials)| trials).map(|series| series.values.len()).sum();
    let values: u64 = imported.files.iter().map(|file| file.values).sum();
    assert_eq!(judged as u64, values);
    assert!(imported.files.iter().flat_map(|file| &file.left_out).all(|group| group.count <= group.of));
});
