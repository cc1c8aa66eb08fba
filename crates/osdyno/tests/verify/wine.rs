//! Windows, as Wine implements it: the program that `cargo xtask link-systems` links measures there, and what
//! it records is read here.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use crate::common::served::Served;
use crate::common::{expect_nothing_left, osdyno, run, run_well, scratch_folders, text, until};
use record::{Outcome, Recording};

/// As `xtask/src/link_systems.rs` leaves it, below the folder in which this test is built.
const PROGRAM: &str = "systems/x86_64-win7-windows-gnu/debug/osdyno.exe";

/// What a trial takes is more there than here: 500 µs for a mapping of a file.
const WORKLOADS: [&str; 7] = ["noop", "thread", "mmap/read", "files", "socket/v4", "bind/v4", "connect/v4"];

/// As `xtask/src/obtain.rs` leaves it: a Wine that is newer than Debian's, which is taken where there is one.
const WINE: &str = "wine/bin/wine";

/// The variable that names another one.
const VARIABLE: &str = "OSDYNO_TEST_WINE";

/// Wine with a prefix of its own, which takes ten seconds to make.
struct Wine {
    folder: tempfile::TempDir,
    /// The Wine itself.
    wine: PathBuf,
    program: PathBuf,
}

impl Wine {
    /// Where there is one, and a program for it.
    fn find() -> Option<Wine> {
        let own = Path::new(env!("CARGO_BIN_EXE_osdyno"));
        let target = own.ancestors().nth(2).expect("a folder of cargo");
        let program = target.join(PROGRAM);
        let named = std::env::var_os(VARIABLE).map(PathBuf::from);
        let newer = Some(target.join(WINE)).filter(|wine| version(wine).is_some());
        let wine = named.clone().or(newer).unwrap_or_else(|| "wine".into());
        let Some(version) = version(&wine) else {
            assert!(named.is_none(), "{} is no Wine that starts", wine.display());
            skipped!("Wine is not installed");
            return None;
        };
        println!("{version}: {}", wine.display());
        if !program.exists() {
            skipped!("`cargo xtask link-systems` has not made {}", program.display());
            return None;
        }
        let folder = tempfile::tempdir().expect("a folder");
        lab::Wine::keep_server_in(folder.path(), &folder.path().join("prefix")).expect("a prefix");
        Some(Wine { folder, wine, program })
    }

    fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(program);
        command.current_dir(self.folder.path()).stdin(Stdio::null());
        command.env("WINEPREFIX", self.folder.path().join("prefix")).env("WINEDEBUG", "-all");
        command.env_remove("TMPDIR");
        // Nobody looks at a desktop, and none of the programs needs .NET or a browser.
        command.env("WINEDLLOVERRIDES", "mscoree,mshtml,winemenubuilder.exe=").env_remove("DISPLAY");
        command
    }

    /// The program, without arguments.
    fn osdyno(&self) -> Command {
        let mut command = self.command(&self.wine);
        command.arg(&self.program);
        command
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.osdyno().args(arguments).output().expect("wine starts")
    }

    /// Runs it to its end, which must be this one, and returns what it printed.
    fn run_to(&self, code: i32, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        let printed = text(&output.stdout);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {printed}\n{}", text(&output.stderr));
        printed
    }

    fn recording(&self, name: &str) -> Recording {
        record::read(self.folder.path().join(name)).expect("the run file").0
    }
}

impl Drop for Wine {
    fn drop(&mut self) {
        // Ends all programs of this prefix, and waits for that.
        let beside = self.wine.with_file_name("wineserver");
        let server = if beside.exists() { beside } else { "wineserver".into() };
        for word in ["-k", "-w"] {
            let _ = self.command(&server).arg(word).status();
        }
    }
}

/// Those that Debian's Wine has made for its servers, where nobody removes them.
fn folders_of_servers() -> BTreeSet<PathBuf> {
    let entries = fs::read_dir("/tmp").expect("/tmp").flatten();
    let ours = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with("wine-"));
    ours.map(|entry| entry.path()).collect()
}

