//! Jobs whose programs, space or servers fail: a reason, the other items of the run, and nothing left behind.
#![cfg(target_os = "linux")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common;
use crate::common::{
    expect_nothing_left, osdyno, processes_below, program, program_bytes, recording, run_well, run_with,
    signal, start_measuring, text, until,
};
use record::Outcome;

/// The trials of a variant and how each ended.
fn outcomes(folder: &Path, name: &str) -> Vec<Outcome> {
    let trials = recording(folder).trials.into_iter();
    let named = trials.filter(|trial| format!("{}/{}", trial.order.workload, trial.order.variant) == name);
    named.map(|trial| trial.outcome).collect()
}

/// The processes of a database, which all work in its folder.
fn databases(folder: &Path) -> Vec<PathBuf> {
    let folder = folder.canonicalize().expect("a folder");
    let processes = fs::read_dir("/proc").expect("/proc").flatten();
    let folders = processes.filter_map(|process| fs::read_link(process.path().join("cwd")).ok());
    folders.filter(|cwd| cwd.starts_with(&folder) && cwd.to_string_lossy().contains("/sql/data")).collect()
}

/// Where this machine has the programs of PostgreSQL.
fn postgresql() -> Option<PathBuf> {
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    versions.map(|version| version.path().join("bin")).find(|bin| bin.join("postgres").is_file())
}

#[test]
fn no_compiler_is_a_reason_and_the_other_jobs_are_measured() {
    let folder = tempfile::tempdir().expect("a folder");
    let arguments = ["run", "compile", "mail-queue", "-n1", "--trials=1", "--out=a.osdyno"];
    let mut command = osdyno(folder.path(), &arguments);
    let output = command.env("PATH", folder.path()).output().expect("osdyno starts");
    assert_eq!(output.status.code(), Some(3), "{}", text(&output.stderr));
    let unsupported = format!("{:?}", outcomes(folder.path(), "compile/"));
    assert!(unsupported.contains("there is no compiler `cc`"), "{unsupported}");
    assert_eq!(outcomes(folder.path(), "mail-queue/"), [Outcome::Complete]);
    expect_nothing_left(folder.path());
}

#[test]
fn a_compiler_that_fails_is_reported_with_its_own_words() {
    let (folder, programs) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
    program(programs.path(), "cc", "echo 'cc: planted error' >&2; exit 7");
    let arguments = ["run", "compile", "-n1", "--trials=1", "--out=a.osdyno"];
    run_with(folder.path(), programs.path(), &arguments);
    let failed = format!("{:?}", outcomes(folder.path(), "compile/"));
    assert!(failed.contains("cc: planted error") && failed.contains("status: 7"), "{failed}");
    expect_nothing_left(folder.path());
}

#[test]
fn a_database_that_does_not_start_is_reported_with_the_end_of_its_log() {
    let (folder, programs) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
    program(programs.path(), "initdb", "exit 0");
    program(programs.path(), "postgres", "echo 'FATAL: planted' >&2; exit 1");
    program(programs.path(), "mariadb-install-db", "echo 'no table today'; exit 5");
    program(programs.path(), "mariadbd", "exit 0");
    let arguments = ["run", "sql", "-n1", "--trials=1", "--set=rows=1000", "--out=a.osdyno"];
    let output = run_with(folder.path(), programs.path(), &arguments);
    assert_ne!(output.status.code(), Some(0), "{}", text(&output.stdout));
    let postgresql = format!("{:?}", outcomes(folder.path(), "sql/postgresql"));
    assert!(postgresql.contains("FATAL: planted"), "{postgresql}");
    let mariadb = format!("{:?}", outcomes(folder.path(), "sql/mariadb"));
    assert!(mariadb.contains("no table today"), "{mariadb}");
    assert_eq!(outcomes(folder.path(), "sql/sqlite"), [Outcome::Complete]);
    expect_nothing_left(folder.path());
}

#[test]
fn a_database_that_dies_at_work_has_crashed_and_its_log_says_why() {
    let Some(real) = postgresql() else {
        return skipped!("PostgreSQL is not installed");
    };
    let (folder, programs) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
    let real = real.display();
    program(programs.path(), "initdb", &format!("exec {real}/initdb \"$@\""));
    // It dies once it has served: when the table that all read was made, which is the first large file.
    let dies = "(until [ -n \"$(find \"$2/base\" -size +900k -newer \"$2/PG_VERSION\" | head -n1)\" ]; do sleep 0.01; done; \
                echo planted death >&2; kill -KILL $$) &";
    let version = format!("[ \"$1\" != --version ] || exec {real}/postgres --version");
    program(programs.path(), "postgres", &format!("{version}\n{dies}\nexec {real}/postgres \"$@\""));
    let arguments = ["run", "sql/postgresql", "-n2", "--trials=1", "--set=rows=20000", "--out=a.osdyno"];
    run_with(folder.path(), programs.path(), &arguments);
    let outcomes = format!("{:?}", outcomes(folder.path(), "sql/postgresql"));
    assert!(outcomes.contains("the database has ended, killed by SIGKILL"), "{outcomes}");
    assert!(outcomes.contains("planted death"), "{outcomes}");
    expect_nothing_left(folder.path());
}

