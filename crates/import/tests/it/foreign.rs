//! Output of other benchmarks: the series and n of each time, at any place of a file and in any encoding, and
//! no silent omission.

use std::fmt::Write;

use import::{ColumnNames, Error, Import, Imported, Options};
use proptest::prelude::*;
use record::{Recording, Unit};

type Beside<'a> = &'a dyn Fn(&str) -> Option<Vec<u8>>;

fn import(options: Options, files: &[(&str, &[u8])]) -> Result<Imported, Error> {
    let mut import = Import::new(options);
    files.iter().try_for_each(|(name, bytes)| import.read(name, *bytes))?;
    import.finish()
}

fn read(text: &str) -> Imported {
    import(Options::default(), &[("file", text.as_bytes())]).expect("it is known")
}

fn with_n(key: &str) -> Options {
    Options { columns: ColumnNames { n: Some(key.into()), ..ColumnNames::default() }, ..Options::default() }
}

fn refused(options: Options, text: &str) -> String {
    import(options, &[("file", text.as_bytes())]).expect_err("it is refused").to_string()
}

/// Times in nanoseconds with their n, by series and trial: `Sort 1: 10=5 100=50`.
fn all(imported: &Imported) -> Vec<String> {
    lines(&imported.recording)
}

fn lines(recording: &Recording) -> Vec<String> {
    let line = |s: &record::Series| {
        let points = s.points().map(|(n, value)| format!("{n}={}", (value * 1e9).round()));
        format!("{} {}: {}", s.name, s.trial, points.collect::<Vec<_>>().join(" "))
    };
    let mut all: Vec<String> = recording.series().flat_map(|(_, trials)| trials.iter().map(line)).collect();
    all.sort();
    all
}

/// All remarks.
fn told(imported: &Imported) -> String {
    imported.remarks.join("\n").replace('\u{202f}', "")
}

fn go(names: &[(&str, u32)]) -> String {
    names.iter().map(|(name, time)| format!("Benchmark{name} \t 500\t {time} ns/op\n")).collect()
}

/// `go test -benchmem` and `b.ReportMetric` print more than times.
#[test]
fn each_figure_of_a_benchmark_is_a_series_in_its_unit() {
    let text = "Unit p99-ns assume=exact\nUnit hits better=higher\n\
                BenchmarkA/8-4 10 5 ns/op 3 MB/s 16 B/op 2 allocs/op 7 p99-ns 9 hits 20 reads/s\n\
                BenchmarkB-4 10 9 hits\n\
                BenchmarkA/16-4 10 6 ns/op 3 MB/s 32 B/op 2 allocs/op 8 p99-ns 9 hits 30 reads/s\n";
    let imported = read(text);
    let units = imported.recording.workloads.iter().map(|workload| {
        let points = imported.recording.series().filter(|(key, _)| key.workload == workload.name);
        let points = points.flat_map(|(_, trials)| trials.iter().flat_map(record::Series::points));
        (workload.name.as_str(), workload.series[0].unit, points.collect::<Vec<_>>())
    });
    let expected = [
        ("A", Unit::Seconds, vec![(8, 5.0 * 1e-9), (16, 6.0 * 1e-9)]),
        ("A B/op", Unit::Bytes, vec![(8, 16.0), (16, 32.0)]),
        ("A allocs/op", Unit::None, vec![(8, 2.0), (16, 2.0)]),
        ("A p99-ns", Unit::Seconds, vec![(8, 7.0 * 1e-9), (16, 8.0 * 1e-9)]),
        ("A reads/s", Unit::PerSecond, vec![(8, 20.0), (16, 30.0)]),
    ];
    let mut units: Vec<_> = units.collect();
    units.sort_by_key(|(name, ..)| *name);
    assert_eq!(units, expected);
    assert_eq!((imported.files[0].computed, imported.failed), (2, 0), "MB/s is computed of the time");
    let reason = "A/8-4 hits is left out: more of it is better, and only rates are judged so.";
    assert!(told(&imported).contains(reason), "{}", told(&imported));
}

