//! Tables of other programs: accepted and refused content, and that nothing in a file causes a panic.

use std::fmt::Write;

use import::{ColumnNames, Error, Import, Imported, NAMED_MAX, Options, Program, SERIES_MAX};
use proptest::prelude::*;

fn import(options: Options, files: &[(&str, &[u8])]) -> Result<Imported, Error> {
    let mut import = Import::new(options);
    files.iter().try_for_each(|(name, bytes)| import.read(name, *bytes))?;
    import.finish()
}

fn read(text: &str) -> Imported {
    import(Options::default(), &[("file.csv", text.as_bytes())]).expect("a header")
}

/// Every value with its n, by series, direction and trial: `bind up 1: 1=0.5 2=0.6`.
fn all(imported: &Imported) -> Vec<String> {
    let series = imported.recording.series();
    let line = |s: &record::Series| {
        let points: Vec<String> = s.points().map(|(n, value)| format!("{n}={value}")).collect();
        format!("{} {} {}: {}", s.name, s.direction, s.trial, points.join(" "))
    };
    series.flat_map(|(_, trials)| trials.iter().map(line)).collect()
}

fn reasons(imported: &Imported) -> Vec<String> {
    imported.bad_lines.named.iter().map(ToString::to_string).collect()
}

#[test]
fn every_spelling_of_a_table_is_the_same_table() {
    let wanted = ["bind up 1: 1=0.5 2=0.25 10=0.75", "bind up 2: 1=1"];
    for text in [
        "series,trial,n,value\nbind,1,1,0.5\nbind,1,2,0.25\nbind,1,10,0.75\nbind,2,1,1\n",
        "\u{feff}Series;Trial;N;Value;Host\r\nbind;1;2;.25;a\r\n\r\n\"bind\";1;1e0;5e-1;b\r\nbind;2;1;1;\r\nbind;1;10.0;0.75;",
        "value\tn\tdirection\ttrial\tseries\n0.75\t10\t+\t1\tbind\n1\t1\tUP\t2\tbind\n0.5\t1\tup\t1\tbind\n 0.25 \t2\t\t1\tbind",
    ] {
        let imported = read(text);
        assert_eq!(all(&imported), wanted, "{text}");
        assert_eq!(imported.bad_lines.count, 0, "{:?}", imported.bad_lines);
    }
}

#[test]
fn columns_that_mean_nothing_here_are_named() {
    let imported = read("series,trial,n,value,host,kernel\nbind,1,1,1,a,b\n");
    assert_eq!(imported.remarks, ["file.csv: 2 columns are not read: \"host\" and \"kernel\"."]);
}

#[test]
fn a_bad_line_is_named_by_its_number_and_the_rest_is_read() {
    let imported = read(
        "series,trial,direction,n,value\n\
         a,1,up,1,1\n\
         a,1,up,2\n\
         a,x,up,2,1\n\
         a,1,sideways,2,1\n\
         a,1,up,-2,1\n\
         a,1,up,2,fast\n\
         \"a,1,up,2,1\n\
         a,1,up,1e30,1\n\
         ,1,up,2,1\n\
         \n\
         a,1,up,2,2\n",
    );
    assert_eq!(all(&imported), ["a up 1: 1=1 2=2"]);
    assert_eq!(
        reasons(&imported),
        [
            "file.csv line 3: it has 4 fields where the header has 5",
            "file.csv line 4: the trial is \"x\" and no whole number from 0 to 4294967295",
            "file.csv line 5: the direction is \"sideways\", neither up nor down",
            "file.csv line 6: n is \"-2\" and no whole number from 0 to 9223372036854775807",
            "file.csv line 7: the value is \"fast\" and no number",
            "file.csv line 8: a quote is not closed",
            "file.csv line 9: n is \"1e30\" and no whole number from 0 to 9223372036854775807",
            "file.csv line 10: the series has no name",
        ]
    );
    let many = format!("series,trial,n,value\n{}", "nothing\n".repeat(3 * NAMED_MAX));
    let imported = read(&many);
    assert_eq!((imported.bad_lines.count, imported.bad_lines.named.len()), (3 * NAMED_MAX as u64, NAMED_MAX));
}

