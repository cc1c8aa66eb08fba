//! The program works alone: without any library, `/proc`, `/tmp` or shell.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use crate::AnyError;
use crate::command::program;

/// Workloads that need no more of a system than its kernel.
const WORKLOADS: [&str; 3] = ["noop", "socket", "fork-static"];

/// Starts the program in a root folder of its own, measures with it, and checks that no file is left.
pub(super) fn check(binary: &Path) -> Result<(), AnyError> {
    let root = tempfile::tempdir()?;
    fs::copy(binary, root.path().join("osdyno"))?;
    let Some(enter) = ENTER.iter().find(|enter| started(&enter(root.path()).arg("--version").output()))
    else {
        println!("not tried in an empty root folder: neither chroot nor unshare may be used here");
        return Ok(());
    };
    let osdyno = |arguments: &[&str]| -> Result<String, AnyError> {
        let output = enter(root.path()).args(arguments).output()?;
        let said =
            format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        // Exit code 3: a part could not be measured, which is no failure.
        match output.status.code() {
            Some(0 | 3) => Ok(said),
            _ => Err(format!(
                "in an empty root folder, osdyno {}: {}\n{said}",
                arguments.join(" "),
                output.status
            )
            .into()),
        }
    };
    osdyno(&["list"])?;
    let mut run = vec!["run", "-n", "200", "--trials", "2", "--scratch", "/", "--out", "/small.osdyno"];
    run.extend(WORKLOADS);
    println!("{}", osdyno(&run)?);
    let judged = osdyno(&["report", "/small.osdyno", "--force"])?;
    if !judged.contains("fork-static") {
        return Err(format!("in an empty root folder, fork-static was not measured:\n{judged}").into());
    }
    let mut left: Vec<String> = Vec::new();
    for entry in fs::read_dir(root.path())? {
        left.push(entry?.file_name().to_string_lossy().into_owned());
    }
    left.sort();
    if left != ["osdyno", "small.html", "small.osdyno"] {
        return Err(format!("in an empty root folder, this is left: {}", left.join(", ")).into());
    }
    println!("works in an empty root folder: --version, list, run, report; nothing else is left there");
    Ok(())
}

type Enter = fn(&Path) -> Command;

/// As root, or as any user where the kernel allows it.
const ENTER: [Enter; 2] = [
    |root| {
        let mut command = program("chroot");
        command.arg(root).arg("/osdyno");
        command
    },
    |root| {
        let mut command = program("unshare");
        command.args(["--user", "--map-root-user", "--root"]).arg(root).arg("/osdyno");
        command
    },
];

fn started(output: &std::io::Result<Output>) -> bool {
    output.as_ref().is_ok_and(|output| output.status.success())
}