/// What a Wine says of itself, if it starts.
fn version(wine: &Path) -> Option<String> {
    let output = Command::new(wine).arg("--version").stderr(Stdio::null()).output().ok()?;
    output.status.success().then(|| text(&output.stdout).trim().to_owned())
}

#[test]
fn windows_measures_reports_and_compares() {
    let Some(wine) = Wine::find() else { return };
    let folder = wine.folder.path();
    fs::create_dir(folder.join("scratch")).expect("a folder");
    let measure = |name: &str| {
        let sizes = ["-n", "60", "--trials", "4", "--seed", "5", "--scratch", "scratch", "--out", name];
        wine.run_to(0, &[&["run"], &WORKLOADS[..], &sizes].concat());
        let recording = wine.recording(name);
        let facts = &recording.systems[0].environment;
        assert_eq!(facts["os.name"], "windows");
        assert!(facts["machine.emulation"].starts_with("Wine "), "{facts:?}");
        assert_eq!(recording.trials.len(), WORKLOADS.len() * 4);
        for trial in &recording.trials {
            let order = &trial.order;
            // A busy machine may need longer than is allowed for the way up.
            let is_measured = matches!(trial.outcome, Outcome::Complete | Outcome::Allowance { .. });
            assert!(is_measured, "{}/{}: {:?}", order.workload, order.variant, trial.outcome);
            assert!(trial.checks.iter().all(|check| check.held), "{}: {:?}", order.workload, trial.checks);
        }
        let is_measured = |series: &record::Series| series.values.iter().any(|&value| value > 0.0);
        assert!(recording.series().all(|(_, trials)| trials.iter().all(is_measured)));
    };
    measure("a.osdyno");
    measure("b.osdyno");

    // The same words there as here, and a page.
    let there = wine.run_to(0, &["report", "a.osdyno", "--verbose"]);
    assert_eq!(there, run_well(folder, &["report", "a.osdyno", "--verbose"]));
    assert!(there.contains("socket") && there.contains("connect"), "{there}");
    assert!(folder.join("a.html").exists());
    let compared = wine.run_to(0, &["compare", "a.osdyno", "b.osdyno"]);
    assert_eq!(compared, run_well(folder, &["compare", "a.osdyno", "b.osdyno"]));

    // Its janitor waits until Windows lets go of the programs in it.
    until("no scratch folder is left", || scratch_folders(&folder.join("scratch")).is_empty());
}

/// What a first look at Windows measures, each in all its variants.
const FIRST_LOOK: [&str; 7] = ["socket", "bind", "thread", "mmap", "files", "connect", "race"];

/// What a second look has in common with it, to be compared.
const SECOND_LOOK: [&str; 3] = ["socket/v4", "thread", "race/thread"];