#[test]
fn a_package_and_other_configuration_tell_series_apart() {
    let mut text = String::new();
    for (package, time) in [("ab.example/x", 5), ("ab.example/y", 700)] {
        let names = [("Same-8", time), ("Same-8", time + 1), (&format!("Only{time}-8"), 1)];
        write!(text, "goos: linux\npkg: {package}\n{}PASS\n", go(&names)).expect("memory");
    }
    let imported = read(&text);
    assert_eq!(
        all(&imported),
        [
            "Only5 1: 1=1",
            "Only700 1: 1=1",
            "ab.example/x.Same 1: 1=5",
            "ab.example/x.Same 2: 1=6",
            "ab.example/y.Same 1: 1=700",
            "ab.example/y.Same 2: 1=701"
        ]
    );
    assert!(told(&imported).contains("where module differs"), "{}", told(&imported));
    let branches = format!("branch: a\n{}branch: b\n{}", go(&[("A", 1)]), go(&[("A", 2)]));
    assert_eq!(all(&read(&branches)), ["A (branch a) 1: 1=1", "A (branch b) 1: 1=2"]);
}

#[test]
fn gomaxprocs_is_n_where_it_varies_and_no_part_of_a_name() {
    let imported = read(&go(&[("Lock", 1), ("Lock-2", 2), ("Lock-16", 3), ("Lock-16", 4)]));
    assert_eq!(all(&imported), ["Lock 1: 1=1 2=2 16=3", "Lock 2: 16=4"]);
    assert!(told(&imported).contains("Lock: n is GOMAXPROCS"), "{}", told(&imported));
    let both = read(&go(&[("A/5-2", 1), ("A/50-2", 2), ("A/5-4", 3), ("A/50-4", 4), ("B-2", 5), ("B-4", 6)]));
    assert_eq!(all(&both), ["A-2 1: 5=1 50=2", "A-4 1: 5=3 50=4", "B 1: 2=5 4=6"]);
    assert_eq!(all(&read(&go(&[("Copy/kib-4", 1), ("Copy/kib-8", 2)]))), ["Copy/kib 1: 4=1 8=2"]);
}

#[test]
fn n_is_the_number_of_a_name_that_varies() {
    let names =
        [("S/len=1k/mode=0", 1), ("S/len=64Ki/mode=0", 2), ("S/len=1k/mode=1", 3), ("S/len=2M/mode=1", 4)];
    let imported = read(&go(&names));
    assert_eq!(all(&imported), ["S/mode=0 1: 1000=1 65536=2", "S/mode=1 1: 1000=3 2000000=4"]);
    let remark = "S/mode=0: n is len, which has 3 values from 1000 to 2000000; mode tells series apart.";
    assert!(told(&imported).contains(remark), "{}", told(&imported));
    let chosen = import(with_n("mode"), &[("f", go(&names).as_bytes())]).expect("there is one");
    assert_eq!(all(&chosen), ["S/len=1k 1: 0=1 1=3", "S/len=2M 1: 1=4", "S/len=64Ki 1: 0=2"]);
    let error = refused(with_n("depth"), &go(&names));
    assert!(error.contains("--n depth") && error.contains("len and mode"), "{error}");
}

#[test]
fn options_without_effect_are_refused() {
    let columns = |columns| Options { columns, ..Options::default() };
    let series = ColumnNames { series: Some("a".into()), ..ColumnNames::default() };
    for (options, option) in [
        (columns(series), "--series"),
        (Options { unit: Some(Unit::Seconds), ..Options::default() }, "--unit"),
        (Options { program: Some(import::Program::Bindbench), ..Options::default() }, "--program"),
    ] {
        let error = refused(options, &go(&[("A", 1)]));
        assert!(error.contains(option) && error.contains("file is text of go test -bench"), "{error}");
    }
    assert!(refused(with_n("keys"), "1 2\n3 4\n").contains("has no columns \"keys\""), "none has a name");
}

#[test]
fn columns_without_a_header_have_numbers() {
    let columns = ColumnNames {
        n: Some("column 2".into()),
        value: Some("Column 1".into()),
        trial: Some("column 3".into()),
        ..ColumnNames::default()
    };
    for text in ["5e-9  10 1\n6e-9 20   1\n7e-9 10 2\n", "5e-9;10;1\n6e-9;20;1\n7e-9;10;2\n"] {
        let options = Options { columns: columns.clone(), ..Options::default() };
        let imported = import(options, &[("f", text.as_bytes())]).expect("numbers");
        assert_eq!(all(&imported), ["column 1 1: 10=5 20=6", "column 1 2: 10=7"], "{text}");
    }
    let error = refused(with_n("column 1"), "5 10\n");
    assert!(error.contains("2 columns without a header") && error.contains("\"value\""), "{error}");
}

