//! Damaged output of other benchmarks: it causes no panic, and no measurement is lost.

use import::{FileRead, Import, Imported, Options};
use proptest::prelude::*;

/// A small document or text of each format, whole.
fn samples() -> Vec<(&'static str, String)> {
    let google = r#"{"context": {"executable": "./b"}, "benchmarks": [
        {"name": "A/1/threads:2", "run_name": "A/1/threads:2", "run_type": "iteration", "real_time": 5, "time_unit": "ns"},
        {"name": "A/2_mean", "real_time": 6}]}"#;
    let pytest = r#"{"machine_info": {}, "benchmarks": [{"name": "t[a-5]", "fullname": "m.py::t[a-5]",
        "params": {"kind": "a", "size": 5}, "stats": {"data": [1, 2], "median": 1.5}}]}"#;
    let hyperfine = r#"{"results": [{"command": "x 5", "times": [1, 2], "exit_codes": [0, 1], "parameters": {"n": "5"}},
        {"command": "y", "measurements": [{"time_wall_clock": {"value": 1, "unit": "s"}, "exit_code": 0}]}]}"#;
    let jmh = r#"[{"benchmark": "a.B.c", "mode": "thrpt", "threads": 2, "params": {"k": "3"},
        "primaryMetric": {"scoreUnit": "ops/s", "rawData": [[1, 2], [3]]}, "secondaryMetrics": {"gc": {}}}]"#;
    let dotnet = r#"{"HostEnvironmentInfo": {}, "Benchmarks": [{"DisplayInfo": "A.B: J [N=5]", "Namespace": "x",
        "Type": "A", "Method": "B", "Parameters": "N=5", "Statistics": {"OriginalValues": [1]}, "Measurements":
        [{"IterationMode": "Workload", "IterationStage": "Result", "LaunchIndex": 1, "Operations": 2, "Nanoseconds": 9}]}]}"#;
    let k6 = r#"{"root_group": {}, "metrics": {"vus": {"max": 5}, "http_req_duration": {"med": 1, "avg": 2},
        "own": {"contains": "time", "values": {"med": 3}}, "http_req_failed": {"rate": 0.5}}}"#;
    let fio = r#"{"fio version": "fio-3.3", "global options": {"bs": "4k"}, "jobs": [{"jobname": "j", "error": 0,
        "job options": {"iodepth": "8"}, "read": {"total_ios": 3, "lat_ns": {"mean": 5}}, "write": {"io_bytes": 0}}]}"#;
    let event = "{\"Action\": \"output\", \"Package\": \"p\", \"Output\": \"BenchmarkA-2 1 5 ns/op\\n\"}\n";
    let lmbench = "\"size=0k ovr=0.6\n2 0.3\n\"stride=64\n0.00049 1\nSelect on 9 fd's: 2 microseconds\nBandwidth\n1 2\n";
    let pgbench = "transaction type: <x>\nnumber of clients: 8\nnumber of transactions actually processed: 3\n\
                   number of failed transactions: 1 (3 %)\nlatency average = 1.5 ms\n";
    let raw = "group,function,value,throughput_num,throughput_type,sample_measured_value,unit,iteration_count\n\
               g,f,5,,,7,ns,2\n";
    let scale = "tasks,processes,processes_idle,threads,threads_idle,linear\n0,0,1,0,1,0\n2,9,1,8,1,3\n";
    let texts = [google, pytest, hyperfine, jmh, dotnet, k6, fio, event, lmbench, pgbench, raw, scale];
    let texts = texts.map(|text| ("criterion/g/f/new/sample.json", text.to_owned()));
    let more = [
        "BenchmarkA/1-2 9 5 ns/op\nBenchmarkA/2-2 9 6 ns/op\n",
        "{\"iters\": [1], \"times\": [3]}",
        "0 1 20 0 1700000000 5\n",
    ];
    texts.into_iter().chain(more.map(|text| ("criterion/g/f/new/sample.json", text.to_owned()))).collect()
}

/// Texts in place of a number, a word or a line.
const STRANGE: [&str; 16] = [
    "null",
    "{}",
    "[]",
    "[[1]]",
    "\"\"",
    "\"x/5=[3]\"",
    "-1",
    "1e999",
    "NaN",
    "18446744073709551616",
    "true",
    "\u{0}",
    "é\u{202e}",
    "}\n{",
    "\n\n",
    ": = ms",
];

/// All that is read is judged, computed or left out, and nothing else is.
fn balanced(imported: &Imported) {
    let series = imported.recording.series().flat_map(|(_, trials)| trials);
    let judged: usize = series.map(|series| series.values.len()).sum();
    let values: u64 = imported.files.iter().map(|file| file.values).sum();
    assert_eq!(judged as u64, values, "{:?}", imported.files);
    let groups = imported.files.iter().flat_map(|file| &file.left_out);
    assert!(
        groups.clone().all(|group| group.count <= group.of && !group.reasons.is_empty()),
        "{:?}",
        imported.files
    );
    let is_told = |file: &FileRead| {
        let is_named = |remark: &String| remark.starts_with(&format!("{} ", file.file));
        file.values + file.computed + file.bad_lines > 0
            || !file.left_out.is_empty()
            || imported.remarks.iter().any(is_named)
    };
    assert!(imported.files.iter().all(is_told), "{:?}", imported.files);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// A word of a file is replaced, twice, by another; a file may end early; two are read one after the other.
    #[test]
    fn nothing_in_a_foreign_file_is_a_panic_or_gets_lost(
        which in 0_usize..15,
        changes in prop::collection::vec((any::<prop::sample::Index>(), prop::sample::select(STRANGE.to_vec())), 0..4),
        end in prop::option::weighted(0.2, any::<prop::sample::Index>()),
        from in 0_u64..4,
    ) {
        let (path, text) = samples().swap_remove(which);
        let mut words: Vec<String> = text.split_inclusive([' ', ',', '\n', '[', ':', '{']).map(str::to_owned).collect();
        for (place, strange) in &changes {
            let at = place.index(words.len());
            words[at] = (*strange).to_owned();
        }
        let mut changed = words.concat();
        if let Some(end) = end {
            let end = changed.floor_char_boundary(end.index(changed.len() + 1));
            changed.truncate(end);
        }
        let options = Options { from, ..Options::default() };
        let mut import = Import::new(options);
        if import.read(path, changed.as_bytes()).is_ok() && import.read("b", text.as_bytes()).is_ok() {
            balanced(&import.finish().expect("no options"));
        }
        let mut whole = Import::new(Options::default());
        whole.read(path, text.as_bytes()).expect("it is known");
        let whole = whole.finish().expect("no options");
        balanced(&whole);
        prop_assert!(whole.files[0].values > 0, "{:?}", whole.files);
    }
}