/// However slow the machine is beside this test: each item has a trial, or the budget was used up before,
/// which is said, and the exit status says it too.
#[test]
fn a_first_look_measures_reports_and_compares() {
    let Some(wine) = Wine::find() else { return };
    let folder = wine.folder.path();
    let look = |workloads: &[&str], more: &[&str], name: &str| {
        let words = ["--preset", "quick", "--seed", "5", "--out", name];
        let output = wine.run(&[&["run"], workloads, &words[..], more].concat());
        let recording = wine.recording(name);
        let mut left_out = 0;
        for workload in &recording.workloads {
            for variant in &workload.variants {
                let is_its = |trial: &&record::Trial| {
                    trial.order.workload == workload.name && trial.order.variant == variant.name
                };
                let trials: Vec<_> = recording.trials.iter().filter(is_its).collect();
                trials.iter().for_each(|trial| expect_result(trial));
                left_out += usize::from(trials.is_empty());
            }
        }
        let (status, told) = (&recording.end.as_ref().expect("an end").status, text(&output.stderr));
        let code = if left_out == 0 { 0 } else { 3 };
        assert_eq!(output.status.code(), Some(code), "{left_out} are left out: {told}");
        assert!(
            left_out == 0 || *status == record::EndStatus::Budget,
            "{left_out} are left out of a run that ended as {status:?}"
        );
        let is_measured = |series: &record::Series| series.values.iter().any(|&value| value > 0.0);
        assert!(recording.series().all(|(_, trials)| trials.iter().all(is_measured)));
        assert!(recording.series().next().is_some());
        println!("{name}: {} trials, {left_out} items without one", recording.trials.len());
        (recording, left_out)
    };

    let (first, left_out) = look(&FIRST_LOOK, &[], "first.osdyno");
    let planned: BTreeSet<&str> = first.workloads.iter().map(|workload| workload.name.as_str()).collect();
    assert_eq!(planned, BTreeSet::from(FIRST_LOOK));
    let report = wine.run_to(0, &["report", "first.osdyno", "--verbose"]);
    assert_eq!(report, run_well(folder, &["report", "first.osdyno", "--verbose"]));
    let page = fs::read_to_string(folder.join("first.html")).expect("a page");
    for name in FIRST_LOOK {
        assert!(report.contains(name) && page.contains(name), "{name} is not in {report}");
    }
    assert!(left_out == 0 || report.contains("not measured: the time was used up"), "{report}");

    look(&SECOND_LOOK, &["--budget", "10s"], "second.osdyno");
    // Most of the first has nothing to be compared with.
    let words = ["compare", "first.osdyno", "second.osdyno", "--verbose"];
    let compared = wine.run_to(3, &words);
    assert_eq!(compared, text(&run(folder, &words).stdout));
    for name in ["socket", "thread", "first", "second"] {
        assert!(compared.contains(name), "{name} is not in {compared}");
    }
}

/// A trial has measured something, or there is none of its kind on Windows.
fn expect_result(trial: &record::Trial) {
    let (order, outcome) = (&trial.order, &trial.outcome);
    let name = format!("{}/{} {}", order.workload, order.variant, order.trial);
    match outcome {
        Outcome::Complete | Outcome::Allowance { .. } => {}
        // A busy machine may leave a server so little time that requests fail, or that it ends too late.
        Outcome::Limit { .. } if order.workload == "race" => {}
        Outcome::Failed { reason } if order.workload == "race" && reason.contains("did not reply within") => {
        }
        Outcome::Unsupported { reason } => assert!(!reason.is_empty(), "{name}"),
        _ => panic!("{name}: {outcome:?}"),
    }
    assert!((1..=5000).contains(&order.n), "{name}: n = {}", order.n);
    assert!(trial.checks.iter().all(|check| check.held), "{name}: {:?}", trial.checks);
}

#[test]
fn servers_race_with_threads_and_with_event_loops() {
    let Some(wine) = Wine::find() else { return };
    let servers = ["race/thread", "race/pool", "race/poll", "race/tokio", "race/iocp"];
    let words = ["-n", "10", "--trials", "2", "--seed", "5", "--out", "race.osdyno"];
    wine.run_to(0, &[&["run"], &servers[..], &words].concat());
    let recording = wine.recording("race.osdyno");
    assert_eq!(recording.trials.len(), servers.len() * 2);
    for trial in &recording.trials {
        let variant = &trial.order.variant;
        assert_eq!(trial.outcome, Outcome::Complete, "{variant}");
        assert!(trial.checks.iter().all(|check| check.held), "{variant}: {:?}", trial.checks);
    }
    let throughputs: Vec<_> = recording.series().filter(|(key, _)| key.name == "throughput").collect();
    assert_eq!(throughputs.len(), servers.len());
    let is_measured = |series: &record::Series| series.values.iter().all(|&value| value > 0.0);
    assert!(throughputs.iter().all(|(_, trials)| trials.iter().all(is_measured)));
}

