//! The C compiler, whose version decides what compiling costs.

use std::process::Command;

use super::collector::Collector;

/// The first line of `cc --version`; absent where there is none.
pub(super) fn read(facts: &mut Collector) {
    let version = Command::new("cc").arg("--version").output().ok().filter(|output| output.status.success());
    let text = version.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    facts.add("software.compiler", text.as_deref().and_then(|text| text.lines().next()));
}
