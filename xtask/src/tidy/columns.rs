//! Markdown can be read on a terminal: no line of prose is wider than 120 columns.
//!
//! Excepted is what cannot be broken: the lines of a code block, which are what a program reads or prints; a
//! row of a table, which Markdown wants on one line, up to a width of its own; and a single word, such as a
//! link.

use super::house::{Breach, House, Source};
use super::ratchet::{Count, hold};

const PROSE_MAX: usize = 120;
/// What is wider than this belongs into a list.
const ROW_MAX: usize = 160;

pub(super) fn check(house: &House) -> Vec<Breach> {
    let counts: Vec<Count> = house.documents.iter().map(of_document).collect();
    hold(house, "columns", 0, &counts)
}

fn of_document(document: &Source) -> Count {
    let mut in_block = false;
    let mut findings = Vec::new();
    for (number, line) in document.lines() {
        let is_fence = line.trim_start().starts_with("```");
        in_block ^= is_fence;
        let most = if line.starts_with('|') { ROW_MAX } else { PROSE_MAX };
        let width = line.chars().count();
        if width > most && !in_block && !is_fence && is_breakable(line) {
            findings
                .push(document.finding(number, format!("the line has {width} columns; {most} is the most")));
        }
    }
    Count { key: document.path.display().to_string(), value: findings.len(), findings }
}

/// Whether there is more than a mark of a list or a quotation, and one word.
fn is_breakable(line: &str) -> bool {
    line.split_whitespace().skip_while(|word| !word.contains(char::is_alphanumeric)).count() > 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_can_be_broken_is_to_be_broken() {
        let wide = |text: &str| check(&House::of(&[("a.md", text)])).len();
        let prose = |width: usize| format!("é {}\n", "x".repeat(width - 2));
        assert_eq!(wide(&prose(PROSE_MAX)), 0);
        assert_eq!(wide(&prose(PROSE_MAX + 1)), 1);
        assert_eq!(wide(&format!("```console\n{}```\n{}", prose(200), prose(200))), 1, "the block has ended");
        assert_eq!(wide(&format!("- [link](https://{})\n", "x".repeat(200))), 0);
        assert_eq!(wide(&format!("| {} | b |\n", "x".repeat(ROW_MAX - 8))), 0);
        assert_eq!(wide(&format!("| {} | b |\n", "x".repeat(ROW_MAX))), 1);
    }
}