#[test]
fn servers_and_load_generators_work_across_systems() {
    let Some(wine) = Wine::find() else { return };
    let words = ["--client", "echo", "-c", "3", "-n", "60", "--format", "json"];
    let expect_all = |who: &str, printed: &str| {
        let answer: serde_json::Value = serde_json::from_str(printed).expect("JSON");
        let level = &answer["levels"][0];
        for (name, count) in [("completed", 60), ("failed", 0), ("unanswered", 0)] {
            assert_eq!(level[name], count, "{who}: {name}: {printed}");
        }
    };
    for architecture in ["thread", "poll", "iocp"] {
        let server = Served::start_by(wine.osdyno(), &["--arch", architecture, "--service", "echo"]);
        let address = server.address.to_string();
        let load = [&["load", address.as_str()], &words[..]].concat();
        expect_all(architecture, &run_well(wine.folder.path(), &load));
        expect_all(&format!("{architecture}, from Wine"), &wine.run_to(0, &load));
    }
    let server = Served::start(wine.folder.path(), &["--arch", "poll", "--service", "echo"]);
    let address = server.address.to_string();
    let load = [&["load", address.as_str()], &words[..]].concat();
    expect_all("a server on Linux", &wine.run_to(0, &load));
}

#[test]
fn files_are_made_listed_renamed_and_removed() {
    let Some(wine) = Wine::find() else { return };
    let jobs = ["small-files/warm", "small-files/cold", "small-files/durable", "directory"];
    let words = ["-n", "60", "--set", "files=100", "--trials", "2", "--out", "a.osdyno"];
    wine.run_to(3, &[&["run"], &jobs[..], &words].concat());
    let recording = wine.recording("a.osdyno");
    for trial in &recording.trials {
        let (name, outcome) = (format!("{}/{}", trial.order.workload, trial.order.variant), &trial.outcome);
        match name.as_str() {
            "small-files/cold" | "small-files/durable" => {
                assert!(matches!(outcome, Outcome::Unsupported { .. }), "{name}: {outcome:?}");
            }
            _ => assert!(
                matches!(outcome, Outcome::Complete | Outcome::Allowance { .. }),
                "{name}: {outcome:?}"
            ),
        }
        assert!(trial.checks.iter().all(|check| check.held), "{name}: {:?}", trial.checks);
    }
    for name in ["readdir", "rename", "unlink", "lookup"] {
        let mut series = recording.series().filter(|(key, _)| key.name == name);
        let (_, trials) = series.next().expect("a series");
        assert!(trials.iter().any(|trial| trial.values.iter().any(|&value| value > 0.0)), "{name}");
    }
}

#[test]
fn jobs_that_need_only_files_threads_or_a_compiler_are_measured() {
    let Some(wine) = Wine::find() else { return };
    let jobs = ["copy/read-write", "copy/mmap", "copy/sendfile", "tree", "mail-queue", "crypto", "compile"];
    let words = ["-n", "2", "--trials", "1", "--set", "flush=no", "--out", "a.osdyno"];
    wine.run_to(3, &[&["run"], &jobs[..], &words].concat());
    let recording = wine.recording("a.osdyno");
    for trial in &recording.trials {
        let (name, outcome) = (format!("{}/{}", trial.order.workload, trial.order.variant), &trial.outcome);
        let lacking = match name.as_str() {
            "copy/sendfile" => Some("sendfile(2)"),
            "compile/" => Some("no compiler"),
            "crypto/openssl" | "crypto/openssl-avx2" | "crypto/openssl-sse4" | "crypto/openssl-sse2" => {
                Some("libcrypto")
            }
            _ => None,
        };
        match (lacking, outcome) {
            (Some(part), Outcome::Unsupported { reason }) => {
                assert!(reason.contains(part), "{name}: {reason}")
            }
            (None, Outcome::Complete | Outcome::Allowance { .. }) => {
                assert!(trial.checks.iter().all(|check| check.held), "{name}: {:?}", trial.checks);
            }
            _ => panic!("{name}: {outcome:?}"),
        }
    }
    for name in ["transfer", "unpack", "message", "x25519"] {
        let mut series = recording.series().filter(|(key, _)| key.name == name);
        let is_measured = |series: &record::Series| series.values.iter().any(|&value| value > 0.0);
        assert!(series.any(|(_, trials)| trials.iter().any(is_measured)), "{name}");
    }
}

