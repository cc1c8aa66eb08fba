//! Every file opens with its page: what it is, before anything of what it does.

use super::house::{Breach, House};

pub(super) fn check(house: &House) -> Vec<Breach> {
    house
        .rust
        .iter()
        .filter(|source| !source.text.lines().next().is_some_and(is_page))
        .map(|source| source.finding(1, "the file must open with a `//!` page that says what it is"))
        .collect()
}

fn is_page(line: &str) -> bool {
    line.strip_prefix("//! ").is_some_and(|page| page.len() >= 10 && !page.contains("placeholder"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_says_something() {
        assert!(is_page("//! Sockets of every family."));
        for line in ["use std::fs;", "//!", "//! placeholder", "/// An item."] {
            assert!(!is_page(line), "{line}");
        }
    }
}
