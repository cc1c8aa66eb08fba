//! Output to a person and to a file: names with control characters, and credentials.

use std::fs;

use crate::common::{run, run_well, text};

/// Names that a file brings, on their way to a person: no byte of them acts. A program gets them as they are.
#[cfg(target_os = "linux")]
#[test]
fn a_terminal_is_shown_what_it_must_not_obey() {
    let folder = tempfile::tempdir().expect("a folder");
    let name = "bind\u{1b}]0;owned\u{7}\u{9b}31m\u{202e}x";
    let rows: String = (1..=20).map(|n| format!("{name},1,{n},0.5\n")).collect();
    fs::write(folder.path().join("names.csv"), format!("series,trial,n,value\n{rows}")).expect("a file");
    run_well(folder.path(), &["run", "noop", "-n", "50", "--trials", "1", "--out", "noop.osdyno"]);
    let lines = record::Reader::open(folder.path().join("noop.osdyno")).expect("a run file");
    let lines = lines.map(|line| serde_json::to_string(&line.expect("a line")).expect("JSON") + "\n");
    let named = lines.collect::<String>().replace("\"noop\"", &serde_json::json!(name).to_string());
    fs::write(folder.path().join("run.osdyno"), named).expect("a file");
    let commands = [
        "export run.osdyno --format csv",
        "judge names.csv --format json",
        "judge names.csv --format text",
        "judge names.csv --nonsense\u{9b}1m",
    ];
    for command in commands {
        let words = format!("{} {command}", env!("CARGO_BIN_EXE_osdyno"));
        let seen = std::process::Command::new("script")
            .args(["--quiet", "--return", "--command", &words, "/dev/null"])
            .current_dir(folder.path())
            .stdin(std::process::Stdio::null())
            .output()
            .expect("script(1) of Debian's bsdutils starts");
        let seen = text(&seen.stdout);
        assert!(seen.contains("\\u{9b}"), "{command}: {seen:?}");
        let ours = ["\u{1b}[0m", "\u{1b}[1m", "\u{1b}[2m", "\u{1b}[33m", "\u{1b}[34m", "\u{1b}[35m"];
        let rest = ours.iter().fold(seen, |text, code| text.replace(code, ""));
        let acts = |c: char| (c.is_control() && c != '\n' && c != '\r') || c == '\u{202e}';
        assert!(!rest.contains(acts), "{command}: {rest:?}");
    }
    let piped = run_well(folder.path(), &["judge", "names.csv", "--format", "json"]);
    assert!(piped.contains("\u{202e}") && !piped.contains("\\u{202e}"), "{piped}");
}

#[test]
fn credentials_on_the_command_line_are_pointed_out() {
    let folder = tempfile::tempdir().expect("a folder");
    let system = "other=env DB_PASSWORD=hunter2";
    let arguments = ["run", "noop", "-n", "50", "--trials", "1", "--out", "a.osdyno", "--system", system];
    let told = text(&run(folder.path(), &arguments).stderr);
    let remarks: Vec<&str> = told.lines().filter(|line| line.contains("credentials")).collect();
    assert!(
        matches!(remarks[..], [one] if one.contains("a.osdyno") && one.contains("(DB_PASSWORD)")),
        "{told}"
    );
    assert!(!told.contains("hunter2"), "{told}");
}

/// A line of a run file with more values than there is memory for.
#[cfg(target_os = "linux")]
#[test]
fn memory_that_is_refused_ends_the_program_with_words() {
    const LIMIT_KIB: u64 = 500_000;
    let folder = tempfile::tempdir().expect("a folder");
    let head = concat!(
        r#"{"type":"run","schema":2,"tool":{"name":"osdyno","version":"0","build":""},"started_at":"","#,
        r#""command":[],"preset":"quick","seed":1,"budget_seconds":null,"looks":[],"pinned":false}"#
    );
    let series = concat!(
        r#"{"type":"series","system":"a","workload":"w","variant":"","trial":1,"name":"op","direction":"up","#,
        r#""n_first":1,"n_step":1,"batch":1,"values":[1"#
    );
    let large = format!("{head}\n{series}{}]}}\n", ",1".repeat(45_000_000));
    fs::write(folder.path().join("large.osdyno"), large).expect("a file");
    let limited = format!("ulimit -v {LIMIT_KIB}; exec \"$0\" \"$@\"");
    let output = std::process::Command::new("sh")
        .args(["-c", &limited, env!("CARGO_BIN_EXE_osdyno"), "report", "large.osdyno"])
        .current_dir(folder.path())
        .output()
        .expect("a shell starts");
    let told = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{}: {told}", output.status);
    assert!(told.contains("error: the system refused the memory that this takes"), "{told}");
}