#[test]
fn wsapoll_reports_what_is_ready() {
    let Some(wine) = Wine::find() else { return };
    let interfaces = ["ready/poll", "ready/select", "ready/epoll", "ready-many/poll"];
    let words = ["-n", "40", "--trials", "2", "--out", "a.osdyno"];
    wine.run_to(0, &[&["run"], &interfaces[..], &words].concat());
    for trial in &wine.recording("a.osdyno").trials {
        let (variant, outcome) = (trial.order.variant.as_str(), &trial.outcome);
        if variant == "poll" {
            assert!(matches!(outcome, Outcome::Complete | Outcome::Allowance { .. }), "{outcome:?}");
            assert!(trial.checks.iter().all(|check| check.held), "{:?}", trial.checks);
        } else {
            assert!(matches!(outcome, Outcome::Unsupported { .. }), "{variant}: {outcome:?}");
        }
    }
}

#[test]
fn lab_run_measures_wine_beside_this_machine() {
    let Some(wine) = Wine::find() else { return };
    // Not that of the tests' own Wine, which has a prefix in it.
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let installed = wine.wine == Path::new("wine");
    let before = folders_of_servers();
    let command = wine.wine.display().to_string();
    let option = if installed { "--wine".to_owned() } else { format!("--wine=wine={command}") };
    let words = ["lab", "run", &option, "noop", "socket/v4", "thread", "fork", "race/poll"];
    let size = ["-n", "10", "--trials", "3", "--seed", "5", "--out=a.osdyno"];
    let mut run = osdyno(folder, &[&words[..], &size[..]].concat());
    let output = run.env_remove("WINEPREFIX").output().expect("osdyno starts");
    let told = text(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "Windows has no fork: {told}");
    let recording = record::read(folder.join("a.osdyno")).expect("the run file").0;
    let [_, there] = &recording.systems[..] else { panic!("two systems: {told}") };
    assert_eq!((there.name.as_str(), &there.prefix[..]), ("wine", &["--wine".into(), command][..]));
    assert_eq!(there.environment["os.name"], "windows");
    for trial in recording.trials.iter().filter(|trial| trial.order.system == "wine") {
        let (workload, outcome) = (trial.order.workload.as_str(), &trial.outcome);
        match workload {
            "fork" => assert!(matches!(outcome, Outcome::Unsupported { .. }), "{outcome:?}"),
            _ => assert_eq!(*outcome, Outcome::Complete, "{workload}: {told}"),
        }
    }
    let measured = recording.trials.iter().filter(|trial| trial.order.system == "wine");
    assert!(measured.count() > 12, "{told}");
    expect_nothing_left(folder);
    assert!(folders_of_servers().is_subset(&before), "{before:?}");
}

#[test]
fn what_windows_lacks_is_said_with_its_reason() {
    let Some(wine) = Wine::find() else { return };
    let words = ["run", "noop", "fork", "syscall", "-n", "30", "--trials", "2", "--out", "a.osdyno"];
    wine.run_to(3, &words);
    let recording = wine.recording("a.osdyno");
    for (workload, reason) in [("fork", "fork"), ("syscall", "getppid(2)")] {
        let mut trials = recording.trials.iter().filter(|trial| trial.order.workload == workload);
        let outcome = &trials.next().expect("a trial").outcome;
        assert!(
            matches!(outcome, Outcome::Unsupported { reason: told } if told.contains(reason)),
            "{outcome:?}"
        );
    }
}
