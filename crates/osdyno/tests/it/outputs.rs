//! The two outputs: colour, text that is printed once where both are one stream, and the files that are made.

use crate::common;
use crate::common::run_well;

/// Colour is for terminals, unless it is asked for; pages of workloads are text without marks.
#[test]
fn output_is_plain_unless_colour_is_wanted() {
    let folder = tempfile::tempdir().expect("a folder");
    let page = run_well(folder.path(), &["explain", "bind"]);
    assert!(page.contains("Question. Does bind(2)") && !page.contains(['\u{1b}', '*', '`']), "{page}");
    let page = run_well(folder.path(), &["--color", "always", "explain", "bind"]);
    assert!(page.contains("\u{1b}[1mQuestion.\u{1b}[0m"), "{page}");
}

/// With 2>&1 the machine and its warnings are printed once, when the run begins; alone, the results have them.
#[test]
#[cfg(unix)]
fn one_stream_has_the_machine_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let printed = |script: &str| {
        let mut shell = std::process::Command::new("sh");
        shell.args(["-c", script, env!("CARGO_BIN_EXE_osdyno")]).current_dir(folder.path());
        let output = shell.output().expect("a shell");
        assert!(output.status.success(), "{}", common::text(&output.stderr));
        common::text(&output.stdout)
    };
    let run = "\"$0\" run noop -n 100 --trials 3";
    let machine = concat!("osdyno ", env!("CARGO_PKG_VERSION"));
    for (outputs, out) in [("2>&1", "one"), ("2>/dev/null", "two")] {
        let text = printed(&format!("{run} --out {out}.osdyno {outputs}"));
        assert_eq!(text.matches(machine).count(), 1, "{outputs}: {text}");
        let warnings = text.lines().filter(|line| line.trim_start().starts_with("The load is ")).count();
        assert!(warnings <= 1, "{outputs}: {text}");
    }
}

/// Whether they can be written is found out without a file that a kill would leave.
#[test]
#[cfg(target_os = "linux")]
fn run_file_and_page_are_made_once_and_never_removed() {
    use rustix::fs::inotify::{self, ReadFlags, WatchFlags as On};
    let folder = tempfile::tempdir().expect("a folder");
    let watch = inotify::init(inotify::CreateFlags::NONBLOCK).expect("inotify");
    let watched = On::CREATE | On::DELETE | On::MOVED_TO | On::MODIFY;
    inotify::add_watch(&watch, folder.path(), watched).expect("a watch");
    run_well(folder.path(), &["run", "noop", "-n", "60", "--trials", "2", "--out", "a.osdyno"]);
    let mut buffer = [std::mem::MaybeUninit::uninit(); 4096];
    let mut events = inotify::Reader::new(&watch, &mut buffer);
    let mut seen = Vec::new();
    while let Ok(event) = events.next() {
        let name = event.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        if name.starts_with("a.") {
            seen.push((name, event.events()));
        }
    }
    let (file, page) = ("a.osdyno".to_owned(), "a.html".to_owned());
    seen.dedup();
    assert_eq!(seen[..2], [(file.clone(), ReadFlags::CREATE), (file, ReadFlags::MODIFY)]);
    // The page is complete when it gets its name: linked, or renamed where a file must have one.
    let complete = [ReadFlags::CREATE, ReadFlags::MOVED_TO].map(|event| (page.clone(), event));
    assert!(seen.len() == 3 && complete.contains(&seen[2]), "{seen:?}");
}
