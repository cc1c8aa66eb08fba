//! The exports hold every value that may be judged, and nothing else.

use std::fs::File;
use std::io;

use base64::prelude::{BASE64_STANDARD, Engine};
use hdrhistogram::serialization::{Serializer, V2DeflateSerializer};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::RowAccessor;
use record::*;
use report::export::{self, Format, Partition, PartitionKey, SideTable};

/// Trial 2 failed and must not appear; the name of the variant needs quoting.
fn recording(values: &[f64]) -> Recording {
    let run = r#"{"type":"run","schema":1,"tool":{"name":"osdyno","version":"0","build":""},"started_at":"",
        "command":[],"preset":"quick","seed":1,"budget_seconds":null,"looks":[],"pinned":false}"#;
    let workload = r#"{"type":"workload","name":"bind","version":1,"summary":"","page":"","grows":"","variants":[],
        "series":[{"name":"bind","direction":"up","expect":"any","summary":""},
        {"name":"close","direction":"down","expect":"any","summary":"","unit":"1/s"}]}"#;
    let mut lines = vec![parse_line(run).unwrap(), parse_line(workload).unwrap()];
    for (number, outcome) in [(1, r#"{"ended":"complete"}"#), (2, r#"{"ended":"failed","reason":"no"}"#)] {
        let trial = format!(
            r#"{{"type":"trial","system":"local","workload":"bind","version":1,"variant":"a,\"b\"","trial":{number},
            "n":2,"cpu":null,"seed":1,"allowance_seconds":null,"timeout_seconds":1,"scratch":"",
            "elapsed_seconds":1,"clock":null,"outcome":{outcome}}}"#
        );
        lines.push(parse_line(&trial).unwrap());
        for (name, direction, n_first, n_step) in
            [("bind", Direction::Up, 10, 10), ("close", Direction::Down, 20, -10)]
        {
            lines.push(Line::Series(Series {
                system: "local".into(),
                workload: "bind".into(),
                variant: "a,\"b\"".into(),
                trial: number,
                name: name.into(),
                direction,
                n_first,
                n_step,
                sizes: Vec::new(),
                batch: 1,
                counts: Vec::new(),
                values: values.to_vec(),
            }));
        }
    }
    Recording::new(lines).unwrap()
}

fn parquet(recording: &Recording) -> SerializedFileReader<File> {
    let mut file = tempfile::tempfile().unwrap();
    export::write(Format::Parquet, recording, &mut file).unwrap();
    SerializedFileReader::new(file).unwrap()
}

