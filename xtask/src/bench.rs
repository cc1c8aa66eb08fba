//! `cargo xtask bench`: osdyno's own figures against bare C, alternately, on this machine. A benchmark, not
//! a test: the ratios stand in docs/performance.md with the date and the machine. `bench classics`,
//! `bench objects`, `bench cores` and `bench fleets` measure a part.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::AnyError;
use crate::workspace::{self, cargo, program, read, show};

/// How often the two sides take turns.
const ROUNDS: usize = 30;
/// How often a scaling is measured again that has no value.
const ATTEMPTS: usize = 10;
const SOCKETS: &str = "10000";
const PROCESSES: &str = "2000";
/// Below this n everything is cold, and neither side counts it.
const COLD: f64 = 100.0;

/// Curves that `objects.c` measures too, how far they go, and the two operations that it prints.
const OBJECTS: [(&str, &str, [&str; 2]); 8] = [
    ("lock/posix", "1000", ["lock", "test"]),
    ("watch/inotify", "5000", ["add", "read"]),
    ("pipe/pipe", "4000", ["create", "byte"]),
    ("timer/timerfd", "5000", ["arm", "re-arm"]),
    ("udp/v4", "5000", ["bind", "sendto"]),
    ("unix-socket/abstract", "2000", ["bind", "sendto"]),
    ("queue/sysv", "1000", ["create", "send"]),
    ("mount/tmpfs", "500", ["mount", "unmount"]),
];

/// Scalings that `cores.c` measures too, and how it makes workers.
const CORES: [(&str, &str, &str); 16] = [
    ("syscall", "threads", "threads"),
    ("open", "processes", "processes"),
    ("file-read", "threads", "threads"),
    ("file-write", "processes-shared", "processes"),
    ("create", "threads-shared", "threads"),
    ("map", "threads", "threads"),
    ("fault", "processes", "processes"),
    ("pipe", "threads", "threads"),
    ("socket", "threads", "threads"),
    ("bind", "processes", "processes"),
    ("spawn", "processes", "processes"),
    ("protect", "threads", "threads"),
    ("timer", "threads", "threads"),
    ("tcp", "processes", "processes"),
    ("rename", "threads", "threads"),
    ("unix", "threads", "threads"),
];

/// A folder of Linux that lies in memory.
const IN_MEMORY: &str = "/dev/shm";

/// The values of osdyno and of bare C, or of two others, in nanoseconds.
type Pair = (f64, f64);

/// Prints tables of ratios.
///
/// # Errors
/// When something cannot be built or does not measure.
pub fn run(only: Option<&str>) -> Result<(), AnyError> {
    show(cargo().args(["build", "--release", "--package", "osdyno"]))?;
    let target = workspace::target();
    let folder = target.join("bench");
    std::fs::create_dir_all(&folder)?;
    let osdyno = target.join("release/osdyno");
    let cpu = (std::thread::available_parallelism()?.get() - 1).to_string();
    let is_wanted = |part: &str| only.is_none_or(|only| only == part);
    if is_wanted("classics") {
        classics(&folder, &osdyno, &cpu)?;
    }
    if is_wanted("objects") {
        objects(&folder, &osdyno, &cpu)?;
    }
    if is_wanted("cores") {
        cores(&folder, &osdyno)?;
    }
    if is_wanted("fleets") {
        fleets(&osdyno)?;
    }
    Ok(())
}

/// A hundred hosts beside one, two load generators beside one, and how often a slower host is named.
fn fleets(osdyno: &Path) -> Result<(), AnyError> {
    let test = ["test", "--release", "--package", "osdyno", "--test", "verify", "fleet::a_hundred"];
    show(cargo().args(test).args(["--", "--ignored", "--nocapture"]))?;
    for script in ["fleets.py", "slow-host.py"] {
        show(program("python3").arg(workspace::root().join("benches").join(script)).arg(osdyno))?;
    }
    Ok(())
}

