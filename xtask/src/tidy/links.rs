//! A document names only files that exist: every relative link in every Markdown file leads somewhere.

use super::house::{Breach, House};

pub(super) fn check(house: &House) -> Vec<Breach> {
    let mut findings = Vec::new();
    for document in &house.documents {
        let folder = document.path.parent().unwrap_or(std::path::Path::new(""));
        let mut in_block = false;
        for (number, line) in document.lines() {
            if line.trim_start().starts_with("```") {
                in_block = !in_block;
            }
            if in_block {
                continue;
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
}