#[test]
fn rows_may_come_in_any_order_and_more_than_once() {
    let imported = read("series,trial,n,value\na,2,5,1\nb,1,1,9\na,1,20,2\na,2,5,3\na,1,10,1\na,2,4,0\n");
    assert_eq!(all(&imported), ["a up 1: 10=1 20=2", "a up 2: 4=0 5=1 5=3", "b up 1: 1=9"]);
    let steps: Vec<_> = imported
        .recording
        .series()
        .flat_map(|(_, trials)| trials)
        .map(|s| (s.n_step, s.sizes.len()))
        .collect();
    assert_eq!(steps, [(10, 0), (0, 3), (0, 1)], "only uneven sizes are listed");
}

#[test]
fn a_file_without_a_header_is_refused_with_what_it_should_be() {
    let error = |text: &str| {
        let refused = import(Options::default(), &[("f.csv", text.as_bytes())]);
        refused.expect_err("no header").to_string()
    };
    assert!(
        error("")
            .starts_with("f.csv is empty; its first line must name the columns series, trial, n and value")
    );
    assert!(
        error("bind,1,up,1,0.5\n").starts_with("f.csv has no header but begins with \"bind,1,up,1,0.5\";")
    );
    assert!(error("series,trial,n\n").starts_with("f.csv has no column \"value\";"));
    assert!(error("{\"type\":\"run\",\"schema\":1}").contains("osdyno report judges it"));
    let imported = read("series,trial,n,value\n");
    assert_eq!(imported.remarks, ["There is no series in it: nothing could be used."]);
    assert!(imported.recording.series().next().is_none());
}

/// Values in nanoseconds, because a number of seconds has no short text.
fn in_nanoseconds(imported: &Imported) -> Vec<String> {
    let line = |s: &record::Series| {
        let points = s.points().map(|(n, value)| format!("{n}={}", (value * 1e9).round()));
        format!("{} {}: {}", s.name, s.trial, points.collect::<Vec<_>>().join(" "))
    };
    imported.recording.series().flat_map(|(_, trials)| trials.iter().map(line)).collect()
}

/// A file of another benchmark, twice.
fn foreign(path: &str, bytes: &[u8]) -> Imported {
    let imported = import(Options::default(), &[(path, bytes)]).expect("it is known");
    assert_eq!(imported.recording.workloads[0].series[0].unit, record::Unit::Seconds, "{path}");
    imported
}

#[test]
fn files_of_other_benchmarks_are_known_by_their_content() {
    let sort = ["BM_Sort 1: 1024=29276", "BM_Sort 2: 1024=29281"];
    let google = foreign("a", include_bytes!("foreign/google-benchmark.json"));
    assert_eq!(in_nanoseconds(&google), [&sort[..], &["BM_Sort/threads:4 1: 8192=3500"]].concat());
    assert!(google.remarks[0].contains("repetitions in one process"), "{:?}", google.remarks);
    let go = foreign("a", include_bytes!("foreign/go-bench.txt"));
    let go = in_nanoseconds(&go);
    assert_eq!(go[..3], ["SHA256 1: 1=1000", "Sort 1: 1024=29276", "Sort 2: 1024=29281"]);
    assert!(go.len() == 7 && go[3].starts_with("Sort B/op") && go[5].starts_with("Sort allocs/op"), "{go:?}");
    let hyperfine = foreign("a", include_bytes!("foreign/hyperfine.json"));
    let command = "sort -n 1000.txt --lines {lines}";
    assert_eq!(
        in_nanoseconds(&hyperfine),
        [
            "sleep 1 1: 1=1001000000".to_owned(),
            format!("{command} 1: 1000=10000000 2000=20000000"),
            format!("{command} 2: 1000=11000000"),
        ]
    );
    assert_eq!(hyperfine.remarks, ["a: JSON of hyperfine; each time is of a process, and a trial."]);
    let second = foreign("a", include_bytes!("foreign/hyperfine-2.json"));
    assert_eq!(in_nanoseconds(&second), ["sleep 2 1: 1=2001000000", "sleep 2 2: 1=2002000000"]);
    let pytest = foreign("a", include_bytes!("foreign/pytest-benchmark.json"));
    assert_eq!(
        in_nanoseconds(&pytest),
        ["test_parse 1: 64=625000000", "test_sort[list] 1: 1000=10000 1000=20000"]
    );
}

