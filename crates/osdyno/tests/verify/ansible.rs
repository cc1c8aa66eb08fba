//! The role of deploy/ansible, played by Ansible itself on hosts behind ssh: it installs, raises limits, runs,
//! fetches and merges, and a second time it changes nothing.
#![cfg(target_os = "linux")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::common::rack::Rack;
use crate::common::{run_well, text};

/// As `xtask/src/obtain.rs` leaves it, below the folder in which this test is built.
const PYTHON: &str = "python";

/// The folder with packages of PyPI; `None` where there is none.
fn packages() -> Option<PathBuf> {
    let own = Path::new(env!("CARGO_BIN_EXE_osdyno"));
    let folder = own.ancestors().nth(2).expect("a folder of cargo").join(PYTHON);
    folder.exists().then_some(folder)
}

/// Plays the role on all hosts.
fn play(rack: &Rack, folder: &Path, packages: &Path, more: &[&str]) -> Output {
    let role = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/ansible/roles");
    let osdyno = env!("CARGO_BIN_EXE_osdyno");
    // The hosts share the file system of this machine.
    let playbook = format!(
        "- hosts: rack\n  gather_facts: false\n  roles:\n    - role: osdyno\n      vars:\n        \
         osdyno_program: {osdyno}\n        osdyno_path: {here}/{{{{ inventory_hostname }}}}/osdyno\n        \
         osdyno_folder: {here}/{{{{ inventory_hostname }}}}\n        osdyno_tune: true\n        \
         osdyno_tune_for: clients=10000\n        osdyno_run: [run, noop, -n, '30', --trials, '2']\n        \
         osdyno_results: {here}/results\n        osdyno_here: {osdyno}\n",
        here = folder.display()
    );
    fs::write(folder.join("play.yml"), playbook).expect("a file");
    let own = rack.beside("python3", folder);
    let mut command = Command::new(own.get_program());
    command.args(own.get_args()).arg(packages.join("bin/ansible-playbook")).args(["-i", &rack.inventory()]);
    command.args(more).arg("play.yml").current_dir(folder).env("PYTHONPATH", packages);
    command.env("ANSIBLE_ROLES_PATH", role).env("ANSIBLE_HOME", folder.join("ansible"));
    command.args(["-e", &format!("ansible_python_interpreter={}", interpreter())]);
    command.output().expect("Ansible starts")
}

/// This Python itself: a host finds another one on its own search path.
fn interpreter() -> String {
    let output = Command::new("python3").args(["-c", "import sys; print(sys.executable)"]).output();
    text(&output.expect("python3 starts").stdout).trim().to_owned()
}

#[test]
fn the_role_installs_raises_limits_runs_fetches_and_merges() {
    let Some(packages) = packages() else {
        return skipped!("Ansible is not installed here: cargo xtask pypi");
    };
    let rack = match Rack::start(3, &[]) {
        Ok(rack) => rack,
        Err(reason) => return skipped!("a rack of hosts cannot be made here: {reason}"),
    };
    let folder = tempfile::tempdir().expect("a folder");
    let ports = |number| rack.run(number, &["sysctl", "-n", "net.ipv4.ip_local_port_range"]);
    for number in 1..=3 {
        fs::create_dir(folder.path().join(format!("n{number}"))).expect("a folder");
        rack.run(number, &["sysctl", "-w", "net.ipv4.ip_local_port_range=40000 45000"]);
    }
    let first = play(&rack, folder.path(), &packages, &[]);
    assert!(first.status.success(), "{}\n{}", text(&first.stdout), text(&first.stderr));
    assert!((1..=3).all(|number| !ports(number).starts_with("40000")), "limits are raised: {}", ports(1));
    let merged = folder.path().join("results/run.osdyno");
    let (recording, _) = record::read(&merged).expect("the merged run");
    let hosts: Vec<&str> =
        recording.systems.iter().filter_map(|system| Some(system.fleet.as_ref()?.host.as_str())).collect();
    assert_eq!(hosts, ["n1", "n2", "n3"]);
    assert_eq!(recording.trials.len(), 3 * 2);
    run_well(folder.path(), &["report", "results/run.osdyno"]);

    let again = text(&play(&rack, folder.path(), &packages, &[]).stdout);
    assert_eq!(again.matches("changed=0").count(), 3, "a second time nothing changes: {again}");

    let undone = play(&rack, folder.path(), &packages, &["--tags", "undo"]);
    assert!(undone.status.success(), "{}\n{}", text(&undone.stdout), text(&undone.stderr));
    assert!((1..=3).all(|number| ports(number).starts_with("40000")), "limits are back: {}", ports(1));
}

/// Which host is slow? Asked of the files that `export --partition` writes, as of any table.
const QUERY: &str = "
import duckdb, sys
print(duckdb.sql(f\"\"\"
    select host, median(value) as middle from read_parquet('{sys.argv[1]}/**/*.parquet', hive_partitioning = true)
    where workload = 'socket' and series = 'socket' group by host order by middle desc
\"\"\").fetchall())
";

#[test]
fn duckdb_reads_a_partitioned_export() {
    let Some(packages) = packages() else {
        return skipped!("DuckDB is not installed here: cargo xtask pypi");
    };
    let folder = tempfile::tempdir().expect("a folder");
    let run = ["run", "noop", "socket/v4", "-n", "60", "--trials", "2", "--hosts", "n[1-3]=env X={}"];
    run_well(folder.path(), &[&run[..], &["--out", "a.osdyno"]].concat());
    run_well(
        folder.path(),
        &["export", "--format", "parquet", "--partition", "host,workload", "a.osdyno", "--out", "table"],
    );
    assert!(folder.path().join("table/host=n2/workload=socket").is_dir());
    let mut command = Command::new("python3");
    command.args(["-c", QUERY, "table"]).current_dir(folder.path()).env("PYTHONPATH", &packages);
    let output = command.output().expect("python3 starts");
    let printed = text(&output.stdout);
    assert!(output.status.success(), "{}", text(&output.stderr));
    for host in ["n1", "n2", "n3"] {
        assert!(printed.contains(&format!("'{host}'")), "{printed}");
    }
}
