//! `cargo xtask readme`: the blocks of README.md and of guides that show long runs, printed by the program of
//! today from runs that were kept in `docs/runs`, and the picture of a page. A run whose file is not there is
//! measured.
//!
//! `cargo xtask docs` fails where a document differs.

use std::fs;
use std::path::{Path, PathBuf};

use crate::workspace::{self, path_with, program, read, show};
use crate::{AnyError, pictures};

/// A block of a document, between `<!-- NAME -->` and `<!-- end -->`.
struct Excerpt {
    /// From the root of the workspace.
    document: &'static str,
    name: &'static str,
    /// In `docs/runs`: one run file, or the output of other programs.
    files: &'static [&'static str],
    /// The command that the block shows, and that measures a run; its run file is added.
    command: &'static str,
    /// Scripts that it needs in its folder, by name.
    scripts: &'static [(&'static str, &'static str)],
    /// The verb that prints the run, and the words behind the run file.
    print: (&'static str, &'static [&'static str]),
    /// The beginning of its first line, and of the first line behind it; all lines where there is none.
    part: Option<(&'static str, &'static str)>,
}

/// They are short, so that their files are small.
const EXCERPTS: [Excerpt; 5] = [
    Excerpt {
        document: "README.md",
        name: "run",
        files: &["run.osdyno"],
        command: "osdyno run bind/v4 fork-memory ready/poll ready/epoll -n 16000 --trials 8",
        scripts: &[],
        print: ("report", &[]),
        part: Some(("11 series", "cost at n")),
    },
    Excerpt {
        document: "docs/servers.md",
        name: "race",
        files: &["race.osdyno"],
        command: "osdyno run race/inetd race/thread race/epoll --budget 150s",
        scripts: &[],
        print: ("report", &[]),
        part: Some(("race at ", "server cpu  processor")),
    },
    Excerpt {
        document: "docs/compare.md",
        name: "compare",
        files: &["compare.osdyno"],
        command: "osdyno run socket/v4 bind/v4 -n 6000 --trials 10 --system narrow='unshare -rn ./narrow' \
                  --system wide='unshare -rn ./wide' -v",
        scripts: &[
            ("narrow", "#!/bin/sh\nsysctl -qw net.ipv4.ip_local_port_range=\"32768 40959\" && exec \"$@\"\n"),
            ("wide", "#!/bin/sh\nsysctl -qw net.ipv4.ip_local_port_range=\"1024 65535\" && exec \"$@\"\n"),
        ],
        print: ("compare", &["--verbose"]),
        part: Some(("wide against", "1 faster")),
    },
    Excerpt {
        document: "docs/compare.md",
        name: "order",
        files: &["order-before.txt", "order-after.txt"],
        command: "osdyno compare order-before.txt order-after.txt --verbose",
        scripts: &[],
        print: ("compare", &["--verbose"]),
        part: Some(("Order     2", "1 faster")),
    },
    Excerpt {
        document: "docs/compare.md",
        name: "aa",
        files: &["aa.osdyno"],
        command: "osdyno run syscall fork --aa --budget 20s",
        scripts: &[],
        print: ("report", &[]),
        part: Some(("false alarms", "")),
    },
];

/// Writes the blocks of all documents and the picture of a page; measures the runs that are not there.
///
/// # Errors
/// When something cannot be built, measured, printed or written, or a document lacks a block.
pub fn run() -> Result<(), AnyError> {
    // It is not optimized; the programs that it measures with are.
    let osdyno = workspace::osdyno()?;
    for excerpt in &EXCERPTS {
        if let Some(missing) = kept(excerpt).find(|file| !file.exists()) {
            println!("measuring {}: {}", missing.display(), excerpt.command);
            measured(excerpt, &missing, &osdyno)?;
        }
        let file = workspace::root().join(excerpt.document);
        let text = fs::read_to_string(&file)?;
        fs::write(&file, replaced(&text, excerpt, &printed(excerpt, &osdyno)?)?)?;
    }
    kept(&EXCERPTS[0]).try_for_each(|run| pictures::of_page(&run))
}

/// The blocks of all documents that differ from the output of the program for the kept runs.
///
/// # Errors
/// When a run cannot be printed, or a document cannot be read or lacks a block.
pub fn differences(osdyno: &Path) -> Result<Vec<String>, AnyError> {
    let mut differences = Vec::new();
    for excerpt in &EXCERPTS {
        let text = fs::read_to_string(workspace::root().join(excerpt.document))?;
        let block = printed(excerpt, osdyno)?;
        if replaced(&text, excerpt, &block)? != text {
            let Excerpt { document, name, .. } = excerpt;
            let cure = "cargo xtask readme writes today's output";
            differences.push(format!("{document}: <!-- {name} --> shows another output; {cure}:\n{block}"));
        }
    }
    Ok(differences)
}

fn kept(excerpt: &Excerpt) -> impl Iterator<Item = PathBuf> {
    excerpt.files.iter().map(|file| workspace::root().join("docs/runs").join(file))
}

/// Measures a run and keeps it; what another program measured cannot be made again here.
fn measured(excerpt: &Excerpt, kept: &Path, osdyno: &Path) -> Result<(), AnyError> {
    if kept.extension().is_none_or(|end| end != "osdyno") {
        return Err(format!("{} is missing, and another program measured it", kept.display()).into());
    }
    let folder = tempfile::tempdir()?;
    for (name, script) in excerpt.scripts {
        let path = folder.path().join(name);
        fs::write(&path, script)?;
        show(program("chmod").arg("+x").arg(path))?;
    }
    let path = path_with(osdyno.parent().unwrap_or(osdyno))?;
    let mut shell = program("sh");
    // 3 is done too: a part could not be measured, which the run reports.
    shell.args(["-c", &format!("{} --out kept.osdyno || [ $? = 3 ]", excerpt.command)]);
    show(shell.current_dir(folder.path()).env("PATH", path))?;
    fs::create_dir_all(kept.parent().unwrap_or(kept))?;
    fs::copy(folder.path().join("kept.osdyno"), kept)?;
    Ok(())
}

/// The content of a block.
fn printed(excerpt: &Excerpt, osdyno: &Path) -> Result<String, AnyError> {
    let folder = tempfile::tempdir()?;
    let (verb, options) = excerpt.print;
    let mut print = program(osdyno);
    print.arg(verb).args(kept(excerpt)).args(options).env("NO_COLOR", "1");
    if verb == "report" {
        print.arg("--out").arg(folder.path().join("page.html"));
    }
    let output = read(&mut print)?;
    let page = folder.path().display().to_string();
    let lines: Vec<&str> = output.trim_end().lines().filter(|line| !line.contains(&page)).collect();
    Ok(format!("$ {}\n{}", excerpt.command, part(&lines, excerpt.part).join("\n").trim_end()))
}

/// The lines of a part, and `…` for those around it.
fn part<'a>(lines: &[&'a str], part: Option<(&str, &str)>) -> Vec<&'a str> {
    let Some((first, behind)) = part else { return lines.to_vec() };
    let start = lines.iter().position(|line| line.trim_start().starts_with(first)).unwrap_or(0);
    let is_end =
        |line: &&str| if behind.is_empty() { line.is_empty() } else { line.trim_start().starts_with(behind) };
    let length = lines[start..].iter().position(is_end).unwrap_or(lines.len() - start);
    let before = (start > 0).then_some("…");
    let after = (start + length < lines.len()).then_some("…");
    before.into_iter().chain(lines[start..start + length].iter().copied()).chain(after).collect()
}

