//! Programs of tests. All are built with the whole workspace: those of one package would have fewer features, and
//! most crates would be compiled a second time.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::AnyError;
use crate::command::{background, cargo, program};

/// A program of tests.
pub(crate) struct TestProgram {
    /// The folder of its package, in which it runs.
    folder: PathBuf,
    executable: PathBuf,
}

/// Builds those that cargo chooses by `--lib` or `--test NAME`, or all.
///
/// # Errors
/// When one does not compile.
pub(crate) fn build(choice: &[&str]) -> Result<Vec<TestProgram>, AnyError> {
    let arguments = ["test", "--workspace", "--no-run", "--message-format", "json-render-diagnostics"];
    let mut command = cargo();
    let built = command.args(arguments).args(choice).stderr(Stdio::inherit()).output()?;
    if !built.status.success() {
        return Err("the tests do not compile".into());
    }
    let mut programs: Vec<TestProgram> =
        String::from_utf8_lossy(&built.stdout).lines().filter_map(program_of).collect();
    programs.sort_by(|a, b| a.executable.cmp(&b.executable));
    Ok(programs)
}

/// The program that a message of cargo is about.
fn program_of(message: &str) -> Option<TestProgram> {
    let message: serde_json::Value = serde_json::from_str(message).ok()?;
    let is_test = message["profile"]["test"].as_bool()?;
    let executable = message["executable"].as_str().filter(|_| is_test)?;
    let manifest = Path::new(message["manifest_path"].as_str()?);
    Some(TestProgram { folder: manifest.parent()?.to_owned(), executable: executable.into() })
}

impl TestProgram {
    /// The name of its package, which is that of the folder.
    pub(crate) fn package(&self) -> &str {
        self.folder.file_name().and_then(|name| name.to_str()).unwrap_or_default()
    }

    /// Runs it as cargo does.
    pub(crate) fn command(&self) -> Command {
        self.in_folder(program(&self.executable))
    }

    /// The same in the time that nothing else needs.
    pub(crate) fn behind(&self) -> Command {
        self.in_folder(background(&self.executable, &[]))
    }

    fn in_folder(&self, mut command: Command) -> Command {
        command.current_dir(&self.folder).env("CARGO_MANIFEST_DIR", &self.folder);
        command
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_program_is_found_in_the_messages_of_cargo() {
        let message = |test: bool| {
            format!(
                r#"{{"manifest_path":"/a/crates/net/Cargo.toml","profile":{{"test":{test}}},"executable":"/b/net-1"}}"#
            )
        };
        let found = program_of(&message(true)).map(|found| (found.package().to_owned(), found.executable));
        assert_eq!(found, Some(("net".into(), "/b/net-1".into())));
        assert!(program_of(&message(false)).is_none(), "osdyno itself is no test");
        assert!(program_of(r#"{"reason":"build-finished","success":true}"#).is_none());
    }
}
