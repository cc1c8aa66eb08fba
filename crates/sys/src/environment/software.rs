//! Programs and libraries of the system whose version decides what a workload measures.

use std::process::Command;

use super::collector::Collector;

/// The facts, and the commands whose first line of output they are; absent where there is no such command.
const VERSIONS: [(&str, &str, &str); 2] =
    [("software.compiler", "cc", "--version"), ("software.openssl", "openssl", "version")];

pub(super) fn read(facts: &mut Collector) {
    for (fact, command, argument) in VERSIONS {
        let output = Command::new(command).arg(argument).output().ok();
        let version = output.filter(|output| output.status.success());
        let text = version.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
        facts.add(fact, text.as_deref().and_then(|text| text.lines().next()));
    }
}
