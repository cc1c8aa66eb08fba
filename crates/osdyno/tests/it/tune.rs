//! `osdyno tune` in namespaces of its own: the values that it changes, puts back, also after SIGKILL, and
//! leaves alone.
#![cfg(target_os = "linux")]

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use crate::common::{expect_nothing_left, osdyno, run, text};

/// Values of a network namespace as the scripts below begin, low enough for the demand to be too much.
const LOW: &str = "ip link set lo up
    cd /proc/sys/net
    echo 100 > core/somaxconn; echo 64 > ipv4/tcp_max_syn_backlog
    cd \"$FOLDER\"";

/// Executes a script in network and mount namespaces of its own, in which `osdyno` is a word and `$FOLDER`
/// the folder. `None` where there can be no such namespaces, with the reason printed.
fn script(folder: &Path, commands: &str) -> Option<Output> {
    let own = ["--net", "--mount", "--propagation", "private"];
    let mut probe = Command::new("unshare");
    probe.args(own).args(["sh", "-c", "echo 100 > /proc/sys/net/core/somaxconn"]);
    let probe = probe.output().expect("unshare starts");
    if !probe.status.success() {
        skipped!("no namespaces can be made here: {}", text(&probe.stderr).trim());
        return None;
    }
    let program = osdyno(folder, &[]);
    let functions = "osdyno() { \"$PROGRAM\" \"$@\"; }
        values() { echo $(cat /proc/sys/net/core/somaxconn /proc/sys/net/ipv4/tcp_max_syn_backlog); }";
    let mut shell = Command::new("unshare");
    shell.args(own).args(["sh", "-ec", &format!("{functions}\n{LOW}\n{commands}")]);
    shell.env("PROGRAM", program.get_program()).env("FOLDER", folder).current_dir(folder);
    shell.env("TMPDIR", folder).env("XDG_STATE_HOME", folder.join("state"));
    Some(shell.output().expect("unshare starts"))
}

/// The same, which must end well; what it printed.
fn script_well(folder: &Path, commands: &str) -> Option<String> {
    let output = script(folder, commands)?;
    let printed = text(&output.stdout);
    assert!(output.status.success(), "{}: {printed}\n{}", output.status, text(&output.stderr));
    Some(printed)
}

#[test]
fn it_prints_first_then_changes_and_puts_back() {
    let folder = tempfile::tempdir().expect("a folder");
    let commands = "
        osdyno tune --for connections=1000; echo planned: $(values)
        osdyno tune --for connections=1000 --apply --out undo.json; echo applied: $(values)
        osdyno tune --for connections=1000 --apply; echo again: $(values)
        osdyno tune --undo undo.json; echo undone: $(values)
        osdyno tune --undo undo.json; echo twice: $(values)";
    let Some(printed) = script_well(folder.path(), commands) else { return };
    for expected in [
        "Would change, for 1000 connections",
        "net.core.somaxconn",
        "it limits backlog",
        "--apply changes it, until the next boot",
        "planned: 100 64",
        "osdyno tune --undo undo.json puts it back",
        "applied: 1000 1000",
        "Nothing to change: 1000 connections fit.",
        "again: 1000 1000",
        "net.core.somaxconn: 1000 → 100",
        "undone: 100 64",
        "net.ipv4.tcp_max_syn_backlog: has its old value, 64",
        "twice: 100 64",
    ] {
        assert!(printed.contains(expected), "{expected} in\n{printed}");
    }
    let record = fs::read_to_string(folder.path().join("undo.json")).expect("the record");
    assert!(record.contains("\"net.core.somaxconn\"") && record.contains("net:["), "{record}");
    let left: Vec<_> = fs::read_dir(folder.path()).expect("a folder").flatten().collect();
    assert_eq!(left.len(), 1, "no second record, and nothing else: {left:?}");
    expect_nothing_left(folder.path());
}

#[test]
fn alone_it_prints_what_it_would_raise_for_a_run_without_names() {
    let folder = tempfile::tempdir().expect("a folder");
    let commands = "
        echo 40000 40499 > /proc/sys/net/ipv4/ip_local_port_range
        osdyno tune; echo exit: $?
        cat /proc/sys/net/ipv4/ip_local_port_range
        (ulimit -n 300; osdyno tune)";
    let Some(printed) = script_well(folder.path(), commands) else { return };
    for expected in [
        "Would change, for a run without names",
        "net.ipv4.ip_local_port_range  40000 40499",
        "it limits ports",
        "--apply changes it, until the next boot",
        "exit: 0\n40000\t40499",
        "RLIMIT_NOFILE is 300, needed is",
        "ulimit -n ",
    ] {
        assert!(printed.contains(expected), "{expected} in\n{printed}");
    }
    assert!(!printed.contains("MemAvailable"), "memory is no setting:\n{printed}");
}

#[test]
fn what_somebody_else_has_changed_is_left_alone_and_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let commands = "
        osdyno tune --for connections=1000 --apply --out undo.json
        echo 555 > /proc/sys/net/core/somaxconn
        osdyno tune --undo undo.json || echo exit: $?
        echo undone: $(values)";
    let Some(printed) = script_well(folder.path(), commands) else { return };
    let left = "net.core.somaxconn: left alone, because somebody else has set it to 555";
    for expected in [left, "exit: 3", "undone: 555 64"] {
        assert!(printed.contains(expected), "{expected} in\n{printed}");
    }
}