fn text(format: Format, recording: &Recording) -> String {
    let mut out = Vec::new();
    export::write(format, recording, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn csv_has_a_row_per_value() {
    insta::assert_snapshot!(text(Format::Csv, &recording(&[8.41e-7, 0.5])), @r#"
    system,workload,variant,series,direction,trial,n,value,unit,limited_by
    local,bind,"a,""b""",bind,up,1,10,8.41e-7,s,
    local,bind,"a,""b""",bind,up,1,20,0.5,s,
    local,bind,"a,""b""",close,down,1,20,8.41e-7,1/s,
    local,bind,"a,""b""",close,down,1,10,0.5,1/s,
    "#);
}

#[test]
fn json_has_an_object_per_trial() {
    insta::assert_snapshot!(text(Format::Json, &recording(&[8.41e-7, 0.5])), @r#"
    [
    {"system":"local","workload":"bind","variant":"a,\"b\"","series":"bind","direction":"up","trial":1,"n":[10,20],"value":[8.41e-7,0.5],"unit":"s"},
    {"system":"local","workload":"bind","variant":"a,\"b\"","series":"close","direction":"down","trial":1,"n":[20,10],"value":[8.41e-7,0.5],"unit":"1/s"}
    ]
    "#);
    assert_eq!(text(Format::Json, &Recording::new([recording(&[]).run].map(Line::Run)).unwrap()), "[]\n");
}

/// A load: the generator was saturated at 20, and at 10 the time was up for one series.
fn load() -> Recording {
    let generator = r#"{"type":"generator","system":"local","workload":"bind","variant":"a,\"b\"","trial":1,"n":20,
        "generators":1,"connections":20,"elapsed_seconds":2,"intended_per_second":null,"started_per_second":9.5,
        "completed_per_second":9,"unanswered":0,"timed_out":0,"cpu_share":0.99,"run_delay_share":null,"latency_seconds_p50":0.001,
        "lateness_seconds_p99":null,"failures":[{"stage":"body","cause":"timeout","count":3},
        {"stage":"send","cause":"EPIPE","count":4}]}"#;
    let limited = r#"{"type":"limited","system":"local","workload":"bind","variant":"a,\"b\"","trial":1,"n":10,
        "by":"time","series":["close"]}"#;
    let mut latencies = hdrhistogram::Histogram::<u64>::new(3).unwrap();
    latencies.record_n(1000, 7).unwrap();
    latencies.record(2000).unwrap();
    let mut bytes = Vec::new();
    V2DeflateSerializer::new().serialize(&latencies, &mut bytes).unwrap();
    let of = TrialKey { system: "local".into(), workload: "bind".into(), variant: "a".into(), trial: 1 };
    let hdr = BASE64_STANDARD.encode(bytes);
    let histogram =
        Histogram { of, n: 20, name: "latency".into(), unit: Unit::Seconds, scale: 1e-9, count: 8, hdr };
    let damaged = Histogram { hdr: "AAAA".into(), ..histogram.clone() };
    let system = r#"{"type":"system","name":"local","prefix":[],"environment":{"kernel.release":"6.18"},
        "limits":{"descriptors":[{"name":"RLIMIT_NOFILE","value":200,"usable":168,"advice":"raise it"}]},
        "processors":{"online":4,"usable":[3,1],"trial":3,"server":null}}"#;
    let bare = recording(&[0.25, 0.5]);
    let lines = [generator, limited, system].map(|line| parse_line(line).unwrap());
    let series = bare.series().flat_map(|(_, trials)| trials.to_vec()).map(Line::Series);
    let lines = lines.into_iter().chain([Line::Histogram(histogram), Line::Histogram(damaged)]);
    let lines = lines.chain(bare.workloads.iter().cloned().map(Line::Workload)).chain(series);
    let held = HeldBackground {
        background: Background { load: "cpu:50%".into(), processor: Some(1) },
        unit: Unit::None,
        target: 0.5,
        rates: vec![0.499, 0.501],
        counter: "CLOCK_THREAD_CPUTIME_ID".into(),
        system_counter: String::new(),
        system_rate: None,
        holds: None,
        is_held: true,
        ended: String::new(),
    };
    let lost = HeldBackground { rates: Vec::new(), is_held: false, ..held.clone() };
    let mut trials = bare.trials.clone();
    trials[0].held_background = vec![held, lost];
    Recording::from_run(bare.run.clone(), lines.chain(trials.into_iter().map(Line::Trial)))
}

fn side(format: Format, table: SideTable) -> String {
    let mut out = Vec::new();
    export::write_table(format, table, &load(), &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn values_that_are_only_bounds_say_so() {
    insta::assert_snapshot!(text(Format::Csv, &load()), @r#"
    system,workload,variant,series,direction,trial,n,value,unit,limited_by
    local,bind,"a,""b""",bind,up,1,10,0.25,s,
    local,bind,"a,""b""",bind,up,1,20,0.5,s,generator
    local,bind,"a,""b""",close,down,1,20,0.25,1/s,generator
    local,bind,"a,""b""",close,down,1,10,0.5,1/s,time
    "#);
    insta::assert_snapshot!(text(Format::Json, &load()), @r#"
    [
    {"system":"local","workload":"bind","variant":"a,\"b\"","series":"bind","direction":"up","trial":1,"n":[10,20],"value":[0.25,0.5],"unit":"s","limited_by":[null,"generator"]},
    {"system":"local","workload":"bind","variant":"a,\"b\"","series":"close","direction":"down","trial":1,"n":[20,10],"value":[0.25,0.5],"unit":"1/s","limited_by":["generator","time"]}
    ]
    "#);
}

#[test]
fn what_the_generator_saw_the_latencies_and_the_systems_are_tables() {
    insta::assert_snapshot!(side(Format::Csv, SideTable::Generator), @r#"
    system,workload,variant,trial,n,purpose,tester,generators,connections,elapsed_seconds,intended_per_second,started_per_second,completed_per_second,unanswered,timed_out,failed,cpu_share,run_delay_share,latency_seconds_p50,lateness_seconds_p99,limited_by
    local,bind,"a,""b""",1,20,level,generator,1,20,2.0,,9.5,9.0,0,0,7,0.99,,0.001,,generator
    "#);
    insta::assert_snapshot!(side(Format::Json, SideTable::Generator), @r#"
    [
    {"system":"local","workload":"bind","variant":"a,\"b\"","trial":1,"n":20,"purpose":"level","tester":"generator","generators":1,"connections":20,"elapsed_seconds":2.0,"intended_per_second":null,"started_per_second":9.5,"completed_per_second":9.0,"unanswered":0,"timed_out":0,"failed":7,"cpu_share":0.99,"run_delay_share":null,"latency_seconds_p50":0.001,"lateness_seconds_p99":null,"limited_by":"generator"}
    ]
    "#);
    insta::assert_snapshot!(side(Format::Csv, SideTable::Histograms), @r#"
    system,workload,variant,trial,n,name,value,count,unit
    local,bind,a,1,20,latency,1.0000000000000002e-6,7,s
    local,bind,a,1,20,latency,2.0000000000000003e-6,1,s
    "#);
    insta::assert_snapshot!(side(Format::Csv, SideTable::Systems), @r#"
    system,key,value
    local,kernel.release,6.18
    local,processors.online,4
    local,processors.usable,3 1
    local,processors.trial,3
    "#);
    insta::assert_snapshot!(side(Format::Csv, SideTable::Limits), @r#"
    system,resource,limit,value,usable,advice
    local,descriptors,RLIMIT_NOFILE,200,168,raise it
    "#);
    insta::assert_snapshot!(side(Format::Csv, SideTable::Background), @r#"
    system,workload,variant,trial,load,processor,second,rate,target,unit,counter,is_held
    local,bind,"a,""b""",1,cpu:50%,1,0,0.499,0.5,,CLOCK_THREAD_CPUTIME_ID,1
    local,bind,"a,""b""",1,cpu:50%,1,1,0.501,0.5,,CLOCK_THREAD_CPUTIME_ID,1
    local,bind,"a,""b""",1,cpu:50%,1,0,,0.5,,CLOCK_THREAD_CPUTIME_ID,0
    "#);
}

#[test]
fn tables_in_parquet_have_nulls_where_a_cell_is_empty() {
    let mut file = tempfile::tempfile().unwrap();
    export::write_table(Format::Parquet, SideTable::Generator, &load(), &mut file).unwrap();
    let reader = SerializedFileReader::new(file).unwrap();
    let row = reader.get_row_iter(None).unwrap().next().unwrap().unwrap();
    assert_eq!((row.get_string(0).unwrap().as_str(), row.get_long(4).unwrap()), ("local", 20));
    assert_eq!(row.get_double(11).unwrap(), 9.5);
    assert!(row.get_double(10).is_err(), "null");
    assert_eq!(row.get_string(20).unwrap(), "generator");
    for table in [SideTable::Histograms, SideTable::Systems, SideTable::Limits, SideTable::Background] {
        let mut file = tempfile::tempfile().unwrap();
        export::write_table(Format::Parquet, table, &load(), &mut file).unwrap();
        let reader = SerializedFileReader::new(file).unwrap();
        assert!(reader.metadata().file_metadata().num_rows() > 0, "{table:?}");
    }
}

#[test]
fn parquet_reads_back_over_many_row_groups() {
    let values: Vec<f64> = (0..150_000).map(|i| f64::from(i) * 1e-9).collect();
    let reader = parquet(&recording(&values));
    assert_eq!(reader.metadata().num_row_groups(), 3);
    let rows: Vec<_> = reader.get_row_iter(None).unwrap().collect::<std::result::Result<_, _>>().unwrap();
    assert_eq!(rows.len(), 300_000);
    for (i, row) in rows.iter().enumerate() {
        let (name, direction, n) = match i < 150_000 {
            true => ("bind", "up", 10 + 10 * i as i64),
            false => ("close", "down", (20 - 10 * (i - 150_000) as i64).max(0)),
        };
        let texts = [0, 1, 2, 3, 4].map(|column| row.get_string(column).unwrap().as_str());
        assert_eq!(texts, ["local", "bind", "a,\"b\"", name, direction]);
        assert_eq!((row.get_long(5).unwrap(), row.get_long(6).unwrap()), (1, n));
        assert_eq!(row.get_double(7).unwrap(), values[i % 150_000]);
        assert_eq!(row.get_string(8).unwrap(), if name == "bind" { "s" } else { "1/s" });
    }
}

#[test]
fn a_run_without_values_is_a_table_without_rows() {
    let empty = recording(&[]);
    assert_eq!(text(Format::Csv, &empty).lines().count(), 1);
    assert_eq!(parquet(&empty).metadata().file_metadata().num_rows(), 0);
}

#[test]
fn a_full_disk_is_an_error_in_every_format() {
    struct Full;
    impl io::Write for Full {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::StorageFull.into())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    for format in Format::ALL {
        let error = export::write(format, &recording(&[1.0]), &mut Full).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::StorageFull, "{format}");
    }
}

#[test]
fn formats_have_names() {
    for format in Format::ALL {
        assert_eq!(format.to_string().parse(), Ok(format));
    }
    let refusal = "xml".parse::<Format>().unwrap_err();
    assert_eq!(refusal, "no export is called \"xml\"; there are csv, json and parquet");
}

/// Folders name the host and the workload, files have the other columns, and together they have every value.
#[test]
fn a_tree_of_files_has_every_value_once() {
    let run = crate::emulated::fleet::fleet(&crate::emulated::fleet::Fleet {
        hosts: 3,
        n: 50,
        trials: 2,
        ..crate::emulated::fleet::EIGHT
    });
    let parts = Partition::all(&run, &[PartitionKey::Host, PartitionKey::Workload]);
    let paths: Vec<String> = parts.iter().map(|part| part.path().display().to_string()).collect();
    assert_eq!(paths.len(), 6);
    assert!(paths.contains(&"host=n2/workload=fork/part.parquet".to_owned()), "{paths:?}");
    let mut rows = 0;
    for part in &parts {
        let mut file = tempfile::tempfile().unwrap();
        part.write(&run, &mut file).unwrap();
        let reader = SerializedFileReader::new(file).unwrap();
        let schema = reader.metadata().file_metadata().schema();
        let columns: Vec<&str> = schema.get_fields().iter().map(|field| field.name()).collect();
        assert_eq!(columns[..3], ["system", "variant", "series"], "the folder has the workload");
        rows += reader.metadata().file_metadata().num_rows();
        let is_its = |name: &str| name.starts_with("n2 ") == part.path().starts_with("host=n2");
        assert!(reader.get_row_iter(None).unwrap().all(|row| is_its(row.unwrap().get_string(0).unwrap())));
    }
    let all: usize = run.series().flat_map(|(_, trials)| trials).map(|one| one.values.len()).sum();
    assert_eq!(rows, all as i64);
    // Without a fleet the system stands for the host.
    let local = recording(&[1.0, 2.0]);
    let parts = Partition::all(&local, &[PartitionKey::Host, PartitionKey::Configuration]);
    let paths: Vec<String> = parts.iter().map(|part| part.path().display().to_string()).collect();
    assert!(paths[0].starts_with("host=") && paths[0].contains("configuration=__HIVE"), "{paths:?}");
}
