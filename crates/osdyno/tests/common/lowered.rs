//! Limits that a shell lowers before it executes osdyno.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

use crate::common::{osdyno, text};

/// A limit, as a shell lowers it before it executes osdyno.
pub(crate) struct Lowered {
    /// As `doctor` and manuals call it.
    pub(crate) limit: &'static str,
    /// Commands of the shell; `$FOLDER` is the folder of the test.
    pub(crate) before: String,
    /// What is asked for: beyond the limit, and little enough.
    pub(crate) n: u64,
    /// Workloads that must be stopped by it.
    pub(crate) stops: &'static [&'static str],
}

pub(crate) fn lowered(limit: &'static str, before: &str, n: u64, stops: &'static [&'static str]) -> Lowered {
    Lowered { limit, before: before.to_owned(), n, stops }
}

/// What is executed after these commands, in the folder.
pub(crate) fn after(before: &str, folder: &Path, arguments: &[&str]) -> Output {
    let program = osdyno(folder, arguments);
    let mut shell = Command::new("sh");
    shell.args(["-ec", &format!("{before}\nexec \"$0\" \"$@\"")]).arg(program.get_program());
    shell.args(program.get_args()).current_dir(folder).env("FOLDER", folder);
    shell.env("TMPDIR", folder).env("XDG_STATE_HOME", folder.join("state"));
    shell.output().expect("a shell starts")
}

/// The diagnosis in JSON.
pub(crate) fn diagnosed(before: &str, folder: &Path, arguments: &[&str]) -> Value {
    let output = after(before, folder, &[&["doctor", "--format", "json"], arguments].concat());
    let told = text(&output.stderr);
    assert!(matches!(output.status.code(), Some(0 | 3)), "{}: {told}", output.status);
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {told}"))
}

/// Whether these commands work here; otherwise the reason is printed.
pub(crate) fn is_possible(what: &str, before: &str) -> bool {
    let folder = open_folder();
    let mut shell = Command::new("sh");
    shell.args(["-ec", &format!("{before}\nexec true")]).current_dir(folder.path());
    let output = shell.env("FOLDER", folder.path()).output().expect("a shell starts");
    if !output.status.success() {
        skipped!("{what} cannot be lowered here: {}", text(&output.stderr).trim());
    }
    output.status.success()
}

/// A folder that other users may write to.
pub(crate) fn open_folder() -> tempfile::TempDir {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().expect("a folder");
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777)).expect("its permissions");
    folder
}

/// Commands that put the shell into namespaces of its own and go on there.
pub(crate) fn within(unshare: &str, commands: &str) -> String {
    format!("exec unshare {unshare} sh -ec '{commands}\nexec \"$0\" \"$@\"' \"$0\" \"$@\"")
}

/// Commands after which a file of /proc/sys holds this, for what reads it.
pub(crate) fn faked(file: &str, value: u64) -> String {
    let commands = format!("echo {value} > \"$FOLDER/fake\"; mount --bind \"$FOLDER/fake\" /proc/sys/{file}");
    within("--mount --propagation private", &commands)
}

/// Commands that give up being root, and with it what root may do beyond limits.
pub(crate) fn as_nobody(commands: &str) -> String {
    format!("{commands}\nexec setpriv --reuid=54321 --regid=54321 --clear-groups \"$0\" \"$@\"")
}