/// UTF-16 as PowerShell writes it.
fn utf16(text: &str) -> Vec<u8> {
    [0xfeff].into_iter().chain(text.encode_utf16()).flat_map(u16::to_le_bytes).collect()
}

#[test]
fn encodings_and_lines_around_make_no_difference() {
    let google = "{\"context\": {}, \"benchmarks\": [{\"name\": \"É/8\", \"real_time\": 5, \"rate\": -nan},\n\
                  {\"name\": \"É/16\", \"real_time\": 6, \"rate\": Infinity}]}";
    let csv = "n,value\n8,5e-9\n16,6e-9\n";
    for (text, name) in [(go(&[("É/8", 5), ("É/16", 6)]), "É"), (google.into(), "É"), (csv.into(), "value")]
    {
        for before in [
            "",
            "ready\n",
            "PASS\nok  \ta.example/b\t0.1s\n",
            "?   \ta\t[no test files]\n",
            "key: a b\n",
            "[1/2] {go}\n",
        ] {
            let text = format!("{before}{text}");
            let wanted = [format!("{name} 1: 8=5 16=6")];
            for bytes in
                [text.clone().into_bytes(), utf16(&text), [b"\xef\xbb\xbf", text.as_bytes()].concat()]
            {
                let imported = import(Options::default(), &[("f", &bytes)]).expect("it is known");
                assert_eq!(all(&imported), wanted, "{text}");
            }
        }
    }
    let log = format!("{}{}", "waiting for a free processor\n".repeat(60_000), go(&[("A/1", 5)]));
    assert_eq!(all(&read(&log)), ["A 1: 1=5"], "behind more than a megabyte");
    let found = read("Unit ns/op better=lower\nBenchmarkA 1 5 ns/op\nthe end\n");
    assert_eq!((found.files[0].format, found.files[0].other_lines), ("text of go test -bench", 1));
}

#[test]
fn entries_that_failed_are_left_out_with_a_reason() {
    let google = r#"{"context": {}, "benchmarks": [
        {"name": "A/1", "real_time": 5, "time_unit": "ns"},
        {"name": "A/2", "real_time": 0, "error_occurred": true, "error_message": "no disk"},
        {"name": "A/3", "real_time": 0, "skipped": true},
        {"name": "A/4", "real_time": 1, "time_unit": "fortnight"},
        {"name": "A/5", "real_time": NaN},
        {"name": "A/1_mean", "real_time": 5}]}"#;
    let imported = read(google);
    assert_eq!(all(&imported), ["A 1: 1=5"]);
    for reason in [
        "A/2 is left out: it failed: no disk.",
        "A/3 is left out: it was skipped.",
        "A/4 is left out: its unit is \"fortnight\" and no unit of time.",
        "A/5 is left out: its real_time is no finite number.",
    ] {
        assert!(told(&imported).contains(reason), "{}", told(&imported));
    }
    let file = &imported.files[0];
    assert_eq!((file.values, file.computed, file.left_out.len(), imported.failed), (1, 1, 4, 4));
    let system = &imported.recording.systems[0];
    assert!(system.warnings.iter().any(|remark| remark.contains("no disk")), "{:?}", system.warnings);
    let hyperfine = r#"{"results": [
        {"command": "z 1", "times": [1e-9, 2e-9], "exit_codes": [1, 1], "parameters": {"k": "1"}},
        {"command": "z 2", "times": [3e-9, 4e-9], "exit_codes": [0, null], "parameters": {"k": "2"}}]}"#;
    let imported = read(hyperfine);
    assert_eq!(all(&imported), ["z {k} 1: 2=3"]);
    assert!(told(&imported).contains("z 1: all 2 are left out: exit code 1."), "{}", told(&imported));
    assert!(told(&imported).contains("z 2: 1 of 2 is left out: ended by a signal."), "{}", told(&imported));
    let tests = read(
        "--- SKIP: BenchmarkB\n    b_test.go:3: no root\nBenchmarkC 1 2 MB/s\nBenchmarkA 1 5 ns/op\nFAIL\ta.example/b\n",
    );
    assert_eq!((all(&tests), tests.failed), (vec!["A 1: 1=5".to_owned()], 3));
    assert!(told(&tests).contains("B is left out: it was skipped."), "{}", told(&tests));
}

