//! A workload is a file: it opens with its page of three parts, and the list of its folder names it.

use std::path::Path;

use super::house::{Breach, House, Source};

/// Folders of workloads; the mark makes a file there a workload.
const FOLDERS: [&str; 4] =
    ["crates/kernel/src", "crates/servers/src", "crates/jobs/src", "crates/mail/src/loads"];
const MARK: &str = "const WORKLOAD: Workload";

/// The same words in the same order on every page: reports and `explain` show them so.
const PARTS: [&str; 3] = ["**Question.**", "**Method.**", "**Expected answer.**"];

pub(super) fn check(house: &House) -> Vec<Breach> {
    let is_workload = |source: &&Source| {
        FOLDERS.iter().any(|folder| source.path.parent() == Some(Path::new(folder)))
            && source.code.contains(MARK)
    };
    let workloads = house.rust.iter().filter(is_workload);
    workloads.filter_map(|workload| Some(workload.finding(1, fault(&workload.text)?))).collect()
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
