//! A document names only files that exist: every relative link in every Markdown file leads somewhere, and so
//! does every path of the code in the documents for maintainers.

use std::path::Path;

use super::house::{Breach, House, Source};

pub(super) fn check(house: &House) -> Vec<Breach> {
    let mut findings = Vec::new();
    for document in &house.documents {
        let folder = document.path.parent().unwrap_or(Path::new(""));
        let mut in_block = false;
        for (number, line) in document.lines() {
            if line.trim_start().starts_with("```") {
                in_block = !in_block;
            }
            if in_block {
                continue;
            }
            let missing = |path: &&str| {
                !house.root.join(path).exists() && !house.root.join("crates").join(path).exists()
            };
            let paths = if is_for_maintainers(document) { paths(line) } else { Vec::new() };
            for path in paths.into_iter().filter(missing) {
                findings.push(document.finding(number, format!("{path} is not there")));
            }
            for link in links(line) {
                let path = link.split('#').next().unwrap_or_default();
                let found = house.root.join(folder).join(path).exists();
                if !path.is_empty() && !path.contains(':') && !found {
                    findings.push(document.finding(number, format!("{link} is not there")));
                }
            }
        }
    }
    findings
}

fn is_for_maintainers(document: &Source) -> bool {
    document.path == Path::new("ARCHITECTURE.md") || document.path.starts_with("docs/decisions")
}

/// Files and folders of the code between backticks, from the root of the workspace or from `crates`.
fn paths(line: &str) -> Vec<&str> {
    let code = line.split('`').skip(1).step_by(2);
    let is_path = |text: &&str| text.contains("/src/") && !text.contains(char::is_whitespace);
    code.filter(is_path).collect()
}

/// The targets of `[text](target)` and of `[text]: target`.
fn links(line: &str) -> Vec<&str> {
    let mut links = Vec::new();
    let mut rest = line;
    while let Some((_, behind)) = rest.split_once("](") {
        links.extend(behind.split([')', ' ']).next());
        rest = behind;
    }
    if line.starts_with('[')
        && let Some((_, target)) = line.split_once("]: ")
    {
        links.extend(target.split_whitespace().next());
    }
    links
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_of_links() {
        assert_eq!(links("see [a](b.md) and [c](d/e.md#f \"g\")"), ["b.md", "d/e.md#f"]);
        assert_eq!(links("[h]: ../i.md"), ["../i.md"]);
        assert_eq!(links("no [link] here"), [""; 0]);
    }

    #[test]
    fn paths_stand_between_backticks() {
        assert_eq!(
            paths("`a/src/b.rs` and `c/src/d/`, not `/proc/net`, c/src/e.rs or `f.rs`"),
            ["a/src/b.rs", "c/src/d/"]
        );
    }
}