#[test]
fn copies_are_no_trials() {
    let text = go(&[("A/1", 5), ("A/2", 6)]);
    let files = [("a.txt", text.as_bytes()), ("b.txt", text.as_bytes()), ("a.txt", text.as_bytes())];
    let imported = import(Options::default(), &files).expect("it is known");
    assert_eq!(all(&imported), ["A 1: 1=5 2=6"]);
    assert!(told(&imported).contains("b.txt is a copy of a.txt and no trial"), "{}", told(&imported));
    assert!(told(&imported).contains("a.txt is the same file again"), "{}", told(&imported));
    let table: &[u8] = b"n,value\n1,5e-9\n";
    let imported = import(Options::default(), &[("a", table), ("b", table)]).expect("a header");
    assert_eq!(all(&imported), ["value 1: 1=5"]);
    let unlike: &[u8] = b"n,value\n1,6e-9\n";
    let imported = import(Options::default(), &[("a", table), ("b", table), ("c", unlike)]).expect("headers");
    assert_eq!(all(&imported), ["value 1: 1=5", "value 2: 1=6"]);
}

fn sample(time: u32) -> String {
    format!("{{\"iters\": [1.0, 2.0], \"times\": [{time}.0, {}.0]}}", 2 * time)
}

#[test]
fn what_criterion_keeps_of_the_run_before_is_no_trial() {
    let [first, second, third] = [5, 6, 7].map(sample);
    let path = |n: u32, kind: &str| format!("t/criterion/g/f/{n}/{kind}/sample.json");
    let paths = [path(1, "base"), path(1, "new"), path(2, "base"), path(2, "new"), path(2, "main")];
    let contents = [&first, &first, &first, &second, &third];
    let files: Vec<(&str, &[u8])> =
        paths.iter().zip(contents).map(|(path, text)| (path.as_str(), text.as_bytes())).collect();
    let imported = import(Options::default(), &files).expect("criterion");
    assert_eq!(all(&imported), ["g/f (baseline main) 1: 2=7 2=7", "g/f (baseline new) 1: 1=5 1=5 2=6 2=6"]);
    assert!(told(&imported).contains("1 file of base/ is left out: equal to new/."), "{}", told(&imported));
    assert!(told(&imported).contains("of another run than new/."), "{}", told(&imported));
}

#[test]
fn the_file_beside_a_sample_names_its_benchmark() {
    let beside: Beside<'_> =
        &|name| (name == "benchmark.json").then(|| br#"{"full_id": "g/fast, 9/40"}"#.to_vec());
    let mut import = Import::new(Options::default());
    import
        .read_beside("x/criterion/g_fast__9_40/new/sample.json", sample(5).as_bytes(), beside)
        .expect("criterion");
    assert_eq!(all(&import.finish().expect("no options")), ["g/fast, 9 1: 40=5 40=5"]);
    let error = refused(Options::default(), r#"{"full_id": "g/f/4", "group_id": "g"}"#);
    assert!(error.contains("give sample.json beside it"), "{error}");
}

#[test]
fn events_of_go_are_its_text() {
    let event = |output: &str| {
        serde_json::json!({"Action": "output", "Package": "a.example/b", "Output": output}).to_string()
    };
    let lines = [
        r#"{"Action": "start", "Package": "a.example/b"}"#.to_owned(),
        event("goos: linux\n"),
        event("BenchmarkA/10-2 \t"),
        event(" 500\t 5.0 ns/op\n"),
        event("BenchmarkA/20-2 \t 500\t 6.0 ns/op\n"),
    ];
    let imported = read(&lines.join("\n"));
    assert_eq!(all(&imported), ["A 1: 10=5 20=6"]);
    assert_eq!(imported.files[0].format, "events of go test -json");
}

#[test]
fn forks_of_jmh_and_launches_of_benchmark_dotnet_are_trials() {
    let jmh = r#"[{"benchmark": "org.a.List.add", "mode": "avgt", "threads": 1, "params": {"size": "10"},
          "primaryMetric": {"scoreUnit": "us/op", "scoreError": "NaN", "rawData": [[0.005, 0.006], [0.007]]},
          "secondaryMetrics": {"gc": {}}},
        {"benchmark": "org.a.List.add", "mode": "avgt", "threads": 1, "params": {"size": "20"},
          "primaryMetric": {"scoreUnit": "us/op", "rawDataHistogram": [[[[0.01, 3], [0.03, 1]]]]}},
        {"benchmark": "org.a.List.get", "mode": "thrpt", "threads": 1,
          "primaryMetric": {"scoreUnit": "ops/us", "rawData": [[100.0]]}},
        {"benchmark": "org.a.List.size", "primaryMetric": {"scoreUnit": "B/op", "rawData": [[1.0]]}}]"#;
    let imported = read(jmh);
    assert_eq!(all(&imported), ["List.add 1: 10=5 10=6 20=15", "List.add 2: 10=7", "List.get 1: 1=10"]);
    assert_eq!((imported.files[0].computed, imported.failed), (1, 1));
    let launch = |launch, n, stage| {
        format!(
            r#"{{"IterationMode": "Workload", "IterationStage": "{stage}", "LaunchIndex": {launch}, "Operations": 2, "Nanoseconds": {n}}}"#
        )
    };
    let (one, two, warm) = (launch(1, 10, "Result"), launch(2, 14, "Result"), launch(1, 99, "Warmup"));
    let dotnet = format!(
        r#"{{"Title": "t", "HostEnvironmentInfo": {{}}, "Benchmarks": [
          {{"DisplayInfo": "A.B: Job [N=5]", "Namespace": "x", "Type": "A", "Method": "B", "Parameters": "N=5",
            "Measurements": [{one}, {warm}, {two}]}},
          {{"Type": "A", "Method": "B", "Parameters": "N=7", "Statistics": {{"OriginalValues": [8.0, 9.0]}}}},
          {{"Type": "A", "Method": "C", "Parameters": "", "Statistics": null}}]}}"#
    );
    let imported = read(&dotnet);
    assert_eq!(all(&imported), ["A.B 1: 5=5 7=8 7=9", "A.B 2: 5=7"]);
    assert!(told(&imported).contains("A.C is left out: it has no results"), "{}", told(&imported));
}

