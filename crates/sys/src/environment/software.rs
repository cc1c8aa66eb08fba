//! Programs and libraries of the system whose version decides what a workload measures.

use std::process::Command;

use super::collector::Collector;
use crate::process::find_program;

/// The facts, and the commands whose first line of output they are; absent where there is no such command.
const VERSIONS: [(&str, &str, &str); 5] = [
    ("software.compiler", "cc", "--version"),
    ("software.openssl", "openssl", "version"),
    ("software.postgresql", "postgres", "--version"),
    ("software.mariadb", "mariadbd", "--version"),
    ("software.smbd", "smbd", "--version"),
];

pub(super) fn read(facts: &mut Collector) {
    for (fact, command, argument) in VERSIONS {
        let program = find_program(command);
        let output = program.and_then(|program| Command::new(program).arg(argument).output().ok());
        let version = output.filter(|output| output.status.success());
        let text = version.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
        facts.add(fact, text.as_deref().and_then(|text| text.lines().next()));
    }
}