#[test]
fn a_killed_run_leaves_no_database() {
    if postgresql().is_none() {
        return skipped!("PostgreSQL is not installed");
    }
    let folder = tempfile::tempdir().expect("a folder");
    let long = ["run", "sql/postgresql", "-n1", "--trials=50", "--out=a.osdyno"];
    let mut child = start_measuring(folder.path(), &long);
    // The server, and those that it starts when it serves.
    until("a database serves", || databases(folder.path()).len() > 3);
    signal(child.id(), "KILL");
    child.wait().expect("its end");
    until("every process has ended", || processes_below(folder.path(), "").is_empty());
    until("every process of the database has ended", || databases(folder.path()).is_empty());
    until("the scratch folder is gone", || common::scratch_folders(folder.path()).is_empty());
}

#[test]
fn a_disk_that_fills_up_ends_a_job_and_no_other() {
    let possible = Command::new("unshare").args(["--mount", "true"]).output();
    if !possible.is_ok_and(|output| output.status.success()) {
        return skipped!("a mount of one's own takes root");
    }
    let (folder, disk) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
    let disk = disk.path();
    // So large that the programs fit, and not what the jobs are to make.
    let bytes = program_bytes() + (32 << 20);
    let mount = format!("mount -t tmpfs -o size={bytes} none {} && exec \"$0\" \"$@\"", disk.display());
    let scratch = format!("--scratch={}", disk.display());
    let jobs = ["mail-queue", "sql/sqlite", "compile", "copy/read-write", "crypto/embedded"];
    let sizes = ["--set=bytes=16777216", "--set=rows=1000000", "--set=optimize=0"];
    let settings = ["--trials=1", "--out=a.osdyno", "-n1", &scratch];
    let mut command = Command::new("unshare");
    command
        .args(["--mount", "sh", "-c", &mount, env!("CARGO_BIN_EXE_osdyno"), "run"])
        .args(jobs)
        .args(sizes)
        .args(settings);
    let output = command.current_dir(folder.path()).output().expect("osdyno starts");
    let told = text(&output.stderr);
    assert!(matches!(output.status.code(), Some(0 | 3)), "{}: {told}", output.status);
    let of_sql = format!("{:?}", outcomes(folder.path(), "sql/sqlite"));
    assert!(of_sql.contains("the disk is full"), "{of_sql}");
    assert_eq!(outcomes(folder.path(), "crypto/embedded"), [Outcome::Complete], "{told}");
    expect_nothing_left(folder.path());
}

#[test]
fn the_library_of_the_system_has_the_instructions_that_were_chosen() {
    let folder = tempfile::tempdir().expect("a folder");
    run_well(folder.path(), &["run", "crypto", "-n1", "--trials=1", "--window=200ms", "--out=a.osdyno"]);
    let recording = recording(folder.path());
    assert_eq!(recording.trials.len(), 5);
    let has_library = ["/usr/lib", "/usr/lib64", "/lib"].into_iter().any(has_libcrypto);
    for trial in &recording.trials {
        let name = &trial.order.variant;
        // Our own library is everywhere; what the processor lacks are variants of the other one.
        let must_be = name == "embedded" || (name == "openssl" && has_library);
        match &trial.outcome {
            Outcome::Complete => {
                assert!(trial.checks.iter().all(|check| check.held), "{name}: {:?}", trial.checks);
                assert_eq!(trial.checks.len(), 2, "{name}");
            }
            Outcome::Unsupported { reason } if !must_be => skipped!("{name}: {reason}"),
            other => panic!("{name}: {other:?}"),
        }
    }
}

/// Whether the folder, or one of its folders, has the library of OpenSSL 3.
fn has_libcrypto(folder: &str) -> bool {
    let within = |folder: &Path| folder.join("libcrypto.so.3").exists();
    let folders = fs::read_dir(folder).into_iter().flatten().flatten();
    within(Path::new(folder)) || folders.into_iter().any(|entry| within(&entry.path()))
}