#[test]
fn levels_of_load_generators_are_n() {
    let k6 = |users: u32, median: u32| {
        format!(
            r#"{{"metrics": {{"vus": {{"max": {users}, "value": 1}}, "vus_max": {{"max": 90}}, "iterations": {{"count": 3}},
              "http_req_duration": {{"avg": 1, "med": {median}e-6}}, "http_req_blocked": {{"med": 0}},
              "own": {{"med": 4}}, "http_req_failed": {{"value": 0.25}}}}, "root_group": {{}}}}"#
        )
    };
    let (few, many) = (k6(10, 5), k6(20, 7));
    let files = [("a.json", few.as_bytes()), ("b.json", many.as_bytes())];
    let imported = import(Options::default(), &files).expect("k6");
    assert_eq!(all(&imported), ["http_req_duration 1: 10=5 20=7"]);
    assert!(told(&imported).contains("a.json: 25.0 % of the requests failed"), "{}", told(&imported));
    assert!(told(&imported).contains("own is left out: it may be no time"), "{}", told(&imported));
    let fio = |depth: u32, time: u32| {
        format!(
            r#"fio: starting
            {{"fio version": "fio-3.33", "global options": {{"iodepth": "{depth}", "bs": "4k"}}, "jobs": [
              {{"jobname": "j", "error": 0, "job options": {{"rw": "randread"}},
                "read": {{"total_ios": 9, "lat_ns": {{"mean": {time}.0}}}}, "write": {{"total_ios": 0}}}},
              {{"jobname": "k", "error": 28, "read": {{"total_ios": 0}}}}]}}"#
        )
    };
    let (few, many) = (fio(1, 5), fio(16, 70));
    let imported = import(Options::default(), &[("a", few.as_bytes()), ("b", many.as_bytes())]).expect("fio");
    assert_eq!(all(&imported), ["j/read 1: 1=5 16=70"]);
    assert!(told(&imported).contains("a: k is left out: it failed with error 28."), "{}", told(&imported));
    let report = |clients: u32, time: &str| {
        format!(
            "pgbench (16.3)\ntransaction type: <builtin: select only>\nscaling factor: 1\nnumber of clients: {clients}\n\
             number of transactions actually processed: 7\nlatency average = {time} ms\ntps = 3.0\n"
        )
    };
    let text = [report(1, "0.000005"), report(8, "0.000040"), report(8, "0.000041")].concat();
    let imported = read(&text);
    assert_eq!(all(&imported), ["select only 1: 1=5 8=40", "select only 2: 8=41"]);
    let log = "0 1 2 0 1700000000 5\n1 1 3 0 1700000000 6\n0 2 skipped 0 1700000001 7\n";
    let imported = read(log);
    assert_eq!(all(&imported), ["transaction of script 0 1: 2=2000 2=3000"]);
    assert!(told(&imported).contains("1 of 3 is left out: it is skipped."), "{}", told(&imported));
}