/// The file of the second setting is one on which another process has a lease (fcntl(2)), so the change waits
/// there.
#[test]
fn after_a_kill_half_way_everything_is_put_back() {
    if Command::new("perl").arg("-v").output().is_err() {
        skipped!("there is no perl, which holds a lease");
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let commands = "
        echo 100 > second
        mount --bind second /proc/sys/net/core/somaxconn
        perl -e '$SIG{IO} = \"IGNORE\"; open(F, \"<\", \"second\") or die; fcntl(F, 1024, 0) or die \"lease: $!\";
            open(H, \">\", \"held\"); close(H); sleep 600' &
        holder=$!
        until [ -e held ]; do sleep 0.05; kill -0 $holder; done
        \"$PROGRAM\" tune --for connections=1000 --apply --out undo.json &
        tuner=$!
        until [ \"$(cat /proc/sys/net/ipv4/tcp_max_syn_backlog)\" = 1000 ]; do sleep 0.05; kill -0 $tuner; done
        echo half: $(values)
        kill -9 $tuner; wait $tuner || true
        kill $holder; wait $holder || true
        echo killed: $(values)
        osdyno tune --undo undo.json; echo undone: $(values)";
    let Some(printed) = script_well(folder.path(), commands) else { return };
    for expected in [
        "half: 100 1000",
        "killed: 100 1000",
        "net.core.somaxconn: has its old value, 100",
        "net.ipv4.tcp_max_syn_backlog: 1000 → 64",
        "undone: 100 64",
    ] {
        assert!(printed.contains(expected), "{expected} in\n{printed}");
    }
}

#[test]
fn without_a_record_nothing_is_changed() {
    let folder = tempfile::tempdir().expect("a folder");
    let commands = "
        mkdir full && mount -t tmpfs -o size=16k none full
        cat /dev/zero > full/all 2> /dev/null || true
        osdyno tune --for connections=1000 --apply --out full/undo.json || echo exit: $?
        ls -A full; echo full: $(values)
        osdyno tune --for connections=1000 --apply --out /proc/nowhere/undo.json || echo exit: $?
        echo there > undo.json
        osdyno tune --for connections=1000 --apply --out undo.json || echo exit: $?
        echo existing: $(values)";
    let Some(output) = script(folder.path(), commands) else { return };
    let (printed, told) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{printed}\n{told}");
    let nothing = "cannot write the old values to full/undo.json: No space left on device";
    assert!(told.contains(nothing) && told.contains("nothing was changed"), "{told}");
    assert!(told.contains("cannot write /proc/nowhere/undo.json"), "{told}");
    assert!(told.contains("undo.json exists already"), "{told}");
    assert_eq!(printed.matches("exit: 1").count(), 3, "{printed}");
    assert!(printed.contains("all\nfull: 100 64") && printed.contains("existing: 100 64"), "{printed}");
}

#[test]
fn who_may_not_change_a_setting_is_told_before_anything_is_changed() {
    let folder = tempfile::tempdir().expect("a folder");
    let commands = "
        chmod 777 .
        setpriv --reuid=54321 --regid=54321 --clear-groups \"$PROGRAM\" tune --for connections=1000 --apply \\
            || echo exit: $?
        ls -A; echo refused: $(values)
        mount -o remount,ro,bind /proc/sys 2> /dev/null || mount --bind -o ro /proc/sys /proc/sys
        osdyno tune --for connections=1000 --apply || echo exit: $?
        echo container: $(values)";
    let Some(output) = script(folder.path(), commands) else { return };
    let (printed, told) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{printed}\n{told}");
    let refused = "this process may not change net.ipv4.tcp_max_syn_backlog; run it as root";
    assert_eq!(told.matches(refused).count(), 2, "{told}");
    assert_eq!(printed, "exit: 1\nrefused: 100 64\nexit: 1\ncontainer: 100 64\n", "{told}");
}

#[test]
fn a_change_that_the_system_refuses_takes_the_others_back() {
    let folder = tempfile::tempdir().expect("a folder");
    // A file that only grows takes no value in place of its own, although it may be written.
    let commands = "
        echo 100 > second
        mount --bind second /proc/sys/net/core/somaxconn
        chattr +a second 2> /dev/null || { echo no attribute; exit 0; }
        osdyno tune --for connections=1000 --apply --out undo.json || echo exit: $?
        chattr -a second
        echo values: $(values); ls undo.json 2> /dev/null || echo no record";
    let Some(output) = script(folder.path(), commands) else { return };
    let (printed, told) = (text(&output.stdout), text(&output.stderr));
    if printed.contains("no attribute") {
        skipped!("this file system has no files that only grow");
        return;
    }
    assert!(printed.contains("exit: 1") && printed.contains("values: 100 64"), "{printed}\n{told}");
    assert!(told.contains("cannot set net.core.somaxconn to 1000"), "{told}");
    assert!(told.contains("all settings have their old values"), "{told}");
    assert!(printed.contains("no record"), "{printed}");
}

#[test]
fn records_of_others_are_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let record = |name: &str, value: &str| {
        format!(
            "{{\"osdyno_tune\": 1, \"network_namespace\": \"net:[1]\", \"changes\": [{{\"name\": \"{name}\", \
             \"before\": \"{value}\", \"after\": \"2\"}}]}}"
        )
    };
    for (content, says) in [
        ("".to_owned(), "is no record of"),
        ("{}".to_owned(), "is no record of"),
        (record("kernel.core_pattern", "1"), "never changes"),
        (record("fs.nr_open", "a b"), "is no number"),
        (record("net.core.somaxconn", "1"), "another network namespace"),
        ("0".repeat(100_000), "it is too long"),
    ] {
        fs::write(folder.path().join("undo.json"), content).expect("a file");
        let output = run(folder.path(), &["tune", "--undo", "undo.json"]);
        assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
        let told = text(&output.stderr);
        assert!(told.contains(says) && told.contains("nothing was changed"), "{told}");
    }
    let output = run(folder.path(), &["tune", "--undo", "missing.json"]);
    assert!(text(&output.stderr).contains("cannot read missing.json"), "{}", text(&output.stderr));
}