#[test]
fn samples_of_criterion_are_parts_of_one_trial() {
    let table: &[u8] = include_bytes!("foreign/criterion-raw.csv");
    let sample: &[u8] = include_bytes!("foreign/criterion-sample.json");
    let files = [
        ("raw.csv", table),
        ("raw.csv", &[table, b"\n"].concat()),
        ("target/criterion/sort/quick/500/new/sample.json", sample),
        ("target/criterion/sort/quick/250/new/sample.json", sample),
    ];
    let imported = import(Options::default(), &files).expect("criterion");
    assert_eq!(
        in_nanoseconds(&imported),
        [
            "sort/merge, stable 1: 2000=45000",
            "sort/merge, stable 2: 2000=45000",
            "sort/quick 1: 250=500 250=600 500=500 500=600 1000=915 1000=982",
            "sort/quick 2: 1000=915 1000=982",
        ]
    );
    assert_eq!(reasons(&imported)[0], "raw.csv line 5: the sample_measured_value is \"fast\" and no number");
}

#[test]
fn other_documents_are_refused() {
    for (text, words) in [
        ("{\"a\": 1}", "no benchmark that is known"),
        ("{\"context\": {}, \"benchmarks\": [", "damaged"),
        ("{\"context\": {}, \"benchmarks\": []}", "no times in it"),
        ("goos: linux\nPASS\n", "no times in it"),
    ] {
        let refused = import(Options::default(), &[("f", text.as_bytes())]).expect_err(text).to_string();
        assert!(refused.contains(words), "{refused}");
    }
}

#[test]
fn columns_have_other_names_or_the_names_that_are_given() {
    let imported = read("benchmark;run;size;time\nbind;first;1;0.5\nbind;second;1;0.25\nbind;first;2;0.75\n");
    assert_eq!(all(&imported), ["bind up 1: 1=0.5 2=0.75", "bind up 2: 1=0.25"]);
    let columns = ColumnNames {
        series: Some("Kind".into()),
        n: Some("keys".into()),
        value: Some("p50".into()),
        trial: Some("time".into()),
        ..ColumnNames::default()
    };
    let options = Options { columns, ..Options::default() };
    let imported = import(options.clone(), &[("f", b"kind,keys,time,p50,n\na,1,2,3,9\n")]).expect("a header");
    assert_eq!(all(&imported), ["a up 2: 1=3"]);
    let refused = import(options, &[("f", b"kind,keys,time,value\n")]).expect_err("no p50").to_string();
    assert!(refused.contains("has no column \"p50\"") && refused.contains("--value"), "{refused}");
}

#[test]
fn a_reference_is_a_series_of_its_own_where_it_was_measured() {
    let imported =
        read("series,trial,n,value,reference\na,1,1,5,9\na,1,2,6,\na,1,3,7,8\nb,1,1,5,\na,1,4,5,x\n");
    assert_eq!(all(&imported), ["a up 1: 1=5 2=6 3=7 4=5", "reference up 1: 1=9 3=8", "b up 1: 1=5"]);
    assert!(reasons(&imported)[0].ends_with("the reference is \"x\" and no number"));
    let references = imported.recording.workloads.iter().map(|workload| workload.references.len());
    assert_eq!(references.collect::<Vec<_>>(), [1, 0]);
}

#[test]
fn a_table_without_trials_is_a_trial() {
    let files: [(&str, &[u8]); 2] = [("a.csv", b"n,time\n1,5\n2,6\n"), ("b.csv", b"n,time\n1,7\n")];
    let imported = import(Options::default(), &files).expect("headers");
    assert_eq!(all(&imported), ["time up 1: 1=5 2=6", "time up 2: 1=7"]);
    assert!(imported.remarks[0].starts_with("a.csv is one trial"), "{:?}", imported.remarks);
}

#[test]
fn numbers_with_separators_are_refused_where_they_stand() {
    for (text, place) in [
        ("series;trial;n;value\na;1;1;0.5\na;1;2;0,84\n", "f line 3: column \"value\" has \"0,84\";"),
        ("series\ttrial\tn\tvalue\na\t1\t1 000\t5\n", "f line 2: column \"n\" has \"1 000\";"),
        ("series,trial,n,value\na,1,\"1,000\",5\n", "f line 2: column \"n\" has \"1,000\";"),
        ("series,trial,n,value\na,1,1,0,84\n", "f line 2: it has 5 fields where the header has 4;"),
    ] {
        let refused = import(Options::default(), &[("f", text.as_bytes())]).expect_err(text).to_string();
        assert!(refused.starts_with(place) && refused.ends_with("such as 1234.5"), "{refused}");
    }
    assert_eq!(read("series,trial,n,value\na,1,1,5,x\n").bad_lines.count, 1, "one line too long");
}