#[test]
fn results_of_kernel_benchmarks_are_read() {
    let lmbench = "Simple syscall: 0.005 microseconds\nSelect on 10 fd's: 0.01 microseconds\n\
                   Select on 200 fd's: 0.2 microseconds\nMemory bandwidth\n0.5 9000.0\n\n\
                   \"size=0k ovr=0.66\n2 0.3\n8 0.4\n\"stride=64\n0.00049 1\n0.00098 2\n1.00000 3\n";
    let imported = read(lmbench);
    assert_eq!(
        all(&imported),
        [
            "Select on fd's 1: 10=10 200=200",
            "Simple syscall 1: 1=5",
            "lat_ctx size=0k 1: 2=300 8=400",
            "lat_mem_rd stride=64 1: 512=1 1024=2 1048576=3"
        ]
    );
    assert!(
        told(&imported).contains("Memory bandwidth is left out: it is no table of times."),
        "{}",
        told(&imported)
    );
    let scale = "tasks,processes,processes_idle,threads,threads_idle,linear\n0,0,100,0,100,0\n\
                 1,100000000,95.6,50000000,95.6,1\n2,200000000,91.0,0,0,2\n";
    let imported = import(Options::default(), &[("brk1.csv", scale.as_bytes())]).expect("will-it-scale");
    assert_eq!(all(&imported), ["brk1 processes 1: 1=10 2=10", "brk1 threads 1: 1=20"]);
    assert_eq!((imported.files[0].values, imported.files[0].computed, imported.failed), (3, 2, 0));
}

/// How an entry of google-benchmark ended.
#[derive(Clone, Copy, Debug)]
enum Ending {
    Good,
    Failed,
    Strange,
    Computed,
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn entries_are_read_computed_or_left_out(
        entries in prop::collection::vec(
            (0_u32..9, prop::sample::select(vec![Ending::Good, Ending::Failed, Ending::Strange, Ending::Computed])),
            1..60,
        ),
        from in 0_u64..9,
    ) {
        let entry = |(n, ending): &(u32, Ending)| match ending {
            Ending::Good => format!(r#"{{"name": "A/{n}", "real_time": 5}}"#),
            Ending::Failed => format!(r#"{{"name": "A/{n}", "error_occurred": true}}"#),
            Ending::Strange => format!(r#"{{"name": "A/{n}", "real_time": {{}}}}"#),
            Ending::Computed => format!(r#"{{"name": "A/{n}_mean", "real_time": 5}}"#),
        };
        let list: Vec<String> = entries.iter().map(entry).collect();
        let text = format!(r#"{{"context": {{}}, "benchmarks": [{}]}}"#, list.join(","));
        let options = Options { from, ..Options::default() };
        let Ok(imported) = import(options, &[("f", text.as_bytes())]) else {
            prop_assert!(entries.iter().all(|(_, ending)| matches!(ending, Ending::Computed)));
            return Ok(());
        };
        let file = &imported.files[0];
        let left_out: u64 = file.left_out.iter().map(|group| group.count).sum();
        prop_assert_eq!(file.values + file.computed + left_out, entries.len() as u64);
        let judged: usize = imported.recording.series().flat_map(|(_, trials)| trials).map(|s| s.values.len()).sum();
        prop_assert_eq!(judged as u64, file.values);
    }

    #[test]
    fn no_line_among_results_changes_them(lines in prop::collection::vec("[ -~]{0,30}", 0..12), at in 0_usize..3) {
        let is_result = |line: &&String| line.starts_with("Benchmark") || line.contains("--- ") || line.starts_with("FAIL");
        let noise: String = lines.iter().filter(|line| !is_result(line) && !line.contains(':')).map(|line| format!("{line}\n")).collect();
        let mut parts = vec![go(&[("A/1", 5)]), go(&[("A/2", 6)])];
        parts.insert(at, noise);
        prop_assert_eq!(all(&read(&parts.concat())), ["A 1: 1=5 2=6"]);
    }
}