/// The curves of 2003.
fn classics(folder: &Path, osdyno: &Path, cpu: &str) -> Result<(), AnyError> {
    let socket = compile(folder, "socket", &[])?;
    let dynamic = compile(folder, "fork", &[])?;
    let alone = compile(folder, "fork", &["-static"])?;
    let mut rows = Vec::new();
    for round in 1..=ROUNDS {
        eprint!("\rround {round} of {ROUNDS}");
        let [bare_socket, bare_bind] = bare(&socket, &[cpu, SOCKETS])?;
        let ours = measure(osdyno, folder, &["socket/v4", "bind/v4", "noop"], SOCKETS)?;
        let [bare_fork, bare_reap] = bare(&dynamic, &[cpu, PROCESSES])?;
        let [bare_static, bare_static_reap] = bare(&alone, &[cpu, PROCESSES])?;
        let processes = measure(osdyno, folder, &["fork", "fork-static"], PROCESSES)?;
        rows.push(vec![
            (find(&ours, "socket", "socket")?, bare_socket),
            (find(&ours, "bind", "bind")?, bare_bind),
            (find(&processes, "fork", "fork")?, bare_fork),
            (find(&processes, "fork", "reap")?, bare_reap),
            (find(&processes, "fork-static", "fork")?, bare_static),
            (find(&processes, "fork-static", "reap")?, bare_static_reap),
            (find(&processes, "fork", "fork")?, find(&processes, "fork-static", "fork")?),
            (find(&processes, "fork", "reap")?, find(&processes, "fork-static", "reap")?),
            (bare_fork, bare_static),
            (bare_reap, bare_static_reap),
        ]);
    }
    print(&ROWS.map(str::to_owned), &rows);
    Ok(())
}

/// Newer curves.
fn objects(folder: &Path, osdyno: &Path, cpu: &str) -> Result<(), AnyError> {
    let bare_objects = compile(folder, "objects", &[])?;
    let mut rows = Vec::new();
    for round in 1..=ROUNDS {
        eprint!("\rround {round} of {ROUNDS}");
        let mut row = Vec::new();
        for (curve, n, operations) in OBJECTS {
            let place = folder.join("objects-files");
            std::fs::create_dir(&place)?;
            let paths = [cpu, n, curve].map(Path::new).into_iter().chain([&*place]);
            let bare = bare(&bare_objects, &paths.collect::<Vec<&Path>>());
            std::fs::remove_dir_all(&place)?;
            let ours = measure(osdyno, folder, &[curve], n)?;
            let workload = curve.split('/').next().unwrap_or(curve);
            for (operation, bare) in operations.into_iter().zip(bare?) {
                row.push((find(&ours, workload, operation)?, bare));
            }
        }
        rows.push(row);
    }
    let name =
        |(curve, _, operations): (&str, &str, [&str; 2])| operations.map(|one| format!("{curve} {one}"));
    print(&OBJECTS.into_iter().flat_map(name).collect::<Vec<String>>(), &rows);
    Ok(())
}

/// Operations by one worker and by two at once.
fn cores(folder: &Path, osdyno: &Path) -> Result<(), AnyError> {
    let bare_cores = compile(folder, "cores", &["-pthread"])?;
    let mut rows = Vec::new();
    for round in 1..=ROUNDS {
        eprint!("\rround {round} of {ROUNDS}");
        let mut row = Vec::new();
        for (operation, variant, means) in CORES {
            // ext4 without a journal passes over the inodes that were freed in the last minute, so that a
            // creation there depends on those before it, of either side.
            let memory =
                Some(Path::new(IN_MEMORY)).filter(|_| operation == "create").filter(|at| at.is_dir());
            let scratch = memory.unwrap_or(folder);
            let place = scratch.join(format!("osdyno-bench-{}", std::process::id()));
            std::fs::create_dir(&place).map_err(|error| format!("to create {}: {error}", place.display()))?;
            let words = [operation, means].map(Path::new).into_iter().chain([&*place]);
            let bare = bare(&bare_cores, &words.collect::<Vec<&Path>>());
            std::fs::remove_dir_all(&place)?;
            let workload = format!("cores-{operation}");
            let (name, scratch) = (format!("{workload}/{variant}"), scratch.to_string_lossy());
            // A level does not count while another program has its processor.
            let rates = (0..ATTEMPTS).find_map(|_| {
                let ours = measure(osdyno, folder, &[&name, "--scratch", &scratch], "2").ok()?;
                rate(&ours, &workload, 1.0).zip(rate(&ours, &workload, 2.0))
            });
            let (one, two) = rates.ok_or_else(|| format!("{name} has no level that counts"))?;
            let [bare_one, bare_two] = bare?;
            row.extend([(1e9 / one, bare_one), (1e9 / two, bare_two)]);
        }
        rows.push(row);
    }
    let name = |(operation, variant, _): (&str, &str, &str)| {
        ["1 worker", "2 workers"].map(|workers| format!("{operation}/{variant}, {workers}"))
    };
    print(&CORES.into_iter().flat_map(name).collect::<Vec<String>>(), &rows);
    Ok(())
}