#[test]
fn files_of_2003_are_a_trial_each() {
    let files: [(&str, &[u8]); 3] = [
        ("forkbench.1", b"200 61\n210 60\n\n220 59\n"),
        ("forkbench.2", b"1 2\nx 3\n5 6 7\n7 8"),
        ("bind.log", b"9"),
    ];
    let imported = import(Options::default(), &files).expect("numbers");
    assert_eq!(
        all(&imported),
        [
            "bindbench socket up 1: 0=9",
            "forkbench fork up 1: 0=200 1=210 2=220",
            "forkbench fork up 2: 0=1 3=7",
            "forkbench reap down 1: 3=61 2=60 1=59",
            "forkbench reap down 2: 4=2 1=8",
        ]
    );
    assert_eq!(
        reasons(&imported),
        [
            "forkbench.2 line 2: \"x\" is no number",
            "forkbench.2 line 3: it has 3 numbers where the first line has 2"
        ]
    );
    let http: &[u8] = b"sample 10 50\nclat 7\nclat 8\nsample 11 51\nclat 9\n";
    let unnamed = Options { program: Some(Program::Httpbench), ..Options::default() };
    assert_eq!(
        all(&import(unnamed, &[("log", http)]).expect("numbers")),
        [
            "httpbench connect up 1: 0=7 1=8 2=9",
            "httpbench sample connect up 1: 0=10 2=11",
            "httpbench sample request up 1: 0=50 2=51"
        ]
    );
    let unknown = import(Options::default(), &[("a.txt", b"1 2\n3 4\n")]).expect("numbers");
    assert_eq!(all(&unknown), ["column 1 up 1: 0=1 1=3", "column 2 up 1: 0=2 1=4"]);
    assert!(unknown.remarks[0].starts_with("a.txt: n is the number of the line. --n \"column 1\""));
}

#[test]
fn small_n_are_left_out_on_request_and_units_are_scaled() {
    let options = Options { scale: 1e-6, unit: Some(record::Unit::Seconds), from: 2, ..Options::default() };
    let text = b"series,trial,n,value\na,1,1,100\na,1,2,2\na,1,3,4\n";
    let imported = import(options, &[("f", text)]).expect("a header");
    assert_eq!(all(&imported), ["a up 1: 2=0.000002 3=0.000004"]);
    assert_eq!(imported.recording.workloads[0].series[0].unit, record::Unit::Seconds);
}

#[test]
fn there_is_an_end_to_series() {
    let mut text = String::from("series,trial,n,value\n");
    (0..=SERIES_MAX).for_each(|i| writeln!(text, "s{i},1,1,1").expect("memory"));
    let imported = read(&text);
    assert_eq!(
        reasons(&imported),
        [format!("file.csv line {}: there are more than 10000 series", SERIES_MAX + 2)]
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_good_row_is_kept(rows in prop::collection::vec((0_u32..4, 0..100_u64, -1e9..1e9_f64), 0..200)) {
        let mut text = String::from("series,trial,n,value\n");
        rows.iter().for_each(|(trial, n, value)| writeln!(text, "s,{trial},{n},{value:?}").expect("memory"));
        let imported = read(&text);
        prop_assert_eq!(imported.bad_lines.count, 0);
        let series = || imported.recording.series().flat_map(|(_, trials)| trials);
        let mut found: Vec<(u32, u64, u64)> =
            series().flat_map(|s| s.points().map(|(n, v)| (s.trial, n, v.to_bits()))).collect();
        let mut wanted: Vec<(u32, u64, u64)> = rows.iter().map(|(t, n, v)| (*t, *n, v.to_bits())).collect();
        prop_assert!(series().all(|s| (1..s.values.len()).all(|i| s.n(i - 1) <= s.n(i))));
        found.sort_unstable();
        wanted.sort_unstable();
        prop_assert_eq!(found, wanted);
    }
}