/// The document with another text in the block of the excerpt.
fn replaced(document: &str, excerpt: &Excerpt, text: &str) -> Result<String, AnyError> {
    let Excerpt { document: file, name, .. } = excerpt;
    let mark = format!("<!-- {name} -->\n");
    let missing = || format!("{file} has no <!-- {name} --> … <!-- end -->");
    let (before, rest) = document.split_once(&mark).ok_or_else(missing)?;
    let (_, after) = rest.split_once("<!-- end -->").ok_or_else(missing)?;
    Ok(format!("{before}{mark}```text\n{text}\n```\n<!-- end -->{after}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_replaced_and_nothing_else() {
        let readme =
            "before\n<!-- run -->\n```text\nold\n```\n<!-- end -->\n<!-- race -->\nx\n<!-- end -->\n";
        let run = &EXCERPTS[0];
        let new = replaced(readme, run, "$ osdyno run\nnew").expect("a block");
        let expected = readme.replace("old", "$ osdyno run\nnew");
        assert_eq!(new, expected);
        assert_eq!(replaced(&new, run, "$ osdyno run\nnew").expect("a block"), new);
        assert!(replaced("no block", run, "").is_err());
    }

    #[test]
    fn a_part_says_that_it_is_one() {
        let lines = ["machine", "", "race at 10", "epoll", "", "remarks"];
        assert_eq!(part(&lines, Some(("race at ", ""))), ["…", "race at 10", "epoll", "…"]);
        assert_eq!(part(&lines, Some(("machine", "race"))), ["machine", "", "…"]);
        assert_eq!(part(&lines, None), lines);
    }
}