/// Operations per second of so many workers.
fn rate(measured: &[Value], workload: &str, workers: f64) -> Option<f64> {
    let of = |entry: &&Value| entry["workload"] == workload && entry["series"] == "rate";
    let entry = measured.iter().find(of);
    let list = |name: &str| {
        entry.and_then(|entry| entry[name].as_array()).into_iter().flatten().filter_map(Value::as_f64)
    };
    list("n").zip(list("value")).find(|(n, _)| *n == workers).map(|(_, rate)| rate)
}

fn print(names: &[String], rows: &[Vec<Pair>]) {
    eprintln!();
    println!("medians of {ROUNDS} alternating rounds, ratio of each round with its quartiles\n");
    println!("{:<34}{:>12}{:>12}   ratio", "", "first ns", "second ns");
    for (column, name) in names.iter().enumerate() {
        let of = |pick: fn(&Pair) -> f64| quartiles(rows.iter().map(|row| pick(&row[column])).collect());
        let (first, second, ratio) = (of(|pair| pair.0), of(|pair| pair.1), of(|pair| pair.0 / pair.1));
        println!(
            "{name:<34}{:>12.1}{:>12.1}   {:.3} ({:.3}–{:.3})",
            first[1], second[1], ratio[1], ratio[0], ratio[2]
        );
    }
}

const ROWS: [&str; 10] = [
    "socket: osdyno / bare C",
    "bind: osdyno / bare C",
    "fork: osdyno / bare C",
    "reap: osdyno / bare C",
    "static fork: osdyno / bare C",
    "static reap: osdyno / bare C",
    "fork: osdyno dynamic / static",
    "reap: osdyno dynamic / static",
    "fork: bare C dynamic / static",
    "reap: bare C dynamic / static",
];

fn compile(folder: &Path, name: &str, flags: &[&str]) -> Result<PathBuf, AnyError> {
    let binary = folder.join(format!("{name}{}", flags.concat()));
    let source = workspace::root().join(format!("xtask/bench/{name}.c"));
    show(program("cc").args(["-O2", "-o"]).arg(&binary).arg(source).args(flags))?;
    Ok(binary)
}

fn bare(binary: &Path, arguments: &[impl AsRef<OsStr>]) -> Result<[f64; 2], AnyError> {
    let printed = read(program(binary).args(arguments))?;
    let values: Vec<f64> = printed.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    <[f64; 2]>::try_from(values).map_err(|_| format!("{}: printed {printed:?}", binary.display()).into())
}

/// One trial of each workload: the series of its export, each with its lists of n and of values.
fn measure(osdyno: &Path, folder: &Path, workloads: &[&str], n: &str) -> Result<Vec<Value>, AnyError> {
    let (run, page) = (folder.join("bench.osdyno"), folder.join("bench.html"));
    for old in [&run, &page] {
        let _ = std::fs::remove_file(old);
    }
    let mut command = Command::new(osdyno);
    command.arg("run").args(workloads).args(["-n", n, "--trials", "1", "--out"]).arg(&run);
    read(&mut command)?;
    let series = read(Command::new(osdyno).args(["export", "--format", "json"]).arg(&run))?;
    Ok(serde_json::from_str(&series)?)
}

/// Median in nanoseconds.
fn find(measured: &[Value], workload: &str, series: &str) -> Result<f64, AnyError> {
    let missing = || format!("{workload} {series} was not measured");
    let of = |entry: &&Value| entry["workload"] == workload && entry["series"] == series;
    let entry = measured.iter().find(of).ok_or_else(missing)?;
    let list = |name: &str| entry[name].as_array().into_iter().flatten().filter_map(Value::as_f64);
    let warm = list("n").zip(list("value")).filter(|(n, _)| *n >= COLD);
    let mut warm: Vec<f64> = warm.map(|(_, seconds)| seconds * 1e9).collect();
    warm.sort_by(f64::total_cmp);
    Ok(warm.get(warm.len() / 2).copied().ok_or_else(missing)?)
}

/// First quartile, median and third quartile.
fn quartiles(mut values: Vec<f64>) -> [f64; 3] {
    values.sort_by(f64::total_cmp);
    [1, 2, 3].map(|quarter| values.get(values.len() * quarter / 4).copied().unwrap_or(f64::NAN))
}
