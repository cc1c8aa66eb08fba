//! A workload is a file: it opens with its page of three parts, and the list of its folder names it.

use std::path::Path;

use super::house::{Finding, House};

/// Folders of workloads and the list of each; the mark makes a file there a workload.
const FOLDERS: [(&str, &str); 2] =
    [("crates/kernel/src", "crates/kernel/src/lib.rs"), ("crates/servers/src", "crates/servers/src/lib.rs")];
const MARK: &str = "const WORKLOAD: Workload";

/// The same words in the same order on every page: reports and `explain` show them so.
const PARTS: [&str; 3] = ["**Question.**", "**Method.**", "**Expected answer.**"];

pub(super) fn check(house: &House) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (folder, list) in FOLDERS {
        let Some(list) = house.rust.iter().find(|source| source.path == Path::new(list)) else { continue };
        let workloads = house
            .rust
            .iter()
            .filter(|source| source.path.parent() == Some(Path::new(folder)) && source.code.contains(MARK));
        for workload in workloads {
            let stem = workload.path.file_stem().unwrap_or_default().to_string_lossy();
            if !list.code.contains(&format!("&{stem}::WORKLOAD")) {
                let what = format!("{} does not list this workload", list.path.display());
                findings.push(workload.finding(1, what));
            }
            if let Some(what) = fault(&workload.text) {
                findings.push(workload.finding(1, what));
            }
        }
    }
    findings
}

fn fault(text: &str) -> Option<String> {
    let page: String = text.lines().map_while(|line| line.strip_prefix("//!")).collect::<Vec<_>>().join("\n");
    let mut from = 0;
    for part in PARTS {
        match page[from..].find(part) {
            Some(at) => from += at,
            None => return Some(format!("the page lacks {part}, or has it out of order")),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_parts_in_order() {
        let page = "//! One more.\n//!\n//! **Question.** ?\n//! **Method.** !\n//! **Expected answer.** .\n";
        assert_eq!(fault(page), None);
        assert!(fault(&page.replace("Method", "Way")).unwrap().contains("**Method.**"));
        assert!(fault(&format!("//! x\n\n{page}")).is_some(), "the page is what the file opens with");
    }
}
